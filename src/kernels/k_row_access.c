/*
 * k_row_access.c - GET_ROWS, GET_ROWS_BACK, SET_ROWS: rows by an index.
 *
 * Layer: kernels.  Answers to the ops of those names in ops.cpp of the reference.  An index outside the table fails
 * the node with its value and place.
 */
#include "kernels/k_operand.h"

enum { COLUMNS = 256 }; /* of SET_ROWS a piece; a multiple of every block */

static int64_t read_index(const sr__operand *o, int64_t i0, int64_t i1, int64_t i2) {
    const char *p = sr__row(o, i1, i2, 0) + (size_t)i0 * o->tensor->nb[0];
    int32_t small;
    int64_t large;
    if (o->tensor->type == SR_TYPE_I64) {
        memcpy(&large, p, sizeof(large));
        return large;
    }
    memcpy(&small, p, sizeof(small));
    return small;
}

static bool check_index(const sr__task *task, int64_t index, int64_t n, int64_t place) {
    if (index >= 0 && index < n) {
        return true;
    }
    sr__task_fail(task, "index %lld, at place %lld, is outside 0..%lld", (long long)index, (long long)place,
                  (long long)(n - 1));
    return false;
}

static bool has_dense_rows(const sr_tensor *t) {
    return t->nb[0] == (size_t)sr_type_get(t->type)->bytes || t->ne[0] <= sr_type_get(t->type)->block;
}

/* ---- GET_ROWS ---------------------------------------------------------------------------------------------------- */

static void run_get_rows(const sr__kernel_args *args, const sr__task *task) {
    const sr__operand *a = &args->src[0], *b = &args->src[1], *y = &args->dst;
    const int64_t n = y->tensor->ne[0];
    int64_t begin, end, at[SR_MAX_DIMS];
    sr__task_range(task, sr_tensor_nrows(y->tensor), &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        sr__row_index(y->tensor->ne, row, at);
        const int64_t index = read_index(b, at[1], at[2], at[3]);
        if (!check_index(task, index, a->tensor->ne[1], row)) {
            return;
        }
        const char *src = sr__row(a, index, at[2], at[3]);
        char *dst = sr__row(y, at[1], at[2], at[3]);
        if (a->tensor->type == y->tensor->type) {
            memcpy(dst, src, (size_t)n * 4);
        } else {
            sr__row_to_f32(a->tensor->type, src, (float *)(void *)dst, n);
        }
    }
}

static const char *refuse_get_rows(const sr__kernel_args *args) {
    static const sr__want WANTS[] = {{1, SR__TYPE(I32), SR__STRIDED}, {SR__DST, SR__TYPE(F32) | SR__TYPE(I32),
                                                                       SR__ROWS}};
    const char *why = sr__operands_refuse(args, WANTS, SR_COUNT(WANTS));
    if (why != NULL) {
        return why;
    }
    const sr_tensor *a = args->src[0].tensor, *b = args->src[1].tensor, *y = args->dst.tensor;
    if (a == NULL) {
        return "source 0 is missing";
    }
    if (a->type == SR_TYPE_I32 ? y->type != SR_TYPE_I32 : y->type != SR_TYPE_F32 || !sr__type_can_read(a->type)) {
        return "rows of this type cannot be read";
    }
    if (!has_dense_rows(a)) {
        return "source 0 must have dense rows";
    }
    if (!sr__has_extents(y, a->ne[0], b->ne[0], b->ne[1], b->ne[2]) || a->ne[2] != b->ne[1] || a->ne[3] != b->ne[2]) {
        return "the extents of table, indices and result do not fit together";
    }
    return NULL;
}

const sr__kernel_info sr__kernel_GET_ROWS = {run_get_rows, refuse_get_rows, NULL, sr__threads_rows};

/* ---- GET_ROWS_BACK ----------------------------------------------------------------------------------------------- */

/* Members divide the columns, so that rows are added in order whatever the team. */
static void run_get_rows_back(const sr__kernel_args *args, const sr__task *task) {
    const sr__operand *a = &args->src[0], *b = &args->src[1], *y = &args->dst;
    const size_t size = (size_t)sr_type_get(a->tensor->type)->bytes;
    float values[COLUMNS];
    int64_t begin, end;
    sr__task_range(task, (y->tensor->ne[0] + COLUMNS - 1) / COLUMNS, &begin, &end);
    for (int64_t piece = begin; piece < end; piece++) {
        const int64_t i0 = piece * COLUMNS;
        const int64_t n = y->tensor->ne[0] - i0 < COLUMNS ? y->tensor->ne[0] - i0 : COLUMNS;
        for (int64_t i1 = 0; i1 < y->tensor->ne[1]; i1++) {
            memset(sr__row_f32(y, i1, 0, 0) + i0, 0, (size_t)n * sizeof(float));
        }
        for (int64_t i = 0; i < b->tensor->ne[0]; i++) {
            const int64_t index = read_index(b, i, 0, 0);
            if (!check_index(task, index, y->tensor->ne[1], i)) {
                return;
            }
            sr__row_to_f32(a->tensor->type, sr__row(a, i, 0, 0) + (size_t)i0 * size, values, n);
            float *to = sr__row_f32(y, index, 0, 0) + i0;
            for (int64_t k = 0; k < n; k++) {
                to[k] += values[k];
            }
        }
    }
}

static const char *refuse_get_rows_back(const sr__kernel_args *args) {
    static const sr__want WANTS[] = {{0, SR__TYPE(F32) | SR__TYPE(F16), SR__ROWS},
                                     {1, SR__TYPE(I32), SR__STRIDED},
                                     {SR__DST, SR__TYPE(F32), SR__ROWS}};
    const char *why = sr__operands_refuse(args, WANTS, SR_COUNT(WANTS));
    if (why != NULL) {
        return why;
    }
    const sr_tensor *a = args->src[0].tensor, *b = args->src[1].tensor, *y = args->dst.tensor;
    const int64_t n = a->ne[0], r = b->ne[0];
    const bool fits = a->ne[1] >= r && sr__has_extents(a, n, a->ne[1], 1, 1) && sr__has_extents(b, r, 1, 1, 1) &&
                      sr__has_extents(y, n, y->ne[1], 1, 1);
    return fits ? NULL : "gradient, indices and result must be a matrix, a vector and a matrix that fit together";
}

static int threads_by_columns(const sr__kernel_args *args) {
    return sr__threads_for((args->dst.tensor->ne[0] + COLUMNS - 1) / COLUMNS);
}

const sr__kernel_info sr__kernel_GET_ROWS_BACK = {run_get_rows_back, refuse_get_rows_back, NULL, threads_by_columns};

/* ---- SET_ROWS ---------------------------------------------------------------------------------------------------- */

static void store_row(int type, const float *src, char *dst, int64_t n) {
    if (type != SR_TYPE_I32) {
        sr__row_from_f32(type, src, dst, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const int32_t v = src[i] > -2147483648.0f && src[i] < 2147483648.0f ? (int32_t)src[i] : INT32_MIN;
        memcpy(dst + 4 * i, &v, sizeof(v));
    }
}

/* One piece of columns of one plane, its rows in order: two members never write the same bytes, even where indices
 * are equal. */
static bool set_rows_piece(const sr__kernel_args *args, const sr__task *task, int64_t i0, int64_t i2, int64_t i3) {
    const sr__operand *a = &args->src[0], *b = &args->src[1], *y = &args->dst;
    const sr_type_info *type = sr_type_get(y->tensor->type);
    const int64_t n = a->tensor->ne[0] - i0 < COLUMNS ? a->tensor->ne[0] - i0 : COLUMNS;
    const size_t offset = (size_t)(i0 / type->block) * (size_t)type->bytes;
    for (int64_t i1 = 0; i1 < a->tensor->ne[1]; i1++) {
        const int64_t index = read_index(b, i1, i2 % b->tensor->ne[1], i3 % b->tensor->ne[2]);
        if (!check_index(task, index, y->tensor->ne[1], i1)) {
            return false;
        }
        store_row(y->tensor->type, sr__row_f32(a, i1, i2, i3) + i0, sr__row(y, index, i2, i3) + offset, n);
    }
    return true;
}

static int64_t set_rows_pieces(const sr_tensor *a) { return (a->ne[0] + COLUMNS - 1) / COLUMNS; }

static void run_set_rows(const sr__kernel_args *args, const sr__task *task) {
    const sr_tensor *a = args->src[0].tensor;
    const int64_t pieces = set_rows_pieces(a);
    int64_t begin, end;
    sr__task_range(task, pieces * a->ne[2] * a->ne[3], &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t plane = i / pieces;
        if (!set_rows_piece(args, task, i % pieces * COLUMNS, plane % a->ne[2], plane / a->ne[2])) {
            return;
        }
    }
}

static const char *refuse_set_rows(const sr__kernel_args *args) {
    static const sr__want WANTS[] = {{0, SR__TYPE(F32), SR__ROWS}, {1, SR__TYPE(I32) | SR__TYPE(I64), SR__STRIDED}};
    const char *why = sr__operands_refuse(args, WANTS, SR_COUNT(WANTS));
    if (why != NULL) {
        return why;
    }
    const sr_tensor *a = args->src[0].tensor, *b = args->src[1].tensor, *y = args->dst.tensor;
    if (y->type != SR_TYPE_I32 && !sr__type_can_write(y->type)) {
        return "rows cannot be turned into the type of the destination";
    }
    if (!has_dense_rows(y) || a->ne[0] % sr_type_get(y->type)->block != 0) {
        return "the destination must have dense rows of whole blocks";
    }
    const bool fits = sr__has_extents(y, a->ne[0], y->ne[1], a->ne[2],
                                      a->ne[3]) && b->ne[0] == a->ne[1] && b->ne[3] == 1;
    if (!fits || (b->ne[1] == 0 ? a->ne[2] != 0 : a->ne[2] % b->ne[1] != 0) ||
        (b->ne[2] == 0 ? a->ne[3] != 0 : a->ne[3] % b->ne[2] != 0)) {
        return "the extents of rows, indices and destination do not fit together";
    }
    return NULL;
}

static int set_rows_threads(const sr__kernel_args *args) {
    const sr_tensor *a = args->src[0].tensor;
    return sr__threads_for(sr__times(set_rows_pieces(a), sr__times(a->ne[2], a->ne[3])));
}

const sr__kernel_info sr__kernel_SET_ROWS = {run_set_rows, refuse_set_rows, NULL, set_rows_threads};
