/*
 * test_kernel_mask.c - DIAG_MASK_INF DIAG_MASK_ZERO TRI against naive evaluations.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

static const kh_layout dense[] = {KH_CONTIGUOUS, KH_ROW_GAPS, KH_OUTER_GAPS, KH_PERMUTED};

static double want_mask(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const double a = kh_get(c->src[0], i[0], i[1], i[2], i[3]);
    const int w = c->params[0];
    switch (c->op) {
        case SR_OP_DIAG_MASK_INF: return i[0] > w + i[1] ? (double)-INFINITY : a;
        case SR_OP_DIAG_MASK_ZERO: return i[0] > w + i[1] ? 0 : a;
        default: return (w == 0 ? i[0] >= i[1] : w == 1 ? i[0] > i[1] : w == 2 ? i[0] <= i[1] : i[0] < i[1]) ? a : 0;
    }
}

static void check(int op, int word, int64_t n0, int64_t n1) {
    for (int layout = 0; layout < SR_COUNT(dense); layout++) {
        for (int in_place = 0; in_place < 2; in_place++) {
            kh_case c = {.op = op, .n_src = 1, .params = {word}};
            c.src[0] = kh_fill(kh_new(SR_TYPE_F32, dense[layout], n0, n1, 2, 2), 1, -1, 1);
            c.dst = in_place ? kh_alias(c.src[0]) : kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n0, n1, 2, 2);
            kh_check_free(&c, want_mask);
        }
    }
}

static void test_diag_mask(void **state) {
    (void)state;
    for (int n_past = 0; n_past < 12; n_past += 3) {
        check(SR_OP_DIAG_MASK_INF, n_past, 9, 4);
        check(SR_OP_DIAG_MASK_ZERO, n_past, 3, 8);
    }
}

static void test_tri(void **state) {
    (void)state;
    for (int type = 0; type < 4; type++) {
        check(SR_OP_TRI, type, 7, 7);
        check(SR_OP_TRI, type, 1, 1);
    }
}

static void test_refusals(void **state) {
    (void)state;
    kh_case c = {.op = SR_OP_TRI, .n_src = 1, .params = {4}};
    c.src[0] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 3, 3, 1, 1);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 3, 3, 1, 1);
    kh_check_refused(&c, "triangle");
    c.op = SR_OP_DIAG_MASK_INF;
    c.params[0] = -1;
    kh_check_refused(&c, "past");
    c.params[0] = 0;
    c.src[0]->tensor.type = SR_TYPE_I32;
    kh_check_refused(&c, "f32");
    kh_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diag_mask),
        cmocka_unit_test(test_tri),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
