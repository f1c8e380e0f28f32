/*
 * test_gpu_ops_rest.c - recurrences, training and windows on devices with kernels of their own against the CPU's.
 *
 * Layer: tests.
 */
#include "../support/gpu_case.h"

enum { ROUNDS = GC_ROUNDS(30) };

/* ---- recurrences ------------------------------------------------------------------------------------------------- */

/* Sources [size, heads, tokens], but the fourth of WKV6, then the state. */
static int try_rwkv(sr_backend *backend, uint64_t *seed, int op) {
    const int64_t size = 4 * (1 + gc_pick(seed, 4)), heads = 1 + gc_pick(seed, 3), sequences = 1 + gc_pick(seed, 2);
    const int64_t tokens = sequences * (1 + gc_pick(seed, 4));
    kh_case c = {.op = op, .n_src = op == SR_OP_GATED_LINEAR_ATTN ? 5 : op == SR_OP_RWKV_WKV6 ? 6 : 7};
    c.params[0] = op == SR_OP_GATED_LINEAR_ATTN ? kh_bits(0.5) : 0;
    for (int j = 0; j < c.n_src - 1; j++) {
        const bool by_head = op == SR_OP_RWKV_WKV6 && j == 3;
        c.src[j] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, size, heads, by_head ? 1 : tokens, 1),
                           (uint64_t)gc_pick(seed, 1000), -0.5, 0.5);
    }
    c.src[c.n_src - 1] = gc_f32(seed, KH_CONTIGUOUS, size * size * heads, sequences, 1, 1);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, size * heads, tokens + size * sequences, 1, 1);
    return gc_try(&c, backend, 1e-4, 1);
}

static int try_delta_net(sr_backend *backend, uint64_t *seed) {
    const int64_t size = 4 * (1 + gc_pick(seed, 4)), shared = 1 + gc_pick(seed, 2), heads = shared * 2;
    const int64_t tokens = 3, n = 2;
    kh_case c = {.op = SR_OP_GATED_DELTA_NET, .n_src = 6};
    for (int j = 0; j < 3; j++) {
        c.src[j] = kh_fill(kh_new(SR_TYPE_F32, gc_rows(seed), size, j == 2 ? heads : shared, tokens, j == 0 ? 1 : n),
                           (uint64_t)gc_pick(seed, 1000), -0.5, 0.5);
    }
    c.src[3] = gc_f32(seed, KH_CONTIGUOUS, gc_pick(seed, 2) ? size : 1, heads, tokens, n);
    kh_fill(c.src[3], 4, -1, 0);
    c.src[4] = gc_f32(seed, KH_CONTIGUOUS, 1, heads, tokens, n);
    c.src[5] = gc_f32(seed, KH_CONTIGUOUS, size * size * heads, n, 1, 1);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, size * heads, tokens * n + size * n, 1, 1);
    return gc_try(&c, backend, 1e-4, 1);
}

static kh_case scan_case(uint64_t *seed) {
    const int64_t ds = 4 * (1 + gc_pick(seed, 4)), hd = 1 + gc_pick(seed, 5), groups = 1 + gc_pick(seed, 2);
    const int64_t heads = groups * 2, tokens = 1 + gc_pick(seed, 4), n = 2, slots = 3;
    kh_case c = {.op = SR_OP_SSM_SCAN, .n_src = 7};
    c.src[0] = gc_f32(seed, KH_CONTIGUOUS, ds, hd, heads, slots);
    c.src[1] = gc_f32(seed, gc_pick(seed, 2) ? KH_CONTIGUOUS : KH_OUTER_GAPS, hd, heads, tokens, n);
    c.src[2] = gc_f32(seed, KH_CONTIGUOUS, heads, tokens, n, 1);
    kh_set(c.src[2], 0, 0, 0, 0, 25);
    c.src[3] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, gc_pick(seed, 2) ? ds : 1, heads, 1, 1), 3, -1, 0);
    c.src[4] = gc_f32(seed, gc_rows(seed), ds, groups, tokens, n);
    c.src[5] = gc_f32(seed, gc_rows(seed), ds, groups, tokens, n);
    c.src[6] = kh_new(SR_TYPE_I32, KH_CONTIGUOUS, n, 1, 1, 1);
    kh_set(c.src[6], 0, 0, 0, 0, 2);
    kh_set(c.src[6], 1, 0, 0, 0, 0);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, hd * heads * (tokens + ds) * n, 1, 1, 1);
    return c;
}

static int try_ssm_conv(sr_backend *backend, uint64_t *seed) {
    const int64_t k = 1 + gc_pick(seed, 4), channels = 1 + gc_pick(seed, 300), tokens = 1 + gc_pick(seed, 5), n = 2;
    kh_case c = {.op = SR_OP_SSM_CONV, .n_src = 2};
    c.src[0] = gc_f32(seed, gc_rows(seed), k - 1 + tokens, channels, n, 1);
    c.src[1] = gc_f32(seed, KH_CONTIGUOUS, k, channels, 1, 1);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, channels, tokens, n, 1);
    return gc_try(&c, backend, 1e-5, 1);
}

static void check_recurrences(sr_backend *backend) {
    uint64_t seed = 24;
    for (int i = 0; i < ROUNDS / 2; i++) {
        kh_case scan = scan_case(&seed);
        assert_true(gc_try(&scan, backend, 1e-4, 1));
        assert_true(try_rwkv(backend, &seed, SR_OP_RWKV_WKV6));
        assert_true(try_rwkv(backend, &seed, SR_OP_RWKV_WKV7));
        assert_true(try_rwkv(backend, &seed, SR_OP_GATED_LINEAR_ATTN));
        assert_true(try_delta_net(backend, &seed));
        assert_true(try_ssm_conv(backend, &seed));
    }
    kh_case wrong = scan_case(&seed);
    kh_set(wrong.src[6], 1, 0, 0, 0, 3);
    gc_check_fault(&wrong, backend);
    kh_case_free(&wrong);
}

static void test_recurrences(void **state) {
    (void)state;
    gc_each_device(check_recurrences);
}

/* ---- numbers made ------------------------------------------------------------------------------------------------ */

static void check_numbers(sr_backend *backend) {
    uint64_t seed = 25;
    for (int i = 0; i < ROUNDS / 3; i++) {
        const int64_t n = 1 + gc_pick(&seed, 700), dim = 1 + gc_pick(&seed, 70);
        kh_case range = {.op = SR_OP_ARANGE};
        range.params[0] = kh_bits(-3), range.params[1] = kh_bits(-3 + 0.5 * (double)n), range.params[2] = kh_bits(0.5);
        range.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n, 1, 1, 1);
        assert_true(gc_try(&range, backend, 0, 1));
        kh_case steps = {.op = SR_OP_TIMESTEP_EMBEDDING, .n_src = 1};
        steps.params[0] = (int32_t)dim, steps.params[1] = 10000;
        steps.src[0] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 5, 1, 1, 1), (uint64_t)i, 0, 100);
        steps.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, dim, 5, 1, 1);
        assert_true(gc_try(&steps, backend, 5e-5, 1));
    }
}

static void test_numbers(void **state) {
    (void)state;
    gc_each_device(check_numbers);
}

/* ---- training and windows ---------------------------------------------------------------------------------------- */

static int try_loss(sr_backend *backend, uint64_t *seed, bool back) {
    int64_t ne[SR_MAX_DIMS];
    gc_extents(seed, ne);
    kh_case c = {.op = back ? SR_OP_CROSS_ENTROPY_LOSS_BACK : SR_OP_CROSS_ENTROPY_LOSS, .n_src = back ? 3 : 2};
    for (int j = 0; j < c.n_src; j++) {
        c.src[j] = gc_f32(seed, back ? KH_CONTIGUOUS : gc_rows(seed), GC_NE(ne));
    }
    if (back) {
        kh_free(c.src[0]);
        c.src[0] = gc_f32(seed, KH_CONTIGUOUS, 1, 1, 1, 1);
    }
    c.dst = back ? kh_new(SR_TYPE_F32, KH_CONTIGUOUS, GC_NE(ne)) : kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 1, 1, 1, 1);
    return gc_try(&c, backend, 1e-4, 10);
}

static int try_step(sr_backend *backend, uint64_t *seed, int op) {
    int64_t ne[SR_MAX_DIMS];
    const kh_layout layout = gc_rows(seed);
    const bool adamw = op == SR_OP_OPT_STEP_ADAMW;
    gc_extents(seed, ne);
    kh_case c = {.op = op, .n_src = adamw ? 5 : 3};
    for (int j = 0; j < c.n_src - 1; j++) {
        c.src[j] = kh_fill(kh_new(SR_TYPE_F32, layout, GC_NE(ne)), (uint64_t)gc_pick(seed, 1000), j < 2 ? -1 : 0, 1);
    }
    c.src[c.n_src - 1] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, adamw ? 7 : 2, 1, 1, 1), 6, 0.1, 0.5);
    c.dst = kh_alias(c.src[0]);
    return gc_try(&c, backend, 1e-5, 1);
}

static int try_window(sr_backend *backend, uint64_t *seed, bool back) {
    const int64_t n0 = 1 + gc_pick(seed, 20), width = 3 + gc_pick(seed, 9), height = 3 + gc_pick(seed, 9);
    const int64_t w = 2 + gc_pick(seed, 3), across = (width + w - 1) / w, down = (height + w - 1) / w;
    kh_case c = {.op = back ? SR_OP_WIN_UNPART : SR_OP_WIN_PART, .n_src = 1};
    kh_operand *image = gc_f32(seed, KH_CONTIGUOUS, n0, width, height, 1);
    kh_operand *windows = gc_f32(seed, KH_CONTIGUOUS, n0, w, w, across * down);
    const int32_t words[] = {(int32_t)(back ? w : across), (int32_t)(back ? 0 : down), (int32_t)(back ? 0 : w)};
    memcpy(c.params, words, sizeof(words));
    c.src[0] = back ? windows : image;
    c.dst = back ? image : windows;
    return gc_try(&c, backend, 0, 1);
}

static int try_positions(sr_backend *backend, uint64_t *seed, bool add) {
    const int64_t w = 1 + gc_pick(seed, 6), r1 = 1 + gc_pick(seed, 4), r2 = 1 + gc_pick(seed, 4);
    const int64_t z = 1 + gc_pick(seed, 2);
    kh_case c = {.op = add ? SR_OP_ADD_REL_POS : SR_OP_GET_REL_POS, .n_src = add ? 3 : 1};
    if (add) {
        c.src[0] = gc_f32(seed, KH_CONTIGUOUS, w * w, r1 * r2, z, 1);
        c.src[1] = gc_f32(seed, KH_CONTIGUOUS, w, r1, r2, z);
        c.src[2] = gc_f32(seed, KH_CONTIGUOUS, w, r1, r2, z);
        c.params[0] = (int32_t)gc_pick(seed, 2);
        c.dst = c.params[0] != 0 ? kh_alias(c.src[0]) : kh_new(SR_TYPE_F32, KH_CONTIGUOUS, w * w, r1 * r2, z, 1);
    } else {
        c.src[0] = gc_fill(kh_new(SR_TYPE_F16, KH_CONTIGUOUS, w, 2 * r1 - 1, 1, 1), seed, false);
        c.dst = kh_new(SR_TYPE_F16, KH_CONTIGUOUS, w, r1, r1, 1);
    }
    return gc_try(&c, backend, 1e-6, 1);
}

static int try_solve(sr_backend *backend, uint64_t *seed) {
    const int64_t n = 1 + gc_pick(seed, 12), columns = 1 + gc_pick(seed, 300);
    kh_case c = {.op = SR_OP_SOLVE_TRI, .n_src = 2};
    c.src[0] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n, n, 2, 2), (uint64_t)gc_pick(seed, 1000), 1, 2);
    c.src[1] = gc_f32(seed, KH_CONTIGUOUS, columns, n, 2, 2);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, columns, n, 2, 2);
    return gc_try(&c, backend, 1e-3, 3);
}

static void check_training(sr_backend *backend) {
    uint64_t seed = 26;
    for (int i = 0; i < ROUNDS / 2; i++) {
        for (int k = 0; k < 2; k++) {
            assert_true(try_loss(backend, &seed, k == 1));
            assert_true(try_step(backend, &seed, k == 1 ? SR_OP_OPT_STEP_ADAMW : SR_OP_OPT_STEP_SGD));
            assert_true(try_window(backend, &seed, k == 1));
            assert_true(try_positions(backend, &seed, k == 1));
        }
        assert_true(try_solve(backend, &seed));
    }
}

static void test_training(void **state) {
    (void)state;
    gc_each_device(check_training);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recurrences),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
