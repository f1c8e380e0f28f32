/* Tests of explanations: every cause, every reason why not, failures, hints; and every allocation failing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/insight_case.h"

#define HEAD(backends) "{\"sched_run\":1,\"backends\":[" backends "],"
#define GPU(name, more) "{\"name\":\"" name "\",\"device\":\"sim\"" more "},"
#define CPU "{\"name\":\"CPU\",\"device\":\"cpu\"}"
#define BUFFERS "\"buffers\":{\"gpu_w\":{\"type\":\"GPU0\",\"usage\":\"weights\"}," \
                "\"cpu_w\":{\"type\":\"CPU\",\"usage\":\"weights\"},\"kv\":{\"type\":\"GPU0\"}},"
#define TENSORS \
    "\"tensors\":[{\"name\":\"x\",\"ne\":[64,4],\"flags\":[\"input\"]}," \
    "{\"name\":\"w0\",\"ne\":[64,64],\"buffer\":\"gpu_w\"}," \
    "{\"name\":\"w1\",\"ne\":[64,64],\"buffer\":\"cpu_w\"},{\"name\":\"k\",\"ne\":[64,4],\"buffer\":\"kv\"}],"

static insight_case c;
static sr_explainer *explainer;
static sr_explanation x;

static void open_case(const char *text) {
    insight_open(&c, text);
    insight_run(&c, 0);
    assert_int_equal(sr_explainer_new(c.layout, &explainer, &c.err), SR_OK);
}

static void close_case(void) {
    sr_explanation_clear(&x);
    sr_explainer_free(explainer);
    insight_close(&c);
    explainer = NULL;
}

static void explain(const char *id) {
    sr_explanation_clear(&x);
    assert_int_equal(sr_explain(explainer, insight_tensor(&c, id), &x, &c.err), SR_OK);
}

/* The step of a pass has that outcome and says that. */
static void expect_step(int pass, sr_step_kind kind, const char *part) {
    if (x.steps[pass].kind != kind) {
        fail_msg("%s: %s: %s", sr_pass_name(pass), sr_step_kind_name(x.steps[pass].kind), x.steps[pass].text);
    }
    insight_expect(x.steps[pass].text, part);
}

static void expect_why(const char *backend, sr_why_kind kind, const char *part) {
    for (int i = 0; i < x.n_why_not; i++) {
        if (x.why_not[i].kind == kind && strcmp(c.layout->backends[x.why_not[i].backend]->name, backend) == 0) {
            insight_expect(x.why_not[i].text, part);
            return;
        }
    }
    for (int i = 0; i < x.n_why_not; i++) {
        print_message("%s: %s: %s\n", c.layout->backends[x.why_not[i].backend]->name,
                      sr_why_kind_name(x.why_not[i].kind), x.why_not[i].text);
    }
    fail_msg("no reason '%s' for %s", sr_why_kind_name(kind), backend);
}

static void expect_hint(const char *part) {
    for (int i = 0; i < x.n_hints; i++) {
        if (strstr(x.hints[i], part) != NULL) {
            return;
        }
    }
    for (int i = 0; i < x.n_hints; i++) {
        print_message("%s\n", x.hints[i]);
    }
    fail_msg("no hint has '%s'", part);
}

/* ---- pass 1 ---------------------------------------------------------------------------------------------------- */

static void weights_and_memory(void **state) {
    (void)state;
    open_case(HEAD(GPU("GPU0", "") CPU) BUFFERS TENSORS
              "\"nodes\":[{\"name\":\"a\",\"op\":\"MUL_MAT\",\"src\":[\"w1\",\"x\"]},"
              "{\"name\":\"s\",\"op\":\"CPY\",\"src\":[\"a\",\"k\"]},"
              "{\"name\":\"b\",\"op\":\"MUL_MAT\",\"src\":[\"w0\",\"a\"]}]}");
    explain("a");
    assert_string_equal(sr_cause_name(x.cause), "1.wgt0");
    expect_step(SR_PASS_1, SR_STEP_SET, "weights w1 (source 0) are in buffer type CPU: CPU is the first backend");
    expect_why("GPU0", SR_WHY_BUFFER, "does not accept CPU, in which the weights w1");
    expect_hint("-P '^w1$=GPU0' puts the weights (16 KiB) where GPU0 runs");
    explain("s");
    expect_step(SR_PASS_1, SR_STEP_SET, "views k, which lies in buffer kv (GPU0): GPU0 is the first backend");
    expect_why("CPU", SR_WHY_BUFFER, "does not accept buffer type GPU0, in which what it views, k lies");
    explain("x");
    expect_step(SR_PASS_1, SR_STEP_SET, "a user input without memory of its own");
    expect_step(SR_PASS_3, SR_STEP_PASSED, "leafs are passed over");
    expect_why("GPU0", SR_WHY_INPUT, "go to the last backend");
    explain("b");
    expect_hint("nothing is wrong");
    assert_int_equal(x.split, 1);
    close_case();
}

static void what_looks_like_weights(void **state) {
    (void)state;
    open_case(HEAD(GPU("GPU0", "") CPU) BUFFERS TENSORS
              "\"nodes\":[{\"name\":\"v\",\"op\":\"RESHAPE\",\"src\":[\"w1\"],\"ne\":[64,64]},"
              "{\"name\":\"a\",\"op\":\"MUL_MAT\",\"src\":[\"v\",\"k\"]},"
              "{\"name\":\"b\",\"op\":\"MUL_MAT\",\"src\":[\"w0\",\"a\"]}]}");
    explain("a");
    expect_step(SR_PASS_1, SR_STEP_LEFT, "source 0, v, is a view of the weights w1 in CPU, and views do not count");
    insight_expect(x.steps[SR_PASS_1].text, "source 1, k, lies in kv (GPU0), whose usage is 'any', not 'weights'");
    expect_step(SR_PASS_2_GPU_DOWN, SR_STEP_LEFT, "no assigned node above it");
    expect_step(SR_PASS_2_GPU_UP, SR_STEP_SET, "GPU0 comes from node 2 b and supports MUL_MAT");
    expect_step(SR_PASS_2_REST_UP, SR_STEP_KEPT, "on GPU0 already");
    expect_why("CPU", SR_WHY_NEIGHBOUR, "the last backend spreads in the last two sweeps only");
    expect_hint("-A 'a=CPU' assigns it by hand");
    explain("v");
    expect_step(SR_PASS_1, SR_STEP_SET, "views w1");
    close_case();
}

/* ---- offload --------------------------------------------------------------------------------------------------- */

#define PRODUCT "\"nodes\":[{\"name\":\"a\",\"op\":\"MUL_MAT\",\"src\":[\"w1\",\"x\"]}]"

static void offloading(void **state) {
    (void)state;
    open_case(HEAD(GPU("GPU0", ",\"offload\":{\"min_batch\":2}") CPU) BUFFERS TENSORS PRODUCT "}");
    explain("a");
    assert_int_equal(x.cause, SR_CAUSE_OFFLOAD);
    expect_step(SR_PASS_1, SR_STEP_SET, "but GPU0 asks to run the op (batch 4)");
    expect_why("CPU", SR_WHY_OFFLOADED, "the weights w1 are in CPU, but GPU0 asks to run the op first");
    expect_hint("--no-op-offload");
    expect_hint("-P '^w1$=GPU0' keeps the weights there");
    close_case();
    open_case(HEAD(GPU("GPU0", ",\"offload\":{\"min_batch\":32}") CPU) BUFFERS TENSORS PRODUCT "}");
    explain("a");
    expect_why("GPU0", SR_WHY_OFFLOAD, "its batch is 4, GPU0 asks from 32 on");
    expect_hint("the batch is 4: from 32 on GPU0 asks");
    close_case();
    open_case(HEAD(GPU("GPU0", ",\"offload\":{\"min_batch\":2,\"ops\":[\"ADD\"]}") CPU) BUFFERS TENSORS PRODUCT "}");
    explain("a");
    expect_why("GPU0", SR_WHY_OFFLOAD, "MUL_MAT is not among the ops that it offloads");
    close_case();
    open_case(HEAD(GPU("GPU0", ",\"offload\":{\"min_batch\":2}") CPU) BUFFERS TENSORS PRODUCT
              ",\"scheduler\":{\"op_offload\":false}}");
    explain("a");
    expect_why("GPU0", SR_WHY_OFFLOAD, "op offload is switched off");
    expect_hint("without --no-op-offload");
    close_case();
}

static void offloading_from_other_memory(void **state) {
    (void)state;
    const char *const tail = "\"tensors\":[{\"name\":\"x\",\"ne\":[64,4],\"flags\":[\"input\"]},"
                             "{\"name\":\"w\",\"ne\":[64,64],\"buffer\":\"special\"}],"
                             "\"nodes\":[{\"name\":\"a\",\"op\":\"MUL_MAT\",\"src\":[\"w\",\"x\"]}]}";
    char text[2048];
    snprintf(text, sizeof(text), "%s%s",
             HEAD(GPU("GPU0", ",\"offload\":{\"min_batch\":2}")
                  "{\"name\":\"CPU\",\"device\":\"cpu\",\"accepts\":[\"CPU_REPACK\"]}")
             "\"buffer_types\":{\"CPU_REPACK\":{}},"
             "\"buffers\":{\"special\":{\"type\":\"CPU_REPACK\",\"usage\":\"weights\"}},", tail);
    open_case(text);
    explain("a");
    expect_why("GPU0", SR_WHY_OFFLOAD, "w is in CPU_REPACK, which is no host memory");
    expect_hint("in plain host memory, such as -P '^w$=CPU'");
    close_case();
    snprintf(text, sizeof(text), "%s%s",
             HEAD(GPU("GPU0", ",\"offload\":{\"min_batch\":2}") GPU("GPU1", "") CPU)
             "\"buffers\":{\"special\":{\"type\":\"GPU1\",\"usage\":\"weights\"}},", tail);
    open_case(text);
    explain("a");
    expect_why("GPU0", SR_WHY_OFFLOAD, "w is in GPU1, whose backend is GPU1, not the last one");
    expect_why("CPU", SR_WHY_BUFFER, "does not accept GPU1");
    close_case();
}

/* ---- passes 2 to 4 --------------------------------------------------------------------------------------------- */

static void refused_by_a_rule(void **state) {
    (void)state;
    open_case(HEAD(GPU("GPU0", ",\"ops\":{\"deny\":[{\"op\":\"SOFT_MAX\",\"ne0\":{\"gt\":32}}]}") CPU) BUFFERS TENSORS
              "\"nodes\":[{\"name\":\"a\",\"op\":\"MUL_MAT\",\"src\":[\"w0\",\"x\"]},"
              "{\"name\":\"p\",\"op\":\"SOFT_MAX\",\"src\":[\"a\"]},"
              "{\"name\":\"b\",\"op\":\"MUL_MAT\",\"src\":[\"w0\",\"p\"]}]}");
    explain("p");
    expect_step(SR_PASS_2_GPU_DOWN, SR_STEP_LEFT, "GPU0 comes from node 0 a, but GPU0 refuses SOFT_MAX (rule: ");
    expect_step(SR_PASS_3, SR_STEP_SET, "CPU can read 0 of its 1 source where it is");
    expect_why("GPU0", SR_WHY_REFUSES, "GPU0 refuses SOFT_MAX (rule: ");
    expect_hint("try other types or shapes of its sources (a f32[64,4])");
    close_case();
}

static void the_cpu_stops_others(void **state) {
    (void)state;
    open_case(HEAD(GPU("GPU0", "") CPU) BUFFERS TENSORS
              "\"nodes\":[{\"name\":\"a\",\"op\":\"MUL_MAT\",\"src\":[\"w0\",\"x\"]},"
              "{\"name\":\"b\",\"op\":\"MUL_MAT\",\"src\":[\"w1\",\"a\"]},"
              "{\"name\":\"y\",\"op\":\"ADD\",\"src\":[\"b\",\"x\"]}]}");
    explain("y");
    expect_step(SR_PASS_2_GPU_DOWN, SR_STEP_LEFT, "node 1 b on CPU is met last above it, and the last backend stops");
    expect_step(SR_PASS_2_GPU_UP, SR_STEP_LEFT, "no assigned node below it");
    expect_step(SR_PASS_2_REST_DOWN, SR_STEP_SET, "CPU comes from node 1 b and supports ADD");
    expect_why("GPU0", SR_WHY_NEIGHBOUR, "above it stood node 1 b on CPU, nothing below it was assigned");
    expect_hint("-e 'b' tells why b is on CPU");
    expect_hint("-A 'y=GPU0'");
    explain("b");
    expect_step(SR_PASS_2_GPU_DOWN, SR_STEP_KEPT, "which stops others here");
    expect_step(SR_PASS_2_REST_DOWN, SR_STEP_KEPT, "which now spreads too");
    close_case();
}

static void user_assignments(void **state) {
    (void)state;
    open_case(HEAD(GPU("GPU0", ",\"ops\":{\"deny\":[\"SQR\"]}") CPU) BUFFERS TENSORS
              "\"nodes\":[{\"name\":\"a\",\"op\":\"MUL_MAT\",\"src\":[\"w0\",\"x\"]},"
              "{\"name\":\"b\",\"op\":\"SQR\",\"src\":[\"a\"],\"backend\":\"GPU0\"}]}");
    explain("b");
    expect_step(SR_PASS_USER, SR_STEP_SET, "assigned to GPU0 by hand");
    expect_step(SR_PASS_1, SR_STEP_KEPT, "assigned by hand");
    expect_why("CPU", SR_WHY_USER, "a user assignment put it on GPU0");
    expect_hint("GPU0 does not support the op: executing it there fails");
    close_case();
}

static void upgrades_views_and_sources(void **state) {
    (void)state;
    open_case(HEAD("{\"name\":\"BLAS\",\"device\":\"sim\",\"type\":\"accel\",\"buffer_type\":\"CPU\","
                   "\"ops\":{\"allow\":[\"MUL_MAT\"]}}," CPU)
              "\"tensors\":[{\"name\":\"x\",\"ne\":[64,4],\"flags\":[\"input\"]},{\"name\":\"m\",\"ne\":[64,64]}],"
              "\"nodes\":[{\"name\":\"a\",\"op\":\"SQR\",\"src\":[\"x\"],\"backend\":\"CPU\"},"
              "{\"name\":\"b\",\"op\":\"MUL_MAT\",\"src\":[\"m\",\"a\"]},"
              "{\"name\":\"v\",\"op\":\"RESHAPE\",\"src\":[\"b\"],\"ne\":[256]},"
              "{\"name\":\"y\",\"op\":\"SQR\",\"src\":[\"v\"]}]}");
    explain("a");
    expect_step(SR_PASS_3, SR_STEP_KEPT, "BLAS has the same buffer type, but BLAS refuses SQR (not in its allow list)");
    explain("v");
    expect_step(SR_PASS_1, SR_STEP_LEFT, "no memory of its own");
    expect_step(SR_PASS_2_GPU_DOWN, SR_STEP_PASSED, "views are passed over");
    expect_step(SR_PASS_4, SR_STEP_SET, "views b, which is on ");
    expect_hint("it goes where b goes: -e 'b'");
    explain("m");
    expect_step(SR_PASS_1, SR_STEP_LEFT, "it will follow the first node that reads it");
    expect_step(SR_PASS_4, SR_STEP_SET, "read first by node 1 b, which is on ");
    expect_hint("it goes where its first user goes: -e 'b'");
    close_case();
}

static void pipeline_copies(void **state) {
    (void)state;
    open_case(HEAD(GPU("GPU0", "") CPU) BUFFERS TENSORS "\"scheduler\":{\"copies\":3},"
              "\"nodes\":[{\"name\":\"a\",\"op\":\"MUL_MAT\",\"src\":[\"w0\",\"x\"]}]}");
    explain("x");
    assert_int_equal(x.cause, SR_CAUSE_COPY);
    expect_step(SR_PASS_4, SR_STEP_KEPT, "as a user input it then gets 3 pipeline copies (4.cpy)");
    close_case();
}

/* ---- failures -------------------------------------------------------------------------------------------------- */

static void nobody_takes_the_memory(void **state) {
    (void)state;
    open_case(HEAD(GPU("GPU0", ",\"ops\":{\"deny\":[\"CPY\"]}") CPU) BUFFERS TENSORS
              "\"nodes\":[{\"name\":\"a\",\"op\":\"SQR\",\"src\":[\"x\"]},"
              "{\"name\":\"s\",\"op\":\"CPY\",\"src\":[\"a\",\"k\"]},"
              "{\"name\":\"z\",\"op\":\"SQR\",\"src\":[\"a\"]}]}");
    assert_int_equal(c.error.status, SR_PREALLOCATED);
    assert_int_equal(sr_explainer_last_pass(explainer), SR_PASS_1);
    explain("s");
    assert_int_equal(x.backend, -1);
    expect_step(SR_PASS_1, SR_STEP_LEFT, "no backend takes both that buffer type and CPY: GPU0 refuses CPY");
    insight_expect(x.steps[SR_PASS_1].text, "CPU does not accept GPU0; the schedule fails here");
    expect_step(SR_PASS_3, SR_STEP_NOT_REACHED, "the schedule failed before");
    expect_hint("-P '^k$=CPU' puts k where CPU, which supports CPY, can write");
    explain("z");
    expect_step(SR_PASS_1, SR_STEP_NOT_REACHED, "not reached");
    expect_why("GPU0", SR_WHY_FAILED, "failed before");
    expect_hint("the schedule failed at s: -e 's' tells why");
    explain("a");
    expect_step(SR_PASS_1, SR_STEP_LEFT, "none of its sources is a weight");
    close_case();
}

static void nobody_takes_a_leaf(void **state) {
    (void)state;
    open_case(HEAD(GPU("GPU0", "") CPU) "\"buffer_types\":{\"ROCm0\":{}},"
              "\"buffers\":{\"kv\":{\"type\":\"ROCm0\"}},\"tensors\":[{\"name\":\"kc\",\"ne\":[64],\"buffer\":\"kv\"}],"
              "\"nodes\":[{\"name\":\"a\",\"op\":\"CONT\",\"src\":[\"kc\"]}]}");
    assert_int_equal(c.error.status, SR_PREALLOCATED);
    explain("kc");
    expect_step(SR_PASS_1, SR_STEP_LEFT, "lies in buffer kv (ROCm0), but no backend takes both");
    expect_hint("no backend of this scheduler accepts buffer type ROCm0");
    close_case();
}

static void nobody_takes_the_op(void **state) {
    (void)state;
    open_case(HEAD(GPU("GPU0", ",\"ops\":{\"deny\":[\"MUL\"]}")
                   "{\"name\":\"CPU\",\"device\":\"cpu\",\"accepts\":[\"CPU_REPACK\"],\"ops\":{\"deny\":[\"MUL\"]}}")
              "\"buffer_types\":{\"CPU_REPACK\":{}},"
              "\"buffers\":{\"re\":{\"type\":\"CPU_REPACK\",\"usage\":\"weights\"}},"
              "\"tensors\":[{\"name\":\"x\",\"ne\":[64],\"flags\":[\"input\"]},"
              "{\"name\":\"w\",\"ne\":[64],\"buffer\":\"re\"}],"
              "\"nodes\":[{\"name\":\"a\",\"op\":\"RMS_NORM\",\"src\":[\"x\"],\"params\":{\"eps\":1e-5}},"
              "{\"name\":\"b\",\"op\":\"MUL\",\"src\":[\"a\",\"w\"]}]}");
    assert_int_equal(c.error.status, SR_UNASSIGNED);
    explain("b");
    expect_step(SR_PASS_1, SR_STEP_NOTED, "but no backend both accepts it and supports MUL: GPU0 refuses MUL");
    expect_step(SR_PASS_3, SR_STEP_LEFT, "no backend supports it");
    expect_step(SR_PASS_4, SR_STEP_LEFT, "the schedule fails here");
    expect_why("CPU", SR_WHY_REFUSES, "CPU refuses MUL");
    expect_hint("let a backend support MUL");
    expect_hint("its weights w are in CPU_REPACK");
    close_case();
}

static void nothing_to_explain(void **state) {
    (void)state;
    insight_open(&c, HEAD(GPU("GPU0", "") CPU) BUFFERS TENSORS PRODUCT "}");
    c.params.record_decisions = false;
    assert_int_equal(insight_run(&c, 0), SR_OK);
    assert_int_equal(sr_explainer_new(c.layout, &explainer, &c.err), SR_UNAVAILABLE);
    assert_int_equal(sr_explainer_new(NULL, &explainer, &c.err), SR_UNAVAILABLE);
    close_case();
    insight_open(&c, HEAD(GPU("GPU0", "") CPU) BUFFERS TENSORS PRODUCT ",\"scheduler\":{\"graph_size\":1}}");
    assert_int_equal(insight_run(&c, 0), SR_GRAPH_SIZE);
    assert_int_equal(sr_explainer_new(c.layout, &explainer, &c.err), SR_UNAVAILABLE);
    close_case();
    open_case(HEAD(GPU("GPU0", "") CPU) BUFFERS TENSORS PRODUCT "}");
    assert_int_equal(sr_explain(explainer, 99, &x, &c.err), SR_INVALID);
    assert_string_equal(sr_step_kind_name(99), "");
    assert_string_equal(sr_why_kind_name(-1), "");
    assert_string_equal(sr_pass_text(99), "");
    close_case();
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static sr_status explain_all(void) {
    sr_status status = sr_explainer_new(c.layout, &explainer, &c.err);
    for (int32_t i = 0; status == SR_OK && i < c.run->graph->n_tensors; i++) {
        sr_explanation_clear(&x);
        status = sr_explain(explainer, i, &x, &c.err);
    }
    sr_explanation_clear(&x);
    sr_explainer_free(explainer);
    explainer = NULL;
    return status;
}

static void every_allocation_fails(void **state) {
    (void)state;
    insight_open(&c, HEAD(GPU("GPU0", ",\"ops\":{\"deny\":[\"SOFT_MAX\"]}") CPU) BUFFERS TENSORS
                 "\"nodes\":[{\"name\":\"a\",\"op\":\"MUL_MAT\",\"src\":[\"w0\",\"x\"]},"
                 "{\"name\":\"p\",\"op\":\"SOFT_MAX\",\"src\":[\"a\"]},"
                 "{\"name\":\"b\",\"op\":\"MUL_MAT\",\"src\":[\"w1\",\"p\"]}]}");
    assert_int_equal(insight_run(&c, 0), SR_OK);
    const long before = sr__allocation_count();
    assert_int_equal(explain_all(), SR_OK);
    const long total = sr__allocation_count() - before;
    assert_true(total > 50);
    for (long n = 1; n <= total; n++) {
        sr__fail_allocations(n, n % 2 == 0);
        assert_int_equal(explain_all(), SR_MEMORY);
        sr__fail_allocations(0, false);
        sr_error_clear(&c.err);
    }
    close_case();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_and_memory),      cmocka_unit_test(what_looks_like_weights),
        cmocka_unit_test(offloading),              cmocka_unit_test(offloading_from_other_memory),
        cmocka_unit_test(refused_by_a_rule),       cmocka_unit_test(the_cpu_stops_others),
        cmocka_unit_test(user_assignments),        cmocka_unit_test(upgrades_views_and_sources),
        cmocka_unit_test(pipeline_copies),         cmocka_unit_test(nobody_takes_the_memory),
        cmocka_unit_test(nobody_takes_a_leaf),     cmocka_unit_test(nobody_takes_the_op),
        cmocka_unit_test(nothing_to_explain),      cmocka_unit_test(every_allocation_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
