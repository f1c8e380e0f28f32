/* Tests of the finding `copies`: slots of user inputs and of split inputs, by backend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lint_case.h"

static const char two_gpus[] =
    "{'sched_run':1,'backends':[{'name':'A','device':'sim'},{'name':'B','device':'sim'},{'name':'CPU','device':'cpu'}],"
    "'buffers':{'a_w':{'type':'A','usage':'weights'},'b_w':{'type':'B','usage':'weights'}},"
    "'tensors':[{'name':'x','ne':[64,4],'flags':['input']},{'name':'mask','ne':[64,16],'flags':['input']},"
    "{'name':'wa','ne':[64,64],'buffer':'a_w'},{'name':'wb','ne':[64,64],'buffer':'b_w'}],"
    "'nodes':[{'name':'a','op':'MUL_MAT','src':['wa','x']},{'name':'b','op':'MUL_MAT','src':['wb','a']},"
    "{'name':'m','op':'MUL_MAT','src':['wb','mask']},{'name':'y','op':'MUL_MAT','src':['wb','b']}]}";

static void bytes_by_backend(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(&c, two_gpus);
    c.params.n_copies = 4;
    lint_case_run(&c, 0, false);
    assert_int_equal(lint_case_count(&c, "copies"), 3);
    /* x and mask wait on the CPU, x goes to A, a and mask to B */
    lint_case_has(&c, "copies", "severity", "info", "backend", "CPU", "bytes", "20480", "user_inputs", "2",
                  "split_inputs", "0", "tensors", "x,mask", "saved", "15360", NULL);
    lint_case_has(&c, "copies", "backend", "A", "bytes", "4096", "split_inputs", "1", "tensor", "x", NULL);
    lint_case_has(&c, "copies", "backend", "B", "bytes", "20480", "split_input_bytes", "20480", "n_copies", "4",
                  "message", "the largest is 'mask'", NULL);
    lint_case_close(&c);
}

static void silent_with_one_copy(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, two_gpus);
    lint_case_none(&c, "copies");
    lint_case_close(&c);
}

static void silent_without_bytes(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(
        &c, "{'sched_run':1,'backends':[{'name':'A','device':'sim'},{'name':'CPU','device':'cpu'}],"
            "'buffers':{'a_w':{'type':'A','usage':'weights'}},'tensors':[{'name':'wa','ne':[64,64],'buffer':'a_w'}],"
            "'nodes':[{'name':'y','op':'SQR','src':['wa']}]}");
    c.params.n_copies = 4;
    lint_case_run(&c, 0, false);
    lint_case_none(&c, "copies");
    lint_case_close(&c);
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_open(&c, two_gpus);
    c.params.n_copies = 2;
    lint_case_run(&c, 0, false);
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_copies(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_by_backend),
        cmocka_unit_test(silent_with_one_copy),
        cmocka_unit_test(silent_without_bytes),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_copies", tests, NULL, NULL);
}
