/*
 * kernels.h - host kernels: every op on host memory, shared by the cpu, blas and sim devices.
 *
 * Layer: kernels (above backend, below backends/).  Internal.  A kernel computes one node with a team of threads; a
 * backend resolves the node's operands to host addresses and hands them over.
 */
#ifndef SR_KERNELS_H
#define SR_KERNELS_H

#include "base/base.h"
#include "sched_run/backend.h"

typedef struct sr__operand {
    const sr_tensor *tensor; /* NULL: an empty place */
    char *data;              /* its first element in host memory; NULL while only asking */
} sr__operand;

/* One node to compute. */
typedef struct sr__kernel_args {
    int op;
    const int32_t *params;   /* SR_MAX_OP_PARAMS words */
    sr__operand dst;
    sr__operand src[SR_MAX_SRC];
    void *scratch;           /* shared by the team, 64-byte aligned, as large as the kernel asked for */
    size_t scratch_size;
} sr__kernel_args;

/* A member of the team that computes a node: ith of nth. */
typedef struct sr__task {
    int ith, nth;
    struct sr__team *team;
} sr__task;

/* All members wait for each other. */
void sr__task_barrier(const sr__task *task);
/* Records the first failure of the node (an index out of range, say); the kernel then returns. Thread-safe. */
void sr__task_fail(const sr__task *task, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Splits n items over the team: this member's are [*begin, *end). */
static inline void sr__task_range(const sr__task *task, int64_t n, int64_t *begin, int64_t *end) {
    const int64_t per = (n + task->nth - 1) / task->nth;
    const int64_t b = per * task->ith;
    *begin = b < n ? b : n;
    *end = b + per < n ? b + per : n;
}

typedef struct sr__kernel_info {
    void (*run)(const sr__kernel_args *args, const sr__task *task);
    /* Why it cannot compute these operands, in words ("f16 times i32 has no kernel"), or NULL if it can.  Data pointers
     * are NULL then; the words are string literals. NULL: it takes everything. */
    const char *(*refuse)(const sr__kernel_args *args);
    size_t (*scratch)(const sr__kernel_args *args, int n_threads); /* bytes; NULL: none */
    int (*max_threads)(const sr__kernel_args *args); /* more would not help; NULL: any number */
} sr__kernel_info;

/* The kernel of an op; run is NULL where there is none (opaque and custom ops) or nothing to do (views, NONE). */
const sr__kernel_info *sr__kernel_get(int op);
/* Why a node of a view (not a view op) cannot be computed here, or NULL. */
const char *sr__kernel_refuse_node(const sr_graph_view *view, const sr_tensor *node);
/* The same of any tensor; NULL also where there is nothing to compute. */
const char *sr__kernel_refuse(const sr_graph_view *view, int32_t tensor);

/* ---- the team ---------------------------------------------------------------------------------------------------- */

typedef struct sr__pool sr__pool;

sr_status sr__pool_new(int n_threads, sr__pool **out_pool, sr_error *err);
int sr__pool_threads(const sr__pool *pool);
sr_status sr__pool_set_threads(sr__pool *pool, int n_threads, sr_error *err);
/* Asked between nodes; NULL: never. Whoever computes with the pool sets it while nothing is computed. */
void sr__pool_set_abort(sr__pool *pool, sr_abort_callback stop, void *user);
void sr__pool_free(sr__pool *pool);
/*
 * Computes the view's nodes in order.  resolve turns storage into a host address (NULL: not reachable from here, which
 * ends the run with SR_UNREACHABLE).  Nodes without the COMPUTE flag, views and empty results are passed over.
 * SR_COMPUTE, SR_ABORTED, with details node, op.
 */
sr_status sr__pool_compute(sr__pool *pool, const sr_graph_view *view,
                           char *(*resolve)(void *user, const sr_storage *storage), void *user, sr_error *err);

#endif
