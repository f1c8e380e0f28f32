/*
 * test_describe_machine.c - tests of backends, buffers, placement and includes of descriptions (src/describe).
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/describe_case.h"

static void test_backends(void **state) {
    (void)state;
    sr_description *d = load_text(
        "{\"sched_run\":1,\"nodes\":[],\"params\":{\"gib\":2},\"buffer_types\":{\"CPU_REPACK\":{\"alignment\":64,\"max_"
        "size\":\"1GiB\"},"
        "\"Mapped\":{\"host\":true}},\"backends\":["
        "{\"name\":\"G\",\"device\":\"sim\",\"type\":\"igpu\",\"alignment\":16,\"max_buffer_size\":\"1MiB\",\"memory\":"
        "\"gib*1073741824\","
        "\"accepts\":[\"CPU_REPACK\"],\"events\":false,\"async\":false,\"speed\":{\"flops\":1e12,\"latency\":1e-6},"
        "\"ops\":{\"deny\":[\"MUL_MAT:q4_K\",\"SILU\",{\"op\":\"FLASH_ATTN_EXT\",\"src0.ne0\":{\"gt\":128},"
        "\"src1.type\":[\"q8_0\",\"q4_0\"],\"src0.buffer_type\":\"CPU_REPACK\",\"type\":{\"ne\":\"f16\"}}]},"
        "\"offload\":{\"min_batch\":32,\"ops\":[\"MUL_MAT\"]},\"alloc_extra\":[{\"op\":\"ADD\",\"bytes\":\"ne0*4\"}]},"
        "{\"name\":\"S\",\"device\":\"sim\",\"buffer_type\":\"CPU\",\"ops\":{\"allow\":[]}},"
        "{\"device\":\"cpu\",\"ops\":{}}]}");
    sr_machine *m = sr_description_machine(d);
    assert_int_equal(m->n_backends, 3);
    const sr_backend *g = m->backends[0];
    assert_string_equal(g->name, "G");
    assert_int_equal(g->device->type, SR_DEVICE_IGPU);
    assert_int_equal(g->buffer_type->alignment, 16);
    assert_int_equal(g->buffer_type->max_size, 1 << 20);
    assert_string_equal(g->buffer_type->name, "G");
    assert_int_equal(g->n_accepts, 1);
    assert_true(g->has_rules && !g->has_allow && g->deny.n == 3);
    assert_int_equal(g->deny.rules[0].op, SR_OP_MUL_MAT);
    assert_int_equal(g->deny.rules[0].tests[0].numbers[0], SR_TYPE_Q4_K);
    assert_string_equal(g->deny.rules[0].text, "MUL_MAT:q4_K");
    assert_int_equal(g->deny.rules[1].kind, SR_UNARY_SILU);
    assert_int_equal(g->deny.rules[2].n_tests, 4);
    assert_int_equal(g->deny.rules[2].tests[1].n_values, 2);
    assert_int_equal(g->deny.rules[2].tests[3].compare, SR_CMP_NE);
    assert_true(g->speed.flops == 1e12 && g->speed.latency == 1e-6);
    assert_true(sr_backend_can_offload(g));
    assert_true(m->backends[1]->has_allow && m->backends[1]->allow.n == 0);
    assert_ptr_equal(m->backends[1]->buffer_type, sr_host_buffer_type());
    assert_string_equal(m->backends[2]->name, "cpu");
    assert_true(m->backends[2]->has_rules);
    assert_true(sr_machine_buffer_type(m, "Mapped")->is_host);
    assert_int_equal(sr_machine_buffer_type(m, "CPU_REPACK")->max_size, 1 << 30);
    char *plain = check_expansion(d);
    assert_non_null(strstr(plain, "\"memory\": 2147483648"));
    free(plain);
    sr_description_free(d);
}

static char last_warning[256];
static void keep_warning(void *user, const char *message) {
    (void)user;
    snprintf(last_warning, sizeof(last_warning), "%s", message);
}

static void test_missing_device(void **state) {
    (void)state;
    static const char text[] =
        "{\"sched_run\":1,\"nodes\":[],\"backends\":[{\"name\":\"N\",\"device\":\"nosuch:1\",\"memory\":\"1GiB\","
        "\"ops\":{\"deny\":[\"ADD\"]}},{\"name\":\"CPU\",\"device\":\"cpu\"}]}";
    load_fails(text, NULL, NULL, SR_UNAVAILABLE, "nosuch");
    const sr_load_options options = {.simulate_missing = true, .warn = keep_warning};
    sr_description *d = load_with(text, NULL, &options);
    const sr_backend *b = sr_description_machine(d)->backends[0];
    assert_string_equal(b->name, "N");
    assert_int_equal(b->deny.n, 1);
    assert_int_equal(b->device->type, SR_DEVICE_GPU);
    assert_non_null(strstr(last_warning, "'nosuch:1'"));
    sr_description_free(d);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

#define TWO_GRAPHS \
    "\"params\":{\"n\":4},\"tensors\":[{\"name\":\"a\",\"ne\":[3],\"buffer\":\"kv\"},{\"name\":\"k\",\"ne\":[\"n\"]," \
    "\"buffer\":\"kv\"}," \
    "{\"id\":\"s1\",\"name\":\"s\",\"ne\":[1],\"buffer\":\"kv\"},{\"id\":\"s2\",\"name\":\"s\",\"ne\":[2],\"buffer\":" \
    "\"kv\"}," \
    "{\"name\":\"z\",\"ne\":[1],\"buffer\":\"kv\"}],\"runs\":[{},{\"params\":{\"n\":40}}]"

static void test_slots(void **state) {
    (void)state;
    sr_description *d = load_text("{" MACHINE "," TWO_GRAPHS "}");
    static const struct {
        const char *id;
        size_t offset;
    } slots[] = {{"a", 0}, {"k", 128}, {"s1", 384}, {"s2", 512}, {"z", 640}};
    for (int run = 0; run < 2; run++) {
        for (int i = 0; i < SR_COUNT(slots); i++) {
            const sr_tensor *t = tensor_of(d, run, slots[i].id);
            assert_int_equal(t->buffer_offset, slots[i].offset);
            assert_ptr_equal(t->buffer, tensor_of(d, 0, "a")->buffer);
        }
    }
    assert_int_equal(tensor_of(d, 0, "a")->buffer->size, 644);
    assert_int_equal(tensor_of(d, 0, "a")->buffer->usage, SR_USAGE_ANY);
    sr_description_free(d);
    const sr_load_options options = {.no_memory = true};
    d = load_with("{" MACHINE "," TWO_GRAPHS "}", NULL, &options);
    assert_int_equal(tensor_of(d, 0, "k")->buffer->size, 0);
    assert_string_equal(tensor_of(d, 0, "k")->buffer->type->name, "GPU0");
    sr_description_free(d);
}

/* No tensor straddles two physical buffers; one beyond the limit has its own. */
static void test_physical_buffers(void **state) {
    (void)state;
#define SMALL(memory) \
    "{\"sched_run\":1,\"backends\":[{\"name\":\"G\",\"device\":\"sim\",\"max_buffer_size\":1024" memory "}," \
    "{\"name\":\"CPU\",\"device\":\"cpu\"}],\"buffers\":{\"w\":{\"type\":\"G\",\"usage\":\"weights\"}},"
#define LEAFS(a, b, c) \
    "\"tensors\":[{\"name\":\"a\",\"ne\":[" #a "],\"buffer\":\"w\"},{\"name\":\"b\",\"ne\":[" #b \
    "],\"buffer\":\"w\"}," \
    "{\"name\":\"c\",\"ne\":[" #c "],\"buffer\":\"w\"}]}"
    sr_description *d = load_text(SMALL("") LEAFS(200, 56, 1));
    assert_ptr_not_equal(tensor_of(d, 0, "a")->buffer, tensor_of(d, 0, "b")->buffer);
    assert_ptr_equal(tensor_of(d, 0, "b")->buffer, tensor_of(d, 0, "c")->buffer);
    assert_int_equal(tensor_of(d, 0, "b")->buffer_offset, 0);
    assert_int_equal(tensor_of(d, 0, "c")->buffer_offset, 256);
    assert_int_equal(tensor_of(d, 0, "c")->buffer->usage, SR_USAGE_WEIGHTS);
    assert_string_equal(tensor_of(d, 0, "c")->buffer->name, "w");
    sr_description_free(d);
    d = load_text(SMALL("") LEAFS(1, 257, 1));
    assert_int_equal(tensor_of(d, 0, "b")->buffer->size, 1028);
    assert_int_equal(tensor_of(d, 0, "c")->buffer->size, 4);
    sr_description_free(d);
    load_fails(SMALL(",\"memory\":1200") LEAFS(200, 200, 1), NULL, NULL, SR_ALLOCATION, "the buffer 'w'");
    const sr_load_options options = {.no_memory = true};
    sr_description_free(load_with(SMALL(",\"memory\":1200") LEAFS(200, 200, 1), NULL, &options));
}

/* A type that no backend owns: loads; that nothing can compute there is for the scheduler to say. */
static void test_foreign_type(void **state) {
    (void)state;
    sr_description *d = load_text(
        "{\"sched_run\":1,\"backends\":[{\"name\":\"CPU\",\"device\":\"cpu\"}],"
        "\"buffer_types\":{\"ROCm0\":{\"alignment\":256}},\"buffers\":{\"kv\":{\"type\":\"ROCm0\"}},"
        "\"tensors\":[{\"name\":\"a\",\"ne\":[1],\"buffer\":\"kv\"},{\"name\":\"b\",\"ne\":[1],\"buffer\":\"kv\"}]}");
    assert_int_equal(tensor_of(d, 0, "b")->buffer_offset, 256);
    assert_false(tensor_of(d, 0, "b")->buffer->type->is_host);
    sr_description_free(d);
}

/* ---- placement --------------------------------------------------------------------------------------------------- */

#define PLACED \
    "{" MACHINE ",\"params\":{\"n_layer\":4,\"ngl\":2},\"placement\":[{\"match\":\"^blk\\\\.([0-9]+)\\\\.\"," \
                "\"where\":\"m1 >= n_layer - ngl\"," \
    "\"buffer\":\"gpu_w\"},{\"match\":\"^(blk|tok)\",\"buffer\":\"CPU\"}],\"tensors\":[{\"repeat\":\"n_layer\"," \
    "\"as\":\"i\",\"items\":[" \
    "{\"name\":\"blk.{i}.w\",\"ne\":[1]}]},{\"name\":\"tok\",\"ne\":[1]},{\"name\":\"blk.9.in\",\"ne\":[1],\"flags\":" \
    "[\"input\"]}," \
    "{\"name\":\"blk.9.own\",\"ne\":[1],\"buffer\":\"kv\"},{\"name\":\"other\",\"ne\":[1]}]}"

static const char *buffer_of(const sr_description *d, const char *id) {
    const sr_buffer *buffer = tensor_of(d, 0, id)->buffer;
    return buffer ? buffer->name : "none";
}

static void test_placement(void **state) {
    (void)state;
    sr_description *d = load_text(PLACED);
    assert_string_equal(buffer_of(d, "blk.1.w"), "CPU");
    assert_string_equal(buffer_of(d, "blk.2.w"), "gpu_w");
    assert_string_equal(buffer_of(d, "tok"), "CPU");
    assert_int_equal(tensor_of(d, 0, "tok")->buffer->usage, SR_USAGE_WEIGHTS); /* a buffer type by its name */
    assert_string_equal(buffer_of(d, "blk.9.in"), "none");
    assert_string_equal(buffer_of(d, "blk.9.own"), "kv");
    assert_string_equal(buffer_of(d, "other"), "none");
    char *plain = check_expansion(d);
    assert_null(strstr(plain, "placement"));
    free(plain);
    sr_description_free(d);
}

static void test_given_placement(void **state) {
    (void)state;
    static const char *const given[] = {"^blk\\.[12]=cpu_w", "other|own|in=GPU0"};
    sr_load_options options = {.places = given, .n_places = 2};
    sr_description *d = load_with(PLACED, NULL, &options);
    assert_string_equal(buffer_of(d, "blk.2.w"), "cpu_w");
    assert_string_equal(buffer_of(d, "blk.3.w"), "gpu_w");
    assert_string_equal(buffer_of(d, "other"), "GPU0");
    assert_string_equal(buffer_of(d, "blk.9.own"), "GPU0"); /* the command line goes before the file */
    assert_string_equal(buffer_of(d, "blk.9.in"), "none");
    sr_description_free(d);
    static const struct { const char *given, *part; } wrong[] = {
        {"a", "REGEX=BUFFER"}, {"a=", "REGEX=BUFFER"}, {"=b", "REGEX=BUFFER"}, {"(=kv", "no regular expression"},
        {"a=gpu", "no buffer or buffer type is called 'gpu'"},
    };
    options.n_places = 1;
    for (int i = 0; i < SR_COUNT(wrong); i++) {
        options.places = &wrong[i].given;
        load_fails(PLACED, NULL, &options, SR_USAGE, wrong[i].part);
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void test_include(void **state) {
    (void)state;
    test_folder folder;
    sr_error err = {0};
    sr_description *d;
    char main_file[128];
    folder_open(&folder);
    folder_text(
        &folder, "machine.json",
        "{\"include\":\"more.json\",\"name\":\"machine\",\"backends\":[{\"name\":\"CPU\",\"device\":\"cpu\"}]}");
    folder_text(&folder, "more.json", "{\"params\":{\"n\":3},\"backends\":7}");
    snprintf(main_file, sizeof(main_file), "%s",
             folder_text(&folder, "main.json",
                         "{\"sched_run\":1,\"include\":\"machine.json\",\"name\":\"main\",\"tensors\":[{\"name\":\"x\","
                         "\"ne\":[\"n\"]}]}"));
    assert_int_equal(sr_description_load(main_file, NULL, &d, &err), SR_OK);
    assert_string_equal(sr_description_name(d), "main");
    assert_int_equal(tensor_of(d, 0, "x")->ne[0], 3);
    char *plain = check_expansion(d);
    assert_null(strstr(plain, "include"));
    free(plain);
    sr_description_free(d);
    folder_text(&folder, "more.json", "{\n \"params\":{\"n\":true}}");
    assert_int_equal(sr_description_load(main_file, NULL, &d, &err), SR_DESCRIPTION);
    assert_non_null(strstr(err.file, "more.json"));
    assert_int_equal(err.line, 2);
    assert_string_equal(err.pointer, "/params/n");
    folder.n--;
    folder_text(&folder, "more.json", "{\"include\":\"./machine.json\"}");
    folder.n--;
    assert_int_equal(sr_description_load(main_file, NULL, &d, &err), SR_DESCRIPTION);
    assert_non_null(strstr(sr_error_message(&err), "includes itself"));
    assert_string_equal(err.pointer, "/include");
    folder_text(&folder, "more.json", "{\"include\":\"gone.json\"}");
    folder.n--;
    assert_int_equal(sr_description_load(main_file, NULL, &d, &err), SR_IO);
    assert_non_null(strstr(sr_error_message(&err), "gone.json"));
    assert_string_equal(err.pointer, "/include");
    char text[256], name[32];
    for (int i = 0; i < 20; i++) { /* a chain that is too long */
        test_folder one = folder;
        snprintf(text, sizeof(text), "{\"include\":\"c%d.json\"}", i + 1);
        snprintf(name, sizeof(name), "c%d.json", i);
        one.n = 0;
        folder_text(&one, name, text);
    }
    load_fails("{\"sched_run\":1,\"include\":\"c0.json\"}", folder.path, NULL, SR_DESCRIPTION, "more than 16 deep");
    for (int i = 0; i < 20; i++) {
        snprintf(text, sizeof(text), "%s/c%d.json", folder.path, i);
        unlink(text);
    }
    sr_error_clear(&err);
    folder_close(&folder);
}

static void test_backends_file(void **state) {
    (void)state;
    static const char text[] =
        "{" MACHINE ",\"tensors\":[{\"name\":\"w\",\"ne\":[1]},{\"name\":\"x\",\"ne\":[1],\"backend\":\"GPU0\"},"
        "{\"name\":\"y\",\"ne\":[1],\"backend\":\"CPU\"}]}";
    test_folder folder;
    folder_open(&folder);
    sr_load_options options = {0};
    options.backends_file = folder_text(&folder, "machine.json",
                                        "{\"sched_run\":1,\"backends\":[{\"name\":\"V\",\"device\":\"sim\"},"
                                        "{\"name\":\"GPU0\",\"device\":\"sim\"},{\"name\":\"CPU\",\"device\":\"cpu\"}],"
                                        "\"buffers\":{\"vw\":{\"type\":\"V\"}},"
                                        "\"placement\":[{\"match\":\"^w$\",\"buffer\":\"vw\"}]}");
    sr_description *d = load_with(text, NULL, &options);
    assert_string_equal(sr_description_machine(d)->backends[0]->name, "V");
    assert_string_equal(buffer_of(d, "w"), "vw");
    assert_int_equal(sr_description_run(d, 0)->n_assignments, 2);
    sr_description_free(d);
    folder.n--;
    folder_text(&folder, "machine.json", "{\"sched_run\":1,\"backends\":[{\"name\":\"CPU\",\"device\":\"cpu\"}]}");
    d = load_with(text, NULL, &options); /* the GPU's buffers are the CPU's here: there is no other device */
    assert_string_equal(sr_description_machine(d)->backends[0]->name, "CPU");
    sr_description_free(d);
    options.backends_file = "/nonexistent/machine.json";
    load_fails(text, NULL, &options, SR_IO, "/nonexistent/machine.json");
    folder_close(&folder);
}

/* Another machine: the first foreign type stands for the first device; host types stay; old answers say nothing. */
static void test_stand_ins(void **state) {
    (void)state;
    static const char text[] =
        "{\"sched_run\":1,\"backends\":[{\"name\":\"V0\",\"device\":\"sim\"},{\"name\":\"V1\",\"device\":\"sim\"},"
        "{\"name\":\"CPU\",\"device\":\"cpu\"}],\"buffer_types\":{\"Mapped\":{\"host\":true}},"
        "\"buffers\":{\"a\":{\"type\":\"V0\"},\"b\":{\"type\":\"V1\"},\"c\":{\"type\":\"Mapped\"}},"
        "\"tensors\":[{\"name\":\"x\",\"ne\":[1],\"buffer\":\"a\"},{\"name\":\"y\",\"ne\":[1],\"buffer\":\"b\"},"
        "{\"name\":\"z\",\"ne\":[1],\"buffer\":\"c\"}],"
        "\"nodes\":[{\"name\":\"n\",\"op\":\"SQR\",\"src\":[\"x\"],\"supported_by\":[\"CPU\"]}]}";
    test_folder folder;
    folder_open(&folder);
    sr_load_options options = {0};
    options.backends_file = folder_text(&folder, "machine.json",
                                        "{\"sched_run\":1,\"backends\":[{\"name\":\"G\",\"device\":\"sim\"},"
                                        "{\"name\":\"CPU\",\"device\":\"cpu\"}]}");
    sr_description *d = load_with(text, NULL, &options);
    const sr_graph *graph = sr_description_run(d, 0)->graph;
    const sr_buffer_type *gpu = sr_machine_buffer_type(sr_description_machine(d), "G");
    assert_ptr_equal(graph->tensors[sr_graph_find(graph, "x")].buffer->type, gpu);
    assert_ptr_equal(graph->tensors[sr_graph_find(graph, "y")].buffer->type, gpu); /* one device for both */
    assert_ptr_equal(graph->tensors[sr_graph_find(graph, "z")].buffer->type, sr_host_buffer_type());
    assert_int_equal(graph->tensors[sr_graph_find(graph, "n")].answers, -1);
    sr_description_free(d);
    folder_close(&folder);
}

static void test_io(void **state) {
    (void)state;
    sr_error err = {0};
    sr_description *d;
    assert_int_equal(sr_description_load("/nonexistent/x.json", NULL, &d, &err), SR_IO);
    assert_int_equal(sr_description_load("/", NULL, &d, &err), SR_IO);
    assert_non_null(strstr(sr_error_message(&err), "'/'"));
    assert_null(d);
    sr_error_clear(&err);
}

static void test_offload_override(void **state) {
    (void)state;
    static const char text[] =
        "{\"sched_run\":1,\"backends\":[{\"name\":\"G\",\"device\":\"sim\",\"offload\":{\"min_batch\":32}},"
        "{\"name\":\"CPU\",\"device\":\"cpu\"}],\"tensors\":[{\"name\":\"x\",\"ne\":[4,8]}],"
        "\"nodes\":[{\"name\":\"y\",\"op\":\"SQR\",\"src\":[\"x\"]}]}";
    sr_load_options options = {.has_offload_min_batch = true, .offload_min_batch = 8};
    for (int given = 0; given < 2; given++) {
        sr_description *d = load_with(text, NULL, given ? &options : NULL);
        const sr_graph *graph = sr_description_run(d, 0)->graph;
        sr_graph_view view = sr_graph_whole(graph);
        assert_int_equal(
            sr_backend_offload_op(sr_description_machine(d)->backends[0], &view, sr_graph_find(graph, "y")), given);
        sr_description_free(d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backends), cmocka_unit_test(test_missing_device), cmocka_unit_test(test_slots),
        cmocka_unit_test(test_physical_buffers), cmocka_unit_test(test_foreign_type), cmocka_unit_test(test_placement),
        cmocka_unit_test(test_given_placement), cmocka_unit_test(test_include), cmocka_unit_test(test_backends_file),
        cmocka_unit_test(test_stand_ins), cmocka_unit_test(test_io), cmocka_unit_test(test_offload_override),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
