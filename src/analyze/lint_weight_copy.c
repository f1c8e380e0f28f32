/*
 * lint_weight_copy.c - weights, or views of weights, that are copied in every evaluation.
 *
 * Layer: analyze.  One finding for each weights tensor and backend it is copied to.
 */
#include "analyze/finding.h"

/* A copy of weights and who reads it first. */
typedef struct weight_copy {
    const sr_layout *layout;
    const sr_graph *graph;
    const sr_split *split;
    int32_t split_index, input; /* place in layout->inputs */
    int32_t tensor, root, node;
    sr__answers *answers;
    sr__str *message; /* used again and again: there may be thousands of copies */
} weight_copy;

static const char *name_of(const weight_copy *c, int32_t tensor) { return sr__label(c->graph, tensor); }
static const char *backend_name(const weight_copy *c, int backend) {
    return backend >= 0 ? c->layout->backends[backend]->name : "none";
}

/* ---- why --------------------------------------------------------------------------------------------------------- */

/* The highest backend that can use the weights where they are, but refuses the op, so that it runs elsewhere; or -1. */
static int find_refusing(const weight_copy *c) {
    int refusing = -1;
    for (int b = 0; b < c->layout->n_backends; b++) {
        if (!sr_backend_supports_buffer_type(c->layout->backends[b], c->graph->tensors[c->root].buffer->type)) {
            continue;
        }
        if (sr__answers_supports(c->answers, c->node, b)) {
            return -1;
        }
        refusing = refusing < 0 ? b : refusing;
    }
    return refusing;
}

/* The weights that placed the node, where those are others than the copied ones; or -1. */
static int32_t deciding_weights(const weight_copy *c) {
    const int j = (int)c->layout->cause_of[c->node] - (int)SR_CAUSE_WGT0;
    const int32_t source = j >= 0 ? sr__source_of(c->graph, c->node, j) : -1;
    return source != c->tensor ? source : -1;
}

/* As there may be thousands of copies, the common ones are put together without printf. */
static void put_all(sr__str *s, const char *const *texts) {
    for (; *texts != NULL; texts++) {
        sr__str_puts(s, *texts);
    }
}

/* Puts why into the message, and gives advice. */
static bool explain(const weight_copy *c, sr_finding *f) {
    sr__str *why = c->message;
    const char *node = name_of(c, c->node), *op = sr_tensor_op_desc(&c->graph->tensors[c->node]);
    const char *to = backend_name(c, c->split->backend), *root = name_of(c, c->root);
    const int cause = c->layout->cause_of[c->node];
    if (cause == SR_CAUSE_OFFLOAD) {
        put_all(why, (const char *const[]){"'", node, "' (", op, ") was offloaded to ", to, NULL});
        return sr__finding_hint(f, "move the weights to %s if there is room, or compute larger batches: the copy costs "
                                   "the same for any; --no-op-offload shows the other way", to);
    }
    if (cause == SR_CAUSE_USER) {
        sr__str_printf(why, "'%s' (%s) is assigned to %s by hand", node, op, to);
        return sr__finding_hint(f, "assign '%s' to the backend that has '%s', or move the weights to %s", node, root,
                                to);
    }
    const int refusing = find_refusing(c);
    const int32_t others = deciding_weights(c);
    if (refusing >= 0) {
        sr__str_printf(why, "%s, which can use them where they are, refuses %s (", backend_name(c, refusing), op);
        sr__put_refusal(why, c->layout, c->node, refusing);
        sr__str_printf(why, "), so that '%s' runs on %s", node, to);
        return sr__finding_hint(f, "keep '%s' in a buffer of %s, or in a type that %s takes for %s", root, to,
                                backend_name(c, refusing), op);
    }
    if (c->tensor != c->root) {
        sr__str_printf(why,
                       "'%s' (%s) runs on %s: the view has no buffer of its own, so that the weights behind it did "
                       "not decide",
                       node, op, to);
        return sr__finding_hint(f,
                                "give '%s' the shape it is used in when it is loaded, or assign '%s' to a backend that "
                                "has the weights",
                                root, node);
    }
    if (others >= 0) {
        sr__str_printf(why, "'%s' (%s) is on %s because of its other weights '%s'", node, op, to, name_of(c, others));
        return sr__finding_hint(f, "put '%s' and '%s' into buffers of one backend", root, name_of(c, others));
    }
    sr__str_printf(why, "'%s' (%s) runs on %s for another reason than these weights (cause %s)", node, op, to,
                   sr_cause_name(cause)[0] != '\0' ? sr_cause_name(cause) : "none");
    return sr__finding_hint(f,
                            "move '%s' to %s, or assign '%s' to a backend that has the weights; -e %s shows how it was "
                            "decided",
                            root, to, node, node);
}

/* ---- experts ----------------------------------------------------------------------------------------------------- */

/* Of the host weights of MUL_MAT_ID only the used experts are copied, if that is the first node of the split. */
static bool copies_used_experts(const weight_copy *c) {
    const sr_layout *layout = c->layout;
    const sr_buffer *buffer = c->graph->tensors[c->root].buffer;
    const bool rules = layout->params == NULL || layout->params->rules.used_experts_only;
    const int32_t first =
        c->split->start < c->split->end ? layout->view.nodes[layout->split_nodes[c->split_index]] : -1;
    return rules && buffer->type->is_host && first >= 0 && c->graph->tensors[first].op == SR_OP_MUL_MAT_ID &&
           sr__source_of(c->graph, first, 0) == c->tensor;
}

/* Where the ids are read that say which experts are used: their copy may not be there yet. */
static const char *where_ids_are_read(const weight_copy *c, int32_t ids) {
    for (int32_t i = c->input + 1; i < c->split->inputs_begin + c->split->n_inputs; i++) {
        if (c->layout->inputs[i] == ids) {
            return backend_name(c, c->layout->backend_of[ids]);
        }
    }
    return backend_name(c, c->split->backend);
}

static bool tell_experts(const weight_copy *c, sr_finding *f) {
    sr__str *message = c->message;
    const sr_tensor *node = &c->graph->tensors[c->node];
    const int32_t ids = sr__source_of(c->graph, c->node, 2);
    if (node->op != SR_OP_MUL_MAT_ID || sr__source_of(c->graph, c->node, 0) != c->tensor || ids < 0) {
        return true;
    }
    const bool used = copies_used_experts(c);
    const uint64_t all = c->graph->tensors[c->tensor].nbytes;
    char bytes[16];
    sr__format_bytes(all, bytes);
    if (used && c->layout->executed) {
        sr__str_printf(message, "; only the used experts were copied, of %s", bytes);
    } else if (used) {
        sr__str_printf(message, "; at most, for only the experts that '%s' names are copied", name_of(c, ids));
    } else {
        sr__str_puts(message, "; all experts are copied, used or not");
        if (c->graph->tensors[c->root].buffer->type->is_host) {
            sr__str_printf(message, ": '%s' does not begin its split", name_of(c, c->node));
        }
    }
    return sr__finding_text(f, "experts", used ? "used" : "all") && sr__finding_number(f, "full_bytes", (int64_t)all) &&
           sr__finding_text(f, "ids", name_of(c, ids)) &&
           (!used || sr__finding_text(f, "ids_read_on", where_ids_are_read(c, ids)));
}

/* ---- findings ---------------------------------------------------------------------------------------------------- */

static bool put_details(const weight_copy *c, sr_finding *f) {
    return sr__finding_text(f, "node", name_of(c, c->node)) &&
           sr__finding_text(f, "op", sr_tensor_op_desc(&c->graph->tensors[c->node])) &&
           sr__finding_text(f, "cause", sr_cause_name(c->layout->cause_of[c->node])) &&
           sr__finding_text(f, "from", backend_name(c, c->layout->backend_of[c->tensor])) &&
           sr__finding_text(f, "to", backend_name(c, c->split->backend)) &&
           sr__finding_text(f, "buffer_type", c->graph->tensors[c->root].buffer->type->name) &&
           sr__finding_number(f, "split", c->split_index);
}

static bool report(const weight_copy *c, sr_findings *findings) {
    const bool offloaded = c->layout->cause_of[c->node] == SR_CAUSE_OFFLOAD, is_view = c->tensor != c->root;
    sr_finding *f = sr__finding_add(findings, "weight-copy", offloaded ? SR_SEVERITY_INFO : SR_SEVERITY_WARNING);
    char bytes[16];
    if (f == NULL) {
        return false;
    }
    sr__str_clear(c->message);
    f->bytes = sr__input_bytes(c->layout, c->input);
    f->splits = c->split->because == SR_STARTS_WEIGHT && c->split->because_tensor == c->tensor;
    sr__format_bytes(f->bytes, bytes);
    if (is_view) {
        sr__str_printf(c->message, "the view '%s' of ", name_of(c, c->tensor));
    }
    put_all(c->message,
            (const char *const[]){"the weights '", name_of(c, c->root), "' (", bytes, is_view ? ") is" : ") are",
                                  " copied from ", c->graph->tensors[c->root].buffer->type->name, " to ",
                                  backend_name(c, c->split->backend), " in every evaluation: ", NULL});
    return sr__finding_tensor(f, name_of(c, c->tensor)) && (!is_view || sr__finding_tensor(f, name_of(c, c->root))) &&
           explain(c, f) && put_details(c, f) && tell_experts(c, f) && !c->message->failed &&
           sr__finding_say(f, "%s", sr__str_text(c->message));
}

sr_status sr__lint_weight_copy(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    const sr_layout *layout = input->layout;
    sr__answers answers;
    sr__str message = {0};
    weight_copy c = {.layout = layout, .graph = layout->graph, .answers = &answers, .message = &message};
    int32_t *readers = sr__input_readers(layout);
    bool ok = sr__answers_init(&answers, layout) && readers != NULL;
    for (int32_t s = 0; s < layout->n_splits && ok; s++) {
        c.split = &layout->splits[s];
        c.split_index = s;
        for (int32_t i = c.split->inputs_begin; i < c.split->inputs_begin + c.split->n_inputs && ok; i++) {
            c.input = i;
            c.tensor = layout->inputs[i];
            c.root = sr__root_of(c.graph, c.tensor);
            c.node = readers[i];
            const sr_buffer *buffer = c.graph->tensors[c.root].buffer;
            if (buffer != NULL && buffer->usage == SR_USAGE_WEIGHTS && c.node >= 0) {
                ok = report(&c, findings);
            }
        }
    }
    sr__free(readers);
    sr__answers_free(&answers);
    sr__str_free(&message);
    return ok ? SR_OK : sr__fail_memory(err);
}
