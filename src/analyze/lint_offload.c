/*
 * lint_offload.c - for each op with host weights: whether it was offloaded, and what decided.
 *
 * Layer: analyze.  Answers to the offload rule of ggml_backend_sched_backend_id_from_cur; the first of its conditions
 * that does not hold is the reason.  Nothing is said where no backend can offload.
 */
#include "analyze/finding.h"

typedef enum reason {
    TAKEN, BY_USER, BY_OWN_BUFFER, EXCLUDED, SWITCHED_OFF, ELSEWHERE, NOT_HOST, NOT_SUPPORTED, SMALL, NOT_ASKED
} reason;

static const char *const reason_names[] = {
    [TAKEN] = "offloaded",
    [BY_USER] = "assigned by the user",
    [BY_OWN_BUFFER] = "its own buffer decides",
    [EXCLUDED] = "op excluded",
    [SWITCHED_OFF] = "switched off",
    [ELSEWHERE] = "weight not on the last backend",
    [NOT_HOST] = "buffer not host",
    [NOT_SUPPORTED] = "op not supported",
    [SMALL] = "batch below the limit",
    [NOT_ASKED] = "no backend asked for it",
};

typedef struct row {
    const sr_layout *layout;
    const sr_graph *graph;
    const sr_sched_params *params;
    sr__answers answers;
    const sr_split *split;
    int32_t node, weights;
    const sr_buffer_type *type; /* of the weights */
    int home;                   /* the backend that the weights are for, -1 */
    int gpu;                    /* the backend that took it, would have, or could; -1 */
    bool wanted;                /* that one supports the op and asked for it */
    reason why;
    sr__str *say, *hint;        /* used again for every row */
} row;

/* ---- who can offload --------------------------------------------------------------------------------------------- */

static bool is_recorded(const sr_graph *graph, const char *backend) {
    for (int32_t i = 0; i < graph->n_answers; i++) {
        for (int32_t j = 0; j < graph->answers[i].n_offloaded_by; j++) {
            if (strcmp(graph->answers[i].offloaded_by[j], backend) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* By backend; false: none can.  What a recording says counts as well. */
static bool find_able(const sr_layout *layout, bool *able) {
    bool any = false;
    for (int b = 0; b < layout->n_backends - 1; b++) {
        able[b] = layout->backends[b]->offload_min_batch >= 0 || sr_backend_can_offload(layout->backends[b]) ||
                  is_recorded(layout->graph, layout->backends[b]->name);
        any |= able[b];
    }
    return any;
}

/* ---- the reason -------------------------------------------------------------------------------------------------- */

static int32_t first_weights(const sr_graph *graph, int32_t node) {
    for (int j = 0; j < graph->tensors[node].n_src; j++) {
        const int32_t source = sr__source_of(graph, node, j);
        const sr_buffer *buffer = source >= 0 ? graph->tensors[source].buffer : NULL;
        if (buffer != NULL && buffer->usage == SR_USAGE_WEIGHTS) {
            return source;
        }
    }
    return -1;
}

/* The first backend that supports the op and asks for it; else the first that could ask at all. */
static void find_taker(row *r, const bool *able) {
    r->gpu = -1;
    r->wanted = false;
    for (int b = 0; b < r->layout->n_backends - 1 && !r->wanted; b++) {
        r->wanted = able[b] && sr__answers_offload(&r->answers, r->node, b);
        if (r->wanted || (able[b] && r->gpu < 0)) {
            r->gpu = b;
        }
    }
}

static int find_home(row *r) {
    for (int b = 0; b < r->layout->n_backends; b++) {
        if (sr_backend_supports_buffer_type(r->layout->backends[b], r->type) &&
            sr__answers_supports(&r->answers, r->node, b)) {
            return b;
        }
    }
    return -1;
}

/* Why nobody asked. */
static reason why_not_asked(row *r) {
    const sr_backend *gpu = r->layout->backends[r->gpu];
    const int32_t answers = r->graph->tensors[r->node].answers;
    if (!sr__answers_supports(&r->answers, r->node, r->gpu)) {
        return NOT_SUPPORTED;
    }
    if (gpu->offload_min_batch < 0 || (answers >= 0 && r->graph->answers[answers].n_offloaded_by >= 0)) {
        return NOT_ASKED; /* as recorded, or by a device of another kind */
    }
    return sr_tensor_batch(&r->graph->tensors[r->node]) < gpu->offload_min_batch ? SMALL : EXCLUDED;
}

static bool ignores_weights(const row *r) {
    const int op = r->graph->tensors[r->node].op;
    return op == SR_OP_ROPE || (op == SR_OP_FLASH_ATTN_EXT && r->params->rules.attention_ignores_weights);
}

/* In the order in which the scheduler asks. */
static reason find_reason(row *r) {
    if (r->layout->cause_of[r->node] == SR_CAUSE_USER) {
        return BY_USER;
    }
    if (sr__home_buffer(r->graph, r->node) != NULL) {
        return BY_OWN_BUFFER;
    }
    if (ignores_weights(r)) {
        return EXCLUDED;
    }
    if (!r->params->op_offload && r->params->rules.op_offload_switch) {
        return SWITCHED_OFF;
    }
    if (r->home != r->layout->n_backends - 1) {
        return ELSEWHERE;
    }
    if (!r->type->is_host && r->params->rules.offload_host_only) {
        return NOT_HOST;
    }
    return r->wanted ? TAKEN : why_not_asked(r);
}

/* ---- in words ---------------------------------------------------------------------------------------------------- */

/* What the backend that could have taken it says. */
static void put_words_of_gpu(const row *r, sr__str *say, sr__str *hint) {
    const sr_tensor *t = &r->graph->tensors[r->node];
    const sr_backend *gpu = r->layout->backends[r->gpu];
    switch (r->why) {
    case NOT_SUPPORTED:
        sr__str_printf(say, "was not offloaded: %s refuses it (", gpu->name);
        sr__put_refusal(say, r->layout, r->node, r->gpu);
        sr__str_puts(say, ")");
        sr__str_printf(hint, "use weights of a type that %s takes for %s", gpu->name, sr_tensor_op_desc(t));
        break;
    case SMALL:
        sr__str_printf(say, "was not offloaded: its batch of %lld is below the %lld that %s asks for",
                       (long long)sr_tensor_batch(t), (long long)gpu->offload_min_batch, gpu->name);
        if (t->op == SR_OP_GET_ROWS) {
            sr__str_puts(hint, "nothing to do: GET_ROWS counts as a batch of 0, so that no table is copied for a row");
        } else {
            sr__str_puts(hint, "larger batches are offloaded; GGML_OP_OFFLOAD_MIN_BATCH moves the limit");
        }
        break;
    default:
        sr__str_printf(say, "was not offloaded: no backend asked for it");
        sr__str_printf(hint, "the backends' own answer, or the recorded one");
        break;
    }
}

static void put_words(const row *r, sr__str *say, sr__str *hint) {
    const sr_tensor *t = &r->graph->tensors[r->node];
    const char *gpu = r->layout->backends[r->gpu]->name, *op = sr_tensor_op_desc(t);
    const char *home = r->home >= 0 ? r->layout->backends[r->home]->name : "no backend";
    const char *weights = sr__label(r->graph, r->weights);
    const long long batch = (long long)sr_tensor_batch(t);
    switch (r->why) {
    case TAKEN:
        sr__str_printf(say, "was offloaded to %s: its weights '%s' are in host memory and its batch is %lld", gpu,
                       weights, batch);
        sr__str_printf(hint, "the weights are copied in every evaluation: larger batches share that cost; "
                             "--no-op-offload shows the other way");
        break;
    case BY_USER:
        sr__str_printf(say, "was not offloaded: it is assigned by hand");
        sr__str_printf(hint, "without the assignment the rules for weights apply");
        break;
    case BY_OWN_BUFFER:
        sr__str_printf(say, "was not offloaded: its result lies in a buffer, which decides first");
        sr__str_printf(hint, "leave the result to the scheduler's allocator if the op is to be offloaded");
        break;
    case EXCLUDED:
        sr__str_printf(say, "was not offloaded: %s", ignores_weights(r) ? "ops of its kind are not placed by weights"
                                                                        : "it is not among the ops that are offloaded");
        sr__str_printf(hint, "nothing to do, unless %s should be among the ops that %s asks for", op, gpu);
        break;
    case SWITCHED_OFF:
        sr__str_printf(say, "was not offloaded: offloading is switched off");
        sr__str_printf(hint, "leave out --no-op-offload, or set op_offload, if batches are large");
        break;
    case ELSEWHERE:
        sr__str_printf(say,
                       "was not offloaded: its weights '%s' (%s) belong to %s, and only those of the last backend, "
                       "%s, are offloaded",
                       weights, r->type->name, home, r->layout->backends[r->layout->n_backends - 1]->name);
        if (r->home >= 0) {
            sr__str_printf(hint, "leave out %s, or have it refuse this op: the weights then belong to the last backend",
                           home);
        } else {
            sr__str_printf(hint, "put the weights where a backend supports %s with them", op);
        }
        break;
    case NOT_HOST:
        sr__str_printf(say, "was not offloaded: its weights '%s' are in %s, which is no host memory", weights,
                       r->type->name);
        sr__str_printf(hint, "keep the weights in a host buffer (without repacking), or move them to %s", gpu);
        break;
    default:
        put_words_of_gpu(r, say, hint);
        break;
    }
    if (r->wanted && (r->why == NOT_HOST || r->why == ELSEWHERE)) {
        sr__str_printf(say, "; %s would have taken it, the batch is %lld", gpu, batch);
    }
}

/* Bytes of the weights where this node's split is the one that copies them. */
static uint64_t copied_bytes(const row *r) {
    for (int32_t i = r->split->inputs_begin; i < r->split->inputs_begin + r->split->n_inputs; i++) {
        if (r->layout->inputs[i] == r->weights) {
            return sr__input_bytes(r->layout, i);
        }
    }
    return 0;
}

static bool report(const row *r, sr_findings *findings) {
    const sr_tensor *t = &r->graph->tensors[r->node];
    const bool surprising = r->wanted && (r->why == NOT_HOST || r->why == ELSEWHERE);
    sr_finding *f = sr__finding_add(findings, "offload", surprising ? SR_SEVERITY_WARNING : SR_SEVERITY_INFO);
    if (f == NULL) {
        return false;
    }
    const int backend = r->layout->backend_of[r->node];
    const int64_t limit = r->layout->backends[r->gpu]->offload_min_batch;
    f->bytes = r->why == TAKEN ? copied_bytes(r) : 0;
    sr__str_clear(r->say);
    sr__str_clear(r->hint);
    put_words(r, r->say, r->hint);
    return !r->say->failed && !r->hint->failed && sr__finding_tensor(f, sr__label(r->graph, r->node)) &&
           sr__finding_tensor(f, sr__label(r->graph, r->weights)) &&
           sr__finding_say(f, "'%s' (%s) %s", sr__label(r->graph, r->node), sr_tensor_op_desc(t),
                           sr__str_text(r->say)) &&
           sr__finding_hint(f, "%s", sr__str_text(r->hint)) && sr__finding_text(f, "op", sr_tensor_op_desc(t)) &&
           sr__finding_number(f, "taken", r->why == TAKEN) && sr__finding_text(f, "reason", reason_names[r->why]) &&
           sr__finding_number(f, "batch", sr_tensor_batch(t)) &&
           sr__finding_text(f, "backend", backend >= 0 ? r->layout->backends[backend]->name : "none") &&
           sr__finding_text(f, "buffer_type", r->type->name) && (limit < 0 || sr__finding_number(f, "limit", limit));
}

/* Weights that a host computes with: in host memory, or in a buffer that the last backend can use. */
static bool are_host_weights(const row *r) {
    return r->type->is_host || sr_backend_supports_buffer_type(r->layout->backends[r->layout->n_backends - 1], r->type);
}

sr_status sr__lint_offload(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    const sr_layout *layout = input->layout;
    sr__str say = {0}, hint = {0};
    row r = {.layout = layout, .graph = layout->graph, .params = input->params, .say = &say, .hint = &hint};
    bool *able = sr__calloc((size_t)layout->n_backends, sizeof(*able));
    bool ok = sr__answers_init(&r.answers, layout) && able != NULL;
    const bool speaks = ok && find_able(layout, able);
    for (int32_t s = 0; s < layout->n_splits && ok && speaks; s++) {
        r.split = &layout->splits[s];
        for (int32_t i = r.split->start; i < r.split->end && ok; i++) {
            r.node = r.graph->nodes[i];
            r.weights = sr__works(&r.graph->tensors[r.node]) ? first_weights(r.graph, r.node) : -1;
            r.type = r.weights >= 0 ? r.graph->tensors[r.weights].buffer->type : NULL;
            if (r.weights < 0 || !are_host_weights(&r)) {
                continue;
            }
            r.home = find_home(&r);
            find_taker(&r, able);
            r.why = find_reason(&r);
            ok = report(&r, findings);
        }
    }
    sr__answers_free(&r.answers);
    sr__free(able);
    sr__str_free(&say);
    sr__str_free(&hint);
    return ok ? SR_OK : sr__fail_memory(err);
}
