/*
 * test_kernel_glu.c - every GLU, with one source cut in halves and with two, against naive evaluations.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

static const double ALPHA = 1.702, LIMIT = 1.5;

static double rounded(double x) { return (double)sr__f16_to_f32(sr__f32_to_f16((float)x)); }

/* In f32, as the reference fills its table: f64 would round to another f16 now and then. */
static double want_gelu(const kh_case *c, double x) {
    if (c->src[0]->tensor.type == SR_TYPE_F32 && fabs(x) >= 10) {
        return x < 0 ? 0 : x;
    }
    const float v = (float)rounded(x);
    return rounded((double)(0.5f * v * (1.0f + tanhf(0.7978845608028654f * v * (1.0f + 0.044715f * v * v)))));
}

static double want_quick(double x) {
    const float v = (float)rounded(x);
    return rounded((double)(v / (1.0f + expf(-1.702f * v))));
}

static double want_glu(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t n = c->dst->tensor.ne[0];
    const bool two = c->src[1] != NULL, swapped = c->params[1] != 0;
    const double x = kh_get(c->src[0], i[0] + (!two && swapped ? n : 0), i[1], i[2], i[3]);
    const double g = two ? kh_get(c->src[1], i[0], i[1], i[2], i[3])
                         : kh_get(c->src[0], i[0] + (swapped ? 0 : n), i[1], i[2], i[3]);
    switch (c->params[0]) {
        case SR_GLU_REGLU: return x > 0 ? x * g : 0;
        case SR_GLU_GEGLU: return want_gelu(c, x) * g;
        case SR_GLU_SWIGLU: return x / (1 + exp(-x)) * g;
        case SR_GLU_SWIGLU_OAI: {
            const double a = fmin(x, LIMIT), b = fmin(fmax(g, -LIMIT), LIMIT);
            return a / (1 + exp(-ALPHA * a)) * (b + 1);
        }
        case SR_GLU_GEGLU_ERF: return 0.5 * x * (1 + erf(x / sqrt(2))) * g;
        default: return want_quick(x) * g;
    }
}

static const kh_layout rows[] = {KH_CONTIGUOUS, KH_ROW_GAPS};

static kh_case glu_case(int code, int type, bool two, bool swapped, kh_layout layout, int64_t n) {
    kh_case c = {.op = SR_OP_GLU, .n_src = 2, .params = {code, swapped, kh_bits(ALPHA), kh_bits(LIMIT)}};
    c.src[0] = kh_fill(kh_new(type, layout, two ? n : 2 * n, 3, 2, 2), 3, -3, 3);
    c.src[1] = two ? kh_fill(kh_new(type, rows[layout == KH_CONTIGUOUS], n, 3, 2, 2), 4, -3, 3) : NULL;
    c.dst = kh_new(type, KH_CONTIGUOUS, n, 3, 2, 2);
    return c;
}

static void test_every_glu(void **state) {
    (void)state;
    for (int code = 0; code < SR_GLU_COUNT; code++) {
        for (int form = 0; form < 3; form++) {
            for (int layout = 0; layout < SR_COUNT(rows); layout++) {
                kh_case c = glu_case(code, SR_TYPE_F32, form == 0, form == 2, rows[layout], 11);
                kh_check_free(&c, want_glu);
                c = glu_case(code, SR_TYPE_F32, form == 0, form == 2, rows[layout], 1500);
                kh_check_free(&c, want_glu);
                if (code != SR_GLU_SWIGLU_OAI) {
                    c = glu_case(code, SR_TYPE_F16, form == 0, form == 2, rows[layout], 11);
                    kh_check_free(&c, want_glu);
                }
            }
        }
    }
}

/* An odd row has an element that belongs to neither half. */
static void test_odd_rows(void **state) {
    (void)state;
    kh_case c = glu_case(SR_GLU_SWIGLU, SR_TYPE_F32, false, false, KH_CONTIGUOUS, 5);
    kh_free(c.src[0]);
    c.src[0] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 11, 3, 2, 2), 3, -3, 3);
    kh_check_free(&c, want_glu);
}

static void test_gelu_beyond_the_table(void **state) {
    (void)state;
    kh_case c = glu_case(SR_GLU_GEGLU, SR_TYPE_F32, true, false, KH_CONTIGUOUS, 4);
    kh_set(c.src[0], 0, 0, 0, 0, 1000.3);
    kh_set(c.src[0], 1, 0, 0, 0, -1000.3);
    kh_check_free(&c, want_glu);
}

static void test_refusals(void **state) {
    (void)state;
    kh_case c = glu_case(SR_GLU_SWIGLU_OAI, SR_TYPE_F16, true, false, KH_CONTIGUOUS, 4);
    kh_check_refused(&c, "must be f32");
    c.params[0] = SR_GLU_COUNT;
    kh_check_refused(&c, "no such GLU");
    c.params[0] = SR_GLU_SWIGLU;
    c.dst->tensor.ne[0] = 3;
    kh_check_refused(&c, "extents");
    kh_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_glu),
        cmocka_unit_test(test_odd_rows),
        cmocka_unit_test(test_gelu_beyond_the_table),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
