/*
 * gpu_ops_binary.c - ADD, SUB, MUL, DIV.
 *
 * Layer: backends.  kernels/binary.h computes them.
 */
#include "backends/gpu/gpu_launch.h"

enum { BINARY_GROUP = 64 };

static bool is_plain(int type) { return type == SR_TYPE_F32 || type == SR_TYPE_F16 || type == SR_TYPE_BF16; }

static const char *binary_refuse(const sr__gpu_device *device, const sr_graph_view *view, const sr_tensor *node) {
    (void)device;
    const sr_tensor *a = sr_view_tensor(view, sr_view_src(view, node, 0));
    const sr_tensor *b = sr_view_tensor(view, sr_view_src(view, node, 1));
    return is_plain(node->type) && is_plain(a->type) && is_plain(b->type) ? NULL
                                                                           : "operands must be f32, f16 or bf16";
}

static sr_status binary_compute(const sr__gpu_node *node, sr_error *err) {
    const int op = node->tensor->op;
    const gpu_int code = op == SR_OP_ADD ? GPU_ADD : op == SR_OP_SUB ? GPU_SUB : op == SR_OP_MUL ? GPU_MUL : GPU_DIV;
    sr__gpu_launch launch = sr__gpu_launch_of(SR_GPU_KERNEL_gpu_binary, BINARY_GROUP);
    launch.groups[0] = ((size_t)sr_tensor_nelements(node->tensor) + BINARY_GROUP - 1) / BINARY_GROUP;
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    sr__gpu_add_src(&launch, node, 1);
    sr__gpu_add_value(&launch, &code, sizeof(code));
    return sr__gpu_launch_run(node, &launch, err);
}

const sr__gpu_op sr__gpu_op_binary = {.refuse = binary_refuse, .compute = binary_compute};
