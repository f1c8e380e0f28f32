/*
 * analyze.h - what is worked out from the record of a schedule: comparison with what a description expects.
 *
 * Layer: analyze (above sched, below report).  Thread rule: functions here only read what they are given.
 */
#ifndef SCHED_RUN_ANALYZE_H
#define SCHED_RUN_ANALYZE_H

#include "describe.h"
#include "sched.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the record ------------------------------------------------------------------------------------------------- */

/* Whether the layout (NULL: no) holds splits: also where the allocation or the execution failed after splitting. */
SR_API bool sr_layout_has_splits(const sr_layout *layout);

/* ---- why memory was planned again ------------------------------------------------------------------------------ */

enum { SR_MISFIT_TEXT = 256 };

/*
 * layout->misfit in the words that `expect.reallocation_reason` uses: "graph has different number of nodes", "graph has
 * different number of leafs", "node NAME is not valid", "src J (NAME) of node NAME is not valid"; "backend ids changed"
 * for the scheduler's own reason, "" for none.
 */
SR_API void sr_misfit_text(const sr_layout *layout, char out_text[SR_MISFIT_TEXT]);

/* ---- comparison with `expect` ----------------------------------------------------------------------------------- */

/* Findings of a run, each as pairs of texts ("kind" among them). */
typedef struct sr_check_findings {
    const sr_expect_object *findings;
    int n;
} sr_check_findings;

/* Differences found.  Zero-initialise; sr_check_clear frees. Messages beyond max_messages (0: 20) are only counted. */
typedef struct sr_check {
    char **messages;          /* "run 0: n_splits: expected 7, got 6" */
    int n_messages;
    int max_messages;
    int64_t n_differences;
    int64_t n_checks;         /* values compared */
} sr_check;

/*
 * Compares one run with run->expect and adds to check; a run without `expect` must only not fail.  layout may be NULL
 * where nothing was scheduled; error is the run's own (status OK where it went well).  What only an execution can
 * answer (outputs, copied) is passed over unless layout->copied tells that there was one, findings where they are NULL.
 * SR_MEMORY, or what reading an output failed with.  Differences are no error.
 */
SR_API sr_status sr_check_run(sr_check *check, const sr_run *run, const sr_layout *layout, const sr_error *error,
                              const sr_check_findings *findings, sr_error *err);
SR_API void sr_check_clear(sr_check *check);

#ifdef __cplusplus
}
#endif
#endif
