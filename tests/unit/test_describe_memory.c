/*
 * test_describe_memory.c - loading, filling and expanding with every allocation failing once (src/describe).
 *
 * Layer: tests.  Leaks show under the sanitizers and Valgrind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/describe_case.h"

static const char text[] =
    "{\"sched_run\":1,\"name\":\"small\",\"params\":{\"n\":\"k+1\",\"k\":1},\"unknown_ops\":\"opaque\","
    "\"scheduler\":{\"graph_size\":\"n*100\"},\"buffer_types\":{\"T\":{\"host\":true}},"
    "\"backends\":[{\"name\":\"G\",\"device\":\"sim\",\"accepts\":[\"T\"],\"ops\":{\"deny\":[\"ADD:f16\",{\"op\":"
    "\"SILU\","
    "\"src0.ne0\":[1,2],\"src0.buffer_type\":\"CPU\"}]},\"offload\":{\"min_batch\":4,\"ops\":[\"MUL_MAT\"]},"
    "\"alloc_extra\":[{\"op\":\"ADD\",\"bytes\":\"ne0\"}]},{\"name\":\"CPU\",\"device\":\"cpu\"}],"
    "\"buffers\":{\"w\":{\"type\":\"CPU\",\"usage\":\"weights\"},\"kv\":{\"type\":\"G\"}},"
    "\"placement\":[{\"match\":\"^w([0-9])\",\"where\":\"m1 < n\",\"buffer\":\"w\"}],"
    "\"tensors\":[{\"repeat\":\"n\",\"as\":\"i\",\"items\":[{\"name\":\"w{i}\",\"ne\":[4,\"n\"]}]},"
    "{\"name\":\"x\",\"ne\":[4,\"n\"],\"flags\":[\"input\"],\"data\":{\"fill\":1}},{\"name\":\"b\",\"type\":\"i32\","
    "\"ne\":[1],"
    "\"buffer\":\"kv\",\"data\":{\"base64\":\"AQIDBA==\"}},{\"name\":\"v\",\"ne\":[2],\"buffer\":\"kv\",\"data\":[1,2]}"
    "],"
    "\"nodes\":[{\"name\":\"y\",\"op\":\"ADD\",\"src\":[\"w0\",\"x\"],\"backend\":\"CPU\",\"supported_by\":[\"CPU\"]},"
    "{\"name\":\"o\",\"op\":\"NEW\",\"ne\":[1],\"src\":[\"y\"]},{\"name\":\"z\",\"op\":\"RMS_NORM\",\"src\":[\"y\"],"
    "\"params\":{\"eps\":0.5}}],"
    "\"runs\":[{\"expect\":{\"n_splits\":1,\"cause_of\":{\"y\":\"usr\"},\"outputs\":{\"z\":{\"sum\":1,\"sumsq\":1,"
    "\"head\":[1]}},"
    "\"error\":{\"kind\":\"x\",\"count\":3}}},{\"params\":{\"k\":2},\"reserve\":true}]}";

/* Whole life of a description; the first failure ends it. */
static sr_status live(sr_error *err) {
    static const char *const params[] = {"k=1"}, *const places[] = {"^w1=w"}, *const assigns[] = {"z=G"};
    const sr_load_options options = {
        .params = params, .n_params = 1, .places = places, .n_places = 1, .assigns = assigns, .n_assigns = 1};
    sr_description *d = NULL;
    char *plain = NULL;
    sr_status status;
    SR_TRY(sr_description_load_text(text, sizeof(text) - 1, "small.json", "folder", &options, &d, err));
    SR_TRY(sr_description_set_buffers(d, err));
    SR_TRY(sr_description_expand(d, &plain, err));
done:
    free(plain);
    sr_description_free(d);
    return status;
}

static void test_each_allocation(void **state) {
    (void)state;
    sr_error err = {0};
    long before = sr__allocation_count();
    if (live(&err) != SR_OK) {
        fail_msg("%s", sr_error_message(&err));
    }
    long n = sr__allocation_count() - before;
    assert_true(n > 50);
    for (long k = 1; k <= n; k++) {
        sr__fail_allocations(k, false);
        sr_status status = live(&err);
        sr__fail_allocations(0, false);
        bool expected = status == SR_MEMORY || status == SR_ALLOCATION; /* of a buffer's own memory */
        if (!expected || err.status != status) {
            fail_msg("allocation %ld of %ld: %s: %s", k, n, sr_status_name(status), sr_error_message(&err));
        }
        sr_error_clear(&err);
    }
    for (long k = 1; k <= n; k += 7) { /* and all that follow */
        sr__fail_allocations(k, true);
        sr_status status = live(NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_MEMORY || status == SR_ALLOCATION);
    }
}

/* With memory short an error is still the error it is. */
static void test_error_without_memory(void **state) {
    (void)state;
    static const char wrong[] = "{\"sched_run\":1,\"nodes\":[],\"backends\":[{\"device\":\"sim\",\"memory\":-1}]}";
    for (long n = 1; n < 60; n++) {
        sr_error err = {0};
        sr_description *d;
        sr__fail_allocations(n, false);
        sr_status status = sr_description_load_text(wrong, sizeof(wrong) - 1, "wrong.json", NULL, NULL, &d, &err);
        sr__fail_allocations(0, false);
        assert_true(status == SR_DESCRIPTION || status == SR_MEMORY);
        assert_int_equal(err.status, status);
        sr_error_clear(&err);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_allocation), cmocka_unit_test(test_error_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
