/*
 * gpu.h - what the devices with memory and kernels of their own have in common, above the language that drives them.
 *
 * Layer: backends.  Internal; included by the folders gpu, opencl and cuda.  A language (OpenCL, CUDA) implements the
 * sr__gpu_runtime table: memory, streams, events, launches.  Everything else is here once: buffers, transfers, events,
 * the loop over nodes (gpu_backend.c, gpu_device.c, gpu_buffer.c), which ops there are and what they launch
 * (gpu_ops*.c), and the kernels (kernels/).
 *
 * Thread rule: as for backends, one thread drives a stream at a time; memory may be used by several streams.
 */
#ifndef SR_GPU_H
#define SR_GPU_H

#include "base/base.h"
#include "backends/gpu/kernels/gpu_types.h"
#include "backends/gpu/kernels/kernel_list.h"
#include "sched_run/backend.h"

/* Kernels by number; SR_GPU_KERNELS is the list that every language builds. */
typedef enum sr__gpu_kernel {
#define SR_GPU_KERNEL_ENUM(name) SR_GPU_KERNEL_##name,
    SR_GPU_KERNELS(SR_GPU_KERNEL_ENUM)
#undef SR_GPU_KERNEL_ENUM
    SR_GPU_KERNEL_COUNT
} sr__gpu_kernel;

/* ---- what a language gives --------------------------------------------------------------------------------------- */

typedef struct sr__gpu_runtime sr__gpu_runtime;
typedef struct sr__gpu_memory sr__gpu_memory; /* of the language: a piece of device memory */
typedef struct sr__gpu_event sr__gpu_event;   /* of the language: a place in a stream */

/* One device, opened; the language embeds it at the head of a struct of its own. */
typedef struct sr__gpu_device {
    const sr__gpu_runtime *runtime;
    int index;                  /* among the language's devices */
    const char *description;    /* vendor's name; lives as long as the process */
    size_t alignment;           /* of offsets, a power of two */
    size_t max_buffer;          /* bytes of one piece of memory */
    size_t total_memory;
    size_t local_memory;        /* bytes a work-group may use */
    size_t max_group;           /* work-items a group */
    bool unified;               /* its memory is the host's */
} sr__gpu_device;

/* A queue of one backend, in order; the language embeds it likewise. */
typedef struct sr__gpu_stream {
    sr__gpu_device *device;
    sr__gpu_memory *scratch;    /* grown by sr__gpu_scratch */
    size_t scratch_size;
    struct sr__gpu_faults *faults; /* gpu_faults.c */
} sr__gpu_stream;

/* One argument of a launch. */
typedef struct sr__gpu_arg {
    sr__gpu_memory *memory;     /* with size 0: this memory, or NULL for none */
    const void *value;          /* with size > 0: bytes to hand over by value */
    size_t size;
} sr__gpu_arg;

enum { SR_GPU_MAX_ARGS = 24 };

/* One launch: groups[d] work-groups of group[d] work-items. */
typedef struct sr__gpu_launch {
    sr__gpu_kernel kernel;
    size_t groups[3], group[3];
    sr__gpu_arg args[SR_GPU_MAX_ARGS]; /* as many as the kernel with the most has */
    int n_args;
} sr__gpu_launch;

/* y = a * b as MUL_MAT has it: y[m, n] = sum over k of a[k, m] * b[k, n]; a is f32, f16 or bf16, and b of a's type. */
typedef struct sr__gpu_product {
    gpu_tensor a, b, y;
    sr__gpu_memory *a_memory, *b_memory, *y_memory;
    bool precise; /* the op asks for sums in f32 */
} sr__gpu_product;

/*
 * Every function but the frees returns a status with the vendor's own words in err: SR_UNAVAILABLE (no such device, a
 * program that fails to build), SR_ALLOCATION or SR_MEMORY (no memory), SR_COMPUTE (anything in execution).
 */
struct sr__gpu_runtime {
    const char *name; /* "opencl", "cuda" */
    int (*device_count)(const char **out_why_none);
    sr_status (*device_describe)(int index, const char **out_description, size_t *out_free, size_t *out_total);
    sr_status (*device_open)(int index, sr__gpu_device **out_device, sr_error *err);
    void (*device_close)(sr__gpu_device *device);
    void (*device_memory)(sr__gpu_device *device, size_t *out_free, size_t *out_total);

    /* size > 0.  Where there is not enough: NULL, and SR_ALLOCATION without details, which gpu_buffer.c adds. */
    sr_status (*memory_new)(sr__gpu_device *device, size_t size, sr__gpu_memory **out_memory, sr_error *err);
    void (*memory_free)(sr__gpu_memory *memory); /* what is queued may still use it */
    /* Pinned host memory of the device's driver; both NULL: it has none. */
    sr_status (*host_memory_new)(sr__gpu_device *device, size_t size, void **out_memory, sr_error *err);
    void (*host_memory_free)(sr__gpu_device *device, void *memory);

    sr_status (*stream_new)(sr__gpu_device *device, sr__gpu_stream **out_stream, sr_error *err);
    void (*stream_free)(sr__gpu_stream *stream); /* waits for it; sr__gpu_stream_end came before */
    sr_status (*stream_synchronize)(sr__gpu_stream *stream, sr_error *err);
    /* data may be overwritten as soon as it returns. */
    sr_status (*write)(sr__gpu_stream *stream, sr__gpu_memory *memory, size_t offset, const void *data, size_t size,
                       sr_error *err);
    /* data is there once the stream is synchronized or an event recorded after it has been waited for. */
    sr_status (*read)(sr__gpu_stream *stream, sr__gpu_memory *memory, size_t offset, void *data, size_t size,
                      sr_error *err);
    sr_status (*fill)(sr__gpu_stream *stream, sr__gpu_memory *memory, uint8_t value, size_t offset, size_t size,
                      sr_error *err);
    /* What was queued begins now, if it has not yet; NULL: it does by itself. */
    sr_status (*stream_flush)(sr__gpu_stream *stream, sr_error *err);
    /* Both of this language; *done = false: these two devices cannot.  Ranges of one memory do not overlap. */
    sr_status (*copy)(sr__gpu_stream *stream, sr__gpu_memory *dst, size_t dst_offset, sr__gpu_memory *src,
                      size_t src_offset, size_t size, bool *done, sr_error *err);
    sr_status (*launch)(sr__gpu_stream *stream, const sr__gpu_launch *launch, sr_error *err);

    sr_status (*event_new)(sr__gpu_device *device, sr__gpu_event **out_event, sr_error *err);
    void (*event_free)(sr__gpu_event *event);
    sr_status (*event_record)(sr__gpu_event *event, sr__gpu_stream *stream, sr_error *err);
    sr_status (*event_synchronize)(sr__gpu_event *event, sr_error *err); /* never recorded: returns */
    sr_status (*event_wait)(sr__gpu_stream *stream, sr__gpu_event *event, sr_error *err); /* of this language */
    /* For traces; both NULL: it knows no times.  Nothing is queued when times begin to be kept. */
    sr_status (*stream_keep_times)(sr__gpu_stream *stream, sr_error *err);
    /* When an event that was reached in such a stream was reached: nanoseconds of the device's clock. */
    sr_status (*event_time)(sr__gpu_event *event, uint64_t *out_time, sr_error *err);

    /* A matrix product that the vendor's library does better; optional.  *done = false: take the kernels. */
    sr_status (*multiply)(sr__gpu_stream *stream, const sr__gpu_product *product, bool *done, sr_error *err);
};

/* ---- what is common ---------------------------------------------------------------------------------------------- */

/* The table of a driver of this language: its functions are made of these. */
sr_status sr__gpu_device_new(const sr__gpu_runtime *runtime, int index, const sr_backend_config *config,
                             sr_buffer_type *buffer_type, int64_t offload_min_batch, sr_device **out_device,
                             sr_error *err);
/* Memory of this language in which storage lies; NULL for another's. */
sr__gpu_memory *sr__gpu_storage_memory(const sr__gpu_runtime *runtime, const sr_storage *storage);
/* Waits for the stream and frees it with its scratch and faults. */
void sr__gpu_stream_end(sr__gpu_stream *stream);
/* At least size bytes that nobody else uses until the next call for this stream; contents are undefined. */
sr_status sr__gpu_scratch(sr__gpu_stream *stream, size_t size, sr__gpu_memory **out_memory, sr_error *err);

/*
 * Faults: a kernel that meets wrong data of a node (a row index out of range) writes the node's number where 0 stands,
 * and the next synchronize of the backend fails with SR_COMPUTE and details node, op.
 */
/* The place to write to, and the number to write; *out_memory lives as long as the stream. */
sr_status sr__gpu_fault_place(sr__gpu_stream *stream, const sr_tensor *node, sr__gpu_memory **out_memory,
                              gpu_int *out_number, sr_error *err);
/* After the stream was synchronized: the first fault since the last call, if any. */
sr_status sr__gpu_faults_check(sr__gpu_stream *stream, sr_error *err);
void sr__gpu_faults_free(sr__gpu_stream *stream);

/* ---- ops --------------------------------------------------------------------------------------------------------- */

/* Why the kernels cannot compute the node on this device, in words, or NULL. */
const char *sr__gpu_refuse(const sr__gpu_device *device, const sr_graph_view *view, int32_t node);

/* A node as its launches need it; filled by gpu_backend.c. */
typedef struct sr__gpu_node {
    sr__gpu_stream *stream;
    const sr_tensor *tensor;
    const int32_t *params;
    const sr_tensor *src[SR_MAX_SRC];          /* NULL: an empty place */
    gpu_tensor dst_place, src_place[SR_MAX_SRC];
    sr__gpu_memory *dst_memory, *src_memory[SR_MAX_SRC];
} sr__gpu_node;

/* Queues what computes the node. */
sr_status sr__gpu_compute_node(const sr__gpu_node *node, sr_error *err);

#endif
