/*
 * run_execute.c - whether a run is executed, and its execution.
 *
 * Layer: cli.
 */
#include "cli/cmd_run.h"

/* The first node that the backend it was given to has no kernel for, or -1. */
static int32_t find_no_kernel(const sr_layout *layout, const char **out_why) {
    const sr_graph *graph = layout->graph;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const sr_tensor *t = &graph->tensors[graph->nodes[i]];
        if (t->op == SR_OP_NONE || sr_op_is_view(t->op) || (t->flags & SR_FLAG_COMPUTE) == 0) {
            continue;
        }
        const int backend = layout->backend_of[graph->nodes[i]];
        if (!sr_backend_can_execute(layout->backends[backend], &layout->view, graph->nodes[i], out_why)) {
            return graph->nodes[i];
        }
    }
    return -1;
}

static bool expects_execution(const sr_run *run) {
    return run->expect != NULL && (run->expect->n_outputs > 0 || run->expect->n_copied > 0);
}

/* An op without a kernel turns execution off rather than failing, unless --compute asks for it. */
static bool should_execute(cli_session *session, const sr_run *run) {
    const cli_options *options = session->options;
    if (run->reserve || options->no_compute || options->estimate) {
        return false;
    }
    if (options->compute) {
        return true;
    }
    if (options->check && !expects_execution(run) && !cli_wants_values(options)) {
        return false;
    }
    const sr_layout *layout = sr_sched_layout(session->sched);
    const char *why = NULL;
    const int32_t node = find_no_kernel(layout, &why);
    if (node < 0) {
        return true;
    }
    if (!session->told_no_kernel && !options->quiet) {
        const sr_tensor *t = &layout->graph->tensors[node];
        cli_message("%s: run %d: not executed: '%s' cannot execute node '%s' (%s)%s%s", session->file, run->index,
                    layout->backends[layout->backend_of[node]]->name, t->name, sr_tensor_op_desc(t),
                    why != NULL ? ": " : "", why != NULL ? why : "");
        session->told_no_kernel = true;
    }
    return false;
}

sr_status cli_execute(cli_session *session, const sr_run *run, sr_error *err) {
    sr_status status = SR_OK;
    if (!should_execute(session, run)) {
        return SR_OK;
    }
    if (!session->buffers_set) {
        SR_TRY(sr_description_set_buffers(session->description, err));
        session->buffers_set = true;
    }
    SR_TRY(sr_description_set_inputs(session->description, run, &sr_sched_layout(session->sched)->view, err));
    if (cli_wants_values(session->options)) {
        SR_TRY(cli_values_begin(session, run, err));
    }
    session->executed_any = true;
    status = sr_sched_compute(session->sched, run->graph, err);
    if (cli_wants_values(session->options)) {
        status = cli_values_end(session, status, err);
    }
done:
    return status;
}
