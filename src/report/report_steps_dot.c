/*
 * report_steps_dot.c - the graph as a pass left it: colours of the backends, what the pass changed with a heavy border.
 *
 * Layer: report.  One digraph a pass; nodes keep their names (n12, l3), so that the drawings can be laid side by side.
 */
#include "report/dot_draw.h"

typedef struct drawing {
    sr__out *out;
    const sr_run_result *result;
    const sr_layout *layout;
    int pass;
} drawing;

/* A label's text in lines that are no wider than a small graph. */
static void put_lines(sr__str *s, const char *text) {
    sr__str lines = {0};
    sr__put_wrapped(&lines, text, 0, 0, 72);
    for (const char *p = sr__str_text(&lines); *p != '\0'; p++) {
        sr__str_append(s, *p == '\n' ? "\\l" : p, *p == '\n' ? 2 : 1);
    }
    s->failed |= lines.failed;
    sr__str_free(&lines);
}

static void put_head(const drawing *d, int32_t n_changed) {
    sr__str *s = &d->out->text;
    sr__str_printf(s, "digraph \"run %d, %s\" {\n", d->result->run->index, sr_pass_name(d->pass));
    sr__str_puts(s, "    graph [fontname=\"Helvetica\", fontsize=13, labelloc=t, labeljust=l, nodesep=0.25,\n"
                    "        ranksep=0.35];\n"
                    "    node [fontname=\"Helvetica\", fontsize=10, shape=box, style=\"filled,rounded\",\n"
                    "        margin=\"0.12,0.06\"];\n"
                    "    edge [fontname=\"Helvetica\", fontsize=9, color=\"#555555\", arrowsize=0.6];\n");
    sr__str_printf(s, "    label=\"run %d, %s: ", d->result->run->index, sr_pass_name(d->pass));
    sr__put_count(s, n_changed, "change");
    sr__str_puts(s, "\\l");
    put_lines(s, sr_pass_text(d->pass));
    sr__str_puts(s, "\";\n");
}

/* Backend and cause as they stand after the pass; white: none yet. */
static void put_state(const drawing *d, int32_t tensor) {
    sr__str *s = &d->out->text;
    const int backend = sr_explainer_backend_after(d->result->steps, d->pass, tensor);
    const bool changed = sr_explainer_decision(d->result->steps, d->pass, tensor) != NULL;
    const sr__dot_color color = sr__dot_backend_color(d->layout, backend);
    sr__str_puts(s, "\\n");
    if (backend >= 0) {
        sr__dot_text(s, sr__backend_name(d->layout, backend));
        sr__str_puts(s, "  ");
    }
    sr__str_puts(s, sr_cause_name(sr_explainer_cause_after(d->result->steps, d->pass, tensor)));
    if (backend < 0) {
        sr__str_puts(s, "\", fillcolor=\"#ffffff\", color=\"#999999\"");
    } else {
        sr__str_printf(s, "\", fillcolor=\"%s\", color=\"%s\"", color.fill, color.line);
    }
    sr__str_puts(s, changed ? ", penwidth=3" : "");
}

static void put_leaf(const drawing *d, int32_t tensor) {
    sr__str *s = &d->out->text;
    const sr_tensor *t = &d->layout->graph->tensors[tensor];
    const sr_buffer *buffer = sr__buffer_of(d->layout->graph, t);
    sr__str_printf(s, "    l%d [label=\"", (int)tensor);
    sr__dot_text(s, sr__shown_name(t));
    if (buffer != NULL) {
        sr__str_puts(s, "\\nin ");
        sr__dot_text(s, buffer->type->name);
        sr__str_puts(s, buffer->usage == SR_USAGE_WEIGHTS ? ", weights" : "");
    } else if ((t->flags & SR_FLAG_INPUT) != 0) {
        sr__str_puts(s, "\\nuser input");
    }
    put_state(d, tensor);
    sr__str_printf(s, ", shape=%s, style=filled];\n", buffer != NULL ? "cylinder" : "ellipse");
    sr__out_more(d->out);
}

static void put_node(const drawing *d, int32_t position) {
    sr__str *s = &d->out->text;
    const int32_t tensor = d->layout->graph->nodes[position];
    const sr_tensor *t = &d->layout->graph->tensors[tensor];
    sr__str_printf(s, "    n%d [label=\"%d  ", (int)position, (int)position);
    sr__dot_text(s, sr_tensor_op_desc(t));
    sr__str_puts(s, "\\n");
    sr__dot_text(s, sr__shown_name(t));
    put_state(d, tensor);
    sr__str_puts(s, sr_op_is_view(t->op) ? ", style=\"filled,dashed\"];\n" : "];\n");
    sr__out_more(d->out);
}

static void put_edges(const drawing *d, int32_t position) {
    const sr_graph *graph = d->layout->graph;
    const sr_tensor *t = &graph->tensors[graph->nodes[position]];
    for (int j = 0; j < t->n_src; j++) {
        const int32_t source = graph->srcs[t->src_begin + j];
        bool put = source >= 0;
        for (int k = 0; k < j && put; k++) {
            put = graph->srcs[t->src_begin + k] != source;
        }
        if (put && graph->tensors[source].node >= 0) {
            sr__str_printf(&d->out->text, "    n%d -> n%d;\n", (int)graph->tensors[source].node, (int)position);
        } else if (put) {
            sr__str_printf(&d->out->text, "    l%d -> n%d;\n", (int)source, (int)position);
        }
    }
    sr__out_more(d->out);
}

sr_status sr_report_steps_dot(const sr_run_result *result, int pass, sr_sink *sink, sr_error *err) {
    sr__out out;
    sr__out_init(&out, sink);
    const sr_graph *graph = result->layout->graph;
    const drawing d = {.out = &out, .result = result, .layout = result->layout, .pass = pass};
    int32_t n_changed = 0;
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        n_changed += sr_explainer_decision(result->steps, pass, i) != NULL;
    }
    put_head(&d, n_changed);
    for (int32_t i = 0; i < graph->n_leafs; i++) {
        put_leaf(&d, graph->leafs[i]);
    }
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        put_node(&d, i);
    }
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        put_edges(&d, i);
    }
    sr__str_puts(&out.text, "}\n");
    return sr__out_end(&out, err);
}
