/*
 * Tests that run every finding on every recorded schedule: names exist, costs are those of the layout, plans hold, and
 * healthy graphs stay silent.  Nothing is executed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>

#include "analyze/lint_history.h"
#include "support/lint_case.h"

/* One description with a scheduler; the case of lint_case.h, from a file. */
typedef struct golden { lint_case c; const char *file; int run; } golden;

static const sr_graph *graph_of(const golden *g) { return sr_description_run(g->c.description, g->run)->graph; }

#define REQUIRE(g, condition, ...)                                              \
    do {                                                                        \
        if (!(condition)) {                                                     \
            print_message("%s, run %d: ", (g)->file, (g)->run);                 \
            fail_msg(__VA_ARGS__);                                              \
        }                                                                       \
    } while (0)

/* ---- what must hold of findings ---------------------------------------------------------------------------------- */

static int32_t find_label(const sr_graph *graph, const char *name) {
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        if (strcmp(sr__label(graph, i), name) == 0) {
            return i;
        }
    }
    return -1;
}

static void check_common(const golden *g) {
    const sr_findings *all = &g->c.findings;
    for (int i = 0; i < all->n; i++) {
        const sr_finding *f = &all->items[i];
        REQUIRE(g, f->message != NULL && f->message[0] != '\0', "%s says nothing", f->kind);
        REQUIRE(g, f->hint != NULL && f->hint[0] != '\0', "%s gives no advice", f->kind);
        for (int j = 0; j < f->n_tensors; j++) {
            REQUIRE(g, find_label(graph_of(g), f->tensors[j]) >= 0, "%s names '%s'", f->kind, f->tensors[j]);
        }
        const sr_finding *before = i > 0 ? f - 1 : NULL;
        REQUIRE(g, before == NULL || before->severity > f->severity ||
                       (before->severity == f->severity && before->bytes >= f->bytes),
                "%s stands before %s", before->kind, f->kind);
    }
}

static uint64_t sum_bytes(const golden *g, const char *kind) {
    uint64_t bytes = 0;
    for (int i = 0; i < g->c.findings.n; i++) {
        bytes += strcmp(g->c.findings.items[i].kind, kind) == 0 ? g->c.findings.items[i].bytes : 0;
    }
    return bytes;
}

/* Every copy of weights is found, and nothing else. */
static void check_weight_copies(const golden *g, const sr_layout *layout) {
    uint64_t bytes = 0;
    for (int32_t i = 0; i < layout->n_inputs; i++) {
        const sr_buffer *buffer = sr__home_buffer(layout->graph, layout->inputs[i]);
        if (buffer != NULL && buffer->usage == SR_USAGE_WEIGHTS) {
            bytes += layout->graph->tensors[layout->inputs[i]].nbytes;
        }
    }
    REQUIRE(g, sum_bytes(g, "weight-copy") == bytes, "weight copies of %llu bytes, found %llu",
            (unsigned long long)bytes, (unsigned long long)sum_bytes(g, "weight-copy"));
}

static const char *detail(const sr_finding *f, const char *key) {
    for (int i = 0; i < f->n_details; i++) {
        if (strcmp(f->details[i].key, key) == 0) {
            return f->details[i].text;
        }
    }
    return NULL;
}

static int backend_called(const sr_layout *layout, const char *name) {
    int b = 0;
    while (b < layout->n_backends && strcmp(layout->backends[b]->name, name) != 0) {
        b++;
    }
    return b;
}

/* What is said to be refused is refused, by a GPU above the backend that has the node. */
static void check_fallbacks(const golden *g, const sr_layout *layout) {
    const sr_graph_view view = sr_graph_whole(layout->graph);
    for (int i = 0; i < g->c.findings.n; i++) {
        const sr_finding *f = &g->c.findings.items[i];
        const char *by = strcmp(f->kind, "fallback") == 0 ? detail(f, "refused_by") : NULL;
        if (by == NULL) {
            continue;
        }
        const int gpu = backend_called(layout, by);
        const int32_t node = find_label(layout->graph, f->tensors[0]);
        REQUIRE(g, gpu < layout->n_backends && gpu < layout->backend_of[node], "'%s' is not below %s", f->tensors[0],
                by);
        REQUIRE(g, layout->backends[gpu]->device->type != SR_DEVICE_ACCEL &&
                       !sr_backend_supports_op(layout->backends[gpu], &view, node, NULL),
                "%s does not refuse '%s'", by, f->tensors[0]);
    }
}

/* A fresh plan holds; one that was kept may not, but then there is a finding. */
static void check_plan(const golden *g, const sr_layout *layout) {
    sr__clobber clobber = {-1, -1};
    bool told = false;
    assert_int_equal(sr__find_clobber(layout, &clobber, NULL), SR_OK);
    for (int i = 0; i < g->c.findings.n && !layout->replanned; i++) {
        const sr_finding *f = &g->c.findings.items[i];
        told |= strcmp(f->kind, "realloc") == 0 && f->severity == SR_SEVERITY_ERROR;
    }
    REQUIRE(g, (clobber.lost >= 0) == told, "tensor %d is written over %d", (int)clobber.writer, (int)clobber.lost);
}

static void check_run(const golden *g) {
    const sr_layout *layout = g->c.sched != NULL ? sr_sched_layout(g->c.sched) : NULL;
    check_common(g);
    if (g->c.error.status != SR_OK) {
        return;
    }
    check_weight_copies(g, layout);
    check_fallbacks(g, layout);
    if (layout->addresses != NULL) {
        check_plan(g, layout);
    }
}

/* ---- going through the files ------------------------------------------------------------------------------------- */

typedef void (*judge_run)(const golden *g);

static void each_run(const char *path, judge_run judge) {
    sr_error err = {0};
    golden g = {.file = path};
    lint_case *c = &g.c;
    if (sr_description_load(path, &(sr_load_options){0}, &c->description, &err) != SR_OK) {
        fail_msg("%s: %s", path, sr_error_message(&err));
    }
    const sr_sched_settings settings = sr_description_settings(c->description);
    sr_sched_params_init(&c->params);
    c->params.graph_size = settings.graph_size;
    c->params.n_copies = settings.n_copies;
    c->params.op_offload = settings.op_offload;
    assert_int_equal(sr_lint_history_new(&c->history, NULL), SR_OK);
    for (g.run = 0; g.run < sr_description_n_runs(c->description); g.run++) {
        lint_case_run(c, g.run, false);
        judge(&g);
    }
    lint_case_close(c);
}

static int each_file(const char *folder, judge_run judge) {
    DIR *dir = opendir(folder);
    int n = 0;
    if (dir == NULL) {
        fail_msg("no folder %s", folder);
    }
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        char path[512];
        const size_t length = strlen(e->d_name);
        if (length > 5 && strcmp(e->d_name + length - 5, ".json") == 0) {
            snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
            each_run(path, judge);
            n++;
        }
    }
    closedir(dir);
    return n;
}

static void captures(void **state) {
    (void)state;
    assert_true(each_file("tests/golden/captures", check_run) > 50);
}

static void sequences(void **state) {
    (void)state;
    assert_true(each_file("tests/golden/sequences", check_run) > 10);
}

static void our_graphs(void **state) {
    (void)state;
    assert_true(each_file("graphs/teaching", check_run) > 5);
    assert_true(each_file("graphs/models", check_run) > 3);
    assert_true(each_file("graphs/reports", check_run) > 20);
}

/* ---- healthy graphs ---------------------------------------------------------------------------------------------- */

/* Nothing but information. */
static void want_silence(const golden *g) {
    for (int i = 0; i < g->c.findings.n; i++) {
        const sr_finding *f = &g->c.findings.items[i];
        REQUIRE(g, f->severity == SR_SEVERITY_INFO, "%s: %s", f->kind, f->message);
    }
}

/* On the CPU alone, and with everything on one GPU or two. */
static void healthy_graphs(void **state) {
    (void)state;
    static const char *const names[] = {
        "llama-cpu-dense", "llama-gemma3-cpu", "llama-gpt-oss-cpu-fa", "llama-qwen3moe-cpu", "llama-jamba-cpu",
        "llama-gpt2-vk-full", "llama-gemma3-vk-full", "llama-gemma3-vk2-full", "llama-qwen3moe-vk-full",
        "llama-qwen3moe-vk2-full", "llama-deepseek2-vk-full", "llama-gpt-oss-vk-full-fa", "llama-lfm2-vk-full",
        "llama-jamba-vk-full", "llama-vk-dense-full"};
    for (int i = 0; i < SR_COUNT(names); i++) {
        char path[256];
        snprintf(path, sizeof(path), "tests/golden/captures/%s.json", names[i]);
        each_run(path, want_silence);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captures),
        cmocka_unit_test(sequences),
        cmocka_unit_test(our_graphs),
        cmocka_unit_test(healthy_graphs),
    };
    return cmocka_run_group_tests_name("lint_goldens", tests, NULL, NULL);
}
