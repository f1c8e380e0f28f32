/*
 * test_kernel_image.c - pooling, resampling, padding, rolling and windows against their definitions.
 *
 * Layer: tests.
 */
#include <float.h>

#include "../support/kernel_harness.h"

static void finish(kh_case *c, kh_expect expect) {
    kh_check(c, expect);
    for (int j = 0; j < c->n_src; j++) {
        kh_free(c->src[j]);
    }
    kh_free(c->dst);
}

/* A case of one source. */
static kh_case one(int op, kh_operand *a, kh_operand *dst) {
    kh_case c = {.op = op, .n_src = 1, .dst = dst};
    c.src[0] = a;
    return c;
}

/* ---- pooling ----------------------------------------------------------------------------------------------------- */

static double pooled(const kh_case *c, const int64_t i[SR_MAX_DIMS], int64_t kx, int64_t ky, int64_t x0, int64_t y0,
                     double divisor) {
    const kh_operand *a = c->src[0];
    double largest = -(double)FLT_MAX, sum = 0;
    int64_t n = 0;
    for (int64_t y = y0; y < y0 + ky; y++) {
        for (int64_t x = x0; x < x0 + kx; x++) {
            if (x >= 0 && x < a->tensor.ne[0] && y >= 0 && y < a->tensor.ne[1]) {
                const double v = kh_get(a, x, y, i[2], i[3]);
                largest = fmax(largest, v);
                sum += v;
                n++;
            }
        }
    }
    if (c->params[0] == 0) {
        return largest;
    }
    return divisor > 0 ? sum / divisor : n > 0 ? sum / (double)n : 0;
}

static double expect_pool_1d(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    return pooled(c, i, c->params[1], 1, i[0] * c->params[2] - c->params[3], i[1], 0);
}

static double expect_pool_2d(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int32_t *w = c->params;
    return pooled(c, i, w[1], w[2], i[0] * w[3] - w[5], i[1] * w[4] - w[6], (double)w[1] * w[2]);
}

static int64_t pool_extent(int64_t in, int k, int s, int p) { return (in + 2 * p - k) / s + 1; }

static void test_pool_1d(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (int k = 1; k <= 5; k += 2) {
            for (int s = 1; s <= 3; s++) {
                for (int p = 0; p <= 4; p += 2) {
                    const kh_layout layout = s == 2 ? KH_ROW_GAPS : KH_CONTIGUOUS;
                    const int64_t n = s == 3 ? 1200 : 23;
                    kh_operand *a = kh_fill(kh_new(k == 3 ? SR_TYPE_F16 : SR_TYPE_F32, layout, n, 3, 2, 2), 3, -1, 1);
                    kh_case c = one(SR_OP_POOL_1D, a,
                                    kh_new(SR_TYPE_F32, KH_CONTIGUOUS, pool_extent(n, k, s, p), 3, 2, 2));
                    c.params[0] = kind, c.params[1] = k, c.params[2] = s, c.params[3] = p;
                    finish(&c, expect_pool_1d);
                }
            }
        }
    }
}

static const int32_t pools[][6] = {{1, 1, 1, 1, 0, 0}, {3, 2, 1, 2, 0, 1}, {2, 5, 3, 1, 2, 4}, {3, 3, 2, 2, 4, 4}};

static void test_pool_2d(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (int w = 0; w < SR_COUNT(pools); w++) {
            for (int large = 0; large < 2; large++) {
                const int32_t *p = pools[w];
                const int64_t iw = large ? 61 : 9, ih = large ? 50 : 11;
                const int type = w % 2 ? SR_TYPE_F16 : SR_TYPE_F32;
                const kh_layout layout = large ? KH_CONTIGUOUS : KH_OUTER_GAPS;
                kh_operand *a = kh_fill(kh_new(type, layout, iw, ih, 3, 2), 3, -1, 1);
                kh_case c = one(SR_OP_POOL_2D, a, kh_new(SR_TYPE_F32, KH_CONTIGUOUS, pool_extent(iw, p[0], p[2], p[4]),
                                                         pool_extent(ih, p[1], p[3], p[5]), 3, 2));
                c.params[0] = kind;
                memcpy(c.params + 1, p, 6 * sizeof(*p));
                finish(&c, expect_pool_2d);
            }
        }
    }
}

/* What every window gives to one position. */
static double expect_pool_back(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int32_t *w = c->params;
    const kh_operand *a = c->src[0], *forward = c->src[1];
    double sum = 0;
    for (int64_t oy = 0; oy < a->tensor.ne[1]; oy++) {
        for (int64_t ox = 0; ox < a->tensor.ne[0]; ox++) {
            const int64_t x0 = ox * w[3] - w[5], y0 = oy * w[4] - w[6];
            const double g = kh_get(a, ox, oy, i[2], i[3]);
            if (i[0] < x0 || i[0] >= x0 + w[1] || i[1] < y0 || i[1] >= y0 + w[2]) {
                continue;
            }
            if (w[0] == 1) {
                sum += g / ((double)w[1] * w[2]);
                continue;
            }
            double largest = -INFINITY;
            int64_t at_x = -1, at_y = -1;
            for (int64_t y = y0; y < y0 + w[2]; y++) {
                for (int64_t x = x0; x < x0 + w[1]; x++) {
                    if (x >= 0 && x < forward->tensor.ne[0] && y >= 0 && y < forward->tensor.ne[1] &&
                        kh_get(forward, x, y, i[2], i[3]) > largest) {
                        largest = kh_get(forward, x, y, i[2], i[3]);
                        at_x = x, at_y = y;
                    }
                }
            }
            sum += at_x == i[0] && at_y == i[1] ? g : 0;
        }
    }
    return sum;
}

static void test_pool_2d_back(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (int w = 0; w < SR_COUNT(pools); w++) {
            const int32_t *p = pools[w];
            const int64_t iw = 33, ih = 21;
            kh_case c = {.op = SR_OP_POOL_2D_BACK, .n_src = 2};
            c.params[0] = kind;
            memcpy(c.params + 1, p, 6 * sizeof(*p));
            c.src[0] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, pool_extent(iw, p[0], p[2], p[4]),
                                      pool_extent(ih, p[1], p[3], p[5]), 5, 4), 4, -1, 1);
            /* whole numbers, so that there are ties */
            c.src[1] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, iw, ih, 5, 4);
            uint64_t seed = 9;
            KH_EACH(c.src[1], i) {
                kh_set(c.src[1], KH_I(i), floor(4 * kh_random(&seed)));
            }
            c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, iw, ih, 5, 4);
            finish(&c, expect_pool_back);
        }
    }
}

/* ---- UPSCALE ----------------------------------------------------------------------------------------------------- */

static float factor_of(const kh_case *c, int d) {
    const int64_t to = c->dst->tensor.ne[d], from = c->src[0]->tensor.ne[d];
    return (c->params[0] & 256) && d < 2 && to > 1 && from > 1 ? (float)(to - 1) / (float)(from - 1)
                                                                : (float)to / (float)from;
}

static double clamped(const kh_case *c, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    const int64_t *ne = c->src[0]->tensor.ne;
    i0 = i0 < 0 ? 0 : i0 >= ne[0] ? ne[0] - 1 : i0;
    i1 = i1 < 0 ? 0 : i1 >= ne[1] ? ne[1] - 1 : i1;
    return kh_get(c->src[0], i0, i1, i2, i3);
}

/* Weight of source position r on an axis for output i. */
static double axis_weight(const kh_case *c, int d, int64_t i, int64_t r) {
    const float f = factor_of(c, d), po = c->params[0] & 256 ? 0.0f : 0.5f;
    const int64_t n = c->src[0]->tensor.ne[d];
    const double x = (double)(((float)i + po) / f - po), q = floor(x), t = x - q;
    double sum = 0;
    for (int k = -1; k <= 2; k++) {
        const double at = q + k < 0 ? 0 : q + k > (double)(n - 1) ? (double)(n - 1) : q + k;
        const double u = fabs(t - k), a = -0.75;
        const double cubic = u <= 1 ? ((a + 2) * u - (a + 3)) * u * u + 1 : ((a * u - 5 * a) * u + 8 * a) * u - 4 * a;
        const double linear = u < 1 ? 1 - u : 0;
        if ((int64_t)at == r) {
            sum += (c->params[0] & 0xFF) == 2 ? cubic : linear;
        }
    }
    return sum;
}

static double expect_upscale(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t *ne = c->src[0]->tensor.ne;
    const int64_t i2 = (int64_t)((float)i[2] / factor_of(c, 2)), i3 = (int64_t)((float)i[3] / factor_of(c, 3));
    double sum = 0;
    if ((c->params[0] & 0xFF) == 0) {
        return clamped(c, (int64_t)((float)i[0] / factor_of(c, 0)), (int64_t)((float)i[1] / factor_of(c, 1)), i2, i3);
    }
    for (int64_t y = 0; y < ne[1]; y++) {
        const double wy = axis_weight(c, 1, i[1], y);
        for (int64_t x = 0; x < ne[0] && wy != 0; x++) {
            sum += wy * axis_weight(c, 0, i[0], x) * kh_get(c->src[0], x, y, i2, i3);
        }
    }
    return sum;
}

static double expect_antialias(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const float po = c->params[0] & 256 ? 0.0f : 0.5f;
    double weights[2][64], sum = 0, total = 0;
    for (int d = 0; d < 2; d++) {
        const float f = factor_of(c, d), x = ((float)i[d] + po) / f, s = fmaxf(1, 1 / f), v = 1 / s;
        for (int64_t r = 0; r < c->src[0]->tensor.ne[d]; r++) {
            const int64_t begin = (int64_t)fmaxf(x - s + po, 0), end = (int64_t)(x + s + po);
            const double w = 1 - fabs(((double)r - (double)x + (double)po) * (double)v);
            weights[d][r] = r >= begin && r < end && w > 0 ? w : 0;
        }
    }
    for (int64_t y = 0; y < c->src[0]->tensor.ne[1]; y++) {
        for (int64_t x = 0; x < c->src[0]->tensor.ne[0]; x++) {
            const double w = weights[0][x] * weights[1][y];
            sum += w * kh_get(c->src[0], x, y, (int64_t)((float)i[2] / factor_of(c, 2)),
                              (int64_t)((float)i[3] / factor_of(c, 3)));
            total += w;
        }
    }
    return total > 0 ? sum / total : 0;
}

static void test_upscale(void **state) {
    (void)state;
    static const int64_t shapes[][8] = {
        {5, 4, 2, 1, 10, 8, 2, 1},  {7, 5, 2, 3, 21, 11, 4, 3}, {13, 17, 3, 2, 5, 6, 3, 2}, {4, 4, 1, 1, 4, 4, 1, 1},
        {1, 3, 1, 1, 6, 1, 1, 2},   {6, 5, 2, 1, 90, 80, 3, 1}, {40, 30, 4, 3, 17, 60, 2, 1}};
    static const int modes[] = {0, 1, 2, 256, 257, 258, 512, 513, 514, 769};
    for (int s = 0; s < SR_COUNT(shapes); s++) {
        for (int m = 0; m < SR_COUNT(modes); m++) {
            for (int layout = 0; layout < KH_LAYOUTS; layout += s < 2 ? 1 : 4) {
                const int64_t *p = shapes[s];
                kh_operand *a = kh_fill(kh_new(SR_TYPE_F32, (kh_layout)layout, p[0], p[1], p[2], p[3]), 5, -1, 1);
                kh_case c = one(SR_OP_UPSCALE, a, kh_new(SR_TYPE_F32, KH_CONTIGUOUS, p[4], p[5], p[6], p[7]));
                c.params[0] = modes[m];
                finish(&c, (modes[m] & ~256) == 513 ? expect_antialias : expect_upscale);
            }
        }
    }
}

/* ---- padding, rolling -------------------------------------------------------------------------------------------- */

static int64_t mod(int64_t i, int64_t n) { return (i % n + n) % n; }

static double expect_pad(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    int64_t at[SR_MAX_DIMS];
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        const int64_t n = c->src[0]->tensor.ne[d];
        at[d] = i[d] - c->params[2 * d];
        if (c->params[8]) {
            at[d] = mod(at[d], n);
        } else if (at[d] < 0 || at[d] >= n) {
            return 0;
        }
    }
    return kh_get(c->src[0], at[0], at[1], at[2], at[3]);
}

static void test_pad(void **state) {
    (void)state;
    static const int32_t pads[][8] = {
        {0, 0, 0, 0, 0, 0, 0, 0}, {1, 2, 3, 4, 2, 1, 1, 3}, {0, 5, 0, 0, 0, 0, 0, 2}, {-2, 1, 3, -1, 1, 0, 0, 0},
        {30, 40, 20, 5, 0, 1, 0, 0}, {-20, 30, 0, 0, 0, 0, 0, 0}, {5, -8, 0, 0, -4, 3, 0, 0}};
    for (int w = 0; w < SR_COUNT(pads); w++) {
        for (int circular = 0; circular < 2; circular++) {
            for (int layout = 0; layout < KH_LAYOUTS; layout++) {
                const int64_t ne[] = {11, 6, 3, 2};
                kh_operand *a = kh_fill(kh_new(SR_TYPE_F32, (kh_layout)layout, ne[0], ne[1], ne[2], ne[3]), 5, -1, 1);
                const int32_t *p = pads[w];
                kh_case c = one(SR_OP_PAD, a,
                                kh_new(SR_TYPE_F32, KH_CONTIGUOUS, ne[0] + p[0] + p[1], ne[1] + p[2] + p[3],
                                       ne[2] + p[4] + p[5], ne[3] + p[6] + p[7]));
                memcpy(c.params, p, 8 * sizeof(*p));
                c.params[8] = circular;
                finish(&c, expect_pad);
            }
        }
    }
}

static double expect_reflect(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t n = c->src[0]->tensor.ne[0], j = i[0] - c->params[0];
    return kh_get(c->src[0], j < 0 ? -j : j >= n ? 2 * (n - 1) - j : j, i[1], i[2], i[3]);
}

static double expect_roll(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t *ne = c->src[0]->tensor.ne;
    return kh_get(c->src[0], mod(i[0] - c->params[0], ne[0]), mod(i[1] - c->params[1], ne[1]),
                  mod(i[2] - c->params[2], ne[2]), mod(i[3] - c->params[3], ne[3]));
}

static void test_reflect_and_roll(void **state) {
    (void)state;
    static const int32_t shifts[][4] = {{0, 0, 0, 0}, {3, -2, 1, 1}, {-6, 4, -2, -1}, {6, 5, 2, 1}};
    for (int w = 0; w < SR_COUNT(shifts); w++) {
        for (int large = 0; large < 2; large++) {
            const int64_t n = large ? 800 : 7;
            kh_operand *a = kh_fill(kh_new(SR_TYPE_F32, KH_OUTER_GAPS, n, 6, 3, 2), 5, -1, 1);
            kh_case c = one(SR_OP_ROLL, a, kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n, 6, 3, 2));
            memcpy(c.params, shifts[w], sizeof(shifts[w]));
            finish(&c, expect_roll);
            const int left = w, right = 6 - w;
            a = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n, 6, 3, 2), 5, -1, 1);
            c = one(SR_OP_PAD_REFLECT_1D, a, kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n + left + right, 6, 3, 2));
            c.params[0] = left, c.params[1] = right;
            finish(&c, expect_reflect);
        }
    }
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static double expect_part(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t w = c->params[2], x = i[3] % c->params[0] * w + i[1], y = i[3] / c->params[0] * w + i[2];
    return x < c->src[0]->tensor.ne[1] && y < c->src[0]->tensor.ne[2] ? kh_get(c->src[0], i[0], x, y, 0) : 0;
}

static double expect_unpart(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t w = c->params[0], across = (c->dst->tensor.ne[1] + w - 1) / w;
    return kh_get(c->src[0], i[0], i[1] % w, i[2] % w, i[2] / w * across + i[1] / w);
}

static void test_windows(void **state) {
    (void)state;
    for (int w = 1; w <= 9; w += 2) {
        const int64_t width = 32, height = 21, channels = 24;
        const int px = (int)(width + w - 1) / w, py = (int)(height + w - 1) / w;
        kh_operand *a = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, channels, width, height, 1), 5, -1, 1);
        kh_case c = one(SR_OP_WIN_PART, a, kh_new(SR_TYPE_F32, KH_CONTIGUOUS, channels, w, w, px * py));
        c.params[0] = px, c.params[1] = py, c.params[2] = w;
        finish(&c, expect_part);
        a = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, channels, w, w, px * py), 6, -1, 1);
        c = one(SR_OP_WIN_UNPART, a, kh_new(SR_TYPE_F32, KH_CONTIGUOUS, channels, width, height, 1));
        c.params[0] = w;
        finish(&c, expect_unpart);
    }
}

static double expect_get_rel_pos(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t n = c->dst->tensor.ne[1];
    uint16_t bits;
    memcpy(&bits, kh_at(c->src[0], i[0], n - 1 - i[1] + i[2], 0, 0), sizeof(bits));
    return (double)sr__f16_to_f32(bits);
}

static double expect_add_rel_pos(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t w = c->src[1]->tensor.ne[0], r1 = c->src[1]->tensor.ne[1];
    return kh_get(c->src[0], i[0], i[1], i[2], 0) + kh_get(c->src[1], i[0] % w, i[1] % r1, i[1] / r1, i[2]) +
           kh_get(c->src[2], i[0] / w, i[1] % r1, i[1] / r1, i[2]);
}

static void test_relative_positions(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 33; n += 16) {
        for (int type = SR_TYPE_F16; type <= SR_TYPE_BF16; type += SR_TYPE_BF16 - SR_TYPE_F16) {
            kh_operand *a = kh_fill(kh_new(type, KH_CONTIGUOUS, 16, 2 * n - 1, 1, 1), 5, -1, 1);
            kh_case c = one(SR_OP_GET_REL_POS, a, kh_new(SR_TYPE_F16, KH_CONTIGUOUS, 16, n, n, 1));
            finish(&c, expect_get_rel_pos);
        }
        for (int inplace = 0; inplace < 2; inplace++) {
            const int64_t w = 6, r1 = n, r2 = 4, z = 3;
            kh_case c = {.op = SR_OP_ADD_REL_POS, .params = {inplace}, .n_src = 3};
            c.src[0] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, w * w, r1 * r2, z, 1), 1, -1, 1);
            c.src[1] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, w, r1, r2, z), 2, -1, 1);
            c.src[2] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, w, r1, r2, z), 3, -1, 1);
            c.dst = inplace ? kh_alias(c.src[0]) : kh_new(SR_TYPE_F32, KH_CONTIGUOUS, w * w, r1 * r2, z, 1);
            finish(&c, expect_add_rel_pos);
        }
    }
}

/* ---- what a file may say ----------------------------------------------------------------------------------------- */

static void refused(kh_case *c, const char *words) {
    kh_check_refused(c, words);
    for (int j = 0; j < c->n_src; j++) {
        kh_free(c->src[j]);
    }
    kh_free(c->dst);
}

static kh_case square(int op) {
    return one(op, kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 4, 4, 1, 1), kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 4, 4, 1, 1));
}

static void test_refusals(void **state) {
    (void)state;
    kh_case c = square(SR_OP_POOL_1D);
    c.params[1] = 1;
    refused(&c, "windows and steps");
    c = square(SR_OP_POOL_2D);
    c.params[0] = 2;
    refused(&c, "pooling is");
    c = square(SR_OP_POOL_2D);
    c.params[1] = c.params[2] = c.params[3] = 1, c.params[4] = -1;
    refused(&c, "windows and steps");
    c = square(SR_OP_UPSCALE);
    c.params[0] = 3;
    refused(&c, "mode");
    c = square(SR_OP_UPSCALE);
    c.src[0]->tensor.ne[1] = 0;
    refused(&c, "empty");
    c = square(SR_OP_PAD);
    c.params[0] = INT32_MAX, c.params[1] = INT32_MAX;
    refused(&c, "pads");
    c = square(SR_OP_PAD);
    c.params[8] = 1, c.params[0] = 4, c.src[0]->tensor.ne[0] = 0;
    refused(&c, "go round");
    c = square(SR_OP_PAD_REFLECT_1D);
    c.params[0] = 4;
    refused(&c, "shorter");
    c = square(SR_OP_PAD_REFLECT_1D);
    c.params[1] = -1;
    refused(&c, "shorter");
    c = square(SR_OP_ROLL);
    c.src[0]->tensor.type = SR_TYPE_F16;
    refused(&c, "must be f32");
    c = square(SR_OP_WIN_PART);
    refused(&c, "windows");
    c = square(SR_OP_WIN_UNPART);
    refused(&c, "window");
    c = square(SR_OP_GET_REL_POS);
    refused(&c, "f16 or bf16");
}

/* Words at the ends of their range run without a fault where nothing forbids them. */
static void test_extreme_words(void **state) {
    (void)state;
    kh_case c = square(SR_OP_ROLL);
    kh_fill(c.src[0], 1, -1, 1);
    c.params[0] = INT32_MIN, c.params[1] = INT32_MAX;
    finish(&c, expect_roll);
    c = square(SR_OP_POOL_2D);
    kh_fill(c.src[0], 1, -1, 1);
    for (int w = 1; w <= 4; w++) {
        c.params[w] = INT32_MAX;
    }
    for (int pad = 0; pad < 2; pad++) {
        c.params[5] = c.params[6] = pad ? INT32_MIN : INT32_MAX;
        assert_null(kh_refuse(&c));
        assert_true(kh_run(&c, 3, NULL));
    }
    kh_free(c.src[0]);
    kh_free(c.dst);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_1d),          cmocka_unit_test(test_pool_2d),
        cmocka_unit_test(test_pool_2d_back),     cmocka_unit_test(test_upscale),
        cmocka_unit_test(test_pad),              cmocka_unit_test(test_reflect_and_roll),
        cmocka_unit_test(test_windows),          cmocka_unit_test(test_relative_positions),
        cmocka_unit_test(test_refusals),         cmocka_unit_test(test_extreme_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
