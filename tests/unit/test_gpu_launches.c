/*
 * test_gpu_launches.c - tests of src/backends/gpu/gpu_ops_mul_mat.c: which kernels are launched for which operands, when
 * the vendor's library multiplies, with which columns.
 *
 * Layer: tests.  Over the language without a device, with launches and products that are only written down.
 */
#include <stdio.h>

#include "support/gpu_fake.h"

static struct {
    sr__gpu_kernel kernels[8];
    size_t groups[8];
    int n;
    sr__gpu_product product;
    int n_products;
    bool can_multiply;
} seen;

static sr_status see_launch(sr__gpu_stream *stream, const sr__gpu_launch *launch, sr_error *err) {
    (void)stream;
    (void)err;
    assert_true(seen.n < SR_COUNT(seen.kernels));
    seen.groups[seen.n] = launch->groups[0] * launch->groups[1] * launch->groups[2];
    seen.kernels[seen.n++] = launch->kernel;
    return SR_OK;
}

static sr_status see_product(sr__gpu_stream *stream, const sr__gpu_product *product, bool *done, sr_error *err) {
    (void)stream;
    (void)err;
    seen.product = *product;
    seen.n_products++;
    *done = seen.can_multiply;
    return SR_OK;
}

static sr__gpu_runtime runtime;

/* A fake device, large enough for the operands here. */
static sr_status open_large(int index, sr__gpu_device **out_device, sr_error *err) {
    const sr_status status = fake_runtime.device_open(index, out_device, err);
    if (status == SR_OK) {
        (*out_device)->runtime = &runtime;
        (*out_device)->max_buffer = (size_t)256 << 20;
    }
    return status;
}

/* The product of a [k, m] and an f32 [k, n]. */
static void compute_product(int type, int64_t k, int64_t m, int64_t n, bool vendor, bool can_multiply) {
    fake_pair p;
    bf_run run;
    sr_error err = {0};
    runtime = fake_runtime;
    runtime.device_open = open_large;
    runtime.launch = see_launch;
    runtime.multiply = vendor ? see_product : NULL;
    fake_reset();
    fake.capacity = (size_t)256 << 20;
    bf_ok(fake_pair_open(&p, &runtime, &err), &err);
    sr_graph *graph = bf_graph();
    const int32_t a = bf_leaf(graph, "a", type, k, m), b = bf_leaf(graph, "b", SR_TYPE_F32, k, n);
    (void)bf_node(graph, "y", SR_OP_MUL_MAT, BF_ARRAY(a, b), 2);
    bf_run_init(&run, graph, p.backend[0].buffer_type);
    memset(&seen, 0, sizeof(seen));
    seen.can_multiply = can_multiply;
    bf_ok(sr_backend_compute(&p.backend[0], &run.view, &err), &err);
    bf_run_free(&run);
    fake_pair_close(&p);
    assert_int_equal(fake.live, 0);
}

static void check_kernels(const sr__gpu_kernel *kernels, int n) {
    assert_int_equal(seen.n, n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(seen.kernels[i], kernels[i]);
    }
}
#define KERNELS(...) \
    check_kernels((const sr__gpu_kernel[]){__VA_ARGS__}, SR_COUNT(((const sr__gpu_kernel[]){__VA_ARGS__})))

/* Few columns and many; f32 needs no rounding. */
static void test_kernels(void **state) {
    (void)state;
    compute_product(SR_TYPE_F32, 64, 7, 8, false, false);
    KERNELS(SR_GPU_KERNEL_gpu_mul_mat_vec);
    assert_int_equal(seen.groups[0], 4 * 2); /* two rows, four columns */
    compute_product(SR_TYPE_F32, 64, 65, 65, false, false);
    KERNELS(SR_GPU_KERNEL_gpu_mul_mat_tiles);
    assert_int_equal(seen.groups[0], 4);
    compute_product(SR_TYPE_F16, 300, 7, 1, false, false);
    KERNELS(SR_GPU_KERNEL_gpu_round_columns, SR_GPU_KERNEL_gpu_mul_mat_vec);
    assert_int_equal(seen.groups[0], 2);
    compute_product(SR_TYPE_Q4_0, 64, 7, 9, false, false);
    KERNELS(SR_GPU_KERNEL_gpu_round_columns, SR_GPU_KERNEL_gpu_mul_mat_tiles);
}

/* More columns than scratch is meant for: piece by piece, but only where they are rounded. */
static void test_pieces(void **state) {
    (void)state;
    compute_product(SR_TYPE_F16, 32768, 1, 513, false, false);
    KERNELS(SR_GPU_KERNEL_gpu_round_columns, SR_GPU_KERNEL_gpu_mul_mat_tiles, SR_GPU_KERNEL_gpu_round_columns,
            SR_GPU_KERNEL_gpu_mul_mat_vec);
    compute_product(SR_TYPE_F32, 32768, 1, 513, false, false);
    KERNELS(SR_GPU_KERNEL_gpu_mul_mat_tiles);
}

/* The vendor's library gets columns of the type of the rows, but no quantized rows, and nothing of few columns. */
static void test_vendor(void **state) {
    (void)state;
    compute_product(SR_TYPE_F32, 64, 7, 9, true, true);
    assert_int_equal(seen.n, 0);
    assert_int_equal(seen.n_products, 1);
    assert_int_equal(seen.product.b.type, SR_TYPE_F32);
    compute_product(SR_TYPE_F16, 64, 7, 9, true, true);
    KERNELS(SR_GPU_KERNEL_gpu_round_columns);
    assert_int_equal(seen.product.b.type, SR_TYPE_F16);
    assert_int_equal(seen.product.b.nb[1], 128);
    assert_int_equal(seen.product.y.ne[0], 7);
    compute_product(SR_TYPE_F16, 64, 7, 8, true, true);
    assert_int_equal(seen.n_products, 0);
    compute_product(SR_TYPE_Q8_0, 64, 7, 9, true, true);
    assert_int_equal(seen.n_products, 0);
}

/* Where it cannot, the kernels multiply. */
static void test_vendor_declines(void **state) {
    (void)state;
    compute_product(SR_TYPE_BF16, 64, 7, 9, true, false);
    assert_int_equal(seen.n_products, 1);
    KERNELS(SR_GPU_KERNEL_gpu_round_columns, SR_GPU_KERNEL_gpu_round_columns, SR_GPU_KERNEL_gpu_mul_mat_tiles);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_vendor),
        cmocka_unit_test(test_vendor_declines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
