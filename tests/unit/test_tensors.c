/*
 * test_tensors.c - tests of src/graph/tensors.c.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/graph_parts.h"

static sr_tensor tensor(int type, const int64_t ne[4], const size_t nb[4]) {
    sr_tensor t = {.type = (uint8_t)type, .view_src = -1};
    memcpy(t.ne, ne, sizeof t.ne);
    memcpy(t.nb, nb, sizeof t.nb);
    return t;
}

#define NE(...) ((const int64_t[4]){__VA_ARGS__})
#define NB(...) ((const size_t[4]){__VA_ARGS__})

static void test_row_size(void **state) {
    (void)state;
    assert_int_equal(sr_row_size(SR_TYPE_F32, 10), 40);
    assert_int_equal(sr_row_size(SR_TYPE_Q4_0, 64), 36);
    assert_int_equal(sr_row_size(SR_TYPE_Q4_0, 0), 0);
    assert_int_equal(sr_row_size(4, 64), 0);
}

static void test_contiguity(void **state) {
    (void)state;
    struct { sr_tensor t; bool whole, rows, from_1; } cases[] = {
        {tensor(SR_TYPE_F32, NE(8, 4, 2, 3), NB(4, 32, 128, 256)), true, true, true},
        /* rows are padded */
        {tensor(SR_TYPE_F32, NE(8, 4, 2, 3), NB(4, 48, 192, 384)), false, true, true},
        /* matrices are padded */
        {tensor(SR_TYPE_F32, NE(8, 4, 2, 3), NB(4, 32, 160, 320)), false, true, false},
        /* elements are apart */
        {tensor(SR_TYPE_F32, NE(8, 4, 2, 3), NB(8, 64, 256, 512)), false, false, false},
        /* transposed */
        {tensor(SR_TYPE_F32, NE(4, 8, 1, 1), NB(32, 4, 128, 128)), false, false, false},
        /* strides of extent 1 are free */
        {tensor(SR_TYPE_F32, NE(8, 1, 2, 1), NB(4, 999, 32, 7)), true, true, true},
        {tensor(SR_TYPE_F32, NE(1, 4, 1, 1), NB(999, 4, 16, 16)), true, true, true},
        /* one block */
        {tensor(SR_TYPE_Q4_0, NE(32, 4, 1, 1), NB(72, 18, 72, 72)), true, true, true},
        {tensor(SR_TYPE_Q4_0, NE(64, 4, 1, 1), NB(18, 36, 144, 144)), true, true, true},
        {tensor(SR_TYPE_Q4_0, NE(64, 4, 1, 1), NB(36, 18, 144, 144)), false, false, false},
        /* empty, as its strides are computed */
        {tensor(SR_TYPE_F32, NE(0, 4, 2, 3), NB(4, 0, 0, 0)), true, true, true},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        assert_int_equal(sr_tensor_is_contiguous(&cases[i].t), cases[i].whole);
        assert_int_equal(sr_tensor_has_contiguous_rows(&cases[i].t), cases[i].rows);
        assert_int_equal(sr_tensor_is_contiguous_1(&cases[i].t), cases[i].from_1);
    }
}

static void test_comparisons(void **state) {
    (void)state;
    sr_tensor a = tensor(SR_TYPE_F32, NE(8, 4, 2, 3), NB(4, 32, 128, 256)), b = a;
    assert_true(sr_tensor_same_shape(&a, &b));
    assert_true(sr_tensor_same_layout(&a, &b));
    b.nb[1] = 64;
    assert_true(sr_tensor_same_shape(&a, &b));
    assert_false(sr_tensor_same_layout(&a, &b));
    b = a;
    b.type = SR_TYPE_I32;
    assert_false(sr_tensor_same_layout(&a, &b));
    b.ne[3] = 0;
    assert_false(sr_tensor_same_shape(&a, &b));
    assert_true(sr_tensor_is_empty(&b));
    assert_false(sr_tensor_is_empty(&a));
    assert_int_equal(sr_tensor_nelements(&a), 192);
    assert_int_equal(sr_tensor_nrows(&a), 24);
}

static void test_names(void **state) {
    (void)state;
    sr_tensor t = {.op = SR_OP_MUL_MAT};
    assert_string_equal(sr_tensor_op_name(&t), "MUL_MAT");
    assert_string_equal(sr_tensor_op_desc(&t), "MUL_MAT");
    t.op = SR_OP_UNARY;
    t.op_params[0] = SR_UNARY_SILU;
    assert_string_equal(sr_tensor_op_name(&t), "UNARY");
    assert_string_equal(sr_tensor_op_desc(&t), "SILU");
    t.op_params[0] = 1000;
    assert_string_equal(sr_tensor_op_desc(&t), "UNARY");
    t.op = SR_OP_GLU;
    t.op_params[0] = SR_GLU_SWIGLU_OAI;
    assert_string_equal(sr_tensor_op_desc(&t), "SWIGLU_OAI");
    t.op_params[0] = -1;
    assert_string_equal(sr_tensor_op_desc(&t), "GLU");
    t.op = SR_OP_OPAQUE;
    t.op_name = "NEW_OP";
    assert_string_equal(sr_tensor_op_name(&t), "NEW_OP");
    assert_string_equal(sr_tensor_op_desc(&t), "NEW_OP");
}

static void test_batch(void **state) {
    (void)state;
    static const struct { int op; int64_t batch; } cases[] = {
        {SR_OP_GET_ROWS, 0}, {SR_OP_MUL_MAT, 3},   {SR_OP_MUL_MAT_ID, 5}, {SR_OP_ROPE, 5},
        {SR_OP_ROPE_BACK, 5}, {SR_OP_RMS_NORM, 105}, {SR_OP_ADD, 105},
    };
    sr_tensor t = tensor(SR_TYPE_F32, NE(2, 3, 5, 7), NB(4, 8, 24, 120));
    for (int i = 0; i < SR_COUNT(cases); i++) {
        t.op = (uint8_t)cases[i].op;
        assert_int_equal(sr_tensor_batch(&t), cases[i].batch);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row_size), cmocka_unit_test(test_contiguity), cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_names),    cmocka_unit_test(test_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
