/*
 * run_values.c - --print and --dump: the values of tensors, taken right after they were computed.
 *
 * Layer: cli.  Memory is used again by later nodes, so the scheduler's callback is the only moment to look.
 */
#include <errno.h>
#include <sys/stat.h>

#include "cli/cmd_run.h"

enum { LONGEST_NAME = 100 }; /* bytes of a tensor's name in a file's */

/* ---- which tensors --------------------------------------------------------------------------------------------- */

bool cli_tensor_is_meant(const sr_graph *graph, int32_t tensor, const char *text) {
    const sr_tensor *t = &graph->tensors[tensor];
    return sr_graph_find(graph, text) >= 0 ? strcmp(t->id, text) == 0 : strcmp(t->name, text) == 0;
}

static bool occurs(const sr_graph *graph, const char *text) {
    bool found = sr_graph_find(graph, text) >= 0;
    for (int32_t i = 0; i < graph->n_tensors && !found; i++) {
        found = strcmp(graph->tensors[i].name, text) == 0;
    }
    return found;
}

/* The name in any of the graphs that is most like the text, or NULL. */
static const char *nearest_name(const sr_description *description, const char *text) {
    const char *near = NULL;
    for (int r = 0; r < sr_description_n_runs(description) && near == NULL; r++) {
        const sr_graph *graph = sr_description_run(description, r)->graph;
        const char **names = sr__malloc(((size_t)graph->n_tensors + 1) * sizeof(*names));
        for (int32_t i = 0; names != NULL && i < graph->n_tensors; i++) {
            names[i] = graph->tensors[i].id;
        }
        near = names != NULL ? sr__nearest(text, names, graph->n_tensors) : NULL;
        sr__free(names);
    }
    return near;
}

bool cli_tensor_occurs(const sr_description *description, const char *text) {
    bool found = false;
    for (int r = 0; r < sr_description_n_runs(description) && !found; r++) {
        found = occurs(sr_description_run(description, r)->graph, text);
    }
    return found;
}

void cli_tell_no_tensor(const cli_session *session, const char *option, const char *text) {
    const char *near = nearest_name(session->description, text);
    cli_message("%s: %s: there is no tensor '%s'%s%s%s", session->file, option, text,
                near != NULL ? ", did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
}

bool cli_values_check(cli_session *session) {
    const cli_options *options = session->options;
    for (int i = 0; i < options->prints.n; i++) {
        if (!cli_tensor_occurs(session->description, options->prints.texts[i])) {
            cli_tell_no_tensor(session, "--print", options->prints.texts[i]);
            return false;
        }
    }
    if (options->dump != NULL && mkdir(options->dump, 0777) != 0 && errno != EEXIST) {
        cli_message("--dump: '%s' cannot be made: %s", options->dump, strerror(errno));
        return false;
    }
    return true;
}

static bool has_contents(const sr_tensor *t) {
    return t->op != SR_OP_NONE && !sr_op_is_view(t->op) && (t->flags & SR_FLAG_COMPUTE) != 0 && !sr_tensor_is_empty(t);
}

static sr_status choose(cli_session *session, const sr_graph *graph, sr_error *err) {
    cli_values *values = &session->values;
    const cli_texts *prints = &session->options->prints;
    if (!sr__grow(&values->wanted, &values->wanted_cap, (size_t)graph->n_tensors + 1, sizeof(*values->wanted))) {
        return sr__fail_memory(err);
    }
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        values->wanted[i] = prints->n == 0 && has_contents(&graph->tensors[i]);
        for (int k = 0; k < prints->n; k++) {
            values->wanted[i] |= cli_tensor_is_meant(graph, i, prints->texts[k]);
        }
    }
    return SR_OK;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

/* "DIR/run0_0012_name.npy": run and node make it unique, the name is for people. */
static void put_path(sr__str *path, const cli_session *session, const sr_tensor *t) {
    const char *name = t->name[0] != '\0' ? t->name : t->id;
    sr__str_printf(path, "%s/", session->options->dump);
    if (session->options->files.n > 1) {
        sr__str_printf(path, "file%d_", session->number);
    }
    sr__str_printf(path, "run%d_", session->values.run->index);
    if (t->node >= 0) {
        sr__str_printf(path, "%04d_", (int)t->node);
    } else {
        sr__str_printf(path, "leaf%td_", t - session->values.run->graph->tensors);
    }
    for (int i = 0; name[i] != '\0' && i < LONGEST_NAME; i++) {
        const char c = name[i];
        const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          strchr("._-", c) != NULL;
        sr__str_append(path, safe ? &c : "_", 1);
    }
    sr__str_puts(path, ".npy");
}

static sr_status dump(const cli_session *session, const sr_value *value, sr_error *err) {
    const sr_tensor *t = &session->values.run->graph->tensors[sr_value_tensor(value)];
    sr__str path = {0};
    cli_output output;
    put_path(&path, session, t);
    if (path.failed) {
        sr__str_free(&path);
        return sr__fail_memory(err);
    }
    cli_output_init(&output, sr__str_text(&path));
    sr_status status = sr_report_npy(value, &output.sink, err);
    if (!cli_output_close(&output)) {
        status = sr__fail(err, SR_IO, "'%s' cannot be written", sr__str_text(&path));
    }
    sr__str_free(&path);
    return status;
}

/* ---- taking ---------------------------------------------------------------------------------------------------- */

static sr_status take(cli_session *session, const sr_graph_view *view, int32_t tensor, sr_error *err) {
    cli_values *values = &session->values;
    sr_value *value = NULL;
    sr_status status;
    SR_TRY(sr_value_take(view, tensor, &value, err));
    if (session->options->dump != NULL) {
        SR_TRY(dump(session, value, err));
    }
    if (session->options->prints.n > 0 && session->reports) {
        if (!sr__grow(&values->shown, &values->shown_cap, (size_t)values->n_shown + 1, sizeof(*values->shown))) {
            SR_TRY(sr__fail_memory(err));
        }
        values->shown[values->n_shown++] = value;
        value = NULL;
    }
done:
    sr_value_free(value);
    return status;
}

static bool observe(const sr_graph_view *view, int32_t tensor, bool ask, void *user) {
    cli_session *session = user;
    cli_values *values = &session->values;
    if (ask) {
        return values->wanted[tensor] && (view->graph->tensors[tensor].flags & SR_FLAG_COMPUTE) != 0;
    }
    values->error.status = take(session, view, tensor, &values->error);
    return values->error.status == SR_OK;
}

/* The scheduler goes on with the next split when an observer has seen enough: this ends all of it. */
static bool stop(void *user) {
    return cli_interrupted(NULL) || ((cli_session *)user)->values.error.status != SR_OK;
}

sr_status cli_values_begin(cli_session *session, const sr_run *run, sr_error *err) {
    const sr_graph_view *view = &sr_sched_layout(session->sched)->view;
    sr_status status;
    session->values.run = run;
    SR_TRY(choose(session, run->graph, err));
    for (int32_t i = 0; i < run->graph->n_tensors; i++) {
        if (session->values.wanted[i] && run->graph->tensors[i].op == SR_OP_NONE) {
            SR_TRY(take(session, view, i, err));
        }
    }
    sr_sched_set_eval_callback(session->sched, observe, session);
    sr_sched_set_abort_callback(session->sched, stop, session);
done:
    return status;
}

sr_status cli_values_end(cli_session *session, sr_status status, sr_error *err) {
    cli_values *values = &session->values;
    sr_sched_set_eval_callback(session->sched, NULL, NULL);
    sr_sched_set_abort_callback(session->sched, cli_interrupted, NULL);
    if (values->error.status == SR_OK) {
        return status;
    }
    const sr_status failed = values->error.status;
    sr_error_clear(err);
    *err = values->error;
    values->error = (sr_error){0};
    return failed;
}

void cli_values_clear(cli_values *values) {
    for (int i = 0; i < values->n_shown; i++) {
        sr_value_free(values->shown[i]);
    }
    values->n_shown = 0;
    sr_error_clear(&values->error);
}

void cli_values_free(cli_values *values) {
    cli_values_clear(values);
    sr__free(values->shown);
    sr__free(values->wanted);
}
