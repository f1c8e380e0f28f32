/*
 * gpu_ops.c - which ops the kernels compute: one line an op, its family in a gpu_ops_NAME.c.
 *
 * Layer: backends.  Answers to the switches over ops in supports_op and graph_compute of the reference's GPU backends.
 */
#include "backends/gpu/gpu_launch.h"

#include "backend/reach.h"

/* op, family: sr__gpu_op_FAMILY computes it.  Whatever is not listed is refused. */
#define SR_GPU_OPS(X) \
    X(ADD, binary)    \
    X(SUB, binary)    \
    X(MUL, binary)    \
    X(DIV, binary)

#define SR_GPU_OP_DECLARE(op, family) extern const sr__gpu_op sr__gpu_op_##family;
SR_GPU_OPS(SR_GPU_OP_DECLARE)
#undef SR_GPU_OP_DECLARE

const sr__gpu_op *sr__gpu_op_get(int op) {
    static const sr__gpu_op none = {0};
    static const sr__gpu_op *const ops[SR_OP_COUNT] = {
#define SR_GPU_OP_ENTRY(op, family) [SR_OP_##op] = &sr__gpu_op_##family,
        SR_GPU_OPS(SR_GPU_OP_ENTRY)
#undef SR_GPU_OP_ENTRY
    };
    return op >= 0 && op < SR_OP_COUNT && ops[op] ? ops[op] : &none;
}

const char *sr__gpu_refuse(const sr__gpu_device *device, const sr_graph_view *view, int32_t node) {
    const int op = sr_view_op(view, node);
    if (op == SR_OP_NONE || sr_op_is_view(op)) {
        return NULL;
    }
    const sr__gpu_op *entry = sr__gpu_op_get(op);
    if (!entry->compute) {
        return "the device has no kernel for this op";
    }
    return entry->refuse ? entry->refuse(device, view, sr_view_tensor(view, node)) : NULL;
}

sr_status sr__gpu_compute_node(const sr__gpu_node *node, sr_error *err) {
    return sr__gpu_op_get(node->tensor->op)->compute(node, err);
}
