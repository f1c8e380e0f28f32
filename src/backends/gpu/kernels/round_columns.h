/*
 * round_columns.h - columns of a product as floats, rounded as the reference rounds them before it multiplies.
 *
 * Layer: backends.  Kernel code.  Answers to the from_float calls of ggml_compute_forward_mul_mat of ggml-cpu.c of the
 * reference: a column takes the companion type of the first source.  src/kernels/mm_codes.c says the same for the host.
 */
#ifndef SR_GPU_ROUND_COLUMNS_H
#define SR_GPU_ROUND_COLUMNS_H

#define NOT_A_NUMBER BITS_FLOAT(0x7fc00000u)

DEVICE gpu_int is_finite(float x) { return (FLOAT_BITS(x) & 0x7f800000u) != 0x7f800000u; }

/* Of a value and a later one, the one of larger magnitude, the first if they are equal; NaN if one is. */
DEVICE float more_extreme(float first, float second) {
    if (!is_finite(first) || !is_finite(second)) {
        return NOT_A_NUMBER;
    }
    return fabs(second) > fabs(first) ? second : first;
}

/* What eight bits leave of x in a block whose extreme is `most`. */
DEVICE float round_in_block(float x, float most, gpu_int mode) {
    float id = 0.0f, d = 0.0f;
    if (!is_finite(most)) {
        return NOT_A_NUMBER;
    }
    if (most != 0.0f && mode == GPU_ROUND_Q8_K) {
        id = -127.0f / most;
        d = 1.0f / id;
    } else if (most != 0.0f) {
        id = 127.0f / fabs(most);
        d = ROUND_HALF(fabs(most) / 127.0f);
    }
    if (!is_finite(id)) {
        return 0.0f; /* nothing is left of so small a block */
    }
    const float code = rint(x * id);
    return (code > 127.0f ? 127.0f : code) * d;
}

/* dst: a plain type, dense.  A group works on 256 values of a row; groups: pieces of a row, then rows. */
KERNEL(gpu_round_columns)(OPERAND(dst), OPERAND(src), const gpu_int mode) {
    LOCAL_ARRAY float extremes[GPU_ROUND_ITEMS];
    const gpu_long pieces = (src.ne[0] + GPU_ROUND_ITEMS - 1) / GPU_ROUND_ITEMS;
    const gpu_long row = GROUP_ID(0) / pieces, i2 = row / src.ne[1] % src.ne[2];
    const gpu_long i1 = row % src.ne[1], i3 = row / src.ne[1] / src.ne[2];
    const gpu_int t = LOCAL_ID(0);
    const gpu_long i0 = GROUP_ID(0) % pieces * GPU_ROUND_ITEMS + t;
    const gpu_int inside = i0 < src.ne[0];
    float x = inside ? row_value(src.type, ELEMENT(src, 0, i1, i2, i3), i0) : 0.0f;
    if (mode == GPU_ROUND_F16) {
        x = ROUND_HALF(x);
    } else if (mode == GPU_ROUND_BF16) {
        x = round_bf16(x);
    } else if (mode >= GPU_ROUND_Q8) {
        const gpu_int span = mode == GPU_ROUND_Q8 ? 32 : 256;
        extremes[t] = x;
        for (gpu_int step = 1; step < span; step *= 2) {
            BARRIER();
            if (t % (2 * step) == 0) {
                extremes[t] = more_extreme(extremes[t], extremes[t + step]);
            }
        }
        BARRIER();
        x = round_in_block(x, extremes[t - t % span], mode);
    }
    if (inside) {
        store_element(dst.type, ELEMENT(dst, i0, i1, i2, i3), x);
    }
}

#endif
