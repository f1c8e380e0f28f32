/*
 * execute_case.h - a description with its scheduler, ready to be executed.  Everything asserts; include after cmocka.h.
 */
#ifndef TESTS_EXECUTE_CASE_H
#define TESTS_EXECUTE_CASE_H

#include "support/build.h"
#include "support/describe_case.h"

typedef struct execute_case {
    sr_description *description;
    sr_machine *machine;
    const sr_run *run;
    const sr_graph *graph;
    sr_sched *sched;
} execute_case;

/* The first run of the description, with a scheduler of n_copies. */
static inline void execute_case_init(execute_case *c, const char *text, int n_copies) {
    sr_error err = {0};
    sr_sched_params params;
    c->description = load_text(text);
    c->machine = sr_description_machine(c->description);
    c->run = sr_description_run(c->description, 0);
    c->graph = c->run->graph;
    sr_sched_params_init(&params);
    params.n_copies = n_copies;
    ASSERT_OK(sr_sched_new(c->machine->backends, NULL, c->machine->n_backends, &params, &c->sched, &err), &err);
    ASSERT_OK(sr_description_set_buffers(c->description, &err), &err);
}

static inline void execute_case_free(execute_case *c) {
    sr_sched_free(c->sched);
    sr_description_free(c->description);
}

/* What the description assigns by hand. */
static inline void execute_case_assign(execute_case *c) {
    sr_error own = {0};
    for (int i = 0; i < c->run->n_assignments; i++) {
        const sr_assignment *a = &c->run->assignments[i];
        ASSERT_OK(sr_sched_set_tensor_backend(c->sched, c->graph, a->tensor, a->backend, &own), &own);
    }
}

/* Allocates, gives the inputs their contents, runs. */
static inline sr_status execute_case_run(execute_case *c, sr_error *err) {
    sr_error own = {0};
    execute_case_assign(c);
    ASSERT_OK(sr_sched_alloc_graph(c->sched, c->graph, &own), &own);
    ASSERT_OK(sr_description_set_inputs(c->description, c->run, &sr_sched_layout(c->sched)->view, &own), &own);
    return sr_sched_compute(c->sched, c->graph, err);
}

static inline int32_t execute_case_tensor(const execute_case *c, const char *id) {
    const int32_t tensor = sr_graph_find(c->graph, id);
    if (tensor < 0) {
        fail_msg("no tensor '%s'", id);
    }
    return tensor;
}

/* Four nodes on GPU0, two on GPU1, the last on the CPU: a = x + x, b = a * a, c = b + x | d = c * c, e = d + d | f. */
#define PIPELINE                                                                                                      \
    "{\"sched_run\":1,\"backends\":[{\"name\":\"GPU0\",\"device\":\"sim\"},{\"name\":\"GPU1\",\"device\":\"sim\"},"   \
    "{\"name\":\"CPU\",\"device\":\"cpu\"}],"                                                                         \
    "\"tensors\":[{\"name\":\"x\",\"ne\":[4,2],\"flags\":[\"input\"],\"data\":[1,2,3,4,5,6,7,8]}],"                   \
    "\"nodes\":[{\"name\":\"a\",\"op\":\"ADD\",\"src\":[\"x\",\"x\"],\"backend\":\"GPU0\"},"                          \
    "{\"name\":\"b\",\"op\":\"MUL\",\"src\":[\"a\",\"a\"],\"backend\":\"GPU0\"},"                                     \
    "{\"name\":\"c\",\"op\":\"ADD\",\"src\":[\"b\",\"x\"],\"backend\":\"GPU0\"},"                                     \
    "{\"name\":\"d\",\"op\":\"MUL\",\"src\":[\"c\",\"c\"],\"backend\":\"GPU1\"},"                                     \
    "{\"name\":\"e\",\"op\":\"ADD\",\"src\":[\"d\",\"d\"],\"backend\":\"GPU1\"},"                                     \
    "{\"name\":\"f\",\"op\":\"SUM\",\"src\":[\"e\"],\"backend\":\"CPU\",\"flags\":[\"output\"]}]}"

/* Of element x: c = 4 x^2 + x, e = 2 c^2. */
static inline double pipeline_sum(void) {
    double sum = 0;
    for (int i = 1; i <= 8; i++) {
        const double c = 4.0 * i * i + i;
        sum += 2 * c * c;
    }
    return sum;
}

#endif
