/*
 * bench_gpu.c - how fast MUL_MAT is on the devices of this machine, beside its CPU.
 *
 * Prints GFLOP/s at many columns and GB/s of weights at one, for each type; the best of several rounds, with the wait
 * for the device but without the transfer of operands.  Arguments: columns (512), rows, inner extent, types...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "graph/quant.h"
#include "sched_run/backend.h"

enum { ROUNDS = 5 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void must(sr_status status, const sr_error *err) {
    if (status != SR_OK) {
        fprintf(stderr, "bench_gpu: %s\n", sr_error_message(err));
        exit(1);
    }
}

/* A graph of one product. */
static sr_graph *make_graph(int type, int64_t k, int64_t m, int64_t n) {
    sr_error err = {0};
    sr_graph *graph = NULL;
    must(sr_graph_new("bench", &graph, &err), &err);
    const struct { const char *name; int type, n_src; int64_t n1; } tensors[] = {
        {"a", type, 0, m}, {"b", SR_TYPE_F32, 0, n}, {"y", SR_TYPE_F32, 2, n}};
    static const int32_t srcs[] = {0, 1};
    for (int i = 0; i < 3; i++) {
        sr_tensor_spec spec;
        sr_tensor_spec_init(&spec);
        spec.name = tensors[i].name;
        spec.type = tensors[i].type;
        spec.op = i == 2 ? SR_OP_MUL_MAT : SR_OP_NONE;
        spec.n_dims = 2;
        spec.ne[0] = i == 2 ? m : k, spec.ne[1] = tensors[i].n1;
        spec.srcs = srcs;
        spec.n_src = tensors[i].n_src;
        must(sr_graph_add(graph, &spec, NULL, &err), &err);
    }
    must(sr_graph_finish(graph, &err), &err);
    return graph;
}

/* Operands of random bytes would not do: a row of values, repeated. */
static void fill(sr_buffer *buffer, size_t offset, const sr_tensor *t) {
    sr_error err = {0};
    const size_t row = sr_row_size(t->type, t->ne[0]);
    float *values = malloc((size_t)t->ne[0] * sizeof(float));
    char *bytes = malloc(row * (size_t)t->ne[1]);
    if (values == NULL || bytes == NULL) {
        fprintf(stderr, "bench_gpu: out of memory\n");
        exit(1);
    }
    for (int64_t i = 0; i < t->ne[0]; i++) {
        values[i] = (float)(i * 7919 % 1009 - 504) / 504.0f;
    }
    for (int64_t r = 0; r < t->ne[1]; r++) {
        sr__row_from_f32(t->type, values, bytes + row * (size_t)r, r == 0 ? t->ne[0] : 0);
        memcpy(bytes + row * (size_t)r, bytes, r == 0 ? 0 : row);
    }
    must(sr_buffer_set(buffer, bytes, offset, row * (size_t)t->ne[1], &err), &err);
    free(values);
    free(bytes);
}

/* Best seconds of a product, 0 if the backend cannot compute it. */
static double time_product(sr_backend *backend, int type, int64_t k, int64_t m, int64_t n) {
    sr_error err = {0};
    sr_graph *graph = make_graph(type, k, m, n);
    sr_storage storage[3] = {0};
    size_t size = 0;
    double best = 1e30;
    for (int i = 0; i < 3; i++) {
        storage[i].offset = size;
        size += (graph->tensors[i].nbytes + 4096) / 4096 * 4096;
    }
    const sr_graph_view view = {.graph = graph, .srcs = graph->srcs, .nodes = graph->nodes, .n_nodes = graph->n_nodes,
                                .storage = storage};
    if (!sr_backend_supports_op(backend, &view, graph->nodes[0], NULL)) {
        sr_graph_free(graph);
        return 0;
    }
    sr_buffer *buffer = NULL;
    must(sr_buffer_type_alloc(backend->buffer_type, size, &buffer, &err), &err);
    for (int i = 0; i < 3; i++) {
        storage[i].buffer = buffer;
    }
    fill(buffer, storage[0].offset, &graph->tensors[0]);
    fill(buffer, storage[1].offset, &graph->tensors[1]);
    for (int i = 0; i <= ROUNDS; i++) { /* the first one builds kernels */
        const double start = now();
        must(sr_backend_compute(backend, &view, &err), &err);
        must(sr_backend_synchronize(backend, &err), &err);
        best = i > 0 && now() - start < best ? now() - start : best;
    }
    sr_buffer_free(buffer);
    sr_graph_free(graph);
    return best;
}

/* The CPU last, as a machine wants it. */
static sr_machine *make_machine(void) {
    static const char *const devices[] = {"cuda", "opencl"};
    sr_error err = {0};
    sr_machine *machine = NULL;
    must(sr_machine_new(&machine, &err), &err);
    for (int i = 0; i <= 2; i++) {
        sr_backend_config config;
        const char *device = i < 2 ? devices[i] : "cpu";
        sr_backend_config_init(&config);
        config.name = config.device = device;
        for (const sr_driver *const *d = sr_drivers(); *d; d++) {
            const char *why = NULL;
            if (strcmp((*d)->name, device) != 0) {
                continue;
            }
            if ((*d)->device_count(&why) > 0) {
                must(sr_machine_add_backend(machine, &config, &err), &err);
            } else {
                printf("no %s device: %s\n", device, why != NULL ? why : "none was found");
            }
        }
    }
    must(sr_machine_finish(machine, &err), &err);
    return machine;
}

int main(int argc, char **argv) {
    static const char *const TYPES[] = {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_K", "q6_K"};
    const int64_t n = argc > 1 ? atoll(argv[1]) : 512, m = argc > 2 ? atoll(argv[2]) : 4096;
    const int64_t k = argc > 3 ? atoll(argv[3]) : 4096;
    if (n < 1 || m < 1 || k < 256 || k % 256 != 0) {
        fprintf(stderr, "usage: bench_gpu [columns [rows [inner extent [types...]]]]\n");
        return 2;
    }
    sr_machine *machine = make_machine();
    printf("[%lld x %lld] x %lld: many columns, one column\n", (long long)m, (long long)k, (long long)n);
    for (int i = 0; argc > 4 ? 4 + i < argc : i < SR_COUNT(TYPES); i++) {
        const int type = sr_type_find(argc > 4 ? argv[4 + i] : TYPES[i]);
        if (type < 0 || !sr__type_can_read(type)) {
            fprintf(stderr, "bench_gpu: '%s' is no type that products take\n", argv[4 + i]);
            return 2;
        }
        for (int b = 0; b < machine->n_backends; b++) {
            const double many = time_product(machine->backends[b], type, k, m, n);
            const double one = time_product(machine->backends[b], type, k, m, 1);
            if (many > 0 && one > 0) {
                printf("%-8s %-8s %9.1f GFLOP/s %9.1f GB/s\n", sr_type_get(type)->name, machine->backends[b]->name,
                       2e-9 * (double)k * (double)m * (double)n / many,
                       (double)sr_row_size(type, k) * (double)m * 1e-9 / one);
                fflush(stdout);
            }
        }
    }
    sr_machine_free(machine);
    return 0;
}
