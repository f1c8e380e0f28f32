/*
 * test_gguf.c - tests of src/describe/gguf.c: well-formed files, hostile ones, and what descriptions take from them.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "describe/gguf.h"
#include "support/describe_case.h"

/* ---- writing ----------------------------------------------------------------------------------------------------- */

typedef struct bytes { uint8_t data[4096]; size_t n; } bytes;

static void put(bytes *b, uint64_t value, int n) {
    for (int i = 0; i < n; i++) {
        b->data[b->n++] = (uint8_t)(value >> (8 * i));
    }
}

static void put_text(bytes *b, const char *text) {
    put(b, strlen(text), 8);
    memcpy(b->data + b->n, text, strlen(text));
    b->n += strlen(text);
}

static void put_header(bytes *b, uint32_t version, uint64_t n_tensors, uint64_t n_keys) {
    b->n = 0;
    put(b, 0x46554747, 4);
    put(b, version, 4);
    put(b, n_tensors, 8);
    put(b, n_keys, 8);
}

static void put_u32(bytes *b, const char *key, uint32_t value) {
    put_text(b, key);
    put(b, 4, 4);
    put(b, value, 4);
}

static void put_tensor(bytes *b, const char *name, int n_dims, const uint64_t *dims, uint32_t type, uint64_t offset) {
    put_text(b, name);
    put(b, (uint64_t)n_dims, 4);
    for (int i = 0; i < n_dims; i++) {
        put(b, dims[i], 8);
    }
    put(b, type, 4);
    put(b, offset, 8);
}

static void pad(bytes *b, size_t alignment) {
    while (b->n % alignment != 0) {
        put(b, 0, 1);
    }
}

/* Two tensors: w f32 [2, 2] and q q4_0 [32]. */
static void put_model(bytes *b) {
    put_header(b, 3, 2, 6);
    put_u32(b, "llama.block_count", 2);
    put_text(b, "llama.eps");
    put(b, 6, 4);
    put(b, 0x3F000000, 4);
    put_text(b, "tokens");
    put(b, 9, 4);
    put(b, 8, 4);
    put(b, 3, 8);
    put_text(b, "a");
    put_text(b, "");
    put_text(b, "ccc");
    put_text(b, "heads");
    put(b, 9, 4);
    put(b, 5, 4);
    put(b, 2, 8);
    put(b, 4, 4);
    put(b, 4, 4);
    put_text(b, "mixed");
    put(b, 9, 4);
    put(b, 5, 4);
    put(b, 2, 8);
    put(b, 4, 4);
    put(b, (uint32_t)-4, 4);
    put_text(b, "causal");
    put(b, 7, 4);
    put(b, 1, 1);
    put_tensor(b, "w", 2, (uint64_t[]){2, 2}, SR_TYPE_F32, 0);
    put_tensor(b, "q", 1, (uint64_t[]){32}, SR_TYPE_Q4_0, 32);
    pad(b, 32);
    const float w[4] = {1, 2, 3, 4};
    memcpy(b->data + b->n, w, sizeof(w));
    b->n += sizeof(w);
    pad(b, 32);
    for (int i = 0; i < 18; i++) {
        put(b, (uint64_t)i, 1);
    }
}

static sr_status open_bytes(test_folder *folder, const bytes *b, size_t n, sr__gguf **gguf, sr_error *err) {
    folder->n = 0;
    return sr__gguf_open(folder_put(folder, "m.gguf", b->data, n), gguf, err);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void test_reads(void **state) {
    (void)state;
    test_folder folder;
    sr_error err = {0};
    sr__gguf *g;
    bytes b;
    folder_open(&folder);
    put_model(&b);
    if (open_bytes(&folder, &b, b.n, &g, &err) != SR_OK) {
        fail_msg("%s", sr_error_message(&err));
    }
    static const struct { const char *key; double value; } numbers[] = {
        {"llama.block_count", 2}, {"llama.eps", 0.5}, {"tokens", 3}, {"heads", 4}, {"causal", 1},
    };
    bool found;
    double value;
    for (int i = 0; i < SR_COUNT(numbers); i++) {
        assert_int_equal(sr__gguf_number(g, numbers[i].key, &found, &value, &err), SR_OK);
        assert_true(found && value == numbers[i].value);
    }
    assert_int_equal(sr__gguf_number(g, "none", &found, &value, &err), SR_OK);
    assert_false(found);
    assert_int_equal(sr__gguf_number(g, "mixed", &found, &value, &err), SR_INVALID);
    const sr__gguf_tensor *w = sr__gguf_find(g, "w"), *q = sr__gguf_find(g, "q");
    assert_true(w->type == SR_TYPE_F32 && w->n_dims == 2 && w->ne[1] == 2 && w->ne[3] == 1 && w->size == 16);
    assert_true(((const float *)(const void *)w->data)[3] == 4);
    assert_true(q->size == 18 && q->data[17] == 17);
    assert_null(sr__gguf_find(g, "z"));
    sr__gguf_close(g);
    sr_error_clear(&err);
    folder_close(&folder);
}

static void test_smallest(void **state) {
    (void)state;
    test_folder folder;
    sr_error err = {0};
    sr__gguf *g;
    bytes b;
    folder_open(&folder);
    put_header(&b, 2, 0, 0);
    assert_int_equal(open_bytes(&folder, &b, b.n, &g, &err), SR_OK);
    sr__gguf_close(g);
    assert_int_equal(sr__gguf_open("/nonexistent.gguf", &g, &err), SR_IO);
    assert_int_equal(sr__gguf_open(folder.path, &g, &err), SR_IO);
    assert_null(g);
    sr_error_clear(&err);
    folder_close(&folder);
}

/* Every prefix and every changed byte: a status, and never a read outside the file. */
static void test_damaged(void **state) {
    (void)state;
    test_folder folder;
    sr__gguf *g;
    bytes b;
    folder_open(&folder);
    put_model(&b);
    for (size_t n = 0; n < b.n; n++) {
        assert_int_equal(open_bytes(&folder, &b, n, &g, NULL), SR_DESCRIPTION);
    }
    for (size_t i = 0; i < b.n; i++) {
        static const uint8_t values[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
        const uint8_t own = b.data[i];
        for (int k = 0; k < SR_COUNT(values); k++) {
            b.data[i] = values[k];
            sr_status status = open_bytes(&folder, &b, b.n, &g, NULL);
            assert_true(status == SR_OK || status == SR_DESCRIPTION);
            bool found;
            double value;
            for (int t = 0; g && t < 2; t++) { /* what is said to be there can be read */
                const sr__gguf_tensor *tensor = sr__gguf_find(g, t ? "w" : "q");
                unsigned sum = 0;
                for (size_t at = 0; tensor && at < tensor->size; at++) {
                    sum += tensor->data[at];
                }
                assert_true(sum < UINT32_MAX);
                sr__gguf_number(g, t ? "heads" : "tokens", &found, &value, NULL);
            }
            sr__gguf_close(g);
        }
        b.data[i] = own;
    }
    folder_close(&folder);
}

typedef void (*maker)(bytes *b);

static void bad_magic(bytes *b) { put_header(b, 3, 0, 0); b->data[0] = 'g'; }
static void version_1(bytes *b) { put_header(b, 1, 0, 0); }
static void version_4(bytes *b) { put_header(b, 4, 0, 0); }
static void other_order(bytes *b) { put_header(b, 0x03000000, 0, 0); }
static void many_keys(bytes *b) { put_header(b, 3, 0, UINT64_MAX); }
static void many_tensors(bytes *b) { put_header(b, 3, UINT64_C(1) << 60, 0); put_text(b, "x"); pad(b, 32); }
static void empty_key(bytes *b) { put_header(b, 3, 0, 1); put_u32(b, "", 1); }
static void twice(bytes *b) { put_header(b, 3, 0, 2); put_u32(b, "a", 1); put_u32(b, "a", 1); }
static void alignment_3(bytes *b) { put_header(b, 3, 0, 1); put_u32(b, "general.alignment", 3); }
static void alignment_0(bytes *b) { put_header(b, 3, 0, 1); put_u32(b, "general.alignment", 0); }
static void alignment_text(bytes *b) {
    put_header(b, 3, 0, 1);
    put_text(b, "general.alignment");
    put(b, 8, 4);
    put_text(b, "32");
}
static void nested_array(bytes *b) {
    put_header(b, 3, 0, 1);
    put_text(b, "a");
    put(b, 9, 4);
    put(b, 9, 4);
    put(b, 0, 8);
}
static void long_array(bytes *b) {
    put_header(b, 3, 0, 1);
    put_text(b, "a");
    put(b, 9, 4);
    put(b, 10, 4);
    put(b, UINT64_C(1) << 29, 8);
}
static void bad_bool(bytes *b) {
    put_header(b, 3, 0, 1);
    put_text(b, "a");
    put(b, 7, 4);
    put(b, 2, 1);
}
static void one_tensor(bytes *b, const char *name, int n_dims, const uint64_t *dims, uint32_t type, uint64_t offset) {
    put_header(b, 3, 1, 0);
    put_tensor(b, name, n_dims, dims, type, offset);
    pad(b, 32);
    put(b, 0, 8);
    pad(b, 32);
}
static void dims_5(bytes *b) { one_tensor(b, "t", 5, (uint64_t[]){1, 1, 1, 1, 1}, 0, 0); }
static void dim_0(bytes *b) { one_tensor(b, "t", 2, (uint64_t[]){4, 0}, 0, 0); }
static void dim_huge(bytes *b) { one_tensor(b, "t", 2, (uint64_t[]){UINT64_C(1) << 62, 4}, 0, 0); }
static void dim_negative(bytes *b) { one_tensor(b, "t", 1, (uint64_t[]){UINT64_MAX}, 0, 0); }
static void type_4(bytes *b) { one_tensor(b, "t", 1, (uint64_t[]){32}, 4, 0); }
static void type_huge(bytes *b) { one_tensor(b, "t", 1, (uint64_t[]){32}, UINT32_MAX, 0); }
static void half_block(bytes *b) { one_tensor(b, "t", 1, (uint64_t[]){33}, SR_TYPE_Q4_0, 0); }
static void offset_32(bytes *b) { one_tensor(b, "t", 1, (uint64_t[]){1}, 0, 32); }
static void cut_off(bytes *b) { one_tensor(b, "t", 1, (uint64_t[]){4096}, 0, 0); }
static void long_name(bytes *b) {
    one_tensor(b, "0123456789012345678901234567890123456789012345678901234567890123", 1, (uint64_t[]){1}, 0, 0);
}

static void test_hostile(void **state) {
    (void)state;
    static const struct { maker make; const char *part; } cases[] = {
        {bad_magic, "no GGUF"}, {version_1, "version"}, {version_4, "version"}, {other_order, "byte order"},
        {many_keys, "key-value pairs"}, {many_tensors, "more tensors"}, {empty_key, "1 to 65535"}, {twice, "key 'a'"},
        {alignment_3, "power of two"}, {alignment_0, "power of two"}, {alignment_text, "not of type u32"},
        {nested_array, "key 'a'"}, {long_array, "ends here"}, {bad_bool, "neither 0 nor 1"}, {dims_5, "4 dimensions"},
        {dim_0, "extent of 0"}, {dim_huge, "too large"}, {dim_negative, "too large"}, {type_4, "does not exist"},
        {type_huge, "does not exist"}, {half_block, "blocks"}, {offset_32, "does not follow"}, {cut_off, "cut off"},
        {long_name, "63 bytes"},
    };
    test_folder folder;
    sr_error err = {0};
    folder_open(&folder);
    for (int i = 0; i < SR_COUNT(cases); i++) {
        sr__gguf *g;
        bytes b;
        cases[i].make(&b);
        sr_status status = open_bytes(&folder, &b, b.n, &g, &err);
        if (status != SR_DESCRIPTION || !strstr(sr_error_message(&err), cases[i].part)) {
            fail_msg("%d: %s: %s", i, cases[i].part, sr_error_message(&err));
        }
    }
    sr_error_clear(&err);
    folder_close(&folder);
}

/* ---- descriptions ------------------------------------------------------------------------------------------------ */

static void test_description(void **state) {
    (void)state;
    test_folder folder;
    sr_error err = {0};
    bytes b;
    folder_open(&folder);
    put_model(&b);
    folder_put(&folder, "m.gguf", b.data, b.n);
    sr_description *d = load_with(
        "{" MACHINE ",\"weights\":\"m.gguf\",\"params\":{\"n\":{\"gguf\":\"llama.block_count\",\"default\":32},"
        "\"d\":{\"gguf\":\"llama.other\",\"default\":\"n*3\"},\"eps\":{\"gguf\":\"llama.eps\"}},"
        "\"tensors\":[{\"name\":\"w\",\"buffer\":\"cpu_w\"},{\"name\":\"q\",\"buffer\":\"cpu_w\"},{\"id\":\"w16\","
        "\"name\":\"w\","
        "\"type\":\"f16\",\"ne\":[2,2],\"buffer\":\"cpu_w\"},{\"name\":\"x\",\"ne\":[\"n\",\"d\"]},{\"id\":\"o\","
        "\"name\":\"other\","
        "\"ne\":[2,2],\"buffer\":\"cpu_w\",\"data\":{\"gguf\":\"m.gguf\",\"tensor\":\"w\"}}],"
        "\"nodes\":[{\"name\":\"y\",\"op\":\"RMS_NORM\",\"src\":[\"x\"],\"params\":{\"eps\":\"eps\"}}]}",
        folder.path, NULL);
    assert_int_equal(tensor_of(d, 0, "w")->ne[1], 2);
    assert_int_equal(tensor_of(d, 0, "q")->type, SR_TYPE_Q4_0);
    assert_int_equal(tensor_of(d, 0, "x")->ne[0], 2);
    assert_int_equal(tensor_of(d, 0, "x")->ne[1], 6);
    if (sr_description_set_buffers(d, &err) != SR_OK) {
        fail_msg("%s", sr_error_message(&err));
    }
    float w[4];
    const sr_tensor *t = tensor_of(d, 0, "w"), *o = tensor_of(d, 0, "o"), *w16 = tensor_of(d, 0, "w16");
    assert_int_equal(sr_buffer_get(t->buffer, w, t->buffer_offset, 16, &err), SR_OK);
    assert_true(w[0] == 1 && w[3] == 4);
    assert_int_equal(sr_buffer_get(o->buffer, w, o->buffer_offset, 16, &err), SR_OK);
    assert_true(w[0] == 1 && w[3] == 4);
    uint16_t half[4];
    assert_int_equal(sr_buffer_get(w16->buffer, half, w16->buffer_offset, 8, &err), SR_OK);
    assert_int_not_equal(half[0], 0x3C00); /* of another type: not from the file */
    char *plain = expand_text(d);
    assert_non_null(strstr(plain, "\"weights\": \"m.gguf\""));
    sr_description *again = load_with(plain, folder.path, NULL);
    char *second = expand_text(again);
    assert_string_equal(plain, second);
    free(second);
    free(plain);
    sr_description_free(again);
    sr_description_free(d);
    folder_close(&folder);
}

static void test_description_errors(void **state) {
    (void)state;
    test_folder folder;
    sr_error err = {0};
    bytes b;
    folder_open(&folder);
    put_model(&b);
    char path[128];
    snprintf(path, sizeof(path), "%s", folder_put(&folder, "m.gguf", b.data, b.n));
    const sr_load_options options = {.weights = path};
    load_fails("{" MACHINE ",\"nodes\":[],\"params\":{\"n\":{\"gguf\":\"gone\"}}}", NULL, &options, SR_DESCRIPTION,
               "no key 'gone'");
    load_fails("{" MACHINE ",\"nodes\":[],\"params\":{\"n\":{\"gguf\":\"mixed\"}}}", NULL, &options, SR_DESCRIPTION,
               "'mixed'");
    load_fails("{" MACHINE ",\"tensors\":[{\"name\":\"z\"}]}", NULL, &options, SR_DESCRIPTION, "has no tensor 'z'");
    load_fails("{" MACHINE ",\"weights\":\"gone.gguf\",\"tensors\":[{\"name\":\"z\"}]}", folder.path, NULL, SR_IO,
               "gone.gguf");
    static const struct { const char *leaf, *part; } wrong[] = {
        {"\"name\":\"w\",\"ne\":[3]", "'w' has 12 bytes"},
        {"\"name\":\"a\",\"ne\":[4],\"data\":{\"gguf\":\"m.gguf\",\"tensor\":\"q\"}", "is q4_0"},
        {"\"name\":\"a\",\"ne\":[4],\"data\":{\"gguf\":\"m.gguf\"}", "no tensor 'a'"},
    };
    for (int i = 0; i < SR_COUNT(wrong); i++) {
        char text[1024];
        snprintf(text, sizeof(text), "{" MACHINE ",\"tensors\":[{\"buffer\":\"cpu_w\",%s}]}", wrong[i].leaf);
        sr_description *d = load_with(text, folder.path, &options);
        assert_int_equal(sr_description_set_buffers(d, &err), SR_DESCRIPTION);
        if (!strstr(sr_error_message(&err), wrong[i].part)) {
            fail_msg("%s", sr_error_message(&err));
        }
        sr_description_free(d);
    }
    sr_error_clear(&err);
    folder_close(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads), cmocka_unit_test(test_smallest), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_description), cmocka_unit_test(test_description_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
