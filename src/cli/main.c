/*
 * main.c - the command table and the way from argv to a command.
 *
 * Layer: cli.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"

const cli_command cli_commands[] = {
    {"run", "GRAPH.json...", "load, schedule, report (the default command)", CLI_RUN, 1, -1, cli_cmd_run},
    {"expand", "GRAPH.json", "print the plain form of a description", CLI_EXPAND, 1, 1, cli_cmd_expand},
    {"diff", "A.json B.json", "two layouts side by side, or one description with options that differ", CLI_DIFF, 1, 2,
     cli_cmd_diff},
    {"import", "LOG", "a description from a log of GGML_SCHED_DEBUG=2", CLI_IMPORT, 1, 1, cli_cmd_import},
    {"devices", "", "backends of this build and devices of this machine", CLI_DEVICES, 0, 0, cli_cmd_devices},
    {"ops", "", "every op: sources, parameters, in place, who executes it", CLI_OPS, 0, 0, cli_cmd_ops},
    {"help", "[COMMAND]", "describe a command and its options", CLI_HELP, 0, 1, cli_cmd_help},
};
const int cli_n_commands = SR_COUNT(cli_commands);

const cli_command *cli_find_command(const char *name) {
    for (int i = 0; i < cli_n_commands; i++) {
        if (strcmp(cli_commands[i].name, name) == 0) {
            return &cli_commands[i];
        }
    }
    return NULL;
}

/* A mistyped command reads as the name of a graph: told apart by there being no such file. */
static bool is_mistyped_command(const cli_options *options) {
    const char *names[SR_COUNT(cli_commands)];
    for (int i = 0; i < cli_n_commands; i++) {
        names[i] = cli_commands[i].name;
    }
    const char *first = options->files.n > 0 ? options->files.texts[0] : "-";
    const char *near = sr__nearest(first, names, cli_n_commands);
    if (near == NULL || access(first, F_OK) == 0) {
        return false;
    }
    cli_message("unknown command '%s', did you mean %s?", first, near);
    return true;
}

static bool check_operands(const cli_command *command, const cli_options *options) {
    const int n = options->files.n;
    if (n < command->min_operands) {
        const bool run = command->bit == CLI_RUN;
        cli_message("a %s is missing: sched-run %s%s[OPTIONS] %s", command->bit == CLI_IMPORT ? "log" : "graph description",
                    run ? "" : command->name, run ? "" : " ", command->operands);
        return false;
    }
    if (command->max_operands >= 0 && n > command->max_operands) {
        cli_message("'%s' is one operand too many for '%s'", options->files.texts[command->max_operands],
                    command->name);
        return false;
    }
    return true;
}

static int run_command(const cli_command *command, const cli_options *options, bool named) {
    if (options->version) {
        printf("sched-run %s\n", SR_VERSION);
        return fflush(stdout) == 0 ? 0 : sr_status_exit(SR_IO);
    }
    if (options->help) {
        return cli_help(named ? command : NULL);
    }
    if (options->rules_help) {
        return cli_list_rules();
    }
    if (options->fail_on_help) {
        return cli_list_findings();
    }
    if ((!named && is_mistyped_command(options)) || !check_operands(command, options)) {
        return sr_status_exit(SR_USAGE);
    }
    return command->run(options);
}

/* Where devices keep what they build: SCHED_RUN_CACHE (empty: nowhere), else the user's folder for such files. */
static void set_cache_folder(void) {
    const char *own = getenv("SCHED_RUN_CACHE"), *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    sr__str folder = {0};
    if (own != NULL) {
        sr__str_puts(&folder, own);
    } else if (caches != NULL && caches[0] == '/') {
        sr__str_printf(&folder, "%s/sched-run", caches);
    } else if (home != NULL && home[0] == '/') {
        sr__str_printf(&folder, "%s/.cache/sched-run", home);
    }
    sr_cache_folder_set(sr__str_text(&folder), NULL); /* without memory for it nothing is kept */
    sr__str_free(&folder);
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write: exit status 2, no message */
    const cli_command *command = argc > 1 ? cli_find_command(argv[1]) : NULL;
    const bool named = command != NULL;
    cli_options options;
    int exit_status = sr_status_exit(SR_USAGE);
    if (cli_parse(named ? command : &cli_commands[0], argc, argv, named ? 2 : 1, &options)) {
        set_cache_folder();
        exit_status = run_command(named ? command : &cli_commands[0], &options, named);
    }
    sr_cache_folder_set(NULL, NULL);
    cli_options_free(&options);
    return exit_status;
}
