/*
 * lint_stale_input.c - finding `stale-input`: a copy of a split input is read after the original was written again.
 *
 * Layer: analyze.  Inputs are copied when their split begins, once for a backend: later splits of that backend read the
 * same copy.  A node that writes the original's storage after that moment, through another view or because the input is
 * a view that was assigned away from what it views, leaves old data in the copy.  A reader that stands before the
 * writer is right to see the old data; a node that only names a tensor as its destination reads nothing.
 */
#include <stdio.h>

#include "analyze/finding.h"
#include "analyze/storage.h"

/* Nodes that write into each storage, latest first: for every node the one before it that writes there. */
typedef struct writers {
    sr__storage_map map;
    int32_t *last;     /* by tensor that calls a storage: position of its last writer, -1 */
    int32_t *previous; /* by position */
} writers;

static bool writers_init(writers *w, const sr_graph *graph) {
    *w = (writers){0};
    if (!sr__storage_init(&w->map, graph)) {
        return false;
    }
    w->last = sr__malloc(((size_t)graph->n_tensors + 1) * sizeof(*w->last));
    w->previous = sr__malloc(((size_t)graph->n_nodes + 1) * sizeof(*w->previous));
    if (!w->last || !w->previous) {
        return false;
    }
    memset(w->last, 0xff, (size_t)graph->n_tensors * sizeof(*w->last));
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const int32_t node = graph->nodes[i];
        if (sr__writes(&graph->tensors[node])) {
            const int32_t storage = sr__storage_of(&w->map, node);
            w->previous[i] = w->last[storage];
            w->last[storage] = i;
        }
    }
    return true;
}

static void writers_free(writers *w) {
    sr__storage_free(&w->map);
    sr__free(w->last);
    sr__free(w->previous);
}

/* The last node from position `begin` on, before position `end`, that writes bytes of the input; -1: none. */
static int32_t find_writer(const writers *w, const sr_graph *graph, int32_t input, int32_t begin, int32_t end) {
    for (int32_t i = w->last[sr__storage_of(&w->map, input)]; i >= begin; i = w->previous[i]) {
        if (i < end && sr__storage_overlaps(&w->map, graph->nodes[i], input)) {
            return i;
        }
    }
    return -1;
}

/* Inputs of one backend of which one node's writing is missed are told of together. */
typedef struct stale { int32_t split, place, writer; sr__reads reads; } stale;

static bool hint(const sr_layout *layout, const stale *found, sr_finding *finding) {
    const sr_graph *graph = layout->graph;
    const int32_t input = layout->inputs[found->place];
    const char *name = sr__label(graph, input);
    const int32_t root = sr__root_of(graph, input);
    const int home = layout->backend_of[root];
    if (root != input && home >= 0 && layout->backend_of[input] != home) {
        return sr__finding_hint(finding, "'%s' is a view of '%s', which is on %s: leave it there (-A '%s=%s')", name,
                                sr__label(graph, root), layout->backends[home]->name, name,
                                layout->backends[home]->name);
    }
    return sr__finding_hint(finding,
                            "have '%s' read the result of '%s' instead of '%s': then it is copied after it was written",
                            sr__label(graph, graph->nodes[found->reads.last]),
                            sr__label(graph, graph->nodes[found->writer]), name);
}

static bool report(const sr_layout *layout, const stale *found, sr_findings *findings) {
    const sr_graph *graph = layout->graph;
    const int32_t input = layout->inputs[found->place];
    const int32_t writer = graph->nodes[found->writer], reader = graph->nodes[found->reads.last];
    const sr_split *split = &layout->splits[found->split];
    const char *backend = layout->backends[split->backend]->name;
    sr_finding *finding = sr__finding_add(findings, "stale-input", SR_SEVERITY_ERROR);
    if (!finding) {
        return false;
    }
    finding->bytes = graph->tensors[input].nbytes;
    return sr__finding_tensor(finding, sr__label(graph, input)) &&
           sr__finding_tensor(finding, sr__label(graph, writer)) &&
           sr__finding_tensor(finding, sr__label(graph, reader)) &&
           sr__finding_say(finding,
                           "'%s' is copied to %s when split %d begins, but %s '%s' (node %d, on %s) writes its "
                           "memory %s: '%s' (node %d) then reads old data from the copy",
                           sr__label(graph, input), backend, (int)found->split,
                           sr_tensor_op_desc(&graph->tensors[writer]), sr__label(graph, writer), (int)found->writer,
                           layout->backend_of[writer] >= 0 ? layout->backends[layout->backend_of[writer]]->name : "-",
                           found->writer < split->end ? "later in that split" : "in a later split",
                           sr__label(graph, reader), (int)found->reads.last) &&
           sr__finding_text(finding, "backend", backend) && sr__finding_number(finding, "split", found->split) &&
           sr__finding_text(finding, "writer", sr__label(graph, writer)) &&
           sr__finding_text(finding, "reader", sr__label(graph, reader)) && hint(layout, found, finding);
}

sr_status sr__lint_stale_input(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    const sr_layout *layout = input->layout;
    const sr_graph *graph = layout->graph;
    writers w;
    bool ok = layout->n_inputs == 0 || writers_init(&w, graph);
    if (layout->n_inputs == 0) {
        return SR_OK;
    }
    sr__reads *reads = ok ? sr__copy_reads(layout) : NULL;
    ok = reads != NULL;
    for (int32_t s = 0; s < layout->n_splits && ok; s++) {
        const sr_split *split = &layout->splits[s];
        for (int32_t k = split->inputs_begin; k < split->inputs_begin + split->n_inputs && ok; k++) {
            const stale found = {s, k, find_writer(&w, graph, layout->inputs[k], split->start, reads[k].last),
                                 reads[k]};
            ok = found.writer < 0 || report(layout, &found, findings);
        }
    }
    sr__free(reads);
    writers_free(&w);
    return ok ? SR_OK : sr__fail_memory(err);
}
