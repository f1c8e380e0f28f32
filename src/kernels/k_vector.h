/*
 * k_vector.h - inner loops over dense f32 rows, eight lanes at a time.
 *
 * Layer: kernels.  Internal.  The order of summation depends on the length alone, so that results are the same for any
 * number of threads.
 */
#ifndef SR_K_VECTOR_H
#define SR_K_VECTOR_H

#include <stdint.h>

typedef float sr__lanes __attribute__((vector_size(32), aligned(4), may_alias));

/* y[i] += a x[i] */
static inline void sr__axpy_f32(int64_t n, float *y, float a, const float *x) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        *(sr__lanes *)(void *)(y + i) += a * *(const sr__lanes *)(const void *)(x + i);
    }
    for (; i < n; i++) {
        y[i] += a * x[i];
    }
}

/* y[i] *= a */
static inline void sr__scale_f32(int64_t n, float *y, float a) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        *(sr__lanes *)(void *)(y + i) *= a;
    }
    for (; i < n; i++) {
        y[i] *= a;
    }
}

/* The sum of x[i] y[i] */
static inline float sr__dot_f32(int64_t n, const float *x, const float *y) {
    sr__lanes sum = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        sum += *(const sr__lanes *)(const void *)(x + i) * *(const sr__lanes *)(const void *)(y + i);
    }
    float total = ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
    for (; i < n; i++) {
        total += x[i] * y[i];
    }
    return total;
}

#endif
