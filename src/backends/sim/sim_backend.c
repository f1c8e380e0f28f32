/*
 * sim_backend.c - the backend of a simulated device: with a queue, or doing everything at once.
 *
 * Layer: backends.  Answers to the backend half of any device backend of the reference.
 */
#include "backends/sim/sim.h"

static void sim_backend_free(sr_backend *backend) {
    sr__sim_backend *sim = backend->context;
    sr__sim_queue_drain(sim->queue, NULL); /* what is queued uses the pool; the queue itself goes with its device */
    sr__pool_free(sim->pool);
    sr__free(sim->places.place);
    sr__free(sim);
}

static void sim_set_threads(sr_backend *backend, int n_threads) {
    atomic_store(&((sr__sim_backend *)backend->context)->n_threads, n_threads);
}

static sr_status sim_synchronize(sr_backend *backend, sr_error *err) {
    return sr__sim_queue_drain(((sr__sim_backend *)backend->context)->queue, err);
}

static const sr_backend_i queued_i = {
    .free = sim_backend_free,
    .set_threads = sim_set_threads,
    .synchronize = sim_synchronize,
    .set_async = sr__sim_set_async,
    .get_async = sr__sim_get_async,
    .copy_async = sr__sim_copy_async,
    .compute = sr__sim_compute_queued,
    .event_record = sr__sim_event_record,
    .event_wait = sr__sim_event_wait,
};

/* It still synchronizes: another backend may queue work on the same memory. */
static const sr_backend_i at_once_i = {
    .free = sim_backend_free,
    .set_threads = sim_set_threads,
    .synchronize = sim_synchronize,
    .compute = sr__sim_compute_now,
    .event_record = sr__sim_event_record,
    .event_wait = sr__sim_event_wait,
};

sr__sim_backend *sr__sim_of_backend(const sr_backend *backend) {
    return backend->iface == &queued_i || backend->iface == &at_once_i ? backend->context : NULL;
}

void sr__sim_tell(sr__sim_command *command, const sr_backend *backend, sr_trace_kind kind, uint64_t bytes) {
    sr_trace *trace = backend->trace;
    const sr_trace_subject *subject = &backend->subject;
    command->trace = trace;
    if (trace) {
        command->told = (sr_trace_event){.kind = kind,
                                         .track = sr_trace_keep(trace, backend->name),
                                         .name = sr_trace_keep(trace, subject->name),
                                         .bytes = bytes,
                                         .split = subject->split};
        if (kind == SR_TRACE_COPY) {
            command->told.from = sr_trace_keep(trace, subject->from);
            command->told.to = sr_trace_keep(trace, subject->to);
        }
    }
}

sr_status sr__sim_init_backend(sr_device *device, sr_backend *backend, sr_error *err) {
    sr__sim_device *own = device->context;
    sr__sim_device *owner = sr__sim_of_type(backend->buffer_type);
    sr__sim_backend *sim = sr__calloc(1, sizeof(*sim));
    if (!sim) {
        return sr__fail_memory(err);
    }
    sim->sim = own;
    sim->queue = owner ? &owner->queue : &own->queue;
    sim->at_once = !own->config->async || !owner;
    atomic_init(&sim->n_threads, 1);
    backend->iface = sim->at_once ? &at_once_i : &queued_i;
    backend->context = sim;
    return SR_OK;
}
