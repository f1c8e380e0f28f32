/*
 * lint_assignment.c - user assignments to a backend that refuses the op, cannot reach the tensor, or copies weights.
 *
 * Layer: analyze.
 */
#include "analyze/finding.h"

typedef struct assigned {
    const sr_layout *layout;
    const sr_graph *graph;
    sr_findings *findings;
    uint64_t *weight_bytes; /* by tensor: weights that are copied for it first */
    int32_t *weights;       /* by tensor: the largest of those, -1 */
} assigned;

static const char *backend_of(const assigned *a, int32_t tensor) {
    return a->layout->backends[a->layout->backend_of[tensor]]->name;
}

static bool report_refusal(const assigned *a, int32_t node) {
    const char *op = sr_tensor_op_desc(&a->graph->tensors[node]), *backend = backend_of(a, node);
    sr_finding *f = sr__finding_add(a->findings, "assignment", SR_SEVERITY_ERROR);
    sr__str why = {0};
    sr__put_refusal(&why, a->layout, node, a->layout->backend_of[node]);
    const bool ok = f != NULL && !why.failed && sr__finding_tensor(f, sr__label(a->graph, node)) &&
                    sr__finding_say(f, "'%s' (%s) is assigned by hand to %s, which refuses it: %s",
                                    sr__label(a->graph, node), op, backend, sr__str_text(&why)) &&
                    sr__finding_hint(f, "assign it to a backend that supports %s, or leave the choice to the scheduler",
                                     op) &&
                    sr__finding_text(f, "problem", "refused") && sr__finding_text(f, "op", op) &&
                    sr__finding_text(f, "backend", backend) && sr__finding_text(f, "reason", sr__str_text(&why));
    sr__str_free(&why);
    return ok;
}

static bool report_unreachable(const assigned *a, int32_t tensor) {
    const char *backend = backend_of(a, tensor), *type = a->graph->tensors[tensor].buffer->type->name;
    sr_finding *f = sr__finding_add(a->findings, "assignment", SR_SEVERITY_ERROR);
    return f != NULL && sr__finding_tensor(f, sr__label(a->graph, tensor)) &&
           sr__finding_say(f, "'%s' is assigned by hand to %s, but lies in a %s buffer, which %s cannot use; an "
                              "assignment does not move it", sr__label(a->graph, tensor), backend, type, backend) &&
           sr__finding_hint(f, "allocate it in a buffer of %s, or leave it unassigned: it is then copied where it is "
                               "needed", backend) &&
           sr__finding_text(f, "problem", "unreachable") && sr__finding_text(f, "backend", backend) &&
           sr__finding_text(f, "buffer_type", type);
}

static bool report_copy(const assigned *a, int32_t node) {
    const char *backend = backend_of(a, node), *name = sr__label(a->graph, node);
    const char *weights = sr__label(a->graph, a->weights[node]);
    const char *root = sr__label(a->graph, sr__root_of(a->graph, a->weights[node]));
    char bytes[16];
    sr_finding *f = sr__finding_add(a->findings, "assignment", SR_SEVERITY_WARNING);
    if (f == NULL) {
        return false;
    }
    f->bytes = a->weight_bytes[node];
    sr__format_bytes(f->bytes, bytes);
    return sr__finding_tensor(f, name) && sr__finding_tensor(f, weights) && sr__finding_tensor(f, root) &&
           sr__finding_say(f,
                           "'%s' (%s) is assigned by hand to %s: its weights '%s' are copied there in every "
                           "evaluation, %s",
                           name, sr_tensor_op_desc(&a->graph->tensors[node]), backend, weights, bytes) &&
           sr__finding_hint(f, "move '%s' to a buffer of %s, or assign '%s' to where the weights are", root, backend,
                            name) &&
           sr__finding_text(f, "problem", "weight copy") && sr__finding_text(f, "backend", backend) &&
           sr__finding_text(f, "weights", weights);
}

/* Bytes of weights by the node that reads them first. */
static bool count_weights(assigned *a) {
    const sr_layout *layout = a->layout;
    int32_t *readers = sr__input_readers(layout);
    if (readers == NULL) {
        return false;
    }
    for (int32_t i = 0; i < layout->n_inputs; i++) {
        const int32_t tensor = layout->inputs[i], node = readers[i];
        const sr_buffer *buffer = sr__home_buffer(a->graph, tensor);
        if (node < 0 || buffer == NULL || buffer->usage != SR_USAGE_WEIGHTS) {
            continue;
        }
        const int32_t before = a->weights[node];
        if (before < 0 || a->graph->tensors[before].nbytes < a->graph->tensors[tensor].nbytes) {
            a->weights[node] = tensor;
        }
        a->weight_bytes[node] += sr__input_bytes(layout, i);
    }
    sr__free(readers);
    return true;
}

static bool check(const assigned *a, int32_t tensor) {
    const sr_tensor *t = &a->graph->tensors[tensor];
    const sr_backend *backend = a->layout->backends[a->layout->backend_of[tensor]];
    const sr_graph_view view = sr_graph_whole(a->graph);
    bool ok = true;
    if (t->buffer != NULL && !sr_backend_supports_buffer_type(backend, t->buffer->type)) {
        ok = report_unreachable(a, tensor);
    }
    if (ok && sr__works(t) && !sr_backend_supports_op(backend, &view, tensor, NULL)) {
        ok = report_refusal(a, tensor);
    }
    return ok && (a->weights[tensor] < 0 || report_copy(a, tensor));
}

static bool has_assignments(const sr_layout *layout) {
    return memchr(layout->cause_of, SR_CAUSE_USER, (size_t)layout->graph->n_tensors) != NULL;
}

sr_status sr__lint_assignment(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    const sr_layout *layout = input->layout;
    if (!has_assignments(layout)) {
        return SR_OK;
    }
    const size_t n = (size_t)layout->graph->n_tensors;
    assigned a = {.layout = layout,
                  .graph = layout->graph,
                  .findings = findings,
                  .weight_bytes = sr__calloc(n, sizeof(*a.weight_bytes)),
                  .weights = sr__malloc(n * sizeof(*a.weights))};
    bool ok = a.weight_bytes != NULL && a.weights != NULL;
    if (ok) {
        memset(a.weights, 0xff, n * sizeof(*a.weights));
        ok = count_weights(&a);
    }
    for (int32_t i = 0; i < layout->graph->n_tensors && ok; i++) {
        ok = layout->cause_of[i] != SR_CAUSE_USER || check(&a, i);
    }
    sr__free(a.weight_bytes);
    sr__free(a.weights);
    return ok ? SR_OK : sr__fail_memory(err);
}
