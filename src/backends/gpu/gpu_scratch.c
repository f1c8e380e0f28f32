/*
 * gpu_scratch.c - memory of a stream for what a node needs besides its operands, and the stream's end.
 *
 * Layer: backends.  Answers to the pools of the reference's GPU backends.
 */
#include "backends/gpu/gpu.h"

sr_status sr__gpu_scratch(sr__gpu_stream *stream, size_t size, sr__gpu_memory **out_memory, sr_error *err) {
    const sr__gpu_runtime *runtime = stream->device->runtime;
    if (size > stream->scratch_size) {
        size_t wanted;
        if (stream->scratch) {
            runtime->memory_free(stream->scratch);
            stream->scratch = NULL;
            stream->scratch_size = 0;
        }
        /* a little more than is asked for, so that it does not grow at every node of a growing row of sizes */
        if (!sr__align_up(size, (size_t)1 << 16, &wanted)) {
            wanted = size;
        }
        const sr_status status = runtime->memory_new(stream->device, wanted, &stream->scratch, err);
        if (status == SR_ALLOCATION && (!err || !err->message)) {
            return sr__fail(err, SR_ALLOCATION, "the device has no %zu bytes for intermediate results", size);
        }
        if (status != SR_OK) {
            return status;
        }
        stream->scratch_size = wanted;
    }
    *out_memory = stream->scratch;
    return SR_OK;
}

void sr__gpu_stream_end(sr__gpu_stream *stream) {
    const sr__gpu_runtime *runtime = stream->device->runtime;
    (void)runtime->stream_synchronize(stream, NULL);
    if (stream->scratch) {
        runtime->memory_free(stream->scratch);
    }
    sr__gpu_faults_free(stream);
    runtime->stream_free(stream);
}
