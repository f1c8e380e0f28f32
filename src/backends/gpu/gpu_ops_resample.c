/*
 * gpu_ops_resample.c - UPSCALE, PAD, PAD_REFLECT_1D, ROLL, ARANGE, TIMESTEP_EMBEDDING.
 *
 * Layer: backends.  kernels/resample.h computes them.
 */
#include <math.h>

#include "backends/gpu/gpu_family.h"

enum { ALIGN_CORNERS = 256, ANTIALIAS = 512 };

static sr_status upscale_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_long *from = node->src_place[0].ne, *to = node->dst_place.ne;
    const bool aligned = (node->params[0] & ALIGN_CORNERS) != 0;
    const gpu_int mode = node->params[0] & 0xFF, antialias = (node->params[0] & ANTIALIAS) != 0;
    const gpu_float centre = aligned ? 0.0f : 0.5f;
    gpu_float factor[SR_MAX_DIMS];
    sr__gpu_launch launch =
        sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_upscale, sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    SR_GPU_ADD(&launch, mode);
    SR_GPU_ADD(&launch, antialias);
    SR_GPU_ADD(&launch, centre);
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        const bool ends_meet = aligned && d < 2 && to[d] > 1 && from[d] > 1;
        factor[d] = ends_meet ? (float)(to[d] - 1) / (float)(from[d] - 1) : (float)to[d] / (float)from[d];
        SR_GPU_ADD(&launch, factor[d]);
    }
    return sr__gpu_launch_run(node, &launch, err);
}

/* ROLL is a circle that begins elsewhere. */
static sr_status pad_compute(const sr__gpu_node *node, sr_error *err) {
    const int op = node->tensor->op;
    const bool circular = op == SR_OP_ROLL || (op == SR_OP_PAD && node->params[8] != 0);
    const gpu_int kind = op == SR_OP_PAD_REFLECT_1D ? GPU_PAD_REFLECT : circular ? GPU_PAD_CIRCULAR : GPU_PAD_ZERO;
    gpu_long left[SR_MAX_DIMS];
    sr__gpu_launch launch = sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_pad, sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    SR_GPU_ADD(&launch, kind);
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        left[d] = op == SR_OP_ROLL ? node->params[d] : op == SR_OP_PAD ? node->params[2 * d]
                : d == 0 ? node->params[0] : 0;
        SR_GPU_ADD(&launch, left[d]);
    }
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status arange_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_float start = sr__gpu_param_f32(node, 0), step = sr__gpu_param_f32(node, 2);
    sr__gpu_launch launch =
        sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_arange, sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    SR_GPU_ADD(&launch, start);
    SR_GPU_ADD(&launch, step);
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status timestep_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_float log_period = logf((float)node->params[1]);
    sr__gpu_launch launch =
        sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_timestep_embedding, sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    SR_GPU_ADD(&launch, log_period);
    return sr__gpu_launch_run(node, &launch, err);
}

const sr__gpu_op sr__gpu_op_upscale = {.refuse = sr__gpu_refuse_as_cpu, .compute = upscale_compute};
const sr__gpu_op sr__gpu_op_pad = {.refuse = sr__gpu_refuse_as_cpu, .compute = pad_compute};
const sr__gpu_op sr__gpu_op_arange = {.refuse = sr__gpu_refuse_as_cpu, .compute = arange_compute};
const sr__gpu_op sr__gpu_op_timestep = {.refuse = sr__gpu_refuse_as_cpu, .compute = timestep_compute};
