/*
 * op_shapes_matrix.c - shape rules of matrix products, attention and position encodings.
 *
 * Layer: graph.  Answers to ggml_can_mul_mat, ggml_mul_mat, ggml_mul_mat_id, ggml_out_prod, ggml_soft_max_impl,
 * ggml_rope_impl, ggml_flash_attn_ext, ggml_flash_attn_back and ggml_solve_tri of ggml.c.
 */
#include "graph/op_shapes.h"

static sr_status check_not_transposed(sr__shape *shape) {
    if (sr__is_transposed(shape->src[0])) {
        /* Strides of an empty row are 0, so that the builder takes it for transposed too. */
        return sr__shape_wrong(shape, 0, shape->src[0]->ne[0] == 0 ? "has empty rows" : "is transposed");
    }
    return SR_OK;
}

/* Consecutive results share one matrix of a: b's outer extents are multiples of a's. */
static bool batches_divide(const sr_tensor *a, const sr_tensor *b) {
    return sr__divides(a->ne[2], b->ne[2]) && sr__divides(a->ne[3], b->ne[3]);
}

sr_status sr__shape_mul_mat(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    if (a->ne[0] != b->ne[0]) {
        return sr__shape_clash(shape, 0, 1, "their inner extents (ne0) differ");
    }
    if (!batches_divide(a, b)) {
        return sr__shape_clash(shape, 0, 1, "ne2, ne3 of the second are no multiples of those of the first");
    }
    sr__shape_set(shape, SR_TYPE_F32, a->ne[1], b->ne[1], b->ne[2], b->ne[3]);
    return check_not_transposed(shape);
}

sr_status sr__shape_mul_mat_id(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1], *c = shape->src[2];
    if (c->type != SR_TYPE_I32 || !sr__is_matrix(c)) {
        return sr__shape_wrong(shape, 2, "must be an i32 matrix");
    }
    if (a->ne[0] != b->ne[0]) {
        return sr__shape_clash(shape, 0, 1, "their inner extents (ne0) differ");
    }
    if (a->ne[3] != 1 || b->ne[3] != 1) {
        return sr__shape_wrong(shape, a->ne[3] != 1 ? 0 : 1, "must have ne3 = 1");
    }
    if (b->ne[2] != c->ne[1] || !sr__divides(b->ne[1], c->ne[0])) {
        return sr__shape_clash(shape, 1, 2, "the ids must be [a multiple of ne1, ne2] of the second");
    }
    sr__shape_set(shape, SR_TYPE_F32, a->ne[1], c->ne[0], b->ne[2], 1);
    return check_not_transposed(shape);
}

sr_status sr__shape_out_prod(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    if (a->ne[1] != b->ne[1]) {
        return sr__shape_clash(shape, 0, 1, "their inner extents (ne1) differ");
    }
    if (!batches_divide(a, b)) {
        return sr__shape_clash(shape, 0, 1, "ne2, ne3 of the second are no multiples of those of the first");
    }
    sr__shape_set(shape, SR_TYPE_F32, a->ne[0], b->ne[0], b->ne[2], b->ne[3]);
    return check_not_transposed(shape);
}

sr_status sr__shape_solve_tri(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    if (a->ne[0] != a->ne[1]) {
        return sr__shape_wrong(shape, 0, "must have ne0 = ne1");
    }
    if (a->ne[1] != b->ne[1] || a->ne[2] != b->ne[2] || a->ne[3] != b->ne[3]) {
        return sr__shape_clash(shape, 0, 1, "they may differ in ne0 only");
    }
    return sr__shape_like(shape, b);
}

/* ---- attention ---- */

sr_status sr__shape_soft_max(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *mask = shape->src[1], *sinks = shape->src[2];
    if (mask == NULL && sr__shape_float(shape, 1) > 0) {
        return sr__fail(shape->err, SR_INVALID, "SOFT_MAX with max_bias above 0 needs a mask (source 1)");
    }
    if (mask != NULL && (mask->ne[0] != a->ne[0] || mask->ne[1] < a->ne[1] || !sr__divides(mask->ne[2], a->ne[2]) ||
                         !sr__divides(mask->ne[3], a->ne[3]))) {
        return sr__shape_clash(shape, 0, 1, "the mask must be [ne0, at least ne1, a divisor of ne2, a divisor of ne3]");
    }
    if (sinks != NULL && sinks->ne[0] != a->ne[2]) {
        return sr__shape_clash(shape, 0, 2, "ne0 of the sinks is not ne2 of the first");
    }
    return sr__shape_of_source(shape);
}

sr_status sr__shape_rope(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1], *factors = shape->src[2];
    int32_t n_dims = sr__shape_word(shape, 1), mode = sr__shape_word(shape, 2);
    int64_t per_token = (mode & 8) != 0 ? 4 : 1;
    if (n_dims < 0 || n_dims > a->ne[0] || n_dims % 2 != 0) {
        return sr__shape_param(shape, "n_dims", n_dims, "even and at most ne0");
    }
    if (b->type != SR_TYPE_I32 || !sr__is_vector(b)) {
        return sr__shape_wrong(shape, 1, "must be an i32 vector");
    }
    if (b->ne[0] != sr__shape_mul(shape, a->ne[2], per_token)) {
        return sr__shape_clash(shape, 0, 1, per_token == 4 ? "this mode needs 4 positions for each token (ne2)"
                                                           : "there must be one position for each token (ne2)");
    }
    if (factors != NULL && factors->ne[0] < n_dims / 2) {
        return sr__shape_wrong(shape, 2, "has fewer factors than half of n_dims");
    }
    return sr__shape_of_source(shape);
}

static sr_status check_attention_mask(sr__shape *shape) {
    const sr_tensor *q = shape->src[0], *k = shape->src[1], *mask = shape->src[3], *sinks = shape->src[4];
    if (mask == NULL && sr__shape_float(shape, 1) > 0) {
        return sr__fail(shape->err, SR_INVALID, "FLASH_ATTN_EXT with max_bias above 0 needs a mask (source 3)");
    }
    if (mask != NULL && (mask->ne[0] < k->ne[1] || mask->ne[1] < q->ne[1] || !sr__divides(mask->ne[2], q->ne[2]) ||
                         !sr__divides(mask->ne[3], q->ne[3]))) {
        return sr__shape_clash(shape, 0, 3, "the mask must be [keys, ne1, a divisor of ne2, a divisor of ne3]");
    }
    if (sinks != NULL && sinks->ne[0] != q->ne[2]) {
        return sr__shape_clash(shape, 0, 4, "ne0 of the sinks is not ne2 of the queries");
    }
    return SR_OK;
}

sr_status sr__shape_flash_attn(sr__shape *shape) {
    const sr_tensor *q = shape->src[0], *k = shape->src[1], *v = shape->src[2];
    if (q->ne[0] != k->ne[0]) {
        return sr__shape_clash(shape, 0, 1, "their inner extents (ne0) differ");
    }
    if (k->ne[1] != v->ne[1]) {
        return sr__shape_clash(shape, 1, 2, "there are not as many values as keys (ne1)");
    }
    if (!sr__divides(k->ne[2], q->ne[2]) || q->ne[3] != k->ne[3]) {
        return sr__shape_clash(shape, 0, 1, "ne2 of the queries must be a multiple, ne3 the same");
    }
    if (!sr__divides(v->ne[2], q->ne[2]) || q->ne[3] != v->ne[3]) {
        return sr__shape_clash(shape, 0, 2, "ne2 of the queries must be a multiple, ne3 the same");
    }
    sr__shape_set(shape, SR_TYPE_F32, v->ne[0], q->ne[2], q->ne[1], q->ne[3]);
    return check_attention_mask(shape);
}

/* Elements of a gradient, rounded up to where the next one begins. */
static int64_t padded_count(sr__shape *shape, const sr_tensor *tensor) {
    return sr__shape_add(shape, sr_tensor_nelements(tensor), 3) & ~(int64_t)3;
}

sr_status sr__shape_flash_attn_back(sr__shape *shape) {
    const sr_tensor *q = shape->src[0], *k = shape->src[1], *v = shape->src[2], *d = shape->src[3];
    if (q->ne[0] != k->ne[0] || !sr__divides(k->ne[2], q->ne[2]) || q->ne[3] != k->ne[3] || k->ne[1] < q->ne[1]) {
        return sr__shape_clash(shape, 0, 1, "ne0 and ne3 must be equal, ne1 at least, ne2 a divisor of the first's");
    }
    if (v->ne[0] != k->ne[1] || v->ne[1] != k->ne[0] || v->ne[2] != k->ne[2] || v->ne[3] != k->ne[3]) {
        return sr__shape_clash(shape, 1, 2, "the values must be the keys' extents with ne0 and ne1 exchanged");
    }
    if (!sr_tensor_same_shape(q, d)) {
        return sr__shape_clash(shape, 0, 3, "their extents differ");
    }
    int64_t n = sr__shape_add(shape, padded_count(shape, q), padded_count(shape, k));
    return sr__shape_set(shape, SR_TYPE_F32, sr__shape_add(shape, n, padded_count(shape, v)), 1, 1, 1);
}
