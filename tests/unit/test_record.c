/* What the recorder makes of calls on a scheduler, with the small ggml of tests/record. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sys/wait.h>
#include <time.h>

#include "record/fake_ggml.h"
#include "record/recorder.h"
#include "support/describe_case.h"

/* ---- allocations that fail -------------------------------------------------------------------------------------- */

static _Thread_local long fail_at; /* 0: none; the n-th from now on, and all after it */
static _Thread_local bool has_failed;

static bool fails(void) {
    const bool now = fail_at > 0 && (fail_at == 1 || --fail_at == 0);
    has_failed = has_failed || now;
    return now;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
#pragma GCC visibility push(default) /* a sanitizer's runtime refers to them */
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
int __wrap_asprintf(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));
#pragma GCC visibility pop

void *__wrap_malloc(size_t n) { return fails() ? NULL : __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t size) { return fails() ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *old, size_t n) { return fails() ? NULL : __real_realloc(old, n); }
char *__wrap_strdup(const char *s) { return fails() ? NULL : __real_strdup(s); }
char *__wrap_strndup(const char *s, size_t n) { return fails() ? NULL : __real_strndup(s, n); }

int __wrap_asprintf(char **out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n = fails() ? -1 : vasprintf(out, format, arguments);
    va_end(arguments);
    return n;
}

/* ---- a program -------------------------------------------------------------------------------------------------- */

typedef struct program {
    struct ggml_backend_sched *sched;
    struct ggml_context *context;
    struct ggml_cgraph *graph;
    char *memory;
} program;

static char folder[] = "/tmp/test-record-XXXXXX";
static char output[64];

static void start(program *p) {
    struct ggml_backend *list[] = {fake_backend(0), fake_backend(1)};
    p->sched = ggml_backend_sched_new(list, NULL, 2, 2048, false, true);
}

static void begin(program *p, int n) {
    const size_t most = (size_t)n + 16;
    const size_t size = most * ggml_tensor_overhead() + ggml_graph_overhead_custom(most, false) + 4096;
    p->memory = __real_calloc(1, size);
    p->context = ggml_init((struct ggml_init_params){size, p->memory, true});
    p->graph = ggml_new_graph_custom(p->context, most, false);
}

static void forget(program *p) {
    ggml_free(p->context);
    free(p->memory);
    p->context = NULL;
    p->memory = NULL;
}

static struct ggml_tensor *leaf(program *p, const char *name, int64_t n, int64_t m) {
    return ggml_set_name(ggml_new_tensor_3d(p->context, 0, n, m, 1), name);
}

static abi_tensor *raw(struct ggml_tensor *t) { return (abi_tensor *)(void *)t; }

static void build_chain(program *p, int n) {
    begin(p, n);
    struct ggml_tensor *x = leaf(p, "x", 4, 2), *y = leaf(p, "y", 4, 2);
    struct ggml_tensor *sum = ggml_add(p->context, x, y);
    for (int i = 1; i < n; i++) {
        sum = ggml_add(p->context, sum, i % 3 ? y : x);
    }
    ggml_build_forward_expand(p->graph, sum);
}

static void run(program *p) {
    ggml_backend_sched_reset(p->sched);
    ggml_backend_sched_alloc_graph(p->sched, p->graph);
    ggml_backend_sched_graph_compute_async(p->sched, p->graph);
}

/* ---- its recording ---------------------------------------------------------------------------------------------- */

static char *read_text(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *all = __real_calloc(1, 1 << 22);
    assert_non_null(all);
    assert_true(fread(all, 1, (1 << 22) - 1, file) > 0);
    fclose(file);
    return all;
}

/* Frees the scheduler and gives the text of its recording. */
static char *end(program *p) {
    ggml_backend_sched_free(p->sched);
    forget(p);
    return read_text(output);
}

static void has(const char *all, const char *part) {
    if (!strstr(all, part)) {
        fail_msg("no '%s' in %s", part, all);
    }
}

static void lacks(const char *all, const char *part) {
    if (strstr(all, part)) {
        fail_msg("'%s' in %s", part, all);
    }
}

static int count(const char *all, const char *part) {
    int n = 0;
    for (const char *at = all; (at = strstr(at, part)) != NULL; at++) {
        n++;
    }
    return n;
}

/* Each test starts with settings and numbers of its own. */
static int reset(void **state) {
    (void)state;
    recorder_settings = (settings){.output = output, .reserves = true, .allocs = true, .max_runs = 256};
    memset(recorder_state, 0, sizeof(*recorder_state));
    while (recorder_recordings) {
        recording *r = recorder_recordings;
        recorder_recordings = r->next;
        free(r);
    }
    for (int i = 1; i < 20; i++) {
        char path[128];
        snprintf(path, sizeof(path), i == 1 ? "%s/bug.json" : "%s/bug-%d.json", folder, i);
        unlink(path);
    }
    return 0;
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

/* What real graphs hold: a cast that names itself, empty places, repeated and broken names, views of views. */
static void test_odd_graph(void **state) {
    (void)state;
    program p = {0};
    start(&p);
    begin(&p, 16);
    struct ggml_tensor *x = leaf(&p, "x", 8, 4), *same = leaf(&p, "x", 8, 4), *empty = leaf(&p, "", 8, 0);
    fake_put(x, 0, NULL);
    fake_put(same, 2, NULL);
    struct ggml_tensor *view = ggml_view_2d(p.context, x, 4, 2, 32, 32);
    struct ggml_tensor *again = ggml_view_2d(p.context, view, 2, 2, 32, 8);
    struct ggml_tensor *cast = ggml_add(p.context, again, NULL);
    raw(cast)->op = FAKE_OP_CPY;
    raw(cast)->type = 1;
    raw(cast)->nb[0] = 2, raw(cast)->nb[1] = 4, raw(cast)->nb[2] = raw(cast)->nb[3] = 8;
    raw(cast)->src[1] = raw(cast);
    struct ggml_tensor *newest = ggml_add(p.context, cast, NULL);
    raw(newest)->op = FAKE_OP_NEWEST;
    raw(newest)->op_params[3] = -7;
    raw(newest)->src[2] = raw(same);
    raw(newest)->src[3] = raw(empty);
    struct ggml_tensor *silu = ggml_add(p.context, newest, NULL);
    raw(silu)->op = FAKE_OP_UNARY;
    raw(silu)->op_params[0] = 99; /* a number of its version */
    ggml_set_name(silu, "a \"quoted\\ \x01 name");
    ggml_build_forward_expand(p.graph, silu);
    raw(newest)->flags = 0;
    run(&p);
    char *all = end(&p);
    has(all, "{\"id\":\"l1\",\"name\":\"x\",\"ne\":[8,4],\"buffer\":\"FAKE_Host.any\"}");
    has(all, "{\"id\":\"l2\",\"name\":\"leaf_2\",\"ne\":[8,0]}");
    has(all, "\"nb\":[4,32,64,64],\"view\":{\"of\":\"l0\",\"offset\":40},\"src\":[\"n0\"],\"op_params\":[8]");
    has(all, "\"op\":\"CPY\",\"name\":\"node_2\",\"type\":\"f16\",\"ne\":[2,2],\"src\":[\"n1\",\"n2\"]");
    has(all, "\"op\":\"NEWEST_OP\",\"name\":\"node_3\",\"ne\":[2,2],\"src\":[\"n2\",null,\"l1\",\"l2\"],"
             "\"op_params\":[0,0,0,-7],\"compute\":false}");
    has(all, "\"op\":\"SILU\",\"name\":\"a \\\"quoted\\\\ \\u0001 name\",\"ne\":[2,2],\"src\":[\"n3\"]}");
    has(all, "\"op\":\"VIEW\",\"name\":\"x (view)\"");
    has(all, "\"supported_by\":[\"CPU\"]");
    sr_description *d = load_text(all);
    assert_int_equal(sr_description_run(d, 0)->graph->n_nodes, 5);
    assert_int_equal(tensor_of(d, 0, "n1")->view_offs, 40);
    sr_description_free(d);
    free(all);
}

/* A node of another graph is a leaf here; a parameter stands among the nodes. */
static void test_outside(void **state) {
    (void)state;
    program p = {0};
    start(&p);
    begin(&p, 8);
    struct ggml_tensor *x = leaf(&p, "x", 4, 2);
    struct ggml_tensor *before = ggml_set_name(ggml_scale(p.context, x, 2.0F), "before");
    struct ggml_tensor *part = ggml_view_2d(p.context, before, 4, 1, 16, 16);
    raw(part)->op = 0; /* seen from a graph that starts after it */
    ggml_set_name(part, "part");
    struct ggml_tensor *sum = ggml_add(p.context, part, before);
    abi_graph *g = (abi_graph *)(void *)p.graph;
    g->nodes[g->n_nodes++] = raw(sum);
    ggml_set_name(sum, "sum");
    raw(sum)->op = FAKE_OP_NEWEST;
    run(&p);
    char *all = end(&p);
    has(all, "{\"id\":\"x1\",\"name\":\"before\",\"ne\":[4,2]}");
    has(all, "{\"id\":\"x0\",\"name\":\"part\",\"ne\":[4],\"view\":{\"of\":\"x1\",\"offset\":16}}");
    has(all, "\"src\":[\"x0\",\"x1\"]");
    sr_description_free(load_text(all));
    free(all);
}

static void test_equal_graphs(void **state) {
    (void)state;
    program p = {0};
    start(&p);
    for (int i = 0; i < 12; i++) {
        build_chain(&p, 5);
        abi_graph *g = (abi_graph *)(void *)p.graph;
        abi_tensor *last = g->nodes[4];
        switch (i) {
        case 6: ggml_set_name((struct ggml_tensor *)(void *)last, "other"); break;
        case 7: last->op_params[15] = 1; break;
        case 8: last->flags |= ABI_FLAG_OUTPUT; break;
        case 9: last->src[2] = last->src[0]; break;
        case 10: fake_put((struct ggml_tensor *)(void *)g->leafs[0], 0, NULL); break;
        default: break;
        }
        run(&p);
        if (i < 11) {
            forget(&p);
        }
    }
    char *all = end(&p);
    assert_int_equal(count(all, "{\"tensors\":"), 6);
    assert_int_equal(count(all, "{\"graph\":\"g0\"}"), 7);
    free(all);
}

static void test_assignments(void **state) {
    (void)state;
    program p = {0};
    start(&p);
    build_chain(&p, 3);
    abi_graph *g = (abi_graph *)(void *)p.graph;
    ggml_backend_sched_set_tensor_backend(p.sched, (struct ggml_tensor *)(void *)g->nodes[1], fake_backend(0));
    ggml_backend_sched_alloc_graph(p.sched, p.graph);
    run(&p); /* it resets first */
    ggml_backend_sched_reset(p.sched);
    ggml_backend_sched_set_tensor_backend(p.sched, (struct ggml_tensor *)(void *)g->nodes[2], fake_backend(1));
    ggml_backend_sched_reserve(p.sched, p.graph);
    ggml_backend_sched_reserve(p.sched, p.graph); /* the reserve before reset it */
    char *all = end(&p);
    assert_int_equal(count(all, "\"backend\":\"FAKE0[host:1]\""), 1);
    assert_int_equal(count(all, "\"backend\":\"CPU\""), 1);
    has(all, "{\"graph\":\"g0\"},\n  {\"graph\":\"g1\"},\n  {\"graph\":\"g2\",\"reserve\":true},\n"
             "  {\"graph\":\"g1\",\"reserve\":true}]}");
    free(all);
}

static void test_calls(void **state) {
    (void)state;
    size_t sizes[2];
    program p = {0};
    start(&p);
    build_chain(&p, 3);
    ggml_backend_sched_graph_compute(p.sched, p.graph); /* allocates by itself */
    ggml_backend_sched_graph_compute(p.sched, p.graph); /* does not */
    ggml_backend_sched_reset(p.sched);
    ggml_backend_sched_reserve_size(p.sched, p.graph, sizes);
    ggml_backend_sched_split_graph(p.sched, p.graph);
    ((abi_graph *)(void *)p.graph)->n_nodes = 0;
    run(&p); /* an empty graph is what the small library fails with; computing tries it again */
    char *all = end(&p);
    has(all, "\"runs\":[\n  {\"graph\":\"g0\"},\n  {\"graph\":\"g0\",\"reserve\":true,\"_call\":\"reserve_size\"},\n"
             "  {\"graph\":\"g0\",\"reserve\":true,\"_call\":\"split_graph\"},\n"
             "  {\"graph\":\"g1\",\"_result\":\"failed\"},\n  {\"graph\":\"g1\",\"_result\":\"failed\"}]}");
    free(all);
}

static void test_data(void **state) {
    (void)state;
    recorder_settings.data = true;
    int32_t ids[2] = {1, 0};
    program p = {0};
    start(&p);
    begin(&p, 8);
    struct ggml_tensor *table = leaf(&p, "table", 4, 2);
    struct ggml_tensor *rows = ggml_set_name(ggml_new_tensor_3d(p.context, 26, 2, 1, 1), "rows");
    ggml_set_input(rows);
    fake_put(table, 1, NULL);
    fake_put(rows, 3, ids);
    ggml_build_forward_expand(p.graph, ggml_get_rows(p.context, table, rows));
    run(&p);
    ggml_backend_sched_reset(p.sched);
    ggml_backend_sched_alloc_graph(p.sched, p.graph);
    ids[0] = 0; /* after it was allocated, before it is computed */
    ggml_backend_sched_graph_compute_async(p.sched, p.graph);
    run(&p);
    ggml_backend_sched_reset(p.sched);
    ggml_backend_sched_alloc_graph(p.sched, p.graph); /* never computed */
    char *all = end(&p);
    assert_int_equal(count(all, "{\"tensors\":"), 3);
    has(all, "\"data\":{\"base64\":\"AQAAAAAAAAA=\"}");
    has(all, "\"data\":{\"base64\":\"AAAAAAAAAAA=\"}");
    has(all, "[\n  {\"graph\":\"g0\"},\n  {\"graph\":\"g1\"},\n  {\"graph\":\"g1\"},\n  {\"graph\":\"g2\"}]}");
    sr_description_free(load_text(all));
    free(all);
}

static void test_names(void **state) {
    (void)state;
    recorder_settings.anonymise = true;
    recording r = {0};
    static const char *const known[] = {"blk.12.attn_q.weight", "Qcur-3", "cache_k_l0 (view) (permuted)", "node_812",
                                        "", "inp_tokens", "kqv_out-7", "ffn_moe_weights_norm-0", "leaf_3"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        assert_string_equal(shown_name(&r, known[i]), known[i]);
    }
    assert_string_equal(shown_name(&r, "alice_voice"), "tensor_0");
    assert_string_equal(shown_name(&r, "/home/alice/x"), "tensor_1");
    assert_string_equal(shown_name(&r, "alice_voice (view)"), "tensor_0 (view)");
    assert_string_equal(shown_name(&r, "alice_voice (view) (copy)"), "tensor_0 (view) (copy)");
    for (int i = 0; i < r.n_names; i++) {
        free(r.names[i].from);
        free(r.names[i].to);
    }
    free(r.names);
    text_clear(&r.name_scratch);
}

/* A file of a scheduler that only measured leaves its name to one that computes, also if it is written already. */
static void test_numbers(void **state) {
    (void)state;
    program a = {0}, b = {0};
    start(&a);
    build_chain(&a, 3);
    ggml_backend_sched_reserve(a.sched, a.graph);
    char *all = read_text(output);
    has(all, "\"reserve\":true");
    free(all);
    start(&b);
    build_chain(&b, 4);
    run(&b);
    all = read_text(output);
    lacks(all, "\"reserve\":true");
    free(all);
    run(&a);
    free(end(&a));
    char other[sizeof(folder) + 16];
    snprintf(other, sizeof(other), "%s/bug-2.json", folder);
    all = read_text(other);
    has(all, "[\n  {\"graph\":\"g0\",\"reserve\":true},\n  {\"graph\":\"g0\"}]");
    free(all);
    free(end(&b));
}

/* Runs of a known graph are written now and then, so that little is missing of a program that is killed. */
static void test_now_and_then(void **state) {
    (void)state;
    program p = {0};
    start(&p);
    build_chain(&p, 3);
    run(&p);
    run(&p);
    char *all = read_text(output);
    assert_int_equal(count(all, "{\"graph\":"), 1);
    free(all);
    recorder_recordings->write_took = 1000;
    recorder_recordings->written_at -= 2000000000;
    run(&p);
    all = read_text(output);
    assert_int_equal(count(all, "{\"graph\":"), 3);
    free(all);
    free(end(&p));
}

/* A child has its own recordings and writes none of its parent's. */
static void test_fork(void **state) {
    (void)state;
    program p = {0};
    start(&p);
    build_chain(&p, 3);
    run(&p);
    run(&p);
    char *before = read_text(output);
    const pid_t pid = fork();
    if (pid == 0) {
        run(&p);
        recordings_flush();
        _exit(recorder_recordings ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    char *after = read_text(output);
    assert_string_equal(before, after);
    free(before);
    free(after);
    free(end(&p));
}

static void *run_many(void *user) {
    program p = {0};
    for (int times = 0; times < 3; times++) {
        start(&p);
        for (int i = 0; i < 10; i++) {
            build_chain(&p, *(const int *)user + i % 2);
            run(&p);
            forget(&p);
        }
        ggml_backend_sched_free(p.sched);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t threads[4];
    static int sizes[4] = {3, 30, 60, 90};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, &sizes[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(recorder_state->numbers, 12);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(recorder_state->files[i].runs, 10);
        assert_int_equal(recorder_state->files[i].graphs, 2);
    }
}

static void *run_once(void *user) {
    ggml_backend_sched_alloc_graph(((program *)user)->sched, ((program *)user)->graph);
    return user;
}

/* What leaves a call otherwise than by returning, as an exception does, leaves no lock behind. */
static void test_unwinding(void **state) {
    (void)state;
    program p = {0};
    pthread_t thread;
    void *result = &p;
    start(&p);
    build_chain(&p, 3);
    fake_leaves = true;
    assert_int_equal(pthread_create(&thread, NULL, run_once, &p), 0);
    pthread_join(thread, &result);
    fake_leaves = false;
    assert_null(result);
    run(&p);
    char *all = end(&p);
    has(all, "[\n  {\"graph\":\"g0\"},\n  {\"graph\":\"g0\"}]");
    free(all);
}

/* Every allocation fails in turn: the program runs on, and nothing is lost (AddressSanitizer would say so). */
static void test_no_memory(void **state) {
    (void)state;
    int32_t ids[2] = {1, 0};
    fflush(stderr);
    const int words = dup(STDERR_FILENO);
    assert_non_null(freopen("/dev/null", "w", stderr));
    bool more = true;
    for (long n = 1; more; n++) {
        program p = {0};
        reset(NULL);
        recorder_settings.data = n % 2;
        recorder_settings.anonymise = true;
        recorder_settings.log = true;
        begin(&p, 8);
        struct ggml_tensor *table = leaf(&p, "a secret", 4, 2);
        struct ggml_tensor *rows = ggml_set_name(ggml_new_tensor_3d(p.context, 26, 2, 1, 1), "rows");
        ggml_set_input(rows);
        fake_put(table, 1, NULL);
        fake_put(rows, 3, ids);
        ggml_build_forward_expand(p.graph, ggml_get_rows(p.context, table, rows));
        has_failed = false;
        fail_at = n;
        start(&p);
        ggml_backend_sched_reserve(p.sched, p.graph);
        run(&p);
        run(&p);
        ggml_backend_sched_free(p.sched);
        fail_at = 0;
        more = has_failed;
        forget(&p);
        assert_true(n < 1000);
    }
    fflush(stderr);
    dup2(words, STDERR_FILENO);
    close(words);
}

/* Of this process, whatever else the machine does. */
static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A thousand nodes: the first time with everything and the file, then as often as they come. */
static void test_cost(void **state) {
    (void)state;
    program p = {0};
    start(&p);
    build_chain(&p, 1000);
    const double begun = seconds();
    run(&p);
    const double first = seconds() - begun;
    for (int i = 0; i < 100; i++) {
        run(&p);
    }
    const double each = (seconds() - begun - first) / 100;
    free(end(&p));
    print_message("1000 nodes: %.2f ms to record and write, %.3f ms each time after\n", first * 1e3, each * 1e3);
    const char *preloaded = getenv("LD_PRELOAD");
    bool is_slow = preloaded && strstr(preloaded, "vgpreload"); /* under Valgrind */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    is_slow = true;
#endif
    assert_true(is_slow || (first < 0.05 && each < 0.002));
}

static int make_folder(void **state) {
    (void)state;
    snprintf(output, sizeof(output), "%s/bug.json", mkdtemp(folder));
    return 0;
}

static int remove_folder(void **state) {
    reset(state);
    char path[sizeof(folder) + 16];
    snprintf(path, sizeof(path), "%s/bug.log", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_no_memory, reset), cmocka_unit_test_setup(test_odd_graph, reset),
        cmocka_unit_test_setup(test_outside, reset), cmocka_unit_test_setup(test_equal_graphs, reset),
        cmocka_unit_test_setup(test_assignments, reset), cmocka_unit_test_setup(test_calls, reset),
        cmocka_unit_test_setup(test_data, reset), cmocka_unit_test_setup(test_names, reset),
        cmocka_unit_test_setup(test_numbers, reset), cmocka_unit_test_setup(test_fork, reset),
        cmocka_unit_test_setup(test_threads, reset), cmocka_unit_test_setup(test_unwinding, reset),
        cmocka_unit_test_setup(test_cost, reset), cmocka_unit_test_setup(test_now_and_then, reset),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
