/*
 * memory_impl.h - what the files about memory plans share.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_MEMORY_IMPL_H
#define SR_MEMORY_IMPL_H

#include "base/base.h"
#include "sched_run/memory_plan.h"

/* The last position at which a block holds its memory: what is handed on belongs to the heir from its position on. */
static inline int32_t sr__block_end(const sr_memory_block *block) {
    return block->taken_by >= 0 ? block->last - 1 : block->last;
}

/* Appends to plan->overlaps what is alive in the same memory at the same time (memory_overlap.c). */
sr_status sr__find_overlaps(sr_memory_plan *plan, const sr_memory_buffer *buffer, int32_t n_nodes, sr_error *err);

#endif
