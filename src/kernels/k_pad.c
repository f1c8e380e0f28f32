/*
 * k_pad.c - PAD, PAD_REFLECT_1D, ROLL: a tensor with a border, or turned round.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_pad and its relatives (spec: ops-2, section 3).
 */
#include "kernels/k_operand.h"

/* The remainder that is never negative. */
static int64_t mod(int64_t i, int64_t n) {
    const int64_t r = i % n;
    return r < 0 ? r + n : r;
}

/* ---- PAD --------------------------------------------------------------------------------------------------------- */

static const char *refuse_pad(const sr__kernel_args *args) {
    static const sr__want wants[] = {{0, SR__TYPE(F32), SR__STRIDED}, {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const sr_tensor *a = args->src[0].tensor, *y = args->dst.tensor;
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        if (y->ne[d] != a->ne[d] + args->params[2 * d] + args->params[2 * d + 1]) {
            return "the result has other extents than the pads give";
        }
    }
    return args->params[8] != 0 && sr_tensor_is_empty(a) ? "an empty source cannot go round" : NULL;
}

/* A row of the result out of a row of the source: what is outside is 0. */
static void pad_row(const char *from, size_t step, int64_t n_from, int64_t left, int64_t n, float *to) {
    const int64_t begin = left > 0 ? (left < n ? left : n) : 0;
    int64_t end = left + n_from < n ? left + n_from : n;
    end = end > begin ? end : begin;
    memset(to, 0, (size_t)begin * sizeof(*to));
    for (int64_t i = begin; i < end; i++) {
        memcpy(&to[i], from + (size_t)(i - left) * step, sizeof(*to));
    }
    memset(to + end, 0, (size_t)(n - end) * sizeof(*to));
}

static void circle_row(const char *from, size_t step, int64_t n_from, int64_t left, int64_t n, float *to) {
    int64_t j = mod(-left, n_from);
    for (int64_t i = 0; i < n; i++) {
        memcpy(&to[i], from + (size_t)j * step, sizeof(*to));
        j = j + 1 < n_from ? j + 1 : 0;
    }
}

static void run_pad(const sr__kernel_args *args, const sr__task *task) {
    const sr__operand *a = &args->src[0];
    const int64_t *from = a->tensor->ne, *ne = args->dst.tensor->ne;
    const bool circular = args->params[8] != 0;
    int64_t begin, end, at[SR_MAX_DIMS];
    sr__task_range(task, ne[1] * ne[2] * ne[3], &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        float *to = sr__f32(&args->dst) + r * ne[0];
        bool outside = false;
        sr__row_index(ne, r, at);
        for (int d = 1; d < SR_MAX_DIMS; d++) {
            at[d] -= args->params[2 * d];
            if (circular) {
                at[d] = mod(at[d], from[d]);
            }
            outside |= at[d] < 0 || at[d] >= from[d];
        }
        if (outside) {
            memset(to, 0, (size_t)ne[0] * sizeof(*to));
        } else if (circular) {
            circle_row(sr__row(a, at[1], at[2], at[3]), a->tensor->nb[0], from[0], args->params[0], ne[0], to);
        } else {
            pad_row(sr__row(a, at[1], at[2], at[3]), a->tensor->nb[0], from[0], args->params[0], ne[0], to);
        }
    }
}

/* ---- PAD_REFLECT_1D ---------------------------------------------------------------------------------------------- */

static const char *refuse_reflect(const sr__kernel_args *args) {
    static const sr__want wants[] = {{0, SR__TYPE(F32), SR__ROWS}, {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const int64_t *from = args->src[0].tensor->ne;
    const int64_t left = args->params[0], right = args->params[1];
    if (left < 0 || right < 0 || left >= from[0] || right >= from[0]) {
        return "a reflected pad must be shorter than the row";
    }
    return sr__has_extents(args->dst.tensor, from[0] + left + right, from[1], from[2], from[3])
               ? NULL : "the result has other extents than the pads give";
}

static void run_reflect(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *ne = args->dst.tensor->ne;
    const int64_t n = args->src[0].tensor->ne[0], left = args->params[0];
    int64_t begin, end, at[SR_MAX_DIMS];
    sr__task_range(task, ne[1] * ne[2] * ne[3], &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        float *to = sr__f32(&args->dst) + r * ne[0];
        sr__row_index(ne, r, at);
        const float *from = sr__row_f32(&args->src[0], at[1], at[2], at[3]);
        for (int64_t i = 0; i < left; i++) {
            to[i] = from[left - i];
        }
        memcpy(to + left, from, (size_t)n * sizeof(*to));
        for (int64_t i = left + n; i < ne[0]; i++) {
            to[i] = from[2 * (n - 1) - (i - left)];
        }
    }
}

/* ---- ROLL -------------------------------------------------------------------------------------------------------- */

static const char *refuse_roll(const sr__kernel_args *args) {
    static const sr__want wants[] = {{0, SR__TYPE(F32), SR__ROWS}, {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    return sr_tensor_same_shape(args->src[0].tensor, args->dst.tensor)
               ? NULL : "the result has another shape than its source";
}

static void run_roll(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *ne = args->dst.tensor->ne;
    int64_t begin, end, at[SR_MAX_DIMS];
    sr__task_range(task, ne[1] * ne[2] * ne[3], &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        float *to = sr__f32(&args->dst) + r * ne[0];
        sr__row_index(ne, r, at);
        for (int d = 1; d < SR_MAX_DIMS; d++) {
            at[d] = mod(at[d] - args->params[d], ne[d]);
        }
        const float *from = sr__row_f32(&args->src[0], at[1], at[2], at[3]);
        const int64_t shift = mod(args->params[0], ne[0]);
        memcpy(to + shift, from, (size_t)(ne[0] - shift) * sizeof(*to));
        memcpy(to, from + ne[0] - shift, (size_t)shift * sizeof(*to));
    }
}

const sr__kernel_info sr__kernel_PAD = {.run = run_pad, .refuse = refuse_pad, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_PAD_REFLECT_1D = {
    .run = run_reflect, .refuse = refuse_reflect, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_ROLL = {.run = run_roll, .refuse = refuse_roll, .max_threads = sr__threads_rows};
