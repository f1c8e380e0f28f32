/*
 * test_kernel_im2col.c - IM2COL, IM2COL_3D, IM2COL_BACK against their definitions.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

/* The element, or 0 outside the tensor. */
static double at(const kh_operand *o, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    const int64_t *ne = o->tensor.ne;
    if (i0 < 0 || i0 >= ne[0] || i1 < 0 || i1 >= ne[1] || i2 < 0 || i2 >= ne[2] || i3 < 0 || i3 >= ne[3]) {
        return 0;
    }
    return kh_get(o, i0, i1, i2, i3);
}

static int64_t extent(int64_t in, int64_t k, int64_t s, int64_t p, int64_t d) {
    return (in + 2 * p - d * (k - 1) - 1) / s + 1;
}

static double expect_2d(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t *k = c->src[0]->tensor.ne;
    const int32_t *w = c->params;
    const int64_t kw = i[0] % k[0], kh = i[0] / k[0] % k[1], ic = i[0] / k[0] / k[1];
    return at(c->src[1], i[1] * w[0] + kw * w[4] - w[2], i[2] * w[1] + kh * w[5] - w[3], ic, i[3]);
}

static double expect_1d(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t kw = c->src[0]->tensor.ne[0];
    const int32_t *w = c->params;
    return at(c->src[1], i[1] * w[0] + i[0] % kw * w[4] - w[2], i[0] / kw, i[2], 0);
}

static double expect_3d(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t *k = c->src[0]->tensor.ne;
    const int32_t *w = c->params;
    const int64_t channels = w[9], depth = extent(c->src[1]->tensor.ne[2], k[2], w[2], w[5], w[8]);
    const int64_t kw = i[0] % k[0], kh = i[0] / k[0] % k[1], kd = i[0] / k[0] / k[1] % k[2];
    const int64_t ic = i[0] / k[0] / k[1] / k[2];
    return at(c->src[1], i[1] * w[0] + kw * w[6] - w[3], i[2] * w[1] + kh * w[7] - w[4],
              i[3] % depth * w[2] + kd * w[8] - w[5], i[3] / depth * channels + ic);
}

static double expect_back(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t *k = c->src[1]->tensor.ne, *a = c->src[0]->tensor.ne;
    const int32_t *w = c->params;
    const bool two = w[6] != 0;
    const int64_t ic = two ? i[2] : i[1], rows = two ? k[1] : 1, y = two ? i[1] : 0;
    double sum = 0;
    for (int64_t kh = 0; kh < rows; kh++) {
        for (int64_t kw = 0; kw < k[0]; kw++) {
            const int64_t tw = i[0] + w[2] - kw * w[4], th = two ? y + w[3] - kh * w[5] : 0;
            const int64_t sh = two ? w[1] : 1;
            if (tw >= 0 && tw % w[0] == 0 && tw / w[0] < a[1] && th >= 0 && th % sh == 0 && (!two || th / sh < a[2])) {
                const int64_t r = (ic * rows + kh) * k[0] + kw;
                sum += two ? kh_get(c->src[0], r, tw / w[0], th / sh, i[3]) : kh_get(c->src[0], r, tw / w[0], i[2], 0);
            }
        }
    }
    return sum;
}

static void finish(kh_case *c, kh_expect expect) {
    kh_check(c, expect);
    kh_free(c->src[0]);
    kh_free(c->src[1]);
    kh_free(c->dst);
}

/* Result types with the kernel and image types that go with them. */
static const struct { int kernel, image, result; } types[] = {
    {SR_TYPE_F16, SR_TYPE_F32, SR_TYPE_F32}, {SR_TYPE_F32, SR_TYPE_F32, SR_TYPE_F32},
    {SR_TYPE_F16, SR_TYPE_F32, SR_TYPE_F16}, {SR_TYPE_F16, SR_TYPE_F16, SR_TYPE_F16}};

static const int32_t windows[][6] = {
    {1, 1, 0, 0, 1, 1}, {1, 1, 1, 1, 1, 1}, {2, 1, 1, 0, 1, 1},
    {3, 2, 4, 3, 2, 1}, {1, 2, 2, 5, 3, 2}, {1, 1, -1, -2, 1, 1}};

static void run_2d(int t, const int32_t *w, kh_layout layout, int64_t iw, int64_t ih, int64_t n) {
    const int64_t kw = 3, kh = 2, ic = 3, ow = extent(iw, kw, w[0], w[2], w[4]), oh = extent(ih, kh, w[1], w[3], w[5]);
    kh_case c = {.op = SR_OP_IM2COL, .params = {w[0], w[1], w[2], w[3], w[4], w[5], 1}, .n_src = 2};
    c.src[0] = kh_new(types[t].kernel, KH_CONTIGUOUS, kw, kh, ic, 2);
    c.src[1] = kh_fill(kh_new(types[t].image, layout, iw, ih, ic, n), 7, -2, 2);
    c.dst = kh_new(types[t].result, KH_CONTIGUOUS, ic * kh * kw, ow, oh, n);
    finish(&c, expect_2d);
}

static void test_im2col_2d(void **state) {
    (void)state;
    for (int t = 0; t < SR_COUNT(types); t++) {
        for (int w = 0; w < SR_COUNT(windows); w++) {
            run_2d(t, windows[w], KH_CONTIGUOUS, 9, 8, 2);
            run_2d(t, windows[w], KH_OUTER_GAPS, 7, 6, 1);
            run_2d(t, windows[w], KH_TRANSPOSED, 7, 6, 2);
        }
        run_2d(t, windows[1], KH_CONTIGUOUS, 40, 33, 2);
    }
    for (int w = 0; w < SR_COUNT(windows) - 1; w++) {
        run_2d(0, windows[w], KH_CONTIGUOUS, 64, 48, 2);
    }
}

static void test_im2col_1d(void **state) {
    (void)state;
    for (int t = 0; t < SR_COUNT(types); t++) {
        for (int w = 0; w < SR_COUNT(windows); w++) {
            const int32_t *p = windows[w];
            const int64_t iw = 300, kw = 4, ic = 5, n = 3;
            kh_case c = {.op = SR_OP_IM2COL, .params = {p[0], 0, p[2], 0, p[4], 0, 0}, .n_src = 2};
            c.src[0] = kh_new(types[t].kernel, KH_CONTIGUOUS, kw, ic, 2, 1);
            c.src[1] = kh_fill(kh_new(types[t].image, w % 2 ? KH_ROW_GAPS : KH_CONTIGUOUS, iw, ic, n, 1), 5, -2, 2);
            c.dst = kh_new(types[t].result, KH_CONTIGUOUS, ic * kw, extent(iw, kw, p[0], p[2], p[4]), n, 1);
            finish(&c, expect_1d);
        }
    }
}

static void test_im2col_3d(void **state) {
    (void)state;
    static const int32_t words[][9] = {
        {1, 1, 1, 0, 0, 0, 1, 1, 1}, {2, 1, 3, 1, 2, 0, 1, 2, 1}, {1, 2, 1, 3, 0, 2, 2, 1, 3}};
    for (int w = 0; w < SR_COUNT(words); w++) {
        for (int t = 0; t < 3; t++) {
            for (int layout = 0; layout < KH_LAYOUTS; layout++) {
                const int32_t *p = words[w];
                const int64_t in[] = {9, 8, 7}, k[] = {3, 2, 3}, ic = 2, n = 2;
                int64_t out[3];
                kh_case c = {.op = SR_OP_IM2COL_3D, .n_src = 2};
                memcpy(c.params, p, 9 * sizeof(*p));
                c.params[9] = (int32_t)ic;
                for (int d = 0; d < 3; d++) {
                    out[d] = extent(in[d], k[d], p[d], p[3 + d], p[6 + d]);
                }
                c.src[0] = kh_new(types[t].kernel, KH_CONTIGUOUS, k[0], k[1], k[2], ic * 3);
                c.src[1] = kh_fill(kh_new(SR_TYPE_F32, (kh_layout)layout, in[0], in[1], in[2], ic * n), 5, -2, 2);
                c.dst = kh_new(types[t].result, KH_CONTIGUOUS, ic * k[0] * k[1] * k[2], out[0], out[1], out[2] * n);
                finish(&c, expect_3d);
            }
        }
    }
}

static void test_im2col_back(void **state) {
    (void)state;
    for (int w = 0; w < SR_COUNT(windows); w++) {
        for (int two = 0; two < 2; two++) {
            const int32_t *p = windows[w];
            const int64_t iw = two ? 21 : 150, ih = 17, kw = 3, kh = two ? 2 : 1, ic = 4, n = 3;
            const int64_t ow = extent(iw, kw, p[0], p[2], p[4]), oh = two ? extent(ih, kh, p[1], p[3], p[5]) : 1;
            kh_case c = {.op = SR_OP_IM2COL_BACK, .params = {p[0], p[1], p[2], p[3], p[4], p[5], two}, .n_src = 2};
            if (two) {
                c.src[0] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, ic * kh * kw, ow, oh, n);
                c.src[1] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, kw, kh, ic, 2);
                c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, iw, ih, ic, n);
            } else {
                c.src[0] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, ic * kw, ow, n, 1);
                c.src[1] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, kw, ic, 2, 1);
                c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, iw, ic, n, 1);
            }
            kh_fill(c.src[0], 3, -1, 1);
            finish(&c, expect_back);
        }
    }
}

static void test_refusals(void **state) {
    (void)state;
    kh_case c = {.op = SR_OP_IM2COL, .params = {1, 1, 0, 0, 1, 1, 1}, .n_src = 2};
    c.src[0] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 2, 2, 3, 1);
    c.src[1] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 5, 5, 3, 1);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 12, 4, 4, 1);
    assert_null(kh_refuse(&c));
    c.params[0] = 0;
    kh_check_refused(&c, "steps");
    c.params[0] = INT32_MIN;
    kh_check_refused(&c, "steps");
    c.params[0] = 1, c.params[2] = INT32_MAX;
    kh_check_refused(&c, "steps");
    c.params[2] = 0, c.params[4] = INT32_MIN;
    kh_check_refused(&c, "steps");
    c.params[4] = 1, c.dst->tensor.ne[3] = 2;
    kh_check_refused(&c, "extents");
    c.dst->tensor.ne[3] = 1, c.src[0]->tensor.ne[2] = 2;
    kh_check_refused(&c, "channels");
    c.src[0]->tensor.ne[2] = 3, c.src[1]->tensor.type = SR_TYPE_F16;
    kh_check_refused(&c, "f32 image");
    c.src[1]->tensor.type = SR_TYPE_I32;
    kh_check_refused(&c, "source 1 must be f32 or f16");
    c.src[1]->tensor.type = SR_TYPE_F32;
    kh_free(c.dst);
    c.dst = kh_new(SR_TYPE_F16, KH_CONTIGUOUS, 12, 4, 4, 1);
    kh_check_refused(&c, "f16 kernel");
    c.src[1]->tensor.nb[1] = 21;
    kh_check_refused(&c, "split its elements");
    c.src[1]->tensor.nb[1] = 20, c.src[1]->tensor.view_offs = 2;
    kh_check_refused(&c, "split its elements");
    c.op = SR_OP_IM2COL_3D, c.src[1]->tensor.view_offs = 0, c.src[0]->tensor.type = SR_TYPE_F16;
    kh_check_refused(&c, "channels");
    c.n_src = 1;
    kh_check_refused(&c, "source 1 is missing");
    kh_free(c.src[0]);
    kh_free(c.src[1]);
    kh_free(c.dst);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_im2col_2d), cmocka_unit_test(test_im2col_1d), cmocka_unit_test(test_im2col_3d),
        cmocka_unit_test(test_im2col_back), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
