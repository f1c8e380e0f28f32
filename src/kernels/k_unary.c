/*
 * k_unary.c - SQR SQRT LOG SIN COS UNARY LEAKY_RELU CLAMP SCALE FILL: one source, element by element.
 *
 * Layer: kernels.  Answers to unary-ops.cpp and to leaky_relu, clamp, scale and fill of the reference's ggml-cpu (spec:
 * ops-1, section 3).
 */
#include <math.h>

#include "kernels/exp_rows.h"
#include "kernels/gelu.h"
#include "kernels/rows.h"

/* p: the parameter words as floats; x and y may be the same. */
typedef void (*unary_fn)(const float *p, const float *x, float *y, int64_t n);

/* A NaN becomes max. */
static inline float limited(float x, float min, float max) {
    const float below = x < max ? x : max;
    return below > min ? below : min;
}

#define UNARY(name, expr)                                                                  \
    static void name##_rows(const float *p, const float *x, float *y, int64_t n) {         \
        (void)p;                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                  \
            const float v = x[i];                                                          \
            y[i] = (expr);                                                                 \
        }                                                                                  \
    }

UNARY(sqr, v * v)
UNARY(sqrt, sqrtf(v))
UNARY(log, logf(v))
UNARY(sin, sinf(v))
UNARY(cos, cosf(v))
UNARY(abs, fabsf(v))
UNARY(sgn, v > 0.0f ? 1.0f : v < 0.0f ? -1.0f : 0.0f)
UNARY(neg, -v)
UNARY(step, v > 0.0f ? 1.0f : 0.0f)
UNARY(tanh, tanhf(v))
UNARY(elu, v > 0.0f ? v : expm1f(v))
UNARY(relu, v > 0.0f ? v : 0.0f)
UNARY(sigmoid, 1.0f / (1.0f + expf(-v)))
UNARY(silu_f16, sr__silu(v))
UNARY(hardswish, v * limited((v + 3.0f) / 6.0f, 0.0f, 1.0f))
UNARY(hardsigmoid, limited((v + 3.0f) / 6.0f, 0.0f, 1.0f))
UNARY(exp, expf(v))
UNARY(expm1, expf(v) - 1.0f)
UNARY(softplus, v > 20.0f ? v : logf(1.0f + expf(v)))
UNARY(gelu_erf, sr__gelu_erf(v))
UNARY(floor, floorf(v))
UNARY(ceil, ceilf(v))
UNARY(round, roundf(v))
UNARY(trunc, truncf(v))
UNARY(xielu, v > 0.0f ? p[2] * v * v + p[3] * v : (expm1f(fminf(v, p[4])) - v) * p[1] + p[3] * v)
UNARY(leaky_relu, (v > 0.0f ? v : 0.0f) + p[0] * (v < 0.0f ? v : 0.0f))
UNARY(clamp, limited(v, p[0], p[1]))
UNARY(scale, p[0] * v + p[1])

static void silu_rows(const float *p, const float *x, float *y, int64_t n) {
    (void)p;
    sr__silu_rows(x, NULL, y, n);
}

static void gelu_rows(const float *p, const float *x, float *y, int64_t n) {
    const float *table = sr__gelu_table();
    (void)p;
    for (int64_t i = 0; i < n; i++) {
        y[i] = sr__gelu(table, x[i]);
    }
}

static void gelu_f16_rows(const float *p, const float *x, float *y, int64_t n) {
    const float *table = sr__gelu_table();
    (void)p;
    for (int64_t i = 0; i < n; i++) {
        y[i] = table[sr__f32_to_f16(x[i])];
    }
}

static void gelu_quick_rows(const float *p, const float *x, float *y, int64_t n) {
    const float *table = sr__gelu_quick_table();
    (void)p;
    for (int64_t i = 0; i < n; i++) {
        y[i] = table[sr__f32_to_f16(x[i])];
    }
}

static const unary_fn unary_fns[SR_UNARY_COUNT] = {
    [SR_UNARY_ABS] = abs_rows,
    [SR_UNARY_SGN] = sgn_rows,
    [SR_UNARY_NEG] = neg_rows,
    [SR_UNARY_STEP] = step_rows,
    [SR_UNARY_TANH] = tanh_rows,
    [SR_UNARY_ELU] = elu_rows,
    [SR_UNARY_RELU] = relu_rows,
    [SR_UNARY_SIGMOID] = sigmoid_rows,
    [SR_UNARY_GELU] = gelu_rows,
    [SR_UNARY_GELU_QUICK] = gelu_quick_rows,
    [SR_UNARY_SILU] = silu_rows,
    [SR_UNARY_HARDSWISH] = hardswish_rows,
    [SR_UNARY_HARDSIGMOID] = hardsigmoid_rows,
    [SR_UNARY_EXP] = exp_rows,
    [SR_UNARY_EXPM1] = expm1_rows,
    [SR_UNARY_SOFTPLUS] = softplus_rows,
    [SR_UNARY_GELU_ERF] = gelu_erf_rows,
    [SR_UNARY_XIELU] = xielu_rows,
    [SR_UNARY_FLOOR] = floor_rows,
    [SR_UNARY_CEIL] = ceil_rows,
    [SR_UNARY_ROUND] = round_rows,
    [SR_UNARY_TRUNC] = trunc_rows,
};

static void run_one(const sr__kernel_args *args, const sr__task *task, unary_fn fn) {
    const sr_tensor *a = args->src[0].tensor, *y_tensor = args->dst.tensor;
    const bool flat = sr_tensor_is_contiguous(a) && sr_tensor_is_contiguous(y_tensor);
    float x_buf[SR_SPAN], y_buf[SR_SPAN], p[SR_MAX_OP_PARAMS];
    memcpy(p, args->params, sizeof(p));
    SR_EACH_SPAN(task, y_tensor, flat, r) {
        const float *x = sr__span_load(&args->src[0], &r, x_buf);
        float *y = sr__span_out(&args->dst, &r, y_buf);
        fn(p, x, y, r.n);
        sr__span_store(&args->dst, &r, y);
    }
}

static void run_sqr(const sr__kernel_args *args, const sr__task *task) { run_one(args, task, sqr_rows); }
static void run_sqrt(const sr__kernel_args *args, const sr__task *task) { run_one(args, task, sqrt_rows); }
static void run_log(const sr__kernel_args *args, const sr__task *task) { run_one(args, task, log_rows); }
static void run_sin(const sr__kernel_args *args, const sr__task *task) { run_one(args, task, sin_rows); }
static void run_cos(const sr__kernel_args *args, const sr__task *task) { run_one(args, task, cos_rows); }
static void run_leaky_relu(const sr__kernel_args *args, const sr__task *task) { run_one(args, task, leaky_relu_rows); }
static void run_clamp(const sr__kernel_args *args, const sr__task *task) { run_one(args, task, clamp_rows); }
static void run_scale(const sr__kernel_args *args, const sr__task *task) { run_one(args, task, scale_rows); }

static void run_unary(const sr__kernel_args *args, const sr__task *task) {
    const int code = args->params[0];
    const bool f16 = args->src[0].tensor->type == SR_TYPE_F16;
    run_one(args, task, f16 && code == SR_UNARY_GELU   ? gelu_f16_rows
                        : f16 && code == SR_UNARY_SILU ? silu_f16_rows
                                                       : unary_fns[code]);
}

/* Only the shape of the source matters: it may hold anything. */
static void run_fill(const sr__kernel_args *args, const sr__task *task) {
    const float value = sr__param_f32(args->params, 0);
    SR_EACH_SPAN(task, args->dst.tensor, sr_tensor_is_contiguous(args->dst.tensor), r) {
        float *y = sr__span_out(&args->dst, &r, NULL);
        for (int64_t i = 0; i < r.n; i++) {
            y[i] = value;
        }
    }
}

/* ---- what they take ---------------------------------------------------------------------------------------------- */

static const char *refuse_types(const sr__kernel_args *args, uint64_t types, bool may_widen) {
    const sr__want wants[] = {{SR__DST, types, SR__ROWS}, {0, types, SR__ROWS}};
    const char *why = sr__refuse_unlike(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const int a = args->src[0].tensor->type, y = args->dst.tensor->type;
    if (y != a && !(may_widen && y == SR_TYPE_F32)) {
        return may_widen ? "the result must be f32 or of the source's type" : "the result must be of the source's type";
    }
    return NULL;
}

static const char *refuse_floats(const sr__kernel_args *args) {
    return refuse_types(args, SR__TYPE(F32) | SR__TYPE(F16) | SR__TYPE(BF16), true);
}

static const char *refuse_f32_f16(const sr__kernel_args *args) {
    return refuse_types(args, SR__TYPE(F32) | SR__TYPE(F16), false);
}

static const char *refuse_unary(const sr__kernel_args *args) {
    switch (args->params[0]) {
        case SR_UNARY_GELU:
        case SR_UNARY_GELU_ERF:
        case SR_UNARY_GELU_QUICK:
        case SR_UNARY_SILU: return refuse_f32_f16(args);
        default: break;
    }
    return args->params[0] >= 0 && args->params[0] < SR_UNARY_COUNT ? refuse_floats(args) : "there is no such unary op";
}

const sr__kernel_info sr__kernel_SQR = {.run = run_sqr, .refuse = refuse_floats};
const sr__kernel_info sr__kernel_SQRT = {.run = run_sqrt, .refuse = refuse_floats};
const sr__kernel_info sr__kernel_LOG = {.run = run_log, .refuse = refuse_floats};
const sr__kernel_info sr__kernel_SIN = {.run = run_sin, .refuse = refuse_floats};
const sr__kernel_info sr__kernel_COS = {.run = run_cos, .refuse = refuse_floats};
const sr__kernel_info sr__kernel_UNARY = {.run = run_unary, .refuse = refuse_unary};
const sr__kernel_info sr__kernel_LEAKY_RELU = {.run = run_leaky_relu, .refuse = refuse_f32_f16};
const sr__kernel_info sr__kernel_CLAMP = {.run = run_clamp, .refuse = refuse_f32_f16};
const sr__kernel_info sr__kernel_SCALE = {.run = run_scale, .refuse = sr__refuse_unlike_f32};
const sr__kernel_info sr__kernel_FILL = {.run = run_fill, .refuse = sr__refuse_unlike_f32};
