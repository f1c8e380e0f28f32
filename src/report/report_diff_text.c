/*
 * report_diff_text.c - two layouts side by side for people: is it the same, what changed by how much, and why.
 *
 * Layer: report.  The summary of a run and the reason of its main move come first, the lists after them.
 */
#include <inttypes.h>
#include <stdio.h>

#include "report/report_diff_text.h"

enum { MOST_REASONS = 4 };

/* ---- head ------------------------------------------------------------------------------------------------------- */

static void put_side(sr__str *s, const sr_report_options *options, const char *letter, const char *label) {
    sr__style_on(s, options, SR__BOLD);
    sr__str_puts(s, letter);
    sr__style_off(s, options);
    sr__str_puts(s, "  ");
    sr__put_name(s, label);
    sr__str_puts(s, "\n");
}

sr_status sr_report_diff_text_begin(const sr_diff_head *head, const sr_report_options *options, sr_sink *sink,
                                    sr_error *err) {
    sr__out out;
    sr__out_init(&out, sink);
    sr__str *s = &out.text;
    const int n_common = head->n_runs_a < head->n_runs_b ? head->n_runs_a : head->n_runs_b;
    put_side(s, options, "A", head->a);
    put_side(s, options, "B", head->b);
    if (head->n_differ == 0) {
        sr__str_puts(s, "same layout in ");
        sr__put_count(s, n_common, "run");
    } else {
        sr__style_on(s, options, SR__BOLD);
        sr__str_printf(s, "%d of ", head->n_differ);
        sr__put_count(s, n_common, "run");
        sr__str_puts(s, head->n_differ == 1 ? " differs" : " differ");
        sr__style_off(s, options);
    }
    if (head->n_runs_a != head->n_runs_b) {
        sr__str_printf(s, ", and A has %d, B %d", head->n_runs_a, head->n_runs_b);
    }
    sr__str_puts(s, "\n");
    return sr__out_end(&out, err);
}

/* ---- title ------------------------------------------------------------------------------------------------------ */

/* A word that both sides have, or "ONE | OTHER". */
static void put_either(sr__str *s, const char *a, const char *b) {
    if (a[0] == '\0' && b[0] == '\0') {
        return;
    }
    sr__str_puts(s, "  ");
    sr__put_name(s, a[0] != '\0' ? a : "-");
    if (strcmp(a, b) != 0) {
        sr__str_puts(s, " | ");
        sr__put_name(s, b[0] != '\0' ? b : "-");
    }
}

static void put_title(sr__str *s, const sr_diff_result *result, const sr_report_options *options) {
    const sr_run *a = result->run_a != NULL ? result->run_a : result->run_b;
    const sr_run *b = result->run_b != NULL ? result->run_b : result->run_a;
    sr__str_puts(s, "\n");
    sr__style_on(s, options, SR__BOLD);
    sr__str_printf(s, "run %d", a->index);
    sr__style_off(s, options);
    put_either(s, a->graph_name, b->graph_name);
    put_either(s, a->params_text, b->params_text);
    put_either(s, a->reserve ? "reserve" : "", b->reserve ? "reserve" : "");
    sr__str_puts(s, ": ");
}

/* ---- totals ----------------------------------------------------------------------------------------------------- */

static void put_note(sr__str *s, const char **lead, int64_t n, const char *words) {
    if (n > 0) {
        sr__str_printf(s, "%s%" PRId64 " %s", *lead, n, words);
        *lead = ", ";
    }
}

static void put_row(sr__str *s, const char *what, const char *a, const char *b) {
    sr__str_puts(s, "    ");
    sr__put_left(s, what, 20);
    sr__put_right(s, a, 10);
    sr__put_right(s, b, 10);
    sr__str_puts(s, "   ");
}

static void put_numbers(sr__str *s, const char *what, int64_t a, int64_t b) {
    char text_a[24], text_b[24];
    snprintf(text_a, sizeof(text_a), "%" PRId64, a);
    snprintf(text_b, sizeof(text_b), "%" PRId64, b);
    put_row(s, what, text_a, text_b);
}

static void put_sizes(sr__str *s, const char *what, uint64_t a, uint64_t b) {
    char text_a[16], text_b[16];
    sr__format_bytes(a, text_a);
    sr__format_bytes(b, text_b);
    put_row(s, what, text_a, text_b);
    if (a != b) {
        sr__put_bytes_change(s, a, b);
    }
}

/* The writer stands behind a row: what is not needed of its last columns goes. */
static void end_row(sr__str *s) {
    while (s->length > 0 && s->data[s->length - 1] == ' ') {
        s->data[--s->length] = '\0';
    }
    sr__str_puts(s, "\n");
}

static void put_totals(const sr__diff_text *text) {
    sr__str *s = &text->out->text;
    const sr_diff *d = text->diff;
    const sr__diff_facts *f = text->facts;
    const char *lead = "";
    sr__put_spaces(s, 33);
    sr__style_on(s, text->options, SR__DIM);
    sr__str_puts(s, "A         B");
    sr__style_off(s, text->options);
    sr__str_puts(s, "\n");
    put_numbers(s, "nodes", d->a->graph->n_nodes, d->b->graph->n_nodes);
    put_note(s, &lead, d->n_moves, "moved");
    if (d->n_moved_views > 0) {
        sr__str_printf(s, " (%d views)", (int)d->n_moved_views);
    }
    put_note(s, &lead, d->n_added_nodes, "added");
    put_note(s, &lead, d->n_removed_nodes, "removed");
    put_note(s, &lead, d->n_causes, "for another cause");
    put_note(s, &lead, d->n_resized, "of another size");
    put_note(s, &lead, d->n_renamed, "renamed");
    end_row(s);
    put_numbers(s, "splits", d->a->n_splits, d->b->n_splits);
    lead = "";
    put_note(s, &lead, d->n_cuts, "cut");
    put_note(s, &lead, d->n_merges, "merged");
    end_row(s);
    put_numbers(s, "copies", d->a->n_inputs, d->b->n_inputs);
    lead = "";
    put_note(s, &lead, d->n_gained, "gained");
    put_note(s, &lead, d->n_lost, "lost");
    put_note(s, &lead, d->n_resized_copies, "of another size");
    end_row(s);
    put_sizes(s, "copied / evaluation", f->a.copied, f->b.copied);
    end_row(s);
    put_sizes(s, "compute memory", f->compute_a, f->compute_b);
    end_row(s);
    put_sizes(s, "alive at the peaks", f->live_a, f->live_b);
    end_row(s);
    if (d->a->n_copies != d->b->n_copies) {
        put_numbers(s, "pipeline copies", d->a->n_copies, d->b->n_copies);
        end_row(s);
    }
}

/* ---- by backend ------------------------------------------------------------------------------------------------- */

enum { N_COLUMNS = 6 };

static void put_cell_sizes(sr__str *s, uint64_t a, uint64_t b) {
    char text_a[16], text_b[16];
    sr__format_bytes(a, text_a);
    sr__format_bytes(b, text_b);
    sr__str_puts(s, a > 0 || b == 0 ? (a > 0 ? text_a : "-") : "-");
    if (a != b) {
        sr__str_printf(s, " > %s", b > 0 ? text_b : "-");
    }
}

static void put_cell(sr__str *s, const sr__diff_backend *b, int column) {
    switch (column) {
    case 0:
    case 1: {
        const int32_t at_a = column == 0 ? b->a.nodes : b->a.splits, at_b = column == 0 ? b->b.nodes : b->b.splits;
        sr__str_printf(s, "%d", (int)at_a);
        if (at_a != at_b) {
            sr__str_printf(s, " > %d", (int)at_b);
        }
        break;
    }
    case 2: put_cell_sizes(s, b->a.weights, b->b.weights); break;
    case 3: put_cell_sizes(s, b->a.compute, b->b.compute); break;
    case 4: put_cell_sizes(s, b->live_a, b->live_b); break;
    default: put_cell_sizes(s, b->a.copied_in, b->b.copied_in); break;
    }
}

static int cell_width(const sr__diff_text *text, int column, const char *heading) {
    int width = (int)strlen(heading);
    for (int i = 0; i < text->facts->n_backends; i++) {
        sr__str cell = {0};
        put_cell(&cell, &text->facts->backends[i], column);
        width = (int)cell.length > width ? (int)cell.length : width;
        sr__str_free(&cell);
    }
    return width;
}

static int name_width(const sr__diff_text *text) {
    int width = 4;
    for (int i = 0; i < text->facts->n_backends; i++) {
        const int n = sr__name_width(text->facts->backends[i].name);
        width = n > width ? n : width;
    }
    return width;
}

static void put_backends(const sr__diff_text *text) {
    static const char *const headings[N_COLUMNS] = {"nodes", "splits", "weights", "compute", "at peak", "copied in"};
    sr__str *s = &text->out->text;
    const int names = name_width(text);
    int widths[N_COLUMNS];
    sr__put_spaces(s, 4 + names);
    sr__style_on(s, text->options, SR__DIM);
    for (int c = 0; c < N_COLUMNS; c++) {
        widths[c] = cell_width(text, c, headings[c]);
        sr__str_puts(s, "   ");
        sr__put_right(s, headings[c], widths[c]);
    }
    sr__style_off(s, text->options);
    sr__str_puts(s, "\n");
    for (int i = 0; i < text->facts->n_backends; i++) {
        const sr__diff_backend *b = &text->facts->backends[i];
        const sr_diff_memory *m = &text->diff->memory[i];
        sr__str_puts(s, "    ");
        sr__put_diff_backend(text, m->a >= 0, m->a >= 0 ? m->a : m->b);
        sr__put_spaces(s, names - sr__name_width(b->name));
        for (int c = 0; c < N_COLUMNS; c++) {
            sr__str cell = {0};
            put_cell(&cell, b, c);
            sr__str_puts(s, "   ");
            sr__put_right(s, sr__str_text(&cell), widths[c]);
            s->failed |= cell.failed;
            sr__str_free(&cell);
        }
        sr__str_puts(s, m->b < 0 ? "   in A alone\n" : m->a < 0 ? "   in B alone\n" : "\n");
    }
}

static void put_flows(const sr__diff_text *text) {
    sr__str *s = &text->out->text;
    const int names = name_width(text);
    for (int i = 0; i < text->facts->n_flows; i++) {
        const sr__diff_flow *f = &text->facts->flows[i];
        sr__str_puts(s, i == 0 ? "    copies  " : "            ");
        sr__put_left(s, f->from, names);
        sr__str_puts(s, " -> ");
        sr__put_left(s, f->to, names);
        sr__str_puts(s, "   ");
        put_cell_sizes(s, f->bytes_a, f->bytes_b);
        sr__str_printf(s, " in %d", (int)f->copies_a);
        if (f->copies_a != f->copies_b) {
            sr__str_printf(s, " > %d", (int)f->copies_b);
        }
        sr__str_puts(s, "\n");
    }
}

/* ---- why -------------------------------------------------------------------------------------------------------- */

void sr__put_diff_backend(const sr__diff_text *text, bool is_a, int backend) {
    sr__str *s = &text->out->text;
    const sr_layout *layout = is_a ? text->diff->a : text->diff->b;
    sr__backend_on(s, text->options, layout, backend);
    sr__put_name(s, sr__backend_name(layout, backend));
    sr__style_off(s, text->options);
}

static void put_position(sr__str *s, const sr_layout *layout, int32_t tensor) {
    const sr_tensor *t = &layout->graph->tensors[tensor];
    if (t->node >= 0) {
        sr__str_printf(s, "node %d ", (int)t->node);
    }
    sr__put_name(s, sr__shown_name(t));
}

static void put_reason_side(const sr__diff_text *text, bool is_a, const sr_diff_reason *reason) {
    sr__str *s = &text->out->text;
    const sr_diff_pair *root = &text->diff->moves[reason->root];
    const sr_layout *layout = is_a ? text->diff->a : text->diff->b;
    const int backend = is_a ? root->from : root->to, other = is_a ? root->to : root->from;
    const char *why_not = is_a ? reason->not_to : reason->not_from;
    sr__str words = {0};
    sr__str_puts(s, is_a ? "      A  " : "      B  ");
    sr__put_diff_backend(text, is_a, backend);
    sr__str_puts(s, " ");
    sr__put_diff_cause(&words, layout, is_a ? &text->facts->a : &text->facts->b, is_a ? root->a : root->b);
    if (why_not != NULL && strstr(sr__str_text(&words), why_not) == NULL) { /* 3.best tells of refusals itself */
        const char *name = sr__backend_name(is_a ? text->diff->b : text->diff->a, other);
        const bool says = strncmp(why_not, name, strlen(name)) == 0; /* "CPU does not accept ..." */
        sr__str_puts(&words, says ? "; " : "; not ");
        sr__str_puts(&words, says ? "" : name);
        sr__str_puts(&words, says ? "" : ": ");
        sr__str_puts(&words, why_not);
    }
    sr__put_wrapped(s, sr__str_text(&words), 10 + sr__name_width(sr__backend_name(layout, backend)), 9,
                    sr__text_width(text->options));
    s->failed |= words.failed;
    sr__str_free(&words);
}

static void put_reason(const sr__diff_text *text, const sr_diff_reason *reason) {
    sr__str *s = &text->out->text;
    const sr_diff_pair *first = &text->diff->moves[reason->first], *root = &text->diff->moves[reason->root];
    sr__str_puts(s, "    why ");
    sr__put_diff_backend(text, true, reason->from);
    sr__str_puts(s, " -> ");
    sr__put_diff_backend(text, false, reason->to);
    sr__str_puts(s, "   ");
    sr__put_count(s, reason->n_nodes, "node");
    sr__str_puts(s, reason->n_nodes == 1 ? ": " : ", the first is ");
    put_position(s, text->diff->a, first->a);
    if (reason->root != reason->first) {
        sr__str_puts(s, ", which follows ");
        put_position(s, text->diff->a, root->a);
    }
    sr__str_puts(s, "\n");
    put_reason_side(text, true, reason);
    put_reason_side(text, false, reason);
}

static void put_reasons(const sr__diff_text *text) {
    const int n = text->diff->n_reasons;
    const int shown = text->options->verbose || n <= MOST_REASONS ? n : MOST_REASONS;
    for (int i = 0; i < shown; i++) {
        put_reason(text, &text->diff->reasons[i]);
    }
    if (shown < n) {
        sr__str_printf(&text->out->text, "    and %d more ways that nodes went (see --all)\n", n - shown);
    }
}

/* ---- a run ------------------------------------------------------------------------------------------------------ */

static void put_failure(sr__str *s, const char *letter, const sr_error *error, const sr_report_options *options) {
    sr__str_printf(s, "    %s", letter);
    if (error->status == SR_OK) {
        sr__str_puts(s, "   ok\n");
    } else {
        sr__text_error(s, error, options);
    }
}

static sr_status put_comparison(const sr_diff_result *result, const sr_report_options *options, sr__out *out,
                                sr_error *err) {
    sr__diff_facts facts;
    sr__diff_text text = {.out = out, .diff = result->diff, .facts = &facts, .options = options};
    sr_status status = sr__diff_facts_init(&facts, result->diff, err);
    if (status != SR_OK) {
        return status;
    }
    if (!result->diff->differs) {
        sr__str *s = &out->text;
        sr__str_puts(s, ", ");
        sr__put_count(s, result->diff->a->n_splits, "split");
        sr__str_puts(s, " of ");
        sr__put_count(s, result->diff->a->graph->n_nodes, "node");
        sr__str_puts(s, ", ");
        sr__put_bytes(s, facts.a.copied);
        sr__str_puts(s, " copied per evaluation, ");
        sr__put_bytes(s, facts.compute_a);
        sr__str_puts(s, " of compute memory\n");
    } else {
        sr__str_puts(&out->text, "\n");
        put_totals(&text);
        put_backends(&text);
        put_flows(&text);
        put_reasons(&text);
        status = sr__diff_text_lists(&text, err);
    }
    sr__diff_facts_free(&facts);
    return status;
}

sr_status sr_report_diff_text_run(const sr_diff_result *result, const sr_report_options *options, sr_sink *sink,
                                  sr_error *err) {
    sr__out out;
    sr__out_init(&out, sink);
    sr_status status = SR_OK;
    put_title(&out.text, result, options);
    if (result->diff == NULL) {
        sr__str_printf(&out.text, "%s has no such run\n", result->run_a == NULL ? "A" : "B");
        return sr__out_end(&out, err);
    }
    sr__put_diff_summary(&out.text, result->diff);
    if (result->diff->compared) {
        status = put_comparison(result, options, &out, err);
    } else {
        sr__str_puts(&out.text, "\n");
    }
    if (result->error_a->status != SR_OK || result->error_b->status != SR_OK) {
        put_failure(&out.text, "A", result->error_a, options);
        put_failure(&out.text, "B", result->error_b, options);
    }
    const sr_status written = sr__out_end(&out, status == SR_OK ? err : NULL);
    return status != SR_OK ? status : written;
}
