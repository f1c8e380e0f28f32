/*
 * report_text.h - the two halves of the text report: the summary of a run, and its splits with their nodes.
 *
 * Layer: report.  Internal.
 */
#ifndef SR_REPORT_TEXT_H
#define SR_REPORT_TEXT_H

#include "report/report_facts.h"

/* One run being written. */
typedef struct sr__text {
    sr__out *out;
    const sr_layout *layout;
    const sr__facts *facts;
    const sr_report_options *options;
    int backend_width;
} sr__text;

/* "run 0  pp  n_tokens=512  reserve" on a new line, and what went wrong below it. */
void sr__text_title(sr__str *s, const sr_run_result *result, const sr_report_options *options);
void sr__text_error(sr__str *s, const sr_error *error, const sr_report_options *options);

typedef enum sr__style { SR__BOLD, SR__DIM, SR__RED, SR__GREEN } sr__style;

/* ANSI colours, nothing at all unless options->color. */
void sr__style_on(sr__str *s, const sr_report_options *options, sr__style style);
void sr__backend_on(sr__str *s, const sr_report_options *options, const sr_layout *layout, int backend);
void sr__style_off(sr__str *s, const sr_report_options *options);

static inline int sr__text_width(const sr_report_options *options) {
    return options->width > 0 ? options->width : 120;
}

/* A paragraph, so many columns in, broken at spaces. */
void sr__text_wrapped(sr__str *s, const char *text, int indent, int width);
/* How many findings there are and of which kinds; with options->lint each of them. */
void sr__text_findings(const sr_run_result *result, const sr_report_options *options, sr__str *s);
/* What an execution left, if there was one: outputs, and where the time went. */
sr_status sr__text_executed(sr__text *text, const sr_run_result *result, sr_error *err);
/* By backend, the host last: how long it computed, copied, waited and was idle. */
void sr__text_times(sr__text *text, const sr_trace_summary *times);
/* An estimate and from which batch offloading pays, where the result has them. */
sr_status sr__text_estimate(sr__text *text, const sr_run_result *result, sr_error *err);
/* The values that were asked for. */
sr_status sr__text_values(const sr_run_result *result, const sr_report_options *options, sr__out *out, sr_error *err);
void sr__text_explanations(sr__out *out, const sr_run_result *result, const sr_report_options *options);
/* The nodes after each pass. */
sr_status sr__text_steps(sr__out *out, const sr_run_result *result, const sr_report_options *options, sr_error *err);
void sr__text_memory(sr__text *text, const sr_memory_plan *plan);
void sr__text_copies(sr__text *text, const sr_run_result *result);
/* Why memory was planned again, and what to do; nothing of a first allocation, or where a plan serves. */
void sr__text_reallocation(sr__text *text, const sr_reallocation *reallocation);
void sr__text_splits(sr__text *text);
/* Verbose only: every leaf, where it is and why. */
void sr__text_leafs(sr__text *text);

#endif
