/*
 * execute.c - running an allocated graph: input copies with the waits they need, then each split on its backend.
 *
 * Layer: sched.  Answers to ggml_backend_sched_compute_splits.
 */
#include "sched/sched_internal.h"
#include "sched/spans.h"

/* What one execution works on. */
typedef struct execution {
    sr_sched *sched;
    const sr_graph_view *view;
    int32_t ids_of;     /* the ids tensor whose experts `used` holds, -1 */
    int32_t *ids;
    size_t ids_cap;
    uint8_t *used;      /* by expert */
    size_t used_cap;
    int64_t n_expert;   /* how many `used` tells of: products may share ids, and differ in this */
    int split;          /* being run */
    sr_error *err;
} execution;

/* ---- telling the trace ------------------------------------------------------------------------------------------- */

/* What the next transfer into the split's backend, perhaps out of its source's queue, is about. */
static void tell_subject(const execution *x, int32_t input) {
    const sr_sched *sched = x->sched;
    if (sched->trace) {
        sr_backend *from = sched->backends[sched->backend_of[input]];
        sr_backend *to = sched->backends[sched->splits[x->split].backend];
        from->subject = to->subject = (sr_trace_subject){
            .name = sr__sched_tensor_label(sr_view_tensor(x->view, input)),
            .from = from->name, .to = to->name, .split = x->split};
    }
}

/* ---- waiting ---------------------------------------------------------------------------------------------------- */

static sr_event *event_of(const sr_sched *sched, int backend) {
    return sched->events[backend * sched->params.n_copies + sched->cur_copy];
}

/* Until the backend is done with what it last did in this copy slot: on the host, or in its queue. */
static sr_status wait_on_host(const execution *x, int backend) {
    sr_backend *b = x->sched->backends[backend];
    sr_event *event = event_of(x->sched, backend);
    const uint64_t begin = sr__span_begin(x->sched);
    const sr_status status = event ? sr_event_synchronize(event, x->err) : sr_backend_synchronize(b, x->err);
    sr__span_end(x->sched, begin, event ? SR_TRACE_WAIT : SR_TRACE_SYNCHRONIZE, x->split, b->name);
    return status;
}

static sr_status synchronize(const execution *x, int backend) {
    sr_backend *b = x->sched->backends[backend];
    const uint64_t begin = sr__span_begin(x->sched);
    const sr_status status = sr_backend_synchronize(b, x->err);
    sr__span_end(x->sched, begin, SR_TRACE_SYNCHRONIZE, x->split, b->name);
    return status;
}

static sr_status wait_in_queue(const execution *x, int backend) {
    sr_event *event = event_of(x->sched, backend);
    return event ? sr_event_wait(x->sched->backends[backend], event, x->err) : synchronize(x, backend);
}

static sr_status copy_now(const execution *x, int32_t input, int32_t copy) {
    const sr_storage *src = &x->view->storage[input], *dst = &x->view->storage[copy];
    const size_t size = sr_view_tensor(x->view, input)->nbytes;
    const uint64_t begin = sr__span_begin(x->sched);
    if (!size) {
        return SR_OK;
    }
    const sr_status status = sr_buffer_copy(dst->buffer, dst->offset, src->buffer, src->offset, size, NULL, x->err);
    if (x->sched->trace) {
        const sr_sched *sched = x->sched;
        const sr_trace_event event = {.kind = SR_TRACE_COPY,
                                      .name = sr__sched_tensor_label(sr_view_tensor(x->view, input)),
                                      .from = sched->backends[sched->backend_of[input]]->name,
                                      .to = sched->backends[sched->splits[x->split].backend]->name,
                                      .bytes = size, .split = x->split, .begin = begin, .end = sr_trace_now()};
        sr_trace_add(sched->trace, &event);
    }
    return status;
}

/* ---- copying only the experts that are used --------------------------------------------------------------------- */

/* The split begins with MUL_MAT_ID over this input, whose weights are in host memory. */
static bool is_experts_input(const execution *x, const sr_split *split, int s, int32_t input, int32_t copy) {
    const sr_buffer *buffer = x->view->storage[input].buffer;
    if (!x->sched->params.rules.used_experts_only || split->start == split->end || !buffer ||
        buffer->usage != SR_USAGE_WEIGHTS || !buffer->type->is_host || !buffer->base) {
        return false;
    }
    const sr_tensor *node = sr_view_tensor(x->view, x->view->nodes[x->sched->split_nodes[s]]);
    return node->op == SR_OP_MUL_MAT_ID && sr_view_src(x->view, node, 0) == copy;
}

/*
 * Ids that are an input of the same split, but not copied yet, are read where they are.  So are ids that the split reads
 * in another backend's memory: only the backend that makes them knows when they are there.
 */
static int32_t find_ids(const execution *x, const sr_split *split, int32_t k, int32_t ids, int *backend) {
    for (int32_t i = k + 1; i < split->n_inputs; i++) {
        if (ids == x->sched->input_copies[split->inputs_begin + i]) {
            const int32_t original = x->sched->inputs[split->inputs_begin + i];
            *backend = x->sched->backend_of[original];
            return original;
        }
    }
    *backend = sr_view_is_extra(x->view, ids) ? split->backend : x->sched->backend_of[ids];
    return ids;
}

static sr_status read_used(execution *x, int32_t ids, int backend, int64_t n_expert) {
    const sr_tensor *t = sr_view_tensor(x->view, ids);
    const sr_storage *storage = &x->view->storage[ids];
    sr_status status;
    if (!sr__grow(&x->ids, &x->ids_cap, t->nbytes / sizeof(int32_t) + 1, sizeof(int32_t)) ||
        !sr__grow(&x->used, &x->used_cap, (size_t)n_expert + 1, 1)) {
        return sr__fail_memory(x->err);
    }
    sr_backend *reader = x->sched->backends[backend];
    if (x->sched->trace) {
        const char *name = sr__sched_tensor_label(t);
        reader->subject = (sr_trace_subject){.name = name, .from = reader->name, .split = x->split};
    }
    SR_TRY(sr_backend_get_async(reader, storage->buffer, x->ids, storage->offset, t->nbytes, x->err));
    SR_TRY(synchronize(x, backend));
    memset(x->used, 0, (size_t)n_expert);
    for (int64_t i1 = 0; i1 < t->ne[1]; i1++) {
        for (int64_t i0 = 0; i0 < t->ne[0]; i0++) {
            const int32_t id = x->ids[((size_t)i1 * t->nb[1] + (size_t)i0 * t->nb[0]) / sizeof(int32_t)];
            if (id < 0 || id >= n_expert) {
                sr__fail(x->err, SR_COMPUTE, "expert id %d in '%s' is not one of %lld", id, sr__sched_tensor_label(t),
                         (long long)n_expert);
                sr__error_text(x->err, "node", sr__sched_tensor_label(t));
                return SR_COMPUTE;
            }
            x->used[id] = 1;
        }
    }
    x->ids_of = ids;
    x->n_expert = n_expert;
done:
    return status;
}

/* Neighbouring experts go together, with a little of the next one: matrix kernels of some devices read past the end. */
static sr_status copy_used(const execution *x, int backend, int32_t input, int32_t copy, uint64_t *copied) {
    const sr_tensor *t = sr_view_tensor(x->view, input);
    const sr_storage *src = &x->view->storage[input], *dst = &x->view->storage[copy];
    const size_t expert_size = t->nb[2];
    const size_t padding = expert_size < 512 ? expert_size : 512;
    for (int64_t first = 0; first < t->ne[2]; first++) {
        if (!x->used[first]) {
            continue;
        }
        int64_t last = first;
        while (last + 1 < t->ne[2] && x->used[last + 1]) {
            last++;
        }
        const size_t offset = (size_t)first * expert_size;
        size_t size = (size_t)(last - first + 1) * expert_size + (last < t->ne[2] - 1 ? padding : 0);
        if (offset + size > t->nbytes) {
            size = t->nbytes - offset;
        }
        const char *data = (const char *)src->buffer->base + src->offset + offset;
        const sr_status status =
            sr_backend_set_async(x->sched->backends[backend], dst->buffer, data, dst->offset + offset, size, x->err);
        if (status != SR_OK) {
            return status;
        }
        *copied += size;
        first = last;
    }
    return SR_OK;
}

static sr_status copy_experts(execution *x, const sr_split *split, int s, int32_t k, uint64_t *copied) {
    const int32_t input = x->sched->inputs[split->inputs_begin + k];
    const int32_t copy = x->sched->input_copies[split->inputs_begin + k];
    const sr_tensor *node = sr_view_tensor(x->view, x->view->nodes[x->sched->split_nodes[s]]);
    int backend;
    sr_status status;
    SR_TRY(synchronize(x, x->sched->backend_of[input]));
    const int32_t ids = find_ids(x, split, k, sr_view_src(x->view, node, 2), &backend);
    const int64_t n_expert = sr_view_tensor(x->view, input)->ne[2];
    if (ids != x->ids_of || n_expert != x->n_expert) {
        SR_TRY(read_used(x, ids, backend, n_expert));
    }
    tell_subject(x, input);
    SR_TRY(copy_used(x, split->backend, input, copy, copied));
done:
    return status;
}

/* ---- inputs ----------------------------------------------------------------------------------------------------- */

static sr_status copy_queued(const execution *x, const sr_split *split, int32_t input, int32_t copy) {
    sr_backend *from = x->sched->backends[x->sched->backend_of[input]], *to = x->sched->backends[split->backend];
    const size_t size = sr_view_tensor(x->view, input)->nbytes;
    bool done = false;
    sr_status status = SR_OK;
    if (to->iface->copy_async && size) {
        SR_TRY(to->iface->copy_async(from, to, &x->view->storage[input], &x->view->storage[copy], size, &done, x->err));
    }
    if (!done) {
        SR_TRY(synchronize(x, x->sched->backend_of[input]));
        SR_TRY(wait_on_host(x, split->backend));
        SR_TRY(copy_now(x, input, copy));
    }
done:
    return status;
}

static sr_status copy_input(execution *x, const sr_split *split, int s, int32_t k) {
    const int32_t place = split->inputs_begin + k;
    const int32_t input = x->sched->inputs[place], copy = x->sched->input_copies[place];
    uint64_t *copied = &x->sched->copied[place];
    sr_status status;
    *copied = 0;
    tell_subject(x, input);
    if (sr_view_tensor(x->view, input)->flags & SR_FLAG_INPUT) {
        /* The user may change it as soon as this returns, so it is copied at once. */
        SR_TRY(wait_on_host(x, split->backend));
        SR_TRY(copy_now(x, input, copy));
    } else {
        SR_TRY(wait_in_queue(x, split->backend));
        if (is_experts_input(x, split, s, input, copy)) {
            return copy_experts(x, split, s, k, copied);
        }
        SR_TRY(copy_queued(x, split, input, copy));
    }
    *copied = sr_view_tensor(x->view, input)->nbytes;
done:
    return status;
}

/* A copy that failed tells which; a failure that a queue had kept until now has the name of its own node. */
static void name_input(const execution *x, const sr_split *split, int32_t k, sr_status status) {
    if (status == SR_COMPUTE && x->err && !sr_error_find(x->err, "node")) {
        const int32_t input = x->sched->inputs[split->inputs_begin + k];
        const char *label = sr__sched_tensor_label(sr_view_tensor(x->view, input));
        sr__error_prefix(x->err, "copying '%s' to %s: ", label, x->sched->backends[split->backend]->name);
        sr__error_text(x->err, "node", label);
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

/* A node may only write where its backend reaches; the reference would write through a foreign pointer. */
static sr_status check_reach(const execution *x, const sr_split *split, int s) {
    const sr_backend *backend = x->sched->backends[split->backend];
    const sr_buffer_type *last = NULL;
    for (int32_t i = x->sched->split_nodes[s]; i < x->sched->split_nodes[s] + split->end - split->start; i++) {
        const int32_t id = x->view->nodes[i];
        const sr_tensor *node = sr_view_tensor(x->view, id);
        const sr_buffer *buffer = x->view->storage[id].buffer;
        if (sr_op_is_view(node->op) || node->op == SR_OP_NONE || !buffer || node->nbytes == 0 ||
            !(node->flags & SR_FLAG_COMPUTE) || buffer->type == last) {
            continue;
        }
        if (!sr_backend_supports_buffer_type(backend, buffer->type)) {
            sr__fail(x->err, SR_UNREACHABLE, "node '%s' (%s) on %s writes into a %s buffer, which %s cannot reach",
                     sr__sched_tensor_label(node), sr_tensor_op_desc(node), backend->name, buffer->type->name,
                     backend->name);
            sr__error_text(x->err, "node", sr__sched_tensor_label(node));
            sr__error_text(x->err, "backend", backend->name);
            sr__error_text(x->err, "buffer_type", buffer->type->name);
            return SR_UNREACHABLE;
        }
        last = buffer->type;
    }
    return SR_OK;
}

static sr_graph_view part_of(const execution *x, int32_t begin, int32_t end) {
    sr_graph_view part = *x->view;
    part.nodes = x->view->nodes + begin;
    part.n_nodes = end - begin;
    return part;
}

static sr_status submit(const execution *x, sr_backend *backend, int32_t begin, int32_t end) {
    const sr_graph_view part = part_of(x, begin, end);
    const uint64_t since = sr__span_begin(x->sched);
    const sr_status status = sr_backend_compute_async(backend, &part, x->err);
    if (x->sched->trace) {
        const sr_trace_event event = {.kind = SR_TRACE_SUBMIT, .name = backend->name, .split = x->split,
                                      .n_nodes = end - begin, .begin = since, .end = sr_trace_now()};
        sr_trace_add(x->sched->trace, &event);
    }
    return status;
}

/* Nodes between two that the caller wants to see are computed together. */
static sr_status compute_observed(const execution *x, sr_backend *backend, int32_t begin, int32_t end) {
    const sr_sched *sched = x->sched;
    sr_status status = SR_OK;
    for (int32_t i = begin; i < end; i++) {
        int32_t last = i;
        bool wanted = sched->callback(x->view, x->view->nodes[last], true, sched->callback_user);
        while (!wanted && last < end - 1) {
            last++;
            wanted = sched->callback(x->view, x->view->nodes[last], true, sched->callback_user);
        }
        SR_TRY(submit(x, backend, i, last + 1));
        SR_TRY(synchronize(x, sched->splits[x->split].backend));
        if (wanted && !sched->callback(x->view, x->view->nodes[last], false, sched->callback_user)) {
            break;
        }
        i = last;
    }
done:
    return status;
}

static sr_status check_abort(const execution *x, int s) {
    const sr_sched *sched = x->sched;
    if (!sched->stop || !sched->stop(sched->stop_user)) {
        return SR_OK;
    }
    sr__fail(x->err, SR_ABORTED, "stopped before split %d of %d", s, (int)sched->n_splits);
    sr__error_number(x->err, "split", s);
    return SR_ABORTED;
}

/* By later rules: memory that a split without inputs writes to may still be read by the backend before it. */
static sr_status wait_for_last(const execution *x, const sr_split *split, int s) {
    if (!x->sched->params.rules.empty_split_waits || split->n_inputs > 0 || s == 0) {
        return SR_OK;
    }
    return sr_backend_synchronize(x->sched->backends[x->sched->splits[s - 1].backend], x->err);
}

static sr_status run_split(execution *x, int s) {
    sr_sched *sched = x->sched;
    const sr_split *split = &sched->splits[s];
    sr_backend *backend = sched->backends[split->backend];
    const int32_t begin = sched->split_nodes[s], end = begin + split->end - split->start;
    sr_status status;
    SR_TRY(check_abort(x, s));
    SR_TRY(check_reach(x, split, s));
    SR_TRY(wait_for_last(x, split, s));
    backend->subject.split = s;
    for (int32_t k = 0; k < split->n_inputs; k++) {
        status = copy_input(x, split, s, k);
        if (status != SR_OK) {
            name_input(x, split, k, status);
            goto done;
        }
    }
    if (sched->callback) {
        SR_TRY(compute_observed(x, backend, begin, end));
    } else {
        SR_TRY(submit(x, backend, begin, end));
    }
    sr_event *event = event_of(sched, split->backend);
    if (split->n_inputs > 0 && event) {
        SR_TRY(sr_event_record(event, backend, x->err));
    }
    sched->split_done[s] = 1;
done:
    return status;
}

sr_status sr_sched_compute_async(sr_sched *sched, const sr_graph *graph, sr_error *err) {
    execution x = {.sched = sched, .view = &sched->layout.view, .ids_of = -1, .err = err};
    sr_status status = SR_OK;
    if (!sched->is_alloc || sched->layout.graph != graph) {
        SR_TRY(sr_sched_alloc_graph(sched, graph, err));
    }
    if (!SR__GROW(sched, copied, sched->n_inputs) || !SR__GROW(sched, split_done, sched->n_splits + 1)) {
        return sr__fail_memory(err);
    }
    memset(sched->split_done, 0, (size_t)sched->n_splits);
    sched->layout.executed = false;
    sched->layout.split_done = sched->split_done;
    for (int s = 0; s < sched->n_splits && status == SR_OK; s++) {
        const uint64_t begin = sr__span_begin(sched);
        x.split = s;
        status = run_split(&x, s);
        sr__span_end(sched, begin, SR_TRACE_SPLIT, s, sched->backends[sched->splits[s].backend]->name);
    }
    sched->layout.copied = sched->copied;
    sched->layout.executed = status == SR_OK;
    sched->layout.split_done = status == SR_OK ? NULL : sched->split_done;
done:
    sr__free(x.ids);
    sr__free(x.used);
    return status;
}
