/*
 * fake_ggml.c - a small library with the names and structs of ggml's, for tests of the recorder.
 *
 * It schedules everything on its CPU and computes nothing.  FAKE_LAYOUT 0 has the structs of today's ggml, 1 a tensor
 * with a member more, 2 a graph with a member more, 3 lacks a function.  Functions call each other as the real ones do,
 * so that the recorder sees calls within calls, and the splits are printed as the real ones are.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/fake_ggml.h"

#ifndef FAKE_LAYOUT
#define FAKE_LAYOUT 0
#endif

enum { OP_NONE, OP_ADD, OP_SCALE, OP_VIEW, OP_GET_ROWS, OP_COUNT = FAKE_OP_UNARY + 1 };
static const char *const op_names[OP_COUNT] = {"NONE", "ADD", "SCALE", "VIEW", "GET_ROWS", "CPY", "NEWEST_OP", "UNARY"};

struct ggml_tensor {
    int type;
    struct ggml_backend_buffer *buffer;
#if FAKE_LAYOUT == 1
    void *more;
#endif
    int64_t ne[4];
    size_t nb[4];
    int op;
    int32_t op_params[16];
    int32_t flags;
    struct ggml_tensor *src[10];
    struct ggml_tensor *view_src;
    size_t view_offs;
    void *data;
    char name[64];
    void *extra;
    char padding[8];
};

struct ggml_cgraph {
    int size;
    int n_nodes;
    int n_leafs;
    struct ggml_tensor **nodes;
    struct ggml_tensor **grads;
    struct ggml_tensor **grad_accs;
#if FAKE_LAYOUT == 2
    int32_t *more;
#endif
    struct ggml_tensor **leafs;
};

struct ggml_context {
    char *memory;
    size_t size, used;
};

/* ---- types and tensors ------------------------------------------------------------------------------------------- */

FAKE_API const char *ggml_op_name(int op) { return op_names[op]; }
FAKE_API const char *ggml_op_desc(const struct ggml_tensor *t) {
    return t->op == FAKE_OP_UNARY ? "SILU" : op_names[t->op];
}
FAKE_API const char *ggml_glu_op_name(int op) { (void)op; return "SWIGLU"; }
FAKE_API const char *ggml_type_name(int type) { return type == 0 ? "f32" : type == 26 ? "i32" : "f16"; }
FAKE_API size_t ggml_type_size(int type) { return type == 1 ? 2 : 4; }
FAKE_API int64_t ggml_blck_size(int type) { (void)type; return 1; }
FAKE_API const char *ggml_get_name(const struct ggml_tensor *t) { return t->name; }
FAKE_API const char *ggml_version(void) { return "0.0.1-fake"; }
FAKE_API int64_t ggml_nelements(const struct ggml_tensor *t) { return t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]; }

FAKE_API size_t ggml_nbytes(const struct ggml_tensor *t) {
    size_t n = ggml_type_size(t->type);
    for (int i = 0; i < 4; i++) {
        n += (size_t)(t->ne[i] - 1) * t->nb[i];
    }
    return ggml_nelements(t) ? n : 0;
}

FAKE_API struct ggml_context *ggml_init(struct ggml_init_params params) {
    struct ggml_context *context = calloc(1, sizeof(*context));
    context->size = params.mem_size;
    context->memory = params.mem_buffer;
    return context;
}

FAKE_API void ggml_free(struct ggml_context *context) { free(context); }
FAKE_API size_t ggml_tensor_overhead(void) { return sizeof(struct ggml_tensor) + 32; }

static void *take(struct ggml_context *context, size_t n) {
    void *at = context->memory + context->used;
    context->used += (n + 15) / 16 * 16;
    if (context->used > context->size) {
        fprintf(stderr, "fake_ggml: a context is full\n");
        abort();
    }
    return memset(at, 0, n);
}

FAKE_API struct ggml_tensor *ggml_set_name(struct ggml_tensor *t, const char *name) {
    snprintf(t->name, sizeof(t->name), "%s", name);
    return t;
}

FAKE_API struct ggml_tensor *ggml_new_tensor_3d(struct ggml_context *context, int type, int64_t a, int64_t b,
                                                int64_t c) {
    struct ggml_tensor *t = take(context, sizeof(*t));
    const int64_t ne[4] = {a, b, c, 1};
    memcpy(t->ne, ne, sizeof(ne));
    t->type = type;
    t->nb[0] = ggml_type_size(type);
    for (int i = 1; i < 4; i++) {
        t->nb[i] = t->nb[i - 1] * (size_t)ne[i - 1];
    }
    return t;
}

static struct ggml_tensor *made_of(struct ggml_context *context, int op, struct ggml_tensor *a, struct ggml_tensor *b) {
    struct ggml_tensor *t = ggml_new_tensor_3d(context, 0, a->ne[0], a->ne[1], a->ne[2]);
    t->op = op;
    t->src[0] = a;
    t->src[1] = b;
    return t;
}

FAKE_API struct ggml_tensor *ggml_add(struct ggml_context *context, struct ggml_tensor *a, struct ggml_tensor *b) {
    return made_of(context, OP_ADD, a, b);
}

FAKE_API struct ggml_tensor *ggml_get_rows(struct ggml_context *context, struct ggml_tensor *a, struct ggml_tensor *b) {
    struct ggml_tensor *t = ggml_new_tensor_3d(context, 0, a->ne[0], b->ne[0], 1);
    t->op = OP_GET_ROWS;
    t->src[0] = a;
    t->src[1] = b;
    return t;
}

FAKE_API struct ggml_tensor *ggml_scale(struct ggml_context *context, struct ggml_tensor *a, float by) {
    struct ggml_tensor *t = made_of(context, OP_SCALE, a, NULL);
    memcpy(t->op_params, &by, sizeof(by));
    return t;
}

FAKE_API struct ggml_tensor *ggml_view_2d(struct ggml_context *context, struct ggml_tensor *a, int64_t n, int64_t m,
                                          size_t stride, size_t offset) {
    struct ggml_tensor *t = ggml_new_tensor_3d(context, a->type, n, m, 1);
    t->op = OP_VIEW;
    t->src[0] = a;
    t->view_src = a->view_src ? a->view_src : a;
    t->view_offs = a->view_offs + offset;
    t->nb[1] = stride;
    t->nb[2] = t->nb[3] = stride * (size_t)m;
    memcpy(t->op_params, &offset, sizeof(offset));
    snprintf(t->name, sizeof(t->name), "%.50s (view)", a->name);
    return t;
}

FAKE_API void ggml_set_input(struct ggml_tensor *t) { t->flags |= 1; }
FAKE_API void ggml_set_output(struct ggml_tensor *t) { t->flags |= 2; }

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

FAKE_API size_t ggml_graph_overhead_custom(size_t size, bool grads) {
    (void)grads;
    return sizeof(struct ggml_cgraph) + 2 * size * sizeof(void *) + 64;
}

FAKE_API struct ggml_cgraph *ggml_new_graph_custom(struct ggml_context *context, size_t size, bool grads) {
    struct ggml_cgraph *g = take(context, sizeof(*g));
    (void)grads;
    g->size = (int)size;
    g->nodes = take(context, size * sizeof(void *));
    g->leafs = take(context, size * sizeof(void *));
    return g;
}

static bool is_listed(struct ggml_tensor *const *list, int n, const struct ggml_tensor *t) {
    bool found = false;
    for (int i = n - 1; i >= 0 && !found; i--) {
        found = list[i] == t;
    }
    return found;
}

FAKE_API void ggml_build_forward_expand(struct ggml_cgraph *g, struct ggml_tensor *t) {
    struct ggml_tensor **list = t->op ? g->nodes : g->leafs;
    int *n = t->op ? &g->n_nodes : &g->n_leafs;
    if (is_listed(list, *n, t)) {
        return;
    }
    for (int i = 0; i < 10; i++) {
        if (t->src[i] && t->src[i] != t) {
            ggml_build_forward_expand(g, t->src[i]);
        }
    }
    if (!t->name[0]) {
        snprintf(t->name, sizeof(t->name), "%s_%d", t->op ? "node" : "leaf", *n);
    }
    t->flags |= t->op ? 16 : 0;
    list[(*n)++] = t;
}

FAKE_API int ggml_graph_n_nodes(struct ggml_cgraph *g) { return g->n_nodes; }
FAKE_API struct ggml_tensor *ggml_graph_node(struct ggml_cgraph *g, int i) { return g->nodes[i]; }

/* ---- backends ---------------------------------------------------------------------------------------------------- */

typedef struct ggml_backend_buffer_type { const char *name; bool host; } buffer_type;
typedef struct ggml_backend_sched scheduler;
struct ggml_backend_device { int type; const char *description; };
struct ggml_backend { const char *name; struct ggml_backend_device *device; struct ggml_backend_buffer_type *type; };
struct ggml_backend_buffer { struct ggml_backend_buffer_type *type; int usage; };

static struct ggml_backend_buffer_type types[] = {{"FAKE0[host:1]", false}, {"CPU", true}, {"FAKE_Host", true}};
static struct ggml_backend_device devices[] = {{1, "a fake device"}, {0, "a fake processor"}};
static struct ggml_backend backends[] = {{"FAKE0[host:1]", &devices[0], &types[0]}, {"CPU", &devices[1], &types[1]}};
static struct ggml_backend_buffer buffers[] = {{&types[0], 1}, {&types[1], 1}, {&types[2], 0}, {&types[1], 2}};

FAKE_API struct ggml_backend *fake_backend(int i) { return &backends[i]; }
FAKE_API void fake_put(struct ggml_tensor *t, int buffer, void *data) { t->buffer = &buffers[buffer]; t->data = data; }

FAKE_API const char *ggml_backend_name(struct ggml_backend *b) { return b->name; }
FAKE_API struct ggml_backend_device *ggml_backend_get_device(struct ggml_backend *b) { return b->device; }
FAKE_API buffer_type *ggml_backend_get_default_buffer_type(struct ggml_backend *b) { return b->type; }
FAKE_API int ggml_backend_dev_type(struct ggml_backend_device *d) { return d->type; }
FAKE_API const char *ggml_backend_dev_description(struct ggml_backend_device *d) { return d->description; }
FAKE_API const char *ggml_backend_buft_name(struct ggml_backend_buffer_type *t) { return t->name; }
FAKE_API size_t ggml_backend_buft_get_alignment(struct ggml_backend_buffer_type *t) { return t->host ? 32 : 256; }
FAKE_API size_t ggml_backend_buft_get_max_size(buffer_type *t) { return t->host ? SIZE_MAX : 1 << 30; }
FAKE_API bool ggml_backend_buft_is_host(struct ggml_backend_buffer_type *t) { return t->host; }
FAKE_API buffer_type *ggml_backend_buffer_get_type(struct ggml_backend_buffer *b) { return b->type; }
FAKE_API int ggml_backend_buffer_get_usage(struct ggml_backend_buffer *b) { return b->usage; }

/* The device takes no views, and asks for additions if it is to. */
FAKE_API bool ggml_backend_supports_op(struct ggml_backend *b, const struct ggml_tensor *t) {
    return b == &backends[1] || t->op != OP_VIEW;
}

FAKE_API bool ggml_backend_offload_op(struct ggml_backend *b, const struct ggml_tensor *t) {
    return b == &backends[0] && t->op == OP_ADD && getenv("FAKE_OFFLOAD");
}

FAKE_API bool ggml_backend_supports_buft(struct ggml_backend *b, struct ggml_backend_buffer_type *t) {
    return b->type == t || (b == &backends[1] && t->host);
}

FAKE_API void ggml_backend_tensor_get(const struct ggml_tensor *t, void *out, size_t offset, size_t n) {
    memcpy(out, (const char *)t->data + offset, n);
}

/* ---- what is printed --------------------------------------------------------------------------------------------- */

FAKE_API void ggml_log_internal(int level, const char *format, ...) {
    va_list arguments;
    (void)level;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
}

static void print_splits(const struct ggml_cgraph *g) {
    for (int i = 0; i < g->n_nodes; i++) {
        const struct ggml_tensor *t = g->nodes[i];
        if (i == 0) {
            ggml_log_internal(1, "\n## SPLIT #0: CPU # 0 inputs\n");
        }
        if (t->op == OP_VIEW) {
            continue;
        }
        ggml_log_internal(1, "node #%3d (%10.10s): %20.20s (%4zuK) [%5.5s %8.8s]:", i, op_names[t->op], t->name,
                          ggml_nbytes(t) / 1024, "CPU", "");
        for (int s = 0; s < 10; s++) {
            if (t->src[s]) {
                ggml_log_internal(1, " %20.20s (%4zuK) [%5.5s %8.8s]", t->src[s]->name, ggml_nbytes(t->src[s]) / 1024,
                                  "CPU", "");
            }
        }
        ggml_log_internal(1, "\n");
    }
}

/* ---- schedulers -------------------------------------------------------------------------------------------------- */

FAKE_API bool fake_leaves;

enum { MOST_ASSIGNED = 8 };

struct ggml_backend_sched {
    struct ggml_backend *backends[2];
    int n_backends, n_copies, debug;
    bool is_reset, is_alloc;
    struct { struct ggml_tensor *tensor; struct ggml_backend *backend; } assigned[MOST_ASSIGNED];
    int n_assigned;
};

FAKE_API scheduler *ggml_backend_sched_new(struct ggml_backend **list, buffer_type **of, int n, size_t size,
                                           bool parallel, bool op_offload) {
    struct ggml_backend_sched *s = calloc(1, sizeof(*s));
    const char *debug = getenv("GGML_SCHED_DEBUG");
    (void)of, (void)size, (void)op_offload;
    memcpy(s->backends, list, (size_t)n * sizeof(*list));
    s->n_backends = n;
    s->n_copies = parallel ? 4 : 1;
    s->debug = debug ? atoi(debug) : 0;
    ggml_backend_sched_reset(s);
    return s;
}

FAKE_API void ggml_backend_sched_free(struct ggml_backend_sched *s) { free(s); }
FAKE_API int ggml_backend_sched_get_n_backends(struct ggml_backend_sched *s) { return s->n_backends; }
FAKE_API struct ggml_backend *ggml_backend_sched_get_backend(scheduler *s, int i) { return s->backends[i]; }
FAKE_API int ggml_backend_sched_get_n_copies(struct ggml_backend_sched *s) { return s->n_copies; }

FAKE_API void ggml_backend_sched_reset(struct ggml_backend_sched *s) {
    s->is_reset = true;
    s->is_alloc = false;
    s->n_assigned = 0;
}

FAKE_API void ggml_backend_sched_set_tensor_backend(struct ggml_backend_sched *s, struct ggml_tensor *t,
                                                    struct ggml_backend *b) {
    s->assigned[s->n_assigned].tensor = t;
    s->assigned[s->n_assigned++].backend = b;
    s->is_reset = false;
}

#if FAKE_LAYOUT != 3
FAKE_API struct ggml_backend *ggml_backend_sched_get_tensor_backend(scheduler *s, struct ggml_tensor *t) {
    for (int i = 0; i < s->n_assigned; i++) {
        if (s->assigned[i].tensor == t) {
            return s->assigned[i].backend;
        }
    }
    return NULL;
}
#endif

FAKE_API void ggml_backend_sched_split_graph(struct ggml_backend_sched *s, struct ggml_cgraph *g) {
    s->is_reset = false;
    if (s->debug) {
        print_splits(g);
    }
    if (getenv("FAKE_ABORT")) {
        fprintf(stderr, "ggml-backend.cpp:1: an assertion failed\n");
        abort();
    }
    if (fake_leaves) {
        pthread_exit(NULL); /* as an exception does, through everything that called */
    }
}

FAKE_API bool ggml_backend_sched_reserve(struct ggml_backend_sched *s, struct ggml_cgraph *g) {
    ggml_backend_sched_split_graph(s, g);
    ggml_backend_sched_reset(s);
    return true;
}

FAKE_API void ggml_backend_sched_reserve_size(struct ggml_backend_sched *s, struct ggml_cgraph *g, size_t *sizes) {
    ggml_backend_sched_reset(s);
    ggml_backend_sched_split_graph(s, g);
    memset(sizes, 0, (size_t)s->n_backends * sizeof(*sizes));
}

FAKE_API bool ggml_backend_sched_alloc_graph(struct ggml_backend_sched *s, struct ggml_cgraph *g) {
    ggml_backend_sched_split_graph(s, g);
    s->is_alloc = g->n_nodes > 0; /* an empty graph is what fails here */
    return s->is_alloc;
}

FAKE_API int ggml_backend_sched_graph_compute_async(struct ggml_backend_sched *s, struct ggml_cgraph *g) {
    if (!s->is_reset && !s->is_alloc) {
        ggml_backend_sched_reset(s);
    }
    return s->is_alloc || ggml_backend_sched_alloc_graph(s, g) ? 0 : -1;
}

FAKE_API int ggml_backend_sched_graph_compute(struct ggml_backend_sched *s, struct ggml_cgraph *g) {
    return ggml_backend_sched_graph_compute_async(s, g);
}
