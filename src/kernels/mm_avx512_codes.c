/*
 * mm_avx512_codes.c - products of quantized rows with eight-bit columns, by AVX-512 VNNI.
 *
 * Layer: kernels.  Answers to the vec_dot kernels of the reference's CPU backend.  Four products of an unsigned and a
 * signed byte go into each 32-bit lane; a sum starts at -bias * (sum of the column's codes), which takes the bias out
 * of the unsigned codes again.
 */
#if defined(__x86_64__)

#include "graph/quant.h"
#include "kernels/mm_avx512.h"
#include "kernels/mm_isa.h"

#include <math.h>
#include <string.h>

enum { ROWS = SR__CODES_ROWS, COLS = SR__CODES_COLS };

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* 32 values as a block of q8_0, whose scale is kept as f16; what is not finite makes the whole block NaN. */
AVX512 static void quantize_block(const float *x, int8_t *codes, float *scale) {
    const __m512 v0 = _mm512_loadu_ps(x), v1 = _mm512_loadu_ps(x + 16);
    const __m512 zero = _mm512_setzero_ps();
    /* x * 0 is NaN for infinities and NaN */
    const __mmask16 finite = _mm512_cmp_ps_mask(_mm512_mul_ps(v0, zero), zero, _CMP_EQ_OQ) &
                             _mm512_cmp_ps_mask(_mm512_mul_ps(v1, zero), zero, _CMP_EQ_OQ);
    if (finite != 0xFFFF) {
        memset(codes, 0, 32);
        *scale = NAN;
        return;
    }
    const float amax = _mm512_reduce_max_ps(_mm512_max_ps(_mm512_abs_ps(v0), _mm512_abs_ps(v1)));
    const __m512 id = _mm512_set1_ps(amax > 1e-30f ? 127.0f / amax : 0.0f);
    *scale = sr__f16_to_f32(sr__f32_to_f16(amax / 127.0f));
    const __m128i c0 = _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(v0, id)));
    const __m128i c1 = _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(v1, id)));
    _mm_storeu_si128((__m128i *)(void *)codes, c0);
    _mm_storeu_si128((__m128i *)(void *)(codes + 16), c1);
}

static void quantize_avx512(const float *x, int64_t k, int8_t *codes, float *scale) {
    const int64_t padded = sr__codes_padded(k);
    for (int64_t b = 0; b < k / 32; b++) {
        quantize_block(x + 32 * b, codes + 32 * b, scale + b);
    }
    memset(codes + k, 0, (size_t)(padded - k));
    memset(scale + k / 32, 0, (size_t)((padded - k) / 32) * sizeof(float));
}

/* ---- panels ------------------------------------------------------------------------------------------------------ */

AVX512 static void pack_avx512(const uint8_t *rows, size_t ld, int64_t n, uint8_t *panel) {
    int64_t k = 0;
    for (; k + 64 <= n; k += 64) { /* 16 groups of four codes */
        sr__transpose_16((const float *)(const void *)(rows + k), ld / 4, (float *)(void *)(panel + k * ROWS), ROWS);
    }
    for (; k < n; k += 4) {
        for (int r = 0; r < 16; r++) {
            memcpy(panel + k * ROWS + 4 * r, rows + (size_t)r * ld + (size_t)k, 4);
        }
    }
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

AVX512_INLINE void store_columns(const sr__codes_tile *t, const int cols, const __m512 (*acc)[2]) {
    const __mmask16 m0 = (__mmask16)(t->rows >= 16 ? 0xFFFF : (1 << t->rows) - 1);
    const __mmask16 m1 = (__mmask16)(t->rows >= 32 ? 0xFFFF : t->rows <= 16 ? 0 : (1 << (t->rows - 16)) - 1);
#pragma GCC unroll 6
    for (int c = 0; c < cols; c++) {
        if (c >= t->cols) {
            break;
        }
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

AVX512_INLINE __m512i broadcast_4(const int8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof(v));
    return _mm512_set1_epi32(v);
}

/* The integer sums of one sub-block: 2 * cols lanes of rows. */
AVX512_INLINE void sum_codes(const sr__codes_tile *t, int64_t s, const int sub, const int cols, __m512i (*sum)[2]) {
    const uint8_t *a = t->a + (size_t)(s * sub) * ROWS;
    const int8_t *b0 = t->b + s * sub, *b3 = b0 + 3 * t->ldb;
    const size_t ldb = t->ldb;
#pragma GCC unroll 6
    for (int c = 0; c < cols; c++) {
        sum[c][0] = sum[c][1] = _mm512_set1_epi32(t->b_init[s * COLS + c]);
    }
#pragma GCC unroll 8
    for (int g = 0; g < sub / 4; g++) {
        const __m512i a0 = _mm512_loadu_si512(a + 128 * g), a1 = _mm512_loadu_si512(a + 128 * g + 64);
#pragma GCC unroll 6
        for (int c = 0; c < cols; c++) {
            const __m512i v = broadcast_4((c < 3 ? b0 : b3) + (size_t)(c % 3) * ldb + 4 * g);
            sum[c][0] = _mm512_dpbusd_epi32(sum[c][0], a0, v);
            sum[c][1] = _mm512_dpbusd_epi32(sum[c][1], a1, v);
        }
    }
}

AVX512_INLINE void tile_fixed(const sr__codes_tile *t, const int sub, const bool has_min, const int cols) {
    __m512 acc[COLS][2];
#pragma GCC unroll 6
    for (int c = 0; c < cols; c++) {
        acc[c][0] = acc[c][1] = _mm512_setzero_ps();
    }
    for (int64_t s = 0; s < t->k / sub; s++) {
        __m512i sum[COLS][2];
        sum_codes(t, s, sub, cols, sum);
        const __m512 scale0 = _mm512_loadu_ps(t->a_scale + s * ROWS);
        const __m512 scale1 = _mm512_loadu_ps(t->a_scale + s * ROWS + 16);
        const float *b_scale = t->b_scale + s * sub / 32 * COLS;
#pragma GCC unroll 6
        for (int c = 0; c < cols; c++) {
            const __m512 v = _mm512_set1_ps(b_scale[c]);
            acc[c][0] = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum[c][0]), scale0), v, acc[c][0]);
            acc[c][1] = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum[c][1]), scale1), v, acc[c][1]);
        }
        if (has_min) {
            const __m512 min0 = _mm512_loadu_ps(t->a_min + s * ROWS), min1 = _mm512_loadu_ps(t->a_min + s * ROWS + 16);
#pragma GCC unroll 6
            for (int c = 0; c < cols; c++) {
                const __m512 v = _mm512_set1_ps(t->b_sum[s * COLS + c]);
                acc[c][0] = _mm512_fnmadd_ps(min0, v, acc[c][0]);
                acc[c][1] = _mm512_fnmadd_ps(min1, v, acc[c][1]);
            }
        }
    }
    store_columns(t, cols, acc);
}

/* An odd number of columns computes one more and drops it: its place in the buffers exists. */
#define TILES(name, sub, has_min)                                  \
    AVX512 static void tile_##name(const sr__codes_tile *t) {      \
        switch ((t->cols + 1) / 2) {                               \
            case 1: tile_fixed(t, sub, has_min, 2); break;         \
            case 2: tile_fixed(t, sub, has_min, 4); break;         \
            default: tile_fixed(t, sub, has_min, 6);               \
        }                                                          \
    }

TILES(16, 16, false)
TILES(16_min, 16, true)
TILES(32, 32, false)
TILES(32_min, 32, true)

static void tile_codes(const sr__codes_tile *t) {
    if (t->type->sub == 16) {
        (t->type->has_min ? tile_16_min : tile_16)(t);
    } else {
        (t->type->has_min ? tile_32_min : tile_32)(t);
    }
}

/* ---- few columns ------------------------------------------------------------------------------------------------- */

/* The scales of 256 values, one a sub-block in the low lanes: of the row, and the column's widened to sub-blocks. */
AVX512_INLINE __m512 column_scales(const float *scale, const int sub) {
    const __m512 v = _mm512_castps256_ps512(_mm256_loadu_ps(scale));
    const __m512i twice = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    return sub == 16 ? _mm512_permutexvar_ps(twice, v) : v;
}

AVX512_INLINE __m512 low_floats(const float *p, const int sub) {
    return sub == 16 ? _mm512_loadu_ps(p) : _mm512_maskz_loadu_ps(0xFF, p);
}

AVX512_INLINE __m512 low_ints(const int32_t *p, const int sub) {
    return _mm512_cvtepi32_ps(sub == 16 ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi32(0xFF, p));
}

/* Lane l of 64 codes belongs to sub-block (64 / sub) * step + l / (sub / 4). */
AVX512_INLINE __m512i lane_scale(const int sub, int step) {
    const __m512i base = sub == 16 ? _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0)
                                   : _mm512_set_epi32(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
    return _mm512_add_epi32(base, _mm512_set1_epi32(64 / sub * step));
}

/* Sums that run side by side, so that none waits for the one before.  As many for one column as for several: a column's
 * result does not depend on its neighbours. */
enum { CHAINS = 4 };

AVX512_INLINE void dots_block(const sr__codes_row *row, const sr__codes_column *col, int64_t b, const int sub,
                              const bool has_min, __m512 *acc, __m512 *fix) {
    const int64_t s = b * 256 / sub;
    const uint8_t *codes = row->codes + 256 * b;
    const __m512 scale = _mm512_mul_ps(low_floats(row->scale + s, sub), column_scales(col->scale + 8 * b, sub));
    *fix = _mm512_fmadd_ps(scale, low_ints(col->init + s, sub), *fix);
    if (has_min) {
        *fix = _mm512_fnmadd_ps(low_floats(row->min + s, sub), low_floats(col->sum + s, sub), *fix);
    }
#pragma GCC unroll 4
    for (int step = 0; step < 4; step++) {
        const __m512i a = _mm512_loadu_si512(codes + 64 * step);
        const __m512i x = _mm512_loadu_si512(col->codes + 256 * b + 64 * step);
        const __m512 sum = _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(_mm512_setzero_si512(), a, x));
        __m512 *chain = &acc[step % CHAINS];
        *chain = _mm512_fmadd_ps(sum, _mm512_permutexvar_ps(lane_scale(sub, step), scale), *chain);
    }
}

AVX512_INLINE void dots_fixed(int64_t k, const sr__codes_row *row, const sr__codes_column *col, const int sub,
                              const bool has_min, const int cols, float *out) {
    __m512 acc[SR__MM_DOT_COLS][CHAINS], fix[SR__MM_DOT_COLS];
#pragma GCC unroll 4
    for (int c = 0; c < cols; c++) {
        fix[c] = _mm512_setzero_ps();
#pragma GCC unroll 4
        for (int i = 0; i < CHAINS; i++) {
            acc[c][i] = _mm512_setzero_ps();
        }
    }
    for (int64_t b = 0; b < k / 256; b++) {
#pragma GCC unroll 4
        for (int c = 0; c < cols; c++) {
            dots_block(row, &col[c], b, sub, has_min, acc[c], &fix[c]);
        }
    }
#pragma GCC unroll 4
    for (int c = 0; c < cols; c++) {
        const __m512 sum = _mm512_add_ps(_mm512_add_ps(acc[c][0], acc[c][1]), _mm512_add_ps(acc[c][2], acc[c][3]));
        out[c] = _mm512_reduce_add_ps(_mm512_add_ps(sum, fix[c]));
    }
}

#define DOTS(name, sub, has_min)                                                                                    \
    AVX512 static void dots_##name(int64_t k, const sr__codes_row *row, const sr__codes_column *cols, int n_cols,   \
                                   float *out) {                                                                    \
        switch (n_cols) {                                                                                           \
            case 1: dots_fixed(k, row, cols, sub, has_min, 1, out); break;                                          \
            case 2: dots_fixed(k, row, cols, sub, has_min, 2, out); break;                                          \
            case 3: dots_fixed(k, row, cols, sub, has_min, 3, out); break;                                          \
            default: dots_fixed(k, row, cols, sub, has_min, 4, out);                                                \
        }                                                                                                           \
    }

DOTS(16, 16, false)
DOTS(16_min, 16, true)
DOTS(32, 32, false)
DOTS(32_min, 32, true)

static void dots_codes(const sr__codes_type *type, int64_t k, const sr__codes_row *row, const sr__codes_column *cols,
                       int n_cols, float *out) {
    if (type->sub == 16) {
        (type->has_min ? dots_16_min : dots_16)(k, row, cols, n_cols, out);
    } else {
        (type->has_min ? dots_32_min : dots_32)(k, row, cols, n_cols, out);
    }
}

const sr__codes_isa sr__codes_avx512 = {tile_codes,        dots_codes,  sr__avx512_direct,
                                        sr__avx512_unpack, pack_avx512, quantize_avx512};

#endif
