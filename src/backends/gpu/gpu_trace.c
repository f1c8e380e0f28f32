/*
 * gpu_trace.c - tells a trace when the device did what, by the device's own clock.
 *
 * Layer: backends.  Answers to nothing in the reference, whose users look at their vendors' profilers.  Places in the
 * stream before and after each piece of work are kept until the stream is synchronized; their times are told then.
 */
#include "backend/tracing.h"
#include "backends/gpu/gpu_device.h"

/* A piece of work that was queued: its texts are kept by the trace. */
struct sr__gpu_told {
    sr__gpu_event *begin, *end;
    sr_trace_event event;
};

static const sr__gpu_runtime *runtime_of(const sr__gpu_backend *gpu) { return gpu->stream->device->runtime; }

/* An event of the pool, or a new one; NULL: there is no memory for it. */
static sr__gpu_event *take(sr__gpu_backend *gpu) {
    sr__gpu_event *event = NULL;
    if (gpu->trace.n_spare > 0) {
        return gpu->trace.spare[--gpu->trace.n_spare];
    }
    return runtime_of(gpu)->event_new(gpu->own->gpu, &event, NULL) == SR_OK ? event : NULL;
}

static void give_back(sr__gpu_backend *gpu, sr__gpu_event *event) {
    sr__gpu_trace *t = &gpu->trace;
    if (!event) {
        return;
    }
    if (sr__grow(&t->spare, &t->spare_cap, t->n_spare + 1, sizeof(*t->spare))) {
        t->spare[t->n_spare++] = event;
    } else {
        runtime_of(gpu)->event_free(event);
    }
}

static sr__gpu_event *mark(sr__gpu_backend *gpu) {
    sr__gpu_event *event = take(gpu);
    if (event && runtime_of(gpu)->event_record(event, gpu->stream, NULL) != SR_OK) {
        give_back(gpu, event);
        event = NULL;
    }
    return event;
}

/* Has the stream keep times, and finds what lies between the device's clock and the host's. */
static bool ready(sr__gpu_backend *gpu) {
    const sr__gpu_runtime *runtime = runtime_of(gpu);
    uint64_t device_now = 0;
    if (gpu->trace.timed) {
        return true;
    }
    if (!runtime->event_time || runtime->stream_keep_times(gpu->stream, NULL) != SR_OK) {
        return false;
    }
    sr__gpu_event *event = mark(gpu);
    if (event && runtime->event_synchronize(event, NULL) == SR_OK) {
        const uint64_t host_now = sr_trace_now();
        if (runtime->event_time(event, &device_now, NULL) == SR_OK) {
            gpu->trace.offset = host_now - device_now; /* may wrap around: added again below */
            gpu->trace.timed = true;
        }
    }
    give_back(gpu, event);
    return gpu->trace.timed;
}

sr__gpu_begun sr__gpu_trace_begin(const sr_backend *backend) {
    sr__gpu_begun begun = {0};
    if (backend->trace) {
        begun.host = sr_trace_now();
        begun.place = ready(backend->context) ? mark(backend->context) : NULL;
    }
    return begun;
}

/* Without places in the stream, the time that the host took to queue it stands for the device's. */
static void tell_host(const sr_backend *backend, sr_trace_event *event, uint64_t begin) {
    event->by_host = true;
    event->begin = begin;
    event->end = sr_trace_now();
    sr_trace_add(backend->trace, event);
}

void sr__gpu_trace_end(const sr_backend *backend, sr__gpu_begun begun, sr_trace_event event) {
    sr__gpu_backend *gpu = backend->context;
    sr__gpu_trace *t = &gpu->trace;
    sr_trace *trace = backend->trace;
    if (!trace) {
        return;
    }
    event.track = sr_trace_keep(trace, backend->name);
    event.split = backend->subject.split;
    event.name = sr_trace_keep(trace, event.name ? event.name : backend->subject.name);
    if (event.kind == SR_TRACE_COPY) {
        event.from = sr_trace_keep(trace, backend->subject.from);
        event.to = sr_trace_keep(trace, backend->subject.to);
    }
    sr__gpu_event *end = begun.place ? mark(gpu) : NULL;
    if (end && sr__grow(&t->told, &t->told_cap, t->n_told + 1, sizeof(*t->told))) {
        t->told[t->n_told++] = (sr__gpu_told){.begin = begun.place, .end = end, .event = event};
        return;
    }
    give_back(gpu, begun.place);
    give_back(gpu, end);
    tell_host(backend, &event, begun.host);
}

void sr__gpu_trace_compute(const sr_backend *backend, const sr_graph_view *view, sr__gpu_begun begun) {
    sr_trace_event event = {.kind = SR_TRACE_COMPUTE};
    if (backend->trace) {
        event.n_nodes = sr__trace_count(view, &event.name);
        sr__gpu_trace_end(backend, begun, event);
    }
}

void sr__gpu_trace_tell(const sr_backend *backend) {
    sr__gpu_backend *gpu = backend->context;
    sr__gpu_trace *t = &gpu->trace;
    const sr__gpu_runtime *runtime = runtime_of(gpu);
    for (size_t i = 0; i < t->n_told; i++) {
        sr__gpu_told *told = &t->told[i];
        uint64_t begin, end;
        if (backend->trace && runtime->event_time(told->begin, &begin, NULL) == SR_OK &&
            runtime->event_time(told->end, &end, NULL) == SR_OK) {
            told->event.begin = begin + t->offset;
            told->event.end = (end > begin ? end : begin) + t->offset;
            sr_trace_add(backend->trace, &told->event);
        }
        give_back(gpu, told->begin);
        give_back(gpu, told->end);
    }
    t->n_told = 0;
}

void sr__gpu_trace_free(sr__gpu_backend *gpu) {
    sr__gpu_trace *t = &gpu->trace;
    for (size_t i = 0; i < t->n_told; i++) {
        runtime_of(gpu)->event_free(t->told[i].begin);
        runtime_of(gpu)->event_free(t->told[i].end);
    }
    for (size_t i = 0; i < t->n_spare; i++) {
        runtime_of(gpu)->event_free(t->spare[i]);
    }
    sr__free(t->told);
    sr__free(t->spare);
}
