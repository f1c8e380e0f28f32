/*
 * estimate.h - how long a layout would take: a timeline in virtual time, from the figures that its backends are given.
 *
 * Layer: analyze (above sched).  Answers to ggml_backend_sched_compute_splits, wait for wait; docs/estimating.md has
 * the model.  No clock is read: the same layout and figures give the same numbers.  Times are nanoseconds from the
 * moment at which the first split is begun.
 * Thread rule: functions here only read what they are given.
 */
#ifndef SCHED_RUN_ESTIMATE_H
#define SCHED_RUN_ESTIMATE_H

#include "sched.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Something that occupies a lane for a while. */
typedef enum sr_estimate_kind {
    SR_ESTIMATE_COMPUTE, /* the nodes of a split */
    SR_ESTIMATE_COPY,    /* an input of a split */
    SR_ESTIMATE_WAIT     /* a queue that stands still for another one, or the host for a queue */
} sr_estimate_kind;

SR_API const char *sr_estimate_kind_name(int kind); /* "compute", "copy", "wait"; "" for none of them */

typedef struct sr_estimate_span {
    int lane;             /* a backend's position, or n_backends: the host's */
    sr_estimate_kind kind;
    uint64_t begin, end;
    int32_t split;
    int batch;
    int32_t tensor;       /* of a copy, in the graph; of a compute its first node; -1: none */
    int from, to;         /* backends, of a copy; of a wait `from` is the one waited for; -1: none */
    uint64_t bytes;       /* of a copy */
    int32_t n_nodes;      /* of a compute; views are not counted */
    int32_t after;        /* the span whose end let it begin, -1: nothing did */
    bool critical;        /* on the critical path: the chain of `after` that leads to the end */
} sr_estimate_span;

/* What a lane was doing; the host's has no computes, a CPU's are in its own. */
typedef struct sr_estimate_lane {
    uint64_t computing, copying, waiting;
    int64_t n_computes, n_copies;
    uint64_t bytes;       /* copied */
} sr_estimate_lane;

/* What a split costs by itself, once. */
typedef struct sr_estimate_split {
    double flops, bytes;             /* of its nodes */
    uint64_t computing;
    uint64_t by_flops, by_memory, by_latency; /* of `computing`: latencies, and what operations or memory limit */
    uint64_t copied;                 /* bytes of its inputs */
    uint64_t copying;
    int32_t n_nodes;
} sr_estimate_split;

typedef struct sr_estimate {
    int n_backends;
    int n_batches;
    uint64_t total;                  /* until every queue is empty */
    uint64_t *batch_end;             /* by batch: when the last of its work is done */
    sr_estimate_span *spans;         /* in the order in which the host hands them over */
    int32_t n_spans;
    sr_estimate_lane *lanes;         /* n_backends + 1, the host's last */
    sr_estimate_split *splits;       /* of one batch */
    int32_t n_splits;
    sr_estimate_lane *critical;      /* n_backends + 1: what the critical path does in which lane */
    int32_t last;                    /* the span that ends last, -1: there is none */
    sr_speed *speeds;                /* by backend: the figures used */
    bool *assumed;                   /* by backend: some of them were not given */
    int32_t n_expert_copies;         /* inputs of one batch whose bytes are an expectation: used experts alone */
    size_t spans_cap;                /* private */
} sr_estimate;

/*
 * Executes an allocated or reserved layout n_batches times in virtual time, one after another without waiting between
 * them, as sr_sched_compute_async is called; each in the next copy slot.  *out_estimate is to be cleared in any case.
 * SR_INVALID (no splits, or n_batches < 1), SR_MEMORY.
 */
SR_API sr_status sr_estimate_make(const sr_layout *layout, int n_batches, sr_estimate *out_estimate, sr_error *err);
SR_API void sr_estimate_clear(sr_estimate *estimate);
/* Adds the spans to a trace, as an execution of that name, begun at `origin`, would have told it. */
SR_API void sr_estimate_tell(const sr_estimate *estimate, const sr_layout *layout, const char *name, uint64_t origin,
                             sr_trace *trace);

/* ---- when offloading pays ---------------------------------------------------------------------------------------- */

/* Products whose weights are in host memory, on a backend above it. */
typedef struct sr_offload_gain {
    int backend;           /* that could take them */
    int32_t n_nodes;       /* products with such weights that it supports */
    uint64_t bytes;        /* of their weights */
    int64_t pays_from;     /* the batch from which all of them together are faster there; 0: never */
    int64_t first, last;   /* the same of the node that gains first, and of the last one; 0: never */
    int32_t first_node, last_node;
    int64_t asks_from;     /* the batch from which it asks for them; -1: its device has no such limit */
    int32_t n_asked;       /* those that it asks for at the graph's batch, also as a recording has it */
} sr_offload_gain;

/*
 * For every backend that could: an array of *out_n (freed with sr_offload_gains_free, NULL if it is 0).  Copying the
 * weights and what the product reads and gives back over the backend's link, against computing on the last backend.
 * SR_MEMORY.
 */
SR_API sr_status sr_offload_gains(const sr_layout *layout, sr_offload_gain **out_gains, int *out_n, sr_error *err);
SR_API void sr_offload_gains_free(sr_offload_gain *gains);

#ifdef __cplusplus
}
#endif
#endif
