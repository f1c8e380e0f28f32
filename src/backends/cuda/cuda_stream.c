/*
 * cuda_stream.c - streams, events, and kernels put into a stream.
 *
 * Layer: backends.  Answers to the streams and events of the reference's ggml-cuda.cu.
 */
#include <limits.h>

#include "backends/cuda/cuda.h"

/* ---- streams ----------------------------------------------------------------------------------------------------- */

sr_status sr__cuda_stream_new(sr__gpu_device *device, sr__gpu_stream **out_stream, sr_error *err) {
    sr_status status = SR_OK;
    sr__cuda_stream *s = sr__calloc(1, sizeof(*s));
    if (!s) {
        return sr__fail_memory(err);
    }
    s->base.device = device;
    SR_CUDA_TRY(cudaSetDevice, (device->index), err);
    SR_CUDA_TRY(cudaStreamCreateWithFlags, (&s->stream, cudaStreamNonBlocking), err);
    *out_stream = &s->base;
    return SR_OK;
done:
    sr__free(s);
    return status;
}

void sr__cuda_stream_free(sr__gpu_stream *stream) {
    sr__cuda_stream *s = sr__cuda_of(stream);
    (void)cudaSetDevice(stream->device->index);
    (void)cudaStreamSynchronize(s->stream);
    sr__cuda_blas_free(s->blas);
    sr__cuda_stages_free(s);
    (void)cudaStreamDestroy(s->stream);
    (void)cudaGetLastError();
    sr__free(s);
}

sr_status sr__cuda_stream_synchronize(sr__gpu_stream *stream, sr_error *err) {
    sr_status status = SR_OK;
    SR_CUDA_TRY(cudaStreamSynchronize, (sr__cuda_of(stream)->stream), err);
done:
    return status;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static const char *const kernel_names[] = {
#define KERNEL_NAME(name) #name,
    SR_GPU_KERNELS(KERNEL_NAME)
#undef KERNEL_NAME
};

sr_status sr__cuda_launch(sr__gpu_stream *stream, const sr__gpu_launch *launch, sr_error *err) {
    void *pointers[SR_GPU_MAX_ARGS] = {0};
    void *args[SR_GPU_MAX_ARGS];
    sr_status status = SR_OK;
    if (launch->groups[0] > INT_MAX || launch->groups[1] > 65535 || launch->groups[2] > 65535) {
        return sr__fail(err, SR_COMPUTE, "kernel '%s': too many groups", kernel_names[launch->kernel]);
    }
    for (int i = 0; i < launch->n_args; i++) {
        const sr__gpu_arg *arg = &launch->args[i];
        pointers[i] = arg->size == 0 && arg->memory ? arg->memory->data : NULL;
        args[i] = arg->size > 0 ? (void *)(uintptr_t)arg->value : (void *)&pointers[i];
    }
    const dim3 groups = {(unsigned)launch->groups[0], (unsigned)launch->groups[1], (unsigned)launch->groups[2]};
    const dim3 group = {(unsigned)launch->group[0], (unsigned)launch->group[1], (unsigned)launch->group[2]};
    SR_CUDA_TRY(cudaSetDevice, (stream->device->index), err);
    const cudaError_t code = cudaLaunchKernel(sr__cuda_kernels[launch->kernel], groups, group, args, 0,
                                              sr__cuda_of(stream)->stream);
    if (code != cudaSuccess) {
        status = sr__cuda_fail(err, "cudaLaunchKernel", code);
        sr__error_prefix(err, "kernel '%s': ", kernel_names[launch->kernel]);
    }
done:
    return status;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

sr_status sr__cuda_event_new(sr__gpu_device *device, sr__gpu_event **out_event, sr_error *err) {
    sr_status status = SR_OK;
    sr__gpu_event *event = sr__calloc(1, sizeof(*event));
    if (!event) {
        return sr__fail_memory(err);
    }
    event->device = (sr__cuda_device *)device;
    SR_CUDA_TRY(cudaSetDevice, (device->index), err);
    SR_CUDA_TRY(cudaEventCreate, (&event->event), err);
    *out_event = event;
    return SR_OK;
done:
    sr__free(event);
    return status;
}

void sr__cuda_event_free(sr__gpu_event *event) {
    (void)cudaEventDestroy(event->event);
    (void)cudaGetLastError();
    sr__free(event);
}

sr_status sr__cuda_event_record(sr__gpu_event *event, sr__gpu_stream *stream, sr_error *err) {
    sr_status status = SR_OK;
    SR_CUDA_TRY(cudaEventRecord, (event->event, sr__cuda_of(stream)->stream), err);
done:
    return status;
}

sr_status sr__cuda_event_synchronize(sr__gpu_event *event, sr_error *err) {
    sr_status status = SR_OK;
    SR_CUDA_TRY(cudaEventSynchronize, (event->event), err);
done:
    return status;
}

sr_status sr__cuda_event_wait(sr__gpu_stream *stream, sr__gpu_event *event, sr_error *err) {
    sr_status status = SR_OK;
    SR_CUDA_TRY(cudaSetDevice, (stream->device->index), err);
    SR_CUDA_TRY(cudaStreamWaitEvent, (sr__cuda_of(stream)->stream, event->event, 0), err);
done:
    return status;
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

/* Times count from one event of the device, so that those of its streams can be compared. */
sr_status sr__cuda_keep_times(sr__gpu_stream *stream, sr_error *err) {
    sr__cuda_device *device = (sr__cuda_device *)stream->device;
    sr_status status = SR_OK;
    if (device->epoch) {
        return SR_OK;
    }
    SR_CUDA_TRY(cudaSetDevice, (device->base.index), err);
    SR_CUDA_TRY(cudaEventCreate, (&device->epoch), err);
    SR_CUDA_TRY(cudaEventRecord, (device->epoch, sr__cuda_of(stream)->stream), err);
    SR_CUDA_TRY(cudaEventSynchronize, (device->epoch), err);
done:
    return status;
}

sr_status sr__cuda_event_time(sr__gpu_event *event, uint64_t *out_time, sr_error *err) {
    sr_status status = SR_OK;
    float ms = 0.0f;
    SR_CUDA_TRY(cudaEventElapsedTime, (&ms, event->device->epoch, event->event), err);
    *out_time = ms > 0.0f ? (uint64_t)((double)ms * 1e6) : 0;
done:
    return status;
}
