/*
 * report.h - what a schedule decided, as text, as the reference's debug log, as JSON, as DOT.
 *
 * Layer: report (above analyze).  Writers append to a stream of the caller's; a failed write is SR_IO.
 */
#ifndef SCHED_RUN_REPORT_H
#define SCHED_RUN_REPORT_H

#include "analyze.h"
#include "describe.h"
#include "diff.h"
#include "estimate.h"
#include "explain.h"
#include "memory_plan.h"
#include "reallocation.h"
#include "sched.h"
#include "sweep.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a report goes: returns false on failure. */
typedef struct sr_sink {
    bool (*write)(void *user, const char *text, size_t length);
    void *user;
} sr_sink;

typedef struct sr_report_options {
    int debug_level;      /* 1: splits, 2: nodes too */
    bool color;           /* ANSI colours in text */
    bool unfold;          /* dot: every layer drawn */
    bool verbose;
    bool lint;            /* text: every finding, not only how many there are */
    bool brief;           /* text: no list of splits and nodes, because something else was asked for */
    int width;            /* text columns, 0: 120 */
    bool table;           /* text: the table of reallocations at the end even where there was none */
} sr_report_options;

/* One run as reports see it.  error is the run's own, with status OK if it went well. */
typedef struct sr_run_result {
    const sr_run *run;
    const sr_layout *layout;
    const sr_error *error;
    const sr_trace_summary *times;   /* where the time went, NULL: not told */
    sr_value *const *values;         /* to be shown, in order */
    int n_values;
    const sr_findings *findings;     /* NULL: not looked for */
    const sr_explanation *explanations; /* to be shown, in order */
    int n_explanations;
    sr_explainer *steps;             /* shows the passes one by one, NULL: not */
    const sr_memory_plan *memory;    /* NULL: not to be shown */
    const sr_copies_row *copies;     /* numbers of copies side by side */
    int n_copies;
    const sr_reallocation *reallocation; /* NULL: not told */
    const sr_trace *trace;           /* of its execution, for a timeline; NULL: none */
    const sr_estimate *estimate;     /* NULL: not asked for */
    const sr_offload_gain *gains;    /* beside it */
    int n_gains;
} sr_run_result;

/* Byte for byte what the reference prints with GGML_SCHED_DEBUG=level and its causes compiled in. */
SR_API sr_status sr_report_ggml(const sr_layout *layout, int level, sr_sink *sink, sr_error *err);
/* For people.  The header once, then each run as it is done. */
SR_API sr_status sr_report_text_begin(const sr_description *description, const sr_report_options *options,
                                      sr_sink *sink, sr_error *err);
SR_API sr_status sr_report_text_run(const sr_run_result *result, const sr_report_options *options, sr_sink *sink,
                                    sr_error *err);
/* After the last run: a table of all runs, where memory was planned again or a plan kept that does not suit. */
SR_API sr_status sr_report_text_end(const sr_realloc_history *history, const sr_description *description,
                                    const sr_report_options *options, sr_sink *sink, sr_error *err);
/* JSON: one object from begin to end; jsonl: a line each.  history may be NULL. */
SR_API sr_status sr_report_json_begin(const sr_description *description, bool lines, sr_sink *sink, sr_error *err);
SR_API sr_status sr_report_json_run(const sr_run_result *result, bool lines, bool first, sr_sink *sink, sr_error *err);
SR_API sr_status sr_report_json_end(const sr_realloc_history *history, bool lines, sr_sink *sink, sr_error *err);
/*
 * A tensor's value as people read arrays: the last dimension outermost, long extents cut in the middle (verbose:
 * never), under a line that says what it is.  Types that are not plain numbers are shown as the numbers they stand for.
 */
SR_API sr_status sr_report_value(const sr_graph *graph, const sr_value *value, const sr_report_options *options,
                                 sr_sink *sink, sr_error *err);
/*
 * The value as a .npy file of version 1.0, in C order: shape (ne[n-1], ..., ne[0]) without the extents of 1 beyond the
 * last larger one.  f16, f32, f64 and the integers keep their type, all others become f32.
 */
SR_API sr_status sr_report_npy(const sr_value *value, sr_sink *sink, sr_error *err);

/* One graph compared on two backends, which the names are of; error as for a run. */
typedef struct sr_compare_result {
    const sr_run *run;
    const char *a, *b;
    const sr_comparison *comparison;
    const sr_error *error;
    bool drift;   /* errors added up */
} sr_compare_result;

SR_API sr_status sr_report_text_compare(const sr_compare_result *result, const sr_report_options *options,
                                        sr_sink *sink, sr_error *err);
/* A run of the JSON report, with the key "compare". */
SR_API sr_status sr_report_json_compare(const sr_compare_result *result, bool lines, bool first, sr_sink *sink,
                                        sr_error *err);

/* ---- traces: Chrome's JSON, which Perfetto opens --------------------------------------------------------------- */

/* Zero-initialise but for the sink; a process for each description, a thread for the host and for each backend. */
typedef struct sr_trace_report {
    sr_sink *sink;
    uint64_t origin;   /* time 0 of the file, set by the first trace */
    int n_processes;
} sr_trace_report;

SR_API sr_status sr_report_trace_begin(sr_trace_report *report, sr_error *err);
SR_API sr_status sr_report_trace(sr_trace_report *report, const sr_trace *trace, const sr_description *description,
                                 sr_error *err);
SR_API sr_status sr_report_trace_end(sr_trace_report *report, sr_error *err);

/* What changed when, of every run: a table and the moved nodes, or (json) one object. */
SR_API sr_status sr_report_rules(const sr_description *description, const sr_rules_report *rules, bool json,
                                 sr_sink *sink, sr_error *err);
/*
 * A page that needs nothing else, by begin, the runs, end.  result->steps has it show histories and passes, memory and
 * trace their pictures, the first of the explanations is opened.  history may be NULL.
 */
SR_API sr_status sr_report_html_begin(const sr_description *description, sr_sink *sink, sr_error *err);
SR_API sr_status sr_report_html_run(const sr_run_result *result, sr_sink *sink, sr_error *err);
SR_API sr_status sr_report_html_end(const sr_realloc_history *history, sr_sink *sink, sr_error *err);
/* A sweep: a table that tells where the layout changes and why, or (json) one object. */
SR_API sr_status sr_report_sweep(const char *name, const sr_sweep *sweep, const sr_report_options *options, bool json,
                                 sr_sink *sink, sr_error *err);
/* DOT: one digraph a run. */
SR_API sr_status sr_report_dot(const sr_run_result *result, const sr_report_options *options, sr_sink *sink,
                               sr_error *err);
/* The graph as a pass left it (result->steps), as a digraph; what the pass changed is marked. */
SR_API sr_status sr_report_steps_dot(const sr_run_result *result, int pass, sr_sink *sink, sr_error *err);
/* The memory plan (result->memory) as a drawing: address over time, a rectangle a tensor. */
SR_API sr_status sr_report_memory_svg(const sr_run_result *result, sr_sink *sink, sr_error *err);

/* ---- two layouts side by side ------------------------------------------------------------------------------------ */

/* What is compared: A and B as messages show them (file and options), and what came of it. */
typedef struct sr_diff_head {
    const char *a, *b;
    int n_runs_a, n_runs_b;
    int n_differ;                /* of the runs that both have */
} sr_diff_head;

/* One run of both sides, or of one side: then the other's run is NULL, as is the diff. */
typedef struct sr_diff_result {
    const sr_run *run_a, *run_b;
    const sr_error *error_a, *error_b; /* the runs' own, with status OK if they went well */
    const sr_diff *diff;
} sr_diff_result;

/* For people; options->verbose: every node, else runs of equal movements and equal layers are folded. */
SR_API sr_status sr_report_diff_text_begin(const sr_diff_head *head, const sr_report_options *options, sr_sink *sink,
                                           sr_error *err);
SR_API sr_status sr_report_diff_text_run(const sr_diff_result *result, const sr_report_options *options, sr_sink *sink,
                                         sr_error *err);
/* JSON: one object from begin to end; docs/schema/diff.schema.json. */
SR_API sr_status sr_report_diff_json_begin(const sr_diff_head *head, sr_sink *sink, sr_error *err);
SR_API sr_status sr_report_diff_json_run(const sr_diff_result *result, bool first, sr_sink *sink, sr_error *err);
SR_API sr_status sr_report_diff_json_end(sr_sink *sink, sr_error *err);
/* DOT: B's graph as a digraph, with what is not as in A coloured, and what only A has beside it. */
SR_API sr_status sr_report_diff_dot(const sr_diff_result *result, const sr_report_options *options, sr_sink *sink,
                                    sr_error *err);

#ifdef __cplusplus
}
#endif
#endif
