/*
 * memory_plan.c - the compute buffers of a schedule: blocks with their life spans, peaks and their owners.
 *
 * Layer: analyze.  A second graph allocator plans the same view, so that life spans are those of the allocator's own
 * rules; it depends on nothing but the view, and therefore gives what the scheduler's gave.
 */
#include <stdlib.h>

#include "alloc/graph_allocator.h"
#include "analyze/finding.h"
#include "analyze/memory_impl.h"
#include "sched_run/analyze.h"

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

/* By backend: position in plan->buffers of the memory that it uses. */
static int *map_backends(const sr_layout *layout, sr_memory_plan *plan) {
    int *buffer_of = sr__calloc((size_t)layout->n_backends + 1, sizeof(*buffer_of));
    plan->buffers = sr__calloc((size_t)layout->n_backends + 1, sizeof(*plan->buffers));
    for (int b = 0; buffer_of != NULL && plan->buffers != NULL && b < layout->n_backends; b++) {
        int first = 0;
        while (layout->buffer_types[first] != layout->buffer_types[b]) {
            first++;
        }
        if (first < b) {
            buffer_of[b] = buffer_of[first];
            continue;
        }
        plan->buffers[plan->n_buffers] = (sr_memory_buffer){.backend = b, .type = layout->buffer_types[b]};
        buffer_of[b] = plan->n_buffers++;
    }
    return buffer_of;
}

/* Copies, and the slots of user inputs (flagged as inputs by the scheduler or the user). */
static bool is_copy(const sr_layout *layout, int32_t id) {
    if (sr_view_is_extra(&layout->view, id)) {
        return true;
    }
    return layout->n_copies > 1 && layout->cause_of[id] == SR_CAUSE_COPY;
}

static bool make_rooms(const sr_life *lives, int32_t n_lives, const int *buffer_of, sr_memory_plan *plan) {
    for (int32_t i = 0; i < n_lives; i++) {
        plan->buffers[buffer_of[lives[i].address.buffer_id]].n_blocks++;
    }
    for (int i = 0; i < plan->n_buffers; i++) {
        sr_memory_buffer *buffer = &plan->buffers[i];
        buffer->blocks = sr__malloc(((size_t)buffer->n_blocks + 1) * sizeof(*buffer->blocks));
        if (buffer->blocks == NULL) {
            return false;
        }
        buffer->n_blocks = 0;
    }
    return true;
}

/* Addresses in force go before those of the second plan: the scheduler may have kept an older one. */
static sr_status fill_blocks(const sr_layout *layout, const sr_life *lives, int32_t n_lives, const int *buffer_of,
                             sr_memory_plan *plan, sr_error *err) {
    if (!make_rooms(lives, n_lives, buffer_of, plan)) {
        return sr__fail_memory(err);
    }
    for (int32_t i = 0; i < n_lives; i++) {
        const sr_life *life = &lives[i];
        const sr_address address = layout->addresses != NULL ? layout->addresses[life->id] : life->address;
        /* under a kept plan a leaf may have no memory; elsewhere than the second plan has it nothing can be */
        if (address.buffer_id < 0 || buffer_of[address.buffer_id] != buffer_of[life->address.buffer_id]) {
            plan->kept = true;
            continue;
        }
        sr_memory_buffer *buffer = &plan->buffers[buffer_of[address.buffer_id]];
        plan->kept |= address.chunk != life->address.chunk || address.offset != life->address.offset;
        buffer->blocks[buffer->n_blocks++] = (sr_memory_block){.id = life->id,
                                                               .chunk = address.chunk,
                                                               .offset = address.offset,
                                                               .size = life->size,
                                                               .first = life->first,
                                                               .last = life->last,
                                                               .in_place_of = life->in_place_of,
                                                               .taken_by = -1,
                                                               .is_copy = is_copy(layout, life->id)};
    }
    return SR_OK;
}

static int compare_blocks(const void *left, const void *right) {
    const sr_memory_block *a = left, *b = right;
    if (a->first != b->first) {
        return a->first < b->first ? -1 : 1;
    }
    if (a->chunk != b->chunk) {
        return a->chunk < b->chunk ? -1 : 1;
    }
    if (a->offset != b->offset) {
        return a->offset < b->offset ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

/* ---- chunks ---------------------------------------------------------------------------------------------------- */

static sr_status fill_chunks(const sr_layout *layout, sr_memory_buffer *buffer, sr_error *err) {
    const sr_graph_allocator *allocator = layout->allocator;
    const int n_held = sr_graph_allocator_n_chunks(allocator, buffer->backend);
    buffer->n_chunks = n_held;
    for (int32_t i = 0; i < buffer->n_blocks; i++) {
        const int n = buffer->blocks[i].chunk + 1;
        buffer->n_chunks = n > buffer->n_chunks ? n : buffer->n_chunks;
    }
    buffer->chunks = sr__calloc((size_t)buffer->n_chunks + 1, sizeof(*buffer->chunks));
    if (buffer->chunks == NULL) {
        return sr__fail_memory(err);
    }
    for (int c = 0; c < buffer->n_chunks; c++) {
        buffer->chunks[c].top = -1;
        buffer->chunks[c].held = c < n_held ? sr_graph_allocator_chunk_size(allocator, buffer->backend, c) : 0;
        buffer->held += buffer->chunks[c].held;
    }
    for (int32_t i = 0; i < buffer->n_blocks; i++) {
        const sr_memory_block *block = &buffer->blocks[i];
        sr_memory_chunk *chunk = &buffer->chunks[block->chunk];
        if (block->offset + block->size > chunk->used) {
            buffer->used += block->offset + block->size - chunk->used;
            chunk->used = block->offset + block->size;
            chunk->top = i;
        }
    }
    return SR_OK;
}

/* ---- memory that is handed on ---------------------------------------------------------------------------------- */

static void hand_on(sr_memory_block *from, sr_memory_block *to) {
    to->in_place_of = from->id;
    from->taken_by = to->id;
}

/* Under a kept plan a node may come to lie where a source of it dies, though its own plan would not have it so. */
static void link_by_chance(const sr_graph_view *view, sr_memory_buffer *buffer, const int32_t *block_of,
                           sr_memory_block *block) {
    const int n = sr_op_can_reuse(sr_view_op(view, block->id)) ? sr__id_n_src(view, block->id) : 0;
    for (int j = 0; j < n && block->in_place_of < 0; j++) {
        const int32_t source = sr__id_src(view, block->id, j);
        const int32_t root = source >= 0 && !sr_view_is_extra(view, source) ? sr__root_of(view->graph, source) : source;
        sr_memory_block *from = root >= 0 && block_of[root] >= 0 ? &buffer->blocks[block_of[root]] : NULL;
        if (from != NULL && from != block && from->taken_by < 0 && from->last == block->first &&
            from->chunk == block->chunk && from->offset == block->offset &&
            sr_tensor_same_layout(sr_view_tensor(view, block->id), sr_view_tensor(view, root))) {
            hand_on(from, block);
        }
    }
}

/* Under a kept plan a node may lie elsewhere than the source whose memory it would have taken over. */
static void link_heirs(const sr_graph_view *view, sr_memory_buffer *buffer, int32_t *block_of) {
    for (int32_t i = 0; i < buffer->n_blocks; i++) {
        block_of[buffer->blocks[i].id] = i;
    }
    for (int32_t i = 0; i < buffer->n_blocks; i++) {
        sr_memory_block *block = &buffer->blocks[i];
        const int32_t from = block->in_place_of >= 0 ? block_of[block->in_place_of] : -1;
        block->in_place_of = -1;
        if (from >= 0 && buffer->blocks[from].chunk == block->chunk && buffer->blocks[from].offset == block->offset) {
            hand_on(&buffer->blocks[from], block);
        }
    }
    for (int32_t i = 0; i < buffer->n_blocks; i++) {
        link_by_chance(view, buffer, block_of, &buffer->blocks[i]);
    }
    for (int32_t i = 0; i < buffer->n_blocks; i++) {
        block_of[buffer->blocks[i].id] = -1;
    }
}

/* ---- peaks ----------------------------------------------------------------------------------------------------- */

typedef struct owner { size_t size; int32_t block; } owner;

static int compare_owners(const void *left, const void *right) {
    const owner *a = left, *b = right;
    if (a->size != b->size) {
        return a->size > b->size ? -1 : 1;
    }
    return a->block < b->block ? -1 : a->block > b->block;
}

/* changes[p + 1]: by how much the bytes alive change at position p. */
static void find_peak(sr_memory_buffer *buffer, int64_t *changes, int32_t n_nodes) {
    memset(changes, 0, ((size_t)n_nodes + 3) * sizeof(*changes));
    for (int32_t i = 0; i < buffer->n_blocks; i++) {
        const sr_memory_block *block = &buffer->blocks[i];
        changes[block->first + 1] += (int64_t)block->size;
        changes[sr__block_end(block) + 2] -= (int64_t)block->size;
        buffer->copies += block->is_copy ? block->size : 0;
    }
    int64_t live = 0;
    buffer->peak = -1;
    for (int32_t p = -1; p <= n_nodes; p++) {
        live += changes[p + 1];
        if (live > (int64_t)buffer->most_live) {
            buffer->most_live = (size_t)live;
            buffer->peak = p;
        }
    }
    /* under a kept plan that does not suit, what overlaps may be more than there is */
    buffer->gaps = buffer->used > buffer->most_live ? buffer->used - buffer->most_live : 0;
}

static sr_status find_owners(sr_memory_buffer *buffer, sr_error *err) {
    owner *owners = sr__malloc(((size_t)buffer->n_blocks + 1) * sizeof(*owners));
    buffer->owners = sr__malloc(((size_t)buffer->n_blocks + 1) * sizeof(*buffer->owners));
    if (owners == NULL || buffer->owners == NULL) {
        sr__free(owners);
        return sr__fail_memory(err);
    }
    for (int32_t i = 0; i < buffer->n_blocks; i++) {
        const sr_memory_block *block = &buffer->blocks[i];
        if (block->first <= buffer->peak && sr__block_end(block) >= buffer->peak && block->size > 0) {
            owners[buffer->n_owners++] = (owner){block->size, i};
            buffer->copies_at_peak += block->is_copy ? block->size : 0;
        }
    }
    qsort(owners, (size_t)buffer->n_owners, sizeof(*owners), compare_owners);
    for (int32_t i = 0; i < buffer->n_owners; i++) {
        buffer->owners[i] = owners[i].block;
    }
    sr__free(owners);
    return SR_OK;
}

/* ---- the plan -------------------------------------------------------------------------------------------------- */

static sr_status finish_buffers(const sr_layout *layout, sr_memory_plan *plan, sr_error *err) {
    sr_status status = SR_OK;
    const size_t n_ids = (size_t)layout->graph->n_tensors + (size_t)layout->view.n_extra;
    int32_t *block_of = sr__malloc((n_ids + 1) * sizeof(*block_of));
    int64_t *changes = sr__malloc(((size_t)layout->view.n_nodes + 3) * sizeof(*changes));
    if (block_of == NULL || changes == NULL) {
        SR_TRY(sr__fail_memory(err));
    }
    memset(block_of, 0xff, (n_ids + 1) * sizeof(*block_of));
    for (int i = 0; i < plan->n_buffers; i++) {
        sr_memory_buffer *buffer = &plan->buffers[i];
        qsort(buffer->blocks, (size_t)buffer->n_blocks, sizeof(*buffer->blocks), compare_blocks);
        link_heirs(&layout->view, buffer, block_of);
        SR_TRY(fill_chunks(layout, buffer, err));
        find_peak(buffer, changes, layout->view.n_nodes);
        SR_TRY(find_owners(buffer, err));
        if (plan->kept) {
            SR_TRY(sr__find_overlaps(plan, buffer, layout->view.n_nodes, err));
        }
    }
done:
    sr__free(block_of);
    sr__free(changes);
    return status;
}

sr_status sr_memory_plan_make(const sr_layout *layout, sr_memory_plan *out_plan, sr_error *err) {
    sr_status status;
    sr_graph_allocator *allocator = NULL;
    int *buffer_of = NULL;
    size_t *sizes = NULL;
    int32_t n_lives = 0;
    if (!sr_layout_has_splits(layout)) {
        return sr__fail(err, SR_UNAVAILABLE, "nothing was split that could have memory");
    }
    SR_TRY(sr_graph_allocator_new(layout->buffer_types, layout->n_backends, &allocator, err));
    sr_graph_allocator_set_max_chunks(allocator, layout->params->max_chunks);
    sr_graph_allocator_record_lives(allocator, true);
    sizes = sr__calloc((size_t)layout->n_backends + 1, sizeof(*sizes));
    buffer_of = map_backends(layout, out_plan);
    if (sizes == NULL || buffer_of == NULL || out_plan->buffers == NULL) {
        SR_TRY(sr__fail_memory(err));
    }
    SR_TRY(sr_graph_allocator_measure(allocator, &layout->view, layout->node_ids, layout->leaf_ids, sizes, err));
    const sr_life *lives = sr_graph_allocator_lives(allocator, &n_lives);
    SR_TRY(fill_blocks(layout, lives, n_lives, buffer_of, out_plan, err));
    SR_TRY(finish_buffers(layout, out_plan, err));
done:
    sr_graph_allocator_free(allocator);
    sr__free(sizes);
    sr__free(buffer_of);
    if (status != SR_OK) {
        sr_memory_plan_clear(out_plan);
    }
    return status;
}

void sr_memory_plan_clear(sr_memory_plan *plan) {
    for (int i = 0; plan->buffers != NULL && i < plan->n_buffers; i++) {
        sr__free(plan->buffers[i].chunks);
        sr__free(plan->buffers[i].blocks);
        sr__free(plan->buffers[i].owners);
    }
    sr__free(plan->buffers);
    sr__free(plan->overlaps);
    *plan = (sr_memory_plan){0};
}
