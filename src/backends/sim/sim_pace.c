/*
 * sim_pace.c - a simulated device that takes its time: as long for an op or a copy as its figures say.
 *
 * Layer: backends.  Answers to nothing in the reference.  The work itself is done at once and the rest of the time
 * slept away, so that results are what they are without it, and whoever waits for the device waits as for a real one.
 */
#include <time.h>

#include "backend/speed.h"
#include "backends/sim/sim.h"

/* Nobody is kept waiting longer by one command; asked to stop, a device wakes after a slice of the time. */
static const uint64_t LONGEST_SLEEP = UINT64_C(60000000000), SLICE = UINT64_C(50000000);

static void sleep_until(uint64_t end, sr_abort_callback stop, void *user) {
    uint64_t now = sr_trace_now();
    while (now < end && !(stop && stop(user))) {
        const uint64_t wake = end - now < SLICE ? end : now + SLICE;
        const struct timespec at = {.tv_sec = (time_t)(wake / UINT64_C(1000000000)),
                                    .tv_nsec = (long)(wake % UINT64_C(1000000000))};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL); /* a signal that wakes it is asked about above */
        now = sr_trace_now();
    }
}

static void pace(uint64_t begin, double seconds, sr_abort_callback stop, void *user) {
    const uint64_t time = sr__nanoseconds(seconds);
    sleep_until(begin + (time < LONGEST_SLEEP ? time : LONGEST_SLEEP), stop, user);
}

void sr__sim_pace(const sr__sim_device *sim, uint64_t begin, double seconds) {
    if (sim->config->paced) {
        pace(begin, seconds, NULL, NULL);
    }
}

void sr__sim_pace_nodes(const sr_backend *backend, uint64_t begin, const sr_graph_view *view) {
    const sr__sim_device *sim = sr__sim_of_backend(backend)->sim;
    double seconds = 0;
    if (!sim->config->paced) {
        return;
    }
    for (int32_t i = 0; i < view->n_nodes; i++) {
        if (!sr_view_is_extra(view, view->nodes[i])) {
            seconds += sr__node_seconds(&sim->speed, view->graph, view->nodes[i], NULL);
        }
    }
    pace(begin, seconds, backend->stop, backend->stop_user);
}
