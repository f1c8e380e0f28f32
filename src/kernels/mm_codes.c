/*
 * mm_codes.c - which types are multiplied as codes, and columns of eight-bit codes.
 *
 * Layer: kernels.  Answers to what the vec_dot functions of ggml-cpu/quants.c of the reference do inside.
 */
#include "kernels/mm_codes.h"

#include <float.h>
#include <math.h>

#include "graph/quant_rows.h"

static const sr__codes_type TYPES[SR_TYPE_COUNT] = {
    [SR_TYPE_Q1_0] = {32, 1, false},     [SR_TYPE_Q4_0] = {32, 8, false},   [SR_TYPE_Q4_1] = {32, 0, true},
    [SR_TYPE_Q5_0] = {32, 16, false},    [SR_TYPE_Q5_1] = {32, 0, true},    [SR_TYPE_Q8_0] = {32, 128, false},
    [SR_TYPE_IQ4_NL] = {32, 128, false}, [SR_TYPE_MXFP4] = {32, 12, false}, [SR_TYPE_NVFP4] = {16, 12, false},
    [SR_TYPE_Q2_K] = {16, 0, true},      [SR_TYPE_Q3_K] = {16, 4, false},   [SR_TYPE_Q4_K] = {32, 0, true},
    [SR_TYPE_Q5_K] = {32, 0, true},      [SR_TYPE_Q6_K] = {16, 32, false},  [SR_TYPE_IQ4_XS] = {32, 128, false},
    [SR_TYPE_TQ1_0] = {32, 1, false},    [SR_TYPE_TQ2_0] = {32, 1, false},
};

const sr__codes_type *sr__codes_get(int type) {
    return type >= 0 && type < SR_TYPE_COUNT && TYPES[type].sub != 0 ? &TYPES[type] : NULL;
}

/* ---- rows and columns in memory ---------------------------------------------------------------------------------- */

static size_t round_64(size_t n) { return (n + 63) / 64 * 64; }

/* codes, then one float for each 32 (or sub) values, then two arrays for each sub, then totals */
static size_t part_size(int64_t padded, int each) { return round_64((size_t)(padded / each) * sizeof(float)); }
static size_t total_size(int64_t padded) { return round_64((size_t)(padded / 32) * sizeof(int16_t)); }

size_t sr__codes_column_size(const sr__codes_type *type, int64_t k) {
    const int64_t padded = sr__codes_padded(k);
    return (size_t)padded + part_size(padded, 32) + 2 * part_size(padded, type->sub) + total_size(padded);
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
    p += part_size(padded, type->sub);
    column.total = (int16_t *)(void *)p;
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
    const int64_t n = sr__codes_padded(k) / type->sub, subs = 32 / type->sub; /* subs: 1 or 2 */
    for (int64_t s = 0; s < n; s++) {
        const int8_t *codes = column->codes + s * type->sub;
        int32_t sum = 0;
        for (int i = 0; i < type->sub; i++) {
            sum += codes[i];
        }
        column->init[s] = -type->bias * sum;
        if (type->has_min) {
            column->sum[s] = column->scale[s * type->sub / 32] * (float)sum;
            column->total[s / subs] = (int16_t)(s % subs == 0 ? sum : column->total[s / subs] + sum);
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

/* ---- rounding columns -------------------------------------------------------------------------------------------- */

/* Nearest, halves to even, for |v| < 2^22. */
static int32_t nearest(float v) {
    const float shifted = v + 12582912.0f;
    int32_t bits;
    memcpy(&bits, &shifted, sizeof(bits));
    return (bits & 0x7FFFFF) - 0x400000;
}

/* The value of largest magnitude, with its sign; NAN if any is not finite. */
static float extreme(const float *x, int n) {
    float most = 0.0f, value = 0.0f;
    for (int i = 0; i < n; i++) {
        const float a = fabsf(x[i]);
        if (!(a <= FLT_MAX)) {
            return NAN;
        }
        if (a > most) {
            most = a;
            value = x[i];
        }
    }
    return value;
}

/* One block of n values that share d; id = 1/d as the reference gets it. */
static void round_block(const float *x, int n, float id, float d, int8_t *codes, float *scale) {
    for (int i = 0; i < n; i++) {
        const int32_t code = nearest(x[i] * id);
        codes[i] = (int8_t)(code > 127 ? 127 : code);
    }
    for (int i = 0; i < n / 32; i++) {
        scale[i] = d;
    }
}

void sr__codes_quantize(int a_type, const float *x, int64_t k, int8_t *codes, float *scale) {
    const bool super = sr__type_companion(a_type) == SR_TYPE_Q8_K;
    const int n = super ? 256 : 32;
    for (int64_t i = 0; i < k; i += n) {
        const float most = extreme(x + i, n);
        float id = 0.0f, d = 0.0f;
        if (most != 0.0f && super) {
            id = -127.0f / most;
            d = 1.0f / id;
        } else if (most != 0.0f) {
            id = 127.0f / fabsf(most);
            d = sr__f16_to_f32(sr__f32_to_f16(fabsf(most) / 127.0f));
        }
        if (isnan(most) || isinf(id)) { /* nothing sensible is left; a reciprocal that overflows leaves zeros */
            memset(codes + i, 0, (size_t)n);
            for (int b = 0; b < n / 32; b++) {
                scale[i / 32 + b] = isnan(most) ? NAN : 0.0f;
            }
            continue;
        }
        round_block(x + i, n, id, d, codes + i, scale + i / 32);
    }
    memset(codes + k, 0, (size_t)(sr__codes_padded(k) - k));
    memset(scale + k / 32, 0, (size_t)((sr__codes_padded(k) - k) / 32) * sizeof(float));
}

void sr__codes_round(int a_type, const float *x, int64_t k, float *out) {
    int8_t codes[256];
    float scale[8];
    for (int64_t i = 0; i < k; i += 256) {
        const int64_t n = k - i < 256 ? k - i : 256;
        sr__codes_quantize(a_type, x + i, n, codes, scale);
        for (int64_t j = 0; j < n; j++) {
            out[i + j] = (float)codes[j] * scale[j / 32];
        }
    }
}
