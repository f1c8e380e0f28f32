/*
 * test_names.c - tests of src/base/names.c.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/base.h"

static const char *const names[] = {"ADD",  "MUL",  "MUL_MAT",     "MUL_MAT_ID", NULL,  "RMS_NORM", "SOFT_MAX", "src",
                                    "name", "ne",   "nb",          "op",         "op_params", "id", "",         "x",
                                    "GPU0", "GPU1", "inp_embd",    "FLASH_ATTN_EXT"};

static const char *nearest(const char *text) { return sr__nearest(text, names, SR_COUNT(names)); }

static void test_near(void **state) {
    (void)state;
    assert_string_equal(nearest("MUL_MATT"), "MUL_MAT");
    assert_string_equal(nearest("mul_mat"), "MUL_MAT");
    assert_string_equal(nearest("MULMAT"), "MUL_MAT");
    assert_string_equal(nearest("srcs"), "src");
    assert_string_equal(nearest("scr"), "src");   /* neighbours swapped */
    assert_string_equal(nearest("nmae"), "name");
    assert_string_equal(nearest("rmsnorm"), "RMS_NORM");
    assert_string_equal(nearest("SOFTMAX"), "SOFT_MAX");
    assert_string_equal(nearest("flash_attn"), "FLASH_ATTN_EXT");
    assert_string_equal(nearest("flash"), "FLASH_ATTN_EXT");
    assert_string_equal(nearest("ADD"), "ADD");
    assert_string_equal(nearest("X"), "x");
    assert_string_equal(nearest("gpu0"), "GPU0");
    assert_string_equal(nearest("GPU2"), "GPU0"); /* of two equally near the first */
}

static void test_far(void **state) {
    (void)state;
    assert_null(nearest(""));
    assert_null(nearest(NULL));
    assert_null(nearest("y"));
    assert_null(nearest("qq"));
    assert_null(nearest("convolution"));
    assert_null(nearest("weights"));
    assert_null(nearest("fla"));
    assert_null(sr__nearest("x", NULL, 0));
}

static void test_long(void **state) {
    (void)state;
    char text[4000];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    const char *only[] = {text};
    assert_null(sr__nearest(text, only, 1));
    assert_null(sr__nearest("aaaa", only, 1));
    text[128] = '\0';
    assert_string_equal(sr__nearest(text, only, 1), text);
    char other[130];
    memcpy(other, text, 129);
    other[60] = 'b';
    assert_string_equal(sr__nearest(other, only, 1), text);
    for (int i = 0; i < 40; i++) {
        other[i] = 'c';
    }
    assert_null(sr__nearest(other, only, 1));
    const char *bytes[] = {"\xC3\xA4\xFF"};
    assert_string_equal(sr__nearest("\xC3\xA4\xFE", bytes, 1), bytes[0]);
}

static void expect_size(uint64_t bytes, const char *expected) {
    char out[16];
    sr__format_bytes(bytes, out);
    assert_string_equal(out, expected);
}

static void test_sizes(void **state) {
    (void)state;
    expect_size(0, "0 B");
    expect_size(512, "512 B");
    expect_size(1023, "1023 B");
    expect_size(1024, "1.0 KiB");
    expect_size(2048, "2.0 KiB");
    expect_size(1536, "1.5 KiB");
    expect_size(10188, "9.9 KiB");
    expect_size(10189, "10 KiB");
    expect_size(10240, "10 KiB");
    expect_size(1023 * 1024, "1023 KiB");
    expect_size(1024 * 1024 - 513, "1023 KiB");
    expect_size(1024 * 1024 - 512, "1.0 MiB");
    expect_size(1024 * 1024 - 1, "1.0 MiB");
    expect_size(UINT64_C(8) << 20, "8.0 MiB");
    expect_size(UINT64_C(212) << 20, "212 MiB");
    expect_size(UINT64_C(3328599655), "3.1 GiB");
    expect_size(UINT64_C(1) << 40, "1.0 TiB");
    expect_size(UINT64_C(1) << 50, "1.0 PiB");
    expect_size(UINT64_MAX, "16 EiB");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_far),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
