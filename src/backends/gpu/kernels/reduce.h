/*
 * reduce.h - SUM, SUM_ROWS, MEAN, CUMSUM, ARGMAX, COUNT_EQUAL: a group of work-items takes a row, or a share of all.
 *
 * Layer: backends.  Kernel code.
 */
#ifndef SR_GPU_REDUCE_H
#define SR_GPU_REDUCE_H

/* Group g writes the sum of its share of a to element g of dst; a second launch of one group adds these up. */
KERNEL(gpu_sum)(OPERAND(dst), OPERAND(a)) {
    LOCAL_ARRAY float part[GPU_GROUP];
    float sum = 0.0f;
    EACH_ITEM(i, N_ELEMENTS(a)) {
        const gpu_index at = INDEX_IN(a, i);
        sum += load_element(a.type, ELEMENT_AT(a, at));
    }
    GROUP_SUM(part, sum);
    if (LOCAL_ID(0) == 0) {
        store_element(dst.type, ELEMENT(dst, GROUP_ID(0), 0, 0, 0), sum);
    }
}

/* Likewise, how many elements of a and b are equal, as i64. */
KERNEL(gpu_count_equal)(OPERAND(dst), OPERAND(a), OPERAND(b)) {
    LOCAL_ARRAY gpu_long part[GPU_GROUP];
    gpu_long count = 0;
    EACH_ITEM(i, N_ELEMENTS(a)) {
        const gpu_index at = INDEX_IN(a, i);
        count += *(GLOBAL const gpu_int *)ELEMENT_AT(a, at) == *(GLOBAL const gpu_int *)ELEMENT_AT(b, at);
    }
    GROUP_SUM(part, count);
    if (LOCAL_ID(0) == 0) {
        *(GLOBAL gpu_long *)ELEMENT(dst, GROUP_ID(0), 0, 0, 0) = count;
    }
}

/* The sum of n numbers of i64, for the second launch. */
KERNEL(gpu_sum_counts)(OPERAND(dst), OPERAND(a)) {
    gpu_long count = 0;
    for (gpu_long k = 0; k < a.ne[0] && GLOBAL_ID(0) == 0; k++) {
        count += *(GLOBAL const gpu_long *)ELEMENT(a, k, 0, 0, 0);
    }
    if (GLOBAL_ID(0) == 0) {
        *(GLOBAL gpu_long *)ELEMENT(dst, 0, 0, 0, 0) = count;
    }
}

/* Each row's sum, divided; the mean of nothing is 0/0. */
KERNEL(gpu_sum_rows)(OPERAND(dst), OPERAND(a), const gpu_float divisor) {
    LOCAL_ARRAY float part[GPU_GROUP];
    EACH_GROUP(r, N_ROWS(dst)) {
        const gpu_index at = ROW_IN(dst, r);
        GLOBAL const float *x = (GLOBAL const float *)ROW_AT(a, at);
        float sum = 0.0f;
        EACH_IN_GROUP(i, a.ne[0]) { sum += x[i]; }
        GROUP_SUM(part, sum);
        if (LOCAL_ID(0) == 0) {
            *(GLOBAL float *)ROW_AT(dst, at) = sum / divisor;
        }
    }
}

/* Pieces of a row as long as the group, each scanned in local memory, with the sum of those before. */
KERNEL(gpu_cumsum)(OPERAND(dst), OPERAND(a)) {
    LOCAL_ARRAY float part[GPU_GROUP];
    const gpu_int item = LOCAL_ID(0), size = LOCAL_SIZE(0);
    EACH_GROUP(r, N_ROWS(dst)) {
        const gpu_index at = ROW_IN(dst, r);
        GLOBAL const float *x = (GLOBAL const float *)ROW_AT(a, at);
        GLOBAL float *y = (GLOBAL float *)ROW_AT(dst, at);
        float before = 0.0f;
        for (gpu_long begin = 0; begin < dst.ne[0]; begin += size) {
            const gpu_long i = begin + item;
            BARRIER();
            part[item] = i < dst.ne[0] ? x[i] : 0.0f;
            BARRIER();
            for (gpu_int distance = 1; distance < size; distance *= 2) {
                const float add = item >= distance ? part[item - distance] : 0.0f;
                BARRIER();
                part[item] += add;
                BARRIER();
            }
            if (i < dst.ne[0]) {
                y[i] = begin == 0 ? part[item] : before + part[item];
            }
            before = begin == 0 ? part[size - 1] : before + part[size - 1];
        }
    }
}

/*
 * The last of the largest.  A NaN never wins and makes the search begin anew: so what counts is the last run without
 * NaN.  First its end and its begin, then its largest value, then the last place of that.
 */
KERNEL(gpu_argmax)(OPERAND(dst), OPERAND(a)) {
    LOCAL_ARRAY gpu_int place[GPU_GROUP];
    LOCAL_ARRAY float part[GPU_GROUP];
    EACH_GROUP(r, dst.ne[0]) {
        gpu_int end = -1, begin = -1, last = -1;
        float largest = -GPU_INFINITY;
        EACH_IN_GROUP(i, a.ne[0]) {
            const float x = *(GLOBAL const float *)ELEMENT(a, i, r, 0, 0);
            end = x == x ? (gpu_int)i : end;
        }
        GROUP_MAX(place, end);
        EACH_IN_GROUP(i, end + 1) {
            const float x = *(GLOBAL const float *)ELEMENT(a, i, r, 0, 0);
            begin = x == x ? begin : (gpu_int)i;
        }
        GROUP_MAX(place, begin);
        begin++;
        for (gpu_int i = begin + LOCAL_ID(0); i <= end; i += LOCAL_SIZE(0)) {
            const float x = *(GLOBAL const float *)ELEMENT(a, i, r, 0, 0);
            largest = x > largest ? x : largest;
        }
        GROUP_MAX(part, largest);
        for (gpu_int i = begin + LOCAL_ID(0); i <= end; i += LOCAL_SIZE(0)) {
            last = *(GLOBAL const float *)ELEMENT(a, i, r, 0, 0) == largest ? i : last;
        }
        GROUP_MAX(place, last);
        if (LOCAL_ID(0) == 0) {
            *(GLOBAL gpu_int *)ELEMENT(dst, r, 0, 0, 0) = last < 0 ? 0 : last;
        }
    }
}

#endif
