/*
 * mm_avx512_direct.c - blocks of 32 codes with a scale, multiplied with few columns as they lie, by AVX-512 VNNI.
 *
 * Layer: kernels.  Answers to the vec_dot functions of q4_0, q5_0, q8_0, iq4_nl and mxfp4 of the reference, whose
 * order of summation is kept: eight sums, each of four neighbouring products of every block, take the blocks one after
 * another (for the types with a table, every other block goes to a second set of sums).  So results are those of the
 * reference to the bit, and a rounding to eight bits further on meets the same values.
 */
#if defined(__x86_64__)

#include "graph/quant_rows.h"
#include "kernels/mm_avx512.h"

typedef struct block_type {
    int type;
    int bytes;  /* of a block */
    int codes;  /* where its codes begin */
    int bias;   /* what is added to them, to make them unsigned */
    int sets;   /* of sums */
} block_type;

static const block_type Q4_0 = {SR_TYPE_Q4_0, 18, 2, 8, 1}, Q5_0 = {SR_TYPE_Q5_0, 22, 6, 16, 1};
static const block_type Q8_0 = {SR_TYPE_Q8_0, 34, 2, 128, 1}, IQ4_NL = {SR_TYPE_IQ4_NL, 18, 2, 128, 2};
static const block_type MXFP4 = {SR_TYPE_MXFP4, 17, 1, 12, 2};

/* ---- codes and scales -------------------------------------------------------------------------------------------- */

/* The 16 bytes at each address, twice. */
AVX512_INLINE __m512i load_twice(const uint8_t *p0, const uint8_t *p1) {
    const __m128i q0 = _mm_loadu_si128((const __m128i *)(const void *)p0);
    const __m128i q1 = _mm_loadu_si128((const __m128i *)(const void *)p1);
    const __m512i both = _mm512_castsi256_si512(_mm256_inserti128_si256(_mm256_castsi128_si256(q0), q1, 1));
    return _mm512_shuffle_i64x2(both, both, 0x50);
}

/* The nibbles of two blocks: of each its low ones first. */
AVX512_INLINE __m512i nibbles(const uint8_t *p0, const uint8_t *p1) {
    const __m512i shift = _mm512_set_epi64(4, 4, 0, 0, 4, 4, 0, 0);
    return _mm512_and_si512(_mm512_srlv_epi64(load_twice(p0, p1), shift), _mm512_set1_epi8(15));
}

/* A table of 16 values, for nibbles. */
AVX512_INLINE __m512i table_of(const int8_t *values, int bias) {
    const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)values);
    return _mm512_broadcast_i32x4(_mm_add_epi8(v, _mm_set1_epi8((char)bias)));
}

/* The biased codes of the blocks at b0 and b1. */
AVX512_INLINE __m512i load_codes(const block_type t, const uint8_t *b0, const uint8_t *b1) {
    const uint8_t *p0 = b0 + t.codes, *p1 = b1 + t.codes;
    if (t.type == SR_TYPE_Q8_0) {
        const __m256i q0 = _mm256_loadu_si256((const __m256i *)(const void *)p0);
        const __m256i q1 = _mm256_loadu_si256((const __m256i *)(const void *)p1);
        const __m512i q = _mm512_inserti64x4(_mm512_castsi256_si512(q0), q1, 1);
        return _mm512_xor_si512(q, _mm512_set1_epi8(-128));
    }
    const __m512i q = nibbles(p0, p1);
    switch (t.type) {
        case SR_TYPE_Q5_0: {
            const uint64_t fifth = (uint64_t)sr__get_u32(b1 + 2) << 32 | sr__get_u32(b0 + 2);
            return _mm512_mask_add_epi8(q, fifth, q, _mm512_set1_epi8(16));
        }
        case SR_TYPE_IQ4_NL: return _mm512_shuffle_epi8(table_of(sr__quant_k4, 128), q);
        case SR_TYPE_MXFP4: return _mm512_shuffle_epi8(table_of(sr__quant_e2, 12), q);
        default: return q;
    }
}

AVX512_INLINE float load_scale(const block_type t, const uint8_t *block) {
    return t.type == SR_TYPE_MXFP4 ? sr__e8m0_half(block[0]) : _cvtsh_ss(sr__get_u16(block));
}

/* The scales of eight blocks. */
AVX512_INLINE __m256 load_scales(const block_type t, const uint8_t *p) {
    if (t.type == SR_TYPE_MXFP4) {
        float scale[8];
        for (int i = 0; i < 8; i++) {
            scale[i] = load_scale(t, p + i * t.bytes);
        }
        return _mm256_loadu_ps(scale);
    }
    uint16_t h[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        h[i] = sr__get_u16(p + i * t.bytes);
    }
    return _mm256_cvtph_ps(_mm_set_epi16((short)h[7], (short)h[6], (short)h[5], (short)h[4], (short)h[3], (short)h[2],
                                         (short)h[1], (short)h[0]));
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* Sums of four products each, of two blocks with their codes in the column. */
AVX512_INLINE __m512 multiply(const block_type t, __m512i a, const int8_t *codes) {
    const __m512i x = _mm512_loadu_si512(codes), zero = _mm512_setzero_si512();
    const __m512i bias = _mm512_dpbusd_epi32(zero, _mm512_set1_epi8((char)t.bias), x);
    return _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_dpbusd_epi32(zero, a, x), bias));
}

AVX512_INLINE float add_lanes(__m256 v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* The last blocks, fewer than eight, in pairs. */
AVX512_INLINE void add_last(const block_type t, const uint8_t *row, int64_t b, int64_t n, const sr__codes_column *cols,
                            const int n_cols, __m256 (*acc)[2]) {
    for (; b < n; b += 2) {
        const uint8_t *b0 = row + b * t.bytes, *b1 = b + 1 < n ? b0 + t.bytes : b0;
        const __m512i a = load_codes(t, b0, b1);
        const float scale0 = load_scale(t, b0), scale1 = load_scale(t, b1);
#pragma GCC unroll 4
        for (int c = 0; c < n_cols; c++) {
            const __m512 sum = multiply(t, a, cols[c].codes + 32 * b);
            const __m256 d0 = _mm256_set1_ps(scale0 * cols[c].scale[b]);
            acc[c][0] = _mm256_fmadd_ps(_mm512_castps512_ps256(sum), d0, acc[c][0]);
            if (b + 1 < n) {
                const __m256 d1 = _mm256_set1_ps(scale1 * cols[c].scale[b + 1]);
                acc[c][t.sets - 1] = _mm256_fmadd_ps(_mm512_extractf32x8_ps(sum, 1), d1, acc[c][t.sets - 1]);
            }
        }
    }
}

/* One row times n_cols columns. */
AVX512_INLINE void direct_row(const block_type t, const uint8_t *row, int64_t k, const sr__codes_column *cols,
                              const int n_cols, float *out) {
    const int64_t n = k / 32;
    __m256 acc[SR__MM_DOT_COLS][2];
    int64_t b = 0;
#pragma GCC unroll 4
    for (int c = 0; c < n_cols; c++) {
        acc[c][0] = acc[c][1] = _mm256_setzero_ps();
    }
    for (; b + 8 <= n; b += 8) {
        const uint8_t *p = row + b * t.bytes;
        const __m256 scales = load_scales(t, p);
        __m256 d[SR__MM_DOT_COLS];
#pragma GCC unroll 4
        for (int c = 0; c < n_cols; c++) {
            d[c] = _mm256_mul_ps(scales, _mm256_loadu_ps(cols[c].scale + b));
        }
#pragma GCC unroll 4
        for (int i = 0; i < 8; i += 2) {
            const __m512i a = load_codes(t, p + i * t.bytes, p + (i + 1) * t.bytes);
#pragma GCC unroll 4
            for (int c = 0; c < n_cols; c++) {
                const __m512 sum = multiply(t, a, cols[c].codes + 32 * (b + i));
                const __m256 d0 = _mm256_permutevar8x32_ps(d[c], _mm256_set1_epi32(i));
                const __m256 d1 = _mm256_permutevar8x32_ps(d[c], _mm256_set1_epi32(i + 1));
                __m256 *second = &acc[c][t.sets - 1];
                acc[c][0] = _mm256_fmadd_ps(_mm512_castps512_ps256(sum), d0, acc[c][0]);
                *second = _mm256_fmadd_ps(_mm512_extractf32x8_ps(sum, 1), d1, *second);
            }
        }
    }
    add_last(t, row, b, n, cols, n_cols, acc);
#pragma GCC unroll 4
    for (int c = 0; c < n_cols; c++) {
        out[c] = add_lanes(t.sets == 2 ? _mm256_add_ps(acc[c][0], acc[c][1]) : acc[c][0]);
    }
}

#define DIRECT(name, t)                                                                                             \
    AVX512 static void direct_##name(const uint8_t *row, int64_t k, const sr__codes_column *cols, int n_cols,       \
                                     float *out) {                                                                  \
        switch (n_cols) {                                                                                           \
            case 1: direct_row(t, row, k, cols, 1, out); break;                                                     \
            case 2: direct_row(t, row, k, cols, 2, out); break;                                                     \
            case 3: direct_row(t, row, k, cols, 3, out); break;                                                     \
            default: direct_row(t, row, k, cols, 4, out);                                                           \
        }                                                                                                           \
    }

DIRECT(q4_0, Q4_0)
DIRECT(q5_0, Q5_0)
DIRECT(q8_0, Q8_0)
DIRECT(iq4_nl, IQ4_NL)
DIRECT(mxfp4, MXFP4)

sr__codes_direct *sr__avx512_direct(int type) {
    switch (type) {
        case SR_TYPE_Q4_0: return direct_q4_0;
        case SR_TYPE_Q5_0: return direct_q5_0;
        case SR_TYPE_Q8_0: return direct_q8_0;
        case SR_TYPE_IQ4_NL: return direct_iq4_nl;
        case SR_TYPE_MXFP4: return direct_mxfp4;
        default: return NULL;
    }
}

#endif
