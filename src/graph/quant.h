/*
 * quant.h - conversion of rows between f32 and every type: dequantization and the reference quantizers.
 *
 * Layer: graph.  Internal.  Answers to ggml-quants.c of the reference.  Compiled without fused multiply-add: the
 * quantizers are exact to the bit.
 */
#ifndef SR_QUANT_H
#define SR_QUANT_H

#include "sched_run/graph.h"

static inline float sr__f32_of_bits(uint32_t u) {
    union { uint32_t u; float f; } v = {u};
    return v.f;
}
static inline uint32_t sr__bits_of_f32(float f) {
    union { float f; uint32_t u; } v = {f};
    return v.u;
}
static inline float sr__bf16_to_f32(uint16_t h) { return sr__f32_of_bits((uint32_t)h << 16); }

/* Exact; a NaN keeps its payload and becomes quiet. */
static inline float sr__f16_to_f32(uint16_t h) {
    const uint32_t magnitude = h & 0x7FFFu, sign = (uint32_t)(h & 0x8000u) << 16;
    if (magnitude >= 0x7C00u) {
        const uint32_t quiet = magnitude > 0x7C00u ? 0x00400000u : 0u;
        return sr__f32_of_bits(sign | 0x7F800000u | (magnitude & 0x3FFu) << 13 | quiet);
    }
    /* the exponent's bias differs by 112; the product is exact for normal and subnormal values alike */
    return sr__f32_of_bits(sign | sr__bits_of_f32(sr__f32_of_bits(magnitude << 13) * 0x1p112f));
}

/* Nearest, halves to even; every NaN becomes 0x7E00 with its sign. */
uint16_t sr__f32_to_f16(float f);
/* Nearest, halves to even; a NaN keeps its upper bits and becomes quiet. */
uint16_t sr__f32_to_bf16(float f);

/* Does the machine convert eight f16 at a time (F16C, and AVX to hold them)? */
bool sr__cpu_has_f16c(void);
/* Can rows of the type be turned into f32 (f32, f16, bf16 and every quantized type but the codebook ones, q8_1,
 * q8_K)? */
bool sr__type_can_read(int type);
/* Can f32 rows be turned into the type? */
bool sr__type_can_write(int type);
/* n elements, a multiple of the type's block; the type must be readable / writable. No alignment is needed of the
 * packed side. */
void sr__row_to_f32(int type, const void *src, float *dst, int64_t n);
void sr__row_from_f32(int type, const float *src, void *dst, int64_t n);
/* The type that the second source of a matrix product is turned into for a first source of this type; -1: none. */
int sr__type_companion(int type);

#endif
