/*
 * test_jsonout.c - tests of src/base/jsonout.c; what it writes is also read back with another reader.
 *
 * Layer: tests.
 */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include <cjson/cJSON.h>

#include "base/base.h"

static void write_sample(sr__json *json) {
    sr__json_object(json);
    sr__json_key(json, "name");
    sr__json_string(json, "two layers");
    sr__json_key(json, "empty");
    sr__json_object(json);
    sr__json_end_object(json);
    sr__json_key(json, "none");
    sr__json_array(json);
    sr__json_end_array(json);
    sr__json_key(json, "ne");
    sr__json_inline(json);
    sr__json_array(json);
    sr__json_int(json, 64);
    sr__json_int(json, -4);
    sr__json_object(json);
    sr__json_key(json, "a");
    sr__json_bool(json, true);
    sr__json_key(json, "b");
    sr__json_null(json);
    sr__json_end_object(json);
    sr__json_end_array(json);
    sr__json_key(json, "list");
    sr__json_array(json);
    sr__json_double(json, 0.5);
    sr__json_array(json);
    sr__json_bool(json, false);
    sr__json_end_array(json);
    sr__json_end_array(json);
    sr__json_end_object(json);
}

static void test_layouts(void **state) {
    (void)state;
    sr__str out = {0};
    sr__json json;
    sr__json_init(&json, &out, false);
    write_sample(&json);
    assert_string_equal(sr__str_text(&out), "{\"name\":\"two layers\",\"empty\":{},\"none\":[],\"ne\":[64,-4,{\"a\":true,"
                                            "\"b\":null}],\"list\":[0.5,[false]]}");
    sr__json_free(&json);
    sr__str_clear(&out);
    sr__json_init(&json, &out, true);
    write_sample(&json);
    assert_string_equal(sr__str_text(&out), "{\n"
                                            "  \"name\": \"two layers\",\n"
                                            "  \"empty\": {},\n"
                                            "  \"none\": [],\n"
                                            "  \"ne\": [64, -4, {\"a\": true, \"b\": null}],\n"
                                            "  \"list\": [\n"
                                            "    0.5,\n"
                                            "    [\n"
                                            "      false\n"
                                            "    ]\n"
                                            "  ]\n"
                                            "}");
    assert_int_equal(json.depth, 0);
    sr__json_free(&json);
    sr__str_free(&out);
}

/* Several texts from one writer, one a line: nothing stands between them but what the caller writes. */
static void test_lines(void **state) {
    (void)state;
    sr__str out = {0};
    sr__json json;
    sr__json_init(&json, &out, false);
    for (int i = 0; i < 2; i++) {
        sr__json_array(&json);
        sr__json_int(&json, i);
        sr__json_end_array(&json);
        sr__str_puts(&out, "\n");
    }
    sr__json_string(&json, "x");
    sr__json_end_array(&json); /* one too many is ignored */
    assert_string_equal(sr__str_text(&out), "[0]\n[1]\n\"x\"");
    sr__json_free(&json);
    sr__str_free(&out);
}

static void expect_written(const char *text, const char *expected) {
    sr__str out = {0};
    sr__json json;
    sr__json_init(&json, &out, false);
    sr__json_string(&json, text);
    assert_string_equal(sr__str_text(&out), expected);
    sr__json_free(&json);
    sr__str_free(&out);
}

static void test_strings(void **state) {
    (void)state;
    expect_written("", "\"\"");
    expect_written(NULL, "null");
    expect_written("a\"b\\c/", "\"a\\\"b\\\\c/\"");
    expect_written("\b\f\n\r\t\x01\x1f\x7f", "\"\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"");
    expect_written("\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80", "\"\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80\"");
#define BAD "\xEF\xBF\xBD"
    expect_written("a\x80z", "\"a" BAD "z\"");                         /* a continuation alone */
    expect_written("\xC3", "\"" BAD "\"");                             /* cut at the end */
    expect_written("\xE2\x82", "\"" BAD BAD "\"");
    expect_written("\xF0\x9F\x98", "\"" BAD BAD BAD "\"");
    expect_written("\xC0\xAF", "\"" BAD BAD "\"");                     /* overlong */
    expect_written("\xE0\x80\xAF", "\"" BAD BAD BAD "\"");
    expect_written("\xF0\x80\x80\xAF", "\"" BAD BAD BAD BAD "\"");
    expect_written("\xED\xA0\x80", "\"" BAD BAD BAD "\"");             /* a surrogate */
    expect_written("\xF4\x90\x80\x80", "\"" BAD BAD BAD BAD "\"");     /* above U+10FFFF */
    expect_written("\xF5\xFF\xFE", "\"" BAD BAD BAD "\"");
    expect_written("\xC3\"", "\"" BAD "\\\"\"");                       /* the quote is not swallowed */
    expect_written("\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF", "\"\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF\"");
}

static void test_keys_are_escaped(void **state) {
    (void)state;
    sr__str out = {0};
    sr__json json;
    sr__json_init(&json, &out, false);
    sr__json_object(&json);
    sr__json_key(&json, "a\"\n\xFF");
    sr__json_int(&json, 1);
    sr__json_end_object(&json);
    assert_string_equal(sr__str_text(&out), "{\"a\\\"\\n" BAD "\":1}");
    sr__json_free(&json);
    sr__str_free(&out);
}

static void double_text(double value, sr__str *out) {
    sr__json json;
    sr__str_clear(out);
    sr__json_init(&json, out, false);
    sr__json_double(&json, value);
    sr__json_free(&json);
}

static void expect_double(double value, const char *expected) {
    sr__str out = {0};
    double_text(value, &out);
    assert_string_equal(sr__str_text(&out), expected);
    sr__str_free(&out);
}

static void test_numbers(void **state) {
    (void)state;
    expect_double(0, "0");
    expect_double(-0.0, "-0");
    expect_double(1, "1");
    expect_double(0.1, "0.1");
    expect_double(1e-6, "1e-06");
    expect_double(0.1 + 0.2, "0.30000000000000004");
    expect_double(1e300, "1e+300");
    expect_double(9007199254740993.0, "9007199254740992");
    expect_double((double)NAN, "null");
    expect_double((double)INFINITY, "null");
    expect_double(-(double)INFINITY, "null");
    sr__str out = {0};
    uint64_t bits = 1;
    for (int i = 0; i < 20000; i++) {
        bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double value;
        memcpy(&value, &bits, sizeof(value));
        if (isfinite(value)) {
            double_text(value, &out);
            double back = strtod(sr__str_text(&out), NULL);
            assert_memory_equal(&back, &value, sizeof(back));
        }
    }
    sr__json json;
    sr__str_clear(&out);
    sr__json_init(&json, &out, false);
    sr__json_array(&json);
    sr__json_int(&json, INT64_MIN);
    sr__json_int(&json, INT64_MAX);
    sr__json_end_array(&json);
    assert_string_equal(sr__str_text(&out), "[-9223372036854775808,9223372036854775807]");
    sr__json_free(&json);
    sr__str_free(&out);
}

/* The decimal point of the program around the library is not the one of JSON. */
static void test_locale(void **state) {
    (void)state;
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "ps_AF.UTF-8"};
    bool found = false;
    for (int i = 0; i < SR_COUNT(locales); i++) {
        if (setlocale(LC_NUMERIC, locales[i]) != NULL) {
            found = true;
            expect_double(0.5, "0.5");
            expect_double(-1.25e-7, "-1.25e-07");
        }
    }
    setlocale(LC_NUMERIC, "C");
    if (!found) {
        skip();
    }
}

static void test_deep_and_readable(void **state) {
    (void)state;
    sr__str out = {0};
    for (int pretty = 0; pretty <= 1; pretty++) {
        sr__json json;
        sr__str_clear(&out);
        sr__json_init(&json, &out, pretty != 0);
        for (int i = 0; i < 300; i++) {
            if (i == 250) {
                sr__json_inline(&json);
            }
            sr__json_object(&json);
            sr__json_key(&json, "k\xFF\n");
            sr__json_array(&json);
            sr__json_int(&json, i);
        }
        for (int i = 0; i < 300; i++) {
            sr__json_string(&json, "end");
            sr__json_end_array(&json);
            sr__json_end_object(&json);
        }
        cJSON *tree = cJSON_ParseWithOpts(sr__str_text(&out), NULL, 1);
        assert_non_null(tree);
        cJSON_Delete(tree);
        sr__json_free(&json);
    }
    sr__str_free(&out);
}

static void test_out_of_memory(void **state) {
    (void)state;
    for (int pretty = 0; pretty <= 1; pretty++) {
        bool whole = false;
        for (long n = 1; !whole; n++) {
            sr__str out = {0};
            sr__json json;
            sr__json_init(&json, &out, pretty != 0);
            sr__fail_allocations(n, false);
            write_sample(&json);
            sr__fail_allocations(0, false);
            whole = !out.failed;
            assert_true(whole || n < 20);
            sr__json_free(&json);
            sr__str_free(&out);
        }
    }
}

static void test_keys_with_values(void **state) {
    (void)state;
    sr__str out = {0};
    sr__json json;
    sr__json_init(&json, &out, true);
    sr__json_array(&json);
    sr__json_put_inline(&json, NULL);
    sr__json_put_string(&json, "s", "x");
    sr__json_put_string(&json, "none", NULL);
    sr__json_put_int(&json, "i", -4);
    sr__json_put_double(&json, "d", 0.5);
    sr__json_put_inline(&json, "o");
    sr__json_put_bool(&json, "b", true);
    sr__json_end_object(&json);
    sr__json_end_object(&json);
    sr__json_end_array(&json);
    assert_string_equal(sr__str_text(&out),
                        "[\n  {\"s\": \"x\", \"none\": null, \"i\": -4, \"d\": 0.5, \"o\": {\"b\": true}}\n]");
    sr__json_free(&json);
    sr__str_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),           cmocka_unit_test(test_lines),
        cmocka_unit_test(test_strings),           cmocka_unit_test(test_keys_are_escaped),
        cmocka_unit_test(test_numbers),           cmocka_unit_test(test_locale),
        cmocka_unit_test(test_deep_and_readable), cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_keys_with_values),
    };
    return cmocka_run_group_tests_name("jsonout", tests, NULL, NULL);
}
