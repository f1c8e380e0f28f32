/*
 * buffer.c - reading, writing and copying buffers, with ranges checked and fall-backs where an interface has gaps.
 *
 * Layer: backend.  Answers to ggml_backend_buffer_* and ggml_backend_tensor_{set,get,copy}* of the reference.  The
 * reference decides about its 2-d reads by looking whether there is a 2-d write; each looks for itself here.
 */
#include "base/base.h"
#include "sched_run/backend.h"

/* A copy through the host is cut into pieces of this size, so that it needs little memory. */
enum { BOUNCE_SIZE = 4 << 20 };

void sr_buffer_free(sr_buffer *buffer) {
    if (buffer) {
        buffer->iface->free(buffer);
    }
}

void sr_buffer_reset(sr_buffer *buffer) {
    if (buffer->iface->reset) {
        buffer->iface->reset(buffer);
    }
}

static sr_status check_range(const sr_buffer *buffer, const char *what, size_t offset, size_t size, sr_error *err) {
    if (offset <= buffer->size && size <= buffer->size - offset) {
        return SR_OK;
    }
    return sr__fail(err, SR_INVALID, "%s of %zu bytes at offset %zu is outside the '%s' buffer of %zu bytes", what,
                    size, offset, buffer->type->name, buffer->size);
}

sr_status sr_buffer_memset(sr_buffer *buffer, uint8_t value, size_t offset, size_t size, sr_error *err) {
    const sr_status status = check_range(buffer, "a fill", offset, size, err);
    return status != SR_OK || size == 0 ? status : buffer->iface->memset(buffer, value, offset, size, err);
}

sr_status sr_buffer_clear(sr_buffer *buffer, uint8_t value, sr_error *err) {
    return sr_buffer_memset(buffer, value, 0, buffer->size, err);
}

sr_status sr_buffer_set(sr_buffer *buffer, const void *data, size_t offset, size_t size, sr_error *err) {
    const sr_status status = check_range(buffer, "a write", offset, size, err);
    return status != SR_OK || size == 0 ? status : buffer->iface->set(buffer, data, offset, size, err);
}

sr_status sr_buffer_get(const sr_buffer *buffer, void *data, size_t offset, size_t size, sr_error *err) {
    const sr_status status = check_range(buffer, "a read", offset, size, err);
    return status != SR_OK || size == 0 ? status : buffer->iface->get(buffer, data, offset, size, err);
}

/* ---- n pieces, stride apart ----------------------------------------------------------------------------------- */

/* The bytes from the first piece's begin to the last one's end must lie in the buffer. */
static sr_status check_pieces(const sr_buffer *buffer, const char *what, size_t offset, size_t size, size_t n,
                              size_t stride, sr_error *err) {
    size_t span;
    if (!sr__mul_size(n - 1, stride, &span) || !sr__add_size(span, size, &span)) {
        return sr__fail(err, SR_INVALID, "%s of %zu pieces, %zu bytes apart, is too large for any buffer", what, n,
                        stride);
    }
    return check_range(buffer, what, offset, span, err);
}

sr_status sr_buffer_set_2d(sr_buffer *buffer, const void *data, size_t offset, size_t size, size_t n,
                           size_t stride_buffer, size_t stride_data, sr_error *err) {
    if (n == 0 || size == 0) {
        return check_range(buffer, "a write", offset, 0, err);
    }
    sr_status status = check_pieces(buffer, "a write", offset, size, n, stride_buffer, err);
    if (status == SR_OK && n > 1 && buffer->iface->set_2d) {
        return buffer->iface->set_2d(buffer, data, offset, size, n, stride_buffer, stride_data, err);
    }
    for (size_t i = 0; i < n && status == SR_OK; i++) {
        const char *from = (const char *)data + i * stride_data;
        status = buffer->iface->set(buffer, from, offset + i * stride_buffer, size, err);
    }
    return status;
}

sr_status sr_buffer_get_2d(const sr_buffer *buffer, void *data, size_t offset, size_t size, size_t n,
                           size_t stride_buffer, size_t stride_data, sr_error *err) {
    if (n == 0 || size == 0) {
        return check_range(buffer, "a read", offset, 0, err);
    }
    sr_status status = check_pieces(buffer, "a read", offset, size, n, stride_buffer, err);
    if (status == SR_OK && n > 1 && buffer->iface->get_2d) {
        return buffer->iface->get_2d(buffer, data, offset, size, n, stride_buffer, stride_data, err);
    }
    for (size_t i = 0; i < n && status == SR_OK; i++) {
        char *to = (char *)data + i * stride_data;
        status = buffer->iface->get(buffer, to, offset + i * stride_buffer, size, err);
    }
    return status;
}

/* ---- copies between buffers ----------------------------------------------------------------------------------- */

/* Through host memory, piece by piece; from the end where a piece would else overwrite what is still to be read. */
static sr_status copy_bounced(sr_buffer *dst, size_t dst_offset, const sr_buffer *src, size_t src_offset, size_t size,
                              sr_error *err) {
    const size_t piece = size < BOUNCE_SIZE ? size : BOUNCE_SIZE;
    const bool backwards = dst == src && dst_offset > src_offset;
    sr_status status = SR_OK;
    void *bounce = sr__malloc(piece);
    if (!bounce) {
        return sr__fail_memory(err);
    }
    for (size_t done = 0; done < size && status == SR_OK;) {
        const size_t now = size - done < piece ? size - done : piece;
        const size_t at = backwards ? size - done - now : done;
        status = src->iface->get(src, bounce, src_offset + at, now, err);
        if (status == SR_OK) {
            status = dst->iface->set(dst, bounce, dst_offset + at, now, err);
        }
        done += now;
    }
    sr__free(bounce);
    return status;
}

sr_status sr_buffer_copy(sr_buffer *dst, size_t dst_offset, const sr_buffer *src, size_t src_offset, size_t size,
                         bool *out_bounced, sr_error *err) {
    if (out_bounced) {
        *out_bounced = false;
    }
    sr_status status = check_range(dst, "a copy", dst_offset, size, err);
    if (status == SR_OK) {
        status = check_range(src, "a copy", src_offset, size, err);
    }
    if (status != SR_OK || size == 0 || (dst == src && dst_offset == src_offset)) {
        return status;
    }
    if (src->type->is_host && src->base) {
        return dst->iface->set(dst, (const char *)src->base + src_offset, dst_offset, size, err);
    }
    if (dst->type->is_host && dst->base) {
        return src->iface->get(src, (char *)dst->base + dst_offset, src_offset, size, err);
    }
    if (dst->iface->copy_from) {
        bool done = false;
        status = dst->iface->copy_from(dst, dst_offset, src, src_offset, size, &done, err);
        if (status != SR_OK || done) {
            return status;
        }
    }
    if (out_bounced) {
        *out_bounced = true;
    }
    return copy_bounced(dst, dst_offset, src, src_offset, size, err);
}
