/* Tests of the finding `assignment`: assignments by hand that are refused, out of reach, or dear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lint_case.h"

#define GPU_AND_CPU(denied)                                                                                          \
    "{'sched_run':1,'backends':[{'name':'GPU0','device':'sim','ops':{'deny':[" denied "]}},"                         \
    "{'name':'CPU','device':'cpu'}],'buffers':{'gpu_w':{'type':'GPU0','usage':'weights'},"                           \
    "'cpu_w':{'type':'CPU','usage':'weights'}},'tensors':[{'name':'x','ne':[64,4],'flags':['input']},"               \
    "{'name':'w','ne':[64,64],'buffer':'gpu_w'},{'name':'c','ne':[64,64],'buffer':'cpu_w'}],'nodes':["

static void refused(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, GPU_AND_CPU("'SOFT_MAX'") "{'name':'a','op':'MUL_MAT','src':['w','x']},"
                     "{'name':'s','op':'SOFT_MAX','src':['a'],'backend':'GPU0'}]}");
    assert_int_equal(lint_case_count(&c, "assignment"), 1);
    lint_case_has(&c, "assignment", "severity", "error", "tensors", "s", "problem", "refused", "op", "SOFT_MAX",
                  "backend", "GPU0", "reason", "it denies SOFT_MAX", NULL);
    lint_case_close(&c);
}

static void weight_copies(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, GPU_AND_CPU("") "{'name':'a','op':'MUL_MAT','src':['c','x'],'backend':'GPU0'},"
                     "{'name':'b','op':'MUL_MAT','src':['c','a'],'backend':'GPU0'}]}");
    assert_int_equal(lint_case_count(&c, "assignment"), 1); /* the second reads the copy that is there */
    lint_case_has(&c, "assignment", "severity", "warning", "tensors", "a,c", "problem", "weight copy", "bytes", "16384",
                  "weights", "c", NULL);
    lint_case_close(&c);
    lint_case_single(&c, GPU_AND_CPU("") "{'name':'r','op':'RESHAPE','src':['c'],'ne':[64,64]},"
                     "{'name':'a','op':'MUL_MAT','src':['r','x'],'backend':'GPU0'}]}");
    lint_case_has(&c, "assignment", "tensors", "a,r,c", "weights", "r", NULL);
    lint_case_close(&c);
}

/* An assignment does not move what is allocated. */
static void out_of_reach(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(&c, GPU_AND_CPU("") "{'name':'a','op':'MUL_MAT','src':['c','x']}]}");
    const sr_run *run = sr_description_run(c.description, 0);
    const sr_assignment a = {sr_graph_find(run->graph, "c"), 0};
    sr_run assigned = *run;
    assigned.assignments = &a;
    assigned.n_assignments = 1;
    assert_int_equal(lint_case_schedule(&c, &assigned), SR_OK);
    const sr_lint_input input = lint_case_input(&c);
    assert_int_equal(sr_lint_run(&input, &c.findings, NULL), SR_OK);
    lint_case_has(&c, "assignment", "severity", "error", "tensor", "c", "problem", "unreachable", "buffer_type", "CPU",
                  NULL);
    lint_case_close(&c);
}

static void silent_where_it_helps(void **state) {
    (void)state;
    static const char *const graphs[] = {
        GPU_AND_CPU("") "{'name':'a','op':'MUL_MAT','src':['w','x'],'backend':'GPU0'}]}",
        GPU_AND_CPU("") "{'name':'a','op':'MUL_MAT','src':['c','x']},{'name':'p','op':'ADD','src':['a','x'],"
        "'backend':'CPU'},{'name':'b','op':'MUL_MAT','src':['w','p']}]}",
        GPU_AND_CPU("") "{'name':'a','op':'MUL_MAT','src':['c','x']},{'name':'b','op':'MUL_MAT','src':['w','a']}]}",
        /* a weight copy that nobody asked for by hand */
        GPU_AND_CPU("") "{'name':'a','op':'MUL_MAT','src':['w','c']},{'name':'s','op':'SILU','src':['a'],"
        "'backend':'GPU0'}]}",
        /* a view computes nothing */
        GPU_AND_CPU("'RESHAPE'") "{'name':'a','op':'MUL_MAT','src':['w','x']},{'name':'r','op':'RESHAPE','src':['a'],"
        "'ne':[32,8],'backend':'GPU0'},{'name':'s','op':'SILU','src':['r']}]}",
    };
    for (int i = 0; i < SR_COUNT(graphs); i++) {
        lint_case c;
        lint_case_single(&c, graphs[i]);
        assert_int_equal(c.error.status, SR_OK);
        lint_case_none(&c, "assignment");
        lint_case_close(&c);
    }
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, GPU_AND_CPU("'SOFT_MAX'") "{'name':'a','op':'MUL_MAT','src':['c','x'],'backend':'GPU0'},"
                     "{'name':'s','op':'SOFT_MAX','src':['a'],'backend':'GPU0'}]}");
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_assignment(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused),      cmocka_unit_test(weight_copies),         cmocka_unit_test(out_of_reach),
        cmocka_unit_test(silent_where_it_helps), cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_assignment", tests, NULL, NULL);
}
