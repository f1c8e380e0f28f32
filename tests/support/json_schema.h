/*
 * json_schema.h - a small JSON schema validator for tests, over cJSON.
 *
 * Layer: tests.  Knows type, properties, patternProperties, required, additionalProperties, items, prefixItems, enum,
 * const, anyOf, oneOf, pattern, minimum, maximum, minItems, maxItems and $ref to a place in the same schema.  A keyword
 * that it does not know, a pattern that does not compile and a $ref that leads nowhere are errors when the schema is
 * read, so that nothing in a schema is passed over in silence.  Patterns are POSIX extended ones.
 */
#ifndef TESTS_JSON_SCHEMA_H
#define TESTS_JSON_SCHEMA_H

#include <cjson/cJSON.h>
#include <stdbool.h>

typedef struct json_schema json_schema;

/* Reads a schema; NULL: *out_message says what is wrong with it (to be freed). */
json_schema *json_schema_parse(const char *text, char **out_message);
json_schema *json_schema_read(const char *path, char **out_message);
void json_schema_free(json_schema *schema);

/* Whether the value is as the schema's part `ref` ("#" for the whole, "#/$defs/run") wants it.  If not, *out_message
 * (to be freed) is "/runs/0/index: ...": the place that got furthest, and what is wrong there. */
bool json_schema_valid(const json_schema *schema, const char *ref, const cJSON *value, char **out_message);

/* A whole file as a text with a closing zero (to be freed), or NULL. */
char *json_read_file(const char *path);

#endif
