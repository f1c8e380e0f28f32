/*
 * k_glu.c - GLU: an activation of one half of a row, or of one source, times the other.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_glu (spec: ops-1, section 3).
 */
#include "kernels/exp_rows.h"
#include "kernels/gelu.h"
#include "kernels/rows.h"

/* p: alpha and limit of SWIGLU_OAI; x is activated, g is the gate. */
typedef void (*glu_fn)(const float *p, const float *x, const float *g, float *y, int64_t n);

#define GLU(name, setup, expr)                                                                          \
    static void name##_rows(const float *p, const float *x, const float *g, float *y, int64_t n) {      \
        setup;                                                                                          \
        (void)p;                                                                                        \
        for (int64_t i = 0; i < n; i++) {                                                               \
            const float v = x[i];                                                                       \
            y[i] = (expr);                                                                              \
        }                                                                                               \
    }

static float swiglu_oai(float alpha, float limit, float x, float g) {
    const float a = fminf(x, limit), b = fminf(fmaxf(g, -limit), limit);
    return a / (1.0f + expf(-alpha * a)) * (b + 1.0f);
}

GLU(reglu, , v > 0.0f ? v * g[i] : 0.0f)
GLU(geglu, const float *table = sr__gelu_table(), sr__gelu(table, v) * g[i])
GLU(geglu_f16, const float *table = sr__gelu_table(), table[sr__f32_to_f16(v)] * g[i])
GLU(geglu_quick, const float *table = sr__gelu_quick_table(), table[sr__f32_to_f16(v)] * g[i])
GLU(geglu_erf, , sr__gelu_erf(v) * g[i])
GLU(swiglu_f16, , sr__silu(v) * g[i])
GLU(swiglu_oai, , swiglu_oai(p[0], p[1], v, g[i]))

static void swiglu_rows(const float *p, const float *x, const float *g, float *y, int64_t n) {
    (void)p;
    sr__silu_rows(x, g, y, n);
}

static const glu_fn glu_fns[SR_GLU_COUNT] = {
    [SR_GLU_REGLU] = reglu_rows,           [SR_GLU_GEGLU] = geglu_rows,         [SR_GLU_SWIGLU] = swiglu_rows,
    [SR_GLU_SWIGLU_OAI] = swiglu_oai_rows, [SR_GLU_GEGLU_ERF] = geglu_erf_rows, [SR_GLU_GEGLU_QUICK] = geglu_quick_rows,
};

/* The operand that holds the activated part, or the gate, and where its rows begin. */
static sr__operand part_of(const sr__kernel_args *args, bool gate) {
    sr__operand part = args->src[0];
    const bool swapped = args->params[1] != 0;
    if (args->src[1].tensor != NULL) {
        return gate ? args->src[1] : part;
    }
    if (gate != swapped) {
        part.data += (size_t)args->dst.tensor->ne[0] * sr__element_size(&part);
    }
    return part;
}

static void run_glu(const sr__kernel_args *args, const sr__task *task) {
    const int code = args->params[0];
    const bool f16 = args->src[0].tensor->type == SR_TYPE_F16;
    const glu_fn fn = f16 && code == SR_GLU_GEGLU    ? geglu_f16_rows
                      : f16 && code == SR_GLU_SWIGLU ? swiglu_f16_rows
                                                     : glu_fns[code];
    const sr__operand x_part = part_of(args, false), g_part = part_of(args, true);
    const float p[2] = {sr__param_f32(args->params, 2), sr__param_f32(args->params, 3)};
    float x_buf[SR_SPAN], g_buf[SR_SPAN], y_buf[SR_SPAN];
    SR_EACH_SPAN(task, args->dst.tensor, false, r) {
        const float *x = sr__span_load(&x_part, &r, x_buf);
        const float *g = sr__span_load(&g_part, &r, g_buf);
        float *y = sr__span_out(&args->dst, &r, y_buf);
        fn(p, x, g, y, r.n);
        sr__span_store(&args->dst, &r, y);
    }
}

static const char *refuse_glu(const sr__kernel_args *args) {
    const bool two = args->src[1].tensor != NULL;
    const int code = args->params[0];
    const uint64_t types = SR__TYPE(F32) | (code == SR_GLU_SWIGLU_OAI ? 0 : SR__TYPE(F16));
    const sr__want wants[] = {{SR__DST, types, SR__ROWS}, {0, types, SR__ROWS}, {1, types, SR__ROWS}};
    const char *why = sr__operands_refuse(args, wants, two ? 3 : 2);
    if (why != NULL) {
        return why;
    }
    const sr_tensor *y = args->dst.tensor, *a = args->src[0].tensor, *b = args->src[1].tensor;
    if (code < 0 || code >= SR_GLU_COUNT) {
        return "there is no such GLU";
    }
    if (a->type != y->type || (two && b->type != y->type)) {
        return "the sources and the result must be of one type";
    }
    if (!sr__has_extents(y, two ? a->ne[0] : a->ne[0] / 2, a->ne[1], a->ne[2], a->ne[3])) {
        return "the extents of the result do not fit those of source 0";
    }
    return two && !sr_tensor_same_shape(a, b) ? "both sources must have the same extents" : NULL;
}

const sr__kernel_info sr__kernel_GLU = {.run = run_glu, .refuse = refuse_glu};
