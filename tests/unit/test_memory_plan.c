/* Tests of memory plans: blocks, peaks, owners, chunks, copies, kept plans that overlap; text, JSON and drawing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sched_run/report.h"
#include "support/insight_case.h"

/* a, then b beside it, c in place of b; d is small: the peak is where a and b are. */
#define GRAPH                                                                                                     \
    "\"tensors\":[{\"name\":\"x\",\"ne\":[64,8],\"flags\":[\"input\"]}," \
    "{\"name\":\"w\",\"ne\":[64,64],\"buffer\":\"w\"}," \
    "{\"name\":\"u\",\"ne\":[64,16],\"buffer\":\"w\"}],"                                                          \
    "\"nodes\":[{\"name\":\"a\",\"op\":\"MUL_MAT\",\"src\":[\"w\",\"x\"]},"                                        \
    "{\"name\":\"b\",\"op\":\"MUL_MAT\",\"src\":[\"w\",\"a\"]},"                                                  \
    "{\"name\":\"c\",\"op\":\"SQR\",\"src\":[\"b\"]},"                                                            \
    "{\"name\":\"d\",\"op\":\"MUL_MAT\",\"src\":[\"u\",\"c\"],\"flags\":[\"output\"]}]"

#define MACHINE(gpu, more)                                                                                        \
    "{\"sched_run\":1,\"backends\":[{\"name\":\"GPU0\",\"device\":\"sim\"" gpu "}," \
    "{\"name\":\"CPU\",\"device\":\"cpu\"}]," \
    "\"buffers\":{\"w\":{\"type\":\"GPU0\",\"usage\":\"weights\"}}," more

static insight_case c;
static sr_memory_plan plan;

static void open_case(const char *text) {
    insight_open(&c, text);
    assert_int_equal(insight_run(&c, 0), SR_OK);
    assert_int_equal(sr_memory_plan_make(c.layout, &plan, &c.err), SR_OK);
}

static void close_case(void) {
    sr_memory_plan_clear(&plan);
    insight_close(&c);
}

static const sr_memory_block *block_of(int buffer, const char *name) {
    for (int32_t i = 0; i < plan.buffers[buffer].n_blocks; i++) {
        char got[SR_MAX_NAME + 1];
        sr_layout_name(c.layout, plan.buffers[buffer].blocks[i].id, got);
        if (strcmp(got, name) == 0) {
            return &plan.buffers[buffer].blocks[i];
        }
    }
    fail_msg("no block %s", name);
    return NULL;
}

static void blocks_and_peak(void **state) {
    (void)state;
    open_case(MACHINE("", GRAPH "}"));
    assert_int_equal(plan.n_buffers, 2);
    assert_false(plan.kept);
    const sr_memory_buffer *gpu = &plan.buffers[0];
    assert_int_equal(gpu->n_blocks, 5); /* the copy of x, and the nodes */
    const sr_memory_block *copy = block_of(0, "GPU0#x#0"), *a = block_of(0, "a"), *b = block_of(0, "b"),
                          *sqr = block_of(0, "c"), *d = block_of(0, "d");
    assert_true(copy->is_copy && !a->is_copy);
    assert_int_equal(copy->last, a->first);
    assert_int_equal(a->last, b->first);
    assert_int_equal(b->last, sqr->first);
    assert_int_equal(b->taken_by, sqr->id);
    assert_int_equal(sqr->in_place_of, b->id);
    assert_int_equal(sqr->offset, b->offset);
    assert_int_equal(d->last, c.layout->view.n_nodes); /* an output is never freed */
    assert_int_equal(a->size, 2048);
    assert_int_equal(gpu->most_live, 4096);
    assert_int_equal(gpu->peak, a->first);
    assert_int_equal(gpu->n_owners, 2);
    assert_int_equal(gpu->copies, 2048);
    assert_int_equal(gpu->copies_at_peak, 2048);
    assert_int_equal(gpu->used, gpu->held);
    assert_int_equal(gpu->held, c.layout->compute_buffer_size[0]);
    assert_int_equal(plan.buffers[1].n_blocks, 1); /* x */
    assert_int_equal(block_of(1, "x")->first, -1);
    close_case();
}

static void chunks(void **state) {
    (void)state;
    open_case(MACHINE(",\"max_buffer_size\":3072", GRAPH "}"));
    const sr_memory_buffer *gpu = &plan.buffers[0];
    assert_int_equal(gpu->n_chunks, 2);
    assert_int_equal(gpu->chunks[0].used + gpu->chunks[1].used, gpu->used);
    assert_int_equal(block_of(0, "a")->chunk, 1);
    assert_int_equal(gpu->blocks[gpu->chunks[1].top].id, block_of(0, "a")->id);
    close_case();
}

static void a_reserve_and_a_kept_plan(void **state) {
    (void)state;
    insight_open(&c, MACHINE("", "\"params\":{\"n\":8},\"tensors\":[{\"name\":\"x\",\"ne\":[64,\"n\"],"
                                 "\"flags\":[\"input\"]},{\"name\":\"w\",\"ne\":[64,64],\"buffer\":\"w\"}],"
                                 "\"nodes\":[{\"name\":\"a\",\"op\":\"MUL_MAT\",\"src\":[\"w\",\"x\"]},"
                                 "{\"name\":\"b\",\"op\":\"MUL_MAT\",\"src\":[\"w\",\"a\"]}],"
                                 "\"runs\":[{\"reserve\":true,\"params\":{\"n\":64}},{}]}"));
    assert_int_equal(insight_run(&c, 0), SR_OK);
    assert_int_equal(sr_memory_plan_make(c.layout, &plan, &c.err), SR_OK);
    const size_t reserved = plan.buffers[0].used;
    assert_int_equal(plan.buffers[0].held, reserved);
    sr_memory_plan_clear(&plan);
    assert_int_equal(insight_run(&c, 1), SR_OK);
    assert_int_equal(sr_memory_plan_make(c.layout, &plan, &c.err), SR_OK);
    assert_true(plan.kept);
    assert_int_equal(plan.n_overlaps, 0);
    assert_int_equal(plan.buffers[0].held, reserved);
    assert_int_equal(block_of(0, "a")->offset, 64 * 64 * 4); /* where the larger one was planned */
    assert_int_equal(block_of(0, "a")->size, 64 * 8 * 4);
    close_case();
}

static void nothing_planned(void **state) {
    (void)state;
    insight_open(&c, MACHINE(",\"memory\":\"22KiB\"", GRAPH "}"));
    /* the buffer fits beside the weights no more; what it would have needed is told all the same */
    assert_int_equal(insight_run(&c, 0), SR_ALLOCATION);
    assert_int_equal(sr_memory_plan_make(c.layout, &plan, &c.err), SR_OK);
    assert_int_equal(plan.buffers[0].held, 0);
    assert_int_equal(plan.buffers[0].used, 4096);
    close_case();
    assert_int_equal(sr_memory_plan_make(NULL, &plan, &c.err), SR_UNAVAILABLE);
    sr_error_clear(&c.err);
}

/* ---- copies side by side --------------------------------------------------------------------------------------- */

static void copies_side_by_side(void **state) {
    (void)state;
    sr_copies_row rows[3] = {0};
    insight_open(&c, MACHINE("", GRAPH "}"));
    const sr_machine *machine = sr_description_machine(c.description);
    const sr_graph *graph = sr_description_run(c.description, 0)->graph;
    for (int i = 0; i < 3; i++) {
        const int n = i < 2 ? 1 + i : 300;
        assert_int_equal(sr_copies_measure(machine->backends, 2, &c.params, graph, NULL, 0, n, &rows[i], &c.err),
                         SR_OK);
    }
    assert_int_equal(rows[0].status, SR_OK);
    assert_int_equal(rows[0].n_graph_inputs, 0);
    assert_int_equal(rows[0].n_split_inputs, 1);
    assert_int_equal(rows[0].sizes[0], 4096);
    assert_int_equal(rows[1].n_graph_inputs, 1);
    assert_int_equal(rows[1].slot_bytes, 4096); /* x on the CPU, and its copy on the GPU */
    assert_int_equal(rows[1].copies[0], 4096);
    assert_int_equal(rows[1].sizes[1], 4096);
    assert_int_equal(rows[1].n_multiplied, 2);
    assert_int_equal(rows[2].status, SR_INVALID);
    insight_expect(rows[2].message, "1 to 255");
    const sr_copies_user user = {sr_graph_find(graph, "a"), 1};
    sr_copies_row_clear(&rows[0]);
    assert_int_equal(sr_copies_measure(machine->backends, 2, &c.params, graph, &user, 1, 1, &rows[0], &c.err), SR_OK);
    assert_int_equal(rows[0].n_split_inputs, 2); /* the weights of a are copied to the CPU, a to the GPU */
    for (int i = 0; i < 3; i++) {
        sr_copies_row_clear(&rows[i]);
    }
    close_case();
}

/* ---- reports --------------------------------------------------------------------------------------------------- */

static bool append(void *user, const char *text, size_t length) {
    sr__str_append(user, text, length);
    return true;
}

static void a_drawing(void **state) {
    (void)state;
    sr__str text = {0};
    sr_sink sink = {append, &text};
    const sr_error none = {0};
    open_case(MACHINE("", "\"tensors\":[{\"name\":\"<x&\\\"y>\",\"ne\":[64,8],\"flags\":[\"input\"]},"
                          "{\"name\":\"w\",\"ne\":[64,64],\"buffer\":\"w\"}],\"nodes\":[{\"name\":\"a\","
                          "\"op\":\"MUL_MAT\",\"src\":[\"w\",\"<x&\\\"y>\"]}]}"));
    sr_run_result result = {.run = c.run, .layout = c.layout, .error = &none, .memory = &plan};
    assert_int_equal(sr_report_memory_svg(&result, &sink, &c.err), SR_OK);
    insight_expect(sr__str_text(&text), "memory of run 0");
    insight_expect(sr__str_text(&text), "&lt;x&amp;&quot;y&gt;");
    insight_expect(sr__str_text(&text), "<title>a\n2048 bytes at 2048\nfrom node 0 a to end</title>");
    sr__str_clear(&text);
    result.memory = NULL;
    assert_int_equal(sr_report_memory_svg(&result, &sink, &c.err), SR_OK);
    insight_expect(sr__str_text(&text), "nothing was scheduled");
    sr__str_free(&text);
    close_case();
}

static void every_allocation_fails(void **state) {
    (void)state;
    insight_open(&c, MACHINE("", GRAPH "}"));
    assert_int_equal(insight_run(&c, 0), SR_OK);
    const long before = sr__allocation_count();
    assert_int_equal(sr_memory_plan_make(c.layout, &plan, &c.err), SR_OK);
    const long total = sr__allocation_count() - before;
    sr_memory_plan_clear(&plan);
    assert_true(total > 10);
    for (long n = 1; n <= total; n++) {
        sr__fail_allocations(n, n % 2 == 0);
        assert_int_equal(sr_memory_plan_make(c.layout, &plan, &c.err), SR_MEMORY);
        sr__fail_allocations(0, false);
        sr_error_clear(&c.err);
        assert_null(plan.buffers);
    }
    close_case();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_and_peak),     cmocka_unit_test(chunks),    cmocka_unit_test(a_reserve_and_a_kept_plan),
        cmocka_unit_test(nothing_planned),     cmocka_unit_test(a_drawing), cmocka_unit_test(copies_side_by_side),
        cmocka_unit_test(every_allocation_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
