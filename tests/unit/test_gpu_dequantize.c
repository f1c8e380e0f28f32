/*
 * test_gpu_dequantize.c - the device's dequantizers give the host's values to the bit, for random blocks of each type.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/host_language.h"

#include "backends/gpu/kernels/operand.h"

#include "backends/gpu/kernels/dequantize.h"

enum { N = 4096, ROUNDS = 50 };

static uint64_t seed = 7;

static uint8_t random_byte(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint8_t)(seed >> 40);
}

/* Where both are NaN any NaN will do. */
static bool same(float a, float b) { return (isnan(a) && isnan(b)) || sr__bits_of_f32(a) == sr__bits_of_f32(b); }

static void check_row(int type, const uint8_t *row) {
    float expect[N], eight[8];
    sr__row_to_f32(type, row, expect, N);
    for (int64_t i = 0; i < N; i++) {
        const float one = row_value(type, row, i);
        if (i % 8 == 0) {
            row_values_8(type, row, i, N, eight);
        }
        if (!same(one, expect[i]) || !same(eight[i % 8], expect[i])) {
            fail_msg("%s, value %d: %a and %a, not %a", sr_type_get(type)->name, (int)i, (double)one,
                     (double)eight[i % 8], (double)expect[i]);
        }
    }
}

static void test_types(void **state) {
    (void)state;
    _Alignas(8) static uint8_t row[N * 4];
    int n_types = 0;
    for (int type = 0; type < SR_TYPE_COUNT; type++) {
        if (!sr__type_can_read(type)) {
            continue;
        }
        n_types++;
        for (int round = 0; round < ROUNDS; round++) {
            for (size_t i = 0; i < sizeof(row); i++) {
                row[i] = random_byte();
            }
            check_row(type, row);
        }
    }
    assert_int_equal(n_types, 20);
}

/* q8_1 and q8_K have no reader on the host: their values are scale times code. */
static void test_companions(void **state) {
    (void)state;
    _Alignas(8) uint8_t row[292];
    float x[256];
    for (int i = 0; i < 256; i++) {
        x[i] = (float)(int8_t)random_byte() / 64.0f;
    }
    sr__row_from_f32(SR_TYPE_Q8_K, x, row, 256);
    const float d = sr__f32_of_bits((uint32_t)row[0] | (uint32_t)row[1] << 8 | (uint32_t)row[2] << 16 |
                                    (uint32_t)row[3] << 24);
    for (int i = 0; i < 256; i++) {
        assert_true(same(row_value(SR_TYPE_Q8_K, row, i), d * (float)(int8_t)row[4 + i]));
    }
    sr__row_from_f32(SR_TYPE_Q8_1, x, row, 64);
    for (int i = 0; i < 64; i++) {
        const uint8_t *block = row + i / 32 * 36;
        assert_true(same(row_value(SR_TYPE_Q8_1, row, i), LOAD_HALF(block) * (float)(int8_t)block[4 + i % 32]));
    }
}

/* Rows of plain types may end anywhere: zeros follow. */
static void test_tails(void **state) {
    (void)state;
    const float row[11] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    float eight[8];
    row_values_8(SR_TYPE_F32, (const uint8_t *)row, 8, 11, eight);
    for (int e = 0; e < 8; e++) {
        assert_true(eight[e] == (e < 3 ? (float)(9 + e) : 0.0f));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_companions),
        cmocka_unit_test(test_tails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
