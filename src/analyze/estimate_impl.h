/*
 * estimate_impl.h - what a split and its inputs cost, for the timeline that is made of them.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_ESTIMATE_IMPL_H
#define SR_ESTIMATE_IMPL_H

#include "backend/speed.h"
#include "base/base.h"
#include "sched_run/estimate.h"

/* What copying one input into a split costs. */
typedef struct sr__input_cost { uint64_t bytes, time; } sr__input_cost;

/* Of the input at a place of layout->inputs, which is of this split. */
sr__input_cost sr__estimate_input(const sr_estimate *estimate, const sr_layout *layout, int32_t split, int32_t input,
                                  bool *out_expected);
/* Fills estimate->splits but for what its inputs cost. */
void sr__estimate_nodes(sr_estimate *estimate, const sr_layout *layout);
/* Marks the critical path and sums it up by lane. */
void sr__estimate_path(sr_estimate *estimate);

#endif
