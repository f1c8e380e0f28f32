/*
 * blas_ops.c - which ops the blas device takes.
 *
 * Layer: backends.  Answers to ggml_backend_blas_device_supports_op of the reference.
 */
#include "backends/blas/blas_ops.h"

#include <limits.h>

#include "graph/quant.h"

/* Smaller products are not worth leaving the CPU backend for. */
enum { MIN_EXTENT = 32 };

static const sr_tensor *source(const sr_graph_view *view, const sr_tensor *node, int j) {
    const int32_t id = sr_view_src(view, node, j);
    return id >= 0 ? sr_view_tensor(view, id) : NULL;
}

static const char *refuse_mul_mat(const sr_tensor *node, const sr_tensor *a, const sr_tensor *b) {
    if (!sr_tensor_is_contiguous(a) || !sr_tensor_is_contiguous(b)) {
        return "a source is not contiguous";
    }
    if (b->type != SR_TYPE_F32) {
        return "the second source is not f32";
    }
    if (node->ne[0] < MIN_EXTENT || node->ne[1] < MIN_EXTENT || b->ne[0] < MIN_EXTENT) {
        return "an extent of the product is below 32";
    }
    const bool is_float = a->type == SR_TYPE_F32 || a->type == SR_TYPE_F16 || a->type == SR_TYPE_BF16;
    const bool has_floats = sr_type_get(a->type)->quantized && a->type != SR_TYPE_Q8_1 && a->type != SR_TYPE_Q8_K;
    return is_float || has_floats ? NULL : "the first source cannot be turned into f32";
}

static const char *refuse_out_prod(const sr_tensor *a, const sr_tensor *b) {
    if (a->type != SR_TYPE_F32 || b->type != SR_TYPE_F32) {
        return "a source is not f32";
    }
    if (a->ne[2] != 1 || a->ne[3] != 1 || b->ne[2] != 1 || b->ne[3] != 1) {
        return "a source is not a matrix";
    }
    return NULL;
}

const char *sr__blas_refuses(const sr_graph_view *view, int32_t tensor) {
    const int op = sr_view_op(view, tensor);
    if (op == SR_OP_NONE || sr_op_is_view(op)) {
        return NULL;
    }
    if (op != SR_OP_MUL_MAT && op != SR_OP_OUT_PROD) {
        return "blas computes matrix products only";
    }
    const sr_tensor *node = sr_view_tensor(view, tensor);
    const sr_tensor *a = source(view, node, 0);
    const sr_tensor *b = source(view, node, 1);
    if (!a || !b) {
        return "a source is missing";
    }
    return op == SR_OP_MUL_MAT ? refuse_mul_mat(node, a, b) : refuse_out_prod(a, b);
}

static bool fits_int(const sr_tensor *tensor) {
    return tensor->ne[0] <= INT_MAX && tensor->ne[1] <= INT_MAX;
}

const char *sr__blas_cannot(const sr_graph_view *view, int32_t tensor) {
    const char *refusal = sr__blas_refuses(view, tensor);
    const int op = sr_view_op(view, tensor);
    if (refusal || op == SR_OP_NONE || sr_op_is_view(op)) {
        return refusal;
    }
    if (!sr__blas_present()) {
        return "this build has no BLAS library";
    }
    const sr_tensor *node = sr_view_tensor(view, tensor);
    const sr_tensor *a = source(view, node, 0);
    const sr_tensor *b = source(view, node, 1);
    if (node->type != SR_TYPE_F32 || !sr_tensor_is_contiguous(node)) {
        return "the result is not contiguous f32";
    }
    if (!sr__type_can_read(a->type)) {
        return "the first source's type has no conversion to f32 here";
    }
    return fits_int(a) && fits_int(b) && fits_int(node) ? NULL : "an extent is too large for BLAS";
}
