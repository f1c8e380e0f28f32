/*
 * test_kernel_repeat.c - REPEAT REPEAT_BACK CONCAT DIAG against naive evaluations.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

static const kh_layout dense[] = {KH_CONTIGUOUS, KH_ROW_GAPS, KH_OUTER_GAPS, KH_PERMUTED};

static double want_repeat(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t *ne = c->src[0]->tensor.ne;
    return kh_get(c->src[0], i[0] % ne[0], i[1] % ne[1], i[2] % ne[2], i[3] % ne[3]);
}

static void test_repeat(void **state) {
    static const int types[] = {SR_TYPE_F32, SR_TYPE_I32, SR_TYPE_F16, SR_TYPE_BF16, SR_TYPE_I16};
    static const int64_t ne[][4] = {{12, 6, 4, 2}, {1, 6, 2, 1}, {3, 2, 4, 1}, {12, 1, 1, 2}};
    (void)state;
    for (int t = 0; t < SR_COUNT(types); t++) {
        for (int layout = 0; layout < SR_COUNT(dense); layout++) {
            for (int k = 0; k < SR_COUNT(ne); k++) {
                kh_case c = {.op = SR_OP_REPEAT, .n_src = 1};
                c.src[0] = kh_fill(kh_new(types[t], dense[layout], ne[k][0], ne[k][1], ne[k][2], ne[k][3]), 1, -90, 90);
                c.dst = kh_new(types[t], dense[(layout + k) % 4], 12, 6, 4, 2);
                kh_check_free(&c, want_repeat);
            }
        }
    }
}

static double want_repeat_back(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    double sum = 0;
    KH_EACH(c->src[0], k) {
        bool falls_here = true;
        for (int d = 0; d < SR_MAX_DIMS; d++) {
            falls_here = falls_here && k.at[d] % c->dst->tensor.ne[d] == i[d];
        }
        sum += falls_here ? kh_get(c->src[0], KH_I(k)) : 0;
    }
    return sum;
}

static void test_repeat_back(void **state) {
    static const int64_t ne[][4] = {{8, 6, 2, 2}, {1, 1, 1, 1}, {4, 3, 2, 1}, {8, 2, 1, 2}};
    (void)state;
    for (int layout = 0; layout < SR_COUNT(dense); layout++) {
        for (int k = 0; k < SR_COUNT(ne); k++) {
            kh_case c = {.op = SR_OP_REPEAT_BACK, .n_src = 1};
            c.src[0] = kh_fill(kh_new(SR_TYPE_F32, dense[layout], 8, 6, 2, 2), 1, -1, 1);
            c.dst = kh_new(SR_TYPE_F32, dense[(layout + k) % 4], ne[k][0], ne[k][1], ne[k][2], ne[k][3]);
            kh_check_free(&c, want_repeat_back);
        }
    }
}

static double want_concat(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int dim = c->params[0];
    const int64_t first = c->src[0]->tensor.ne[dim];
    int64_t at[SR_MAX_DIMS] = {i[0], i[1], i[2], i[3]};
    const bool second = at[dim] >= first;
    at[dim] -= second ? first : 0;
    return kh_get(c->src[second], at[0], at[1], at[2], at[3]);
}

static kh_case concat_case(int type, int dim, kh_layout a, kh_layout b, int64_t n_a, int64_t n_b) {
    int64_t ne[3][SR_MAX_DIMS] = {{5, 3, 4, 2}, {5, 3, 4, 2}, {5, 3, 4, 2}};
    ne[0][dim] = n_a, ne[1][dim] = n_b, ne[2][dim] = n_a + n_b;
    kh_case c = {.op = SR_OP_CONCAT, .n_src = 2, .params = {dim}};
    for (int j = 0; j < 2; j++) {
        c.src[j] = kh_new(type, j == 0 ? a : b, ne[j][0], ne[j][1], ne[j][2], ne[j][3]);
        kh_fill(c.src[j], (uint64_t)j + 1, -100, 100);
    }
    c.dst = kh_new(type, KH_CONTIGUOUS, ne[2][0], ne[2][1], ne[2][2], ne[2][3]);
    return c;
}

static void test_concat(void **state) {
    static const int types[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_BF16, SR_TYPE_F64,
                                SR_TYPE_I8,  SR_TYPE_I16, SR_TYPE_I32,  SR_TYPE_I64};
    (void)state;
    for (int t = 0; t < SR_COUNT(types); t++) {
        for (int dim = 0; dim < SR_MAX_DIMS; dim++) {
            for (int layout = 0; layout < KH_LAYOUTS; layout++) {
                const kh_layout b = (kh_layout)((layout + dim) % KH_LAYOUTS);
                kh_case c = concat_case(types[t], dim, (kh_layout)layout, b, 4, 3);
                kh_check_free(&c, want_concat);
            }
        }
    }
}

static void test_concat_with_nothing(void **state) {
    (void)state;
    for (int dim = 0; dim < SR_MAX_DIMS; dim++) {
        kh_case c = concat_case(SR_TYPE_F32, dim, KH_CONTIGUOUS, KH_CONTIGUOUS, 0, 3);
        kh_check_free(&c, want_concat);
        c = concat_case(SR_TYPE_F32, dim, KH_CONTIGUOUS, KH_CONTIGUOUS, 3, 0);
        kh_check_free(&c, want_concat);
    }
}

static double want_diag(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    return i[0] == i[1] ? kh_get(c->src[0], i[0], 0, i[2], i[3]) : 0;
}

static void test_diag(void **state) {
    (void)state;
    for (int layout = 0; layout < KH_LAYOUTS; layout++) {
        kh_case c = {.op = SR_OP_DIAG, .n_src = 1};
        c.src[0] = kh_fill(kh_new(SR_TYPE_F32, (kh_layout)layout, 7, 1, 3, 2), 1, -1, 1);
        c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 7, 7, 3, 2);
        kh_check_free(&c, want_diag);
    }
}

static void test_refusals(void **state) {
    (void)state;
    kh_case c = concat_case(SR_TYPE_F32, 0, KH_CONTIGUOUS, KH_CONTIGUOUS, 4, 3);
    c.params[0] = 4;
    kh_check_refused(&c, "dimension");
    c.params[0] = 1;
    kh_check_refused(&c, "extents");
    c.dst->tensor.type = SR_TYPE_Q8_0;
    kh_check_refused(&c, "blocks");
    c.op = SR_OP_REPEAT;
    kh_check_refused(&c, "result");
    kh_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeat),              cmocka_unit_test(test_repeat_back),
        cmocka_unit_test(test_concat),              cmocka_unit_test(test_concat_with_nothing),
        cmocka_unit_test(test_diag),                cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
