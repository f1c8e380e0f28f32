/*
 * finding.h - how lints write their findings, and what several of them ask about a layout.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_FINDING_H
#define SR_FINDING_H

#include "base/base.h"
#include "sched_run/lint.h"

/* A new finding at the end of the list, or NULL when memory ran out. */
sr_finding *sr__finding_add(sr_findings *findings, const char *kind, sr_severity severity);
/* These return false when memory ran out; a lint then returns SR_MEMORY. */
bool sr__finding_tensor(sr_finding *finding, const char *name);
bool sr__finding_say(sr_finding *finding, const char *fmt, ...) __attribute__((format(printf, 2, 3)));  /* message */
bool sr__finding_hint(sr_finding *finding, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool sr__finding_text(sr_finding *finding, const char *key, const char *text);
bool sr__finding_number(sr_finding *finding, const char *key, int64_t number);

/* The kinds, one file each (lint_NAME.c). */
#define SR__LINT_LIST(X)                                                                                             \
    X(fallback) X(weight_copy) X(alias) X(order) X(offload) X(realloc) X(limits) X(copies) X(preallocated)           \
    X(late_input) X(assignment) X(split_twice) X(stale_input) X(overlap) X(race) X(host_bounce) X(imbalance)
#define SR__LINT_DECLARE(name) \
    sr_status sr__lint_##name(const sr_lint_input *input, sr_findings *findings, sr_error *err);
SR__LINT_LIST(SR__LINT_DECLARE)
#undef SR__LINT_DECLARE

#endif
