/*
 * sweep.c - one graph scheduled and estimated for several values of its params.
 *
 * Layer: analyze.
 */
#include "sched_run/sweep.h"

#include "analyze/finding.h"
#include "base/base.h"

/* ---- texts ------------------------------------------------------------------------------------------------------ */

static char **copy_texts(const char *const *texts, int n) {
    char **copies = sr__calloc((size_t)n + 1, sizeof(*copies));
    bool ok = copies != NULL;
    for (int i = 0; i < n && ok; i++) {
        copies[i] = sr__strdup(texts[i]);
        ok = copies[i] != NULL;
    }
    for (int i = 0; copies && i < n && !ok; i++) {
        sr__free(copies[i]);
    }
    if (!ok) {
        sr__free(copies);
        return NULL;
    }
    return copies;
}

static void free_texts(char **texts, int n) {
    for (int i = 0; texts && i < n; i++) {
        sr__free(texts[i]);
    }
    sr__free(texts);
}

static void row_clear(const sr_sweep *sweep, sr_sweep_row *row) {
    free_texts(row->values, sweep->n_names);
    sr__free(row->graph);
    sr__free(row->message);
    sr__free(row->held);
    sr__free(row->compute);
    sr__free(row->moved_node);
    sr__free(row->backend_of);
    sr__free(row->starts);
}

void sr_sweep_clear(sr_sweep *sweep) {
    for (int i = 0; i < sweep->n_rows; i++) {
        row_clear(sweep, &sweep->rows[i]);
    }
    sr__free(sweep->rows);
    free_texts(sweep->names, sweep->n_names);
    free_texts(sweep->backends, sweep->n_backends);
    sr__free(sweep->capacity);
    *sweep = (sr_sweep){0};
}

sr_status sr_sweep_begin(sr_sweep *sweep, const char *const *names, int n_names, int n_batches, sr_error *err) {
    sr_sweep_clear(sweep);
    sweep->names = copy_texts(names, n_names);
    sweep->n_names = sweep->names ? n_names : 0;
    sweep->n_batches = n_batches;
    return sweep->names ? SR_OK : sr__fail_memory(err);
}

/* ---- the machine ------------------------------------------------------------------------------------------------ */

/* Whether its memory is that of a backend before it. */
static bool shares_memory(const sr_machine *machine, int backend) {
    for (int b = 0; b < backend; b++) {
        if (machine->backends[b]->buffer_type == machine->backends[backend]->buffer_type) {
            return true;
        }
    }
    return false;
}

static sr_status take_machine(sr_sweep *sweep, const sr_machine *machine, sr_error *err) {
    const int n = machine->n_backends;
    const char **names = sr__calloc((size_t)n + 1, sizeof(*names));
    sweep->capacity = sr__calloc((size_t)n + 1, sizeof(*sweep->capacity));
    for (int b = 0; b < n && names; b++) {
        names[b] = machine->backends[b]->name;
    }
    sweep->backends = names ? copy_texts(names, n) : NULL;
    sr__free(names);
    if (!sweep->capacity || !sweep->backends) {
        free_texts(sweep->backends, n);
        sr__free(sweep->capacity);
        sweep->backends = NULL;
        sweep->capacity = NULL;
        return sr__fail_memory(err);
    }
    sweep->n_backends = n;
    for (int b = 0; b < n; b++) {
        sr_device *device = machine->backends[b]->device;
        size_t free_bytes, total;
        device->iface->memory(device, &free_bytes, &total);
        /* a CPU's is that of this machine, which need not be the one in question */
        sweep->capacity[b] = device->type == SR_DEVICE_CPU || shares_memory(machine, b) ? 0 : total;
    }
    return SR_OK;
}

static sr_status check_machine(sr_sweep *sweep, const sr_machine *machine, sr_error *err) {
    if (!sweep->backends) {
        return take_machine(sweep, machine, err);
    }
    bool same = machine->n_backends == sweep->n_backends;
    for (int b = 0; b < sweep->n_backends && same; b++) {
        same = strcmp(machine->backends[b]->name, sweep->backends[b]) == 0;
    }
    return same ? SR_OK : sr__fail(err, SR_INVALID, "the backends are others than in the row before");
}

/* ---- one row ---------------------------------------------------------------------------------------------------- */

/* Bytes of leafs that lie in buffers, at the first backend that has the memory. */
static void count_held(const sr_layout *layout, size_t *held) {
    const sr_graph *graph = layout->graph;
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        const sr_tensor *t = &graph->tensors[i];
        for (int b = 0; b < layout->n_backends && t->buffer && t->view_src < 0; b++) {
            if (layout->buffer_types[b] == t->buffer->type) {
                held[b] += t->nbytes;
                break;
            }
        }
    }
}

static sr_status keep_layout(const sr_layout *layout, sr_sweep_row *row, sr_error *err) {
    const sr_graph *graph = layout->graph;
    row->backend_of = sr__calloc((size_t)graph->n_nodes + 1, sizeof(*row->backend_of));
    row->starts = sr__calloc((size_t)layout->n_splits + 1, sizeof(*row->starts));
    if (!row->backend_of || !row->starts) {
        return sr__fail_memory(err);
    }
    row->n_nodes = graph->n_nodes;
    row->n_splits = layout->n_splits;
    row->n_inputs = layout->n_inputs;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        row->backend_of[i] = layout->backend_of[graph->nodes[i]];
    }
    for (int32_t s = 0; s < layout->n_splits; s++) {
        row->starts[s] = layout->splits[s].start;
    }
    count_held(layout, row->held);
    return SR_OK;
}

static sr_status estimate_row(const sr_sweep *sweep, const sr_layout *layout, sr_sweep_row *row, sr_error *err) {
    sr_estimate e;
    const sr_status status = sr_estimate_make(layout, sweep->n_batches, &e, err);
    if (status != SR_OK) {
        return status;
    }
    row->total = e.total;
    row->first = e.batch_end[0];
    for (int32_t s = 0; s < e.n_splits; s++) {
        row->copied += e.splits[s].copied;
    }
    for (int lane = 0; lane <= e.n_backends; lane++) {
        const sr_estimate_lane *path = &e.critical[lane];
        if (path->computing > row->most) {
            row->most = path->computing;
            row->most_lane = lane;
            row->most_copies = false;
        }
        if (path->copying > row->most) {
            row->most = path->copying;
            row->most_lane = lane;
            row->most_copies = true;
        }
    }
    sr_estimate_clear(&e);
    return SR_OK;
}

/* ---- against the rows before ------------------------------------------------------------------------------------ */

static bool same_layout(const sr_sweep_row *a, const sr_sweep_row *b) {
    return a->status == SR_OK && b->status == SR_OK && strcmp(a->graph, b->graph) == 0 && a->n_nodes == b->n_nodes &&
           a->n_splits == b->n_splits && a->n_inputs == b->n_inputs &&
           memcmp(a->starts, b->starts, (size_t)a->n_splits * sizeof(*a->starts)) == 0 &&
           memcmp(a->backend_of, b->backend_of, (size_t)a->n_nodes * sizeof(*a->backend_of)) == 0;
}

static void number_layout(const sr_sweep *sweep, sr_sweep_row *row) {
    int next = 0;
    for (int i = 0; i < sweep->n_rows; i++) {
        if (same_layout(&sweep->rows[i], row)) {
            row->layout = sweep->rows[i].layout;
            return;
        }
        next = sweep->rows[i].status == SR_OK && sweep->rows[i].layout >= next ? sweep->rows[i].layout + 1 : next;
    }
    row->layout = next;
}

/* Where a node is because of itself, not of its neighbours, tells more. */
static bool tells_why(int cause) {
    return cause == SR_CAUSE_OFFLOAD || cause == SR_CAUSE_DST || cause == SR_CAUSE_USER || cause >= SR_CAUSE_WGT0;
}

static sr_status find_moved(const sr_layout *layout, const sr_sweep_row *before, sr_sweep_row *row, sr_error *err) {
    const sr_graph *graph = layout->graph;
    int32_t shown = -1;
    for (int32_t i = 0; i < row->n_nodes; i++) {
        const int32_t node = graph->nodes[i];
        if (row->backend_of[i] == before->backend_of[i] || sr_op_is_view(graph->tensors[node].op)) {
            continue;
        }
        row->n_moved++;
        if (shown < 0 || (!tells_why(layout->cause_of[graph->nodes[shown]]) && tells_why(layout->cause_of[node]))) {
            shown = i;
        }
    }
    if (shown < 0) {
        return SR_OK;
    }
    row->moved_node = sr__strdup(sr__label(graph, graph->nodes[shown]));
    row->moved_from = before->backend_of[shown];
    row->moved_to = row->backend_of[shown];
    row->moved_cause = layout->cause_of[graph->nodes[shown]];
    return row->moved_node ? SR_OK : sr__fail_memory(err);
}

static sr_status compare_with_before(const sr_sweep *sweep, const sr_layout *layout, sr_sweep_row *row,
                                     sr_error *err) {
    const sr_sweep_row *before = NULL;
    for (int i = sweep->n_rows - 1; i >= 0 && !before; i--) {
        const sr_sweep_row *other = &sweep->rows[i];
        before = other->status == SR_OK && strcmp(other->graph, row->graph) == 0 ? other : NULL;
    }
    number_layout(sweep, row);
    row->changed = before && before->layout != row->layout;
    row->prev_nodes = before ? before->n_nodes : 0;
    return row->changed && before->n_nodes == row->n_nodes ? find_moved(layout, before, row, err) : SR_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

/* Splits and measures on a scheduler of its own; what that failed with is the row's. */
static sr_status schedule(const sr_machine *machine, const sr_sched_params *params, const sr_run *run,
                          sr_sweep_row *row, sr_sched **out_sched, sr_error *err) {
    sr_error failure = {0};
    sr_status status = sr_sched_new(machine->backends, NULL, machine->n_backends, params, out_sched, &failure);
    for (int i = 0; i < run->n_assignments && status == SR_OK; i++) {
        const sr_assignment *a = &run->assignments[i];
        status = sr_sched_set_tensor_backend(*out_sched, run->graph, a->tensor, a->backend, &failure);
    }
    if (status == SR_OK) {
        status = sr_sched_measure(*out_sched, run->graph, row->compute, &failure);
    }
    row->status = status;
    if (status != SR_OK && status != SR_MEMORY) {
        row->message = sr__strdup(sr_error_message(&failure));
        status = row->message ? SR_OK : SR_MEMORY;
    }
    sr_error_clear(&failure);
    return status == SR_OK ? SR_OK : sr__fail_memory(err);
}

static sr_status make_row(const sr_sweep *sweep, const sr_machine *machine, const sr_sched_params *params,
                          const sr_run *run, const char *const *values, sr_sweep_row *row, sr_error *err) {
    sr_sched *sched = NULL;
    sr_status status;
    row->values = copy_texts(values, sweep->n_names);
    row->graph = sr__strdup(run->graph_name ? run->graph_name : "");
    row->held = sr__calloc((size_t)machine->n_backends + 1, sizeof(*row->held));
    row->compute = sr__calloc((size_t)machine->n_backends + 1, sizeof(*row->compute));
    if (!row->values || !row->graph || !row->held || !row->compute) {
        return sr__fail_memory(err);
    }
    SR_TRY(schedule(machine, params, run, row, &sched, err));
    if (row->status == SR_OK) {
        const sr_layout *layout = sr_sched_layout(sched);
        SR_TRY(keep_layout(layout, row, err));
        SR_TRY(estimate_row(sweep, layout, row, err));
        SR_TRY(compare_with_before(sweep, layout, row, err));
    }
done:
    sr_sched_free(sched);
    return status;
}

sr_status sr_sweep_add(sr_sweep *sweep, const sr_machine *machine, const sr_sched_params *params, const sr_run *run,
                       const char *const *values, sr_error *err) {
    sr_sweep_row row = {0};
    sr_status status;
    SR_TRY(check_machine(sweep, machine, err));
    SR_TRY(make_row(sweep, machine, params, run, values, &row, err));
    if (!sr__grow(&sweep->rows, &sweep->rows_cap, (size_t)sweep->n_rows + 1, sizeof(*sweep->rows))) {
        SR_TRY(sr__fail_memory(err));
    }
    sweep->rows[sweep->n_rows++] = row;
    return SR_OK;
done:
    row_clear(sweep, &row);
    return status;
}
