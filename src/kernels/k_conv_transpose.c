/*
 * k_conv_transpose.c - CONV_TRANSPOSE_1D, CONV_TRANSPOSE_2D: every input spreads the kernel over the result.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_conv_transpose_1d / _2d (spec: ops-2, section 1).  A thread owns
 * whole output channels and lets every input add to them.  An f16 kernel multiplies an input rounded to f16.
 */
#include "kernels/k_operand.h"
#include "kernels/k_vector.h"

static const char *refuse_both(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {0, SR__TYPE(F32) | SR__TYPE(F16), SR__ROWS},
        {1, SR__TYPE(F32), SR__ROWS},
        {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS},
    };
    return sr__operands_refuse(args, wants, SR_COUNT(wants));
}

static const char *refuse_1d(const sr__kernel_args *args) {
    const char *why = refuse_both(args);
    if (why != NULL) {
        return why;
    }
    const sr_tensor *a = args->src[0].tensor, *b = args->src[1].tensor;
    const int64_t step = args->params[0];
    if (step <= 0 || args->params[1] != 0 || args->params[2] != 1) {
        return "takes a positive step, no pad and no dilation";
    }
    if (a->ne[2] != b->ne[1] || a->ne[3] != 1 || b->ne[2] != 1 || b->ne[3] != 1) {
        return "the kernel and the input differ in channels";
    }
    return sr__has_extents(args->dst.tensor, (b->ne[0] - 1) * step + a->ne[0], a->ne[1], 1, 1)
               ? NULL : "the result has other extents than follow from the step";
}

static const char *refuse_2d(const sr__kernel_args *args) {
    const char *why = refuse_both(args);
    if (why != NULL) {
        return why;
    }
    const sr_tensor *a = args->src[0].tensor, *b = args->src[1].tensor;
    const int64_t step = args->params[0];
    if (step <= 0) {
        return "takes a positive step";
    }
    if (a->ne[3] != b->ne[2]) {
        return "the kernel and the input differ in channels";
    }
    return sr__has_extents(args->dst.tensor, (b->ne[0] - 1) * step + a->ne[0], (b->ne[1] - 1) * step + a->ne[1],
                           a->ne[2], b->ne[3])
               ? NULL : "the result has other extents than follow from the step";
}

static size_t scratch_both(const sr__kernel_args *args, int n_threads) {
    (void)n_threads;
    const bool rounds = args->src[0].tensor->type == SR_TYPE_F16;
    return rounds ? (size_t)sr_tensor_nelements(args->src[1].tensor) * sizeof(float) : 0;
}

/* A row of the input as the kernel's type demands it. */
static const float *input_row(const sr__kernel_args *args, int64_t i1, int64_t i2) {
    const sr_tensor *b = args->src[1].tensor;
    if (args->src[0].tensor->type == SR_TYPE_F16) {
        return (const float *)args->scratch + (i2 * b->ne[1] + i1) * b->ne[0];
    }
    return sr__row_f32(&args->src[1], i1, i2, 0);
}

static void round_input(const sr__kernel_args *args, const sr__task *task) {
    if (args->src[0].tensor->type == SR_TYPE_F16) {
        sr__gather_f32(&args->src[1], true, args->scratch, task);
        sr__task_barrier(task);
    }
}

/* Spreads a row of n inputs, `step` apart, over a row of the result with one row of the kernel. */
static void spread(int64_t n, const float *from, int64_t step, const sr_tensor *kernel, const char *weights,
                   float *to) {
    const size_t bytes = (size_t)sr_type_get(kernel->type)->bytes;
    for (int64_t k = 0; k < kernel->ne[0]; k++) {
        const float weight = sr__load(kernel->type, weights + (size_t)k * bytes);
        if (step == 1) {
            sr__axpy_f32(n, to + k, weight, from);
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            to[i * step + k] += weight * from[i];
        }
    }
}

static void run_1d(const sr__kernel_args *args, const sr__task *task) {
    const sr_tensor *a = args->src[0].tensor, *b = args->src[1].tensor, *y = args->dst.tensor;
    int64_t begin, end;
    round_input(args, task);
    sr__task_range(task, y->ne[1], &begin, &end);
    for (int64_t oc = begin; oc < end; oc++) {
        float *to = sr__f32(&args->dst) + oc * y->ne[0];
        memset(to, 0, (size_t)y->ne[0] * sizeof(*to));
        for (int64_t ic = 0; ic < b->ne[1]; ic++) {
            spread(b->ne[0], input_row(args, ic, 0), args->params[0], a, sr__row(&args->src[0], oc, ic, 0), to);
        }
    }
}

/* The reference computes the first batch only and leaves the others 0. */
static void run_2d(const sr__kernel_args *args, const sr__task *task) {
    const sr_tensor *a = args->src[0].tensor, *b = args->src[1].tensor, *y = args->dst.tensor;
    const int64_t step = args->params[0];
    int64_t begin, end;
    round_input(args, task);
    sr__task_range(task, y->ne[2] * y->ne[3], &begin, &end);
    for (int64_t plane = begin; plane < end; plane++) {
        float *to = sr__f32(&args->dst) + plane * y->ne[0] * y->ne[1];
        memset(to, 0, (size_t)(y->ne[0] * y->ne[1]) * sizeof(*to));
        for (int64_t ic = 0; ic < b->ne[2] && plane < y->ne[2]; ic++) {
            for (int64_t h = 0; h < b->ne[1]; h++) {
                for (int64_t kh = 0; kh < a->ne[1]; kh++) {
                    spread(b->ne[0], input_row(args, h, ic), step, a, sr__row(&args->src[0], kh, plane, ic),
                           to + (h * step + kh) * y->ne[0]);
                }
            }
        }
    }
}

const sr__kernel_info sr__kernel_CONV_TRANSPOSE_1D = {.run = run_1d, .refuse = refuse_1d, .scratch = scratch_both};
const sr__kernel_info sr__kernel_CONV_TRANSPOSE_2D = {
    .run = run_2d, .refuse = refuse_2d, .scratch = scratch_both, .max_threads = sr__threads_planes};
