/*
 * test_report.c - the report writers over one small schedule.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/json_schema.h"
#include "support/report_case.h"

static void expect_part(const report_case *c, const char *part) {
    if (strstr(sr__str_text(&c->text), part) == NULL) {
        fail_msg("'%s' is not in:\n%s", part, sr__str_text(&c->text));
    }
}

static void expect_no_part(const report_case *c, const char *part) {
    if (strstr(sr__str_text(&c->text), part) != NULL) {
        fail_msg("'%s' is in:\n%s", part, sr__str_text(&c->text));
    }
}

static const sr_report_options plain = {.debug_level = 2};

/* ---- ggml ------------------------------------------------------------------------------------------------------- */

static void test_ggml(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 1, "a name that is longer than twenty bytes");
    assert_int_equal(SR_OK, sr_report_ggml(c.layout, 2, &c.sink, NULL));
    assert_string_equal(
        "\n## SPLIT #0: GPU0 # 1 inputs: [inp (   0K)] \n"
        "node #  0 (   MUL_MAT):                 mm-0 (   0K) [ GPU0   1.wgt0] use=1,c=1:         blk.0.weight (   4K) "
        "[ GPU0    1.dst]           GPU0#inp#0 (   0K) [ NULL    4.cpy]\n"
        "node #  1 (       SQR):                sqr-0 (   0K) [ GPU0    2.sup] use=1,c=1:                 mm-0 (   0K) "
        "[ GPU0   1.wgt0]\n"
        "node #  2 (      SQRT):               sqrt-0 (   0K) [ GPU0    2.sup] use=1,c=1:                sqr-0 (   0K) "
        "[ GPU0    2.sup]\n"
        "\n## SPLIT #1: CPU # 1 inputs: [sqrt-0 (   0K)] \n"
        "node #  3 (   MUL_MAT): a name that is longe (   0K) [  CPU   1.wgt0] use=0,c=1:        output.weight (   4K) "
        "[  CPU    1.dst]         CPU#sqrt-0#0 (   0K) [ NULL    4.cpy]\n",
        sr__str_text(&c.text));
    report_case_free(&c);
}

static void test_ggml_levels(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 1, "y");
    assert_int_equal(SR_OK, sr_report_ggml(c.layout, 1, &c.sink, NULL));
    assert_string_equal(
        "\n## SPLIT #0: GPU0 # 1 inputs: [inp (   0K)] \n\n## SPLIT #1: CPU # 1 inputs: [sqrt-0 (   0K)] \n",
        sr__str_text(&c.text));
    sr__str_clear(&c.text);
    assert_int_equal(SR_OK, sr_report_ggml(c.layout, 0, &c.sink, NULL));
    assert_string_equal("", sr__str_text(&c.text));
    report_case_free(&c);
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

static void test_text(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 1, "y");
    assert_int_equal(SR_OK, sr_report_text_run(&c.result, &plain, &c.sink, NULL));
    expect_part(
        &c, "run 0  pp  n=4   2 splits of 4 nodes   1.0 KiB copied per evaluation   reallocated: first allocation\n");
    expect_part(&c, "split 1  CPU   nodes 3-3  inputs  sqrt-0 512 B\n");
    expect_part(&c, "1.wgt0  weights blk.0.weight are in GPU0\n");
    expect_part(&c, "2.sup   follows node 0 mm-0\n");
    expect_no_part(&c, "\x1b");
    report_case_free(&c);
}

static void test_text_level_1(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 1, "y");
    sr_report_options options = {.debug_level = 1, .color = true};
    assert_int_equal(SR_OK, sr_report_text_run(&c.result, &options, &c.sink, NULL));
    expect_part(&c, "split 0");
    expect_part(&c, "\x1b[");
    expect_no_part(&c, "MUL_MAT");
    report_case_free(&c);
}

/* A name must not reach the terminal as commands to it. */
static void test_text_of_wild_names(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 1, "a\x1b[31m\xff\n\xc3\xa9");
    assert_int_equal(SR_OK, sr_report_text_run(&c.result, &plain, &c.sink, NULL));
    expect_part(&c, "a\\x1b[31m\\xff\\x0a\xc3\xa9");
    report_case_free(&c);
}

static void test_text_of_failure(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 1, "y");
    c.result.layout = NULL;
    c.error.status = sr__fail(&c.error, SR_PREALLOCATED, "tensor 'y' cannot be there");
    sr__error_text(&c.error, "buffer_type", "GPU0");
    sr__error_number(&c.error, "limit", 30);
    assert_int_equal(SR_OK, sr_report_text_run(&c.result, &plain, &c.sink, NULL));
    assert_string_equal("\nrun 0  pp  n=4   failed: preallocated\n    tensor 'y' cannot be there\n"
                        "        buffer type  GPU0\n        limit        30\n",
                        sr__str_text(&c.text));
    report_case_free(&c);
}

/* ---- json ------------------------------------------------------------------------------------------------------- */

static void check_schema(const report_case *c, const char *ref) {
    char *message = NULL;
    json_schema *schema = json_schema_read("docs/schema/report.schema.json", &message);
    if (schema == NULL) {
        fail_msg("%s", message);
    }
    cJSON *json = cJSON_Parse(sr__str_text(&c->text));
    assert_non_null(json);
    if (!json_schema_valid(schema, ref, json, &message)) {
        fail_msg("%s", message);
    }
    cJSON_Delete(json);
    json_schema_free(schema);
}

static void test_json_line(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 2, "y\"\\\xff");
    assert_int_equal(SR_OK, sr_report_json_run(&c.result, true, true, &c.sink, NULL));
    check_schema(&c, "#/$defs/line");
    assert_int_equal('\n', c.text.data[c.text.length - 1]);
    assert_ptr_equal(&c.text.data[c.text.length - 1], strchr(c.text.data, '\n'));
    expect_part(&c,
                "\"splits\":[{\"backend\":\"GPU0\",\"start\":0,\"end\":6,\"inputs\":[\"inp\"],\"input_ids\":[\"inp\"],"
                "\"input_bytes\":512}");
    expect_part(&c, "\"copy_totals\":[{\"from\":\"GPU0\",\"to\":\"CPU\",\"copies\":1,\"bytes\":512},"
                    "{\"from\":\"CPU\",\"to\":\"GPU0\",\"copies\":1,\"bytes\":512}]");
    report_case_free(&c);
}

static void test_json_of_failure(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 1, "y");
    c.result.layout = NULL;
    c.error.status = sr__fail(&c.error, SR_SPLIT_INPUTS, "too many");
    sr__error_number(&c.error, "count", 31);
    assert_int_equal(SR_OK, sr_report_json_run(&c.result, true, true, &c.sink, NULL));
    check_schema(&c, "#/$defs/line");
    expect_part(
        &c, "\"status\":\"split_inputs\",\"error\":{\"kind\":\"split_inputs\",\"message\":\"too many\",\"count\":31}");
    report_case_free(&c);
}

/* ---- dot -------------------------------------------------------------------------------------------------------- */

static void test_dot_folds_layers(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 6, "y\"z");
    assert_int_equal(SR_OK, sr_report_dot(&c.result, &plain, &c.sink, NULL));
    expect_part(&c, "label=\"x 5  nodes 1-3, 4-6 ... 13-15\"");
    expect_part(&c, "y\\\"z");
    expect_part(&c, "-> c0 [style=dashed");
    expect_no_part(&c, "mm-3");
    sr__str_clear(&c.text);
    const sr_report_options unfold = {.debug_level = 2, .unfold = true};
    assert_int_equal(SR_OK, sr_report_dot(&c.result, &unfold, &c.sink, NULL));
    expect_part(&c, "mm-2");
    expect_no_part(&c, "cluster_fold");
    report_case_free(&c);
}

/* ---- sinks and memory -------------------------------------------------------------------------------------------- */

static bool refuse(void *user, const char *text, size_t length) {
    (void)user, (void)text, (void)length;
    return false;
}

static sr_status write_report(report_case *c, int kind, sr_sink *sink) {
    switch (kind) {
    case 0: return sr_report_ggml(c->layout, 2, sink, NULL);
    case 1: return sr_report_text_run(&c->result, &plain, sink, NULL);
    case 2: return sr_report_json_run(&c->result, false, false, sink, NULL);
    default: return sr_report_dot(&c->result, &plain, sink, NULL);
    }
}

static void test_refused(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 2, "y");
    sr_sink sink = {.write = refuse};
    for (int kind = 0; kind < 4; kind++) {
        assert_int_equal(SR_IO, write_report(&c, kind, &sink));
    }
    report_case_free(&c);
}

static bool swallow(void *user, const char *text, size_t length) {
    (void)user, (void)text, (void)length;
    return true;
}

static void test_out_of_memory(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 6, "y");
    sr_sink sink = {.write = swallow};
    for (int kind = 0; kind < 4; kind++) {
        sr_status status = SR_MEMORY;
        for (long n = 1; status != SR_OK; n++) {
            sr__fail_allocations(n, false);
            status = write_report(&c, kind, &sink);
            sr__fail_allocations(0, false);
            assert_true(status == SR_OK || status == SR_MEMORY);
            assert_true(n < 10000);
        }
    }
    report_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ggml),
        cmocka_unit_test(test_ggml_levels),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_level_1),
        cmocka_unit_test(test_text_of_wild_names),
        cmocka_unit_test(test_text_of_failure),
        cmocka_unit_test(test_json_line),
        cmocka_unit_test(test_json_of_failure),
        cmocka_unit_test(test_dot_folds_layers),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
