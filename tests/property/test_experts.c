/*
 * test_experts.c - mixtures of experts whose weights stay in host memory: only used experts are copied, and the values
 * are those of a CPU alone, wherever the ids of the experts come from.
 *
 * Layer: tests.  SR_SEEDS in the environment sets how many seeds are tried, SR_SEED the first one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "gen.h"
#include "support/build.h"

static uint64_t first_seed, n_seeds;

/* Where the ids of a product's experts come from. */
typedef enum ids_from {
    IDS_INPUT,
    IDS_INPUT_VIEW,
    IDS_TOP_K,
    IDS_TOP_K_ON_CPU,
    IDS_SORT_VIEW,
    IDS_FROM_COUNT
} ids_from;

enum { MAX_PRODUCTS = 4 };

/* A model of some products, the same on every machine. */
typedef struct model {
    uint64_t seed, rng;
    sr_machine *machine;
    sr_buffer *weights;
    sr_graph *graph;
    int64_t width, n_tokens, n_used;
    int32_t x, ids[IDS_FROM_COUNT];      /* made when first needed, -1 before */
    int32_t experts[MAX_PRODUCTS], products[MAX_PRODUCTS], output;
    int n_products;
    int32_t on_cpu, on_gpu[MAX_PRODUCTS]; /* what is assigned by hand */
    size_t placed;
} model;

static int64_t draw(model *m, int64_t n) { return gen_below(&m->rng, n); }

/* ---- the graph --------------------------------------------------------------------------------------------------- */

static int32_t add(model *m, sr_tensor_spec *spec, const char *name) {
    sr_error err = {0};
    char id[32];
    int32_t tensor;
    snprintf(id, sizeof(id), "%s%d", name, (int)m->graph->n_tensors);
    spec->id = id;
    ASSERT_OK(sr_graph_add(m->graph, spec, &tensor, &err), &err);
    return tensor;
}

static int32_t add_leaf(model *m, const char *name, int type, int64_t n0, int64_t n1, int64_t n2, bool weight) {
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.type = type;
    spec.n_dims = 3;
    spec.ne[0] = n0, spec.ne[1] = n1, spec.ne[2] = n2;
    spec.flags = weight ? 0 : SR_FLAG_INPUT;
    const int32_t t = add(m, &spec, name);
    if (weight) {
        sr_graph_place(m->graph, t, m->weights, m->placed);
        m->placed += (m->graph->tensors[t].nbytes + 255) & ~(size_t)255;
        assert_true(m->placed <= m->weights->size);
    }
    return t;
}

static int32_t add_node(model *m, const char *name, int op, int32_t a, int32_t b, int32_t c, const int64_t *ne) {
    const int32_t srcs[3] = {a, b, c};
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.op = op;
    spec.srcs = srcs;
    spec.n_src = 3;
    for (; ne != NULL && spec.n_dims < SR_MAX_DIMS; spec.n_dims++) {
        spec.ne[spec.n_dims] = ne[spec.n_dims];
    }
    return add(m, &spec, name);
}

/* The first columns of a matrix of ids, with its strides. */
static int32_t add_columns(model *m, int32_t of, int64_t n) {
    const sr_tensor *t = &m->graph->tensors[of];
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.op = SR_OP_VIEW;
    spec.srcs = &of;
    spec.n_src = 1;
    spec.n_dims = 2;
    spec.ne[0] = n, spec.ne[1] = t->ne[1];
    spec.has_nb = true;
    memcpy(spec.nb, t->nb, sizeof(spec.nb));
    return add(m, &spec, "columns");
}

/* Ids below n_expert; the smallest number of experts in the model serves all of its products. */
static int32_t make_ids(model *m, ids_from from, int64_t n_expert) {
    const int64_t ne[4] = {m->n_used, m->n_tokens, 1, 1};
    int32_t scores = -1;
    if (from != IDS_INPUT && from != IDS_INPUT_VIEW) {
        const int32_t router = add_leaf(m, "router", SR_TYPE_F32, m->width, n_expert, 1, true);
        scores = add_node(m, "scores", SR_OP_MUL_MAT, router, m->x, -1, NULL);
    }
    switch (from) {
        case IDS_INPUT: return add_leaf(m, "ids", SR_TYPE_I32, m->n_used, m->n_tokens, 1, false);
        case IDS_INPUT_VIEW:
            return add_columns(m, add_leaf(m, "ids", SR_TYPE_I32, m->n_used + 3, m->n_tokens, 1, false), m->n_used);
        case IDS_SORT_VIEW:
            return add_columns(m, add_node(m, "sorted", SR_OP_ARGSORT, scores, -1, -1, NULL), m->n_used);
        default: break;
    }
    const int32_t ids = add_node(m, "top", SR_OP_TOP_K, scores, -1, -1, ne);
    m->on_cpu = from == IDS_TOP_K_ON_CPU ? ids : m->on_cpu;
    return ids;
}

/* Products one after the other; each may have its own number of experts, and ids that an earlier one had. */
static void make_graph(model *m) {
    static const int types[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_Q8_0, SR_TYPE_Q4_0};
    const int64_t fewest = m->n_used + draw(m, 4), shape[4] = {m->width, 1, m->n_tokens, 1};
    m->x = add_leaf(m, "x", SR_TYPE_F32, m->width, m->n_tokens, 1, false);
    int32_t sum = -1;
    for (int i = 0; i < m->n_products; i++) {
        const int64_t n_expert = fewest + (draw(m, 2) ? draw(m, 60) : 0), rows = 32;
        const ids_from from = (ids_from)draw(m, IDS_FROM_COUNT);
        if (m->ids[from] < 0) {
            m->ids[from] = make_ids(m, from, fewest);
        }
        m->experts[i] = add_leaf(m, "experts", types[draw(m, SR_COUNT(types))], m->width, rows, n_expert, true);
        const int32_t b = add_node(m, "b", SR_OP_RESHAPE, m->x, -1, -1, shape);
        m->products[i] = add_node(m, "product", SR_OP_MUL_MAT_ID, m->experts[i], b, m->ids[from], NULL);
        m->on_gpu[i] = draw(m, 3) ? m->products[i] : -1; /* else as offload decides */
        sum = sum < 0 ? m->products[i] : add_node(m, "sum", SR_OP_ADD, m->products[i], sum, -1, NULL);
    }
    const int32_t srcs[1] = {sum};
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.op = SR_OP_CONT;
    spec.srcs = srcs;
    spec.n_src = 1;
    spec.flags = SR_FLAG_OUTPUT;
    m->output = add(m, &spec, "out");
    build_finish(m->graph);
}

/* before: whose memory it takes, or NULL. */
static void add_gpu(model *m, const char *name, const char *before, bool events, bool async) {
    sr_error err = {0};
    sr_backend_config config;
    sr_backend_config_init(&config);
    config.name = name;
    config.device = "sim";
    config.events = events;
    config.async = async;
    config.offload_min_batch = 0;
    config.accepts = &before;
    config.n_accepts = before != NULL ? 1 : 0;
    ASSERT_OK(sr_machine_add_backend(m->machine, &config, &err), &err);
    sr_backend_config_clear(&config);
}

/* What a model is run on. */
typedef struct how { int n_gpus, n_copies; bool events, async[2], shared; } how;

/* n_gpus 0: a CPU alone; shared: the second GPU takes the first one's memory. */
static model *new_model(uint64_t seed, const how *h) {
    static const char *const names[] = {"GPU0", "GPU1"};
    sr_error err = {0};
    sr_backend_config config;
    model *m = calloc(1, sizeof(*m));
    assert_non_null(m);
    m->seed = seed;
    m->rng = seed ^ 0x6d6f65;
    ASSERT_OK(sr_machine_new(&m->machine, &err), &err);
    for (int i = 0; i < h->n_gpus; i++) {
        add_gpu(m, names[i], i > 0 && h->shared ? names[0] : NULL, h->events, h->async[i]);
    }
    sr_backend_config_init(&config);
    config.name = config.device = "cpu";
    ASSERT_OK(sr_machine_add_backend(m->machine, &config, &err), &err);
    sr_backend_config_clear(&config);
    ASSERT_OK(sr_machine_finish(m->machine, &err), &err);
    m->weights = build_buffer(m->machine, "CPU", (size_t)16 << 20, SR_USAGE_WEIGHTS);
    m->graph = build_graph("experts");
    m->width = 32 * (1 + draw(m, 3));
    m->n_tokens = 1 + draw(m, 6);
    m->n_used = 1 + draw(m, 3);
    m->n_products = 1 + (int)draw(m, MAX_PRODUCTS);
    m->on_cpu = -1;
    memset(m->ids, 0xff, sizeof(m->ids));
    make_graph(m);
    return m;
}

static void free_model(model *m) {
    sr_graph_free(m->graph);
    sr_buffer_free(m->weights);
    sr_machine_free(m->machine);
    free(m);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Quantized weights get bytes of small scales: what matters is that they are the same everywhere. */
static void fill(const model *m, int32_t tensor, const sr_storage *at) {
    sr_error err = {0};
    const sr_tensor *t = &m->graph->tensors[tensor];
    uint64_t state = m->seed * 31 + (uint64_t)tensor;
    char *bytes = malloc(t->nbytes);
    assert_non_null(bytes);
    for (size_t i = 0; i < t->nbytes; i++) {
        bytes[i] = (char)gen_below(&state, 48);
    }
    for (size_t i = 0; t->type == SR_TYPE_I32 && i < t->nbytes / 4; i++) {
        const int32_t id = (int32_t)(((int64_t)i * 7 + (int64_t)m->seed) % m->n_used);
        memcpy(bytes + i * 4, &id, 4);
    }
    for (size_t i = 0; t->type == SR_TYPE_F32 && i < t->nbytes / 4; i++) {
        const float x = (float)gen_below(&state, 2001) / 1000.0f - 1.0f;
        memcpy(bytes + i * 4, &x, 4);
    }
    ASSERT_OK(sr_buffer_set(at->buffer, bytes, at->offset, t->nbytes, &err), &err);
    free(bytes);
}

static void run(const model *m, sr_sched *sched, int n_gpus, char *out) {
    sr_error err = {0};
    sr_sched_reset(sched);
    for (int i = 0; n_gpus > 0 && i < m->n_products; i++) {
        if (m->on_gpu[i] >= 0) {
            ASSERT_OK(sr_sched_set_tensor_backend(sched, m->graph, m->on_gpu[i], i % n_gpus, &err), &err);
        }
    }
    if (m->on_cpu >= 0) {
        ASSERT_OK(sr_sched_set_tensor_backend(sched, m->graph, m->on_cpu, n_gpus, &err), &err);
    }
    ASSERT_OK(sr_sched_alloc_graph(sched, m->graph, &err), &err);
    const sr_layout *l = sr_sched_layout(sched);
    for (int32_t i = 0; i < m->graph->n_leafs; i++) {
        fill(m, m->graph->leafs[i], &l->view.storage[m->graph->leafs[i]]);
    }
    ASSERT_OK(sr_sched_compute(sched, m->graph, &err), &err);
    const sr_storage *at = &l->view.storage[m->output];
    ASSERT_OK(sr_buffer_get(at->buffer, out, at->offset, m->graph->tensors[m->output].nbytes, &err), &err);
}

/* Bytes that were copied of all weights of experts, and what copying them whole would have been. */
static void count_copied(const model *m, const sr_layout *l, uint64_t *copied, uint64_t *whole) {
    for (int32_t k = 0; k < l->n_inputs; k++) {
        const sr_tensor *t = &m->graph->tensors[l->inputs[k]];
        if (t->buffer == m->weights && t->ne[2] > 1) {
            assert_true(l->copied[k] <= t->nbytes);
            assert_true(l->copied[k] > 0);
            *copied += l->copied[k];
            *whole += t->nbytes;
        }
    }
}

static sr_sched *new_sched(const model *m, int n_copies) {
    sr_error err = {0};
    sr_sched *sched;
    sr_sched_params params;
    sr_sched_params_init(&params);
    params.n_copies = n_copies;
    ASSERT_OK(sr_sched_new(m->machine->backends, NULL, m->machine->n_backends, &params, &sched, &err), &err);
    return sched;
}

static how draw_how(uint64_t seed) {
    uint64_t state = seed ^ 0x686f77;
    how h = {.n_gpus = 1 + (int)gen_below(&state, 2), .n_copies = 1 + (int)gen_below(&state, 3)};
    h.events = gen_chance(&state, 50);
    h.async[0] = gen_chance(&state, 70);
    h.async[1] = gen_chance(&state, 50);
    h.shared = gen_chance(&state, 50);
    return h;
}

static void only_used_experts_are_copied(void **state) {
    (void)state;
    uint64_t copied = 0, whole = 0;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        static char want[1 << 16], got[1 << 16];
        model *cpu = new_model(seed, &(how){0});
        sr_sched *sched = new_sched(cpu, 1);
        const size_t size = cpu->graph->tensors[cpu->output].nbytes;
        assert_true(size <= sizeof(want));
        run(cpu, sched, 0, want);
        sr_sched_free(sched);
        free_model(cpu);
        for (int k = 0; k < 4; k++) {
            const how h = draw_how(seed * 4 + (uint64_t)k);
            model *m = new_model(seed, &h);
            sched = new_sched(m, h.n_copies);
            for (int i = 0; i < h.n_copies + 1; i++) {
                memset(got, 0, size);
                run(m, sched, h.n_gpus, got);
                if (memcmp(want, got, size) != 0) {
                    fail_msg("seed %llu: wrong values, case %d, run %d", (unsigned long long)seed, k, i);
                }
            }
            count_copied(m, sr_sched_layout(sched), &copied, &whole);
            sr_sched_free(sched);
            free_model(m);
        }
    }
    assert_true(whole > 0);
    assert_true(copied < whole / 2);
}

int main(void) {
    const char *first = getenv("SR_SEED"), *n = getenv("SR_SEEDS");
    first_seed = first != NULL ? strtoull(first, NULL, 10) : 1;
    n_seeds = n != NULL ? strtoull(n, NULL, 10) : 60;
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_used_experts_are_copied)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
