/*
 * index.h - which elements or rows a work-item works on, and sums over a group.
 *
 * Layer: backends.  Kernel code.  Work is laid over dimension 0 of the launch only (CUDA has few groups in the others);
 * who has more work than items or groups goes on by their number.
 */
#ifndef SR_GPU_INDEX_H
#define SR_GPU_INDEX_H

/* Of n pieces, those of this work-item; those of this group; of n elements of a group's piece, those of this item. */
#define EACH_ITEM(i, n) for (gpu_long i = GLOBAL_ID(0); i < (n); i += GLOBAL_SIZE(0))
#define EACH_GROUP(r, n) for (gpu_long r = GROUP_ID(0); r < (n); r += GROUP_COUNT(0))
#define EACH_IN_GROUP(i, n) for (gpu_long i = LOCAL_ID(0); i < (n); i += LOCAL_SIZE(0))

#define N_ROWS(t) ((t).ne[1] * (t).ne[2] * (t).ne[3])
#define N_ELEMENTS(t) ((t).ne[0] * N_ROWS(t))

typedef struct gpu_index {
    gpu_long i0, i1, i2, i3;
} gpu_index;

/* Of numbers that are not negative; most are small, and a division of 32 bits is far quicker. */
DEVICE gpu_long quotient(gpu_long a, gpu_long b) {
    return ((a | b) >> 31) == 0 ? (gpu_long)((gpu_uint)a / (gpu_uint)b) : a / b;
}

DEVICE gpu_long wrapped(gpu_long i, gpu_long n) { return i < n ? i : i - quotient(i, n) * n; }

/* Element i of extents n0, n1, n2 and any fourth, counted with dimension 0 fastest. */
DEVICE gpu_index index_of(gpu_long i, gpu_long n0, gpu_long n1, gpu_long n2) {
    gpu_index at = {i, 0, 0, 0};
    if (i >= n0) {
        at.i1 = quotient(i, n0);
        at.i0 = i - at.i1 * n0;
        if (at.i1 >= n1) {
            at.i2 = quotient(at.i1, n1);
            at.i1 -= at.i2 * n1;
            if (at.i2 >= n2) {
                at.i3 = quotient(at.i2, n2);
                at.i2 -= at.i3 * n2;
            }
        }
    }
    return at;
}

#define INDEX_IN(t, i) index_of((i), (t).ne[0], (t).ne[1], (t).ne[2])
#define ROW_IN(t, r) index_of((r), 1, (t).ne[1], (t).ne[2]) /* i0 is 0 */
#define ELEMENT_AT(name, at) ELEMENT(name, (at).i0, (at).i1, (at).i2, (at).i3)
#define ROW_AT(name, at) ELEMENT(name, 0, (at).i1, (at).i2, (at).i3)

/* The float of a parameter word. */
#define WORD_FLOAT(params, k) BITS_FLOAT((gpu_uint)(params).word[k])
#define GPU_INFINITY BITS_FLOAT(0x7f800000u)

/* The quotient to the nearest; OpenCL's own may be off by a few units in the last place. */
DEVICE float exact_quotient(float a, float b) {
    const float q = a / b;
    const float better = fma(fma(-q, b, a), 1.0f / b, q);
    return better - better == 0.0f ? better : q; /* infinities and NaN stay as they are */
}

/*
 * One value an item, GPU_GROUP places of local memory, a group of a power of two: afterwards `value` is the sum or the
 * largest of all, for all.  The order depends on the size of the group alone.
 *
 * These are no functions because of PoCL: where a single kernel calls a helper, its optimizer puts the kernel's array
 * itself into the helper, and PoCL, which gives each thread its local memory, does not look for it there.
 */
#define GROUP_REDUCE(part, value, combined)                                                        \
    do {                                                                                           \
        const gpu_int reduce_at = LOCAL_ID(0);                                                     \
        (part)[reduce_at] = (value);                                                               \
        BARRIER();                                                                                 \
        for (gpu_int reduce_half = LOCAL_SIZE(0) / 2; reduce_half > 0; reduce_half /= 2) {         \
            if (reduce_at < reduce_half) {                                                         \
                (part)[reduce_at] = combined((part)[reduce_at], (part)[reduce_at + reduce_half]);  \
            }                                                                                      \
            BARRIER();                                                                             \
        }                                                                                          \
        (value) = (part)[0];                                                                       \
        BARRIER(); /* the next reduction writes there */                                           \
    } while (0)

#define SUM_OF(a, b) ((a) + (b))
#define LARGER_OF(a, b) ((b) > (a) ? (b) : (a))
#define GROUP_SUM(part, value) GROUP_REDUCE(part, value, SUM_OF)
#define GROUP_MAX(part, value) GROUP_REDUCE(part, value, LARGER_OF)

#endif
