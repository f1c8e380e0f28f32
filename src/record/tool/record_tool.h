/*
 * record_tool.h - what the files of the command sched-record share.
 *
 * Layer: record.  Answers to nothing of the reference.
 */
#ifndef RECORD_TOOL_H
#define RECORD_TOOL_H

#include <stdbool.h>

#include "record/json_text.h"
#include "record/record_state.h"

/* Exit statuses of the command's own; otherwise it is the program's. */
enum { EXIT_DIFFERS = 1, EXIT_USAGE = 2, EXIT_NOTHING = 4 };

typedef struct tool_options {
    const char *output; /* as the program is told: absolute */
    const char *shown;  /* as the user said it */
    const char *max, *only, *rules;
    bool data, anonymise, verify, log, quiet;
    char **program; /* and its arguments */
} tool_options;

/* A line on standard error, after the command's name. */
void tool_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What follows the word for n things. */
const char *plural(int n);

/* What a program is, from its file alone. */
typedef enum program_kind {
    PROGRAM_DYNAMIC,      /* a recorder can be loaded into it */
    PROGRAM_SCRIPT,       /* its interpreter is another program */
    PROGRAM_STATIC,       /* statically linked: nothing can be loaded into it */
    PROGRAM_HOLDS_GGML,   /* its ggml is part of it */
    PROGRAM_OTHER_MACHINE,
    PROGRAM_UNREADABLE,
} program_kind;

program_kind program_look(const char *path);
/* A user's or group's own rights: the loader then preloads nothing. */
bool program_is_privileged(const char *path);
/* The file that execvp would run; NULL where there is none.  To be freed. */
char *program_find(const char *name);

/* A file beside this command, in ../lib, or in the folder where it was installed (nullable); NULL: there is none. */
char *tool_find_beside(const char *name, const char *installed);

/* Runs the program; its exit status, 128 + signal where one ended it, -1 with a message where it could not be run. */
int program_run(const tool_options *options, const char *path, const char *recorder, const char *state_path,
                int *out_signal);

/* The path of a recording by its number, with its own suffix or another; to be freed. */
char *recording_path(const char *output, int number, const char *suffix);

/* Compares one recording with the text that the program printed; the exit status. */
int verify_recording(const tool_options *options, const char *recording, const char *shown, const char *log);

#endif
