/*
 * test_types.c - tests of src/graph/types.c.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "sched_run/graph.h"

static void test_known_types(void **state) {
    (void)state;
    assert_string_equal(sr_type_get(SR_TYPE_F32)->name, "f32");
    assert_int_equal(sr_type_get(SR_TYPE_F32)->bytes, 4);
    assert_int_equal(sr_type_get(SR_TYPE_Q4_0)->block, 32);
    assert_int_equal(sr_type_get(SR_TYPE_Q4_0)->bytes, 18);
    assert_true(sr_type_get(SR_TYPE_Q6_K)->quantized);
    assert_false(sr_type_get(SR_TYPE_BF16)->quantized);
    assert_int_equal(sr_type_get(41)->block, 128);
}

static void test_every_name_is_found(void **state) {
    (void)state;
    int n = 0;
    for (int i = 0; i < SR_TYPE_COUNT; i++) {
        const sr_type_info *info = sr_type_get(i);
        if (info->name != NULL) {
            assert_int_equal(sr_type_find(info->name), i);
            assert_true(info->block > 0 && info->bytes > 0);
            assert_int_equal(info->quantized, info->block > 1);
            n++;
        }
    }
    assert_int_equal(n, 34);
}

static void test_numbers_not_in_use(void **state) {
    (void)state;
    static const int removed[] = {4, 5, 31, 32, 33, 36, 37, 38, -1, 42, 1000};
    for (size_t i = 0; i < sizeof removed / sizeof removed[0]; i++) {
        const sr_type_info *info = sr_type_get(removed[i]);
        assert_non_null(info);
        assert_null(info->name);
        assert_int_equal(info->block, 0);
        assert_int_equal(info->bytes, 0);
    }
}

static void test_unknown_names(void **state) {
    (void)state;
    assert_int_equal(sr_type_find("F32"), -1);
    assert_int_equal(sr_type_find("q4_k"), -1);
    assert_int_equal(sr_type_find("q4_K"), SR_TYPE_Q4_K);
    assert_int_equal(sr_type_find(""), -1);
    assert_int_equal(sr_type_find(NULL), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_types),
        cmocka_unit_test(test_every_name_is_found),
        cmocka_unit_test(test_numbers_not_in_use),
        cmocka_unit_test(test_unknown_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
