/*
 * test_generated.c - graphs of the generator: the same for the same seed, and the same values on every machine, with
 * any number of threads and copies, with events and without.
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

static uint64_t first_seed, n_seeds;

static gen_case *new_case(const gen_params *params) {
    sr_error err = {0};
    gen_case *c;
    OK(gen_new(params, &c, &err), params->seed);
    return c;
}

static sr_sched *new_sched(const gen_case *c, int n_copies) {
    sr_error err = {0};
    sr_sched_params params;
    sr_sched *sched;
    sr_sched_params_init(&params);
    params.n_copies = n_copies;
    params.max_split_inputs = 10000; /* graphs may have more inputs than the reference takes */
    OK(sr_sched_new(c->machine->backends, NULL, c->machine->n_backends, &params, &sched, &err), c->params.seed);
    return sched;
}

/* Hashes of all results, by tensor; to be freed. */
static uint64_t *hash_results(const gen_case *c, const sr_sched *sched) {
    sr_error err = {0};
    uint64_t *hashes = calloc((size_t)c->graph->n_tensors, sizeof(*hashes));
    assert_non_null(hashes);
    for (int32_t t = 0; t < c->graph->n_tensors; t++) {
        if (gen_is_result(c, t)) {
            OK(gen_hash(c, sr_sched_layout(sched), t, &hashes[t], &err), c->params.seed);
        }
    }
    return hashes;
}

static uint64_t *results(const gen_case *c, sr_sched *sched) {
    sr_error err = {0};
    OK(gen_run(c, sched, &err), c->params.seed);
    return hash_results(c, sched);
}

static void compare(const gen_case *c, const uint64_t *want, const uint64_t *got, const char *what) {
    for (int32_t t = 0; t < c->graph->n_tensors; t++) {
        if (want[t] != got[t]) {
            fail_msg("seed %llu: '%s' differs %s", (unsigned long long)c->params.seed, c->graph->tensors[t].name, what);
        }
    }
}

static bool same_tensor(const sr_tensor *a, const sr_tensor *b) {
    return a->op == b->op && a->n_src == b->n_src && a->src_begin == b->src_begin && a->view_offs == b->view_offs &&
           a->view_src == b->view_src && a->flags == b->flags && sr_tensor_same_layout(a, b) &&
           memcmp(a->op_params, b->op_params, sizeof(a->op_params)) == 0;
}

/* The nodes do not depend on the machine. */
static void seeds_decide(void **state) {
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        gen_params params;
        gen_params_init(&params, seed);
        gen_case *a = new_case(&params);
        params.n_backends = 1 + params.n_backends % 4;
        params.rules = params.assign = false;
        gen_case *b = new_case(&params);
        assert_int_equal(a->graph->n_tensors, b->graph->n_tensors);
        assert_int_equal(a->graph->n_srcs, b->graph->n_srcs);
        assert_memory_equal(a->graph->srcs, b->graph->srcs, (size_t)a->graph->n_srcs * sizeof(*a->graph->srcs));
        for (int32_t t = 0; t < a->graph->n_tensors; t++) {
            assert_true(same_tensor(&a->graph->tensors[t], &b->graph->tensors[t]));
        }
        assert_true(a->graph->n_nodes >= 1);
        gen_free(a);
        gen_free(b);
    }
}

static void set_threads(const gen_case *c, int n_threads) {
    for (int b = 0; b < c->machine->n_backends; b++) {
        sr_backend_set_threads(c->machine->backends[b], n_threads);
    }
}

/* On a fresh scheduler, often enough that every copy slot has its turn and the first comes again. */
static void check_values(const gen_case *c, const uint64_t *want, int n_copies, const char *what) {
    sr_sched *sched = new_sched(c, n_copies);
    for (int run = 0; run < (n_copies > 1 ? n_copies + 1 : 1); run++) {
        uint64_t *got = results(c, sched);
        compare(c, want, got, what);
        free(got);
    }
    sr_sched_free(sched);
}

/* What one CPU with one thread gives that does everything. */
static uint64_t *values_of_cpu(gen_params params) {
    params.n_backends = 1;
    gen_case *c = new_case(&params);
    set_threads(c, 1);
    sr_sched *sched = new_sched(c, 1);
    uint64_t *want = results(c, sched);
    sr_sched_free(sched);
    set_threads(c, 4);
    check_values(c, want, 1, "with 4 threads");
    gen_free(c);
    return want;
}

/* Wherever nodes run and whatever is copied, the values are those of the CPU alone. */
static void values_do_not_depend_on_the_machine(void **state) {
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        gen_params params;
        gen_params_init(&params, seed);
        uint64_t *want = values_of_cpu(params);
        for (int how = 0; how < 2; how++) {
            params.events = how == 0 ? GEN_ALL_EVENTS : GEN_NO_EVENTS;
            gen_case *many = new_case(&params);
            set_threads(many, how == 0 ? 4 : 1);
            check_values(many, want, 1, "on several backends");
            set_threads(many, how == 0 ? 1 : 4);
            check_values(many, want, 2 + (int)(seed % 3), "with pipeline copies");
            gen_free(many);
        }
        free(want);
    }
}

/* Other assignments of the same nodes: other splits, other copies, on a scheduler that has a plan already. */
static void draw_assignments(gen_case *c, uint64_t *state) {
    for (size_t i = 0; i < c->n_assignments; i++) {
        c->assignments[i].backend = (int)gen_below(state, c->params.n_backends);
    }
}

static void values_do_not_depend_on_what_ran_before(void **state) {
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        gen_params params;
        gen_params_init(&params, seed);
        uint64_t *want = values_of_cpu(params), stream = seed;
        gen_case *many = new_case(&params);
        sr_sched *sched = new_sched(many, 1 + (int)(seed % 2));
        for (int run = 0; run < 6; run++) {
            uint64_t *got = results(many, sched);
            compare(many, want, got, "after other layouts");
            free(got);
            draw_assignments(many, &stream);
        }
        free(want);
        sr_sched_free(sched);
        gen_free(many);
    }
}

/* Batch after batch with inputs of their own, as a program decodes, and caches that keep what they were given. */
static uint64_t *stream_results(gen_case *c, int n_copies, bool wait) {
    sr_error err = {0};
    sr_sched *sched = new_sched(c, n_copies);
    OK(gen_fill_buffers(c, &err), c->params.seed);
    for (c->turn = 0; c->turn < 6; c->turn++) {
        sr_sched_reset(sched);
        OK(gen_assign(c, sched, &err), c->params.seed);
        OK(sr_sched_alloc_graph(sched, c->graph, &err), c->params.seed);
        OK(gen_fill_inputs(c, sr_sched_layout(sched), &err), c->params.seed);
        OK(sr_sched_compute_async(sched, c->graph, &err), c->params.seed);
        if (wait) {
            OK(sr_sched_synchronize(sched, &err), c->params.seed);
        }
    }
    OK(sr_sched_synchronize(sched, &err), c->params.seed);
    uint64_t *hashes = hash_results(c, sched);
    sr_sched_free(sched);
    return hashes;
}

static void batches_in_flight_do_not_meet(void **state) {
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        gen_params params, alone;
        gen_params_init(&params, seed);
        alone = params;
        alone.n_backends = 1;
        params.events = seed % 4 == 0 ? GEN_NO_EVENTS : GEN_ALL_EVENTS;
        gen_case *cpu = new_case(&alone), *many = new_case(&params);
        uint64_t *want = stream_results(cpu, 1, true), *got = stream_results(many, 2 + (int)(seed % 3), false);
        compare(many, want, got, "with batches in flight");
        free(want);
        free(got);
        gen_free(cpu);
        gen_free(many);
    }
}

int main(void) {
    const char *first = getenv("SR_SEED"), *n = getenv("SR_SEEDS");
    first_seed = first != NULL ? strtoull(first, NULL, 10) : 1;
    n_seeds = n != NULL ? strtoull(n, NULL, 10) : 40;
    const struct CMUnitTest tests[] = {cmocka_unit_test(seeds_decide),
                                       cmocka_unit_test(values_do_not_depend_on_the_machine),
                                       cmocka_unit_test(values_do_not_depend_on_what_ran_before),
                                       cmocka_unit_test(batches_in_flight_do_not_meet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
