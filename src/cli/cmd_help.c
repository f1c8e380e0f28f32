/*
 * cmd_help.c - sched-run help: usage and options, from the tables.
 *
 * Layer: cli.
 */
#include "cli/cli.h"

enum { HELP_COLUMN = 32 };

static void put_option(sr__str *s, const cli_option_info *info) {
    const size_t start = s->length;
    if (info->id < 256) {
        sr__str_printf(s, "  -%c, ", info->id);
    } else {
        sr__str_puts(s, "      ");
    }
    sr__str_printf(s, "--%s", info->name);
    if (info->argument != NULL) {
        sr__str_printf(s, " %s", info->argument);
    }
    const int used = (int)(s->length - start);
    sr__str_printf(s, "%*s%s\n", used < HELP_COLUMN - 2 ? HELP_COLUMN - used : 2, "", info->help);
}

static void put_options(sr__str *s, const cli_command *command) {
    sr__str_printf(s, "\noptions of %s:\n", command->name);
    for (int i = 0; i < cli_n_options; i++) {
        if ((cli_option_table[i].commands & command->bit) != 0) {
            put_option(s, &cli_option_table[i]);
        }
    }
}

static void put_general(sr__str *s) {
    sr__str_puts(s, "usage: sched-run [run] [OPTIONS] GRAPH.json...\n"
                    "       sched-run COMMAND [OPTIONS] ...\n\n"
                    "Schedules a graph of tensor operations over several backends and tells what went where, and why.\n"
                    "'-' reads a description from standard input.\n\ncommands:\n");
    for (int i = 0; i < cli_n_commands; i++) {
        const cli_command *c = &cli_commands[i];
        sr__str_printf(s, "  %-8s %-15s %s\n", c->name, c->operands, c->summary);
    }
    put_options(s, &cli_commands[0]);
    sr__str_puts(s,
                 "\nexit status: 0 done; 1 done, and a check, a reallocation level or --fail-on found something;\n"
                 "2 usage, or a file cannot be read or written; 3 the description is wrong; 4 a device or op is not\n"
                 "available; 5 memory or a limit; 6 execution failed; 70 a fault of this program\n");
}

int cli_help(const cli_command *command) {
    sr__str s = {0};
    if (command == NULL) {
        put_general(&s);
    } else {
        sr__str_printf(&s, "usage: sched-run %s [OPTIONS]%s%s\n\n%s\n", command->name,
                       command->operands[0] != '\0' ? " " : "", command->operands, command->summary);
        put_options(&s, command);
    }
    cli_output output;
    cli_output_init(&output, NULL);
    cli_print(&output, sr__str_text(&s));
    const bool failed = s.failed;
    sr__str_free(&s);
    const bool written = cli_output_close(&output);
    return failed ? sr_status_exit(SR_MEMORY) : written ? 0 : sr_status_exit(SR_IO);
}

int cli_cmd_help(const cli_options *options) {
    if (options->files.n == 0) {
        return cli_help(NULL);
    }
    const cli_command *command = cli_find_command(options->files.texts[0]);
    if (command != NULL) {
        return cli_help(command);
    }
    const char *names[16];
    int n = 0;
    for (; n < cli_n_commands && n < SR_COUNT(names); n++) {
        names[n] = cli_commands[n].name;
    }
    const char *near = sr__nearest(options->files.texts[0], names, n);
    cli_message("there is no command '%s'%s%s%s", options->files.texts[0], near != NULL ? ", did you mean " : "",
                near != NULL ? near : "", near != NULL ? "?" : "");
    return sr_status_exit(SR_USAGE);
}
