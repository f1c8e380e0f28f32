/*
 * test_backends.c - what every backend must do, by noun: buffer, copy, events, ops, errors.
 *
 * Layer: tests.  One list of checks, run over every driver of the build in every shape that it has.  A check that a
 * driver cannot pass by its nature is listed in `skips`, with the reason.
 */
#include <stdio.h>

#include "support/backend_fixture.h"

/* ---- shapes: the backends that the checks run over -------------------------------------------------------------- */

typedef struct shape {
    const char *name;
    const char *device;
    const char *second; /* of B, if another than A's */
    bool at_once, host, shared, in_host_memory; /* of a sim */
} shape;

static const shape shapes[] = {
    {.name = "cpu", .device = "cpu"},
    {.name = "sim", .device = "sim"},
    {.name = "sim-at-once", .device = "sim", .at_once = true},
    {.name = "sim-host", .device = "sim", .host = true},
    {.name = "sim-shared", .device = "sim", .shared = true},
    {.name = "sim-in-host-memory", .device = "sim", .in_host_memory = true},
    {.name = "blas", .device = "blas"},
    {.name = "null", .device = "null"},
    {.name = "opencl", .device = "opencl"},
    {.name = "opencl-two", .device = "opencl", .second = "opencl:1"},
    {.name = "cuda", .device = "cuda"},
    {.name = "cuda-two", .device = "cuda", .second = "cuda:1"},
};

/* Two backends of the shape, A and B, and the CPU that ends every machine. */
typedef struct fixture {
    const shape *shape;
    sr_machine *machine;
    sr_backend *a, *b, *cpu;
} fixture;

static sr_backend_config shape_config(const shape *s, const char *name, bool second) {
    sr_backend_config config = bf_config(name, second && s->second ? s->second : s->device);
    config.async = !s->at_once;
    config.host = s->host;
    if (s->shared) {
        config.buffer_type = "A";
    }
    if (s->in_host_memory) {
        config.buffer_type = "CPU";
    }
    return config;
}

/* Why this build or machine has no such device, or NULL. */
static const char *absent(const shape *s) {
    for (const sr_driver *const *d = sr_drivers(); *d; d++) {
        if (strcmp((*d)->name, s->device) == 0) {
            const char *why = "no device was found";
            const int n = (*d)->device_count(&why);
            return n == 1 && s->second ? "there is one device only" : n > 0 ? NULL : why;
        }
    }
    return "the driver was not built";
}

static void fixture_init(fixture *f, const shape *s) {
    sr_backend_config configs[] = {shape_config(s, "A", false), shape_config(s, "B", true), bf_config("last", "cpu")};
    f->shape = s;
    f->machine = bf_machine(configs, 3);
    f->a = f->machine->backends[0];
    f->b = f->machine->backends[1];
    f->cpu = f->machine->backends[2];
}

static sr_buffer *buffer_new(const sr_backend *backend, size_t size) {
    sr_error err = {0};
    sr_buffer *buffer;
    bf_ok(sr_buffer_type_alloc(backend->buffer_type, size, &buffer, &err), &err);
    return buffer;
}

static void fill_pattern(uint8_t *bytes, size_t n, unsigned seed) {
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)(seed + i * 7 + i / 251);
    }
}

/* ---- buffer ------------------------------------------------------------------------------------------------------ */

static const char * buffer_empty(fixture *f) {
    sr_error err = {0};
    uint8_t byte = 0;
    sr_buffer *buffer = buffer_new(f->a, 0);
    assert_int_equal(buffer->size, 0);
    assert_null(buffer->base);
    bf_ok(sr_buffer_clear(buffer, 1, &err), &err);
    bf_ok(sr_buffer_set(buffer, &byte, 0, 0, &err), &err);
    bf_fails(sr_buffer_set(buffer, &byte, 0, 1, &err), SR_INVALID, &err, "outside");
    sr_buffer_reset(buffer);
    sr_buffer_free(buffer);
    return NULL;
}

static const char * buffer_alignment(fixture *f) {
    const size_t alignment = f->a->buffer_type->alignment;
    assert_true(alignment > 0 && (alignment & (alignment - 1)) == 0);
    sr_buffer *buffer = buffer_new(f->a, 1000);
    assert_int_equal(buffer->size, 1000);
    assert_ptr_equal(buffer->type, f->a->buffer_type);
    assert_int_equal(buffer->usage, SR_USAGE_ANY);
    if (buffer->base) {
        assert_int_equal((uintptr_t)buffer->base % alignment, 0);
    }
    assert_int_equal(f->a->buffer_type->is_host, buffer->base != NULL);
    sr_buffer_set_usage(buffer, SR_USAGE_WEIGHTS);
    assert_int_equal(buffer->usage, SR_USAGE_WEIGHTS);
    sr_buffer_free(buffer);
    return NULL;
}

static const char * buffer_set_get(fixture *f) {
    enum { SIZE = 70000 };
    static uint8_t in[SIZE], out[SIZE];
    sr_error err = {0};
    sr_buffer *buffer = buffer_new(f->a, SIZE);
    fill_pattern(in, SIZE, 1);
    bf_ok(sr_buffer_set(buffer, in, 0, SIZE, &err), &err);
    bf_ok(sr_buffer_set(buffer, in, 100, 1, &err), &err);
    bf_ok(sr_buffer_get(buffer, out, 0, SIZE, &err), &err);
    assert_int_equal(out[100], in[0]);
    out[100] = in[100];
    assert_memory_equal(in, out, SIZE);
    bf_ok(sr_buffer_get(buffer, out, SIZE - 3, 3, &err), &err);
    assert_memory_equal(in + SIZE - 3, out, 3);
    sr_buffer_free(buffer);
    return NULL;
}

static const char * buffer_ranges(fixture *f) {
    sr_error err = {0};
    uint8_t bytes[16] = {0};
    sr_buffer *buffer = buffer_new(f->a, 64);
    bf_fails(sr_buffer_set(buffer, bytes, 56, 16, &err), SR_INVALID, &err, "64 bytes");
    bf_fails(sr_buffer_get(buffer, bytes, SIZE_MAX, 2, &err), SR_INVALID, &err, "outside");
    bf_fails(sr_buffer_memset(buffer, 0, 65, 0, &err), SR_INVALID, &err, "outside");
    bf_fails(sr_buffer_set_2d(buffer, bytes, 0, 4, 5, 16, 4, &err), SR_INVALID, &err, "outside");
    bf_fails(sr_buffer_get_2d(buffer, bytes, 0, 4, 3, SIZE_MAX / 2, 4, &err), SR_INVALID, &err, "too large");
    bf_fails(sr_backend_set_async(f->a, buffer, bytes, 60, 16, &err), SR_INVALID, &err, "'A'");
    bf_fails(sr_backend_get_async(f->a, buffer, bytes, 60, 16, &err), SR_INVALID, &err, "'A'");
    bf_fails(sr_buffer_copy(buffer, 0, buffer, 60, 5, NULL, &err), SR_INVALID, &err, "outside");
    sr_buffer_free(buffer);
    return NULL;
}

static const char * buffer_memset(fixture *f) {
    sr_error err = {0};
    uint8_t out[256];
    sr_buffer *buffer = buffer_new(f->a, 256);
    bf_ok(sr_buffer_clear(buffer, 7, &err), &err);
    bf_ok(sr_buffer_memset(buffer, 9, 10, 20, &err), &err);
    bf_ok(sr_buffer_get(buffer, out, 0, 256, &err), &err);
    for (int i = 0; i < 256; i++) {
        assert_int_equal(out[i], i >= 10 && i < 30 ? 9 : 7);
    }
    sr_buffer_free(buffer);
    return NULL;
}

static const char * buffer_2d(fixture *f) {
    sr_error err = {0};
    uint8_t in[64], out[64] = {0}, all[256];
    sr_buffer *buffer = buffer_new(f->a, 256);
    fill_pattern(in, sizeof(in), 3);
    bf_ok(sr_buffer_clear(buffer, 0, &err), &err);
    /* 5 pieces of 6 bytes: 40 apart there, 8 apart here */
    bf_ok(sr_buffer_set_2d(buffer, in, 2, 6, 5, 40, 8, &err), &err);
    bf_ok(sr_buffer_get(buffer, all, 0, 256, &err), &err);
    for (int i = 0; i < 5; i++) {
        assert_memory_equal(all + 2 + 40 * i, in + 8 * i, 6);
        assert_int_equal(all[2 + 40 * i + 6], 0);
    }
    bf_ok(sr_buffer_get_2d(buffer, out, 2, 6, 5, 40, 10, &err), &err);
    for (int i = 0; i < 5; i++) {
        assert_memory_equal(out + 10 * i, in + 8 * i, 6);
    }
    memset(out, 0, sizeof(out));
    bf_ok(sr_backend_set_2d_async(f->a, buffer, in, 3, 6, 5, 40, 8, &err), &err);
    bf_ok(sr_backend_get_2d_async(f->a, buffer, out, 3, 6, 5, 40, 10, &err), &err);
    bf_ok(sr_backend_synchronize(f->a, &err), &err);
    for (int i = 0; i < 5; i++) {
        assert_memory_equal(out + 10 * i, in + 8 * i, 6);
    }
    bf_ok(sr_buffer_set_2d(buffer, in, 0, 0, 9, 400, 8, &err), &err);
    bf_ok(sr_buffer_get_2d(buffer, out, 0, 6, 0, 400, 8, &err), &err);
    sr_buffer_free(buffer);
    return NULL;
}

static const char * buffer_untouched(fixture *f) {
    sr_error err = {0};
    uint8_t byte = 5, back = 0;
    sr_buffer *buffer = buffer_new(f->a, (size_t)48 << 30);
    bf_ok(sr_buffer_set(buffer, &byte, ((size_t)48 << 30) - 1, 1, &err), &err);
    bf_ok(sr_buffer_get(buffer, &back, ((size_t)48 << 30) - 1, 1, &err), &err);
    assert_int_equal(back, 5);
    sr_buffer_free(buffer);
    return NULL;
}

/* ---- copy -------------------------------------------------------------------------------------------------------- */

/* Bytes go from one buffer to another, and nothing around them changes. */
static void check_copy(sr_buffer *dst, sr_buffer *src) {
    enum { SIZE = 1000 };
    uint8_t in[SIZE], out[SIZE];
    sr_error err = {0};
    fill_pattern(in, SIZE, 5);
    bf_ok(sr_buffer_set(src, in, 0, SIZE, &err), &err);
    bf_ok(sr_buffer_clear(dst, 0, &err), &err);
    bf_ok(sr_buffer_copy(dst, 50, src, 70, 300, NULL, &err), &err);
    bf_ok(sr_buffer_get(dst, out, 0, SIZE, &err), &err);
    assert_int_equal(out[49], 0);
    assert_memory_equal(out + 50, in + 70, 300);
    assert_int_equal(out[350], 0);
}

static const char * copy_between(fixture *f) {
    sr_buffer *a = buffer_new(f->a, 1000), *other = buffer_new(f->a, 1000), *b = buffer_new(f->b, 1000);
    sr_buffer *host = buffer_new(f->cpu, 1000);
    check_copy(other, a);
    check_copy(b, a);
    check_copy(host, a);
    check_copy(a, host);
    sr_buffer_free(a);
    sr_buffer_free(other);
    sr_buffer_free(b);
    sr_buffer_free(host);
    return NULL;
}

static const char * copy_overlap(fixture *f) {
    enum { SIZE = 3000 };
    uint8_t in[SIZE], out[SIZE];
    sr_error err = {0};
    sr_buffer *a = buffer_new(f->a, SIZE);
    fill_pattern(in, SIZE, 9);
    bf_ok(sr_buffer_set(a, in, 0, SIZE, &err), &err);
    bf_ok(sr_buffer_copy(a, 100, a, 0, 2000, NULL, &err), &err);
    bf_ok(sr_buffer_copy(a, 100, a, 100, 2000, NULL, &err), &err);
    bf_ok(sr_buffer_get(a, out, 100, 2000, &err), &err);
    assert_memory_equal(out, in, 2000);
    bf_ok(sr_buffer_copy(a, 0, a, 100, 2000, NULL, &err), &err);
    bf_ok(sr_buffer_get(a, out, 0, 2000, &err), &err);
    assert_memory_equal(out, in, 2000);
    sr_buffer_free(a);
    return NULL;
}

static const char * copy_async_order(fixture *f) {
    enum { SIZE = 4096, ROUNDS = 50 };
    uint8_t data[SIZE];
    static uint8_t back[ROUNDS][SIZE];
    sr_error err = {0};
    sr_buffer *a = buffer_new(f->a, SIZE), *b = buffer_new(f->b, SIZE);
    const sr_storage from = {a, 0}, to = {b, 0};
    for (unsigned i = 0; i < ROUNDS; i++) {
        /* the data may be overwritten, and the source too, as soon as each call returns */
        fill_pattern(data, SIZE, i);
        bf_ok(sr_backend_set_async(f->a, a, data, 0, SIZE, &err), &err);
        memset(data, 0xEE, SIZE);
        bf_ok(sr_backend_copy_async(f->a, f->b, &from, &to, SIZE, &err), &err);
        bf_ok(sr_backend_get_async(f->b, b, back[i], 0, SIZE, &err), &err);
    }
    bf_ok(sr_backend_synchronize(f->a, &err), &err);
    bf_ok(sr_backend_synchronize(f->b, &err), &err);
    for (unsigned i = 0; i < ROUNDS; i++) {
        fill_pattern(data, SIZE, i);
        assert_memory_equal(data, back[i], SIZE);
    }
    bf_ok(sr_backend_copy_async(f->a, f->a, &from, &from, SIZE, &err), &err);
    bf_ok(sr_backend_synchronize(f->a, &err), &err);
    sr_buffer_free(a);
    sr_buffer_free(b);
    return NULL;
}

static const char * copy_to_host_async(fixture *f) {
    uint8_t in[512], out[512];
    sr_error err = {0};
    sr_buffer *a = buffer_new(f->a, 512), *host = buffer_new(f->cpu, 512);
    const sr_storage at_a = {a, 0}, at_host = {host, 0};
    fill_pattern(in, 512, 17);
    bf_ok(sr_backend_set_async(f->a, a, in, 0, 512, &err), &err);
    bf_ok(sr_backend_copy_async(f->a, f->cpu, &at_a, &at_host, 512, &err), &err);
    bf_ok(sr_buffer_get(host, out, 0, 512, &err), &err);
    assert_memory_equal(in, out, 512);
    fill_pattern(in, 512, 18);
    bf_ok(sr_buffer_set(host, in, 0, 512, &err), &err);
    bf_ok(sr_backend_copy_async(f->cpu, f->a, &at_host, &at_a, 512, &err), &err);
    bf_ok(sr_buffer_clear(host, 0, &err), &err);
    bf_ok(sr_backend_synchronize(f->a, &err), &err);
    bf_ok(sr_buffer_get(a, out, 0, 512, &err), &err);
    assert_memory_equal(in, out, 512);
    sr_buffer_free(a);
    sr_buffer_free(host);
    return NULL;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static const char no_events[] = "the device has no events";

static sr_event *event_new(const sr_backend *backend) {
    sr_error err = {0};
    sr_event *event;
    bf_ok(sr_event_new(backend->device, &event, &err), &err);
    return event;
}

static const char * events_record(fixture *f) {
    sr_error err = {0};
    uint8_t in[64], out[64] = {0};
    sr_event *event = event_new(f->a);
    if (!event) {
        return no_events;
    }
    sr_buffer *a = buffer_new(f->a, 64);
    fill_pattern(in, 64, 2);
    bf_ok(sr_event_synchronize(event, &err), &err); /* never recorded: nothing to wait for */
    bf_ok(sr_event_wait(f->b, event, &err), &err);
    bf_ok(sr_backend_set_async(f->a, a, in, 0, 64, &err), &err);
    bf_ok(sr_backend_get_async(f->a, a, out, 0, 64, &err), &err);
    bf_ok(sr_event_record(event, f->a, &err), &err);
    bf_ok(sr_event_synchronize(event, &err), &err);
    assert_memory_equal(in, out, 64);
    bf_ok(sr_event_record(event, f->a, &err), &err);
    sr_event_free(event); /* recorded, not reached perhaps: that must not matter */
    bf_ok(sr_backend_synchronize(f->a, &err), &err);
    sr_buffer_free(a);
    return NULL;
}

/* B reads on the host's order only what an event of A tells it has been written. */
static const char * events_wait(fixture *f) {
    enum { SIZE = 1 << 16, ROUNDS = 30 };
    static uint8_t in[SIZE], shared[SIZE], out[SIZE];
    sr_error err = {0};
    sr_event *written = event_new(f->a), *read = event_new(f->b);
    if (!written) {
        return no_events;
    }
    sr_buffer *a = buffer_new(f->a, SIZE), *b = buffer_new(f->b, SIZE);
    for (unsigned i = 0; i < ROUNDS; i++) {
        fill_pattern(in, SIZE, i);
        bf_ok(sr_backend_set_async(f->a, a, in, 0, SIZE, &err), &err);
        bf_ok(sr_event_wait(f->a, read, &err), &err);
        bf_ok(sr_backend_get_async(f->a, a, shared, 0, SIZE, &err), &err);
        bf_ok(sr_event_record(written, f->a, &err), &err);
        bf_ok(sr_event_synchronize(written, &err), &err);
        bf_ok(sr_backend_set_async(f->b, b, shared, 0, SIZE, &err), &err);
        bf_ok(sr_event_wait(f->b, written, &err), &err);
        bf_ok(sr_backend_get_async(f->b, b, out, 0, SIZE, &err), &err);
        bf_ok(sr_event_record(read, f->b, &err), &err);
        bf_ok(sr_backend_synchronize(f->b, &err), &err);
        assert_memory_equal(in, out, SIZE);
    }
    bf_ok(sr_backend_synchronize(f->a, &err), &err);
    sr_event_free(written);
    sr_event_free(read);
    sr_buffer_free(a);
    sr_buffer_free(b);
    return NULL;
}

/* ---- ops --------------------------------------------------------------------------------------------------------- */

static void fill_tensor(const bf_run *run, int32_t tensor, float value) {
    const int64_t n = sr_tensor_nelements(&run->graph->tensors[tensor]);
    float *values = sr__malloc((size_t)n * sizeof(float));
    assert_non_null(values);
    for (int64_t i = 0; i < n; i++) {
        values[i] = value;
    }
    bf_set(run, tensor, values);
    sr__free(values);
}

static const char * ops_none_and_views(fixture *f) {
    sr_error err = {0};
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, 8, 4);
    const int32_t t = bf_node(graph, "t", SR_OP_TRANSPOSE, &x, 1);
    bf_run run;
    bf_run_init(&run, graph, f->a->buffer_type);
    assert_true(sr_backend_supports_op(f->a, &run.view, x, NULL));
    assert_true(sr_backend_supports_op(f->a, &run.view, t, NULL));
    assert_true(sr_backend_can_execute(f->a, &run.view, t, NULL));
    fill_tensor(&run, x, 3.0f);
    bf_ok(sr_backend_compute(f->a, &run.view, &err), &err);
    bf_all_equal(&run, x, 3.0f);
    bf_run_free(&run);
    return NULL;
}

static const char * ops_chain(fixture *f) {
    sr_error err = {0};
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, 64, 33), y = bf_leaf(graph, "y", SR_TYPE_F32, 64, 33);
    int32_t last = bf_node(graph, "n0", SR_OP_ADD, BF_ARRAY(x, y), 2);
    for (int i = 1; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        last = bf_node(graph, name, SR_OP_ADD, BF_ARRAY(last, y), 2);
    }
    bf_run run;
    bf_run_init(&run, graph, f->a->buffer_type);
    assert_true(sr_backend_can_execute(f->a, &run.view, last, NULL));
    fill_tensor(&run, x, 1.0f);
    fill_tensor(&run, y, 2.0f);
    bf_ok(sr_backend_compute(f->a, &run.view, &err), &err);
    bf_all_equal(&run, last, 41.0f);
    sr_backend_set_threads(f->a, 3);
    fill_tensor(&run, y, 0.5f);
    bf_ok(sr_backend_compute(f->a, &run.view, &err), &err);
    bf_all_equal(&run, last, 11.0f);
    bf_run_free(&run);
    return NULL;
}

/* The caller's graph, view and storage may go as soon as a compute is queued. */
static const char * ops_forgotten(fixture *f) {
    sr_error err = {0};
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, 4096, 16), y = bf_leaf(graph, "y", SR_TYPE_F32, 4096, 16);
    const int32_t z = bf_node(graph, "z", SR_OP_ADD, BF_ARRAY(x, y), 2);
    bf_run run;
    bf_run_init(&run, graph, f->a->buffer_type);
    fill_tensor(&run, x, 1.0f);
    fill_tensor(&run, y, 2.0f);
    const sr_storage at = run.storage[z];
    const size_t size = graph->tensors[z].nbytes;
    bf_ok(sr_backend_compute_async(f->a, &run.view, &err), &err);
    run.buffer = NULL;
    bf_run_free(&run);
    float *values = sr__malloc(size);
    assert_non_null(values);
    bf_ok(sr_backend_get_async(f->a, at.buffer, values, at.offset, size, &err), &err);
    bf_ok(sr_backend_synchronize(f->a, &err), &err);
    for (size_t i = 0; i < size / sizeof(float); i++) {
        assert_true(values[i] > 2.9f && values[i] < 3.1f);
    }
    sr__free(values);
    sr_buffer_free(at.buffer);
    return NULL;
}

static const char * ops_product(fixture *f) {
    enum { M = 40, N = 36, K = 32 };
    sr_error err = {0};
    sr_graph *graph = bf_graph();
    const int32_t a = bf_leaf(graph, "a", SR_TYPE_F32, K, M), b = bf_leaf(graph, "b", SR_TYPE_F32, K, N);
    const int32_t y = bf_node(graph, "y", SR_OP_MUL_MAT, BF_ARRAY(a, b), 2);
    float av[M * K], bv[N * K], yv[N * M];
    bf_run run;
    bf_run_init(&run, graph, f->a->buffer_type);
    assert_true(sr_backend_supports_op(f->a, &run.view, y, NULL));
    if (!sr_backend_can_execute(f->a, &run.view, y, NULL)) {
        bf_run_free(&run);
        return "this build has no kernel for the op";
    }
    for (int i = 0; i < M * K; i++) {
        av[i] = (float)(i % 7) - 3.0f;
    }
    for (int i = 0; i < N * K; i++) {
        bv[i] = (float)(i % 5) - 2.0f;
    }
    bf_set(&run, a, av);
    bf_set(&run, b, bv);
    bf_ok(sr_backend_compute(f->a, &run.view, &err), &err);
    bf_get(&run, y, yv);
    for (int n = 0; n < N; n++) {
        for (int m = 0; m < M; m++) {
            float sum = 0.0f;
            for (int k = 0; k < K; k++) {
                sum += av[m * K + k] * bv[n * K + k];
            }
            assert_true(yv[n * M + m] > sum - 0.01f && yv[n * M + m] < sum + 0.01f);
        }
    }
    bf_run_free(&run);
    return NULL;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Computing an op that nobody can compute names the node and the backend; then the backend works again. */
static const char * errors_compute(fixture *f) {
    sr_error err = {0};
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, 4, 4);
    const int32_t y = bf_opaque(graph, "y", "FROM_THE_FUTURE", x);
    bf_run run;
    bf_run_init(&run, graph, f->a->buffer_type);
    const char *why = NULL;
    assert_false(sr_backend_can_execute(f->a, &run.view, y, &why));
    assert_non_null(why);
    assert_int_equal(sr_backend_compute(f->a, &run.view, &err), SR_COMPUTE);
    assert_non_null(strstr(sr_error_message(&err), "'y'"));
    assert_string_equal(sr_error_find(&err, "node")->text, "y");
    assert_string_equal(sr_error_find(&err, "op")->text, "FROM_THE_FUTURE");
    assert_string_equal(sr_error_find(&err, "backend")->text, "A");
    sr_error_clear(&err);
    bf_ok(sr_backend_synchronize(f->a, &err), &err);
    run.view.n_nodes = 0;
    bf_ok(sr_backend_compute(f->a, &run.view, &err), &err);
    bf_run_free(&run);
    return NULL;
}

static const char * errors_unreachable(fixture *f) {
    sr_error err = {0};
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, 64, 64), y = bf_leaf(graph, "y", SR_TYPE_F32, 64, 64);
    const int32_t z = bf_node(graph, "z", SR_OP_MUL_MAT, BF_ARRAY(x, y), 2);
    bf_run run;
    bf_run_init(&run, graph, f->a->buffer_type);
    if (!sr_backend_can_execute(f->a, &run.view, z, NULL)) {
        bf_run_free(&run);
        return "this build has no kernel for the op";
    }
    run.storage[y].buffer = NULL;
    bf_fails(sr_backend_compute(f->a, &run.view, &err), SR_UNREACHABLE, &err, "'z'");
    bf_ok(sr_backend_synchronize(f->a, &err), &err);
    bf_run_free(&run);
    return NULL;
}

static const char * errors_memory(fixture *f) {
    sr_error err = {0};
    sr_buffer *buffer = NULL;
    const size_t size = SIZE_MAX - 4096;
    assert_int_equal(sr_buffer_type_alloc(f->a->buffer_type, size, &buffer, &err), SR_ALLOCATION);
    assert_null(buffer);
    assert_string_equal(sr_error_find(&err, "buffer_type")->text, f->a->buffer_type->name);
    assert_true(sr_error_find(&err, "size")->number > 0);
    assert_non_null(sr_error_find(&err, "largest_free"));
    sr_error_clear(&err);
    return NULL;
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

typedef struct check {
    const char *name;
    const char *(*run)(fixture *f); /* why it is to be skipped after all, or NULL */
} check;

static const check checks[] = {
    {"buffer: empty", buffer_empty},
    {"buffer: alignment", buffer_alignment},
    {"buffer: set and get", buffer_set_get},
    {"buffer: ranges", buffer_ranges},
    {"buffer: memset", buffer_memset},
    {"buffer: 2d", buffer_2d},
    {"buffer: untouched", buffer_untouched},
    {"copy: between", copy_between},
    {"copy: overlap", copy_overlap},
    {"copy: order", copy_async_order},
    {"copy: host", copy_to_host_async},
    {"events: record", events_record},
    {"events: wait", events_wait},
    {"ops: none and views", ops_none_and_views},
    {"ops: chain", ops_chain},
    {"ops: forgotten", ops_forgotten},
    {"ops: product", ops_product},
    {"errors: compute", errors_compute},
    {"errors: unreachable", errors_unreachable},
    {"errors: memory", errors_memory},
};

static const struct { const char *device, *check, *reason; } skips[] = {
    {"null", "ops: chain", "it computes nothing"},
    {"null", "ops: forgotten", "it computes nothing"},
    {"null", "ops: product", "it computes nothing"},
    {"null", "errors: compute", "it computes nothing, so nothing fails"},
    {"null", "errors: unreachable", "it computes nothing, so it reaches nothing"},
    {"blas", "ops: chain", "it computes matrix products only"},
    {"blas", "ops: forgotten", "it computes matrix products only"},
    {"opencl", "buffer: untouched", "a real device has no more memory than it has"},
    {"cuda", "buffer: untouched", "a real device has no more memory than it has"},
};

typedef struct work { const shape *shape; const check *check; } work;

static void skip_for(const char *reason) {
    if (reason) {
        print_message("skipped: %s\n", reason);
        skip();
    }
}

static void run_check(void **state) {
    const work *w = *state;
    for (int i = 0; i < SR_COUNT(skips); i++) {
        if (strcmp(skips[i].device, w->shape->device) == 0 && strcmp(skips[i].check, w->check->name) == 0) {
            skip_for(skips[i].reason);
        }
    }
    fixture f;
    fixture_init(&f, w->shape);
    const char *reason = w->check->run(&f);
    sr_machine_free(f.machine);
    skip_for(reason);
}

static void skip_shape(void **state) {
    skip_for(absent(((const work *)*state)->shape));
}

int main(void) {
    enum { MOST = SR_COUNT(shapes) * SR_COUNT(checks) };
    static struct CMUnitTest tests[MOST];
    static work works[MOST];
    static char names[MOST][64];
    size_t n = 0;
    for (int i = 0; i < SR_COUNT(shapes); i++) {
        const bool present = absent(&shapes[i]) == NULL;
        for (int j = 0; j < (present ? SR_COUNT(checks) : 1); j++, n++) {
            works[n] = (work){&shapes[i], &checks[j]};
            snprintf(names[n], sizeof(names[n]), "%s: %s", shapes[i].name, present ? checks[j].name : "all");
            tests[n] = (struct CMUnitTest){.name = names[n], .test_func = present ? run_check : skip_shape,
                                           .initial_state = &works[n]};
        }
    }
    return _cmocka_run_group_tests("backends", tests, n, NULL, NULL);
}
