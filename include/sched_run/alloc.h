/*
 * alloc.h - the dynamic allocator and the graph allocator.
 *
 * Layer: alloc (above backend).  Answers to ggml-alloc.h of the reference: memory of a graph's tensors is planned from
 * their life spans, one plan per distinct buffer type, a buffer made of up to 16 chunks.
 * Thread rule: a graph allocator belongs to one thread at a time.
 */
#ifndef SCHED_RUN_ALLOC_H
#define SCHED_RUN_ALLOC_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why a recorded plan does not fit a graph. */
typedef enum sr_misfit_kind {
    SR_MISFIT_NONE,
    SR_MISFIT_NODES,       /* another number of nodes: old_size, new_size are the counts */
    SR_MISFIT_LEAFS,
    SR_MISFIT_NODE,        /* the node at `position` needs more than was planned, or was pre-allocated then */
    SR_MISFIT_SOURCE,      /* likewise its source `source` */
    SR_MISFIT_BACKEND_IDS  /* the scheduler's own: the backend at `position` moved to another buffer type */
} sr_misfit_kind;

typedef struct sr_misfit {
    sr_misfit_kind kind;
    bool is_leaf;          /* BACKEND_IDS: position counts leafs */
    int32_t position;      /* among the allocated nodes (or leafs) */
    int32_t node;          /* id in the view, -1 */
    int32_t source;        /* source place, -1 */
    int32_t source_id;     /* id in the view, -1 */
    int64_t old_size, new_size; /* bytes, counts or backend ids */
} sr_misfit;

/* Where a tensor was planned. */
typedef struct sr_address {
    int32_t buffer_id;     /* allocator position (backend), -1: not planned (a view, or it has memory) */
    int32_t chunk;
    size_t offset;         /* in its chunk */
} sr_address;

typedef struct sr_graph_allocator sr_graph_allocator;

/* types[i]: buffer type of allocator position i; equal types share memory.  The array is copied. */
SR_API sr_status sr_graph_allocator_new(sr_buffer_type *const *types, int n, sr_graph_allocator **out_allocator,
                                        sr_error *err);
SR_API void sr_graph_allocator_free(sr_graph_allocator *allocator);
/* The most chunks a buffer may have; 16 by default. */
SR_API void sr_graph_allocator_set_max_chunks(sr_graph_allocator *allocator, int max_chunks);
/*
 * Plans the view (node_ids / leaf_ids: allocator position by position in view->nodes / leafs), records the plan and
 * gives every buffer type the memory it needs.  SR_ALLOCATION with details buffer_type, size, largest_free.
 */
SR_API sr_status sr_graph_allocator_reserve(sr_graph_allocator *allocator, const sr_graph_view *view,
                                            const int16_t *node_ids, const int16_t *leaf_ids, sr_error *err);
/* Plans only: sizes[i] becomes the bytes position i would need (0 for a type counted before).  Records nothing. */
SR_API sr_status sr_graph_allocator_measure(sr_graph_allocator *allocator, const sr_graph_view *view,
                                            const int16_t *node_ids, const int16_t *leaf_ids, size_t *sizes, sr_error *err);
/* Whether the recorded plan fits; out_misfit may be NULL. */
SR_API bool sr_graph_allocator_fits(sr_graph_allocator *allocator, const sr_graph_view *view, sr_misfit *out_misfit);
/*
 * Gives the view's tensors their recorded addresses.  storage, addresses: by view id, set for what was planned and for
 * views of it; storage is also set for what is pre-allocated.  The plan must be the one just reserved for the view, or one
 * that was asked and fits it.
 */
SR_API sr_status sr_graph_allocator_assign(sr_graph_allocator *allocator, const sr_graph_view *view, sr_storage *storage,
                                           sr_address *addresses, sr_error *err);
/* Bytes held for position i; 0 for a type counted before. */
SR_API size_t sr_graph_allocator_size(const sr_graph_allocator *allocator, int i);
SR_API int sr_graph_allocator_n_chunks(const sr_graph_allocator *allocator, int i);
SR_API size_t sr_graph_allocator_chunk_size(const sr_graph_allocator *allocator, int i, int chunk);
/* Positions whose memory the last reserve replaced by more although they had some (true where it did). */
SR_API bool sr_graph_allocator_grew(const sr_graph_allocator *allocator, int i);

/* Life of a planned tensor, for memory reports: filled by the last reserve or measure. */
typedef struct sr_life {
    int32_t id;            /* in the view */
    sr_address address;
    size_t size;           /* rounded up to the alignment */
    int32_t first, last;   /* positions among the nodes; -1: before the first; n_nodes: never freed */
    int32_t in_place_of;   /* id whose memory it took over, or -1 */
} sr_life;

/* Records lives from the next plan on (off by default: it costs time). */
SR_API void sr_graph_allocator_record_lives(sr_graph_allocator *allocator, bool on);
SR_API const sr_life *sr_graph_allocator_lives(const sr_graph_allocator *allocator, int32_t *out_n);

#ifdef __cplusplus
}
#endif
#endif
