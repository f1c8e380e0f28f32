/* Tests of the finding `weight-copy`: which weights are copied, why, and how much of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lint_case.h"

#define GPU_AND_CPU(gpu)                                                                                             \
    "{'sched_run':1,'backends':[{'name':'GPU0','device':'sim'" gpu "},{'name':'CPU','device':'cpu'}],"               \
    "'buffers':{'gpu_w':{'type':'GPU0','usage':'weights'},'cpu_w':{'type':'CPU','usage':'weights'},"                 \
    "'cpu_any':{'type':'CPU'}},'tensors':[{'name':'x','ne':[64,4],'flags':['input']},"                               \
    "{'name':'w','ne':[64,64],'buffer':'gpu_w'},{'name':'c','ne':[64,64],'buffer':'cpu_w'},"                         \
    "{'name':'k','ne':[64,64],'buffer':'cpu_any'}],'nodes':["

static uint64_t copied_weights(const lint_case *c) {
    uint64_t bytes = 0;
    for (int i = 0; i < c->findings.n; i++) {
        bytes += strcmp(c->findings.items[i].kind, "weight-copy") == 0 ? c->findings.items[i].bytes : 0;
    }
    return bytes;
}

static void refused_where_they_are(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, GPU_AND_CPU(",'ops':{'deny':['SCALE','MUL']}")
                     "{'name':'a','op':'MUL','src':['w','w']}]}");
    assert_int_equal(lint_case_count(&c, "weight-copy"), 1);
    lint_case_has(&c, "weight-copy", "severity", "warning", "tensors", "w", "bytes", "16384", "node", "a", "op", "MUL",
                  "from", "GPU0", "to", "CPU", "message", "it denies MUL", NULL);
    lint_case_close(&c);
}

static void offloaded(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, GPU_AND_CPU(",'offload':{'min_batch':4}") "{'name':'a','op':'MUL_MAT','src':['c','x']}]}");
    lint_case_has(&c, "weight-copy", "severity", "info", "tensor", "c", "cause", "1.off", "bytes", "16384", "from",
                  "CPU", "to", "GPU0", NULL);
    lint_case_close(&c);
}

/* A second offloaded weight starts a split of its own. */
static void starts_splits(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, GPU_AND_CPU(",'offload':{'min_batch':4}") "{'name':'a','op':'MUL_MAT','src':['c','x']},"
                     "{'name':'b','op':'MUL_MAT','src':['c','a']},{'name':'d','op':'MUL_MAT','src':['c','b']}]}");
    assert_int_equal(copied_weights(&c), 16384); /* one copy for all three */
    lint_case_close(&c);
    lint_case_single(&c, GPU_AND_CPU(",'offload':{'min_batch':4}") "{'name':'n','op':'SQR','src':['x']},"
                     "{'name':'b','op':'MUL_MAT','src':['w','n']},{'name':'a','op':'MUL_MAT','src':['c','b']}]}");
    lint_case_has(&c, "weight-copy", "tensor", "c", "splits", "1", NULL);
    lint_case_close(&c);
}

/* A view has no buffer of its own, so that the weights behind it are not seen. */
static void views(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, GPU_AND_CPU("") "{'name':'n','op':'SQR','src':['x']},"
                     "{'name':'r','op':'RESHAPE','src':['c'],'ne':[64,64]},{'name':'a','op':'MUL_MAT','src':['r','n']},"
                     "{'name':'b','op':'MUL_MAT','src':['w','a']}]}");
    lint_case_has(&c, "weight-copy", "severity", "warning", "tensors", "r,c", "bytes", "16384", "node", "a", "message",
                  "the view 'r' of the weights 'c'", NULL);
    assert_string_equal(c.findings.items[0].tensors[0], "r");
    lint_case_close(&c);
}

static void other_reasons(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, GPU_AND_CPU("") "{'name':'a','op':'MUL_MAT','src':['c','x'],'backend':'GPU0'}]}");
    lint_case_has(&c, "weight-copy", "tensor", "c", "message", "assigned to GPU0 by hand", NULL);
    lint_case_close(&c);
    lint_case_single(&c, GPU_AND_CPU("") "{'name':'a','op':'MUL_MAT','src':['w','c']}]}");
    lint_case_has(&c, "weight-copy", "tensor", "c", "message", "because of its other weights 'w'", NULL);
    lint_case_close(&c);
}

static void silent_without_copies(void **state) {
    (void)state;
    static const char *const graphs[] = {
        GPU_AND_CPU("") "{'name':'a','op':'MUL_MAT','src':['c','x']},{'name':'b','op':'MUL_MAT','src':['w','a']}]}",
        /* memory that is no weights */
        GPU_AND_CPU("") "{'name':'a','op':'MUL_MAT','src':['w','x']},{'name':'b','op':'MUL_MAT','src':['k','a']},"
        "{'name':'d','op':'MUL_MAT','src':['w','b']}]}",
        /* below the batch */
        GPU_AND_CPU(",'offload':{'min_batch':5}") "{'name':'a','op':'MUL_MAT','src':['c','x']}]}",
    };
    for (int i = 0; i < SR_COUNT(graphs); i++) {
        lint_case c;
        lint_case_single(&c, graphs[i]);
        assert_int_equal(c.error.status, SR_OK);
        lint_case_none(&c, "weight-copy");
        lint_case_close(&c);
    }
}

#define EXPERTS(first, router)                                                                                       \
    "{'sched_run':1,'backends':[{'name':'GPU0','device':'sim','offload':{'min_batch':4}},{'name':'CPU',"              \
    "'device':'cpu'}],"                                                                                               \
    "'buffers':{'gpu_w':{'type':'GPU0','usage':'weights'},'cpu_w':{'type':'CPU','usage':'weights'}},"               \
    "'tensors':[{'name':'x','ne':[64,1,4],'flags':['input']},{'name':'w','ne':[64,64],'buffer':'gpu_w'},"           \
    "{'name':'up','ne':[64,32,8],'buffer':'cpu_w'},{'name':'ids','type':'i32','ne':[1,4],'flags':['input'],"        \
    "'data':[5,5,1,5]}],'nodes':[" first "{'name':'u','op':'MUL_MAT_ID','src':['up','x','" router "']}]}"

static void used_experts(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, EXPERTS("", "ids"));
    lint_case_has(&c, "weight-copy", "tensor", "up", "experts", "used", "bytes", "65536", "ids", "ids", "ids_read_on",
                  "CPU", "message", "at most", NULL);
    sr_findings_clear(&c.findings);
    assert_int_equal(lint_case_run(&c, 0, true), SR_OK);
    /* experts 1 and 5, each with a little of the next */
    lint_case_has(&c, "weight-copy", "tensor", "up", "experts", "used", "bytes", "17408", "full_bytes", "65536",
                  "message", "only the used experts", NULL);
    lint_case_close(&c);
}

static void all_experts(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, EXPERTS("{'name':'a','op':'SQR','src':['w']},", "ids"));
    lint_case_has(&c, "weight-copy", "tensor", "up", "experts", "all", "message", "does not begin its split", NULL);
    lint_case_close(&c);
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, EXPERTS("", "ids"));
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_weight_copy(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_where_they_are), cmocka_unit_test(offloaded),
        cmocka_unit_test(starts_splits),          cmocka_unit_test(views),
        cmocka_unit_test(other_reasons),          cmocka_unit_test(silent_without_copies),
        cmocka_unit_test(used_experts),           cmocka_unit_test(all_experts),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_weight_copy", tests, NULL, NULL);
}
