/*
 * tensors.c - what a tensor is: sizes, strides, names, the batch of its op.
 *
 * Layer: graph.  Answers to the predicates of ggml.c (ggml_nbytes, ggml_is_contiguous and their kin).  A stride of a
 * dimension of extent 1 is never compared: it addresses nothing, and real graphs hold any value there.
 */
#include "graph/op_shapes.h"

size_t sr_row_size(int type, int64_t ne0) {
    const sr_type_info *info = sr_type_get(type);
    return info->block == 0 || ne0 <= 0 ? 0 : (size_t)info->bytes * (size_t)(ne0 / info->block);
}

int64_t sr_tensor_nelements(const sr_tensor *tensor) {
    return tensor->ne[0] * tensor->ne[1] * tensor->ne[2] * tensor->ne[3];
}

int64_t sr_tensor_nrows(const sr_tensor *tensor) { return tensor->ne[1] * tensor->ne[2] * tensor->ne[3]; }

bool sr_tensor_has_contiguous_rows(const sr_tensor *tensor) {
    const sr_type_info *info = sr_type_get(tensor->type);
    return tensor->ne[0] == info->block || tensor->nb[0] == (size_t)info->bytes;
}

/* Are the dimensions above `free` packed?  The stride of dimension `free` itself may be anything (0: none is free). */
static bool packed_above(const sr_tensor *tensor, int free) {
    if (!sr_tensor_has_contiguous_rows(tensor)) {
        return false;
    }
    size_t expected = sr_row_size(tensor->type, tensor->ne[0]);
    for (int d = 1; d < SR_MAX_DIMS; d++) {
        if (tensor->ne[d] == 1) {
            continue;
        }
        if (d > free && tensor->nb[d] != expected) {
            return false;
        }
        expected = tensor->nb[d] * (size_t)tensor->ne[d];
    }
    return true;
}

bool sr_tensor_is_contiguous(const sr_tensor *tensor) { return packed_above(tensor, 0); }

bool sr_tensor_is_contiguous_1(const sr_tensor *tensor) { return packed_above(tensor, 1); }

bool sr_tensor_same_shape(const sr_tensor *a, const sr_tensor *b) {
    return memcmp(a->ne, b->ne, sizeof a->ne) == 0;
}

bool sr_tensor_same_layout(const sr_tensor *a, const sr_tensor *b) {
    return a->type == b->type && sr_tensor_same_shape(a, b) && memcmp(a->nb, b->nb, sizeof a->nb) == 0;
}

bool sr_tensor_is_empty(const sr_tensor *tensor) {
    return tensor->ne[0] == 0 || tensor->ne[1] == 0 || tensor->ne[2] == 0 || tensor->ne[3] == 0;
}

const char *sr_tensor_op_name(const sr_tensor *tensor) {
    const sr_op_info *info = sr_op_get(tensor->op);
    if (info != NULL) {
        return info->name;
    }
    return tensor->op_name != NULL ? tensor->op_name : "OPAQUE";
}

const char *sr_tensor_op_desc(const sr_tensor *tensor) {
    const char *kind = sr__op_kind_name(tensor->op, tensor->op_params[0]);
    return kind != NULL ? kind : sr_tensor_op_name(tensor);
}

int64_t sr_tensor_batch(const sr_tensor *tensor) {
    switch (tensor->op) {
        case SR_OP_GET_ROWS: return 0;
        case SR_OP_MUL_MAT: return tensor->ne[1];
        case SR_OP_MUL_MAT_ID:
        case SR_OP_ROPE:
        case SR_OP_ROPE_BACK: return tensor->ne[2];
        default: return sr_tensor_nrows(tensor);
    }
}
