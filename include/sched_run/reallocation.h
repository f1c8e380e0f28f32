/*
 * reallocation.h - why memory was planned again: for one run, and over the runs of a scheduler.
 *
 * Layer: analyze (above sched).  Answers to the messages of GGML_SCHED_DEBUG_REALLOC and of ggml_gallocr_needs_realloc,
 * which tell the first misfit and nothing more.  Works from the record (sr_layout) of each run, in their order.
 * Ownership: a history copies what it needs of a layout, but graphs and backends must outlive it.  Texts hold names as
 * they are.  Thread rule: a history belongs to one thread at a time.
 */
#ifndef SCHED_RUN_REALLOCATION_H
#define SCHED_RUN_REALLOCATION_H

#include "sched.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compute memory of one buffer type before and after a schedule. */
typedef struct sr_realloc_buffer {
    int backend;              /* the first that has the type */
    size_t before, after;     /* bytes held */
    size_t *chunks_before, *chunks_after; /* owned */
    int n_before, n_after;    /* chunks */
    bool grew;                /* some chunk was too small: it had memory and got other */
    /* What its peak is made of: only where it was planned again and something of it changed. */
    size_t most_live;
    char *peak_at;            /* the node at which most is alive; owned, NULL: not worked out */
    char **owners;            /* names of what is alive then, the largest first, up to 4; owned */
    size_t *owner_bytes;
    int n_owners;
    int32_t n_alive;          /* of how many */
} sr_realloc_buffer;

/* A line of the difference between the graph that was planned and this one. */
typedef struct sr_realloc_line {
    int side;                 /* -1 only in the old one, +1 only in the new one, 0 in both */
    int32_t position;         /* in the list of its own side; -1: a source of the node above */
    int source;               /* source place of that node, -1 */
    const char *op;           /* "copy" and "input" for what the scheduler added */
    char *name, *shape;       /* "f32[64,8]"; owned */
    uint64_t bytes;           /* that it needs in its buffer; 0 for a view and for what has memory */
    int backend;              /* -1: none */
} sr_realloc_line;

/* What is not as the plan assumed, although the plan was kept. */
typedef enum sr_reuse_kind {
    SR_REUSE_LIFETIME,  /* is read later than planned */
    SR_REUSE_FLAGS,     /* became an input or an output, or is one no more */
    SR_REUSE_LEAF_SIZE, /* a leaf needs more than was planned */
    SR_REUSE_NO_MEMORY, /* a leaf that had memory of its own when the plan was made, and has none now */
    SR_REUSE_OVERLAP,   /* so that two tensors are alive in the same memory */
    SR_REUSE_KIND_COUNT
} sr_reuse_kind;

SR_API const char *sr_reuse_kind_name(int kind); /* "lifetime", "flags", "leaf_size", "no_memory", "overlap" */

typedef struct sr_realloc_reuse {
    sr_reuse_kind kind;
    char *tensor;             /* owned, as are the others */
    char *other;              /* of an overlap: what was there first; else NULL */
    char *text;               /* "is read until node 9 y, the plan frees it after node 5 x" */
} sr_realloc_reuse;

/* One run. */
typedef struct sr_reallocation {
    bool reserve, first;      /* first: nothing had been planned before */
    bool replanned;           /* a plan was made: by a reserve, or because the one there was did not fit */
    bool reallocated, unexpected;
    int plan_of;              /* the run whose plan was there before, -1 none */
    int topology;             /* 0 for the first kind of graph on this scheduler, 1 for the next, ... */
    bool topology_was_seen;   /* on an earlier run, but the one before had another one */
    char *reason;             /* "node n4 needs 4.0 KiB, 1.0 KiB were planned"; "" where nothing was planned again */
    char *expectation;        /* why this was to be expected, or not; "" likewise */
    char *hint;               /* what to try; "" where nothing is wrong */
    sr_realloc_buffer *buffers;
    int n_buffers;
    const char *compared;     /* what the lines are of: "nodes", "leafs"; NULL: there are none */
    int compared_with;        /* the run whose graph is the old side */
    sr_realloc_line *lines;
    int n_lines;
    sr_realloc_reuse *reuses; /* a kept plan that does not suit the graph; up to 8 of each kind */
    int n_reuses;
    int32_t n_reuses_found;   /* of how many */
    bool harmful;             /* memory in use overlaps, or a leaf has none */
} sr_reallocation;

SR_API void sr_reallocation_clear(sr_reallocation *reallocation);

/* ---- over the runs of a scheduler ------------------------------------------------------------------------------ */

typedef struct sr_realloc_history sr_realloc_history;

/* What is kept of each run. */
typedef struct sr_realloc_row {
    int run;
    int topology;             /* -1: nothing was split */
    bool reserve, first, replanned, reallocated, unexpected, harmful;
    char *reason;             /* "" : none; of a run that failed, its status */
    size_t *before, *after;   /* bytes by backend, 0 for a type counted before */
} sr_realloc_row;

SR_API sr_status sr_realloc_history_new(sr_realloc_history **out_history, sr_error *err);
SR_API void sr_realloc_history_free(sr_realloc_history *history);
/*
 * Adds a run after its schedule (also after a failed one), and tells of it.  Zero-initialise the reallocation, or clear
 * it before it is used again.  Linear in the graph; where memory was planned again, or a plan kept for another graph,
 * the graph is planned once more to see what its peaks are made of.  SR_MEMORY.
 */
SR_API sr_status sr_realloc_add(sr_realloc_history *history, int run, const sr_layout *layout,
                                sr_reallocation *out_reallocation, sr_error *err);
SR_API const sr_realloc_row *sr_realloc_rows(const sr_realloc_history *history, int *out_n);

/* All runs together. */
typedef struct sr_realloc_summary {
    int n_runs, n_reallocated, n_unexpected; /* the first allocation is not counted */
    int n_topologies;
    bool alternating;         /* a graph came back after another one, and memory was planned again for it */
    char *message, *hint;     /* owned; "" where there is nothing to say */
} sr_realloc_summary;

SR_API sr_status sr_realloc_summarize(const sr_realloc_history *history, sr_realloc_summary *out_summary,
                                      sr_error *err);
SR_API void sr_realloc_summary_clear(sr_realloc_summary *summary);
/* "A" to "Z", then "A1", ...: the name of a topology. */
SR_API void sr_topology_name(int topology, char out_name[16]);

#ifdef __cplusplus
}
#endif
#endif
