/* Tests of the finding `host-bounce`: copies between devices that have no way but the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lint_case.h"

/* Two devices with a product each, and a tensor that crosses from the first to the second and back. */
#define PAIR(first, second)                                                                                          \
    "{'sched_run':1,'backends':[{" first "},{" second "},{'name':'CPU','device':'cpu'}],'buffers':{"                 \
    "'w0':{'type':'A0','usage':'weights'},'w1':{'type':'B0','usage':'weights'}},"                                    \
    "'tensors':[{'name':'x','ne':[64,4],'flags':['input']},{'name':'a','ne':[64,64],'buffer':'w0'},"                 \
    "{'name':'b','ne':[64,64],'buffer':'w1'}],'nodes':[{'name':'n0','op':'MUL_MAT','src':['a','x']},"                \
    "{'name':'n1','op':'MUL_MAT','src':['b','n0']},{'name':'n2','op':'MUL_MAT','src':['a','n1']}]}"

static void other_drivers(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, PAIR("'name':'A0','device':'sim'", "'name':'B0','device':'sim'"));
    assert_int_equal(lint_case_count(&c, "host-bounce"), 2);
    lint_case_has(&c, "host-bounce", "severity", "warning", "tensors", "n0", "from", "A0", "to", "B0", "bytes", "1024",
                  "count", "1", NULL);
    lint_case_has(&c, "host-bounce", "tensors", "n1", "from", "B0", "to", "A0", NULL);
    lint_case_close(&c);
}

/* A device that queues nothing has no copies of its own either. */
static void nothing_queued(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, PAIR("'name':'G0','buffer_type':'A0','device':'sim'",
                              "'name':'G1','buffer_type':'B0','device':'sim','async':false"));
    assert_int_equal(lint_case_count(&c, "host-bounce"), 2);
    lint_case_close(&c);
}

static void silent(void **state) {
    (void)state;
    static const char *const graphs[] = {
        PAIR("'name':'G0','buffer_type':'A0','device':'sim'", "'name':'G1','buffer_type':'B0','device':'sim'"),
        /* one reads what the other has, or all is host memory */
        PAIR("'name':'A0','device':'sim','accepts':['B0']", "'name':'B0','device':'sim','accepts':['A0']"),
        PAIR("'name':'A0','device':'sim','host':true", "'name':'B0','device':'sim'"),
    };
    for (int i = 0; i < SR_COUNT(graphs); i++) {
        lint_case c;
        lint_case_single(&c, graphs[i]);
        assert_int_equal(c.error.status, SR_OK);
        lint_case_none(&c, "host-bounce");
        lint_case_close(&c);
    }
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, PAIR("'name':'A0','device':'sim'", "'name':'B0','device':'sim'"));
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_host_bounce(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_drivers),
        cmocka_unit_test(nothing_queued),
        cmocka_unit_test(silent),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_host_bounce", tests, NULL, NULL);
}
