/*
 * values.c - typed access to JSON values: exact integers, sizes, expressions, keys that must be known.
 *
 * Layer: describe.  The reference has no counterpart.  Every function reports SR_DESCRIPTION at the place it was given.
 */
#include <math.h>
#include <stdlib.h>

#include "describe/loader.h"

/* The largest integer up to which doubles hold every one. */
#define EXACT 9007199254740992.0

/* ---- keys -------------------------------------------------------------------------------------------------------- */

const char *sr__json_kind(const cJSON *json) {
    switch (sr__json_type(json)) {
        case cJSON_False:
        case cJSON_True: return "a boolean";
        case cJSON_NULL: return "null";
        case cJSON_Number: return "a number";
        case cJSON_String: return "a string";
        case cJSON_Array: return "an array";
        default: return "an object";
    }
}

static sr_status wrong_kind(sr__loader *ld, const cJSON *json, const sr__at *at, const char *wanted) {
    return sr__wrong(ld, at, "expected %s, not %s", wanted, sr__json_kind(json));
}

sr_status sr__want_object(sr__loader *ld, const cJSON *json, const sr__at *at) {
    return sr__is_object(json) ? SR_OK : wrong_kind(ld, json, at, "an object");
}

sr_status sr__want_array(sr__loader *ld, const cJSON *json, const sr__at *at) {
    return sr__is_array(json) ? SR_OK : wrong_kind(ld, json, at, "an array");
}

static sr_status unknown_key(sr__loader *ld, const sr__at *at, const char *key, const char *const *keys, int n) {
    sr__at member = sr__at_key(at, key);
    const char *near = sr__nearest(key, keys, n);
    if (near) {
        return sr__wrong_key(ld, &member, "unknown key, did you mean \"%s\"?", near);
    }
    return sr__wrong_key(ld, &member, "unknown key");
}

static sr_status repeated_key(sr__loader *ld, const sr__at *at, const char *key) {
    sr__at member = sr__at_key(at, key);
    member.second = true;
    return sr__wrong_key(ld, &member, "the key \"%s\" stands here twice", key);
}

/* Files made by programs have their keys in one order: the search starts behind the key found last. */
static int find_key(const char *key, const char *const *keys, int n, int start) {
    for (int k = 0; k < n; k++) {
        int i = start + k < n ? start + k : start + k - n;
        if (keys[i][0] == key[0] && strcmp(keys[i], key) == 0) {
            return i;
        }
    }
    return -1;
}

sr_status sr__fields(sr__loader *ld, const cJSON *json, const sr__at *at, const char *const *keys, int n,
                     const cJSON **out) {
    memset(out, 0, (size_t)n * sizeof(*out));
    if (!sr__is_object(json)) {
        return wrong_kind(ld, json, at, "an object");
    }
    int next = 0;
    for (const cJSON *child = json->child; child; child = child->next) {
        int i = find_key(child->string, keys, n, next);
        if (i < 0) {
            if (!sr__is_comment(child->string)) {
                return unknown_key(ld, at, child->string, keys, n);
            }
            continue;
        }
        if (out[i]) {
            return repeated_key(ld, at, child->string);
        }
        out[i] = child;
        next = i + 1 < n ? i + 1 : 0;
    }
    return SR_OK;
}

sr_status sr__no_repeats(sr__loader *ld, const cJSON *json, const sr__at *at) {
    sr__map seen = {0};
    sr_status status = sr__want_object(ld, json, at);
    for (const cJSON *child = json->child; child && status == SR_OK; child = child->next) {
        if (sr__map_get(&seen, child->string, 0)) {
            status = repeated_key(ld, at, child->string);
        } else if (!sr__map_put(&seen, child->string, 1)) {
            status = sr__no_memory(ld);
        }
    }
    sr__map_free(&seen);
    return status;
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

/* Replaces each {expression} by its value. */
static sr_status substitute(sr__loader *ld, const char *text, const sr__at *at, const char **out) {
    sr__str result = {0};
    sr_status status = SR_OK;
    for (const char *p = text; *p && status == SR_OK;) {
        const char *open = strchr(p, '{');
        const char *close = open ? strchr(open, '}') : NULL;
        size_t plain = open ? (size_t)(open - p) : strlen(p);
        sr__str_append(&result, p, plain);
        p += plain;
        if (open && !close) {
            status = sr__wrong(ld, at, "'{' without '}' in '%s'", text);
        } else if (open) {
            int64_t value;
            status = sr__evaluate(ld, open + 1, (size_t)(close - open - 1), at, &value);
            if (status == SR_OK) {
                sr__str_printf(&result, "%lld", (long long)value);
            }
            p = close + 1;
        }
    }
    if (status == SR_OK) {
        char *copy = result.failed ? NULL : sr__arena_strdup(&ld->scratch, sr__str_text(&result));
        status = copy ? SR_OK : sr__no_memory(ld);
        *out = copy;
    }
    sr__str_free(&result);
    return status;
}

sr_status sr__string(sr__loader *ld, const cJSON *json, const sr__at *at, const char **out) {
    if (!sr__is_string(json)) {
        return wrong_kind(ld, json, at, "a string");
    }
    if (ld->scope.loops && strchr(json->valuestring, '{')) {
        return substitute(ld, json->valuestring, at, out);
    }
    *out = json->valuestring;
    return SR_OK;
}

sr_status sr__one_of(sr__loader *ld, const cJSON *json, const sr__at *at, const char *what, const char *const *names,
                     int n, int *out_place) {
    const char *text;
    sr_status status;
    SR_TRY(sr__string(ld, json, at, &text));
    for (int i = 0; i < n; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out_place = i;
            return SR_OK;
        }
    }
    status = sr__unknown(ld, at, what, text, names, n);
done:
    return status;
}

sr_status sr__keep(sr__loader *ld, const char *text, const char **out) {
    *out = sr__arena_strdup(&ld->d->arena, text);
    return *out ? SR_OK : sr__no_memory(ld);
}

sr_status sr__kept_string(sr__loader *ld, const cJSON *json, const sr__at *at, const char **out) {
    const char *text;
    sr_status status;
    SR_TRY(sr__string(ld, json, at, &text));
    SR_TRY(sr__keep(ld, text, out));
done:
    return status;
}

sr_status sr__bool(sr__loader *ld, const cJSON *json, const sr__at *at, bool *out) {
    int type = sr__json_type(json);
    if (type != cJSON_True && type != cJSON_False) {
        return wrong_kind(ld, json, at, "true or false");
    }
    *out = type == cJSON_True;
    return SR_OK;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

sr_status sr__evaluate(sr__loader *ld, const char *text, size_t length, const sr__at *at, int64_t *out) {
    ld->fraction = ld->too_large = NULL;
    sr_status status = sr__expr_eval(text, length, sr__lookup_name, ld, out, ld->err);
    if (status != SR_OK && status != SR_MEMORY) {
        if (ld->fraction) {
            status = sr__fail(ld->err, SR_INVALID, "the param '%s' is a fraction", ld->fraction);
        } else if (ld->too_large) {
            status = sr__fail(ld->err, SR_INVALID, "the param '%s' does not fit 64 bits", ld->too_large);
        }
        sr__error_prefix(ld->err, "in the expression '%.*s': ", (int)(length < 200 ? length : 200), text);
        status = sr__wrong_there(ld, at, status);
    }
    return status;
}

/* The text of a number as the file has it, where its double is no longer enough to tell. */
static bool reads_as(const sr__at *at, const char *digits) {
    const sr__source *source = at->source;
    const char *p = source->text + sr__json_find(source->text, source->length, at, false);
    return strncmp(p, digits, strlen(digits)) == 0 && sr__json_span(p, 0) == strlen(digits);
}

static sr_status number_to_int(sr__loader *ld, double value, const sr__at *at, int64_t *out) {
    if (!isfinite(value) || fabs(value) > EXACT ||
        (fabs(value) == EXACT && !reads_as(at, value > 0 ? "9007199254740992" : "-9007199254740992"))) {
        return sr__wrong(ld, at, "an integer beyond 2^53 (9007199254740992) is not exact");
    }
    if (value != floor(value)) {
        return sr__wrong(ld, at, "expected an integer, not the fraction %.17g", value);
    }
    *out = (int64_t)value;
    return SR_OK;
}

/* In the sections that `expand` repeats as they are, an expression is replaced by its value. */
static void settle(sr__loader *ld, const cJSON *json, int64_t value) {
    if (ld->settle) {
        cJSON *own = (cJSON *)(uintptr_t)json;
        own->type = cJSON_Number;
        own->valuedouble = (double)value;
    }
}

sr_status sr__int(sr__loader *ld, const cJSON *json, const sr__at *at, int64_t *out) {
    if (sr__is_number(json)) {
        double value = json->valuedouble;
        if (value > -EXACT && value < EXACT && value == (double)(int64_t)value) {
            *out = (int64_t)value;
            return SR_OK;
        }
        return number_to_int(ld, value, at, out);
    }
    if (!sr__is_string(json)) {
        return wrong_kind(ld, json, at, "an integer or an expression");
    }
    const char *text;
    sr_status status;
    SR_TRY(sr__string(ld, json, at, &text));
    SR_TRY(sr__evaluate(ld, text, strlen(text), at, out));
    if (*out > INT64_C(1) << 53 || *out < -(INT64_C(1) << 53)) {
        SR_TRY(sr__wrong(ld, at, "the expression '%s' gives %lld: an integer beyond 2^53", text, (long long)*out));
    }
    settle(ld, json, *out);
done:
    return status;
}

sr_status sr__int_in(sr__loader *ld, const cJSON *json, const sr__at *at, int64_t min, int64_t max, int64_t *out) {
    sr_status status;
    SR_TRY(sr__int(ld, json, at, out));
    if (*out < min && min == 0) {
        SR_TRY(sr__wrong(ld, at, "%lld is negative", (long long)*out));
    }
    if (*out < min || *out > max) {
        if (max == INT64_MAX) {
            SR_TRY(sr__wrong(ld, at, "%lld is less than %lld", (long long)*out, (long long)min));
        }
        SR_TRY(sr__wrong(ld, at, "%lld is not within %lld to %lld", (long long)*out, (long long)min, (long long)max));
    }
done:
    return status;
}

/* "12MiB" or "12 MiB"; false: not of that form. */
static bool unit_size(const char *text, int64_t *out, bool *out_overflow) {
    static const struct { const char *unit; int shift; } units[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
    const char *p = text;
    int64_t value = 0;
    *out_overflow = false;
    for (; *p >= '0' && *p <= '9'; p++) {
        *out_overflow = *out_overflow || __builtin_mul_overflow(value, 10, &value) ||
                        __builtin_add_overflow(value, *p - '0', &value);
    }
    if (p == text) {
        return false;
    }
    p += *p == ' ';
    for (int i = 0; i < SR_COUNT(units); i++) {
        if (strcmp(p, units[i].unit) == 0) {
            *out_overflow = *out_overflow || value > ((int64_t)EXACT >> units[i].shift);
            *out = *out_overflow ? 0 : value << units[i].shift;
            return true;
        }
    }
    return false;
}

/* "1.5GiB", "4 GB", "8gib": a number with a word behind it, which no expression is. */
static bool looks_like_size(const char *text) {
    size_t digits = strspn(text, "0123456789.");
    size_t blanks = strspn(text + digits, " ");
    const char *unit = text + digits + blanks;
    return digits > 0 && *unit && strspn(unit, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == strlen(unit);
}

sr_status sr__size(sr__loader *ld, const cJSON *json, const sr__at *at, int64_t *out) {
    bool overflow;
    if (sr__is_string(json)) {
        const char *text;
        sr_status status = sr__string(ld, json, at, &text);
        if (status != SR_OK) {
            return status;
        }
        if (unit_size(text, out, &overflow)) {
            return overflow ? sr__wrong(ld, at, "the size '%s' is beyond 2^53 bytes", text) : SR_OK;
        }
        if (looks_like_size(text)) {
            return sr__wrong(ld, at, "'%s' is no size: whole numbers of KiB, MiB or GiB, or bytes", text);
        }
    } else if (!sr__is_number(json)) {
        return wrong_kind(ld, json, at, "a size: a number of bytes or a string like \"8GiB\"");
    }
    return sr__int_in(ld, json, at, 0, INT64_MAX, out);
}

/* A param by its bare name may be a fraction; any other expression is of integers. */
static bool param_value(const sr__loader *ld, const char *name, double *out) {
    for (int i = 0; i < ld->n_params && ld->scope.params; i++) {
        if (strcmp(ld->params[i].name, name) == 0) {
            *out = ld->scope.params[i];
            return !ld->params_known || ld->params_known[i];
        }
    }
    return false;
}

sr_status sr__double(sr__loader *ld, const cJSON *json, const sr__at *at, double *out) {
    if (sr__is_number(json)) {
        *out = json->valuedouble;
        return isfinite(*out) ? SR_OK : sr__wrong(ld, at, "a number too large for a double");
    }
    if (!sr__is_string(json)) {
        return wrong_kind(ld, json, at, "a number");
    }
    const char *text;
    int64_t value;
    sr_status status;
    SR_TRY(sr__string(ld, json, at, &text));
    if (!param_value(ld, text, out)) {
        SR_TRY(sr__evaluate(ld, text, strlen(text), at, &value));
        *out = (double)value;
    }
    if (ld->settle) {
        cJSON *own = (cJSON *)(uintptr_t)json;
        own->type = cJSON_Number;
        own->valuedouble = *out;
    }
done:
    return status;
}
