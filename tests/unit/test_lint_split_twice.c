/* Tests of the finding `split-twice`: copies of an earlier schedule that stand in a graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lint_case.h"

#define COPIES(copies, nodes)                                                                                        \
    "{'sched_run':1,'backends':[{'name':'Metal','device':'sim'},{'name':'CPU','device':'cpu'}],'buffers':{"          \
    "'w':{'type':'Metal','usage':'weights'}},'tensors':[{'name':'x','ne':[64,4],'flags':['input']},"                 \
    "{'name':'w','ne':[64,64],'buffer':'w'}," copies "],'nodes':[" nodes "]}"

static void copy_of_a_backend(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, COPIES("{'name':'Metal#embd#0','ne':[64,4]}",
                                "{'name':'y','op':'MUL_MAT','src':['w','Metal#embd#0']}"));
    assert_int_equal(lint_case_count(&c, "split-twice"), 1);
    lint_case_has(&c, "split-twice", "severity", "error", "tensors", "Metal#embd#0", "node", "y", "source", "1", "copy",
                  "Metal#embd#0", "count", "1", "message", "already split", NULL);
    lint_case_close(&c);
}

/* Recorded elsewhere: another backend, an older scheduler. */
static void copies_of_elsewhere(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, COPIES("{'name':'CUDA0#KQ_mask#3','ne':[64,4]},{'name':'CUDA0#a#b#12','ne':[64,4]}",
                                "{'name':'y','op':'ADD','src':['CUDA0#KQ_mask#3','CUDA0#a#b#12']}"));
    assert_int_equal(lint_case_count(&c, "split-twice"), 1);
    lint_case_has(&c, "split-twice", "tensors", "CUDA0#KQ_mask#3,CUDA0#a#b#12", "count", "2", "source", "0", NULL);
    lint_case_close(&c);
}

/* With pipeline copies they are flagged as inputs, and a recording may have allocated them. */
static void flagged_copies(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, COPIES("{'name':'Metal#a#2','ne':[64,4],'flags':['input','output']},"
                                "{'name':'Metal#b#0','ne':[64,4],'buffer':'w'}",
                                "{'name':'y','op':'ADD','src':['Metal#a#2','Metal#b#0']}"));
    lint_case_has(&c, "split-twice", "tensors", "Metal#a#2,Metal#b#0", "count", "2", NULL);
    lint_case_close(&c);
}

/* A name is cut to 63 bytes, the slot with it. */
static void a_name_that_was_cut(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, COPIES("{'id':'k',"
                     "'name':'Metal#a_name_that_is_as_long_as_names_may_be_and_then_is_cut_short_a','ne':[64,4]}",
                                "{'name':'y','op':'SQR','src':['k']}"));
    lint_case_has(&c, "split-twice", "node", "y", NULL);
    lint_case_close(&c);
}

static void silent(void **state) {
    (void)state;
    static const char *const graphs[] = {
        COPIES("{'name':'k','ne':[64,4]}", "{'name':'y','op':'ADD','src':['k','x']}"),
        COPIES("{'name':'a#b','ne':[64,4]},{'name':'#b#0','ne':[64,4]},{'name':'a##0','ne':[64,4]}",
               "{'name':'y','op':'ADD','src':['a#b','x']},{'name':'z','op':'ADD','src':['#b#0','a##0']}"),
        COPIES("{'name':'a#b#','ne':[64,4]},{'name':'a#b#c','ne':[64,4]}", "{'name':'y','op':'ADD','src':['a#b#',"
        "'a#b#c']}"),
        /* somebody fills these, and nobody reads that */
        COPIES("{'name':'My#a#0','ne':[64,4],'flags':['input']},{'name':'My#b#0','ne':[64,4],'buffer':'w'}",
               "{'name':'y','op':'ADD','src':['My#a#0','My#b#0']}"),
        COPIES("{'name':'Metal#a#0','ne':[64,4]}", "{'name':'y','op':'SQR','src':['x']}"),
    };
    for (int i = 0; i < SR_COUNT(graphs); i++) {
        lint_case c;
        lint_case_single(&c, graphs[i]);
        assert_int_equal(c.error.status, SR_OK);
        lint_case_none(&c, "split-twice");
        lint_case_close(&c);
    }
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, COPIES("{'name':'Metal#embd#0','ne':[64,4]}",
                                "{'name':'y','op':'MUL_MAT','src':['w','Metal#embd#0']}"));
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_split_twice(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copy_of_a_backend),
        cmocka_unit_test(copies_of_elsewhere),
        cmocka_unit_test(flagged_copies),
        cmocka_unit_test(a_name_that_was_cut),
        cmocka_unit_test(silent),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_split_twice", tests, NULL, NULL);
}
