/*
 * test_execute.c - the execution of a schedule: stopping it, what it left then, the optimize hook; plans of backends.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>

#include "sched_run/analyze.h"
#include "support/execute_case.h"

static double value_of(const execute_case *c, const char *id) {
    sr_error err = {0};
    double value = 0;
    ASSERT_OK(sr_tensor_values(&sr_sched_layout(c->sched)->view, execute_case_tensor(c, id), &value, &err), &err);
    return value;
}

/* ---- stopping --------------------------------------------------------------------------------------------------- */

/* Says stop at the n-th question and from then on. */
typedef struct stopper { atomic_int asked; int at; } stopper;

static bool should_stop(void *user) {
    stopper *s = user;
    return atomic_fetch_add(&s->asked, 1) + 1 >= s->at;
}

static void test_runs(void **state) {
    (void)state;
    sr_error err = {0};
    execute_case c;
    stopper never = {.at = 1000};
    execute_case_init(&c, PIPELINE, 1);
    sr_sched_set_abort_callback(c.sched, should_stop, &never);
    ASSERT_OK(execute_case_run(&c, &err), &err);
    assert_int_equal(atomic_load(&never.asked), 3 + 6); /* before each split and each node */
    assert_true(sr_sched_layout(c.sched)->executed);
    assert_null(sr_sched_layout(c.sched)->split_done);
    assert_true(value_of(&c, "f") == pipeline_sum());
    execute_case_free(&c);
}

/* Whenever it is stopped: an error that says where, splits that count as run have been, and the next run is fine. */
static void test_stops_anywhere(void **state) {
    (void)state;
    for (int n_copies = 1; n_copies <= 2; n_copies++) {
        execute_case c;
        execute_case_init(&c, PIPELINE, n_copies);
        for (int at = 1; at <= 9; at++) {
            sr_error err = {0};
            stopper s = {.at = at};
            sr_sched_set_abort_callback(c.sched, should_stop, &s);
            assert_int_equal(execute_case_run(&c, &err), SR_ABORTED);
            assert_int_equal(err.status, SR_ABORTED);
            assert_true(sr_error_find(&err, "split") || sr_error_find(&err, "node"));
            const sr_layout *layout = sr_sched_layout(c.sched);
            assert_false(layout->executed);
            assert_non_null(layout->split_done);
            assert_false(sr_layout_computed(layout, execute_case_tensor(&c, "f")));
            assert_true(sr_layout_computed(layout, execute_case_tensor(&c, "x")));
            for (int i = 1; i < layout->n_splits; i++) {
                assert_true(layout->split_done[i - 1] || !layout->split_done[i]);
            }
            sr_error_clear(&err);
            sr_sched_set_abort_callback(c.sched, NULL, NULL);
            ASSERT_OK(execute_case_run(&c, &err), &err);
            assert_true(value_of(&c, "f") == pipeline_sum());
        }
        execute_case_free(&c);
    }
}

static void test_stops_at_once(void **state) {
    (void)state;
    sr_error err = {0};
    execute_case c;
    stopper s = {.at = 1};
    execute_case_init(&c, PIPELINE, 1);
    sr_sched_set_abort_callback(c.sched, should_stop, &s);
    assert_int_equal(execute_case_run(&c, &err), SR_ABORTED);
    assert_string_equal(sr_error_message(&err), "stopped before split 0 of 3");
    assert_int_equal(sr_error_find(&err, "split")->number, 0);
    sr_error_clear(&err);
    execute_case_free(&c);
}

/* ---- the optimize hook -------------------------------------------------------------------------------------------- */

static int n_optimized;

/* Puts the last of four nodes, which needs the first alone, behind that one. */
static void move_up(sr_backend *backend, const sr_graph_view *view, int32_t *nodes, int32_t n_nodes) {
    (void)backend, (void)view;
    n_optimized++;
    if (n_nodes == 4) {
        const int32_t last = nodes[3];
        nodes[3] = nodes[2];
        nodes[2] = nodes[1];
        nodes[1] = last;
    }
}

#define FOUR                                                                                                          \
    "{" MACHINE ",\"tensors\":[{\"name\":\"x\",\"ne\":[4],\"flags\":[\"input\"],\"data\":[1,2,3,4]}],"                \
    "\"nodes\":[{\"name\":\"a\",\"op\":\"ADD\",\"src\":[\"x\",\"x\"],\"backend\":\"GPU0\"},"                          \
    "{\"name\":\"b\",\"op\":\"SQR\",\"src\":[\"a\"]},{\"name\":\"c\",\"op\":\"SQR\",\"src\":[\"b\"]},"                \
    "{\"name\":\"d\",\"op\":\"SUM\",\"src\":[\"a\"],\"flags\":[\"output\"]}]}"

static void test_optimize(void **state) {
    (void)state;
    sr_error err = {0};
    execute_case c;
    execute_case_init(&c, FOUR, 1);
    sr_backend *gpu = c.machine->backends[0];
    sr_backend_i changed = *gpu->iface;
    const sr_backend_i *own = gpu->iface;
    /* the simulated device knows its backends by their interface: its functions stay reachable through its own */
    changed.optimize = move_up;
    n_optimized = 0;
    gpu->iface = &changed;
    execute_case_assign(&c);
    ASSERT_OK(sr_sched_alloc_graph(c.sched, c.graph, &err), &err);
    gpu->iface = own;
    assert_int_equal(n_optimized, 1);
    const sr_layout *layout = sr_sched_layout(c.sched);
    const int32_t *nodes = &layout->view.nodes[layout->split_nodes[0]];
    assert_int_equal(nodes[0], execute_case_tensor(&c, "a"));
    assert_int_equal(nodes[1], execute_case_tensor(&c, "d"));
    assert_int_equal(nodes[3], execute_case_tensor(&c, "c"));
    ASSERT_OK(sr_description_set_inputs(c.description, c.run, &layout->view, &err), &err);
    ASSERT_OK(sr_sched_compute(c.sched, c.graph, &err), &err);
    assert_true(value_of(&c, "d") == 20.0);
    execute_case_free(&c);
}

/* ---- plans ------------------------------------------------------------------------------------------------------ */

/* A copy of the graph on one backend, computed twice from one plan. */
static void check_plan(int backend) {
    sr_error err = {0};
    execute_case c;
    sr_graph_copy *copy;
    sr_graph_plan *plan;
    double value;
    execute_case_init(&c, FOUR, 1);
    sr_backend *b = c.machine->backends[backend];
    ASSERT_OK(sr_graph_copy_new(b, c.graph, NULL, &copy, &err), &err);
    const sr_graph_view *view = sr_graph_copy_view(copy);
    const int32_t x = execute_case_tensor(&c, "x"), d = execute_case_tensor(&c, "d");
    ASSERT_OK(sr_backend_plan_new(b, view, &plan, &err), &err);
    for (int i = 1; i <= 2; i++) {
        const float values[4] = {(float)i, 1, 1, 1};
        ASSERT_OK(sr_buffer_set(view->storage[x].buffer, values, view->storage[x].offset, sizeof(values), &err), &err);
        ASSERT_OK(sr_backend_plan_compute(b, plan, &err), &err);
        ASSERT_OK(sr_tensor_values(view, d, &value, &err), &err);
        assert_true(value == 2.0 * (i + 3));
    }
    stopper s = {.at = 1};
    sr_backend_set_abort(b, should_stop, &s);
    assert_int_equal(sr_backend_plan_compute(b, plan, &err), SR_ABORTED);
    assert_string_equal(sr_error_find(&err, "node")->text, "a");
    sr_error_clear(&err);
    sr_backend_set_abort(b, NULL, NULL);
    ASSERT_OK(sr_backend_plan_compute(b, plan, &err), &err);
    sr_backend_plan_free(b, plan);
    sr_backend_plan_free(b, NULL);
    for (long n = 1;; n++) {
        sr__fail_allocations(n, false);
        const sr_status status = sr_backend_plan_new(b, view, &plan, &err);
        sr__fail_allocations(0, false);
        sr_error_clear(&err);
        if (status == SR_OK) {
            break;
        }
        assert_int_equal(status, SR_MEMORY);
        assert_null(plan);
    }
    sr_backend_plan_free(b, plan);
    sr_graph_copy_free(copy);
    execute_case_free(&c);
}

static void test_plans(void **state) {
    (void)state;
    check_plan(0); /* the simulated device has none of its own */
    check_plan(1);
}

/* The CPU looks at the kernels when it makes the plan. */
static void test_plan_refused(void **state) {
    (void)state;
    sr_error err = {0};
    execute_case c;
    sr_graph_copy *copy;
    sr_graph_plan *plan;
    execute_case_init(&c,
                      "{" MACHINE ",\"tensors\":[{\"name\":\"x\",\"type\":\"i8\",\"ne\":[4],\"flags\":[\"input\"]}],"
                      "\"nodes\":[{\"name\":\"y\",\"op\":\"SQR\",\"src\":[\"x\"]}]}", 1);
    sr_backend *cpu = c.machine->backends[1];
    ASSERT_OK(sr_graph_copy_new(cpu, c.graph, NULL, &copy, &err), &err);
    assert_int_equal(sr_backend_plan_new(cpu, sr_graph_copy_view(copy), &plan, &err), SR_COMPUTE);
    assert_string_equal(sr_error_find(&err, "node")->text, "y");
    assert_string_equal(sr_error_find(&err, "backend")->text, "CPU");
    assert_null(plan);
    sr_error_clear(&err);
    sr_graph_copy_free(copy);
    execute_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),     cmocka_unit_test(test_stops_anywhere), cmocka_unit_test(test_stops_at_once),
        cmocka_unit_test(test_optimize), cmocka_unit_test(test_plans),          cmocka_unit_test(test_plan_refused),
    };
    return cmocka_run_group_tests_name("execute", tests, NULL, NULL);
}
