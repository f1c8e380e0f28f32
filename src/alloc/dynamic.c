/*
 * dynamic.c - the dynamic allocator.  See dynamic.h.
 *
 * Layer: alloc.
 */
#include "alloc/dynamic.h"

/* What "practically endless" means for the last chunk: half the address space, so that sums cannot overflow. */
static const size_t endless = SIZE_MAX / 2;

void sr__dynamic_init(sr__dynamic *dynamic, size_t alignment, size_t max_size, int max_chunks) {
    *dynamic = (sr__dynamic){0};
    dynamic->alignment = alignment;
    dynamic->max_size = max_size < endless ? max_size : endless;
    dynamic->max_chunks = max_chunks;
}

void sr__dynamic_free(sr__dynamic *dynamic) {
    for (size_t i = 0; i < dynamic->cap; i++) {
        sr__free(dynamic->chunks[i].blocks);
    }
    sr__free(dynamic->chunks);
    dynamic->chunks = NULL;
    dynamic->cap = 0;
    dynamic->n_chunks = 0;
}

void sr__dynamic_reset(sr__dynamic *dynamic) { dynamic->n_chunks = 0; }

size_t sr__dynamic_total(const sr__dynamic *dynamic) {
    size_t total = 0;
    for (int i = 0; i < dynamic->n_chunks; i++) {
        total += dynamic->chunks[i].high_water;
    }
    return total;
}

static void remove_block(sr__chunk *chunk, int i) {
    memmove(&chunk->blocks[i], &chunk->blocks[i + 1], (size_t)(chunk->n_blocks - i - 1) * sizeof(sr__block));
    chunk->n_blocks--;
}

static sr_status insert_block(sr__chunk *chunk, int at, size_t offset, size_t size) {
    if (!sr__grow(&chunk->blocks, &chunk->cap, (size_t)chunk->n_blocks + 1, sizeof(sr__block))) {
        return SR_MEMORY;
    }
    memmove(&chunk->blocks[at + 1], &chunk->blocks[at], (size_t)(chunk->n_blocks - at) * sizeof(sr__block));
    chunk->blocks[at] = (sr__block){offset, size};
    chunk->n_blocks++;
    return SR_OK;
}

/* The chunk slots beyond n_chunks keep their block arrays for the next plan, so growing zeroes only new ones. */
static sr_status open_chunk(sr__dynamic *dynamic, size_t size) {
    if (dynamic->n_chunks >= dynamic->max_chunks || size > endless) {
        return SR_ALLOCATION;
    }
    const size_t old = dynamic->cap;
    if (!sr__grow(&dynamic->chunks, &dynamic->cap, (size_t)dynamic->n_chunks + 1, sizeof(sr__chunk))) {
        return SR_MEMORY;
    }
    memset(dynamic->chunks + old, 0, (dynamic->cap - old) * sizeof(sr__chunk));
    sr__chunk *chunk = &dynamic->chunks[dynamic->n_chunks];
    chunk->n_blocks = 0;
    chunk->high_water = 0;
    chunk->has_empty = false;
    size_t room = size > dynamic->max_size ? size : dynamic->max_size;
    if (dynamic->n_chunks == dynamic->max_chunks - 1) {
        room = endless;
    }
    const sr_status status = insert_block(chunk, 0, 0, room);
    if (status == SR_OK) {
        dynamic->n_chunks++;
    }
    return status;
}

/* Best fit over all blocks but the last of each chunk; the later block on a tie, a later chunk whatever it offers. */
static bool find_inner(const sr__dynamic *dynamic, size_t size, int *out_chunk, int *out_block) {
    bool found = false;
    for (int c = 0; c < dynamic->n_chunks; c++) {
        const sr__chunk *chunk = &dynamic->chunks[c];
        size_t best = SIZE_MAX;
        for (int i = 0; i < chunk->n_blocks - 1; i++) {
            const size_t have = chunk->blocks[i].size;
            if (have >= size && have <= best) {
                best = have;
                *out_chunk = c;
                *out_block = i;
                found = true;
            }
        }
    }
    return found;
}

/*
 * The last block of some chunk.  reuse is what stays free below the chunk's high-water mark; negative: by how much
 * the chunk would grow.  Least growth, but fitting into what is there beats growing.
 */
static bool find_last(const sr__dynamic *dynamic, size_t size, int *out_chunk, int *out_block) {
    bool found = false;
    int64_t best = INT64_MIN;
    for (int c = 0; c < dynamic->n_chunks; c++) {
        const sr__chunk *chunk = &dynamic->chunks[c];
        if (chunk->n_blocks == 0) {
            continue;
        }
        const sr__block *block = &chunk->blocks[chunk->n_blocks - 1];
        const int64_t reuse = (int64_t)(chunk->high_water - block->offset - size);
        const bool better = best < 0 ? reuse > best : reuse >= 0 && reuse < best;
        if (block->size >= size && better) {
            best = reuse;
            *out_chunk = c;
            *out_block = chunk->n_blocks - 1;
            found = true;
        }
    }
    return found;
}

sr_status sr__dynamic_take(sr__dynamic *dynamic, size_t size, int *out_chunk, size_t *out_offset) {
    if (!sr__align_up(size, dynamic->alignment, &size)) {
        return SR_ALLOCATION;
    }
    int c = 0, b = 0;
    if (!find_inner(dynamic, size, &c, &b) && !find_last(dynamic, size, &c, &b)) {
        const sr_status status = open_chunk(dynamic, size);
        if (status != SR_OK) {
            return status;
        }
        c = dynamic->n_chunks - 1;
        b = 0;
    }
    sr__chunk *chunk = &dynamic->chunks[c];
    sr__block *block = &chunk->blocks[b];
    *out_chunk = c;
    *out_offset = block->offset;
    block->offset += size;
    block->size -= size;
    if (block->size == 0) {
        remove_block(chunk, b);
    }
    if (*out_offset + size > chunk->high_water) {
        chunk->high_water = *out_offset + size;
    }
    return SR_OK;
}

/* The first block that begins after the offset. */
static int find_after(const sr__chunk *chunk, size_t offset) {
    int lo = 0, hi = chunk->n_blocks;
    while (lo < hi) {
        const int mid = (lo + hi) / 2;
        if (chunk->blocks[mid].offset <= offset) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* Gives back to the end or the beginning of block i, which may then touch its neighbour in the list. */
static void merge_into(sr__chunk *chunk, int i, size_t offset, size_t size) {
    sr__block *block = &chunk->blocks[i];
    if (block->offset + block->size == offset) {
        block->size += size;
        if (i + 1 < chunk->n_blocks && block->offset + block->size == chunk->blocks[i + 1].offset) {
            block->size += chunk->blocks[i + 1].size;
            remove_block(chunk, i + 1);
        }
        return;
    }
    block->offset = offset;
    block->size += size;
    if (i > 0 && chunk->blocks[i - 1].offset + chunk->blocks[i - 1].size == offset) {
        chunk->blocks[i - 1].size += block->size;
        remove_block(chunk, i);
    }
}

/* Where a block goes: before the first that does not begin before it. */
static int find_place(const sr__chunk *chunk, size_t offset) {
    int at = chunk->has_empty ? 0 : find_after(chunk, offset);
    while (chunk->has_empty && at < chunk->n_blocks && chunk->blocks[at].offset < offset) {
        at++;
    }
    return at;
}

/*
 * Only the neighbours by offset can touch what is given back, so they are found by binary search - unless the chunk
 * has ever held a block of no size (an empty tensor that was freed): such may lie inside a larger one, upset the order
 * of the list and hide neighbours from each other.  The reference walks its whole list, and so do we then.
 */
sr_status sr__dynamic_give(sr__dynamic *dynamic, int c, size_t offset, size_t size) {
    sr__align_up(size, dynamic->alignment, &size);
    sr__chunk *chunk = &dynamic->chunks[c];
    const int after = chunk->has_empty ? 0 : find_after(chunk, offset);
    for (int i = after > 0 ? after - 1 : 0; i < chunk->n_blocks && (chunk->has_empty || i <= after); i++) {
        const sr__block *block = &chunk->blocks[i];
        if (block->offset + block->size == offset || offset + size == block->offset) {
            merge_into(chunk, i, offset, size);
            return SR_OK;
        }
    }
    const int at = find_place(chunk, offset);
    chunk->has_empty |= size == 0;
    return insert_block(chunk, at, offset, size);
}
