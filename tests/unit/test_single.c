/*
 * test_single.c - a graph on one backend: contents, views, refusals, small buffers, failed allocations.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sched_run/analyze.h"
#include "support/execute_case.h"

/* A weight in GPU memory, a cache that a row is written into, a view, and an op that GPU0 denies. */
#define GRAPH(gpu)                                                                                                    \
    "{\"sched_run\":1,\"backends\":[{\"name\":\"GPU0\",\"device\":\"sim\"" gpu ",\"ops\":{\"deny\":[\"SQRT\"]}},"     \
    "{\"name\":\"CPU\",\"device\":\"cpu\"}],\"buffers\":{\"w\":{\"type\":\"GPU0\",\"usage\":\"weights\"}},"           \
    "\"tensors\":[{\"name\":\"w\",\"ne\":[4],\"buffer\":\"w\",\"data\":[1,4,9,16]},"                                  \
    "{\"name\":\"x\",\"ne\":[4],\"flags\":[\"input\"],\"data\":[1,2,3,4]}],"                                          \
    "\"nodes\":[{\"name\":\"y\",\"op\":\"ADD\",\"src\":[\"w\",\"x\"]},"                                               \
    "{\"name\":\"v\",\"op\":\"RESHAPE\",\"src\":[\"y\"],\"ne\":[2,2]},"                                               \
    "{\"name\":\"z\",\"op\":\"SQRT\",\"src\":[\"w\"]},"                                                               \
    "{\"name\":\"s\",\"op\":\"SUM\",\"src\":[\"v\"],\"flags\":[\"output\"]}]}"

static double value_of(const sr_graph_copy *copy, const execute_case *c, const char *id) {
    sr_error err = {0};
    double values[4] = {0};
    ASSERT_OK(sr_tensor_values(sr_graph_copy_view(copy), execute_case_tensor(c, id), values, &err), &err);
    return values[0];
}

static void test_cpu(void **state) {
    (void)state;
    sr_error err = {0};
    execute_case c;
    sr_graph_copy *copy;
    int32_t n;
    execute_case_init(&c, GRAPH(""), 1);
    ASSERT_OK(sr_graph_copy_new(c.machine->backends[1], c.graph, NULL, &copy, &err), &err);
    assert_ptr_equal(sr_graph_copy_backend(copy), c.machine->backends[1]);
    sr_graph_copy_refused(copy, &n);
    assert_int_equal(n, 0);
    assert_true(value_of(copy, &c, "w") == 1.0); /* what is pre-allocated came along */
    assert_true(value_of(copy, &c, "x") == 0.0);
    ASSERT_OK(sr_description_set_inputs(c.description, c.run, sr_graph_copy_view(copy), &err), &err);
    ASSERT_OK(sr_graph_copy_compute(copy, &err), &err);
    assert_true(value_of(copy, &c, "s") == 40.0);
    assert_true(value_of(copy, &c, "v") == 2.0);
    assert_true(value_of(copy, &c, "z") == 1.0);
    assert_int_equal(sr_graph_copy_compute_node(copy, 4, &err), SR_INVALID);
    sr_error_clear(&err);
    sr_graph_copy_free(copy);
    sr_graph_copy_free(NULL);
    execute_case_free(&c);
}

static void test_refused(void **state) {
    (void)state;
    sr_error err = {0};
    execute_case c;
    sr_graph_copy *copy;
    int32_t n;
    execute_case_init(&c, GRAPH(""), 1);
    ASSERT_OK(sr_graph_copy_new(c.machine->backends[0], c.graph, NULL, &copy, &err), &err);
    const sr_refused_node *refused = sr_graph_copy_refused(copy, &n);
    assert_int_equal(n, 1);
    assert_int_equal(refused[0].tensor, execute_case_tensor(&c, "z"));
    assert_string_equal(refused[0].why, "denied by the rule SQRT");
    assert_int_equal(sr_graph_copy_compute(copy, &err), SR_UNAVAILABLE);
    assert_string_equal(sr_error_message(&err),
                        "backend 'GPU0' refuses 1 of the nodes, first 'z' (SQRT): denied by the rule SQRT");
    assert_int_equal(sr_error_find(&err, "count")->number, 1);
    sr_error_clear(&err);
    /* the others one by one */
    ASSERT_OK(sr_description_set_inputs(c.description, c.run, sr_graph_copy_view(copy), &err), &err);
    ASSERT_OK(sr_graph_copy_compute_node(copy, 0, &err), &err);
    ASSERT_OK(sr_graph_copy_compute_node(copy, 1, &err), &err);
    ASSERT_OK(sr_graph_copy_compute_node(copy, 3, &err), &err);
    assert_true(value_of(copy, &c, "s") == 40.0);
    sr_graph_copy_free(copy);
    execute_case_free(&c);
}

/* Contents from wherever they lie: here from another copy; and buffers that hold one tensor each. */
static void test_from_elsewhere(void **state) {
    (void)state;
    sr_error err = {0};
    execute_case c;
    sr_graph_copy *first, *second;
    execute_case_init(&c, GRAPH(",\"max_buffer_size\":128,\"alignment\":128"), 1);
    ASSERT_OK(sr_graph_copy_new(c.machine->backends[1], c.graph, NULL, &first, &err), &err);
    ASSERT_OK(sr_description_set_inputs(c.description, c.run, sr_graph_copy_view(first), &err), &err);
    ASSERT_OK(sr_graph_copy_compute(first, &err), &err);
    ASSERT_OK(sr_graph_copy_new(c.machine->backends[0], c.graph, sr_graph_copy_view(first)->storage, &second, &err),
              &err);
    assert_true(value_of(second, &c, "x") == 1.0);
    assert_true(value_of(second, &c, "y") == 2.0);
    assert_true(value_of(second, &c, "v") == 2.0);
    assert_true(value_of(second, &c, "s") == 40.0);
    const sr_storage *storage = sr_graph_copy_view(second)->storage;
    assert_ptr_not_equal(storage[0].buffer, storage[1].buffer);
    sr_graph_copy_free(first);
    sr_graph_copy_free(second);
    execute_case_free(&c);
}

static void test_no_memory(void **state) {
    (void)state;
    sr_error err = {0};
    execute_case c;
    sr_graph_copy *copy;
    execute_case_init(&c, GRAPH(""), 1);
    for (long n = 1;; n++) {
        sr__fail_allocations(n, false);
        const sr_status status = sr_graph_copy_new(c.machine->backends[0], c.graph, NULL, &copy, &err);
        sr__fail_allocations(0, false);
        sr_error_clear(&err);
        if (status == SR_OK) {
            break;
        }
        assert_true(status == SR_MEMORY || status == SR_ALLOCATION);
        assert_null(copy);
    }
    sr_graph_copy_free(copy);
    execute_case_free(&c);

    execute_case_init(&c, GRAPH(",\"memory\":128"), 1);
    assert_int_equal(sr_graph_copy_new(c.machine->backends[0], c.graph, NULL, &copy, &err), SR_ALLOCATION);
    assert_string_equal(sr_error_find(&err, "buffer_type")->text, "GPU0");
    sr_error_clear(&err);
    execute_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu), cmocka_unit_test(test_refused), cmocka_unit_test(test_from_elsewhere),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("single", tests, NULL, NULL);
}
