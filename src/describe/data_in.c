/*
 * data_in.c - the `data` of a leaf: parsed, and checked against the tensor's type and extents.
 *
 * Layer: describe.  Answers to what the reference's test program fills tensors with.
 */
#include <math.h>

#include "describe/loader.h"
#include "graph/quant.h"

static bool is_integer_type(int type) {
    return type == SR_TYPE_I8 || type == SR_TYPE_I16 || type == SR_TYPE_I32 || type == SR_TYPE_I64;
}

static int64_t type_max(int type) {
    switch (type) {
        case SR_TYPE_I8: return INT8_MAX;
        case SR_TYPE_I16: return INT16_MAX;
        case SR_TYPE_I32: return INT32_MAX;
        default: return INT64_MAX;
    }
}

/* Values can be turned into any type but a few that are only ever read. */
static sr_status check_writable(sr__loader *ld, const sr_tensor *t, const sr__at *at) {
    if (is_integer_type(t->type) || t->type == SR_TYPE_F64 || sr__type_can_write(t->type)) {
        return SR_OK;
    }
    return sr__wrong(ld, at, "type %s cannot be made from values: give its bytes as \"base64\", \"file\" or \"gguf\"",
                     sr_type_get(t->type)->name);
}

/* JSON has no word for infinities and NaN, which masks need. */
static bool special_value(const cJSON *json, double *out) {
    static const struct { const char *name; double value; } names[] = {
        {"inf", HUGE_VAL}, {"-inf", -HUGE_VAL}, {"nan", NAN},
    };
    for (int i = 0; sr__is_string(json) && i < SR_COUNT(names); i++) {
        if (strcmp(json->valuestring, names[i].name) == 0) {
            *out = names[i].value;
            return true;
        }
    }
    return false;
}

/* One element's value: an integer that fits where the type has integers, else a number. */
static sr_status load_value(sr__loader *ld, const cJSON *json, const sr__at *at, int type, double *out) {
    int64_t value, max = type_max(type);
    sr_status status;
    if (!is_integer_type(type)) {
        return special_value(json, out) ? SR_OK : sr__double(ld, json, at, out);
    }
    SR_TRY(sr__int(ld, json, at, &value));
    if (value > max || value < -max - 1) {
        SR_TRY(sr__wrong(ld, at, "%lld does not fit type %s", (long long)value, sr_type_get(type)->name));
    }
    *out = (double)value;
done:
    return status;
}

static sr_status load_values(sr__loader *ld, const cJSON *json, const sr__at *at, const sr_tensor *t, sr__data *data) {
    sr_status status;
    int64_t n = 0, wanted = sr_tensor_nelements(t);
    SR_TRY(sr__want_array(ld, json, at));
    SR_TRY(check_writable(ld, t, at));
    for (const cJSON *child = json->child; child; child = child->next) {
        n++;
    }
    if (n != wanted) {
        SR_TRY(sr__wrong(ld, at, "%lld values for %lld elements", (long long)n, (long long)wanted));
    }
    data->kind = SR__DATA_VALUES;
    data->values = sr__arena_alloc(&ld->d->arena, (size_t)n * sizeof(double) + 1);
    if (!data->values) {
        SR_TRY(sr__no_memory(ld));
    }
    int64_t i = 0;
    for (const cJSON *child = json->child; child; child = child->next, i++) {
        sr__at element = sr__at_index(at, i);
        SR_TRY(load_value(ld, child, &element, t->type, &data->values[i]));
    }
done:
    return status;
}

static sr_status load_base64(sr__loader *ld, const cJSON *json, const sr__at *at, const sr_tensor *t, sr__data *data) {
    sr_status status;
    const char *text, *what;
    SR_TRY(sr__string(ld, json, at, &text));
    data->kind = SR__DATA_BYTES;
    data->bytes = sr__arena_alloc(&ld->d->arena, strlen(text) / 4 * 3 + 4);
    if (!data->bytes) {
        SR_TRY(sr__no_memory(ld));
    }
    size_t n = sr__base64_decode(text, data->bytes, &what);
    if (n == SIZE_MAX) {
        SR_TRY(sr__wrong(ld, at, "not base64: %s", what));
    }
    if (n != t->nbytes) {
        SR_TRY(sr__wrong(ld, at, "%zu bytes for a tensor of %zu", n, t->nbytes));
    }
done:
    return status;
}

static sr_status load_path(sr__loader *ld, const cJSON *json, const sr__at *at, sr__data *data) {
    const char *path;
    sr_status status;
    SR_TRY(sr__string(ld, json, at, &path));
    if (!*path) {
        SR_TRY(sr__wrong(ld, at, "the path is empty"));
    }
    SR_TRY(sr__resolve_path(ld, at->source, path, &data->path, &data->shown_path));
done:
    return status;
}

static sr_status load_random(sr__loader *ld, const cJSON *json, const sr__at *at, const sr_tensor *t, sr__data *data) {
    static const char *const keys[] = {"seed", "min", "max"};
    const cJSON *fields[SR_COUNT(keys)];
    sr_status status;
    SR_TRY(sr__fields(ld, json, at, keys, SR_COUNT(keys), fields));
    SR_TRY(check_writable(ld, t, at));
    sr__at seed_at = sr__at_key(at, keys[0]), min_at = sr__at_key(at, keys[1]), max_at = sr__at_key(at, keys[2]);
    data->kind = SR__DATA_RANDOM;
    data->seed = sr__fnv1a64(t->name);
    data->min = is_integer_type(t->type) ? 0 : -1;
    data->max = 1;
    if (fields[0]) {
        int64_t seed;
        SR_TRY(sr__int(ld, fields[0], &seed_at, &seed));
        data->seed = (uint64_t)seed;
        data->has_seed = true;
    }
    if (fields[1]) {
        SR_TRY(load_value(ld, fields[1], &min_at, t->type, &data->min));
    }
    if (fields[2]) {
        SR_TRY(load_value(ld, fields[2], &max_at, t->type, &data->max));
    }
    if (!(data->min <= data->max) || !isfinite(data->min) || !isfinite(data->max)) {
        SR_TRY(sr__wrong(ld, at, "\"min\" must not exceed \"max\", and both are finite"));
    }
done:
    return status;
}

enum { D_VALUES, D_FILL, D_BASE64, D_FILE, D_OFFSET, D_GGUF, D_TENSOR, D_RANDOM, D_COUNT };
static const char *const data_keys[D_COUNT] = {
    "values", "fill", "base64", "file", "offset", "gguf", "tensor", "random",
};

/* Exactly one form, and the key that belongs to it. */
static sr_status check_form(sr__loader *ld, const cJSON *const *f, const sr__at *at) {
    static const int forms[] = {D_VALUES, D_FILL, D_BASE64, D_FILE, D_GGUF, D_RANDOM};
    int n = 0;
    for (int i = 0; i < SR_COUNT(forms); i++) {
        n += f[forms[i]] != NULL;
    }
    sr__at offset_at = sr__at_key(at, "offset"), tensor_at = sr__at_key(at, "tensor");
    if (f[D_OFFSET] && !f[D_FILE]) {
        return sr__wrong_key(ld, &offset_at, "\"offset\" belongs to \"file\"");
    }
    if (f[D_TENSOR] && !f[D_GGUF]) {
        return sr__wrong_key(ld, &tensor_at, "\"tensor\" belongs to \"gguf\"");
    }
    return n == 1
               ? SR_OK
               : sr__wrong(ld, at, "expected one of \"values\", \"fill\", \"base64\", \"file\", \"gguf\", \"random\"");
}

static sr_status load_form(sr__loader *ld, const cJSON *const *f, const sr__at *at, const sr_tensor *t,
                           sr__data *data) {
    sr_status status = SR_OK;
    sr__at member = sr__at_key(at, "");
#define MEMBER(which) (member.key = data_keys[which], &member)
    if (f[D_VALUES]) {
        SR_TRY(load_values(ld, f[D_VALUES], MEMBER(D_VALUES), t, data));
    } else if (f[D_FILL]) {
        data->kind = SR__DATA_FILL;
        SR_TRY(check_writable(ld, t, MEMBER(D_FILL)));
        SR_TRY(load_value(ld, f[D_FILL], MEMBER(D_FILL), t->type, &data->fill));
    } else if (f[D_BASE64]) {
        SR_TRY(load_base64(ld, f[D_BASE64], MEMBER(D_BASE64), t, data));
    } else if (f[D_FILE]) {
        data->kind = SR__DATA_FILE;
        SR_TRY(load_path(ld, f[D_FILE], MEMBER(D_FILE), data));
        if (f[D_OFFSET]) {
            SR_TRY(sr__int_in(ld, f[D_OFFSET], MEMBER(D_OFFSET), 0, INT64_MAX, &data->offset));
        }
    } else if (f[D_GGUF]) {
        data->kind = SR__DATA_GGUF;
        SR_TRY(load_path(ld, f[D_GGUF], MEMBER(D_GGUF), data));
        SR_TRY(f[D_TENSOR] ? sr__kept_string(ld, f[D_TENSOR], MEMBER(D_TENSOR), &data->tensor)
                           : sr__keep(ld, t->name, &data->tensor));
    } else {
        SR_TRY(load_random(ld, f[D_RANDOM], MEMBER(D_RANDOM), t, data));
    }
#undef MEMBER
done:
    return status;
}

sr_status sr__load_data(sr__loader *ld, const cJSON *json, const sr__at *at, const sr_tensor *tensor, sr__data **out) {
    sr_status status;
    const cJSON *fields[D_COUNT];
    sr__data *data = sr__arena_zalloc(&ld->d->arena, sizeof(*data));
    *out = data;
    if (!data) {
        SR_TRY(sr__no_memory(ld));
    }
    if (sr__is_array(json)) {
        return load_values(ld, json, at, tensor, data);
    }
    SR_TRY(sr__fields(ld, json, at, data_keys, D_COUNT, fields));
    SR_TRY(check_form(ld, fields, at));
    SR_TRY(load_form(ld, fields, at, tensor, data));
done:
    return status;
}
