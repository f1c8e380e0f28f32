/*
 * report_json.h - the parts of the JSON report.
 *
 * Layer: report.  Internal.
 */
#ifndef SR_REPORT_JSON_H
#define SR_REPORT_JSON_H

#include "report/report_facts.h"

/* The keys that only an execution gives: outputs, trace_summary, values. */
sr_status sr__json_executed(sr__json *json, sr__out *out, const sr_run_result *result, sr_error *err);
/* The key "findings", where they were looked for. */
void sr__json_findings(sr__json *json, sr__out *out, const sr_findings *findings);
/* The key "compare". */
void sr__json_compare(sr__json *json, sr__out *out, const sr_compare_result *result);

#endif
