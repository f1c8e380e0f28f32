/* Tests of the graph allocator: life spans, reuse in place, fitting, growing, chunks, failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/base.h"
#include "sched_run/alloc.h"
#include "support/build.h"

typedef struct fixture {
    sr_machine *machine;
    sr_graph_allocator *allocator;
    sr_storage storage[64];
    sr_address addresses[64];
    int16_t ids[64];
} fixture;

static int set_up(void **state) {
    sr_error err = {0};
    fixture *f = calloc(1, sizeof(*f));
    f->machine = build_machine("CPU");
    ASSERT_OK(sr_graph_allocator_new(&f->machine->backends[0]->buffer_type, 1, &f->allocator, &err), &err);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    sr_graph_allocator_free(f->allocator);
    sr_machine_free(f->machine);
    free(f);
    return 0;
}

static void reserve_and_assign(fixture *f, const sr_graph *graph) {
    sr_error err = {0};
    const sr_graph_view view = sr_graph_whole(graph);
    ASSERT_OK(sr_graph_allocator_reserve(f->allocator, &view, f->ids, f->ids, &err), &err);
    assert_true(sr_graph_allocator_fits(f->allocator, &view, NULL));
    ASSERT_OK(sr_graph_allocator_assign(f->allocator, &view, f->storage, f->addresses, &err), &err);
}

static void results_reuse_dying_sources(void **state) {
    fixture *f = *state;
    sr_graph *g = build_graph("g");
    const int32_t x = build_leaf(g, "x", 64, 4, SR_FLAG_INPUT, NULL);
    const int32_t a = build_node(g, "a", SR_OP_SQR, x, -1, -1, 0, 0, 0);
    const int32_t b = build_node(g, "b", SR_OP_SQR, a, -1, -1, 0, 0, 0);
    const int32_t c = build_node(g, "c", SR_OP_SIN, b, -1, -1, 0, 0, 0); /* not of the in-place class */
    const int32_t d = build_node(g, "d", SR_OP_SIN, c, -1, -1, 0, 0, 0);
    build_finish(g);
    reserve_and_assign(f, g);
    assert_int_equal(f->addresses[x].offset, 0);
    assert_int_equal(f->addresses[a].offset, 0);
    assert_int_equal(f->addresses[b].offset, 0);
    assert_int_equal(f->addresses[c].offset, 1024);
    assert_int_equal(f->addresses[d].offset, 0);
    assert_int_equal(sr_graph_allocator_size(f->allocator, 0), 2048);
    sr_graph_free(g);
}

static void outputs_and_sources_with_readers_stay(void **state) {
    fixture *f = *state;
    sr_graph *g = build_graph("g");
    const int32_t x = build_leaf(g, "x", 64, 4, SR_FLAG_INPUT, NULL);
    const int32_t a = build_node(g, "a", SR_OP_SQR, x, -1, -1, 0, 0, SR_FLAG_OUTPUT);
    const int32_t b = build_node(g, "b", SR_OP_SQR, a, -1, -1, 0, 0, 0);
    const int32_t c = build_node(g, "c", SR_OP_ADD, b, x, -1, 0, 0, 0);
    build_finish(g);
    reserve_and_assign(f, g);
    assert_int_not_equal(f->addresses[a].offset, f->addresses[x].offset); /* x is read again */
    assert_int_not_equal(f->addresses[b].offset, f->addresses[a].offset); /* a is an output */
    assert_int_equal(f->addresses[c].offset, f->addresses[b].offset);
    sr_graph_free(g);
}

static void views_follow_their_root_and_keep_it_alive(void **state) {
    fixture *f = *state;
    sr_graph *g = build_graph("g");
    const int32_t x = build_leaf(g, "x", 64, 4, SR_FLAG_INPUT, NULL);
    const int32_t a = build_node(g, "a", SR_OP_SIN, x, -1, -1, 0, 0, 0);
    const int32_t v = build_node(g, "v", SR_OP_RESHAPE, a, -1, -1, 128, 2, 0);
    const int32_t b = build_node(g, "b", SR_OP_SIN, x, -1, -1, 0, 0, 0);
    const int32_t c = build_node(g, "c", SR_OP_SIN, v, -1, -1, 0, 0, 0);
    const int32_t d = build_node(g, "d", SR_OP_SIN, b, -1, -1, 0, 0, 0);
    build_finish(g);
    reserve_and_assign(f, g);
    assert_int_equal(f->addresses[v].offset, f->addresses[a].offset);
    assert_ptr_equal(f->storage[v].buffer, f->storage[a].buffer);
    assert_int_not_equal(f->addresses[b].offset, f->addresses[a].offset);
    assert_int_not_equal(f->addresses[c].offset, f->addresses[a].offset);
    assert_int_equal(f->addresses[d].offset, f->addresses[a].offset); /* freed after its last view was read */
    sr_graph_free(g);
}

static void a_plan_fits_what_is_not_larger(void **state) {
    fixture *f = *state;
    sr_error err = {0};
    sr_misfit misfit;
    sr_graph *graphs[4];
    const int64_t rows[4] = {8, 4, 16, 8};
    for (int i = 0; i < 4; i++) {
        graphs[i] = build_graph("g");
        const int32_t x = build_leaf(graphs[i], "x", 64, rows[i], SR_FLAG_INPUT, NULL);
        const int32_t a = build_node(graphs[i], "a", SR_OP_SIN, x, -1, -1, 0, 0, 0);
        build_node(graphs[i], "b", SR_OP_SIN, a, -1, -1, 0, 0, 0);
        if (i == 3) {
            build_node(graphs[i], "c", SR_OP_SIN, a, -1, -1, 0, 0, 0);
        }
        build_finish(graphs[i]);
    }
    reserve_and_assign(f, graphs[0]);
    const size_t size = sr_graph_allocator_size(f->allocator, 0);
    sr_graph_view view = sr_graph_whole(graphs[1]);
    assert_true(sr_graph_allocator_fits(f->allocator, &view, &misfit));
    assert_int_equal(misfit.kind, SR_MISFIT_NONE);
    view = sr_graph_whole(graphs[2]);
    assert_false(sr_graph_allocator_fits(f->allocator, &view, &misfit));
    assert_int_equal(misfit.kind, SR_MISFIT_NODE);
    assert_int_equal(misfit.position, 0);
    assert_int_equal(misfit.old_size, 2048);
    assert_int_equal(misfit.new_size, 4096);
    view = sr_graph_whole(graphs[3]);
    assert_false(sr_graph_allocator_fits(f->allocator, &view, &misfit));
    assert_int_equal(misfit.kind, SR_MISFIT_NODES);
    assert_int_equal(misfit.old_size, 2);
    assert_int_equal(misfit.new_size, 3);
    view = sr_graph_whole(graphs[2]);
    ASSERT_OK(sr_graph_allocator_reserve(f->allocator, &view, f->ids, f->ids, &err), &err);
    assert_true(sr_graph_allocator_grew(f->allocator, 0));
    assert_true(sr_graph_allocator_size(f->allocator, 0) > size);
    view = sr_graph_whole(graphs[1]);
    ASSERT_OK(sr_graph_allocator_reserve(f->allocator, &view, f->ids, f->ids, &err), &err);
    assert_false(sr_graph_allocator_grew(f->allocator, 0)); /* smaller: what is held stays */
    for (int i = 0; i < 4; i++) {
        sr_graph_free(graphs[i]);
    }
}

static void measuring_records_nothing(void **state) {
    fixture *f = *state;
    sr_error err = {0};
    size_t size = 0;
    sr_graph *g = build_graph("g");
    const int32_t x = build_leaf(g, "x", 64, 4, SR_FLAG_INPUT, NULL);
    build_node(g, "a", SR_OP_SIN, x, -1, -1, 0, 0, 0);
    build_finish(g);
    const sr_graph_view view = sr_graph_whole(g);
    ASSERT_OK(sr_graph_allocator_measure(f->allocator, &view, f->ids, f->ids, &size, &err), &err);
    assert_int_equal(size, 2048);
    assert_int_equal(sr_graph_allocator_size(f->allocator, 0), 0);
    assert_false(sr_graph_allocator_fits(f->allocator, &view, NULL));
    sr_graph_free(g);
}

static void lives_say_who_follows_whom(void **state) {
    fixture *f = *state;
    sr_graph *g = build_graph("g");
    const int32_t x = build_leaf(g, "x", 64, 4, SR_FLAG_INPUT, NULL);
    const int32_t a = build_node(g, "a", SR_OP_SQR, x, -1, -1, 0, 0, 0);
    build_node(g, "b", SR_OP_SIN, a, -1, -1, 0, 0, SR_FLAG_OUTPUT);
    build_finish(g);
    sr_graph_allocator_record_lives(f->allocator, true);
    reserve_and_assign(f, g);
    int32_t n;
    const sr_life *lives = sr_graph_allocator_lives(f->allocator, &n);
    assert_int_equal(n, 3);
    assert_int_equal(lives[0].id, x);
    assert_int_equal(lives[0].first, -1);
    assert_int_equal(lives[0].last, 0);
    assert_int_equal(lives[1].in_place_of, x);
    assert_int_equal(lives[1].last, 1);
    assert_int_equal(lives[2].last, 2); /* an output is never freed */
    sr_graph_free(g);
}

static void a_failed_allocation_names_the_buffer(void **state) {
    (void)state;
    sr_error err = {0};
    sr_machine *machine;
    ASSERT_OK(sr_machine_new(&machine, &err), &err);
    sr_backend_config config;
    sr_backend_config_init(&config);
    config.name = "GPU0";
    config.device = "sim";
    config.has_memory = true;
    config.memory = 1 << 20;
    ASSERT_OK(sr_machine_add_backend(machine, &config, &err), &err);
    sr_backend_config_init(&config);
    config.device = "cpu";
    ASSERT_OK(sr_machine_add_backend(machine, &config, &err), &err);
    ASSERT_OK(sr_machine_finish(machine, &err), &err);
    sr_graph_allocator *allocator;
    ASSERT_OK(sr_graph_allocator_new(&machine->backends[0]->buffer_type, 1, &allocator, &err), &err);
    sr_graph *g = build_graph("g");
    const int32_t x = build_leaf(g, "x", 1024, 512, SR_FLAG_INPUT, NULL);
    build_node(g, "a", SR_OP_SIN, x, -1, -1, 0, 0, 0);
    build_finish(g);
    const sr_graph_view view = sr_graph_whole(g);
    const int16_t ids[2] = {0, 0};
    assert_int_equal(sr_graph_allocator_reserve(allocator, &view, ids, ids, &err), SR_ALLOCATION);
    assert_non_null(strstr(sr_error_message(&err), "GPU0"));
    assert_string_equal(sr_error_find(&err, "buffer_type")->text, "GPU0");
    assert_int_equal(sr_error_find(&err, "size")->number, 2 * 1024 * 512 * 4);
    assert_false(sr_graph_allocator_fits(allocator, &view, NULL)); /* a plan without memory serves nobody */
    sr_error_clear(&err);
    sr_graph_free(g);
    sr_graph_allocator_free(allocator);
    sr_machine_free(machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(results_reuse_dying_sources, set_up, tear_down),
        cmocka_unit_test_setup_teardown(outputs_and_sources_with_readers_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(views_follow_their_root_and_keep_it_alive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_plan_fits_what_is_not_larger, set_up, tear_down),
        cmocka_unit_test_setup_teardown(measuring_records_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lives_say_who_follows_whom, set_up, tear_down),
        cmocka_unit_test(a_failed_allocation_names_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
