/*
 * k_sort.c - ARGSORT TOP_K: the order of each row's values.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_argsort and _top_k (spec: ops-1, section 4).
 */
#include "kernels/rows.h"

/* ---- ARGSORT ----------------------------------------------------------------------------------------------------- */

enum { RUN = 16 }; /* runs of this length are sorted by insertion, then merged */

/* Does the value at index i come before the one at j, whatever their indices? */
static inline bool comes_before(const float *x, bool descending, int32_t i, int32_t j) {
    return descending ? x[i] > x[j] : x[i] < x[j];
}

static void sort_run(const float *x, bool descending, int32_t *index, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        const int32_t moving = index[i];
        int64_t hole = i;
        for (; hole > 0 && comes_before(x, descending, moving, index[hole - 1]); hole--) {
            index[hole] = index[hole - 1];
        }
        index[hole] = moving;
    }
}

/* Merges from[0..middle) and from[middle..n); of equal values the left one goes first. */
static void merge(const float *x, bool descending, const int32_t *from, int64_t middle, int64_t n, int32_t *to) {
    int64_t left = 0, right = middle;
    for (int64_t i = 0; i < n; i++) {
        const bool take_right = left == middle || (right < n && comes_before(x, descending, from[right], from[left]));
        to[i] = take_right ? from[right++] : from[left++];
    }
}

/* A merge sort: stable, so that equal values stay in the order of their indices, also where NaNs compare as equal. */
static void argsort(const float *x, bool descending, int32_t *index, int32_t *spare, int64_t n) {
    int32_t *from = index, *to = spare;
    for (int64_t i = 0; i < n; i++) {
        index[i] = (int32_t)i;
    }
    for (int64_t i = 0; i < n; i += RUN) {
        sort_run(x, descending, index + i, n - i < RUN ? n - i : RUN);
    }
    for (int64_t width = RUN; width < n; width *= 2) {
        for (int64_t i = 0; i < n; i += 2 * width) {
            const int64_t length = n - i < 2 * width ? n - i : 2 * width;
            merge(x, descending, from + i, length < width ? length : width, length, to + i);
        }
        int32_t *const sorted = to;
        to = from;
        from = sorted;
    }
    if (from != index) {
        memcpy(index, from, (size_t)n * sizeof(*index));
    }
}

static size_t scratch_argsort(const sr__kernel_args *args, int n_threads) {
    return (size_t)args->dst.tensor->ne[0] * sizeof(int32_t) * (size_t)n_threads;
}

static void run_argsort(const sr__kernel_args *args, const sr__task *task) {
    int32_t *spare = (int32_t *)args->scratch + task->ith * args->dst.tensor->ne[0];
    const bool descending = args->params[0] == 1;
    SR_EACH_ROW(task, args->dst.tensor, r) {
        int32_t *y = (int32_t *)(void *)sr__row_here(&args->dst, &r);
        argsort(sr__row_here_f32(&args->src[0], &r), descending, y, spare, r.n);
    }
}

static const sr__want sort_wants[] = {{SR__DST, SR__TYPE(I32), SR__ROWS}, {0, SR__TYPE(F32), SR__ROWS}};

static const char *refuse_argsort(const sr__kernel_args *args) {
    const char *why = sr__refuse_unlike(args, sort_wants, SR_COUNT(sort_wants));
    if (why != NULL) {
        return why;
    }
    return args->params[0] == 0 || args->params[0] == 1 ? NULL : "the order must be 0 (ascending) or 1 (descending)";
}

/* ---- TOP_K ------------------------------------------------------------------------------------------------------- */

/*
 * The worst of the best so far is at the root of a heap.  Which of equal values is kept, and their order, follow from
 * how the heap moves, and recordings hold that order: so a value is sifted exactly like this.  The hole goes down to a
 * leaf first, lifting the worse child (the right one of equals), then up again as long as the parent is better.
 */
static void sift(const float *x, int32_t *heap, int64_t hole, int64_t n, int32_t moving) {
    const int64_t top = hole;
    for (int64_t child = 2 * hole + 1; child < n; child = 2 * hole + 1) {
        if (child + 1 < n && !(x[heap[child + 1]] > x[heap[child]])) {
            child++;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    while (hole > top && x[heap[(hole - 1) / 2]] > x[moving]) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = moving;
}

static void top_k(const float *x, int64_t n, int32_t *heap, int64_t k) {
    for (int64_t i = 0; i < k; i++) {
        heap[i] = (int32_t)i;
    }
    for (int64_t parent = k / 2 - 1; parent >= 0; parent--) {
        sift(x, heap, parent, k, heap[parent]);
    }
    for (int64_t i = k; i < n; i++) {
        if (x[i] > x[heap[0]]) {
            sift(x, heap, 0, k, (int32_t)i);
        }
    }
    for (int64_t left = k - 1; left > 0; left--) {
        const int32_t moving = heap[left];
        heap[left] = heap[0];
        sift(x, heap, 0, left, moving);
    }
    if (k > 1) { /* the order is no promise, and the reference says so by exchanging the first two */
        const int32_t first = heap[0];
        heap[0] = heap[1];
        heap[1] = first;
    }
}

static void run_top_k(const sr__kernel_args *args, const sr__task *task) {
    SR_EACH_ROW(task, args->dst.tensor, r) {
        int32_t *heap = (int32_t *)(void *)sr__row_here(&args->dst, &r);
        top_k(sr__row_here_f32(&args->src[0], &r), args->src[0].tensor->ne[0], heap, r.n);
    }
}

static const char *refuse_top_k(const sr__kernel_args *args) {
    const char *why = sr__operands_refuse(args, sort_wants, SR_COUNT(sort_wants));
    if (why != NULL) {
        return why;
    }
    const int64_t *a = args->src[0].tensor->ne, k = args->dst.tensor->ne[0];
    return k <= a[0] && sr__has_extents(args->dst.tensor, k, a[1], a[2], a[3])
               ? NULL : "the result must have at most as many indices a row as the source has values";
}

const sr__kernel_info sr__kernel_ARGSORT = {
    .run = run_argsort, .refuse = refuse_argsort, .scratch = scratch_argsort, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_TOP_K = {.run = run_top_k, .refuse = refuse_top_k, .max_threads = sr__threads_rows};
