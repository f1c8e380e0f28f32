/*
 * check_note.h - how the comparers note what differs.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_CHECK_NOTE_H
#define SR_CHECK_NOTE_H

#include "base/base.h"
#include "sched_run/analyze.h"

/* One comparison under way: where differences go and which run they are of. */
typedef struct sr__check_run {
    sr_check *check;
    const sr_run *run;
    const sr_layout *layout;
    const sr_error *error;
    const sr_findings *findings; /* or NULL */
    sr_error *err;
    sr_status status; /* SR_MEMORY once a message could not be kept; further notes are dropped */
} sr__check_run;

/* Counts a difference and keeps its message while there is room: "run 0: " comes before fmt. */
void sr__check_note(sr__check_run *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Findings that must be there, and kinds that must not (check_findings.c). */
void sr__check_findings(sr__check_run *c);
/* The value of a key, or NULL. */
const char *sr__expected_value(const sr_expect_object *object, const char *key);
/* The keys that an execution answers: copied and outputs. */
void sr__check_copied(sr__check_run *c);
void sr__check_outputs(sr__check_run *c);

#endif
