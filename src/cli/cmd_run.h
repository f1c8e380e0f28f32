/*
 * cmd_run.h - one description being run.
 *
 * Layer: cli.
 */
#ifndef SR_CMD_RUN_H
#define SR_CMD_RUN_H

#include "cli/cli.h"

/* The tensors that --print and --dump ask for, and what they were in the run at hand. */
typedef struct cli_values {
    bool *wanted;          /* by tensor of the run's graph */
    sr_value **shown;      /* of --print, in the order they were computed */
    int n_shown;
    size_t wanted_cap, shown_cap;
    const sr_run *run;
    sr_error error;        /* of the first that could not be read or written; status OK: none */
} cli_values;

/* What -e, --steps, -m and --estimate show of the run at hand, and how its memory came to be. */
typedef struct cli_insight {
    sr_realloc_history *history;   /* of the scheduler's runs; NULL: nobody asks */
    sr_reallocation reallocation;
    bool has_reallocation;
    sr_explainer *explainer;
    sr_explanation *explanations;
    int n_explanations;
    size_t explanations_cap;
    sr_memory_plan memory;
    bool has_memory;
    sr_copies_row *copies;
    int n_copies;
    sr_estimate estimate;
    bool has_estimate;
    sr_offload_gain *gains;
    int n_gains;
} cli_insight;

typedef struct cli_session {
    const cli_options *options;
    const char *file;            /* as messages show it */
    int number;                  /* among the descriptions, from 0 */
    sr_description *description;
    sr_sched *sched;
    cli_report report;
    bool reports;                /* false: --check speaks instead */
    bool records;                /* decisions are wanted, whatever is reported */
    sr_check check;
    cli_values values;
    cli_insight insight;
    sr_lint_history *history;    /* of the scheduler's runs */
    sr_findings findings;        /* of the run at hand */
    sr_trace *trace;             /* NULL: nobody wants to know */
    sr_trace_report *trace_file; /* NULL without --trace */
    uint64_t estimated;          /* --estimate: where in the trace's virtual time the next run begins */
    bool buffers_set;
    bool told_no_kernel;
    bool executed_any;
    int exit_status;
} cli_session;

/* Schedules a run on the session's scheduler, which the first run makes. */
sr_status cli_schedule(cli_session *session, const sr_run *run, sr_error *err);
/* Makes the exit status at least this one. */
void cli_worsen(cli_session *session, int exit_status);

/* ---- run_execute.c --------------------------------------------------------------------------------------------- */

/* Executes an allocated run, if the options and what it expects ask for it. */
sr_status cli_execute(cli_session *session, const sr_run *run, sr_error *err);

/* ---- run_lint.c ------------------------------------------------------------------------------------------------ */

/* Looks for the findings of a run, if anybody is to learn of them, and worsens the exit status by --fail-on. */
sr_status cli_lint(cli_session *session, const sr_run *run, const sr_error *run_error, sr_error *err);
/* The findings of the run at hand, or NULL where they were not looked for. */
const sr_findings *cli_findings(const cli_session *session);

/* ---- run_insight.c: --explain, --steps, --memory, --estimate, reallocations ----------------------------- */

/* Whether every tensor to be explained occurs in some run; if not, a message has told. */
bool cli_insight_check(cli_session *session);
/* After the schedule of a run (with this status), before its execution: works out what is to be shown. */
sr_status cli_insight_make(cli_session *session, const sr_run *run, sr_status scheduled, sr_error *err);
/* Puts it into a result. */
void cli_insight_fill(const cli_session *session, sr_run_result *result);
void cli_insight_clear(cli_insight *insight);
void cli_insight_free(cli_insight *insight);

/* ---- run_values.c: --print and --dump -------------------------------------------------------------------------- */

/* Whether a tensor has that id or name; whether one is meant by it: the one with the id, else all with the name. */
bool cli_tensor_occurs(const sr_description *description, const char *text);
bool cli_tensor_is_meant(const sr_graph *graph, int32_t tensor, const char *text);
/* "--print: there is no tensor 'X', did you mean 'Y'?" */
void cli_tell_no_tensor(const cli_session *session, const char *option, const char *text);
/* Whether every tensor asked for occurs in some run, and the folder is there; if not, a message has told. */
bool cli_values_check(cli_session *session);
static inline bool cli_wants_values(const cli_options *options) {
    return options->prints.n > 0 || options->dump != NULL;
}
/* Before an execution: takes leafs, and has the scheduler show nodes. */
sr_status cli_values_begin(cli_session *session, const sr_run *run, sr_error *err);
/* After it, whatever became of it: tells of a value that could not be read or written. */
sr_status cli_values_end(cli_session *session, sr_status status, sr_error *err);
/* Forgets the values of the run. */
void cli_values_clear(cli_values *values);
void cli_values_free(cli_values *values);

/* ---- run_rules.c: --rules all ---------------------------------------------------------------------------------- */

/* Every run of the description under the rules of every date, reported. */
sr_status cli_compare_rules(cli_session *session, cli_output *output, sr_error *err);
/* What the options and the description say of the scheduler. */
sr_sched_params cli_sched_params(const cli_session *session);

/* ---- run_sweep.c: --sweep -------------------------------------------------------------------------------------- */

/* Every combination of values for the description at a path, reported; the exit status. */
int cli_sweep(cli_session *session, const char *path, cli_output *output);

/* ---- run_compare.c: --compare ---------------------------------------------------------------------------------- */

/* Every run of the description node by node on two backends, reported. */
sr_status cli_compare(cli_session *session, cli_output *output, sr_error *err);

#endif
