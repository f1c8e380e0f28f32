/*
 * report_diff_text.h - the two halves of a comparison for people: summary with reasons, and lists of what changed.
 *
 * Layer: report.  Internal.
 */
#ifndef SR_REPORT_DIFF_TEXT_H
#define SR_REPORT_DIFF_TEXT_H

#include "report/report_diff.h"
#include "report/report_text.h"

/* One run being written. */
typedef struct sr__diff_text {
    sr__out *out;
    const sr_diff *diff;
    const sr__diff_facts *facts;
    const sr_report_options *options;
} sr__diff_text;

/* A backend's name in its colour; backends that only B has take B's. */
void sr__put_diff_backend(const sr__diff_text *text, bool is_a, int backend);
/* Moves, causes, tensors that came or went, splits, copies. */
sr_status sr__diff_text_lists(const sr__diff_text *text, sr_error *err);

#endif
