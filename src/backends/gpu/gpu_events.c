/*
 * gpu_events.c - events of a device: places in the queue of a backend.
 *
 * Layer: backends.  Answers to the events of the reference's GPU backends.
 */
#include "backends/gpu/gpu_device.h"

typedef struct gpu_event {
    sr_event event;
    sr__gpu_event *place;
} gpu_event;

sr_status sr__gpu_event_new(sr_device *device, sr_event **out_event, sr_error *err) {
    const sr__gpu_own *own = device->context;
    gpu_event *e = sr__calloc(1, sizeof(*e));
    if (!e) {
        return sr__fail_memory(err);
    }
    const sr_status status = own->gpu->runtime->event_new(own->gpu, &e->place, err);
    if (status != SR_OK) {
        sr__free(e);
        return status;
    }
    e->event = (sr_event){.device = device, .context = e};
    *out_event = &e->event;
    return SR_OK;
}

/* The language's table behind an event, or NULL for an event of another kind of device. */
static const sr__gpu_runtime *runtime_of(const sr_event *event) {
    return event->device->iface->event_synchronize == sr__gpu_event_synchronize
               ? ((const sr__gpu_own *)event->device->context)->gpu->runtime
               : NULL;
}

void sr__gpu_event_free(sr_event *event) {
    gpu_event *e = event->context;
    runtime_of(event)->event_free(e->place);
    sr__free(e);
}

sr_status sr__gpu_event_synchronize(sr_event *event, sr_error *err) {
    return runtime_of(event)->event_synchronize(((gpu_event *)event->context)->place, err);
}

sr_status sr__gpu_event_record(sr_backend *backend, sr_event *event, sr_error *err) {
    const sr__gpu_backend *gpu = sr__gpu_of_backend(backend);
    const sr__gpu_runtime *runtime = gpu->stream->device->runtime;
    if (runtime_of(event) != runtime) {
        return sr__fail(err, SR_INVALID, "backend '%s' cannot record an event of device '%s'", backend->name,
                        event->device->name);
    }
    return runtime->event_record(((gpu_event *)event->context)->place, gpu->stream, err);
}

sr_status sr__gpu_event_wait(sr_backend *backend, sr_event *event, sr_error *err) {
    const sr__gpu_backend *gpu = sr__gpu_of_backend(backend);
    const sr__gpu_runtime *runtime = gpu->stream->device->runtime;
    if (runtime_of(event) != runtime) {
        return sr_event_synchronize(event, err); /* the queue knows no such event: the caller waits */
    }
    const sr__gpu_begun begun = sr__gpu_trace_begin(backend);
    const sr_status status = runtime->event_wait(gpu->stream, ((gpu_event *)event->context)->place, err);
    sr__gpu_trace_end(backend, begun, (sr_trace_event){.kind = SR_TRACE_WAIT});
    return status;
}
