/*
 * report_json.h - the parts of the JSON report.
 *
 * Layer: report.  Internal.
 */
#ifndef SR_REPORT_JSON_H
#define SR_REPORT_JSON_H

#include "report/report_facts.h"

/* A writer with an empty text as it stood when the array "runs" of the outer object was opened; has_runs: something
 * stands in the array. */
void sr__json_enter_runs(sr__json *json, bool has_runs);
/* The keys that only an execution gives: outputs, trace_summary, values. */
sr_status sr__json_executed(sr__json *json, sr__out *out, const sr_run_result *result, sr_error *err);
/* The key "findings", where they were looked for. */
void sr__json_findings(sr__json *json, sr__out *out, const sr_findings *findings);
/* The keys "explanations", "steps", "memory", "reallocation", where the result has them. */
void sr__json_explanations(sr__json *json, sr__out *out, const sr_run_result *result);
void sr__json_steps(sr__json *json, sr__out *out, const sr_run_result *result);
void sr__json_memory(sr__json *json, sr__out *out, const sr_run_result *result);
void sr__json_reallocation(sr__json *json, const sr_run_result *result);
/* The key "estimate", where the result has one. */
void sr__json_estimate(sr__json *json, sr__out *out, const sr_run_result *result);
/* The members of the reallocations of all runs together. */
sr_status sr__json_reallocations(sr__json *json, const sr_realloc_history *history, sr_error *err);
/* The key "compare". */
void sr__json_compare(sr__json *json, sr__out *out, const sr_compare_result *result);

#endif
