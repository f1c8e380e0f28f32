/*
 * trace_summary.c - where the time of an execution went: computing, copying, waiting, by backend and on the host.
 *
 * Layer: analyze.  Answers to nothing in the reference.
 */
#include "base/base.h"
#include "sched_run/analyze.h"

/* The last execution: events end before it does, so it stands behind all of them. */
static const sr_trace_event *find_run(const sr_trace_event *events, size_t n) {
    while (n > 0 && events[n - 1].kind != SR_TRACE_RUN) {
        n--;
    }
    return n > 0 ? &events[n - 1] : NULL;
}

static sr_trace_row *row_of(sr_trace_summary *s, const char *track) {
    for (int i = 0; i < s->n_rows - 1 && track; i++) {
        if (strcmp(s->rows[i].track, track) == 0) {
            return &s->rows[i];
        }
    }
    return &s->rows[s->n_rows - 1];
}

static void count(sr_trace_row *row, const sr_trace_event *event) {
    const uint64_t time = event->end - event->begin;
    switch (event->kind) {
    case SR_TRACE_COMPUTE:
        row->computing += time;
        row->n_computes++;
        break;
    case SR_TRACE_COPY:
        row->copying += time;
        row->n_copies++;
        row->bytes += event->bytes;
        break;
    case SR_TRACE_WAIT:
    case SR_TRACE_SYNCHRONIZE: row->waiting += time; break;
    default: break;
    }
}

sr_status sr_trace_summarize(const sr_trace *trace, sr_backend *const *backends, int n_backends,
                             sr_trace_summary *out_summary, sr_error *err) {
    size_t n = 0;
    const sr_trace_event *events = sr_trace_events(trace, &n);
    const sr_trace_event *run = find_run(events, n);
    *out_summary = (sr_trace_summary){0};
    if (!run) {
        return SR_OK;
    }
    out_summary->rows = sr__calloc((size_t)n_backends + 1, sizeof(*out_summary->rows));
    if (!out_summary->rows) {
        return sr__fail_memory(err);
    }
    out_summary->wall = run->end - run->begin;
    out_summary->n_rows = n_backends + 1;
    for (int b = 0; b < n_backends; b++) {
        out_summary->rows[b].track = backends[b]->name;
    }
    for (const sr_trace_event *e = run; e > events && e[-1].kind != SR_TRACE_RUN; e--) {
        const sr_trace_event *event = &e[-1];
        if (event->begin < run->begin) {
            continue; /* of an execution that nobody waited for */
        }
        count(row_of(out_summary, event->track), event);
        if (event->by_host) {
            count(row_of(out_summary, NULL), event);
        }
    }
    return SR_OK;
}

void sr_trace_summary_clear(sr_trace_summary *summary) {
    sr__free(summary->rows);
    *summary = (sr_trace_summary){0};
}
