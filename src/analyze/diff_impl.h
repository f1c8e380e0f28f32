/*
 * diff_impl.h - the parts of a comparison of two layouts.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_DIFF_IMPL_H
#define SR_DIFF_IMPL_H

#include "base/base.h"
#include "sched_run/diff.h"

/* Fills b_of_a and a_of_b of two graphs, both allocated, one entry a tensor. */
sr_status sr__diff_match(const sr_graph *a, const sr_graph *b, int32_t *b_of_a, int32_t *a_of_b, sr_error *err);
/* "node_12", "leaf_3", "node_12 (view)": a name made from a position, which says nothing. */
bool sr__diff_name_is_automatic(const char *name);
/* Whether one name is the other, or as much of it as a log shows. */
bool sr__diff_name_is_cut(const char *a, const char *b);

/* Cuts and merges, copies. */
sr_status sr__diff_splits(sr_diff *diff, sr_error *err);
sr_status sr__diff_copies(sr_diff *diff, sr_error *err);
/* Compute buffers and peaks. */
sr_status sr__diff_memory(sr_diff *diff, sr_error *err);
/* Why nodes moved. */
sr_status sr__diff_reasons(sr_diff *diff, sr_error *err);

#endif
