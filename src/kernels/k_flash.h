/*
 * k_flash.h - what the files of FLASH_ATTN_EXT share: the plan of a node, an item of it, work space.
 *
 * Layer: kernels.  Internal.  Keys come in tiles; a tile meets a block of columns, the (query, head) pairs of the heads
 * that share keys and values.  Which way a node takes, and the order of every sum, depends on its shapes and types
 * alone.
 */
#ifndef SR_K_FLASH_H
#define SR_K_FLASH_H

#include "kernels/k_operand.h"
#include "kernels/mm_core.h"

enum { SR__FLASH_KEYS = 64 }; /* of a tile */

typedef struct sr__flash_plan {
    const sr__kernel_args *args;
    sr__mm_shape shape;  /* keys times queries */
    bool convert;        /* queries take the companion type of the keys */
    bool half;           /* results are rounded to f16 at every key */
    bool by_key;         /* values are added key by key; else a tile at a time */
    int64_t dv, dv_padded, n, heads, keys;
    int64_t group;       /* heads that share keys and values */
    int64_t columns;     /* of a group: n * group, the heads of one query side by side */
    int64_t block;       /* columns of an item */
    int64_t blocks;      /* items of a group */
    int64_t items;
    float scale, max_bias, softcap;
    bool has_mask;
} sr__flash_plan;

typedef struct sr__flash_item {
    int64_t first, columns; /* of the group */
    int64_t head0, i3;      /* first head of the group */
} sr__flash_item;

typedef struct sr__flash_work {
    char *q;                /* [block] converted queries */
    sr__mm_column *columns; /* [block] */
    float *z;               /* [block][z_ld]: scores of a tile; -infinity for keys that take no part */
    size_t z_ld;
    float *out;             /* [block][dv_padded]: weighted sums of values */
    float *max, *sum, *slope;
    float *mask;            /* [SR__FLASH_KEYS] */
    float *values;          /* [SR__FLASH_KEYS][dv_padded], where they are not read as they lie */
    const char **rows;      /* of the keys that take part: values, and what happens at them */
    float *shrink, *weight;
    char *piece;            /* work space of products */
} sr__flash_work;

/* The row of key j (source 1) or of its value (source 2). */
static inline const char *sr__flash_row(const sr__flash_plan *p, const sr__flash_item *it, int source, int64_t j) {
    const sr__operand *o = &p->args->src[source];
    return sr__row(o, j, it->head0 / (p->heads / o->tensor->ne[2]), it->i3);
}

/* Turns the scores of a tile into weights, and adds the values that they belong to. */
void sr__flash_add_values(const sr__flash_plan *p, const sr__flash_item *it, int64_t j0, int64_t keys,
                          const sr__flash_work *w);

#endif
