/*
 * binary.h - ADD, SUB, MUL, DIV, ADD1, SILU_BACK with the second source repeated over the first; ADD_ID.
 *
 * Layer: backends.  Kernel code.
 */
#ifndef SR_GPU_BINARY_H
#define SR_GPU_BINARY_H

DEVICE float silu_back(float dy, float x) {
    const float s = 1.0f / (1.0f + exp(-x));
    return dy * s * (1.0f + x * (1.0f - s));
}

DEVICE float binary_value(gpu_int code, float a, float b) {
    switch (code) {
    case GPU_ADD: return a + b;
    case GPU_SUB: return a - b;
    case GPU_MUL: return a * b;
    case GPU_DIV: return a / b;
    default: return silu_back(a, b);
    }
}

/* An item computes an element; dst may lie where either source does. */
KERNEL(gpu_binary)(OPERAND(dst), OPERAND(a), OPERAND(b), const gpu_int code) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        const float x = load_element(a.type, ELEMENT_AT(a, at));
        const float y = load_element(b.type, ELEMENT(b, wrapped(at.i0, b.ne[0]), wrapped(at.i1, b.ne[1]),
                                                     wrapped(at.i2, b.ne[2]), wrapped(at.i3, b.ne[3])));
        store_element(dst.type, ELEMENT_AT(dst, at), binary_value(code, x, y));
    }
}

/* Rows of b by index are added to rows of a. */
KERNEL(gpu_add_id)(OPERAND(dst), OPERAND(a), OPERAND(b), OPERAND(ids), FAULT) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        const gpu_long row = *(GLOBAL const gpu_int *)ELEMENT(ids, at.i1, at.i2, 0, 0);
        if (row < 0 || row >= b.ne[1]) {
            RAISE_FAULT();
            continue;
        }
        *(GLOBAL float *)ELEMENT_AT(dst, at) =
            *(GLOBAL const float *)ELEMENT_AT(a, at) + *(GLOBAL const float *)ELEMENT(b, at.i0, row, 0, 0);
    }
}

#endif
