/*
 * activations.h - UNARY of every kind, SQR SQRT LOG SIN COS LEAKY_RELU CLAMP SCALE FILL, and GLU.
 *
 * Layer: backends.  Kernel code.  GELU and GELU_QUICK are rounded to f16 before and after, as the CPU's tables are.
 */
#ifndef SR_GPU_ACTIVATIONS_H
#define SR_GPU_ACTIVATIONS_H

/* A NaN becomes high. */
DEVICE float limited(float x, float low, float high) {
    const float below = x < high ? x : high;
    return below > low ? below : low;
}

DEVICE float silu(float x) { return x / (1.0f + exp(-x)); }
DEVICE float gelu_erf(float x) { return 0.5f * x * (1.0f + erf(x * 0.70710678118654752440f)); }

DEVICE float gelu_rounded(float x) {
    const float h = ROUND_HALF(x), inner = 0.79788456080286535588f * h * (1.0f + 0.044715f * h * h);
    return ROUND_HALF(0.5f * h * (1.0f + (inner < -10.0f ? -1.0f : tanh(inner)))); /* some tanh end above -1 */
}

DEVICE float gelu_quick(float x) {
    const float h = ROUND_HALF(x);
    return ROUND_HALF(h / (1.0f + exp(-1.702f * h)));
}

/* Of f32 data rounding matters between -10 and 10 only; f16 data is rounded anyhow. */
DEVICE float gelu(gpu_int type, float x) {
    if (type == GPU_F32 && (x <= -10.0f || x >= 10.0f)) {
        return x < 0.0f ? 0.0f : x;
    }
    return gelu_rounded(x);
}

DEVICE float xielu(float x, const gpu_params params) {
    const float beta = WORD_FLOAT(params, 3);
    return x > 0.0f ? WORD_FLOAT(params, 2) * x * x + beta * x
                    : (expm1(fmin(x, WORD_FLOAT(params, 4))) - x) * WORD_FLOAT(params, 1) + beta * x;
}

/* type: of the source. */
DEVICE float unary_value(gpu_int code, gpu_int type, float x, const gpu_params params) {
    const float w0 = WORD_FLOAT(params, 0), w1 = WORD_FLOAT(params, 1);
    switch (code) {
    case GPU_ABS: return fabs(x);
    case GPU_SGN: return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f;
    case GPU_NEG: return -x;
    case GPU_STEP: return x > 0.0f ? 1.0f : 0.0f;
    case GPU_TANH: return tanh(x);
    case GPU_ELU: return x > 0.0f ? x : expm1(x);
    case GPU_RELU: return x > 0.0f ? x : 0.0f;
    case GPU_SIGMOID: return 1.0f / (1.0f + exp(-x));
    case GPU_GELU: return gelu(type, x);
    case GPU_GELU_QUICK: return gelu_quick(x);
    case GPU_SILU: return silu(x);
    case GPU_HARDSWISH: return x * limited((x + 3.0f) / 6.0f, 0.0f, 1.0f);
    case GPU_HARDSIGMOID: return limited((x + 3.0f) / 6.0f, 0.0f, 1.0f);
    case GPU_EXP: return exp(x);
    case GPU_EXPM1: return exp(x) - 1.0f;
    case GPU_SOFTPLUS: return x > 20.0f ? x : log(1.0f + exp(x));
    case GPU_GELU_ERF: return gelu_erf(x);
    case GPU_XIELU: return xielu(x, params);
    case GPU_FLOOR: return floor(x);
    case GPU_CEIL: return ceil(x);
    case GPU_ROUND: return round(x);
    case GPU_TRUNC: return trunc(x);
    case GPU_SQR: return x * x;
    case GPU_SQRT: return sqrt(x);
    case GPU_LOG: return log(x);
    case GPU_SIN: return sin(x);
    case GPU_COS: return cos(x);
    case GPU_LEAKY_RELU: return (x > 0.0f ? x : 0.0f) + w0 * (x < 0.0f ? x : 0.0f);
    case GPU_CLAMP: return limited(x, w0, w1);
    case GPU_SCALE: return w0 * x + w1;
    default: return w0; /* GPU_FILL: the source may hold anything */
    }
}

KERNEL(gpu_unary)(OPERAND(dst), OPERAND(a), const gpu_int code, const gpu_params params) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        const float x = load_element(a.type, ELEMENT_AT(a, at));
        store_element(dst.type, ELEMENT_AT(dst, at), unary_value(code, a.type, x, params));
    }
}

DEVICE float glu_value(gpu_int code, gpu_int type, float x, float gate, const gpu_params params) {
    const float alpha = WORD_FLOAT(params, 2), limit = WORD_FLOAT(params, 3);
    switch (code) {
    case GPU_REGLU: return x > 0.0f ? x * gate : 0.0f;
    case GPU_GEGLU: return gelu(type, x) * gate;
    case GPU_SWIGLU: return silu(x) * gate;
    case GPU_GEGLU_ERF: return gelu_erf(x) * gate;
    case GPU_GEGLU_QUICK: return gelu_quick(x) * gate;
    default: break;
    }
    const float a = fmin(x, limit);
    return a / (1.0f + exp(-alpha * a)) * (fmin(fmax(gate, -limit), limit) + 1.0f);
}

/* x and gate have the extents of dst: halves of one source, or two. */
KERNEL(gpu_glu)(OPERAND(dst), OPERAND(x), OPERAND(gate), const gpu_int code, const gpu_params params) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        const float v = load_element(x.type, ELEMENT_AT(x, at)), g = load_element(gate.type, ELEMENT_AT(gate, at));
        store_element(dst.type, ELEMENT_AT(dst, at), glu_value(code, x.type, v, g, params));
    }
}

#endif
