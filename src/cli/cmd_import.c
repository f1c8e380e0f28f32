/*
 * cmd_import.c - sched-run import: a description from a debug log.
 *
 * Layer: cli.
 */
#include <stdlib.h>

#include "cli/cli.h"

typedef struct telling {
    const cli_options *options;
    const char *file;
} telling;

static void tell(void *user, sr_import_note kind, const char *message) {
    static const char *const words[] = {"", "inferred: ", "missing: "};
    const telling *t = user;
    if (!t->options->quiet) {
        cli_message("%s: %s%s", t->file, words[kind], message);
    }
}

/* 0, or the exit status of a failure that was told. */
static int write_description(const cli_options *options, const char *text) {
    cli_output output;
    cli_output_init(&output, options->output);
    cli_print(&output, text);
    if (!cli_output_close(&output)) {
        return sr_status_exit(SR_IO);
    }
    if (output.path != NULL && !options->quiet) {
        cli_message("written to %s: see 'sched-run %s', and 'sched-run --check %s' for a comparison with the log",
                    output.path, output.path, output.path);
    }
    return 0;
}

/* Where a log is asked for, a description may have been given. */
static void point_to_run(const char *text, const char *file) {
    const char *first = text + strspn(text, " \t\r\n");
    if (*first == '{' && strstr(first, "\"sched_run\"") != NULL) {
        cli_message("%s is a description, no log: 'sched-run %s' schedules it", file, file);
    }
}

int cli_cmd_import(const cli_options *options) {
    const char *path = options->files.texts[0];
    const char *file = strcmp(path, "-") == 0 ? "standard input" : path;
    const char *slash = strrchr(file, '/');
    const char *name = slash != NULL ? slash + 1 : file;
    telling t = {options, file};
    sr_import_options import;
    sr_import_options_init(&import);
    import.only = options->has_graph ? options->graph : -1;
    import.no_pins = options->no_pins;
    import.tell = tell;
    import.tell_user = &t;
    sr__str log = {0};
    sr_error err = {0};
    char *text = NULL;
    sr_status status = cli_read_file(path, &log, &err);
    if (status == SR_OK) {
        status = sr_import_log(sr__str_text(&log), log.length, name, &import, &text, NULL, &err);
    }
    const int exit_status = status == SR_OK ? write_description(options, text) : cli_error(&err, file);
    if (status == SR_DESCRIPTION) {
        point_to_run(sr__str_text(&log), file);
    }
    free(text);
    sr__str_free(&log);
    sr_error_clear(&err);
    return exit_status;
}
