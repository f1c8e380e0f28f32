/* Tests of the rules by date: finding them, and what each change does to a small graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/build.h"

static void dates_and_names_are_found(void **state) {
    (void)state;
    int n;
    const sr_revision *all = sr_revisions(&n);
    assert_int_equal(n, 15);
    for (int i = 1; i < n; i++) {
        assert_true(strcmp(all[i - 1].date, all[i].date) < 0); /* oldest first */
    }
    for (int i = 0; i < n; i++) {
        assert_ptr_equal(sr_revision_find(all[i].name), &all[i]);
        assert_ptr_equal(sr_revision_find(all[i].date), &all[i]);
    }
    assert_string_equal(sr_revision_find("2025-06-01")->name, "op-offload");
    assert_string_equal(sr_revision_find("2025-08")->name, "used-experts");
    assert_string_equal(sr_revision_find("2024-03-15")->name, "copies");
    assert_string_equal(sr_revision_find("2025")->name, "reserve-users");
    assert_string_equal(sr_revision_find("2030")->name, "full-splits");
    assert_string_equal(sr_revision_find("latest")->name, "full-splits");
    assert_null(sr_revision_find("2019"));
    assert_null(sr_revision_find("2025-6-1"));
    assert_null(sr_revision_find("yesterday"));
    assert_null(sr_revision_find(""));
    sr_sched_params params;
    sr_sched_params_init(&params);
    assert_int_equal(params.max_split_inputs, 30);
    assert_true(params.rules.reserve_keeps_users);
    assert_false(params.rules.attention_ignores_weights);
}

static sr_sched *sched_at(sr_machine *machine, const char *date, int n_copies) {
    sr_error err = {0};
    sr_sched_params params;
    sr_sched *sched;
    sr_sched_params_init(&params);
    sr_sched_params_set_rules(&params, sr_revision_find(date));
    params.n_copies = n_copies;
    ASSERT_OK(sr_sched_new(machine->backends, NULL, machine->n_backends, &params, &sched, &err), &err);
    return sched;
}

/* n user inputs added one by one to a product on GPU0. */
static sr_graph *graph_of_inputs(sr_buffer *weights, int n) {
    sr_graph *g = build_graph("inputs");
    int32_t last = build_leaf(g, "x", 64, 4, SR_FLAG_INPUT, NULL);
    const int32_t w = build_leaf(g, "w", 64, 64, 0, weights);
    int32_t inputs[64];
    for (int i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof(name), "p%d", i);
        inputs[i] = build_leaf(g, name, 64, 4, SR_FLAG_INPUT, NULL);
    }
    last = build_node(g, "y", SR_OP_MUL_MAT, w, last, -1, 0, 0, 0);
    for (int i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof(name), "s%d", i);
        last = build_node(g, name, SR_OP_ADD, last, inputs[i], -1, 0, 0, 0);
    }
    build_finish(g);
    return g;
}

static void full_splits_follow_their_time(void **state) {
    (void)state;
    sr_error err = {0};
    sr_machine *machine = build_machine("GPU0 CPU");
    sr_buffer *weights = build_buffer(machine, "GPU0", 1 << 16, SR_USAGE_WEIGHTS);
    sr_graph *g = graph_of_inputs(weights, 40);
    static const struct { const char *date; int n_splits; } cases[] = {
        {"2024-03-27", 5}, {"2025-05-13", 5}, {"reference", 2}, {"2026-08-04", 2}, {"2026-09-04", 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sr_sched *sched = sched_at(machine, cases[i].date, 1);
        ASSERT_OK(sr_sched_alloc_graph(sched, g, &err), &err);
        assert_int_equal(sr_sched_n_splits(sched), cases[i].n_splits);
        const sr_layout *l = sr_sched_layout(sched);
        if (strcmp(cases[i].date, "2026-09-04") == 0) {
            assert_int_equal(l->graph_copy_size, 42 + 41 * 2); /* real inputs count */
        } else if (strcmp(cases[i].date, "reference") == 0) {
            assert_int_equal(l->graph_copy_size, 42 + 2 * 30 * 2);
        }
        sr_sched_free(sched);
    }
    sr_graph_free(g);
    sr_buffer_free(weights);
    sr_machine_free(machine);
}

static void old_rules_have_no_copies_and_few_splits(void **state) {
    (void)state;
    sr_error err = {0};
    sr_machine *machine = build_machine("GPU0 CPU");
    sr_buffer *gpu = build_buffer(machine, "GPU0", 1 << 16, SR_USAGE_WEIGHTS);
    sr_buffer *cpu = build_buffer(machine, "CPU", 1 << 16, SR_USAGE_WEIGHTS);
    sr_graph *g = build_graph("zigzag");
    int32_t last = build_leaf(g, "x", 64, 4, SR_FLAG_INPUT, NULL);
    const int32_t w0 = build_leaf(g, "w0", 64, 64, 0, gpu), w1 = build_leaf(g, "w1", 64, 64, 0, cpu);
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof(name), "y%d", i);
        last = build_node(g, name, SR_OP_MUL_MAT, i % 2 ? w1 : w0, last, -1, 0, 0, 0);
    }
    build_finish(g);
    sr_sched *sched = sched_at(machine, "2024-01", 4);
    assert_int_equal(sr_sched_n_copies(sched), 1);
    assert_int_equal(sr_sched_alloc_graph(sched, g, &err), SR_LIMIT);
    assert_int_equal(sr_error_find(&err, "limit")->number, 256);
    assert_string_equal(sr_error_find(&err, "node")->text, "y256");
    sr_sched_free(sched);
    sched = sched_at(machine, "2024-08-27", 4);
    assert_int_equal(sr_sched_n_copies(sched), 4);
    ASSERT_OK(sr_sched_alloc_graph(sched, g, &err), &err);
    assert_int_equal(sr_sched_n_splits(sched), 300);
    sr_sched_free(sched);
    sr_error_clear(&err);
    sr_graph_free(g);
    sr_buffer_free(gpu);
    sr_buffer_free(cpu);
    sr_machine_free(machine);
}

static void a_reserve_heeds_users_since_2025_11(void **state) {
    (void)state;
    sr_error err = {0};
    sr_machine *machine = build_machine("GPU0 CPU");
    sr_buffer *gpu = build_buffer(machine, "GPU0", 1 << 16, SR_USAGE_WEIGHTS);
    sr_graph *g = build_graph("g");
    const int32_t x = build_leaf(g, "x", 64, 4, SR_FLAG_INPUT, NULL), w = build_leaf(g, "w", 64, 64, 0, gpu);
    const int32_t y = build_node(g, "y", SR_OP_MUL_MAT, w, x, -1, 0, 0, 0);
    const int32_t z = build_node(g, "z", SR_OP_SQR, y, -1, -1, 0, 0, 0);
    build_finish(g);
    for (int i = 0; i < 2; i++) {
        sr_sched *sched = sched_at(machine, i ? "2025-11-17" : "2025-09-05", 1);
        ASSERT_OK(sr_sched_set_tensor_backend(sched, g, z, 1, &err), &err);
        ASSERT_OK(sr_sched_reserve(sched, g, &err), &err);
        assert_int_equal(sr_sched_tensor_backend(sched, z), i);
        sr_sched_free(sched);
    }
    sr_graph_free(g);
    sr_buffer_free(gpu);
    sr_machine_free(machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_and_names_are_found),
        cmocka_unit_test(full_splits_follow_their_time),
        cmocka_unit_test(old_rules_have_no_copies_and_few_splits),
        cmocka_unit_test(a_reserve_heeds_users_since_2025_11),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
