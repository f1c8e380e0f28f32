/*
 * tracing.c - how backends tell a trace of what they do at once, on the thread that asked for it.
 *
 * Layer: backend.  Answers to nothing in the reference.
 */
#include "backend/tracing.h"

#include "backend/reach.h"

int32_t sr__trace_count(const sr_graph_view *view, const char **out_first) {
    int32_t n = 0;
    *out_first = "";
    for (int32_t i = 0; i < view->n_nodes; i++) {
        if (sr__node_works(view, view->nodes[i])) {
            *out_first = n == 0 ? sr_view_tensor(view, view->nodes[i])->name : *out_first;
            n++;
        }
    }
    return n;
}

void sr__trace_computed(const sr_backend *backend, const sr_graph_view *view, uint64_t begin) {
    if (!backend->trace) {
        return;
    }
    sr_trace_event event = {.kind = SR_TRACE_COMPUTE, .track = backend->name, .split = backend->subject.split,
                            .by_host = true, .begin = begin, .end = sr_trace_now()};
    event.n_nodes = sr__trace_count(view, &event.name);
    if (event.n_nodes > 0) {
        sr_trace_add(backend->trace, &event);
    }
}

void sr__trace_waited(const sr_backend *backend, uint64_t begin) {
    if (backend->trace) {
        const sr_trace_event event = {.kind = SR_TRACE_WAIT, .name = backend->name, .split = backend->subject.split,
                                      .begin = begin, .end = sr_trace_now()};
        sr_trace_add(backend->trace, &event);
    }
}
