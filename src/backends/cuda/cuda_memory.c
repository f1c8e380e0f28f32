/*
 * cuda_memory.c - device memory, pinned host memory, and what is queued to move bytes.
 *
 * Layer: backends.  Answers to the buffer types and the asynchronous transfers of the reference's ggml-cuda.cu.
 */
#include "backends/cuda/cuda.h"

/* ---- memory ------------------------------------------------------------------------------------------------------ */

sr_status sr__cuda_memory_new(sr__gpu_device *device, size_t size, sr__gpu_memory **out_memory, sr_error *err) {
    sr_status status = SR_OK;
    void *data = NULL;
    *out_memory = NULL;
    sr__gpu_memory *memory = sr__calloc(1, sizeof(*memory));
    if (!memory) {
        return sr__fail_memory(err);
    }
    SR_CUDA_TRY(cudaSetDevice, (device->index), err);
    SR_CUDA_TRY(cudaMalloc, (&data, size), err);
    *memory = (sr__gpu_memory){.device = device->index, .data = data};
    *out_memory = memory;
    return SR_OK;
done:
    sr__free(memory);
    return status;
}

/* cudaFree waits for what uses the memory. */
void sr__cuda_memory_free(sr__gpu_memory *memory) {
    (void)cudaSetDevice(memory->device);
    (void)cudaFree(memory->data);
    (void)cudaGetLastError();
    sr__free(memory);
}

sr_status sr__cuda_host_memory_new(sr__gpu_device *device, size_t size, void **out_memory, sr_error *err) {
    sr_status status = SR_OK;
    SR_CUDA_TRY(cudaSetDevice, (device->index), err);
    SR_CUDA_TRY(cudaHostAlloc, (out_memory, size, cudaHostAllocPortable), err);
done:
    return status;
}

void sr__cuda_host_memory_free(sr__gpu_device *device, void *memory) {
    (void)cudaSetDevice(device->index);
    (void)cudaFreeHost(memory);
    (void)cudaGetLastError();
}

/* ---- writes ------------------------------------------------------------------------------------------------------ */

/* The next piece to go through, when what went through it before has arrived; NULL: there is no pinned memory. */
static struct sr__cuda_stage *next_stage(sr__cuda_stream *stream, sr_status *out_status, sr_error *err) {
    struct sr__cuda_stage *stage = &stream->stages[stream->next_stage];
    sr_status status = SR_OK;
    stream->next_stage = (stream->next_stage + 1) % SR_CUDA_STAGES;
    if (!stage->sent) {
        SR_CUDA_TRY(cudaEventCreateWithFlags, (&stage->sent, cudaEventDisableTiming), err);
    }
    if (!stage->data && cudaHostAlloc(&stage->data, SR_CUDA_STAGE_SIZE, cudaHostAllocDefault) != cudaSuccess) {
        (void)cudaGetLastError();
        stage->data = NULL;
    }
    SR_CUDA_TRY(cudaEventSynchronize, (stage->sent), err);
done:
    *out_status = status;
    return status == SR_OK && stage->data ? stage : NULL;
}

void sr__cuda_stages_free(sr__cuda_stream *stream) {
    for (int i = 0; i < SR_CUDA_STAGES; i++) {
        if (stream->stages[i].sent) {
            (void)cudaEventDestroy(stream->stages[i].sent);
        }
        if (stream->stages[i].data) {
            (void)cudaFreeHost(stream->stages[i].data);
        }
    }
}

sr_status sr__cuda_write(sr__gpu_stream *stream, sr__gpu_memory *memory, size_t offset, const void *data, size_t size,
                         sr_error *err) {
    sr__cuda_stream *s = sr__cuda_of(stream);
    sr_status status = SR_OK;
    SR_CUDA_TRY(cudaSetDevice, (memory->device), err);
    for (size_t at = 0, n; at < size; at += n) {
        struct sr__cuda_stage *stage = next_stage(s, &status, err);
        char *to = memory->data + offset + at;
        const char *from = (const char *)data + at;
        if (status != SR_OK) {
            return status;
        }
        if (!stage) { /* straight from the caller's memory, and waited for */
            SR_CUDA_TRY(cudaMemcpyAsync, (to, from, size - at, cudaMemcpyHostToDevice, s->stream), err);
            SR_CUDA_TRY(cudaStreamSynchronize, (s->stream), err);
            return SR_OK;
        }
        n = size - at < SR_CUDA_STAGE_SIZE ? size - at : SR_CUDA_STAGE_SIZE;
        memcpy(stage->data, from, n);
        SR_CUDA_TRY(cudaMemcpyAsync, (to, stage->data, n, cudaMemcpyHostToDevice, s->stream), err);
        SR_CUDA_TRY(cudaEventRecord, (stage->sent, s->stream), err);
    }
done:
    return status;
}

/* ---- reads, fills, copies ---------------------------------------------------------------------------------------- */

sr_status sr__cuda_read(sr__gpu_stream *stream, sr__gpu_memory *memory, size_t offset, void *data, size_t size,
                        sr_error *err) {
    sr_status status = SR_OK;
    SR_CUDA_TRY(cudaSetDevice, (memory->device), err);
    SR_CUDA_TRY(cudaMemcpyAsync, (data, memory->data + offset, size, cudaMemcpyDeviceToHost,
                                  sr__cuda_of(stream)->stream), err);
done:
    return status;
}

sr_status sr__cuda_fill(sr__gpu_stream *stream, sr__gpu_memory *memory, uint8_t value, size_t offset, size_t size,
                        sr_error *err) {
    sr_status status = SR_OK;
    SR_CUDA_TRY(cudaSetDevice, (memory->device), err);
    SR_CUDA_TRY(cudaMemsetAsync, (memory->data + offset, value, size, sr__cuda_of(stream)->stream), err);
done:
    return status;
}

/* Can device `from` reach the memory of `to` directly?  Opens the way the first time. */
static sr_status open_peer(int from, int to, bool *out_open, sr_error *err) {
    int can = 0;
    sr_status status = SR_OK;
    *out_open = false;
    SR_CUDA_TRY(cudaDeviceCanAccessPeer, (&can, from, to), err);
    if (can) {
        SR_CUDA_TRY(cudaSetDevice, (from), err);
        const cudaError_t code = cudaDeviceEnablePeerAccess(to, 0);
        if (code != cudaSuccess && code != cudaErrorPeerAccessAlreadyEnabled) {
            return sr__cuda_fail(err, "cudaDeviceEnablePeerAccess", code);
        }
        (void)cudaGetLastError(); /* that it is open already is no error */
        *out_open = true;
    }
done:
    return status;
}

sr_status sr__cuda_copy(sr__gpu_stream *stream, sr__gpu_memory *dst, size_t dst_offset, sr__gpu_memory *src,
                        size_t src_offset, size_t size, bool *done, sr_error *err) {
    sr__cuda_stream *s = sr__cuda_of(stream);
    char *to = dst->data + dst_offset;
    const char *from = src->data + src_offset;
    sr_status status = SR_OK;
    *done = true;
    if (dst->device != src->device) {
        SR_TRY(open_peer(src->device, dst->device, done, err));
    }
    SR_CUDA_TRY(cudaSetDevice, (s->base.device->index), err);
    if (dst->device == src->device) {
        SR_CUDA_TRY(cudaMemcpyAsync, (to, from, size, cudaMemcpyDeviceToDevice, s->stream), err);
    } else if (*done) {
        SR_CUDA_TRY(cudaMemcpyPeerAsync, (to, dst->device, from, src->device, size, s->stream), err);
    }
done:
    return status;
}
