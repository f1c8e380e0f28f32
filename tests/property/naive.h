/*
 * naive.h - the five passes once more, slow and plain: what the scheduler's decisions are compared with.
 *
 * Layer: tests.  Written from the behaviour of the reference, not from src/sched: every question is asked anew, every
 * search is a walk over everything, and backends and buffer types are asked through their public functions.
 */
#ifndef TESTS_NAIVE_H
#define TESTS_NAIVE_H

#include "gen.h"

typedef struct naive_problem {
    const sr_machine *machine;
    const sr_graph *graph;
    const gen_assignment *assignments;
    size_t n_assignments;
    bool op_offload;
    int n_copies;
    int max_split_inputs;
} naive_problem;

typedef struct naive_split {
    int backend, start, end;
    int32_t *inputs;
    int n_inputs;
} naive_split;

/* Where a source place points after splitting: the tensor itself, or its copy on a backend. */
typedef struct naive_source { int32_t tensor; int copied_to; /* -1: not copied */ } naive_source;

typedef struct naive_answer {
    sr_status status;
    int32_t subject;       /* of an error: the tensor (PREALLOCATED, SOURCE_UNASSIGNED) or node that it names */
    int *backend_of, *cause_of;
    naive_split *splits;
    int n_splits;
    naive_source *sources; /* beside graph->srcs */
    int32_t *graph_inputs; /* user inputs that have pipeline copies */
    int n_graph_inputs;
} naive_answer;

/* Asserts on lack of memory. */
naive_answer *naive_schedule(const naive_problem *problem);
void naive_free(naive_answer *answer);

/* Whether a backend takes memory of a type: its own, or one that the machine says it takes. */
bool naive_takes(const sr_backend *backend, const sr_buffer_type *type);

#endif
