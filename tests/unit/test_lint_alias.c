/* Tests of the finding `alias`: nodes that write where their backend does not reach. */
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

/* A node whose op is a matrix product, or one of one source. */
#define MM(name, w, x) "{'name':'" name "','op':'MUL_MAT','src':['" w "','" x "']}"
#define OP(name, op, x) "{'name':'" name "','op':'" op "','src':['" x "']}"

/* A result of the CPU that a node beside it writes into, on the GPU. */
static void set_in_place(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, TWO("") MM("acc", "c", "x") "," MM("v", "w", "acc") ",{'name':'st','op':'SET','src':['acc',"
                     "'v'],'inplace':true}," MM("y", "w", "st") "]}");
    assert_int_equal(lint_case_count(&c, "alias"), 1);
    lint_case_has(&c, "alias", "severity", "error", "tensors", "st,acc", "op", "SET", "backend", "GPU0", "root", "acc",
                  "buffer_type", "CPU", "count", "1", "bytes", "1024", "hint", "-A 'st=CPU'", NULL);
    lint_case_close(&c);
}

/* The view is on the GPU, what it views is not: storage counts. */
static void through_a_view(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, TWO("") MM("acc", "c", "x") "," MM("v", "w", "acc") ",{'name':'half','op':'VIEW',"
                     "'src':['acc'],'ne':[64,2],'backend':'GPU0'},{'name':'vv','op':'VIEW','src':['v'],'ne':[64,2]},"
                     "{'name':'cp','op':'CPY','src':['vv','half']}," MM("y", "w", "cp") "]}");
    lint_case_has(&c, "alias", "tensors", "cp,acc", "op", "CPY", "root", "acc", NULL);
    lint_case_close(&c);
}

static void set_rows_of_what_fell_back(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, TWO("'FILL'") MM("q", "w", "x") ",{'name':'f','op':'FILL','src':['q'],'params':{'c':0}},"
                     "{'name':'sr','op':'SET_ROWS','src':['q','idx','f']}," MM("y", "w", "sr") "]}");
    lint_case_has(&c, "alias", "tensors", "sr,f", "op", "SET_ROWS", "message", "stored in CPU memory", NULL);
    lint_case_close(&c);
}

/* Nodes of one op with one trouble are one finding; another op is another. */
static void told_of_together(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, TWO("") MM("a", "w", "x") ",{'name':'s0','op':'SET_ROWS','src':['a','idx','kc'],"
                     "'backend':'GPU0'},{'name':'s1','op':'SET_ROWS','src':['a','idx','kc'],'backend':'GPU0'},"
                     "{'name':'kv','op':'VIEW','src':['kc'],'ne':[64,4]},"
                     "{'name':'s2','op':'CPY','src':['a','kv'],'backend':'GPU0'}]}");
    assert_int_equal(lint_case_count(&c, "alias"), 2);
    lint_case_has(&c, "alias", "tensors", "s0,s1,kc", "count", "2", "message", "1 more node", NULL);
    lint_case_has(&c, "alias", "tensors", "s2,kc", "count", "1", NULL);
    lint_case_close(&c);
}

/* Nobody reaches the memory and runs the op. */
static void no_right_place(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, "{'sched_run':1,'backends':[{'name':'GPU0','device':'sim','ops':{'deny':['SILU']}},"
                     "{'name':'CPU','device':'cpu','ops':{'deny':['SQR']}}],'tensors':[{'name':'x','ne':[64,4],"
                     "'flags':['input']}],'nodes':[{'name':'a','op':'SILU','src':['x']},"
                     "{'name':'b','op':'SQR','src':['a'],'inplace':true}]}");
    lint_case_has(&c, "alias", "tensors", "b,a", "hint", "no backend here", NULL);
    lint_case_close(&c);
}

static void silent(void **state) {
    (void)state;
    static const char *const graphs[] = {
        TWO("") MM("a", "c", "x") "," MM("b", "w", "a") "]}",
        /* into a cache on the same backend, and on the CPU by its buffer */
        TWO("") MM("a", "w", "x") ",{'name':'s','op':'SET_ROWS','src':['a','idx','kg']}]}",
        TWO("") MM("a", "w", "x") ",{'name':'s','op':'SET_ROWS','src':['a','idx','kc']}]}",
        /* a view writes nothing, wherever it is */
        TWO("") MM("a", "c", "x") ",{'name':'v','op':'VIEW','src':['a'],'ne':[64,2],'backend':'GPU0'}," MM("b", "w",
        "v") "]}",
        /* in place where the source is */
        TWO("") MM("a", "w", "x") ",{'name':'s','op':'SILU','src':['a'],'inplace':true}," MM("b", "w", "s") "]}",
        /* not computed */
        TWO("") MM("acc", "c", "x") "," MM("v", "w", "acc") ",{'name':'st','op':'SET','src':['acc','v'],'inplace':true,"
        "'compute':false}," MM("y", "w", "v") "]}",
        /* memory that the other backend reaches */
        "{'sched_run':1,'backends':[{'name':'GPU0','device':'sim','accepts':['CPU'],'ops':{'deny':['SQR']}},"
        "{'name':'CPU','device':'cpu'}],'buffers':{'gpu_w':{'type':'GPU0','usage':'weights'}},'tensors':[{'name':'x',"
        "'ne':[64,4],'flags':['input']},{'name':'w','ne':[64,64],'buffer':'gpu_w'}],'nodes':[" OP("a", "SQR", "x")
        ",{'name':'b','op':'SILU','src':['a'],'inplace':true}," MM("y", "w", "b") "]}",
    };
    for (int i = 0; i < SR_COUNT(graphs); i++) {
        lint_case c;
        lint_case_single(&c, graphs[i]);
        assert_int_equal(c.error.status, SR_OK);
        lint_case_none(&c, "alias");
        lint_case_close(&c);
    }
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, TWO("") MM("acc", "c", "x") "," MM("v", "w", "acc") ",{'name':'st','op':'SET','src':['acc',"
                     "'v'],'inplace':true}," MM("y", "w", "st") "]}");
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_alias(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_in_place),
        cmocka_unit_test(through_a_view),
        cmocka_unit_test(set_rows_of_what_fell_back),
        cmocka_unit_test(told_of_together),
        cmocka_unit_test(no_right_place),
        cmocka_unit_test(silent),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_alias", tests, NULL, NULL);
}
