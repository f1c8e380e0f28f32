/*
 * k_flash_back.c - FLASH_ATTN_BACK: the gradients of attention with respect to q, k and v in one vector.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_flash_attn_back (spec: ops-2, section 5).  Query heads that share a
 * head of k and v add to the same gradients, so a thread takes a head of k and v with all of its query heads.
 */
#include <math.h>

#include "kernels/k_operand.h"
#include "kernels/k_vector.h"

enum { Q, K, V, D };

static int64_t round_up_4(int64_t n) { return (n + 3) / 4 * 4; }

static const char *refuse_flash_back(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {Q, SR__TYPE(F32), SR__ROWS}, {K, SR__TYPE(F32), SR__ROWS}, {V, SR__TYPE(F32), SR__ROWS},
        {D, SR__TYPE(F32), SR__ROWS}, {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const sr_tensor *q = args->src[Q].tensor, *k = args->src[K].tensor, *v = args->src[V].tensor;
    if (!sr_tensor_same_shape(q, args->src[D].tensor)) {
        return "the gradient and q differ in shape";
    }
    if (!sr__has_extents(v, k->ne[1], k->ne[0], k->ne[2], k->ne[3]) || k->ne[0] != q->ne[0] || k->ne[3] != q->ne[3]) {
        return "q, k and the transposed v do not match";
    }
    if (k->ne[1] < q->ne[1] || k->ne[2] <= 0 || q->ne[2] % k->ne[2] != 0) {
        return "there must be at least as many keys as queries, and a multiple of the key's heads";
    }
    if (q->ne[3] > 1 && k->ne[2] < q->ne[2]) {
        return "several batches whose heads share keys have no kernel";
    }
    const int64_t n_q = sr_tensor_nelements(q), n_k = sr_tensor_nelements(k);
    if (n_q > INT32_MAX || n_k > INT32_MAX) {
        return "a source has 2^31 or more elements";
    }
    return sr__has_extents(args->dst.tensor, round_up_4(n_q) + 2 * round_up_4(n_k), 1, 1, 1)
               ? NULL : "the result has another size than the three gradients";
}

/* Each member keeps weights and their gradients for one query. */
static size_t scratch_flash_back(const sr__kernel_args *args, int n_threads) {
    return (size_t)args->src[K].tensor->ne[1] * 2 * (size_t)n_threads * sizeof(float);
}

/* Gradients of one head of k and v, and where one query's row of q's gradient is. */
typedef struct gradients { float *q, *k, *v; } gradients;

/* The weights that a query gives to the first n keys. */
static void attention_weights(const sr__kernel_args *args, const float *q, int64_t n, int64_t hkv, int64_t b,
                              float *w) {
    const int64_t depth = args->src[K].tensor->ne[0];
    const float scale = 1.0f / sqrtf((float)depth);
    float largest = -INFINITY;
    double sum = 0;
    for (int64_t m = 0; m < n; m++) {
        w[m] = scale * sr__dot_f32(depth, q, sr__row_f32(&args->src[K], m, hkv, b));
        largest = w[m] > largest ? w[m] : largest;
    }
    for (int64_t m = 0; m < n; m++) {
        w[m] = expf(w[m] - largest);
        sum += (double)w[m];
    }
    sr__scale_f32(n, w, (float)(1 / sum));
}

/* One query: row t of head hq. */
static void query_back(const sr__kernel_args *args, int64_t t, int64_t hq, int64_t hkv, int64_t b, float *w,
                       gradients to) {
    const int64_t depth = args->src[K].tensor->ne[0], keys = args->src[K].tensor->ne[1];
    const int64_t n = args->params[0] != 0 ? keys - args->src[Q].tensor->ne[1] + t + 1 : keys;
    const float scale = 1.0f / sqrtf((float)depth);
    const float *q = sr__row_f32(&args->src[Q], t, hq, b), *d = sr__row_f32(&args->src[D], t, hq, b);
    float *g = w + keys;
    attention_weights(args, q, n, hkv, b, w);
    memset(g, 0, (size_t)n * sizeof(*g));
    for (int64_t c = 0; c < depth; c++) {
        sr__axpy_f32(n, g, d[c], sr__row_f32(&args->src[V], c, hkv, b));
        sr__axpy_f32(n, to.v + c * keys, d[c], w);
    }
    const float mean = sr__dot_f32(n, w, g);
    for (int64_t m = 0; m < n; m++) {
        const float e = scale * w[m] * (g[m] - mean);
        sr__axpy_f32(depth, to.q, e, sr__row_f32(&args->src[K], m, hkv, b));
        sr__axpy_f32(depth, to.k + m * depth, e, q);
    }
}

static void clear(float *from, int64_t n) {
    if (n > 0) {
        memset(from, 0, (size_t)n * sizeof(*from));
    }
}

static void run_flash_back(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *nq = args->src[Q].tensor->ne, *nk = args->src[K].tensor->ne;
    const int64_t n_q = sr_tensor_nelements(args->src[Q].tensor), n_k = sr_tensor_nelements(args->src[K].tensor);
    const int64_t slab_q = nq[0] * nq[1], slab_k = nk[0] * nk[1];
    float *dq = sr__f32(&args->dst), *dk = dq + round_up_4(n_q), *dv = dk + round_up_4(n_k);
    float *scratch = (float *)args->scratch + 2 * nk[1] * task->ith;
    int64_t begin, end;
    if (task->ith == 0) {
        clear(dq + n_q, round_up_4(n_q) - n_q);
        clear(dk + n_k, round_up_4(n_k) - n_k);
        clear(dv + n_k, round_up_4(n_k) - n_k);
    }
    sr__task_range(task, nk[2] * nk[3], &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t hkv = i % nk[2], b = i / nk[2];
        clear(dk + i * slab_k, slab_k);
        clear(dv + i * slab_k, slab_k);
        for (int64_t hq = hkv; hq < nq[2]; hq += nk[2]) {
            float *slab = dq + (b * nq[2] + hq) * slab_q;
            clear(slab, slab_q);
            for (int64_t t = 0; t < nq[1]; t++) {
                const gradients to = {slab + t * nq[0], dk + i * slab_k, dv + i * slab_k};
                query_back(args, t, hq, hkv, b, scratch, to);
            }
        }
    }
}

const sr__kernel_info sr__kernel_FLASH_ATTN_BACK = {
    .run = run_flash_back, .refuse = refuse_flash_back, .scratch = scratch_flash_back};
