/*
 * storage.h - which tensors of a graph share memory, by what the graph itself says: views and pre-allocated places.
 *
 * Layer: analyze.  Internal.  What the scheduler allocates is not looked at: two tensors that it puts into one place
 * are never needed at the same time.
 */
#ifndef SR_STORAGE_H
#define SR_STORAGE_H

#include "base/base.h"
#include "sched_run/sched.h"

typedef struct sr__storage_map {
    const sr_graph *graph;
    int32_t *merged; /* by tensor: the first root whose pre-allocated bytes overlap its own; NULL: none overlap */
} sr__storage_map;

/* Linear, unless pre-allocated places are out of order: then n log n.  false: out of memory; freeing is fine then too.
 */
bool sr__storage_init(sr__storage_map *map, const sr_graph *graph);
void sr__storage_free(sr__storage_map *map);

/* The root whose memory a tensor lies in: tensors that can share a byte have the same. */
static inline int32_t sr__storage_of(const sr__storage_map *map, int32_t tensor) {
    const int32_t view_src = map->graph->tensors[tensor].view_src;
    const int32_t root = view_src >= 0 ? view_src : tensor;
    return map->merged ? map->merged[root] : root;
}

/* Whether two tensors share bytes; told apart are also columns of one matrix that lie between each other's rows. */
bool sr__storage_overlaps(const sr__storage_map *map, int32_t a, int32_t b);
/* The same for two layouts whose first bytes are at these places of one memory. */
bool sr__spans_overlap(const sr_tensor *a, size_t a_begin, const sr_tensor *b, size_t b_begin);

/* Whether a node writes its result when it is run: no leaf, no view, not empty, not to be left out. */
bool sr__writes(const sr_tensor *node);
/* Whether source j only names where the node writes, as the destination of a CPY does: its values are not read. */
bool sr__names_destination(const sr_graph *graph, int32_t node, int j);

/* The buffer type that a tensor's storage is in, or will be in by the backend of its root; NULL: not known. */
const sr_buffer_type *sr__storage_type(const sr_layout *layout, int32_t tensor);
/* The backend that a tensor's root was given to, -1: none. */
int sr__storage_backend(const sr_layout *layout, int32_t tensor);

/* By input of the layout: positions of the first and the last node that reads the copy's values, -1: none. */
typedef struct sr__reads { int32_t first, last; } sr__reads;

/* One entry for each of layout->inputs; the readers of a copy may stand in later splits of its backend.  NULL: out of
 * memory. */
sr__reads *sr__copy_reads(const sr_layout *layout);

#endif
