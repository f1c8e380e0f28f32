/*
 * mm_avx512_unpack.c - unpacking of quantized rows with AVX-512 to codes and scales.
 *
 * Layer: kernels.  The layouts of the blocks are those of the quant files.
 */
#if defined(__x86_64__)

#include "kernels/mm_avx512.h"

#include "graph/quant_rows.h"

/* ---- small blocks ------------------------------------------------------------------------------------------------ */

/* 16 bytes of nibbles as 32 codes: the low ones first. */
AVX512_INLINE __m256i spread_nibbles(const uint8_t *qs) {
    const __m128i q = _mm_loadu_si128((const __m128i *)(const void *)qs);
    const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(q), _mm_srli_epi16(q, 4), 1);
    return _mm256_and_si256(both, _mm256_set1_epi8(15));
}

AVX512_INLINE float half_at(const uint8_t *p) { return _cvtsh_ss(sr__get_u16(p)); }

AVX512_INLINE void store_32(uint8_t *codes, __m256i v) { _mm256_storeu_si256((__m256i *)(void *)codes, v); }

AVX512_INLINE __m256i table_32(const uint8_t *qs, __m256i table) { return _mm256_shuffle_epi8(table,
                                                                                              spread_nibbles(qs)); }

AVX512_INLINE __m256i fifth_bits(const uint8_t *qh) {
    return _mm256_maskz_set1_epi8((__mmask32)sr__get_u32(qh), 16);
}

AVX512 static void unpack_q4_0(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    for (int64_t b = 0; b < n / 32; b++, src += 18) {
        scale[b] = half_at(src);
        store_32(codes + 32 * b, spread_nibbles(src + 2));
    }
}

AVX512 static void unpack_q4_1(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    for (int64_t b = 0; b < n / 32; b++, src += 20) {
        scale[b] = half_at(src);
        min[b] = -half_at(src + 2);
        store_32(codes + 32 * b, spread_nibbles(src + 4));
    }
}

AVX512 static void unpack_q5_0(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    for (int64_t b = 0; b < n / 32; b++, src += 22) {
        scale[b] = half_at(src);
        store_32(codes + 32 * b, _mm256_or_si256(spread_nibbles(src + 6), fifth_bits(src + 2)));
    }
}

AVX512 static void unpack_q5_1(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    for (int64_t b = 0; b < n / 32; b++, src += 24) {
        scale[b] = half_at(src);
        min[b] = -half_at(src + 2);
        store_32(codes + 32 * b, _mm256_or_si256(spread_nibbles(src + 8), fifth_bits(src + 4)));
    }
}

AVX512 static void unpack_q8_0(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    const __m256i flip = _mm256_set1_epi8(-128);
    for (int64_t b = 0; b < n / 32; b++, src += 34) {
        scale[b] = half_at(src);
        store_32(codes + 32 * b, _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)(src + 2)), flip));
    }
}

/* A table of 16 signed values plus bias, twice. */
AVX512_INLINE __m256i biased_table(const int8_t *table, int bias) {
    const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)table);
    return _mm256_broadcastsi128_si256(_mm_add_epi8(v, _mm_set1_epi8((char)bias)));
}

AVX512 static void unpack_iq4_nl(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    const __m256i table = biased_table(sr__quant_k4, 128);
    for (int64_t b = 0; b < n / 32; b++, src += 18) {
        scale[b] = half_at(src);
        store_32(codes + 32 * b, table_32(src + 2, table));
    }
}

AVX512 static void unpack_mxfp4(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    const __m256i table = biased_table(sr__quant_e2, 12);
    for (int64_t b = 0; b < n / 32; b++, src += 17) {
        scale[b] = sr__e8m0_half(src[0]);
        store_32(codes + 32 * b, table_32(src + 1, table));
    }
}

AVX512 static void unpack_nvfp4(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    const __m256i table = biased_table(sr__quant_e2, 12);
    for (int64_t b = 0; b < n / 64; b++, src += 36) {
        for (int s = 0; s < 4; s++) {
            scale[4 * b + s] = sr__e4m3_half(src[s]);
        }
        for (int half = 0; half < 2; half++) { /* low nibbles of 8 bytes, their high ones, and the next 8 alike */
            store_32(codes + 64 * b + 32 * half,
                     _mm256_permute4x64_epi64(table_32(src + 4 + 16 * half, table), _MM_SHUFFLE(3, 1, 2, 0)));
        }
    }
}

/* A bit is twice a code of 0 or 1: 2 D - D and 0 - D. */
AVX512 static void unpack_q1_0(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    for (int64_t b = 0; b < n / 128; b++, src += 18) {
        _mm_storeu_ps(scale + 4 * b, _mm_set1_ps(half_at(src)));
        for (int s = 0; s < 4; s++) {
            store_32(codes + 128 * b + 32 * s, _mm256_maskz_set1_epi8((__mmask32)sr__get_u32(src + 2 + 4 * s), 2));
        }
    }
}

/* ---- super-blocks ------------------------------------------------------------------------------------------------ */

/* 8 bytes as floats times a factor */
AVX512_INLINE void store_scales(float *dst, uint64_t bytes, float factor) {
    const __m256i v = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)bytes));
    _mm256_storeu_ps(dst, _mm256_mul_ps(_mm256_cvtepi32_ps(v), _mm256_set1_ps(factor)));
}

/* The six-bit scales and minima of q4_K and q5_K, four at a time in 32-bit words. */
AVX512_INLINE void scales_mins(const uint8_t *src, float *scale, float *min) {
    const uint32_t a = sr__get_u32(src + 4), b = sr__get_u32(src + 8), c = sr__get_u32(src + 12);
    const uint32_t scale_high = (c & 0x0F0F0F0Fu) | (a >> 6 & 0x03030303u) << 4;
    const uint32_t min_high = (c >> 4 & 0x0F0F0F0Fu) | (b >> 6 & 0x03030303u) << 4;
    store_scales(scale, (uint64_t)scale_high << 32 | (a & 0x3F3F3F3Fu), half_at(src));
    store_scales(min, (uint64_t)min_high << 32 | (b & 0x3F3F3F3Fu), half_at(src + 2));
}

/* 32 bytes of nibbles as 64 codes */
AVX512_INLINE __m512i spread_64(const uint8_t *qs) {
    const __m256i q = _mm256_loadu_si256((const __m256i *)(const void *)qs);
    const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(q), _mm256_srli_epi16(q, 4), 1);
    return _mm512_and_si512(both, _mm512_set1_epi8(15));
}

AVX512 static void unpack_q4_K(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    for (int64_t b = 0; b < n / 256; b++, src += 144) {
        scales_mins(src, scale + 8 * b, min + 8 * b);
        for (int g = 0; g < 4; g++) {
            _mm512_storeu_si512(codes + 256 * b + 64 * g, spread_64(src + 16 + 32 * g));
        }
    }
}

AVX512 static void unpack_q5_K(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    for (int64_t b = 0; b < n / 256; b++, src += 176) {
        scales_mins(src, scale + 8 * b, min + 8 * b);
        const __m512i qh = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)(const void *)(src + 16)));
        for (int g = 0; g < 4; g++) {
            const __m512i bit = _mm512_inserti64x4(_mm512_set1_epi8((char)(1 << 2 * g)),
                                                   _mm256_set1_epi8((char)(2 << 2 * g)), 1);
            const __m512i high = _mm512_maskz_set1_epi8(_mm512_test_epi8_mask(qh, bit), 16);
            _mm512_storeu_si512(codes + 256 * b + 64 * g, _mm512_or_si512(spread_64(src + 48 + 32 * g), high));
        }
    }
}

AVX512 static void unpack_q6_K(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    const __m512i two_bits = _mm512_set1_epi8(0x30);
    for (int64_t b = 0; b < n / 256; b++, src += 210, codes += 256) {
        const __m512i fields = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(src + 192)));
        const __m512 d = _mm512_set1_ps(half_at(src + 208));
        _mm512_storeu_ps(scale + 16 * b, _mm512_mul_ps(_mm512_cvtepi32_ps(fields), d));
        for (int half = 0; half < 2; half++) {
            const __m512i ql = _mm512_loadu_si512(src + 64 * half);
            const __m256i qh = _mm256_loadu_si256((const __m256i *)(const void *)(src + 128 + 32 * half));
            /* bits 0-1 and 2-3 for the low nibbles of bytes 0-31 and 32-63, bits 4-5 and 6-7 for the high ones */
            const __m512i low_high = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_slli_epi16(qh, 4)),
                                                        _mm256_slli_epi16(qh, 2), 1);
            const __m512i high_high = _mm512_inserti64x4(_mm512_castsi256_si512(qh), _mm256_srli_epi16(qh, 2), 1);
            const __m512i nibble = _mm512_set1_epi8(15);
            const __m512i c0 = _mm512_or_si512(_mm512_and_si512(ql, nibble), _mm512_and_si512(low_high, two_bits));
            const __m512i c1 = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi16(ql, 4), nibble),
                                               _mm512_and_si512(high_high, two_bits));
            _mm512_storeu_si512(codes + 128 * half, c0);
            _mm512_storeu_si512(codes + 128 * half + 64, c1);
        }
    }
}

/* Two bits of 32 bytes as 128 codes, in four stores; `high` is or-ed in. */
AVX512_INLINE __m512i two_bit_pair(__m256i q, int shift) {
    const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_srl_epi16(q, _mm_cvtsi32_si128(shift))),
                                            _mm256_srl_epi16(q, _mm_cvtsi32_si128(shift + 2)), 1);
    return _mm512_and_si512(both, _mm512_set1_epi8(3));
}

AVX512 static void unpack_q2_K(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    for (int64_t b = 0; b < n / 256; b++, src += 84, codes += 256) {
        const __m512i sc = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)src));
        const __m512 d = _mm512_set1_ps(half_at(src + 80)), dmin = _mm512_set1_ps(half_at(src + 82));
        const __m512i low = _mm512_and_si512(sc, _mm512_set1_epi32(15));
        _mm512_storeu_ps(scale + 16 * b, _mm512_mul_ps(_mm512_cvtepi32_ps(low), d));
        _mm512_storeu_ps(min + 16 * b, _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srli_epi32(sc, 4)), dmin));
        for (int half = 0; half < 2; half++) {
            const __m256i q = _mm256_loadu_si256((const __m256i *)(const void *)(src + 16 + 32 * half));
            _mm512_storeu_si512(codes + 128 * half, two_bit_pair(q, 0));
            _mm512_storeu_si512(codes + 128 * half + 64, two_bit_pair(q, 4));
        }
    }
}

AVX512 static void unpack_q3_K(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    for (int64_t b = 0; b < n / 256; b++, src += 110, codes += 256) {
        const uint32_t a = sr__get_u32(src + 96), c = sr__get_u32(src + 100), h = sr__get_u32(src + 104);
        const __m128i packed = _mm_set_epi32(
            (int)((c >> 4 & 0x0F0F0F0Fu) | (h >> 6 & 0x03030303u) << 4),
            (int)((a >> 4 & 0x0F0F0F0Fu) | (h >> 4 & 0x03030303u) << 4),
            (int)((c & 0x0F0F0F0Fu) | (h >> 2 & 0x03030303u) << 4), (int)((a & 0x0F0F0F0Fu) | (h & 0x03030303u) << 4));
        const __m512i fields = _mm512_cvtepi8_epi32(_mm_sub_epi8(packed, _mm_set1_epi8(32)));
        _mm512_storeu_ps(scale + 16 * b, _mm512_mul_ps(_mm512_cvtepi32_ps(fields), _mm512_set1_ps(half_at(src + 108))));
        const __m512i hm = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)(const void *)src));
        for (int g = 0; g < 4; g++) {
            const __m256i q = _mm256_loadu_si256((const __m256i *)(const void *)(src + 32 + 32 * (g / 2)));
            const __m512i bit = _mm512_inserti64x4(_mm512_set1_epi8((char)(1 << 2 * g)),
                                                   _mm256_set1_epi8((char)(2 << 2 * g)), 1);
            const __m512i high = _mm512_maskz_set1_epi8(_mm512_test_epi8_mask(hm, bit), 4);
            _mm512_storeu_si512(codes + 64 * g, _mm512_or_si512(two_bit_pair(q, 4 * (g % 2)), high));
        }
    }
}

AVX512 static void unpack_iq4_xs(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    const __m256i table = biased_table(sr__quant_k4, 128);
    for (int64_t b = 0; b < n / 256; b++, src += 136) {
        const float d = half_at(src);
        const int high = sr__get_u16(src + 2);
        for (int s = 0; s < 8; s++) {
            const int code = (src[4 + s / 2] >> 4 * (s % 2) & 15) + 16 * (high >> 2 * s & 3) - 32;
            scale[8 * b + s] = d * (float)code;
            store_32(codes + 256 * b + 32 * s, table_32(src + 8 + 16 * s, table));
        }
    }
}

/* The digits of 32 bytes at power 3^p: (byte * 3^p mod 256) * 3 / 256. */
AVX512_INLINE __m256i digits(__m512i bytes, int power) {
    const __m512i q = _mm512_and_si512(_mm512_mullo_epi16(bytes, _mm512_set1_epi16((short)power)),
                                       _mm512_set1_epi16(255));
    return _mm512_cvtepi16_epi8(_mm512_srli_epi16(_mm512_mullo_epi16(q, _mm512_set1_epi16(3)), 8));
}

AVX512 static void unpack_tq1_0(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    static const int POWER[5] = {1, 3, 9, 27, 81};
    (void)min;
    for (int64_t b = 0; b < n / 256; b++, src += 54, codes += 256) {
        const __m512i first = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)src));
        const __m128i second = _mm_loadu_si128((const __m128i *)(const void *)(src + 32));
        const __m128i third = _mm_cvtsi32_si128((int)sr__get_u32(src + 48));
        const __m512i rest = _mm512_cvtepu8_epi16(_mm256_inserti128_si256(_mm256_castsi128_si256(second), third, 1));
        _mm256_storeu_ps(scale + 8 * b, _mm256_set1_ps(half_at(src + 52)));
        for (int p = 0; p < 5; p++) {
            const __m256i d = digits(rest, POWER[p]);
            store_32(codes + 32 * p, digits(first, POWER[p]));
            _mm_storeu_si128((__m128i *)(void *)(codes + 160 + 16 * p), _mm256_castsi256_si128(d));
            if (p < 4) {
                const int four = _mm_cvtsi128_si32(_mm256_extracti128_si256(d, 1));
                memcpy(codes + 240 + 4 * p, &four, sizeof(four));
            }
        }
    }
}

AVX512 static void unpack_tq2_0(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min) {
    (void)min;
    for (int64_t b = 0; b < n / 256; b++, src += 66) {
        _mm256_storeu_ps(scale + 8 * b, _mm256_set1_ps(half_at(src + 64)));
        for (int half = 0; half < 2; half++) {
            const __m256i q = _mm256_loadu_si256((const __m256i *)(const void *)(src + 32 * half));
            _mm512_storeu_si512(codes + 256 * b + 128 * half, two_bit_pair(q, 0));
            _mm512_storeu_si512(codes + 256 * b + 128 * half + 64, two_bit_pair(q, 4));
        }
    }
}

sr__codes_unpack *sr__avx512_unpack(int type) {
    switch (type) {
        case SR_TYPE_Q4_0: return unpack_q4_0;
        case SR_TYPE_Q4_1: return unpack_q4_1;
        case SR_TYPE_Q5_0: return unpack_q5_0;
        case SR_TYPE_Q5_1: return unpack_q5_1;
        case SR_TYPE_Q8_0: return unpack_q8_0;
        case SR_TYPE_IQ4_NL: return unpack_iq4_nl;
        case SR_TYPE_MXFP4: return unpack_mxfp4;
        case SR_TYPE_Q2_K: return unpack_q2_K;
        case SR_TYPE_Q3_K: return unpack_q3_K;
        case SR_TYPE_Q4_K: return unpack_q4_K;
        case SR_TYPE_Q5_K: return unpack_q5_K;
        case SR_TYPE_Q6_K: return unpack_q6_K;
        case SR_TYPE_IQ4_XS: return unpack_iq4_xs;
        case SR_TYPE_NVFP4: return unpack_nvfp4;
        case SR_TYPE_Q1_0: return unpack_q1_0;
        case SR_TYPE_TQ1_0: return unpack_tq1_0;
        case SR_TYPE_TQ2_0: return unpack_tq2_0;
        default: return NULL;
    }
}

#endif
