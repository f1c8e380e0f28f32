/*
 * test_kernel_rows.c - GET_ROWS, GET_ROWS_BACK, SET_ROWS: types, layouts, indices out of range and equal ones.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

/* ---- GET_ROWS ---------------------------------------------------------------------------------------------------- */

static double got_row(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t index = (int64_t)kh_get(c->src[1], i[1], i[2], i[3], 0);
    return kh_get(c->src[0], i[0], index, i[2], i[3]);
}

static kh_case make_get(int type, int64_t n, kh_layout table, kh_layout indices, kh_layout result) {
    kh_case c = {.op = SR_OP_GET_ROWS, .n_src = 2};
    c.src[0] = kh_fill(kh_new(type, table, n, 11, 3, 2), 1, -90, 90);
    c.src[1] = kh_fill(kh_new(SR_TYPE_I32, indices, 5, 3, 2, 1), 2, 0, 10);
    c.dst = kh_new(type == SR_TYPE_I32 ? SR_TYPE_I32 : SR_TYPE_F32, result, n, 5, 3, 2);
    return c;
}

static void test_get_rows(void **state) {
    (void)state;
    for (int type = 0; type < SR_TYPE_COUNT; type++) {
        if (type == SR_TYPE_I32 || sr__type_can_read(type)) {
            const int64_t block = sr_type_get(type)->block;
            kh_case c = make_get(type, block == 1 ? 37 : 2 * block, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS);
            kh_check_free(&c, got_row);
            c = make_get(type, block == 1 ? 3 : block, KH_PERMUTED, KH_TRANSPOSED, KH_ROW_GAPS);
            kh_check_free(&c, got_row);
        }
    }
}

static void test_get_rows_refusals(void **state) {
    (void)state;
    kh_case c = make_get(SR_TYPE_F32, 6, KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS);
    kh_set(c.src[1], 4, 1, 1, 0, 11);
    kh_check_fails(&c, "index 11, at place 24, is outside 0..10");
    kh_set(c.src[1], 4, 1, 1, 0, -1);
    kh_check_fails(&c, "index -1");
    c.src[0]->tensor.type = SR_TYPE_IQ1_S;
    kh_check_refused(&c, "of this type cannot be read");
    c.src[0]->tensor.type = SR_TYPE_F32;
    c.src[0]->tensor.ne[2] = 2;
    kh_check_refused(&c, "do not fit together");
    c.src[1]->tensor.type = SR_TYPE_I64;
    kh_check_refused(&c, "source 1");
    kh_case_free(&c);
}

/* ---- GET_ROWS_BACK ----------------------------------------------------------------------------------------------- */

static double added_rows(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    double sum = 0;
    for (int64_t r = 0; r < c->src[1]->tensor.ne[0]; r++) {
        sum += (int64_t)kh_get(c->src[1], r, 0, 0, 0) == i[1] ? kh_get(c->src[0], i[0], r, 0, 0) : 0;
    }
    return sum;
}

static void test_get_rows_back(void **state) {
    (void)state;
    for (int half = 0; half < 2; half++) {
        for (int64_t n = 1; n < 700; n += 599) {
            for (int64_t rows = 0; rows < 20; rows += 19) {
                kh_case c = {.op = SR_OP_GET_ROWS_BACK, .n_src = 2};
                c.src[0] = kh_fill(kh_new(half != 0 ? SR_TYPE_F16 : SR_TYPE_F32, KH_ROW_GAPS, n, rows, 1, 1), 1, -1, 1);
                c.src[1] = kh_fill(kh_new(SR_TYPE_I32, KH_SPREAD, rows, 1, 1, 1), 2, 0, 6);
                c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n, 7, 1, 1);
                kh_check_free(&c, added_rows);
            }
        }
    }
}

/* ---- SET_ROWS ---------------------------------------------------------------------------------------------------- */

/* The row that names this one, or what was there; indices do not repeat in these cases. */
static double set_row(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const sr_tensor *a = &c->src[0]->tensor, *b = &c->src[1]->tensor;
    for (int64_t r = 0; r < a->ne[1]; r++) {
        if ((int64_t)kh_get(c->src[1], r, i[2] % b->ne[1], i[3] % b->ne[2], 0) == i[1]) {
            const double x = kh_get(c->src[0], i[0], r, i[2], i[3]);
            return c->dst->tensor.type == SR_TYPE_I32 ? trunc(x) : x;
        }
    }
    return kh_get(c->dst, i[0], i[1], i[2], i[3]);
}

static kh_case make_set(int type, int index_type, int64_t n, kh_layout rows, kh_layout table) {
    kh_case c = {.op = SR_OP_SET_ROWS, .n_src = 3};
    c.src[0] = kh_fill(kh_new(SR_TYPE_F32, rows, n, 4, 6, 2), 1, -1, 1);
    c.src[1] = kh_new(index_type, KH_SPREAD, 4, 3, 2, 1);
    KH_EACH(c.src[1], i) {
        kh_set(c.src[1], KH_I(i), (double)((i.at[0] * 2 + i.at[1] * 3 + i.at[2]) % 9));
    }
    c.src[2] = kh_fill(kh_new(type, table, n, 9, 6, 2), 3, -1, 1);
    c.dst = kh_alias(c.src[2]);
    return c;
}

static void test_set_rows(void **state) {
    (void)state;
    for (int type = 0; type < SR_TYPE_COUNT; type++) {
        const bool readable = type == SR_TYPE_I32 || sr__type_can_read(type);
        if (readable && (type == SR_TYPE_I32 || sr__type_can_write(type))) {
            const int64_t block = sr_type_get(type)->block, n = block == 1 ? 300 : 2 * block;
            const bool coarse = block > 1; /* few bits: only near */
            kh_case c = make_set(type, SR_TYPE_I64, n, KH_CONTIGUOUS, KH_CONTIGUOUS);
            kh_check_within(&c, set_row, coarse ? 2.0 : 8e-3);
            kh_case_free(&c);
            c = make_set(type, SR_TYPE_I32, n, KH_PERMUTED, KH_OUTER_GAPS);
            kh_check_within(&c, set_row, coarse ? 2.0 : 8e-3);
            kh_case_free(&c);
        }
    }
}

/* Quantized rows must hold exactly what the row quantizer makes of them. */
static void test_set_rows_bits(void **state) {
    (void)state;
    for (int type = 0; type < SR_TYPE_COUNT; type++) {
        if (!sr__type_can_write(type)) {
            continue;
        }
        kh_case c = make_set(type, SR_TYPE_I64, 512, KH_CONTIGUOUS, KH_CONTIGUOUS);
        const size_t size = sr_row_size(type, 512);
        char *want = malloc(size);
        assert_non_null(want);
        assert_true(kh_run(&c, 3, NULL));
        for (int64_t r = 0; r < 4; r++) {
            sr__row_from_f32(type, (const float *)(const void *)kh_at(c.src[0], 0, r, 4, 1), want, 512);
            assert_memory_equal(kh_at(c.dst, 0, (r * 2 + 3 + 1) % 9, 4, 1), want, size);
        }
        free(want);
        kh_case_free(&c);
    }
}

static void test_set_rows_equal_indices(void **state) {
    (void)state; /* the last one stays, whatever the team */
    kh_case c = make_set(SR_TYPE_F32, SR_TYPE_I64, 2000, KH_CONTIGUOUS, KH_CONTIGUOUS);
    KH_EACH(c.src[1], i) {
        kh_set(c.src[1], KH_I(i), 5);
    }
    assert_true(kh_run(&c, 3, NULL));
    for (int64_t i0 = 0; i0 < 2000; i0++) {
        assert_true(kh_get(c.dst, i0, 5, 2, 1) == kh_get(c.src[0], i0, 3, 2, 1));
    }
    kh_case_free(&c);
}

static void test_set_rows_refusals(void **state) {
    (void)state;
    kh_case c = make_set(SR_TYPE_F32, SR_TYPE_I64, 8, KH_CONTIGUOUS, KH_CONTIGUOUS);
    kh_set(c.src[1], 2, 1, 0, 0, 9);
    kh_check_fails(&c, "index 9, at place 2, is outside 0..8");
    c.dst->tensor.type = SR_TYPE_IQ3_S;
    kh_check_refused(&c, "cannot be turned into the type");
    c.dst->tensor.type = SR_TYPE_Q4_0;
    kh_check_refused(&c, "whole blocks");
    c.dst->tensor.type = SR_TYPE_F32;
    c.dst->tensor.ne[2] = 5;
    kh_check_refused(&c, "do not fit together");
    kh_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get_rows),      cmocka_unit_test(test_get_rows_refusals),
        cmocka_unit_test(test_get_rows_back), cmocka_unit_test(test_set_rows),
        cmocka_unit_test(test_set_rows_bits), cmocka_unit_test(test_set_rows_equal_indices),
        cmocka_unit_test(test_set_rows_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
