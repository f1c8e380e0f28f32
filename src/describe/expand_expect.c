/*
 * expand_expect.c - the `expect` of a run in the plain form.
 *
 * Layer: describe.  The reference has no counterpart.
 */
#include "describe/expand.h"

static void write_texts(sr__json *out, const char *key, const char *const *texts, int n) {
    sr__json_key(out, key);
    sr__json_array(out);
    for (int i = 0; i < n; i++) {
        sr__json_string(out, texts[i]);
    }
    sr__json_end_array(out);
}

static void write_pairs(sr__json *out, const char *key, const sr_expect_pair *pairs, int n) {
    if (!pairs) {
        return;
    }
    sr__json_key(out, key);
    sr__json_object(out);
    for (int i = 0; i < n; i++) {
        sr__json_put_string(out, pairs[i].key, pairs[i].value);
    }
    sr__json_end_object(out);
}

static void write_numbers(sr__json *out, const char *key, const sr_expect_number *numbers, int n) {
    if (!numbers) {
        return;
    }
    sr__json_key(out, key);
    sr__json_object(out);
    for (int i = 0; i < n; i++) {
        sr__json_put_int(out, numbers[i].key, numbers[i].value);
    }
    sr__json_end_object(out);
}

static void write_splits(sr__json *out, const sr_expect *e) {
    sr__json_key(out, "splits");
    sr__json_array(out);
    for (int i = 0; i < e->n_expect_splits; i++) {
        const sr_expect_split *split = &e->splits[i];
        sr__json_object(out);
        if (split->backend) {
            sr__json_put_string(out, "backend", split->backend);
        }
        if (split->start >= 0) {
            sr__json_put_int(out, "start", split->start);
        }
        if (split->n_inputs >= 0) {
            write_texts(out, "inputs", split->inputs, split->n_inputs);
        }
        sr__json_end_object(out);
    }
    sr__json_end_array(out);
}

static void write_addresses(sr__json *out, const sr_expect *e) {
    sr__json_key(out, "address");
    sr__json_object(out);
    for (int i = 0; i < e->n_address; i++) {
        sr__json_key(out, e->address[i].id);
        sr__json_array(out);
        sr__json_string(out, e->address[i].buffer_type);
        sr__json_int(out, e->address[i].offset);
        sr__json_end_array(out);
    }
    sr__json_end_object(out);
}

static void write_doubles(sr__json *out, const char *key, const double *values, int64_t n) {
    sr__json_key(out, key);
    sr__json_array(out);
    for (int64_t i = 0; i < n; i++) {
        sr__write_value(out, values[i]);
    }
    sr__json_end_array(out);
}

static void write_output(sr__json *out, const sr_expect_output *o) {
    sr__json_object(out);
    if (o->has_sums) {
        sr__json_key(out, "sum");
        sr__write_value(out, o->sum);
        sr__json_key(out, "sumsq");
        sr__write_value(out, o->sumsq);
        write_doubles(out, "head", o->head, o->n_head);
    }
    if (o->tolerance != 0.02) {
        sr__json_put_double(out, "tolerance", o->tolerance);
    }
    if (o->bytes) {
        sr__json_key(out, "base64");
        sr__write_base64(out, o->bytes, o->n_bytes);
    } else if (o->has_values) {
        write_doubles(out, "values", o->values, o->n_values);
    }
    if (o->nmse > 0) {
        sr__json_put_double(out, "nmse", o->nmse);
    }
    sr__json_end_object(out);
}

static void write_outputs(sr__json *out, const sr_expect *e) {
    sr__json_key(out, "outputs");
    sr__json_object(out);
    for (int i = 0; i < e->n_outputs; i++) {
        sr__json_key(out, e->outputs[i].id);
        write_output(out, &e->outputs[i]);
    }
    sr__json_end_object(out);
}

/* A text that reads as a small integer is one. */
static bool is_integer(const char *text, int64_t *out) {
    const char *p = text + (*text == '-');
    size_t n = strspn(p, "0123456789");
    if (n == 0 || n > 15 || p[n] != '\0' || (*p == '0' && (n > 1 || p != text))) {
        return false;
    }
    *out = 0;
    for (; *p; p++) {
        *out = *out * 10 + (*p - '0');
    }
    *out = *text == '-' ? -*out : *out;
    return true;
}

static void write_object(sr__json *out, const sr_expect_object *object) {
    sr__json_object(out);
    for (int i = 0; i < object->n_pairs; i++) {
        const char *value = object->pairs[i].value;
        int64_t number;
        sr__json_key(out, object->pairs[i].key);
        if (is_integer(value, &number)) {
            sr__json_int(out, number);
        } else if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0) {
            sr__json_bool(out, value[0] == 't');
        } else {
            sr__json_string(out, value);
        }
    }
    sr__json_end_object(out);
}

static void write_schedule(sr__json *out, const sr_expect *e) {
    if (e->has_n_splits) {
        sr__json_put_int(out, "n_splits", e->n_splits);
    }
    if (e->has_splits) {
        write_splits(out, e);
    }
    write_pairs(out, "backend_of", e->backend_of, e->n_backend_of);
    write_pairs(out, "cause_of", e->cause_of, e->n_cause_of);
    write_numbers(out, "compute_buffer_size", e->compute_buffer_size, e->n_compute_buffer_size);
    if (e->address) {
        write_addresses(out, e);
    }
}

static void write_reallocation(sr__json *out, const sr_expect *e) {
    if (e->has_reallocated) {
        sr__json_put_bool(out, "reallocated", e->reallocated);
    }
    if (e->has_backend_ids_changed) {
        sr__json_put_bool(out, "backend_ids_changed", e->backend_ids_changed);
    }
    if (e->reallocation_reason) {
        sr__json_put_string(out, "reallocation_reason", e->reallocation_reason);
    }
    if (e->has_buffers_grown) {
        write_texts(out, "buffers_grown", e->buffers_grown, e->n_buffers_grown);
    }
}

void sr__write_expect(sr__json *out, const sr_expect *e) {
    sr__json_object(out);
    write_schedule(out, e);
    write_reallocation(out, e);
    write_numbers(out, "copied", e->copied, e->n_copied);
    if (e->outputs) {
        write_outputs(out, e);
    }
    if (e->has_error) {
        sr__json_key(out, "error");
        write_object(out, &e->error);
    }
    if (e->findings) {
        sr__json_key(out, "findings");
        sr__json_array(out);
        for (int i = 0; i < e->n_findings; i++) {
            write_object(out, &e->findings[i]);
        }
        sr__json_end_array(out);
    }
    if (e->no_findings) {
        write_texts(out, "no_findings", e->no_findings, e->n_no_findings);
    }
    sr__json_end_object(out);
}
