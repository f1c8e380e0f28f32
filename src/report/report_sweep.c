/*
 * report_sweep.c - a sweep as a table, with what changed where the layout did, or as one JSON object.
 *
 * Layer: report.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/report_text.h"
#include "sched_run/sweep.h"

enum { MOST_COLUMN = 40 };

/* One sweep being written. */
typedef struct table {
    sr__str *s;
    const char *name;
    const sr_sweep *sweep;
    const sr_report_options *options;
    int *widths;     /* of the values, by name */
    int graph_width; /* 0: no graph has a name */
    bool *shown;     /* by backend: it holds something in some row */
} table;

/* ---- text ------------------------------------------------------------------------------------------------------- */

/* A, B, ... Z, AA, AB, ... */
static void put_letters(sr__str *s, int number) {
    char letters[8];
    int n = (int)sizeof(letters);
    for (int rest = number; n > 0; rest = rest / 26 - 1) {
        letters[--n] = (char)('A' + rest % 26);
        if (rest < 26) {
            break;
        }
    }
    sr__str_append(s, letters + n, sizeof(letters) - (size_t)n);
}

static int columns_of(const char *text) {
    const int n = sr__name_width(text);
    return n < MOST_COLUMN ? n : MOST_COLUMN;
}

static sr_status measure_columns(table *t, sr_error *err) {
    const sr_sweep *sweep = t->sweep;
    t->widths = sr__calloc((size_t)sweep->n_names + 1, sizeof(*t->widths));
    t->shown = sr__calloc((size_t)sweep->n_backends + 1, sizeof(*t->shown));
    if (t->widths == NULL || t->shown == NULL) {
        return sr__fail_memory(err);
    }
    for (int i = 0; i < sweep->n_names; i++) {
        t->widths[i] = columns_of(sweep->names[i]);
    }
    for (int r = 0; r < sweep->n_rows; r++) {
        const sr_sweep_row *row = &sweep->rows[r];
        for (int i = 0; i < sweep->n_names; i++) {
            const int n = columns_of(row->values[i]);
            t->widths[i] = n > t->widths[i] ? n : t->widths[i];
        }
        const int n = columns_of(row->graph);
        t->graph_width = n > t->graph_width ? n : t->graph_width;
        for (int b = 0; b < sweep->n_backends; b++) {
            t->shown[b] = t->shown[b] || row->held[b] + row->compute[b] > 0;
        }
    }
    return SR_OK;
}

static void put_word(sr__str *s, sr__str *word, int width) {
    sr__put_right(s, sr__str_text(word), width);
    s->failed |= word->failed;
    sr__str_free(word);
}

static void put_time(sr__str *s, uint64_t time, int width) {
    sr__str word = {0};
    sr__put_time(&word, time);
    put_word(s, &word, width);
}

static int memory_width(const table *t, int backend) {
    const int n = columns_of(t->sweep->backends[backend]) + 2;
    return n > 11 ? n : 11;
}

static void put_heads(table *t) {
    sr__str *s = t->s;
    const sr_sweep *sweep = t->sweep;
    sr__style_on(s, t->options, SR__DIM);
    sr__str_puts(s, "  ");
    for (int i = 0; i < sweep->n_names; i++) {
        sr__put_right(s, sweep->names[i], t->widths[i]);
        sr__str_puts(s, "  ");
    }
    if (t->graph_width > 0) {
        sr__put_left(s, "graph", t->graph_width > 5 ? t->graph_width : 5);
    }
    sr__str_puts(s, "  splits  copies     copied");
    for (int b = 0; b < sweep->n_backends; b++) {
        if (t->shown[b]) {
            sr__put_right(s, sweep->backends[b], memory_width(t, b));
        }
    }
    sr__str_puts(s, sweep->n_batches > 1 ? "    estimate   per batch  layout  mostly" : "    estimate  layout  mostly");
    sr__style_off(s, t->options);
    sr__str_puts(s, "\n");
}

static const char *lane_name(const sr_sweep *sweep, int lane) {
    return lane < sweep->n_backends ? sweep->backends[lane] : "the host";
}

/* Weights, caches and compute buffers; more than there is is marked. */
static void put_memory(table *t, const sr_sweep_row *row, int b) {
    char bytes[16];
    sr__str word = {0};
    const size_t used = row->held[b] + row->compute[b], capacity = t->sweep->capacity[b];
    sr__format_bytes(used, bytes);
    sr__str_printf(&word, "%s%s", bytes, capacity > 0 && used > capacity ? "!" : "");
    put_word(t->s, &word, memory_width(t, b));
}

static void put_estimate(table *t, const sr_sweep_row *row) {
    sr__str *s = t->s;
    const int n = t->sweep->n_batches;
    put_time(s, row->total, 12);
    if (n > 1) {
        put_time(s, (row->total - row->first) / (uint64_t)(n - 1), 12);
    }
    sr__str letters = {0};
    put_letters(&letters, row->layout);
    sr__str_puts(s, "  ");
    sr__put_left(s, sr__str_text(&letters), row->most > 0 ? 6 : 0);
    s->failed |= letters.failed;
    sr__str_free(&letters);
    if (row->most > 0) { /* else nothing takes any time */
        sr__str_puts(s, "  ");
        sr__put_name(s, lane_name(t->sweep, row->most_lane));
        sr__str_printf(s, " %s %.0f%%", row->most_copies ? "copies" : "computes",
                       100.0 * (double)row->most / (double)row->total);
    }
}

static void put_change(table *t, const sr_sweep_row *row) {
    sr__str *s = t->s;
    sr__str_puts(s, "      ");
    if (row->prev_nodes != row->n_nodes) {
        sr__str_printf(s, "the graph has %d nodes, before %d\n", (int)row->n_nodes, (int)row->prev_nodes);
    } else if (row->moved_node != NULL) {
        sr__put_count(s, row->n_moved, "node");
        sr__str_puts(s, row->n_moved == 1 ? " on another backend: " : " on other backends, such as ");
        sr__put_name(s, row->moved_node);
        sr__str_puts(s, ": ");
        sr__put_name(s, lane_name(t->sweep, row->moved_from));
        sr__str_puts(s, " -> ");
        sr__put_name(s, lane_name(t->sweep, row->moved_to));
        sr__str_printf(s, " (%s)\n", sr_cause_name(row->moved_cause));
    } else {
        sr__str_puts(s, "every node is where it was, but the splits or their inputs are others\n");
    }
}

static void put_row(table *t, const sr_sweep_row *row) {
    sr__str *s = t->s;
    char bytes[16];
    if (row->changed) {
        put_change(t, row);
    }
    sr__str_puts(s, "  ");
    for (int i = 0; i < t->sweep->n_names; i++) {
        sr__put_right(s, row->values[i], t->widths[i]);
        sr__str_puts(s, "  ");
    }
    if (t->graph_width > 0) {
        sr__put_left(s, row->graph, t->graph_width > 5 ? t->graph_width : 5);
    }
    if (row->status != SR_OK) {
        sr__str_printf(s, "  failed: %s: ", sr_status_name(row->status));
        sr__put_name(s, row->message);
        sr__str_puts(s, "\n");
        return;
    }
    sr__format_bytes(row->copied, bytes);
    sr__str_printf(s, "%8d%8d%11s", (int)row->n_splits, (int)row->n_inputs, bytes);
    for (int b = 0; b < t->sweep->n_backends; b++) {
        if (t->shown[b]) {
            put_memory(t, row, b);
        }
    }
    put_estimate(t, row);
    sr__str_puts(s, "\n");
}

static bool is_overfull(const sr_sweep *sweep, int b) {
    for (int r = 0; r < sweep->n_rows; r++) {
        const size_t used = sweep->rows[r].held[b] + sweep->rows[r].compute[b];
        if (sweep->capacity[b] > 0 && used > sweep->capacity[b]) {
            return true;
        }
    }
    return false;
}

static sr_status put_text(table *t, sr__out *out, sr_error *err) {
    sr__str *s = t->s;
    const sr_status status = measure_columns(t, err);
    if (status == SR_OK) {
        sr__put_name(s, t->name);
        sr__str_puts(s, ": ");
        sr__put_count(s, t->sweep->n_rows, "row");
        if (t->sweep->n_batches > 1) {
            sr__str_printf(s, " of %d batches each", t->sweep->n_batches);
        }
        sr__str_puts(s, "\n");
        put_heads(t);
        for (int r = 0; r < t->sweep->n_rows; r++) {
            put_row(t, &t->sweep->rows[r]);
            sr__out_more(out);
        }
        for (int b = 0; b < t->sweep->n_backends; b++) {
            if (is_overfull(t->sweep, b)) {
                sr__str_puts(s, "  ! more than the ");
                sr__put_bytes(s, t->sweep->capacity[b]);
                sr__str_puts(s, " of ");
                sr__put_name(s, t->sweep->backends[b]);
                sr__str_puts(s, "\n");
            }
        }
    }
    sr__free(t->widths);
    sr__free(t->shown);
    return status;
}

/* ---- json ------------------------------------------------------------------------------------------------------- */

static void json_text(sr__json *json, const char *key, const char *text) {
    sr__json_put_string(json, key, text);
}

static void json_int(sr__json *json, const char *key, int64_t value) {
    sr__json_put_int(json, key, value);
}

static void json_sizes(sr__json *json, const char *key, const sr_sweep *sweep, const size_t *sizes) {
    sr__json_put_inline(json, key);
    for (int b = 0; b < sweep->n_backends; b++) {
        json_int(json, sweep->backends[b], (int64_t)sizes[b]);
    }
    sr__json_end_object(json);
}

static void json_change(sr__json *json, const sr_sweep *sweep, const sr_sweep_row *row) {
    sr__json_put_inline(json, "change");
    json_int(json, "nodes_before", row->prev_nodes);
    json_int(json, "moved", row->n_moved);
    if (row->moved_node != NULL) {
        json_text(json, "node", row->moved_node);
        json_text(json, "from", lane_name(sweep, row->moved_from));
        json_text(json, "to", lane_name(sweep, row->moved_to));
        json_text(json, "cause", sr_cause_name(row->moved_cause));
    }
    sr__json_end_object(json);
}

static void json_row(sr__json *json, const sr_sweep *sweep, const sr_sweep_row *row) {
    sr__json_object(json);
    sr__json_put_inline(json, "values");
    for (int i = 0; i < sweep->n_names; i++) {
        json_text(json, sweep->names[i], row->values[i]);
    }
    sr__json_end_object(json);
    json_text(json, "graph", row->graph);
    json_text(json, "status", sr_status_name(row->status));
    if (row->status != SR_OK) {
        json_text(json, "message", row->message);
        sr__json_end_object(json);
        return;
    }
    json_int(json, "n_nodes", row->n_nodes);
    json_int(json, "n_splits", row->n_splits);
    json_int(json, "copies", row->n_inputs);
    json_int(json, "bytes_copied", (int64_t)row->copied);
    json_sizes(json, "held", sweep, row->held);
    json_sizes(json, "compute_buffer_size", sweep, row->compute);
    json_int(json, "total", (int64_t)row->total);
    json_int(json, "first", (int64_t)row->first);
    json_int(json, "layout", row->layout);
    if (row->changed) {
        json_change(json, sweep, row);
    }
    sr__json_end_object(json);
}

static void put_json(const table *t, sr__out *out) {
    const sr_sweep *sweep = t->sweep;
    sr__json json;
    sr__json_init(&json, t->s, true);
    sr__json_object(&json);
    json_int(&json, "sched_run_sweep", 1);
    json_text(&json, "name", t->name);
    json_int(&json, "batches", sweep->n_batches);
    json_sizes(&json, "capacity", sweep, sweep->capacity);
    sr__json_key(&json, "rows");
    sr__json_array(&json);
    for (int r = 0; r < sweep->n_rows; r++) {
        json_row(&json, sweep, &sweep->rows[r]);
        sr__out_more(out);
    }
    sr__json_end_array(&json);
    sr__json_end_object(&json);
    sr__json_free(&json);
    sr__str_puts(t->s, "\n");
}

sr_status sr_report_sweep(const char *name, const sr_sweep *sweep, const sr_report_options *options, bool json,
                          sr_sink *sink, sr_error *err) {
    sr__out out;
    sr_status status = SR_OK;
    sr__out_init(&out, sink);
    table t = {.s = &out.text, .name = name, .sweep = sweep, .options = options};
    if (json) {
        put_json(&t, &out);
    } else {
        status = put_text(&t, &out, err);
    }
    const sr_status written = sr__out_end(&out, status == SR_OK ? err : NULL);
    return status != SR_OK ? status : written;
}
