/*
 * test_kernel_train.c - FLASH_ATTN_BACK, the losses, the optimizer steps, ARANGE and TIMESTEP_EMBEDDING.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

static kh_operand *filled(kh_layout layout, int64_t n0, int64_t n1, int64_t n2, int64_t n3, double min, double max) {
    static uint64_t seed = 1;
    return kh_fill(kh_new(SR_TYPE_F32, layout, n0, n1, n2, n3), seed++, min, max);
}

static void release(kh_case *c) {
    for (int j = 0; j < c->n_src; j++) {
        kh_free(c->src[j]);
    }
    kh_free(c->dst);
}

/* ---- FLASH_ATTN_BACK --------------------------------------------------------------------------------------------- */

enum { Q, K, V, D };

static double *wanted;

static double expect_wanted(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    (void)c;
    return wanted[i[0]];
}

static int64_t round_up(int64_t n) { return (n + 3) / 4 * 4; }

/* The derivative of attention for one query, from its definition. */
static void query_back(const kh_case *c, int64_t t, int64_t h, int64_t b, double *dq, double *dk, double *dv) {
    const int64_t *nq = c->src[Q]->tensor.ne, *nk = c->src[K]->tensor.ne;
    const int64_t depth = nq[0], keys = nk[1], hk = h % nk[2], n = c->params[0] ? keys - nq[1] + t + 1 : keys;
    double w[64], g[64], sum = 0, mean = 0;
    assert_true(keys <= SR_COUNT(w));
    for (int64_t m = 0; m < n; m++) {
        w[m] = g[m] = 0;
        for (int64_t x = 0; x < depth; x++) {
            w[m] += kh_get(c->src[Q], x, t, h, b) * kh_get(c->src[K], x, m, hk, b) / sqrt((double)depth);
            g[m] += kh_get(c->src[V], m, x, hk, b) * kh_get(c->src[D], x, t, h, b);
        }
        w[m] = exp(w[m]);
        sum += w[m];
    }
    for (int64_t m = 0; m < n; m++) {
        w[m] /= sum;
        mean += w[m] * g[m];
    }
    for (int64_t m = 0; m < n; m++) {
        const double e = w[m] * (g[m] - mean) / sqrt((double)depth);
        for (int64_t x = 0; x < depth; x++) {
            dq[((b * nq[2] + h) * nq[1] + t) * depth + x] += e * kh_get(c->src[K], x, m, hk, b);
            dk[((b * nk[2] + hk) * keys + m) * depth + x] += e * kh_get(c->src[Q], x, t, h, b);
            dv[((b * nk[2] + hk) * depth + x) * keys + m] += w[m] * kh_get(c->src[D], x, t, h, b);
        }
    }
}

static kh_case flash_case(kh_layout layout, bool masked, int64_t depth, int64_t n, int64_t m, int64_t h, int64_t hk,
                          int64_t b) {
    kh_case c = {.op = SR_OP_FLASH_ATTN_BACK, .params = {masked}, .n_src = 4};
    c.src[Q] = filled(layout, depth, n, h, b, -1, 1);
    c.src[K] = filled(layout, depth, m, hk, b, -1, 1);
    c.src[V] = filled(layout, m, depth, hk, b, -1, 1);
    c.src[D] = filled(layout, depth, n, h, b, -1, 1);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, round_up(depth * n * h * b) + 2 * round_up(depth * m * hk * b), 1, 1, 1);
    return c;
}

static void check_flash(kh_case *c) {
    const int64_t n_q = sr_tensor_nelements(&c->src[Q]->tensor), n_k = sr_tensor_nelements(&c->src[K]->tensor);
    wanted = calloc((size_t)c->dst->tensor.ne[0], sizeof(*wanted));
    assert_non_null(wanted);
    double *dk = wanted + round_up(n_q), *dv = dk + round_up(n_k);
    for (int64_t b = 0; b < c->src[Q]->tensor.ne[3]; b++) {
        for (int64_t h = 0; h < c->src[Q]->tensor.ne[2]; h++) {
            for (int64_t t = 0; t < c->src[Q]->tensor.ne[1]; t++) {
                query_back(c, t, h, b, wanted, dk, dv);
            }
        }
    }
    kh_check_within(c, expect_wanted, 1e-5);
    free(wanted);
    release(c);
}

static void test_flash_attn_back(void **state) {
    (void)state;
    for (int masked = 0; masked < 2; masked++) {
        for (int layout = KH_CONTIGUOUS; layout <= KH_PERMUTED; layout++) {
            kh_case c = flash_case((kh_layout)layout, masked, 7, 5, 9, 3, 3, 2);
            check_flash(&c);
            c = flash_case((kh_layout)layout, masked, 16, 6, 6, 6, 2, 1);
            check_flash(&c);
            c = flash_case((kh_layout)layout, masked, 1, 1, 33, 4, 1, 1);
            check_flash(&c);
        }
    }
    kh_case c = flash_case(KH_CONTIGUOUS, false, 4, 3, 5, 4, 2, 2);
    kh_check_refused(&c, "several batches");
    release(&c);
    c = flash_case(KH_CONTIGUOUS, false, 4, 6, 5, 2, 2, 1);
    kh_check_refused(&c, "as many keys");
    release(&c);
    c = flash_case(KH_CONTIGUOUS, false, 4, 3, 5, 3, 2, 1);
    kh_check_refused(&c, "multiple");
    release(&c);
    c = flash_case(KH_CONTIGUOUS, false, 4, 3, 5, 2, 2, 1);
    c.dst->tensor.ne[0]--;
    kh_check_refused(&c, "another size");
    release(&c);
}

/* ---- losses ------------------------------------------------------------------------------------------------------ */

static double log_sum_exp(const kh_operand *o, const int64_t i[SR_MAX_DIMS]) {
    double sum = 0;
    for (int64_t k = 0; k < o->tensor.ne[0]; k++) {
        sum += exp(kh_get(o, k, i[1], i[2], i[3]));
    }
    return log(sum);
}

static double rows_of(const kh_operand *o) {
    return (double)sr_tensor_nelements(&o->tensor) / (double)o->tensor.ne[0];
}

static double expect_loss(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    double sum = 0;
    (void)i;
    KH_EACH(c->src[0], k) {
        sum -= kh_get(c->src[1], KH_I(k)) * (kh_get(c->src[0], KH_I(k)) - log_sum_exp(c->src[0], k.at));
    }
    return sum / rows_of(c->src[0]);
}

static double expect_loss_back(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const double p = exp(kh_get(c->src[1], i[0], i[1], i[2], i[3]) - log_sum_exp(c->src[1], i));
    return (p - kh_get(c->src[2], i[0], i[1], i[2], i[3])) * kh_get(c->src[0], 0, 0, 0, 0) / rows_of(c->src[1]);
}

static void test_losses(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 60; n += 29) {
        for (int64_t rows = 1; rows <= 41; rows += 20) {
            const kh_layout layout = rows == 21 ? KH_ROW_GAPS : KH_CONTIGUOUS;
            kh_case c = {.op = SR_OP_CROSS_ENTROPY_LOSS, .n_src = 2};
            c.src[0] = filled(layout, n, rows, 2, 3, -5, 5);
            c.src[1] = filled(layout, n, rows, 2, 3, 0, 1);
            c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 1, 1, 1, 1);
            kh_check(&c, expect_loss);
            c.src[1]->tensor.ne[2] = 1;
            kh_check_refused(&c, "differ in shape");
            release(&c);
            c = (kh_case){.op = SR_OP_CROSS_ENTROPY_LOSS_BACK, .n_src = 3};
            c.src[0] = filled(KH_CONTIGUOUS, 1, 1, 1, 1, 1, 2);
            c.src[1] = filled(KH_CONTIGUOUS, n, rows, 2, 3, -5, 5);
            c.src[2] = filled(KH_CONTIGUOUS, n, rows, 2, 3, 0, 1);
            c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n, rows, 2, 3);
            kh_check(&c, expect_loss_back);
            c.src[0]->tensor.ne[3] = 2;
            kh_check_refused(&c, "one element");
            release(&c);
        }
    }
}

/* Logits far from 0 neither overflow nor lose the result. */
static void test_loss_of_large_logits(void **state) {
    (void)state;
    kh_case c = {.op = SR_OP_CROSS_ENTROPY_LOSS, .n_src = 2};
    c.src[0] = filled(KH_CONTIGUOUS, 3, 1, 1, 1, 0, 0);
    c.src[1] = filled(KH_CONTIGUOUS, 3, 1, 1, 1, 0, 0);
    kh_set(c.src[0], 0, 0, 0, 0, 1e6);
    kh_set(c.src[0], 1, 0, 0, 0, 1e6);
    kh_set(c.src[0], 2, 0, 0, 0, -1e6);
    kh_set(c.src[1], 1, 0, 0, 0, 1);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 1, 1, 1, 1);
    assert_true(kh_run(&c, 3, NULL));
    const int64_t first[SR_MAX_DIMS] = {0};
    kh_same(c.dst, first, log(2), 1e-6);
    release(&c);
}

/* ---- optimizers -------------------------------------------------------------------------------------------------- */

static double next_m(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const double beta = kh_get(c->src[4], 1, 0, 0, 0);
    return kh_get(c->src[2], i[0], i[1], i[2], i[3]) * beta + kh_get(c->src[1], i[0], i[1], i[2], i[3]) * (1 - beta);
}

static double next_v(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const double beta = kh_get(c->src[4], 2, 0, 0, 0), g = kh_get(c->src[1], i[0], i[1], i[2], i[3]);
    return kh_get(c->src[3], i[0], i[1], i[2], i[3]) * beta + g * g * (1 - beta);
}

static double expect_adamw(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    double p[7];
    for (int k = 0; k < 7; k++) {
        p[k] = kh_get(c->src[4], k, 0, 0, 0);
    }
    return kh_get(c->src[0], i[0], i[1], i[2], i[3]) * (1 - p[0] * p[4]) -
           p[0] * next_m(c, i) * p[5] / (sqrt(next_v(c, i) * p[6]) + p[3]);
}

static kh_case adamw_case(kh_layout layout, int64_t n) {
    static const double p[7] = {0.01, 0.9, 0.999, 1e-8, 0.1, 1 / (1 - 0.81), 1 / (1 - 0.998)};
    kh_case c = {.op = SR_OP_OPT_STEP_ADAMW, .n_src = 5};
    for (int j = 0; j < 4; j++) {
        c.src[j] = filled(layout, n, 7, 3, 2, j == 3 ? 0.1 : -1, 1);
    }
    c.src[4] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 7, 1, 1, 1);
    for (int k = 0; k < 7; k++) {
        kh_set(c.src[4], k, 0, 0, 0, p[k]);
    }
    c.dst = kh_alias(c.src[0]);
    return c;
}

static void test_adamw(void **state) {
    (void)state;
    for (int layout = KH_CONTIGUOUS; layout <= KH_PERMUTED; layout++) {
        for (int n_threads = 1; n_threads <= 3; n_threads++) {
            kh_case c = adamw_case((kh_layout)layout, 5), before = adamw_case((kh_layout)layout, 5);
            for (int j = 0; j < c.n_src; j++) {
                memcpy(before.src[j]->memory, c.src[j]->memory, c.src[j]->size);
            }
            assert_null(kh_refuse(&c));
            assert_true(kh_run(&c, n_threads, NULL));
            KH_EACH(c.dst, i) {
                kh_same(c.dst, i.at, expect_adamw(&before, i.at), 1e-5);
                kh_same(c.src[2], i.at, next_m(&before, i.at), 1e-6);
                kh_same(c.src[3], i.at, next_v(&before, i.at), 1e-6);
            }
            kh_check_gaps(c.dst, before.src[0]->memory);
            release(&c);
            release(&before);
        }
    }
    kh_case c = adamw_case(KH_CONTIGUOUS, 4);
    c.src[4]->tensor.ne[0] = 6;
    kh_check_refused(&c, "parameters");
    c.src[4]->tensor.ne[0] = 7, c.src[3]->tensor.ne[3] = 1;
    kh_check_refused(&c, "differ in shape");
    release(&c);
}

static double expect_sgd(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const double alpha = kh_get(c->src[2], 0, 0, 0, 0), wd = kh_get(c->src[2], 1, 0, 0, 0);
    return kh_get(c->src[0], i[0], i[1], i[2], i[3]) * (1 - alpha * wd) -
           alpha * kh_get(c->src[1], i[0], i[1], i[2], i[3]);
}

static void test_sgd(void **state) {
    (void)state;
    for (int layout = KH_CONTIGUOUS; layout <= KH_PERMUTED; layout++) {
        kh_case c = {.op = SR_OP_OPT_STEP_SGD, .n_src = 3};
        c.src[0] = filled((kh_layout)layout, 9, 7, 3, 2, -1, 1);
        c.src[1] = filled((kh_layout)layout, 9, 7, 3, 2, -1, 1);
        c.src[2] = filled(KH_CONTIGUOUS, 2, 1, 1, 1, 0.1, 0.5);
        c.dst = kh_alias(c.src[0]);
        kh_check(&c, expect_sgd);
        c.src[2]->tensor.ne[1] = 2;
        kh_check_refused(&c, "parameters");
        release(&c);
    }
}

/* ---- generators -------------------------------------------------------------------------------------------------- */

static double expect_arange(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const union { int32_t i; float f; } start = {c->params[0]}, step = {c->params[2]};
    return (double)(start.f + step.f * (float)i[0]);
}

static double expect_timestep(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t half = c->params[0] / 2;
    if (i[0] >= 2 * half) {
        return 0;
    }
    const double w = exp(-log((double)c->params[1]) * (double)(i[0] % half) / (double)half);
    const double angle = kh_get(c->src[0], i[1], 0, 0, 0) * w;
    return i[0] < half ? cos(angle) : sin(angle);
}

static void test_generators(void **state) {
    (void)state;
    static const struct { double start, stop, step; int64_t n; } ranges[] = {
        {0, 10, 1, 10}, {-2, 2, 0.3, 14}, {5, 6, 2, 1}, {0, 1000, 0.25, 4000}, {3, -3, -1, 6}};
    for (int r = 0; r < SR_COUNT(ranges); r++) {
        kh_case c = {.op = SR_OP_ARANGE};
        c.params[0] = kh_bits(ranges[r].start), c.params[1] = kh_bits(ranges[r].stop);
        c.params[2] = kh_bits(ranges[r].step);
        c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, ranges[r].n, 1, 1, 1);
        kh_check(&c, expect_arange);
        c.params[2] = 0;
        kh_check_refused(&c, "steps");
        c.params[2] = kh_bits(NAN);
        kh_check_refused(&c, "steps");
        release(&c);
    }
    for (int dim = 1; dim <= 65; dim += 16) {
        kh_case c = {.op = SR_OP_TIMESTEP_EMBEDDING, .params = {dim, 10000}, .n_src = 1};
        c.src[0] = filled(KH_CONTIGUOUS, 11, 1, 1, 1, 0, 20);
        c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, dim, 11, 1, 1);
        kh_check_within(&c, expect_timestep, 1e-5);
        c.params[0] = -1;
        kh_check_refused(&c, "dim");
        release(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flash_attn_back), cmocka_unit_test(test_losses),
        cmocka_unit_test(test_loss_of_large_logits), cmocka_unit_test(test_adamw),
        cmocka_unit_test(test_sgd), cmocka_unit_test(test_generators)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
