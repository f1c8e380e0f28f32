/*
 * hostmem.c - the host's buffer type "CPU" and buffers in the memory of this process.
 *
 * Layer: backend.  Answers to the CPU buffer at the end of ggml-backend.cpp.  Large buffers are fresh pages, so that
 * tens of GiB can be laid out without being touched; small ones come from the heap, where tools see overruns.
 */
#include "backend/hostmem.h"

#include <unistd.h>

enum { PAGE_ALIGNMENT = 4096, HEAP_LIMIT = 1 << 16 };

typedef struct memory_buffer {
    sr_buffer buffer;
    const sr__memory_hooks *hooks;
    void *block;
    size_t block_size;
    bool paged;
    char *data; /* aligned, within block */
} memory_buffer;

static const sr_buffer_i memory_buffer_i;

/* ---- the block ------------------------------------------------------------------------------------------------ */

static bool block_alloc(memory_buffer *m, size_t size, size_t alignment) {
    size_t total = size;
    m->paged = size > HEAP_LIMIT;
    /* pages are aligned as they come; the heap's blocks and larger alignments need room to move */
    if ((!m->paged || alignment > PAGE_ALIGNMENT) && !sr__add_size(total, alignment, &total)) {
        return false;
    }
    m->block = m->paged ? sr__pages_alloc(total) : sr__calloc(1, total);
    if (!m->block) {
        return false;
    }
    m->block_size = total;
    const uintptr_t address = (uintptr_t)m->block;
    m->data = (char *)m->block + (((address + alignment - 1) & ~(uintptr_t)(alignment - 1)) - address);
    return true;
}

static void memory_free(sr_buffer *buffer) {
    memory_buffer *m = buffer->context;
    if (m->hooks && m->hooks->released) {
        m->hooks->released(buffer);
    }
    if (m->paged) {
        sr__pages_free(m->block, m->block_size);
    } else {
        sr__free(m->block);
    }
    sr__free(m);
}

/* ---- transfers ------------------------------------------------------------------------------------------------ */

static sr_status announce(const sr_buffer *buffer, size_t size, sr_error *err) {
    const memory_buffer *m = buffer->context;
    return m->hooks && m->hooks->transfer ? m->hooks->transfer(buffer, size, err) : SR_OK;
}

static sr_status memory_memset(sr_buffer *buffer, uint8_t value, size_t offset, size_t size, sr_error *err) {
    (void)err;
    memset(((memory_buffer *)buffer->context)->data + offset, value, size);
    return SR_OK;
}

static sr_status memory_set(sr_buffer *buffer, const void *data, size_t offset, size_t size, sr_error *err) {
    const sr_status status = announce(buffer, size, err);
    if (status == SR_OK) {
        /* the source may lie in this very buffer */
        memmove(((memory_buffer *)buffer->context)->data + offset, data, size);
    }
    return status;
}

static sr_status memory_get(const sr_buffer *buffer, void *data, size_t offset, size_t size, sr_error *err) {
    const sr_status status = announce(buffer, size, err);
    if (status == SR_OK) {
        memmove(data, ((const memory_buffer *)buffer->context)->data + offset, size);
    }
    return status;
}

/* Within one type, and between devices of one family. */
static sr_status memory_copy_from(sr_buffer *dst, size_t dst_offset, const sr_buffer *src, size_t src_offset,
                                  size_t size, bool *done, sr_error *err) {
    *done = false;
    if (src->iface != &memory_buffer_i) {
        return SR_OK;
    }
    memory_buffer *to = dst->context;
    const memory_buffer *from = src->context;
    if (dst->type != src->type && (!to->hooks || to->hooks != from->hooks)) {
        return SR_OK;
    }
    sr_status status = announce(src, size, err);
    if (status == SR_OK && dst->type != src->type) {
        status = announce(dst, size, err);
    }
    if (status == SR_OK) {
        memmove(to->data + dst_offset, from->data + src_offset, size);
        *done = true;
    }
    return status;
}

static const sr_buffer_i memory_buffer_i = {
    .free = memory_free,
    .memset = memory_memset,
    .set = memory_set,
    .get = memory_get,
    .copy_from = memory_copy_from,
};

sr_status sr__memory_buffer_new(sr_buffer_type *type, size_t size, const sr__memory_hooks *hooks,
                                sr_buffer **out_buffer, sr_error *err) {
    memory_buffer *m = sr__calloc(1, sizeof(*m));
    if (!m) {
        return sr__fail_memory(err);
    }
    if (!block_alloc(m, size, type->alignment)) {
        size_t free_bytes, total;
        sr__free(m);
        sr__host_memory(&free_bytes, &total);
        return sr__fail_allocation(err, type, size, free_bytes);
    }
    m->hooks = hooks;
    m->buffer.iface = &memory_buffer_i;
    m->buffer.type = type;
    m->buffer.size = size;
    m->buffer.base = type->is_host ? m->data : NULL;
    m->buffer.context = m;
    *out_buffer = &m->buffer;
    return SR_OK;
}

char *sr__buffer_memory(const sr_buffer *buffer) {
    if (!buffer) {
        return NULL;
    }
    return buffer->iface == &memory_buffer_i ? ((const memory_buffer *)buffer->context)->data : buffer->base;
}

sr_status sr__buffer_settle(const sr_buffer *buffer, sr_error *err) {
    if (buffer->iface != &memory_buffer_i) {
        return SR_OK;
    }
    const memory_buffer *m = buffer->context;
    return m->hooks && m->hooks->settle ? m->hooks->settle(buffer, err) : SR_OK;
}

sr_status sr__fail_allocation(sr_error *err, const sr_buffer_type *type, size_t size, size_t largest_free) {
    const sr_status status = sr__fail(err, SR_ALLOCATION, "failed to allocate %s buffer of size %zu", type->name, size);
    sr__error_text(err, "buffer_type", type->name);
    sr__error_number(err, "size", size > INT64_MAX ? INT64_MAX : (int64_t)size);
    sr__error_number(err, "largest_free", largest_free > INT64_MAX ? INT64_MAX : (int64_t)largest_free);
    return status;
}

void sr__host_memory(size_t *out_free, size_t *out_total) {
    const long page = sysconf(_SC_PAGESIZE), total = sysconf(_SC_PHYS_PAGES), available = sysconf(_SC_AVPHYS_PAGES);
    *out_total = page > 0 && total > 0 ? (size_t)page * (size_t)total : 0;
    *out_free = page > 0 && available > 0 ? (size_t)page * (size_t)available : 0;
}

/* ---- buffer types --------------------------------------------------------------------------------------------- */

static sr_status plain_alloc(sr_buffer_type *type, size_t size, sr_buffer **out_buffer, sr_error *err) {
    return sr__memory_buffer_new(type, size, NULL, out_buffer, err);
}

static const sr_buffer_type_i plain_type_i = {.alloc_buffer = plain_alloc};

void sr__memory_type_init(sr_buffer_type *type, const char *name, size_t alignment, size_t max_size, bool host) {
    *type = (sr_buffer_type){.iface = &plain_type_i, .name = name, .alignment = alignment, .max_size = max_size,
                             .is_host = host};
}

sr_buffer_type *sr_host_buffer_type(void) {
    static sr_buffer_type host = {.iface = &plain_type_i, .name = "CPU", .alignment = 32, .max_size = SIZE_MAX,
                                  .is_host = true};
    return &host;
}
