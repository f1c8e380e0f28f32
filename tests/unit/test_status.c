/*
 * test_status.c - tests of src/base/status.c.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/base.h"

static void test_table(void **state) {
    (void)state;
    assert_string_equal(sr_status_name(SR_OK), "ok");
    assert_int_equal(sr_status_exit(SR_OK), 0);
    assert_string_equal(sr_status_name(SR_GRAPH_SIZE), "graph_size");
    assert_int_equal(sr_status_exit(SR_GRAPH_SIZE), 5);
    assert_string_equal(sr_status_text(SR_UNASSIGNED), "no backend supports the op");
    assert_int_equal(sr_status_exit(SR_INTERNAL), 70);
    for (int i = 0; i < SR_STATUS_COUNT; i++) {
        assert_true(strlen(sr_status_name((sr_status)i)) > 0);
        assert_true(strlen(sr_status_text((sr_status)i)) > 0);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(sr_status_name((sr_status)i), sr_status_name((sr_status)j));
        }
    }
    assert_string_equal(sr_status_name(SR_STATUS_COUNT), "internal");
    assert_string_equal(sr_status_name((sr_status)-1), "internal");
    assert_string_equal(sr_status_text((sr_status)12345), sr_status_text(SR_INTERNAL));
    assert_int_equal(sr_status_exit((sr_status)12345), 70);
}

static void test_fail(void **state) {
    (void)state;
    assert_int_equal(sr__fail(NULL, SR_IO, "'%s'", "x"), SR_IO);
    assert_int_equal(sr__fail_memory(NULL), SR_MEMORY);
    sr__error_prefix(NULL, "x: ");
    sr__error_text(NULL, "k", "v");
    sr__error_number(NULL, "k", 1);
    sr_error_clear(NULL);
    assert_null(sr_error_find(NULL, "k"));
    assert_string_equal(sr_error_message(NULL), "");

    sr_error err = {0};
    assert_string_equal(sr_error_message(&err), "done");
    assert_int_equal(sr__fail(&err, SR_IO, "file '%s': %d", "a.json", 7), SR_IO);
    assert_int_equal(err.status, SR_IO);
    assert_string_equal(sr_error_message(&err), "file 'a.json': 7");
    /* its own strings may be arguments of its successor */
    err.line = 3;
    err.pointer = sr__strdup("/nodes/1");
    sr__error_number(&err, "count", 12);
    sr__fail(&err, SR_INVALID, "%s (%s)", err.message, err.pointer);
    assert_string_equal(sr_error_message(&err), "file 'a.json': 7 (/nodes/1)");
    assert_int_equal(err.line, 0);
    assert_null(err.pointer);
    assert_null(sr_error_find(&err, "count"));
    assert_int_equal(sr__fail_memory(&err), SR_MEMORY);
    assert_string_equal(sr_error_message(&err), sr_status_text(SR_MEMORY));
    sr_error_clear(&err);
    assert_int_equal(err.status, SR_OK);
    sr_error_clear(&err);
}

static void test_prefix(void **state) {
    (void)state;
    sr_error err = {0};
    sr__fail(&err, SR_INVALID, "extent %d is negative", -1);
    sr__error_number(&err, "extent", -1);
    sr__error_prefix(&err, "tensor '%s': ", "x");
    sr__error_prefix(&err, "graph '%s': ", "pp");
    assert_string_equal(sr_error_message(&err), "graph 'pp': tensor 'x': extent -1 is negative");
    assert_int_equal(err.status, SR_INVALID);
    assert_int_equal(sr_error_find(&err, "extent")->number, -1);
    sr__fail_memory(&err);
    sr__error_prefix(&err, "graph '%s': ", "pp");
    assert_string_equal(sr_error_message(&err), "graph 'pp': the host is out of memory");
    sr_error_clear(&err);
}

static void test_details(void **state) {
    (void)state;
    static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    sr_error err = {0};
    sr__fail(&err, SR_SPLIT_INPUTS, "split %d", 4);
    for (int i = 0; i < SR_COUNT(keys); i++) {
        if (i % 2 == 0) {
            sr__error_number(&err, keys[i], i);
        } else {
            sr__error_text(&err, keys[i], keys[i]);
        }
    }
    assert_int_equal(err.n_details, SR_COUNT(keys));
    assert_null(sr_error_find(&err, "z"));
    assert_int_equal(sr_error_find(&err, "k")->number, 10);
    assert_null(sr_error_find(&err, "k")->text);
    assert_string_equal(sr_error_find(&err, "l")->text, "l");
    sr__error_text(&err, "k", "now text");
    sr__error_number(&err, "l", 77);
    sr__error_text(&err, "b", NULL);
    assert_int_equal(err.n_details, SR_COUNT(keys));
    assert_string_equal(sr_error_find(&err, "k")->text, "now text");
    assert_null(sr_error_find(&err, "l")->text);
    assert_int_equal(sr_error_find(&err, "l")->number, 77);
    assert_string_equal(sr_error_find(&err, "b")->text, "");
    sr_error_clear(&err);
}

/* Whatever allocation fails, the status stands, the message is whole or absent, and nothing leaks. */
static void test_out_of_memory(void **state) {
    (void)state;
    for (long n = 1; n <= 12; n++) {
        for (int all_after = 0; all_after <= 1; all_after++) {
            sr_error err = {0};
            sr__fail_allocations(n, all_after != 0);
            sr__fail(&err, SR_COMPUTE, "node '%s' failed", "a name that is long enough to make the text grow once");
            sr__error_text(&err, "node", "n");
            sr__error_number(&err, "status", 3);
            sr__error_prefix(&err, "run %d: ", 1);
            sr__fail_allocations(0, false);
            assert_int_equal(err.status, SR_COMPUTE);
            assert_true(strlen(sr_error_message(&err)) > 0);
            const sr_error_detail *node = sr_error_find(&err, "node");
            assert_true(node == NULL || strcmp(node->text, "n") == 0);
            sr_error_clear(&err);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),   cmocka_unit_test(test_fail),          cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_details), cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
