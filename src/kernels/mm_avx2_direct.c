/*
 * mm_avx2_direct.c - blocks of 32 codes with a scale, multiplied with columns of codes as they lie, by AVX2.
 *
 * Layer: kernels.  Answers to the vec_dot functions of q4_0, q5_0, q8_0, iq4_nl and mxfp4 of the reference; the order
 * of summation is that of mm_avx512_direct.c, and so are the results, to the bit.
 */
#if defined(__x86_64__)

#include "graph/quant_rows.h"
#include "kernels/mm_isa.h"

#include <immintrin.h>

#define AVX2_TARGET target("avx2,fma,f16c")
#define AVX2 __attribute__((AVX2_TARGET))
#define AVX2_INLINE static inline __attribute__((always_inline, AVX2_TARGET))

typedef struct block_type {
    int type;
    int bytes; /* of a block */
    int codes; /* where its codes begin */
    int sets;  /* of sums: blocks alternate between them */
} block_type;

static const block_type Q4_0 = {SR_TYPE_Q4_0, 18, 2, 1}, Q5_0 = {SR_TYPE_Q5_0, 22, 6, 1};
static const block_type Q8_0 = {SR_TYPE_Q8_0, 34, 2, 1}, IQ4_NL = {SR_TYPE_IQ4_NL, 18, 2, 2};
static const block_type MXFP4 = {SR_TYPE_MXFP4, 17, 1, 2};

/* The nibbles of 16 bytes, the low ones first. */
AVX2_INLINE __m256i load_nibbles(const uint8_t *p) {
    const __m128i q = _mm_loadu_si128((const __m128i *)(const void *)p);
    const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(q), _mm_srli_epi16(q, 4), 1);
    return _mm256_and_si256(both, _mm256_set1_epi8(15));
}

AVX2_INLINE __m256i look_up(const int8_t *table, __m256i nibbles) {
    const __m128i values = _mm_loadu_si128((const __m128i *)(const void *)table);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(values), nibbles);
}

/* 16 in every byte whose bit is not set. */
AVX2_INLINE __m256i sixteens(uint32_t bits) {
    const __m256i bytes = _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0);
    const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201u);
    const __m256i spread = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), bytes), bit);
    return _mm256_andnot_si256(_mm256_cmpeq_epi8(spread, bit), _mm256_set1_epi8(16));
}

AVX2_INLINE __m256i load_codes(const block_type t, const uint8_t *block) {
    const uint8_t *p = block + t.codes;
    switch (t.type) {
        case SR_TYPE_Q8_0: return _mm256_loadu_si256((const __m256i *)(const void *)p);
        case SR_TYPE_Q5_0: return _mm256_sub_epi8(load_nibbles(p), sixteens(sr__get_u32(block + 2)));
        case SR_TYPE_IQ4_NL: return look_up(sr__quant_k4, load_nibbles(p));
        case SR_TYPE_MXFP4: return look_up(sr__quant_e2, load_nibbles(p));
        default: return _mm256_sub_epi8(load_nibbles(p), _mm256_set1_epi8(8));
    }
}

AVX2_INLINE float load_scale(const block_type t, const uint8_t *block) {
    return t.type == SR_TYPE_MXFP4 ? sr__e8m0_half(block[0]) : _cvtsh_ss(sr__get_u16(block));
}

/* Sums of four products each; a column's codes are never -128. */
AVX2_INLINE __m256 multiply(__m256i a, const int8_t *codes) {
    const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)codes);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_sign_epi8(a, a), _mm256_sign_epi8(x, a));
    return _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

AVX2_INLINE float add_lanes(__m256 v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* Block b of n_rows rows and n_cols columns. */
AVX2_INLINE void add_block(const block_type t, const uint8_t *rows, size_t ld, const int n_rows, int64_t b,
                           const sr__codes_column *cols, const int n_cols, __m256 (*acc)[SR__MM_DOT_COLS]) {
#pragma GCC unroll 4
    for (int r = 0; r < n_rows; r++) {
        const uint8_t *block = rows + (size_t)r * ld + (size_t)(b * t.bytes);
        const __m256i a = load_codes(t, block);
        const float scale = load_scale(t, block);
#pragma GCC unroll 4
        for (int c = 0; c < n_cols; c++) {
            const __m256 d = _mm256_set1_ps(scale * cols[c].scale[b]);
            acc[r][c] = _mm256_fmadd_ps(multiply(a, cols[c].codes + 32 * b), d, acc[r][c]);
        }
    }
}

AVX2_INLINE void direct_part(const block_type t, const uint8_t *rows, size_t ld, const int n_rows, int64_t k,
                             const sr__codes_column *cols, const int n_cols, float *out) {
    __m256 acc[2][SR__MM_DOT_ROWS][SR__MM_DOT_COLS];
    const int64_t n = k / 32;
    int64_t b = 0;
#pragma GCC unroll 4
    for (int i = 0; i < n_rows * n_cols; i++) {
        acc[0][i / n_cols][i % n_cols] = acc[1][i / n_cols][i % n_cols] = _mm256_setzero_ps();
    }
    for (; b + 2 <= n; b += 2) {
        add_block(t, rows, ld, n_rows, b, cols, n_cols, acc[0]);
        add_block(t, rows, ld, n_rows, b + 1, cols, n_cols, acc[t.sets - 1]);
    }
    if (b < n) {
        add_block(t, rows, ld, n_rows, b, cols, n_cols, acc[0]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < n_rows * n_cols; i++) {
        const __m256 a0 = acc[0][i / n_cols][i % n_cols], a1 = acc[1][i / n_cols][i % n_cols];
        out[i / n_cols * SR__MM_DOT_COLS + i % n_cols] = add_lanes(t.sets == 2 ? _mm256_add_ps(a0, a1) : a0);
    }
}

AVX2_INLINE void direct_rows(const block_type t, const uint8_t *rows, size_t ld, int n_rows, int64_t k,
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
    AVX2 static void direct_##name(const uint8_t *rows, size_t ld, int n_rows, int64_t k,                     \
                                   const sr__codes_column *cols, int n_cols, float *out) {                    \
        direct_rows(t, rows, ld, n_rows, k, cols, n_cols, out);                                               \
    }

DIRECT(q4_0, Q4_0)
DIRECT(q5_0, Q5_0)
DIRECT(q8_0, Q8_0)
DIRECT(iq4_nl, IQ4_NL)
DIRECT(mxfp4, MXFP4)

static sr__codes_direct *direct_of(int type) {
    switch (type) {
        case SR_TYPE_Q4_0: return direct_q4_0;
        case SR_TYPE_Q5_0: return direct_q5_0;
        case SR_TYPE_Q8_0: return direct_q8_0;
        case SR_TYPE_IQ4_NL: return direct_iq4_nl;
        case SR_TYPE_MXFP4: return direct_mxfp4;
        default: return NULL;
    }
}

static void quantize_avx2(const float *x, int64_t k, int8_t *codes, float *scale) {
    sr__codes_quantize(SR_TYPE_Q8_0, x, k, codes, scale);
}

const sr__codes_isa sr__codes_avx2 = {.direct = direct_of, .quantize = quantize_avx2};

#endif
