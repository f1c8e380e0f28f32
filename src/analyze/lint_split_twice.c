/*
 * lint_split_twice.c - finding `split-twice`: a node's source is already a copy that a scheduler made.
 *
 * Layer: analyze.  The reference replaces sources by copies in the graph itself, so a graph that is split a second time
 * still reads the copies of the first time: they are no inputs of any split, nothing fills them.  Here graphs do not
 * change, but a graph recorded after such a split has those copies among its leafs.  They are known by the name that a
 * scheduler gives them, BACKEND#tensor#slot.
 */
#include <ctype.h>
#include <stdio.h>

#include "analyze/finding.h"

/* Whether a name begins with BACKEND# of this scheduler. */
static bool begins_with_backend(const sr_layout *layout, const char *name, size_t length) {
    for (int b = 0; b < layout->n_backends; b++) {
        if (strlen(layout->backends[b]->name) == length && strncmp(layout->backends[b]->name, name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* "X#Y#digits", or "X#..." that was cut at the length of a name where X is a backend here. */
static bool is_copy_name(const sr_layout *layout, const char *name) {
    const char *first = strchr(name, '#'), *last = strrchr(name, '#');
    if (!first || first == name) {
        return false;
    }
    if (strlen(name) == SR_MAX_NAME && begins_with_backend(layout, name, (size_t)(first - name))) {
        return true;
    }
    if (last - first < 2 || last[1] == '\0') {
        return false;
    }
    for (const char *c = last + 1; *c; c++) {
        if (!isdigit((unsigned char)*c)) {
            return false;
        }
    }
    return true;
}

/*
 * A leaf called like a copy.  Under the name of a backend of another machine it must be one that nothing fills, neither
 * pre-allocated nor a user input; with pipeline copies a scheduler flags its copies as inputs.
 */
static bool is_left_copy(const sr_layout *layout, const sr_tensor *t) {
    const char *first = strchr(t->name, '#');
    return t->op == SR_OP_NONE && t->view_src < 0 && first && is_copy_name(layout, t->name) &&
           (begins_with_backend(layout, t->name, (size_t)(first - t->name)) ||
            (!t->buffer && !(t->flags & SR_FLAG_INPUT)));
}

/* The first node that reads a tensor, and as which source. */
static bool find_reader(const sr_graph *graph, int32_t tensor, int32_t *out_node, int *out_source) {
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        for (int j = 0; j < graph->tensors[graph->nodes[i]].n_src; j++) {
            if (sr__source_of(graph, graph->nodes[i], j) == tensor) {
                *out_node = graph->nodes[i];
                *out_source = j;
                return true;
            }
        }
    }
    return false;
}

static bool say(const sr_layout *layout, int32_t copy, int n, sr_finding *finding) {
    const sr_graph *graph = layout->graph;
    int32_t node = -1;
    int source = 0;
    char more[64] = "";
    if (!find_reader(graph, copy, &node, &source)) {
        return false;
    }
    if (n > 1) {
        snprintf(more, sizeof(more), ", and so are %d more tensors", n - 1);
    }
    return sr__finding_say(finding, "the graph was already split: source %d of node '%s' (%s) is '%s', a copy that a "
                           "scheduler made%s; no split has it as an input, so nothing fills it", source,
                           sr__label(graph, node), sr_tensor_op_desc(&graph->tensors[node]), sr__label(graph, copy),
                           more) &&
           sr__finding_text(finding, "node", sr__label(graph, node)) && sr__finding_number(finding, "source", source) &&
           sr__finding_text(finding, "copy", sr__label(graph, copy)) && sr__finding_number(finding, "count", n) &&
           sr__finding_hint(finding, "build the graph afresh for every schedule (a reserve splits it too), or keep the "
                            "one that was reserved and compute it without scheduling it again");
}

sr_status sr__lint_split_twice(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    const sr_layout *layout = input->layout;
    const sr_graph *graph = layout->graph;
    const int place = findings->n;
    int32_t first = -1;
    int n = 0;
    bool ok = true;
    for (int32_t i = 0; i < graph->n_leafs && ok; i++) {
        const int32_t leaf = graph->leafs[i];
        if (graph->use_counts[leaf] == 0 || !is_left_copy(layout, &graph->tensors[leaf])) {
            continue;
        }
        if (n++ == 0) {
            first = leaf;
            ok = sr__finding_add(findings, "split-twice", SR_SEVERITY_ERROR) != NULL;
        }
        ok = ok && sr__finding_tensor(&findings->items[place], sr__label(graph, leaf));
    }
    ok = ok && (n == 0 || say(layout, first, n, &findings->items[place]));
    return ok ? SR_OK : sr__fail_memory(err);
}
