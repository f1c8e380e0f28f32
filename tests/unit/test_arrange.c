/* Tests of arranging nodes by backend: against all orders of small random graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/arrange.h"
#include "support/build.h"

enum { MOST_NODES = 8 };

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Sums of earlier tensors, some of them in place. */
static sr_graph *draw_graph(uint64_t *state, int n) {
    sr_graph *g = build_graph("g");
    sr_error err = {0};
    build_leaf(g, "x", 4, 1, 0, NULL);
    for (int i = 0; i < n; i++) {
        const int32_t srcs[2] = {(int32_t)(next(state) % (uint64_t)(i + 1)),
                                 (int32_t)(next(state) % (uint64_t)(i + 1))};
        sr_tensor_spec spec;
        sr_tensor_spec_init(&spec);
        spec.op = SR_OP_ADD;
        spec.inplace = next(state) % 4 == 0;
        spec.srcs = srcs;
        spec.n_src = 2;
        ASSERT_OK(sr_graph_add(g, &spec, NULL, &err), &err);
    }
    build_finish(g);
    return g;
}

/* The fewest groups over all orders that keep the dependences: by sets of nodes taken so far and the last backend. */
static int fewest(const sr__dependences *d, const sr__backends *allowed, int n_backends) {
    static int least[1 << MOST_NODES][2];
    const int n = d->n_nodes;
    int best = n;
    for (int set = 0; set < 1 << n; set++) {
        for (int b = 0; b < n_backends; b++) {
            least[set][b] = set == 0 ? 0 : n + 1;
        }
        for (int i = 0; i < n; i++) {
            const int without = set & ~(1 << i);
            bool can = without != set;
            for (int32_t k = d->begin[i]; k < d->begin[i + 1]; k++) {
                can = can && (without >> d->on[k] & 1);
            }
            for (int b = 0; can && b < n_backends; b++) {
                for (int from = 0; (allowed[i] >> b & 1) && from < n_backends; from++) {
                    const int groups = least[without][from] + (without == 0 || from != b);
                    least[set][b] = groups < least[set][b] ? groups : least[set][b];
                }
            }
        }
    }
    for (int b = 0; b < n_backends; b++) {
        best = least[(1 << n) - 1][b] < best ? least[(1 << n) - 1][b] : best;
    }
    return best;
}

static void check_order(const sr__arrangement *a) {
    const sr__dependences *d = a->dependences;
    bool done[MOST_NODES] = {false};
    for (int32_t i = 0; i < d->n_nodes; i++) {
        const int32_t node = a->order[i];
        assert_true(node >= 0 && node < d->n_nodes && !done[node]);
        for (int32_t k = d->begin[node]; k < d->begin[node + 1]; k++) {
            assert_true(done[d->on[k]]);
        }
        done[node] = true;
    }
}

/* For two backends the better of the two beginnings is the best order there is. */
static void the_best_for_two_backends(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        uint64_t random = seed * 77;
        const int n = 1 + (int)(next(&random) % MOST_NODES);
        sr_graph *g = draw_graph(&random, n);
        sr__dependences d;
        sr__backends allowed[MOST_NODES];
        int32_t order[MOST_NODES], bound;
        for (int i = 0; i < n; i++) {
            allowed[i] = (sr__backends)1 << (next(&random) % 2);
        }
        assert_true(sr__dependences_init(&d, g) && sr__arrange_bound(g, allowed, &bound));
        const int best = fewest(&d, allowed, 2);
        int found = n + 1;
        for (int first = -1; first < 2; first++) {
            sr__arrangement a = {.dependences = &d, .allowed = allowed, .n_backends = 2, .order = order};
            assert_true(sr__arrange(&a, first));
            check_order(&a);
            found = a.n_runs < found ? a.n_runs : found;
        }
        if (found != best || bound > best) {
            fail_msg("seed %d: %d groups were found, %d are the fewest, the bound is %d", (int)seed, found, best,
                     (int)bound);
        }
        sr__dependences_free(&d);
        sr_graph_free(g);
    }
}

/* Nodes that may be on both: what is found is an order, and never better than the best. */
static void nodes_that_may_be_on_both(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        uint64_t random = seed * 91;
        const int n = 1 + (int)(next(&random) % MOST_NODES);
        sr_graph *g = draw_graph(&random, n);
        sr__dependences d;
        sr__backends allowed[MOST_NODES];
        int32_t order[MOST_NODES], bound;
        for (int i = 0; i < n; i++) {
            allowed[i] = 1 + next(&random) % 3;
        }
        assert_true(sr__dependences_init(&d, g) && sr__arrange_bound(g, allowed, &bound));
        const int best = fewest(&d, allowed, 2);
        sr__arrangement a = {.dependences = &d, .allowed = allowed, .n_backends = 2, .order = order};
        assert_true(sr__arrange(&a, -1));
        check_order(&a);
        assert_true(bound <= best && a.n_runs >= best);
        sr__dependences_free(&d);
        sr_graph_free(g);
    }
}

static void fixed_nodes_stay(void **state) {
    (void)state;
    sr_graph *g = build_graph("g");
    const int32_t x = build_leaf(g, "x", 4, 1, 0, NULL);
    for (int i = 0; i < 4; i++) {
        build_node(g, "", SR_OP_SQR, x, -1, -1, 0, 0, 0);
    }
    build_finish(g);
    sr__dependences d;
    int32_t order[4];
    const sr__backends allowed[4] = {2, 1, 2, 1};
    assert_true(sr__dependences_init(&d, g));
    sr__arrangement a = {.dependences = &d, .allowed = allowed, .n_backends = 2, .n_fixed = 2, .order = order};
    assert_true(sr__arrange(&a, -1));
    const int32_t expected[4] = {0, 1, 3, 2};
    assert_memory_equal(order, expected, sizeof(order));
    assert_int_equal(a.n_runs, 3);
    assert_int_equal(a.began, 1);
    sr__dependences_free(&d);
    sr_graph_free(g);
}

static void out_of_memory(void **state) {
    (void)state;
    uint64_t random = 5;
    sr_graph *g = draw_graph(&random, MOST_NODES);
    sr__backends allowed[MOST_NODES];
    int32_t order[MOST_NODES], bound;
    bool ok = false;
    for (int i = 0; i < MOST_NODES; i++) {
        allowed[i] = 1 + next(&random) % 3;
    }
    for (long n = 1; !ok; n++) {
        sr__dependences d;
        sr__fail_allocations(n, false);
        ok = sr__dependences_init(&d, g) && sr__arrange_bound(g, allowed, &bound);
        sr__arrangement a = {.dependences = &d, .allowed = allowed, .n_backends = 2, .order = order};
        ok = ok && sr__arrange(&a, -1);
        sr__fail_allocations(0, false);
        sr__dependences_free(&d);
    }
    sr_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_for_two_backends),
        cmocka_unit_test(nodes_that_may_be_on_both),
        cmocka_unit_test(fixed_nodes_stay),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("arrange", tests, NULL, NULL);
}
