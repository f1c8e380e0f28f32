/*
 * gelu.h - the activations that UNARY and GLU share, and the rounding that two of them have.
 *
 * Layer: kernels.  Internal.  GELU and GELU_QUICK go through f16 (spec: ops-1, section 3): a table over every f16 is
 * filled on first use.
 */
#ifndef SR_KERNEL_GELU_H
#define SR_KERNEL_GELU_H

#include <math.h>

#include "kernels/k_operand.h"

/* The value of the activation at x rounded to f16, itself rounded to f16; indexed by the bits of an f16. */
const float *sr__gelu_table(void);
const float *sr__gelu_quick_table(void);

/* GELU of f32 data: the table covers -10 < x < 10, where rounding matters. */
static inline float sr__gelu(const float *table, float x) {
    return x <= -10.0f ? 0.0f : x >= 10.0f ? x : table[sr__f32_to_f16(x)];
}

static inline float sr__gelu_erf(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678118654752440f)); }
static inline float sr__silu(float x) { return x / (1.0f + expf(-x)); }

#endif
