/*
 * sweep.h - one graph scheduled and estimated for several values of its params: what changes, and where.
 *
 * Layer: analyze (above sched).  Answers to nothing in the reference.  Nothing is allocated on a device or executed, so
 * that machines can be tried that nobody has.
 * Thread rule: one thread at a time for a sweep.
 */
#ifndef SCHED_RUN_SWEEP_H
#define SCHED_RUN_SWEEP_H

#include "describe.h"
#include "estimate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One graph with one set of values. */
typedef struct sr_sweep_row {
    char **values;          /* beside sweep->names */
    char *graph;            /* its name, often "" */
    sr_status status;       /* of the schedule; all below is 0 if it failed */
    char *message;          /* why it did; NULL */
    int32_t n_nodes, n_splits, n_inputs;
    uint64_t copied;        /* bytes of all splits' inputs, in one batch; of experts those expected */
    size_t *held, *compute; /* by backend, at the first that has the memory: leafs in buffers, compute buffers */
    uint64_t total, first;  /* nanoseconds until all batches are done, and the first */
    uint64_t most;          /* the largest part of the critical path: computing or copying in one lane */
    int most_lane;          /* whose; n_backends: the host */
    bool most_copies;
    int layout;             /* equal where nodes, their backends and the splits are: numbered from 0 */
    /* Against the row before of the same graph, if the layout is another: nodes on another backend, and the one that
     * shows best why; moved_node NULL: none, or the graph has another number of nodes (prev_nodes). */
    int32_t n_moved, prev_nodes;
    bool changed;
    char *moved_node;
    int moved_from, moved_to, moved_cause;
    int16_t *backend_of;    /* private, as are the next: by node */
    int32_t *starts;        /* by split */
} sr_sweep_row;

/* Zero-initialise. */
typedef struct sr_sweep {
    char **names;           /* of the params */
    int n_names;
    char **backends;
    size_t *capacity;       /* by backend, 0: not limited, or counted at a backend before */
    int n_backends;
    int n_batches;
    sr_sweep_row *rows;
    int n_rows;
    size_t rows_cap;        /* private */
} sr_sweep;

/* What a sweep is over; the texts are copied.  SR_MEMORY. */
SR_API sr_status sr_sweep_begin(sr_sweep *sweep, const char *const *names, int n_names, int n_batches, sr_error *err);
/*
 * Schedules a run of a description that was loaded with these values (beside the names), and estimates it.  A schedule
 * that fails is a row with its status.  SR_INVALID if the machine has not the backends of the rows before, SR_MEMORY.
 */
SR_API sr_status sr_sweep_add(sr_sweep *sweep, const sr_machine *machine, const sr_sched_params *params,
                              const sr_run *run, const char *const *values, sr_error *err);
SR_API void sr_sweep_clear(sr_sweep *sweep);

#ifdef __cplusplus
}
#endif
#endif
