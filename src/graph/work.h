/*
 * work.h - how much work a node is: operations, and bytes read and written.
 *
 * Layer: graph.  Internal.
 */
#ifndef SR_WORK_H
#define SR_WORK_H

#include "sched_run/graph.h"

/* Floating-point operations of a node, a product and its sum counted as two; 0 for what only moves data. */
double sr__node_flops(const sr_graph *graph, int32_t node);
/*
 * Bytes that a node reads and writes: its result and its sources, each once.  Of what rows are picked from or put into
 * only those rows count; of the weights of MUL_MAT_ID only the experts that are in use (sr__experts_used).
 */
double sr__node_bytes(const sr_graph *graph, int32_t node);
/*
 * How many of n_expert experts are in use where every one of n_tokens tokens chooses n_used of them, each equally
 * likely: what is to be expected, since the choice itself is data.
 */
double sr__experts_used(int64_t n_expert, int64_t n_used, int64_t n_tokens);

#endif
