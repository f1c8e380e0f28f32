/*
 * resample.h - UPSCALE, PAD, PAD_REFLECT_1D, ROLL, ARANGE, TIMESTEP_EMBEDDING: an item computes an element.
 *
 * Layer: backends.  Kernel code.  Positions are computed in f32 as the CPU computes them: a rounding there picks
 * another source element.
 */
#ifndef SR_GPU_RESAMPLE_H
#define SR_GPU_RESAMPLE_H

/* ---- UPSCALE ----------------------------------------------------------------------------------------------------- */

enum { UPSCALE_NEAREST = 0, UPSCALE_BILINEAR = 1, UPSCALE_BICUBIC = 2 };

DEVICE gpu_long clamped(gpu_long i, gpu_long n) { return i < 0 ? 0 : i < n ? i : n - 1; }
DEVICE gpu_long clamped_float(float x, gpu_long n) {
    return x >= (float)n ? n - 1 : x > 0.0f ? clamped((gpu_long)x, n) : 0;
}

/* Where output i lies on an axis of the source. */
DEVICE float source_at(gpu_long i, float centre, float factor) { return exact_quotient((float)i + centre, factor); }

/* The two neighbours on an axis, and the weight of the second. */
typedef struct gpu_pair {
    gpu_long first, second;
    float weight;
} gpu_pair;

DEVICE gpu_pair neighbours(gpu_long i, gpu_long n, float centre, float factor) {
    const float x = source_at(i, centre, factor) - centre;
    const gpu_long q = (gpu_long)floor(x);
    const gpu_pair p = {clamped(q, n), clamped(q + 1, n), fmin(1.0f, fmax(0.0f, x - (float)clamped(q, n)))};
    return p;
}

/* The cubic convolution kernel with a = -0.75: inside [0, 1] and inside [1, 2]. */
DEVICE float cubic_near(float u) { return (1.25f * u - 2.25f) * u * u + 1.0f; }
DEVICE float cubic_far(float u) { return ((-0.75f * u + 3.75f) * u - 6.0f) * u + 3.0f; }
DEVICE float cubic_weight(gpu_int tap, float t) {
    return tap == 0 ? cubic_far(t + 1.0f) : tap == 1 ? cubic_near(t) : tap == 2 ? cubic_near(1.0f - t)
                                                                                : cubic_far(2.0f - t);
}

/* Antialiasing: a triangle as wide as the step between outputs covers taps begin .. end. */
typedef struct gpu_triangle_taps {
    float x, scale;
    gpu_long begin, end;
} gpu_triangle_taps;

DEVICE gpu_triangle_taps triangle_at(gpu_long i, gpu_long n, float centre, float factor) {
    const float reach = fmax(1.0f, exact_quotient(1.0f, factor)), x = source_at(i, centre, factor);
    const float first = x - reach + centre, last = x + reach + centre;
    const gpu_triangle_taps t = {x, exact_quotient(1.0f, reach), first > 0.0f ? (gpu_long)first : 0,
                                 last < (float)n ? (gpu_long)last : n};
    return t;
}

DEVICE float triangle_weight(const gpu_triangle_taps t, gpu_long tap, float centre) {
    return fmax(1.0f - fabs(((float)tap - t.x + centre) * t.scale), 0.0f);
}

#define PIXEL(x, y) (*(GLOBAL const float *)ELEMENT(a, (x), (y), j2, j3))

KERNEL(gpu_upscale)(OPERAND(dst), OPERAND(a), const gpu_int mode, const gpu_int antialias, const gpu_float centre,
                    const gpu_float f0, const gpu_float f1, const gpu_float f2, const gpu_float f3) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        const gpu_long j2 = clamped_float(source_at(at.i2, 0.0f, f2), a.ne[2]);
        const gpu_long j3 = clamped_float(source_at(at.i3, 0.0f, f3), a.ne[3]);
        float value = 0.0f;
        if (mode == UPSCALE_NEAREST) {
            value = PIXEL(clamped_float(source_at(at.i0, 0.0f, f0), a.ne[0]),
                          clamped_float(source_at(at.i1, 0.0f, f1), a.ne[1]));
        } else if (mode == UPSCALE_BICUBIC) {
            const float x = source_at(at.i0, centre, f0) - centre, y = source_at(at.i1, centre, f1) - centre;
            const gpu_long qx = (gpu_long)floor(x), qy = (gpu_long)floor(y);
            for (gpu_int ky = 0; ky < 4; ky++) {
                float row = 0.0f;
                for (gpu_int kx = 0; kx < 4; kx++) {
                    row += cubic_weight(kx, x - floor(x)) *
                           PIXEL(clamped(qx - 1 + kx, a.ne[0]), clamped(qy - 1 + ky, a.ne[1]));
                }
                value += cubic_weight(ky, y - floor(y)) * row;
            }
        } else if (antialias) {
            const gpu_triangle_taps tx = triangle_at(at.i0, a.ne[0], centre, f0);
            const gpu_triangle_taps ty = triangle_at(at.i1, a.ne[1], centre, f1);
            float total = 0.0f;
            for (gpu_long y = ty.begin; y < ty.end; y++) {
                const float wy = triangle_weight(ty, y, centre);
                for (gpu_long x = tx.begin; x < tx.end; x++) {
                    const float w = triangle_weight(tx, x, centre) * wy;
                    value += w > 0.0f ? w * PIXEL(x, y) : 0.0f;
                    total += w;
                }
            }
            value = total > 0.0f ? value / total : 0.0f;
        } else {
            const gpu_pair x = neighbours(at.i0, a.ne[0], centre, f0), y = neighbours(at.i1, a.ne[1], centre, f1);
            value = PIXEL(x.first, y.first) * (1.0f - x.weight) * (1.0f - y.weight) +
                    PIXEL(x.second, y.first) * x.weight * (1.0f - y.weight) +
                    PIXEL(x.first, y.second) * (1.0f - x.weight) * y.weight +
                    PIXEL(x.second, y.second) * x.weight * y.weight;
        }
        *(GLOBAL float *)ELEMENT_AT(dst, at) = value;
    }
}

/* ---- PAD, ROLL --------------------------------------------------------------------------------------------------- */

/* Place i of the result in a source of n, by kind; below 0: outside. */
DEVICE gpu_long unpadded(gpu_long i, gpu_long left, gpu_long n, gpu_int kind) {
    gpu_long j = i - left;
    if (kind == GPU_PAD_CIRCULAR) {
        j %= n;
        return j < 0 ? j + n : j;
    }
    if (kind == GPU_PAD_REFLECT) {
        j = j < 0 ? -j : j;
        return j < n ? j : 2 * (n - 1) - j;
    }
    return j < n ? j : -1;
}

/* left: what comes before the source in each dimension. */
KERNEL(gpu_pad)(OPERAND(dst), OPERAND(a), const gpu_int kind, const gpu_long left0, const gpu_long left1,
                const gpu_long left2, const gpu_long left3) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        const gpu_long j0 = unpadded(at.i0, left0, a.ne[0], kind), j1 = unpadded(at.i1, left1, a.ne[1], kind);
        const gpu_long j2 = unpadded(at.i2, left2, a.ne[2], kind), j3 = unpadded(at.i3, left3, a.ne[3], kind);
        const gpu_int inside = j0 >= 0 && j1 >= 0 && j2 >= 0 && j3 >= 0;
        *(GLOBAL float *)ELEMENT_AT(dst, at) = inside ? *(GLOBAL const float *)ELEMENT(a, j0, j1, j2, j3) : 0.0f;
    }
}

/* ---- numbers made rather than read ------------------------------------------------------------------------------- */

KERNEL(gpu_arange)(OPERAND(dst), const gpu_float start, const gpu_float step) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        ((GLOBAL float *)(dst_memory + dst.offset))[i] = start + PRODUCT(step, (float)i);
    }
}

KERNEL(gpu_timestep_embedding)(OPERAND(dst), OPERAND(a), const gpu_float log_period) {
    const gpu_long half_size = dst.ne[0] / 2;
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        const gpu_long j = at.i0 < half_size ? at.i0 : at.i0 - half_size;
        const float time = *(GLOBAL const float *)ELEMENT(a, at.i1, 0, 0, 0);
        const float angle = time * exp(exact_quotient(-log_period * (float)j, (float)half_size));
        *(GLOBAL float *)ELEMENT_AT(dst, at) = at.i0 >= 2 * half_size ? 0.0f : at.i0 < half_size ? cos(angle)
                                                                                                : sin(angle);
    }
}

#endif
