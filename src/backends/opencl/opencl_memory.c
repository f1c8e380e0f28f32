/*
 * opencl_memory.c - memory objects and what is queued to move bytes into, out of and between them.
 *
 * Layer: backends.
 */
#include "backends/opencl/opencl.h"

/* Data of writes that are queued: up to so many bytes of it are copied for them, beyond that the caller waits. */
static const size_t MOST_STAGED = (size_t)64 << 20;

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static bool charge(sr__ocl_entry *entry, size_t size) {
    pthread_mutex_lock(&sr__ocl_lock);
    const bool fits = entry->used <= entry->total_memory && size <= entry->total_memory - entry->used;
    if (fits) {
        entry->used += size;
    }
    pthread_mutex_unlock(&sr__ocl_lock);
    return fits;
}

static void discharge(sr__ocl_entry *entry, size_t size) {
    pthread_mutex_lock(&sr__ocl_lock);
    entry->used -= size;
    pthread_mutex_unlock(&sr__ocl_lock);
}

/* Drivers take memory late and may hand out more than there is, so the bytes are counted here. */
sr_status sr__ocl_memory_new(sr__gpu_device *device, size_t size, sr__gpu_memory **out_memory, sr_error *err) {
    sr__ocl_entry *entry = ((sr__ocl_device *)device)->entry;
    cl_int code = CL_SUCCESS;
    *out_memory = NULL;
    if (size > device->max_buffer || !charge(entry, size)) {
        return SR_ALLOCATION;
    }
    sr__gpu_memory *memory = sr__calloc(1, sizeof(*memory));
    if (!memory) {
        discharge(entry, size);
        return sr__fail_memory(err);
    }
    *memory = (sr__gpu_memory){.entry = entry, .size = size};
    memory->mem = clCreateBuffer(entry->platform->context, CL_MEM_READ_WRITE, size, NULL, &code);
    if (code != CL_SUCCESS) {
        discharge(entry, size);
        sr__free(memory);
        return sr__ocl_fail(err, entry->platform, "clCreateBuffer", code);
    }
    *out_memory = memory;
    return SR_OK;
}

void sr__ocl_memory_free(sr__gpu_memory *memory) {
    discharge(memory->entry, memory->size);
    clReleaseMemObject(memory->mem); /* the driver waits for what is queued */
    sr__free(memory);
}

/* ---- staged data ------------------------------------------------------------------------------------------------- */

struct sr__ocl_staged {
    sr__ocl_staged *next;
    cl_event written;
    size_t size;
    char data[];
};

void sr__ocl_staged_sweep(sr__ocl_stream *stream, bool all) {
    for (sr__ocl_staged **at = &stream->staged; *at;) {
        sr__ocl_staged *staged = *at;
        cl_int state = CL_QUEUED;
        if (!all && (clGetEventInfo(staged->written, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, NULL) !=
                     CL_SUCCESS || state > CL_COMPLETE)) {
            at = &staged->next;
            continue;
        }
        *at = staged->next;
        clReleaseEvent(staged->written);
        stream->staged_size -= staged->size;
        sr__free(staged);
    }
}

/* A copy that lives until the write has been done; NULL: there is no room for it. */
static sr__ocl_staged *stage(sr__ocl_stream *stream, const void *data, size_t size) {
    sr__ocl_staged_sweep(stream, false);
    if (size > MOST_STAGED || stream->staged_size > MOST_STAGED - size) {
        return NULL;
    }
    sr__ocl_staged *staged = sr__malloc(sizeof(*staged) + size);
    if (staged) {
        *staged = (sr__ocl_staged){.size = size};
        memcpy(staged->data, data, size);
    }
    return staged;
}

/* ---- transfers --------------------------------------------------------------------------------------------------- */

sr_status sr__ocl_write(sr__gpu_stream *stream, sr__gpu_memory *memory, size_t offset, const void *data, size_t size,
                        sr_error *err) {
    sr__ocl_stream *s = (sr__ocl_stream *)stream;
    sr__ocl_staged *staged = stage(s, data, size);
    const cl_int code = clEnqueueWriteBuffer(s->queue, memory->mem, staged ? CL_FALSE : CL_TRUE, offset, size,
                                             staged ? staged->data : data, 0, NULL, staged ? &staged->written : NULL);
    if (code != CL_SUCCESS) {
        sr__free(staged);
        return sr__ocl_fail(err, s->entry->platform, "clEnqueueWriteBuffer", code);
    }
    if (staged) {
        staged->next = s->staged;
        s->staged = staged;
        s->staged_size += size;
    }
    return SR_OK;
}

sr_status sr__ocl_read(sr__gpu_stream *stream, sr__gpu_memory *memory, size_t offset, void *data, size_t size,
                       sr_error *err) {
    sr__ocl_stream *s = (sr__ocl_stream *)stream;
    const cl_int code = clEnqueueReadBuffer(s->queue, memory->mem, CL_FALSE, offset, size, data, 0, NULL, NULL);
    return code == CL_SUCCESS ? SR_OK : sr__ocl_fail(err, s->entry->platform, "clEnqueueReadBuffer", code);
}

sr_status sr__ocl_fill(sr__gpu_stream *stream, sr__gpu_memory *memory, uint8_t value, size_t offset, size_t size,
                       sr_error *err) {
    sr__ocl_stream *s = (sr__ocl_stream *)stream;
    const cl_int code = clEnqueueFillBuffer(s->queue, memory->mem, &value, 1, offset, size, 0, NULL, NULL);
    return code == CL_SUCCESS ? SR_OK : sr__ocl_fail(err, s->entry->platform, "clEnqueueFillBuffer", code);
}

/* Devices of one platform share a context; between platforms the host has to carry. */
sr_status sr__ocl_copy(sr__gpu_stream *stream, sr__gpu_memory *dst, size_t dst_offset, sr__gpu_memory *src,
                       size_t src_offset, size_t size, bool *done, sr_error *err) {
    sr__ocl_stream *s = (sr__ocl_stream *)stream;
    *done = dst->entry->platform == src->entry->platform && s->entry->platform == src->entry->platform;
    if (!*done) {
        return SR_OK;
    }
    const cl_int code = clEnqueueCopyBuffer(s->queue, src->mem, dst->mem, src_offset, dst_offset, size, 0, NULL, NULL);
    return code == CL_SUCCESS ? SR_OK : sr__ocl_fail(err, s->entry->platform, "clEnqueueCopyBuffer", code);
}
