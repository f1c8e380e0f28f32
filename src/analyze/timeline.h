/*
 * timeline.h - what an execution puts into which queue, and what each of it knows to be done.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_TIMELINE_H
#define SR_TIMELINE_H

#include "sched_run/sched.h"

typedef enum sr__task_kind {
    SR__TASK_NODES,   /* the nodes of a split */
    SR__TASK_COPY,    /* an input into its copy */
    SR__TASK_SEND,    /* the source's half of a copy between two queues */
    SR__TASK_RECEIVE  /* the destination's half */
} sr__task_kind;

typedef struct sr__task {
    sr__task_kind kind;
    int queue;        /* the backend in whose queue it runs; -1: the host runs it, or waits while it runs */
    int32_t number;   /* in its queue, from 1; of the host 0 */
    int batch;        /* which execution, from 0 */
    int32_t split;
    int32_t input;    /* place in layout->inputs, -1 of nodes */
    bool fetches;     /* a device copies out of host memory: some queue that, others do it at once */
} sr__task;

/*
 * Called for every task in the order in which the host hands them over.  known: by backend, up to which number the task
 * knows its queue to be done; issued: by backend, how many tasks its queue has had.  Returning false ends the walk.
 */
typedef bool (*sr__task_visitor)(void *user, const sr__task *task, const int32_t *known, const int32_t *issued);

/* How a layout is executed.  Zero-initialised: once. */
typedef struct sr__timeline_plan {
    int n_batches;      /* executions one after another without a wait between them, each in the next copy slot; 0: 1 */
    bool host_fetches;  /* host memory is copied into a device by the host, never in the device's queue */
} sr__timeline_plan;

/* Executions of an allocated layout, the queues empty at first.  false: out of memory, or the visitor ended it. */
bool sr__timeline_walk(const sr_layout *layout, const sr_sched_params *params, const sr__timeline_plan *plan,
                       sr__task_visitor visit, void *user);

/* The node that makes a split's input experts in host memory, of which only the used are copied; NULL: it is not. */
const sr_tensor *sr__experts_node(const sr_layout *layout, const sr_sched_params *params, int32_t split, int32_t input);

#endif
