/*
 * gpu_buffer.c - buffers in device memory and, where a language has it, in pinned host memory.
 *
 * Layer: backends.  Answers to the buffer types of the reference's GPU backends.  What nobody queues goes through a
 * stream of the device's own, one at a time, and is done on return.  New memory is zeroed, as host memory is.
 */
#include "backend/hostmem.h"
#include "backends/gpu/gpu_device.h"

typedef struct gpu_buffer {
    sr_buffer buffer;
    sr__gpu_memory *memory; /* device memory, or */
    void *pinned;           /* host memory */
} gpu_buffer;

static sr__gpu_own *own_of(const sr_buffer *buffer) { return buffer->type->context; }

static const gpu_buffer *gpu_of(const sr_buffer *buffer) { return buffer->context; }

/* ---- transfers -------------------------------------------------------------------------------------------------- */

static sr__gpu_stream *begin(const sr__gpu_own *own) {
    pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&own->lock);
    return own->transfers;
}

/* Waits for what was queued since begin, whatever became of it. */
static sr_status end(const sr__gpu_own *own, sr_status status, sr_error *err) {
    const sr_status waited = own->gpu->runtime->stream_synchronize(own->transfers, status == SR_OK ? err : NULL);
    pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&own->lock);
    return status == SR_OK ? waited : status;
}

static sr_status device_memset(sr_buffer *buffer, uint8_t value, size_t offset, size_t size, sr_error *err) {
    const sr__gpu_own *own = own_of(buffer);
    sr__gpu_stream *stream = begin(own);
    return end(own, own->gpu->runtime->fill(stream, gpu_of(buffer)->memory, value, offset, size, err), err);
}

static sr_status device_set(sr_buffer *buffer, const void *data, size_t offset, size_t size, sr_error *err) {
    const sr__gpu_own *own = own_of(buffer);
    sr__gpu_stream *stream = begin(own);
    return end(own, own->gpu->runtime->write(stream, gpu_of(buffer)->memory, offset, data, size, err), err);
}

static sr_status device_get(const sr_buffer *buffer, void *data, size_t offset, size_t size, sr_error *err) {
    const sr__gpu_own *own = own_of(buffer);
    sr__gpu_stream *stream = begin(own);
    return end(own, own->gpu->runtime->read(stream, gpu_of(buffer)->memory, offset, data, size, err), err);
}

static sr_status device_set_2d(sr_buffer *buffer, const void *data, size_t offset, size_t size, size_t n,
                               size_t stride_buffer, size_t stride_data, sr_error *err) {
    const sr__gpu_own *own = own_of(buffer);
    sr__gpu_stream *stream = begin(own);
    sr_status status = SR_OK;
    for (size_t i = 0; i < n && status == SR_OK; i++) {
        status = own->gpu->runtime->write(stream, gpu_of(buffer)->memory, offset + i * stride_buffer,
                                          (const char *)data + i * stride_data, size, err);
    }
    return end(own, status, err);
}

static sr_status device_get_2d(const sr_buffer *buffer, void *data, size_t offset, size_t size, size_t n,
                               size_t stride_buffer, size_t stride_data, sr_error *err) {
    const sr__gpu_own *own = own_of(buffer);
    sr__gpu_stream *stream = begin(own);
    sr_status status = SR_OK;
    for (size_t i = 0; i < n && status == SR_OK; i++) {
        status = own->gpu->runtime->read(stream, gpu_of(buffer)->memory, offset + i * stride_buffer,
                                         (char *)data + i * stride_data, size, err);
    }
    return end(own, status, err);
}

sr_status sr__gpu_copy(sr__gpu_stream *stream, sr__gpu_memory *dst, size_t dst_offset, sr__gpu_memory *src,
                       size_t src_offset, size_t size, bool *done, sr_error *err) {
    const sr__gpu_runtime *runtime = stream->device->runtime;
    const size_t apart = dst_offset > src_offset ? dst_offset - src_offset : src_offset - dst_offset;
    if (dst != src || apart >= size) {
        return runtime->copy(stream, dst, dst_offset, src, src_offset, size, done, err);
    }
    sr__gpu_memory *between;
    sr_status status;
    SR_TRY(sr__gpu_scratch(stream, size, &between, err));
    SR_TRY(runtime->copy(stream, between, 0, src, src_offset, size, done, err));
    if (*done) {
        status = runtime->copy(stream, dst, dst_offset, between, 0, size, done, err);
    }
done:
    return status;
}

static sr_status device_copy_from(sr_buffer *dst, size_t dst_offset, const sr_buffer *src, size_t src_offset,
                                  size_t size, bool *done, sr_error *err) {
    const sr__gpu_own *own = own_of(dst), *from = sr__gpu_own_of_buffer(src);
    *done = false;
    if (!from || from->gpu->runtime != own->gpu->runtime) {
        return SR_OK;
    }
    sr__gpu_stream *stream = begin(own);
    return end(own, sr__gpu_copy(stream, gpu_of(dst)->memory, dst_offset, gpu_of(src)->memory, src_offset, size, done,
                                 err), err);
}

static void device_free(sr_buffer *buffer) {
    own_of(buffer)->gpu->runtime->memory_free(gpu_of(buffer)->memory);
    sr__free(buffer->context);
}

static const sr_buffer_i device_buffer_i = {
    .free = device_free,
    .memset = device_memset,
    .set = device_set,
    .get = device_get,
    .set_2d = device_set_2d,
    .get_2d = device_get_2d,
    .copy_from = device_copy_from,
};

sr__gpu_own *sr__gpu_own_of_buffer(const sr_buffer *buffer) {
    return buffer && buffer->iface == &device_buffer_i ? own_of(buffer) : NULL;
}

sr__gpu_memory *sr__gpu_buffer_memory(const sr_buffer *buffer) {
    return buffer && buffer->iface == &device_buffer_i ? gpu_of(buffer)->memory : NULL;
}

/* ---- device memory ------------------------------------------------------------------------------------------------ */

static gpu_buffer *buffer_new(sr_buffer_type *type, const sr_buffer_i *iface, size_t size) {
    gpu_buffer *b = sr__calloc(1, sizeof(*b));
    if (b) {
        b->buffer = (sr_buffer){.iface = iface, .type = type, .size = size, .context = b};
    }
    return b;
}

/* "failed to allocate TYPE buffer of size N", then what the device said, if it did. */
static sr_status fail_allocation(const sr__gpu_own *own, const sr_buffer_type *type, size_t size, const char *words,
                                 sr_error *err) {
    size_t free_bytes = 0, total = 0;
    own->gpu->runtime->device_memory(own->gpu, &free_bytes, &total);
    (void)sr__fail_allocation(err, type, size, free_bytes < type->max_size ? free_bytes : type->max_size);
    if (err && *words) {
        sr__error_prefix(err, "%s: ", words);
    }
    return SR_ALLOCATION;
}

static sr_status device_alloc(sr_buffer_type *type, size_t size, sr_buffer **out_buffer, sr_error *err) {
    const sr__gpu_own *own = type->context;
    sr_error cause = {0};
    gpu_buffer *b = buffer_new(type, &device_buffer_i, size);
    if (!b) {
        return sr__fail_memory(err);
    }
    sr_status status = size > type->max_size ? SR_ALLOCATION
                                             : own->gpu->runtime->memory_new(own->gpu, size, &b->memory, &cause);
    if (status == SR_OK) {
        status = device_memset(&b->buffer, 0, 0, size, &cause);
    }
    if (status == SR_OK) {
        *out_buffer = &b->buffer;
        return SR_OK;
    }
    if (status == SR_ALLOCATION) {
        fail_allocation(own, type, size, cause.message ? cause.message : "", err);
    } else {
        (void)sr__fail(err, status, "%s", sr_error_message(&cause));
    }
    sr_error_clear(&cause);
    if (b->memory) {
        own->gpu->runtime->memory_free(b->memory);
    }
    sr__free(b);
    return status;
}

static const sr_buffer_type_i device_type_i = {.alloc_buffer = device_alloc};

sr__gpu_memory *sr__gpu_storage_memory(const sr__gpu_runtime *runtime, const sr_storage *storage) {
    const sr__gpu_own *own = sr__gpu_own_of_buffer(storage->buffer);
    return own && own->gpu->runtime == runtime ? sr__gpu_buffer_memory(storage->buffer) : NULL;
}

/* ---- pinned host memory ---------------------------------------------------------------------------------------------- */

static void pinned_free(sr_buffer *buffer) {
    const sr__gpu_own *own = own_of(buffer);
    own->gpu->runtime->host_memory_free(own->gpu, gpu_of(buffer)->pinned);
    sr__free(buffer->context);
}

static sr_status pinned_memset(sr_buffer *buffer, uint8_t value, size_t offset, size_t size, sr_error *err) {
    (void)err;
    memset((char *)buffer->base + offset, value, size);
    return SR_OK;
}

static sr_status pinned_set(sr_buffer *buffer, const void *data, size_t offset, size_t size, sr_error *err) {
    (void)err;
    memmove((char *)buffer->base + offset, data, size);
    return SR_OK;
}

static sr_status pinned_get(const sr_buffer *buffer, void *data, size_t offset, size_t size, sr_error *err) {
    (void)err;
    memmove(data, (const char *)buffer->base + offset, size);
    return SR_OK;
}

static const sr_buffer_i pinned_buffer_i = {
    .free = pinned_free,
    .memset = pinned_memset,
    .set = pinned_set,
    .get = pinned_get,
};

/* Where pinned memory runs out, plain memory serves as well, only slower. */
static sr_status pinned_alloc(sr_buffer_type *type, size_t size, sr_buffer **out_buffer, sr_error *err) {
    const sr__gpu_own *own = type->context;
    gpu_buffer *b = buffer_new(type, &pinned_buffer_i, size);
    if (!b) {
        return sr__fail_memory(err);
    }
    if (own->gpu->runtime->host_memory_new(own->gpu, size, &b->pinned, NULL) != SR_OK) {
        sr__free(b);
        return sr__memory_buffer_new(type, size, NULL, out_buffer, err);
    }
    b->buffer.base = b->pinned;
    memset(b->pinned, 0, size);
    *out_buffer = &b->buffer;
    return SR_OK;
}

static const sr_buffer_type_i pinned_type_i = {.alloc_buffer = pinned_alloc};

void sr__gpu_types_init(sr__gpu_own *own, const char *name) {
    own->type = (sr_buffer_type){.iface = &device_type_i, .name = name, .device = &own->device,
                                 .alignment = own->gpu->alignment, .max_size = own->gpu->max_buffer, .context = own};
    own->host_type = (sr_buffer_type){.iface = &pinned_type_i, .name = own->host_name, .device = &own->device,
                                      .alignment = own->gpu->alignment, .max_size = SIZE_MAX, .is_host = true,
                                      .context = own};
}
