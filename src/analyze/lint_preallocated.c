/*
 * lint_preallocated.c - memory that no backend can use for an op: who accepts the buffer type, and who supports the op.
 *
 * Layer: analyze.  Speaks of runs that failed: a tensor that lies in a buffer whose backends refuse its op, or a node
 * whose weights do.
 */
#include "analyze/finding.h"

typedef struct subject {
    const sr_layout *layout;
    int32_t tensor;             /* whose op nobody runs */
    int32_t holder;             /* whose buffer it is: the tensor, or one of its sources */
    const sr_buffer_type *type;
} subject;

static const char *text_of(const sr_error *error, const char *key) {
    const sr_error_detail *detail = sr_error_find(error, key);
    return detail != NULL && detail->text != NULL ? detail->text : "";
}

static bool accepts(const subject *s, int backend) {
    return sr_backend_supports_buffer_type(s->layout->backends[backend], s->type);
}

static bool supports(const subject *s, int backend) {
    const sr_graph_view view = sr_graph_whole(s->layout->graph);
    return sr_backend_supports_op(s->layout->backends[backend], &view, s->tensor, NULL);
}

static bool is_served(const subject *s) {
    for (int b = 0; b < s->layout->n_backends; b++) {
        if (accepts(s, b) && supports(s, b)) {
            return true;
        }
    }
    return false;
}

/* The tensor that the error names, among those that nobody can serve; -1: none. */
static bool find_tensor(subject *s, const char *name) {
    const sr_graph *graph = s->layout->graph;
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        const sr_buffer *buffer = sr__home_buffer(graph, i);
        if (buffer != NULL && strcmp(sr__label(graph, i), name) == 0) {
            s->tensor = s->holder = i;
            s->type = buffer->type;
            if (!is_served(s)) {
                return true;
            }
        }
    }
    return false;
}

/* The node that the error names, and the source whose buffer it cannot use. */
static bool find_node(subject *s, const char *name) {
    const sr_graph *graph = s->layout->graph;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        s->tensor = graph->nodes[i];
        for (int j = 0; j < graph->tensors[s->tensor].n_src && strcmp(sr__label(graph, s->tensor), name) == 0; j++) {
            s->holder = sr__source_of(graph, s->tensor, j);
            const sr_buffer *buffer = s->holder >= 0 ? sr__home_buffer(graph, s->holder) : NULL;
            s->type = buffer != NULL ? buffer->type : NULL;
            if (s->type != NULL && !is_served(s)) {
                return true;
            }
        }
    }
    return false;
}

/* ---- in words ---------------------------------------------------------------------------------------------------- */

typedef bool (*answer)(const subject *s, int backend);

/* "GPU0, CPU", or "none". */
static void put_backends(sr__str *str, const subject *s, answer yes) {
    const size_t before = str->length;
    for (int b = 0; b < s->layout->n_backends; b++) {
        if (yes(s, b)) {
            sr__str_printf(str, "%s%s", str->length > before ? ", " : "", s->layout->backends[b]->name);
        }
    }
    sr__str_puts(str, str->length > before ? "" : "none");
}

static void put_refusals(sr__str *str, const subject *s) {
    const char *lead = "; ";
    for (int b = 0; b < s->layout->n_backends; b++) {
        if (!supports(s, b)) {
            sr__str_printf(str, "%s%s refuses it: ", lead, s->layout->backends[b]->name);
            sr__put_refusal(str, s->layout, s->tensor, b);
            lead = ", ";
        }
    }
}

static void put_hint(sr__str *str, const subject *s) {
    const sr_tensor *t = &s->layout->graph->tensors[s->tensor];
    const char *op = sr_tensor_op_desc(t), *type = s->type->name;
    if (t->op == SR_OP_NONE) {
        sr__str_printf(str,
                       "a leaf asks for no op: no backend of this scheduler accepts %s buffers; add the backend that "
                       "owns them, or allocate the tensor elsewhere",
                       type);
    } else if (sr_op_is_view(t->op)) {
        sr__str_printf(str,
                       "a view computes nothing: every backend should support VIEW, RESHAPE, PERMUTE, TRANSPOSE and "
                       "NONE; allow %s where %s is accepted",
                       op, type);
    } else if (s->holder == s->tensor) {
        sr__str_printf(str,
                       "let the scheduler allocate '%s' and copy it, put it into a buffer of a backend that supports "
                       "%s, or use a type that this one takes",
                       sr__label(s->layout->graph, s->tensor), op);
    } else {
        sr__str_printf(str, "put '%s' into a buffer whose backend supports %s with it, such as plain host memory",
                       sr__label(s->layout->graph, s->holder), op);
    }
}

static bool report(const subject *s, sr_findings *findings) {
    const sr_graph *graph = s->layout->graph;
    const sr_tensor *t = &graph->tensors[s->tensor];
    const char *name = sr__label(graph, s->tensor), *holder = sr__label(graph, s->holder);
    sr_finding *f = sr__finding_add(findings, "preallocated", SR_SEVERITY_ERROR);
    sr__str who = {0}, can = {0}, why = {0}, hint = {0};
    bool ok = f != NULL;
    if (ok) {
        f->bytes = graph->tensors[s->holder].nbytes;
        put_backends(&who, s, accepts);
        put_backends(&can, s, supports);
        put_refusals(&why, s);
        put_hint(&hint, s);
        ok =
            !who.failed && !can.failed && !why.failed && !hint.failed && sr__finding_tensor(f, name) &&
            sr__finding_tensor(f, holder) &&
            sr__finding_say(f, "'%s' (%s) %s%s%s a %s buffer: that type is accepted by %s, the op is supported by %s%s",
                            name, sr_tensor_op_desc(t), s->holder == s->tensor ? "lies in" : "reads '",
                            s->holder == s->tensor ? "" : holder, s->holder == s->tensor ? "" : "' in", s->type->name,
                            sr__str_text(&who), sr__str_text(&can), sr__str_text(&why)) &&
            sr__finding_hint(f, "%s", sr__str_text(&hint)) && sr__finding_text(f, "op", sr_tensor_op_name(t)) &&
            sr__finding_text(f, "buffer_type", s->type->name) &&
            sr__finding_text(f, "accepted_by", sr__str_text(&who)) &&
            sr__finding_text(f, "supported_by", sr__str_text(&can));
    }
    sr__str_free(&who);
    sr__str_free(&can);
    sr__str_free(&why);
    sr__str_free(&hint);
    return ok;
}

sr_status sr__lint_preallocated(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    const sr_error *error = input->error;
    subject s = {.layout = input->layout, .tensor = -1, .holder = -1};
    bool found = false;
    if (error != NULL && error->status == SR_PREALLOCATED) {
        found = find_tensor(&s, text_of(error, "tensor"));
    } else if (error != NULL && error->status == SR_UNASSIGNED) {
        found = find_node(&s, text_of(error, "node"));
    }
    return !found || report(&s, findings) ? SR_OK : sr__fail_memory(err);
}
