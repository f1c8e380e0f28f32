/*
 * test_str.c - tests of src/base/str.c.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/base.h"

static void test_append(void **state) {
    (void)state;
    sr__str s = {0};
    assert_string_equal(sr__str_text(&s), "");
    sr__str_append(&s, NULL, 0);
    sr__str_puts(&s, "");
    assert_string_equal(sr__str_text(&s), "");
    sr__str_append(&s, "a\0b", 3);
    assert_int_equal(s.length, 3);
    assert_memory_equal(s.data, "a\0b", 4);
    sr__str_clear(&s);
    assert_string_equal(sr__str_text(&s), "");
    for (int i = 0; i < 5000; i++) {
        sr__str_puts(&s, "xyz");
    }
    assert_int_equal(s.length, 15000);
    assert_int_equal(strlen(s.data), 15000);
    assert_false(s.failed);
    sr__str_free(&s);
    assert_null(s.data);
    sr__str_clear(&s);
    sr__str_free(&s);
}

static void test_printf(void **state) {
    (void)state;
    sr__str s = {0};
    sr__str_printf(&s, "%s", "");
    assert_string_equal(sr__str_text(&s), "");
    sr__str expected = {0};
    for (int i = 0; i < 300; i++) {
        sr__str_printf(&s, "%d,", i);
        for (int digit = 100; digit > 0; digit /= 10) {
            if (i >= digit || digit == 1) {
                char c = (char)('0' + i / digit % 10);
                sr__str_append(&expected, &c, 1);
            }
        }
        sr__str_puts(&expected, ",");
    }
    assert_string_equal(s.data, expected.data);
    sr__str_free(&expected);
    sr__str_clear(&s);
    sr__str_printf(&s, "%*s", 70000, "x");
    assert_int_equal(s.length, 70000);
    assert_int_equal(s.data[69999], 'x');
    sr__str_free(&s);
}

static void test_failed_stays(void **state) {
    (void)state;
    sr__str s = {0};
    sr__str_puts(&s, "1234567");
    sr__fail_allocations(1, false);
    sr__str_printf(&s, "%s", "89abcdef");
    sr__fail_allocations(0, false);
    assert_true(s.failed);
    assert_string_equal(sr__str_text(&s), "1234567");
    sr__str_puts(&s, "x");
    sr__str_printf(&s, "y");
    sr__str_clear(&s);
    sr__str_append(&s, "z", 1);
    assert_true(s.failed);
    assert_string_equal(sr__str_text(&s), "");
    sr__str_free(&s);
    assert_false(s.failed);
    sr__fail_allocations(1, false);
    sr__str_puts(&s, "x");
    sr__fail_allocations(0, false);
    assert_true(s.failed);
    assert_string_equal(sr__str_text(&s), "");
    sr__str_free(&s);
    sr__str_append(&s, "", SIZE_MAX);
    assert_true(s.failed);
    sr__str_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_printf),
        cmocka_unit_test(test_failed_stays),
    };
    return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
