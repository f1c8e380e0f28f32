/*
 * gpu_ops_norm.c - NORM, RMS_NORM, L2_NORM, GROUP_NORM, RMS_NORM_BACK, SOFT_MAX, SOFT_MAX_BACK.
 *
 * Layer: backends.  kernels/norm.h and kernels/softmax.h compute them, a group of work-items a row.
 */
#include "backends/gpu/gpu_family.h"

static sr_status norm_compute(const sr__gpu_node *node, sr_error *err) {
    const int op = node->tensor->op;
    const gpu_int code = op == SR_OP_NORM ? GPU_NORM : op == SR_OP_RMS_NORM ? GPU_RMS_NORM : GPU_L2_NORM;
    const gpu_float eps = sr__gpu_param_f32(node, 0);
    sr__gpu_launch launch =
        sr__gpu_launch_rows(node, SR_GPU_KERNEL_gpu_norm, sr__gpu_rows(&node->dst_place), node->dst_place.ne[0]);
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    SR_GPU_ADD(&launch, code);
    SR_GPU_ADD(&launch, eps);
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status group_norm_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_long channels = node->dst_place.ne[2], n_groups = node->params[0];
    const gpu_long size = (channels + n_groups - 1) / n_groups;
    const gpu_float eps = sr__gpu_param_f32(node, 1);
    const gpu_long n = (channels + size - 1) / size * node->dst_place.ne[3];
    sr__gpu_launch launch = sr__gpu_launch_rows(node, SR_GPU_KERNEL_gpu_group_norm, n,
                                                size * node->dst_place.ne[0] * node->dst_place.ne[1]);
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    SR_GPU_ADD(&launch, size);
    SR_GPU_ADD(&launch, eps);
    return sr__gpu_launch_run(node, &launch, err);
}

/* RMS_NORM_BACK and SOFT_MAX_BACK: two sources, one word. */
static sr_status back_compute(const sr__gpu_node *node, sr_error *err) {
    const sr__gpu_kernel kernel = node->tensor->op == SR_OP_RMS_NORM_BACK ? SR_GPU_KERNEL_gpu_rms_norm_back
                                                                          : SR_GPU_KERNEL_gpu_soft_max_back;
    const gpu_float value = sr__gpu_param_f32(node, 0);
    sr__gpu_launch launch =
        sr__gpu_launch_rows(node, kernel, sr__gpu_rows(&node->dst_place), node->dst_place.ne[0]);
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    sr__gpu_add_src(&launch, node, 1);
    SR_GPU_ADD(&launch, value);
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status soft_max_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_float scale = sr__gpu_param_f32(node, 0), max_bias = sr__gpu_param_f32(node, 1);
    sr__gpu_launch launch =
        sr__gpu_launch_rows(node, SR_GPU_KERNEL_gpu_soft_max, sr__gpu_rows(&node->dst_place), node->dst_place.ne[0]);
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    sr__gpu_add_src(&launch, node, 1);
    sr__gpu_add_src(&launch, node, 2);
    SR_GPU_ADD(&launch, scale);
    SR_GPU_ADD(&launch, max_bias);
    return sr__gpu_launch_run(node, &launch, err);
}

const sr__gpu_op sr__gpu_op_norm = {.refuse = sr__gpu_refuse_as_cpu, .compute = norm_compute};
const sr__gpu_op sr__gpu_op_group_norm = {.refuse = sr__gpu_refuse_as_cpu, .compute = group_norm_compute};
const sr__gpu_op sr__gpu_op_norm_back = {.refuse = sr__gpu_refuse_as_cpu, .compute = back_compute};
const sr__gpu_op sr__gpu_op_soft_max = {.refuse = sr__gpu_refuse_as_cpu, .compute = soft_max_compute};
