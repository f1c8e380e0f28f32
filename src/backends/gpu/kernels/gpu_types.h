/*
 * gpu_types.h - what the host hands to a kernel by value; read by C, OpenCL C and CUDA C++ alike.
 *
 * Layer: backends.  Only 4-byte and 8-byte members, each at a multiple of its size, so that the three languages lay the
 * structs out alike.
 */
#ifndef SR_GPU_TYPES_H
#define SR_GPU_TYPES_H

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
typedef int gpu_int;
typedef long gpu_long;
typedef float gpu_float;
#else
#include <stdint.h>
typedef int32_t gpu_int;
typedef int64_t gpu_long;
typedef float gpu_float;
#endif

/*
 * One operand: extents in elements, strides and offset in bytes, as an sr_tensor has them.  offset counts from the
 * first byte of the memory that is handed over beside it (cl_mem has no pointer arithmetic, so every language counts).
 */
typedef struct gpu_tensor {
    gpu_long offset;
    gpu_long ne[4];
    gpu_long nb[4];
    gpu_int type;  /* sr_type */
    gpu_int given; /* 0: an empty place; its memory is NULL then and must not be touched */
} gpu_tensor;

/* The words of an op's parameters. */
typedef struct gpu_params {
    gpu_int word[16];
} gpu_params;

/* Work-items of a group where a row, or another piece of work, has a group to itself: at most this many. */
enum { GPU_GROUP = 256 };

/* What gpu_binary computes of a and b. */
enum { GPU_ADD = 0, GPU_SUB = 1, GPU_MUL = 2, GPU_DIV = 3, GPU_SILU_BACK = 4 };

/* What gpu_unary computes: the kinds of UNARY by their numbers (sr_unary), then ops of their own. */
enum {
    GPU_ABS, GPU_SGN, GPU_NEG, GPU_STEP, GPU_TANH, GPU_ELU, GPU_RELU, GPU_SIGMOID, GPU_GELU, GPU_GELU_QUICK, GPU_SILU,
    GPU_HARDSWISH, GPU_HARDSIGMOID, GPU_EXP, GPU_EXPM1, GPU_SOFTPLUS, GPU_GELU_ERF, GPU_XIELU, GPU_FLOOR, GPU_CEIL,
    GPU_ROUND, GPU_TRUNC, GPU_SQR, GPU_SQRT, GPU_LOG, GPU_SIN, GPU_COS, GPU_LEAKY_RELU, GPU_CLAMP, GPU_SCALE, GPU_FILL
};

/* What gpu_glu computes: sr_glu. */
enum { GPU_REGLU, GPU_GEGLU, GPU_SWIGLU, GPU_SWIGLU_OAI, GPU_GEGLU_ERF, GPU_GEGLU_QUICK };

/* What gpu_norm does to a row. */
enum { GPU_NORM, GPU_RMS_NORM, GPU_L2_NORM };

/* Which elements gpu_triangle keeps: the kinds of TRI by their numbers, DIAG_MASK, and DIAG, which spreads a row. */
enum { GPU_UPPER_DIAG, GPU_UPPER, GPU_LOWER_DIAG, GPU_LOWER, GPU_DIAG_MASK, GPU_DIAG };

/* What gpu_pad puts where the source ends. */
enum { GPU_PAD_ZERO, GPU_PAD_CIRCULAR, GPU_PAD_REFLECT };

/* ROPE: pair j of a row is elements j * first_step and j * first_step + distance. */
typedef struct gpu_rope_params {
    gpu_long n_pairs, first_step, distance, n_turned; /* elements from n_turned on are copied */
    gpu_long section[4];
    gpu_int mode;        /* as the op's word has it */
    gpu_float step;      /* from a pair's angle to the next one's */
    gpu_float freq_scale, ext_factor;
    gpu_float size;      /* of the rotated vector */
    gpu_float low, high; /* YaRN: scaled angles pass over into unscaled ones between these pairs */
    gpu_float sign;      /* -1: ROPE_BACK */
} gpu_rope_params;

/* One axis of a convolution: output o, tap k reads input o * stride + k * dilation - pad. */
typedef struct gpu_axis {
    gpu_long taps, in, out, stride, pad, dilation;
} gpu_axis;

/* Images as convolutions see them: width, height, depth; steps in bytes. */
typedef struct gpu_image {
    gpu_axis axis[3];
    gpu_long channels, filters, batches;
    gpu_long step[3], channel_step, batch_step;
} gpu_image;

#endif
