/* Tests of the finding `overlap`: inputs that copy bytes twice, or bytes that are no data. */
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

#define VIEW(name, of, ne, nb, offset)                                                                               \
    "{'name':'" name "','op':'VIEW','src':['" of "'],'ne':" ne ",'nb':" nb ",'view':{'of':'" of "','offset':"        \
    offset "}}"

/* Columns of one result: each is copied with what lies between its rows. */
static void columns_of_one_tensor(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, TWO("") MM("qkv", "c", "x") "," VIEW("q", "qkv", "[32,4]", "[4,256,1024,1024]", "0") ","
                     VIEW("k", "qkv", "[32,4]", "[4,256,1024,1024]", "128")
                     ",{'name':'qk','op':'MUL','src':['q','k'],'backend':'GPU0'}]}");
    assert_int_equal(lint_case_count(&c, "overlap"), 2);
    /* 896 bytes each, from 0 and from 128: 768 of them twice */
    lint_case_has(&c, "overlap", "severity", "warning", "what", "shared", "tensors", "q,k", "root", "qkv", "bytes",
                  "768",
                  "backend", "GPU0", "split", "1", NULL);
    lint_case_has(&c, "overlap", "severity", "warning", "what", "not contiguous", "tensors", "q,k", "count", "2",
                  "bytes",
                  "768", "hint", "CONT", NULL);
    lint_case_close(&c);
}

/* Two halves share a tensor, but no bytes. */
static void halves_of_one_tensor(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, TWO("") MM("a", "c", "x") "," VIEW("u", "a", "[64,2]", "[4,256,512,512]", "0") ","
                     VIEW("v", "a", "[64,2]", "[4,256,512,512]", "512")
                     ",{'name':'y','op':'MUL','src':['u','v'],'backend':'GPU0'}]}");
    assert_int_equal(lint_case_count(&c, "overlap"), 1);
    lint_case_has(&c, "overlap", "severity", "info", "what", "shared", "tensors", "u,v", "bytes", "0", NULL);
    lint_case_close(&c);
}

/* Permuted, but dense: nothing in it is wasted. */
static void permuted(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, TWO("") MM("a", "c", "x") ",{'name':'t','op':'TRANSPOSE','src':['a']},"
                     "{'name':'y','op':'CONT','src':['t'],'backend':'GPU0'}]}");
    assert_int_equal(lint_case_count(&c, "overlap"), 1);
    lint_case_has(&c, "overlap", "severity", "info", "what", "not contiguous", "tensor", "t", "bytes", "0",
                  "message", "all of it data of its own", "hint", "nothing need be done", NULL);
    lint_case_close(&c);
}

static void silent(void **state) {
    (void)state;
    static const char *const graphs[] = {
        TWO("") MM("a", "c", "x") "," MM("b", "c", "x") ",{'name':'y','op':'MUL','src':['a','b'],'backend':'GPU0'}]}",
        TWO("") MM("a", "c", "x") ",{'name':'r','op':'RESHAPE','src':['a'],'ne':[32,8]},{'name':'y','op':'SQR',"
        "'src':['r'],'backend':'GPU0'}]}",
        /* two leafs of one name, each with a place of its own */
        TWO("") "{'name':'y','op':'ADD','src':['kc','kc'],'backend':'GPU0'}]}",
        /* nothing is copied */
        TWO("") MM("a", "w", "x") ",{'name':'t','op':'TRANSPOSE','src':['a']},{'name':'y','op':'CONT','src':['t']}]}",
    };
    for (int i = 0; i < SR_COUNT(graphs); i++) {
        lint_case c;
        lint_case_single(&c, graphs[i]);
        assert_int_equal(c.error.status, SR_OK);
        lint_case_none(&c, "overlap");
        lint_case_close(&c);
    }
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, TWO("") MM("qkv", "c", "x") "," VIEW("q", "qkv", "[32,4]", "[4,256,1024,1024]", "0") ","
                     VIEW("k", "qkv", "[32,4]", "[4,256,1024,1024]", "128")
                     ",{'name':'qk','op':'MUL','src':['q','k'],'backend':'GPU0'}]}");
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_overlap(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_one_tensor),
        cmocka_unit_test(halves_of_one_tensor),
        cmocka_unit_test(permuted),
        cmocka_unit_test(silent),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_overlap", tests, NULL, NULL);
}
