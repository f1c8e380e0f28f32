/*
 * gpu_columns.h - the second sources of products, turned into the dense rows that the kernels multiply.
 *
 * Layer: backends.  Internal to the folder gpu.
 */
#ifndef SR_GPU_COLUMNS_H
#define SR_GPU_COLUMNS_H

#include "backends/gpu/gpu_launch.h"
#include "backends/gpu/kernels/product_types.h"

/* Are all rows at addresses from which the kernels can read or write the type? */
bool sr__gpu_is_aligned(const sr_tensor *tensor);

/* An operand: where it is, and in which memory. */
typedef struct sr__gpu_operand {
    gpu_tensor place;
    sr__gpu_memory *memory;
} sr__gpu_operand;

static inline sr__gpu_operand sr__gpu_src(const sr__gpu_node *node, int j) {
    return (sr__gpu_operand){node->src_place[j], node->src_memory[j]};
}
static inline sr__gpu_operand sr__gpu_dst(const sr__gpu_node *node) {
    return (sr__gpu_operand){node->dst_place, node->dst_memory};
}

/* How a product with rows of a_type rounds columns of b_type (GPU_ROUND_*). */
gpu_int sr__gpu_rounding(int a_type, int b_type);
/* The place of a dense tensor of a plain type with the extents of `like`, offset bytes into some memory. */
gpu_tensor sr__gpu_dense(const gpu_tensor *like, int type, size_t offset);
size_t sr__gpu_dense_size(const gpu_tensor *dense);
/* Queues dst = src rounded; dst is dense and of a plain type. */
sr_status sr__gpu_round_columns(const sr__gpu_node *node, const sr__gpu_operand *dst, const sr__gpu_operand *src,
                                gpu_int rounding, sr_error *err);

static inline gpu_long sr__gpu_divide_up(gpu_long n, gpu_long by) { return (n + by - 1) / by; }

/* An odd operand as an argument. */
static inline void sr__gpu_add(sr__gpu_launch *launch, const sr__gpu_operand *operand) {
    sr__gpu_add_operand(launch, &operand->place, operand->memory);
}

#endif
