/*
 * test_report_insight.c - explanations, passes, memory and reallocations as text, JSON and drawings.
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

static const char text[] =
    "{\"sched_run\":1,\"name\":\"insight\",\"params\":{\"n\":4,\"more\":0},"
    "\"backends\":[{\"name\":\"GPU0\",\"device\":\"sim\",\"ops\":{\"deny\":[\"SOFT_MAX\"]}},"
    "{\"name\":\"CPU\",\"device\":\"cpu\"}],\"buffers\":{\"w\":{\"type\":\"GPU0\",\"usage\":\"weights\"}},"
    "\"tensors\":[{\"name\":\"x\",\"ne\":[64,\"n\"],\"flags\":[\"input\"]},"
    "{\"name\":\"w\",\"ne\":[64,64],\"buffer\":\"w\"}],"
    "\"nodes\":[{\"name\":\"a\",\"op\":\"MUL_MAT\",\"src\":[\"w\",\"x\"]},"
    "{\"name\":\"p\",\"op\":\"SOFT_MAX\",\"src\":[\"a\"]},"
    "{\"if\":\"more\",\"items\":[{\"name\":\"lora\",\"op\":\"SQR\",\"src\":[\"p\"]}]},"
    "{\"name\":\"y\",\"op\":\"MUL_MAT\",\"src\":[\"w\",\"p\"],\"flags\":[\"output\"]}],"
    "\"runs\":[{\"reserve\":true},{\"params\":{\"n\":8}},{\"params\":{\"n\":8,\"more\":1}},{\"params\":{\"n\":8}}]}";

/* Two graphs of one kind, of which the second needs a longer: its plan is kept, and does harm. */
static const char harmful[] =
    "{\"sched_run\":1,\"name\":\"harm\",\"backends\":[{\"name\":\"GPU0\",\"device\":\"sim\"},"
    "{\"name\":\"CPU\",\"device\":\"cpu\"}],\"graphs\":{"
    "\"one\":{\"tensors\":[{\"name\":\"x\",\"ne\":[64,4],\"flags\":[\"input\"]}],\"nodes\":["
    "{\"name\":\"a\",\"op\":\"SIN\",\"src\":[\"x\"]},{\"name\":\"b\",\"op\":\"SIN\",\"src\":[\"a\"]},"
    "{\"name\":\"c\",\"op\":\"SIN\",\"src\":[\"b\"]},{\"name\":\"d\",\"op\":\"COS\",\"src\":[\"c\"]}]},"
    "\"two\":{\"tensors\":[{\"name\":\"x\",\"ne\":[64,4],\"flags\":[\"input\"]}],\"nodes\":["
    "{\"name\":\"a\",\"op\":\"SIN\",\"src\":[\"x\"]},{\"name\":\"b\",\"op\":\"SIN\",\"src\":[\"a\"]},"
    "{\"name\":\"c\",\"op\":\"SIN\",\"src\":[\"b\"]},{\"name\":\"d\",\"op\":\"COS\",\"src\":[\"a\"]}]}},"
    "\"runs\":[{\"graph\":\"one\"},{\"graph\":\"two\"}]}";

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

static bool append(void *user, const char *part, size_t length) {
    sr__str_append(user, part, length);
    return !((sr__str *)user)->failed;
}

/* ---- all runs, with all there is to show ----------------------------------------------------------------------- */

typedef struct written { sr__str text, json, lines, dot, svg; } written;

static void free_written(written *w) {
    sr__str_free(&w->text);
    sr__str_free(&w->json);
    sr__str_free(&w->lines);
    sr__str_free(&w->dot);
    sr__str_free(&w->svg);
}

/* What one run shows. */
typedef struct shown {
    sr_explainer *explainer;
    sr_explanation explanations[16];
    int n;
    sr_memory_plan memory;
    sr_copies_row rows[2];
    int n_rows;
    sr_reallocation reallocation;
} shown;

static void shown_clear(shown *s) {
    for (int i = 0; i < s->n; i++) {
        sr_explanation_clear(&s->explanations[i]);
    }
    for (int i = 0; i < s->n_rows; i++) {
        sr_copies_row_clear(&s->rows[i]);
    }
    sr_explainer_free(s->explainer);
    sr_memory_plan_clear(&s->memory);
    sr_reallocation_clear(&s->reallocation);
    *s = (shown){0};
}

static sr_status show(insight_case *c, sr_realloc_history *history, shown *s) {
    const sr_machine *machine = sr_description_machine(c->description);
    sr_status status;
    SR_TRY(sr_realloc_add(history, c->run->index, c->layout, &s->reallocation, &c->err));
    SR_TRY(sr_explainer_new(c->layout, &s->explainer, &c->err));
    for (int32_t i = 0; i < c->run->graph->n_tensors; i++) {
        SR_TRY(sr_explain(s->explainer, i, &s->explanations[i], &c->err));
        s->n++;
    }
    SR_TRY(sr_memory_plan_make(c->layout, &s->memory, &c->err));
    for (int i = 0; i < 2; i++) {
        SR_TRY(sr_copies_measure(machine->backends, 2, &c->params, c->run->graph, NULL, 0, 1 + 3 * i, &s->rows[i],
                                 &c->err));
        s->n_rows++;
    }
done:
    return status;
}

static sr_status write_run(const sr_run_result *result, bool first, written *w, sr_error *err) {
    const sr_report_options options = {.debug_level = 2, .verbose = true, .color = true};
    sr_sink to_text = {append, &w->text}, to_json = {append, &w->json}, to_lines = {append, &w->lines},
            to_dot = {append, &w->dot}, to_svg = {append, &w->svg};
    sr_status status;
    SR_TRY(sr_report_text_run(result, &options, &to_text, err));
    SR_TRY(sr_report_json_run(result, false, first, &to_json, err));
    SR_TRY(sr_report_json_run(result, true, first, &to_lines, err));
    for (int pass = 0; pass < SR_PASS_COUNT; pass++) {
        SR_TRY(sr_report_steps_dot(result, pass, &to_dot, err));
    }
    SR_TRY(sr_report_memory_svg(result, &to_svg, err));
done:
    return status;
}

static sr_status write_all(insight_case *c, written *w, long fail_at, bool all_after) {
    const sr_report_options options = {.debug_level = 2};
    sr_sink to_text = {append, &w->text}, to_json = {append, &w->json}, to_lines = {append, &w->lines};
    sr_realloc_history *history = NULL;
    const sr_error none = {0};
    shown s = {0};
    sr_status status;
    sr__fail_allocations(fail_at, all_after);
    SR_TRY(sr_realloc_history_new(&history, &c->err));
    SR_TRY(sr_report_json_begin(c->description, false, &to_json, &c->err));
    for (int i = 0; i < sr_description_n_runs(c->description); i++) {
        sr_status scheduled;
        SR_TRY(scheduled = insight_run(c, i)); /* it may be the one that fails */
        c->layout = sr_sched_layout(c->sched);
        sr_run_result result = {.run = c->run, .layout = c->layout, .error = &none};
        SR_TRY(show(c, history, &s));
        result.explanations = s.explanations;
        result.n_explanations = s.n;
        result.steps = s.explainer;
        result.memory = &s.memory;
        result.copies = s.rows;
        result.n_copies = s.n_rows;
        result.reallocation = &s.reallocation;
        SR_TRY(write_run(&result, i == 0, w, &c->err));
        shown_clear(&s);
    }
    SR_TRY(sr_report_text_end(history, c->description, &options, &to_text, &c->err));
    SR_TRY(sr_report_json_end(history, false, &to_json, &c->err));
    SR_TRY(sr_report_json_end(history, true, &to_lines, &c->err));
done:
    sr__fail_allocations(0, false);
    shown_clear(&s);
    sr_realloc_history_free(history);
    sr_error_clear(&c->err);
    return status;
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static void valid(const char *json, const char *ref) {
    char *message = NULL;
    cJSON *value = cJSON_ParseWithOpts(json, NULL, 1);
    if (value == NULL) {
        fail_msg("no JSON: %s", json);
    }
    if (!json_schema_valid(schema, ref, value, &message)) {
        fail_msg("%s in %s", message, json);
    }
    cJSON_Delete(value);
}

static void all_forms(void **state) {
    (void)state;
    insight_case c;
    written w = {0};
    insight_open(&c, text);
    assert_int_equal(write_all(&c, &w, 0, false), SR_OK);
    const char *t = sr__str_text(&w.text);
    insight_expect(t, "why node 1 p is on");
    insight_expect(t, "what to try");
    insight_expect(t, "pass 2 (gpu down)");
    insight_expect(t, "reallocation");
    insight_expect(t, "memory over 4 runs");
    insight_expect(t, "compute buffers by pipeline copies");
    insight_expect(t, "in place of");
    valid(sr__str_text(&w.json), "#");
    insight_expect(sr__str_text(&w.dot), "penwidth=3");
    insight_expect(sr__str_text(&w.svg), "in place of");
    char *line = strtok(w.lines.data, "\n");
    for (int i = 0; line != NULL; i++, line = strtok(NULL, "\n")) {
        valid(line, "#/$defs/line");
    }
    free_written(&w);
    insight_close(&c);
}

static void a_plan_that_does_harm(void **state) {
    (void)state;
    insight_case c;
    written w = {0};
    insight_open(&c, harmful);
    assert_int_equal(write_all(&c, &w, 0, false), SR_OK);
    insight_expect(sr__str_text(&w.text), "the plan of run 0 was kept, but the graph is another");
    insight_expect(sr__str_text(&w.text), "c overwrites a, which is still needed");
    insight_expect(sr__str_text(&w.text), "no, harmful");
    valid(sr__str_text(&w.json), "#");
    insight_expect(sr__str_text(&w.json), "\"harmful\": true");
    free_written(&w);
    insight_close(&c);
}

/* Whatever is written although an allocation failed is whole. */
static void every_allocation_fails(void **state) {
    (void)state;
    insight_case c;
    written want = {0};
    insight_open(&c, text);
    const long before = sr__allocation_count();
    assert_int_equal(write_all(&c, &want, 0, false), SR_OK);
    const long total = sr__allocation_count() - before;
    insight_close(&c);
    for (long n = 1; n <= total; n += n < 400 ? 1 : 7) {
        written got = {0};
        insight_open(&c, text);
        const sr_status status = write_all(&c, &got, n, n % 2 == 0);
        const bool struck = got.text.failed || got.json.failed || got.lines.failed || got.dot.failed || got.svg.failed;
        if (status == SR_OK && !struck) {
            assert_string_equal(sr__str_text(&want.dot), sr__str_text(&got.dot));
            assert_string_equal(sr__str_text(&want.svg), sr__str_text(&got.svg));
            assert_int_equal(want.text.length, got.text.length);
        } else if (status != SR_OK && status != SR_MEMORY && status != SR_ALLOCATION && status != SR_IO) {
            fail_msg("allocation %ld: %s", n, sr_status_name(status));
        }
        free_written(&got);
        insight_close(&c);
    }
    free_written(&want);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_forms), cmocka_unit_test(a_plan_that_does_harm),
                                       cmocka_unit_test(every_allocation_fails)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
