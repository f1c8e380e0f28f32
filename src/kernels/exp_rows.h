/*
 * exp_rows.h - exponentials of rows, many at a time, and what is made of them.
 *
 * Layer: kernels.  Internal.  The exponential is the reference's polynomial in f32 (within two units in the last
 * place), with the C library's for what is left of a row after whole groups of sixteen, as there; the same bits on
 * every machine.
 */
#ifndef SR_EXP_ROWS_H
#define SR_EXP_ROWS_H

#include <stdint.h>

/* y[i] = e^(x[i] - less); the sum of all, in f64 over groups of sixteen.  x and y may be the same. */
double sr__exp_rows(const float *x, float less, float *y, int64_t n);
/* y[i] = x[i] / (1 + e^-x[i]), times gate[i] unless gate is NULL.  Any of them may be the same. */
void sr__silu_rows(const float *x, const float *gate, float *y, int64_t n);

#endif
