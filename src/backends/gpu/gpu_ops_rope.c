/*
 * gpu_ops_rope.c - ROPE and ROPE_BACK in all modes.
 *
 * Layer: backends.  kernels/rope.h computes them; what is the same for all pairs is computed here, as the CPU does.
 */
#include <math.h>

#include "backends/gpu/gpu_family.h"

enum { MODE_NORMAL = 0, MODE_VISION = 24 };
enum { WORD_N_DIMS = 1, WORD_MODE = 2, WORD_N_CTX = 4, WORD_SECTIONS = 11 };

/* The pair that turns beta times within the original context. */
static float correction(const sr__gpu_node *node, float beta) {
    const float pi = 3.14159265358979323846f, base = sr__gpu_param_f32(node, 5);
    return (float)node->params[WORD_N_DIMS] * logf((float)node->params[WORD_N_CTX] / (beta * 2.0f * pi)) /
           (2.0f * logf(base));
}

static gpu_rope_params params_of(const sr__gpu_node *node) {
    const gpu_long n_dims = node->params[WORD_N_DIMS];
    const float freq_scale = sr__gpu_param_f32(node, 6), attn_factor = sr__gpu_param_f32(node, 8);
    gpu_rope_params p = {
        .mode = node->params[WORD_MODE],
        .step = powf(sr__gpu_param_f32(node, 5), -2.0f / (float)n_dims),
        .freq_scale = freq_scale,
        .ext_factor = sr__gpu_param_f32(node, 7),
        .size = attn_factor,
        .sign = node->tensor->op == SR_OP_ROPE_BACK ? -1.0f : 1.0f,
    };
    p.n_pairs = p.mode == MODE_VISION ? n_dims : n_dims / 2;
    p.n_turned = 2 * p.n_pairs;
    p.first_step = p.mode == MODE_NORMAL ? 2 : 1;
    p.distance = p.mode == MODE_NORMAL ? 1 : p.n_pairs;
    for (int k = 0; k < 4; k++) {
        p.section[k] = node->params[WORD_SECTIONS + k];
    }
    if (p.ext_factor != 0) {
        p.size = attn_factor * (1.0f + 0.1f * logf(1.0f / freq_scale));
        p.low = fmaxf(0.0f, floorf(correction(node, sr__gpu_param_f32(node, 9))));
        p.high = fminf((float)(n_dims - 1), ceilf(correction(node, sr__gpu_param_f32(node, 10))));
    }
    return p;
}

/* A result of one row may lie where the divisors of the angles do. */
static sr_status rope_compute(const sr__gpu_node *node, sr_error *err) {
    enum { HEADS = 8 }; /* ROPE_HEADS of the kernel */
    const gpu_long *ne = node->dst_place.ne;
    const gpu_rope_params p = params_of(node);
    gpu_tensor factors;
    sr__gpu_memory *memory;
    sr_status status;
    SR_TRY(sr__gpu_source_apart(node, 2, &factors, &memory, err));
    sr__gpu_launch launch =
        sr__gpu_launch_rows(node, SR_GPU_KERNEL_gpu_rope, (ne[1] + HEADS - 1) / HEADS * ne[2] * ne[3], p.n_pairs);
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    sr__gpu_add_src(&launch, node, 1);
    sr__gpu_add_operand(&launch, &factors, memory);
    SR_GPU_ADD(&launch, p);
    SR_TRY(sr__gpu_launch_run(node, &launch, err));
done:
    return status;
}

const sr__gpu_op sr__gpu_op_rope = {.refuse = sr__gpu_refuse_as_cpu, .compute = rope_compute};
