/*
 * product_types.h - what the host hands to the kernels of matrix products and attention, and how these are shaped.
 *
 * Layer: backends.  Read by C, OpenCL C and CUDA C++, as gpu_types.h.
 */
#ifndef SR_GPU_PRODUCT_TYPES_H
#define SR_GPU_PRODUCT_TYPES_H

/* What gpu_round_columns does with a value: what the reference's companion type leaves of it. */
enum { GPU_ROUND_NONE = 0, GPU_ROUND_F16 = 1, GPU_ROUND_BF16 = 2, GPU_ROUND_Q8 = 3, GPU_ROUND_Q8_K = 4 };
enum { GPU_ROUND_ITEMS = 256 };

/* gpu_mul_mat_vec: a group has so many rows of a and columns of b; gpu_mul_mat_tiles and gpu_out_prod: a tile. */
enum { GPU_VEC_ITEMS = 64, GPU_VEC_ROWS = 2, GPU_VEC_COLUMNS = 4 };
enum { GPU_TILE_ITEMS = 256, GPU_TILE = 64, GPU_TILE_K = 32 };

/* gpu_hadamard: the longest column. */
enum { GPU_HADAMARD_ITEMS = 256, GPU_HADAMARD_MOST = 4096 };

/*
 * What gpu_sort_experts leaves, as gpu_int: where each expert's columns end [experts], the number of tiles, the tiles
 * (expert, first column, columns), the columns by expert.
 */
enum { GPU_EXPERTS_ITEMS = 256 };
#define GPU_EXPERT_TILES_AT(experts) ((gpu_long)(experts) + 1)
#define GPU_EXPERT_COLUMNS_AT(experts, most_tiles) (GPU_EXPERT_TILES_AT(experts) + 3 * (gpu_long)(most_tiles))

/* gpu_flash_attn: columns, (query, head) pairs that share keys, of a group; keys and elements of a tile; limits. */
enum {
    GPU_FLASH_ITEMS = 128, GPU_FLASH_COLUMNS = 8, GPU_FLASH_KEYS = 32, GPU_FLASH_WIDTH = 64,
    GPU_FLASH_MOST_KEY = 640, GPU_FLASH_MOST_VALUE = 512
};

typedef struct gpu_flash {
    gpu_long columns; /* of a group of heads: queries times heads that share keys and values */
    gpu_long blocks;  /* of columns */
    gpu_long group;   /* heads that share keys and values */
    gpu_long part;    /* keys of a part, a multiple of a tile's */
    gpu_float scale, max_bias, softcap;
    gpu_int parts;
} gpu_flash;

#endif
