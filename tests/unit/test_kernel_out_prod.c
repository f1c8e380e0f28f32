/*
 * test_kernel_out_prod.c - OUT_PROD against naive sums: broadcasts, strides, quantized rows, empty sources.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

#include "kernels/mm_isa.h"

static double outer(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const sr_tensor *a = &c->src[0]->tensor, *b = &c->src[1]->tensor;
    double sum = 0;
    for (int64_t k = 0; k < a->ne[1]; k++) {
        sum += kh_get(c->src[0], i[0], k, i[2] / (b->ne[2] / a->ne[2]), i[3] / (b->ne[3] / a->ne[3])) *
               kh_get(c->src[1], i[1], k, i[2], i[3]);
    }
    return sum;
}

typedef struct shape { int64_t m, n, k, a2, a3, b2, b3; } shape;

static void check(int type, kh_layout a_layout, kh_layout b_layout, kh_layout y_layout, const shape *s) {
    for (int level = SR__MM_PLAIN; level <= SR__MM_AVX512; level++) {
        if (sr__mm_isa_limit((sr__mm_level)level)) {
            kh_case c = {.op = SR_OP_OUT_PROD, .n_src = 2};
            c.src[0] = kh_fill(kh_new(type, a_layout, s->m, s->k, s->a2, s->a3), 1, -1, 1);
            c.src[1] = kh_fill(kh_new(SR_TYPE_F32, b_layout, s->n, s->k, s->b2, s->b3), 2, -1, 1);
            c.dst = kh_new(SR_TYPE_F32, y_layout, s->m, s->n, s->b2, s->b3);
            kh_check_within(&c, outer, 1e-4);
            kh_case_free(&c);
        }
    }
    (void)sr__mm_isa_limit(SR__MM_AVX512);
}

static void test_floats(void **state) {
    (void)state;
    static const shape SHAPES[] = {
        {1, 1, 1, 1, 1, 1, 1},     {5, 7, 3, 1, 1, 1, 1},    {33, 14, 20, 2, 1, 4, 3},
        {300, 100, 9, 1, 1, 2, 1}, {40, 13, 530, 1, 1, 1, 1},
    };
    for (int i = 0; i < SR_COUNT(SHAPES); i++) {
        check(SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &SHAPES[i]);
        check(SR_TYPE_F32, KH_PERMUTED, KH_TRANSPOSED, KH_ROW_GAPS, &SHAPES[i]);
        check(SR_TYPE_F32, KH_ROW_GAPS, KH_SPREAD, KH_CONTIGUOUS, &SHAPES[i]);
    }
}

static void test_quantized(void **state) {
    (void)state;
    static const shape SMALL = {288, 5, 6, 2, 1, 2, 1}, LARGE = {512, 14, 3, 1, 2, 1, 2};
    check(SR_TYPE_Q4_0, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &SMALL);
    check(SR_TYPE_Q8_0, KH_ROW_GAPS, KH_TRANSPOSED, KH_CONTIGUOUS, &SMALL);
    check(SR_TYPE_Q6_K, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &LARGE);
}

static void test_empty_sources(void **state) {
    (void)state; /* no products: zeros */
    static const shape EMPTY = {37, 15, 0, 1, 1, 1, 1};
    check(SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &EMPTY);
}

static void test_refusals(void **state) {
    (void)state;
    kh_case c = {.op = SR_OP_OUT_PROD, .n_src = 2};
    c.src[0] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 8, 3, 2, 1);
    c.src[1] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 5, 3, 4, 1);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 8, 5, 4, 1);
    assert_null(kh_refuse(&c));
    c.src[0]->tensor.type = SR_TYPE_F16;
    kh_check_refused(&c, "the first source must be f32 or a quantized type");
    c.src[0]->tensor.type = SR_TYPE_F32;
    c.src[0]->tensor.nb[0] = 8;
    kh_check_refused(&c, "dense rows");
    c.src[0]->tensor.nb[0] = 4;
    c.src[1]->tensor.ne[2] = 3;
    kh_check_refused(&c, "do not fit together");
    c.src[1]->tensor.type = SR_TYPE_F16;
    kh_check_refused(&c, "source 1 must be f32");
    kh_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_quantized),
        cmocka_unit_test(test_empty_sources),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
