/*
 * work.h - how much work a node is.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_WORK_H
#define SR_WORK_H

#include "sched_run/graph.h"

/* Floating-point operations of a node, a product and its sum counted as two; 0 for what only moves data. */
double sr__node_flops(const sr_graph *graph, int32_t node);
/* Bytes that a node reads and writes: its result and its sources, each once. */
double sr__node_bytes(const sr_graph *graph, int32_t node);

#endif
