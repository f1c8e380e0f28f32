/*
 * report_steps.c - a graph pass by pass: after each the nodes, with what changed marked.  For teaching.
 *
 * Layer: report.
 */
#include <stdio.h>

#include "report/report_json.h"
#include "report/report_text.h"

enum { MOST_NAME_WIDTH = 28 };

typedef struct columns { int op, name, backend; } columns;

static columns measure(const sr_layout *layout) {
    const sr_graph *graph = layout->graph;
    columns c = {.op = 4, .name = 4, .backend = 4};
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        const int op = sr__name_width(sr_tensor_op_desc(&graph->tensors[i]));
        const int name = sr__name_width(sr__shown_name(&graph->tensors[i]));
        c.op = op > c.op && op <= MOST_NAME_WIDTH ? op : c.op;
        c.name = name > c.name && name <= MOST_NAME_WIDTH ? name : c.name;
    }
    for (int b = 0; b < layout->n_backends; b++) {
        const int n = sr__name_width(layout->backends[b]->name);
        c.backend = n > c.backend ? n : c.backend;
    }
    return c;
}

/* What the walk works on. */
typedef struct walk {
    sr__out *out;
    const sr_run_result *result;
    const sr_report_options *options;
    sr_explainer *explainer;
    columns columns;
    sr_error *err;
} walk;

/* The text of a pass in a tensor's explanation, from its column on. */
static sr_status put_why(walk *w, int pass, int32_t tensor, int column) {
    sr_explanation x = {0};
    const sr_status status = sr_explain(w->explainer, tensor, &x, w->err);
    if (status == SR_OK) {
        sr__put_wrapped(&w->out->text, x.steps[pass].text, column, column, sr__text_width(w->options));
    }
    sr_explanation_clear(&x);
    return status;
}

static sr_status put_row(walk *w, int pass, int32_t tensor) {
    sr__str *s = &w->out->text;
    const sr_layout *layout = w->result->layout;
    const sr_tensor *t = &layout->graph->tensors[tensor];
    const int backend = sr_explainer_backend_after(w->explainer, pass, tensor);
    const bool changed = sr_explainer_decision(w->explainer, pass, tensor) != NULL;
    sr__str_puts(s, changed ? "  * " : "    ");
    if (t->node >= 0) {
        sr__str_printf(s, "%3d  ", (int)t->node);
    } else {
        sr__str_puts(s, "leaf ");
    }
    sr__style_on(s, w->options, changed ? SR__BOLD : SR__DIM);
    sr__put_left(s, t->op == SR_OP_NONE ? "" : sr_tensor_op_desc(t), w->columns.op);
    sr__str_puts(s, "  ");
    sr__put_left(s, sr__shown_name(t), w->columns.name);
    sr__style_off(s, w->options);
    sr__str_puts(s, "  ");
    sr__backend_on(s, w->options, layout, backend);
    sr__put_left(s, backend >= 0 ? sr__backend_name(layout, backend) : ".", w->columns.backend);
    sr__style_off(s, w->options);
    sr__str_puts(s, "  ");
    sr__str_printf(s, "%-6s", sr_cause_name(sr_explainer_cause_after(w->explainer, pass, tensor)));
    if (!changed) {
        while (!s->failed && s->length > 0 && s->data[s->length - 1] == ' ') {
            s->data[--s->length] = '\0';
        }
        sr__str_puts(s, "\n");
        return SR_OK;
    }
    sr__str_puts(s, "  ");
    return put_why(w, pass, tensor, 9 + w->columns.op + 2 + w->columns.name + 2 + w->columns.backend + 2 + 6 + 2);
}

/* All nodes, and the leafs that the pass changed. */
static sr_status put_pass(walk *w, int pass) {
    sr__str *s = &w->out->text;
    const sr_graph *graph = w->result->layout->graph;
    int32_t n_changed = 0;
    sr_status status = SR_OK;
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        n_changed += sr_explainer_decision(w->explainer, pass, i) != NULL;
    }
    sr__str_puts(s, "\n");
    sr__style_on(s, w->options, SR__BOLD);
    sr__str_puts(s, sr_pass_name(pass));
    sr__style_off(s, w->options);
    sr__str_puts(s, "   ");
    sr__put_count(s, n_changed, "change");
    sr__str_puts(s, "\n  ");
    sr__put_wrapped(s, sr_pass_text(pass), 2, 2, sr__text_width(w->options));
    if (n_changed == 0) {
        return SR_OK;
    }
    for (int32_t i = 0; i < graph->n_leafs && status == SR_OK; i++) {
        if (sr_explainer_decision(w->explainer, pass, graph->leafs[i]) != NULL) {
            status = put_row(w, pass, graph->leafs[i]);
        }
    }
    for (int32_t i = 0; i < graph->n_nodes && status == SR_OK; i++) {
        status = put_row(w, pass, graph->nodes[i]);
        sr__out_more(w->out);
    }
    return status;
}

sr_status sr__text_steps(sr__out *out, const sr_run_result *result, const sr_report_options *options, sr_error *err) {
    walk w = {.out = out, .result = result, .options = options, .explainer = result->steps, .err = err};
    sr__str *s = &out->text;
    sr_status status = SR_OK;
    w.columns = measure(result->layout);
    for (int pass = 0; pass <= sr_explainer_last_pass(result->steps) && status == SR_OK; pass++) {
        status = put_pass(&w, pass);
    }
    if (status == SR_OK && sr_layout_has_splits(result->layout)) {
        sr__str_puts(s, "\n");
        sr__style_on(s, options, SR__BOLD);
        sr__str_puts(s, "pass 5");
        sr__style_off(s, options);
        sr__str_puts(s, "   ");
        sr__put_count(s, result->layout->n_splits, "split");
        sr__str_puts(s, "\n  ");
        sr__put_wrapped(s,
                        "The list is cut where the backend changes, where weights of another backend come in, and "
                        "where a split is full. What a split's backend cannot read is copied into it.",
                        2, 2, sr__text_width(options));
    }
    return status;
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

static void put_change(sr__json *json, const sr_layout *layout, const sr_decision *d) {
    sr__json_put_inline(json, NULL);
    sr__json_put_string(json, "id", layout->graph->tensors[d->tensor].id);
    sr__json_put_string(json, "from", sr__backend_name(layout, d->from));
    sr__json_put_string(json, "to", sr__backend_name(layout, d->to));
    sr__json_put_string(json, "cause", sr_cause_name(d->cause));
    if (d->because >= 0) {
        sr__json_put_string(json, "because", layout->graph->tensors[d->because].id);
    }
    sr__json_end_object(json);
}

void sr__json_steps(sr__json *json, sr__out *out, const sr_run_result *result) {
    const sr_layout *layout = result->layout;
    if (result->steps == NULL) {
        return;
    }
    int32_t d = 0;
    sr__json_key(json, "steps");
    sr__json_array(json);
    for (int pass = 0; pass <= sr_explainer_last_pass(result->steps); pass++) {
        sr__json_object(json);
        sr__json_put_string(json, "pass", sr_pass_name(pass));
        sr__json_put_string(json, "text", sr_pass_text(pass));
        sr__json_key(json, "changes");
        sr__json_array(json);
        for (; d < layout->n_decisions && layout->decisions[d].pass == pass; d++) {
            put_change(json, layout, &layout->decisions[d]);
            sr__out_more(out);
        }
        sr__json_end_array(json);
        sr__json_end_object(json);
    }
    sr__json_end_array(json);
}
