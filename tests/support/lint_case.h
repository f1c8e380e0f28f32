/*
 * lint_case.h - short ways to look for findings in tests.  Everything asserts; include after cmocka.h.
 *
 * Descriptions are written with ' for ", so that they can be read.
 */
#ifndef TESTS_LINT_CASE_H
#define TESTS_LINT_CASE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/finding.h"
#include "base/base.h"
#include "sched_run/analyze.h"

typedef struct lint_case {
    sr_description *description;
    sr_sched_params params;
    sr_sched *sched;
    sr_lint_history *history;
    sr_error error;      /* of the run at hand */
    sr_findings findings;
} lint_case;

static inline void lint_case_open(lint_case *c, const char *text) {
    sr_error err = {0};
    char *json = strdup(text);
    for (char *p = json; *p != '\0'; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    *c = (lint_case){0};
    if (sr_description_load_text(json, strlen(json), "case.json", NULL, NULL, &c->description, &err) != SR_OK) {
        fail_msg("%d:%d: %s: %s", err.line, err.column, err.pointer ? err.pointer : "", sr_error_message(&err));
    }
    const sr_sched_settings settings = sr_description_settings(c->description);
    sr_sched_params_init(&c->params);
    c->params.graph_size = settings.graph_size;
    c->params.n_copies = settings.n_copies;
    c->params.op_offload = settings.op_offload;
    assert_int_equal(sr_lint_history_new(&c->history, NULL), SR_OK);
    free(json);
}

static inline void lint_case_close(lint_case *c) {
    sr_findings_clear(&c->findings);
    sr_error_clear(&c->error);
    sr_lint_history_free(c->history);
    sr_sched_free(c->sched);
    sr_description_free(c->description);
}

static inline sr_status lint_case_schedule(lint_case *c, const sr_run *run) {
    const sr_machine *machine = sr_description_machine(c->description);
    sr_status status = SR_OK;
    if (c->sched == NULL) {
        status = sr_sched_new(machine->backends, NULL, machine->n_backends, &c->params, &c->sched, &c->error);
    }
    if (status != SR_OK) {
        return status;
    }
    sr_sched_reset(c->sched);
    for (int i = 0; i < run->n_assignments; i++) {
        const sr_assignment *a = &run->assignments[i];
        assert_int_equal(sr_sched_set_tensor_backend(c->sched, run->graph, a->tensor, a->backend, &c->error), SR_OK);
    }
    return run->reserve ? sr_sched_reserve(c->sched, run->graph, &c->error)
                        : sr_sched_alloc_graph(c->sched, run->graph, &c->error);
}

static inline sr_lint_input lint_case_input(const lint_case *c) {
    return (sr_lint_input){.layout = c->sched != NULL ? sr_sched_layout(c->sched) : NULL,
                           .error = &c->error,
                           .params = &c->params,
                           .history = c->history};
}

/* Makes run i (and executes it); its findings are in c->findings. */
static inline sr_status lint_case_run(lint_case *c, int i, bool execute) {
    const sr_run *run = sr_description_run(c->description, i);
    sr_error err = {0};
    sr_error_clear(&c->error);
    sr_findings_clear(&c->findings);
    c->error.status = lint_case_schedule(c, run);
    if (execute && c->error.status == SR_OK) {
        assert_int_equal(sr_description_set_buffers(c->description, &err), SR_OK);
        assert_int_equal(sr_description_set_inputs(c->description, run, &sr_sched_layout(c->sched)->view, &err), SR_OK);
        c->error.status = sr_sched_compute(c->sched, run->graph, &c->error);
    }
    const sr_lint_input input = lint_case_input(c);
    assert_int_equal(sr_lint_run(&input, &c->findings, &err), SR_OK);
    return c->error.status;
}

static inline int lint_case_count(const lint_case *c, const char *kind) {
    int n = 0;
    for (int i = 0; i < c->findings.n; i++) {
        n += strcmp(c->findings.items[i].kind, kind) == 0;
    }
    return n;
}

static inline void lint_case_none(const lint_case *c, const char *kind) {
    for (int i = 0; i < c->findings.n; i++) {
        if (strcmp(c->findings.items[i].kind, kind) == 0) {
            fail_msg("a finding of kind %s: %s", kind, c->findings.items[i].message);
        }
    }
}

/* Wants a finding with these keys and values, as `expect.findings` gives them; ended by NULL. */
static inline void lint_case_has(const lint_case *c, const char *kind, ...) {
    sr_expect_pair pairs[16] = {{"kind", kind}};
    int n = 1;
    va_list args;
    va_start(args, kind);
    for (const char *key = va_arg(args, const char *); key != NULL; key = va_arg(args, const char *)) {
        pairs[n++] = (sr_expect_pair){key, va_arg(args, const char *)};
    }
    va_end(args);
    sr_expect_object object = {pairs, n};
    const sr_expect expect = {.findings = &object, .n_findings = 1};
    const sr_run run = {.expect = &expect};
    const sr_error none = {0};
    sr_check check = {0};
    assert_int_equal(sr_check_run(&check, &run, NULL, &none, &c->findings, NULL), SR_OK);
    if (check.n_differences > 0) {
        for (int i = 0; i < c->findings.n; i++) {
            print_message("%s: %s\n", c->findings.items[i].kind, c->findings.items[i].message);
        }
        fail_msg("%s", check.messages[0]);
    }
    sr_check_clear(&check);
}

/* One description, one run, executed or not. */
static inline void lint_case_single(lint_case *c, const char *text) {
    lint_case_open(c, text);
    lint_case_run(c, 0, false);
}

#endif
