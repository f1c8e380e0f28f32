/*
 * bench_lint.c - what findings cost: each kind on graphs of 10,000 nodes, against the time of scheduling them.
 *
 * Prints nanoseconds a node and the ratio to splitting and allocating once; ends with 1 if any kind takes more than
 * twice that.  The best of several rounds: these machines are noisy.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sched_run.h"

enum { N_NODES = 10000, ROUNDS = 20, MAX_KINDS = 32 };

/* How a graph is spread: layers a run on one backend, what GPUs refuse, whether they ask for host weights. */
typedef struct shape {
    const char *name;
    int layers_a_run; /* 0: all weights on the CPU */
    const char *denied;
    int64_t min_batch;
    int n_copies;
} shape;

static const shape shapes[] = {
    {"20 layers a backend", 20, NULL, -1, 1},
    {"every layer on another backend, 4 copies", 1, NULL, -1, 4},
    {"a GPU that refuses an op of every layer", 20, "RMS_NORM", -1, 1},
    {"all weights on the CPU, offloaded", 0, NULL, 1, 1},
    {"all weights on the CPU, batch too small", 0, NULL, 64, 1},
};

static void check(sr_status status, sr_error *err) {
    if (status != SR_OK) {
        fprintf(stderr, "bench_lint: %s\n", sr_error_message(err));
        exit(1);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* As text: the reader makes rules. */
static sr_description *make(const shape *s) {
    sr_error err = {0};
    sr_description *d;
    char text[4096], deny[64] = "", offload[64] = "";
    if (s->denied) {
        snprintf(deny, sizeof(deny), ",\"ops\":{\"deny\":[\"%s\"]}", s->denied);
    }
    if (s->min_batch >= 0) {
        snprintf(offload, sizeof(offload), ",\"offload\":{\"min_batch\":%lld}", (long long)s->min_batch);
    }
    snprintf(
        text, sizeof(text),
        "{\"sched_run\":1,\"params\":{\"l\":%d,\"n\":%d,\"t\":8},\"backends\":["
        "{\"name\":\"GPU0\",\"device\":\"sim\"%s%s},"
        "{\"name\":\"GPU1\",\"device\":\"sim\"%s%s},{\"name\":\"CPU\",\"device\":\"cpu\"}],"
        "\"buffers\":{\"a\":{\"type\":\"GPU0\",\"usage\":\"weights\"},\"b\":{\"type\":\"GPU1\",\"usage\":\"weights\"},"
        "\"c\":{\"type\":\"CPU\",\"usage\":\"weights\"}},\"placement\":["
        "{\"match\":\"^w([0-9]+)$\",\"where\":\"l ? (m1 - m1 %% max(l, 1)) / max(l, 1) %% 3 == 0 : 0\","
        "\"buffer\":\"a\"},"
        "{\"match\":\"^w([0-9]+)$\",\"where\":\"l ? (m1 - m1 %% max(l, 1)) / max(l, 1) %% 3 == 1 : 0\","
        "\"buffer\":\"b\"},"
        "{\"match\":\"^w\",\"buffer\":\"c\"}],\"scheduler\":{\"copies\":%d},"
        "\"tensors\":[{\"name\":\"x0\",\"ne\":[64,\"t\"],\"flags\":[\"input\"]},"
        "{\"repeat\":\"n\",\"as\":\"i\",\"items\":[{\"name\":\"w{i}\",\"ne\":[64,64]}]}],"
        "\"nodes\":[{\"repeat\":\"n\",\"as\":\"i\",\"items\":["
        "{\"name\":\"norm{i}\",\"op\":\"RMS_NORM\",\"src\":[\"x{i}\"],\"params\":{\"eps\":1e-6}},"
        "{\"name\":\"p{i}\",\"op\":\"MUL_MAT\",\"src\":[\"w{i}\",\"norm{i}\"]},"
        "{\"name\":\"s{i}\",\"op\":\"SILU\",\"src\":[\"p{i}\"]},"
        "{\"name\":\"v{i}\",\"op\":\"RESHAPE\",\"src\":[\"s{i}\"],\"ne\":[64,\"t\"]},"
        "{\"name\":\"x{i+1}\",\"op\":\"ADD\",\"src\":[\"v{i}\",\"x{i}\"]}]}],"
        "\"runs\":[{},{\"params\":{\"t\":4}}]}",
        s->layers_a_run, N_NODES / 5, deny, offload, deny, offload, s->n_copies);
    check(sr_description_load_text(text, strlen(text), "bench", NULL, NULL, &d, &err), &err);
    return d;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

typedef struct costs { double schedule; double kind[MAX_KINDS]; int n_findings[MAX_KINDS]; } costs;

static void keep_less(double *best, double seconds) {
    if (*best <= 0.0 || seconds < *best) {
        *best = seconds;
    }
}

/* Every kind by itself. */
static void measure_kinds(const sr_lint_input *input, costs *c) {
    sr_error err = {0};
    int k = 0;
    for (const sr_lint *lint = sr_lints(); lint->kind && k < MAX_KINDS; lint++, k++) {
        sr_findings findings = {0};
        const double begin = now();
        check(lint->find(input, &findings, &err), &err);
        keep_less(&c->kind[k], now() - begin);
        c->n_findings[k] = findings.n;
        sr_findings_clear(&findings);
    }
}

/* The graph that is looked at is smaller than the one that memory was planned for: the plan is kept and compared. */
static void measure(const shape *s, costs *c) {
    sr_error err = {0};
    sr_error none = {0};
    sr_description *d = make(s);
    const sr_machine *machine = sr_description_machine(d);
    const sr_graph *larger = sr_description_run(d, 0)->graph, *graph = sr_description_run(d, 1)->graph;
    for (int round = 0; round < ROUNDS; round++) {
        sr_sched_params params;
        sr_sched *sched;
        sr_lint_history *history;
        sr_findings findings = {0};
        sr_sched_params_init(&params);
        params.n_copies = s->n_copies;
        check(sr_sched_new(machine->backends, NULL, machine->n_backends, &params, &sched, &err), &err);
        check(sr_lint_history_new(&history, &err), &err);
        check(sr_sched_alloc_graph(sched, larger, &err), &err);
        const sr_layout *layout = sr_sched_layout(sched);
        const sr_lint_input input = {.layout = layout, .error = &none, .params = layout->params,
                                     .allocator = layout->allocator, .history = history};
        keep_less(&c->schedule, layout->seconds_split + layout->seconds_allocate);
        check(sr_lint_run(&input, &findings, &err), &err);
        sr_findings_clear(&findings);
        sr_sched_reset(sched);
        check(sr_sched_alloc_graph(sched, graph, &err), &err);
        measure_kinds(&input, c);
        sr_sched_free(sched);
        sr_lint_history_free(history);
    }
    sr_description_free(d);
}

int main(void) {
    bool slow = false;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        costs c = {0};
        measure(&shapes[i], &c);
        printf("%s%s: scheduling takes %.0f ns a node\n", i ? "\n" : "", shapes[i].name, c.schedule * 1e9 / N_NODES);
        int k = 0;
        for (const sr_lint *lint = sr_lints(); lint->kind && k < MAX_KINDS; lint++, k++) {
            const double ratio = c.kind[k] / c.schedule;
            slow = slow || ratio > 2.0;
            printf("  %-13s %8.1f ns a node  %5.2f times scheduling  %5d finding%s%s\n", lint->kind,
                   c.kind[k] * 1e9 / N_NODES, ratio, c.n_findings[k], c.n_findings[k] == 1 ? "" : "s",
                   ratio > 2.0 ? "  TOO SLOW" : "");
        }
    }
    return slow ? 1 : 0;
}
