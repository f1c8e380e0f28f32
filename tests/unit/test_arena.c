/*
 * test_arena.c - tests of src/base/arena.c.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/base.h"

static void test_alignment_and_contents(void **state) {
    (void)state;
    sr__arena arena;
    sr__arena_init(&arena, 256);
    unsigned char *objects[200];
    for (int i = 0; i < 200; i++) {
        size_t size = (size_t)(i * 7 % 90);
        objects[i] = sr__arena_alloc(&arena, size);
        assert_non_null(objects[i]);
        assert_int_equal((uintptr_t)objects[i] % 16, 0);
        memset(objects[i], i, size);
    }
    for (int i = 0; i < 200; i++) {
        for (int k = 0; k < i * 7 % 90; k++) {
            assert_int_equal(objects[i][k], (unsigned char)i);
        }
    }
    sr__arena_free(&arena);
    sr__arena_free(&arena);
}

static void test_large(void **state) {
    (void)state;
    sr__arena arena;
    sr__arena_init(&arena, 0);
    char *small = sr__arena_alloc(&arena, 1);
    char *large = sr__arena_zalloc(&arena, 1 << 20);
    assert_non_null(small);
    assert_non_null(large);
    assert_int_equal(large[(1 << 20) - 1], 0);
    memset(large, 1, 1 << 20);
    assert_null(sr__arena_alloc(&arena, SIZE_MAX));
    assert_null(sr__arena_alloc(&arena, SIZE_MAX - 40));
    assert_non_null(sr__arena_alloc(&arena, 8));
    sr__arena_free(&arena);
}

/* A round that asks for the same again, in any order, needs no new block. */
static void test_reset_reuses(void **state) {
    (void)state;
    sr__arena arena;
    sr__arena_init(&arena, 1024);
    sr__arena_reset(&arena); /* an empty one too */
    long first_round = 0;
    for (int round = 0; round < 50; round++) {
        long before = sr__allocation_count();
        for (int i = 0; i < 30; i++) {
            size_t size = i == round % 30 ? 5000 : 300;
            unsigned char *p = sr__arena_zalloc(&arena, size);
            assert_non_null(p);
            memset(p, 0xAB, size);
        }
        if (round == 0) {
            first_round = sr__allocation_count() - before;
        } else {
            assert_true(sr__allocation_count() - before <= 1);
        }
        sr__arena_reset(&arena);
    }
    assert_true(first_round > 5);
    long before = sr__allocation_count();
    for (int i = 0; i < 29; i++) {
        assert_non_null(sr__arena_alloc(&arena, 300));
    }
    assert_int_equal(sr__allocation_count(), before);
    sr__arena_free(&arena);
}

static void test_strings(void **state) {
    (void)state;
    sr__arena arena;
    sr__arena_init(&arena, 64);
    assert_string_equal(sr__arena_strdup(&arena, ""), "");
    assert_string_equal(sr__arena_strdup(&arena, "blk.0.attn_q.weight"), "blk.0.attn_q.weight");
    assert_string_equal(sr__arena_strndup(&arena, "blk.0", 3), "blk");
    assert_string_equal(sr__arena_strndup(&arena, "blk", 30), "blk");
    sr__arena_free(&arena);
}

static void test_out_of_memory(void **state) {
    (void)state;
    sr__arena arena;
    sr__arena_init(&arena, 64);
    sr__fail_allocations(1, false);
    assert_null(sr__arena_zalloc(&arena, 10));
    char *kept = sr__arena_strdup(&arena, "kept");
    sr__fail_allocations(1, true);
    assert_non_null(sr__arena_alloc(&arena, 16));
    assert_null(sr__arena_strdup(&arena, "a text that does not fit the rest of the first block of this arena"));
    assert_null(sr__arena_strndup(&arena, "a text that does not fit the rest of the first block of this arena", 60));
    sr__fail_allocations(0, false);
    assert_string_equal(kept, "kept");
    sr__arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignment_and_contents), cmocka_unit_test(test_large),
        cmocka_unit_test(test_reset_reuses),           cmocka_unit_test(test_strings),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
