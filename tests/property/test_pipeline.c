/*
 * test_pipeline.c - batches in flight on two devices: whatever waits are missing, a sum over all batches tells.
 *
 * Layer: tests.  Everything computes on the devices, so that the host runs ahead of them; each batch adds to a cache.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gen.h"
#include "support/build.h"

enum { WIDTH = 64, TOKENS = 48, DEPTH = 6, BATCHES = 12 };

/* What the batches run on; n_gpus 0: a CPU alone. */
typedef struct how { int n_gpus, n_copies; bool events, async, wait; } how;

typedef struct pipeline {
    sr_machine *machine;
    sr_buffer *weights[2], *cache;
    sr_graph *graph;
    int32_t x, w[2], sum;
} pipeline;

static void add_backend(sr_machine *machine, const char *name, const how *h) {
    sr_error err = {0};
    sr_backend_config config;
    sr_backend_config_init(&config);
    config.name = name;
    config.device = h == NULL ? "cpu" : "sim";
    config.events = h == NULL || h->events;
    config.async = h == NULL || h->async;
    ASSERT_OK(sr_machine_add_backend(machine, &config, &err), &err);
    sr_backend_config_clear(&config);
}

static void add_layers(pipeline *p, const char *name, int32_t w, int32_t *h) {
    char id[32];
    for (int i = 0; i < DEPTH; i++) {
        snprintf(id, sizeof(id), "%s.%d", name, i);
        *h = build_node(p->graph, id, SR_OP_MUL_MAT, w, *h, -1, 0, 0, 0);
        snprintf(id, sizeof(id), "%s.norm.%d", name, i);
        *h = build_node(p->graph, id, SR_OP_RMS_NORM, *h, -1, -1, 0, 0, 0);
    }
}

/* Layers on the first device, on the second, and on the first again, which adds to a cache on the second. */
static void init(pipeline *p, const how *h) {
    static const char *const names[] = {"GPU0", "GPU1"};
    sr_error err = {0};
    ASSERT_OK(sr_machine_new(&p->machine, &err), &err);
    for (int i = 0; i < h->n_gpus; i++) {
        add_backend(p->machine, names[i], h);
    }
    add_backend(p->machine, "CPU", NULL);
    ASSERT_OK(sr_machine_finish(p->machine, &err), &err);
    p->graph = build_graph("pipeline");
    p->x = build_leaf(p->graph, "x", WIDTH, TOKENS, SR_FLAG_INPUT, NULL);
    for (int i = 0; i < 2; i++) {
        const char *type = h->n_gpus == 0 ? "CPU" : names[i % h->n_gpus];
        p->weights[i] = build_buffer(p->machine, type, WIDTH * WIDTH * 4, SR_USAGE_WEIGHTS);
        p->w[i] = build_leaf(p->graph, i == 0 ? "w0" : "w1", WIDTH, WIDTH, 0, p->weights[i]);
    }
    const char *last = h->n_gpus == 0 ? "CPU" : names[h->n_gpus - 1];
    p->cache = build_buffer(p->machine, last, WIDTH * TOKENS * 4, SR_USAGE_ANY);
    p->sum = build_leaf(p->graph, "sum", WIDTH, TOKENS, 0, p->cache);
    int32_t t = p->x;
    add_layers(p, "first", p->w[0], &t);
    add_layers(p, "second", p->w[1], &t);
    add_layers(p, "third", p->w[0], &t);
    t = build_node(p->graph, "with x", SR_OP_ADD, t, p->x, -1, 0, 0, 0);
    t = build_node(p->graph, "added", SR_OP_ADD, t, p->sum, -1, 0, 0, 0);
    build_node(p->graph, "kept", SR_OP_CPY, t, p->sum, -1, 0, 0, 0);
    build_finish(p->graph);
}

static void drop(pipeline *p) {
    sr_graph_free(p->graph);
    sr_buffer_free(p->weights[0]);
    sr_buffer_free(p->weights[1]);
    sr_buffer_free(p->cache);
    sr_machine_free(p->machine);
}

static void fill(const pipeline *p, int32_t tensor, const sr_storage *at, uint64_t seed) {
    sr_error err = {0};
    float values[WIDTH * WIDTH];
    const size_t size = p->graph->tensors[tensor].nbytes;
    assert_true(size <= sizeof(values));
    for (size_t i = 0; i < size / sizeof(*values); i++) {
        values[i] = (float)gen_below(&seed, 2001) / 1000.0f - 1.0f;
    }
    ASSERT_OK(sr_buffer_set(at->buffer, values, at->offset, size, &err), &err);
}

/* The sum over all batches. */
static void run(const how *h, float *out) {
    sr_error err = {0};
    pipeline p;
    sr_sched *sched;
    sr_sched_params params;
    init(&p, h);
    sr_sched_params_init(&params);
    params.n_copies = h->n_copies;
    ASSERT_OK(sr_sched_new(p.machine->backends, NULL, p.machine->n_backends, &params, &sched, &err), &err);
    ASSERT_OK(sr_buffer_clear(p.cache, 0, &err), &err);
    for (int i = 0; i < 2; i++) {
        fill(&p, p.w[i], &(sr_storage){p.weights[i], 0}, (uint64_t)i + 1);
    }
    for (int i = 0; i < BATCHES; i++) {
        sr_sched_reset(sched);
        ASSERT_OK(sr_sched_alloc_graph(sched, p.graph, &err), &err);
        fill(&p, p.x, &sr_sched_layout(sched)->view.storage[p.x], 1000 + (uint64_t)i);
        ASSERT_OK(sr_sched_compute_async(sched, p.graph, &err), &err);
        if (h->wait) {
            ASSERT_OK(sr_sched_synchronize(sched, &err), &err);
        }
    }
    ASSERT_OK(sr_sched_synchronize(sched, &err), &err);
    ASSERT_OK(sr_buffer_get(p.cache, out, 0, WIDTH * TOKENS * 4, &err), &err);
    sr_sched_free(sched);
    drop(&p);
}

static void every_batch_counts_once(void **state) {
    (void)state;
    static float want[WIDTH * TOKENS], got[WIDTH * TOKENS];
    run(&(how){.n_copies = 1, .wait = true}, want);
    for (int k = 0; k < 64; k++) {
        const how h = {.n_gpus = 1 + k % 2,
                       .n_copies = 1 + k / 2 % 4,
                       .events = k / 8 % 2 == 0,
                       .async = k / 16 % 2 == 0,
                       .wait = k / 32 == 1};
        memset(got, 0, sizeof(got));
        run(&h, got);
        if (memcmp(want, got, sizeof(want)) != 0) {
            fail_msg("%d devices, %d copies, events %d, queues %d, waiting %d: another sum", h.n_gpus, h.n_copies,
                     h.events, h.async, h.wait);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_batch_counts_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
