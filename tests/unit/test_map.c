/*
 * test_map.c - tests of src/base/map.c.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/base.h"

static void test_empty(void **state) {
    (void)state;
    sr__map map = {0};
    assert_int_equal(sr__map_get(&map, "x", -7), -7);
    assert_int_equal(sr__map_get_n(&map, "x", 0, -7), -7);
    sr__map_free(&map);
}

enum { N_KEYS = 20000, KEY_LENGTH = 24 };

static void test_many(void **state) {
    (void)state;
    sr__map map = {0};
    char (*keys)[KEY_LENGTH] = sr__calloc(N_KEYS, sizeof(*keys));
    assert_non_null(keys);
    for (int i = 0; i < N_KEYS; i++) {
        snprintf(keys[i], sizeof(keys[i]), "blk.%d.w", i);
        assert_true(sr__map_put(&map, keys[i], i));
    }
    assert_int_equal(map.n, N_KEYS);
    for (int i = 0; i < N_KEYS; i++) {
        char copy[KEY_LENGTH];
        memcpy(copy, keys[i], sizeof(copy));
        assert_int_equal(sr__map_get(&map, copy, -1), i);
    }
    assert_int_equal(sr__map_get(&map, "blk.20000.w", -1), -1);
    assert_int_equal(sr__map_get(&map, "", -1), -1);
    sr__map_free(&map);
    sr__map_free(&map);
    sr__free(keys);
}

static void test_replace_and_lengths(void **state) {
    (void)state;
    sr__map map = {0};
    assert_true(sr__map_put(&map, "", 1));
    assert_true(sr__map_put(&map, "ab", 2));
    assert_true(sr__map_put(&map, "abc", 3));
    assert_true(sr__map_put(&map, "ab", INT32_MIN));
    assert_int_equal(map.n, 3);
    assert_int_equal(sr__map_get(&map, "", 0), 1);
    assert_int_equal(sr__map_get_n(&map, "abcd", 2, 0), INT32_MIN);
    assert_int_equal(sr__map_get_n(&map, "abcd", 3, 0), 3);
    assert_int_equal(sr__map_get_n(&map, "abcd", 4, 0), 0);
    assert_int_equal(sr__map_get_n(&map, "abcd", 0, 0), 1);
    assert_int_equal(sr__map_get_n(&map, "ab\0", 3, 0), 0);
    sr__map_free(&map);
}

static void test_out_of_memory(void **state) {
    (void)state;
    for (long n = 1; n <= 3; n++) {
        sr__map map = {0};
        sr__fail_allocations(n, false);
        assert_false(sr__map_put(&map, "x", 1));
        sr__fail_allocations(0, false);
        assert_int_equal(sr__map_get(&map, "x", -1), -1);
        assert_true(sr__map_put(&map, "x", 1));
        assert_int_equal(sr__map_get(&map, "x", -1), 1);
        sr__map_free(&map);
    }
}

static void test_hashes(void **state) {
    (void)state;
    /* published vectors of 64-bit FNV-1a */
    assert_true(sr__fnv1a64("") == UINT64_C(0xcbf29ce484222325));
    assert_true(sr__fnv1a64("a") == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(sr__fnv1a64("foobar") == UINT64_C(0x85944171f73967e8));
    assert_true(sr__hash_bytes(0, "abc", 3) == sr__hash_bytes(0, "abc", 3));
    assert_true(sr__hash_bytes(0, "abc", 3) != sr__hash_bytes(1, "abc", 3));
    assert_true(sr__hash_bytes(0, "abc", 3) != sr__hash_bytes(0, "abd", 3));
    static const char zeros[64];
    for (size_t n = 0; n < sizeof(zeros); n++) { /* zeros of other lengths hash to other values */
        for (size_t m = 0; m < n; m++) {
            assert_true(sr__hash_bytes(5, zeros, n) != sr__hash_bytes(5, zeros, m));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),         cmocka_unit_test(test_many),   cmocka_unit_test(test_replace_and_lengths),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_hashes),
    };
    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
