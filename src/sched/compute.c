/*
 * compute.c - an execution to its end: waiting for every backend, and what counts as computed after a failure.
 *
 * Layer: sched.  Answers to ggml_backend_sched_graph_compute.
 */
#include "sched/sched_internal.h"
#include "sched/spans.h"

/* What was queued on the memory of a backend whose queue has failed may have been run or not: it counts as not run. */
static void forget_splits(sr_sched *sched, int failed) {
    for (int32_t s = 0; s < sched->n_splits; s++) {
        const int b = sched->splits[s].backend;
        if (sched->buffer_types[b] == sched->buffer_types[failed] && sched->backends[b]->iface->synchronize) {
            sched->split_done[s] = 0;
        }
    }
}

/* Waits for every backend; *err is the first failure, those of later ones only count. */
static sr_status wait_for_all(sr_sched *sched, sr_status status, sr_error *err) {
    for (int b = 0; b < sched->n_backends; b++) {
        const uint64_t begin = sr__span_begin(sched);
        const sr_status own = sr_backend_synchronize(sched->backends[b], status == SR_OK ? err : NULL);
        sr__span_end(sched, begin, SR_TRACE_SYNCHRONIZE, -1, sched->backends[b]->name);
        if (own != SR_OK) {
            forget_splits(sched, b);
            status = status == SR_OK ? own : status;
        }
    }
    if (!sched->is_alloc) {
        sched->next_copy = 0; /* as sr_sched_synchronize has it */
    }
    return status;
}

/* The split that computes a tensor, or -1. */
static int32_t split_of(const sr_sched *sched, int32_t tensor) {
    const sr_tensor *t = &sched->graph->tensors[tensor];
    const int32_t node = t->node >= 0 || t->view_src < 0 ? t->node : sched->graph->tensors[t->view_src].node;
    int32_t low = 0, high = sched->n_splits;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (node >= sched->splits[middle].end) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return node >= 0 && low < sched->n_splits && node >= sched->splits[low].start ? low : -1;
}

static bool has_lost_input(const sr_sched *sched, const sr_split *split) {
    for (int32_t k = 0; k < split->n_inputs; k++) {
        const int32_t source = split_of(sched, sched->inputs[split->inputs_begin + k]);
        if (source >= 0 && !sched->split_done[source]) {
            return true;
        }
    }
    return false;
}

/*
 * A queue tells of its failure once, at whatever it is asked next.  The error then names the queue where it began;
 * whoever got something from there has failed as well, and a queue passes over all that comes after its failure.
 */
static void judge_splits(sr_sched *sched, const sr_error *err) {
    const sr_error_detail *name = sr_error_find(err, "backend");
    bool *broken = sr__calloc((size_t)sched->n_backends, sizeof(*broken)); /* by backend: its queue has failed */
    for (int b = 0; b < sched->n_backends && name && name->text; b++) {
        if (strcmp(sched->backends[b]->name, name->text) == 0) {
            forget_splits(sched, b);
        }
    }
    for (int32_t s = 0; s < sched->n_splits; s++) {
        const int backend = sched->splits[s].backend;
        if (!broken || broken[backend] || has_lost_input(sched, &sched->splits[s])) {
            sched->split_done[s] = 0;
        }
        for (int b = 0; b < sched->n_backends && broken && !sched->split_done[s]; b++) {
            broken[b] |= sched->buffer_types[b] == sched->buffer_types[backend] &&
                         sched->backends[b]->iface->synchronize;
        }
    }
    sr__free(broken);
}

sr_status sr_sched_compute(sr_sched *sched, const sr_graph *graph, sr_error *err) {
    sr_error own = {0};
    const uint64_t begin = sr_trace_now();
    sr_status status = sr_sched_compute_async(sched, graph, &own);
    const bool started = sched->layout.executed || sched->layout.split_done;
    status = wait_for_all(sched, status, &own);
    if (started) {
        if (status != SR_OK) {
            judge_splits(sched, &own);
        }
        sched->layout.executed = status == SR_OK;
        sched->layout.split_done = status == SR_OK ? NULL : sched->split_done;
        sched->layout.seconds_compute = (double)(sr_trace_now() - begin) * 1e-9;
        sr__span_end(sched, begin, SR_TRACE_RUN, -1, graph->name);
    }
    if (status == SR_OK || !err) {
        sr_error_clear(&own);
    } else {
        sr_error_clear(err);
        *err = own;
        err->status = status;
    }
    return status;
}
