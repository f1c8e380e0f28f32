/*
 * test_kernel_recurrent.c - SSM_CONV, SSM_SCAN, RWKV_WKV6, RWKV_WKV7, GATED_LINEAR_ATTN, GATED_DELTA_NET, SOLVE_TRI.
 *
 * Layer: tests.  The recurrences are evaluated in f64 into an array as long as the result, which is then compared.
 */
#include "../support/kernel_harness.h"

/* What the result of the case at hand must be, element after element. */
static double *wanted;

static double expect_wanted(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t *ne = c->dst->tensor.ne;
    return wanted[((i[3] * ne[2] + i[2]) * ne[1] + i[1]) * ne[0] + i[0]];
}

static double *new_doubles(int64_t n) {
    double *p = calloc((size_t)n + 1, sizeof(*p));
    assert_non_null(p);
    return p;
}

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

/* Element i of a contiguous operand. */
static double flat(const kh_operand *o, int64_t i) {
    float x;
    memcpy(&x, o->memory + (size_t)i * sizeof(x), sizeof(x));
    return (double)x;
}

static void finish(kh_case *c) {
    kh_check_within(c, expect_wanted, 2e-5);
    free(wanted);
    wanted = NULL;
    release(c);
}

/* ---- state space ------------------------------------------------------------------------------------------------- */

static double expect_conv(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    double sum = 0;
    for (int64_t k = 0; k < c->src[1]->tensor.ne[0]; k++) {
        sum += kh_get(c->src[0], i[1] + k, i[0], i[2], 0) * kh_get(c->src[1], k, i[0], 0, 0);
    }
    return sum;
}

static void test_ssm_conv(void **state) {
    (void)state;
    for (int64_t k = 1; k <= 9; k += 4) {
        for (int64_t tokens = 1; tokens <= 50; tokens += 7) {
            kh_case c = {.op = SR_OP_SSM_CONV, .n_src = 2};
            c.src[0] = filled(KH_CONTIGUOUS, k - 1 + tokens, 33, 3, 1, -1, 1);
            c.src[1] = filled(KH_CONTIGUOUS, k, 33, 1, 1, -1, 1);
            c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 33, tokens, 3, 1);
            kh_check(&c, expect_conv);
            release(&c);
        }
    }
}

enum { STATE, X, DT, A, B, C, IDS };

static void scan(const kh_case *c) {
    const int64_t *s = c->src[STATE]->tensor.ne, ds = s[0], hd = s[1], nh = s[2];
    const int64_t tokens = c->src[X]->tensor.ne[2], sequences = c->src[X]->tensor.ne[3], ng = c->src[B]->tensor.ne[1];
    const int64_t y_size = hd * nh * tokens * sequences;
    wanted = new_doubles(y_size + ds * hd * nh * sequences);
    for (int64_t q = 0; q < sequences; q++) {
        const int64_t slot = (int64_t)kh_get(c->src[IDS], q, 0, 0, 0);
        for (int64_t h = 0; h < nh; h++) {
            for (int64_t i = 0; i < hd; i++) {
                double *state = wanted + y_size + ((q * nh + h) * hd + i) * ds;
                for (int64_t n = 0; n < ds; n++) {
                    state[n] = kh_get(c->src[STATE], n, i, h, slot);
                }
                for (int64_t t = 0; t < tokens; t++) {
                    const double raw = kh_get(c->src[DT], h, t, q, 0), dt = raw > 20 ? raw : log1p(exp(raw));
                    double sum = 0;
                    for (int64_t n = 0; n < ds; n++) {
                        const double a = kh_get(c->src[A], c->src[A]->tensor.ne[0] == 1 ? 0 : n, h, 0, 0);
                        state[n] = state[n] * exp(dt * a) +
                                   kh_get(c->src[B], n, h / (nh / ng), t, q) * kh_get(c->src[X], i, h, t, q) * dt;
                        sum += state[n] * kh_get(c->src[C], n, h / (nh / ng), t, q);
                    }
                    wanted[((q * tokens + t) * nh + h) * hd + i] = sum;
                }
            }
        }
    }
}

static kh_case scan_case(bool one_a, kh_layout layout, int64_t ds, int64_t hd, int64_t nh, int64_t ng, int64_t tokens,
                         int64_t sequences) {
    kh_case c = {.op = SR_OP_SSM_SCAN, .params = {one_a}, .n_src = 7};
    c.src[STATE] = filled(KH_CONTIGUOUS, ds, hd, nh, sequences + 2, -1, 1);
    c.src[X] = filled(layout, hd, nh, tokens, sequences, -1, 1);
    c.src[DT] = filled(KH_CONTIGUOUS, nh, tokens, sequences, 1, -3, 1);
    kh_set(c.src[DT], 0, 0, 0, 0, 21);
    c.src[A] = filled(KH_CONTIGUOUS, one_a ? 1 : ds, nh, 1, 1, -1, -0.1);
    c.src[B] = filled(layout, ds, ng, tokens, sequences, -1, 1);
    c.src[C] = filled(layout, ds, ng, tokens, sequences, -1, 1);
    c.src[IDS] = kh_new(SR_TYPE_I32, KH_CONTIGUOUS, sequences, 1, 1, 1);
    for (int64_t q = 0; q < sequences; q++) {
        kh_set(c.src[IDS], q, 0, 0, 0, (double)(sequences + 1 - q));
    }
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, (tokens + ds) * hd * nh * sequences, 1, 1, 1);
    return c;
}

static void test_ssm_scan(void **state) {
    (void)state;
    for (int one_a = 0; one_a < 2; one_a++) {
        for (int layout = KH_CONTIGUOUS; layout <= KH_PERMUTED; layout++) {
            kh_case c = scan_case(one_a, (kh_layout)layout, 16, 4, 6, 3, 5, 2);
            scan(&c);
            finish(&c);
            c = scan_case(one_a, (kh_layout)layout, 13, 1, 40, 1, 9, 3);
            scan(&c);
            finish(&c);
        }
    }
}

static void test_ssm_refusals(void **state) {
    (void)state;
    kh_case c = scan_case(false, KH_CONTIGUOUS, 16, 4, 6, 3, 5, 2);
    kh_set(c.src[IDS], 1, 0, 0, 0, 4);
    kh_check_fails(&c, "id 4 of sequence 1 is none of the 4 states");
    kh_set(c.src[IDS], 1, 0, 0, 0, -1);
    kh_check_fails(&c, "id -1");
    c.params[0] = 2;
    kh_check_refused(&c, "word 0");
    c.params[0] = 0, c.src[STATE]->tensor.type = SR_TYPE_F16;
    kh_check_refused(&c, "source 0 must be f32");
    c.src[STATE]->tensor.type = SR_TYPE_F32, c.src[IDS]->tensor.type = SR_TYPE_F32;
    kh_check_refused(&c, "source 6 must be i32");
    c.src[IDS]->tensor.type = SR_TYPE_I32, c.dst->tensor.ne[0]--;
    kh_check_refused(&c, "another size");
    release(&c);
    c = scan_case(false, KH_CONTIGUOUS, 16, 4, 6, 4, 5, 2);
    kh_check_refused(&c, "groups");
    release(&c);
}

/* ---- a matrix of state for each head ----------------------------------------------------------------------------- */

/* One head's step of a token, in f64: fields of the token, its state and its output. */
typedef void (*step_fn)(const kh_case *c, int64_t at, int64_t h, int64_t n, double *state, double *y);

static void run_heads(const kh_case *c, int state_place, step_fn step) {
    const int64_t *ne = c->src[0]->tensor.ne, n = ne[0], heads = ne[1], tokens = ne[2];
    const int64_t sequences = c->src[state_place]->tensor.ne[1], row = n * heads;
    wanted = new_doubles(row * (tokens + n * sequences));
    double *states = wanted + row * tokens;
    for (int64_t i = 0; i < row * n * sequences; i++) {
        states[i] = flat(c->src[state_place], i);
    }
    for (int64_t t = 0; t < tokens; t++) {
        for (int64_t h = 0; h < heads; h++) {
            const int64_t at = (t * heads + h) * n, q = t / (tokens / sequences);
            step(c, at, h, n, states + (q * heads + h) * n * n, wanted + at);
        }
    }
}

static void step_wkv6(const kh_case *c, int64_t at, int64_t h, int64_t n, double *state, double *y) {
    for (int64_t i = 0; i < n; i++) {
        const double k = flat(c->src[0], at + i), r = flat(c->src[2], at + i), tf = flat(c->src[3], h * n + i);
        const double td = flat(c->src[4], at + i);
        for (int64_t j = 0; j < n; j++) {
            const double kv = k * flat(c->src[1], at + j);
            y[j] += r * (tf * kv + state[i * n + j]);
            state[i * n + j] = td * state[i * n + j] + kv;
        }
    }
}

static void step_gla(const kh_case *c, int64_t at, int64_t h, int64_t n, double *state, double *y) {
    (void)h;
    for (int64_t i = 0; i < n; i++) {
        const double k = flat(c->src[0], at + i), q = flat(c->src[2], at + i), g = flat(c->src[3], at + i);
        for (int64_t j = 0; j < n; j++) {
            state[i * n + j] = g * state[i * n + j] + k * flat(c->src[1], at + j);
            y[j] += 0.25 * q * state[i * n + j];
        }
    }
}

static void step_wkv7(const kh_case *c, int64_t at, int64_t h, int64_t n, double *state, double *y) {
    (void)h;
    for (int64_t i = 0; i < n; i++) {
        double z = 0;
        for (int64_t j = 0; j < n; j++) {
            z += flat(c->src[4], at + j) * state[i * n + j];
        }
        for (int64_t j = 0; j < n; j++) {
            state[i * n + j] = flat(c->src[1], at + j) * state[i * n + j] +
                               flat(c->src[3], at + i) * flat(c->src[2], at + j) + z * flat(c->src[5], at + j);
            y[i] += flat(c->src[0], at + j) * state[i * n + j];
        }
    }
}

static kh_case heads_case(int op, int64_t n, int64_t heads, int64_t tokens, int64_t sequences) {
    const int n_token = op == SR_OP_RWKV_WKV6 ? 5 : op == SR_OP_RWKV_WKV7 ? 6 : 4;
    kh_case c = {.op = op, .n_src = n_token + 1};
    for (int j = 0; j < n_token; j++) {
        c.src[j] = filled(KH_CONTIGUOUS, n, heads, tokens, 1, -0.5, 0.5);
    }
    if (op == SR_OP_RWKV_WKV6) {
        kh_free(c.src[3]);
        c.src[3] = filled(KH_CONTIGUOUS, n, heads, 1, 1, -1, 1);
    } else if (op == SR_OP_GATED_LINEAR_ATTN) {
        c.params[0] = kh_bits(0.25);
    }
    c.src[n_token] = filled(KH_CONTIGUOUS, n * n * heads, sequences, 1, 1, -1, 1);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n * heads, tokens + n * sequences, 1, 1);
    return c;
}

static const struct { int op; step_fn step; } head_ops[] = {
    {SR_OP_RWKV_WKV6, step_wkv6}, {SR_OP_GATED_LINEAR_ATTN, step_gla}, {SR_OP_RWKV_WKV7, step_wkv7}};

static void test_heads(void **state) {
    (void)state;
    for (int o = 0; o < SR_COUNT(head_ops); o++) {
        for (int64_t n = 3; n <= 32; n += n < 8 ? 5 : 24) {
            for (int64_t sequences = 1; sequences <= 3; sequences++) {
                for (int64_t each = 1; each <= 4; each += 3) {
                    kh_case c = heads_case(head_ops[o].op, n, 4, each * sequences, sequences);
                    run_heads(&c, c.n_src - 1, head_ops[o].step);
                    finish(&c);
                }
            }
        }
    }
}

static void test_head_refusals(void **state) {
    (void)state;
    for (int o = 0; o < SR_COUNT(head_ops); o++) {
        kh_case c = heads_case(head_ops[o].op, 4, 2, 5, 2);
        kh_check_refused(&c, "do not divide");
        release(&c);
        c = heads_case(head_ops[o].op, 4, 2, 1, 2);
        kh_check_refused(&c, "do not divide");
        release(&c);
        c = heads_case(head_ops[o].op, 4, 2, 4, 2);
        c.src[1]->tensor.ne[3] = 2;
        kh_check_refused(&c, "differ in head size");
        c.src[1]->tensor.ne[3] = 1, c.dst->tensor.ne[2] = 2;
        kh_check_refused(&c, "other extents");
        c.dst->tensor.ne[2] = 1, c.src[c.n_src - 1]->tensor.ne[1] = 0;
        kh_check_refused(&c, "do not divide");
        c.src[c.n_src - 1]->tensor.ne[1] = 2, c.src[c.n_src - 1]->tensor.ne[3] = 2;
        kh_check_refused(&c, "state has another size");
        release(&c);
    }
}

/* ---- GATED_DELTA_NET --------------------------------------------------------------------------------------------- */

enum { Q, K, V, G, BETA, DELTA_STATE };

static void delta_token(const kh_case *c, int64_t h, int64_t t, int64_t b, double *state, double *y) {
    const int64_t *ne = c->src[V]->tensor.ne, *nq = c->src[Q]->tensor.ne, *nk = c->src[K]->tensor.ne, n = ne[0];
    const int64_t bq = b / (ne[3] / nq[3]), bk = b / (ne[3] / nk[3]);
    for (int64_t j = 0; j < n; j++) {
        double predicted = 0;
        for (int64_t i = 0; i < n; i++) {
            state[j * n + i] *= exp(kh_get(c->src[G], c->src[G]->tensor.ne[0] == 1 ? 0 : i, h, t, b));
            predicted += state[j * n + i] * kh_get(c->src[K], i, h % nk[1], t, bk);
        }
        const double delta = kh_get(c->src[BETA], 0, h, t, b) * (kh_get(c->src[V], j, h, t, b) - predicted);
        for (int64_t i = 0; i < n; i++) {
            state[j * n + i] += kh_get(c->src[K], i, h % nk[1], t, bk) * delta;
            y[j] += state[j * n + i] * kh_get(c->src[Q], i, h % nq[1], t, bq) / sqrt((double)n);
        }
    }
}

static void delta_net(const kh_case *c) {
    const int64_t *ne = c->src[V]->tensor.ne, n = ne[0], heads = ne[1], tokens = ne[2], batches = ne[3];
    const int64_t y_size = n * heads * tokens * batches, n_state = n * n * heads * batches;
    wanted = new_doubles(y_size + n_state);
    for (int64_t i = 0; i < n_state; i++) {
        wanted[y_size + i] = flat(c->src[DELTA_STATE], i);
    }
    for (int64_t b = 0; b < batches; b++) {
        for (int64_t h = 0; h < heads; h++) {
            for (int64_t t = 0; t < tokens; t++) {
                delta_token(c, h, t, b, wanted + y_size + (b * heads + h) * n * n,
                            wanted + ((b * tokens + t) * heads + h) * n);
            }
        }
    }
}

static kh_case delta_case(kh_layout layout, bool vector_g, int64_t n, int64_t hq, int64_t hk, int64_t bq) {
    const int64_t heads = 6, tokens = 5, batches = 2;
    kh_case c = {.op = SR_OP_GATED_DELTA_NET, .params = {vector_g}, .n_src = 6};
    c.src[Q] = filled(layout, n, hq, tokens, bq, -0.5, 0.5);
    c.src[K] = filled(layout, n, hk, tokens, 3 - bq, -0.5, 0.5);
    c.src[V] = filled(layout, n, heads, tokens, batches, -1, 1);
    c.src[G] = filled(KH_CONTIGUOUS, vector_g ? n : 1, heads, tokens, batches, -1, 0);
    c.src[BETA] = filled(KH_CONTIGUOUS, 1, heads, tokens, batches, 0, 1);
    c.src[DELTA_STATE] = filled(KH_CONTIGUOUS, n * n * heads, batches, 1, 1, -1, 1);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n * heads, (tokens + n) * batches, 1, 1);
    return c;
}

static void test_delta_net(void **state) {
    (void)state;
    for (int layout = KH_CONTIGUOUS; layout <= KH_PERMUTED; layout++) {
        for (int vector_g = 0; vector_g < 2; vector_g++) {
            for (int64_t n = 3; n <= 19; n += 8) {
                kh_case c = delta_case((kh_layout)layout, vector_g, n, 3, 6, 1);
                delta_net(&c);
                finish(&c);
                c = delta_case((kh_layout)layout, vector_g, n, 2, 1, 2);
                delta_net(&c);
                finish(&c);
            }
        }
    }
    kh_case c = delta_case(KH_CONTIGUOUS, false, 4, 4, 6, 1);
    kh_check_refused(&c, "multiple");
    release(&c);
    c = delta_case(KH_CONTIGUOUS, false, 4, 3, 6, 1);
    c.params[0] = 2;
    kh_check_refused(&c, "snapshot");
    c.params[0] = 0, c.dst->tensor.ne[2] = 2;
    kh_check_refused(&c, "other extents");
    c.dst->tensor.ne[2] = 1, c.src[Q]->tensor.ne[1] = 0;
    kh_check_refused(&c, "multiple");
    release(&c);
}

/* ---- SOLVE_TRI --------------------------------------------------------------------------------------------------- */

static double expect_solve(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    double x[64];
    assert_true(i[1] < SR_COUNT(x));
    for (int64_t r = 0; r <= i[1]; r++) {
        x[r] = kh_get(c->src[1], i[0], r, i[2], i[3]);
        for (int64_t t = 0; t < r; t++) {
            x[r] -= kh_get(c->src[0], t, r, i[2], i[3]) * x[t];
        }
        x[r] /= kh_get(c->src[0], r, r, i[2], i[3]);
    }
    return x[i[1]];
}

static void test_solve(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 40; n += 13) {
        for (int64_t k = 1; k <= 150; k += 149 / 2) {
            kh_case c = {.op = SR_OP_SOLVE_TRI, .n_src = 2};
            c.src[0] = filled(KH_CONTIGUOUS, n, n, 2, 3, -1.0 / (double)n, 1.0 / (double)n);
            for (int64_t i = 0; i < n * 6; i++) {
                kh_set(c.src[0], i % n, i % n, i / n % 2, i / n / 2, 1 + (double)(i % 3));
            }
            c.src[1] = filled(KH_CONTIGUOUS, k, n, 2, 3, -1, 1);
            c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, k, n, 2, 3);
            kh_check(&c, expect_solve);
            c.src[0]->tensor.ne[0]++;
            c.src[0]->tensor.nb[1] += sizeof(float), c.src[0]->tensor.nb[2] += sizeof(float) * (size_t)n;
            c.src[0]->tensor.nb[3] += 2 * sizeof(float) * (size_t)n;
            kh_check_refused(&c, "square");
            release(&c);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ssm_conv), cmocka_unit_test(test_ssm_scan),      cmocka_unit_test(test_ssm_refusals),
        cmocka_unit_test(test_heads),    cmocka_unit_test(test_head_refusals), cmocka_unit_test(test_delta_net),
        cmocka_unit_test(test_solve)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
