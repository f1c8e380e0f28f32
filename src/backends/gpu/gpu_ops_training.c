/*
 * gpu_ops_training.c - CROSS_ENTROPY_LOSS, CROSS_ENTROPY_LOSS_BACK, OPT_STEP_ADAMW, OPT_STEP_SGD.
 *
 * Layer: backends.  kernels/training.h computes them.
 */
#include "backends/gpu/gpu_family.h"

/* A loss a row, then their sum. */
static sr_status loss_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_long rows = sr__gpu_rows(&node->src_place[0]);
    const gpu_tensor losses = {.ne = {rows, 1, 1, 1}, .nb = {sizeof(float)}, .type = SR_TYPE_F32, .given = 1};
    sr__gpu_memory *memory;
    sr_status status;
    SR_TRY(sr__gpu_scratch(node->stream, (size_t)(rows > 0 ? rows : 1) * sizeof(float), &memory, err));
    sr__gpu_launch launch =
        sr__gpu_launch_rows(node, SR_GPU_KERNEL_gpu_cross_entropy, rows, node->src_place[0].ne[0]);
    sr__gpu_add_operand(&launch, &losses, memory);
    sr__gpu_add_src(&launch, node, 0);
    sr__gpu_add_src(&launch, node, 1);
    SR_TRY(sr__gpu_launch_run(node, &launch, err));
    launch = sr__gpu_launch_rows(node, SR_GPU_KERNEL_gpu_sum, 1, GPU_GROUP);
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_operand(&launch, &losses, memory);
    SR_TRY(sr__gpu_launch_run(node, &launch, err));
done:
    return status;
}

static sr_status loss_back_compute(const sr__gpu_node *node, sr_error *err) {
    sr__gpu_launch launch = sr__gpu_launch_rows(node, SR_GPU_KERNEL_gpu_cross_entropy_back,
                                                sr__gpu_rows(&node->dst_place), node->dst_place.ne[0]);
    sr__gpu_add_dst(&launch, node);
    for (int j = 0; j < 3; j++) {
        sr__gpu_add_src(&launch, node, j);
    }
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status step_compute(const sr__gpu_node *node, sr_error *err) {
    const bool adamw = node->tensor->op == SR_OP_OPT_STEP_ADAMW;
    sr__gpu_launch launch = sr__gpu_launch_items(node, adamw ? SR_GPU_KERNEL_gpu_adamw : SR_GPU_KERNEL_gpu_sgd,
                                                 sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    for (int j = 0; j < (adamw ? 5 : 3); j++) {
        sr__gpu_add_src(&launch, node, j);
    }
    return sr__gpu_launch_run(node, &launch, err);
}

const sr__gpu_op sr__gpu_op_loss = {.refuse = sr__gpu_refuse_as_cpu, .compute = loss_compute};
const sr__gpu_op sr__gpu_op_loss_back = {.refuse = sr__gpu_refuse_as_cpu, .compute = loss_back_compute};
const sr__gpu_op sr__gpu_op_step = {.refuse = sr__gpu_refuse_as_cpu, .compute = step_compute};
