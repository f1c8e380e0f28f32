/*
 * arrange.h - nodes in an order that changes backends as seldom as a greedy walk finds.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_ARRANGE_H
#define SR_ARRANGE_H

#include "analyze/dependences.h"

/* Backends that a node may be on, one bit each. */
typedef uint64_t sr__backends;

enum { SR__MOST_BACKENDS = 64 };

/*
 * What is arranged.  allowed: by position, 0 for a view, which is on no backend.  The first n_fixed nodes keep their
 * places.
 */
typedef struct sr__arrangement {
    const sr__dependences *dependences;
    const sr__backends *allowed;
    int n_backends;          /* at most SR__MOST_BACKENDS */
    int32_t n_fixed;
    int32_t *order;          /* positions in their new order; n_nodes places, filled in */
    int32_t n_runs;          /* filled in: groups of neighbours on one backend */
    int began;               /* filled in: the backend of the first group, -1: there is none */
} sr__arrangement;

/* The fewest groups that the backends and the dependences of data alone allow: never more than there must be. */
bool sr__arrange_bound(const sr_graph *graph, const sr__backends *allowed, int32_t *out_bound);

/*
 * Takes all that can be run on a backend before it goes on to another: to the one from which most changes are still to
 * come.  Begins with backend `first`, or, with -1, as it likes; stays as close to the old order as that allows.
 * n log n.  false: out of memory.
 */
bool sr__arrange(sr__arrangement *arrangement, int first);

#endif
