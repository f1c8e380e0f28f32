/*
 * cuda_blas.c - matrix products with cuBLAS, loaded at the first one: without it the kernels multiply.
 *
 * Layer: backends.  Answers to ggml_cuda_op_mul_mat_cublas of the reference.  cuBLAS counts along columns, so rows of
 * the first source are the columns of its matrix, transposed there.
 */
#include "backends/cuda/cuda.h"

#if defined(__has_include)
#if __has_include(<cublas_v2.h>)
#define HAVE_CUBLAS_HEADER
#endif
#endif

#ifdef HAVE_CUBLAS_HEADER

#include <cublas_v2.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#define FUNCTIONS(X)                                  \
    X(cublasCreate_v2) X(cublasDestroy_v2)            \
    X(cublasSetStream_v2) X(cublasGemmStridedBatchedEx) X(cublasGetStatusString)

/* NULL as long as the library was not found. */
static struct {
    pthread_once_t once;
    bool found;
#define MEMBER(name) __typeof__(&name) name;
    FUNCTIONS(MEMBER)
#undef MEMBER
} blas = {.once = PTHREAD_ONCE_INIT};

static void load(void) {
    char major[32];
    (void)snprintf(major, sizeof(major), "libcublas.so.%d", CUBLAS_VER_MAJOR);
    void *library = dlopen(major, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        library = dlopen("libcublas.so", RTLD_NOW | RTLD_LOCAL);
    }
    if (!library) {
        return;
    }
    blas.found = true;
#define LOOK_UP(name)                                            \
    *(void **)(void *)&blas.name = dlsym(library, #name);        \
    blas.found = blas.found && blas.name != NULL;
    FUNCTIONS(LOOK_UP)
#undef LOOK_UP
}

static sr_status fail(sr_error *err, const char *call, cublasStatus_t code) {
    return sr__fail(err, code == CUBLAS_STATUS_ALLOC_FAILED ? SR_ALLOCATION : SR_COMPUTE, "%s: %s", call,
                    blas.cublasGetStatusString(code));
}

/* A handle of the stream, made at its first product; *out_handle stays NULL without cuBLAS. */
static sr_status handle_of(sr__cuda_stream *s, cublasHandle_t *out_handle, sr_error *err) {
    (void)pthread_once(&blas.once, load);
    *out_handle = NULL;
    if (!blas.found) {
        return SR_OK;
    }
    if (!s->blas) {
        cublasHandle_t handle = NULL;
        cublasStatus_t code = blas.cublasCreate_v2(&handle);
        if (code != CUBLAS_STATUS_SUCCESS) {
            return fail(err, "cublasCreate", code);
        }
        s->blas = handle;
        code = blas.cublasSetStream_v2(handle, s->stream);
        if (code != CUBLAS_STATUS_SUCCESS) {
            return fail(err, "cublasSetStream", code);
        }
    }
    *out_handle = s->blas;
    return SR_OK;
}

void sr__cuda_blas_free(void *handle) {
    if (handle) {
        (void)blas.cublasDestroy_v2(handle);
    }
}

/* Matrices of one type, as cuBLAS has them: rows a leading dimension apart, which fits into an int. */
static bool is_matrix(const gpu_tensor *t, gpu_long size) {
    const gpu_long step = t->ne[1] > 1 ? t->nb[1] : t->ne[0] * size;
    return t->ne[0] > 0 && t->ne[0] <= INT_MAX && t->ne[1] <= INT_MAX && t->ne[2] <= INT_MAX && step % size == 0 &&
           step / size >= t->ne[0] && step / size <= INT_MAX && t->nb[2] % size == 0 && t->nb[3] % size == 0;
}

static int leading(const gpu_tensor *t, gpu_long size) {
    return (int)(t->ne[1] > 1 ? t->nb[1] / size : t->ne[0]);
}

static char *plane_of(const gpu_tensor *t, const sr__gpu_memory *memory, gpu_long i2, gpu_long i3) {
    return memory->data + t->offset + i2 * t->nb[2] + i3 * t->nb[3];
}

/* Planes i2 to i2 + n of the second source, with planes of the first that follow each other or are the same. */
static cublasStatus_t multiply_planes(cublasHandle_t handle, const sr__gpu_product *p, gpu_long i2, gpu_long i3, int n,
                                      bool same_plane) {
    const gpu_tensor *a = &p->a, *b = &p->b, *y = &p->y;
    const gpu_long size = a->type == SR_TYPE_F32 ? 4 : 2;
    const cudaDataType_t type = a->type == SR_TYPE_F32 ? CUDA_R_32F : a->type == SR_TYPE_F16 ? CUDA_R_16F : CUDA_R_16BF;
    const cublasComputeType_t compute = a->type == SR_TYPE_F32 && !p->precise ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                              : CUBLAS_COMPUTE_32F;
    const float one = 1.0f, zero = 0.0f;
    return blas.cublasGemmStridedBatchedEx(
        handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)y->ne[0], (int)y->ne[1], (int)a->ne[0], &one,
        plane_of(a, p->a_memory, i2 / (b->ne[2] / a->ne[2]), i3 / (b->ne[3] / a->ne[3])), type, leading(a, size),
        same_plane ? 0 : a->nb[2] / size, plane_of(b, p->b_memory, i2, i3), type, leading(b, size), b->nb[2] / size,
        &zero, plane_of(y, p->y_memory, i2, i3), CUDA_R_32F, leading(y, 4), y->nb[2] / 4, n, compute,
        CUBLAS_GEMM_DEFAULT);
}

sr_status sr__cuda_multiply(sr__gpu_stream *stream, const sr__gpu_product *product, bool *done, sr_error *err) {
    const gpu_tensor *a = &product->a, *b = &product->b;
    const gpu_long size = a->type == SR_TYPE_F32 ? 4 : 2;
    cublasHandle_t handle = NULL;
    sr_status status = SR_OK;
    *done = false;
    if (a->type != b->type || (a->type != SR_TYPE_F32 && a->type != SR_TYPE_F16 && a->type != SR_TYPE_BF16) ||
        !is_matrix(a, size) || !is_matrix(b, size) || !is_matrix(&product->y, 4)) {
        return SR_OK;
    }
    SR_CUDA_TRY(cudaSetDevice, (stream->device->index), err);
    SR_TRY(handle_of(sr__cuda_of(stream), &handle, err));
    if (!handle) {
        return SR_OK;
    }
    const gpu_long ratio = b->ne[2] / a->ne[2], step = ratio == 1 ? b->ne[2] : ratio;
    for (gpu_long i3 = 0; i3 < b->ne[3]; i3++) {
        for (gpu_long i2 = 0; i2 < b->ne[2]; i2 += step) {
            const cublasStatus_t code = multiply_planes(handle, product, i2, i3, (int)step, ratio > 1);
            if (code != CUBLAS_STATUS_SUCCESS) {
                return fail(err, "cublasGemmStridedBatchedEx", code);
            }
        }
    }
    *done = true;
done:
    return status;
}

#else

void sr__cuda_blas_free(void *handle) { (void)handle; }

sr_status sr__cuda_multiply(sr__gpu_stream *stream, const sr__gpu_product *product, bool *done, sr_error *err) {
    (void)stream;
    (void)product;
    (void)err;
    *done = false;
    return SR_OK;
}

#endif
