/*
 * test_gpu_trace.c - tests of src/backends/gpu/gpu_trace.c: what a device did, by its own clock or the host's.
 *
 * Layer: tests.
 */
#include "support/gpu_fake.h"

enum { SIZE = 64 };

/* A write, a copy to B, a read there. */
static void work(fake_pair *p, sr_buffer *a, sr_buffer *b) {
    sr_error err = {0};
    static uint8_t bytes[SIZE];
    const sr_storage from = {a, 0}, to = {b, 0};
    for (int i = 0; i < 2; i++) {
        p->backend[i].subject = (sr_trace_subject){.name = "t", .from = "A", .to = "B", .split = 3};
    }
    bf_ok(sr_backend_set_async(&p->backend[0], a, bytes, 0, SIZE, &err), &err);
    bf_ok(sr_backend_copy_async(&p->backend[0], &p->backend[1], &from, &to, SIZE, &err), &err);
    bf_ok(sr_backend_get_async(&p->backend[1], b, bytes, 0, SIZE, &err), &err);
    bf_ok(sr_backend_synchronize(&p->backend[0], &err), &err);
    bf_ok(sr_backend_synchronize(&p->backend[1], &err), &err);
}

static void run_with(const sr__gpu_runtime *runtime, bool by_host, long fail_at, size_t expected) {
    fake_pair p;
    sr_error err = {0};
    sr_trace *trace;
    size_t n;
    fake_reset();
    bf_ok(fake_pair_open(&p, runtime, &err), &err);
    sr_buffer *a, *b;
    bf_ok(sr_buffer_type_alloc(p.backend[0].buffer_type, SIZE, &a, &err), &err);
    bf_ok(sr_buffer_type_alloc(p.backend[1].buffer_type, SIZE, &b, &err), &err);
    bf_ok(sr_trace_new(&trace, &err), &err);
    work(&p, a, b); /* nobody asks for times */
    sr_backend_set_trace(&p.backend[0], trace);
    sr_backend_set_trace(&p.backend[1], trace);
    const uint64_t before = sr_trace_now();
    fake.fail_at = fail_at > 0 ? fake.calls + fail_at : 0;
    work(&p, a, b);
    const sr_trace_event *events = sr_trace_events(trace, &n);
    assert_int_equal(n, expected);
    uint64_t last[2] = {0, 0};
    for (size_t i = 0; i < n; i++) {
        const int track = events[i].track[0] - 'A';
        assert_int_equal(events[i].kind, SR_TRACE_COPY);
        assert_string_equal(events[i].name, "t");
        assert_string_equal(events[i].from, "A");
        assert_int_equal(events[i].bytes, SIZE);
        assert_int_equal(events[i].split, 3);
        assert_true(fail_at > 0 || events[i].by_host == by_host);
        assert_true(events[i].end >= events[i].begin && events[i].begin >= last[track]);
        assert_true(!by_host || events[i].begin >= before);
        last[track] = events[i].end;
    }
    fake.fail_at = 0;
    sr_backend_set_trace(&p.backend[0], NULL);
    sr_backend_set_trace(&p.backend[1], NULL);
    work(&p, a, b);
    (void)sr_trace_events(trace, &n);
    assert_int_equal(n, expected);
    sr_buffer_free(a);
    sr_buffer_free(b);
    fake_pair_close(&p);
    assert_int_equal(fake.live, 0);
    sr_trace_free(trace);
}

static void test_times(void **state) {
    (void)state;
    run_with(&fake_runtime, false, 0, 4);
    run_with(&fake_plain_runtime, true, 0, 4);
}

/* Without times the host's stand in; the work itself is not touched. */
static void test_no_times(void **state) {
    (void)state;
    run_with(&fake_runtime, false, 1, 4); /* the stream keeps none at first */
    run_with(&fake_runtime, false, 2, 4); /* no event to compare the clocks with */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_times), cmocka_unit_test(test_no_times)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
