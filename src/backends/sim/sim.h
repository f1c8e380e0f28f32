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
#include "backends/sim/sim_queue.h"
#include "backends/sim/sim_snapshot.h"
#include "kernels/kernels.h"

/* ---- the device ----------------------------------------------------------------------------------------------- */

/*
 * Memory belongs to the device whose buffer type it is of, and so does the queue: backends that share a type share its
 * queue, else one could overwrite what the other still reads.
 */
typedef struct sr__sim_device {
    sr_device device;
    sr_device_i iface;              /* by what the description says it has: events, offload */
    sr_buffer_type type;            /* its own; unused where the description names an existing one */
    const sr_backend_config *config;
    sr_speed speed;                 /* complete; heeded where config->paced */
    sr__sim_queue queue;
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
/* The device that a buffer type / a buffer's memory belongs to, or NULL. */
sr__sim_device *sr__sim_of_type(const sr_buffer_type *type);
sr__sim_device *sr__sim_of_buffer(const sr_buffer *buffer);

/* ---- the backend ---------------------------------------------------------------------------------------------- */

typedef struct sr__sim_backend {
    sr__sim_device *sim;
    sr__sim_queue *queue;   /* of the device that its buffer type belongs to, else of its own */
    bool at_once;           /* nothing of it queues: async is false, or it shares memory with who does not queue */
    sr__pool *pool;         /* NULL until something is computed */
    atomic_int n_threads;
    sr__sim_places places;
} sr__sim_backend;

sr_status sr__sim_init_backend(sr_device *device, sr_backend *backend, sr_error *err);
/* The simulated backend behind the interface, or NULL for another kind of backend. */
sr__sim_backend *sr__sim_of_backend(const sr_backend *backend);

/* sim_backend.c: has the command tell the backend's trace, if there is one, what it did. */
void sr__sim_tell(sr__sim_command *command, const sr_backend *backend, sr_trace_kind kind, uint64_t bytes);

/* sim_pace.c: what is done since `begin` has taken so many seconds of a paced device's time when these return. */
void sr__sim_pace(const sr__sim_device *sim, uint64_t begin, double seconds);
void sr__sim_pace_nodes(const sr_backend *backend, uint64_t begin, const sr_graph_view *view);

/* sim_compute.c */
sr_status sr__sim_compute_now(sr_backend *backend, const sr_graph_view *view, sr_error *err);
sr_status sr__sim_compute_queued(sr_backend *backend, const sr_graph_view *view, sr_error *err);

/* sim_transfer.c */
sr_status sr__sim_set_async(sr_backend *backend, sr_buffer *dst, const void *data, size_t offset, size_t size,
                            sr_error *err);
sr_status sr__sim_get_async(sr_backend *backend, const sr_buffer *src, void *data, size_t offset, size_t size,
                            sr_error *err);
sr_status sr__sim_copy_async(sr_backend *src_backend, sr_backend *dst_backend, const sr_storage *src,
                             const sr_storage *dst, size_t size, bool *done, sr_error *err);

/* sim_events.c */
sr_status sr__sim_event_new(sr_device *device, sr_event **out_event, sr_error *err);
void sr__sim_event_free(sr_event *event);
sr_status sr__sim_event_synchronize(sr_event *event, sr_error *err);
sr_status sr__sim_event_record(sr_backend *backend, sr_event *event, sr_error *err);
sr_status sr__sim_event_wait(sr_backend *backend, sr_event *event, sr_error *err);

#endif
