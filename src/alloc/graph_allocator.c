/*
 * graph_allocator.c - the graph allocator: reserving memory for a plan, asking whether it fits, handing it out.
 *
 * Layer: alloc.  Answers to ggml_gallocr_* of the reference; plan.c does the planning.
 */
#include "alloc/graph_allocator.h"

/* ---- life of the allocator ------------------------------------------------------------------------------------------ */

sr_status sr_graph_allocator_new(sr_buffer_type *const *types, int n, sr_graph_allocator **out_allocator, sr_error *err) {
    *out_allocator = NULL;
    sr_graph_allocator *a = sr__calloc(1, sizeof(*a));
    if (!a) {
        return sr__fail_memory(err);
    }
    a->n = n;
    a->memory_of = sr__calloc((size_t)n + 1, sizeof(*a->memory_of));
    a->plain = sr__calloc((size_t)n + 1, sizeof(*a->plain));
    a->memories = sr__calloc((size_t)n + 1, sizeof(*a->memories));
    if (!a->memory_of || !a->plain || !a->memories) {
        sr_graph_allocator_free(a);
        return sr__fail_memory(err);
    }
    for (int i = 0; i < n; i++) {
        int m = 0;
        while (m < a->n_memories && a->memories[m].type != types[i]) {
            m++;
        }
        if (m == a->n_memories) {
            a->memories[m].type = types[i];
            sr__dynamic_init(&a->memories[m].dynamic, types[i]->alignment, types[i]->max_size, 16);
            a->n_memories++;
        }
        a->memory_of[i] = m;
        a->plain[i] = types[i]->iface->alloc_size == NULL;
    }
    *out_allocator = a;
    return SR_OK;
}

static void drop_memory(sr__memory *memory) {
    for (int c = 0; c < memory->n_chunks; c++) {
        sr_buffer_free(memory->chunks[c]);
    }
    sr__free(memory->chunks);
    memory->chunks = NULL;
    memory->n_chunks = 0;
    memory->held = false;
}

void sr_graph_allocator_free(sr_graph_allocator *a) {
    if (!a) {
        return;
    }
    for (int i = 0; i < a->n_memories; i++) {
        drop_memory(&a->memories[i]);
        sr__dynamic_free(&a->memories[i].dynamic);
    }
    sr__free(a->memory_of);
    sr__free(a->plain);
    sr__free(a->memories);
    sr__free(a->state);
    sr__free(a->records);
    sr__free(a->nodes);
    sr__free(a->leafs);
    sr__free(a->sources);
    sr__free(a->source_begin);
    sr__free(a->lives);
    sr__free(a);
}

void sr_graph_allocator_set_max_chunks(sr_graph_allocator *a, int max_chunks) {
    for (int i = 0; i < a->n_memories; i++) {
        a->memories[i].dynamic.max_chunks = max_chunks;
    }
}

void sr_graph_allocator_record_lives(sr_graph_allocator *a, bool on) { a->record_lives = on; }

const sr_life *sr_graph_allocator_lives(const sr_graph_allocator *a, int32_t *out_n) {
    *out_n = a->n_lives;
    return a->lives;
}

/* ---- recording a plan ----------------------------------------------------------------------------------------------- */

/* The record of a tensor, made at its first place. */
static int32_t record_of(sr_graph_allocator *a, const sr_graph_view *view, int32_t id) {
    if (id < 0) {
        return -1;
    }
    sr__plan_state *s = &a->state[id];
    if (s->record == 0) {
        if (sr__id_is_view(view, id) || sr__id_has_memory(view, id)) {
            s->record = INT32_MIN;
        } else {
            a->records[a->n_records] = (sr__record){.offset = s->offset,
                                                    .size = sr__planned_size(a, view, s->buffer_id, id),
                                                    .buffer_id = s->buffer_id,
                                                    .chunk = s->chunk};
            s->record = ++a->n_records;
        }
    }
    return s->record > 0 ? s->record - 1 : -1;
}

static int32_t count_sources(const sr_graph_view *view) {
    int32_t n = 0;
    for (int32_t i = 0; i < view->n_nodes; i++) {
        n += sr__id_n_src(view, view->nodes[i]);
    }
    return n;
}

static sr_status record_plan(sr_graph_allocator *a, const sr_graph_view *view, sr_error *err) {
    const size_t n_ids = (size_t)view->graph->n_tensors + (size_t)view->n_extra;
    const size_t n_sources = (size_t)count_sources(view);
    a->n_nodes = -1;
    a->n_records = 0;
    if (!sr__grow(&a->records, &a->records_cap, n_ids, sizeof(sr__record)) ||
        !sr__grow(&a->nodes, &a->nodes_cap, (size_t)view->n_nodes, sizeof(int32_t)) ||
        !sr__grow(&a->leafs, &a->leafs_cap, (size_t)view->n_leafs, sizeof(int32_t)) ||
        !sr__grow(&a->sources, &a->sources_cap, n_sources, sizeof(int32_t)) ||
        !sr__grow(&a->source_begin, &a->source_begin_cap, (size_t)view->n_nodes + 1, sizeof(int32_t))) {
        return sr__fail_memory(err);
    }
    int32_t n = 0;
    for (int32_t i = 0; i < view->n_nodes; i++) {
        const int32_t id = view->nodes[i];
        const int n_src = sr__id_n_src(view, id);
        a->nodes[i] = record_of(a, view, id);
        a->source_begin[i] = n;
        for (int j = 0; j < n_src; j++) {
            a->sources[n++] = record_of(a, view, sr__id_src(view, id, j));
        }
    }
    a->source_begin[view->n_nodes] = n;
    for (int32_t i = 0; i < view->n_leafs; i++) {
        a->leafs[i] = record_of(a, view, view->leafs[i]);
    }
    a->n_nodes = view->n_nodes;
    a->n_leafs = view->n_leafs;
    return SR_OK;
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

static bool is_counted_before(const sr_graph_allocator *a, int i) {
    for (int j = 0; j < i; j++) {
        if (a->memory_of[j] == a->memory_of[i]) {
            return true;
        }
    }
    return false;
}

static size_t held_size(const sr__memory *memory) {
    size_t total = 0;
    for (int c = 0; c < memory->n_chunks; c++) {
        total += memory->chunks[c]->size;
    }
    return total;
}

static bool needs_more(const sr__memory *memory) {
    bool more = !memory->held; /* even an empty buffer is taken once: views of nothing need it */
    for (int c = 0; c < memory->dynamic.n_chunks; c++) {
        const size_t have = c < memory->n_chunks ? memory->chunks[c]->size : 0;
        more |= memory->dynamic.chunks[c].high_water > have;
    }
    return more;
}

/* What is held goes first: the new and the old need not fit side by side. */
static sr_status replace_memory(sr__memory *memory, sr_error *err) {
    const size_t old_size = held_size(memory);
    const int n = memory->dynamic.n_chunks;
    drop_memory(memory);
    memory->chunks = sr__calloc((size_t)n + 1, sizeof(*memory->chunks));
    if (!memory->chunks) {
        return sr__fail_memory(err);
    }
    for (int c = 0; c < n; c++) {
        const sr_status status =
            sr_buffer_type_alloc(memory->type, memory->dynamic.chunks[c].high_water, &memory->chunks[c], err);
        if (status != SR_OK) {
            drop_memory(memory);
            return status;
        }
        sr_buffer_set_usage(memory->chunks[c], SR_USAGE_COMPUTE);
        memory->n_chunks = c + 1;
    }
    memory->held = true;
    memory->grew = old_size > 0; /* by some chunk: the sum may be less than before */
    return SR_OK;
}

sr_status sr_graph_allocator_reserve(sr_graph_allocator *a, const sr_graph_view *view, const int16_t *node_ids,
                                     const int16_t *leaf_ids, sr_error *err) {
    for (int i = 0; i < a->n_memories; i++) {
        a->memories[i].grew = false;
    }
    sr_status status = sr__plan_graph(a, view, node_ids, leaf_ids, err);
    if (status == SR_OK) {
        status = record_plan(a, view, err);
    }
    for (int i = 0; i < a->n_memories && status == SR_OK; i++) {
        if (needs_more(&a->memories[i])) {
            status = replace_memory(&a->memories[i], err);
        }
    }
    if (status != SR_OK) {
        a->n_nodes = -1; /* nothing may be handed out from a plan without its memory */
    }
    a->fresh = status == SR_OK;
    return status;
}

sr_status sr_graph_allocator_measure(sr_graph_allocator *a, const sr_graph_view *view, const int16_t *node_ids,
                                     const int16_t *leaf_ids, size_t *sizes, sr_error *err) {
    const sr_status status = sr__plan_graph(a, view, node_ids, leaf_ids, err);
    a->fresh = false;
    for (int i = 0; i < a->n && status == SR_OK; i++) {
        sizes[i] = is_counted_before(a, i) ? 0 : sr__dynamic_total(&a->memories[a->memory_of[i]].dynamic);
    }
    return status;
}

/* ---- fitting and handing out -------------------------------------------------------------------------------------------- */

/* Whether what was recorded at a place serves what stands there now; *out_size: bytes it needs now. */
static bool record_serves(const sr_graph_allocator *a, const sr_graph_view *view, int32_t record, int32_t id,
                          size_t *out_size) {
    *out_size = 0;
    if (id < 0 || sr__id_has_memory(view, id) || sr__id_is_view(view, id)) {
        return true;
    }
    if (record < 0) {
        *out_size = sr_view_tensor(view, id)->nbytes;
        return false;
    }
    *out_size = sr__planned_size(a, view, a->records[record].buffer_id, id);
    return a->records[record].size >= *out_size;
}

static int64_t recorded_size(const sr_graph_allocator *a, int32_t record) {
    return record < 0 ? 0 : (int64_t)a->records[record].size;
}

static sr_misfit misfit_at(sr_misfit_kind kind, int32_t position, int32_t node, int64_t old_size, int64_t new_size) {
    return (sr_misfit){.kind = kind,
                       .position = position,
                       .node = node,
                       .source = -1,
                       .source_id = -1,
                       .old_size = old_size,
                       .new_size = new_size};
}

/* A node with more sources than the one recorded at its position finds nothing recorded for them, as in the reference,
 * which has ten places everywhere. */
static bool find_misfit(const sr_graph_allocator *a, const sr_graph_view *view, sr_misfit *out) {
    for (int32_t i = 0; i < view->n_nodes; i++) {
        const int32_t id = view->nodes[i];
        size_t size;
        if (!record_serves(a, view, a->nodes[i], id, &size)) {
            *out = misfit_at(SR_MISFIT_NODE, i, id, recorded_size(a, a->nodes[i]), (int64_t)size);
            return true;
        }
        const int32_t begin = a->source_begin[i], n_recorded = a->source_begin[i + 1] - begin;
        const int n_src = sr__id_n_src(view, id);
        for (int j = 0; j < n_src; j++) {
            const int32_t record = j < n_recorded ? a->sources[begin + j] : -1;
            const int32_t source = sr__id_src(view, id, j);
            if (!record_serves(a, view, record, source, &size)) {
                *out = misfit_at(SR_MISFIT_SOURCE, i, id, recorded_size(a, record), (int64_t)size);
                out->source = j;
                out->source_id = source;
                return true;
            }
        }
    }
    return false;
}

bool sr_graph_allocator_fits(sr_graph_allocator *a, const sr_graph_view *view, sr_misfit *out_misfit) {
    a->fresh = false;
    sr_misfit misfit = {0};
    bool fits = true;
    if (a->n_nodes != view->n_nodes) {
        misfit = misfit_at(SR_MISFIT_NODES, -1, -1, a->n_nodes < 0 ? 0 : a->n_nodes, view->n_nodes);
        fits = false;
    } else if (a->n_leafs != view->n_leafs) {
        misfit = misfit_at(SR_MISFIT_LEAFS, -1, -1, a->n_leafs, view->n_leafs);
        fits = false;
    } else if (find_misfit(a, view, &misfit)) {
        fits = false;
    }
    if (out_misfit) {
        *out_misfit = misfit;
    }
    return fits;
}

/* What sr_graph_allocator_assign works on. */
typedef struct assignment {
    sr_graph_allocator *allocator;
    const sr_graph_view *view;
    sr_storage *storage;
    sr_address *addresses;
    sr_error *err;
} assignment;

static sr_status hand_out(const assignment *s, int32_t place, int32_t id) {
    if (id < 0 || place < 0 || s->storage[id].buffer || sr__id_is_view(s->view, id)) {
        return SR_OK;
    }
    const sr__record *record = &s->allocator->records[place];
    const sr__memory *memory = &s->allocator->memories[s->allocator->memory_of[record->buffer_id]];
    sr_buffer *buffer = memory->chunks[record->chunk];
    s->storage[id] = (sr_storage){buffer, record->offset};
    s->addresses[id] = (sr_address){record->buffer_id, record->chunk, record->offset};
    return buffer->iface->init_tensor ? buffer->iface->init_tensor(buffer, s->view, id, s->err) : SR_OK;
}

/* Right after a plan every tensor knows its own record: no need to go through all the places where it stands. */
static sr_status hand_out_planned(const assignment *s) {
    const int32_t n_ids = s->view->graph->n_tensors + s->view->n_extra;
    sr_status status = SR_OK;
    for (int32_t id = 0; id < n_ids && status == SR_OK; id++) {
        const int32_t record = s->allocator->state[id].record;
        if (record > 0) {
            status = hand_out(s, record - 1, id);
        }
    }
    return status;
}

/* By the places where tensors stand; the first one counts. */
static sr_status hand_out_recorded(const assignment *s) {
    const sr_graph_allocator *a = s->allocator;
    const sr_graph_view *view = s->view;
    sr_status status = SR_OK;
    for (int32_t i = 0; i < view->n_leafs && status == SR_OK; i++) {
        status = hand_out(s, a->leafs[i], view->leafs[i]);
    }
    for (int32_t i = 0; i < view->n_nodes && status == SR_OK; i++) {
        const int32_t id = view->nodes[i];
        const int32_t begin = a->source_begin[i], n_recorded = a->source_begin[i + 1] - begin;
        const int n_src = sr__id_n_src(view, id);
        for (int j = 0; j < n_src && j < n_recorded && status == SR_OK; j++) {
            status = hand_out(s, a->sources[begin + j], sr__id_src(view, id, j));
        }
        if (status == SR_OK) {
            status = hand_out(s, a->nodes[i], id);
        }
    }
    return status;
}

/* Pre-allocated tensors keep their place; everything else starts without one. */
static void start_storage(const assignment *s) {
    const sr_graph *graph = s->view->graph;
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        s->storage[i] = (sr_storage){graph->tensors[i].buffer, graph->tensors[i].buffer_offset};
        s->addresses[i] = (sr_address){.buffer_id = -1};
    }
    for (int32_t i = 0; i < s->view->n_extra; i++) {
        s->storage[graph->n_tensors + i] = (sr_storage){NULL, 0};
        s->addresses[graph->n_tensors + i] = (sr_address){.buffer_id = -1};
    }
}

/* Views lie in their root's memory; a root stands before its views, so one walk does. */
static sr_status place_views(const assignment *s) {
    const sr_graph *graph = s->view->graph;
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        const sr_tensor *t = &graph->tensors[i];
        if (t->view_src < 0 || s->storage[i].buffer) {
            continue;
        }
        s->storage[i] = s->storage[t->view_src];
        s->storage[i].offset += t->view_offs;
        s->addresses[i] = s->addresses[t->view_src];
        s->addresses[i].offset += t->view_offs;
        sr_buffer *buffer = s->storage[i].buffer;
        if (buffer && buffer->iface->init_tensor) {
            const sr_status status = buffer->iface->init_tensor(buffer, s->view, i, s->err);
            if (status != SR_OK) {
                return status;
            }
        }
    }
    return SR_OK;
}

sr_status sr_graph_allocator_assign(sr_graph_allocator *a, const sr_graph_view *view, sr_storage *storage,
                                    sr_address *addresses, sr_error *err) {
    const assignment s = {a, view, storage, addresses, err};
    sr_status status = SR_OK;
    for (int m = 0; m < a->n_memories; m++) {
        for (int c = 0; c < a->memories[m].n_chunks; c++) {
            sr_buffer_reset(a->memories[m].chunks[c]);
        }
    }
    start_storage(&s);
    status = a->fresh ? hand_out_planned(&s) : hand_out_recorded(&s);
    return status == SR_OK ? place_views(&s) : status;
}

/* ---- getters -------------------------------------------------------------------------------------------------------------- */

size_t sr_graph_allocator_size(const sr_graph_allocator *a, int i) {
    return is_counted_before(a, i) ? 0 : held_size(&a->memories[a->memory_of[i]]);
}

int sr_graph_allocator_n_chunks(const sr_graph_allocator *a, int i) { return a->memories[a->memory_of[i]].n_chunks; }

size_t sr_graph_allocator_chunk_size(const sr_graph_allocator *a, int i, int chunk) {
    return a->memories[a->memory_of[i]].chunks[chunk]->size;
}

bool sr_graph_allocator_grew(const sr_graph_allocator *a, int i) { return a->memories[a->memory_of[i]].grew; }
