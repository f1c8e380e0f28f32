/*
 * exp_rows.c - exponentials of rows.
 *
 * Layer: kernels.  Answers to ggml_v_expf, ggml_vec_soft_max_f32 and ggml_vec_swiglu_f32 of ggml-cpu of the reference.
 * Loops of sixteen are plain C, compiled once for every set of instructions; a fused multiply-add is the same in each.
 */
#include "kernels/exp_rows.h"

#include <math.h>
#include <string.h>

#include "kernels/mm_isa.h"
#include "kernels/rows.h"

enum { GROUP = 16 };

#define INLINE static inline __attribute__((always_inline))

/* e^x = 2^n * e^b with b within half a step of ln 2; e^b = 1 + b * (...), by a polynomial of degree five. */
INLINE float exp_one(float x) {
    const float round = 0x1.8p23f; /* adding it leaves a whole number in the last places */
    const float shifted = fmaf(x, 0x1.715476p+0f, round), n = shifted - round;
    const float b = fmaf(n, -0x1.7f7d1cp-20f, fmaf(n, -0x1.62e4p-1f, x)), square = b * b;
    const float high = fmaf(0x1.0e4020p-7f, b, 0x1.573e2ep-5f), middle = fmaf(0x1.555e66p-3f, b, 0x1.fffdb6p-2f);
    const float value = fmaf(fmaf(high, square, middle), square, fmaf(0x1.ffffecp-1f, b, 1.0f));
    /* two powers of two, so that the first product is exact and the result may be subnormal */
    const int32_t power = (int32_t)(sr__bits_of_f32(shifted) - sr__bits_of_f32(round)), half = power >> 1;
    const float first = sr__f32_of_bits((uint32_t)(half + 127) << 23);
    const float second = sr__f32_of_bits((uint32_t)(power - half + 127) << 23);
    const float scaled = value * first * second;
    return fabsf(n) > 192.0f ? (n > 0.0f ? INFINITY : 0.0f) : scaled;
}

INLINE double exp_groups(const float *x, float less, float *y, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i + GROUP <= n; i += GROUP) {
        float e[GROUP];
        for (int l = 0; l < GROUP; l++) {
            e[l] = exp_one(x[i + l] - less);
        }
        memcpy(y + i, e, sizeof(e));
        sum += (double)sr__add_16(e);
    }
    return sum;
}

INLINE void silu_groups(const float *x, const float *gate, float *y, int64_t n) {
    for (int64_t i = 0; i + GROUP <= n; i += GROUP) {
        float v[GROUP];
        for (int l = 0; l < GROUP; l++) {
            v[l] = x[i + l] / (1.0f + exp_one(0.0f - x[i + l]));
        }
        for (int l = 0; gate != NULL && l < GROUP; l++) {
            v[l] *= gate[i + l];
        }
        memcpy(y + i, v, sizeof(v));
    }
}

/* ---- for every set of instructions ------------------------------------------------------------------------------- */

typedef struct groups {
    double (*exps)(const float *x, float less, float *y, int64_t n);
    void (*silus)(const float *x, const float *gate, float *y, int64_t n);
} groups;

#define GROUPS(name, attribute)                                                                                    \
    attribute static double exp_##name(const float *x, float less, float *y, int64_t n) {                          \
        return exp_groups(x, less, y, n);                                                                          \
    }                                                                                                              \
    attribute static void silu_##name(const float *x, const float *gate, float *y, int64_t n) {                    \
        silu_groups(x, gate, y, n);                                                                                \
    }                                                                                                              \
    static const groups name##_groups = {exp_##name, silu_##name};

GROUPS(plain, )
#if defined(__x86_64__)
GROUPS(avx2, __attribute__((target("avx2,fma"))))
GROUPS(avx512, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))))
#endif

static const groups *groups_here(void) {
#if defined(__x86_64__)
    const sr__mm_isa *isa = sr__mm_isa_get();
    if (isa != &sr__mm_plain) {
        return isa == &sr__mm_avx512 ? &avx512_groups : &avx2_groups;
    }
#endif
    return &plain_groups;
}

double sr__exp_rows(const float *x, float less, float *y, int64_t n) {
    double sum = groups_here()->exps(x, less, y, n);
    for (int64_t i = n / GROUP * GROUP; i < n; i++) {
        y[i] = expf(x[i] - less);
        sum += (double)y[i];
    }
    return sum;
}

void sr__silu_rows(const float *x, const float *gate, float *y, int64_t n) {
    groups_here()->silus(x, gate, y, n);
    for (int64_t i = n / GROUP * GROUP; i < n; i++) {
        const float v = x[i] / (1.0f + expf(-x[i]));
        y[i] = gate != NULL ? v * gate[i] : v;
    }
}
