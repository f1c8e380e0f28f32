/* Tests of reallocations: every reason, what changed, plans that are kept although they do not suit, sequences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/insight_case.h"

#define BACKENDS(gpu) \
    "\"backends\":[{\"name\":\"GPU0\",\"device\":\"sim\"" gpu "},{\"name\":\"CPU\",\"device\":\"cpu\"}],"
#define WEIGHTS "\"buffers\":{\"w\":{\"type\":\"GPU0\",\"usage\":\"weights\"},\"h\":{\"type\":\"CPU\"}},"
/* `n` rows; with `more` another node. */
#define CHAIN                                                                                             \
    "\"tensors\":[{\"name\":\"x\",\"ne\":[64,\"n\"],\"flags\":[\"input\"]},"                                  \
    "{\"name\":\"w\",\"ne\":[64,64],\"buffer\":\"w\"}],"                                                     \
    "\"nodes\":[{\"name\":\"a\",\"op\":\"MUL_MAT\",\"src\":[\"w\",\"x\"]},"                                  \
    "{\"name\":\"b\",\"op\":\"MUL_MAT\",\"src\":[\"w\",\"a\"]},"                                             \
    "{\"if\":\"more\",\"items\":[{\"name\":\"lora\",\"op\":\"SQR\",\"src\":[\"b\"]}]},"                      \
    "{\"name\":\"y\",\"op\":\"MUL_MAT\",\"src\":[\"w\",\"b\"]}],"

static insight_case c;
static sr_realloc_history *history;
static sr_reallocation r;

static void open_case(const char *text) {
    insight_open(&c, text);
    assert_int_equal(sr_realloc_history_new(&history, &c.err), SR_OK);
}

static void close_case(void) {
    sr_reallocation_clear(&r);
    sr_realloc_history_free(history);
    insight_close(&c);
    history = NULL;
}

static void run(int i) {
    insight_run(&c, i);
    sr_reallocation_clear(&r);
    assert_int_equal(sr_realloc_add(history, i, c.layout, &r, &c.err), SR_OK);
}

static const sr_realloc_line *line_of(int side, const char *name) {
    for (int i = 0; i < r.n_lines; i++) {
        if (r.lines[i].side == side && strcmp(r.lines[i].name, name) == 0) {
            return &r.lines[i];
        }
    }
    fail_msg("no line %s on side %d", name, side);
    return NULL;
}

/* ---- reasons --------------------------------------------------------------------------------------------------- */

static void a_tensor_grew(void **state) {
    (void)state;
    open_case("{\"sched_run\":1," BACKENDS("") WEIGHTS "\"params\":{\"n\":4,\"more\":0}," CHAIN
              "\"runs\":[{\"reserve\":true},{},{\"params\":{\"n\":8}},{}]}");
    run(0);
    assert_true(r.reserve && r.first && r.replanned && !r.reallocated);
    assert_string_equal(r.expectation, "a reserve plans on purpose");
    assert_int_equal(r.buffers[0].before, 0);
    run(1);
    assert_false(r.replanned);
    assert_string_equal(r.reason, "");
    assert_int_equal(r.plan_of, 0);
    run(2);
    assert_true(r.reallocated && r.unexpected && !r.first);
    assert_string_equal(r.reason, "source x of x (view) needs 2.0 KiB, 1.0 KiB were planned");
    insight_expect(r.expectation, "unexpected: no backend changed");
    insight_expect(r.hint, "the reserve of run 0 was not large enough");
    assert_string_equal(r.compared, "nodes");
    assert_int_equal(r.compared_with, 0);
    assert_int_equal(line_of(-1, "x")->bytes, 1024);
    assert_int_equal(line_of(1, "x")->bytes, 2048);
    assert_string_equal(line_of(1, "x")->shape, "f32[64,8]");
    assert_true(r.buffers[0].grew);
    assert_int_equal(r.buffers[0].before * 2, r.buffers[0].after);
    assert_non_null(r.buffers[0].peak_at);
    assert_int_equal(r.buffers[0].n_alive, 2);
    assert_string_equal(r.buffers[0].owners[0], "GPU0#x#0");
    run(3);
    assert_false(r.replanned);
    assert_int_equal(r.plan_of, 2);
    assert_int_equal(r.n_reuses, 0); /* a smaller graph of the same kind suits the plan */
    close_case();
}

static void graphs_take_turns(void **state) {
    (void)state;
    sr_realloc_summary summary;
    int n = 0;
    open_case("{\"sched_run\":1," BACKENDS("") WEIGHTS "\"params\":{\"n\":4,\"more\":0}," CHAIN
              "\"runs\":[{},{\"params\":{\"more\":1}},{},{\"params\":{\"more\":1}}]}");
    run(0);
    run(1);
    assert_true(r.reallocated && !r.unexpected && !r.topology_was_seen);
    assert_int_equal(r.topology, 1);
    insight_expect(r.reason, "6 nodes with copies instead of 5");
    insight_expect(r.expectation, "expected: the size of the graph went from");
    insight_expect(r.hint, "reserve with a graph of this kind");
    assert_string_equal(line_of(1, "lora")->op, "SQR");
    assert_int_equal(line_of(0, "b")->position, 3);
    run(2);
    assert_true(r.topology_was_seen);
    assert_int_equal(line_of(-1, "lora")->position, 4);
    insight_expect(r.hint, "take turns");
    run(3);
    const sr_realloc_row *rows = sr_realloc_rows(history, &n);
    assert_int_equal(n, 4);
    assert_int_equal(rows[2].topology, 0);
    assert_int_equal(sr_realloc_summarize(history, &summary, &c.err), SR_OK);
    assert_true(summary.alternating);
    assert_int_equal(summary.n_reallocated, 3);
    assert_string_equal(summary.message,
                        "3 reallocations after the first allocation; graphs of 2 kinds take turns: A B A B");
    insight_expect(summary.hint, "a scheduler of its own");
    sr_realloc_summary_clear(&summary);
    close_case();
}

static void a_backend_changed(void **state) {
    (void)state;
    open_case("{\"sched_run\":1," BACKENDS("") WEIGHTS
              "\"graphs\":{\"one\":{\"tensors\":[{\"name\":\"x\",\"ne\":[64,4]}],"
              "\"nodes\":[{\"name\":\"a\",\"op\":\"SQR\",\"src\":[\"x\"],\"backend\":\"CPU\"}]},"
              "\"two\":{\"tensors\":[{\"name\":\"x\",\"ne\":[64,4]}],"
              "\"nodes\":[{\"name\":\"a\",\"op\":\"SQR\",\"src\":[\"x\"],\"backend\":\"GPU0\"}]}},"
              "\"runs\":[{\"graph\":\"one\"},{\"graph\":\"two\"}]}");
    run(0);
    run(1);
    assert_true(r.reallocated && !r.unexpected);
    assert_string_equal(r.reason, "position 0, a, is on GPU0, was on CPU");
    insight_expect(r.expectation, "a tensor moved to a backend with another buffer type");
    assert_int_equal(line_of(-1, "a")->backend, 1);
    assert_int_equal(line_of(1, "a")->backend, 0);
    insight_expect(r.hint, "find out why a is where it is (-e)");
    close_case();
}

/* C69: the total shrinks, but one chunk grows. */
static void one_chunk_grows(void **state) {
    (void)state;
    open_case("{\"sched_run\":1," BACKENDS(",\"max_buffer_size\":\"1MiB\"")
              "\"params\":{\"p\":900,\"q\":900},\"tensors\":[{\"name\":\"x\",\"ne\":[256,\"p\"],\"buffer\":\"g\"},"
              "{\"name\":\"z\",\"ne\":[256,\"q\"],\"buffer\":\"g\"}],"
              "\"buffers\":{\"g\":{\"type\":\"GPU0\"}},"
              "\"nodes\":[{\"name\":\"a\",\"op\":\"CONT\",\"src\":[\"x\"],\"flags\":[\"output\"]},"
              "{\"name\":\"b\",\"op\":\"CONT\",\"src\":[\"z\"],\"flags\":[\"output\"]}],"
              "\"runs\":[{},{\"params\":{\"p\":1000,\"q\":500}}]}");
    run(0);
    assert_int_equal(r.buffers[0].n_after, 2);
    run(1);
    assert_true(r.reallocated && r.unexpected);
    insight_expect(r.reason, "node a needs 1000 KiB, 900 KiB were planned");
    assert_true(r.buffers[0].grew && r.buffers[0].after < r.buffers[0].before);
    assert_int_equal(r.buffers[0].chunks_before[0], 900 * 1024);
    assert_int_equal(r.buffers[0].chunks_after[0], 1000 * 1024);
    close_case();
}

/* C62: what a backend needs beyond the tensor's bytes is larger for the smaller batch. */
static void a_small_batch_needs_more(void **state) {
    (void)state;
    open_case("{\"sched_run\":1," BACKENDS(",\"alloc_extra\":[{\"op\":\"SQR\",\"bytes\":\"131072 / ne1\"}]")
              "\"params\":{\"n\":2},\"buffers\":{\"g\":{\"type\":\"GPU0\"}},"
              "\"tensors\":[{\"name\":\"x\",\"ne\":[64,\"n\"],\"buffer\":\"g\"}],"
              "\"nodes\":[{\"name\":\"fa\",\"op\":\"SQR\",\"src\":[\"x\"]}],"
              "\"runs\":[{\"reserve\":true,\"params\":{\"n\":128}},{}]}");
    run(0);
    run(1);
    assert_true(r.unexpected);
    insight_expect(r.reason, "node fa needs 64 KiB, 33 KiB were planned");
    insight_expect(r.hint, "grows where the tensor does not: reserve with the graph for which fa needs most");
    close_case();
}

static void a_reserve_that_failed(void **state) {
    (void)state;
    open_case("{\"sched_run\":1," BACKENDS(",\"memory\":\"64KiB\"") WEIGHTS "\"params\":{\"n\":4,\"more\":0}," CHAIN
              "\"runs\":[{\"reserve\":true},{\"reserve\":true,\"params\":{\"n\":4096}},{}]}");
    run(0);
    run(1);
    assert_int_equal(c.error.status, SR_ALLOCATION);
    run(2);
    assert_true(r.reallocated);
    assert_int_equal(r.plan_of, -1);
    insight_expect(r.hint, "no plan was in force");
    close_case();
}

static void one_backend_plans_by_itself(void **state) {
    (void)state;
    open_case("{\"sched_run\":1,\"backends\":[{\"name\":\"CPU\",\"device\":\"cpu\"}],\"params\":{\"n\":4},"
              "\"tensors\":[{\"name\":\"x\",\"ne\":[64,\"n\"],\"flags\":[\"input\"]}],"
              "\"nodes\":[{\"name\":\"a\",\"op\":\"SQR\",\"src\":[\"x\"]}],\"runs\":[{},{\"params\":{\"n\":8}}]}");
    run(0);
    run(1);
    assert_true(r.replanned && !r.reallocated && !r.unexpected);
    insight_expect(r.expectation, "with a single backend the allocator plans again by itself");
    close_case();
}

/* ---- plans that are kept --------------------------------------------------------------------------------------- */

#define KEPT_TENSORS "\"tensors\":[{\"name\":\"x\",\"ne\":[64,4],\"flags\":[\"input\"]},{\"name\":\"l\",\"ne\":[64]}],"

static void lifetimes_and_flags_changed(void **state) {
    (void)state;
    open_case("{\"sched_run\":1," BACKENDS("") "\"graphs\":{\"one\":{" KEPT_TENSORS
              "\"nodes\":[{\"name\":\"a\",\"op\":\"SIN\",\"src\":[\"x\"]},"
              "{\"name\":\"b\",\"op\":\"SIN\",\"src\":[\"a\"]},"
              "{\"name\":\"c\",\"op\":\"SIN\",\"src\":[\"b\"]},{\"name\":\"d\",\"op\":\"COS\",\"src\":[\"c\"]}]},"
              "\"two\":{" KEPT_TENSORS
              "\"nodes\":[{\"name\":\"a\",\"op\":\"SIN\",\"src\":[\"x\"]},"
              "{\"name\":\"b\",\"op\":\"SIN\",\"src\":[\"a\"],"
              "\"flags\":[\"output\"]},{\"name\":\"c\",\"op\":\"SIN\",\"src\":[\"b\"]},"
              "{\"name\":\"d\",\"op\":\"COS\",\"src\":[\"a\"]}]}},"
              "\"runs\":[{\"graph\":\"one\"},{\"graph\":\"two\"},{\"graph\":\"one\"}]}");
    run(0);
    run(1);
    assert_false(r.replanned);
    assert_true(r.harmful);
    bool lifetime = false, flags = false, overlap = false;
    for (int i = 0; i < r.n_reuses; i++) {
        const sr_realloc_reuse *u = &r.reuses[i];
        lifetime |= u->kind == SR_REUSE_LIFETIME && strcmp(u->tensor, "node 0 a") == 0 &&
                    strcmp(u->text, "is needed until node 3 d, the plan frees it after node 1 b") == 0;
        flags |= u->kind == SR_REUSE_FLAGS && strcmp(u->tensor, "node 1 b") == 0 &&
                 strcmp(u->text, "became an output after it was planned") == 0;
        overlap |= u->kind == SR_REUSE_OVERLAP && strcmp(u->tensor, "node 2 c") == 0 &&
                   strcmp(u->other, "node 0 a") == 0;
    }
    assert_true(lifetime && flags && overlap);
    insight_expect(r.hint, "values will be wrong");
    run(2);
    assert_int_equal(r.n_reuses, 0); /* the plan is of this graph */
    close_case();
}

static void a_leaf_grew_unread(void **state) {
    (void)state;
    open_case("{\"sched_run\":1,\"backends\":[{\"name\":\"CPU\",\"device\":\"cpu\"}],\"params\":{\"n\":16},"
              "\"tensors\":[{\"name\":\"l\",\"ne\":[\"n\"],\"flags\":[\"input\"]},"
              "{\"name\":\"x\",\"ne\":[16],\"flags\":[\"input\"]}],"
              "\"nodes\":[{\"name\":\"a\",\"op\":\"SQR\",\"src\":[\"x\"]}],\"runs\":[{},{\"params\":{\"n\":32}}]}");
    run(0);
    run(1);
    assert_false(r.replanned);
    assert_int_equal(r.reuses[0].kind, SR_REUSE_LEAF_SIZE);
    assert_string_equal(r.reuses[0].tensor, "l");
    insight_expect(r.reuses[0].text, "needs 128 B, the plan has 64 B");
    assert_true(r.harmful); /* it reaches into x */
    close_case();
}

/* ---- the rest -------------------------------------------------------------------------------------------------- */

static void names_of_topologies(void **state) {
    (void)state;
    char name[16];
    sr_topology_name(0, name);
    assert_string_equal(name, "A");
    sr_topology_name(25, name);
    assert_string_equal(name, "Z");
    sr_topology_name(27, name);
    assert_string_equal(name, "B1");
    assert_string_equal(sr_reuse_kind_name(SR_REUSE_OVERLAP), "overlap");
    assert_string_equal(sr_reuse_kind_name(99), "");
}

static sr_status tell_both(void) {
    sr_realloc_summary summary = {0};
    sr_status status = sr_realloc_history_new(&history, &c.err);
    for (int i = 0; i < 2 && status == SR_OK; i++) {
        /* the scheduler itself is spared */
        status = sr_realloc_add(history, i, c.layout, &r, &c.err);
        sr_reallocation_clear(&r);
    }
    if (status == SR_OK) {
        status = sr_realloc_summarize(history, &summary, &c.err);
    }
    sr_realloc_summary_clear(&summary);
    sr_realloc_history_free(history);
    history = NULL;
    return status;
}

static void every_allocation_fails(void **state) {
    (void)state;
    insight_open(&c, "{\"sched_run\":1," BACKENDS("") WEIGHTS "\"params\":{\"n\":4,\"more\":0}," CHAIN
                     "\"runs\":[{},{\"params\":{\"more\":1}}]}");
    insight_run(&c, 0);
    insight_run(&c, 1); /* told twice: the second time as a reallocation */
    const long before = sr__allocation_count();
    assert_int_equal(tell_both(), SR_OK);
    const long total = sr__allocation_count() - before;
    assert_true(total > 50);
    for (long n = 1; n <= total; n++) {
        sr__fail_allocations(n, n % 2 == 0);
        const sr_status status = tell_both();
        sr__fail_allocations(0, false);
        assert_int_equal(status, SR_MEMORY);
        sr_error_clear(&c.err);
    }
    close_case();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_grew),         cmocka_unit_test(graphs_take_turns),
        cmocka_unit_test(a_backend_changed),     cmocka_unit_test(one_chunk_grows),
        cmocka_unit_test(a_small_batch_needs_more), cmocka_unit_test(a_reserve_that_failed),
        cmocka_unit_test(one_backend_plans_by_itself), cmocka_unit_test(lifetimes_and_flags_changed),
        cmocka_unit_test(a_leaf_grew_unread),    cmocka_unit_test(names_of_topologies),
        cmocka_unit_test(every_allocation_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
