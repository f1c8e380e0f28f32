/* Tests of two layouts side by side: what is matched, what moved and why, splits, copies, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sched_run/diff.h"
#include "support/insight_case.h"

#define HEAD                                                                                                      \
    "{\"sched_run\":1,\"backends\":[{\"name\":\"GPU0\",\"device\":\"sim\"},{\"name\":\"CPU\",\"device\":\"cpu\"}]," \
    "\"buffers\":{\"g\":{\"type\":\"GPU0\",\"usage\":\"weights\"},\"c\":{\"type\":\"CPU\",\"usage\":\"weights\"}},"

/* Weights in buffers of these names, an input, then whatever nodes. */
#define TENSORS(w0, w1, w2)                                                                                        \
    "\"tensors\":[{\"name\":\"x\",\"ne\":[64,8],\"flags\":[\"input\"]},"                                           \
    "{\"name\":\"w.0\",\"ne\":[64,64],\"buffer\":\"" w0 "\"},{\"name\":\"w.1\",\"ne\":[64,64],\"buffer\":\"" w1 "\"}," \
    "{\"name\":\"w.2\",\"ne\":[64,64],\"buffer\":\"" w2 "\"}],"

#define NODE(name, op, src) "{\"name\":\"" name "\",\"op\":\"" op "\",\"src\":[" src "]}"
#define MUL(name, w, src) NODE(name, "MUL_MAT", "\"" w "\",\"" src "\"")
#define SQR(name, src) NODE(name, "SQR", "\"" src "\"")

#define CHAIN                                                                                                      \
    "\"nodes\":[" MUL("a", "w.0", "x") "," SQR("b", "a") "," MUL("c", "w.1", "b") "," SQR("d", "c") ","              \
    MUL("e", "w.2", "d") "]}"

static insight_case a, b;
static sr_diff diff;

static void open_run(const char *text_a, const char *text_b, int run) {
    sr_error err = {0};
    insight_open(&a, text_a);
    insight_open(&b, text_b);
    for (int i = 0; i <= run; i++) {
        insight_run(&a, i);
        insight_run(&b, i);
    }
    assert_int_equal(sr_diff_make(a.layout, b.layout, &diff, &err), SR_OK);
}

static void open_both(const char *text_a, const char *text_b) { open_run(text_a, text_b, 0); }

static void close_both(void) {
    sr_diff_clear(&diff);
    insight_close(&a);
    insight_close(&b);
}

static const char *name_a(int32_t tensor) { return a.run->graph->tensors[tensor].name; }
static const char *name_b(int32_t tensor) { return b.run->graph->tensors[tensor].name; }

static void expect_pair(const char *in_a, const char *in_b) {
    const int32_t ta = insight_tensor(&a, in_a), tb = in_b != NULL ? insight_tensor(&b, in_b) : -1;
    if (diff.b_of_a[ta] != tb) {
        fail_msg("'%s' is matched with '%s'", in_a,
                 diff.b_of_a[ta] >= 0 ? b.run->graph->tensors[diff.b_of_a[ta]].id : "none");
    }
    if (tb >= 0) {
        assert_int_equal(diff.a_of_b[tb], ta);
    }
}

/* ---- moves, splits, copies --------------------------------------------------------------------------------------- */

static void identical(void **state) {
    (void)state;
    open_both(HEAD TENSORS("g", "c", "g") CHAIN, HEAD TENSORS("g", "c", "g") CHAIN);
    assert_true(diff.compared);
    assert_false(diff.differs);
    assert_int_equal(diff.n_moves + diff.n_causes + diff.n_places + diff.n_renamed, 0);
    assert_int_equal(diff.n_cuts + diff.n_merges + diff.n_gained + diff.n_lost + diff.n_resized_copies, 0);
    assert_int_equal(diff.n_memory, 2);
    assert_true(diff.memory[0].held_a > 0 && diff.memory[0].live_a > 0);
    close_both();
}

/* The middle goes to the CPU: c and, after it, d. */
static void moved_and_cut(void **state) {
    (void)state;
    open_both(HEAD TENSORS("g", "g", "g") CHAIN, HEAD TENSORS("g", "c", "g") CHAIN);
    assert_true(diff.differs);
    assert_int_equal(diff.n_moves, 1);
    assert_string_equal(name_a(diff.moves[0].a), "c");
    assert_int_equal(diff.moves[0].from, 0);
    assert_int_equal(diff.moves[0].to, 1);
    assert_int_equal(diff.n_places, 1);
    assert_string_equal(name_b(diff.places[0].b), "w.1");
    assert_int_equal(a.layout->n_splits, 1);
    assert_int_equal(b.layout->n_splits, 3);
    assert_int_equal(diff.n_cuts, 2);
    assert_int_equal(diff.n_merges, 0);
    assert_int_equal(diff.cuts[0].a, 0);
    assert_int_equal(diff.cuts[0].b, 1);
    assert_string_equal(name_b(diff.cuts[0].node_b), "c");
    assert_string_equal(name_a(diff.cuts[0].node_a), "c");
    assert_string_equal(name_b(diff.cuts[1].node_b), "d");
    assert_int_equal(diff.n_gained, 2); /* b to the CPU, c back */
    assert_int_equal(diff.gained[0].a, -1);
    assert_string_equal(name_b(b.layout->inputs[diff.gained[0].b]), "b");
    assert_int_equal(diff.n_lost, 0);
    assert_int_equal(diff.n_reasons, 1);
    const sr_diff_reason *reason = &diff.reasons[0];
    assert_int_equal(reason->n_nodes, 1);
    assert_int_equal(reason->first, 0);
    assert_int_equal(reason->root, 0);
    insight_expect(reason->not_from, "GPU0 does not accept CPU");
    insight_expect(reason->not_to, "CPU does not accept GPU0");
    close_both();
}

static void merged(void **state) {
    (void)state;
    open_both(HEAD TENSORS("g", "c", "g") CHAIN, HEAD TENSORS("g", "g", "g") CHAIN);
    assert_int_equal(diff.n_cuts, 0);
    assert_int_equal(diff.n_merges, 2);
    assert_int_equal(diff.merges[0].a, 1);
    assert_int_equal(diff.merges[0].b, 0);
    assert_int_equal(diff.n_lost, 2);
    assert_int_equal(diff.lost[0].b, -1);
    close_both();
}

/* d moves because c does. */
static void the_root_of_a_move(void **state) {
    (void)state;
    static const char nodes[] = "\"nodes\":[" MUL("a", "w.0", "x") "," SQR("b", "a") "," SQR("c", "b") "]}";
    sr__str text_a = {0}, text_b = {0};
    sr__str_printf(&text_a, "%s%s", HEAD TENSORS("g", "g", "g"), nodes);
    sr__str_printf(&text_b, "%s%s", HEAD TENSORS("c", "g", "g"), nodes);
    open_both(sr__str_text(&text_a), sr__str_text(&text_b));
    assert_int_equal(diff.n_moves, 3);
    assert_int_equal(diff.n_reasons, 1);
    assert_string_equal(name_a(diff.moves[diff.reasons[0].root].a), "a");
    close_both();
    sr__str_free(&text_a);
    sr__str_free(&text_b);
}

static void another_cause(void **state) {
    (void)state;
    open_both(HEAD TENSORS("g", "g", "g") "\"nodes\":[" MUL("a", "w.0", "x") "," SQR("b", "a") "]}",
              HEAD TENSORS("g", "g", "g") "\"nodes\":[" MUL("a", "w.0", "x")
              ",{\"name\":\"b\",\"op\":\"SQR\",\"src\":[\"a\"],\"backend\":\"GPU0\"}]}");
    assert_true(diff.differs);
    assert_int_equal(diff.n_moves, 0);
    assert_int_equal(diff.n_causes, 1);
    assert_string_equal(name_b(diff.causes[0].b), "b");
    close_both();
}

static void sizes(void **state) {
    (void)state;
#define SIZED(n)                                                                                                   \
    HEAD "\"tensors\":[{\"name\":\"x\",\"ne\":[64," n "],\"flags\":[\"input\"]},{\"name\":\"w.0\",\"ne\":[64,64]," \
         "\"buffer\":\"g\"}],\"nodes\":[" MUL("a", "w.0", "x") "]}"
    open_both(SIZED("8"), SIZED("16"));
    assert_int_equal(diff.n_moves, 0);
    assert_int_equal(diff.n_resized, 1);
    assert_int_equal(diff.n_resized_copies, 1);
    assert_int_equal(diff.n_gained + diff.n_lost, 0);
    assert_int_equal(diff.memory[0].live_b, 2 * diff.memory[0].live_a);
    close_both();
}

static void backends_of_one_side(void **state) {
    (void)state;
#define MACHINE(name)                                                                                              \
    "{\"sched_run\":1,\"backends\":[{\"name\":\"" name "\",\"device\":\"sim\"},"                                   \
    "{\"name\":\"CPU\",\"device\":\"cpu\"}],"                                                                     \
    "\"buffers\":{\"g\":{\"type\":\"" name "\",\"usage\":\"weights\"}}," TENSORS("g", "g", "g") CHAIN
    open_both(MACHINE("GPU0"), MACHINE("GPU1"));
    assert_int_equal(diff.backend_b_of_a[0], -1);
    assert_int_equal(diff.backend_b_of_a[1], 1);
    assert_int_equal(diff.n_moves, 5);
    assert_int_equal(diff.n_memory, 3);
    assert_int_equal(diff.memory[0].b, -1);
    assert_int_equal(diff.memory[2].a, -1);
    assert_int_equal(diff.n_gained, 1); /* x, to another backend */
    assert_int_equal(diff.n_lost, 1);
    assert_null(diff.reasons[0].not_from);
    close_both();
}

/* ---- matching ---------------------------------------------------------------------------------------------------- */

static void added_and_removed(void **state) {
    (void)state;
    open_both(HEAD TENSORS("g", "g", "g") CHAIN,
              HEAD TENSORS("g", "g", "g") "\"nodes\":[" MUL("a", "w.0", "x") "," SQR("b", "a") "," SQR("b2", "b") ","
              MUL("c", "w.1", "b2") "," MUL("e", "w.2", "c") "]}");
    expect_pair("a", "a");
    expect_pair("b", "b");
    expect_pair("c", "c");
    expect_pair("e", "e");
    assert_int_equal(diff.n_added, 1);
    assert_int_equal(diff.n_added_nodes, 1);
    assert_string_equal(name_b(diff.added[0]), "b2");
    assert_int_equal(diff.n_removed_nodes, 1);
    assert_string_equal(name_a(diff.removed[0]), "d");
    assert_int_equal(diff.n_renamed, 0);
    close_both();
}

static void renamed(void **state) {
    (void)state;
    open_both(HEAD TENSORS("g", "g", "g") CHAIN,
              HEAD TENSORS("g", "g", "g") "\"nodes\":[" MUL("a", "w.0", "x") "," SQR("other", "a") ","
              MUL("also", "w.1", "other") "," SQR("d", "also") "," MUL("e", "w.2", "d") "]}");
    expect_pair("b", "other");
    expect_pair("c", "also");
    assert_int_equal(diff.n_renamed, 2);
    assert_int_equal(diff.n_added + diff.n_removed, 0);
    assert_true(diff.differs);
    close_both();
}

#define NAMED(id, name, src) "{\"id\":\"" id "\",\"name\":\"" name "\",\"op\":\"SQR\",\"src\":[\"" src "\"]}"

/* The second of three nodes of one name is missing: the other two keep their order. */
static void repeated_names(void **state) {
    (void)state;
    open_both(HEAD TENSORS("g", "g", "g") "\"nodes\":[" MUL("a", "w.0", "x") "," NAMED("n1", "r", "a") ","
              MUL("c", "w.1", "n1") "," NAMED("n2", "r", "c") "," MUL("e", "w.2", "n2") "," NAMED("n3", "r", "e") "]}",
              HEAD TENSORS("g", "g", "g") "\"nodes\":[" MUL("a", "w.0", "x") "," NAMED("n1", "r", "a") ","
              MUL("c", "w.1", "n1") "," MUL("e", "w.2", "c") "," NAMED("n2", "r", "e") "]}");
    expect_pair("n1", "n1");
    expect_pair("n2", NULL);
    expect_pair("n3", "n2");
    close_both();
}

/* Names made from positions: one node more shifts all that follow. */
static void automatic_names(void **state) {
    (void)state;
    open_both(HEAD TENSORS("g", "g", "g") "\"nodes\":[" MUL("node_0", "w.0", "x") "," SQR("node_1", "node_0") ","
              SQR("node_2", "node_1") "," MUL("e", "w.2", "node_2") "]}",
              HEAD TENSORS("g", "g", "g") "\"nodes\":[" SQR("node_0", "x") "," MUL("node_1", "w.0", "node_0") ","
              SQR("node_2", "node_1") "," SQR("node_3", "node_2") "," MUL("e", "w.2", "node_3") "]}");
    expect_pair("node_0", "node_1");
    expect_pair("node_1", "node_2");
    expect_pair("node_2", "node_3");
    expect_pair("e", "e");
    assert_int_equal(diff.n_added, 1);
    assert_string_equal(name_b(diff.added[0]), "node_0");
    assert_int_equal(diff.n_renamed, 0);
    close_both();
}

/* A log shows 20 letters of a name, and every view as VIEW. */
static void cut_names(void **state) {
    (void)state;
#define WEIGHT(name) "{\"name\":\"" name "\",\"ne\":[64,8],\"buffer\":\"g\"}"
#define VIEW_NAME "attn_post_norm-0 (reshaped)"
#define CUT(first, second, third, view)                                                                            \
    HEAD "\"tensors\":[{\"name\":\"x\",\"ne\":[64,8],\"flags\":[\"input\"]}," WEIGHT(first) "," WEIGHT(second) ","   \
    WEIGHT(third) "],\"nodes\":[{\"name\":\"" VIEW_NAME "\",\"op\":\"" view "\",\"src\":[\"x\"],\"ne\":[64,8]},"      \
    NODE("a", "MUL", "\"" VIEW_NAME "\",\"" first "\"") "," NODE("b", "MUL", "\"a\",\"" second "\"") ","             \
    NODE("c", "MUL", "\"b\",\"" third "\"") "]}"
    open_both(CUT("blk.0.ffn_gate_exps.weight", "blk.0.ffn_gate_exps.bias", "short.weight", "RESHAPE"),
              CUT("blk.0.ffn_gate_exps.", "blk.0.ffn_gate_exps.b", "short.w", "VIEW"));
    expect_pair("blk.0.ffn_gate_exps.weight", "blk.0.ffn_gate_exps.");
    expect_pair("blk.0.ffn_gate_exps.bias", "blk.0.ffn_gate_exps.b");
    expect_pair(VIEW_NAME, VIEW_NAME);
    expect_pair("short.weight", "short.w"); /* too short to be cut: renamed */
    assert_int_equal(diff.n_renamed, 1);
    assert_int_equal(diff.n_removed + diff.n_added, 0);
    close_both();
#undef WEIGHT
#undef VIEW_NAME
#undef CUT
}

static void nothing_in_common(void **state) {
    (void)state;
    open_both(HEAD TENSORS("g", "g", "g") "\"nodes\":[" SQR("s", "x") "]}",
              HEAD TENSORS("g", "g", "g") "\"nodes\":[" NODE("t", "SQRT", "\"x\"") "]}");
    assert_int_equal(diff.n_added_nodes, 1);
    assert_int_equal(diff.n_removed_nodes, 1);
    assert_int_equal(diff.n_cuts + diff.n_merges, 0);
    assert_true(diff.differs);
    close_both();
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static void failed_runs(void **state) {
    (void)state;
    static const char bad[] = HEAD "\"tensors\":[{\"name\":\"x\",\"ne\":[64],\"flags\":[\"input\"]}],\"nodes\":["
                                   "{\"name\":\"o\",\"op\":\"SQR\",\"src\":[\"x\"],\"supported_by\":[]}]}";
    open_both(bad, HEAD TENSORS("g", "g", "g") CHAIN);
    assert_false(diff.compared);
    assert_true(diff.differs);
    close_both();
    open_both(bad, bad);
    assert_false(diff.compared);
    assert_false(diff.differs);
    close_both();
    sr_error err = {0};
    assert_int_equal(sr_diff_make(NULL, NULL, &diff, &err), SR_OK);
    assert_false(diff.differs);
    sr_diff_clear(&diff);
}

static void failing_allocations(void **state) {
    (void)state;
    open_both(HEAD TENSORS("g", "g", "g") CHAIN, HEAD TENSORS("g", "c", "g") CHAIN);
    const int32_t n_moves = diff.n_moves;
    sr_diff_clear(&diff);
    int n_failed = 0;
    for (long n = 1;; n++) {
        sr_error err = {0};
        const long before = sr__allocation_count();
        sr__fail_allocations(n, false);
        const sr_status status = sr_diff_make(a.layout, b.layout, &diff, &err);
        sr__fail_allocations(0, false);
        if (status == SR_OK) {
            assert_int_equal(diff.n_moves, n_moves);
            sr_diff_clear(&diff);
            if (sr__allocation_count() - before < n) {
                break;
            }
        } else {
            assert_int_equal(status, SR_MEMORY);
            assert_null(diff.moves);
            n_failed++;
        }
        sr_error_clear(&err);
    }
    assert_true(n_failed > 30);
    close_both();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identical),
        cmocka_unit_test(moved_and_cut),
        cmocka_unit_test(merged),
        cmocka_unit_test(the_root_of_a_move),
        cmocka_unit_test(another_cause),
        cmocka_unit_test(sizes),
        cmocka_unit_test(backends_of_one_side),
        cmocka_unit_test(added_and_removed),
        cmocka_unit_test(renamed),
        cmocka_unit_test(repeated_names),
        cmocka_unit_test(automatic_names),
        cmocka_unit_test(cut_names),
        cmocka_unit_test(nothing_in_common),
        cmocka_unit_test(failed_runs),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
