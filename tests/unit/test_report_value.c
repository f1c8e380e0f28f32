/*
 * test_report_value.c - values of tensors: as arrays for people, as .npy files, as statistics.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "sched_run/report.h"
#include "support/execute_case.h"

/* Leafs and views of them; nothing is computed. */
typedef struct value_case {
    execute_case e;
    sr_graph_copy *copy;
    sr__str text;
    sr_sink sink;
} value_case;

static bool append(void *user, const char *text, size_t length) {
    sr__str_append(user, text, length);
    return true;
}

static void value_case_init(value_case *c, const char *tensors, const char *nodes) {
    sr_error err = {0};
    char text[4096];
    snprintf(text, sizeof(text), "{%s,\"tensors\":[%s],\"nodes\":[%s]}", MACHINE, tensors, nodes);
    *c = (value_case){.sink = {.write = append}};
    c->sink.user = &c->text;
    execute_case_init(&c->e, text, 1);
    ASSERT_OK(sr_graph_copy_new(c->e.machine->backends[0], c->e.graph, NULL, &c->copy, &err), &err);
    ASSERT_OK(sr_description_set_inputs(c->e.description, c->e.run, sr_graph_copy_view(c->copy), &err), &err);
}

static void value_case_free(value_case *c) {
    sr_graph_copy_free(c->copy);
    sr__str_free(&c->text);
    execute_case_free(&c->e);
}

static sr_value *take(value_case *c, const char *id) {
    sr_error err = {0};
    sr_value *value;
    const int32_t tensor = execute_case_tensor(&c->e, id);
    ASSERT_OK(sr_value_take(sr_graph_copy_view(c->copy), tensor, &value, &err), &err);
    assert_int_equal(sr_value_tensor(value), tensor);
    return value;
}

static void shows(value_case *c, const char *id, bool verbose, const char *expected) {
    sr_error err = {0};
    const sr_report_options options = {.verbose = verbose, .width = 60};
    sr_value *value = take(c, id);
    sr__str_clear(&c->text);
    ASSERT_OK(sr_report_value(c->e.graph, value, &options, &c->sink, &err), &err);
    assert_string_equal(sr__str_text(&c->text), expected);
    sr_value_free(value);
}

#define X(ne, type, data) "{\"name\":\"x\",\"type\":\"" type "\",\"ne\":[" ne "],\"flags\":[\"input\"],\"data\":" data "}"
#define USE "{\"name\":\"y\",\"op\":\"DUP\",\"src\":[\"x\"]}"

static void test_arrays(void **state) {
    (void)state;
    value_case c;
    value_case_init(&c, X("3,2", "f32", "[1,2.5,-3,0.125,1000000,-1e-7]"),
                    USE ",{\"name\":\"t\",\"op\":\"TRANSPOSE\",\"src\":[\"x\"]}");
    shows(&c, "x", false,
          "    x   leaf  f32 [3, 2]\n"
          "    [[     1,    2.5,     -3],\n"
          "     [ 0.125,  1e+06, -1e-07]]\n");
    shows(&c, "t", false, /* strides of a view */
          "    t   node 1  TRANSPOSE  f32 [2, 3]\n"
          "    [[     1,  0.125],\n"
          "     [   2.5,  1e+06],\n"
          "     [    -3, -1e-07]]\n");
    value_case_free(&c);

    value_case_init(&c, X("2,1,3", "i32", "[1,-2,3,4,5,600]"), USE);
    shows(&c, "x", false,
          "    x   leaf  i32 [2, 1, 3]\n"
          "    [[[  1,  -2]],\n"
          "     [[  3,   4]],\n"
          "     [[  5, 600]]]\n");
    value_case_free(&c);

    value_case_init(&c, X("0,3", "f32", "[]"), USE);
    shows(&c, "x", false, "    x   leaf  f32 [0, 3]\n    []\n");
    value_case_free(&c);

    value_case_init(&c, X("1", "i64", "[-9007199254740992]"), USE);
    shows(&c, "x", false, "    x   leaf  i64 [1]\n    [-9007199254740992]\n");
    value_case_free(&c);
}

static void test_cuts(void **state) {
    (void)state;
    value_case c;
    value_case_init(&c, X("9,10", "i32", "{\"fill\":7}"), USE);
    shows(&c, "x", false,
          "    x   leaf  i32 [9, 10]\n"
          "    [[7, 7, 7, ..., 7, 7, 7],\n"
          "     [7, 7, 7, ..., 7, 7, 7],\n"
          "     [7, 7, 7, ..., 7, 7, 7],\n"
          "     ...,\n"
          "     [7, 7, 7, ..., 7, 7, 7],\n"
          "     [7, 7, 7, ..., 7, 7, 7],\n"
          "     [7, 7, 7, ..., 7, 7, 7]]\n");
    value_case_free(&c);

    value_case_init(&c, X("20", "i32", "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,1000]"), USE);
    shows(&c, "x", true, /* all of them, in lines */
          "    x   leaf  i32 [20]\n"
          "    [   0,    1,    2,    3,    4,    5,    6,    7,    8,\n"
          "        9,   10,   11,   12,   13,   14,   15,   16,   17,\n"
          "       18, 1000]\n");
    value_case_free(&c);
}

/* ---- .npy ------------------------------------------------------------------------------------------------------- */

static void writes(value_case *c, const char *id, const char *header, const void *data, size_t size) {
    sr_error err = {0};
    sr_value *value = take(c, id);
    sr__str_clear(&c->text);
    ASSERT_OK(sr_report_npy(value, &c->sink, &err), &err);
    const uint8_t *bytes = (const uint8_t *)c->text.data;
    assert_memory_equal(bytes, "\x93NUMPY\x01\x00", 8);
    const size_t length = bytes[8] + (size_t)bytes[9] * 256;
    assert_int_equal((10 + length) % 64, 0);
    assert_memory_equal(bytes + 10, header, strlen(header));
    assert_int_equal(bytes[10 + length - 1], '\n');
    assert_int_equal(c->text.length, 10 + length + size);
    assert_memory_equal(bytes + 10 + length, data, size);
    sr_value_free(value);
}

static void test_npy(void **state) {
    (void)state;
    value_case c;
    const float floats[6] = {1, 2, 3, 4, 5, 6}, turned[6] = {1, 4, 2, 5, 3, 6};
    value_case_init(&c, X("3,2", "f32", "[1,2,3,4,5,6]"), USE ",{\"name\":\"t\",\"op\":\"TRANSPOSE\",\"src\":[\"x\"]}");
    writes(&c, "x", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", floats, sizeof(floats));
    writes(&c, "t", "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", turned, sizeof(turned));
    value_case_free(&c);

    const uint16_t halves[2] = {0x3C00, 0xC000};
    value_case_init(&c, X("2", "f16", "[1,-2]"), USE);
    writes(&c, "x", "{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }", halves, sizeof(halves));
    value_case_free(&c);

    value_case_init(&c, X("3,1,2", "bf16", "[1,2,3,4,5,6]"), USE);
    writes(&c, "x", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 3), }", floats, sizeof(floats));
    value_case_free(&c);

    const int8_t bytes[2] = {-1, 5};
    value_case_init(&c, X("2", "i8", "[-1,5]"), USE);
    writes(&c, "x", "{'descr': '|i1', 'fortran_order': False, 'shape': (2,), }", bytes, sizeof(bytes));
    value_case_free(&c);

    const float ones[32] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    value_case_init(&c, X("32", "q8_0", "{\"fill\":1}"), USE);
    sr_error err = {0};
    sr_value *value = take(&c, "x");
    ASSERT_OK(sr_report_npy(value, &c.sink, &err), &err);
    const float *got = (const float *)(const void *)(c.text.data + c.text.length - sizeof(ones));
    for (int i = 0; i < 32; i++) {
        float x;
        memcpy(&x, &got[i], sizeof(x));
        assert_true(fabsf(x - ones[i]) < 1e-3f);
    }
    sr_value_free(value);
    value_case_free(&c);
}

/* ---- statistics ------------------------------------------------------------------------------------------------- */

static void test_stats(void **state) {
    (void)state;
    sr_error err = {0};
    value_case c;
    sr_value_stats s;
    value_case_init(&c, X("3,3", "f32", "[1,2,3,4,-5,6,7,8,9]"), USE);
    const sr_graph_view *view = sr_graph_copy_view(c.copy);
    ASSERT_OK(sr_tensor_stats(view, 0, &s, &err), &err);
    assert_int_equal(s.n, 9);
    assert_true(s.sum == 35.0 && s.sumsq == 285.0 && s.min == -5.0 && s.max == 9.0);
    assert_int_equal(s.n_head, 8);
    assert_true(s.head[7] == 8.0);
    const float nan = NAN;
    ASSERT_OK(sr_buffer_set(view->storage[0].buffer, &nan, view->storage[0].offset + 8, 4, &err), &err);
    ASSERT_OK(sr_tensor_stats(view, 0, &s, &err), &err);
    assert_true(isnan(s.sum) && isnan(s.min) && isnan(s.max) && s.head[1] == 2.0);
    /* a view without memory */
    const sr_graph_view bare = sr_graph_whole(c.e.graph);
    assert_int_equal(sr_tensor_stats(&bare, 0, &s, &err), SR_INVALID);
    sr_error_clear(&err);
    for (long n = 1;; n++) {
        sr__fail_allocations(n, false);
        const sr_status status = sr_tensor_stats(view, 0, &s, &err);
        sr__fail_allocations(0, false);
        sr_error_clear(&err);
        if (status == SR_OK) {
            break;
        }
        assert_int_equal(status, SR_MEMORY);
    }
    value_case_free(&c);

    value_case_init(&c, "{\"name\":\"x\",\"type\":\"iq2_xxs\",\"ne\":[256],\"flags\":[\"input\"]}", USE);
    assert_int_equal(sr_tensor_stats(sr_graph_copy_view(c.copy), 0, &s, &err), SR_UNAVAILABLE);
    sr_error_clear(&err);
    value_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays), cmocka_unit_test(test_cuts), cmocka_unit_test(test_npy),
        cmocka_unit_test(test_stats),
    };
    return cmocka_run_group_tests_name("report_value", tests, NULL, NULL);
}
