/*
 * k_reduce.c - SUM SUM_ROWS MEAN CUMSUM ARGMAX COUNT_EQUAL: sums, counts and positions.
 *
 * Layer: kernels.  Answers to the kernels of those names in ops.cpp of ggml-cpu of the reference (ops-1, section 4).
 */
#include <math.h>

#include "kernels/rows.h"

/*
 * What is reduced to one value is cut into PARTS parts, whatever the number of threads: the members reduce parts, the
 * first one adds them up in order.  So the result does not depend on the team.
 */
enum { PARTS = 64 };

static size_t scratch_parts(const sr__kernel_args *args, int n_threads) {
    (void)args, (void)n_threads;
    return PARTS * sizeof(double);
}

static int threads_parts(const sr__kernel_args *args) {
    (void)args;
    return PARTS;
}

/* ---- SUM --------------------------------------------------------------------------------------------------------- */

static float sum_in_f32(const float *x, int64_t n, float sum) {
    for (int64_t i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum;
}

/* f32 adds up in f64, narrower types in f32. */
static double sum_part(const sr__operand *a, int part) {
    const sr__task as_member = {.ith = part, .nth = PARTS};
    const bool wide = a->tensor->type == SR_TYPE_F32;
    float buf[SR_SPAN], narrow_sum = 0;
    double sum = 0;
    SR_EACH_SPAN(&as_member, a->tensor, sr_tensor_is_contiguous(a->tensor), r) {
        const float *x = sr__span_load(a, &r, buf);
        if (wide) {
            sum += sr__sum(x, r.n);
        } else {
            narrow_sum = sum_in_f32(x, r.n, narrow_sum);
        }
    }
    return wide ? sum : (double)narrow_sum;
}

static void run_sum(const sr__kernel_args *args, const sr__task *task) {
    double *parts = args->scratch;
    for (int part = task->ith; part < PARTS; part += task->nth) {
        parts[part] = sum_part(&args->src[0], part);
    }
    sr__task_barrier(task);
    if (task->ith != 0) {
        return;
    }
    double sum = 0;
    for (int part = 0; part < PARTS; part++) {
        sum += parts[part];
    }
    const float value = (float)sum;
    sr__row_from_f32(args->dst.tensor->type, &value, args->dst.data, 1);
}

static const char *refuse_sum(const sr__kernel_args *args) {
    static const uint64_t types = SR__TYPE(F32) | SR__TYPE(F16) | SR__TYPE(BF16);
    const sr__want wants[] = {{SR__DST, types, SR__STRIDED}, {0, types, SR__STRIDED}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    if (sr_tensor_nelements(args->dst.tensor) != 1) {
        return "the result must be a single value";
    }
    return args->dst.tensor->type == args->src[0].tensor->type ? NULL : "the result must be of the source's type";
}

/* ---- COUNT_EQUAL ------------------------------------------------------------------------------------------------- */

static int64_t count_part(const sr__kernel_args *args, int part) {
    const sr__task as_member = {.ith = part, .nth = PARTS};
    const sr__operand *a = &args->src[0], *b = &args->src[1];
    const size_t a_nb = a->tensor->nb[0], b_nb = b->tensor->nb[0];
    int64_t count = 0;
    SR_EACH_SPAN(&as_member, a->tensor, false, r) {
        const char *x = sr__row_here(a, &r) + (size_t)r.i0 * a_nb, *y = sr__row_here(b, &r) + (size_t)r.i0 * b_nb;
        for (int64_t i = 0; i < r.n; i++, x += a_nb, y += b_nb) {
            count += *(const int32_t *)(const void *)x == *(const int32_t *)(const void *)y;
        }
    }
    return count;
}

static void run_count_equal(const sr__kernel_args *args, const sr__task *task) {
    int64_t *parts = args->scratch;
    for (int part = task->ith; part < PARTS; part += task->nth) {
        parts[part] = count_part(args, part);
    }
    sr__task_barrier(task);
    if (task->ith != 0) {
        return;
    }
    int64_t count = 0;
    for (int part = 0; part < PARTS; part++) {
        count += parts[part];
    }
    memcpy(args->dst.data, &count, sizeof(count));
}

static const char *refuse_count_equal(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {SR__DST, SR__TYPE(I64), SR__STRIDED},
        {0, SR__TYPE(I32), SR__STRIDED},
        {1, SR__TYPE(I32), SR__STRIDED},
    };
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    if (sr_tensor_nelements(args->dst.tensor) != 1) {
        return "the result must be a single value";
    }
    return sr_tensor_same_shape(args->src[0].tensor, args->src[1].tensor) ? NULL
                                                                         : "both sources must have the same extents";
}

/* ---- along rows -------------------------------------------------------------------------------------------------- */

static void run_row_sums(const sr__kernel_args *args, const sr__task *task, float divisor) {
    const int64_t n = args->src[0].tensor->ne[0];
    SR_EACH_ROW(task, args->dst.tensor, r) {
        *sr__row_here_f32(&args->dst, &r) = (float)sr__sum(sr__row_here_f32(&args->src[0], &r), n) / divisor;
    }
}

static void run_sum_rows(const sr__kernel_args *args, const sr__task *task) { run_row_sums(args, task, 1.0f); }

/* The mean of nothing is 0/0. */
static void run_mean(const sr__kernel_args *args, const sr__task *task) {
    run_row_sums(args, task, (float)args->src[0].tensor->ne[0]);
}

static const char *refuse_row_sums(const sr__kernel_args *args) {
    const char *why = sr__refuse_not_f32(args, 1);
    if (why != NULL) {
        return why;
    }
    const int64_t *ne = args->src[0].tensor->ne;
    return sr__has_extents(args->dst.tensor, 1, ne[1], ne[2], ne[3]) ? NULL : "the result must have one value a row";
}

static void run_cumsum(const sr__kernel_args *args, const sr__task *task) {
    SR_EACH_ROW(task, args->dst.tensor, r) {
        const float *x = sr__row_here_f32(&args->src[0], &r);
        float *y = sr__row_here_f32(&args->dst, &r), sum = 0;
        for (int64_t i = 0; i < r.n; i++) {
            sum = i == 0 ? x[0] : sum + x[i];
            y[i] = sum;
        }
    }
}

/* The last of the largest.  A NaN never wins, and what comes after it counts as the largest so far. */
static int32_t argmax(const char *row, size_t nb0, int64_t n) {
    float largest = -INFINITY;
    int32_t index = 0;
    for (int64_t i = 0; i < n; i++) {
        const float x = *(const float *)(const void *)(row + (size_t)i * nb0);
        largest = largest > x ? largest : x;
        index = largest == x ? (int32_t)i : index;
    }
    return index;
}

static void run_argmax(const sr__kernel_args *args, const sr__task *task) {
    const sr__operand *a = &args->src[0], *y = &args->dst;
    int64_t begin, end;
    sr__task_range(task, y->tensor->ne[0], &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int32_t index = argmax(sr__row(a, i, 0, 0), a->tensor->nb[0], a->tensor->ne[0]);
        memcpy(y->data + (size_t)i * y->tensor->nb[0], &index, sizeof(index));
    }
}

static const char *refuse_argmax(const sr__kernel_args *args) {
    static const sr__want wants[] = {{SR__DST, SR__TYPE(I32), SR__STRIDED}, {0, SR__TYPE(F32), SR__STRIDED}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const int64_t *ne = args->src[0].tensor->ne;
    return ne[2] == 1 && ne[3] == 1 && sr__has_extents(args->dst.tensor, ne[1], 1, 1, 1)
               ? NULL : "the source must be a matrix, the result a vector with an index for each of its rows";
}

const sr__kernel_info sr__kernel_SUM = {
    .run = run_sum, .refuse = refuse_sum, .scratch = scratch_parts, .max_threads = threads_parts};
const sr__kernel_info sr__kernel_COUNT_EQUAL = {
    .run = run_count_equal, .refuse = refuse_count_equal, .scratch = scratch_parts, .max_threads = threads_parts};
const sr__kernel_info sr__kernel_SUM_ROWS = {
    .run = run_sum_rows, .refuse = refuse_row_sums, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_MEAN = {.run = run_mean, .refuse = refuse_row_sums, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_CUMSUM = {
    .run = run_cumsum, .refuse = sr__refuse_unlike_f32, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_ARGMAX = {.run = run_argmax, .refuse = refuse_argmax};
