/*
 * memory_overlap.c - tensors that are alive at the same time in the same memory.
 *
 * Layer: analyze.  A plan never has such; a plan that is kept for another graph may, because nobody looks at life
 * spans, flags and the sizes of leafs then.  One walk over the positions keeps what is alive in order of its offset; a
 * newcomer is compared with its neighbours there, and stays out where it overlaps, so that the rest is disjoint.
 */
#include "analyze/memory_impl.h"

/* What is alive: blocks by chunk, then offset. */
typedef struct alive { int32_t *blocks; int32_t n; } alive;

typedef struct walk {
    const sr_memory_buffer *buffer;
    alive alive;
    int32_t *ending; /* by position + 1: a block that ends there, -1 */
    int32_t *next;   /* by block: another one that ends with it */
} walk;

static bool is_before(const sr_memory_block *a, const sr_memory_block *b) {
    return a->chunk != b->chunk ? a->chunk < b->chunk : a->offset < b->offset;
}

/* Where a block stands, or would stand, among the living. */
static int32_t find(const walk *w, int32_t block) {
    const sr_memory_block *blocks = w->buffer->blocks;
    int32_t low = 0;
    int32_t high = w->alive.n;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (is_before(&blocks[w->alive.blocks[middle]], &blocks[block])) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool overlap(const sr_memory_block *a, const sr_memory_block *b) {
    return a->chunk == b->chunk && a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

/* The living block that a newcomer at `at` overlaps, -1: none. */
static int32_t find_overlapped(const walk *w, int32_t at, int32_t block) {
    const sr_memory_block *blocks = w->buffer->blocks;
    for (int32_t k = at - 1; k <= at; k++) {
        if (k >= 0 && k < w->alive.n && overlap(&blocks[w->alive.blocks[k]], &blocks[block])) {
            return w->alive.blocks[k];
        }
    }
    return -1;
}

static bool enter(walk *w, sr_memory_plan *plan, size_t *cap, int32_t block) {
    const sr_memory_block *blocks = w->buffer->blocks;
    const int32_t at = find(w, block);
    const int32_t other = find_overlapped(w, at, block);
    if (other >= 0) {
        if (!sr__grow(&plan->overlaps, cap, (size_t)plan->n_overlaps + 1, sizeof(*plan->overlaps))) {
            return false;
        }
        plan->overlaps[plan->n_overlaps++] = (sr_memory_overlap){.backend = w->buffer->backend,
                                                                 .a = blocks[other].id,
                                                                 .b = blocks[block].id,
                                                                 .position = blocks[block].first};
        return true;
    }
    memmove(&w->alive.blocks[at + 1], &w->alive.blocks[at], (size_t)(w->alive.n - at) * sizeof(*w->alive.blocks));
    w->alive.blocks[at] = block;
    w->alive.n++;
    const int32_t end = sr__block_end(&blocks[block]);
    w->next[block] = w->ending[end + 1];
    w->ending[end + 1] = block;
    return true;
}

static void leave(walk *w, int32_t position) {
    for (int32_t block = w->ending[position + 1]; block >= 0; block = w->next[block]) {
        const int32_t at = find(w, block);
        w->alive.n--;
        memmove(&w->alive.blocks[at], &w->alive.blocks[at + 1],
                (size_t)(w->alive.n - at) * sizeof(*w->alive.blocks));
    }
}

sr_status sr__find_overlaps(sr_memory_plan *plan, const sr_memory_buffer *buffer, int32_t n_nodes, sr_error *err) {
    const size_t n_positions = (size_t)n_nodes + 2;
    const size_t n_blocks = (size_t)buffer->n_blocks + 1;
    size_t cap = (size_t)plan->n_overlaps;
    walk w = {.buffer = buffer};
    w.alive.blocks = sr__malloc(n_blocks * sizeof(*w.alive.blocks));
    w.ending = sr__malloc(n_positions * sizeof(*w.ending));
    w.next = sr__malloc(n_blocks * sizeof(*w.next));
    bool ok = w.alive.blocks != NULL && w.ending != NULL && w.next != NULL;
    int32_t i = 0;
    if (ok) {
        memset(w.ending, 0xff, n_positions * sizeof(*w.ending));
    }
    for (int32_t p = -1; ok && p <= n_nodes; p++) {
        for (; ok && i < buffer->n_blocks && buffer->blocks[i].first == p; i++) {
            const sr_memory_block *block = &buffer->blocks[i];
            if (block->size > 0 && sr__block_end(block) >= block->first) {
                ok = enter(&w, plan, &cap, i);
            }
        }
        if (ok) {
            leave(&w, p);
        }
    }
    sr__free(w.alive.blocks);
    sr__free(w.ending);
    sr__free(w.next);
    return ok ? SR_OK : sr__fail_memory(err);
}
