/*
 * op_shapes_move.c - shape rules of ops that move data: copies, views, rows, repetition, diagonals.
 *
 * Layer: graph.  Answers to ggml_cpy_impl, ggml_cont_impl, ggml_reshape_impl, ggml_view_impl, ggml_permute,
 * ggml_get_rows, ggml_set_rows, ggml_repeat, ggml_concat and their neighbours in ggml.c.
 */
#include "graph/op_shapes.h"

/* ---- repetition and concatenation ---- */

sr_status sr__shape_repeat(sr__shape *shape) {
    sr_status status = sr__shape_take_given(shape, shape->src[0]->type);
    if (status == SR_OK && !sr__repeats(shape->src[0], shape->want)) {
        status = sr__fail(shape->err, SR_INVALID, "source 0 '%s' %s of REPEAT does not repeat into %s",
                          shape->src[0]->id, sr__extents_text(shape->src[0]->ne).text,
                          sr__extents_text(shape->want).text);
    }
    return status;
}

sr_status sr__shape_repeat_back(sr__shape *shape) {
    sr_status status = sr__shape_take_given(shape, shape->src[0]->type);
    sr_tensor result = {0};
    memcpy(result.ne, shape->want, sizeof result.ne);
    if (status == SR_OK && !sr__repeats(&result, shape->src[0]->ne)) {
        status = sr__fail(shape->err, SR_INVALID, "the result %s of REPEAT_BACK does not repeat into source 0 '%s' %s",
                          sr__extents_text(shape->want).text, shape->src[0]->id,
                          sr__extents_text(shape->src[0]->ne).text);
    }
    return status;
}

sr_status sr__shape_concat(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    int dim = sr__shape_word(shape, 0);
    if (dim < 0 || dim >= SR_MAX_DIMS) {
        return sr__shape_param(shape, "dim", dim, "0 to 3");
    }
    if (a->type != b->type) {
        return sr__shape_clash(shape, 0, 1, "their types differ");
    }
    sr__shape_like(shape, a);
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        if (d == dim) {
            shape->ne[d] = sr__shape_add(shape, a->ne[d], b->ne[d]);
        } else if (a->ne[d] != b->ne[d]) {
            return sr__shape_clash(shape, 0, 1, "an extent outside dimension 'dim' differs");
        }
    }
    return SR_OK;
}

/* ---- copies ---- */

sr_status sr__shape_cpy(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    if (shape->self) {
        if (shape->spec->type < 0) {
            return sr__fail(shape->err, SR_INVALID, "a CPY onto itself is a cast and needs a type");
        }
        return sr__shape_like(shape, a);
    }
    if (sr_tensor_nelements(a) != sr_tensor_nelements(b)) {
        return sr__shape_clash(shape, 0, 1, "their numbers of elements differ");
    }
    if (shape->spec->type >= 0 && shape->spec->type != b->type) {
        return sr__fail(shape->err, SR_INVALID, "type %s of a CPY is not that of its destination '%s', %s",
                        sr_type_get(shape->spec->type)->name, b->id, sr_type_get(b->type)->name);
    }
    return sr__shape_like(shape, b);
}

static sr_status same_count(sr__shape *shape) {
    const sr_tensor *a = shape->src[0];
    if (sr__count(shape->want) != sr_tensor_nelements(a)) {
        return sr__fail(shape->err, SR_INVALID, "ne %s of %s has not as many elements as source 0 '%s' %s",
                        sr__extents_text(shape->want).text, shape->op, a->id, sr__extents_text(a->ne).text);
    }
    return sr__shape_take_given(shape, a->type);
}

sr_status sr__shape_cont(sr__shape *shape) {
    return shape->given ? same_count(shape) : sr__shape_like(shape, shape->src[0]);
}

/* ---- views ---- */

sr_status sr__shape_reshape(sr__shape *shape) {
    sr_status status = sr__shape_take_given(shape, shape->src[0]->type);
    if (status == SR_OK) {
        status = same_count(shape);
    }
    if (status == SR_OK && !sr_tensor_is_contiguous(shape->src[0])) {
        status = sr__shape_wrong(shape, 0, "is not contiguous");
    }
    return status;
}

sr_status sr__shape_view(sr__shape *shape) { return sr__shape_take_given(shape, shape->src[0]->type); }

static bool is_permutation(const int axes[SR_MAX_DIMS]) {
    unsigned seen = 0;
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        if (axes[d] < 0 || axes[d] >= SR_MAX_DIMS) {
            return false;
        }
        seen |= 1u << axes[d];
    }
    return seen == 0xf;
}

/* Finds for each dimension of the source, in turn, the first free dimension with its extent and stride. */
static bool match_axes(const sr_tensor_spec *spec, const sr_tensor *source, int axes[SR_MAX_DIMS]) {
    unsigned taken = 0;
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        axes[d] = -1;
        for (int k = 0; k < SR_MAX_DIMS && axes[d] < 0; k++) {
            int64_t extent = k < spec->n_dims ? spec->ne[k] : 1;
            if ((taken & 1u << k) == 0 && extent == source->ne[d] && spec->nb[k] == source->nb[d]) {
                axes[d] = k;
                taken |= 1u << k;
            }
        }
    }
    return is_permutation(axes);
}

bool sr__permute_axes(const sr_tensor_spec *spec, const sr_tensor *source, int axes[SR_MAX_DIMS]) {
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        axes[d] = spec->op_params[d];
    }
    if (axes[0] == 0 && axes[1] == 0 && axes[2] == 0 && axes[3] == 0 && spec->n_dims > 0 && spec->has_nb) {
        return match_axes(spec, source, axes);
    }
    return is_permutation(axes);
}

sr_status sr__shape_permute(sr__shape *shape) {
    const sr_tensor *a = shape->src[0];
    int axes[SR_MAX_DIMS];
    if (!sr__permute_axes(shape->spec, a, axes)) {
        return sr__fail(shape->err, SR_INVALID, "axes %d, %d, %d, %d of PERMUTE are no permutation of 0 to 3",
                        shape->spec->op_params[0], shape->spec->op_params[1], shape->spec->op_params[2],
                        shape->spec->op_params[3]);
    }
    shape->type = a->type;
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        shape->ne[axes[d]] = a->ne[d];
    }
    return SR_OK;
}

sr_status sr__shape_transpose(sr__shape *shape) {
    const sr_tensor *a = shape->src[0];
    return sr__shape_set(shape, a->type, a->ne[1], a->ne[0], a->ne[2], a->ne[3]);
}

/* ---- rows ---- */

sr_status sr__shape_get_rows(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    if (b->type != SR_TYPE_I32) {
        return sr__shape_wrong(shape, 1, "must be i32");
    }
    if (a->ne[2] != b->ne[1] || a->ne[3] != b->ne[2] || b->ne[3] != 1) {
        return sr__shape_clash(shape, 0, 1, "ne1, ne2, ne3 of the row numbers must be ne2, ne3 of the first, 1");
    }
    return sr__shape_set(shape, a->type == SR_TYPE_I32 ? SR_TYPE_I32 : SR_TYPE_F32, a->ne[0], b->ne[0], b->ne[1],
                         b->ne[2]);
}

sr_status sr__shape_get_rows_back(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    if (!sr__is_matrix(a)) {
        return sr__shape_wrong(shape, 0, "must be a matrix");
    }
    if (b->type != SR_TYPE_I32 || !sr__is_vector(b)) {
        return sr__shape_wrong(shape, 1, "must be an i32 vector");
    }
    if (shape->given && shape->want[0] != a->ne[0]) {
        return sr__fail(shape->err, SR_INVALID, "ne %s of GET_ROWS_BACK has not ne0 of source 0 '%s' %s",
                        sr__extents_text(shape->want).text, a->id, sr__extents_text(a->ne).text);
    }
    return sr__shape_take_given(shape, SR_TYPE_F32);
}

sr_status sr__shape_set_rows(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1], *c = shape->src[2];
    if (b->type != SR_TYPE_I64 && b->type != SR_TYPE_I32) {
        return sr__shape_wrong(shape, 1, "must be i64 or i32");
    }
    if (a->ne[0] != c->ne[0] || a->ne[2] != c->ne[2] || a->ne[3] != c->ne[3]) {
        return sr__shape_clash(shape, 0, 2, "they may differ in ne1 only");
    }
    if (a->ne[1] != b->ne[0] || !sr__divides(b->ne[1], a->ne[2]) || !sr__divides(b->ne[2], a->ne[3]) || b->ne[3] != 1) {
        return sr__shape_clash(shape, 0, 1, "the row numbers must be [ne1, a divisor of ne2, a divisor of ne3]");
    }
    return sr__shape_like(shape, c);
}

/* ---- diagonals ---- */

sr_status sr__shape_diag(sr__shape *shape) {
    const sr_tensor *a = shape->src[0];
    if (a->ne[1] != 1) {
        return sr__shape_wrong(shape, 0, "must have ne1 = 1");
    }
    return sr__shape_set(shape, a->type, a->ne[0], a->ne[0], a->ne[2], a->ne[3]);
}

sr_status sr__shape_diag_mask(sr__shape *shape) {
    if (sr__shape_word(shape, 0) < 0) {
        return sr__shape_param(shape, "n_past", sr__shape_word(shape, 0), "0 or more");
    }
    return sr__shape_of_source(shape);
}

sr_status sr__shape_tri(sr__shape *shape) {
    if (shape->src[0]->ne[0] != shape->src[0]->ne[1]) {
        return sr__shape_wrong(shape, 0, "must have ne0 = ne1");
    }
    return sr__shape_of_source(shape);
}
