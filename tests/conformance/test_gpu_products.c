/*
 * test_gpu_products.c - matrix products and attention on devices with kernels of their own against the CPU's: every
 * type, random extents and layouts, experts, masks, and numbers of experts that there are not.
 *
 * Layer: tests.
 */
#include "../support/gpu_case.h"

/* Both round columns alike, so that only the order of sums differs; the sums here stay below 1000. */
static const double TOLERANCE = 1e-5, SCALE = 100.0;

static int64_t one_of(uint64_t *seed, const int64_t *values, int n) { return values[gc_pick(seed, n)]; }

/* Inner extents that a type can have: whole blocks, or any. */
static int64_t pick_inner(uint64_t *seed, int type) {
    const int64_t block = sr_type_get(type)->block;
    return block > 1 ? block * (1 + gc_pick(seed, block > 64 ? 3 : 9)) : 1 + gc_pick(seed, 300);
}

/* ---- MUL_MAT ---------------------------------------------------------------------------------------------------- */

static int try_mul_mat(sr_backend *backend, uint64_t *seed, int type, int64_t columns) {
    const int64_t k = pick_inner(seed, type), m = 1 + gc_pick(seed, 150);
    const int64_t a2 = 1 + gc_pick(seed, 2), a3 = 1 + gc_pick(seed, 2);
    const int64_t b2 = a2 * (1 + gc_pick(seed, 2)), b3 = a3 * (1 + gc_pick(seed, 2));
    const int companion = sr__type_companion(type);
    const int b_type = gc_pick(seed, 4) == 0 && sr__type_can_write(companion) ? companion : SR_TYPE_F32;
    kh_case c = {.op = SR_OP_MUL_MAT, .n_src = 2};
    c.src[0] = kh_fill(kh_new(type, gc_rows(seed), k, m, a2, a3), (uint64_t)gc_pick(seed, 1 << 30), -1, 1);
    c.src[1] = kh_fill(kh_new(b_type, gc_rows(seed), k, columns, b2, b3), (uint64_t)gc_pick(seed, 1 << 30), -1, 1);
    c.dst = kh_new(SR_TYPE_F32, gc_rows(seed), m, columns, b2, b3);
    return gc_try(&c, backend, TOLERANCE, SCALE);
}

static void check_mul_mat(sr_backend *backend) {
    static const int64_t columns[] = {1, 3, 8, 9, 64, 70};
    uint64_t seed = 21;
    for (int type = 0; type < SR_TYPE_COUNT; type += GC_STEP(SR_TYPE_COUNT)) {
        if (sr__type_can_read(type)) {
            for (int i = 0; i < SR_COUNT(columns); i += GC_STEP(5)) {
                assert_true(try_mul_mat(backend, &seed, type, columns[i]));
            }
        }
    }
}

static void test_mul_mat(void **state) {
    (void)state;
    gc_each_device(check_mul_mat);
}

/* More columns than are rounded at a time, in a plane and over planes. */
static void check_many_columns(sr_backend *backend) {
    for (int64_t planes = 1; planes <= 2; planes++) {
        kh_case c = {.op = SR_OP_MUL_MAT, .n_src = 2};
        c.src[0] = kh_fill(kh_new(SR_TYPE_F16, KH_CONTIGUOUS, 32768, 2, 1, 1), 7, -1, 1);
        c.src[1] = kh_new(SR_TYPE_F32, KH_ROW_GAPS, 32768, 520 / planes, planes, 1);
        for (size_t i = 0; i < c.src[1]->size / sizeof(float); i++) {
            ((float *)(void *)c.src[1]->memory)[i] = (float)((int64_t)(i * 2654435761u % 1000) - 500) / 500.0f;
        }
        c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 2, 520 / planes, planes, 1);
        assert_true(gc_try(&c, backend, TOLERANCE, SCALE));
    }
}

static void test_many_columns(void **state) {
    (void)state;
    if (GC_ROUNDS(2) != 2) {
        print_message("takes too long on items of the host\n");
        skip();
    }
    gc_each_device(check_many_columns);
}

/* Blocks of which nothing is left, infinities and NaNs among the columns. */
static void check_odd_columns(sr_backend *backend) {
    static const int types[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_BF16, SR_TYPE_Q4_0, SR_TYPE_Q8_0, SR_TYPE_Q4_K};
    static const double special[] = {1e-45, 0.0, 1e38, 1e30, -65519.0, NAN};
    uint64_t seed = 22;
    for (int t = 0; t < SR_COUNT(types); t++) {
        kh_case c = {.op = SR_OP_MUL_MAT, .n_src = 2};
        c.src[0] = kh_fill(kh_new(types[t], KH_CONTIGUOUS, 512, 5, 1, 1), 3, -1, 1);
        c.src[1] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 512, SR_COUNT(special), 1, 1), 4, -1, 1);
        for (int64_t i = 0; i < 512; i++) {
            for (int n = 0; n < SR_COUNT(special); n++) {
                if (n < 2 || gc_pick(&seed, 100) == 0) {
                    kh_set(c.src[1], i, n, 0, 0, special[n]);
                }
            }
        }
        c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 5, SR_COUNT(special), 1, 1);
        assert_true(gc_try(&c, backend, 1e-4, SCALE));
    }
}

static void test_odd_columns(void **state) {
    (void)state;
    gc_each_device(check_odd_columns);
}

static void check_hadamard(sr_backend *backend) {
    uint64_t seed = 23;
    for (int64_t k = 1; k <= 8192; k *= 2) {
        kh_case c = {.op = SR_OP_MUL_MAT, .n_src = 2, .params = {0, 1}};
        c.src[0] = kh_new(SR_TYPE_F16, KH_CONTIGUOUS, k, k, 1, 1);
        c.src[1] = kh_fill(kh_new(SR_TYPE_F32, gc_rows(&seed), k, 3, 2, 1), (uint64_t)k, -1, 1);
        c.dst = kh_new(SR_TYPE_F32, gc_rows(&seed), k, 3, 2, 1);
        assert_int_equal(gc_try(&c, backend, 1e-5, 1), k <= 4096);
    }
}

static void test_hadamard(void **state) {
    (void)state;
    gc_each_device(check_hadamard);
}

/* ---- MUL_MAT_ID ------------------------------------------------------------------------------------------------- */

static kh_case experts_case(uint64_t *seed, int type, int64_t experts, int64_t used, int64_t tokens) {
    const int64_t k = pick_inner(seed, type), m = 1 + gc_pick(seed, 90), slots = gc_pick(seed, 2) == 0 ? 1 : used;
    kh_case c = {.op = SR_OP_MUL_MAT_ID, .n_src = 3};
    c.src[0] = kh_fill(kh_new(type, gc_rows(seed), k, m, experts, 1), (uint64_t)gc_pick(seed, 1 << 30), -1, 1);
    c.src[1] = kh_fill(kh_new(SR_TYPE_F32, gc_rows(seed), k, slots, tokens, 1), *seed + 1, -1, 1);
    c.src[2] = kh_fill(kh_new(SR_TYPE_I32, gc_any_layout(seed), used, tokens, 1, 1), *seed + 2, 0, (double)experts - 1);
    c.dst = kh_new(SR_TYPE_F32, gc_rows(seed), m, used, tokens, 1);
    return c;
}

static void check_experts(sr_backend *backend) {
    static const int types[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_Q4_0, SR_TYPE_Q8_0, SR_TYPE_Q4_K, SR_TYPE_Q6_K,
                                SR_TYPE_MXFP4};
    static const int64_t tokens[] = {1, 7, 40, 130};
    uint64_t seed = 24;
    for (int t = 0; t < SR_COUNT(types); t += GC_STEP(7)) {
        for (int i = 0; i < SR_COUNT(tokens); i += GC_STEP(2)) {
            kh_case c = experts_case(&seed, types[t], 1 + gc_pick(&seed, 9), 1 + gc_pick(&seed, 4), tokens[i]);
            assert_true(gc_try(&c, backend, TOLERANCE, SCALE));
        }
    }
}

static void test_experts(void **state) {
    (void)state;
    gc_each_device(check_experts);
}

/* By one column a group, and sorted. */
static void check_bad_experts(sr_backend *backend) {
    static const double wrong[] = {-1, 4, 2147483647, -2147483648.0};
    uint64_t seed = 25;
    for (int i = 0; i < SR_COUNT(wrong); i += GC_STEP(4)) {
        for (int64_t tokens = 2; tokens <= 70; tokens += 68) {
            kh_case c = experts_case(&seed, SR_TYPE_Q8_0, 4, 2, tokens);
            kh_set(c.src[2], 1, tokens - 1, 0, 0, wrong[i]);
            gc_check_fault(&c, backend);
            kh_set(c.src[2], 1, tokens - 1, 0, 0, 3);
            assert_true(gc_try(&c, backend, TOLERANCE, SCALE));
        }
    }
}

static void test_bad_experts(void **state) {
    (void)state;
    gc_each_device(check_bad_experts);
}

/* ---- OUT_PROD --------------------------------------------------------------------------------------------------- */

static void check_out_prod(sr_backend *backend) {
    static const int types[] = {SR_TYPE_F32, SR_TYPE_Q4_0, SR_TYPE_Q5_1, SR_TYPE_Q6_K, SR_TYPE_IQ4_XS};
    uint64_t seed = 26;
    for (int i = 0; i < 30; i += GC_STEP(30)) {
        const int type = types[i % SR_COUNT(types)];
        const int64_t m = pick_inner(&seed, type), n = 1 + gc_pick(&seed, 90), k = 1 + gc_pick(&seed, 80);
        const int64_t a2 = 1 + gc_pick(&seed, 2), b2 = a2 * (1 + gc_pick(&seed, 2)), b3 = 1 + gc_pick(&seed, 2);
        kh_case c = {.op = SR_OP_OUT_PROD, .n_src = 2};
        c.src[0] = kh_fill(kh_new(type, gc_rows(&seed), m, k, a2, 1), (uint64_t)i, -1, 1);
        c.src[1] = kh_fill(kh_new(SR_TYPE_F32, gc_any_layout(&seed), n, k, b2, b3), (uint64_t)i + 99, -1, 1);
        c.dst = kh_new(SR_TYPE_F32, gc_rows(&seed), m, n, b2, b3);
        assert_true(gc_try(&c, backend, TOLERANCE, SCALE));
    }
}

static void test_out_prod(void **state) {
    (void)state;
    gc_each_device(check_out_prod);
}

/* ---- FLASH_ATTN_EXT --------------------------------------------------------------------------------------------- */

/* Some keys closed to some queries; those of the first query all. */
static kh_operand *make_mask(uint64_t *seed, int64_t keys, int64_t queries, int64_t heads, int64_t batch) {
    kh_operand *mask = kh_fill(kh_new(SR_TYPE_F16, KH_CONTIGUOUS, keys, queries + 1, heads, batch), 5, -2, 0);
    KH_EACH(mask, i) {
        if (gc_pick(seed, 3) == 0 || (i.at[1] == 0 && gc_pick(seed, 2) == 0) || i.at[0] / 40 == 1) {
            kh_set(mask, KH_I(i), -INFINITY);
        }
    }
    return mask;
}

static int try_flash(sr_backend *backend, uint64_t *seed, int type, int v_type, int64_t queries) {
    static const int64_t widths[] = {8, 40, 64, 80, 128, 256}, ratios[] = {1, 2, 3, 4};
    const int64_t block = sr_type_get(type)->block, v_block = sr_type_get(v_type)->block;
    const int64_t dk = one_of(seed, widths, SR_COUNT(widths)) / block * block + (block > 8 ? block : 0);
    const int64_t dv = one_of(seed, widths, SR_COUNT(widths)) / v_block * v_block + (v_block > 8 ? v_block : 0);
    const int64_t keys = 1 + gc_pick(seed, gc_pick(seed, 2) == 0 ? 60 : 700), kv = 1 + gc_pick(seed, 2);
    const int64_t heads = kv * one_of(seed, ratios, SR_COUNT(ratios)), batch = 1 + gc_pick(seed, 2);
    const bool masked = gc_pick(seed, 3) != 0;
    kh_case c = {.op = SR_OP_FLASH_ATTN_EXT, .n_src = 5};
    c.params[0] = kh_bits(1.0 / sqrt((double)dk));
    c.params[1] = masked && gc_pick(seed, 2) == 0 ? kh_bits(8.0) : 0;
    c.params[2] = gc_pick(seed, 3) == 0 ? kh_bits(10.0) : 0;
    c.src[0] = kh_fill(kh_new(SR_TYPE_F32, gc_rows(seed), dk, queries, heads, batch), 1, -2, 2);
    c.src[1] = kh_fill(kh_new(type, gc_rows(seed), dk, keys, kv, batch), 2, -2, 2);
    c.src[2] = kh_fill(kh_new(v_type, gc_rows(seed), dv, keys, kv, batch), 3, -2, 2);
    c.src[3] = masked ? make_mask(seed, keys, queries, gc_pick(seed, 2) == 0 ? 1 : heads, 1) : NULL;
    if (gc_pick(seed, 2) == 0) {
        c.src[4] = kh_fill(kh_new(SR_TYPE_F32, gc_any_layout(seed), heads, 1, 1, 1), 4, -2, 2);
    }
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, dv, heads, queries, batch);
    /* the CPU rounds sums over f16 values to f16 at every key */
    return gc_try(&c, backend, v_type == SR_TYPE_F16 ? 2e-2 : 1e-5, 1);
}

static void check_flash(sr_backend *backend) {
    static const int types[][2] = {
        {SR_TYPE_F32, SR_TYPE_F32},   {SR_TYPE_F16, SR_TYPE_F16},   {SR_TYPE_BF16, SR_TYPE_BF16},
        {SR_TYPE_Q8_0, SR_TYPE_Q8_0}, {SR_TYPE_Q4_0, SR_TYPE_Q5_1}, {SR_TYPE_F16, SR_TYPE_Q4_0},
    };
    static const int64_t queries[] = {1, 2, 9, 70};
    uint64_t seed = 27;
    for (int t = 0; t < SR_COUNT(types); t += GC_STEP(7)) {
        for (int i = 0; i < SR_COUNT(queries); i += GC_STEP(2)) {
            assert_true(try_flash(backend, &seed, types[t][0], types[t][1], queries[i]));
        }
    }
}

static void test_flash(void **state) {
    (void)state;
    gc_each_device(check_flash);
}

/* The widest heads, unlike ones, and wider ones, which are refused. */
static void check_wide_heads(sr_backend *backend) {
    static const struct { int64_t k, v; int taken; } heads[] = {{576, 512, 1}, {640, 8, 1}, {641, 8, 0}, {64, 513, 0}};
    for (int i = 0; i < SR_COUNT(heads); i++) {
        kh_case c = {.op = SR_OP_FLASH_ATTN_EXT, .n_src = 5, .params = {kh_bits(0.05)}};
        c.src[0] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, heads[i].k, 3, 4, 1), 1, -1, 1);
        c.src[1] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, heads[i].k, 45, 1, 1), 2, -1, 1);
        c.src[2] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, heads[i].v, 45, 1, 1), 3, -1, 1);
        c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, heads[i].v, 4, 3, 1);
        assert_int_equal(gc_try(&c, backend, 1e-5, 1), heads[i].taken);
    }
}

static void test_wide_heads(void **state) {
    (void)state;
    gc_each_device(check_wide_heads);
}

/* A key that is closed takes no part, whatever it holds, in parts of the keys too; without keys there are zeros. */
static void check_closed_keys(sr_backend *backend) {
    for (int64_t keys = 0; keys <= 600; keys += 300) {
        kh_case c = {.op = SR_OP_FLASH_ATTN_EXT, .n_src = 5, .params = {kh_bits(0.1)}};
        c.src[0] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 32, 2, 2, 1), 1, -1, 1);
        c.src[1] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 32, keys, 1, 1), 2, -1, 1);
        c.src[2] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 32, keys, 1, 1), 3, -1, 1);
        c.src[3] = kh_fill(kh_new(SR_TYPE_F16, KH_CONTIGUOUS, keys, 2, 1, 1), 4, 0, 0);
        for (int64_t j = 0; j < keys; j++) {
            if (j % 3 == 1 || j > 100) {
                kh_set(c.src[3], j, 0, 0, 0, -INFINITY), kh_set(c.src[3], j, 1, 0, 0, -INFINITY);
                kh_set(c.src[1], 3, j, 0, 0, NAN), kh_set(c.src[2], j % 32, j, 0, 0, j % 2 == 0 ? NAN : INFINITY);
            }
        }
        c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 32, 2, 2, 1);
        assert_true(gc_try(&c, backend, 1e-5, 1));
    }
}

static void test_closed_keys(void **state) {
    (void)state;
    gc_each_device(check_closed_keys);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mul_mat),     cmocka_unit_test(test_many_columns), cmocka_unit_test(test_odd_columns),
        cmocka_unit_test(test_hadamard),
        cmocka_unit_test(test_experts),     cmocka_unit_test(test_bad_experts), cmocka_unit_test(test_out_prod),
        cmocka_unit_test(test_flash),       cmocka_unit_test(test_wide_heads),  cmocka_unit_test(test_closed_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
