/* Tests of the finding `realloc`: why memory was planned again, alternation, and kept plans that do not hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/lint_history.h"
#include "support/lint_case.h"

#define GPU_AND_CPU                                                                                                  \
    "{'sched_run':1,'params':{'n':8},'backends':[{'name':'GPU0','device':'sim'},{'name':'CPU','device':'cpu'}],"     \
    "'buffers':{'gpu_w':{'type':'GPU0','usage':'weights'}},"
#define GROWING(runs)                                                                                                \
    GPU_AND_CPU "'tensors':[{'name':'x','ne':[64,'n'],'flags':['input']},{'name':'w','ne':[64,64],'buffer':'gpu_w'}]," \
                "'nodes':[{'name':'a','op':'MUL_MAT','src':['w','x']},{'name':'s','op':'SOFT_MAX','src':['a'],"      \
                "'flags':['output']}],'runs':[" runs "]}"

static void sizes(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(&c, GROWING("{'reserve':true},{},{'params':{'n':4}},{'params':{'n':16}}"));
    for (int i = 0; i < 3; i++) {
        lint_case_run(&c, i, false); /* the first allocation is none, nor are runs that fit */
        lint_case_none(&c, "realloc");
    }
    lint_case_run(&c, 3, false);
    assert_int_equal(lint_case_count(&c, "realloc"), 1);
    lint_case_has(&c, "realloc", "severity", "warning", "tensor", "x", "old", "2048", "new", "4096", "unexpected",
                  "true", "alternates", "false", "message", "unexpectedly", "grew", "GPU0, CPU", NULL);
    assert_int_equal(c.findings.items[0].bytes, 3 * 2048); /* the input and its copy, and the result */
    lint_case_close(&c);
}

#define TWO_GRAPHS(runs)                                                                                             \
    GPU_AND_CPU "'graphs':{'a':{'tensors':[{'name':'x','ne':[64,8],'flags':['input']}],'nodes':["                   \
                "{'name':'p','op':'SQR','src':['x'],'backend':'GPU0'},{'name':'q','op':'SQRT','src':['p']}]},"       \
                "'b':{'tensors':[{'name':'x','ne':[64,8],'flags':['input']}],'nodes':["                              \
                "{'name':'p','op':'SQR','src':['x'],'backend':'GPU0'},{'name':'q','op':'SQRT','src':['p']},"         \
                "{'name':'r','op':'SQR','src':['q']}]}},'runs':[" runs "]}"

static void topologies_that_alternate(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(&c,
                   TWO_GRAPHS("{'graph':'a'},{'graph':'b'},{'graph':'a'},{'graph':'b'},{'graph':'b'},{'graph':'a'}"));
    lint_case_run(&c, 0, false);
    lint_case_none(&c, "realloc");
    lint_case_run(&c, 1, false);
    lint_case_has(&c, "realloc", "severity", "info", "old", "4", "new", "5", "alternates", "false", "reason",
                  "graph has different number of nodes", "unexpected", "false", NULL);
    for (int i = 2; i < 4; i++) {
        lint_case_run(&c, i, false);
        lint_case_has(&c, "realloc", "severity", "warning", "alternates", "true", "hint", "one scheduler for each",
                      NULL);
    }
    lint_case_run(&c, 4, false);
    lint_case_none(&c, "realloc");
    lint_case_run(&c, 5, false);
    lint_case_has(&c, "realloc", "severity", "info", "alternates", "false", NULL);
    lint_case_close(&c);
}

static void reserving_again(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(&c, TWO_GRAPHS("{'graph':'a','reserve':true},{'graph':'b','reserve':true},{'graph':'b'}"));
    for (int i = 0; i < 3; i++) {
        lint_case_run(&c, i, false);
        lint_case_none(&c, "realloc");
    }
    lint_case_close(&c);
}

static void backend_ids(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(
        &c, GPU_AND_CPU
        "'graphs':{'a':{'tensors':[{'name':'x','ne':[64,8],'flags':['input']}],'nodes':["
        "{'name':'p','op':'SQR','src':['x'],'backend':'GPU0'},{'name':'q','op':'SQR','src':['p'],'backend':'CPU'}]},"
        "'b':{'tensors':[{'name':'x','ne':[64,8],'flags':['input']}],'nodes':["
        "{'name':'p','op':'SQR','src':['x'],'backend':'CPU'},{'name':'q','op':'SQR','src':['p'],'backend':'GPU0'}]}},"
        "'runs':[{'graph':'a'},{'graph':'a'},{'graph':'b'}]}");
    lint_case_run(&c, 0, false);
    lint_case_run(&c, 1, false);
    lint_case_none(&c, "realloc");
    lint_case_run(&c, 2, false);
    lint_case_has(&c, "realloc", "reason", "backend ids changed", "message", "where the schedule before had", NULL);
    lint_case_close(&c);
}

/* Two graphs of equal sizes: in the second a lives as long as d, but b stands in its memory. */
#define LIVES(last, flags)                                                                                           \
    "{'tensors':[{'name':'x','ne':[64,8],'flags':['input']}],'nodes':[{'name':'a','op':'SQR','src':['x']" flags "}," \
    "{'name':'b','op':'SQR','src':['a']},{'name':'c','op':'SQR','src':['b']},{'name':'d','op':'ADD','src':['c','"   \
    last "'],'flags':['output']}]}"

static void lifetimes_of_a_kept_plan(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(&c, GPU_AND_CPU "'graphs':{'g':" LIVES("b", "") ",'h':" LIVES("a", "") "},"
                   "'runs':[{'graph':'g'},{'graph':'h'},{'graph':'g'}]}");
    lint_case_run(&c, 0, false);
    lint_case_run(&c, 1, false);
    assert_int_equal(lint_case_count(&c, "realloc"), 1);
    lint_case_has(&c, "realloc", "severity", "error", "changed", "lifetimes", "lost", "a", "written", "b", "tensors",
                  "a,b", "bytes", "2048", NULL);
    lint_case_run(&c, 2, false);
    lint_case_none(&c, "realloc");
    lint_case_close(&c);
}

static void flags_of_a_kept_plan(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(&c, GPU_AND_CPU "'graphs':{'g':" LIVES("b", "") ",'h':" LIVES("b", ",'flags':['output']") "},"
                   "'runs':[{'graph':'g'},{'graph':'h'}]}");
    lint_case_run(&c, 0, false);
    lint_case_run(&c, 1, false);
    lint_case_has(&c, "realloc", "severity", "error", "changed", "flags", "lost", "a", NULL);
    lint_case_close(&c);
}

/* An input that nobody reads is not compared with the plan, but the user writes it. */
#define UNREAD(extent)                                                                                               \
    "{'tensors':[{'name':'u','ne':[64," extent "],'flags':['input']},{'name':'x','ne':[64,8],'flags':['input']}],"   \
    "'nodes':[{'name':'a','op':'SQR','src':['x'],'flags':['output'],'backend':'CPU'}]}"

static void leafs_of_a_kept_plan(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(&c, GPU_AND_CPU "'graphs':{'g':" UNREAD("1") ",'h':" UNREAD("9") ",'i':" UNREAD("0") "},"
                   "'runs':[{'graph':'g'},{'graph':'h'},{'graph':'i'}]}");
    lint_case_run(&c, 0, false);
    lint_case_run(&c, 1, false);
    lint_case_has(&c, "realloc", "severity", "error", "message", "sizes of leafs", NULL);
    lint_case_run(&c, 2, false);
    lint_case_none(&c, "realloc"); /* a smaller one disturbs nobody */
    lint_case_close(&c);
}

/* What a fresh plan does is right, whatever the graph; and a history is needed to know of another. */
static void silent(void **state) {
    (void)state;
    lint_case c;
    sr__clobber clobber;
    lint_case_open(&c, GPU_AND_CPU "'graphs':{'g':" LIVES("c", "") ",'h':" LIVES("a", "") "},"
                   "'runs':[{'graph':'h'},{'graph':'g'}]}");
    lint_case_run(&c, 0, false);
    assert_int_equal(sr__find_clobber(sr_sched_layout(c.sched), &clobber, NULL), SR_OK);
    assert_int_equal(clobber.lost, -1);
    lint_case_run(&c, 1, false);
    lint_case_none(&c, "realloc"); /* a shorter life disturbs nobody */
    sr_lint_history_free(c.history);
    c.history = NULL;
    lint_case_run(&c, 0, false);
    lint_case_none(&c, "realloc");
    lint_case_close(&c);
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(&c, GPU_AND_CPU "'graphs':{'g':" LIVES("b", "") ",'h':" LIVES("a", "") "},"
                   "'runs':[{'graph':'g'},{'graph':'h'}]}");
    sr_status status = SR_MEMORY;
    lint_case_run(&c, 0, false);
    assert_int_equal(lint_case_schedule(&c, sr_description_run(c.description, 1)), SR_OK);
    const sr_lint_input input = lint_case_input(&c);
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_realloc(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(topologies_that_alternate),
        cmocka_unit_test(reserving_again),
        cmocka_unit_test(backend_ids),
        cmocka_unit_test(lifetimes_of_a_kept_plan),
        cmocka_unit_test(flags_of_a_kept_plan),
        cmocka_unit_test(leafs_of_a_kept_plan),
        cmocka_unit_test(silent),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_realloc", tests, NULL, NULL);
}
