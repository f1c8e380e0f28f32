/*
 * test_quant.c - row converters: blocks worked out by hand, every half, formulas index by index, error bounds.
 *
 * Layer: tests.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "graph/quant.h"

static uint64_t seed = 1;

static float uniform(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(seed >> 32) * 0x1p-31f;
}

static uint8_t random_byte(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint8_t)(seed >> 40);
}

static float half_at(const uint8_t *p) { return sr__f16_to_f32((uint16_t)(p[0] | p[1] << 8)); }

/* ---- halves ---------------------------------------------------------------------------------------------------- */

static void test_f16(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        const int exponent = (int)(h >> 10 & 31), mantissa = (int)(h & 1023);
        const double magnitude = exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);
        const float f = sr__f16_to_f32((uint16_t)h);
        if (exponent == 31) {
            assert_true(mantissa == 0 ? isinf(f) : isnan(f));
            assert_int_equal(sr__bits_of_f32(f) >> 31, h >> 15);
            assert_int_equal(sr__f32_to_f16(f), mantissa == 0 ? h : ((h & 0x8000) | 0x7E00));
            continue;
        }
        assert_true((double)f == (h >> 15 != 0 ? -magnitude : magnitude));
        assert_int_equal(sr__bits_of_f32(f) >> 31, h >> 15);
        assert_int_equal(sr__f32_to_f16(f), h);
        if ((h & 0x7FFF) < 0x7BFF) { /* half way to the next: to even; a little more or less: to the nearer */
            const float next = sr__f16_to_f32((uint16_t)(h + 1)), middle = 0.5f * f + 0.5f * next;
            assert_int_equal(sr__f32_to_f16(middle), h + (h & 1));
            assert_int_equal(sr__f32_to_f16(nextafterf(middle, f)), h);
            assert_int_equal(sr__f32_to_f16(nextafterf(middle, next)), h + 1);
        }
    }
    assert_int_equal(sr__f32_to_f16(65519.996f), 0x7BFF);
    assert_int_equal(sr__f32_to_f16(65520.0f), 0x7C00);
    assert_int_equal(sr__f32_to_f16(-1e30f), 0xFC00);
    assert_int_equal(sr__f32_to_f16(-0x1p-25f), 0x8000);
    assert_int_equal(sr__f32_to_f16(0x1p-149f), 0x0000);
}

static void test_bf16(void **state) {
    (void)state;
    static const struct { uint32_t from; uint16_t to; } CASES[] = {
        {0x3F800000, 0x3F80}, {0x3F808000, 0x3F80}, {0x3F818000, 0x3F82}, {0x3F808001, 0x3F81}, {0x7F7FFFFF, 0x7F80},
        {0x7F800000, 0x7F80}, {0xFF800000, 0xFF80}, {0x7F800001, 0x7FC0}, {0xFFFFFFFF, 0xFFFF}, {0x00000001, 0x0000},
        {0x00008001, 0x0001}, {0x80000000, 0x8000}, {0x7FA12345, 0x7FE1},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        assert_int_equal(sr__f32_to_bf16(sr__f32_of_bits(CASES[i].from)), CASES[i].to);
    }
    assert_int_equal(sr__bits_of_f32(sr__bf16_to_f32(0x7F81)), 0x7F810000);
}

/* Rows, whose vectors may take another way, agree with single values; a NaN's payload is dropped there too. */
static void test_rows_of_halves(void **state) {
    (void)state;
    float values[83], back[83];
    uint8_t halves[2 * 83], brains[2 * 83];
    for (int round = 0; round < 500; round++) {
        for (uint32_t i = 0; i < 83; i++) {
            const uint32_t high = (uint32_t)random_byte() << 24, bits = high | (uint32_t)random_byte() << 16 | i << 8;
            values[i] = round % 3 == 0 ? sr__f32_of_bits(bits) : uniform() * 100.0f;
        }
        values[round % 83] = sr__f32_of_bits(0xFFABCDEFu);
        sr__row_from_f32(SR_TYPE_F16, values, halves, 83);
        sr__row_from_f32(SR_TYPE_BF16, values, brains, 83);
        sr__row_to_f32(SR_TYPE_F16, halves, back, 83);
        for (int i = 0; i < 83; i++) {
            const uint16_t h = (uint16_t)(halves[2 * i] | halves[2 * i + 1] << 8);
            assert_int_equal(h, sr__f32_to_f16(values[i]));
            assert_int_equal(sr__bits_of_f32(back[i]), sr__bits_of_f32(sr__f16_to_f32(h)));
            assert_int_equal(brains[2 * i] | brains[2 * i + 1] << 8, sr__f32_to_bf16(values[i]));
        }
    }
}

/* ---- blocks by hand ---------------------------------------------------------------------------------------------- */

static void check_bytes(int type, const float *x, int64_t n, const uint8_t *want, size_t size) {
    uint8_t got[512];
    memset(got, 0xEE, sizeof(got));
    assert_int_equal(sr_row_size(type, n), size);
    sr__row_from_f32(type, x, got, n);
    assert_memory_equal(got, want, size);
    assert_int_equal(got[size], 0xEE);
}

static void test_zero_blocks(void **state) {
    (void)state;
    static const float ZEROS[256];
    uint8_t want[292];
    memset(want, 0x88, sizeof(want));
    want[0] = 0x00, want[1] = 0x80; /* d = -0 */
    check_bytes(SR_TYPE_Q4_0, ZEROS, 32, want, 18);
    memset(want, 0, sizeof(want));
    want[1] = 0x80, want[2] = want[3] = want[4] = want[5] = 0xFF;
    check_bytes(SR_TYPE_Q5_0, ZEROS, 32, want, 22);
    memset(want, 0, sizeof(want));
    check_bytes(SR_TYPE_Q4_1, ZEROS, 32, want, 20);
    check_bytes(SR_TYPE_Q5_1, ZEROS, 32, want, 24);
    check_bytes(SR_TYPE_Q8_0, ZEROS, 32, want, 34);
    check_bytes(SR_TYPE_Q8_1, ZEROS, 32, want, 36);
    check_bytes(SR_TYPE_IQ4_NL, ZEROS, 32, want, 18);
    check_bytes(SR_TYPE_MXFP4, ZEROS, 32, want, 17);
    check_bytes(SR_TYPE_NVFP4, ZEROS, 64, want, 36);
    check_bytes(SR_TYPE_Q2_K, ZEROS, 256, want, 84);
    check_bytes(SR_TYPE_Q4_K, ZEROS, 256, want, 144);
    check_bytes(SR_TYPE_Q5_K, ZEROS, 256, want, 176);
    check_bytes(SR_TYPE_Q6_K, ZEROS, 256, want, 210);
    check_bytes(SR_TYPE_Q8_K, ZEROS, 256, want, 292);
    check_bytes(SR_TYPE_Q3_K, ZEROS, 256, want, 110); /* the search's code for nothing is 0 */
    memset(want + 2, 0xFF, 16);
    check_bytes(SR_TYPE_Q1_0, ZEROS, 128, want, 18);
    memset(want, 0x55, 64); /* digit 1 everywhere */
    want[64] = want[65] = 0;
    check_bytes(SR_TYPE_TQ2_0, ZEROS, 256, want, 66);
    memset(want, (121 * 256 + 242) / 243, 48);       /* 11111 in base 3 */
    memset(want + 48, (120 * 256 + 242) / 243, 4);   /* 11110 */
    want[52] = want[53] = 0;
    check_bytes(SR_TYPE_TQ1_0, ZEROS, 256, want, 54);
}

static void test_ramps(void **state) {
    (void)state;
    float x[32];
    uint8_t want[36];
    for (int i = 0; i < 32; i++) { /* largest magnitude is the -16 */
        x[i] = (float)(i - 16);
    }
    want[0] = 0x00, want[1] = 0x40; /* q4_0: d = -16 / -8 = 2; code = trunc(x / 2 + 8.5) */
    for (int i = 0; i < 16; i++) {
        const int lo = (int)((float)(i - 16) / 2 + 8.5f), hi = (int)((float)i / 2 + 8.5f);
        want[2 + i] = (uint8_t)(lo | (hi < 15 ? hi : 15) << 4);
    }
    check_bytes(SR_TYPE_Q4_0, x, 32, want, 18);
    want[0] = 0x00, want[1] = 0x3C; /* q5_0: d = 1; code = x + 16 = i */
    want[2] = want[3] = 0x00, want[4] = want[5] = 0xFF;
    for (int i = 0; i < 16; i++) {
        want[6 + i] = (uint8_t)(i | i << 4);
    }
    check_bytes(SR_TYPE_Q5_0, x, 32, want, 22);
    want[0] = 0x00, want[1] = 0x3C, want[2] = 0x00, want[3] = 0xCC; /* q5_1: d = 31 / 31, m = -16 */
    memmove(want + 8, want + 6, 16);
    want[4] = want[5] = 0x00, want[6] = want[7] = 0xFF;
    check_bytes(SR_TYPE_Q5_1, x, 32, want, 24);
    for (int i = 0; i < 32; i++) { /* q8_0, q8_1: d = 127 / 127 */
        x[i] = (float)(i == 0 ? -127 : 3 * i) + (i % 2 == 1 ? 0.5f : 0.0f);
    }
    int sum = 0;
    want[0] = 0x00, want[1] = 0x3C;
    for (int i = 0; i < 32; i++) {
        const int code = i == 0 ? -127 : 3 * i + (i % 2 == 1); /* halves away from zero */
        want[4 + i] = (uint8_t)(int8_t)code;
        sum += code;
    }
    const uint16_t s = sr__f32_to_f16((float)sum);
    want[2] = (uint8_t)s, want[3] = (uint8_t)(s >> 8);
    check_bytes(SR_TYPE_Q8_1, x, 32, want, 36);
    memmove(want + 2, want + 4, 32);
    check_bytes(SR_TYPE_Q8_0, x, 32, want, 34);
}

static void test_q4_1_and_q1_0(void **state) {
    (void)state;
    float x[128];
    uint8_t want[20];
    for (int i = 0; i < 32; i++) {
        x[i] = 3.0f + 2.0f * (float)(i % 16); /* min 3, d = 30 / 15 */
    }
    want[0] = 0x00, want[1] = 0x40, want[2] = 0x00, want[3] = 0x42;
    for (int i = 0; i < 16; i++) {
        want[4 + i] = (uint8_t)(i | i << 4);
    }
    check_bytes(SR_TYPE_Q4_1, x, 32, want, 20);
    for (int i = 0; i < 128; i++) {
        x[i] = i % 3 == 0 ? -2.0f : 2.0f;
    }
    x[1] = -0.0f, x[2] = 4.0f;
    memset(want, 0, sizeof(want));
    want[0] = 0x00, want[1] = 0x40; /* sum of magnitudes 256 / 128 = 2 */
    for (int i = 0; i < 128; i++) {
        want[2 + i / 8] = (uint8_t)(want[2 + i / 8] | (i % 3 != 0 ? 1 : 0) << i % 8);
    }
    check_bytes(SR_TYPE_Q1_0, x, 128, want, 18);
}

static void test_fp4(void **state) {
    (void)state;
    static const float VALUES[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6};
    float x[64];
    uint8_t want[36];
    for (int i = 0; i < 32; i++) {
        x[i] = VALUES[(i * 5) % 16];
    }
    want[0] = 127; /* mxfp4: floor(log2 6) - 2 + 127; S = 1/2 */
    for (int i = 0; i < 16; i++) {
        const int lo = i * 5 % 16, hi = (i + 16) * 5 % 16;
        want[1 + i] = (uint8_t)((lo == 8 ? 0 : lo) | (hi == 8 ? 0 : hi) << 4);
    }
    check_bytes(SR_TYPE_MXFP4, x, 32, want, 17);
    for (int i = 0; i < 64; i++) { /* nvfp4: scales 1, 2, 4, 8 = e4m3 0x38, 0x40, 0x48, 0x50 */
        x[i] = VALUES[i % 16] * (float)(1 << i / 16);
    }
    want[0] = 0x38, want[1] = 0x40, want[2] = 0x48, want[3] = 0x50;
    for (int i = 0; i < 32; i++) {
        const int lo = i % 8, hi = i % 8 + 8;
        want[4 + i] = (uint8_t)(lo | (hi == 8 ? 0 : hi) << 4);
    }
    check_bytes(SR_TYPE_NVFP4, x, 64, want, 36);
}

static void test_scales_of_fp4(void **state) {
    (void)state;
    uint8_t block[36];
    float y[64];
    for (int e = 0; e < 256; e++) {
        memset(block, 0x21, sizeof(block)); /* codes 1 and 2: values 1 and 2 times half the scale */
        block[0] = (uint8_t)e;
        sr__row_to_f32(SR_TYPE_MXFP4, block, y, 32);
        assert_true((double)y[0] == ldexp(1, e - 128) && (e == 255 || (double)y[16] == ldexp(2, e - 128)));
        sr__row_to_f32(SR_TYPE_NVFP4, block, y, 64);
        const int exponent = e >> 3 & 15, mantissa = e & 7;
        double want = exponent == 0 ? ldexp(mantissa, -10) : ldexp(8 + mantissa, exponent - 11);
        want = e == 0x7F ? 0 : want;
        assert_true((double)y[0] == want && (double)y[8] == 2 * want);
    }
}

/* ---- formulas, index by index ------------------------------------------------------------------------------------ */

static const int K4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const int E2[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static int six_bit(const uint8_t *sc, int s, bool min) {
    if (s < 4) {
        return sc[min ? s + 4 : s] & 63;
    }
    return min ? (sc[s + 4] >> 4) + 16 * (sc[s] >> 6) : (sc[s + 4] & 15) + 16 * (sc[s - 4] >> 6);
}

static float small_value(int type, const uint8_t *b, int i) {
    const int at = type == SR_TYPE_MXFP4  ? 1
                   : type == SR_TYPE_Q4_1 ? 4
                   : type == SR_TYPE_Q5_0 ? 6
                   : type == SR_TYPE_Q5_1 ? 8
                                          : 2;
    const int n = i < 16 ? b[at + i] & 15 : b[at + i - 16] >> 4, high = type == SR_TYPE_Q5_0 ? 2 : 4;
    const int c = n | (b[high + i / 8] >> i % 8 & 1) << 4;
    const float d = half_at(b), m = half_at(b + 2);
    switch (type) {
        case SR_TYPE_Q4_0: return (float)(n - 8) * d;
        case SR_TYPE_Q4_1: return (float)n * d + m;
        case SR_TYPE_Q5_0: return (float)(c - 16) * d;
        case SR_TYPE_Q5_1: return (float)c * d + m;
        case SR_TYPE_Q8_0: return (float)(int8_t)b[2 + i] * d;
        case SR_TYPE_IQ4_NL: return d * (float)K4[n];
        default: return (float)E2[n] * ldexpf(1.0f, b[0] - 128);
    }
}

static float ternary_value(int type, const uint8_t *b, int i) {
    if (type == SR_TYPE_TQ2_0) {
        return (float)((b[32 * (i / 128) + i % 32] >> 2 * (i % 128 / 32) & 3) - 1) * half_at(b + 64);
    }
    const int k = i < 160 ? i : i < 240 ? i - 160 : i - 240;
    const int byte = i < 160 ? b[i % 32] : i < 240 ? b[32 + k % 16] : b[48 + k % 4];
    int q = byte;
    for (int p = i < 160 ? i / 32 : i < 240 ? k / 16 : k / 4; p > 0; p--) {
        q = q * 3 % 256;
    }
    return (float)((q * 3 >> 8) - 1) * half_at(b + 52);
}

static float super_value(int type, const uint8_t *b, int i) {
    const int a = i / 128, j = i % 128 / 32, l = i % 32, g = i / 64;
    switch (type) {
        case SR_TYPE_Q2_K:
            return half_at(b + 80) * (float)(b[i / 16] & 15) * (float)(b[16 + 32 * a + l] >> 2 * j & 3) -
                   half_at(b + 82) * (float)(b[i / 16] >> 4);
        case SR_TYPE_Q3_K: {
            const int s = i / 16, low = s < 8 ? b[96 + s] & 15 : b[96 + s - 8] >> 4;
            const int scale = low + 16 * (b[104 + s % 4] >> 2 * (s / 4) & 3) - 32;
            const int q = (b[32 + 32 * a + l] >> 2 * j & 3) - ((b[l] >> (4 * a + j) & 1) != 0 ? 0 : 4);
            return half_at(b + 108) * (float)scale * (float)q;
        }
        case SR_TYPE_Q4_K:
        case SR_TYPE_Q5_K: {
            const uint8_t *qs = b + (type == SR_TYPE_Q4_K ? 16 : 48);
            int q = i % 64 < 32 ? qs[32 * g + l] & 15 : qs[32 * g + l] >> 4;
            q += type == SR_TYPE_Q5_K && (b[16 + l] >> i / 32 & 1) != 0 ? 16 : 0;
            return half_at(b) * (float)six_bit(b + 4, i / 32, false) * (float)q -
                   half_at(b + 2) * (float)six_bit(b + 4, i / 32, true);
        }
        case SR_TYPE_Q6_K: {
            const int byte = b[64 * a + 32 * (j % 2) + l], nibble = j < 2 ? byte & 15 : byte >> 4;
            const int q = nibble + 16 * (b[128 + 32 * a + l] >> 2 * j & 3) - 32;
            return half_at(b + 208) * (float)(int8_t)b[192 + i / 16] * (float)q;
        }
        default: {
            const int s = i / 32, byte = b[8 + 16 * s + i % 16];
            const int scale = (b[4 + s / 2] >> 4 * (s % 2) & 15) + 16 * ((b[2] | b[3] << 8) >> 2 * s & 3) - 32;
            return half_at(b) * (float)scale * (float)K4[i % 32 < 16 ? byte & 15 : byte >> 4];
        }
    }
}

static float formula(int type, const uint8_t *b, int i) {
    if (type == SR_TYPE_Q1_0) {
        return (b[2 + i / 8] >> i % 8 & 1) != 0 ? half_at(b) : -half_at(b);
    }
    if (type == SR_TYPE_TQ1_0 || type == SR_TYPE_TQ2_0) {
        return ternary_value(type, b, i);
    }
    return sr_type_get(type)->block == 32 ? small_value(type, b, i) : super_value(type, b, i);
}

static void test_formulas(void **state) {
    (void)state;
    for (int type = 0; type < SR_TYPE_COUNT; type++) {
        if (!sr_type_get(type)->quantized || !sr__type_can_read(type) || type == SR_TYPE_NVFP4) {
            continue;
        }
        const int n = sr_type_get(type)->block;
        for (int round = 0; round < 200; round++) {
            uint8_t blocks[2 * 256];
            float y[512];
            for (int k = 0; k < 2 * sr_type_get(type)->bytes; k++) {
                blocks[k] = random_byte();
            }
            sr__row_to_f32(type, blocks, y, 2 * n);
            for (int i = 0; i < 2 * n; i++) {
                const float want = formula(type, blocks + i / n * sr_type_get(type)->bytes, i % n);
                if (!(isnan(y[i]) && isnan(want))) {
                    assert_int_equal(sr__bits_of_f32(y[i]), sr__bits_of_f32(want));
                }
            }
        }
    }
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

/* The squared error over the squared value that uniform values may have after a round trip. */
static double bound(int type) {
    switch (type) {
        case SR_TYPE_Q8_0: return 1e-4;
        case SR_TYPE_Q6_K: return 1e-3;
        case SR_TYPE_Q5_0: case SR_TYPE_Q5_1: case SR_TYPE_Q5_K: return 3e-3;
        case SR_TYPE_Q4_0: case SR_TYPE_Q4_1: case SR_TYPE_Q4_K: case SR_TYPE_IQ4_NL: case SR_TYPE_IQ4_XS: return 1e-2;
        case SR_TYPE_MXFP4: case SR_TYPE_NVFP4: return 3e-2;
        case SR_TYPE_Q3_K: return 4e-2;
        case SR_TYPE_Q2_K: return 8e-2;
        default: return 0.5;
    }
}

static void test_bounds(void **state) {
    (void)state;
    for (int type = 0; type < SR_TYPE_COUNT; type++) {
        if (!sr_type_get(type)->quantized || !sr__type_can_read(type)) {
            continue;
        }
        /* the scales of nvfp4 end at 2^-9 */
        for (float scale = type == SR_TYPE_NVFP4 ? 1.0f : 1e-3f; scale < 300.0f; scale *= 1000.0f) {
            float x[2048], y[2048];
            uint8_t packed[2048 * 2];
            double wrong = 0, all = 0;
            for (int i = 0; i < 2048; i++) {
                x[i] = uniform() * scale;
            }
            sr__row_from_f32(type, x, packed, 2048);
            sr__row_to_f32(type, packed, y, 2048);
            for (int i = 0; i < 2048; i++) {
                wrong += (double)((x[i] - y[i]) * (x[i] - y[i]));
                all += (double)(x[i] * x[i]);
            }
            if (!(wrong <= bound(type) * all)) {
                fail_msg("%s at %g: error %.3g", sr_type_get(type)->name, (double)scale, wrong / all);
            }
        }
    }
}

static void test_q8_K(void **state) {
    (void)state;
    float x[256];
    uint8_t b[292];
    float d;
    for (int i = 0; i < 256; i++) {
        x[i] = uniform();
    }
    x[100] = 1.5f; /* the largest: its code is -127 */
    sr__row_from_f32(SR_TYPE_Q8_K, x, b, 256);
    memcpy(&d, b, sizeof(d));
    assert_true(d == 1.0f / (-127.0f / 1.5f));
    assert_int_equal((int8_t)b[104], -127);
    for (int s = 0; s < 16; s++) {
        int sum = 0;
        for (int l = 0; l < 16; l++) {
            const float value = d * (float)(int8_t)b[4 + 16 * s + l];
            assert_true(fabsf(value - x[16 * s + l]) <= fabsf(d) * 0.5001f);
            sum += (int8_t)b[4 + 16 * s + l];
        }
        assert_int_equal((int16_t)(b[260 + 2 * s] | b[261 + 2 * s] << 8), sum);
    }
}

/* What is next to nothing, or too large for the scale, gives codes all the same and never traps. */
static void test_extremes(void **state) {
    (void)state;
    static const float EXTREMES[] = {1e-45f, 1e-38f, 3e38f, INFINITY, NAN};
    for (int type = 0; type < SR_TYPE_COUNT; type++) {
        for (size_t e = 0; sr__type_can_write(type) && e < sizeof(EXTREMES) / sizeof(EXTREMES[0]); e++) {
            float x[256];
            uint8_t packed[1024];
            for (int i = 0; i < 256; i++) {
                x[i] = EXTREMES[e] * (float)(i % 5 - 2);
            }
            sr__row_from_f32(type, x, packed, 256);
            if (sr__type_can_read(type)) {
                sr__row_to_f32(type, packed, x, 256);
            }
        }
    }
    float x[32] = {1e-45f};
    uint8_t packed[34];
    sr__row_from_f32(SR_TYPE_Q8_0, x, packed, 32); /* its reciprocal overflows: code 0 */
    assert_int_equal(packed[2], 0);
}

static void test_table(void **state) {
    (void)state;
    assert_int_equal(sr__type_companion(SR_TYPE_F32), SR_TYPE_F32);
    assert_int_equal(sr__type_companion(SR_TYPE_BF16), SR_TYPE_BF16);
    assert_int_equal(sr__type_companion(SR_TYPE_Q5_1), SR_TYPE_Q8_1);
    assert_int_equal(sr__type_companion(SR_TYPE_NVFP4), SR_TYPE_Q8_0);
    assert_int_equal(sr__type_companion(SR_TYPE_IQ1_M), SR_TYPE_Q8_K);
    for (int type = -2; type < SR_TYPE_COUNT + 2; type++) {
        const sr_type_info *info = sr_type_get(type);
        const bool codebook = (type >= SR_TYPE_IQ2_XXS && type <= SR_TYPE_IQ2_S &&
                               type != SR_TYPE_IQ4_NL) || type == SR_TYPE_IQ1_M;
        const bool value = info->quantized || type == SR_TYPE_F32 || type == SR_TYPE_F16 || type == SR_TYPE_BF16;
        assert_int_equal(sr__type_can_write(type), info->block > 0 && value && !codebook);
        assert_int_equal(sr__type_can_read(type),
                         info->block > 0 && value && !codebook && type != SR_TYPE_Q8_1 && type != SR_TYPE_Q8_K);
        assert_int_equal(sr__type_companion(type) >= 0, info->block > 0 && value && type != SR_TYPE_Q8_K);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f16),          cmocka_unit_test(test_bf16),     cmocka_unit_test(test_rows_of_halves),
        cmocka_unit_test(test_zero_blocks),  cmocka_unit_test(test_ramps),    cmocka_unit_test(test_q4_1_and_q1_0),
        cmocka_unit_test(test_fp4),          cmocka_unit_test(test_scales_of_fp4), cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_bounds),       cmocka_unit_test(test_q8_K),     cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
