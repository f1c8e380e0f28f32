/*
 * op_params.c - named parameters of an op into the 32-bit words that the op keeps.
 *
 * Layer: graph.  Answers to the arguments of the builder functions of ggml.c and what they store by ggml_set_op_params.
 * Most parameters are a word each, by the table in ops.c; the ops that compute something from their arguments (the
 * softplus of XIELU, the flags of UPSCALE, the windows of WIN_PART) have a function at the end.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "graph/op_shapes.h"

enum { MAX_PARAMS = 16 }; /* of one op in the table */

typedef struct setter {
    const sr_graph *graph;
    sr_tensor_spec *spec;
    const sr_op_info *info;
    const char *op;                            /* for messages: SILU and not UNARY */
    int kind;
    const sr_param_value *given[MAX_PARAMS];   /* by parameter of the table; NULL: left out */
    double number[MAX_PARAMS];                 /* what it is, given or by default; NaN: follows from the sources */
    sr_error *err;
} setter;

/* ---- which parameters there are ---- */

static bool applies(const setter *s, int i) {
    if (s->spec->op == SR_OP_UNARY) {
        return s->kind == SR_UNARY_XIELU;
    }
    if (s->spec->op == SR_OP_GLU && s->info->params[i].word >= 2) {
        return s->kind == SR_GLU_SWIGLU_OAI;
    }
    return true;
}

static int find_param(const setter *s, const char *name) {
    for (int i = 0; i < s->info->n_params; i++) {
        if (applies(s, i) && strcmp(s->info->params[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static sr_status unknown_param(const setter *s, const char *name) {
    const char *names[MAX_PARAMS] = {NULL};
    int n = 0;
    for (int i = 0; i < s->info->n_params; i++) {
        if (applies(s, i)) {
            names[n++] = s->info->params[i].name;
        }
    }
    if (n == 0) {
        return sr__fail(s->err, SR_INVALID, "unknown parameter '%s' of %s, which takes none", name, s->op);
    }
    const char *near = n == 1 ? names[0] : sr__nearest(name, names, n);
    if (near == NULL) {
        return sr__fail(s->err, SR_INVALID, "unknown parameter '%s' of %s", name, s->op);
    }
    return sr__fail(s->err, SR_INVALID, "unknown parameter '%s' of %s, did you mean '%s'?", name, s->op, near);
}

static sr_status sort_values(setter *s, const sr_param_value *values, int n_values) {
    for (int v = 0; v < n_values; v++) {
        int i = find_param(s, values[v].name);
        if (i < 0) {
            return unknown_param(s, values[v].name);
        }
        if (s->given[i] != NULL) {
            return sr__fail(s->err, SR_INVALID, "parameter '%s' of %s is given twice", values[v].name, s->op);
        }
        s->given[i] = &values[v];
    }
    for (int i = 0; i < s->info->n_params; i++) {
        const sr_param_info *p = &s->info->params[i];
        /* What no word keeps is in the extents; where those are given nothing is missing. */
        bool elsewhere = p->word < 0 && s->spec->n_dims > 0;
        if (applies(s, i) && p->required && s->given[i] == NULL && !elsewhere) {
            return sr__fail(s->err, SR_INVALID, "%s needs parameter '%s'", s->op, p->name);
        }
    }
    return SR_OK;
}

/* ---- one value ---- */

static sr_status bad_value(const setter *s, int i, const char *must_be) {
    const sr_param_value *v = s->given[i];
    const char *name = s->info->params[i].name;
    if (v->is_text) {
        return sr__fail(s->err, SR_INVALID, "parameter '%s' of %s is '%s', must be %s", name, s->op, v->text, must_be);
    }
    return sr__fail(s->err, SR_INVALID, "parameter '%s' of %s is %.17g, must be %s", name, s->op, v->number, must_be);
}

/* "one of 'asc', 'desc'", and the nearest of them where the text given is near one. */
static sr_status bad_enum(const setter *s, int i) {
    const sr_param_info *p = &s->info->params[i];
    const char *names[SR_TYPE_COUNT] = {NULL};
    int n = 0;
    for (; p->values[n].name != NULL; n++) {
        names[n] = p->values[n].name;
    }
    const char *near = s->given[i]->is_text ? sr__nearest(s->given[i]->text, names, n) : NULL;
    if (near != NULL) {
        return sr__fail(s->err, SR_INVALID, "parameter '%s' of %s is '%s', did you mean '%s'?", p->name, s->op,
                        s->given[i]->text, near);
    }
    sr__str list = {0};
    for (int k = 0; k < n; k++) {
        sr__str_printf(&list, "%s'%s'", k == 0 ? "one of " : ", ", names[k]);
    }
    sr_status status = list.failed ? sr__fail_memory(s->err) : bad_value(s, i, sr__str_text(&list));
    sr__str_free(&list);
    return status;
}

static sr_status read_enum(setter *s, int i) {
    const sr_param_value *v = s->given[i];
    for (const sr_param_enum *e = s->info->params[i].values; e->name != NULL; e++) {
        if (v->is_text ? strcmp(e->name, v->text) == 0 : (double)e->value == v->number) {
            s->number[i] = e->value;
            return SR_OK;
        }
    }
    return bad_enum(s, i);
}

static bool is_integer(double number, double limit) {
    return number >= -limit && number <= limit && floor(number) == number;
}

static sr_status read_value(setter *s, int i) {
    const sr_param_info *p = &s->info->params[i];
    const sr_param_value *v = s->given[i];
    if (v == NULL) {
        s->number[i] = p->fallback;
        return SR_OK;
    }
    if (p->kind == SR_PARAM_ENUM) {
        return read_enum(s, i);
    }
    if (p->kind == SR_PARAM_INT4) {
        return v->is_text ? bad_value(s, i, "four integers") : SR_OK;
    }
    if (v->is_text || isnan(v->number)) {
        return bad_value(s, i, "a number");
    }
    if (p->kind == SR_PARAM_BOOL && v->number != 0 && v->number != 1) {
        return bad_value(s, i, "true or false");
    }
    /* Extents and byte offsets have 64 bits; everything else that is whole is kept in a word. */
    double limit = p->word < 0 || s->spec->op == SR_OP_VIEW ? 9007199254740992.0 : 2147483647.0;
    if (p->kind == SR_PARAM_INT && !is_integer(v->number, limit)) {
        return bad_value(s, i, "an integer within range");
    }
    s->number[i] = v->number;
    return SR_OK;
}

static void store_float(sr_tensor_spec *spec, int word, float value) {
    memcpy(&spec->op_params[word], &value, sizeof value);
}

static void store_value(setter *s, int i) {
    const sr_param_info *p = &s->info->params[i];
    if (p->word < 0 || isnan(s->number[i])) {
        return;
    }
    if (p->kind == SR_PARAM_FLOAT) {
        store_float(s->spec, p->word, (float)s->number[i]);
    } else if (p->kind == SR_PARAM_INT4) {
        if (s->given[i] != NULL) {
            memcpy(&s->spec->op_params[p->word], s->given[i]->four, sizeof s->given[i]->four);
        }
    } else if (s->spec->op != SR_OP_VIEW) {
        s->spec->op_params[p->word] = (int32_t)s->number[i];
    }
}

/* ---- ops that compute something ---- */

static const sr_tensor *source(const setter *s, int j) {
    if (j >= s->spec->n_src || s->spec->srcs[j] < 0 || s->spec->srcs[j] >= s->graph->n_tensors) {
        return NULL;
    }
    return &s->graph->tensors[s->spec->srcs[j]];
}

static sr_status need_source(const setter *s, int j, const sr_tensor **out_source) {
    *out_source = source(s, j);
    return *out_source != NULL ? SR_OK : sr__fail(s->err, SR_INVALID, "%s needs source %d", s->op, j);
}

/* Extents that are arguments of the builder.  Those of the node, if it has some, must be the same. */
static sr_status set_extents(const setter *s, const int64_t ne[SR_MAX_DIMS]) {
    sr_tensor_spec *spec = s->spec;
    for (int d = 0; d < SR_MAX_DIMS && spec->n_dims > 0; d++) {
        int64_t given = d < spec->n_dims ? spec->ne[d] : 1;
        if (given != ne[d]) {
            return sr__fail(s->err, SR_INVALID, "ne%d of %s is %" PRId64 ", but its parameters make it %" PRId64, d,
                            s->op, given, ne[d]);
        }
    }
    spec->n_dims = SR_MAX_DIMS;
    memcpy(spec->ne, ne, sizeof spec->ne);
    return SR_OK;
}

/* nb1, nb2, nb3 of the first source by default; `inplace` is a word and a view. */
static sr_status finish_acc(setter *s) {
    const sr_tensor *a;
    sr_status status;
    SR_TRY(need_source(s, 0, &a));
    for (int i = 0; i < 3; i++) {
        if (s->given[i] == NULL) {
            if (a->nb[i + 1] > INT32_MAX) {
                return sr__fail(s->err, SR_INVALID, "%s needs parameter '%s': the stride of '%s' is too large for it",
                                s->op, s->info->params[i].name, a->id);
            }
            s->spec->op_params[i] = (int32_t)a->nb[i + 1];
        }
    }
done:
    return status;
}

static sr_status finish_inplace(setter *s, int i) {
    sr_tensor_spec *spec = s->spec;
    bool inplace = s->number[i] != 0;
    if (s->given[i] != NULL && !inplace && spec->inplace) {
        return sr__fail(s->err, SR_INVALID, "parameter 'inplace' of %s is false, but the node is in place", s->op);
    }
    spec->inplace = spec->inplace || inplace;
    spec->op_params[s->info->params[i].word] = spec->inplace;
    return SR_OK;
}

static float softplus(float x) { return x > 20.0f ? x : logf(1.0f + expf(x)); }

static sr_status finish_unary(setter *s) {
    if (s->kind == SR_UNARY_XIELU) {
        float n = (float)s->number[0], p = (float)s->number[1], beta = (float)s->number[2];
        store_float(s->spec, 1, beta + softplus(n));
        store_float(s->spec, 2, softplus(p));
    }
    return SR_OK;
}

static sr_status finish_rope(setter *s) {
    if ((s->spec->op_params[2] & 8) == 0) {
        memset(&s->spec->op_params[11], 0, 4 * sizeof s->spec->op_params[0]);
    }
    return SR_OK;
}

static sr_status finish_view(setter *s) {
    if (s->number[0] < 0) {
        return bad_value(s, 0, "0 or more");
    }
    uint64_t offset = (uint64_t)s->number[0];
    uint32_t low = (uint32_t)offset, high = (uint32_t)(offset >> 32);
    memcpy(&s->spec->op_params[0], &low, sizeof low);
    memcpy(&s->spec->op_params[1], &high, sizeof high);
    return SR_OK;
}

static sr_status finish_permute(setter *s) {
    unsigned seen = 0;
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        int32_t axis = s->spec->op_params[d];
        if (axis < 0 || axis >= SR_MAX_DIMS || (seen & 1u << axis) != 0) {
            return bad_value(s, d, "from 0 to 3 and no other's");
        }
        seen |= 1u << axis;
    }
    return SR_OK;
}

static sr_status finish_im2col(setter *s, int type_param) {
    sr_tensor_spec *spec = s->spec;
    if (spec->op != SR_OP_IM2COL_3D) {
        /* In the one-dimensional form step and dilation of dimension 1 are unused. */
        int32_t other = spec->op_params[6] != 0;
        spec->op_params[1] = s->given[1] != NULL ? spec->op_params[1] : other;
        spec->op_params[5] = s->given[5] != NULL ? spec->op_params[5] : other;
    }
    if (type_param < 0 || s->given[type_param] == NULL) {
        return SR_OK;
    }
    int type = (int)s->number[type_param];
    if (spec->type >= 0 && spec->type != type) {
        return sr__fail(s->err, SR_INVALID, "type %s of %s is not its parameter 'dst_type', %s",
                        sr_type_get(spec->type)->name, s->op, sr_type_get(type)->name);
    }
    spec->type = type;
    return SR_OK;
}

/* A fractional padding counts in the extents; its word keeps the whole part, which is what the kernel goes by. */
static sr_status finish_pool_2d(setter *s) {
    int32_t *w = s->spec->op_params;
    const sr_tensor *a;
    sr_status status = SR_OK;
    for (int d = 0; d < 2; d++) {
        if (!(s->number[5 + d] >= 0 && s->number[5 + d] <= INT32_MAX)) {
            return bad_value(s, 5 + d, "0 or more");
        }
        w[5 + d] = (int32_t)s->number[5 + d];
    }
    bool whole = floor(s->number[5]) == s->number[5] && floor(s->number[6]) == s->number[6];
    if (!whole && s->spec->op == SR_OP_POOL_2D && w[3] > 0 && w[4] > 0) {
        SR_TRY(need_source(s, 0, &a));
        int64_t ne[SR_MAX_DIMS] = {sr__pool_extent(a->ne[0], w[1], w[3], (float)s->number[5]),
                                   sr__pool_extent(a->ne[1], w[2], w[4], (float)s->number[6]), a->ne[2], a->ne[3]};
        SR_TRY(set_extents(s, ne));
    }
done:
    return status;
}

static sr_status finish_upscale(setter *s) {
    int32_t mode = (int32_t)s->number[0];
    const sr_tensor *a;
    sr_status status = SR_OK;
    if (s->number[2] != 0 && mode != 1) {
        return bad_value(s, 2, "false unless 'mode' is 'bilinear'");
    }
    s->spec->op_params[0] = mode | (s->number[1] != 0 ? 256 : 0) | (s->number[2] != 0 ? 512 : 0);
    if (s->given[3] != NULL || s->given[4] != NULL || s->given[5] != NULL || s->given[6] != NULL) {
        SR_TRY(need_source(s, 0, &a));
        int64_t ne[SR_MAX_DIMS];
        for (int d = 0; d < SR_MAX_DIMS; d++) {
            ne[d] = s->given[3 + d] != NULL ? (int64_t)s->number[3 + d] : a->ne[d];
        }
        SR_TRY(set_extents(s, ne));
    }
done:
    return status;
}

/* lp0, rp0, lp1, ... and the short forms p0..p3 for the right sides, which share a word with rp0..rp3. */
static sr_status finish_pad(setter *s) {
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        int right = 2 * d + 1, both = 9 + d;
        if (s->given[both] != NULL && s->given[right] != NULL) {
            return sr__fail(s->err, SR_INVALID, "PAD takes parameter '%s' or '%s', not both",
                            s->info->params[both].name, s->info->params[right].name);
        }
        s->spec->op_params[right] = (int32_t)s->number[s->given[both] != NULL ? both : right];
    }
    return SR_OK;
}

static sr_status finish_top_k(setter *s) {
    const sr_tensor *a;
    sr_status status = SR_OK;
    if (s->given[0] != NULL) {
        SR_TRY(need_source(s, 0, &a));
        if (s->number[0] < 1 || s->number[0] > (double)a->ne[0]) {
            return bad_value(s, 0, "from 1 to ne0 of the source");
        }
        int64_t ne[SR_MAX_DIMS] = {(int64_t)s->number[0], a->ne[1], a->ne[2], a->ne[3]};
        SR_TRY(set_extents(s, ne));
    }
done:
    return status;
}

static sr_status finish_win_part(setter *s) {
    const sr_tensor *a;
    sr_status status;
    int64_t w = (int64_t)s->number[0];
    SR_TRY(need_source(s, 0, &a));
    if (w < 1) {
        return bad_value(s, 0, "positive");
    }
    for (int d = 0; d < 2; d++) {
        int64_t windows = a->ne[d + 1] / w + (a->ne[d + 1] % w != 0);
        if (windows > INT32_MAX) {
            return bad_value(s, 0, "larger for a source of that size");
        }
        s->spec->op_params[d] = (int32_t)windows;
    }
done:
    return status;
}

/* WIN_UNPART (w0, h0) and GET_REL_POS (kh, qh): dimensions 1 and 2 of the result are two parameters. */
static sr_status finish_plane(setter *s, int first, int second) {
    const sr_tensor *a;
    sr_status status = SR_OK;
    int given = (s->given[first] != NULL) + (s->given[second] != NULL);
    if (given > 0) {
        SR_TRY(need_source(s, 0, &a));
        if (given != 2) {
            return sr__fail(s->err, SR_INVALID, "%s takes parameters '%s' and '%s' together", s->op,
                            s->info->params[first].name, s->info->params[second].name);
        }
        int64_t ne[SR_MAX_DIMS] = {a->ne[0], (int64_t)s->number[first], (int64_t)s->number[second], 1};
        SR_TRY(set_extents(s, ne));
    }
done:
    return status;
}

static sr_status finish_at_least(setter *s, int i, double least, const char *must_be) {
    return s->given[i] != NULL && s->number[i] < least ? bad_value(s, i, must_be) : SR_OK;
}

static sr_status finish_n_tasks(setter *s) {
    return s->number[0] < 1 && s->number[0] != -1 ? bad_value(s, 0, "positive, or -1 for all threads") : SR_OK;
}

static sr_status finish_soft_max_back(setter *s) {
    return s->number[1] != 0 ? bad_value(s, 1, "0") : SR_OK;
}

static sr_status finish_op(setter *s) {
    sr_status status;
    switch (s->spec->op) {
        case SR_OP_ACC:
        case SR_OP_SET:
            status = finish_acc(s);
            return status == SR_OK ? finish_inplace(s, 4) : status;
        case SR_OP_ADD_REL_POS: return finish_inplace(s, 0);
        case SR_OP_NORM:
        case SR_OP_RMS_NORM:
        case SR_OP_RMS_NORM_BACK:
        case SR_OP_L2_NORM: return finish_at_least(s, 0, 0, "0 or more");
        case SR_OP_GROUP_NORM: return finish_at_least(s, 1, 0, "0 or more");
        case SR_OP_UNARY: return finish_unary(s);
        case SR_OP_ROPE:
        case SR_OP_ROPE_BACK: return finish_rope(s);
        case SR_OP_SOFT_MAX_BACK: return finish_soft_max_back(s);
        case SR_OP_VIEW: return finish_view(s);
        case SR_OP_PERMUTE: return finish_permute(s);
        case SR_OP_IM2COL: return finish_im2col(s, 7);
        case SR_OP_IM2COL_BACK: return finish_im2col(s, -1);
        case SR_OP_IM2COL_3D: return finish_im2col(s, 10);
        case SR_OP_POOL_2D:
        case SR_OP_POOL_2D_BACK: return finish_pool_2d(s);
        case SR_OP_UPSCALE: return finish_upscale(s);
        case SR_OP_PAD: return finish_pad(s);
        case SR_OP_TOP_K: return finish_top_k(s);
        case SR_OP_WIN_PART: return finish_win_part(s);
        case SR_OP_WIN_UNPART: return finish_plane(s, 1, 2);
        case SR_OP_GET_REL_POS: return finish_plane(s, 1, 0);
        case SR_OP_MAP_CUSTOM1:
        case SR_OP_MAP_CUSTOM2:
        case SR_OP_MAP_CUSTOM3:
        case SR_OP_CUSTOM: return finish_n_tasks(s);
        default: return SR_OK;
    }
}

sr_status sr_op_set_params(const sr_graph *graph, sr_tensor_spec *spec, int kind, const sr_param_value *values,
                           int n_values, sr_error *err) {
    setter s = {.graph = graph, .spec = spec, .info = sr_op_get(spec->op), .kind = kind, .err = err};
    sr_status status;
    if (s.info == NULL) {
        return n_values == 0 ? SR_OK : sr__fail(err, SR_INVALID, "%s is not known here: give its words (op_params)",
                                                spec->op_name != NULL ? spec->op_name : "the op");
    }
    s.op = s.info->name;
    if (spec->op == SR_OP_UNARY || spec->op == SR_OP_GLU) {
        s.op = sr__op_kind_name(spec->op, kind);
        if (s.op == NULL) {
            return sr__fail(err, SR_INVALID, "%s needs a kind: name the op by it, as in '%s'", s.info->name,
                            spec->op == SR_OP_GLU ? "SWIGLU" : "SILU");
        }
    }
    memset(spec->op_params, 0, sizeof spec->op_params);
    SR_TRY(sort_values(&s, values, n_values));
    for (int i = 0; i < s.info->n_params; i++) {
        if (applies(&s, i)) {
            SR_TRY(read_value(&s, i));
            store_value(&s, i);
        }
    }
    if (spec->op == SR_OP_UNARY || spec->op == SR_OP_GLU) {
        spec->op_params[0] = kind;
    }
    status = finish_op(&s);
done:
    return status;
}
