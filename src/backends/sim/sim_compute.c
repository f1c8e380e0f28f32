/*
 * sim_compute.c - running a graph on a simulated device, at once or in its queue.
 *
 * Layer: backends.  Answers to graph_compute of the reference's device backends.
 *
 * A node may use memory of another device, if the description says that the backend accepts it, or read it through a
 * view (see reach.h).  Nobody copies then, so nobody waits either: such a compute takes part in that device's queue
 * too.
 * Memory that belongs to no queue, the host's above all, is free for anyone when the call returns, so there the call
 * returns late.
 */
#include "backend/reach.h"
#include "backend/tracing.h"
#include "backends/sim/sim.h"

/* ---- running nodes -------------------------------------------------------------------------------------------- */

static char *resolve(void *user, const sr_storage *storage) {
    (void)user;
    return sr__storage_memory(storage);
}

static sr_status pool_ready(sr__sim_backend *sim, sr_error *err) {
    return sim->pool ? SR_OK : sr__pool_new(1, &sim->pool, err);
}

static sr_status run_nodes(sr_backend *backend, const sr_graph_view *view, sr_error *err) {
    sr__sim_backend *sim = sr__sim_of_backend(backend);
    const uint64_t begin = sr_trace_now();
    sr_status status;
    SR_TRY(sr__pool_set_threads(sim->pool, atomic_load(&sim->n_threads), err));
    sr__pool_set_abort(sim->pool, backend->stop, backend->stop_user);
    SR_TRY(sr__pool_compute(sim->pool, view, resolve, NULL, err));
    sr__sim_pace_nodes(backend, begin, view);
done:
    return status;
}

/* The position of the first node that the description says must fail, or the number of nodes. */
static int32_t find_fault(const sr__sim_backend *sim, const sr_graph_view *view) {
    const sr_backend_config *config = sim->sim->config;
    int32_t i = 0;
    if (!config->fail.given || !config->fail.has_compute_op) {
        return view->n_nodes;
    }
    while (i < view->n_nodes && !(sr__node_works(view, view->nodes[i]) &&
                                  sr_rule_matches(&config->fail.compute_op, view, view->nodes[i]))) {
        i++;
    }
    return i;
}

static sr_status fail_fault(const char *node, const char *op, sr_error *err) {
    const sr_status status = sr__fail(err, SR_COMPUTE, "node '%s' (%s): failed as the description asks", node, op);
    sr__error_text(err, "node", node);
    sr__error_text(err, "op", op);
    return status;
}

/* ---- whose memory --------------------------------------------------------------------------------------------- */

/* The other queues that own memory which a graph uses, each once. */
typedef struct owners {
    const sr__sim_backend *self;
    sr__sim_queue **queues;
    size_t n, cap;
    bool outside; /* some memory belongs to no queue */
    bool failed;
} owners;

static void add_owner(owners *o, const sr_storage *storage) {
    if (!storage->buffer) {
        return;
    }
    sr__sim_device *device = sr__sim_of_buffer(storage->buffer);
    if (!device || (!device->config->async && &device->queue != o->self->queue)) {
        o->outside = true;
        return;
    }
    if (&device->queue == o->self->queue) {
        return;
    }
    for (size_t i = 0; i < o->n; i++) {
        if (o->queues[i] == &device->queue) {
            return;
        }
    }
    if (sr__grow(&o->queues, &o->cap, o->n + 1, sizeof(sr__sim_queue *))) {
        o->queues[o->n++] = &device->queue;
    } else {
        o->failed = true;
    }
}

/* ---- at once -------------------------------------------------------------------------------------------------- */

static void find_owners(owners *o, const sr_graph_view *view) {
    for (int32_t i = 0; i < view->n_nodes && view->storage; i++) {
        const int32_t id = view->nodes[i];
        if (!sr__node_works(view, id)) {
            continue;
        }
        const sr_tensor *node = sr_view_tensor(view, id);
        add_owner(o, &view->storage[id]);
        for (int j = 0; j < node->n_src; j++) {
            const int32_t src = sr_view_src(view, node, j);
            if (src >= 0) {
                add_owner(o, &view->storage[src]);
            }
        }
    }
}

sr_status sr__sim_compute_now(sr_backend *backend, const sr_graph_view *view, sr_error *err) {
    sr__sim_backend *sim = sr__sim_of_backend(backend);
    sr_graph_view part = *view;
    owners o = {.self = sim};
    sr_status status;
    part.n_nodes = find_fault(sim, view);
    find_owners(&o, &part);
    SR_TRY(sr__check_destinations(backend, &part, err));
    if (o.failed) {
        SR_TRY(sr__fail_memory(err));
    }
    uint64_t begin = sr__trace_begin(backend);
    SR_TRY(sr__sim_queue_drain(sim->queue, err));
    for (size_t i = 0; i < o.n; i++) {
        SR_TRY(sr__sim_queue_drain(o.queues[i], err));
    }
    sr__trace_waited(backend, begin);
    SR_TRY(pool_ready(sim, err));
    begin = sr__trace_begin(backend);
    status = run_nodes(backend, &part, err);
    sr__trace_computed(backend, &part, begin);
    SR_TRY(status);
    if (part.n_nodes < view->n_nodes) {
        const sr_tensor *node = sr_view_tensor(view, view->nodes[part.n_nodes]);
        status = fail_fault(node->name, sr_tensor_op_desc(node), err);
    }
done:
    sr__free(o.queues);
    return status;
}

/* ---- queued --------------------------------------------------------------------------------------------------- */

typedef struct compute_command {
    sr__sim_command command; /* first: a command is freed as what it is part of */
    sr_backend *backend;
    sr__sim_snapshot snapshot;
    const char *fault_node, *fault_op; /* in the snapshot's arena; NULL: none */
} compute_command;

static sr_status run_compute(sr__sim_command *command, sr_error *err) {
    const compute_command *c = (compute_command *)command;
    const sr_status status = run_nodes(c->backend, &c->snapshot.view, err);
    return status == SR_OK && c->fault_node ? fail_fault(c->fault_node, c->fault_op, err) : status;
}

static void compute_free(sr__sim_command *command) {
    sr__sim_snapshot_free(&((compute_command *)command)->snapshot);
    sr__free(command);
}

static sr_status compute_new(sr_backend *backend, const sr_graph_view *view, compute_command **out, sr_error *err) {
    sr__sim_backend *sim = sr__sim_of_backend(backend);
    const int32_t n = find_fault(sim, view);
    compute_command *c = sr__calloc(1, sizeof(*c));
    if (!c) {
        return sr__fail_memory(err);
    }
    const sr_status status = sr__sim_snapshot_take(&c->snapshot, view, n, &sim->places, err);
    if (status != SR_OK) {
        sr__free(c);
        return status;
    }
    c->command = (sr__sim_command){.run = run_compute, .free = compute_free};
    c->backend = backend;
    sr__sim_tell(&c->command, backend, SR_TRACE_COMPUTE, 0);
    if (backend->trace) {
        const sr_graph *graph = &c->snapshot.graph;
        c->command.told.n_nodes = graph->n_nodes;
        c->command.told.name = graph->n_nodes > 0
                                   ? sr_trace_keep(backend->trace, graph->tensors[graph->nodes[0]].name) : NULL;
    }
    if (n < view->n_nodes) {
        const sr_tensor *node = sr_view_tensor(view, view->nodes[n]);
        c->fault_node = sr__arena_strdup(&c->snapshot.arena, node->name);
        c->fault_op = sr__arena_strdup(&c->snapshot.arena, sr_tensor_op_desc(node));
        if (!c->fault_node || !c->fault_op) {
            compute_free(&c->command);
            return sr__fail_memory(err);
        }
    }
    *out = c;
    return SR_OK;
}

/* The commands by which a compute takes part in one other queue. */
typedef struct joint {
    sr__sim_queue *queue;
    sr__sim_command *arrive, *stay; /* there: it has come so far; it waits until the compute is done */
    sr__sim_command *await;         /* here: wait until the other has come so far */
} joint;

static bool joint_new(joint *j, const sr_backend *backend, sr__sim_queue *queue, sr__sim_point *finished) {
    sr__sim_point *arrived = sr__sim_point_new(0);
    j->queue = queue;
    j->arrive = arrived ? sr__sim_signal_new(arrived) : NULL;
    j->await = j->arrive ? sr__sim_wait_new(arrived) : NULL;
    j->stay = j->await ? sr__sim_wait_new(finished) : NULL;
    sr__sim_point_unref(arrived);
    if (j->stay) {
        sr__sim_tell(j->await, backend, SR_TRACE_WAIT, 0);
        sr__sim_tell(j->stay, backend, SR_TRACE_WAIT, 0);
        j->await->told.name = queue->name;
        j->stay->told.name = j->stay->told.track; /* that queue stands still for this backend */
        j->stay->told.track = queue->name;
    }
    return j->stay != NULL;
}

/* Two of these that met halfway would wait for each other for ever. */
static pthread_mutex_t joining = PTHREAD_MUTEX_INITIALIZER;

/* Pushes the compute between the arrivals of all other queues and their release; it is consumed. */
static sr_status push_joined(const sr_backend *backend, const owners *o, sr__sim_command *compute, sr_error *err) {
    sr__sim_queue *queue = sr__sim_of_backend(backend)->queue;
    sr__sim_point *finished = sr__sim_point_new(0);
    sr__sim_command *release = finished ? sr__sim_signal_new(finished) : NULL;
    joint *joints = sr__calloc(o->n, sizeof(*joints));
    bool ok = release && joints;
    sr_status status;
    for (size_t i = 0; i < o->n && ok; i++) {
        ok = joint_new(&joints[i], backend, o->queues[i], finished);
    }
    if (!ok) {
        SR_TRY(sr__fail_memory(err));
    }
    SR_TRY(sr__sim_queue_ready(queue, err));
    for (size_t i = 0; i < o->n; i++) {
        SR_TRY(sr__sim_queue_ready(o->queues[i], err));
    }
    pthread_mutex_lock(&joining);
    for (size_t i = 0; i < o->n; i++) {
        sr__sim_queue_push(o->queues[i], joints[i].arrive);
        sr__sim_queue_push(o->queues[i], joints[i].stay);
        sr__sim_queue_push(queue, joints[i].await);
    }
    sr__sim_queue_push(queue, compute);
    sr__sim_queue_push(queue, release);
    pthread_mutex_unlock(&joining);
    compute = release = NULL;
    sr__free(joints);
    joints = NULL;
done:
    for (size_t i = 0; joints && i < o->n; i++) {
        sr__sim_command_free(joints[i].arrive);
        sr__sim_command_free(joints[i].stay);
        sr__sim_command_free(joints[i].await);
    }
    sr__free(joints);
    sr__sim_command_free(release);
    sr__sim_command_free(compute);
    sr__sim_point_unref(finished);
    return status;
}

static sr_status push_alone(sr__sim_queue *queue, sr__sim_command *compute, sr_error *err) {
    const sr_status status = sr__sim_queue_ready(queue, err);
    if (status == SR_OK) {
        sr__sim_queue_push(queue, compute);
    } else {
        sr__sim_command_free(compute);
    }
    return status;
}

sr_status sr__sim_compute_queued(sr_backend *backend, const sr_graph_view *view, sr_error *err) {
    sr__sim_backend *sim = sr__sim_of_backend(backend);
    compute_command *c = NULL;
    owners o = {.self = sim};
    sr_status status;
    SR_TRY(sr__check_destinations(backend, view, err));
    SR_TRY(pool_ready(sim, err));
    SR_TRY(compute_new(backend, view, &c, err));
    for (int32_t i = 0; i < c->snapshot.graph.n_tensors; i++) {
        add_owner(&o, &c->snapshot.view.storage[i]);
    }
    if (o.failed) {
        compute_free(&c->command);
        SR_TRY(sr__fail_memory(err));
    }
    SR_TRY(o.n > 0 ? push_joined(backend, &o, &c->command, err) : push_alone(sim->queue, &c->command, err));
    if (o.outside) {
        const uint64_t begin = sr__trace_begin(backend);
        status = sr__sim_queue_drain(sim->queue, err);
        sr__trace_waited(backend, begin);
    }
done:
    sr__free(o.queues);
    return status;
}
