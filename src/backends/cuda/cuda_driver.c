/*
 * cuda_driver.c - the driver "cuda": also in a build without CUDA, where it says so.
 *
 * Layer: backends.  Answers to ggml_backend_cuda_reg of the reference.
 */
#include "backends/drivers.h"

#ifdef SR_HAVE_CUDA

#include "backends/cuda/cuda.h"

/* Ops of smaller batches stay where their weights are. */
enum { OFFLOAD_MIN_BATCH = 32 };

static int driver_device_count(const char **out_why_none) { return sr__cuda_runtime.device_count(out_why_none); }

static sr_status driver_device_describe(int index, const char **out_description, size_t *out_free, size_t *out_total) {
    return sr__cuda_runtime.device_describe(index, out_description, out_free, out_total);
}

static sr_status driver_device_new(int index, const sr_backend_config *config, sr_buffer_type *buffer_type,
                                   sr_device **out_device, sr_error *err) {
    return sr__gpu_device_new(&sr__cuda_runtime, index, config, buffer_type, OFFLOAD_MIN_BATCH, out_device, err);
}

#else

#include "base/base.h"

static int driver_device_count(const char **out_why_none) {
    if (out_why_none) {
        *out_why_none = "it was built without CUDA";
    }
    return 0;
}

static sr_status driver_device_describe(int index, const char **out_description, size_t *out_free, size_t *out_total) {
    (void)index;
    *out_description = "";
    *out_free = *out_total = 0;
    return SR_UNAVAILABLE;
}

static sr_status driver_device_new(int index, const sr_backend_config *config, sr_buffer_type *buffer_type,
                                   sr_device **out_device, sr_error *err) {
    (void)index;
    (void)config;
    (void)buffer_type;
    (void)out_device;
    return sr__fail(err, SR_UNAVAILABLE, "this build has no CUDA");
}

#endif

const sr_driver sr__driver_cuda = {
    .name = "cuda",
    .summary = "NVIDIA GPUs through CUDA: memory and kernels of their own, cuBLAS",
    .device_count = driver_device_count,
    .device_describe = driver_device_describe,
    .device_new = driver_device_new,
};
