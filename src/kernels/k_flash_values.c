/*
 * k_flash_values.c - FLASH_ATTN_EXT: the weights of a tile of keys, and the sums of values under them.
 *
 * Layer: kernels.  Answers to the inner loops of ggml_compute_forward_flash_attn_ext of the reference.  Two ways: a
 * tile at a time, as a matrix product in f32; or key by key, for few columns, and where every key's value must be added
 * with the rounding that the reference has.  Maximum and sum of the exponentials run along.
 */
#include "kernels/k_flash.h"

#include <math.h>

enum { KEYS = SR__FLASH_KEYS };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Values as floats, padded with zeros. */
static void load_values(const sr__flash_plan *p, const sr__flash_item *it, int64_t j0, int64_t keys,
                        const sr__flash_work *w) {
    const int type = p->args->src[2].tensor->type;
    for (int64_t j = 0; j < KEYS; j++) {
        float *to = w->values + j * p->dv_padded;
        const int64_t have = j < keys ? p->dv : 0;
        if (have > 0) {
            sr__row_to_f32(type, sr__flash_row(p, it, 2, j0 + j), to, have);
        }
        memset(to + have, 0, (size_t)(p->dv_padded - have) * sizeof(float));
    }
}

/* ---- a tile at a time -------------------------------------------------------------------------------------------- */

/* Steps of eight, whose loops compilers turn into vectors; n is a multiple of eight. */
enum { LANES = 8 };

static void shrink_floats(float *x, int64_t n, float by) {
    for (int64_t i = 0; i < n; i += LANES) {
        for (int l = 0; l < LANES; l++) {
            x[i + l] *= by;
        }
    }
}

static bool all_finite(const float *x, int64_t n) {
    uint32_t odd[LANES] = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        uint32_t bits[LANES];
        memcpy(bits, x + i, sizeof(bits));
        for (int l = 0; l < LANES; l++) { /* an exponent of ones carries into the sign's place */
            odd[l] |= (bits[l] & 0x7FFFFFFFu) + 0x00800000u;
        }
    }
    for (int l = 1; l < LANES; l++) {
        odd[0] |= odd[l];
    }
    return (odd[0] & 0x80000000u) == 0;
}

/* Exponentials of a column against the new maximum; what was summed before shrinks to it. */
static void weigh_tile(const sr__flash_plan *p, int64_t c, const sr__flash_work *w) {
    const float before = w->max[c];
    const float sum = p->shape.isa->exps(w->z + (size_t)c * w->z_ld, KEYS, &w->max[c]);
    if (w->max[c] > before && before > -INFINITY) {
        const float shrink = expf(before - w->max[c]);
        w->sum[c] *= shrink;
        shrink_floats(w->out + c * p->dv_padded, p->dv_padded, shrink);
    }
    w->sum[c] += sum;
}

/* Values that are not finite must not meet the weight of 0 of a masked key: they are added here, and zeroed. */
static void add_odd_values(const sr__flash_plan *p, const sr__flash_item *it, const sr__flash_work *w) {
    for (int64_t j = 0; j < KEYS; j++) {
        float *value = w->values + j * p->dv_padded;
        if (all_finite(value, p->dv_padded)) {
            continue;
        }
        for (int64_t c = 0; c < it->columns; c++) {
            const float weight = w->z[(size_t)c * w->z_ld + (size_t)j];
            for (int64_t d = 0; weight != 0.0f && d < p->dv; d++) {
                w->out[c * p->dv_padded + d] += weight * value[d];
            }
        }
        memset(value, 0, (size_t)p->dv * sizeof(float));
    }
}

static void add_tile(const sr__flash_plan *p, const sr__flash_item *it, const sr__flash_work *w) {
    const sr__mm_isa *isa = p->shape.isa;
    for (int64_t c = 0; c < it->columns; c++) {
        weigh_tile(p, c, w);
    }
    if (p->has_mask) {
        add_odd_values(p, it, w);
    }
    for (int64_t c0 = 0; c0 < it->columns; c0 += isa->nr) {
        const int columns = (int)least(isa->nr, it->columns - c0);
        for (int64_t d = 0; d < p->dv_padded; d += isa->mr) {
            float *y[SR__MM_MAX_NR];
            for (int c = 0; c < columns; c++) {
                y[c] = w->out + (c0 + c) * p->dv_padded + d;
            }
            const sr__mm_tile tile = {KEYS, w->values + d, (size_t)p->dv_padded, w->z + (size_t)c0 * w->z_ld, w->z_ld,
                                      y, isa->mr, columns, true};
            isa->tile(&tile);
        }
    }
}

/* ---- key by key -------------------------------------------------------------------------------------------------- */

/* The keys that take part, with the weight of each; where the maximum rises, what was summed before shrinks. */
static int64_t weigh_keys(const sr__flash_plan *p, const sr__flash_item *it, int64_t c, int64_t j0, int64_t keys,
                          bool direct, const sr__flash_work *w) {
    const float *z = w->z + (size_t)c * w->z_ld;
    float max = w->max[c], sum = w->sum[c];
    int64_t n = 0;
    for (int64_t j = 0; j < keys; j++) {
        if (z[j] == -INFINITY) {
            continue;
        }
        w->shrink[n] = w->weight[n] = 1.0f;
        if (z[j] > max) {
            w->shrink[n] = expf(max - z[j]);
            max = z[j];
        } else {
            w->weight[n] = expf(z[j] - max);
        }
        sum = fmaf(sum, w->shrink[n], w->weight[n]);
        w->rows[n++] = direct ? sr__flash_row(p, it, 2, j0 + j) : (const char *)(w->values + j * p->dv_padded);
    }
    w->max[c] = max;
    w->sum[c] = sum;
    return n;
}

static void add_keys(const sr__flash_plan *p, const sr__flash_item *it, int64_t j0, int64_t keys,
                     const sr__flash_work *w) {
    const bool direct = p->half || p->args->src[2].tensor->type == SR_TYPE_F32;
    if (!direct) {
        load_values(p, it, j0, keys, w);
    }
    for (int64_t c = 0; c < it->columns; c++) {
        const int64_t n = weigh_keys(p, it, c, j0, keys, direct, w);
        const sr__mm_blend blend = {p->dv, n, p->half, w->rows, w->shrink, w->weight, w->out + c * p->dv_padded};
        p->shape.isa->blend(&blend);
    }
}

void sr__flash_add_values(const sr__flash_plan *p, const sr__flash_item *it, int64_t j0, int64_t keys,
                          const sr__flash_work *w) {
    if (p->by_key) {
        add_keys(p, it, j0, keys, w);
    } else {
        load_values(p, it, j0, keys, w);
        add_tile(p, it, w);
    }
}
