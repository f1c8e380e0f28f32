/*
 * sim.h - a simulated device: its own memory, its own queue, whatever limits and faults a description gives it.
 *
 * Layer: backends.  Internal, for the files of this folder only.
 */
#ifndef SR_SIM_H
#define SR_SIM_H

#include <pthread.h>
#include <stdatomic.h>

#include "backend/hostmem.h"
#include "kernels/kernels.h"

/* ---- the device ----------------------------------------------------------------------------------------------- */

typedef struct sr__sim_device {
    sr_device device;
    sr_device_i iface;              /* by what the description says it has: events, offload */
    sr_buffer_type type;            /* its own; unused where the description names an existing one */
    const sr_backend_config *config;
    pthread_mutex_t lock;           /* of all below */
    uint64_t used;                  /* bytes in buffers of its own type */
    uint64_t ever;                  /* bytes ever allocated, for the fault */
    int64_t n_transfers;            /* into and out of its memory, for the fault */
    char *extra_problem;            /* the first alloc_extra expression that failed, told at the next allocation */
} sr__sim_device;

/* Fills sim->type from the description. */
void sr__sim_type_init(sr__sim_device *sim);
/* The transfer fault: counts one, SR_COMPUTE if it is the one to fail. */
sr_status sr__sim_count_transfer(sr__sim_device *sim, size_t size, sr_error *err);
/* The device whose own memory the buffer is in, or NULL. */
sr__sim_device *sr__sim_of_buffer(const sr_buffer *buffer);

/* ---- the backend ---------------------------------------------------------------------------------------------- */

sr_status sr__sim_init_backend(sr_device *device, sr_backend *backend, sr_error *err);

#endif
