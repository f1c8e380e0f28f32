/*
 * load.c - a description as the options say.
 *
 * Layer: cli.
 */
#include <errno.h>

#include "cli/cli.h"

static void warn(void *user, const char *message) {
    const cli_options *options = user;
    if (!options->quiet) {
        cli_message("warning: %s", message);
    }
}

sr_status cli_read_file(const char *path, sr__str *text, sr_error *err) {
    char part[64 * 1024];
    size_t n;
    const bool is_input = strcmp(path, "-") == 0;
    FILE *file = is_input ? stdin : fopen(path, "rb");
    sr_status status = SR_OK;
    while (file != NULL && (n = fread(part, 1, sizeof(part), file)) > 0 && !text->failed) {
        sr__str_append(text, part, n);
    }
    if (text->failed) {
        status = sr__fail_memory(err);
    } else if (is_input && ferror(stdin) != 0) {
        status = sr__fail(err, SR_IO, "standard input cannot be read");
    } else if (file == NULL || ferror(file) != 0) {
        status = sr__fail(err, SR_IO, "cannot read '%s': %s", path, strerror(errno));
    }
    if (file != NULL && !is_input) {
        fclose(file);
    }
    return status;
}

static sr_status load(const char *path, const sr_load_options *options, sr_description **out_description,
                      sr_error *err) {
    if (strcmp(path, "-") != 0) {
        return sr_description_load(path, options, out_description, err);
    }
    sr__str text = {0};
    sr_status status = cli_read_file(path, &text, err);
    if (status == SR_OK) {
        status = sr_description_load_text(sr__str_text(&text), text.length, "standard input", "", options,
                                          out_description, err);
    }
    sr__str_free(&text);
    return status;
}

/* A debug log is no description, but there is a way to one. */
static void point_to_import(const char *path) {
    sr__str text = {0};
    sr_error err = {0};
    if (strcmp(path, "-") != 0 && cli_read_file(path, &text, &err) == SR_OK) {
        const char *p = sr__str_text(&text);
        const char *first = p + strspn(p, " \t\r\n");
        if (*first != '{' && (strstr(p, "SPLIT #") != NULL || strstr(p, "node #") != NULL)) {
            cli_message("'%s' looks like a debug log: 'sched-run import %s -o graph.json' makes a description of it",
                        path, path);
        }
    }
    sr__str_free(&text);
    sr_error_clear(&err);
}

int cli_load(const char *path, const cli_options *options, bool no_memory, sr_description **out_description) {
    cli_options copy = *options;
    const sr_load_options load_options = {
        .backends_file = options->backends_file,
        .params = options->params.texts,
        .n_params = options->params.n,
        .places = options->places.texts,
        .n_places = options->places.n,
        .assigns = options->assigns.texts,
        .n_assigns = options->assigns.n,
        .weights = options->weights,
        .simulate_missing = options->simulate_missing,
        .no_memory = no_memory,
        .has_offload_min_batch = options->has_offload_min_batch,
        .offload_min_batch = options->offload_min_batch,
        .warn = warn,
        .warn_user = &copy,
    };
    sr_error err = {0};
    const sr_status status = load(path, &load_options, out_description, &err);
    const int exit_status = status == SR_OK ? 0 : cli_error(&err, strcmp(path, "-") == 0 ? "standard input" : path);
    if (status == SR_DESCRIPTION) {
        point_to_import(path);
    }
    sr_error_clear(&err);
    return exit_status;
}
