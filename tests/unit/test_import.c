/*
 * test_import.c - descriptions out of debug logs (src/describe/log_*.c, import_log.c).
 *
 * Layer: tests.  Forms and front-ends are gone through by the cases import-*.cmd and by golden/import.sh.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "describe/log.h"
#include "sched_run/import.h"
#include "support/describe_case.h"

/* What an import told, a letter a message: s, i, m; and the messages. */
typedef struct told { sr__str kinds, lines; } told;

static void tell(void *user, sr_import_note kind, const char *message) {
    told *t = user;
    sr__str_append(&t->kinds, &"sim"[kind], 1);
    sr__str_puts(&t->lines, message);
    sr__str_puts(&t->lines, "\n");
}

static char *import(const char *log, sr_import_options *options, sr_import_result *result) {
    sr_error err = {0};
    char *text = NULL;
    if (sr_import_log(log, strlen(log), "case.log", options, &text, result, &err) != SR_OK) {
        fail_msg("%s", sr_error_message(&err));
    }
    sr_error_clear(&err);
    return text;
}

static sr_description *imported(const char *log) {
    char *text = import(log, NULL, NULL);
    sr_description *d = load_text(text);
    free(text);
    return d;
}

static const char *source_of(const sr_description *d, const char *node, int j) {
    const sr_graph *graph = sr_description_run(d, 0)->graph;
    return graph->tensors[graph->srcs[tensor_of(d, 0, node)->src_begin + j]].id;
}

static const char *backend_of(const sr_description *d, const char *id) {
    const sr_run *run = sr_description_run(d, 0);
    const int32_t tensor = sr_graph_find(run->graph, id);
    for (int i = 0; i < run->n_assignments; i++) {
        if (run->assignments[i].tensor == tensor) {
            return sr_description_machine(d)->backends[run->assignments[i].backend]->name;
        }
    }
    return "";
}

/* ---- fields ----------------------------------------------------------------------------------------------------- */

static sr__log_entry entry_of(const char *text, int width) {
    sr__log_entry entry;
    int out_width;
    assert_non_null(sr__log_read_entry(text, text + strlen(text), width, &entry, &out_width));
    return entry;
}

static void assert_span(sr__span span, const char *text) {
    if (!sr__span_is(span, text)) {
        fail_msg("'%.*s' is not '%s'", (int)span.length, span.text, text);
    }
}

static void test_entries(void **state) {
    (void)state;
    static const struct { const char *text, *name, *backend, *cause; int64_t size; } cases[] = {
        {"               norm-0 (  16K) [Vulka    2.sup]", "norm-0", "Vulka", "2.sup", 16384},
        {"                      (   0K) [  CPU         ]", "", "CPU", "", 0},
        {" linear_attn_out-0 (re (1288M) [ NULL    4.cpy]", "linear_attn_out-0 (re", "", "4.cpy", 1288LL << 20},
        {"          a [x] (y)(2) (   1K) [RPC[1   1.wgt0]", "a [x] (y)(2)", "RPC[1", "1.wgt0", 1024},
        {"                    b (   1K) [RPC]1         ]", "b", "RPC]1", "", 1024},
        {" x ( 2KiB) [CUDA0 1.off]", "x", "CUDA0", "1.off", 2048},
        {" x (2K)[ NULL4.cpy]", "x", "NULL", "4.cpy", 2048},
        {"                    x (12345) [CUDA0         ]", "x", "CUDA0", "", 12345LL << 20},
        {"                    x (1023) [CUDA   1.src0]", "x", "CUDA", "1.src0", 1023 << 10},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        const sr__log_entry e = entry_of(cases[i].text, 0);
        assert_span(e.name, cases[i].name);
        assert_span(e.cause, cases[i].cause);
        assert_int_equal(e.size, cases[i].size);
        assert_true(e.is_null ? cases[i].backend[0] == '\0' || cases[i].backend[0] == 'N'
                              : sr__span_is(e.backend, cases[i].backend));
    }
    assert_span(entry_of("[2026-05-01][DEBUG]                norm-0 (  16K) [Vulka         ]", 20).name, "norm-0");
    assert_span(entry_of("D               norm-0 (  16K) [Vulka         ]", 20).name, "norm-0");
    static const char *const none[] = {"", "x", "x (2K)", "x (2K) [", "x (K) [a]", "x (12) [a b]", "(2K) [abc"};
    for (int i = 0; i < SR_COUNT(none); i++) {
        sr__log_entry e;
        int width;
        assert_null(sr__log_read_entry(none[i], none[i] + strlen(none[i]), 20, &e, &width));
    }
}

static void test_view_names(void **state) {
    (void)state;
    static const struct { const char *name; bool cut, is_view; const char *base; } cases[] = {
        {"q-0 (view)", false, true, "q-0"},          {"q-0 (view) (permuted)", false, true, "q-0 (view)"},
        {"linear_attn_out-0 (r", true, true, "linear_attn_out-0"}, {"linear_attn_out-0 (r", false, false, ""},
        {" (transposed)", false, true, ""},          {"q-0 (copy)", false, false, ""},
        {"q-0 (viewed)", false, false, ""},          {"q-0", true, false, ""},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        const sr__span name = {cases[i].name, (int32_t)strlen(cases[i].name)};
        sr__span base;
        assert_int_equal(sr__log_is_view_name(name, cases[i].cut, &base), cases[i].is_view);
        if (cases[i].is_view) {
            assert_span(base, cases[i].base);
        }
    }
}

/* ---- which names mean which tensor ------------------------------------------------------------------------------ */

#define N(number, op, name, size, backend) "node #" number " (" op "): " name " (" size ") [" backend "]:"
#define S(name, size, backend) " " name " (" size ") [" backend "]"

/* Names repeat; the newest of the size and backend is meant. */
static void test_repeated_names(void **state) {
    (void)state;
    sr_description *d = imported("## SPLIT #0: CPU # 0 inputs\n" N("0", "ADD", "x", "4K", "CPU") S("a", "4K", "CPU")
                                 "\n" N("1", "MUL", "x", "4K", "CPU") S("x", "4K", "CPU") "\n"
                                 N("2", "MUL", "x", "8K", "CPU") S("x", "4K", "CPU") "\n"
                                 N("3", "MUL", "", "4K", "CPU") S("x", "4K", "CPU") S("x", "8K", "CPU") "\n"
                                 N("4", "MUL", "y", "4K", "CPU") S("", "4K", "CPU") "\n");
    assert_string_equal(source_of(d, "x", 0), "a");
    assert_string_equal(source_of(d, "x@1", 0), "x");
    assert_string_equal(source_of(d, "x@2", 0), "x@1");
    assert_string_equal(source_of(d, "node@3", 0), "x@1");
    assert_string_equal(source_of(d, "node@3", 1), "x@2");
    assert_string_equal(source_of(d, "y", 0), "node@3");
    assert_string_equal(backend_of(d, "y"), "CPU");
    sr_description_free(d);
}

/* Numbers that are left out are views; a name that says so is one, of the tensor it names. */
static void test_views(void **state) {
    (void)state;
    sr_description *d = imported("## SPLIT #0: GPU0 # 0 inputs\n" N("1", "ADD", "q", "4K", "GPU0") S("a", "4K", "GPU0")
                                 "\n" N("4", "MUL", "y", "4K", "GPU0") S("q (view)", "2K", "GPU0")
                                 S("cache (view)", "2K", "GPU0") "\n"
                                 N("5", "CPY", "q", "4K", "GPU0") S("y", "4K", "GPU0") S("q", "4K", "GPU0") "\n"
                                 N("7", "ADD", "z", "4K", "GPU0") S("y (view) (view)", "4K", "GPU0") "\n");
    const sr_graph *graph = sr_description_run(d, 0)->graph;
    assert_int_equal(graph->n_nodes, 8);
    assert_int_equal(tensor_of(d, 0, "q (view)")->op, SR_OP_VIEW);
    assert_int_equal(tensor_of(d, 0, "q (view)")->view_src, sr_graph_find(graph, "q"));
    assert_int_equal(tensor_of(d, 0, "cache (view)")->op, SR_OP_VIEW);
    assert_string_equal(graph->tensors[tensor_of(d, 0, "cache (view)")->view_src].name, "cache");
    assert_int_equal(tensor_of(d, 0, "y (view) (view)")->view_src, sr_graph_find(graph, "y"));
    assert_string_equal(source_of(d, "q@5", 1), "q@5"); /* a cast names itself */
    sr_description_free(d);
}

#define NBSP "\xc2\xa0"

/* Text out of a page or a converter to Markdown: spaces that must not break, entities, backslashes, tags. */
static void test_escapes(void **state) {
    (void)state;
    static const char *const logs[] = {
        "## SPLIT #0: CPU # 0 inputs\n"
        "node" NBSP "#" NBSP " 0 (" NBSP "ADD): x_1" NBSP "( 4K) [ CPU ]:" NBSP " a" NBSP "( 4K)" NBSP "[ CPU ]\n",
        "<pre>## SPLIT #0: CPU # 0 inputs<br>\n"
        "node #&nbsp;0 (&nbsp;ADD): x_1&#160;( 4K) [ CPU ]: a (&nbsp;4K) [ CPU ]</pre>\n",
        "\\#\\# SPLIT \\#0: CPU \\# 0 inputs\nnode \\# 0 \\(ADD\\): x\\_1 (4K) \\[CPU\\]: a (4K) \\[CPU\\]\n",
    };
    for (int i = 0; i < SR_COUNT(logs); i++) {
        sr_description *d = imported(logs[i]);
        assert_int_equal(tensor_of(d, 0, "x_1")->nbytes, 4096);
        assert_string_equal(source_of(d, "x_1", 0), "a");
        assert_non_null(sr_description_run(d, 0)->expect);
        sr_description_free(d);
    }
}

/* Inputs of one name are several, and no views of each other, although numbers are left out for views. */
static void test_inputs_of_one_name(void **state) {
    (void)state;
    sr_description *d = imported("## SPLIT #0: CPU # 0 inputs\n" N("0", "ADD", "q", "4K", "CPU") S("mask", "4K", "CPU")
                                 "\n## SPLIT #1: GPU0 # 2 inputs: [mask (4K)] [mask (4K)]\n"
                                 N("4", "MUL", "x", "4K", "GPU0") S("GPU0#mask#0", "4K", "NULL") "\n"
                                 N("5", "MUL", "y", "4K", "GPU0") S("GPU0#mask#0", "4K", "NULL") "\n");
    const sr_graph *graph = sr_description_run(d, 0)->graph;
    assert_string_equal(source_of(d, "x", 0), "mask");
    assert_string_not_equal(source_of(d, "y", 0), "mask");
    assert_int_equal(tensor_of(d, 0, source_of(d, "y", 0))->node, -1);
    assert_int_equal(graph->n_nodes, 6);
    sr_description_free(d);
}

/* Of two inputs of one name the header decides; a copy used again is no other input. */
static void test_copies(void **state) {
    (void)state;
    sr_description *d = imported(
        "## SPLIT #0: CPU # 0 inputs\n" N("0", "ADD", "x", "4K", "CPU") S("a", "4K", "CPU") "\n"
        N("1", "MUL", "x", "4K", "CPU") S("a", "4K", "CPU") "\n"
        "## SPLIT #1: GPU0 # 3 inputs: [x (4K)] [x (4K)] [w (1M)]\n"
        N("2", "MUL", "y", "4K", "GPU0") S("GPU0#x#0", "4K", "NULL") S("GPU0#x#0", "4K", "NULL") "\n"
        N("3", "MUL", "z", "4K", "GPU0") S("GPU0#x#0", "4K", "NULL") S("GPU0#w#0", "1M", "NULL") "\n");
    const char *first = source_of(d, "y", 0), *second = source_of(d, "y", 1);
    assert_string_not_equal(first, second);
    assert_string_equal(first, "x@1");
    assert_string_equal(second, "x");
    assert_string_equal(source_of(d, "z", 1), "w");
    assert_string_equal(backend_of(d, "w"), "CPU");
    const sr_expect *expect = sr_description_run(d, 0)->expect;
    assert_int_equal(expect->n_splits, 2);
    assert_int_equal(expect->splits[1].n_inputs, 3);
    assert_int_equal(expect->splits[1].start, 2);
    sr_description_free(d);
}

/* What a backend reads where it lies, against the rest of that memory, is in a type of its own. */
static void test_shared_memory(void **state) {
    (void)state;
    sr_description *d = imported("## SPLIT #0: GPU0 # 1 inputs: [a (4K)]\n"
                                 N("0", "ADD", "x", "4K", "GPU0") S("GPU0#a#0", "4K", "NULL") S("h", "4K", "CPU") "\n"
                                 N("1", "ADD", "z", "4K", "GPU0") S("GPU0#a#0", "4K", "NULL") S("x", "4K", "GPU0") "\n"
                                 "## SPLIT #1: BLAS # 0 inputs\n" N("2", "MUL_MAT", "y", "4K", "BLAS")
                                 S("c", "4K", "CPU") "\n"
                                 "## SPLIT #2: CPU # 0 inputs\n" N("3", "ADD", "c2", "4K", "CPU")
                                 S("y", "4K", "BLAS") "\n");
    const sr_machine *machine = sr_description_machine(d);
    assert_int_equal(machine->n_backends, 3);
    assert_string_equal(machine->backends[0]->name, "GPU0");
    assert_string_equal(machine->backends[1]->name, "BLAS");
    assert_string_equal(machine->backends[2]->name, "CPU");
    sr_description_free(d);
}

/* Ops are names; more inputs than the reference allows set the limit, and numbers of copies their number. */
static void test_settings(void **state) {
    (void)state;
    sr__str log = {0};
    sr__str_puts(&log, "## SPLIT #0: GPU0 # 31 inputs:");
    for (int i = 0; i < 31; i++) {
        sr__str_printf(&log, " [a%d (1K)]", i);
    }
    sr__str_puts(&log, "\n");
    for (int i = 0; i < 31; i++) {
        sr__str_printf(&log, "node #%d (ADD): x%d (1K) [GPU0]: GPU0#a%d#2 (1K) [NULL]\n", i, i, i);
    }
    sr_description *d = imported(log.data);
    const sr_sched_settings settings = sr_description_settings(d);
    assert_int_equal(settings.max_split_inputs, 32);
    assert_int_equal(settings.n_copies, 4);
    assert_int_equal(tensor_of(d, 0, "x3")->op, SR_OP_OPAQUE);
    assert_string_equal(tensor_of(d, 0, "x3")->op_name, "ADD");
    char *plain = expand_text(d);
    assert_non_null(strstr(plain, "\"unknown_ops\": \"all\""));
    assert_non_null(strstr(plain, "\"max_split_inputs\": 32"));
    free(plain);
    sr_description_free(d);
    sr__str_free(&log);
}

/* ---- what is said and what fails -------------------------------------------------------------------------------- */

static const char two[] = "## SPLIT #0: CPU # 0 inputs\n" N("0", "ADD", "x", "4K", "CPU") S("a", "4K", "CPU") "\n\n"
                          "## SPLIT #0: CPU # 0 inputs\n" N("0", "ADD", "x", "8K", "CPU") S("a", "8K", "CPU") "\n\n"
                          "## SPLIT #0: CPU # 0 inputs\n" N("0", "ADD", "x", "4K", "CPU") S("a", "4K", "CPU") "\n";

static void test_several(void **state) {
    (void)state;
    sr_import_options options;
    sr_import_result result;
    told t = {0};
    sr_import_options_init(&options);
    options.tell = tell;
    options.tell_user = &t;
    char *text = import(two, &options, &result);
    assert_int_equal(result.n_schedules, 3);
    assert_int_equal(result.n_imported, 3);
    assert_int_equal(result.n_graphs, 2);
    assert_int_equal(result.n_nodes, 2);
    assert_string_equal(t.kinds.data, "ssiii");
    sr_description *d = load_text(text);
    assert_int_equal(sr_description_n_runs(d), 3);
    assert_ptr_equal(sr_description_run(d, 0)->graph, sr_description_run(d, 2)->graph);
    sr_description_free(d);
    free(text);
    options.only = 1;
    text = import(two, &options, &result);
    d = load_text(text);
    assert_int_equal(sr_description_n_runs(d), 1);
    assert_int_equal(tensor_of(d, 0, "x")->nbytes, 8192);
    sr_description_free(d);
    free(text);
    sr__str_free(&t.kinds);
    sr__str_free(&t.lines);
}

static void expect_told(const char *log, const char *part, int64_t n_imported) {
    sr_import_options options;
    sr_import_result result;
    told t = {0};
    sr_import_options_init(&options);
    options.tell = tell;
    options.tell_user = &t;
    free(import(log, &options, &result));
    assert_int_equal(result.n_imported, n_imported);
    if ((part == NULL) != (strchr(t.kinds.data, 'm') == NULL) ||
        (part != NULL && strstr(t.lines.data, part) == NULL)) {
        fail_msg("'%s' is not in: %s", part != NULL ? part : "nothing missing", t.lines.data);
    }
    sr__str_free(&t.kinds);
    sr__str_free(&t.lines);
}

#define FIRST "## SPLIT #0: CPU # 0 inputs\n" N("0", "ADD", "x", "4K", "CPU")

/* Where a log is cut although every line in it is whole. */
static void test_what_is_missing(void **state) {
    (void)state;
    expect_told("## SPLIT #0: CPU # 0 inputs\nnode #0 (ADD): x (4K) [CPU] use=1: a (4K) [CPU]\n",
                "schedule 0 ends at line 2 with node 0, although that is read (use=1)", 1);
    expect_told("## SPLIT #0: CPU # 0 inputs\nnode #0 (ADD): x (4K) [CPU] use=0: a (4K) [CPU]\n", NULL, 1);
    expect_told(FIRST "\n## SPLIT #0: CPU # 0 inputs\n", "schedule 1, at line 3, has no nodes: it is left out", 1);
    expect_told(FIRST "\n## SPLIT #0: GPU0 # 0 inputs\n" FIRST "\n", NULL, 3); /* a graph of views */
    expect_told(FIRST "\n" N("13", "ADD", "y", "4K", "CPU") S("x", "4K", "CPU") "\n", NULL, 1);
    expect_told(FIRST "\n" N("14", "ADD", "y", "4K", "CPU") S("x", "4K", "CPU") "\n",
                "numbers of 13 nodes are skipped in long rows, the first before node 14", 1);
    /* a copy that a split above the log has made is no sign of a graph that was split twice */
    expect_told("## SPLIT #3: GPU0 # 1 inputs: [a (4K)]\n" N("8", "ADD", "x", "4K", "GPU0") S("GPU0#a#0", "4K", "NULL")
                S("GPU0#pos#0", "1K", "NULL") "\n",
                "what made the copies of 1 tensor is missing", 1);
    expect_told("## SPLIT #0: GPU0 # 1 inputs: [a (4K)]\n" N("0", "ADD", "x", "4K", "GPU0") S("GPU0#a#0", "4K", "NULL")
                S("GPU0#pos#0", "1K", "NULL") "\n",
                "split before: 1 of its sources", 1);
    expect_told("<pre>## SPLIT #0: CPU # 0 inputs<br>\n" N("0", "ADD", "x", "4K", "CPU") S("a", "4K", "CPU") "<br>\n",
                NULL, 1);
}

static void import_fails(const char *log, int only, sr_status expected, const char *part) {
    sr_import_options options;
    sr_error err = {0};
    char *text = NULL;
    sr_import_options_init(&options);
    options.only = only;
    const sr_status status = sr_import_log(log, strlen(log), "case.log", &options, &text, NULL, &err);
    assert_int_equal(status, expected);
    assert_null(text);
    if (strstr(sr_error_message(&err), part) == NULL) {
        fail_msg("'%s' is not in: %s", part, sr_error_message(&err));
    }
    sr_error_clear(&err);
}

static void test_failures(void **state) {
    (void)state;
    import_fails("", -1, SR_DESCRIPTION, "no schedule");
    import_fails("load time: 3 ms\n", -1, SR_DESCRIPTION, "GGML_SCHED_DEBUG=2");
    import_fails("## SPLIT #0: CPU # 0 inputs\n", -1, SR_DESCRIPTION, "set it to 2");
    import_fails(two, 3, SR_USAGE, "no schedule 3: the log has 3");
    sr__str many = {0};
    for (int i = 0; i < 70; i++) {
        sr__str_printf(&many, "## SPLIT #%d: B%d # 0 inputs\nnode #%d (ADD): x (1K) [B%d]:\n", i, i, i, i);
    }
    import_fails(many.data, -1, SR_LIMIT, "64 backends");
    sr__str_free(&many);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static const char whole[] =
    "## SPLIT #0: CPU # 0 inputs\n" N("0", "GET_ROWS", "embd", "4K", "CPU") S("token_embd.weight", "1M", "CPU") "\n"
    "## SPLIT #1: GPU0 # 2 inputs: [embd (4K)] [w (2K)]\n"
    N("2", "MUL", "x", "4K", "GPU0") S("GPU0#embd#1", "4K", "NULL") S("embd (view)", "1K", "CPU") "\n"
    N("3", "ADD", "y", "4K", "GPU0") S("x (view)", "4K", "GPU0") S("GPU0#w#1", "2K", "NULL") "\n"
    "## SPLIT #2: GPU0 # 1 inputs: [blk.0.w (2K)]\n"
    N("4", "MUL", "z", "4K", "GPU0") S("GPU0#blk.0.w#1", "2K", "NULL") S("y", "4K", "GPU0") "\n";

static void test_each_allocation(void **state) {
    (void)state;
    long n = sr__allocation_count();
    free(import(whole, NULL, NULL));
    n = sr__allocation_count() - n;
    assert_true(n > 20);
    for (long k = 1; k <= n; k++) {
        sr_error err = {0};
        char *text = NULL;
        sr__fail_allocations(k, false);
        const sr_status status = sr_import_log(whole, sizeof(whole) - 1, "case.log", NULL, &text, NULL, &err);
        sr__fail_allocations(0, false);
        if (status != SR_MEMORY || text != NULL || err.status != status) {
            fail_msg("allocation %ld of %ld: %s", k, n, sr_status_name(status));
        }
        sr_error_clear(&err);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),       cmocka_unit_test(test_view_names),
        cmocka_unit_test(test_repeated_names), cmocka_unit_test(test_views),
        cmocka_unit_test(test_copies),        cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_several),       cmocka_unit_test(test_failures),
        cmocka_unit_test(test_escapes), cmocka_unit_test(test_what_is_missing),
        cmocka_unit_test(test_inputs_of_one_name),
        cmocka_unit_test(test_settings),      cmocka_unit_test(test_each_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
