/*
 * graph_allocator.h - the graph allocator's own data, shared by its files.
 *
 * Layer: alloc.  Internal.
 */
#ifndef SR_GRAPH_ALLOCATOR_H
#define SR_GRAPH_ALLOCATOR_H

#include "alloc/dynamic.h"
#include "sched_run/alloc.h"

/* A tensor while a graph is being planned. */
typedef struct sr__plan_state {
    int32_t n_children, n_views;
    int16_t buffer_id;
    int16_t chunk;
    bool allocated; /* holds memory that was planned here and not freed or handed on */
    size_t offset;
    int32_t life;   /* index in lives */
    int32_t record; /* index in records + 1, 0: not recorded yet */
} sr__plan_state;

/* What a plan recorded for a tensor. */
typedef struct sr__record {
    size_t offset;
    size_t size;       /* bytes it may need at most */
    int16_t buffer_id;
    int16_t chunk;
} sr__record;

/* Memory of one buffer type. */
typedef struct sr__memory {
    sr_buffer_type *type;
    sr__dynamic dynamic;
    sr_buffer **chunks;   /* what is held, n_chunks; NULL array and held false: nothing yet */
    int n_chunks;
    bool held;
    bool grew;
} sr__memory;

struct sr_graph_allocator {
    int n;                 /* positions */
    int *memory_of;        /* by position */
    bool *plain;           /* by position: its type asks for no more than a tensor's bytes */
    sr__memory *memories;  /* distinct types */
    int n_memories;

    sr__plan_state *state; /* by view id */
    size_t state_cap;

    sr__record *records;   /* one a planned tensor */
    /* Which record stands at a place of the graph; -1: none, there is a view or something that had memory. */
    int32_t *nodes, *leafs, *sources;
    int32_t *source_begin; /* by node position */
    size_t records_cap, nodes_cap, leafs_cap, sources_cap, source_begin_cap;
    int32_t n_records, n_nodes, n_leafs; /* recorded; n_nodes -1: the last reserve failed */

    bool fresh;            /* state is that of the last view reserved for, and nobody asked whether another fits */

    bool record_lives;
    sr_life *lives;
    size_t lives_cap;
    int32_t n_lives;
};

/* How the files ask about an id of a view. */
static inline bool sr__id_is_view(const sr_graph_view *view, int32_t id) {
    const int32_t n = view->graph->n_tensors;
    return id < n ? view->graph->tensors[id].view_src >= 0 : view->extra[id - n].kind == SR_EXTRA_DEPENDENCY;
}

static inline bool sr__id_has_memory(const sr_graph_view *view, int32_t id) {
    return id < view->graph->n_tensors && view->graph->tensors[id].buffer != NULL;
}

/* Source places of an id and source j. */
static inline int sr__id_n_src(const sr_graph_view *view, int32_t id) {
    const int32_t n = view->graph->n_tensors;
    return id < n ? view->graph->tensors[id].n_src : view->extra[id - n].kind == SR_EXTRA_DEPENDENCY;
}

static inline int32_t sr__id_src(const sr_graph_view *view, int32_t id, int j) {
    const int32_t n = view->graph->n_tensors;
    return id < n ? view->srcs[view->graph->tensors[id].src_begin + j] : view->extra[id - n].of;
}

/* Plans the view into the dynamic allocators and state (plan.c). */
sr_status sr__plan_graph(sr_graph_allocator *allocator, const sr_graph_view *view, const int16_t *node_ids,
                         const int16_t *leaf_ids, sr_error *err);

/* Bytes that a tensor needs at a position. */
static inline size_t sr__planned_size(const sr_graph_allocator *allocator, const sr_graph_view *view, int buffer_id,
                                      int32_t id) {
    return allocator->plain[buffer_id]
               ? sr_view_tensor(view, id)->nbytes
               : sr_buffer_type_alloc_size(allocator->memories[allocator->memory_of[buffer_id]].type, view, id);
}

#endif
