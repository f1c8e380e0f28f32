/*
 * json_schema.c - a small JSON schema validator for tests, over cJSON.
 *
 * Layer: tests.  Reading a schema walks it once: keywords are checked, $refs followed, patterns compiled.  Validation
 * walks value and schema together.  Of the complaints under anyOf and oneOf the deepest is
 * kept: it most likely comes from the alternative that was meant.
 */
#include "json_schema.h"

#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 400 };

typedef struct pattern {
    const char *text; /* of the schema; compared by address, since each stands for itself */
    regex_t regex;
    struct pattern *next;
} pattern;

struct json_schema {
    cJSON *root;
    pattern *patterns;
};

/* Where validation is in the value, from the inside out. */
typedef struct place {
    const struct place *outer;
    const char *key; /* NULL: index */
    int index;
    int depth;
} place;

typedef struct checker {
    const json_schema *schema;
    char *message; /* the complaint at the deepest place so far */
    int message_depth;
    int nesting;
} checker;

static bool check(checker *c, const cJSON *schema, const cJSON *value, const place *at);

/* ---- texts ------------------------------------------------------------ */

static char *format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static char *format(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    char *text = NULL;
    int n = vasprintf(&text, fmt, args);
    va_end(args);
    return n >= 0 ? text : NULL;
}

char *json_read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        rewind(file);
        text = size >= 0 ? malloc((size_t)size + 1) : NULL;
        if (text != NULL) {
            size_t n = fread(text, 1, (size_t)size, file);
            text[n] = '\0';
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return text;
}

static char *pointer_of(const place *at) {
    if (at->outer == NULL) {
        return format("%s", "");
    }
    char *outer = pointer_of(at->outer);
    char *text = at->key != NULL ? format("%s/%s", outer, at->key) : format("%s/%d", outer, at->index);
    free(outer);
    return text;
}

/* Keeps the complaint if it is deeper than the one that is there.  Always false, for `return complain(...)`. */
static bool complain(checker *c, const place *at, const char *what, const char *subject) {
    if (c->message != NULL && c->message_depth >= at->depth) {
        return false;
    }
    free(c->message);
    char *pointer = pointer_of(at);
    c->message = format("%s: %s%s%s%s", pointer[0] != '\0' ? pointer : "/", what, subject != NULL ? " '" : "",
                        subject != NULL ? subject : "", subject != NULL ? "'" : "");
    c->message_depth = at->depth;
    free(pointer);
    return false;
}

/* ---- reading a schema ------------------------------------------------------------ */

typedef enum keyword_kind {
    ANNOTATION, NUMBER, ANY, STRINGS, LIST, PATTERN, REF, ONE_SCHEMA, SCHEMA_LIST, SCHEMA_MAP, PATTERN_MAP
} keyword_kind;

static const struct { const char *name; keyword_kind kind; } keywords[] = {
    {"$schema", ANNOTATION}, {"$id", ANNOTATION}, {"$comment", ANNOTATION}, {"title", ANNOTATION},
    {"description", ANNOTATION}, {"default", ANNOTATION}, {"examples", ANNOTATION},
    {"type", STRINGS}, {"required", STRINGS}, {"enum", LIST}, {"const", ANY}, {"minimum", NUMBER},
    {"maximum", NUMBER}, {"minItems", NUMBER}, {"maxItems", NUMBER}, {"pattern", PATTERN}, {"$ref", REF},
    {"additionalProperties", ONE_SCHEMA}, {"items", ONE_SCHEMA}, {"anyOf", SCHEMA_LIST}, {"oneOf", SCHEMA_LIST},
    {"prefixItems", SCHEMA_LIST}, {"properties", SCHEMA_MAP}, {"$defs", SCHEMA_MAP}, {"patternProperties", PATTERN_MAP},
};

/* The child whose key is the n bytes at `key`, with ~0 and ~1 as JSON pointers have them. */
static const cJSON *child_at(const cJSON *parent, const char *key, size_t n) {
    for (const cJSON *child = parent->child; child != NULL; child = child->next) {
        const char *k = child->string;
        size_t i = 0;
        while (k != NULL && i < n && *k != '\0') {
            char c = key[i];
            if (c == '~' && i + 1 < n) {
                i++;
                c = key[i] == '1' ? '/' : '~';
            }
            if (c != *k) {
                break;
            }
            i++;
            k++;
        }
        if (k != NULL && i == n && *k == '\0') {
            return child;
        }
    }
    return NULL;
}

static const cJSON *resolve(const json_schema *schema, const char *ref) {
    if (ref == NULL || ref[0] != '#') {
        return NULL;
    }
    const cJSON *node = schema->root;
    const char *p = ref + 1;
    while (node != NULL && *p == '/') {
        size_t n = strcspn(++p, "/");
        node = child_at(node, p, n);
        p += n;
    }
    return *p == '\0' ? node : NULL;
}

static char *add_pattern(json_schema *schema, const char *text) {
    pattern *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        return format("out of memory");
    }
    int code = regcomp(&p->regex, text, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        char reason[128];
        regerror(code, &p->regex, reason, sizeof(reason));
        free(p);
        return format("pattern '%s': %s", text, reason);
    }
    p->text = text;
    p->next = schema->patterns;
    schema->patterns = p;
    return NULL;
}

/* A string or an array of strings. */
static bool are_strings(const cJSON *member) {
    const cJSON *child = cJSON_IsArray(member) ? member->child : NULL;
    while (child != NULL && cJSON_IsString(child)) {
        child = child->next;
    }
    return child == NULL && (cJSON_IsArray(member) || cJSON_IsString(member));
}

static bool has_form(const cJSON *member, keyword_kind kind) {
    switch (kind) {
        case NUMBER: return cJSON_IsNumber(member);
        case STRINGS: return are_strings(member);
        case LIST:
        case SCHEMA_LIST: return cJSON_IsArray(member);
        case PATTERN:
        case REF: return cJSON_IsString(member);
        case SCHEMA_MAP:
        case PATTERN_MAP: return cJSON_IsObject(member);
        case ANNOTATION:
        case ANY:
        case ONE_SCHEMA: break;
    }
    return true;
}

static char *read_schema(json_schema *schema, const cJSON *node);

static char *read_keyword(json_schema *schema, const cJSON *member) {
    size_t i = 0;
    while (i < sizeof(keywords) / sizeof(keywords[0]) && strcmp(keywords[i].name, member->string) != 0) {
        i++;
    }
    if (i == sizeof(keywords) / sizeof(keywords[0])) {
        return format("unknown keyword '%s'", member->string);
    }
    keyword_kind kind = keywords[i].kind;
    if (!has_form(member, kind)) {
        return format("keyword '%s' is malformed", member->string);
    }
    char *message = NULL;
    switch (kind) {
        case ANNOTATION:
        case NUMBER:
        case ANY:
        case STRINGS:
        case LIST: break;
        case PATTERN: return add_pattern(schema, member->valuestring);
        case REF:
            if (resolve(schema, member->valuestring) == NULL) {
                message = format("$ref '%s' leads nowhere", member->valuestring);
            }
            break;
        case ONE_SCHEMA: return read_schema(schema, member);
        case SCHEMA_LIST:
        case SCHEMA_MAP:
        case PATTERN_MAP:
            for (const cJSON *child = member->child; child != NULL && message == NULL; child = child->next) {
                message = kind == PATTERN_MAP ? add_pattern(schema, child->string) : NULL;
                message = message == NULL ? read_schema(schema, child) : message;
            }
            break;
    }
    return message;
}

/* NULL, or what is wrong. */
static char *read_schema(json_schema *schema, const cJSON *node) {
    if (cJSON_IsBool(node)) {
        return NULL;
    }
    if (!cJSON_IsObject(node)) {
        return format("a schema is neither an object nor a boolean");
    }
    char *message = NULL;
    for (const cJSON *member = node->child; member != NULL && message == NULL; member = member->next) {
        message = read_keyword(schema, member);
    }
    return message;
}

json_schema *json_schema_parse(const char *text, char **out_message) {
    *out_message = NULL;
    json_schema *schema = calloc(1, sizeof(*schema));
    if (schema == NULL) {
        return NULL;
    }
    schema->root = text != NULL ? cJSON_ParseWithOpts(text, NULL, 1) : NULL;
    *out_message = schema->root != NULL ? read_schema(schema, schema->root) : format("the schema is no JSON");
    if (*out_message != NULL) {
        json_schema_free(schema);
        return NULL;
    }
    return schema;
}

json_schema *json_schema_read(const char *path, char **out_message) {
    char *text = json_read_file(path);
    json_schema *schema = json_schema_parse(text, out_message);
    free(text);
    return schema;
}

void json_schema_free(json_schema *schema) {
    if (schema == NULL) {
        return;
    }
    while (schema->patterns != NULL) {
        pattern *p = schema->patterns;
        schema->patterns = p->next;
        regfree(&p->regex);
        free(p);
    }
    cJSON_Delete(schema->root);
    free(schema);
}

/* ---- validation ------------------------------------------------------------ */

static const cJSON *member_of(const cJSON *object, const char *key) {
    for (const cJSON *child = object->child; child != NULL; child = child->next) {
        if (strcmp(child->string, key) == 0) {
            return child;
        }
    }
    return NULL;
}

static bool matches(const json_schema *schema, const char *pattern_text, const char *text) {
    for (const pattern *p = schema->patterns; p != NULL; p = p->next) {
        if (p->text == pattern_text) {
            return regexec(&p->regex, text, 0, NULL, 0) == 0;
        }
    }
    return false;
}

static bool is_of_type(const cJSON *value, const char *type) {
    switch (type[0]) {
        case 'o': return cJSON_IsObject(value);
        case 'a': return cJSON_IsArray(value);
        case 's': return cJSON_IsString(value);
        case 'b': return cJSON_IsBool(value);
        case 'n': return type[2] == 'l' ? cJSON_IsNull(value) : cJSON_IsNumber(value);
        default: break; /* integer: a number without a fraction */
    }
    return cJSON_IsNumber(value) && isfinite(value->valuedouble) && floor(value->valuedouble) == value->valuedouble;
}

static bool check_type(checker *c, const cJSON *types, const cJSON *value, const place *at) {
    if (cJSON_IsString(types)) {
        return is_of_type(value, types->valuestring) || complain(c, at, "is not of type", types->valuestring);
    }
    for (const cJSON *type = types->child; type != NULL; type = type->next) {
        if (is_of_type(value, type->valuestring)) {
            return true;
        }
    }
    return complain(c, at, "is of none of the allowed types", NULL);
}

static bool check_enum(checker *c, const cJSON *choices, const cJSON *value, const place *at) {
    for (const cJSON *choice = choices->child; choice != NULL; choice = choice->next) {
        if (cJSON_Compare(choice, value, 1)) {
            return true;
        }
    }
    return complain(c, at, "is none of the allowed values", cJSON_IsString(value) ? value->valuestring : NULL);
}

/* Complaints of alternatives count only if none, or more than one where one is wanted, holds. */
static bool check_alternatives(checker *c, const cJSON *list, const cJSON *value, const place *at, bool exactly_one) {
    checker trial = {.schema = c->schema, .message_depth = -1, .nesting = c->nesting};
    int n_valid = 0;
    for (const cJSON *one = list->child; one != NULL && (exactly_one || n_valid == 0); one = one->next) {
        n_valid += check(&trial, one, value, at) ? 1 : 0;
    }
    bool ok = exactly_one ? n_valid == 1 : n_valid > 0;
    if (!ok && n_valid > 1) {
        complain(c, at, "fits more than one alternative", NULL);
    } else if (!ok && trial.message_depth > at->depth && trial.message_depth > c->message_depth) {
        free(c->message);
        c->message = trial.message;
        c->message_depth = trial.message_depth;
        trial.message = NULL;
    } else if (!ok) {
        complain(c, at, "fits none of the alternatives", NULL);
    }
    free(trial.message);
    return ok;
}

static bool check_array(checker *c, const cJSON *schema, const cJSON *value, const place *at) {
    const cJSON *items = member_of(schema, "items");
    const cJSON *prefix = member_of(schema, "prefixItems");
    const cJSON *first = prefix != NULL ? prefix->child : NULL;
    const cJSON *min = member_of(schema, "minItems");
    const cJSON *max = member_of(schema, "maxItems");
    int n = 0;
    bool ok = true;
    for (const cJSON *item = value->child; item != NULL; item = item->next, n++) {
        place inside = {.outer = at, .index = n, .depth = at->depth + 1};
        const cJSON *wanted = first != NULL ? first : items;
        first = first != NULL ? first->next : NULL;
        ok = (wanted == NULL || check(c, wanted, item, &inside)) && ok;
    }
    if (min != NULL && n < min->valuedouble) {
        ok = complain(c, at, "has too few items", NULL);
    }
    if (max != NULL && n > max->valuedouble) {
        ok = complain(c, at, "has too many items", NULL);
    }
    return ok;
}

static bool check_member(checker *c, const cJSON *schema, const cJSON *member, const place *at) {
    const cJSON *properties = member_of(schema, "properties");
    const cJSON *patterns = member_of(schema, "patternProperties");
    const cJSON *additional = member_of(schema, "additionalProperties");
    const cJSON *own = properties != NULL ? member_of(properties, member->string) : NULL;
    place inside = {.outer = at, .key = member->string, .depth = at->depth + 1};
    bool known = own != NULL;
    bool ok = own == NULL || check(c, own, member, &inside);
    for (const cJSON *p = patterns != NULL ? patterns->child : NULL; p != NULL; p = p->next) {
        if (matches(c->schema, p->string, member->string)) {
            known = true;
            ok = check(c, p, member, &inside) && ok;
        }
    }
    if (!known && cJSON_IsFalse(additional)) {
        return complain(c, &inside, "unknown key", NULL);
    }
    return (known || additional == NULL || check(c, additional, member, &inside)) && ok;
}

static bool check_object(checker *c, const cJSON *schema, const cJSON *value, const place *at) {
    bool ok = true;
    for (const cJSON *member = value->child; member != NULL; member = member->next) {
        ok = check_member(c, schema, member, at) && ok;
    }
    const cJSON *required = member_of(schema, "required");
    for (const cJSON *key = required != NULL ? required->child : NULL; key != NULL; key = key->next) {
        if (member_of(value, key->valuestring) == NULL) {
            ok = complain(c, at, "lacks", key->valuestring);
        }
    }
    return ok;
}

static bool check_keyword(checker *c, const cJSON *keyword, const cJSON *value, const place *at) {
    const char *name = keyword->string;
    if (strcmp(name, "type") == 0) {
        return check_type(c, keyword, value, at);
    }
    if (strcmp(name, "enum") == 0) {
        return check_enum(c, keyword, value, at);
    }
    if (strcmp(name, "const") == 0) {
        return cJSON_Compare(keyword, value, 1) || complain(c, at, "is not the one value allowed", NULL);
    }
    if (strcmp(name, "anyOf") == 0 || strcmp(name, "oneOf") == 0) {
        return check_alternatives(c, keyword, value, at, name[0] == 'o');
    }
    if (strcmp(name, "$ref") == 0) {
        return check(c, resolve(c->schema, keyword->valuestring), value, at);
    }
    if (strcmp(name, "pattern") == 0 && cJSON_IsString(value)) {
        return matches(c->schema, keyword->valuestring, value->valuestring) ||
               complain(c, at, "does not match", keyword->valuestring);
    }
    if (strcmp(name, "minimum") == 0 && cJSON_IsNumber(value)) {
        return value->valuedouble >= keyword->valuedouble || complain(c, at, "is too small", NULL);
    }
    if (strcmp(name, "maximum") == 0 && cJSON_IsNumber(value)) {
        return value->valuedouble <= keyword->valuedouble || complain(c, at, "is too large", NULL);
    }
    return true;
}

static bool check(checker *c, const cJSON *schema, const cJSON *value, const place *at) {
    if (cJSON_IsBool(schema)) {
        return cJSON_IsTrue(schema) || complain(c, at, "is not allowed", NULL);
    }
    if (c->nesting >= MAX_DEPTH) {
        return complain(c, at, "is nested too deep", NULL);
    }
    c->nesting++;
    bool ok = true;
    for (const cJSON *keyword = schema->child; keyword != NULL; keyword = keyword->next) {
        ok = check_keyword(c, keyword, value, at) && ok;
    }
    if (cJSON_IsObject(value)) {
        ok = check_object(c, schema, value, at) && ok;
    } else if (cJSON_IsArray(value)) {
        ok = check_array(c, schema, value, at) && ok;
    }
    c->nesting--;
    return ok;
}

bool json_schema_valid(const json_schema *schema, const char *ref, const cJSON *value, char **out_message) {
    checker c = {.schema = schema, .message_depth = -1};
    const place root = {0};
    const cJSON *start = resolve(schema, ref);
    bool ok = start != NULL && check(&c, start, value, &root);
    if (start == NULL) {
        c.message = format("the schema has no '%s'", ref);
    }
    if (ok) {
        free(c.message);
        c.message = NULL;
    }
    *out_message = c.message;
    return ok;
}
