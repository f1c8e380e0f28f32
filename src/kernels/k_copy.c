/*
 * k_copy.c - CPY, DUP, CONT: elements of one tensor into another in logical order, converted where types differ.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_dup of the reference.  Shapes, strides and types may all differ, so
 * both sides are walked as streams of elements; dimensions that lie densely behind each other are merged first, and a
 * step is as long a run as neither side breaks.  Rows of whole blocks stay whole under all of that.
 */
#include "kernels/k_operand.h"

enum { RUN = 1024 }; /* elements at a time; a multiple of every block */

/* ---- streams ----------------------------------------------------------------------------------------------------- */

/* A position in a tensor's elements; a unit is an element, or a block of a quantized type. */
typedef struct stream {
    char *p;
    int n_dims;
    int block;                  /* elements a unit */
    size_t size;                /* bytes a unit */
    int64_t ne[SR_MAX_DIMS];    /* in units along dimension 0 */
    size_t nb[SR_MAX_DIMS];
    int64_t at[SR_MAX_DIMS];
} stream;

/* Extents without those of 1, dense neighbours merged. */
static void stream_shape(stream *s, const sr_tensor *t) {
    s->n_dims = 0;
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        const int64_t ne = d == 0 ? t->ne[0] / s->block : t->ne[d];
        if (ne == 1) {
            continue;
        }
        if (s->n_dims > 0 && t->nb[d] == s->nb[s->n_dims - 1] * (size_t)s->ne[s->n_dims - 1]) {
            s->ne[s->n_dims - 1] *= ne;
        } else {
            s->ne[s->n_dims] = ne;
            s->nb[s->n_dims++] = t->nb[d];
        }
    }
    if (s->n_dims == 0) {
        s->ne[0] = 1;
        s->nb[0] = s->size;
        s->n_dims = 1;
    }
}

static stream stream_begin(const sr__operand *o, int64_t element) {
    const sr_type_info *type = sr_type_get(o->tensor->type);
    stream s = {.p = o->data, .block = type->block, .size = (size_t)type->bytes};
    stream_shape(&s, o->tensor);
    int64_t unit = element / s.block;
    for (int d = 0; d < s.n_dims; d++) {
        s.at[d] = d == s.n_dims - 1 ? unit : unit % s.ne[d];
        unit /= s.ne[d];
        s.p += (size_t)s.at[d] * s.nb[d];
    }
    return s;
}

/* Elements up to where the innermost dimension ends. */
static int64_t stream_run(const stream *s) { return (s->ne[0] - s->at[0]) * s->block; }

static void stream_advance(stream *s, int64_t elements) {
    const int64_t units = elements / s->block;
    s->p += (size_t)units * s->nb[0];
    s->at[0] += units;
    for (int d = 0; s->at[d] == s->ne[d] && d + 1 < s->n_dims; d++) {
        s->p = s->p - (size_t)s->ne[d] * s->nb[d] + s->nb[d + 1];
        s->at[d] = 0;
        s->at[d + 1]++;
    }
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

#define COPY_UNITS(type)                                                         \
    for (int64_t i = 0; i < n; i++) {                                            \
        type v;                                                                  \
        memcpy(&v, src + (size_t)i * src_nb, sizeof(v));                         \
        memcpy(dst + (size_t)i * dst_nb, &v, sizeof(v));                         \
    }

static void copy_units(char *dst, size_t dst_nb, const char *src, size_t src_nb, size_t size, int64_t n) {
    if (dst_nb == size && src_nb == size) {
        memmove(dst, src, (size_t)n * size);
        return;
    }
    switch (size) {
        case 1: COPY_UNITS(uint8_t) break;
        case 2: COPY_UNITS(uint16_t) break;
        case 4: COPY_UNITS(uint32_t) break;
        case 8: COPY_UNITS(uint64_t) break;
        default:
            for (int64_t i = 0; i < n; i++) {
                memmove(dst + (size_t)i * dst_nb, src + (size_t)i * src_nb, size);
            }
    }
}

static void row_to_i32(const float *src, char *dst, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const int32_t v = src[i] > -2147483648.0f && src[i] < 2147483648.0f ? (int32_t)src[i] : INT32_MIN;
        memcpy(dst + 4 * i, &v, sizeof(v));
    }
}

static void row_from_i32(const char *src, float *dst, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int32_t v;
        memcpy(&v, src + 4 * i, sizeof(v));
        dst[i] = (float)v;
    }
}

/* n elements, at most RUN, through f32. */
static void convert_run(int dst_type, const stream *dst, int src_type, const stream *src, int64_t n) {
    float values[RUN];
    char packed[RUN * sizeof(float)];
    const char *from = src->p;
    if (src->nb[0] != src->size) {
        copy_units(packed, src->size, src->p, src->nb[0], src->size, n / src->block);
        from = packed;
    }
    if (src_type == SR_TYPE_I32) {
        row_from_i32(from, values, n);
    } else {
        sr__row_to_f32(src_type, from, values, n);
    }
    const bool dense = dst->nb[0] == dst->size;
    char *to = dense ? dst->p : packed;
    if (dst_type == SR_TYPE_I32) {
        row_to_i32(values, to, n);
    } else {
        sr__row_from_f32(dst_type, values, to, n);
    }
    if (!dense) {
        copy_units(dst->p, dst->nb[0], packed, dst->size, dst->size, n / dst->block);
    }
}

static void run_copy(const sr__kernel_args *args, const sr__task *task) {
    const int64_t n = sr_tensor_nelements(args->dst.tensor);
    const int src_type = args->src[0].tensor->type, dst_type = args->dst.tensor->type;
    int64_t begin, end;
    sr__task_range(task, (n + RUN - 1) / RUN, &begin, &end);
    begin *= RUN;
    end = end * RUN < n ? end * RUN : n;
    if (begin >= end) {
        return;
    }
    stream src = stream_begin(&args->src[0], begin), dst = stream_begin(&args->dst, begin);
    const int64_t most = src_type == dst_type ? INT64_MAX : RUN;
    while (begin < end) {
        int64_t run = end - begin < most ? end - begin : most;
        run = stream_run(&src) < run ? stream_run(&src) : run;
        run = stream_run(&dst) < run ? stream_run(&dst) : run;
        if (src_type == dst_type) {
            copy_units(dst.p, dst.nb[0], src.p, src.nb[0], src.size, run / src.block);
        } else {
            convert_run(dst_type, &dst, src_type, &src, run);
        }
        stream_advance(&src, run);
        stream_advance(&dst, run);
        begin += run;
    }
}

/* ---- what is taken ----------------------------------------------------------------------------------------------- */

static bool is_half(int type) { return type == SR_TYPE_F16 || type == SR_TYPE_BF16; }
static bool is_float(int type) { return type == SR_TYPE_F32 || is_half(type); }
static bool is_quantized(int type) { return sr_type_get(type)->quantized; }

static const char *refuse_types(int from, int to) {
    const char *const none = "no conversion between these types";
    if (from == to) {
        return NULL;
    }
    if (is_quantized(to)) {
        return is_float(from) && sr__type_can_write(to) ? NULL : none;
    }
    if (is_quantized(from)) {
        return sr__type_can_read(from) && to == SR_TYPE_F32 ? NULL : none;
    }
    if (from == SR_TYPE_I32 || to == SR_TYPE_I32) {
        return from == SR_TYPE_F32 || to == SR_TYPE_F32 ? NULL : none;
    }
    return is_float(from) && is_float(to) ? NULL : none;
}

/* Runs must be whole blocks on both sides. */
static const char *refuse_blocks(const sr_tensor *from, const sr_tensor *to) {
    const sr_type_info *src = sr_type_get(from->type), *dst = sr_type_get(to->type);
    if (dst->quantized && !src->quantized) {
        if (from->nb[0] != (size_t)src->bytes && from->ne[0] > 1) {
            return "rows to be quantized must be dense";
        }
        if (from->ne[0] % dst->block != 0) {
            return "rows to be quantized must be whole blocks";
        }
        return sr_tensor_is_contiguous(to) ? NULL : "a quantized destination must be contiguous";
    }
    if (src->quantized && !dst->quantized && !sr_tensor_is_contiguous(to)) {
        if (to->ne[0] % src->block != 0) {
            return "rows of the destination must be whole blocks of the source, or the destination contiguous";
        }
        return to->nb[0] == (size_t)dst->bytes ? NULL : "rows of values to come from blocks must be dense";
    }
    return NULL;
}

static const char *refuse_copy(const sr__kernel_args *args) {
    const sr_tensor *from = args->src[0].tensor, *to = args->dst.tensor;
    if (from == NULL) {
        return "source 0 is missing";
    }
    if (sr_tensor_nelements(from) != sr_tensor_nelements(to)) {
        return "source and result differ in their number of elements";
    }
    const char *why = refuse_types(from->type, to->type);
    return why != NULL ? why : refuse_blocks(from, to);
}

const sr__kernel_info sr__kernel_CPY = {run_copy, refuse_copy, NULL, NULL};
const sr__kernel_info sr__kernel_DUP = {run_copy, refuse_copy, NULL, NULL};
const sr__kernel_info sr__kernel_CONT = {run_copy, refuse_copy, NULL, NULL};
