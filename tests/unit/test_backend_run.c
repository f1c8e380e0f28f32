/*
 * test_backend_run.c - tests of src/backend/backend_run.c and events.c: what is done for a backend that cannot queue.
 *
 * Layer: tests.
 */
#include "support/backend_fixture.h"

static int n_synchronized, n_computed;
static sr_status synchronize_status, compute_status;

static sr_status count_synchronize(sr_backend *backend, sr_error *err) {
    (void)backend;
    n_synchronized++;
    return synchronize_status == SR_OK ? SR_OK : sr__fail(err, synchronize_status, "late trouble");
}

static sr_status count_compute(sr_backend *backend, const sr_graph_view *view, sr_error *err) {
    (void)backend, (void)view;
    n_computed++;
    return compute_status == SR_OK ? SR_OK : sr__fail(err, compute_status, "trouble");
}

static sr_status never_copies(sr_backend *src_backend, sr_backend *dst_backend, const sr_storage *src,
                              const sr_storage *dst, size_t size, bool *done, sr_error *err) {
    (void)src_backend, (void)dst_backend, (void)src, (void)dst, (void)size, (void)err;
    *done = false;
    return SR_OK;
}

static const sr_device_i device_i = {0};
static sr_device device = {.iface = &device_i, .name = "fake"};

static void reset(void) {
    n_synchronized = n_computed = 0;
    synchronize_status = compute_status = SR_OK;
}

static void test_transfers(void **state) {
    (void)state;
    const sr_backend_i iface = {.synchronize = count_synchronize, .copy_async = never_copies};
    sr_backend a = {.iface = &iface, .name = "A", .device = &device};
    sr_backend b = {.iface = &iface, .name = "B", .device = &device};
    sr_error err = {0};
    uint8_t in[8] = {1, 2, 3, 4}, out[8] = {0};
    sr_buffer *x, *y;
    bf_ok(sr_buffer_type_alloc(sr_host_buffer_type(), 8, &x, &err), &err);
    bf_ok(sr_buffer_type_alloc(sr_host_buffer_type(), 8, &y, &err), &err);
    reset();
    bf_ok(sr_backend_set_async(&a, x, in, 0, 8, &err), &err);
    assert_int_equal(n_synchronized, 1);
    bf_ok(sr_backend_get_async(&a, x, out, 0, 8, &err), &err);
    assert_int_equal(n_synchronized, 2);
    assert_memory_equal(in, out, 8);
    bf_ok(sr_backend_set_2d_async(&a, x, in, 0, 1, 4, 2, 1, &err), &err);
    bf_ok(sr_backend_get_2d_async(&a, x, out, 0, 1, 4, 2, 1, &err), &err);
    assert_int_equal(n_synchronized, 4); /* once for all the pieces */
    assert_memory_equal(in, out, 4);
    const sr_storage from = {x, 0}, to = {y, 0}, nowhere = {NULL, 0};
    bf_ok(sr_backend_copy_async(&a, &b, &from, &to, 8, &err), &err);
    assert_int_equal(n_synchronized, 6); /* both sides */
    assert_memory_equal(x->base, y->base, 8);
    bf_ok(sr_backend_copy_async(&a, &b, &from, &from, 8, &err), &err);
    bf_ok(sr_backend_copy_async(&a, &b, &from, &nowhere, 0, &err), &err);
    assert_int_equal(n_synchronized, 6);
    bf_fails(sr_backend_copy_async(&a, &b, &from, &nowhere, 1, &err), SR_INVALID, &err, "'B'");
    bf_fails(sr_backend_copy_async(&a, &b, &from, &to, 9, &err), SR_INVALID, &err, "'A'");
    synchronize_status = SR_COMPUTE;
    bf_fails(sr_backend_set_async(&a, x, in, 0, 8, &err), SR_COMPUTE, &err, "backend 'A': late trouble");
    bf_fails(sr_backend_copy_async(&a, &b, &from, &to, 8, &err), SR_COMPUTE, &err, "backend 'A': late trouble");
    sr_buffer_free(x);
    sr_buffer_free(y);
}

static void test_computes(void **state) {
    (void)state;
    const sr_backend_i iface = {.synchronize = count_synchronize, .compute = count_compute}, empty = {0};
    sr_backend a = {.iface = &iface, .name = "A", .device = &device};
    sr_backend none = {.iface = &empty, .name = "N", .device = &device};
    const sr_graph_view view = {0};
    sr_error err = {0};
    reset();
    bf_ok(sr_backend_compute_async(&a, &view, &err), &err);
    assert_int_equal(n_synchronized, 0);
    bf_ok(sr_backend_compute(&a, &view, &err), &err);
    assert_int_equal(n_computed, 2);
    assert_int_equal(n_synchronized, 1);
    /* the first error is told, and the queue is emptied all the same */
    compute_status = SR_COMPUTE;
    synchronize_status = SR_UNREACHABLE;
    assert_int_equal(sr_backend_compute(&a, &view, &err), SR_COMPUTE);
    assert_string_equal(sr_error_message(&err), "backend 'A': trouble");
    assert_string_equal(sr_error_find(&err, "backend")->text, "A");
    assert_int_equal(n_synchronized, 2);
    compute_status = SR_OK;
    bf_fails(sr_backend_compute(&a, &view, &err), SR_UNREACHABLE, &err, "late trouble");
    assert_int_equal(sr_backend_compute(&a, &view, NULL), SR_UNREACHABLE);
    bf_fails(sr_backend_compute(&none, &view, &err), SR_UNAVAILABLE, &err, "backend 'N': this build cannot");
    bf_ok(sr_backend_synchronize(&none, &err), &err);
    sr_backend_set_threads(&none, 4);
}

/* ---- events ---- */

static sr_status event_synchronize(sr_event *event, sr_error *err) {
    (void)err;
    ++*(int *)event->context;
    return SR_OK;
}

static void test_events(void **state) {
    (void)state;
    const sr_device_i with_events = {.event_synchronize = event_synchronize};
    sr_device other = {.iface = &with_events, .name = "other"};
    const sr_backend_i empty = {0};
    sr_backend backend = {.iface = &empty, .name = "N", .device = &device};
    sr_error err = {0};
    int waited = 0;
    sr_event event = {.device = &other, .context = &waited}, *none = &event;
    bf_ok(sr_event_new(&device, &none, &err), &err);
    assert_null(none);
    sr_event_free(NULL);
    bf_ok(sr_event_wait(&backend, &event, &err), &err); /* no queue: the host waits */
    assert_int_equal(waited, 1);
    bf_fails(sr_event_record(&event, &backend, &err), SR_INVALID, &err, "'N' cannot record");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transfers),
        cmocka_unit_test(test_computes),
        cmocka_unit_test(test_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
