/*
 * report_json_realloc.c - why memory was planned again, as JSON: of a run, and of all runs together.
 *
 * Layer: report.
 */
#include "report/report_json.h"

/* Where there is something to say. */
static void put_words(sr__json *json, const char *key, const char *words) {
    if (words[0] != '\0') {
        sr__json_put_string(json, key, words);
    }
}

static void put_topology(sr__json *json, int topology) {
    char name[16];
    if (topology >= 0) {
        sr_topology_name(topology, name);
        sr__json_put_string(json, "topology", name);
    }
}

static void put_sizes(sr__json *json, const char *key, const size_t *sizes, int n) {
    sr__json_key(json, key);
    sr__json_array(json);
    for (int i = 0; i < n; i++) {
        sr__json_int(json, (int64_t)sizes[i]);
    }
    sr__json_end_array(json);
}

static void put_buffer(sr__json *json, const sr_layout *layout, const sr_realloc_buffer *buffer) {
    sr__json_put_inline(json, NULL);
    sr__json_put_string(json, "buffer_type", layout->buffer_types[buffer->backend]->name);
    sr__json_put_string(json, "backend", layout->backends[buffer->backend]->name);
    sr__json_put_int(json, "before", (int64_t)buffer->before);
    sr__json_put_int(json, "after", (int64_t)buffer->after);
    put_sizes(json, "chunks_before", buffer->chunks_before, buffer->n_before);
    put_sizes(json, "chunks_after", buffer->chunks_after, buffer->n_after);
    sr__json_put_bool(json, "grew", buffer->grew);
    if (buffer->peak_at != NULL) {
        sr__json_put_int(json, "peak", (int64_t)buffer->most_live);
        sr__json_put_string(json, "peak_at", buffer->peak_at);
        sr__json_key(json, "owners");
        sr__json_array(json);
        for (int i = 0; i < buffer->n_owners; i++) {
            sr__json_object(json);
            sr__json_put_string(json, "tensor", buffer->owners[i]);
            sr__json_put_int(json, "size", (int64_t)buffer->owner_bytes[i]);
            sr__json_end_object(json);
        }
        sr__json_end_array(json);
        sr__json_put_int(json, "n_alive", buffer->n_alive);
    }
    sr__json_end_object(json);
}

static void put_line(sr__json *json, const sr_layout *layout, const sr_realloc_line *line) {
    static const char *const sides[] = {"old", "both", "new"};
    sr__json_put_inline(json, NULL);
    sr__json_put_string(json, "side", sides[line->side + 1]);
    if (line->position >= 0) {
        sr__json_put_int(json, "position", line->position);
    }
    if (line->source >= 0) {
        sr__json_put_int(json, "source", line->source);
    }
    sr__json_put_string(json, "op", line->op);
    sr__json_put_string(json, "name", line->name);
    sr__json_put_string(json, "shape", line->shape);
    sr__json_put_int(json, "bytes", (int64_t)line->bytes);
    sr__json_put_string(json, "backend", sr__backend_name(layout, line->backend));
    sr__json_end_object(json);
}

static void put_difference(sr__json *json, const sr_layout *layout, const sr_reallocation *r) {
    if (r->n_lines == 0) {
        return;
    }
    sr__json_key(json, "difference");
    sr__json_object(json);
    sr__json_put_string(json, "of", r->compared);
    sr__json_put_int(json, "with_run", r->compared_with);
    sr__json_key(json, "lines");
    sr__json_array(json);
    for (int i = 0; i < r->n_lines; i++) {
        put_line(json, layout, &r->lines[i]);
    }
    sr__json_end_array(json);
    sr__json_end_object(json);
}

static void put_reuses(sr__json *json, const sr_reallocation *r) {
    if (r->n_reuses_found == 0) {
        return;
    }
    sr__json_key(json, "kept_although");
    sr__json_array(json);
    for (int i = 0; i < r->n_reuses; i++) {
        sr__json_put_inline(json, NULL);
        sr__json_put_string(json, "kind", sr_reuse_kind_name(r->reuses[i].kind));
        sr__json_put_string(json, "tensor", r->reuses[i].tensor);
        if (r->reuses[i].other != NULL) {
            sr__json_put_string(json, "other", r->reuses[i].other);
        }
        sr__json_put_string(json, "text", r->reuses[i].text);
        sr__json_end_object(json);
    }
    sr__json_end_array(json);
    sr__json_put_int(json, "n_kept_although", r->n_reuses_found);
    sr__json_put_bool(json, "harmful", r->harmful);
}

void sr__json_reallocation(sr__json *json, const sr_run_result *result) {
    const sr_reallocation *r = result->reallocation;
    if (r == NULL) {
        return;
    }
    sr__json_key(json, "reallocation");
    sr__json_object(json);
    sr__json_put_bool(json, "replanned", r->replanned);
    sr__json_put_bool(json, "first", r->first);
    put_topology(json, r->topology);
    if (r->plan_of >= 0) {
        sr__json_put_int(json, "plan_of", r->plan_of);
    }
    put_words(json, "reason", r->reason);
    put_words(json, "expectation", r->expectation);
    sr__json_key(json, "buffers");
    sr__json_array(json);
    for (int i = 0; i < r->n_buffers; i++) {
        put_buffer(json, result->layout, &r->buffers[i]);
    }
    sr__json_end_array(json);
    put_difference(json, result->layout, r);
    put_reuses(json, r);
    put_words(json, "hint", r->hint);
    sr__json_end_object(json);
}

/* ---- all runs -------------------------------------------------------------------------------------------------- */

sr_status sr__json_reallocations(sr__json *json, const sr_realloc_history *history, sr_error *err) {
    sr_realloc_summary summary;
    int n = 0;
    const sr_realloc_row *rows = sr_realloc_rows(history, &n);
    const sr_status status = sr_realloc_summarize(history, &summary, err);
    if (status != SR_OK) {
        return status;
    }
    sr__json_put_int(json, "n_reallocated", summary.n_reallocated);
    sr__json_put_int(json, "n_unexpected", summary.n_unexpected);
    sr__json_put_int(json, "n_topologies", summary.n_topologies);
    sr__json_put_bool(json, "alternating", summary.alternating);
    put_words(json, "message", summary.message);
    put_words(json, "hint", summary.hint);
    sr__json_key(json, "runs");
    sr__json_array(json);
    for (int i = 0; i < n; i++) {
        sr__json_put_inline(json, NULL);
        sr__json_put_int(json, "run", rows[i].run);
        put_topology(json, rows[i].topology);
        sr__json_put_bool(json, "replanned", rows[i].replanned);
        sr__json_put_bool(json, "reallocated", rows[i].reallocated);
        sr__json_put_bool(json, "unexpected", rows[i].unexpected);
        put_words(json, "reason", rows[i].reason);
        sr__json_end_object(json);
    }
    sr__json_end_array(json);
    sr_realloc_summary_clear(&summary);
    return SR_OK;
}
