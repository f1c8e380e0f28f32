/*
 * copies_measure.c - what a graph needs with a number of pipeline copies, measured on a scheduler of its own.
 *
 * Layer: analyze.
 */
#include "base/base.h"
#include "sched_run/memory_plan.h"

/* Keeps the largest, in order. */
static void note(const sr_layout *layout, sr_copies_row *row, int32_t tensor, int backend) {
    const sr_tensor *tensors = layout->graph->tensors;
    row->slot_bytes += tensors[tensor].nbytes;
    int at = row->n_multiplied;
    while (at > 0 && tensors[row->multiplied[at - 1]].nbytes < tensors[tensor].nbytes) {
        at--;
    }
    if (at == SR_MOST_MULTIPLIED) {
        return;
    }
    row->n_multiplied += row->n_multiplied < SR_MOST_MULTIPLIED;
    for (int i = row->n_multiplied - 1; i > at; i--) {
        row->multiplied[i] = row->multiplied[i - 1];
        row->multiplied_on[i] = row->multiplied_on[i - 1];
    }
    row->multiplied[at] = tensor;
    row->multiplied_on[at] = backend;
}

static sr_status count(const sr_layout *layout, sr_copies_row *row, sr_error *err) {
    sr_memory_plan plan = {0};
    const sr_status status = sr_memory_plan_make(layout, &plan, err);
    if (status != SR_OK) {
        return status;
    }
    for (int i = 0; i < plan.n_buffers; i++) {
        row->copies[plan.buffers[i].backend] = plan.buffers[i].copies;
    }
    sr_memory_plan_clear(&plan);
    row->n_graph_inputs = layout->n_graph_inputs;
    row->n_split_inputs = layout->n_inputs;
    for (int32_t i = 0; i < layout->n_graph_inputs; i++) {
        note(layout, row, layout->graph_inputs[i], layout->backend_of[layout->graph_inputs[i]]);
    }
    for (int32_t i = 0; i < layout->n_splits; i++) {
        const sr_split *split = &layout->splits[i];
        for (int32_t k = split->inputs_begin; k < split->inputs_begin + split->n_inputs; k++) {
            note(layout, row, layout->inputs[k], split->backend);
        }
    }
    return SR_OK;
}

static sr_status measure(sr_sched *sched, const sr_graph *graph, const sr_copies_user *users, int n_users,
                         sr_copies_row *row, sr_error *err) {
    sr_status status = SR_OK;
    for (int i = 0; i < n_users; i++) {
        SR_TRY(sr_sched_set_tensor_backend(sched, graph, users[i].tensor, users[i].backend, err));
    }
    SR_TRY(sr_sched_measure(sched, graph, row->sizes, err));
    SR_TRY(count(sr_sched_layout(sched), row, err));
done:
    return status;
}

sr_status sr_copies_measure(sr_backend *const *backends, int n_backends, const sr_sched_params *params,
                            const sr_graph *graph, const sr_copies_user *users, int n_users, int n_copies,
                            sr_copies_row *out_row, sr_error *err) {
    sr_sched *sched = NULL;
    sr_sched_params own = *params;
    sr_error failure = {0};
    own.n_copies = n_copies;
    own.record_decisions = false;
    *out_row = (sr_copies_row){.n_copies = n_copies};
    out_row->sizes = sr__calloc((size_t)n_backends + 1, sizeof(*out_row->sizes));
    out_row->copies = sr__calloc((size_t)n_backends + 1, sizeof(*out_row->copies));
    if (out_row->sizes == NULL || out_row->copies == NULL) {
        sr_copies_row_clear(out_row);
        return sr__fail_memory(err);
    }
    out_row->status = sr_sched_new(backends, NULL, n_backends, &own, &sched, &failure);
    if (out_row->status == SR_OK) {
        out_row->status = measure(sched, graph, users, n_users, out_row, &failure);
    }
    if (out_row->status != SR_OK && out_row->status != SR_MEMORY) {
        out_row->message = sr__strdup(sr_error_message(&failure));
    }
    sr_error_clear(&failure);
    sr_sched_free(sched);
    const bool no_memory = out_row->status == SR_MEMORY || (out_row->status != SR_OK && out_row->message == NULL);
    if (no_memory) {
        sr_copies_row_clear(out_row);
        return sr__fail_memory(err);
    }
    return SR_OK;
}

void sr_copies_row_clear(sr_copies_row *row) {
    sr__free(row->message);
    sr__free(row->sizes);
    sr__free(row->copies);
    *row = (sr_copies_row){0};
}
