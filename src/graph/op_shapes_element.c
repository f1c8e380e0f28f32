/*
 * op_shapes_element.c - shape rules of element-wise ops, reductions, norms, sorting, losses and optimizer steps.
 *
 * Layer: graph.  Answers to ggml_add_impl, ggml_unary_impl, ggml_glu_impl, ggml_sum, ggml_norm_impl, ggml_argsort and
 * their neighbours in ggml.c.
 */
#include "graph/op_shapes.h"

sr_status sr__shape_of_source(sr__shape *shape) { return sr__shape_like(shape, shape->src[0]); }

sr_status sr__shape_same_two(sr__shape *shape) {
    if (!sr_tensor_same_shape(shape->src[0], shape->src[1])) {
        return sr__shape_clash(shape, 0, 1, "their extents differ");
    }
    return sr__shape_of_source(shape);
}

sr_status sr__shape_repeating(sr__shape *shape) {
    if (!sr__repeats(shape->src[1], shape->src[0]->ne)) {
        return sr__shape_clash(shape, 0, 1, "the second does not repeat into the first");
    }
    return sr__shape_of_source(shape);
}

sr_status sr__shape_add1(sr__shape *shape) {
    if (sr_tensor_nelements(shape->src[1]) != 1) {
        return sr__shape_wrong(shape, 1, "must be a scalar");
    }
    return sr__shape_of_source(shape);
}

sr_status sr__shape_add_id(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1], *c = shape->src[2];
    if (c->type != SR_TYPE_I32) {
        return sr__shape_wrong(shape, 2, "must be i32");
    }
    if (a->ne[0] != b->ne[0]) {
        return sr__shape_clash(shape, 0, 1, "ne0 differs");
    }
    if (a->ne[1] != c->ne[0] || a->ne[2] != c->ne[1]) {
        return sr__shape_clash(shape, 0, 2, "ne1 and ne2 of the first are not ne0 and ne1 of the ids");
    }
    return sr__shape_of_source(shape);
}

/* ACC and SET: b lies within the (contiguous) result at a byte offset, with strides of its own. */
sr_status sr__shape_acc(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    static const char *const names[] = {"nb1", "nb2", "nb3", "offset"};
    int64_t whole = sr__shape_mul(shape, (int64_t)sr_row_size(a->type, a->ne[0]), sr_tensor_nrows(a));
    int64_t end = sr__shape_word(shape, 3);
    for (int i = 0; i < 4; i++) {
        if (sr__shape_word(shape, i) < 0) {
            return sr__shape_param(shape, names[i], sr__shape_word(shape, i), "0 or more");
        }
    }
    if (sr_tensor_nelements(b) > sr_tensor_nelements(a)) {
        return sr__shape_clash(shape, 0, 1, "the second has more elements than the first");
    }
    end = sr__shape_add(shape, end, (int64_t)sr_row_size(a->type, b->ne[0]));
    for (int d = 1; d < SR_MAX_DIMS; d++) {
        end = sr__shape_add(shape, end, sr__shape_mul(shape, b->ne[d] - 1, sr__shape_word(shape, d - 1)));
    }
    if (!sr_tensor_is_empty(b) && end > whole) {
        return sr__shape_clash(shape, 0, 1, "with the given offset and strides the second reaches past the first");
    }
    return sr__shape_of_source(shape);
}

sr_status sr__shape_glu(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    if (b == NULL) {
        return sr__shape_set(shape, a->type, a->ne[0] / 2, a->ne[1], a->ne[2], a->ne[3]);
    }
    if (a->type != b->type) {
        return sr__shape_clash(shape, 0, 1, "their types differ");
    }
    return sr__shape_same_two(shape);
}

/* ---- reductions ---- */

sr_status sr__shape_sum(sr__shape *shape) { return sr__shape_set(shape, shape->src[0]->type, 1, 1, 1, 1); }

sr_status sr__shape_sum_rows(sr__shape *shape) {
    const sr_tensor *a = shape->src[0];
    return sr__shape_set(shape, a->type, 1, a->ne[1], a->ne[2], a->ne[3]);
}

sr_status sr__shape_mean(sr__shape *shape) {
    const sr_tensor *a = shape->src[0];
    return sr__shape_set(shape, SR_TYPE_F32, 1, a->ne[1], a->ne[2], a->ne[3]);
}

sr_status sr__shape_argmax(sr__shape *shape) {
    if (!sr__is_matrix(shape->src[0])) {
        return sr__shape_wrong(shape, 0, "must be a matrix");
    }
    return sr__shape_set(shape, SR_TYPE_I32, shape->src[0]->ne[1], 1, 1, 1);
}

sr_status sr__shape_count_equal(sr__shape *shape) {
    if (!sr_tensor_same_shape(shape->src[0], shape->src[1])) {
        return sr__shape_clash(shape, 0, 1, "their extents differ");
    }
    return sr__shape_set(shape, SR_TYPE_I64, 1, 1, 1, 1);
}

sr_status sr__shape_group_norm(sr__shape *shape) {
    if (sr__shape_word(shape, 0) <= 0) {
        return sr__shape_param(shape, "n_groups", sr__shape_word(shape, 0), "positive");
    }
    return sr__shape_of_source(shape);
}

/* ---- sorting ---- */

sr_status sr__shape_argsort(sr__shape *shape) {
    const sr_tensor *a = shape->src[0];
    return sr__shape_set(shape, SR_TYPE_I32, a->ne[0], a->ne[1], a->ne[2], a->ne[3]);
}

sr_status sr__shape_top_k(sr__shape *shape) {
    const sr_tensor *a = shape->src[0];
    if (!shape->given) {
        return sr__fail(shape->err, SR_INVALID, "TOP_K needs parameter 'k', or its extents (ne)");
    }
    if (shape->want[0] > a->ne[0]) {
        return sr__shape_param(shape, "k", shape->want[0], "at most ne0 of the source");
    }
    return sr__shape_set(shape, SR_TYPE_I32, shape->want[0], a->ne[1], a->ne[2], a->ne[3]);
}

/* ---- losses, optimizers, custom ops ---- */

sr_status sr__shape_loss(sr__shape *shape) {
    if (!sr_tensor_same_shape(shape->src[0], shape->src[1])) {
        return sr__shape_clash(shape, 0, 1, "their extents differ");
    }
    return sr__shape_sum(shape);
}

sr_status sr__shape_loss_back(sr__shape *shape) {
    if (sr_tensor_nelements(shape->src[0]) != 1) {
        return sr__shape_wrong(shape, 0, "must be a scalar");
    }
    if (!sr_tensor_same_shape(shape->src[1], shape->src[2])) {
        return sr__shape_clash(shape, 1, 2, "their extents differ");
    }
    return sr__shape_like(shape, shape->src[1]);
}

/* OPT_STEP_ADAMW and OPT_STEP_SGD: the last source holds 7 or 2 numbers, the others are as the weights. */
sr_status sr__shape_opt_step(sr__shape *shape) {
    int last = shape->n_src - 1;
    int64_t n = shape->spec->op == SR_OP_OPT_STEP_ADAMW ? 7 : 2;
    for (int j = 1; j < last; j++) {
        if (!sr_tensor_same_shape(shape->src[0], shape->src[j])) {
            return sr__shape_clash(shape, 0, j, "their extents differ");
        }
    }
    if (sr_tensor_nelements(shape->src[last]) != n) {
        return sr__shape_wrong(shape, last, n == 7 ? "must have 7 elements" : "must have 2 elements");
    }
    return sr__shape_of_source(shape);
}

sr_status sr__shape_custom(sr__shape *shape) {
    if (!shape->given && shape->spec->inplace && shape->src[0] != NULL) {
        return sr__shape_of_source(shape);
    }
    return sr__shape_take_given(shape, -1);
}
