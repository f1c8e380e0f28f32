/*
 * split.c - pass 5: cuts the nodes into splits and decides which sources are copied into each.
 *
 * Layer: sched.  Answers to the second half of ggml_backend_sched_split_graph.  The graph's own sources stay; the
 * replaced ones stand in sched->srcs.
 */
#include "sched/sched_internal.h"

/* ---- copies -------------------------------------------------------------------------------------------------------------- */

static int32_t find_group(const sr_sched *sched, int32_t tensor, int backend) {
    int32_t g = sched->group_of[tensor];
    while (g >= 0 && sched->groups[g].backend != backend) {
        g = sched->groups[g].next;
    }
    return g;
}

int32_t sr__sched_copy_id(const sr_sched *sched, int32_t tensor, int backend, int slot) {
    const int32_t g = find_group(sched, tensor, backend);
    if (g < 0) {
        return -1;
    }
    if (sched->groups[g].is_input && slot == sched->cur_copy) {
        return tensor;
    }
    return sched->graph->n_tensors + sched->groups[g].first_extra + slot;
}

/* Copies of a tensor on a backend, one a slot. */
static sr_status add_group(sr_sched *sched, int32_t tensor, int backend, bool is_input, sr_error *err) {
    const int n_copies = sched->params.n_copies;
    if (!SR__GROW(sched, groups, sched->n_groups + 1) || !SR__GROW(sched, extra, sched->n_extra + n_copies)) {
        return sr__fail_memory(err);
    }
    sched->groups[sched->n_groups] =
        (sr__copy_group){sched->n_extra, sched->group_of[tensor], (int16_t)backend, is_input};
    sched->group_of[tensor] = sched->n_groups++;
    for (int c = 0; c < n_copies; c++) {
        sched->extra[sched->n_extra++] = (sr_extra){tensor, (int16_t)backend, (uint8_t)c, SR_EXTRA_COPY};
    }
    return SR_OK;
}

static sr_status fail_inputs(const sr_sched *sched, int32_t node, int count, const char *what, sr_error *err) {
    const sr_tensor *t = &sched->graph->tensors[node];
    const int limit = sched->params.max_split_inputs;
    sr__fail(err, SR_SPLIT_INPUTS, "node '%s' (%s) brings %s to %d inputs, the limit is %d", sr__sched_tensor_label(t),
             sr_tensor_op_desc(t), what, count, limit);
    sr__error_number(err, "split", sched->n_splits - 1);
    sr__error_text(err, "node", sr__sched_tensor_label(t));
    sr__error_number(err, "count", count);
    sr__error_number(err, "limit", limit);
    return SR_SPLIT_INPUTS;
}

/* With pipeline copies a user input gets a slot for each copy on its own backend; the current slot is the input. */
static sr_status copy_graph_input(sr_sched *sched, int32_t node, int32_t source, sr_error *err) {
    const int home = sched->backend_of[source];
    if (find_group(sched, source, home) >= 0) {
        return SR_OK;
    }
    const sr_status status = add_group(sched, source, home, true, err);
    if (status != SR_OK) {
        return status;
    }
    sched->cause_of[source] = SR_CAUSE_COPY;
    if (sched->n_graph_inputs >= sched->params.max_split_inputs && !sched->params.rules.inputs_grow) {
        return fail_inputs(sched, node, sched->n_graph_inputs + 1, "the list of user inputs", err);
    }
    if (!SR__GROW(sched, graph_inputs, sched->n_graph_inputs + 1)) {
        return sr__fail_memory(err);
    }
    sched->graph_inputs[sched->n_graph_inputs++] = source;
    return SR_OK;
}

static sr_status add_input(sr_sched *sched, sr_split *split, int32_t node, int32_t source, sr_error *err) {
    const sr_status status = add_group(sched, source, split->backend, false, err);
    if (status != SR_OK) {
        return status;
    }
    if (split->n_inputs >= sched->params.max_split_inputs && !sched->params.rules.inputs_grow) {
        return fail_inputs(sched, node, split->n_inputs + 1, "its split", err);
    }
    if (!SR__GROW(sched, inputs, sched->n_inputs + 1) || !SR__GROW(sched, input_copies, sched->n_inputs + 1)) {
        return sr__fail_memory(err);
    }
    sched->inputs[sched->n_inputs] = source;
    sched->input_copies[sched->n_inputs] = sr__sched_copy_id(sched, source, split->backend, sched->cur_copy);
    sched->n_inputs++;
    split->n_inputs++;
    return SR_OK;
}

static sr_status visit_source(sr_sched *sched, sr_split *split, int32_t node, int32_t place, sr_error *err) {
    const int32_t source = sched->srcs[place];
    if (source < 0) {
        return SR_OK;
    }
    sr_status status = SR_OK;
    const int home = sched->backend_of[source];
    if (home < 0) {
        const sr_tensor *t = &sched->graph->tensors[source];
        const sr_tensor *user = &sched->graph->tensors[node];
        sr__fail(err, SR_SOURCE_UNASSIGNED, "source '%s' of node '%s' has no backend", sr__sched_tensor_label(t),
                 sr__sched_tensor_label(user));
        sr__error_text(err, "tensor", sr__sched_tensor_label(t));
        sr__error_text(err, "node", sr__sched_tensor_label(user));
        return SR_SOURCE_UNASSIGNED;
    }
    if ((sched->hot[source].bits & SR__INPUT) && sched->params.n_copies > 1) {
        status = copy_graph_input(sched, node, source, err);
    }
    if (status == SR_OK && home != split->backend && !sr__sched_can_read(sched, source, split->backend)) {
        int32_t copy = sr__sched_copy_id(sched, source, split->backend, sched->cur_copy);
        if (copy < 0) {
            status = add_input(sched, split, node, source, err);
            copy = sr__sched_copy_id(sched, source, split->backend, sched->cur_copy);
        }
        sched->srcs[place] = copy;
    }
    return status;
}

/* ---- cutting ------------------------------------------------------------------------------------------------------------- */

/*
 * Whether a node of the split's own backend starts a new one all the same: because of weights on another backend (so
 * that the memory of weights copied before can be used again), or because the split is full.
 */
static bool needs_new_split(const sr_sched *sched, const sr_split *split, int32_t node, sr_split_reason *out_reason,
                            int32_t *out_source) {
    const sr__hot *hot = &sched->hot[node];
    const int backend = split->backend;
    const bool full = split->n_inputs == sched->params.max_split_inputs && !sched->params.rules.full_split_goes_on;
    for (int j = 0; j < hot->n_src; j++) {
        const int32_t source = sched->graph->srcs[hot->src_begin + j];
        if (source < 0) {
            continue;
        }
        const bool elsewhere = sched->backend_of[source] != backend && !sr__sched_can_read(sched, source, backend);
        *out_source = source;
        if (elsewhere && (sched->hot[source].bits & SR__WEIGHTS)) {
            *out_reason = SR_STARTS_WEIGHT;
            return true;
        }
        if (elsewhere && full && find_group(sched, source, backend) < 0) {
            *out_reason = SR_STARTS_FULL;
            return true;
        }
    }
    return false;
}

static sr_status start_split(sr_sched *sched, int backend, int32_t start, sr_split_reason reason, int32_t because,
                             sr_error *err) {
    const int max_splits = sched->params.rules.max_splits;
    if (max_splits > 0 && sched->n_splits == max_splits) {
        sr__fail(err, SR_LIMIT, "the graph needs more than %d splits, the limit of these rules", max_splits);
        sr__error_text(err, "node", sr__sched_tensor_label(&sched->graph->tensors[sched->graph->nodes[start]]));
        sr__error_number(err, "limit", max_splits);
        return SR_LIMIT;
    }
    if (!SR__GROW(sched, splits, sched->n_splits + 1)) {
        return sr__fail_memory(err);
    }
    if (sched->n_splits > 0) {
        sched->splits[sched->n_splits - 1].end = start;
    }
    sched->splits[sched->n_splits++] = (sr_split){.backend = backend,
                                                  .start = start,
                                                  .end = start,
                                                  .inputs_begin = sched->n_inputs,
                                                  .because = (int32_t)reason,
                                                  .because_tensor = because};
    return SR_OK;
}

/* Views carry no work: they neither choose the first backend nor start a split. */
static sr_status start_first(sr_sched *sched, int32_t *out_first, sr_error *err) {
    const sr_graph *graph = sched->graph;
    int32_t i = 0;
    while (i < graph->n_nodes && (sched->hot[graph->nodes[i]].bits & SR__VIEW_OP)) {
        i++;
    }
    if (i < graph->n_nodes) {
        sched->stale_first_backend = sched->backend_of[graph->nodes[i]];
    }
    *out_first = i;
    return start_split(sched, sched->stale_first_backend, 0, SR_STARTS_GRAPH, -1, err);
}

sr_status sr__sched_split(sr_sched *sched, sr_error *err) {
    const sr_graph *graph = sched->graph;
    int32_t i;
    sr_status status = start_first(sched, &i, err);
    if (status != SR_OK) {
        return status;
    }
    sr_split *split = &sched->splits[0];
    for (; i < graph->n_nodes; i++) {
        const int32_t node = graph->nodes[i];
        const sr__hot *hot = &sched->hot[node];
        if (hot->bits & SR__VIEW_OP) {
            continue;
        }
        const int backend = sched->backend_of[node];
        sr_split_reason reason = SR_STARTS_BACKEND;
        int32_t because = -1;
        if (backend != split->backend ||
            (split->n_inputs > 0 && needs_new_split(sched, split, node, &reason, &because))) {
            if (reason == SR_STARTS_BACKEND) {
                because = -1;
            }
            status = start_split(sched, backend, i, reason, because, err);
            if (status != SR_OK) {
                return status;
            }
            split = &sched->splits[sched->n_splits - 1];
        }
        for (int j = 0; j < hot->n_src; j++) {
            status = visit_source(sched, split, node, hot->src_begin + j, err);
            if (status != SR_OK) {
                return status;
            }
        }
    }
    split->end = graph->n_nodes;
    return SR_OK;
}
