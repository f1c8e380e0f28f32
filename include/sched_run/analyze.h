/*
 * analyze.h - what is worked out from the record of a schedule: comparison with what a description expects.
 *
 * Layer: analyze (above sched, below report).  Thread rule: functions here only read what they are given.
 */
#ifndef SCHED_RUN_ANALYZE_H
#define SCHED_RUN_ANALYZE_H

#include "describe.h"
#include "lint.h"
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

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Of all elements in order; a NaN among them is also the least and the greatest. */
typedef struct sr_value_stats {
    int64_t n;
    double sum, sumsq, min, max; /* 0 where n is 0 */
    double head[8];
    int n_head;
} sr_value_stats;

/*
 * What lies in a tensor's memory: any type that can be turned into f32, and the integers; any strides.
 * SR_UNAVAILABLE for another type, SR_INVALID where the view gives it no memory.
 */
SR_API sr_status sr_tensor_stats(const sr_graph_view *view, int32_t tensor, sr_value_stats *out_stats, sr_error *err);
/* All elements in order; room for sr_tensor_nelements. An i64 beyond 2^53 is rounded. */
SR_API sr_status sr_tensor_values(const sr_graph_view *view, int32_t tensor, double *out_values, sr_error *err);

/* What a tensor was at some moment, kept on the host. */
typedef struct sr_value sr_value;
SR_API sr_status sr_value_take(const sr_graph_view *view, int32_t tensor, sr_value **out_value, sr_error *err);
SR_API void sr_value_free(sr_value *value);
SR_API int32_t sr_value_tensor(const sr_value *value);

/* ---- where the time went ---------------------------------------------------------------------------------------- */

typedef struct sr_trace_row {
    const char *track;     /* a backend; NULL: the host's thread */
    uint64_t computing, copying, waiting; /* nanoseconds */
    int64_t n_computes, n_copies;
    uint64_t bytes;        /* copied */
} sr_trace_row;

/* One execution: a row for each backend in order, the host's last.  What a backend has the host's thread do counts for
 * both.  Zero-initialise; sr_trace_summary_clear frees. */
typedef struct sr_trace_summary {
    uint64_t wall;         /* nanoseconds from the first split to the last wait */
    sr_trace_row *rows;
    int n_rows;
} sr_trace_summary;

/* Of the last execution in the trace; n_rows is 0 where there is none. SR_MEMORY. */
SR_API sr_status sr_trace_summarize(const sr_trace *trace, sr_backend *const *backends, int n_backends,
                                    sr_trace_summary *out_summary, sr_error *err);
SR_API void sr_trace_summary_clear(sr_trace_summary *summary);

/* ---- comparison of two backends, node by node -------------------------------------------------------------------- */

typedef struct sr_compare_options {
    double nmse;           /* limit for every node; 0: sr_compare_limit of each */
    bool drift;            /* errors add up along the graph; else every node starts from equal inputs */
    sr_abort_callback stop; /* asked between nodes, or NULL */
    void *stop_user;
} sr_compare_options;

typedef struct sr_compared_node {
    int32_t tensor;
    double nmse;           /* squared error over squared expectation; infinite where only one side is not finite */
    double limit;
    bool over;
    char *refused_by_a, *refused_by_b; /* why not, or NULL; then nothing was compared */
} sr_compared_node;

/* Zero-initialise; sr_comparison_clear frees. Nodes without anything to compute are left out. */
typedef struct sr_comparison {
    sr_compared_node *nodes;
    int32_t n_nodes;
    int32_t n_over, n_refused;
    int32_t first_over;    /* position in nodes, -1: none */
    int32_t worst;         /* the node nearest to its limit, or farthest over it; -1: none was compared */
    size_t cap;            /* private */
} sr_comparison;

/* The error that is normal for a node where kernels differ: 5e-4 for products (MUL_MAT, MUL_MAT_ID, OUT_PROD, the
 * convolutions and FLASH_ATTN_EXT) and for results of a quantized type, 1e-6 for all others. */
SR_API double sr_compare_limit(const sr_tensor *node);
/*
 * Runs each node on both copies of a graph, b's backend being the one that is believed.  What one of them refuses, or
 * fails at, is taken over from the other; what both refuse stays zero.  Nodes over their limit are no error.
 * SR_ABORTED and others leave what was compared until then.
 */
SR_API sr_status sr_compare_backends(sr_graph_copy *a, sr_graph_copy *b, const sr_compare_options *options,
                                     sr_comparison *out_comparison, sr_error *err);
SR_API void sr_comparison_clear(sr_comparison *comparison);

/* ---- comparison with `expect` ----------------------------------------------------------------------------------- */

/* Differences found.  Zero-initialise; sr_check_clear frees. Messages beyond max_messages (0: 20) are only counted. */
typedef struct sr_check {
    char **messages;          /* "run 0: n_splits: expected 7, got 6" */
    int n_messages;
    int max_messages;
    bool outputs_only;        /* compare what outputs hold, not where and how it was computed */
    int64_t n_differences;
    int64_t n_checks;         /* values compared */
} sr_check;

/*
 * Compares one run with run->expect and adds to check; a run without `expect` must only not fail.  layout may be NULL
 * where nothing was scheduled; error is the run's own (status OK where it went well).  What only an execution can
 * answer (outputs, copied) is passed over unless layout->executed tells that there was one, findings where they are
 * NULL.
 * A finding is as expected if every given key is: "tensor" is one of its tensors, "tensors" all are among them, "message"
 * and "hint" are part of its own; any other key is that of the finding or of one of its details.
 * SR_MEMORY, or what reading an output failed with.  Differences are no error.
 */
SR_API sr_status sr_check_run(sr_check *check, const sr_run *run, const sr_layout *layout, const sr_error *error,
                              const sr_findings *findings, sr_error *err);
SR_API void sr_check_clear(sr_check *check);

/* ---- the layout under the rules of every date ---------------------------------------------------------------------- */

typedef struct sr_rules_move { int32_t node; int16_t from, to; } sr_rules_move;

/* One run under the rules of one revision. */
typedef struct sr_rules_row {
    sr_status status;       /* of scheduling it */
    int32_t n_splits;       /* 0 after a failure */
    uint64_t bytes_copied;  /* per evaluation */
    bool changed;           /* status, splits, inputs or backends differ from those of the revision before */
    sr_rules_move *moves;   /* nodes on another backend than under the revision before */
    int n_moves;
} sr_rules_row;

typedef struct sr_rules_report {
    int n_revisions, n_runs;
    sr_rules_row *rows;     /* [revision * n_runs + run], revisions as sr_revisions orders them */
} sr_rules_report;

/*
 * Schedules every run under every revision, each on a scheduler of its own; params' rules do not matter.  Nothing is
 * executed.  A run that fails is a row with its status; other failures (SR_MEMORY, SR_BACKENDS) end it.
 */
SR_API sr_status sr_rules_compare(const sr_description *description, const sr_sched_params *params,
                                  sr_rules_report *out_report, sr_error *err);
SR_API void sr_rules_report_clear(sr_rules_report *report);

#ifdef __cplusplus
}
#endif
#endif
