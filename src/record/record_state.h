/*
 * record_state.h - what the recorder and its wrapper tell each other: environment variables and a shared page.
 *
 * Layer: record.  Answers to nothing of the reference.
 */
#ifndef RECORD_STATE_H
#define RECORD_STATE_H

#include <stdatomic.h>
#include <stdint.h>

/* Read once, when the recorder is loaded.  Without RECORD_ENV_OUTPUT it does nothing but call through. */
#define RECORD_ENV_OUTPUT "SCHED_RECORD_OUTPUT"       /* path of the description */
#define RECORD_ENV_STATE "SCHED_RECORD_STATE"         /* path of the shared page; without it there is none */
#define RECORD_ENV_DATA "SCHED_RECORD_DATA"           /* 1: contents of integer inputs */
#define RECORD_ENV_MAX "SCHED_RECORD_MAX"             /* how many runs a scheduler's recording may have */
#define RECORD_ENV_ONLY "SCHED_RECORD_ONLY"           /* `reserve` or `alloc` */
#define RECORD_ENV_ANONYMISE "SCHED_RECORD_ANONYMISE" /* 1: names of unknown kind are replaced */
#define RECORD_ENV_LOG "SCHED_RECORD_LOG"             /* 1: the debug text beside each description, as NAME.log */
#define RECORD_ENV_QUIET "SCHED_RECORD_QUIET"         /* 1: that text does not go to the program's log as well */

enum { RECORD_FILES = 64, RECORD_MAX_DEFAULT = 256 };

/* One recording, by its number: 1 has the plain name, 2 is NAME-2.json and so on. */
typedef struct record_file {
    _Atomic int32_t written; /* how often it was written */
    _Atomic int32_t graphs, runs, reserves, stopped;
} record_file;

typedef struct record_state {
    _Atomic int32_t loaded;     /* processes that the recorder was loaded into */
    _Atomic int32_t schedulers; /* that were made */
    _Atomic int32_t unreadable; /* libraries that do not fit */
    _Atomic int32_t failed;     /* files that could not be written */
    _Atomic int32_t numbers;    /* given away */
    record_file files[RECORD_FILES]; /* by number - 1, the first ones */
} record_state;

#endif
