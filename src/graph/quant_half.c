/*
 * quant_half.c - rows of f16 and bf16.
 *
 * Layer: graph.  Answers to the half conversions of ggml-impl.h of the reference.  On x86 with F16C eight values are
 * converted at a time; vectors that hold a NaN take the scalar way, which drops its payload.
 */
#include "graph/quant_rows.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>
#endif

uint16_t sr__f32_to_f16(float f) {
    const uint32_t u = sr__bits_of_f32(f), a = u & 0x7FFFFFFFu;
    const uint32_t sign = u >> 16 & 0x8000u;
    if (a >= 0x477FF000u) { /* 65520 and more, infinities, NaN */
        return (uint16_t)(sign | (a > 0x7F800000u ? 0x7E00u : 0x7C00u));
    }
    if (a < 0x38800000u) { /* below 2^-14: adding 0.5 rounds to its last place, 2^-24 */
        return (uint16_t)(sign | (sr__bits_of_f32(sr__f32_of_bits(a) + 0.5f) - 0x3F000000u));
    }
    return (uint16_t)(sign | (a - 0x38000000u + 0xFFFu + (a >> 13 & 1u)) >> 13);
}

uint16_t sr__f32_to_bf16(float f) {
    const uint32_t u = sr__bits_of_f32(f);
    if ((u & 0x7FFFFFFFu) > 0x7F800000u) {
        return (uint16_t)(u >> 16 | 0x40u);
    }
    return (uint16_t)((u + 0x7FFFu + (u >> 16 & 1u)) >> 16);
}

#if defined(__x86_64__)

__attribute__((target("avx,f16c"))) static int64_t read_f16_simd(const uint8_t *src, float *dst, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m128i h = _mm_loadu_si128((const __m128i *)(const void *)(src + 2 * i));
        _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(h));
    }
    return i;
}

__attribute__((target("avx,f16c"))) static int64_t write_f16_simd(const float *src, uint8_t *dst, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 v = _mm256_loadu_ps(src + i);
        if (_mm256_movemask_ps(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)) != 0) {
            for (int k = 0; k < 8; k++) {
                sr__put_f16(dst + 2 * (i + k), src[i + k]);
            }
            continue;
        }
        const __m128i h = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)(void *)(dst + 2 * i), h);
    }
    return i;
}

/* Asked of the processor once: clang's __builtin_cpu_supports knows no F16C, and the question costs microseconds in a
 * virtual machine. */
bool sr__cpu_has_f16c(void) {
    enum { UNKNOWN, NO, YES };
    static atomic_int known = UNKNOWN;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == UNKNOWN) {
        unsigned a, b, c = 0, d;
        const bool has = __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
        answer = has ? YES : NO;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == YES;
}

#else

static int64_t read_f16_simd(const uint8_t *src, float *dst, int64_t n) {
    (void)src, (void)dst, (void)n;
    return 0;
}
static int64_t write_f16_simd(const float *src, uint8_t *dst, int64_t n) {
    (void)src, (void)dst, (void)n;
    return 0;
}
bool sr__cpu_has_f16c(void) { return false; }

#endif

void sr__row_read_f16(const uint8_t *src, float *dst, int64_t n) {
    int64_t i = sr__cpu_has_f16c() ? read_f16_simd(src, dst, n) : 0;
    for (; i < n; i++) {
        dst[i] = sr__get_f16(src + 2 * i);
    }
}

void sr__row_write_f16(const float *src, uint8_t *dst, int64_t n) {
    int64_t i = sr__cpu_has_f16c() ? write_f16_simd(src, dst, n) : 0;
    for (; i < n; i++) {
        sr__put_f16(dst + 2 * i, src[i]);
    }
}

void sr__row_read_bf16(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        dst[i] = sr__bf16_to_f32(sr__get_u16(src + 2 * i));
    }
}

void sr__row_write_bf16(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        sr__put_u16(dst + 2 * i, sr__f32_to_bf16(src[i]));
    }
}
