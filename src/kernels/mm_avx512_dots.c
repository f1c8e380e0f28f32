/*
 * mm_avx512_dots.c - rows of floats times few columns, with AVX-512.
 *
 * Layer: kernels.  Answers to ggml_vec_dot_f32 and ggml_vec_dot_f16 of the reference, whose order of summation is kept:
 * four vectors of sums, each taking every fourth vector of products, then pairs of them, then their lanes; what is left
 * of a row is added one by one, in f64 for the halves.  So results are those of the reference to the bit, and a
 * rounding to eight bits further on meets the same values.
 */
#if defined(__x86_64__)

#include "kernels/mm_avx512.h"
#include "kernels/mm_isa.h"

#include <math.h>

enum { CHAINS = 4, STEP = 16 * CHAINS };

/* 16 values of a row as floats; the mask says which exist. */
AVX512_INLINE __m512 load_row(const int type, const char *p, __mmask16 mask) {
    if (type == SR_TYPE_F32) {
        return _mm512_maskz_loadu_ps(mask, p);
    }
    const __m256i h = _mm256_maskz_loadu_epi16(mask, p);
    if (type == SR_TYPE_F16) {
        return _mm512_cvtph_ps(h);
    }
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}

/* Adds the last products of a row, from k on, one by one. */
AVX512_INLINE float add_rest(const int type, const char *row, const float *x, int64_t k, int64_t n, float sum) {
    float rest[STEP];
    double exact = (double)sum;
    if (type == SR_TYPE_F32) {
        for (; k < n; k++) {
            const float product = ((const float *)(const void *)row)[k] * x[k]; /* rounded by itself */
            sum += product;
        }
        return sum;
    }
    for (int64_t i = 0; i < n - k; i += 16) {
        const __mmask16 mask = (__mmask16)(n - k - i >= 16 ? 0xFFFF : (1 << (n - k - i)) - 1);
        _mm512_storeu_ps(rest + i, load_row(type, row + 2 * (k + i), mask));
    }
    for (int64_t i = 0; i < n - k; i++) {
        exact += (double)(rest[i] * x[k + i]);
    }
    return (float)exact;
}

/* Rows r0 .. r0 + rows times columns c0 .. c0 + cols. */
AVX512_INLINE void dots_part(const sr__mm_dots *d, const int type, int r0, const int rows, int c0, const int cols) {
    const size_t size = type == SR_TYPE_F32 ? 4 : 2;
    const int64_t whole = d->k / STEP * STEP;
    __m512 acc[4][3][CHAINS];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 3
        for (int c = 0; c < cols; c++) {
#pragma GCC unroll 4
            for (int i = 0; i < CHAINS; i++) {
                acc[r][c][i] = _mm512_setzero_ps();
            }
        }
    }
    for (int64_t k = 0; k < whole; k += STEP) {
#pragma GCC unroll 4
        for (int i = 0; i < CHAINS; i++) {
            __m512 x[3];
#pragma GCC unroll 3
            for (int c = 0; c < cols; c++) {
                x[c] = _mm512_loadu_ps(d->cols[c0 + c] + k + 16 * i);
            }
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) {
                const __m512 v = load_row(type, d->rows[r0 + r] + (size_t)(k + 16 * i) * size, 0xFFFF);
#pragma GCC unroll 3
                for (int c = 0; c < cols; c++) {
                    acc[r][c][i] = _mm512_fmadd_ps(v, x[c], acc[r][c][i]);
                }
            }
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 3
        for (int c = 0; c < cols; c++) {
            const __m512 s0 = _mm512_add_ps(acc[r][c][0], acc[r][c][2]), s1 = _mm512_add_ps(acc[r][c][1], acc[r][c][3]);
            const float sum = _mm512_reduce_add_ps(_mm512_add_ps(s0, s1));
            d->out[(r0 + r) * SR__MM_DOT_COLS + c0 + c] =
                whole < d->k ? add_rest(type, d->rows[r0 + r], d->cols[c0 + c], whole, d->k, sum) : sum;
        }
    }
}

/* Two rows times two or three columns keep as many sums as there are registers; a column alone takes four rows. */
AVX512_INLINE void dots_of_type(const sr__mm_dots *d, const int type) {
    int r = 0;
    if (d->n_cols == 1 && d->n_rows == 4) {
        dots_part(d, type, 0, 4, 0, 1);
        return;
    }
    for (; r + 2 <= d->n_rows; r += 2) {
        switch (d->n_cols) {
            case 1: dots_part(d, type, r, 2, 0, 1); break;
            case 3: dots_part(d, type, r, 2, 0, 3); break;
            case 4: dots_part(d, type, r, 2, 2, 2); /* fall through */
            default: dots_part(d, type, r, 2, 0, 2); break;
        }
    }
    for (int c = 0; r < d->n_rows && c < d->n_cols; c++) {
        dots_part(d, type, r, 1, c, 1);
    }
}

AVX512 static void dots_f32(const sr__mm_dots *d) { dots_of_type(d, SR_TYPE_F32); }
AVX512 static void dots_f16(const sr__mm_dots *d) { dots_of_type(d, SR_TYPE_F16); }
AVX512 static void dots_bf16(const sr__mm_dots *d) { dots_of_type(d, SR_TYPE_BF16); }

void sr__avx512_dots(const sr__mm_dots *d) {
    switch (d->type) {
        case SR_TYPE_F32: dots_f32(d); break;
        case SR_TYPE_F16: dots_f16(d); break;
        default: dots_bf16(d); break;
    }
}

#endif
