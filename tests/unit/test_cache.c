/*
 * test_cache.c - tests of src/backend/cache.c: what is kept comes back; anything else is nothing.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backend/cache.h"
#include "sched_run/backend.h"

static char folder[] = "/tmp/sched-run-cache-XXXXXX";

static void expect(const char *name, const char *key, const char *want) {
    void *data = NULL;
    size_t size = 0;
    const bool got = sr__cache_read(name, key, &data, &size);
    assert_int_equal(got, want != NULL);
    if (got) {
        assert_int_equal(size, strlen(want));
        assert_memory_equal(data, want, size);
        sr__free(data);
    }
}

static void rewrite(const char *name, const char *bytes) {
    char path[128];
    snprintf(path, sizeof(path), "%s/in/it/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(bytes, file);
    fclose(file);
}

static void test_cache(void **state) {
    (void)state;
    char path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/in/it", folder);
    assert_false(sr__cache_on());
    sr__cache_write("a", "key", "data", 4); /* nowhere */
    expect("a", "key", NULL);
    assert_int_equal(sr_cache_folder_set(path, NULL), SR_OK);
    assert_true(sr__cache_on());
    expect("a", "key", NULL);
    sr__cache_write("a", "key", "data\nof lines\n", 14); /* the folders are made */
    expect("a", "key", "data\nof lines\n");
    expect("a", "another key", NULL);
    sr__cache_write("a", "another key", "new", 3);
    expect("a", "another key", "new");
    expect("a", "key", NULL);
    /* damaged files */
    rewrite("a", "");
    expect("a", "another key", NULL);
    rewrite("a", "sched-run cache 1\nanother key\n3 0123456789abcdef\nnew");
    expect("a", "another key", NULL);
    rewrite("a", "sched-run cache 1\nanother key\n");
    expect("a", "another key", NULL);
    sr__cache_write("a", "another key", "new", 3); /* written anew */
    expect("a", "another key", "new");
    for (long n = 1; n < 12; n++) { /* without memory it is nothing, or all */
        void *data = NULL;
        size_t size = 0;
        sr__fail_allocations(n, false);
        if (sr__cache_read("a", "another key", &data, &size)) {
            assert_memory_equal(data, "new", 3);
            sr__free(data);
        }
        sr__fail_allocations(n, false);
        sr__cache_write("a", "another key", "new", 3);
        sr__fail_allocations(0, false);
        expect("a", "another key", "new");
    }
    snprintf(path, sizeof(path), "%s/in/it/a", folder);
    assert_int_equal(remove(path), 0);
    for (int i = 0; i < 3; i++) {
        static const char *const below[] = {"/in/it", "/in", ""};
        snprintf(path, sizeof(path), "%s%s", folder, below[i]);
        assert_int_equal(remove(path), 0); /* and nothing else is there */
    }
    sr__fail_allocations(1, false);
    assert_int_equal(sr_cache_folder_set("/tmp", NULL), SR_MEMORY);
    sr__fail_allocations(0, false);
    assert_int_equal(sr_cache_folder_set(NULL, NULL), SR_OK);
    assert_false(sr__cache_on());
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cache)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
