/*
 * lint_alias.c - finding `alias`: a node writes into a tensor that is stored where its backend cannot reach.
 *
 * Layer: analyze.  The scheduler copies what a node reads to the node's backend, never what it writes back.  So a node
 * whose result lies in another tensor (SET_ROWS, CPY, anything in place) must run where that tensor is stored.  What
 * counts is the storage, the root of all views, not which tensor the node names as its source.  A node with memory of
 * its own is looked at as well: the allocator may have put it over a source that lies elsewhere.
 */
#include <stdio.h>

#include "analyze/finding.h"
#include "analyze/storage.h"

/* Nodes of one op that fail to reach the same memory from the same backend. */
typedef struct group {
    const char *op;
    int backend;
    const sr_buffer_type *type;
    int32_t first;     /* node */
    int32_t n;
    uint64_t bytes;    /* of destinations that are copied to the backend, for nothing */
    int place;         /* of its finding: the list moves when it grows */
} group;

typedef struct groups { group *items; size_t n, cap; } groups;

static group *find_group(groups *all, const char *op, int backend, const sr_buffer_type *type) {
    for (size_t i = 0; i < all->n; i++) {
        group *g = &all->items[i];
        if (g->backend == backend && g->type == type && strcmp(g->op, op) == 0) {
            return g;
        }
    }
    if (!sr__grow(&all->items, &all->cap, all->n + 1, sizeof(*all->items))) {
        return NULL;
    }
    all->items[all->n] = (group){.op = op, .backend = backend, .type = type, .first = -1, .place = -1};
    return &all->items[all->n++];
}

/* Bytes of the node's destination that its split copies in. */
static uint64_t copied_bytes(const sr_layout *layout, int32_t node) {
    const sr_graph *graph = layout->graph;
    const sr_tensor *t = &graph->tensors[node];
    const int32_t root = t->view_src >= 0 ? t->view_src : node;
    uint64_t bytes = 0;
    for (int j = 0; j < t->n_src; j++) {
        const int32_t source = graph->srcs[t->src_begin + j];
        if (source >= 0 && source != node && layout->view.srcs[t->src_begin + j] != source &&
            sr__root_of(graph, source) == root) {
            bytes += graph->tensors[source].nbytes;
        }
    }
    return bytes;
}

/* The highest backend that reaches the storage and runs the op, or -1. */
static int right_backend(const sr_layout *layout, int32_t node, const sr_buffer_type *type) {
    const sr_graph_view view = sr_graph_whole(layout->graph);
    for (int b = 0; b < layout->n_backends; b++) {
        if (sr_backend_supports_buffer_type(layout->backends[b], type) &&
            sr_backend_supports_op(layout->backends[b], &view, node, NULL)) {
            return b;
        }
    }
    return -1;
}

static bool hint(const sr_layout *layout, const group *g, sr_finding *finding) {
    const sr_graph *graph = layout->graph;
    const char *node = sr__label(graph, g->first);
    const char *root = sr__label(graph, sr__root_of(graph, g->first));
    const int right = right_backend(layout, g->first, g->type);
    if (right >= 0) {
        const char *name = layout->backends[right]->name;
        return sr__finding_hint(finding, "assign '%s' to %s, which reaches '%s' and runs %s (-A '%s=%s'), or have '%s' "
                                "stored on %s", node, name, root, g->op, node, name, root,
                                layout->backends[g->backend]->name);
    }
    return sr__finding_hint(finding,
                            "no backend here both reaches %s memory and runs this %s: have '%s' stored on %s, or "
                            "write to a copy of it that is computed there",
                            g->type->name, g->op, root, layout->backends[g->backend]->name);
}

static bool say(const sr_layout *layout, const group *g, sr_finding *finding) {
    const sr_graph *graph = layout->graph;
    const char *backend = layout->backends[g->backend]->name;
    const char *node = sr__label(graph, g->first);
    const int32_t root = sr__root_of(graph, g->first);
    const char *cause = sr_cause_name(layout->cause_of[g->first]);
    char more[64] = "";
    if (g->n > 1) {
        snprintf(more, sizeof(more), " (and %d more node%s likewise)", (int)g->n - 1, g->n == 2 ? "" : "s");
    }
    finding->bytes = g->bytes;
    return (root == g->first
                ? sr__finding_say(finding, "%s '%s' runs on %s (%s), but its own memory is %s, which %s cannot reach%s",
                                  g->op, node, backend, cause, g->type->name, backend, more)
                : sr__finding_say(finding,
                                  "%s '%s' runs on %s (%s), but writes into '%s', which is stored in %s memory "
                                  "that %s cannot reach: inputs are copied between backends, results are not%s",
                                  g->op, node, backend, cause, sr__label(graph, root), g->type->name, backend, more)) &&
           sr__finding_text(finding, "op", g->op) && sr__finding_text(finding, "node", node) &&
           sr__finding_text(finding, "backend", backend) && sr__finding_text(finding, "root", sr__label(graph, root)) &&
           sr__finding_text(finding, "buffer_type", g->type->name) && sr__finding_number(finding, "count", g->n) &&
           hint(layout, g, finding);
}

static bool add_node(const sr_layout *layout, groups *all, sr_findings *findings, int32_t node,
                     const sr_buffer_type *type) {
    const sr_graph *graph = layout->graph;
    group *g = find_group(all, sr_tensor_op_desc(&graph->tensors[node]), layout->backend_of[node], type);
    if (g && g->place < 0) {
        g->place = findings->n;
        g->first = node;
        if (!sr__finding_add(findings, "alias", SR_SEVERITY_ERROR)) {
            return false;
        }
    }
    if (!g) {
        return false;
    }
    g->n++;
    g->bytes += copied_bytes(layout, node);
    sr_finding *finding = &findings->items[g->place];
    return sr__finding_tensor(finding, sr__label(graph, node)) &&
           sr__finding_tensor(finding, sr__label(graph, sr__root_of(graph, node)));
}

sr_status sr__lint_alias(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    const sr_layout *layout = input->layout;
    const sr_graph *graph = layout->graph;
    const sr_buffer_type *last_type = NULL; /* that `last` reaches */
    int last = -1;
    groups all = {0};
    bool ok = true;
    for (int32_t i = 0; i < graph->n_nodes && ok; i++) {
        const int32_t node = graph->nodes[i];
        const sr_tensor *t = &graph->tensors[node];
        const int backend = layout->backend_of[node];
        if (!sr__writes(t) || backend < 0) {
            continue;
        }
        const sr_buffer_type *type = sr__storage_type(layout, node);
        if (!type || (backend == last && type == last_type)) {
            continue;
        }
        if (sr_backend_supports_buffer_type(layout->backends[backend], type)) {
            last = backend;
            last_type = type;
        } else {
            ok = add_node(layout, &all, findings, node, type);
        }
    }
    for (size_t i = 0; i < all.n && ok; i++) {
        ok = say(layout, &all.items[i], &findings->items[all.items[i].place]);
    }
    sr__free(all.items);
    return ok ? SR_OK : sr__fail_memory(err);
}
