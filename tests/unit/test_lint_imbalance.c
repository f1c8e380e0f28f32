/* Tests of the finding `imbalance`: devices that hardly take part, splits of one node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/work.h"
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

/* GPU1 gets one product of 25. */
static void a_device_for_next_to_nothing(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, THREE MM("n0", "a", "x") ",{'repeat':23,'as':'i','items':[{'name':'n{i+1}','op':'MUL_MAT',"
                     "'src':['a','n{i}']}]}," MM("m", "b", "n23") "]}");
    assert_int_equal(lint_case_count(&c, "imbalance"), 1);
    lint_case_has(&c, "imbalance", "severity", "info", "backend", "GPU1", "nodes", "1", "backend_splits", "1",
                  "percent",
                  "4", "tensor", "m", "bytes", "1024", "message", "GPU0 96% of the nodes, 96.0% of the operations",
                  NULL);
    lint_case_close(&c);
}

static void splits_of_one_node(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, THREE MM("n0", "a", "x") "," MM("n1", "b", "n0") "," MM("n2", "a", "n1") "," MM("n3", "b",
                     "n2")
                     ",{'name':'v','op':'RESHAPE','src':['n3'],'ne':[64,4]}]}");
    assert_int_equal(lint_case_count(&c, "imbalance"), 1);
    lint_case_has(&c, "imbalance", "single", "4", "n_splits", "4", "tensors", "n0,n1,n2,n3", "message",
                  "4 of 4 splits hold a single node", NULL);
    lint_case_close(&c);
}

/* Products weigh by their inner extent, attention by keys and values; moving data weighs nothing. */
static void operations(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(&c, "{'sched_run':1,'backends':[{'name':'CPU','device':'cpu'}],'tensors':[{'name':'x','ne':[64,4]},"
                   "{'name':'w','ne':[64,16]},{'name':'k','ne':[64,32,2]},{'name':'v','ne':[16,32,2]},{'name':'q',"
                   "'ne':[64,4,2]}],"
                   "'nodes':[{'name':'mm','op':'MUL_MAT','src':['w','x']},{'name':'op','op':'OUT_PROD','src':['x',"
                   "'x']},{'name':'fa','op':'FLASH_ATTN_EXT','src':['q','k','v'],'params':{'scale':1}},{'name':'s',"
                   "'op':'SQR','src':['x']},"
                   "{'name':'sum','op':'SUM','src':['x']},{'name':'t','op':'TRANSPOSE','src':['x']},{'name':'ct',"
                   "'op':'CONT','src':['t']}]}");
    const sr_graph *g = sr_description_run(c.description, 0)->graph;
    static const struct { const char *id; double flops; } expected[] = {
        {"mm", 2 * 64 * 16 * 4}, {"op", 2 * 4 * 64 * 64}, {"fa", 2 * 4 * 2 * 32 * (64 + 16)},
        {"s", 256}, {"sum", 256}, {"t", 0}, {"ct", 0}, {"x", 0},
    };
    for (int i = 0; i < SR_COUNT(expected); i++) {
        assert_true(sr__node_flops(g, sr_graph_find(g, expected[i].id)) == expected[i].flops);
    }
    assert_true(sr__node_bytes(g, sr_graph_find(g, "mm")) == 4.0 * (64 * 4 + 64 * 16 + 16 * 4));
    assert_true(sr__node_bytes(g, sr_graph_find(g, "op")) == 4.0 * (64 * 4 + 64 * 64));
    lint_case_close(&c);
}

static void silent(void **state) {
    (void)state;
    static const char *const graphs[] = {
        THREE MM("n0", "a", "x") "," MM("n1", "b", "n0") "]}",
        /* three splits are too few to judge; the CPU may have next to nothing */
        THREE MM("n0", "a", "x") "," MM("n1", "b", "n0") "," MM("n2", "a", "n1") "]}",
        THREE "{'name':'e','op':'CONT','src':['x'],'backend':'CPU'}," MM("n0", "a", "e") "," MM("n1", "b", "n0") "]}",
        /* half of four */
        THREE MM("n0", "a", "x") "," OP("s0", "SQR", "n0") "," MM("n1", "b", "s0") "," MM("n2", "a", "n1") ","
        OP("s2", "SQR", "n2")
        "," MM("n3", "b", "s2") "]}",
    };
    for (int i = 0; i < SR_COUNT(graphs); i++) {
        lint_case c;
        lint_case_single(&c, graphs[i]);
        assert_int_equal(c.error.status, SR_OK);
        lint_case_none(&c, "imbalance");
        lint_case_close(&c);
    }
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, THREE MM("n0", "a", "x") "," MM("n1", "b", "n0") "," MM("n2", "a", "n1") "," MM("n3", "b",
                     "n2") "]}");
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_imbalance(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_for_next_to_nothing),
        cmocka_unit_test(splits_of_one_node),
        cmocka_unit_test(operations),
        cmocka_unit_test(silent),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_imbalance", tests, NULL, NULL);
}
