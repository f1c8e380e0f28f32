/*
 * events.c - events: points in a backend's queue that the host and other backends can wait for.
 *
 * Layer: backend.  Answers to ggml_backend_event_* of the reference.
 */
#include "base/base.h"
#include "sched_run/backend.h"

sr_status sr_event_new(sr_device *device, sr_event **out_event, sr_error *err) {
    *out_event = NULL;
    return device->iface->event_new ? device->iface->event_new(device, out_event, err) : SR_OK;
}

void sr_event_free(sr_event *event) {
    if (event) {
        event->device->iface->event_free(event);
    }
}

sr_status sr_event_record(sr_event *event, sr_backend *backend, sr_error *err) {
    if (!backend->iface->event_record) {
        return sr__fail(err, SR_INVALID, "backend '%s' cannot record events", backend->name);
    }
    return backend->iface->event_record(backend, event, err);
}

sr_status sr_event_synchronize(sr_event *event, sr_error *err) {
    return event->device->iface->event_synchronize(event, err);
}

/* A backend that cannot let its queue wait has the caller wait instead. */
sr_status sr_event_wait(sr_backend *backend, sr_event *event, sr_error *err) {
    return backend->iface->event_wait ? backend->iface->event_wait(backend, event, err)
                                      : sr_event_synchronize(event, err);
}
