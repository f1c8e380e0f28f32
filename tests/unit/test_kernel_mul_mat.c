/*
 * test_kernel_mul_mat.c - MUL_MAT and MUL_MAT_ID against naive double sums: types, shapes, strides, broadcasts,
 * threads,
 * and every set of inner loops that the machine has.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

#include "kernels/mm_isa.h"

/* The squared error over the squared expectation that results may have. */
static double allowed(int a_type) {
    return sr_type_get(a_type)->quantized ? 5e-4 : a_type == SR_TYPE_BF16 ? 1e-3 : a_type == SR_TYPE_F16 ? 1e-5 : 1e-12;
}

/* The values of an operand, rows behind each other. */
static double *dense(const kh_operand *o) {
    const int64_t n = sr_tensor_nelements(&o->tensor);
    double *values = malloc(((size_t)n + 1) * sizeof(*values)), *to = values;
    const int block = sr_type_get(o->tensor.type)->block;
    float part[256];
    assert_non_null(values);
    KH_EACH(o, i) {
        if (block > 1 && i.at[0] % block == 0) {
            sr__row_to_f32(o->tensor.type, kh_at(o, KH_I(i)), part, block);
        }
        *to++ = block > 1 ? (double)part[i.at[0] % block] : kh_get(o, KH_I(i));
    }
    return values;
}

/* The squared error of a result over the squared expectation. */
static double product_error(const kh_case *c) {
    const sr_tensor *a = &c->src[0]->tensor, *b = &c->src[1]->tensor;
    double *a_values = dense(c->src[0]), *b_values = dense(c->src[1]), wrong = 0, all = 0;
    KH_EACH(c->dst, i) {
        int64_t a2, a3 = 0, b1 = i.at[1];
        if (c->op == SR_OP_MUL_MAT_ID) {
            a2 = (int64_t)kh_get(c->src[2], i.at[1], i.at[2], 0, 0);
            b1 = i.at[1] % b->ne[1];
        } else {
            a2 = i.at[2] / (b->ne[2] / a->ne[2]);
            a3 = i.at[3] / (b->ne[3] / a->ne[3]);
        }
        const double *x = a_values + ((a3 * a->ne[2] + a2) * a->ne[1] + i.at[0]) * a->ne[0];
        const double *y = b_values + ((i.at[3] * b->ne[2] + i.at[2]) * b->ne[1] + b1) * b->ne[0];
        double want = 0;
        for (int64_t k = 0; k < a->ne[0]; k++) {
            want += x[k] * y[k];
        }
        const double got = kh_get(c->dst, KH_I(i));
        wrong += (got - want) * (got - want);
        all += want * want;
    }
    free(a_values);
    free(b_values);
    return all > 0 ? wrong / all : wrong;
}

/* One and three threads: the same bits, near the naive sums, nothing written between the elements. */
static void check_product(const kh_case *c) {
    const size_t size = c->dst->size + 1;
    char *before = malloc(size), *first = malloc(size);
    assert_true(before != NULL && first != NULL);
    memcpy(before, c->dst->memory, size);
    if (kh_refuse(c) != NULL) {
        fail_msg("refused: %s", kh_refuse(c));
    }
    assert_true(kh_run(c, 1, NULL));
    memcpy(first, c->dst->memory, size);
    memcpy(c->dst->memory, before, size);
    assert_true(kh_run(c, 3, NULL));
    assert_memory_equal(first, c->dst->memory, size);
    const double error = product_error(c);
    if (!(error <= allowed(c->src[0]->tensor.type))) {
        fail_msg("%s x %s [%lld, %lld] x %lld: error %.3g", sr_type_get(c->src[0]->tensor.type)->name,
                 sr_type_get(c->src[1]->tensor.type)->name, (long long)c->src[0]->tensor.ne[0],
                 (long long)c->src[0]->tensor.ne[1], (long long)c->src[1]->tensor.ne[1], error);
    }
    kh_check_gaps(c->dst, before);
    free(before);
    free(first);
}

typedef struct shape { int64_t k, m, n, a2, a3, b2, b3; } shape;

static void product(int a_type, int b_type, kh_layout a_layout, kh_layout b_layout, kh_layout y_layout,
                    const shape *s) {
    kh_case c = {.op = SR_OP_MUL_MAT, .n_src = 2};
    c.src[0] = kh_fill(kh_new(a_type, a_layout, s->k, s->m, s->a2, s->a3), 1, -1, 1);
    c.src[1] = kh_fill(kh_new(b_type, b_layout, s->k, s->n, s->b2, s->b3), 2, -1, 1);
    c.dst = kh_new(SR_TYPE_F32, y_layout, s->m, s->n, s->b2, s->b3);
    check_product(&c);
    kh_case_free(&c);
}

/* So many columns that rows are packed. */
static int64_t many(int64_t k) { return 32768 / k + 9; }

/* ---- with every set of loops ------------------------------------------------------------------------------------- */

static void each_level(void (*test)(void)) {
    for (int level = SR__MM_PLAIN; level <= SR__MM_AVX512; level++) {
        if (sr__mm_isa_limit((sr__mm_level)level)) {
            test();
        }
    }
    (void)sr__mm_isa_limit(SR__MM_AVX512);
}

static void shapes_of_floats(void) {
    static const int64_t K[] = {1, 3, 16, 33, 515}, M[] = {1, 5, 32, 37, 70}, N[] = {1, 2, 4, 7, 8, 9, 13, 25, 0};
    for (int i = 0; i < SR_COUNT(K); i++) {
        for (int j = 0; j < SR_COUNT(M); j++) {
            for (int l = 0; l < SR_COUNT(N); l++) {
                const shape s = {K[i], M[j], N[l] > 0 ? N[l] : many(K[i]), 1, 1, 1, 1};
                if (s.n > 3000) {
                    continue;
                }
                product(SR_TYPE_F32, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &s);
                if ((i + j + l) % 3 == 0) {
                    product(SR_TYPE_F16, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &s);
                    product(SR_TYPE_BF16, SR_TYPE_F32, KH_ROW_GAPS, KH_CONTIGUOUS, KH_CONTIGUOUS, &s);
                }
            }
        }
    }
}

static void types_and_companions(void) {
    static const shape FEW = {512, 35, 3, 1, 1, 1, 1}, MANY = {2560, 67, 19, 1, 1, 1, 1};
    for (int type = 0; type < SR_TYPE_COUNT; type++) {
        if (!sr__type_can_read(type)) {
            continue;
        }
        product(type, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &FEW);
        product(type, SR_TYPE_F32, KH_ROW_GAPS, KH_OUTER_GAPS, KH_ROW_GAPS, &MANY);
        const int companion = sr__type_companion(type);
        if (sr__type_can_read(companion)) { /* kh_get must be able to read it */
            product(type, companion, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &FEW);
            product(type, companion, KH_CONTIGUOUS, KH_ROW_GAPS, KH_CONTIGUOUS, &MANY);
        }
    }
}

static void odd_blocks(void) {
    static const int64_t K[] = {32, 64, 96, 288, 2048 + 32, 4096 + 160};
    for (int i = 0; i < SR_COUNT(K); i++) {
        const shape few = {K[i], 9, 5, 1, 1, 1, 1}, packed = {K[i], 40, many(K[i]), 1, 1, 1, 1};
        product(SR_TYPE_Q4_0, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &few);
        product(SR_TYPE_Q8_0, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &packed);
        product(SR_TYPE_Q8_0, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &few);
        product(SR_TYPE_Q5_0, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &few);
        product(SR_TYPE_IQ4_NL, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &few);
        product(SR_TYPE_MXFP4, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &few);
        product(SR_TYPE_Q5_1, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &few);
        product(SR_TYPE_Q4_1, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &packed);
        if (K[i] % 64 == 0) {
            product(SR_TYPE_NVFP4, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &few);
            product(SR_TYPE_NVFP4, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &packed);
        }
    }
}

static void layouts_and_broadcasts(void) {
    static const kh_layout LAYOUTS[] = {KH_CONTIGUOUS, KH_ROW_GAPS, KH_OUTER_GAPS, KH_PERMUTED};
    static const shape SHAPES[] = {{64, 33, 2, 2, 3, 6, 3}, {64, 17, 13, 2, 1, 4, 2}, {96, 40, 1, 1, 1, 5, 1},
                                   {64, 17, 140, 2, 1, 4, 2}};
    static const int TYPES[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_Q8_0};
    for (int i = 0; i < SR_COUNT(LAYOUTS); i++) {
        for (int j = 0; j < SR_COUNT(LAYOUTS); j++) {
            for (int l = 0; l < SR_COUNT(SHAPES); l++) {
                product(TYPES[(i + j) % 3], SR_TYPE_F32, LAYOUTS[i], LAYOUTS[j], LAYOUTS[(i + l) % 3], &SHAPES[l]);
            }
        }
    }
}

static void experts(int type, int64_t k, int64_t m, int64_t n_experts, int64_t used, int64_t slots, int64_t tokens) {
    kh_case c = {.op = SR_OP_MUL_MAT_ID, .n_src = 3};
    c.src[0] = kh_fill(kh_new(type, KH_CONTIGUOUS, k, m, n_experts, 1), 1, -1, 1);
    c.src[1] = kh_fill(kh_new(SR_TYPE_F32, KH_ROW_GAPS, k, slots, tokens, 1), 2, -1, 1);
    c.src[2] = kh_fill(kh_new(SR_TYPE_I32, KH_SPREAD, used, tokens, 1, 1), 3, 0, (double)(n_experts - 1));
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, m, used, tokens, 1);
    check_product(&c);
    kh_case_free(&c);
}

static void all_experts(void) {
    experts(SR_TYPE_F32, 40, 33, 5, 2, 1, 7);
    experts(SR_TYPE_F32, 40, 33, 3, 4, 4, 30);
    experts(SR_TYPE_F32, 515, 33, 2, 2, 1, 80);
    experts(SR_TYPE_F16, 64, 20, 8, 2, 2, 3);
    experts(SR_TYPE_Q4_0, 96, 70, 4, 4, 2, 20);
    experts(SR_TYPE_Q4_0, 1056, 70, 2, 2, 1, 40);
    experts(SR_TYPE_Q4_K, 256, 40, 16, 1, 1, 1);
    experts(SR_TYPE_Q6_K, 512, 40, 2, 2, 1, 24);
}

static void test_floats(void **state) {
    (void)state;
    each_level(shapes_of_floats);
}
static void test_types(void **state) {
    (void)state;
    each_level(types_and_companions);
}
static void test_odd_blocks(void **state) {
    (void)state;
    each_level(odd_blocks);
}
static void test_layouts(void **state) {
    (void)state;
    each_level(layouts_and_broadcasts);
}
static void test_experts(void **state) {
    (void)state;
    each_level(all_experts);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static void test_rounds(void **state) {
    (void)state; /* more columns than one round prepares, within a group and across groups */
    static const shape ONE = {4, 3, 17000, 1, 1, 1, 1}, PLANES = {4, 2, 5, 5000, 1, 5000, 1};
    product(SR_TYPE_F16, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &ONE);
    product(SR_TYPE_F16, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, &PLANES);
}

/* Columns of q8_1 and q8_K cannot be read back by the library: they are made of codes that are known here. */
static void test_unreadable_companions(void **state) {
    (void)state;
    static const int TYPES[] = {SR_TYPE_Q4_1, SR_TYPE_Q5_1, SR_TYPE_Q4_K, SR_TYPE_Q2_K, SR_TYPE_Q6_K};
    for (int t = 0; t < SR_COUNT(TYPES); t++) {
        for (int64_t n = 2; n <= 20; n += 18) {
            kh_case c = {.op = SR_OP_MUL_MAT, .n_src = 2};
            kh_operand *b = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 512, n, 1, 1), 2, -1, 1);
            c.src[0] = kh_fill(kh_new(TYPES[t], KH_CONTIGUOUS, 512, 9, 1, 1), 1, -1, 1);
            c.src[1] = kh_new(sr__type_companion(TYPES[t]), KH_CONTIGUOUS, 512, n, 1, 1);
            sr__row_from_f32(c.src[1]->tensor.type, (float *)(void *)b->memory, c.src[1]->memory, 512 * n);
            c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 9, n, 1, 1);
            for (int level = SR__MM_PLAIN; level <= SR__MM_AVX512; level++) {
                if (!sr__mm_isa_limit((sr__mm_level)level)) {
                    continue;
                }
                assert_true(kh_run(&c, 2, NULL));
                const kh_case f = {.op = SR_OP_MUL_MAT, .n_src = 2, .dst = c.dst, .src = {c.src[0], b}};
                assert_true(product_error(&f) <= 5e-4);
            }
            (void)sr__mm_isa_limit(SR__MM_AVX512);
            kh_free(b);
            kh_case_free(&c);
        }
    }
}

/* Codes, scales and minima stand for exactly the values that the row reader gives, for any bytes. */
static void test_unpacking(void **state) {
    (void)state;
    const sr__codes_isa *isa = sr__mm_isa_get()->codes;
    if (isa == NULL || isa->unpack == NULL) {
        skip(); /* this machine does not unpack to codes */
    }
    uint64_t seed = 1;
    for (int type = 0; type < SR_TYPE_COUNT; type++) {
        const sr__codes_type *codes = sr__codes_get(type);
        for (int round = 0; codes != NULL && round < 50; round++) {
            uint8_t row[1024], unpacked[512];
            float scale[32], min[32] = {0}, values[512];
            for (int i = 0; i < 1024; i++) {
                row[i] = (uint8_t)(256 * kh_random(&seed));
            }
            isa->unpack(type)(row, 512, unpacked, scale, min);
            sr__row_to_f32(type, row, values, 512);
            for (int i = 0; i < 512; i++) {
                const float got = scale[i / codes->sub] * (float)(unpacked[i] - codes->bias) - min[i / codes->sub];
                if (!(got == values[i] || (isnan(got) && isnan(values[i])))) {
                    fail_msg("%s: value %d is %.9g, not %.9g", sr_type_get(type)->name, i, (double)got,
                             (double)values[i]);
                }
            }
        }
    }
}

/* ---- the order of sums ------------------------------------------------------------------------------------------- */

static float add_lanes(const float *v, int n) {
    float s[8];
    for (int i = 0; i < 8; i++) {
        s[i] = n == 16 ? v[i] + v[i + 8] : v[i];
    }
    for (int i = 0; i < 4; i++) {
        s[i] += s[i + 4];
    }
    return (s[0] + s[2]) + (s[1] + s[3]);
}

/* Four times sixteen sums; the rest in f64 for halves. */
static float ordered_floats(const float *x, const float *y, int64_t n, bool halves) {
    float s[4][16] = {{0}};
    const int64_t whole = n / 64 * 64;
    for (int64_t i = 0; i < whole; i++) {
        float *lane = &s[i / 16 % 4][i % 16];
        *lane = fmaf(x[i], y[i], *lane);
    }
    for (int l = 0; l < 16; l++) {
        s[0][l] = (s[0][l] + s[2][l]) + (s[1][l] + s[3][l]);
    }
    float sum = add_lanes(s[0], 16);
    double exact = (double)sum;
    for (int64_t i = whole; i < n; i++) {
        const float product = x[i] * y[i];
        sum += product;
        exact += (double)product;
    }
    return halves ? (float)exact : sum;
}

/* Eight sums of four products each, block by block; `sets` times. */
static float ordered_codes(int type, const uint8_t *row, const float *y, int64_t n, int sets) {
    float s[2][8] = {{0}}, scale[64];
    int8_t codes[2048];
    const int bytes = sr_type_get(type)->bytes;
    sr__codes_quantize(type, y, n, codes, scale);
    for (int64_t b = 0; b < n / 32; b++) {
        uint16_t half;
        float values[32];
        memcpy(&half, row + b * bytes, sizeof(half));
        sr__row_to_f32(type, row + b * bytes, values, 32);
        const float d = type == SR_TYPE_MXFP4 ? ldexpf(1, row[b * bytes] - 128) : sr__f16_to_f32(half);
        for (int i = 0; i < 8; i++) {
            float sum = 0; /* of whole numbers */
            for (int j = 4 * i; j < 4 * i + 4; j++) {
                sum += roundf(values[j] / d) * (float)codes[32 * b + j];
            }
            s[b % sets][i] = fmaf(sum, d * scale[b], s[b % sets][i]);
        }
    }
    for (int i = 0; i < 8 && sets == 2; i++) {
        s[0][i] += s[1][i];
    }
    return add_lanes(s[0], 8);
}

/* q4_K: whole numbers for each 256 values, in eight sums for its scales and four for its minima. */
static float ordered_q4_k(const uint8_t *row, const float *y, int64_t n) {
    float s[8] = {0}, m[4] = {0}, y_scale[64];
    int8_t codes[2048];
    sr__codes_quantize(SR_TYPE_Q4_K, y, n, codes, y_scale);
    for (int64_t b = 0; b < n / 256; b++, row += 144) {
        uint16_t d, dmin;
        int32_t sum[8] = {0}, fix[4] = {0};
        memcpy(&d, row, sizeof(d));
        memcpy(&dmin, row + 2, sizeof(dmin));
        for (int j = 0; j < 8; j++) {
            const uint8_t *p = row + 4;
            const int scale = j < 4 ? p[j] & 63 : (p[j + 4] & 15) | p[j - 4] >> 6 << 4;
            const int min = j < 4 ? p[j + 4] & 63 : p[j + 4] >> 4 | p[j] >> 6 << 4;
            for (int i = 0; i < 32; i++) {
                const int code = row[16 + j / 2 * 32 + i] >> 4 * (j % 2) & 15, x = codes[256 * b + 32 * j + i];
                sum[i / 4] += scale * code * x;
                fix[j / 2] += min * x;
            }
        }
        for (int i = 0; i < 8; i++) {
            s[i] = fmaf(y_scale[8 * b] * sr__f16_to_f32(d), (float)sum[i], s[i]);
        }
        for (int i = 0; i < 4; i++) {
            m[i] = fmaf(-y_scale[8 * b] * sr__f16_to_f32(dmin), (float)fix[i], m[i]);
        }
    }
    return add_lanes(s, 8) + ((m[0] + m[2]) + (m[1] + m[3]));
}

static void check_order(int type, int64_t k, int64_t n) {
    kh_case c = {.op = SR_OP_MUL_MAT, .n_src = 2};
    c.src[0] = kh_fill(kh_new(type, KH_CONTIGUOUS, k, 7, 1, 1), 1, -1, 1);
    c.src[1] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, k, n, 1, 1), 2, -1, 1);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 7, n, 1, 1);
    assert_true(kh_run(&c, 2, NULL));
    KH_EACH(c.dst, i) {
        const char *row = kh_at(c.src[0], 0, i.at[0], 0, 0);
        const float *y = (const float *)(const void *)kh_at(c.src[1], 0, i.at[1], 0, 0);
        float x[2048], rounded[2048], want;
        sr__row_to_f32(type, row, x, k);
        for (int64_t j = 0; j < k; j++) {
            rounded[j] = type == SR_TYPE_F16 ? sr__f16_to_f32(sr__f32_to_f16(y[j])) : y[j];
        }
        if (type == SR_TYPE_Q4_K) {
            want = ordered_q4_k((const uint8_t *)row, y, k);
        } else if (sr_type_get(type)->quantized) {
            const int sets = type == SR_TYPE_IQ4_NL || type == SR_TYPE_MXFP4 ? 2 : 1;
            want = ordered_codes(type, (const uint8_t *)row, y, k, sets);
        } else {
            want = ordered_floats(x, rounded, k, type == SR_TYPE_F16);
        }
        if (kh_get(c.dst, KH_I(i)) != (double)want) {
            fail_msg("%s, k %lld: [%lld, %lld] is %.9g, not %.9g", sr_type_get(type)->name, (long long)k,
                     (long long)i.at[0], (long long)i.at[1], kh_get(c.dst, KH_I(i)), (double)want);
        }
    }
    kh_case_free(&c);
}

/* With AVX2 and AVX-512 few columns, and small products, are summed up in the order of the reference: the same bits. */
static void orders(void) {
    static const int TYPES[] = {SR_TYPE_F32,  SR_TYPE_F16,    SR_TYPE_Q4_0, SR_TYPE_Q5_0,
                                SR_TYPE_Q8_0, SR_TYPE_IQ4_NL, SR_TYPE_MXFP4};
    if (sr__mm_isa_get() == &sr__mm_plain) {
        return; /* it adds in another order */
    }
    for (int t = 0; t < SR_COUNT(TYPES); t++) {
        for (int64_t n = 1; n <= 5; n++) {
            check_order(TYPES[t], 64, n);
            check_order(TYPES[t], 32 * n, n);
            check_order(TYPES[t], 1024 + 64 * n, n);
        }
        check_order(TYPES[t], 192, 50);
        check_order(TYPES[t], 608, 3);
    }
    check_order(SR_TYPE_F16, 83, 2);
    check_order(SR_TYPE_F32, 83, 3);
    if (sr__mm_isa_get()->codes->direct(SR_TYPE_Q4_K) != NULL) {
        check_order(SR_TYPE_Q4_K, 256, 5);
        check_order(SR_TYPE_Q4_K, 1024, 3);
    }
}

static void test_order(void **state) {
    (void)state;
    each_level(orders);
}

static double hadamard(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t k = c->src[0]->tensor.ne[0];
    double sum = 0;
    for (int64_t j = 0; j < k; j++) {
        const double v = kh_get(c->src[1], j, i[1], i[2], i[3]);
        sum += __builtin_popcountll((unsigned long long)(i[0] & j)) % 2 != 0 ? -v : v;
    }
    return sum / sqrt((double)k);
}

static void test_hadamard(void **state) {
    (void)state;
    for (int64_t k = 1; k <= 256; k *= 4) {
        kh_case c = {.op = SR_OP_MUL_MAT, .n_src = 2, .params = {0, 1}};
        c.src[0] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, k, k, 1, 1), 1, 5, 9); /* not looked at */
        c.src[1] = kh_fill(kh_new(SR_TYPE_F32, KH_PERMUTED, k, 3, 2, 2), 2, -1, 1);
        c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, k, 3, 2, 2);
        kh_check(&c, hadamard);
        kh_case_free(&c);
    }
}

static void test_not_finite(void **state) {
    (void)state; /* a NaN in a column reaches all its results, and no others, whatever the type */
    static const int TYPES[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_Q4_0, SR_TYPE_Q6_K};
    for (int t = 0; t < SR_COUNT(TYPES); t++) {
        for (int64_t n = 2; n <= 12; n += 10) {
            kh_case c = {.op = SR_OP_MUL_MAT, .n_src = 2};
            c.src[0] = kh_fill(kh_new(TYPES[t], KH_CONTIGUOUS, 256, 6, 1, 1), 1, 0.5, 1);
            c.src[1] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 256, n, 1, 1), 2, -1, 1);
            c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 6, n, 1, 1);
            kh_set(c.src[1], 77, 1, 0, 0, NAN);
            assert_true(kh_run(&c, 2, NULL));
            KH_EACH(c.dst, i) {
                assert_int_equal(isnan(kh_get(c.dst, KH_I(i))) != 0, i.at[1] == 1);
            }
            kh_case_free(&c);
        }
    }
}

static void test_refusals(void **state) {
    (void)state;
    static const struct { int a, b; kh_layout layout; const char *words; } CASES[] = {
        {SR_TYPE_Q4_0, SR_TYPE_I32, KH_CONTIGUOUS, "must be f32 or the companion"},
        {SR_TYPE_F32, SR_TYPE_F16, KH_CONTIGUOUS, "must be f32 or the companion"},
        {SR_TYPE_IQ2_XS, SR_TYPE_F32, KH_CONTIGUOUS, "this type have no kernel"},
        {SR_TYPE_I32, SR_TYPE_F32, KH_CONTIGUOUS, "this type have no kernel"},
        {SR_TYPE_F32, SR_TYPE_F32, KH_SPREAD, "rows must be dense"},
    };
    for (int t = 0; t < SR_COUNT(CASES); t++) {
        kh_case c = {.op = SR_OP_MUL_MAT, .n_src = 2};
        c.src[0] = kh_new(CASES[t].a, KH_CONTIGUOUS, 256, 2, 1, 1);
        c.src[1] = kh_new(CASES[t].b, CASES[t].layout, 256, 2, 1, 1);
        c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 2, 2, 1, 1);
        kh_check_refused(&c, CASES[t].words);
        kh_case_free(&c);
    }
}

static void test_bad_expert(void **state) {
    (void)state;
    kh_case c = {.op = SR_OP_MUL_MAT_ID, .n_src = 3};
    c.src[0] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 64, 64, 4, 1), 1, -1, 1);
    c.src[1] = kh_fill(kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 64, 1, 30, 1), 2, -1, 1);
    c.src[2] = kh_fill(kh_new(SR_TYPE_I32, KH_CONTIGUOUS, 2, 30, 1, 1), 3, 0, 3);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 64, 2, 30, 1);
    kh_set(c.src[2], 1, 17, 0, 0, 4);
    kh_check_fails(&c, "expert 4 of token 17 is outside 0..3");
    kh_set(c.src[2], 1, 17, 0, 0, -1);
    kh_check_fails(&c, "expert -1 of token 17");
    kh_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),          cmocka_unit_test(test_types),
        cmocka_unit_test(test_odd_blocks),      cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_experts),         cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_unreadable_companions), cmocka_unit_test(test_hadamard),
        cmocka_unit_test(test_not_finite),      cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_bad_expert),      cmocka_unit_test(test_unpacking),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
