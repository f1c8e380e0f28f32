/*
 * cmd_expand.c - sched-run expand: the plain form of a description.
 *
 * Layer: cli.
 */
#include <stdlib.h>

#include "cli/cli.h"

int cli_cmd_expand(const cli_options *options) {
    const char *path = options->files.texts[0];
    sr_description *description = NULL;
    char *text = NULL;
    sr_error err = {0};
    int exit_status = cli_load(path, options, true, &description);
    if (exit_status != 0) {
        return exit_status;
    }
    const sr_status status = sr_description_expand(description, &text, &err);
    if (status != SR_OK) {
        exit_status = cli_error(&err, path);
    } else {
        cli_output output;
        cli_output_init(&output, options->output);
        cli_print(&output, text);
        if (!cli_output_close(&output)) {
            exit_status = sr_status_exit(SR_IO);
        }
    }
    free(text);
    sr_error_clear(&err);
    sr_description_free(description);
    return exit_status;
}
