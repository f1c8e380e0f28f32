/*
 * quant_ternary.c - rows of tq1_0 (five digits of base 3 a byte) and tq2_0 (two bits a value), values -d, 0, d.
 *
 * Layer: graph.  Answers to ggml-quants.c of the reference.
 */
#include "graph/quant_rows.h"

static const uint8_t POWER[5] = {1, 3, 9, 27, 81};

/* Where digit p of byte k of a tq1_0 block goes: runs of bytes (begin, count, digits, first value). */
static const struct { int byte, count, digits, value; } RUNS[3] = {{0, 32, 5, 0}, {32, 16, 5, 160}, {48, 4, 4, 240}};

void sr__row_read_tq1_0(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / 256; b++, src += 54, dst += 256) {
        const float d = sr__get_f16(src + 52);
        for (int r = 0; r < 3; r++) {
            for (int p = 0; p < RUNS[r].digits; p++) {
                float *y = dst + RUNS[r].value + p * RUNS[r].count;
                for (int k = 0; k < RUNS[r].count; k++) {
                    const uint8_t q = (uint8_t)(src[RUNS[r].byte + k] * POWER[p]);
                    y[k] = (float)((q * 3 >> 8) - 1) * d;
                }
            }
        }
    }
}

/* The common scale of both types; digit(x) = round(x * id) + 1. */
static float ternary_scale(const float *x) {
    float amax;
    (void)sr__signed_extreme(x, 256, &amax);
    return amax;
}

static int ternary_digit(float x, float id) { return (int8_t)sr__round_i32(x * id) + 1; }

void sr__row_write_tq1_0(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / 256; b++, src += 256, dst += 54) {
        const float d = ternary_scale(src), id = sr__reciprocal(d);
        sr__put_f16(dst + 52, d);
        for (int r = 0; r < 3; r++) {
            for (int k = 0; k < RUNS[r].count; k++) {
                int q = 0;
                for (int p = 0; p < 5; p++) { /* a missing fifth digit is 0 */
                    const int digit = p < RUNS[r].digits
                                          ? ternary_digit(src[RUNS[r].value + p * RUNS[r].count + k], id) : 0;
                    q = q * 3 + digit;
                }
                dst[RUNS[r].byte + k] = (uint8_t)((q * 256 + 242) / 243);
            }
        }
    }
}

void sr__row_read_tq2_0(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / 256; b++, src += 66, dst += 256) {
        const float d = sr__get_f16(src + 64);
        for (int half = 0; half < 2; half++) {
            for (int j = 0; j < 4; j++) {
                float *y = dst + 128 * half + 32 * j;
                for (int k = 0; k < 32; k++) {
                    y[k] = (float)((src[32 * half + k] >> 2 * j & 3) - 1) * d;
                }
            }
        }
    }
}

void sr__row_write_tq2_0(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / 256; b++, src += 256, dst += 66) {
        const float d = ternary_scale(src), id = sr__reciprocal(d);
        sr__put_f16(dst + 64, d);
        for (int half = 0; half < 2; half++) {
            for (int k = 0; k < 32; k++) {
                int q = 0;
                for (int j = 0; j < 4; j++) {
                    q |= (ternary_digit(src[128 * half + 32 * j + k], id) & 3) << 2 * j;
                }
                dst[32 * half + k] = (uint8_t)q;
            }
        }
    }
}
