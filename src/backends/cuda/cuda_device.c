/*
 * cuda_device.c - the devices of this machine, opening one, and the table that drives it.
 *
 * Layer: backends.  Answers to the device half of ggml-cuda.cu of the reference.
 */
#include <pthread.h>

#include "backends/cuda/cuda.h"

/* What was found stays for the life of the process, as the driver itself does. */
static struct {
    pthread_once_t once;
    int n;
    const char *why_none;
    struct cudaDeviceProp *properties;
} found = {.once = PTHREAD_ONCE_INIT};

static void look(void) {
    int n = 0;
    cudaError_t code = cudaGetDeviceCount(&n);
    if (code == cudaSuccess && n > 0) {
        found.properties = sr__calloc((size_t)n, sizeof(*found.properties));
        code = found.properties ? cudaSuccess : cudaErrorMemoryAllocation;
        for (int i = 0; i < n && code == cudaSuccess; i++) {
            code = cudaGetDeviceProperties(&found.properties[i], i);
        }
    }
    found.n = code == cudaSuccess ? n : 0;
    found.why_none = code == cudaSuccess ? "the driver lists none" : cudaGetErrorString(code);
    (void)cudaGetLastError();
}

static int cuda_device_count(const char **out_why_none) {
    (void)pthread_once(&found.once, look);
    if (found.n == 0 && out_why_none) {
        *out_why_none = found.why_none;
    }
    return found.n;
}

static const struct cudaDeviceProp *properties_of(int index) {
    return index >= 0 && index < cuda_device_count(NULL) ? &found.properties[index] : NULL;
}

static void read_memory(int index, size_t *out_free, size_t *out_total) {
    if (cudaSetDevice(index) != cudaSuccess || cudaMemGetInfo(out_free, out_total) != cudaSuccess) {
        (void)cudaGetLastError();
        *out_free = 0;
        *out_total = found.properties[index].totalGlobalMem;
    }
}

static sr_status cuda_device_describe(int index, const char **out_description, size_t *out_free, size_t *out_total) {
    const struct cudaDeviceProp *p = properties_of(index);
    if (!p) {
        return SR_UNAVAILABLE;
    }
    *out_description = p->name;
    read_memory(index, out_free, out_total);
    return SR_OK;
}

static void cuda_device_memory(sr__gpu_device *device, size_t *out_free, size_t *out_total) {
    read_memory(device->index, out_free, out_total);
}

/* Do the kernels run on it?  They are compiled for some architectures, and as PTX for those that come after. */
static sr_status check_kernels(int index, sr_error *err) {
    struct cudaFuncAttributes attributes;
    sr_status status = SR_OK;
    SR_CUDA_TRY(cudaSetDevice, (index), err);
    SR_CUDA_TRY(cudaFuncGetAttributes, (&attributes, sr__cuda_kernels[0]), err);
done:
    return status;
}

static sr_status cuda_device_open(int index, sr__gpu_device **out_device, sr_error *err) {
    const char *why = "";
    const int n = cuda_device_count(&why);
    const struct cudaDeviceProp *p = properties_of(index);
    if (!p) {
        return n > 0 ? sr__fail(err, SR_UNAVAILABLE, "there is no CUDA device %d", index)
                     : sr__fail(err, SR_UNAVAILABLE, "no CUDA device: %s", why);
    }
    const sr_status status = check_kernels(index, err);
    if (status != SR_OK) {
        return status;
    }
    sr__cuda_device *d = sr__calloc(1, sizeof(*d));
    if (!d) {
        return sr__fail_memory(err);
    }
    d->base = (sr__gpu_device){
        .runtime = &sr__cuda_runtime, .index = index, .description = p->name, .alignment = 128,
        .max_buffer = p->totalGlobalMem, .total_memory = p->totalGlobalMem, .local_memory = p->sharedMemPerBlock,
        .max_group = (size_t)p->maxThreadsPerBlock, .unified = p->integrated != 0,
    };
    *out_device = &d->base;
    return SR_OK;
}

static void cuda_device_close(sr__gpu_device *device) {
    sr__cuda_device *d = (sr__cuda_device *)device;
    if (d->epoch) {
        (void)cudaEventDestroy(d->epoch);
        (void)cudaGetLastError();
    }
    sr__free(d);
}

const sr__gpu_runtime sr__cuda_runtime = {
    .name = "cuda",
    .device_count = cuda_device_count,
    .device_describe = cuda_device_describe,
    .device_open = cuda_device_open,
    .device_close = cuda_device_close,
    .device_memory = cuda_device_memory,
    .memory_new = sr__cuda_memory_new,
    .memory_free = sr__cuda_memory_free,
    .host_memory_new = sr__cuda_host_memory_new,
    .host_memory_free = sr__cuda_host_memory_free,
    .stream_new = sr__cuda_stream_new,
    .stream_free = sr__cuda_stream_free,
    .stream_synchronize = sr__cuda_stream_synchronize,
    .write = sr__cuda_write,
    .read = sr__cuda_read,
    .fill = sr__cuda_fill,
    .copy = sr__cuda_copy,
    .launch = sr__cuda_launch,
    .event_new = sr__cuda_event_new,
    .event_free = sr__cuda_event_free,
    .event_record = sr__cuda_event_record,
    .event_synchronize = sr__cuda_event_synchronize,
    .event_wait = sr__cuda_event_wait,
    .stream_keep_times = sr__cuda_keep_times,
    .event_time = sr__cuda_event_time,
    .multiply = sr__cuda_multiply,
};
