/*
 * order.h - another order of a graph's nodes that needs fewer splits.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_ORDER_H
#define SR_ORDER_H

#include "sched_run/sched.h"

typedef struct sr__order {
    int32_t *nodes;         /* the graph's nodes in the better order, NULL: none was found; owned */
    int32_t n_splits;       /* that scheduling this order gives */
    int32_t n_reassigned;   /* nodes that the scheduler then gives to another backend */
    uint64_t bytes;         /* copied per evaluation then */
    bool *moved;            /* by position in nodes: it is among the fewest that have to be moved; owned */
    int32_t n_moved;
} sr__order;

/*
 * Looks for an order that keeps all dependences of data and of memory and needs fewer splits than the layout has; what
 * comes out has been scheduled.  Linear where the dependences alone already demand the splits that there are, else
 * n log n and one or two schedules.  The layout must have splits.  SR_MEMORY.
 */
sr_status sr__order_find(const sr_layout *layout, const sr_sched_params *params, sr__order *out_order, sr_error *err);
void sr__order_free(sr__order *order);

#endif
