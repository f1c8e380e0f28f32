/*
 * report_facts.c - totals of a schedule by backend and by pair of backends.
 *
 * Layer: report.
 */
#include "report/report_facts.h"

static void count_nodes(sr__facts *facts, const sr_layout *layout) {
    const sr_graph *graph = layout->graph;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const int32_t tensor = graph->nodes[i];
        const int backend = layout->backend_of[tensor];
        if (sr_op_is_view(graph->tensors[tensor].op)) {
            facts->n_views++;
        } else if (backend >= 0) {
            facts->backends[backend].nodes++;
        }
    }
}

static void count_weights(sr__facts *facts, const sr_layout *layout) {
    const sr_graph *graph = layout->graph;
    for (int32_t i = 0; i < graph->n_leafs; i++) {
        const sr_tensor *t = &graph->tensors[graph->leafs[i]];
        const int backend = layout->backend_of[graph->leafs[i]];
        if (backend >= 0 && t->view_src < 0 && t->buffer != NULL && t->buffer->usage == SR_USAGE_WEIGHTS) {
            facts->backends[backend].weights += t->nbytes;
        }
    }
}

static void count_split(sr__facts *facts, const sr_layout *layout, int32_t i, sr__pair_total *pairs) {
    const sr_split *split = &layout->splits[i];
    facts->backends[split->backend].splits++;
    for (int32_t j = 0; j < split->n_inputs; j++) {
        const int32_t input = layout->inputs[split->inputs_begin + j];
        const sr_tensor *t = &layout->graph->tensors[input];
        facts->copied += t->nbytes;
        facts->backends[split->backend].copied_in += t->nbytes;
        const int from = layout->backend_of[input];
        if (from < 0) {
            continue;
        }
        sr__pair_total *pair = &pairs[from * layout->n_backends + split->backend];
        if (pair->copies == 0 || t->nbytes > layout->graph->tensors[pair->largest].nbytes) {
            pair->largest = input;
            pair->largest_split = i;
        }
        pair->copies++;
        pair->bytes += t->nbytes;
    }
}

static void count_splits(sr__facts *facts, const sr_layout *layout) {
    const int n = layout->n_backends;
    for (int32_t i = 0; i < layout->n_splits; i++) {
        count_split(facts, layout, i, facts->pairs);
    }
    for (int from = 0; from < n; from++) {
        for (int to = 0; to < n; to++) {
            const sr__pair_total pair = facts->pairs[from * n + to];
            if (pair.copies > 0) {
                facts->pairs[facts->n_pairs] = pair;
                facts->pairs[facts->n_pairs].from = from;
                facts->pairs[facts->n_pairs++].to = to;
            }
        }
    }
}

/* A later pass may set what an earlier one had set: the last decision with the final cause is the one that counts. */
static void find_decisions(sr__facts *facts, const sr_layout *layout) {
    for (int32_t i = 0; i < layout->graph->n_tensors; i++) {
        facts->decision_of[i] = -1;
    }
    for (int32_t i = 0; layout->decisions != NULL && i < layout->n_decisions; i++) {
        const sr_decision *d = &layout->decisions[i];
        if (d->tensor < layout->graph->n_tensors && d->cause == layout->cause_of[d->tensor]) {
            facts->decision_of[d->tensor] = i;
        }
    }
}

sr_status sr__facts_init(sr__facts *facts, const sr_layout *layout, sr_error *err) {
    const size_t n = (size_t)layout->n_backends;
    const size_t n_tensors = (size_t)layout->graph->n_tensors;
    *facts = (sr__facts){0};
    facts->backends = sr__calloc(n, sizeof(*facts->backends));
    facts->pairs = sr__calloc(n * n, sizeof(*facts->pairs));
    facts->decision_of = sr__malloc((n_tensors > 0 ? n_tensors : 1) * sizeof(*facts->decision_of));
    if (facts->backends == NULL || facts->pairs == NULL || facts->decision_of == NULL) {
        sr__facts_free(facts);
        return sr__fail_memory(err);
    }
    find_decisions(facts, layout);
    count_nodes(facts, layout);
    count_weights(facts, layout);
    count_splits(facts, layout);
    for (int b = 0; b < layout->n_backends && layout->compute_buffer_size != NULL; b++) {
        facts->backends[b].compute = layout->compute_buffer_size[b];
    }
    return SR_OK;
}

void sr__facts_free(sr__facts *facts) {
    sr__free(facts->backends);
    sr__free(facts->pairs);
    sr__free(facts->decision_of);
    *facts = (sr__facts){0};
}
