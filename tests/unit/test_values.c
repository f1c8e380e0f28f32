/*
 * test_values.c - tests of src/describe/values.c, places.c and base64.c.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "describe/loader.h"

/* A loader with a parsed text, an error and the param n = 5, f = 0.5. */
typedef struct value_case {
    sr__loader ld;
    sr_description d;
    sr_error err;
    sr__source source;
    sr__at root;
    cJSON *json;
} value_case;

static const double param_values[] = {5, 0.5};

static void case_open(value_case *c, const char *text) {
    static sr__param params[] = {{.name = "n"}, {.name = "f"}};
    *c = (value_case){.source = {.name = "v.json", .length = strlen(text)}};
    c->source.text = (char *)(uintptr_t)text;
    c->ld.d = &c->d;
    c->ld.err = &c->err;
    c->ld.params = params;
    c->ld.n_params = 2;
    c->ld.scope.params = param_values;
    c->root = (sr__at){NULL, &c->source, NULL, 0, false};
    c->json = cJSON_Parse(text);
    assert_non_null(c->json);
}

static void case_close(value_case *c) {
    cJSON_Delete(c->json);
    sr_error_clear(&c->err);
    sr__arena_free(&c->d.arena);
    sr__arena_free(&c->ld.scratch);
}

static void test_integers(void **state) {
    (void)state;
    static const struct { const char *text; sr_status status; int64_t value;
    } cases[] = {
        {"0", SR_OK, 0},
        {"-3", SR_OK, -3},
        {"1e3", SR_OK, 1000},
        {"2.0", SR_OK, 2},
        {"9007199254740991", SR_OK, INT64_C(9007199254740991)},
        {"9007199254740992", SR_OK, INT64_C(9007199254740992)},
        {"-9007199254740992", SR_OK, -INT64_C(9007199254740992)},
        {"9007199254740993", SR_DESCRIPTION, 0},
        {"-9007199254740993", SR_DESCRIPTION, 0},
        {"9007199254740994", SR_DESCRIPTION, 0},
        {"1e999", SR_DESCRIPTION, 0},
        {"-1e999", SR_DESCRIPTION, 0},
        {"0.5", SR_DESCRIPTION, 0},
        {"1e-300", SR_DESCRIPTION, 0},
        {"\"n*2+1\"", SR_OK, 11},
        {"\"f\"", SR_DESCRIPTION, 0},
        {"\"\"", SR_DESCRIPTION, 0},
        {"\"9007199254740993\"", SR_DESCRIPTION, 0},
        {"null", SR_DESCRIPTION, 0},
        {"[1]", SR_DESCRIPTION, 0},
        {"{}", SR_DESCRIPTION, 0},
        {"true", SR_DESCRIPTION, 0},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        value_case c;
        int64_t value = -77;
        case_open(&c, cases[i].text);
        sr_status status = sr__int(&c.ld, c.json, &c.root, &value);
        if (status != cases[i].status || (status == SR_OK && value != cases[i].value)) {
            fail_msg("%s: %s %lld", cases[i].text, sr_error_message(&c.err), (long long)value);
        }
        case_close(&c);
    }
}

static void test_sizes(void **state) {
    (void)state;
    static const struct { const char *text; sr_status status; int64_t value;
    } cases[] = {
        {"0", SR_OK, 0},
        {"17", SR_OK, 17},
        {"\"17\"", SR_OK, 17},
        {"\"3KiB\"", SR_OK, 3072},
        {"\"3 MiB\"", SR_OK, 3 << 20},
        {"\"8GiB\"", SR_OK, INT64_C(8) << 30},
        {"\"n*1024\"", SR_OK, 5120},
        {"\"8388608GiB\"", SR_OK, INT64_C(1) << 53},
        {"\"8388609GiB\"", SR_DESCRIPTION, 0},
        {"\"99999999999999999999KiB\"", SR_DESCRIPTION, 0},
        {"\"1.5GiB\"", SR_DESCRIPTION, 0},
        {"\"8GB\"", SR_DESCRIPTION, 0},
        {"\"8gib\"", SR_DESCRIPTION, 0},
        {"\"GiB\"", SR_DESCRIPTION, 0},
        {"-1", SR_DESCRIPTION, 0},
        {"\"0-1\"", SR_DESCRIPTION, 0},
        {"false", SR_DESCRIPTION, 0},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        value_case c;
        int64_t value = -77;
        case_open(&c, cases[i].text);
        sr_status status = sr__size(&c.ld, c.json, &c.root, &value);
        if (status != cases[i].status || (status == SR_OK && value != cases[i].value)) {
            fail_msg("%s: %s %lld", cases[i].text, sr_error_message(&c.err), (long long)value);
        }
        case_close(&c);
    }
}

static void test_doubles(void **state) {
    (void)state;
    static const struct { const char *text; sr_status status; double value; } cases[] = {
        {"1e-6", SR_OK, 1e-6}, {"\"f\"", SR_OK, 0.5}, {"\"n\"", SR_OK, 5}, {"\"n+1\"", SR_OK, 6},
        {"\"f+1\"", SR_DESCRIPTION, 0}, {"1e999", SR_DESCRIPTION, 0}, {"null", SR_DESCRIPTION, 0},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        value_case c;
        double value = -77;
        case_open(&c, cases[i].text);
        sr_status status = sr__double(&c.ld, c.json, &c.root, &value);
        if (status != cases[i].status || (status == SR_OK && value != cases[i].value)) {
            fail_msg("%s: %s %g", cases[i].text, sr_error_message(&c.err), value);
        }
        case_close(&c);
    }
}

static void test_substitution(void **state) {
    (void)state;
    static const struct { const char *text, *value; } cases[] = {
        {"\"blk.{il}.w\"", "blk.3.w"}, {"\"{il-1}{il+n}\"", "28"}, {"\"plain\"", "plain"}, {"\"a}b\"", "a}b"},
        {"\"{il == 3 ? 10 : 20}\"", "10"}, {"\"{}\"", NULL}, {"\"{il\"", NULL}, {"\"{x}\"", NULL},
    };
    const sr__loop loop = {NULL, "il", 2, 3};
    for (int i = 0; i < SR_COUNT(cases); i++) {
        value_case c;
        const char *text = NULL;
        case_open(&c, cases[i].text);
        assert_int_equal(sr__string(&c.ld, c.json, &c.root, &text), SR_OK);
        assert_string_equal(text, c.json->valuestring); /* outside a repeat a brace is a brace */
        c.ld.scope.loops = &loop;
        sr_status status = sr__string(&c.ld, c.json, &c.root, &text);
        assert_int_equal(status, cases[i].value ? SR_OK : SR_DESCRIPTION);
        if (cases[i].value) {
            assert_string_equal(text, cases[i].value);
        }
        case_close(&c);
    }
}

static void test_fields(void **state) {
    (void)state;
    static const char *const keys[] = {"one", "two", "three"};
    const cJSON *out[3];
    value_case c;
    case_open(&c, "{\"three\":3,\"_note\":0,\"one\":1,\"$schema\":\"x\"}");
    assert_int_equal(sr__fields(&c.ld, c.json, &c.root, keys, 3, out), SR_OK);
    assert_int_equal((int)out[0]->valuedouble, 1);
    assert_null(out[1]);
    assert_int_equal((int)out[2]->valuedouble, 3);
    case_close(&c);
    case_open(&c, "{\"one\":1,\n \"tow\":2}");
    assert_int_equal(sr__fields(&c.ld, c.json, &c.root, keys, 3, out), SR_DESCRIPTION);
    assert_string_equal(sr_error_message(&c.err), "unknown key, did you mean \"two\"?");
    assert_string_equal(c.err.pointer, "/tow");
    assert_string_equal(c.err.file, "v.json");
    assert_int_equal(c.err.line, 2);
    assert_int_equal(c.err.column, 2);
    case_close(&c);
    case_open(&c, "{\"one\":1,\"one\":2}");
    assert_int_equal(sr__fields(&c.ld, c.json, &c.root, keys, 3, out), SR_DESCRIPTION);
    assert_int_equal(c.err.column, 10);
    case_close(&c);
}

static void test_base64(void **state) {
    (void)state;
    static const char *const plain[] = {"", "f", "fo", "foo", "foob", "fooba", "foobar", "\xff\x00\x80"};
    static const char *const coded[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy", "/wCA"};
    for (int i = 0; i < SR_COUNT(plain); i++) {
        uint8_t bytes[16];
        const char *what;
        sr__str out = {0};
        size_t n = i == 7 ? 3 : strlen(plain[i]);
        sr__base64_encode(&out, (const uint8_t *)plain[i], n);
        assert_string_equal(sr__str_text(&out), coded[i]);
        assert_int_equal(sr__base64_decode(coded[i], bytes, &what), n);
        assert_memory_equal(bytes, plain[i], n);
        sr__str_free(&out);
    }
    static const char *const wrong[] = {"Z", "Zg", "Zg=", "Zg===", "=AAA", "Z=A=", "Zh==", "Zm9=", "Zg==Zg==", "Z\ng="};
    for (int i = 0; i < SR_COUNT(wrong); i++) {
        uint8_t bytes[16];
        const char *what;
        assert_true(sr__base64_decode(wrong[i], bytes, &what) == SIZE_MAX);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers), cmocka_unit_test(test_sizes), cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_substitution), cmocka_unit_test(test_fields), cmocka_unit_test(test_base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
