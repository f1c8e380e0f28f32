/*
 * rows.c - elements of rows as f32, and what kernels of many families ask of their operands.
 *
 * Layer: kernels.  Answers to the conversions that every kernel of the reference's ggml-cpu spells out by type.
 */
#include "kernels/rows.h"

static float element_to_f32(int type, const char *p) {
    return type == SR_TYPE_BF16 ? sr__bf16_to_f32(*(const uint16_t *)(const void *)p) : sr__load(type, p);
}

/* From an element of a row to the next.  Where a row has but one, its stride may be anything: dense all the same. */
static size_t step(const sr_tensor *t) {
    return sr_tensor_has_contiguous_rows(t) ? (size_t)sr_type_get(t->type)->bytes : t->nb[0];
}

static const float *load_from(const sr__operand *o, const char *row, int64_t i0, int64_t n, float *buf) {
    const int type = o->tensor->type;
    const size_t nb0 = step(o->tensor);
    const char *p = row + (size_t)(i0 / sr_type_get(type)->block) * nb0;
    if (sr_tensor_has_contiguous_rows(o->tensor)) {
        if (type == SR_TYPE_F32) {
            return (const float *)(const void *)p;
        }
        sr__row_to_f32(type, p, buf, n);
        return buf;
    }
    for (int64_t i = 0; i < n; i++, p += nb0) {
        buf[i] = element_to_f32(type, p);
    }
    return buf;
}

const float *sr__span_load(const sr__operand *o, const sr__rows *r, float *buf) {
    return load_from(o, sr__row_here(o, r), r->i0, r->n, buf);
}

const float *sr__span_repeat(const sr__operand *o, const sr__rows *r, float *buf) {
    const int64_t ne0 = o->tensor->ne[0];
    const char *row = sr__row_repeat(o, r);
    if (r->i0 + r->n <= ne0) {
        return load_from(o, row, r->i0, r->n, buf);
    }
    int64_t j = r->i0 % ne0;
    for (int64_t i = 0; i < r->n; i++) {
        buf[i] = element_to_f32(o->tensor->type, row + (size_t)j * o->tensor->nb[0]);
        j = j + 1 == ne0 ? 0 : j + 1;
    }
    return buf;
}

static char *span_at(const sr__operand *o, const sr__rows *r) {
    return sr__row_here(o, r) + (size_t)(r->i0 / sr_type_get(o->tensor->type)->block) * step(o->tensor);
}

float *sr__span_out(const sr__operand *o, const sr__rows *r, float *buf) {
    return o->tensor->type == SR_TYPE_F32 ? (float *)(void *)span_at(o, r) : buf;
}

void sr__span_store(const sr__operand *o, const sr__rows *r, const float *values) {
    if (o->tensor->type != SR_TYPE_F32) {
        sr__row_from_f32(o->tensor->type, values, span_at(o, r), r->n);
    }
}

/* Four sums at a time: additions need not wait for each other, and the order is fixed. */
double sr__sum(const float *x, int64_t n) {
    double s[4] = {0, 0, 0, 0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        s[0] += (double)x[i];
        s[1] += (double)x[i + 1];
        s[2] += (double)x[i + 2];
        s[3] += (double)x[i + 3];
    }
    for (; i < n; i++) {
        s[0] += (double)x[i];
    }
    return (s[0] + s[1]) + (s[2] + s[3]);
}

double sr__sum_products(const float *x, const float *y, int64_t n) {
    double s[4] = {0, 0, 0, 0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        s[0] += (double)x[i] * (double)y[i];
        s[1] += (double)x[i + 1] * (double)y[i + 1];
        s[2] += (double)x[i + 2] * (double)y[i + 2];
        s[3] += (double)x[i + 3] * (double)y[i + 3];
    }
    for (; i < n; i++) {
        s[0] += (double)x[i] * (double)y[i];
    }
    return (s[0] + s[1]) + (s[2] + s[3]);
}

/* The size is a constant in each case so that the copy is one move. */
#define COPY_LOOP(bytes)                                                     \
    for (int64_t i = 0; i < n; i++, dst += dst_nb, src += src_nb) {          \
        memcpy(dst, src, (bytes));                                           \
    }                                                                        \
    break

void sr__copy_elements(char *dst, size_t dst_nb, const char *src, size_t src_nb, size_t size, int64_t n) {
    if (dst_nb == size && src_nb == size) {
        memcpy(dst, src, (size_t)n * size);
        return;
    }
    switch (size) {
        case 1: COPY_LOOP(1);
        case 2: COPY_LOOP(2);
        case 4: COPY_LOOP(4);
        case 8: COPY_LOOP(8);
        default: COPY_LOOP(size);
    }
}

const char *sr__refuse_not_f32(const sr__kernel_args *args, int n) {
    static const sr__want wants[] = {
        {SR__DST, SR__TYPE(F32), SR__ROWS},
        {0, SR__TYPE(F32), SR__ROWS},
        {1, SR__TYPE(F32), SR__ROWS},
    };
    return sr__operands_refuse(args, wants, n + 1);
}

const char *sr__refuse_unlike(const sr__kernel_args *args, const sr__want *wants, int n) {
    const char *why = sr__operands_refuse(args, wants, n);
    if (why == NULL && !sr_tensor_same_shape(args->dst.tensor, args->src[0].tensor)) {
        why = "the result must have the extents of source 0";
    }
    return why;
}

const char *sr__refuse_unlike_f32(const sr__kernel_args *args) {
    static const sr__want wants[] = {{SR__DST, SR__TYPE(F32), SR__ROWS}, {0, SR__TYPE(F32), SR__ROWS}};
    return sr__refuse_unlike(args, wants, SR_COUNT(wants));
}
