/*
 * opencl_stream.c - queues, events, and kernels put into a queue.
 *
 * Layer: backends.
 */
#include "backends/opencl/opencl.h"

/* ---- streams ----------------------------------------------------------------------------------------------------- */

sr_status sr__ocl_stream_new(sr__gpu_device *device, sr__gpu_stream **out_stream, sr_error *err) {
    sr__ocl_entry *entry = ((sr__ocl_device *)device)->entry;
    cl_int code = CL_SUCCESS;
    sr__ocl_stream *s = sr__calloc(1, sizeof(*s));
    if (!s) {
        return sr__fail_memory(err);
    }
    s->base.device = device;
    s->entry = entry;
    s->queue = clCreateCommandQueue(entry->platform->context, entry->id, 0, &code);
    if (code != CL_SUCCESS) {
        sr__free(s);
        return sr__ocl_fail(err, entry->platform, "clCreateCommandQueue", code);
    }
    *out_stream = &s->base;
    return SR_OK;
}

void sr__ocl_stream_free(sr__gpu_stream *stream) {
    sr__ocl_stream *s = (sr__ocl_stream *)stream;
    clFinish(s->queue);
    sr__ocl_staged_sweep(s, true);
    for (int i = 0; i < SR_GPU_KERNEL_COUNT; i++) {
        if (s->kernels[i]) {
            clReleaseKernel(s->kernels[i]);
        }
    }
    clReleaseCommandQueue(s->queue);
    sr__free(s);
}

sr_status sr__ocl_stream_synchronize(sr__gpu_stream *stream, sr_error *err) {
    sr__ocl_stream *s = (sr__ocl_stream *)stream;
    const cl_int code = clFinish(s->queue);
    sr__ocl_staged_sweep(s, code == CL_SUCCESS);
    return code == CL_SUCCESS ? SR_OK : sr__ocl_fail(err, s->entry->platform, "clFinish", code);
}

sr_status sr__ocl_stream_flush(sr__gpu_stream *stream, sr_error *err) {
    sr__ocl_stream *s = (sr__ocl_stream *)stream;
    const cl_int code = clFlush(s->queue);
    return code == CL_SUCCESS ? SR_OK : sr__ocl_fail(err, s->entry->platform, "clFlush", code);
}

/* Times cost a little, and a queue keeps them or not from its beginning: another takes the place of this one. */
sr_status sr__ocl_stream_keep_times(sr__gpu_stream *stream, sr_error *err) {
    sr__ocl_stream *s = (sr__ocl_stream *)stream;
    cl_int code = CL_SUCCESS;
    cl_command_queue timed = clCreateCommandQueue(s->entry->platform->context, s->entry->id, CL_QUEUE_PROFILING_ENABLE,
                                                  &code);
    if (code != CL_SUCCESS) {
        return sr__ocl_fail(err, s->entry->platform, "clCreateCommandQueue", code);
    }
    const sr_status status = sr__ocl_stream_synchronize(stream, err);
    clReleaseCommandQueue(s->queue);
    s->queue = timed;
    return status;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static const char *const kernel_names[] = {
#define KERNEL_NAME(name) #name,
    SR_GPU_KERNELS(KERNEL_NAME)
#undef KERNEL_NAME
};

static sr_status fail_kernel(const sr__ocl_stream *s, sr__gpu_kernel which, const char *call, cl_int code,
                             sr_error *err) {
    const sr_status status = sr__ocl_fail(err, s->entry->platform, call, code);
    sr__error_prefix(err, "kernel '%s': ", kernel_names[which]);
    return status;
}

/* The stream's own kernel object: arguments are set on it, which only one thread may do at a time. */
static sr_status kernel_of(sr__ocl_stream *s, sr__gpu_kernel which, cl_kernel *out_kernel, sr_error *err) {
    if (!s->kernels[which]) {
        cl_program program;
        cl_int code = CL_SUCCESS;
        const sr_status status = sr__ocl_program(s->entry, &program, err);
        if (status != SR_OK) {
            return status;
        }
        s->kernels[which] = clCreateKernel(program, kernel_names[which], &code);
        if (code != CL_SUCCESS) {
            s->kernels[which] = NULL;
            return fail_kernel(s, which, "clCreateKernel", code, err);
        }
    }
    *out_kernel = s->kernels[which];
    return SR_OK;
}

sr_status sr__ocl_launch(sr__gpu_stream *stream, const sr__gpu_launch *launch, sr_error *err) {
    sr__ocl_stream *s = (sr__ocl_stream *)stream;
    cl_kernel kernel = NULL;
    sr_status status;
    size_t items[3];
    SR_TRY(kernel_of(s, launch->kernel, &kernel, err));
    for (int i = 0; i < launch->n_args; i++) {
        const sr__gpu_arg *arg = &launch->args[i];
        const cl_mem mem = arg->memory ? arg->memory->mem : NULL;
        const cl_int code = arg->size > 0 ? clSetKernelArg(kernel, (cl_uint)i, arg->size, arg->value)
                                          : clSetKernelArg(kernel, (cl_uint)i, sizeof(mem), arg->memory ? &mem : NULL);
        if (code != CL_SUCCESS) {
            return fail_kernel(s, launch->kernel, "clSetKernelArg", code, err);
        }
    }
    for (int d = 0; d < 3; d++) {
        if (!sr__mul_size(launch->groups[d], launch->group[d], &items[d])) {
            return sr__fail(err, SR_COMPUTE, "kernel '%s': too many work-items", kernel_names[launch->kernel]);
        }
    }
    const cl_int code = clEnqueueNDRangeKernel(s->queue, kernel, 3, NULL, items, launch->group, 0, NULL, NULL);
    if (code != CL_SUCCESS) {
        return fail_kernel(s, launch->kernel, "clEnqueueNDRangeKernel", code, err);
    }
done:
    return status;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

sr_status sr__ocl_event_new(sr__gpu_device *device, sr__gpu_event **out_event, sr_error *err) {
    sr__gpu_event *event = sr__calloc(1, sizeof(*event));
    if (!event) {
        return sr__fail_memory(err);
    }
    event->platform = ((sr__ocl_device *)device)->entry->platform;
    *out_event = event;
    return SR_OK;
}

void sr__ocl_event_free(sr__gpu_event *event) {
    if (event->reached) {
        clReleaseEvent(event->reached);
    }
    sr__free(event);
}

/* Flushed at once: another queue or the host may wait for it without knowing this one. */
sr_status sr__ocl_event_record(sr__gpu_event *event, sr__gpu_stream *stream, sr_error *err) {
    sr__ocl_stream *s = (sr__ocl_stream *)stream;
    cl_event reached = NULL;
    cl_int code = clEnqueueMarkerWithWaitList(s->queue, 0, NULL, &reached);
    if (code != CL_SUCCESS) {
        return sr__ocl_fail(err, s->entry->platform, "clEnqueueMarkerWithWaitList", code);
    }
    if (event->reached) {
        clReleaseEvent(event->reached);
    }
    event->reached = reached;
    event->platform = s->entry->platform;
    code = clFlush(s->queue);
    return code == CL_SUCCESS ? SR_OK : sr__ocl_fail(err, s->entry->platform, "clFlush", code);
}

sr_status sr__ocl_event_synchronize(sr__gpu_event *event, sr_error *err) {
    if (!event->reached) {
        return SR_OK;
    }
    const cl_int code = clWaitForEvents(1, &event->reached);
    return code == CL_SUCCESS ? SR_OK : sr__ocl_fail(err, event->platform, "clWaitForEvents", code);
}

sr_status sr__ocl_event_wait(sr__gpu_stream *stream, sr__gpu_event *event, sr_error *err) {
    sr__ocl_stream *s = (sr__ocl_stream *)stream;
    if (event->platform != s->entry->platform) {
        return sr__ocl_event_synchronize(event, err); /* an event of another context: the caller waits */
    }
    if (!event->reached) {
        return SR_OK;
    }
    const cl_int code = clEnqueueBarrierWithWaitList(s->queue, 1, &event->reached, NULL);
    return code == CL_SUCCESS ? SR_OK : sr__ocl_fail(err, s->entry->platform, "clEnqueueBarrierWithWaitList", code);
}

sr_status sr__ocl_event_time(sr__gpu_event *event, uint64_t *out_time, sr_error *err) {
    cl_ulong time = 0;
    const cl_int code = clGetEventProfilingInfo(event->reached, CL_PROFILING_COMMAND_END, sizeof(time), &time, NULL);
    *out_time = time;
    return code == CL_SUCCESS ? SR_OK : sr__ocl_fail(err, event->platform, "clGetEventProfilingInfo", code);
}
