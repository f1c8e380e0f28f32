/*
 * graph_copy.c - the graph as it is allocated: split by split, input dependencies and copies before the nodes.
 *
 * Layer: sched.  Answers to the end of ggml_backend_sched_split_graph and to ggml_backend_sched_alloc_splits.
 */
#include "sched/sched_internal.h"

/* ---- ids of backends by position ------------------------------------------------------------------------------------------ */

static void exchange(int16_t **a, int16_t **b, size_t *cap_a, size_t *cap_b) {
    int16_t *ids = *a;
    const size_t cap = *cap_a;
    *a = *b;
    *b = ids;
    *cap_a = *cap_b;
    *cap_b = cap;
}

/* Grows a list of ids; what it never held is 0, what an older graph left stays: the reference compares with that. */
static bool grow_ids(int16_t **ids, size_t *cap, size_t n) {
    const size_t old = *cap;
    if (!sr__grow(ids, cap, n, sizeof(**ids))) {
        return false;
    }
    if (*cap > old) {
        memset(*ids + old, 0, (*cap - old) * sizeof(**ids));
    }
    return true;
}

/* The two lists change places at every schedule. */
static sr_status turn_ids(sr_sched *sched, size_t n_nodes, size_t n_leafs, sr_error *err) {
    exchange(&sched->node_ids, &sched->prev_node_ids, &sched->node_ids_cap, &sched->prev_node_ids_cap);
    exchange(&sched->leaf_ids, &sched->prev_leaf_ids, &sched->leaf_ids_cap, &sched->prev_leaf_ids_cap);
    if (!grow_ids(&sched->node_ids, &sched->node_ids_cap, n_nodes) ||
        !grow_ids(&sched->prev_node_ids, &sched->prev_node_ids_cap, n_nodes) ||
        !grow_ids(&sched->leaf_ids, &sched->leaf_ids_cap, n_leafs) ||
        !grow_ids(&sched->prev_leaf_ids, &sched->prev_leaf_ids_cap, n_leafs)) {
        return sr__fail_memory(err);
    }
    return SR_OK;
}

/* ---- building -------------------------------------------------------------------------------------------------------------- */

static void push_node(sr_sched *sched, int32_t id, int backend) {
    sched->node_ids[sched->n_nodes] = (int16_t)backend;
    sched->nodes[sched->n_nodes++] = id;
}

static void push_leaf(sr_sched *sched, int32_t id, int backend) {
    sched->leaf_ids[sched->n_leafs] = (int16_t)backend;
    sched->leafs[sched->n_leafs++] = id;
}

/* Dependencies have a source of their own: an input lives until it has been copied. */
static void push_split(sr_sched *sched, int s) {
    const sr_graph *graph = sched->graph;
    const sr_split *split = &sched->splits[s];
    for (int32_t k = 0; k < split->n_inputs; k++) {
        const int32_t input = sched->inputs[split->inputs_begin + k];
        sched->extra[sched->n_extra] =
            (sr_extra){input, sched->backend_of[input], (uint8_t)sched->cur_copy, SR_EXTRA_DEPENDENCY};
        push_node(sched, graph->n_tensors + sched->n_extra++, sched->backend_of[input]);
        push_node(sched, sched->input_copies[split->inputs_begin + k], split->backend);
    }
    sched->split_nodes[s] = sched->n_nodes;
    for (int32_t i = split->start; i < split->end; i++) {
        push_node(sched, graph->nodes[i], sched->backend_of[graph->nodes[i]]);
    }
    const sr_backend *backend = sched->backends[split->backend];
    if (backend->iface && backend->iface->optimize) {
        const sr_graph_view view = {.graph = graph, .extra = sched->extra, .n_extra = sched->n_extra, .srcs = sched->srcs};
        int32_t *nodes = &sched->nodes[sched->split_nodes[s]];
        const int32_t n = split->end - split->start;
        backend->iface->optimize(sched->backends[split->backend], &view, nodes, n);
        for (int32_t i = 0; i < n; i++) {
            sched->node_ids[sched->split_nodes[s] + i] = sched->backend_of[nodes[i]];
        }
    }
}

/* With pipeline copies every slot is a leaf, so that it is allocated first and keeps its place. */
static void push_copies(sr_sched *sched) {
    for (int32_t i = 0; i < sched->n_graph_inputs; i++) {
        const int32_t input = sched->graph_inputs[i];
        for (int c = 0; c < sched->params.n_copies; c++) {
            push_leaf(sched, sr__sched_copy_id(sched, input, sched->backend_of[input], c), sched->backend_of[input]);
        }
    }
    for (int32_t s = 0; s < sched->n_splits; s++) {
        const sr_split *split = &sched->splits[s];
        for (int32_t k = 0; k < split->n_inputs; k++) {
            for (int c = 0; c < sched->params.n_copies; c++) {
                push_leaf(sched, sr__sched_copy_id(sched, sched->inputs[split->inputs_begin + k], split->backend, c),
                          split->backend);
            }
        }
    }
}

/* A leaf that nothing uses and no rule placed is left out; one that something views must have a backend. */
static sr_status push_leafs(sr_sched *sched, sr_error *err) {
    const sr_graph *graph = sched->graph;
    for (int32_t i = 0; i < graph->n_leafs; i++) {
        const int32_t leaf = graph->leafs[i];
        if (sched->backend_of[leaf] >= 0) {
            push_leaf(sched, leaf, sched->backend_of[leaf]);
        } else if (graph->use_counts[leaf] > 0) {
            const char *label = sr__sched_tensor_label(&graph->tensors[leaf]);
            sr__fail(err, SR_SOURCE_UNASSIGNED, "leaf '%s' has no backend", label);
            sr__error_text(err, "tensor", label);
            return SR_SOURCE_UNASSIGNED;
        }
    }
    return SR_OK;
}

/* Pipeline copies are inputs (allocated early) and outputs (never overwritten); so is the user input itself. */
static sr_status set_flags(sr_sched *sched, sr_error *err) {
    const sr_graph *graph = sched->graph;
    const size_t n = (size_t)graph->n_tensors + (size_t)sched->n_extra;
    if (!SR__GROW(sched, flags, n)) {
        return sr__fail_memory(err);
    }
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        sched->flags[i] = graph->tensors[i].flags;
    }
    for (int32_t i = 0; i < sched->n_extra; i++) {
        sched->flags[graph->n_tensors + i] =
            sched->extra[i].kind == SR_EXTRA_COPY ? SR_FLAG_INPUT | SR_FLAG_OUTPUT : 0;
    }
    for (int32_t i = 0; i < sched->n_graph_inputs; i++) {
        sched->flags[sched->graph_inputs[i]] |= SR_FLAG_OUTPUT;
    }
    return SR_OK;
}

static void fill_view(sr_sched *sched) {
    sched->layout.view = (sr_graph_view){.graph = sched->graph,
                                         .extra = sched->extra,
                                         .n_extra = sched->n_extra,
                                         .srcs = sched->srcs,
                                         .nodes = sched->nodes,
                                         .n_nodes = sched->n_nodes,
                                         .leafs = sched->leafs,
                                         .n_leafs = sched->n_leafs,
                                         .flags = sched->params.n_copies > 1 ? sched->flags : NULL};
}

sr_status sr__sched_build_view(sr_sched *sched, sr_error *err) {
    const sr_graph *graph = sched->graph;
    const int n_copies = sched->params.n_copies;
    const size_t n_nodes = (size_t)graph->n_nodes + 2 * (size_t)sched->n_inputs;
    size_t n_leafs = (size_t)graph->n_leafs;
    if (n_copies > 1) {
        n_leafs += ((size_t)sched->n_inputs + (size_t)sched->n_graph_inputs) * (size_t)n_copies;
    }
    if (!SR__GROW(sched, nodes, n_nodes) || !SR__GROW(sched, leafs, n_leafs) ||
        !SR__GROW(sched, extra, sched->n_extra + sched->n_inputs) || !SR__GROW(sched, split_nodes, sched->n_splits + 1)) {
        return sr__fail_memory(err);
    }
    sr_status status = turn_ids(sched, n_nodes, n_leafs, err);
    if (status != SR_OK) {
        return status;
    }
    sched->n_nodes = 0;
    sched->n_leafs = 0;
    for (int32_t s = 0; s < sched->n_splits; s++) {
        push_split(sched, s);
    }
    sched->split_nodes[sched->n_splits] = sched->n_nodes;
    if (n_copies > 1) {
        status = set_flags(sched, err);
        push_copies(sched);
    }
    if (status == SR_OK) {
        status = push_leafs(sched, err);
    }
    fill_view(sched);
    sr_layout *layout = &sched->layout;
    const int64_t larger = graph->n_nodes > graph->n_leafs ? graph->n_nodes : graph->n_leafs;
    layout->prev_graph_copy_size = layout->graph_copy_size;
    const int64_t n_inputs = sched->params.rules.inputs_grow ? sched->n_inputs
                                                             : (int64_t)sched->n_splits * sched->params.max_split_inputs;
    layout->graph_copy_size = larger + n_inputs * 2 * n_copies;
    return status;
}

/* ---- allocating -------------------------------------------------------------------------------------------------------------- */

/* The first position whose backend moved to another buffer type since the last schedule. */
static bool find_moved(const sr_sched *sched, const int16_t *ids, const int16_t *prev, int32_t n, const int32_t *what,
                       bool is_leaf, sr_misfit *out) {
    for (int32_t i = 0; i < n; i++) {
        if (ids[i] != prev[i] && sched->buffer_types[ids[i]] != sched->buffer_types[prev[i]]) {
            *out = (sr_misfit){.kind = SR_MISFIT_BACKEND_IDS,
                               .is_leaf = is_leaf,
                               .position = i,
                               .node = what[i],
                               .source = -1,
                               .source_id = -1,
                               .old_size = prev[i],
                               .new_size = ids[i]};
            return true;
        }
    }
    return false;
}

static sr_status reserve_again(sr_sched *sched, sr_error *err) {
    sr_status status;
    for (int b = 0; b < sched->n_backends; b++) {
        SR_TRY(sr_backend_synchronize(sched->backends[b], err)); /* the inputs of a running split may move */
    }
    SR_TRY(sr_graph_allocator_reserve(sched->allocator, &sched->layout.view, sched->node_ids, sched->leaf_ids, err));
done:
    return status;
}

sr_status sr__sched_allocate(sr_sched *sched, sr_error *err) {
    sr_layout *layout = &sched->layout;
    const size_t n_ids = (size_t)sched->graph->n_tensors + (size_t)sched->n_extra;
    if (!SR__GROW(sched, storage, n_ids) || !SR__GROW(sched, addresses, n_ids)) {
        return sr__fail_memory(err);
    }
    layout->first_allocation = !sched->planned;
    layout->backend_ids_changed =
        find_moved(sched, sched->node_ids, sched->prev_node_ids, sched->n_nodes, sched->nodes, false, &layout->misfit) ||
        find_moved(sched, sched->leaf_ids, sched->prev_leaf_ids, sched->n_leafs, sched->leafs, true, &layout->misfit);
    layout->replanned = layout->backend_ids_changed ||
                        !sr_graph_allocator_fits(sched->allocator, &layout->view, &layout->misfit);
    layout->reallocated = layout->replanned && sched->n_backends > 1; /* alone, the allocator does it by itself */
    sr_status status = SR_OK;
    if (layout->replanned) {
        layout->unexpected = layout->reallocated && !layout->backend_ids_changed &&
                             layout->prev_graph_copy_size == layout->graph_copy_size;
        status = reserve_again(sched, err);
        sched->planned = true;
    }
    if (status == SR_OK) {
        status = sr_graph_allocator_assign(sched->allocator, &layout->view, sched->storage, sched->addresses, err);
    }
    if (status == SR_OK) {
        layout->view.storage = sched->storage;
        layout->addresses = sched->addresses;
    }
    return status;
}
