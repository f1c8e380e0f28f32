/*
 * team.c - waiting, barrier and failure of a team of threads.
 *
 * Layer: kernels.  Answers to ggml_barrier of ggml-cpu.c of the reference.  Nodes follow each other within
 * microseconds, so a thread first spins; one that has waited longer sleeps, for a pool may be idle for hours and the
 * machine may have fewer free cores than the pool has threads.
 */
#include "kernels/team.h"

#include <sched.h>
#include <stdarg.h>

#if defined(__x86_64__)
#define RELAX() __builtin_ia32_pause()
#else
#define RELAX() ((void)0)
#endif

enum { SPINS = 2000, YIELDS = 20 };

bool sr__team_init(sr__team *team) {
    memset(team, 0, sizeof(*team));
    atomic_init(&team->waiting.sleepers, 0);
    atomic_init(&team->job, 0);
    atomic_init(&team->remaining, 0);
    atomic_init(&team->phase, 0);
    atomic_init(&team->arrived, 0);
    atomic_init(&team->failed, false);
    if (pthread_mutex_init(&team->waiting.mutex, NULL) != 0) {
        return false;
    }
    if (pthread_cond_init(&team->waiting.cond, NULL) != 0) {
        pthread_mutex_destroy(&team->waiting.mutex);
        return false;
    }
    return true;
}

void sr__team_free(sr__team *team) {
    pthread_cond_destroy(&team->waiting.cond);
    pthread_mutex_destroy(&team->waiting.mutex);
    sr__str_free(&team->failure);
}

void sr__team_wait(sr__team *team, atomic_uint_fast64_t *word, uint_fast64_t old) {
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(word, memory_order_acquire) != old) {
            return;
        }
        RELAX();
    }
    for (int i = 0; i < YIELDS; i++) {
        if (atomic_load_explicit(word, memory_order_acquire) != old) {
            return;
        }
        sched_yield();
    }
    /* The waker changes the word and then looks for sleepers; we say that we sleep and then look at the word. Both
     * orders are sequentially consistent, so one of us sees the other. */
    pthread_mutex_lock(&team->waiting.mutex);
    atomic_fetch_add(&team->waiting.sleepers, 1);
    while (atomic_load(word) == old) {
        pthread_cond_wait(&team->waiting.cond, &team->waiting.mutex);
    }
    atomic_fetch_sub(&team->waiting.sleepers, 1);
    pthread_mutex_unlock(&team->waiting.mutex);
}

void sr__team_wake(sr__team *team) {
    if (atomic_load(&team->waiting.sleepers) > 0) {
        pthread_mutex_lock(&team->waiting.mutex);
        pthread_cond_broadcast(&team->waiting.cond);
        pthread_mutex_unlock(&team->waiting.mutex);
    }
}

void sr__task_barrier(const sr__task *task) {
    if (task->nth == 1) {
        return;
    }
    sr__team *team = task->team;
    const uint_fast64_t phase = atomic_load(&team->phase);
    if (atomic_fetch_add(&team->arrived, 1) == task->nth - 1) {
        atomic_store(&team->arrived, 0);
        atomic_store(&team->phase, phase + 1);
        sr__team_wake(team);
    } else {
        sr__team_wait(team, &team->phase, phase);
    }
}

void sr__task_fail(const sr__task *task, const char *fmt, ...) {
    sr__team *team = task->team;
    if (team == NULL || atomic_exchange(&team->failed, true)) {
        return;
    }
    va_list list;
    va_start(list, fmt);
    sr__str_vprintf(&team->failure, fmt, list);
    va_end(list);
}
