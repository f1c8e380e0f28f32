/*
 * k_operand.h - what the image, recurrent, loss and optimizer kernels share: checks of operands, addresses, sizes.
 *
 * Layer: kernels.  Internal.  A kernel lists what it wants of each operand once; the same list makes its words of
 * refusal.  Checked operands are safe to address: extents are below 2^31, elements are aligned, layouts are as wanted.
 */
#ifndef SR_K_OPERAND_H
#define SR_K_OPERAND_H

#include <limits.h>

#include "graph/quant.h"
#include "kernels/kernels.h"

/* The place of the result in a list of wants; sources have their positions. */
enum { SR__DST = -1 };

/* A set of types; 0: any type, because only the extents are looked at. */
#define SR__TYPE(id) (UINT64_C(1) << SR_TYPE_##id)
#define SR__EXTENTS_ONLY UINT64_C(0)

typedef enum sr__layout {
    SR__STRIDED,    /* every stride is honoured */
    SR__ROWS,       /* rows are dense */
    SR__EVEN_ROWS,  /* rows are dense and evenly spaced over all dimensions */
    SR__CONTIGUOUS
} sr__layout;

typedef struct sr__want {
    int place;
    uint64_t types;
    sr__layout layout;
} sr__want;

/* The first want that is not met, in words, or NULL.  Listed sources must be present. */
const char *sr__operands_refuse(const sr__kernel_args *args, const sr__want *wants, int n);

/* a * b, INT64_MAX when it does not fit: for comparing sizes that a file made up.  Both must not be negative. */
static inline int64_t sr__times(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static inline bool sr__has_extents(const sr_tensor *t, int64_t n0, int64_t n1, int64_t n2, int64_t n3) {
    return t->ne[0] == n0 && t->ne[1] == n1 && t->ne[2] == n2 && t->ne[3] == n3;
}

static inline int sr__threads_for(int64_t items) { return items < 1 ? 1 : items > INT_MAX ? INT_MAX : (int)items; }

/* As max_threads: one row of the result, or one plane, is the least that a thread takes. */
int sr__threads_rows(const sr__kernel_args *args);
int sr__threads_planes(const sr__kernel_args *args);
int sr__threads_one(const sr__kernel_args *args);

static inline char *sr__row(const sr__operand *o, int64_t i1, int64_t i2, int64_t i3) {
    const size_t *nb = o->tensor->nb;
    return o->data + (size_t)i1 * nb[1] + (size_t)i2 * nb[2] + (size_t)i3 * nb[3];
}

static inline float *sr__row_f32(const sr__operand *o, int64_t i1, int64_t i2, int64_t i3) {
    return (float *)(void *)sr__row(o, i1, i2, i3);
}

static inline float *sr__f32(const sr__operand *o) { return (float *)(void *)o->data; }

/* The row-th row, counted through dimensions 1, 2, 3, as three indices. */
static inline void sr__row_index(const int64_t ne[SR_MAX_DIMS], int64_t row, int64_t at[SR_MAX_DIMS]) {
    at[0] = 0;
    at[1] = row % ne[1];
    at[2] = row / ne[1] % ne[2];
    at[3] = row / ne[1] / ne[2];
}

static inline float sr__load(int type, const char *p) {
    union { float f; uint16_t h; } v = {0};
    if (type == SR_TYPE_F16) {
        memcpy(&v.h, p, sizeof(v.h));
        return sr__f16_to_f32(v.h);
    }
    memcpy(&v.f, p, sizeof(v.f));
    return v.f;
}

static inline float sr__param_f32(const int32_t *params, int word) {
    union { int32_t i; float f; } v = {params[word]};
    return v.f;
}

static inline float sr__round_f16(float x) { return sr__f16_to_f32(sr__f32_to_f16(x)); }

/* This member's share of a dense copy of an f32 operand, rounded to f16 precision if `rounded`; no barrier. */
void sr__gather_f32(const sr__operand *from, bool rounded, float *out, const sr__task *task);

#endif
