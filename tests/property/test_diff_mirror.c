/*
 * test_diff_mirror.c - random layouts side by side: a layout does not differ from itself, diff(b, a) is the mirror of
 * diff(a, b), and what is told agrees with the layouts.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "property/gen.h"
#include "sched_run/analyze.h"
#include "sched_run/diff.h"
#include "support/build.h"

enum { N_SEEDS = 150 };

static uint64_t seed;
static int n_compared, n_moved, n_cut, n_renamed, n_added;

#define CHECK(condition)                                                                         \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            fail_msg("seed %llu: line %d: %s", (unsigned long long)seed, __LINE__, #condition);  \
        }                                                                                        \
    } while (0)

typedef struct side { gen_case *c; sr_sched *sched; const sr_layout *layout; } side;

static void open_side(side *s, const gen_params *params) {
    sr_error err = {0};
    sr_sched_params sched_params;
    sr_sched_params_init(&sched_params);
    CHECK(gen_new(params, &s->c, &err) == SR_OK);
    CHECK(sr_sched_new(s->c->machine->backends, NULL, s->c->machine->n_backends, &sched_params, &s->sched, &err) ==
          SR_OK);
    CHECK(gen_assign(s->c, s->sched, &err) == SR_OK);
    sr_sched_alloc_graph(s->sched, s->c->graph, &err); /* a failure is compared as well */
    sr_error_clear(&err);
    s->layout = sr_sched_layout(s->sched);
}

static void close_side(side *s) {
    sr_sched_free(s->sched);
    gen_free(s->c);
}

/* ---- one diff ---------------------------------------------------------------------------------------------------- */

static const char *backend_name(const sr_layout *layout, int backend) {
    return backend >= 0 ? layout->backends[backend]->name : "";
}

static void check_pair(const sr_diff *d, const sr_diff_pair *p) {
    CHECK(d->b_of_a[p->a] == p->b && d->a_of_b[p->b] == p->a);
    CHECK(p->from == d->a->backend_of[p->a] && p->to == d->b->backend_of[p->b]);
}

/* Views of any kind may stand for each other: a log does not show which they were. */
static bool is_of_one_kind(const sr_tensor *a, const sr_tensor *b) {
    return (sr_op_is_view(a->op) && sr_op_is_view(b->op)) || strcmp(sr_tensor_op_desc(a), sr_tensor_op_desc(b)) == 0;
}

/* Every tensor is matched or listed, and every matched node that is elsewhere is a move. */
static void check_tensors(const sr_diff *d) {
    const sr_graph *a = d->a->graph, *b = d->b->graph;
    int32_t n_matched = 0, n_moves = 0;
    for (int32_t i = 0; i < a->n_tensors; i++) {
        const int32_t partner = d->b_of_a[i];
        CHECK(partner < 0 || d->a_of_b[partner] == i);
        if (partner < 0) {
            continue;
        }
        n_matched++;
        CHECK(is_of_one_kind(&a->tensors[i], &b->tensors[partner]));
        CHECK((a->tensors[i].node >= 0) == (b->tensors[partner].node >= 0));
        n_moves += a->tensors[i].node >= 0 && strcmp(backend_name(d->a, d->a->backend_of[i]),
                                                     backend_name(d->b, d->b->backend_of[partner])) != 0;
    }
    CHECK(n_moves == d->n_moves);
    CHECK(n_matched + d->n_removed == a->n_tensors && n_matched + d->n_added == b->n_tensors);
    for (int32_t i = 0; i < d->n_moves; i++) {
        check_pair(d, &d->moves[i]);
        CHECK(i == 0 || a->tensors[d->moves[i].a].node > a->tensors[d->moves[i - 1].a].node);
    }
    for (int32_t i = 0; i < d->n_causes; i++) {
        check_pair(d, &d->causes[i]);
        CHECK(d->a->cause_of[d->causes[i].a] != d->b->cause_of[d->causes[i].b]);
    }
}

static void check_copies(const sr_diff *d) {
    CHECK(d->a->n_inputs - d->n_lost == d->b->n_inputs - d->n_gained);
    for (int32_t i = 0; i < d->n_gained; i++) {
        CHECK(d->gained[i].a < 0 && d->gained[i].b >= 0 && (i == 0 || d->gained[i].b > d->gained[i - 1].b));
    }
    for (int32_t i = 0; i < d->n_resized_copies; i++) {
        CHECK(d->b_of_a[d->a->inputs[d->resized[i].a]] == d->b->inputs[d->resized[i].b]);
    }
}

static void check_reasons(const sr_diff *d) {
    int32_t n = 0, n_views = 0;
    for (int i = 0; i < d->n_reasons; i++) {
        const sr_diff_reason *r = &d->reasons[i];
        CHECK(r->n_nodes > 0 && r->first >= 0 && r->first < d->n_moves && r->root >= 0 && r->root < d->n_moves);
        CHECK(d->moves[r->first].from == r->from && d->moves[r->first].to == r->to);
        CHECK(i == 0 || r->n_nodes <= d->reasons[i - 1].n_nodes);
        n += r->n_nodes;
        n_views += r->n_views;
    }
    CHECK(n == d->n_moves && n_views == d->n_moved_views);
}

static void check_one(const sr_diff *d) {
    if (d->compared) {
        check_tensors(d);
        check_copies(d);
        check_reasons(d);
    }
}

/* ---- two that mirror each other ---------------------------------------------------------------------------------- */

static void check_mirror(const sr_diff *d, const sr_diff *m) {
    CHECK(d->compared == m->compared && d->differs == m->differs);
    if (!d->compared) {
        return;
    }
    CHECK(memcmp(d->b_of_a, m->a_of_b, (size_t)d->a->graph->n_tensors * sizeof(*d->b_of_a)) == 0);
    CHECK(memcmp(d->a_of_b, m->b_of_a, (size_t)d->b->graph->n_tensors * sizeof(*d->a_of_b)) == 0);
    CHECK(d->n_moves == m->n_moves && d->n_moved_views == m->n_moved_views && d->n_causes == m->n_causes);
    CHECK(d->n_places == m->n_places && d->n_renamed == m->n_renamed && d->n_resized == m->n_resized);
    CHECK(d->n_added == m->n_removed && d->n_removed == m->n_added && d->n_added_nodes == m->n_removed_nodes);
    CHECK(d->n_cuts == m->n_merges && d->n_merges == m->n_cuts);
    for (int32_t i = 0; i < d->n_cuts; i++) {
        CHECK(d->cuts[i].a == m->merges[i].b && d->cuts[i].b == m->merges[i].a);
        CHECK(d->cuts[i].node_a == m->merges[i].node_b && d->cuts[i].node_b == m->merges[i].node_a);
    }
    CHECK(d->n_gained == m->n_lost && d->n_lost == m->n_gained && d->n_resized_copies == m->n_resized_copies);
    for (int32_t i = 0; i < d->n_gained; i++) {
        CHECK(d->gained[i].b == m->lost[i].a);
    }
    CHECK(d->n_memory == m->n_memory && d->n_reasons == m->n_reasons);
}

static void compare(const gen_params *params_a, const gen_params *params_b, sr_diff *out_diff, side *a, side *b) {
    sr_diff mirror = {0}, self = {0};
    open_side(a, params_a);
    open_side(b, params_b);
    CHECK(sr_diff_make(a->layout, b->layout, out_diff, NULL) == SR_OK);
    CHECK(sr_diff_make(b->layout, a->layout, &mirror, NULL) == SR_OK);
    CHECK(sr_diff_make(a->layout, a->layout, &self, NULL) == SR_OK);
    check_one(out_diff);
    check_one(&mirror);
    check_mirror(out_diff, &mirror);
    CHECK(!self.differs && self.n_moves + self.n_renamed + self.n_added + self.n_cuts + self.n_gained == 0);
    n_compared += out_diff->compared;
    n_moved += out_diff->n_moves > 0;
    n_cut += out_diff->n_cuts > 0;
    n_renamed += out_diff->n_renamed > 0;
    n_added += out_diff->n_added > 0;
    sr_diff_clear(&mirror);
    sr_diff_clear(&self);
}

static void end_compare(sr_diff *diff, side *a, side *b) {
    sr_diff_clear(diff);
    close_side(a);
    close_side(b);
}

/* The same graph made twice. */
static void equal_layouts(void **state) {
    (void)state;
    for (seed = 1; seed <= N_SEEDS; seed++) {
        gen_params params;
        side a, b;
        sr_diff diff;
        gen_params_init(&params, seed);
        compare(&params, &params, &diff, &a, &b);
        CHECK(!diff.differs);
        end_compare(&diff, &a, &b);
    }
}

/* The same graph on other machines: everything is matched. */
static void other_machines(void **state) {
    (void)state;
    n_moved = n_cut = 0;
    for (seed = 1; seed <= N_SEEDS; seed++) {
        gen_params params, other;
        side a, b;
        sr_diff diff;
        gen_params_init(&params, seed);
        other = params;
        other.place = seed % 2 == 0;
        other.rules = seed % 3 == 0;
        other.assign = false;
        other.n_backends = 1 + (int)(seed % 4);
        compare(&params, &other, &diff, &a, &b);
        CHECK(!diff.compared || diff.n_added + diff.n_removed + diff.n_renamed == 0);
        end_compare(&diff, &a, &b);
    }
    assert_true(n_moved > N_SEEDS / 3 && n_cut > N_SEEDS / 6);
}

/* Other names for all: tensors are found by what they are computed from. */
static void other_names(void **state) {
    (void)state;
    n_renamed = 0;
    for (seed = 1; seed <= N_SEEDS; seed++) {
        gen_params params, other;
        side a, b;
        sr_diff diff;
        gen_params_init(&params, seed);
        other = params;
        other.names = seed + 7;
        compare(&params, &other, &diff, &a, &b);
        CHECK(!diff.compared || diff.n_added_nodes + diff.n_removed_nodes == 0);
        end_compare(&diff, &a, &b);
    }
    assert_true(n_renamed > N_SEEDS / 2);
}

/* Graphs that have little in common. */
static void other_graphs(void **state) {
    (void)state;
    n_added = 0;
    for (seed = 1; seed <= N_SEEDS; seed++) {
        gen_params params, other;
        side a, b;
        sr_diff diff;
        gen_params_init(&params, seed);
        gen_params_init(&other, seed + 1000);
        compare(&params, &other, &diff, &a, &b);
        end_compare(&diff, &a, &b);
    }
    assert_true(n_added > N_SEEDS / 2);
}

/* ---- names made from positions ----------------------------------------------------------------------------------- */

/* A chain of nodes that have no names but their positions; a node is left out where its number says so. */
static sr_graph *make_chain(uint64_t kinds, uint64_t left_out, int n) {
    static const int ops[] = {SR_OP_SQR, SR_OP_SQRT, SR_OP_LOG, SR_OP_SIN};
    sr_graph *graph = build_graph("chain");
    int32_t x = build_leaf(graph, "inp", 8, 2, SR_FLAG_INPUT, NULL);
    int position = 0;
    for (int i = 0; i < n; i++) {
        char name[32];
        const int op = ops[gen_below(&kinds, 4)];
        if (gen_chance(&left_out, 15)) {
            continue;
        }
        snprintf(name, sizeof(name), "%s%d", i % 7 == 6 ? "named-" : "node_", i % 7 == 6 ? i : position);
        x = build_node(graph, name, op, x, -1, -1, 0, 0, 0);
        position++;
    }
    build_finish(graph);
    return graph;
}

static void compare_chains(sr_machine *machine) {
    sr_error err = {0};
    sr_sched_params params;
    sr_graph *graphs[2];
    sr_sched *scheds[2];
    sr_diff diff = {0}, mirror = {0};
    sr_sched_params_init(&params);
    for (int i = 0; i < 2; i++) {
        graphs[i] = make_chain(seed, seed * 2 + (uint64_t)i + 9000, 40);
        CHECK(sr_sched_new(machine->backends, NULL, machine->n_backends, &params, &scheds[i], &err) == SR_OK);
        CHECK(sr_sched_alloc_graph(scheds[i], graphs[i], &err) == SR_OK);
    }
    CHECK(sr_diff_make(sr_sched_layout(scheds[0]), sr_sched_layout(scheds[1]), &diff, &err) == SR_OK);
    CHECK(sr_diff_make(sr_sched_layout(scheds[1]), sr_sched_layout(scheds[0]), &mirror, &err) == SR_OK);
    check_one(&diff);
    check_mirror(&diff, &mirror);
    n_added += diff.n_added_nodes < 15;
    sr_diff_clear(&diff);
    sr_diff_clear(&mirror);
    for (int i = 0; i < 2; i++) {
        sr_sched_free(scheds[i]);
        sr_graph_free(graphs[i]);
    }
}

static void automatic_names(void **state) {
    (void)state;
    sr_machine *machine = build_machine("GPU0 CPU");
    n_added = 0;
    for (seed = 1; seed <= N_SEEDS; seed++) {
        compare_chains(machine);
    }
    sr_machine_free(machine);
    assert_true(n_added > N_SEEDS * 2 / 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_layouts), cmocka_unit_test(other_machines),
                                       cmocka_unit_test(other_names), cmocka_unit_test(other_graphs),
                                       cmocka_unit_test(automatic_names)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    print_message("%d pairs of layouts compared\n", n_compared);
    return failed;
}
