/* Tests of the scheduler through its API: assignments, copies, limits, reserve, reuse, failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/base.h"
#include "support/build.h"

/* Two GPUs and a CPU; a product on each, and what lies between. */
typedef struct fixture {
    sr_machine *machine;
    sr_buffer *weights[3];
    sr_graph *graph;
    int32_t x, w0, w1, wc, a, b, view, c, d;
    sr_sched *sched;
    sr_sched_params params;
} fixture;

static sr_graph *make_graph(fixture *f, int64_t rows) {
    sr_graph *g = build_graph("g");
    f->x = build_leaf(g, "x", 64, rows, SR_FLAG_INPUT, NULL);
    f->w0 = build_leaf(g, "w0", 64, 64, 0, f->weights[0]);
    f->w1 = build_leaf(g, "w1", 64, 64, 0, f->weights[1]);
    f->wc = build_leaf(g, "wc", 64, 64, 0, f->weights[2]);
    f->a = build_node(g, "a", SR_OP_MUL_MAT, f->w0, f->x, -1, 0, 0, 0);
    f->b = build_node(g, "b", SR_OP_MUL_MAT, f->w1, f->a, -1, 0, 0, 0);
    f->view = build_node(g, "v", SR_OP_RESHAPE, f->b, -1, -1, 64, rows, 0);
    f->c = build_node(g, "c", SR_OP_MUL_MAT, f->wc, f->view, -1, 0, 0, 0);
    f->d = build_node(g, "d", SR_OP_ADD, f->c, f->x, -1, 0, 0, SR_FLAG_OUTPUT);
    build_finish(g);
    return g;
}

static void make_sched(fixture *f) {
    sr_error err = {0};
    ASSERT_OK(sr_sched_new(f->machine->backends, NULL, f->machine->n_backends, &f->params, &f->sched, &err), &err);
}

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof(*f));
    f->machine = build_machine("GPU0 GPU1 CPU");
    const char *const types[3] = {"GPU0", "GPU1", "CPU"};
    for (int i = 0; i < 3; i++) {
        f->weights[i] = build_buffer(f->machine, types[i], 1 << 16, SR_USAGE_WEIGHTS);
    }
    f->graph = make_graph(f, 8);
    sr_sched_params_init(&f->params);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    sr_sched_free(f->sched);
    sr_graph_free(f->graph);
    for (int i = 0; i < 3; i++) {
        sr_buffer_free(f->weights[i]);
    }
    sr_machine_free(f->machine);
    free(f);
    return 0;
}

static void splits_where_weights_are(void **state) {
    fixture *f = *state;
    sr_error err = {0};
    make_sched(f);
    ASSERT_OK(sr_sched_alloc_graph(f->sched, f->graph, &err), &err);
    const sr_layout *l = sr_sched_layout(f->sched);
    assert_int_equal(l->n_splits, 3);
    assert_int_equal(sr_sched_n_splits(f->sched), 3);
    assert_int_equal(l->splits[1].backend, 1);
    assert_int_equal(l->splits[1].n_inputs, 1);
    assert_int_equal(l->inputs[l->splits[1].inputs_begin], f->a);
    assert_int_equal(sr_sched_tensor_backend(f->sched, f->d), 2);
    assert_string_equal(sr_cause_name(l->cause_of[f->a]), "1.wgt0");
    assert_string_equal(sr_cause_name(l->cause_of[f->view]), "4.vsrc");
    assert_string_equal(sr_cause_name(l->cause_of[f->x]), "1.inp");
    assert_string_equal(sr_cause_name(l->cause_of[f->d]), "2.sup");
    char name[SR_MAX_NAME + 1];
    sr_layout_name(l, l->input_copies[l->splits[1].inputs_begin], name);
    assert_string_equal(name, "GPU1#a#0");
    assert_true(l->reallocated);
    assert_true(l->first_allocation);
    assert_true(l->addresses[f->a].buffer_id == 0);
    assert_int_equal(sr_sched_buffer_size(f->sched, 0), l->compute_buffer_size[0]);
    assert_ptr_equal(sr_sched_backend(f->sched, 1), f->machine->backends[1]);
    assert_null(sr_sched_backend(f->sched, 3));
    assert_ptr_equal(sr_sched_buffer_type(f->sched, 2), sr_host_buffer_type());
}

static void scheduling_twice_is_safe(void **state) {
    fixture *f = *state;
    sr_error err = {0};
    make_sched(f);
    for (int i = 0; i < 3; i++) {
        ASSERT_OK(sr_sched_alloc_graph(f->sched, f->graph, &err), &err); /* without a reset between */
        const sr_layout *l = sr_sched_layout(f->sched);
        assert_int_equal(l->n_splits, 3);
        assert_int_equal(l->splits[0].n_inputs, 1);
        assert_int_equal(l->splits[1].n_inputs, 1);
        assert_int_equal(l->reallocated, i == 0);
        assert_int_equal(f->graph->srcs[f->graph->tensors[f->b].src_begin + 1], f->a); /* the graph is as it was */
    }
}

static void user_assignments_last_until_reset(void **state) {
    fixture *f = *state;
    sr_error err = {0};
    make_sched(f);
    ASSERT_OK(sr_sched_set_tensor_backend(f->sched, f->graph, f->d, 1, &err), &err);
    ASSERT_OK(sr_sched_alloc_graph(f->sched, f->graph, &err), &err);
    assert_int_equal(sr_sched_tensor_backend(f->sched, f->d), 1);
    assert_string_equal(sr_cause_name(sr_sched_layout(f->sched)->cause_of[f->d]), "usr");
    sr_sched_reset(f->sched);
    ASSERT_OK(sr_sched_alloc_graph(f->sched, f->graph, &err), &err);
    assert_int_equal(sr_sched_tensor_backend(f->sched, f->d), 2);
    assert_int_equal(sr_sched_set_tensor_backend(f->sched, f->graph, f->d, 3, &err), SR_INVALID);
    assert_int_equal(sr_sched_set_tensor_backend(f->sched, f->graph, 99, 0, &err), SR_INVALID);
    sr_error_clear(&err);
}

static void copies_turn_from_graph_to_graph(void **state) {
    fixture *f = *state;
    sr_error err = {0};
    f->params.n_copies = 3;
    make_sched(f);
    for (int i = 0; i < 5; i++) {
        ASSERT_OK(sr_sched_alloc_graph(f->sched, f->graph, &err), &err);
        const sr_layout *l = sr_sched_layout(f->sched);
        assert_int_equal(l->cur_copy, i % 3);
        assert_int_equal(l->n_graph_inputs, 1);
        assert_string_equal(sr_cause_name(l->cause_of[f->x]), "4.cpy");
        char name[SR_MAX_NAME + 1];
        sr_layout_name(l, l->input_copies[l->splits[1].inputs_begin], name);
        const char expected[] = {'G', 'P', 'U', '1', '#', 'a', '#', (char)('0' + i % 3), '\0'};
        assert_string_equal(name, expected);
        sr_sched_reset(f->sched);
    }
    ASSERT_OK(sr_sched_synchronize(f->sched, &err), &err); /* no graph allocated: the first slot again */
    ASSERT_OK(sr_sched_alloc_graph(f->sched, f->graph, &err), &err);
    assert_int_equal(sr_sched_layout(f->sched)->cur_copy, 0);
}

static void a_reserve_serves_smaller_graphs(void **state) {
    fixture *f = *state;
    sr_error err = {0};
    sr_graph *large = make_graph(f, 64);
    size_t sizes[3];
    make_sched(f);
    ASSERT_OK(sr_sched_reserve_size(f->sched, large, sizes, &err), &err);
    assert_int_equal(sr_sched_buffer_size(f->sched, 0), 0);
    ASSERT_OK(sr_sched_reserve(f->sched, large, &err), &err);
    const sr_layout *l = sr_sched_layout(f->sched);
    assert_true(l->reserve);
    for (int b = 0; b < 3; b++) {
        assert_int_equal(l->compute_buffer_size[b], sizes[b]);
    }
    ASSERT_OK(sr_sched_alloc_graph(f->sched, f->graph, &err), &err);
    assert_false(sr_sched_layout(f->sched)->reallocated);
    ASSERT_OK(sr_sched_alloc_graph(f->sched, large, &err), &err);
    assert_false(sr_sched_layout(f->sched)->reallocated);
    sr_graph *larger = make_graph(f, 128);
    ASSERT_OK(sr_sched_alloc_graph(f->sched, larger, &err), &err);
    assert_true(sr_sched_layout(f->sched)->reallocated);
    assert_true(sr_sched_layout(f->sched)->unexpected);
    assert_true(sr_sched_layout(f->sched)->grew[0]);
    assert_int_equal(sr_sched_layout(f->sched)->misfit.kind, SR_MISFIT_SOURCE);
    sr_sched_free(f->sched);
    f->sched = NULL;
    sr_graph_free(large);
    sr_graph_free(larger);
}

static void limits_are_checked(void **state) {
    fixture *f = *state;
    sr_error err = {0};
    f->params.max_split_inputs = 1;
    make_sched(f);
    sr_graph *g = build_graph("g");
    const int32_t x = build_leaf(g, "x", 64, 8, SR_FLAG_INPUT, NULL), y = build_leaf(g, "y", 64, 8, SR_FLAG_INPUT, NULL);
    const int32_t w = build_leaf(g, "w", 64, 64, 0, f->weights[0]);
    const int32_t a = build_node(g, "a", SR_OP_MUL_MAT, w, x, -1, 0, 0, 0);
    const int32_t sum = build_node(g, "sum", SR_OP_ADD, y, x, -1, 0, 0, 0);
    build_node(g, "b", SR_OP_ADD, a, sum, -1, 0, 0, 0);
    build_finish(g);
    /* The list is full when `sum` brings y: a new split begins; x has its copy already. */
    ASSERT_OK(sr_sched_alloc_graph(f->sched, g, &err), &err);
    assert_int_equal(sr_sched_n_splits(f->sched), 2);
    assert_int_equal(sr_sched_layout(f->sched)->splits[1].because, SR_STARTS_FULL);
    sr_graph_free(g);
    g = build_graph("g");
    const int32_t p = build_leaf(g, "p", 64, 8, SR_FLAG_INPUT, NULL), q = build_leaf(g, "q", 64, 64, SR_FLAG_INPUT, NULL);
    const int32_t m = build_node(g, "m", SR_OP_MUL_MAT, q, p, -1, 0, 0, 0);
    build_finish(g);
    sr_sched_reset(f->sched);
    ASSERT_OK(sr_sched_set_tensor_backend(f->sched, g, m, 0, &err), &err);
    assert_int_equal(sr_sched_alloc_graph(f->sched, g, &err), SR_SPLIT_INPUTS);
    assert_string_equal(sr_error_find(&err, "node")->text, "m");
    assert_int_equal(sr_error_find(&err, "count")->number, 2);
    assert_int_equal(sr_error_find(&err, "limit")->number, 1);
    sr_sched_reset(f->sched);
    ASSERT_OK(sr_sched_alloc_graph(f->sched, f->graph, &err), &err); /* the scheduler goes on */
    sr_graph_free(g);

    sr_sched *other;
    f->params.max_backends = 2;
    assert_int_equal(sr_sched_new(f->machine->backends, NULL, 3, &f->params, &other, &err), SR_BACKENDS);
    assert_null(other);
    f->params.max_backends = 16;
    assert_int_equal(sr_sched_new(f->machine->backends, NULL, 2, &f->params, &other, &err), SR_INVALID); /* no CPU last */
    f->params.n_copies = 0;
    assert_int_equal(sr_sched_new(f->machine->backends, NULL, 3, &f->params, &other, &err), SR_INVALID);
    f->params.n_copies = 1;
    f->params.graph_size = 6;
    ASSERT_OK(sr_sched_new(f->machine->backends, NULL, 3, &f->params, &other, &err), &err);
    ASSERT_OK(sr_sched_alloc_graph(other, f->graph, &err), &err); /* 9 fit in a table of 11 */
    sr_sched_free(other);
    f->params.graph_size = 4;
    ASSERT_OK(sr_sched_new(f->machine->backends, NULL, 3, &f->params, &other, &err), &err);
    assert_int_equal(sr_sched_alloc_graph(other, f->graph, &err), SR_GRAPH_SIZE);
    assert_int_equal(sr_error_find(&err, "needed")->number, 9);
    assert_int_equal(sr_error_find(&err, "limit")->number, 5);
    sr_sched_free(other);
    sr_error_clear(&err);
}

static void the_record_tells_every_step(void **state) {
    fixture *f = *state;
    sr_error err = {0};
    make_sched(f);
    ASSERT_OK(sr_sched_alloc_graph(f->sched, f->graph, &err), &err);
    const sr_layout *l = sr_sched_layout(f->sched);
    int last_pass = 0;
    int16_t backend_of[16];
    memset(backend_of, 0xff, sizeof(backend_of));
    for (int i = 0; i < l->n_decisions; i++) {
        const sr_decision *d = &l->decisions[i];
        assert_true(d->pass >= last_pass);
        last_pass = d->pass;
        assert_int_equal(d->from, backend_of[d->tensor]);
        backend_of[d->tensor] = d->to;
    }
    for (int i = 0; i < f->graph->n_tensors; i++) {
        assert_int_equal(backend_of[i], l->backend_of[i]); /* replaying the record gives the layout */
    }
}

/* Fails the n-th allocation for every n: an error, no leak (the sanitizer looks), and the scheduler is freed. */
static void survives_every_failed_allocation(void **state) {
    fixture *f = *state;
    f->params.n_copies = 2;
    bool finished = false;
    for (long n = 1; !finished && n < 2000; n++) {
        sr_error err = {0};
        sr_sched *sched = NULL;
        sr__fail_allocations(n, false);
        sr_status status = sr_sched_new(f->machine->backends, NULL, 3, &f->params, &sched, &err);
        if (status == SR_OK) {
            status = sr_sched_set_tensor_backend(sched, f->graph, f->d, 2, &err);
        }
        if (status == SR_OK) {
            status = sr_sched_reserve(sched, f->graph, &err);
        }
        if (status == SR_OK) {
            status = sr_sched_alloc_graph(sched, f->graph, &err);
        }
        sr__fail_allocations(0, false);
        finished = status == SR_OK;
        if (!finished) {
            assert_true(status == SR_MEMORY || status == SR_ALLOCATION);
            if (sched) {
                sr_error_clear(&err);
                ASSERT_OK(sr_sched_alloc_graph(sched, f->graph, &err), &err); /* the next run is fine */
            }
        }
        sr_sched_free(sched);
        sr_error_clear(&err);
    }
    assert_true(finished);
}

static void unused_leafs_and_empty_graphs_are_fine(void **state) {
    fixture *f = *state;
    sr_error err = {0};
    make_sched(f);
    sr_graph *g = build_graph("g");
    build_leaf(g, "unused", 4, 4, 0, NULL);
    build_finish(g);
    ASSERT_OK(sr_sched_alloc_graph(f->sched, g, &err), &err);
    assert_int_equal(sr_sched_n_splits(f->sched), 1);
    sr_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(splits_where_weights_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(scheduling_twice_is_safe, set_up, tear_down),
        cmocka_unit_test_setup_teardown(user_assignments_last_until_reset, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copies_turn_from_graph_to_graph, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reserve_serves_smaller_graphs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limits_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_record_tells_every_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_every_failed_allocation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unused_leafs_and_empty_graphs_are_fine, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
