/*
 * report_html.h - the parts of the page.
 *
 * Layer: report.  Internal.
 */
#ifndef SR_REPORT_HTML_H
#define SR_REPORT_HTML_H

#include "report/report_facts.h"

/*
 * What the page shows of a run beside its JSON report, as one JSON object: the graph's tensors, their reasons and
 * histories in words, totals, printed values, the measured timeline.
 */
sr_status sr__html_graph(sr__out *out, const sr_run_result *result, sr_error *err);
/* The line of a run in the table of all runs, so that the page can leave the rest unread until it is wanted. */
sr_status sr__html_head(sr__out *out, const sr_run_result *result, sr_error *err);

#endif
