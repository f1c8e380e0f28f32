/*
 * gpu_device.h - a device of a machine that has memory and kernels of its own, and its buffers.
 *
 * Layer: backends.  Internal to the folder gpu.
 */
#ifndef SR_GPU_DEVICE_H
#define SR_GPU_DEVICE_H

#include <pthread.h>

#include "backends/gpu/gpu.h"

/* One backend's device: several backends may each open the same device of the language. */
typedef struct sr__gpu_own {
    sr_device device;
    sr_device_i iface;          /* with offload_op, events as the language has them */
    sr_buffer_type type;
    sr_buffer_type host_type;   /* pinned host memory, where the language has it */
    char *name;                 /* "opencl:1" */
    char *host_name;            /* of host_type */
    sr__gpu_device *gpu;
    int64_t offload_min_batch;  /* -1: never asks */
    pthread_mutex_t lock;       /* of the stream for transfers that nobody queues */
    sr__gpu_stream *transfers;
} sr__gpu_own;

/* Fill own->type and own->host_type. */
void sr__gpu_types_init(sr__gpu_own *own, const char *name);
/* The device that the memory of a buffer is of, NULL for any other buffer; its memory. */
sr__gpu_own *sr__gpu_own_of_buffer(const sr_buffer *buffer);
sr__gpu_memory *sr__gpu_buffer_memory(const sr_buffer *buffer);
/* Copies between memories of one language, also within one and overlapping; *done = false: the language cannot. */
sr_status sr__gpu_copy(sr__gpu_stream *stream, sr__gpu_memory *dst, size_t dst_offset, sr__gpu_memory *src,
                       size_t src_offset, size_t size, bool *done, sr_error *err);

/* gpu_backend.c */
sr_status sr__gpu_init_backend(sr_device *device, sr_backend *backend, sr_error *err);

/* gpu_events.c */
sr_status sr__gpu_event_new(sr_device *device, sr_event **out_event, sr_error *err);
void sr__gpu_event_free(sr_event *event);
sr_status sr__gpu_event_synchronize(sr_event *event, sr_error *err);
sr_status sr__gpu_event_record(sr_backend *backend, sr_event *event, sr_error *err);
sr_status sr__gpu_event_wait(sr_backend *backend, sr_event *event, sr_error *err);

/* gpu_trace.c: work that was queued and whose times are not known yet. */
typedef struct sr__gpu_told sr__gpu_told;
typedef struct sr__gpu_trace {
    bool timed;                 /* the stream keeps times */
    uint64_t offset;            /* from the device's clock to the host's */
    sr__gpu_told *told;
    size_t n_told, told_cap;
    sr__gpu_event **spare;      /* events that are used again */
    size_t n_spare, spare_cap;
} sr__gpu_trace;

/* A backend's queue. */
typedef struct sr__gpu_backend {
    sr__gpu_own *own;
    sr__gpu_stream *stream;
    sr__gpu_event *meeting;     /* for copies between two streams */
    sr__gpu_event *marks[2];    /* how far the device has come in a long graph */
    sr__gpu_trace trace;
} sr__gpu_backend;

/* Where a piece of work begins: in the stream, if that keeps times, and on the host. */
typedef struct sr__gpu_begun { sr__gpu_event *place; uint64_t host; } sr__gpu_begun;

/* Around what is queued; nothing without a trace.  event: its kind, bytes and nodes; a name if not the subject's. */
sr__gpu_begun sr__gpu_trace_begin(const sr_backend *backend);
void sr__gpu_trace_end(const sr_backend *backend, sr__gpu_begun begun, sr_trace_event event);
void sr__gpu_trace_compute(const sr_backend *backend, const sr_graph_view *view, sr__gpu_begun begun);
/* The stream was synchronized: all that was queued is told. */
void sr__gpu_trace_tell(const sr_backend *backend);
void sr__gpu_trace_free(sr__gpu_backend *gpu);

/* The backend behind the interface, or NULL for one of another kind. */
sr__gpu_backend *sr__gpu_of_backend(const sr_backend *backend);

#endif
