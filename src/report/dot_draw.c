/*
 * dot_draw.c - the nodes, clusters and edges of the DOT report.
 *
 * Layer: report.  Names in the drawing: n12 the node at position 12, l3 leaf tensor 3, c5 the copy of input 5 of all
 * splits' inputs.  Views are not drawn: an edge goes to what is viewed.
 */
#include <inttypes.h>

#include "report/dot_draw.h"

/* ---- what stands for what ---------------------------------------------------------------------------------------- */

static const sr_tensor *tensor_at(const sr__dot *dot, int32_t position) {
    return &dot->layout->graph->tensors[dot->layout->graph->nodes[position]];
}

static const int32_t *sources(const sr__dot *dot) {
    return dot->layout->view.srcs != NULL ? dot->layout->view.srcs : dot->layout->graph->srcs;
}

/* What a chain of views leads to.  Sources stand before their users, so that it ends. */
static int32_t behind_views(const sr_graph *graph, int32_t tensor) {
    while (sr_op_is_view(graph->tensors[tensor].op) && graph->tensors[tensor].n_src > 0) {
        const int32_t source = graph->srcs[graph->tensors[tensor].src_begin];
        if (source < 0) {
            break;
        }
        tensor = source;
    }
    return tensor;
}

bool sr__dot_split_is_drawn(const sr__dot *dot, int32_t split) {
    const int32_t start = dot->layout->splits[split].start;
    return start < dot->layout->graph->n_nodes && sr__fold_drawn(&dot->folds, start) == start;
}

/* Splits of one fold stand in the order of their likes, a period having as many splits as the first. */
int32_t sr__dot_drawn_input(const sr__dot *dot, int32_t input) {
    const sr_layout *layout = dot->layout;
    const sr_split *split = &layout->splits[dot->split_of_input[input]];
    if (split->start >= layout->graph->n_nodes) {
        return input;
    }
    const int32_t drawn = sr__fold_drawn(&dot->folds, split->start);
    int32_t low = 0;
    int32_t high = layout->n_splits - 1;
    while (low < high) {
        const int32_t middle = low + (high - low + 1) / 2;
        if (layout->splits[middle].start <= drawn) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return layout->splits[low].inputs_begin + (input - split->inputs_begin);
}

sr__dot_end sr__dot_source(const sr__dot *dot, int32_t id) {
    const sr_graph *graph = dot->layout->graph;
    if (id < 0) {
        return (sr__dot_end){.kind = SR__DOT_NOTHING};
    }
    if (id >= graph->n_tensors) {
        const int32_t input = dot->input_of_extra[id - graph->n_tensors];
        if (input < 0) {
            return (sr__dot_end){.kind = SR__DOT_NOTHING};
        }
        return (sr__dot_end){.kind = SR__DOT_COPY, .at = sr__dot_drawn_input(dot, input)};
    }
    const int32_t tensor = behind_views(graph, id);
    const int32_t position = graph->tensors[tensor].node;
    if (position >= 0) {
        return (sr__dot_end){.kind = SR__DOT_NODE, .at = sr__fold_drawn(&dot->folds, position), .position = position};
    }
    return (sr__dot_end){.kind = SR__DOT_LEAF, .at = tensor};
}

/* ---- leafs ------------------------------------------------------------------------------------------------------ */

void sr__dot_mark_leafs(sr__dot *dot) {
    const sr_layout *layout = dot->layout;
    const sr_graph *graph = layout->graph;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const sr_tensor *t = tensor_at(dot, i);
        if (sr__fold_drawn(&dot->folds, i) != i || sr_op_is_view(t->op)) {
            continue;
        }
        for (int j = 0; j < t->n_src; j++) {
            const sr__dot_end end = sr__dot_source(dot, sources(dot)[t->src_begin + j]);
            if (end.kind == SR__DOT_LEAF && sr__buffer_of(graph, &graph->tensors[end.at]) == NULL) {
                dot->leaf_drawn[end.at] = 1;
            }
        }
    }
    for (int32_t i = 0; i < layout->n_inputs; i++) {
        const sr__dot_end end = sr__dot_source(dot, layout->inputs[i]);
        if (end.kind == SR__DOT_LEAF && sr__dot_split_is_drawn(dot, dot->split_of_input[i])) {
            dot->leaf_drawn[end.at] = 1;
        }
    }
}

/* "f32 [64 x 4]  1.0 KiB": trailing extents of 1 are left out. */
static void put_shape(sr__str *s, const sr_tensor *t) {
    int n = SR_MAX_DIMS;
    while (n > 1 && t->ne[n - 1] == 1) {
        n--;
    }
    sr__str_printf(s, "%s [", sr_type_get(t->type)->name);
    for (int i = 0; i < n; i++) {
        sr__str_printf(s, "%s%" PRId64, i > 0 ? " x " : "", t->ne[i]);
    }
    sr__str_puts(s, "]  ");
    sr__dot_bytes(s, t->nbytes);
}

/* "GPU0 2.sup" and, where it has another name, the buffer type. */
static void put_place(sr__str *s, const sr_layout *layout, int32_t tensor) {
    const sr_buffer *buffer = sr__buffer_of(layout->graph, &layout->graph->tensors[tensor]);
    const int backend = layout->backend_of[tensor];
    const char *name = sr__backend_name(layout, backend);
    const char *type = buffer != NULL ? buffer->type->name : backend >= 0 ? layout->buffer_types[backend]->name : name;
    sr__dot_text(s, name);
    if (strcmp(name, type) != 0) {
        sr__str_puts(s, " (");
        sr__dot_text(s, type);
        sr__str_puts(s, ")");
    }
    sr__str_puts(s, "  ");
    sr__str_puts(s, sr_cause_name(layout->cause_of[tensor]));
}

/* What is to be looked at says why in its label, and has a thick red frame. */
static const char *put_mark(sr__dot *dot, int32_t tensor) {
    const sr_finding *f = sr__dot_finding(dot, &dot->layout->graph->tensors[tensor]);
    if (f != NULL) {
        sr__str_printf(&dot->out->text, "\\n%s: %s", sr_severity_name(f->severity), f->kind);
        return f->severity == SR_SEVERITY_ERROR ? "#c0151b" : "#e0561b";
    }
    return dot->marks != NULL ? dot->marks->node(dot->marks->user, &dot->out->text, tensor) : NULL;
}

static void put_colors(sr__dot *dot, const char *mark, sr__dot_color color) {
    sr__str_printf(&dot->out->text, ", fillcolor=\"%s\", color=\"%s\"%s];\n", color.fill,
                   mark != NULL ? mark : color.line, mark != NULL ? ", penwidth=3" : "");
}

void sr__dot_leafs(sr__dot *dot) {
    sr__str *s = &dot->out->text;
    const sr_graph *graph = dot->layout->graph;
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        if (dot->leaf_drawn[i] == 0) {
            continue;
        }
        const sr_tensor *t = &graph->tensors[i];
        const sr__dot_color color = sr__dot_backend_color(dot->layout, dot->layout->backend_of[i]);
        sr__str_printf(s, "    l%d [label=\"", (int)i);
        sr__dot_text(s, t->name);
        sr__str_puts(s, "\\n");
        put_shape(s, t);
        sr__str_puts(s, "\\n");
        put_place(s, dot->layout, i);
        const char *mark = put_mark(dot, i);
        sr__str_printf(s, "\", shape=%s, style=filled", t->buffer != NULL ? "cylinder" : "ellipse");
        put_colors(dot, mark, color);
        sr__out_more(dot->out);
    }
}

/* ---- clusters --------------------------------------------------------------------------------------------------- */

/* The leafs in buffers that a node reads where they are: they have no node of their own. */
static void put_read_leafs(sr__dot *dot, const sr_tensor *t) {
    sr__str *s = &dot->out->text;
    const sr_graph *graph = dot->layout->graph;
    for (int j = 0; j < t->n_src; j++) {
        const sr__dot_end end = sr__dot_source(dot, sources(dot)[t->src_begin + j]);
        if (end.kind != SR__DOT_LEAF || dot->leaf_drawn[end.at] != 0) {
            continue;
        }
        const sr_tensor *leaf = &graph->tensors[end.at];
        const sr_buffer *buffer = sr__buffer_of(graph, leaf);
        sr__str_puts(s, "\\n");
        sr__dot_text(s, sr__shown_name(leaf));
        sr__str_printf(s, "  %s", sr_type_get(leaf->type)->name);
        if (buffer != NULL) {
            sr__str_puts(s, " in ");
            sr__dot_text(s, buffer->type->name);
        }
    }
}

static void put_node(sr__dot *dot, int32_t position) {
    sr__str *s = &dot->out->text;
    const sr_tensor *t = tensor_at(dot, position);
    if (sr_op_is_view(t->op)) {
        return;
    }
    const int32_t tensor = dot->layout->graph->nodes[position];
    const sr__dot_color color = sr__dot_backend_color(dot->layout, dot->layout->backend_of[tensor]);
    sr__str_printf(s, "        n%d [label=\"%d  ", (int)position, (int)position);
    sr__dot_text(s, sr_tensor_op_desc(t));
    sr__str_puts(s, "\\n");
    sr__dot_text(s, sr__shown_name(t));
    sr__str_puts(s, "\\n");
    put_shape(s, t);
    sr__str_puts(s, "\\n");
    put_place(s, dot->layout, tensor);
    put_read_leafs(dot, t);
    const char *mark = put_mark(dot, tensor);
    sr__str_puts(s, "\"");
    put_colors(dot, mark, color);
    sr__out_more(dot->out);
}

static void put_input(sr__dot *dot, int32_t input, sr__dot_color color) {
    sr__str *s = &dot->out->text;
    char name[SR_MAX_NAME + 1];
    sr__str note = {0};
    const char *mark = dot->marks != NULL ? dot->marks->input(dot->marks->user, &note, input) : NULL;
    sr_layout_name(dot->layout, dot->layout->input_copies[input], name);
    sr__str_printf(
        s, "        c%d [shape=note, style=\"filled,dashed\", fillcolor=\"#ffffff\", color=\"%s\"%s, label=\"",
        (int)input, mark != NULL ? mark : color.line, mark != NULL ? ", penwidth=3" : "");
    sr__dot_text(s, name);
    sr__str_puts(s, "\\n");
    sr__dot_bytes(s, dot->layout->graph->tensors[dot->layout->inputs[input]].nbytes);
    sr__str_puts(s, "  4.cpy");
    sr__str_puts(s, sr__str_text(&note));
    sr__str_puts(s, "\"];\n");
    s->failed |= note.failed;
    sr__str_free(&note);
    sr__out_more(dot->out);
}

static void open_split(sr__dot *dot, int32_t i) {
    sr__str *s = &dot->out->text;
    const sr_layout *layout = dot->layout;
    const sr_split *split = &layout->splits[i];
    const sr__dot_color color = sr__dot_backend_color(layout, split->backend);
    sr__str_printf(s, "    subgraph cluster_split_%d {\n        label=\"split %d  ", (int)i, (int)i);
    sr__dot_text(s, layout->backends[split->backend]->name);
    sr__str_printf(s, "  nodes %d-%d", (int)split->start, (int)split->end - 1);
    const char *mark = dot->marks != NULL ? dot->marks->split(dot->marks->user, s, i) : NULL;
    sr__str_printf(
        s, "\"; style=\"rounded,filled\"; fillcolor=\"#fcfcfc\"; color=\"%s\"; fontcolor=\"%s\"; penwidth=%s;\n",
        mark != NULL ? mark : color.line, color.line, mark != NULL ? "3" : "1.5");
    for (int32_t j = split->inputs_begin; j < split->inputs_begin + split->n_inputs; j++) {
        put_input(dot, j, color);
    }
}

/* "x 6  nodes 12-45, 46-79 ... 182-215" */
static void open_fold(sr__dot *dot, int32_t i) {
    sr__str *s = &dot->out->text;
    const sr__fold *fold = &dot->folds.folds[i];
    sr__str_printf(s, "    subgraph cluster_fold_%d {\n        label=\"x %d  nodes", (int)i, (int)fold->repeats);
    for (int32_t r = 0; r < fold->repeats; r++) {
        const char *before = r == 0 ? "" : ",";
        if (r == 2 && fold->repeats > 3) {
            before = " ...";
            r = fold->repeats - 1;
        }
        const int begin = (int)(fold->begin + r * fold->period);
        sr__str_printf(s, "%s %d-%d", before, begin, begin + (int)fold->period - 1);
    }
    sr__str_puts(s, "\"; style=\"rounded,dashed\"; color=\"#444444\"; fontcolor=\"#444444\"; penwidth=1.2;\n");
}

/* Where the walk over the drawn nodes is: folds of splits stand around splits, other folds within one. */
typedef struct walk {
    sr__dot *dot;
    int32_t split; /* that the position belongs to, -1 before the first */
    bool split_open;
    int32_t fold;  /* open, -1: none */
} walk;

static void close_cluster(walk *w) { sr__str_puts(&w->dot->out->text, "    }\n"); }

static void close_split(walk *w) {
    if (w->split_open) {
        close_cluster(w);
        w->split_open = false;
    }
}

/* Ends the drawn period of the open fold; the position after all of its periods. */
static int32_t leave_fold(walk *w) {
    const sr__fold *fold = &w->dot->folds.folds[w->fold];
    if (fold->splits) {
        close_split(w);
    }
    close_cluster(w);
    w->fold = -1;
    return fold->begin + fold->period * fold->repeats;
}

static void enter_position(walk *w, int32_t position) {
    const sr_layout *layout = w->dot->layout;
    const sr__folds *folds = &w->dot->folds;
    const int32_t fold = w->fold < 0 ? folds->fold_of[position] : -1;
    int32_t split = w->split;
    while (split + 1 < layout->n_splits && layout->splits[split + 1].start <= position) {
        split++;
    }
    if (split != w->split) {
        close_split(w);
    }
    if (fold >= 0 && folds->folds[fold].splits) {
        open_fold(w->dot, fold);
    }
    if (split != w->split) {
        open_split(w->dot, split);
        w->split_open = true;
    }
    if (fold >= 0 && !folds->folds[fold].splits) {
        open_fold(w->dot, fold);
    }
    w->split = split;
    w->fold = fold >= 0 ? fold : w->fold;
}

void sr__dot_clusters(sr__dot *dot) {
    const sr__folds *folds = &dot->folds;
    walk w = {.dot = dot, .split = -1, .fold = -1};
    for (int32_t i = 0; i < dot->layout->graph->n_nodes;) {
        if (w.fold >= 0 && i == folds->folds[w.fold].begin + folds->folds[w.fold].period) {
            i = leave_fold(&w);
            continue;
        }
        enter_position(&w, i);
        put_node(dot, i);
        i++;
    }
    close_split(&w);
}

/* ---- edges ------------------------------------------------------------------------------------------------------ */

static bool same_end(const sr__dot_end *a, const sr__dot_end *b) { return a->kind == b->kind && a->at == b->at; }

static void put_end(sr__str *s, const sr__dot_end *end) {
    static const char letters[] = {'?', 'n', 'l', 'c'};
    sr__str_printf(s, "%c%d", letters[end->kind], (int)end->at);
}

static bool is_drawn(const sr__dot *dot, const sr__dot_end *end) {
    return end->kind == SR__DOT_NODE || end->kind == SR__DOT_COPY ||
           (end->kind == SR__DOT_LEAF && dot->leaf_drawn[end->at] != 0);
}

/* A copy within a split that only a later one of equal layers reads: the edge goes to what stands for its reader. */
static void put_late_copy(sr__dot *dot, const sr__dot_end *end, int32_t drawn) {
    if (end->kind == SR__DOT_COPY && dot->input_linked[end->at] == 0) {
        sr__str_printf(&dot->out->text, "    c%d -> n%d [color=\"#aaaaaa\"];\n", (int)end->at, (int)drawn);
        dot->input_linked[end->at] = 1;
    }
}

/* Edges into a node; of the second of equal layers only those that come out of the first: they show how layers join. */
static void put_node_edges(sr__dot *dot, int32_t position) {
    sr__str *s = &dot->out->text;
    const sr_tensor *t = tensor_at(dot, position);
    const int32_t period = sr__fold_period(&dot->folds, position);
    const int32_t drawn = sr__fold_drawn(&dot->folds, position);
    sr__dot_end ends[SR_MAX_SRC];
    for (int j = 0; j < t->n_src; j++) {
        ends[j] = sr__dot_source(dot, sources(dot)[t->src_begin + j]);
        bool put = is_drawn(dot, &ends[j]) && period <= 1;
        if (period >= 1) {
            put_late_copy(dot, &ends[j], drawn);
        }
        if (period == 1) {
            put = ends[j].kind == SR__DOT_NODE &&
                  dot->folds.fold_of[ends[j].position] == dot->folds.fold_of[position] &&
                  sr__fold_period(&dot->folds, ends[j].position) == 0;
        }
        for (int k = 0; k < j && put; k++) {
            put = !same_end(&ends[j], &ends[k]);
        }
        if (put && ends[j].kind == SR__DOT_COPY) {
            dot->input_linked[ends[j].at] = 1;
        }
        if (put) {
            sr__str_puts(s, "    ");
            put_end(s, &ends[j]);
            sr__str_printf(s, " -> n%d%s;\n", (int)drawn,
                           period == 1 ? " [style=dotted, constraint=false, color=\"#444444\"]" : "");
        }
    }
    sr__out_more(dot->out);
}

/* From the first of equal layers into a copy of the second. */
static void put_joining_copy(sr__dot *dot, int32_t input, const sr__dot_end *end) {
    const int32_t start = dot->layout->splits[dot->split_of_input[input]].start;
    const sr__folds *folds = &dot->folds;
    if (end->kind == SR__DOT_NODE && start < dot->layout->graph->n_nodes && folds->fold_of[start] >= 0 &&
        sr__fold_period(folds, start) == 1 && folds->fold_of[end->position] == folds->fold_of[start] &&
        sr__fold_period(folds, end->position) == 0) {
        sr__str_printf(&dot->out->text, "    n%d -> c%d [style=dotted, constraint=false, color=\"#b03a2e\"];\n",
                       (int)end->at, (int)sr__dot_drawn_input(dot, input));
    }
}

static void put_copy_edge(sr__dot *dot, int32_t input) {
    sr__str *s = &dot->out->text;
    const sr_layout *layout = dot->layout;
    const sr__dot_end end = sr__dot_source(dot, layout->inputs[input]);
    if (!sr__dot_split_is_drawn(dot, dot->split_of_input[input])) {
        put_joining_copy(dot, input, &end);
        return;
    }
    if (!is_drawn(dot, &end)) {
        return;
    }
    sr__str_puts(s, "    ");
    put_end(s, &end);
    sr__str_printf(s, " -> c%d [style=dashed, color=\"#b03a2e\", fontcolor=\"#b03a2e\", label=\"", (int)input);
    sr__dot_bytes(s, layout->graph->tensors[layout->inputs[input]].nbytes);
    sr__str_puts(s, "\"];\n");
    sr__out_more(dot->out);
}

void sr__dot_edges(sr__dot *dot) {
    for (int32_t i = 0; i < dot->layout->graph->n_nodes; i++) {
        if (!sr_op_is_view(tensor_at(dot, i)->op)) {
            put_node_edges(dot, i);
        }
    }
    for (int32_t i = 0; i < dot->layout->n_inputs; i++) {
        put_copy_edge(dot, i);
    }
}
