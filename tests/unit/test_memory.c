/*
 * test_memory.c - tests of src/base/memory.c and of the checked sizes.
 *
 * Layer: tests.
 */
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/base.h"

static void test_plain(void **state) {
    (void)state;
    sr__free(NULL);
    void *none = sr__malloc(0);
    assert_non_null(none);
    none = sr__realloc(none, 0);
    assert_non_null(none);
    sr__free(none);
    unsigned char *zeros = sr__calloc(33, 7);
    assert_non_null(zeros);
    for (int i = 0; i < 33 * 7; i++) {
        assert_int_equal(zeros[i], 0);
    }
    sr__free(zeros);
    zeros = sr__calloc(0, 7);
    assert_non_null(zeros);
    sr__free(zeros);
    assert_null(sr__calloc(SIZE_MAX / 2, 4));
    void *grown = sr__realloc(NULL, 10);
    assert_non_null(grown);
    free(grown); /* callers free the texts they are given with free() */
}

static void test_strings(void **state) {
    (void)state;
    char *copy = sr__strdup("leaf");
    assert_string_equal(copy, "leaf");
    sr__free(copy);
    copy = sr__strndup("leaf", 2);
    assert_string_equal(copy, "le");
    sr__free(copy);
    copy = sr__strndup("leaf", 99);
    assert_string_equal(copy, "leaf");
    sr__free(copy);
    const char unterminated[3] = {'a', 'b', 'c'};
    copy = sr__strndup(unterminated, sizeof(unterminated));
    assert_string_equal(copy, "abc");
    sr__free(copy);
}

static void test_grow(void **state) {
    (void)state;
    int64_t *numbers = NULL;
    size_t cap = 0;
    for (int64_t i = 0; i < 1000; i++) {
        assert_true(sr__grow(&numbers, &cap, (size_t)i + 1, sizeof(*numbers)));
        assert_true(cap > (size_t)i);
        numbers[i] = i;
    }
    for (int64_t i = 0; i < 1000; i++) {
        assert_int_equal(numbers[i], i);
    }
    size_t before = cap;
    int64_t *place = numbers;
    assert_true(sr__grow(&numbers, &cap, 1, sizeof(*numbers)));
    assert_int_equal(cap, before);
    assert_ptr_equal(numbers, place);
    assert_false(sr__grow(&numbers, &cap, SIZE_MAX / 4, sizeof(*numbers)));
    assert_false(sr__grow(&numbers, &cap, SIZE_MAX, sizeof(*numbers)));
    assert_int_equal(cap, before);
    assert_ptr_equal(numbers, place);
    sr__fail_allocations(1, false);
    assert_false(sr__grow(&numbers, &cap, before + 1, sizeof(*numbers)));
    sr__fail_allocations(0, false);
    assert_int_equal(numbers[999], 999);
    sr__free(numbers);
}

static void test_pages(void **state) {
    (void)state;
    size_t size = (size_t)3 * 4096 + 5;
    unsigned char *pages = sr__pages_alloc(size);
    assert_non_null(pages);
    assert_int_equal((uintptr_t)pages % 4096, 0);
    assert_int_equal(pages[0], 0);
    assert_int_equal(pages[size - 1], 0);
    pages[size - 1] = 1;
    sr__pages_free(pages, size);
    sr__pages_free(NULL, 17);
    pages = sr__pages_alloc(0);
    assert_non_null(pages);
    sr__pages_free(pages, 0);
    assert_null(sr__pages_alloc(SIZE_MAX));
    assert_null(sr__pages_alloc(SIZE_MAX / 2));
    /* address space only: far more than the machine needs to have */
    size = (size_t)1 << 40;
    pages = sr__pages_alloc(size);
    if (pages != NULL) {
        assert_int_equal(pages[size - 1], 0);
        sr__pages_free(pages, size);
    }
}

static void test_failure_once(void **state) {
    (void)state;
    long before = sr__allocation_count();
    sr__fail_allocations(3, false);
    for (int i = 1; i <= 5; i++) {
        void *p = sr__malloc(8);
        assert_true((p == NULL) == (i == 3));
        sr__free(p);
    }
    sr__fail_allocations(0, false);
    assert_int_equal(sr__allocation_count() - before, 5);
}

static void test_failure_all_after(void **state) {
    (void)state;
    void *kept = sr__malloc(8);
    sr__fail_allocations(2, true);
    void *first = sr__calloc(1, 8);
    assert_non_null(first);
    assert_null(sr__malloc(1));
    assert_null(sr__calloc(1, 1));
    assert_null(sr__realloc(kept, 100));
    assert_null(sr__strdup("x"));
    assert_null(sr__pages_alloc(1));
    sr__fail_allocations(0, true);
    sr__free(first);
    sr__free(kept);
    void *again = sr__malloc(1);
    assert_non_null(again);
    sr__free(again);
    sr__fail_allocations(LONG_MAX, true); /* never reached */
    again = sr__malloc(1);
    assert_non_null(again);
    sr__free(again);
    sr__fail_allocations(0, false);
}

enum { N_THREADS = 4, N_ROUNDS = 5000 };

static void *allocate_often(void *arg) {
    long *failures = arg;
    for (int i = 0; i < N_ROUNDS; i++) {
        void *p = sr__malloc(16);
        *failures += p == NULL;
        sr__free(p);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t threads[N_THREADS];
    long failures[N_THREADS] = {0};
    long before = sr__allocation_count();
    sr__fail_allocations(N_THREADS * N_ROUNDS / 2, false);
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_often, &failures[i]), 0);
    }
    long total = 0;
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        total += failures[i];
    }
    sr__fail_allocations(0, false);
    assert_int_equal(total, 1);
    assert_int_equal(sr__allocation_count() - before, N_THREADS * N_ROUNDS);
}

static void test_checked_sizes(void **state) {
    (void)state;
    size_t out = 0;
    assert_true(sr__add_size(SIZE_MAX - 1, 1, &out));
    assert_true(out == SIZE_MAX);
    assert_false(sr__add_size(SIZE_MAX, 1, &out));
    assert_true(sr__mul_size(1 << 20, 1 << 20, &out));
    assert_true(out == (size_t)1 << 40);
    assert_false(sr__mul_size(SIZE_MAX / 2, 3, &out));
    assert_true(sr__align_up(0, 32, &out));
    assert_int_equal(out, 0);
    assert_true(sr__align_up(1, 32, &out));
    assert_int_equal(out, 32);
    assert_true(sr__align_up(32, 32, &out));
    assert_int_equal(out, 32);
    assert_true(sr__align_up(77, 1, &out));
    assert_int_equal(out, 77);
    assert_true(sr__align_up(SIZE_MAX - 31, 32, &out));
    assert_true(out == SIZE_MAX - 31);
    assert_false(sr__align_up(SIZE_MAX - 30, 32, &out));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),          cmocka_unit_test(test_strings),
        cmocka_unit_test(test_grow),           cmocka_unit_test(test_pages),
        cmocka_unit_test(test_failure_once),   cmocka_unit_test(test_failure_all_after),
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_checked_sizes),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
