/*
 * cmd_run.h - one description being run.
 *
 * Layer: cli.
 */
#ifndef SR_CMD_RUN_H
#define SR_CMD_RUN_H

#include "cli/cli.h"

typedef struct cli_session {
    const cli_options *options;
    const char *file;            /* as messages show it */
    sr_description *description;
    sr_sched *sched;
    cli_report report;
    bool reports;                /* false: --check speaks instead */
    sr_check check;
    bool buffers_set;
    bool told_no_kernel;
    int exit_status;
} cli_session;

/* Executes an allocated run, if the options and what it expects ask for it. */
sr_status cli_execute(cli_session *session, const sr_run *run, sr_error *err);

#endif
