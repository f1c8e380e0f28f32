/*
 * opencl_device.c - opening a device, and the table that drives it.
 *
 * Layer: backends.  Answers to the device half of ggml-opencl.cpp of the reference.
 */
#include "backends/opencl/opencl.h"

static int ocl_device_count(const char **out_why_none) { return sr__ocl_count(out_why_none); }

/* ---- memory in use ----------------------------------------------------------------------------------------------- */

static void entry_memory(sr__ocl_entry *entry, size_t *out_free, size_t *out_total) {
    pthread_mutex_lock(&sr__ocl_lock);
    *out_total = entry->total_memory;
    *out_free = entry->total_memory > entry->used ? entry->total_memory - entry->used : 0;
    pthread_mutex_unlock(&sr__ocl_lock);
}

static sr_status ocl_device_describe(int index, const char **out_description, size_t *out_free, size_t *out_total) {
    sr__ocl_entry *entry = sr__ocl_entry_get(index);
    if (!entry) {
        return SR_UNAVAILABLE;
    }
    *out_description = entry->description;
    entry_memory(entry, out_free, out_total);
    return SR_OK;
}

static void ocl_device_memory(sr__gpu_device *device, size_t *out_free, size_t *out_total) {
    entry_memory(((sr__ocl_device *)device)->entry, out_free, out_total);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* OpenCL gives the alignment of sub-buffers in bits; offsets here must be whole powers of two of bytes. */
static sr_status read_limits(sr__ocl_device *d, sr_error *err) {
    const cl_device_id id = d->entry->id;
    cl_uint bits = 0;
    cl_ulong max_buffer = 0, local = 0;
    cl_bool unified = CL_FALSE;
    size_t group = 0;
    const struct { cl_device_info what; void *to; size_t size; } questions[] = {
        {CL_DEVICE_MEM_BASE_ADDR_ALIGN, &bits, sizeof(bits)},
        {CL_DEVICE_MAX_MEM_ALLOC_SIZE, &max_buffer, sizeof(max_buffer)},
        {CL_DEVICE_LOCAL_MEM_SIZE, &local, sizeof(local)},
        {CL_DEVICE_HOST_UNIFIED_MEMORY, &unified, sizeof(unified)},
        {CL_DEVICE_MAX_WORK_GROUP_SIZE, &group, sizeof(group)},
    };
    for (int i = 0; i < SR_COUNT(questions); i++) {
        const cl_int code = clGetDeviceInfo(id, questions[i].what, questions[i].size, questions[i].to, NULL);
        if (code != CL_SUCCESS) {
            return sr__ocl_fail(err, d->entry->platform, "clGetDeviceInfo", code);
        }
    }
    size_t alignment = 32;
    while (alignment < bits / 8 && alignment < 4096) {
        alignment *= 2;
    }
    d->base.alignment = alignment;
    d->base.max_buffer = (size_t)max_buffer;
    d->base.total_memory = d->entry->total_memory;
    d->base.local_memory = (size_t)local;
    d->base.max_group = group;
    d->base.unified = unified != CL_FALSE;
    return SR_OK;
}

static sr_status ocl_device_open(int index, sr__gpu_device **out_device, sr_error *err) {
    sr__ocl_entry *entry = sr__ocl_entry_get(index);
    if (!entry) {
        return sr__fail(err, SR_UNAVAILABLE, "there is no OpenCL device %d", index);
    }
    sr__ocl_device *d = sr__calloc(1, sizeof(*d));
    if (!d) {
        return sr__fail_memory(err);
    }
    sr_status status;
    d->base = (sr__gpu_device){.runtime = &sr__ocl_runtime, .index = index, .description = entry->description};
    d->entry = entry;
    SR_TRY(read_limits(d, err));
    SR_TRY(sr__ocl_platform_open(entry->platform, err));
    *out_device = &d->base;
    return SR_OK;
done:
    sr__free(d);
    return status;
}

static void ocl_device_close(sr__gpu_device *device) { sr__free(device); }

const sr__gpu_runtime sr__ocl_runtime = {
    .name = "opencl",
    .device_count = ocl_device_count,
    .device_describe = ocl_device_describe,
    .device_open = ocl_device_open,
    .device_close = ocl_device_close,
    .device_memory = ocl_device_memory,
    .memory_new = sr__ocl_memory_new,
    .memory_free = sr__ocl_memory_free,
    .stream_new = sr__ocl_stream_new,
    .stream_free = sr__ocl_stream_free,
    .stream_synchronize = sr__ocl_stream_synchronize,
    .stream_flush = sr__ocl_stream_flush,
    .write = sr__ocl_write,
    .read = sr__ocl_read,
    .fill = sr__ocl_fill,
    .copy = sr__ocl_copy,
    .launch = sr__ocl_launch,
    .event_new = sr__ocl_event_new,
    .event_free = sr__ocl_event_free,
    .event_record = sr__ocl_event_record,
    .event_synchronize = sr__ocl_event_synchronize,
    .event_wait = sr__ocl_event_wait,
    .stream_keep_times = sr__ocl_stream_keep_times,
    .event_time = sr__ocl_event_time,
};
