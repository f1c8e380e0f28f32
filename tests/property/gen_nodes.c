/*
 * gen_nodes.c - random nodes: a pool of values, and a menu of ops that make further ones out of them.
 *
 * Layer: tests.  Every value knows a bound of its elements, so that none overflows; a value that grew too large is
 * normalized.  Values that no node uses are made outputs at the end.
 */
#include "gen_nodes.h"

#include <math.h>
#include <stdio.h>

#include "base/base.h"

enum { MAX_ELEMENTS = 1 << 14 };

typedef struct value {
    int32_t tensor;
    int uses;
    int cache;     /* whose contents it sees, or -1 */
    bool dead;     /* may not be read any more */
    double bound;  /* of its absolute elements */
} value;

typedef struct gen {
    gen_case *c;
    sr_graph *graph;
    uint64_t rng, names;
    value *values;
    size_t n, cap;
    int n_caches, n_nodes, n_unused;
    sr_status status; /* after a failure nothing more is added */
    sr_error *err;
} gen;

static const sr_tensor *tensor_of(const gen *g, int v) { return &g->graph->tensors[g->values[v].tensor]; }
static int64_t draw(gen *g, int64_t n) { return gen_below(&g->rng, n); }

static bool is_matrix(const sr_tensor *t) { return t->ne[2] == 1 && t->ne[3] == 1; }

static int32_t float_bits(double x) {
    const union { float f; int32_t i; } v = {(float)x};
    return v.i;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static int new_value(gen *g, int32_t tensor, int cache, double bound) {
    if (g->status == SR_OK && !sr__grow(&g->values, &g->cap, g->n + 1, sizeof(*g->values))) {
        g->status = sr__fail_memory(g->err);
    }
    if (g->status != SR_OK) {
        return 0;
    }
    g->values[g->n] = (value){tensor, 0, cache, false, bound};
    g->n_unused += cache < 0;
    return (int)g->n++;
}

static int32_t use(gen *g, int v) {
    if (g->values[v].uses++ == 0 && g->values[v].cache < 0) {
        g->n_unused--;
    }
    return g->values[v].tensor;
}

static int32_t add(gen *g, sr_tensor_spec *spec) {
    char name[32];
    int32_t tensor = 0;
    if (g->names == 0) {
        snprintf(name, sizeof(name), "%s%d", spec->op == SR_OP_NONE ? "t" : "n", (int)g->graph->n_tensors);
    } else {
        snprintf(name, sizeof(name), "%x-%d", (unsigned)gen_next(&g->names), (int)g->graph->n_tensors);
    }
    spec->name = name;
    if (g->status == SR_OK) {
        g->status = sr_graph_add(g->graph, spec, &tensor, g->err);
        g->n_nodes += spec->op != SR_OP_NONE;
    }
    spec->name = NULL;
    return tensor;
}

/* A node spec of up to three sources; -1: none. */
static sr_tensor_spec node_spec(int op, int32_t srcs[3]) {
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.op = op;
    spec.srcs = srcs;
    spec.n_src = 3;
    return spec;
}

static int32_t node(gen *g, int op, int32_t a, int32_t b, int32_t c) {
    int32_t srcs[3] = {a, b, c};
    sr_tensor_spec spec = node_spec(op, srcs);
    return add(g, &spec);
}

static int32_t node_word(gen *g, int op, int32_t a, int32_t b, int word, int32_t bits) {
    int32_t srcs[3] = {a, b, -1};
    sr_tensor_spec spec = node_spec(op, srcs);
    spec.op_params[word] = bits;
    return add(g, &spec);
}

/* A node of given extents. */
static int32_t node_shaped(gen *g, int op, int32_t a, int type, const int64_t ne[SR_MAX_DIMS]) {
    int32_t srcs[3] = {a, -1, -1};
    sr_tensor_spec spec = node_spec(op, srcs);
    spec.type = type;
    spec.n_dims = SR_MAX_DIMS;
    memcpy(spec.ne, ne, sizeof(spec.ne));
    return add(g, &spec);
}

/* A cast is a CPY onto itself. */
static int32_t cast(gen *g, int32_t a, int type) {
    int32_t srcs[3] = {a, SR_SELF, -1};
    sr_tensor_spec spec = node_spec(SR_OP_CPY, srcs);
    spec.type = type;
    return add(g, &spec);
}

static int32_t leaf(gen *g, int place, int type, int64_t n0, int64_t n1, int64_t n2, gen_content content,
                    int64_t bound) {
    gen_case *c = g->c;
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.type = type;
    spec.n_dims = 3;
    spec.ne[0] = n0, spec.ne[1] = n1, spec.ne[2] = n2;
    spec.flags = place == GEN_INPUT ? SR_FLAG_INPUT : 0;
    const int32_t tensor = add(g, &spec);
    if (g->status == SR_OK && !sr__grow(&c->leafs, &c->leafs_cap, c->n_leafs + 1, sizeof(*c->leafs))) {
        g->status = sr__fail_memory(g->err);
    }
    if (g->status == SR_OK) {
        c->leafs[c->n_leafs++] = (gen_leaf){tensor, place, content, bound};
    }
    return tensor;
}

/* A weight; now and then one that is there already. */
static int32_t weight(gen *g, int type, int64_t n0, int64_t n1, int64_t n2) {
    if (g->c->n_leafs > 0 && gen_chance(&g->rng, 25)) {
        const gen_leaf *old = &g->c->leafs[draw(g, (int64_t)g->c->n_leafs)];
        const sr_tensor *t = &g->graph->tensors[old->tensor];
        if (old->place == GEN_WEIGHT && t->type == type && t->ne[0] == n0 && t->ne[1] == n1 && t->ne[2] == n2) {
            return old->tensor;
        }
    }
    return leaf(g, GEN_WEIGHT, type, n0, n1, n2, GEN_VALUES, 0);
}

static int weight_type(gen *g, int64_t n0) {
    static const int types[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_BF16, SR_TYPE_Q8_0, SR_TYPE_Q4_0, SR_TYPE_Q5_1};
    return types[draw(g, n0 % 32 == 0 ? SR_COUNT(types) : 3)];
}

static int new_input(gen *g) {
    static const int64_t widths[] = {32, 64, 96, 12, 7}, counts[] = {1, 2, 5, 16, 33};
    const int64_t n0 = widths[draw(g, SR_COUNT(widths))], n1 = counts[draw(g, SR_COUNT(counts))];
    return new_value(g, leaf(g, GEN_INPUT, SR_TYPE_F32, n0, n1, 1 + (draw(g, 4) == 0), GEN_VALUES, 0), -1, 1);
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

/* A value to go on with: f32, alive; rather a late one, rather one that nothing uses. */
static int pick(gen *g) {
    for (int attempt = 0; attempt < 12 && g->n > 0; attempt++) {
        const int64_t span = attempt < 8 && g->n > 10 ? 10 : (int64_t)g->n;
        const int v = (int)((int64_t)g->n - 1 - draw(g, span));
        const value *x = &g->values[v];
        if (!x->dead && tensor_of(g, v)->type == SR_TYPE_F32 && (x->uses == 0 || attempt >= 4)) {
            return v;
        }
    }
    return new_input(g);
}

/* An alive f32 value with the shape of v: another one, or v itself. */
static int pick_like(gen *g, int v) {
    for (int attempt = 0; attempt < 16; attempt++) {
        const int other = (int)draw(g, (int64_t)g->n);
        if (!g->values[other].dead && tensor_of(g, other)->type == SR_TYPE_F32 &&
            sr_tensor_same_shape(tensor_of(g, other), tensor_of(g, v))) {
            return other;
        }
    }
    return v;
}

/* Contiguous, and not as if transposed, which rows of one element may be. */
static bool is_dense(const sr_tensor *t) { return sr_tensor_is_contiguous(t) && t->nb[0] <= t->nb[1]; }

/* The value itself, or a dense copy. */
static int dense(gen *g, int v) {
    const sr_tensor *t = tensor_of(g, v);
    if (g->status != SR_OK || is_dense(t)) {
        return v;
    }
    const double bound = g->values[v].bound;
    return new_value(g, node(g, SR_OP_CONT, use(g, v), -1, -1), -1, bound);
}

/* ---- the menu: each makes at least one node out of value v ------------------------------------------------------- */

static void make_unary(gen *g, int v) {
    static const struct { int kind; double bound; } kinds[] = {
        {SR_UNARY_ABS, 0},     {SR_UNARY_SGN, 1},  {SR_UNARY_NEG, 0},       {SR_UNARY_STEP, 1},  {SR_UNARY_TANH, 1},
        {SR_UNARY_RELU, 0},    {SR_UNARY_GELU, 0}, {SR_UNARY_SIGMOID, 1},   {SR_UNARY_SILU, 0},  {SR_UNARY_ELU, 0},
        {SR_UNARY_HARDSWISH, 0}, {SR_UNARY_GELU_QUICK, 0}, {SR_UNARY_HARDSIGMOID, 1}, {SR_UNARY_FLOOR, 0}};
    const int k = (int)draw(g, SR_COUNT(kinds));
    v = dense(g, v);
    const double bound = kinds[k].bound > 0 ? kinds[k].bound : g->values[v].bound + 1;
    int32_t srcs[3] = {g->values[v].tensor, -1, -1};
    sr_tensor_spec spec = node_spec(SR_OP_UNARY, srcs);
    spec.op_params[0] = kinds[k].kind;
    /* In place only over a node's result that nothing has read. */
    spec.inplace = g->c->params.inplace && g->values[v].uses == 0 && tensor_of(g, v)->op != SR_OP_NONE &&
                   tensor_of(g, v)->view_src < 0;
    use(g, v);
    g->values[v].dead |= spec.inplace;
    new_value(g, add(g, &spec), -1, bound);
}

static void make_scale(gen *g, int v) {
    v = dense(g, v);
    const double s = (double)draw(g, 200) / 100 - 1, bound = g->values[v].bound * fabs(s);
    new_value(g, node_word(g, SR_OP_SCALE, use(g, v), -1, 0, float_bits(s)), -1, bound);
}

static void make_binary(gen *g, int v) {
    static const int ops[] = {SR_OP_ADD, SR_OP_SUB, SR_OP_MUL};
    const int op = ops[draw(g, SR_COUNT(ops))];
    double other_bound = 1;
    int32_t other;
    v = dense(g, v);
    if (gen_chance(&g->rng, 50)) {
        other = weight(g, SR_TYPE_F32, tensor_of(g, v)->ne[0], 1, 1);
    } else {
        const int like = pick_like(g, v);
        other_bound = g->values[like].bound;
        other = use(g, like);
    }
    const double bound = op == SR_OP_MUL ? g->values[v].bound * other_bound : g->values[v].bound + other_bound;
    new_value(g, node(g, op, use(g, v), other, -1), -1, bound);
}

static void make_product(gen *g, int v) {
    static const int64_t widths[] = {8, 32, 64, 96, 1};
    v = dense(g, v);
    const int64_t k = tensor_of(g, v)->ne[0], m = widths[draw(g, SR_COUNT(widths))];
    const double bound = (double)k * 1.2 * g->values[v].bound;
    const int32_t w = weight(g, weight_type(g, k), k, m, 1);
    new_value(g, node(g, SR_OP_MUL_MAT, w, use(g, v), -1), -1, bound);
}

/* Two values with rows of one length, as queries and keys are. */
static void make_pair_product(gen *g, int v) {
    int other = dense(g, pick_like(g, v));
    v = dense(g, v);
    if (tensor_of(g, v)->ne[1] > 64 || tensor_of(g, v)->ne[1] != tensor_of(g, other)->ne[1]) {
        return;
    }
    const double bound = (double)tensor_of(g, v)->ne[0] * g->values[v].bound * g->values[other].bound;
    const int32_t a = use(g, other);
    new_value(g, node(g, SR_OP_MUL_MAT, a, use(g, v), -1), -1, bound);
}

static void make_norm(gen *g, int v) {
    static const int ops[] = {SR_OP_RMS_NORM, SR_OP_NORM, SR_OP_RMS_NORM, SR_OP_L2_NORM};
    v = dense(g, v);
    const double bound = sqrt((double)tensor_of(g, v)->ne[0]);
    new_value(g, node_word(g, ops[draw(g, SR_COUNT(ops))], use(g, v), -1, 0, float_bits(1e-5)), -1, bound);
}

static void make_soft_max(gen *g, int v) {
    v = dense(g, v);
    const sr_tensor *t = tensor_of(g, v);
    const int64_t n0 = t->ne[0], n1 = t->ne[1];
    int32_t mask = -1;
    if (gen_chance(&g->rng, 30)) {
        v = new_value(g, node_word(g, SR_OP_DIAG_MASK_INF, use(g, v), -1, 0, 0), -1, g->values[v].bound);
    } else if (gen_chance(&g->rng, 50)) {
        mask = leaf(g, GEN_INPUT, gen_chance(&g->rng, 50) ? SR_TYPE_F16 : SR_TYPE_F32, n0, n1, 1, GEN_VALUES, 0);
    }
    new_value(g, node_word(g, SR_OP_SOFT_MAX, use(g, v), mask, 0, float_bits(0.5)), -1, 1);
}

static void make_rope(gen *g, int v) {
    v = dense(g, v);
    const sr_tensor *t = tensor_of(g, v);
    const int32_t n_dims = (int32_t)(t->ne[0] & ~(int64_t)1), mode = gen_chance(&g->rng, 50) ? 2 : 0;
    const double bound = 1.5 * g->values[v].bound;
    const int32_t positions = leaf(g, GEN_INPUT, SR_TYPE_I32, t->ne[2], 1, 1, GEN_BELOW, 1000);
    int32_t srcs[3] = {use(g, v), positions, -1};
    sr_tensor_spec spec = node_spec(SR_OP_ROPE, srcs);
    spec.op_params[1] = n_dims, spec.op_params[2] = mode;
    spec.op_params[5] = float_bits(10000), spec.op_params[6] = float_bits(1), spec.op_params[8] = float_bits(1);
    new_value(g, add(g, &spec), -1, bound);
}

static void make_glu(gen *g, int v) {
    static const int kinds[] = {SR_GLU_REGLU, SR_GLU_GEGLU, SR_GLU_SWIGLU, SR_GLU_GEGLU_ERF, SR_GLU_GEGLU_QUICK};
    v = dense(g, v);
    int32_t other = -1;
    double bound = g->values[v].bound * g->values[v].bound;
    if (tensor_of(g, v)->ne[0] % 2 != 0 || gen_chance(&g->rng, 50)) {
        const int like = dense(g, pick_like(g, v));
        bound = g->values[v].bound * g->values[like].bound;
        other = use(g, like);
    }
    new_value(g, node_word(g, SR_OP_GLU, use(g, v), other, 0, kinds[draw(g, SR_COUNT(kinds))]), -1, bound);
}

/* Embeddings, added to what is there. */
static void make_embedding(gen *g, int v) {
    const sr_tensor *t = tensor_of(g, v);
    if (!is_matrix(t)) {
        return;
    }
    const int64_t n0 = t->ne[0], n1 = t->ne[1], rows = 50;
    const int32_t table = weight(g, weight_type(g, n0), n0, rows, 1);
    const int32_t ids = leaf(g, GEN_INPUT, SR_TYPE_I32, n1, 1, 1, GEN_BELOW, rows);
    v = dense(g, v);
    const int e = new_value(g, node(g, SR_OP_GET_ROWS, table, ids, -1), -1, 1.2);
    const double bound = g->values[v].bound + 1.2;
    const int32_t a = use(g, v);
    new_value(g, node(g, SR_OP_ADD, a, use(g, e), -1), -1, bound);
}

/* Rows of a value, by ids from outside. */
static void make_rows(gen *g, int v) {
    v = dense(g, v);
    const sr_tensor *t = tensor_of(g, v);
    if (!is_matrix(t)) {
        return;
    }
    const double bound = g->values[v].bound;
    const int32_t ids = leaf(g, GEN_INPUT, SR_TYPE_I32, 1 + draw(g, 9), 1, 1, GEN_BELOW, t->ne[1]);
    new_value(g, node(g, SR_OP_GET_ROWS, use(g, v), ids, -1), -1, bound);
}

/* The largest of each row chooses a row of a table. */
static void make_choice(gen *g, int v) {
    v = dense(g, v);
    const sr_tensor *t = tensor_of(g, v);
    if (!is_matrix(t)) {
        return;
    }
    const int32_t table = weight(g, SR_TYPE_F16, 24, t->ne[0], 1);
    const int32_t ids = node(g, SR_OP_ARGMAX, use(g, v), -1, -1);
    new_value(g, node(g, SR_OP_GET_ROWS, table, ids, -1), -1, 1);
}

/* A mixture of experts: a router, the two best, their products. */
static void make_experts(gen *g, int v) {
    enum { EXPERTS = 6, USED = 2, WIDTH = 16 };
    v = dense(g, v);
    const sr_tensor *t = tensor_of(g, v);
    const int64_t k = t->ne[0], n = t->ne[1];
    if (!is_matrix(t)) {
        return;
    }
    const double bound = (double)k * 1.2 * g->values[v].bound;
    const int32_t router = weight(g, SR_TYPE_F32, k, EXPERTS, 1);
    const int32_t scores = node(g, SR_OP_MUL_MAT, router, use(g, v), -1);
    const int32_t ids = node_shaped(g, SR_OP_TOP_K, scores, -1, (const int64_t[]){USED, n, 1, 1});
    const int32_t experts = weight(g, weight_type(g, k), k, WIDTH, EXPERTS);
    const int32_t b = node_shaped(g, SR_OP_RESHAPE, use(g, v), -1, (const int64_t[]){k, 1, n, 1});
    new_value(g, node(g, SR_OP_MUL_MAT_ID, experts, b, ids), -1, bound);
}

/* By way of half precision. */
static void make_cast(gen *g, int v) {
    const double bound = g->values[v].bound + 1;
    const int32_t half = cast(g, use(g, v), gen_chance(&g->rng, 70) ? SR_TYPE_F16 : SR_TYPE_BF16);
    const int32_t twice = gen_chance(&g->rng, 50) ? node(g, SR_OP_ADD, half, half, -1) : half;
    new_value(g, cast(g, twice, SR_TYPE_F32), -1, 2 * bound);
}

static void make_view(gen *g, int v) {
    v = dense(g, v);
    const sr_tensor *t = tensor_of(g, v);
    const int64_t rows = 1 + draw(g, t->ne[1]), first = draw(g, t->ne[1] - rows + 1);
    const int64_t columns = 1 + draw(g, t->ne[0]), left = draw(g, t->ne[0] - columns + 1);
    int32_t srcs[3] = {g->values[v].tensor, -1, -1};
    sr_tensor_spec spec = node_spec(SR_OP_VIEW, srcs);
    const double bound = g->values[v].bound;
    const int cache = g->values[v].cache;
    spec.n_dims = SR_MAX_DIMS;
    memcpy(spec.ne, t->ne, sizeof(spec.ne));
    spec.ne[0] = columns, spec.ne[1] = rows;
    spec.has_nb = true;
    memcpy(spec.nb, t->nb, sizeof(spec.nb));
    spec.op_params[0] = (int32_t)((size_t)first * t->nb[1] + (size_t)left * t->nb[0]);
    use(g, v);
    new_value(g, add(g, &spec), cache, bound);
}

static void make_reshape(gen *g, int v) {
    v = dense(g, v);
    const sr_tensor *t = tensor_of(g, v);
    int64_t ne[SR_MAX_DIMS] = {t->ne[0], t->ne[1] * t->ne[2] * t->ne[3], 1, 1};
    if (t->ne[0] % 2 == 0 && gen_chance(&g->rng, 60)) {
        ne[0] = t->ne[0] / 2, ne[2] = ne[1], ne[1] = 2;
    }
    const double bound = g->values[v].bound;
    const int cache = g->values[v].cache;
    new_value(g, node_shaped(g, SR_OP_RESHAPE, use(g, v), -1, ne), cache, bound);
}

static void make_permute(gen *g, int v) {
    static const int32_t axes[][SR_MAX_DIMS] = {{0, 2, 1, 3}, {1, 0, 2, 3}, {2, 0, 1, 3}, {1, 2, 0, 3}, {0, 1, 3, 2}};
    const double bound = g->values[v].bound;
    const int cache = g->values[v].cache;
    int32_t srcs[3] = {use(g, v), -1, -1};
    sr_tensor_spec spec = node_spec(gen_chance(&g->rng, 30) ? SR_OP_TRANSPOSE : SR_OP_PERMUTE, srcs);
    if (spec.op == SR_OP_PERMUTE) {
        memcpy(spec.op_params, axes[draw(g, SR_COUNT(axes))], sizeof(axes[0]));
    }
    new_value(g, add(g, &spec), cache, bound);
}

static void make_cont(gen *g, int v) {
    const double bound = g->values[v].bound;
    new_value(g, node(g, SR_OP_CONT, use(g, v), -1, -1), -1, bound);
}

static void make_concat(gen *g, int v) {
    const int other = dense(g, pick_like(g, v));
    v = dense(g, v);
    if (sr_tensor_nelements(tensor_of(g, v)) > MAX_ELEMENTS) {
        return;
    }
    const double bound = fmax(g->values[v].bound, g->values[other].bound);
    const int32_t a = use(g, v);
    new_value(g, node_word(g, SR_OP_CONCAT, a, use(g, other), 0, (int32_t)draw(g, 3)), -1, bound);
}

static void make_reduction(gen *g, int v) {
    v = dense(g, v);
    const double bound = g->values[v].bound * (double)tensor_of(g, v)->ne[0];
    if (gen_chance(&g->rng, 30)) {
        new_value(g, node(g, SR_OP_CUMSUM, use(g, v), -1, -1), -1, bound);
        return;
    }
    const int sums = new_value(g, node(g, SR_OP_SUM_ROWS, use(g, v), -1, -1), -1, bound);
    if (gen_chance(&g->rng, 70)) {
        const int32_t a = use(g, v);
        new_value(g, node(g, SR_OP_ADD, a, use(g, sums), -1), -1, 2 * bound);
    }
}

static void make_clamp(gen *g, int v) {
    v = dense(g, v);
    int32_t srcs[3] = {use(g, v), -1, -1};
    sr_tensor_spec spec = node_spec(SR_OP_CLAMP, srcs);
    spec.op_params[0] = float_bits(-0.5), spec.op_params[1] = float_bits(2);
    new_value(g, add(g, &spec), -1, 2);
}

/* ---- caches ------------------------------------------------------------------------------------------------------ */

/* The value through which a cache of rows of n0 can be read now, or a new one with at least `rows` rows. */
static int cache_handle(gen *g, int64_t n0, int64_t rows) {
    for (int attempt = 0; attempt < 8 && g->n > 0; attempt++) {
        const int v = (int)draw(g, (int64_t)g->n);
        const sr_tensor *t = tensor_of(g, v);
        if (g->values[v].cache >= 0 && !g->values[v].dead && is_matrix(t) && t->ne[0] == n0 && t->ne[1] >= rows &&
            t->view_offs == 0 && is_dense(t)) {
            return v;
        }
    }
    const bool quantized = n0 % 32 == 0 && gen_chance(&g->rng, 25);
    const int type = quantized ? SR_TYPE_Q8_0 : gen_chance(&g->rng, 60) ? SR_TYPE_F16 : SR_TYPE_F32;
    const int32_t cache = leaf(g, GEN_CACHE, type, n0, rows + draw(g, 20), 1, GEN_VALUES, 0);
    return new_value(g, cache, g->n_caches++, 1.2);
}

/* After a write, what was read from the cache before may not be read again. */
static void written(gen *g, int cache, int32_t result, double bound) {
    for (size_t i = 0; i < g->n; i++) {
        if (g->values[i].cache == cache) {
            g->values[i].dead = true;
            bound = fmax(bound, g->values[i].bound);
        }
    }
    new_value(g, result, cache, bound);
}

static void make_set_rows(gen *g, int v) {
    v = dense(g, v);
    const sr_tensor *t = tensor_of(g, v);
    const int64_t n0 = t->ne[0], n1 = t->ne[1];
    if (!is_matrix(t) || g->values[v].cache >= 0) {
        return;
    }
    const int handle = cache_handle(g, n0, n1);
    const int64_t rows = tensor_of(g, handle)->ne[1];
    const int type = gen_chance(&g->rng, 50) ? SR_TYPE_I64 : SR_TYPE_I32;
    const int32_t ids = leaf(g, GEN_INPUT, type, n1, 1, 1, GEN_DISTINCT, rows);
    const double bound = g->values[v].bound;
    const int32_t a = use(g, v);
    written(g, g->values[handle].cache, node(g, SR_OP_SET_ROWS, a, ids, use(g, handle)), bound);
}

static void make_cache_copy(gen *g, int v) {
    const sr_tensor *t = tensor_of(g, v);
    const int64_t n0 = t->ne[0], n1 = t->ne[1];
    if (!is_matrix(t) || g->values[v].cache >= 0) {
        return;
    }
    const int handle = cache_handle(g, n0, n1);
    if (sr_type_get(tensor_of(g, handle)->type)->quantized) {
        v = dense(g, v);
    }
    const sr_tensor *h = tensor_of(g, handle);
    int32_t srcs[3] = {use(g, handle), -1, -1};
    sr_tensor_spec spec = node_spec(SR_OP_VIEW, srcs);
    spec.n_dims = 2;
    spec.ne[0] = n0, spec.ne[1] = n1;
    spec.op_params[0] = (int32_t)((size_t)draw(g, h->ne[1] - n1 + 1) * h->nb[1]);
    const int32_t place = add(g, &spec);
    const double bound = g->values[v].bound;
    written(g, g->values[handle].cache, node(g, SR_OP_CPY, use(g, v), place, -1), bound);
}

/* Whatever can be read of a cache now: rows of it, or a product with a value that has rows as long. */
static void make_cache_read(gen *g, int v) {
    for (int attempt = 0; attempt < 10; attempt++) {
        const int handle = (int)draw(g, (int64_t)g->n);
        const sr_tensor *h = tensor_of(g, handle);
        if (g->values[handle].cache < 0 || g->values[handle].dead || !is_matrix(h) || !is_dense(h)) {
            continue;
        }
        const double bound = 1.2 * g->values[handle].bound;
        const int64_t n0 = h->ne[0], rows = h->ne[1];
        v = dense(g, v);
        if (n0 == tensor_of(g, v)->ne[0] && rows <= 64 && g->values[v].cache < 0) {
            const double product = (double)n0 * bound * g->values[v].bound;
            const int32_t a = use(g, handle);
            new_value(g, node(g, SR_OP_MUL_MAT, a, use(g, v), -1), -1, product);
            return;
        }
        const int32_t ids = leaf(g, GEN_INPUT, SR_TYPE_I32, 1 + draw(g, 7), 1, 1, GEN_BELOW, rows);
        new_value(g, node(g, SR_OP_GET_ROWS, use(g, handle), ids, -1), -1, bound);
        return;
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void (*const menu[])(gen *g, int v) = {
    make_unary,     make_unary,     make_scale,    make_binary,    make_binary,     make_binary,     make_product,
    make_product,   make_product,   make_norm,     make_norm,      make_soft_max,   make_rope,       make_glu,
    make_embedding, make_rows,      make_choice,   make_experts,   make_cast,       make_view,       make_view,
    make_reshape,   make_permute,   make_cont,     make_concat,    make_reduction,  make_clamp,      make_set_rows,
    make_set_rows,  make_cache_copy, make_cache_read, make_cache_read, make_pair_product};

/* Large values are brought back, large tensors summed up. */
static void step(gen *g) {
    const int v = pick(g);
    if (g->status != SR_OK) {
        return;
    }
    if (g->values[v].bound > 1e4) {
        make_norm(g, v);
    } else if (sr_tensor_nelements(tensor_of(g, v)) > MAX_ELEMENTS) {
        make_reduction(g, v);
    } else {
        menu[draw(g, SR_COUNT(menu))](g, v);
    }
}

/* A value that nothing has used becomes an output: a copy of it, since a view or a leaf cannot be one. */
static void add_outputs(gen *g) {
    for (size_t i = 0; g->status == SR_OK && i < g->n; i++) {
        if (g->values[i].uses > 0 || g->values[i].cache >= 0 || g->values[i].dead) {
            continue;
        }
        int32_t srcs[3] = {g->values[i].tensor, -1, -1};
        sr_tensor_spec spec = node_spec(SR_OP_CONT, srcs);
        spec.flags = SR_FLAG_OUTPUT;
        add(g, &spec);
    }
}

sr_status gen_add_nodes(gen_case *c, sr_error *err) {
    gen g = {.c = c, .graph = c->graph, .rng = c->params.seed ^ 0x6e6f646573, .names = c->params.names, .err = err};
    new_input(&g);
    for (int attempt = 0; g.status == SR_OK && attempt < 8 * c->params.n_nodes; attempt++) {
        if (g.n_nodes + g.n_unused >= c->params.n_nodes) {
            break;
        }
        step(&g);
    }
    add_outputs(&g);
    sr__free(g.values);
    return g.status;
}
