/*
 * test_describe_graphs.c - tests of how descriptions become machines, graphs and runs (src/describe).
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/describe_case.h"

/* The first example of the format's document. */
static const char example[] =
    "{\n"
    "  \"sched_run\": 1, \"$schema\": \"ignored\", \"_comment\": [1],\n"
    "  \"name\": \"two layers on a GPU\", \"description\": \"free text\",\n"
    "  \"params\": { \"n_tokens\": 4, \"n_embd\": 64, \"n_layer\": 2 },\n"
    "  \"backends\": [\n"
    "    { \"name\": \"GPU0\", \"device\": \"sim\", \"memory\": \"8GiB\", \"offload\": { \"min_batch\": 32 } },\n"
    "    { \"name\": \"CPU\",  \"device\": \"cpu\" }\n"
    "  ],\n"
    "  \"buffers\":   { \"gpu_w\": { \"type\": \"GPU0\", \"usage\": \"weights\" }, \"cpu_w\": { \"type\": \"CPU\", "
    "\"usage\": \"weights\" } },\n"
    "  \"placement\": [ { \"match\": \"^blk\\\\.1\\\\.\", \"buffer\": \"gpu_w\" }, { \"match\": \"^blk\\\\.\", "
    "\"buffer\": \"cpu_w\" } ],\n"
    "  \"scheduler\": { \"graph_size\": 2048, \"parallel\": false, \"op_offload\": true },\n"
    "  \"tensors\": [ { \"name\": \"x\", \"type\": \"f32\", \"ne\": [\"n_embd\", \"n_tokens\"], \"flags\": [\"input\"] "
    "},\n"
    "    { \"repeat\": \"n_layer\", \"as\": \"il\", \"items\": [ { \"name\": \"blk.{il}.w\", \"ne\": [\"n_embd\", "
    "\"n_embd\"] } ] } ],\n"
    "  \"nodes\":   [ { \"name\": \"y-0\", \"op\": \"RMS_NORM\", \"src\": [\"x\"], \"params\": { \"eps\": 1e-6 } },\n"
    "    { \"repeat\": \"n_layer\", \"as\": \"il\", \"items\": [\n"
    "      { \"name\": \"y-{il+1}\", \"op\": \"MUL_MAT\", \"src\": [\"blk.{il}.w\", \"y-{il}\"] },\n"
    "      { \"if\": \"il == n_layer - 1\", \"items\": [ { \"name\": \"out\", \"op\": \"SILU\", \"src\": "
    "[\"y-{il+1}\"], \"flags\": [\"output\"] } ] } ] } ],\n"
    "  \"runs\":    [ { \"params\": { \"n_tokens\": 512 }, \"reserve\": true }, {}, { \"params\": { \"n_tokens\": 1 } "
    "}, { \"params\": { \"n_tokens\": \"2*2\" } } ]\n"
    "}\n";

static void test_example(void **state) {
    (void)state;
    sr_description *d = load_text(example);
    assert_string_equal(sr_description_name(d), "two layers on a GPU");
    assert_string_equal(sr_description_text(d), "free text");
    assert_int_equal(sr_description_settings(d).graph_size, 2048);
    assert_int_equal(sr_description_settings(d).n_copies, 1);
    assert_true(sr_description_settings(d).op_offload);
    assert_int_equal(sr_description_machine(d)->n_backends, 2);
    assert_int_equal(sr_description_n_runs(d), 4);
    assert_null(sr_description_run(d, 4));
    const sr_run *reserve = sr_description_run(d, 0), *plain = sr_description_run(d, 1),
                 *same = sr_description_run(d, 3);
    assert_true(reserve->reserve && !plain->reserve);
    assert_string_equal(reserve->params_text, "n_tokens=512");
    assert_string_equal(plain->params_text, "");
    assert_string_equal(plain->graph_name, "");
    assert_ptr_equal(plain->graph, same->graph); /* the same values: the same graph */
    assert_ptr_not_equal(plain->graph, reserve->graph);
    assert_int_equal(tensor_of(d, 0, "y-2")->ne[1], 512);
    assert_int_equal(tensor_of(d, 2, "y-2")->ne[1], 1);
    assert_int_equal(plain->graph->n_nodes, 4);
    assert_string_equal(sr_tensor_op_desc(tensor_of(d, 1, "out")), "SILU");
    assert_int_equal(tensor_of(d, 1, "out")->flags, SR_FLAG_OUTPUT | SR_FLAG_COMPUTE);
    assert_string_equal(tensor_of(d, 1, "blk.0.w")->buffer->name, "cpu_w");
    assert_string_equal(tensor_of(d, 1, "blk.1.w")->buffer->name, "gpu_w");
    assert_int_equal(tensor_of(d, 1, "blk.1.w")->buffer->usage, SR_USAGE_WEIGHTS);
    assert_ptr_equal(tensor_of(d, 1, "blk.1.w")->buffer, tensor_of(d, 0, "blk.1.w")->buffer);
    assert_null(tensor_of(d, 1, "x")->buffer);
    free(check_expansion(d));
    sr_description_free(d);
}

static void test_params(void **state) {
    (void)state;
    static const char text[] =
        "{" MACHINE ",\"params\":{\"n\":\"k*4\",\"k\":2,\"eps\":1e-5,\"e2\":\"eps\"},"
        "\"tensors\":[{\"name\":\"x\",\"ne\":[\"n\",\"k\"]}],"
        "\"nodes\":[{\"name\":\"y\",\"op\":\"RMS_NORM\",\"src\":[\"x\"],\"params\":{\"eps\":\"e2\"}}],"
        "\"runs\":[{},{\"params\":{\"k\":3}}]}";
    sr_description *d = load_text(text);
    assert_int_equal(tensor_of(d, 0, "x")->ne[0], 8);
    assert_int_equal(tensor_of(d, 1, "x")->ne[0], 12); /* what depends on a run's param follows it */
    float eps;
    memcpy(&eps, tensor_of(d, 0, "y")->op_params, sizeof(eps));
    assert_true(eps == 1e-5f);
    free(check_expansion(d));
    sr_description_free(d);
    static const char *const given[] = {"k=5", "eps=0.25"};
    const sr_load_options options = {.params = given, .n_params = 2};
    d = load_with(text, NULL, &options);
    assert_int_equal(tensor_of(d, 0, "x")->ne[0], 20);
    assert_int_equal(tensor_of(d, 1, "x")->ne[0], 20); /* in every run */
    assert_ptr_equal(sr_description_run(d, 0)->graph, sr_description_run(d, 1)->graph);
    assert_string_equal(sr_description_run(d, 0)->params_text, "k=5 eps=0.25");
    assert_string_equal(sr_description_run(d, 1)->params_text, "k=5 eps=0.25");
    memcpy(&eps, tensor_of(d, 0, "y")->op_params, sizeof(eps));
    assert_true(eps == 0.25f);
    sr_description_free(d);
    static const struct { const char *given; const char *part;
    } wrong[] = {
        {"kk=5", "no param 'kk'"},     {"epps=5", "did you mean eps?"}, {"k", "NAME=VALUE"},
        {"=5", "NAME=VALUE"},          {"k=", "the value ''"},          {"k=k", "itself"},
        {"k=1/0", "division by zero"}, {"k=x", "unknown name 'x'"},
    };
    for (int i = 0; i < SR_COUNT(wrong); i++) {
        const sr_load_options bad = {.params = &wrong[i].given, .n_params = 1};
        load_fails(text, NULL, &bad, SR_USAGE, wrong[i].part);
    }
}

static void test_repeats(void **state) {
    (void)state;
    sr_description *d = load_text(
        "{" MACHINE ",\"params\":{\"n\":2},\"tensors\":["
        "{\"repeat\":\"n\",\"as\":\"i\",\"items\":[{\"repeat\":3,\"as\":\"j\",\"items\":[{\"name\":\"w.{i}.{j}\","
        "\"ne\":[\"i+1\",\"j+1\"]},"
        "{\"if\":\"i == j\",\"items\":[{\"name\":\"d{i*10+j}\",\"ne\":[1]}]}]}]},"
        "{\"repeat\":0,\"items\":[{\"name\":\"never\",\"ne\":[1]}]},{\"if\":0,\"items\":[{\"name\":\"not\"}]},"
        "{\"name\":\"{literal}\",\"ne\":[1]}]}");
    assert_int_equal(sr_description_run(d, 0)->graph->n_tensors, 9);
    assert_int_equal(tensor_of(d, 0, "w.1.2")->ne[0], 2);
    assert_int_equal(tensor_of(d, 0, "w.1.2")->ne[1], 3);
    tensor_of(d, 0, "d0");
    tensor_of(d, 0, "d11");
    tensor_of(d, 0, "{literal}");
    free(check_expansion(d));
    sr_description_free(d);
}

static void test_node_keys(void **state) {
    (void)state;
    sr_description *d = load_text(
        "{" MACHINE ",\"unknown_ops\":\"opaque\",\"tensors\":[{\"name\":\"x\",\"ne\":[8,4]},{\"id\":\"p1\",\"name\":"
                    "\"p\",\"ne\":[8],"
        "\"flags\":[\"param\"]},{\"id\":\"p2\",\"name\":\"p\",\"ne\":[8]}],\"nodes\":["
        "{\"name\":\"a\",\"op\":\"SCALE\",\"src\":[\"x\"],\"params\":{\"s\":2},\"inplace\":true},"
        "{\"name\":\"b\",\"op\":\"NEW_OP\",\"ne\":[3],\"src\":[\"a\",null,\"p1\"],\"op_params\":[4294967295,-1]},"
        "{\"name\":\"c\",\"op\":\"CPY\",\"type\":\"f16\",\"ne\":[8,4],\"src\":[\"a\",\"c\"]},"
        "{\"name\":\"v\",\"op\":\"VIEW\",\"src\":[\"a\"],\"ne\":[4,2],\"nb\":[4,32],\"view\":{\"of\":\"a\",\"offset\":"
        "16}},"
        "{\"name\":\"e\",\"op\":\"SQR\",\"src\":[\"v\"],\"compute\":false,\"backend\":\"CPU\",\"supported_by\":["
        "\"Old\"],"
        "\"offloaded_by\":[]},"
        "{\"name\":\"k\",\"op\":\"SWIGLU\",\"src\":[\"x\"]},{\"name\":\"z\",\"op\":\"SQR\",\"src\":[\"x\"],\"buffer\":"
        "\"kv\"}]}");
    const sr_run *run = sr_description_run(d, 0);
    const sr_graph *g = run->graph;
    assert_int_equal(tensor_of(d, 0, "a")->view_src, sr_graph_find(g, "x"));
    const sr_tensor *b = tensor_of(d, 0, "b"), *c = tensor_of(d, 0, "c"), *e = tensor_of(d, 0, "e");
    assert_string_equal(sr_tensor_op_name(b), "NEW_OP");
    assert_int_equal(b->op_params[0], -1);
    assert_int_equal(b->op_params[1], -1);
    assert_int_equal(b->n_src, 3);
    assert_int_equal(g->srcs[b->src_begin + 1], -1);
    assert_int_equal(g->srcs[c->src_begin + 1], sr_graph_find(g, "c"));
    assert_int_equal(c->view_src, -1);
    assert_int_equal(tensor_of(d, 0, "v")->view_src, sr_graph_find(g, "x"));
    assert_int_equal(tensor_of(d, 0, "v")->view_offs, 16);
    assert_false(e->flags & SR_FLAG_COMPUTE);
    assert_string_equal(g->answers[e->answers].supported_by[0], "Old");
    assert_int_equal(g->answers[e->answers].n_offloaded_by, 0);
    assert_int_equal(run->n_assignments, 1);
    assert_int_equal(run->assignments[0].tensor, sr_graph_find(g, "e"));
    assert_int_equal(run->assignments[0].backend, 1);
    assert_int_equal(tensor_of(d, 0, "k")->op_params[0], SR_GLU_SWIGLU);
    assert_int_equal(tensor_of(d, 0, "k")->ne[0], 4);
    assert_string_equal(tensor_of(d, 0, "z")->buffer->name, "kv");
    assert_true(tensor_of(d, 0, "p1")->node >= 0);
    assert_string_equal(tensor_of(d, 0, "p2")->name, "p");
    free(check_expansion(d));
    sr_description_free(d);
}

static void test_named_graphs(void **state) {
    (void)state;
    static const char graphs[] =
        "\"graphs\":{\"pp\":{\"tensors\":[{\"name\":\"x\",\"ne\":[\"n\"]}],\"nodes\":[{\"name\":\"y\","
        "\"op\":\"SQR\",\"src\":[\"x\"]}]},\"tg\":{\"nodes\":[]}}";
    char text[1024];
    snprintf(text, sizeof(text), "{" MACHINE ",\"params\":{\"n\":7},%s}", graphs);
    sr_description *d = load_text(text);
    assert_int_equal(sr_description_n_runs(d), 2);
    assert_string_equal(sr_description_run(d, 0)->graph_name, "pp");
    assert_string_equal(sr_description_run(d, 1)->graph_name, "tg");
    sr_description_free(d);
    snprintf(text, sizeof(text),
             "{" MACHINE ",\"params\":{\"n\":7},%s,\"runs\":[{\"graph\":\"pp\",\"params\":{\"n\":1}},"
             "{\"graph\":\"pp\"},{\"graph\":\"pp\",\"params\":{\"n\":7}}]}",
             graphs);
    d = load_text(text);
    assert_ptr_equal(sr_description_run(d, 1)->graph, sr_description_run(d, 2)->graph);
    char *plain = check_expansion(d);
    assert_non_null(strstr(plain, "\"pp@n=1\": {"));
    assert_non_null(strstr(plain, "\"pp\": {"));
    assert_non_null(strstr(plain, "\"tg\": {"));
    assert_null(strstr(plain, "params\": {\"n"));
    free(plain);
    sr_description_free(d);
}

static void test_expectations(void **state) {
    (void)state;
    sr_description *d = load_text(
        "{" MACHINE ",\"nodes\":[],\"expect\":{\"n_splits\":3,\"splits\":[{\"backend\":\"CPU\",\"start\":0,\"inputs\":["
                    "\"a\",\"b\"]},{}],"
        "\"backend_of\":{\"x\":\"CPU\"},\"cause_of\":{\"x\":\"1.wgt0\"},\"compute_buffer_size\":{\"CPU\":\"2KiB\"},"
        "\"address\":{\"x\":[\"CPU\",64]},\"reallocated\":true,\"backend_ids_changed\":false,"
        "\"reallocation_reason\":\"node x is not valid\",\"buffers_grown\":[\"CPU\"],\"copied\":{\"c\":16},"
        "\"outputs\":{\"y\":{\"sum\":1.5,\"sumsq\":2,\"head\":[1,2],\"tolerance\":0.5},\"z\":{\"base64\":\"AAA=\","
        "\"nmse\":1e-7},"
        "\"w\":{\"values\":[1,2]}},\"error\":{\"kind\":\"split_inputs\",\"count\":31,\"hard\":true},"
        "\"findings\":[{\"kind\":\"fallback\",\"tensors\":[\"a\",\"b\"]}],\"no_findings\":[\"race\"]}}");
    const sr_expect *e = sr_description_run(d, 0)->expect;
    assert_true(e->has_n_splits && e->n_splits == 3 && e->has_splits && e->n_expect_splits == 2);
    assert_string_equal(e->splits[0].inputs[1], "b");
    assert_int_equal(e->splits[1].start, -1);
    assert_int_equal(e->splits[1].n_inputs, -1);
    assert_string_equal(e->cause_of[0].value, "1.wgt0");
    assert_int_equal(e->compute_buffer_size[0].value, 2048);
    assert_int_equal(e->address[0].offset, 64);
    assert_true(e->has_reallocated && e->reallocated && e->has_backend_ids_changed && !e->backend_ids_changed);
    assert_string_equal(e->reallocation_reason, "node x is not valid");
    assert_string_equal(e->buffers_grown[0], "CPU");
    assert_int_equal(e->copied[0].value, 16);
    assert_true(e->outputs[0].has_sums && e->outputs[0].tolerance == 0.5 && e->outputs[0].n_head == 2);
    assert_true(e->outputs[1].has_values && e->outputs[1].n_bytes == 2 && e->outputs[1].nmse == 1e-7);
    assert_true(e->outputs[2].n_values == 2 && e->outputs[2].values[1] == 2 && e->outputs[2].tolerance == 0.02);
    assert_string_equal(e->error.pairs[1].value, "31");
    assert_string_equal(e->findings[0].pairs[1].value, "a,b");
    assert_string_equal(e->no_findings[0], "race");
    free(check_expansion(d));
    sr_description_free(d);
}

static void test_assignments(void **state) {
    (void)state;
    static const char text[] =
        "{" MACHINE ",\"tensors\":[{\"name\":\"x\",\"ne\":[4]}],\"nodes\":[{\"id\":\"n1\",\"name\":\"y=1\","
        "\"op\":\"SQR\",\"src\":[\"x\"],\"backend\":\"CPU\"},{\"id\":\"n2\",\"name\":\"y=1\",\"op\":\"SQR\",\"src\":["
        "\"n1\"]}]}";
    static const char *const both[] = {"y=1=GPU0"}, *const one[] = {"n2=GPU0"};
    sr_load_options options = {.assigns = both, .n_assigns = 1};
    sr_description *d = load_with(text, NULL, &options);
    const sr_run *run = sr_description_run(d, 0);
    assert_int_equal(run->n_assignments, 2);
    assert_int_equal(run->assignments[0].backend, 0); /* replaces the file's */
    assert_int_equal(run->assignments[1].backend, 0);
    sr_description_free(d);
    options.assigns = one;
    d = load_with(text, NULL, &options);
    run = sr_description_run(d, 0);
    assert_int_equal(run->n_assignments, 2);
    assert_int_equal(run->assignments[0].backend, 1);
    sr_description_free(d);
    static const struct { const char *given, *part; } wrong[] = {
        {"y", "NODE=BACKEND"}, {"n1=GPU1", "did you mean GPU0?"}, {"n9=CPU", "no tensor is called 'n9'"},
    };
    for (int i = 0; i < SR_COUNT(wrong); i++) {
        options.assigns = &wrong[i].given;
        load_fails(text, NULL, &options, SR_USAGE, wrong[i].part);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example), cmocka_unit_test(test_params), cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_node_keys), cmocka_unit_test(test_named_graphs), cmocka_unit_test(test_expectations),
        cmocka_unit_test(test_assignments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
