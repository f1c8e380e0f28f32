/*
 * graph_parts.h - tensors for tests from short texts such as "f32[64,32]".
 *
 * Layer: tests.  Needs the graph room only.  Everything asserts; include after cmocka.h.
 */
#ifndef TESTS_GRAPH_PARTS_H
#define TESTS_GRAPH_PARTS_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "sched_run/graph.h"

#define PARTS_OK(expr, err)                                                            \
    do {                                                                               \
        const sr_status parts_status = (expr);                                         \
        if (parts_status != SR_OK) {                                                   \
            fail_msg("%s: %s", sr_status_name(parts_status), sr_error_message(err));   \
        }                                                                              \
    } while (0)

/* "q4_0[256,4]" into the type and the extents of a spec; "[4]" leaves the type alone.  The first byte after it. */
static inline const char *parts_read(sr_tensor_spec *spec, const char *text) {
    char type[16];
    const char *open = strchr(text, '[');
    assert_non_null(open);
    snprintf(type, sizeof type, "%.*s", (int)(open - text), text);
    if (type[0] != '\0') {
        spec->type = sr_type_find(type);
        assert_true(spec->type >= 0);
    }
    char *at = (char *)(uintptr_t)(open + 1);
    for (spec->n_dims = 0; at[-1] != ']'; at++) {
        assert_true(spec->n_dims < SR_MAX_DIMS);
        spec->ne[spec->n_dims++] = strtoll(at, &at, 10);
        assert_true(*at == ',' || *at == ']');
    }
    return at;
}

/* "f32[64,32]" as the graph has it: extents without trailing ones. */
static inline const char *parts_text(const sr_tensor *t, char out[128]) {
    int n = SR_MAX_DIMS;
    while (n > 1 && t->ne[n - 1] == 1) {
        n--;
    }
    int at = snprintf(out, 128, "%s[", sr_type_get(t->type)->name);
    for (int d = 0; d < n; d++) {
        at += snprintf(out + at, 128 - (size_t)at, "%s%" PRId64, d > 0 ? "," : "", t->ne[d]);
    }
    snprintf(out + at, 128 - (size_t)at, "]");
    return out;
}

static inline int32_t parts_leaf(sr_graph *graph, const char *id, const char *text) {
    sr_error err = {0};
    sr_tensor_spec spec;
    int32_t out = -1;
    sr_tensor_spec_init(&spec);
    spec.id = id;
    parts_read(&spec, text);
    PARTS_OK(sr_graph_add(graph, &spec, &out, &err), &err);
    return out;
}

/* Leafs "a", "b", ... from "f32[64,32] - i32[4]"; "-" is an empty place.  Returns their number. */
static inline int parts_sources(sr_graph *graph, const char *text, int32_t srcs[SR_MAX_SRC]) {
    int n = 0;
    while (*text != '\0') {
        assert_true(n < SR_MAX_SRC);
        if (*text == '-') {
            srcs[n++] = -1;
            text++;
        } else {
            char id[2] = {(char)('a' + n), '\0'};
            srcs[n++] = parts_leaf(graph, id, text);
            text = strchr(text, ']') + 1;
        }
        text += *text == ' ';
    }
    return n;
}

/* A spec for a node: op by name (or unary or GLU description), sources by index. */
static inline sr_tensor_spec parts_node(const char *op, const char *id, const int32_t *srcs, int n_src) {
    sr_tensor_spec spec;
    int kind;
    sr_tensor_spec_init(&spec);
    spec.op = sr_op_find(op, &kind);
    assert_true(spec.op >= 0);
    spec.op_params[0] = kind >= 0 ? kind : 0;
    spec.id = id;
    spec.srcs = srcs;
    spec.n_src = n_src;
    return spec;
}

static inline int32_t parts_float(float value) {
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#endif
