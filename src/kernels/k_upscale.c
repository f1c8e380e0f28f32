/*
 * k_upscale.c - UPSCALE: nearest, bilinear (with or without antialiasing) and bicubic resampling of planes.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_upscale (spec: ops-2, section 3).  Positions are computed in f32 in
 * the reference's order, because a rounding there picks another source element.  Dimensions 2 and 3 are always nearest.
 */
#include <math.h>

#include "kernels/k_operand.h"

enum { MODE_NEAREST = 0, MODE_BILINEAR = 1, MODE_BICUBIC = 2, ALIGN_CORNERS = 256, ANTIALIAS = 512 };

typedef struct upscale {
    const sr__operand *a;
    float factor[SR_MAX_DIMS];
    float centre;              /* offset of a pixel's centre */
} upscale;

static const char *refuse_upscale(const sr__kernel_args *args) {
    static const sr__want wants[] = {{0, SR__TYPE(F32), SR__STRIDED}, {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const int32_t mode = args->params[0];
    if ((mode & 0xFF) > MODE_BICUBIC || (mode & ~(0xFF | ALIGN_CORNERS | ANTIALIAS)) != 0) {
        return "the mode is none of nearest, bilinear, bicubic with known flags";
    }
    return sr_tensor_is_empty(args->src[0].tensor) ? "the source is empty" : NULL;
}

static int64_t clamp(int64_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }

/* An f32 that may be far outside, as a position or the nearest end. */
static int64_t clamp_f32(float x, int64_t n) { return x >= (float)n ? n - 1 : x > 0 ? clamp((int64_t)x, n) : 0; }

static float pixel(const upscale *u, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return *(const float *)(const void *)(sr__row(u->a, i1, i2, i3) + (size_t)i0 * u->a->tensor->nb[0]);
}

static void nearest_row(const upscale *u, const int64_t at[SR_MAX_DIMS], int64_t n, float *to) {
    const int64_t *ne = u->a->tensor->ne;
    const int64_t i1 = clamp_f32((float)at[1] / u->factor[1], ne[1]);
    for (int64_t i = 0; i < n; i++) {
        to[i] = pixel(u, clamp_f32((float)i / u->factor[0], ne[0]), i1, at[2], at[3]);
    }
}

/* The two neighbours of output i on an axis and the weight of the second. */
typedef struct pair { int64_t first, second; float weight; } pair;

static pair neighbours(const upscale *u, int axis, int64_t i) {
    const int64_t n = u->a->tensor->ne[axis];
    const float x = ((float)i + u->centre) / u->factor[axis] - u->centre;
    const int64_t q = (int64_t)floorf(x);
    pair p = {clamp(q, n), clamp(q + 1, n), 0};
    const float t = x - (float)p.first;
    p.weight = t < 0 ? 0 : t > 1 ? 1 : t;
    return p;
}

static void bilinear_row(const upscale *u, const int64_t at[SR_MAX_DIMS], int64_t n, float *to) {
    const pair y = neighbours(u, 1, at[1]);
    for (int64_t i = 0; i < n; i++) {
        const pair x = neighbours(u, 0, i);
        const float a = pixel(u, x.first, y.first, at[2], at[3]), b = pixel(u, x.second, y.first, at[2], at[3]);
        const float c = pixel(u, x.first, y.second, at[2], at[3]), d = pixel(u, x.second, y.second, at[2], at[3]);
        to[i] = a * (1 - x.weight) * (1 - y.weight) + b * x.weight * (1 - y.weight) + c * (1 - x.weight) * y.weight +
                d * x.weight * y.weight;
    }
}

/* Antialiasing: a triangle as wide as the step between outputs covers taps [begin, end) of an axis. */
typedef struct triangle { float x, scale; int64_t begin, end; } triangle;

static triangle triangle_at(const upscale *u, int axis, int64_t i) {
    const int64_t n = u->a->tensor->ne[axis];
    const float reach = fmaxf(1.0f, 1.0f / u->factor[axis]);
    triangle t = {((float)i + u->centre) / u->factor[axis], 1.0f / reach, 0, 0};
    const float first = t.x - reach + u->centre, last = t.x + reach + u->centre;
    t.begin = first > 0 ? (int64_t)first : 0;
    t.end = last < (float)n ? (int64_t)last : n;
    return t;
}

static float triangle_weight(const upscale *u, const triangle *t, int64_t tap) {
    return fmaxf(1.0f - fabsf(((float)tap - t->x + u->centre) * t->scale), 0.0f);
}

static void antialiased_row(const upscale *u, const int64_t at[SR_MAX_DIMS], int64_t n, float *to) {
    const triangle ty = triangle_at(u, 1, at[1]);
    for (int64_t i = 0; i < n; i++) {
        const triangle tx = triangle_at(u, 0, i);
        float sum = 0, total = 0;
        for (int64_t y = ty.begin; y < ty.end; y++) {
            const float wy = triangle_weight(u, &ty, y);
            for (int64_t x = tx.begin; x < tx.end; x++) {
                const float w = triangle_weight(u, &tx, x) * wy;
                if (w > 0) {
                    sum += w * pixel(u, x, y, at[2], at[3]);
                    total += w;
                }
            }
        }
        to[i] = total > 0 ? sum / total : 0;
    }
}

/* The cubic convolution kernel with a = -0.75: inside [0, 1] and inside [1, 2]. */
static float cubic_near(float u) {
    const float a = -0.75f;
    return ((a + 2) * u - (a + 3)) * u * u + 1;
}

static float cubic_far(float u) {
    const float a = -0.75f;
    return ((a * u - 5 * a) * u + 8 * a) * u - 4 * a;
}

typedef struct taps { int64_t at[4]; float weight[4]; } taps;

static taps cubic_taps(const upscale *u, int axis, int64_t i) {
    const int64_t n = u->a->tensor->ne[axis];
    const float x = ((float)i + u->centre) / u->factor[axis] - u->centre;
    const int64_t q = (int64_t)floorf(x);
    const float t = x - floorf(x);
    return (taps){{clamp(q - 1, n), clamp(q, n), clamp(q + 1, n), clamp(q + 2, n)},
                  {cubic_far(t + 1), cubic_near(t), cubic_near(1 - t), cubic_far(2 - t)}};
}

static void bicubic_row(const upscale *u, const int64_t at[SR_MAX_DIMS], int64_t n, float *to) {
    const taps ty = cubic_taps(u, 1, at[1]);
    for (int64_t i = 0; i < n; i++) {
        const taps tx = cubic_taps(u, 0, i);
        float sum = 0;
        for (int y = 0; y < 4; y++) {
            float row = 0;
            for (int x = 0; x < 4; x++) {
                row += tx.weight[x] * pixel(u, tx.at[x], ty.at[y], at[2], at[3]);
            }
            sum += ty.weight[y] * row;
        }
        to[i] = sum;
    }
}

static upscale upscale_of(const sr__kernel_args *args) {
    const int64_t *from = args->src[0].tensor->ne, *to = args->dst.tensor->ne;
    upscale u = {&args->src[0], {0}, 0.5f};
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        u.factor[d] = (float)to[d] / (float)from[d];
    }
    if (args->params[0] & ALIGN_CORNERS) {
        u.centre = 0;
        for (int d = 0; d < 2; d++) {
            u.factor[d] = to[d] > 1 && from[d] > 1 ? (float)(to[d] - 1) / (float)(from[d] - 1) : u.factor[d];
        }
    }
    return u;
}

static void run_upscale(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *ne = args->dst.tensor->ne, *from = args->src[0].tensor->ne;
    const int kind = args->params[0] & 0xFF;
    const upscale u = upscale_of(args);
    int64_t begin, end, at[SR_MAX_DIMS];
    sr__task_range(task, ne[1] * ne[2] * ne[3], &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        float *to = sr__f32(&args->dst) + r * ne[0];
        sr__row_index(ne, r, at);
        at[2] = clamp_f32((float)at[2] / u.factor[2], from[2]);
        at[3] = clamp_f32((float)at[3] / u.factor[3], from[3]);
        if (kind == MODE_NEAREST) {
            nearest_row(&u, at, ne[0], to);
        } else if (kind == MODE_BICUBIC) {
            bicubic_row(&u, at, ne[0], to);
        } else if (args->params[0] & ANTIALIAS) {
            antialiased_row(&u, at, ne[0], to);
        } else {
            bilinear_row(&u, at, ne[0], to);
        }
    }
}

const sr__kernel_info sr__kernel_UPSCALE = {
    .run = run_upscale, .refuse = refuse_upscale, .max_threads = sr__threads_rows};
