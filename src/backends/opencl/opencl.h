/*
 * opencl.h - the OpenCL runtime: platforms, devices, their program, memory, streams.
 *
 * Layer: backends.  Internal to the folder opencl.  OpenCL 1.2 through the ICD loader.
 *
 * Thread rule: as gpu.h says.  What devices of one platform share (context, bytes in use, the program) is guarded by
 * sr__ocl_lock; OpenCL's own objects may be used by any thread, but for kernels, of which each stream has its own.
 */
#ifndef SR_OPENCL_H
#define SR_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>

#include "backends/gpu/gpu.h"

/* One platform with one context for all its devices, so that buffers can be copied from one to another. */
typedef struct sr__ocl_platform {
    cl_platform_id id;
    cl_context context;     /* made for the first device that is opened */
    char last_words[256];   /* what the driver told the context last, "" for nothing */
} sr__ocl_platform;

/* One device of this machine. */
typedef struct sr__ocl_entry {
    sr__ocl_platform *platform;
    cl_device_id id;
    bool is_cpu;
    char *description;
    size_t total_memory, used;
    cl_program program;     /* built at the first launch */
} sr__ocl_entry;

/* Guards platforms and entries. */
extern pthread_mutex_t sr__ocl_lock;

/* ---- opencl_platform.c ---- */

/* The devices of this machine, GPUs before CPUs; 0 and why.  They stay as they are once they were found. */
int sr__ocl_count(const char **out_why_none);
sr__ocl_entry *sr__ocl_entry_get(int index);
/* Makes the context if there is none; the lock is not held. */
sr_status sr__ocl_platform_open(sr__ocl_platform *platform, sr_error *err);

/* ---- opencl_errors.c ---- */

/* "clEnqueueCopyBuffer: CL_OUT_OF_RESOURCES (-5)" and what the driver said; the status follows from the code. */
sr_status sr__ocl_fail(sr_error *err, const sr__ocl_platform *platform, const char *call, cl_int code);
const char *sr__ocl_code_name(cl_int code);

/* ---- the runtime's structs ---- */

typedef struct sr__ocl_device {
    sr__gpu_device base;
    sr__ocl_entry *entry;
} sr__ocl_device;

struct sr__gpu_memory {
    sr__ocl_entry *entry;
    cl_mem mem;
    size_t size;
};

struct sr__gpu_event {
    sr__ocl_platform *platform;
    cl_event reached;        /* NULL: never recorded */
};

typedef struct sr__ocl_staged sr__ocl_staged;

typedef struct sr__ocl_stream {
    sr__gpu_stream base;
    sr__ocl_entry *entry;
    cl_command_queue queue;
    cl_kernel kernels[SR_GPU_KERNEL_COUNT];
    sr__ocl_staged *staged;   /* copies of data that writes still read */
    size_t staged_size;
} sr__ocl_stream;

/* ---- opencl_program.c ---- */

/* The entry's program, built if it is not; the lock is not held. */
sr_status sr__ocl_program(sr__ocl_entry *entry, cl_program *out_program, sr_error *err);

/* ---- opencl_memory.c, opencl_stream.c: members of the table ---- */

sr_status sr__ocl_memory_new(sr__gpu_device *device, size_t size, sr__gpu_memory **out_memory, sr_error *err);
void sr__ocl_memory_free(sr__gpu_memory *memory);
sr_status sr__ocl_write(sr__gpu_stream *stream, sr__gpu_memory *memory, size_t offset, const void *data, size_t size,
                        sr_error *err);
sr_status sr__ocl_read(sr__gpu_stream *stream, sr__gpu_memory *memory, size_t offset, void *data, size_t size,
                       sr_error *err);
sr_status sr__ocl_fill(sr__gpu_stream *stream, sr__gpu_memory *memory, uint8_t value, size_t offset, size_t size,
                       sr_error *err);
sr_status sr__ocl_copy(sr__gpu_stream *stream, sr__gpu_memory *dst, size_t dst_offset, sr__gpu_memory *src,
                       size_t src_offset, size_t size, bool *done, sr_error *err);
/* Frees the staged data that is not read any more. */
void sr__ocl_staged_sweep(sr__ocl_stream *stream, bool all);

sr_status sr__ocl_stream_new(sr__gpu_device *device, sr__gpu_stream **out_stream, sr_error *err);
void sr__ocl_stream_free(sr__gpu_stream *stream);
sr_status sr__ocl_stream_synchronize(sr__gpu_stream *stream, sr_error *err);
sr_status sr__ocl_stream_flush(sr__gpu_stream *stream, sr_error *err);
sr_status sr__ocl_launch(sr__gpu_stream *stream, const sr__gpu_launch *launch, sr_error *err);
sr_status sr__ocl_event_new(sr__gpu_device *device, sr__gpu_event **out_event, sr_error *err);
void sr__ocl_event_free(sr__gpu_event *event);
sr_status sr__ocl_event_record(sr__gpu_event *event, sr__gpu_stream *stream, sr_error *err);
sr_status sr__ocl_event_synchronize(sr__gpu_event *event, sr_error *err);
sr_status sr__ocl_stream_keep_times(sr__gpu_stream *stream, sr_error *err);
sr_status sr__ocl_event_time(sr__gpu_event *event, uint64_t *out_time, sr_error *err);
sr_status sr__ocl_event_wait(sr__gpu_stream *stream, sr__gpu_event *event, sr_error *err);

/* ---- opencl_device.c ---- */

extern const sr__gpu_runtime sr__ocl_runtime;

#endif
