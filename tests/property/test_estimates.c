/*
 * test_estimates.c - estimates of random graphs on machines with random figures: what must hold of any timeline.
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
#include "gen_wild.h"
#include "sched_run/estimate.h"

static uint64_t first_seed, n_seeds;

/* A power of ten around the middle; now and then a figure is missing, which is assumed. */
static double figure(uint64_t *state, double middle) {
    static const double factors[] = {0, 1e-3, 1e-2, 0.1, 1, 1, 10, 100};
    return middle * factors[gen_below(state, SR_COUNT(factors))];
}

static gen_case *make_case(uint64_t seed) {
    sr_error err = {0};
    gen_case *c = NULL;
    uint64_t state = seed ^ 0x657374;
    if (seed % 2 == 0) {
        gen_params params;
        gen_params_init(&params, seed);
        OK(gen_new(&params, &c, &err), seed);
    } else {
        OK(gen_wild_new(seed, 0, &c, &err), seed);
    }
    for (int b = 0; b < c->machine->n_backends; b++) {
        c->machine->backends[b]->speed = (sr_speed){.flops = figure(&state, 1e10),
                                                    .memory_bandwidth = figure(&state, 1e9),
                                                    .link_bandwidth = figure(&state, 1e8),
                                                    .latency = figure(&state, 1e-6),
                                                    .peer_bandwidth = figure(&state, 1e8)};
    }
    return c;
}

/* Splits the graph; false: that failed, as some random graphs do. */
static bool schedule(const gen_case *c, int n_copies, sr_sched **out_sched) {
    sr_error err = {0};
    sr_sched_params params;
    sr_sched_params_init(&params);
    params.n_copies = n_copies;
    params.max_split_inputs = 1000000;
    OK(sr_sched_new(c->machine->backends, NULL, c->machine->n_backends, &params, out_sched, &err), c->params.seed);
    OK(gen_assign(c, *out_sched, &err), c->params.seed);
    const bool ok = sr_sched_measure(*out_sched, c->graph, NULL, &err) == SR_OK;
    sr_error_clear(&err);
    return ok && sr_sched_n_splits(*out_sched) > 0;
}

static void check(bool ok, const gen_case *c, int32_t span, const char *what) {
    if (!ok) {
        fail_msg("seed %llu, span %d: %s", (unsigned long long)c->params.seed, (int)span, what);
    }
}

/* ---- one timeline ----------------------------------------------------------------------------------------------- */

/* Nothing begins before what it waits for has ended, and no lane does two things at once. */
static void check_spans(const gen_case *c, const sr_estimate *e) {
    uint64_t *free_at = calloc((size_t)e->n_backends + 1, sizeof(*free_at));
    assert_non_null(free_at);
    for (int32_t i = 0; i < e->n_spans; i++) {
        const sr_estimate_span *s = &e->spans[i];
        check(s->begin <= s->end && s->end <= e->total, c, i, "ends before it begins, or after everything");
        check(s->lane >= 0 && s->lane <= e->n_backends, c, i, "no lane");
        check(s->after < i, c, i, "waits for a later one");
        check(s->begin >= free_at[s->lane], c, i, "its lane is occupied");
        free_at[s->lane] = s->end;
        if (s->kind != SR_ESTIMATE_WAIT) {
            check(s->begin == (s->after >= 0 ? e->spans[s->after].end : 0), c, i, "nothing lets it begin then");
        }
        check(s->end <= e->batch_end[s->batch], c, i, "ends after its batch");
    }
    free(free_at);
}

static void check_sums(const gen_case *c, const sr_estimate *e) {
    uint64_t path = 0, last = 0;
    for (int lane = 0; lane <= e->n_backends; lane++) {
        const sr_estimate_lane *l = &e->lanes[lane];
        check(l->computing + l->copying + l->waiting <= e->total, c, lane, "a lane is busy for longer than it takes");
        path += e->critical[lane].computing + e->critical[lane].copying;
    }
    check(path == e->total, c, -1, "the critical path has another length");
    for (int i = 0; i < e->n_batches; i++) {
        last = e->batch_end[i] > last ? e->batch_end[i] : last;
    }
    check(last == e->total, c, -1, "no batch ends when everything does");
    for (int32_t s = 0; s < e->n_splits; s++) {
        const sr_estimate_split *split = &e->splits[s];
        check(split->by_flops + split->by_memory + split->by_latency == split->computing, c, s, "parts of a split");
        check(split->flops >= 0 && split->bytes >= 0, c, s, "less work than none");
    }
}

static void timelines_hold(void **state) {
    (void)state;
    sr_error err = {0};
    int n = 0;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        gen_case *c = make_case(seed);
        sr_sched *sched;
        const int n_batches = 1 + (int)(seed % 4);
        if (schedule(c, 1 + (int)(seed / 4 % 3), &sched)) {
            sr_estimate e, again;
            OK(sr_estimate_make(sr_sched_layout(sched), n_batches, &e, &err), seed);
            OK(sr_estimate_make(sr_sched_layout(sched), n_batches, &again, &err), seed);
            check_spans(c, &e);
            check_sums(c, &e);
            check(e.n_spans == again.n_spans && e.total == again.total, c, -1, "another estimate of the same");
            sr_estimate_clear(&e);
            sr_estimate_clear(&again);
            n++;
        }
        sr_sched_free(sched);
        gen_free(c);
    }
    assert_true(n > (int)n_seeds / 2);
}

/* ---- comparisons ------------------------------------------------------------------------------------------------ */

static uint64_t total(const gen_case *c, int n_copies, int n_batches, int32_t *out_splits, int32_t *out_inputs) {
    sr_error err = {0};
    sr_sched *sched;
    uint64_t time = 0;
    *out_splits = -1;
    if (schedule(c, n_copies, &sched)) {
        sr_estimate e;
        OK(sr_estimate_make(sr_sched_layout(sched), n_batches, &e, &err), c->params.seed);
        time = e.total;
        *out_splits = e.n_splits;
        *out_inputs = sr_sched_layout(sched)->n_inputs;
        sr_estimate_clear(&e);
    }
    sr_sched_free(sched);
    return time;
}

/* Copies only take waits away; a further batch only adds work; batches in flight are no slower than one by one. */
static void pipelines_gain(void **state) {
    (void)state;
    int gained = 0;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        gen_case *c = make_case(seed);
        int32_t splits[3], inputs[3];
        const uint64_t one = total(c, 1, 1, &splits[0], &inputs[0]);
        const uint64_t three = total(c, 1, 3, &splits[1], &inputs[1]);
        const uint64_t piped = total(c, 4, 3, &splits[2], &inputs[2]);
        if (splits[0] > 0) {
            check(three >= one && three <= 3 * one, c, -1, "three batches take more than three times one, or less");
        }
        if (splits[0] > 0 && splits[2] == splits[1] && inputs[2] == inputs[1]) {
            check(piped <= three, c, -1, "pipeline copies cost time");
            gained += piped < three;
        }
        gen_free(c);
    }
    assert_true(gained > 0);
}

/* With figures ten times as good everything takes a tenth. */
static void figures_scale(void **state) {
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        gen_case *c = make_case(seed);
        int32_t splits, inputs;
        for (int turn = 0; turn < 2; turn++) {
            for (int b = 0; b < c->machine->n_backends; b++) {
                const double f = turn == 0 ? 1 : 10;
                c->machine->backends[b]->speed = (sr_speed){1e9 * f, 1e8 * f, 1e7 * f, 1e-6 / f, 1e7 * f};
            }
            const uint64_t time = total(c, 2, 2, &splits, &inputs);
            static uint64_t first;
            if (turn == 0) {
                first = time;
            } else if (splits > 0) {
                const double slack = 10.0 * (splits + inputs + 1) * 2;
                check((double)time * 10 <= (double)first + slack && (double)time * 10 >= (double)first - slack, c, -1,
                      "better figures do not scale");
            }
        }
        gen_free(c);
    }
}

static uint64_t from_environment(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 10) : otherwise;
}

int main(void) {
    first_seed = from_environment("SR_SEED", 1);
    n_seeds = from_environment("SR_SEEDS", 300);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timelines_hold),
        cmocka_unit_test(pipelines_gain),
        cmocka_unit_test(figures_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
