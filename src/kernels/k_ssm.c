/*
 * k_ssm.c - SSM_CONV and SSM_SCAN: the short convolution and the selective scan of state-space models.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_ssm_conv / _ssm_scan (spec: ops-2, section 6).  A scan is sequential
 * in the tokens; heads and sequences are independent, so a thread takes whole heads.
 */
#include <math.h>

#include "kernels/k_operand.h"
#include "kernels/k_vector.h"

/* ---- SSM_CONV ---------------------------------------------------------------------------------------------------- */

static const char *refuse_conv(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {0, SR__TYPE(F32), SR__ROWS}, {1, SR__TYPE(F32), SR__CONTIGUOUS}, {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const sr_tensor *x = args->src[0].tensor, *c = args->src[1].tensor;
    if (x->ne[3] != 1 || c->ne[1] != x->ne[1] || c->ne[2] != 1 || c->ne[3] != 1) {
        return "the input and the kernel differ in channels";
    }
    return sr__has_extents(args->dst.tensor, x->ne[1], x->ne[0] - c->ne[0] + 1, x->ne[2], 1)
               ? NULL : "the result has other extents than channels by tokens by sequences";
}

static void run_conv(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *ne = args->dst.tensor->ne;
    const int64_t width = args->src[1].tensor->ne[0];
    int64_t begin, end;
    sr__task_range(task, ne[1] * ne[2], &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        float *to = sr__f32(&args->dst) + r * ne[0];
        for (int64_t c = 0; c < ne[0]; c++) {
            const float *x = sr__row_f32(&args->src[0], c, r / ne[1], 0) + r % ne[1];
            const float *weights = sr__f32(&args->src[1]) + c * width;
            float sum = 0;
            for (int64_t k = 0; k < width; k++) {
                sum += x[k] * weights[k];
            }
            to[c] = sum;
        }
    }
}

/* ---- SSM_SCAN ---------------------------------------------------------------------------------------------------- */

enum { STATE, X, DT, A, B, C, IDS };

static const char *refuse_scan(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {STATE, SR__TYPE(F32), SR__CONTIGUOUS}, {X, SR__TYPE(F32), SR__ROWS}, {DT, SR__TYPE(F32), SR__CONTIGUOUS},
        {A, SR__TYPE(F32), SR__CONTIGUOUS},     {B, SR__TYPE(F32), SR__ROWS}, {C, SR__TYPE(F32), SR__ROWS},
        {IDS, SR__TYPE(I32), SR__CONTIGUOUS},   {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    if (args->params[0] != 0 && args->params[0] != 1) {
        return "word 0 must be 0 or 1";
    }
    const int64_t *s = args->src[STATE].tensor->ne, *x = args->src[X].tensor->ne;
    const sr_tensor *a = args->src[A].tensor, *b = args->src[B].tensor, *dt = args->src[DT].tensor;
    const int64_t ds = s[0], hd = s[1], nh = s[2], tokens = x[2], sequences = x[3];
    if (x[0] != hd || x[1] != nh || !sr__has_extents(dt, nh, tokens, sequences, 1)) {
        return "the state, x and dt do not match";
    }
    if ((a->ne[0] != 1 && a->ne[0] != ds) || a->ne[1] != nh || a->ne[2] != 1 || a->ne[3] != 1) {
        return "A must be [1 or state size, heads]";
    }
    if (!sr__has_extents(b, ds, b->ne[1], tokens, sequences) || !sr_tensor_same_shape(b, args->src[C].tensor) ||
        b->ne[1] <= 0 || nh % b->ne[1] != 0) {
        return "B and C must be [state size, groups, tokens, sequences]";
    }
    if (!sr__has_extents(args->src[IDS].tensor, sequences, 1, 1, 1)) {
        return "there must be one id a sequence";
    }
    const int64_t heads = sr__times(hd, sr__times(nh, sequences));
    const int64_t y = sr__times(heads, tokens), states = sr__times(heads, ds);
    return y <= INT32_MAX && states <= INT32_MAX && sr__has_extents(args->dst.tensor, y + states, 1, 1, 1)
               ? NULL : "the result has another size than its output and states";
}

/* One token of one head: the state takes in B x dt and is read through C. */
static void scan_token(const sr__kernel_args *args, int64_t h, int64_t t, int64_t q, float *state, float *y) {
    const int64_t ds = args->src[STATE].tensor->ne[0], hd = args->src[STATE].tensor->ne[1];
    const int64_t nh = args->src[STATE].tensor->ne[2], tokens = args->src[X].tensor->ne[2];
    const int64_t group = h / (nh / args->src[B].tensor->ne[1]);
    const bool one_a = args->src[A].tensor->ne[0] == 1;
    const float *a = sr__f32(&args->src[A]) + (one_a ? h : h * ds);
    const float *b = sr__row_f32(&args->src[B], group, t, q), *c = sr__row_f32(&args->src[C], group, t, q);
    const float *x = sr__row_f32(&args->src[X], h, t, q);
    const float raw = sr__f32(&args->src[DT])[(q * tokens + t) * nh + h];
    const float dt = raw > 20 ? raw : log1pf(expf(raw));
    const float decay = expf(dt * a[0]);
    for (int64_t i = 0; i < hd; i++) {
        float *row = state + i * ds;
        const float in = x[i] * dt;
        if (one_a) {
            sr__scale_f32(ds, row, decay);
        } else {
            for (int64_t n = 0; n < ds; n++) {
                row[n] *= expf(dt * a[n]);
            }
        }
        sr__axpy_f32(ds, row, in, b);
        y[i] = sr__dot_f32(ds, row, c);
    }
}

static void run_scan(const sr__kernel_args *args, const sr__task *task) {
    const int64_t *s = args->src[STATE].tensor->ne;
    const int64_t ds = s[0], hd = s[1], nh = s[2], tokens = args->src[X].tensor->ne[2];
    const int64_t sequences = args->src[X].tensor->ne[3];
    const int32_t *ids = (const int32_t *)(const void *)args->src[IDS].data;
    float *y = sr__f32(&args->dst), *states = y + hd * nh * tokens * sequences;
    int64_t begin, end;
    sr__task_range(task, nh * sequences, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t h = i % nh, q = i / nh;
        if (ids[q] < 0 || ids[q] >= s[3]) {
            sr__task_fail(task, "id %d of sequence %d is none of the %d states", (int)ids[q], (int)q, (int)s[3]);
            return;
        }
        float *state = states + i * hd * ds;
        memcpy(state, sr__f32(&args->src[STATE]) + (ids[q] * nh + h) * hd * ds, (size_t)(hd * ds) * sizeof(*state));
        for (int64_t t = 0; t < tokens; t++) {
            scan_token(args, h, t, q, state, y + ((q * tokens + t) * nh + h) * hd);
        }
    }
}

const sr__kernel_info sr__kernel_SSM_CONV = {.run = run_conv, .refuse = refuse_conv, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_SSM_SCAN = {.run = run_scan, .refuse = refuse_scan};
