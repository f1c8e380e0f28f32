/*
 * k_norm.c - NORM RMS_NORM RMS_NORM_BACK GROUP_NORM L2_NORM: rows or groups of channels brought to a common size.
 *
 * Layer: kernels.  Answers to the kernels of those names in ops.cpp of ggml-cpu of the reference (ops-1, section 4).
 * Sums are made in f64.  A row is summed up before it is written, so the result may lie where any source does.
 */
#include <math.h>

#include "kernels/rows.h"

static void scale_row(float *y, const float *x, float scale, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] * scale;
    }
}

/* The sum of squares, each rounded to f32 as the reference has it. */
static double sum_squares(const float *x, int64_t n) {
    double s[4] = {0, 0, 0, 0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (int l = 0; l < 4; l++) {
            s[l] += (double)(x[i + l] * x[i + l]);
        }
    }
    for (; i < n; i++) {
        s[0] += (double)(x[i] * x[i]);
    }
    return (s[0] + s[1]) + (s[2] + s[3]);
}

/* Writes x - mean, and returns the sum of its squares, which are added up in f32 by sixteens. */
static double centre_row(float *y, const float *x, float mean, int64_t n) {
    double sum = 0;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        float square[16];
        for (int l = 0; l < 16; l++) {
            y[i + l] = x[i + l] - mean;
            square[l] = y[i + l] * y[i + l];
        }
        sum += (double)sr__add_16(square);
    }
    for (; i < n; i++) {
        y[i] = x[i] - mean;
        sum += (double)(y[i] * y[i]);
    }
    return sum;
}

static void run_norm(const sr__kernel_args *args, const sr__task *task) {
    const float eps = sr__param_f32(args->params, 0);
    SR_EACH_ROW(task, args->dst.tensor, r) {
        const float *x = sr__row_here_f32(&args->src[0], &r);
        float *y = sr__row_here_f32(&args->dst, &r);
        const float mean = (float)(sr__sum(x, r.n) / (double)r.n);
        const float variance = (float)(centre_row(y, x, mean, r.n) / (double)r.n);
        scale_row(y, y, 1.0f / sqrtf(variance + eps), r.n);
    }
}

static void run_rms_norm(const sr__kernel_args *args, const sr__task *task) {
    const float eps = sr__param_f32(args->params, 0);
    SR_EACH_ROW(task, args->dst.tensor, r) {
        const float *x = sr__row_here_f32(&args->src[0], &r);
        const float mean = (float)(sum_squares(x, r.n) / (double)r.n);
        scale_row(sr__row_here_f32(&args->dst, &r), x, 1.0f / sqrtf(mean + eps), r.n);
    }
}

static void run_l2_norm(const sr__kernel_args *args, const sr__task *task) {
    const float eps = sr__param_f32(args->params, 0);
    SR_EACH_ROW(task, args->dst.tensor, r) {
        const float *x = sr__row_here_f32(&args->src[0], &r);
        const float length = sqrtf((float)sum_squares(x, r.n));
        scale_row(sr__row_here_f32(&args->dst, &r), x, 1.0f / fmaxf(length, eps), r.n);
    }
}

static void run_rms_norm_back(const sr__kernel_args *args, const sr__task *task) {
    const double eps = (double)sr__param_f32(args->params, 0);
    SR_EACH_ROW(task, args->dst.tensor, r) {
        const float *dz = sr__row_here_f32(&args->src[0], &r), *x = sr__row_here_f32(&args->src[1], &r);
        float *y = sr__row_here_f32(&args->dst, &r);
        const double squares = sr__sum_products(x, x, r.n), n = (double)r.n;
        const float share = (float)(sr__sum_products(x, dz, r.n) / (squares + n * eps));
        const float scale = (float)(1.0 / sqrt(squares / n + eps));
        for (int64_t i = 0; i < r.n; i++) {
            y[i] = (dz[i] - x[i] * share) * scale;
        }
    }
}

static const char *refuse_rms_norm_back(const sr__kernel_args *args) {
    const char *why = sr__refuse_not_f32(args, 2);
    if (why != NULL) {
        return why;
    }
    const sr_tensor *a = args->src[0].tensor;
    return sr_tensor_same_shape(a, args->src[1].tensor) && sr_tensor_same_shape(a, args->dst.tensor)
               ? NULL : "the sources and the result must have the same extents";
}

/* ---- GROUP_NORM -------------------------------------------------------------------------------------------------- */

/* The rows of channels c0 .. c1 of cube i3 are one group. */
static void norm_group(const sr__kernel_args *args, float eps, int64_t c0, int64_t c1, int64_t i3) {
    const int64_t *ne = args->dst.tensor->ne;
    const int64_t n_rows = (c1 - c0) * ne[1];
    const double n = (double)(n_rows * ne[0]);
    double sum = 0, squares = 0;
    for (int64_t k = 0; k < n_rows; k++) {
        sum += sr__sum(sr__row_f32(&args->src[0], k % ne[1], c0 + k / ne[1], i3), ne[0]);
    }
    const float mean = (float)(sum / n);
    for (int64_t k = 0; k < n_rows; k++) {
        const int64_t i1 = k % ne[1], i2 = c0 + k / ne[1];
        squares += centre_row(sr__row_f32(&args->dst, i1, i2, i3), sr__row_f32(&args->src[0], i1, i2, i3), mean, ne[0]);
    }
    const float scale = 1.0f / sqrtf((float)(squares / n) + eps);
    for (int64_t k = 0; k < n_rows; k++) {
        float *y = sr__row_f32(&args->dst, k % ne[1], c0 + k / ne[1], i3);
        scale_row(y, y, scale, ne[0]);
    }
}

/* Channels are divided into groups of equal size; the last ones may get fewer, or none. */
static void run_group_norm(const sr__kernel_args *args, const sr__task *task) {
    const int64_t n_groups = args->params[0], *ne = args->dst.tensor->ne;
    const int64_t size = (ne[2] + n_groups - 1) / n_groups;
    const int64_t used = (ne[2] + size - 1) / size;
    int64_t begin, end;
    sr__task_range(task, used * ne[3], &begin, &end);
    for (int64_t item = begin; item < end; item++) {
        const int64_t c0 = item % used * size;
        const int64_t c1 = c0 + size < ne[2] ? c0 + size : ne[2];
        norm_group(args, sr__param_f32(args->params, 1), c0, c1, item / used);
    }
}

static const char *refuse_group_norm(const sr__kernel_args *args) {
    return args->params[0] > 0 ? sr__refuse_unlike_f32(args) : "the number of groups must be positive";
}

const sr__kernel_info sr__kernel_NORM = {
    .run = run_norm, .refuse = sr__refuse_unlike_f32, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_RMS_NORM = {
    .run = run_rms_norm, .refuse = sr__refuse_unlike_f32, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_RMS_NORM_BACK = {
    .run = run_rms_norm_back, .refuse = refuse_rms_norm_back, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_L2_NORM = {
    .run = run_l2_norm, .refuse = sr__refuse_unlike_f32, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_GROUP_NORM = {
    .run = run_group_norm, .refuse = refuse_group_norm, .max_threads = sr__threads_planes};
