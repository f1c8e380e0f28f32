/*
 * report_text.c - the report for people: header, summary of each run, errors.
 *
 * Layer: report.  The summary comes first: how many splits, where, what is moved, was memory planned again and why.
 */
#include <inttypes.h>
#include <stdio.h>

#include "report/report_text.h"

/* ---- colours --------------------------------------------------------------------------------------------------- */

void sr__style_on(sr__str *s, const sr_report_options *options, sr__style style) {
    static const char *const codes[] = {"\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[32m"};
    if (options->color) {
        sr__str_puts(s, codes[style]);
    }
}

void sr__backend_on(sr__str *s, const sr_report_options *options, const sr_layout *layout, int backend) {
    static const char *const codes[] = {"\x1b[36m", "\x1b[35m", "\x1b[32m", "\x1b[34m"};
    if (options->color && backend >= 0) {
        /* the last backend, the fallback of all, has a colour of its own */
        sr__str_puts(s, backend == layout->n_backends - 1 ? "\x1b[33m" : codes[backend % SR_COUNT(codes)]);
    }
}

void sr__style_off(sr__str *s, const sr_report_options *options) {
    if (options->color) {
        sr__str_puts(s, "\x1b[0m");
    }
}

/* ---- header ---------------------------------------------------------------------------------------------------- */

void sr__text_wrapped(sr__str *s, const char *text, int indent, int width) {
    int column = 0;
    while (*text != '\0') {
        const size_t n = strcspn(text, " ");
        char *word = sr__strndup(text, n);
        const int columns = word != NULL ? sr__name_width(word) : 0;
        if (column == 0 || column + 1 + columns > width) {
            sr__str_puts(s, column == 0 ? "" : "\n");
            sr__put_spaces(s, indent);
            column = indent + columns;
        } else {
            sr__str_puts(s, " ");
            column += 1 + columns;
        }
        if (word == NULL) {
            s->failed = true;
            return;
        }
        sr__put_name(s, word);
        sr__free(word);
        text += n + strspn(text + n, " ");
    }
    if (column > 0) {
        sr__str_puts(s, "\n");
    }
}

sr_status sr_report_text_begin(const sr_description *description, const sr_report_options *options, sr_sink *sink,
                               sr_error *err) {
    sr__out out;
    sr__out_init(&out, sink);
    sr__str *s = &out.text;
    const sr_machine *machine = sr_description_machine(description);
    sr__style_on(s, options, SR__BOLD);
    sr__put_name(s, sr_description_name(description));
    sr__style_off(s, options);
    sr__str_puts(s, ": ");
    sr__put_count(s, sr_description_n_runs(description), "run");
    sr__str_puts(s, machine->n_backends == 1 ? ", backend" : ", backends");
    for (int b = 0; b < machine->n_backends; b++) {
        sr__str_puts(s, " ");
        sr__put_name(s, machine->backends[b]->name);
    }
    sr__str_puts(s, "\n");
    sr__text_wrapped(s, sr_description_text(description), 2, sr__text_width(options));
    return sr__out_end(&out, err);
}

/* ---- summary --------------------------------------------------------------------------------------------------- */

void sr__text_title(sr__str *s, const sr_run_result *result, const sr_report_options *options) {
    const sr_run *run = result->run;
    sr__str_puts(s, "\n");
    sr__style_on(s, options, SR__BOLD);
    sr__str_printf(s, "run %d", run->index);
    sr__style_off(s, options);
    if (run->graph_name[0] != '\0') {
        sr__str_puts(s, "  ");
        sr__put_name(s, run->graph_name);
    }
    if (run->params_text[0] != '\0') {
        sr__str_puts(s, "  ");
        sr__put_name(s, run->params_text);
    }
    if (run->reserve) {
        sr__str_puts(s, "  reserve");
    }
}

static void put_grown(sr__str *s, const sr_layout *layout) {
    const char *lead = "   grew: ";
    for (int b = 0; b < layout->n_backends; b++) {
        if (layout->grew != NULL && layout->grew[b]) {
            sr__str_puts(s, lead);
            sr__put_name(s, layout->buffer_types[b]->name);
            lead = " ";
        }
    }
}

/* Columns of the last line: escape sequences fill none, nor do the later bytes of a character. */
static int last_line_width(const sr__str *s) {
    const char *text = sr__str_text(s);
    const char *line = strrchr(text, '\n');
    int width = 0;
    for (const char *p = line != NULL ? line + 1 : text; *p != '\0'; p++) {
        if (*p == '\x1b') {
            p += strcspn(p, "m");
            continue;
        }
        width += ((unsigned char)*p & 0xC0) != 0x80;
    }
    return width;
}

/* Behind the totals, or on a line of its own where that would get too long. */
static void put_reallocation(sr__str *s, const sr_layout *layout, const sr_report_options *options) {
    sr__str words = {0};
    /* with a single backend the allocator plans again by itself, which the scheduler does not count */
    if (layout->reallocated || layout->misfit.kind != SR_MISFIT_NONE) {
        sr__style_on(&words, options, layout->unexpected ? SR__RED : SR__BOLD);
        sr__str_puts(&words, layout->unexpected ? "reallocated unexpectedly: " : "reallocated: ");
        sr__style_off(&words, options);
        sr__put_misfit_words(&words, layout);
    } else if (!layout->reserve) {
        sr__str_puts(&words, "not reallocated");
    }
    put_grown(&words, layout);
    if (words.length > 0) {
        const bool fits = last_line_width(s) + 3 + last_line_width(&words) <= sr__text_width(options);
        sr__str_puts(s, fits ? "   " : "\n    ");
        sr__str_puts(s, sr__str_text(&words) + strspn(sr__str_text(&words), " "));
    }
    s->failed |= words.failed;
    sr__str_free(&words);
}

static void put_totals_line(sr__text *text) {
    sr__str *s = &text->out->text;
    const sr_layout *layout = text->layout;
    sr__str_puts(s, "   ");
    sr__style_on(s, text->options, SR__BOLD);
    sr__put_count(s, layout->n_splits, "split");
    sr__style_off(s, text->options);
    sr__str_puts(s, " of ");
    sr__put_count(s, layout->graph->n_nodes, "node");
    if (text->facts->n_views > 0) {
        sr__str_puts(s, " (");
        sr__put_count(s, text->facts->n_views, "view");
        sr__str_puts(s, ")");
    }
    sr__str_puts(s, "   ");
    if (text->facts->copied > 0) {
        sr__put_bytes(s, text->facts->copied);
        sr__str_puts(s, " copied per evaluation");
    } else {
        sr__str_puts(s, "nothing copied");
    }
    if (layout->n_copies > 1) {
        sr__str_printf(s, "   copy %d of %d", layout->cur_copy, layout->n_copies);
    }
    put_reallocation(s, layout, text->options);
    sr__str_puts(s, "\n");
}

static void put_bytes_column(sr__str *s, uint64_t bytes, int width) {
    char text[16];
    sr__format_bytes(bytes, text);
    sr__put_right(s, bytes > 0 ? text : "-", width);
}

static void put_backend_table(sr__text *text) {
    sr__str *s = &text->out->text;
    const sr_layout *layout = text->layout;
    sr__put_spaces(s, 4 + text->backend_width);
    sr__style_on(s, text->options, SR__DIM);
    sr__str_puts(s, "     nodes    splits   weights   compute  copied in");
    sr__style_off(s, text->options);
    sr__str_puts(s, "\n");
    for (int b = 0; b < layout->n_backends; b++) {
        const sr__backend_total *total = &text->facts->backends[b];
        sr__str_puts(s, "    ");
        sr__backend_on(s, text->options, layout, b);
        sr__put_left(s, layout->backends[b]->name, text->backend_width);
        sr__style_off(s, text->options);
        sr__str_printf(s, "%10d%10d", (int)total->nodes, (int)total->splits);
        put_bytes_column(s, total->weights, 10);
        put_bytes_column(s, total->compute, 10);
        put_bytes_column(s, total->copied_in, 11);
        sr__str_puts(s, "\n");
    }
}

static void put_pairs(sr__text *text) {
    sr__str *s = &text->out->text;
    const sr_layout *layout = text->layout;
    for (int i = 0; i < text->facts->n_pairs; i++) {
        const sr__pair_total *pair = &text->facts->pairs[i];
        const sr_tensor *largest = &layout->graph->tensors[pair->largest];
        sr__str_puts(s, i == 0 ? "    copies  " : "            ");
        sr__put_left(s, sr__backend_name(layout, pair->from), text->backend_width);
        sr__str_puts(s, " -> ");
        sr__put_left(s, sr__backend_name(layout, pair->to), text->backend_width);
        put_bytes_column(s, pair->bytes, 10);
        sr__str_printf(s, " in %d", (int)pair->copies);
        sr__str_puts(s, "   largest: ");
        sr__put_name(s, sr__shown_name(largest));
        sr__str_puts(s, " ");
        sr__put_bytes(s, largest->nbytes);
        sr__str_printf(s, " into split %d\n", (int)pair->largest_split);
    }
}

/* ---- errors ---------------------------------------------------------------------------------------------------- */

static void put_key(sr__str *s, const char *key, int width) {
    sr__str_puts(s, "        ");
    for (const char *p = key; *p != '\0'; p++) {
        sr__str_append(s, *p == '_' ? " " : p, 1);
    }
    sr__put_spaces(s, width - (int)strlen(key));
    sr__str_puts(s, "  ");
}

void sr__text_error(sr__str *s, const sr_error *error, const sr_report_options *options) {
    sr__str_puts(s, "   ");
    sr__style_on(s, options, SR__RED);
    sr__str_puts(s, "failed: ");
    sr__str_puts(s, sr_status_name(error->status));
    sr__style_off(s, options);
    sr__str_puts(s, "\n    ");
    sr__put_wrapped(s, sr_error_message(error), 4, 4, sr__text_width(options));
    int width = 0;
    for (int i = 0; i < error->n_details; i++) {
        const int n = (int)strlen(error->details[i].key);
        width = n > width ? n : width;
    }
    for (int i = 0; i < error->n_details; i++) {
        const sr_error_detail *detail = &error->details[i];
        put_key(s, detail->key, width);
        if (detail->text != NULL) {
            sr__put_name(s, detail->text);
        } else {
            sr__str_printf(s, "%" PRId64, detail->number);
        }
        sr__str_puts(s, "\n");
    }
}

/* ---- a run ----------------------------------------------------------------------------------------------------- */

static int backend_width(const sr_layout *layout) {
    int width = 4;
    for (int b = 0; b < layout->n_backends; b++) {
        const int n = sr__name_width(layout->backends[b]->name);
        width = n > width ? n : width;
    }
    return width;
}

/* Splits, nodes, leafs, memory; brief: only what was asked for, and splits after the passes that led to them. */
static void put_lists(sr__text *text, const sr_run_result *result) {
    const sr_report_options *options = text->options;
    sr_report_options splits = *options;
    splits.debug_level = options->brief ? 1 : options->debug_level;
    text->options = &splits;
    if (options->debug_level > 0 && (!options->brief || result->steps != NULL)) {
        sr__text_splits(text);
    }
    if (options->debug_level > 1 && options->verbose) {
        sr__text_leafs(text);
    }
    text->options = options;
    if (result->memory != NULL) {
        sr__text_memory(text, result->memory);
    }
    if (result->n_copies > 0) {
        sr__text_copies(text, result);
    }
}

static sr_status put_schedule(const sr_run_result *result, const sr_report_options *options, sr__out *out,
                              sr_error *err) {
    const sr_layout *layout = result->layout;
    sr__facts facts;
    sr_status status = sr__facts_init(&facts, layout, err);
    if (status != SR_OK) {
        return status;
    }
    sr__text text = {.out = out, .layout = layout, .facts = &facts, .options = options};
    text.backend_width = backend_width(layout);
    if (result->error->status != SR_OK) {
        sr__str_puts(&out->text, "    it was scheduled so:");
    }
    put_totals_line(&text);
    put_backend_table(&text);
    put_pairs(&text);
    if (result->reallocation != NULL) {
        sr__text_reallocation(&text, result->reallocation);
    }
    sr__text_findings(result, options, &out->text);
    if (options->verbose) {
        sr__str_printf(&out->text, "    seconds   split %.6f   allocate %.6f   compute %.6f\n", layout->seconds_split,
                       layout->seconds_allocate, layout->seconds_compute);
    }
    status = sr__text_executed(&text, result, err);
    if (status == SR_OK && result->estimate != NULL) {
        status = sr__text_estimate(&text, result, err);
    }
    if (status == SR_OK && result->steps != NULL) {
        status = sr__text_steps(out, result, options, err);
    }
    put_lists(&text, result);
    sr__facts_free(&facts);
    return status;
}

sr_status sr_report_text_run(const sr_run_result *result, const sr_report_options *options, sr_sink *sink,
                             sr_error *err) {
    sr__out out;
    sr__out_init(&out, sink);
    sr__text_title(&out.text, result, options);
    if (result->error->status != SR_OK) {
        sr__text_error(&out.text, result->error, options);
    }
    sr_status status = SR_OK;
    if (sr_layout_has_splits(result->layout)) {
        status = put_schedule(result, options, &out, err);
    } else {
        if (result->error->status == SR_OK) {
            sr__str_puts(&out.text, "   nothing to schedule\n");
        }
        sr__text_findings(result, options, &out.text);
        if (result->steps != NULL) {
            status = sr__text_steps(&out, result, options, err);
        }
    }
    sr__text_explanations(&out, result, options);
    if (status == SR_OK) {
        status = sr__text_values(result, options, &out, err);
    }
    const sr_status written = sr__out_end(&out, status == SR_OK ? err : NULL);
    return status != SR_OK ? status : written;
}
