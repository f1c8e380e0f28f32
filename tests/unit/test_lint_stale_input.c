/* Tests of the finding `stale-input`: copies that are read after the original was written again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lint_case.h"

#define TWO(denied)                                                                                                  \
    "{'sched_run':1,'backends':[{'name':'GPU0','device':'sim','ops':{'deny':[" denied "]}},"                         \
    "{'name':'CPU','device':'cpu'}],'buffers':{'gpu_w':{'type':'GPU0','usage':'weights'},"                           \
    "'cpu_w':{'type':'CPU','usage':'weights'},'gpu':{'type':'GPU0'},'host':{'type':'CPU'}},"                         \
    "'tensors':[{'name':'x','ne':[64,4],'flags':['input']},{'name':'w','ne':[64,64],'buffer':'gpu_w'},"              \
    "{'name':'c','ne':[64,64],'buffer':'cpu_w'},{'name':'kg','ne':[64,8],'buffer':'gpu'},"                           \
    "{'name':'kc','ne':[64,8],'buffer':'host'},{'name':'idx','type':'i64','ne':[4],'flags':['input']}],'nodes':["

/* A matrix product, and an op of one source. */
#define MM(name, w, x) "{'name':'" name "','op':'MUL_MAT','src':['" w "','" x "']}"
#define OP(name, op, x) "{'name':'" name "','op':'" op "','src':['" x "']}"

/* A view that is assigned away from what it views is copied before that is computed. */
static void view_of_the_same_split(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, TWO("") MM("r", "w", "x") ",{'name':'v','op':'VIEW','src':['r'],'ne':[64,4],'backend':'CPU'},"
                     MM("y", "w", "v") "]}");
    assert_int_equal(lint_case_count(&c, "stale-input"), 1);
    lint_case_has(&c, "stale-input", "severity", "error", "tensors", "v,r,y", "writer", "r", "reader", "y", "split",
                  "0",
                  "bytes", "1024", "message", "later in that split", "hint", "-A 'v=GPU0'", NULL);
    lint_case_close(&c);
}

/* Later splits of a backend read the copy that is there, whatever was written meanwhile. */
static void written_in_a_later_split(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, TWO("") "{'name':'v','op':'VIEW','src':['kc'],'ne':[64,4]}," MM("a", "w", "v") ","
                     "{'name':'s','op':'SET_ROWS','src':['a','idx','kc']}," MM("b", "c", "s") ",{'name':'v2',"
                     "'op':'ADD','src':['a','v']}," MM("y", "w", "v2") "]}");
    lint_case_has(&c, "stale-input", "tensor", "v", "writer", "s", "reader", "v2", "message", "in a later split",
                  "hint",
                  "result of 's'", NULL);
    lint_case_close(&c);
}

static void silent(void **state) {
    (void)state;
    static const char *const graphs[] = {
        TWO("") MM("a", "c", "x") "," MM("b", "w", "a") "]}",
        /* the copy is taken after the write */
        TWO("") MM("a", "w", "x") ",{'name':'s','op':'SET_ROWS','src':['a','idx','kc']},{'name':'v','op':'VIEW',"
        "'src':['kc'],'ne':[64,4]}," MM("y", "w", "v") "]}",
        /* who reads before the write is right to see what was there */
        TWO("") "{'name':'v','op':'VIEW','src':['kc'],'ne':[64,4]}," MM("a", "w", "v")
        ",{'name':'s','op':'SET_ROWS','src':['a','idx','kc']}]}",
        /* other bytes are written */
        TWO("") "{'name':'v','op':'VIEW','src':['kc'],'ne':[64,4]},{'name':'u','op':'VIEW','src':['kc'],'ne':[64,4],"
        "'view':{'of':'kc','offset':1024}}," MM("a", "w", "v") ",{'name':'s','op':'CPY','src':['a','u']}," MM("b",
        "c", "s")
        ",{'name':'v2','op':'ADD','src':['a','v']}," MM("y", "w", "v2") "]}",
        /* a destination is not read */
        TWO("") MM("a", "w", "x") ",{'name':'s','op':'SET_ROWS','src':['a','idx','kc'],'backend':'GPU0'},"
        "{'name':'t','op':'SET_ROWS','src':['a','idx','kc'],'backend':'GPU0'}]}",
    };
    for (int i = 0; i < SR_COUNT(graphs); i++) {
        lint_case c;
        lint_case_single(&c, graphs[i]);
        assert_int_equal(c.error.status, SR_OK);
        lint_case_none(&c, "stale-input");
        lint_case_close(&c);
    }
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, TWO("") MM("r", "w", "x") ",{'name':'v','op':'VIEW','src':['r'],'ne':[64,4],'backend':'CPU'},"
                     MM("y", "w", "v") "]}");
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_stale_input(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(view_of_the_same_split),
        cmocka_unit_test(written_in_a_later_split),
        cmocka_unit_test(silent),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_stale_input", tests, NULL, NULL);
}
