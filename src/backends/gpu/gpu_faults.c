/*
 * gpu_faults.c - what kernels find wrong in the data of a node, told at the next synchronization.
 *
 * Layer: backends.  Answers to the assertions in the reference's kernels.
 */
#include "backends/gpu/gpu.h"

/* The nodes since the last check that could write a fault, by number from 1. */
typedef struct sr__gpu_faults {
    sr__gpu_memory *memory;  /* one gpu_int; 0: no fault */
    gpu_int number;          /* as read from there */
    struct suspect { const char *node, *op; } *suspects;
    size_t n, cap;
    sr__arena texts;
} sr__gpu_faults;

static sr_status faults_new(sr__gpu_stream *stream, sr_error *err) {
    const sr__gpu_runtime *runtime = stream->device->runtime;
    sr_status status;
    sr__gpu_faults *faults = sr__calloc(1, sizeof(*faults));
    if (!faults) {
        return sr__fail_memory(err);
    }
    sr__arena_init(&faults->texts, 4096);
    SR_TRY(runtime->memory_new(stream->device, sizeof(gpu_int), &faults->memory, err));
    SR_TRY(runtime->fill(stream, faults->memory, 0, 0, sizeof(gpu_int), err));
    stream->faults = faults;
    return SR_OK;
done:
    if (faults->memory) {
        runtime->memory_free(faults->memory);
    }
    sr__free(faults);
    return status;
}

sr_status sr__gpu_fault_place(sr__gpu_stream *stream, const sr_tensor *node, sr__gpu_memory **out_memory,
                              gpu_int *out_number, sr_error *err) {
    if (!stream->faults) {
        const sr_status status = faults_new(stream, err);
        if (status != SR_OK) {
            return status;
        }
    }
    sr__gpu_faults *faults = stream->faults;
    const struct suspect suspect = {sr__arena_strdup(&faults->texts, node->name),
                                    sr__arena_strdup(&faults->texts, sr_tensor_op_desc(node))};
    if (!suspect.node || !suspect.op || faults->n >= INT32_MAX - 1 ||
        !sr__grow(&faults->suspects, &faults->cap, faults->n + 1, sizeof(*faults->suspects))) {
        return sr__fail_memory(err);
    }
    faults->suspects[faults->n++] = suspect;
    *out_memory = faults->memory;
    *out_number = (gpu_int)faults->n;
    return SR_OK;
}

sr_status sr__gpu_faults_check(sr__gpu_stream *stream, sr_error *err) {
    sr__gpu_faults *faults = stream->faults;
    const sr__gpu_runtime *runtime = stream->device->runtime;
    sr_status status;
    if (!faults || faults->n == 0) {
        return SR_OK;
    }
    SR_TRY(runtime->read(stream, faults->memory, 0, &faults->number, sizeof(faults->number), err));
    SR_TRY(runtime->stream_synchronize(stream, err));
    const gpu_int number = faults->number;
    if (number != 0) {
        SR_TRY(runtime->fill(stream, faults->memory, 0, 0, sizeof(number), err));
    }
    if (number > 0 && (size_t)number <= faults->n) {
        const struct suspect *s = &faults->suspects[number - 1];
        status = sr__fail(err, SR_COMPUTE, "node '%s' (%s): its data names a row that is not there", s->node, s->op);
        sr__error_text(err, "node", s->node);
        sr__error_text(err, "op", s->op);
    }
done:
    faults->n = 0;
    sr__arena_reset(&faults->texts);
    return status;
}

void sr__gpu_faults_free(sr__gpu_stream *stream) {
    sr__gpu_faults *faults = stream->faults;
    if (faults) {
        stream->device->runtime->memory_free(faults->memory);
        sr__arena_free(&faults->texts);
        sr__free(faults->suspects);
        sr__free(faults);
        stream->faults = NULL;
    }
}
