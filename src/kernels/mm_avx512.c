/*
 * mm_avx512.c - the inner loops of matrix products with AVX-512, on floats.
 *
 * Layer: kernels.  A tile is 32 rows (two vectors) by 12 columns: 24 sums in registers, two vectors of the first
 * matrix, one broadcast of the second.
 */
#if defined(__x86_64__)

#include "kernels/mm_avx512.h"
#include "kernels/mm_isa.h"

#include <math.h>

enum { MR = 32, NR = 12 };

static inline __mmask16 low_lanes(int n) { return (__mmask16)(n >= 16 ? 0xFFFF : n <= 0 ? 0 : (1 << n) - 1); }

AVX512_INLINE void store_tile(const sr__mm_tile *t, int cols, const __m512 (*acc)[2]) {
    const __mmask16 m0 = low_lanes(t->rows), m1 = low_lanes(t->rows - 16);
#pragma GCC unroll 12
    for (int c = 0; c < cols; c++) {
        float *y = t->y[c];
        __m512 v0 = acc[c][0], v1 = acc[c][1];
        if (t->add) {
            v0 = _mm512_add_ps(v0, _mm512_maskz_loadu_ps(m0, y));
            v1 = _mm512_add_ps(v1, _mm512_maskz_loadu_ps(m1, y + 16));
        }
        _mm512_mask_storeu_ps(y, m0, v0);
        _mm512_mask_storeu_ps(y + 16, m1, v1);
    }
}

/* Columns are reached from every third one, so that four addresses serve twelve. */
AVX512_INLINE void tile_cols(const sr__mm_tile *t, const int cols) {
    __m512 acc[NR][2];
    const char *b[4];
    const size_t ldb = t->ldb * sizeof(float);
#pragma GCC unroll 12
    for (int c = 0; c < cols; c++) {
        acc[c][0] = _mm512_setzero_ps();
        acc[c][1] = _mm512_setzero_ps();
    }
#pragma GCC unroll 4
    for (int g = 0; g < 4; g++) {
        b[g] = (const char *)t->b + (size_t)(3 * g) * ldb;
    }
    const float *a = t->a;
    for (int64_t k = 0; k < t->k; k++) {
        const __m512 a0 = _mm512_loadu_ps(a), a1 = _mm512_loadu_ps(a + 16);
        a += t->lda;
#pragma GCC unroll 12
        for (int c = 0; c < cols; c++) {
            const __m512 v = _mm512_set1_ps(*(const float *)(const void *)(b[c / 3] + (size_t)(c % 3) * ldb));
            acc[c][0] = _mm512_fmadd_ps(a0, v, acc[c][0]);
            acc[c][1] = _mm512_fmadd_ps(a1, v, acc[c][1]);
        }
#pragma GCC unroll 4
        for (int g = 0; g < 4; g++) {
            b[g] += sizeof(float);
        }
    }
    store_tile(t, cols, acc);
}

#define TILE_CASE(n) \
    case n: tile_cols(t, n); break;

AVX512 static void tile_avx512(const sr__mm_tile *t) {
    switch (t->cols) {
        TILE_CASE(1) TILE_CASE(2) TILE_CASE(3) TILE_CASE(4) TILE_CASE(5) TILE_CASE(6)
        TILE_CASE(7) TILE_CASE(8) TILE_CASE(9) TILE_CASE(10) TILE_CASE(11)
        default: tile_cols(t, 12);
    }
}

/* ---- transposition ----------------------------------------------------------------------------------------------- */

AVX512 static void transpose_avx512(const float *src, size_t ld, int64_t k, float *dst) {
    int64_t i = 0;
    for (; i + 16 <= k; i += 16) {
        sr__transpose_16(src + i, ld, dst + i * MR, MR);
        sr__transpose_16(src + i + 16 * ld, ld, dst + i * MR + 16, MR);
    }
    for (; i < k; i++) {
        for (int r = 0; r < MR; r++) {
            dst[i * MR + r] = src[(size_t)r * ld + (size_t)i];
        }
    }
}

/* ---- exponentials ------------------------------------------------------------------------------------------------ */

/* e^x for x <= 0 (2^n * e^r, r within half a step of ln 2): about one unit in the last place; 0 below -103. */
AVX512_INLINE __m512 exp_16(__m512 x) {
    const __mmask16 live = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-103.0f), _CMP_NLT_UQ);
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 0);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
    __m512 p = _mm512_set1_ps(1.9875691500e-4f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.3981999507e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
    p = _mm512_add_ps(_mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r), _mm512_set1_ps(1.0f));
    return _mm512_maskz_scalef_ps(live, p, n);
}

AVX512 static float exps_avx512(float *z, int64_t n, float *max) {
    __m512 most = _mm512_set1_ps(*max), sum = _mm512_setzero_ps();
    for (int64_t i = 0; i < n; i += 16) {
        most = _mm512_max_ps(_mm512_loadu_ps(z + i), most);
    }
    *max = _mm512_reduce_max_ps(most);
    const __m512 shift = _mm512_set1_ps(*max == -INFINITY ? 0.0f : *max);
    for (int64_t i = 0; i < n; i += 16) {
        const __m512 e = exp_16(_mm512_sub_ps(_mm512_loadu_ps(z + i), shift));
        _mm512_storeu_ps(z + i, e);
        sum = _mm512_add_ps(sum, e);
    }
    return _mm512_reduce_add_ps(sum);
}

/* ---- sums of rows under weights ---------------------------------------------------------------------------------- */

AVX512_INLINE __m512 round_half(__m512 v, const bool half) {
    return half ? _mm512_cvtph_ps(_mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT)) : v;
}

/* 16 * vectors values from i on, of which the mask's exist: they stay in registers for all rows. */
AVX512_INLINE void blend_part(const sr__mm_blend *b, int64_t i, __mmask16 mask, const bool half, const int vectors) {
    const size_t size = half ? 2 : 4;
    __m512 acc[8];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) {
        acc[v] = _mm512_maskz_loadu_ps(mask, b->acc + i + 16 * v);
    }
    for (int64_t r = 0; r < b->n_rows; r++) {
        const char *row = b->rows[r] + (size_t)i * size;
        const __m512 weight = _mm512_set1_ps(b->weight[r]);
        if (b->shrink[r] != 1.0f) {
            const __m512 shrink = _mm512_set1_ps(b->shrink[r]);
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++) {
                acc[v] = round_half(_mm512_mul_ps(acc[v], shrink), half);
            }
        }
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) {
            const char *p = row + (size_t)(16 * v) * size;
            const __m512 x = half ? _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, p)) : _mm512_maskz_loadu_ps(mask, p);
            acc[v] = round_half(_mm512_fmadd_ps(x, weight, acc[v]), half);
        }
    }
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) {
        _mm512_mask_storeu_ps(b->acc + i + 16 * v, mask, acc[v]);
    }
}

AVX512_INLINE void blend_type(const sr__mm_blend *b, const bool half) {
    int64_t i = 0;
    for (; i + 128 <= b->n; i += 128) {
        blend_part(b, i, 0xFFFF, half, 8);
    }
    for (; i + 64 <= b->n; i += 64) {
        blend_part(b, i, 0xFFFF, half, 4);
    }
    for (; i < b->n; i += 16) {
        blend_part(b, i, low_lanes((int)(b->n - i)), half, 1);
    }
}

AVX512 static void blend_avx512(const sr__mm_blend *b) {
    if (b->half) {
        blend_type(b, true);
    } else {
        blend_type(b, false);
    }
}

const sr__mm_isa sr__mm_avx512 = {"avx512",        MR,          NR,           tile_avx512,      transpose_avx512,
                                  sr__avx512_dots, exps_avx512, blend_avx512, &sr__codes_avx512};

#endif
