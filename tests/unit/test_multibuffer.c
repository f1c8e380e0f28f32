/*
 * test_multibuffer.c - tests of src/backend/multibuffer.c.
 *
 * Layer: tests.
 */
#include "support/backend_fixture.h"

static sr_buffer *host_buffer(size_t size) {
    sr_error err = {0};
    sr_buffer *buffer;
    bf_ok(sr_buffer_type_alloc(sr_host_buffer_type(), size, &buffer, &err), &err);
    return buffer;
}

/* 10, 0, 5 and 20 bytes. */
static sr_buffer *four_parts(sr_buffer *parts[4]) {
    sr_error err = {0};
    sr_buffer *multi;
    parts[0] = host_buffer(10);
    parts[1] = host_buffer(0);
    parts[2] = host_buffer(5);
    parts[3] = host_buffer(20);
    bf_ok(sr_multi_buffer_new(parts, 4, &multi, &err), &err);
    return multi;
}

static void test_runs_through_parts(void **state) {
    (void)state;
    sr_error err = {0};
    sr_buffer *parts[4], *multi = four_parts(parts);
    uint8_t in[35], out[35] = {0};
    assert_true(sr_buffer_is_multi(multi));
    assert_false(sr_buffer_is_multi(parts[0]));
    assert_int_equal(multi->size, 35);
    assert_null(multi->base);
    for (int i = 0; i < 35; i++) {
        in[i] = (uint8_t)(i + 1);
    }
    bf_ok(sr_buffer_set(multi, in, 0, 35, &err), &err);
    assert_int_equal(((uint8_t *)parts[0]->base)[9], 10);
    assert_int_equal(((uint8_t *)parts[2]->base)[0], 11);
    assert_int_equal(((uint8_t *)parts[3]->base)[19], 35);
    bf_ok(sr_buffer_get(multi, out, 9, 8, &err), &err);
    assert_memory_equal(out, in + 9, 8);
    bf_ok(sr_buffer_memset(multi, 99, 8, 9, &err), &err);
    bf_ok(sr_buffer_get(multi, out, 0, 35, &err), &err);
    for (int i = 0; i < 35; i++) {
        assert_int_equal(out[i], i >= 8 && i < 17 ? 99 : in[i]);
    }
    bf_fails(sr_buffer_get(multi, out, 30, 6, &err), SR_INVALID, &err, "outside");
    sr_buffer *whole = host_buffer(35);
    bf_ok(sr_buffer_copy(multi, 1, whole, 0, 34, NULL, &err), &err);
    bf_ok(sr_buffer_copy(whole, 0, multi, 0, 35, NULL, &err), &err);
    assert_int_equal(((uint8_t *)whole->base)[0], 1);
    assert_int_equal(((uint8_t *)whole->base)[20], 0);
    sr_buffer_reset(multi);
    sr_buffer_free(whole);
    sr_buffer_free(multi);
}

static void test_usage(void **state) {
    (void)state;
    sr_buffer *parts[4], *multi = four_parts(parts);
    sr_buffer_set_usage(multi, SR_USAGE_WEIGHTS);
    assert_int_equal(multi->usage, SR_USAGE_WEIGHTS);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(parts[i]->usage, SR_USAGE_WEIGHTS);
    }
    sr_buffer_free(multi);
}

static void test_takes_ownership(void **state) {
    (void)state;
    sr_error err = {0};
    sr_buffer *multi;
    sr_machine *machine = bf_gpu_and_cpu();
    sr_buffer *parts[2] = {host_buffer(8), NULL};
    bf_ok(sr_buffer_type_alloc(machine->backends[0]->buffer_type, 8, &parts[1], &err), &err);
    bf_fails(sr_multi_buffer_new(parts, 2, &multi, &err), SR_INVALID, &err, "'CPU' cannot have a part of 'GPU0'");
    assert_null(multi);
    bf_fails(sr_multi_buffer_new(parts, 0, &multi, &err), SR_INVALID, &err, "at least one");
    for (long n = 1; n <= 2; n++) {
        parts[0] = host_buffer(8);
        sr__fail_allocations(n, true);
        assert_int_equal(sr_multi_buffer_new(parts, 1, &multi, &err), SR_MEMORY);
        sr__fail_allocations(0, false);
        sr_error_clear(&err);
    }
    sr_machine_free(machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_through_parts),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_takes_ownership),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
