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
    int sets;   /* of sums */
} block_type;

static const block_type Q4_0 = {SR_TYPE_Q4_0, 18, 2, 1}, Q5_0 = {SR_TYPE_Q5_0, 22, 6, 1};
static const block_type Q8_0 = {SR_TYPE_Q8_0, 34, 2, 1}, IQ4_NL = {SR_TYPE_IQ4_NL, 18, 2, 2};
static const block_type MXFP4 = {SR_TYPE_MXFP4, 17, 1, 2};

/* ---- codes and scales -------------------------------------------------------------------------------------------- */

/* The nibbles of two times 16 bytes: of each its low ones first. */
AVX512_INLINE __m512i load_nibbles(const uint8_t *p0, const uint8_t *p1) {
    const __m128i q0 = _mm_loadu_si128((const __m128i *)(const void *)p0);
    const __m128i q1 = _mm_loadu_si128((const __m128i *)(const void *)p1);
    const __m512i both = _mm512_castsi256_si512(_mm256_inserti128_si256(_mm256_castsi128_si256(q0), q1, 1));
    const __m512i twice = _mm512_shuffle_i64x2(both, both, 0x50), shift = _mm512_set_epi64(4, 4, 0, 0, 4, 4, 0, 0);
    return _mm512_and_si512(_mm512_srlv_epi64(twice, shift), _mm512_set1_epi8(15));
}

/* The values that nibbles stand for. */
AVX512_INLINE __m512i look_up(const int8_t *table, __m512i nibbles) {
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)table)), nibbles);
}

/* The codes of the blocks at b0 and b1. */
AVX512_INLINE __m512i load_codes(const block_type t, const uint8_t *b0, const uint8_t *b1) {
    const uint8_t *p0 = b0 + t.codes, *p1 = b1 + t.codes;
    if (t.type == SR_TYPE_Q8_0) {
        const __m256i q0 = _mm256_loadu_si256((const __m256i *)(const void *)p0);
        return _mm512_inserti64x4(_mm512_castsi256_si512(q0), _mm256_loadu_si256((const __m256i *)(const void *)p1), 1);
    }
    const __m512i q = load_nibbles(p0, p1);
    switch (t.type) {
        case SR_TYPE_Q5_0: {
            const uint64_t fifth = (uint64_t)sr__get_u32(b1 + 2) << 32 | sr__get_u32(b0 + 2);
            return _mm512_mask_sub_epi8(q, ~fifth, q, _mm512_set1_epi8(16));
        }
        case SR_TYPE_IQ4_NL: return look_up(sr__quant_k4, q);
        case SR_TYPE_MXFP4: return look_up(sr__quant_e2, q);
        default: return _mm512_sub_epi8(q, _mm512_set1_epi8(8));
    }
}

AVX512_INLINE float load_scale(const block_type t, const uint8_t *block) {
    return t.type == SR_TYPE_MXFP4 ? sr__e8m0_half(block[0]) : _cvtsh_ss(sr__get_u16(block));
}

/* The scales of eight blocks. */
AVX512_INLINE __m256 load_scales(const block_type t, const uint8_t *p) {
    short h[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        h[i] = (short)(t.type == SR_TYPE_MXFP4 ? p[i * t.bytes] : sr__get_u16(p + i * t.bytes));
    }
    const __m128i v = _mm_set_epi16(h[7], h[6], h[5], h[4], h[3], h[2], h[1], h[0]);
    if (t.type != SR_TYPE_MXFP4) {
        return _mm256_cvtph_ps(v);
    }
    const __m256i e = _mm256_cvtepu16_epi32(v); /* 2^(e - 128), of which the two least are subnormal */
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
    const __mmask8 small = _mm256_cmplt_epi32_mask(e, _mm256_set1_epi32(2));
    return _mm256_castsi256_ps(_mm256_mask_sllv_epi32(normal, small, _mm256_set1_epi32(0x00200000), e));
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* Two blocks of a row: codes a, and what their products exceed the true ones by when the column's codes are raised by
 * 128 to be unsigned, negated. */
typedef struct two_blocks {
    __m512i a, excess;
} two_blocks;

AVX512_INLINE two_blocks load_blocks(const block_type t, const uint8_t *b0, const uint8_t *b1) {
    const __m512i zero = _mm512_setzero_si512(), a = load_codes(t, b0, b1);
    return (two_blocks){a, _mm512_sub_epi32(zero, _mm512_dpbusd_epi32(zero, _mm512_set1_epi8(-128), a))};
}

/* Sums of four products each. */
AVX512_INLINE __m512 multiply(const two_blocks *b, const int8_t *codes) {
    const __m512i x = _mm512_xor_si512(_mm512_loadu_si512(codes), _mm512_set1_epi8(-128));
    return _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(b->excess, x, b->a));
}

AVX512_INLINE float add_lanes(__m256 v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* The last blocks of a row, fewer than eight, in pairs. */
AVX512_INLINE void add_last(const block_type t, const uint8_t *row, int64_t b, int64_t n, const sr__codes_column *cols,
                            const int n_cols, __m256 (*acc)[2]) {
    for (; b < n; b += 2) {
        const uint8_t *b0 = row + b * t.bytes, *b1 = b + 1 < n ? b0 + t.bytes : b0;
        const two_blocks blocks = load_blocks(t, b0, b1);
        const float scale0 = load_scale(t, b0), scale1 = load_scale(t, b1);
#pragma GCC unroll 4
        for (int c = 0; c < n_cols; c++) {
            const __m512 sum = multiply(&blocks, cols[c].codes + 32 * b);
            const __m256 d0 = _mm256_set1_ps(scale0 * cols[c].scale[b]);
            acc[c][0] = _mm256_fmadd_ps(_mm512_castps512_ps256(sum), d0, acc[c][0]);
            if (b + 1 < n) {
                const __m256 d1 = _mm256_set1_ps(scale1 * cols[c].scale[b + 1]);
                acc[c][t.sets - 1] = _mm256_fmadd_ps(_mm512_extractf32x8_ps(sum, 1), d1, acc[c][t.sets - 1]);
            }
        }
    }
}

/* Eight blocks of a row, from block b of the columns on. */
AVX512_INLINE void add_eight(const block_type t, const uint8_t *p, int64_t b, const sr__codes_column *cols,
                             const int n_cols, __m256 (*acc)[2]) {
    const __m256 scales = load_scales(t, p);
    float d[SR__MM_DOT_COLS][8];
#pragma GCC unroll 4
    for (int c = 0; c < n_cols; c++) {
        _mm256_storeu_ps(d[c], _mm256_mul_ps(scales, _mm256_loadu_ps(cols[c].scale + b)));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        const two_blocks blocks = load_blocks(t, p + i * t.bytes, p + (i + 1) * t.bytes);
#pragma GCC unroll 4
        for (int c = 0; c < n_cols; c++) {
            const __m512 sum = multiply(&blocks, cols[c].codes + 32 * (b + i));
            __m256 *second = &acc[c][t.sets - 1];
            acc[c][0] = _mm256_fmadd_ps(_mm512_castps512_ps256(sum), _mm256_set1_ps(d[c][i]), acc[c][0]);
            *second = _mm256_fmadd_ps(_mm512_extractf32x8_ps(sum, 1), _mm256_set1_ps(d[c][i + 1]), *second);
        }
    }
}

/* n_rows rows times n_cols columns: the sums of each take the blocks one by one, so there should be some at a time. */
AVX512_INLINE void direct_part(const block_type t, const uint8_t *row, size_t ld, const int n_rows, int64_t k,
                               const sr__codes_column *cols, const int n_cols, float *out) {
    const int64_t n = k / 32, whole = n / 8 * 8;
    __m256 acc[SR__MM_DOT_ROWS][SR__MM_DOT_COLS][2];
#pragma GCC unroll 4
    for (int r = 0; r < n_rows; r++) {
#pragma GCC unroll 4
        for (int c = 0; c < n_cols; c++) {
            acc[r][c][0] = acc[r][c][1] = _mm256_setzero_ps();
        }
    }
    for (int64_t b = 0; b < whole; b += 8) {
#pragma GCC unroll 4
        for (int r = 0; r < n_rows; r++) {
            add_eight(t, row + (size_t)r * ld + (size_t)(b * t.bytes), b, cols, n_cols, acc[r]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < n_rows; r++) {
        add_last(t, row + (size_t)r * ld, whole, n, cols, n_cols, acc[r]);
#pragma GCC unroll 4
        for (int c = 0; c < n_cols; c++) {
            __m256 *a = acc[r][c];
            out[r * SR__MM_DOT_COLS + c] = add_lanes(t.sets == 2 ? _mm256_add_ps(a[0], a[1]) : a[0]);
        }
    }
}

AVX512_INLINE void direct_rows(const block_type t, const uint8_t *rows, size_t ld, int n_rows, int64_t k,
                               const sr__codes_column *cols, int n_cols, float *out) {
    if (n_cols == 1 && n_rows == 4) {
        direct_part(t, rows, ld, 4, k, cols, 1, out);
        return;
    }
    for (int r = 0; r < n_rows; r++, rows += ld, out += SR__MM_DOT_COLS) {
        switch (n_cols) {
            case 1: direct_part(t, rows, ld, 1, k, cols, 1, out); break;
            case 2: direct_part(t, rows, ld, 1, k, cols, 2, out); break;
            case 3: direct_part(t, rows, ld, 1, k, cols, 3, out); break;
            default: direct_part(t, rows, ld, 1, k, cols, 4, out);
        }
    }
}

#define DIRECT(name, t)                                                                                       \
    AVX512 static void direct_##name(const uint8_t *rows, size_t ld, int n_rows, int64_t k,                   \
                                     const sr__codes_column *cols, int n_cols, float *out) {                  \
        direct_rows(t, rows, ld, n_rows, k, cols, n_cols, out);                                               \
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
        case SR_TYPE_Q4_K: return sr__avx512_direct_q4_k;
        default: return NULL;
    }
}

#endif
