/*
 * check.c - compares what a run did with the `expect` of its description.
 *
 * Layer: analyze.  The keys are those of docs/graph-format.md; whatever is given is compared, and a difference is a
 * message that names it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/check_note.h"

void sr__check_note(sr__check_run *c, const char *fmt, ...) {
    sr_check *check = c->check;
    check->n_differences++;
    if (c->status != SR_OK || check->n_messages >= (check->max_messages > 0 ? check->max_messages : 20)) {
        return;
    }
    sr__str text = {0};
    sr__str_printf(&text, "run %d: ", c->run->index);
    va_list args;
    va_start(args, fmt);
    sr__str_vprintf(&text, fmt, args);
    va_end(args);
    char **messages = sr__realloc(check->messages, (size_t)(check->n_messages + 1) * sizeof(*messages));
    if (messages != NULL) {
        check->messages = messages;
    }
    char *copy = text.failed ? NULL : sr__strdup(sr__str_text(&text));
    sr__str_free(&text);
    if (messages == NULL || copy == NULL) {
        sr__free(copy);
        c->status = sr__fail_memory(c->err);
        return;
    }
    check->messages[check->n_messages++] = copy;
}

void sr_check_clear(sr_check *check) {
    for (int i = 0; i < check->n_messages; i++) {
        sr__free(check->messages[i]);
    }
    sr__free(check->messages);
    *check = (sr_check){.max_messages = check->max_messages, .outputs_only = check->outputs_only};
}

static void compare_number(sr__check_run *c, const char *key, int64_t expected, int64_t got) {
    c->check->n_checks++;
    if (expected != got) {
        sr__check_note(c, "%s: expected %" PRId64 ", got %" PRId64, key, expected, got);
    }
}

static void compare_bool(sr__check_run *c, const char *key, bool expected, bool got) {
    c->check->n_checks++;
    if (expected != got) {
        sr__check_note(c, "%s: expected %s, got %s", key, expected ? "true" : "false", got ? "true" : "false");
    }
}

static const char *backend_name(const sr_layout *layout, int backend) {
    return backend >= 0 && backend < layout->n_backends ? layout->backends[backend]->name : "none";
}

/* ---- splits ----------------------------------------------------------------------------------------------------- */

static void compare_split_inputs(sr__check_run *c, int i, const sr_expect_split *expected, const sr_split *split) {
    const sr_layout *layout = c->layout;
    c->check->n_checks++;
    if (expected->n_inputs != split->n_inputs) {
        sr__check_note(c, "split %d: expected %d inputs, got %d", i, expected->n_inputs, (int)split->n_inputs);
        return;
    }
    for (int j = 0; j < split->n_inputs; j++) {
        const char *name = layout->graph->tensors[layout->inputs[split->inputs_begin + j]].name;
        if (strcmp(expected->inputs[j], name) != 0) {
            sr__check_note(c, "split %d: input %d: expected %s, got %s", i, j, expected->inputs[j], name);
            return;
        }
    }
}

static void compare_splits(sr__check_run *c) {
    const sr_expect *expect = c->run->expect;
    const sr_layout *layout = c->layout;
    if (expect->has_n_splits) {
        compare_number(c, "n_splits", expect->n_splits, layout->n_splits);
    }
    if (!expect->has_splits) {
        return;
    }
    c->check->n_checks++;
    if (expect->n_expect_splits != layout->n_splits) {
        sr__check_note(c, "splits: expected %d, got %d", expect->n_expect_splits, (int)layout->n_splits);
    }
    const int n = expect->n_expect_splits < layout->n_splits ? expect->n_expect_splits : layout->n_splits;
    for (int i = 0; i < n; i++) {
        const sr_expect_split *expected = &expect->splits[i];
        const sr_split *split = &layout->splits[i];
        const char *backend = backend_name(layout, split->backend);
        if (expected->backend != NULL) {
            c->check->n_checks++;
            if (strcmp(expected->backend, backend) != 0) {
                sr__check_note(c, "split %d: backend: expected %s, got %s", i, expected->backend, backend);
            }
        }
        if (expected->start >= 0) {
            c->check->n_checks++;
            if (expected->start != split->start) {
                sr__check_note(c, "split %d: start: expected %" PRId64 ", got %d", i, expected->start,
                               (int)split->start);
            }
        }
        if (expected->n_inputs >= 0) {
            compare_split_inputs(c, i, expected, split);
        }
    }
}

/* ---- by tensor -------------------------------------------------------------------------------------------------- */

/* The tensor of an id, or -1 and a difference. */
static int32_t find_tensor(sr__check_run *c, const char *key, const char *id) {
    c->check->n_checks++;
    const int32_t tensor = sr_graph_find(c->layout->graph, id);
    if (tensor < 0) {
        sr__check_note(c, "%s of %s: the graph has no such tensor", key, id);
    }
    return tensor;
}

static void compare_assignments(sr__check_run *c) {
    const sr_expect *expect = c->run->expect;
    const sr_layout *layout = c->layout;
    for (int i = 0; i < expect->n_backend_of; i++) {
        const sr_expect_pair *pair = &expect->backend_of[i];
        const int32_t tensor = find_tensor(c, "backend_of", pair->key);
        if (tensor < 0) {
            continue;
        }
        const char *got = backend_name(layout, layout->backend_of[tensor]);
        if (strcmp(pair->value, got) != 0) {
            sr__check_note(c, "backend_of %s: expected %s, got %s", pair->key, pair->value, got);
        }
    }
    for (int i = 0; i < expect->n_cause_of; i++) {
        const sr_expect_pair *pair = &expect->cause_of[i];
        const int32_t tensor = find_tensor(c, "cause_of", pair->key);
        if (tensor < 0) {
            continue;
        }
        const char *got = sr_cause_name(layout->cause_of[tensor]);
        if (strcmp(pair->value, got) != 0) {
            sr__check_note(c, "cause_of %s: expected %s, got %s", pair->key,
                           pair->value[0] != '\0' ? pair->value : "none", got[0] != '\0' ? got : "none");
        }
    }
}

static void compare_addresses(sr__check_run *c) {
    const sr_expect *expect = c->run->expect;
    const sr_layout *layout = c->layout;
    for (int i = 0; i < expect->n_address; i++) {
        const sr_expect_address *expected = &expect->address[i];
        const int32_t tensor = find_tensor(c, "address", expected->id);
        if (tensor < 0) {
            continue;
        }
        const sr_address *got = layout->addresses != NULL ? &layout->addresses[tensor] : NULL;
        if (got == NULL || got->buffer_id < 0) {
            sr__check_note(c, "address of %s: expected %s %" PRId64 ", but the scheduler allocated nothing there",
                           expected->id, expected->buffer_type, expected->offset);
            continue;
        }
        const char *type = layout->buffer_types[got->buffer_id]->name;
        if (strcmp(expected->buffer_type, type) != 0 || (uint64_t)expected->offset != got->offset) {
            sr__check_note(c, "address of %s: expected %s %" PRId64 ", got %s %zu", expected->id, expected->buffer_type,
                           expected->offset, type, got->offset);
        }
    }
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static void compare_sizes(sr__check_run *c) {
    const sr_expect *expect = c->run->expect;
    const sr_layout *layout = c->layout;
    for (int i = 0; i < expect->n_compute_buffer_size; i++) {
        const sr_expect_number *expected = &expect->compute_buffer_size[i];
        int b = 0;
        while (b < layout->n_backends && strcmp(layout->backends[b]->name, expected->key) != 0) {
            b++;
        }
        c->check->n_checks++;
        if (b == layout->n_backends) {
            sr__check_note(c, "compute_buffer_size of %s: there is no such backend", expected->key);
        } else if ((uint64_t)expected->value != layout->compute_buffer_size[b]) {
            sr__check_note(c, "compute_buffer_size of %s: expected %" PRId64 ", got %zu", expected->key,
                           expected->value, layout->compute_buffer_size[b]);
        }
    }
}

static bool type_grew(const sr_layout *layout, const char *type) {
    for (int b = 0; b < layout->n_backends; b++) {
        if (layout->grew[b] && strcmp(layout->buffer_types[b]->name, type) == 0) {
            return true;
        }
    }
    return false;
}

/* Buffer types as sets: several backends may share one. */
static void compare_grown(sr__check_run *c) {
    const sr_expect *expect = c->run->expect;
    const sr_layout *layout = c->layout;
    for (int i = 0; i < expect->n_buffers_grown; i++) {
        c->check->n_checks++;
        if (!type_grew(layout, expect->buffers_grown[i])) {
            sr__check_note(c, "buffers_grown: expected %s, which did not grow", expect->buffers_grown[i]);
        }
    }
    for (int b = 0; b < layout->n_backends; b++) {
        bool expected = !layout->grew[b];
        for (int i = 0; i < expect->n_buffers_grown && !expected; i++) {
            expected = strcmp(layout->buffer_types[b]->name, expect->buffers_grown[i]) == 0;
        }
        c->check->n_checks++;
        if (!expected) {
            sr__check_note(c, "buffers_grown: %s grew, which was not expected", layout->buffer_types[b]->name);
        }
    }
}

static void compare_reallocation(sr__check_run *c) {
    const sr_expect *expect = c->run->expect;
    const sr_layout *layout = c->layout;
    if (expect->has_reallocated) {
        compare_bool(c, "reallocated", expect->reallocated, layout->reallocated);
    }
    if (expect->has_backend_ids_changed) {
        compare_bool(c, "backend_ids_changed", expect->backend_ids_changed, layout->backend_ids_changed);
    }
    if (expect->reallocation_reason != NULL) {
        char got[SR_MISFIT_TEXT];
        sr_misfit_text(layout, got);
        c->check->n_checks++;
        if (strcmp(expect->reallocation_reason, got) != 0) {
            sr__check_note(c, "reallocation_reason: expected \"%s\", got \"%s\"", expect->reallocation_reason, got);
        }
    }
    if (expect->has_buffers_grown) {
        compare_grown(c);
    }
    compare_sizes(c);
}

/* ---- errors ----------------------------------------------------------------------------------------------------- */

static void compare_error(sr__check_run *c) {
    const sr_expect_object *expected = &c->run->expect->error;
    for (int i = 0; i < expected->n_pairs; i++) {
        const sr_expect_pair *pair = &expected->pairs[i];
        char number[32];
        const char *got = "none";
        if (strcmp(pair->key, "kind") == 0) {
            got = sr_status_name(c->error->status);
        } else if (strcmp(pair->key, "message") == 0) {
            got = sr_error_message(c->error);
        } else {
            const sr_error_detail *detail = sr_error_find(c->error, pair->key);
            if (detail != NULL && detail->text != NULL) {
                got = detail->text;
            } else if (detail != NULL) {
                snprintf(number, sizeof(number), "%" PRId64, detail->number);
                got = number;
            }
        }
        c->check->n_checks++;
        if (strcmp(pair->value, got) != 0) {
            sr__check_note(c, "error: %s: expected %s, got %s", pair->key, pair->value, got);
        }
    }
}

/* ---- a run ------------------------------------------------------------------------------------------------------ */

/* What stands before an allocation; also compared where the allocation or the execution was to fail. */
static void compare_schedule(sr__check_run *c) {
    compare_splits(c);
    compare_assignments(c);
}

sr_status sr_check_run(sr_check *check, const sr_run *run, const sr_layout *layout, const sr_error *error,
                       const sr_findings *findings, sr_error *err) {
    sr__check_run c = {.check = check, .run = run, .layout = layout, .error = error, .findings = findings, .err = err};
    const bool failed = error != NULL && error->status != SR_OK;
    const bool expects_error = run->expect != NULL && run->expect->has_error;
    if (failed && !expects_error) {
        check->n_checks++;
        sr__check_note(&c, "failed: %s: %s", sr_status_name(error->status), sr_error_message(error));
        return c.status;
    }
    if (run->expect == NULL) {
        return SR_OK;
    }
    if (check->outputs_only) {
        if (!failed && layout != NULL && layout->executed) {
            sr__check_outputs(&c);
        }
        return c.status;
    }
    if (expects_error && !failed) {
        const char *kind = sr__expected_value(&run->expect->error, "kind");
        check->n_checks++;
        sr__check_note(&c, "error: expected %s, but the run succeeded", kind != NULL ? kind : "one");
    } else if (expects_error) {
        compare_error(&c);
    }
    sr__check_findings(&c);
    if (!sr_layout_has_splits(layout)) {
        return c.status;
    }
    compare_schedule(&c);
    if (!failed) {
        compare_reallocation(&c);
        compare_addresses(&c);
        if (layout->executed) {
            sr__check_copied(&c);
            sr__check_outputs(&c);
        }
    }
    return c.status;
}
