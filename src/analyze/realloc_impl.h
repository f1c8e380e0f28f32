/*
 * realloc_impl.h - what the files about reallocations share.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_REALLOC_IMPL_H
#define SR_REALLOC_IMPL_H

#include "base/base.h"
#include "sched_run/memory_plan.h"
#include "sched_run/reallocation.h"

/* A schedule as it was, with arrays of its own: a layout that the functions of this room can ask. */
typedef struct sr__snapshot {
    int refs;
    int run;
    sr_layout layout;
    int32_t *nodes, *leafs, *srcs;
    int16_t *node_ids, *leaf_ids;
    sr_extra *extra;
    uint8_t *flags;
} sr__snapshot;

sr_status sr__snapshot_new(int run, const sr_layout *layout, sr__snapshot **out_snapshot, sr_error *err);
void sr__snapshot_free(sr__snapshot *snapshot);
/* Whether planning both gives the same: the same nodes, leafs, sources, backends and flags of the same graph. */
bool sr__same_schedule(const sr_layout *a, const sr_layout *b);

/* Bytes that an id needs in the buffer of a backend; 0 for a view and for what has memory of its own. */
size_t sr__needed_bytes(const sr_layout *layout, int32_t id, int backend);
/* Copies a text; false: out of memory. */
bool sr__set_text(char **out, const sr__str *text);
/* "node 12 y" of a graph, or the name of what the scheduler added. */
void sr__put_id(sr__str *s, const sr_layout *layout, int32_t id);
/* The same for a position in the list of allocated nodes: "the start", "the end" beyond it. */
void sr__put_position(sr__str *s, const sr_layout *layout, int32_t position);

/* Why memory was planned again, in words: also for the reports. */
void sr__put_misfit(sr__str *s, const sr_layout *layout);
sr_status sr__realloc_words(sr_reallocation *r, const sr_layout *layout, const sr__snapshot *planned, sr_error *err);
sr_status sr__realloc_diff(sr_reallocation *r, const sr_layout *layout, const sr__snapshot *planned,
                           const sr__snapshot *last, sr_error *err);
sr_status sr__realloc_reuse(sr_reallocation *r, const sr_layout *layout, const sr__snapshot *planned, sr_error *err);

#endif
