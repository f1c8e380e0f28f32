/*
 * test_describe_data.c - tests of the contents of leafs (src/describe/data_in.c, fill.c).
 *
 * Layer: tests.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "graph/quant.h"
#include "support/describe_case.h"

/* The format's recipe, written down a second time. */
static double expected_random(uint64_t seed, int64_t i, double min, double max) {
    uint64_t z = seed + (uint64_t)(i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z ^= z >> 30;
    z *= UINT64_C(0xBF58476D1CE4E5B9);
    z ^= z >> 27;
    z *= UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return min + (max - min) * (double)(z >> 40) / 16777216.0;
}

static uint64_t fnv(const char *name) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *name; name++) {
        hash = (hash ^ (uint8_t)*name) * UINT64_C(1099511628211);
    }
    return hash;
}

/* Loads one leaf in a buffer, fills it, and gives its bytes; freed by the caller. */
static void *filled(const char *keys, const char *directory, size_t *out_size) {
    char text[4096];
    sr_error err = {0};
    snprintf(text, sizeof(text), "{" MACHINE ",\"tensors\":[{\"name\":\"x\",\"buffer\":\"cpu_w\",%s}]}", keys);
    sr_description *d = load_with(text, directory, NULL);
    if (sr_description_set_buffers(d, &err) != SR_OK) {
        fail_msg("%s: %s", keys, sr_error_message(&err));
    }
    const sr_tensor *t = tensor_of(d, 0, "x");
    void *bytes = malloc(t->nbytes + 1);
    assert_int_equal(sr_buffer_get(t->buffer, bytes, t->buffer_offset, t->nbytes, &err), SR_OK);
    *out_size = t->nbytes;
    free(check_expansion(d));
    sr_description_free(d);
    return bytes;
}

static void check_filled(const char *keys, const void *expected, size_t n) {
    size_t size;
    void *bytes = filled(keys, NULL, &size);
    assert_int_equal(size, n);
    assert_memory_equal(bytes, expected, n);
    free(bytes);
}

static void test_values(void **state) {
    (void)state;
    check_filled("\"ne\":[3],\"data\":[1,-2.5,\"-inf\"]", (float[]){1, -2.5f, -INFINITY}, 12);
    check_filled("\"type\":\"f64\",\"ne\":[2],\"data\":{\"values\":[0.1,1e300]}", (double[]){0.1, 1e300}, 16);
    check_filled("\"type\":\"i8\",\"ne\":[2],\"data\":[-128,127]", (int8_t[]){-128, 127}, 2);
    check_filled("\"type\":\"i16\",\"ne\":[2],\"data\":[-32768,7]", (int16_t[]){-32768, 7}, 4);
    check_filled("\"type\":\"i32\",\"ne\":[2,2],\"data\":[1,2,3,4]", (int32_t[]){1, 2, 3, 4}, 16);
    check_filled("\"type\":\"i64\",\"ne\":[2],\"data\":[9007199254740992,-1]", (int64_t[]){INT64_C(1) << 53, -1}, 16);
    check_filled("\"type\":\"f16\",\"ne\":[2],\"data\":{\"fill\":1.5}", (uint16_t[]){0x3E00, 0x3E00}, 4);
    check_filled("\"type\":\"bf16\",\"ne\":[2],\"data\":{\"fill\":\"inf\"}", (uint16_t[]){0x7F80, 0x7F80}, 4);
    check_filled("\"type\":\"i32\",\"ne\":[2],\"data\":{\"fill\":\"2*3\"}", (int32_t[]){6, 6}, 8);
    check_filled("\"type\":\"i32\",\"ne\":[1],\"data\":{\"base64\":\"AQIDBA==\"}", (uint8_t[]){1, 2, 3, 4}, 4);
    check_filled("\"ne\":[0],\"data\":[]", "", 0);
    check_filled("\"type\":\"i32\",\"ne\":[4]", (int32_t[]){0, 0, 0, 0}, 16); /* integers: 0 */
}

/* Elements count in the order of the extents, whatever the strides. */
static void test_strided(void **state) {
    (void)state;
    check_filled("\"type\":\"i32\",\"ne\":[2,3],\"nb\":[12,4,24,24],\"data\":[1,2,3,4,5,6]",
                 (int32_t[]){1, 3, 5, 2, 4, 6}, 24);
    check_filled("\"ne\":[2,2],\"nb\":[4,12,24,24],\"data\":[1,2,3,4]", (float[]){1, 2, 0, 3, 4}, 20);
}

static void test_random(void **state) {
    (void)state;
    size_t size;
    float *f = filled("\"ne\":[5,3],\"data\":{\"random\":{\"seed\":42,\"min\":-2,\"max\":3}}", NULL, &size);
    for (int i = 0; i < 15; i++) {
        assert_true(f[i] == (float)expected_random(42, i, -2, 3));
    }
    free(f);
    f = filled("\"ne\":[5,3]", NULL, &size); /* weights: random by default */
    for (int i = 0; i < 15; i++) {
        assert_true(f[i] == (float)expected_random(fnv("x"), i, -1, 1));
    }
    free(f);
    int32_t *n =
        filled("\"type\":\"i32\",\"ne\":[100],\"data\":{\"random\":{\"seed\":-1,\"min\":-3,\"max\":3}}", NULL, &size);
    unsigned seen = 0;
    for (int i = 0; i < 100; i++) {
        assert_in_range(n[i] + 3, 0, 6);
        seen |= 1u << (n[i] + 3);
    }
    assert_int_equal(seen, 127);
    free(n);
    uint8_t *q = filled("\"type\":\"q4_0\",\"ne\":[64,2],\"data\":{\"random\":{\"seed\":7}}", NULL, &size),
            expected[72];
    float row[128];
    for (int i = 0; i < 128; i++) {
        row[i] = (float)expected_random(7, i, -1, 1);
    }
    sr__row_from_f32(SR_TYPE_Q4_0, row, expected, 128);
    assert_int_equal(size, 72);
    assert_memory_equal(q, expected, 72);
    free(q);
    uint8_t *zero = filled("\"type\":\"iq1_s\",\"ne\":[256]", NULL, &size); /* cannot be made from values */
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(zero[i], 0);
    }
    free(zero);
}

/* More than is written at a time. */
static void test_long(void **state) {
    (void)state;
    size_t size;
    float *f = filled("\"ne\":[1048583,2],\"data\":{\"random\":{\"seed\":1}}", NULL, &size);
    static const int64_t at[] = {0, 1048575, 1048576, 1048583, 2097165};
    for (int i = 0; i < SR_COUNT(at); i++) {
        assert_true(f[at[i]] == (float)expected_random(1, at[i], -1, 1));
    }
    free(f);
}

static void test_file(void **state) {
    (void)state;
    test_folder folder;
    sr_error err = {0};
    size_t size;
    folder_open(&folder);
    folder_put(&folder, "w.bin", "abcdefghij", 10);
    char *bytes = filled("\"type\":\"i32\",\"ne\":[2],\"data\":{\"file\":\"w.bin\",\"offset\":2}", folder.path, &size);
    assert_memory_equal(bytes, "cdefghij", 8);
    free(bytes);
    static const struct { const char *data; sr_status status; const char *part; } wrong[] = {
        {"{\"file\":\"w.bin\",\"offset\":3}", SR_DESCRIPTION, "ends after 10 bytes"},
        {"{\"file\":\"w.bin\",\"offset\":9007199254740992}", SR_DESCRIPTION, "ends after"},
        {"{\"file\":\"gone.bin\"}", SR_IO, "gone.bin"}, {"{\"file\":\".\"}", SR_IO, "cannot read"},
        {"{\"gguf\":\"w.bin\"}", SR_DESCRIPTION, "no GGUF file"},
    };
    for (int i = 0; i < SR_COUNT(wrong); i++) {
        char text[1024];
        snprintf(text, sizeof(text),
                 "{" MACHINE
                 ",\"tensors\":[{\"name\":\"x\",\"type\":\"i32\",\"ne\":[2],\"buffer\":\"cpu_w\",\"data\":%s}]}",
                 wrong[i].data);
        sr_description *d = load_with(text, folder.path, NULL);
        assert_int_equal(sr_description_set_buffers(d, &err), wrong[i].status);
        if (!strstr(sr_error_message(&err), wrong[i].part)) {
            fail_msg("%s", sr_error_message(&err));
        }
        sr_description_free(d);
    }
    sr_error_clear(&err);
    folder_close(&folder);
}

/* Inputs are set before every run, buffers once; the first graph that gives a slot data decides. */
static void test_inputs(void **state) {
    (void)state;
    sr_error err = {0};
    sr_description *d = load_text(
        "{" MACHINE ",\"params\":{\"n\":2},\"tensors\":[{\"name\":\"in\",\"ne\":[4],\"flags\":[\"input\"]},"
        "{\"name\":\"ids\",\"type\":\"i32\",\"ne\":[2],\"flags\":[\"input\"]},{\"name\":\"free\",\"ne\":[2]},"
        "{\"name\":\"given\",\"ne\":[\"n\"],\"data\":{\"fill\":\"n\"}},{\"name\":\"kv\",\"ne\":[2],\"buffer\":\"kv\"},"
        "{\"name\":\"w\",\"ne\":[2],\"buffer\":\"cpu_w\"}],\"runs\":[{},{\"params\":{\"n\":3}}]}");
    sr_buffer *buffer;
    assert_int_equal(sr_buffer_type_alloc(sr_host_buffer_type(), 4096, &buffer, &err), SR_OK);
    sr_storage storage[6] = {{0}};
    for (int run = 0; run < 2; run++) {
        const sr_graph *graph = sr_description_run(d, run)->graph;
        sr_graph_view view = sr_graph_whole(graph);
        memset(buffer->base, 0x55, 4096);
        for (int i = 0; i < 4; i++) {
            storage[i] = (sr_storage){buffer, (size_t)i * 64};
        }
        view.storage = storage;
        assert_int_equal(sr_description_set_inputs(d, sr_description_run(d, run), &view, &err), SR_OK);
        const float *f = buffer->base;
        const uint32_t *u = buffer->base;
        assert_true(f[0] == (float)expected_random(fnv("in"), 0, -1, 1) &&
                    f[3] == (float)expected_random(fnv("in"), 3, -1, 1));
        assert_true(u[16] == 0 && u[17] == 0 && u[32] == 0 && u[33] == 0);
        assert_true(f[48] == 2.0f + (float)run && f[49] == f[48]);
        assert_int_equal(u[48 + 2 + run], 0x55555555);
    }
    const sr_tensor *kv = tensor_of(d, 0, "kv"), *w = tensor_of(d, 0, "w");
    float values[2] = {7, 7};
    assert_int_equal(sr_description_set_buffers(d, &err), SR_OK);
    assert_int_equal(sr_buffer_get(w->buffer, values, w->buffer_offset, 8, &err), SR_OK);
    assert_true(values[1] == (float)expected_random(fnv("w"), 1, -1, 1));
    assert_int_equal(sr_buffer_get(kv->buffer, values, kv->buffer_offset, 8, &err), SR_OK);
    assert_true(values[0] == 0 && values[1] == 0);
    values[0] = 9;
    assert_int_equal(sr_buffer_set(kv->buffer, values, kv->buffer_offset, 8, &err), SR_OK);
    assert_int_equal(sr_description_set_buffers(d, &err), SR_OK); /* what a run left stays */
    assert_int_equal(sr_buffer_get(kv->buffer, values, kv->buffer_offset, 8, &err), SR_OK);
    assert_true(values[0] == 9);
    sr_buffer_free(buffer);
    sr_description_free(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values), cmocka_unit_test(test_strided), cmocka_unit_test(test_random),
        cmocka_unit_test(test_long), cmocka_unit_test(test_file), cmocka_unit_test(test_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
