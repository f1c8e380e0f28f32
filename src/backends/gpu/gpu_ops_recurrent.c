/*
 * gpu_ops_recurrent.c - SSM_CONV, SSM_SCAN, RWKV_WKV6, RWKV_WKV7, GATED_LINEAR_ATTN, GATED_DELTA_NET.
 *
 * Layer: backends.  kernels/recurrent.h computes them: an item takes a row or column of a state through all tokens.
 */
#include "backends/gpu/gpu_family.h"

static void add_sources(sr__gpu_launch *launch, const sr__gpu_node *node, int n) {
    sr__gpu_add_dst(launch, node);
    for (int j = 0; j < n; j++) {
        sr__gpu_add_src(launch, node, j);
    }
}

static sr_status ssm_conv_compute(const sr__gpu_node *node, sr_error *err) {
    sr__gpu_launch launch =
        sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_ssm_conv, sr__gpu_elements(&node->dst_place));
    add_sources(&launch, node, 2);
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status ssm_scan_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_long *store = node->src_place[0].ne;
    gpu_int number;
    sr_status status;
    sr__gpu_launch launch = sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_ssm_scan,
                                                 store[1] * store[2] * node->src_place[1].ne[3]);
    add_sources(&launch, node, 7);
    SR_TRY(sr__gpu_add_fault(&launch, node, &number, err));
    SR_TRY(sr__gpu_launch_run(node, &launch, err));
done:
    return status;
}

/* Rows or columns of all states: size, heads, and sequences of the state at `place`. */
static gpu_long lanes_of(const sr__gpu_node *node, int place) {
    return node->src_place[0].ne[0] * node->src_place[0].ne[1] * node->src_place[place].ne[1];
}

/* k v r tf td state, and for GATED_LINEAR_ATTN k v q g state. */
static sr_status wkv6_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_int gla = node->tensor->op == SR_OP_GATED_LINEAR_ATTN;
    const gpu_float scale = sr__gpu_param_f32(node, 0);
    sr__gpu_launch launch = sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_wkv6, lanes_of(node, gla ? 4 : 5));
    add_sources(&launch, node, 4);
    sr__gpu_add_src(&launch, node, gla ? 3 : 4);
    sr__gpu_add_src(&launch, node, gla ? 4 : 5);
    SR_GPU_ADD(&launch, gla);
    SR_GPU_ADD(&launch, scale);
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status wkv7_compute(const sr__gpu_node *node, sr_error *err) {
    sr__gpu_launch launch = sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_wkv7, lanes_of(node, 6));
    add_sources(&launch, node, 7);
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status delta_net_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_long *v = node->src_place[2].ne;
    sr__gpu_launch launch = sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_delta_net, v[0] * v[1] * v[3]);
    add_sources(&launch, node, 6);
    return sr__gpu_launch_run(node, &launch, err);
}

const sr__gpu_op sr__gpu_op_ssm_conv = {.refuse = sr__gpu_refuse_as_cpu, .compute = ssm_conv_compute};
const sr__gpu_op sr__gpu_op_ssm_scan = {.refuse = sr__gpu_refuse_as_cpu, .compute = ssm_scan_compute};
const sr__gpu_op sr__gpu_op_wkv6 = {.refuse = sr__gpu_refuse_as_cpu, .compute = wkv6_compute};
const sr__gpu_op sr__gpu_op_wkv7 = {.refuse = sr__gpu_refuse_as_cpu, .compute = wkv7_compute};
const sr__gpu_op sr__gpu_op_delta_net = {.refuse = sr__gpu_refuse_as_cpu, .compute = delta_net_compute};
