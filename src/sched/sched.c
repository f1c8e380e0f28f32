/*
 * sched.c - making, resetting and asking a scheduler; reserve and alloc.
 *
 * Layer: sched.  Answers to ggml_backend_sched_new .. ggml_backend_sched_get_tensor_backend.
 */
#include <stdio.h>
#include <time.h>

#include "sched/sched_internal.h"

/* Sizes that the reference's table of tensors can have; graph_size is rounded up to one of them. */
static const int64_t table_sizes[] = {
    2,       3,       5,       11,       17,       37,       67,       131,       257,       521,        1031,
    2053,    4099,    8209,    16411,    32771,    65537,    131101,   262147,    524309,    1048583,    2097169,
    4194319, 8388617, 16777259, 33554467, 67108879, 134217757, 268435459, 536870923, 1073741827, 2147483659};

void sr_sched_params_init(sr_sched_params *params) {
    *params = (sr_sched_params){.n_copies = 1,
                                .op_offload = true,
                                .max_backends = 16,
                                .max_copies = UINT8_MAX,
                                .max_chunks = 16,
                                .record_decisions = true};
    sr_sched_params_set_rules(params, sr_revision_find("reference"));
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- new and free ------------------------------------------------------------------------------------------------------ */

static sr_status check_params(sr_backend *const *backends, int n, const sr_sched_params *params, sr_error *err) {
    if (n > params->max_backends) {
        sr__fail(err, SR_BACKENDS, "%d backends, the scheduler's limit is %d", n, params->max_backends);
        sr__error_number(err, "count", n);
        sr__error_number(err, "limit", params->max_backends);
        return SR_BACKENDS;
    }
    if (n < 1 || n > INT16_MAX) {
        return sr__fail(err, SR_INVALID, "a scheduler needs 1 to %d backends, not %d", INT16_MAX, n);
    }
    if (backends[n - 1]->device->type != SR_DEVICE_CPU) {
        return sr__fail(err, SR_INVALID, "the last backend must be a CPU, '%s' is none", backends[n - 1]->name);
    }
    if (params->n_copies < 1 || params->n_copies > params->max_copies || params->n_copies > UINT8_MAX) {
        return sr__fail(err, SR_INVALID, "the number of copies must be 1 to %d, not %d",
                        params->max_copies < UINT8_MAX ? params->max_copies : UINT8_MAX, params->n_copies);
    }
    if (params->max_split_inputs < 1 || params->max_chunks < 1 || params->max_chunks > INT16_MAX) {
        return sr__fail(err, SR_INVALID, "the limits of split inputs and chunks must be at least 1");
    }
    return SR_OK;
}

static sr_status make_tables(sr_sched *s, sr_backend *const *backends, sr_buffer_type *const *types, sr_error *err) {
    const size_t n = (size_t)s->n_backends;
    s->backends = sr__calloc(n, sizeof(*s->backends));
    s->buffer_types = sr__calloc(n, sizeof(*s->buffer_types));
    s->type_of_backend = sr__calloc(n, sizeof(*s->type_of_backend));
    s->shares_higher = sr__calloc(n, sizeof(*s->shares_higher));
    s->sizes = sr__calloc(n, sizeof(*s->sizes));
    s->prev_sizes = sr__calloc(n, sizeof(*s->prev_sizes));
    s->grew = sr__calloc(n, sizeof(*s->grew));
    s->events = sr__calloc(n * (size_t)s->params.n_copies, sizeof(sr_event *));
    if (!s->backends || !s->buffer_types || !s->type_of_backend || !s->shares_higher || !s->sizes || !s->grew ||
        !s->prev_sizes || !s->events) {
        return sr__fail_memory(err);
    }
    for (int b = 0; b < s->n_backends; b++) {
        s->backends[b] = backends[b];
        s->buffer_types[b] = types ? types[b] : backends[b]->buffer_type;
        if (!sr_backend_supports_buffer_type(backends[b], s->buffer_types[b])) {
            return sr__fail(err, SR_INVALID, "backend '%s' does not accept its buffer type '%s'", backends[b]->name,
                            s->buffer_types[b]->name);
        }
        for (int i = 0; i < b; i++) {
            s->shares_higher[b] |= s->buffer_types[i] == s->buffer_types[b];
        }
        s->any_shares_higher |= s->shares_higher[b];
    }
    for (int b = 0; b < s->n_backends; b++) {
        const int type = sr__sched_type_index(s, s->buffer_types[b]);
        if (type < 0) {
            return sr__fail_memory(err);
        }
        s->type_of_backend[b] = (int16_t)type;
    }
    return SR_OK;
}

/* Events are for pipelining: without copies nothing would wait for them. */
static sr_status make_events(sr_sched *s, sr_error *err) {
    const int n_copies = s->params.n_copies;
    for (int b = 0; b < s->n_backends && n_copies > 1; b++) {
        for (int c = 0; c < n_copies; c++) {
            const sr_status status = sr_event_new(s->backends[b]->device, &s->events[b * n_copies + c], err);
            if (status != SR_OK) {
                return status;
            }
        }
    }
    return SR_OK;
}

sr_status sr_sched_new(sr_backend *const *backends, sr_buffer_type *const *buffer_types, int n_backends,
                       const sr_sched_params *params, sr_sched **out_sched, sr_error *err) {
    sr_status status;
    sr_sched *s = NULL;
    *out_sched = NULL;
    SR_TRY(check_params(backends, n_backends, params, err));
    s = sr__calloc(1, sizeof(*s));
    if (!s) {
        return sr__fail_memory(err);
    }
    s->params = *params;
    if (!params->rules.pipeline_copies) {
        s->params.n_copies = 1;
    }
    s->n_backends = n_backends;
    SR_TRY(make_tables(s, backends, buffer_types, err));
    SR_TRY(make_events(s, err));
    SR_TRY(sr_graph_allocator_new(s->buffer_types, n_backends, &s->allocator, err));
    sr_graph_allocator_set_max_chunks(s->allocator, params->max_chunks);
    sr_graph_allocator_record_lives(s->allocator, params->record_lives);
    *out_sched = s;
    s = NULL;
done:
    sr_sched_free(s);
    return status;
}

static void free_arrays(sr_sched *s) {
    void *const arrays[] = {
        s->backends,   s->buffer_types, s->type_of_backend, s->shares_higher, s->events,       s->types,
        s->accepts,    s->users,        s->supports,        s->offloads,      s->hot,          s->backend_of,
        s->cause_of,   s->flags,        s->group_of,        s->groups,        s->extra,        s->srcs,
        s->decisions,  s->splits,       s->inputs,          s->input_copies,  s->graph_inputs, s->nodes,
        s->leafs,      s->split_nodes,  s->node_ids,        s->leaf_ids,      s->prev_node_ids, s->prev_leaf_ids,
        s->storage,    s->addresses,    s->sizes,           s->grew,          s->copied,
        s->split_done, s->prev_sizes};
    for (int i = 0; i < SR_COUNT(arrays); i++) {
        sr__free(arrays[i]);
    }
}

void sr_sched_free(sr_sched *s) {
    if (!s) {
        return;
    }
    for (int b = 0; s->backends && b < s->n_backends; b++) {
        if (s->backends[b]) {
            sr_backend_synchronize(s->backends[b], NULL);
        }
    }
    for (int i = 0; s->events && i < s->n_backends * s->params.n_copies; i++) {
        sr_event_free(s->events[i]);
    }
    sr_graph_allocator_free(s->allocator);
    free_arrays(s);
    sr__free(s);
}

/* ---- scheduling -------------------------------------------------------------------------------------------------------------- */

void sr_sched_reset(sr_sched *s) {
    s->n_users = 0;
    s->is_alloc = false;
}

sr_status sr_sched_set_tensor_backend(sr_sched *s, const sr_graph *graph, int32_t tensor, int backend, sr_error *err) {
    if (tensor < 0 || tensor >= graph->n_tensors) {
        return sr__fail(err, SR_INVALID, "graph '%s' has no tensor %d", graph->name ? graph->name : "", tensor);
    }
    if (backend < 0 || backend >= s->n_backends) {
        return sr__fail(err, SR_INVALID, "backend %d of %d does not exist", backend, s->n_backends);
    }
    if (!SR__GROW(s, users, s->n_users + 1)) {
        return sr__fail_memory(err);
    }
    s->users[s->n_users++] = (sr__user_assignment){graph->uid, tensor, (int16_t)backend};
    return SR_OK;
}

int64_t sr_sched_graph_limit(int64_t graph_size) {
    for (int i = 0; i < SR_COUNT(table_sizes) && graph_size > 0; i++) {
        if (table_sizes[i] >= graph_size) {
            return table_sizes[i];
        }
    }
    return graph_size > 0 ? graph_size : 0;
}

static sr_status check_graph_size(const sr_sched *s, const sr_graph *graph, sr_error *err) {
    if (s->params.graph_size <= 0) {
        return SR_OK;
    }
    const int64_t needed = (int64_t)graph->n_nodes + graph->n_leafs;
    const int64_t limit = sr_sched_graph_limit(s->params.graph_size);
    if (needed <= limit) {
        return SR_OK;
    }
    sr__fail(err, SR_GRAPH_SIZE, "the graph has %lld nodes and leafs, graph_size %lld leaves room for %lld",
             (long long)needed, (long long)s->params.graph_size, (long long)limit);
    sr__error_number(err, "needed", needed);
    sr__error_number(err, "limit", limit);
    return SR_GRAPH_SIZE;
}

static void start_layout(sr_sched *s, const sr_graph *graph, bool reserve) {
    const sr_layout *last = &s->layout;
    s->layout = (sr_layout){.graph = graph,
                            .backends = s->backends,
                            .buffer_types = s->buffer_types,
                            .n_backends = s->n_backends,
                            .reserve = reserve,
                            .n_copies = s->params.n_copies,
                            .cur_copy = s->cur_copy,
                            .graph_copy_size = last->graph_copy_size,
                            .prev_graph_copy_size = last->prev_graph_copy_size,
                            .compute_buffer_size = s->sizes,
                            .grew = s->grew,
                            .prev_buffer_size = s->prev_sizes,
                            .allocator = s->allocator,
                            .params = &s->params};
    for (int b = 0; b < s->n_backends; b++) {
        s->prev_sizes[b] = sr_graph_allocator_size(s->allocator, b);
    }
}

/* Points the record at what has been decided so far, so that a failed schedule can be looked at too. */
static void fill_layout(sr_sched *s, sr_status status) {
    sr_layout *l = &s->layout;
    l->status = status;
    l->backend_of = s->backend_of;
    l->cause_of = s->cause_of;
    l->decisions = s->decisions;
    l->n_decisions = s->n_decisions;
    l->splits = s->splits;
    l->n_splits = s->n_splits;
    l->inputs = s->inputs;
    l->n_inputs = s->n_inputs;
    l->input_copies = s->input_copies;
    l->graph_inputs = s->graph_inputs;
    l->n_graph_inputs = s->n_graph_inputs;
    l->node_ids = s->node_ids;
    l->leaf_ids = s->leaf_ids;
    l->split_nodes = s->split_nodes;
    for (int b = 0; b < s->n_backends; b++) {
        s->sizes[b] = sr_graph_allocator_size(s->allocator, b);
    }
}

static sr_status split_graph(sr_sched *s, const sr_graph *graph, bool reserve, sr_error *err) {
    sr_status status;
    const double start = now();
    start_layout(s, graph, reserve);
    SR_TRY(sr__sched_prepare(s, graph, err));
    SR_TRY(check_graph_size(s, graph, err));
    SR_TRY(sr__sched_assign(s, err));
    SR_TRY(sr__sched_split(s, err));
    SR_TRY(sr__sched_build_view(s, err));
done:
    s->layout.seconds_split = now() - start;
    return status;
}

static void note_growth(sr_sched *s) {
    for (int b = 0; b < s->n_backends; b++) {
        s->grew[b] = sr_graph_allocator_grew(s->allocator, b);
    }
}

sr_status sr_sched_reserve(sr_sched *s, const sr_graph *graph, sr_error *err) {
    sr_status status;
    memset(s->grew, 0, (size_t)s->n_backends * sizeof(*s->grew));
    SR_TRY(sr_sched_synchronize(s, err));
    if (!s->params.rules.reserve_keeps_users) {
        sr_sched_reset(s);
    }
    SR_TRY(split_graph(s, graph, true, err));
    const double start = now();
    s->layout.first_allocation = !s->planned;
    s->planned = true;
    SR_TRY(sr_graph_allocator_reserve(s->allocator, &s->layout.view, s->node_ids, s->leaf_ids, err));
    note_growth(s);
    s->layout.seconds_allocate = now() - start;
done:
    fill_layout(s, status);
    sr_sched_reset(s);
    return status;
}

sr_status sr_sched_measure(sr_sched *s, const sr_graph *graph, size_t *sizes, sr_error *err) {
    sr_status status;
    memset(s->grew, 0, (size_t)s->n_backends * sizeof(*s->grew));
    s->is_alloc = false;
    SR_TRY(sr_sched_synchronize(s, err));
    SR_TRY(split_graph(s, graph, true, err));
    if (sizes) {
        SR_TRY(sr_graph_allocator_measure(s->allocator, &s->layout.view, s->node_ids, s->leaf_ids, sizes, err));
    }
done:
    fill_layout(s, status);
    return status;
}

sr_status sr_sched_reserve_size(sr_sched *s, const sr_graph *graph, size_t *sizes, sr_error *err) {
    sr_sched_reset(s);
    return sr_sched_measure(s, graph, sizes, err);
}

sr_status sr_sched_alloc_graph(sr_sched *s, const sr_graph *graph, sr_error *err) {
    sr_status status;
    memset(s->grew, 0, (size_t)s->n_backends * sizeof(*s->grew));
    s->is_alloc = false;
    s->cur_copy = s->next_copy;
    s->next_copy = (s->next_copy + 1) % s->params.n_copies;
    SR_TRY(split_graph(s, graph, false, err));
    const double start = now();
    SR_TRY(sr__sched_allocate(s, err));
    s->layout.seconds_allocate = now() - start;
    if (s->layout.replanned) {
        note_growth(s);
    }
    s->is_alloc = true;
done:
    fill_layout(s, status);
    return status;
}

/* All of them, whatever fails: nothing may still run afterwards. */
sr_status sr_sched_synchronize(sr_sched *s, sr_error *err) {
    sr_status status = SR_OK;
    for (int b = 0; b < s->n_backends; b++) {
        const sr_status own = sr_backend_synchronize(s->backends[b], status == SR_OK ? err : NULL);
        status = status == SR_OK ? own : status;
    }
    if (status != SR_OK) {
        return status;
    }
    if (!s->is_alloc) {
        s->next_copy = 0; /* between graphs the same slot is used every time, so that nothing changes for a device */
    }
    return SR_OK;
}

/* ---- asking -------------------------------------------------------------------------------------------------------------------- */

void sr_sched_set_eval_callback(sr_sched *s, sr_eval_callback callback, void *user) {
    s->callback = callback;
    s->callback_user = user;
}

void sr_sched_set_abort_callback(sr_sched *s, sr_abort_callback callback, void *user) {
    s->stop = callback;
    s->stop_user = user;
    for (int b = 0; b < s->n_backends; b++) {
        sr_backend_set_abort(s->backends[b], callback, user);
    }
}

void sr_sched_set_trace(sr_sched *s, sr_trace *trace) {
    s->trace = trace;
    for (int b = 0; b < s->n_backends; b++) {
        sr_backend_set_trace(s->backends[b], trace);
    }
}

const sr_layout *sr_sched_layout(const sr_sched *s) { return &s->layout; }
int sr_sched_n_splits(const sr_sched *s) { return s->layout.n_splits; }
int sr_sched_n_copies(const sr_sched *s) { return s->params.n_copies; }
int sr_sched_n_backends(const sr_sched *s) { return s->n_backends; }

sr_backend *sr_sched_backend(const sr_sched *s, int i) { return i >= 0 && i < s->n_backends ? s->backends[i] : NULL; }

sr_buffer_type *sr_sched_buffer_type(const sr_sched *s, int backend) {
    return backend >= 0 && backend < s->n_backends ? s->buffer_types[backend] : NULL;
}

size_t sr_sched_buffer_size(const sr_sched *s, int backend) {
    return backend >= 0 && backend < s->n_backends ? sr_graph_allocator_size(s->allocator, backend) : 0;
}

int sr_sched_tensor_backend(const sr_sched *s, int32_t tensor) {
    const sr_layout *l = &s->layout;
    return l->graph && l->backend_of && tensor >= 0 && tensor < l->graph->n_tensors ? l->backend_of[tensor] : -1;
}

bool sr_layout_computed(const sr_layout *layout, int32_t tensor) {
    const int32_t node = layout->graph->tensors[tensor].node;
    if (layout->executed || node < 0) {
        return true;
    }
    for (int32_t i = 0; layout->split_done && i < layout->n_splits; i++) {
        if (node >= layout->splits[i].start && node < layout->splits[i].end) {
            return layout->split_done[i] != 0;
        }
    }
    return false;
}

void sr_layout_name(const sr_layout *layout, int32_t id, char out_name[SR_MAX_NAME + 1]) {
    const sr_graph *graph = layout->graph;
    const size_t size = SR_MAX_NAME + 1;
    int n;
    if (id < graph->n_tensors) {
        n = snprintf(out_name, size, "%s", graph->tensors[id].name);
    } else {
        const sr_extra *extra = &layout->view.extra[id - graph->n_tensors];
        const char *name = graph->tensors[extra->of].name;
        if (extra->kind == SR_EXTRA_DEPENDENCY) {
            n = snprintf(out_name, size, "%s (view)", name);
        } else {
            n = snprintf(out_name, size, "%s#%.63s#%d", layout->backends[extra->backend]->name, name, extra->slot);
        }
    }
    if (n < 0) {
        out_name[0] = '\0'; /* longer names are cut, as the reference cuts them */
    }
}
