/*
 * rules_in.c - the RULE forms of a description, and names of ops and types.
 *
 * Layer: describe.  The reference has no rules: there each device's source decides what it takes.
 */
#include "describe/loader.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Every name that an op can be given by, for suggestions. */
static const char *const op_names[] = {
#define NAME(id) #id,
    SR_OP_LIST(NAME) SR_UNARY_LIST(NAME) SR_GLU_LIST(NAME)
#undef NAME
};

/* Looked up once a name: the table holds op and kind in one number. */
sr_status sr__find_op(sr__loader *ld, const char *name, const sr__at *at, int *out_op, int *out_kind) {
    int32_t code = sr__map_get(&ld->ops, name, -1);
    if (code < 0) {
        int kind = -1;
        int op = sr_op_find(name, &kind);
        if (op < 0 && !ld->d->opaque) {
            return sr__unknown(ld, at, "op", name, op_names, SR_COUNT(op_names));
        }
        if (op < 0 && *name == '\0') {
            return sr__wrong(ld, at, "an op needs a name");
        }
        bool unknown = op < 0 || (ld->d->all_opaque && !sr_op_is_view(op));
        code = unknown ? SR_OP_OPAQUE : op | (kind + 1) << 8;
        char *key = sr__arena_strdup(&ld->json, name);
        if (!key || !sr__map_put(&ld->ops, key, code)) {
            return sr__no_memory(ld);
        }
    }
    *out_op = code & 0xFF;
    *out_kind = (code >> 8) - 1;
    return SR_OK;
}

static sr_status unknown_type(sr__loader *ld, const char *name, const sr__at *at) {
    const char *names[SR_TYPE_COUNT];
    for (int i = 0; i < SR_TYPE_COUNT; i++) {
        names[i] = sr_type_get(i)->name;
    }
    return sr__unknown(ld, at, "type", name, names, SR_TYPE_COUNT);
}

sr_status sr__find_type(sr__loader *ld, const char *name, const sr__at *at, int *out_type) {
    int32_t type = sr__map_get(&ld->types, name, -1);
    if (type < 0) {
        type = sr_type_find(name);
        if (type < 0) {
            return unknown_type(ld, name, at);
        }
        if (!sr__map_put(&ld->types, sr_type_get(type)->name, type)) {
            return sr__no_memory(ld);
        }
    }
    *out_type = type;
    return SR_OK;
}

/* ---- tests of a rule --------------------------------------------------------------------------------------------- */

static const char *const field_names[] = {"type", "ne0", "ne1", "ne2", "ne3", "buffer_type", "batch"};

/* A new test at the end of the rule, for `n` values. */
static sr_status add_test(sr__loader *ld, sr_rule *rule, const sr_rule_test *like, int n, sr_rule_test **out) {
    sr_rule_test *tests = sr__realloc(rule->tests, ((size_t)rule->n_tests + 1) * sizeof(*tests));
    if (!tests) {
        return sr__no_memory(ld);
    }
    rule->tests = tests;
    sr_rule_test *test = &tests[rule->n_tests];
    *test = *like;
    test->numbers = sr__calloc((size_t)n + 1, sizeof(*test->numbers));
    test->texts = sr__calloc((size_t)n + 1, sizeof(*test->texts));
    rule->n_tests++;
    *out = test;
    return test->numbers && test->texts ? SR_OK : sr__no_memory(ld);
}

static sr_status add_value(sr__loader *ld, sr_rule_test *test, const cJSON *json, const sr__at *at) {
    sr_status status;
    const char *text;
    int type;
    if (test->field != SR_FIELD_TYPE && test->field != SR_FIELD_BUFFER_TYPE) {
        SR_TRY(sr__int(ld, json, at, &test->numbers[test->n_values]));
    } else {
        SR_TRY(sr__string(ld, json, at, &text));
        if (test->field == SR_FIELD_TYPE) {
            SR_TRY(sr__find_type(ld, text, at, &type));
            test->numbers[test->n_values] = type;
        } else {
            test->texts[test->n_values] = sr__strdup(text);
            if (!test->texts[test->n_values]) {
                SR_TRY(sr__no_memory(ld));
            }
        }
    }
    test->n_values++;
done:
    return status;
}

/* A value, or a list of values of which any may match. */
static sr_status add_values(sr__loader *ld, sr_rule *rule, const sr_rule_test *like, const cJSON *json,
                            const sr__at *at) {
    sr_status status;
    sr_rule_test *test;
    if (!sr__is_array(json)) {
        SR_TRY(add_test(ld, rule, like, 1, &test));
        return add_value(ld, test, json, at);
    }
    SR_TRY(add_test(ld, rule, like, cJSON_GetArraySize(json), &test));
    int64_t i = 0;
    for (const cJSON *child = json->child; child; child = child->next, i++) {
        sr__at element = sr__at_index(at, i);
        SR_TRY(add_value(ld, test, child, &element));
    }
done:
    return status;
}

/* A value, values, or {"lt": n, ...}, each of which becomes a test. */
static sr_status add_condition(sr__loader *ld, sr_rule *rule, sr_rule_test like, const cJSON *json, const sr__at *at) {
    static const char *const keys[] = {"lt", "le", "gt", "ge", "ne"};
    static const sr_rule_compare compares[] = {SR_CMP_LT, SR_CMP_LE, SR_CMP_GT, SR_CMP_GE, SR_CMP_NE};
    const cJSON *fields[SR_COUNT(keys)];
    sr_status status;
    if (!sr__is_object(json)) {
        return add_values(ld, rule, &like, json, at);
    }
    SR_TRY(sr__fields(ld, json, at, keys, SR_COUNT(keys), fields));
    for (int i = 0; i < SR_COUNT(keys); i++) {
        if (!fields[i]) {
            continue;
        }
        sr__at member = sr__at_key(at, keys[i]);
        like.compare = compares[i];
        bool names = like.field == SR_FIELD_TYPE || like.field == SR_FIELD_BUFFER_TYPE;
        if (names && like.compare != SR_CMP_NE) {
            SR_TRY(sr__wrong_key(ld, &member, "names have no order: give a name, a list, or \"ne\""));
        }
        SR_TRY(add_values(ld, rule, &like, fields[i], &member));
    }
done:
    return status;
}

/* "src0.ne1", "type", ...: which field of which tensor. */
static bool parse_field(const char *key, sr_rule_test *out) {
    *out = (sr_rule_test){.src = -1, .compare = SR_CMP_EQ};
    if (strncmp(key, "src", 3) == 0 && key[3] >= '0' && key[3] <= '9' && key[4] == '.') {
        out->src = key[3] - '0';
        key += 5;
    }
    for (int i = 0; i < SR_COUNT(field_names); i++) {
        if (strcmp(key, field_names[i]) == 0 && !(out->src >= 0 && i == SR_FIELD_BATCH)) {
            out->field = (sr_rule_field)i;
            return true;
        }
    }
    return false;
}

static sr_status unknown_condition(sr__loader *ld, const sr__at *at, const char *key) {
    static const char *const names[] = {
        "op", "type", "ne0", "ne1", "ne2", "ne3", "buffer_type", "batch",
        "src0.type", "src0.ne0", "src0.ne1", "src0.ne2", "src0.ne3", "src0.buffer_type",
        "src1.type", "src1.ne0", "src1.ne1", "src1.ne2", "src1.ne3", "src1.buffer_type",
    };
    const char *near = sr__nearest(key, names, SR_COUNT(names));
    return sr__wrong_key(ld, at, "unknown key%s%s%s", near ? ", did you mean \"" : "", near ? near : "",
                         near ? "\"?" : "");
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static sr_status set_op(sr__loader *ld, sr_rule *rule, const char *name, const sr__at *at) {
    sr_status status = sr__find_op(ld, name, at, &rule->op, &rule->kind);
    if (status == SR_OK && rule->op == SR_OP_OPAQUE) {
        rule->op_name = sr__strdup(name);
        return rule->op_name ? SR_OK : sr__no_memory(ld);
    }
    return status;
}

/* "MUL_MAT" or "MUL_MAT:q4_K". */
static sr_status load_text_rule(sr__loader *ld, const char *text, const sr__at *at, sr_rule *rule) {
    sr_status status;
    sr_rule_test *test;
    const char *colon = strchr(text, ':');
    const char *name = sr__arena_strndup(&ld->json, text, colon ? (size_t)(colon - text) : strlen(text));
    if (!name) {
        SR_TRY(sr__no_memory(ld));
    }
    SR_TRY(set_op(ld, rule, name, at));
    if (colon) {
        const sr_rule_test like = {.src = 0, .field = SR_FIELD_TYPE, .compare = SR_CMP_EQ};
        int type;
        SR_TRY(sr__find_type(ld, colon + 1, at, &type));
        SR_TRY(add_test(ld, rule, &like, 1, &test));
        test->numbers[test->n_values++] = type;
    }
done:
    return status;
}

static sr_status load_object_rule(sr__loader *ld, const cJSON *json, const sr__at *at, sr_rule *rule) {
    sr_status status;
    SR_TRY(sr__no_repeats(ld, json, at));
    for (const cJSON *child = json->child; child; child = child->next) {
        sr__at member = sr__at_key(at, child->string);
        sr_rule_test like;
        if (strcmp(child->string, "op") == 0) {
            const char *name;
            SR_TRY(sr__string(ld, child, &member, &name));
            SR_TRY(set_op(ld, rule, name, &member));
        } else if (parse_field(child->string, &like)) {
            SR_TRY(add_condition(ld, rule, like, child, &member));
        } else if (!sr__is_comment(child->string)) {
            SR_TRY(unknown_condition(ld, &member, child->string));
        }
    }
done:
    return status;
}

/* The words of a rule: a text as it is, an object as the file has it, less blanks and line breaks. */
static sr_status set_text(sr__loader *ld, const cJSON *json, const sr__at *at, sr_rule *rule) {
    if (sr__is_string(json)) {
        rule->text = sr__strdup(json->valuestring);
        return rule->text ? SR_OK : sr__no_memory(ld);
    }
    const sr__source *source = at->source;
    size_t begin = sr__json_find(source->text, source->length, at, false);
    size_t n = sr__json_span(source->text, begin);
    rule->text = sr__malloc(n + 1);
    if (!rule->text) {
        return sr__no_memory(ld);
    }
    size_t kept = 0;
    bool blank = false;
    for (size_t i = 0; i < n; i++) {
        char c = source->text[begin + i];
        if (strchr(" \t\r\n", c)) {
            blank = true;
            continue;
        }
        if (blank && kept > 0) {
            rule->text[kept++] = ' ';
        }
        rule->text[kept++] = c;
        blank = false;
    }
    rule->text[kept] = '\0';
    return SR_OK;
}

sr_status sr__load_rule(sr__loader *ld, const cJSON *json, const sr__at *at, sr_rule *out) {
    sr_status status;
    *out = (sr_rule){.op = -1, .kind = -1};
    SR_TRY(set_text(ld, json, at, out));
    if (sr__is_string(json)) {
        SR_TRY(load_text_rule(ld, json->valuestring, at, out));
    } else if (sr__is_object(json)) {
        SR_TRY(load_object_rule(ld, json, at, out));
    } else {
        SR_TRY(sr__wrong(ld, at, "expected an op's name or an object, not %s", sr__json_kind(json)));
    }
done:
    if (status != SR_OK) {
        sr_rule_clear(out);
    }
    return status;
}

sr_status sr__load_rules(sr__loader *ld, const cJSON *json, const sr__at *at, sr_rules *out) {
    sr_status status;
    SR_TRY(sr__want_array(ld, json, at));
    out->rules = sr__calloc((size_t)cJSON_GetArraySize(json) + 1, sizeof(*out->rules));
    if (!out->rules) {
        SR_TRY(sr__no_memory(ld));
    }
    int64_t i = 0;
    for (const cJSON *child = json->child; child; child = child->next, i++) {
        sr__at element = sr__at_index(at, i);
        SR_TRY(sr__load_rule(ld, child, &element, &out->rules[out->n]));
        out->n++;
    }
done:
    if (status != SR_OK) {
        sr_rules_clear(out);
    }
    return status;
}
