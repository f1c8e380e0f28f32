/*
 * test_kernel_rope.c - ROPE and ROPE_BACK in every mode against naive evaluations.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

enum { NORMAL = 0, NEOX = 2, MROPE = 8, VISION = 24, IMROPE = 40 };
enum { HEADS = 3, TOKENS = 4, BATCHES = 2 };

static double word(const kh_case *c, int k) {
    union { int32_t i; float f; } v = {c->params[k]};
    return (double)v.f;
}

/* Component of pair j, and the exponent that goes with it where sections are not empty. */
static int component(const kh_case *c, int64_t j, int64_t *exponent) {
    const int32_t *s = &c->params[11];
    const int mode = c->params[2];
    *exponent = j;
    if ((mode & 8) == 0) {
        return 0;
    }
    const int64_t at = j % (s[0] + s[1] + s[2] + s[3]);
    if (mode == IMROPE) {
        const bool in_turn[3] = {at < 3 * s[0], at < 3 * s[1], at < 3 * s[2]};
        return in_turn[at % 3] ? (int)(at % 3) : 3;
    }
    int64_t begin = 0;
    for (int k = 0; k < 4; k++) {
        if (at < begin + s[k]) {
            *exponent = mode == VISION ? at - begin : j;
            return k;
        }
        begin += s[k];
    }
    return 3;
}

static double correction(const kh_case *c, double beta) {
    const double n_dims = c->params[1], n_ctx = c->params[4];
    return n_dims * log(n_ctx / (2 * 3.14159265358979323846 * beta)) / (2 * log(word(c, 5)));
}

static void angle_of(const kh_case *c, int64_t j, int64_t token, double *phi, double *size) {
    const double freq_scale = word(c, 6), ext = word(c, 7);
    int64_t k;
    const int part = component(c, j, &k);
    const double p = kh_get(c->src[1], token + part * TOKENS, 0, 0, 0);
    const double factor = c->src[2] != NULL ? kh_get(c->src[2], j, 0, 0, 0) : 1;
    const double theta = p * pow(word(c, 5), -2.0 * (double)k / c->params[1]) / factor;
    *phi = freq_scale * theta;
    *size = word(c, 8);
    if (ext != 0) {
        const double lo = fmax(0, floor(correction(c, word(c, 9))));
        const double hi = fmin(c->params[1] - 1, ceil(correction(c, word(c, 10))));
        const double r = ext * (1 - fmin(1, fmax(0, ((double)j - lo) / fmax(0.001, hi - lo))));
        *phi = freq_scale * theta * (1 - r) + theta * r;
        *size *= 1 + 0.1 * log(1 / freq_scale);
    }
}

static double want_rope(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int mode = c->params[2];
    const int64_t n_dims = c->params[1], span = mode == VISION ? n_dims : n_dims / 2;
    const bool adjacent = mode == NORMAL;
    if (i[0] >= 2 * span) {
        return kh_get(c->src[0], i[0], i[1], i[2], i[3]);
    }
    const int64_t j = adjacent ? i[0] / 2 : i[0] % span;
    const bool second = adjacent ? i[0] % 2 == 1 : i[0] >= span;
    double phi, size;
    angle_of(c, j, i[2], &phi, &size);
    const double x0 = kh_get(c->src[0], adjacent ? 2 * j : j, i[1], i[2], i[3]);
    const double x1 = kh_get(c->src[0], adjacent ? 2 * j + 1 : j + span, i[1], i[2], i[3]);
    const double s = size * sin(phi) * (c->op == SR_OP_ROPE_BACK ? -1 : 1);
    return second ? x0 * s + x1 * size * cos(phi) : x0 * size * cos(phi) - x1 * s;
}

static kh_case rope_case(int op, int type, kh_layout layout, int mode, int n0, int n_dims) {
    kh_case c = {.op = op, .n_src = 3, .params = {0, n_dims, mode, 0, 512}};
    c.params[5] = kh_bits(10000), c.params[6] = kh_bits(1), c.params[8] = kh_bits(1);
    c.params[9] = kh_bits(32), c.params[10] = kh_bits(1);
    if ((mode & 8) != 0) {
        c.params[11] = 2, c.params[12] = 3, c.params[13] = 1, c.params[14] = 1;
    }
    c.src[0] = kh_fill(kh_new(type, layout, n0, HEADS, TOKENS, BATCHES), 1, -1, 1);
    c.src[1] = kh_fill(kh_new(SR_TYPE_I32, KH_CONTIGUOUS, (mode & 8) != 0 ? 4 * TOKENS : TOKENS, 1, 1, 1), 2, 0, 90);
    c.dst = kh_new(type, KH_CONTIGUOUS, n0, HEADS, TOKENS, BATCHES);
    return c;
}

static const int modes[] = {NORMAL, NEOX, MROPE, VISION, IMROPE};
static const kh_layout dense[] = {KH_CONTIGUOUS, KH_ROW_GAPS, KH_OUTER_GAPS, KH_PERMUTED};

/* Angles are made in f32, one from the other, as the reference makes them. */
static void check_free(kh_case *c) {
    kh_check_within(c, want_rope, fmax(kh_tolerance(c->dst->tensor.type), 5e-5));
    kh_case_free(c);
}

static void test_modes(void **state) {
    static const int types[] = {SR_TYPE_F32, SR_TYPE_F16};
    (void)state;
    for (int m = 0; m < SR_COUNT(modes); m++) {
        for (int form = 0; form < 16; form++) {
            const int n_dims = modes[m] == VISION || form % 2 == 1 ? 16 : 32;
            const int op = form / 8 == 0 ? SR_OP_ROPE : SR_OP_ROPE_BACK;
            kh_case c = rope_case(op, types[form / 4 % 2], dense[form % 4], modes[m], 32, n_dims);
            if (form % 3 == 0) { /* YaRN */
                c.params[6] = kh_bits(0.25), c.params[7] = kh_bits(0.75), c.params[8] = kh_bits(1.5);
            }
            if (form % 4 == 1) {
                c.src[2] = kh_fill(kh_new(SR_TYPE_F32, KH_SPREAD, 16, 1, 1, 1), 3, 1, 4);
            }
            if (form % 4 == 2) {
                kh_free(c.dst);
                c.dst = kh_alias(c.src[0]);
            }
            check_free(&c);
        }
    }
}

/* A single row has the layout of the factors, so the allocator may put the result over them. */
static void test_over_the_factors(void **state) {
    (void)state;
    kh_case c = rope_case(SR_OP_ROPE, SR_TYPE_F32, KH_CONTIGUOUS, NEOX, 32, 32);
    for (int j = 0; j < 2; j++) {
        kh_free(c.src[j]);
    }
    kh_free(c.dst);
    c.src[0] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 32, 1, 1, 1), 1, -1, 1);
    c.src[1] = kh_fill(kh_new(SR_TYPE_I32, KH_CONTIGUOUS, 1, 1, 1, 1), 2, 5, 5);
    c.src[2] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 32, 1, 1, 1), 3, 1, 4);
    c.dst = kh_alias(c.src[2]);
    check_free(&c);
}

/* An empty first section: the exponent of the second one is never reset, but counts on. */
static void test_vision_with_an_empty_section(void **state) {
    (void)state;
    kh_case c = rope_case(SR_OP_ROPE, SR_TYPE_F32, KH_CONTIGUOUS, VISION, 16, 8);
    c.params[11] = 0, c.params[12] = 4, c.params[13] = 0, c.params[14] = 0;
    assert_true(kh_run(&c, 1, NULL));
    for (int64_t j = 0; j < 8; j++) { /* at 0 the first counter is reset, not the second */
        const double p = kh_get(c.src[1], 1 * TOKENS, 0, 0, 0), phi = p * pow(10000, -2.0 * (double)j / 8);
        const int64_t at[SR_MAX_DIMS] = {j, 0, 0, 0};
        kh_same(c.dst, at, kh_get(c.src[0], j, 0, 0, 0) * cos(phi) - kh_get(c.src[0], j + 8, 0, 0, 0) * sin(phi), 1e-5);
    }
    kh_case_free(&c);
}

static void test_refusals(void **state) {
    (void)state;
    kh_case c = rope_case(SR_OP_ROPE, SR_TYPE_F32, KH_CONTIGUOUS, NEOX, 16, 16);
    c.params[2] = 1;
    kh_check_refused(&c, "mode");
    c.params[2] = VISION;
    kh_check_refused(&c, "half the length");
    c.params[2] = MROPE;
    kh_check_refused(&c, "sections");
    c.params[11] = 4;
    kh_check_refused(&c, "fewer positions");
    c.params[2] = NORMAL;
    c.params[1] = 18;
    kh_check_refused(&c, "number of dimensions");
    c.params[1] = 16;
    c.src[2] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 7, 1, 1, 1);
    kh_check_refused(&c, "factors");
    kh_case_free(&c);
    c = rope_case(SR_OP_ROPE, SR_TYPE_BF16, KH_CONTIGUOUS, NORMAL, 16, 16);
    kh_check_refused(&c, "f32 or f16");
    kh_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_over_the_factors),
        cmocka_unit_test(test_vision_with_an_empty_section),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
