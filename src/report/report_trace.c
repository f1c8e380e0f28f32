/*
 * report_trace.c - a trace as Chrome trace JSON: complete events on a track for the host and one for each backend.
 *
 * Layer: report.  Answers to nothing in the reference.  Times are microseconds with three decimals, so that
 * nanoseconds, and with them the nesting, survive.
 */
#include <stdlib.h>

#include "report/report_out.h"

/* One trace being written. */
typedef struct writer {
    sr__out out;
    sr__json json;
    const sr_trace_report *report;
    const char **tracks; /* by thread number less HOST_THREAD; the first stands for the host */
    int n_tracks;
    size_t tracks_cap;
} writer;

enum { HOST_THREAD = 1 };

/* Commas between events of several traces are the business of whoever comes second. */
static void writer_begin(writer *w, const sr_trace_report *report, bool has_events) {
    *w = (writer){.report = report};
    sr__out_init(&w->out, report->sink);
    sr__json_init(&w->json, &w->out.text, true);
    sr__json_object(&w->json);
    sr__json_key(&w->json, "traceEvents");
    sr__json_array(&w->json);
    sr__str_clear(&w->out.text);
    w->json.need_comma = has_events;
}

static sr_status writer_end(writer *w, sr_error *err) {
    sr__json_free(&w->json);
    sr__free(w->tracks);
    return sr__out_end(&w->out, err);
}

/* ---- tracks ----------------------------------------------------------------------------------------------------- */

/* The thread number of a track; texts of one trace may be compared by what they say.  0: out of memory. */
static int thread_of(writer *w, const char *track) {
    if (track == NULL) {
        return HOST_THREAD;
    }
    for (int i = 1; i < w->n_tracks; i++) {
        if (strcmp(w->tracks[i], track) == 0) {
            return HOST_THREAD + i;
        }
    }
    if (!sr__grow(&w->tracks, &w->tracks_cap, (size_t)w->n_tracks + 1, sizeof(*w->tracks))) {
        return 0;
    }
    w->tracks[w->n_tracks] = track;
    return HOST_THREAD + w->n_tracks++;
}

/* A metadata event: of the process where thread is 0. */
static void put_meta(writer *w, const char *what, int thread, const char *name, int sort_index) {
    sr__json *json = &w->json;
    sr__json_put_inline(json, NULL);
    sr__json_put_string(json, "ph", "M");
    sr__json_put_int(json, "pid", w->report->n_processes);
    if (thread > 0) {
        sr__json_put_int(json, "tid", thread);
    }
    sr__json_put_string(json, "name", what);
    sr__json_key(json, "args");
    sr__json_object(json);
    if (name != NULL) {
        sr__json_put_string(json, "name", name);
    } else {
        sr__json_put_int(json, "sort_index", sort_index);
    }
    sr__json_end_object(json);
    sr__json_end_object(json);
}

static void put_tracks(writer *w, const char *process) {
    put_meta(w, "process_name", 0, process, 0);
    for (int i = 0; i < w->n_tracks; i++) {
        put_meta(w, "thread_name", HOST_THREAD + i, i == 0 ? "host" : w->tracks[i], 0);
        put_meta(w, "thread_sort_index", HOST_THREAD + i, NULL, i);
    }
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

static void put_title(sr__str *s, const sr_trace_event *e) {
    const char *name = e->name != NULL ? e->name : "";
    switch (e->kind) {
    case SR_TRACE_COMPUTE: sr__str_printf(s, e->split >= 0 ? "split %d" : "compute", (int)e->split); break;
    case SR_TRACE_WAIT: sr__str_printf(s, name[0] != '\0' ? "wait for %s" : "wait", name); break;
    case SR_TRACE_SYNCHRONIZE: sr__str_printf(s, "synchronize %s", name); break;
    case SR_TRACE_SUBMIT: sr__str_printf(s, "submit to %s", name); break;
    case SR_TRACE_SPLIT: sr__str_printf(s, "split %d on %s", (int)e->split, name); break;
    case SR_TRACE_RUN: sr__str_puts(s, name[0] != '\0' ? name : "execute"); break;
    default: sr__str_puts(s, name[0] != '\0' ? name : "copy"); break;
    }
}

static void put_args(sr__json *json, const sr_trace_event *e) {
    sr__json_key(json, "args");
    sr__json_object(json);
    if (e->split >= 0) {
        sr__json_put_int(json, "split", e->split);
    }
    if (e->kind == SR_TRACE_COPY) {
        sr__json_put_int(json, "bytes", (int64_t)e->bytes);
        sr__json_put_string(json, "from", e->from != NULL ? e->from : "host");
        sr__json_put_string(json, "to", e->to != NULL ? e->to : "host");
    } else if (e->n_nodes > 0) {
        sr__json_put_int(json, "nodes", e->n_nodes);
    }
    if (e->kind == SR_TRACE_COMPUTE && e->name != NULL) {
        sr__json_put_string(json, "first", e->name);
    }
    if (e->critical) {
        sr__json_put_bool(json, "critical", true);
    }
    sr__json_end_object(json);
}

static void put_event(writer *w, const sr_trace_event *e) {
    sr__json *json = &w->json;
    sr__str title = {0};
    put_title(&title, e);
    sr__json_put_inline(json, NULL);
    sr__json_put_string(json, "ph", "X");
    sr__json_put_int(json, "pid", w->report->n_processes);
    sr__json_put_int(json, "tid", thread_of(w, e->track));
    sr__json_put_double(json, "ts", (double)(e->begin - w->report->origin) / 1000.0);
    sr__json_put_double(json, "dur", (double)(e->end - e->begin) / 1000.0);
    sr__json_put_string(json, "cat", sr_trace_kind_name(e->kind));
    sr__json_put_string(json, "name", sr__str_text(&title));
    put_args(json, e);
    sr__json_end_object(json);
    w->out.text.failed |= title.failed;
    sr__str_free(&title);
    sr__out_more(&w->out);
}

/* By begin; what encloses others comes before them. */
static int compare_events(const void *a, const void *b) {
    const sr_trace_event *x = *(const sr_trace_event *const *)a, *y = *(const sr_trace_event *const *)b;
    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    if (x->end != y->end) {
        return x->end > y->end ? -1 : 1;
    }
    return (x->kind < y->kind) - (x->kind > y->kind); /* kinds stand from the inside to the outside */
}

static sr_status put_events(writer *w, const sr_trace_event *events, size_t n, sr_error *err) {
    const sr_trace_event **sorted = sr__malloc((n + 1) * sizeof(*sorted));
    if (sorted == NULL) {
        return sr__fail_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        sorted[i] = &events[i];
    }
    qsort(sorted, n, sizeof(*sorted), compare_events);
    for (size_t i = 0; i < n; i++) {
        put_event(w, sorted[i]);
    }
    sr__free(sorted);
    return SR_OK;
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

static sr_status put_text(sr_sink *sink, const char *text, sr_error *err) {
    return sink->write(sink->user, text, strlen(text)) ? SR_OK : sr__fail(err, SR_IO, "the trace cannot be written");
}

sr_status sr_report_trace_begin(sr_trace_report *report, sr_error *err) {
    return put_text(report->sink, "{\n  \"displayTimeUnit\": \"ms\",\n  \"traceEvents\": [", err);
}

sr_status sr_report_trace(sr_trace_report *report, const sr_trace *trace, const sr_description *description,
                          sr_error *err) {
    size_t n = 0;
    const sr_trace_event *events = sr_trace_events(trace, &n);
    const sr_machine *machine = sr_description_machine(description);
    const bool first = report->n_processes++ == 0;
    writer w;
    sr_status status;
    writer_begin(&w, report, !first);
    bool ok = sr__grow(&w.tracks, &w.tracks_cap, 1, sizeof(*w.tracks));
    w.n_tracks = ok ? 1 : 0;
    for (int b = 0; b < machine->n_backends && ok; b++) {
        ok = thread_of(&w, machine->backends[b]->name) > 0;
    }
    for (size_t i = 0; i < n && ok; i++) {
        ok = thread_of(&w, events[i].track) > 0;
        report->origin = (first && i == 0) || events[i].begin < report->origin ? events[i].begin : report->origin;
    }
    status = ok ? SR_OK : sr__fail_memory(err);
    if (ok) {
        put_tracks(&w, sr_description_name(description));
        status = put_events(&w, events, n, err);
    }
    const sr_status written = writer_end(&w, status == SR_OK ? err : NULL);
    return status != SR_OK ? status : written;
}

sr_status sr_report_trace_end(sr_trace_report *report, sr_error *err) {
    return put_text(report->sink, "\n  ]\n}\n", err);
}
