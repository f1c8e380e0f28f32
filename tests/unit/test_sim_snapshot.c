/*
 * test_sim_snapshot.c - tests of src/backends/sim/sim_snapshot.c.
 *
 * Layer: tests.
 */
#include "backends/sim/sim_snapshot.h"
#include "support/backend_fixture.h"

/* y = SQR(x); t = TRANSPOSE(y); o = OPAQUE(copy of y); z = ADD(x, x) */
typedef struct net {
    sr_graph *graph;
    sr_graph_view view;
    int32_t x, y, t, o, z;
    sr_extra copy;
    int32_t srcs[8];
    sr_storage storage[8];
} net;

static void net_init(net *n) {
    sr_error err = {0};
    sr_graph *g = n->graph = bf_graph();
    n->x = bf_leaf(g, "x", SR_TYPE_F32, 4, 4);
    n->y = bf_node(g, "y", SR_OP_SQR, &n->x, 1);
    n->t = bf_node(g, "t", SR_OP_TRANSPOSE, &n->y, 1);
    n->o = bf_opaque(g, "o", "NEW", n->y);
    n->z = bf_node(g, "z", SR_OP_ADD, BF_ARRAY(n->x, n->x), 2);
    bf_ok(sr_graph_finish(g, &err), &err);
    n->view = sr_graph_whole(g);
    n->copy = (sr_extra){.of = n->y, .kind = SR_EXTRA_COPY};
    memcpy(n->srcs, n->view.srcs, (size_t)g->n_srcs * sizeof(int32_t));
    n->srcs[g->tensors[n->o].src_begin] = g->n_tensors;
    for (size_t i = 0; i < 8; i++) {
        n->storage[i] = (sr_storage){.offset = i * 100};
    }
    n->view.extra = &n->copy;
    n->view.n_extra = 1;
    n->view.srcs = n->srcs;
    n->view.storage = n->storage;
}

static const sr_tensor *src_of(const sr__sim_snapshot *s, const sr_tensor *node, int j) {
    return &s->graph.tensors[sr_view_src(&s->view, node, j)];
}

static void test_takes_what_is_used(void **state) {
    (void)state;
    sr_error err = {0};
    sr__sim_places places = {0};
    for (int round = 0; round < 3; round++) { /* places are used again, over graphs of other sizes too */
        sr__sim_snapshot s;
        net n;
        net_init(&n);
        bf_ok(sr__sim_snapshot_take(&s, &n.view, n.view.n_nodes, &places, &err), &err);
        sr_graph_free(n.graph);
        assert_int_equal(s.view.n_nodes, 3); /* the view op computes nothing */
        assert_int_equal(s.graph.n_tensors, 5);
        const sr_tensor *y = &s.graph.tensors[s.view.nodes[0]], *o = &s.graph.tensors[s.view.nodes[1]];
        const sr_tensor *z = &s.graph.tensors[s.view.nodes[2]];
        assert_string_equal(y->name, "y");
        assert_int_equal(y->op, SR_OP_SQR);
        assert_string_equal(src_of(&s, y, 0)->name, "x");
        assert_string_equal(sr_tensor_op_desc(o), "NEW");
        const sr_tensor *copy = src_of(&s, o, 0);
        assert_int_equal(copy->op, SR_OP_NONE);
        assert_int_equal(copy->n_src, 0);
        assert_ptr_equal(src_of(&s, z, 0), src_of(&s, z, 1));
        const int32_t at = sr_view_src(&s.view, o, 0);
        assert_int_equal(s.ids[at], 5);
        assert_int_equal(s.view.storage[at].offset, 500);
        assert_int_equal(s.view.storage[s.view.nodes[0]].offset, 100);
        sr__sim_snapshot_free(&s);
    }
    sr__free(places.place);
}

static void test_part(void **state) {
    (void)state;
    sr_error err = {0};
    sr__sim_places places = {0};
    sr__sim_snapshot s;
    net n;
    net_init(&n);
    n.view.storage = NULL;
    bf_ok(sr__sim_snapshot_take(&s, &n.view, 1, &places, &err), &err);
    assert_int_equal(s.view.n_nodes, 1);
    assert_int_equal(s.graph.n_tensors, 2);
    assert_null(s.view.storage[0].buffer);
    sr__sim_snapshot_free(&s);
    bf_ok(sr__sim_snapshot_take(&s, &n.view, 0, &places, &err), &err);
    assert_int_equal(s.view.n_nodes, 0);
    sr__sim_snapshot_free(&s);
    sr_graph_free(n.graph);
    sr__free(places.place);
}

static void test_out_of_memory(void **state) {
    (void)state;
    sr_error err = {0};
    net n;
    net_init(&n);
    sr_status status;
    long at = 1;
    do {
        sr__sim_places places = {0};
        sr__sim_snapshot s;
        sr__fail_allocations(at++, true);
        status = sr__sim_snapshot_take(&s, &n.view, n.view.n_nodes, &places, &err);
        sr__fail_allocations(0, false);
        if (status == SR_OK) {
            sr__sim_snapshot_free(&s);
        }
        sr_error_clear(&err);
        for (size_t i = 0; i < places.n; i++) {
            assert_int_equal(places.place[i], -1);
        }
        sr__free(places.place);
    } while (status != SR_OK);
    sr_graph_free(n.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_takes_what_is_used),
        cmocka_unit_test(test_part),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
