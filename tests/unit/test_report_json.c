/*
 * test_report_json.c - JSON reports of executions, failures and comparisons are as docs/schema says.
 *
 * Layer: tests.  Runs in the root of the tree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sched_run/report.h"
#include "support/execute_case.h"
#include "support/json_schema.h"

static json_schema *schema;

static int set_up(void **state) {
    (void)state;
    char *message = NULL;
    schema = json_schema_read("docs/schema/report.schema.json", &message);
    if (schema == NULL) {
        print_error("%s\n", message);
        free(message);
    }
    return schema != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    json_schema_free(schema);
    return 0;
}

static bool append(void *user, const char *text, size_t length) {
    sr__str_append(user, text, length);
    return true;
}

static cJSON *parse_valid(const char *text, const char *ref) {
    char *message = NULL;
    cJSON *value = cJSON_ParseWithOpts(text, NULL, 1);
    if (value == NULL) {
        fail_msg("no JSON: %s", text);
    }
    if (!json_schema_valid(schema, ref, value, &message)) {
        fail_msg("%s in %s", message, text);
    }
    return value;
}

static double number_at(const cJSON *value, const char *key) {
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(value, key));
}

/* One execution with everything that a report can have. */
typedef struct json_case {
    execute_case e;
    sr_trace *trace;
    sr_trace_summary times;
    sr_value *value;
    sr_error error;
    sr__str text;
    sr_sink sink;
    sr_run_result result;
} json_case;

static bool stop_now(void *user) { return *(bool *)user; }

static void json_case_init(json_case *c, bool stop) {
    sr_error err = {0};
    *c = (json_case){.sink = {.write = append}};
    c->sink.user = &c->text;
    execute_case_init(&c->e, PIPELINE, 1);
    ASSERT_OK(sr_trace_new(&c->trace, &err), &err);
    sr_sched_set_trace(c->e.sched, c->trace);
    sr_sched_set_abort_callback(c->e.sched, stop_now, &stop);
    c->error.status = execute_case_run(&c->e, &c->error);
    sr_sched_set_abort_callback(c->e.sched, NULL, NULL);
    assert_int_equal(c->error.status, stop ? SR_ABORTED : SR_OK);
    ASSERT_OK(sr_trace_summarize(c->trace, c->e.machine->backends, c->e.machine->n_backends, &c->times, &err), &err);
    const sr_layout *layout = sr_sched_layout(c->e.sched);
    ASSERT_OK(sr_value_take(&layout->view, execute_case_tensor(&c->e, "x"), &c->value, &err), &err);
    c->result = (sr_run_result){.run = c->e.run, .layout = layout, .error = &c->error, .times = &c->times,
                                .values = &c->value, .n_values = 1};
}

static void json_case_free(json_case *c) {
    sr_trace_summary_clear(&c->times);
    sr_value_free(c->value);
    execute_case_free(&c->e);
    sr_trace_free(c->trace);
    sr_error_clear(&c->error);
    sr__str_free(&c->text);
}

static void test_executed(void **state) {
    (void)state;
    sr_error err = {0};
    json_case c;
    json_case_init(&c, false);
    ASSERT_OK(sr_report_json_begin(c.e.description, false, &c.sink, &err), &err);
    ASSERT_OK(sr_report_json_run(&c.result, false, true, &c.sink, &err), &err);
    ASSERT_OK(sr_report_json_run(&c.result, false, false, &c.sink, &err), &err);
    ASSERT_OK(sr_report_json_end(NULL, false, &c.sink, &err), &err);
    cJSON *report = parse_valid(sr__str_text(&c.text), "#");
    const cJSON *run = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(report, "runs"), 1);
    const cJSON *outputs = cJSON_GetObjectItemCaseSensitive(run, "outputs");
    assert_int_equal(cJSON_GetArraySize(outputs), 1); /* of what is flagged */
    const cJSON *f = cJSON_GetObjectItemCaseSensitive(outputs, "f");
    assert_true(number_at(f, "n") == 1.0);
    assert_true(number_at(f, "sum") == pipeline_sum());
    assert_true(number_at(f, "max") == pipeline_sum());
    const cJSON *x = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(run, "values"), "x");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(x, "values")), 8);
    const cJSON *times = cJSON_GetObjectItemCaseSensitive(run, "trace_summary");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(times, "tracks")), 4);
    assert_true(number_at(times, "seconds") > 0.0);
    cJSON_Delete(report);
    json_case_free(&c);
}

static void test_lines(void **state) {
    (void)state;
    sr_error err = {0};
    json_case c;
    json_case_init(&c, false);
    ASSERT_OK(sr_report_json_begin(c.e.description, true, &c.sink, &err), &err);
    cJSON_Delete(parse_valid(sr__str_text(&c.text), "#/$defs/line"));
    sr__str_clear(&c.text);
    ASSERT_OK(sr_report_json_run(&c.result, true, true, &c.sink, &err), &err);
    assert_ptr_equal(strchr(sr__str_text(&c.text), '\n'), c.text.data + c.text.length - 1);
    cJSON_Delete(parse_valid(sr__str_text(&c.text), "#/$defs/line"));
    json_case_free(&c);
}

static void test_interrupted(void **state) {
    (void)state;
    sr_error err = {0};
    json_case c;
    json_case_init(&c, true);
    ASSERT_OK(sr_report_json_run(&c.result, true, true, &c.sink, &err), &err);
    cJSON *run = parse_valid(sr__str_text(&c.text), "#/$defs/run");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(run, "status")), "aborted");
    const cJSON *f = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(run, "outputs"), "f");
    assert_true(cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(f, "computed")));
    assert_null(cJSON_GetObjectItemCaseSensitive(f, "sum"));
    cJSON_Delete(run);
    json_case_free(&c);
}

static void test_compared(void **state) {
    (void)state;
    sr_error err = {0};
    execute_case c;
    sr_graph_copy *copies[2];
    sr_comparison comparison;
    sr__str text = {0};
    sr_sink sink = {.write = append, .user = &text};
    execute_case_init(&c, PIPELINE, 1);
    for (int i = 0; i < 2; i++) {
        ASSERT_OK(sr_graph_copy_new(c.machine->backends[i], c.graph, NULL, &copies[i], &err), &err);
    }
    ASSERT_OK(sr_compare_backends(copies[0], copies[1], &(sr_compare_options){0}, &comparison, &err), &err);
    const sr_compare_result result = {.run = c.run, .a = "GPU0", .b = "GPU1", .comparison = &comparison,
                                      .error = &err};
    ASSERT_OK(sr_report_json_compare(&result, true, true, &sink, &err), &err);
    cJSON_Delete(parse_valid(sr__str_text(&text), "#/$defs/line"));
    sr_comparison_clear(&comparison);
    sr_graph_copy_free(copies[0]);
    sr_graph_copy_free(copies[1]);
    sr__str_free(&text);
    execute_case_free(&c);
}

/* No allocation that fails leaves half a report without an error. */
static void test_no_memory(void **state) {
    (void)state;
    json_case c;
    json_case_init(&c, false);
    for (long n = 1;; n++) {
        sr_error err = {0};
        sr__str_free(&c.text);
        c.text = (sr__str){0};
        sr__fail_allocations(n, false);
        const sr_status status = sr_report_json_run(&c.result, true, true, &c.sink, &err);
        sr__fail_allocations(0, false);
        sr_error_clear(&err);
        if (status == SR_OK && !c.text.failed) {
            break;
        }
        assert_true(status == SR_MEMORY || c.text.failed);
    }
    cJSON_Delete(parse_valid(sr__str_text(&c.text), "#/$defs/line"));
    json_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_executed), cmocka_unit_test(test_lines),     cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_compared), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("report_json", tests, set_up, tear_down);
}
