/*
 * options_sides.c - options of a comparison: for both sides, for one of them, or with a value for each.
 *
 * Layer: cli.  The command line is parsed once for each side; these functions say what the side at hand takes of it.
 */
#include "cli/cli.h"

/* " --copies 4", behind the file of the side. */
static void add_label(cli_options *options, const cli_option_info *info, const char *value) {
    if (info->id < 256) {
        sr__str_printf(&options->label, " -%c", info->id);
    } else {
        sr__str_printf(&options->label, " --%s", info->name);
    }
    if (value != NULL) {
        sr__str_printf(&options->label, " %s", value);
    }
}

bool cli_side_takes(cli_options *options, const cli_option_info *info, cli_scope scope, const char *value) {
    if ((info->commands & CLI_OF_SIDE) == 0) {
        return true;
    }
    const bool is_half = options->n_halves > 0 && value == options->halves[options->n_halves - 1];
    const bool takes = scope == CLI_BOTH || (scope == CLI_ONLY_B) == options->is_b;
    options->sides_differ = options->sides_differ || scope != CLI_BOTH || is_half;
    if (takes && (scope != CLI_BOTH || is_half)) {
        add_label(options, info, value);
    }
    return takes;
}

/* The comma that parts two values: one that no bracket of an expression holds. */
static const char *find_comma(const char *text) {
    int depth = 0;
    for (const char *p = text; *p != '\0'; p++) {
        depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
        if (*p == ',' && depth == 0) {
            return p;
        }
    }
    return NULL;
}

/* "NAME=" stands before both values. */
static char *take_half(const char *text, const char *comma, bool second) {
    const char *equal = strchr(text, '=');
    const size_t n_name = equal != NULL && equal < comma ? (size_t)(equal - text) + 1 : 0;
    sr__str half = {0};
    sr__str_append(&half, text, n_name);
    if (second) {
        sr__str_puts(&half, comma + 1);
    } else {
        sr__str_append(&half, text + n_name, (size_t)(comma - text) - n_name);
    }
    char *copy = half.failed ? NULL : sr__strdup(sr__str_text(&half));
    sr__str_free(&half);
    return copy;
}

bool cli_side_value(cli_options *options, const cli_option_info *info, const char **value) {
    const char *comma = *value != NULL && (info->commands & CLI_TWO_VALUES) != 0 ? find_comma(*value) : NULL;
    if (comma == NULL) {
        return true;
    }
    if (find_comma(comma + 1) != NULL) {
        cli_message("--%s: '%s' has more than two values, one for A and one for B", info->name, *value);
        return false;
    }
    char *half = take_half(*value, comma, options->is_b);
    if (half == NULL ||
        !sr__grow(&options->halves, &options->halves_cap, (size_t)options->n_halves + 1, sizeof(*options->halves))) {
        sr__free(half);
        cli_message("%s", sr_status_text(SR_MEMORY));
        return false;
    }
    options->halves[options->n_halves++] = half;
    *value = half;
    return true;
}
