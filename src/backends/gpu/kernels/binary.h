/*
 * binary.h - ADD, SUB, MUL, DIV with the second source repeated over the first.
 *
 * Layer: backends.  Kernel code.
 */
#ifndef SR_GPU_BINARY_H
#define SR_GPU_BINARY_H

enum { GPU_ADD = 0, GPU_SUB = 1, GPU_MUL = 2, GPU_DIV = 3 };

DEVICE float binary_value(gpu_int code, float a, float b) {
    return code == GPU_ADD ? a + b : code == GPU_SUB ? a - b : code == GPU_MUL ? a * b : a / b;
}

/* A group works on one row; groups: rows of dst as ne1, ne2, ne3. */
KERNEL(gpu_binary)(OPERAND(dst), OPERAND(a), OPERAND(b), const gpu_int code) {
    const gpu_long i1 = GROUP_ID(0), i2 = GROUP_ID(1), i3 = GROUP_ID(2);
    const gpu_long b1 = i1 % b.ne[1], b2 = i2 % b.ne[2], b3 = i3 % b.ne[3];
    for (gpu_long i0 = LOCAL_ID(0); i0 < dst.ne[0]; i0 += LOCAL_SIZE(0)) {
        const float x = load_element(a.type, ELEMENT(a, i0, i1, i2, i3));
        const float y = load_element(b.type, ELEMENT(b, i0 % b.ne[0], b1, b2, b3));
        store_element(dst.type, ELEMENT(dst, i0, i1, i2, i3), binary_value(code, x, y));
    }
}

#endif
