/* Tests of the finding `late-input`: inputs that a split waits for before its first node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lint_case.h"

#define THREE                                                                                                        \
    "{'sched_run':1,'backends':[{'name':'GPU0','device':'sim'},{'name':'GPU1','device':'sim'},"                      \
    "{'name':'CPU','device':'cpu'}],'buffers':{'w0':{'type':'GPU0','usage':'weights'},"                              \
    "'w1':{'type':'GPU1','usage':'weights'},'wc':{'type':'CPU','usage':'weights'},'kv':{'type':'GPU0'}},"            \
    "'tensors':[{'name':'x','ne':[64,4],'flags':['input']},{'name':'a','ne':[64,64],'buffer':'w0'},"                 \
    "{'name':'b','ne':[64,64],'buffer':'w1'},{'name':'c','ne':[64,64],'buffer':'wc'},"                               \
    "{'name':'kv','ne':[64,4],'buffer':'kv'}],'nodes':["

/* A matrix product, and an op of one source. */
#define MM(name, w, x) "{'name':'" name "','op':'MUL_MAT','src':['" w "','" x "']}"
#define OP(name, op, x) "{'name':'" name "','op':'" op "','src':['" x "']}"

/* v and t of two chunks come after all that z needs; o only follows z to GPU1. */
#define CHUNKS                                                                                                       \
    MM("m", "a", "x") ",{'name':'v0','op':'SUB','src':['m','x']},{'name':'t0','op':'MUL','src':['v0','m']},"         \
    "{'name':'v1','op':'SUB','src':['m','x']},{'name':'t1','op':'MUL','src':['v1','m']},"
#define SUMS "{'name':'o0','op':'ADD','src':['v0','t0']},{'name':'o1','op':'ADD','src':['v1','t1']}"

static void chunks_at_a_border(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, THREE CHUNKS MM("z", "b", "x") "," SUMS "," MM("w", "a", "o1") "," MM("f", "b", "w") "]}");
    assert_int_equal(lint_case_count(&c, "late-input"), 1);
    lint_case_has(&c, "late-input", "severity", "warning", "tensors", "v0,t0,v1,t1", "backend", "GPU1", "split", "1",
                  "node",
                  "z", "late", "4", "repeated", "0", "bytes", "4096", "hint", "put 'o0' and its like before 'z'", NULL);
    lint_case_close(&c);
}

/* All readers are tied to GPU1: there is something to wait for, and nothing to move. */
static void tied_readers(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, THREE MM("m", "a", "x") ",{'name':'p','op':'SQR','src':['m']},{'name':'q','op':'SQR',"
                     "'src':['p']},"
                     MM("z", "b", "m") "," MM("y0", "b", "p") "," MM("y1", "b", "q") "]}");
    lint_case_has(&c, "late-input", "severity", "info", "tensors", "p,q", "node", "z", "late", "2", NULL);
    lint_case_close(&c);
}

static void repeated_names(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, THREE "{'id':'p','name':'chunk','op':'MUL_MAT','src':['a','x']},"
                     "{'id':'q','name':'chunk','op':'SQR','src':['p']},{'name':'y','op':'ADD','src':['p','q'],"
                     "'backend':'GPU1'}]}");
    lint_case_has(&c, "late-input", "severity", "info", "tensor", "chunk", "late", "0", "repeated", "1", NULL);
    lint_case_close(&c);
}

static void silent(void **state) {
    (void)state;
    static const char *const graphs[] = {
        /* the sums stand before the border */
        THREE CHUNKS SUMS "," MM("w", "a", "o1") "," MM("z", "b", "x") "," MM("f", "b", "w") "]}",
        /* a usual border: the last is what the first node needs, the sum beside it came before */
        THREE MM("m", "a", "x") ",{'name':'r','op':'ADD','src':['m','x']}," OP("n", "SQR", "r") "," MM("z", "b", "n")
        ",{'name':'y','op':'ADD','src':['z','r']}]}",
        /* one late input, whose reader has something of this backend to read as well */
        THREE MM("m", "a", "x") "," OP("n", "SQR", "m") "," MM("z", "b", "m") ",{'name':'y','op':'ADD','src':['z',"
        "'n']}]}",
        /* moving the reader would only change which tensor crosses */
        THREE MM("m", "c", "x") "," MM("z", "a", "x") "," OP("n", "SQR", "m") "," MM("y", "a", "n") "]}",
        /* user inputs are there from the start, two of one name too; two views of one result are one border */
        THREE MM("m", "a", "x") ",{'id':'u','name':'v','op':'VIEW','src':['m'],'ne':[64,2]},{'id':'v','op':'VIEW',"
        "'name':'v',"
        "'src':['m'],'ne':[64,2],'view':{'of':'m','offset':512}}," MM("z", "b", "x") "," MM("y0", "b", "u") ","
        MM("y1", "b", "v") "]}",
    };
    for (int i = 0; i < SR_COUNT(graphs); i++) {
        lint_case c;
        lint_case_single(&c, graphs[i]);
        assert_int_equal(c.error.status, SR_OK);
        lint_case_none(&c, "late-input");
        lint_case_close(&c);
    }
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, THREE CHUNKS MM("z", "b", "x") "," SUMS "," MM("w", "a", "o1") "," MM("f", "b", "w") "]}");
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_late_input(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_at_a_border),
        cmocka_unit_test(tied_readers),
        cmocka_unit_test(repeated_names),
        cmocka_unit_test(silent),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_late_input", tests, NULL, NULL);
}
