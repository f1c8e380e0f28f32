/*
 * gpu_ops_reduce.c - SUM, COUNT_EQUAL, SUM_ROWS, MEAN, CUMSUM, ARGMAX, ARGSORT, TOP_K, DIAG, DIAG_MASK_*, TRI.
 *
 * Layer: backends.  kernels/reduce.h, kernels/sort.h and kernels/triangle.h compute them.
 */
#include <math.h>

#include "backends/gpu/gpu_family.h"

/* ---- to one value: every group reduces a share, a second launch the shares --------------------------------------- */

enum { MAX_SHARES = 256 };

/* Shares of n elements, a few for each item at least, and where they lie. */
static gpu_tensor shares_of(int type, gpu_long n) {
    const gpu_long size = 4 * GPU_GROUP, bytes = sr_type_get(type)->bytes;
    const gpu_long shares = n / size < 1 ? 1 : n / size < MAX_SHARES ? n / size : MAX_SHARES;
    return (gpu_tensor){.ne = {shares, 1, 1, 1}, .nb = {bytes, 0, 0, 0}, .type = type, .given = 1};
}

static sr_status sum_compute(const sr__gpu_node *node, sr_error *err) {
    gpu_tensor a = node->src_place[0];
    const gpu_tensor shares = shares_of(SR_TYPE_F32, sr__gpu_elements(&a));
    sr__gpu_memory *memory;
    sr_status status;
    SR_TRY(sr__gpu_scratch(node->stream, (size_t)(shares.ne[0] * shares.nb[0]), &memory, err));
    sr__gpu_fold((gpu_tensor *const[]){&a}, 1);
    sr__gpu_launch launch = sr__gpu_launch_rows(node, SR_GPU_KERNEL_gpu_sum, shares.ne[0], GPU_GROUP);
    sr__gpu_add_operand(&launch, &shares, memory);
    sr__gpu_add_operand(&launch, &a, node->src_memory[0]);
    SR_TRY(sr__gpu_launch_run(node, &launch, err));
    launch = sr__gpu_launch_rows(node, SR_GPU_KERNEL_gpu_sum, 1, GPU_GROUP);
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_operand(&launch, &shares, memory);
    SR_TRY(sr__gpu_launch_run(node, &launch, err));
done:
    return status;
}

static sr_status count_equal_compute(const sr__gpu_node *node, sr_error *err) {
    gpu_tensor a = node->src_place[0], b = node->src_place[1];
    gpu_tensor *const places[] = {&a, &b};
    const gpu_tensor shares = shares_of(SR_TYPE_I64, sr__gpu_elements(&a));
    sr__gpu_memory *memory;
    sr_status status;
    SR_TRY(sr__gpu_scratch(node->stream, (size_t)(shares.ne[0] * shares.nb[0]), &memory, err));
    sr__gpu_fold(places, SR_COUNT(places));
    sr__gpu_launch launch = sr__gpu_launch_rows(node, SR_GPU_KERNEL_gpu_count_equal, shares.ne[0], GPU_GROUP);
    sr__gpu_add_operand(&launch, &shares, memory);
    sr__gpu_add_operand(&launch, &a, node->src_memory[0]);
    sr__gpu_add_operand(&launch, &b, node->src_memory[1]);
    SR_TRY(sr__gpu_launch_run(node, &launch, err));
    launch = sr__gpu_launch_rows(node, SR_GPU_KERNEL_gpu_sum_counts, 1, GPU_GROUP);
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_operand(&launch, &shares, memory);
    SR_TRY(sr__gpu_launch_run(node, &launch, err));
done:
    return status;
}

/* ---- along rows -------------------------------------------------------------------------------------------------- */

static sr_status sum_rows_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_float divisor = node->tensor->op == SR_OP_MEAN ? (float)node->src_place[0].ne[0] : 1.0f;
    sr__gpu_launch launch = sr__gpu_launch_rows(node, SR_GPU_KERNEL_gpu_sum_rows, sr__gpu_rows(&node->dst_place),
                                                node->src_place[0].ne[0]);
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    SR_GPU_ADD(&launch, divisor);
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status rows_compute(const sr__gpu_node *node, sr__gpu_kernel kernel, gpu_long n_rows, sr_error *err) {
    sr__gpu_launch launch = sr__gpu_launch_rows(node, kernel, n_rows, node->src_place[0].ne[0]);
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status cumsum_compute(const sr__gpu_node *node, sr_error *err) {
    return rows_compute(node, SR_GPU_KERNEL_gpu_cumsum, sr__gpu_rows(&node->dst_place), err);
}

static sr_status argmax_compute(const sr__gpu_node *node, sr_error *err) {
    return rows_compute(node, SR_GPU_KERNEL_gpu_argmax, node->dst_place.ne[0], err);
}

static sr_status top_k_compute(const sr__gpu_node *node, sr_error *err) {
    return rows_compute(node, SR_GPU_KERNEL_gpu_top_k, sr__gpu_rows(&node->dst_place), err);
}

static sr_status argsort_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_int descending = node->params[0] == 1;
    sr__gpu_launch launch = sr__gpu_launch_rows(node, SR_GPU_KERNEL_gpu_argsort, sr__gpu_rows(&node->dst_place),
                                                node->dst_place.ne[0]);
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    SR_GPU_ADD(&launch, descending);
    return sr__gpu_launch_run(node, &launch, err);
}

/* ---- triangles --------------------------------------------------------------------------------------------------- */

static sr_status triangle_compute(const sr__gpu_node *node, sr_error *err) {
    const int op = node->tensor->op;
    const bool masks = op == SR_OP_DIAG_MASK_INF || op == SR_OP_DIAG_MASK_ZERO;
    const gpu_int kind = op == SR_OP_TRI ? node->params[0] : masks ? GPU_DIAG_MASK : GPU_DIAG;
    const gpu_long n_past = masks ? node->params[0] : 0;
    const gpu_float value = op == SR_OP_DIAG_MASK_INF ? -INFINITY : 0.0f;
    sr__gpu_launch launch =
        sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_triangle, sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    SR_GPU_ADD(&launch, kind);
    SR_GPU_ADD(&launch, n_past);
    SR_GPU_ADD(&launch, value);
    return sr__gpu_launch_run(node, &launch, err);
}

const sr__gpu_op sr__gpu_op_sum = {.refuse = sr__gpu_refuse_as_cpu, .compute = sum_compute};
const sr__gpu_op sr__gpu_op_count_equal = {.refuse = sr__gpu_refuse_as_cpu, .compute = count_equal_compute};
const sr__gpu_op sr__gpu_op_sum_rows = {.refuse = sr__gpu_refuse_as_cpu, .compute = sum_rows_compute};
const sr__gpu_op sr__gpu_op_cumsum = {.refuse = sr__gpu_refuse_as_cpu, .compute = cumsum_compute};
const sr__gpu_op sr__gpu_op_argmax = {.refuse = sr__gpu_refuse_as_cpu, .compute = argmax_compute};
const sr__gpu_op sr__gpu_op_top_k = {.refuse = sr__gpu_refuse_as_cpu, .compute = top_k_compute};
const sr__gpu_op sr__gpu_op_argsort = {.refuse = sr__gpu_refuse_as_cpu, .compute = argsort_compute};
const sr__gpu_op sr__gpu_op_triangle = {.refuse = sr__gpu_refuse_as_cpu, .compute = triangle_compute};
