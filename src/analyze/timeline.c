/*
 * timeline.c - what an execution puts into which queue, and what each of it knows to be done.
 *
 * Layer: analyze.  Answers to ggml_backend_sched_compute_splits, wait for wait.  Every queue and the host have a clock,
 * one number for each queue: up to where they know it to be done.  Handing over a task passes the host's clock on,
 * waiting for a queue takes its clock over.
 */
#include "analyze/finding.h"
#include "analyze/link.h"
#include "analyze/timeline.h"
#include "base/base.h"

typedef struct walk {
    const sr_layout *layout;
    const sr_sched_params *params;
    const sr__timeline_plan *plan;
    sr__task_visitor visit;
    void *user;
    int n;              /* backends */
    int batch;          /* being executed */
    bool *queues;       /* by backend */
    int32_t *issued;    /* by backend */
    int32_t *host;      /* clock of the host */
    int32_t *clocks;    /* by backend, n numbers each: of the last task in its queue */
    int32_t *events;    /* by backend and copy slot, n numbers each: where its event was recorded last */
    bool *recorded;     /* by backend and copy slot: it was */
    int32_t *task;      /* clock of the task being made */
    int32_t ids;        /* of experts: what `used` was last worked out from, -1 */
    int64_t n_expert;
    bool ok;
} walk;

static void merge(int32_t *into, const int32_t *from, int n) {
    for (int i = 0; i < n; i++) {
        into[i] = from[i] > into[i] ? from[i] : into[i];
    }
}

/* ---- waiting --------------------------------------------------------------------------------------------------- */

static void wait_for(walk *w, int backend) {
    if (w->queues[backend]) {
        merge(w->host, &w->clocks[backend * w->n], w->n);
    }
}

static bool has_event(const walk *w, int backend) {
    return w->layout->n_copies > 1 && w->layout->backends[backend]->device->iface->event_new != NULL;
}

/* Which event of the backend this execution uses. */
static size_t event_of(const walk *w, int backend) {
    const int n_copies = w->layout->n_copies;
    return (size_t)backend * (size_t)n_copies + (size_t)((w->layout->cur_copy + w->batch) % n_copies);
}

/* Until the backend is done with what it last did in this copy slot. */
static void wait_on_host(walk *w, int backend) {
    if (!has_event(w, backend)) {
        wait_for(w, backend);
    } else if (w->recorded[event_of(w, backend)]) {
        merge(w->host, &w->events[event_of(w, backend) * (size_t)w->n], w->n);
    }
}

/* In its own queue that is no wait at all. */
static void wait_in_queue(walk *w, int backend) {
    if (!has_event(w, backend) || !w->queues[backend]) {
        wait_on_host(w, backend);
    }
}

/* ---- tasks ----------------------------------------------------------------------------------------------------- */

static void hand_over(walk *w, sr__task task, int backend, const int32_t *after) {
    memcpy(w->task, w->host, (size_t)w->n * sizeof(*w->task));
    if (after) {
        merge(w->task, after, w->n);
    }
    task.queue = w->queues[backend] ? backend : -1;
    task.batch = w->batch;
    if (task.queue >= 0) {
        merge(w->task, &w->clocks[backend * w->n], w->n);
        task.number = ++w->issued[backend];
    }
    w->ok = w->ok && w->visit(w->user, &task, w->task, w->issued);
    if (task.queue >= 0) {
        w->task[backend] = task.number;
        memcpy(&w->clocks[backend * w->n], w->task, (size_t)w->n * sizeof(*w->task));
    }
}

/* The host copies, with nothing of either side still queued as far as it has waited. */
static void copy_now(walk *w, sr__task task) {
    task.queue = -1;
    task.batch = w->batch;
    w->ok = w->ok && w->visit(w->user, &task, w->host, w->issued);
}

/* ---- inputs ---------------------------------------------------------------------------------------------------- */

const sr_tensor *sr__experts_node(const sr_layout *layout, const sr_sched_params *params, int32_t split,
                                  int32_t input) {
    const sr_graph_view *view = &layout->view;
    const sr_split *own = &layout->splits[split];
    const sr_buffer *buffer = sr__home_buffer(layout->graph, layout->inputs[input]);
    if (!params->rules.used_experts_only || own->start == own->end || !buffer ||
        buffer->usage != SR_USAGE_WEIGHTS || !buffer->type->is_host) {
        return NULL;
    }
    const sr_tensor *node = sr_view_tensor(view, view->nodes[layout->split_nodes[split]]);
    return node->op == SR_OP_MUL_MAT_ID && sr_view_src(view, node, 0) == layout->input_copies[input] ? node : NULL;
}

/* The host reads the ids where they are, which it waits for; then it hands the experts over. */
static void copy_experts(walk *w, const sr_split *split, const sr__task *task, const sr_tensor *node) {
    const sr_layout *layout = w->layout;
    const int64_t n_expert = layout->graph->tensors[layout->inputs[task->input]].ne[2];
    int32_t ids = sr_view_src(&layout->view, node, 2);
    int reader = split->backend;
    wait_for(w, layout->backend_of[layout->inputs[task->input]]);
    for (int32_t k = task->input + 1; k < split->inputs_begin + split->n_inputs; k++) {
        if (layout->input_copies[k] == ids) {
            ids = layout->inputs[k];
            reader = layout->backend_of[ids];
            break;
        }
    }
    if (ids != w->ids || n_expert != w->n_expert) {
        wait_for(w, reader);
        w->ids = ids;
        w->n_expert = n_expert;
    }
    hand_over(w, *task, split->backend, NULL);
}

static void copy_queued(walk *w, const sr_split *split, sr__task task) {
    const sr_layout *layout = w->layout;
    const int from = layout->backend_of[layout->inputs[task.input]], to = split->backend;
    if (from >= 0 && w->queues[from] && w->queues[to] &&
        sr__copies_directly(layout->backends[from], layout->backends[to])) {
        task.kind = SR__TASK_SEND;
        hand_over(w, task, from, NULL);
        task.kind = SR__TASK_RECEIVE;
        hand_over(w, task, to, &w->clocks[from * w->n]);
    } else if (from >= 0 && !w->queues[from] && w->queues[to] && !w->plan->host_fetches) {
        task.fetches = true;
        hand_over(w, task, to, NULL);
    } else {
        if (from >= 0) {
            wait_for(w, from);
        }
        wait_on_host(w, to);
        copy_now(w, task);
    }
}

static void copy_input(walk *w, const sr_split *split, int32_t s, int32_t k) {
    const sr_layout *layout = w->layout;
    const sr__task task = {.kind = SR__TASK_COPY, .queue = -1, .split = s, .input = k};
    const int32_t input = layout->inputs[k];
    if (layout->graph->tensors[input].flags & SR_FLAG_INPUT) {
        wait_on_host(w, split->backend);
        copy_now(w, task);
        return;
    }
    wait_in_queue(w, split->backend);
    const sr_tensor *node = sr__experts_node(layout, w->params, s, k);
    if (node) {
        copy_experts(w, split, &task, node);
    } else {
        copy_queued(w, split, task);
    }
}

/* ---- splits ---------------------------------------------------------------------------------------------------- */

static void run_split(walk *w, int32_t s) {
    const sr_split *split = &w->layout->splits[s];
    if (w->params->rules.empty_split_waits && split->n_inputs == 0 && s > 0) {
        wait_for(w, w->layout->splits[s - 1].backend);
    }
    for (int32_t k = split->inputs_begin; k < split->inputs_begin + split->n_inputs; k++) {
        copy_input(w, split, s, k);
    }
    hand_over(w, (sr__task){.kind = SR__TASK_NODES, .split = s, .input = -1}, split->backend, NULL);
    if (split->n_inputs > 0 && has_event(w, split->backend)) {
        const size_t event = event_of(w, split->backend);
        const int32_t *clock = w->queues[split->backend] ? &w->clocks[split->backend * w->n] : w->host;
        memcpy(&w->events[event * (size_t)w->n], clock, (size_t)w->n * sizeof(*clock));
        w->recorded[event] = true;
    }
}

static void run_batch(walk *w, int batch) {
    w->batch = batch;
    w->ids = -1;
    for (int32_t s = 0; s < w->layout->n_splits && w->ok; s++) {
        run_split(w, s);
    }
}

bool sr__timeline_walk(const sr_layout *layout, const sr_sched_params *params, const sr__timeline_plan *plan,
                       sr__task_visitor visit, void *user) {
    const size_t n = (size_t)layout->n_backends, n_events = n * (size_t)layout->n_copies;
    walk w = {.layout = layout, .params = params, .plan = plan, .visit = visit, .user = user, .n = layout->n_backends};
    w.queues = sr__calloc(n, sizeof(*w.queues));
    w.recorded = sr__calloc(n_events, sizeof(*w.recorded));
    w.issued = sr__calloc(n, sizeof(*w.issued));
    w.host = sr__calloc(n, sizeof(*w.host));
    w.task = sr__calloc(n, sizeof(*w.task));
    w.clocks = sr__calloc(n * n, sizeof(*w.clocks));
    w.events = sr__calloc(n * n_events, sizeof(*w.events));
    w.ok = w.queues && w.recorded && w.issued && w.host && w.task && w.clocks && w.events;
    for (size_t b = 0; b < n && w.ok; b++) {
        w.queues[b] = sr__queues(layout->backends[b]);
    }
    const int n_batches = plan->n_batches > 0 ? plan->n_batches : 1;
    for (int batch = 0; batch < n_batches && w.ok; batch++) {
        run_batch(&w, batch);
    }
    sr__free(w.queues);
    sr__free(w.recorded);
    sr__free(w.issued);
    sr__free(w.host);
    sr__free(w.task);
    sr__free(w.clocks);
    sr__free(w.events);
    return w.ok;
}
