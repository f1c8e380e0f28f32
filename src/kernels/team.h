/*
 * team.h - the threads of a pool while they compute one node: barrier, failure, and how they wait.
 *
 * Layer: kernels.  Internal to pool.c and team.c.
 */
#ifndef SR_TEAM_H
#define SR_TEAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "kernels/kernels.h"

/* Where threads sleep until a word changes: they spin for a moment first. */
typedef struct sr__waiting {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    atomic_int sleepers;
} sr__waiting;

typedef struct sr__team {
    sr__waiting waiting;
    atomic_uint_fast64_t job;       /* generation << 16 | members of the job's team; 0 members: the pool ends */
    atomic_uint_fast64_t remaining; /* workers that have not finished the job */
    atomic_uint_fast64_t phase;     /* of the barrier */
    atomic_int arrived;
    atomic_bool failed;
    sr__str failure;                /* written by the first that fails, read when the node has ended */
} sr__team;

bool sr__team_init(sr__team *team);
void sr__team_free(sr__team *team);
/* Waits until *word is not `old`. */
void sr__team_wait(sr__team *team, atomic_uint_fast64_t *word, uint_fast64_t old);
/* Wakes the sleepers after a word was changed. */
void sr__team_wake(sr__team *team);

#endif
