/*
 * test_device_values.c - graphs of the generator on real devices among simulated ones: the CPU's values, but for
 * rounding.
 *
 * Layer: tests.  Over every driver of the build whose kernels are its own, on one device and on two; where this machine
 * has none, it says so and skips.  SR_SEEDS and SR_SEED as in test_generated.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "analyze/tensor_values.h"
#include "gen.h"

/* Kernels add up in other orders and round exponentials otherwise; graphs are up to 200 nodes deep. */
static const double LIMIT = 1e-4;
/* Where values cancel out, as the sum of a normalised row does, only rounding is left: of an element, squared. */
static const double NOTHING = 1e-8;

static uint64_t first_seed, n_seeds;

static double **run_values(gen_params params, int n_copies, int64_t *out_n_on_device) {
    sr_error err = {0};
    gen_case *c = NULL;
    sr_sched *sched = NULL;
    sr_sched_params sched_params;
    sr_sched_params_init(&sched_params);
    sched_params.n_copies = n_copies;
    sched_params.max_split_inputs = 10000;
    if (gen_new(&params, &c, &err) != SR_OK ||
        sr_sched_new(c->machine->backends, NULL, c->machine->n_backends, &sched_params, &sched, &err) != SR_OK ||
        gen_run(c, sched, &err) != SR_OK) {
        fail_msg("seed %llu: %s", (unsigned long long)params.seed, sr_error_message(&err));
    }
    const sr_layout *layout = sr_sched_layout(sched);
    double **values = calloc((size_t)c->graph->n_tensors + 1, sizeof(*values));
    assert_non_null(values);
    for (int32_t t = 0; t < c->graph->n_tensors; t++) {
        sr__values v;
        if (!gen_is_result(c, t)) {
            continue;
        }
        if (sr__values_read(&v, &layout->view, t, &err) != SR_OK) {
            fail_msg("seed %llu: %s", (unsigned long long)params.seed, sr_error_message(&err));
        }
        values[t] = calloc((size_t)sr_tensor_nelements(v.tensor) + 1, sizeof(double));
        assert_non_null(values[t]);
        sr__values_all(&v, values[t]);
        sr__values_free(&v);
    }
    for (int32_t i = 0; i < c->graph->n_nodes && out_n_on_device; i++) {
        const sr_tensor *node = &c->graph->tensors[c->graph->nodes[i]];
        const int backend = layout->backend_of[c->graph->nodes[i]];
        const bool there = (backend == 0 && params.device) || (backend == 1 && params.second);
        *out_n_on_device += there && !sr_op_is_view(node->op);
    }
    sr_sched_free(sched);
    gen_free(c);
    return values;
}

/* Whether the smallest change of a source can change the result by much. */
static bool jumps(const sr_tensor *t) {
    static const int kinds[] = {SR_UNARY_FLOOR, SR_UNARY_CEIL, SR_UNARY_ROUND,
                                SR_UNARY_TRUNC, SR_UNARY_STEP, SR_UNARY_SGN};
    for (int i = 0; i < SR_COUNT(kinds) && t->op == SR_OP_UNARY; i++) {
        if (t->op_params[0] == kinds[i]) {
            return true;
        }
    }
    return t->op == SR_OP_ARGMAX || t->op == SR_OP_ARGSORT || t->op == SR_OP_TOP_K ||
           (t->op != SR_OP_NONE && t->type == SR_TYPE_I32 && !sr_op_is_view(t->op));
}

/* Tensors that depend on such a result: rounding decides what they hold.  To be freed. */
static bool *find_undecided(const sr_graph *graph) {
    bool *undecided = calloc((size_t)graph->n_tensors + 1, sizeof(*undecided));
    assert_non_null(undecided);
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const int32_t id = graph->nodes[i];
        const sr_tensor *t = &graph->tensors[id];
        undecided[id] = jumps(t) || (t->view_src >= 0 && undecided[t->view_src]);
        for (int j = 0; j < t->n_src; j++) {
            const int32_t src = graph->srcs[t->src_begin + j];
            undecided[id] = undecided[id] || (src >= 0 && undecided[src]);
        }
        if (t->view_src >= 0 && undecided[id]) {
            undecided[t->view_src] = true; /* it wrote there */
        }
    }
    return undecided;
}

static int64_t n_compared;

static void compare(const gen_params *params, const sr_graph *graph, double **want, double **got) {
    bool *undecided = find_undecided(graph);
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        double error = 0.0, size = 0.0;
        const int64_t n = want[t] != NULL && !undecided[t] ? sr_tensor_nelements(&graph->tensors[t]) : 0;
        for (int64_t i = 0; i < n; i++) {
            if (memcmp(&got[t][i], &want[t][i], sizeof(double)) == 0 || (isnan(got[t][i]) && isnan(want[t][i]))) {
                continue; /* infinities too */
            }
            error += (got[t][i] - want[t][i]) * (got[t][i] - want[t][i]);
            size += want[t][i] * want[t][i];
        }
        if (!(error <= LIMIT * size + NOTHING * (double)n)) {
            fail_msg("seed %llu: '%s' (%s) differs, nmse %g", (unsigned long long)params->seed, graph->tensors[t].name,
                     sr_tensor_op_desc(&graph->tensors[t]), error / size);
        }
        n_compared += n;
        free(want[t]);
        free(got[t]);
    }
    free(undecided);
    free(want);
    free(got);
}

/* Returns how many nodes ran on the device. */
static int64_t check_seed(uint64_t seed, const char *device, const char *second) {
    sr_error err = {0};
    int64_t n = 0;
    gen_params params, alone;
    gen_params_init(&params, seed);
    params.n_backends = 3 + (int)(seed % 2);
    params.assign = false; /* a view that is put elsewhere than its root would have its readers reach into the device */
    alone = params;
    alone.n_backends = 1;
    params.device = device;
    params.second = second;
    double **want = run_values(alone, 1, NULL);
    double **got = run_values(params, seed % 3 == 0 ? 4 : 1, &n);
    gen_case *c;
    assert_int_equal(gen_new(&alone, &c, &err), SR_OK);
    compare(&params, c->graph, want, got);
    gen_free(c);
    return n;
}

static void values_are_the_cpus(void **state) {
    static const char *const names[][3] = {{"opencl", "opencl:0", "opencl:1"}, {"cuda", "cuda:0", "cuda:1"}};
    (void)state;
    int n_tried = 0;
    for (const sr_driver *const *d = sr_drivers(); *d; d++) {
        for (int i = 0; i < 2; i++) {
            int64_t n_nodes = 0;
            const int count = strcmp((*d)->name, names[i][0]) == 0 ? (*d)->device_count(NULL) : 0;
            for (uint64_t seed = first_seed; count > 0 && seed < first_seed + n_seeds; seed++) {
                n_nodes += check_seed(seed, names[i][1], count > 1 && seed % 2 ? names[i][2] : NULL);
            }
            if (count > 0) {
                n_tried++;
                print_message("%lld nodes on %s, %lld values compared\n", (long long)n_nodes, names[i][0],
                              (long long)n_compared);
                assert_true(n_nodes > 0 && n_compared > 0);
            }
        }
    }
    if (n_tried == 0) {
        print_message("skipped: neither OpenCL nor CUDA has a device here\n");
        skip();
    }
}

int main(void) {
    const char *seeds = getenv("SR_SEEDS"), *first = getenv("SR_SEED");
    n_seeds = seeds ? strtoull(seeds, NULL, 10) : 60;
    first_seed = first ? strtoull(first, NULL, 10) : 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_the_cpus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
