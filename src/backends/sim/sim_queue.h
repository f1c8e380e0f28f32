/*
 * sim_queue.h - the queue of a simulated device: commands that a worker thread runs in order, and points to wait for.
 *
 * Layer: backends.  Internal, for the files of this folder only.
 */
#ifndef SR_SIM_QUEUE_H
#define SR_SIM_QUEUE_H

#include <pthread.h>

#include "base/base.h"
#include "sched_run/trace.h"

/* ---- points: moments in a queue, each reached once -------------------------------------------------------------- */

/* Counted: whoever may still look at it holds a reference.  Thread-safe. */
typedef struct sr__sim_point {
    int refs;
    bool reached;
    sr_error failure;      /* status SR_OK unless what led to it failed; fixed once it is reached */
    size_t payload_size;
    char payload[];        /* written by who reaches it, before that */
} sr__sim_point;

/* With one reference.  NULL: out of memory. */
sr__sim_point *sr__sim_point_new(size_t payload_size);
sr__sim_point *sr__sim_point_ref(sr__sim_point *point);
void sr__sim_point_unref(sr__sim_point *point); /* NULL is fine */
/* failure may be NULL; it is copied. */
void sr__sim_point_reach(sr__sim_point *point, const sr_error *failure);
void sr__sim_point_wait(sr__sim_point *point);
/* Status, message and details. */
void sr__sim_error_copy(sr_error *to, const sr_error *from);

/* ---- commands ------------------------------------------------------------------------------------------------- */

typedef struct sr__sim_command sr__sim_command;
struct sr__sim_command {
    sr__sim_command *next;
    sr_status (*run)(sr__sim_command *command, sr_error *err);
    void (*skipped)(sr__sim_command *command, const sr_error *why); /* an earlier one failed; NULL: nothing to do */
    void (*free)(sr__sim_command *command);
    bool always; /* runs after a failure too: others wait for it */
    sr_trace *trace;     /* which learns of it when it has run, with the times of that; NULL: nobody does */
    sr_trace_event told;
};

/* Part of what a running command does ends now: told as a wait, the rest begins. */
void sr__sim_command_waited(sr__sim_command *command);

/* Reaches / waits for the point, of which they take a reference of their own.  NULL: out of memory. */
sr__sim_command *sr__sim_signal_new(sr__sim_point *point);
sr__sim_command *sr__sim_wait_new(sr__sim_point *point);
static inline void sr__sim_command_free(sr__sim_command *command) {
    if (command) {
        command->free(command);
    }
}

/* ---- queues --------------------------------------------------------------------------------------------------- */

typedef struct sr__sim_queue {
    const char *name; /* of the backend, for errors */
    pthread_mutex_t lock;
    pthread_cond_t work, idle;
    sr__sim_command *first, **end;
    bool running, started, stop;
    sr_status failed; /* of the first command that failed and has not been told of */
    sr_error failure;
    pthread_t thread;
} sr__sim_queue;

sr_status sr__sim_queue_init(sr__sim_queue *queue, const char *name, sr_error *err);
/* Runs what is queued to its end, then stops. */
void sr__sim_queue_destroy(sr__sim_queue *queue);
/* Starts the worker if need be, and tells of an earlier failure; after SR_OK the next pushes cannot fail. */
sr_status sr__sim_queue_ready(sr__sim_queue *queue, sr_error *err);
void sr__sim_queue_push(sr__sim_queue *queue, sr__sim_command *command);
/* Waits until nothing is queued; tells of the first failure. */
sr_status sr__sim_queue_drain(sr__sim_queue *queue, sr_error *err);

#endif
