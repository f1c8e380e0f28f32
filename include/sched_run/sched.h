/*
 * sched.h - the scheduler: assigns nodes to backends, splits the graph, plans its memory, runs it.
 *
 * Layer: sched (above alloc).  Answers to ggml_backend_sched_* of the reference.  Everything a schedule decided is left
 * in one record, sr_layout, which every report reads.
 * Thread rule: a scheduler belongs to one thread at a time.
 */
#ifndef SCHED_RUN_SCHED_H
#define SCHED_RUN_SCHED_H

#include "alloc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- causes ---------------------------------------------------------------------------------------------------- */

/* Why a tensor is on its backend, spelled as the reference's debug output spells it; docs/causes.md explains each. */
typedef enum sr_cause {
    SR_CAUSE_NONE,    /* ""       */
    SR_CAUSE_USER,    /* "usr"    a user assignment */
    SR_CAUSE_DST,     /* "1.dst"  its own buffer */
    SR_CAUSE_VSRC,    /* "1.vsrc" the buffer of what it views */
    SR_CAUSE_INPUT,   /* "1.inp"  a user input goes to the last backend */
    SR_CAUSE_OFFLOAD, /* "1.off"  a higher backend asked for an op with host weights */
    SR_CAUSE_SUP,     /* "2.sup"  taken by the backend of a neighbour, which supports it */
    SR_CAUSE_BEST,    /* "3.best" the backend that can read most of its sources */
    SR_CAUSE_UPG,     /* "3.upg"  moved to a higher backend with the same buffer type */
    SR_CAUSE_VSRC4,   /* "4.vsrc" the backend of what it views */
    SR_CAUSE_CUR,     /* "4.cur"  a source follows its first user */
    SR_CAUSE_COPY,    /* "4.cpy"  a copy made by the scheduler */
    SR_CAUSE_WGT0     /* "1.wgtN" = SR_CAUSE_WGT0 + N: the weights in source N are there */
} sr_cause;

enum { SR_CAUSE_COUNT = SR_CAUSE_WGT0 + SR_MAX_SRC };

SR_API const char *sr_cause_name(int cause);  /* "" for NONE */
SR_API int sr_cause_find(const char *name);   /* -1: unknown */

/* ---- rules by date --------------------------------------------------------------------------------------------- */

/* How the scheduler of some time behaves, where that differs from another time's. */
typedef struct sr_sched_rules {
    bool pipeline_copies;           /* more than one copy slot can be had */
    int max_splits;                 /* 0: as many as there are nodes */
    int max_split_inputs;
    bool views_in_pass_1;           /* views of what is pre-allocated are assigned in pass 1, not in pass 4 */
    bool offload_host_only;         /* an op is offloaded only if its weights are in host memory */
    bool op_offload_switch;         /* offloading can be switched off */
    bool used_experts_only;         /* of host weights of MUL_MAT_ID only the used experts are copied */
    bool reserve_keeps_users;       /* a reserve heeds user assignments */
    bool attention_ignores_weights; /* FLASH_ATTN_EXT, as ROPE, is neither placed nor offloaded by a weight */
    bool inputs_grow;               /* a split's inputs are not limited, and the graph copy's size counts real inputs */
    bool empty_split_waits;         /* a split without inputs waits for the backend of the split before */
    bool full_split_goes_on;        /* many inputs do not start a new split */
} sr_sched_rules;

/* The state of the rules from a date on; `change` says what came with it. */
typedef struct sr_revision {
    const char *date;  /* "2026-05-10"; without a day where only the month is known */
    const char *name;  /* "reference", "host-offload" */
    const char *change;
    sr_sched_rules rules;
} sr_revision;

/* All revisions, oldest first. */
SR_API const sr_revision *sr_revisions(int *out_n);
/* By name, or the one in force at a date ("2025-06-01", "2025-06", "2025"); "latest" is the last.  NULL: neither. */
SR_API const sr_revision *sr_revision_find(const char *text);

/* ---- settings -------------------------------------------------------------------------------------------------- */

typedef struct sr_sched_params {
    int64_t graph_size;      /* 0: as large as the graph, else graphs beyond the reference's table are SR_GRAPH_SIZE */
    int n_copies;            /* pipeline copies, 1 */
    bool op_offload;         /* true */
    int max_backends;        /* 16 */
    int max_split_inputs;    /* 30, as the rules have it */
    int max_copies;          /* 255: slots are numbered in a byte */
    int max_chunks;          /* 16 */
    sr_sched_rules rules;    /* the reference's */
    bool record_decisions;   /* true: keep the record of every pass */
    bool record_lives;       /* false: keep life spans for memory reports */
} sr_sched_params;

SR_API void sr_sched_params_init(sr_sched_params *params);
/* Behave as at another time: sets `rules`, and `max_split_inputs` to what they say. */
SR_API void sr_sched_params_set_rules(sr_sched_params *params, const sr_revision *revision);
/* Nodes and leafs that graph_size leaves room for: the next size of the reference's table; 0: any number. */
SR_API int64_t sr_sched_graph_limit(int64_t graph_size);

/* ---- the record ------------------------------------------------------------------------------------------------ */

typedef enum sr_pass {
    SR_PASS_USER,       /* user assignments, before pass 1 */
    SR_PASS_1,          /* from buffers, inputs and weights */
    SR_PASS_2_GPU_DOWN, /* higher backends spread to their neighbours, then every backend */
    SR_PASS_2_GPU_UP,
    SR_PASS_2_REST_DOWN,
    SR_PASS_2_REST_UP,
    SR_PASS_3,          /* upgrade, or the backend that reads most sources */
    SR_PASS_4,          /* what is left: views and sources */
    SR_PASS_COUNT
} sr_pass;

SR_API const char *sr_pass_name(int pass); /* "pass 2 (gpu down)" */

/* One thing that a pass set.  Decisions of one schedule stand in the order they were made. */
typedef struct sr_decision {
    int32_t tensor;
    int16_t from, to;    /* backends, -1 none; to -1: a cause was set although no backend was found */
    uint8_t pass;        /* sr_pass */
    uint8_t cause;       /* sr_cause */
    int32_t because;     /* the tensor that decided it: the neighbour it follows, the weight, the view's root; or -1 */
} sr_decision;

typedef struct sr_split {
    int32_t backend;
    int32_t start, end;               /* positions among the graph's nodes, end exclusive */
    int32_t inputs_begin, n_inputs;   /* layout->inputs[inputs_begin ..] */
    int32_t because;                  /* why it starts here: sr_split_reason */
    int32_t because_tensor;           /* the source that decided it, or -1 */
} sr_split;

typedef enum sr_split_reason {
    SR_STARTS_GRAPH,     /* the first split */
    SR_STARTS_BACKEND,   /* its first node is on another backend than the split before */
    SR_STARTS_WEIGHT,    /* a weight on another backend: a new split lets its memory be used again */
    SR_STARTS_FULL       /* the split before was full */
} sr_split_reason;

/* Everything the last schedule decided.  Arrays belong to the scheduler and live until its next schedule or reset. */
typedef struct sr_layout {
    const sr_graph *graph;
    sr_backend *const *backends;
    sr_buffer_type *const *buffer_types; /* default of each backend */
    int n_backends;
    bool reserve;                  /* made by sr_sched_reserve */
    sr_status status;              /* how it ended; arrays hold what was decided until then */

    const int16_t *backend_of;     /* by tensor; -1 unassigned */
    const uint8_t *cause_of;       /* by tensor, sr_cause */
    const sr_decision *decisions;
    int32_t n_decisions;

    const sr_split *splits;
    int32_t n_splits;
    const int32_t *inputs;         /* tensors copied into each split, see sr_split */
    int32_t n_inputs;
    const int32_t *input_copies;   /* beside inputs: id of the copy in slot cur_copy */
    const int32_t *graph_inputs;   /* user inputs that have pipeline copies */
    int32_t n_graph_inputs;
    int n_copies, cur_copy;

    sr_graph_view view;            /* the whole graph as allocated: input dependencies, copies, then nodes, split by split */
    const int16_t *node_ids;       /* backend by position in view.nodes */
    const int16_t *leaf_ids;
    const int32_t *split_nodes;    /* position in view.nodes of each split's first own node; n_splits + 1 entries */
    const sr_address *addresses;   /* by id; buffer_id -1 where the scheduler allocated nothing; NULL before allocation */

    bool replanned;                /* memory was planned (again) for this graph */
    bool reallocated;              /* by the scheduler: with one backend the allocator replans without its knowing */
    bool backend_ids_changed;
    bool unexpected;               /* neither the ids nor the size of the graph had changed */
    bool first_allocation;         /* nothing had been planned before */
    sr_misfit misfit;              /* why, if replanned (a reserve has none) */
    int64_t graph_copy_size, prev_graph_copy_size; /* max(nodes, leafs) + splits * 30 * 2 * copies */
    const size_t *compute_buffer_size; /* by backend; 0 where the type was counted before */
    const bool *grew;              /* by backend: its buffer had memory and got more */
    const size_t *prev_buffer_size;    /* by backend, as compute_buffer_size: what was held before this schedule */
    const sr_graph_allocator *allocator; /* of the scheduler: its chunks, and life spans where they are recorded */
    const sr_sched_params *params;     /* of the scheduler */
    bool executed;                 /* the graph has been run to its end */
    const uint8_t *split_done;     /* by split, after an execution that failed: whether it had been run; else NULL */
    const uint64_t *copied;        /* beside inputs: bytes an execution wrote into each copy; NULL: none */
    double seconds_split, seconds_allocate, seconds_compute;
} sr_layout;

/* ---- the scheduler --------------------------------------------------------------------------------------------- */

typedef struct sr_sched sr_sched;

/*
 * backends in priority order, the last a CPU; buffer_types may be NULL (each backend's default).  Both arrays are
 * copied, the objects are borrowed.  SR_BACKENDS (details count, limit), SR_INVALID, SR_MEMORY.
 */
SR_API sr_status sr_sched_new(sr_backend *const *backends, sr_buffer_type *const *buffer_types, int n_backends,
                              const sr_sched_params *params, sr_sched **out_sched, sr_error *err);
SR_API void sr_sched_free(sr_sched *sched);
/* Forgets assignments and the allocated graph, user assignments too; memory stays. */
SR_API void sr_sched_reset(sr_sched *sched);
/* A user assignment for the graph that is scheduled next. */
SR_API sr_status sr_sched_set_tensor_backend(sr_sched *sched, const sr_graph *graph, int32_t tensor, int backend, sr_error *err);
/* Splits the graph and reserves memory for it, then resets. */
SR_API sr_status sr_sched_reserve(sr_sched *sched, const sr_graph *graph, sr_error *err);
/* Splits the graph and says what each backend would need; sizes has n_backends places.  Resets first. */
SR_API sr_status sr_sched_reserve_size(sr_sched *sched, const sr_graph *graph, size_t *sizes, sr_error *err);
/* The same for the graph that is scheduled next: assignments made for it count, and nothing is reset.  With sizes NULL it
 * is split and no more. */
SR_API sr_status sr_sched_measure(sr_sched *sched, const sr_graph *graph, size_t *sizes, sr_error *err);
/* Splits the graph and gives it memory, reserving again where the plan does not fit. */
SR_API sr_status sr_sched_alloc_graph(sr_sched *sched, const sr_graph *graph, sr_error *err);
/* Runs the allocated graph (allocating it first if need be), split by split. */
SR_API sr_status sr_sched_compute(sr_sched *sched, const sr_graph *graph, sr_error *err);
SR_API sr_status sr_sched_compute_async(sr_sched *sched, const sr_graph *graph, sr_error *err);
SR_API sr_status sr_sched_synchronize(sr_sched *sched, sr_error *err);

/* ask = true: does the caller want this node's value?  ask = false: here it is; returning false ends the split. */
typedef bool (*sr_eval_callback)(const sr_graph_view *view, int32_t tensor, bool ask, void *user);
SR_API void sr_sched_set_eval_callback(sr_sched *sched, sr_eval_callback callback, void *user);

/*
 * Asked between splits and, by the backends, between nodes, also by their threads; true ends the execution with
 * SR_ABORTED (details node, op or split).  NULL: never.  Waits until nothing is queued.
 */
SR_API void sr_sched_set_abort_callback(sr_sched *sched, sr_abort_callback callback, void *user);
/* Where scheduler and backends tell what they do when they execute; NULL: nowhere.  Waits until nothing is queued. */
SR_API void sr_sched_set_trace(sr_sched *sched, sr_trace *trace);

SR_API const sr_layout *sr_sched_layout(const sr_sched *sched);
SR_API int sr_sched_n_splits(const sr_sched *sched);
SR_API int sr_sched_n_copies(const sr_sched *sched);
SR_API int sr_sched_n_backends(const sr_sched *sched);
SR_API sr_backend *sr_sched_backend(const sr_sched *sched, int i);
SR_API sr_buffer_type *sr_sched_buffer_type(const sr_sched *sched, int backend);
SR_API size_t sr_sched_buffer_size(const sr_sched *sched, int backend);
/* Whether the last execution has run the split of a node; true for a leaf. */
SR_API bool sr_layout_computed(const sr_layout *layout, int32_t tensor);
SR_API int sr_sched_tensor_backend(const sr_sched *sched, int32_t tensor); /* -1: none */

/* ---- a graph on one backend, without a scheduler ------------------------------------------------------------------ */

/* A graph whose tensors all have memory of their own, of one backend: nothing is ever overwritten by something else. */
typedef struct sr_graph_copy sr_graph_copy;

/* A node that the backend does not take, and why. */
typedef struct sr_refused_node { int32_t tensor; const char *why; } sr_refused_node;

/*
 * Contents are copied from where they lie now: from[i] for tensor i, or, where from is NULL, what is pre-allocated; all
 * else is zero.  The graph and the backend are borrowed.  SR_ALLOCATION, SR_MEMORY, or what a copy failed with.
 */
SR_API sr_status sr_graph_copy_new(sr_backend *backend, const sr_graph *graph, const sr_storage *from,
                                   sr_graph_copy **out_copy, sr_error *err);
SR_API void sr_graph_copy_free(sr_graph_copy *copy);
SR_API sr_backend *sr_graph_copy_backend(const sr_graph_copy *copy);
SR_API const sr_graph_view *sr_graph_copy_view(const sr_graph_copy *copy);
/* In the order of the nodes; as long as the copy lives. */
SR_API const sr_refused_node *sr_graph_copy_refused(const sr_graph_copy *copy, int32_t *out_n);
/* Runs the whole graph and waits; SR_UNAVAILABLE (details node, op, count) if the backend refuses any node of it. */
SR_API sr_status sr_graph_copy_compute(sr_graph_copy *copy, sr_error *err);
/* Runs the node at a position of graph->nodes alone and waits. */
SR_API sr_status sr_graph_copy_compute_node(sr_graph_copy *copy, int32_t position, sr_error *err);

/* ---- names --------------------------------------------------------------------------------------------------------- */

/* Name of a view id as the reference prints it: a tensor's own, "BACKEND#tensor#slot" of a copy, cut to 63 bytes. */
SR_API void sr_layout_name(const sr_layout *layout, int32_t id, char out_name[SR_MAX_NAME + 1]);

#ifdef __cplusplus
}
#endif
#endif
