/*
 * gpu_ops_rows.c - GET_ROWS, SET_ROWS, GET_ROWS_BACK.
 *
 * Layer: backends.  kernels/row_access.h computes them; an index outside the table is a fault of the node.
 */
#include "backends/gpu/gpu_family.h"

static const char *refuse(const sr__gpu_device *device, const sr_graph_view *view, const sr_tensor *node) {
    const char *why = sr__gpu_refuse_as_cpu(device, view, node);
    return why || node->op != SR_OP_SET_ROWS || sr__gpu_can_write(node->type)
               ? why : "the device cannot quantize to the type of the destination";
}

static sr_status get_rows_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_int eights = sr_type_get(node->src[0]->type)->block > 1;
    gpu_int number;
    sr_status status;
    sr__gpu_launch launch = sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_get_rows,
                                                 sr__gpu_elements(&node->dst_place) / (eights ? 8 : 1));
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    sr__gpu_add_src(&launch, node, 1);
    SR_GPU_ADD(&launch, eights);
    SR_TRY(sr__gpu_add_fault(&launch, node, &number, err));
    SR_TRY(sr__gpu_launch_run(node, &launch, err));
done:
    return status;
}

static sr_status set_rows_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_int block = sr_type_get(node->tensor->type)->block, size = sr_type_get(node->tensor->type)->bytes;
    gpu_int number;
    sr_status status;
    sr__gpu_launch launch = sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_set_rows,
                                                 sr__gpu_elements(&node->src_place[0]) / block);
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    sr__gpu_add_src(&launch, node, 1);
    SR_GPU_ADD(&launch, block);
    SR_GPU_ADD(&launch, size);
    SR_TRY(sr__gpu_add_fault(&launch, node, &number, err));
    SR_TRY(sr__gpu_launch_run(node, &launch, err));
done:
    return status;
}

static sr_status get_rows_back_compute(const sr__gpu_node *node, sr_error *err) {
    gpu_int number;
    sr_status status;
    sr__gpu_launch launch =
        sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_get_rows_back, sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    sr__gpu_add_src(&launch, node, 1);
    SR_TRY(sr__gpu_add_fault(&launch, node, &number, err));
    SR_TRY(sr__gpu_launch_run(node, &launch, err));
done:
    return status;
}

const sr__gpu_op sr__gpu_op_get_rows = {.refuse = refuse, .compute = get_rows_compute};
const sr__gpu_op sr__gpu_op_set_rows = {.refuse = refuse, .compute = set_rows_compute};
const sr__gpu_op sr__gpu_op_get_rows_back = {.refuse = refuse, .compute = get_rows_back_compute};
