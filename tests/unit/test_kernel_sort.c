/*
 * test_kernel_sort.c - ARGSORT TOP_K: the order, also of equal values.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

static const kh_layout dense[] = {KH_CONTIGUOUS, KH_ROW_GAPS, KH_OUTER_GAPS, KH_PERMUTED};

/* Rank by counting what goes before: of equals, the lower index. */
static double want_argsort(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t n = c->src[0]->tensor.ne[0];
    for (int64_t k = 0; k < n; k++) {
        const double x = kh_get(c->src[0], k, i[1], i[2], i[3]);
        int64_t before = 0;
        for (int64_t j = 0; j < n; j++) {
            const double other = kh_get(c->src[0], j, i[1], i[2], i[3]);
            before += (c->params[0] == 1 ? other > x : other < x) || (other == x && j < k);
        }
        if (before == i[0]) {
            return (double)k;
        }
    }
    return -1;
}

static kh_case sort_case(int op, kh_layout layout, int64_t n, int64_t k, int values) {
    kh_case c = {.op = op, .n_src = 1};
    c.src[0] = kh_fill(kh_new(SR_TYPE_F32, layout, n, 2, 2, 2), (uint64_t)n, 0, (double)values);
    KH_EACH(c.src[0], i) {
        kh_set(c.src[0], KH_I(i), floor(kh_get(c.src[0], KH_I(i))));
    }
    c.dst = kh_new(SR_TYPE_I32, KH_CONTIGUOUS, k, 2, 2, 2);
    return c;
}

static void test_argsort(void **state) {
    static const int64_t lengths[] = {1, 2, 15, 16, 17, 33, 100};
    static const int values[] = {3, 100000};
    (void)state;
    for (int k = 0; k < SR_COUNT(lengths); k++) {
        for (int v = 0; v < SR_COUNT(values); v++) {
            for (int order = 0; order < 2; order++) {
                kh_case c = sort_case(SR_OP_ARGSORT, dense[k % 4], lengths[k], lengths[k], values[v]);
                c.params[0] = order;
                kh_check_free(&c, want_argsort);
            }
        }
    }
}

/* Whatever NaNs do to the order, every index must be there once. */
static void test_argsort_with_nans(void **state) {
    (void)state;
    kh_case c = sort_case(SR_OP_ARGSORT, KH_CONTIGUOUS, 50, 50, 10);
    for (int64_t i = 0; i < 50; i += 3) {
        kh_set(c.src[0], i, 0, 0, 0, (double)NAN);
    }
    assert_true(kh_run(&c, 1, NULL));
    int64_t sum = 0;
    uint64_t seen = 0;
    for (int64_t i = 0; i < 50; i++) {
        const int index = (int)kh_get(c.dst, i, 0, 0, 0);
        assert_in_range(index, 0, 49);
        seen |= UINT64_C(1) << index;
        sum += index;
    }
    assert_true(seen == (UINT64_C(1) << 50) - 1 && sum == 49 * 50 / 2);
    kh_case_free(&c);
}

/* Different values: descending, the first two exchanged. */
static double want_top_k(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t n = c->src[0]->tensor.ne[0], k = c->dst->tensor.ne[0];
    const int64_t rank = k > 1 && i[0] < 2 ? 1 - i[0] : i[0];
    for (int64_t at = 0; at < n; at++) {
        int64_t better = 0;
        for (int64_t j = 0; j < n; j++) {
            better += kh_get(c->src[0], j, i[1], i[2], i[3]) > kh_get(c->src[0], at, i[1], i[2], i[3]);
        }
        if (better == rank) {
            return (double)at;
        }
    }
    return -1;
}

static void test_top_k(void **state) {
    static const int64_t sizes[][2] = {{1, 1}, {2, 1}, {2, 2}, {10, 3}, {64, 8}, {64, 64}, {100, 40}};
    (void)state;
    for (int s = 0; s < SR_COUNT(sizes); s++) {
        for (int layout = 0; layout < SR_COUNT(dense); layout++) {
            kh_case c = sort_case(SR_OP_TOP_K, dense[layout], sizes[s][0], sizes[s][1], 1);
            KH_EACH(c.src[0], i) { /* all different: 37 has no divisor in common with 101 */
                kh_set(c.src[0], KH_I(i), (double)((i.at[0] * 37 + i.at[1] * 5 + i.at[2]) % 101));
            }
            kh_check_free(&c, want_top_k);
        }
    }
}

/* Of equal values the heap decides; worked out by hand from the description. */
static void check_ties(int n, const double *x, int k, const int *want) {
    kh_case c = {.op = SR_OP_TOP_K, .n_src = 1};
    c.src[0] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n, 1, 1, 1);
    c.dst = kh_new(SR_TYPE_I32, KH_CONTIGUOUS, k, 1, 1, 1);
    for (int i = 0; i < n; i++) {
        kh_set(c.src[0], i, 0, 0, 0, x[i]);
    }
    assert_true(kh_run(&c, 1, NULL));
    for (int i = 0; i < k; i++) {
        assert_int_equal((int)kh_get(c.dst, i, 0, 0, 0), want[i]);
    }
    kh_case_free(&c);
}

static void test_top_k_ties(void **state) {
    static const double equal[] = {1, 1, 1, 1}, late[] = {0, 1, 1, 1, 1};
    /* 0 1 2 becomes the heap 2 1 0 (the right child is lifted); pops leave 1 0 | 2 and 0 | 1 2; then the exchange */
    static const int of_equal[] = {1, 0, 2};
    /* 0 1 is a heap; 2 replaces the root, which gives 1 2; the pop leaves 2 | 1; exchanged */
    static const int of_late[] = {1, 2};
    (void)state;
    check_ties(4, equal, 3, of_equal);
    check_ties(5, late, 2, of_late);
}

static void test_refusals(void **state) {
    (void)state;
    kh_case c = sort_case(SR_OP_ARGSORT, KH_CONTIGUOUS, 4, 4, 5);
    c.params[0] = 2;
    kh_check_refused(&c, "order");
    c.op = SR_OP_TOP_K;
    c.dst->tensor.ne[0] = 5;
    kh_check_refused(&c, "at most as many");
    c.src[0]->tensor.type = SR_TYPE_F16;
    kh_check_refused(&c, "f32");
    kh_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_argsort),    cmocka_unit_test(test_argsort_with_nans), cmocka_unit_test(test_top_k),
        cmocka_unit_test(test_top_k_ties), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
