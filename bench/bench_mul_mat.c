/*
 * bench_mul_mat.c - how fast MUL_MAT is: [4096 x 14336] weights of several types times 512 columns and times one.
 *
 * Prints GFLOP/s at many columns and GB/s of weights at one, beside OpenBLAS (if it was built in) and beside memcpy of
 * as many bytes.  The best of several rounds.  Arguments: threads (2), columns (512), rows, inner extent, types...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef SR_HAVE_BLAS
#include <cblas.h>
void openblas_set_num_threads(int n);
#endif

#include "graph/quant.h"
#include "kernels/kernels.h"

enum { DISTINCT_ROWS = 32, ROUNDS = 5, ROUNDS_ONE = 25 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *must(void *p) {
    if (p == NULL) {
        fprintf(stderr, "bench_mul_mat: out of memory\n");
        exit(1);
    }
    return p;
}

static void fill(float *x, int64_t n) {
    static uint32_t seed = 1;
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)seed * 0x1p-31f;
    }
}

/* Weights: some rows quantized, then repeated. */
static char *make_weights(int type, int64_t k, int64_t m) {
    const size_t row = sr_row_size(type, k);
    char *weights = must(malloc(row * (size_t)m));
    float *values = must(malloc((size_t)k * sizeof(float)));
    for (int64_t r = 0; r < m; r++) {
        if (r < DISTINCT_ROWS) {
            fill(values, k);
            sr__row_from_f32(type, values, weights + row * (size_t)r, k);
        } else {
            memcpy(weights + row * (size_t)r, weights + row * (size_t)(r % DISTINCT_ROWS), row);
        }
    }
    free(values);
    return weights;
}

static void set_tensor(sr_tensor *t, int type, int64_t n0, int64_t n1) {
    memset(t, 0, sizeof(*t));
    t->type = (uint8_t)type;
    t->view_src = -1;
    t->name = t->id = "";
    t->ne[0] = n0, t->ne[1] = n1, t->ne[2] = t->ne[3] = 1;
    t->nb[0] = (size_t)sr_type_get(type)->bytes;
    t->nb[1] = sr_row_size(type, n0);
    t->nb[2] = t->nb[3] = t->nb[1] * (size_t)n1;
    t->nbytes = t->nb[2];
}

static char *resolve(void *user, const sr_storage *storage) { return (char *)user + storage->offset; }

/* Best seconds of a product in the pool. */
static double time_product(sr__pool *pool, int type, const char *a, const float *b, float *y, int64_t k, int64_t m,
                           int64_t n) {
    sr_tensor tensors[3];
    set_tensor(&tensors[0], type, k, m);
    set_tensor(&tensors[1], SR_TYPE_F32, k, n);
    set_tensor(&tensors[2], SR_TYPE_F32, m, n);
    tensors[2].op = SR_OP_MUL_MAT;
    tensors[2].flags = SR_FLAG_COMPUTE;
    tensors[2].n_src = 2;
    const int32_t srcs[2] = {0, 1}, node = 2;
    /* addresses as offsets from nothing: resolve gives them back */
    const sr_storage storage[3] = {{NULL, (size_t)(uintptr_t)a}, {NULL, (size_t)(uintptr_t)b}, {NULL,
                                                                                                (size_t)(uintptr_t)y}};
    const sr_graph graph = {.name = "", .tensors = tensors, .n_tensors = 3, .nodes = &node, .n_nodes = 1,
                            .srcs = srcs, .n_srcs = 2};
    const sr_graph_view view = {.graph = &graph, .srcs = srcs, .nodes = &node, .n_nodes = 1, .storage = storage};
    double best = 1e30;
    for (int i = 0; i < (n == 1 ? ROUNDS_ONE : ROUNDS); i++) {
        sr_error err = {0};
        const double start = now();
        if (sr__pool_compute(pool, &view, resolve, NULL, &err) != SR_OK) {
            fprintf(stderr, "bench_mul_mat: %s\n", sr_error_message(&err));
            exit(1);
        }
        best = now() - start < best ? now() - start : best;
    }
    return best;
}

static void bench_type(sr__pool *pool, int type, int64_t k, int64_t m, int64_t n) {
    char *a = make_weights(type, k, m);
    float *b = must(malloc((size_t)(k * n) * sizeof(float))), *y = must(malloc((size_t)(m * n) * sizeof(float)));
    const double bytes = (double)sr_row_size(type, k) * (double)m;
    char *copy = must(malloc((size_t)bytes));
    double copy_best = 1e30;
    fill(b, k * n);
    const double many = time_product(pool, type, a, b, y, k, m, n), one = time_product(pool, type, a, b, y, k, m, 1);
    for (int i = 0; i < ROUNDS_ONE; i++) {
        const double start = now();
        memcpy(copy, a, (size_t)bytes);
        copy_best = now() - start < copy_best ? now() - start : copy_best;
    }
    printf("%-8s %9.1f GFLOP/s %9.1f GB/s   memcpy %6.1f GB/s", sr_type_get(type)->name,
           2e-9 * (double)k * (double)m * (double)n / many, bytes * 1e-9 / one, bytes * 1e-9 / copy_best);
#ifdef SR_HAVE_BLAS
    if (type == SR_TYPE_F32) {
        double best = 1e30, best_one = 1e30;
        for (int i = 0; i < ROUNDS_ONE; i++) {
            double start = now();
            if (i < ROUNDS) {
                cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)m, (int)k, 1, b, (int)k,
                            (const float *)(const void *)a, (int)k, 0, y, (int)m);
                best = now() - start < best ? now() - start : best;
            }
            start = now();
            cblas_sgemv(CblasRowMajor, CblasNoTrans, (int)m, (int)k, 1, (const float *)(const void *)a, (int)k, b, 1,
                        0, y, 1);
            best_one = now() - start < best_one ? now() - start : best_one;
        }
        printf("   OpenBLAS %.1f GFLOP/s, %.1f GB/s", 2e-9 * (double)k * (double)m * (double)n / best,
               bytes * 1e-9 / best_one);
    }
#endif
    printf("\n");
    fflush(stdout);
    free(a), free(b), free(y), free(copy);
}

int main(int argc, char **argv) {
    static const char *const TYPES[] = {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_K", "q6_K", "q2_K"};
    const int threads = argc > 1 ? atoi(argv[1]) : 2;
    const int64_t n = argc > 2 ? atoll(argv[2]) : 512, m = argc > 3 ? atoll(argv[3]) : 4096;
    const int64_t k = argc > 4 ? atoll(argv[4]) : 14336;
    sr_error err = {0};
    sr__pool *pool;
    if (threads < 1 || n < 1 || m < 1 || k < 256 || k % 256 != 0 || sr__pool_new(threads, &pool, &err) != SR_OK) {
        fprintf(stderr, "usage: bench_mul_mat [threads [columns [rows [inner extent [types...]]]]]\n");
        return 2;
    }
#ifdef SR_HAVE_BLAS
    openblas_set_num_threads(threads);
#endif
    printf("[%lld x %lld] x %lld, %d threads: many columns, one column\n", (long long)m, (long long)k, (long long)n,
           threads);
    for (int i = 0; argc > 5 ? 5 + i < argc : i < SR_COUNT(TYPES); i++) {
        const int type = sr_type_find(argc > 5 ? argv[5 + i] : TYPES[i]);
        if (type < 0 || !sr__type_can_read(type)) {
            fprintf(stderr, "bench_mul_mat: '%s' is no type that products take\n", argv[5 + i]);
            return 2;
        }
        bench_type(pool, type, k, m, n);
    }
    sr__pool_free(pool);
    return 0;
}
