/*
 * triangle.h - DIAG_MASK_INF, DIAG_MASK_ZERO, TRI, DIAG: matrices with a triangle, or all but the diagonal, cut away.
 *
 * Layer: backends.  Kernel code.
 */
#ifndef SR_GPU_TRIANGLE_H
#define SR_GPU_TRIANGLE_H

/* Does element i0 of row i1 stay? */
DEVICE gpu_int stays(gpu_int kind, gpu_long n_past, gpu_long i0, gpu_long i1) {
    switch (kind) {
    case GPU_UPPER_DIAG: return i0 >= i1;
    case GPU_UPPER: return i0 > i1;
    case GPU_LOWER_DIAG: return i0 <= i1;
    case GPU_LOWER: return i0 < i1;
    case GPU_DIAG_MASK: return i0 <= n_past + i1;
    default: return i0 == i1; /* GPU_DIAG */
    }
}

/* What does not stay becomes value; for GPU_DIAG the source has but one row a matrix. */
KERNEL(gpu_triangle)(OPERAND(dst), OPERAND(a), const gpu_int kind, const gpu_long n_past, const gpu_float value) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        const gpu_long row = kind == GPU_DIAG ? 0 : at.i1;
        *(GLOBAL float *)ELEMENT_AT(dst, at) = stays(kind, n_past, at.i0, at.i1)
                                                   ? *(GLOBAL const float *)ELEMENT(a, at.i0, row, at.i2, at.i3)
                                                   : value;
    }
}

#endif
