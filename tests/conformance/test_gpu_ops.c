/*
 * test_gpu_ops.c - ops of transformers on devices with kernels of their own against the CPU's: random types, extents,
 * layouts, results that lie where sources do, numbers that are none.
 *
 * Layer: tests.
 */
#include "../support/gpu_case.h"

enum { ROUNDS = GC_ROUNDS(40) };

static const int floats[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_BF16};

/* One unit in the last place of the narrow types; sums and functions may differ a little in f32. */
static double tolerance_of(int type) { return type == SR_TYPE_F32 ? 2e-6 : type == SR_TYPE_F16 ? 1e-3 : 8e-3; }

static int type_among(uint64_t *seed, int n) { return floats[gc_pick(seed, n)]; }

/* ---- element by element ------------------------------------------------------------------------------------------ */

static int try_binary(sr_backend *backend, uint64_t *seed, int op) {
    int64_t ne[SR_MAX_DIMS], nb[SR_MAX_DIMS];
    const int a = type_among(seed, 3), b = gc_pick(seed, 2) == 0 ? a : SR_TYPE_F32;
    const int y = b == SR_TYPE_F32 && gc_pick(seed, 2) == 0 ? SR_TYPE_F32 : a;
    gc_extents(seed, ne);
    for (int d = 0; d < SR_MAX_DIMS; d++) { /* whole, one, or repeated */
        const int64_t how = gc_pick(seed, 4);
        nb[d] = how == 0 ? 1 : how == 1 && ne[d] % 2 == 0 ? ne[d] / 2 : ne[d];
    }
    kh_case c = {.op = op, .n_src = 2};
    c.src[0] = gc_fill(kh_new(a, gc_rows(seed), GC_NE(ne)), seed, true);
    c.src[1] = gc_fill(kh_new(b, gc_any_layout(seed), GC_NE(nb)), seed, op != SR_OP_SILU_BACK);
    c.dst = gc_pick(seed, 3) == 0 && a == y ? kh_alias(c.src[0]) : kh_new(y, gc_rows(seed), GC_NE(ne));
    return gc_try(&c, backend, tolerance_of(y), 1);
}

static void check_binary(sr_backend *backend) {
    static const int ops[] = {SR_OP_ADD, SR_OP_SUB, SR_OP_MUL, SR_OP_DIV, SR_OP_SILU_BACK};
    uint64_t seed = 1;
    for (int k = 0; k < SR_COUNT(ops); k++) {
        int n = 0;
        for (int i = 0; i < ROUNDS; i++) {
            n += try_binary(backend, &seed, ops[k]);
        }
        assert_true(n > 0);
    }
}

static void test_binary(void **state) {
    (void)state;
    gc_each_device(check_binary);
}

static int try_unary(sr_backend *backend, uint64_t *seed, int op, int kind) {
    int64_t ne[SR_MAX_DIMS];
    const int a = type_among(seed, 3), y = gc_pick(seed, 4) == 0 ? SR_TYPE_F32 : a;
    gc_extents(seed, ne);
    kh_case c = {.op = op, .n_src = 1};
    c.params[0] = op == SR_OP_UNARY ? kind : kh_bits(-0.7);
    c.params[1] = kh_bits(0.9), c.params[2] = kh_bits(0.4), c.params[3] = kh_bits(0.3), c.params[4] = kh_bits(-1e-6);
    c.src[0] = gc_fill(kh_new(a, gc_rows(seed), GC_NE(ne)), seed, true);
    c.dst = gc_pick(seed, 3) == 0 && a == y ? kh_alias(c.src[0]) : kh_new(y, gc_rows(seed), GC_NE(ne));
    const bool rounds = op == SR_OP_UNARY && (kind == SR_UNARY_GELU || kind == SR_UNARY_GELU_QUICK);
    return gc_try(&c, backend, rounds ? tolerance_of(SR_TYPE_F16) : tolerance_of(y), 1);
}

static void check_unary(sr_backend *backend) {
    static const int ops[] = {SR_OP_SQR, SR_OP_SQRT, SR_OP_LOG, SR_OP_LEAKY_RELU, SR_OP_CLAMP, SR_OP_SCALE, SR_OP_FILL};
    uint64_t seed = 2;
    for (int kind = 0; kind < SR_UNARY_COUNT; kind++) {
        int n = 0;
        for (int i = 0; i < 10; i++) {
            n += try_unary(backend, &seed, SR_OP_UNARY, kind);
        }
        assert_true(n > 0);
    }
    for (int k = 0; k < SR_COUNT(ops); k++) {
        int n = 0;
        for (int i = 0; i < ROUNDS / 2; i++) {
            n += try_unary(backend, &seed, ops[k], 0);
        }
        assert_true(n > 0);
    }
}

static void test_unary(void **state) {
    (void)state;
    gc_each_device(check_unary);
}

static int try_glu(sr_backend *backend, uint64_t *seed, int kind) {
    int64_t ne[SR_MAX_DIMS];
    const int type = type_among(seed, kind == SR_GLU_SWIGLU_OAI ? 1 : 2);
    const bool two = gc_pick(seed, 2) == 0;
    gc_extents(seed, ne);
    kh_case c = {.op = SR_OP_GLU, .n_src = two ? 2 : 1};
    c.params[0] = kind, c.params[1] = (int32_t)gc_pick(seed, 2);
    c.params[2] = kh_bits(1.702), c.params[3] = kh_bits(2);
    c.dst = kh_new(type, gc_rows(seed), GC_NE(ne));
    ne[0] *= two ? 1 : 2;
    c.src[0] = gc_fill(kh_new(type, gc_rows(seed), GC_NE(ne)), seed, false);
    if (two) {
        c.src[1] = gc_fill(kh_new(type, gc_rows(seed), GC_NE(ne)), seed, false);
    }
    return gc_try(&c, backend, tolerance_of(SR_TYPE_F16), 1);
}

static void check_glu(sr_backend *backend) {
    uint64_t seed = 3;
    for (int kind = 0; kind < SR_GLU_COUNT; kind++) {
        for (int i = 0; i < ROUNDS / 2; i++) {
            assert_true(try_glu(backend, &seed, kind));
        }
    }
}

static void test_glu(void **state) {
    (void)state;
    gc_each_device(check_glu);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int try_norm(sr_backend *backend, uint64_t *seed, int op) {
    int64_t ne[SR_MAX_DIMS];
    const int n_src = op == SR_OP_RMS_NORM_BACK || op == SR_OP_SOFT_MAX_BACK ? 2 : 1;
    gc_extents(seed, ne);
    kh_case c = {.op = op, .n_src = n_src};
    c.params[0] = op == SR_OP_GROUP_NORM ? 1 + (int32_t)gc_pick(seed, 3) : kh_bits(1e-5);
    c.params[1] = op == SR_OP_GROUP_NORM ? kh_bits(1e-5) : 0;
    for (int j = 0; j < n_src; j++) {
        c.src[j] = gc_fill(kh_new(SR_TYPE_F32, gc_rows(seed), GC_NE(ne)), seed, false);
    }
    const int64_t place = gc_pick(seed, 3);
    c.dst = place < n_src ? kh_alias(c.src[place]) : kh_new(SR_TYPE_F32, gc_rows(seed), GC_NE(ne));
    return gc_try(&c, backend, 1e-5, 1);
}

static void check_norm(sr_backend *backend) {
    static const int ops[] = {SR_OP_NORM, SR_OP_RMS_NORM, SR_OP_L2_NORM, SR_OP_GROUP_NORM, SR_OP_RMS_NORM_BACK,
                              SR_OP_SOFT_MAX_BACK};
    uint64_t seed = 4;
    for (int k = 0; k < SR_COUNT(ops); k++) {
        for (int i = 0; i < ROUNDS / 2; i++) {
            assert_true(try_norm(backend, &seed, ops[k]));
        }
    }
}

static void test_norm(void **state) {
    (void)state;
    gc_each_device(check_norm);
}

static int try_soft_max(sr_backend *backend, uint64_t *seed) {
    int64_t ne[SR_MAX_DIMS];
    gc_extents(seed, ne);
    const bool masked = gc_pick(seed, 3) > 0, sinks = gc_pick(seed, 3) == 0;
    kh_case c = {.op = SR_OP_SOFT_MAX, .n_src = sinks ? 3 : masked ? 2 : 1};
    c.params[0] = kh_bits(0.5);
    c.params[1] = kh_bits(masked && gc_pick(seed, 2) == 0 ? 8 : 0);
    c.src[0] = gc_fill(kh_new(SR_TYPE_F32, gc_rows(seed), GC_NE(ne)), seed, false);
    if (masked) {
        const int64_t m1 = ne[1] + gc_pick(seed, 2);
        const int64_t m2 = gc_pick(seed, 2) ? ne[2] : 1, m3 = gc_pick(seed, 2) ? ne[3] : 1;
        c.src[1] = gc_fill(kh_new(type_among(seed, 2), gc_rows(seed), ne[0], m1, m2, m3), seed, false);
        for (int k = 0; k < 4; k++) {
            kh_set(c.src[1], gc_pick(seed, ne[0]), gc_pick(seed, m1), 0, 0, -HUGE_VAL);
        }
    }
    if (sinks) {
        c.src[2] = gc_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, ne[2], 1, 1, 1), seed, false);
    }
    const bool over_mask = masked && c.src[1]->tensor.type == SR_TYPE_F32 &&
                           sr_tensor_same_shape(&c.src[1]->tensor, &c.src[0]->tensor);
    c.dst = gc_pick(seed, 2) == 0 ? kh_alias(c.src[0])
            : over_mask ? kh_alias(c.src[1]) : kh_new(SR_TYPE_F32, gc_rows(seed), GC_NE(ne));
    return gc_try(&c, backend, 1e-5, 1);
}

/* So many rows that a device works on several at a time. */
static void check_many_rows(sr_backend *backend) {
    static const int ops[] = {SR_OP_NORM, SR_OP_RMS_NORM, SR_OP_SOFT_MAX, SR_OP_SUM_ROWS, SR_OP_CUMSUM, SR_OP_ARGMAX,
                              SR_OP_ARGSORT};
    uint64_t seed = 12;
    for (int k = 0; k < SR_COUNT(ops); k++) {
        const bool index = ops[k] == SR_OP_ARGMAX || ops[k] == SR_OP_ARGSORT;
        const int type = index ? SR_TYPE_I32 : SR_TYPE_F32;
        kh_case c = {.op = ops[k], .n_src = 1};
        c.params[0] = ops[k] == SR_OP_ARGSORT ? 1 : kh_bits(1e-5);
        c.src[0] = gc_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 70, 3000, 1, 1), &seed, false);
        c.dst = ops[k] == SR_OP_ARGMAX ? kh_new(type, KH_CONTIGUOUS, 3000, 1, 1, 1)
                                       : kh_new(type, KH_CONTIGUOUS, ops[k] == SR_OP_SUM_ROWS ? 1 : 70, 3000, 1, 1);
        assert_true(gc_try(&c, backend, index ? 0 : 1e-5, 10));
    }
}

static void test_many_rows(void **state) {
    (void)state;
    gc_each_device(check_many_rows);
}

static void check_soft_max(sr_backend *backend) {
    uint64_t seed = 5;
    for (int i = 0; i < 2 * ROUNDS; i++) {
        assert_true(try_soft_max(backend, &seed));
    }
}

static void test_soft_max(void **state) {
    (void)state;
    gc_each_device(check_soft_max);
}

static int try_rope(sr_backend *backend, uint64_t *seed) {
    static const int modes[] = {0, 2, 8, 24, 40};
    const int mode = modes[gc_pick(seed, SR_COUNT(modes))], type = type_among(seed, 2);
    const int64_t n0 = 4 + 4 * gc_pick(seed, 20), heads = 1 + gc_pick(seed, 20), tokens = 1 + gc_pick(seed, 5);
    const int32_t n_dims = (int32_t)(mode == 24 ? n0 / 2 : 2 + 2 * gc_pick(seed, n0 / 2));
    const bool factors = gc_pick(seed, 2) == 0, yarn = gc_pick(seed, 2) == 0;
    kh_case c = {.op = gc_pick(seed, 3) == 0 ? SR_OP_ROPE_BACK : SR_OP_ROPE, .n_src = factors ? 3 : 2};
    const int32_t words[] = {0, n_dims, mode, 0, 128, kh_bits(10000), kh_bits(yarn ? 0.25 : 1), kh_bits(yarn ? 1 : 0),
                             kh_bits(1.1), kh_bits(32), kh_bits(1)};
    memcpy(c.params, words, sizeof(words));
    for (int k = 0; k < 4 && mode >= 8; k++) {
        c.params[11 + k] = (int32_t)gc_pick(seed, 4) + (k == 1);
    }
    c.src[0] = gc_fill(kh_new(type, gc_rows(seed), n0, heads, tokens, 1 + gc_pick(seed, 2)), seed, false);
    c.src[1] = kh_fill(kh_new(SR_TYPE_I32, KH_CONTIGUOUS, tokens * (mode >= 8 ? 4 : 1), 1, 1, 1), 7, 0, 4000);
    if (factors) {
        c.src[2] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n0, 1, 1, 1), 9, 1, 4);
    }
    c.dst = gc_pick(seed, 2) == 0 ? kh_alias(c.src[0]) : kh_new(type, gc_rows(seed), GC_NE(c.src[0]->tensor.ne));
    return gc_try(&c, backend, type == SR_TYPE_F32 ? 1e-5 : tolerance_of(type), 3);
}

static void check_rope(sr_backend *backend) {
    uint64_t seed = 6;
    for (int i = 0; i < 3 * ROUNDS; i++) {
        assert_true(try_rope(backend, &seed));
    }
}

static void test_rope(void **state) {
    (void)state;
    gc_each_device(check_rope);
}

/* ---- copies and rows by index ------------------------------------------------------------------------------------ */

static const int block_types[] = {SR_TYPE_Q4_0, SR_TYPE_Q4_1, SR_TYPE_Q5_0, SR_TYPE_Q5_1, SR_TYPE_Q8_0, SR_TYPE_IQ4_NL};

static int any_type(uint64_t *seed) {
    static const int types[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_BF16, SR_TYPE_I32, SR_TYPE_I8, SR_TYPE_I16,
                                SR_TYPE_I64};
    const int64_t k = gc_pick(seed, SR_COUNT(types) + SR_COUNT(block_types));
    return k < SR_COUNT(types) ? types[k] : block_types[k - SR_COUNT(types)];
}

/* Equal numbers of elements; the shapes differ where a's rows can be cut in two. */
static int try_copy(sr_backend *backend, uint64_t *seed) {
    int64_t ne[SR_MAX_DIMS], to[SR_MAX_DIMS];
    const int a = any_type(seed), y = gc_pick(seed, 2) == 0 ? a : any_type(seed);
    gc_extents(seed, ne);
    if (sr_type_get(a)->block > 1 || sr_type_get(y)->block > 1) {
        ne[0] = 32 * (1 + ne[0] % 4);
    }
    memcpy(to, ne, sizeof(to));
    if (gc_pick(seed, 2) == 0 && ne[0] % 64 == 0) {
        to[0] /= 2, to[1] *= 2;
    }
    kh_case c = {.op = gc_pick(seed, 2) == 0 ? SR_OP_CPY : SR_OP_CONT, .n_src = 1};
    c.src[0] = gc_fill(kh_new(a, gc_any_layout(seed), GC_NE(ne)), seed, sr_type_get(a)->block == 1 && a < SR_TYPE_I8);
    c.dst = kh_new(y, gc_any_layout(seed), GC_NE(to));
    if (sr_type_get(y)->block > 1) {
        kh_fill(c.src[0], 3, -2, 2);
    }
    return gc_try(&c, backend, 0, 1);
}

static void check_copy(sr_backend *backend) {
    uint64_t seed = 7;
    int n = 0;
    for (int i = 0; i < 20 * ROUNDS; i++) {
        n += try_copy(backend, &seed);
    }
    assert_true(n > 4 * ROUNDS);
}

static void test_copy(void **state) {
    (void)state;
    gc_each_device(check_copy);
}

static const int readable[] = {
    SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_BF16, SR_TYPE_I32, SR_TYPE_Q4_0, SR_TYPE_Q4_1, SR_TYPE_Q5_0, SR_TYPE_Q5_1,
    SR_TYPE_Q8_0, SR_TYPE_IQ4_NL, SR_TYPE_MXFP4, SR_TYPE_NVFP4, SR_TYPE_Q1_0, SR_TYPE_Q2_K, SR_TYPE_Q3_K, SR_TYPE_Q4_K,
    SR_TYPE_Q5_K, SR_TYPE_Q6_K, SR_TYPE_IQ4_XS, SR_TYPE_TQ1_0, SR_TYPE_TQ2_0};

static kh_case get_rows_case(uint64_t *seed, int type, int64_t bad) {
    const int64_t n0 = sr_type_get(type)->block > 1 ? 256 * (1 + gc_pick(seed, 2)) : 1 + gc_pick(seed, 70);
    const int64_t n = 5, rows = 1 + gc_pick(seed, 4), p = 1 + gc_pick(seed, 3), q = 1 + gc_pick(seed, 2);
    kh_case c = {.op = SR_OP_GET_ROWS, .n_src = 2};
    c.src[0] = kh_fill(kh_new(type, gc_rows(seed), n0, n, p, q), 5, -2, 2);
    c.src[1] = kh_new(SR_TYPE_I32, gc_any_layout(seed), rows, p, q, 1);
    kh_fill(c.src[1], (uint64_t)gc_pick(seed, 1000), 0, n - 1);
    if (bad != 0) {
        kh_set(c.src[1], rows - 1, p - 1, q - 1, 0, (double)bad);
    }
    c.dst = kh_new(type == SR_TYPE_I32 ? type : SR_TYPE_F32, gc_rows(seed), n0, rows, p, q);
    return c;
}

static void check_get_rows(sr_backend *backend) {
    uint64_t seed = 8;
    for (int k = 0; k < SR_COUNT(readable); k++) {
        for (int i = 0; i < 4; i++) {
            kh_case c = get_rows_case(&seed, readable[k], 0);
            assert_true(gc_try(&c, backend, 1e-6, 1));
        }
    }
    static const int64_t bad[] = {-1, 5, INT32_MAX, INT32_MIN};
    for (int k = 0; k < SR_COUNT(bad); k++) {
        kh_case c = get_rows_case(&seed, k % 2 == 0 ? SR_TYPE_F32 : SR_TYPE_Q4_0, bad[k]);
        gc_check_fault(&c, backend);
        kh_case_free(&c);
    }
}

static void test_get_rows(void **state) {
    (void)state;
    gc_each_device(check_get_rows);
}

/* Indices of a plane differ: which of two equal ones wins is open. */
static kh_case set_rows_case(uint64_t *seed, int type) {
    const int64_t n0 = sr_type_get(type)->block > 1 ? 32 * (1 + gc_pick(seed, 4)) : 1 + gc_pick(seed, 70);
    const int64_t n = 7, rows = 1 + gc_pick(seed, 4), p = 1 + gc_pick(seed, 3), q = 1 + gc_pick(seed, 2);
    const int index = gc_pick(seed, 2) == 0 ? SR_TYPE_I32 : SR_TYPE_I64;
    kh_case c = {.op = SR_OP_SET_ROWS, .n_src = 3};
    c.src[0] = kh_fill(kh_new(SR_TYPE_F32, gc_rows(seed), n0, rows, p, q), (uint64_t)gc_pick(seed, 1000), -2, 2);
    c.src[1] = kh_new(index, gc_any_layout(seed), rows, gc_pick(seed, 2) ? p : 1, gc_pick(seed, 2) ? q : 1, 1);
    KH_EACH(c.src[1], i) {
        kh_set(c.src[1], KH_I(i), (double)((i.at[0] * 3 + i.at[1]) % n));
    }
    c.src[2] = kh_fill(kh_new(type, gc_rows(seed), n0, n, p, q), 11, -2, 2);
    c.dst = kh_alias(c.src[2]);
    return c;
}

static void check_set_rows(sr_backend *backend) {
    uint64_t seed = 9;
    for (int i = 0; i < ROUNDS; i++) {
        kh_case c = set_rows_case(&seed, any_type(&seed));
        (void)gc_try(&c, backend, 0, 1);
    }
    for (int k = 0; k < SR_COUNT(block_types); k++) {
        kh_case c = set_rows_case(&seed, block_types[k]);
        assert_true(gc_try(&c, backend, 0, 1));
    }
    for (int k = 0; k < 2; k++) {
        kh_case c = set_rows_case(&seed, k == 0 ? SR_TYPE_F16 : SR_TYPE_Q8_0);
        kh_set(c.src[1], 0, 0, 0, 0, k == 0 ? 7 : -1);
        gc_check_fault(&c, backend);
        kh_case_free(&c);
    }
}

static void test_set_rows(void **state) {
    (void)state;
    gc_each_device(check_set_rows);
}

/* Rows by index, which the result may lie over. */
static void check_add_id(sr_backend *backend) {
    uint64_t seed = 10;
    for (int i = 0; i < ROUNDS / 2; i++) {
        const int64_t n = 1 + gc_pick(&seed, 300), rows = 3, used = i % 3 == 0 ? rows : 2, tokens = i % 3 == 0 ? 1 : 4;
        kh_case c = {.op = SR_OP_ADD_ID, .n_src = 3};
        c.src[0] = gc_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n, used, tokens, 1), &seed, false);
        c.src[1] = gc_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n, rows, 1, 1), &seed, false);
        c.src[2] = kh_fill(kh_new(SR_TYPE_I32, gc_any_layout(&seed), used, tokens, 1, 1), (uint64_t)i, 0, rows - 1);
        c.dst = i % 3 == 0 ? kh_alias(c.src[1]) : kh_new(SR_TYPE_F32, gc_rows(&seed), n, used, tokens, 1);
        if (i == 1) {
            kh_set(c.src[2], 0, 0, 0, 0, 3);
            gc_check_fault(&c, backend);
            kh_set(c.src[2], 0, 0, 0, 0, 2);
        }
        assert_true(gc_try(&c, backend, tolerance_of(SR_TYPE_F32), 1));
    }
}

static void test_add_id(void **state) {
    (void)state;
    gc_each_device(check_add_id);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binary),   cmocka_unit_test(test_unary),    cmocka_unit_test(test_glu),
        cmocka_unit_test(test_norm),     cmocka_unit_test(test_soft_max), cmocka_unit_test(test_rope),
        cmocka_unit_test(test_copy),     cmocka_unit_test(test_get_rows), cmocka_unit_test(test_set_rows),
        cmocka_unit_test(test_add_id),   cmocka_unit_test(test_many_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
