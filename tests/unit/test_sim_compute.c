/*
 * test_sim_compute.c - tests of src/backends/sim: computes over shared and foreign memory, queued errors, faults.
 *
 * Layer: tests.
 */
#include "backend/hostmem.h"
#include "support/backend_fixture.h"

static void set_all(const sr_storage *at, int64_t n, float value) {
    float *data = (float *)(void *)(sr__buffer_memory(at->buffer) + at->offset);
    for (int64_t i = 0; i < n; i++) {
        data[i] = value;
    }
}

enum { NE0 = 1024, NE1 = 8 };

/* y = x + 1 over and over, the second half of the rounds on another backend that uses the first one's memory. */
static void check_foreign(sr_machine *m, sr_buffer_type *type) {
    enum { ROUNDS = 60 };
    sr_error err = {0};
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, NE0, NE1), one = bf_leaf(graph, "one", SR_TYPE_F32, NE0, NE1);
    const int32_t y = bf_node(graph, "y", SR_OP_ADD, BF_ARRAY(x, one), 2);
    const int32_t z = bf_node(graph, "z", SR_OP_ADD, BF_ARRAY(y, one), 2);
    bf_run run;
    bf_run_init(&run, graph, type);
    set_all(&run.storage[x], NE0 * NE1, 0.0f);
    set_all(&run.storage[one], NE0 * NE1, 1.0f);
    /* x and z are one: each round adds 2 */
    run.storage[z] = run.storage[x];
    const int32_t nodes[2] = {y, z};
    sr_graph_view first = run.view, second = run.view;
    first.nodes = nodes;
    second.nodes = nodes + 1;
    first.n_nodes = second.n_nodes = 1;
    for (int i = 0; i < ROUNDS; i++) {
        bf_ok(sr_backend_compute_async(m->backends[i % 2], &first, &err), &err);
        bf_ok(sr_backend_compute_async(m->backends[(i + 1) % 2], &second, &err), &err);
    }
    bf_ok(sr_backend_synchronize(m->backends[0], &err), &err);
    bf_ok(sr_backend_synchronize(m->backends[1], &err), &err);
    bf_all_equal(&run, x, 2.0f * ROUNDS);
    bf_run_free(&run);
}

static void test_foreign_memory(void **state) {
    (void)state;
    const char *accepts[] = {"GPU0"};
    for (int at_once = 0; at_once < 4; at_once++) {
        sr_backend_config configs[] = {bf_config("GPU0", "sim"), bf_config("GPU1", "sim"), bf_config("CPU", "cpu")};
        configs[0].async = !(at_once & 1);
        configs[1].async = !(at_once & 2);
        configs[1].accepts = accepts;
        configs[1].n_accepts = 1;
        sr_machine *m = bf_machine(configs, 3);
        check_foreign(m, m->backends[0]->buffer_type);
        sr_machine_free(m);
    }
}

static void test_shared_type(void **state) {
    (void)state;
    for (int at_once = 0; at_once < 4; at_once++) {
        sr_backend_config configs[] = {bf_config("GPU0", "sim"), bf_config("GPU1", "sim"), bf_config("CPU", "cpu")};
        configs[0].buffer_type = configs[1].buffer_type = "POOL";
        configs[0].async = !(at_once & 1);
        configs[1].async = !(at_once & 2);
        sr_machine *m = bf_machine(configs, 3);
        check_foreign(m, m->backends[0]->buffer_type);
        sr_machine_free(m);
    }
}

/* Host memory is free for anyone when the call returns: no synchronize here. */
static void test_host_memory(void **state) {
    (void)state;
    const char *accepts[] = {"CPU"};
    sr_error err = {0};
    sr_backend_config configs[] = {bf_config("GPU0", "sim"), bf_config("ACC", "sim"), bf_config("CPU", "cpu")};
    configs[0].accepts = accepts;
    configs[0].n_accepts = 1;
    configs[1].buffer_type = "CPU";
    sr_machine *m = bf_machine(configs, 3);
    for (int b = 0; b < 3; b++) {
        sr_graph *graph = bf_graph();
        const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, NE0, NE1), y = bf_node(graph, "y", SR_OP_SQR, &x, 1);
        bf_run run;
        bf_run_init(&run, graph, sr_host_buffer_type());
        for (int i = 1; i < 20; i++) {
            set_all(&run.storage[x], NE0 * NE1, (float)i);
            bf_ok(sr_backend_compute_async(m->backends[b], &run.view, &err), &err);
            bf_all_equal(&run, y, (float)(i * i));
        }
        bf_run_free(&run);
    }
    sr_machine_free(m);
}

/* What failed on the source of a copy has failed on its destination. */
static void test_error_travels(void **state) {
    (void)state;
    sr_error err = {0};
    sr_backend_config configs[] = {bf_config("GPU0", "sim"), bf_config("GPU1", "sim"), bf_config("CPU", "cpu")};
    configs[0].fail.given = configs[0].fail.has_compute_op = true;
    configs[0].fail.compute_op = bf_rule(SR_OP_SQRT, "SQRT");
    sr_machine *m = bf_machine(configs, 3);
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, 8, 1), y = bf_node(graph, "y", SR_OP_SQR, &x, 1);
    const int32_t z = bf_node(graph, "z", SR_OP_SQRT, &y, 1);
    sr_buffer *other;
    bf_run run;
    bf_run_init(&run, graph, m->backends[0]->buffer_type);
    bf_ok(sr_buffer_type_alloc(m->backends[1]->buffer_type, 32, &other, &err), &err);
    bf_ok(sr_buffer_clear(other, 0, &err), &err);
    set_all(&run.storage[x], 8, 3.0f);
    const sr_storage to = {other, 0};
    bf_ok(sr_backend_compute_async(m->backends[0], &run.view, &err), &err);
    const sr_status status = sr_backend_copy_async(m->backends[0], m->backends[1], &run.storage[z], &to, 32, &err);
    if (status == SR_OK) { /* else the failure had been told already */
        assert_int_equal(sr_backend_synchronize(m->backends[1], &err), SR_COMPUTE);
        assert_string_equal(sr_error_find(&err, "backend")->text, "GPU0");
        assert_string_equal(sr_error_find(&err, "node")->text, "z");
        sr_error_clear(&err);
        assert_int_equal(sr_backend_synchronize(m->backends[0], &err), SR_COMPUTE);
    }
    assert_string_equal(sr_error_find(&err, "node")->text, "z");
    assert_string_equal(sr_error_find(&err, "op")->text, "SQRT");
    sr_error_clear(&err);
    bf_all_equal(&run, y, 9.0f); /* what came before it was done */
    bf_ok(sr_backend_synchronize(m->backends[0], &err), &err);
    sr_buffer_free(other);
    bf_run_free(&run);
    sr_machine_free(m);
}

static void test_fault_at_once(void **state) {
    (void)state;
    sr_error err = {0};
    sr_backend_config configs[] = {bf_config("GPU0", "sim"), bf_config("CPU", "cpu")};
    configs[0].async = false;
    configs[0].fail.given = configs[0].fail.has_compute_op = true;
    configs[0].fail.compute_op = bf_rule(SR_OP_SQRT, "SQRT");
    sr_machine *m = bf_machine(configs, 2);
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, 8, 1), y = bf_node(graph, "y", SR_OP_SQR, &x, 1);
    const int32_t z = bf_node(graph, "z", SR_OP_SQRT, &y, 1);
    (void)z;
    bf_run run;
    bf_run_init(&run, graph, m->backends[0]->buffer_type);
    set_all(&run.storage[x], 8, 3.0f);
    bf_fails(sr_backend_compute_async(m->backends[0], &run.view, &err), SR_COMPUTE, &err,
             "backend 'GPU0': node 'z' (SQRT): failed as the description asks");
    bf_all_equal(&run, y, 9.0f);
    bf_run_free(&run);
    sr_machine_free(m);
}

/* Every allocation of a queued compute over foreign memory fails once: an error, no hang, no leak. */
static void test_out_of_memory(void **state) {
    (void)state;
    const char *accepts[] = {"GPU0"};
    sr_error err = {0};
    sr_backend_config configs[] = {bf_config("GPU0", "sim"), bf_config("GPU1", "sim"), bf_config("CPU", "cpu")};
    configs[1].accepts = accepts;
    configs[1].n_accepts = 1;
    sr_machine *m = bf_machine(configs, 3);
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, 8, 1), y = bf_node(graph, "y", SR_OP_SQR, &x, 1);
    bf_run run;
    bf_run_init(&run, graph, m->backends[0]->buffer_type);
    set_all(&run.storage[x], 8, 3.0f);
    sr_event *event;
    bf_ok(sr_event_new(m->backends[1]->device, &event, &err), &err);
    sr_status status;
    long n = 1;
    do {
        sr__fail_allocations(n++, false);
        status = sr_backend_compute_async(m->backends[1], &run.view, &err);
        if (status == SR_OK) {
            status = sr_event_record(event, m->backends[1], &err);
        }
        if (status == SR_OK) {
            status = sr_event_wait(m->backends[0], event, &err);
        }
        if (status == SR_OK) {
            status = sr_backend_synchronize(m->backends[1], &err);
        }
        sr_error_clear(&err);
        sr_backend_synchronize(m->backends[1], NULL);
        sr_backend_synchronize(m->backends[0], NULL);
    } while (status != SR_OK);
    sr__fail_allocations(0, false);
    assert_true(n > 8);
    bf_all_equal(&run, y, 9.0f);
    sr_event_free(event);
    bf_run_free(&run);
    sr_machine_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_foreign_memory), cmocka_unit_test(test_shared_type),
        cmocka_unit_test(test_host_memory),    cmocka_unit_test(test_error_travels),
        cmocka_unit_test(test_fault_at_once),  cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
