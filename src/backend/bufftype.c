/*
 * bufftype.c - what is asked of every buffer type, and buffers without memory.
 *
 * Layer: backend.  Answers to ggml_backend_buft_* of the reference.
 */
#include "base/base.h"
#include "sched_run/backend.h"

const char *sr_usage_name(sr_usage usage) {
    static const char *const names[] = {"any", "weights", "compute"};
    return (unsigned)usage < (unsigned)SR_COUNT(names) ? names[usage] : "any";
}

const char *sr_device_type_name(sr_device_type type) {
    static const char *const names[] = {"cpu", "gpu", "igpu", "accel"};
    return (unsigned)type < (unsigned)SR_COUNT(names) ? names[type] : "cpu";
}

static void empty_free(sr_buffer *buffer) {
    sr__free(buffer);
}

/* Nothing but free is ever called: no range but the empty one lies within such a buffer. */
static const sr_buffer_i empty_buffer_i = {.free = empty_free};

sr_status sr_buffer_type_alloc(sr_buffer_type *type, size_t size, sr_buffer **out_buffer, sr_error *err) {
    *out_buffer = NULL;
    if (size > 0) {
        return type->iface->alloc_buffer(type, size, out_buffer, err);
    }
    sr_buffer *buffer = sr__calloc(1, sizeof(*buffer));
    if (!buffer) {
        return sr__fail_memory(err);
    }
    buffer->iface = &empty_buffer_i;
    buffer->type = type;
    *out_buffer = buffer;
    return SR_OK;
}

size_t sr_buffer_type_alloc_size(const sr_buffer_type *type, const sr_graph_view *view, int32_t tensor) {
    const size_t nbytes = sr_view_tensor(view, tensor)->nbytes;
    if (!type->iface->alloc_size) {
        return nbytes;
    }
    const size_t size = type->iface->alloc_size(type, view, tensor);
    return size > nbytes ? size : nbytes;
}
