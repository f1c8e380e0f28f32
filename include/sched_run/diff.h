/*
 * diff.h - two layouts side by side: what moved, which splits were cut or merged, what is copied, what memory it takes.
 *
 * Layer: analyze (above sched).  Answers to no function of the reference.  A diff is worked out from two records
 * (sr_layout), so that it cannot tell anything else than the reports do; it is valid as long as both layouts are.
 * diff(b, a) is the mirror of diff(a, b), diff(a, a) is empty.
 * Thread rule: functions here only read what they are given; they ask backends and buffer types.
 */
#ifndef SCHED_RUN_DIFF_H
#define SCHED_RUN_DIFF_H

#include "sched.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor of A and what it is in B.  Backends are positions in the layout of their side, -1 none. */
typedef struct sr_diff_pair {
    int32_t a, b;
    int from, to;          /* backend in A, backend in B */
} sr_diff_pair;

/* A place where one side begins a split and the other does not: the split of A that holds the node, and that of B. */
typedef struct sr_diff_border {
    int32_t a, b;          /* splits */
    int32_t node_a, node_b; /* the first node that is computed after the border, on the side that has it */
} sr_diff_border;

/* A split input, as a position in layout->inputs; -1: that side has none. */
typedef struct sr_diff_copy {
    int32_t a, b;
} sr_diff_copy;

/* Compute memory of a backend's buffer type; a type that several backends share counts at the first. */
typedef struct sr_diff_memory {
    int a, b;              /* the backend on each side, -1: it has none of that name */
    size_t held_a, held_b; /* bytes of the compute buffer */
    size_t live_a, live_b; /* the most bytes that are alive at once */
    int32_t peak_a, peak_b; /* the tensor at which they are, -1: nothing is alive, or before the first node */
} sr_diff_memory;

/* Why nodes went from one backend to another: the move that led to the first of them, and why it was made. */
typedef struct sr_diff_reason {
    int from, to;          /* backend in A, backend in B */
    int32_t n_nodes;       /* that went this way; of them views */
    int32_t n_views;
    int32_t first;         /* position in moves */
    int32_t root;          /* position in moves: where `first` follows to */
    char *not_from;        /* why the root is not on `from` in B: "refuses SOFT_MAX (rule: SOFT_MAX)"; or NULL */
    char *not_to;          /* why it is not on `to` in A; or NULL */
} sr_diff_reason;

typedef struct sr_diff {
    const sr_layout *a, *b;
    bool compared;         /* both have splits; else only statuses were compared, and all below is empty */
    bool differs;          /* anything below says so, or the statuses */

    int32_t *b_of_a;       /* by tensor of A: the same in B, -1 */
    int32_t *a_of_b;
    int *backend_b_of_a;   /* by backend of A: the one of that name in B, -1 */
    int *backend_a_of_b;

    sr_diff_pair *moves;   /* nodes on backends of different names, by position in A */
    int32_t n_moves, n_moved_views;
    sr_diff_pair *causes;  /* nodes on the same backend for another cause, by position in A */
    int32_t n_causes;
    sr_diff_pair *places;  /* leafs on another backend or in another buffer type */
    int32_t n_places;
    sr_diff_pair *renamed; /* nodes and leafs with another name, leafs first */
    int32_t n_renamed;
    int32_t *removed;      /* tensors of A that B lacks: leafs, then nodes in order */
    int32_t n_removed, n_removed_nodes;
    int32_t *added;        /* tensors of B that A lacks */
    int32_t n_added, n_added_nodes;
    int32_t n_resized;     /* nodes of both whose result has another size */
    sr_diff_reason *reasons; /* one for each pair of backends, that with the most nodes first */
    int n_reasons;

    sr_diff_border *cuts;  /* where B begins a split within one of A, by position */
    int32_t n_cuts;
    sr_diff_border *merges; /* where A begins a split within one of B */
    int32_t n_merges;

    sr_diff_copy *gained;  /* copies that B makes and A does not: of another tensor, from or to another backend */
    int32_t n_gained;
    sr_diff_copy *lost;
    int32_t n_lost;
    sr_diff_copy *resized; /* made by both, with different numbers of bytes */
    int32_t n_resized_copies;

    sr_diff_memory *memory; /* backends of A, then those that only B has */
    int n_memory;
} sr_diff;

/*
 * Nodes are matched by name and op, names that occur several times and automatic names ("node_12") by what they are
 * computed from and by order; a node that was only renamed is found by its sources.  Backends are matched by name.
 * Time is n log n in the number of tensors.  Either layout may be NULL: nothing was scheduled.  Zero-initialise the
 * diff, or clear it before it is used again.  SR_MEMORY.
 */
SR_API sr_status sr_diff_make(const sr_layout *a, const sr_layout *b, sr_diff *out_diff, sr_error *err);
SR_API void sr_diff_clear(sr_diff *diff);

#ifdef __cplusplus
}
#endif
#endif
