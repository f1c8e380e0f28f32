/*
 * test_gpu_ops_shapes.c - sums, orders, shapes and images on devices with kernels of their own against the CPU's:
 * random extents and layouts.
 *
 * Layer: tests.
 */
#include "../support/gpu_case.h"

enum { ROUNDS = GC_ROUNDS(30) };

/* Small whole numbers, so that many are equal. */
static kh_operand *whole(uint64_t *seed, int type, kh_layout layout, int64_t n0, int64_t n1, int64_t n2, int64_t n3) {
    kh_operand *o = kh_new(type, layout, n0, n1, n2, n3);
    KH_EACH(o, i) {
        kh_set(o, KH_I(i), (double)gc_pick(seed, 6) - 2);
    }
    return o;
}

/* ---- sums and orders --------------------------------------------------------------------------------------------- */

static int try_sum(sr_backend *backend, uint64_t *seed, int op) {
    static const int types[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_BF16};
    int64_t ne[SR_MAX_DIMS];
    const int type = op == SR_OP_SUM ? types[gc_pick(seed, 3)] : SR_TYPE_F32;
    gc_extents(seed, ne);
    kh_case c = {.op = op, .n_src = 1};
    c.src[0] = gc_fill(kh_new(type, op == SR_OP_SUM ? gc_any_layout(seed) : gc_rows(seed), GC_NE(ne)), seed, false);
    c.dst = op == SR_OP_SUM ? kh_new(type, KH_CONTIGUOUS, 1, 1, 1, 1)
            : op == SR_OP_CUMSUM ? kh_new(type, gc_rows(seed), GC_NE(ne))
                                 : kh_new(type, gc_rows(seed), 1, ne[1], ne[2], ne[3]);
    return gc_try(&c, backend, type == SR_TYPE_F32 ? 1e-5 : 1e-2, 30);
}

static int try_count_equal(sr_backend *backend, uint64_t *seed) {
    int64_t ne[SR_MAX_DIMS];
    gc_extents(seed, ne);
    kh_case c = {.op = SR_OP_COUNT_EQUAL, .n_src = 2};
    c.src[0] = whole(seed, SR_TYPE_I32, gc_any_layout(seed), GC_NE(ne));
    c.src[1] = whole(seed, SR_TYPE_I32, gc_any_layout(seed), GC_NE(ne));
    c.dst = kh_new(SR_TYPE_I64, KH_CONTIGUOUS, 1, 1, 1, 1);
    return gc_try(&c, backend, 0, 1);
}

/* Of the orders of equal values the CPU's is the one. */
static int try_order(sr_backend *backend, uint64_t *seed, int op) {
    int64_t ne[SR_MAX_DIMS];
    gc_extents(seed, ne);
    if (op == SR_OP_ARGMAX) {
        ne[1] = 1 + gc_pick(seed, 600), ne[2] = ne[3] = 1;
    }
    kh_case c = {.op = op, .n_src = 1};
    c.params[0] = op == SR_OP_ARGSORT ? (int32_t)gc_pick(seed, 2) : 0;
    c.src[0] = gc_pick(seed, 2) == 0 ? whole(seed, SR_TYPE_F32, gc_rows(seed), GC_NE(ne))
                                     : gc_f32(seed, gc_rows(seed), GC_NE(ne));
    if (op == SR_OP_ARGMAX) {
        gc_fill(c.src[0], seed, gc_pick(seed, 2) == 0);
        c.dst = kh_new(SR_TYPE_I32, KH_CONTIGUOUS, ne[1], 1, 1, 1);
    } else {
        ne[0] = op == SR_OP_TOP_K ? 1 + gc_pick(seed, ne[0]) : ne[0];
        c.dst = kh_new(SR_TYPE_I32, gc_rows(seed), GC_NE(ne));
    }
    return gc_try(&c, backend, 0, 1);
}

static void check_sums(sr_backend *backend) {
    static const int sums[] = {SR_OP_SUM, SR_OP_SUM_ROWS, SR_OP_MEAN, SR_OP_CUMSUM};
    static const int orders[] = {SR_OP_ARGMAX, SR_OP_ARGSORT, SR_OP_TOP_K};
    uint64_t seed = 21;
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < SR_COUNT(sums); k++) {
            assert_true(try_sum(backend, &seed, sums[k]));
        }
        for (int k = 0; k < SR_COUNT(orders); k++) {
            assert_true(try_order(backend, &seed, orders[k]));
        }
        assert_true(try_count_equal(backend, &seed));
    }
}

static void test_sums(void **state) {
    (void)state;
    gc_each_device(check_sums);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static int try_triangle(sr_backend *backend, uint64_t *seed, int op) {
    int64_t ne[SR_MAX_DIMS];
    gc_extents(seed, ne);
    if (op == SR_OP_TRI || op == SR_OP_DIAG) {
        ne[0] = ne[1] = 1 + gc_pick(seed, 40);
    }
    kh_case c = {.op = op, .n_src = 1};
    c.params[0] = (int32_t)gc_pick(seed, 4);
    c.src[0] = gc_f32(seed, gc_rows(seed), ne[0], op == SR_OP_DIAG ? 1 : ne[1], ne[2], ne[3]);
    c.dst = op != SR_OP_DIAG && gc_pick(seed, 2) == 0 ? kh_alias(c.src[0])
                                                      : kh_new(SR_TYPE_F32, gc_rows(seed), GC_NE(ne));
    return gc_try(&c, backend, 0, 1);
}

static int try_concat(sr_backend *backend, uint64_t *seed) {
    static const int types[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_I8, SR_TYPE_I64};
    int64_t ne[SR_MAX_DIMS];
    const int type = types[gc_pick(seed, SR_COUNT(types))], dim = (int)gc_pick(seed, 4);
    gc_extents(seed, ne);
    kh_case c = {.op = SR_OP_CONCAT, .n_src = 2};
    c.params[0] = dim;
    c.src[0] = gc_fill(kh_new(type, gc_any_layout(seed), GC_NE(ne)), seed, false);
    const int64_t first = ne[dim];
    ne[dim] = gc_pick(seed, 5);
    c.src[1] = gc_fill(kh_new(type, gc_any_layout(seed), GC_NE(ne)), seed, false);
    ne[dim] += first;
    c.dst = kh_new(type, gc_any_layout(seed), GC_NE(ne));
    return gc_try(&c, backend, 0, 1);
}

static int try_repeat(sr_backend *backend, uint64_t *seed, int op) {
    static const int types[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_I32, SR_TYPE_I16};
    int64_t small[SR_MAX_DIMS], large[SR_MAX_DIMS];
    const int type = op == SR_OP_REPEAT ? types[gc_pick(seed, SR_COUNT(types))] : SR_TYPE_F32;
    gc_extents(seed, small);
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        large[d] = small[d] * (1 + gc_pick(seed, 3));
    }
    kh_case c = {.op = op, .n_src = 1};
    kh_operand *a = gc_fill(kh_new(type, gc_rows(seed), GC_NE(small)), seed, false);
    kh_operand *b = gc_fill(kh_new(type, gc_rows(seed), GC_NE(large)), seed, false);
    c.src[0] = op == SR_OP_REPEAT ? a : b;
    c.dst = op == SR_OP_REPEAT ? b : a;
    return gc_try(&c, backend, 1e-6, 10);
}

static int try_part(sr_backend *backend, uint64_t *seed, int op) {
    const int64_t n0 = 3 + gc_pick(seed, 90), n1 = 3 + gc_pick(seed, 5), m0 = 1 + gc_pick(seed, n0 - 1);
    const bool in_place = gc_pick(seed, 2) == 0, overlapping = gc_pick(seed, 4) == 0;
    kh_case c = {.op = op, .n_src = 2};
    const int32_t row = (int32_t)(4 * (overlapping ? 1 : n0)), plane = (int32_t)(4 * n0 * n1);
    const int32_t words[] = {row, plane, plane, (int32_t)(4 * gc_pick(seed, 2)), in_place};
    memcpy(c.params, words, sizeof(words));
    c.src[0] = gc_f32(seed, KH_CONTIGUOUS, n0, n1, 2, 1);
    c.src[1] = gc_f32(seed, gc_rows(seed), m0, n1 - 2, 2, 1);
    c.dst = in_place ? kh_alias(c.src[0]) : kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n0, n1, 2, 1);
    return gc_try(&c, backend, 1e-6, 1);
}

static int try_pad(sr_backend *backend, uint64_t *seed, int op) {
    int64_t ne[SR_MAX_DIMS], to[SR_MAX_DIMS];
    gc_extents(seed, ne);
    kh_case c = {.op = op, .n_src = 1};
    c.src[0] = gc_f32(seed, op == SR_OP_PAD ? gc_any_layout(seed) : gc_rows(seed), GC_NE(ne));
    memcpy(to, ne, sizeof(to));
    for (int d = 0; d < SR_MAX_DIMS && op == SR_OP_PAD; d++) {
        c.params[2 * d] = (int32_t)gc_pick(seed, 3);
        c.params[2 * d + 1] = (int32_t)gc_pick(seed, 3);
        to[d] += c.params[2 * d] + c.params[2 * d + 1];
        c.params[8] = (int32_t)gc_pick(seed, 2);
    }
    for (int d = 0; d < SR_MAX_DIMS && op == SR_OP_ROLL; d++) {
        c.params[d] = (int32_t)(gc_pick(seed, 2 * ne[d] - 1) - (ne[d] - 1));
    }
    for (int k = 0; k < 2 && op == SR_OP_PAD_REFLECT_1D; k++) {
        c.params[k] = (int32_t)gc_pick(seed, ne[0]);
        to[0] += c.params[k];
    }
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, GC_NE(to));
    return gc_try(&c, backend, 0, 1);
}

static int try_upscale(sr_backend *backend, uint64_t *seed) {
    static const int32_t modes[] = {0, 1, 2, 256, 257, 258, 513};
    int64_t from[SR_MAX_DIMS], to[SR_MAX_DIMS];
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        from[d] = 1 + gc_pick(seed, d < 2 ? 20 : 3);
        to[d] = 1 + gc_pick(seed, d < 2 ? 40 : 5);
    }
    kh_case c = {.op = SR_OP_UPSCALE, .n_src = 1};
    c.params[0] = modes[gc_pick(seed, SR_COUNT(modes))];
    c.src[0] = gc_f32(seed, gc_any_layout(seed), GC_NE(from));
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, GC_NE(to));
    return gc_try(&c, backend, 1e-5, 3);
}

static void check_shapes(sr_backend *backend) {
    static const int triangles[] = {SR_OP_TRI, SR_OP_DIAG, SR_OP_DIAG_MASK_INF, SR_OP_DIAG_MASK_ZERO};
    static const int pads[] = {SR_OP_PAD, SR_OP_ROLL, SR_OP_PAD_REFLECT_1D};
    uint64_t seed = 22;
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < SR_COUNT(triangles); k++) {
            assert_true(try_triangle(backend, &seed, triangles[k]));
        }
        for (int k = 0; k < SR_COUNT(pads); k++) {
            assert_true(try_pad(backend, &seed, pads[k]));
        }
        assert_true(try_concat(backend, &seed));
        assert_true(try_repeat(backend, &seed, SR_OP_REPEAT));
        assert_true(try_repeat(backend, &seed, SR_OP_REPEAT_BACK));
        assert_true(try_part(backend, &seed, SR_OP_SET));
        assert_true(try_part(backend, &seed, SR_OP_ACC));
        assert_true(try_upscale(backend, &seed));
    }
}

static void test_shapes(void **state) {
    (void)state;
    gc_each_device(check_shapes);
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

static int64_t extent(int64_t in, int64_t k, int64_t s, int64_t p, int64_t d) {
    return (in + 2 * p - d * (k - 1) - 1) / s + 1;
}

/* Word groups of stride, pad, dilation. */
static void set_words(uint64_t *seed, int32_t *words, int group) {
    for (int d = 0; d < group; d++) {
        words[d] = 1 + (int32_t)gc_pick(seed, 2);
        words[group + d] = (int32_t)gc_pick(seed, 3);
        words[2 * group + d] = 1 + (int32_t)gc_pick(seed, 2);
    }
}

static int try_image(sr_backend *backend, uint64_t *seed, int op) {
    const int type = gc_pick(seed, 2) == 0 ? SR_TYPE_F32 : SR_TYPE_F16;
    const int64_t k0 = 1 + gc_pick(seed, 3), k1 = 1 + gc_pick(seed, 3), channels = 1 + gc_pick(seed, 3);
    const int64_t w = 5 + gc_pick(seed, 20), h = 5 + gc_pick(seed, 9), n = 1 + gc_pick(seed, 2), filters = 2;
    kh_case c = {.op = op, .n_src = 2};
    int32_t *p = c.params;
    set_words(seed, p, 2);
    const int64_t ow = extent(w, k0, p[0], p[2], p[4]), oh = extent(h, k1, p[1], p[3], p[5]);
    if (op == SR_OP_CONV_2D_DW) {
        c.src[0] = gc_f32(seed, KH_CONTIGUOUS, k0, k1, 1, channels);
        c.src[1] = gc_f32(seed, KH_CONTIGUOUS, w, h, channels, n);
        c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, ow, oh, channels, n);
        return gc_try(&c, backend, 1e-5, 3);
    }
    c.src[0] = gc_fill(kh_new(type, KH_CONTIGUOUS, k0, k1, channels, filters), seed, false);
    if (op == SR_OP_IM2COL_BACK) {
        p[6] = 1;
        c.src[1] = gc_f32(seed, KH_CONTIGUOUS, k0, k1, channels, filters);
        kh_free(c.src[0]);
        c.src[0] = gc_f32(seed, KH_CONTIGUOUS, channels * k0 * k1, ow, oh, n);
        c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, w, h, channels, n);
    } else {
        c.src[1] = gc_f32(seed, gc_any_layout(seed), w, h, channels, n);
        p[6] = op == SR_OP_IM2COL;
        c.dst = op == SR_OP_IM2COL ? kh_new(type, KH_CONTIGUOUS, channels * k0 * k1, ow, oh, n)
                                   : kh_new(SR_TYPE_F32, KH_CONTIGUOUS, ow, oh, filters, n);
    }
    return gc_try(&c, backend, 1e-5, 3);
}

/* Depth, and batches and channels in one dimension: IM2COL_3D, CONV_3D. */
static int try_volume(sr_backend *backend, uint64_t *seed, int op) {
    const int type = gc_pick(seed, 2) == 0 ? SR_TYPE_F32 : SR_TYPE_F16;
    const int64_t channels = 1 + gc_pick(seed, 3), n = 1 + gc_pick(seed, 2), filters = 2;
    int64_t k[3], in[3], out[3];
    kh_case c = {.op = op, .n_src = 2};
    set_words(seed, c.params, 3);
    for (int d = 0; d < 3; d++) {
        k[d] = 1 + gc_pick(seed, 3);
        in[d] = 5 + gc_pick(seed, 5);
        out[d] = extent(in[d], k[d], c.params[d], c.params[3 + d], c.params[6 + d]);
    }
    c.params[9] = (int32_t)channels, c.params[10] = (int32_t)n, c.params[11] = (int32_t)filters;
    c.src[0] = gc_fill(kh_new(type, KH_CONTIGUOUS, k[0], k[1], k[2], channels * filters), seed, false);
    c.src[1] = gc_f32(seed, gc_any_layout(seed), in[0], in[1], in[2], channels * n);
    c.dst = op == SR_OP_CONV_3D
                ? kh_new(SR_TYPE_F32, KH_CONTIGUOUS, out[0], out[1], out[2], filters * n)
                : kh_new(type, KH_CONTIGUOUS, channels * k[0] * k[1] * k[2], out[0], out[1], out[2] * n);
    return gc_try(&c, backend, 1e-5, 3);
}

static int try_transpose(sr_backend *backend, uint64_t *seed, int op) {
    const int type = gc_pick(seed, 2) == 0 ? SR_TYPE_F32 : SR_TYPE_F16;
    const int64_t k0 = 1 + gc_pick(seed, 4), k1 = 1 + gc_pick(seed, 3), channels = 1 + gc_pick(seed, 3), filters = 3;
    const int64_t w = 1 + gc_pick(seed, 20), h = 1 + gc_pick(seed, 5), step = 1 + gc_pick(seed, 3);
    const bool two = op == SR_OP_CONV_TRANSPOSE_2D;
    kh_case c = {.op = op, .n_src = 2};
    c.params[0] = (int32_t)step;
    c.params[2] = two ? 0 : 1;
    c.src[0] = gc_fill(two ? kh_new(type, gc_rows(seed), k0, k1, filters, channels)
                           : kh_new(type, gc_rows(seed), k0, filters, channels, 1), seed, false);
    c.src[1] = two ? gc_f32(seed, gc_rows(seed), w, h, channels, 2) : gc_f32(seed, gc_rows(seed), w, channels, 1, 1);
    c.dst = two ? kh_new(SR_TYPE_F32, KH_CONTIGUOUS, (w - 1) * step + k0, (h - 1) * step + k1, filters, 2)
                : kh_new(SR_TYPE_F32, KH_CONTIGUOUS, (w - 1) * step + k0, filters, 1, 1);
    return gc_try(&c, backend, 1e-5, 3);
}

static int try_pool(sr_backend *backend, uint64_t *seed, int op) {
    const int64_t w = 5 + gc_pick(seed, 20), h = 5 + gc_pick(seed, 9);
    const int64_t k = 2 + gc_pick(seed, 2), s = 1 + gc_pick(seed, 2);
    const int64_t pad = gc_pick(seed, 2), ow = (w + 2 * pad - k) / s + 1, oh = (h + 2 * pad - k) / s + 1;
    const int type = op != SR_OP_POOL_2D_BACK && gc_pick(seed, 2) == 0 ? SR_TYPE_F16 : SR_TYPE_F32;
    const int32_t one[] = {(int32_t)gc_pick(seed, 2), (int32_t)k, (int32_t)s, (int32_t)pad};
    const int32_t two[] = {one[0], one[1], one[1], one[2], one[2], one[3], one[3]};
    kh_case c = {.op = op, .n_src = op == SR_OP_POOL_2D_BACK ? 2 : 1};
    memcpy(c.params, op == SR_OP_POOL_1D ? one : two, op == SR_OP_POOL_1D ? sizeof(one) : sizeof(two));
    if (op == SR_OP_POOL_2D_BACK) {
        c.src[0] = gc_f32(seed, KH_CONTIGUOUS, ow, oh, 2, 2);
        c.src[1] = whole(seed, SR_TYPE_F32, KH_CONTIGUOUS, w, h, 2, 2);
        c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, w, h, 2, 2);
    } else {
        c.src[0] = gc_fill(kh_new(type, gc_rows(seed), w, h, 2, 2), seed, false);
        c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, ow, op == SR_OP_POOL_1D ? h : oh, 2, 2);
    }
    return gc_try(&c, backend, 1e-5, 1);
}

static void check_images(sr_backend *backend) {
    static const int images[] = {SR_OP_IM2COL, SR_OP_IM2COL_BACK, SR_OP_CONV_2D, SR_OP_CONV_2D_DW};
    uint64_t seed = 23;
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < SR_COUNT(images); k++) {
            assert_true(try_image(backend, &seed, images[k]));
        }
        assert_true(try_volume(backend, &seed, SR_OP_IM2COL_3D));
        assert_true(try_volume(backend, &seed, SR_OP_CONV_3D));
        assert_true(try_transpose(backend, &seed, SR_OP_CONV_TRANSPOSE_1D));
        assert_true(try_transpose(backend, &seed, SR_OP_CONV_TRANSPOSE_2D));
        assert_true(try_pool(backend, &seed, SR_OP_POOL_1D));
        assert_true(try_pool(backend, &seed, SR_OP_POOL_2D));
        assert_true(try_pool(backend, &seed, SR_OP_POOL_2D_BACK));
    }
}

static void test_images(void **state) {
    (void)state;
    gc_each_device(check_images);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
