/*
 * test_report_estimate.c - an estimate as text and JSON: against the schema, twice the same, with failing allocations.
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

/* A mixture of experts on two GPUs, of which one has no figures, and nine splits. */
static const char text[] =
    "{\"sched_run\":1,\"name\":\"estimated\",\"scheduler\":{\"copies\":2},"
    "\"backends\":[{\"name\":\"GPU0\",\"device\":\"sim\",\"offload\":{\"min_batch\":2},\"speed\":{\"flops\":1e12,"
    "\"memory_bandwidth\":1e11,\"link_bandwidth\":1e10,\"peer_bandwidth\":5e10,\"latency\":1e-6}},"
    "{\"name\":\"GPU1\",\"device\":\"sim\"},{\"name\":\"CPU\",\"device\":\"cpu\"}],"
    "\"buffers\":{\"h\":{\"type\":\"CPU\",\"usage\":\"weights\"}},"
    "\"tensors\":[{\"name\":\"x\",\"ne\":[64,1,4],\"flags\":[\"input\"]},"
    "{\"name\":\"ids\",\"type\":\"i32\",\"ne\":[2,4],\"flags\":[\"input\"]},"
    "{\"name\":\"exps\",\"ne\":[64,64,8],\"buffer\":\"h\"},{\"name\":\"w\",\"ne\":[64,8],\"buffer\":\"h\"}],"
    "\"nodes\":[{\"name\":\"up\",\"op\":\"MUL_MAT_ID\",\"src\":[\"exps\",\"x\",\"ids\"]},"
    "{\"repeat\":5,\"as\":\"i\",\"items\":["
    "{\"name\":\"a-{i}\",\"op\":\"SQR\",\"src\":[\"up\"],\"backend\":\"GPU1\"},"
    "{\"name\":\"b-{i}\",\"op\":\"SQR\",\"src\":[\"a-{i}\"],\"backend\":\"GPU0\"}]},"
    "{\"name\":\"y\",\"op\":\"MUL_MAT\",\"src\":[\"w\",\"b-4\"]}]}";

typedef struct written { sr__str text, json; } written;

static bool append(void *user, const char *part, size_t length) {
    sr__str_append(user, part, length);
    return !((sr__str *)user)->failed;
}

static void free_written(written *w) {
    sr__str_free(&w->text);
    sr__str_free(&w->json);
}

static sr_status write_all(insight_case *c, written *w, long fail_at) {
    const sr_report_options options = {.debug_level = 2, .brief = true};
    sr_sink to_text = {append, &w->text}, to_json = {append, &w->json};
    const sr_error none = {0};
    sr_estimate e = {0};
    sr_offload_gain *gains = NULL;
    int n_gains = 0;
    sr_status status;
    sr__fail_allocations(fail_at, false);
    SR_TRY(sr_estimate_make(c->layout, 3, &e, &c->err));
    SR_TRY(sr_offload_gains(c->layout, &gains, &n_gains, &c->err));
    const sr_run_result result = {.run = c->run, .layout = c->layout, .error = &none, .estimate = &e, .gains = gains,
                                  .n_gains = n_gains};
    SR_TRY(sr_report_json_begin(c->description, false, &to_json, &c->err));
    SR_TRY(sr_report_text_run(&result, &options, &to_text, &c->err));
    SR_TRY(sr_report_json_run(&result, false, true, &to_json, &c->err));
    SR_TRY(sr_report_json_end(NULL, false, &to_json, &c->err));
done:
    sr__fail_allocations(0, false);
    sr_offload_gains_free(gains);
    sr_estimate_clear(&e);
    sr_error_clear(&c->err);
    return status;
}

static void open_case(insight_case *c) {
    insight_open(c, text);
    assert_int_equal(insight_run(c, 0), SR_OK);
}

static void both_forms(void **state) {
    (void)state;
    insight_case c;
    written w = {0}, again = {0};
    open_case(&c);
    assert_int_equal(write_all(&c, &w, 0), SR_OK);
    const char *t = sr__str_text(&w.text);
    insight_expect(t, " for 3 batches: the first after ");
    insight_expect(t, "critical path  ");
    insight_expect(t, "and 4 faster splits, together ");
    insight_expect(t, "2 products have 130 KiB of weights in host memory; GPU0 ");
    insight_expect(t, "and asks for");
    insight_expect(t, "2 products have 130 KiB of weights in host memory; GPU1 ");
    insight_expect(t, "and does not ask");
    insight_expect(t, "50 GB/s to its peers");
    insight_expect(t, "assumed\n");
    insight_expect(t, "of experts the copies of 1 input ");
    char *message = NULL;
    json_schema *schema = json_schema_read("docs/schema/report.schema.json", &message);
    assert_non_null(schema);
    cJSON *value = cJSON_ParseWithOpts(sr__str_text(&w.json), NULL, 1);
    assert_non_null(value);
    if (!json_schema_valid(schema, "#", value, &message)) {
        fail_msg("%s", message);
    }
    const cJSON *run = cJSON_GetArrayItem(cJSON_GetObjectItem(value, "runs"), 0);
    assert_null(cJSON_GetObjectItem(run, "seconds")); /* no clock was read */
    cJSON_Delete(value);
    json_schema_free(schema);
    assert_int_equal(write_all(&c, &again, 0), SR_OK);
    assert_string_equal(sr__str_text(&again.text), t);
    assert_string_equal(sr__str_text(&again.json), sr__str_text(&w.json));
    free_written(&w);
    free_written(&again);
    insight_close(&c);
}

static void every_allocation_fails(void **state) {
    (void)state;
    insight_case c;
    open_case(&c);
    written want = {0};
    assert_int_equal(write_all(&c, &want, 0), SR_OK);
    bool done = false;
    for (long n = 1; !done; n++) {
        written got = {0};
        const sr_status status = write_all(&c, &got, n);
        done = status == SR_OK;
        if (done) {
            assert_string_equal(sr__str_text(&got.text), sr__str_text(&want.text));
            assert_string_equal(sr__str_text(&got.json), sr__str_text(&want.json));
        } else {
            assert_true(status == SR_MEMORY || status == SR_IO);
        }
        free_written(&got);
    }
    free_written(&want);
    insight_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
