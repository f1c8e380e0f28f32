/*
 * sort.h - ARGSORT and TOP_K: the order of each row's values.
 *
 * Layer: backends.  Kernel code.  A group sorts a row where its result lies.
 */
#ifndef SR_GPU_SORT_H
#define SR_GPU_SORT_H

/* Is index j's value to stand before index i's?  Equal ones stay in the order of their indices. */
DEVICE gpu_int stands_before(GLOBAL const float *x, gpu_int descending, gpu_int j, gpu_int i) {
    const float a = x[j], b = x[i];
    if (descending ? a > b : a < b) {
        return 1;
    }
    return (descending ? b > a : b < a) ? 0 : j < i;
}

/*
 * Bitonic: runs of `run` sorted places are merged, of which the second is read backwards first, so that the smaller
 * always goes to the lower place.  A partner beyond the end would be larger than all: nothing is done.
 */
KERNEL(gpu_argsort)(OPERAND(dst), OPERAND(a), const gpu_int descending) {
    const gpu_long n = dst.ne[0];
    gpu_long padded = 1;
    while (padded < n) {
        padded *= 2;
    }
    EACH_GROUP(r, N_ROWS(dst)) {
        const gpu_index at = ROW_IN(dst, r);
        GLOBAL const float *x = (GLOBAL const float *)ROW_AT(a, at);
        GLOBAL gpu_int *y = (GLOBAL gpu_int *)ROW_AT(dst, at);
        EACH_IN_GROUP(i, n) { y[i] = (gpu_int)i; }
        for (gpu_long run = 1; run < padded; run *= 2) {
            for (gpu_long distance = run; distance > 0; distance /= 2) {
                BARRIER_GLOBAL();
                EACH_IN_GROUP(k, padded / 2) {
                    const gpu_long first = 2 * k - (k & (distance - 1)); /* k with a 0 put in at that bit */
                    const gpu_long second = distance == run ? first ^ (2 * run - 1) : first + distance;
                    if (second < n && stands_before(x, descending, y[second], y[first])) {
                        const gpu_int moving = y[first];
                        y[first] = y[second];
                        y[second] = moving;
                    }
                }
            }
        }
    }
}

/*
 * The k best in a heap with the worst at its root: which of equal values is kept, and their order, follow from how the
 * heap moves, and are the CPU's (k_sort.c).
 */
DEVICE void sift(GLOBAL const float *x, GLOBAL gpu_int *heap, gpu_long hole, gpu_long n, gpu_int moving) {
    const gpu_long top = hole;
    for (gpu_long child = 2 * hole + 1; child < n; child = 2 * hole + 1) {
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

DEVICE void heap_begin(GLOBAL const float *x, GLOBAL gpu_int *heap, gpu_long k) {
    for (gpu_long i = 0; i < k; i++) {
        heap[i] = (gpu_int)i;
    }
    for (gpu_long parent = k / 2 - 1; parent >= 0; parent--) {
        sift(x, heap, parent, k, heap[parent]);
    }
}

/* From the heap to descending order, and the first two exchanged, as the reference has them. */
DEVICE void heap_end(GLOBAL const float *x, GLOBAL gpu_int *heap, gpu_long k) {
    for (gpu_long left = k - 1; left > 0; left--) {
        const gpu_int moving = heap[left];
        heap[left] = heap[0];
        sift(x, heap, 0, left, moving);
    }
    if (k > 1) {
        const gpu_int first = heap[0];
        heap[0] = heap[1];
        heap[1] = first;
    }
}

/* The items look for candidates side by side; the first one puts them into the heap in order. */
KERNEL(gpu_top_k)(OPERAND(dst), OPERAND(a)) {
    LOCAL_ARRAY gpu_int better[GPU_GROUP];
    const gpu_int item = LOCAL_ID(0), size = LOCAL_SIZE(0);
    const gpu_long k = dst.ne[0];
    EACH_GROUP(r, N_ROWS(dst)) {
        const gpu_index at = ROW_IN(dst, r);
        GLOBAL const float *x = (GLOBAL const float *)ROW_AT(a, at);
        GLOBAL gpu_int *heap = (GLOBAL gpu_int *)ROW_AT(dst, at);
        if (item == 0) {
            heap_begin(x, heap, k);
        }
        for (gpu_long begin = k; begin < a.ne[0]; begin += size) {
            BARRIER_GLOBAL();
            better[item] = begin + item < a.ne[0] && x[begin + item] > x[heap[0]];
            BARRIER_GLOBAL();
            for (gpu_int i = 0; i < size && item == 0; i++) {
                if (better[i] && x[begin + i] > x[heap[0]]) {
                    sift(x, heap, 0, k, (gpu_int)(begin + i));
                }
            }
        }
        if (item == 0) {
            heap_end(x, heap, k);
        }
    }
}

#endif
