/*
 * backend_run.c - transfers, copies and computes of a backend, with the fall-backs for what it cannot queue.
 *
 * Layer: backend.  Answers to ggml_backend_tensor_*_async, ggml_backend_tensor_copy_async and
 * ggml_backend_graph_compute* of the reference.
 */
#include "backend/tracing.h"

/* Says whose error it is. */
static sr_status of_backend(const sr_backend *backend, sr_status status, sr_error *err) {
    if (status != SR_OK && err && !sr_error_find(err, "backend")) {
        sr__error_prefix(err, "backend '%s': ", backend->name);
        sr__error_text(err, "backend", backend->name);
    }
    return status;
}

void sr_backend_set_threads(sr_backend *backend, int n_threads) {
    if (backend->iface->set_threads && n_threads > 0) {
        backend->iface->set_threads(backend, n_threads);
    }
}

void sr_backend_set_trace(sr_backend *backend, sr_trace *trace) {
    sr_backend_synchronize(backend, NULL);
    backend->trace = trace;
    backend->subject = (sr_trace_subject){.split = -1};
}

void sr_backend_set_abort(sr_backend *backend, sr_abort_callback stop, void *user) {
    sr_backend_synchronize(backend, NULL);
    backend->stop = stop;
    backend->stop_user = user;
}

sr_status sr_backend_synchronize(sr_backend *backend, sr_error *err) {
    return backend->iface->synchronize ? of_backend(backend, backend->iface->synchronize(backend, err), err) : SR_OK;
}

static sr_status check_range(const sr_backend *backend, const char *what, const sr_buffer *buffer, size_t offset,
                             size_t size, sr_error *err) {
    if (offset <= buffer->size && size <= buffer->size - offset) {
        return SR_OK;
    }
    const char *type = buffer->type->name;
    const sr_status status = sr__fail(err, SR_INVALID, "%s of %zu bytes at offset %zu is outside the '%s' buffer of %zu"
                                      " bytes", what, size, offset, type, buffer->size);
    return of_backend(backend, status, err);
}

/* ---- transfers ------------------------------------------------------------------------------------------------ */

sr_status sr_backend_set_async(sr_backend *backend, sr_buffer *dst, const void *data, size_t offset, size_t size,
                               sr_error *err) {
    sr_status status = check_range(backend, "a write", dst, offset, size, err);
    if (status != SR_OK || size == 0) {
        return status;
    }
    if (backend->iface->set_async) {
        return of_backend(backend, backend->iface->set_async(backend, dst, data, offset, size, err), err);
    }
    status = sr_backend_synchronize(backend, err);
    return status == SR_OK ? sr_buffer_set(dst, data, offset, size, err) : status;
}

sr_status sr_backend_get_async(sr_backend *backend, const sr_buffer *src, void *data, size_t offset, size_t size,
                               sr_error *err) {
    sr_status status = check_range(backend, "a read", src, offset, size, err);
    if (status != SR_OK || size == 0) {
        return status;
    }
    if (backend->iface->get_async) {
        return of_backend(backend, backend->iface->get_async(backend, src, data, offset, size, err), err);
    }
    status = sr_backend_synchronize(backend, err);
    return status == SR_OK ? sr_buffer_get(src, data, offset, size, err) : status;
}

/* A queue takes the pieces one by one; without one, the buffer may know a better way. */
sr_status sr_backend_set_2d_async(sr_backend *backend, sr_buffer *dst, const void *data, size_t offset, size_t size,
                                  size_t n, size_t stride_buffer, size_t stride_data, sr_error *err) {
    sr_status status = SR_OK;
    if (!backend->iface->set_async) {
        status = sr_backend_synchronize(backend, err);
        return status == SR_OK ? sr_buffer_set_2d(dst, data, offset, size, n, stride_buffer, stride_data, err) : status;
    }
    for (size_t i = 0; i < n && size > 0 && status == SR_OK; i++) {
        const char *from = (const char *)data + i * stride_data;
        status = sr_backend_set_async(backend, dst, from, offset + i * stride_buffer, size, err);
    }
    return status;
}

sr_status sr_backend_get_2d_async(sr_backend *backend, const sr_buffer *src, void *data, size_t offset, size_t size,
                                  size_t n, size_t stride_buffer, size_t stride_data, sr_error *err) {
    sr_status status = SR_OK;
    if (!backend->iface->get_async) {
        status = sr_backend_synchronize(backend, err);
        return status == SR_OK ? sr_buffer_get_2d(src, data, offset, size, n, stride_buffer, stride_data, err) : status;
    }
    for (size_t i = 0; i < n && size > 0 && status == SR_OK; i++) {
        char *to = (char *)data + i * stride_data;
        status = sr_backend_get_async(backend, src, to, offset + i * stride_buffer, size, err);
    }
    return status;
}

sr_status sr_backend_copy_async(sr_backend *src_backend, sr_backend *dst_backend, const sr_storage *src,
                                const sr_storage *dst, size_t size, sr_error *err) {
    sr_status status;
    if (size == 0 || (src->buffer == dst->buffer && src->offset == dst->offset)) {
        return SR_OK;
    }
    if (!src->buffer || !dst->buffer) {
        return of_backend(dst_backend, sr__fail(err, SR_INVALID, "a copy needs memory on both sides"), err);
    }
    SR_TRY(check_range(src_backend, "a copy", src->buffer, src->offset, size, err));
    SR_TRY(check_range(dst_backend, "a copy", dst->buffer, dst->offset, size, err));
    if (dst_backend->iface->copy_async) {
        bool queued = false;
        status = dst_backend->iface->copy_async(src_backend, dst_backend, src, dst, size, &queued, err);
        if (status != SR_OK || queued) {
            return of_backend(dst_backend, status, err);
        }
    }
    /* a queued copy would come after what both have queued, so a blocking one must too */
    SR_TRY(sr_backend_synchronize(src_backend, err));
    SR_TRY(sr_backend_synchronize(dst_backend, err));
    status = sr_buffer_copy(dst->buffer, dst->offset, src->buffer, src->offset, size, NULL, err);
    return of_backend(dst_backend, status, err);
done:
    return status;
}

/* ---- computes ------------------------------------------------------------------------------------------------- */

sr_status sr_backend_compute_async(sr_backend *backend, const sr_graph_view *view, sr_error *err) {
    if (!backend->iface->compute) {
        return of_backend(backend, sr__fail(err, SR_UNAVAILABLE, "this build cannot execute there"), err);
    }
    if (!backend->trace || backend->iface->synchronize) {
        return of_backend(backend, backend->iface->compute(backend, view, err), err);
    }
    /* what never queues anything need not know of traces */
    const uint64_t begin = sr_trace_now();
    const sr_status status = backend->iface->compute(backend, view, err);
    sr__trace_computed(backend, view, begin);
    return of_backend(backend, status, err);
}

sr_status sr_backend_compute(sr_backend *backend, const sr_graph_view *view, sr_error *err) {
    const sr_status status = sr_backend_compute_async(backend, view, err);
    /* what was queued before must end even after an error, the first of which is the one to tell */
    const sr_status synchronized = sr_backend_synchronize(backend, status == SR_OK ? err : NULL);
    return status == SR_OK ? synchronized : status;
}
