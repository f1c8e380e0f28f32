/*
 * gpu_device.c - a device with memory and kernels of its own: what it answers, its events' owner.
 *
 * Layer: backends.  Answers to the device half of the reference's GPU backends.
 */
#include "backends/gpu/gpu_device.h"
#include "backends/gpu/gpu_launch.h"

static void gpu_memory(sr_device *device, size_t *out_free, size_t *out_total) {
    const sr__gpu_own *own = device->context;
    own->gpu->runtime->device_memory(own->gpu, out_free, out_total);
}

static bool gpu_supports_op(sr_device *device, const sr_graph_view *view, int32_t tensor, const char **why) {
    const sr__gpu_own *own = device->context;
    const char *refusal = sr__gpu_refuse(own->gpu, view, tensor);
    if (why) {
        *why = refusal;
    }
    return refusal == NULL;
}

static bool gpu_has_kernel(sr_device *device, int op) {
    (void)device;
    return sr__gpu_op_get(op)->compute != NULL;
}

static bool gpu_supports_buffer_type(sr_device *device, const sr_buffer_type *type) {
    return type == device->buffer_type;
}

static bool gpu_offload_op(sr_device *device, const sr_graph_view *view, int32_t tensor) {
    const sr__gpu_own *own = device->context;
    return sr_tensor_batch(sr_view_tensor(view, tensor)) >= own->offload_min_batch;
}

static void gpu_free(sr_device *device) {
    sr__gpu_own *own = device->context;
    if (own->transfers) {
        sr__gpu_stream_end(own->transfers);
    }
    if (own->gpu) {
        own->gpu->runtime->device_close(own->gpu);
    }
    pthread_mutex_destroy(&own->lock);
    sr__free(own->name);
    sr__free(own->host_name);
    sr__free(own);
}

static const sr_device_i gpu_device_i = {
    .memory = gpu_memory,
    .supports_op = gpu_supports_op,
    .can_execute = gpu_supports_op,
    .has_kernel = gpu_has_kernel,
    .supports_buffer_type = gpu_supports_buffer_type,
    .init_backend = sr__gpu_init_backend,
    .event_new = sr__gpu_event_new,
    .event_free = sr__gpu_event_free,
    .event_synchronize = sr__gpu_event_synchronize,
    .free = gpu_free,
};

/* The words of s, which are the caller's to free, or NULL: there was no memory for them. */
static char *take_text(sr__str *s) {
    if (s->failed) {
        sr__str_free(s);
        return NULL;
    }
    return s->data;
}

static char *device_name(const char *language, int index) {
    sr__str s = {0};
    sr__str_printf(&s, "%s:%d", language, index);
    return take_text(&s);
}

static char *host_type_name(const char *type_name) {
    sr__str s = {0};
    sr__str_printf(&s, "%s_Host", type_name);
    return take_text(&s);
}

sr_status sr__gpu_device_new(const sr__gpu_runtime *runtime, int index, const sr_backend_config *config,
                             sr_buffer_type *buffer_type, int64_t offload_min_batch, sr_device **out_device,
                             sr_error *err) {
    if (buffer_type) {
        return sr__fail(err, SR_INVALID, "backend '%s': %s keeps its buffers in a type of its own, not in '%s'",
                        config->name, runtime->name, buffer_type->name);
    }
    sr__gpu_own *own = sr__calloc(1, sizeof(*own));
    if (!own) {
        return sr__fail_memory(err);
    }
    if (pthread_mutex_init(&own->lock, NULL) != 0) {
        sr__free(own);
        return sr__fail_memory(err);
    }
    sr_status status;
    own->iface = gpu_device_i;
    own->iface.offload_op = offload_min_batch >= 0 ? gpu_offload_op : NULL;
    own->device.context = own;
    own->offload_min_batch = offload_min_batch;
    own->name = device_name(runtime->name, index);
    const char *type_name = config->buffer_type ? config->buffer_type : config->name;
    own->host_name = host_type_name(type_name);
    if (!own->name || !own->host_name) {
        SR_TRY(sr__fail_memory(err));
    }
    SR_TRY(runtime->device_open(index, &own->gpu, err));
    SR_TRY(runtime->stream_new(own->gpu, &own->transfers, err));
    sr__gpu_types_init(own, type_name);
    own->device = (sr_device){.iface = &own->iface, .name = own->name, .description = own->gpu->description,
                              .type = own->gpu->unified ? SR_DEVICE_IGPU : SR_DEVICE_GPU, .buffer_type = &own->type,
                              .host_buffer_type = runtime->host_memory_new ? &own->host_type : NULL, .context = own};
    *out_device = &own->device;
    return SR_OK;
done:
    gpu_free(&own->device);
    return status;
}
