/*
 * lint_history.c - what the lints over a sequence of runs remember.
 *
 * Layer: analyze.
 */
#include "analyze/lint_history.h"

sr_status sr_lint_history_new(sr_lint_history **out_history, sr_error *err) {
    *out_history = sr__calloc(1, sizeof(**out_history));
    return *out_history != NULL ? SR_OK : sr__fail_memory(err);
}

void sr_lint_history_free(sr_lint_history *history) { sr__free(history); }

/* ---- hashes ----------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 29);
}

uint64_t sr__topology_of(const sr_layout *layout) {
    const sr_graph_view *view = &layout->view;
    const sr_graph *graph = layout->graph;
    uint64_t hash = mix((uint64_t)view->n_nodes, (uint64_t)view->n_leafs);
    for (int32_t i = 0; i < view->n_nodes; i++) {
        hash = mix(hash, (uint64_t)sr_view_op(view, view->nodes[i]));
    }
    return sr__hash_bytes(hash, graph->srcs, (size_t)graph->n_srcs * sizeof(*graph->srcs));
}

/* The slots of a copy take turns, and each keeps its place: they count as one. */
static uint64_t mix_ids(uint64_t hash, const sr_graph_view *view, const int32_t *ids, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        if (ids[i] < view->graph->n_tensors) {
            hash = mix(hash, (uint64_t)(ids[i] + 1));
        } else {
            const sr_extra *extra = &view->extra[ids[i] - view->graph->n_tensors];
            hash = mix(hash, (uint64_t)extra->of << 24 | (uint64_t)(uint16_t)extra->backend << 8 | (extra->kind + 1u));
        }
    }
    return hash;
}

sr__plan_print sr__plan_print_of(const sr_layout *layout) {
    const sr_graph_view *view = &layout->view;
    const sr_graph *graph = layout->graph;
    const int32_t n_ids = graph->n_tensors + view->n_extra;
    sr__plan_print print = {0};
    for (int32_t i = 0; i < view->n_leafs; i++) {
        print.leafs = mix(print.leafs, sr_view_tensor(view, view->leafs[i])->nbytes);
    }
    print.lifetimes = mix_ids(1, view, view->nodes, view->n_nodes);
    print.lifetimes = mix_ids(print.lifetimes, view, view->srcs, graph->n_srcs);
    for (int32_t id = 0; id < n_ids; id++) {
        print.flags = mix(print.flags, sr_view_flags(view, id) & (SR_FLAG_INPUT | SR_FLAG_OUTPUT));
    }
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        const sr_tensor *t = &graph->tensors[i];
        print.lifetimes = mix(print.lifetimes, (uint64_t)(t->view_src + 1));
        print.shapes = mix(print.shapes, (uint64_t)t->op << 8 | t->type);
        print.shapes = mix(print.shapes, t->nb[1] ^ t->nb[2] << 20 ^ t->nb[3] << 40);
        print.shapes = mix(print.shapes, t->nbytes ^ (uint64_t)t->ne[0] << 32);
    }
    return print;
}

/* ---- remembering ------------------------------------------------------------------------------------------------ */

void sr__lint_history_advance(sr_lint_history *history, const sr_layout *layout) {
    memmove(&history->marks[1], &history->marks[0], (SR__MARKS - 1) * sizeof(history->marks[0]));
    history->marks[0] = (sr__run_mark){sr__topology_of(layout), layout->replanned, layout->reserve};
    history->n_marks += history->n_marks < SR__MARKS;
    if (layout->replanned || layout->reserve) {
        history->plan = sr__plan_print_of(layout);
        history->has_plan = true;
    }
}
