/*
 * bench_sched.c - how long scheduling takes: chains of 1,000 to 1,000,000 nodes over three backends.
 *
 * Prints a table: nodes, splits, nanoseconds a node for splitting, for planning memory and handing it out (the first
 * schedule), for handing it out where the plan fits (every later one), splitting and allocating together for both, bytes
 * a node.  The best of several rounds, in a process that keeps its memory: machines are noisy, and on virtual ones the
 * kernel's page faults would cost more than what is measured.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "sched_run.h"

static void check(sr_status status, sr_error *err) {
    if (status != SR_OK) {
        fprintf(stderr, "bench_sched: %s\n", sr_error_message(err));
        exit(1);
    }
}

static sr_machine *make_machine(sr_buffer *weights[3]) {
    sr_error err = {0};
    sr_machine *machine;
    const char *const names[3] = {"GPU0", "GPU1", "CPU"};
    check(sr_machine_new(&machine, &err), &err);
    for (int b = 0; b < 3; b++) {
        sr_backend_config config;
        sr_backend_config_init(&config);
        config.name = names[b];
        config.device = b < 2 ? "sim" : "cpu";
        check(sr_machine_add_backend(machine, &config, &err), &err);
        sr_backend_config_clear(&config);
    }
    check(sr_machine_finish(machine, &err), &err);
    for (int b = 0; b < 3; b++) {
        check(sr_buffer_type_alloc(machine->backends[b]->buffer_type, 1 << 20, &weights[b], &err), &err);
        sr_buffer_set_usage(weights[b], SR_USAGE_WEIGHTS);
    }
    return machine;
}

static int32_t add(sr_graph *graph, int op, int64_t ne0, int64_t ne1, const int32_t *srcs, int n_src, unsigned flags,
                   sr_buffer *buffer, int64_t number) {
    sr_error err = {0};
    char id[32];
    int32_t index;
    sr_tensor_spec spec;
    snprintf(id, sizeof(id), "t%lld", (long long)number);
    sr_tensor_spec_init(&spec);
    spec.id = id;
    spec.type = SR_TYPE_F32;
    spec.op = op;
    spec.n_dims = 2;
    spec.ne[0] = ne0;
    spec.ne[1] = ne1;
    spec.srcs = srcs;
    spec.n_src = n_src;
    spec.flags = flags;
    spec.buffer = buffer;
    check(sr_graph_add(graph, &spec, &index, &err), &err);
    return index;
}

/* Five nodes a layer: norm, product with weights, bias, and a residual; layers spread over the backends in runs. */
static sr_graph *make_chain(int64_t n_nodes, int64_t layers_a_run, sr_buffer *weights[3]) {
    sr_error err = {0};
    sr_graph *graph;
    check(sr_graph_new("chain", &graph, &err), &err);
    int64_t number = 0, n = 0;
    int32_t x = add(graph, SR_OP_NONE, 64, 8, NULL, 0, SR_FLAG_INPUT, NULL, number++);
    for (int64_t layer = 0; n < n_nodes; layer++) {
        sr_buffer *home = weights[layer / layers_a_run % 3];
        const int32_t w = add(graph, SR_OP_NONE, 64, 64, NULL, 0, 0, home, number++);
        const int32_t bias = add(graph, SR_OP_NONE, 64, 1, NULL, 0, 0, home, number++);
        const int32_t residual = x;
        const int32_t norm = add(graph, SR_OP_RMS_NORM, 64, 8, (int32_t[]){x}, 1, 0, NULL, number++);
        const int32_t product = add(graph, SR_OP_MUL_MAT, 64, 8, (int32_t[]){w, norm}, 2, 0, NULL, number++);
        const int32_t biased = add(graph, SR_OP_ADD, 64, 8, (int32_t[]){product, bias}, 2, 0, NULL, number++);
        const int32_t view = add(graph, SR_OP_RESHAPE, 64, 8, (int32_t[]){biased}, 1, 0, NULL, number++);
        x = add(graph, SR_OP_ADD, 64, 8, (int32_t[]){view, residual}, 2, 0, NULL, number++);
        n += 5;
    }
    check(sr_graph_finish(graph, &err), &err);
    return graph;
}

static double smaller(double a, double b) { return a < b ? a : b; }

static void measure(sr_machine *machine, sr_buffer *weights[3], int64_t n_nodes, int64_t layers_a_run) {
    sr_error err = {0};
    sr_graph *graph = make_chain(n_nodes, layers_a_run, weights);
    double split = 1e9, first = 1e9, again = 1e9;
    int n_splits = 0;
    size_t bytes = 0;
    const int rounds = n_nodes <= 10000 ? 200 : n_nodes <= 100000 ? 20 : 4;
    for (int round = 0; round < rounds; round++) {
        sr_sched_params params;
        sr_sched *sched;
        sr_sched_params_init(&params);
        const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
        check(sr_sched_new(machine->backends, NULL, 3, &params, &sched, &err), &err);
        for (int i = 0; i < 3; i++) {
            check(sr_sched_alloc_graph(sched, graph, &err), &err);
            const sr_layout *layout = sr_sched_layout(sched);
            n_splits = layout->n_splits;
            if (i > 0) {
                split = smaller(split, layout->seconds_split);
            }
            *(layout->reallocated ? &first : &again) =
                smaller(layout->reallocated ? first : again, layout->seconds_allocate);
            sr_sched_reset(sched);
        }
        bytes = mallinfo2().uordblks + mallinfo2().hblkhd - before;
        sr_sched_free(sched);
    }
    const double n = (double)graph->n_nodes;
    printf("%9d %8d %8.1f %10.1f %10.1f %12.1f %12.1f %8.0f\n", graph->n_nodes, n_splits, split * 1e9 / n,
           first * 1e9 / n, again * 1e9 / n, (split + first) * 1e9 / n, (split + again) * 1e9 / n, (double)bytes / n);
    sr_graph_free(graph);
}

int main(void) {
    sr_buffer *weights[3];
    sr_machine *machine = make_machine(weights);
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, -1);
    printf("nanoseconds and bytes a node\n%9s %8s %8s %10s %10s %12s %12s %8s\n", "nodes", "splits", "split", "plan",
           "plan fits", "split + plan", "split + fits", "bytes");
    for (int64_t n = 1000; n <= 1000000; n *= 10) {
        measure(machine, weights, n, 20);
    }
    printf("every layer on another backend:\n");
    for (int64_t n = 1000; n <= 1000000; n *= 10) {
        measure(machine, weights, n, 1);
    }
    for (int b = 0; b < 3; b++) {
        sr_buffer_free(weights[b]);
    }
    sr_machine_free(machine);
    return 0;
}
