/*
 * gpu_ops_binary.c - ADD, SUB, MUL, DIV, ADD1, SILU_BACK; ADD_ID.
 *
 * Layer: backends.  kernels/binary.h computes them.
 */
#include "backends/gpu/gpu_family.h"

static const char *binary_refuse(const sr__gpu_device *device, const sr_graph_view *view, const sr_tensor *node) {
    const char *why = sr__gpu_refuse_as_cpu(device, view, node);
    return why || !sr_type_get(sr__gpu_source(view, node, 0)->type)->quantized
               ? why : "the device adds to no quantized types";
}

static gpu_int code_of(int op) {
    switch (op) {
    case SR_OP_SUB: return GPU_SUB;
    case SR_OP_MUL: return GPU_MUL;
    case SR_OP_DIV: return GPU_DIV;
    case SR_OP_SILU_BACK: return GPU_SILU_BACK;
    default: return GPU_ADD;
    }
}

/* An extent of 1 becomes the result's, with a stride of 0.  Does b now have all of its extents? */
static bool spread_ones(gpu_tensor *b, const gpu_tensor *dst) {
    bool equal = true;
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        if (b->ne[d] == 1 && dst->ne[d] != 1) {
            b->ne[d] = dst->ne[d];
            b->nb[d] = 0;
        }
        equal = equal && b->ne[d] == dst->ne[d];
    }
    return equal;
}

static sr_status binary_compute(const sr__gpu_node *node, sr_error *err) {
    gpu_tensor dst = node->dst_place, a = node->src_place[0], b = node->src_place[1];
    gpu_tensor *const places[] = {&dst, &a, &b};
    const gpu_int code = code_of(node->tensor->op);
    if (spread_ones(&b, &dst)) {
        sr__gpu_fold(places, SR_COUNT(places));
    }
    sr__gpu_launch launch = sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_binary, sr__gpu_elements(&dst));
    sr__gpu_add_operand(&launch, &dst, node->dst_memory);
    sr__gpu_add_operand(&launch, &a, node->src_memory[0]);
    sr__gpu_add_operand(&launch, &b, node->src_memory[1]);
    SR_GPU_ADD(&launch, code);
    return sr__gpu_launch_run(node, &launch, err);
}

/* The result may lie where the rows to be picked do. */
static sr_status add_id_compute(const sr__gpu_node *node, sr_error *err) {
    gpu_tensor rows;
    sr__gpu_memory *memory;
    gpu_int number;
    sr_status status;
    SR_TRY(sr__gpu_source_apart(node, 1, &rows, &memory, err));
    sr__gpu_launch launch =
        sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_add_id, sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    sr__gpu_add_operand(&launch, &rows, memory);
    sr__gpu_add_src(&launch, node, 2);
    SR_TRY(sr__gpu_add_fault(&launch, node, &number, err));
    SR_TRY(sr__gpu_launch_run(node, &launch, err));
done:
    return status;
}

const sr__gpu_op sr__gpu_op_binary = {.refuse = binary_refuse, .compute = binary_compute};
const sr__gpu_op sr__gpu_op_add_id = {.refuse = sr__gpu_refuse_as_cpu, .compute = add_id_compute};
