/*
 * test_kernel_unary.c - SQR SQRT LOG SIN COS UNARY LEAKY_RELU CLAMP SCALE FILL against naive evaluations.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

static double word(const kh_case *c, int k) {
    union { int32_t i; float f; } v = {c->params[k]};
    return (double)v.f;
}

static double rounded(double x) { return (double)sr__f16_to_f32(sr__f32_to_f16((float)x)); }

/* In f32, as the reference fills its table: f64 would round to another f16 now and then. */
static double gelu(double value) {
    const float x = (float)value;
    return (double)(0.5f * x * (1.0f + tanhf(0.7978845608028654f * x * (1.0f + 0.044715f * x * x))));
}

static double want_gelu(const kh_case *c, double x) {
    if (c->src[0]->tensor.type == SR_TYPE_F32 && fabs(x) >= 10) {
        return x < 0 ? 0 : x;
    }
    return rounded(gelu(rounded(x)));
}

static double want_quick(double x) {
    const float v = (float)rounded(x);
    return rounded((double)(v / (1.0f + expf(-1.702f * v))));
}

static double want_code(const kh_case *c, double x) {
    switch (c->params[0]) {
        case SR_UNARY_ABS: return fabs(x);
        case SR_UNARY_SGN: return x > 0 ? 1 : x < 0 ? -1 : 0;
        case SR_UNARY_NEG: return -x;
        case SR_UNARY_STEP: return x > 0 ? 1 : 0;
        case SR_UNARY_TANH: return tanh(x);
        case SR_UNARY_ELU: return x > 0 ? x : expm1(x);
        case SR_UNARY_RELU: return x > 0 ? x : 0;
        case SR_UNARY_SIGMOID: return 1 / (1 + exp(-x));
        case SR_UNARY_GELU: return want_gelu(c, x);
        case SR_UNARY_GELU_QUICK: return want_quick(x);
        case SR_UNARY_SILU: return x / (1 + exp(-x));
        case SR_UNARY_HARDSWISH: return x * fmin(1, fmax(0, (x + 3) / 6));
        case SR_UNARY_HARDSIGMOID: return fmin(1, fmax(0, (x + 3) / 6));
        case SR_UNARY_EXP: return exp(x);
        case SR_UNARY_EXPM1: return exp(x) - 1;
        case SR_UNARY_SOFTPLUS: return x > 20 ? x : log(1 + exp(x));
        case SR_UNARY_GELU_ERF: return 0.5 * x * (1 + erf(x / sqrt(2)));
        case SR_UNARY_XIELU:
            return x > 0 ? word(c, 2) * x * x + word(c, 3) * x
                         : (expm1(fmin(x, word(c, 4))) - x) * word(c, 1) + word(c, 3) * x;
        case SR_UNARY_FLOOR: return floor(x);
        case SR_UNARY_CEIL: return ceil(x);
        case SR_UNARY_ROUND: return round(x);
        default: return trunc(x);
    }
}

static double want_unary(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const double x = c->n_src > 0 ? kh_get(c->src[0], i[0], i[1], i[2], i[3]) : 0;
    switch (c->op) {
        case SR_OP_SQR: return x * x;
        case SR_OP_SQRT: return sqrt(x);
        case SR_OP_LOG: return log(x);
        case SR_OP_SIN: return sin(x);
        case SR_OP_COS: return cos(x);
        case SR_OP_LEAKY_RELU: return fmax(x, 0) + word(c, 0) * fmin(x, 0);
        case SR_OP_CLAMP: return isnan(x) ? word(c, 1) : fmax(fmin(x, word(c, 1)), word(c, 0));
        case SR_OP_SCALE: return word(c, 0) * x + word(c, 1);
        case SR_OP_FILL: return word(c, 0);
        default: return want_code(c, x);
    }
}

static const kh_layout dense[] = {KH_CONTIGUOUS, KH_ROW_GAPS, KH_OUTER_GAPS, KH_PERMUTED};

static kh_case unary_case(int op, int type, int y_type, kh_layout a, kh_layout y, double min, double max) {
    kh_case c = {.op = op, .n_src = 1};
    c.src[0] = kh_fill(kh_new(type, a, 13, 3, 2, 2), 11, min, max);
    c.dst = kh_new(y_type, y, 13, 3, 2, 2);
    return c;
}

/* Over the range of types, layouts, and with the result in the source's place. */
static void check_op(int op, const int32_t params[5], bool bf16, bool widens, double min, double max) {
    static const int types[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_BF16};
    for (int t = 0; t < (bf16 ? 3 : 2); t++) {
        for (int layout = 0; layout < SR_COUNT(dense); layout++) {
            for (int form = 0; form < 3; form++) {
                const int y_type = form == 1 && widens ? SR_TYPE_F32 : types[t];
                kh_case c = unary_case(op, types[t], y_type, dense[layout], dense[(layout + form) % 4], min, max);
                memcpy(c.params, params, 5 * sizeof(*params));
                if (form == 2) {
                    kh_free(c.dst);
                    c.dst = kh_alias(c.src[0]);
                }
                kh_check_free(&c, want_unary);
            }
        }
    }
}

static void test_plain_ops(void **state) {
    static const int32_t none[5] = {0};
    (void)state;
    check_op(SR_OP_SQR, none, true, true, -3, 3);
    check_op(SR_OP_SQRT, none, true, true, 0, 9);
    check_op(SR_OP_LOG, none, true, true, 0.1, 9);
    check_op(SR_OP_SIN, none, true, true, -6, 6);
    check_op(SR_OP_COS, none, true, true, -6, 6);
}

static bool is_f32_f16_only(int code) {
    return code == SR_UNARY_GELU || code == SR_UNARY_GELU_ERF || code == SR_UNARY_GELU_QUICK || code == SR_UNARY_SILU;
}

static void test_unary_codes(void **state) {
    (void)state;
    for (int code = 0; code < SR_UNARY_COUNT; code++) {
        const int32_t params[5] = {code, kh_bits(1.25), kh_bits(0.75), kh_bits(0.5), kh_bits(-1e-6)};
        check_op(SR_OP_UNARY, params, !is_f32_f16_only(code), !is_f32_f16_only(code), -4, 4);
    }
}

static void test_ops_with_words(void **state) {
    const int32_t words[5] = {kh_bits(-0.5), kh_bits(0.75)};
    (void)state;
    check_op(SR_OP_LEAKY_RELU, words, false, false, -3, 3);
    check_op(SR_OP_CLAMP, words, false, false, -3, 3);
    for (int layout = 0; layout < SR_COUNT(dense); layout++) {
        for (int op = 0; op < 2; op++) {
            kh_case c = unary_case(op == 0 ? SR_OP_SCALE : SR_OP_FILL, SR_TYPE_F32, SR_TYPE_F32, dense[layout],
                                   dense[(layout + op) % 4], -3, 3);
            memcpy(c.params, words, sizeof(words));
            kh_check_free(&c, want_unary);
        }
    }
}

static void test_long_rows(void **state) {
    static const int types[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_BF16};
    (void)state;
    for (int t = 0; t < 3; t++) {
        for (int layout = 0; layout < SR_COUNT(dense); layout++) {
            kh_case c = {.op = SR_OP_SQR, .n_src = 1};
            c.src[0] = kh_fill(kh_new(types[t], dense[layout], 2500, 3, 1, 2), 5, -2, 2);
            c.dst = kh_new(types[t], KH_CONTIGUOUS, 2500, 3, 1, 2);
            kh_check_free(&c, want_unary);
        }
    }
}

/* One value through a kernel. */
static double value_of(int op, int type, int32_t w0, int32_t w1, double x) {
    kh_case c = {.op = op, .n_src = 1, .params = {w0, w1}};
    c.src[0] = kh_new(type, KH_CONTIGUOUS, 1, 1, 1, 1);
    c.dst = kh_new(type, KH_CONTIGUOUS, 1, 1, 1, 1);
    kh_set(c.src[0], 0, 0, 0, 0, x);
    assert_true(kh_run(&c, 1, NULL));
    const double y = kh_get(c.dst, 0, 0, 0, 0);
    kh_case_free(&c);
    return y;
}

static double unary_of(int code, int type, double x) { return value_of(SR_OP_UNARY, type, code, 0, x); }

static void test_edges(void **state) {
    (void)state;
    assert_true(unary_of(SR_UNARY_SGN, SR_TYPE_F32, (double)NAN) == 0);
    assert_true(unary_of(SR_UNARY_SGN, SR_TYPE_F32, -0.0) == 0);
    assert_true(unary_of(SR_UNARY_RELU, SR_TYPE_F32, (double)NAN) == 0);
    assert_true(unary_of(SR_UNARY_ROUND, SR_TYPE_F32, 2.5) == 3 && unary_of(SR_UNARY_ROUND, SR_TYPE_F32, -2.5) == -3);
    assert_true(unary_of(SR_UNARY_SOFTPLUS, SR_TYPE_F32, 200) == 200);
    /* beyond 10 the table is not asked; 1000.3 has no f16 */
    assert_true(unary_of(SR_UNARY_GELU, SR_TYPE_F32, 1000.3) == (double)1000.3f);
    assert_true(unary_of(SR_UNARY_GELU, SR_TYPE_F32, -1000) == 0);
    assert_true(unary_of(SR_UNARY_GELU, SR_TYPE_F16, 12) == 12);
    assert_true(unary_of(SR_UNARY_GELU, SR_TYPE_F32, 1.00001) == unary_of(SR_UNARY_GELU, SR_TYPE_F32, 1));
    /* what an f16 cannot hold */
    assert_true(isinf(unary_of(SR_UNARY_GELU_QUICK, SR_TYPE_F32, 1e6)));
    assert_true(isnan(unary_of(SR_UNARY_GELU_QUICK, SR_TYPE_F32, -1e6)));
    /* near 0 the difference of two numbers near 1 loses digits, as the reference's does */
    assert_true(unary_of(SR_UNARY_EXPM1, SR_TYPE_F32, 1e-9) == 0);
    assert_true(value_of(SR_OP_CLAMP, SR_TYPE_F32, kh_bits(-1), kh_bits(2), (double)NAN) == 2);
}

static void test_refusals(void **state) {
    (void)state;
    kh_case c = unary_case(SR_OP_UNARY, SR_TYPE_BF16, SR_TYPE_BF16, KH_CONTIGUOUS, KH_CONTIGUOUS, -1, 1);
    c.params[0] = SR_UNARY_SILU;
    kh_check_refused(&c, "must be f32 or f16");
    c.params[0] = SR_UNARY_COUNT;
    kh_check_refused(&c, "no such unary");
    c.op = SR_OP_SCALE;
    kh_check_refused(&c, "f32");
    kh_case_free(&c);
    kh_case spread = unary_case(SR_OP_SQR, SR_TYPE_F32, SR_TYPE_F32, KH_SPREAD, KH_CONTIGUOUS, -1, 1);
    kh_check_refused(&spread, "dense rows");
    kh_case_free(&spread);
    kh_case narrow = unary_case(SR_OP_SQR, SR_TYPE_F32, SR_TYPE_F16, KH_CONTIGUOUS, KH_CONTIGUOUS, -1, 1);
    kh_check_refused(&narrow, "the result must be");
    kh_case_free(&narrow);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_ops), cmocka_unit_test(test_unary_codes), cmocka_unit_test(test_ops_with_words),
        cmocka_unit_test(test_long_rows), cmocka_unit_test(test_edges),       cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
