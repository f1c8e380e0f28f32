/*
 * test_rules.c - tests of src/backend/rules.c.
 *
 * Layer: tests.
 */
#include "support/backend_fixture.h"

/* w f16 [64, 32] in a buffer, x f32 [64, 5], y = MUL_MAT(w, x), s = SILU(y), o an opaque op, v a view of w */
typedef struct net {
    sr_graph *graph;
    sr_graph_view view;
    sr_buffer *buffer;
    int32_t w, x, y, s, o, v, c;
} net;

static void net_init(net *n) {
    sr_error err = {0};
    sr_graph *g = bf_graph();
    bf_ok(sr_buffer_type_alloc(sr_host_buffer_type(), 8192, &n->buffer, &err), &err);
    n->w = bf_leaf(g, "w", SR_TYPE_F16, 64, 32);
    sr_graph_place(g, n->w, n->buffer, 0);
    n->x = bf_leaf(g, "x", SR_TYPE_F32, 64, 5);
    n->y = bf_node(g, "y", SR_OP_MUL_MAT, BF_ARRAY(n->w, n->x), 2);
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.name = "s";
    spec.op = SR_OP_UNARY;
    spec.op_params[0] = SR_UNARY_SILU;
    spec.srcs = &n->y;
    spec.n_src = 1;
    bf_ok(sr_graph_add(g, &spec, &n->s, &err), &err);
    n->o = bf_opaque(g, "o", "NEW_OP", n->y);
    n->v = bf_node(g, "v", SR_OP_TRANSPOSE, &n->w, 1);
    n->c = bf_node(g, "c", SR_OP_CONT, &n->v, 1);
    bf_ok(sr_graph_finish(g, &err), &err);
    n->graph = g;
    n->view = sr_graph_whole(g);
}

static void net_free(net *n) {
    sr_graph_free(n->graph);
    sr_buffer_free(n->buffer);
}

static bool matches(sr_rule rule, const net *n, int32_t tensor) {
    const bool result = sr_rule_matches(&rule, &n->view, tensor);
    sr_rule_clear(&rule);
    return result;
}

/* One test on MUL_MAT, against y. */
static bool y_is(const net *n, int src, sr_rule_field field, sr_rule_compare compare, int64_t number,
                 const char *text) {
    sr_rule rule = bf_rule(SR_OP_MUL_MAT, "rule");
    bf_rule_test(&rule, src, field, compare, number, text);
    return matches(rule, n, n->y);
}

static void test_ops(void **state) {
    (void)state;
    net n;
    net_init(&n);
    assert_true(matches(bf_rule(SR_OP_MUL_MAT, ""), &n, n.y));
    assert_false(matches(bf_rule(SR_OP_MUL, ""), &n, n.y));
    assert_true(matches(bf_rule(-1, ""), &n, n.y));
    sr_rule silu = bf_rule(SR_OP_UNARY, "SILU");
    silu.kind = SR_UNARY_SILU;
    assert_true(sr_rule_matches(&silu, &n.view, n.s));
    silu.kind = SR_UNARY_GELU;
    assert_false(sr_rule_matches(&silu, &n.view, n.s));
    silu.kind = -1;
    assert_true(matches(silu, &n, n.s));
    sr_rule opaque = bf_rule(SR_OP_OPAQUE, "NEW_OP");
    opaque.op_name = sr__strdup("NEW_OP");
    assert_true(sr_rule_matches(&opaque, &n.view, n.o));
    assert_false(sr_rule_matches(&opaque, &n.view, n.y));
    opaque.op_name[0] = 'M';
    assert_false(matches(opaque, &n, n.o));
    net_free(&n);
}

static void test_numbers(void **state) {
    (void)state;
    net n;
    net_init(&n);
    assert_true(y_is(&n, 0, SR_FIELD_TYPE, SR_CMP_EQ, SR_TYPE_F16, NULL));
    assert_false(y_is(&n, 1, SR_FIELD_TYPE, SR_CMP_EQ, SR_TYPE_F16, NULL));
    assert_true(y_is(&n, 1, SR_FIELD_TYPE, SR_CMP_NE, SR_TYPE_F16, NULL));
    assert_true(y_is(&n, -1, SR_FIELD_TYPE, SR_CMP_EQ, SR_TYPE_F32, NULL));
    assert_true(y_is(&n, 0, SR_FIELD_NE0, SR_CMP_GE, 64, NULL));
    assert_false(y_is(&n, 0, SR_FIELD_NE0, SR_CMP_GT, 64, NULL));
    assert_true(y_is(&n, 0, SR_FIELD_NE1, SR_CMP_LT, 33, NULL));
    assert_true(y_is(&n, 0, SR_FIELD_NE1, SR_CMP_LE, 32, NULL));
    assert_true(y_is(&n, -1, SR_FIELD_NE0, SR_CMP_EQ, 32, NULL));
    assert_true(y_is(&n, -1, SR_FIELD_NE1, SR_CMP_EQ, 5, NULL));
    assert_true(y_is(&n, -1, SR_FIELD_NE2, SR_CMP_EQ, 1, NULL));
    assert_true(y_is(&n, -1, SR_FIELD_NE3, SR_CMP_EQ, 1, NULL));
    assert_true(y_is(&n, -1, SR_FIELD_BATCH, SR_CMP_EQ, 5, NULL));
    /* a source that is not there fails every test, "not" too */
    assert_false(y_is(&n, 2, SR_FIELD_NE0, SR_CMP_NE, 7, NULL));
    assert_false(y_is(&n, 9, SR_FIELD_NE0, SR_CMP_EQ, 7, NULL));
    net_free(&n);
}

static void test_several(void **state) {
    (void)state;
    net n;
    net_init(&n);
    /* every test must hold */
    sr_rule rule = bf_rule(SR_OP_MUL_MAT, "rule");
    bf_rule_test(&rule, 0, SR_FIELD_TYPE, SR_CMP_EQ, SR_TYPE_F16, NULL);
    bf_rule_test(&rule, 1, SR_FIELD_NE1, SR_CMP_GT, 5, NULL);
    assert_false(matches(rule, &n, n.y));
    /* any of the values may */
    rule = bf_rule(SR_OP_MUL_MAT, "rule");
    bf_rule_test(&rule, 0, SR_FIELD_TYPE, SR_CMP_EQ, SR_TYPE_F32, NULL);
    rule.tests[0].numbers = sr__realloc(rule.tests[0].numbers, 2 * sizeof(int64_t));
    rule.tests[0].numbers[1] = SR_TYPE_F16;
    rule.tests[0].n_values = 2;
    assert_true(sr_rule_matches(&rule, &n.view, n.y));
    rule.tests[0].compare = SR_CMP_NE; /* none of the values may */
    assert_false(matches(rule, &n, n.y));
    net_free(&n);
}

static void test_buffer_types(void **state) {
    (void)state;
    net n;
    net_init(&n);
    assert_true(y_is(&n, 0, SR_FIELD_BUFFER_TYPE, SR_CMP_EQ, 0, "CPU"));
    assert_false(y_is(&n, 0, SR_FIELD_BUFFER_TYPE, SR_CMP_NE, 0, "CPU"));
    assert_false(y_is(&n, 1, SR_FIELD_BUFFER_TYPE, SR_CMP_EQ, 0, "CPU"));
    assert_true(y_is(&n, 1, SR_FIELD_BUFFER_TYPE, SR_CMP_NE, 0, "CPU"));
    /* a view is where its root is */
    sr_rule rule = bf_rule(SR_OP_CONT, "rule");
    bf_rule_test(&rule, 0, SR_FIELD_BUFFER_TYPE, SR_CMP_EQ, 0, "CPU");
    assert_true(sr_rule_matches(&rule, &n.view, n.c));
    /* a copy that scheduling made is not where its original is */
    const sr_extra extra = {.of = n.v, .kind = SR_EXTRA_COPY};
    int32_t srcs[16];
    memcpy(srcs, n.view.srcs, (size_t)n.graph->n_srcs * sizeof(int32_t));
    srcs[n.graph->tensors[n.c].src_begin] = n.graph->n_tensors;
    sr_graph_view view = n.view;
    view.extra = &extra;
    view.n_extra = 1;
    view.srcs = srcs;
    assert_false(sr_rule_matches(&rule, &view, n.c));
    sr_rule_clear(&rule);
    /* and it is of op NONE */
    rule = bf_rule(SR_OP_TRANSPOSE, "rule");
    assert_false(sr_rule_matches(&rule, &view, n.graph->n_tensors));
    sr_rule_clear(&rule);
    rule = bf_rule(SR_OP_NONE, "rule");
    assert_true(sr_rule_matches(&rule, &view, n.graph->n_tensors));
    bf_rule_test(&rule, 0, SR_FIELD_NE0, SR_CMP_NE, 1, NULL);
    assert_false(sr_rule_matches(&rule, &view, n.graph->n_tensors));
    sr_rule_clear(&rule);
    net_free(&n);
}

static void test_clear(void **state) {
    (void)state;
    sr_rules rules = bf_rules(bf_rule(SR_OP_ADD, "ADD"));
    bf_rule_test(&rules.rules[0], 0, SR_FIELD_BUFFER_TYPE, SR_CMP_EQ, 0, "CPU");
    sr_rules_clear(&rules);
    assert_int_equal(rules.n, 0);
    sr_rules_clear(&rules);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ops),          cmocka_unit_test(test_numbers), cmocka_unit_test(test_several),
        cmocka_unit_test(test_buffer_types), cmocka_unit_test(test_clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
