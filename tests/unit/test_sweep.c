/*
 * test_sweep.c - sweeps: rows, where layouts change, failures, and their reports.
 *
 * Layer: tests.  Runs in the root of the tree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sched_run/report.h"
#include "support/insight_case.h"
#include "support/json_schema.h"

/* A product that is offloaded from a batch of 8 on, `more` nodes behind it; 20 KiB of memory on the GPU. */
static const char text[] =
    "{\"sched_run\":1,\"name\":\"swept\",\"params\":{\"n\":1,\"more\":0},\"backends\":["
    "{\"name\":\"GPU0\",\"device\":\"sim\",\"memory\":\"20KiB\",\"offload\":{\"min_batch\":8}},"
    "{\"name\":\"CPU\",\"device\":\"cpu\"}],\"buffers\":{\"h\":{\"type\":\"CPU\",\"usage\":\"weights\"}},"
    "\"tensors\":[{\"name\":\"w\",\"ne\":[64,32],\"buffer\":\"h\"},{\"name\":\"x\",\"ne\":[64,\"n\"],"
    "\"flags\":[\"input\"]}],"
    "\"nodes\":[{\"name\":\"y\",\"op\":\"MUL_MAT\",\"src\":[\"w\",\"x\"]},"
    "{\"repeat\":\"more\",\"as\":\"i\",\"items\":[{\"name\":\"z-{i}\",\"op\":\"SQR\",\"src\":[\"y\"]}]}]}";

static sr_sweep sweep;
static sr_error err;

static sr_status add(const char *n, const char *more, int max_split_inputs) {
    char first[32], second[32];
    snprintf(first, sizeof(first), "n=%s", n);
    snprintf(second, sizeof(second), "more=%s", more);
    const char *params[] = {first, second}, *values[] = {n, more};
    const sr_load_options options = {.params = params, .n_params = 2, .no_memory = true};
    sr_description *d = NULL;
    if (sr_description_load_text(text, strlen(text), "case.json", NULL, &options, &d, &err) != SR_OK) {
        fail_msg("%s", sr_error_message(&err));
    }
    sr_sched_params sched;
    sr_sched_params_init(&sched);
    sched.max_split_inputs = max_split_inputs;
    const sr_status status = sr_sweep_add(&sweep, sr_description_machine(d), &sched, sr_description_run(d, 0), values,
                                          &err);
    sr_description_free(d);
    return status;
}

static void begin(int n_batches) {
    static const char *const names[] = {"n", "more"};
    assert_int_equal(sr_sweep_begin(&sweep, names, 2, n_batches, &err), SR_OK);
}

static void rows(void **state) {
    (void)state;
    begin(1);
    assert_int_equal(add("1", "0", 30), SR_OK);
    assert_int_equal(add("7", "0", 30), SR_OK);
    assert_int_equal(add("8", "0", 30), SR_OK);
    assert_int_equal(add("8", "1", 30), SR_OK);
    assert_int_equal(add("2", "0", 30), SR_OK);
    assert_int_equal(sweep.n_rows, 5);
    const sr_sweep_row *r = sweep.rows;
    assert_false(r[0].changed || r[1].changed);
    assert_int_equal(r[0].layout, 0);
    assert_int_equal(r[1].layout, 0);
    assert_int_equal(r[0].copied, 0);
    assert_int_equal(r[0].held[0], 0);
    assert_int_equal(r[0].held[1], 64 * 32 * 4);
    assert_true(r[2].changed);
    assert_int_equal(r[2].layout, 1);
    assert_int_equal(r[2].n_moved, 1);
    assert_string_equal(r[2].moved_node, "y");
    assert_int_equal(r[2].moved_from, 1);
    assert_int_equal(r[2].moved_to, 0);
    assert_int_equal(r[2].moved_cause, SR_CAUSE_OFFLOAD);
    assert_int_equal(r[2].copied, 64 * 32 * 4 + 64 * 8 * 4);
    assert_int_equal(r[2].n_inputs, 2);
    assert_true(r[2].total > 0 && r[2].first == r[2].total);
    assert_true(r[3].changed);
    assert_null(r[3].moved_node);
    assert_int_equal(r[3].prev_nodes, 1);
    assert_int_equal(r[3].layout, 2);
    assert_true(r[4].changed);
    assert_int_equal(r[4].layout, 0); /* that of the first */
    assert_int_equal(sweep.capacity[0], 20 * 1024);
    assert_int_equal(sweep.capacity[1], 0);
    sr_sweep_clear(&sweep);
}

/* A schedule that fails is a row, over which comparison looks away. */
static void failures(void **state) {
    (void)state;
    begin(1);
    assert_int_equal(add("8", "0", 30), SR_OK);
    assert_int_equal(add("8", "0", 1), SR_OK);
    assert_int_equal(add("9", "0", 30), SR_OK);
    assert_int_equal(sweep.rows[1].status, SR_SPLIT_INPUTS);
    assert_non_null(sweep.rows[1].message);
    assert_false(sweep.rows[2].changed);
    assert_int_equal(sweep.rows[2].layout, 0);
    insight_case c;
    static const char *const values[] = {"1", "1"};
    insight_open(&c, "{\"sched_run\":1,\"backends\":[{\"device\":\"cpu\"}],\"tensors\":[],\"nodes\":[]}");
    assert_int_equal(sr_sweep_add(&sweep, sr_description_machine(c.description), &c.params,
                                  sr_description_run(c.description, 0), values, &err), SR_INVALID);
    sr_sweep_clear(&sweep);
    begin(1);
    assert_int_equal(sr_sweep_add(&sweep, sr_description_machine(c.description), &c.params,
                                  sr_description_run(c.description, 0), values, &err), SR_OK);
    assert_int_equal(sweep.rows[0].status, SR_OK);
    assert_int_equal(sweep.rows[0].total, 0);
    insight_close(&c);
    sr_sweep_clear(&sweep);
    sr_error_clear(&err);
}

static bool append(void *user, const char *part, size_t length) {
    sr__str_append(user, part, length);
    return !((sr__str *)user)->failed;
}

static sr_status write_both(sr__str *plain, sr__str *json, long fail_at) {
    const sr_report_options options = {0};
    sr_sink to_plain = {append, plain}, to_json = {append, json};
    sr_status status;
    sr__fail_allocations(fail_at, false);
    SR_TRY(sr_report_sweep("swept", &sweep, &options, false, &to_plain, &err));
    SR_TRY(sr_report_sweep("swept", &sweep, &options, true, &to_json, &err));
done:
    sr__fail_allocations(0, false);
    sr_error_clear(&err);
    return status;
}

static void reports(void **state) {
    (void)state;
    sr__str plain = {0}, json = {0};
    begin(2);
    assert_int_equal(add("1", "0", 30), SR_OK);
    assert_int_equal(add("50", "0", 30), SR_OK);
    assert_int_equal(add("50", "0", 1), SR_OK);
    assert_int_equal(add("1", "3", 30), SR_OK);
    assert_int_equal(write_both(&plain, &json, 0), SR_OK);
    const char *t = sr__str_text(&plain);
    insight_expect(t, "swept: 4 rows of 2 batches each\n");
    insight_expect(t, "      1 node on another backend: y: CPU -> GPU0 (1.off)\n");
    insight_expect(t, "KiB! ");
    insight_expect(t, "  ! more than the 20 KiB of GPU0\n");
    insight_expect(t, "failed: split_inputs: ");
    insight_expect(t, "      the graph has 4 nodes, before 1\n");
    char *message = NULL;
    json_schema *schema = json_schema_read("docs/schema/sweep.schema.json", &message);
    cJSON *value = cJSON_ParseWithOpts(sr__str_text(&json), NULL, 1);
    assert_non_null(schema);
    assert_non_null(value);
    if (!json_schema_valid(schema, "#", value, &message)) {
        fail_msg("%s", message);
    }
    cJSON_Delete(value);
    json_schema_free(schema);
    bool done = false;
    for (long n = 1; !done; n++) {
        sr__str text_again = {0}, json_again = {0};
        done = write_both(&text_again, &json_again, n) == SR_OK;
        if (done) {
            assert_string_equal(sr__str_text(&text_again), t);
            assert_string_equal(sr__str_text(&json_again), sr__str_text(&json));
        }
        sr__str_free(&text_again);
        sr__str_free(&json_again);
    }
    sr__str_free(&plain);
    sr__str_free(&json);
    sr_sweep_clear(&sweep);
}

static void memory_runs_out(void **state) {
    (void)state;
    insight_case c;
    static const char *const names[] = {"n"}, *const values[] = {"1"};
    insight_open(&c, text);
    bool done = false;
    for (long n = 1; !done; n++) {
        sr__fail_allocations(n, false);
        sr_status status = sr_sweep_begin(&sweep, names, 1, 1, &err);
        for (int i = 0; i < 2 && status == SR_OK; i++) {
            status = sr_sweep_add(&sweep, sr_description_machine(c.description), &c.params,
                                  sr_description_run(c.description, 0), values, &err);
        }
        sr__fail_allocations(0, false);
        done = status == SR_OK;
        assert_true(done || status == SR_MEMORY);
        sr_sweep_clear(&sweep);
        sr_error_clear(&err);
    }
    insight_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(failures),
        cmocka_unit_test(reports),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
