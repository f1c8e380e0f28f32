/*
 * gpu_backend.c - the queue of a device: transfers, copies between queues, and the loop over the nodes of a graph.
 *
 * Layer: backends.  Answers to the backend half of the reference's GPU backends.
 */
#include "backend/reach.h"
#include "backends/gpu/gpu_device.h"

/* A graph's launches are queued ahead of the device by up to two stretches of this many nodes. */
enum { STRETCH = 64 };

static void gpu_backend_free(sr_backend *backend) {
    sr__gpu_backend *gpu = backend->context;
    const sr__gpu_runtime *runtime = gpu->own->gpu->runtime;
    sr__gpu_event *const events[] = {gpu->meeting, gpu->marks[0], gpu->marks[1]};
    if (gpu->stream) {
        sr__gpu_trace_free(gpu);
        sr__gpu_stream_end(gpu->stream);
    }
    for (int i = 0; i < SR_COUNT(events); i++) {
        if (events[i]) {
            runtime->event_free(events[i]);
        }
    }
    sr__free(gpu);
}

/* Tells what happened in the queue since: times to a trace, and the first fault that a kernel found. */
static sr_status gpu_synchronize(sr_backend *backend, sr_error *err) {
    sr__gpu_stream *stream = ((sr__gpu_backend *)backend->context)->stream;
    const sr_status status = stream->device->runtime->stream_synchronize(stream, err);
    sr__gpu_trace_tell(backend);
    return status == SR_OK ? sr__gpu_faults_check(stream, err) : status;
}

/* ---- transfers ---------------------------------------------------------------------------------------------------- */

/* The memory of a buffer that this backend's stream can reach by itself, or NULL. */
static sr__gpu_memory *own_memory(const sr__gpu_backend *gpu, const sr_buffer *buffer) {
    return sr__gpu_own_of_buffer(buffer) == gpu->own ? sr__gpu_buffer_memory(buffer) : NULL;
}

static sr_status gpu_set_async(sr_backend *backend, sr_buffer *dst, const void *data, size_t offset, size_t size,
                               sr_error *err) {
    sr__gpu_backend *gpu = backend->context;
    sr__gpu_memory *memory = own_memory(gpu, dst);
    if (memory) {
        const sr__gpu_begun begun = sr__gpu_trace_begin(backend);
        const sr_status queued = gpu->stream->device->runtime->write(gpu->stream, memory, offset, data, size, err);
        sr__gpu_trace_end(backend, begun, (sr_trace_event){.kind = SR_TRACE_COPY, .bytes = size});
        return queued;
    }
    const sr_status status = gpu_synchronize(backend, err);
    return status == SR_OK ? sr_buffer_set(dst, data, offset, size, err) : status;
}

static sr_status gpu_get_async(sr_backend *backend, const sr_buffer *src, void *data, size_t offset, size_t size,
                               sr_error *err) {
    sr__gpu_backend *gpu = backend->context;
    sr__gpu_memory *memory = own_memory(gpu, src);
    if (memory) {
        const sr__gpu_begun begun = sr__gpu_trace_begin(backend);
        const sr_status queued = gpu->stream->device->runtime->read(gpu->stream, memory, offset, data, size, err);
        sr__gpu_trace_end(backend, begun, (sr_trace_event){.kind = SR_TRACE_COPY, .bytes = size});
        return queued;
    }
    const sr_status status = gpu_synchronize(backend, err);
    return status == SR_OK ? sr_buffer_get(src, data, offset, size, err) : status;
}

/*
 * In the source's stream, after what the destination's has queued; the destination's goes on when it is done.  So what
 * either queues later comes after the copy.
 */
static sr_status gpu_copy_async(sr_backend *src_backend, sr_backend *dst_backend, const sr_storage *src,
                                const sr_storage *dst, size_t size, bool *done, sr_error *err) {
    sr__gpu_backend *from = sr__gpu_of_backend(src_backend), *to = sr__gpu_of_backend(dst_backend);
    sr_status status;
    *done = false;
    if (!from || !to || from->own->gpu->runtime != to->own->gpu->runtime) {
        return SR_OK;
    }
    const sr__gpu_runtime *runtime = from->own->gpu->runtime;
    sr__gpu_memory *src_memory = own_memory(from, src->buffer), *dst_memory = own_memory(to, dst->buffer);
    if (!src_memory || !dst_memory) {
        return SR_OK;
    }
    if (from != to) {
        SR_TRY(runtime->event_record(to->meeting, to->stream, err));
        SR_TRY(runtime->event_wait(from->stream, to->meeting, err));
    }
    const sr_trace_event told = {.kind = SR_TRACE_COPY, .bytes = size};
    const sr__gpu_begun sent = sr__gpu_trace_begin(src_backend);
    SR_TRY(sr__gpu_copy(from->stream, dst_memory, dst->offset, src_memory, src->offset, size, done, err));
    sr__gpu_trace_end(src_backend, sent, told);
    if (from != to && *done) {
        const sr__gpu_begun received = sr__gpu_trace_begin(dst_backend);
        SR_TRY(runtime->event_record(from->meeting, from->stream, err));
        SR_TRY(runtime->event_wait(to->stream, from->meeting, err));
        sr__gpu_trace_end(dst_backend, received, told);
    }
done:
    return status;
}

/* ---- computing ---------------------------------------------------------------------------------------------------- */

static sr_status fail_node(const sr_tensor *node, sr_status status, const char *why, sr_error *err) {
    (void)sr__fail(err, status, "node '%s' (%s): %s", node->name, sr_tensor_op_desc(node), why);
    sr__error_text(err, "node", node->name);
    sr__error_text(err, "op", sr_tensor_op_desc(node));
    return status;
}

static gpu_tensor place_of(const sr_tensor *tensor, const sr_storage *storage) {
    gpu_tensor place = {.offset = (gpu_long)storage->offset, .type = tensor->type, .given = 1};
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        place.ne[d] = tensor->ne[d];
        place.nb[d] = (gpu_long)tensor->nb[d];
    }
    return place;
}

/* false: an operand with elements is in no memory of this device. */
static bool resolve(const sr__gpu_backend *gpu, const sr_graph_view *view, int32_t id, sr__gpu_node *out) {
    static const sr_storage nowhere = {0};
    const sr_tensor *tensor = sr_view_tensor(view, id);
    const sr_storage *at = view->storage ? &view->storage[id] : &nowhere;
    *out = (sr__gpu_node){.stream = gpu->stream, .tensor = tensor, .params = tensor->op_params,
                          .dst_place = place_of(tensor, at), .dst_memory = own_memory(gpu, at->buffer)};
    bool reached = out->dst_memory != NULL;
    for (int j = 0; j < tensor->n_src; j++) {
        const int32_t src = sr_view_src(view, tensor, j);
        if (src < 0) {
            continue;
        }
        at = view->storage ? &view->storage[src] : &nowhere;
        out->src[j] = sr_view_tensor(view, src);
        out->src_place[j] = place_of(out->src[j], at);
        out->src_memory[j] = own_memory(gpu, at->buffer);
        reached = reached && (out->src_memory[j] || sr_tensor_is_empty(out->src[j]));
    }
    return reached;
}

static sr_status compute_node(sr_backend *backend, const sr_graph_view *view, int32_t id, sr_error *err) {
    const sr__gpu_backend *gpu = backend->context;
    const sr_tensor *tensor = sr_view_tensor(view, id);
    sr__gpu_node node;
    const char *why = sr__gpu_refuse(gpu->own->gpu, view, id);
    if (why) {
        return fail_node(tensor, SR_COMPUTE, why, err);
    }
    if (!resolve(gpu, view, id, &node)) {
        return fail_node(tensor, SR_UNREACHABLE, "an operand is in no memory that the device reaches", err);
    }
    const sr_status status = sr__gpu_compute_node(&node, err);
    if (status != SR_OK && err && !sr_error_find(err, "node")) {
        sr__error_prefix(err, "node '%s' (%s): ", tensor->name, sr_tensor_op_desc(tensor));
        sr__error_text(err, "node", tensor->name);
        sr__error_text(err, "op", sr_tensor_op_desc(tensor));
    }
    return status;
}

/* Keeps the queue from running far ahead of the device, so that whoever wants to stop it need not wait long. */
static sr_status mark_stretch(sr__gpu_backend *gpu, int stretch, sr_error *err) {
    const sr__gpu_runtime *runtime = gpu->stream->device->runtime;
    sr__gpu_event *mark = gpu->marks[stretch % 2];
    sr_status status;
    SR_TRY(runtime->event_synchronize(mark, err));
    SR_TRY(runtime->event_record(mark, gpu->stream, err));
done:
    return status;
}

static sr_status gpu_compute(sr_backend *backend, const sr_graph_view *view, sr_error *err) {
    sr__gpu_backend *gpu = backend->context;
    const sr__gpu_runtime *runtime = gpu->stream->device->runtime;
    sr_status status;
    int n = 0;
    SR_TRY(sr__check_destinations(backend, view, err));
    const sr__gpu_begun begun = sr__gpu_trace_begin(backend);
    for (int32_t i = 0; i < view->n_nodes; i++) {
        const int32_t id = view->nodes[i];
        if (!sr__node_works(view, id)) {
            continue;
        }
        SR_TRY(sr__check_abort(backend, sr_view_tensor(view, id), err));
        SR_TRY(compute_node(backend, view, id, err));
        if (++n % STRETCH == 0) {
            SR_TRY(mark_stretch(gpu, n / STRETCH, err));
        }
    }
    sr__gpu_trace_compute(backend, view, begun);
    if (runtime->stream_flush) {
        SR_TRY(runtime->stream_flush(gpu->stream, err));
    }
done:
    return status;
}

/* ---- the interface -------------------------------------------------------------------------------------------------- */

static const sr_backend_i gpu_backend_i = {
    .free = gpu_backend_free,
    .synchronize = gpu_synchronize,
    .set_async = gpu_set_async,
    .get_async = gpu_get_async,
    .copy_async = gpu_copy_async,
    .compute = gpu_compute,
    .event_record = sr__gpu_event_record,
    .event_wait = sr__gpu_event_wait,
};

sr__gpu_backend *sr__gpu_of_backend(const sr_backend *backend) {
    return backend->iface == &gpu_backend_i ? backend->context : NULL;
}

sr_status sr__gpu_init_backend(sr_device *device, sr_backend *backend, sr_error *err) {
    sr__gpu_own *own = device->context;
    const sr__gpu_runtime *runtime = own->gpu->runtime;
    sr__gpu_backend *gpu = sr__calloc(1, sizeof(*gpu));
    sr_status status;
    if (!gpu) {
        return sr__fail_memory(err);
    }
    gpu->own = own;
    backend->context = gpu;
    SR_TRY(runtime->stream_new(own->gpu, &gpu->stream, err));
    SR_TRY(runtime->event_new(own->gpu, &gpu->meeting, err));
    SR_TRY(runtime->event_new(own->gpu, &gpu->marks[0], err));
    SR_TRY(runtime->event_new(own->gpu, &gpu->marks[1], err));
    backend->iface = &gpu_backend_i;
    backend->offload_min_batch = own->offload_min_batch;
    return SR_OK;
done:
    gpu_backend_free(backend);
    backend->context = NULL;
    return status;
}
