/*
 * test_expr.c - tests of src/base/expr.c.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/base.h"

static bool lookup(void *user, const char *name, size_t length, int64_t *out_value) {
    (void)user;
    static const struct { const char *name; int64_t value; } rows[] = {
        {"n_tokens", 512}, {"n_embd", 64}, {"il", 3}, {"m1", 0}, {"big", INT64_MAX}, {"small", INT64_MIN}, {"min", 11},
    };
    for (int i = 0; i < SR_COUNT(rows); i++) {
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0) {
            *out_value = rows[i].value;
            return true;
        }
    }
    return false;
}

/* Evaluates a copy without a closing zero, so that a sanitizer sees a read past the end. */
static sr_status eval(const char *text, size_t length, int64_t *out_value, sr_error *err) {
    char *exact = malloc(length > 0 ? length : 1);
    assert_non_null(exact);
    memcpy(exact, text, length);
    sr_status status = sr__expr_eval(exact, length, lookup, NULL, out_value, err);
    free(exact);
    return status;
}

static void test_values(void **state) {
    (void)state;
    static const struct { const char *text; int64_t value; } cases[] = {
        {"0", 0}, {"7", 7}, {" \t12\r\n", 12}, {"007", 7}, {"n_tokens", 512}, {"-5", -5}, {"--5", 5}, {"- -  5", 5},
        {"-(-5)", 5}, {"-n_embd", -64}, {"9223372036854775807", INT64_MAX}, {"-9223372036854775808", INT64_MIN},
        {"small", INT64_MIN}, {"9007199254740993", 9007199254740993},
        {"1+2*3", 7}, {"(1+2)*3", 9}, {"10-4-3", 3}, {"2*3%4", 2}, {"100/5/2", 10}, {"8/2*3", 12}, {"-7+10", 3},
        {"2*-3", -6}, {"n_embd*n_tokens/64", 512}, {"12/-4", -3}, {"-12/4", -3}, {"0/5", 0}, {"big/-1", -INT64_MAX},
        {"7%3", 1}, {"-7%3", 2}, {"7%-3", 1}, {"-7%-3", 2}, {"6%3", 0}, {"small%-1", 0}, {"small%7", 6},
        {"-1%small", INT64_MAX}, {"small%small", 0}, {"big%small", INT64_MAX},
        {"1==1", 1}, {"1==2", 0}, {"1!=2", 1}, {"1!=1", 0}, {"1<2", 1}, {"2<2", 0}, {"2<=2", 1}, {"3<=2", 0},
        {"2>1", 1}, {"2>2", 0}, {"2>=2", 1}, {"1>=2", 0}, {"1<2==1", 1}, {"1==1<2", 1}, {"3>2>1", 0},
        {"1+1==2", 1}, {"small<big", 1}, {"big>small", 1},
        {"1?2:3", 2}, {"0?2:3", 3}, {"0?1:0?2:3", 3}, {"1?0?4:5:6", 5}, {"(1?2:3)*4", 8}, {"1?2:3*4", 2},
        {"il%2==1?n_embd:n_tokens", 64}, {"-1?2:3", 2},
        {"m1==0?0:100/m1", 0}, {"1?5:1/0", 5}, {"0?big+1:6", 6}, {"0?big*2/3%0:6", 6}, {"1?7:(0?1:1%0)", 7},
        {"0?-small:1", 1}, {"0 ? 5/3 : 1 ? 2 : 7/0", 2}, {"1 ? 2 : small/-1", 2},
        {"min(3,4)", 3}, {"max(3,4)", 4}, {"min (4, 3)", 3}, {"max(min(1,2),min(3,4))", 3}, {"min(2,2)", 2},
        {"max(-1,-2)", -1}, {"min(1?2:3,4)", 2}, {"min", 11}, {"min+1", 12}, {"min(min,12)", 11},
        {"n_tokens >= 32 ? max(n_tokens, 64) : 0", 512},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        sr_error err = {0};
        int64_t value = -99;
        sr_status status = eval(cases[i].text, strlen(cases[i].text), &value, &err);
        if (status != SR_OK || value != cases[i].value) {
            fail_msg("%s: %lld, %s", cases[i].text, (long long)value, sr_error_message(&err));
        }
    }
}

static void expect_error(const char *text, size_t length, const char *expected) {
    sr_error err = {0};
    int64_t value = -99;
    assert_int_equal(eval(text, length, &value, &err), SR_INVALID);
    assert_int_equal(err.status, SR_INVALID);
    assert_string_equal(sr_error_message(&err), expected);
    assert_int_equal(value, -99);
    assert_non_null(sr_error_find(&err, "position"));
    sr_error_clear(&err);
    assert_int_equal(eval(text, length, &value, NULL), SR_INVALID);
}

static void test_errors(void **state) {
    (void)state;
    static const struct { const char *text, *message; } cases[] = {
        {"", "position 1: expected a value, found the end"},
        {"   ", "position 4: expected a value, found the end"},
        {"1+", "position 3: expected a value, found the end"},
        {"*2", "position 1: expected a value, found '*'"},
        {"+2", "position 1: expected a value, found '+'"},
        {"(1", "position 3: expected ')', found the end"},
        {"1)", "position 2: expected an operator or the end, found ')'"},
        {"()", "position 2: expected a value, found ')'"},
        {"1 2", "position 3: expected an operator or the end, found '2'"},
        {"1 = 2", "position 3: expected an operator or the end, found '='"},
        {"1 ! 2", "position 3: expected an operator or the end, found '!'"},
        {"1 < = 2", "position 5: expected a value, found '='"},
        {"1 << 2", "position 4: expected a value, found '<'"},
        {"1 === 2", "position 5: expected a value, found '='"},
        {"1 && 2", "position 3: expected an operator or the end, found '&'"},
        {"2x", "position 1: this is no integer"},
        {"1.5", "position 1: this is no integer"},
        {"8GiB", "position 1: this is no integer"},
        {"0x10", "position 1: this is no integer"},
        {"9223372036854775808", "position 1: the number does not fit 64 bits"},
        {"-9223372036854775809", "position 2: the number does not fit 64 bits"},
        {"99999999999999999999999999999", "position 1: the number does not fit 64 bits"},
        {"1 + n_toknes", "position 5: unknown name 'n_toknes'"},
        {"1 ? 2 : nothing", "position 9: unknown name 'nothing'"}, /* a slip in the other branch is still a slip */
        {"min(1)", "position 6: expected ',', found ')'"},
        {"min(1,2,3)", "position 8: expected ')', found ','"},
        {"max(", "position 5: expected a value, found the end"},
        {"max(1,", "position 7: expected a value, found the end"},
        {"abs(1)", "position 1: unknown name 'abs'"},
        {"1?2", "position 4: expected ':', found the end"},
        {"1?:2", "position 3: expected a value, found ':'"},
        {"0?(:2", "position 4: expected a value, found ':'"},
        {"1:2", "position 2: expected an operator or the end, found ':'"},
        {"7/2", "position 2: the division leaves a remainder"},
        {"-7/2", "position 3: the division leaves a remainder"},
        {"1/0", "position 2: division by zero"},
        {"1/m1", "position 2: division by zero"},
        {"1%0", "position 2: remainder of a division by zero"},
        {"small/-1", "position 6: the result does not fit 64 bits"},
        {"-small", "position 1: the result does not fit 64 bits"},
        {"big+1", "position 4: the result does not fit 64 bits"},
        {"small-1", "position 6: the result does not fit 64 bits"},
        {"big*2", "position 4: the result does not fit 64 bits"},
        {"1/0?1:2", "position 2: division by zero"},
        {"1?1/0:2", "position 4: division by zero"},
        {"0?1:2/0", "position 6: division by zero"},
        {"(0?1/0:1)/0", "position 10: division by zero"}, /* alive again behind the dead branch */
        {"1 + $", "position 5: expected a value, found '$'"},
        {"\xC3\xA4", "position 1: expected a value, found byte 0xC3"},
        {"1\x7f", "position 2: expected an operator or the end, found byte 0x7F"},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        expect_error(cases[i].text, strlen(cases[i].text), cases[i].message);
    }
    expect_error("1\0+2", 4, "position 2: expected an operator or the end, found byte 0x00");
    expect_error("\0", 1, "position 1: expected a value, found byte 0x00");
    expect_error("1+2", 2, "position 3: expected a value, found the end"); /* the length counts, not the zero */
}

static void test_unknown_name(void **state) {
    (void)state;
    sr_error err = {0};
    int64_t value;
    assert_int_equal(eval("2 * n_emdb", 10, &value, &err), SR_INVALID);
    assert_string_equal(sr_error_find(&err, "name")->text, "n_emdb");
    assert_int_equal(sr_error_find(&err, "position")->number, 5);
    sr_error_clear(&err);
    assert_int_equal(sr__expr_eval("x", 1, NULL, NULL, &value, &err), SR_INVALID);
    sr_error_clear(&err);
    assert_int_equal(sr__expr_eval("3*4", 3, NULL, NULL, &value, &err), SR_OK);
    assert_int_equal(value, 12);
    char name[5000];
    memset(name, 'n', sizeof(name));
    assert_int_equal(eval(name, sizeof(name), &value, &err), SR_INVALID);
    assert_true(strlen(err.message) < 300);
    sr_error_clear(&err);
}

/* `times` copies of a text, a middle and as many copies of another: deep ones are refused, not followed. */
static sr_status eval_nested(const char *before, const char *middle, const char *after, int times, int64_t *out_value) {
    sr__str s = {0};
    for (int i = 0; i < times; i++) {
        sr__str_puts(&s, before);
    }
    sr__str_puts(&s, middle);
    for (int i = 0; i < times; i++) {
        sr__str_puts(&s, after);
    }
    assert_false(s.failed);
    sr_error err = {0};
    sr_status status = eval(s.data, s.length, out_value, &err);
    if (status != SR_OK && times > 1000) {
        assert_non_null(strstr(sr_error_message(&err), "nested too deep"));
    }
    sr_error_clear(&err);
    sr__str_free(&s);
    return status;
}

static void test_nesting(void **state) {
    (void)state;
    static const struct { const char *before, *middle, *after; int64_t value; } cases[] = {
        {"(", "1", ")", 1}, {"-", "1", "", 1}, {"1?", "1", ":0", 1}, {"0?1:", "1", "", 1}, {"min(1,", "1", ")", 1},
        {"max(", "1", ",0)", 1}, {"-(", "1", ")", 1},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        int64_t value = -99;
        assert_int_equal(eval_nested(cases[i].before, cases[i].middle, cases[i].after, 50, &value), SR_OK);
        assert_int_equal(value, cases[i].value);
        assert_int_equal(eval_nested(cases[i].before, cases[i].middle, cases[i].after, 100000, &value), SR_INVALID);
    }
    /* Long is not deep. */
    int64_t value = -99;
    assert_int_equal(eval_nested("1+", "(0)", "+1", 100000, &value), SR_OK);
    assert_int_equal(value, 200000);
    assert_int_equal(eval_nested("(1)*", "5", "-min(0,1)", 100000, &value), SR_OK);
    assert_int_equal(value, 5);
}

/* Random texts of the right letters: an answer or SR_INVALID, never anything else. */
static void test_noise(void **state) {
    (void)state;
    static const char *const parts[] = {"1", "0", "7", "n_embd", "big", "min(", "max(", "(", ")", ",", "?", ":", "+", "-",
                                        "*", "/", "%", "<", "=", "==", "!=", ">=", " ", "x", "9223372036854775807"};
    uint32_t random = 12345;
    sr__str s = {0};
    int n_ok = 0;
    for (int round = 0; round < 50000; round++) {
        sr__str_clear(&s);
        random = random * 1664525u + 1013904223u;
        int n_parts = (int)(random >> 24) % 12;
        for (int i = 0; i < n_parts; i++) {
            random = random * 1664525u + 1013904223u;
            sr__str_puts(&s, parts[(random >> 16) % (uint32_t)SR_COUNT(parts)]);
        }
        sr_error err = {0};
        int64_t value;
        sr_status status = eval(sr__str_text(&s), s.length, &value, &err);
        assert_true(status == SR_OK || (status == SR_INVALID && err.message != NULL));
        n_ok += status == SR_OK;
        sr_error_clear(&err);
    }
    assert_true(n_ok > 100);
    sr__str_free(&s);
}

static void test_out_of_memory(void **state) {
    (void)state;
    for (long n = 1; n < 10; n++) {
        sr_error err = {0};
        int64_t value;
        sr__fail_allocations(n, false);
        sr_status status = sr__expr_eval("1+nothing", 9, lookup, NULL, &value, &err);
        sr__fail_allocations(0, false);
        assert_int_equal(status, SR_INVALID);
        assert_int_equal(err.status, SR_INVALID);
        sr_error_clear(&err);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_errors), cmocka_unit_test(test_unknown_name),
        cmocka_unit_test(test_nesting), cmocka_unit_test(test_noise),  cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("expr", tests, NULL, NULL);
}
