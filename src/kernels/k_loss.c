/*
 * k_loss.c - CROSS_ENTROPY_LOSS and its gradient.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_cross_entropy_loss / _back (spec: ops-2, section 8).
 */
#include <math.h>

#include "kernels/k_operand.h"

static int64_t count_rows(const sr_tensor *t) { return t->ne[1] * t->ne[2] * t->ne[3]; }

/* The largest of a row and the sum of e to the distances from it. */
static float row_max(const float *x, int64_t n) {
    float largest = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        largest = x[i] > largest ? x[i] : largest;
    }
    return largest;
}

static double row_sum_exp(const float *x, int64_t n, float largest) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (double)expf(x[i] - largest);
    }
    return sum;
}

static const char *refuse_loss(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {0, SR__TYPE(F32), SR__ROWS}, {1, SR__TYPE(F32), SR__ROWS}, {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    if (!sr_tensor_same_shape(args->src[0].tensor, args->src[1].tensor)) {
        return "the logits and the targets differ in shape";
    }
    return sr__has_extents(args->dst.tensor, 1, 1, 1, 1) ? NULL : "the result must be one element";
}

/* A row's loss goes to its own place, and one member sums them: the same sum for any number of threads. */
static size_t scratch_loss(const sr__kernel_args *args, int n_threads) {
    (void)n_threads;
    return (size_t)count_rows(args->src[0].tensor) * sizeof(double);
}

static int threads_loss(const sr__kernel_args *args) { return sr__threads_for(count_rows(args->src[0].tensor)); }

static void run_loss(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *ne = args->src[0].tensor->ne;
    const int64_t rows = count_rows(args->src[0].tensor);
    double *losses = args->scratch;
    int64_t begin, end, at[SR_MAX_DIMS];
    sr__task_range(task, rows, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        sr__row_index(ne, r, at);
        const float *logits = sr__row_f32(&args->src[0], at[1], at[2], at[3]);
        const float *targets = sr__row_f32(&args->src[1], at[1], at[2], at[3]);
        const float largest = row_max(logits, ne[0]);
        const float log_sum = (float)log(row_sum_exp(logits, ne[0], largest));
        losses[r] = 0;
        for (int64_t i = 0; i < ne[0]; i++) {
            losses[r] += (double)(targets[i] * (logits[i] - largest - log_sum));
        }
    }
    sr__task_barrier(task);
    if (task->ith == 0) {
        double sum = 0;
        for (int64_t r = 0; r < rows; r++) {
            sum += losses[r];
        }
        *sr__f32(&args->dst) = (float)(-sum / (double)rows);
    }
}

static const char *refuse_loss_back(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {0, SR__TYPE(F32), SR__CONTIGUOUS}, {1, SR__TYPE(F32), SR__CONTIGUOUS}, {2, SR__TYPE(F32), SR__CONTIGUOUS},
        {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    if (!sr__has_extents(args->src[0].tensor, 1, 1, 1, 1)) {
        return "the gradient of the loss must be one element";
    }
    const sr_tensor *y = args->dst.tensor;
    return sr_tensor_same_shape(args->src[1].tensor, y) && sr_tensor_same_shape(args->src[2].tensor, y)
               ? NULL : "the logits, the targets and the result differ in shape";
}

static void run_loss_back(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *ne = args->dst.tensor->ne;
    const int64_t rows = count_rows(args->dst.tensor);
    const float factor = *sr__f32(&args->src[0]) / (float)rows;
    int64_t begin, end;
    sr__task_range(task, rows, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const float *logits = sr__f32(&args->src[1]) + r * ne[0], *targets = sr__f32(&args->src[2]) + r * ne[0];
        float *to = sr__f32(&args->dst) + r * ne[0];
        const float largest = row_max(logits, ne[0]);
        const float scale = (float)(1 / row_sum_exp(logits, ne[0], largest));
        for (int64_t i = 0; i < ne[0]; i++) {
            to[i] = (expf(logits[i] - largest) * scale - targets[i]) * factor;
        }
    }
}

const sr__kernel_info sr__kernel_CROSS_ENTROPY_LOSS = {
    .run = run_loss, .refuse = refuse_loss, .scratch = scratch_loss, .max_threads = threads_loss};
const sr__kernel_info sr__kernel_CROSS_ENTROPY_LOSS_BACK = {
    .run = run_loss_back, .refuse = refuse_loss_back, .max_threads = sr__threads_rows};
