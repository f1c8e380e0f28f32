/*
 * mm_avx512_unpack.h - unpacking of quantized rows with AVX-512, and the target attributes of such files.
 *
 * Layer: kernels.  Internal.
 */
#ifndef SR_MM_AVX512_UNPACK_H
#define SR_MM_AVX512_UNPACK_H

#include <immintrin.h>

#include "kernels/mm_codes.h"

#define SR__AVX512_TARGET target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma,f16c")
#define AVX512 __attribute__((SR__AVX512_TARGET))
#define AVX512_INLINE static inline __attribute__((always_inline, SR__AVX512_TARGET))

/* The unpacker of a type that has one here, else its plain one. */
sr__codes_unpack *sr__avx512_unpack(int type);

#endif
