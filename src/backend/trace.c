/*
 * trace.c - a record of what was done when.
 *
 * Layer: backend.  Answers to nothing in the reference.  Events repeat the same few names, so texts are kept once, in
 * an arena with a table; one lock guards everything, held for moments.
 */
#include "sched_run/trace.h"

#include <pthread.h>
#include <time.h>

#include "base/base.h"

enum { SHORTEST_WAIT = 1000 }; /* nanoseconds */

struct sr_trace {
    pthread_mutex_t lock;
    sr__arena arena;
    sr__map texts;       /* text: its place in kept */
    const char **kept;
    size_t n_kept, kept_cap;
    sr_trace_event *events;
    size_t n_events, events_cap;
    size_t n_lost;
};

const char *sr_trace_kind_name(int kind) {
    static const char *const names[SR_TRACE_KIND_COUNT] = {"copy",   "compute", "wait", "synchronize",
                                                           "submit", "split",   "run"};
    return kind >= 0 && kind < SR_TRACE_KIND_COUNT ? names[kind] : "";
}

uint64_t sr_trace_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

sr_status sr_trace_new(sr_trace **out_trace, sr_error *err) {
    *out_trace = NULL;
    sr_trace *trace = sr__calloc(1, sizeof(*trace));
    if (!trace) {
        return sr__fail_memory(err);
    }
    if (pthread_mutex_init(&trace->lock, NULL) != 0) {
        sr__free(trace);
        return sr__fail_memory(err);
    }
    sr__arena_init(&trace->arena, 0);
    *out_trace = trace;
    return SR_OK;
}

void sr_trace_free(sr_trace *trace) {
    if (!trace) {
        return;
    }
    pthread_mutex_destroy(&trace->lock);
    sr__map_free(&trace->texts);
    sr__arena_free(&trace->arena);
    sr__free(trace->kept);
    sr__free(trace->events);
    sr__free(trace);
}

/* The lock is held. */
static const char *keep(sr_trace *trace, const char *text) {
    if (!text) {
        return NULL;
    }
    const int32_t place = sr__map_get(&trace->texts, text, -1);
    if (place >= 0) {
        return trace->kept[place];
    }
    const char *own = sr__arena_strdup(&trace->arena, text);
    if (!own || !sr__grow(&trace->kept, &trace->kept_cap, trace->n_kept + 1, sizeof(*trace->kept)) ||
        !sr__map_put(&trace->texts, own, (int32_t)trace->n_kept)) {
        return NULL;
    }
    trace->kept[trace->n_kept++] = own;
    return own;
}

const char *sr_trace_keep(sr_trace *trace, const char *text) {
    if (!trace || !text) {
        return NULL;
    }
    pthread_mutex_lock(&trace->lock);
    const char *own = keep(trace, text);
    pthread_mutex_unlock(&trace->lock);
    return own;
}

/* false: some text of it could not be kept. */
static bool keep_texts(sr_trace *trace, sr_trace_event *event) {
    const char **texts[] = {&event->track, &event->name, &event->from, &event->to};
    for (int i = 0; i < SR_COUNT(texts); i++) {
        const char *given = *texts[i];
        *texts[i] = keep(trace, given);
        if (given && !*texts[i]) {
            return false;
        }
    }
    return true;
}

static bool waited_for_nothing(const sr_trace_event *event) {
    return (event->kind == SR_TRACE_WAIT || event->kind == SR_TRACE_SYNCHRONIZE) &&
           event->end - event->begin < SHORTEST_WAIT;
}

void sr_trace_add(sr_trace *trace, const sr_trace_event *event) {
    if (!trace || waited_for_nothing(event)) {
        return;
    }
    sr_trace_event own = *event;
    pthread_mutex_lock(&trace->lock);
    if (keep_texts(trace, &own) &&
        sr__grow(&trace->events, &trace->events_cap, trace->n_events + 1, sizeof(*trace->events))) {
        trace->events[trace->n_events++] = own;
    } else {
        trace->n_lost++;
    }
    pthread_mutex_unlock(&trace->lock);
}

const sr_trace_event *sr_trace_events(const sr_trace *trace, size_t *out_n) {
    *out_n = trace->n_events;
    return trace->events;
}

size_t sr_trace_lost(const sr_trace *trace) { return trace->n_lost; }

void sr_trace_clear(sr_trace *trace) {
    trace->n_events = 0;
    trace->n_lost = 0;
}
