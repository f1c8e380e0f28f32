/*
 * tracing.h - how backends tell a trace of what they do at once, on the thread that asked for it.
 *
 * Layer: backend.  Internal.
 */
#ifndef SR_TRACING_H
#define SR_TRACING_H

#include "base/base.h"
#include "sched_run/backend.h"

/* The moment, if anybody wants to know. */
static inline uint64_t sr__trace_begin(const sr_backend *backend) { return backend->trace ? sr_trace_now() : 0; }
/* The view was computed since begin, on the caller's thread. */
void sr__trace_computed(const sr_backend *backend, const sr_graph_view *view, uint64_t begin);
/* The caller has waited for the backend since begin. */
void sr__trace_waited(const sr_backend *backend, uint64_t begin);
/* How many nodes of a view have something to compute, and what the first of them is called ("" for none). */
int32_t sr__trace_count(const sr_graph_view *view, const char **out_first);

#endif
