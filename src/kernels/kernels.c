/*
 * kernels.c - the table of kernels by op, and whether a node can be computed.
 *
 * Layer: kernels.  Answers to ggml_compute_forward and ggml_backend_cpu_device_supports_op of the reference.  Each op's
 * kernel is in the file of its family; this one alone knows them all.
 */
#include "kernels/kernels.h"

/* Ops that compute nothing. */
#define sr__kernel_NONE nothing
#define sr__kernel_VIEW nothing
#define sr__kernel_RESHAPE nothing
#define sr__kernel_PERMUTE nothing
#define sr__kernel_TRANSPOSE nothing
static const sr__kernel_info nothing;

#define DECLARE_KERNEL(id) extern const sr__kernel_info sr__kernel_##id;
SR_OP_LIST(DECLARE_KERNEL)
#undef DECLARE_KERNEL

static const sr__kernel_info *const KERNELS[SR_OP_COUNT] = {
#define KERNEL_ENTRY(id) [SR_OP_##id] = &sr__kernel_##id,
    SR_OP_LIST(KERNEL_ENTRY)
#undef KERNEL_ENTRY
};

static const sr__kernel_info nothing = {NULL, NULL, NULL, NULL};

const sr__kernel_info *sr__kernel_get(int op) {
    return op >= 0 && op < SR_OP_COUNT ? KERNELS[op] : &nothing;
}

const char *sr__kernel_refuse_node(const sr_graph_view *view, const sr_tensor *node) {
    const sr__kernel_info *kernel = sr__kernel_get(node->op);
    if (kernel->run == NULL) {
        return "the op has no kernel";
    }
    sr__kernel_args args = {.op = node->op, .params = node->op_params};
    args.dst.tensor = node;
    for (int j = 0; j < node->n_src; j++) {
        const int32_t src = sr_view_src(view, node, j);
        if (src == SR_SELF) {
            args.src[j].tensor = node;
        } else if (src >= 0) {
            args.src[j].tensor = sr_view_tensor(view, src);
        }
    }
    return kernel->refuse != NULL ? kernel->refuse(&args) : NULL;
}

const char *sr__kernel_refuse(const sr_graph_view *view, int32_t tensor) {
    const int op = sr_view_op(view, tensor);
    if (op == SR_OP_NONE || sr_op_is_view(op)) {
        return NULL;
    }
    return sr__kernel_refuse_node(view, sr_view_tensor(view, tensor));
}
