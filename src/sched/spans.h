/*
 * spans.h - what the host's thread tells the trace of an execution.
 *
 * Layer: sched.  Internal.
 */
#ifndef SR_SPANS_H
#define SR_SPANS_H

#include "sched/sched_internal.h"

static inline uint64_t sr__span_begin(const sr_sched *sched) { return sched->trace ? sr_trace_now() : 0; }

/* Since begin the host has been occupied with this. */
static inline void sr__span_end(const sr_sched *sched, uint64_t begin, sr_trace_kind kind, int split,
                                const char *name) {
    if (sched->trace) {
        const sr_trace_event event = {.kind = kind, .name = name, .split = split,
                                      .begin = begin, .end = sr_trace_now()};
        sr_trace_add(sched->trace, &event);
    }
}

#endif
