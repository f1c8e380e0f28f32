/*
 * run_report.c - one description's report in the chosen format.
 *
 * Layer: cli.
 */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

/* ---- what the terminal is like --------------------------------------------------------------------------------- */

static bool wants_color(const cli_options *options) {
    if (options->color != CLI_COLOR_AUTO) {
        return options->color == CLI_COLOR_ALWAYS;
    }
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return options->output == NULL && (no_color == NULL || no_color[0] == '\0') && isatty(STDOUT_FILENO) != 0 &&
           term != NULL && strcmp(term, "dumb") != 0;
}

/* 80 to 120 columns, as many as the terminal has. */
static int columns(const cli_options *options) {
    struct winsize size;
    if (options->output != NULL || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return 120;
    }
    return size.ws_col < 80 ? 80 : size.ws_col > 120 ? 120 : size.ws_col;
}

/* ---- svg: the runs' drawings one below the other --------------------------------------------------------------- */

static bool append_to_string(void *user, const char *text, size_t length) {
    sr__str_append(user, text, length);
    return !((sr__str *)user)->failed;
}

static double number_after(const char *text, const char *end, const char *key) {
    const char *at = strstr(text, key);
    return at != NULL && at < end ? strtod(at + strlen(key), NULL) : 0.0;
}

/* A page is an <svg> element within the outer one; its declaration and doctype are left out. */
static sr_status add_page(cli_report *report, const sr__str *svg, sr_error *err) {
    const char *start = strstr(sr__str_text(svg), "<svg");
    const char *tag_end = start != NULL ? strchr(start, '>') : NULL;
    if (tag_end == NULL) {
        return sr__fail(err, SR_UNAVAILABLE, "dot wrote no drawing");
    }
    const double width = number_after(start, tag_end, "width=\"");
    const double height = number_after(start, tag_end, "height=\"");
    sr__str_printf(&report->pages, "<svg y=\"%gpt\"%s", report->height, start + strlen("<svg"));
    report->width = width > report->width ? width : report->width;
    report->height += height;
    return report->pages.failed ? sr__fail_memory(err) : SR_OK;
}

/* The graph after a pass; after the last one as it was split. */
static sr_status put_drawing(cli_report *report, const sr_run_result *result, int pass, sr_sink *sink, sr_error *err) {
    return pass < SR_PASS_COUNT ? sr_report_steps_dot(result, pass, sink, err)
                                : sr_report_dot(result, &report->text, sink, err);
}

/* One drawing, or with --steps one for every pass: the first of them. */
static int first_drawing(const sr_run_result *result) { return result->steps != NULL ? 0 : SR_PASS_COUNT; }

static int next_drawing(const sr_run_result *result, int pass) {
    return pass < SR_PASS_COUNT && pass == sr_explainer_last_pass(result->steps) ? SR_PASS_COUNT : pass + 1;
}

static sr_status draw_memory(cli_report *report, const sr_run_result *result, sr_error *err) {
    sr__str svg = {0};
    sr_sink sink = {.write = append_to_string, .user = &svg};
    sr_status status;
    SR_TRY(sr_report_memory_svg(result, &sink, err));
    SR_TRY(add_page(report, &svg, err));
done:
    sr__str_free(&svg);
    return status;
}

sr_status cli_report_add_dot(cli_report *report, const sr__str *dot, sr_error *err) {
    sr_status status;
    sr__str svg = {0};
    SR_TRY(cli_render_svg(sr__str_text(dot), dot->length, &svg, err));
    SR_TRY(add_page(report, &svg, err));
done:
    sr__str_free(&svg);
    return status;
}

static sr_status draw(cli_report *report, const sr_run_result *result, int pass, sr_error *err) {
    sr_status status;
    sr__str dot = {0};
    sr_sink sink = {.write = append_to_string, .user = &dot};
    SR_TRY(put_drawing(report, result, pass, &sink, err));
    SR_TRY(cli_report_add_dot(report, &dot, err));
done:
    sr__str_free(&dot);
    return status;
}

sr_status cli_report_write_pages(cli_report *report, sr_error *err) {
    sr__str head = {0};
    sr__str_printf(&head,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n<svg width=\"%gpt\" height=\"%gpt\" "
                   "xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\">\n",
                   report->width, report->height);
    sr__str_append(&head, sr__str_text(&report->pages), report->pages.length);
    sr__str_puts(&head, "</svg>\n");
    const bool failed = head.failed;
    const bool written = !failed && report->sink->write(report->sink->user, head.data, head.length);
    sr__str_free(&head);
    return failed ? sr__fail_memory(err) : written ? SR_OK : sr__fail(err, SR_IO, "the report cannot be written");
}

static sr_status draw_all(cli_report *report, const sr_run_result *result, sr_error *err) {
    sr_status status = SR_OK;
    if (report->options->format == CLI_SVG && report->options->memory) {
        return draw_memory(report, result, err);
    }
    for (int pass = first_drawing(result); pass <= SR_PASS_COUNT && status == SR_OK;
         pass = next_drawing(result, pass)) {
        status = report->options->format == CLI_SVG ? draw(report, result, pass, err)
                                                    : put_drawing(report, result, pass, report->sink, err);
    }
    return status;
}

/* ---- the report ------------------------------------------------------------------------------------------------ */

sr_report_options cli_report_options(const cli_options *options) {
    return (sr_report_options){.debug_level = options->debug_level,
                               .color = wants_color(options),
                               .unfold = options->unfold,
                               .verbose = options->verbose,
                               .lint = options->lint,
                               .brief = !options->debug_given &&
                                        (options->explains.n > 0 || options->steps || options->memory ||
                                         options->estimate),
                               .table = options->realloc_level > 0 || options->verbose,
                               .width = columns(options)};
}

sr_status cli_report_begin(cli_report *report, const sr_description *description, const cli_options *options,
                           sr_sink *sink, sr_error *err) {
    *report = (cli_report){.options = options, .sink = sink, .description = description,
                           .text = cli_report_options(options)};
    sink->write(sink->user, "", 0); /* an output file is made even where there is nothing to say */
    switch (options->format) {
    case CLI_TEXT:
        return sr_report_text_begin(description, &report->text, sink, err);
    case CLI_JSON:
    case CLI_JSONL:
        return sr_report_json_begin(description, options->format == CLI_JSONL, sink, err);
    case CLI_HTML:
        return sr_report_html_begin(description, sink, err);
    default:
        return SR_OK;
    }
}

sr_status cli_report_run(cli_report *report, const sr_run_result *result, sr_error *err) {
    const bool first = report->n_runs++ == 0;
    switch (report->options->format) {
    case CLI_TEXT:
        return sr_report_text_run(result, &report->text, report->sink, err);
    case CLI_GGML:
        return sr_report_ggml(result->layout, report->options->debug_level, report->sink, err);
    case CLI_JSON:
    case CLI_JSONL:
        return sr_report_json_run(result, report->options->format == CLI_JSONL, first, report->sink, err);
    case CLI_DOT:
    case CLI_SVG:
        return draw_all(report, result, err);
    case CLI_HTML:
        return sr_report_html_run(result, report->sink, err);
    default:
        return sr__fail(err, SR_INTERNAL, "unknown format");
    }
}

sr_status cli_report_compare(cli_report *report, const sr_compare_result *result, sr_error *err) {
    const bool first = report->n_runs++ == 0;
    if (report->options->format == CLI_TEXT) {
        return sr_report_text_compare(result, &report->text, report->sink, err);
    }
    return sr_report_json_compare(result, report->options->format == CLI_JSONL, first, report->sink, err);
}

sr_status cli_report_end(cli_report *report, sr_error *err) {
    sr_status status = SR_OK;
    if (report->options->format == CLI_JSON || report->options->format == CLI_JSONL) {
        status = sr_report_json_end(report->history, report->options->format == CLI_JSONL, report->sink, err);
    } else if (report->options->format == CLI_HTML) {
        status = sr_report_html_end(report->history, report->sink, err);
    } else if (report->options->format == CLI_TEXT && report->history != NULL) {
        status = sr_report_text_end(report->history, report->description, &report->text, report->sink, err);
    } else if (report->options->format == CLI_SVG && report->pages.length > 0) {
        status = cli_report_write_pages(report, err);
    }
    sr__str_free(&report->pages);
    return status;
}
