/*
 * mm_codes.c - which types are multiplied as codes, and columns of eight-bit codes.
 *
 * Layer: kernels.  Answers to what the vec_dot functions of ggml-cpu/quants.c of the reference do inside.
 */
#include "kernels/mm_codes.h"

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
