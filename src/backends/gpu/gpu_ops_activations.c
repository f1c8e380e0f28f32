/*
 * gpu_ops_activations.c - UNARY, SQR SQRT LOG SIN COS LEAKY_RELU CLAMP SCALE FILL, GLU.
 *
 * Layer: backends.  kernels/activations.h computes them.
 */
#include "backends/gpu/gpu_family.h"

/* Kernels know the kinds by the numbers that op words hold. */
_Static_assert(GPU_ABS == (int)SR_UNARY_ABS && GPU_SILU == (int)SR_UNARY_SILU && GPU_EXP == (int)SR_UNARY_EXP &&
               GPU_XIELU == (int)SR_UNARY_XIELU && GPU_TRUNC == (int)SR_UNARY_TRUNC &&
               GPU_TRUNC + 1 == (int)SR_UNARY_COUNT, "kinds of UNARY are numbered alike");
_Static_assert(GPU_REGLU == (int)SR_GLU_REGLU && GPU_SWIGLU_OAI == (int)SR_GLU_SWIGLU_OAI &&
               GPU_GEGLU_QUICK + 1 == (int)SR_GLU_COUNT, "kinds of GLU are numbered alike");

static gpu_int code_of(const sr__gpu_node *node) {
    switch (node->tensor->op) {
    case SR_OP_SQR: return GPU_SQR;
    case SR_OP_SQRT: return GPU_SQRT;
    case SR_OP_LOG: return GPU_LOG;
    case SR_OP_SIN: return GPU_SIN;
    case SR_OP_COS: return GPU_COS;
    case SR_OP_LEAKY_RELU: return GPU_LEAKY_RELU;
    case SR_OP_CLAMP: return GPU_CLAMP;
    case SR_OP_SCALE: return GPU_SCALE;
    case SR_OP_FILL: return GPU_FILL;
    default: return node->params[0];
    }
}

static sr_status unary_compute(const sr__gpu_node *node, sr_error *err) {
    gpu_tensor dst = node->dst_place, a = node->src_place[0];
    gpu_tensor *const places[] = {&dst, &a};
    const gpu_int code = code_of(node);
    const gpu_params params = sr__gpu_params_of(node);
    sr__gpu_fold(places, SR_COUNT(places));
    sr__gpu_launch launch = sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_unary, sr__gpu_elements(&dst));
    sr__gpu_add_operand(&launch, &dst, node->dst_memory);
    sr__gpu_add_operand(&launch, &a, node->src_memory[0]);
    SR_GPU_ADD(&launch, code);
    SR_GPU_ADD(&launch, params);
    return sr__gpu_launch_run(node, &launch, err);
}

/* Of one source the halves of its rows, which may be exchanged; of two, one each. */
static sr_status glu_compute(const sr__gpu_node *node, sr_error *err) {
    const bool two = node->src[1] != NULL, swapped = node->params[1] != 0;
    const gpu_long half = node->dst_place.ne[0] * sr_type_get(node->src[0]->type)->bytes;
    gpu_tensor dst = node->dst_place, x = node->src_place[0], gate = node->src_place[two ? 1 : 0];
    gpu_tensor *const places[] = {&dst, &x, &gate};
    const gpu_int code = node->params[0];
    const gpu_params params = sr__gpu_params_of(node);
    if (!two) {
        x.ne[0] = gate.ne[0] = dst.ne[0];
        *(swapped ? &x.offset : &gate.offset) += half;
    }
    sr__gpu_fold(places, SR_COUNT(places));
    sr__gpu_launch launch = sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_glu, sr__gpu_elements(&dst));
    sr__gpu_add_operand(&launch, &dst, node->dst_memory);
    sr__gpu_add_operand(&launch, &x, node->src_memory[0]);
    sr__gpu_add_operand(&launch, &gate, node->src_memory[two ? 1 : 0]);
    SR_GPU_ADD(&launch, code);
    SR_GPU_ADD(&launch, params);
    return sr__gpu_launch_run(node, &launch, err);
}

const sr__gpu_op sr__gpu_op_unary = {.refuse = sr__gpu_refuse_as_cpu, .compute = unary_compute};
const sr__gpu_op sr__gpu_op_glu = {.refuse = sr__gpu_refuse_as_cpu, .compute = glu_compute};
