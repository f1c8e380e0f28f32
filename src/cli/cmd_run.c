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

/* ---- progress --------------------------------------------------------------------------------------------------- */

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

/* ---- the scheduler ---------------------------------------------------------------------------------------------- */

static sr_status make_sched(cli_session *session, sr_error *err) {
    const cli_options *options = session->options;
    const sr_machine *machine = sr_description_machine(session->description);
    const sr_sched_settings settings = sr_description_settings(session->description);
    sr_sched_params params;
    sr_sched_params_init(&params);
    params.graph_size = settings.graph_size;
    params.n_copies = options->copies > 0 ? options->copies : settings.n_copies;
    params.op_offload = settings.op_offload && !options->no_op_offload;
    params.record_decisions = session->reports && options->format == CLI_TEXT;
    if (options->max_split_inputs > 0) {
        params.max_split_inputs = options->max_split_inputs;
    }
    if (options->max_backends > 0) {
        params.max_backends = options->max_backends;
    }
    for (int b = 0; b < machine->n_backends && options->threads > 0; b++) {
        sr_backend_set_threads(machine->backends[b], options->threads);
    }
    return sr_sched_new(machine->backends, NULL, machine->n_backends, &params, &session->sched, err);
}

/* The scheduler is made by the first run that can have one: not getting one is an error of each run. */
static sr_status schedule(cli_session *session, const sr_run *run, sr_error *err) {
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

/* ---- one run ---------------------------------------------------------------------------------------------------- */

static void worsen(cli_session *session, int exit_status) {
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
    worsen(session, sr_status_exit(SR_DIFFERS));
}

static void judge_error(cli_session *session, const sr_run *run, const sr_error *error) {
    const bool expected = session->options->check && run->expect != NULL && run->expect->has_error;
    if (error->status == SR_OK || expected) {
        return;
    }
    if (session->options->check) {
        worsen(session, sr_status_exit(error->status)); /* the check tells of it */
    } else {
        worsen(session, cli_run_error(error, session->file, run->index));
    }
}

/* Schedules, executes, reports and checks; what went wrong with reporting itself is returned. */
static sr_status one_run(cli_session *session, const sr_run *run, sr_error *err) {
    sr_status status = SR_OK;
    sr_error run_error = {0};
    run_error.status = schedule(session, run, &run_error);
    if (run_error.status == SR_OK) {
        judge_reallocation(session, run);
        run_error.status = cli_execute(session, run, &run_error);
    }
    judge_error(session, run, &run_error);
    const sr_layout *layout = session->sched != NULL ? sr_sched_layout(session->sched) : NULL;
    const sr_run_result result = {.run = run, .layout = layout, .error = &run_error};
    if (session->reports) {
        SR_TRY(cli_report_run(&session->report, &result, err));
    }
    if (session->options->check) {
        SR_TRY(sr_check_run(&session->check, run, layout, &run_error, NULL, err));
    }
done:
    sr_error_clear(&run_error);
    return status;
}

/* ---- one description -------------------------------------------------------------------------------------------- */

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
        worsen(session, sr_status_exit(SR_DIFFERS));
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
    if (check->n_differences > 0) {
        snprintf(found, sizeof(found), "%" PRId64 " difference%s", check->n_differences,
                 check->n_differences == 1 ? "" : "s");
    }
    put_check_line(session, output, "%s (%d run%s, %" PRId64 " check%s)", found, n_runs, n_runs == 1 ? "" : "s",
                   check->n_checks, check->n_checks == 1 ? "" : "s");
}

static sr_status all_runs(cli_session *session, cli_output *output, sr_error *err) {
    sr_status status = SR_OK;
    const int n_runs = sr_description_n_runs(session->description);
    progress p = {.start = now(), .wanted = !session->options->quiet && isatty(STDERR_FILENO) != 0};
    if (session->reports) {
        SR_TRY(cli_report_begin(&session->report, session->description, session->options, &output->sink, err));
    }
    for (int i = 0; i < n_runs; i++) {
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
        const sr_status ended = cli_report_end(&session->report, status == SR_OK ? err : NULL);
        status = status != SR_OK ? status : ended;
    }
    return status;
}

static int one_file(const char *path, const cli_options *options, cli_output *output) {
    cli_session session = {.options = options, .file = strcmp(path, "-") == 0 ? "standard input" : path};
    session.reports = !options->check || options->format_given;
    const int loaded = cli_load(path, options, false, &session.description);
    if (loaded != 0) {
        return loaded;
    }
    sr_error err = {0};
    const sr_status status = all_runs(&session, output, &err);
    /* a failed write is told when the output is closed */
    if (status != SR_OK && !(status == SR_IO && output->failed)) {
        worsen(&session, cli_error(&err, session.file));
    }
    sr_error_clear(&err);
    sr_check_clear(&session.check);
    sr_sched_free(session.sched);
    sr_description_free(session.description);
    return session.exit_status;
}

int cli_cmd_run(const cli_options *options) {
    int exit_status = 0;
    cli_output output;
    cli_output_init(&output, options->output);
    for (int i = 0; i < options->files.n && !output.failed; i++) {
        exit_status = cli_worse(exit_status, one_file(options->files.texts[i], options, &output));
    }
    if (!cli_output_close(&output)) {
        exit_status = cli_worse(exit_status, sr_status_exit(SR_IO));
    }
    return exit_status;
}
