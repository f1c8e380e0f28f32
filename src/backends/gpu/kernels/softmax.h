/*
 * softmax.h - SOFT_MAX with mask, ALiBi and sinks, SOFT_MAX_BACK: a group of work-items takes a row.
 *
 * Layer: backends.  Kernel code.  An item reads what it needs of an element before it writes it: dst may lie where the
 * source or the mask does.
 */
#ifndef SR_GPU_SOFTMAX_H
#define SR_GPU_SOFTMAX_H

/* How much head h of n_heads minds the mask. */
DEVICE float alibi_slope(float max_bias, gpu_long h, gpu_long n_heads) {
    if (max_bias <= 0.0f) {
        return 1.0f;
    }
    gpu_long n = 1;
    while (2 * n <= n_heads) {
        n *= 2;
    }
    return h < n ? pow(pow(2.0f, -max_bias / (float)n), (float)(h + 1))
                 : pow(pow(2.0f, -max_bias / (float)(2 * n)), (float)(2 * (h - n) + 1));
}

/* Element i of row (i1, i2, i3), scaled and masked. */
#define SOFT_MAX_VALUE(i)                                                                                       \
    (x[i] * scale +                                                                                             \
     (mask.given ? slope * load_element(mask.type, ELEMENT(mask, (i), at.i1, wrapped(at.i2, mask.ne[2]),         \
                                                           wrapped(at.i3, mask.ne[3])))                         \
                 : 0.0f))

KERNEL(gpu_soft_max)(OPERAND(dst), OPERAND(a), OPERAND(mask), OPERAND(sinks), const gpu_float scale,
                     const gpu_float max_bias) {
    LOCAL_ARRAY float part[GPU_GROUP];
    const gpu_long n = dst.ne[0];
    EACH_GROUP(r, N_ROWS(dst)) {
        const gpu_index at = ROW_IN(dst, r);
        GLOBAL const float *x = (GLOBAL const float *)ROW_AT(a, at);
        GLOBAL float *y = (GLOBAL float *)ROW_AT(dst, at);
        const float slope = alibi_slope(max_bias, at.i2, dst.ne[2]);
        const float sink = sinks.given ? *(GLOBAL const float *)ELEMENT(sinks, at.i2, 0, 0, 0) : -GPU_INFINITY;
        float largest = sink, sum = 0.0f;
        EACH_IN_GROUP(i, n) {
            const float z = SOFT_MAX_VALUE(i);
            largest = z > largest ? z : largest;
        }
        GROUP_MAX(part, largest);
        EACH_IN_GROUP(i, n) { sum += exp(SOFT_MAX_VALUE(i) - largest); }
        GROUP_SUM(part, sum);
        const float inverse = 1.0f / (sum + (sinks.given ? exp(sink - largest) : 0.0f));
        EACH_IN_GROUP(i, n) { y[i] = exp(SOFT_MAX_VALUE(i) - largest) * inverse; }
    }
}

KERNEL(gpu_soft_max_back)(OPERAND(dst), OPERAND(a), OPERAND(b), const gpu_float scale) {
    LOCAL_ARRAY float part[GPU_GROUP];
    const gpu_long n = dst.ne[0];
    EACH_GROUP(r, N_ROWS(dst)) {
        const gpu_index at = ROW_IN(dst, r);
        GLOBAL const float *dy = (GLOBAL const float *)ROW_AT(a, at), *forward = (GLOBAL const float *)ROW_AT(b, at);
        GLOBAL float *y = (GLOBAL float *)ROW_AT(dst, at);
        float dot_product = 0.0f;
        EACH_IN_GROUP(i, n) { dot_product += dy[i] * forward[i]; }
        GROUP_SUM(part, dot_product);
        EACH_IN_GROUP(i, n) { y[i] = scale * forward[i] * (dy[i] - dot_product); }
    }
}

#endif
