/*
 * quant_search.c - searches for the scale (and minimum) of a sub-block that give a small weighted error.
 *
 * Layer: graph.  Answers to the make_*_quants functions of ggml-quants.c of the reference.  The results must agree to
 * the bit, so every sum runs over ascending index and every product stands as it is evaluated there.
 */
#include "graph/quant_search.h"

static float search_error(bool square, int n, const float *x, const float *w, const uint8_t *codes, float scale,
                          float low) {
    float sum = 0.0f;
    for (int i = 0; i < n; i++) {
        const float diff = scale * (float)codes[i] + low - x[i];
        sum += w[i] * (square ? diff * diff : fabsf(diff));
    }
    return sum;
}

/* Least squares for the codes c: x = scale * c + low with low <= 0. false: not solvable. */
static bool solve_scale_low(int n, const float *x, const float *w, const uint8_t *c, float sw, float sx,
                            float *out_scale, float *out_low) {
    float l1 = 0.0f, l2 = 0.0f, lx = 0.0f;
    for (int i = 0; i < n; i++) {
        const float q = (float)c[i];
        l1 += w[i] * q;
        l2 += w[i] * q * q;
        lx += w[i] * q * x[i];
    }
    const float det = sw * l2 - l1 * l1;
    if (!(det > 0.0f)) {
        return false;
    }
    *out_scale = (sw * lx - sx * l1) / det;
    *out_low = (l2 * sx - l1 * lx) / det;
    if (*out_low > 0.0f) {
        *out_low = 0.0f;
        *out_scale = lx / l2;
    }
    return true;
}

float sr__search_scale_min(const sr__min_search *how, int n, const float *x, const float *w, uint8_t *codes,
                           float *out_min) {
    float low = x[0], high = x[0], sw = w[0], sx = sw * x[0];
    for (int i = 1; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
        sw += w[i];
        sx += w[i] * x[i];
    }
    low = low > 0.0f ? 0.0f : low;
    if (high == low) {
        memset(codes, 0, (size_t)n);
        *out_min = -low;
        return 0.0f;
    }
    const float nmax = (float)how->nmax;
    float inverse = nmax / (high - low);
    float scale = 1.0f / inverse;
    for (int i = 0; i < n; i++) {
        codes[i] = (uint8_t)sr__clamp_int(sr__nearest_i32(inverse * (x[i] - low)), 0, how->nmax);
    }
    float best = search_error(how->square, n, x, w, codes, scale, low);
    for (int k = 0; k <= how->steps; k++) {
        uint8_t trial[32];
        float trial_scale, trial_low;
        inverse = (how->first + how->step * (float)k + nmax) / (high - low);
        for (int i = 0; i < n; i++) {
            trial[i] = (uint8_t)sr__clamp_int(sr__nearest_i32(inverse * (x[i] - low)), 0, how->nmax);
        }
        if (!solve_scale_low(n, x, w, trial, sw, sx, &trial_scale, &trial_low)) {
            continue;
        }
        const float err = search_error(how->square, n, x, w, trial, trial_scale, trial_low);
        if (err < best) {
            memcpy(codes, trial, (size_t)n);
            best = err;
            scale = trial_scale;
            low = trial_low; /* later trials start from it: so does the reference */
        }
    }
    *out_min = -low;
    return scale;
}

/* Codes of 16 values for an inverse scale, and the sums sx = sum x^3 q, s2 = sum x^2 q^2. */
static void weigh_codes(const float *x, float inverse, int low, int high, int *q, float *out_sx, float *out_s2) {
    float sx = 0.0f, s2 = 0.0f;
    for (int i = 0; i < 16; i++) {
        q[i] = sr__clamp_int(sr__nearest_i32(inverse * x[i]), low, high);
        const float w = x[i] * x[i];
        sx += w * x[i] * (float)q[i];
        s2 += w * (float)q[i] * (float)q[i];
    }
    *out_sx = sx;
    *out_s2 = s2;
}

float sr__search_q6(const float *x, int8_t *codes) {
    float amax, sx, s2;
    const float extreme = sr__signed_extreme(x, 16, &amax);
    int q[16];
    if (amax < 1e-15f) {
        memset(codes, 0, 16);
        return 0.0f;
    }
    weigh_codes(x, -32.0f / extreme, -32, 31, q, &sx, &s2);
    for (int i = 0; i < 16; i++) {
        codes[i] = (int8_t)(q[i] + 32);
    }
    float scale = s2 != 0.0f ? sx / s2 : 0.0f;
    float best = scale * sx;
    for (int k = -9; k <= 9; k++) {
        if (k == 0) {
            continue;
        }
        weigh_codes(x, -(32.0f + 0.1f * (float)k) / extreme, -32, 31, q, &sx, &s2);
        if (s2 > 0.0f && sx * sx > best * s2) {
            for (int i = 0; i < 16; i++) {
                codes[i] = (int8_t)(q[i] + 32);
            }
            scale = sx / s2;
            best = scale * sx;
        }
    }
    return scale;
}

/* One sweep over the codes: each takes the value that fits best while the others stay. */
static bool sweep_q3(const float *x, int *q, float *sx, float *s2) {
    bool changed = false;
    for (int i = 0; i < 16; i++) {
        const float w = x[i] * x[i], old = (float)q[i];
        float a = *sx - w * x[i] * old;
        if (!(a > 0.0f)) {
            continue;
        }
        float b = *s2 - w * old * old;
        const int m = sr__clamp_int(sr__nearest_i32(x[i] * b / a), -4, 3);
        if (m == q[i]) {
            continue;
        }
        a += w * x[i] * (float)m;
        b += w * (float)m * (float)m;
        if (b > 0.0f && a * a * *s2 > *sx * *sx * b) {
            q[i] = m;
            *sx = a;
            *s2 = b;
            changed = true;
        }
    }
    return changed;
}

float sr__search_q3(const float *x, int8_t *codes) {
    float amax, sx, s2;
    const float extreme = sr__signed_extreme(x, 16, &amax);
    int q[16];
    if (amax < 1e-15f) {
        memset(codes, 0, 16);
        return 0.0f;
    }
    weigh_codes(x, -4.0f / extreme, -4, 3, q, &sx, &s2);
    for (int sweep = 0; sweep < 5 && sweep_q3(x, q, &sx, &s2); sweep++) {
    }
    for (int i = 0; i < 16; i++) {
        codes[i] = (int8_t)(q[i] + 4);
    }
    return s2 > 0.0f ? sx / s2 : 0.0f;
}
