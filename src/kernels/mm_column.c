/*
 * mm_column.c - columns of matrix products, rounded as the reference rounds them before it multiplies.
 *
 * Layer: kernels.  Answers to the from_float calls of ggml_compute_forward_mul_mat of ggml-cpu.c of the reference: a
 * column takes the companion type of the first source.
 */
#include "kernels/mm_core.h"

bool sr__mm_column_converts(const sr__mm_shape *shape, int b_type) {
    return shape->a_type != SR_TYPE_F32 || b_type != SR_TYPE_F32;
}

size_t sr__mm_column_size(const sr__mm_shape *shape) {
    const size_t size = shape->codes != NULL ? sr__codes_column_size(shape->codes, shape->k)
                                             : ((size_t)shape->k * sizeof(float) + 63) / 64 * 64;
    return size > 0 ? size : 64;
}

/* Floats of a column of q8_1 or q8_K, which have no row reader. */
static void companion_floats(int type, const char *row, float *dst, int64_t n) {
    const int block = sr_type_get(type)->block, header = 4;
    for (int64_t i = 0; i < n; i++) {
        const char *b = row + (size_t)(i / block) * (size_t)sr_type_get(type)->bytes;
        uint16_t half;
        float d;
        memcpy(&half, b, sizeof(half));
        memcpy(&d, b, sizeof(d));
        dst[i] = (type == SR_TYPE_Q8_K ? d : sr__f16_to_f32(half)) * (float)(int8_t)b[header + i % block];
    }
}

/* f32 rounded to f16 or bf16. */
static void round_floats(int type, const float *src, float *dst, int64_t n) {
    enum { PART = 512 };
    uint16_t packed[PART];
    for (int64_t i = 0; i < n; i += PART) {
        const int64_t here = n - i < PART ? n - i : PART;
        sr__row_from_f32(type, src + i, packed, here);
        sr__row_to_f32(type, packed, dst + i, here);
    }
}

/* Eight bits; the set's own way where it has one for blocks of 32. */
static void convert_codes(const sr__mm_shape *s, int b_type, const char *row, char *out) {
    const sr__codes_column column = sr__codes_column_at(s->codes, s->k, out);
    const float *x = (const float *)(const void *)row;
    if (b_type != SR_TYPE_F32) {
        sr__codes_column_take(b_type, (const uint8_t *)row, s->k, &column);
    } else if (sr__type_companion(s->a_type) == SR_TYPE_Q8_K) {
        sr__codes_quantize(s->a_type, x, s->k, column.codes, column.scale);
    } else {
        s->isa->codes->quantize(x, s->k, column.codes, column.scale);
    }
    sr__codes_column_finish(s->codes, s->k, &column);
}

void sr__mm_column_convert(const sr__mm_shape *shape, int b_type, const char *row, char *out) {
    const int64_t k = shape->k;
    float *dst = (float *)(void *)out;
    if (shape->codes != NULL) {
        convert_codes(shape, b_type, row, out);
    } else if (b_type == SR_TYPE_F32 && sr_type_get(shape->a_type)->quantized) {
        sr__codes_round(shape->a_type, (const float *)(const void *)row, k, dst);
    } else if (b_type == SR_TYPE_F32) {
        round_floats(shape->a_type, (const float *)(const void *)row, dst, k);
    } else if (sr__type_can_read(b_type)) {
        sr__row_to_f32(b_type, row, dst, k);
    } else {
        companion_floats(b_type, row, dst, k);
    }
}
