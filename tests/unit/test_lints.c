/* Tests of what all findings share: the table, their order, runs that failed early, memory that runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/lint_history.h"
#include "support/lint_case.h"

static void table(void **state) {
    (void)state;
    static const char *const kinds[] = {"fallback", "weight-copy", "alias", "order", "offload", "realloc", "limits",
                                        "copies", "preallocated", "late-input", "assignment", "split-twice",
                                        "stale-input", "overlap", "race", "host-bounce", "imbalance"};
    const sr_lint *lints = sr_lints();
    for (int i = 0; i < SR_COUNT(kinds); i++) {
        assert_string_equal(lints[i].kind, kinds[i]);
        assert_non_null(lints[i].find);
        assert_true(strlen(lints[i].summary) > 10);
    }
    assert_null(lints[SR_COUNT(kinds)].kind);
    assert_string_equal(sr_severity_name(SR_SEVERITY_INFO), "info");
    assert_string_equal(sr_severity_name(SR_SEVERITY_WARNING), "warning");
    assert_string_equal(sr_severity_name(SR_SEVERITY_ERROR), "error");
}

/* An error, warnings of different cost, information. */
static const char mixed[] =
    "{'sched_run':1,'backends':[{'name':'GPU0','device':'sim','offload':{'min_batch':4},'ops':{'deny':['SOFT_MAX']}},"
    "{'name':'CPU','device':'cpu'}],'buffers':{'gpu_w':{'type':'GPU0','usage':'weights'},'cpu_w':{'type':'CPU','usage':"
    "'weights'}},'tensors':[{'name':'x','ne':[64,4],'flags':['input']},{'name':'w','ne':[64,64],'buffer':'gpu_w'},"
    "{'name':'c','ne':[64,64],'buffer':'cpu_w'},{'name':'e','ne':[64,128],'buffer':'cpu_w'}],'nodes':["
    "{'name':'a','op':'MUL_MAT','src':['w','x']},{'name':'s','op':'SOFT_MAX','src':['a']},"
    "{'name':'b','op':'MUL_MAT','src':['c','s'],'backend':'GPU0'},{'name':'t','op':'SOFT_MAX','src':['b'],'backend':"
    "'GPU0'},{'name':'y','op':'MUL_MAT','src':['e','t']}]}";

static void grave_and_dear_ones_first(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, mixed);
    assert_true(c.findings.n >= 5);
    assert_string_equal(c.findings.items[0].kind, "assignment");
    assert_int_equal(c.findings.items[0].severity, SR_SEVERITY_ERROR);
    for (int i = 1; i < c.findings.n; i++) {
        const sr_finding *a = &c.findings.items[i - 1], *b = &c.findings.items[i];
        assert_true(a->severity >= b->severity);
        assert_true(a->severity > b->severity || a->bytes >= b->bytes);
    }
    assert_int_equal(c.findings.items[c.findings.n - 1].severity, SR_SEVERITY_INFO);
    lint_case_close(&c);
}

/* What was there before stays in front. */
static void appends(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, mixed);
    const int n = c.findings.n;
    sr_findings both = {0};
    assert_non_null(sr__finding_add(&both, "first", SR_SEVERITY_INFO));
    const sr_lint_input input = lint_case_input(&c);
    assert_int_equal(sr_lint_run(&input, &both, NULL), SR_OK);
    assert_int_equal(both.n, n + 1);
    assert_string_equal(both.items[0].kind, "first");
    sr_findings_clear(&both);
    assert_int_equal(both.n, 0);
    lint_case_close(&c);
}

static void nothing_to_look_at(void **state) {
    (void)state;
    sr_sched_params params;
    sr_sched_params_init(&params);
    sr_findings findings = {0};
    const sr_error none = {0}, memory = {.status = SR_MEMORY};
    const sr_layout empty = {0};
    const sr_lint_input inputs[] = {{.error = &none, .params = &params}, {.params = &params},
                                    {.layout = &empty, .error = &none, .params = &params},
                                    {.layout = &empty, .error = &memory, .params = &params}};
    for (int i = 0; i < SR_COUNT(inputs); i++) {
        assert_int_equal(sr_lint_run(&inputs[i], &findings, NULL), SR_OK);
        assert_int_equal(findings.n, 0);
    }
}

static void history_goes_on_once_a_run(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, mixed);
    assert_int_equal(c.history->n_marks, 1);
    assert_true(c.history->has_plan);
    lint_case_run(&c, 0, false);
    assert_int_equal(c.history->n_marks, 2);
    assert_true(c.history->marks[1].replanned);
    assert_false(c.history->marks[0].replanned);
    assert_true(c.history->marks[0].topology == c.history->marks[1].topology);
    lint_case_close(&c);
}

static void names_and_details(void **state) {
    (void)state;
    sr_findings findings = {0};
    sr_finding *f = sr__finding_add(&findings, "kind", SR_SEVERITY_WARNING);
    char name[16];
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "t%d", i % 50);
        assert_true(sr__finding_tensor(f, name));
        assert_true(sr__finding_number(f, "n", i));
    }
    assert_int_equal(f->n_tensors, 50); /* each once */
    assert_string_equal(f->tensors[49], "t49");
    assert_int_equal(f->n_details, 100);
    assert_int_equal(f->details[99].number, 99);
    assert_true(sr__finding_say(f, "%d of %s", 1, "a"));
    assert_true(sr__finding_say(f, "%d of %s", 2, "b"));
    assert_string_equal(f->message, "2 of b");
    sr_findings_clear(&findings);
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, mixed);
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr_error err = {0};
        sr__fail_allocations(n, false);
        status = sr_lint_run(&input, &findings, &err);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        assert_int_equal(err.status, status);
        sr_error_clear(&err);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(grave_and_dear_ones_first),
        cmocka_unit_test(appends),
        cmocka_unit_test(nothing_to_look_at),
        cmocka_unit_test(history_goes_on_once_a_run),
        cmocka_unit_test(names_and_details),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lints", tests, NULL, NULL);
}
