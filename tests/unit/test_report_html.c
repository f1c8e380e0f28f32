/*
 * test_report_html.c - tests of the page as it is written: src/report/report_html.c, report_html_graph.c.  What it
 * looks like in a browser: tests/html.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <cjson/cJSON.h>

#include "sched_run/report.h"
#include "support/insight_case.h"

static const char description[] =
    "{\"sched_run\": 1, \"name\": \"</title><b>\", \"description\": \"a & b \\u2028\","
    " \"backends\": [{\"name\": \"GPU0\", \"device\": \"sim\", \"ops\": {\"deny\": [\"SOFT_MAX\"]}},"
    "                {\"name\": \"CPU\", \"device\": \"cpu\"}],"
    " \"buffers\": {\"w\": {\"type\": \"GPU0\", \"usage\": \"weights\"}},"
    " \"tensors\": [{\"name\": \"x\", \"ne\": [64, 4], \"flags\": [\"input\"]},"
    "               {\"name\": \"w.0\", \"ne\": [64, 64], \"buffer\": \"w\"}],"
    " \"nodes\": [{\"name\": \"q\", \"op\": \"MUL_MAT\", \"src\": [\"w.0\", \"x\"]},"
    "             {\"name\": \"</script><!--\", \"op\": \"SOFT_MAX\", \"src\": [\"q\"]}],"
    " \"runs\": [{\"reserve\": true}, {}]}";

static bool append(void *user, const char *text, size_t length) {
    sr__str_append(user, text, length);
    return !((sr__str *)user)->failed;
}

static bool refuse_later(void *user, const char *text, size_t length) {
    (void)text;
    size_t *left = user;
    *left -= length < *left ? length : *left;
    return *left > 0;
}

/* The whole page as the command writes it; with explain, the histories too. */
static sr_status write_page(insight_case *c, bool explain, sr_sink *sink) {
    sr_explainer *explainer = NULL;
    sr_realloc_history *history = NULL;
    const sr_error none = {0};
    sr_status status;
    SR_TRY(sr_realloc_history_new(&history, &c->err));
    SR_TRY(sr_report_html_begin(c->description, sink, &c->err));
    for (int i = 0; i < sr_description_n_runs(c->description); i++) {
        sr_reallocation reallocation = {0};
        SR_TRY(insight_run(c, i));
        c->layout = sr_sched_layout(c->sched);
        sr_run_result result = {.run = c->run, .layout = c->layout, .error = &none, .reallocation = &reallocation};
        status = sr_realloc_add(history, i, c->layout, &reallocation, &c->err);
        if (status == SR_OK && explain) {
            status = sr_explainer_new(c->layout, &explainer, &c->err);
            result.steps = explainer;
        }
        if (status == SR_OK) {
            status = sr_report_html_run(&result, sink, &c->err);
        }
        sr_explainer_free(explainer);
        explainer = NULL;
        sr_reallocation_clear(&reallocation);
        SR_TRY(status);
    }
    SR_TRY(sr_report_html_end(history, sink, &c->err));
done:
    sr_realloc_history_free(history);
    return status;
}

static void write_to(sr__str *page, bool explain) {
    insight_case c;
    sr_sink sink = {.write = append, .user = page};
    insight_open(&c, description);
    if (write_page(&c, explain, &sink) != SR_OK) {
        fail_msg("%s", sr_error_message(&c.err));
    }
    insight_close(&c);
}

static int count(const char *text, const char *part) {
    int n = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        n++;
    }
    return n;
}

/* The n-th line of that kind; to be deleted by the caller. */
static cJSON *line_of(const char *page, const char *kind, int n) {
    char tag[64];
    snprintf(tag, sizeof(tag), "data-line=\"%s\">", kind);
    const char *at = strstr(page, tag);
    while (n-- > 0 && at != NULL) {
        at = strstr(at + 1, tag);
    }
    assert_non_null(at);
    cJSON *line = cJSON_ParseWithOpts(at + strlen(tag), NULL, 0);
    assert_non_null(line);
    return line;
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static void no_name_ends_its_element(void **state) {
    (void)state;
    sr__str page = {0};
    write_to(&page, true);
    /* about, report, three lines for each of two runs, memory, and the page's own script */
    assert_int_equal(count(page.data, "<script"), 2 + 2 * 3 + 1 + 1);
    assert_int_equal(count(page.data, "</script>"), 2 + 2 * 3 + 1 + 1);
    assert_int_equal(count(page.data, "</title>"), 1);
    assert_non_null(strstr(page.data, "<title>&lt;/title&gt;&lt;b&gt; - sched-run</title>"));
    assert_int_equal(count(page.data, "<!--"), 0);
    cJSON *about = line_of(page.data, "about", 0);
    assert_string_equal(about->valuestring, "a & b \xE2\x80\xA8");
    cJSON_Delete(about);
    sr__str_free(&page);
}

static void lines_of_a_run(void **state) {
    (void)state;
    sr__str page = {0};
    write_to(&page, true);
    cJSON *head = line_of(page.data, "head", 1), *run = line_of(page.data, "run", 1);
    cJSON *graph = line_of(page.data, "graph", 1), *memory = line_of(page.data, "memory", 0);
    assert_int_equal(cJSON_GetObjectItem(head, "splits")->valueint, 2);
    assert_int_equal(cJSON_GetObjectItem(head, "index")->valueint, 1);
    assert_string_equal(cJSON_GetObjectItem(head, "status")->valuestring, "ok");
    assert_int_equal(cJSON_GetObjectItem(run, "n_splits")->valueint, 2);
    const cJSON *tensors = cJSON_GetObjectItem(graph, "tensors"), *texts = cJSON_GetObjectItem(graph, "texts");
    assert_int_equal(cJSON_GetArraySize(tensors), 4);
    const cJSON *last = cJSON_GetArrayItem(tensors, 3);
    assert_string_equal(cJSON_GetObjectItem(last, "id")->valuestring, "</script><!--");
    const int cause = cJSON_GetObjectItem(last, "cause")->valueint;
    assert_string_equal(cJSON_GetArrayItem(texts, cause)->valuestring, "3.best");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(last, "steps")), SR_PASS_COUNT);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(last, "why_not")), 1);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(last, "copied")), 1);
    assert_string_equal(cJSON_GetObjectItem(memory, "type")->valuestring, "reallocation");
    cJSON_Delete(head);
    cJSON_Delete(run);
    cJSON_Delete(graph);
    cJSON_Delete(memory);
    sr__str_free(&page);
}

/* Every text stands once, however many tensors say it. */
static void texts_are_shared(void **state) {
    (void)state;
    sr__str page = {0};
    write_to(&page, true);
    cJSON *graph = line_of(page.data, "graph", 0);
    const cJSON *texts = cJSON_GetObjectItem(graph, "texts");
    for (const cJSON *a = texts->child; a != NULL; a = a->next) {
        for (const cJSON *b = a->next; b != NULL; b = b->next) {
            assert_string_not_equal(a->valuestring, b->valuestring);
        }
    }
    cJSON_Delete(graph);
    sr__str_free(&page);
}

/* A run whose graph was not scheduled: the layout at hand is another one's. */
static void a_run_that_was_not_scheduled(void **state) {
    (void)state;
    insight_case c;
    sr__str page = {0};
    sr_sink sink = {.write = append, .user = &page};
    insight_open(&c, description);
    const sr_error error = {.status = SR_BACKENDS};
    for (int i = 0; i < 2; i++) {
        sr_run run = *sr_description_run(c.description, 0);
        run.graph = i == 0 ? run.graph : NULL;
        const sr_run_result result = {.run = &run, .layout = NULL, .error = &error};
        assert_int_equal(sr_report_html_run(&result, &sink, &c.err), SR_OK);
        cJSON *graph = line_of(page.data, "graph", i), *head = line_of(page.data, "head", i);
        assert_null(cJSON_GetObjectItem(graph, "totals"));
        assert_string_equal(cJSON_GetObjectItem(head, "status")->valuestring, "backends");
        cJSON_Delete(graph);
        cJSON_Delete(head);
    }
    sr__str_free(&page);
    insight_close(&c);
}

static void a_sink_that_refuses(void **state) {
    (void)state;
    sr__str page = {0};
    write_to(&page, false);
    for (size_t after = 1; after < page.length; after += page.length / 37) {
        insight_case c;
        size_t left = after;
        sr_sink sink = {.write = refuse_later, .user = &left};
        insight_open(&c, description);
        assert_int_equal(write_page(&c, false, &sink), SR_IO);
        insight_close(&c);
    }
    sr__str_free(&page);
}

static void memory_runs_out(void **state) {
    (void)state;
    for (int explain = 0; explain < 2; explain++) {
        sr_status status = SR_MEMORY;
        for (long n = 1; status != SR_OK; n++) {
            insight_case c;
            sr__str page = {0};
            sr_sink sink = {.write = append, .user = &page};
            insight_open(&c, description);
            sr__fail_allocations(n, false);
            status = write_page(&c, explain, &sink);
            sr__fail_allocations(0, false);
            assert_true(status == SR_OK || status == SR_MEMORY || status == SR_ALLOCATION || status == SR_IO);
            assert_true(n < 20000);
            sr__str_free(&page);
            insight_close(&c);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_name_ends_its_element), cmocka_unit_test(lines_of_a_run),
        cmocka_unit_test(texts_are_shared), cmocka_unit_test(a_run_that_was_not_scheduled), cmocka_unit_test(a_sink_that_refuses),
        cmocka_unit_test(memory_runs_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
