/*
 * bench_estimate.c - what an estimate of 10,000 nodes takes.
 *
 * Prints milliseconds, the best of several rounds; ends with 1 if an estimate takes 50 or more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sched_run.h"

enum { ROUNDS = 20 };

/* 10,000 nodes in layers; the weights of every other one are on GPU1, the others are offloaded to GPU0. */
static const char text[] =
    "{\"sched_run\":1,\"name\":\"large\",\"backends\":["
    "{\"name\":\"GPU0\",\"device\":\"sim\",\"offload\":{\"min_batch\":1}},"
    "{\"name\":\"GPU1\",\"device\":\"sim\"},{\"name\":\"CPU\",\"device\":\"cpu\"}],"
    "\"buffers\":{\"g\":{\"type\":\"GPU1\",\"usage\":\"weights\"},\"h\":{\"type\":\"CPU\",\"usage\":\"weights\"}},"
    "\"tensors\":[{\"name\":\"out-0\",\"ne\":[64,8],\"flags\":[\"input\"]},"
    "{\"repeat\":2500,\"as\":\"i\",\"items\":[{\"name\":\"w-{i}\",\"ne\":[64,64]}]}],"
    "\"nodes\":[{\"repeat\":2500,\"as\":\"i\",\"items\":["
    "{\"name\":\"norm-{i}\",\"op\":\"RMS_NORM\",\"src\":[\"out-{i}\"],\"params\":{\"eps\":1e-5}},"
    "{\"name\":\"mm-{i}\",\"op\":\"MUL_MAT\",\"src\":[\"w-{i}\",\"norm-{i}\"]},"
    "{\"name\":\"act-{i}\",\"op\":\"SILU\",\"src\":[\"mm-{i}\"]},"
    "{\"name\":\"out-{i+1}\",\"op\":\"ADD\",\"src\":[\"act-{i}\",\"out-{i}\"]}]}]}";

static void check(sr_status status, sr_error *err) {
    if (status != SR_OK) {
        fprintf(stderr, "bench_estimate: %s\n", sr_error_message(err));
        exit(1);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static sr_description *load(void) {
    sr_error err = {0};
    sr_description *d;
    static const char *const places[] = {"^w-.*[02468]$=g", "^w-=h"};
    const sr_load_options options = {.no_memory = true, .places = (const char **)places, .n_places = 2};
    check(sr_description_load_text(text, strlen(text), "large.json", NULL, &options, &d, &err), &err);
    return d;
}

static double best_estimate(const sr_layout *layout, int n_batches, sr_estimate *last) {
    sr_error err = {0};
    double best = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        sr_estimate_clear(last);
        const double begin = now();
        check(sr_estimate_make(layout, n_batches, last, &err), &err);
        best = now() - begin < best ? now() - begin : best;
    }
    return best;
}

static double best_gains(const sr_layout *layout) {
    sr_error err = {0};
    double best = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        sr_offload_gain *gains;
        int n;
        const double begin = now();
        check(sr_offload_gains(layout, &gains, &n, &err), &err);
        best = now() - begin < best ? now() - begin : best;
        sr_offload_gains_free(gains);
    }
    return best;
}

int main(void) {
    sr_error err = {0};
    sr_sched *sched;
    sr_sched_params params;
    sr_estimate e = {0};
    sr_description *d = load();
    const sr_machine *machine = sr_description_machine(d);
    const sr_graph *graph = sr_description_run(d, 0)->graph;
    sr_sched_params_init(&params);
    check(sr_sched_new(machine->backends, NULL, machine->n_backends, &params, &sched, &err), &err);
    check(sr_sched_measure(sched, graph, NULL, &err), &err);
    const sr_layout *layout = sr_sched_layout(sched);
    const double one = best_estimate(layout, 1, &e), eight = best_estimate(layout, 8, &e);
    printf("%d nodes, %d splits: an estimate %.2f ms, of 8 batches %.2f ms (%d spans), gains of offloading %.2f ms\n",
           graph->n_nodes, layout->n_splits, one, eight, e.n_spans, best_gains(layout));
    sr_estimate_clear(&e);
    sr_sched_free(sched);
    sr_description_free(d);
    return one < 50 ? 0 : 1;
}
