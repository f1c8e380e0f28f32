/*
 * test_blas_ops.c - tests of src/backends/blas: what it takes, and its products against plain sums.
 *
 * Layer: tests.
 */
#include <math.h>

#include "backends/blas/blas_ops.h"
#include "graph/quant.h"
#include "support/backend_fixture.h"

static const char *product_of(int op, int type, int64_t k, int64_t m, int64_t n, bool transposed, const char **cannot) {
    sr_error err = {0};
    sr_graph *graph = bf_graph();
    int32_t a = bf_leaf(graph, "a", type, op == SR_OP_MUL_MAT ? k : m, op == SR_OP_MUL_MAT ? m : k);
    int32_t b = bf_leaf(graph, "b", SR_TYPE_F32, op == SR_OP_MUL_MAT ? k : n, op == SR_OP_MUL_MAT ? n : k);
    if (transposed) {
        b = bf_leaf(graph, "bt", SR_TYPE_F32, n, k);
        b = bf_node(graph, "b2", SR_OP_TRANSPOSE, &b, 1);
    }
    const int32_t y = bf_node(graph, "y", op, BF_ARRAY(a, b), 2);
    bf_ok(sr_graph_finish(graph, &err), &err);
    const sr_graph_view view = sr_graph_whole(graph);
    const char *why = sr__blas_refuses(&view, y);
    *cannot = sr__blas_cannot(&view, y);
    sr_graph_free(graph);
    return why;
}

static void test_takes(void **state) {
    (void)state;
    const char *cannot;
    assert_null(product_of(SR_OP_MUL_MAT, SR_TYPE_F32, 32, 32, 32, false, &cannot));
    assert_true((cannot == NULL) == sr__blas_present());
    assert_null(product_of(SR_OP_MUL_MAT, SR_TYPE_F16, 32, 32, 32, false, &cannot));
    assert_null(product_of(SR_OP_MUL_MAT, SR_TYPE_Q4_K, 256, 32, 32, false, &cannot));
    assert_non_null(product_of(SR_OP_MUL_MAT, SR_TYPE_F32, 31, 32, 32, false, &cannot));
    assert_non_null(cannot);
    assert_non_null(product_of(SR_OP_MUL_MAT, SR_TYPE_F32, 32, 31, 32, false, &cannot));
    assert_non_null(product_of(SR_OP_MUL_MAT, SR_TYPE_F32, 32, 32, 31, false, &cannot));
    assert_non_null(product_of(SR_OP_MUL_MAT, SR_TYPE_I32, 32, 32, 32, false, &cannot));
    assert_non_null(product_of(SR_OP_MUL_MAT, SR_TYPE_F32, 32, 32, 32, true, &cannot));
    assert_null(product_of(SR_OP_OUT_PROD, SR_TYPE_F32, 3, 4, 5, false, &cannot)); /* of any size */
    assert_non_null(product_of(SR_OP_OUT_PROD, SR_TYPE_Q8_0, 3, 32, 5, false, &cannot));
    /* a codebook may be scheduled there; executing needs a conversion */
    assert_null(product_of(SR_OP_MUL_MAT, SR_TYPE_IQ2_XXS, 256, 32, 32, false, &cannot));
    assert_true((cannot == NULL) == (sr__blas_present() && sr__type_can_read(SR_TYPE_IQ2_XXS)));
}

static void test_others(void **state) {
    (void)state;
    sr_error err = {0};
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, 64, 64);
    const int32_t t = bf_node(graph, "t", SR_OP_TRANSPOSE, &x, 1), y = bf_node(graph, "y", SR_OP_SQR, &x, 1);
    bf_ok(sr_graph_finish(graph, &err), &err);
    const sr_graph_view view = sr_graph_whole(graph);
    assert_null(sr__blas_refuses(&view, x));
    assert_null(sr__blas_refuses(&view, t));
    assert_null(sr__blas_cannot(&view, t));
    assert_string_equal(sr__blas_refuses(&view, y), "blas computes matrix products only");
    sr_graph_free(graph);
}

static float element(const sr_tensor *t, const float *data, int64_t i0, int64_t i1, int64_t i2) {
    return data[(i2 * t->ne[1] + i1) * t->ne[0] + i0];
}

static void fill(float *values, int64_t n, int step) {
    for (int64_t i = 0; i < n; i++) {
        values[i] = (float)((i * step) % 17 - 8) / 8.0f;
    }
}

/* Batches of b share a matrix of a, which may be of any readable type. */
static void check_mul_mat(int type) {
    enum { K = 256, M = 33, N = 40, PLANES_A = 2, PLANES_B = 6 };
    sr_tensor a = {.type = (uint8_t)type, .ne = {K, M, PLANES_A, 1}}, b = {.ne = {K, N, PLANES_B, 1}};
    sr_tensor y = {.ne = {M, N, PLANES_B, 1}};
    static float av[K * M * PLANES_A], bv[K * N * PLANES_B], yv[M * N * PLANES_B];
    static char stored[K * M * PLANES_A * sizeof(float)];
    a.nb[0] = (size_t)sr_type_get(type)->bytes;
    a.nb[1] = sr_row_size(type, K);
    b.nb[0] = y.nb[0] = sizeof(float);
    b.nb[1] = K * sizeof(float);
    y.nb[1] = M * sizeof(float);
    a.nb[2] = a.nb[1] * M;
    b.nb[2] = b.nb[1] * N;
    y.nb[2] = y.nb[1] * N;
    y.nbytes = sizeof(yv);
    fill(av, SR_COUNT(av), 5);
    fill(bv, SR_COUNT(bv), 7);
    for (int r = 0; r < M * PLANES_A; r++) {
        sr__row_from_f32(type, av + r * K, stored + (size_t)r * a.nb[1], K);
        sr__row_to_f32(type, stored + (size_t)r * a.nb[1], av + r * K, K);
    }
    const sr__blas_product product = {&a, &b, &y, stored, (const char *)bv, (char *)yv};
    sr__blas_scratch scratch = {0};
    sr_error err = {0};
    bf_ok(sr__blas_multiply(SR_OP_MUL_MAT, &product, &scratch, &err), &err);
    sr__free(scratch.data);
    for (int64_t p = 0; p < PLANES_B; p++) {
        for (int64_t n = 0; n < N; n++) {
            for (int64_t m = 0; m < M; m++) {
                double sum = 0;
                for (int64_t k = 0; k < K; k++) {
                    sum += (double)element(&a, av, k, m, p / 3) * (double)element(&b, bv, k, n, p);
                }
                assert_true(fabs((double)element(&y, yv, m, n, p) - sum) < 1e-3);
            }
        }
    }
}

static void test_mul_mat(void **state) {
    (void)state;
    if (!sr__blas_present()) {
        print_message("skipped: built without a BLAS library\n");
        skip();
    }
    sr__blas_set_threads(1);
    check_mul_mat(SR_TYPE_F32);
    check_mul_mat(SR_TYPE_F16);
    check_mul_mat(SR_TYPE_BF16);
    check_mul_mat(SR_TYPE_Q8_0);
    check_mul_mat(SR_TYPE_Q4_K);
}

static void check_out_prod(int64_t k, bool b_transposed) {
    enum { M = 7, N = 5, MOST = 16 };
    float av[M * MOST], bv[N * MOST], yv[M * N];
    const size_t item = sizeof(float), ks = (size_t)k;
    const sr_tensor a = {.ne = {M, k, 1, 1}, .nb = {item, M * item, M * ks * item, M * ks * item}};
    sr_tensor b = {.ne = {N, k, 1, 1}, .nb = {item, N * item, N * ks * item, N * ks * item}};
    const sr_tensor y = {.ne = {M, N, 1, 1}, .nb = {item, M * item, sizeof(yv), sizeof(yv)}, .nbytes = sizeof(yv)};
    if (b_transposed) {
        b.nb[0] = ks * item;
        b.nb[1] = item;
    }
    fill(av, M * MOST, 3);
    fill(bv, N * MOST, 11);
    const sr__blas_product product = {&a, &b, &y, (const char *)av, (const char *)bv, (char *)yv};
    sr__blas_scratch scratch = {0};
    sr_error err = {0};
    bf_ok(sr__blas_multiply(SR_OP_OUT_PROD, &product, &scratch, &err), &err);
    sr__free(scratch.data);
    for (int n = 0; n < N; n++) {
        for (int m = 0; m < M; m++) {
            double sum = 0;
            for (int64_t i = 0; i < k; i++) {
                sum += (double)av[m + M * i] * (double)bv[b_transposed ? n * k + i : n + N * i];
            }
            assert_true(fabs((double)yv[n * M + m] - sum) < 1e-4);
        }
    }
}

static void test_out_prod(void **state) {
    (void)state;
    if (!sr__blas_present()) {
        print_message("skipped: built without a BLAS library\n");
        skip();
    }
    check_out_prod(16, false);
    check_out_prod(3, true);
    check_out_prod(0, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_takes),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_mul_mat),
        cmocka_unit_test(test_out_prod),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
