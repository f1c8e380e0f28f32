/*
 * k_solve.c - SOLVE_TRI: a lower triangular system for many right hand sides.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_solve_tri (spec: ops-2, section 6).  Columns of the right hand side
 * are independent: a thread takes blocks of them, whose rows stay in cache.
 */
#include "kernels/k_operand.h"
#include "kernels/k_vector.h"

enum { BLOCK = 64 };

static const char *refuse_solve(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {0, SR__TYPE(F32), SR__CONTIGUOUS}, {1, SR__TYPE(F32), SR__CONTIGUOUS},
        {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const sr_tensor *a = args->src[0].tensor, *b = args->src[1].tensor;
    if (!sr__has_extents(a, b->ne[1], b->ne[1], b->ne[2], b->ne[3])) {
        return "the matrix must be square, with a row for each row of the right hand side";
    }
    return sr_tensor_same_shape(b, args->dst.tensor) ? NULL : "the result has another shape than the right hand side";
}

/* n columns from column c on; row i is what is left when the rows above it are taken away. */
static void solve_block(const float *a, const float *b, int64_t rows, int64_t columns, int64_t c, int64_t n, float *y) {
    for (int64_t i = 0; i < rows; i++) {
        float *to = y + i * columns + c;
        const float diagonal = a[i * rows + i];
        memset(to, 0, (size_t)n * sizeof(*to));
        for (int64_t t = 0; t < i; t++) {
            sr__axpy_f32(n, to, a[i * rows + t], y + t * columns + c);
        }
        for (int64_t j = 0; j < n; j++) {
            to[j] = (b[i * columns + c + j] - to[j]) / diagonal;
        }
    }
}

static void run_solve(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *ne = args->dst.tensor->ne;
    const int64_t columns = ne[0], rows = ne[1], blocks = (columns + BLOCK - 1) / BLOCK;
    int64_t begin, end;
    sr__task_range(task, blocks * ne[2] * ne[3], &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t batch = i / blocks, c = i % blocks * BLOCK, n = columns - c < BLOCK ? columns - c : BLOCK;
        solve_block(sr__f32(&args->src[0]) + batch * rows * rows, sr__f32(&args->src[1]) + batch * rows * columns, rows,
                    columns, c, n, sr__f32(&args->dst) + batch * rows * columns);
    }
}

const sr__kernel_info sr__kernel_SOLVE_TRI = {.run = run_solve, .refuse = refuse_solve};
