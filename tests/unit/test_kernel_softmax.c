/*
 * test_kernel_softmax.c - SOFT_MAX with masks, biases and sinks, and SOFT_MAX_BACK, against naive evaluations.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

static double word(const kh_case *c, int k) {
    union { int32_t i; float f; } v = {c->params[k]};
    return (double)v.f;
}

static double slope(double max_bias, int64_t h, int64_t heads) {
    const double n = exp2(floor(log2((double)heads)));
    if (max_bias <= 0) {
        return 1;
    }
    return (double)h < n ? pow(exp2(-max_bias / n), (double)h + 1)
                         : pow(exp2(-max_bias / (2 * n)), 2 * ((double)h - n) + 1);
}

static double logit(const kh_case *c, const int64_t i[SR_MAX_DIMS], int64_t k) {
    const double z = word(c, 0) * kh_get(c->src[0], k, i[1], i[2], i[3]);
    if (c->src[1] == NULL) {
        return z;
    }
    const int64_t *ne = c->src[1]->tensor.ne;
    return z + slope(word(c, 1), i[2], c->src[0]->tensor.ne[2]) *
                   kh_get(c->src[1], k, i[1], i[2] % ne[2], i[3] % ne[3]);
}

static double want_soft_max(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t n = c->src[0]->tensor.ne[0];
    double most = (double)-INFINITY, sum = 0;
    for (int64_t k = 0; k < n; k++) {
        most = fmax(most, logit(c, i, k));
    }
    if (c->src[2] != NULL) {
        const double sink = kh_get(c->src[2], i[2], 0, 0, 0);
        most = fmax(most, sink);
        sum += exp(sink - most);
    }
    for (int64_t k = 0; k < n; k++) {
        sum += exp(logit(c, i, k) - most);
    }
    return exp(logit(c, i, i[0]) - most) / sum;
}

enum { HEADS = 6 };

typedef struct form { int mask_type; int64_t mask_heads, mask_batches; bool sinks; double scale, max_bias; } form;

static const form forms[] = {
    {-1, 0, 0, false, 1, 0},
    {-1, 0, 0, true, 0.5, 0},
    {SR_TYPE_F32, 1, 1, false, 0.25, 0},
    {SR_TYPE_F16, 1, 2, true, 0.25, 8},
    {SR_TYPE_F32, 3, 2, true, 2, 4},
    {SR_TYPE_F16, HEADS, 1, false, 1, 8},
    {SR_TYPE_F32, HEADS, 2, false, 1, 0},
};

static kh_case soft_max_case(const form *f, int64_t n, int64_t mask_rows) {
    kh_case c = {.op = SR_OP_SOFT_MAX, .n_src = 3, .params = {kh_bits(f->scale), kh_bits(f->max_bias)}};
    c.src[0] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n, 3, HEADS, 2), 1, -4, 4);
    if (f->mask_type >= 0) {
        c.src[1] = kh_new(f->mask_type, KH_CONTIGUOUS, n, mask_rows, f->mask_heads, f->mask_batches);
        kh_fill(c.src[1], 2, -2, 2);
        for (int64_t k = 1; k < n; k += 2) {
            kh_set(c.src[1], k, 1, 0, 0, (double)-INFINITY);
        }
    }
    c.src[2] = f->sinks ? kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, HEADS, 1, 1, 1), 3, -2, 5) : NULL;
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n, 3, HEADS, 2);
    return c;
}

static void test_forms(void **state) {
    static const int64_t lengths[] = {1, 10, 1500};
    (void)state;
    for (int f = 0; f < SR_COUNT(forms); f++) {
        for (int k = 0; k < 2; k++) {
            kh_case c = soft_max_case(&forms[f], lengths[k], 3 + k * 2);
            kh_check_free(&c, want_soft_max);
        }
        kh_case c = soft_max_case(&forms[f], 10, 3);
        kh_free(c.dst);
        c.dst = kh_alias(c.src[0]);
        kh_check_free(&c, want_soft_max);
    }
    kh_case c = soft_max_case(&forms[3], lengths[2], 3);
    assert_true(kh_run(&c, 3, NULL));
    for (int64_t k = 0; k < lengths[2]; k += 97) { /* the naive sums are slow */
        const int64_t at[SR_MAX_DIMS] = {k, 2, 5, 1};
        kh_same(c.dst, at, want_soft_max(&c, at), 1e-6);
    }
    kh_case_free(&c);
}

static void test_over_the_mask(void **state) {
    (void)state;
    kh_case c = soft_max_case(&forms[6], 10, 3);
    kh_free(c.dst);
    c.dst = kh_alias(c.src[1]);
    kh_check_free(&c, want_soft_max);
}

/* A row that is masked throughout has no distribution, unless a sink takes it. */
static void test_masked_throughout(void **state) {
    (void)state;
    for (int sinks = 0; sinks < 2; sinks++) {
        const form f = {SR_TYPE_F32, 1, 1, sinks != 0, 1, 0};
        kh_case c = soft_max_case(&f, 4, 3);
        for (int64_t k = 0; k < 4; k++) {
            kh_set(c.src[1], k, 2, 0, 0, (double)-INFINITY);
        }
        assert_true(kh_run(&c, 1, NULL));
        for (int64_t k = 0; k < 4; k++) {
            const double y = kh_get(c.dst, k, 2, 1, 0);
            assert_true(sinks ? y == 0 : isnan(y));
        }
        kh_case_free(&c);
    }
}

static double want_back(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    double dot = 0;
    for (int64_t k = 0; k < c->src[0]->tensor.ne[0]; k++) {
        dot += kh_get(c->src[0], k, i[1], i[2], i[3]) * kh_get(c->src[1], k, i[1], i[2], i[3]);
    }
    return word(c, 0) * kh_get(c->src[1], i[0], i[1], i[2], i[3]) * (kh_get(c->src[0], i[0], i[1], i[2], i[3]) - dot);
}

static void test_back(void **state) {
    (void)state;
    for (int over = -1; over < 2; over++) {
        kh_case c = {.op = SR_OP_SOFT_MAX_BACK, .n_src = 2, .params = {kh_bits(0.5), 0}};
        c.src[0] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 9, 3, 2, 2), 1, -1, 1);
        c.src[1] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 9, 3, 2, 2), 2, 0, 1);
        c.dst = over < 0 ? kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 9, 3, 2, 2) : kh_alias(c.src[over]);
        kh_check(&c, want_back);
        c.params[1] = kh_bits(1);
        kh_check_refused(&c, "bias");
        kh_case_free(&c);
    }
}

static void test_refusals(void **state) {
    (void)state;
    kh_case c = soft_max_case(&forms[2], 5, 2);
    kh_check_refused(&c, "mask");
    c.src[1]->tensor.type = SR_TYPE_BF16;
    kh_check_refused(&c, "source 1");
    kh_free(c.src[1]);
    c.src[1] = NULL;
    c.params[1] = kh_bits(8);
    kh_check_refused(&c, "needs a mask");
    kh_case_free(&c);
    c = soft_max_case(&forms[1], 5, 3);
    c.src[2]->tensor.ne[0] = HEADS - 1;
    kh_check_refused(&c, "sink");
    kh_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms), cmocka_unit_test(test_over_the_mask), cmocka_unit_test(test_masked_throughout),
        cmocka_unit_test(test_back),  cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
