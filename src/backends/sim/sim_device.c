/*
 * sim_device.c - the driver and device of a simulated backend: what it answers, and what it lacks on demand.
 *
 * Layer: backends.  Answers to the device half of any backend of the reference.
 */
#include "backend/speed.h"
#include "backends/drivers.h"
#include "backends/sim/sim.h"

/* ---- answers -------------------------------------------------------------------------------------------------- */

/* Its capacity, or, without one, total 0: not limited. */
static void sim_memory(sr_device *device, size_t *out_free, size_t *out_total) {
    sr__sim_device *sim = device->context;
    const uint64_t capacity = sim->config->has_memory ? sim->config->memory : 0;
    pthread_mutex_lock(&sim->lock);
    *out_total = (size_t)capacity;
    *out_free = capacity > sim->used ? (size_t)(capacity - sim->used) : 0;
    pthread_mutex_unlock(&sim->lock);
}

static bool sim_supports_op(sr_device *device, const sr_graph_view *view, int32_t tensor, const char **why) {
    (void)device;
    (void)view;
    (void)tensor;
    (void)why;
    return true;
}

static bool sim_can_execute(sr_device *device, const sr_graph_view *view, int32_t tensor, const char **why) {
    (void)device;
    const char *refusal = sr__kernel_refuse(view, tensor);
    if (why) {
        *why = refusal;
    }
    return refusal == NULL;
}

static bool sim_supports_buffer_type(sr_device *device, const sr_buffer_type *type) {
    return type == device->buffer_type;
}

static bool sim_offload_op(sr_device *device, const sr_graph_view *view, int32_t tensor) {
    const sr_backend_config *config = ((sr__sim_device *)device->context)->config;
    if (sr_tensor_batch(sr_view_tensor(view, tensor)) < config->offload_min_batch) {
        return false;
    }
    for (int i = 0; i < config->offload_ops.n; i++) {
        if (sr_rule_matches(&config->offload_ops.rules[i], view, tensor)) {
            return true;
        }
    }
    return !config->has_offload_ops;
}

static void sim_device_free(sr_device *device) {
    sr__sim_device *sim = device->context;
    sr__sim_queue_destroy(&sim->queue);
    pthread_mutex_destroy(&sim->lock);
    sr__free(sim->extra_problem);
    sr__free(sim);
}

/* ---- the driver ----------------------------------------------------------------------------------------------- */

static int sim_device_count(const char **out_why_none) {
    (void)out_why_none;
    return 1;
}

static sr_status sim_device_describe(int index, const char **out_description, size_t *out_free, size_t *out_total) {
    (void)index;
    *out_description = "a simulated device, any number of them";
    *out_free = *out_total = 0;
    return SR_OK;
}

static sr_status sim_device_new(int index, const sr_backend_config *config, sr_buffer_type *buffer_type,
                                sr_device **out_device, sr_error *err) {
    (void)index;
    sr__sim_device *sim = sr__calloc(1, sizeof(*sim));
    if (!sim) {
        return sr__fail_memory(err);
    }
    const sr_status status = sr__sim_queue_init(&sim->queue, config->name, err);
    if (status != SR_OK) {
        sr__free(sim);
        return status;
    }
    if (pthread_mutex_init(&sim->lock, NULL) != 0) {
        sr__sim_queue_destroy(&sim->queue);
        sr__free(sim);
        return sr__fail_memory(err);
    }
    sim->config = config;
    sim->speed = sr__speed_complete(&config->speed, config->type, NULL);
    sr__sim_type_init(sim);
    sim->iface = (sr_device_i){
        .memory = sim_memory,
        .supports_op = sim_supports_op,
        .can_execute = sim_can_execute,
        .supports_buffer_type = sim_supports_buffer_type,
        .offload_op = config->offload_min_batch >= 0 ? sim_offload_op : NULL,
        .init_backend = sr__sim_init_backend,
        .event_new = config->events ? sr__sim_event_new : NULL,
        .event_free = sr__sim_event_free,
        .event_synchronize = sr__sim_event_synchronize,
        .free = sim_device_free,
    };
    sim->device = (sr_device){.iface = &sim->iface, .name = "sim", .description = "a simulated device",
                              .type = config->type, .buffer_type = buffer_type ? buffer_type : &sim->type,
                              .context = sim};
    *out_device = &sim->device;
    return SR_OK;
}

const sr_driver sr__driver_sim = {
    .name = "sim",
    .summary = "a simulated device: memory of its own, a queue, limits and faults as the description says",
    .device_count = sim_device_count,
    .device_describe = sim_device_describe,
    .device_new = sim_device_new,
    .configurable = true,
};
