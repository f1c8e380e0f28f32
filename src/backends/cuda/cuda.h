/*
 * cuda.h - the CUDA runtime: devices, memory, streams, events, kernels, cuBLAS.
 *
 * Layer: backends.  Internal to the folder cuda.  All but the kernels is C over the runtime API.
 *
 * Thread rule: as gpu.h says.  The current device is a thread's own, so every function sets it.
 */
#ifndef SR_CUDA_H
#define SR_CUDA_H

#include <cuda_runtime_api.h>

#include "backends/gpu/gpu.h"

/* ---- cuda_errors.c - */

/* "cudaMalloc: out of memory" and whether the device is lost; the status follows from the code. */
sr_status sr__cuda_fail(sr_error *err, const char *call, cudaError_t code);

/* Calls a function of the runtime; leaves to done: with its words if it fails. */
#define SR_CUDA_TRY(function, arguments, err)                                     \
    do {                                                                          \
        const cudaError_t sr__code = function arguments;                          \
        if (sr__code != cudaSuccess) {                                            \
            status = sr__cuda_fail((err), #function, sr__code);                   \
            goto done;                                                            \
        }                                                                         \
    } while (0)

/* ---- the runtime's structs - */

typedef struct sr__cuda_device {
    sr__gpu_device base;
    cudaEvent_t epoch; /* when times began to be kept; NULL: they are not */
} sr__cuda_device;

struct sr__gpu_memory {
    int device;
    char *data;
};

struct sr__gpu_event {
    sr__cuda_device *device;
    cudaEvent_t event;
};

/* Pinned pieces through which writes go, so that the caller may overwrite the data at once. */
enum { SR_CUDA_STAGES = 2 };
#define SR_CUDA_STAGE_SIZE ((size_t)4 << 20)

typedef struct sr__cuda_stream {
    sr__gpu_stream base;
    cudaStream_t stream;
    void *blas;                        /* a cublasHandle_t, from the first product on */
    struct sr__cuda_stage {
        void *data;                    /* NULL: not allocated yet */
        cudaEvent_t sent;
    } stages[SR_CUDA_STAGES];
    int next_stage;
} sr__cuda_stream;

static inline sr__cuda_stream *sr__cuda_of(sr__gpu_stream *stream) { return (sr__cuda_stream *)stream; }

/* ---- members of the table - */

sr_status sr__cuda_memory_new(sr__gpu_device *device, size_t size, sr__gpu_memory **out_memory, sr_error *err);
void sr__cuda_memory_free(sr__gpu_memory *memory);
sr_status sr__cuda_host_memory_new(sr__gpu_device *device, size_t size, void **out_memory, sr_error *err);
void sr__cuda_host_memory_free(sr__gpu_device *device, void *memory);
sr_status sr__cuda_write(sr__gpu_stream *stream, sr__gpu_memory *memory, size_t offset, const void *data, size_t size,
                         sr_error *err);
sr_status sr__cuda_read(sr__gpu_stream *stream, sr__gpu_memory *memory, size_t offset, void *data, size_t size,
                        sr_error *err);
sr_status sr__cuda_fill(sr__gpu_stream *stream, sr__gpu_memory *memory, uint8_t value, size_t offset, size_t size,
                        sr_error *err);
sr_status sr__cuda_copy(sr__gpu_stream *stream, sr__gpu_memory *dst, size_t dst_offset, sr__gpu_memory *src,
                        size_t src_offset, size_t size, bool *done, sr_error *err);
/* Frees what writes of a stream went through. */
void sr__cuda_stages_free(sr__cuda_stream *stream);

sr_status sr__cuda_stream_new(sr__gpu_device *device, sr__gpu_stream **out_stream, sr_error *err);
void sr__cuda_stream_free(sr__gpu_stream *stream);
sr_status sr__cuda_stream_synchronize(sr__gpu_stream *stream, sr_error *err);
sr_status sr__cuda_launch(sr__gpu_stream *stream, const sr__gpu_launch *launch, sr_error *err);
sr_status sr__cuda_event_new(sr__gpu_device *device, sr__gpu_event **out_event, sr_error *err);
void sr__cuda_event_free(sr__gpu_event *event);
sr_status sr__cuda_event_record(sr__gpu_event *event, sr__gpu_stream *stream, sr_error *err);
sr_status sr__cuda_event_synchronize(sr__gpu_event *event, sr_error *err);
sr_status sr__cuda_event_wait(sr__gpu_stream *stream, sr__gpu_event *event, sr_error *err);
sr_status sr__cuda_keep_times(sr__gpu_stream *stream, sr_error *err);
sr_status sr__cuda_event_time(sr__gpu_event *event, uint64_t *out_time, sr_error *err);

/* cuda_blas.c; *done = false where cuBLAS is not on this machine, or cannot take these operands. */
sr_status sr__cuda_multiply(sr__gpu_stream *stream, const sr__gpu_product *product, bool *done, sr_error *err);
void sr__cuda_blas_free(void *handle);

/* cuda_kernels.cu: by sr__gpu_kernel. */
extern const void *const sr__cuda_kernels[];

/* ---- cuda_device.c - */

extern const sr__gpu_runtime sr__cuda_runtime;

#endif
