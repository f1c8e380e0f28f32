/* Tests of the finding `offload`: one row for each op with host weights, and the reason that decided. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lint_case.h"

/* Two products with host weights among a GPU's. */
#define CASE(gpu, others, scheduler, buffer, nodes)                                                                  \
    "{'sched_run':1,'backends':[{'name':'GPU0','device':'sim'" gpu "}" others ",{'name':'CPU','device':'cpu',"      \
    "'accepts':['REPACK']}],'buffer_types':{'REPACK':{'host':false}},'scheduler':{" scheduler "},"                  \
    "'buffers':{'gpu_w':{'type':'GPU0','usage':'weights'},'host':{'type':'" buffer "','usage':'weights'}},"         \
    "'tensors':[{'name':'x','ne':[64,8],'flags':['input']},{'name':'ids','type':'i32','ne':[8],'flags':['input']}," \
    "{'name':'w','ne':[64,64],'buffer':'gpu_w'},{'name':'c','ne':[64,64],'buffer':'host'}],'nodes':[" nodes "]}"
#define PRODUCT "{'name':'a','op':'MUL_MAT','src':['c','x']}"

static void expect_row(const char *text, const char *reason, const char *taken, const char *severity) {
    lint_case c;
    lint_case_single(&c, text);
    assert_int_equal(c.error.status, SR_OK);
    assert_int_equal(lint_case_count(&c, "offload"), 1);
    lint_case_has(&c, "offload", "tensors", "a,c", "reason", reason, "taken", taken, "severity", severity, NULL);
    lint_case_close(&c);
}

static void reasons(void **state) {
    (void)state;
    expect_row(CASE(",'offload':{'min_batch':8}", "", "", "CPU", PRODUCT), "offloaded", "true", "info");
    expect_row(CASE(",'offload':{'min_batch':9}", "", "", "CPU", PRODUCT), "batch below the limit", "false", "info");
    expect_row(CASE(",'offload':{'min_batch':8}", "", "", "REPACK", PRODUCT), "buffer not host", "false", "warning");
    expect_row(CASE(",'offload':{'min_batch':9}", "", "", "REPACK", PRODUCT), "buffer not host", "false", "info");
    expect_row(CASE(",'offload':{'min_batch':8}", "", "'op_offload':false", "CPU", PRODUCT), "switched off", "false",
               "info");
    expect_row(CASE(",'offload':{'min_batch':8,'ops':['MUL_MAT_ID']}", "", "", "CPU", PRODUCT), "op excluded", "false",
               "info");
    expect_row(CASE(",'offload':{'min_batch':8},'ops':{'deny':['MUL_MAT']}", "", "", "CPU", PRODUCT),
               "op not supported", "false", "info");
    expect_row(CASE(",'offload':{'min_batch':8}", "", "", "CPU",
                    "{'name':'a','op':'MUL_MAT','src':['c','x'],'backend':'CPU'}"),
               "assigned by the user", "false", "info");
    /* an accelerator above the CPU has the weights */
    expect_row(CASE(",'offload':{'min_batch':8}", ",{'name':'BLAS','device':'sim','type':'accel','buffer_type':'CPU'}",
                    "", "CPU", PRODUCT),
               "weight not on the last backend", "false", "warning");
    /* recorded answers stand for the device's */
    expect_row(CASE("", "", "", "CPU", "{'name':'a','op':'MUL_MAT','src':['c','x'],'offloaded_by':['GPU0']}"),
               "offloaded", "true", "info");
}

static void one_row_an_op(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, CASE(",'offload':{'min_batch':8}", "", "", "CPU",
                              "{'name':'g','op':'GET_ROWS','src':['c','ids']}," PRODUCT ",{'name':'b','op':'MUL_MAT',"
                              "'src':['w','a']},{'name':'d','op':'MUL_MAT','src':['c','b']}"));
    assert_int_equal(lint_case_count(&c, "offload"), 3);
    lint_case_has(&c, "offload", "tensor", "g", "op", "GET_ROWS", "batch", "0", "limit", "8", "taken", "false", NULL);
    lint_case_has(&c, "offload", "tensor", "a", "bytes", "16384", "batch", "8", "backend", "GPU0", NULL);
    lint_case_has(&c, "offload", "tensor", "d", "bytes", "0", "taken", "true", NULL); /* reads the first copy */
    lint_case_close(&c);
}

static void silent_without_offloading(void **state) {
    (void)state;
    static const char *const graphs[] = {
        CASE("", "", "", "CPU", PRODUCT),                                        /* nobody can */
        CASE(",'offload':{'min_batch':8}", "", "", "GPU0", PRODUCT),             /* no host weights */
        CASE(",'offload':{'min_batch':8}", ",{'name':'GPU1','device':'sim'}", "", "GPU1", PRODUCT),
        CASE(",'offload':{'min_batch':8}", "", "", "CPU", "{'name':'a','op':'SQR','src':['x']}"),
    };
    for (int i = 0; i < SR_COUNT(graphs); i++) {
        lint_case c;
        lint_case_single(&c, graphs[i]);
        assert_int_equal(c.error.status, SR_OK);
        lint_case_none(&c, "offload");
        lint_case_close(&c);
    }
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, CASE(",'offload':{'min_batch':8}", "", "", "CPU", PRODUCT));
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_offload(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons),
        cmocka_unit_test(one_row_an_op),
        cmocka_unit_test(silent_without_offloading),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_offload", tests, NULL, NULL);
}
