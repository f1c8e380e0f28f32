/*
 * cmd_run.c - sched-run run: every run of every description on one scheduler each, reported as it is done.
 *
 * Layer: cli.  A run that fails is reported and the later ones go on; the exit status is the worst that happened.
 */
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "cli/cmd_run.h"
#include "report/report_out.h"

/* ---- progress -------------------------------------------------------------------------------------------------- */

/* Work that takes over two seconds shows how far it is, on a terminal. */
typedef struct progress { double start; bool shown; bool wanted; } progress;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void show_progress(progress *p, const char *file, int run, int n_runs) {
    if (p->wanted && now() - p->start > 2.0) {
        fprintf(stderr, "\r\x1b[Ksched-run: %s: run %d of %d", file, run + 1, n_runs);
        fflush(stderr);
        p->shown = true;
    }
}

static void clear_progress(progress *p) {
    if (p->shown) {
        fputs("\r\x1b[K", stderr);
        p->shown = false;
    }
}

/* ---- the scheduler --------------------------------------------------------------------------------------------- */

/* Times make every report another one: quiet ones do without. */
static bool shows_times(const cli_session *session) {
    const cli_format format = session->options->format;
    return session->reports && !session->options->quiet && !session->options->estimate &&
           (format == CLI_TEXT || format == CLI_JSON || format == CLI_JSONL || format == CLI_HTML);
}

sr_sched_params cli_sched_params(const cli_session *session) {
    const cli_options *options = session->options;
    const sr_sched_settings settings = sr_description_settings(session->description);
    sr_sched_params params;
    sr_sched_params_init(&params);
    if (options->rules != NULL) {
        sr_sched_params_set_rules(&params, options->rules);
    }
    params.graph_size = settings.graph_size;
    params.n_copies = options->copies > 0 ? options->copies : settings.n_copies;
    params.op_offload = settings.op_offload && !options->no_op_offload;
    params.record_decisions = session->records;
    params.record_decisions |= session->reports && (options->format == CLI_TEXT || options->explains.n > 0 ||
                                                   options->steps);
    if (options->max_split_inputs > 0 || settings.max_split_inputs > 0) {
        params.max_split_inputs =
            options->max_split_inputs > 0 ? options->max_split_inputs : settings.max_split_inputs;
    }
    if (options->max_backends > 0) {
        params.max_backends = options->max_backends;
    }
    return params;
}

static sr_status make_sched(cli_session *session, sr_error *err) {
    const cli_options *options = session->options;
    const sr_machine *machine = sr_description_machine(session->description);
    const sr_sched_params params = cli_sched_params(session);
    for (int b = 0; b < machine->n_backends && options->threads > 0; b++) {
        sr_backend_set_threads(machine->backends[b], options->threads);
    }
    sr_status status;
    SR_TRY(sr_sched_new(machine->backends, NULL, machine->n_backends, &params, &session->sched, err));
    sr_sched_set_abort_callback(session->sched, cli_interrupted, NULL);
    if (session->trace_file != NULL || shows_times(session) || (options->estimate && options->format == CLI_HTML)) {
        SR_TRY(sr_trace_new(&session->trace, err));
        sr_sched_set_trace(session->sched, session->trace);
    }
done:
    return status;
}

/* The scheduler is made by the first run that can have one: not getting one is an error of each run. */
sr_status cli_schedule(cli_session *session, const sr_run *run, sr_error *err) {
    sr_status status = SR_OK;
    if (session->sched == NULL) {
        SR_TRY(make_sched(session, err));
    }
    sr_sched_reset(session->sched);
    for (int i = 0; i < run->n_assignments; i++) {
        const sr_assignment *a = &run->assignments[i];
        SR_TRY(sr_sched_set_tensor_backend(session->sched, run->graph, a->tensor, a->backend, err));
    }
    if (run->reserve) {
        SR_TRY(sr_sched_reserve(session->sched, run->graph, err));
    } else {
        SR_TRY(sr_sched_alloc_graph(session->sched, run->graph, err));
    }
done:
    return status;
}

/* ---- one run --------------------------------------------------------------------------------------------------- */

void cli_worsen(cli_session *session, int exit_status) {
    session->exit_status = cli_worse(session->exit_status, exit_status);
}

static void judge_reallocation(cli_session *session, const sr_run *run) {
    const sr_layout *layout = sr_sched_layout(session->sched);
    const int level = session->options->realloc_level;
    if (run->reserve || !layout->reallocated || level == 0 || (level == 1 && !layout->unexpected)) {
        return;
    }
    char reason[SR_MISFIT_TEXT];
    sr_misfit_text(layout, reason);
    cli_message("%s: run %d: %s reallocation (graph size %" PRId64 ", nodes %d, leafs %d): %s", session->file,
                run->index, layout->unexpected ? "unexpected" : "graph", layout->graph_copy_size,
                (int)layout->view.n_nodes, (int)layout->view.n_leafs, reason);
    cli_worsen(session, sr_status_exit(SR_DIFFERS));
}

static void judge_error(cli_session *session, const sr_run *run, const sr_error *error) {
    const bool expected = session->options->check && run->expect != NULL && run->expect->has_error;
    if (error->status == SR_OK || expected) {
        return;
    }
    if (session->options->check) {
        cli_worsen(session, sr_status_exit(error->status)); /* the check tells of it */
    } else {
        cli_worsen(session, cli_run_error(error, session->file, run->index));
    }
}

/* Where the time of the run went. */
static sr_status sum_up(cli_session *session, const sr_error *run_error, sr_trace_summary *times, sr_error *err) {
    const bool tells = run_error->status == SR_OK || run_error->status == SR_ABORTED;
    const sr_machine *machine = sr_description_machine(session->description);
    if (session->trace == NULL || !shows_times(session) || !tells) {
        return SR_OK;
    }
    return sr_trace_summarize(session->trace, machine->backends, machine->n_backends, times, err);
}

/* The whole run encloses its execution in the trace; without a file for it, it is done with. */
static void end_trace(cli_session *session, const sr_run *run, uint64_t begin) {
    char name[64];
    snprintf(name, sizeof(name), "run %d", run->index);
    const sr_trace_event event = {.kind = SR_TRACE_RUN, .name = name, .split = -1, .begin = begin,
                                  .end = sr_trace_now()};
    if (session->trace != NULL && session->trace_file == NULL) {
        sr_trace_clear(session->trace);
    } else if (session->trace != NULL && !session->options->estimate) {
        sr_trace_add(session->trace, &event);
    }
}

static sr_status report_run(cli_session *session, const sr_run *run, const sr_error *run_error,
                            const sr_trace_summary *times, sr_error *err) {
    const sr_layout *layout = session->sched != NULL ? sr_sched_layout(session->sched) : NULL;
    sr_run_result result = {.run = run, .layout = layout, .error = run_error, .times = times,
                            .values = session->values.shown, .n_values = session->values.n_shown,
                            .findings = cli_findings(session),
                            .trace = shows_times(session) || session->options->estimate ? session->trace : NULL};
    cli_insight_fill(session, &result);
    sr_status status = SR_OK;
    if (session->reports) {
        SR_TRY(cli_report_run(&session->report, &result, err));
    }
    if (session->options->check) {
        SR_TRY(sr_check_run(&session->check, run, layout, run_error, cli_findings(session), err));
    }
done:
    return status;
}

/* Schedules, executes, reports and checks; what went wrong with reporting itself is returned. */
static sr_status one_run(cli_session *session, const sr_run *run, sr_error *err) {
    sr_status status = SR_OK;
    sr_error run_error = {0};
    sr_trace_summary times = {0};
    const uint64_t begin = sr_trace_now();
    run_error.status = cli_schedule(session, run, &run_error);
    SR_TRY(cli_insight_make(session, run, run_error.status, err));
    if (run_error.status == SR_OK) {
        judge_reallocation(session, run);
        run_error.status = cli_execute(session, run, &run_error);
    }
    judge_error(session, run, &run_error);
    SR_TRY(sum_up(session, &run_error, &times, err));
    SR_TRY(cli_lint(session, run, &run_error, err));
    SR_TRY(report_run(session, run, &run_error, &times, err));
    end_trace(session, run, begin);
done:
    cli_values_clear(&session->values);
    cli_insight_clear(&session->insight);
    sr_findings_clear(&session->findings);
    sr_trace_summary_clear(&times);
    sr_error_clear(&run_error);
    return status;
}

/* ---- one description ------------------------------------------------------------------------------------------- */

/* "NAME: " and the rest of a line; names may hold anything, so that the line is made safe to show. */
static void put_check_line(cli_session *session, cli_output *output, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void put_check_line(cli_session *session, cli_output *output, const char *fmt, ...) {
    sr__str line = {0};
    sr__str shown = {0};
    va_list args;
    va_start(args, fmt);
    sr__str_printf(&line, "%s: ", sr_description_name(session->description));
    sr__str_vprintf(&line, fmt, args);
    va_end(args);
    sr__put_name(&shown, sr__str_text(&line));
    sr__str_puts(&shown, "\n");
    if (session->reports) {
        fputs(sr__str_text(&shown), stderr);
    } else {
        cli_print(output, sr__str_text(&shown));
    }
    sr__str_free(&line);
    sr__str_free(&shown);
}

/* "NAME: ok (2 runs, 120 checks)", or the differences: the report of --check, or a message where there is a report. */
static void tell_check(cli_session *session, cli_output *output) {
    const sr_check *check = &session->check;
    const int n_runs = sr_description_n_runs(session->description);
    if (check->n_differences > 0) {
        cli_worsen(session, sr_status_exit(SR_DIFFERS));
    }
    if (session->options->quiet) {
        return;
    }
    for (int i = 0; i < check->n_messages; i++) {
        put_check_line(session, output, "%s", check->messages[i]);
    }
    if (check->n_differences > check->n_messages) {
        put_check_line(session, output, "and %" PRId64 " more", check->n_differences - check->n_messages);
    }
    char found[64] = "ok";
    if (cli_interrupted(NULL)) {
        snprintf(found, sizeof(found), "interrupted");
    }
    if (check->n_differences > 0) {
        snprintf(found, sizeof(found), "%" PRId64 " difference%s", check->n_differences,
                 check->n_differences == 1 ? "" : "s");
    }
    put_check_line(session, output, "%s (%d run%s, %" PRId64 " check%s)", found, n_runs, n_runs == 1 ? "" : "s",
                   check->n_checks, check->n_checks == 1 ? "" : "s");
}

/* An interruption ends what is being run, and the runs after it. */
static bool stopped_before(cli_session *session, int run) {
    if (!cli_interrupted(NULL)) {
        return false;
    }
    cli_message("%s: interrupted: run %d and later ones were not made", session->file, run);
    cli_worsen(session, sr_status_exit(SR_ABORTED));
    return true;
}

static sr_status all_runs(cli_session *session, cli_output *output, sr_error *err) {
    sr_status status = SR_OK;
    const int n_runs = sr_description_n_runs(session->description);
    progress p = {.start = now(), .wanted = !session->options->quiet && isatty(STDERR_FILENO) != 0};
    if (session->reports) {
        SR_TRY(cli_report_begin(&session->report, session->description, session->options, &output->sink, err));
    }
    for (int i = 0; i < n_runs && !stopped_before(session, i); i++) {
        show_progress(&p, session->file, i, n_runs);
        SR_TRY(one_run(session, sr_description_run(session->description, i), err));
    }
    clear_progress(&p);
    if (session->options->check) {
        tell_check(session, output);
    }
done:
    clear_progress(&p);
    if (session->reports) {
        session->report.history = session->insight.history;
        const sr_status ended = cli_report_end(&session->report, status == SR_OK ? err : NULL);
        status = status != SR_OK ? status : ended;
    }
    return status;
}

static sr_status run_file(cli_session *session, cli_output *output, sr_error *err) {
    sr_status status;
    if (session->options->compare != NULL) {
        return cli_compare(session, output, err);
    }
    if (session->options->rules_all) {
        return cli_compare_rules(session, output, err);
    }
    SR_TRY(all_runs(session, output, err));
    if (cli_wants_values(session->options) && !session->executed_any && session->exit_status == 0) {
        cli_message("%s: nothing was executed: there are no values to show", session->file);
    }
    if (session->trace_file != NULL && session->trace != NULL) {
        SR_TRY(sr_report_trace(session->trace_file, session->trace, session->description, err));
    }
done:
    return status;
}

static void session_free(cli_session *session) {
    cli_values_free(&session->values);
    cli_insight_free(&session->insight);
    sr_check_clear(&session->check);
    sr_lint_history_free(session->history);
    sr_sched_free(session->sched);
    sr_description_free(session->description);
    sr_trace_free(session->trace); /* queues of the description's backends may write to it */
}

/* A failed write is told when the file is closed. */
static bool is_told_later(sr_status status, const sr_trace_report *trace, const cli_output *output) {
    const cli_output *to = trace != NULL ? trace->sink->user : output;
    return status == SR_IO && (output->failed || to->failed);
}

static int one_file(int number, const cli_options *options, sr_trace_report *trace, cli_output *output) {
    const char *path = options->files.texts[number];
    cli_session session = {.options = options, .file = strcmp(path, "-") == 0 ? "standard input" : path,
                           .number = number, .trace_file = trace,
                           .check = {.outputs_only = options->check_outputs}};
    session.reports = !options->check || options->format_given;
    if (options->sweeps.n > 0) {
        cli_catch_interrupts();
        return cli_sweep(&session, path, output);
    }
    const int loaded = cli_load(path, options, false, &session.description);
    if (loaded != 0) {
        return loaded;
    }
    cli_catch_interrupts();
    if (!cli_values_check(&session) || !cli_insight_check(&session)) {
        session_free(&session);
        return sr_status_exit(SR_USAGE);
    }
    sr_error err = {0};
    const sr_status status = run_file(&session, output, &err);
    if (status != SR_OK && !is_told_later(status, trace, output)) {
        cli_worsen(&session, cli_error(&err, session.file));
    }
    sr_error_clear(&err);
    session_free(&session);
    return session.exit_status;
}

int cli_cmd_run(const cli_options *options) {
    int exit_status = 0;
    cli_output output, trace_output;
    cli_output_init(&output, options->output);
    cli_output_init(&trace_output, options->trace);
    sr_trace_report trace = {.sink = &trace_output.sink};
    if (options->trace != NULL) {
        sr_report_trace_begin(&trace, NULL); /* a failed write is told when the file is closed */
    }
    for (int i = 0; i < options->files.n && !output.failed && !trace_output.failed && !cli_interrupted(NULL); i++) {
        exit_status = cli_worse(exit_status, one_file(i, options, options->trace ? &trace : NULL, &output));
    }
    if (options->trace != NULL) {
        sr_report_trace_end(&trace, NULL);
    }
    const bool written = cli_output_close(&output), trace_written = cli_output_close(&trace_output);
    if (!written || !trace_written) {
        exit_status = cli_worse(exit_status, sr_status_exit(SR_IO));
    }
    return exit_status;
}
