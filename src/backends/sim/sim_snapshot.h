/*
 * sim_snapshot.h - what a queued compute needs of a graph, so that the caller may forget it at once.
 *
 * Layer: backends.  Internal, for the files of this folder only.
 */
#ifndef SR_SIM_SNAPSHOT_H
#define SR_SIM_SNAPSHOT_H

#include "base/base.h"
#include "sched_run/backend.h"

/* A small graph of the nodes that compute something and their sources, with their storage. */
typedef struct sr__sim_snapshot {
    sr__arena arena;
    sr_graph graph;
    sr_graph_view view;
    const int32_t *ids; /* by tensor of the small graph: its id in the view it was taken from */
} sr__sim_snapshot;

/* Positions by id, -1 between two uses: kept from one snapshot to the next. */
typedef struct sr__sim_places { int32_t *place; size_t cap, n; } sr__sim_places;

/* Of the view's first n_nodes nodes.  SR_MEMORY leaves nothing to free. */
sr_status sr__sim_snapshot_take(sr__sim_snapshot *snapshot, const sr_graph_view *view, int32_t n_nodes,
                                sr__sim_places *places, sr_error *err);
void sr__sim_snapshot_free(sr__sim_snapshot *snapshot);

#endif
