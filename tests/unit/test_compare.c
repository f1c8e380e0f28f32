/*
 * test_compare.c - two backends node by node: equal ones, one that errs, refusals, and the reports of it.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <math.h>

#include "sched_run/report.h"
#include "support/execute_case.h"

#define CHAIN                                                                                                         \
    "{\"sched_run\":1,\"backends\":[{\"name\":\"GPU0\",\"device\":\"sim\",\"ops\":{\"deny\":[\"SQRT\"]}},"            \
    "{\"name\":\"CPU\",\"device\":\"cpu\"}],"                                                                         \
    "\"tensors\":[{\"name\":\"w\",\"ne\":[4,4],\"data\":{\"fill\":0.5}},"                                             \
    "{\"name\":\"x\",\"ne\":[4,2],\"flags\":[\"input\"],\"data\":[1,2,3,4,5,6,7,8]}],"                                \
    "\"nodes\":[{\"name\":\"a\",\"op\":\"ADD\",\"src\":[\"x\",\"x\"]},"                                               \
    "{\"name\":\"b\",\"op\":\"MUL_MAT\",\"src\":[\"w\",\"a\"]},"                                                      \
    "{\"name\":\"v\",\"op\":\"RESHAPE\",\"src\":[\"b\"],\"ne\":[8]},"                                                 \
    "{\"name\":\"c\",\"op\":\"SQRT\",\"src\":[\"v\"]},"                                                               \
    "{\"name\":\"d\",\"op\":\"ADD\",\"src\":[\"c\",\"v\"],\"flags\":[\"output\"]}]}"

typedef struct compare_case {
    execute_case e;
    sr_graph_copy *a, *b;
    sr_comparison result;
    sr_error error;
    sr__str text;
    sr_sink sink;
} compare_case;

static bool append(void *user, const char *text, size_t length) {
    sr__str_append(user, text, length);
    return true;
}

static void compare_case_init(compare_case *c) {
    *c = (compare_case){.sink = {.write = append}};
    c->sink.user = &c->text;
    execute_case_init(&c->e, CHAIN, 1);
    sr_graph_copy **copies[] = {&c->a, &c->b};
    for (int i = 0; i < 2; i++) {
        ASSERT_OK(sr_graph_copy_new(c->e.machine->backends[i], c->e.graph, NULL, copies[i], &c->error), &c->error);
        ASSERT_OK(sr_description_set_inputs(c->e.description, c->e.run, sr_graph_copy_view(*copies[i]), &c->error),
                  &c->error);
    }
}

static void compare_case_free(compare_case *c) {
    sr_comparison_clear(&c->result);
    sr_graph_copy_free(c->a);
    sr_graph_copy_free(c->b);
    sr_error_clear(&c->error);
    sr__str_free(&c->text);
    execute_case_free(&c->e);
}

static sr_status compare(compare_case *c, sr_compare_options options) {
    sr_comparison_clear(&c->result);
    sr_error_clear(&c->error);
    return sr_compare_backends(c->a, c->b, &options, &c->result, &c->error);
}

/* ---- a CPU that errs ---------------------------------------------------------------------------------------------- */

static const sr_backend_i *own_iface;
static float error_of_products;

/* Right, but for a factor on matrix products. */
static sr_status err_a_little(sr_backend *backend, const sr_graph_view *view, sr_error *err) {
    sr_status status = own_iface->compute(backend, view, err);
    for (int32_t i = 0; i < view->n_nodes && status == SR_OK; i++) {
        const sr_tensor *t = sr_view_tensor(view, view->nodes[i]);
        const sr_storage *at = &view->storage[view->nodes[i]];
        if (t->op == SR_OP_MUL_MAT) {
            float *values = (float *)(void *)((char *)at->buffer->base + at->offset);
            for (int64_t k = 0; k < sr_tensor_nelements(t); k++) {
                values[k] *= 1.0f + error_of_products;
            }
        }
    }
    return status;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void test_equal(void **state) {
    (void)state;
    compare_case c;
    compare_case_init(&c);
    ASSERT_OK(compare(&c, (sr_compare_options){0}), &c.error);
    assert_int_equal(c.result.n_nodes, 4); /* the view is left out */
    assert_int_equal(c.result.n_over, 0);
    assert_int_equal(c.result.first_over, -1);
    assert_int_equal(c.result.n_refused, 1);
    assert_string_equal(c.result.nodes[2].refused_by_a, "denied by the rule SQRT");
    assert_null(c.result.nodes[2].refused_by_b);
    /* what GPU0 refused came from the CPU, so that the next node is right */
    assert_true(c.result.nodes[3].nmse == 0.0);
    double values[8];
    ASSERT_OK(sr_tensor_values(sr_graph_copy_view(c.a), execute_case_tensor(&c.e, "d"), values, &c.error), &c.error);
    assert_true(fabs(values[0] - (10.0 + sqrt(10.0))) < 1e-6);
    compare_case_free(&c);
}

static void test_errs(void **state) {
    (void)state;
    compare_case c;
    compare_case_init(&c);
    sr_backend *cpu = c.e.machine->backends[1];
    sr_backend_i changed = *cpu->iface;
    own_iface = cpu->iface;
    changed.compute = err_a_little;
    cpu->iface = &changed;
    error_of_products = 0.1f;
    ASSERT_OK(compare(&c, (sr_compare_options){0}), &c.error);
    assert_int_equal(c.result.n_over, 1);
    assert_int_equal(c.result.first_over, 1);
    assert_int_equal(c.result.worst, 1);
    const double expected = 0.1 * 0.1 / (1.1 * 1.1); /* relative to the second backend */
    assert_true(fabs(c.result.nodes[1].nmse - expected) < 1e-5);
    assert_true(c.result.nodes[3].nmse == 0.0); /* from equal inputs */
    ASSERT_OK(compare(&c, (sr_compare_options){.drift = true}), &c.error);
    assert_int_equal(c.result.n_over, 2);
    assert_true(c.result.nodes[3].nmse > 1e-4);
    ASSERT_OK(compare(&c, (sr_compare_options){.nmse = 0.5, .drift = true}), &c.error);
    assert_int_equal(c.result.n_over, 0);
    error_of_products = 0.01f; /* 1e-4: within the limit of a product */
    ASSERT_OK(compare(&c, (sr_compare_options){0}), &c.error);
    assert_int_equal(c.result.n_over, 0);
    error_of_products = NAN;
    ASSERT_OK(compare(&c, (sr_compare_options){.nmse = 1e9}), &c.error);
    assert_int_equal(c.result.n_over, 1);
    assert_true(isinf(c.result.nodes[1].nmse));
    cpu->iface = own_iface;
    compare_case_free(&c);
}

static void test_limits(void **state) {
    (void)state;
    assert_true(sr_compare_limit(&(sr_tensor){.op = SR_OP_ADD}) == 1e-6);
    assert_true(sr_compare_limit(&(sr_tensor){.op = SR_OP_MUL_MAT_ID}) == 5e-4);
    assert_true(sr_compare_limit(&(sr_tensor){.op = SR_OP_FLASH_ATTN_EXT}) == 5e-4);
    assert_true(sr_compare_limit(&(sr_tensor){.op = SR_OP_CPY, .type = SR_TYPE_Q8_0}) == 5e-4);
}

static int questions;

static bool stop_at_third(void *user) {
    (void)user;
    return ++questions >= 3;
}

static void test_stops(void **state) {
    (void)state;
    compare_case c;
    compare_case_init(&c);
    questions = 0;
    assert_int_equal(compare(&c, (sr_compare_options){.stop = stop_at_third}), SR_ABORTED);
    assert_int_equal(c.result.n_nodes, 2);
    assert_string_equal(sr_error_message(&c.error), "stopped before node 'c' (SQRT)");
    compare_case_free(&c);
}

static void test_no_memory(void **state) {
    (void)state;
    compare_case c;
    compare_case_init(&c);
    for (long n = 1;; n++) {
        sr__fail_allocations(n, false);
        const sr_status status = compare(&c, (sr_compare_options){0});
        sr__fail_allocations(0, false);
        if (status == SR_OK) {
            break;
        }
        assert_int_equal(status, SR_MEMORY);
    }
    assert_int_equal(c.result.n_nodes, 4);
    compare_case_free(&c);
}

static void test_reports(void **state) {
    (void)state;
    compare_case c;
    compare_case_init(&c);
    ASSERT_OK(compare(&c, (sr_compare_options){0}), &c.error);
    const sr_compare_result result = {.run = c.e.run, .a = "GPU0", .b = "CPU", .comparison = &c.result,
                                      .error = &c.error};
    const sr_report_options options = {0};
    ASSERT_OK(sr_report_text_compare(&result, &options, &c.sink, &c.error), &c.error);
    assert_string_equal(sr__str_text(&c.text),
                        "\nrun 0   GPU0 compared with CPU, each node from equal inputs\n"
                        "      0  ADD      a            0  limit 1e-06\n"
                        "      1  MUL_MAT  b            0  limit 5e-04\n"
                        "      3  SQRT     c     not compared: GPU0: denied by the rule SQRT\n"
                        "      4  ADD      d            0  limit 1e-06\n"
                        "    3 nodes compared, 1 not, all within the limit\n");
    sr__str_clear(&c.text);
    c.result.nodes[1].nmse = 0.25;
    c.result.nodes[1].over = true;
    c.result.n_over = 1;
    c.result.first_over = c.result.worst = 1;
    ASSERT_OK(sr_report_json_compare(&result, true, true, &c.sink, &c.error), &c.error);
    cJSON *run = cJSON_Parse(sr__str_text(&c.text));
    const cJSON *got = cJSON_GetObjectItemCaseSensitive(run, "compare");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(run, "status")), "differs");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(got, "first_over")), "b");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(got, "nodes")), 4);
    cJSON_Delete(run);
    compare_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal), cmocka_unit_test(test_errs),      cmocka_unit_test(test_limits),
        cmocka_unit_test(test_stops), cmocka_unit_test(test_no_memory), cmocka_unit_test(test_reports),
    };
    return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
