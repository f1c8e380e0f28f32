/*
 * k_softmax.c - SOFT_MAX SOFT_MAX_BACK.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_soft_max and its gradient (spec: ops-1, section 7).  A row of the
 * result holds first the scaled and masked values, then their exponentials, then the quotients, so it may lie where
 * the source or the mask does and needs no memory besides.
 */
#include <math.h>

#include "kernels/exp_rows.h"
#include "kernels/rows.h"

/* How much head h of n_heads minds the mask (ALiBi). */
static float slope_of(float max_bias, int64_t h, int64_t n_heads) {
    if (max_bias <= 0) {
        return 1.0f;
    }
    int64_t n = 1;
    while (2 * n <= n_heads) {
        n *= 2;
    }
    return h < n ? powf(powf(2.0f, -max_bias / (float)n), (float)(h + 1))
                 : powf(powf(2.0f, -max_bias / (float)(2 * n)), (float)(2 * (h - n) + 1));
}

static void scale_row(const float *x, float scale, float *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] * scale;
    }
}

/* mask may be y: each place is read before it is written. */
static void scale_and_mask_row(const float *x, float scale, const float *mask, float slope, float *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] * scale + slope * mask[i];
    }
}

static void scale_and_mask_f16(const float *x, float scale, const uint16_t *mask, float slope, float *y, int64_t n) {
    float buf[SR_SPAN];
    for (int64_t i = 0; i < n; i += SR_SPAN) {
        const int64_t k = n - i < SR_SPAN ? n - i : SR_SPAN;
        sr__row_to_f32(SR_TYPE_F16, mask + i, buf, k);
        scale_and_mask_row(x + i, scale, buf, slope, y + i, k);
    }
}

static float largest_of(const float *y, int64_t n, float largest) {
    for (int64_t i = 0; i < n; i++) {
        largest = y[i] > largest ? y[i] : largest;
    }
    return largest;
}

/* sink: a value that takes part in the sum but has no place in the row; NULL: none. */
static void soft_max_row(float *y, int64_t n, const float *sink) {
    const float largest = largest_of(y, n, sink != NULL ? *sink : -INFINITY);
    double sum = sr__exp_rows(y, largest, y, n);
    if (sink != NULL) {
        sum += (double)expf(*sink - largest);
    }
    scale_row(y, (float)(1.0 / sum), y, n);
}

static void run_soft_max(const sr__kernel_args *args, const sr__task *task) {
    const sr__operand *mask = &args->src[1], *sinks = &args->src[2];
    const float scale = sr__param_f32(args->params, 0), max_bias = sr__param_f32(args->params, 1);
    SR_EACH_ROW(task, args->dst.tensor, r) {
        const float *x = sr__row_here_f32(&args->src[0], &r);
        float *y = sr__row_here_f32(&args->dst, &r), sink = 0;
        if (sinks->tensor != NULL) {
            memcpy(&sink, sinks->data + (size_t)r.i2 * sinks->tensor->nb[0], sizeof(sink));
        }
        if (mask->tensor == NULL) {
            scale_row(x, scale, y, r.n);
        } else {
            const char *m = sr__row(mask, r.i1, r.i2 % mask->tensor->ne[2], r.i3 % mask->tensor->ne[3]);
            const float slope = slope_of(max_bias, r.i2, args->dst.tensor->ne[2]);
            if (mask->tensor->type == SR_TYPE_F16) {
                scale_and_mask_f16(x, scale, (const uint16_t *)(const void *)m, slope, y, r.n);
            } else {
                scale_and_mask_row(x, scale, (const float *)(const void *)m, slope, y, r.n);
            }
        }
        soft_max_row(y, r.n, sinks->tensor != NULL ? &sink : NULL);
    }
}

static const char *refuse_mask(const sr_tensor *a, const sr_tensor *mask) {
    for (int k = 2; k < SR_MAX_DIMS; k++) {
        if (mask->ne[k] <= 0 || a->ne[k] % mask->ne[k] != 0) {
            return "the mask does not repeat over the heads and batches of source 0";
        }
    }
    return mask->ne[0] == a->ne[0] && mask->ne[1] >= a->ne[1]
               ? NULL : "the mask must have rows as long as those of source 0, and at least as many";
}

static const char *refuse_soft_max(const sr__kernel_args *args) {
    static const sr__want want_mask[] = {{1, SR__TYPE(F32) | SR__TYPE(F16), SR__ROWS}};
    static const sr__want want_sinks[] = {{2, SR__TYPE(F32), SR__STRIDED}};
    const sr_tensor *a = args->src[0].tensor, *mask = args->src[1].tensor, *sinks = args->src[2].tensor;
    const char *why = sr__refuse_unlike_f32(args);
    if (why == NULL && mask != NULL) {
        why = sr__operands_refuse(args, want_mask, 1);
        why = why == NULL ? refuse_mask(a, mask) : why;
    }
    if (why == NULL && sinks != NULL) {
        why = sr__operands_refuse(args, want_sinks, 1);
        why = why == NULL && sinks->ne[0] != a->ne[2] ? "there must be one sink for each head" : why;
    }
    if (why == NULL && mask == NULL && sr__param_f32(args->params, 1) > 0) {
        why = "a maximal bias needs a mask";
    }
    return why;
}

/* ---- SOFT_MAX_BACK ----------------------------------------------------------------------------------------------- */

static void run_soft_max_back(const sr__kernel_args *args, const sr__task *task) {
    const float scale = sr__param_f32(args->params, 0);
    SR_EACH_ROW(task, args->dst.tensor, r) {
        const float *dy = sr__row_here_f32(&args->src[0], &r), *forward = sr__row_here_f32(&args->src[1], &r);
        float *y = sr__row_here_f32(&args->dst, &r);
        const float dot = (float)sr__sum_products(dy, forward, r.n);
        for (int64_t i = 0; i < r.n; i++) {
            y[i] = scale * forward[i] * (dy[i] - dot);
        }
    }
}

static const char *refuse_soft_max_back(const sr__kernel_args *args) {
    const char *why = sr__refuse_not_f32(args, 2);
    const sr_tensor *a = args->src[0].tensor;
    if (why == NULL && !(sr_tensor_same_shape(a, args->src[1].tensor) && sr_tensor_same_shape(a, args->dst.tensor))) {
        why = "the sources and the result must have the same extents";
    }
    if (why == NULL && sr__param_f32(args->params, 1) != 0) {
        why = "the gradient has no maximal bias";
    }
    return why;
}

const sr__kernel_info sr__kernel_SOFT_MAX = {
    .run = run_soft_max, .refuse = refuse_soft_max, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_SOFT_MAX_BACK = {
    .run = run_soft_max_back, .refuse = refuse_soft_max_back, .max_threads = sr__threads_rows};
