/*
 * explain_impl.h - an explainer's own data, shared by its files.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_EXPLAIN_IMPL_H
#define SR_EXPLAIN_IMPL_H

#include "base/base.h"
#include "sched_run/explain.h"

enum { SR__N_SWEEPS = 4 };

/* The decisions of a layout, replayed: what every pass found. */
struct sr_explainer {
    const sr_layout *layout;
    const sr_graph *graph;
    sr_graph_view view;      /* the whole graph, to ask backends about */
    int16_t *backend;        /* [(pass + 1) * n_tensors + tensor]: after the pass; pass -1: before all */
    uint8_t *cause;          /* likewise */
    int32_t *last_decision;  /* [pass * n_tensors + tensor]: the last one of the pass, -1 */
    int32_t *neighbour[SR__N_SWEEPS]; /* by node position: the assigned node met last before it, -1 */
    int32_t *split_of;       /* by node position, -1 */
    int last_pass;
    int32_t failed_at;       /* the tensor at which the schedule failed, -1 */
    sr_explanation *out;     /* the explanation being made */
    sr_error *err;
};

static inline bool sr__is_sweep(int pass) { return pass >= SR_PASS_2_GPU_DOWN && pass <= SR_PASS_2_REST_UP; }
static inline bool sr__sweeps_up(int pass) { return pass == SR_PASS_2_GPU_UP || pass == SR_PASS_2_REST_UP; }
/* The first two sweeps are stopped by the last backend. */
static inline bool sr__sweep_skips_last(int pass) { return pass == SR_PASS_2_GPU_DOWN || pass == SR_PASS_2_GPU_UP; }

/* Backend of a tensor before a pass, and after it. */
static inline int sr__backend_before(const sr_explainer *e, int pass, int32_t tensor) {
    return e->backend[(size_t)pass * (size_t)e->graph->n_tensors + (size_t)tensor];
}
static inline int sr__backend_after(const sr_explainer *e, int pass, int32_t tensor) {
    return sr__backend_before(e, pass + 1, tensor);
}
/* Whether the pass had been begun, and had come as far as the tensor, when the schedule failed. */
bool sr__pass_reached(const sr_explainer *e, int pass, int32_t tensor);

/* ---- what the files ask about a graph and its backends (explain_facts.c) --------------------------------------- */

static inline const sr_tensor *sr__tensor_of(const sr_explainer *e, int32_t tensor) {
    return &e->graph->tensors[tensor];
}
static inline const char *sr__label(const sr_explainer *e, int32_t tensor) {
    const sr_tensor *t = &e->graph->tensors[tensor];
    return t->name[0] != '\0' ? t->name : t->id;
}
static inline const char *sr__backend_label(const sr_explainer *e, int backend) {
    return backend >= 0 && backend < e->layout->n_backends ? e->layout->backends[backend]->name : "none";
}
static inline int sr__last_backend(const sr_explainer *e) { return e->layout->n_backends - 1; }

/* The buffer that a tensor or its root is pre-allocated in, or NULL. */
const sr_buffer *sr__memory_of(const sr_explainer *e, int32_t tensor);
/* Whether the tensor itself (no view) lies in a buffer of weights. */
bool sr__is_weight(const sr_explainer *e, int32_t tensor);
bool sr__takes_op(const sr_explainer *e, int backend, int32_t tensor);
bool sr__takes_type(const sr_explainer *e, int backend, const sr_buffer_type *type);
/* The highest backend that takes the type and the op, or -1. */
int sr__home_of(const sr_explainer *e, const sr_buffer_type *type, int32_t tensor);
/* Whether pass 1 places the op by its weights at all. */
bool sr__placed_by_weights(const sr_explainer *e, int32_t tensor);
/* The source that places a node in pass 1, or -1. */
int32_t sr__deciding_weight(const sr_explainer *e, int32_t tensor, int *out_place);
/* Whether the backend can read the tensor where it lies before a pass (or will lie). */
bool sr__can_read(const sr_explainer *e, int backend, int32_t tensor, int pass);
/* How many of a node's sources that can be read by a backend pass 3 counts; out_n: of how many. */
int sr__count_readable(const sr_explainer *e, int backend, int32_t node, int *out_n);

/* "GPU0 refuses SOFT_MAX (rule: {...})" */
void sr__explain_refusal(sr__str *s, const sr_explainer *e, int backend, int32_t tensor);
/* "node 12 attn_norm-0", "leaf x" */
void sr__put_place(sr__str *s, const sr_explainer *e, int32_t tensor);
/* "kv (CPU)", "CPU" */
void sr__put_buffer(sr__str *s, const sr_buffer *buffer);

/* ---- the parts of an explanation ------------------------------------------------------------------------------- */

sr_status sr__explain_steps(sr_explainer *e, int32_t tensor);  /* explain_steps.c */
sr_status sr__explain_why_not(sr_explainer *e, int32_t tensor); /* explain_why.c */
sr_status sr__explain_hints(sr_explainer *e, int32_t tensor);  /* explain_hints.c */

/* Why a backend does not offload the node whose weight is at hand: false where it does. */
bool sr__put_no_offload(sr__str *s, const sr_explainer *e, int backend, int32_t tensor, int32_t weight);

#endif
