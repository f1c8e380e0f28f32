/*
 * abi_proof.c - whether the declarations of ggml_abi.h fit a library.
 *
 * Layer: record.  Answers to the layout of struct ggml_tensor and struct ggml_cgraph.
 *
 * The library is made to build a small graph in memory of this file's own, of which everything is known.  A pointer is
 * followed only if it leads into that memory, so that a wrong layout is noticed and not crashed on.
 */
#include "record/ggml_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBE_NODES = 16, PROBE_TENSORS = 16 };

typedef struct probe {
    const library *lib;
    const char *why; /* NULL while all fits */
    char *memory;
    size_t size;
    abi_tensor *a, *view, *scaled, *sum;
    abi_graph *graph;
} probe;

static bool expect(probe *p, bool fits, const char *what) {
    if (!fits && !p->why) {
        p->why = what;
    }
    return fits;
}

static bool is_inside(const probe *p, const void *at, size_t n) {
    const char *c = at;
    return c >= p->memory && n <= p->size && (size_t)(c - p->memory) <= p->size - n;
}

static bool has_ne(const abi_tensor *t, int64_t a, int64_t b, int64_t c) {
    return t->ne[0] == a && t->ne[1] == b && t->ne[2] == c && t->ne[3] == 1;
}

static bool has_nb(const abi_tensor *t, size_t a, size_t b, size_t c, size_t d) {
    return t->nb[0] == a && t->nb[1] == b && t->nb[2] == c && t->nb[3] == d;
}

/* The number is looked for by name: a number read from a wrong place must not reach the library's table. */
static bool is_op(const library *lib, const abi_tensor *t, const char *op) {
    int number = 0;
    const char *name;
    while ((name = lib->f.ggml_op_name(number)) != NULL && strcmp(name, op) != 0) {
        number++;
    }
    return name && t->op == number;
}

static bool has_sources(const abi_tensor *t, const abi_tensor *first, const abi_tensor *second) {
    bool fits = t->src[0] == first && t->src[1] == second;
    for (int i = 2; i < ABI_SRCS; i++) {
        fits = fits && !t->src[i];
    }
    return fits;
}

static bool check_tensors(probe *p) {
    const library *lib = p->lib;
    const abi_tensor *a = p->a, *v = p->view, *s = p->scaled;
    const char *type = lib->f.ggml_type_name(0);
    float half;
    size_t offset;
    memcpy(&half, s->op_params, sizeof(half));
    memcpy(&offset, v->op_params, sizeof(offset));
    return expect(p, lib->f.ggml_tensor_overhead() >= sizeof(abi_tensor) + 64, "the size of a tensor") &&
           expect(p, type && strcmp(type, "f32") == 0 && a->type == 0 && s->type == 0, "the type of a tensor") &&
           expect(p, has_ne(a, 5, 3, 2) && has_ne(v, 2, 2, 1), "the extents of a tensor") &&
           expect(p, has_nb(a, 4, 20, 60, 120) && has_nb(v, 4, 20, 40, 40), "the strides of a tensor") &&
           expect(p, is_op(lib, a, "NONE") && is_op(lib, v, "VIEW") && is_op(lib, s, "SCALE") &&
                      is_op(lib, p->sum, "ADD"), "the op of a tensor") &&
           expect(p, half == 0.5F && offset == 24, "the parameters of a tensor") &&
           expect(p, a->flags == ABI_FLAG_INPUT && (v->flags & ~ABI_FLAG_COMPUTE) == 0 &&
                      (p->sum->flags & ABI_FLAG_OUTPUT), "the flags of a tensor") &&
           expect(p, has_sources(a, NULL, NULL) && has_sources(v, a, NULL) && has_sources(s, v, NULL) &&
                      has_sources(p->sum, s, v), "the sources of a tensor") &&
           expect(p, !a->view_src && v->view_src == a && v->view_offs == 24, "the view of a tensor") &&
           expect(p, a->name == lib->f.ggml_get_name(a) && strcmp(a->name, "probe") == 0, "the name of a tensor");
}

/* Memory of the test's own is made a buffer and the input put there. */
static bool check_buffer(probe *p) {
    const abi_functions *f = &p->lib->f;
    bool fits = expect(p, !p->a->buffer && !p->a->data, "the buffer of a tensor");
    if (fits && f->ggml_backend_cpu_buffer_from_ptr && f->ggml_backend_tensor_alloc && f->ggml_backend_buffer_free) {
        _Alignas(64) char memory[512];
        abi_buffer *buffer = f->ggml_backend_cpu_buffer_from_ptr(memory, sizeof(memory));
        if (buffer) {
            f->ggml_backend_tensor_alloc(buffer, p->a, memory);
            fits = expect(p, p->a->buffer == buffer && p->a->data == (void *)memory, "the buffer of a tensor");
            f->ggml_backend_buffer_free(buffer);
        }
    }
    return fits;
}

static bool check_graph(probe *p) {
    const abi_graph *g = p->graph;
    const size_t pointer = sizeof(abi_tensor *);
    if (!expect(p, is_inside(p, g, sizeof(*g)) && g->size == PROBE_NODES && g->n_nodes == 3 && g->n_leafs == 1 &&
                   g->n_nodes == p->lib->f.ggml_graph_n_nodes(p->graph), "the counts of a graph") ||
        !expect(p, is_inside(p, g->nodes, PROBE_NODES * pointer) && is_inside(p, g->leafs, PROBE_NODES * pointer),
                "the lists of a graph")) {
        return false;
    }
    bool fits = g->nodes[0] == p->view && g->nodes[1] == p->scaled && g->nodes[2] == p->sum && g->leafs[0] == p->a;
    for (int i = 0; i < g->n_nodes; i++) {
        fits = fits && p->lib->f.ggml_graph_node(p->graph, i) == g->nodes[i];
    }
    return expect(p, fits, "the lists of a graph");
}

static void build(probe *p, abi_context *context) {
    const library *lib = p->lib;
    p->a = lib->f.ggml_new_tensor_3d(context, 0, 5, 3, 2);
    lib->f.ggml_set_name(p->a, "probe");
    lib->f.ggml_set_input(p->a);
    p->view = lib->f.ggml_view_2d(context, p->a, 2, 2, 20, 24);
    p->scaled = lib->f.ggml_scale(context, p->view, 0.5F);
    p->sum = lib->f.ggml_add(context, p->scaled, p->view);
    lib->f.ggml_set_output(p->sum);
    p->graph = lib->f.ggml_new_graph_custom(context, PROBE_NODES, false);
    lib->f.ggml_build_forward_expand(p->graph, p->sum);
}

void library_prove(library *lib) {
    probe p = {.lib = lib};
    lib->readable = false;
    p.size = PROBE_TENSORS * lib->f.ggml_tensor_overhead() +
             2 * lib->f.ggml_graph_overhead_custom(PROBE_NODES, false) + 4096;
    if (p.size > (size_t)1 << 24 || !(p.memory = aligned_alloc(64, (p.size + 63) / 64 * 64))) {
        snprintf(lib->why, sizeof(lib->why), "there is no memory to try it");
        return;
    }
    memset(p.memory, 0, p.size);
    abi_context *context = lib->f.ggml_init((abi_init_params){p.size, p.memory, true});
    if (context) {
        build(&p, context);
        if (expect(&p, is_inside(&p, p.a, sizeof(*p.a)) && is_inside(&p, p.view, sizeof(*p.view)) &&
                       is_inside(&p, p.scaled, sizeof(*p.scaled)) && is_inside(&p, p.sum, sizeof(*p.sum)),
                   "where tensors are made")) {
            lib->readable = check_tensors(&p) && check_buffer(&p) && check_graph(&p);
            lib->has_compute_flag = lib->readable && (p.sum->flags & ABI_FLAG_COMPUTE) != 0;
        }
        lib->f.ggml_free(context);
    }
    free(p.memory);
    if (!lib->readable) {
        snprintf(lib->why, sizeof(lib->why), "%s is not where it is expected", p.why ? p.why : "a context");
    }
}

/* ---- one tensor -------------------------------------------------------------------------------------------------- */

static bool product(const abi_tensor *t, int64_t *out) {
    *out = 1;
    for (int i = 0; i < ABI_DIMS; i++) {
        if (t->ne[i] < 0 || __builtin_mul_overflow(*out, t->ne[i], out)) {
            return false;
        }
    }
    return true;
}

/* As the library counts: from the first byte to the last. */
static size_t count_bytes(const library *lib, const abi_tensor *t) {
    const size_t block = (size_t)lib->f.ggml_blck_size(t->type), size = lib->f.ggml_type_size(t->type);
    size_t bytes = block == 1 ? size : (size_t)t->ne[0] * t->nb[0] / block;
    for (int i = block == 1 ? 0 : 1; i < ABI_DIMS; i++) {
        bytes += ((size_t)t->ne[i] - 1) * t->nb[i];
    }
    return bytes;
}

bool library_agrees(const library *lib, const abi_tensor *t, const char **out_why) {
    int64_t elements;
    *out_why = "the extents of a tensor";
    if (!product(t, &elements) || elements != lib->f.ggml_nelements(t)) {
        return false;
    }
    *out_why = "the name of a tensor";
    if (lib->f.ggml_get_name(t) != t->name) {
        return false;
    }
    *out_why = "the type of a tensor";
    if (t->type < 0 || t->type >= 1024 || !lib->f.ggml_type_name(t->type) || lib->f.ggml_blck_size(t->type) <= 0) {
        return false;
    }
    *out_why = "the size of a tensor";
    if (elements > 0 && count_bytes(lib, t) != lib->f.ggml_nbytes(t)) {
        return false;
    }
    *out_why = "the op of a tensor";
    return t->op >= 0 && t->op < 1024 && lib->f.ggml_op_name(t->op) && lib->f.ggml_op_desc(t);
}
