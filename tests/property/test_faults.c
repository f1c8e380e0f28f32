/*
 * test_faults.c - whatever fails, wherever: the run ends in an error that names the place, and the next one is fine.
 *
 * Layer: tests.  Simulated devices fail to allocate, to compute or to copy, have too little memory, or the host has.
 * SR_FAULTS in the environment sets how many faults must have struck, SR_SEED the first seed.
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

static uint64_t first_seed, n_faults;
static int n_named; /* copies that failed while a graph was run, with the name of what was copied */

/* One fault on one case. */
typedef struct injection {
    gen_params params;
    int n_copies;
    long host;       /* the host's allocation that fails, 0: none */
    bool host_after; /* and all later ones */
} injection;

enum { HOST = GEN_FAIL_MEMORY + 1, N_KINDS };

static const char *const kind_names[N_KINDS] = {"none", "alloc_after", "compute_op", "copy_nth", "memory", "host"};

static void fail_case(const injection *x, const char *what, const sr_error *err) {
    fail_msg("seed %llu, fault %s at %lld of backend %d, host %ld: %s: %s", (unsigned long long)x->params.seed,
             kind_names[x->host > 0 ? (int)HOST : (int)x->params.fault.kind], (long long)x->params.fault.at,
             x->params.fault.backend, x->host, what, sr_error_message(err));
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static int draw_op(uint64_t *state) {
    static const int ops[] = {SR_OP_UNARY,    SR_OP_SCALE,    SR_OP_ADD,  SR_OP_SUB,  SR_OP_MUL,      SR_OP_MUL_MAT,
                              SR_OP_RMS_NORM, SR_OP_SOFT_MAX, SR_OP_ROPE, SR_OP_GLU,  SR_OP_GET_ROWS, SR_OP_CONT,
                              SR_OP_CONT,     SR_OP_CPY,      SR_OP_CPY,  SR_OP_NORM, SR_OP_SET_ROWS, SR_OP_CONCAT};
    return ops[gen_below(state, SR_COUNT(ops))];
}

static injection draw_injection(uint64_t seed) {
    uint64_t state = seed ^ 0x6661756c74;
    injection x = {.n_copies = 1 + (int)gen_below(&state, 3)};
    gen_params_init(&x.params, seed);
    x.params.n_nodes = 1 + (int)gen_below(&state, 30);
    x.params.n_backends = 2 + (int)gen_below(&state, 3);
    x.params.fault.backend = (int)gen_below(&state, x.params.n_backends - 1);
    const int kind = 1 + (int)gen_below(&state, N_KINDS - 1);
    if (kind == HOST) {
        x.host = 1 + (long)gen_below(&state, gen_chance(&state, 70) ? 400 : 60);
        x.host_after = gen_chance(&state, 50);
        return x;
    }
    x.params.fault.kind = (gen_fault_kind)kind;
    switch (x.params.fault.kind) {
        case GEN_FAIL_OP: x.params.fault.at = draw_op(&state); break;
        case GEN_FAIL_COPY: x.params.fault.at = 1 + gen_below(&state, 25); break;
        default: x.params.fault.at = gen_below(&state, (int64_t)1 << (2 + gen_below(&state, 15))); break;
    }
    return x;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static sr_status new_sched(const gen_case *c, int n_copies, sr_sched **out_sched, sr_error *err) {
    sr_sched_params params;
    sr_sched_params_init(&params);
    params.n_copies = n_copies;
    params.max_split_inputs = 10000;
    return sr_sched_new(c->machine->backends, NULL, c->machine->n_backends, &params, out_sched, err);
}

/* Twice, so that a second copy slot comes into play. */
static sr_status run_twice(const gen_case *c, sr_sched *sched, sr_error *err) {
    const sr_status status = gen_run(c, sched, err);
    return status == SR_OK ? gen_run(c, sched, err) : status;
}

/* The hash of everything that a run leaves. */
static sr_status value(const gen_case *c, const sr_sched *sched, uint64_t *out_value, sr_error *err) {
    sr_status status = SR_OK;
    uint64_t hash;
    *out_value = 0;
    for (int32_t t = 0; t < c->graph->n_tensors; t++) {
        if (gen_is_result(c, t)) {
            SR_TRY(gen_hash(c, sr_sched_layout(sched), t, &hash, err));
            *out_value = sr__hash_bytes(*out_value, &hash, sizeof(hash));
        }
    }
done:
    return status;
}

/* What the case gives without a fault, on n backends. */
static uint64_t value_without_fault(const injection *x, int n_backends) {
    sr_error err = {0};
    gen_params params = x->params;
    gen_case *c = NULL;
    sr_sched *sched = NULL;
    uint64_t result = 0;
    params.fault.kind = GEN_NO_FAULT;
    params.n_backends = n_backends;
    if (gen_new(&params, &c, &err) != SR_OK || new_sched(c, x->n_copies, &sched, &err) != SR_OK ||
        run_twice(c, sched, &err) != SR_OK || value(c, sched, &result, &err) != SR_OK) {
        fail_case(x, "failed without a fault", &err);
    }
    sr_sched_free(sched);
    gen_free(c);
    return result;
}

/* ---- what the error must say ------------------------------------------------------------------------------------- */

static void check_detail(const injection *x, const sr_error *err, const char *key, bool is_text) {
    const sr_error_detail *detail = sr_error_find(err, key);
    if (detail == NULL || (is_text && (detail->text == NULL || detail->text[0] == '\0'))) {
        print_error("detail '%s' is missing\n", key);
        fail_case(x, "the error does not tell the place", err);
    }
}

static void check_error(const injection *x, sr_status status, const sr_error *err) {
    const gen_fault_kind kind = x->params.fault.kind;
    if (x->host > 0) {
        if (status != SR_MEMORY && status != SR_ALLOCATION) {
            fail_case(x, sr_status_name(status), err);
        }
        return; /* there may have been no memory for more words */
    }
    const bool allocating = kind == GEN_FAIL_ALLOC || kind == GEN_FAIL_MEMORY;
    if (status != (allocating ? SR_ALLOCATION : SR_COMPUTE) || err->status != status || err->message == NULL ||
        err->message[0] == '\0') {
        fail_case(x, sr_status_name(status), err);
    }
    if (allocating) {
        check_detail(x, err, "buffer_type", true);
        check_detail(x, err, "size", false);
        check_detail(x, err, "largest_free", false);
    } else {
        check_detail(x, err, "backend", true);
    }
    if (kind == GEN_FAIL_COPY && strncmp(err->message, "copying '", strlen("copying '")) == 0) {
        check_detail(x, err, "node", true);
        n_named++;
    }
    if (kind == GEN_FAIL_OP) {
        check_detail(x, err, "node", true);
        check_detail(x, err, "op", true);
    }
}

/* ---- one injection ----------------------------------------------------------------------------------------------- */

/* What has failed once does not fail again: the same scheduler goes on, with the right values. */
static void check_going_on(const injection *x, const gen_case *c, sr_sched *sched, uint64_t want) {
    sr_error err = {0};
    uint64_t got;
    if (run_twice(c, sched, &err) != SR_OK || value(c, sched, &got, &err) != SR_OK) {
        fail_case(x, "the next run failed too", &err);
    }
    if (got != want) {
        fail_case(x, "the next run gave other values", &err);
    }
}

/* Whether it struck. */
static bool inject(const injection *x, uint64_t want) {
    const bool lasts = x->host == 0 && x->params.fault.kind != GEN_FAIL_COPY;
    sr_error err = {0};
    gen_case *c = NULL;
    sr_sched *sched = NULL;
    uint64_t got;
    sr__fail_allocations(x->host, x->host_after);
    sr_status status = gen_new(&x->params, &c, &err);
    if (status == SR_OK) {
        status = new_sched(c, x->n_copies, &sched, &err);
    }
    const bool running = status == SR_OK;
    if (running) {
        status = run_twice(c, sched, &err);
    }
    if (status == SR_OK) {
        sr__fail_allocations(0, false);
        status = value(c, sched, &got, &err); /* a transfer may fail here as well */
        if (status == SR_OK && got != want) {
            fail_case(x, "no failure, but other values", &err);
        }
    }
    sr__fail_allocations(0, false);
    const bool struck = status != SR_OK;
    if (struck) {
        check_error(x, status, &err);
    }
    if (struck && running && lasts) {
        sr_error_clear(&err);
        status = run_twice(c, sched, &err);
        if (status != SR_OK) {
            check_error(x, status, &err);
        }
    } else if (struck && running) {
        check_going_on(x, c, sched, want);
    }
    sr_sched_free(sched);
    gen_free(c);
    sr_error_clear(&err);
    return struck;
}

static void faults_end_in_errors_that_name_the_place(void **state) {
    (void)state;
    uint64_t struck[N_KINDS] = {0}, n_struck = 0;
    for (uint64_t seed = first_seed; n_struck < n_faults; seed++) {
        const injection x = draw_injection(seed);
        const uint64_t want = value_without_fault(&x, 1);
        if (inject(&x, want)) {
            struck[x.host > 0 ? (int)HOST : (int)x.params.fault.kind]++;
            n_struck++;
            assert_int_equal(value_without_fault(&x, x.params.n_backends), want); /* on fresh devices all is well */
        }
        assert_true(seed < first_seed + 20 * n_faults + 100);
    }
    for (int kind = 1; kind < N_KINDS; kind++) {
        print_message("%s: %llu\n", kind_names[kind], (unsigned long long)struck[kind]);
        assert_true(n_faults < 100 || struck[kind] > n_faults / 50);
    }
    assert_true(n_faults < 100 || n_named > 0);
}

int main(void) {
    const char *first = getenv("SR_SEED"), *n = getenv("SR_FAULTS");
    first_seed = first != NULL ? strtoull(first, NULL, 10) : 1;
    n_faults = n != NULL ? strtoull(n, NULL, 10) : 1000;
    const struct CMUnitTest tests[] = {cmocka_unit_test(faults_end_in_errors_that_name_the_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
