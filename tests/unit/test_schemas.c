/*
 * test_schemas.c - tests of the schemas in docs/schema: what they accept and what they do not.
 *
 * Layer: tests.  Runs in the root of the tree.  Descriptions are taken from graphs/, from the corpus of the fuzzer and,
 * where the environment names a folder in GOLDENS, from everything below that.
 */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/json_schema.h"

static json_schema *graph_schema;
static json_schema *report_schema;
static int n_files;
static int n_bad;

static json_schema *read_schema(const char *path) {
    char *message = NULL;
    json_schema *schema = json_schema_read(path, &message);
    if (schema == NULL) {
        print_error("%s: %s\n", path, message);
        free(message);
    }
    return schema;
}

static int set_up(void **state) {
    (void)state;
    graph_schema = read_schema("docs/schema/graph.schema.json");
    report_schema = read_schema("docs/schema/report.schema.json");
    return graph_schema != NULL && report_schema != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    json_schema_free(graph_schema);
    json_schema_free(report_schema);
    return 0;
}

/* The complaint about a text (to be freed), NULL if there is none. */
static char *complaint(const json_schema *schema, const char *ref, const char *text) {
    char *message = NULL;
    cJSON *value = text != NULL ? cJSON_ParseWithOpts(text, NULL, 1) : NULL;
    if (value == NULL) {
        return strdup("no JSON");
    }
    json_schema_valid(schema, ref, value, &message);
    cJSON_Delete(value);
    return message;
}

static void accepts(const json_schema *schema, const char *ref, const char *text) {
    char *message = complaint(schema, ref, text);
    if (message != NULL) {
        fail_msg("%s: %s", text, message);
    }
}

static void rejects(const json_schema *schema, const char *ref, const char *text, const char *expected) {
    char *message = complaint(schema, ref, text);
    if (message == NULL) {
        fail_msg("accepted: %s", text);
    }
    if (expected != NULL) {
        assert_string_equal(message, expected);
    }
    free(message);
}

static int check_file(const char *path, const struct stat *info, int kind, struct FTW *where) {
    (void)info;
    (void)where;
    size_t n = strlen(path);
    if (kind != FTW_F || n < 5 || strcmp(path + n - 5, ".json") != 0) {
        return 0;
    }
    char *text = json_read_file(path);
    char *message = complaint(graph_schema, "#", text);
    if (message != NULL) {
        print_error("%s: %s\n", path, message);
        n_bad++;
    }
    n_files++;
    free(message);
    free(text);
    return 0;
}

static void check_folder(const char *path) {
    n_files = 0;
    n_bad = 0;
    nftw(path, check_file, 16, FTW_PHYS);
    assert_int_equal(n_bad, 0);
}

static void test_our_graphs(void **state) {
    (void)state;
    check_folder("graphs");
    static const char *const seeds[] = {"minimal", "two-layers", "graphs-and-views", "huge-repeat"};
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        char path[100];
        snprintf(path, sizeof(path), "tests/fuzz/corpus/describe/%s.json", seeds[i]);
        check_folder(path);
        assert_int_equal(n_files, 1);
    }
}

static void test_goldens(void **state) {
    (void)state;
    const char *folder = getenv("GOLDENS");
    if (folder == NULL || folder[0] == '\0') {
        skip();
    }
    check_folder(folder);
    assert_true(n_files > 0);
}

/* Every place where a key can stand knows which keys there are. */
static void test_unknown_keys(void **state) {
    (void)state;
    static const struct { const char *text, *message; } cases[] = {
        {"{\"sched_run\": 1, \"node\": []}", "/node: unknown key"},
        {"{\"sched_run\": 1, \"backends\": [{\"device\": \"sim\", \"mem\": 1}]}", "/backends/0/mem: unknown key"},
        {"{\"sched_run\": 1, \"backends\": [{\"device\": \"sim\", \"ops\": {\"denied\": []}}]}",
         "/backends/0/ops/denied: unknown key"},
        {"{\"sched_run\": 1, \"backends\": [{\"device\": \"sim\", \"ops\": {\"deny\": [{\"src10.ne0\": 1}]}}]}",
         "/backends/0/ops/deny/0/src10.ne0: unknown key"},
        {"{\"sched_run\": 1, \"backends\": [{\"device\": \"sim\", \"ops\": {\"deny\": [{\"ne0\": {\"eq\": 1}}]}}]}",
         "/backends/0/ops/deny/0/ne0/eq: unknown key"},
        {"{\"sched_run\": 1, \"backends\": [{\"device\": \"sim\", \"offload\": {\"min_batch\": 1, \"x\": 1}}]}",
         "/backends/0/offload/x: unknown key"},
        {"{\"sched_run\": 1, \"backends\": [{\"device\": \"sim\", \"speed\": {\"flop\": 1}}]}",
         "/backends/0/speed/flop: unknown key"},
        {"{\"sched_run\": 1, \"buffer_types\": {\"B\": {\"size\": 1}}}", "/buffer_types/B/size: unknown key"},
        {"{\"sched_run\": 1, \"buffers\": {\"b\": {\"type\": \"B\", \"use\": 1}}}", "/buffers/b/use: unknown key"},
        {"{\"sched_run\": 1, \"placement\": [{\"match\": \"x\", \"buffer\": \"b\", \"x\": 1}]}",
         "/placement/0/x: unknown key"},
        {"{\"sched_run\": 1, \"scheduler\": {\"graphsize\": 1}}", "/scheduler/graphsize: unknown key"},
        {"{\"sched_run\": 1, \"tensors\": [{\"name\": \"x\", \"shape\": [1]}]}", "/tensors/0/shape: unknown key"},
        {"{\"sched_run\": 1, \"tensors\": [{\"name\": \"x\", \"op\": \"ADD\"}]}", "/tensors/0/op: unknown key"},
        {"{\"sched_run\": 1, \"nodes\": [{\"name\": \"x\", \"op\": \"ADD\", \"srcs\": []}]}",
         "/nodes/0/srcs: unknown key"},
        {"{\"sched_run\": 1, \"nodes\": [{\"name\": \"x\", \"op\": \"VIEW\", \"view\": {\"of\": \"y\", \"off\": 1}}]}",
         "/nodes/0/view/off: unknown key"},
        {"{\"sched_run\": 1, \"nodes\": [{\"repeat\": 2, \"as\": \"i\", \"items\": [{\"name\": \"x\", \"op\": \"ADD\","
         " \"srcs\": []}]}]}", "/nodes/0/items/0/srcs: unknown key"},
        {"{\"sched_run\": 1, \"graphs\": {\"pp\": {\"node\": []}}}", "/graphs/pp/node: unknown key"},
        {"{\"sched_run\": 1, \"runs\": [{\"graphs\": \"x\"}]}", "/runs/0/graphs: unknown key"},
        {"{\"sched_run\": 1, \"runs\": [{\"expect\": {\"splits\": [{\"end\": 1}]}}]}",
         "/runs/0/expect/splits/0/end: unknown key"},
        {"{\"sched_run\": 1, \"expect\": {\"n_split\": 1}}", "/expect/n_split: unknown key"},
        {"{\"sched_run\": 1, \"expect\": {\"outputs\": {\"x\": {\"mean\": 1}}}}",
         "/expect/outputs/x/mean: unknown key"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rejects(graph_schema, "#", cases[i].text, cases[i].message);
    }
}

static void test_wrong_values(void **state) {
    (void)state;
    static const struct { const char *text, *message; } cases[] = {
        {"{}", "/: lacks 'sched_run'"},
        {"{\"sched_run\": 2}", "/sched_run: is not the one value allowed"},
        {"{\"sched_run\": 1, \"backends\": [{\"name\": \"x\"}]}", "/backends/0: lacks 'device'"},
        {"{\"sched_run\": 1, \"params\": {\"9\": 1}}", "/params/9: unknown key"},
        {"{\"sched_run\": 1, \"tensors\": [{\"name\": \"x\", \"ne\": []}]}", "/tensors/0/ne: has too few items"},
        {"{\"sched_run\": 1, \"tensors\": [{\"name\": \"x\", \"ne\": [1, 1, 1, 1, 1]}]}",
         "/tensors/0/ne: has too many items"},
        {"{\"sched_run\": 1, \"tensors\": [{\"name\": \"x\", \"ne\": [-1]}]}", "/tensors/0/ne/0: is too small"},
        {"{\"sched_run\": 1, \"tensors\": [{\"name\": \"x\", \"ne\": [1.5]}]}",
         "/tensors/0/ne/0: is of none of the allowed types"},
        {"{\"sched_run\": 1, \"tensors\": [{\"name\": \"x\", \"type\": \"F32\"}]}",
         "/tensors/0/type: is none of the allowed values 'F32'"},
        {"{\"sched_run\": 1, \"nodes\": [{\"name\": \"x\", \"op\": \"ADD\", \"src\": [1]}]}",
         "/nodes/0/src/0: is of none of the allowed types"},
        {"{\"sched_run\": 1, \"nodes\": [{\"name\": \"x\", \"op\": \"ADD\", \"flags\": [\"in\"]}]}",
         "/nodes/0/flags/0: is none of the allowed values 'in'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rejects(graph_schema, "#", cases[i].text, cases[i].message);
    }
    accepts(graph_schema, "#",
            "{\"sched_run\": 1, \"$schema\": \"x\", \"_note\": [], \"params\": {\"n\": {\"gguf\": \"k\","
            " \"default\": 32}, \"eps\": 1e-5, \"m\": \"n / 2\"}, \"weights\": \"w.gguf\"}");
}

#define RUN "{\"index\": 0, \"graph\": \"pp\", \"reserve\": false, \"status\": "

static void test_reports(void **state) {
    (void)state;
    accepts(report_schema, "#", "{\"sched_run_report\": 1, \"name\": \"x\", \"backends\": [\"GPU0\"], \"runs\": []}");
    rejects(report_schema, "#", "{\"sched_run_report\": 1, \"name\": \"x\", \"backends\": []}", "/: lacks 'runs'");
    accepts(report_schema, "#/$defs/run", RUN "\"ok\"}");
    accepts(report_schema, "#/$defs/run",
            RUN "\"ok\", \"n_nodes\": 2, \"n_leafs\": 1, \"n_splits\": 1, \"n_copies\": 1, \"copy\": 0, \"splits\": "
                "[{\"backend\": \"GPU0\", \"start\": 0, \"end\": 2, \"inputs\": [\"x\"], \"input_ids\": [\"x\"], "
                "\"input_bytes\": 32}], \"backend_of\": {\"y\": \"GPU0\"}, \"cause_of\": {\"y\": \"2.sup\"}, "
                "\"compute_buffer_size\": {\"GPU0\": 4096}, \"address\": {\"y\": [\"GPU0\", 128]}, "
                "\"chunk_of\": {\"y\": 0}, "
                "\"reallocated\": true, \"backend_ids_changed\": false, \"unexpected\": true, \"reallocation_reason\": "
                "{\"kind\": \"source\", \"node\": \"y\", \"source\": \"x\", \"index\": 0, \"old\": 32, \"new\": 64}, "
                "\"buffers_grown\": [], \"copies\": [{\"tensor\": \"x\", \"from\": \"CPU\", \"to\": \"GPU0\", "
                "\"bytes\": 32, \"split\": 0}], "
                "\"findings\": [{\"kind\": \"fallback\", \"severity\": \"warning\", \"tensors\": [\"y\"], "
                "\"bytes\": 32, \"message\": \"m\", \"hint\": \"h\"}], \"outputs\": {\"y\": {\"n\": 8, \"sum\": 0.5, "
                "\"sumsq\": null, \"min\": 0, \"max\": 1, \"head\": [0, null]}}, "
                "\"seconds\": {\"split\": 0, \"allocate\": 1e-05, \"compute\": 0.25}}");
    accepts(report_schema, "#/$defs/run",
            RUN "\"preallocated\", \"error\": {\"kind\": \"preallocated\", \"message\": \"m\", \"tensor\": \"x\"}}");
    rejects(report_schema, "#/$defs/run", RUN "\"fine\"}", "/status: is none of the allowed values 'fine'");
    rejects(report_schema, "#/$defs/run", RUN "\"ok\", \"n_split\": 1}", "/n_split: unknown key");
    rejects(report_schema, "#/$defs/run", RUN "\"ok\", \"address\": {\"y\": [\"GPU0\"]}}",
            "/address/y: has too few items");
    rejects(report_schema, "#/$defs/run", RUN "\"ok\", \"reallocation_reason\": {\"kind\": \"size\"}}",
            "/reallocation_reason/kind: is none of the allowed values 'size'");
}

static void test_report_lines(void **state) {
    (void)state;
    accepts(report_schema, "#/$defs/line",
            "{\"type\": \"report\", \"sched_run_report\": 1, \"name\": \"x\", \"backends\": []}");
    accepts(report_schema, "#/$defs/line",
            "{\"type\": \"run\", \"index\": 0, \"graph\": \"\", \"reserve\": true, \"status\": \"ok\"}");
    rejects(report_schema, "#/$defs/line", RUN "\"ok\"}", NULL); /* lacks its type */
    rejects(report_schema, "#/$defs/line",
            "{\"type\": \"run\", \"index\": -1, \"graph\": \"\", \"reserve\": true, \"status\": \"ok\"}",
            "/index: is too small");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_our_graphs),   cmocka_unit_test(test_goldens), cmocka_unit_test(test_unknown_keys),
        cmocka_unit_test(test_wrong_values), cmocka_unit_test(test_reports), cmocka_unit_test(test_report_lines),
    };
    return cmocka_run_group_tests_name("schemas", tests, set_up, tear_down);
}
