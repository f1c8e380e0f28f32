/*
 * k_window.c - WIN_PART, WIN_UNPART: an image as windows and back; GET_REL_POS, ADD_REL_POS: positions within them.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_win_part and its relatives (spec: ops-2, section 7).
 */
#include "kernels/k_operand.h"

/* ---- WIN_PART, WIN_UNPART ---------------------------------------------------------------------------------------- */

static int64_t ceil_div(int64_t n, int64_t d) { return (n + d - 1) / d; }

static const char *refuse_both_f32(const sr__kernel_args *args) {
    static const sr__want wants[] = {{0, SR__TYPE(F32), SR__CONTIGUOUS}, {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    return sr__operands_refuse(args, wants, SR_COUNT(wants));
}

static const char *refuse_part(const sr__kernel_args *args) {
    const char *why = refuse_both_f32(args);
    if (why != NULL) {
        return why;
    }
    const int64_t *a = args->src[0].tensor->ne;
    const int64_t w = args->params[2];
    if (w <= 0 || args->params[0] != ceil_div(a[1], w) || args->params[1] != ceil_div(a[2], w) || a[3] != 1) {
        return "the words do not give the windows of the source";
    }
    return sr__has_extents(args->dst.tensor, a[0], w, w, (int64_t)args->params[0] * args->params[1])
               ? NULL : "the result has other extents than the windows";
}

static void run_part(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *from = args->src[0].tensor->ne, *ne = args->dst.tensor->ne;
    const int64_t across = args->params[0], w = args->params[2];
    int64_t begin, end, at[SR_MAX_DIMS];
    sr__task_range(task, ne[1] * ne[2] * ne[3], &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        float *to = sr__f32(&args->dst) + r * ne[0];
        sr__row_index(ne, r, at);
        const int64_t x = at[3] % across * w + at[1], y = at[3] / across * w + at[2];
        if (x < from[1] && y < from[2]) {
            memcpy(to, sr__f32(&args->src[0]) + (y * from[1] + x) * ne[0], (size_t)ne[0] * sizeof(*to));
        } else {
            memset(to, 0, (size_t)ne[0] * sizeof(*to));
        }
    }
}

static const char *refuse_unpart(const sr__kernel_args *args) {
    const char *why = refuse_both_f32(args);
    if (why != NULL) {
        return why;
    }
    const int64_t *y = args->dst.tensor->ne;
    const int64_t w = args->params[0];
    if (w <= 0 || y[3] != 1) {
        return "the window must be positive and the result one image";
    }
    return sr__has_extents(args->src[0].tensor, y[0], w, w, sr__times(ceil_div(y[1], w), ceil_div(y[2], w)))
               ? NULL : "the source has other extents than the windows of the result";
}

static void run_unpart(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *ne = args->dst.tensor->ne;
    const int64_t w = args->params[0], across = ceil_div(ne[1], w);
    int64_t begin, end;
    sr__task_range(task, ne[1] * ne[2], &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const int64_t x = r % ne[1], y = r / ne[1], window = y / w * across + x / w;
        const float *from = sr__f32(&args->src[0]) + ((window * w + y % w) * w + x % w) * ne[0];
        memcpy(sr__f32(&args->dst) + r * ne[0], from, (size_t)ne[0] * sizeof(*from));
    }
}

/* ---- GET_REL_POS, ADD_REL_POS ------------------------------------------------------------------------------------ */

static const char *refuse_get(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {0, SR__TYPE(F16) | SR__TYPE(BF16), SR__CONTIGUOUS}, {SR__DST, SR__TYPE(F16), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const int64_t *a = args->src[0].tensor->ne, *y = args->dst.tensor->ne;
    return y[0] == a[0] && y[1] == y[2] && y[3] == 1 && sr__has_extents(args->src[0].tensor, a[0], 2 * y[1] - 1, 1, 1)
               ? NULL : "the result must be [channels, n, n] for a source of [channels, 2 n - 1]";
}

/* Row (k, q) of the result is the row of the source at their distance; 16-bit patterns go over as they are. */
static void run_get(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *ne = args->dst.tensor->ne;
    const size_t bytes = (size_t)ne[0] * sizeof(uint16_t);
    int64_t begin, end;
    sr__task_range(task, ne[1] * ne[2], &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const int64_t k = r % ne[1], q = r / ne[1];
        memcpy(args->dst.data + (size_t)r * bytes, args->src[0].data + (size_t)(ne[1] - 1 - k + q) * bytes, bytes);
    }
}

static const char *refuse_add(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {0, SR__TYPE(F32), SR__CONTIGUOUS}, {1, SR__TYPE(F32), SR__CONTIGUOUS}, {2, SR__TYPE(F32), SR__CONTIGUOUS},
        {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const sr_tensor *a = args->src[0].tensor, *pw = args->src[1].tensor;
    if (!sr_tensor_same_shape(pw, args->src[2].tensor) || !sr_tensor_same_shape(a, args->dst.tensor)) {
        return "the two positions, or the source and the result, differ in shape";
    }
    return sr__has_extents(a, pw->ne[0] * pw->ne[0], pw->ne[1] * pw->ne[2], pw->ne[3], 1)
               ? NULL : "positions must be [w, r1, r2, n] for a source of [w w, r1 r2, n]";
}

/* The result may be the source itself. */
static void run_add(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *ne = args->dst.tensor->ne;
    const int64_t w = args->src[1].tensor->ne[0];
    int64_t begin, end;
    sr__task_range(task, ne[1] * ne[2], &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const float *from = sr__f32(&args->src[0]) + r * ne[0];
        const float *pw = sr__f32(&args->src[1]) + r * w, *ph = sr__f32(&args->src[2]) + r * w;
        float *to = sr__f32(&args->dst) + r * ne[0];
        for (int64_t y = 0; y < w; y++) {
            for (int64_t x = 0; x < w; x++) {
                to[y * w + x] = from[y * w + x] + pw[x] + ph[y];
            }
        }
    }
}

const sr__kernel_info sr__kernel_WIN_PART = {.run = run_part, .refuse = refuse_part, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_WIN_UNPART = {
    .run = run_unpart, .refuse = refuse_unpart, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_GET_REL_POS = {.run = run_get, .refuse = refuse_get, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_ADD_REL_POS = {.run = run_add, .refuse = refuse_add, .max_threads = sr__threads_rows};
