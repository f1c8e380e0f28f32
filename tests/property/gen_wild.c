/*
 * gen_wild.c - random graphs that are only scheduled.
 *
 * Layer: tests.
 */
#include "gen_wild.h"

#include <stdio.h>

#include "base/base.h"

enum { MAX_BACKENDS = 6, MAX_NODES = 90, BUFFER_SIZE = 1 << 16 };

typedef struct wild {
    gen_case *c;
    sr_graph *graph;
    uint64_t rng, names;
    const char *backend_names[MAX_BACKENDS];
    int n_backends;
    bool records; /* nodes may carry recorded answers */
    sr_status status;
    sr_error *err;
} wild;

static int64_t draw(wild *w, int64_t n) { return gen_below(&w->rng, n); }
static bool chance(wild *w, int percent) { return gen_chance(&w->rng, percent); }
static const sr_tensor *tensor_of(const wild *w, int32_t t) { return &w->graph->tensors[t]; }

/* Any tensor of floats; the first is one. */
static int32_t any(wild *w) {
    const int32_t t = (int32_t)draw(w, w->graph->n_tensors);
    return tensor_of(w, t)->type == SR_TYPE_F32 ? t : 0;
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

static const char *const names[MAX_BACKENDS] = {"A", "B", "C", "D", "E", "F"};

/* Denies an op now and then; the ops below are those that the graphs are made of. */
static sr_status draw_denials(wild *w, sr_backend_config *config) {
    static const int ops[] = {SR_OP_SCALE, SR_OP_ADD, SR_OP_MUL, SR_OP_CPY, SR_OP_ROPE, SR_OP_UNARY};
    const int n = (int)draw(w, 3);
    config->has_rules = true;
    config->deny.rules = sr__calloc((size_t)n + 1, sizeof(*config->deny.rules));
    for (int i = 0; config->deny.rules != NULL && i < n; i++) {
        config->deny.rules[config->deny.n++] = (sr_rule){.op = ops[draw(w, SR_COUNT(ops))], .kind = -1};
    }
    return config->deny.rules != NULL ? SR_OK : sr__fail_memory(w->err);
}

static sr_status add_backend(wild *w, int i) {
    const bool last = i == w->n_backends - 1;
    const char *accepts[MAX_BACKENDS];
    sr_backend_config config;
    sr_backend_config_init(&config);
    config.name = w->backend_names[i] = last ? "CPU" : names[i];
    config.device = last || chance(w, 10) ? "cpu" : "sim";
    config.accepts = accepts;
    sr_status status = draw_denials(w, &config);
    if (strcmp(config.device, "sim") == 0) {
        config.alignment = (size_t)16 << draw(w, 5);
        config.max_buffer_size = chance(w, 20) ? (size_t)256 << draw(w, 4) : SIZE_MAX;
        config.host = chance(w, 10);
        config.offload_min_batch = chance(w, 40) ? draw(w, 20) : -1;
        if (i > 0 && chance(w, 15)) {
            config.buffer_type = w->c->machine->backends[draw(w, i)]->buffer_type->name;
        }
    }
    for (int b = 0; b < i; b++) {
        if (chance(w, 20)) {
            accepts[config.n_accepts++] = w->c->machine->backends[b]->buffer_type->name;
        }
    }
    if (chance(w, 25)) {
        accepts[config.n_accepts++] = "CPU";
    }
    if (status == SR_OK) {
        status = sr_machine_add_backend(w->c->machine, &config, w->err);
    }
    sr_backend_config_clear(&config);
    return status;
}

static sr_status make_machine(wild *w) {
    sr_status status;
    SR_TRY(sr_machine_new(&w->c->machine, w->err));
    for (int i = 0; i < w->n_backends; i++) {
        SR_TRY(add_backend(w, i));
    }
    SR_TRY(sr_machine_finish(w->c->machine, w->err));
done:
    return status;
}

/* Two buffers a backend, as the other generator has them: of weights, and of anything. */
static sr_status make_buffers(wild *w) {
    gen_case *c = w->c;
    sr_status status = SR_OK;
    c->n_buffers = 2 * w->n_backends;
    c->buffers = sr__calloc((size_t)c->n_buffers, sizeof(*c->buffers));
    if (c->buffers == NULL) {
        return sr__fail_memory(w->err);
    }
    for (int i = 0; i < c->n_buffers && status == SR_OK; i++) {
        sr_buffer_type *type = c->machine->backends[i / 2]->buffer_type;
        status = sr_buffer_type_alloc(type, BUFFER_SIZE, &c->buffers[i], w->err);
        if (status == SR_OK) {
            sr_buffer_set_usage(c->buffers[i], i % 2 == 0 ? SR_USAGE_WEIGHTS : SR_USAGE_ANY);
        }
    }
    return status;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* A node called an input is laid out first; one that may work in place could get a source that is read later. */
static void draw_flags(wild *w, sr_tensor_spec *spec) {
    const bool leaf = spec->op == SR_OP_NONE;
    spec->flags |= chance(w, 10) ? SR_FLAG_OUTPUT : 0u;
    spec->flags |= chance(w, leaf ? 40 : sr_op_can_reuse(spec->op) ? 0 : 2) ? SR_FLAG_INPUT : 0u;
    spec->flags |= leaf && chance(w, 8) ? SR_FLAG_PARAM : 0u;
}

static void draw_answers(wild *w, sr_answers *answers, const char **lists[2]) {
    *answers = (sr_answers){.n_supported_by = -1, .n_offloaded_by = -1};
    answers->supported_by = lists[0];
    answers->offloaded_by = lists[1];
    if (chance(w, 70)) {
        answers->n_supported_by = 0;
        for (int b = 0; b < w->n_backends; b++) {
            if (chance(w, b == w->n_backends - 1 ? 95 : 60)) {
                lists[0][answers->n_supported_by++] = w->backend_names[b];
            }
        }
    }
    if (chance(w, 30)) {
        answers->n_offloaded_by = 0;
        for (int b = 0; b < w->n_backends; b++) {
            if (chance(w, 30)) {
                lists[1][answers->n_offloaded_by++] = w->backend_names[b];
            }
        }
    }
}

static void add(wild *w, sr_tensor_spec *spec) {
    char id[32];
    const char *supported[MAX_BACKENDS], *offloaded[MAX_BACKENDS], **lists[2] = {supported, offloaded};
    sr_answers answers;
    if (w->names == 0) {
        snprintf(id, sizeof(id), "t%d", (int)w->graph->n_tensors);
    } else {
        snprintf(id, sizeof(id), "%x-%d", (unsigned)gen_next(&w->names), (int)w->graph->n_tensors);
    }
    spec->id = id;
    spec->name = chance(w, 10) ? "" : NULL;
    draw_flags(w, spec);
    if (spec->op != SR_OP_NONE && w->records && chance(w, 60)) {
        draw_answers(w, &answers, lists);
        spec->answers = &answers;
    }
    w->status = sr_graph_add(w->graph, spec, NULL, w->err);
}

static void place(wild *w, sr_tensor_spec *spec) {
    const size_t slots = BUFFER_SIZE / 4096;
    spec->buffer = w->c->buffers[draw(w, w->c->n_buffers)];
    spec->buffer_offset = (size_t)draw(w, (int64_t)slots) * 4096;
}

static int64_t draw_extent(wild *w) {
    static const int64_t extents[] = {1, 16, 16, 16, 64, 64, 100, 256, 8, 0};
    return extents[draw(w, SR_COUNT(extents) - !chance(w, 10))];
}

static void add_leaf(wild *w) {
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.n_dims = 1;
    spec.ne[0] = draw_extent(w);
    if (chance(w, 50)) {
        place(w, &spec);
    }
    add(w, &spec);
}

static void add_opaque(wild *w) {
    int32_t srcs[SR_MAX_SRC];
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.op = SR_OP_OPAQUE;
    spec.op_name = chance(w, 50) ? "FROB" : "TWEAK";
    spec.n_dims = 1;
    spec.ne[0] = draw_extent(w);
    spec.n_src = (int)draw(w, chance(w, 10) ? SR_MAX_SRC + 1 : 4);
    spec.srcs = srcs;
    for (int j = 0; j < spec.n_src; j++) {
        srcs[j] = chance(w, 10) ? -1 : any(w);
    }
    if (chance(w, 5)) {
        place(w, &spec);
    } else if (chance(w, 8)) {
        spec.view_of = any(w);
        spec.ne[0] = tensor_of(w, spec.view_of)->ne[0];
    }
    add(w, &spec);
}

/* Another tensor with as many elements, or t itself. */
static int32_t like(wild *w, int32_t t) {
    for (int attempt = 0; attempt < 20; attempt++) {
        const int32_t other = any(w);
        if (tensor_of(w, other)->ne[0] == tensor_of(w, t)->ne[0]) {
            return other;
        }
    }
    return t;
}

static void add_elementwise(wild *w) {
    static const int ops[] = {SR_OP_SCALE, SR_OP_UNARY, SR_OP_SQR, SR_OP_ADD, SR_OP_MUL, SR_OP_CONT};
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.op = ops[draw(w, SR_COUNT(ops))];
    const int32_t a = any(w), srcs[2] = {a, like(w, a)};
    spec.srcs = srcs;
    spec.n_src = spec.op == SR_OP_ADD || spec.op == SR_OP_MUL ? 2 : 1;
    spec.inplace = spec.op != SR_OP_CONT && chance(w, 15);
    add(w, &spec);
}

/* Into another tensor, or onto itself: a cast. */
static void add_copy(wild *w) {
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.op = SR_OP_CPY;
    const int32_t a = any(w), srcs[2] = {a, chance(w, 25) ? (int32_t)SR_SELF : like(w, a)};
    spec.srcs = srcs;
    spec.n_src = 2;
    spec.type = srcs[1] == SR_SELF ? SR_TYPE_F32 : -1;
    add(w, &spec);
}

static void add_view(wild *w) {
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    const int32_t of = any(w);
    const int64_t n = tensor_of(w, of)->ne[0];
    spec.srcs = &of;
    spec.n_src = 1;
    spec.n_dims = 1;
    spec.op = chance(w, 70) ? SR_OP_VIEW : SR_OP_RESHAPE;
    spec.ne[0] = n;
    if (spec.op == SR_OP_VIEW && n > 1) {
        const int64_t first = draw(w, n);
        spec.ne[0] = 1 + draw(w, n - first);
        spec.op_params[0] = (int32_t)first * 4;
    }
    add(w, &spec);
}

/* Rotation, with factors that lie in a buffer of weights and yet decide nothing. */
static void add_rope(wild *w) {
    sr_tensor_spec positions, factors, spec;
    const int32_t a = any(w);
    const int64_t n = tensor_of(w, a)->ne[0];
    if (n < 8) {
        return;
    }
    sr_tensor_spec_init(&positions);
    positions.type = SR_TYPE_I32;
    positions.n_dims = 1;
    positions.ne[0] = 1;
    sr_tensor_spec_init(&factors);
    factors.n_dims = 1;
    factors.ne[0] = n / 2;
    place(w, &factors);
    add(w, &positions);
    if (w->status == SR_OK) {
        add(w, &factors);
    }
    const int32_t srcs[3] = {a, w->graph->n_tensors - 2, w->graph->n_tensors - 1};
    sr_tensor_spec_init(&spec);
    spec.op = SR_OP_ROPE;
    spec.srcs = srcs;
    spec.n_src = 3;
    spec.op_params[1] = (int32_t)(n & ~(int64_t)1);
    if (w->status == SR_OK) {
        add(w, &spec);
    }
}

static sr_status make_graph(wild *w) {
    static void (*const menu[])(wild *w) = {add_leaf,   add_leaf,        add_leaf,        add_opaque,
                                            add_opaque, add_opaque,      add_elementwise, add_elementwise,
                                            add_copy,   add_view,        add_view,        add_rope};
    const int64_t n = 1 + draw(w, chance(w, 30) ? 8 : MAX_NODES);
    add_leaf(w);
    for (int64_t i = 0; i < n && w->status == SR_OK; i++) {
        menu[draw(w, SR_COUNT(menu))](w);
    }
    return w->status == SR_OK ? sr_graph_finish(w->graph, w->err) : w->status;
}

/* Of any tensor: weights, views and inputs too. */
static sr_status draw_assignments(wild *w) {
    gen_case *c = w->c;
    const int percent = chance(w, 50) ? 0 : 10;
    for (int32_t t = 0; t < w->graph->n_tensors; t++) {
        if (!chance(w, percent)) {
            continue;
        }
        if (!sr__grow(&c->assignments, &c->assignments_cap, c->n_assignments + 1, sizeof(*c->assignments))) {
            return sr__fail_memory(w->err);
        }
        c->assignments[c->n_assignments++] = (gen_assignment){t, (int)draw(w, w->n_backends)};
    }
    return SR_OK;
}

sr_status gen_wild_new(uint64_t seed, uint64_t id_seed, gen_case **out_case, sr_error *err) {
    sr_status status;
    wild w = {.c = sr__calloc(1, sizeof(gen_case)), .rng = seed ^ 0x77696c64, .names = id_seed, .err = err};
    *out_case = NULL;
    if (w.c == NULL) {
        return sr__fail_memory(err);
    }
    w.n_backends = 1 + (int)draw(&w, MAX_BACKENDS);
    w.records = chance(&w, 60);
    w.c->params = (gen_params){.seed = seed, .n_backends = w.n_backends};
    SR_TRY(make_machine(&w));
    SR_TRY(make_buffers(&w));
    SR_TRY(sr_graph_new("wild", &w.c->graph, err));
    w.graph = w.c->graph;
    SR_TRY(make_graph(&w));
    SR_TRY(draw_assignments(&w));
    *out_case = w.c;
    return SR_OK;
done:
    gen_free(w.c);
    return status;
}
