/*
 * report.h - what a schedule decided, as text, as the reference's debug log, as JSON, as DOT.
 *
 * Layer: report (above analyze).  Writers append to a stream of the caller's; a failed write is SR_IO.
 */
#ifndef SCHED_RUN_REPORT_H
#define SCHED_RUN_REPORT_H

#include "describe.h"
#include "sched.h"

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
    int width;            /* text columns, 0: 120 */
} sr_report_options;

/* One run as reports see it.  error is the run's own, with status OK if it went well. */
typedef struct sr_run_result {
    const sr_run *run;
    const sr_layout *layout;
    const sr_error *error;
} sr_run_result;

/* Byte for byte what the reference prints with GGML_SCHED_DEBUG=level and its causes compiled in. */
SR_API sr_status sr_report_ggml(const sr_layout *layout, int level, sr_sink *sink, sr_error *err);
/* For people.  The header once, then each run as it is done. */
SR_API sr_status sr_report_text_begin(const sr_description *description, const sr_report_options *options,
                                      sr_sink *sink, sr_error *err);
SR_API sr_status sr_report_text_run(const sr_run_result *result, const sr_report_options *options, sr_sink *sink,
                                    sr_error *err);
/* JSON: one object from begin to end; jsonl: a line each. */
SR_API sr_status sr_report_json_begin(const sr_description *description, bool lines, sr_sink *sink, sr_error *err);
SR_API sr_status sr_report_json_run(const sr_run_result *result, bool lines, bool first, sr_sink *sink, sr_error *err);
SR_API sr_status sr_report_json_end(bool lines, sr_sink *sink, sr_error *err);
/* DOT: one digraph a run. */
SR_API sr_status sr_report_dot(const sr_run_result *result, const sr_report_options *options, sr_sink *sink,
                               sr_error *err);

#ifdef __cplusplus
}
#endif
#endif
