/*
 * test_kernel_binary.c - ADD SUB MUL DIV ADD1 ADD_ID SILU_BACK against naive evaluations.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

static double b_at(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t *ne = c->src[1]->tensor.ne;
    return kh_get(c->src[1], i[0] % ne[0], i[1] % ne[1], i[2] % ne[2], i[3] % ne[3]);
}

static double want_binary(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const double a = kh_get(c->src[0], i[0], i[1], i[2], i[3]), b = b_at(c, i);
    switch (c->op) {
        case SR_OP_SUB: return a - b;
        case SR_OP_MUL: return a * b;
        case SR_OP_DIV: return a / b;
        case SR_OP_SILU_BACK: {
            const double s = 1 / (1 + exp(-b));
            return a * s * (1 + b * (1 - s));
        }
        default: return a + b;
    }
}

static const int ops[] = {SR_OP_ADD, SR_OP_SUB, SR_OP_MUL, SR_OP_DIV};
static const kh_layout dense[] = {KH_CONTIGUOUS, KH_ROW_GAPS, KH_OUTER_GAPS, KH_PERMUTED};

typedef struct types { int a, b, y; } types;

static const types float_types[] = {
    {SR_TYPE_F32, SR_TYPE_F32, SR_TYPE_F32},    {SR_TYPE_F16, SR_TYPE_F16, SR_TYPE_F16},
    {SR_TYPE_BF16, SR_TYPE_BF16, SR_TYPE_BF16}, {SR_TYPE_F16, SR_TYPE_F32, SR_TYPE_F16},
    {SR_TYPE_F16, SR_TYPE_F32, SR_TYPE_F32},    {SR_TYPE_BF16, SR_TYPE_F32, SR_TYPE_BF16},
    {SR_TYPE_BF16, SR_TYPE_F32, SR_TYPE_F32},
};

static kh_case binary_case(int op, types t, kh_layout a, kh_layout b, kh_layout y, const int64_t ne[4],
                           const int64_t b_ne[4]) {
    kh_case c = {.op = op, .n_src = 2};
    c.src[0] = kh_fill(kh_new(t.a, a, ne[0], ne[1], ne[2], ne[3]), 1, -2, 2);
    c.src[1] = kh_fill(kh_new(t.b, b, b_ne[0], b_ne[1], b_ne[2], b_ne[3]), 2, 0.5, 2);
    c.dst = kh_new(t.y, y, ne[0], ne[1], ne[2], ne[3]);
    return c;
}

static void test_types_and_layouts(void **state) {
    static const int64_t ne[4] = {6, 4, 3, 2};
    (void)state;
    for (int op = 0; op < SR_COUNT(ops); op++) {
        for (int t = 0; t < SR_COUNT(float_types); t++) {
            for (int a = 0; a < SR_COUNT(dense); a++) {
                for (int b = 0; b < KH_LAYOUTS; b++) {
                    const kh_layout y = dense[(a + b) % 4];
                    kh_case c = binary_case(ops[op], float_types[t], dense[a], (kh_layout)b, y, ne, ne);
                    kh_check_free(&c, want_binary);
                }
            }
        }
    }
}

static void test_repeated_source(void **state) {
    static const int64_t ne[4] = {12, 4, 6, 2}, long_ne[4] = {3000, 3, 1, 2};
    static const int64_t b_ne[][4] = {{1, 1, 1, 1}, {12, 1, 1, 1}, {1, 4, 1, 1},
                                      {3, 2, 3, 1}, {4, 4, 1, 2},  {12, 4, 2, 1}};
    static const int64_t long_b[][4] = {{1, 1, 1, 1}, {3000, 1, 1, 1}, {1500, 3, 1, 1}, {5, 1, 1, 2}};
    (void)state;
    for (int t = 0; t < SR_COUNT(float_types); t++) {
        for (int layout = 0; layout < KH_LAYOUTS; layout++) {
            for (int k = 0; k < SR_COUNT(b_ne); k++) {
                const kh_layout b = (kh_layout)layout;
                kh_case c = binary_case(SR_OP_SUB, float_types[t], KH_PERMUTED, b, KH_CONTIGUOUS, ne, b_ne[k]);
                kh_check_free(&c, want_binary);
            }
        }
        for (int k = 0; k < SR_COUNT(long_b); k++) {
            kh_case c =
                binary_case(SR_OP_SUB, float_types[t], KH_ROW_GAPS, KH_SPREAD, KH_OUTER_GAPS, long_ne, long_b[k]);
            kh_check_free(&c, want_binary);
        }
        kh_case flat =
            binary_case(SR_OP_SUB, float_types[t], KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, long_ne, long_ne);
        kh_check_free(&flat, want_binary);
    }
}

/* Rows of one element are dense whatever the stride of that element: nothing may go by it, over many rows either. */
static void test_rows_of_one_element(void **state) {
    static const int64_t ne[4] = {1, 64, 32, 1};
    (void)state;
    for (int place = 0; place < 3; place++) {
        kh_case c = binary_case(SR_OP_MUL, float_types[0], KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, ne, ne);
        (place < 2 ? c.src[place] : c.dst)->tensor.nb[0] = 256;
        kh_check_free(&c, want_binary);
    }
}

/* The allocator may give the result the memory of either source. */
static void test_result_in_place(void **state) {
    static const int64_t ne[4] = {1100, 3, 2, 1};
    (void)state;
    for (int op = 0; op < SR_COUNT(ops); op++) {
        for (int layout = 0; layout < SR_COUNT(dense); layout++) {
            for (int over = 0; over < 2; over++) {
                kh_case c = binary_case(ops[op], float_types[0], dense[layout], dense[layout], KH_CONTIGUOUS, ne, ne);
                kh_free(c.dst);
                c.dst = kh_alias(c.src[over]);
                kh_check_free(&c, want_binary);
            }
        }
    }
}

static void test_quantized_add(void **state) {
    static const int64_t ne[4] = {512, 3, 2, 1};
    static const types t[] = {
        {SR_TYPE_Q8_0, SR_TYPE_F32, SR_TYPE_Q8_0}, {SR_TYPE_Q4_0, SR_TYPE_F32, SR_TYPE_F32},
        {SR_TYPE_Q6_K, SR_TYPE_F32, SR_TYPE_F16},  {SR_TYPE_Q8_0, SR_TYPE_F32, SR_TYPE_BF16},
        {SR_TYPE_Q5_1, SR_TYPE_F32, SR_TYPE_Q8_0},
    };
    (void)state;
    for (int k = 0; k < SR_COUNT(t); k++) {
        kh_case c = binary_case(SR_OP_ADD, t[k], KH_ROW_GAPS, KH_SPREAD, KH_CONTIGUOUS, ne, ne);
        kh_check_free(&c, want_binary);
        kh_case flat = binary_case(SR_OP_ADD, t[k], KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, ne, ne);
        kh_check_free(&flat, want_binary);
    }
}

static void test_add1(void **state) {
    static const int64_t ne[4] = {256, 3, 2, 2}, one[4] = {1, 1, 1, 1};
    static const types t[] = {
        {SR_TYPE_F32, SR_TYPE_F32, SR_TYPE_F32},   {SR_TYPE_F16, SR_TYPE_F16, SR_TYPE_F16},
        {SR_TYPE_F16, SR_TYPE_F32, SR_TYPE_F16},   {SR_TYPE_BF16, SR_TYPE_BF16, SR_TYPE_BF16},
        {SR_TYPE_BF16, SR_TYPE_F32, SR_TYPE_BF16}, {SR_TYPE_Q8_0, SR_TYPE_F32, SR_TYPE_Q8_0},
    };
    (void)state;
    for (int k = 0; k < SR_COUNT(t); k++) {
        kh_case c = binary_case(SR_OP_ADD1, t[k], KH_ROW_GAPS, KH_CONTIGUOUS, KH_CONTIGUOUS, ne, one);
        kh_check_free(&c, want_binary);
    }
    kh_case two = binary_case(SR_OP_ADD1, t[0], KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, ne, ne);
    kh_check_refused(&two, "single value");
    kh_case_free(&two);
}

static void test_silu_back(void **state) {
    static const int64_t ne[4] = {9, 4, 3, 2}, long_ne[4] = {2100, 2, 1, 1};
    static const types t[] = {{SR_TYPE_F32, SR_TYPE_F32, SR_TYPE_F32}, {SR_TYPE_F16, SR_TYPE_F16, SR_TYPE_F16}};
    (void)state;
    for (int k = 0; k < SR_COUNT(t); k++) {
        kh_case c = binary_case(SR_OP_SILU_BACK, t[k], KH_ROW_GAPS, KH_CONTIGUOUS, KH_CONTIGUOUS, ne, ne);
        kh_check_free(&c, want_binary);
        kh_case flat =
            binary_case(SR_OP_SILU_BACK, t[k], KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, long_ne, long_ne);
        kh_free(flat.dst);
        flat.dst = kh_alias(flat.src[1]);
        kh_check_free(&flat, want_binary);
    }
}

static void test_refusals(void **state) {
    static const int64_t ne[4] = {4, 2, 1, 1}, three[4] = {3, 1, 1, 1};
    static const types wrong[] = {
        {SR_TYPE_F32, SR_TYPE_F16, SR_TYPE_F32},  {SR_TYPE_I32, SR_TYPE_I32, SR_TYPE_I32},
        {SR_TYPE_F16, SR_TYPE_F16, SR_TYPE_F32},  {SR_TYPE_F32, SR_TYPE_F32, SR_TYPE_F16},
        {SR_TYPE_F16, SR_TYPE_BF16, SR_TYPE_F16}, {SR_TYPE_F16, SR_TYPE_F32, SR_TYPE_BF16},
    };
    (void)state;
    for (int k = 0; k < SR_COUNT(wrong); k++) {
        kh_case c = binary_case(SR_OP_MUL, wrong[k], KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, ne, ne);
        kh_check_refused(&c, "");
        kh_case_free(&c);
    }
    kh_case odd = binary_case(SR_OP_ADD, float_types[0], KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, ne, three);
    kh_check_refused(&odd, "repeat");
    kh_case_free(&odd);
    kh_case gaps = binary_case(SR_OP_ADD, float_types[0], KH_SPREAD, KH_CONTIGUOUS, KH_CONTIGUOUS, ne, ne);
    kh_check_refused(&gaps, "dense rows");
    kh_case_free(&gaps);
}

/* ---- ADD_ID ------------------------------------------------------------------------------------------------------ */

static double want_add_id(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    const int64_t id = (int64_t)kh_get(c->src[2], i[1], i[2], 0, 0);
    return kh_get(c->src[0], i[0], i[1], i[2], i[3]) + kh_get(c->src[1], i[0], id, 0, 0);
}

static kh_case add_id_case(kh_layout a, kh_layout b, kh_layout ids, int64_t n, int64_t rows, int64_t u, int64_t t) {
    kh_case c = {.op = SR_OP_ADD_ID, .n_src = 3};
    c.src[0] = kh_fill(kh_new(SR_TYPE_F32, a, n, u, t, 1), 1, -2, 2);
    c.src[1] = kh_fill(kh_new(SR_TYPE_F32, b, n, rows, 1, 1), 2, -2, 2);
    c.src[2] = kh_fill(kh_new(SR_TYPE_I32, ids, u, t, 1, 1), 3, 0, (double)rows - 1);
    c.dst = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, n, u, t, 1);
    return c;
}

static void test_add_id(void **state) {
    (void)state;
    for (int a = 0; a < SR_COUNT(dense); a++) {
        for (int ids = 0; ids < KH_LAYOUTS; ids++) {
            kh_case c = add_id_case(dense[a], dense[3 - a], (kh_layout)ids, 10, 5, 7, 4);
            kh_check_free(&c, want_add_id);
        }
    }
}

/* Rows of the second source must be read before the result takes their place. */
static void test_add_id_over_its_second_source(void **state) {
    (void)state;
    kh_case c = add_id_case(KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, 16, 40, 40, 1);
    kh_free(c.dst);
    c.dst = kh_alias(c.src[1]);
    kh_check_free(&c, want_add_id);
}

static void test_add_id_out_of_range(void **state) {
    (void)state;
    kh_case c = add_id_case(KH_CONTIGUOUS, KH_CONTIGUOUS, KH_CONTIGUOUS, 4, 5, 3, 2);
    kh_set(c.src[2], 1, 1, 0, 0, 5);
    kh_check_fails(&c, "index 5 at [1, 1] of source 2 is outside 0..4");
    kh_set(c.src[2], 1, 1, 0, 0, -1);
    kh_check_fails(&c, "index -1");
    kh_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_and_layouts), cmocka_unit_test(test_repeated_source),
        cmocka_unit_test(test_rows_of_one_element),
        cmocka_unit_test(test_result_in_place),   cmocka_unit_test(test_quantized_add),
        cmocka_unit_test(test_add1),              cmocka_unit_test(test_silu_back),
        cmocka_unit_test(test_refusals),          cmocka_unit_test(test_add_id),
        cmocka_unit_test(test_add_id_over_its_second_source),
        cmocka_unit_test(test_add_id_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
