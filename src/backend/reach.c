/*
 * reach.c - which memory a backend of host kernels may use when it computes.
 *
 * Layer: backend.  The reference has no such check: there a kernel follows whatever pointer a tensor has.
 */
#include "backend/reach.h"

#include "backend/hostmem.h"

bool sr__node_works(const sr_graph_view *view, int32_t id) {
    const sr_tensor *node = sr_view_tensor(view, id);
    const int op = sr_view_op(view, id);
    return op != SR_OP_NONE && !sr_op_is_view(op) && (node->flags & SR_FLAG_COMPUTE) && !sr_tensor_is_empty(node);
}

char *sr__storage_memory(const sr_storage *storage) {
    char *data = sr__buffer_memory(storage->buffer);
    return data ? data + storage->offset : NULL;
}

sr_status sr__check_abort_callback(sr_abort_callback stop, void *user, const sr_tensor *next, sr_error *err) {
    if (!stop || !stop(user)) {
        return SR_OK;
    }
    (void)sr__fail(err, SR_ABORTED, "stopped before node '%s' (%s)", next->name, sr_tensor_op_desc(next));
    sr__error_text(err, "node", next->name);
    sr__error_text(err, "op", sr_tensor_op_desc(next));
    return SR_ABORTED;
}

sr_status sr__check_abort(const sr_backend *backend, const sr_tensor *next, sr_error *err) {
    return sr__check_abort_callback(backend->stop, backend->stop_user, next, err);
}

static sr_status fail_destination(const sr_tensor *node, const sr_buffer_type *type, sr_error *err) {
    const char *op = sr_tensor_op_desc(node);
    (void)sr__fail(err, SR_UNREACHABLE, "node '%s' (%s): its destination is in '%s', which the backend cannot reach",
                   node->name, op, type->name);
    sr__error_text(err, "node", node->name);
    sr__error_text(err, "op", op);
    sr__error_text(err, "buffer_type", type->name);
    return SR_UNREACHABLE;
}

sr_status sr__check_destinations(const sr_backend *backend, const sr_graph_view *view, sr_error *err) {
    for (int32_t i = 0; i < view->n_nodes && view->storage; i++) {
        const int32_t id = view->nodes[i];
        const sr_buffer *buffer = view->storage[id].buffer;
        if (buffer && buffer->type != backend->buffer_type && sr__node_works(view, id) &&
            !sr_backend_supports_buffer_type(backend, buffer->type)) {
            return fail_destination(sr_view_tensor(view, id), buffer->type, err);
        }
    }
    return SR_OK;
}

static sr_status settle(const sr_backend *backend, const sr_buffer *buffer, sr_error *err) {
    if (!buffer || buffer->type == backend->buffer_type || buffer->type->is_host) {
        return SR_OK;
    }
    return sr__buffer_settle(buffer, err);
}

sr_status sr__settle_sources(const sr_backend *backend, const sr_graph_view *view, sr_error *err) {
    sr_status status = SR_OK;
    for (int32_t i = 0; i < view->n_nodes && view->storage; i++) {
        const int32_t id = view->nodes[i];
        const sr_tensor *node = sr_view_tensor(view, id);
        if (!sr__node_works(view, id)) {
            continue;
        }
        /* what it writes may be foreign too, where the description says that it is accepted */
        SR_TRY(settle(backend, view->storage[id].buffer, err));
        for (int j = 0; j < node->n_src; j++) {
            const int32_t src = sr_view_src(view, node, j);
            if (src >= 0) {
                SR_TRY(settle(backend, view->storage[src].buffer, err));
            }
        }
    }
done:
    return status;
}
