/*
 * rows.h - what row-wise kernels share: a member's rows or spans of rows, and their elements as f32.
 *
 * Layer: kernels.  Internal.  A kernel walks the rows of its result (SR_EACH_ROW), or, where elements are independent,
 * spans of at most SR_SPAN elements (SR_EACH_SPAN), so that one long row keeps the whole team busy and a buffer of f32
 * fits the stack.  Which member takes which rows never changes a value.
 */
#ifndef SR_KERNEL_ROWS_H
#define SR_KERNEL_ROWS_H

#include "kernels/k_operand.h"

enum { SR_SPAN = 1024 }; /* a multiple of every block */

/* Where a member stands: elements i0 .. i0 + n of row (i1, i2, i3). */
typedef struct sr__rows {
    int64_t i0, i1, i2, i3, n;
    int64_t left;           /* spans that this member still has, this one included */
    int64_t ne0, ne1, ne2, span;
} sr__rows;

static inline sr__rows sr__rows_begin(const sr__task *task, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3,
                                      int64_t span) {
    const int64_t per_row = ne0 > span ? (ne0 + span - 1) / span : 1;
    sr__rows r = {.ne0 = ne0, .ne1 = ne1, .ne2 = ne2, .span = span};
    int64_t begin, end;
    sr__task_range(task, per_row * ne1 * ne2 * ne3, &begin, &end);
    r.left = end - begin;
    if (r.left > 0) {
        const int64_t row = begin / per_row;
        r.i0 = begin % per_row * span;
        r.i1 = row % ne1;
        r.i2 = row / ne1 % ne2;
        r.i3 = row / (ne1 * ne2);
        r.n = ne0 - r.i0 < span ? ne0 - r.i0 : span;
    }
    return r;
}

static inline void sr__rows_next(sr__rows *r) {
    r->left--;
    r->i0 += r->span;
    if (r->i0 >= r->ne0) {
        r->i0 = 0;
        if (++r->i1 == r->ne1) {
            r->i1 = 0;
            if (++r->i2 == r->ne2) {
                r->i2 = 0;
                r->i3++;
            }
        }
    }
    r->n = r->ne0 - r->i0 < r->span ? r->ne0 - r->i0 : r->span;
}

static inline sr__rows sr__rows_whole(const sr__task *task, const sr_tensor *t) {
    return sr__rows_begin(task, t->ne[0], t->ne[1], t->ne[2], t->ne[3], t->ne[0] > 0 ? t->ne[0] : 1);
}

/* flat: every operand is contiguous and of t's extents, so that all rows are one. */
static inline sr__rows sr__rows_spans(const sr__task *task, const sr_tensor *t, bool flat) {
    return flat ? sr__rows_begin(task, sr_tensor_nelements(t), 1, 1, 1, SR_SPAN)
                : sr__rows_begin(task, t->ne[0], t->ne[1], t->ne[2], t->ne[3], SR_SPAN);
}

#define SR_EACH_ROW(task, tensor, r) for (sr__rows r = sr__rows_whole(task, tensor); (r).left > 0; sr__rows_next(&(r)))
#define SR_EACH_SPAN(task, tensor, flat, r) \
    for (sr__rows r = sr__rows_spans(task, tensor, flat); (r).left > 0; sr__rows_next(&(r)))

/* The row of an operand of the result's extents. */
static inline char *sr__row_here(const sr__operand *o, const sr__rows *r) { return sr__row(o, r->i1, r->i2, r->i3); }

static inline float *sr__row_here_f32(const sr__operand *o, const sr__rows *r) {
    return (float *)(void *)sr__row_here(o, r);
}

static inline int64_t sr__mod(int64_t i, int64_t n) { return i < n ? i : i % n; }

/* The row that an operand repeated over the result has there. */
static inline char *sr__row_repeat(const sr__operand *o, const sr__rows *r) {
    const int64_t *ne = o->tensor->ne;
    return sr__row(o, sr__mod(r->i1, ne[1]), sr__mod(r->i2, ne[2]), sr__mod(r->i3, ne[3]));
}

/* The span's elements as f32: where they lie, or in buf (SR_SPAN floats).  Quantized rows must be dense. */
const float *sr__span_load(const sr__operand *o, const sr__rows *r, float *buf);
/* The same for an operand that repeats over the result, in dimension 0 too. */
const float *sr__span_repeat(const sr__operand *o, const sr__rows *r, float *buf);
/* Where to compute the span of a result with dense rows: its own place, or buf; sr__span_store converts from there. */
float *sr__span_out(const sr__operand *o, const sr__rows *r, float *buf);
void sr__span_store(const sr__operand *o, const sr__rows *r, const float *values);

/* Sixteen numbers, in the order in which a vector of them is added up. */
static inline float sr__add_16(const float *v) {
    float s[8];
    for (int i = 0; i < 8; i++) {
        s[i] = v[i] + v[i + 8];
    }
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* The sum of n numbers, and of their squares, in f64. */
double sr__sum(const float *x, int64_t n);
double sr__sum_products(const float *x, const float *y, int64_t n);

/* n elements of `size` bytes, strides in bytes. */
void sr__copy_elements(char *dst, size_t dst_nb, const char *src, size_t src_nb, size_t size, int64_t n);

static inline size_t sr__element_size(const sr__operand *o) { return (size_t)sr_type_get(o->tensor->type)->bytes; }

/* What is wanted of each operand (k_operand.h), and that the result has the extents of source 0. */
const char *sr__refuse_unlike(const sr__kernel_args *args, const sr__want *wants, int n);
/* F32 with dense rows: the result and the first n sources. */
const char *sr__refuse_not_f32(const sr__kernel_args *args, int n);
/* Both, for a kernel of one source. */
const char *sr__refuse_unlike_f32(const sr__kernel_args *args);

#endif
