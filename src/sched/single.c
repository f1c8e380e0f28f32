/*
 * single.c - a graph on one backend: every tensor in memory of its own, and what that backend refuses.
 *
 * Layer: sched.  Answers to ggml_backend_graph_copy and to graphs that are computed without a scheduler.
 */
#include "base/base.h"
#include "sched_run/sched.h"

struct sr_graph_copy {
    const sr_graph *graph;
    sr_backend *backend;
    sr_storage *storage;   /* by tensor */
    sr_buffer **buffers;
    size_t n_buffers, buffers_cap;
    sr_refused_node *refused;
    size_t refused_cap;
    int32_t n_refused;
    sr_graph_view view;
    sr__arena texts;       /* of refusals by rules */
};

static const char *label(const sr_tensor *t) { return t->name[0] ? t->name : t->id; }

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* Tensors [first, end) that share a buffer of `size` bytes. */
typedef struct batch { int32_t first, end; size_t size; } batch;

static bool is_root(const sr_tensor *t) { return t->view_src < 0; }

/* As many tensors from `first` on as one buffer of the type holds, at least one; offsets go into storage. */
static sr_status gather(const sr_graph_copy *copy, int32_t first, batch *out, sr_error *err) {
    const sr_buffer_type *type = copy->backend->buffer_type;
    *out = (batch){.first = first, .end = first};
    for (; out->end < copy->graph->n_tensors; out->end++) {
        size_t offset, end;
        if (!is_root(&copy->graph->tensors[out->end])) {
            continue;
        }
        const size_t size = sr_buffer_type_alloc_size(type, &copy->view, out->end);
        if (!sr__align_up(out->size, type->alignment, &offset) || !sr__add_size(offset, size, &end)) {
            return sr__fail(err, SR_ALLOCATION, "a copy of the graph is larger than memory can be");
        }
        if (end > type->max_size && out->size > 0) {
            break;
        }
        copy->storage[out->end].offset = offset;
        out->size = end;
    }
    return SR_OK;
}

static sr_status allocate(sr_graph_copy *copy, const batch *b, sr_error *err) {
    sr_buffer *buffer;
    if (!sr__grow(&copy->buffers, &copy->buffers_cap, copy->n_buffers + 1, sizeof(sr_buffer *))) {
        return sr__fail_memory(err);
    }
    sr_status status = sr_buffer_type_alloc(copy->backend->buffer_type, b->size, &buffer, err);
    if (status != SR_OK) {
        return status;
    }
    copy->buffers[copy->n_buffers++] = buffer;
    sr_buffer_set_usage(buffer, SR_USAGE_COMPUTE);
    for (int32_t i = b->first; i < b->end; i++) {
        copy->storage[i].buffer = is_root(&copy->graph->tensors[i]) ? buffer : NULL;
    }
    return b->size > 0 ? sr_buffer_clear(buffer, 0, err) : SR_OK;
}

static sr_status allocate_all(sr_graph_copy *copy, sr_error *err) {
    const sr_graph *graph = copy->graph;
    sr_status status = SR_OK;
    batch b;
    for (int32_t i = 0; i < graph->n_tensors; i = b.end) {
        SR_TRY(gather(copy, i, &b, err));
        SR_TRY(allocate(copy, &b, err));
    }
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        const sr_tensor *t = &graph->tensors[i];
        if (!is_root(t)) {
            copy->storage[i] = copy->storage[t->view_src];
            copy->storage[i].offset += t->view_offs;
        }
    }
done:
    return status;
}

static sr_status copy_contents(sr_graph_copy *copy, const sr_storage *from, sr_error *err) {
    const sr_graph *graph = copy->graph;
    sr_status status = SR_OK;
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        const sr_tensor *t = &graph->tensors[i];
        const sr_storage src = from ? from[i] : (sr_storage){t->buffer, t->buffer_offset};
        const sr_storage *dst = &copy->storage[i];
        if (is_root(t) && src.buffer && t->nbytes > 0) {
            SR_TRY(sr_buffer_copy(dst->buffer, dst->offset, src.buffer, src.offset, t->nbytes, NULL, err));
        }
    }
done:
    return status;
}

/* ---- answers ---------------------------------------------------------------------------------------------------- */

static const char *explain(sr_graph_copy *copy, const sr_refusal *refusal) {
    sr__str s = {0};
    switch (refusal->by) {
    case SR_REFUSED_BY_RECORD: return "recorded as not supported";
    case SR_REFUSED_BY_ALLOW: return "not among the ops that it allows";
    case SR_REFUSED_BY_DENY: sr__str_printf(&s, "denied by the rule %s", refusal->text ? refusal->text : ""); break;
    default: return refusal->text ? refusal->text : "it does not support the op";
    }
    const char *text = sr__arena_strdup(&copy->texts, sr__str_text(&s));
    sr__str_free(&s);
    return text ? text : "denied by a rule";
}

/* NULL: the backend takes the node. */
static const char *refusal_of(sr_graph_copy *copy, int32_t tensor) {
    sr_refusal refusal = {0};
    const char *why = NULL;
    if (!sr_backend_supports_op(copy->backend, &copy->view, tensor, &refusal)) {
        return explain(copy, &refusal);
    }
    if (!sr_backend_can_execute(copy->backend, &copy->view, tensor, &why)) {
        return why ? why : "it has no kernel for the op";
    }
    return NULL;
}

static sr_status list_refused(sr_graph_copy *copy, sr_error *err) {
    for (int32_t i = 0; i < copy->graph->n_nodes; i++) {
        const int32_t tensor = copy->graph->nodes[i];
        const sr_tensor *t = &copy->graph->tensors[tensor];
        const char *why = t->op == SR_OP_NONE || sr_op_is_view(t->op) || !(t->flags & SR_FLAG_COMPUTE)
                              ? NULL : refusal_of(copy, tensor);
        if (!why) {
            continue;
        }
        if (!sr__grow(&copy->refused, &copy->refused_cap, (size_t)copy->n_refused + 1, sizeof(*copy->refused))) {
            return sr__fail_memory(err);
        }
        copy->refused[copy->n_refused++] = (sr_refused_node){tensor, why};
    }
    return SR_OK;
}

/* ---- the copy --------------------------------------------------------------------------------------------------- */

sr_status sr_graph_copy_new(sr_backend *backend, const sr_graph *graph, const sr_storage *from,
                            sr_graph_copy **out_copy, sr_error *err) {
    sr_status status;
    *out_copy = NULL;
    sr_graph_copy *copy = sr__calloc(1, sizeof(*copy));
    if (!copy) {
        return sr__fail_memory(err);
    }
    sr__arena_init(&copy->texts, 4096);
    copy->graph = graph;
    copy->backend = backend;
    copy->view = sr_graph_whole(graph);
    copy->storage = sr__calloc((size_t)graph->n_tensors + 1, sizeof(*copy->storage));
    if (!copy->storage) {
        SR_TRY(sr__fail_memory(err));
    }
    SR_TRY(allocate_all(copy, err));
    copy->view.storage = copy->storage;
    SR_TRY(copy_contents(copy, from, err));
    SR_TRY(list_refused(copy, err));
    *out_copy = copy;
    copy = NULL;
done:
    sr_graph_copy_free(copy);
    return status;
}

void sr_graph_copy_free(sr_graph_copy *copy) {
    if (!copy) {
        return;
    }
    for (size_t i = 0; i < copy->n_buffers; i++) {
        sr_buffer_free(copy->buffers[i]);
    }
    sr__free(copy->buffers);
    sr__free(copy->storage);
    sr__free(copy->refused);
    sr__arena_free(&copy->texts);
    sr__free(copy);
}

sr_backend *sr_graph_copy_backend(const sr_graph_copy *copy) { return copy->backend; }

const sr_graph_view *sr_graph_copy_view(const sr_graph_copy *copy) { return &copy->view; }

const sr_refused_node *sr_graph_copy_refused(const sr_graph_copy *copy, int32_t *out_n) {
    *out_n = copy->n_refused;
    return copy->refused;
}

sr_status sr_graph_copy_compute(sr_graph_copy *copy, sr_error *err) {
    if (copy->n_refused == 0) {
        return sr_backend_compute(copy->backend, &copy->view, err);
    }
    const sr_tensor *t = &copy->graph->tensors[copy->refused[0].tensor];
    (void)sr__fail(err, SR_UNAVAILABLE, "backend '%s' refuses %d of the nodes, first '%s' (%s): %s",
                   copy->backend->name, (int)copy->n_refused, label(t), sr_tensor_op_desc(t), copy->refused[0].why);
    sr__error_text(err, "node", label(t));
    sr__error_text(err, "op", sr_tensor_op_desc(t));
    sr__error_number(err, "count", copy->n_refused);
    return SR_UNAVAILABLE;
}

sr_status sr_graph_copy_compute_node(sr_graph_copy *copy, int32_t position, sr_error *err) {
    sr_graph_view one = copy->view;
    if (position < 0 || position >= copy->graph->n_nodes) {
        return sr__fail(err, SR_INVALID, "graph '%s' has no node %d", copy->graph->name, (int)position);
    }
    one.nodes = &copy->graph->nodes[position];
    one.n_nodes = 1;
    return sr_backend_compute(copy->backend, &one, err);
}
