/*
 * run_lint.c - the findings of a run: who wants to know of them, and --fail-on.
 *
 * Layer: cli.
 */
#include "cli/cmd_run.h"

int cli_list_findings(void) {
    for (const sr_lint *lint = sr_lints(); lint->kind != NULL; lint++) {
        printf("%-13s %s\n", lint->kind, lint->summary);
    }
    printf("\nA severity (info, warning, error) stands for every finding that is at least so grave.\n");
    return fflush(stdout) == 0 ? 0 : sr_status_exit(SR_IO);
}

/* The reference's log has no place for findings. */
static bool is_wanted(const cli_session *session, const sr_run *run) {
    const cli_options *options = session->options;
    const bool expected = run->expect != NULL && (run->expect->n_findings > 0 || run->expect->n_no_findings > 0);
    return options->fail_on != NULL || (session->reports && options->format != CLI_GGML) ||
           (options->check && expected);
}

const sr_findings *cli_findings(const cli_session *session) {
    return session->history != NULL ? &session->findings : NULL;
}

/* Whether a list with commas has a word. */
static bool has_word(const char *list, const char *word) {
    const size_t n = strlen(word);
    for (const char *p = list; *p != '\0'; p += strcspn(p, ","), p += *p == ',') {
        if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0')) {
            return true;
        }
    }
    return false;
}

static bool is_failure(const char *list, const sr_finding *f) {
    bool failure = has_word(list, f->kind);
    for (int s = SR_SEVERITY_INFO; s <= (int)f->severity; s++) {
        failure |= has_word(list, sr_severity_name((sr_severity)s));
    }
    return failure;
}

static void judge(cli_session *session, const sr_run *run) {
    for (int i = 0; i < session->findings.n; i++) {
        const sr_finding *f = &session->findings.items[i];
        if (is_failure(session->options->fail_on, f)) {
            cli_message("%s: run %d: %s: %s", session->file, run->index, f->kind, f->message);
            cli_worsen(session, sr_status_exit(SR_DIFFERS));
        }
    }
}

/* Every run is looked at if one is: findings over a sequence need all of it. */
static bool any_is_wanted(const cli_session *session) {
    bool wanted = false;
    for (int i = 0; i < sr_description_n_runs(session->description) && !wanted; i++) {
        wanted = is_wanted(session, sr_description_run(session->description, i));
    }
    return wanted;
}

sr_status cli_lint(cli_session *session, const sr_run *run, const sr_error *run_error, sr_error *err) {
    sr_status status = SR_OK;
    if (session->history == NULL) {
        if (!any_is_wanted(session)) {
            return SR_OK;
        }
        SR_TRY(sr_lint_history_new(&session->history, err));
    }
    const sr_sched_params params = cli_sched_params(session);
    const sr_layout *layout = session->sched != NULL ? sr_sched_layout(session->sched) : NULL;
    const sr_lint_input input = {.layout = layout,
                                 .error = run_error,
                                 .params = layout != NULL && layout->params != NULL ? layout->params : &params,
                                 .allocator = layout != NULL ? layout->allocator : NULL,
                                 .history = session->history};
    SR_TRY(sr_lint_run(&input, &session->findings, err));
    if (session->options->fail_on != NULL) {
        judge(session, run);
    }
done:
    return status;
}
