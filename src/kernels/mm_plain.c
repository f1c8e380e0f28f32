/*
 * mm_plain.c - the inner loops of matrix products in plain C.
 *
 * Layer: kernels.
 */
#include "kernels/mm_isa.h"

#include <math.h>
#include <string.h>

enum { MR = 8, NR = 4, DOT_LANES = 8, DOT_CHUNK = 256 };

static void tile_plain(const sr__mm_tile *t) {
    float acc[NR][MR];
    memset(acc, 0, sizeof(acc));
    for (int64_t k = 0; k < t->k; k++) {
        const float *a = t->a + (size_t)k * t->lda;
        for (int c = 0; c < t->cols; c++) {
            const float b = t->b[(size_t)c * t->ldb + (size_t)k];
            for (int r = 0; r < MR; r++) {
                acc[c][r] += a[r] * b;
            }
        }
    }
    for (int c = 0; c < t->cols; c++) {
        for (int r = 0; r < t->rows; r++) {
            t->y[c][r] = t->add ? t->y[c][r] + acc[c][r] : acc[c][r];
        }
    }
}

static void transpose_plain(const float *src, size_t ld, int64_t k, float *dst) {
    for (int64_t i = 0; i < k; i++) {
        for (int r = 0; r < MR; r++) {
            dst[i * MR + r] = src[(size_t)r * ld + (size_t)i];
        }
    }
}

/* Eight sums side by side, then added up: the order depends on n alone. */
static float dot_plain(const float *x, const float *y, int64_t n, float lanes[DOT_LANES]) {
    int64_t i = 0;
    for (; i + DOT_LANES <= n; i += DOT_LANES) {
        for (int l = 0; l < DOT_LANES; l++) {
            lanes[l] += x[i + l] * y[i + l];
        }
    }
    float rest = 0.0f;
    for (; i < n; i++) {
        rest += x[i] * y[i];
    }
    return rest;
}

static void dots_plain(const sr__mm_dots *d) {
    const size_t size = (size_t)sr_type_get(d->type)->bytes;
    for (int r = 0; r < d->n_rows; r++) {
        float lanes[SR__MM_DOT_COLS][DOT_LANES], rest[SR__MM_DOT_COLS] = {0}, row[DOT_CHUNK];
        memset(lanes, 0, sizeof(lanes));
        for (int64_t k = 0; k < d->k; k += DOT_CHUNK) {
            const int64_t n = d->k - k < DOT_CHUNK ? d->k - k : DOT_CHUNK;
            sr__row_to_f32(d->type, d->rows[r] + (size_t)k * size, row, n);
            for (int c = 0; c < d->n_cols; c++) {
                rest[c] += dot_plain(row, d->cols[c] + k, n, lanes[c]);
            }
        }
        for (int c = 0; c < d->n_cols; c++) {
            for (int l = 0; l < DOT_LANES; l++) {
                rest[c] += lanes[c][l];
            }
            d->out[r * SR__MM_DOT_COLS + c] = rest[c];
        }
    }
}

static float exps_plain(float *z, int64_t n, float *max) {
    float most = *max, sum = 0.0f;
    for (int64_t i = 0; i < n; i++) {
        most = z[i] > most ? z[i] : most;
    }
    for (int64_t i = 0; i < n; i++) {
        z[i] = z[i] == -INFINITY ? 0.0f : expf(z[i] - most);
        sum += z[i];
    }
    *max = most;
    return sum;
}

static void blend_plain(const sr__mm_blend *b) {
    const int type = b->half ? SR_TYPE_F16 : SR_TYPE_F32;
    const size_t size = b->half ? 2 : 4;
    float row[DOT_CHUNK];
    for (int64_t i = 0; i < b->n; i += DOT_CHUNK) {
        const int64_t n = b->n - i < DOT_CHUNK ? b->n - i : DOT_CHUNK;
        float *acc = b->acc + i;
        for (int64_t r = 0; r < b->n_rows; r++) {
            const float shrink = b->shrink[r], weight = b->weight[r];
            sr__row_to_f32(type, b->rows[r] + (size_t)i * size, row, n);
            for (int64_t k = 0; shrink != 1.0f && k < n; k++) {
                acc[k] = b->half ? sr__f16_to_f32(sr__f32_to_f16(acc[k] * shrink)) : acc[k] * shrink;
            }
            for (int64_t k = 0; k < n; k++) {
                const float sum = fmaf(row[k], weight, acc[k]);
                acc[k] = b->half ? sr__f16_to_f32(sr__f32_to_f16(sum)) : sum;
            }
        }
    }
}

const sr__mm_isa sr__mm_plain = {"plain",    MR,         NR,          tile_plain, transpose_plain,
                                 dots_plain, exps_plain, blend_plain, NULL};
