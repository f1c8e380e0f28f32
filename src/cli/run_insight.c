/*
 * run_insight.c - what --explain, --steps, --memory and --estimate show of a run, and the story of its memory from run
 * to run.
 *
 * Layer: cli.
 */
#include "cli/cmd_run.h"

static bool writes_words(const cli_session *session) {
    const cli_format format = session->options->format;
    return session->reports && (format == CLI_TEXT || format == CLI_JSON || format == CLI_JSONL ||
                                format == CLI_HTML);
}

static bool is_all(const cli_session *session, const char *text) {
    return strcmp(text, "all") == 0 && !cli_tensor_occurs(session->description, text);
}

bool cli_insight_check(cli_session *session) {
    const cli_texts *explains = &session->options->explains;
    for (int i = 0; i < explains->n; i++) {
        if (!is_all(session, explains->texts[i]) && !cli_tensor_occurs(session->description, explains->texts[i])) {
            cli_tell_no_tensor(session, "--explain", explains->texts[i]);
            return false;
        }
    }
    return true;
}

/* ---- explanations ---------------------------------------------------------------------------------------------- */

static sr_status explain(cli_insight *insight, int32_t tensor, sr_error *err) {
    if (!sr__grow(&insight->explanations, &insight->explanations_cap, (size_t)insight->n_explanations + 1,
                  sizeof(*insight->explanations))) {
        return sr__fail_memory(err);
    }
    const sr_status status =
        sr_explain(insight->explainer, tensor, &insight->explanations[insight->n_explanations], err);
    insight->n_explanations += status == SR_OK;
    return status;
}

/* In the order in which they were asked for; of all, nodes before leafs. */
static sr_status explain_asked(cli_session *session, const char *text, const sr_graph *graph, sr_error *err) {
    const bool all = is_all(session, text);
    sr_status status = SR_OK;
    for (int32_t i = 0; i < graph->n_nodes && status == SR_OK; i++) {
        if (all || cli_tensor_is_meant(graph, graph->nodes[i], text)) {
            status = explain(&session->insight, graph->nodes[i], err);
        }
    }
    for (int32_t i = 0; i < graph->n_leafs && status == SR_OK; i++) {
        if (all || cli_tensor_is_meant(graph, graph->leafs[i], text)) {
            status = explain(&session->insight, graph->leafs[i], err);
        }
    }
    return status;
}

/* A schedule that failed before it assigned anything has nothing to explain: its error says why. */
static sr_status make_explanations(cli_session *session, const sr_run *run, const sr_layout *layout, sr_error *err) {
    const cli_options *options = session->options;
    sr_status status;
    if (!session->reports || (options->explains.n == 0 && !options->steps)) {
        return SR_OK;
    }
    status = sr_explainer_new(layout, &session->insight.explainer, err);
    if (status == SR_UNAVAILABLE) {
        sr_error_clear(err);
        return SR_OK;
    }
    for (int i = 0; i < options->explains.n && status == SR_OK; i++) {
        status = explain_asked(session, options->explains.texts[i], run->graph, err);
    }
    return status;
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static sr_status measure_copies(cli_session *session, const sr_run *run, sr_error *err) {
    const cli_options *options = session->options;
    cli_insight *insight = &session->insight;
    const sr_machine *machine = sr_description_machine(session->description);
    const sr_sched_params params = cli_sched_params(session);
    sr_copies_user *users = sr__calloc((size_t)run->n_assignments + 1, sizeof(*users));
    sr_status status = SR_OK;
    insight->copies = sr__calloc((size_t)options->n_copies_list, sizeof(*insight->copies));
    if (users == NULL || insight->copies == NULL) {
        SR_TRY(sr__fail_memory(err));
    }
    for (int i = 0; i < run->n_assignments; i++) {
        users[i] = (sr_copies_user){run->assignments[i].tensor, run->assignments[i].backend};
    }
    for (int i = 0; i < options->n_copies_list; i++) {
        SR_TRY(sr_copies_measure(machine->backends, machine->n_backends, &params, run->graph, users,
                                 run->n_assignments, options->copies_list[i], &insight->copies[i], err));
        insight->n_copies++;
    }
done:
    sr__free(users);
    return status;
}

static sr_status make_memory(cli_session *session, const sr_run *run, const sr_layout *layout, sr_error *err) {
    cli_insight *insight = &session->insight;
    if (!session->reports || !session->options->memory || !sr_layout_has_splits(layout)) {
        return SR_OK;
    }
    const sr_status status = sr_memory_plan_make(layout, &insight->memory, err);
    insight->has_memory = status == SR_OK;
    if (status == SR_ALLOCATION) {
        sr_error_clear(err); /* no chunk holds it: the run's own error tells */
        return SR_OK;
    }
    return status == SR_OK && session->options->n_copies_list > 1 ? measure_copies(session, run, err) : status;
}

/* ---- estimates ------------------------------------------------------------------------------------------------- */

static sr_status make_estimate(cli_session *session, const sr_run *run, const sr_layout *layout, sr_error *err) {
    cli_insight *insight = &session->insight;
    const int n_batches = session->options->batches > 0 ? session->options->batches : 1;
    sr_status status = SR_OK;
    if (!session->options->estimate || !sr_layout_has_splits(layout)) {
        return SR_OK;
    }
    SR_TRY(sr_estimate_make(layout, n_batches, &insight->estimate, err));
    insight->has_estimate = true;
    SR_TRY(sr_offload_gains(layout, &insight->gains, &insight->n_gains, err));
    if (session->trace != NULL) {
        char name[64];
        snprintf(name, sizeof(name), "run %d", run->index);
        sr_estimate_tell(&insight->estimate, layout, name, session->estimated, session->trace);
        session->estimated += insight->estimate.total;
    }
done:
    return status;
}

/* ---- a run ----------------------------------------------------------------------------------------------------- */

sr_status cli_insight_make(cli_session *session, const sr_run *run, sr_status scheduled, sr_error *err) {
    cli_insight *insight = &session->insight;
    const sr_layout *layout = session->sched != NULL ? sr_sched_layout(session->sched) : NULL;
    sr_status status = SR_OK;
    /* a run that failed before its schedule began leaves the layout of another one */
    if (layout == NULL || layout->graph != run->graph || layout->status != scheduled) {
        return SR_OK;
    }
    if (writes_words(session)) {
        if (insight->history == NULL) {
            SR_TRY(sr_realloc_history_new(&insight->history, err));
        }
        SR_TRY(sr_realloc_add(insight->history, run->index, layout, &insight->reallocation, err));
        insight->has_reallocation = true;
    }
    SR_TRY(make_explanations(session, run, layout, err));
    SR_TRY(make_memory(session, run, layout, err));
    SR_TRY(make_estimate(session, run, layout, err));
done:
    return status;
}

void cli_insight_fill(const cli_session *session, sr_run_result *result) {
    const cli_insight *insight = &session->insight;
    result->explanations = insight->explanations;
    result->n_explanations = insight->n_explanations;
    result->steps = session->options->steps ? insight->explainer : NULL;
    result->memory = insight->has_memory ? &insight->memory : NULL;
    result->copies = insight->copies;
    result->n_copies = insight->n_copies;
    result->estimate = insight->has_estimate ? &insight->estimate : NULL;
    result->gains = insight->gains;
    result->n_gains = insight->n_gains;
    result->reallocation = insight->has_reallocation ? &insight->reallocation : NULL;
}

void cli_insight_clear(cli_insight *insight) {
    for (int i = 0; i < insight->n_explanations; i++) {
        sr_explanation_clear(&insight->explanations[i]);
    }
    for (int i = 0; i < insight->n_copies; i++) {
        sr_copies_row_clear(&insight->copies[i]);
    }
    sr__free(insight->copies);
    sr_explainer_free(insight->explainer);
    sr_memory_plan_clear(&insight->memory);
    sr_reallocation_clear(&insight->reallocation);
    sr_estimate_clear(&insight->estimate);
    sr_offload_gains_free(insight->gains);
    insight->gains = NULL;
    insight->n_gains = 0;
    insight->has_estimate = false;
    insight->n_explanations = 0;
    insight->n_copies = 0;
    insight->copies = NULL;
    insight->explainer = NULL;
    insight->has_memory = false;
    insight->has_reallocation = false;
}

void cli_insight_free(cli_insight *insight) {
    cli_insight_clear(insight);
    sr_realloc_history_free(insight->history);
    sr__free(insight->explanations);
}
