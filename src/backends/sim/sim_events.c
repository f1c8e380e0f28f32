/*
 * sim_events.c - events of a simulated device.
 *
 * Layer: backends.  Answers to the events of the reference's device backends.  An event stands for the point where it
 * was recorded last; before that, waiting for it waits for nothing.
 */
#include "backends/sim/sim.h"

typedef struct sim_event {
    sr_event event;
    pthread_mutex_t lock;
    sr__sim_point *last; /* NULL: never recorded */
} sim_event;

sr_status sr__sim_event_new(sr_device *device, sr_event **out_event, sr_error *err) {
    sim_event *e = sr__calloc(1, sizeof(*e));
    if (!e) {
        return sr__fail_memory(err);
    }
    if (pthread_mutex_init(&e->lock, NULL) != 0) {
        sr__free(e);
        return sr__fail_memory(err);
    }
    e->event = (sr_event){.device = device, .context = e};
    *out_event = &e->event;
    return SR_OK;
}

void sr__sim_event_free(sr_event *event) {
    sim_event *e = event->context;
    sr__sim_point_unref(e->last);
    pthread_mutex_destroy(&e->lock);
    sr__free(e);
}

/* The point it stands for, with a reference for the caller; NULL: none. */
static sr__sim_point *last_point(sim_event *e) {
    pthread_mutex_lock(&e->lock);
    sr__sim_point *point = e->last ? sr__sim_point_ref(e->last) : NULL;
    pthread_mutex_unlock(&e->lock);
    return point;
}

sr_status sr__sim_event_synchronize(sr_event *event, sr_error *err) {
    (void)err;
    sr__sim_point *point = last_point(event->context);
    if (point) {
        sr__sim_point_wait(point);
        sr__sim_point_unref(point);
    }
    return SR_OK;
}

static bool is_sim_event(const sr_event *event) {
    return event->device->iface->event_synchronize == sr__sim_event_synchronize;
}

sr_status sr__sim_event_record(sr_backend *backend, sr_event *event, sr_error *err) {
    sr__sim_backend *sim = sr__sim_of_backend(backend);
    if (!is_sim_event(event)) {
        return sr__fail(err, SR_INVALID, "backend '%s' cannot record an event of device '%s'", backend->name,
                        event->device->name);
    }
    sr__sim_point *point = sr__sim_point_new(0);
    sr__sim_command *signal = point && !sim->at_once ? sr__sim_signal_new(point) : NULL;
    sr_status status = SR_OK;
    if (!point || (!sim->at_once && !signal)) {
        SR_TRY(sr__fail_memory(err));
    }
    if (sim->at_once) {
        sr__sim_point_reach(point, NULL);
    } else {
        SR_TRY(sr__sim_queue_ready(sim->queue, err));
        sr__sim_queue_push(sim->queue, signal);
        signal = NULL;
    }
    sim_event *e = event->context;
    pthread_mutex_lock(&e->lock);
    sr__sim_point *before = e->last;
    e->last = point;
    pthread_mutex_unlock(&e->lock);
    point = before;
done:
    sr__sim_command_free(signal);
    sr__sim_point_unref(point);
    return status;
}

sr_status sr__sim_event_wait(sr_backend *backend, sr_event *event, sr_error *err) {
    sr__sim_backend *sim = sr__sim_of_backend(backend);
    if (!is_sim_event(event) || sim->at_once) {
        return sr_event_synchronize(event, err); /* no queue that could wait: the caller does */
    }
    sr__sim_point *point = last_point(event->context);
    if (!point) {
        return SR_OK;
    }
    sr__sim_command *wait = sr__sim_wait_new(point);
    if (wait) {
        sr__sim_tell(wait, backend, SR_TRACE_WAIT, 0);
    }
    sr_status status = wait ? sr__sim_queue_ready(sim->queue, err) : sr__fail_memory(err);
    if (status == SR_OK) {
        sr__sim_queue_push(sim->queue, wait);
    } else {
        sr__sim_command_free(wait);
    }
    sr__sim_point_unref(point);
    return status;
}
