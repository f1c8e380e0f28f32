/*
 * null_device.c - a device that supports every op and computes nothing: the driver to clone for a new one.
 *
 * Layer: backends.  Answers to no file of the reference.
 *
 * A driver is one folder with one sr_driver, named in drivers.h and backends.c and in no other file.  What is here is
 * all that one must have; the optional members of the interfaces are named where they stand.  Steps for a new one:
 *   1. copy this file, rename null to the device everywhere;
 *   2. let device_count look for the hardware, and say why there is none;
 *   3. give the buffer type real memory: alloc_buffer, and the buffer's free, memset, set, get (copy_from if the device
 *      can copy without the host);
 *   4. answer supports_op for what its kernels run, and run that in compute;
 *   5. add set_async, get_async, copy_async, synchronize and the events when it has a queue;
 *   6. run tests/conformance/test_backends, which runs the same checks over every driver.
 */
#include "backend/hostmem.h"
#include "backends/drivers.h"

enum { NULL_ALIGNMENT = 64 };

/* A device and what it owns, freed together. */
typedef struct null_device {
    sr_device device;
    sr_buffer_type type;
} null_device;

/* ---- the backend: one queue of work on a device ----------------------------------------------------------------- */

/*
 * Without a queue, set_async, get_async, copy_async, event_record and event_wait stay NULL: the callers in
 * src/backend/backend_run.c then do the same at once.
 */
static sr_status null_compute(sr_backend *backend, const sr_graph_view *view, sr_error *err) {
    /* A device would run view->nodes[0 .. n_nodes) in order here.  This one leaves every result as it was. */
    (void)backend;
    (void)view;
    (void)err;
    return SR_OK;
}

static void null_backend_free(sr_backend *backend) {
    (void)backend; /* a queue would be drained and freed here */
}

static const sr_backend_i null_backend_i = {
    .free = null_backend_free,
    .compute = null_compute,
};

/* ---- the device: what there is once, however many backends use it ------------------------------------------------ */

static void null_memory(sr_device *device, size_t *out_free, size_t *out_total) {
    (void)device;
    sr__host_memory(out_free, out_total);
}

static bool null_supports_op(sr_device *device, const sr_graph_view *view, int32_t tensor, const char **why) {
    /* A device that refuses says why in words that live as long as it does: reports show them. */
    (void)device;
    (void)view;
    (void)tensor;
    (void)why;
    return true;
}

static bool null_supports_buffer_type(sr_device *device, const sr_buffer_type *type) {
    return type == device->buffer_type;
}

static sr_status null_init_backend(sr_device *device, sr_backend *backend, sr_error *err) {
    (void)device;
    (void)err;
    backend->iface = &null_backend_i; /* a queue would go into backend->context */
    return SR_OK;
}

static void null_device_free(sr_device *device) {
    sr__free(device->context);
}

static const sr_device_i null_device_i = {
    .memory = null_memory,
    .supports_op = null_supports_op,
    .supports_buffer_type = null_supports_buffer_type,
    .init_backend = null_init_backend,
    .free = null_device_free,
    /* optional: can_execute, has_kernel, offload_op, event_new, event_free, event_synchronize */
};

/* ---- the driver: finds devices and opens them -------------------------------------------------------------------- */

static int null_device_count(const char **out_why_none) {
    (void)out_why_none;
    return 1;
}

static sr_status null_device_describe(int index, const char **out_description, size_t *out_free, size_t *out_total) {
    (void)index;
    *out_description = "supports every op, computes nothing";
    sr__host_memory(out_free, out_total);
    return SR_OK;
}

static sr_status null_device_new(int index, const sr_backend_config *config, sr_buffer_type *buffer_type,
                                 sr_device **out_device, sr_error *err) {
    (void)index;
    null_device *null = sr__calloc(1, sizeof(*null));
    if (!null) {
        return sr__fail_memory(err);
    }
    /* This buffer type keeps its buffers in host memory that anyone may read. */
    const char *name = config->buffer_type ? config->buffer_type : config->name;
    sr__memory_type_init(&null->type, name, NULL_ALIGNMENT, SIZE_MAX, true);
    null->type.device = &null->device;
    null->device = (sr_device){.iface = &null_device_i, .name = "null", .description = "computes nothing",
                               .type = SR_DEVICE_GPU, .buffer_type = buffer_type ? buffer_type : &null->type,
                               .context = null};
    *out_device = &null->device;
    return SR_OK;
}

const sr_driver sr__driver_null = {
    .name = "null",
    .summary = "supports every op and computes nothing; the driver to clone",
    .device_count = null_device_count,
    .device_describe = null_device_describe,
    .device_new = null_device_new,
};
