/*
 * graph_impl.h - the private half of a graph: the arrays while they grow, and the tables that only building needs.
 *
 * Layer: graph.  Internal, for the files of this room only.
 */
#ifndef SR_GRAPH_IMPL_H
#define SR_GRAPH_IMPL_H

#include "base/base.h"
#include "sched_run/graph.h"

/* A slot of the table of ids; index -1 marks a free one. */
typedef struct sr__id_slot { uint32_t hash; int32_t index; } sr__id_slot;

struct sr_graph_impl {
    sr_tensor *tensors;        size_t tensors_cap;
    int32_t *srcs;             size_t srcs_cap;
    sr_answers *answers;       size_t answers_cap;
    sr__id_slot *ids;          size_t ids_cap;      /* power of two, at most half full */
    sr__id_slot *answer_slots; size_t answer_slots_cap;
    sr__map op_names;          /* opaque op names, each kept once so that equal names are equal pointers */
    sr__arena strings;
    int32_t *order;            /* leafs, then nodes */
    int32_t *use_counts;
    int32_t n_leafs, n_params, n_ops;
    bool finished;
};

/* graph_tables.c: ids, answers and op names, each kept once */

/* Room for one more id.  false: out of memory. */
bool sr__graph_ids_reserve(sr_graph *graph);
/* What the other two want; fetches the place in a large table while its caller does something else. */
uint32_t sr__graph_ids_hash(const sr_graph *graph, const char *id);
/* The tensor with that id, or -1. */
int32_t sr__graph_ids_find(const sr_graph *graph, const char *id, uint32_t hash);
/* After sr__graph_ids_reserve; the id must not be there yet. */
void sr__graph_ids_insert(sr_graph *graph, uint32_t hash, int32_t tensor);
sr_status sr__graph_intern_answers(sr_graph *graph, const sr_answers *answers, int32_t *out_index, sr_error *err);
sr_status sr__graph_intern_op_name(sr_graph *graph, const char *name, const char **out_name, sr_error *err);

/* graph_class.c: sets class_id of every tensor and n_classes */
sr_status sr__graph_classify(sr_graph *graph, sr_error *err);

/* graph_layout.c */

/* A tensor on its way into a graph. */
typedef struct sr__draft {
    sr_graph *graph;
    const sr_tensor_spec *spec;
    sr_error *err;
    const char *id;            /* what messages call it */
    char own_id[16];           /* of a tensor with neither id nor name */
    uint32_t hash;             /* of the id */
    sr_tensor t;
    int32_t srcs[SR_MAX_SRC];  /* its own index for SR_SELF */
    int32_t follows;           /* the tensor whose storage the op or `inplace` says it shares, or -1 */
} sr__draft;

/* Type and extents, by what the caller gave and by the rule of the op. */
sr_status sr__draft_shape(sr__draft *draft);
/* What it is a view of; fills view_src and view_offs. */
sr_status sr__draft_view(sr__draft *draft);
/* Strides and size; checks that nothing overflows and that a view lies within its root. */
sr_status sr__draft_layout(sr__draft *draft);

#endif
