/*
 * cli.h - the command: options, messages, output, and one function a command.
 *
 * Layer: cli (above everything).  Only this room reads the environment, writes to the standard streams and decides the
 * exit status.
 */
#ifndef SR_CLI_H
#define SR_CLI_H

#include <stdio.h>

#include "base/base.h"
#include "sched_run.h"

/* ---- options --------------------------------------------------------------------------------------------------- */

typedef enum cli_format {
    CLI_TEXT, CLI_GGML, CLI_JSON, CLI_JSONL, CLI_DOT, CLI_SVG, CLI_HTML, CLI_FORMAT_COUNT
} cli_format;

typedef enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER } cli_color;

/* Texts given several times, in order; borrowed from the command line. */
typedef struct cli_texts { const char **texts; int n; size_t cap; } cli_texts;

typedef struct cli_options {
    cli_texts params, places, assigns, prints, explains, sweeps;
    cli_texts files;             /* operands */
    const char *backends_file, *weights, *output;
    int threads;                 /* 0: the backends' own choice */
    bool no_compute, compute;
    const char *trace, *dump, *compare; /* NULL: not given */
    double nmse;                 /* 0: by op */
    bool drift;
    const sr_revision *rules;    /* NULL: the reference's */
    bool rules_all, rules_help;
    int copies;                  /* 0: as the description says */
    int *copies_list;            /* --copies N,N: those to be compared */
    int n_copies_list;
    size_t copies_list_cap;
    bool no_op_offload;
    int max_split_inputs, max_backends; /* 0: the reference's */
    bool simulate_missing;
    int debug_level;
    bool debug_given;
    int realloc_level;
    bool steps, memory;
    bool estimate;
    int batches;                 /* 0: one */
    cli_format format;
    bool format_given;
    bool unfold;
    bool check;
    bool check_outputs;          /* with check: outputs alone */
    bool lint;
    const char *fail_on;         /* kinds of findings and severities, with commas; NULL: none */
    bool fail_on_help;
    bool quiet, verbose;
    cli_color color;
    bool help, version;
    bool has_offload_min_batch;  /* GGML_OP_OFFLOAD_MIN_BATCH */
    int64_t offload_min_batch;
    bool has_graph, no_pins;     /* import */
    int graph;
    struct cli_options *b;       /* diff: these are A's, those B's; else NULL */
    bool is_b, sides_differ;     /* an option was given for one side, or two values */
    sr__str label;               /* the options of this side alone */
    char **halves;               /* values of this side, owned */
    int n_halves;
    size_t halves_cap;
} cli_options;

typedef struct cli_command {
    const char *name;
    const char *operands;        /* "GRAPH.json...", as usage lines show them */
    const char *summary;
    unsigned bit;                /* of cli_option_info.commands */
    int min_operands, max_operands; /* max -1: any number */
    int (*run)(const cli_options *options);
} cli_command;

enum { CLI_RUN = 1, CLI_EXPAND = 2, CLI_DEVICES = 4, CLI_OPS = 8, CLI_HELP = 16, CLI_IMPORT = 32, CLI_DIFF = 64,
       CLI_ALL = 127 };
/* Of options of diff: each side can have its own; 'A,B' are two values, one for each side. */
enum { CLI_OF_SIDE = 1 << 16, CLI_TWO_VALUES = 1 << 17 };

/* One option: what help, the parser and the tests of manual and completion read. */
typedef struct cli_option_info {
    int id;                      /* its letter, or a number above 255 */
    const char *name;
    const char *argument;        /* NULL: takes none */
    unsigned commands;           /* and CLI_OF_SIDE, CLI_TWO_VALUES */
    const char *help;
} cli_option_info;

extern const cli_command cli_commands[];
extern const int cli_n_commands;
extern const cli_option_info cli_option_table[];
extern const int cli_n_options;
extern const char *const cli_format_names[CLI_FORMAT_COUNT];

const cli_command *cli_find_command(const char *name);
/* Reads environment and arguments (argv[first] on); false: a message was written, the exit status is 2. */
bool cli_parse(const cli_command *command, int argc, char **argv, int first, cli_options *options);
void cli_options_free(cli_options *options);

/* ---- options_sides.c: what is for one side of a comparison ------------------------------------------------------ */

typedef enum cli_scope { CLI_BOTH, CLI_ONLY_A, CLI_ONLY_B } cli_scope;

/* Whether an option in a scope is for the side whose options these are; notes what the side alone is given. */
bool cli_side_takes(cli_options *options, const cli_option_info *info, cli_scope scope, const char *value);
/* "1,4": the half of this side; a message tells of more than two.  The text is *value's or kept in the options. */
bool cli_side_value(cli_options *options, const cli_option_info *info, const char **value);

/* ---- messages -------------------------------------------------------------------------------------------------- */

/* "sched-run: ..." on standard error, a line each. */
void cli_message(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "sched-run: FILE:LINE:COLUMN: POINTER: message"; file stands in where the error names none.
 * Returns the exit status. */
int cli_error(const sr_error *err, const char *file);
/* "sched-run: FILE: run 2: message" */
int cli_run_error(const sr_error *err, const char *file, int run);
int cli_worse(int a, int b);

/* ---- output ---------------------------------------------------------------------------------------------------- */

/* Where the report goes: standard output or a file, opened at the first byte. */
typedef struct cli_output {
    const char *path; /* NULL or "-": standard output */
    FILE *file;
    bool failed;
    int error;        /* errno of the first failure */
    sr_sink sink;
} cli_output;

void cli_output_init(cli_output *output, const char *path);
/* Writes what is left and closes; false: something could not be written, which a message has told. */
bool cli_output_close(cli_output *output);
void cli_print(cli_output *output, const char *text);

/* ---- interruption ---------------------------------------------------------------------------------------------- */

/* From now on the first SIGINT or SIGTERM asks for an end, the second one kills. */
void cli_catch_interrupts(void);
/* Whether an end was asked for; an abort callback. */
bool cli_interrupted(void *unused);

/* ---- rendering ------------------------------------------------------------------------------------------------- */

/* Runs `dot -Tsvg` on a digraph; appends what it writes to svg.  SR_UNAVAILABLE where it is not installed. */
sr_status cli_render_svg(const char *dot, size_t length, sr__str *svg, sr_error *err);

/* ---- reports --------------------------------------------------------------------------------------------------- */

/* The report of one description in the chosen format. */
typedef struct cli_report {
    const cli_options *options;
    const sr_description *description;
    sr_report_options text;
    sr_sink *sink;
    int n_runs;       /* reported so far */
    sr__str pages;    /* svg: the runs' drawings one after another */
    double width, height;
    const sr_realloc_history *history; /* of the runs, NULL: nobody asks */
} cli_report;

/* What the options and the terminal say of text reports. */
sr_report_options cli_report_options(const cli_options *options);
sr_status cli_report_begin(cli_report *report, const sr_description *description, const cli_options *options,
                           sr_sink *sink, sr_error *err);
sr_status cli_report_run(cli_report *report, const sr_run_result *result, sr_error *err);
sr_status cli_report_compare(cli_report *report, const sr_compare_result *result, sr_error *err);
sr_status cli_report_end(cli_report *report, sr_error *err);
/* svg: renders a digraph below those that are there; writes them all. */
sr_status cli_report_add_dot(cli_report *report, const sr__str *dot, sr_error *err);
sr_status cli_report_write_pages(cli_report *report, sr_error *err);

/* ---- loading --------------------------------------------------------------------------------------------------- */

/* Loads a description as the options say; a failure has been told and is the exit status, 0: done. */
int cli_load(const char *path, const cli_options *options, bool no_memory, sr_description **out_description);

/* Appends a file, or standard input for "-". */
sr_status cli_read_file(const char *path, sr__str *text, sr_error *err);

/* ---- commands -------------------------------------------------------------------------------------------------- */

int cli_cmd_run(const cli_options *options);
int cli_cmd_expand(const cli_options *options);
int cli_cmd_diff(const cli_options *options);
int cli_cmd_import(const cli_options *options);
int cli_cmd_devices(const cli_options *options);
int cli_cmd_ops(const cli_options *options);
int cli_cmd_help(const cli_options *options);
/* Usage and options of a command on standard output; NULL: of all of them. */
int cli_help(const cli_command *command);
/* The tables of --rules help and --fail-on help. */
int cli_list_rules(void);
int cli_list_findings(void);

#endif
