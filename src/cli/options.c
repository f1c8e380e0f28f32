/*
 * options.c - the table of options and its parser.
 *
 * Layer: cli.  One table serves getopt_long, help and suggestions; GNU getopt lets options stand after operands.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>

#include "cli/cli.h"

enum {
    OPTION_COPIES = 256,
    OPTION_PARALLEL,
    OPTION_NO_OP_OFFLOAD,
    OPTION_MAX_SPLIT_INPUTS,
    OPTION_MAX_BACKENDS,
    OPTION_SIMULATE_MISSING,
    OPTION_REALLOC,
    OPTION_CHECK,
    OPTION_CHECK_OUTPUTS,
    OPTION_COLOR,
    OPTION_UNFOLD,
    OPTION_COMPUTE,
    OPTION_TRACE,
    OPTION_PRINT,
    OPTION_DUMP,
    OPTION_COMPARE,
    OPTION_NMSE,
    OPTION_DRIFT,
    OPTION_STEPS,
    OPTION_RULES,
    OPTION_FAIL_ON,
    OPTION_ESTIMATE,
    OPTION_BATCHES,
    OPTION_SWEEP,
    OPTION_GRAPH,
    OPTION_NO_PINS,
    OPTION_ONLY_A,
    OPTION_ONLY_B,
    OPTION_BOTH,
    OPTION_ALL
};

enum { SIDE = CLI_DIFF | CLI_OF_SIDE, TWO = SIDE | CLI_TWO_VALUES };

const cli_option_info cli_option_table[] = {
    {'p', "param", "NAME=VALUE", CLI_RUN | CLI_EXPAND, "set a parameter, in every run"},
    {'p', "param", "NAME=A[,B]", TWO, "set a parameter, in every run; two values: one for each side"},
    {'b', "backends", "FILE", CLI_RUN | CLI_EXPAND | SIDE, "take backends, buffer types and placement from FILE"},
    {'P', "place", "REGEX=BUFFER", CLI_RUN | CLI_EXPAND | SIDE,
     "put matching leafs in a buffer, or a buffer type as weights"},
    {'A', "assign", "NODE=BACKEND", CLI_RUN | CLI_EXPAND | SIDE, "assign a node to a backend by hand"},
    {'W', "weights", "FILE", CLI_RUN | CLI_EXPAND | SIDE, "a GGUF file for the leafs"},
    {'t', "threads", "N", CLI_RUN, "CPU threads; default: the processors it may use"},
    {'n', "no-compute", NULL, CLI_RUN, "schedule and allocate, execute nothing"},
    {OPTION_COMPUTE, "compute", NULL, CLI_RUN, "execute every run, also where an op has no kernel (which fails)"},
    {OPTION_TRACE, "trace", "FILE", CLI_RUN, "write a timeline in Chrome trace JSON, which Perfetto opens"},
    {OPTION_PRINT, "print", "TENSOR", CLI_RUN, "show a tensor's value as it was computed; may be repeated"},
    {OPTION_DUMP, "dump", "DIR", CLI_RUN, "write every computed node, or those of --print, as .npy"},
    {OPTION_COMPARE, "compare", "A[,B]", CLI_RUN, "execute node by node on two backends; B default: the last"},
    {OPTION_NMSE, "nmse", "X", CLI_RUN, "the error that --compare allows; default: 5e-4 for products, else 1e-6"},
    {OPTION_DRIFT, "drift", NULL, CLI_RUN, "--compare: let errors add up from node to node"},
    {OPTION_COPIES, "copies", "N[,N]", CLI_RUN, "pipeline copies, 1 to 255; with --memory several to compare"},
    {OPTION_PARALLEL, "parallel", NULL, CLI_RUN | SIDE, "4 pipeline copies"},
    {OPTION_NO_OP_OFFLOAD, "no-op-offload", NULL, CLI_RUN | SIDE, "never offload ops whose weights are in host memory"},
    {OPTION_MAX_SPLIT_INPUTS, "max-split-inputs", "N", CLI_RUN, "inputs that a split may have; default 30"},
    {OPTION_COPIES, "copies", "A[,B]", TWO, "pipeline copies, 1 to 255"},
    {OPTION_MAX_SPLIT_INPUTS, "max-split-inputs", "A[,B]", TWO, "inputs that a split may have; default 30"},
    {OPTION_MAX_BACKENDS, "max-backends", "N", CLI_RUN, "backends that a scheduler may have; default 16"},
    {OPTION_MAX_BACKENDS, "max-backends", "A[,B]", TWO, "backends that a scheduler may have; default 16"},
    {OPTION_RULES, "rules", "REV", CLI_RUN, "behave as the scheduler of a date or name; 'all' compares, 'help' lists"},
    {OPTION_RULES, "rules", "A[,B]", TWO, "behave as the scheduler of a date or name; 'help' lists"},
    {OPTION_SIMULATE_MISSING, "simulate-missing", NULL, CLI_RUN | CLI_EXPAND | SIDE,
     "simulate devices that are not there"},
    {OPTION_ONLY_A, "only-a", NULL, CLI_DIFF, "what follows of the options above is for A alone"},
    {OPTION_ONLY_B, "only-b", NULL, CLI_DIFF, "what follows of the options above is for B alone"},
    {OPTION_BOTH, "both", NULL, CLI_DIFF, "what follows of them is for both again"},
    {'d', "debug", "LEVEL", CLI_RUN, "1: splits, 2: nodes too (default); 0: the summary alone"},
    {OPTION_REALLOC, "realloc", "LEVEL", CLI_RUN, "exit 1 on 1: an unexpected reallocation, 2: any"},
    {'f', "format", "FORMAT", CLI_RUN, "text (default), ggml, json, jsonl, dot, svg, html"},
    {'f', "format", "FORMAT", CLI_DIFF, "text (default), json, dot, svg"},
    {OPTION_ALL, "all", NULL, CLI_DIFF, "every node on a line of its own; dot, svg: draw every layer"},
    {OPTION_UNFOLD, "unfold", NULL, CLI_RUN, "dot, svg: draw every layer, also equal ones"},
    {'o', "output", "FILE", CLI_RUN | CLI_EXPAND | CLI_DIFF | CLI_IMPORT, "write to FILE; default: standard output"},
    {OPTION_CHECK, "check", NULL, CLI_RUN, "compare with 'expect'; exit 1 on a difference"},
    {OPTION_CHECK_OUTPUTS, "check-outputs", NULL, CLI_RUN, "the outputs of 'expect' alone: for other machines"},
    {'e', "explain", "NODE", CLI_RUN, "why a tensor is where it is, and not elsewhere; may be repeated; 'all'"},
    {OPTION_STEPS, "steps", NULL, CLI_RUN, "show the graph pass by pass; with dot or svg a drawing each"},
    {'m', "memory", NULL, CLI_RUN, "what compute buffers hold, from when to when; with svg as a drawing"},
    {OPTION_ESTIMATE, "estimate", NULL, CLI_RUN, "how long it would take by the backends' figures; executes nothing"},
    {OPTION_BATCHES, "batches", "N", CLI_RUN, "--estimate, --sweep: N batches one after another; default: 1"},
    {OPTION_SWEEP, "sweep", "NAME=VALUES", CLI_RUN, "estimate for values such as 1,8,32 or 1..512*2; may be repeated"},
    {'l', "lint", NULL, CLI_RUN, "text: every finding, with what to try"},
    {OPTION_FAIL_ON, "fail-on", "KIND[,KIND]", CLI_RUN, "exit 1 on such a finding, or one of a severity; 'help' lists"},
    {'q', "quiet", NULL, CLI_RUN | CLI_EXPAND | CLI_IMPORT, "no warnings, no times; with --check no output at all"},
    {'q', "quiet", NULL, CLI_DIFF, "no report, only the exit status; no warnings"},
    {'v', "verbose", NULL, CLI_RUN, "text: sources, addresses, leafs and times too"},
    {'v', "verbose", NULL, CLI_DIFF, "the same as --all"},
    {OPTION_GRAPH, "graph", "N", CLI_IMPORT, "import the log's schedule N alone, counted from 0; default: all"},
    {OPTION_NO_PINS, "no-pins", NULL, CLI_IMPORT, "leave the backends of nodes to the scheduler"},
    {OPTION_COLOR, "color", "WHEN", CLI_RUN | CLI_DIFF, "auto (default), always, never"},
    {'V', "version", NULL, CLI_ALL, "print the version"},
    {'h', "help", NULL, CLI_ALL, "print this help"},
};
const int cli_n_options = SR_COUNT(cli_option_table);

const char *const cli_format_names[CLI_FORMAT_COUNT] = {"text", "ggml", "json", "jsonl", "dot", "svg", "html"};

static const cli_option_info *option_by_id(int id) {
    for (int i = 0; i < cli_n_options; i++) {
        if (cli_option_table[i].id == id) {
            return &cli_option_table[i];
        }
    }
    return NULL;
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static bool out_of_memory(void) {
    cli_message("%s", sr_status_text(SR_MEMORY));
    return false;
}

static bool add_text(cli_texts *list, const char *text) {
    if (!sr__grow(&list->texts, &list->cap, (size_t)list->n + 1, sizeof(*list->texts))) {
        return out_of_memory();
    }
    list->texts[list->n++] = text;
    return true;
}

static bool read_number(const char *what, const char *text, long min, long max, int *out) {
    char *end = NULL;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < min || value > max) {
        cli_message("%s: '%s' is not a number from %ld to %ld", what, text, min, max);
        return false;
    }
    *out = (int)value;
    return true;
}

static bool read_limit(const char *what, const char *text, double *out) {
    char *end = NULL;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0.0) || value > 1e30) {
        cli_message("%s: '%s' is not a number above 0", what, text);
        return false;
    }
    *out = value;
    return true;
}

/* One of a few words; *out is its position. */
static bool read_word(const char *what, const char *text, const char *const *words, int n, int *out) {
    for (int i = 0; i < n; i++) {
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return true;
        }
    }
    const char *near = sr__nearest(text, words, n);
    sr__str all = {0};
    for (int i = 0; i < n; i++) {
        sr__str_printf(&all, "%s%s", i == 0 ? "" : ", ", words[i]);
    }
    if (near != NULL) {
        cli_message("%s: unknown '%s', did you mean %s?", what, text, near);
    } else {
        cli_message("%s: unknown '%s', there are %s", what, text, sr__str_text(&all));
    }
    sr__str_free(&all);
    return false;
}

static bool read_format(const char *text, cli_options *o) {
    int format = 0;
    if (!read_word("--format", text, cli_format_names, CLI_FORMAT_COUNT, &format)) {
        return false;
    }
    o->format = (cli_format)format;
    o->format_given = true;
    return true;
}

/* "1,2,4": the first is the one that runs have. */
static bool read_copies(const char *text, cli_options *o) {
    o->n_copies_list = 0;
    while (text != NULL) {
        char number[16];
        const char *end = strchr(text, ',');
        snprintf(number, sizeof(number), "%.*s", (int)(end != NULL && end - text < 15 ? end - text : 15), text);
        if (!sr__grow(&o->copies_list, &o->copies_list_cap, (size_t)o->n_copies_list + 1, sizeof(*o->copies_list))) {
            return out_of_memory();
        }
        if (!read_number("--copies", number, 1, UINT8_MAX, &o->copies_list[o->n_copies_list])) {
            return false;
        }
        o->n_copies_list++;
        text = end != NULL ? end + 1 : NULL;
    }
    o->copies = o->copies_list[0];
    return true;
}

static bool read_color(const char *text, cli_options *o) {
    static const char *const words[] = {"auto", "always", "never"};
    int color = 0;
    if (!read_word("--color", text, words, SR_COUNT(words), &color)) {
        return false;
    }
    o->color = (cli_color)color;
    return true;
}

/* A date, a name, or one of the words that stand for something else. */
static bool read_rules(const char *text, cli_options *o) {
    o->rules_help = strcmp(text, "help") == 0;
    o->rules_all = strcmp(text, "all") == 0;
    o->rules = o->rules_help || o->rules_all ? NULL : sr_revision_find(text);
    if (o->rules == NULL && !o->rules_help && !o->rules_all) {
        int n;
        const sr_revision *all = sr_revisions(&n);
        const char *names[64];
        for (int i = 0; i < n && i < SR_COUNT(names); i++) {
            names[i] = all[i].name;
        }
        const char *near = sr__nearest(text, names, n < SR_COUNT(names) ? n : SR_COUNT(names));
        if (near != NULL) {
            cli_message("--rules: unknown '%s', did you mean %s?", text, near);
        } else {
            cli_message("--rules: '%s' is neither a date from %s on nor a name, see --rules help", text, all[0].date);
        }
        return false;
    }
    return true;
}

/* Kinds of findings and severities, with commas; 'help' lists them. */
static bool read_kinds(const char *text, cli_options *o) {
    const char *words[64];
    int n = 0;
    for (const sr_lint *lint = sr_lints(); lint->kind != NULL && n < 60; lint++) {
        words[n++] = lint->kind;
    }
    for (int s = SR_SEVERITY_INFO; s <= SR_SEVERITY_ERROR; s++) {
        words[n++] = sr_severity_name((sr_severity)s);
    }
    o->fail_on_help = strcmp(text, "help") == 0;
    o->fail_on = text;
    for (const char *p = text; !o->fail_on_help; p++) {
        const size_t length = strcspn(p, ",");
        char *word = sr__strndup(p, length);
        int place;
        const bool known = word != NULL && read_word("--fail-on", word, words, n, &place);
        sr__free(word);
        if (!known) {
            return word != NULL ? false : out_of_memory();
        }
        p += length;
        if (*p == '\0') {
            break;
        }
    }
    return true;
}

/* ---- one option ------------------------------------------------------------------------------------------------ */

static bool set_option(cli_options *o, int id, const char *value) {
    switch (id) {
    case 'p': return add_text(&o->params, value);
    case 'P': return add_text(&o->places, value);
    case 'A': return add_text(&o->assigns, value);
    case 'b': o->backends_file = value; return true;
    case 'W': o->weights = value; return true;
    case 'o': o->output = value; return true;
    case 't': return read_number("--threads", value, 1, 4096, &o->threads);
    case 'n': o->no_compute = true; return true;
    case 'd': o->debug_given = true; return read_number("--debug", value, 0, 2, &o->debug_level);
    case 'f': return read_format(value, o);
    case 'q': o->quiet = true; return true;
    case 'v': o->verbose = true; return true;
    case 'V': o->version = true; return true;
    case 'h': o->help = true; return true;
    case OPTION_COMPUTE: o->compute = true; return true;
    case OPTION_TRACE: o->trace = value; return true;
    case OPTION_PRINT: return add_text(&o->prints, value);
    case OPTION_DUMP: o->dump = value; return true;
    case OPTION_COMPARE: o->compare = value; return true;
    case OPTION_NMSE: return read_limit("--nmse", value, &o->nmse);
    case OPTION_DRIFT: o->drift = true; return true;
    case OPTION_RULES: return read_rules(value, o);
    case 'l': o->lint = true; return true;
    case OPTION_FAIL_ON: return read_kinds(value, o);
    case OPTION_COPIES: return read_copies(value, o);
    case 'e': return add_text(&o->explains, value);
    case OPTION_STEPS: o->steps = true; return true;
    case 'm': o->memory = true; return true;
    case OPTION_ESTIMATE: o->estimate = true; return true;
    case OPTION_SWEEP: return add_text(&o->sweeps, value);
    case OPTION_BATCHES: return read_number("--batches", value, 1, 100000, &o->batches);
    case OPTION_PARALLEL: o->copies = 4; return true;
    case OPTION_NO_OP_OFFLOAD: o->no_op_offload = true; return true;
    case OPTION_MAX_SPLIT_INPUTS: return read_number("--max-split-inputs", value, 1, INT_MAX, &o->max_split_inputs);
    case OPTION_MAX_BACKENDS: return read_number("--max-backends", value, 1, INT16_MAX, &o->max_backends);
    case OPTION_SIMULATE_MISSING: o->simulate_missing = true; return true;
    case OPTION_REALLOC: return read_number("--realloc", value, 0, 2, &o->realloc_level);
    case OPTION_UNFOLD: o->unfold = true; return true;
    case OPTION_ALL: o->unfold = true; o->verbose = true; return true;
    case OPTION_CHECK: o->check = true; return true;
    case OPTION_CHECK_OUTPUTS: o->check = o->check_outputs = true; return true;
    case OPTION_GRAPH: o->has_graph = true; return read_number("--graph", value, 0, INT_MAX, &o->graph);
    case OPTION_NO_PINS: o->no_pins = true; return true;
    case OPTION_COLOR: return read_color(value, o);
    default: return false;
    }
}

/* ---- what getopt refuses --------------------------------------------------------------------------------------- */

static void tell_unknown(const cli_command *command, const char *word) {
    const char *names[SR_COUNT(cli_option_table)];
    int n = 0;
    int n_prefix = 0;
    char name[64];
    const size_t length = strcspn(word + 2, "=");
    snprintf(name, sizeof(name), "%.*s", (int)(length < 63 ? length : 63), word + 2);
    for (int i = 0; i < cli_n_options; i++) {
        if ((cli_option_table[i].commands & command->bit) != 0) {
            names[n++] = cli_option_table[i].name;
            n_prefix += strncmp(cli_option_table[i].name, name, strlen(name)) == 0;
        }
    }
    const char *near = sr__nearest(name, names, n);
    if (n_prefix > 1) {
        cli_message("option '--%s' could be several", name);
    } else if (near != NULL) {
        cli_message("unknown option '--%s', did you mean --%s?", name, near);
    } else {
        cli_message("unknown option '--%s', see 'sched-run help %s'", name, command->name);
    }
}

static void tell_refusal(const cli_command *command, int result, char **argv) {
    const char *word = argv[optind - 1];
    const cli_option_info *info = option_by_id(optopt);
    if (result == ':' && info != NULL) {
        cli_message("option '--%s' needs a value: %s", info->name, info->argument);
    } else if (optopt > 0 && info != NULL && strncmp(word, "--", 2) == 0) {
        cli_message("option '--%s' takes no value", info->name);
    } else if (optopt > 0 && optopt < 256) {
        cli_message("unknown option '-%c', see 'sched-run help %s'", optopt, command->name);
    } else {
        tell_unknown(command, word);
    }
}

/* ---- the environment ------------------------------------------------------------------------------------------- */

/* A level from the environment: as the reference, anything above 2 is 2. */
static bool read_level(const char *name, int *level) {
    const char *text = getenv(name);
    int value = 0;
    if (text == NULL || text[0] == '\0') {
        return true;
    }
    if (!read_number(name, text, 0, INT_MAX, &value)) {
        return false;
    }
    *level = value > 2 ? 2 : value;
    return true;
}

static bool read_environment(const cli_command *command, cli_options *o) {
    const char *batch = getenv("GGML_OP_OFFLOAD_MIN_BATCH");
    int number = 0;
    if (batch != NULL && batch[0] != '\0') {
        if (!read_number("GGML_OP_OFFLOAD_MIN_BATCH", batch, 0, INT_MAX, &number)) {
            return false;
        }
        o->has_offload_min_batch = true;
        o->offload_min_batch = number;
    }
    return command->bit == CLI_DIFF || (read_level("GGML_SCHED_DEBUG", &o->debug_level) &&
                                        read_level("GGML_SCHED_DEBUG_REALLOC", &o->realloc_level));
}

/* ---- the parser ------------------------------------------------------------------------------------------------ */

typedef struct getopt_tables {
    struct option longs[SR_COUNT(cli_option_table) + 1];
    char shorts[2 * SR_COUNT(cli_option_table) + 2];
} getopt_tables;

/* The leading ':' makes getopt tell a missing value from an unknown option. */
static void fill_tables(const cli_command *command, getopt_tables *tables) {
    char *p = tables->shorts;
    int n = 0;
    *p++ = ':';
    for (int i = 0; i < cli_n_options; i++) {
        const cli_option_info *info = &cli_option_table[i];
        if ((info->commands & command->bit) == 0) {
            continue;
        }
        tables->longs[n++] = (struct option){
            info->name, info->argument != NULL ? required_argument : no_argument, NULL, info->id};
        if (info->id < 256) {
            *p++ = (char)info->id;
            if (info->argument != NULL) {
                *p++ = ':';
            }
        }
    }
    *p = '\0';
    tables->longs[n] = (struct option){0};
}

/* Values are part of the reports that people and programs read. */
static bool shows_values(const cli_options *o) {
    return (o->format == CLI_TEXT && (!o->check || o->format_given)) || o->format == CLI_JSON ||
           o->format == CLI_JSONL || o->format == CLI_HTML;
}

static bool check_combinations(const cli_command *command, const cli_options *o) {
    const bool is_diff = command->bit == CLI_DIFF;
    const struct { bool wrong; const char *message; } rules[] = {
        {o->compute && o->no_compute, "--compute and --no-compute exclude each other"},
        {o->prints.n > 0 && !o->dump && !shows_values(o), "--print needs --format text, json, jsonl or html, or --dump"},
        {(o->prints.n > 0 || o->dump || o->trace || o->compare) && o->no_compute,
         "--print, --dump, --trace and --compare need an execution, which --no-compute forbids"},
        {o->compare && (o->prints.n > 0 || o->dump || o->trace || o->check || o->lint || o->fail_on),
         "--compare does not go with --print, --dump, --trace, --check, --lint or --fail-on"},
        {o->rules_all && (o->lint || o->fail_on), "--rules all does not go with --lint or --fail-on"},
        {o->compare && o->format != CLI_TEXT && o->format != CLI_JSON && o->format != CLI_JSONL,
         "--compare needs --format text, json or jsonl"},
        {o->rules_all && (o->compare || o->check || o->compute || o->trace || o->dump || o->prints.n > 0),
         "--rules all compares layouts: it does not go with --check, --compute, --compare, --print, --dump or --trace"},
        {o->rules_all && o->format != CLI_TEXT && o->format != CLI_JSON, "--rules all needs --format text or json"},
        {o->explains.n > 0 && !shows_values(o), "--explain needs --format text, json, jsonl or html"},
        {o->memory && !shows_values(o) && o->format != CLI_SVG, "--memory needs --format text, json, jsonl, svg or html"},
        {o->steps && !shows_values(o) && o->format != CLI_DOT && o->format != CLI_SVG,
         "--steps needs --format text, json, jsonl, dot, svg or html"},
        {o->memory && o->steps && o->format == CLI_SVG, "--memory and --steps are different drawings: choose one"},
        {o->estimate && o->compute, "--estimate executes nothing: it does not go with --compute"},
        {o->estimate && (o->prints.n > 0 || o->dump || o->compare || o->rules_all || o->check),
         "--estimate does not go with --print, --dump, --compare, --check, --check-outputs or --rules all"},
        {!is_diff && o->unfold && o->format != CLI_DOT && o->format != CLI_SVG, "--unfold is for --format dot and svg"},
        {o->trace && strcmp(o->trace, o->output ? o->output : "-") == 0,
         "--trace and the report would be one file: give one of them another with --trace or --output"},
        {o->estimate && !shows_values(o), "--estimate needs --format text, json, jsonl or html"},
        {o->batches > 0 && !o->estimate && o->sweeps.n == 0, "--batches is for --estimate and --sweep"},
        {o->sweeps.n > 0 && o->format != CLI_TEXT && o->format != CLI_JSON, "--sweep needs --format text or json"},
        {o->sweeps.n > 0 && (o->estimate || o->compute || o->check || o->compare || o->rules_all || o->lint ||
                             o->fail_on || o->explains.n > 0 || o->steps || o->memory || o->trace || o->dump ||
                             o->prints.n > 0),
         "--sweep is a report of its own: it goes with options of what is scheduled, --batches and --format"},
        {o->n_copies_list > 1 && !o->memory && o->sweeps.n == 0,
         "several --copies are for --memory and --sweep, which compare them"},
        {o->compare && (o->explains.n > 0 || o->memory || o->steps),
         "--compare does not go with --explain, --memory or --steps"},
        {o->format == CLI_HTML && o->files.n > 1, "--format html is a page of one description"},
        {is_diff && o->format != CLI_TEXT && o->format != CLI_JSON && o->format != CLI_DOT && o->format != CLI_SVG,
         "diff needs --format text, json, dot or svg"},
        {is_diff && o->rules_all, "--rules all is for run: diff takes one date or name, or two: --rules A,B"},
        {!o->compare && (o->nmse > 0.0 || o->drift), "--nmse and --drift are for --compare"},
    };
    for (int i = 0; i < SR_COUNT(rules); i++) {
        if (rules[i].wrong) {
            cli_message("%s", rules[i].message);
            return false;
        }
    }
    return true;
}

/* An option in the scope of a comparison: it may be the other side's, or have a value for each. */
static bool take_option(const cli_command *command, cli_options *options, int id, const char *value,
                        cli_scope *scope) {
    const cli_option_info *info = NULL;
    for (int i = 0; i < cli_n_options && info == NULL; i++) {
        info = cli_option_table[i].id == id && (cli_option_table[i].commands & command->bit) != 0
                   ? &cli_option_table[i]
                   : NULL;
    }
    if (id == OPTION_ONLY_A || id == OPTION_ONLY_B || id == OPTION_BOTH) {
        *scope = id == OPTION_BOTH ? CLI_BOTH : id == OPTION_ONLY_A ? CLI_ONLY_A : CLI_ONLY_B;
        return true;
    }
    if (command->bit == CLI_DIFF && info != NULL) {
        if (!cli_side_value(options, info, &value)) {
            return false;
        }
        if (!cli_side_takes(options, info, *scope, value)) {
            return true;
        }
    }
    return set_option(options, id, value);
}

static bool parse_arguments(const cli_command *command, int argc, char **argv, int first, cli_options *options) {
    getopt_tables tables;
    cli_scope scope = CLI_BOTH;
    fill_tables(command, &tables);
    opterr = 0;
    optind = first;
    int id;
    while ((id = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
        if (id == '?' || id == ':') {
            tell_refusal(command, id, argv);
            return false;
        }
        if (!take_option(command, options, id, optarg, &scope)) {
            return false;
        }
    }
    for (int i = optind; i < argc; i++) {
        if (!add_text(&options->files, argv[i])) {
            return false;
        }
    }
    return true;
}

static bool parse_side(const cli_command *command, int argc, char **argv, int first, cli_options *options) {
    if ((command->bit & (CLI_RUN | CLI_DIFF)) != 0 && !read_environment(command, options)) {
        return false;
    }
    if (!parse_arguments(command, argc, argv, first, options)) {
        return false;
    }
    if (options->format == CLI_HTML) { /* a page has all that there is to show */
        options->memory = true;
        options->steps = true;
    }
    return check_combinations(command, options);
}

bool cli_parse(const cli_command *command, int argc, char **argv, int first, cli_options *options) {
    *options = (cli_options){.debug_level = 2};
    if (!parse_side(command, argc, argv, first, options)) {
        return false;
    }
    if (command->bit != CLI_DIFF) {
        return true;
    }
    options->b = sr__malloc(sizeof(*options->b));
    if (options->b == NULL) {
        return out_of_memory();
    }
    *options->b = (cli_options){.debug_level = 2, .is_b = true};
    return parse_side(command, argc, argv, first, options->b);
}

void cli_options_free(cli_options *options) {
    if (options->b != NULL) {
        cli_options_free(options->b);
        sr__free(options->b);
    }
    for (int i = 0; i < options->n_halves; i++) {
        sr__free(options->halves[i]);
    }
    sr__free(options->halves);
    sr__str_free(&options->label);
    sr__free(options->params.texts);
    sr__free(options->places.texts);
    sr__free(options->assigns.texts);
    sr__free(options->prints.texts);
    sr__free(options->explains.texts);
    sr__free(options->sweeps.texts);
    sr__free(options->copies_list);
    sr__free(options->files.texts);
}
