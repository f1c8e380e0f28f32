/*
 * k_pool.c - POOL_1D, POOL_2D, POOL_2D_BACK: the largest or the mean of each window.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_pool_1d and its relatives (spec: ops-2, section 2).  Two facts of
 * the reference: in one dimension a mean is over the positions inside the input, in two over the whole window.
 */
#include <float.h>

#include "kernels/k_operand.h"

enum { POOL_MAX = 0, POOL_AVG = 1 };

typedef struct window { int64_t size, step, pad; } window;
typedef struct span { int64_t begin, end; } span;

/* Positions of the window of output o that are inside n. */
static span window_span(const window *w, int64_t o, int64_t n) {
    const int64_t first = o * w->step - w->pad;
    span s = {first > 0 ? first : 0, first + w->size < n ? first + w->size : n};
    s.end = s.end > s.begin ? s.end : s.begin;
    return s;
}

static void windows_2d(const int32_t *p, window *wx, window *wy) {
    *wx = (window){p[1], p[3], p[5]};
    *wy = (window){p[2], p[4], p[6]};
}

static const char *refuse_windows(const int32_t *params, const window *wx, const window *wy) {
    if (params[0] != POOL_MAX && params[0] != POOL_AVG) {
        return "pooling is 0 (max) or 1 (avg)";
    }
    return wx->size > 0 && wy->size > 0 && wx->step > 0 && wy->step > 0 ? NULL : "windows and steps must be positive";
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static const char *refuse_pool_1d(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {0, SR__TYPE(F32) | SR__TYPE(F16), SR__ROWS}, {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const window w = {args->params[1], args->params[2], args->params[3]};
    const sr_tensor *a = args->src[0].tensor, *y = args->dst.tensor;
    if (!sr__has_extents(y, y->ne[0], a->ne[1], a->ne[2], a->ne[3])) {
        return "the result and the input differ in rows";
    }
    return refuse_windows(args->params, &w, &w);
}

static const char *refuse_pool_2d(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {0, SR__TYPE(F32) | SR__TYPE(F16), SR__ROWS}, {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const sr_tensor *a = args->src[0].tensor, *y = args->dst.tensor;
    window wx, wy;
    windows_2d(args->params, &wx, &wy);
    if (y->ne[2] != a->ne[2] || y->ne[3] != a->ne[3]) {
        return "the result and the input differ in planes";
    }
    return refuse_windows(args->params, &wx, &wy);
}

/* Rows [sy) and positions [sx) of a plane; `divisor` is what a mean divides by. */
static float pool_window(const sr__operand *a, int op, span sx, span sy, int64_t i2, int64_t i3, float divisor) {
    const int type = a->tensor->type;
    const size_t bytes = (size_t)sr_type_get(type)->bytes;
    float largest = -FLT_MAX, sum = 0;
    for (int64_t y = sy.begin; y < sy.end; y++) {
        const char *row = sr__row(a, y, i2, i3);
        for (int64_t x = sx.begin; x < sx.end; x++) {
            const float v = sr__load(type, row + (size_t)x * bytes);
            largest = v > largest ? v : largest;
            sum += v;
        }
    }
    return op == POOL_MAX ? largest : divisor > 0 ? sum / divisor : 0;
}

static void run_pool_1d(const sr__kernel_args *args, const sr__task *task) {
    const window w = {args->params[1], args->params[2], args->params[3]};
    const sr__operand *a = &args->src[0];
    const int64_t *ne = args->dst.tensor->ne;
    int64_t begin, end, at[SR_MAX_DIMS];
    sr__task_range(task, ne[1] * ne[2] * ne[3], &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        float *to = sr__f32(&args->dst) + r * ne[0];
        sr__row_index(ne, r, at);
        for (int64_t x = 0; x < ne[0]; x++) {
            const span sx = window_span(&w, x, a->tensor->ne[0]), sy = {at[1], at[1] + 1};
            to[x] = pool_window(a, args->params[0], sx, sy, at[2], at[3], (float)(sx.end - sx.begin));
        }
    }
}

static void run_pool_2d(const sr__kernel_args *args, const sr__task *task) {
    const sr__operand *a = &args->src[0];
    const int64_t *ne = args->dst.tensor->ne;
    int64_t begin, end, at[SR_MAX_DIMS];
    window wx, wy;
    windows_2d(args->params, &wx, &wy);
    sr__task_range(task, ne[1] * ne[2] * ne[3], &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        float *to = sr__f32(&args->dst) + r * ne[0];
        sr__row_index(ne, r, at);
        const span sy = window_span(&wy, at[1], a->tensor->ne[1]);
        for (int64_t x = 0; x < ne[0]; x++) {
            const span sx = window_span(&wx, x, a->tensor->ne[0]);
            to[x] = pool_window(a, args->params[0], sx, sy, at[2], at[3], (float)(wx.size * wy.size));
        }
    }
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

static const char *refuse_pool_2d_back(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {0, SR__TYPE(F32), SR__CONTIGUOUS}, {1, SR__TYPE(F32), SR__CONTIGUOUS},
        {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const sr_tensor *a = args->src[0].tensor, *forward = args->src[1].tensor, *y = args->dst.tensor;
    window wx, wy;
    windows_2d(args->params, &wx, &wy);
    if (!sr_tensor_same_shape(forward, y) || a->ne[2] != y->ne[2] || a->ne[3] != y->ne[3]) {
        return "the gradient, the forward input and the result do not match";
    }
    return refuse_windows(args->params, &wx, &wy);
}

/* The gradient g goes to the first of the largest values; there is none if all are below the least f32. */
static void give_to_largest(const float *forward, int64_t width, span sx, span sy, float g, float *to) {
    float largest = -FLT_MAX;
    int64_t at = -1;
    for (int64_t y = sy.begin; y < sy.end; y++) {
        for (int64_t x = sx.begin; x < sx.end; x++) {
            if (forward[y * width + x] > largest) {
                largest = forward[y * width + x];
                at = y * width + x;
            }
        }
    }
    if (at >= 0) {
        to[at] += g;
    }
}

static void give_to_all(int64_t width, span sx, span sy, float g, float *to) {
    for (int64_t y = sy.begin; y < sy.end; y++) {
        for (int64_t x = sx.begin; x < sx.end; x++) {
            to[y * width + x] += g;
        }
    }
}

static void run_pool_2d_back(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *pooled = args->src[0].tensor->ne, *ne = args->dst.tensor->ne;
    int64_t begin, end;
    window wx, wy;
    windows_2d(args->params, &wx, &wy);
    sr__task_range(task, ne[2] * ne[3], &begin, &end);
    for (int64_t plane = begin; plane < end; plane++) {
        const float *gradient = sr__f32(&args->src[0]) + plane * pooled[0] * pooled[1];
        const float *forward = sr__f32(&args->src[1]) + plane * ne[0] * ne[1];
        float *to = sr__f32(&args->dst) + plane * ne[0] * ne[1];
        memset(to, 0, (size_t)(ne[0] * ne[1]) * sizeof(*to));
        for (int64_t oy = 0; oy < pooled[1]; oy++) {
            const span sy = window_span(&wy, oy, ne[1]);
            for (int64_t ox = 0; ox < pooled[0]; ox++) {
                const span sx = window_span(&wx, ox, ne[0]);
                const float g = gradient[oy * pooled[0] + ox];
                if (args->params[0] == POOL_MAX) {
                    give_to_largest(forward, ne[0], sx, sy, g, to);
                } else {
                    give_to_all(ne[0], sx, sy, g / (float)(wx.size * wy.size), to);
                }
            }
        }
    }
}

const sr__kernel_info sr__kernel_POOL_1D = {
    .run = run_pool_1d, .refuse = refuse_pool_1d, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_POOL_2D = {
    .run = run_pool_2d, .refuse = refuse_pool_2d, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_POOL_2D_BACK = {
    .run = run_pool_2d_back, .refuse = refuse_pool_2d_back, .max_threads = sr__threads_planes};
