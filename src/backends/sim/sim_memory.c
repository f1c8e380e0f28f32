/*
 * sim_memory.c - the buffer type of a simulated device: capacity, extra bytes for some ops, faults.
 *
 * Layer: backends.  Answers to the buffer types of the reference's device backends.
 */
#include "backend/speed.h"
#include "backends/sim/sim.h"

/* ---- transfers ------------------------------------------------------------------------------------------------ */

sr_status sr__sim_count_transfer(sr__sim_device *sim, size_t size, sr_error *err) {
    const int64_t nth = sim->config->fail.given ? sim->config->fail.copy_nth : -1;
    if (nth < 0) {
        return SR_OK;
    }
    pthread_mutex_lock(&sim->lock);
    const bool fails = ++sim->n_transfers == nth;
    pthread_mutex_unlock(&sim->lock);
    if (!fails) {
        return SR_OK;
    }
    sr__fail(err, SR_COMPUTE, "copy %lld of '%s', of %zu bytes, failed as the description asks", (long long)nth,
             sim->config->name, size);
    sr__error_text(err, "backend", sim->config->name);
    return SR_COMPUTE;
}

static sr_status transfer(const sr_buffer *buffer, size_t size, sr_error *err) {
    const sr__sim_device *sim = buffer->type->context;
    sr__sim_pace(sim, sr_trace_now(), sr__link_seconds(&sim->speed, (double)size));
    return sr__sim_count_transfer(buffer->type->context, size, err);
}

static void released(const sr_buffer *buffer) {
    sr__sim_device *sim = buffer->type->context;
    pthread_mutex_lock(&sim->lock);
    sim->used -= buffer->size;
    pthread_mutex_unlock(&sim->lock);
}

static sr_status settle(const sr_buffer *buffer, sr_error *err) {
    return sr__sim_queue_drain(&((sr__sim_device *)buffer->type->context)->queue, err);
}

/* The same for every simulated device: they copy to each other directly, as devices on one bus. */
static const sr__memory_hooks sim_hooks = {.transfer = transfer, .released = released, .settle = settle};

/* ---- allocations ---------------------------------------------------------------------------------------------- */

/* Takes size bytes off the capacity. */
static sr_status charge(sr__sim_device *sim, sr_buffer_type *type, size_t size, sr_error *err) {
    const sr_backend_config *config = sim->config;
    const uint64_t capacity = config->has_memory ? config->memory : UINT64_MAX;
    const uint64_t until = config->fail.given && config->fail.alloc_after >= 0 ? (uint64_t)config->fail.alloc_after
                                                                               : UINT64_MAX;
    sr_status status = SR_OK;
    pthread_mutex_lock(&sim->lock);
    const uint64_t free_bytes = capacity - sim->used;
    if (sim->extra_problem) {
        status = sr__fail(err, SR_INVALID, "backend '%s': %s", config->name, sim->extra_problem);
    } else if (size > free_bytes) {
        status = sr__fail_allocation(err, type, size, (size_t)free_bytes);
    } else if (sim->ever > until || size > until - sim->ever) {
        status = sr__fail_allocation(err, type, size, (size_t)(until > sim->ever ? until - sim->ever : 0));
    } else {
        sim->used += size;
        sim->ever += size;
    }
    pthread_mutex_unlock(&sim->lock);
    return status;
}

static sr_status alloc_buffer(sr_buffer_type *type, size_t size, sr_buffer **out_buffer, sr_error *err) {
    sr__sim_device *sim = type->context;
    sr_status status = charge(sim, type, size, err);
    if (status != SR_OK) {
        return status;
    }
    status = sr__memory_buffer_new(type, size, &sim_hooks, out_buffer, err);
    if (status != SR_OK) {
        pthread_mutex_lock(&sim->lock);
        sim->used -= size;
        pthread_mutex_unlock(&sim->lock);
    }
    return status;
}

/* ---- bytes beyond a tensor's own ------------------------------------------------------------------------------ */

static bool lookup_extent(void *user, const char *name, size_t length, int64_t *out_value) {
    const sr_tensor *tensor = user;
    if (length == 3 && memcmp(name, "ne", 2) == 0 && name[2] >= '0' && name[2] <= '3') {
        *out_value = tensor->ne[name[2] - '0'];
        return true;
    }
    if (length == 6 && memcmp(name, "nbytes", 6) == 0) {
        *out_value = (int64_t)tensor->nbytes;
        return true;
    }
    return false;
}

static void keep_problem(sr__sim_device *sim, const sr_alloc_extra *extra, const sr_error *err) {
    pthread_mutex_lock(&sim->lock);
    if (!sim->extra_problem) {
        sr__str text = {0};
        sr__str_printf(&text, "alloc_extra '%s': %s", extra->bytes, sr_error_message(err));
        if (text.failed) {
            sr__str_free(&text);
        } else {
            sim->extra_problem = text.data;
        }
    }
    pthread_mutex_unlock(&sim->lock);
}

/* What one rule adds; an expression that fails adds nothing now, and fails the next allocation. */
static size_t extra_bytes(sr__sim_device *sim, const sr_alloc_extra *extra, const sr_tensor *tensor) {
    sr_error err = {0};
    int64_t value = 0;
    void *user = (void *)(uintptr_t)tensor; /* only read */
    sr_status status = sr__expr_eval(extra->bytes, strlen(extra->bytes), lookup_extent, user, &value, &err);
    if (status == SR_OK && value < 0) {
        status = sr__fail(&err, SR_INVALID, "%lld bytes for '%s' are less than none", (long long)value, tensor->name);
    }
    if (status != SR_OK) {
        keep_problem(sim, extra, &err);
        value = 0;
    }
    sr_error_clear(&err);
    return (size_t)value;
}

static size_t alloc_size(const sr_buffer_type *type, const sr_graph_view *view, int32_t tensor) {
    sr__sim_device *sim = type->context;
    const sr_tensor *t = sr_view_tensor(view, tensor);
    size_t size = t->nbytes;
    for (int i = 0; i < sim->config->n_alloc_extra; i++) {
        const sr_alloc_extra *extra = &sim->config->alloc_extra[i];
        if (sr_rule_matches(&extra->rule, view, tensor) && !sr__add_size(size, extra_bytes(sim, extra, t), &size)) {
            size = SIZE_MAX;
        }
    }
    return size;
}

static const sr_buffer_type_i sim_type_i = {.alloc_buffer = alloc_buffer};
static const sr_buffer_type_i sim_extra_type_i = {.alloc_buffer = alloc_buffer, .alloc_size = alloc_size};

void sr__sim_type_init(sr__sim_device *sim) {
    const sr_backend_config *config = sim->config;
    sim->type = (sr_buffer_type){
        .iface = config->n_alloc_extra > 0 ? &sim_extra_type_i : &sim_type_i,
        .name = config->buffer_type ? config->buffer_type : config->name,
        .device = &sim->device,
        .alignment = config->alignment,
        .max_size = config->max_buffer_size,
        .is_host = config->host,
        .context = sim,
    };
}

sr__sim_device *sr__sim_of_type(const sr_buffer_type *type) {
    return type->iface == &sim_type_i || type->iface == &sim_extra_type_i ? type->context : NULL;
}

sr__sim_device *sr__sim_of_buffer(const sr_buffer *buffer) {
    return buffer ? sr__sim_of_type(buffer->type) : NULL;
}
