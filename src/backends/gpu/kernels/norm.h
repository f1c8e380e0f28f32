/*
 * norm.h - NORM, RMS_NORM, L2_NORM, GROUP_NORM, RMS_NORM_BACK: a group of work-items brings a row to a common size.
 *
 * Layer: backends.  Kernel code.  A row is summed up before it is written, so dst may lie where a source does.
 */
#ifndef SR_GPU_NORM_H
#define SR_GPU_NORM_H

KERNEL(gpu_norm)(OPERAND(dst), OPERAND(a), const gpu_int code, const gpu_float eps) {
    LOCAL_ARRAY float part[GPU_GROUP];
    const gpu_long n = dst.ne[0];
    EACH_GROUP(r, N_ROWS(dst)) {
        const gpu_index at = ROW_IN(dst, r);
        GLOBAL const float *x = (GLOBAL const float *)ROW_AT(a, at);
        GLOBAL float *y = (GLOBAL float *)ROW_AT(dst, at);
        float mean = 0.0f, squares = 0.0f;
        if (code == GPU_NORM) {
            float sum = 0.0f;
            EACH_IN_GROUP(i, n) { sum += x[i]; }
            GROUP_SUM(part, sum);
            mean = sum / (float)n;
        }
        EACH_IN_GROUP(i, n) { squares += (x[i] - mean) * (x[i] - mean); }
        GROUP_SUM(part, squares);
        const float scale = code == GPU_L2_NORM ? 1.0f / fmax(sqrt(squares), eps)
                                                : 1.0f / sqrt(squares / (float)n + eps);
        EACH_IN_GROUP(i, n) { y[i] = (x[i] - mean) * scale; }
    }
}

/* The rows of `size` channels are one piece of work; the last channels may be fewer. */
KERNEL(gpu_group_norm)(OPERAND(dst), OPERAND(a), const gpu_long size, const gpu_float eps) {
    LOCAL_ARRAY float part[GPU_GROUP];
    const gpu_long per_cube = (dst.ne[2] + size - 1) / size, plane = dst.ne[0] * dst.ne[1];
    EACH_GROUP(g, per_cube * dst.ne[3]) {
        const gpu_long i3 = g / per_cube, first = (g - i3 * per_cube) * size;
        const gpu_long channels = first + size < dst.ne[2] ? size : dst.ne[2] - first, n = channels * plane;
        float sum = 0.0f, squares = 0.0f;
        EACH_IN_GROUP(i, n) {
            const gpu_index at = index_of(i, dst.ne[0], dst.ne[1], channels);
            sum += *(GLOBAL const float *)ELEMENT(a, at.i0, at.i1, first + at.i2, i3);
        }
        GROUP_SUM(part, sum);
        const float mean = sum / (float)n;
        EACH_IN_GROUP(i, n) {
            const gpu_index at = index_of(i, dst.ne[0], dst.ne[1], channels);
            const float x = *(GLOBAL const float *)ELEMENT(a, at.i0, at.i1, first + at.i2, i3) - mean;
            squares += x * x;
        }
        GROUP_SUM(part, squares);
        const float scale = 1.0f / sqrt(squares / (float)n + eps);
        EACH_IN_GROUP(i, n) {
            const gpu_index at = index_of(i, dst.ne[0], dst.ne[1], channels);
            const float x = *(GLOBAL const float *)ELEMENT(a, at.i0, at.i1, first + at.i2, i3) - mean;
            *(GLOBAL float *)ELEMENT(dst, at.i0, at.i1, first + at.i2, i3) = x * scale;
        }
    }
}

KERNEL(gpu_rms_norm_back)(OPERAND(dst), OPERAND(a), OPERAND(b), const gpu_float eps) {
    LOCAL_ARRAY float part[GPU_GROUP];
    const gpu_long n = dst.ne[0];
    EACH_GROUP(r, N_ROWS(dst)) {
        const gpu_index at = ROW_IN(dst, r);
        GLOBAL const float *dz = (GLOBAL const float *)ROW_AT(a, at), *x = (GLOBAL const float *)ROW_AT(b, at);
        GLOBAL float *y = (GLOBAL float *)ROW_AT(dst, at);
        float squares = 0.0f, products = 0.0f;
        EACH_IN_GROUP(i, n) {
            squares += x[i] * x[i];
            products += x[i] * dz[i];
        }
        GROUP_SUM(part, squares);
        GROUP_SUM(part, products);
        const float share = products / (squares + (float)n * eps), scale = 1.0f / sqrt(squares / (float)n + eps);
        EACH_IN_GROUP(i, n) { y[i] = (dz[i] - x[i] * share) * scale; }
    }
}

#endif
