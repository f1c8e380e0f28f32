/*
 * test_lints.c - findings on random graphs: what they say holds, and what holds is said.
 *
 * Layer: tests.  Writers, stale copies and orders are worked out here once more, node by node and byte by byte.
 * SR_SEEDS in the environment sets how many seeds are tried, SR_SEED the first one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/finding.h"
#include "analyze/order.h"
#include "gen_wild.h"
#include "sched_run/analyze.h"

static uint64_t first_seed, n_seeds;

/* A case, its scheduler and what the lints found. */
typedef struct lint_run {
    gen_case *c;
    sr_sched_params params;
    sr_sched *sched;
    const sr_layout *layout;
    sr_error error;
    sr_findings findings;
} lint_run;

/* Even seeds are graphs that could be executed, odd ones anything. */
static void open_run(lint_run *r, uint64_t seed, int n_backends) {
    sr_error err = {0};
    uint64_t state = seed ^ 0x6c696e7473;
    *r = (lint_run){0};
    if (seed % 2 == 0 || n_backends > 0) {
        gen_params params;
        gen_params_init(&params, seed);
        params.inplace = seed % 4 == 0;
        params.n_backends = n_backends > 0 ? n_backends : params.n_backends;
        OK(gen_new(&params, &r->c, &err), seed);
    } else {
        OK(gen_wild_new(seed, 0, &r->c, &err), seed);
    }
    sr_sched_params_init(&r->params);
    r->params.n_copies = gen_chance(&state, 60) ? 1 : 2;
    r->params.max_split_inputs = gen_chance(&state, 20) ? 3 : 10000;
    OK(sr_sched_new(r->c->machine->backends, NULL, r->c->machine->n_backends, &r->params, &r->sched, &err), seed);
    OK(gen_assign(r->c, r->sched, &err), seed);
    r->error.status = sr_sched_alloc_graph(r->sched, r->c->graph, &r->error);
    r->layout = sr_sched_layout(r->sched);
    const sr_lint_input input = {.layout = r->layout, .error = &r->error, .params = &r->params};
    OK(sr_lint_run(&input, &r->findings, &err), seed);
}

static void close_run(lint_run *r) {
    sr_findings_clear(&r->findings);
    sr_error_clear(&r->error);
    sr_sched_free(r->sched);
    gen_free(r->c);
}

static unsigned long long seed_of(const lint_run *r) { return (unsigned long long)r->c->params.seed; }

static int64_t detail(const sr_finding *f, const char *key) {
    for (int i = 0; i < f->n_details; i++) {
        if (strcmp(f->details[i].key, key) == 0) {
            return f->details[i].number;
        }
    }
    return -1;
}

/* Findings of a kind; with a key, the sum of that detail. */
static int64_t count(const lint_run *r, const char *kind, const char *key) {
    int64_t n = 0;
    for (int i = 0; i < r->findings.n; i++) {
        if (strcmp(r->findings.items[i].kind, kind) == 0) {
            n += key != NULL ? detail(&r->findings.items[i], key) : 1;
        }
    }
    return n;
}

/* ---- every finding --------------------------------------------------------------------------------------------- */

static bool is_named(const sr_graph *graph, const char *name) {
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        if (strcmp(sr__label(graph, i), name) == 0) {
            return true;
        }
    }
    return false;
}

static void check_finding(const lint_run *r, const sr_finding *f) {
    const sr_lint *lint = sr_lints();
    while (lint->kind != NULL && strcmp(lint->kind, f->kind) != 0) {
        lint++;
    }
    if (lint->kind == NULL || f->message == NULL || f->message[0] == '\0') {
        fail_msg("seed %llu: a finding of kind '%s'", seed_of(r), f->kind);
    }
    for (int i = 0; i < f->n_tensors; i++) {
        const bool is_copy = strcmp(f->kind, "race") == 0 || strcmp(f->kind, "realloc") == 0;
        if (!is_copy && !is_named(r->c->graph, f->tensors[i])) {
            fail_msg("seed %llu: %s names '%s'", seed_of(r), f->kind, f->tensors[i]);
        }
    }
}

static void findings_are_whole(void **state) {
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        lint_run r;
        open_run(&r, seed, 0);
        for (int i = 0; i < r.findings.n; i++) {
            check_finding(&r, &r.findings.items[i]);
            assert_true(i == 0 || r.findings.items[i - 1].severity >= r.findings.items[i].severity);
        }
        close_run(&r);
    }
}

/* ---- alias ------------------------------------------------------------------------------------------------------ */

static bool computes(const sr_tensor *t) {
    return t->op != SR_OP_NONE && !sr_op_is_view(t->op) && (t->flags & SR_FLAG_COMPUTE) && t->nbytes > 0;
}

static int32_t root_of(const sr_graph *graph, int32_t tensor) {
    const int32_t root = graph->tensors[tensor].view_src;
    return root >= 0 ? root : tensor;
}

/* Whether a node writes where the buffers that were handed out, or pre-allocated, are out of its backend's reach. */
static bool misses(const sr_layout *layout, int32_t node) {
    const sr_tensor *t = &layout->graph->tensors[node];
    const sr_buffer *buffer = layout->view.storage[root_of(layout->graph, node)].buffer;
    return computes(t) && buffer != NULL &&
           !sr_backend_supports_buffer_type(layout->backends[layout->backend_of[node]], buffer->type);
}

static void alias_is_what_is_out_of_reach(void **state) {
    (void)state;
    int64_t total = 0;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        lint_run r;
        open_run(&r, seed, 0);
        int64_t n = 0;
        for (int32_t i = 0; i < r.c->graph->n_nodes && r.error.status == SR_OK; i++) {
            n += misses(r.layout, r.c->graph->nodes[i]);
        }
        if (r.error.status == SR_OK && count(&r, "alias", "count") != n) {
            fail_msg("seed %llu: %d nodes miss, %d were found", seed_of(&r), (int)n, (int)count(&r, "alias", "count"));
        }
        total += n;
        close_run(&r);
    }
    assert_true(total > 0 || n_seeds < 100);
}

/* ---- stale inputs ------------------------------------------------------------------------------------------------ */

/* Where a tensor begins: tensors share memory only within one `in`. */
typedef struct place { const void *in; size_t begin; } place;

static place place_of(const sr_graph *graph, int32_t tensor) {
    const sr_tensor *root = &graph->tensors[root_of(graph, tensor)];
    const size_t offset = graph->tensors[tensor].view_src >= 0 ? graph->tensors[tensor].view_offs : 0;
    return root->buffer != NULL ? (place){root->buffer, root->buffer_offset + offset} : (place){root, offset};
}

static bool spans_meet(const sr_graph *graph, int32_t a, int32_t b) {
    const place x = place_of(graph, a), y = place_of(graph, b);
    return x.in == y.in && x.begin < y.begin + graph->tensors[b].nbytes && y.begin < x.begin + graph->tensors[a].nbytes;
}

/* Marks the bytes of a tensor's elements in a map that begins at `from`; false: one of them is marked already. */
static bool mark(uint8_t *map, const sr_tensor *t, size_t at, bool set) {
    const int64_t block = sr_type_get(t->type)->block;
    const size_t size = (size_t)sr_type_get(t->type)->bytes;
    for (int64_t i3 = 0; i3 < t->ne[3]; i3++) {
        for (int64_t i2 = 0; i2 < t->ne[2]; i2++) {
            for (int64_t i1 = 0; i1 < t->ne[1]; i1++) {
                for (int64_t i0 = 0; i0 < t->ne[0] / block; i0++) {
                    uint8_t *p = map + at + (size_t)i0 * t->nb[0] + (size_t)i1 * t->nb[1] + (size_t)i2 * t->nb[2] +
                                 (size_t)i3 * t->nb[3];
                    for (size_t k = 0; k < size; k++) {
                        if (!set && p[k]) {
                            return false;
                        }
                        p[k] |= set;
                    }
                }
            }
        }
    }
    return true;
}

/* Whether two tensors have a byte of an element in common. */
static bool bytes_meet(const sr_graph *graph, int32_t a, int32_t b) {
    const place x = place_of(graph, a), y = place_of(graph, b);
    if (!spans_meet(graph, a, b)) {
        return false;
    }
    const size_t from = x.begin < y.begin ? x.begin : y.begin;
    uint8_t *map = calloc(1, x.begin - from + graph->tensors[a].nbytes + y.begin - from + graph->tensors[b].nbytes);
    assert_non_null(map);
    mark(map, &graph->tensors[a], x.begin - from, true);
    const bool meet = !mark(map, &graph->tensors[b], y.begin - from, false);
    free(map);
    return meet;
}

static bool is_destination(const sr_tensor *node, int j) {
    return (node->op == SR_OP_CPY && j == 1) || (node->op == SR_OP_SET_ROWS && j == 2);
}

/* The position of the last node that reads the values of a copy; -1: none. */
static int32_t last_reader(const sr_layout *layout, int32_t copy) {
    const sr_graph *graph = layout->graph;
    for (int32_t i = graph->n_nodes - 1; i >= 0; i--) {
        const sr_tensor *t = &graph->tensors[graph->nodes[i]];
        for (int j = 0; j < t->n_src && !sr_op_is_view(t->op); j++) {
            if (layout->view.srcs[t->src_begin + j] == copy && !is_destination(t, j)) {
                return i;
            }
        }
    }
    return -1;
}

/* How many inputs are written after they were copied and read after that: by elements, and by spans. */
static void count_stale(const sr_layout *layout, int64_t *out_elements, int64_t *out_spans) {
    const sr_graph *graph = layout->graph;
    *out_elements = *out_spans = 0;
    for (int32_t s = 0; s < layout->n_splits; s++) {
        const sr_split *split = &layout->splits[s];
        for (int32_t k = split->inputs_begin; k < split->inputs_begin + split->n_inputs; k++) {
            const int32_t last = last_reader(layout, layout->input_copies[k]);
            bool elements = false, spans = false;
            for (int32_t i = split->start; i < last; i++) {
                if (computes(&graph->tensors[graph->nodes[i]])) {
                    spans = spans || spans_meet(graph, graph->nodes[i], layout->inputs[k]);
                    elements = elements || bytes_meet(graph, graph->nodes[i], layout->inputs[k]);
                }
            }
            *out_elements += elements;
            *out_spans += spans;
        }
    }
}

static void stale_is_what_is_written_later(void **state) {
    (void)state;
    int64_t total = 0;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        lint_run r;
        open_run(&r, seed, 0);
        if (r.error.status == SR_OK) {
            int64_t elements, spans;
            count_stale(r.layout, &elements, &spans);
            const int64_t found = count(&r, "stale-input", NULL);
            if (found < elements || found > spans) {
                fail_msg("seed %llu: %d inputs are stale, %d at most, %d were found", seed_of(&r), (int)elements,
                         (int)spans, (int)found);
            }
            total += elements;
        }
        close_run(&r);
    }
    assert_true(total > 0 || n_seeds < 100);
}

/* ---- orders ---------------------------------------------------------------------------------------------------- */

/* Whether two nodes must keep their order: data, or one of them writes where the other reads or writes. */
static bool depends(const sr_graph *graph, int32_t earlier, int32_t later) {
    const sr_tensor *a = &graph->tensors[earlier], *b = &graph->tensors[later];
    bool yes = b->view_src == earlier;
    for (int j = 0; j < b->n_src; j++) {
        const int32_t source = graph->srcs[b->src_begin + j];
        yes = yes || source == earlier ||
              (computes(a) && computes(b) && source >= 0 && spans_meet(graph, source, earlier));
    }
    for (int j = 0; j < a->n_src && computes(a) && computes(b); j++) {
        const int32_t source = graph->srcs[a->src_begin + j];
        yes = yes || (source >= 0 && spans_meet(graph, source, later));
    }
    return yes || (computes(a) && computes(b) && spans_meet(graph, earlier, later));
}

static void check_order(const lint_run *r, const sr__order *order) {
    const sr_graph *graph = r->c->graph;
    int32_t *at = calloc((size_t)graph->n_tensors, sizeof(*at));
    assert_non_null(at);
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        at[order->nodes[i]] = i + 1;
    }
    for (int32_t j = 0; j < graph->n_nodes; j++) {
        assert_true(at[graph->nodes[j]] > 0);
        for (int32_t i = 0; i < j; i++) {
            if (at[graph->nodes[i]] > at[graph->nodes[j]] && depends(graph, graph->nodes[i], graph->nodes[j])) {
                fail_msg("seed %llu: '%s' must stay behind '%s'", seed_of(r), graph->tensors[graph->nodes[j]].id,
                         graph->tensors[graph->nodes[i]].id);
            }
        }
    }
    free(at);
}

/* Adds a tensor of another graph; map: where those added before it are. */
static void add_again(const lint_run *r, sr_graph *graph, int32_t tensor, int32_t *map) {
    const sr_graph *from = r->c->graph;
    const sr_tensor *t = &from->tensors[tensor];
    sr_error err = {0};
    sr_tensor_spec spec;
    int32_t srcs[SR_MAX_SRC];
    sr_tensor_spec_init(&spec);
    for (int j = 0; j < t->n_src; j++) {
        const int32_t source = from->srcs[t->src_begin + j];
        srcs[j] = source == tensor ? SR_SELF : source >= 0 ? map[source] : -1;
    }
    spec.name = t->name;
    spec.id = t->id;
    spec.type = t->type;
    spec.op = t->op;
    spec.op_name = t->op_name;
    spec.flags = t->flags;
    spec.no_compute = !(t->flags & SR_FLAG_COMPUTE);
    spec.n_dims = SR_MAX_DIMS;
    spec.has_nb = true;
    memcpy(spec.ne, t->ne, sizeof(spec.ne));
    memcpy(spec.nb, t->nb, sizeof(spec.nb));
    memcpy(spec.op_params, t->op_params, sizeof(spec.op_params));
    spec.srcs = srcs;
    spec.n_src = t->n_src;
    spec.view_of = t->view_src >= 0 ? map[t->view_src] : -1;
    spec.view_offset = t->view_offs;
    spec.buffer = t->view_src >= 0 ? NULL : t->buffer;
    spec.buffer_offset = t->buffer_offset;
    spec.answers = t->answers >= 0 ? &from->answers[t->answers] : NULL;
    OK(sr_graph_add(graph, &spec, &map[tensor], &err), seed_of(r));
}

/* Builds the graph in that order and schedules it: as many splits as were promised. */
static void schedule_in_order(const lint_run *r, const sr__order *order) {
    const sr_graph *from = r->c->graph;
    sr_error err = {0};
    sr_graph *graph;
    sr_sched *sched;
    int32_t *map = calloc((size_t)from->n_tensors, sizeof(*map));
    assert_non_null(map);
    OK(sr_graph_new("reordered", &graph, &err), seed_of(r));
    for (int32_t i = 0; i < from->n_leafs; i++) {
        add_again(r, graph, from->leafs[i], map);
    }
    for (int32_t i = 0; i < from->n_nodes; i++) {
        add_again(r, graph, order->nodes[i], map);
    }
    OK(sr_graph_finish(graph, &err), seed_of(r));
    OK(sr_sched_new(r->c->machine->backends, NULL, r->c->machine->n_backends, &r->params, &sched, &err), seed_of(r));
    for (size_t i = 0; i < r->c->n_assignments; i++) {
        const gen_assignment *a = &r->c->assignments[i];
        OK(sr_sched_set_tensor_backend(sched, graph, map[a->tensor], a->backend, &err), seed_of(r));
    }
    OK(sr_sched_alloc_graph(sched, graph, &err), seed_of(r));
    if (sr_sched_n_splits(sched) != order->n_splits) {
        fail_msg("seed %llu: %d splits were promised, %d came", seed_of(r), (int)order->n_splits,
                 sr_sched_n_splits(sched));
    }
    sr_sched_free(sched);
    sr_graph_free(graph);
    free(map);
}

static void orders_keep_their_promise(void **state) {
    (void)state;
    int total = 0;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        lint_run r;
        sr__order order = {0};
        sr_error err = {0};
        open_run(&r, seed, 0);
        if (r.error.status == SR_OK) {
            OK(sr__order_find(r.layout, &r.params, &order, &err), seed);
            assert_int_equal(count(&r, "order", NULL), order.nodes != NULL);
        }
        if (order.nodes != NULL) {
            assert_true(order.n_splits < r.layout->n_splits);
            check_order(&r, &order);
            schedule_in_order(&r, &order);
            total++;
        }
        sr__order_free(&order);
        close_run(&r);
    }
    assert_true(total > 0 || n_seeds < 100);
}

/* ---- races ----------------------------------------------------------------------------------------------------- */

static void one_backend_races_with_nobody(void **state) {
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        lint_run r;
        open_run(&r, seed, 1);
        assert_int_equal(count(&r, "race", NULL) + count(&r, "alias", NULL) + count(&r, "stale-input", NULL), 0);
        assert_int_equal(count(&r, "order", NULL) + count(&r, "late-input", NULL) + count(&r, "overlap", NULL), 0);
        close_run(&r);
    }
}

int main(void) {
    const char *first = getenv("SR_SEED"), *n = getenv("SR_SEEDS");
    first_seed = first != NULL ? strtoull(first, NULL, 10) : 1;
    n_seeds = n != NULL ? strtoull(n, NULL, 10) : 200;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_are_whole),
        cmocka_unit_test(alias_is_what_is_out_of_reach),
        cmocka_unit_test(stale_is_what_is_written_later),
        cmocka_unit_test(orders_keep_their_promise),
        cmocka_unit_test(one_backend_races_with_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
