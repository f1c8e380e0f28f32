/*
 * test_json_schema.c - tests of the schema validator of the tests, tests/support/json_schema.c.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/json_schema.h"

/* The complaint, or NULL if the value is as the schema wants it; to be freed. */
static char *complaint(const char *schema_text, const char *value_text) {
    char *message = NULL;
    json_schema *schema = json_schema_parse(schema_text, &message);
    if (schema == NULL) {
        fail_msg("%s: %s", schema_text, message);
    }
    cJSON *value = cJSON_ParseWithOpts(value_text, NULL, 1);
    assert_non_null(value);
    bool valid = json_schema_valid(schema, "#", value, &message);
    assert_true(valid == (message == NULL));
    cJSON_Delete(value);
    json_schema_free(schema);
    return message;
}

static void accepts(const char *schema, const char *value) {
    char *message = complaint(schema, value);
    if (message != NULL) {
        fail_msg("%s does not accept %s: %s", schema, value, message);
    }
}

static void rejects(const char *schema, const char *value, const char *expected) {
    char *message = complaint(schema, value);
    if (message == NULL) {
        fail_msg("%s accepts %s", schema, value);
    }
    assert_string_equal(message, expected);
    free(message);
}

static void test_types(void **state) {
    (void)state;
    static const char *const types[] = {"object", "array", "string", "boolean", "null", "integer"};
    static const char *const values[] = {"{}", "[]", "\"x\"", "true", "null", "7"};
    for (int i = 0; i < 6; i++) {
        char schema[64];
        snprintf(schema, sizeof(schema), "{\"type\": \"%s\"}", types[i]);
        for (int j = 0; j < 6; j++) {
            char expected[64];
            snprintf(expected, sizeof(expected), "/: is not of type '%s'", types[i]);
            if (i == j) {
                accepts(schema, values[j]);
            } else {
                rejects(schema, values[j], expected);
            }
        }
    }
    accepts("{\"type\": \"number\"}", "7");
    accepts("{\"type\": \"number\"}", "7.5");
    accepts("{\"type\": \"integer\"}", "7.0");
    rejects("{\"type\": \"integer\"}", "7.5", "/: is not of type 'integer'");
    accepts("{\"type\": [\"string\", \"null\"]}", "null");
    rejects("{\"type\": [\"string\", \"null\"]}", "1", "/: is of none of the allowed types");
    accepts("true", "[1]");
    rejects("false", "[1]", "/: is not allowed");
    accepts("{}", "[1]");
}

static void test_objects(void **state) {
    (void)state;
    const char *closed = "{\"properties\": {\"a\": {\"type\": \"integer\"}}, \"patternProperties\": {\"^_\": true},"
                         " \"required\": [\"a\"], \"additionalProperties\": false}";
    accepts(closed, "{\"a\": 1}");
    accepts(closed, "{\"a\": 1, \"_b\": \"x\"}");
    accepts(closed, "[]"); /* keywords for objects say nothing of others */
    rejects(closed, "{}", "/: lacks 'a'");
    rejects(closed, "{\"a\": \"x\"}", "/a: is not of type 'integer'");
    rejects(closed, "{\"a\": 1, \"b\": 2}", "/b: unknown key");
    rejects("{\"additionalProperties\": {\"type\": \"string\"}}", "{\"x\": \"y\", \"z\": 1}",
            "/z: is not of type 'string'");
    rejects("{\"patternProperties\": {\"^n[0-9]+$\": {\"type\": \"integer\"}}}", "{\"n1\": 1, \"n2\": null}",
            "/n2: is not of type 'integer'");
    accepts("{\"patternProperties\": {\"^n[0-9]+$\": {\"type\": \"integer\"}}}", "{\"xn1\": null}");
    /* a key may have several schemas */
    const char *both = "{\"properties\": {\"ab\": {\"minimum\": 3}},"
                       " \"patternProperties\": {\"^a\": {\"maximum\": 5}}}";
    accepts(both, "{\"ab\": 4}");
    rejects(both, "{\"ab\": 2}", "/ab: is too small");
    rejects(both, "{\"ab\": 6}", "/ab: is too large");
}

static void test_arrays(void **state) {
    (void)state;
    const char *pairs = "{\"items\": {\"type\": \"array\","
                        " \"prefixItems\": [{\"type\": \"string\"}, {\"type\": \"integer\"}],"
                        " \"minItems\": 2, \"maxItems\": 2}}";
    accepts(pairs, "[[\"x\", 1], [\"y\", 2]]");
    accepts(pairs, "[]");
    rejects(pairs, "[[\"x\", 1], [\"y\"]]", "/1: has too few items");
    rejects(pairs, "[[\"x\", 1, 2]]", "/0: has too many items");
    rejects(pairs, "[[1, 1]]", "/0/0: is not of type 'string'");
    rejects("{\"prefixItems\": [true], \"items\": {\"type\": \"null\"}}", "[1, null, 2]", "/2: is not of type 'null'");
}

static void test_values(void **state) {
    (void)state;
    accepts("{\"enum\": [\"a\", 1, null]}", "1");
    rejects("{\"enum\": [\"a\", 1, null]}", "\"b\"", "/: is none of the allowed values 'b'");
    rejects("{\"enum\": []}", "1", "/: is none of the allowed values");
    accepts("{\"const\": {\"a\": [1]}}", "{\"a\": [1]}");
    rejects("{\"const\": {\"a\": [1]}}", "{\"a\": [2]}", "/: is not the one value allowed");
    accepts("{\"minimum\": 0, \"maximum\": 1}", "0");
    accepts("{\"minimum\": 0, \"maximum\": 1}", "1");
    accepts("{\"minimum\": 0}", "\"-1\"");
    rejects("{\"minimum\": 0}", "-0.5", "/: is too small");
    rejects("{\"maximum\": 1}", "1.5", "/: is too large");
    accepts("{\"pattern\": \"^[a-z]+$\"}", "\"abc\"");
    accepts("{\"pattern\": \"^[a-z]+$\"}", "7");
    rejects("{\"pattern\": \"^[a-z]+$\"}", "\"aBc\"", "/: does not match '^[a-z]+$'");
    accepts("{\"pattern\": \"b\"}", "\"abc\"");
}

static void test_alternatives(void **state) {
    (void)state;
    const char *any = "{\"anyOf\": [{\"type\": \"integer\"}, {\"type\": \"object\", \"required\": [\"x\"],"
                      " \"properties\": {\"x\": {\"type\": \"string\"}}}]}";
    accepts(any, "1");
    accepts(any, "{\"x\": \"y\"}");
    rejects(any, "\"1\"", "/: fits none of the alternatives");
    rejects(any, "{\"x\": 1}", "/x: is not of type 'string'"); /* the alternative that was meant */
    accepts("{\"anyOf\": [{\"minimum\": 1}, {\"minimum\": 2}]}", "3");
    const char *one = "{\"oneOf\": [{\"maximum\": 2}, {\"minimum\": 2}]}";
    accepts(one, "1");
    accepts(one, "3");
    rejects(one, "2", "/: fits more than one alternative");
    rejects("{\"oneOf\": []}", "2", "/: fits none of the alternatives");
    /* a complaint of an alternative does not outlive the one that fits */
    rejects("{\"properties\": {\"a\": {\"anyOf\": [{\"items\": {\"type\": \"null\"}}, true]},"
            " \"b\": {\"type\": \"null\"}}}",
            "{\"a\": [1], \"b\": 1}", "/b: is not of type 'null'");
}

static void test_references(void **state) {
    (void)state;
    const char *tree = "{\"$ref\": \"#/$defs/tree\", \"$defs\": {\"tree\": {\"type\": \"array\", \"items\": {\"$ref\":"
                       " \"#/$defs/tree\"}}, \"a/b~c\": {\"type\": \"null\"}}}";
    accepts(tree, "[[], [[]]]");
    rejects(tree, "[[], [[1]]]", "/1/0/0: is not of type 'array'");
    accepts("{\"items\": {\"$ref\": \"#/$defs/a~1b~0c\"}, \"$defs\": {\"a/b~c\": {\"type\": \"null\"}}}", "[null]");
    rejects("{\"$ref\": \"#\"}", "1", "/: is nested too deep");
    char *message = NULL;
    json_schema *schema = json_schema_parse(tree, &message);
    cJSON *value = cJSON_Parse("null");
    assert_true(json_schema_valid(schema, "#/$defs/a~1b~0c", value, &message));
    assert_false(json_schema_valid(schema, "#/$defs/none", value, &message));
    assert_string_equal(message, "the schema has no '#/$defs/none'");
    free(message);
    cJSON_Delete(value);
    json_schema_free(schema);
}

static void test_bad_schemas(void **state) {
    (void)state;
    static const struct { const char *text, *message; } cases[] = {
        {"{", "the schema is no JSON"},
        {"{} {}", "the schema is no JSON"},
        {"7", "a schema is neither an object nor a boolean"},
        {"{\"items\": 7}", "a schema is neither an object nor a boolean"},
        {"{\"minLength\": 7}", "unknown keyword 'minLength'"},
        {"{\"$defs\": {\"x\": {\"anyOf\": [{\"typ\": 1}]}}}", "unknown keyword 'typ'"},
        {"{\"type\": 1}", "keyword 'type' is malformed"},
        {"{\"required\": [1]}", "keyword 'required' is malformed"},
        {"{\"anyOf\": {}}", "keyword 'anyOf' is malformed"},
        {"{\"properties\": []}", "keyword 'properties' is malformed"},
        {"{\"pattern\": null}", "keyword 'pattern' is malformed"},
        {"{\"$ref\": \"#/$defs/x\"}", "$ref '#/$defs/x' leads nowhere"},
        {"{\"$ref\": \"other.json\"}", "$ref 'other.json' leads nowhere"},
    };
    char *message = NULL;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_null(json_schema_parse(cases[i].text, &message));
        assert_string_equal(message, cases[i].message);
        free(message);
    }
    assert_null(json_schema_parse("{\"pattern\": \"(\"}", &message));
    assert_non_null(strstr(message, "pattern '('"));
    free(message);
    assert_null(json_schema_read("/nonexistent", &message));
    free(message);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),        cmocka_unit_test(test_objects),    cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_values),       cmocka_unit_test(test_alternatives), cmocka_unit_test(test_references),
        cmocka_unit_test(test_bad_schemas),
    };
    return cmocka_run_group_tests_name("json_schema", tests, NULL, NULL);
}
