/*
 * mm_avx2.c - the inner loops of matrix products with AVX2 and FMA, on floats.
 *
 * Layer: kernels.  A tile is 16 rows (two vectors) by 6 columns: 12 sums in registers.
 */
#if defined(__x86_64__)

#include <math.h>
#include <string.h>

#include "kernels/mm_isa.h"

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma,f16c")))
#define AVX2_INLINE static inline __attribute__((always_inline, target("avx2,fma,f16c")))

enum { MR = 16, NR = 6 };

AVX2_INLINE void store_column(const sr__mm_tile *t, float *y, __m256 v0, __m256 v1) {
    float part[MR];
    if (t->rows == MR) {
        if (t->add) {
            v0 = _mm256_add_ps(v0, _mm256_loadu_ps(y));
            v1 = _mm256_add_ps(v1, _mm256_loadu_ps(y + 8));
        }
        _mm256_storeu_ps(y, v0);
        _mm256_storeu_ps(y + 8, v1);
        return;
    }
    _mm256_storeu_ps(part, v0);
    _mm256_storeu_ps(part + 8, v1);
    for (int r = 0; r < t->rows; r++) {
        y[r] = t->add ? y[r] + part[r] : part[r];
    }
}

AVX2_INLINE void tile_cols(const sr__mm_tile *t, const int cols) {
    __m256 acc[NR][2];
#pragma GCC unroll 6
    for (int c = 0; c < cols; c++) {
        acc[c][0] = _mm256_setzero_ps();
        acc[c][1] = _mm256_setzero_ps();
    }
    const float *a = t->a;
    const char *b0 = (const char *)t->b, *b3 = b0 + 3 * t->ldb * sizeof(float);
    const size_t ldb = t->ldb * sizeof(float);
    for (int64_t k = 0; k < t->k; k++) {
        const __m256 a0 = _mm256_loadu_ps(a), a1 = _mm256_loadu_ps(a + 8);
        a += t->lda;
#pragma GCC unroll 6
        for (int c = 0; c < cols; c++) {
            const char *p = (c < 3 ? b0 : b3) + (size_t)(c % 3) * ldb;
            const __m256 v = _mm256_broadcast_ss((const float *)(const void *)p);
            acc[c][0] = _mm256_fmadd_ps(a0, v, acc[c][0]);
            acc[c][1] = _mm256_fmadd_ps(a1, v, acc[c][1]);
        }
        b0 += sizeof(float);
        b3 += sizeof(float);
    }
#pragma GCC unroll 6
    for (int c = 0; c < cols; c++) {
        store_column(t, t->y[c], acc[c][0], acc[c][1]);
    }
}

AVX2 static void tile_avx2(const sr__mm_tile *t) {
    switch (t->cols) {
        case 1: tile_cols(t, 1); break;
        case 2: tile_cols(t, 2); break;
        case 3: tile_cols(t, 3); break;
        case 4: tile_cols(t, 4); break;
        case 5: tile_cols(t, 5); break;
        default: tile_cols(t, 6);
    }
}

/* 8 x 8 floats */
AVX2_INLINE void transpose_8(const float *src, size_t ld, float *dst) {
    __m256 r[8], t[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        r[i] = _mm256_loadu_ps(src + (size_t)i * ld);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
        r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xEE);
        r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
        r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xEE);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        _mm256_storeu_ps(dst + j * MR, _mm256_permute2f128_ps(r[j], r[4 + j], 0x20));
        _mm256_storeu_ps(dst + (4 + j) * MR, _mm256_permute2f128_ps(r[j], r[4 + j], 0x31));
    }
}

AVX2 static void transpose_avx2(const float *src, size_t ld, int64_t k, float *dst) {
    int64_t i = 0;
    for (; i + 8 <= k; i += 8) {
        transpose_8(src + i, ld, dst + i * MR);
        transpose_8(src + i + 8 * ld, ld, dst + i * MR + 8);
    }
    for (; i < k; i++) {
        for (int r = 0; r < MR; r++) {
            dst[i * MR + r] = src[(size_t)r * ld + (size_t)i];
        }
    }
}

/* ---- few columns ------------------------------------------------------------------------------------------------- */

AVX2_INLINE __m256 load_row(const int type, const char *p) {
    if (type == SR_TYPE_F32) {
        return _mm256_loadu_ps((const float *)(const void *)p);
    }
    const __m128i h = _mm_loadu_si128((const __m128i *)(const void *)p);
    if (type == SR_TYPE_F16) {
        return _mm256_cvtph_ps(h);
    }
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

AVX2_INLINE float add_lanes(__m256 v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    s = _mm_add_ss(s, _mm_movehdup_ps(s));
    return _mm_cvtss_f32(s);
}

/* One row times one column, summed up in the order of the set with AVX-512: four times sixteen sums in eight vectors;
 * the rest one by one, of halves in f64. */
AVX2_INLINE float dot(const sr__mm_dots *d, const int type, const char *row, const float *x) {
    const size_t size = type == SR_TYPE_F32 ? 4 : 2;
    const int64_t whole = d->k / 64 * 64;
    __m256 acc[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        acc[i] = _mm256_setzero_ps();
    }
    for (int64_t k = 0; k < whole; k += 64) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            const __m256 v = load_row(type, row + (size_t)(k + 8 * i) * size);
            acc[i] = _mm256_fmadd_ps(v, _mm256_loadu_ps(x + k + 8 * i), acc[i]);
        }
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        acc[i] = _mm256_add_ps(_mm256_add_ps(acc[i], acc[4 + i]), _mm256_add_ps(acc[2 + i], acc[6 + i]));
    }
    float rest[64], sum = add_lanes(_mm256_add_ps(acc[0], acc[1]));
    double exact = (double)sum;
    sr__row_to_f32(type, row + (size_t)whole * size, rest, d->k - whole);
    for (int64_t k = whole; k < d->k; k++) {
        const float product = rest[k - whole] * x[k]; /* rounded by itself */
        sum += product;
        exact += (double)product;
    }
    return type == SR_TYPE_F32 ? sum : (float)exact;
}

AVX2_INLINE void dots_of_type(const sr__mm_dots *d, const int type) {
    for (int r = 0; r < d->n_rows; r++) {
        for (int c = 0; c < d->n_cols; c++) {
            d->out[r * SR__MM_DOT_COLS + c] = dot(d, type, d->rows[r], d->cols[c]);
        }
    }
}

AVX2 static void dots_f32(const sr__mm_dots *d) { dots_of_type(d, SR_TYPE_F32); }
AVX2 static void dots_f16(const sr__mm_dots *d) { dots_of_type(d, SR_TYPE_F16); }
AVX2 static void dots_bf16(const sr__mm_dots *d) { dots_of_type(d, SR_TYPE_BF16); }

static void dots_avx2(const sr__mm_dots *d) {
    switch (d->type) {
        case SR_TYPE_F32: dots_f32(d); break;
        case SR_TYPE_F16: dots_f16(d); break;
        default: dots_bf16(d); break;
    }
}

/* ---- exponentials ------------------------------------------------------------------------------------------------ */

/* e^x for x <= 0: 2^n * e^r, the power in two factors so that results may be subnormal; 0 below -103. */
AVX2_INLINE __m256 exp_8(__m256 x) {
    const __m256 live = _mm256_cmp_ps(x, _mm256_set1_ps(-103.0f), _CMP_NLT_UQ);
    const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)),
                                     _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), x);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4f), r);
    __m256 p = _mm256_set1_ps(1.9875691500e-4f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.3981999507e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.3334519073e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.1665795894e-2f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.6666665459e-1f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5f));
    p = _mm256_add_ps(_mm256_fmadd_ps(p, _mm256_mul_ps(r, r), r), _mm256_set1_ps(1.0f));
    const __m256i power = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(power, 1), bias = _mm256_set1_epi32(127);
    const __m256i other = _mm256_sub_epi32(power, half);
    const __m256 f0 = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
    const __m256 f1 = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(other, bias), 23));
    return _mm256_and_ps(live, _mm256_mul_ps(_mm256_mul_ps(p, f0), f1));
}

AVX2 static float exps_avx2(float *z, int64_t n, float *max) {
    __m256 sum = _mm256_setzero_ps(), lanes = _mm256_set1_ps(*max);
    float most[8];
    for (int64_t i = 0; i < n; i += 8) {
        lanes = _mm256_max_ps(_mm256_loadu_ps(z + i), lanes);
    }
    _mm256_storeu_ps(most, lanes);
    for (int i = 0; i < 8; i++) {
        *max = most[i] > *max ? most[i] : *max;
    }
    const __m256 shift = _mm256_set1_ps(*max == -INFINITY ? 0.0f : *max);
    for (int64_t i = 0; i < n; i += 8) {
        const __m256 e = exp_8(_mm256_sub_ps(_mm256_loadu_ps(z + i), shift));
        _mm256_storeu_ps(z + i, e);
        sum = _mm256_add_ps(sum, e);
    }
    return add_lanes(sum);
}

/* ---- sums of rows under weights ---------------------------------------------------------------------------------- */

AVX2_INLINE __m256 round_half(__m256 v, const bool half) {
    return half ? _mm256_cvtph_ps(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT)) : v;
}

/* 8 * vectors values from i on: they stay in registers for all rows. */
AVX2_INLINE void blend_part(const sr__mm_blend *b, int64_t i, const bool half, const int vectors) {
    const size_t size = half ? 2 : 4;
    __m256 acc[8];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) {
        acc[v] = _mm256_loadu_ps(b->acc + i + 8 * v);
    }
    for (int64_t r = 0; r < b->n_rows; r++) {
        const char *row = b->rows[r] + (size_t)i * size;
        const __m256 weight = _mm256_set1_ps(b->weight[r]);
        if (b->shrink[r] != 1.0f) {
            const __m256 shrink = _mm256_set1_ps(b->shrink[r]);
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++) {
                acc[v] = round_half(_mm256_mul_ps(acc[v], shrink), half);
            }
        }
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) {
            const __m256 x = load_row(half ? SR_TYPE_F16 : SR_TYPE_F32, row + (size_t)(8 * v) * size);
            acc[v] = round_half(_mm256_fmadd_ps(x, weight, acc[v]), half);
        }
    }
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) {
        _mm256_storeu_ps(b->acc + i + 8 * v, acc[v]);
    }
}

AVX2_INLINE void blend_type(const sr__mm_blend *b, const bool half) {
    int64_t i = 0;
    for (; i + 64 <= b->n; i += 64) {
        blend_part(b, i, half, 8);
    }
    for (; i + 16 <= b->n; i += 16) {
        blend_part(b, i, half, 2);
    }
    for (; i < b->n; i++) { /* one value: the same steps in the lowest lane */
        __m128 acc = _mm_set_ss(b->acc[i]);
        for (int64_t r = 0; r < b->n_rows; r++) {
            float x;
            sr__row_to_f32(half ? SR_TYPE_F16 : SR_TYPE_F32, b->rows[r] + (size_t)i * (half ? 2 : 4), &x, 1);
            if (b->shrink[r] != 1.0f) {
                acc = _mm_mul_ss(acc, _mm_set_ss(b->shrink[r]));
                acc = half ? _mm_cvtph_ps(_mm_cvtps_ph(acc, _MM_FROUND_TO_NEAREST_INT)) : acc;
            }
            acc = _mm_fmadd_ss(_mm_set_ss(x), _mm_set_ss(b->weight[r]), acc);
            acc = half ? _mm_cvtph_ps(_mm_cvtps_ph(acc, _MM_FROUND_TO_NEAREST_INT)) : acc;
        }
        b->acc[i] = _mm_cvtss_f32(acc);
    }
}

AVX2 static void blend_avx2(const sr__mm_blend *b) {
    if (b->half) {
        blend_type(b, true);
    } else {
        blend_type(b, false);
    }
}

const sr__mm_isa sr__mm_avx2 = {"avx2", MR, NR, tile_avx2, transpose_avx2, dots_avx2, exps_avx2, blend_avx2,
                                &sr__codes_avx2};

#endif
