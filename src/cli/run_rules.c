/*
 * run_rules.c - --rules help and --rules all.
 *
 * Layer: cli.
 */
#include "cli/cmd_run.h"

int cli_list_rules(void) {
    int n;
    const sr_revision *revisions = sr_revisions(&n);
    for (int i = 0; i < n; i++) {
        printf("%-10s  %-15s  %s\n", revisions[i].date, revisions[i].name, revisions[i].change);
    }
    printf("\nA date means the rules in force then; 'latest' the last, 'all' compares them for a graph.\n");
    return fflush(stdout) == 0 ? 0 : sr_status_exit(SR_IO);
}

sr_status cli_compare_rules(cli_session *session, cli_output *output, sr_error *err) {
    const sr_sched_params params = cli_sched_params(session);
    sr_rules_report rules = {0};
    sr_status status;
    SR_TRY(sr_rules_compare(session->description, &params, &rules, err));
    SR_TRY(sr_report_rules(session->description, &rules, session->options->format == CLI_JSON, &output->sink, err));
done:
    sr_rules_report_clear(&rules);
    return status;
}
