/*
 * cpu_ops.c - which ops the CPU says it supports.
 *
 * Layer: backends.  Answers to ggml_backend_cpu_device_supports_op of the reference: yes to everything but a few
 * combinations of types.  That is laxer than the kernels, which is why executing is asked about apart.
 */
#include "backends/cpu/cpu_ops.h"

#include "graph/quant.h"

/* A source's tensor, or NULL for an empty place. */
static const sr_tensor *source(const sr_graph_view *view, const sr_tensor *node, int j) {
    const int32_t id = sr_view_src(view, node, j);
    return id >= 0 ? sr_view_tensor(view, id) : NULL;
}

static bool is_type(const sr_tensor *tensor, int type) {
    return tensor && tensor->type == type;
}

/* The codebooks have no quantizer for single rows. */
static const char *refuse_write(const sr_tensor *node) {
    switch (node->type) {
    case SR_TYPE_IQ1_S:
    case SR_TYPE_IQ1_M:
    case SR_TYPE_IQ2_XXS:
    case SR_TYPE_IQ2_XS:
    case SR_TYPE_IQ2_S:
    case SR_TYPE_IQ3_XXS:
    case SR_TYPE_IQ3_S:
        return "the CPU cannot quantize to the type of the result";
    default:
        return NULL;
    }
}

static const char *refuse_mul_mat(const sr_tensor *a, const sr_tensor *b) {
    if (is_type(b, SR_TYPE_F32) || (a && b && b->type == sr__type_companion(a->type))) {
        return NULL;
    }
    return "the second source is neither f32 nor what the first source's type multiplies with";
}

static const char *refuse_out_prod(const sr_tensor *node, const sr_tensor *a, const sr_tensor *b) {
    if (!is_type(b, SR_TYPE_F32) || node->type != SR_TYPE_F32) {
        return "the second source and the result must be f32";
    }
    if (is_type(a, SR_TYPE_F32)) {
        return NULL;
    }
    if (!a || !sr_type_get(a->type)->quantized) {
        return "the first source is neither f32 nor quantized";
    }
    return a->ne[2] == b->ne[2] && a->ne[3] == b->ne[3] ? NULL : "a quantized first source is not repeated";
}

static const char *refuse_soft_max_back(const sr_tensor *node, const sr_tensor *a, const sr_tensor *b) {
    float max_bias;
    __builtin_memcpy(&max_bias, &node->op_params[1], sizeof(max_bias));
    if (!is_type(a, SR_TYPE_F32) || !is_type(b, SR_TYPE_F32)) {
        return "both sources must be f32";
    }
    return max_bias == 0.0f ? NULL : "max_bias must be 0";
}

const char *sr__cpu_refuses(const sr_graph_view *view, int32_t tensor) {
    const sr_tensor *node = sr_view_tensor(view, tensor);
    const sr_tensor *a = source(view, node, 0);
    const sr_tensor *b = source(view, node, 1);
    switch (sr_view_op(view, tensor)) {
    case SR_OP_CPY:
    case SR_OP_SET_ROWS:
        return refuse_write(node);
    case SR_OP_MUL_MAT:
        return refuse_mul_mat(a, b);
    case SR_OP_OUT_PROD:
        return refuse_out_prod(node, a, b);
    case SR_OP_SOFT_MAX_BACK:
        return refuse_soft_max_back(node, a, b);
    case SR_OP_GET_ROWS_BACK:
        return is_type(a, SR_TYPE_F32) || is_type(a, SR_TYPE_F16) ? NULL : "the first source is neither f32 nor f16";
    case SR_OP_IM2COL_BACK:
        return is_type(a, SR_TYPE_F32) && is_type(b, SR_TYPE_F32) ? NULL : "both sources must be f32";
    default:
        return NULL;
    }
}
