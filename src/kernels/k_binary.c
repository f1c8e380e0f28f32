/*
 * k_binary.c - ADD SUB MUL DIV ADD1 ADD_ID SILU_BACK: two sources, element by element.
 *
 * Layer: kernels.  Answers to binary-ops.cpp and to add1, add_id and silu_back of the reference's ggml-cpu (spec:
 * ops-1, section 2).  Everything is computed in f32 and rounded once when stored.
 */
#include <math.h>

#include "kernels/rows.h"

typedef void (*binary_fn)(const float *a, const float *b, float *y, int64_t n);

#define BINARY(name, expr)                                                         \
    static void name(const float *a, const float *b, float *y, int64_t n) {        \
        for (int64_t i = 0; i < n; i++) {                                          \
            y[i] = (expr);                                                         \
        }                                                                          \
    }

BINARY(add_rows, a[i] + b[i])
BINARY(sub_rows, a[i] - b[i])
BINARY(mul_rows, a[i] * b[i])
BINARY(div_rows, a[i] / b[i])

static float silu_back(float dy, float x) {
    const float s = 1.0f / (1.0f + expf(-x));
    return dy * s * (1.0f + x * (1.0f - s));
}

BINARY(silu_back_rows, silu_back(a[i], b[i]))

static bool is_flat(const sr__kernel_args *args) {
    const sr_tensor *a = args->src[0].tensor, *b = args->src[1].tensor;
    return sr_tensor_same_shape(a, b) && sr_tensor_is_contiguous(a) && sr_tensor_is_contiguous(b) &&
           sr_tensor_is_contiguous(args->dst.tensor);
}

/* The result may lie where either source does: a span of it is written after the same span of both was read. */
static void run_binary(const sr__kernel_args *args, const sr__task *task, binary_fn fn) {
    float a_buf[SR_SPAN], b_buf[SR_SPAN], y_buf[SR_SPAN];
    const bool flat = is_flat(args);
    SR_EACH_SPAN(task, args->dst.tensor, flat, r) {
        const float *a = sr__span_load(&args->src[0], &r, a_buf);
        const float *b = flat ? sr__span_load(&args->src[1], &r, b_buf) : sr__span_repeat(&args->src[1], &r, b_buf);
        float *y = sr__span_out(&args->dst, &r, y_buf);
        fn(a, b, y, r.n);
        sr__span_store(&args->dst, &r, y);
    }
}

static void run_add(const sr__kernel_args *args, const sr__task *task) { run_binary(args, task, add_rows); }
static void run_sub(const sr__kernel_args *args, const sr__task *task) { run_binary(args, task, sub_rows); }
static void run_mul(const sr__kernel_args *args, const sr__task *task) { run_binary(args, task, mul_rows); }
static void run_div(const sr__kernel_args *args, const sr__task *task) { run_binary(args, task, div_rows); }
static void run_silu_back(const sr__kernel_args *args, const sr__task *task) { run_binary(args, task, silu_back_rows); }

/* ---- what they take ---------------------------------------------------------------------------------------------- */

#define FLOATS (SR__TYPE(F32) | SR__TYPE(F16) | SR__TYPE(BF16))

static bool repeats_into_result(const sr__kernel_args *args) {
    const sr_tensor *b = args->src[1].tensor, *y = args->dst.tensor;
    for (int k = 0; k < SR_MAX_DIMS; k++) {
        if (b->ne[k] != y->ne[k] && (b->ne[k] == 0 || y->ne[k] % b->ne[k] != 0)) {
            return false;
        }
    }
    return true;
}

static const char *refuse_floats(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {SR__DST, FLOATS, SR__ROWS},
        {0, FLOATS, SR__ROWS},
        {1, FLOATS, SR__STRIDED},
    };
    const char *why = sr__refuse_unlike(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    if (!repeats_into_result(args)) {
        return "source 1 does not repeat into the result";
    }
    const int a = args->src[0].tensor->type, b = args->src[1].tensor->type, y = args->dst.tensor->type;
    if (a != b && b != SR_TYPE_F32) {
        return "source 1 must be f32 or of the type of source 0";
    }
    if (y != a && (y != SR_TYPE_F32 || b != SR_TYPE_F32)) {
        return "the result must be of the type of source 0, or f32 where source 1 is";
    }
    return NULL;
}

/* Quantized rows are dequantized, added to, and quantized again, also to another type. */
static const char *refuse_quantized(const sr__kernel_args *args) {
    static const sr__want wants[] = {{1, SR__TYPE(F32), SR__STRIDED}};
    const sr_tensor *a = args->src[0].tensor, *y = args->dst.tensor;
    if (!sr__type_can_read(a->type)) {
        return "source 0 has a type that cannot be turned into f32";
    }
    if (!sr__type_can_write(y->type)) {
        return "the result has a type that f32 cannot be turned into";
    }
    if (!sr_tensor_has_contiguous_rows(a) || !sr_tensor_has_contiguous_rows(y)) {
        return "source 0 and the result must have dense rows";
    }
    return sr__refuse_unlike(args, wants, SR_COUNT(wants));
}

static const char *refuse_add(const sr__kernel_args *args) {
    if (!sr_type_get(args->src[0].tensor->type)->quantized) {
        return refuse_floats(args);
    }
    const char *why = refuse_quantized(args);
    if (why == NULL && !sr_tensor_same_shape(args->src[0].tensor, args->src[1].tensor)) {
        why = "a quantized source 0 needs a source 1 of its extents";
    }
    return why;
}

static const char *refuse_add1(const sr__kernel_args *args) {
    const sr_tensor *a = args->src[0].tensor, *b = args->src[1].tensor;
    if (args->dst.tensor->type != a->type) {
        return "the result must be of the type of source 0";
    }
    if (sr_tensor_nelements(b) != 1) {
        return "source 1 must be a single value";
    }
    return sr_type_get(a->type)->quantized ? refuse_quantized(args) : refuse_floats(args);
}

static const char *refuse_silu_back(const sr__kernel_args *args) {
    static const uint64_t types = SR__TYPE(F32) | SR__TYPE(F16);
    const sr__want wants[] = {{SR__DST, types, SR__ROWS}, {0, types, SR__ROWS}, {1, types, SR__ROWS}};
    const char *why = sr__refuse_unlike(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const sr_tensor *a = args->src[0].tensor, *b = args->src[1].tensor;
    if (a->type != b->type || a->type != args->dst.tensor->type) {
        return "both sources and the result must be of one type";
    }
    return sr_tensor_same_shape(a, b) ? NULL : "both sources must have the same extents";
}

/* ---- ADD_ID ------------------------------------------------------------------------------------------------------ */

/*
 * Rows of b are picked by index.  Where y took over b's memory (equal extents, as the allocator may do), a row of b
 * could be overwritten before another row of y asks for it: then b is copied first.
 */
static size_t scratch_add_id(const sr__kernel_args *args, int n_threads) {
    (void)n_threads;
    const sr_tensor *b = args->src[1].tensor;
    return sr_tensor_same_layout(args->dst.tensor, b) ? (size_t)sr_tensor_nelements(b) * sizeof(float) : 0;
}

static const float *rows_of_b(const sr__kernel_args *args, const sr__task *task) {
    const sr__operand *b = &args->src[1];
    if (b->data != args->dst.data || args->scratch_size == 0) {
        return NULL;
    }
    sr__gather_f32(b, false, args->scratch, task);
    sr__task_barrier(task);
    return args->scratch;
}

static void run_add_id(const sr__kernel_args *args, const sr__task *task) {
    const sr__operand *b = &args->src[1], *c = &args->src[2];
    const int64_t n_rows = b->tensor->ne[1];
    const float *copy = rows_of_b(args, task);
    SR_EACH_ROW(task, args->dst.tensor, r) {
        const char *id_at = c->data + (size_t)r.i1 * c->tensor->nb[0] + (size_t)r.i2 * c->tensor->nb[1];
        const int32_t id = *(const int32_t *)(const void *)id_at;
        if (id < 0 || id >= n_rows) {
            sr__task_fail(task, "index %d at [%lld, %lld] of source 2 is outside 0..%lld", (int)id, (long long)r.i1,
                          (long long)r.i2, (long long)n_rows - 1);
            return;
        }
        add_rows(sr__row_here_f32(&args->src[0], &r), copy != NULL ? copy + id * r.n : sr__row_f32(b, id, 0, 0),
                 sr__row_here_f32(&args->dst, &r), r.n);
    }
}

static const char *refuse_add_id(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {SR__DST, SR__TYPE(F32), SR__ROWS},
        {0, SR__TYPE(F32), SR__ROWS},
        {1, SR__TYPE(F32), SR__ROWS},
        {2, SR__TYPE(I32), SR__STRIDED},
    };
    const char *why = sr__refuse_unlike(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const int64_t *a = args->src[0].tensor->ne, *c = args->src[2].tensor->ne;
    return args->src[1].tensor->ne[0] == a[0] && c[0] == a[1] && c[1] == a[2]
               ? NULL : "source 1 must have rows, and source 2 extents, that fit source 0";
}

const sr__kernel_info sr__kernel_ADD = {.run = run_add, .refuse = refuse_add};
const sr__kernel_info sr__kernel_SUB = {.run = run_sub, .refuse = refuse_floats};
const sr__kernel_info sr__kernel_MUL = {.run = run_mul, .refuse = refuse_floats};
const sr__kernel_info sr__kernel_DIV = {.run = run_div, .refuse = refuse_floats};
const sr__kernel_info sr__kernel_ADD1 = {.run = run_add, .refuse = refuse_add1};
const sr__kernel_info sr__kernel_SILU_BACK = {.run = run_silu_back, .refuse = refuse_silu_back};
const sr__kernel_info sr__kernel_ADD_ID = {
    .run = run_add_id, .refuse = refuse_add_id, .scratch = scratch_add_id, .max_threads = sr__threads_rows};
