/*
 * test_gpu_faults.c - tests of src/backends/gpu/gpu_faults.c: what kernels find wrong is told once, with its node.
 *
 * Layer: tests.
 */
#include "backends/gpu/gpu_device.h"
#include "support/gpu_fake.h"

/* What a kernel does that meets wrong data. */
static void raise_fault(sr__gpu_stream *stream, sr__gpu_memory *memory, gpu_int number) {
    sr_error err = {0};
    bf_ok(fake_runtime.write(stream, memory, 0, &number, sizeof(number), &err), &err);
}

static void test_faults(void **state) {
    (void)state;
    fake_pair p;
    sr_error err = {0};
    sr__gpu_memory *memory;
    gpu_int first, second;
    fake_reset();
    bf_ok(fake_pair_open(&p, &fake_runtime, &err), &err);
    sr__gpu_stream *stream = sr__gpu_of_backend(&p.backend[0])->stream;
    bf_ok(sr_backend_synchronize(&p.backend[0], &err), &err); /* no node could have one */
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, 4, 4);
    const int32_t y = bf_node(graph, "y", SR_OP_SQR, BF_ARRAY(x), 1), z = bf_node(graph, "z", SR_OP_SQRT, &x, 1);
    for (int round = 0; round < 2; round++) {
        bf_ok(sr__gpu_fault_place(stream, &graph->tensors[y], &memory, &first, &err), &err);
        bf_ok(sr__gpu_fault_place(stream, &graph->tensors[z], &memory, &second, &err), &err);
        assert_true(first > 0 && second > first);
        bf_ok(sr_backend_synchronize(&p.backend[0], &err), &err);
    }
    bf_ok(sr__gpu_fault_place(stream, &graph->tensors[y], &memory, &first, &err), &err);
    bf_ok(sr__gpu_fault_place(stream, &graph->tensors[z], &memory, &second, &err), &err);
    raise_fault(stream, memory, second);
    sr_graph_free(graph); /* the names are kept */
    assert_int_equal(sr_backend_synchronize(&p.backend[0], &err), SR_COMPUTE);
    assert_string_equal(sr_error_find(&err, "node")->text, "z");
    assert_string_equal(sr_error_find(&err, "op")->text, "SQRT");
    assert_non_null(strstr(sr_error_message(&err), "node 'z' (SQRT)"));
    sr_error_clear(&err);
    bf_ok(sr_backend_synchronize(&p.backend[0], &err), &err); /* told once */
    fake_pair_close(&p);
    assert_int_equal(fake.live, 0);
}

static void test_failures(void **state) {
    (void)state;
    fake_pair p;
    sr_error err = {0};
    sr__gpu_memory *memory;
    gpu_int number;
    const sr_tensor node = {.name = "n", .op = SR_OP_SQR};
    fake_reset();
    bf_ok(fake_pair_open(&p, &fake_runtime, &err), &err);
    sr__gpu_stream *stream = sr__gpu_of_backend(&p.backend[0])->stream;
    for (int i = 1; i <= 2; i++) { /* no memory, no zero in it */
        fake.fail_at = fake.calls + i;
        bf_fails(sr__gpu_fault_place(stream, &node, &memory, &number, &err), SR_COMPUTE, &err, "failed");
    }
    for (long n = 1; n <= 2; n++) {
        sr__fail_allocations(n, false);
        assert_int_equal(sr__gpu_fault_place(stream, &node, &memory, &number, &err), SR_MEMORY);
        sr__fail_allocations(0, false);
        sr_error_clear(&err);
    }
    bf_ok(sr__gpu_fault_place(stream, &node, &memory, &number, &err), &err);
    raise_fault(stream, memory, number);
    fake.fail_at = fake.calls + 2; /* the read */
    bf_fails(sr_backend_synchronize(&p.backend[0], &err), SR_COMPUTE, &err, "read failed");
    fake_pair_close(&p);
    assert_int_equal(fake.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_faults), cmocka_unit_test(test_failures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
