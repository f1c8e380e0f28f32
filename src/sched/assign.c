/*
 * assign.c - passes 1 to 4: which backend each tensor belongs to, and why.
 *
 * Layer: sched.  Answers to the first half of ggml_backend_sched_split_graph.  A cause may be noted although the lookup
 * found no backend (to = -1): the reference prints it, so it stays.
 */
#include "sched/sched_internal.h"

const char *sr__sched_tensor_label(const sr_tensor *tensor) { return tensor->name[0] ? tensor->name : tensor->id; }

bool sr__sched_more_decisions(sr_sched *sched) { return SR__GROW(sched, decisions, sched->n_decisions + 1); }

/* ---- pass 1: buffers, user inputs, weights ---------------------------------------------------------------------------- */

/* The highest backend that accepts the buffer type and supports the op, or -1. */
static int backend_for(sr_sched *sched, int type, int32_t op) {
    for (int b = 0; b < sched->n_backends; b++) {
        if (sr__sched_accepts(sched, b, type) && sr__sched_supports(sched, op, b)) {
            return b;
        }
    }
    return -1;
}

static sr_status fail_preallocated(const sr_sched *sched, int32_t tensor, sr_error *err) {
    const sr_tensor *t = &sched->graph->tensors[tensor];
    const char *type = sched->types[sched->hot[tensor].type]->name;
    const char *op = sr_tensor_op_name(t);
    sr__fail(err, SR_PREALLOCATED, "tensor '%s' is pre-allocated in a %s buffer, but no backend takes both that buffer type and %s",
             sr__sched_tensor_label(t), type, op);
    sr__error_text(err, "tensor", sr__sched_tensor_label(t));
    sr__error_text(err, "buffer_type", type);
    sr__error_text(err, "op", op);
    return SR_PREALLOCATED;
}

/* A higher backend that asks for an op whose weights are in host memory, or -1. */
static int backend_to_offload(sr_sched *sched, int32_t tensor) {
    for (int b = 0; b < sched->n_backends - 1; b++) {
        if (sr__sched_supports(sched, tensor, b) && sr__sched_ask_offload(sched, tensor, b)) {
            return b;
        }
    }
    return -1;
}

/* Ops with weights go where the weights are.  The frequency factors of ROPE are too small to decide its place, and by
 * later rules so are the sinks of attention. */
static sr_status assign_by_weights(sr_sched *sched, int32_t tensor, sr_error *err) {
    const sr__hot *hot = &sched->hot[tensor];
    const sr_sched_rules *rules = &sched->params.rules;
    const int op = sched->graph->tensors[tensor].op;
    if (op == SR_OP_ROPE || (op == SR_OP_FLASH_ATTN_EXT && rules->attention_ignores_weights)) {
        return SR_OK;
    }
    const bool may_offload = sched->params.op_offload || !rules->op_offload_switch;
    for (int j = 0; j < hot->n_src; j++) {
        const int32_t source = sched->graph->srcs[hot->src_begin + j];
        if (source < 0 || !(sched->hot[source].bits & SR__WEIGHTS)) {
            continue;
        }
        const int type = sched->hot[source].type;
        const int home = backend_for(sched, type, tensor);
        if (may_offload && home == sched->n_backends - 1 &&
            (sched->types[type]->is_host || !rules->offload_host_only)) {
            const int b = backend_to_offload(sched, tensor);
            if (b >= 0) {
                return sr__sched_decide(sched, SR_PASS_1, tensor, b, SR_CAUSE_OFFLOAD, source, err);
            }
        }
        return sr__sched_decide(sched, SR_PASS_1, tensor, home, SR_CAUSE_WGT0 + j, source, err);
    }
    return SR_OK;
}

static sr_status assign_from_current(sr_sched *sched, int32_t tensor, sr_error *err) {
    const sr__hot *hot = &sched->hot[tensor];
    if (hot->type >= 0) {
        const int b = backend_for(sched, hot->type, tensor);
        if (b < 0) {
            return fail_preallocated(sched, tensor, err);
        }
        return sr__sched_decide(sched, SR_PASS_1, tensor, b, SR_CAUSE_DST, hot->view_src, err);
    }
    if (hot->bits & SR__INPUT) {
        return sr__sched_decide(sched, SR_PASS_1, tensor, sched->n_backends - 1, SR_CAUSE_INPUT, -1, err);
    }
    return assign_by_weights(sched, tensor, err);
}

static sr_status pass_1(sr_sched *sched, sr_error *err) {
    const sr_graph *graph = sched->graph;
    sr_status status = SR_OK;
    for (int32_t i = 0; i < graph->n_leafs && status == SR_OK; i++) {
        if (sched->backend_of[graph->leafs[i]] < 0) {
            status = assign_from_current(sched, graph->leafs[i], err);
        }
    }
    sched->n_unassigned = 0;
    for (int32_t i = 0; i < graph->n_nodes && status == SR_OK; i++) {
        const int32_t node = graph->nodes[i];
        const bool is_view = sched->hot[node].bits & SR__VIEW_OP;
        if (sched->backend_of[node] < 0 && !(is_view && !sched->params.rules.views_in_pass_1)) {
            status = assign_from_current(sched, node, err);
        }
        sched->n_unassigned += !is_view && sched->backend_of[node] < 0;
    }
    return status;
}

/* ---- pass 2: backends spread to their neighbours ---------------------------------------------------------------------- */

/*
 * One sweep over the nodes, up or down: an unassigned node joins the backend met last if that supports it.  The first
 * two sweeps let the last backend (the CPU) stop the spreading instead, so that it only gets what nobody else takes.
 */
static sr_status spread(sr_sched *sched, sr_pass pass, bool up, bool skip_last, sr_error *err) {
    const sr_graph *graph = sched->graph;
    const int32_t n = graph->n_nodes;
    int current = -1;
    int32_t because = -1;
    for (int32_t k = 0; k < n && sched->n_unassigned > 0; k++) {
        const int32_t node = graph->nodes[up ? n - 1 - k : k];
        if (sched->hot[node].bits & SR__VIEW_OP) {
            continue;
        }
        const int have = sched->backend_of[node];
        if (have >= 0) {
            current = skip_last && have == sched->n_backends - 1 ? -1 : have;
            because = node;
        } else if (current >= 0 && sr__sched_supports(sched, node, current)) {
            const sr_status status = sr__sched_decide(sched, pass, node, current, SR_CAUSE_SUP, because, err);
            if (status != SR_OK) {
                return status;
            }
            sched->n_unassigned--;
        }
    }
    return SR_OK;
}

/* ---- pass 3: upgrades, and the rest by their sources ------------------------------------------------------------------- */

static int count_readable(const sr_sched *sched, int32_t node, int backend) {
    const sr__hot *hot = &sched->hot[node];
    int n = 0;
    for (int j = 0; j < hot->n_src; j++) {
        const int32_t source = sched->graph->srcs[hot->src_begin + j];
        if (source < 0) {
            continue;
        }
        const int32_t root = sched->hot[source].view_src;
        const bool assigned = sched->backend_of[source] >= 0 || (root >= 0 && sched->backend_of[root] >= 0);
        n += assigned && sr__sched_can_read(sched, source, backend);
    }
    return n;
}

/* The supporting backend that can read most sources.  Every better one found on the way counts at once, as in the
 * reference: a node that is its own source sees the assignment made so far. */
static sr_status assign_best(sr_sched *sched, int32_t node, sr_error *err) {
    int best = -1;
    for (int b = 0; b < sched->n_backends; b++) {
        if (!sr__sched_supports(sched, node, b)) {
            continue;
        }
        const int n = count_readable(sched, node, b);
        if (n > best) {
            best = n;
            const sr_status status = sr__sched_decide(sched, SR_PASS_3, node, b, SR_CAUSE_BEST, -1, err);
            if (status != SR_OK) {
                return status;
            }
        }
    }
    return SR_OK;
}

static bool can_read_all(const sr_sched *sched, int32_t node, int backend) {
    const sr__hot *hot = &sched->hot[node];
    for (int j = 0; j < hot->n_src; j++) {
        const int32_t source = sched->graph->srcs[hot->src_begin + j];
        if (source >= 0 && !sr__sched_can_read(sched, source, backend)) {
            return false;
        }
    }
    return true;
}

static sr_status upgrade(sr_sched *sched, int32_t node, sr_error *err) {
    const int have = sched->backend_of[node];
    if (!sched->shares_higher[have]) {
        return SR_OK;
    }
    for (int b = 0; b < have; b++) {
        if (sched->buffer_types[b] == sched->buffer_types[have] && sr__sched_supports(sched, node, b) &&
            can_read_all(sched, node, b)) {
            return sr__sched_decide(sched, SR_PASS_3, node, b, SR_CAUSE_UPG, -1, err);
        }
    }
    return SR_OK;
}

static sr_status pass_3(sr_sched *sched, sr_error *err) {
    const sr_graph *graph = sched->graph;
    if (sched->n_unassigned == 0 && !sched->any_shares_higher) {
        return SR_OK; /* nothing is left over and nothing can move up */
    }
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const int32_t node = graph->nodes[i];
        if (sched->hot[node].bits & SR__VIEW_OP) {
            continue;
        }
        const sr_status status =
            sched->backend_of[node] < 0 ? assign_best(sched, node, err) : upgrade(sched, node, err);
        if (status != SR_OK) {
            return status;
        }
    }
    return SR_OK;
}

/* ---- pass 4: views and sources ------------------------------------------------------------------------------------------ */

static sr_status fail_unassigned(sr_sched *sched, int32_t node, sr_error *err) {
    const sr_tensor *t = &sched->graph->tensors[node];
    const sr_graph_view view = sr_graph_whole(sched->graph);
    sr__str why = {0};
    for (int b = 0; b < sched->n_backends; b++) {
        sr_refusal refusal = {0};
        sr_backend_supports_op(sched->backends[b], &view, node, &refusal);
        sr__str_printf(&why, "%s%s: %s", b ? "; " : "", sched->backends[b]->name,
                       refusal.text ? refusal.text : "does not support it");
    }
    sr__fail(err, SR_UNASSIGNED, "node '%s' (%s) has no backend: %s", sr__sched_tensor_label(t), sr_tensor_op_desc(t),
             sr__str_text(&why));
    sr__error_text(err, "node", sr__sched_tensor_label(t));
    sr__error_text(err, "op", sr_tensor_op_desc(t));
    sr__error_text(err, "refusals", sr__str_text(&why));
    /* Weights in a buffer that the CPU cannot use for this op are the usual reason: name them. */
    const sr__hot *hot = &sched->hot[node];
    for (int j = 0; j < hot->n_src; j++) {
        const int32_t source = sched->graph->srcs[hot->src_begin + j];
        if (source >= 0 && sched->hot[source].type >= 0 && backend_for(sched, sched->hot[source].type, node) < 0) {
            sr__error_text(err, "source", sr__sched_tensor_label(&sched->graph->tensors[source]));
            sr__error_text(err, "buffer_type", sched->types[sched->hot[source].type]->name);
            break;
        }
    }
    sr__str_free(&why);
    return SR_UNASSIGNED;
}

static sr_status assign_sources(sr_sched *sched, int32_t node, sr_error *err) {
    const sr__hot *hot = &sched->hot[node];
    sr_status status = SR_OK;
    for (int j = 0; j < hot->n_src && status == SR_OK; j++) {
        const int32_t source = sched->graph->srcs[hot->src_begin + j];
        if (source < 0 || sched->backend_of[source] >= 0) {
            continue;
        }
        const int32_t root = sched->hot[source].view_src;
        if (root >= 0) {
            status = sr__sched_decide(sched, SR_PASS_4, source, sched->backend_of[root], SR_CAUSE_VSRC4, root, err);
        } else {
            status = sr__sched_decide(sched, SR_PASS_4, source, sched->backend_of[node], SR_CAUSE_CUR, node, err);
        }
    }
    return status;
}

static sr_status pass_4(sr_sched *sched, sr_error *err) {
    const sr_graph *graph = sched->graph;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const int32_t node = graph->nodes[i];
        const int32_t root = sched->hot[node].view_src;
        sr_status status = SR_OK;
        if (root >= 0 && sched->backend_of[node] < 0) {
            status = sr__sched_decide(sched, SR_PASS_4, node, sched->backend_of[root], SR_CAUSE_VSRC4, root, err);
        }
        if (status == SR_OK) {
            status = assign_sources(sched, node, err);
        }
        for (int b = 0; b < sched->n_backends && status == SR_OK && sched->backend_of[node] < 0; b++) {
            if (sr__sched_supports(sched, node, b)) {
                status = sr__sched_decide(sched, SR_PASS_4, node, b, SR_CAUSE_SUP, -1, err);
            }
        }
        if (status == SR_OK && sched->backend_of[node] < 0) {
            status = fail_unassigned(sched, node, err);
        }
        if (status != SR_OK) {
            return status;
        }
    }
    return SR_OK;
}

sr_status sr__sched_assign(sr_sched *sched, sr_error *err) {
    sr_status status;
    SR_TRY(pass_1(sched, err));
    SR_TRY(spread(sched, SR_PASS_2_GPU_DOWN, false, true, err));
    SR_TRY(spread(sched, SR_PASS_2_GPU_UP, true, true, err));
    SR_TRY(spread(sched, SR_PASS_2_REST_DOWN, false, false, err));
    SR_TRY(spread(sched, SR_PASS_2_REST_UP, true, false, err));
    SR_TRY(pass_3(sched, err));
    SR_TRY(pass_4(sched, err));
done:
    return status;
}
