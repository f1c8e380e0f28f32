/*
 * cmd_diff.c - sched-run diff: two descriptions, or one with two sets of options, run by run side by side.
 *
 * Layer: cli.  Nothing is executed.  A run that cannot be scheduled is compared by how it failed.
 */
#include "cli/cmd_run.h"

typedef struct comparison {
    cli_session a, b;
    const cli_options *options; /* of A: report options are the same for both */
    sr_sink body_sink;
    sr__str body;               /* the runs, which the head goes before */
    char **details;             /* what the text of each run says behind its first line */
    int n_details;
    size_t details_cap;
    cli_report report;
    int n_reported, n_differ;
} comparison;

static bool append_to_body(void *user, const char *text, size_t length) {
    sr__str_append(user, text, length);
    return !((sr__str *)user)->failed;
}

/* ---- one run ---------------------------------------------------------------------------------------------------- */

/* Keeps the details of a run; *out_like: an earlier run that has the same, -1. */
static bool keep_details(comparison *c, const char *text, int *out_like) {
    char *copy = sr__strdup(text);
    if (copy == NULL || !sr__grow(&c->details, &c->details_cap, (size_t)c->n_details + 1, sizeof(*c->details))) {
        sr__free(copy);
        return false;
    }
    *out_like = -1;
    for (int i = 0; i < c->n_details && text[0] != '\0' && *out_like < 0; i++) {
        *out_like = strcmp(c->details[i], text) == 0 ? i : -1;
    }
    c->details[c->n_details++] = copy;
    return true;
}

/* Runs often repeat one another: details that an earlier run has as well are not told again. */
static sr_status report_text(comparison *c, const sr_diff_result *result, sr_error *err) {
    sr__str text = {0};
    sr_sink sink = {.write = append_to_body, .user = &text};
    int like = -1;
    sr_status status;
    SR_TRY(sr_report_diff_text_run(result, &c->report.text, &sink, err));
    const size_t title = 1 + strcspn(sr__str_text(&text) + 1, "\n"); /* an empty line stands before it */
    if (text.failed || !keep_details(c, sr__str_text(&text) + title + 1, &like)) {
        status = sr__fail_memory(err);
        goto done;
    }
    sr__str_append(&c->body, sr__str_text(&text), like >= 0 ? title + 1 : text.length);
    if (like >= 0) {
        sr__str_printf(&c->body, "    as in run %d\n", like);
    }
done:
    sr__str_free(&text);
    return status;
}

static sr_status report_run(comparison *c, const sr_diff_result *result, sr_error *err) {
    sr__str dot = {0};
    sr_sink dot_sink = {.write = append_to_body, .user = &dot};
    const int number = c->n_reported++;
    sr_status status = SR_OK;
    if (c->options->quiet) {
        return SR_OK;
    }
    switch (c->options->format) {
    case CLI_JSON:
        return sr_report_diff_json_run(result, number == 0, &c->body_sink, err);
    case CLI_DOT:
        return sr_report_diff_dot(result, &c->report.text, &c->body_sink, err);
    case CLI_SVG:
        SR_TRY(sr_report_diff_dot(result, &c->report.text, &dot_sink, err));
        SR_TRY(cli_report_add_dot(&c->report, &dot, err));
        break;
    default:
        return report_text(c, result, err);
    }
done:
    sr__str_free(&dot);
    return status;
}

/* A run's own failure is compared; what ends everything is returned. */
static sr_status schedule(cli_session *session, const sr_run *run, sr_error *run_error, sr_error *err) {
    run_error->status = cli_schedule(session, run, run_error);
    if (run_error->status == SR_MEMORY) {
        return sr__fail_memory(err);
    }
    return SR_OK;
}

static const sr_layout *layout_of(const cli_session *session) {
    return session->sched != NULL ? sr_sched_layout(session->sched) : NULL;
}

static sr_status compare_run(comparison *c, int i, sr_error *err) {
    const sr_run *run_a = sr_description_run(c->a.description, i), *run_b = sr_description_run(c->b.description, i);
    sr_error error_a = {0}, error_b = {0};
    sr_diff diff = {0};
    sr_status status;
    SR_TRY(schedule(&c->a, run_a, &error_a, err));
    SR_TRY(schedule(&c->b, run_b, &error_b, err));
    SR_TRY(sr_diff_make(layout_of(&c->a), layout_of(&c->b), &diff, err));
    diff.differs = diff.differs || error_a.status != error_b.status;
    c->n_differ += diff.differs;
    const sr_diff_result result = {run_a, run_b, &error_a, &error_b, &diff};
    SR_TRY(report_run(c, &result, err));
done:
    sr_diff_clear(&diff);
    sr_error_clear(&error_a);
    sr_error_clear(&error_b);
    return status;
}

/* ---- all of them ------------------------------------------------------------------------------------------------ */

static sr_status compare_runs(comparison *c, sr_error *err) {
    const int n_a = sr_description_n_runs(c->a.description), n_b = sr_description_n_runs(c->b.description);
    sr_status status = SR_OK;
    for (int i = 0; i < n_a || i < n_b; i++) {
        if (cli_interrupted(NULL)) {
            return sr__fail(err, SR_ABORTED, "interrupted: run %d and later ones were not compared", i);
        }
        if (i < n_a && i < n_b) {
            SR_TRY(compare_run(c, i, err));
            continue;
        }
        const sr_diff_result result = {.run_a = i < n_a ? sr_description_run(c->a.description, i) : NULL,
                                       .run_b = i < n_b ? sr_description_run(c->b.description, i) : NULL};
        SR_TRY(report_run(c, &result, err));
    }
done:
    return status;
}

static void put_label(sr__str *label, const cli_options *options, const char *file) {
    sr__str_puts(label, file);
    sr__str_puts(label, sr__str_text(&options->label));
}

static sr_status write_report(comparison *c, cli_output *output, sr_error *err) {
    sr__str label_a = {0}, label_b = {0};
    sr_status status = SR_OK;
    sr_sink *sink = &output->sink;
    put_label(&label_a, c->a.options, c->a.file);
    put_label(&label_b, c->b.options, c->b.file);
    const sr_diff_head head = {.a = sr__str_text(&label_a), .b = sr__str_text(&label_b),
                               .n_runs_a = sr_description_n_runs(c->a.description),
                               .n_runs_b = sr_description_n_runs(c->b.description), .n_differ = c->n_differ};
    if (c->body.failed || label_a.failed || label_b.failed) {
        status = sr__fail_memory(err);
        goto done;
    }
    if (c->options->format == CLI_SVG) {
        SR_TRY(cli_report_write_pages(&c->report, err));
    } else if (c->options->format == CLI_JSON) {
        SR_TRY(sr_report_diff_json_begin(&head, sink, err));
    } else if (c->options->format == CLI_TEXT) {
        SR_TRY(sr_report_diff_text_begin(&head, &c->report.text, sink, err));
    }
    cli_print(output, sr__str_text(&c->body)); /* a failed write is told when the output is closed */
    if (c->options->format == CLI_JSON) {
        SR_TRY(sr_report_diff_json_end(sink, err));
    }
done:
    sr__str_free(&label_a);
    sr__str_free(&label_b);
    return status;
}

static sr_status compare(comparison *c, cli_output *output, sr_error *err) {
    sr_status status;
    c->body_sink = (sr_sink){.write = append_to_body, .user = &c->body};
    c->report = (cli_report){.options = c->options, .sink = &output->sink, .description = c->a.description,
                             .text = cli_report_options(c->options)};
    SR_TRY(compare_runs(c, err));
    if (!c->options->quiet) {
        SR_TRY(write_report(c, output, err));
    }
done:
    return status;
}

static bool check_files(const cli_options *options) {
    const char *const *files = options->files.texts;
    if (options->files.n == 1 && !options->sides_differ) {
        cli_message("nothing differs: diff takes two descriptions, or one and options that differ, "
                    "as --copies 1,4 or --only-b -P 'REGEX=BUFFER'");
        return false;
    }
    if (strcmp(files[0], "-") == 0 && strcmp(files[options->files.n - 1], "-") == 0) {
        cli_message("standard input can be read only once: put the description into a file");
        return false;
    }
    return true;
}

static void session_init(cli_session *session, const cli_options *options, const char *path) {
    *session = (cli_session){.options = options, .file = strcmp(path, "-") == 0 ? "standard input" : path,
                             .records = true};
}

static void session_free(cli_session *session) {
    sr_sched_free(session->sched);
    sr_description_free(session->description);
}

int cli_cmd_diff(const cli_options *options) {
    const char *path_a = options->files.texts[0], *path_b = options->files.texts[options->files.n - 1];
    comparison c = {.options = options};
    cli_output output;
    sr_error err = {0};
    if (!check_files(options)) {
        return sr_status_exit(SR_USAGE);
    }
    session_init(&c.a, options, path_a);
    session_init(&c.b, options->b, path_b);
    int exit_status = cli_load(path_a, options, false, &c.a.description);
    if (exit_status == 0 || strcmp(path_a, path_b) != 0) { /* what is wrong with one file is told once */
        exit_status = cli_worse(exit_status, cli_load(path_b, options->b, false, &c.b.description));
    }
    if (exit_status == 0) {
        cli_catch_interrupts();
        cli_output_init(&output, options->output);
        const sr_status status = compare(&c, &output, &err);
        const int n_a = sr_description_n_runs(c.a.description), n_b = sr_description_n_runs(c.b.description);
        if (status != SR_OK && !(status == SR_IO && output.failed)) {
            exit_status = cli_error(&err, c.a.file);
        } else {
            exit_status = c.n_differ > 0 || n_a != n_b ? sr_status_exit(SR_DIFFERS) : 0;
        }
        if (!cli_output_close(&output)) {
            exit_status = cli_worse(exit_status, sr_status_exit(SR_IO));
        }
    }
    sr_error_clear(&err);
    sr__str_free(&c.body);
    for (int i = 0; i < c.n_details; i++) {
        sr__free(c.details[i]);
    }
    sr__free(c.details);
    sr__str_free(&c.report.pages);
    session_free(&c.a);
    session_free(&c.b);
    return exit_status;
}
