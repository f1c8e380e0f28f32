/*
 * lint.h - findings: what a user should be told of a layout without asking.
 *
 * Layer: analyze (above sched).  Answers to no function of the reference: every kind comes from a class of bug reports.
 * A lint only reads the record; it is linear in the graph unless its file says otherwise.
 */
#ifndef SCHED_RUN_LINT_H
#define SCHED_RUN_LINT_H

#include "describe.h"
#include "sched.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sr_severity { SR_SEVERITY_INFO, SR_SEVERITY_WARNING, SR_SEVERITY_ERROR } sr_severity;

SR_API const char *sr_severity_name(sr_severity severity); /* "info", "warning", "error" */

/* A further fact of a finding, "op": "SOFT_MAX", as reports and `expect.findings` name it. */
typedef struct sr_finding_detail {
    const char *key;   /* a string literal */
    char *text;        /* NULL for a number */
    int64_t number;
} sr_finding_detail;

/* Texts and arrays belong to the list that the finding is in. */
typedef struct sr_finding {
    const char *kind;  /* a string literal: "fallback" */
    sr_severity severity;
    char **tensors;    /* names, the one that matters most first */
    int n_tensors;
    uint64_t bytes;    /* moved per evaluation, or held: what it costs; 0 if it costs none */
    int32_t splits;    /* extra splits that it costs; 0 if none */
    char *message;     /* what and why, with names and numbers; one sentence or two */
    char *hint;        /* what to try */
    sr_finding_detail *details;
    int n_details;
    void *texts;       /* private */
} sr_finding;

/* Zero-initialise; sr_findings_clear frees. */
typedef struct sr_findings { sr_finding *items; int n; size_t cap; void *texts; } sr_findings;

SR_API void sr_findings_clear(sr_findings *findings);

/* What lints remember from run to run on one scheduler: plans, topologies that alternate. */
typedef struct sr_lint_history sr_lint_history;
SR_API sr_status sr_lint_history_new(sr_lint_history **out_history, sr_error *err);
SR_API void sr_lint_history_free(sr_lint_history *history);

/* One run as lints see it. */
typedef struct sr_lint_input {
    const sr_layout *layout;         /* of this run; after a failure what was decided until then */
    const sr_error *error;           /* the run's own, status OK if it went well */
    const sr_sched_params *params;
    const sr_graph_allocator *allocator; /* of the scheduler: life spans where they were recorded; or NULL */
    sr_lint_history *history;        /* or NULL: lints over a sequence are left out */
} sr_lint_input;

/* A kind of finding: its name, one line for `help`, and the function that looks for it (appends; SR_MEMORY). */
typedef struct sr_lint {
    const char *kind;
    const char *summary;
    sr_status (*find)(const sr_lint_input *input, sr_findings *findings, sr_error *err);
} sr_lint;

/* All kinds, in the order of docs/lints.md, ended by a NULL kind. */
SR_API const sr_lint *sr_lints(void);
/* Runs every lint; findings come out ordered by severity, then by cost.  Advances the history once. */
SR_API sr_status sr_lint_run(const sr_lint_input *input, sr_findings *findings, sr_error *err);

#ifdef __cplusplus
}
#endif
#endif
