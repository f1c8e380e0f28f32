/*
 * mm_avx512_q4_k.c - rows of q4_K, multiplied with few columns as they lie, by AVX-512 VNNI.
 *
 * Layer: kernels.  Answers to ggml_vec_dot_q4_K_q8_K of the reference.  Scales of six bits are applied to integer sums,
 * so that a super-block of 256 values costs one product of floats in each of eight sums, and in four for its minima;
 * the order of summation is the reference's, and so are the results, to the bit.
 */
#if defined(__x86_64__)

#include "graph/quant_rows.h"
#include "kernels/mm_avx512.h"

enum { BYTES = 144, SCALES = 4, CODES = 16, VALUES = 256 };

/* Six bits each: scales and minima of eight sub-blocks, as 16-bit integers. */
AVX512_INLINE void load_sixes(const uint8_t *p, __m128i *scale, __m128i *min) {
    const uint32_t a = sr__get_u32(p), b = sr__get_u32(p + 4), c = sr__get_u32(p + 8);
    const uint32_t low = 0x0F0F0F0Fu, six = 0x3F3F3F3Fu, two = 0x03030303u;
    const uint64_t scales = (a & six) | (uint64_t)((c & low) | (a >> 6 & two) << 4) << 32;
    const uint64_t mins = (b & six) | (uint64_t)((c >> 4 & low) | (b >> 6 & two) << 4) << 32;
    *scale = _mm_cvtepu8_epi16(_mm_cvtsi64_si128((long long)scales));
    *min = _mm_cvtepu8_epi16(_mm_cvtsi64_si128((long long)mins));
}

/* Two scales, in the lower and the upper 16 lanes. */
AVX512_INLINE __m512i spread(__m128i scales, int lower, int upper) {
    const __m512i index = _mm512_inserti64x4(_mm512_set1_epi16((short)lower), _mm256_set1_epi16((short)upper), 1);
    return _mm512_permutexvar_epi16(index, _mm512_castsi128_si512(scales));
}

/* The integer sums of a super-block in eight lanes: scale * code * code of the column. */
AVX512_INLINE __m256i sum_block(const uint8_t *block, __m128i scales, const int8_t *codes) {
    const __m512i low = _mm512_set1_epi8(15);
    __m512i sum = _mm512_setzero_si512();
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) { /* 128 values: low nibbles are sub-blocks 0 and 2, high ones 1 and 3 */
        const __m512i q = _mm512_loadu_si512(block + CODES + 64 * i);
        const __m512i x0 = _mm512_loadu_si512(codes + 128 * i), x1 = _mm512_loadu_si512(codes + 128 * i + 64);
        const __m512i even = _mm512_maddubs_epi16(_mm512_and_si512(q, low), _mm512_shuffle_i64x2(x0, x1, 0x44));
        const __m512i odd = _mm512_maddubs_epi16(_mm512_and_si512(_mm512_srli_epi16(q, 4), low),
                                                 _mm512_shuffle_i64x2(x0, x1, 0xEE));
        sum = _mm512_dpwssd_epi32(sum, even, spread(scales, 4 * i, 4 * i + 2));
        sum = _mm512_dpwssd_epi32(sum, odd, spread(scales, 4 * i + 1, 4 * i + 3));
    }
    return _mm256_add_epi32(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1));
}

AVX512_INLINE float add_lanes(__m256 v, __m128 mins) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    mins = _mm_add_ps(mins, _mm_movehl_ps(mins, mins));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s))) + _mm_cvtss_f32(_mm_add_ss(mins, _mm_movehdup_ps(mins)));
}

AVX512_INLINE void q4_k_part(const uint8_t *row, size_t ld, const int n_rows, int64_t k, const sr__codes_column *cols,
                             const int n_cols, float *out) {
    __m256 acc[SR__MM_DOT_ROWS][SR__MM_DOT_COLS];
    __m128 mins[SR__MM_DOT_ROWS][SR__MM_DOT_COLS];
#pragma GCC unroll 4
    for (int r = 0; r < n_rows; r++) {
#pragma GCC unroll 4
        for (int c = 0; c < n_cols; c++) {
            acc[r][c] = _mm256_setzero_ps();
            mins[r][c] = _mm_setzero_ps();
        }
    }
    for (int64_t b = 0; b < k / VALUES; b++) {
#pragma GCC unroll 4
        for (int r = 0; r < n_rows; r++) {
            const uint8_t *block = row + (size_t)r * ld + (size_t)b * BYTES;
            const float d = _cvtsh_ss(sr__get_u16(block)), dmin = _cvtsh_ss(sr__get_u16(block + 2));
            __m128i scale, min;
            load_sixes(block + SCALES, &scale, &min);
#pragma GCC unroll 4
            for (int c = 0; c < n_cols; c++) {
                const float y = cols[c].scale[8 * b];
                const __m128i totals = _mm_loadu_si128((const __m128i *)(const void *)(cols[c].total + 8 * b));
                const __m256 sum = _mm256_cvtepi32_ps(sum_block(block, scale, cols[c].codes + VALUES * b));
                const __m128 fix = _mm_cvtepi32_ps(_mm_madd_epi16(min, totals));
                acc[r][c] = _mm256_fmadd_ps(_mm256_set1_ps(y * d), sum, acc[r][c]);
                mins[r][c] = _mm_fmadd_ps(_mm_set1_ps(-y * dmin), fix, mins[r][c]);
            }
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < n_rows; r++) {
#pragma GCC unroll 4
        for (int c = 0; c < n_cols; c++) {
            out[r * SR__MM_DOT_COLS + c] = add_lanes(acc[r][c], mins[r][c]);
        }
    }
}

AVX512 void sr__avx512_direct_q4_k(const uint8_t *rows, size_t ld, int n_rows, int64_t k, const sr__codes_column *cols,
                                   int n_cols, float *out) {
    if (n_cols == 1 && n_rows == 4) {
        q4_k_part(rows, ld, 4, k, cols, 1, out);
        return;
    }
    for (int r = 0; r < n_rows; r++, rows += ld, out += SR__MM_DOT_COLS) {
        switch (n_cols) {
            case 1: q4_k_part(rows, ld, 1, k, cols, 1, out); break;
            case 2: q4_k_part(rows, ld, 1, k, cols, 2, out); break;
            case 3: q4_k_part(rows, ld, 1, k, cols, 3, out); break;
            default: q4_k_part(rows, ld, 1, k, cols, 4, out);
        }
    }
}

#endif
