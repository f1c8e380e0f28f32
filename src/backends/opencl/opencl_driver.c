/*
 * opencl_driver.c - the driver "opencl": also in a build without OpenCL, where it says so.
 *
 * Layer: backends.  Answers to ggml_backend_opencl_reg of the reference.
 */
#include "backends/drivers.h"

#ifdef SR_HAVE_OPENCL

#include "backends/opencl/opencl.h"

static int opencl_device_count(const char **out_why_none) { return sr__ocl_runtime.device_count(out_why_none); }

static sr_status opencl_device_describe(int index, const char **out_description, size_t *out_free, size_t *out_total) {
    return sr__ocl_runtime.device_describe(index, out_description, out_free, out_total);
}

/* As the reference's, it never asks for ops whose weights are elsewhere. */
static sr_status opencl_device_new(int index, const sr_backend_config *config, sr_buffer_type *buffer_type,
                                   sr_device **out_device, sr_error *err) {
    return sr__gpu_device_new(&sr__ocl_runtime, index, config, buffer_type, -1, out_device, err);
}

#else

#include "base/base.h"

static int opencl_device_count(const char **out_why_none) {
    if (out_why_none) {
        *out_why_none = "it was built without OpenCL";
    }
    return 0;
}

static sr_status opencl_device_describe(int index, const char **out_description, size_t *out_free, size_t *out_total) {
    (void)index;
    *out_description = "";
    *out_free = *out_total = 0;
    return SR_UNAVAILABLE;
}

static sr_status opencl_device_new(int index, const sr_backend_config *config, sr_buffer_type *buffer_type,
                                   sr_device **out_device, sr_error *err) {
    (void)index;
    (void)config;
    (void)buffer_type;
    (void)out_device;
    return sr__fail(err, SR_UNAVAILABLE, "this build has no OpenCL");
}

#endif

const sr_driver sr__driver_opencl = {
    .name = "opencl",
    .summary = "GPUs and other devices through OpenCL: memory and kernels of their own",
    .device_count = opencl_device_count,
    .device_describe = opencl_device_describe,
    .device_new = opencl_device_new,
};
