/*
 * pool.c - the thread pool: its threads, and the computation of a graph's nodes with them.
 *
 * Layer: kernels.  Answers to ggml_threadpool and ggml_graph_compute of ggml-cpu.c of the reference.  The caller is a
 * member of every team.  A node gets as many threads as its size is worth; one thread computes it without any lock.
 */
#include <stdlib.h>

#include "backend/reach.h"
#include "kernels/team.h"

enum { MAX_THREADS = 512, ALIGNMENT = 64 };

/* Fewer elements than this for each thread are not worth waking one. */
static const int64_t ELEMENTS_A_THREAD = 4096;

typedef struct worker {
    sr__pool *pool;
    int index;
    pthread_t thread;
} worker;

struct sr__pool {
    sr__team team;
    int n_threads;
    worker *workers; /* n_threads - 1 of them, the first has index 1 */
    /* the job: written by the caller while no worker is at work */
    const sr__kernel_info *kernel;
    sr__kernel_args args;
    int n_members;
    char *scratch_block;
    size_t scratch_cap;
    sr_abort_callback stop;
    void *stop_user;
};

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void *worker_main(void *user) {
    const worker *self = user;
    sr__pool *pool = self->pool;
    sr__team *team = &pool->team;
    uint_fast64_t seen = 0;
    for (;;) {
        sr__team_wait(team, &team->job, seen);
        seen = atomic_load(&team->job);
        const int members = (int)(seen & 0xFFFFu);
        if (members == 0) {
            return NULL;
        }
        if (self->index >= members) { /* not of this job: nothing of it may be looked at */
            continue;
        }
        const sr__task task = {self->index, members, team};
        pool->kernel->run(&pool->args, &task);
        if (atomic_fetch_sub(&team->remaining, 1) == 1) {
            sr__team_wake(team);
        }
    }
}

/* Makes a job visible to the workers: its number changes, and says how many of them take part. */
static void publish(sr__team *team, int members) {
    const uint_fast64_t generation = (atomic_load_explicit(&team->job, memory_order_relaxed) >> 16) + 1;
    atomic_store(&team->job, generation << 16 | (uint_fast64_t)members);
    sr__team_wake(team);
}

static void stop_workers(sr__pool *pool) {
    if (pool->n_threads > 1) {
        publish(&pool->team, 0);
    }
    for (int i = 0; i < pool->n_threads - 1; i++) {
        pthread_join(pool->workers[i].thread, NULL);
    }
    sr__free(pool->workers);
    pool->workers = NULL;
    pool->n_threads = 1;
    atomic_store(&pool->team.job, 0); /* new workers begin with job 0 seen */
}

static sr_status start_workers(sr__pool *pool, int n_threads, sr_error *err) {
    if (n_threads < 1 || n_threads > MAX_THREADS) {
        return sr__fail(err, SR_INVALID, "%d threads: the number must be 1 to %d", n_threads, MAX_THREADS);
    }
    if (n_threads == 1) {
        return SR_OK;
    }
    pool->workers = sr__calloc((size_t)n_threads - 1, sizeof(worker));
    if (pool->workers == NULL) {
        return sr__fail_memory(err);
    }
    for (int i = 1; i < n_threads; i++) {
        worker *w = &pool->workers[i - 1];
        w->pool = pool;
        w->index = i;
        if (pthread_create(&w->thread, NULL, worker_main, w) != 0) {
            stop_workers(pool);
            return sr__fail(err, SR_UNAVAILABLE, "thread %d of %d cannot be started", i + 1, n_threads);
        }
        pool->n_threads = i + 1;
    }
    return SR_OK;
}

sr_status sr__pool_new(int n_threads, sr__pool **out_pool, sr_error *err) {
    *out_pool = NULL;
    sr__pool *pool = sr__calloc(1, sizeof(*pool));
    if (pool == NULL) {
        return sr__fail_memory(err);
    }
    pool->n_threads = 1;
    if (!sr__team_init(&pool->team)) {
        sr__free(pool);
        return sr__fail(err, SR_UNAVAILABLE, "a thread pool cannot get its lock");
    }
    const sr_status status = start_workers(pool, n_threads, err);
    if (status != SR_OK) {
        sr__pool_free(pool);
        return status;
    }
    *out_pool = pool;
    return SR_OK;
}

int sr__pool_threads(const sr__pool *pool) { return pool->n_threads; }

sr_status sr__pool_set_threads(sr__pool *pool, int n_threads, sr_error *err) {
    if (n_threads == pool->n_threads) {
        return SR_OK;
    }
    if (n_threads < 1 || n_threads > MAX_THREADS) {
        return sr__fail(err, SR_INVALID, "%d threads: the number must be 1 to %d", n_threads, MAX_THREADS);
    }
    stop_workers(pool);
    return start_workers(pool, n_threads, err);
}

void sr__pool_set_abort(sr__pool *pool, sr_abort_callback stop, void *user) {
    pool->stop = stop;
    pool->stop_user = user;
}

void sr__pool_free(sr__pool *pool) {
    if (pool == NULL) {
        return;
    }
    stop_workers(pool);
    sr__team_free(&pool->team);
    sr__free(pool->scratch_block);
    sr__free(pool);
}

/* ---- one node ---------------------------------------------------------------------------------------------------- */

/* Members for the node: no more than the kernel can use, nor than its largest operand is worth. */
static int node_threads(const sr__pool *pool) {
    if (pool->n_threads == 1) {
        return 1;
    }
    int64_t most = sr_tensor_nelements(pool->args.dst.tensor);
    for (int j = 0; j < SR_MAX_SRC; j++) {
        if (pool->args.src[j].tensor != NULL) {
            const int64_t n = sr_tensor_nelements(pool->args.src[j].tensor);
            most = n > most ? n : most;
        }
    }
    int n = pool->n_threads;
    if (most / ELEMENTS_A_THREAD < n) {
        n = (int)(most / ELEMENTS_A_THREAD);
    }
    if (n > 1 && pool->kernel->max_threads != NULL) {
        const int limit = pool->kernel->max_threads(&pool->args);
        n = limit < n ? limit : n;
    }
    return n > 1 ? n : 1;
}

static sr_status get_scratch(sr__pool *pool, sr_error *err) {
    const size_t need = pool->kernel->scratch != NULL ? pool->kernel->scratch(&pool->args, pool->n_members) : 0;
    if (need > pool->scratch_cap) {
        size_t size;
        sr__free(pool->scratch_block);
        pool->scratch_cap = 0;
        pool->scratch_block = sr__add_size(need, ALIGNMENT, &size) ? sr__malloc(size) : NULL;
        if (pool->scratch_block == NULL) {
            return sr__fail_memory(err);
        }
        pool->scratch_cap = need;
    }
    char *block = pool->scratch_block;
    pool->args.scratch_size = need;
    pool->args.scratch = block == NULL ? NULL : block + (ALIGNMENT - (uintptr_t)block % ALIGNMENT) % ALIGNMENT;
    return SR_OK;
}

static void run_members(sr__pool *pool) {
    sr__team *team = &pool->team;
    const sr__task task = {0, pool->n_members, team};
    if (task.nth == 1) {
        pool->kernel->run(&pool->args, &task);
        return;
    }
    atomic_store(&team->remaining, (uint_fast64_t)task.nth - 1);
    publish(team, task.nth);
    pool->kernel->run(&pool->args, &task);
    for (uint_fast64_t left = atomic_load(&team->remaining); left != 0; left = atomic_load(&team->remaining)) {
        sr__team_wait(team, &team->remaining, left);
    }
}

/* What a node is called in messages. */
static sr_status fail_node(const sr_tensor *node, sr_status status, const char *why, sr_error *err) {
    const char *op = sr_tensor_op_desc(node);
    (void)sr__fail(err, status, "node '%s' (%s): %s", node->name, op, why);
    sr__error_text(err, "node", node->name);
    sr__error_text(err, "op", op);
    return status;
}

static const char *type_name(const sr_tensor *tensor) {
    const char *name = sr_type_get(tensor->type)->name;
    return name != NULL ? name : "?";
}

static sr_status fail_refused(const sr__pool *pool, const char *why, sr_error *err) {
    sr__str text = {0};
    sr__str_printf(&text, "%s (", why);
    const char *separator = "";
    for (int j = 0; j < pool->args.dst.tensor->n_src; j++) {
        const sr_tensor *src = pool->args.src[j].tensor;
        sr__str_printf(&text, "%s%s", separator, src != NULL ? type_name(src) : "none");
        separator = ", ";
    }
    sr__str_printf(&text, " -> %s)", type_name(pool->args.dst.tensor));
    const sr_status status = fail_node(pool->args.dst.tensor, SR_COMPUTE, text.failed ? why : sr__str_text(&text), err);
    sr__str_free(&text);
    return status;
}

static sr_status run_node(sr__pool *pool, sr_error *err) {
    const char *why = pool->kernel->refuse != NULL ? pool->kernel->refuse(&pool->args) : NULL;
    if (why != NULL) {
        return fail_refused(pool, why, err);
    }
    pool->n_members = node_threads(pool);
    const sr_status status = get_scratch(pool, err);
    if (status != SR_OK) {
        return status;
    }
    run_members(pool);
    sr__team *team = &pool->team;
    if (!atomic_load_explicit(&team->failed, memory_order_relaxed)) {
        return SR_OK;
    }
    const char *text = sr__str_text(&team->failure);
    (void)fail_node(pool->args.dst.tensor, SR_COMPUTE, text[0] != '\0' ? text : "it failed", err);
    sr__str_clear(&team->failure);
    atomic_store(&team->failed, false);
    return SR_COMPUTE;
}

/* ---- a graph ----------------------------------------------------------------------------------------------------- */

typedef struct resolver {
    const sr_graph_view *view;
    char *(*resolve)(void *user, const sr_storage *storage);
    void *user;
} resolver;

static sr_status get_operand(const resolver *r, int32_t id, const sr_tensor *node, sr__operand *out, sr_error *err) {
    const sr_tensor *tensor = sr_view_tensor(r->view, id);
    out->tensor = tensor;
    out->data = NULL;
    if (r->view->storage != NULL) {
        out->data = r->resolve(r->user, &r->view->storage[id]);
    }
    if (out->data == NULL && !sr_tensor_is_empty(tensor)) {
        (void)sr__fail(err, SR_UNREACHABLE, "node '%s' (%s): '%s' is in no memory that host kernels reach", node->name,
                       sr_tensor_op_desc(node), tensor->name);
        sr__error_text(err, "node", node->name);
        sr__error_text(err, "op", sr_tensor_op_desc(node));
        sr__error_text(err, "tensor", tensor->name);
        return SR_UNREACHABLE;
    }
    return SR_OK;
}

static sr_status compute_node(sr__pool *pool, const resolver *r, int32_t id, sr_error *err) {
    const sr_tensor *node = sr_view_tensor(r->view, id);
    const int op = sr_view_op(r->view, id);
    if (op == SR_OP_NONE || sr_op_is_view(op) || (node->flags & SR_FLAG_COMPUTE) == 0 || sr_tensor_is_empty(node)) {
        return SR_OK;
    }
    sr_status status = sr__check_abort_callback(pool->stop, pool->stop_user, node, err);
    if (status != SR_OK) {
        return status;
    }
    pool->kernel = sr__kernel_get(op);
    pool->args = (sr__kernel_args){.op = op, .params = node->op_params};
    if (pool->kernel->run == NULL) {
        return fail_node(node, SR_COMPUTE, "the op has no kernel", err);
    }
    status = get_operand(r, id, node, &pool->args.dst, err);
    for (int j = 0; j < node->n_src && status == SR_OK; j++) {
        const int32_t src = sr_view_src(r->view, node, j);
        if (src == SR_SELF) {
            pool->args.src[j] = pool->args.dst;
        } else if (src >= 0) {
            status = get_operand(r, src, node, &pool->args.src[j], err);
        }
    }
    return status == SR_OK ? run_node(pool, err) : status;
}

sr_status sr__pool_compute(sr__pool *pool, const sr_graph_view *view, char *(*resolve)(void *user,
                                                                                       const sr_storage *storage),
                           void *user, sr_error *err) {
    const resolver r = {view, resolve, user};
    for (int32_t i = 0; i < view->n_nodes; i++) {
        const sr_status status = compute_node(pool, &r, view->nodes[i], err);
        if (status != SR_OK) {
            return status;
        }
    }
    return SR_OK;
}
