/*
 * expect_in.c - the `expect` of a run.
 *
 * Layer: describe.  The reference has no counterpart.
 */
#include <stdio.h>

#include "describe/loader.h"

enum {
    E_N_SPLITS, E_SPLITS, E_BACKEND_OF, E_CAUSE_OF, E_COMPUTE_BUFFER_SIZE, E_ADDRESS, E_REALLOCATED,
    E_BACKEND_IDS_CHANGED, E_REALLOCATION_REASON, E_BUFFERS_GROWN, E_COPIED, E_OUTPUTS, E_ERROR, E_FINDINGS,
    E_NO_FINDINGS, E_COUNT
};

static const char *const expect_keys[E_COUNT] = {
    "n_splits", "splits", "backend_of", "cause_of", "compute_buffer_size", "address", "reallocated",
    "backend_ids_changed", "reallocation_reason", "buffers_grown", "copied", "outputs", "error", "findings",
    "no_findings",
};

/* ---- lists and tables -------------------------------------------------------------------------------------------- */

/* Memory for the children of a list or table; *n becomes 0 and is to be counted up. */
static sr_status room(sr__loader *ld, const cJSON *json, size_t size, void *out, int *n) {
    void *p = sr__arena_zalloc(&ld->d->arena, ((size_t)cJSON_GetArraySize(json) + 1) * size);
    *n = 0;
    memcpy(out, &p, sizeof(p));
    return p ? SR_OK : sr__no_memory(ld);
}

static sr_status load_texts(sr__loader *ld, const cJSON *json, const sr__at *at, const char ***out, int *out_n) {
    sr_status status;
    SR_TRY(sr__want_array(ld, json, at));
    SR_TRY(room(ld, json, sizeof(**out), out, out_n));
    for (const cJSON *child = json->child; child; child = child->next) {
        sr__at element = sr__at_index(at, *out_n);
        SR_TRY(sr__kept_string(ld, child, &element, &(*out)[*out_n]));
        (*out_n)++;
    }
done:
    return status;
}

static sr_status load_pairs(sr__loader *ld, const cJSON *json, const sr__at *at, sr_expect_pair **out, int *out_n) {
    sr_status status;
    SR_TRY(sr__no_repeats(ld, json, at));
    SR_TRY(room(ld, json, sizeof(**out), out, out_n));
    for (const cJSON *child = json->child; child; child = child->next) {
        sr__at member = sr__at_key(at, child->string);
        SR_TRY(sr__keep(ld, child->string, &(*out)[*out_n].key));
        SR_TRY(sr__kept_string(ld, child, &member, &(*out)[*out_n].value));
        (*out_n)++;
    }
done:
    return status;
}

static sr_status load_numbers(sr__loader *ld, const cJSON *json, const sr__at *at, sr_expect_number **out, int *out_n) {
    sr_status status;
    SR_TRY(sr__no_repeats(ld, json, at));
    SR_TRY(room(ld, json, sizeof(**out), out, out_n));
    for (const cJSON *child = json->child; child; child = child->next) {
        sr__at member = sr__at_key(at, child->string);
        SR_TRY(sr__keep(ld, child->string, &(*out)[*out_n].key));
        SR_TRY(sr__size(ld, child, &member, &(*out)[*out_n].value));
        (*out_n)++;
    }
done:
    return status;
}

static sr_status load_addresses(sr__loader *ld, const cJSON *json, const sr__at *at, sr_expect *e) {
    sr_status status;
    SR_TRY(sr__no_repeats(ld, json, at));
    SR_TRY(room(ld, json, sizeof(*e->address), &e->address, &e->n_address));
    for (const cJSON *child = json->child; child; child = child->next) {
        sr_expect_address *address = &e->address[e->n_address];
        sr__at member = sr__at_key(at, child->string);
        sr__at type_at = sr__at_index(&member, 0), offset_at = sr__at_index(&member, 1);
        if (!sr__is_array(child) || cJSON_GetArraySize(child) != 2) {
            SR_TRY(sr__wrong(ld, &member, "expected [buffer type, offset]"));
        }
        SR_TRY(sr__keep(ld, child->string, &address->id));
        SR_TRY(sr__kept_string(ld, child->child, &type_at, &address->buffer_type));
        SR_TRY(sr__int_in(ld, child->child->next, &offset_at, 0, INT64_MAX, &address->offset));
        e->n_address++;
    }
done:
    return status;
}

/* ---- splits ------------------------------------------------------------------------------------------------------ */

static sr_status load_split(sr__loader *ld, const cJSON *json, const sr__at *at, sr_expect_split *out) {
    static const char *const keys[] = {"backend", "start", "inputs"};
    const cJSON *fields[SR_COUNT(keys)];
    sr_status status;
    *out = (sr_expect_split){.start = -1, .n_inputs = -1};
    SR_TRY(sr__fields(ld, json, at, keys, SR_COUNT(keys), fields));
    sr__at backend_at = sr__at_key(at, keys[0]), start_at = sr__at_key(at, keys[1]);
    sr__at inputs_at = sr__at_key(at, keys[2]);
    if (fields[0]) {
        SR_TRY(sr__kept_string(ld, fields[0], &backend_at, &out->backend));
    }
    if (fields[1]) {
        SR_TRY(sr__int_in(ld, fields[1], &start_at, 0, INT32_MAX, &out->start));
    }
    if (fields[2]) {
        SR_TRY(load_texts(ld, fields[2], &inputs_at, &out->inputs, &out->n_inputs));
    }
done:
    return status;
}

static sr_status load_splits(sr__loader *ld, const cJSON *json, const sr__at *at, sr_expect *e) {
    sr_status status;
    SR_TRY(sr__want_array(ld, json, at));
    e->has_splits = true;
    SR_TRY(room(ld, json, sizeof(*e->splits), &e->splits, &e->n_expect_splits));
    for (const cJSON *child = json->child; child; child = child->next) {
        sr__at element = sr__at_index(at, e->n_expect_splits);
        SR_TRY(load_split(ld, child, &element, &e->splits[e->n_expect_splits]));
        e->n_expect_splits++;
    }
done:
    return status;
}

/* ---- outputs ----------------------------------------------------------------------------------------------------- */

enum { O_SUM, O_SUMSQ, O_HEAD, O_TOLERANCE, O_BASE64, O_VALUES, O_NMSE, O_COUNT };
static const char *const output_keys[O_COUNT] = {"sum", "sumsq", "head", "tolerance", "base64", "values", "nmse"};

static sr_status load_doubles(sr__loader *ld, const cJSON *json, const sr__at *at, double **out, int64_t *out_n) {
    sr_status status;
    int n;
    SR_TRY(sr__want_array(ld, json, at));
    SR_TRY(room(ld, json, sizeof(**out), out, &n));
    for (const cJSON *child = json->child; child; child = child->next, n++) {
        sr__at element = sr__at_index(at, n);
        SR_TRY(sr__double(ld, child, &element, &(*out)[n]));
    }
    *out_n = n;
done:
    return status;
}

static sr_status load_output_sums(sr__loader *ld, const cJSON *const *f, const sr__at *at, sr_expect_output *out) {
    sr_status status = SR_OK;
    int64_t n = 0;
    if (!f[O_SUM] && !f[O_SUMSQ] && !f[O_HEAD]) {
        return SR_OK;
    }
    if (!f[O_SUM] || !f[O_SUMSQ] || !f[O_HEAD]) {
        SR_TRY(sr__wrong(ld, at, "\"sum\", \"sumsq\" and \"head\" belong together"));
    }
    sr__at sum_at = sr__at_key(at, "sum"), sumsq_at = sr__at_key(at, "sumsq"), head_at = sr__at_key(at, "head");
    out->has_sums = true;
    SR_TRY(sr__double(ld, f[O_SUM], &sum_at, &out->sum));
    SR_TRY(sr__double(ld, f[O_SUMSQ], &sumsq_at, &out->sumsq));
    SR_TRY(load_doubles(ld, f[O_HEAD], &head_at, &out->head, &n));
    if (n > 8) {
        SR_TRY(sr__wrong(ld, &head_at, "\"head\" has at most 8 values"));
    }
    out->n_head = (int)n;
done:
    return status;
}

static sr_status load_output_values(sr__loader *ld, const cJSON *const *f, const sr__at *at, sr_expect_output *out) {
    sr_status status = SR_OK;
    sr__at base64_at = sr__at_key(at, "base64"), values_at = sr__at_key(at, "values");
    if (f[O_BASE64] && f[O_VALUES]) {
        SR_TRY(sr__wrong_key(ld, &values_at, "\"values\" and \"base64\" in one output"));
    }
    out->has_values = f[O_BASE64] || f[O_VALUES];
    if (f[O_BASE64]) {
        const char *text, *what;
        SR_TRY(sr__string(ld, f[O_BASE64], &base64_at, &text));
        out->bytes = sr__arena_alloc(&ld->d->arena, strlen(text) / 4 * 3 + 4);
        if (!out->bytes) {
            SR_TRY(sr__no_memory(ld));
        }
        out->n_bytes = sr__base64_decode(text, out->bytes, &what);
        if (out->n_bytes == SIZE_MAX) {
            SR_TRY(sr__wrong(ld, &base64_at, "not base64: %s", what));
        }
    }
    if (f[O_VALUES]) {
        SR_TRY(load_doubles(ld, f[O_VALUES], &values_at, &out->values, &out->n_values));
    }
done:
    return status;
}

static sr_status load_tolerance(sr__loader *ld, const cJSON *json, const sr__at *at, double *out) {
    sr_status status;
    SR_TRY(sr__double(ld, json, at, out));
    if (*out < 0) {
        SR_TRY(sr__wrong(ld, at, "a tolerance is not negative"));
    }
done:
    return status;
}

static sr_status load_output(sr__loader *ld, const cJSON *json, const sr__at *at, sr_expect_output *out) {
    const cJSON *fields[O_COUNT];
    sr_status status;
    sr__at nmse_at = sr__at_key(at, "nmse"), tolerance_at = sr__at_key(at, "tolerance");
    SR_TRY(sr__fields(ld, json, at, output_keys, O_COUNT, fields));
    SR_TRY(sr__keep(ld, json->string, &out->id));
    out->tolerance = 0.02;
    if (fields[O_TOLERANCE]) {
        SR_TRY(load_tolerance(ld, fields[O_TOLERANCE], &tolerance_at, &out->tolerance));
    }
    if (fields[O_NMSE]) {
        SR_TRY(load_tolerance(ld, fields[O_NMSE], &nmse_at, &out->nmse));
    }
    SR_TRY(load_output_sums(ld, fields, at, out));
    SR_TRY(load_output_values(ld, fields, at, out));
    if (!out->has_sums && !out->has_values) {
        SR_TRY(sr__wrong(ld, at, "nothing to compare: expected sums and a head, \"base64\" or \"values\""));
    }
done:
    return status;
}

static sr_status load_outputs(sr__loader *ld, const cJSON *json, const sr__at *at, sr_expect *e) {
    sr_status status;
    SR_TRY(sr__no_repeats(ld, json, at));
    SR_TRY(room(ld, json, sizeof(*e->outputs), &e->outputs, &e->n_outputs));
    for (const cJSON *child = json->child; child; child = child->next) {
        sr__at member = sr__at_key(at, child->string);
        SR_TRY(load_output(ld, child, &member, &e->outputs[e->n_outputs]));
        e->n_outputs++;
    }
done:
    return status;
}

/* ---- errors and findings ----------------------------------------------------------------------------------------- */

/* Any scalar as text; of a list its elements with commas. */
static sr_status append_text(sr__loader *ld, sr__str *s, const cJSON *json, const sr__at *at) {
    if (sr__is_string(json)) {
        sr__str_puts(s, json->valuestring);
    } else if (sr__is_number(json)) {
        double value = json->valuedouble;
        bool whole = value > -1e15 && value < 1e15 && value == (double)(int64_t)value;
        sr__str_printf(s, whole ? "%.0f" : "%.17g", value);
    } else if (sr__json_type(json) == cJSON_True || sr__json_type(json) == cJSON_False) {
        sr__str_puts(s, sr__json_type(json) == cJSON_True ? "true" : "false");
    } else {
        return sr__wrong(ld, at, "expected a string, a number or a boolean, not %s", sr__json_kind(json));
    }
    return SR_OK;
}

static sr_status load_any(sr__loader *ld, const cJSON *json, const sr__at *at, const char **out) {
    sr_status status = SR_OK;
    sr__str s = {0};
    if (!sr__is_array(json)) {
        SR_TRY(append_text(ld, &s, json, at));
    } else {
        int64_t i = 0;
        for (const cJSON *child = json->child; child; child = child->next, i++) {
            sr__at element = sr__at_index(at, i);
            sr__str_puts(&s, i ? "," : "");
            SR_TRY(append_text(ld, &s, child, &element));
        }
    }
    SR_TRY(s.failed ? sr__no_memory(ld) : sr__keep(ld, sr__str_text(&s), out));
done:
    sr__str_free(&s);
    return status;
}

static sr_status load_object(sr__loader *ld, const cJSON *json, const sr__at *at, sr_expect_object *out) {
    sr_status status;
    bool has_kind = false;
    SR_TRY(sr__no_repeats(ld, json, at));
    SR_TRY(room(ld, json, sizeof(*out->pairs), &out->pairs, &out->n_pairs));
    for (const cJSON *child = json->child; child; child = child->next) {
        if (sr__is_comment(child->string)) {
            continue;
        }
        sr__at member = sr__at_key(at, child->string);
        has_kind = has_kind || strcmp(child->string, "kind") == 0;
        SR_TRY(sr__keep(ld, child->string, &out->pairs[out->n_pairs].key));
        SR_TRY(load_any(ld, child, &member, &out->pairs[out->n_pairs].value));
        out->n_pairs++;
    }
    if (!has_kind) {
        SR_TRY(sr__wrong(ld, at, "\"kind\" is missing"));
    }
done:
    return status;
}

static sr_status load_findings(sr__loader *ld, const cJSON *json, const sr__at *at, sr_expect *e) {
    sr_status status;
    SR_TRY(sr__want_array(ld, json, at));
    SR_TRY(room(ld, json, sizeof(*e->findings), &e->findings, &e->n_findings));
    for (const cJSON *child = json->child; child; child = child->next) {
        sr__at element = sr__at_index(at, e->n_findings);
        SR_TRY(load_object(ld, child, &element, &e->findings[e->n_findings]));
        e->n_findings++;
    }
done:
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static sr_status load_schedule(sr__loader *ld, const cJSON *const *f, sr__at *member, sr_expect *e) {
    sr_status status = SR_OK;
#define MEMBER(which) (member->key = expect_keys[which], member)
    if (f[E_N_SPLITS]) {
        e->has_n_splits = true;
        SR_TRY(sr__int_in(ld, f[E_N_SPLITS], MEMBER(E_N_SPLITS), 0, INT32_MAX, &e->n_splits));
    }
    if (f[E_SPLITS]) {
        SR_TRY(load_splits(ld, f[E_SPLITS], MEMBER(E_SPLITS), e));
    }
    if (f[E_BACKEND_OF]) {
        SR_TRY(load_pairs(ld, f[E_BACKEND_OF], MEMBER(E_BACKEND_OF), &e->backend_of, &e->n_backend_of));
    }
    if (f[E_CAUSE_OF]) {
        SR_TRY(load_pairs(ld, f[E_CAUSE_OF], MEMBER(E_CAUSE_OF), &e->cause_of, &e->n_cause_of));
    }
    if (f[E_COMPUTE_BUFFER_SIZE]) {
        SR_TRY(load_numbers(ld, f[E_COMPUTE_BUFFER_SIZE], MEMBER(E_COMPUTE_BUFFER_SIZE), &e->compute_buffer_size,
                            &e->n_compute_buffer_size));
    }
    if (f[E_ADDRESS]) {
        SR_TRY(load_addresses(ld, f[E_ADDRESS], MEMBER(E_ADDRESS), e));
    }
done:
    return status;
}

static sr_status load_reallocation(sr__loader *ld, const cJSON *const *f, sr__at *member, sr_expect *e) {
    sr_status status = SR_OK;
    if (f[E_REALLOCATED]) {
        e->has_reallocated = true;
        SR_TRY(sr__bool(ld, f[E_REALLOCATED], MEMBER(E_REALLOCATED), &e->reallocated));
    }
    if (f[E_BACKEND_IDS_CHANGED]) {
        e->has_backend_ids_changed = true;
        SR_TRY(sr__bool(ld, f[E_BACKEND_IDS_CHANGED], MEMBER(E_BACKEND_IDS_CHANGED), &e->backend_ids_changed));
    }
    if (f[E_REALLOCATION_REASON]) {
        SR_TRY(sr__kept_string(ld, f[E_REALLOCATION_REASON], MEMBER(E_REALLOCATION_REASON), &e->reallocation_reason));
    }
    if (f[E_BUFFERS_GROWN]) {
        e->has_buffers_grown = true;
        SR_TRY(load_texts(ld, f[E_BUFFERS_GROWN], MEMBER(E_BUFFERS_GROWN), &e->buffers_grown, &e->n_buffers_grown));
    }
done:
    return status;
}

sr_status sr__load_expect(sr__loader *ld, const cJSON *json, const sr__at *at, const sr_expect **out) {
    const cJSON *f[E_COUNT];
    sr_status status;
    sr__at own = sr__at_key(at, ""), *member = &own;
    sr_expect *e = sr__arena_zalloc(&ld->d->arena, sizeof(*e));
    if (!e) {
        SR_TRY(sr__no_memory(ld));
    }
    SR_TRY(sr__fields(ld, json, at, expect_keys, E_COUNT, f));
    SR_TRY(load_schedule(ld, f, member, e));
    SR_TRY(load_reallocation(ld, f, member, e));
    if (f[E_COPIED]) {
        SR_TRY(load_numbers(ld, f[E_COPIED], MEMBER(E_COPIED), &e->copied, &e->n_copied));
    }
    if (f[E_OUTPUTS]) {
        SR_TRY(load_outputs(ld, f[E_OUTPUTS], MEMBER(E_OUTPUTS), e));
    }
    if (f[E_ERROR]) {
        e->has_error = true;
        SR_TRY(load_object(ld, f[E_ERROR], MEMBER(E_ERROR), &e->error));
    }
    if (f[E_FINDINGS]) {
        SR_TRY(load_findings(ld, f[E_FINDINGS], MEMBER(E_FINDINGS), e));
    }
    if (f[E_NO_FINDINGS]) {
        SR_TRY(load_texts(ld, f[E_NO_FINDINGS], MEMBER(E_NO_FINDINGS), &e->no_findings, &e->n_no_findings));
    }
    *out = e;
done:
    return status;
#undef MEMBER
}
