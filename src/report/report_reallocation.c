/*
 * report_reallocation.c - why memory was planned again, as text and as JSON: of a run, and of all runs together.
 *
 * Layer: report.
 */
#include "report/report_json.h"
#include "report/report_text.h"

/* ---- buffers --------------------------------------------------------------------------------------------------- */

/* "1.5 MiB (1.0 MiB + 512 KiB)" */
static void put_size(sr__str *s, size_t total, const size_t *chunks, int n) {
    sr__put_bytes(s, total);
    for (int c = 0; n > 1 && c < n; c++) {
        sr__str_puts(s, c == 0 ? " (" : " + ");
        sr__put_bytes(s, chunks[c]);
    }
    sr__str_puts(s, n > 1 ? ")" : "");
}

/* "GPU0 1.0 MiB -> 1.5 MiB (1.0 MiB + 512 KiB)" */
static void put_change(sr__str *s, const char *name, const sr_realloc_buffer *buffer) {
    sr__str_printf(s, "%s ", name);
    put_size(s, buffer->before, buffer->chunks_before, buffer->n_before);
    sr__str_puts(s, " -> ");
    put_size(s, buffer->after, buffer->chunks_after, buffer->n_after);
}

static void put_buffer(sr__text *text, const sr_realloc_buffer *buffer) {
    sr__str *s = &text->out->text;
    sr__str line = {0};
    put_change(&line, text->layout->buffer_types[buffer->backend]->name, buffer);
    sr__put_wrapped(s, sr__str_text(&line), 16, 18, sr__text_width(text->options));
    s->failed |= line.failed;
    sr__str_free(&line);
    if (buffer->peak_at == NULL) {
        return;
    }
    line = (sr__str){0};
    char bytes[16];
    sr__format_bytes(buffer->most_live, bytes);
    sr__str_printf(&line, "its peak, %s at %s: ", bytes, buffer->peak_at);
    for (int i = 0; i < buffer->n_owners; i++) {
        sr__format_bytes(buffer->owner_bytes[i], bytes);
        sr__str_printf(&line, "%s%s %s", i > 0 ? ", " : "", buffer->owners[i], bytes);
    }
    if (buffer->n_alive > buffer->n_owners) {
        sr__str_printf(&line, ", and %d more", (int)(buffer->n_alive - buffer->n_owners));
    }
    sr__put_spaces(s, 16);
    sr__put_wrapped(s, sr__str_text(&line), 16, 16, sr__text_width(text->options));
    s->failed |= line.failed;
    sr__str_free(&line);
}

static void put_buffers(sr__text *text, const sr_reallocation *r) {
    sr__str *s = &text->out->text;
    int n = 0;
    for (int i = 0; i < r->n_buffers; i++) {
        if (r->buffers[i].grew || r->buffers[i].before != r->buffers[i].after) {
            sr__str_puts(s, n++ == 0 ? "      buffers   " : "                ");
            put_buffer(text, &r->buffers[i]);
        }
    }
    if (n == 0) {
        sr__str_puts(s, "      buffers   all stay as they are; addresses may have changed\n");
    }
}

/* ---- the difference -------------------------------------------------------------------------------------------- */

typedef struct widths { int position, op, name, shape; } widths;

static widths measure(const sr_reallocation *r) {
    widths w = {0};
    for (int i = 0; i < r->n_lines; i++) {
        const sr_realloc_line *line = &r->lines[i];
        const int op = sr__name_width(line->op), name = sr__name_width(line->name), shape = (int)strlen(line->shape);
        w.op = op > w.op ? op : w.op;
        w.name = name > w.name && name <= 36 ? name : w.name;
        w.shape = shape > w.shape ? shape : w.shape;
    }
    return w;
}

static void put_line(sr__text *text, const sr_realloc_line *line, widths w) {
    sr__str *s = &text->out->text;
    char bytes[16];
    sr__format_bytes(line->bytes, bytes);
    sr__str_puts(s, line->side < 0 ? "        - " : line->side > 0 ? "        + " : "          ");
    if (line->position >= 0) {
        sr__str_printf(s, "%5d  ", (int)line->position);
    } else {
        sr__str_printf(s, "src %-3d", line->source);
    }
    sr__put_left(s, line->op, w.op);
    sr__str_puts(s, "  ");
    sr__put_left(s, line->name, w.name);
    sr__str_puts(s, "  ");
    sr__put_left(s, line->shape, w.shape);
    sr__put_right(s, line->bytes > 0 ? bytes : "-", 10);
    sr__str_puts(s, "  ");
    sr__put_name(s, sr__backend_name(text->layout, line->backend));
    sr__str_puts(s, "\n");
}

static void put_lines(sr__text *text, const sr_reallocation *r) {
    sr__str *s = &text->out->text;
    if (r->n_lines == 0) {
        return;
    }
    const widths w = measure(r);
    sr__str_printf(s, "      %s around the first that does not fit, run %d (-) and now (+)\n", r->compared,
                   r->compared_with);
    for (int i = 0; i < r->n_lines; i++) {
        put_line(text, &r->lines[i], w);
    }
}

/* ---- a run ----------------------------------------------------------------------------------------------------- */

static void put_paragraph(sr__text *text, const char *lead, const char *words) {
    if (words[0] != '\0') {
        sr__str_puts(&text->out->text, lead);
        sr__put_wrapped(&text->out->text, words, 16, 16, sr__text_width(text->options));
    }
}

static void put_reuses(sr__text *text, const sr_reallocation *r) {
    sr__str *s = &text->out->text;
    sr__str_puts(s, "    ");
    sr__style_on(s, text->options, r->harmful ? SR__RED : SR__BOLD);
    sr__str_printf(s, "the plan of run %d was kept, but the graph is another", r->plan_of);
    sr__style_off(s, text->options);
    sr__str_puts(s, "\n");
    for (int i = 0; i < r->n_reuses; i++) {
        sr__str words = {0};
        sr__str_printf(&words, "%s %s", r->reuses[i].tensor, r->reuses[i].text);
        sr__str_puts(s, "      - ");
        sr__put_wrapped(s, sr__str_text(&words), 8, 8, sr__text_width(text->options));
        s->failed |= words.failed;
        sr__str_free(&words);
    }
    if (r->n_reuses_found > r->n_reuses) {
        sr__str_printf(s, "      - and %d more\n", (int)r->n_reuses_found - r->n_reuses);
    }
    put_paragraph(text, "      try       ", r->hint);
}

void sr__text_reallocation(sr__text *text, const sr_reallocation *r) {
    sr__str *s = &text->out->text;
    if (r->n_reuses_found > 0) {
        put_reuses(text, r);
    }
    if (!r->replanned || r->first || r->reserve) {
        return;
    }
    sr__str_puts(s, "    ");
    sr__style_on(s, text->options, r->unexpected ? SR__RED : SR__BOLD);
    sr__str_puts(s, "reallocation");
    sr__style_off(s, text->options);
    sr__str_puts(s, "  ");
    sr__put_wrapped(s, r->expectation, 18, 18, sr__text_width(text->options)); /* the reason stands with the totals */
    put_buffers(text, r);
    put_lines(text, r);
    put_paragraph(text, "      try       ", r->hint);
}

/* ---- all runs -------------------------------------------------------------------------------------------------- */

static void put_before_after(sr__str *s, size_t before, size_t after) {
    if (before != after) {
        sr__put_bytes(s, before);
        sr__str_puts(s, " -> ");
    }
    sr__put_bytes(s, after);
}

static sr_status measure_sizes(const sr_realloc_row *rows, int n, int backend, int *width, sr_error *err) {
    bool failed = false;
    for (int i = 0; i < n; i++) {
        sr__str s = {0};
        put_before_after(&s, rows[i].before[backend], rows[i].after[backend]);
        *width = (int)s.length > *width ? (int)s.length : *width;
        failed |= s.failed;
        sr__str_free(&s);
    }
    return failed ? sr__fail_memory(err) : SR_OK;
}

static const char *outcome_of(const sr_realloc_row *row) {
    return row->reserve      ? "reserve"
           : row->first      ? "first"
           : row->unexpected ? "unexpected"
           : row->replanned  ? "yes"
           : row->harmful    ? "no, harmful"
                             : "no";
}

/* A machine as the table needs it: backends that hold memory of their own, and the width of their columns. */
typedef struct table {
    const sr_machine *machine;
    const sr_realloc_row *rows;
    int n_rows;
    int *widths; /* by backend; 0: nothing to show */
} table;

static sr_status measure_table(table *t, sr_error *err) {
    t->widths = sr__calloc((size_t)t->machine->n_backends + 1, sizeof(*t->widths));
    if (t->widths == NULL) {
        return sr__fail_memory(err);
    }
    for (int b = 0; b < t->machine->n_backends; b++) {
        bool any = false;
        for (int i = 0; i < t->n_rows; i++) {
            any |= t->rows[i].before[b] > 0 || t->rows[i].after[b] > 0;
        }
        if (any) {
            t->widths[b] = sr__name_width(t->machine->backends[b]->name);
            const sr_status status = measure_sizes(t->rows, t->n_rows, b, &t->widths[b], err);
            if (status != SR_OK) {
                return status;
            }
        }
    }
    return SR_OK;
}

/* Where the reasons stand. */
static int reason_column(const table *t) {
    int column = 28;
    for (int b = 0; b < t->machine->n_backends; b++) {
        column += t->widths[b] > 0 ? 2 + t->widths[b] : 0;
    }
    return column + 2;
}

/* A reason that does not fit goes on below itself, or where the backends leave it no room, below the row. */
static void put_reason(sr__str *s, const table *t, const char *reason, int width) {
    const int column = reason_column(t);
    if (column + 32 <= width) {
        sr__put_wrapped(s, reason, column, column, width);
    } else if (column + sr__name_width(reason) <= width) {
        sr__put_name(s, reason);
        sr__str_puts(s, "\n");
    } else {
        sr__str_puts(s, "\n");
        sr__put_spaces(s, 10);
        sr__put_wrapped(s, reason, 10, 10, width);
    }
}

static void put_table_row(sr__str *s, const table *t, const sr_realloc_row *row, int width) {
    char topology[16] = "-";
    if (row->topology >= 0) {
        sr_topology_name(row->topology, topology);
    }
    sr__str_printf(s, "    %4d  %-5s  %-11s", row->run, topology, outcome_of(row));
    for (int b = 0; b < t->machine->n_backends; b++) {
        if (t->widths[b] > 0) {
            sr__str size = {0};
            put_before_after(&size, row->before[b], row->after[b]);
            sr__str_puts(s, "  ");
            sr__put_right(s, sr__str_text(&size), t->widths[b]);
            s->failed |= size.failed;
            sr__str_free(&size);
        }
    }
    if (row->reason[0] != '\0') {
        sr__str_puts(s, "  ");
        put_reason(s, t, row->reason, width);
    } else {
        sr__str_puts(s, "\n");
    }
}

static void put_table(sr__out *out, const table *t, const sr_report_options *options) {
    sr__str *s = &out->text;
    sr__str_puts(s, "\n");
    sr__style_on(s, options, SR__BOLD);
    sr__str_printf(s, "memory over %d runs", t->n_rows);
    sr__style_off(s, options);
    sr__str_puts(s, "\n");
    sr__style_on(s, options, SR__DIM);
    sr__str_puts(s, "     run  graph  reallocated");
    for (int b = 0; b < t->machine->n_backends; b++) {
        if (t->widths[b] > 0) {
            sr__str_puts(s, "  ");
            sr__put_right(s, t->machine->backends[b]->name, t->widths[b]);
        }
    }
    sr__str_puts(s, "  reason");
    sr__style_off(s, options);
    sr__str_puts(s, "\n");
    for (int i = 0; i < t->n_rows; i++) {
        put_table_row(s, t, &t->rows[i], sr__text_width(options));
        sr__out_more(out);
    }
}

sr_status sr_report_text_end(const sr_realloc_history *history, const sr_description *description,
                             const sr_report_options *options, sr_sink *sink, sr_error *err) {
    sr__out out;
    sr_status status;
    sr_realloc_summary summary = {0};
    table t = {.machine = sr_description_machine(description)};
    bool wanted = options->table;
    t.rows = sr_realloc_rows(history, &t.n_rows);
    for (int i = 0; i < t.n_rows; i++) {
        wanted |= (t.rows[i].replanned && !t.rows[i].first && !t.rows[i].reserve) || t.rows[i].harmful;
    }
    if (!wanted || t.n_rows < 2) {
        return SR_OK;
    }
    sr__out_init(&out, sink);
    SR_TRY(measure_table(&t, err));
    SR_TRY(sr_realloc_summarize(history, &summary, err));
    put_table(&out, &t, options);
    if (summary.message[0] != '\0') {
        sr__str_puts(&out.text, "    ");
        sr__put_wrapped(&out.text, summary.message, 4, 4, sr__text_width(options));
    }
    if (summary.hint[0] != '\0') {
        sr__str_puts(&out.text, "    try: ");
        sr__put_wrapped(&out.text, summary.hint, 9, 9, sr__text_width(options));
    }
done:
    sr__free(t.widths);
    sr_realloc_summary_clear(&summary);
    const sr_status written = sr__out_end(&out, status == SR_OK ? err : NULL);
    return status != SR_OK ? status : written;
}
