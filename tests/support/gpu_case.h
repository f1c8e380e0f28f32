/*
 * gpu_case.h - a case of kernel_harness.h computed by a device with memory of its own, beside the CPU's kernel.
 *
 * Layer: tests.  Operands that share host memory share device memory, so that results may lie where sources do.
 */
#ifndef TESTS_GPU_CASE_H
#define TESTS_GPU_CASE_H

#include "support/backend_fixture.h"
#include "support/kernel_harness.h"
#ifdef TESTS_ON_ITEMS
#include "support/gpu_fake.h"
#include "items/gpu_items.h"
#endif

enum { GC_ALIGNMENT = 256 };

/* A graph of one node, made without the rules of its op: cases are what a kernel takes, not what a builder makes. */
typedef struct gpu_case {
    const kh_case *c;
    sr_graph graph;
    sr_tensor tensors[SR_MAX_SRC + 1];
    int32_t srcs[SR_MAX_SRC];
    int32_t node;
    sr_storage storage[SR_MAX_SRC + 1];
    sr_graph_view view;
    sr_buffer *buffer;
    const kh_operand *operands[SR_MAX_SRC + 1];
    size_t size;
} gpu_case;

/* Where an operand's memory is: behind what came before it, or where an operand that it aliases is. */
KH_UNUSED static void gc_place(gpu_case *g, int32_t i) {
    for (int32_t k = 0; k < i; k++) {
        if (g->operands[k]->memory == g->operands[i]->memory) {
            g->storage[i].offset = g->storage[k].offset;
            return;
        }
    }
    g->storage[i].offset = g->size;
    g->size += (g->operands[i]->size + GC_ALIGNMENT) / GC_ALIGNMENT * GC_ALIGNMENT;
}

KH_UNUSED static void gc_init(gpu_case *g, const kh_case *c, const sr_backend *backend) {
    sr_error err = {0};
    int32_t n = 0;
    memset(g, 0, sizeof(*g));
    g->c = c;
    for (int j = 0; j < c->n_src; j++) {
        g->srcs[j] = c->src[j] != NULL ? n : -1;
        if (c->src[j] != NULL) {
            g->operands[n] = c->src[j];
            g->tensors[n++] = c->src[j]->tensor;
        }
    }
    g->node = n;
    g->operands[n] = c->dst;
    sr_tensor *node = &g->tensors[n];
    *node = c->dst->tensor;
    node->op = (uint8_t)c->op;
    node->n_src = (uint8_t)c->n_src;
    node->flags = SR_FLAG_COMPUTE;
    node->name = node->id = "node";
    node->answers = -1;
    memcpy(node->op_params, c->params, sizeof(node->op_params));
    g->graph = (sr_graph){.name = "case", .tensors = g->tensors, .n_tensors = n + 1, .nodes = &g->node, .n_nodes = 1,
                          .srcs = g->srcs, .n_srcs = c->n_src};
    for (int32_t i = 0; i <= n; i++) {
        gc_place(g, i);
    }
    bf_ok(sr_buffer_type_alloc(backend->buffer_type, g->size, &g->buffer, &err), &err);
    for (int32_t i = 0; i <= n; i++) {
        g->storage[i].buffer = g->buffer;
        bf_ok(sr_buffer_set(g->buffer, g->operands[i]->memory, g->storage[i].offset, g->operands[i]->size, &err), &err);
    }
    g->view = (sr_graph_view){.graph = &g->graph, .srcs = g->srcs, .nodes = &g->node, .n_nodes = 1,
                              .storage = g->storage};
}

KH_UNUSED static void gc_free(gpu_case *g) { sr_buffer_free(g->buffer); }

/* The result's memory, gaps too, as the device leaves it; to be freed. */
KH_UNUSED static kh_operand *gc_run(gpu_case *g, sr_backend *backend) {
    sr_error err = {0};
    kh_operand *result = kh_alias(g->c->dst);
    result->borrowed = false;
    result->memory = malloc(result->size + 1);
    assert_non_null(result->memory);
    bf_ok(sr_backend_compute(backend, &g->view, &err), &err);
    bf_ok(sr_buffer_get(g->buffer, result->memory, g->storage[g->node].offset, result->size, &err), &err);
    return result;
}

KH_UNUSED static void gc_same_gaps(const kh_operand *got, const kh_operand *want) {
    char *used = calloc(got->size + 1, 1);
    assert_non_null(used);
    KH_EACH(got, i) {
        memset(used + (kh_at(got, KH_I(i)) - got->memory), 1, (size_t)sr_type_get(got->tensor.type)->bytes);
    }
    for (size_t k = 0; k < got->size; k++) {
        if (!used[k] && got->memory[k] != want->memory[k]) {
            fail_msg("byte %zu is no element of the result and was written", k);
        }
    }
    free(used);
}

/* The case in words, for failures: op, first parameter, types, extents and strides. */
KH_UNUSED static void gc_tell(const kh_case *c) {
    print_error("%s, word 0 %d\n", sr_op_get(c->op)->name, (int)c->params[0]);
    for (int j = -1; j < c->n_src; j++) {
        const kh_operand *o = j < 0 ? c->dst : c->src[j];
        if (o != NULL) {
            const sr_tensor *t = &o->tensor;
            print_error("  %s%d: %s [%lld, %lld, %lld, %lld], strides %zu %zu %zu %zu\n", j < 0 ? "result " : "source ",
                        j, sr_type_get(t->type)->name, (long long)t->ne[0], (long long)t->ne[1], (long long)t->ne[2],
                        (long long)t->ne[3], t->nb[0], t->nb[1], t->nb[2], t->nb[3]);
        }
    }
}

/*
 * Both must give the same numbers: within the tolerance, relative to the larger of |want| and `scale`; of blocks the
 * bytes.  The case is run on the CPU last, where its result lies in c->dst.
 */
KH_UNUSED static void gc_compare(const kh_case *c, sr_backend *backend, double tolerance, double scale) {
    gpu_case g;
    char *failure = NULL;
    gc_init(&g, c, backend);
    kh_operand *got = gc_run(&g, backend);
    gc_free(&g);
    if (!kh_run(c, 1, &failure)) {
        fail_msg("the CPU fails: %s", failure);
    }
    if (sr_type_get(c->dst->tensor.type)->block > 1) {
        assert_memory_equal(got->memory, c->dst->memory, got->size);
    } else {
        KH_EACH(got, i) {
            const double a = kh_get(got, KH_I(i)), b = kh_get(c->dst, KH_I(i));
            if (!(a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance * fmax(scale, fabs(b)))) {
                gc_tell(c);
                fail_msg("element [%lld, %lld, %lld, %lld] is %.9g, on the CPU %.9g", (long long)i.at[0],
                         (long long)i.at[1], (long long)i.at[2], (long long)i.at[3], a, b);
            }
        }
        gc_same_gaps(got, c->dst);
    }
    kh_free(got);
}

/* Why the device does not take the case, or NULL. */
KH_UNUSED static const char *gc_refuse(const kh_case *c, sr_backend *backend) {
    gpu_case g;
    gc_init(&g, c, backend);
    sr_refusal refusal = {0};
    const bool supported = sr_backend_supports_op(backend, &g.view, g.node, &refusal);
    gc_free(&g);
    return supported ? NULL : refusal.text != NULL ? refusal.text : "refused without a word";
}

/* The device must say that the node's data is wrong. */
KH_UNUSED static void gc_check_fault(const kh_case *c, sr_backend *backend) {
    gpu_case g;
    sr_error err = {0};
    gc_init(&g, c, backend);
    sr_status status = sr_backend_compute(backend, &g.view, &err);
    bf_fails(status, SR_COMPUTE, &err, "node");
    gc_free(&g);
}

/* ---- random cases ------------------------------------------------------------------------------------------------ */

/* Cases depend on the seed alone. */
KH_UNUSED static int64_t gc_pick(uint64_t *seed, int64_t n) { return (int64_t)(kh_random(seed) * (double)n); }

/* Layouts with dense rows. */
KH_UNUSED static kh_layout gc_rows(uint64_t *seed) { return (kh_layout)gc_pick(seed, KH_TRANSPOSED); }
KH_UNUSED static kh_layout gc_any_layout(uint64_t *seed) { return (kh_layout)gc_pick(seed, KH_LAYOUTS); }

/* Extents: rows mostly short, sometimes longer than a group of work-items; few of the rest. */
KH_UNUSED static void gc_extents(uint64_t *seed, int64_t ne[SR_MAX_DIMS]) {
    static const int64_t most[] = {9, 70, 600};
    ne[0] = 1 + gc_pick(seed, most[gc_pick(seed, SR_COUNT(most))]);
    for (int d = 1; d < SR_MAX_DIMS; d++) {
        ne[d] = 1 + gc_pick(seed, 4);
    }
}

#define GC_NE(ne) (ne)[0], (ne)[1], (ne)[2], (ne)[3]

/* Numbers around 0, and sometimes an infinity or a NaN among them. */
KH_UNUSED static kh_operand *gc_fill(kh_operand *o, uint64_t *seed, bool extremes) {
    static const double special[] = {0.0, -0.0, 1e30, -1e30, 12.0, -12.0, HUGE_VAL, -HUGE_VAL, NAN};
    kh_fill(o, (uint64_t)gc_pick(seed, 1 << 30), -3, 3);
    for (int k = 0; extremes && k < 6 && sr_tensor_nelements(&o->tensor) > 0; k++) {
        int64_t at[SR_MAX_DIMS];
        for (int d = 0; d < SR_MAX_DIMS; d++) {
            at[d] = gc_pick(seed, o->tensor.ne[d]);
        }
        kh_set(o, GC_NE(at), special[gc_pick(seed, SR_COUNT(special))]);
    }
    return o;
}

KH_UNUSED static kh_operand *gc_f32(uint64_t *seed, kh_layout layout, int64_t n0, int64_t n1, int64_t n2, int64_t n3) {
    return gc_fill(kh_new(SR_TYPE_F32, layout, n0, n1, n2, n3), seed, false);
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

/* A machine with the first device of a language and the CPU, or NULL: there is none. */
KH_UNUSED static sr_machine *gc_machine(const char *device) {
    for (const sr_driver *const *d = sr_drivers(); *d; d++) {
        const char *why = NULL;
        if (strcmp((*d)->name, device) == 0 && (*d)->device_count(&why) > 0) {
            sr_backend_config configs[] = {bf_config("GPU", device), bf_config("CPU", "cpu")};
            return bf_machine(configs, 2);
        }
    }
    return NULL;
}

/* How often random cases are tried, and how many of a list: on items of the host they take long. */
#ifdef TESTS_ON_ITEMS
#define GC_ROUNDS(n) ((n) / 4)
#define GC_STEP(n) (n)
#else
#define GC_ROUNDS(n) (n)
#define GC_STEP(n) 1
#endif

#ifdef TESTS_ON_ITEMS
/* Runs `check` with a backend of gpu_items.h. */
KH_UNUSED static void gc_each_device(void (*check)(sr_backend *backend)) {
    sr_error err = {0};
    fake_pair pair;
    bf_ok(fake_pair_open(&pair, &items_runtime, &err), &err);
    check(&pair.backend[0]);
    fake_pair_close(&pair);
}
#else
/* Runs `check` with a backend of every language of this build that has a device here; skips where none has. */
KH_UNUSED static void gc_each_device(void (*check)(sr_backend *backend)) {
    static const char *const devices[] = {"opencl", "cuda"};
    int n = 0;
    for (int i = 0; i < SR_COUNT(devices); i++) {
        sr_machine *machine = gc_machine(devices[i]);
        if (machine != NULL) {
            check(machine->backends[0]);
            sr_machine_free(machine);
            n++;
        }
    }
    if (n == 0) {
        print_message("no device of OpenCL or CUDA\n");
        skip();
    }
}
#endif

/*
 * Compares one made case if both take it; whoever makes cases wants most to be taken.  A device may decline what the
 * CPU computes, but must not take what the CPU declines.
 */
KH_UNUSED static int gc_try(kh_case *c, sr_backend *backend, double tolerance, double scale) {
    const char *why = kh_refuse(c), *device_why = gc_refuse(c, backend);
    if (why != NULL && device_why == NULL) {
        fail_msg("the device takes what the CPU refuses: %s", why);
    }
    const int taken = why == NULL && device_why == NULL;
    if (taken) {
        gc_compare(c, backend, tolerance, scale);
    }
    kh_case_free(c);
    return taken;
}

#endif
