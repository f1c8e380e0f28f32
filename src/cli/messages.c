/*
 * messages.c - what goes to standard error, and the output stream.
 *
 * Layer: cli.
 */
#include <errno.h>

#include "cli/cli.h"
#include "report/report_out.h"

/* The line is one write: messages of several processes do not mix.  Names in it may hold anything. */
static void write_line(sr__str *line) {
    sr__str shown = {0};
    sr__str_puts(&shown, "sched-run: ");
    sr__put_name(&shown, sr__str_text(line));
    sr__str_puts(&shown, "\n");
    fflush(stdout);
    fwrite(sr__str_text(&shown), 1, shown.length, stderr);
    sr__str_free(&shown);
    sr__str_free(line);
}

void cli_message(const char *fmt, ...) {
    sr__str line = {0};
    va_list args;
    va_start(args, fmt);
    sr__str_vprintf(&line, fmt, args);
    va_end(args);
    write_line(&line);
}

int cli_error(const sr_error *err, const char *file) {
    sr__str line = {0};
    const char *name = err->file != NULL ? err->file : file;
    if (err->file == NULL && file != NULL && strstr(sr_error_message(err), file) != NULL) {
        name = NULL; /* "cannot read 'graph.json': ..." says it */
    }
    if (name != NULL) {
        sr__str_puts(&line, name);
        if (err->line > 0) {
            sr__str_printf(&line, ":%d", err->line);
        }
        if (err->line > 0 && err->column > 0) {
            sr__str_printf(&line, ":%d", err->column);
        }
        sr__str_puts(&line, ": ");
    }
    if (err->pointer != NULL && err->pointer[0] != '\0') {
        sr__str_printf(&line, "%s: ", err->pointer);
    }
    sr__str_puts(&line, sr_error_message(err));
    write_line(&line);
    return sr_status_exit(err->status);
}

int cli_run_error(const sr_error *err, const char *file, int run) {
    cli_message("%s: run %d: %s", file, run, sr_error_message(err));
    return sr_status_exit(err->status);
}

int cli_worse(int a, int b) { return a > b ? a : b; }

/* ---- output ----------------------------------------------------------------------------------------------------- */

static void fail_output(cli_output *output) {
    if (!output->failed) {
        output->failed = true;
        output->error = errno;
    }
}

static bool write_output(void *user, const char *text, size_t length) {
    cli_output *output = user;
    if (output->file == NULL && !output->failed) {
        output->file = output->path == NULL ? stdout : fopen(output->path, "w");
        if (output->file == NULL) {
            fail_output(output);
        }
    }
    if (!output->failed && fwrite(text, 1, length, output->file) != length) {
        fail_output(output);
    }
    return !output->failed;
}

void cli_output_init(cli_output *output, const char *path) {
    *output = (cli_output){.path = path != NULL && strcmp(path, "-") != 0 ? path : NULL};
    output->sink = (sr_sink){.write = write_output, .user = output};
}

void cli_print(cli_output *output, const char *text) { output->sink.write(output->sink.user, text, strlen(text)); }

bool cli_output_close(cli_output *output) {
    if (output->file != NULL && fflush(output->file) != 0) {
        fail_output(output);
    }
    if (output->file != NULL && output->file != stdout && fclose(output->file) != 0) {
        fail_output(output);
    }
    output->file = NULL;
    if (output->failed && output->error != EPIPE) { /* a reader that has seen enough needs no message */
        cli_message("%s cannot be written: %s", output->path != NULL ? output->path : "standard output",
                    strerror(output->error));
    }
    return !output->failed;
}
