/*
 * test_reach.c - tests of src/backend/reach.c, over the cpu and simulated devices.
 *
 * Layer: tests.
 */
#include "backend/reach.h"

#include "backend/hostmem.h"
#include "support/backend_fixture.h"

enum { NE0 = 2048, NE1 = 8 };

/* z = SQR(y), y = SQR(x): y in the first backend's memory, z in the second's. */
static void check_reads(sr_machine *m, int writer, int reader) {
    sr_error err = {0};
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, NE0, NE1), y = bf_node(graph, "y", SR_OP_SQR, &x, 1);
    const int32_t z = bf_node(graph, "z", SR_OP_SQR, &y, 1), nodes[2] = {y, z};
    float *values = sr__malloc(NE0 * NE1 * sizeof(float));
    assert_non_null(values);
    sr_buffer *result;
    bf_run run;
    bf_run_init(&run, graph, m->backends[writer]->buffer_type);
    bf_ok(sr_buffer_type_alloc(m->backends[reader]->buffer_type, graph->tensors[z].nbytes, &result, &err), &err);
    run.storage[z] = (sr_storage){result, 0};
    sr_graph_view write = run.view, read = run.view;
    write.nodes = nodes;
    read.nodes = nodes + 1;
    write.n_nodes = read.n_nodes = 1;
    for (int round = 1; round < 10; round++) {
        for (int i = 0; i < NE0 * NE1; i++) {
            values[i] = (float)round;
        }
        bf_set(&run, x, values);
        /* nobody waits between these two but the reader itself */
        bf_ok(sr_backend_compute_async(m->backends[writer], &write, &err), &err);
        bf_ok(sr_backend_compute_async(m->backends[reader], &read, &err), &err);
        bf_ok(sr_backend_synchronize(m->backends[reader], &err), &err);
        bf_all_equal(&run, z, (float)(round * round * round * round));
        bf_ok(sr_backend_synchronize(m->backends[writer], &err), &err);
    }
    /* the other way round, the writer would write where it cannot reach */
    bf_fails(sr_backend_compute(m->backends[writer], &read, &err), SR_UNREACHABLE, &err, "node 'z' (SQR)");
    bf_fails(sr_backend_compute(m->backends[writer], &read, &err), SR_UNREACHABLE, &err, result->type->name);
    sr__free(values);
    sr_buffer_free(result);
    bf_run_free(&run);
}

static void test_reads(void **state) {
    (void)state;
    sr_backend_config configs[] = {bf_config("GPU0", "sim"), bf_config("GPU1", "sim"), bf_config("NOW", "sim"),
                                   bf_config("CPU", "cpu")};
    configs[2].async = false;
    sr_machine *m = bf_machine(configs, 4);
    for (int writer = 0; writer < 4; writer++) {
        for (int reader = 0; reader < 4; reader++) {
            if (writer != reader) {
                check_reads(m, writer, reader);
            }
        }
    }
    sr_machine_free(m);
}

static void test_works(void **state) {
    (void)state;
    sr_error err = {0};
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, 4, 4), none = bf_leaf(graph, "none", SR_TYPE_F32, 0, 4);
    const int32_t y = bf_node(graph, "y", SR_OP_SQR, &x, 1), t = bf_node(graph, "t", SR_OP_TRANSPOSE, &x, 1);
    const int32_t e = bf_node(graph, "e", SR_OP_SQR, &none, 1);
    sr_tensor_spec spec;
    int32_t idle;
    sr_tensor_spec_init(&spec);
    spec.name = "idle";
    spec.op = SR_OP_SQR;
    spec.srcs = &x;
    spec.n_src = 1;
    spec.no_compute = true;
    bf_ok(sr_graph_add(graph, &spec, &idle, &err), &err);
    bf_ok(sr_graph_finish(graph, &err), &err);
    const sr_graph_view view = sr_graph_whole(graph);
    assert_false(sr__node_works(&view, x));
    assert_true(sr__node_works(&view, y));
    assert_false(sr__node_works(&view, t));
    assert_false(sr__node_works(&view, e));
    assert_false(sr__node_works(&view, idle));
    const sr_storage nowhere = {NULL, 8};
    assert_null(sr__storage_memory(&nowhere));
    sr_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reads), cmocka_unit_test(test_works)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
