/*
 * k_rwkv.c - RWKV_WKV6, GATED_LINEAR_ATTN, RWKV_WKV7: recurrences over a matrix of state for each head.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_rwkv_wkv6 and its relatives (spec: ops-2, section 6).  The three
 * share their shapes: tokens of a head in order, the state in the result's tail, where it ends up.  A thread takes
 * whole heads of whole sequences.
 */
#include "kernels/k_operand.h"
#include "kernels/k_vector.h"

/* Where one head of one sequence reads, and the step that one token makes. */
typedef struct head {
    int64_t size, heads;
    const sr__operand *src;
    int64_t h;
    float scale;
} head;

typedef void (*step_fn)(const head *hd, int64_t t, float *state, float *y);

static const float *token(const head *hd, int place, int64_t t) {
    return sr__f32(&hd->src[place]) + (t * hd->heads + hd->h) * hd->size;
}

/* Sources with an element per token are [size, heads, tokens]; the state says how many sequences there are. */
static const char *refuse_shapes(const sr__kernel_args *args, const int *per_token, int n_per_token, int state_place) {
    const sr_tensor *first = args->src[0].tensor, *state = args->src[state_place].tensor, *y = args->dst.tensor;
    const int64_t size = first->ne[0], heads = first->ne[1], tokens = first->ne[2], sequences = state->ne[1];
    for (int i = 0; i < n_per_token; i++) {
        if (!sr__has_extents(args->src[per_token[i]].tensor, size, heads, tokens, 1)) {
            return "sources differ in head size, heads or tokens";
        }
    }
    if (sequences <= 0 || tokens < sequences || tokens % sequences != 0) {
        return "the tokens do not divide among the sequences of the state";
    }
    const int64_t row = sr__times(size, heads), state_size = sr__times(size, sr__times(row, sequences));
    if (sr_tensor_nelements(state) != state_size) {
        return "the state has another size than heads by head size squared by sequences";
    }
    return sr__has_extents(y, row, tokens + sr__times(size, sequences), 1, 1)
               ? NULL : "the result has other extents than the output and the states";
}

static void run_heads(const sr__kernel_args *args, const sr__task *task, int state_place, step_fn step) {
    const int64_t size = args->src[0].tensor->ne[0], heads = args->src[0].tensor->ne[1];
    const int64_t tokens = args->src[0].tensor->ne[2], sequences = args->src[state_place].tensor->ne[1];
    const int64_t matrix = size * size, each = tokens / sequences;
    float *y = sr__f32(&args->dst), *states = y + size * heads * tokens;
    int64_t begin, end;
    sr__task_range(task, heads * sequences, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const head hd = {size, heads, args->src, i % heads, sr__param_f32(args->params, 0)};
        const int64_t q = i / heads;
        float *state = states + i * matrix;
        memcpy(state, sr__f32(&args->src[state_place]) + i * matrix, (size_t)matrix * sizeof(*state));
        for (int64_t t = q * each; t < (q + 1) * each; t++) {
            step(&hd, t, state, y + (t * heads + hd.h) * size);
        }
    }
}

static int threads_heads(const sr__kernel_args *args, int state_place) {
    return sr__threads_for(sr__times(args->src[0].tensor->ne[1], args->src[state_place].tensor->ne[1]));
}

/* ---- RWKV_WKV6: k v r tf td state -------------------------------------------------------------------------------- */

static const char *refuse_wkv6(const sr__kernel_args *args) {
    static const int per_token[] = {0, 1, 2, 4};
    static const sr__want wants[] = {
        {0, SR__TYPE(F32), SR__CONTIGUOUS}, {1, SR__TYPE(F32), SR__CONTIGUOUS}, {2, SR__TYPE(F32), SR__CONTIGUOUS},
        {3, SR__TYPE(F32), SR__CONTIGUOUS}, {4, SR__TYPE(F32), SR__CONTIGUOUS}, {5, SR__TYPE(F32), SR__CONTIGUOUS},
        {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why == NULL &&
        sr_tensor_nelements(args->src[3].tensor) != sr__times(args->src[0].tensor->ne[0], args->src[0].tensor->ne[1])) {
        why = "tf must have one element for each of a token's";
    }
    return why != NULL ? why : refuse_shapes(args, per_token, SR_COUNT(per_token), 5);
}

/* Row i of the state belongs to key element i; the output sees the state before this token, and the token by tf. */
static void step_wkv6(const head *hd, int64_t t, float *state, float *y) {
    const int64_t n = hd->size;
    const float *k = token(hd, 0, t), *v = token(hd, 1, t), *r = token(hd, 2, t), *td = token(hd, 4, t);
    const float *tf = token(hd, 3, 0);
    memset(y, 0, (size_t)n * sizeof(*y));
    for (int64_t i = 0; i < n; i++) {
        float *row = state + i * n;
        sr__axpy_f32(n, y, r[i], row);
        sr__axpy_f32(n, y, r[i] * (tf[i] * k[i]), v);
        sr__scale_f32(n, row, td[i]);
        sr__axpy_f32(n, row, k[i], v);
    }
}

static void run_wkv6(const sr__kernel_args *args, const sr__task *task) { run_heads(args, task, 5, step_wkv6); }
static int threads_wkv6(const sr__kernel_args *args) { return threads_heads(args, 5); }

/* ---- GATED_LINEAR_ATTN: k v q g state ---------------------------------------------------------------------------- */

static const char *refuse_gla(const sr__kernel_args *args) {
    static const int per_token[] = {0, 1, 2, 3};
    static const sr__want wants[] = {
        {0, SR__TYPE(F32), SR__CONTIGUOUS}, {1, SR__TYPE(F32), SR__CONTIGUOUS}, {2, SR__TYPE(F32), SR__CONTIGUOUS},
        {3, SR__TYPE(F32), SR__CONTIGUOUS}, {4, SR__TYPE(F32), SR__CONTIGUOUS},
        {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    return why != NULL ? why : refuse_shapes(args, per_token, SR_COUNT(per_token), 4);
}

/* As WKV6, but the output sees the state with this token in it. */
static void step_gla(const head *hd, int64_t t, float *state, float *y) {
    const int64_t n = hd->size;
    const float *k = token(hd, 0, t), *v = token(hd, 1, t), *q = token(hd, 2, t), *g = token(hd, 3, t);
    memset(y, 0, (size_t)n * sizeof(*y));
    for (int64_t i = 0; i < n; i++) {
        float *row = state + i * n;
        sr__scale_f32(n, row, g[i]);
        sr__axpy_f32(n, row, k[i], v);
        sr__axpy_f32(n, y, hd->scale * q[i], row);
    }
}

static void run_gla(const sr__kernel_args *args, const sr__task *task) { run_heads(args, task, 4, step_gla); }
static int threads_gla(const sr__kernel_args *args) { return threads_heads(args, 4); }

/* ---- RWKV_WKV7: r w k v a b state -------------------------------------------------------------------------------- */

static const char *refuse_wkv7(const sr__kernel_args *args) {
    static const int per_token[] = {0, 1, 2, 3, 4, 5};
    static const sr__want wants[] = {
        {0, SR__TYPE(F32), SR__CONTIGUOUS}, {1, SR__TYPE(F32), SR__CONTIGUOUS}, {2, SR__TYPE(F32), SR__CONTIGUOUS},
        {3, SR__TYPE(F32), SR__CONTIGUOUS}, {4, SR__TYPE(F32), SR__CONTIGUOUS}, {5, SR__TYPE(F32), SR__CONTIGUOUS},
        {6, SR__TYPE(F32), SR__CONTIGUOUS}, {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    return why != NULL ? why : refuse_shapes(args, per_token, SR_COUNT(per_token), 6);
}

/* Row i of the state belongs to value element i here. */
static void step_wkv7(const head *hd, int64_t t, float *state, float *y) {
    const int64_t n = hd->size;
    const float *r = token(hd, 0, t), *w = token(hd, 1, t), *k = token(hd, 2, t), *v = token(hd, 3, t);
    const float *a = token(hd, 4, t), *b = token(hd, 5, t);
    for (int64_t i = 0; i < n; i++) {
        float *row = state + i * n;
        const float z = sr__dot_f32(n, a, row);
        for (int64_t j = 0; j < n; j++) {
            row[j] = w[j] * row[j] + v[i] * k[j] + z * b[j];
        }
        y[i] = sr__dot_f32(n, r, row);
    }
}

static void run_wkv7(const sr__kernel_args *args, const sr__task *task) { run_heads(args, task, 6, step_wkv7); }
static int threads_wkv7(const sr__kernel_args *args) { return threads_heads(args, 6); }

const sr__kernel_info sr__kernel_RWKV_WKV6 = {.run = run_wkv6, .refuse = refuse_wkv6, .max_threads = threads_wkv6};
const sr__kernel_info sr__kernel_GATED_LINEAR_ATTN = {.run = run_gla, .refuse = refuse_gla, .max_threads = threads_gla};
const sr__kernel_info sr__kernel_RWKV_WKV7 = {.run = run_wkv7, .refuse = refuse_wkv7, .max_threads = threads_wkv7};
