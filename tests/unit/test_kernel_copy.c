/*
 * test_kernel_copy.c - CPY, DUP, CONT: every pair of types that is converted, every pair of layouts, other shapes.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

/* The element of the source with the place in logical order of element i of the result. */
static double source_element(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t *to = c->dst->tensor.ne, *from = c->src[0]->tensor.ne;
    int64_t at = ((i[3] * to[2] + i[2]) * to[1] + i[1]) * to[0] + i[0], j[SR_MAX_DIMS];
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        j[d] = at % from[d];
        at /= from[d];
    }
    const double x = kh_get(c->src[0], j[0], j[1], j[2], j[3]);
    return c->dst->tensor.type == SR_TYPE_I32 ? trunc(x) : x;
}

/* How far a value may be off after quantization of values within +-1. */
static double allowed(int from, int to) {
    const bool to_blocks = sr_type_get(to)->quantized && !sr_type_get(from)->quantized;
    return to_blocks ? 2.0 : to == SR_TYPE_F16 || to == SR_TYPE_BF16 ? 8e-3 : 0;
}

static void copy(int op, int from, int to, kh_layout from_layout, kh_layout to_layout, const int64_t a[4],
                 const int64_t b[4]) {
    kh_case c = {.op = op, .n_src = op == SR_OP_CPY ? 2 : 1};
    const double range = from >= SR_TYPE_I8 && from <= SR_TYPE_I64 ? 100 : to == SR_TYPE_I32 ? 1000 : 1;
    c.src[0] = kh_fill(kh_new(from, from_layout, a[0], a[1], a[2], a[3]), 1, -range, range);
    c.dst = kh_new(to, to_layout, b[0], b[1], b[2], b[3]);
    if (op == SR_OP_CPY) {
        c.src[1] = kh_alias(c.dst);
    }
    kh_check_within(&c, source_element, allowed(from, to));
    kh_case_free(&c);
}

static const int64_t SMALL[4] = {6, 5, 4, 3}, OTHER[4] = {15, 2, 12, 1}, FLAT[4] = {360, 1, 1, 1};

static void test_layouts(void **state) {
    (void)state;
    static const int TYPES[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_I8, SR_TYPE_I64};
    for (int from = 0; from < KH_LAYOUTS; from++) {
        for (int to = 0; to < KH_LAYOUTS; to++) {
            for (int t = 0; t < SR_COUNT(TYPES); t++) {
                copy(SR_OP_CPY, TYPES[t], TYPES[t], (kh_layout)from, (kh_layout)to, SMALL, SMALL);
                copy(SR_OP_CPY, TYPES[t], TYPES[t], (kh_layout)from, (kh_layout)to, SMALL, OTHER);
            }
            copy(SR_OP_CPY, SR_TYPE_F32, SR_TYPE_F16, (kh_layout)from, (kh_layout)to, OTHER, SMALL);
            copy(SR_OP_CPY, SR_TYPE_BF16, SR_TYPE_F32, (kh_layout)from, (kh_layout)to, FLAT, SMALL);
            copy(SR_OP_CPY, SR_TYPE_F32, SR_TYPE_I32, (kh_layout)from, (kh_layout)to, SMALL, FLAT);
        }
        copy(SR_OP_CONT, SR_TYPE_F32, SR_TYPE_F32, (kh_layout)from, KH_CONTIGUOUS, SMALL, OTHER);
        copy(SR_OP_DUP, SR_TYPE_I32, SR_TYPE_I32, (kh_layout)from, KH_CONTIGUOUS, SMALL, SMALL);
    }
}

static void test_pairs(void **state) {
    (void)state;
    static const int HALVES[] = {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_BF16};
    static const int64_t ROWS[4] = {512, 3, 2, 1}, LONG[4] = {3072, 1, 1, 1}, OTHERS[4] = {768, 2, 1, 2};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            copy(SR_OP_CPY, HALVES[i], HALVES[j], KH_CONTIGUOUS, KH_CONTIGUOUS, ROWS, OTHERS);
        }
        for (int type = 0; type < SR_TYPE_COUNT; type++) {
            if (sr_type_get(type)->quantized && sr__type_can_write(type) && sr__type_can_read(type)) {
                copy(SR_OP_CPY, HALVES[i], type, KH_CONTIGUOUS, KH_CONTIGUOUS, ROWS, ROWS);
                copy(SR_OP_CPY, HALVES[i], type, KH_PERMUTED, KH_CONTIGUOUS, ROWS, LONG);
            }
        }
    }
    for (int type = 0; type < SR_TYPE_COUNT; type++) {
        if (sr_type_get(type)->quantized && sr__type_can_read(type)) {
            copy(SR_OP_CPY, type, SR_TYPE_F32, KH_CONTIGUOUS, KH_ROW_GAPS, ROWS, OTHERS);
            copy(SR_OP_CPY, type, SR_TYPE_F32, KH_ROW_GAPS, KH_CONTIGUOUS, ROWS, LONG);
            copy(SR_OP_CPY, type, type, KH_PERMUTED, KH_OUTER_GAPS, ROWS, ROWS);
            copy(SR_OP_CONT, type, type, KH_PERMUTED, KH_CONTIGUOUS, ROWS, LONG);
        }
    }
    copy(SR_OP_CPY, SR_TYPE_I32, SR_TYPE_F32, KH_TRANSPOSED, KH_SPREAD, SMALL, OTHER);
}

static void test_to_i32(void **state) {
    (void)state; /* toward zero; what has no integer is the least */
    static const double FROM[8] = {1.9, -1.9, 0.5, -0.5, 3e9, -3e9, 2147483520.0, -2147483648.0};
    static const double TO[8] = {1, -1, 0, 0, -2147483648.0, -2147483648.0, 2147483520.0, -2147483648.0};
    kh_case c = {.op = SR_OP_CPY, .n_src = 2};
    c.src[0] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 9, 1, 1, 1);
    c.dst = kh_new(SR_TYPE_I32, KH_CONTIGUOUS, 9, 1, 1, 1);
    c.src[1] = kh_alias(c.dst);
    for (int64_t i = 0; i < 9; i++) {
        kh_set(c.src[0], i, 0, 0, 0, i < 8 ? FROM[i] : NAN);
    }
    assert_true(kh_run(&c, 1, NULL));
    for (int64_t i = 0; i < 9; i++) {
        assert_true(kh_get(c.dst, i, 0, 0, 0) == (i < 8 ? TO[i] : -2147483648.0));
    }
    kh_case_free(&c);
}

static void test_in_place(void **state) {
    (void)state; /* DUP in place: the result is its source */
    kh_case c = {.op = SR_OP_DUP, .n_src = 1};
    c.src[0] = kh_fill(kh_new(SR_TYPE_F32, KH_TRANSPOSED, 6, 5, 4, 3), 1, -1, 1);
    c.dst = kh_alias(c.src[0]);
    kh_check_within(&c, source_element, 0);
    kh_case_free(&c);
}

static void test_refusals(void **state) {
    (void)state;
    static const struct { int from, to; kh_layout from_layout, to_layout; int64_t n; const char *words; } CASES[] = {
        {SR_TYPE_I64, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, 256, "no conversion"},
        {SR_TYPE_F16, SR_TYPE_I32, KH_CONTIGUOUS, KH_CONTIGUOUS, 256, "no conversion"},
        {SR_TYPE_Q4_0, SR_TYPE_F16, KH_CONTIGUOUS, KH_CONTIGUOUS, 256, "no conversion"},
        {SR_TYPE_Q4_0, SR_TYPE_Q8_0, KH_CONTIGUOUS, KH_CONTIGUOUS, 256, "no conversion"},
        {SR_TYPE_F32, SR_TYPE_IQ2_S, KH_CONTIGUOUS, KH_CONTIGUOUS, 256, "no conversion"},
        {SR_TYPE_Q8_1, SR_TYPE_F32, KH_CONTIGUOUS, KH_CONTIGUOUS, 256, "no conversion"},
        {SR_TYPE_F32, SR_TYPE_Q4_0, KH_SPREAD, KH_CONTIGUOUS, 256, "must be dense"},
        {SR_TYPE_F32, SR_TYPE_Q4_0, KH_CONTIGUOUS, KH_ROW_GAPS, 256, "must be contiguous"},
        {SR_TYPE_Q4_0, SR_TYPE_F32, KH_CONTIGUOUS, KH_SPREAD, 256, "must be dense"},
    };
    for (int i = 0; i < SR_COUNT(CASES); i++) {
        kh_case c = {.op = SR_OP_CPY, .n_src = 2};
        c.src[0] = kh_new(CASES[i].from, CASES[i].from_layout, CASES[i].n, 2, 1, 1);
        c.dst = kh_new(CASES[i].to, CASES[i].to_layout, CASES[i].n, 2, 1, 1);
        c.src[1] = kh_alias(c.dst);
        kh_check_refused(&c, CASES[i].words);
        c.src[0]->tensor.ne[1] = 1;
        kh_check_refused(&c, "number of elements");
        kh_case_free(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts), cmocka_unit_test(test_pairs),    cmocka_unit_test(test_to_i32),
        cmocka_unit_test(test_in_place), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
