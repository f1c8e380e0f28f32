/*
 * test_sim_memory.c - tests of src/backends/sim/sim_memory.c and sim_device.c: capacity, extra bytes, offload, faults.
 *
 * Layer: tests.
 */
#include "support/backend_fixture.h"

static sr_machine *machine_with(sr_backend_config gpu) {
    sr_backend_config configs[] = {gpu, bf_config("CPU", "cpu")};
    return bf_machine(configs, 2);
}

static void test_capacity(void **state) {
    (void)state;
    sr_error err = {0};
    sr_backend_config config = bf_config("GPU0", "sim");
    config.has_memory = true;
    config.memory = 1000;
    config.max_buffer_size = 100; /* what a chunk offers, no limit to a request */
    sr_machine *m = machine_with(config);
    sr_buffer_type *type = m->backends[0]->buffer_type;
    sr_device *device = m->backends[0]->device;
    sr_buffer *a, *b, *c;
    size_t free_bytes, total;
    assert_int_equal(type->max_size, 100);
    bf_ok(sr_buffer_type_alloc(type, 600, &a, &err), &err);
    assert_int_equal(sr_buffer_type_alloc(type, 401, &b, &err), SR_ALLOCATION);
    assert_string_equal(sr_error_message(&err), "failed to allocate GPU0 buffer of size 401");
    assert_string_equal(sr_error_find(&err, "buffer_type")->text, "GPU0");
    assert_int_equal(sr_error_find(&err, "size")->number, 401);
    assert_int_equal(sr_error_find(&err, "largest_free")->number, 400);
    sr_error_clear(&err);
    bf_ok(sr_buffer_type_alloc(type, 400, &b, &err), &err);
    bf_ok(sr_buffer_type_alloc(type, 0, &c, &err), &err);
    device->iface->memory(device, &free_bytes, &total);
    assert_int_equal(total, 1000);
    assert_int_equal(free_bytes, 0);
    sr_buffer_free(a);
    device->iface->memory(device, &free_bytes, &total);
    assert_int_equal(free_bytes, 600);
    /* a failure of the host gives the bytes back */
    sr__fail_allocations(1, true);
    assert_int_equal(sr_buffer_type_alloc(type, 600, &a, &err), SR_MEMORY);
    sr__fail_allocations(0, false);
    bf_ok(sr_buffer_type_alloc(type, 600, &a, &err), &err);
    sr_buffer_free(a);
    sr_buffer_free(b);
    sr_buffer_free(c);
    sr_machine_free(m);
}

static void test_unlimited(void **state) {
    (void)state;
    size_t free_bytes = 1, total = 1;
    sr_machine *m = bf_gpu_and_cpu();
    sr_device *device = m->backends[0]->device;
    const sr_buffer_type *type = device->buffer_type;
    device->iface->memory(device, &free_bytes, &total);
    assert_int_equal(total, 0);
    assert_int_equal(type->alignment, 128);
    assert_true(type->max_size == SIZE_MAX);
    assert_false(type->is_host);
    assert_ptr_equal(type->device, device);
    sr_machine_free(m);
}

static sr_alloc_extra *extra(const char *bytes) {
    sr_alloc_extra *e = sr__calloc(1, sizeof(*e));
    assert_non_null(e);
    e->rule = bf_rule(SR_OP_SQR, "SQR");
    e->bytes = sr__strdup(bytes);
    return e;
}

static void test_alloc_extra(void **state) {
    (void)state;
    static const struct { const char *bytes; size_t size; const char *problem; } cases[] = {
        {"ne0 * ne1 + nbytes", 64 + 16 + 64, NULL},
        {"ne2 + ne3 + 8", 64 + 10, NULL},
        {"ne9", 64, "alloc_extra 'ne9'"},
        {"ne0 - 10", 64, "less than none"},
        {"nbytes / 7", 64, "alloc_extra"},
        {"9223372036854775807", (size_t)INT64_MAX + 64, NULL},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        sr_error err = {0};
        sr_backend_config config = bf_config("GPU0", "sim");
        config.alloc_extra = extra(cases[i].bytes);
        config.n_alloc_extra = 1;
        sr_machine *m = machine_with(config);
        sr_buffer_type *type = m->backends[0]->buffer_type;
        sr_graph *graph = bf_graph();
        const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, 4, 4), y = bf_node(graph, "y", SR_OP_SQR, &x, 1);
        bf_ok(sr_graph_finish(graph, &err), &err);
        sr_graph_view view = sr_graph_whole(graph);
        const sr_extra copy = {.of = y, .kind = SR_EXTRA_COPY};
        view.extra = &copy;
        view.n_extra = 1;
        assert_int_equal(sr_buffer_type_alloc_size(type, &view, x), 64);
        assert_int_equal(sr_buffer_type_alloc_size(type, &view, y), cases[i].size);
        assert_int_equal(sr_buffer_type_alloc_size(type, &view, graph->n_tensors), 64); /* a copy is of op NONE */
        sr_buffer *buffer;
        if (cases[i].problem) {
            bf_fails(sr_buffer_type_alloc(type, 64, &buffer, &err), SR_INVALID, &err, cases[i].problem);
        } else {
            bf_ok(sr_buffer_type_alloc(type, 64, &buffer, &err), &err);
            sr_buffer_free(buffer);
        }
        sr_graph_free(graph);
        sr_machine_free(m);
    }
}

static void test_offload(void **state) {
    (void)state;
    sr_error err = {0};
    sr_backend_config configs[] = {bf_config("NEVER", "sim"), bf_config("BIG", "sim"), bf_config("SOME", "sim"),
                                   bf_config("CPU", "cpu")};
    configs[1].offload_min_batch = 32;
    configs[2].offload_min_batch = 0;
    configs[2].has_offload_ops = true;
    configs[2].offload_ops = bf_rules(bf_rule(SR_OP_SQR, "SQR"));
    sr_machine *m = bf_machine(configs, 4);
    sr_graph *graph = bf_graph();
    const int32_t small = bf_leaf(graph, "small", SR_TYPE_F32, 4, 31), big = bf_leaf(graph, "big", SR_TYPE_F32, 4, 32);
    const int32_t nodes[] = {bf_node(graph, "a", SR_OP_SQR, &small, 1), bf_node(graph, "b", SR_OP_SQR, &big, 1),
                             bf_node(graph, "c", SR_OP_SQRT, &big, 1)};
    static const bool expected[3][4] = {
        {false, false, true, false}, {false, true, true, false}, {false, true, false, false}};
    bf_ok(sr_graph_finish(graph, &err), &err);
    const sr_graph_view view = sr_graph_whole(graph);
    for (int n = 0; n < 3; n++) {
        for (int b = 0; b < 4; b++) {
            assert_int_equal(sr_backend_offload_op(m->backends[b], &view, nodes[n]), expected[n][b]);
        }
    }
    assert_false(sr_backend_can_offload(m->backends[0]));
    assert_true(sr_backend_can_offload(m->backends[1]));
    sr_graph_free(graph);
    sr_machine_free(m);
}

static void test_types_and_events(void **state) {
    (void)state;
    sr_error err = {0};
    sr_backend_config config = bf_config("A", "sim");
    config.type = SR_DEVICE_ACCEL;
    config.events = false;
    config.host = true;
    sr_machine *m = machine_with(config);
    sr_event *event;
    assert_int_equal(m->backends[0]->device->type, SR_DEVICE_ACCEL);
    assert_true(m->backends[0]->buffer_type->is_host);
    assert_true(sr_backend_supports_buffer_type(m->backends[1], m->backends[0]->buffer_type));
    bf_ok(sr_event_new(m->backends[0]->device, &event, &err), &err);
    assert_null(event);
    sr_machine_free(m);
}

static void test_fault_alloc(void **state) {
    (void)state;
    sr_error err = {0};
    sr_backend_config config = bf_config("GPU0", "sim");
    config.fail.given = true;
    config.fail.alloc_after = 1000;
    sr_machine *m = machine_with(config);
    sr_buffer *buffer;
    bf_ok(sr_buffer_type_alloc(m->backends[0]->buffer_type, 700, &buffer, &err), &err);
    sr_buffer_free(buffer);
    /* what was freed still counts */
    bf_fails(sr_buffer_type_alloc(m->backends[0]->buffer_type, 301, &buffer, &err), SR_ALLOCATION, &err, "of size 301");
    bf_ok(sr_buffer_type_alloc(m->backends[0]->buffer_type, 300, &buffer, &err), &err);
    sr_buffer_free(buffer);
    bf_fails(sr_buffer_type_alloc(m->backends[0]->buffer_type, 1, &buffer, &err), SR_ALLOCATION, &err, NULL);
    sr_machine_free(m);
}

/* The third transfer fails, queued or not, in or out; the fourth does not. */
static void test_fault_copy(void **state) {
    (void)state;
    for (int at_once = 0; at_once < 2; at_once++) {
        sr_error err = {0};
        uint8_t bytes[8] = {0};
        sr_backend_config config = bf_config("GPU0", "sim");
        config.async = !at_once;
        config.fail.given = true;
        config.fail.copy_nth = 3;
        sr_machine *m = machine_with(config);
        sr_buffer *buffer;
        bf_ok(sr_buffer_type_alloc(m->backends[0]->buffer_type, 8, &buffer, &err), &err);
        bf_ok(sr_backend_set_async(m->backends[0], buffer, bytes, 0, 8, &err), &err);
        bf_ok(sr_backend_synchronize(m->backends[0], &err), &err);
        bf_ok(sr_buffer_set(buffer, bytes, 0, 8, &err), &err);
        bf_fails(sr_backend_get_async(m->backends[0], buffer, bytes, 0, 8, &err), SR_COMPUTE, &err, "copy 3 of 'GPU0'");
        bf_ok(sr_backend_get_async(m->backends[0], buffer, bytes, 0, 8, &err), &err);
        bf_ok(sr_backend_synchronize(m->backends[0], &err), &err);
        sr_buffer_free(buffer);
        sr_machine_free(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capacity),   cmocka_unit_test(test_unlimited),        cmocka_unit_test(test_alloc_extra),
        cmocka_unit_test(test_offload),    cmocka_unit_test(test_types_and_events), cmocka_unit_test(test_fault_alloc),
        cmocka_unit_test(test_fault_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
