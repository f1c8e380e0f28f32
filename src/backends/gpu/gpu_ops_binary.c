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
    const gpu_int code = node->tensor->op == SR_OP_ADD ? 0 : node->tensor->op == SR_OP_SUB ? 1
                       : node->tensor->op == SR_OP_MUL ? 2 : 3;
    sr__gpu_launch launch = sr__gpu_launch_of(SR_GPU_KERNEL_gpu_binary, BINARY_GROUP);
    launch.groups[0] = (size_t)node->dst_place.ne[1];
    launch.groups[1] = (size_t)node->dst_place.ne[2];
    launch.groups[2] = (size_t)node->dst_place.ne[3];
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    sr__gpu_add_src(&launch, node, 1);
    sr__gpu_add_value(&launch, &code, sizeof(code));
    return sr__gpu_launch_run(node, &launch, err);
}

const sr__gpu_op sr__gpu_op_binary = {.refuse = binary_refuse, .compute = binary_compute};
