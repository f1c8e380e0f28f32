/*
 * explain.c - an explainer: the decisions of a layout replayed pass by pass.
 *
 * Layer: analyze.  What a pass found is what stood after the one before; decisions stand in the order they were made.
 */
#include "analyze/explain_impl.h"

static const char *const step_names[SR_STEP_KIND_COUNT] = {"set", "noted", "kept", "left", "passed", "not_reached"};
static const char *const why_names[SR_WHY_KIND_COUNT] = {"refuses", "buffer",  "priority",  "neighbour",
                                                         "sources", "user",    "input",     "offload",
                                                         "offloaded", "follows", "failed"};

const char *sr_step_kind_name(int kind) { return kind >= 0 && kind < SR_STEP_KIND_COUNT ? step_names[kind] : ""; }
const char *sr_why_kind_name(int kind) { return kind >= 0 && kind < SR_WHY_KIND_COUNT ? why_names[kind] : ""; }

const char *sr_pass_text(int pass) {
    static const char *const texts[SR_PASS_COUNT] = {
        [SR_PASS_USER] = "What the program assigned by hand. No rule of passes 1, 2 and 4 overrules it.",
        [SR_PASS_1] = "Fixed points: memory that a tensor has already, user inputs (to the last backend), and ops with "
                      "weights (to where the weights are).",
        [SR_PASS_2_GPU_DOWN] = "Down the list: a node without a backend joins the one met last, if that supports it. "
                               "The last backend (the CPU) does not spread: it stops the others.",
        [SR_PASS_2_GPU_UP] = "The same up the list.",
        [SR_PASS_2_REST_DOWN] = "Down the list again; now the last backend spreads too.",
        [SR_PASS_2_REST_UP] = "The same up the list.",
        [SR_PASS_3] = "Nodes still without a backend go to the one that can read most of their sources. Others move up "
                      "to a higher backend with the same buffer type.",
        [SR_PASS_4] = "Views join what they view; sources without a backend join the node that reads them."};
    return pass >= 0 && pass < SR_PASS_COUNT ? texts[pass] : "";
}

/* ---- replaying ------------------------------------------------------------------------------------------------- */

static sr_status make_arrays(sr_explainer *e, sr_error *err) {
    const size_t n = (size_t)e->graph->n_tensors;
    const size_t n_nodes = (size_t)e->graph->n_nodes + 1;
    e->backend = sr__malloc((SR_PASS_COUNT + 1) * n * sizeof(*e->backend) + 1);
    e->cause = sr__calloc((SR_PASS_COUNT + 1) * n + 1, sizeof(*e->cause));
    e->last_decision = sr__malloc(SR_PASS_COUNT * n * sizeof(*e->last_decision) + 1);
    e->split_of = sr__malloc(n_nodes * sizeof(*e->split_of));
    bool ok = e->backend != NULL && e->cause != NULL && e->last_decision != NULL && e->split_of != NULL;
    for (int s = 0; s < SR__N_SWEEPS; s++) {
        e->neighbour[s] = sr__malloc(n_nodes * sizeof(int32_t));
        ok = ok && e->neighbour[s] != NULL;
    }
    return ok ? SR_OK : sr__fail_memory(err);
}

static void replay_decisions(sr_explainer *e) {
    const sr_layout *layout = e->layout;
    const size_t n = (size_t)e->graph->n_tensors;
    int32_t d = 0;
    memset(e->backend, 0xff, n * sizeof(*e->backend));
    memset(e->last_decision, 0xff, SR_PASS_COUNT * n * sizeof(*e->last_decision));
    for (int pass = 0; pass < SR_PASS_COUNT; pass++) {
        int16_t *backend = &e->backend[((size_t)pass + 1) * n];
        uint8_t *cause = &e->cause[((size_t)pass + 1) * n];
        memcpy(backend, backend - n, n * sizeof(*backend));
        memcpy(cause, cause - n, n);
        for (; d < layout->n_decisions && layout->decisions[d].pass == pass; d++) {
            const sr_decision *decision = &layout->decisions[d];
            backend[decision->tensor] = decision->to;
            cause[decision->tensor] = decision->cause;
            e->last_decision[(size_t)pass * n + (size_t)decision->tensor] = d;
        }
    }
}

/* As the sweeps see it: only what had a backend before the sweep is a neighbour; views are passed over. */
static void find_neighbours(sr_explainer *e) {
    const sr_graph *graph = e->graph;
    for (int s = 0; s < SR__N_SWEEPS; s++) {
        const int pass = SR_PASS_2_GPU_DOWN + s;
        int32_t last = -1;
        for (int32_t k = 0; k < graph->n_nodes; k++) {
            const int32_t position = sr__sweeps_up(pass) ? graph->n_nodes - 1 - k : k;
            const int32_t node = graph->nodes[position];
            e->neighbour[s][position] = last;
            if (!sr_op_is_view(graph->tensors[node].op) && sr__backend_before(e, pass, node) >= 0) {
                last = node;
            }
        }
    }
}

static void find_splits(sr_explainer *e) {
    const sr_layout *layout = e->layout;
    memset(e->split_of, 0xff, ((size_t)e->graph->n_nodes + 1) * sizeof(*e->split_of));
    for (int32_t i = 0; i < layout->n_splits && layout->status != SR_SPLIT_INPUTS; i++) {
        for (int32_t k = layout->splits[i].start; k < layout->splits[i].end; k++) {
            e->split_of[k] = i;
        }
    }
}

/* ---- schedules that failed ------------------------------------------------------------------------------------- */

/* A tensor with memory that pass 1 could not place: everything with memory gets a decision there. */
static bool was_refused_memory(const sr_explainer *e, int32_t tensor) {
    return sr__backend_before(e, SR_PASS_1, tensor) < 0 && sr__memory_of(e, tensor) != NULL &&
           e->last_decision[(size_t)SR_PASS_1 * (size_t)e->graph->n_tensors + (size_t)tensor] < 0;
}

static void find_failure(sr_explainer *e) {
    const sr_graph *graph = e->graph;
    e->last_pass = e->layout->status == SR_PREALLOCATED ? SR_PASS_1 : SR_PASS_4;
    e->failed_at = -1;
    if (e->layout->status == SR_PREALLOCATED) {
        for (int32_t i = 0; i < graph->n_leafs && e->failed_at < 0; i++) {
            e->failed_at = was_refused_memory(e, graph->leafs[i]) ? graph->leafs[i] : -1;
        }
        for (int32_t i = 0; i < graph->n_nodes && e->failed_at < 0; i++) {
            const bool passed_over =
                sr_op_is_view(graph->tensors[graph->nodes[i]].op) && !e->layout->params->rules.views_in_pass_1;
            e->failed_at = !passed_over && was_refused_memory(e, graph->nodes[i]) ? graph->nodes[i] : -1;
        }
    } else if (e->layout->status == SR_UNASSIGNED) {
        for (int32_t i = 0; i < graph->n_nodes && e->failed_at < 0; i++) {
            e->failed_at = sr__backend_after(e, SR_PASS_4, graph->nodes[i]) < 0 ? graph->nodes[i] : -1;
        }
    }
}

/* Leafs come before nodes.  Pass 4 reaches a leaf through a node that reads it. */
bool sr__pass_reached(const sr_explainer *e, int pass, int32_t tensor) {
    if (pass > e->last_pass) {
        return false;
    }
    if (e->failed_at < 0 || pass < e->last_pass || tensor == e->failed_at) {
        return true;
    }
    const int32_t node = sr__tensor_of(e, tensor)->node;
    const int32_t failed = sr__tensor_of(e, e->failed_at)->node;
    if (node >= 0 && failed >= 0) {
        return node < failed;
    }
    if (pass == SR_PASS_4) {
        return node >= 0 || sr__backend_after(e, pass, tensor) >= 0;
    }
    if (node >= 0 || failed >= 0) {
        return node < 0;
    }
    for (int32_t i = 0; i < e->graph->n_leafs; i++) {
        if (e->graph->leafs[i] == tensor || e->graph->leafs[i] == e->failed_at) {
            return e->graph->leafs[i] == tensor;
        }
    }
    return false;
}

/* ---- the explainer --------------------------------------------------------------------------------------------- */

static bool was_assigned(const sr_layout *layout) {
    switch (layout->status) {
    case SR_OK:
    case SR_PREALLOCATED:
    case SR_UNASSIGNED:
    case SR_SOURCE_UNASSIGNED:
    case SR_SPLIT_INPUTS:
    case SR_ALLOCATION:
    case SR_COMPUTE:
    case SR_UNREACHABLE:
    case SR_ABORTED:
        return true;
    default:
        return false;
    }
}

sr_status sr_explainer_new(const sr_layout *layout, sr_explainer **out_explainer, sr_error *err) {
    *out_explainer = NULL;
    if (layout == NULL || layout->graph == NULL || !was_assigned(layout)) {
        return sr__fail(err, SR_UNAVAILABLE, "nothing was assigned that could be explained");
    }
    if (!layout->params->record_decisions) {
        return sr__fail(err, SR_UNAVAILABLE, "the decisions of the passes were not recorded");
    }
    sr_explainer *e = sr__calloc(1, sizeof(*e));
    if (e == NULL) {
        return sr__fail_memory(err);
    }
    e->layout = layout;
    e->graph = layout->graph;
    e->view = sr_graph_whole(layout->graph);
    const sr_status status = make_arrays(e, err);
    if (status != SR_OK) {
        sr_explainer_free(e);
        return status;
    }
    replay_decisions(e);
    find_failure(e);
    find_neighbours(e);
    find_splits(e);
    *out_explainer = e;
    return SR_OK;
}

void sr_explainer_free(sr_explainer *e) {
    if (e == NULL) {
        return;
    }
    for (int s = 0; s < SR__N_SWEEPS; s++) {
        sr__free(e->neighbour[s]);
    }
    sr__free(e->backend);
    sr__free(e->cause);
    sr__free(e->last_decision);
    sr__free(e->split_of);
    sr__free(e);
}

int sr_explainer_backend_after(const sr_explainer *e, int pass, int32_t tensor) {
    return sr__backend_after(e, pass, tensor);
}

int sr_explainer_cause_after(const sr_explainer *e, int pass, int32_t tensor) {
    return e->cause[((size_t)pass + 1) * (size_t)e->graph->n_tensors + (size_t)tensor];
}

const sr_decision *sr_explainer_decision(const sr_explainer *e, int pass, int32_t tensor) {
    const int32_t d = e->last_decision[(size_t)pass * (size_t)e->graph->n_tensors + (size_t)tensor];
    return d >= 0 ? &e->layout->decisions[d] : NULL;
}

int sr_explainer_last_pass(const sr_explainer *e) { return e->last_pass; }

/* ---- explanations ---------------------------------------------------------------------------------------------- */

void sr_explanation_clear(sr_explanation *x) {
    for (int i = 0; i < x->n_steps; i++) {
        sr__free(x->steps[i].text);
    }
    for (int i = 0; i < x->n_why_not; i++) {
        sr__free(x->why_not[i].text);
    }
    for (int i = 0; i < x->n_hints; i++) {
        sr__free(x->hints[i]);
    }
    sr__free(x->steps);
    sr__free(x->why_not);
    sr__free(x->hints);
    *x = (sr_explanation){0};
}

sr_status sr_explain(sr_explainer *e, int32_t tensor, sr_explanation *out_explanation, sr_error *err) {
    sr_status status;
    if (tensor < 0 || tensor >= e->graph->n_tensors) {
        return sr__fail(err, SR_INVALID, "there is no tensor %d", (int)tensor);
    }
    const int32_t node = sr__tensor_of(e, tensor)->node;
    *out_explanation = (sr_explanation){.tensor = tensor,
                                        .backend = e->layout->backend_of[tensor],
                                        .cause = e->layout->cause_of[tensor],
                                        .split = node >= 0 ? e->split_of[node] : -1};
    e->out = out_explanation;
    e->err = err;
    SR_TRY(sr__explain_steps(e, tensor));
    SR_TRY(sr__explain_why_not(e, tensor));
    SR_TRY(sr__explain_hints(e, tensor));
done:
    if (status != SR_OK) {
        sr_explanation_clear(out_explanation);
    }
    return status;
}
