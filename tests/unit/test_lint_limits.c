/* Tests of the finding `limits`: from 90% on, at the limit, and over it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lint_case.h"

/* n inputs into one split of GPU0: y + p0 + p1 ... */
#define INPUTS(n)                                                                                                    \
    "{'sched_run':1,'params':{'n':" n "},'backends':[{'name':'GPU0','device':'sim'},{'name':'CPU','device':'cpu'}]," \
    "'buffers':{'gpu_w':{'type':'GPU0','usage':'weights'}},'tensors':[{'name':'w','ne':[32,32],'buffer':'gpu_w'},"  \
    "{'repeat':'n','as':'i','items':[{'name':'p{i}','ne':[32],'flags':['input']}]}],"                               \
    "'nodes':[{'name':'y0','op':'MUL_MAT','src':['w','p0']},{'repeat':'n-1','as':'i','items':["                     \
    "{'name':'y{i+1}','op':'ADD','src':['y{i}','p{i+1}']}]}"
#define LAST "]}"

static void split_inputs(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, INPUTS("26") LAST);
    lint_case_none(&c, "limits");
    lint_case_close(&c);
    lint_case_single(&c, INPUTS("27") LAST);
    assert_int_equal(lint_case_count(&c, "limits"), 1);
    lint_case_has(&c, "limits", "severity", "info", "what", "split inputs", "used", "27", "limit", "30", "tensor",
                  "p26", "split", "0", NULL);
    lint_case_close(&c);
    lint_case_single(&c, INPUTS("30") LAST);
    lint_case_has(&c, "limits", "severity", "warning", "used", "30", "tensor", "p29", "message", "at the limit of 30",
                  NULL);
    lint_case_close(&c);
}

static void too_many_split_inputs(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c,
                     "{'sched_run':1,'backends':[{'name':'GPU0','device':'sim'},{'name':'CPU','device':'cpu'}],"
                     "'buffers':{'gpu_w':{'type':'GPU0','usage':'weights'}},'tensors':[{'name':'w','ne':[32,32],"
                     "'buffer':'gpu_w'},{'repeat':32,'as':'i','items':[{'name':'p{i}','ne':[32],'flags':['input']}]}],"
                     "'nodes':[{'name':'y0','op':'MUL_MAT','src':['w','p0']},{'repeat':28,'as':'i','items':["
                     "{'name':'y{i+1}','op':'ADD','src':['y{i}','p{i+1}']}]},"
                     "{'name':'last','op':'JOIN','src':['p29','p30','y28','p31','w'],'ne':[32]}],"
                     "'unknown_ops':'opaque'}");
    if (c.error.status != SR_SPLIT_INPUTS) {
        fail_msg("%s", sr_error_message(&c.error));
    }
    assert_int_equal(lint_case_count(&c, "limits"), 1);
    lint_case_has(&c, "limits", "severity", "error", "what", "split inputs", "used", "31", "limit", "30", "tensors",
                  "p30,last", "node", "last", "message", "'p30' is the first over", NULL);
    lint_case_close(&c);
}

static void user_inputs_with_copies(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(&c, INPUTS("28") LAST);
    c.params.n_copies = 2;
    lint_case_run(&c, 0, false);
    lint_case_has(&c, "limits", "what", "user inputs with copies", "used", "28", "tensor", "p27", NULL);
    lint_case_has(&c, "limits", "what", "split inputs", "used", "28", NULL);
    lint_case_close(&c);
    lint_case_open(&c, INPUTS("31") LAST);
    c.params.n_copies = 2;
    assert_int_equal(lint_case_run(&c, 0, false), SR_SPLIT_INPUTS);
    lint_case_has(&c, "limits", "severity", "error", "what", "user inputs with copies", "used", "31", "tensors",
                  "p30,y30", NULL);
    lint_case_close(&c);
}

/* 11 nodes and leafs are room for 11, of graph_size 6 to 11. */
#define SIZE(nodes, size)                                                                                            \
    "{'sched_run':1,'backends':[{'name':'CPU','device':'cpu'}],'scheduler':{'graph_size':" size "},"                 \
    "'tensors':[{'name':'x0','ne':[32],'flags':['input']}],'nodes':[{'repeat':" nodes ",'as':'i','items':["          \
    "{'name':'x{i+1}','op':'SQR','src':['x{i}']}]}]}"

static void graph_size(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, SIZE("8", "6"));
    lint_case_none(&c, "limits");
    lint_case_close(&c);
    lint_case_single(&c, SIZE("10", "6"));
    lint_case_has(&c, "limits", "severity", "warning", "what", "graph size", "used", "11", "limit", "11", "tensor",
                  "x10", "message", "11 nodes and leafs", NULL);
    lint_case_close(&c);
    lint_case_single(&c, SIZE("15", "12"));
    lint_case_has(&c, "limits", "severity", "info", "used", "16", "limit", "17", NULL);
    lint_case_close(&c);
    lint_case_single(&c, SIZE("12", "6"));
    assert_int_equal(c.error.status, SR_GRAPH_SIZE);
    assert_int_equal(c.findings.n, 1);
    lint_case_has(&c, "limits", "severity", "error", "what", "graph size", "used", "13", "limit", "11", "tensor", "x11",
                  NULL);
    lint_case_close(&c);
    lint_case_single(&c, SIZE("5000", "6000"));
    lint_case_none(&c, "limits");
    lint_case_close(&c);
}

static void backends(void **state) {
    (void)state;
    lint_case c;
    static const char text[] = "{'sched_run':1,'backends':[{'name':'A','device':'sim'},{'name':'B','device':'sim'},"
                               "{'name':'CPU','device':'cpu'}],'tensors':[{'name':'x','ne':[4]}],"
                               "'nodes':[{'name':'y','op':'SQR','src':['x']}]}";
    lint_case_open(&c, text);
    c.params.max_backends = 2;
    assert_int_equal(lint_case_run(&c, 0, false), SR_BACKENDS);
    assert_int_equal(c.findings.n, 1);
    lint_case_has(&c, "limits", "severity", "error", "what", "backends", "used", "3", "limit", "2", NULL);
    lint_case_close(&c);
    lint_case_open(&c, text);
    c.params.max_backends = 3;
    lint_case_run(&c, 0, false);
    lint_case_none(&c, "limits");
    lint_case_close(&c);
}

static void copies(void **state) {
    (void)state;
    for (int n = 1; n < 6; n++) {
        lint_case c;
        lint_case_open(&c, INPUTS("2") LAST);
        c.params.n_copies = n;
        lint_case_run(&c, 0, false);
        if (n <= 4) {
            lint_case_none(&c, "limits");
        } else {
            lint_case_has(&c, "limits", "severity", "warning", "what", "copies", "used", "5", "limit", "4", NULL);
        }
        lint_case_close(&c);
    }
}

static void splits(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(&c, "{'sched_run':1,'backends':[{'name':'GPU0','device':'sim'},{'name':'CPU','device':'cpu'}],"
                   "'tensors':[{'name':'x0','ne':[32],'flags':['input']}],'nodes':[{'repeat':'128','as':'i','items':["
                   "{'name':'x{2*i+1}','op':'SQR','src':['x{2*i}'],'backend':'GPU0'},"
                   "{'name':'x{2*i+2}','op':'SQR','src':['x{2*i+1}'],'backend':'CPU'}]}]}");
    sr_sched_params_set_rules(&c.params, sr_revision_find("copies"));
    lint_case_run(&c, 0, false);
    lint_case_has(&c, "limits", "severity", "warning", "what", "splits", "used", "256", "limit", "256", "tensor",
                  "x256", NULL);
    lint_case_close(&c);
    lint_case_open(&c, "{'sched_run':1,'backends':[{'name':'GPU0','device':'sim'},{'name':'CPU','device':'cpu'}],"
                   "'tensors':[{'name':'x0','ne':[32],'flags':['input']}],'nodes':[{'repeat':'129','as':'i','items':["
                   "{'name':'x{2*i+1}','op':'SQR','src':['x{2*i}'],'backend':'GPU0'},"
                   "{'name':'x{2*i+2}','op':'SQR','src':['x{2*i+1}'],'backend':'CPU'}]}]}");
    sr_sched_params_set_rules(&c.params, sr_revision_find("copies"));
    assert_int_equal(lint_case_run(&c, 0, false), SR_LIMIT);
    lint_case_has(&c, "limits", "severity", "error", "what", "splits", "used", "257", "limit", "256", "tensor", "x257",
                  NULL);
    lint_case_close(&c);
}

/* Twenty tensors of a buffer type's largest buffer each, all alive at once. */
static void chunks(void **state) {
    (void)state;
    lint_case c;
    static const char text[] =
        "{'sched_run':1,'params':{'n':%d},'backends':[{'name':'GPU0','device':'sim','max_buffer_size':1024,"
        "'memory':'1MiB'},{'name':'CPU','device':'cpu'}],"
        "'tensors':[{'repeat':'n','as':'i','items':[{'name':'p{i}','ne':[256],'flags':['input']}]}],"
        "'nodes':[{'repeat':'n','as':'i','items':[{'name':'y{i}','op':'SQR','src':['p{i}'],'backend':'GPU0',"
        "'flags':['output']}]}]}";
    for (int n = 8; n <= 20; n += 12) {
        char graph[sizeof(text) + 8];
        snprintf(graph, sizeof(graph), text, n);
        lint_case_single(&c, graph);
        if (n == 8) {
            lint_case_none(&c, "limits");
        } else {
            lint_case_has(&c, "limits", "what", "chunks", "limit", "16", "buffer_type", "GPU0", NULL);
        }
        lint_case_close(&c);
    }
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(&c, INPUTS("31") LAST);
    c.params.n_copies = 2;
    assert_int_equal(lint_case_run(&c, 0, false), SR_SPLIT_INPUTS);
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_limits(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split_inputs), cmocka_unit_test(too_many_split_inputs),
        cmocka_unit_test(user_inputs_with_copies), cmocka_unit_test(graph_size),
        cmocka_unit_test(backends), cmocka_unit_test(copies),
        cmocka_unit_test(splits), cmocka_unit_test(chunks),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_limits", tests, NULL, NULL);
}
