/*
 * insight_case.h - runs of a description scheduled one by one, for the tests of explanations, memory plans and
 * reallocations.  Everything asserts; include after cmocka.h.
 */
#ifndef TESTS_INSIGHT_CASE_H
#define TESTS_INSIGHT_CASE_H

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "sched_run/analyze.h"
#include "sched_run/describe.h"
#include "sched_run/explain.h"
#include "sched_run/memory_plan.h"
#include "sched_run/reallocation.h"

typedef struct insight_case {
    sr_description *description;
    sr_sched_params params;
    sr_sched *sched;
    const sr_layout *layout;
    const sr_run *run;
    sr_error error;   /* of the last run */
    sr_error err;
} insight_case;

static inline void insight_take(insight_case *c, sr_description *description) {
    *c = (insight_case){.description = description};
    sr_sched_params_init(&c->params);
    c->params.graph_size = sr_description_settings(description).graph_size;
    c->params.n_copies = sr_description_settings(description).n_copies;
    c->params.op_offload = sr_description_settings(description).op_offload;
}

static inline void insight_open(insight_case *c, const char *text) {
    sr_error err = {0};
    sr_description *d = NULL;
    if (sr_description_load_text(text, strlen(text), "case.json", NULL, NULL, &d, &err) != SR_OK) {
        fail_msg("%d:%d: %s: %s", err.line, err.column, err.pointer ? err.pointer : "", sr_error_message(&err));
    }
    insight_take(c, d);
}

/* Schedules run i on the scheduler of the case; what came of it is in c->layout and c->error. */
static inline sr_status insight_run(insight_case *c, int i) {
    const sr_machine *machine = sr_description_machine(c->description);
    sr_status status = SR_OK;
    c->run = sr_description_run(c->description, i);
    sr_error_clear(&c->error);
    if (c->sched == NULL) {
        status = sr_sched_new(machine->backends, NULL, machine->n_backends, &c->params, &c->sched, &c->error);
    }
    if (status == SR_OK) {
        sr_sched_reset(c->sched);
    }
    for (int k = 0; k < c->run->n_assignments && status == SR_OK; k++) {
        const sr_assignment *a = &c->run->assignments[k];
        status = sr_sched_set_tensor_backend(c->sched, c->run->graph, a->tensor, a->backend, &c->error);
    }
    if (status == SR_OK) {
        status = c->run->reserve ? sr_sched_reserve(c->sched, c->run->graph, &c->error)
                                 : sr_sched_alloc_graph(c->sched, c->run->graph, &c->error);
    }
    c->layout = c->sched != NULL ? sr_sched_layout(c->sched) : NULL;
    return status;
}

static inline void insight_close(insight_case *c) {
    sr_sched_free(c->sched);
    sr_description_free(c->description);
    sr_error_clear(&c->error);
    sr_error_clear(&c->err);
    *c = (insight_case){0};
}

static inline int32_t insight_tensor(const insight_case *c, const char *id) {
    const int32_t tensor = sr_graph_find(c->run->graph, id);
    if (tensor < 0) {
        fail_msg("no tensor '%s'", id);
    }
    return tensor;
}

static inline void insight_expect(const char *text, const char *part) {
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' is not in: %s", part, text);
    }
}

#endif
