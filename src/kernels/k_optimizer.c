/*
 * k_optimizer.c - OPT_STEP_ADAMW, OPT_STEP_SGD: one step of an optimizer on the weights themselves.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_opt_step_adamw / _sgd (spec: ops-2, section 8).  The result views
 * the weights; AdamW also writes its two moments, which are sources.
 */
#include <math.h>

#include "kernels/k_operand.h"

enum { WEIGHTS, GRADIENT, MOMENT_1, MOMENT_2, ADAMW_PARAMS, SGD_PARAMS = 2 };

static const char *refuse_step(const sr__kernel_args *args, const sr__want *wants, int n, int n_like_result, int params,
                               int64_t n_params) {
    const char *why = sr__operands_refuse(args, wants, n);
    if (why != NULL) {
        return why;
    }
    for (int j = 0; j < n_like_result; j++) {
        if (!sr_tensor_same_shape(args->src[j].tensor, args->dst.tensor)) {
            return "the weights, their gradient and their moments differ in shape";
        }
    }
    return sr__has_extents(args->src[params].tensor, n_params, 1, 1, 1)
               ? NULL : "the parameters have another number of elements";
}

static const char *refuse_adamw(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {WEIGHTS, SR__TYPE(F32), SR__ROWS},  {GRADIENT, SR__TYPE(F32), SR__ROWS},
        {MOMENT_1, SR__TYPE(F32), SR__ROWS}, {MOMENT_2, SR__TYPE(F32), SR__ROWS},
        {ADAMW_PARAMS, SR__TYPE(F32), SR__CONTIGUOUS}, {SR__DST, SR__TYPE(F32), SR__ROWS}};
    return refuse_step(args, wants, SR_COUNT(wants), 4, ADAMW_PARAMS, 7);
}

static const char *refuse_sgd(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {WEIGHTS, SR__TYPE(F32), SR__ROWS}, {GRADIENT, SR__TYPE(F32), SR__ROWS},
        {SGD_PARAMS, SR__TYPE(F32), SR__CONTIGUOUS}, {SR__DST, SR__TYPE(F32), SR__ROWS}};
    return refuse_step(args, wants, SR_COUNT(wants), 2, SGD_PARAMS, 2);
}

/* Parameters: alpha, beta1, beta2, epsilon, weight decay, and the two corrections for the first steps. */
static void run_adamw(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *ne = args->dst.tensor->ne;
    const float *p = sr__f32(&args->src[ADAMW_PARAMS]);
    const float alpha = p[0], beta1 = p[1], beta2 = p[2], epsilon = p[3], keep = 1 - p[0] * p[4];
    int64_t begin, end, at[SR_MAX_DIMS];
    sr__task_range(task, ne[1] * ne[2] * ne[3], &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        sr__row_index(ne, r, at);
        const float *w = sr__row_f32(&args->src[WEIGHTS], at[1], at[2], at[3]);
        const float *g = sr__row_f32(&args->src[GRADIENT], at[1], at[2], at[3]);
        float *m = sr__row_f32(&args->src[MOMENT_1], at[1], at[2], at[3]);
        float *v = sr__row_f32(&args->src[MOMENT_2], at[1], at[2], at[3]);
        float *to = sr__row_f32(&args->dst, at[1], at[2], at[3]);
        for (int64_t i = 0; i < ne[0]; i++) {
            m[i] = m[i] * beta1 + g[i] * (1 - beta1);
            v[i] = v[i] * beta2 + g[i] * g[i] * (1 - beta2);
            to[i] = w[i] * keep - alpha * (m[i] * p[5]) / (sqrtf(v[i] * p[6]) + epsilon);
        }
    }
}

static void run_sgd(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *ne = args->dst.tensor->ne;
    const float alpha = sr__f32(&args->src[SGD_PARAMS])[0], keep = 1 - alpha * sr__f32(&args->src[SGD_PARAMS])[1];
    int64_t begin, end, at[SR_MAX_DIMS];
    sr__task_range(task, ne[1] * ne[2] * ne[3], &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        sr__row_index(ne, r, at);
        const float *w = sr__row_f32(&args->src[WEIGHTS], at[1], at[2], at[3]);
        const float *g = sr__row_f32(&args->src[GRADIENT], at[1], at[2], at[3]);
        float *to = sr__row_f32(&args->dst, at[1], at[2], at[3]);
        for (int64_t i = 0; i < ne[0]; i++) {
            to[i] = w[i] * keep - alpha * g[i];
        }
    }
}

const sr__kernel_info sr__kernel_OPT_STEP_ADAMW = {
    .run = run_adamw, .refuse = refuse_adamw, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_OPT_STEP_SGD = {.run = run_sgd, .refuse = refuse_sgd, .max_threads = sr__threads_rows};
