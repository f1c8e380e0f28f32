/*
 * test_backend_answers.c - tests of src/backend/backend_answers.c: recordings, rules, devices, in that order.
 *
 * Layer: tests.
 */
#include "support/backend_fixture.h"

static int32_t recorded(sr_graph *graph, const char *name, int op, int32_t src, const sr_answers *answers) {
    sr_error err = {0};
    int32_t tensor;
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.name = name;
    spec.op = op;
    spec.srcs = &src;
    spec.n_src = 1;
    spec.answers = answers;
    bf_ok(sr_graph_add(graph, &spec, &tensor, &err), &err);
    return tensor;
}

static bool refused(const sr_backend *backend, const sr_graph_view *view, int32_t tensor, int by, const char *text) {
    sr_refusal why;
    return !sr_backend_supports_op(backend, view, tensor, &why) && (int)why.by == by && strstr(why.text, text);
}

static void test_recorded(void **state) {
    (void)state;
    const char *cpu_only[] = {"CPU"}, *gpu_only[] = {"GPU0"};
    const sr_answers on_cpu = {.supported_by = cpu_only, .n_supported_by = 1, .n_offloaded_by = -1};
    const sr_answers off_gpu = {.offloaded_by = gpu_only, .n_supported_by = -1, .n_offloaded_by = 1};
    const sr_answers nobody = {.n_supported_by = 0, .n_offloaded_by = 0};
    sr_error err = {0};
    sr_backend_config configs[] = {bf_config("GPU0", "sim"), bf_config("GPU1", "sim"), bf_config("CPU", "cpu")};
    configs[1].offload_min_batch = 1;
    configs[1].has_rules = true;
    configs[1].deny = bf_rules(bf_rule(SR_OP_SQR, "SQR"));
    sr_machine *m = bf_machine(configs, 3);
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, 4, 40);
    const int32_t a = recorded(graph, "a", SR_OP_SQR, x, &on_cpu), b = recorded(graph, "b", SR_OP_SQR, x, &off_gpu);
    const int32_t c = recorded(graph, "c", SR_OP_SQR, x, &nobody), d = recorded(graph, "d", SR_OP_SQRT, x, NULL);
    bf_ok(sr_graph_finish(graph, &err), &err);
    const sr_graph_view view = sr_graph_whole(graph);
    assert_true(sr_backend_supports_op(m->backends[2], &view, a, NULL));
    assert_true(refused(m->backends[0], &view, a, SR_REFUSED_BY_RECORD, "recording"));
    assert_true(refused(m->backends[1], &view, a, SR_REFUSED_BY_RECORD, "recording")); /* before the rule */
    assert_true(sr_backend_supports_op(m->backends[0], &view, b, NULL));
    assert_true(refused(m->backends[1], &view, b, SR_REFUSED_BY_DENY, "SQR"));
    assert_true(refused(m->backends[2], &view, c, SR_REFUSED_BY_RECORD, "recording"));
    /* offload: a recording is believed over a device that never asks, and over one that would */
    assert_false(sr_backend_can_offload(m->backends[0]));
    assert_true(sr_backend_can_offload(m->backends[1]));
    assert_true(sr_backend_offload_op(m->backends[0], &view, b));
    assert_false(sr_backend_offload_op(m->backends[1], &view, b));
    assert_false(sr_backend_offload_op(m->backends[1], &view, c));
    assert_true(sr_backend_offload_op(m->backends[1], &view, d));
    assert_false(sr_backend_offload_op(m->backends[0], &view, d));
    sr_graph_free(graph);
    sr_machine_free(m);
}

static void test_allow_and_deny(void **state) {
    (void)state;
    sr_error err = {0};
    sr_backend_config configs[] = {bf_config("GPU0", "sim"), bf_config("CPU", "cpu")};
    configs[0].has_rules = configs[0].has_allow = true;
    configs[0].allow = bf_rules(bf_rule(SR_OP_SQR, "SQR"));
    sr_machine *m = bf_machine(configs, 2);
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, 4, 4);
    const int32_t y = bf_node(graph, "y", SR_OP_SQR, &x, 1), z = bf_node(graph, "z", SR_OP_SQRT, &x, 1);
    const int32_t t = bf_node(graph, "t", SR_OP_TRANSPOSE, &x, 1);
    bf_ok(sr_graph_finish(graph, &err), &err);
    const sr_graph_view view = sr_graph_whole(graph);
    assert_true(sr_backend_supports_op(m->backends[0], &view, x, NULL));
    assert_true(sr_backend_supports_op(m->backends[0], &view, y, NULL));
    assert_true(refused(m->backends[0], &view, z, SR_REFUSED_BY_ALLOW, "not among"));
    assert_true(refused(m->backends[0], &view, t, SR_REFUSED_BY_ALLOW, "not among")); /* views included */
    /* what the rules say does not matter to executing */
    assert_true(sr_backend_can_execute(m->backends[0], &view, t, NULL));
    sr_graph_free(graph);
    sr_machine_free(m);
}

/* On a cpu an `ops` key, even empty, stands in for the device's answer. */
static void test_cpu_rules(void **state) {
    (void)state;
    sr_error err = {0};
    sr_backend_config configs[] = {bf_config("LAX", "cpu"), bf_config("CPU", "cpu")};
    configs[0].has_rules = true;
    sr_machine *m = bf_machine(configs, 2);
    sr_graph *graph = bf_graph();
    const int32_t w = bf_leaf(graph, "w", SR_TYPE_F32, 32, 4), x = bf_leaf(graph, "x", SR_TYPE_F16, 32, 4);
    const int32_t y = bf_node(graph, "y", SR_OP_MUL_MAT, BF_ARRAY(w, x), 2), o = bf_opaque(graph, "o", "NEW", w);
    bf_ok(sr_graph_finish(graph, &err), &err);
    const sr_graph_view view = sr_graph_whole(graph);
    assert_true(sr_backend_supports_op(m->backends[0], &view, y, NULL));
    assert_true(refused(m->backends[1], &view, y, SR_REFUSED_BY_DEVICE, "second source"));
    assert_true(sr_backend_supports_op(m->backends[0], &view, o, NULL));
    assert_true(sr_backend_supports_op(m->backends[1], &view, o, NULL));
    const char *why = NULL;
    assert_false(sr_backend_can_execute(m->backends[1], &view, o, &why));
    assert_non_null(why);
    assert_true(sr_backend_can_execute(m->backends[1], &view, w, &why));
    assert_null(why);
    sr_graph_free(graph);
    sr_machine_free(m);
}

static void test_buffer_types(void **state) {
    (void)state;
    sr_error err = {0};
    const char *accepts[] = {"REPACK"};
    sr_machine *m;
    bf_ok(sr_machine_new(&m, &err), &err);
    bf_ok(sr_machine_add_buffer_type(m, "MAPPED", 32, SIZE_MAX, true, &err), &err);
    bf_ok(sr_machine_add_buffer_type(m, "REPACK", 64, SIZE_MAX, false, &err), &err);
    sr_backend_config gpu = bf_config("GPU0", "sim"), cpu = bf_config("CPU", "cpu"), more = bf_config("MORE", "cpu");
    more.accepts = accepts;
    more.n_accepts = 1;
    bf_ok(sr_machine_add_backend(m, &gpu, &err), &err);
    bf_ok(sr_machine_add_backend(m, &more, &err), &err);
    bf_ok(sr_machine_add_backend(m, &cpu, &err), &err);
    bf_ok(sr_machine_finish(m, &err), &err);
    static const char *const types[] = {"CPU", "MAPPED", "REPACK", "GPU0"};
    static const bool expected[3][4] = {
        {false, false, false, true}, {true, true, true, false}, {true, true, false, false}};
    for (int b = 0; b < 3; b++) {
        for (int t = 0; t < 4; t++) {
            assert_int_equal(sr_backend_supports_buffer_type(m->backends[b], sr_machine_buffer_type(m, types[t])),
                             expected[b][t]);
        }
    }
    sr_machine_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_allow_and_deny),
        cmocka_unit_test(test_cpu_rules),
        cmocka_unit_test(test_buffer_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
