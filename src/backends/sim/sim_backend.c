/*
 * sim_backend.c - the backend of a simulated device.
 *
 * Layer: backends.  Answers to the backend half of any device backend of the reference.
 */
#include "backends/sim/sim.h"

typedef struct sim_backend {
    sr__pool *pool; /* NULL until something is computed */
    int n_threads;
} sim_backend;

static void sim_backend_free(sr_backend *backend) {
    sim_backend *sim = backend->context;
    sr__pool_free(sim->pool);
    sr__free(sim);
}

static void sim_set_threads(sr_backend *backend, int n_threads) {
    ((sim_backend *)backend->context)->n_threads = n_threads;
}

static char *sim_resolve(void *user, const sr_storage *storage) {
    return sr__backend_reach(user, storage);
}

static sr_status sim_compute(sr_backend *backend, const sr_graph_view *view, sr_error *err) {
    sim_backend *sim = backend->context;
    sr_status status;
    if (!sim->pool) {
        SR_TRY(sr__pool_new(sim->n_threads, &sim->pool, err));
    }
    SR_TRY(sr__pool_set_threads(sim->pool, sim->n_threads, err));
    SR_TRY(sr__pool_compute(sim->pool, view, sim_resolve, backend, err));
done:
    return status;
}

static const sr_backend_i sim_backend_i = {
    .free = sim_backend_free,
    .set_threads = sim_set_threads,
    .compute = sim_compute,
};

sr_status sr__sim_init_backend(sr_device *device, sr_backend *backend, sr_error *err) {
    (void)device;
    sim_backend *sim = sr__calloc(1, sizeof(*sim));
    if (!sim) {
        return sr__fail_memory(err);
    }
    sim->n_threads = 1;
    backend->iface = &sim_backend_i;
    backend->context = sim;
    return SR_OK;
}
