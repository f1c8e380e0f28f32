/*
 * gpu_ops_copy.c - CPY, DUP, CONT, CONCAT, REPEAT, REPEAT_BACK, SET, ACC.
 *
 * Layer: backends.  kernels/copy.h and kernels/quantize.h compute them.
 */
#include "backends/gpu/gpu_family.h"

/* ---- CPY, DUP, CONT ---------------------------------------------------------------------------------------------- */

static const char *copy_refuse(const sr__gpu_device *device, const sr_graph_view *view, const sr_tensor *node) {
    const char *why = sr__gpu_refuse_as_cpu(device, view, node);
    if (why) {
        return why;
    }
    const int from = sr__gpu_source(view, node, 0)->type, to = node->type;
    return from == to || sr__gpu_can_write(to) ? NULL : "the device cannot quantize to the type of the result";
}

/* Blocks as units of their own. */
static void count_units(gpu_tensor *place) { place->ne[0] /= sr_type_get(place->type)->block; }

/* What addresses of blocks and their size are multiples of. */
static gpu_int step_of(const gpu_tensor *dst, const gpu_tensor *src, gpu_int size) {
    gpu_long all = size | dst->offset | src->offset;
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        all |= dst->nb[d] | src->nb[d];
    }
    return all % 2 == 0 ? 2 : 1;
}

static sr_status copy_units(const sr__gpu_node *node, gpu_tensor *dst, gpu_tensor *src, sr_error *err) {
    const gpu_int size = sr_type_get(dst->type)->bytes;
    count_units(dst);
    count_units(src);
    sr__gpu_fold((gpu_tensor *const[]){dst}, 1);
    sr__gpu_fold((gpu_tensor *const[]){src}, 1);
    const gpu_int step = step_of(dst, src, size);
    sr__gpu_launch launch = sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_copy_units, sr__gpu_elements(dst));
    sr__gpu_add_operand(&launch, dst, node->dst_memory);
    sr__gpu_add_operand(&launch, src, node->src_memory[0]);
    SR_GPU_ADD(&launch, size);
    SR_GPU_ADD(&launch, step);
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status quantize(const sr__gpu_node *node, const gpu_tensor *dst, const gpu_tensor *src, sr_error *err) {
    const gpu_int size = sr_type_get(dst->type)->bytes;
    sr__gpu_launch launch = sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_quantize,
                                                 sr__gpu_elements(src) / sr_type_get(dst->type)->block);
    sr__gpu_add_operand(&launch, dst, node->dst_memory);
    sr__gpu_add_operand(&launch, src, node->src_memory[0]);
    SR_GPU_ADD(&launch, size);
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status convert(const sr__gpu_node *node, gpu_tensor *dst, gpu_tensor *src, sr_error *err) {
    const gpu_int block = sr_type_get(src->type)->block;
    const sr__gpu_kernel kernel = block > 1 ? SR_GPU_KERNEL_gpu_dequantize : SR_GPU_KERNEL_gpu_convert;
    sr__gpu_fold((gpu_tensor *const[]){dst}, 1);
    if (block == 1) {
        sr__gpu_fold((gpu_tensor *const[]){src}, 1);
    }
    sr__gpu_launch launch = sr__gpu_launch_items(node, kernel, sr__gpu_elements(dst) / (block > 1 ? 8 : 1));
    sr__gpu_add_operand(&launch, dst, node->dst_memory);
    sr__gpu_add_operand(&launch, src, node->src_memory[0]);
    if (block > 1) {
        SR_GPU_ADD(&launch, block);
    }
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status copy_compute(const sr__gpu_node *node, sr_error *err) {
    gpu_tensor dst = node->dst_place, src = node->src_place[0];
    if (dst.type == src.type) {
        const bool in_place = node->dst_memory == node->src_memory[0] && dst.offset == src.offset &&
                              sr_tensor_same_layout(node->tensor, node->src[0]);
        return in_place ? SR_OK : copy_units(node, &dst, &src, err);
    }
    return sr_type_get(dst.type)->block > 1 ? quantize(node, &dst, &src, err) : convert(node, &dst, &src, err);
}

/* ---- CONCAT, REPEAT ---------------------------------------------------------------------------------------------- */

static sr_status concat_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_int dim = node->params[0], size = sr_type_get(node->tensor->type)->bytes;
    const gpu_long first = node->src_place[0].ne[dim];
    sr__gpu_launch launch =
        sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_concat, sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    sr__gpu_add_src(&launch, node, 1);
    SR_GPU_ADD(&launch, dim);
    SR_GPU_ADD(&launch, first);
    SR_GPU_ADD(&launch, size);
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status repeat_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_int size = sr_type_get(node->tensor->type)->bytes;
    const bool back = node->tensor->op == SR_OP_REPEAT_BACK;
    sr__gpu_launch launch = sr__gpu_launch_items(node, back ? SR_GPU_KERNEL_gpu_repeat_back : SR_GPU_KERNEL_gpu_repeat,
                                                 sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    if (!back) {
        SR_GPU_ADD(&launch, size);
    }
    return sr__gpu_launch_run(node, &launch, err);
}

/* ---- SET, ACC ---------------------------------------------------------------------------------------------------- */

enum { WORD_OFFSET = 3, WORD_INPLACE = 4 };

/* Could two rows of the part share an element?  Then the order matters, and one item does them all. */
static bool rows_may_overlap(const gpu_tensor *part) {
    gpu_long covered = part->ne[0] * part->nb[0];
    for (int d = 1; d < SR_MAX_DIMS; d++) {
        if (part->ne[d] > 1) {
            if (part->nb[d] < covered) {
                return true;
            }
            covered = part->ne[d] * part->nb[d];
        }
    }
    return false;
}

/* The part of the result that source 1 goes to. */
static gpu_tensor part_of(const sr__gpu_node *node) {
    gpu_tensor part = node->dst_place;
    part.offset += node->params[WORD_OFFSET];
    part.nb[0] = sr_type_get(node->tensor->type)->bytes;
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        part.ne[d] = node->src_place[1].ne[d];
        part.nb[d] = d == 0 ? part.nb[d] : node->params[d - 1];
    }
    return part;
}

static sr_status set_compute(const sr__gpu_node *node, sr_error *err) {
    const bool add = node->tensor->op == SR_OP_ACC;
    const gpu_tensor part = part_of(node);
    const gpu_int size = sr_type_get(node->tensor->type)->bytes, step = 1;
    sr_status status = SR_OK;
    if (node->params[WORD_INPLACE] == 0) {
        SR_TRY(copy_compute(node, err));
    }
    if (sr_tensor_is_empty(node->src[1])) {
        goto done;
    }
    const sr__gpu_kernel kernel = add ? SR_GPU_KERNEL_gpu_accumulate : SR_GPU_KERNEL_gpu_copy_units;
    sr__gpu_launch launch = sr__gpu_launch_items(node, kernel, sr__gpu_elements(&part));
    if (rows_may_overlap(&part)) {
        launch.groups[0] = launch.group[0] = 1;
    }
    sr__gpu_add_operand(&launch, &part, node->dst_memory);
    sr__gpu_add_src(&launch, node, 1);
    if (!add) {
        SR_GPU_ADD(&launch, size);
        SR_GPU_ADD(&launch, step);
    }
    SR_TRY(sr__gpu_launch_run(node, &launch, err));
done:
    return status;
}

const sr__gpu_op sr__gpu_op_copy = {.refuse = copy_refuse, .compute = copy_compute};
const sr__gpu_op sr__gpu_op_concat = {.refuse = sr__gpu_refuse_as_cpu, .compute = concat_compute};
const sr__gpu_op sr__gpu_op_repeat = {.refuse = sr__gpu_refuse_as_cpu, .compute = repeat_compute};
const sr__gpu_op sr__gpu_op_set = {.refuse = sr__gpu_refuse_as_cpu, .compute = set_compute};
