/*
 * test_kernel_custom.c - custom ops: what is called, with what, and what is never called.
 *
 * Layer: tests.
 */
#include "sched_run/custom.h"

#include "../support/kernel_harness.h"

typedef struct calls { atomic_int n; int refuse; } calls;

/* y = a + b + c over the places that are there, rows shared out. */
static const char *add_all(const sr_custom_call *call) {
    calls *user = call->user;
    atomic_fetch_add(&user->n, 1);
    if (user->refuse) {
        return "the function says no";
    }
    const int64_t *ne = call->dst.tensor->ne;
    for (int64_t i = call->ith; i < ne[0] * ne[1]; i += call->nth) {
        float sum = 0;
        for (int j = 0; j < SR_MAX_SRC; j++) {
            sum += call->src[j].tensor != NULL ? ((const float *)call->src[j].data)[i] : 0;
        }
        ((float *)call->dst.data)[i] = sum;
    }
    return NULL;
}

static double expect_sum(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    double sum = 0;
    for (int j = 0; j < c->n_src; j++) {
        sum += c->src[j] != NULL ? kh_get(c->src[j], i[0], i[1], i[2], i[3]) : 0;
    }
    return sum;
}

static kh_case custom_case(int op, int n_src, calls *user, int n_tasks) {
    sr_tensor_spec spec;
    kh_case c = {.op = op, .n_src = n_src};
    sr_tensor_spec_init(&spec);
    assert_int_equal(sr_custom_set_params(&spec, add_all, user, n_tasks, NULL), SR_OK);
    memcpy(c.params, spec.op_params, sizeof(c.params));
    for (int j = 0; j < n_src; j++) {
        c.src[j] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 33, 5, 1, 1), (uint64_t)j, -1, 1);
    }
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 33, 5, 1, 1);
    return c;
}

static void release(kh_case *c) {
    for (int j = 0; j < c->n_src; j++) {
        kh_free(c->src[j]);
    }
    kh_free(c->dst);
}

static void test_calls(void **state) {
    (void)state;
    static const struct { int op, n_src; } forms[] = {
        {SR_OP_MAP_CUSTOM1, 1}, {SR_OP_MAP_CUSTOM2, 2}, {SR_OP_MAP_CUSTOM3, 3}, {SR_OP_CUSTOM, 9}, {SR_OP_CUSTOM, 0}};
    calls user = {0, 0};
    assert_int_equal(sr_custom_allow(add_all, &user, NULL), SR_OK);
    for (int f = 0; f < SR_COUNT(forms); f++) {
        kh_case c = custom_case(forms[f].op, forms[f].n_src, &user, SR_CUSTOM_ALL_THREADS);
        atomic_store(&user.n, 0);
        kh_check(&c, expect_sum);
        assert_int_equal(atomic_load(&user.n), 1 + 3); /* one run with one member, one with three */
        release(&c);
    }
    kh_case c = custom_case(SR_OP_CUSTOM, 1, &user, 2);
    const sr__kernel_args args = kh_args(&c, false);
    assert_int_equal(kh_kernel(&c)->max_threads(&args), 2);
    c.params[3] = 0x5A5A5A5A; /* padding between the words, whatever it holds */
    kh_check(&c, expect_sum);
    release(&c);
    sr_custom_forget(add_all, &user);
}

static void test_failure(void **state) {
    (void)state;
    calls user = {0, 1};
    assert_int_equal(sr_custom_allow(add_all, &user, NULL), SR_OK);
    kh_case c = custom_case(SR_OP_MAP_CUSTOM1, 1, &user, SR_CUSTOM_ALL_THREADS);
    kh_check_fails(&c, "the function says no");
    release(&c);
    sr_custom_forget(add_all, &user);
}

static void test_never_called(void **state) {
    (void)state;
    static const char words[] = "none that this program has allowed";
    calls user = {0, 0}, other = {0, 0};
    kh_case c = custom_case(SR_OP_CUSTOM, 1, &user, 1);
    kh_check_refused(&c, words);
    assert_int_equal(sr_custom_allow(add_all, &other, NULL), SR_OK);
    kh_check_refused(&c, words); /* the function, but other user data */
    assert_int_equal(sr_custom_allow(add_all, &user, NULL), SR_OK);
    assert_int_equal(sr_custom_allow(add_all, &user, NULL), SR_OK);
    assert_null(kh_refuse(&c));
    c.params[2] = 0;
    kh_check_refused(&c, "number of tasks");
    c.params[2] = -2;
    kh_check_refused(&c, "number of tasks");
    c.params[2] = 1, c.params[0] ^= 1;
    kh_check_refused(&c, words);
    c.params[0] ^= 1;
    sr_custom_forget(add_all, &user);
    assert_null(kh_refuse(&c)); /* allowed twice */
    sr_custom_forget(add_all, &user);
    kh_check_refused(&c, words);
    sr_custom_forget(add_all, &user);
    sr_custom_forget(add_all, &other);
    memset(c.params, 0, sizeof(c.params));
    kh_check_refused(&c, words);
    assert_int_equal(atomic_load(&user.n), 0);
    release(&c);
}

static void test_bad_arguments(void **state) {
    (void)state;
    sr_tensor_spec spec;
    sr_error err = {0};
    sr_tensor_spec_init(&spec);
    assert_int_equal(sr_custom_set_params(&spec, NULL, NULL, 1, &err), SR_INVALID);
    assert_int_equal(sr_custom_set_params(&spec, add_all, NULL, 0, &err), SR_INVALID);
    assert_int_equal(sr_custom_allow(NULL, NULL, &err), SR_INVALID);
    sr__fail_allocations(1, true);
    const sr_status status = sr_custom_allow(add_all, NULL, &err);
    sr__fail_allocations(0, false);
    assert_int_equal(status, SR_MEMORY);
    sr_error_clear(&err);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_calls), cmocka_unit_test(test_failure),
                                       cmocka_unit_test(test_never_called), cmocka_unit_test(test_bad_arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
