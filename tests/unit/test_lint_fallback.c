/* Tests of the finding `fallback`: refusals that matter, those that do not, what they cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lint_case.h"

#define GPU_AND_CPU(denied)                                                                                          \
    "{'sched_run':1,'backends':[{'name':'GPU0','device':'sim','ops':{'deny':[" denied "]}},"                         \
    "{'name':'CPU','device':'cpu','ops':{}}],'buffers':{'gpu_w':{'type':'GPU0','usage':'weights'},"                   \
    "'cpu_w':{'type':'CPU','usage':'weights'},'cpu_kv':{'type':'CPU'}},"
#define WEIGHTS "{'name':'x','ne':[64,4],'flags':['input']},{'name':'w0','ne':[64,64],'buffer':'gpu_w'}," \
                "{'name':'w1','ne':[64,64],'buffer':'gpu_w'},{'name':'c0','ne':[64,64],'buffer':'cpu_w'}," \
                "{'name':'c1','ne':[64,64],'buffer':'cpu_w'}"

/* A product on either side of what is refused. */
static const char two_refused[] =
    GPU_AND_CPU("'SOFT_MAX'") "'tensors':[" WEIGHTS "],'nodes':["
    "{'name':'a','op':'MUL_MAT','src':['w0','x']},{'name':'s','op':'SOFT_MAX','src':['a']},"
    "{'name':'b','op':'MUL_MAT','src':['w1','s']},{'name':'t','op':'SOFT_MAX','src':['b']},"
    "{'name':'y','op':'MUL_MAT','src':['w1','t']}]}";

static void costs_of_a_group(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, two_refused);
    assert_int_equal(lint_case_count(&c, "fallback"), 1);
    lint_case_has(&c, "fallback", "severity", "warning", "tensors", "s,t", "op", "SOFT_MAX", "types", "f32", "count",
                  "2", "refused_by", "GPU0", "backend", "CPU", "splits", "4", "bytes", "4096", "message",
                  "it denies SOFT_MAX", NULL);
    lint_case_close(&c);
}

static void groups_by_op_and_types(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, GPU_AND_CPU("'SOFT_MAX','SILU','ADD'") "'tensors':[" WEIGHTS "],'nodes':["
                     "{'name':'a','op':'MUL_MAT','src':['w0','x']},{'name':'s','op':'SILU','src':['a']},"
                     "{'name':'b','op':'MUL_MAT','src':['w1','s']},{'name':'h','op':'SOFT_MAX','src':['b']},"
                     "{'name':'d','op':'MUL_MAT','src':['w1','h']},{'name':'e','op':'ADD',"
                     "'src':['d','d']},{'name':'y','op':'MUL_MAT','src':['w1','e']},"
                     "{'name':'s2','op':'SILU','src':['y']},{'name':'z','op':'MUL_MAT','src':['w1','s2']}]}");
    assert_int_equal(lint_case_count(&c, "fallback"), 3);
    lint_case_has(&c, "fallback", "op", "SILU", "tensors", "s,s2", "count", "2", NULL);
    lint_case_has(&c, "fallback", "op", "SOFT_MAX", "count", "1", "splits", "2", NULL);
    lint_case_has(&c, "fallback", "op", "ADD", "types", "f32, f32", NULL);
    lint_case_close(&c);
}

/* Nothing was refused that a GPU would have got. */
static void silent_where_refusals_do_not_matter(void **state) {
    (void)state;
    static const char *const graphs[] = {
        /* not refused at all */
        GPU_AND_CPU("'TANH'") "'tensors':[" WEIGHTS "],'nodes':[{'name':'a','op':'MUL_MAT','src':['w0','x']},"
        "{'name':'s','op':'SOFT_MAX','src':['a']},{'name':'y','op':'MUL_MAT','src':['w1','s']}]}",
        /* between two nodes of the CPU */
        GPU_AND_CPU("'SOFT_MAX'") "'tensors':[" WEIGHTS "],'nodes':[{'name':'a','op':'MUL_MAT','src':['c0','x']},"
        "{'name':'s','op':'SOFT_MAX','src':['a']},{'name':'b','op':'MUL_MAT','src':['c1','s']},"
        "{'name':'y','op':'MUL_MAT','src':['w1','b']}]}",
        /* its weights are there */
        GPU_AND_CPU("'MUL_MAT:f32'") "'tensors':[" WEIGHTS "],'nodes':[{'name':'a','op':'MUL_MAT','src':['c0','x']}]}",
        /* its state is there, whatever its neighbours */
        GPU_AND_CPU("'CONCAT'") "'tensors':[" WEIGHTS ",{'name':'kv','ne':[64,4],'buffer':'cpu_kv'}],'nodes':["
        "{'name':'a','op':'MUL_MAT','src':['w0','x']},{'name':'s','op':'CONCAT','src':['a','kv'],'params':{'dim':1}},"
        "{'name':'y','op':'MUL_MAT','src':['w1','s']}]}",
        /* assigned by hand */
        GPU_AND_CPU("'SOFT_MAX'") "'tensors':[" WEIGHTS "],'nodes':[{'name':'a','op':'MUL_MAT','src':['w0','x']},"
        "{'name':'s','op':'SOFT_MAX','src':['a'],'backend':'CPU'},{'name':'y','op':'MUL_MAT','src':['w1','s']}]}",
        /* a view */
        GPU_AND_CPU("'RESHAPE'") "'tensors':[" WEIGHTS "],'nodes':[{'name':'a','op':'MUL_MAT','src':['w0','x']},"
        "{'name':'r','op':'RESHAPE','src':['a'],'ne':[32,8]},{'name':'y','op':'SILU','src':['r']}]}",
        /* the GPU could read less of it than the CPU: it would not have got it */
        GPU_AND_CPU("'SOFT_MAX'") "'tensors':[" WEIGHTS "],'nodes':[{'name':'s','op':'SOFT_MAX','src':['x']}]}",
    };
    for (int i = 0; i < SR_COUNT(graphs); i++) {
        lint_case c;
        lint_case_single(&c, graphs[i]);
        assert_int_equal(c.error.status, SR_OK);
        lint_case_none(&c, "fallback");
        lint_case_close(&c);
    }
}

#define THREE(first, second, denied)                                                                                  \
    "{'sched_run':1,'backends':[{'name':'A','device':'sim','type':'" first "','ops':{'deny':[" denied "]}},"          \
    "{'name':'B','device':'sim','type':'" second "'},{'name':'CPU','device':'cpu'}],"                                 \
    "'buffers':{'a':{'type':'A','usage':'weights'},'b':{'type':'B','usage':'weights'}},"                              \
    "'tensors':[{'name':'x','ne':[64,4],'flags':['input']},{'name':'w0','ne':[64,64],'buffer':'a'},"                  \
    "{'name':'w1','ne':[64,64],'buffer':'b'}],'nodes':[{'name':'a','op':'MUL_MAT','src':['w0','x']},"                 \
    "{'name':'s','op':'SOFT_MAX','src':['a']},{'name':'y','op':'MUL_MAT','src':['w1','s']}]}"

static void second_gpu_counts(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, THREE("gpu", "gpu", "'SOFT_MAX'"));
    lint_case_has(&c, "fallback", "tensor", "s", "refused_by", "A", "backend", "B", NULL);
    lint_case_close(&c);
    lint_case_single(&c, THREE("igpu", "gpu", "'SOFT_MAX'"));
    assert_int_equal(lint_case_count(&c, "fallback"), 1);
    lint_case_close(&c);
    lint_case_single(&c, THREE("gpu", "gpu", ""));
    lint_case_none(&c, "fallback");
    lint_case_close(&c);
}

static void accelerators_may_refuse(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, THREE("accel", "gpu", "'SOFT_MAX'"));
    lint_case_none(&c, "fallback");
    lint_case_close(&c);
}

/* Weights on a GPU that refuses the op: pass 1 finds nobody, the node goes elsewhere. */
static void weights_on_the_gpu_that_refuses(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, GPU_AND_CPU("{'op':'GET_ROWS','src0.type':'q5_K'}") "'tensors':["
                     "{'name':'ids','type':'i32','ne':[4],'flags':['input']},"
                     "{'name':'ple','type':'q5_K','ne':[256,32],'buffer':'gpu_w'}],"
                     "'nodes':[{'name':'p','op':'GET_ROWS','src':['ple','ids']}]}");
    lint_case_has(&c, "fallback", "tensor", "p", "types", "q5_K, i32", "refused_by", "GPU0", NULL);
    lint_case_close(&c);
}

/* What was decided before a failure counts. */
static void failed_runs(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(
        &c, "{'sched_run':1,'backends':[{'name':'GPU0','device':'sim','ops':{'deny':['SOFT_MAX','SILU']}},"
            "{'name':'CPU','device':'cpu','ops':{'deny':['SILU']}}],'buffers':{'gpu_w':{'type':'GPU0','usage':"
            "'weights'}},'tensors':[{'name':'x','ne':[64,4],'flags':['input']},"
            "{'name':'w0','ne':[64,64],'buffer':'gpu_w'}],'nodes':[{'name':'a','op':'MUL_MAT','src':['w0','x']},"
            "{'name':'s','op':'SOFT_MAX','src':['a']},{'name':'b','op':'MUL_MAT','src':['w0','s']},"
            "{'name':'y','op':'SILU','src':['b']}]}");
    assert_int_equal(c.error.status, SR_UNASSIGNED);
    assert_int_equal(lint_case_count(&c, "fallback"), 1);
    lint_case_has(&c, "fallback", "tensor", "s", "splits", "2", "bytes", "0", NULL);
    lint_case_close(&c);
}

static void out_of_memory(void **state) {
    (void)state;
    lint_case c;
    lint_case_single(&c, two_refused);
    const sr_lint_input input = lint_case_input(&c);
    sr_status status = SR_MEMORY;
    for (long n = 1; status != SR_OK; n++) {
        sr_findings findings = {0};
        sr__fail_allocations(n, false);
        status = sr__lint_fallback(&input, &findings, NULL);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_findings_clear(&findings);
    }
    lint_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_of_a_group),
        cmocka_unit_test(groups_by_op_and_types),
        cmocka_unit_test(silent_where_refusals_do_not_matter),
        cmocka_unit_test(second_gpu_counts),
        cmocka_unit_test(accelerators_may_refuse),
        cmocka_unit_test(weights_on_the_gpu_that_refuses),
        cmocka_unit_test(failed_runs),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("lint_fallback", tests, NULL, NULL);
}
