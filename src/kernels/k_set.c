/*
 * k_set.c - ACC, SET: a source with another added to, or put in place of, a part of it.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_acc and _set (spec: ops-1, section 2).  The part is a view of the
 * result, with strides and an offset from the parameter words and the extents of source 1.
 */
#include "kernels/rows.h"

enum { WORD_OFFSET = 3, WORD_INPLACE = 4 };

/* Strides of the part: words 0 to 2 hold those of dimensions 1 to 3. */
static size_t part_stride(const sr__kernel_args *args, int dim) { return (size_t)args->params[dim - 1]; }

/* Could two rows of the part share an element? Then the order of additions matters, and one member does them all. */
static bool rows_may_overlap(const sr__kernel_args *args) {
    const sr_tensor *b = args->src[1].tensor;
    size_t covered = (size_t)b->ne[0] * sr__element_size(&args->src[1]);
    for (int k = 1; k < SR_MAX_DIMS; k++) {
        if (b->ne[k] > 1) {
            if (part_stride(args, k) < covered) {
                return true;
            }
            covered = (size_t)b->ne[k] * part_stride(args, k);
        }
    }
    return false;
}

static void copy_whole(const sr__kernel_args *args, const sr__task *task) {
    const size_t size = sr__element_size(&args->dst);
    if (args->src[0].data == args->dst.data) {
        return;
    }
    SR_EACH_SPAN(task, args->dst.tensor, true, r) {
        memcpy(args->dst.data + (size_t)r.i0 * size, args->src[0].data + (size_t)r.i0 * size, (size_t)r.n * size);
    }
}

static void run_part(const sr__kernel_args *args, const sr__task *task, bool add) {
    const sr__operand *b = &args->src[1];
    const sr__task alone = {.ith = 0, .nth = 1, .team = task->team};
    const bool one = rows_may_overlap(args);
    if (args->params[WORD_INPLACE] == 0) {
        copy_whole(args, task);
        sr__task_barrier(task);
    }
    if (sr_tensor_is_empty(b->tensor) || (one && task->ith != 0)) {
        return;
    }
    SR_EACH_ROW(one ? &alone : task, b->tensor, r) {
        const float *x = sr__row_here_f32(b, &r);
        char *to = args->dst.data + (size_t)args->params[WORD_OFFSET] + (size_t)r.i1 * part_stride(args, 1) +
                   (size_t)r.i2 * part_stride(args, 2) + (size_t)r.i3 * part_stride(args, 3);
        float *y = (float *)(void *)to;
        if (!add) {
            memmove(to, x, (size_t)r.n * sizeof(*x));
            continue;
        }
        for (int64_t i = 0; i < r.n; i++) {
            y[i] += x[i];
        }
    }
}

static void run_acc(const sr__kernel_args *args, const sr__task *task) { run_part(args, task, true); }
static void run_set(const sr__kernel_args *args, const sr__task *task) { run_part(args, task, false); }

/* Words come from files: the part must be made of whole elements within the result. */
static const char *refuse_part(const sr__kernel_args *args) {
    const sr_tensor *b = args->src[1].tensor;
    int64_t last = args->params[WORD_OFFSET];
    for (int k = 0; k <= WORD_OFFSET; k++) {
        if (args->params[k] < 0 || args->params[k] % 4 != 0) {
            return "strides and offset of the part must be multiples of 4 bytes, not negative";
        }
    }
    if (sr_tensor_is_empty(b)) {
        return NULL;
    }
    for (int k = 1; k < SR_MAX_DIMS; k++) {
        last += sr__times(b->ne[k] - 1, args->params[k - 1]);
        if (last < 0 || last > (int64_t)args->dst.tensor->nbytes) {
            return "source 1 does not fit into the result at that offset";
        }
    }
    return sr__times(b->ne[0], 4) <= (int64_t)args->dst.tensor->nbytes - last
               ? NULL : "source 1 does not fit into the result at that offset";
}

static const char *refuse_with(const sr__kernel_args *args, uint64_t types) {
    const sr__want wants[] = {
        {SR__DST, types, SR__CONTIGUOUS},
        {0, types, SR__CONTIGUOUS},
        {1, types, SR__ROWS},
    };
    const int type = args->dst.tensor->type;
    const char *why = sr__refuse_unlike(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    if (args->src[0].tensor->type != type || args->src[1].tensor->type != type) {
        return "both sources and the result must be of one type";
    }
    return refuse_part(args);
}

static const char *refuse_acc(const sr__kernel_args *args) { return refuse_with(args, SR__TYPE(F32)); }
static const char *refuse_set(const sr__kernel_args *args) { return refuse_with(args, SR__TYPE(F32) | SR__TYPE(I32)); }

const sr__kernel_info sr__kernel_ACC = {.run = run_acc, .refuse = refuse_acc};
const sr__kernel_info sr__kernel_SET = {.run = run_set, .refuse = refuse_set};
