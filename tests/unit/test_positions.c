/*
 * test_positions.c - tests of src/describe/positions.c.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "describe/positions.h"

/* A copy of exactly its length and a closing zero, so that a sanitizer sees a read past the end. */
static char *exact(const char *text, size_t n) {
    char *copy = malloc(n + 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

static bool check(const char *text, size_t n, size_t *offset, const char **what) {
    char *copy = exact(text, n);
    bool fine = sr__json_check(copy, n, offset, what);
    free(copy);
    return fine;
}

static void test_accepts(void **state) {
    (void)state;
    static const char *const texts[] = {
        "0",
        "-0",
        "1.5e-3",
        "1E+9",
        "\"\"",
        "\"a\\n\\u00e9\\ud83d\\ude00\"",
        "[]",
        "{}",
        " [ 1 , 2 ] ",
        "true",
        "false",
        "null",
        "{\"a\":{\"b\":[{},[],null]}}",
        "\xEF\xBB\xBF{}",
        "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\x7F\"",
        "[1,\t2,\r\n3]\n",
        "123456789012345678901234567890123456789012345678901234567890123",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        size_t offset;
        const char *what;
        if (!check(texts[i], strlen(texts[i]), &offset, &what)) {
            fail_msg("%s: at %zu: %s", texts[i], offset, what);
        }
    }
}

static void test_refuses(void **state) {
    (void)state;
    static const struct { const char *text; size_t offset;
    } cases[] = {
        {"", 0},
        {"  ", 2},
        {"{", 1},
        {"[", 1},
        {"[1", 2},
        {"[1,", 3},
        {"[1,]", 3},
        {"{\"a\"", 4},
        {"{\"a\":", 5},
        {"{\"a\":1,}", 7},
        {"{\"a\" 1}", 5},
        {"{a:1}", 1},
        {"{'a':1}", 1},
        {"[1 2]", 3},
        {"{\"a\":1 \"b\":2}", 7},
        {"01", 0},
        {"-01", 0},
        {"-", 0},
        {"+1", 0},
        {".5", 0},
        {"1.", 0},
        {"1.e5", 0},
        {"1e", 0},
        {"1e+", 0},
        {"0x10", 1},
        {"NaN", 0},
        {"Infinity", 0},
        {"-Infinity", 0},
        {"nul", 0},
        {"True", 0},
        {"\"abc", 4},
        {"\"a\nb\"", 2},
        {"\"a\tb\"", 2},
        {"\"\\x\"", 1},
        {"\"\\u12\"", 1},
        {"\"\\u00g0\"", 1},
        {"\"\\u0000\"", 1},
        {"\"\\ud800\"", 1},
        {"\"\\udc00\"", 1},
        {"\"\\ud800\\u0041\"", 1},
        {"\"\\", 1},
        {"\"\x80\"", 1},
        {"\"\xC3\"", 1},
        {"\"\xC0\x80\"", 1},
        {"\"\xED\xA0\x80\"", 1},
        {"\"\xF4\x90\x80\x80\"", 1},
        {"1 2", 2},
        {"{} x", 3},
        {"[1]]", 3},
        {"{]", 1},
        {"[}", 1},
        {"/* */ 1", 0},
        {"1234567890123456789012345678901234567890123456789012345678901234", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        size_t offset = 999;
        const char *what = NULL;
        if (check(cases[i].text, strlen(cases[i].text), &offset, &what) || offset != cases[i].offset) {
            fail_msg("%s: at %zu, not %zu: %s", cases[i].text, offset, cases[i].offset, what ? what : "accepted");
        }
    }
    size_t offset;
    const char *what;
    assert_false(check("1\0", 2, &offset, &what));
    assert_int_equal(offset, 1);
    assert_false(check("\"a\0b\"", 5, &offset, &what));
    assert_int_equal(offset, 2);
}

static void test_depth(void **state) {
    (void)state;
    char text[2 * SR__JSON_MAX_DEPTH + 3] = {0};
    size_t offset, n = SR__JSON_MAX_DEPTH;
    const char *what;
    memset(text, '[', n);
    memset(text + n, ']', n);
    assert_true(check(text, 2 * n, &offset, &what));
    n++;
    memset(text, '[', n);
    memset(text + n, ']', n);
    assert_false(check(text, 2 * n, &offset, &what));
    assert_int_equal(offset, SR__JSON_MAX_DEPTH);
    assert_non_null(strstr(what, "deep"));
}

/* Every prefix of a text is cut off somewhere, and says so without reading on. */
static void test_prefixes(void **state) {
    (void)state;
    static const char text[] = "{\"a\\u00e9\":[1.5e-3,true,\"\xC3\xA9\",{\"b\":null}],\"c\":false}";
    for (size_t n = 0; n < sizeof(text) - 1; n++) {
        size_t offset;
        const char *what;
        assert_false(check(text, n, &offset, &what));
        assert_true(offset <= n);
    }
}

static const char document[] =
    "{ \"a\": [10, {\"k\\\"\\u00e9\": 20}],\n  \"b\" : {\"c\":30, \"c\": 40},\n\"d\":\"x,]}\" , \"e\":[[], 50]}";

static void check_find(const sr__at *at, bool of_key, const char *starts_with) {
    size_t offset = sr__json_find(document, sizeof(document) - 1, at, of_key);
    assert_memory_equal(document + offset, starts_with, strlen(starts_with));
}

static void test_find(void **state) {
    (void)state;
    sr__at root = {0}, a = sr__at_key(&root, "a"), a1 = sr__at_index(&a, 1), key = sr__at_key(&a1, "k\"\xC3\xA9");
    sr__at b = sr__at_key(&root, "b"), c = sr__at_key(&b, "c"), e = sr__at_key(&root, "e"), e1 = sr__at_index(&e, 1);
    check_find(&root, false, "{ \"a\"");
    check_find(&a, false, "[10");
    check_find(&a, true, "\"a\"");
    check_find(&a1, false, "{\"k");
    check_find(&key, false, "20");
    check_find(&key, true, "\"k");
    check_find(&c, false, "30");
    c.second = true;
    check_find(&c, false, "40");
    check_find(&c, true, "\"c\": 40");
    check_find(&e1, false, "50");
    sr__at missing = sr__at_key(&b, "z"), wrong = sr__at_index(&b, 0), beyond = sr__at_index(&e, 9);
    check_find(&missing, false, "{\"c\"");
    check_find(&wrong, false, "{\"c\"");
    check_find(&beyond, true, "[[]");
}

static void test_lines(void **state) {
    (void)state;
    int line, column;
    sr__at root = {0}, b = sr__at_key(&root, "b");
    sr__json_line(document, sr__json_find(document, sizeof(document) - 1, &b, true), &line, &column);
    assert_int_equal(line, 2);
    assert_int_equal(column, 3);
    sr__json_line("", 0, &line, &column);
    assert_int_equal(line, 1);
    assert_int_equal(column, 1);
}

static void test_span(void **state) {
    (void)state;
    assert_int_equal(sr__json_span("[1,[2]] ", 0), 7);
    assert_int_equal(sr__json_span("\"a\\\"b\",", 0), 6);
    assert_int_equal(sr__json_span("{\"a\":[12 ]}", 6), 2);
    assert_int_equal(sr__json_span("true", 0), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts), cmocka_unit_test(test_refuses), cmocka_unit_test(test_depth),
        cmocka_unit_test(test_prefixes), cmocka_unit_test(test_find), cmocka_unit_test(test_lines),
        cmocka_unit_test(test_span),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
