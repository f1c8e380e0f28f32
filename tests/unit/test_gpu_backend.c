/*
 * test_gpu_backend.c - tests of src/backends/gpu/: gpu_backend.c, gpu_device.c, gpu_buffer.c, gpu_events.c,
 * gpu_scratch.c.
 *
 * Layer: tests.  Over a language without a device, so that every call can fail and every missing wait shows.
 */
#include <stdio.h>

#include "support/gpu_fake.h"

enum { N = 64 };

static void open_pair(fake_pair *pair, const sr__gpu_runtime *runtime) {
    sr_error err = {0};
    fake_reset();
    bf_ok(fake_pair_open(pair, runtime, &err), &err);
}

static void close_pair(fake_pair *pair) {
    fake_pair_close(pair);
    assert_int_equal(fake.live, 0);
}

static sr_buffer *alloc(sr_buffer_type *type, size_t size) {
    sr_error err = {0};
    sr_buffer *buffer;
    bf_ok(sr_buffer_type_alloc(type, size, &buffer, &err), &err);
    return buffer;
}

/* x + y, then n - 1 times + y again. */
static int32_t chain(bf_run *run, sr_buffer_type *type, int n, int32_t *out_x, int32_t *out_y) {
    sr_graph *graph = bf_graph();
    *out_x = bf_leaf(graph, "x", SR_TYPE_F32, N, 1);
    *out_y = bf_leaf(graph, "y", SR_TYPE_F32, N, 1);
    int32_t last = *out_x;
    for (int i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        last = bf_node(graph, name, SR_OP_ADD, BF_ARRAY(last, *out_y), 2);
    }
    bf_run_init(run, graph, type);
    return last;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

static void test_nothing_is_done_before_a_wait(void **state) {
    (void)state;
    fake_pair p;
    sr_error err = {0};
    uint8_t in[N], out[N] = {0};
    open_pair(&p, &fake_runtime);
    sr_buffer *a = alloc(p.backend[0].buffer_type, N);
    memset(in, 7, N);
    bf_ok(sr_backend_set_async(&p.backend[0], a, in, 0, N, &err), &err);
    memset(in, 9, N);
    bf_ok(sr_backend_get_async(&p.backend[0], a, out, 0, N, &err), &err);
    assert_int_equal(out[0], 0);
    bf_ok(sr_backend_synchronize(&p.backend[0], &err), &err);
    assert_int_equal(out[0], 7);
    sr_buffer_free(a);
    close_pair(&p);
}

/* The copy sees what both have queued before it, and neither's later work overtakes it. */
static void test_copy_between_streams(void **state) {
    (void)state;
    fake_pair p;
    sr_error err = {0};
    uint8_t in[N], out[N];
    open_pair(&p, &fake_runtime);
    sr_buffer *a = alloc(p.backend[0].buffer_type, N), *b = alloc(p.backend[1].buffer_type, N);
    const sr_storage from = {a, 0}, to = {b, 0};
    memset(in, 1, N);
    bf_ok(sr_backend_set_async(&p.backend[0], a, in, 0, N, &err), &err);
    memset(in, 3, N);
    bf_ok(sr_backend_set_async(&p.backend[1], b, in, 0, N, &err), &err);
    bf_ok(sr_backend_copy_async(&p.backend[0], &p.backend[1], &from, &to, N, &err), &err);
    memset(in, 2, N);
    bf_ok(sr_backend_set_async(&p.backend[0], a, in, 0, N, &err), &err);
    bf_ok(sr_backend_get_async(&p.backend[1], b, out, 0, N, &err), &err);
    bf_ok(sr_backend_synchronize(&p.backend[1], &err), &err);
    assert_int_equal(out[0], 1);
    bf_ok(sr_backend_synchronize(&p.backend[0], &err), &err);
    bf_ok(sr_buffer_get(b, out, 0, N, &err), &err);
    assert_int_equal(out[N - 1], 1);
    /* devices that cannot copy to each other: through the host */
    fake.cannot_copy = true;
    bf_ok(sr_backend_copy_async(&p.backend[0], &p.backend[1], &from, &to, N, &err), &err);
    bf_ok(sr_buffer_get(b, out, 0, N, &err), &err);
    assert_int_equal(out[0], 2);
    sr_buffer_free(a);
    sr_buffer_free(b);
    close_pair(&p);
}

static void test_events(void **state) {
    (void)state;
    fake_pair p;
    sr_error err = {0};
    sr_event *event;
    uint8_t in[N], out[N] = {0};
    open_pair(&p, &fake_runtime);
    sr_buffer *a = alloc(p.backend[0].buffer_type, N);
    bf_ok(sr_event_new(p.device[0], &event, &err), &err);
    bf_ok(sr_event_synchronize(event, &err), &err);
    memset(in, 4, N);
    bf_ok(sr_backend_set_async(&p.backend[0], a, in, 0, N, &err), &err);
    bf_ok(sr_backend_get_async(&p.backend[0], a, out, 0, N, &err), &err);
    bf_ok(sr_event_record(event, &p.backend[0], &err), &err);
    bf_ok(sr_event_wait(&p.backend[1], event, &err), &err);
    assert_int_equal(out[0], 0);
    bf_ok(sr_backend_synchronize(&p.backend[1], &err), &err);
    assert_int_equal(out[0], 4);
    /* an event of another kind of device */
    sr_machine *m = bf_gpu_and_cpu();
    sr_event *foreign;
    bf_ok(sr_event_new(m->backends[0]->device, &foreign, &err), &err);
    bf_ok(sr_event_wait(&p.backend[0], foreign, &err), &err);
    bf_fails(sr_event_record(foreign, &p.backend[0], &err), SR_INVALID, &err, "cannot record");
    sr_event_free(foreign);
    sr_machine_free(m);
    sr_event_free(event);
    sr_buffer_free(a);
    close_pair(&p);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

static void test_buffers(void **state) {
    (void)state;
    fake_pair p;
    sr_error err = {0};
    uint8_t bytes[256], out[256];
    sr_buffer *too_large = NULL;
    bool bounced = true;
    open_pair(&p, &fake_runtime);
    sr_buffer *a = alloc(p.backend[0].buffer_type, 256);
    assert_null(a->base);
    bf_ok(sr_buffer_get(a, out, 0, 256, &err), &err);
    assert_int_equal(out[255], 0); /* new memory is zeroed */
    for (int i = 0; i < 256; i++) {
        bytes[i] = (uint8_t)i;
    }
    bf_ok(sr_buffer_set(a, bytes, 0, 256, &err), &err);
    bf_ok(sr_buffer_copy(a, 10, a, 0, 200, &bounced, &err), &err); /* over itself, through scratch */
    assert_false(bounced);
    assert_int_equal(fake.scratch_copies, 1);
    bf_ok(sr_buffer_get(a, out, 10, 200, &err), &err);
    assert_memory_equal(out, bytes, 200);
    bf_ok(sr_buffer_copy(a, 128, a, 0, 100, NULL, &err), &err); /* apart from itself */
    assert_int_equal(fake.scratch_copies, 1);
    bf_fails(sr_buffer_type_alloc(p.backend[0].buffer_type, (size_t)1 << 23, &too_large, &err), SR_ALLOCATION, &err,
             "failed to allocate A buffer of size 8388608");
    fake.capacity = 100;
    assert_int_equal(sr_buffer_type_alloc(p.backend[0].buffer_type, 101, &too_large, &err), SR_ALLOCATION);
    assert_int_equal(sr_error_find(&err, "largest_free")->number, 100);
    sr_error_clear(&err);
    fake.capacity = 1 << 20;
    fake.fail_at = fake.calls + 1;
    fake.fail_with = SR_ALLOCATION;
    bf_fails(sr_buffer_type_alloc(p.backend[0].buffer_type, 64, &too_large, &err), SR_ALLOCATION, &err,
             "memory_new failed: failed to allocate A buffer of size 64");
    assert_null(too_large);
    sr_buffer_free(a);
    fake_pair_close(&p);
    assert_int_equal(fake.live, 0);
}

static void test_pinned(void **state) {
    (void)state;
    fake_pair p;
    sr_error err = {0};
    uint8_t out[100];
    open_pair(&p, &fake_runtime);
    sr_buffer_type *type = p.device[0]->host_buffer_type;
    assert_true(type->is_host);
    assert_string_equal(type->name, "A_Host");
    for (int round = 0; round < 2; round++) { /* the second time the device's driver has none left */
        fake.fail_at = round == 0 ? 0 : fake.calls + 1;
        sr_buffer *h = alloc(type, 100);
        assert_non_null(h->base);
        bf_ok(sr_buffer_memset(h, 5, 10, 20, &err), &err);
        bf_ok(sr_buffer_set(h, "ab", 0, 2, &err), &err);
        bf_ok(sr_buffer_get(h, out, 0, 100, &err), &err);
        assert_int_equal(out[1], 'b');
        assert_int_equal(out[29], 5);
        assert_int_equal(out[30], 0);
        sr_buffer_free(h);
    }
    close_pair(&p);
    open_pair(&p, &fake_plain_runtime);
    assert_null(p.device[0]->host_buffer_type);
    close_pair(&p);
}

static void test_scratch(void **state) {
    (void)state;
    fake_pair p;
    sr_error err = {0};
    sr__gpu_device *device;
    sr__gpu_stream *stream;
    sr__gpu_memory *one, *two;
    open_pair(&p, &fake_runtime);
    bf_ok(fake_runtime.device_open(0, &device, &err), &err);
    bf_ok(fake_runtime.stream_new(device, &stream, &err), &err);
    bf_ok(sr__gpu_scratch(stream, 1000, &one, &err), &err);
    bf_ok(sr__gpu_scratch(stream, 10, &two, &err), &err);
    assert_ptr_equal(one, two);
    bf_ok(sr__gpu_scratch(stream, 1 << 20, &two, &err), &err);
    assert_true(stream->scratch_size >= 1 << 20);
    bf_fails(sr__gpu_scratch(stream, (size_t)1 << 40, &two, &err), SR_ALLOCATION, &err, "intermediate");
    bf_ok(sr__gpu_scratch(stream, 64, &two, &err), &err); /* it works again */
    sr__gpu_stream_end(stream);
    fake_runtime.device_close(device);
    close_pair(&p);
}

/* ---- computing --------------------------------------------------------------------------------------------------- */

static void test_compute(void **state) {
    (void)state;
    fake_pair p;
    sr_error err = {0};
    float ones[N];
    int32_t x, y;
    bf_run run;
    open_pair(&p, &fake_plain_runtime);
    const int32_t last = chain(&run, p.backend[0].buffer_type, 200, &x, &y);
    for (int i = 0; i < N; i++) {
        ones[i] = 1.0f;
    }
    bf_set(&run, x, ones);
    bf_set(&run, y, ones);
    bf_ok(sr_backend_compute(&p.backend[0], &run.view, &err), &err);
    bf_all_equal(&run, last, 201.0f);
    assert_int_equal(fake.launches, 200);
    /* B cannot reach A's memory */
    bf_fails(sr_backend_compute(&p.backend[1], &run.view, &err), SR_UNREACHABLE, &err, "'n0'");
    bf_run_free(&run);
    close_pair(&p);
}

static bool stop_third(void *user) { return ++*(int *)user == 3; }

static void test_abort(void **state) {
    (void)state;
    fake_pair p;
    sr_error err = {0};
    int asked = 0;
    int32_t x, y;
    bf_run run;
    open_pair(&p, &fake_runtime);
    chain(&run, p.backend[0].buffer_type, 5, &x, &y);
    sr_backend_set_abort(&p.backend[0], stop_third, &asked);
    bf_fails(sr_backend_compute(&p.backend[0], &run.view, &err), SR_ABORTED, &err, "'n2'");
    assert_int_equal(fake.launches, 2);
    bf_run_free(&run);
    close_pair(&p);
}

static void test_answers(void **state) {
    (void)state;
    fake_pair p;
    sr_error err = {0};
    sr_device *device = NULL;
    sr_backend_config config = bf_config("G", "fake");
    open_pair(&p, &fake_runtime);
    assert_int_equal(p.device[0]->type, SR_DEVICE_GPU);
    assert_string_equal(p.device[1]->name, "fake:1");
    assert_false(sr_backend_can_offload(&p.backend[0]));
    bf_fails(sr__gpu_device_new(&fake_runtime, 0, &config, sr_host_buffer_type(), -1, &device, &err), SR_INVALID, &err,
             "type of its own");
    bf_ok(sr__gpu_device_new(&fake_runtime, 0, &config, NULL, 32, &device, &err), &err);
    sr_backend backend = {.name = "G", .device = device, .buffer_type = device->buffer_type};
    bf_ok(device->iface->init_backend(device, &backend, &err), &err);
    sr_graph *graph = bf_graph();
    const int32_t w = bf_leaf(graph, "w", SR_TYPE_F32, 8, 8), s = bf_leaf(graph, "s", SR_TYPE_F32, 8, 31);
    const int32_t l = bf_leaf(graph, "l", SR_TYPE_F32, 8, 32);
    const int32_t small = bf_node(graph, "small", SR_OP_MUL_MAT, BF_ARRAY(w, s), 2);
    const int32_t large = bf_node(graph, "large", SR_OP_MUL_MAT, BF_ARRAY(w, l), 2);
    const int32_t future = bf_opaque(graph, "future", "FROM_THE_FUTURE", w);
    bf_ok(sr_graph_finish(graph, &err), &err);
    const sr_graph_view view = sr_graph_whole(graph);
    sr_refusal why;
    assert_false(sr_backend_offload_op(&backend, &view, small));
    assert_true(sr_backend_offload_op(&backend, &view, large));
    assert_int_equal(backend.offload_min_batch, 32);
    assert_false(sr_backend_supports_op(&backend, &view, future, &why));
    assert_string_equal(why.text, "the device has no kernel for this op");
    sr_graph_free(graph);
    backend.iface->free(&backend);
    device->iface->free(device);
    close_pair(&p);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

/* Everything that a schedule does with two devices; the first failure ends it. */
static sr_status use_everything(sr_error *err) {
    fake_pair p;
    sr_buffer *a = NULL, *b = NULL;
    sr_event *event = NULL;
    sr_graph *graph = NULL;
    sr_status status;
    float values[N] = {0};
    SR_TRY(fake_pair_open(&p, &fake_runtime, err));
    SR_TRY(sr_buffer_type_alloc(p.backend[0].buffer_type, 4096, &a, err));
    SR_TRY(sr_buffer_type_alloc(p.backend[1].buffer_type, 4096, &b, err));
    SR_TRY(sr_graph_new("g", &graph, err));
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.name = "x";
    spec.type = SR_TYPE_F32;
    spec.n_dims = 1;
    spec.ne[0] = N;
    SR_TRY(sr_graph_add(graph, &spec, NULL, err));
    sr_tensor_spec_init(&spec);
    spec.name = "y";
    spec.op = SR_OP_ADD;
    spec.srcs = BF_ARRAY(0, 0);
    spec.n_src = 2;
    SR_TRY(sr_graph_add(graph, &spec, NULL, err));
    SR_TRY(sr_graph_finish(graph, err));
    const sr_storage storage[] = {{a, 0}, {a, 1024}}, copied = {b, 512};
    sr_graph_view view = sr_graph_whole(graph);
    view.storage = storage;
    SR_TRY(sr_event_new(p.device[0], &event, err));
    SR_TRY(sr_backend_set_async(&p.backend[0], a, values, 0, sizeof(values), err));
    SR_TRY(sr_backend_compute_async(&p.backend[0], &view, err));
    SR_TRY(sr_backend_copy_async(&p.backend[0], &p.backend[1], &storage[1], &copied, sizeof(values), err));
    SR_TRY(sr_event_record(event, &p.backend[0], err));
    SR_TRY(sr_event_wait(&p.backend[1], event, err));
    SR_TRY(sr_backend_get_async(&p.backend[1], b, values, 512, sizeof(values), err));
    SR_TRY(sr_backend_synchronize(&p.backend[1], err));
    SR_TRY(sr_buffer_copy(b, 0, b, 8, 1024, NULL, err));
done:
    for (int i = 0; i < 2; i++) {
        if (p.backend[i].iface) {
            sr_backend_synchronize(&p.backend[i], NULL);
        }
    }
    if (event) {
        sr_event_free(event);
    }
    sr_graph_free(graph);
    sr_buffer_free(a);
    sr_buffer_free(b);
    fake_pair_close(&p);
    return status;
}

static void test_every_call_fails(void **state) {
    (void)state;
    sr_error err = {0};
    for (long n = 1;; n++) {
        fake_reset();
        fake.fail_at = n;
        const sr_status status = use_everything(&err);
        assert_int_equal(fake.live, 0);
        if (status == SR_OK) {
            assert_true(n > 25); /* all of them have failed once */
            break;
        }
        assert_non_null(strstr(sr_error_message(&err), "failed"));
        sr_error_clear(&err);
    }
    sr_error_clear(&err);
}

static void test_every_allocation_fails(void **state) {
    (void)state;
    for (long n = 1;; n++) {
        sr_error err = {0};
        fake_reset();
        sr__fail_allocations(n, false);
        const sr_status status = use_everything(&err);
        sr__fail_allocations(0, false);
        assert_int_equal(fake.live, 0);
        sr_error_clear(&err);
        if (status == SR_OK) {
            assert_true(n > 20);
            break;
        }
        assert_int_equal(status, SR_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_done_before_a_wait),
        cmocka_unit_test(test_copy_between_streams),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_pinned),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_compute),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_every_call_fails),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
