/*
 * gpu_ops_windows.c - WIN_PART, WIN_UNPART, GET_REL_POS, ADD_REL_POS, SOLVE_TRI.
 *
 * Layer: backends.  kernels/windows.h computes them.
 */
#include "backends/gpu/gpu_family.h"

static sr_status windows_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_int back = node->tensor->op == SR_OP_WIN_UNPART;
    const gpu_long w = node->params[back ? 0 : 2];
    const gpu_long across = back ? (node->dst_place.ne[1] + w - 1) / w : node->params[0];
    sr__gpu_launch launch =
        sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_windows, sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    SR_GPU_ADD(&launch, w);
    SR_GPU_ADD(&launch, across);
    SR_GPU_ADD(&launch, back);
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status get_rel_pos_compute(const sr__gpu_node *node, sr_error *err) {
    sr__gpu_launch launch =
        sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_relative_rows, sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status add_rel_pos_compute(const sr__gpu_node *node, sr_error *err) {
    sr__gpu_launch launch =
        sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_add_positions, sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    for (int j = 0; j < 3; j++) {
        sr__gpu_add_src(&launch, node, j);
    }
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status solve_tri_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_long *ne = node->dst_place.ne;
    sr__gpu_launch launch = sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_solve_tri, ne[0] * ne[2] * ne[3]);
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    sr__gpu_add_src(&launch, node, 1);
    return sr__gpu_launch_run(node, &launch, err);
}

const sr__gpu_op sr__gpu_op_windows = {.refuse = sr__gpu_refuse_as_cpu, .compute = windows_compute};
const sr__gpu_op sr__gpu_op_get_rel_pos = {.refuse = sr__gpu_refuse_as_cpu, .compute = get_rel_pos_compute};
const sr__gpu_op sr__gpu_op_add_rel_pos = {.refuse = sr__gpu_refuse_as_cpu, .compute = add_rel_pos_compute};
const sr__gpu_op sr__gpu_op_solve_tri = {.refuse = sr__gpu_refuse_as_cpu, .compute = solve_tri_compute};
