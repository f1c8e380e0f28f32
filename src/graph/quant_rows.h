/*
 * quant_rows.h - the row converters of the single families of types, for quant.c to put into its table.
 *
 * Layer: graph.  Internal to the quant files and to the kernels that unpack blocks.  `n` is the number of values, a
 * multiple of the type's block.
 */
#ifndef SR_QUANT_ROWS_H
#define SR_QUANT_ROWS_H

#include <math.h>
#include <string.h>

#include "graph/quant.h"

#if defined(__clang__) /* gcc contracts nothing with -std=c11 and does not know the pragma */
#pragma STDC FP_CONTRACT OFF
#endif

typedef void sr__row_reader(const uint8_t *src, float *dst, int64_t n);
typedef void sr__row_writer(const float *src, uint8_t *dst, int64_t n);

/* types with both */
#define SR_QUANT_ROW_LIST(X)                                                                                        \
    X(f16) X(bf16) X(q4_0) X(q4_1) X(q5_0) X(q5_1) X(q8_0) X(q1_0) X(iq4_nl) X(mxfp4) X(nvfp4) X(q2_K) X(q3_K)      \
    X(q4_K) X(q5_K) X(q6_K) X(iq4_xs) X(tq1_0) X(tq2_0)

#define SR_QUANT_ROW_DECL(name)         \
    sr__row_reader sr__row_read_##name; \
    sr__row_writer sr__row_write_##name;
SR_QUANT_ROW_LIST(SR_QUANT_ROW_DECL)
#undef SR_QUANT_ROW_DECL
sr__row_writer sr__row_write_q8_1;
sr__row_writer sr__row_write_q8_K;

/* The scale and the minimum (six bits each) of sub-block s of q4_K and q5_K. */
static inline void sr__k_scale_min(const uint8_t *sc, int s, int *scale, int *min) {
    if (s < 4) {
        *scale = sc[s] & 63;
        *min = sc[s + 4] & 63;
    } else {
        *scale = (sc[s + 4] & 15) + 16 * (sc[s - 4] >> 6);
        *min = (sc[s + 4] >> 4) + 16 * (sc[s] >> 6);
    }
}

extern const int8_t sr__quant_k4[16]; /* the values of iq4_nl and iq4_xs */
extern const int8_t sr__quant_e2[16]; /* twice the values of e2m1: mxfp4 and nvfp4 */

/* 2^(e-128), half of an E8M0 scale. */
static inline float sr__e8m0_half(uint8_t e) {
    return sr__f32_of_bits(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}
/* Half of an unsigned e4m3 scale. */
float sr__e4m3_half(uint8_t b);

/* little-endian fields at any address */
static inline uint16_t sr__get_u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t sr__get_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline void sr__put_u16(uint8_t *p, uint16_t v) {
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}
static inline void sr__put_u32(uint8_t *p, uint32_t v) {
    sr__put_u16(p, (uint16_t)v);
    sr__put_u16(p + 2, (uint16_t)(v >> 16));
}
static inline float sr__get_f16(const uint8_t *p) { return sr__f16_to_f32(sr__get_u16(p)); }
static inline void sr__put_f16(uint8_t *p, float v) { sr__put_u16(p, sr__f32_to_f16(v)); }

static inline float sr__reciprocal(float d) { return d != 0.0f ? 1.0f / d : 0.0f; }

/* Toward zero; what has no 32-bit integer (and NaN) gives INT32_MIN, so that its low byte is 0. */
static inline int32_t sr__trunc_i32(float v) {
    return v > -2147483648.0f && v < 2147483648.0f ? (int32_t)v : INT32_MIN;
}
/* Nearest, halves away from zero; out of range as above. */
static inline int32_t sr__round_i32(float v) { return sr__trunc_i32(roundf(v)); }

/* Nearest, halves to even, by the bits of v + 1.5 * 2^23: NaN gives 0 and the outside of +-2^22 what the bits say. */
static inline int32_t sr__nearest_i32(float v) {
    const float t = v + 12582912.0f;
    return (int32_t)(sr__bits_of_f32(t) & 0x007FFFFFu) - 0x00400000;
}

/* The value of first largest magnitude, 0 if all are 0; its magnitude in *amax. */
static inline float sr__signed_extreme(const float *x, int n, float *amax) {
    float extreme = 0.0f, most = 0.0f;
    for (int i = 0; i < n; i++) {
        const float a = fabsf(x[i]);
        if (a > most) {
            most = a;
            extreme = x[i];
        }
    }
    *amax = most;
    return extreme;
}

#endif
