/* Tests of the finding `preallocated`: who accepts the buffer type, who supports the op. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lint_case.h"

static void op_refused_where_the_result_is(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c,
                     "{'sched_run':1,'backends':[{'name':'Vulkan0','device':'sim','ops':{'deny':[{'op':'CPY','type':"
                     "'q8_0'}]}},{'name':'CPU','device':'cpu'}],'buffers':{'kv':{'type':'Vulkan0'}},"
                     "'tensors':[{'name':'kc','type':'q8_0','ne':[64,4],'buffer':'kv'}],"
                     "'nodes':[{'name':'s','op':'VIEW','src':['kc'],'ne':[64,2]},"
                     "{'name':'d','op':'VIEW','src':['kc'],'ne':[64,2],'params':{'offset':136}},"
                     "{'name':'c','op':'CPY','src':['s','d']}]}");
    assert_int_equal(c.error.status, SR_PREALLOCATED);
    assert_int_equal(c.findings.n, 1);
    lint_case_has(&c, "preallocated", "severity", "error", "tensor", "c", "op", "CPY", "buffer_type", "Vulkan0",
                  "accepted_by", "Vulkan0", "supported_by", "CPU", "message", "Vulkan0 refuses it: it denies", NULL);
    lint_case_close(&c);
}

static void leaf_that_nobody_accepts(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(
        &c, "{'sched_run':1,'backends':[{'name':'Vulkan0','device':'sim'},{'name':'CPU','device':'cpu'}],"
            "'buffer_types':{'ROCm0':{}},'buffers':{'kv':{'type':'ROCm0'}},"
            "'tensors':[{'name':'kc','ne':[64,4],'buffer':'kv'}],'nodes':[{'name':'c','op':'CONT','src':['kc']}]}");
    assert_int_equal(c.error.status, SR_PREALLOCATED);
    lint_case_has(&c, "preallocated", "tensors", "kc", "op", "NONE", "buffer_type", "ROCm0", "accepted_by", "none",
                  "hint", "no backend of this scheduler accepts ROCm0 buffers", NULL);
    lint_case_close(&c);
}

static void view_that_is_refused(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(
        &c, "{'sched_run':1,'backends':[{'name':'qnn0','device':'sim','ops':{'deny':['VIEW']}},"
            "{'name':'CPU','device':'cpu'}],'buffers':{'kv':{'type':'qnn0'}},"
            "'tensors':[{'name':'kc','ne':[64,4],'buffer':'kv'}],"
            "'nodes':[{'name':'v','op':'VIEW','src':['kc'],'ne':[64,2]},{'name':'y','op':'SQR','src':['v']}]}");
    assert_int_equal(c.error.status, SR_PREALLOCATED);
    lint_case_has(&c, "preallocated", "tensor", "v", "op", "VIEW", "hint", "every backend should support VIEW", NULL);
    lint_case_close(&c);
}

static void weights_that_the_op_cannot_use(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(
        &c, "{'sched_run':1,'backends':[{'name':'CPU','device':'cpu','accepts':['CPU_REPACK'],'ops':{'deny':["
            "{'op':'MUL','src1.buffer_type':'CPU_REPACK'}]}}],'buffer_types':{'CPU_REPACK':{'host':false}},"
            "'buffers':{'w':{'type':'CPU_REPACK','usage':'weights'}},'tensors':[{'name':'x','ne':[64],'flags':["
            "'input']},{'name':'w','ne':[64],'buffer':'w'}],'nodes':[{'name':'a','op':'SQR','src':['x']},"
            "{'name':'b','op':'MUL','src':['a','w']}]}");
    assert_int_equal(c.error.status, SR_UNASSIGNED);
    assert_int_equal(c.findings.n, 1);
    lint_case_has(&c, "preallocated", "severity", "error", "tensors", "b,w", "op", "MUL", "buffer_type", "CPU_REPACK",
                  "accepted_by", "CPU", "supported_by", "none", "message", "reads 'w' in a CPU_REPACK buffer", NULL);
    lint_case_close(&c);
}

static void silent(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, "{'sched_run':1,'backends':[{'name':'A','device':'sim'},{'name':'CPU','device':'cpu'}],"
                     "'buffers':{'kv':{'type':'A'}},'tensors':[{'name':'kc','ne':[64,4],'buffer':'kv'}],"
                     "'nodes':[{'name':'y','op':'SQR','src':['kc']}]}");
    assert_int_equal(c.error.status, SR_OK);
    lint_case_none(&c, "preallocated");
    lint_case_close(&c);
    /* unassigned for no buffer's sake */
    lint_case_single(&c, "{'sched_run':1,'backends':[{'name':'CPU','device':'cpu','ops':{'deny':['SQR']}}],"
                     "'tensors':[{'name':'x','ne':[64,4]}],'nodes':[{'name':'y','op':'SQR','src':['x']}]}");
    assert_int_equal(c.error.status, SR_UNASSIGNED);
    lint_case_none(&c, "preallocated");
    lint_case_close(&c);
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, "{'sched_run':1,'backends':[{'name':'A','device':'sim','ops':{'deny':['SET_ROWS']}},"
                     "{'name':'CPU','device':'cpu'}],'buffers':{'kv':{'type':'A'}},'tensors':[{'name':'kc','ne':[64,4],"
                     "'buffer':'kv'},{'name':'x','ne':[64,1]},{'name':'i','type':'i64','ne':[1],'flags':['input']}],"
                     "'nodes':[{'name':'y','op':'SET_ROWS','src':['x','i','kc']}]}");
    assert_int_equal(c.error.status, SR_PREALLOCATED);
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_preallocated(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(op_refused_where_the_result_is), cmocka_unit_test(leaf_that_nobody_accepts),
        cmocka_unit_test(view_that_is_refused),           cmocka_unit_test(weights_that_the_op_cannot_use),
        cmocka_unit_test(silent),                         cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_preallocated", tests, NULL, NULL);
}
