/*
 * quant_simple.c - rows of q1_0, q4_0, q4_1, q5_0, q5_1, q8_0 and q8_1: one f16 scale a block, at most a minimum.
 *
 * Layer: graph.  Answers to ggml-quants.c of the reference.  The inverse of the unrounded scale is used for the codes;
 * what is stored is the scale rounded to f16.
 */
#include "graph/quant_rows.h"

enum { BLOCK = 32, HALF = 16 };

/* Four-bit codes: value i is the low nibble of byte i for the first half of a block, the high one for the second. */

void sr__row_read_q4_0(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / BLOCK; b++, src += 18, dst += BLOCK) {
        const float d = sr__get_f16(src);
        const uint8_t *qs = src + 2;
        for (int i = 0; i < HALF; i++) {
            dst[i] = (float)((qs[i] & 15) - 8) * d;
            dst[i + HALF] = (float)((qs[i] >> 4) - 8) * d;
        }
    }
}

void sr__row_write_q4_0(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / BLOCK; b++, src += BLOCK, dst += 18) {
        float amax;
        const float d = sr__signed_extreme(src, BLOCK, &amax) / -8.0f;
        const float id = sr__reciprocal(d);
        sr__put_f16(dst, d);
        for (int i = 0; i < HALF; i++) {
            const uint8_t lo = (uint8_t)sr__trunc_i32(src[i] * id + 8.5f);
            const uint8_t hi = (uint8_t)sr__trunc_i32(src[i + HALF] * id + 8.5f);
            dst[2 + i] = (uint8_t)((lo < 15 ? lo : 15) | (hi < 15 ? hi : 15) << 4);
        }
    }
}

void sr__row_read_q4_1(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / BLOCK; b++, src += 20, dst += BLOCK) {
        const float d = sr__get_f16(src), m = sr__get_f16(src + 2);
        const uint8_t *qs = src + 4;
        for (int i = 0; i < HALF; i++) {
            dst[i] = (float)(qs[i] & 15) * d + m;
            dst[i + HALF] = (float)(qs[i] >> 4) * d + m;
        }
    }
}

/* The smallest and the largest of a block; strict comparisons, so of +0 and -0 the first stays. */
static void block_range(const float *x, float *out_min, float *out_max) {
    float min = 3.40282347e+38f, max = -3.40282347e+38f;
    for (int i = 0; i < BLOCK; i++) {
        min = x[i] < min ? x[i] : min;
        max = x[i] > max ? x[i] : max;
    }
    *out_min = min;
    *out_max = max;
}

void sr__row_write_q4_1(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / BLOCK; b++, src += BLOCK, dst += 20) {
        float min, max;
        block_range(src, &min, &max);
        const float d = (max - min) / 15.0f;
        const float id = sr__reciprocal(d);
        sr__put_f16(dst, d);
        sr__put_f16(dst + 2, min);
        for (int i = 0; i < HALF; i++) {
            const uint8_t lo = (uint8_t)sr__trunc_i32((src[i] - min) * id + 0.5f);
            const uint8_t hi = (uint8_t)sr__trunc_i32((src[i + HALF] - min) * id + 0.5f);
            dst[4 + i] = (uint8_t)((lo < 15 ? lo : 15) | (hi < 15 ? hi : 15) << 4);
        }
    }
}

/* Five-bit codes: the fifth bit of value i is bit i of a 32-bit word. */

void sr__row_read_q5_0(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / BLOCK; b++, src += 22, dst += BLOCK) {
        const float d = sr__get_f16(src);
        const uint32_t qh = sr__get_u32(src + 2);
        const uint8_t *qs = src + 6;
        for (int i = 0; i < HALF; i++) {
            const int lo = (qs[i] & 15) | (int)(qh >> i & 1) << 4;
            const int hi = qs[i] >> 4 | (int)(qh >> (i + HALF) & 1) << 4;
            dst[i] = (float)(lo - 16) * d;
            dst[i + HALF] = (float)(hi - 16) * d;
        }
    }
}

void sr__row_read_q5_1(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / BLOCK; b++, src += 24, dst += BLOCK) {
        const float d = sr__get_f16(src), m = sr__get_f16(src + 2);
        const uint32_t qh = sr__get_u32(src + 4);
        const uint8_t *qs = src + 8;
        for (int i = 0; i < HALF; i++) {
            const int lo = (qs[i] & 15) | (int)(qh >> i & 1) << 4;
            const int hi = qs[i] >> 4 | (int)(qh >> (i + HALF) & 1) << 4;
            dst[i] = (float)lo * d + m;
            dst[i + HALF] = (float)hi * d + m;
        }
    }
}

/* codes: 32 of five bits; qh and qs as stored. */
static void put_five_bits(const uint8_t *codes, uint8_t *qh, uint8_t *qs) {
    uint32_t high = 0;
    for (int i = 0; i < HALF; i++) {
        qs[i] = (uint8_t)((codes[i] & 15) | (codes[i + HALF] & 15) << 4);
        high |= (uint32_t)(codes[i] >> 4 & 1) << i | (uint32_t)(codes[i + HALF] >> 4 & 1) << (i + HALF);
    }
    sr__put_u32(qh, high);
}

void sr__row_write_q5_0(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / BLOCK; b++, src += BLOCK, dst += 22) {
        float amax;
        const float d = sr__signed_extreme(src, BLOCK, &amax) / -16.0f;
        const float id = sr__reciprocal(d);
        uint8_t codes[BLOCK];
        sr__put_f16(dst, d);
        for (int i = 0; i < BLOCK; i++) {
            const uint8_t code = (uint8_t)sr__trunc_i32(src[i] * id + 16.5f);
            codes[i] = code < 31 ? code : 31;
        }
        put_five_bits(codes, dst + 2, dst + 6);
    }
}

void sr__row_write_q5_1(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / BLOCK; b++, src += BLOCK, dst += 24) {
        float min, max;
        block_range(src, &min, &max);
        const float d = (max - min) / 31.0f;
        const float id = sr__reciprocal(d);
        uint8_t codes[BLOCK];
        sr__put_f16(dst, d);
        sr__put_f16(dst + 2, min);
        for (int i = 0; i < BLOCK; i++) {
            codes[i] = (uint8_t)sr__trunc_i32((src[i] - min) * id + 0.5f);
        }
        put_five_bits(codes, dst + 4, dst + 8);
    }
}

void sr__row_read_q8_0(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / BLOCK; b++, src += 34, dst += BLOCK) {
        const float d = sr__get_f16(src);
        const int8_t *qs = (const int8_t *)src + 2;
        for (int i = 0; i < BLOCK; i++) {
            dst[i] = (float)qs[i] * d;
        }
    }
}

/* Codes of eight bits in +-127 and the unrounded scale; the sum of the codes is returned. */
static int write_eight_bits(const float *src, uint8_t *qs, float *out_d) {
    float amax = 0.0f;
    for (int i = 0; i < BLOCK; i++) {
        const float a = fabsf(src[i]);
        amax = a > amax ? a : amax;
    }
    const float d = amax / 127.0f;
    const float id = sr__reciprocal(d);
    int sum = 0;
    for (int i = 0; i < BLOCK; i++) {
        const int8_t code = (int8_t)sr__round_i32(src[i] * id);
        qs[i] = (uint8_t)code;
        sum += code;
    }
    *out_d = d;
    return sum;
}

void sr__row_write_q8_0(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / BLOCK; b++, src += BLOCK, dst += 34) {
        float d;
        (void)write_eight_bits(src, dst + 2, &d);
        sr__put_f16(dst, d);
    }
}

void sr__row_write_q8_1(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / BLOCK; b++, src += BLOCK, dst += 36) {
        float d;
        const int sum = write_eight_bits(src, dst + 4, &d);
        sr__put_f16(dst, d);
        sr__put_f16(dst + 2, (float)sum * d);
    }
}

/* One bit a value: its sign. */

void sr__row_read_q1_0(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / 128; b++, src += 18, dst += 128) {
        const float d = sr__get_f16(src);
        for (int i = 0; i < 128; i++) {
            dst[i] = (src[2 + i / 8] >> i % 8 & 1) != 0 ? d : -d;
        }
    }
}

void sr__row_write_q1_0(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / 128; b++, src += 128, dst += 18) {
        float sum = 0.0f;
        memset(dst + 2, 0, 16);
        for (int i = 0; i < 128; i++) {
            sum += fabsf(src[i]);
            dst[2 + i / 8] = (uint8_t)(dst[2 + i / 8] | (src[i] >= 0.0f ? 1 : 0) << i % 8);
        }
        sr__put_f16(dst, sum / 128.0f);
    }
}
