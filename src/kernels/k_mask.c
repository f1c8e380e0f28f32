/*
 * k_mask.c - DIAG_MASK_INF DIAG_MASK_ZERO TRI: matrices with a triangle cut away.
 *
 * Layer: kernels.  Answers to the kernels of those names in ops.cpp of ggml-cpu of the reference (ops-1, section 6).
 */
#include <math.h>

#include "kernels/rows.h"

/* Row r keeps elements begin .. end and has `value` elsewhere. */
static void keep_range(const sr__kernel_args *args, const sr__rows *r, int64_t begin, int64_t end, float value) {
    const float *x = sr__row_here_f32(&args->src[0], r);
    float *y = sr__row_here_f32(&args->dst, r);
    begin = begin < 0 ? 0 : begin < r->n ? begin : r->n;
    end = end < begin ? begin : end < r->n ? end : r->n;
    for (int64_t i = 0; i < begin; i++) {
        y[i] = value;
    }
    if (x != y) {
        memcpy(y + begin, x + begin, (size_t)(end - begin) * sizeof(*y));
    }
    for (int64_t i = end; i < r->n; i++) {
        y[i] = value;
    }
}

static void run_diag_mask(const sr__kernel_args *args, const sr__task *task, float value) {
    const int64_t n_past = args->params[0];
    SR_EACH_ROW(task, args->dst.tensor, r) {
        keep_range(args, &r, 0, n_past + r.i1 + 1, value);
    }
}

static void run_diag_mask_inf(const sr__kernel_args *args, const sr__task *task) {
    run_diag_mask(args, task, -INFINITY);
}

static void run_diag_mask_zero(const sr__kernel_args *args, const sr__task *task) { run_diag_mask(args, task, 0.0f); }

static const char *refuse_diag_mask(const sr__kernel_args *args) {
    return args->params[0] >= 0 ? sr__refuse_unlike_f32(args) : "the number of past positions must not be negative";
}

/* Which elements i0 of row i1 stay, by parameter. */
enum { UPPER_DIAG, UPPER, LOWER_DIAG, LOWER, TRI_TYPES };

static void run_tri(const sr__kernel_args *args, const sr__task *task) {
    const int type = args->params[0];
    SR_EACH_ROW(task, args->dst.tensor, r) {
        const int64_t begin = type == UPPER_DIAG ? r.i1 : type == UPPER ? r.i1 + 1 : 0;
        const int64_t end = type == LOWER_DIAG ? r.i1 + 1 : type == LOWER ? r.i1 : r.n;
        keep_range(args, &r, begin, end, 0.0f);
    }
}

static const char *refuse_tri(const sr__kernel_args *args) {
    return args->params[0] >= 0 && args->params[0] < TRI_TYPES ? sr__refuse_unlike_f32(args)
                                                               : "there is no such kind of triangle";
}

const sr__kernel_info sr__kernel_DIAG_MASK_INF = {
    .run = run_diag_mask_inf, .refuse = refuse_diag_mask, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_DIAG_MASK_ZERO = {
    .run = run_diag_mask_zero, .refuse = refuse_diag_mask, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_TRI = {.run = run_tri, .refuse = refuse_tri, .max_threads = sr__threads_rows};
