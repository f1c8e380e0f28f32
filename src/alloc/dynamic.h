/*
 * dynamic.h - the dynamic allocator: offsets in chunks, one per distinct buffer type.
 *
 * Layer: alloc.  Internal.  Answers to ggml_dyn_tallocr of the reference; which block it takes decides addresses, so
 * the order of its choices is part of the contract (spec: allocator).
 */
#ifndef SR_DYNAMIC_H
#define SR_DYNAMIC_H

#include "base/base.h"

typedef struct sr__block { size_t offset, size; } sr__block;

typedef struct sr__chunk {
    sr__block *blocks; /* free ones, by offset; the last is the open end unless the chunk is full */
    size_t cap;
    int n_blocks;
    size_t high_water;
    bool has_empty; /* has ever held a block of no size */
} sr__chunk;

typedef struct sr__dynamic {
    size_t alignment, max_size;
    int max_chunks;
    sr__chunk *chunks;
    size_t cap;
    int n_chunks;
} sr__dynamic;

void sr__dynamic_init(sr__dynamic *dynamic, size_t alignment, size_t max_size, int max_chunks);
void sr__dynamic_free(sr__dynamic *dynamic);
/* Forgets everything that was allocated; keeps its memory. */
void sr__dynamic_reset(sr__dynamic *dynamic);
/* size is rounded up to the alignment.  SR_MEMORY, SR_ALLOCATION (no chunk can hold it). */
sr_status sr__dynamic_take(sr__dynamic *dynamic, size_t size, int *out_chunk, size_t *out_offset);
/* size as it was taken, or a tail of it.  SR_MEMORY. */
sr_status sr__dynamic_give(sr__dynamic *dynamic, int chunk, size_t offset, size_t size);
size_t sr__dynamic_total(const sr__dynamic *dynamic); /* sum of the high-water marks */

#endif
