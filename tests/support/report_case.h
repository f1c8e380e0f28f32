/*
 * report_case.h - one small schedule for the tests of reports and checks.  Everything asserts; include after cmocka.h.
 *
 * Two layers on GPU0 and a third whose weights are on the CPU; the input is a user input.
 */
#ifndef TESTS_REPORT_CASE_H
#define TESTS_REPORT_CASE_H

#include "base/base.h"
#include "support/build.h"
#include "sched_run/analyze.h"
#include "sched_run/report.h"

enum { REPORT_CASE_LAYERS = 8 };

typedef struct report_case {
    sr_machine *machine;
    sr_buffer *gpu_weights, *cpu_weights;
    sr_graph *graph;
    sr_sched *sched;
    const sr_layout *layout;
    sr_run run;
    sr_error error;
    sr_run_result result;
    sr__str text; /* what a report wrote */
    sr_sink sink;
} report_case;

static inline bool report_case_write(void *user, const char *text, size_t length) {
    sr__str_append(user, text, length);
    return true;
}

/* n_gpu layers MUL_MAT, RMS_NORM, SILU on GPU0, then one MUL_MAT on the CPU; name: of the last node. */
static inline void report_case_init(report_case *c, int n_gpu, const char *name) {
    sr_error err = {0};
    *c = (report_case){.sink = {.write = report_case_write}};
    c->sink.user = &c->text;
    c->machine = build_machine("GPU0 CPU");
    c->gpu_weights = build_buffer(c->machine, "GPU0", 1 << 20, SR_USAGE_WEIGHTS);
    c->cpu_weights = build_buffer(c->machine, "CPU", 1 << 20, SR_USAGE_WEIGHTS);
    c->graph = build_graph("layers");
    int32_t weights[REPORT_CASE_LAYERS];
    int32_t x = build_leaf(c->graph, "inp", 32, 4, SR_FLAG_INPUT, NULL);
    for (int i = 0; i < n_gpu; i++) {
        char text[32];
        snprintf(text, sizeof(text), "blk.%d.weight", i);
        weights[i] = build_leaf(c->graph, text, 32, 32, 0, c->gpu_weights);
    }
    const int32_t last = build_leaf(c->graph, "output.weight", 32, 32, 0, c->cpu_weights);
    for (int i = 0; i < n_gpu; i++) {
        char text[32];
        snprintf(text, sizeof(text), "mm-%d", i);
        x = build_node(c->graph, text, SR_OP_MUL_MAT, weights[i], x, -1, 0, 0, 0);
        snprintf(text, sizeof(text), "sqr-%d", i);
        x = build_node(c->graph, text, SR_OP_SQR, x, -1, -1, 0, 0, 0);
        snprintf(text, sizeof(text), "sqrt-%d", i);
        x = build_node(c->graph, text, SR_OP_SQRT, x, -1, -1, 0, 0, 0);
    }
    build_node(c->graph, name, SR_OP_MUL_MAT, last, x, -1, 0, 0, SR_FLAG_OUTPUT);
    build_finish(c->graph);
    sr_sched_params params;
    sr_sched_params_init(&params);
    ASSERT_OK(sr_sched_new(c->machine->backends, NULL, 2, &params, &c->sched, &err), &err);
    ASSERT_OK(sr_sched_alloc_graph(c->sched, c->graph, &err), &err);
    c->layout = sr_sched_layout(c->sched);
    c->run = (sr_run){.graph_name = "pp", .params_text = "n=4", .graph = c->graph};
    c->result = (sr_run_result){.run = &c->run, .layout = c->layout, .error = &c->error};
}

static inline void report_case_free(report_case *c) {
    sr_sched_free(c->sched);
    sr_graph_free(c->graph);
    sr_buffer_free(c->gpu_weights);
    sr_buffer_free(c->cpu_weights);
    sr_machine_free(c->machine);
    sr__str_free(&c->text);
    sr_error_clear(&c->error);
}

#endif
