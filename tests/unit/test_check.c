/*
 * test_check.c - comparing a run with what it is expected to do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/report_case.h"

/* Checks c.run and wants exactly these messages, ended by NULL. */
static void expect_messages(report_case *c, const char *const *messages) {
    sr_check check = {0};
    assert_int_equal(SR_OK, sr_check_run(&check, &c->run, c->result.layout, &c->error, NULL, NULL));
    int n = 0;
    for (; messages[n] != NULL; n++) {
        if (n >= check.n_messages) {
            fail_msg("'%s' is missing", messages[n]);
        }
        assert_string_equal(messages[n], check.messages[n]);
    }
    assert_int_equal(n, check.n_differences);
    sr_check_clear(&check);
}

static const char *const none[] = {NULL};

static void test_agrees(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 1, "y");
    const char *inputs[2][1] = {{"inp"}, {"sqrt-0"}};
    sr_expect_split splits[] = {{"GPU0", 0, inputs[0], 1}, {"CPU", 3, inputs[1], 1}};
    sr_expect_pair backends[] = {{"mm-0", "GPU0"}, {"inp", "CPU"}, {"y", "CPU"}};
    sr_expect_pair causes[] = {{"mm-0", "1.wgt0"}, {"inp", "1.inp"}, {"sqr-0", "2.sup"}};
    sr_expect_number sizes[] = {{"GPU0", (int64_t)c.layout->compute_buffer_size[0]}};
    sr_expect_address address[] = {{"inp", "CPU", (int64_t)c.layout->addresses[0].offset}};
    const sr_expect expect = {.has_n_splits = true, .n_splits = 2, .has_splits = true, .splits = splits,
                              .n_expect_splits = 2, .backend_of = backends, .n_backend_of = 3, .cause_of = causes,
                              .n_cause_of = 3, .compute_buffer_size = sizes, .n_compute_buffer_size = 1,
                              .address = address, .n_address = 1, .has_reallocated = true, .reallocated = true,
                              .has_buffers_grown = true};
    c.run.expect = &expect;
    expect_messages(&c, none);
    report_case_free(&c);
}

static void test_differs(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 1, "y");
    c.run.index = 3;
    const char *inputs[1] = {"x"};
    sr_expect_split splits[] = {{"CPU", 1, inputs, 1}, {NULL, -1, NULL, 2}, {NULL, -1, NULL, -1}};
    sr_expect_pair backends[] = {{"mm-0", "CPU"}, {"nobody", "CPU"}};
    sr_expect_pair causes[] = {{"mm-0", ""}};
    sr_expect_number sizes[] = {{"GPU0", 1}, {"GPU7", 1}};
    sr_expect_address address[] = {{"inp", "CPU", 12345}, {"output.weight", "CPU", 0}};
    const char *grown[] = {"CPU"};
    const sr_expect expect = {.has_n_splits = true, .n_splits = 7, .has_splits = true, .splits = splits,
                              .n_expect_splits = 3, .backend_of = backends, .n_backend_of = 2, .cause_of = causes,
                              .n_cause_of = 1, .compute_buffer_size = sizes, .n_compute_buffer_size = 2,
                              .address = address, .n_address = 2, .has_reallocated = true, .has_buffers_grown = true,
                              .buffers_grown = grown, .n_buffers_grown = 1};
    c.run.expect = &expect;
    char size[128];
    char offset[128];
    snprintf(size, sizeof(size), "run 3: compute_buffer_size of GPU0: expected 1, got %zu",
             c.layout->compute_buffer_size[0]);
    snprintf(offset, sizeof(offset), "run 3: address of inp: expected CPU 12345, got CPU %zu",
             c.layout->addresses[0].offset);
    const char *const messages[] = {
        "run 3: n_splits: expected 7, got 2",
        "run 3: splits: expected 3, got 2",
        "run 3: split 0: backend: expected CPU, got GPU0",
        "run 3: split 0: start: expected 1, got 0",
        "run 3: split 0: input 0: expected x, got inp",
        "run 3: split 1: expected 2 inputs, got 1",
        "run 3: backend_of mm-0: expected CPU, got GPU0",
        "run 3: backend_of of nobody: the graph has no such tensor",
        "run 3: cause_of mm-0: expected none, got 1.wgt0",
        "run 3: reallocated: expected false, got true",
        "run 3: buffers_grown: expected CPU, which did not grow",
        size,
        "run 3: compute_buffer_size of GPU7: there is no such backend",
        offset,
        "run 3: address of output.weight: expected CPU 0, but the scheduler allocated nothing there",
        NULL};
    expect_messages(&c, messages);
    report_case_free(&c);
}

static void test_limits_messages(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 1, "y");
    sr_expect_pair backends[] = {{"mm-0", "a"}, {"mm-0", "b"}, {"mm-0", "c"}};
    const sr_expect expect = {.backend_of = backends, .n_backend_of = 3};
    c.run.expect = &expect;
    sr_check check = {.max_messages = 2};
    assert_int_equal(SR_OK, sr_check_run(&check, &c.run, c.layout, &c.error, NULL, NULL));
    assert_int_equal(2, check.n_messages);
    assert_int_equal(3, check.n_differences);
    assert_int_equal(3, check.n_checks);
    sr_check_clear(&check);
    check.outputs_only = true; /* it says nothing of where nodes are */
    assert_int_equal(SR_OK, sr_check_run(&check, &c.run, c.layout, &c.error, NULL, NULL));
    assert_int_equal(0, check.n_checks);
    sr_check_clear(&check);
    report_case_free(&c);
}

static void test_errors(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 1, "y");
    sr_expect_pair pairs[] = {{"kind", "split_inputs"}, {"count", "31"}, {"node", "y"}};
    const sr_expect expect = {.has_error = true, .error = {pairs, 3}};
    c.run.expect = &expect;
    expect_messages(&c, (const char *const[]){"run 0: error: expected split_inputs, but the run succeeded", NULL});

    c.result.layout = NULL;
    c.error.status = sr__fail(&c.error, SR_SPLIT_INPUTS, "too many");
    sr__error_number(&c.error, "count", 31);
    sr__error_text(&c.error, "node", "y");
    expect_messages(&c, none);

    pairs[1].value = "32";
    expect_messages(&c, (const char *const[]){"run 0: error: count: expected 32, got 31", NULL});

    c.run.expect = NULL;
    expect_messages(&c, (const char *const[]){"run 0: failed: split_inputs: too many", NULL});
    report_case_free(&c);
}

/* Checks c.run with findings and wants exactly this message, or none. */
static void expect_findings(report_case *c, const sr_findings *findings, const char *message) {
    sr_check check = {0};
    assert_int_equal(SR_OK, sr_check_run(&check, &c->run, c->layout, &c->error, findings, NULL));
    assert_int_equal(check.n_differences, message != NULL);
    if (message != NULL) {
        assert_string_equal(message, check.messages[0]);
    }
    sr_check_clear(&check);
}

static void test_findings(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 1, "y");
    char *tensors[] = {"a", "b,c", "d"};
    sr_finding_detail details[] = {{"op", "MUL_MAT", 0}, {"count", NULL, 3}, {"taken", NULL, 1}};
    sr_finding found = {.kind = "fallback", .severity = SR_SEVERITY_WARNING, .tensors = tensors, .n_tensors = 3,
                        .bytes = 512, .splits = 2, .message = "GPU0 refuses it", .hint = "try", .details = details,
                        .n_details = 3};
    const sr_findings findings = {.items = &found, .n = 1};
    sr_expect_pair all[] = {{"kind", "fallback"}, {"severity", "warning"}, {"tensor", "b,c"}, {"tensors", "d,b,c,a"},
                            {"bytes", "512"}, {"splits", "2"}, {"message", "refuses"}, {"hint", "t"}, {"op", "MUL_MAT"},
                            {"count", "3"}, {"taken", "true"}};
    sr_expect_object object = {all, SR_COUNT(all)};
    sr_expect expect = {.findings = &object, .n_findings = 1};
    c.run.expect = &expect;
    expect_findings(&c, &findings, NULL);
    expect_findings(&c, NULL, NULL); /* not looked for */

    static const char *const wrong[] = {"order", "error", "c", "a,c", "511", "1", "accepts", "x", "ADD", "4", "false"};
    for (int i = 0; i < SR_COUNT(all); i++) {
        sr_expect_pair pairs[] = {all[0], all[i]};
        char message[160];
        pairs[i > 0].value = wrong[i];
        object = (sr_expect_object){pairs, i > 0 ? 2 : 1};
        if (i == 0) {
            snprintf(message, sizeof(message), "run 0: findings: none has kind order");
        } else {
            snprintf(message, sizeof(message),
                     "run 0: findings: none has kind fallback, %s %s; the nearest differs in %s: \"GPU0 refuses it\"",
                     all[i].key, wrong[i], all[i].key);
        }
        expect_findings(&c, &findings, message);
    }
    const char *no[] = {"alias", "fallback"};
    expect = (sr_expect){.no_findings = no, .n_no_findings = 2};
    expect_findings(&c, &findings, "run 0: no_findings: there is a finding of kind fallback: \"GPU0 refuses it\"");
    expect_findings(&c, &(sr_findings){0}, NULL);
    report_case_free(&c);
}

static void test_out_of_memory(void **state) {
    (void)state;
    report_case c;
    report_case_init(&c, 1, "y");
    sr_expect_pair backends[] = {{"mm-0", "a"}, {"sqr-0", "b"}};
    const sr_expect expect = {.backend_of = backends, .n_backend_of = 2};
    c.run.expect = &expect;
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_check check = {0};
        sr__fail_allocations(n, false);
        status = sr_check_run(&check, &c.run, c.layout, &c.error, NULL, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        assert_int_equal(2, check.n_differences);
        sr_check_clear(&check);
    }
    report_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees),    cmocka_unit_test(test_differs),  cmocka_unit_test(test_limits_messages),
        cmocka_unit_test(test_errors),    cmocka_unit_test(test_findings), cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
