/* Tests of the finding `race`: memory that two backends use with nothing to keep them apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lint_case.h"

/* CPU products c and d, a product w of the GPU; keys of the GPU and flags of the first node are the test's. */
#define MACHINE(gpu, nodes)                                                                                          \
    "{'sched_run':1,'backends':[{'name':'GPU0','device':'sim'" gpu "},{'name':'CPU','device':'cpu'}],'buffers':{"    \
    "'g':{'type':'GPU0','usage':'weights'},'c':{'type':'CPU','usage':'weights'}},'tensors':[{'name':'x','ne':[64,4]," \
    "'flags':['input']},{'name':'w','ne':[64,64],'buffer':'g'},{'name':'c','ne':[64,64],'buffer':'c'},"              \
    "{'name':'d','ne':[64,64],'buffer':'c'}],'nodes':[" nodes "]}"
#define MM(name, w, x, more) "{'name':'" name "','op':'MUL_MAT','src':['" w "','" x "']" more "}"
#define OUTPUT ",'flags':['output']"

/* The copy of a is queued for the GPU, then a is dead and b gets its memory, at once. */
static void a_split_without_inputs(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, MACHINE("", MM("a", "c", "x", "") "," MM("y", "w", "a", OUTPUT) "," MM("b", "d", "x",
                     OUTPUT)));
    assert_int_equal(lint_case_count(&c, "race"), 1);
    lint_case_has(&c, "race", "severity", "warning", "tensors", "b,a", "backend", "CPU", "other", "GPU0", "split", "2",
                  "other_split", "1", "count", "1", "buffer_type", "CPU", "hint", "--rules empty-wait", NULL);
    lint_case_close(&c);
}

/* The GPU reads a where it is: no device does that any faster. */
static void read_where_it_is(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, MACHINE(",'accepts':['CPU']", MM("a", "c", "x", ",'backend':'CPU'") "," MM("y", "w", "a",
                     OUTPUT)
                                 "," MM("b", "d", "x", ",'backend':'CPU','flags':['output']")));
    lint_case_has(&c, "race", "severity", "error", "tensors", "b,a", "split", "2", "other_split", "1", NULL);
    lint_case_close(&c);
}

/* The CPU reads what the GPU computes without a copy, so without a wait. */
static void results_read_too_early(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, "{'sched_run':1,'backends':[{'name':'GPU0','device':'sim'},{'name':'CPU','device':'cpu',"
                     "'accepts':['GPU0']}],'buffers':{'g':{'type':'GPU0','usage':'weights'}},'tensors':[{'name':'x',"
                     "'ne':[64,4],"
                     "'flags':['input']},{'name':'w','ne':[64,64],'buffer':'g'}],'nodes':[{'name':'a','op':'MUL_MAT',"
                     "'src':['w','x']},{'name':'y','op':'SQR','src':['a'],'backend':'CPU','flags':['output']}]}");
    lint_case_has(&c, "race", "severity", "error", "tensor", "a", "message", "may still be writing 'a'", NULL);
    lint_case_close(&c);
}

/* Later rules wait before a split without inputs. */
static void later_rules_wait(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(&c, MACHINE("", MM("a", "c", "x", "") "," MM("y", "w", "a", OUTPUT) "," MM("b", "d", "x", OUTPUT)));
    sr_sched_params_set_rules(&c.params, sr_revision_find("empty-wait"));
    lint_case_run(&c, 0, true);
    lint_case_none(&c, "race");
    lint_case_close(&c);
}

static void silent(void **state) {
    (void)state;
    static const char *const graphs[] = {
        /* nothing queues: on one backend, or at once */
        "{'sched_run':1,'backends':[{'name':'CPU','device':'cpu'}],'tensors':[{'name':'x','ne':[64,4],"
        "'flags':['input']}],'nodes':[{'name':'a','op':'SQR','src':['x']},{'name':'b','op':'SQR','src':['a']}]}",
        MACHINE(",'async':false", MM("a", "c", "x", "") "," MM("y", "w", "a", OUTPUT) "," MM("b", "d", "x", OUTPUT)),
        /* a is kept */
        MACHINE("", MM("a", "c", "x", OUTPUT) "," MM("y", "w", "a", OUTPUT) "," MM("b", "d", "x", OUTPUT)),
        /* the split has an input, for which the GPU is waited for */
        MACHINE("", MM("a", "c", "x", "") "," MM("y", "w", "a", "") "," MM("b", "d", "y", OUTPUT)),
        /* user inputs are copied at once */
        MACHINE("", MM("y", "w", "x", OUTPUT) "," MM("b", "d", "x", OUTPUT)),
    };
    for (int i = 0; i < SR_COUNT(graphs); i++) {
        lint_case c;
        lint_case_single(&c, graphs[i]);
        assert_int_equal(c.error.status, SR_OK);
        lint_case_none(&c, "race");
        lint_case_close(&c);
    }
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, MACHINE("", MM("a", "c", "x", "") "," MM("y", "w", "a", OUTPUT) "," MM("b", "d", "x",
                     OUTPUT)));
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_race(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_split_without_inputs),
        cmocka_unit_test(read_where_it_is),
        cmocka_unit_test(results_read_too_early),
        cmocka_unit_test(later_rules_wait),
        cmocka_unit_test(silent),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_race", tests, NULL, NULL);
}
