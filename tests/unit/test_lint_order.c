/* Tests of the finding `order`: orders of nodes that need fewer splits, and what must stay in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/order.h"
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

/* The CPU's product stands between two of GPU0 that do not need it. */
static void a_node_to_move(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, THREE MM("g0", "a", "x") "," MM("h", "c", "x") "," MM("g1", "a", "g0") ",{'name':'y',"
                     "'op':'ADD','src':['g1','h']}]}");
    assert_int_equal(lint_case_count(&c, "order"), 1);
    lint_case_has(&c, "order", "severity", "warning", "tensors", "h", "splits", "1", "n_splits", "2", "moves", "1",
                  "reassigned", "0", "before", "g0", "message", "2 splits instead of 3: move 'h' before 'g0'", NULL);
    lint_case_close(&c);
}

/* Two chains that were interleaved. */
static void chains_to_take_apart(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, THREE MM("g0", "a", "x") "," MM("h0", "c", "x") ",{'repeat':5,'as':'i',"
                     "'items':[{'name':'g{i+1}',"
                     "'op':'MUL_MAT','src':['a','g{i}']},{'name':'h{i+1}','op':'MUL_MAT','src':['c','h{i}']}]}]}");
    lint_case_has(&c, "order", "splits", "10", "n_splits", "2", "moves", "5", "reassigned", "0", NULL);
    lint_case_close(&c);
}

/* Nodes that only follow their neighbours follow others in the better order. */
static void nodes_that_follow(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, THREE MM("m", "a", "x") "," OP("v", "SQR", "m") "," MM("z", "b", "x") ",{'name':'o',"
                     "'op':'ADD','src':['v','m']}," MM("w", "a", "o") "," MM("f", "b", "w") "]}");
    lint_case_has(&c, "order", "splits", "2", "n_splits", "2", "reassigned", "1", "tensors", "z", "message",
                  "1 node then follows other neighbours", NULL);
    lint_case_close(&c);
}

/* User assignments hold in what is proposed, and are reasons to propose it. */
static void assigned_nodes(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, THREE MM("g0", "a", "x") ",{'name':'h','op':'SQR','src':['x'],'backend':'CPU'}," MM("g1",
                     "a", "g0")
                     ",{'name':'y','op':'ADD','src':['g1','h'],'backend':'GPU0'}]}");
    lint_case_has(&c, "order", "n_splits", "2", "tensors", "h", NULL);
    lint_case_close(&c);
}

static void silent(void **state) {
    (void)state;
    static const char *const graphs[] = {
        THREE MM("n0", "a", "x") "," MM("n1", "b", "n0") "," MM("n2", "c", "n1") "]}",
        /* each needs the one before */
        THREE MM("n0", "a", "x") "," MM("n1", "b", "n0") "," MM("n2", "a", "n1") "," MM("n3", "b", "n2") "]}",
        /* by memory: the CPU's product reads what was stored before it, and is stored over by the next */
        THREE MM("g0", "a", "x") ",{'name':'s','op':'CPY','src':['g0','kv']}," MM("h", "c", "kv") ",{'name':'t',"
        "'op':'CPY','src':['x','kv']}]}",
        /* hidden: a view of what a node in place has changed */
        THREE MM("g0", "a", "x") ",{'name':'v','op':'VIEW','src':['g0'],'ne':[64,4]},{'name':'s','op':'SQR',"
        "'src':['g0'],'inplace':true}," MM("h", "c", "v") ",{'name':'u','op':'SQR','src':['s'],'inplace':true}]}",
        /* as many weights on the CPU as before: another order does not need fewer copies of weights */
        THREE MM("n0", "a", "x") "," MM("n1", "a", "n0") "]}",
    };
    for (int i = 0; i < SR_COUNT(graphs); i++) {
        lint_case c;
        lint_case_single(&c, graphs[i]);
        assert_int_equal(c.error.status, SR_OK);
        lint_case_none(&c, "order");
        lint_case_close(&c);
    }
}

/* The order that was found keeps every node behind all it depends on, and is the graph's own otherwise. */
static void keeps_dependences(void **state) {
    (void)state;
    lint_case c;
    sr__order order;
    lint_case_single(&c, THREE MM("g0", "a", "x") ",{'name':'s','op':'CPY','src':['g0','kv']}," MM("h", "c", "x")
                     ",{'name':'v','op':'VIEW','src':['kv'],'ne':[64,4]}," MM("g1", "a", "v") ",{'name':'t',"
                     "'op':'CPY','src':['g1','kv']},{'name':'y','op':'ADD','src':['t','h']}]}");
    const sr_layout *layout = sr_sched_layout(c.sched);
    assert_int_equal(sr__order_find(layout, &c.params, &order, NULL), SR_OK);
    assert_non_null(order.nodes);
    static const char *const expected[] = {"h", "g0", "s", "v", "g1", "t", "y"};
    for (int i = 0; i < SR_COUNT(expected); i++) {
        assert_string_equal(layout->graph->tensors[order.nodes[i]].id, expected[i]);
        assert_int_equal(order.moved[i], i == 0);
    }
    assert_int_equal(order.n_splits, 2);
    assert_int_equal(order.n_moved, 1);
    sr__order_free(&order);
    lint_case_close(&c);
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, THREE MM("g0", "a", "x") "," MM("h", "c", "x") "," MM("g1", "a", "g0") ",{'name':'y',"
                     "'op':'ADD','src':['g1','h']}]}");
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_order(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_to_move),
        cmocka_unit_test(chains_to_take_apart),
        cmocka_unit_test(nodes_that_follow),
        cmocka_unit_test(assigned_nodes),
        cmocka_unit_test(silent),
        cmocka_unit_test(keeps_dependences),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_order", tests, NULL, NULL);
}
