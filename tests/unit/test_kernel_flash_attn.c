/*
 * test_kernel_flash_attn.c - FLASH_ATTN_EXT against the formula in double: types of the cache, shared heads, masks,
 * slopes, soft caps, sinks, more keys than a tile, rows that are masked throughout, and the rounding at every key.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

#include "kernels/mm_isa.h"

static double slope(const kh_case *c, int64_t h) {
    union { int32_t i; float f; } max_bias = {c->params[1]};
    const int64_t heads = c->src[0]->tensor.ne[2];
    if (max_bias.f <= 0) {
        return 1;
    }
    const double n = pow(2, floor(log2((double)heads)));
    return (double)h < n ? pow(pow(2, -(double)max_bias.f / n), (double)(h + 1))
                         : pow(pow(2, -(double)max_bias.f / (2 * n)), 2 * ((double)h - n) + 1);
}

/* Is the node computed in f32 throughout? */
static bool in_floats(const kh_case *c) {
    const int k = c->src[1]->tensor.type, v = c->src[2]->tensor.type;
    return k == v && (k == SR_TYPE_F32 || k == SR_TYPE_F16) && c->src[0]->tensor.ne[1] >= 64 &&
           c->src[2]->tensor.ne[0] % 16 == 0;
}

enum { MOST_KEYS = 256, MOST_DEPTH = 256 };

/* A query as it is multiplied: rounded to the companion type of the keys. */
static void query(const kh_case *c, int64_t h, int64_t n, int64_t i3, float *out) {
    const int64_t depth = c->src[0]->tensor.ne[0];
    const int type = c->src[1]->tensor.type;
    float row[MOST_DEPTH];
    assert_true(depth <= MOST_DEPTH);
    for (int64_t d = 0; d < depth; d++) {
        row[d] = out[d] = (float)kh_get(c->src[0], d, n, h, i3);
    }
    if (in_floats(c)) {
        return;
    }
    if (sr_type_get(type)->quantized) {
        sr__codes_round(type, row, depth, out);
        return;
    }
    for (int64_t d = 0; d < depth && type != SR_TYPE_F32; d++) {
        const bool f16 = type == SR_TYPE_F16;
        out[d] = f16 ? sr__f16_to_f32(sr__f32_to_f16(row[d])) : sr__bf16_to_f32(sr__f32_to_bf16(row[d]));
    }
}

static double score(const kh_case *c, int64_t j, int64_t h, int64_t n, int64_t i3) {
    union { int32_t i; float f; } scale = {c->params[0]}, cap = {c->params[2]};
    const sr_tensor *q = &c->src[0]->tensor, *k = &c->src[1]->tensor;
    float row[MOST_DEPTH];
    double z = 0;
    query(c, h, n, i3, row);
    for (int64_t d = 0; d < q->ne[0]; d++) {
        z += (double)row[d] * kh_get(c->src[1], d, j, h / (q->ne[2] / k->ne[2]), i3);
    }
    z *= (double)scale.f;
    if (cap.f != 0) {
        z = (double)cap.f * tanh(z / (double)cap.f);
    }
    if (c->src[3] != NULL) {
        const sr_tensor *m = &c->src[3]->tensor;
        const double mask = kh_get(c->src[3], j, n, h % m->ne[2], i3 % m->ne[3]);
        z = mask == -INFINITY ? -INFINITY : z + slope(c, h) * mask;
    }
    return z;
}

/* Result element [d, h, n, i3]; the weights of a row are kept while d runs. */
static double attention(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    static double weights[MOST_KEYS], sum;
    const int64_t keys = c->src[1]->tensor.ne[1], v_head = i[1] / (c->src[0]->tensor.ne[2] / c->src[2]->tensor.ne[2]);
    if (i[0] == 0) {
        double max = c->src[4] != NULL ? kh_get(c->src[4], i[1], 0, 0, 0) : -INFINITY;
        assert_true(keys <= MOST_KEYS);
        for (int64_t j = 0; j < keys; j++) {
            weights[j] = score(c, j, i[1], i[2], i[3]);
            max = fmax(max, weights[j]);
        }
        sum = c->src[4] != NULL ? exp(kh_get(c->src[4], i[1], 0, 0, 0) - max) : 0;
        for (int64_t j = 0; j < keys; j++) {
            weights[j] = max == -INFINITY ? 0 : exp(weights[j] - max);
            sum += weights[j];
        }
    }
    double out = 0;
    for (int64_t j = 0; j < keys; j++) {
        out += weights[j] > 0 ? weights[j] * kh_get(c->src[2], i[0], j, v_head, i[3]) : 0;
    }
    return sum > 0 ? out / sum : 0;
}

typedef struct setup {
    int k_type, v_type;
    int64_t dk, dv, n, keys, heads, k_heads, v_heads, batch;
    int64_t mask_heads, mask_batch; /* 0: no mask */
    double max_bias, softcap;
    bool sinks;
} setup;

static kh_case make(const setup *s, kh_layout layout) {
    kh_case c = {.op = SR_OP_FLASH_ATTN_EXT, .n_src = 5};
    c.params[0] = kh_bits(1 / sqrt((double)s->dk));
    c.params[1] = kh_bits(s->max_bias);
    c.params[2] = kh_bits(s->softcap);
    c.src[0] = kh_fill(kh_new(SR_TYPE_F32, layout, s->dk, s->n, s->heads, s->batch), 1, -3, 3);
    c.src[1] = kh_fill(kh_new(s->k_type, layout, s->dk, s->keys, s->k_heads, s->batch), 2, -1, 1);
    c.src[2] = kh_fill(kh_new(s->v_type, layout, s->dv, s->keys, s->v_heads, s->batch), 3, -1, 1);
    if (s->mask_heads > 0) {
        c.src[3] = kh_fill(kh_new(SR_TYPE_F16, KH_CONTIGUOUS, s->keys + 5, s->n + 3, s->mask_heads, s->mask_batch), 4,
                           -4, 0);
        KH_EACH(c.src[3], i) {
            if (i.at[0] > i.at[1] + s->keys / 3 || i.at[0] % 7 == 3) {
                kh_set(c.src[3], KH_I(i), -INFINITY);
            }
        }
    }
    if (s->sinks) {
        c.src[4] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, s->heads, 1, 1, 1), 5, -1, 3);
    }
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, s->dv, s->heads, s->n, s->batch);
    return c;
}

static void check(const setup *s, kh_layout layout) {
    for (int level = SR__MM_PLAIN; level <= SR__MM_AVX512; level++) {
        if (sr__mm_isa_limit((sr__mm_level)level)) {
            kh_case c = make(s, layout);
            /* sums that are rounded to f16 at every key stray further */
            kh_check_within(&c, attention, s->v_type == SR_TYPE_F16 && !in_floats(&c) ? 4e-3 : 1e-5);
            kh_case_free(&c);
        }
    }
    (void)sr__mm_isa_limit(SR__MM_AVX512);
}

static void test_shapes(void **state) {
    (void)state;
    static const setup SETUPS[] = {
        {SR_TYPE_F32, SR_TYPE_F32, 16, 16, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, false},
        {SR_TYPE_F32, SR_TYPE_F32, 24, 40, 3, 70, 4, 2, 4, 2, 0, 0, 0, 0, false},
        {SR_TYPE_F16, SR_TYPE_F16, 40, 24, 5, 64, 6, 2, 3, 1, 1, 1, 0, 0, false},
        {SR_TYPE_BF16, SR_TYPE_F32, 32, 32, 2, 65, 6, 6, 1, 2, 3, 2, 0, 0, true},
        {SR_TYPE_F16, SR_TYPE_F32, 8, 9, 20, 130, 12, 3, 3, 1, 12, 1, 8, 0, false},
        {SR_TYPE_F32, SR_TYPE_F16, 17, 33, 4, 129, 5, 1, 1, 2, 1, 2, 4, 30, true},
        {SR_TYPE_F32, SR_TYPE_F32, 16, 16, 33, 63, 8, 1, 1, 1, 0, 0, 0, 5, true},
        {SR_TYPE_F16, SR_TYPE_F16, 40, 48, 64, 66, 4, 2, 2, 1, 1, 1, 0, 0, false},
        {SR_TYPE_F32, SR_TYPE_F32, 24, 32, 65, 70, 4, 2, 1, 1, 2, 1, 0, 0, true},
        {SR_TYPE_F16, SR_TYPE_F16, 40, 200, 3, 66, 8, 2, 2, 1, 1, 1, 0, 0, true},
    };
    for (int i = 0; i < SR_COUNT(SETUPS); i++) {
        check(&SETUPS[i], KH_CONTIGUOUS);
        check(&SETUPS[i], KH_PERMUTED);
    }
    check(&SETUPS[1], KH_OUTER_GAPS);
}

static void test_quantized_cache(void **state) {
    (void)state;
    static const int TYPES[] = {SR_TYPE_Q8_0, SR_TYPE_Q4_0, SR_TYPE_Q5_1, SR_TYPE_IQ4_NL};
    for (int i = 0; i < SR_COUNT(TYPES); i++) {
        const setup s = {TYPES[i], TYPES[SR_COUNT(TYPES) - 1 - i], 64, 32, 3, 70, 4, 2, 2, 1, 1, 1, 0, 0, false};
        check(&s, KH_CONTIGUOUS);
    }
    const setup large = {SR_TYPE_Q4_K, SR_TYPE_Q6_K, 256, 256, 2, 20, 2, 1, 1, 1, 0, 0, 0, 0, false};
    check(&large, KH_CONTIGUOUS);
}

/* ---- rounding at every key --------------------------------------------------------------------------------------- */

static float half(float x) { return sr__f16_to_f32(sr__f32_to_f16(x)); }

/* One element of the result as the reference gets it, from scores that are exact. */
static float key_by_key(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t keys = c->src[1]->tensor.ne[1];
    float max = -INFINITY, sum = 0, out = 0;
    for (int64_t j = 0; j < keys; j++) {
        const float z = (float)score(c, j, i[1], i[2], i[3]), v = (float)kh_get(c->src[2], i[0], j, i[1] / 2, i[3]);
        float shrink = 1, weight = 1;
        if (z == -INFINITY) {
            continue;
        }
        if (z > max) {
            shrink = expf(max - z);
            max = z;
            out = half(out * shrink);
        } else {
            weight = expf(z - max);
        }
        out = half(fmaf(v, weight, out));
        sum = fmaf(sum, shrink, weight);
    }
    return out * (1 / sum);
}

static void test_rounding(void **state) {
    (void)state; /* halves of small whole numbers: products and their sums are exact, the results are so to the bit */
    const setup s = {SR_TYPE_F16, SR_TYPE_F16, 32, 150, 3, 130, 4, 2, 2, 1, 1, 1, 0, 0, false};
    for (int level = SR__MM_PLAIN; level <= SR__MM_AVX512; level++) {
        if (!sr__mm_isa_limit((sr__mm_level)level)) {
            continue;
        }
        kh_case c = make(&s, KH_PERMUTED);
        c.params[0] = kh_bits(0.25);
        for (int j = 0; j < 2; j++) {
            KH_EACH(c.src[j], i) {
                kh_set(c.src[j], KH_I(i), floor(2 * kh_get(c.src[j], KH_I(i))) / 2);
            }
        }
        KH_EACH(c.src[3], i) {
            kh_set(c.src[3], KH_I(i), floor(kh_get(c.src[3], KH_I(i))));
        }
        assert_true(kh_run(&c, 2, NULL));
        KH_EACH(c.dst, i) {
            assert_true(kh_get(c.dst, KH_I(i)) == (double)key_by_key(&c, i.at));
        }
        kh_case_free(&c);
    }
    (void)sr__mm_isa_limit(SR__MM_AVX512);
}

static void test_no_keys(void **state) {
    (void)state;
    const setup s = {SR_TYPE_F32, SR_TYPE_F32, 16, 16, 2, 0, 2, 2, 2, 1, 0, 0, 0, 0, false};
    setup sunk = s;
    sunk.sinks = true;
    check(&s, KH_CONTIGUOUS);
    check(&sunk, KH_CONTIGUOUS);
}

static void test_masked_throughout(void **state) {
    (void)state; /* a masked row gives zeros, and what masked keys and values hold does not matter */
    const setup s = {SR_TYPE_F32, SR_TYPE_F32, 16, 24, 3, 130, 4, 2, 2, 1, 1, 1, 0, 0, false};
    for (int sinks = 0; sinks < 2; sinks++) {
        kh_case c = make(&s, KH_CONTIGUOUS);
        if (sinks != 0) {
            c.src[4] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 4, 1, 1, 1), 5, -1, 3);
        }
        for (int64_t j = 0; j < 130; j++) {
            kh_set(c.src[3], j, 1, 0, 0, -INFINITY);
            if (j >= 60) {
                kh_set(c.src[3], j, 0, 0, 0, -INFINITY);
                kh_set(c.src[3], j, 2, 0, 0, j < 129 ? -INFINITY : 0);
            }
        }
        for (int64_t d = 0; d < 16; d++) {
            kh_set(c.src[1], d, 100, 0, 0, NAN);
            kh_set(c.src[2], d, 100, 1, 0, INFINITY);
            kh_set(c.src[2], d, 110, 1, 0, NAN);
        }
        kh_check_within(&c, attention, 1e-5);
        kh_case_free(&c);
    }
}

static void test_odd_value_of_an_open_key(void **state) {
    (void)state; /* an infinity reaches the columns that see it and no others */
    const setup s = {SR_TYPE_F32, SR_TYPE_F32, 16, 16, 3, 20, 2, 2, 2, 1, 1, 1, 0, 0, false};
    kh_case c = make(&s, KH_CONTIGUOUS);
    kh_set(c.src[3], 5, 0, 0, 0, -INFINITY);
    kh_set(c.src[3], 5, 1, 0, 0, 0);
    kh_set(c.src[3], 5, 2, 0, 0, -INFINITY);
    kh_set(c.src[2], 2, 5, 0, 0, INFINITY);
    assert_true(kh_run(&c, 2, NULL));
    KH_EACH(c.dst, i) {
        assert_int_equal(isfinite(kh_get(c.dst, KH_I(i))) == 0, i.at[0] == 2 && i.at[1] == 0 && i.at[2] == 1);
    }
    kh_case_free(&c);
}

static void test_refusals(void **state) {
    (void)state;
    const setup s = {SR_TYPE_F32, SR_TYPE_F32, 16, 16, 2, 4, 4, 2, 2, 1, 1, 1, 0, 0, true};
    kh_case c = make(&s, KH_CONTIGUOUS);
    assert_null(kh_refuse(&c));
    c.src[1]->tensor.type = SR_TYPE_I32;
    kh_check_refused(&c, "of this type have no kernel");
    c.src[1]->tensor.type = SR_TYPE_F32;
    c.src[1]->tensor.ne[2] = 3;
    kh_check_refused(&c, "do not fit together");
    c.src[1]->tensor.ne[2] = 2;
    c.src[3]->tensor.ne[0] = 3;
    kh_check_refused(&c, "the mask does not fit");
    c.src[4]->tensor.ne[0] = 3;
    kh_check_refused(&c, "one sink for each head");
    c.src[4]->tensor.ne[0] = 4;
    kh_operand *mask = c.src[3];
    c.src[3] = NULL;
    c.params[1] = kh_bits(8);
    kh_check_refused(&c, "max_bias needs a mask");
    kh_free(mask);
    kh_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_quantized_cache),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_no_keys),
        cmocka_unit_test(test_masked_throughout),
        cmocka_unit_test(test_odd_value_of_an_open_key),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
