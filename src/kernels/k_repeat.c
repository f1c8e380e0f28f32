/*
 * k_repeat.c - REPEAT REPEAT_BACK CONCAT DIAG: elements laid out anew.
 *
 * Layer: kernels.  Answers to the kernels of those names in ops.cpp of ggml-cpu of the reference (spec: ops-1, sections
 * 4 and 6).
 */
#include "kernels/rows.h"

/* ---- REPEAT ------------------------------------------------------------------------------------------------------ */

static void run_repeat(const sr__kernel_args *args, const sr__task *task) {
    const sr__operand *a = &args->src[0];
    const size_t size = sr__element_size(a);
    const int64_t n = a->tensor->ne[0];
    SR_EACH_ROW(task, args->dst.tensor, r) {
        const char *x = sr__row_repeat(a, &r);
        char *y = sr__row_here(&args->dst, &r);
        if (n == 1) {
            sr__copy_elements(y, size, x, 0, size, r.n);
            continue;
        }
        for (int64_t i = 0; i < r.n; i += n) {
            memcpy(y + (size_t)i * size, x, (size_t)n * size);
        }
    }
}

/* Does `small` repeat into `large`? */
static bool repeats_into(const sr_tensor *small, const sr_tensor *large) {
    for (int k = 0; k < SR_MAX_DIMS; k++) {
        if (small->ne[k] == 0 ? large->ne[k] != 0 : large->ne[k] % small->ne[k] != 0) {
            return false;
        }
    }
    return true;
}

static const char *refuse_repeat(const sr__kernel_args *args) {
    static const uint64_t types =
        SR__TYPE(F32) | SR__TYPE(I32) | SR__TYPE(F16) | SR__TYPE(BF16) | SR__TYPE(I16);
    const sr__want wants[] = {{SR__DST, types, SR__ROWS}, {0, types, SR__ROWS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    if (args->dst.tensor->type != args->src[0].tensor->type) {
        return "the result must be of the source's type";
    }
    return repeats_into(args->src[0].tensor, args->dst.tensor) ? NULL : "the source does not repeat into the result";
}

/* ---- REPEAT_BACK ------------------------------------------------------------------------------------------------- */

/* Adds the rows of a that fall on one row of the result, each cut into pieces of its length. */
static void gather_row(const sr__operand *a, const sr_tensor *to, const sr__rows *r, float *y) {
    const int64_t *ne = a->tensor->ne;
    memset(y, 0, (size_t)r->n * sizeof(*y));
    for (int64_t i3 = r->i3; i3 < ne[3]; i3 += to->ne[3]) {
        for (int64_t i2 = r->i2; i2 < ne[2]; i2 += to->ne[2]) {
            for (int64_t i1 = r->i1; i1 < ne[1]; i1 += to->ne[1]) {
                const float *x = sr__row_f32(a, i1, i2, i3);
                for (int64_t i0 = 0; i0 < ne[0]; i0 += r->n) {
                    for (int64_t i = 0; i < r->n; i++) {
                        y[i] += x[i0 + i];
                    }
                }
            }
        }
    }
}

static void run_repeat_back(const sr__kernel_args *args, const sr__task *task) {
    SR_EACH_ROW(task, args->dst.tensor, r) {
        gather_row(&args->src[0], args->dst.tensor, &r, sr__row_here_f32(&args->dst, &r));
    }
}

static const char *refuse_repeat_back(const sr__kernel_args *args) {
    const char *why = sr__refuse_not_f32(args, 1);
    if (why != NULL) {
        return why;
    }
    return repeats_into(args->dst.tensor, args->src[0].tensor) ? NULL : "the result does not repeat into the source";
}

/* ---- CONCAT ------------------------------------------------------------------------------------------------------ */

/* An empty source may have no memory. */
static void copy_row(char *to, size_t to_nb, const sr__operand *from, const int64_t at[SR_MAX_DIMS], size_t size) {
    if (from->tensor->ne[0] > 0) {
        const char *row = sr__row(from, at[1], at[2], at[3]);
        sr__copy_elements(to, to_nb, row, from->tensor->nb[0], size, from->tensor->ne[0]);
    }
}

static void run_concat(const sr__kernel_args *args, const sr__task *task) {
    const int dim = args->params[0];
    const sr__operand *y = &args->dst;
    const size_t size = sr__element_size(y), y_nb = y->tensor->nb[0];
    const int64_t first = args->src[0].tensor->ne[dim];
    SR_EACH_ROW(task, y->tensor, r) {
        int64_t at[SR_MAX_DIMS] = {0, r.i1, r.i2, r.i3};
        const sr__operand *from = &args->src[0];
        char *to = sr__row_here(y, &r);
        if (dim == 0) {
            copy_row(to, y_nb, from, at, size);
            to += (size_t)first * y_nb;
            from = &args->src[1];
        } else if (at[dim] >= first) {
            at[dim] -= first;
            from = &args->src[1];
        }
        copy_row(to, y_nb, from, at, size);
    }
}

static const char *refuse_concat(const sr__kernel_args *args) {
    const int type = args->dst.tensor->type, dim = args->params[0];
    const sr__want wants[] = {
        {SR__DST, UINT64_C(1) << type, SR__STRIDED},
        {0, UINT64_C(1) << type, SR__STRIDED},
        {1, UINT64_C(1) << type, SR__STRIDED},
    };
    if (sr_type_get(type)->block != 1) {
        return "blocks of quantized types cannot be divided";
    }
    if (dim < 0 || dim >= SR_MAX_DIMS) {
        return "the dimension must be 0 to 3";
    }
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    for (int k = 0; k < SR_MAX_DIMS; k++) {
        const int64_t a = args->src[0].tensor->ne[k], b = args->src[1].tensor->ne[k], y = args->dst.tensor->ne[k];
        if (k == dim ? y != a + b : y != a || y != b) {
            return "the extents of the sources and the result do not fit together";
        }
    }
    return NULL;
}

/* ---- DIAG -------------------------------------------------------------------------------------------------------- */

static void run_diag(const sr__kernel_args *args, const sr__task *task) {
    const sr__operand *a = &args->src[0];
    SR_EACH_ROW(task, args->dst.tensor, r) {
        float *y = sr__row_here_f32(&args->dst, &r);
        memset(y, 0, (size_t)r.n * sizeof(*y));
        memcpy(&y[r.i1], sr__row(a, 0, r.i2, r.i3) + (size_t)r.i1 * a->tensor->nb[0], sizeof(*y));
    }
}

static const char *refuse_diag(const sr__kernel_args *args) {
    static const sr__want wants[] = {{SR__DST, SR__TYPE(F32), SR__ROWS}, {0, SR__TYPE(F32), SR__STRIDED}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const int64_t *ne = args->src[0].tensor->ne;
    return ne[1] == 1 && sr__has_extents(args->dst.tensor, ne[0], ne[0], ne[2], ne[3])
               ? NULL : "the source must have rows of the diagonal, the result square matrices";
}

const sr__kernel_info sr__kernel_REPEAT = {
    .run = run_repeat, .refuse = refuse_repeat, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_REPEAT_BACK = {
    .run = run_repeat_back, .refuse = refuse_repeat_back, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_CONCAT = {
    .run = run_concat, .refuse = refuse_concat, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_DIAG = {.run = run_diag, .refuse = refuse_diag, .max_threads = sr__threads_rows};
