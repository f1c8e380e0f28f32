/*
 * load.c - a description as the options say.
 *
 * Layer: cli.
 */
#include "cli/cli.h"

static void warn(void *user, const char *message) {
    const cli_options *options = user;
    if (!options->quiet) {
        cli_message("warning: %s", message);
    }
}

int cli_load(const char *path, const cli_options *options, bool no_memory, sr_description **out_description) {
    cli_options copy = *options;
    const sr_load_options load = {
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
    const sr_status status = sr_description_load(path, &load, out_description, &err);
    const int exit_status = status == SR_OK ? 0 : cli_error(&err, strcmp(path, "-") == 0 ? "standard input" : path);
    sr_error_clear(&err);
    return exit_status;
}
