/*
 * blas_device.c - matrix products in host memory with a BLAS library: an accelerator beside the CPU.
 *
 * Layer: backends.  Answers to ggml-blas.cpp of the reference.
 */
#include "backend/hostmem.h"
#include "backend/reach.h"
#include "backends/blas/blas_ops.h"
#include "backends/drivers.h"

/* ---- the backend ---------------------------------------------------------------------------------------------- */

typedef struct blas_backend {
    sr__blas_scratch scratch;
    int n_threads; /* 0: as the library likes */
} blas_backend;

static void blas_backend_free(sr_backend *backend) {
    blas_backend *blas = backend->context;
    sr__free(blas->scratch.data);
    sr__free(blas);
}

static void blas_set_threads(sr_backend *backend, int n_threads) {
    ((blas_backend *)backend->context)->n_threads = n_threads;
}

static sr_status fail_node(const sr_tensor *node, sr_status status, const char *why, sr_error *err) {
    (void)sr__fail(err, status, "node '%s' (%s): %s", node->name, sr_tensor_op_desc(node), why);
    sr__error_text(err, "node", node->name);
    sr__error_text(err, "op", sr_tensor_op_desc(node));
    return status;
}

static sr_status compute_node(sr_backend *backend, const sr_graph_view *view, int32_t id, sr_error *err) {
    const sr_tensor *node = sr_view_tensor(view, id);
    if (!sr__node_works(view, id)) {
        return SR_OK;
    }
    const sr_status stopped = sr__check_abort(backend, node, err);
    if (stopped != SR_OK) {
        return stopped;
    }
    const char *why = sr__blas_cannot(view, id);
    if (why) {
        return fail_node(node, SR_COMPUTE, why, err);
    }
    const int32_t a = sr_view_src(view, node, 0), b = sr_view_src(view, node, 1);
    sr__blas_product product = {.a = sr_view_tensor(view, a), .b = sr_view_tensor(view, b), .y = node};
    if (view->storage) {
        product.a_data = sr__storage_memory(&view->storage[a]);
        product.b_data = sr__storage_memory(&view->storage[b]);
        product.y_data = sr__storage_memory(&view->storage[id]);
    }
    if (!product.y_data || (!product.a_data && !sr_tensor_is_empty(product.a)) ||
        (!product.b_data && !sr_tensor_is_empty(product.b))) {
        return fail_node(node, SR_UNREACHABLE, "an operand is in no memory that blas reaches", err);
    }
    return sr__blas_multiply(sr_view_op(view, id), &product, &((blas_backend *)backend->context)->scratch, err);
}

static sr_status blas_compute(sr_backend *backend, const sr_graph_view *view, sr_error *err) {
    const blas_backend *blas = backend->context;
    sr_status status;
    if (blas->n_threads > 0) {
        sr__blas_set_threads(blas->n_threads); /* the library has one number for the whole process */
    }
    SR_TRY(sr__check_destinations(backend, view, err));
    SR_TRY(sr__settle_sources(backend, view, err));
    for (int32_t i = 0; i < view->n_nodes; i++) {
        SR_TRY(compute_node(backend, view, view->nodes[i], err));
    }
done:
    return status;
}

static const sr_backend_i blas_backend_i = {
    .free = blas_backend_free,
    .set_threads = blas_set_threads,
    .compute = blas_compute,
};

/* ---- the device ----------------------------------------------------------------------------------------------- */

static void blas_memory(sr_device *device, size_t *out_free, size_t *out_total) {
    (void)device;
    sr__host_memory(out_free, out_total);
}

static bool blas_supports_op(sr_device *device, const sr_graph_view *view, int32_t tensor, const char **why) {
    (void)device;
    const char *refusal = sr__blas_refuses(view, tensor);
    if (why) {
        *why = refusal;
    }
    return refusal == NULL;
}

static bool blas_can_execute(sr_device *device, const sr_graph_view *view, int32_t tensor, const char **why) {
    (void)device;
    const char *refusal = sr__blas_cannot(view, tensor);
    if (why) {
        *why = refusal;
    }
    return refusal == NULL;
}

static bool blas_supports_buffer_type(sr_device *device, const sr_buffer_type *type) {
    (void)device;
    return type->is_host;
}

static sr_status blas_init_backend(sr_device *device, sr_backend *backend, sr_error *err) {
    (void)device;
    blas_backend *blas = sr__calloc(1, sizeof(*blas));
    if (!blas) {
        return sr__fail_memory(err);
    }
    backend->iface = &blas_backend_i;
    backend->context = blas;
    return SR_OK;
}

static void blas_device_free(sr_device *device) {
    sr__free(device);
}

static const sr_device_i blas_device_i = {
    .memory = blas_memory,
    .supports_op = blas_supports_op,
    .can_execute = blas_can_execute,
    .supports_buffer_type = blas_supports_buffer_type,
    .init_backend = blas_init_backend,
    .free = blas_device_free,
};

/* ---- the driver ----------------------------------------------------------------------------------------------- */

static int blas_device_count(const char **out_why_none) {
    if (!sr__blas_present() && out_why_none) {
        *out_why_none = "it was built without a BLAS library";
    }
    return sr__blas_present() ? 1 : 0;
}

static sr_status blas_device_describe(int index, const char **out_description, size_t *out_free, size_t *out_total) {
    (void)index;
    *out_description = "matrix products in host memory";
    sr__host_memory(out_free, out_total);
    return SR_OK;
}

static sr_status blas_device_new(int index, const sr_backend_config *config, sr_buffer_type *buffer_type,
                                 sr_device **out_device, sr_error *err) {
    (void)index;
    if (buffer_type && !buffer_type->is_host) {
        return sr__fail(err, SR_INVALID, "backend '%s': blas needs a buffer type in host memory, '%s' is not",
                        config->name, buffer_type->name);
    }
    sr_device *device = sr__calloc(1, sizeof(*device));
    if (!device) {
        return sr__fail_memory(err);
    }
    *device = (sr_device){.iface = &blas_device_i, .name = "blas", .description = "matrix products in host memory",
                          .type = SR_DEVICE_ACCEL, .buffer_type = buffer_type ? buffer_type : sr_host_buffer_type()};
    *out_device = device;
    return SR_OK;
}

const sr_driver sr__driver_blas = {
    .name = "blas",
    .summary = "matrix products with a BLAS library, in the CPU's memory",
    .device_count = blas_device_count,
    .device_describe = blas_device_describe,
    .device_new = blas_device_new,
};
