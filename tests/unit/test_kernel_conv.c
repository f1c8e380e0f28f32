/*
 * test_kernel_conv.c - CONV_2D, CONV_3D, CONV_2D_DW, CONV_TRANSPOSE_1D, CONV_TRANSPOSE_2D against their definitions.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

static int64_t extent(int64_t in, int64_t k, int64_t s, int64_t p, int64_t d) {
    return (in + 2 * p - d * (k - 1) - 1) / s + 1;
}

/* An input element as the kernel sees it: 0 outside, rounded to f16 where the weights are f16. */
static double input(const kh_case *c, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    const int64_t *ne = c->src[1]->tensor.ne;
    if (i0 < 0 || i0 >= ne[0] || i1 < 0 || i1 >= ne[1] || i2 < 0 || i2 >= ne[2] || i3 < 0 || i3 >= ne[3]) {
        return 0;
    }
    const double x = kh_get(c->src[1], i0, i1, i2, i3);
    return c->src[0]->tensor.type == SR_TYPE_F16 ? (double)sr__f16_to_f32(sr__f32_to_f16((float)x)) : x;
}

static double expect_2d(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int32_t *w = c->params;
    double sum = 0;
    KH_EACH(c->src[0], k) {
        if (k.at[3] == i[2]) {
            sum += kh_get(c->src[0], KH_I(k)) * input(c, i[0] * w[0] + k.at[0] * w[4] - w[2],
                                                      i[1] * w[1] + k.at[1] * w[5] - w[3], k.at[2], i[3]);
        }
    }
    return sum;
}

static double expect_3d(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int32_t *w = c->params;
    const int64_t channels = w[9], filter = i[3] % w[11], batch = i[3] / w[11];
    double sum = 0;
    KH_EACH(c->src[0], k) {
        if (k.at[3] / channels == filter) {
            sum += kh_get(c->src[0], KH_I(k)) *
                   input(c, i[0] * w[0] + k.at[0] * w[6] - w[3], i[1] * w[1] + k.at[1] * w[7] - w[4],
                         i[2] * w[2] + k.at[2] * w[8] - w[5], batch * channels + k.at[3] % channels);
        }
    }
    return sum;
}

static double expect_depthwise(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int32_t *w = c->params;
    double sum = 0;
    KH_EACH(c->src[0], k) {
        if (k.at[3] == i[2]) {
            sum += kh_get(c->src[0], KH_I(k)) * input(c, i[0] * w[0] + k.at[0] * w[4] - w[2],
                                                      i[1] * w[1] + k.at[1] * w[5] - w[3], i[2], i[3]);
        }
    }
    return sum;
}

static double expect_transpose_1d(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t *k = c->src[0]->tensor.ne, *b = c->src[1]->tensor.ne;
    double sum = 0;
    for (int64_t ic = 0; ic < b[1]; ic++) {
        for (int64_t x = 0; x < k[0]; x++) {
            if (i[0] >= x && (i[0] - x) % c->params[0] == 0) {
                sum += kh_get(c->src[0], x, i[1], ic, 0) * input(c, (i[0] - x) / c->params[0], ic, 0, 0);
            }
        }
    }
    return sum;
}

static double expect_transpose_2d(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t *k = c->src[0]->tensor.ne, s = c->params[0];
    double sum = 0;
    for (int64_t ic = 0; ic < c->src[1]->tensor.ne[2] && i[3] == 0; ic++) {
        for (int64_t y = 0; y < k[1]; y++) {
            for (int64_t x = 0; x < k[0]; x++) {
                if (i[0] >= x && (i[0] - x) % s == 0 && i[1] >= y && (i[1] - y) % s == 0) {
                    sum += kh_get(c->src[0], x, y, i[2], ic) * input(c, (i[0] - x) / s, (i[1] - y) / s, ic, 0);
                }
            }
        }
    }
    return sum;
}

static void finish(kh_case *c, kh_expect expect) {
    kh_check_within(c, expect, 1e-5);
    kh_free(c->src[0]);
    kh_free(c->src[1]);
    kh_free(c->dst);
}

static const int32_t windows[][6] = {
    {1, 1, 0, 0, 1, 1}, {1, 1, 1, 1, 1, 1}, {2, 1, 1, 0, 1, 1},
    {3, 2, 4, 3, 2, 1}, {1, 2, 2, 5, 3, 2}, {1, 1, -1, -2, 1, 1}};

static void run_2d(int type, const int32_t *w, kh_layout layout, int64_t iw, int64_t ih) {
    const int64_t kw = 3, kh = 2, ic = 3, oc = 2, n = 2;
    kh_case c = {.op = SR_OP_CONV_2D, .params = {w[0], w[1], w[2], w[3], w[4], w[5]}, .n_src = 2};
    c.src[0] = kh_fill(kh_new(type, KH_CONTIGUOUS, kw, kh, ic, oc), 1, -1, 1);
    c.src[1] = kh_fill(kh_new(SR_TYPE_F32, layout, iw, ih, ic, n), 2, -1, 1);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, extent(iw, kw, w[0], w[2], w[4]), extent(ih, kh, w[1], w[3], w[5]), oc,
                   n);
    finish(&c, expect_2d);
}

static void test_conv_2d(void **state) {
    (void)state;
    for (int type = SR_TYPE_F32; type <= SR_TYPE_F16; type++) {
        for (int w = 0; w < SR_COUNT(windows); w++) {
            for (int layout = 0; layout < KH_LAYOUTS; layout++) {
                run_2d(type, windows[w], (kh_layout)layout, 11, 9);
            }
            run_2d(type, windows[w], w % 2 ? KH_CONTIGUOUS : KH_TRANSPOSED, 70, 50);
        }
    }
}

static void test_conv_3d(void **state) {
    (void)state;
    static const int32_t words[][9] = {
        {1, 1, 1, 0, 0, 0, 1, 1, 1}, {2, 1, 3, 1, 2, 0, 1, 2, 1}, {1, 2, 1, 3, 0, 2, 2, 1, 3}};
    const int64_t in[] = {17, 16, 12}, k[] = {3, 2, 3}, ic = 2, oc = 3, n = 2;
    for (int w = 0; w < SR_COUNT(words); w++) {
        for (int type = SR_TYPE_F32; type <= SR_TYPE_F16; type++) {
            for (int layout = 0; layout < KH_LAYOUTS; layout++) {
                int64_t out[3];
                kh_case c = {.op = SR_OP_CONV_3D, .n_src = 2};
                memcpy(c.params, words[w], sizeof(words[w]));
                c.params[9] = (int32_t)ic, c.params[10] = (int32_t)n, c.params[11] = (int32_t)oc;
                for (int d = 0; d < 3; d++) {
                    out[d] = extent(in[d], k[d], words[w][d], words[w][3 + d], words[w][6 + d]);
                }
                c.src[0] = kh_fill(kh_new(type, KH_CONTIGUOUS, k[0], k[1], k[2], ic * oc), 1, -1, 1);
                c.src[1] = kh_fill(kh_new(SR_TYPE_F32, (kh_layout)layout, in[0], in[1], in[2], ic * n), 2, -1, 1);
                c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, out[0], out[1], out[2], oc * n);
                finish(&c, expect_3d);
            }
        }
    }
}

/* Lays an operand out with dimension 2 (or 3, for a kernel) fastest, as images with channels last are. */
static kh_operand *channels_first(kh_operand *o, bool kernel) {
    const int64_t *ne = o->tensor.ne;
    size_t *nb = o->tensor.nb;
    const size_t channels = (size_t)(kernel ? ne[3] : ne[2]), plane = (size_t)(ne[0] * ne[1]) * channels;
    nb[kernel ? 3 : 2] = sizeof(float);
    nb[0] = channels * sizeof(float);
    nb[1] = (size_t)ne[0] * channels * sizeof(float);
    nb[kernel ? 2 : 3] = plane * sizeof(float);
    return o;
}

static void run_depthwise(const int32_t *w, bool first, int64_t iw, int64_t ih) {
    const int64_t kw = 3, kh = 2, channels = 5, n = 2;
    kh_case c = {.op = SR_OP_CONV_2D_DW, .params = {w[0], w[1], w[2], w[3], w[4], w[5]}, .n_src = 2};
    c.src[0] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, kw, kh, 1, channels);
    c.src[1] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, iw, ih, channels, n);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, extent(iw, kw, w[0], w[2], w[4]), extent(ih, kh, w[1], w[3], w[5]),
                   channels, n);
    if (first) {
        channels_first(c.src[0], true);
        channels_first(c.src[1], false);
        channels_first(c.dst, false);
    }
    kh_fill(c.src[0], 1, -1, 1);
    kh_fill(c.src[1], 2, -1, 1);
    finish(&c, expect_depthwise);
}

static void test_conv_2d_dw(void **state) {
    (void)state;
    for (int w = 0; w < SR_COUNT(windows); w++) {
        for (int first = 0; first < 2; first++) {
            run_depthwise(windows[w], first, 12, 9);
            run_depthwise(windows[w], first, 50, 41);
        }
    }
}

static void test_conv_transpose_1d(void **state) {
    (void)state;
    for (int type = SR_TYPE_F32; type <= SR_TYPE_F16; type++) {
        for (int s = 1; s <= 5; s += 2) {
            for (int64_t l = 1; l <= 2500; l = l * 50 - 7) {
                const int64_t k = 4, oc = 6, ic = 5;
                const kh_layout layout = s == 3 ? KH_OUTER_GAPS : KH_CONTIGUOUS;
                kh_case c = {.op = SR_OP_CONV_TRANSPOSE_1D, .params = {s, 0, 1}, .n_src = 2};
                c.src[0] = kh_fill(kh_new(type, layout, k, oc, ic, 1), 1, -1, 1);
                c.src[1] = kh_fill(kh_new(SR_TYPE_F32, layout, l, ic, 1, 1), 2, -1, 1);
                c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, (l - 1) * s + k, oc, 1, 1);
                finish(&c, expect_transpose_1d);
            }
        }
    }
}

static void test_conv_transpose_2d(void **state) {
    (void)state;
    for (int type = SR_TYPE_F32; type <= SR_TYPE_F16; type++) {
        for (int s = 1; s <= 4; s++) {
            const int64_t kw = 3, kh = 2, oc = 4, ic = 3, w = 20, h = 14;
            const kh_layout layout = s % 2 ? KH_CONTIGUOUS : KH_ROW_GAPS;
            kh_case c = {.op = SR_OP_CONV_TRANSPOSE_2D, .params = {s}, .n_src = 2};
            c.src[0] = kh_fill(kh_new(type, layout, kw, kh, oc, ic), 1, -1, 1);
            c.src[1] = kh_fill(kh_new(SR_TYPE_F32, layout, w, h, ic, s == 3 ? 2 : 1), 2, -1, 1);
            c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, (w - 1) * s + kw, (h - 1) * s + kh, oc, s == 3 ? 2 : 1);
            finish(&c, expect_transpose_2d);
        }
    }
}

static void test_refusals(void **state) {
    (void)state;
    kh_case c = {.op = SR_OP_CONV_2D, .params = {1, 1, 0, 0, 1, 1}, .n_src = 2};
    c.src[0] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 2, 2, 3, 4);
    c.src[1] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 5, 5, 3, 1);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 4, 4, 4, 1);
    assert_null(kh_refuse(&c));
    for (int w = 0; w < 6; w++) {
        const int32_t good = c.params[w];
        c.params[w] = INT32_MIN;
        kh_check_refused(&c, "steps");
        c.params[w] = INT32_MAX;
        kh_check_refused(&c, "steps");
        c.params[w] = good;
    }
    c.params[0] = 0;
    kh_check_refused(&c, "steps");
    c.params[0] = 1, c.dst->tensor.ne[3] = 2;
    kh_check_refused(&c, "channels");
    c.dst->tensor.ne[3] = 1, c.dst->tensor.ne[0] = INT64_MAX;
    kh_check_refused(&c, "2^31");
    c.dst->tensor.ne[0] = 4, c.src[0]->tensor.type = SR_TYPE_BF16;
    kh_check_refused(&c, "source 0 must be f32 or f16");
    c.src[0]->tensor.type = SR_TYPE_F32, c.op = SR_OP_CONV_3D;
    kh_check_refused(&c, "steps");
    c.op = SR_OP_CONV_TRANSPOSE_1D;
    kh_check_refused(&c, "no dilation");
    c.params[1] = 0, c.params[2] = 1;
    kh_check_refused(&c, "channels");
    c.op = SR_OP_CONV_TRANSPOSE_2D;
    kh_check_refused(&c, "channels");
    c.params[0] = 0;
    kh_check_refused(&c, "positive step");
    c.op = SR_OP_CONV_2D_DW;
    kh_check_refused(&c, "steps");
    kh_free(c.src[0]);
    kh_free(c.src[1]);
    kh_free(c.dst);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conv_2d),           cmocka_unit_test(test_conv_3d),
        cmocka_unit_test(test_conv_2d_dw),        cmocka_unit_test(test_conv_transpose_1d),
        cmocka_unit_test(test_conv_transpose_2d), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
