/*
 * trace.h - a record of what was done when: copies, computes and waits, by the host and by each backend.
 *
 * Layer: backend (above graph).  Answers to nothing in the reference, whose users look at their devices' own profilers.
 * A backend and a scheduler that were given a trace tell it what they do; without one they take no times at all.
 *
 * Ownership: a trace copies every text it is told.  It outlives the backends and schedulers that write to it.
 * Thread rule: any number of threads may add; reading is for when nothing is being executed.
 */
#ifndef SCHED_RUN_TRACE_H
#define SCHED_RUN_TRACE_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sr_trace_kind {
    SR_TRACE_COPY,        /* bytes were moved */
    SR_TRACE_COMPUTE,     /* nodes were run */
    SR_TRACE_WAIT,        /* for a point in a queue: of an event, or of another backend's work */
    SR_TRACE_SYNCHRONIZE, /* the host waited until a backend had nothing left to do */
    SR_TRACE_SUBMIT,      /* the host handed work to a backend; encloses the work where it is done at once */
    SR_TRACE_SPLIT,       /* the host was occupied with a split; encloses its copies, waits and submissions */
    SR_TRACE_RUN,         /* an execution from its first split to the last wait; encloses all others of the host */
    SR_TRACE_KIND_COUNT
} sr_trace_kind;

SR_API const char *sr_trace_kind_name(int kind); /* "copy"; "" for none of them */

typedef struct sr_trace_event {
    sr_trace_kind kind;
    const char *track;    /* the backend whose time it was; NULL: the host's */
    const char *name;     /* the tensor copied, the backend waited for, the first node computed; or NULL */
    const char *from, *to; /* backends, of a copy; or NULL */
    uint64_t bytes;       /* of a copy */
    int32_t split;        /* -1: none */
    int32_t n_nodes;      /* of a compute or a submission */
    bool critical;        /* of an estimate: on its critical path */
    bool by_host;         /* on a backend's track, but done by the thread that asked for it */
    uint64_t begin, end;  /* nanoseconds of a clock that never goes back */
} sr_trace_event;

typedef struct sr_trace sr_trace;

SR_API sr_status sr_trace_new(sr_trace **out_trace, sr_error *err);
SR_API void sr_trace_free(sr_trace *trace);
SR_API uint64_t sr_trace_now(void);
/*
 * trace may be NULL: nothing happens.  A wait or a synchronization of less than a microsecond has waited for nothing
 * and is left out.  An event for which there is no memory is lost, and counted.
 */
SR_API void sr_trace_add(sr_trace *trace, const sr_trace_event *event);
/* A copy of the text that lives as long as the trace, for what will be told later; NULL for NULL, or without memory. */
SR_API const char *sr_trace_keep(sr_trace *trace, const char *text);
/* In the order in which they ended; valid until the next is added. */
SR_API const sr_trace_event *sr_trace_events(const sr_trace *trace, size_t *out_n);
SR_API size_t sr_trace_lost(const sr_trace *trace);
/* Forgets the events, not the texts. */
SR_API void sr_trace_clear(sr_trace *trace);

#ifdef __cplusplus
}
#endif
#endif
