/*
 * by_rules.c - the layout of every run under the rules of every date, and where it changed.
 *
 * Layer: analyze.  One scheduler a revision goes through all runs, so that sequences are compared as sequences.
 */
#include "base/base.h"
#include "sched_run/analyze.h"

/* What is kept of a layout to compare the next one with. */
typedef struct snapshot {
    int16_t *backend_of;
    int32_t n_tensors;
    int32_t *borders; /* backend, start and number of inputs of each split, then the inputs */
    size_t n_borders, cap, backend_cap;
    sr_status status;
} snapshot;

static void snapshots_free(snapshot *all, int n) {
    for (int i = 0; all && i < n; i++) {
        sr__free(all[i].backend_of);
        sr__free(all[i].borders);
    }
    sr__free(all);
}

/* A layout that failed has only its status. */
static bool take(snapshot *s, const sr_layout *layout, sr_status status) {
    s->status = status;
    s->n_tensors = 0;
    s->n_borders = 0;
    if (status != SR_OK) {
        return true;
    }
    const size_t n_borders = 3 * (size_t)layout->n_splits + (size_t)layout->n_inputs;
    if (!sr__grow(&s->backend_of, &s->backend_cap, (size_t)layout->graph->n_tensors + 1, sizeof(*s->backend_of)) ||
        !sr__grow(&s->borders, &s->cap, n_borders + 1, sizeof(*s->borders))) {
        return false;
    }
    s->n_tensors = layout->graph->n_tensors;
    memcpy(s->backend_of, layout->backend_of, (size_t)s->n_tensors * sizeof(*s->backend_of));
    for (int32_t i = 0; i < layout->n_splits; i++) {
        s->borders[s->n_borders++] = layout->splits[i].backend;
        s->borders[s->n_borders++] = layout->splits[i].start;
        s->borders[s->n_borders++] = layout->splits[i].n_inputs;
    }
    for (int32_t i = 0; i < layout->n_inputs; i++) {
        s->borders[s->n_borders++] = layout->inputs[i];
    }
    return true;
}

static bool same_layout(const snapshot *a, const snapshot *b) {
    return a->status == b->status && a->n_tensors == b->n_tensors && a->n_borders == b->n_borders &&
           memcmp(a->borders, b->borders, a->n_borders * sizeof(*a->borders)) == 0 &&
           memcmp(a->backend_of, b->backend_of, (size_t)a->n_tensors * sizeof(*a->backend_of)) == 0;
}

/* The nodes that are on another backend than under the rules before. */
static bool list_moves(sr_rules_row *row, const snapshot *before, const snapshot *now, const sr_graph *graph) {
    size_t cap = 0;
    if (before->status != SR_OK || now->status != SR_OK) {
        return true;
    }
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const int32_t node = graph->nodes[i];
        if (before->backend_of[node] == now->backend_of[node]) {
            continue;
        }
        if (!sr__grow(&row->moves, &cap, (size_t)row->n_moves + 1, sizeof(*row->moves))) {
            return false;
        }
        row->moves[row->n_moves++] = (sr_rules_move){node, before->backend_of[node], now->backend_of[node]};
    }
    return true;
}

static uint64_t bytes_copied(const sr_layout *layout) {
    uint64_t bytes = 0;
    for (int32_t i = 0; i < layout->n_inputs; i++) {
        bytes += layout->graph->tensors[layout->inputs[i]].nbytes;
    }
    return bytes;
}

static sr_status schedule(sr_sched *sched, const sr_run *run) {
    sr_sched_reset(sched);
    for (int i = 0; i < run->n_assignments; i++) {
        const sr_status status = sr_sched_set_tensor_backend(sched, run->graph, run->assignments[i].tensor,
                                                             run->assignments[i].backend, NULL);
        if (status != SR_OK) {
            return status;
        }
    }
    return run->reserve ? sr_sched_reserve(sched, run->graph, NULL) : sr_sched_alloc_graph(sched, run->graph, NULL);
}

/* Every run under one revision; `held` has the layouts of the revision before and gets those of this one. */
static sr_status run_revision(const sr_description *description, const sr_sched_params *params, bool first,
                              sr_rules_row *rows, snapshot *held, sr_error *err) {
    const sr_machine *machine = sr_description_machine(description);
    sr_sched *sched = NULL;
    snapshot now = {0};
    sr_status status;
    SR_TRY(sr_sched_new(machine->backends, NULL, machine->n_backends, params, &sched, err));
    for (int i = 0; i < sr_description_n_runs(description); i++) {
        const sr_run *run = sr_description_run(description, i);
        sr_rules_row *row = &rows[i];
        row->status = schedule(sched, run);
        const sr_layout *layout = sr_sched_layout(sched);
        if (row->status == SR_MEMORY || !take(&now, layout, row->status)) {
            status = sr__fail_memory(err);
            goto done;
        }
        if (row->status == SR_OK) {
            row->n_splits = layout->n_splits;
            row->bytes_copied = bytes_copied(layout);
        }
        row->changed = !first && !same_layout(&held[i], &now);
        if (row->changed && !list_moves(row, &held[i], &now, run->graph)) {
            status = sr__fail_memory(err);
            goto done;
        }
        const snapshot last = held[i];
        held[i] = now;
        now = last;
    }
done:
    sr__free(now.backend_of);
    sr__free(now.borders);
    sr_sched_free(sched);
    return status;
}

sr_status sr_rules_compare(const sr_description *description, const sr_sched_params *params, sr_rules_report *out_report,
                           sr_error *err) {
    int n_revisions;
    const sr_revision *revisions = sr_revisions(&n_revisions);
    const int n_runs = sr_description_n_runs(description);
    sr_status status = SR_OK;
    snapshot *held = sr__calloc((size_t)n_runs + 1, sizeof(*held));
    *out_report = (sr_rules_report){.n_revisions = n_revisions, .n_runs = n_runs};
    out_report->rows = sr__calloc((size_t)n_runs * (size_t)n_revisions + 1, sizeof(*out_report->rows));
    if (!held || !out_report->rows) {
        status = sr__fail_memory(err);
        goto done;
    }
    for (int i = 0; i < n_revisions; i++) {
        sr_sched_params at = *params;
        sr_sched_params_set_rules(&at, &revisions[i]);
        SR_TRY(run_revision(description, &at, i == 0, &out_report->rows[i * n_runs], held, err));
    }
done:
    snapshots_free(held, n_runs);
    if (status != SR_OK) {
        sr_rules_report_clear(out_report);
    }
    return status;
}

void sr_rules_report_clear(sr_rules_report *report) {
    for (int i = 0; report->rows && i < report->n_revisions * report->n_runs; i++) {
        sr__free(report->rows[i].moves);
    }
    sr__free(report->rows);
    *report = (sr_rules_report){0};
}
