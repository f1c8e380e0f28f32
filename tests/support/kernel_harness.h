/*
 * kernel_harness.h - runs one kernel over operands made by hand, for the unit tests of src/kernels.
 *
 * Layer: tests.  An operand is a tensor description with memory of its own, laid out in one of several ways; a case is
 * an op over operands.  kh_check runs a case with one and with three threads (a pool would give a small node only one),
 * wants the same bits from both, compares every element with a naive evaluation that is made beforehand (so operands
 * may alias), and wants the bytes between the elements of the result untouched.
 */
#ifndef TESTS_KERNEL_HARNESS_H
#define TESTS_KERNEL_HARNESS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/quant.h"
#include "kernels/team.h"

#define KH_UNUSED __attribute__((unused))

/* How the elements of an operand lie in memory. */
typedef enum kh_layout {
    KH_CONTIGUOUS,
    KH_ROW_GAPS,   /* rows are dense, with a gap after each; rows evenly spaced ("contiguous from 1") */
    KH_OUTER_GAPS, /* a gap after each row, each plane and each cube */
    KH_PERMUTED,   /* rows are dense, dimension 3 varies faster than 1 and 2 */
    KH_TRANSPOSED, /* dimension 1 varies fastest */
    KH_SPREAD,     /* a gap after each element */
    KH_LAYOUTS
} kh_layout;

typedef struct kh_operand {
    sr_tensor tensor;
    char *memory;
    size_t size;
    bool borrowed; /* the memory is another operand's */
} kh_operand;

typedef struct kh_case {
    int op;
    int32_t params[SR_MAX_OP_PARAMS];
    kh_operand *dst;
    kh_operand *src[SR_MAX_SRC]; /* NULL: an empty place */
    int n_src;
} kh_case;

/* ---- operands ---------------------------------------------------------------------------------------------------- */

KH_UNUSED static size_t kh_span(const sr_tensor *t) {
    const sr_type_info *type = sr_type_get(t->type);
    size_t span = type->block == 1 ? (size_t)type->bytes : 0;
    for (int k = 0; k < SR_MAX_DIMS; k++) {
        if (t->ne[k] <= 0) {
            return 0;
        }
        const int64_t steps = k == 0 && type->block > 1 ? t->ne[0] / type->block : t->ne[k] - 1;
        span += (size_t)steps * t->nb[k];
    }
    return span;
}

/* Strides of a layout; `gap` bytes must be a multiple of the type's size. */
KH_UNUSED static void kh_strides(sr_tensor *t, kh_layout layout) {
    const sr_type_info *type = sr_type_get(t->type);
    const size_t bytes = (size_t)type->bytes;
    int order[SR_MAX_DIMS] = {0, 1, 2, 3};
    size_t stride = layout == KH_SPREAD ? 3 * bytes : bytes;
    if (layout == KH_PERMUTED) {
        order[1] = 3, order[2] = 1, order[3] = 2;
    } else if (layout == KH_TRANSPOSED) {
        order[0] = 1, order[1] = 0;
    }
    for (int k = 0; k < SR_MAX_DIMS; k++) {
        const int dim = order[k];
        t->nb[dim] = stride;
        stride *= (size_t)(dim == 0 ? t->ne[0] / type->block : t->ne[dim]);
        stride += (layout == KH_ROW_GAPS && k == 0) || layout == KH_OUTER_GAPS ? 2 * bytes : 0;
    }
}

/* An operand of a type, extents and layout; its memory, gaps too, holds 0xA5. */
KH_UNUSED static kh_operand *kh_new(int type, kh_layout layout, int64_t n0, int64_t n1, int64_t n2, int64_t n3) {
    kh_operand *o = calloc(1, sizeof(*o));
    assert_non_null(o);
    o->tensor.type = (uint8_t)type;
    o->tensor.view_src = -1;
    o->tensor.name = o->tensor.id = "";
    o->tensor.ne[0] = n0, o->tensor.ne[1] = n1, o->tensor.ne[2] = n2, o->tensor.ne[3] = n3;
    kh_strides(&o->tensor, layout);
    o->size = o->tensor.nbytes = kh_span(&o->tensor);
    o->memory = malloc(o->size + 1);
    assert_non_null(o->memory);
    memset(o->memory, 0xA5, o->size + 1);
    return o;
}

/* The same tensor in the same memory: an operand that aliases o. */
KH_UNUSED static kh_operand *kh_alias(const kh_operand *o) {
    kh_operand *a = calloc(1, sizeof(*a));
    assert_non_null(a);
    *a = *o;
    a->borrowed = true;
    return a;
}

KH_UNUSED static void kh_free(kh_operand *o) {
    if (o != NULL && !o->borrowed) {
        free(o->memory);
    }
    free(o);
}

KH_UNUSED static char *kh_at(const kh_operand *o, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    const sr_tensor *t = &o->tensor;
    const int64_t block = sr_type_get(t->type)->block;
    return o->memory + (size_t)(i0 / block) * t->nb[0] + (size_t)i1 * t->nb[1] + (size_t)i2 * t->nb[2] +
           (size_t)i3 * t->nb[3];
}

KH_UNUSED static double kh_get(const kh_operand *o, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    const char *p = kh_at(o, i0, i1, i2, i3);
    const int block = sr_type_get(o->tensor.type)->block;
    union { float f; double d; uint16_t h; int16_t s; int32_t i; int64_t l; int8_t c; } v;
    float values[256];
    if (block > 1) {
        sr__row_to_f32(o->tensor.type, p, values, block);
        return (double)values[i0 % block];
    }
    memcpy(&v, p, (size_t)sr_type_get(o->tensor.type)->bytes);
    switch (o->tensor.type) {
        case SR_TYPE_F32: return (double)v.f;
        case SR_TYPE_F64: return v.d;
        case SR_TYPE_F16: return (double)sr__f16_to_f32(v.h);
        case SR_TYPE_BF16: return (double)sr__bf16_to_f32(v.h);
        case SR_TYPE_I8: return v.c;
        case SR_TYPE_I16: return v.s;
        case SR_TYPE_I32: return v.i;
        default: return (double)v.l;
    }
}

/* Not for quantized types: see kh_fill. */
KH_UNUSED static void kh_set(kh_operand *o, int64_t i0, int64_t i1, int64_t i2, int64_t i3, double x) {
    union { float f; double d; uint16_t h; int16_t s; int32_t i; int64_t l; int8_t c; } v;
    memset(&v, 0, sizeof(v));
    switch (o->tensor.type) {
        case SR_TYPE_F32: v.f = (float)x; break;
        case SR_TYPE_F64: v.d = x; break;
        case SR_TYPE_F16: v.h = sr__f32_to_f16((float)x); break;
        case SR_TYPE_BF16: v.h = sr__f32_to_bf16((float)x); break;
        case SR_TYPE_I8: v.c = (int8_t)x; break;
        case SR_TYPE_I16: v.s = (int16_t)x; break;
        case SR_TYPE_I32: v.i = (int32_t)x; break;
        default: v.l = (int64_t)x; break;
    }
    memcpy(kh_at(o, i0, i1, i2, i3), &v, (size_t)sr_type_get(o->tensor.type)->bytes);
}

/* Visits every element of a tensor: for (kh_index i = {{0}}; kh_valid(&t, &i); kh_next(&t, &i)) ... i.at[0..3] */
typedef struct kh_index { int64_t at[SR_MAX_DIMS]; } kh_index;

KH_UNUSED static bool kh_valid(const sr_tensor *t, const kh_index *i) {
    return t->ne[0] > 0 && t->ne[1] > 0 && t->ne[2] > 0 && i->at[3] < t->ne[3];
}

KH_UNUSED static void kh_next(const sr_tensor *t, kh_index *i) {
    for (int k = 0; k < SR_MAX_DIMS; k++) {
        if (++i->at[k] < t->ne[k] || k == SR_MAX_DIMS - 1) {
            return;
        }
        i->at[k] = 0;
    }
}

#define KH_EACH(o, i) for (kh_index i = {{0}}; kh_valid(&(o)->tensor, &i); kh_next(&(o)->tensor, &i))
#define KH_I(i) (i).at[0], (i).at[1], (i).at[2], (i).at[3]

/* A number from 0 to 1 that depends on the seed alone. */
KH_UNUSED static double kh_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 40) / 16777216.0;
}

/* Values from min to max; integer types get whole numbers from min to max, both included. */
KH_UNUSED static kh_operand *kh_fill(kh_operand *o, uint64_t seed, double min, double max) {
    const int block = sr_type_get(o->tensor.type)->block;
    const bool whole = o->tensor.type >= SR_TYPE_I8 && o->tensor.type <= SR_TYPE_I64;
    float values[256];
    KH_EACH(o, i) {
        const double x = whole ? floor(min + (max - min + 1) * kh_random(&seed)) : min + (max - min) * kh_random(&seed);
        if (block == 1) {
            kh_set(o, KH_I(i), x);
            continue;
        }
        values[i.at[0] % block] = (float)x;
        if (i.at[0] % block == block - 1) {
            sr__row_from_f32(o->tensor.type, values, kh_at(o, KH_I(i)), block);
        }
    }
    return o;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

KH_UNUSED static sr__kernel_args kh_args(const kh_case *c, bool with_data) {
    sr__kernel_args args = {.op = c->op, .params = c->params};
    args.dst.tensor = &c->dst->tensor;
    args.dst.data = with_data ? c->dst->memory : NULL;
    for (int j = 0; j < c->n_src; j++) {
        if (c->src[j] != NULL) {
            args.src[j].tensor = &c->src[j]->tensor;
            args.src[j].data = with_data ? c->src[j]->memory : NULL;
        }
    }
    return args;
}

KH_UNUSED static const sr__kernel_info *kh_kernel(const kh_case *c) {
    const sr__kernel_info *kernel = sr__kernel_get(c->op);
    assert_non_null(kernel->run);
    return kernel;
}

/* Why the kernel does not take the operands, or NULL. */
KH_UNUSED static const char *kh_refuse(const kh_case *c) {
    const sr__kernel_args args = kh_args(c, false);
    const sr__kernel_info *kernel = kh_kernel(c);
    return kernel->refuse != NULL ? kernel->refuse(&args) : NULL;
}

typedef struct kh_member {
    const sr__kernel_info *kernel;
    const sr__kernel_args *args;
    sr__task task;
    pthread_t thread;
} kh_member;

KH_UNUSED static void *kh_member_main(void *user) {
    const kh_member *member = user;
    member->kernel->run(member->args, &member->task);
    return NULL;
}

enum { KH_MAX_THREADS = 8 };

/* false: the kernel failed, and *failure (may be NULL) is its message, to be freed.  The result must not be empty. */
KH_UNUSED static bool kh_run(const kh_case *c, int n_threads, char **failure) {
    const sr__kernel_info *kernel = kh_kernel(c);
    sr__kernel_args args = kh_args(c, true);
    kh_member members[KH_MAX_THREADS];
    sr__team team;
    assert_true(n_threads <= KH_MAX_THREADS && sr__team_init(&team));
    args.scratch_size = kernel->scratch != NULL ? kernel->scratch(&args, n_threads) : 0;
    if (args.scratch_size > 0) { /* exactly what was asked for: a sanitizer sees the first byte beyond */
        assert_int_equal(posix_memalign(&args.scratch, 64, args.scratch_size), 0);
        memset(args.scratch, 0x5A, args.scratch_size);
    }
    for (int i = n_threads - 1; i >= 0; i--) {
        members[i] = (kh_member){.kernel = kernel, .args = &args, .task = {i, n_threads, &team}};
        if (i == 0) {
            kh_member_main(&members[0]);
        } else {
            assert_int_equal(pthread_create(&members[i].thread, NULL, kh_member_main, &members[i]), 0);
        }
    }
    for (int i = 1; i < n_threads; i++) {
        pthread_join(members[i].thread, NULL);
    }
    const bool failed = atomic_load(&team.failed);
    if (failed && failure != NULL) {
        *failure = strdup(sr__str_text(&team.failure));
    }
    sr__team_free(&team);
    free(args.scratch);
    return !failed;
}

/* The kernel must fail with a message that holds `words`. */
KH_UNUSED static void kh_check_fails(const kh_case *c, const char *words) {
    for (int n_threads = 1; n_threads <= 3; n_threads += 2) {
        char *failure = NULL;
        assert_false(kh_run(c, n_threads, &failure));
        if (failure == NULL || strstr(failure, words) == NULL) {
            fail_msg("'%s' is not in '%s'", words, failure != NULL ? failure : "");
        }
        free(failure);
    }
}

/* The kernel must decline with words that hold `words`. */
KH_UNUSED static void kh_check_refused(const kh_case *c, const char *words) {
    const char *why = kh_refuse(c);
    if (why == NULL || strstr(why, words) == NULL) {
        fail_msg("expected a refusal with '%s', got '%s'", words, why != NULL ? why : "none");
    }
}

/* ---- checking ---------------------------------------------------------------------------------------------------- */

/* What element i of the result must be, from the operands before the run. */
typedef double (*kh_expect)(const kh_case *c, const int64_t i[SR_MAX_DIMS]);

/* Allowed difference, relative to the larger of |want| and 1. */
KH_UNUSED static double kh_tolerance(int type) {
    switch (type) {
        case SR_TYPE_F32: return 4e-6;
        case SR_TYPE_F16: return 1e-3;
        case SR_TYPE_BF16: return 8e-3;
        default: return sr_type_get(type)->quantized ? 0.1 : 0;
    }
}

KH_UNUSED static void kh_same(const kh_operand *o, const int64_t i[SR_MAX_DIMS], double want, double tolerance) {
    const double got = kh_get(o, i[0], i[1], i[2], i[3]);
    if (got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= tolerance * fmax(1, fabs(want))) {
        return;
    }
    fail_msg("element [%lld, %lld, %lld, %lld] is %.9g, not %.9g", (long long)i[0], (long long)i[1], (long long)i[2],
             (long long)i[3], got, want);
}

/* Bytes of the result that belong to no element must be as they were. */
KH_UNUSED static void kh_check_gaps(const kh_operand *o, const char *before) {
    char *used = calloc(o->size + 1, 1);
    assert_non_null(used);
    KH_EACH(o, i) {
        memset(used + (kh_at(o, KH_I(i)) - o->memory), 1, (size_t)sr_type_get(o->tensor.type)->bytes);
    }
    for (size_t k = 0; k < o->size + 1; k++) {
        if (!used[k] && o->memory[k] != before[k]) {
            fail_msg("byte %zu is no element of the result and was written", k);
        }
    }
    free(used);
}

KH_UNUSED static void kh_check_within(const kh_case *c, kh_expect expect, double tolerance) {
    const size_t size = c->dst->size + 1;
    size_t n = 0;
    char *before = malloc(size), *first = malloc(size);
    double *want = calloc((size_t)sr_tensor_nelements(&c->dst->tensor) + 1, sizeof(*want));
    char *failure = NULL;
    assert_true(before != NULL && first != NULL && want != NULL);
    memcpy(before, c->dst->memory, size);
    KH_EACH(c->dst, i) {
        want[n++] = expect(c, i.at);
    }
    if (kh_refuse(c) != NULL) {
        fail_msg("refused: %s", kh_refuse(c));
    }
    if (!kh_run(c, 1, &failure)) {
        fail_msg("one thread: %s", failure);
    }
    memcpy(first, c->dst->memory, size);
    memcpy(c->dst->memory, before, size);
    if (!kh_run(c, 3, &failure)) {
        fail_msg("three threads: %s", failure);
    }
    assert_memory_equal(first, c->dst->memory, size);
    n = 0;
    KH_EACH(c->dst, i) {
        kh_same(c->dst, i.at, want[n++], tolerance);
    }
    kh_check_gaps(c->dst, before);
    free(before);
    free(first);
    free(want);
}

KH_UNUSED static void kh_check(const kh_case *c, kh_expect expect) {
    kh_check_within(c, expect, kh_tolerance(c->dst->tensor.type));
}

/* Frees the operands of a case. */
KH_UNUSED static void kh_case_free(kh_case *c) {
    kh_free(c->dst);
    for (int j = 0; j < c->n_src; j++) {
        kh_free(c->src[j]);
    }
}

/* kh_check, and the case is no more. */
KH_UNUSED static void kh_check_free(kh_case *c, kh_expect expect) {
    kh_check(c, expect);
    kh_case_free(c);
}

/* The bits of a float, for parameter words. */
KH_UNUSED static int32_t kh_bits(double x) {
    union { float f; int32_t i; } v = {(float)x};
    return v.i;
}

#endif
