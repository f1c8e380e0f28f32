/*
 * memory_plan.h - what the compute buffers of a schedule hold: which tensor where, from when to when, and why so much.
 *
 * Layer: analyze (above sched).  Answers to no function of the reference.  Life spans come from planning the graph once
 * more beside the scheduler (nothing is allocated); addresses are those in force, which may be of an older plan.
 * Thread rule: functions here only read what they are given; they ask buffer types for sizes.
 */
#ifndef SCHED_RUN_MEMORY_PLAN_H
#define SCHED_RUN_MEMORY_PLAN_H

#include "sched.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor's stay in a compute buffer. */
typedef struct sr_memory_block {
    int32_t id;            /* in layout->view: a tensor, or a copy */
    int32_t chunk;
    size_t offset, size;   /* size rounded up to the alignment */
    int32_t first, last;   /* positions in view.nodes, last inclusive; -1: before the first, n_nodes: to the end */
    int32_t in_place_of;   /* id whose memory it took over, -1 */
    int32_t taken_by;      /* id that took its memory over at `last`, -1 */
    bool is_copy;          /* made by the scheduler, or a user input's slot */
} sr_memory_block;

typedef struct sr_memory_chunk {
    size_t held;           /* bytes allocated; 0 where nothing is */
    size_t used;           /* where its last block ends: what this graph needs of it */
    int32_t top;           /* the block that ends there, the earliest of them; -1: the chunk is not used */
} sr_memory_chunk;

/* All compute memory of one buffer type. */
typedef struct sr_memory_buffer {
    int backend;             /* the first that has the type */
    const sr_buffer_type *type;
    sr_memory_chunk *chunks;
    int n_chunks;
    sr_memory_block *blocks; /* by first, then chunk and offset */
    int32_t n_blocks;
    size_t held, used;       /* sums over the chunks */
    size_t most_live;        /* the most bytes that are alive at once */
    size_t gaps;             /* used, but not at once */
    int32_t peak;            /* the first position at which they are */
    int32_t *owners;         /* blocks alive at the peak, the largest first */
    int32_t n_owners;
    size_t copies;           /* bytes of all copies */
    size_t copies_at_peak;
} sr_memory_buffer;

/* Two tensors that are alive at the same time in the same memory: only where a kept plan does not suit the graph. */
typedef struct sr_memory_overlap {
    int backend;
    int32_t a, b;          /* ids; a was there first */
    int32_t position;      /* where b comes */
} sr_memory_overlap;

typedef struct sr_memory_plan {
    sr_memory_buffer *buffers; /* in the order of the backends */
    int n_buffers;
    bool kept;                 /* addresses are those of an older plan */
    sr_memory_overlap *overlaps;
    int32_t n_overlaps;
} sr_memory_plan;

/*
 * Zero-initialise the plan, or clear it before it is used again.  Needs a layout with splits (sr_layout_has_splits);
 * also after a failed allocation, then with what was needed.  SR_UNAVAILABLE, SR_MEMORY, SR_ALLOCATION (no chunk can
 * hold a tensor).
 */
SR_API sr_status sr_memory_plan_make(const sr_layout *layout, sr_memory_plan *out_plan, sr_error *err);
SR_API void sr_memory_plan_clear(sr_memory_plan *plan);

/* ---- several numbers of pipeline copies side by side ----------------------------------------------------------- */

enum { SR_MOST_MULTIPLIED = 6 };

/* What a graph needs with a number of copies. */
typedef struct sr_copies_row {
    int n_copies;
    sr_status status;        /* of scheduling it so */
    char *message;           /* why not; owned */
    size_t *sizes;           /* bytes by backend; 0 for a type counted before */
    size_t *copies;          /* of these, bytes of copies by backend */
    int32_t n_graph_inputs;  /* user inputs with slots */
    int32_t n_split_inputs;  /* inputs of splits, each with a copy a slot */
    uint64_t slot_bytes;     /* of one slot of all of them: what every further copy adds */
    int32_t multiplied[SR_MOST_MULTIPLIED]; /* the largest of them: tensors; the slots are on the backend beside */
    int multiplied_on[SR_MOST_MULTIPLIED];
    int n_multiplied;
} sr_copies_row;

/*
 * Schedules the graph on a scheduler of its own, without allocating, with the params but n_copies; users: assignments
 * as tensor and backend.  A failure to schedule is the row's.  SR_MEMORY.
 */
typedef struct sr_copies_user { int32_t tensor; int backend; } sr_copies_user;
SR_API sr_status sr_copies_measure(sr_backend *const *backends, int n_backends, const sr_sched_params *params,
                                   const sr_graph *graph, const sr_copies_user *users, int n_users, int n_copies,
                                   sr_copies_row *out_row, sr_error *err);
SR_API void sr_copies_row_clear(sr_copies_row *row);

#ifdef __cplusplus
}
#endif
#endif
