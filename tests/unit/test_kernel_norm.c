/*
 * test_kernel_norm.c - NORM RMS_NORM RMS_NORM_BACK GROUP_NORM L2_NORM against naive evaluations.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

static const double EPS = 0.25; /* large, so that its place in the formula shows */
static const kh_layout dense[] = {KH_CONTIGUOUS, KH_ROW_GAPS, KH_OUTER_GAPS, KH_PERMUTED};

static double power_sum(const kh_case *c, const int64_t i[SR_MAX_DIMS], int src, int other) {
    double sum = 0;
    for (int64_t k = 0; k < c->src[src]->tensor.ne[0]; k++) {
        const double x = kh_get(c->src[src], k, i[1], i[2], i[3]);
        sum += other < 0 ? x : x * kh_get(c->src[other], k, i[1], i[2], i[3]);
    }
    return sum;
}

static double want_norm(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const double n = (double)c->src[0]->tensor.ne[0], a = kh_get(c->src[0], i[0], i[1], i[2], i[3]);
    const double mean = power_sum(c, i, 0, -1) / n, squares = power_sum(c, i, 0, 0);
    switch (c->op) {
        case SR_OP_NORM: return (a - mean) / sqrt(squares / n - mean * mean + EPS);
        case SR_OP_RMS_NORM: return a / sqrt(squares / n + EPS);
        case SR_OP_L2_NORM: return a / fmax(sqrt(squares), EPS);
        default: {
            const double xx = power_sum(c, i, 1, 1), x = kh_get(c->src[1], i[0], i[1], i[2], i[3]);
            return (a - x * power_sum(c, i, 0, 1) / (xx + n * EPS)) / sqrt(xx / n + EPS);
        }
    }
}

static kh_case norm_case(int op, kh_layout layout, int64_t n) {
    kh_case c = {.op = op, .params = {kh_bits(EPS)}, .n_src = op == SR_OP_RMS_NORM_BACK ? 2 : 1};
    for (int j = 0; j < c.n_src; j++) {
        c.src[j] = kh_fill(kh_new(SR_TYPE_F32, layout, n, 3, 2, 2), (uint64_t)j + 1, -1, 2);
    }
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n, 3, 2, 2);
    return c;
}

/* Into memory of its own, and over each of the sources. */
static void test_rows(void **state) {
    static const int ops[] = {SR_OP_NORM, SR_OP_RMS_NORM, SR_OP_L2_NORM, SR_OP_RMS_NORM_BACK};
    static const int64_t lengths[] = {1, 11, 64};
    (void)state;
    for (int op = 0; op < SR_COUNT(ops); op++) {
        for (int layout = 0; layout < SR_COUNT(dense); layout++) {
            for (int k = 0; k < SR_COUNT(lengths); k++) {
                for (int over = -1; over < (ops[op] == SR_OP_RMS_NORM_BACK ? 2 : 1); over++) {
                    kh_case c = norm_case(ops[op], dense[layout], lengths[k]);
                    if (over >= 0) {
                        kh_free(c.dst);
                        c.dst = kh_alias(c.src[over]);
                    }
                    kh_check_free(&c, want_norm);
                }
            }
        }
    }
}

static void test_rows_of_zeros(void **state) {
    (void)state;
    for (int op = 0; op < 2; op++) {
        kh_case c = norm_case(op == 0 ? SR_OP_L2_NORM : SR_OP_RMS_NORM, KH_CONTIGUOUS, 5);
        kh_fill(c.src[0], 1, 0, 0);
        kh_check_free(&c, want_norm);
    }
}

static double want_group_norm(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t *ne = c->src[0]->tensor.ne, groups = c->params[0], size = (ne[2] + groups - 1) / groups;
    double n = 0, sum = 0, squares = 0;
    KH_EACH(c->src[0], k) {
        if (k.at[3] == i[3] && k.at[2] / size == i[2] / size) {
            const double x = kh_get(c->src[0], KH_I(k));
            n++, sum += x, squares += x * x;
        }
    }
    return (kh_get(c->src[0], i[0], i[1], i[2], i[3]) - sum / n) / sqrt(squares / n - sum / n * sum / n + EPS);
}

/* 7 channels in 3 groups: 3, 3 and 1; in 5 groups: 2, 2, 2, 1 and none. */
static void test_group_norm(void **state) {
    static const int groups[] = {1, 3, 5, 7, 20};
    (void)state;
    for (int k = 0; k < SR_COUNT(groups); k++) {
        for (int layout = 0; layout < SR_COUNT(dense); layout++) {
            for (int in_place = 0; in_place < 2; in_place++) {
                kh_case c = {.op = SR_OP_GROUP_NORM, .params = {groups[k], kh_bits(EPS)}, .n_src = 1};
                c.src[0] = kh_fill(kh_new(SR_TYPE_F32, dense[layout], 4, 3, 7, 2), 1, -1, 2);
                c.dst = in_place ? kh_alias(c.src[0]) : kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 4, 3, 7, 2);
                kh_check_free(&c, want_group_norm);
            }
        }
    }
}

static void test_refusals(void **state) {
    (void)state;
    kh_case c = norm_case(SR_OP_RMS_NORM_BACK, KH_CONTIGUOUS, 4);
    c.src[1]->tensor.ne[1] = 1;
    kh_check_refused(&c, "same extents");
    c.op = SR_OP_GROUP_NORM;
    c.params[0] = 0;
    kh_check_refused(&c, "groups");
    kh_case_free(&c);
    c = norm_case(SR_OP_NORM, KH_SPREAD, 4);
    kh_check_refused(&c, "dense rows");
    kh_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_rows_of_zeros),
        cmocka_unit_test(test_group_norm),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
