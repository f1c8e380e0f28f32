/*
 * gen.h - random machines and graphs for property tests: the same for the same seed, everywhere.
 *
 * Layer: tests.  A case is a machine of simulated backends that ends in a CPU, a graph that can be executed, buffers
 * with its weights and caches, and user assignments.  What the nodes compute depends on the seed and the number of
 * nodes alone, not on the machine: cases of one seed with different machines must give the same values to the last
 * bit.
 *
 * Nodes that write (CPY and SET_ROWS into caches) are read through their results only, and what was read from a cache
 * before is not read again after it was written, so that values do not depend on where anything runs.
 */
#ifndef TESTS_GEN_H
#define TESTS_GEN_H

#include "sched_run/sched.h"

/* A fault that a simulated backend is given, or less memory than the case needs. */
typedef enum gen_fault_kind {
    GEN_NO_FAULT,
    GEN_FAIL_ALLOC,  /* at: bytes that it may allocate in all */
    GEN_FAIL_OP,     /* at: the op that fails */
    GEN_FAIL_COPY,   /* at: which transfer, from 1 */
    GEN_FAIL_MEMORY  /* at: its capacity in bytes */
} gen_fault_kind;

typedef struct gen_fault { gen_fault_kind kind; int backend; int64_t at; } gen_fault;

typedef enum gen_events { GEN_DRAWN_EVENTS, GEN_NO_EVENTS, GEN_ALL_EVENTS } gen_events;

typedef struct gen_params {
    uint64_t seed;
    uint64_t names;     /* ids and names are drawn from this seed; 0: numbered.  They decide nothing */
    int n_nodes;        /* about; a graph has at least one */
    int n_backends;     /* the CPU included, 1 or more */
    bool place;         /* weights and caches in buffers of any backend; else all are the CPU's */
    bool rules;         /* backends refuse ops, accept each other's buffers, ask for offload, differ in alignment */
    bool refuse_writes; /* ... writes into caches too: such a graph may fail with SR_PREALLOCATED */
    bool assign;        /* user assignments */
    gen_events events;
    const char *device; /* a real device that the first backend is on, the others being simulated; NULL: none */
    const char *second; /* the second backend's, likewise */
    gen_fault fault;    /* of a backend that is no CPU */
    bool inplace;       /* some results are views of their first source: values are right only on one backend */
} gen_params;

/* What a leaf holds. */
typedef enum gen_content {
    GEN_VALUES,  /* -1 to 1 */
    GEN_BELOW,   /* whole numbers from 0 to below bound */
    GEN_DISTINCT /* the same, each but once */
} gen_content;

typedef struct gen_leaf {
    int32_t tensor;
    int32_t place;       /* in buffers, or -1: an input that the scheduler allocates */
    gen_content content;
    int64_t bound;
} gen_leaf;

typedef struct gen_assignment { int32_t tensor; int backend; } gen_assignment;

typedef struct gen_case {
    gen_params params;
    sr_machine *machine;
    sr_graph *graph;             /* finished */
    sr_buffer **buffers;         /* two a backend: weights, then caches; NULL where there are none */
    int n_buffers;
    gen_leaf *leafs;
    size_t n_leafs, leafs_cap;
    gen_assignment *assignments;
    size_t n_assignments, assignments_cap;
    uint64_t turn;               /* inputs differ from turn to turn; 0 at first */
} gen_case;

/* 1 to 200 nodes and 1 to 5 backends drawn from the seed; everything on but refuse_writes and inplace. */
void gen_params_init(gen_params *params, uint64_t seed);
/* SR_MEMORY; any other status is a fault of the generator or of the graph room. */
sr_status gen_new(const gen_params *params, gen_case **out_case, sr_error *err);
void gen_free(gen_case *c);

/* Hands the user assignments to a scheduler of the case's machine. */
sr_status gen_assign(const gen_case *c, sr_sched *sched, sr_error *err);
/* Puts weights and caches back to what they hold before the first run. */
sr_status gen_fill_buffers(const gen_case *c, sr_error *err);
/* Writes the inputs of an allocated graph. */
sr_status gen_fill_inputs(const gen_case *c, const sr_layout *layout, sr_error *err);
/* Resets, assigns, allocates, fills buffers and inputs, computes. */
sr_status gen_run(const gen_case *c, sr_sched *sched, sr_error *err);
/* The bytes of a tensor after a run, a hash of them: outputs and caches are meaningful. */
sr_status gen_hash(const gen_case *c, const sr_layout *layout, int32_t tensor, uint64_t *out_hash, sr_error *err);
/* Is the tensor's value there after a run: flagged output, or a cache? */
bool gen_is_result(const gen_case *c, int32_t tensor);

/* The generator's numbers: SplitMix64. */
uint64_t gen_next(uint64_t *state);
/* From 0 to below n. */
static inline int64_t gen_below(uint64_t *state, int64_t n) { return (int64_t)(gen_next(state) % (uint64_t)n); }
static inline bool gen_chance(uint64_t *state, int percent) { return gen_below(state, 100) < percent; }

/* For tests, with an error called err: what should go well of a generated case, or the case's seed and the reason. */
#define OK(expr, seed)                                                                                              \
    do {                                                                                                            \
        const sr_status st_ = (expr);                                                                               \
        if (st_ != SR_OK) {                                                                                         \
            fail_msg("seed %llu: %s: %s", (unsigned long long)(seed), sr_status_name(st_), sr_error_message(&err)); \
        }                                                                                                           \
    } while (0)

#endif
