/*
 * estimate.c - a layout executed in virtual time.
 *
 * Layer: analyze.  Answers to ggml_backend_sched_compute_splits.  The walk of timeline.h says what is put into which
 * queue, and what each task knows to be done when it begins: it begins when the last of that has ended, and when the
 * host had come to hand it over.
 */
#include "analyze/estimate_impl.h"
#include "analyze/timeline.h"

const char *sr_estimate_kind_name(int kind) {
    static const char *const names[] = {"compute", "copy", "wait"};
    return kind >= 0 && kind < SR_COUNT(names) ? names[kind] : "";
}

/* The spans of one queue, in order: what a task of number n is. */
typedef struct queue { int32_t *spans; size_t cap; int32_t n; } queue;

typedef struct timing {
    const sr_layout *layout;
    sr_estimate *estimate;
    sr__input_cost *costs; /* by place in layout->inputs */
    queue *queues;         /* by backend */
    uint64_t host;         /* what the host had to do itself is done */
    int32_t host_span;     /* with this one, -1 */
} timing;

/* ---- spans ------------------------------------------------------------------------------------------------------ */

static sr_estimate_span *push(timing *c, sr_estimate_span span) {
    sr_estimate *e = c->estimate;
    if (e->n_spans == INT32_MAX || !sr__grow(&e->spans, &e->spans_cap, (size_t)e->n_spans + 1, sizeof(*e->spans))) {
        return NULL;
    }
    e->spans[e->n_spans] = span;
    return &e->spans[e->n_spans++];
}

/* The moment at which all that a task knows has ended, and which span of that was the last. */
static uint64_t begin_of(const timing *c, const int32_t *known, int32_t *out_after) {
    const sr_estimate *e = c->estimate;
    uint64_t begin = c->host;
    *out_after = c->host_span;
    for (int b = 0; b < e->n_backends; b++) {
        if (known[b] > 0) {
            const int32_t span = c->queues[b].spans[known[b] - 1];
            if (e->spans[span].end > begin) {
                begin = e->spans[span].end;
                *out_after = span;
            }
        }
    }
    return begin;
}

static void fill_copy(const timing *c, const sr__task *task, sr_estimate_span *span) {
    const int32_t tensor = c->layout->inputs[task->input];
    span->tensor = tensor;
    span->from = c->layout->backend_of[tensor];
    span->to = c->layout->splits[task->split].backend;
    span->bytes = c->costs[task->input].bytes;
    span->end = sr__later(span->begin, c->costs[task->input].time);
}

static void fill_nodes(const timing *c, const sr__task *task, sr_estimate_span *span) {
    const sr_split *split = &c->layout->splits[task->split];
    const sr_graph *graph = c->layout->graph;
    span->n_nodes = c->estimate->splits[task->split].n_nodes;
    span->tensor = split->start < split->end ? graph->nodes[split->start] : -1;
    span->end = sr__later(span->begin, c->estimate->splits[task->split].computing);
}

/* Half a copy: the destination's queue stands still until the bytes have come. */
static void fill_receive(const timing *c, const sr__task *task, sr_estimate_span *span) {
    const queue *q = &c->queues[task->queue];
    const uint64_t since = q->n > 0 ? c->estimate->spans[q->spans[q->n - 1]].end : 0;
    span->kind = SR_ESTIMATE_WAIT;
    span->end = span->begin;
    span->begin = since > c->host ? since : c->host;
    span->tensor = c->layout->inputs[task->input];
    span->from = c->layout->backend_of[span->tensor];
}

static sr_estimate_span new_span(const timing *c, const sr__task *task, uint64_t begin, int32_t after) {
    sr_estimate_span span = {.lane = task->queue, .begin = begin, .end = begin, .split = task->split,
                             .batch = task->batch, .tensor = -1, .from = -1, .to = -1, .after = after};
    if (task->queue < 0) {
        span.lane = task->kind == SR__TASK_NODES ? c->layout->splits[task->split].backend : c->estimate->n_backends;
    }
    span.kind = task->kind == SR__TASK_NODES ? SR_ESTIMATE_COMPUTE : SR_ESTIMATE_COPY;
    return span;
}

/* The host has nothing to do from where it was until it may begin. */
static bool push_host_wait(timing *c, const sr__task *task, uint64_t begin, int32_t after) {
    if (begin <= c->host) {
        return true;
    }
    sr_estimate_span span = new_span(c, task, c->host, after);
    span.lane = c->estimate->n_backends;
    span.kind = SR_ESTIMATE_WAIT;
    span.end = begin;
    span.from = after >= 0 ? c->estimate->spans[after].lane : -1;
    return push(c, span) != NULL;
}

static bool on_task(void *user, const sr__task *task, const int32_t *known, const int32_t *issued) {
    timing *c = user;
    int32_t after;
    const uint64_t begin = begin_of(c, known, &after);
    (void)issued;
    if (task->queue < 0 && !push_host_wait(c, task, begin, after)) {
        return false;
    }
    sr_estimate_span span = new_span(c, task, begin, after);
    switch (task->kind) {
        case SR__TASK_NODES: fill_nodes(c, task, &span); break;
        case SR__TASK_RECEIVE: fill_receive(c, task, &span); break;
        default: fill_copy(c, task, &span); break;
    }
    if (!push(c, span)) {
        return false;
    }
    const int32_t index = c->estimate->n_spans - 1;
    if (task->queue < 0) {
        c->host = span.end;
        c->host_span = index;
        return true;
    }
    queue *q = &c->queues[task->queue];
    if (!sr__grow(&q->spans, &q->cap, (size_t)q->n + 1, sizeof(*q->spans))) {
        return false;
    }
    q->spans[q->n++] = index;
    return true;
}

/* ---- sums ------------------------------------------------------------------------------------------------------- */

static void count_span(sr_estimate_lane *lane, const sr_estimate_span *span) {
    const uint64_t time = span->end - span->begin;
    switch (span->kind) {
        case SR_ESTIMATE_COMPUTE:
            lane->computing += time;
            lane->n_computes++;
            break;
        case SR_ESTIMATE_COPY:
            lane->copying += time;
            lane->n_copies++;
            lane->bytes += span->bytes;
            break;
        default: lane->waiting += time; break;
    }
}

static void sum_up(sr_estimate *e) {
    e->last = -1;
    for (int32_t i = 0; i < e->n_spans; i++) {
        const sr_estimate_span *span = &e->spans[i];
        count_span(&e->lanes[span->lane], span);
        if (span->end > e->batch_end[span->batch]) {
            e->batch_end[span->batch] = span->end;
        }
        if (span->kind != SR_ESTIMATE_WAIT && (e->last < 0 || span->end > e->total)) {
            e->total = span->end;
            e->last = i;
        }
    }
}

void sr__estimate_path(sr_estimate *e) {
    for (int32_t i = e->last; i >= 0; i = e->spans[i].after) {
        sr_estimate_span *span = &e->spans[i];
        span->critical = true;
        if (span->kind != SR_ESTIMATE_WAIT) {
            count_span(&e->critical[span->lane], span);
        }
    }
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static bool estimate_init(sr_estimate *e, const sr_layout *layout, int n_batches) {
    const size_t n = (size_t)layout->n_backends;
    *e = (sr_estimate){.n_backends = layout->n_backends, .n_batches = n_batches, .n_splits = layout->n_splits,
                       .last = -1};
    e->batch_end = sr__calloc((size_t)n_batches, sizeof(*e->batch_end));
    e->lanes = sr__calloc(n + 1, sizeof(*e->lanes));
    e->critical = sr__calloc(n + 1, sizeof(*e->critical));
    e->splits = sr__calloc((size_t)layout->n_splits, sizeof(*e->splits));
    e->speeds = sr__calloc(n, sizeof(*e->speeds));
    e->assumed = sr__calloc(n, sizeof(*e->assumed));
    return e->batch_end && e->lanes && e->critical && e->splits && e->speeds && e->assumed;
}

static void find_costs(sr_estimate *e, const sr_layout *layout, sr__input_cost *costs) {
    for (int b = 0; b < e->n_backends; b++) {
        e->speeds[b] = sr__speed_of(layout->backends[b], &e->assumed[b]);
    }
    sr__estimate_nodes(e, layout);
    for (int32_t s = 0; s < layout->n_splits; s++) {
        const sr_split *split = &layout->splits[s];
        for (int32_t k = split->inputs_begin; k < split->inputs_begin + split->n_inputs; k++) {
            bool expected;
            costs[k] = sr__estimate_input(e, layout, s, k, &expected);
            e->n_expert_copies += expected;
            e->splits[s].copied += costs[k].bytes;
            e->splits[s].copying = sr__later(e->splits[s].copying, costs[k].time);
        }
    }
}

sr_status sr_estimate_make(const sr_layout *layout, int n_batches, sr_estimate *out_estimate, sr_error *err) {
    *out_estimate = (sr_estimate){.last = -1};
    if (layout == NULL || layout->graph == NULL || layout->n_splits <= 0 || n_batches < 1) {
        return sr__fail(err, SR_INVALID, "an estimate needs a graph with splits and at least one batch");
    }
    const sr__timeline_plan plan = {.n_batches = n_batches, .host_fetches = true};
    timing c = {.layout = layout, .estimate = out_estimate, .host_span = -1};
    bool ok = estimate_init(out_estimate, layout, n_batches);
    c.costs = sr__calloc((size_t)layout->n_inputs + 1, sizeof(*c.costs));
    c.queues = sr__calloc((size_t)layout->n_backends, sizeof(*c.queues));
    ok = ok && c.costs && c.queues;
    if (ok) {
        find_costs(out_estimate, layout, c.costs);
        ok = sr__timeline_walk(layout, layout->params, &plan, on_task, &c);
    }
    for (int b = 0; c.queues && b < layout->n_backends; b++) {
        sr__free(c.queues[b].spans);
    }
    sr__free(c.queues);
    sr__free(c.costs);
    if (!ok) {
        sr_estimate_clear(out_estimate);
        return sr__fail_memory(err);
    }
    sum_up(out_estimate);
    sr__estimate_path(out_estimate);
    return SR_OK;
}

void sr_estimate_clear(sr_estimate *e) {
    sr__free(e->batch_end);
    sr__free(e->lanes);
    sr__free(e->critical);
    sr__free(e->splits);
    sr__free(e->speeds);
    sr__free(e->assumed);
    sr__free(e->spans);
    *e = (sr_estimate){.last = -1};
}

/* ---- as a trace ------------------------------------------------------------------------------------------------- */

static const char *name_of(const sr_layout *layout, int backend) {
    return backend >= 0 && backend < layout->n_backends ? layout->backends[backend]->name : NULL;
}

void sr_estimate_tell(const sr_estimate *e, const sr_layout *layout, const char *name, uint64_t origin,
                      sr_trace *trace) {
    static const sr_trace_kind kinds[] = {SR_TRACE_COMPUTE, SR_TRACE_COPY, SR_TRACE_WAIT};
    for (int32_t i = 0; i < e->n_spans; i++) {
        const sr_estimate_span *span = &e->spans[i];
        sr_trace_event event = {.kind = kinds[span->kind], .track = name_of(layout, span->lane),
                                .from = name_of(layout, span->from), .to = name_of(layout, span->to),
                                .bytes = span->bytes, .split = span->split, .n_nodes = span->n_nodes,
                                .critical = span->critical,
                                .begin = origin + span->begin, .end = origin + span->end};
        event.name = span->kind == SR_ESTIMATE_WAIT ? event.from
                     : span->tensor >= 0            ? layout->graph->tensors[span->tensor].name
                                                    : NULL;
        sr_trace_add(trace, &event);
    }
    const sr_trace_event run = {.kind = SR_TRACE_RUN, .name = name, .split = -1, .begin = origin,
                                .end = origin + e->total};
    sr_trace_add(trace, &run);
}
