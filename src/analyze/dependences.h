/*
 * dependences.h - which nodes of a graph must stay behind which, by data and by memory.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_DEPENDENCES_H
#define SR_DEPENDENCES_H

#include "base/base.h"
#include "sched_run/graph.h"

/*
 * Nodes by position.  A node stays behind its sources and behind what it views; where several nodes write into one
 * storage, every access of it keeps its place among the writes.
 */
typedef struct sr__dependences {
    const sr_graph *graph;
    int32_t n_nodes;
    int32_t *begin;   /* by position: its dependences are on[begin[i] .. begin[i + 1]), n_nodes + 1 entries */
    int32_t *on;      /* earlier positions; may repeat */
} sr__dependences;

/* false: out of memory; freeing is fine then too. */
bool sr__dependences_init(sr__dependences *d, const sr_graph *graph);
void sr__dependences_free(sr__dependences *d);

#endif
