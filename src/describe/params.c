/*
 * params.c - the params of a description: from the file, the weights file, the command line and each run.
 *
 * Layer: describe.  The reference has no counterpart.
 *
 * A param's value may be an expression over other params, in any order.  Each is worked out when what it needs is
 * known: where an expression asks for a param that is not yet known, that one goes first, and then it is tried again.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "describe/gguf.h"
#include "describe/loader.h"

/* ---- names in expressions ---------------------------------------------------------------------------------------- */

static int find_param(const sr__loader *ld, const char *name, size_t length) {
    for (int i = 0; i < ld->n_params; i++) {
        if (strncmp(ld->params[i].name, name, length) == 0 && ld->params[i].name[length] == '\0') {
            return i;
        }
    }
    return -1;
}

bool sr__lookup_name(void *loader, const char *name, size_t length, int64_t *out) {
    sr__loader *ld = loader;
    const sr__scope *scope = &ld->scope;
    for (const sr__loop *loop = scope->loops; loop; loop = loop->up) {
        if (loop->length == length && memcmp(loop->name, name, length) == 0) {
            *out = loop->value;
            return true;
        }
    }
    if (scope->groups && length == 2 && name[0] == 'm' && name[1] >= '1' && name[1] <= '9') {
        int group = name[1] - '0';
        *out = scope->groups[group];
        return (scope->groups_given >> group) & 1;
    }
    int i = scope->params ? find_param(ld, name, length) : -1;
    if (i < 0) {
        return false;
    }
    if (ld->params_known && !ld->params_known[i]) {
        ld->param_wanted = i;
        *out = 1; /* any: the result is not used */
        return true;
    }
    double value = scope->params[i];
    if (value != floor(value)) {
        ld->fraction = ld->params[i].name;
        return false;
    }
    if (fabs(value) >= 0x1p63) {
        ld->too_large = ld->params[i].name;
        return false;
    }
    *out = (int64_t)value;
    return true;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* What the params are worked out from: for each its JSON value and place. */
typedef struct working {
    const cJSON **json;
    sr__at *at;      /* of the object that the value stands in */
    double *values;
    uint8_t *known;
    int32_t *stack;  /* those being worked out */
} working;

static sr_status gguf_param(sr__loader *ld, const cJSON *json, const sr__at *at, double *out) {
    static const char *const keys[] = {"gguf", "default"};
    sr_status status;
    const cJSON *fields[2];
    const char *key, *weights = ld->d->weights;
    bool found = false;
    SR_TRY(sr__fields(ld, json, at, keys, 2, fields));
    if (!fields[0]) {
        SR_TRY(sr__wrong(ld, at, "expected \"gguf\": a key of the weights file"));
    }
    sr__at key_at = sr__at_key(at, "gguf"), default_at = sr__at_key(at, "default");
    SR_TRY(sr__string(ld, fields[0], &key_at, &key));
    if (weights) {
        SR_TRY(sr__open_weights(ld->d, ld->err));
        SR_TRY(sr__wrong_there(ld, &key_at, sr__gguf_number(ld->d->gguf, key, &found, out, ld->err)));
    }
    if (!found && fields[1]) {
        SR_TRY(sr__double(ld, fields[1], &default_at, out));
    } else if (!found && weights) {
        SR_TRY(sr__wrong(ld, &key_at, "the weights file has no key '%s', and there is no default", key));
    } else if (!found) {
        SR_TRY(sr__wrong(ld, &key_at, "there is no weights file to take '%s' from, and no default", key));
    }
done:
    return status;
}

/* "64", "1e-5" or an expression. */
static sr_status given_value(sr__loader *ld, const sr__param *param, double *out) {
    char *end;
    double value = strtod(param->given, &end);
    if (*param->given && *end == '\0' && isfinite(value)) {
        *out = value;
        return SR_OK;
    }
    int64_t integer;
    ld->fraction = ld->too_large = NULL;
    sr_status status = sr__expr_eval(param->given, strlen(param->given), sr__lookup_name, ld, &integer, ld->err);
    if (status != SR_OK && status != SR_MEMORY) {
        sr__error_prefix(ld->err, "the value '%s' given for the param '%s': ", param->given, param->name);
        status = SR_USAGE;
        if (ld->err) {
            ld->err->status = status;
        }
    }
    *out = (double)integer;
    return status;
}

static sr_status one_value(sr__loader *ld, const working *w, int i) {
    const sr__param *param = &ld->params[i];
    if (param->given) {
        return given_value(ld, param, &w->values[i]);
    }
    sr__at at = sr__at_key(&w->at[i], param->name);
    if (sr__is_object(w->json[i])) {
        return gguf_param(ld, w->json[i], &at, &w->values[i]);
    }
    sr_status status = sr__double(ld, w->json[i], &at, &w->values[i]);
    if (status == SR_OK && sr__is_number(w->json[i]) && w->values[i] == floor(w->values[i])) {
        int64_t exact;
        status = sr__int(ld, w->json[i], &at, &exact);
    }
    return status;
}

static sr_status depends_on_itself(sr__loader *ld, const working *w, int32_t i) {
    const sr__param *param = &ld->params[i];
    if (param->given) {
        return sr__fail(ld->err, SR_USAGE, "the value '%s' given for the param '%s' depends on itself", param->given,
                        param->name);
    }
    sr__at at = sr__at_key(&w->at[i], param->name);
    return sr__wrong(ld, &at, "the param '%s' depends on itself", param->name);
}

/* One value, unless another param is wanted first; a try says nothing about what is wrong. */
static sr_status try_value(sr__loader *ld, const working *w, int32_t i) {
    sr_error *err = ld->err;
    ld->param_wanted = -1;
    ld->err = NULL;
    sr_status status = one_value(ld, w, i);
    ld->err = err;
    if (status == SR_MEMORY) {
        return sr__no_memory(ld);
    }
    return status == SR_OK || ld->param_wanted >= 0 ? SR_OK : one_value(ld, w, i);
}

/* Works out param i and all it needs. */
static sr_status settle_param(sr__loader *ld, const working *w, int32_t i) {
    int n = 0;
    w->stack[n++] = i;
    while (n > 0) {
        int32_t top = w->stack[n - 1];
        sr_status status = w->known[top] ? SR_OK : try_value(ld, w, top);
        if (status != SR_OK) {
            return status;
        }
        if (w->known[top] || ld->param_wanted < 0) {
            w->known[top] = 1;
            n--;
            continue;
        }
        for (int k = 0; k < n; k++) {
            if (w->stack[k] == ld->param_wanted) {
                return depends_on_itself(ld, w, top);
            }
        }
        w->stack[n++] = ld->param_wanted;
    }
    return SR_OK;
}

static bool working_new(sr__loader *ld, working *w) {
    size_t n = (size_t)ld->n_params + 1;
    w->json = sr__arena_zalloc(&ld->json, n * sizeof(*w->json));
    w->at = sr__arena_zalloc(&ld->json, n * sizeof(*w->at));
    w->values = sr__arena_zalloc(&ld->d->arena, n * sizeof(*w->values));
    w->known = sr__arena_zalloc(&ld->json, n);
    w->stack = sr__arena_alloc(&ld->json, n * sizeof(*w->stack));
    if (!w->json || !w->at || !w->values || !w->known || !w->stack) {
        return false;
    }
    for (int i = 0; i < ld->n_params; i++) {
        w->json[i] = ld->params[i].json;
        w->at[i] = ld->top.at[SR__TOP_PARAMS];
    }
    return true;
}

static sr_status work_out(sr__loader *ld, const working *w) {
    sr_status status = SR_OK;
    sr__scope outer = ld->scope;
    ld->scope = (sr__scope){.params = w->values};
    ld->params_known = w->known;
    for (int32_t i = 0; i < ld->n_params && status == SR_OK; i++) {
        status = settle_param(ld, w, i);
    }
    ld->params_known = NULL;
    ld->scope = outer;
    return status;
}

/* ---- the file's and the command line's --------------------------------------------------------------------------- */

static bool is_name(const char *s) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return *s && !(*s >= '0' && *s <= '9') && s[strspn(s, letters)] == '\0';
}

/* Unless the params' names are known the command line cannot be wrong about one. */
static sr_status unknown_given(sr__loader *ld, const char *name) {
    const char **names = sr__arena_alloc(&ld->json, ((size_t)ld->n_params + 1) * sizeof(*names));
    if (!names) {
        return sr__no_memory(ld);
    }
    for (int i = 0; i < ld->n_params; i++) {
        names[i] = ld->params[i].name;
    }
    const char *near = sr__nearest(name, names, ld->n_params);
    return sr__fail(ld->err, SR_USAGE, "the description has no param '%s'%s%s%s", name, near ? ", did you mean " : "",
                    near ? near : "", near ? "?" : "");
}

static sr_status take_given(sr__loader *ld, const char *text) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text) {
        return sr__fail(ld->err, SR_USAGE, "expected NAME=VALUE for a param, not '%s'", text);
    }
    int i = find_param(ld, text, (size_t)(equals - text));
    if (i < 0) {
        char *name = sr__arena_strndup(&ld->json, text, (size_t)(equals - text));
        return name ? unknown_given(ld, name) : sr__no_memory(ld);
    }
    return sr__keep(ld, equals + 1, &ld->params[i].given);
}

static sr_status list_params(sr__loader *ld, const cJSON *json, const sr__at *at) {
    sr_status status;
    int n = 0;
    SR_TRY(sr__no_repeats(ld, json, at));
    for (const cJSON *child = json->child; child; child = child->next) {
        n++;
    }
    ld->params = sr__arena_zalloc(&ld->json, ((size_t)n + 1) * sizeof(*ld->params));
    if (!ld->params) {
        SR_TRY(sr__no_memory(ld));
    }
    for (const cJSON *child = json->child; child; child = child->next) {
        if (sr__is_comment(child->string)) {
            continue;
        }
        if (!is_name(child->string)) {
            sr__at member = sr__at_key(at, child->string);
            SR_TRY(sr__wrong_key(ld, &member, "a param's name has letters, digits and '_' only"));
        }
        ld->params[ld->n_params].json = child;
        SR_TRY(sr__keep(ld, child->string, &ld->params[ld->n_params].name));
        ld->n_params++;
    }
done:
    return status;
}

sr_status sr__load_params(sr__loader *ld) {
    sr_status status;
    working w;
    if (ld->top.json[SR__TOP_PARAMS]) {
        SR_TRY(list_params(ld, ld->top.json[SR__TOP_PARAMS], &ld->top.at[SR__TOP_PARAMS]));
    }
    for (int i = 0; i < ld->options->n_params; i++) {
        SR_TRY(take_given(ld, ld->options->params[i]));
    }
    if (!working_new(ld, &w)) {
        SR_TRY(sr__no_memory(ld));
    }
    SR_TRY(work_out(ld, &w));
    ld->base = w.values;
    ld->scope = (sr__scope){.params = w.values};
done:
    return status;
}

/* ---- a run's ----------------------------------------------------------------------------------------------------- */

static void append_value(sr__str *s, const char *name, double value) {
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    if (value == floor(value) && fabs(value) < 1e18) {
        snprintf(text, sizeof(text), "%lld", (long long)value);
    }
    sr__str_printf(s, "%s=%s", name, text);
}

static sr_status take_run_param(sr__loader *ld, const cJSON *child, const sr__at *at, working *w) {
    int i = find_param(ld, child->string, strlen(child->string));
    if (i < 0) {
        const char **names = sr__arena_alloc(&ld->json, ((size_t)ld->n_params + 1) * sizeof(*names));
        if (!names) {
            return sr__no_memory(ld);
        }
        for (int k = 0; k < ld->n_params; k++) {
            names[k] = ld->params[k].name;
        }
        sr__at member = sr__at_key(at, child->string);
        return sr__unknown(ld, &member, "param", child->string, names, ld->n_params);
    }
    w->json[i] = child;
    w->at[i] = *at;
    return SR_OK;
}

/* The run's own params in its order, then the command line's. */
static sr_status run_text(sr__loader *ld, const cJSON *json, const double *values, const char **out) {
    sr__str s = {0};
    for (const cJSON *child = json ? json->child : NULL; child; child = child->next) {
        int i = find_param(ld, child->string, strlen(child->string));
        if (i >= 0) {
            sr__str_puts(&s, s.length ? " " : "");
            append_value(&s, child->string, values[i]);
        }
    }
    for (int i = 0; i < ld->n_params; i++) {
        if (ld->params[i].given && !(json && cJSON_GetObjectItemCaseSensitive(json, ld->params[i].name))) {
            sr__str_puts(&s, s.length ? " " : "");
            append_value(&s, ld->params[i].name, values[i]);
        }
    }
    sr_status status = s.failed ? sr__no_memory(ld) : sr__keep(ld, sr__str_text(&s), out);
    sr__str_free(&s);
    return status;
}

sr_status sr__run_params(sr__loader *ld, const cJSON *json, const sr__at *at, const double **out_values,
                         const char **out_text) {
    sr_status status;
    working w;
    *out_values = ld->base;
    if (json) {
        SR_TRY(sr__no_repeats(ld, json, at));
        if (!working_new(ld, &w)) {
            SR_TRY(sr__no_memory(ld));
        }
        for (const cJSON *child = json->child; child; child = child->next) {
            if (!sr__is_comment(child->string)) {
                SR_TRY(take_run_param(ld, child, at, &w));
            }
        }
        SR_TRY(work_out(ld, &w));
        *out_values = w.values;
    }
    SR_TRY(run_text(ld, json, *out_values, out_text));
done:
    return status;
}

sr_status sr__params_suffix(sr__loader *ld, const double *values, const char **out) {
    sr__str s = {0};
    for (int i = 0; i < ld->n_params; i++) {
        if (values[i] != ld->base[i]) {
            sr__str_puts(&s, s.length ? "," : "@");
            append_value(&s, ld->params[i].name, values[i]);
        }
    }
    sr_status status = s.failed ? sr__no_memory(ld) : sr__keep(ld, sr__str_text(&s), out);
    sr__str_free(&s);
    return status;
}
