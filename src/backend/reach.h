/*
 * reach.h - which memory a backend of host kernels may use when it computes.
 *
 * Layer: backend.  Internal.
 *
 * A node writes only where its backend can: else it would change another backend's memory behind its back.  It may read
 * more than its backend accepts.  A view that was assigned to a backend by hand is not copied there when its root is
 * elsewhere (the reference passes over views), and its readers then meet foreign memory; host kernels can read whatever
 * lies in this process, once nothing that is queued changes it any more.
 */
#ifndef SR_REACH_H
#define SR_REACH_H

#include "base/base.h"
#include "sched_run/backend.h"

/* Whether a node has anything to compute: no leaf, no view, flagged to be computed, not empty. */
bool sr__node_works(const sr_graph_view *view, int32_t id);
/* The bytes of storage that lies in this process, shown or hidden; else NULL. */
char *sr__storage_memory(const sr_storage *storage);
/* SR_ABORTED, "stopped before node ..", once the backend's caller wants it to stop. */
sr_status sr__check_abort(const sr_backend *backend, const sr_tensor *next, sr_error *err);
/* The same for who has only the callback; NULL: never. */
sr_status sr__check_abort_callback(sr_abort_callback stop, void *user, const sr_tensor *next, sr_error *err);
/* SR_UNREACHABLE names the first node whose destination its backend cannot reach. */
sr_status sr__check_destinations(const sr_backend *backend, const sr_graph_view *view, sr_error *err);
/* Waits for what is queued on the foreign memory that the view's nodes read. */
sr_status sr__settle_sources(const sr_backend *backend, const sr_graph_view *view, sr_error *err);

#endif
