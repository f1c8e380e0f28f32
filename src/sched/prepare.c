/*
 * prepare.c - what the passes need to know of a graph: compact tensor facts, buffer types, backends' answers.
 *
 * Layer: sched.  A backend is asked once per class of tensors (graph.h) and graph; the answers are bytes in a table.
 */
#include "sched/sched_internal.h"

int sr__sched_type_index(sr_sched *sched, const sr_buffer_type *type) {
    for (int i = 0; i < sched->n_types; i++) {
        if (sched->types[i] == type) {
            return i;
        }
    }
    const size_t n = (size_t)sched->n_types + 1;
    if (n > INT16_MAX || !SR__GROW(sched, types, n) || !SR__GROW(sched, accepts, n * (size_t)sched->n_backends)) {
        return -1;
    }
    sched->types[sched->n_types] = type;
    for (int b = 0; b < sched->n_backends; b++) {
        sched->accepts[sched->n_types * sched->n_backends + b] = sr_backend_supports_buffer_type(sched->backends[b], type);
    }
    return sched->n_types++;
}

static uint8_t *answer_of(sr_sched *sched, uint8_t *table, int32_t tensor, int backend) {
    return &table[(size_t)sched->hot[tensor].class_id * (size_t)sched->n_backends + (size_t)backend];
}

bool sr__sched_ask_supports(sr_sched *sched, int32_t tensor, int backend) {
    const sr_graph_view view = sr_graph_whole(sched->graph);
    const bool yes = sr_backend_supports_op(sched->backends[backend], &view, tensor, NULL);
    *answer_of(sched, sched->supports, tensor, backend) = yes ? 2 : 1;
    return yes;
}

bool sr__sched_ask_offload(sr_sched *sched, int32_t tensor, int backend) {
    uint8_t *answer = answer_of(sched, sched->offloads, tensor, backend);
    if (*answer == 0) {
        const sr_graph_view view = sr_graph_whole(sched->graph);
        *answer = sr_backend_offload_op(sched->backends[backend], &view, tensor) ? 2 : 1;
    }
    return *answer == 2;
}

/* Answers of the last graph serve again when the same graph is scheduled again. */
static sr_status prepare_answers(sr_sched *sched, const sr_graph *graph, sr_error *err) {
    if (sched->answers_uid == graph->uid) {
        return SR_OK;
    }
    const size_t n = (size_t)graph->n_classes * (size_t)sched->n_backends;
    sched->answers_uid = 0;
    if (!SR__GROW(sched, supports, n + 1) || !SR__GROW(sched, offloads, n + 1)) {
        return sr__fail_memory(err);
    }
    memset(sched->supports, 0, n);
    memset(sched->offloads, 0, n);
    sched->answers_uid = graph->uid;
    return SR_OK;
}

static bool heat(sr_sched *sched, const sr_graph *graph) {
    const sr_buffer *last_buffer = NULL;
    int last_type = -1;
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        const sr_tensor *t = &graph->tensors[i];
        const sr_buffer *buffer = t->view_src >= 0 ? graph->tensors[t->view_src].buffer : t->buffer;
        uint8_t bits = sr_op_is_view(t->op) ? SR__VIEW_OP : 0;
        int type = -1;
        if (buffer) {
            if (buffer != last_buffer) {
                last_type = sr__sched_type_index(sched, buffer->type);
                last_buffer = buffer;
            }
            type = last_type;
            if (type < 0) {
                return false;
            }
        }
        if (t->buffer) {
            bits |= SR__OWN_BUFFER;
            bits |= t->buffer->usage == SR_USAGE_WEIGHTS ? SR__WEIGHTS : 0;
        }
        bits |= t->flags & SR_FLAG_INPUT ? SR__INPUT : 0;
        sched->hot[i] = (sr__hot){t->src_begin, t->view_src, t->class_id, t->n_src, bits, (int16_t)type};
    }
    return true;
}

static sr_status apply_users(sr_sched *sched, const sr_graph *graph, sr_error *err) {
    for (int i = 0; i < sched->n_users; i++) {
        const sr__user_assignment *u = &sched->users[i];
        if (u->graph_uid != graph->uid) {
            continue;
        }
        const sr_status status =
            sr__sched_decide(sched, SR_PASS_USER, u->tensor, u->backend, SR_CAUSE_USER, -1, err);
        if (status != SR_OK) {
            return status;
        }
    }
    return SR_OK;
}

sr_status sr__sched_prepare(sr_sched *sched, const sr_graph *graph, sr_error *err) {
    const size_t n = (size_t)graph->n_tensors;
    sched->graph = graph;
    sched->n_groups = 0;
    sched->n_extra = 0;
    sched->n_decisions = 0;
    sched->n_splits = 0;
    sched->n_inputs = 0;
    sched->n_graph_inputs = 0;
    /* readers of an empty graph's arrays still get some */
    if (!SR__GROW(sched, hot, n) || !SR__GROW(sched, backend_of, n + 1) || !SR__GROW(sched, cause_of, n + 1) ||
        !SR__GROW(sched, group_of, n) || !SR__GROW(sched, srcs, graph->n_srcs) ||
        (sched->params.record_decisions && !SR__GROW(sched, decisions, n))) {
        return sr__fail_memory(err);
    }
    if (n > 0) {
        memset(sched->backend_of, 0xff, n * sizeof(*sched->backend_of));
        memset(sched->group_of, 0xff, n * sizeof(*sched->group_of));
        memset(sched->cause_of, SR_CAUSE_NONE, n);
    }
    if (graph->n_srcs > 0) {
        memcpy(sched->srcs, graph->srcs, (size_t)graph->n_srcs * sizeof(*sched->srcs));
    }
    if (!heat(sched, graph)) {
        return sr__fail_memory(err);
    }
    const sr_status status = prepare_answers(sched, graph, err);
    return status == SR_OK ? apply_users(sched, graph, err) : status;
}
