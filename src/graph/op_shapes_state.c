/*
 * op_shapes_state.c - shape rules of recurrent and linear-attention ops, windows and relative positions.
 *
 * Layer: graph.  Answers to ggml_ssm_conv, ggml_ssm_scan, ggml_rwkv_wkv6, ggml_rwkv_wkv7, ggml_gated_linear_attn,
 * ggml_gated_delta_net, ggml_win_part, ggml_win_unpart, ggml_get_rel_pos and ggml_add_rel_pos of ggml.c.
 */
#include "graph/op_shapes.h"

/* ---- state-space models ---- */

sr_status sr__shape_ssm_conv(sr__shape *shape) {
    const sr_tensor *sx = shape->src[0], *c = shape->src[1];
    if (sx->ne[3] != 1) {
        return sr__shape_wrong(shape, 0, "must have ne3 = 1");
    }
    if (!sr__is_matrix(c)) {
        return sr__shape_wrong(shape, 1, "must be a matrix");
    }
    if (c->ne[1] != sx->ne[1]) {
        return sr__shape_clash(shape, 0, 1, "the channels (ne1) differ");
    }
    int64_t tokens = sr__shape_add(shape, sx->ne[0] - c->ne[0], 1);
    if (tokens < 0) {
        return sr__shape_clash(shape, 0, 1, "the first is shorter (ne0) than the kernel less one");
    }
    return sr__shape_set(shape, SR_TYPE_F32, sx->ne[1], tokens, sx->ne[2], 1);
}

static sr_status check_scan(sr__shape *shape) {
    const sr_tensor *s = shape->src[0], *x = shape->src[1], *dt = shape->src[2], *a = shape->src[3];
    const sr_tensor *b = shape->src[4], *ids = shape->src[6];
    if (x->ne[0] != s->ne[1] || x->ne[1] != s->ne[2]) {
        return sr__shape_clash(shape, 0, 1, "ne0, ne1 of the second must be ne1, ne2 of the states");
    }
    if (dt->ne[0] != x->ne[1] || dt->ne[1] != x->ne[2] || dt->ne[2] != x->ne[3]) {
        return sr__shape_clash(shape, 1, 2, "the time steps must be [ne1, ne2, ne3] of the second");
    }
    if ((a->ne[0] != 1 && a->ne[0] != s->ne[0]) || a->ne[1] != s->ne[2]) {
        return sr__shape_clash(shape, 0, 3, "A must be [1 or ne0, ne2] of the states");
    }
    if (!sr_tensor_same_shape(b, shape->src[5])) {
        return sr__shape_clash(shape, 4, 5, "B and C must have the same extents");
    }
    if (b->ne[0] != s->ne[0] || !sr__divides(b->ne[1], s->ne[2]) || b->ne[2] != x->ne[2] || b->ne[3] != x->ne[3]) {
        return sr__shape_clash(shape, 0, 4, "B must be [state size, a divisor of the heads, tokens, sequences]");
    }
    if (ids->type != SR_TYPE_I32 || ids->ne[0] != x->ne[3]) {
        return sr__shape_wrong(shape, 6, "must be i32, one id for each sequence (ne3 of source 1)");
    }
    return SR_OK;
}

sr_status sr__shape_ssm_scan(sr__shape *shape) {
    const sr_tensor *s = shape->src[0], *x = shape->src[1];
    int64_t states = sr__shape_mul(shape, sr__shape_mul(shape, s->ne[0], s->ne[1]),
                                   sr__shape_mul(shape, s->ne[2], x->ne[3]));
    sr_status status = check_scan(shape);
    sr__shape_set(shape, SR_TYPE_F32, sr__shape_add(shape, sr_tensor_nelements(x), states), 1, 1, 1);
    return status;
}

/* ---- linear attention: rows of output, then the states, S rows for each sequence ---- */

/*
 * first [S,H,T]; sources 1 to n-1 of its extents; `state` holds S*S*H elements for each of its ne1 sequences, among
 * which the tokens are shared out evenly.
 */
static sr_status linear_attention(sr__shape *shape, int n, int state) {
    const sr_tensor *a = shape->src[0], *s = shape->src[state];
    for (int j = 1; j < n; j++) {
        if (!sr_tensor_same_shape(a, shape->src[j])) {
            return sr__shape_clash(shape, 0, j, "their extents differ");
        }
    }
    int64_t row = sr__shape_mul(shape, a->ne[0], a->ne[1]);
    int64_t states = sr__shape_mul(shape, sr__shape_mul(shape, row, a->ne[0]), s->ne[1]);
    if (sr_tensor_nelements(s) != states) {
        return sr__shape_clash(shape, 0, state, "the state must hold ne0 * ne0 * ne1 elements for each sequence");
    }
    if (!sr__divides(s->ne[1], a->ne[2])) {
        return sr__shape_clash(shape, 0, state, "the tokens (ne2) are no multiple of the sequences (ne1)");
    }
    int64_t rows = sr__shape_add(shape, a->ne[2], sr__shape_mul(shape, a->ne[0], s->ne[1]));
    return sr__shape_set(shape, SR_TYPE_F32, row, rows, 1, 1);
}

sr_status sr__shape_wkv6(sr__shape *shape) {
    const sr_tensor *k = shape->src[0], *tf = shape->src[3];
    if (sr_tensor_nelements(tf) != sr__shape_mul(shape, k->ne[0], k->ne[1])) {
        return sr__shape_clash(shape, 0, 3, "tf must hold ne0 * ne1 elements");
    }
    if (!sr_tensor_same_shape(k, shape->src[4])) {
        return sr__shape_clash(shape, 0, 4, "their extents differ");
    }
    return linear_attention(shape, 3, 5);
}

sr_status sr__shape_gated_linear_attn(sr__shape *shape) { return linear_attention(shape, 4, 4); }

sr_status sr__shape_wkv7(sr__shape *shape) { return linear_attention(shape, 6, 6); }

static sr_status check_delta_net(sr__shape *shape) {
    const sr_tensor *v = shape->src[2], *g = shape->src[3], *beta = shape->src[4];
    for (int j = 0; j < 2; j++) {
        const sr_tensor *x = shape->src[j];
        if (x->ne[0] != v->ne[0] || !sr__divides(x->ne[1], v->ne[1]) || x->ne[2] != v->ne[2] ||
            !sr__divides(x->ne[3], v->ne[3])) {
            return sr__shape_clash(shape, j, 2, "ne0, ne2 must be equal, ne1, ne3 of the values multiples");
        }
    }
    if ((g->ne[0] != 1 && g->ne[0] != v->ne[0]) || g->ne[1] != v->ne[1] || g->ne[2] != v->ne[2] ||
        g->ne[3] != v->ne[3]) {
        return sr__shape_clash(shape, 2, 3, "the gates must be [1 or ne0, ne1, ne2, ne3] of the values");
    }
    if (beta->ne[0] != 1 || beta->ne[1] != v->ne[1] || beta->ne[2] != v->ne[2] || beta->ne[3] != v->ne[3]) {
        return sr__shape_clash(shape, 2, 4, "beta must be [1, ne1, ne2, ne3] of the values");
    }
    return SR_OK;
}

/* Word 0, of newer revisions, is how many snapshots of the states the result holds; 0 and 1 mean one. */
sr_status sr__shape_gated_delta_net(sr__shape *shape) {
    const sr_tensor *v = shape->src[2], *state = shape->src[5];
    int64_t snapshots = sr__shape_word(shape, 0) > 1 ? sr__shape_word(shape, 0) : 1;
    int64_t row = sr__shape_mul(shape, v->ne[0], v->ne[1]);
    int64_t states = sr__shape_mul(shape, v->ne[0], v->ne[3]);
    sr_status status;
    SR_TRY(check_delta_net(shape));
    if (sr_tensor_nelements(state) != sr__shape_mul(shape, row, states) && snapshots == 1) {
        return sr__shape_clash(shape, 2, 5, "the state must hold ne0 * ne0 * ne1 * ne3 elements of the values");
    }
    int64_t outputs = sr__shape_mul(shape, v->ne[2], v->ne[3]);
    int64_t rows = sr__shape_add(shape, outputs, sr__shape_mul(shape, states, snapshots));
    sr__shape_set(shape, SR_TYPE_F32, row, rows, 1, 1);
done:
    return status;
}

/* ---- windows and relative positions ---- */

sr_status sr__shape_win_part(sr__shape *shape) {
    const sr_tensor *a = shape->src[0];
    static const char *const names[] = {"npx", "npy", "w"};
    for (int i = 0; i < 3; i++) {
        if (sr__shape_word(shape, i) < (i == 2 ? 1 : 0)) {
            return sr__shape_param(shape, names[i], sr__shape_word(shape, i), i == 2 ? "positive" : "0 or more");
        }
    }
    if (a->ne[3] != 1) {
        return sr__shape_wrong(shape, 0, "must have ne3 = 1");
    }
    int64_t w = sr__shape_word(shape, 2);
    return sr__shape_set(shape, SR_TYPE_F32, a->ne[0], w, w,
                         sr__shape_mul(shape, sr__shape_word(shape, 0), sr__shape_word(shape, 1)));
}

sr_status sr__shape_win_unpart(sr__shape *shape) {
    const sr_tensor *a = shape->src[0];
    if (sr__shape_word(shape, 0) <= 0) {
        return sr__shape_param(shape, "w", sr__shape_word(shape, 0), "positive");
    }
    if (!shape->given) {
        return sr__fail(shape->err, SR_INVALID, "WIN_UNPART needs parameters 'w0' and 'h0', or its extents (ne)");
    }
    return sr__shape_set(shape, SR_TYPE_F32, a->ne[0], shape->want[1], shape->want[2], 1);
}

sr_status sr__shape_get_rel_pos(sr__shape *shape) {
    const sr_tensor *a = shape->src[0];
    int64_t n = a->ne[1] / 2 + 1;
    if (a->ne[1] % 2 == 0) {
        return sr__shape_wrong(shape, 0, "must have an odd ne1, 2n - 1");
    }
    return sr__shape_set(shape, SR_TYPE_F16, a->ne[0], n, n, 1);
}

sr_status sr__shape_add_rel_pos(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *pw = shape->src[1];
    if (!sr_tensor_same_shape(pw, shape->src[2])) {
        return sr__shape_clash(shape, 1, 2, "their extents differ");
    }
    if (pw->ne[3] != a->ne[2] || sr__shape_mul(shape, pw->ne[0], pw->ne[0]) != a->ne[0] ||
        sr__shape_mul(shape, pw->ne[1], pw->ne[2]) != a->ne[1]) {
        return sr__shape_clash(shape, 0, 1, "the first must be [ne0 * ne0, ne1 * ne2, ne3] of the second");
    }
    return sr__shape_of_source(shape);
}
