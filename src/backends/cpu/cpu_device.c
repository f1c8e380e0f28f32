/*
 * cpu_device.c - the host's processors: the device and the backend that computes with a thread pool.
 *
 * Layer: backends.  Answers to ggml-cpu.cpp of the reference.
 */
#include <sched.h>
#include <unistd.h>

#include "backend/hostmem.h"
#include "backend/reach.h"
#include "backend/tracing.h"
#include "backends/cpu/cpu_ops.h"
#include "backends/drivers.h"
#include "kernels/kernels.h"

/* ---- the backend ---------------------------------------------------------------------------------------------- */

typedef struct cpu_backend {
    sr__pool *pool; /* NULL until something is computed: machines that are only asked start no threads */
    int n_threads;
} cpu_backend;

/* The processors that this process may use. */
static int usable_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) {
        return CPU_COUNT(&set);
    }
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 && n < CPU_SETSIZE ? (int)n : 1;
}

static void cpu_backend_free(sr_backend *backend) {
    cpu_backend *cpu = backend->context;
    sr__pool_free(cpu->pool);
    sr__free(cpu);
}

static void cpu_set_threads(sr_backend *backend, int n_threads) {
    ((cpu_backend *)backend->context)->n_threads = n_threads;
}

static char *cpu_resolve(void *user, const sr_storage *storage) {
    (void)user;
    return sr__storage_memory(storage);
}

static sr_status prepare_pool(const sr_backend *backend, sr_error *err) {
    cpu_backend *cpu = backend->context;
    sr_status status;
    if (!cpu->pool) {
        SR_TRY(sr__pool_new(cpu->n_threads, &cpu->pool, err));
    }
    SR_TRY(sr__pool_set_threads(cpu->pool, cpu->n_threads, err));
    sr__pool_set_abort(cpu->pool, backend->stop, backend->stop_user);
done:
    return status;
}

/* The view's destinations have been checked. */
static sr_status run_nodes(sr_backend *backend, const sr_graph_view *view, sr_error *err) {
    sr_status status;
    SR_TRY(prepare_pool(backend, err));
    SR_TRY(sr__settle_sources(backend, view, err));
    SR_TRY(sr__pool_compute(((cpu_backend *)backend->context)->pool, view, cpu_resolve, NULL, err));
done:
    return status;
}

static sr_status cpu_compute(sr_backend *backend, const sr_graph_view *view, sr_error *err) {
    const sr_status status = sr__check_destinations(backend, view, err);
    return status == SR_OK ? run_nodes(backend, view, err) : status;
}

/* ---- plans: what of a view has to be computed, checked once ----------------------------------------------------- */

typedef struct cpu_plan {
    sr_graph_view view; /* of the nodes below */
    int32_t nodes[];
} cpu_plan;

static sr_status check_node(const sr_graph_view *view, int32_t id, sr_error *err) {
    const sr_tensor *node = sr_view_tensor(view, id);
    const char *why = sr__kernel_refuse(view, id);
    if (!why) {
        return SR_OK;
    }
    (void)sr__fail(err, SR_COMPUTE, "node '%s' (%s): %s", node->name, sr_tensor_op_desc(node), why);
    sr__error_text(err, "node", node->name);
    sr__error_text(err, "op", sr_tensor_op_desc(node));
    return SR_COMPUTE;
}

static sr_status cpu_plan_new(sr_backend *backend, const sr_graph_view *view, sr_graph_plan **out_plan,
                              sr_error *err) {
    cpu_plan *plan = sr__malloc(sizeof(*plan) + (size_t)view->n_nodes * sizeof(int32_t));
    sr_status status = plan ? SR_OK : sr__fail_memory(err);
    int32_t n = 0;
    SR_TRY(status);
    SR_TRY(sr__check_destinations(backend, view, err));
    for (int32_t i = 0; i < view->n_nodes; i++) {
        if (sr__node_works(view, view->nodes[i])) {
            SR_TRY(check_node(view, view->nodes[i], err));
            plan->nodes[n++] = view->nodes[i];
        }
    }
    SR_TRY(prepare_pool(backend, err)); /* threads start before the first computation */
    plan->view = *view;
    plan->view.nodes = plan->nodes;
    plan->view.n_nodes = n;
    *out_plan = (sr_graph_plan *)plan;
    plan = NULL;
done:
    sr__free(plan);
    return status;
}

static void cpu_plan_free(sr_backend *backend, sr_graph_plan *plan) {
    (void)backend;
    sr__free(plan);
}

static sr_status cpu_plan_compute(sr_backend *backend, sr_graph_plan *plan, sr_error *err) {
    const cpu_plan *own = (const cpu_plan *)(const void *)plan;
    const uint64_t begin = sr__trace_begin(backend);
    const sr_status status = run_nodes(backend, &own->view, err);
    sr__trace_computed(backend, &own->view, begin);
    return status;
}

static const sr_backend_i cpu_backend_i = {
    .free = cpu_backend_free,
    .set_threads = cpu_set_threads,
    .compute = cpu_compute,
    .plan_new = cpu_plan_new,
    .plan_free = cpu_plan_free,
    .plan_compute = cpu_plan_compute,
};

/* ---- the device ----------------------------------------------------------------------------------------------- */

static void cpu_memory(sr_device *device, size_t *out_free, size_t *out_total) {
    (void)device;
    sr__host_memory(out_free, out_total);
}

static bool cpu_supports_op(sr_device *device, const sr_graph_view *view, int32_t tensor, const char **why) {
    (void)device;
    const char *refusal = sr__cpu_refuses(view, tensor);
    if (why) {
        *why = refusal;
    }
    return refusal == NULL;
}

static bool cpu_can_execute(sr_device *device, const sr_graph_view *view, int32_t tensor, const char **why) {
    (void)device;
    const char *refusal = sr__kernel_refuse(view, tensor);
    if (why) {
        *why = refusal;
    }
    return refusal == NULL;
}

static bool cpu_supports_buffer_type(sr_device *device, const sr_buffer_type *type) {
    (void)device;
    return type->is_host;
}

static sr_status cpu_init_backend(sr_device *device, sr_backend *backend, sr_error *err) {
    (void)device;
    cpu_backend *cpu = sr__calloc(1, sizeof(*cpu));
    if (!cpu) {
        return sr__fail_memory(err);
    }
    cpu->n_threads = usable_processors();
    backend->iface = &cpu_backend_i;
    backend->context = cpu;
    return SR_OK;
}

static void cpu_device_free(sr_device *device) {
    sr__free(device);
}

static const sr_device_i cpu_device_i = {
    .memory = cpu_memory,
    .supports_op = cpu_supports_op,
    .can_execute = cpu_can_execute,
    .supports_buffer_type = cpu_supports_buffer_type,
    .init_backend = cpu_init_backend,
    .free = cpu_device_free,
};

/* ---- the driver ----------------------------------------------------------------------------------------------- */

static int cpu_device_count(const char **out_why_none) {
    (void)out_why_none;
    return 1;
}

static sr_status cpu_device_describe(int index, const char **out_description, size_t *out_free, size_t *out_total) {
    (void)index;
    *out_description = "the host's processors";
    sr__host_memory(out_free, out_total);
    return SR_OK;
}

static sr_status cpu_device_new(int index, const sr_backend_config *config, sr_buffer_type *buffer_type,
                                sr_device **out_device, sr_error *err) {
    (void)index;
    if (buffer_type && !buffer_type->is_host) {
        return sr__fail(err, SR_INVALID, "backend '%s': a cpu needs a buffer type in host memory, '%s' is not",
                        config->name, buffer_type->name);
    }
    sr_device *device = sr__calloc(1, sizeof(*device));
    if (!device) {
        return sr__fail_memory(err);
    }
    *device = (sr_device){.iface = &cpu_device_i, .name = "cpu", .description = "the host's processors",
                          .type = SR_DEVICE_CPU, .buffer_type = buffer_type ? buffer_type : sr_host_buffer_type(),
                          .host_buffer_type = sr_host_buffer_type()};
    *out_device = device;
    return SR_OK;
}

const sr_driver sr__driver_cpu = {
    .name = "cpu",
    .summary = "the host's processors: every op, with a thread pool",
    .device_count = cpu_device_count,
    .device_describe = cpu_device_describe,
    .device_new = cpu_device_new,
};
