/*
 * report_dot.c - a run as a DOT digraph: a cluster a split, a colour a backend, dashed edges for copies.
 *
 * Layer: report.  The same schedule gives the same text; names may hold anything.
 */
#include <inttypes.h>

#include "report/dot_draw.h"

/* ---- labels ----------------------------------------------------------------------------------------------------- */

sr__dot_color sr__dot_backend_color(const sr_layout *layout, int backend) {
    static const sr__dot_color colors[] = {{"#d3e7f8", "#1f6fb2"}, {"#d8efd0", "#3b8c2a"}, {"#e8dcf4", "#7446a6"},
                                           {"#fde0c5", "#c96a11"}, {"#f9d5e2", "#b8336a"}, {"#cdeeea", "#1c8077"}};
    static const sr__dot_color last = {"#f3efe2", "#857443"};
    return backend < 0 || backend == layout->n_backends - 1 ? last : colors[backend % SR_COUNT(colors)];
}

void sr__dot_text(sr__str *s, const char *text) {
    sr__str shown = {0};
    sr__put_name(&shown, text);
    for (const char *p = sr__str_text(&shown); *p != '\0'; p++) {
        if (*p == '"' || *p == '\\') {
            sr__str_append(s, "\\", 1);
        }
        if (*p == '&') { /* DOT reads entities in labels */
            sr__str_puts(s, "&amp;");
        } else {
            sr__str_append(s, p, 1);
        }
    }
    s->failed |= shown.failed;
    sr__str_free(&shown);
}

void sr__dot_bytes(sr__str *s, uint64_t bytes) { sr__put_bytes(s, bytes); }

/* ---- head ------------------------------------------------------------------------------------------------------- */

static void put_head(sr__str *s, const sr_run_result *result) {
    const sr_run *run = result->run;
    sr__str_printf(s, "digraph \"run %d\" {\n", run->index);
    sr__str_puts(s, "    graph [fontname=\"Helvetica\", fontsize=13, labelloc=t, labeljust=l, nodesep=0.25,\n"
                    "        ranksep=0.35];\n"
                    "    node [fontname=\"Helvetica\", fontsize=10, shape=box, style=\"filled,rounded\",\n"
                    "        margin=\"0.12,0.06\"];\n"
                    "    edge [fontname=\"Helvetica\", fontsize=9, color=\"#555555\", arrowsize=0.6];\n");
    sr__str_printf(s, "    label=\"run %d", run->index);
    if (run->graph_name[0] != '\0') {
        sr__str_puts(s, "  ");
        sr__dot_text(s, run->graph_name);
    }
    if (run->params_text[0] != '\0') {
        sr__str_puts(s, "  ");
        sr__dot_text(s, run->params_text);
    }
    sr__str_puts(s, run->reserve ? "  reserve" : "");
}

static void put_summary(sr__str *s, const sr_layout *layout, const sr__facts *facts) {
    sr__str_puts(s, ": ");
    sr__put_count(s, layout->n_splits, "split");
    sr__str_puts(s, " of ");
    sr__put_count(s, layout->graph->n_nodes, "node");
    sr__str_puts(s, ", ");
    if (facts->copied > 0) {
        sr__dot_bytes(s, facts->copied);
        sr__str_puts(s, " copied per evaluation");
    } else {
        sr__str_puts(s, "nothing copied");
    }
}

static void put_legend(sr__dot *dot) {
    sr__str *s = &dot->out->text;
    const sr_layout *layout = dot->layout;
    sr__str_puts(s, "    subgraph cluster_legend {\n"
                    "        label=\"legend\"; style=\"rounded\"; color=\"#bbbbbb\"; fontsize=11;\n");
    for (int b = 0; b < layout->n_backends; b++) {
        const sr__dot_color color = sr__dot_backend_color(layout, b);
        sr__str_printf(s, "        legend_%d [label=\"", b);
        sr__dot_text(s, layout->backends[b]->name);
        sr__str_puts(s, "\\nbuffer type ");
        sr__dot_text(s, layout->buffer_types[b]->name);
        sr__str_puts(s, "\\n");
        sr__put_count(s, dot->facts->backends[b].nodes, "node");
        sr__str_puts(s, ", ");
        sr__put_count(s, dot->facts->backends[b].splits, "split");
        sr__str_printf(s, "\", fillcolor=\"%s\", color=\"%s\"];\n", color.fill, color.line);
    }
    sr__str_puts(s, "        legend_text [shape=plaintext, style=\"\", label=\"dashed: copied between backends\\l"
                    "ellipse: leaf that the scheduler allocates\\lcylinder: leaf in a buffer, copied\\l");
    sr__str_puts(s, dot->finding_of.n > 0 ? "thick frame: a finding, see --lint\\l" : "");
    if (dot->marks != NULL) {
        dot->marks->legend(dot->marks->user, s);
    }
    sr__str_puts(s, dot->folds.n > 0 ? "x N: equal layers, drawn once\\ldotted: into the next of them\\l\"];\n"
                                     : "\"];\n");
    sr__str_puts(s, "        legend_text"); /* one above the other: a legend beside the graph, not over it */
    for (int b = 0; b < layout->n_backends; b++) {
        sr__str_printf(s, " -> legend_%d", b);
    }
    sr__str_puts(s, " [style=invis];\n    }\n");
}

/* ---- a run ------------------------------------------------------------------------------------------------------ */

static sr_status make_tables(sr__dot *dot, sr_error *err) {
    const sr_layout *layout = dot->layout;
    const size_t n_inputs = (size_t)layout->n_inputs + 1;
    const size_t n_extra = (size_t)layout->view.n_extra + 1;
    dot->split_of_input = sr__malloc(n_inputs * sizeof(*dot->split_of_input));
    dot->input_of_extra = sr__malloc(n_extra * sizeof(*dot->input_of_extra));
    dot->leaf_drawn = sr__calloc((size_t)layout->graph->n_tensors + 1, sizeof(*dot->leaf_drawn));
    dot->input_linked = sr__calloc(n_inputs, sizeof(*dot->input_linked));
    if (dot->input_linked == NULL || dot->split_of_input == NULL || dot->input_of_extra == NULL ||
        dot->leaf_drawn == NULL) {
        return sr__fail_memory(err);
    }
    memset(dot->input_of_extra, 0xff, n_extra * sizeof(*dot->input_of_extra));
    for (int32_t i = 0; i < layout->n_splits; i++) {
        const sr_split *split = &layout->splits[i];
        for (int32_t j = split->inputs_begin; j < split->inputs_begin + split->n_inputs; j++) {
            dot->split_of_input[j] = i;
            if (layout->input_copies[j] >= layout->graph->n_tensors) {
                dot->input_of_extra[layout->input_copies[j] - layout->graph->n_tensors] = j;
            }
        }
    }
    return SR_OK;
}

/* Findings come by severity, so that the first that names a tensor is the gravest. */
static sr_status map_findings(sr__dot *dot, const sr_findings *findings, sr_error *err) {
    dot->findings = findings;
    for (int i = 0; findings != NULL && i < findings->n; i++) {
        const sr_finding *f = &findings->items[i];
        for (int j = 0; j < f->n_tensors && f->severity != SR_SEVERITY_INFO; j++) {
            if (sr__map_get(&dot->finding_of, f->tensors[j], 0) == 0 &&
                !sr__map_put(&dot->finding_of, f->tensors[j], i + 1)) {
                return sr__fail_memory(err);
            }
        }
    }
    return SR_OK;
}

const sr_finding *sr__dot_finding(const sr__dot *dot, const sr_tensor *tensor) {
    const int32_t place = sr__map_get(&dot->finding_of, sr__shown_name(tensor), 0);
    return place > 0 ? &dot->findings->items[place - 1] : NULL;
}

sr_status sr__dot_write(const sr_run_result *result, const sr_report_options *options, const sr__dot_marks *marks,
                        sr__out *out, sr_error *err) {
    sr_status status;
    sr__facts facts = {0};
    sr__dot dot = {.out = out, .layout = result->layout, .facts = &facts, .marks = marks};
    SR_TRY(sr__facts_init(&facts, result->layout, err));
    SR_TRY(sr__folds_init(&dot.folds, result->layout, marks != NULL ? marks->like : NULL, !options->unfold, err));
    SR_TRY(make_tables(&dot, err));
    SR_TRY(map_findings(&dot, result->findings, err));
    put_head(&out->text, result);
    put_summary(&out->text, result->layout, &facts);
    if (result->error->status != SR_OK) {
        sr__str_puts(&out->text, "\\lfailed: ");
        sr__dot_text(&out->text, sr_error_message(result->error));
    }
    if (marks != NULL) {
        marks->title(marks->user, &out->text);
    }
    sr__str_puts(&out->text, "\\l\";\n");
    put_legend(&dot);
    sr__dot_mark_leafs(&dot);
    sr__dot_leafs(&dot);
    sr__dot_clusters(&dot);
    sr__dot_edges(&dot);
    if (marks != NULL) {
        marks->rest(marks->user, &out->text);
    }
    sr__str_puts(&out->text, "}\n");
done:
    sr__facts_free(&facts);
    sr__folds_free(&dot.folds);
    sr__free(dot.input_linked);
    sr__free(dot.split_of_input);
    sr__free(dot.input_of_extra);
    sr__free(dot.leaf_drawn);
    sr__map_free(&dot.finding_of);
    return status;
}

/* Nothing was scheduled: the error, or an empty graph. */
static void put_failure(const sr_run_result *result, sr__str *s) {
    put_head(s, result);
    sr__str_puts(s,
                 "\\l\";\n    failure [shape=note, style=filled, fillcolor=\"#fbe0dd\", color=\"#b03a2e\", label=\"");
    if (result->error->status != SR_OK) {
        sr__str_puts(s, sr_status_name(result->error->status));
        sr__str_puts(s, "\\n");
        sr__dot_text(s, sr_error_message(result->error));
    } else {
        sr__str_puts(s, "nothing to schedule");
    }
    sr__str_puts(s, "\"];\n}\n");
}

sr_status sr_report_dot(const sr_run_result *result, const sr_report_options *options, sr_sink *sink, sr_error *err) {
    sr__out out;
    sr__out_init(&out, sink);
    sr_status status = SR_OK;
    if (sr_layout_has_splits(result->layout)) {
        status = sr__dot_write(result, options, NULL, &out, err);
    } else {
        put_failure(result, &out.text);
    }
    const sr_status written = sr__out_end(&out, status == SR_OK ? err : NULL);
    return status != SR_OK ? status : written;
}
