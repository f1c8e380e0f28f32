/*
 * blas_product.c - MUL_MAT and OUT_PROD with a BLAS library, where there is one.
 *
 * Layer: backends.  Answers to ggml-blas.cpp of the reference.  Built with -DSR_HAVE_BLAS and the library's flags, or
 * without both: then the device counts none.
 */
#include "backends/blas/blas_ops.h"

#ifdef SR_HAVE_BLAS

#include <cblas.h>

#include "graph/quant.h"

bool sr__blas_present(void) {
    return true;
}

void sr__blas_set_threads(int n_threads) {
#ifdef OPENBLAS_VERSION
    openblas_set_num_threads(n_threads);
#else
    (void)n_threads;
#endif
}

static sr_status need_floats(sr__blas_scratch *scratch, int64_t n, sr_error *err) {
    return sr__grow(&scratch->data, &scratch->cap, (size_t)n, sizeof(float)) ? SR_OK : sr__fail_memory(err);
}

/* The matrix at data as contiguous f32 rows: itself, or converted into scratch. */
static sr_status matrix_of(const sr_tensor *tensor, const char *data, sr__blas_scratch *scratch, const float **out_rows,
                           sr_error *err) {
    const int64_t n = tensor->ne[0], rows = tensor->ne[1];
    if (tensor->type == SR_TYPE_F32 && tensor->nb[0] == sizeof(float) && tensor->nb[1] == (size_t)n * sizeof(float)) {
        *out_rows = (const float *)(const void *)data;
        return SR_OK;
    }
    const sr_status status = need_floats(scratch, n * rows, err);
    if (status != SR_OK) {
        return status;
    }
    for (int64_t r = 0; r < rows; r++) {
        const char *row = data + (size_t)r * tensor->nb[1];
        float *to = scratch->data + r * n;
        if (tensor->type != SR_TYPE_F32) {
            sr__row_to_f32(tensor->type, row, to, n);
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            memcpy(&to[i], row + (size_t)i * tensor->nb[0], sizeof(float));
        }
    }
    *out_rows = scratch->data;
    return SR_OK;
}

static const char *plane(const sr_tensor *tensor, const char *data, int64_t i2, int64_t i3) {
    return data + (size_t)i2 * tensor->nb[2] + (size_t)i3 * tensor->nb[3];
}

/* y rows = b rows times a rows transposed; consecutive planes of b share one of a, which is converted once. */
static sr_status mul_mat(const sr__blas_product *p, sr__blas_scratch *scratch, sr_error *err) {
    const int m = (int)p->a->ne[1], n = (int)p->b->ne[1], k = (int)p->a->ne[0];
    const int64_t repeat2 = p->b->ne[2] / p->a->ne[2], repeat3 = p->b->ne[3] / p->a->ne[3];
    const char *converted = NULL;
    const float *a = NULL;
    for (int64_t i3 = 0; i3 < p->y->ne[3]; i3++) {
        for (int64_t i2 = 0; i2 < p->y->ne[2]; i2++) {
            const char *from = plane(p->a, p->a_data, i2 / repeat2, i3 / repeat3);
            if (from != converted) {
                const sr_status status = matrix_of(p->a, from, scratch, &a, err);
                if (status != SR_OK) {
                    return status;
                }
                converted = from;
            }
            const float *b = (const float *)(const void *)plane(p->b, p->b_data, i2, i3);
            float *y = (float *)(void *)(p->y_data + (size_t)i2 * p->y->nb[2] + (size_t)i3 * p->y->nb[3]);
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, m, k, 1.0f, b, k, a, k, 0.0f, y, m);
        }
    }
    return SR_OK;
}

/* y = b transposed times a, one column of the inner extent after the other a row of each. */
static sr_status out_prod(const sr__blas_product *p, sr__blas_scratch *scratch, sr_error *err) {
    const int m = (int)p->a->ne[0], n = (int)p->b->ne[0], k = (int)p->a->ne[1];
    sr__blas_scratch second = {0};
    const float *a, *b;
    sr_status status;
    SR_TRY(matrix_of(p->a, p->a_data, scratch, &a, err));
    SR_TRY(matrix_of(p->b, p->b_data, &second, &b, err));
    if (k == 0) {
        memset(p->y_data, 0, p->y->nbytes);
        goto done;
    }
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, m, k, 1.0f, b, n, a, m, 0.0f,
                (float *)(void *)p->y_data, m);
done:
    sr__free(second.data);
    return status;
}

sr_status sr__blas_multiply(int op, const sr__blas_product *product, sr__blas_scratch *scratch, sr_error *err) {
    return op == SR_OP_MUL_MAT ? mul_mat(product, scratch, err) : out_prod(product, scratch, err);
}

#else

bool sr__blas_present(void) {
    return false;
}

void sr__blas_set_threads(int n_threads) {
    (void)n_threads;
}

sr_status sr__blas_multiply(int op, const sr__blas_product *product, sr__blas_scratch *scratch, sr_error *err) {
    (void)op;
    (void)product;
    (void)scratch;
    return sr__fail(err, SR_UNAVAILABLE, "this build has no BLAS library");
}

#endif
