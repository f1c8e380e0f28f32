/*
 * build.h - short ways to make machines and graphs in tests.  Everything asserts; include after cmocka.h.
 */
#ifndef TESTS_BUILD_H
#define TESTS_BUILD_H

#include <stdio.h>
#include <string.h>

#include "sched_run/sched.h"

#define ASSERT_OK(expr, err)                                               \
    do {                                                                   \
        const sr_status st_ = (expr);                                      \
        if (st_ != SR_OK) {                                                \
            fail_msg("%s: %s", sr_status_name(st_), sr_error_message(err)); \
        }                                                                  \
    } while (0)

/* A machine from a list such as "GPU0 GPU1 CPU": names that begin with CPU are cpus, others sims. */
static inline sr_machine *build_machine(const char *names) {
    sr_error err = {0};
    sr_machine *machine;
    char copy[256], *save = NULL;
    snprintf(copy, sizeof(copy), "%s", names);
    ASSERT_OK(sr_machine_new(&machine, &err), &err);
    for (char *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        sr_backend_config config;
        sr_backend_config_init(&config);
        config.name = name;
        config.device = strncmp(name, "CPU", 3) == 0 ? "cpu" : "sim";
        ASSERT_OK(sr_machine_add_backend(machine, &config, &err), &err);
        sr_backend_config_clear(&config);
    }
    ASSERT_OK(sr_machine_finish(machine, &err), &err);
    return machine;
}

static inline sr_buffer *build_buffer(sr_machine *machine, const char *type, size_t size, sr_usage usage) {
    sr_error err = {0};
    sr_buffer *buffer;
    sr_buffer_type *t = sr_machine_buffer_type(machine, type);
    assert_non_null(t);
    ASSERT_OK(sr_buffer_type_alloc(t, size, &buffer, &err), &err);
    sr_buffer_set_usage(buffer, usage);
    return buffer;
}

static inline sr_graph *build_graph(const char *name) {
    sr_error err = {0};
    sr_graph *graph;
    ASSERT_OK(sr_graph_new(name, &graph, &err), &err);
    return graph;
}

static inline void build_finish(sr_graph *graph) {
    sr_error err = {0};
    ASSERT_OK(sr_graph_finish(graph, &err), &err);
}

/* A leaf of ne0 x ne1 f32. */
static inline int32_t build_leaf(sr_graph *graph, const char *name, int64_t ne0, int64_t ne1, unsigned flags,
                                 sr_buffer *buffer) {
    sr_error err = {0};
    sr_tensor_spec spec;
    int32_t index;
    sr_tensor_spec_init(&spec);
    spec.name = name;
    spec.type = SR_TYPE_F32;
    spec.n_dims = 2;
    spec.ne[0] = ne0;
    spec.ne[1] = ne1;
    spec.flags = flags;
    spec.buffer = buffer;
    ASSERT_OK(sr_graph_add(graph, &spec, &index, &err), &err);
    return index;
}

/* A node of up to three sources (-1: none) whose shape follows from them; ne0 > 0 gives the extents. */
static inline int32_t build_node(sr_graph *graph, const char *name, int op, int32_t a, int32_t b, int32_t c, int64_t ne0,
                                 int64_t ne1, unsigned flags) {
    sr_error err = {0};
    sr_tensor_spec spec;
    int32_t index;
    const int32_t srcs[3] = {a, b, c};
    sr_tensor_spec_init(&spec);
    spec.name = name;
    spec.op = op;
    spec.flags = flags;
    spec.srcs = srcs;
    spec.n_src = c >= 0 ? 3 : b >= 0 ? 2 : a >= 0 ? 1 : 0;
    if (ne0 > 0) {
        spec.n_dims = 2;
        spec.ne[0] = ne0;
        spec.ne[1] = ne1;
    }
    ASSERT_OK(sr_graph_add(graph, &spec, &index, &err), &err);
    return index;
}

#endif
