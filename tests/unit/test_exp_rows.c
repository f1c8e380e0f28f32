/*
 * test_exp_rows.c - exponentials of rows: how exact they are, what is beyond their range, the same bits everywhere.
 *
 * Layer: tests.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/exp_rows.h"
#include "kernels/mm_isa.h"

enum { N = 1616 + 5 }; /* whole groups, and a rest */

static void fill(float *x) {
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i - N / 2) * 0.12f;
    }
}

static void test_accuracy(void **state) {
    (void)state;
    float x[N], y[N];
    fill(x);
    double want_sum = 0;
    const double sum = sr__exp_rows(x, 10.0f, y, N);
    for (int i = 0; i < N; i++) {
        const double want = exp((double)(x[i] - 10.0f));
        want_sum += want <= 3.4e38 ? (double)y[i] : 0;
        if (want > 3.5e38) {
            assert_true(isinf(y[i]));
        } else if (want < 3.4e38) {
            assert_true(fabs((double)y[i] - want) <= 3e-7 * want + 1.5e-45);
        }
    }
    assert_true(isinf(sum) || fabs(sum - want_sum) <= 1e-6 * want_sum);
}

static void test_out_of_range(void **state) {
    (void)state;
    float x[16] = {INFINITY, -INFINITY, NAN, 1e30f, -1e30f, 200, -200, 0, 89, -104, 88.7f, -87.4f, 1, -1, 2, -2}, y[16];
    (void)sr__exp_rows(x, 0.0f, y, 16);
    assert_true(isinf(y[0]) && y[1] == 0 && isnan(y[2]) && isinf(y[3]) && y[4] == 0 && isinf(y[5]) && y[6] == 0);
    assert_true(y[7] == 1 && isinf(y[8]) && y[9] == 0 && isfinite(y[10]) && y[11] > 0 && y[11] < 1.2e-38f);
    sr__silu_rows(x, NULL, y, 16);
    assert_true(isinf(y[0]) && isnan(y[1]) && isnan(y[2]) && y[3] == 1e30f && y[4] == 0 && y[5] == 200 && y[7] == 0);
}

static void test_silu(void **state) {
    (void)state;
    float x[N], gate[N], y[N], in_place[N];
    fill(x);
    for (int i = 0; i < N; i++) {
        gate[i] = (float)(i % 7 - 3);
    }
    sr__silu_rows(x, gate, y, N);
    memcpy(in_place, x, sizeof(x));
    sr__silu_rows(in_place, gate, in_place, N);
    assert_memory_equal(y, in_place, sizeof(y));
    for (int i = 0; i < N; i++) {
        const double want = (double)x[i] / (1 + exp(-(double)x[i])) * (double)gate[i];
        assert_true(fabs((double)y[i] - want) <= 4e-7 * fabs(want) + 1e-36);
    }
}

static void test_same_everywhere(void **state) {
    (void)state;
    float x[N], y[3][N], s[3][N];
    double sums[3];
    fill(x);
    for (int level = SR__MM_PLAIN; level <= SR__MM_AVX512; level++) {
        (void)sr__mm_isa_limit((sr__mm_level)level);
        sums[level] = sr__exp_rows(x, 120.0f, y[level], N);
        sr__silu_rows(x, NULL, s[level], N);
        assert_true(sums[level] == sums[0]);
        assert_memory_equal(y[level], y[0], sizeof(y[0]));
        assert_memory_equal(s[level], s[0], sizeof(s[0]));
    }
    (void)sr__mm_isa_limit(SR__MM_AVX512);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_silu),
        cmocka_unit_test(test_same_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
