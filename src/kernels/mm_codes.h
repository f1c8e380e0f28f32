/*
 * mm_codes.h - quantized rows as small unsigned integers with scales: value = scale * (code - bias) - min.
 *
 * Layer: kernels.  Internal.  Every readable quantized type has this form, with one scale for each `sub` values.  A
 * matrix product then multiplies codes of eight bits with columns that were rounded to eight bits themselves (as the
 * reference does, whose columns take the companion type), and applies scales to the integer sums.
 */
#ifndef SR_MM_CODES_H
#define SR_MM_CODES_H

#include "graph/quant.h"

/* Codes, scales and minima of n values (a multiple of 32 and of the block) of a row; min may be NULL if the type has
 * none. */
typedef void sr__codes_unpack(const uint8_t *src, int64_t n, uint8_t *codes, float *scale, float *min);

typedef struct sr__codes_type {
    int sub;     /* values that share a scale: 16 or 32 */
    int bias;
    bool has_min;
} sr__codes_type;

/* NULL for a type that has no such form. */
const sr__codes_type *sr__codes_get(int type);

/* A row that was unpacked, padded with zeros (codes and scales) to a multiple of 256. */
typedef struct sr__codes_row {
    uint8_t *codes;
    float *scale, *min; /* one for each `sub` values */
} sr__codes_row;

/* A column of the second source: value = scale * code, one scale for each 32 values, all padded to 256. */
typedef struct sr__codes_column {
    int8_t *codes;
    float *scale;
    int32_t *init; /* for each `sub` values: -bias * sum of codes */
    float *sum;    /* for each `sub` values: scale * sum of codes; only with minima */
    int16_t *total; /* for each 32 values: sum of codes; only with minima */
} sr__codes_column;

/* Bytes of a column in memory, and its parts at an address (64-byte aligned). */
size_t sr__codes_column_size(const sr__codes_type *type, int64_t k);
sr__codes_column sr__codes_column_at(const sr__codes_type *type, int64_t k, char *p);
size_t sr__codes_row_size(const sr__codes_type *type, int64_t k);
sr__codes_row sr__codes_row_at(const sr__codes_type *type, int64_t k, char *p);
/* init, sum and total of a column, from its codes and scales. */
void sr__codes_column_finish(const sr__codes_type *type, int64_t k, const sr__codes_column *column);
/* Codes and scales of a row of q8_0, q8_1 or q8_K as they are stored. */
void sr__codes_column_take(int b_type, const uint8_t *row, int64_t k, const sr__codes_column *column);

/* k values to codes and scales as the reference's CPU turns a column into the companion of a_type: q8_0 blocks of 32
 * with halves to even and an f16 scale, or q8_K blocks of 256 with an f32 scale of its own sign. */
void sr__codes_quantize(int a_type, const float *x, int64_t k, int8_t *codes, float *scale);
/* The values that are left of x after that. */
void sr__codes_round(int a_type, const float *x, int64_t k, float *out);

static inline int64_t sr__codes_padded(int64_t k) { return (k + 255) / 256 * 256; }

#endif
