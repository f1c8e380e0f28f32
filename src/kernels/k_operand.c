/*
 * k_operand.c - checks of operands, in words, and the dense copy of an operand.
 *
 * Layer: kernels.  The reference asserts such things inside its kernels; here they are asked before anything runs.
 */
#include "kernels/k_operand.h"

/* One text for the result and one for every source: refusals are literals. */
#define FOR_PLACES(text)                                                                                            \
    {"the result " text, "source 0 " text, "source 1 " text, "source 2 " text, "source 3 " text, "source 4 " text,    \
     "source 5 " text,   "source 6 " text, "source 7 " text, "source 8 " text, "source 9 " text}

enum { N_PLACES = SR_MAX_SRC + 1 };

typedef struct type_words {
    uint64_t types;
    const char *words[N_PLACES];
} type_words;

static const type_words wrong_type[] = {
    {SR__TYPE(F32), FOR_PLACES("must be f32")},
    {SR__TYPE(F16), FOR_PLACES("must be f16")},
    {SR__TYPE(I32), FOR_PLACES("must be i32")},
    {SR__TYPE(F32) | SR__TYPE(F16), FOR_PLACES("must be f32 or f16")},
    {SR__TYPE(BF16) | SR__TYPE(F16), FOR_PLACES("must be f16 or bf16")},
    {0, FOR_PLACES("has a type without a kernel")},
};
static const char *const missing[N_PLACES] = FOR_PLACES("is missing");
static const char *const too_large[N_PLACES] = FOR_PLACES("has an extent of 2^31 or more");
static const char *const misaligned[N_PLACES] = FOR_PLACES("has strides or an offset that split its elements");
static const char *const not_rows[N_PLACES] = FOR_PLACES("must have dense rows");
static const char *const not_even[N_PLACES] = FOR_PLACES("must have dense, evenly spaced rows");
static const char *const not_contiguous[N_PLACES] = FOR_PLACES("must be contiguous");

static const char *refuse_type(const sr_tensor *t, const sr__want *want) {
    if ((want->types >> t->type & 1) != 0) {
        return NULL;
    }
    for (int i = 0;; i++) {
        if (wrong_type[i].types == want->types || wrong_type[i].types == 0) {
            return wrong_type[i].words[want->place + 1];
        }
    }
}

/* Strides of extents of 1 are never followed. */
static bool is_aligned(const sr_tensor *t) {
    const size_t bytes = (size_t)sr_type_get(t->type)->bytes;
    if (t->view_offs % bytes != 0 || t->buffer_offset % bytes != 0) {
        return false;
    }
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        if (t->ne[d] > 1 && t->nb[d] % bytes != 0) {
            return false;
        }
    }
    return true;
}

static bool has_even_rows(const sr_tensor *t) {
    size_t spacing = 0;
    int64_t rows = 1;
    for (int d = 1; d < SR_MAX_DIMS; d++) {
        if (t->ne[d] > 1) {
            if (rows == 1) {
                spacing = t->nb[d];
            }
            if (t->nb[d] != spacing * (size_t)rows) {
                return false;
            }
        }
        rows = sr__times(rows, t->ne[d]);
    }
    return sr_tensor_has_contiguous_rows(t);
}

static const char *refuse_one(const sr_tensor *t, const sr__want *want) {
    const int place = want->place + 1;
    if (t == NULL) {
        return missing[place];
    }
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        if (t->ne[d] < 0 || t->ne[d] > INT32_MAX) {
            return too_large[place];
        }
    }
    if (want->types == SR__EXTENTS_ONLY) {
        return NULL;
    }
    const char *why = refuse_type(t, want);
    if (why != NULL) {
        return why;
    }
    if (!is_aligned(t)) {
        return misaligned[place];
    }
    switch (want->layout) {
        case SR__ROWS: return sr_tensor_has_contiguous_rows(t) ? NULL : not_rows[place];
        case SR__EVEN_ROWS: return has_even_rows(t) ? NULL : not_even[place];
        case SR__CONTIGUOUS: return sr_tensor_is_contiguous(t) ? NULL : not_contiguous[place];
        default: return NULL;
    }
}

const char *sr__operands_refuse(const sr__kernel_args *args, const sr__want *wants, int n) {
    for (int i = 0; i < n; i++) {
        const sr__operand *o = wants[i].place == SR__DST ? &args->dst : &args->src[wants[i].place];
        const char *why = refuse_one(o->tensor, &wants[i]);
        if (why != NULL) {
            return why;
        }
    }
    return NULL;
}

int sr__threads_rows(const sr__kernel_args *args) {
    const int64_t *ne = args->dst.tensor->ne;
    return sr__threads_for(sr__times(ne[1], sr__times(ne[2], ne[3])));
}

int sr__threads_planes(const sr__kernel_args *args) {
    return sr__threads_for(sr__times(args->dst.tensor->ne[2], args->dst.tensor->ne[3]));
}

int sr__threads_one(const sr__kernel_args *args) {
    (void)args;
    return 1;
}

void sr__gather_f32(const sr__operand *from, bool rounded, float *out, const sr__task *task) {
    const sr_tensor *t = from->tensor;
    int64_t begin, end, at[SR_MAX_DIMS];
    sr__task_range(task, t->ne[1] * t->ne[2] * t->ne[3], &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        sr__row_index(t->ne, row, at);
        const char *p = sr__row(from, at[1], at[2], at[3]);
        float *to = out + row * t->ne[0];
        for (int64_t i = 0; i < t->ne[0]; i++) {
            const float x = *(const float *)(const void *)(p + (size_t)i * t->nb[0]);
            to[i] = rounded ? sr__round_f16(x) : x;
        }
    }
}
