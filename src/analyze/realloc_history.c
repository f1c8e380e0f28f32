/*
 * realloc_history.c - what is remembered from run to run: graphs, buffers, topologies.
 *
 * Layer: analyze.  Two schedules are kept whole: the one whose plan is in force, which the next graph has to fit, and
 * the last one, whose backends the next are compared with; they may be the same.
 */
#include <stdio.h>

#include "analyze/realloc_impl.h"
#include "sched_run/analyze.h"

struct sr_realloc_history {
    sr_realloc_row *rows;
    size_t rows_cap;
    int n_rows;
    int n_backends;            /* of the scheduler */
    uint64_t *topologies;      /* hash of each, in the order they came */
    size_t topologies_cap;
    int n_topologies;
    int last_topology;
    sr__snapshot *planned, *last;
    size_t **chunks;           /* by backend: sizes of the chunks held after the last run */
    int *n_chunks;
};

void sr_topology_name(int topology, char out_name[16]) {
    if (topology < 26) {
        snprintf(out_name, 16, "%c", (char)('A' + topology % 26));
    } else {
        snprintf(out_name, 16, "%c%d", (char)('A' + topology % 26), topology / 26);
    }
}

sr_status sr_realloc_history_new(sr_realloc_history **out_history, sr_error *err) {
    *out_history = sr__calloc(1, sizeof(**out_history));
    if (*out_history == NULL) {
        return sr__fail_memory(err);
    }
    (*out_history)->last_topology = -1;
    return SR_OK;
}

static void row_clear(sr_realloc_row *row) {
    sr__free(row->reason);
    sr__free(row->before);
    sr__free(row->after);
}

void sr_realloc_history_free(sr_realloc_history *h) {
    if (h == NULL) {
        return;
    }
    for (int i = 0; i < h->n_rows; i++) {
        row_clear(&h->rows[i]);
    }
    for (int b = 0; h->chunks != NULL && b < h->n_backends; b++) {
        sr__free(h->chunks[b]);
    }
    sr__free(h->rows);
    sr__free(h->topologies);
    sr__free(h->chunks);
    sr__free(h->n_chunks);
    sr__snapshot_free(h->planned);
    sr__snapshot_free(h->last);
    sr__free(h);
}

const sr_realloc_row *sr_realloc_rows(const sr_realloc_history *h, int *out_n) {
    *out_n = h->n_rows;
    return h->rows;
}

void sr_reallocation_clear(sr_reallocation *r) {
    for (int i = 0; i < r->n_buffers; i++) {
        sr_realloc_buffer *buffer = &r->buffers[i];
        for (int k = 0; k < buffer->n_owners; k++) {
            sr__free(buffer->owners[k]);
        }
        sr__free(buffer->owners);
        sr__free(buffer->owner_bytes);
        sr__free(buffer->peak_at);
        sr__free(buffer->chunks_before);
        sr__free(buffer->chunks_after);
    }
    for (int i = 0; i < r->n_lines; i++) {
        sr__free(r->lines[i].name);
        sr__free(r->lines[i].shape);
    }
    for (int i = 0; i < r->n_reuses; i++) {
        sr__free(r->reuses[i].tensor);
        sr__free(r->reuses[i].other);
        sr__free(r->reuses[i].text);
    }
    sr__free(r->buffers);
    sr__free(r->lines);
    sr__free(r->reuses);
    sr__free(r->reason);
    sr__free(r->expectation);
    sr__free(r->hint);
    *r = (sr_reallocation){0};
}

/* ---- topologies ------------------------------------------------------------------------------------------------ */

/* What does not depend on extents: ops, sources and what was added for splits. */
static uint64_t hash_topology(const sr_layout *layout) {
    const sr_graph_view *view = &layout->view;
    uint64_t hash = sr__hash_bytes(1, &view->n_leafs, sizeof(view->n_leafs));
    for (int32_t i = 0; i < view->n_nodes; i++) {
        const int32_t id = view->nodes[i];
        const sr_tensor *t = sr_view_tensor(view, id);
        const sr_extra *extra = sr_view_is_extra(view, id) ? &view->extra[id - view->graph->n_tensors] : NULL;
        /* copies are the same in whichever slot they are */
        const int32_t what[3] = {extra != NULL ? -1 - extra->kind : sr_view_op(view, id),
                                 extra != NULL ? extra->of : id,
                                 t->op == SR_OP_UNARY || t->op == SR_OP_GLU ? t->op_params[0] : 0};
        hash = sr__hash_bytes(hash, what, sizeof(what));
        if (!sr_view_is_extra(view, id) && t->n_src > 0) {
            hash = sr__hash_bytes(hash, &layout->graph->srcs[t->src_begin], t->n_src * sizeof(int32_t));
        }
    }
    return hash;
}

static sr_status find_topology(sr_realloc_history *h, const sr_layout *layout, sr_reallocation *r, sr_error *err) {
    const uint64_t hash = hash_topology(layout);
    r->topology = 0;
    while (r->topology < h->n_topologies && h->topologies[r->topology] != hash) {
        r->topology++;
    }
    r->topology_was_seen = r->topology < h->n_topologies && h->last_topology >= 0 && r->topology != h->last_topology;
    h->last_topology = r->topology;
    if (r->topology < h->n_topologies) {
        return SR_OK;
    }
    if (!sr__grow(&h->topologies, &h->topologies_cap, (size_t)h->n_topologies + 1, sizeof(*h->topologies))) {
        return sr__fail_memory(err);
    }
    h->topologies[h->n_topologies++] = hash;
    return SR_OK;
}

/* ---- buffers --------------------------------------------------------------------------------------------------- */

static bool is_counted_before(const sr_layout *layout, int backend) {
    for (int b = 0; b < backend; b++) {
        if (layout->buffer_types[b] == layout->buffer_types[backend]) {
            return true;
        }
    }
    return false;
}

static sr_status copy_sizes(const size_t *sizes, int n, size_t **out, sr_error *err) {
    *out = sr__malloc(((size_t)n + 1) * sizeof(**out));
    if (*out == NULL) {
        return sr__fail_memory(err);
    }
    if (n > 0) {
        memcpy(*out, sizes, (size_t)n * sizeof(**out));
    }
    return SR_OK;
}

/* The chunks after this run become those before the next. */
static sr_status turn_chunks(sr_realloc_history *h, const sr_layout *layout, sr_realloc_buffer *buffer, sr_error *err) {
    const int b = buffer->backend;
    size_t *held;
    sr_status status;
    const int n = sr_graph_allocator_n_chunks(layout->allocator, b);
    SR_TRY(copy_sizes(h->chunks[b], h->n_chunks[b], &buffer->chunks_before, err));
    buffer->n_before = h->n_chunks[b];
    held = sr__malloc(((size_t)n + 1) * sizeof(*held));
    if (held == NULL) {
        return sr__fail_memory(err);
    }
    for (int c = 0; c < n; c++) {
        held[c] = sr_graph_allocator_chunk_size(layout->allocator, b, c);
    }
    sr__free(h->chunks[b]);
    h->chunks[b] = held;
    h->n_chunks[b] = n;
    SR_TRY(copy_sizes(held, n, &buffer->chunks_after, err));
    buffer->n_after = n;
done:
    return status;
}

static sr_status make_tables(sr_realloc_history *h, const sr_layout *layout, sr_error *err) {
    if (h->chunks != NULL) {
        return SR_OK;
    }
    h->n_chunks = sr__calloc((size_t)layout->n_backends + 1, sizeof(*h->n_chunks));
    h->chunks = h->n_chunks != NULL ? sr__calloc((size_t)layout->n_backends + 1, sizeof(*h->chunks)) : NULL;
    if (h->chunks == NULL) {
        sr__free(h->n_chunks);
        h->n_chunks = NULL;
        return sr__fail_memory(err);
    }
    h->n_backends = layout->n_backends;
    return SR_OK;
}

static sr_status tell_buffers(sr_realloc_history *h, const sr_layout *layout, sr_reallocation *r, sr_error *err) {
    sr_status status;
    SR_TRY(make_tables(h, layout, err));
    r->buffers = sr__calloc((size_t)layout->n_backends + 1, sizeof(*r->buffers));
    if (r->buffers == NULL) {
        SR_TRY(sr__fail_memory(err));
    }
    for (int b = 0; b < layout->n_backends; b++) {
        if (is_counted_before(layout, b)) {
            continue;
        }
        sr_realloc_buffer *buffer = &r->buffers[r->n_buffers++];
        *buffer = (sr_realloc_buffer){.backend = b,
                                      .before = layout->prev_buffer_size[b],
                                      .after = sr_graph_allocator_size(layout->allocator, b),
                                      .grew = layout->grew[b]};
        SR_TRY(turn_chunks(h, layout, buffer, err));
    }
done:
    return status;
}

/* ---- what peaks are made of ------------------------------------------------------------------------------------ */

enum { MOST_OWNERS = 4 };

static sr_status tell_peak(const sr_layout *layout, const sr_memory_buffer *memory, sr_realloc_buffer *buffer,
                           sr_error *err) {
    sr__str at = {0};
    sr__put_position(&at, layout, memory->peak);
    buffer->most_live = memory->most_live;
    buffer->n_alive = memory->n_owners;
    buffer->owners = sr__calloc(MOST_OWNERS, sizeof(*buffer->owners));
    buffer->owner_bytes = sr__calloc(MOST_OWNERS, sizeof(*buffer->owner_bytes));
    if (!sr__set_text(&buffer->peak_at, &at) || buffer->owners == NULL || buffer->owner_bytes == NULL) {
        sr__str_free(&at);
        return sr__fail_memory(err);
    }
    sr__str_free(&at);
    for (int32_t i = 0; i < memory->n_owners && i < MOST_OWNERS; i++) {
        const sr_memory_block *block = &memory->blocks[memory->owners[i]];
        char name[SR_MAX_NAME + 1];
        sr_layout_name(layout, block->id, name);
        buffer->owners[i] = sr__strdup(name);
        if (buffer->owners[i] == NULL) {
            return sr__fail_memory(err);
        }
        buffer->owner_bytes[i] = block->size;
        buffer->n_owners++;
    }
    return SR_OK;
}

static sr_status tell_peaks(const sr_layout *layout, sr_reallocation *r, sr_error *err) {
    sr_memory_plan plan = {0};
    sr_status status = sr_memory_plan_make(layout, &plan, err);
    if (status == SR_ALLOCATION || status == SR_UNAVAILABLE) {
        sr_error_clear(err); /* then there are no peaks to tell */
        return SR_OK;
    }
    for (int i = 0; status == SR_OK && i < plan.n_buffers; i++) {
        for (int k = 0; status == SR_OK && k < r->n_buffers; k++) {
            sr_realloc_buffer *buffer = &r->buffers[k];
            if (buffer->backend == plan.buffers[i].backend && plan.buffers[i].n_owners > 0 &&
                (buffer->before != buffer->after || buffer->grew)) {
                status = tell_peak(layout, &plan.buffers[i], buffer, err);
            }
        }
    }
    sr_memory_plan_clear(&plan);
    return status;
}

/* ---- a run ----------------------------------------------------------------------------------------------------- */

static sr_status add_row(sr_realloc_history *h, int run, const sr_layout *layout, const sr_reallocation *r,
                         sr_error *err) {
    sr_status status;
    sr_realloc_row row = {.run = run,
                          .topology = r->topology,
                          .reserve = r->reserve,
                          .first = r->first,
                          .replanned = r->replanned,
                          .reallocated = r->reallocated,
                          .unexpected = r->unexpected,
                          .harmful = r->harmful};
    const bool failed = layout->status != SR_OK && r->reason[0] == '\0';
    row.reason = sr__strdup(failed ? sr_status_name(layout->status) : r->reason);
    if (row.reason == NULL || !sr__grow(&h->rows, &h->rows_cap, (size_t)h->n_rows + 1, sizeof(*h->rows))) {
        SR_TRY(sr__fail_memory(err));
    }
    SR_TRY(copy_sizes(layout->prev_buffer_size, layout->n_backends, &row.before, err));
    SR_TRY(copy_sizes(layout->prev_buffer_size, layout->n_backends, &row.after, err));
    for (int b = 0; b < layout->n_backends; b++) {
        row.after[b] = sr_graph_allocator_size(layout->allocator, b);
    }
    h->rows[h->n_rows++] = row;
    return SR_OK;
done:
    row_clear(&row);
    return status;
}

/* After a failed reserve there is no plan; after a kept one the old plan stays. */
static sr_status remember(sr_realloc_history *h, int run, const sr_layout *layout, const sr_reallocation *r,
                          sr_error *err) {
    sr__snapshot *snapshot;
    const sr_status status = sr__snapshot_new(run, layout, &snapshot, err);
    if (status != SR_OK) {
        return status;
    }
    sr__snapshot_free(h->last);
    h->last = snapshot;
    if (r->replanned) {
        sr__snapshot_free(h->planned);
        h->planned = NULL;
        if (layout->status != SR_ALLOCATION) {
            h->planned = snapshot;
            snapshot->refs++;
        }
    }
    return SR_OK;
}

static sr_status tell(sr_realloc_history *h, const sr_layout *layout, sr_reallocation *r, sr_error *err) {
    sr_status status;
    SR_TRY(find_topology(h, layout, r, err));
    SR_TRY(sr__realloc_words(r, layout, h->planned, err));
    if (r->replanned && !r->first) {
        SR_TRY(tell_peaks(layout, r, err));
    }
    if (r->replanned && !r->first) {
        SR_TRY(sr__realloc_diff(r, layout, h->planned, h->last, err));
    } else if (!r->replanned && h->planned != NULL && layout->addresses != NULL) {
        SR_TRY(sr__realloc_reuse(r, layout, h->planned, err));
    }
done:
    return status;
}

sr_status sr_realloc_add(sr_realloc_history *h, int run, const sr_layout *layout, sr_reallocation *out_reallocation,
                         sr_error *err) {
    sr_status status;
    sr_reallocation *r = out_reallocation;
    const bool has_splits = sr_layout_has_splits(layout);
    *r = (sr_reallocation){.reserve = layout->reserve,
                           .first = layout->first_allocation && (layout->replanned || layout->reserve),
                           .replanned = layout->replanned || (layout->reserve && has_splits),
                           .reallocated = layout->reallocated,
                           .unexpected = layout->unexpected,
                           .plan_of = h->planned != NULL ? h->planned->run : -1,
                           .topology = -1,
                           .compared_with = -1};
    SR_TRY(tell_buffers(h, layout, r, err));
    if (has_splits) {
        SR_TRY(tell(h, layout, r, err));
    } else {
        SR_TRY(sr__realloc_words(r, layout, NULL, err));
    }
    SR_TRY(add_row(h, run, layout, r, err));
    if (has_splits) {
        SR_TRY(remember(h, run, layout, r, err));
    }
done:
    if (status != SR_OK) {
        sr_reallocation_clear(r);
    }
    return status;
}
