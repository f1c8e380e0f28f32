/*
 * mm_codes.c - quantized rows as unsigned codes with scales and minima, in plain C, and columns of eight-bit codes.
 *
 * Layer: kernels.  Answers to what the vec_dot functions of ggml-cpu/quants.c of the reference do inside.  The layouts
 * of the blocks are those of the quant files.
 */
#include "kernels/mm_codes.h"

#include "graph/quant_rows.h"

/* ---- one scale a block ------------------------------------------------------------------------------------------- */

static void nibbles(const uint8_t *qs, uint8_t *codes) {
    for (int i = 0; i < 16; i++) {
        codes[i] = qs[i] & 15;
        codes[16 + i] = qs[i] >> 4;
    }
}

static void unpack_q4_0(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    for (int64_t b = 0; b < n / 32; b++, src += 18) {
        scale[b] = sr__get_f16(src);
        nibbles(src + 2, codes + 32 * b);
    }
}

static void unpack_q4_1(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    for (int64_t b = 0; b < n / 32; b++, src += 20) {
        scale[b] = sr__get_f16(src);
        min[b] = -sr__get_f16(src + 2);
        nibbles(src + 4, codes + 32 * b);
    }
}

static void fifth_bits(uint32_t qh, uint8_t *codes) {
    for (int i = 0; i < 32; i++) {
        codes[i] = (uint8_t)(codes[i] | (qh >> i & 1) << 4);
    }
}

static void unpack_q5_0(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    for (int64_t b = 0; b < n / 32; b++, src += 22) {
        scale[b] = sr__get_f16(src);
        nibbles(src + 6, codes + 32 * b);
        fifth_bits(sr__get_u32(src + 2), codes + 32 * b);
    }
}

static void unpack_q5_1(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    for (int64_t b = 0; b < n / 32; b++, src += 24) {
        scale[b] = sr__get_f16(src);
        min[b] = -sr__get_f16(src + 2);
        nibbles(src + 8, codes + 32 * b);
        fifth_bits(sr__get_u32(src + 4), codes + 32 * b);
    }
}

static void unpack_q8_0(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    for (int64_t b = 0; b < n / 32; b++, src += 34) {
        scale[b] = sr__get_f16(src);
        for (int i = 0; i < 32; i++) {
            codes[32 * b + i] = src[2 + i] ^ 0x80;
        }
    }
}

/* A bit is twice a code of 0 or 1: 2 D - D and 0 - D. */
static void unpack_q1_0(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    for (int64_t b = 0; b < n / 128; b++, src += 18) {
        for (int s = 0; s < 4; s++) {
            scale[4 * b + s] = sr__get_f16(src);
        }
        for (int i = 0; i < 128; i++) {
            codes[128 * b + i] = (uint8_t)((src[2 + i / 8] >> i % 8 & 1) << 1);
        }
    }
}

static void table_codes(const uint8_t *qs, int bytes, const int8_t *table, int bias, uint8_t *codes) {
    for (int i = 0; i < bytes; i++) {
        codes[i] = (uint8_t)(table[qs[i] & 15] + bias);
        codes[bytes + i] = (uint8_t)(table[qs[i] >> 4] + bias);
    }
}

static void unpack_iq4_nl(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    for (int64_t b = 0; b < n / 32; b++, src += 18) {
        scale[b] = sr__get_f16(src);
        table_codes(src + 2, 16, sr__quant_k4, 128, codes + 32 * b);
    }
}

static void unpack_mxfp4(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    for (int64_t b = 0; b < n / 32; b++, src += 17) {
        scale[b] = sr__e8m0_half(src[0]);
        table_codes(src + 1, 16, sr__quant_e2, 12, codes + 32 * b);
    }
}

static void unpack_nvfp4(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    for (int64_t b = 0; b < n / 64; b++, src += 36) {
        for (int s = 0; s < 4; s++) {
            scale[4 * b + s] = sr__e4m3_half(src[s]);
            table_codes(src + 4 + 8 * s, 8, sr__quant_e2, 12, codes + 64 * b + 16 * s);
        }
    }
}

/* ---- super-blocks ------------------------------------------------------------------------------------------------ */

static void two_bits(const uint8_t *qs, uint8_t *codes) {
    for (int i = 0; i < 256; i++) {
        codes[i] = qs[32 * (i / 128) + i % 32] >> 2 * (i % 128 / 32) & 3;
    }
}

static void unpack_q2_K(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    for (int64_t b = 0; b < n / 256; b++, src += 84, codes += 256) {
        const float d = sr__get_f16(src + 80), dmin = sr__get_f16(src + 82);
        for (int s = 0; s < 16; s++) {
            scale[16 * b + s] = d * (float)(src[s] & 15);
            min[16 * b + s] = dmin * (float)(src[s] >> 4);
        }
        two_bits(src + 16, codes);
    }
}

static void unpack_q3_K(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    for (int64_t b = 0; b < n / 256; b++, src += 110, codes += 256) {
        const float d = sr__get_f16(src + 108);
        const uint8_t *sc = src + 96;
        for (int s = 0; s < 16; s++) {
            const int low = s < 8 ? sc[s] & 15 : sc[s - 8] >> 4;
            scale[16 * b + s] = d * (float)(low + 16 * (sc[8 + s % 4] >> 2 * (s / 4) & 3) - 32);
        }
        two_bits(src + 32, codes);
        for (int i = 0; i < 256; i++) {
            codes[i] = (uint8_t)(codes[i] | (src[i % 32] >> i / 32 & 1) << 2);
        }
    }
}

static void scales_mins(const uint8_t *src, float *scale, float *min) {
    const float d = sr__get_f16(src), dmin = sr__get_f16(src + 2);
    for (int s = 0; s < 8; s++) {
        int scale_code, min_code;
        sr__k_scale_min(src + 4, s, &scale_code, &min_code);
        scale[s] = d * (float)scale_code;
        min[s] = dmin * (float)min_code;
    }
}

static void group_nibbles(const uint8_t *qs, uint8_t *codes) {
    for (int i = 0; i < 128; i++) {
        codes[64 * (i / 32) + i % 32] = qs[i] & 15;
        codes[64 * (i / 32) + 32 + i % 32] = qs[i] >> 4;
    }
}

static void unpack_q4_K(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    for (int64_t b = 0; b < n / 256; b++, src += 144) {
        scales_mins(src, scale + 8 * b, min + 8 * b);
        group_nibbles(src + 16, codes + 256 * b);
    }
}

static void unpack_q5_K(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    for (int64_t b = 0; b < n / 256; b++, src += 176, codes += 256) {
        scales_mins(src, scale + 8 * b, min + 8 * b);
        group_nibbles(src + 48, codes);
        for (int i = 0; i < 256; i++) {
            codes[i] = (uint8_t)(codes[i] | (src[16 + i % 32] >> i / 32 & 1) << 4);
        }
    }
}

static void unpack_q6_K(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    for (int64_t b = 0; b < n / 256; b++, src += 210, codes += 256) {
        const float d = sr__get_f16(src + 208);
        for (int s = 0; s < 16; s++) {
            scale[16 * b + s] = d * (float)(int8_t)src[192 + s];
        }
        for (int i = 0; i < 128; i++) {
            const int half = i / 64, at = 128 * half + i % 64;
            const uint8_t high = src[128 + 32 * half + i % 32];
            const int j = i % 64 / 32;
            codes[at] = (uint8_t)((src[i] & 15) | (high >> 2 * j & 3) << 4);
            codes[at + 64] = (uint8_t)(src[i] >> 4 | (high >> 2 * (j + 2) & 3) << 4);
        }
    }
}

static void unpack_iq4_xs(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    for (int64_t b = 0; b < n / 256; b++, src += 136) {
        const float d = sr__get_f16(src);
        const int high = sr__get_u16(src + 2);
        for (int s = 0; s < 8; s++) {
            const int code = (src[4 + s / 2] >> 4 * (s % 2) & 15) + 16 * (high >> 2 * s & 3) - 32;
            scale[8 * b + s] = d * (float)code;
            table_codes(src + 8 + 16 * s, 16, sr__quant_k4, 128, codes + 256 * b + 32 * s);
        }
    }
}

static void unpack_tq1_0(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    static const uint8_t POWER[5] = {1, 3, 9, 27, 81};
    (void)min;
    for (int64_t b = 0; b < n / 256; b++, src += 54, codes += 256) {
        for (int s = 0; s < 8; s++) {
            scale[8 * b + s] = sr__get_f16(src + 52);
        }
        for (int i = 0; i < 256; i++) {
            const int at = i < 160 ? i % 32 : i < 240 ? 32 + i % 16 : 48 + i % 4;
            const int power = i < 160 ? i / 32 : i < 240 ? (i - 160) / 16 : (i - 240) / 4;
            codes[i] = (uint8_t)((uint8_t)(src[at] * POWER[power]) * 3 >> 8);
        }
    }
}

static void unpack_tq2_0(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    for (int64_t b = 0; b < n / 256; b++, src += 66) {
        for (int s = 0; s < 8; s++) {
            scale[8 * b + s] = sr__get_f16(src + 64);
        }
        two_bits(src, codes + 256 * b);
    }
}

/* sub, bias, minima */
static const sr__codes_type TYPES[SR_TYPE_COUNT] = {
    [SR_TYPE_Q1_0] = {32, 1, false, unpack_q1_0},      [SR_TYPE_Q4_0] = {32, 8, false, unpack_q4_0},
    [SR_TYPE_Q4_1] = {32, 0, true, unpack_q4_1},       [SR_TYPE_Q5_0] = {32, 16, false, unpack_q5_0},
    [SR_TYPE_Q5_1] = {32, 0, true, unpack_q5_1},       [SR_TYPE_Q8_0] = {32, 128, false, unpack_q8_0},
    [SR_TYPE_IQ4_NL] = {32, 128, false, unpack_iq4_nl}, [SR_TYPE_MXFP4] = {32, 12, false, unpack_mxfp4},
    [SR_TYPE_NVFP4] = {16, 12, false, unpack_nvfp4},   [SR_TYPE_Q2_K] = {16, 0, true, unpack_q2_K},
    [SR_TYPE_Q3_K] = {16, 4, false, unpack_q3_K},      [SR_TYPE_Q4_K] = {32, 0, true, unpack_q4_K},
    [SR_TYPE_Q5_K] = {32, 0, true, unpack_q5_K},       [SR_TYPE_Q6_K] = {16, 32, false, unpack_q6_K},
    [SR_TYPE_IQ4_XS] = {32, 128, false, unpack_iq4_xs}, [SR_TYPE_TQ1_0] = {32, 1, false, unpack_tq1_0},
    [SR_TYPE_TQ2_0] = {32, 1, false, unpack_tq2_0},
};

const sr__codes_type *sr__codes_get(int type) {
    return type >= 0 && type < SR_TYPE_COUNT && TYPES[type].unpack != NULL ? &TYPES[type] : NULL;
}

/* ---- rows and columns in memory ---------------------------------------------------------------------------------- */

static size_t round_64(size_t n) { return (n + 63) / 64 * 64; }

/* codes, then one float for each 32 (or sub) values, then two arrays for each sub */
static size_t part_size(int64_t padded, int each) { return round_64((size_t)(padded / each) * sizeof(float)); }

size_t sr__codes_column_size(const sr__codes_type *type, int64_t k) {
    const int64_t padded = sr__codes_padded(k);
    return (size_t)padded + part_size(padded, 32) + 2 * part_size(padded, type->sub);
}

sr__codes_column sr__codes_column_at(const sr__codes_type *type, int64_t k, char *p) {
    const int64_t padded = sr__codes_padded(k);
    sr__codes_column column = {.codes = (int8_t *)p};
    p += padded;
    column.scale = (float *)(void *)p;
    p += part_size(padded, 32);
    column.init = (int32_t *)(void *)p;
    p += part_size(padded, type->sub);
    column.sum = (float *)(void *)p;
    return column;
}

size_t sr__codes_row_size(const sr__codes_type *type, int64_t k) {
    const int64_t padded = sr__codes_padded(k);
    return (size_t)padded + 2 * part_size(padded, type->sub);
}

sr__codes_row sr__codes_row_at(const sr__codes_type *type, int64_t k, char *p) {
    const int64_t padded = sr__codes_padded(k);
    float *scale = (float *)(void *)(p + padded);
    return (sr__codes_row){(uint8_t *)p, scale, scale + part_size(padded, type->sub) / sizeof(float)};
}

void sr__codes_column_finish(const sr__codes_type *type, int64_t k, const sr__codes_column *column) {
    const int64_t n = sr__codes_padded(k) / type->sub;
    for (int64_t s = 0; s < n; s++) {
        const int8_t *codes = column->codes + s * type->sub;
        int32_t sum = 0;
        for (int i = 0; i < type->sub; i++) {
            sum += codes[i];
        }
        column->init[s] = -type->bias * sum;
        if (type->has_min) {
            column->sum[s] = column->scale[s * type->sub / 32] * (float)sum;
        }
    }
}

void sr__codes_column_take(int b_type, const uint8_t *row, int64_t k, const sr__codes_column *column) {
    const int64_t padded = sr__codes_padded(k);
    memset(column->codes + k, 0, (size_t)(padded - k));
    memset(column->scale, 0, (size_t)(padded / 32) * sizeof(float));
    for (int64_t b = 0; b < k / 32; b++) {
        const uint8_t *codes;
        if (b_type == SR_TYPE_Q8_K) {
            const uint8_t *block = row + b / 8 * 292;
            column->scale[b] = sr__f32_of_bits(sr__get_u32(block));
            codes = block + 4 + b % 8 * 32;
        } else {
            const int header = b_type == SR_TYPE_Q8_1 ? 4 : 2;
            const uint8_t *block = row + b * (32 + header);
            column->scale[b] = sr__get_f16(block);
            codes = block + header;
        }
        memcpy(column->codes + 32 * b, codes, 32);
    }
}
