/*
 * custom.h - ops of the caller's own: MAP_CUSTOM1, MAP_CUSTOM2, MAP_CUSTOM3, CUSTOM.
 *
 * Layer: kernels.  Answers to ggml_map_custom1 .. 3 and ggml_custom_4d of the reference.  As there, a node's words hold
 * the address of its function and of its user data.  Such words can also come out of a file, so a function is called
 * only with user data that this process has allowed for it; any other node can be scheduled but not computed.
 */
#ifndef SCHED_RUN_CUSTOM_H
#define SCHED_RUN_CUSTOM_H

#include "graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sr_custom_operand {
    const sr_tensor *tensor; /* NULL: an empty place */
    void *data;              /* its first element, in host memory */
} sr_custom_operand;

/* What member ith of nth is to compute: its share of the result.  All members get the same operands. */
typedef struct sr_custom_call {
    sr_custom_operand dst;
    sr_custom_operand src[SR_MAX_SRC];
    int ith, nth;
    void *user;
} sr_custom_call;

/* NULL, or why it failed, which ends the run with SR_COMPUTE; the words must live until the run has ended. */
typedef const char *(*sr_custom_fn)(const sr_custom_call *call);

enum { SR_CUSTOM_ALL_THREADS = -1 };

/*
 * Writes the words of a custom node into spec.  At most n_tasks members share the work, fewer where the operands are
 * small or the backend has fewer threads; SR_CUSTOM_ALL_THREADS: as many as there are.  SR_INVALID.
 */
SR_API sr_status sr_custom_set_params(sr_tensor_spec *spec, sr_custom_fn fn, void *user, int n_tasks, sr_error *err);
/*
 * From now on nodes with fn and user may be computed; as often as it is allowed, it must be forgotten.  user is not
 * owned and must outlive this.  SR_MEMORY.  Thread rule of both: any thread, but not while a graph with such a node
 * runs.
 */
SR_API sr_status sr_custom_allow(sr_custom_fn fn, void *user, sr_error *err);
SR_API void sr_custom_forget(sr_custom_fn fn, void *user);

#ifdef __cplusplus
}
#endif
#endif
