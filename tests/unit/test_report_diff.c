/* Tests of the reports of two layouts side by side: text, JSON and DOT say the same; folding; the schema; failures. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sched_run/report.h"
#include "support/insight_case.h"
#include "support/json_schema.h"

/* Layers of which some have their weights on the CPU: those from `first` on. */
#define LAYERS(first, n)                                                                                           \
    "{\"sched_run\":1,\"backends\":[{\"name\":\"GPU0\",\"device\":\"sim\"},{\"name\":\"CPU\",\"device\":\"cpu\"}],"    \
    "\"buffers\":{\"g\":{\"type\":\"GPU0\",\"usage\":\"weights\"},\"c\":{\"type\":\"CPU\",\"usage\":\"weights\"}},"    \
    "\"params\":{\"n\":" n "},\"tensors\":[{\"name\":\"x\",\"ne\":[64,\"n\"],\"flags\":[\"input\"]},"                 \
    "{\"repeat\":6,\"as\":\"i\",\"items\":[{\"name\":\"blk.{i}.w\",\"ne\":[64,64]}]}],"                               \
    "\"placement\":[{\"match\":\"^blk.([0-9]+)\",\"where\":\"m1 < " first "\",\"buffer\":\"g\"},"                 \
    "{\"match\":\"^blk\",\"buffer\":\"c\"}],"                                                                       \
    "\"nodes\":[{\"name\":\"out-0\",\"op\":\"SQR\",\"src\":[\"x\"]},{\"repeat\":6,\"as\":\"i\",\"items\":["            \
    "{\"name\":\"mm-{i+1}\",\"op\":\"MUL_MAT\",\"src\":[\"blk.{i}.w\",\"out-{i}\"]},"                                  \
    "{\"name\":\"out-{i+1}\",\"op\":\"SQR\",\"src\":[\"mm-{i+1}\"]}]}"

static insight_case a, b;
static sr_diff diff;
static sr_diff_result result;
static sr__str text, lists, json, dot;
static json_schema *schema;

static bool append(void *user, const char *bytes, size_t length) {
    sr__str_append(user, bytes, length);
    return true;
}

static int read_schema(void **state) {
    (void)state;
    char *message = NULL;
    schema = json_schema_read("docs/schema/diff.schema.json", &message);
    if (schema == NULL) {
        print_error("%s\n", message);
        free(message);
    }
    return schema != NULL ? 0 : -1;
}

static int free_schema(void **state) {
    (void)state;
    json_schema_free(schema);
    return 0;
}

static sr_status write_all(const sr_diff_head *head, sr_error *err) {
    const sr_report_options folded = {.width = 100}, whole = {.verbose = true, .unfold = true};
    sr_sink to_text = {append, &text}, to_lists = {append, &lists}, to_json = {append, &json}, to_dot = {append, &dot};
    sr_status status;
    SR_TRY(sr_report_diff_text_begin(head, &folded, &to_text, err));
    SR_TRY(sr_report_diff_text_run(&result, &folded, &to_text, err));
    SR_TRY(sr_report_diff_text_run(&result, &whole, &to_lists, err));
    SR_TRY(sr_report_diff_json_begin(head, &to_json, err));
    SR_TRY(sr_report_diff_json_run(&result, true, &to_json, err));
    SR_TRY(sr_report_diff_json_end(&to_json, err));
    SR_TRY(sr_report_diff_dot(&result, &whole, &to_dot, err));
done:
    return status;
}

static void clear_texts(void) {
    sr__str_free(&text);
    sr__str_free(&lists);
    sr__str_free(&json);
    sr__str_free(&dot);
}

static const sr_diff_head head = {.a = "A.json", .b = "B.json", .n_runs_a = 1, .n_runs_b = 1, .n_differ = 1};

static void open_both(const char *text_a, const char *text_b) {
    sr_error err = {0};
    insight_open(&a, text_a);
    insight_open(&b, text_b);
    insight_run(&a, 0);
    insight_run(&b, 0);
    assert_int_equal(sr_diff_make(a.layout, b.layout, &diff, &err), SR_OK);
    result = (sr_diff_result){a.run, b.run, &a.error, &b.error, &diff};
    assert_int_equal(write_all(&head, &err), SR_OK);
}

static void close_both(void) {
    clear_texts();
    sr_diff_clear(&diff);
    insight_close(&a);
    insight_close(&b);
}

/* ---- what they say ----------------------------------------------------------------------------------------------- */

static const cJSON *key_of(const cJSON *object, const char *key) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    if (value == NULL) {
        fail_msg("no key '%s'", key);
    }
    return value;
}

static int64_t number(const cJSON *object, const char *key) { return (int64_t)key_of(object, key)->valuedouble; }

/* The title of a list in both texts: "1 split cut", "3 splits cut"; no list where there is nothing. */
static void expect_list(const cJSON *counts, const char *key, const char *one, const char *several) {
    const int64_t n = number(counts, key);
    char line[96];
    snprintf(line, sizeof(line), "    %" PRId64 " %s\n", n, n == 1 ? one : several);
    if (n > 0) {
        insight_expect(sr__str_text(&lists), line);
        insight_expect(sr__str_text(&text), line);
    } else {
        snprintf(line, sizeof(line), "%s\n", several);
        assert_null(strstr(sr__str_text(&lists), line));
    }
}

static void expect_size(const cJSON *totals, const char *key, const char *words) {
    const cJSON *both = key_of(totals, key);
    char size_a[16], size_b[16], line[96];
    sr__format_bytes((uint64_t)number(both, "a"), size_a);
    sr__format_bytes((uint64_t)number(both, "b"), size_b);
    snprintf(line, sizeof(line), "    %-20s%10s%10s", words, size_a, size_b);
    insight_expect(sr__str_text(&text), line);
}

static void expect_count(const cJSON *totals, const char *key, const char *words) {
    const cJSON *both = key_of(totals, key);
    char line[96];
    snprintf(line, sizeof(line), "    %-20s%10" PRId64 "%10" PRId64, words, number(both, "a"), number(both, "b"));
    insight_expect(sr__str_text(&text), line);
}

static int count_of(const char *haystack, const char *needle) {
    int n = 0;
    for (const char *at = haystack; (at = strstr(at, needle)) != NULL; at += strlen(needle)) {
        n++;
    }
    return n;
}

static void check_agreement(const cJSON *run) {
    const cJSON *totals = key_of(run, "totals"), *counts = key_of(run, "counts");
    const char *summary = key_of(run, "summary")->valuestring;
    char line[96];
    insight_expect(sr__str_text(&text), summary);
    insight_expect(sr__str_text(&dot), summary);
    expect_count(totals, "nodes", "nodes");
    expect_count(totals, "splits", "splits");
    expect_count(totals, "copies", "copies");
    expect_size(totals, "copied", "copied / evaluation");
    expect_size(totals, "compute_memory", "compute memory");
    expect_size(totals, "peak_memory", "alive at the peaks");
    snprintf(line, sizeof(line), "splits: %" PRId64 " in A, %" PRId64 " in B", number(key_of(totals, "splits"), "a"),
             number(key_of(totals, "splits"), "b"));
    insight_expect(sr__str_text(&dot), line);
    expect_list(counts, "moved", "node moved", "nodes moved");
    expect_list(counts, "places", "leaf elsewhere", "leafs elsewhere");
    expect_list(counts, "cut", "split cut", "splits cut");
    expect_list(counts, "merged", "split merged", "splits merged");
    expect_list(counts, "copies_gained", "copy gained", "copies gained");
    expect_list(counts, "copies_lost", "copy lost", "copies lost");
    assert_int_equal(cJSON_GetArraySize(key_of(run, "moved")), number(counts, "moved"));
    assert_int_equal(cJSON_GetArraySize(key_of(run, "cut")), number(counts, "cut"));
    assert_int_equal(cJSON_GetArraySize(key_of(run, "copies_gained")), number(counts, "copies_gained"));
    assert_int_equal(cJSON_GetArraySize(key_of(run, "copies_lost")), number(counts, "copies_lost"));
    /* the drawing marks each of them: nothing is folded, and no view or leaf is among the moved */
    assert_int_equal(count_of(sr__str_text(&dot), "\\nwas on "), number(counts, "moved"));
    assert_int_equal(count_of(sr__str_text(&dot), "cut here"), number(counts, "cut"));
    assert_int_equal(count_of(sr__str_text(&dot), "\\nnew copy"), number(counts, "copies_gained"));
    const cJSON *reason = cJSON_GetArrayItem(key_of(run, "reasons"), 0);
    insight_expect(sr__str_text(&lists), key_of(key_of(reason, "b"), "words")->valuestring);
    insight_expect(sr__str_text(&lists), key_of(key_of(reason, "b"), "not_elsewhere")->valuestring);
    insight_expect(sr__str_text(&lists), key_of(key_of(reason, "a"), "words")->valuestring);
}

static cJSON *parse_valid(void) {
    char *message = NULL;
    cJSON *value = cJSON_ParseWithOpts(sr__str_text(&json), NULL, 1);
    if (value == NULL) {
        fail_msg("no JSON: %s", sr__str_text(&json));
    }
    if (!json_schema_valid(schema, "#", value, &message)) {
        fail_msg("%s", message);
    }
    return value;
}

static void forms_agree(void **state) {
    (void)state;
    static const char *const cases[][2] = {{LAYERS("6", "4") "]}", LAYERS("3", "4") "]}"},
                                           {LAYERS("2", "4") "]}", LAYERS("5", "9") "]}"},
                                           {LAYERS("0", "4") "]}", LAYERS("6", "4") "]}"}};
    for (int i = 0; i < SR_COUNT(cases); i++) {
        open_both(cases[i][0], cases[i][1]);
        cJSON *value = parse_valid();
        check_agreement(cJSON_GetArrayItem(key_of(value, "runs"), 0));
        cJSON_Delete(value);
        close_both();
    }
}

static void equal_layers_are_folded(void **state) {
    (void)state;
    open_both(LAYERS("6", "4") "]}", LAYERS("0", "4") "]}");
    insight_expect(sr__str_text(&text), "      nodes 0-12  out-0 .. out-6  GPU0 -> CPU\n");
    insight_expect(sr__str_text(&text), "      blk.*.w  16 KiB  GPU0 -> CPU  x 6\n");
    insight_expect(sr__str_text(&text),
                   "why GPU0 -> CPU   13 nodes, the first is node 0 out-0, which follows node 1 mm-1\n");
    insight_expect(sr__str_text(&lists), "blk.5.w               16 KiB  GPU0 -> CPU\n");
    close_both();
}

static void names_are_made_safe(void **state) {
    (void)state;
    open_both(LAYERS("6", "4") ",{\"name\":\"od\\u0007d\\\"\",\"op\":\"SQR\",\"src\":[\"out-6\"]}]}",
              LAYERS("6", "4") "]}");
    insight_expect(sr__str_text(&text), "od\\x07d\"  ");
    insight_expect(sr__str_text(&dot), "od\\\\x07d\\\"");
    cJSON_Delete(parse_valid());
    close_both();
}

static void a_run_of_one_side(void **state) {
    (void)state;
    sr_error err = {0};
    open_both(LAYERS("6", "4") "]}", LAYERS("6", "4") "]}");
    insight_expect(sr__str_text(&text), "same layout, 1 split of 13 nodes");
    insight_expect(sr__str_text(&dot), "against A: same layout");
    cJSON_Delete(parse_valid());
    clear_texts();
    result = (sr_diff_result){.run_b = b.run};
    assert_int_equal(write_all(&head, &err), SR_OK);
    insight_expect(sr__str_text(&text), "run 0: A has no such run\n");
    cJSON_Delete(parse_valid());
    close_both();
}

static void failed_sides(void **state) {
    (void)state;
    static const char bad[] = "{\"sched_run\":1,\"backends\":[{\"name\":\"CPU\",\"device\":\"cpu\"}],"
                              "\"tensors\":[{\"name\":\"x\",\"ne\":[64],\"flags\":[\"input\"]}],\"nodes\":["
                              "{\"name\":\"o\",\"op\":\"SQR\",\"src\":[\"x\"],\"supported_by\":[]}]}";
    open_both(bad, LAYERS("6", "4") "]}");
    insight_expect(sr__str_text(&text), "A failed, B did not");
    insight_expect(sr__str_text(&text), "failed: unassigned");
    insight_expect(sr__str_text(&dot), "unassigned");
    insight_expect(sr__str_text(&json), "\"status\": \"unassigned\"");
    cJSON_Delete(parse_valid());
    close_both();
}

static void failing_allocations(void **state) {
    (void)state;
    open_both(LAYERS("6", "4") "]}", LAYERS("3", "4") "]}");
    sr__str want = {0};
    sr__str_puts(&want, sr__str_text(&dot));
    clear_texts();
    int n_failed = 0;
    for (long n = 1;; n++) {
        sr_error err = {0};
        const long before = sr__allocation_count();
        sr__fail_allocations(n, false);
        const sr_status status = write_all(&head, &err);
        sr__fail_allocations(0, false);
        const bool through = sr__allocation_count() - before < n;
        const bool own = text.failed || lists.failed || json.failed || dot.failed; /* the test's buffers were struck */
        if (status == SR_OK && !own) {
            assert_string_equal(sr__str_text(&dot), sr__str_text(&want));
        } else if (status != SR_OK) {
            assert_int_equal(status, SR_MEMORY);
            n_failed++;
        }
        clear_texts();
        sr_error_clear(&err);
        if (through) {
            break;
        }
    }
    assert_true(n_failed > 40);
    sr__str_free(&want);
    close_both();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms_agree),         cmocka_unit_test(equal_layers_are_folded),
                                       cmocka_unit_test(names_are_made_safe), cmocka_unit_test(a_run_of_one_side),
                                       cmocka_unit_test(failed_sides),        cmocka_unit_test(failing_allocations)};
    return cmocka_run_group_tests(tests, read_schema, free_schema);
}
