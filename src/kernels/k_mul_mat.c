/*
 * k_mul_mat.c - MUL_MAT and MUL_MAT_ID: what they take, and the Walsh-Hadamard product.
 *
 * Layer: kernels.  Answers to the ops of those names in ggml-cpu.c of the reference.  The work is done by mm_core.c.
 */
#include "kernels/mm_core.h"

#include <math.h>

enum { HINT_WORD = 1, HINT_HADAMARD = 1 };

/* ---- Walsh-Hadamard ---------------------------------------------------------------------------------------------- */

static bool is_hadamard(const sr__kernel_args *args) {
    return args->op == SR_OP_MUL_MAT && args->params[HINT_WORD] == HINT_HADAMARD;
}

/* y[m] = K^(-1/2) * sum over k of (-1)^popcount(m and k) * b[k], by halves. */
static void transform_column(float *y, int64_t k, float scale) {
    for (int64_t half = 1; half < k; half *= 2) {
        for (int64_t i = 0; i < k; i += 2 * half) {
            for (int64_t j = i; j < i + half; j++) {
                const float u = y[j], v = y[j + half];
                y[j] = u + v;
                y[j + half] = u - v;
            }
        }
    }
    for (int64_t i = 0; i < k; i++) {
        y[i] *= scale;
    }
}

static void run_hadamard(const sr__kernel_args *args, const sr__task *task) {
    const int64_t k = args->src[0].tensor->ne[0];
    const float scale = 1.0f / sqrtf((float)k);
    int64_t begin, end, at[SR_MAX_DIMS];
    sr__task_range(task, sr_tensor_nrows(args->dst.tensor), &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        sr__row_index(args->dst.tensor->ne, row, at);
        float *y = sr__row_f32(&args->dst, at[1], at[2], at[3]);
        memcpy(y, sr__row(&args->src[1], at[1], at[2], at[3]), (size_t)k * sizeof(float));
        transform_column(y, k, scale);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

/* Strides of extents of 1 are never followed. */
static bool is_aligned_f32(const sr_tensor *t) {
    size_t all = t->view_offs | t->buffer_offset;
    for (int d = 1; d < SR_MAX_DIMS; d++) {
        all |= t->ne[d] > 1 ? t->nb[d] : 0;
    }
    return all % sizeof(float) == 0;
}

static bool has_dense_rows(const sr_tensor *t) {
    return t->nb[0] == (size_t)sr_type_get(t->type)->bytes || t->ne[0] <= sr_type_get(t->type)->block;
}

static const char *refuse_sources(const sr_tensor *a, const sr_tensor *b, const sr_tensor *y) {
    if (a == NULL || b == NULL) {
        return "a source is missing";
    }
    if (!sr__type_can_read(a->type)) {
        return "products with rows of this type have no kernel";
    }
    if (b->type != SR_TYPE_F32 && b->type != sr__type_companion(a->type)) {
        return "the second source must be f32 or the companion type of the first";
    }
    if (!has_dense_rows(a) || !has_dense_rows(b) || !has_dense_rows(y)) {
        return "rows must be dense";
    }
    if (y->type != SR_TYPE_F32 || !is_aligned_f32(y) || (b->type == SR_TYPE_F32 && !is_aligned_f32(b))) {
        return "result and f32 columns must be f32 at aligned addresses";
    }
    return a->ne[0] == b->ne[0] ? NULL : "the sources differ in their inner extent";
}

static const char *refuse_mul_mat(const sr__kernel_args *args) {
    const sr_tensor *a = args->src[0].tensor, *b = args->src[1].tensor, *y = args->dst.tensor;
    const char *why = refuse_sources(a, b, y);
    if (why != NULL) {
        return why;
    }
    if (a->ne[2] == 0 || a->ne[3] == 0 || b->ne[2] % a->ne[2] != 0 || b->ne[3] % a->ne[3] != 0 ||
        !sr__has_extents(y, a->ne[1], b->ne[1], b->ne[2], b->ne[3])) {
        return "the extents of sources and result do not fit together";
    }
    if (is_hadamard(args) && (b->type != SR_TYPE_F32 || a->ne[0] != a->ne[1] || (a->ne[0] & (a->ne[0] - 1)) != 0)) {
        return "a Hadamard product needs a square first source, its extent a power of two, and f32 columns";
    }
    return NULL;
}

static const char *refuse_mul_mat_id(const sr__kernel_args *args) {
    const sr_tensor *a = args->src[0].tensor, *b = args->src[1].tensor, *ids = args->src[2].tensor;
    const char *why = refuse_sources(a, b, args->dst.tensor);
    if (why != NULL) {
        return why;
    }
    if (ids == NULL || ids->type != SR_TYPE_I32) {
        return "the experts' numbers must be i32";
    }
    if (b->ne[1] == 0 || ids->ne[0] % b->ne[1] != 0 || ids->ne[1] != b->ne[2] || a->ne[3] != 1 || b->ne[3] != 1 ||
        !sr__has_extents(args->dst.tensor, a->ne[1], ids->ne[0], ids->ne[1], 1)) {
        return "the extents of sources and result do not fit together";
    }
    return NULL;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static void run_mul_mat(const sr__kernel_args *args, const sr__task *task) {
    (is_hadamard(args) ? run_hadamard : sr__mm_run)(args, task);
}

static size_t mul_mat_scratch(const sr__kernel_args *args, int n_threads) {
    return is_hadamard(args) ? 0 : sr__mm_scratch(args, n_threads);
}

const sr__kernel_info sr__kernel_MUL_MAT = {run_mul_mat, refuse_mul_mat, mul_mat_scratch, sr__mm_threads};
const sr__kernel_info sr__kernel_MUL_MAT_ID = {sr__mm_run, refuse_mul_mat_id, sr__mm_scratch, sr__mm_threads};
