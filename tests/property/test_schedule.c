/*
 * test_schedule.c - random graphs on random machines are split, copied and laid out as they must be.
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

#include "gen_wild.h"
#include "layout_rules.h"
#include "naive.h"
#include "sched/sched_internal.h"

static uint64_t first_seed, n_seeds;

/* Even seeds are graphs that could be executed, odd ones anything. */
static gen_case *new_case(uint64_t seed, uint64_t names) {
    sr_error err = {0};
    gen_case *c = NULL;
    if (seed % 2 == 0) {
        gen_params params;
        gen_params_init(&params, seed);
        params.names = names;
        params.inplace = seed % 4 == 0;
        params.refuse_writes = seed % 6 == 0;
        OK(gen_new(&params, &c, &err), seed);
    } else {
        OK(gen_wild_new(seed, names, &c, &err), seed);
    }
    return c;
}

/* How the case is scheduled, drawn from its seed. */
static sr_sched_params draw_params(uint64_t seed) {
    static const int limits[] = {1, 2, 3, 5, 30, 10000, 10000, 10000, 10000, 10000};
    uint64_t state = seed ^ 0x7363686564;
    sr_sched_params params;
    sr_sched_params_init(&params);
    params.n_copies = gen_chance(&state, 50) ? 1 : 2 + (int)gen_below(&state, 3);
    params.op_offload = gen_chance(&state, 70);
    params.max_split_inputs = limits[gen_below(&state, 10)];
    params.record_lives = true;
    return params;
}

static sr_sched *new_sched(const gen_case *c, const sr_sched_params *params) {
    sr_error err = {0};
    sr_sched *sched;
    OK(sr_sched_new(c->machine->backends, NULL, c->machine->n_backends, params, &sched, &err), c->params.seed);
    return sched;
}

static sr_status schedule(const gen_case *c, sr_sched *sched, bool reserve, sr_error *err) {
    sr_status status;
    sr_error_clear(err);
    sr_sched_reset(sched);
    SR_TRY(gen_assign(c, sched, err));
    SR_TRY(reserve ? sr_sched_reserve(sched, c->graph, err) : sr_sched_alloc_graph(sched, c->graph, err));
done:
    return status;
}

static void fail_at(const gen_case *c, const char *what, int32_t tensor) {
    fail_msg("seed %llu: %s of '%s'", (unsigned long long)c->params.seed, what,
             tensor >= 0 ? c->graph->tensors[tensor].id : "-");
}

/* ---- with the naive scheduler ------------------------------------------------------------------------------------ */

static naive_answer *ask_naive(const gen_case *c, const sr_sched_params *params) {
    const naive_problem problem = {.machine = c->machine,
                                   .graph = c->graph,
                                   .assignments = c->assignments,
                                   .n_assignments = c->n_assignments,
                                   .op_offload = params->op_offload,
                                   .n_copies = params->n_copies,
                                   .max_split_inputs = params->max_split_inputs};
    return naive_schedule(&problem);
}

static void compare_splits(const gen_case *c, const naive_answer *want, const sr_layout *l) {
    if (l->n_splits != want->n_splits || l->n_graph_inputs != want->n_graph_inputs) {
        fail_msg("seed %llu: %d splits instead of %d", (unsigned long long)c->params.seed, l->n_splits, want->n_splits);
    }
    for (int s = 0; s < want->n_splits; s++) {
        const naive_split *x = &want->splits[s];
        const sr_split *y = &l->splits[s];
        if (x->backend != y->backend || x->start != y->start || x->end != y->end || x->n_inputs != y->n_inputs) {
            fail_msg("seed %llu: split %d", (unsigned long long)c->params.seed, s);
        }
        for (int k = 0; k < x->n_inputs; k++) {
            if (x->inputs[k] != l->inputs[y->inputs_begin + k]) {
                fail_at(c, "the input", x->inputs[k]);
            }
        }
    }
    for (int i = 0; i < want->n_graph_inputs; i++) {
        assert_int_equal(want->graph_inputs[i], l->graph_inputs[i]);
    }
    for (int32_t k = 0; k < c->graph->n_srcs; k++) {
        const naive_source *x = &want->sources[k];
        const int32_t id = l->view.srcs[k];
        const bool copied = id >= 0 && sr_view_is_extra(&l->view, id);
        const sr_extra *extra = copied ? &l->view.extra[id - c->graph->n_tensors] : NULL;
        if (copied ? extra->of != x->tensor || extra->backend != x->copied_to : id != x->tensor || x->copied_to >= 0) {
            fail_at(c, "a source that is", x->tensor);
        }
    }
}

/* Refusals must be refusals there too, for the same tensor. */
static void compare_errors(const gen_case *c, const naive_answer *want, sr_status status, const sr_error *err) {
    if (status != want->status) {
        fail_msg("seed %llu: %s (%s) instead of %s", (unsigned long long)c->params.seed, sr_status_name(status),
                 sr_error_message(err), sr_status_name(want->status));
    }
    if (status == SR_OK) {
        return;
    }
    const bool is_tensor = status == SR_PREALLOCATED || status == SR_SOURCE_UNASSIGNED;
    const sr_error_detail *subject = sr_error_find(err, is_tensor ? "tensor" : "node");
    assert_non_null(subject);
    assert_string_equal(subject->text, sr__sched_tensor_label(&c->graph->tensors[want->subject]));
}

static void decides_as_the_naive_scheduler(void **state) {
    (void)state;
    int n_failed = 0;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        sr_error err = {0};
        const sr_sched_params params = draw_params(seed);
        gen_case *c = new_case(seed, 0);
        sr_sched *sched = new_sched(c, &params);
        naive_answer *want = ask_naive(c, &params);
        compare_errors(c, want, schedule(c, sched, false, &err), &err);
        const sr_layout *l = sr_sched_layout(sched);
        for (int32_t t = 0; t < c->graph->n_tensors; t++) {
            if (l->backend_of[t] != want->backend_of[t]) {
                fail_at(c, "the backend", t);
            }
            if (l->cause_of[t] != want->cause_of[t]) {
                fail_at(c, "the cause", t);
            }
        }
        if (want->status == SR_OK) {
            compare_splits(c, want, l);
        }
        n_failed += want->status != SR_OK;
        naive_free(want);
        sr_error_clear(&err);
        sr_sched_free(sched);
        gen_free(c);
    }
    assert_true((uint64_t)n_failed < n_seeds / 2 + 1); /* most cases have something to compare */
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static void layouts_keep_the_rules(void **state) {
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        sr_error err = {0};
        const sr_sched_params params = draw_params(seed);
        gen_case *c = new_case(seed, 0);
        sr_sched *sched = new_sched(c, &params);
        for (int i = 0; i < params.n_copies && schedule(c, sched, false, &err) == SR_OK; i++) {
            const sr_layout *l = sr_sched_layout(sched);
            rules_check_splits(c, l);
            rules_check_copies(c, l);
            rules_check_memory(c, l);
            if (l->replanned) {
                rules_check_lives(c, l, sched->allocator);
            }
        }
        sr_error_clear(&err);
        sr_sched_free(sched);
        gen_free(c);
    }
}

static void check_same(const gen_case *c, const sr_layout *a, const sr_layout *b, const char *when) {
    const char *difference = rules_difference(a, b);
    if (difference != NULL) {
        fail_msg("seed %llu: %s differ %s", (unsigned long long)c->params.seed, difference, when);
    }
}

/* Slot by slot: the layout of the next turn is that of the first. */
static void scheduling_again_changes_nothing(void **state) {
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        sr_error err = {0};
        const sr_sched_params params = draw_params(seed);
        gen_case *c = new_case(seed, 0);
        sr_sched *sched = new_sched(c, &params), *fresh = new_sched(c, &params);
        const sr_status status = schedule(c, sched, false, &err);
        sr_layout *first = rules_keep(sr_sched_layout(sched));
        for (int i = 0; i < params.n_copies; i++) {
            assert_int_equal(schedule(c, sched, false, &err), status);
            assert_false(sr_sched_layout(sched)->replanned);
        }
        check_same(c, first, sr_sched_layout(sched), "when scheduled again");
        assert_int_equal(schedule(c, fresh, true, &err), status); /* reserved first, and given out then */
        for (int i = 0; i < params.n_copies && status == SR_OK; i++) {
            assert_int_equal(schedule(c, fresh, false, &err), SR_OK);
            assert_false(sr_sched_layout(fresh)->replanned);
            if (sr_sched_layout(fresh)->cur_copy == first->cur_copy) {
                check_same(c, first, sr_sched_layout(fresh), "when reserved before");
            }
        }
        sr_error_clear(&err);
        rules_free_kept(first);
        sr_sched_free(sched);
        sr_sched_free(fresh);
        gen_free(c);
    }
}

static void names_decide_nothing(void **state) {
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        sr_error err = {0};
        const sr_sched_params params = draw_params(seed);
        gen_case *a = new_case(seed, 0), *b = new_case(seed, seed + 1);
        sr_sched *sched_a = new_sched(a, &params), *sched_b = new_sched(b, &params);
        assert_int_equal(a->graph->n_classes, b->graph->n_classes);
        assert_int_equal(schedule(a, sched_a, false, &err), schedule(b, sched_b, false, &err));
        check_same(a, sr_sched_layout(sched_a), sr_sched_layout(sched_b), "under other names");
        sr_error_clear(&err);
        sr_sched_free(sched_a);
        sr_sched_free(sched_b);
        gen_free(a);
        gen_free(b);
    }
}

int main(void) {
    const char *first = getenv("SR_SEED"), *n = getenv("SR_SEEDS");
    first_seed = first != NULL ? strtoull(first, NULL, 10) : 1;
    n_seeds = n != NULL ? strtoull(n, NULL, 10) : 300;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decides_as_the_naive_scheduler), cmocka_unit_test(layouts_keep_the_rules),
        cmocka_unit_test(scheduling_again_changes_nothing), cmocka_unit_test(names_decide_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
