/*
 * test_hostmem.c - tests of src/backend/hostmem.c and bufftype.c: the host's type, hidden memory, hooks, reach.
 *
 * Layer: tests.
 */
#include "backend/hostmem.h"
#include "backend/reach.h"
#include "support/backend_fixture.h"

static void test_host_type(void **state) {
    (void)state;
    const sr_buffer_type *type = sr_host_buffer_type();
    assert_string_equal(type->name, "CPU");
    assert_int_equal(type->alignment, 32);
    assert_true(type->max_size == SIZE_MAX);
    assert_true(type->is_host);
    assert_ptr_equal(type, sr_host_buffer_type());
    assert_string_equal(sr_usage_name(SR_USAGE_WEIGHTS), "weights");
    assert_string_equal(sr_usage_name(SR_USAGE_COMPUTE), "compute");
    assert_string_equal(sr_device_type_name(SR_DEVICE_IGPU), "igpu");
    size_t free_bytes, total;
    sr__host_memory(&free_bytes, &total);
    assert_true(total > 0 && free_bytes <= total);
}

/* On the heap and in pages, with alignments of either and beyond. */
static void test_alignments(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 100, 65536, 65537, 1 << 20};
    sr_error err = {0};
    for (size_t alignment = 1; alignment <= 1 << 16; alignment *= 2) {
        for (int i = 0; i < SR_COUNT(sizes); i++) {
            sr_buffer_type type;
            sr_buffer *buffer;
            sr__memory_type_init(&type, "T", alignment, SIZE_MAX, i % 2 == 0);
            bf_ok(sr_buffer_type_alloc(&type, sizes[i], &buffer, &err), &err);
            char *data = sr__buffer_memory(buffer);
            assert_int_equal((uintptr_t)data % alignment, 0);
            assert_ptr_equal(buffer->base, i % 2 == 0 ? data : NULL);
            assert_int_equal(data[0], 0);
            assert_int_equal(data[sizes[i] - 1], 0);
            bf_ok(sr_buffer_clear(buffer, 1, &err), &err);
            assert_int_equal(data[sizes[i] - 1], 1);
            sr_buffer_free(buffer);
        }
    }
    assert_null(sr__buffer_memory(NULL));
}

/* ---- hooks ---- */

static int n_transfers, n_released;

static sr_status refuse_third(const sr_buffer *buffer, size_t size, sr_error *err) {
    (void)size;
    return ++n_transfers == 3 ? sr__fail(err, SR_COMPUTE, "%s is tired", buffer->type->name) : SR_OK;
}

static void count_released(const sr_buffer *buffer) {
    (void)buffer;
    n_released++;
}

static const sr__memory_hooks hooks = {.transfer = refuse_third, .released = count_released};

static sr_status hooked_alloc(sr_buffer_type *type, size_t size, sr_buffer **out_buffer, sr_error *err) {
    return sr__memory_buffer_new(type, size, &hooks, out_buffer, err);
}

static void test_hooks(void **state) {
    (void)state;
    static const sr_buffer_type_i hooked_i = {.alloc_buffer = hooked_alloc};
    sr_buffer_type one = {.iface = &hooked_i, .name = "one", .alignment = 8, .max_size = SIZE_MAX}, two = one;
    sr_error err = {0};
    sr_buffer *a, *b, *plain;
    uint8_t bytes[8] = {1, 2, 3};
    sr_buffer_type hidden;
    two.name = "two";
    sr__memory_type_init(&hidden, "hidden", 8, SIZE_MAX, false);
    bf_ok(sr_buffer_type_alloc(&one, 8, &a, &err), &err);
    bf_ok(sr_buffer_type_alloc(&two, 8, &b, &err), &err);
    bf_ok(sr_buffer_type_alloc(&hidden, 8, &plain, &err), &err);
    n_transfers = n_released = 0;
    bf_ok(sr_buffer_set(a, bytes, 0, 8, &err), &err);
    /* same hooks: directly, counted on both sides; the second is the third transfer */
    bool bounced;
    bf_fails(sr_buffer_copy(b, 0, a, 0, 8, &bounced, &err), SR_COMPUTE, &err, "two is tired");
    bf_ok(sr_buffer_copy(b, 0, a, 0, 8, &bounced, &err), &err);
    assert_false(bounced);
    bf_ok(sr_buffer_copy(plain, 0, b, 0, 8, &bounced, &err), &err);
    assert_true(bounced);
    assert_int_equal(sr__buffer_memory(plain)[1], 2);
    sr_buffer_free(a);
    sr_buffer_free(b);
    sr_buffer_free(plain);
    assert_int_equal(n_released, 2);
}

static void test_reach(void **state) {
    (void)state;
    sr_error err = {0};
    sr_machine *machine = bf_gpu_and_cpu();
    sr_buffer *gpu, *host;
    bf_ok(sr_buffer_type_alloc(machine->backends[0]->buffer_type, 64, &gpu, &err), &err);
    bf_ok(sr_buffer_type_alloc(machine->backends[1]->buffer_type, 64, &host, &err), &err);
    const sr_storage in_gpu = {gpu, 16}, in_host = {host, 16}, nowhere = {NULL, 0};
    assert_null(gpu->base);
    assert_ptr_equal(sr__storage_memory(&in_gpu), sr__buffer_memory(gpu) + 16);
    assert_ptr_equal(sr__storage_memory(&in_host), (char *)host->base + 16);
    assert_null(sr__storage_memory(&nowhere));
    sr_buffer_free(gpu);
    sr_buffer_free(host);
    sr_machine_free(machine);
}

static void test_failures(void **state) {
    (void)state;
    sr_error err = {0};
    sr_buffer *buffer;
    bf_fails(sr_buffer_type_alloc(sr_host_buffer_type(), SIZE_MAX - 5, &buffer, &err), SR_ALLOCATION, &err,
             "failed to allocate CPU buffer of size 1844674407370955161");
    for (long n = 1; n <= 2; n++) {
        for (size_t size = 0; size < 1 << 20; size += 500000) {
            sr__fail_allocations(n, true);
            const sr_status status = sr_buffer_type_alloc(sr_host_buffer_type(), size, &buffer, &err);
            sr__fail_allocations(0, false);
            if (n == 2 && size == 0) {
                bf_ok(status, &err);
                sr_buffer_free(buffer);
            } else {
                assert_int_equal(status, n == 1 ? SR_MEMORY : SR_ALLOCATION);
                assert_null(buffer);
            }
            sr_error_clear(&err);
        }
    }
}

/* An interface that answers too little never wins over the tensor's own size. */
static size_t too_little(const sr_buffer_type *type, const sr_graph_view *view, int32_t tensor) {
    (void)type, (void)view, (void)tensor;
    return 3;
}

static void test_alloc_size(void **state) {
    (void)state;
    static const sr_buffer_type_i small_i = {.alloc_size = too_little};
    const sr_buffer_type type = {.iface = &small_i, .name = "small", .alignment = 1};
    sr_error err = {0};
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, 4, 4);
    bf_ok(sr_graph_finish(graph, &err), &err);
    const sr_graph_view view = sr_graph_whole(graph);
    assert_int_equal(sr_buffer_type_alloc_size(&type, &view, x), 64);
    assert_int_equal(sr_buffer_type_alloc_size(sr_host_buffer_type(), &view, x), 64);
    sr_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_type), cmocka_unit_test(test_alignments), cmocka_unit_test(test_hooks),
        cmocka_unit_test(test_reach),     cmocka_unit_test(test_failures),   cmocka_unit_test(test_alloc_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
