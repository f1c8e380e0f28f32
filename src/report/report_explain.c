/*
 * report_explain.c - explanations as text and as JSON.
 *
 * Layer: report.
 */
#include "report/report_json.h"
#include "report/report_text.h"

enum { STEP_COLUMN = 26, LEAST_OUTCOME = 12 };

/* ---- text ------------------------------------------------------------------------------------------------------ */

/* "explain node 3 fa-0   FLASH_ATTN_EXT  f32 [256 x 8]" and where it is. */
static void put_title(sr__str *s, const sr_run_result *result, const sr_report_options *options,
                      const sr_explanation *x) {
    const sr_layout *layout = result->layout;
    const sr_tensor *t = &layout->graph->tensors[x->tensor];
    sr__str_puts(s, "\n");
    sr__style_on(s, options, SR__BOLD);
    sr__str_puts(s, t->node >= 0 ? "why node " : "why leaf ");
    if (t->node >= 0) {
        sr__str_printf(s, "%d ", (int)t->node);
    }
    sr__put_name(s, sr__shown_name(t));
    sr__str_puts(s, x->backend >= 0 ? " is on " : " is on no backend");
    sr__style_off(s, options);
    if (x->backend >= 0) {
        sr__backend_on(s, options, layout, x->backend);
        sr__put_name(s, sr__backend_name(layout, x->backend));
        sr__style_off(s, options);
    }
    sr__str_puts(s, "   ");
    if (x->cause != SR_CAUSE_NONE) {
        sr__str_printf(s, "%s   ", sr_cause_name(x->cause));
    }
    sr__put_name(s, t->op == SR_OP_NONE ? "leaf" : sr_tensor_op_desc(t));
    sr__str_puts(s, "  ");
    sr__put_shape(s, t);
    sr__str_puts(s, "  ");
    sr__put_bytes(s, t->nbytes);
    sr__str_puts(s, "\n");
}

/* What the split that runs it costs. */
static void put_split(sr__str *s, const sr_run_result *result, const sr_explanation *x) {
    const sr_layout *layout = result->layout;
    if (x->split < 0 || !sr_layout_has_splits(layout)) {
        return;
    }
    const sr_split *split = &layout->splits[x->split];
    uint64_t bytes = 0;
    for (int32_t j = 0; j < split->n_inputs; j++) {
        bytes += layout->graph->tensors[layout->inputs[split->inputs_begin + j]].nbytes;
    }
    sr__str_printf(s, "  in split %d of %d, ", (int)x->split, (int)layout->n_splits);
    sr__put_count(s, split->end - split->start, "node");
    sr__str_puts(s, ", which copies in ");
    if (bytes > 0) {
        sr__put_bytes(s, bytes);
        sr__str_puts(s, " per evaluation\n");
    } else {
        sr__str_puts(s, "nothing\n");
    }
}

/* "GPU0 2.sup", "stays", "none yet" */
static void put_outcome(sr__str *s, const sr_layout *layout, const sr_explain_step *step) {
    switch (step->kind) {
    case SR_STEP_SET:
        sr__put_name(s, sr__backend_name(layout, step->to));
        sr__str_printf(s, " %s", sr_cause_name(step->cause));
        break;
    case SR_STEP_NOTED:
        sr__str_printf(s, "none %s", sr_cause_name(step->cause));
        break;
    case SR_STEP_NOT_REACHED:
    case SR_STEP_PASSED:
        sr__str_puts(s, "-");
        break;
    default:
        sr__str_puts(s, step->kind == SR_STEP_KEPT ? "stays" : step->pass == SR_PASS_USER ? "none" : "none yet");
        break;
    }
}

static int outcome_width(const sr_layout *layout, const sr_explanation *x) {
    int width = LEAST_OUTCOME;
    for (int i = 0; i < x->n_steps; i++) {
        const sr_explain_step *step = &x->steps[i];
        const int n = step->kind == SR_STEP_SET ? sr__name_width(sr__backend_name(layout, step->to)) + 1 +
                                                      (int)strlen(sr_cause_name(step->cause))
                                                : 0;
        width = n > width ? n : width;
    }
    return width;
}

/* How many of the steps from here on are sweeps that found the same. */
static int count_alike(const sr_explanation *x, int i) {
    const sr_explain_step *step = &x->steps[i];
    int n = 1;
    const bool alike = step->kind == SR_STEP_KEPT || step->kind == SR_STEP_PASSED || step->kind == SR_STEP_NOT_REACHED;
    while (step->pass == SR_PASS_2_GPU_DOWN && alike && n < 4 && x->steps[i + n].kind == step->kind &&
           strcmp(x->steps[i + n].text, step->text) == 0) {
        n++;
    }
    return n == 4 ? n : 1;
}

static void put_steps(sr__str *s, const sr_layout *layout, const sr_report_options *options, const sr_explanation *x) {
    const int width = outcome_width(layout, x);
    sr__str_puts(s, "  pass by pass\n");
    for (int i = 0; i < x->n_steps; i++) {
        const sr_explain_step *step = &x->steps[i];
        const bool set = step->kind == SR_STEP_SET || step->kind == SR_STEP_NOTED;
        const int n = count_alike(x, i);
        i += n - 1;
        sr__str_puts(s, "    ");
        sr__put_left(s, n > 1 ? "pass 2 (all sweeps)" : sr_pass_name(step->pass), STEP_COLUMN - 6);
        sr__str_puts(s, "  ");
        sr__style_on(s, options, set ? SR__BOLD : SR__DIM);
        const size_t start = s->length;
        put_outcome(s, layout, step);
        const int used = s->failed ? 0 : sr__name_width(s->data + start);
        sr__style_off(s, options);
        sr__put_spaces(s, width - used + 2);
        sr__put_wrapped(s, step->text, STEP_COLUMN + width + 2, STEP_COLUMN + width + 2, sr__text_width(options));
    }
}

/* Whether the split that runs the node got a copy of the source. */
static bool is_copied(const sr_layout *layout, const sr_tensor *t, int j) {
    const int32_t *srcs = layout->view.srcs;
    return srcs != NULL && srcs[t->src_begin + j] >= layout->graph->n_tensors;
}

static void put_source(sr__str *s, const sr_layout *layout, const sr_tensor *t, int j, int width) {
    const int32_t source = layout->graph->srcs[t->src_begin + j];
    sr__str_printf(s, "    %d  ", j);
    if (source < 0) {
        sr__str_puts(s, "-\n");
        return;
    }
    const sr_tensor *from = &layout->graph->tensors[source];
    const sr_buffer *buffer = sr__buffer_of(layout->graph, from);
    sr__put_left(s, sr__shown_name(from), width);
    sr__str_puts(s, "  ");
    sr__put_shape(s, from);
    sr__str_puts(s, "  ");
    sr__put_bytes(s, from->nbytes);
    sr__str_puts(s, "  on ");
    sr__put_name(s, sr__backend_name(layout, layout->backend_of[source]));
    sr__str_printf(s, " %s", sr_cause_name(layout->cause_of[source]));
    if (buffer != NULL) {
        sr__str_puts(s, ", in ");
        sr__put_name(s, buffer->name != NULL ? buffer->name : buffer->type->name);
        sr__str_puts(s, buffer->usage == SR_USAGE_WEIGHTS ? " (weights)" : "");
    }
    sr__str_puts(s, is_copied(layout, t, j) ? ", copied\n" : "\n");
}

static void put_sources(sr__str *s, const sr_layout *layout, const sr_explanation *x) {
    const sr_tensor *t = &layout->graph->tensors[x->tensor];
    int width = 0;
    for (int j = 0; j < t->n_src; j++) {
        const int32_t source = layout->graph->srcs[t->src_begin + j];
        const int n = source >= 0 ? sr__name_width(sr__shown_name(&layout->graph->tensors[source])) : 0;
        width = n > width ? n : width;
    }
    if (t->n_src > 0) {
        sr__str_puts(s, "  sources\n");
    }
    for (int j = 0; j < t->n_src; j++) {
        put_source(s, layout, t, j, width);
    }
}

/* The texts begin with the backend's name where it is their subject: the column says it. */
static const char *without_name(const char *text, const char *name) {
    const size_t n = strlen(name);
    return strncmp(text, name, n) == 0 && text[n] == ' ' ? text + n + 1 : text;
}

static void put_why_not(sr__str *s, const sr_layout *layout, const sr_report_options *options,
                        const sr_explanation *x) {
    int width = 0;
    for (int b = 0; b < layout->n_backends; b++) {
        const int n = sr__name_width(layout->backends[b]->name);
        width = n > width ? n : width;
    }
    if (x->n_why_not > 0) {
        sr__str_puts(s, x->backend >= 0 ? "  why not elsewhere\n" : "  why nowhere\n");
    }
    for (int i = 0; i < x->n_why_not; i++) {
        const sr_why_not *why = &x->why_not[i];
        const char *name = layout->backends[why->backend]->name;
        const bool again = i > 0 && x->why_not[i - 1].backend == why->backend;
        sr__str_puts(s, "    ");
        sr__backend_on(s, options, layout, why->backend);
        sr__put_left(s, again ? "" : name, width);
        sr__style_off(s, options);
        sr__str_puts(s, "  ");
        sr__put_wrapped(s, without_name(why->text, name), 6 + width, 6 + width, sr__text_width(options));
    }
}

static void put_hints(sr__str *s, const sr_report_options *options, const sr_explanation *x) {
    for (int i = 0; i < x->n_hints; i++) {
        sr__str_puts(s, i == 0 ? "  what to try\n    - " : "    - ");
        sr__put_wrapped(s, x->hints[i], 6, 6, sr__text_width(options));
    }
}

void sr__text_explanations(sr__out *out, const sr_run_result *result, const sr_report_options *options) {
    for (int i = 0; i < result->n_explanations && !out->refused; i++) {
        const sr_explanation *x = &result->explanations[i];
        put_title(&out->text, result, options, x);
        put_split(&out->text, result, x);
        put_steps(&out->text, result->layout, options, x);
        put_sources(&out->text, result->layout, x);
        put_why_not(&out->text, result->layout, options, x);
        put_hints(&out->text, options, x);
        sr__out_more(out);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

/* A backend's name, or null. */
static void put_backend(sr__json *json, const char *key, const sr_layout *layout, int backend) {
    sr__json_key(json, key);
    if (backend >= 0) {
        sr__json_string(json, sr__backend_name(layout, backend));
    } else {
        sr__json_null(json);
    }
}

static void put_tensor_id(sr__json *json, const char *key, const sr_layout *layout, int32_t tensor) {
    if (tensor >= 0) {
        sr__json_put_string(json, key, layout->graph->tensors[tensor].id);
    }
}

static void put_json_step(sr__json *json, const sr_layout *layout, const sr_explain_step *step) {
    sr__json_put_inline(json, NULL);
    sr__json_put_string(json, "pass", sr_pass_name(step->pass));
    sr__json_put_string(json, "outcome", sr_step_kind_name(step->kind));
    put_backend(json, "from", layout, step->from);
    put_backend(json, "to", layout, step->to);
    sr__json_put_string(json, "cause", sr_cause_name(step->cause));
    put_tensor_id(json, "because", layout, step->because);
    sr__json_put_string(json, "text", step->text);
    sr__json_end_object(json);
}

static void put_json_lists(sr__json *json, const sr_layout *layout, const sr_explanation *x) {
    sr__json_key(json, "steps");
    sr__json_array(json);
    for (int i = 0; i < x->n_steps; i++) {
        put_json_step(json, layout, &x->steps[i]);
    }
    sr__json_end_array(json);
    sr__json_key(json, "why_not");
    sr__json_array(json);
    for (int i = 0; i < x->n_why_not; i++) {
        sr__json_put_inline(json, NULL);
        put_backend(json, "backend", layout, x->why_not[i].backend);
        sr__json_put_string(json, "kind", sr_why_kind_name(x->why_not[i].kind));
        put_tensor_id(json, "because", layout, x->why_not[i].tensor);
        sr__json_put_string(json, "text", x->why_not[i].text);
        sr__json_end_object(json);
    }
    sr__json_end_array(json);
    sr__json_key(json, "hints");
    sr__json_array(json);
    for (int i = 0; i < x->n_hints; i++) {
        sr__json_string(json, x->hints[i]);
    }
    sr__json_end_array(json);
}

void sr__json_explanations(sr__json *json, sr__out *out, const sr_run_result *result) {
    const sr_layout *layout = result->layout;
    if (result->n_explanations == 0) {
        return;
    }
    sr__json_key(json, "explanations");
    sr__json_array(json);
    for (int i = 0; i < result->n_explanations; i++) {
        const sr_explanation *x = &result->explanations[i];
        const sr_tensor *t = &layout->graph->tensors[x->tensor];
        sr__json_object(json);
        sr__json_put_string(json, "tensor", t->name);
        sr__json_put_string(json, "id", t->id);
        if (t->node >= 0) {
            sr__json_put_int(json, "node", t->node);
        }
        sr__json_put_string(json, "op", sr_tensor_op_desc(t));
        put_backend(json, "backend", layout, x->backend);
        sr__json_put_string(json, "cause", sr_cause_name(x->cause));
        if (x->split >= 0) {
            sr__json_put_int(json, "split", x->split);
        }
        put_json_lists(json, layout, x);
        sr__json_end_object(json);
        sr__out_more(out);
    }
    sr__json_end_array(json);
}
