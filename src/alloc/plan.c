/*
 * plan.c - planning a graph's memory from the life spans of its tensors.
 *
 * Layer: alloc.  Answers to ggml_gallocr_alloc_graph_impl and what it calls: leafs first, then user inputs, then node
 * by node, each result in the memory of a dying source where its op allows, sources freed after their last reader.
 */
#include "alloc/graph_allocator.h"

/* What one plan works on. */
typedef struct plan {
    sr_graph_allocator *allocator;
    const sr_graph_view *view;
    sr__plan_state *state;
    int32_t position; /* among the nodes; -1 before the first */
    sr_error *err;
} plan;

static sr__dynamic *dynamic_of(const plan *p, int buffer_id) {
    return &p->allocator->memories[p->allocator->memory_of[buffer_id]].dynamic;
}

static sr_status fail_take(const plan *p, sr_status status, int buffer_id, size_t size) {
    if (status == SR_MEMORY) {
        return sr__fail_memory(p->err);
    }
    const sr_buffer_type *type = p->allocator->memories[p->allocator->memory_of[buffer_id]].type;
    sr__fail(p->err, SR_ALLOCATION, "no chunk of the %s buffer can hold %zu more bytes", type->name, size);
    sr__error_text(p->err, "buffer_type", type->name);
    sr__error_number(p->err, "size", (int64_t)size);
    sr__error_number(p->err, "largest_free", 0);
    return SR_ALLOCATION;
}

/* ---- life spans, kept only when a memory report wants them ------------------------------------------------------ */

static sr_status begin_life(plan *p, int32_t id, int32_t in_place_of, size_t size) {
    sr_graph_allocator *a = p->allocator;
    sr__plan_state *s = &p->state[id];
    if (!a->record_lives) {
        return SR_OK;
    }
    if (!sr__grow(&a->lives, &a->lives_cap, (size_t)a->n_lives + 1, sizeof(sr_life))) {
        return sr__fail_memory(p->err);
    }
    sr__align_up(size, dynamic_of(p, s->buffer_id)->alignment, &size);
    a->lives[a->n_lives] = (sr_life){.id = id,
                                     .address = {s->buffer_id, s->chunk, s->offset},
                                     .size = size,
                                     .first = p->position,
                                     .last = p->view->n_nodes,
                                     .in_place_of = in_place_of};
    s->life = a->n_lives++;
    return SR_OK;
}

static void end_life(plan *p, int32_t id) {
    if (p->allocator->record_lives && p->state[id].life >= 0) {
        p->allocator->lives[p->state[id].life].last = p->position;
    }
}

/* ---- taking and giving back -------------------------------------------------------------------------------------- */

static bool may_take_over(const plan *p, int32_t id, int32_t source) {
    const sr_graph_view *view = p->view;
    if (!p->state[source].allocated) {
        return false; /* not ours: a view, pre-allocated, or already handed on */
    }
    const sr__plan_state *s = &p->state[source];
    return s->n_children == 1 && s->n_views == 0 && !(sr_view_flags(view, source) & SR_FLAG_OUTPUT) &&
           sr_tensor_same_layout(sr_view_tensor(view, id), sr_view_tensor(view, source));
}

/* The source's memory becomes the node's; what the source had beyond the node's size is given back. */
static sr_status take_over(plan *p, int32_t id, int32_t source) {
    sr__plan_state *s = &p->state[id], *from = &p->state[source];
    s->buffer_id = from->buffer_id;
    s->chunk = from->chunk;
    s->offset = from->offset;
    from->allocated = false;
    end_life(p, source);
    size_t own = sr__planned_size(p->allocator, p->view, s->buffer_id, id);
    const sr_status status = begin_life(p, id, source, own);
    size_t had = sr__planned_size(p->allocator, p->view, from->buffer_id, source);
    sr__dynamic *dynamic = dynamic_of(p, s->buffer_id);
    sr__align_up(own, dynamic->alignment, &own);
    sr__align_up(had, dynamic->alignment, &had);
    if (status == SR_OK && had > own && sr__dynamic_give(dynamic, s->chunk, s->offset + own, had - own) != SR_OK) {
        return sr__fail_memory(p->err);
    }
    return status;
}

static sr_status allocate(plan *p, int32_t id, int buffer_id) {
    const sr_graph_view *view = p->view;
    sr__plan_state *s = &p->state[id];
    if (s->allocated || sr__id_has_memory(view, id) || sr__id_is_view(view, id)) {
        return SR_OK;
    }
    s->allocated = true;
    if (sr_op_can_reuse(sr_view_op(view, id))) {
        const int n_src = sr__id_n_src(view, id);
        for (int j = 0; j < n_src; j++) {
            const int32_t source = sr__id_src(view, id, j);
            if (source >= 0 && source != id && may_take_over(p, id, source)) {
                return take_over(p, id, source);
            }
        }
    }
    int chunk;
    const size_t size = sr__planned_size(p->allocator, view, buffer_id, id);
    const sr_status status = sr__dynamic_take(dynamic_of(p, buffer_id), size, &chunk, &s->offset);
    if (status != SR_OK) {
        return fail_take(p, status, buffer_id, size);
    }
    s->buffer_id = (int16_t)buffer_id;
    s->chunk = (int16_t)chunk;
    return begin_life(p, id, -1, size);
}

static sr_status give_back(plan *p, int32_t id) {
    if (sr_view_flags(p->view, id) & SR_FLAG_OUTPUT) {
        return SR_OK; /* an output stays until the caller has read it */
    }
    sr__plan_state *s = &p->state[id];
    const size_t size = sr__planned_size(p->allocator, p->view, s->buffer_id, id);
    if (sr__dynamic_give(dynamic_of(p, s->buffer_id), s->chunk, s->offset, size) != SR_OK) {
        return sr__fail_memory(p->err);
    }
    s->allocated = false;
    end_life(p, id);
    return SR_OK;
}

/* A reader of `id` is done: frees it, or the root that it was the last view of. */
static sr_status release(plan *p, int32_t id) {
    sr__plan_state *s = &p->state[id];
    s->n_children--;
    if (s->n_children != 0 || s->n_views != 0) {
        return SR_OK;
    }
    if (!sr__id_is_view(p->view, id)) {
        return s->allocated ? give_back(p, id) : SR_OK;
    }
    if (id >= p->view->graph->n_tensors) {
        return SR_OK;
    }
    const int32_t root = p->view->graph->tensors[id].view_src;
    sr__plan_state *r = &p->state[root];
    r->n_views--;
    return r->n_views == 0 && r->n_children == 0 && r->allocated ? give_back(p, root) : SR_OK;
}

/* ---- the walks ------------------------------------------------------------------------------------------------------ */

/* Counts readers and views; user inputs get their memory before anything else may take it. */
static sr_status count_readers(plan *p, const int16_t *node_ids) {
    const sr_graph_view *view = p->view;
    for (int32_t i = 0; i < view->n_nodes; i++) {
        const int32_t id = view->nodes[i];
        sr_status status = SR_OK;
        if (id < view->graph->n_tensors) {
            const sr_tensor *node = &view->graph->tensors[id];
            if (node->view_src >= 0 && node->op != SR_OP_NONE) {
                p->state[node->view_src].n_views++;
            }
        }
        if (sr_view_flags(view, id) & SR_FLAG_INPUT) {
            status = allocate(p, id, node_ids[i]);
        }
        const int n_src = sr__id_n_src(view, id);
        for (int j = 0; j < n_src && status == SR_OK; j++) {
            const int32_t source = sr__id_src(view, id, j);
            if (source < 0) {
                continue;
            }
            p->state[source].n_children++;
            if (sr_view_flags(view, source) & SR_FLAG_INPUT) {
                status = allocate(p, source, node_ids[i]);
            }
        }
        if (status != SR_OK) {
            return status;
        }
    }
    return SR_OK;
}

static sr_status plan_node(plan *p, int32_t id, int buffer_id) {
    const sr_graph_view *view = p->view;
    const int n_src = sr__id_n_src(view, id);
    sr_status status = SR_OK;
    for (int j = 0; j < n_src && status == SR_OK; j++) {
        const int32_t source = sr__id_src(view, id, j);
        status = source >= 0 ? allocate(p, source, buffer_id) : SR_OK;
    }
    if (status == SR_OK) {
        status = allocate(p, id, buffer_id);
    }
    for (int j = 0; j < n_src && status == SR_OK; j++) {
        const int32_t source = sr__id_src(view, id, j);
        status = source >= 0 ? release(p, source) : SR_OK;
    }
    return status;
}

sr_status sr__plan_graph(sr_graph_allocator *allocator, const sr_graph_view *view, const int16_t *node_ids,
                         const int16_t *leaf_ids, sr_error *err) {
    const size_t n_ids = (size_t)view->graph->n_tensors + (size_t)view->n_extra;
    if (!sr__grow(&allocator->state, &allocator->state_cap, n_ids + 1, sizeof(sr__plan_state))) {
        return sr__fail_memory(err);
    }
    memset(allocator->state, 0, n_ids * sizeof(sr__plan_state));
    for (int i = 0; i < allocator->n_memories; i++) {
        sr__dynamic_reset(&allocator->memories[i].dynamic);
    }
    allocator->n_lives = 0;
    plan p = {.allocator = allocator, .view = view, .state = allocator->state, .position = -1, .err = err};
    sr_status status = SR_OK;
    for (int32_t i = 0; i < view->n_leafs && status == SR_OK; i++) {
        status = allocate(&p, view->leafs[i], leaf_ids[i]);
    }
    if (status == SR_OK) {
        status = count_readers(&p, node_ids);
    }
    for (int32_t i = 0; i < view->n_nodes && status == SR_OK; i++) {
        p.position = i;
        status = plan_node(&p, view->nodes[i], node_ids[i]);
    }
    return status;
}
