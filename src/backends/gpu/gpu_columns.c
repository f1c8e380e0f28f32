/*
 * gpu_columns.c - the second sources of products, turned into the dense rows that the kernels multiply.
 *
 * Layer: backends.  kernels/round_columns.h does it.  Answers to the from_float calls of the reference's products.
 */
#include "backends/gpu/gpu_columns.h"

#include "graph/quant.h"

/* Bytes of which a row's address must be a multiple. */
static size_t unit_of(int type) {
    switch (type) {
    case SR_TYPE_F32:
    case SR_TYPE_I32: return 4;
    case SR_TYPE_MXFP4: return 1;
    default: return 2;
    }
}

bool sr__gpu_is_aligned(const sr_tensor *tensor) {
    size_t all = tensor->view_offs | tensor->buffer_offset;
    for (int d = 1; d < SR_MAX_DIMS; d++) { /* strides of extents of 1 are never followed */
        all |= tensor->ne[d] > 1 ? tensor->nb[d] : 0;
    }
    return all % unit_of(tensor->type) == 0;
}

gpu_int sr__gpu_rounding(int a_type, int b_type) {
    if (b_type != SR_TYPE_F32) {
        return GPU_ROUND_NONE;
    }
    switch (sr__type_companion(a_type)) {
    case SR_TYPE_F16: return GPU_ROUND_F16;
    case SR_TYPE_BF16: return GPU_ROUND_BF16;
    case SR_TYPE_Q8_0:
    case SR_TYPE_Q8_1: return GPU_ROUND_Q8;
    case SR_TYPE_Q8_K: return GPU_ROUND_Q8_K;
    default: return GPU_ROUND_NONE;
    }
}

gpu_tensor sr__gpu_dense(const gpu_tensor *like, int type, size_t offset) {
    gpu_tensor dense = {.offset = (gpu_long)offset, .type = type, .given = 1};
    gpu_long step = sr_type_get(type)->bytes;
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        dense.ne[d] = like->ne[d];
        dense.nb[d] = step;
        step *= like->ne[d];
    }
    return dense;
}

size_t sr__gpu_dense_size(const gpu_tensor *dense) { return (size_t)(dense->nb[3] * dense->ne[3]); }

sr_status sr__gpu_round_columns(const sr__gpu_node *node, const sr__gpu_operand *dst, const sr__gpu_operand *src,
                                gpu_int rounding, sr_error *err) {
    const gpu_long *ne = src->place.ne;
    sr__gpu_launch launch = sr__gpu_launch_of(SR_GPU_KERNEL_gpu_round_columns, GPU_ROUND_ITEMS);
    launch.groups[0] = (size_t)(sr__gpu_divide_up(ne[0], GPU_ROUND_ITEMS) * ne[1] * ne[2] * ne[3]);
    sr__gpu_add(&launch, dst);
    sr__gpu_add(&launch, src);
    sr__gpu_add_value(&launch, &rounding, sizeof(rounding));
    return sr__gpu_launch_run(node, &launch, err);
}
