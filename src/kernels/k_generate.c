/*
 * k_generate.c - ARANGE and TIMESTEP_EMBEDDING: numbers made rather than read.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_arange / _timestep_embedding (spec: ops-2, section 4).
 */
#include <math.h>

#include "kernels/k_operand.h"

static const char *refuse_arange(const sr__kernel_args *args) {
    static const sr__want wants[] = {{SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const float start = sr__param_f32(args->params, 0), stop = sr__param_f32(args->params, 1);
    const float steps = ceilf((stop - start) / sr__param_f32(args->params, 2));
    const sr_tensor *y = args->dst.tensor;
    return steps == (float)y->ne[0] && sr__has_extents(y, y->ne[0], 1, 1, 1)
               ? NULL : "the result has another number of elements than there are steps";
}

static void run_arange(const sr__kernel_args *args, const sr__task *task) {
    const float start = sr__param_f32(args->params, 0), step = sr__param_f32(args->params, 2);
    int64_t begin, end;
    sr__task_range(task, args->dst.tensor->ne[0], &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        sr__f32(&args->dst)[i] = start + step * (float)i;
    }
}

static const char *refuse_timestep(const sr__kernel_args *args) {
    static const sr__want wants[] = {{0, SR__TYPE(F32), SR__ROWS}, {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const sr_tensor *a = args->src[0].tensor;
    if (!sr__has_extents(a, a->ne[0], 1, 1, 1)) {
        return "source 0 must be a vector";
    }
    return args->params[0] > 0 && sr__has_extents(args->dst.tensor, args->params[0], a->ne[0], 1, 1)
               ? NULL : "the result has other extents than dim by timesteps";
}

static void run_timestep(const sr__kernel_args *args, const sr__task *task) {
    const int64_t dim = args->params[0], half = dim / 2;
    const float log_period = logf((float)args->params[1]);
    int64_t begin, end;
    sr__task_range(task, args->dst.tensor->ne[1], &begin, &end);
    for (int64_t t = begin; t < end; t++) {
        float *to = sr__f32(&args->dst) + t * dim;
        const float step = sr__f32(&args->src[0])[t];
        for (int64_t j = 0; j < half; j++) {
            const float angle = step * expf(-log_period * (float)j / (float)half);
            to[j] = cosf(angle);
            to[j + half] = sinf(angle);
        }
        if (dim % 2 != 0) {
            to[dim - 1] = 0;
        }
    }
}

const sr__kernel_info sr__kernel_ARANGE = {.run = run_arange, .refuse = refuse_arange};
const sr__kernel_info sr__kernel_TIMESTEP_EMBEDDING = {
    .run = run_timestep, .refuse = refuse_timestep, .max_threads = sr__threads_rows};
