/*
 * sched_internal.h - the scheduler's own data, shared by its files.
 *
 * Layer: sched.  Internal.  Everything about a tensor is an array by its index; arrays grow and are used again by the
 * next schedule.
 */
#ifndef SR_SCHED_INTERNAL_H
#define SR_SCHED_INTERNAL_H

#include "base/base.h"
#include "sched_run/sched.h"

/* What the passes read of a tensor, 16 bytes: the tensors themselves are read once. */
typedef struct sr__hot {
    int32_t src_begin;
    int32_t view_src;
    int32_t class_id;
    uint8_t n_src;
    uint8_t bits; /* sr__hot_bits */
    int16_t type; /* index in sched->types of the buffer type its storage root lies in, -1: not allocated */
} sr__hot;

enum sr__hot_bits {
    SR__VIEW_OP = 1,  /* VIEW, RESHAPE, PERMUTE, TRANSPOSE */
    SR__WEIGHTS = 2,  /* itself (no view) in a buffer of weights */
    SR__INPUT = 4,
    SR__OWN_BUFFER = 8 /* itself in a buffer */
};

/* Copies of a tensor on one backend: slot c is tensor n_tensors + first_extra + c. */
typedef struct sr__copy_group {
    int32_t first_extra;
    int32_t next;    /* group of the same tensor on another backend, -1 */
    int16_t backend;
    bool is_input;   /* a user input's slots: the current one is the tensor itself */
} sr__copy_group;

typedef struct sr__user_assignment { uint64_t graph_uid; int32_t tensor; int16_t backend; } sr__user_assignment;

struct sr_sched {
    sr_sched_params params;
    int n_backends;
    sr_backend **backends;
    sr_buffer_type **buffer_types; /* default of each backend */
    int16_t *type_of_backend;      /* index of that in types */
    bool *shares_higher;           /* a backend before it has the same buffer type */
    bool any_shares_higher;
    sr_graph_allocator *allocator;
    sr_event **events;             /* [backend * n_copies + slot], NULL where there are none */

    const sr_buffer_type **types;  /* buffer types met so far */
    bool *accepts;                 /* [type * n_backends + backend] */
    int n_types;
    size_t types_cap, accepts_cap;

    sr__user_assignment *users;
    size_t users_cap;
    int n_users;

    bool is_alloc;
    int cur_copy, next_copy;

    /* The graph being scheduled. */
    const sr_graph *graph;
    uint64_t answers_uid;  /* graph that the cached answers are of */
    uint8_t *supports;     /* [class * n_backends + backend]: 0 not asked, 1 no, 2 yes */
    uint8_t *offloads;
    size_t supports_cap, offloads_cap;
    sr__hot *hot;
    int16_t *backend_of;
    uint8_t *cause_of;
    uint8_t *flags;        /* by view id; with pipeline copies only */
    int32_t *group_of;     /* by tensor: its first copy group, -1 */
    size_t hot_cap, backend_of_cap, cause_of_cap, flags_cap, group_of_cap;
    sr__copy_group *groups;
    size_t groups_cap;
    int32_t n_groups;
    sr_extra *extra;
    size_t extra_cap;
    int32_t n_extra;
    int32_t *srcs;
    size_t srcs_cap;
    sr_decision *decisions;
    size_t decisions_cap;
    int32_t n_decisions;
    int32_t n_unassigned; /* nodes, views not counted, that no backend has */
    sr_split *splits;
    size_t splits_cap;
    int32_t n_splits;
    int32_t *inputs, *input_copies;
    size_t inputs_cap, input_copies_cap;
    int32_t n_inputs;
    int32_t *graph_inputs;
    size_t graph_inputs_cap;
    int32_t n_graph_inputs;
    int stale_first_backend; /* a graph of views alone gets the backend that the first split last had */

    /* The graph as allocated. */
    int32_t *nodes, *leafs, *split_nodes;
    size_t nodes_cap, leafs_cap, split_nodes_cap;
    int32_t n_nodes, n_leafs;
    int16_t *node_ids, *leaf_ids, *prev_node_ids, *prev_leaf_ids; /* change places at every schedule */
    size_t node_ids_cap, leaf_ids_cap, prev_node_ids_cap, prev_leaf_ids_cap;
    sr_storage *storage;
    sr_address *addresses;
    size_t storage_cap, addresses_cap;
    size_t *sizes, *prev_sizes;
    bool *grew;
    bool planned; /* some plan was made before */

    sr_eval_callback callback;
    void *callback_user;
    uint64_t *copied; /* beside inputs: bytes the last execution wrote into each copy */
    size_t copied_cap;
    uint8_t *split_done; /* by split: the last execution has run it, or at least handed it over */
    size_t split_done_cap;
    sr_abort_callback stop;
    void *stop_user;
    sr_trace *trace;

    sr_layout layout;
};

#define SR__GROW(sched, array, n) \
    sr__grow(&(sched)->array, &(sched)->array##_cap, (size_t)(n), sizeof(*(sched)->array))

/* ---- prepare.c: tables and answers ------------------------------------------------------------------------------------- */

sr_status sr__sched_prepare(sr_sched *sched, const sr_graph *graph, sr_error *err);
int sr__sched_type_index(sr_sched *sched, const sr_buffer_type *type); /* -1: out of memory */
bool sr__sched_ask_supports(sr_sched *sched, int32_t tensor, int backend);
bool sr__sched_ask_offload(sr_sched *sched, int32_t tensor, int backend);

static inline bool sr__sched_supports(sr_sched *sched, int32_t tensor, int backend) {
    const uint8_t answer =
        sched->supports[(size_t)sched->hot[tensor].class_id * (size_t)sched->n_backends + (size_t)backend];
    return answer ? answer == 2 : sr__sched_ask_supports(sched, tensor, backend);
}

static inline bool sr__sched_accepts(const sr_sched *sched, int backend, int type) {
    return sched->accepts[type * sched->n_backends + backend];
}

/* Whether a backend can read a tensor where it is, or where it will be. */
static inline bool sr__sched_can_read(const sr_sched *sched, int32_t tensor, int backend) {
    const sr__hot *hot = &sched->hot[tensor];
    int type = hot->type;
    if (type < 0) {
        int b = sched->backend_of[tensor];
        if (b < 0 && hot->view_src >= 0) {
            b = sched->backend_of[hot->view_src];
        }
        type = b < 0 ? -1 : sched->type_of_backend[b];
    }
    return type >= 0 && sr__sched_accepts(sched, backend, type);
}

/* ---- the passes ---------------------------------------------------------------------------------------------------------- */

sr_status sr__sched_assign(sr_sched *sched, sr_error *err);                     /* assign.c: passes 1 to 4 */
sr_status sr__sched_split(sr_sched *sched, sr_error *err);                      /* split.c: pass 5 */
sr_status sr__sched_build_view(sr_sched *sched, sr_error *err);                 /* graph_copy.c */
sr_status sr__sched_allocate(sr_sched *sched, sr_error *err);                   /* graph_copy.c */
/* Makes room for one more decision. */
bool sr__sched_more_decisions(sr_sched *sched);

/* Sets a tensor's backend and cause, and notes it. */
static inline sr_status sr__sched_decide(sr_sched *sched, sr_pass pass, int32_t tensor, int backend, int cause,
                                         int32_t because, sr_error *err) {
    const int16_t from = sched->backend_of[tensor];
    sched->backend_of[tensor] = (int16_t)backend;
    sched->cause_of[tensor] = (uint8_t)cause;
    if (!sched->params.record_decisions) {
        return SR_OK;
    }
    if ((size_t)sched->n_decisions == sched->decisions_cap && !sr__sched_more_decisions(sched)) {
        return sr__fail_memory(err);
    }
    sched->decisions[sched->n_decisions++] =
        (sr_decision){tensor, from, (int16_t)backend, (uint8_t)pass, (uint8_t)cause, because};
    return SR_OK;
}
/* Id of the copy of a tensor on a backend in the current slot, or -1. */
int32_t sr__sched_copy_id(const sr_sched *sched, int32_t tensor, int backend, int slot);
const char *sr__sched_tensor_label(const sr_tensor *tensor); /* its name, or its id where it has none */

#endif
