/*
 * test_kernel_reduce.c - SUM SUM_ROWS MEAN CUMSUM ARGMAX COUNT_EQUAL against naive evaluations.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

static const kh_layout dense[] = {KH_CONTIGUOUS, KH_ROW_GAPS, KH_OUTER_GAPS, KH_PERMUTED};

static double want_sum(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    double sum = 0;
    (void)i;
    KH_EACH(c->src[0], k) {
        sum += kh_get(c->src[0], KH_I(k));
    }
    return sum;
}

static void test_sum(void **state) {
    static const int types[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_BF16};
    static const int64_t lengths[] = {1, 7, 3000, 0};
    (void)state;
    for (int t = 0; t < 3; t++) {
        for (int layout = 0; layout < KH_LAYOUTS; layout++) {
            for (int k = 0; k < SR_COUNT(lengths); k++) {
                kh_case c = {.op = SR_OP_SUM, .n_src = 1};
                c.src[0] = kh_fill(kh_new(types[t], (kh_layout)layout, lengths[k], 3, 5, 2), 7, -1, 1.5);
                c.dst = kh_new(types[t], KH_CONTIGUOUS, 1, 1, 1, 1);
                kh_check_free(&c, want_sum);
            }
        }
    }
}

static double want_row(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t n = c->src[0]->tensor.ne[0];
    double sum = 0;
    for (int64_t k = 0; k < (c->op == SR_OP_CUMSUM ? i[0] + 1 : n); k++) {
        sum += kh_get(c->src[0], k, i[1], i[2], i[3]);
    }
    return c->op == SR_OP_MEAN ? sum / (double)n : sum;
}

static kh_case row_case(int op, kh_layout layout, int64_t n) {
    kh_case c = {.op = op, .n_src = 1};
    c.src[0] = kh_fill(kh_new(SR_TYPE_F32, layout, n, 3, 4, 2), 7, -1, 1);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, op == SR_OP_CUMSUM ? n : 1, 3, 4, 2);
    return c;
}

static void test_rows(void **state) {
    static const int ops[] = {SR_OP_SUM_ROWS, SR_OP_MEAN, SR_OP_CUMSUM};
    (void)state;
    for (int op = 0; op < SR_COUNT(ops); op++) {
        for (int layout = 0; layout < SR_COUNT(dense); layout++) {
            kh_case c = row_case(ops[op], dense[layout], 13);
            kh_check_free(&c, want_row);
            c = row_case(ops[op], dense[layout], 1);
            kh_check_free(&c, want_row);
        }
    }
}

/* Sums of nothing are 0, means of nothing are no number. */
static void test_empty_rows(void **state) {
    (void)state;
    kh_case c = row_case(SR_OP_SUM_ROWS, KH_CONTIGUOUS, 0);
    kh_check_free(&c, want_row);
    c = row_case(SR_OP_MEAN, KH_CONTIGUOUS, 0);
    kh_check_free(&c, want_row);
}

static double want_argmax(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    int64_t best = 0;
    for (int64_t k = 0; k < c->src[0]->tensor.ne[0]; k++) {
        best = kh_get(c->src[0], k, i[0], 0, 0) >= kh_get(c->src[0], best, i[0], 0, 0) ? k : best;
    }
    return (double)best;
}

static kh_case argmax_case(kh_layout layout, int64_t n, int64_t rows) {
    kh_case c = {.op = SR_OP_ARGMAX, .n_src = 1};
    c.src[0] = kh_new(SR_TYPE_F32, layout, n, rows, 1, 1);
    c.dst = kh_new(SR_TYPE_I32, KH_CONTIGUOUS, rows, 1, 1, 1);
    return c;
}

static void test_argmax(void **state) {
    (void)state;
    for (int layout = 0; layout < KH_LAYOUTS; layout++) {
        kh_case c = argmax_case((kh_layout)layout, 40, 9);
        KH_EACH(c.src[0], i) { /* few different values: many equals */
            kh_set(c.src[0], KH_I(i), (double)((i.at[0] * 7 + i.at[1] * 3) % 5));
        }
        kh_check_free(&c, want_argmax);
    }
}

static int argmax_of(const double *values, int n) {
    kh_case c = argmax_case(KH_CONTIGUOUS, n, 1);
    for (int i = 0; i < n; i++) {
        kh_set(c.src[0], i, 0, 0, 0, values[i]);
    }
    assert_true(kh_run(&c, 1, NULL));
    const int index = (int)kh_get(c.dst, 0, 0, 0, 0);
    kh_case_free(&c);
    return index;
}

static void test_argmax_edges(void **state) {
    const double reset[] = {5, (double)NAN, 1, 0.5}, last[] = {3, 1, (double)NAN};
    const double lowest[] = {(double)-INFINITY, (double)-INFINITY};
    (void)state;
    assert_int_equal(argmax_of(reset, 4), 2); /* what follows a NaN counts as the largest so far */
    assert_int_equal(argmax_of(last, 3), 0);
    assert_int_equal(argmax_of(lowest, 2), 1);
    assert_int_equal(argmax_of(NULL, 0), 0);
}

static double want_count(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    double count = 0;
    (void)i;
    KH_EACH(c->src[0], k) {
        count += kh_get(c->src[0], KH_I(k)) == kh_get(c->src[1], KH_I(k));
    }
    return count;
}

static void test_count_equal(void **state) {
    static const int64_t lengths[] = {6, 2100, 0};
    (void)state;
    for (int layout = 0; layout < KH_LAYOUTS; layout++) {
        for (int k = 0; k < SR_COUNT(lengths); k++) {
            kh_case c = {.op = SR_OP_COUNT_EQUAL, .n_src = 2};
            c.src[0] = kh_fill(kh_new(SR_TYPE_I32, (kh_layout)layout, lengths[k], 3, 4, 2), 1, 0, 3);
            c.src[1] = kh_fill(kh_new(SR_TYPE_I32, KH_PERMUTED, lengths[k], 3, 4, 2), 2, 0, 3);
            c.dst = kh_new(SR_TYPE_I64, KH_CONTIGUOUS, 1, 1, 1, 1);
            kh_check_free(&c, want_count);
        }
    }
}

static void test_refusals(void **state) {
    (void)state;
    kh_case c = row_case(SR_OP_SUM_ROWS, KH_SPREAD, 4);
    kh_check_refused(&c, "dense rows");
    kh_case_free(&c);
    c = argmax_case(KH_CONTIGUOUS, 4, 3);
    c.src[0]->tensor.ne[2] = 2;
    kh_check_refused(&c, "matrix");
    kh_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum),          cmocka_unit_test(test_rows),        cmocka_unit_test(test_empty_rows),
        cmocka_unit_test(test_argmax),       cmocka_unit_test(test_argmax_edges), cmocka_unit_test(test_count_equal),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
