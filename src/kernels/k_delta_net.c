/*
 * k_delta_net.c - GATED_DELTA_NET: linear attention whose state is corrected by what it predicted wrongly.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_gated_delta_net (spec: ops-2, section 6).  A head of a batch has a
 * matrix of state, a row for each value element, in the result's tail; rows do not touch each other.
 */
#include <math.h>

#include "kernels/k_operand.h"
#include "kernels/k_vector.h"

enum { Q, K, V, G, BETA, STATE };

/* How many of `whole` share one of `part`; false if they do not divide evenly. */
static bool shares(int64_t whole, int64_t part) { return part > 0 && whole % part == 0; }

static const char *refuse_delta_net(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {Q, SR__TYPE(F32), SR__ROWS},           {K, SR__TYPE(F32), SR__ROWS},
        {V, SR__TYPE(F32), SR__ROWS},           {G, SR__TYPE(F32), SR__CONTIGUOUS},
        {BETA, SR__TYPE(F32), SR__CONTIGUOUS},  {STATE, SR__TYPE(F32), SR__CONTIGUOUS},
        {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    if (args->params[0] != 0 && args->params[0] != 1) {
        return "takes one state snapshot only (word 0 must be 0 or 1)";
    }
    const int64_t *q = args->src[Q].tensor->ne, *k = args->src[K].tensor->ne, *v = args->src[V].tensor->ne;
    const int64_t size = v[0], heads = v[1], tokens = v[2], batches = v[3];
    if (q[0] != size || k[0] != size || q[2] != tokens || k[2] != tokens) {
        return "q, k and v differ in head size or tokens";
    }
    if (!shares(heads, q[1]) || !shares(heads, k[1]) || !shares(batches, q[3]) || !shares(batches, k[3])) {
        return "heads or batches of v are no multiple of those of q and k";
    }
    const sr_tensor *g = args->src[G].tensor;
    if ((g->ne[0] != 1 && g->ne[0] != size) || !sr__has_extents(g, g->ne[0], heads, tokens, batches)) {
        return "g must be [1 or head size, heads, tokens, batches]";
    }
    if (!sr__has_extents(args->src[BETA].tensor, 1, heads, tokens, batches)) {
        return "beta must be [1, heads, tokens, batches]";
    }
    const int64_t row = sr__times(size, heads), n_states = sr__times(size, batches);
    if (sr_tensor_nelements(args->src[STATE].tensor) != sr__times(row, n_states)) {
        return "the state has another size than heads by head size squared by batches";
    }
    return sr__has_extents(args->dst.tensor, row, sr__times(tokens, batches) + n_states, 1, 1)
               ? NULL : "the result has other extents than the output and the states";
}

/* Each member keeps e^g of a token. */
static size_t scratch_delta_net(const sr__kernel_args *args, int n_threads) {
    return (size_t)args->src[V].tensor->ne[0] * (size_t)n_threads * sizeof(float);
}

/* One token of head h in batch b. */
static void delta_token(const sr__kernel_args *args, int64_t h, int64_t t, int64_t b, float *decay, float *state,
                        float *y) {
    const int64_t *ne = args->src[V].tensor->ne, *nq = args->src[Q].tensor->ne, *nk = args->src[K].tensor->ne;
    const int64_t size = ne[0], at = (b * ne[2] + t) * ne[1] + h, n_g = args->src[G].tensor->ne[0];
    const float *q = sr__row_f32(&args->src[Q], h % nq[1], t, b / (ne[3] / nq[3]));
    const float *k = sr__row_f32(&args->src[K], h % nk[1], t, b / (ne[3] / nk[3]));
    const float *v = sr__row_f32(&args->src[V], h, t, b);
    const float beta = sr__f32(&args->src[BETA])[at];
    const float scale = 1.0f / sqrtf((float)size);
    for (int64_t i = 0; i < n_g; i++) {
        decay[i] = expf(sr__f32(&args->src[G])[at * n_g + i]);
    }
    for (int64_t j = 0; j < size; j++) {
        float *row = state + j * size;
        if (n_g == 1) {
            sr__scale_f32(size, row, decay[0]);
        } else {
            for (int64_t i = 0; i < size; i++) {
                row[i] *= decay[i];
            }
        }
        sr__axpy_f32(size, row, beta * (v[j] - sr__dot_f32(size, row, k)), k);
        y[j] = scale * sr__dot_f32(size, row, q);
    }
}

static void run_delta_net(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *ne = args->src[V].tensor->ne;
    const int64_t size = ne[0], heads = ne[1], tokens = ne[2], matrix = size * size;
    float *y = sr__f32(&args->dst), *states = y + size * heads * tokens * ne[3];
    float *decay = (float *)args->scratch + size * task->ith;
    int64_t begin, end;
    sr__task_range(task, heads * ne[3], &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t h = i % heads, b = i / heads;
        float *state = states + i * matrix;
        memcpy(state, sr__f32(&args->src[STATE]) + i * matrix, (size_t)matrix * sizeof(*state));
        for (int64_t t = 0; t < tokens; t++) {
            delta_token(args, h, t, b, decay, state, y + ((b * tokens + t) * heads + h) * size);
        }
    }
}

const sr__kernel_info sr__kernel_GATED_DELTA_NET = {
    .run = run_delta_net, .refuse = refuse_delta_net, .scratch = scratch_delta_net};
