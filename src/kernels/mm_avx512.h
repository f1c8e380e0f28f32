/*
 * mm_avx512.h - what the files with AVX-512 share: target attributes, a transposition, unpacking.
 *
 * Layer: kernels.  Internal.
 */
#ifndef SR_MM_AVX512_H
#define SR_MM_AVX512_H

#include <immintrin.h>

#include "kernels/mm_isa.h"

#define SR__AVX512_TARGET target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma,f16c")
#define AVX512 __attribute__((SR__AVX512_TARGET))
#define AVX512_INLINE static inline __attribute__((always_inline, SR__AVX512_TARGET))

/* 16 x 16 floats (or any 32-bit values: they are only moved): rows `ld` apart to columns `dst_ld` apart. */
AVX512_INLINE void sr__transpose_16(const float *src, size_t ld, float *dst, size_t dst_ld) {
    __m512 r[16], t[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        r[i] = _mm512_loadu_ps(src + (size_t)i * ld);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) { /* r[4i + j]: column j of each 128 bits, rows 4i .. 4i+3 */
        const __m512d u0 = _mm512_castps_pd(t[4 * i]), u1 = _mm512_castps_pd(t[4 * i + 1]);
        const __m512d u2 = _mm512_castps_pd(t[4 * i + 2]), u3 = _mm512_castps_pd(t[4 * i + 3]);
        r[4 * i] = _mm512_castpd_ps(_mm512_unpacklo_pd(u0, u2));
        r[4 * i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(u0, u2));
        r[4 * i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(u1, u3));
        r[4 * i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(u1, u3));
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) { /* gather the 128-bit lanes of rows 0-3, 4-7, 8-11, 12-15 */
        const __m512 lo0 = _mm512_shuffle_f32x4(r[j], r[4 + j], 0x44), hi0 = _mm512_shuffle_f32x4(r[j], r[4 + j], 0xEE);
        const __m512 lo1 = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0x44);
        const __m512 hi1 = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0xEE);
        _mm512_storeu_ps(dst + (size_t)j * dst_ld, _mm512_shuffle_f32x4(lo0, lo1, 0x88));
        _mm512_storeu_ps(dst + (size_t)(4 + j) * dst_ld, _mm512_shuffle_f32x4(lo0, lo1, 0xDD));
        _mm512_storeu_ps(dst + (size_t)(8 + j) * dst_ld, _mm512_shuffle_f32x4(hi0, hi1, 0x88));
        _mm512_storeu_ps(dst + (size_t)(12 + j) * dst_ld, _mm512_shuffle_f32x4(hi0, hi1, 0xDD));
    }
}

void sr__avx512_dots(const sr__mm_dots *d);
/* The product of a type's rows as they lie, or NULL. */
sr__codes_direct *sr__avx512_direct(int type);
sr__codes_direct sr__avx512_direct_q4_k;
/* The unpacker of a type that sr__codes_get knows. */
sr__codes_unpack *sr__avx512_unpack(int type);

#endif
