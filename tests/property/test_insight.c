/*
 * test_insight.c - explanations, memory plans and reallocations agree with the layout in every golden.
 *
 * Layer: tests.  Every description below tests/golden is scheduled run by run.  What is told is held against the record
 * and against questions asked anew: who supports what, which memory holds what when, what was planned why.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/insight_case.h"

static char file[512];
static const sr_revision *revision; /* NULL: the reference's rules */
static int n_files, n_explained, n_planned, n_reallocated, n_kept, n_clobbered;

#define CHECK(condition)                                                                            \
    do {                                                                                            \
        if (!(condition)) {                                                                         \
            fail_msg("%s: run %d: line %d: %s", file, c->run->index, __LINE__, #condition);         \
        }                                                                                           \
    } while (0)

/* ---- explanations ---------------------------------------------------------------------------------------------- */

static bool supports(const insight_case *c, int backend, int32_t tensor) {
    const sr_graph_view view = sr_graph_whole(c->run->graph);
    return sr_backend_supports_op(c->layout->backends[backend], &view, tensor, NULL);
}

/* Steps follow each other, and each says what was recorded of its pass. */
static void check_steps(const insight_case *c, const sr_explainer *e, const sr_explanation *x) {
    int backend = -1;
    CHECK(x->n_steps == SR_PASS_COUNT);
    for (int i = 0; i < x->n_steps; i++) {
        const sr_explain_step *s = &x->steps[i];
        const sr_decision *d = sr_explainer_decision(e, s->pass, x->tensor);
        CHECK(s->pass == i && s->from == backend && s->text[0] != '\0');
        CHECK((d != NULL) == (s->kind == SR_STEP_SET || s->kind == SR_STEP_NOTED));
        if (d != NULL) {
            CHECK(d->to == s->to && d->cause == s->cause && (d->to >= 0) == (s->kind == SR_STEP_SET));
            CHECK(d->because < 0 || s->because == d->because || d->cause == SR_CAUSE_DST);
        } else {
            CHECK(s->to == s->from);
        }
        CHECK(s->kind != SR_STEP_KEPT || s->from >= 0);
        CHECK(s->kind != SR_STEP_LEFT || s->from < 0);
        CHECK(s->kind != SR_STEP_NOT_REACHED || c->layout->status != SR_OK);
        backend = s->to;
    }
    CHECK(backend == c->layout->backend_of[x->tensor]);
    CHECK(x->steps[SR_PASS_4].cause == x->cause || x->cause == SR_CAUSE_COPY);
}

/* Who came along in a sweep and did not get the node either was the CPU, where it does not spread, or refused. */
static void check_sweeps(const insight_case *c, const sr_explanation *x) {
    for (int pass = SR_PASS_2_GPU_DOWN; pass <= SR_PASS_2_REST_UP; pass++) {
        const sr_explain_step *s = &x->steps[pass];
        if (s->kind != SR_STEP_LEFT || s->because < 0) {
            continue;
        }
        const int comes = c->layout->backend_of[s->because];
        const bool may_stop = pass <= SR_PASS_2_GPU_UP;
        /* an upgrade in pass 3 may have moved the neighbour since */
        CHECK(c->layout->cause_of[s->because] == SR_CAUSE_UPG || !supports(c, comes, x->tensor) ||
              (may_stop && comes == c->layout->n_backends - 1));
    }
}

static void check_why_not(const insight_case *c, const sr_explanation *x) {
    const sr_layout *layout = c->layout;
    int last = -1;
    for (int i = 0; i < x->n_why_not; i++) {
        const sr_why_not *w = &x->why_not[i];
        const bool takes = supports(c, w->backend, x->tensor);
        CHECK(w->backend >= last && w->backend != x->backend && w->text[0] != '\0');
        for (int b = last + 1; b < w->backend; b++) {
            CHECK(b == x->backend); /* every other backend has a reason */
        }
        CHECK((w->kind == SR_WHY_REFUSES) <= !takes);
        CHECK(w->kind != SR_WHY_USER || x->cause == SR_CAUSE_USER);
        CHECK(w->kind != SR_WHY_INPUT || x->cause == SR_CAUSE_INPUT || x->cause == SR_CAUSE_COPY);
        CHECK(w->kind != SR_WHY_PRIORITY || x->cause == SR_CAUSE_UPG || (takes && w->backend > x->backend));
        CHECK(w->kind != SR_WHY_OFFLOADED || x->cause == SR_CAUSE_OFFLOAD);
        if (w->kind == SR_WHY_BUFFER) {
            const sr_tensor *t = &layout->graph->tensors[w->tensor >= 0 ? w->tensor : x->tensor];
            CHECK(t->buffer != NULL &&
                  !sr_backend_supports_buffer_type(layout->backends[w->backend], t->buffer->type));
        }
        last = w->backend;
    }
    for (int b = last + 1; b < layout->n_backends; b++) {
        CHECK(b == x->backend);
    }
}

static void check_explanations(insight_case *c) {
    sr_explainer *e = NULL;
    const sr_status status = sr_explainer_new(c->layout, &e, &c->err);
    if (status == SR_UNAVAILABLE) {
        CHECK(c->layout->status != SR_OK);
        return;
    }
    CHECK(status == SR_OK);
    for (int32_t i = 0; i < c->run->graph->n_tensors; i++) {
        sr_explanation x = {0};
        CHECK(sr_explain(e, i, &x, &c->err) == SR_OK);
        CHECK(x.backend == c->layout->backend_of[i] && x.cause == c->layout->cause_of[i]);
        check_steps(c, e, &x);
        check_sweeps(c, &x);
        check_why_not(c, &x);
        CHECK(x.backend >= 0 || c->layout->status != SR_OK || x.n_hints == 0);
        n_explained++;
        sr_explanation_clear(&x);
    }
    sr_explainer_free(e);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static const sr_memory_block *find_block(const sr_memory_plan *plan, int32_t id, const sr_memory_buffer **out_buffer) {
    const sr_memory_block *found = NULL;
    for (int b = 0; b < plan->n_buffers; b++) {
        for (int32_t i = 0; i < plan->buffers[b].n_blocks; i++) {
            if (plan->buffers[b].blocks[i].id == id) {
                assert_null(found); /* a tensor has one place */
                found = &plan->buffers[b].blocks[i];
                *out_buffer = &plan->buffers[b];
            }
        }
    }
    return found;
}

/* What holds an id's bytes: itself, or for a view its root; -1: memory that is not the scheduler's. */
static int32_t holder_of(const sr_layout *layout, int32_t id) {
    if (id < layout->graph->n_tensors) {
        const sr_tensor *t = &layout->graph->tensors[id];
        const int32_t root = t->view_src >= 0 ? t->view_src : id;
        return layout->graph->tensors[root].buffer == NULL ? root : -1;
    }
    return layout->view.extra[id - layout->graph->n_tensors].kind == SR_EXTRA_COPY ? id : -1;
}

/* A tensor is alive whenever it is written or read. */
static void check_lives(const insight_case *c, const sr_memory_plan *plan) {
    const sr_layout *layout = c->layout;
    for (int32_t p = 0; p < layout->view.n_nodes; p++) {
        const int32_t id = layout->view.nodes[p];
        const bool extra = sr_view_is_extra(&layout->view, id);
        const sr_tensor *t = sr_view_tensor(&layout->view, id);
        for (int j = -1; j < (extra ? 0 : t->n_src); j++) {
            const int32_t read = j < 0 ? id : layout->view.srcs[t->src_begin + j];
            const int32_t holder = read >= 0 ? holder_of(layout, read) : -1;
            const sr_memory_buffer *buffer = NULL;
            const sr_memory_block *block = holder >= 0 ? find_block(plan, holder, &buffer) : NULL;
            if (block != NULL) {
                CHECK(block->first <= p && block->last >= p);
            }
        }
    }
}

static void check_addresses(const insight_case *c, const sr_memory_plan *plan) {
    const sr_layout *layout = c->layout;
    for (int32_t i = 0; layout->addresses != NULL && i < layout->graph->n_tensors + layout->view.n_extra; i++) {
        const sr_memory_buffer *buffer = NULL;
        const sr_memory_block *block = holder_of(layout, i) == i ? find_block(plan, i, &buffer) : NULL;
        if (block == NULL) {
            continue;
        }
        const sr_address *a = &layout->addresses[i];
        CHECK(a->offset == block->offset && a->chunk == block->chunk);
        CHECK(layout->buffer_types[a->buffer_id] == buffer->type);
        CHECK(block->size >= sr_view_tensor(&layout->view, i)->nbytes);
    }
    for (int32_t i = 0; layout->addresses != NULL && i < layout->graph->n_tensors; i++) {
        const sr_memory_buffer *buffer = NULL;
        if (layout->addresses[i].buffer_id >= 0) {
            CHECK(find_block(plan, holder_of(layout, i), &buffer) != NULL);
        }
    }
}

static bool overlap(const sr_memory_block *a, const sr_memory_block *b) {
    const int32_t a_end = a->taken_by >= 0 ? a->last - 1 : a->last;
    const int32_t b_end = b->taken_by >= 0 ? b->last - 1 : b->last;
    return a->chunk == b->chunk && a->size > 0 && b->size > 0 && a->first <= b_end && b->first <= a_end &&
           a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

static void check_buffer(const insight_case *c, const sr_memory_plan *plan, const sr_memory_buffer *buffer) {
    size_t held = 0, used = 0, alive = 0;
    bool overlaps = false;
    for (int k = 0; k < buffer->n_chunks; k++) {
        held += buffer->chunks[k].held;
        used += buffer->chunks[k].used;
        CHECK(c->layout->status != SR_OK || buffer->chunks[k].used <= buffer->chunks[k].held);
    }
    CHECK(held == buffer->held && used == buffer->used);
    CHECK(buffer->most_live <= used || plan->n_overlaps > 0);
    CHECK(held == c->layout->compute_buffer_size[buffer->backend]);
    for (int32_t i = 0; i < buffer->n_owners; i++) {
        const sr_memory_block *block = &buffer->blocks[buffer->owners[i]];
        alive += block->size;
        CHECK(block->first <= buffer->peak && block->last >= buffer->peak);
        CHECK(i == 0 || buffer->blocks[buffer->owners[i - 1]].size >= block->size);
    }
    CHECK(alive == buffer->most_live);
    for (int32_t i = 0; i < buffer->n_blocks && buffer->n_blocks < 600; i++) {
        for (int32_t k = 0; k < i; k++) {
            overlaps |= overlap(&buffer->blocks[k], &buffer->blocks[i]);
        }
    }
    bool told = false;
    for (int32_t i = 0; i < plan->n_overlaps; i++) {
        told |= plan->overlaps[i].backend == buffer->backend;
    }
    CHECK(buffer->n_blocks >= 600 || overlaps == told);
    CHECK(plan->kept || !told);
}

/* Two judge a plan that was kept: the lint, which is quick, and the memory plan, which names all overlaps. */
static void check_verdicts(insight_case *c, sr_lint_history *history, int n_overlaps) {
    const sr_lint_input input = {.layout = c->layout, .error = &c->error, .params = &c->params, .history = history};
    sr_findings findings = {0};
    bool clobbered = false;
    CHECK(sr_lint_run(&input, &findings, &c->err) == SR_OK);
    for (int i = 0; i < findings.n; i++) {
        clobbered |= strcmp(findings.items[i].kind, "realloc") == 0 && findings.items[i].severity == SR_SEVERITY_ERROR;
    }
    CHECK(clobbered == (n_overlaps > 0));
    n_clobbered += clobbered;
    sr_findings_clear(&findings);
}

static void check_memory(insight_case *c, int *out_n_overlaps) {
    sr_memory_plan plan = {0};
    *out_n_overlaps = 0;
    if (!sr_layout_has_splits(c->layout)) {
        CHECK(sr_memory_plan_make(c->layout, &plan, &c->err) == SR_UNAVAILABLE);
        return;
    }
    const sr_status status = sr_memory_plan_make(c->layout, &plan, &c->err);
    CHECK(status == SR_OK || (status == SR_ALLOCATION && c->layout->status == SR_ALLOCATION));
    for (int b = 0; b < plan.n_buffers; b++) {
        check_buffer(c, &plan, &plan.buffers[b]);
        CHECK(!plan.kept || !(c->layout->replanned || c->layout->reserve));
    }
    if (status == SR_OK) {
        check_addresses(c, &plan);
        check_lives(c, &plan);
    }
    n_planned++;
    n_kept += plan.kept;
    *out_n_overlaps = plan.n_overlaps;
    sr_memory_plan_clear(&plan);
}

/* ---- reallocations --------------------------------------------------------------------------------------------- */

static void check_reallocation(const insight_case *c, const sr_reallocation *r, const sr_realloc_row *before) {
    const sr_layout *layout = c->layout;
    const bool splits = sr_layout_has_splits(layout);
    CHECK(r->reallocated == layout->reallocated && r->unexpected == layout->unexpected);
    CHECK(r->replanned == (layout->replanned || (layout->reserve && splits)));
    CHECK((r->topology >= 0) == splits);
    CHECK((r->reason[0] != '\0') == (layout->replanned || r->first));
    CHECK((r->expectation[0] != '\0') == (layout->replanned || layout->reserve));
    CHECK(!layout->unexpected || strncmp(r->expectation, "unexpected", 10) == 0);
    for (int i = 0; i < r->n_buffers; i++) {
        const sr_realloc_buffer *b = &r->buffers[i];
        size_t sum = 0;
        CHECK(b->after == layout->compute_buffer_size[b->backend] && b->grew == layout->grew[b->backend]);
        CHECK(before == NULL || b->before == before->after[b->backend]);
        for (int k = 0; k < b->n_after; k++) {
            sum += b->chunks_after[k];
        }
        CHECK(sum == b->after);
        CHECK(b->grew <= (b->before > 0));
    }
    const bool had_plan = r->plan_of >= 0;
    if (layout->replanned && !r->first && had_plan && splits) {
        CHECK(r->n_lines > 0 && r->hint[0] != '\0');
        n_reallocated++;
    }
    CHECK(r->n_lines == 0 || (layout->replanned && !r->first));
    CHECK(!r->harmful || r->n_reuses_found > 0);
}

static void check_sequence(insight_case *c) {
    sr_realloc_history *history = NULL;
    sr_lint_history *lint_history = NULL;
    sr_realloc_summary summary = {0};
    int n = 0, n_again = 0, n_overlaps = 0;
    assert_int_equal(sr_realloc_history_new(&history, &c->err), SR_OK);
    assert_int_equal(sr_lint_history_new(&lint_history, &c->err), SR_OK);
    for (int i = 0; i < sr_description_n_runs(c->description); i++) {
        insight_run(c, i);
        if (c->layout == NULL || c->layout->graph != c->run->graph || c->layout->status != c->error.status) {
            continue;
        }
        sr_reallocation r = {0};
        const sr_realloc_row *rows = sr_realloc_rows(history, &n);
        sr_realloc_row before = n > 0 ? rows[n - 1] : (sr_realloc_row){0};
        CHECK(sr_realloc_add(history, i, c->layout, &r, &c->err) == SR_OK);
        check_reallocation(c, &r, n > 0 ? &before : NULL);
        n_again += c->layout->reallocated && !c->layout->first_allocation;
        sr_reallocation_clear(&r);
        check_explanations(c);
        check_memory(c, &n_overlaps);
        check_verdicts(c, lint_history, n_overlaps);
    }
    assert_int_equal(sr_realloc_summarize(history, &summary, &c->err), SR_OK);
    assert_int_equal(summary.n_reallocated, n_again);
    assert_int_equal(summary.message[0] != '\0', n_again > 0 || summary.alternating);
    sr_realloc_summary_clear(&summary);
    sr_realloc_history_free(history);
    sr_lint_history_free(lint_history);
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static void check_file(void) {
    insight_case c;
    sr_description *d = NULL;
    sr_error err = {0};
    const sr_load_options options = {.simulate_missing = true};
    if (sr_description_load(file, &options, &d, &err) != SR_OK) {
        fail_msg("%s: %s", file, sr_error_message(&err));
    }
    insight_take(&c, d);
    if (revision != NULL) {
        sr_sched_params_set_rules(&c.params, revision);
    }
    check_sequence(&c);
    insight_close(&c);
    n_files++;
}

static void check_folder(const char *folder) {
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        const size_t n = strlen(entry->d_name);
        if (n > 5 && strcmp(entry->d_name + n - 5, ".json") == 0) {
            snprintf(file, sizeof(file), "%s/%s", folder, entry->d_name);
            check_file();
        }
    }
    closedir(dir);
}

static void goldens_agree(void **state) {
    (void)state;
    check_folder("tests/golden/captures");
    check_folder("tests/golden/sequences");
    check_folder("tests/golden/fuzz");
    assert_true(n_files > 100 && n_explained > 10000 && n_planned > 200 && n_reallocated > 20 && n_kept > 0);
}

static void models_and_lessons_agree(void **state) {
    (void)state;
    check_folder("graphs/models");
    check_folder("graphs/teaching");
}

/* Other rules give other layouts, of which the same must hold. */
static void rules_of_other_times_agree(void **state) {
    (void)state;
    int n = 0;
    const sr_revision *all = sr_revisions(&n);
    for (int i = 0; i < n; i++) {
        revision = &all[i];
        check_folder("graphs/teaching");
        check_folder("graphs/reports");
    }
    check_folder("tests/golden/captures"); /* by the last ones */
    revision = NULL;
}

/* ---- kept plans ------------------------------------------------------------------------------------------------ */

/* A chain of sums that read something from further back too; sizes are alike, who reads what when is not. */
static void put_sums(sr__str *s, int number, unsigned *seed) {
    enum { N_NODES = 10 };
    sr__str_printf(s, "%s\"g%d\":{\"tensors\":[{\"name\":\"x\",\"ne\":[64],\"flags\":[\"input\"]}],\"nodes\":[",
                   number > 0 ? "," : "", number);
    for (int i = 0; i < N_NODES; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        const int back = (int)((*seed >> 16) % (unsigned)(i + 1));
        const int last = i > 0 ? i - 1 : 0;
        const char *const letter = i > 0 ? "n" : "x";
        sr__str_printf(s, "%s{\"name\":\"n%d\",\"op\":\"ADD\",\"src\":[\"%s%s\",", i > 0 ? "," : "", i, letter,
                       i > 0 ? (char[2]){(char)('0' + last), '\0'} : "");
        sr__str_printf(s, back > 0 ? "\"n%d\"]}" : "\"x\"]}", back - 1);
    }
    sr__str_puts(s, "]}");
}

static void verdicts_on_kept_plans_agree(void **state) {
    (void)state;
    unsigned seed = 20260107u;
    for (int round = 0; round < 100; round++) {
        insight_case c;
        sr__str text = {0};
        sr__str_puts(&text, "{\"sched_run\":1,\"backends\":[{\"name\":\"GPU0\",\"device\":\"sim\"},"
                            "{\"name\":\"CPU\",\"device\":\"cpu\"}],\"graphs\":{");
        for (int i = 0; i < 4; i++) {
            put_sums(&text, i, &seed);
        }
        sr__str_puts(&text, "},\"runs\":[{\"graph\":\"g0\"},{\"graph\":\"g1\"},{\"graph\":\"g2\"},"
                            "{\"graph\":\"g3\"}]}");
        snprintf(file, sizeof(file), "sums of round %d", round);
        insight_open(&c, sr__str_text(&text));
        check_sequence(&c);
        insight_close(&c);
        sr__str_free(&text);
    }
    assert_true(n_clobbered > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(goldens_agree), cmocka_unit_test(models_and_lessons_agree),
                                       cmocka_unit_test(rules_of_other_times_agree),
                                       cmocka_unit_test(verdicts_on_kept_plans_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
