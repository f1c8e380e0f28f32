/*
 * lint_race.c - finding `race`: two backends use the same memory, at least one of them writing, and nothing makes the
 * later one wait.
 *
 * Layer: analyze.  The execution is gone through with its waits (timeline.h) as devices with queues of their own would
 * see it.  A split without inputs waits for nobody, so where the allocator gave it memory that another queue may still
 * be reading, the two race.  Only memory that several queues use and some node writes is looked at; n log n in the
 * accesses of that.  Two strided tensors that lie between each other's rows are no race.
 */
#include <stdio.h>

#include "analyze/accesses.h"
#include "analyze/finding.h"
#include "analyze/storage.h"
#include "analyze/timeline.h"

enum { MOST_SCANS = 1000, NOBODY = -2 };

/* A buffer, and who uses it. */
typedef struct memory { const sr_buffer *buffer; int first; bool several, written; } memory;

typedef enum phase { FIND_MEMORIES, DECLARE, CHECK } phase;

/* Races between the queues of two backends, told of in one finding. */
typedef struct tally { int place; int32_t n; } tally;

typedef struct search {
    const sr_layout *layout;
    sr_findings *findings;
    phase phase;
    memory *memories;
    size_t n_memories, memories_cap, last;
    sr__accesses *accesses;
    sr__task *log;         /* what was queued so far */
    size_t n_log, log_cap;
    tally *tallies;        /* [earlier * n_backends + later] */
    const int32_t *known;  /* by queue: what the task at hand knows */
    bool *told;            /* by queue: the task at hand races with it, and that was told */
    int32_t scans;
    bool watches;          /* some memory is */
} search;

/* One access of the task at hand. */
typedef struct access { int32_t id; bool write; } access;

/* ---- going through the accesses of a task ---------------------------------------------------------------------- */

typedef bool (*visitor)(search *s, const sr__task *task, access a, void *user);

static bool visit_nodes(search *s, const sr__task *task, visitor visit, void *user) {
    const sr_layout *layout = s->layout;
    const sr_graph_view *view = &layout->view;
    const int32_t begin = layout->split_nodes[task->split];
    const int32_t n = layout->splits[task->split].end - layout->splits[task->split].start;
    for (int32_t i = begin; i < begin + n; i++) {
        const int32_t id = view->nodes[i];
        const sr_tensor *t = sr_view_tensor(view, id);
        if (!sr__writes(t)) {
            continue;
        }
        for (int j = 0; j < t->n_src; j++) {
            const int32_t source = view->srcs[t->src_begin + j];
            if (source >= 0 && source != id && !sr__names_destination(layout->graph, id, j) &&
                !visit(s, task, (access){source, false}, user)) {
                return false;
            }
        }
        if (!visit(s, task, (access){id, true}, user)) {
            return false;
        }
    }
    return true;
}

static bool visit_task(search *s, const sr__task *task, visitor visit, void *user) {
    if (task->kind == SR__TASK_NODES) {
        return visit_nodes(s, task, visit, user);
    }
    const access from = {s->layout->inputs[task->input], false}, to = {s->layout->input_copies[task->input], true};
    return (task->kind == SR__TASK_RECEIVE || visit(s, task, from, user)) &&
           (task->kind == SR__TASK_SEND || visit(s, task, to, user));
}

/* ---- memories -------------------------------------------------------------------------------------------------- */

/* The number of a buffer, or -1. */
static int32_t find_memory(search *s, const sr_buffer *buffer) {
    if (s->last < s->n_memories && s->memories[s->last].buffer == buffer) {
        return (int32_t)s->last;
    }
    for (size_t i = 0; i < s->n_memories; i++) {
        if (s->memories[i].buffer == buffer) {
            s->last = i;
            return (int32_t)i;
        }
    }
    return -1;
}

static bool touch(search *s, const sr__task *task, access a, void *user) {
    const sr_buffer *buffer = s->layout->view.storage[a.id].buffer;
    (void)user;
    if (!buffer) {
        return true;
    }
    int32_t i = find_memory(s, buffer);
    if (i < 0) {
        if (!sr__grow(&s->memories, &s->memories_cap, s->n_memories + 1, sizeof(*s->memories))) {
            return false;
        }
        i = (int32_t)s->n_memories;
        s->memories[s->n_memories++] = (memory){.buffer = buffer, .first = NOBODY};
    }
    memory *m = &s->memories[i];
    m->several |= m->first != NOBODY && m->first != task->queue;
    m->first = task->queue;
    m->written |= a.write;
    s->watches |= m->several && m->written;
    return true;
}

/* Where an access lies, if its memory is watched. */
static bool locate(search *s, access a, int32_t *out_memory, size_t *out_begin, size_t *out_end) {
    const sr_storage *storage = &s->layout->view.storage[a.id];
    const int32_t i = storage->buffer ? find_memory(s, storage->buffer) : -1;
    if (i < 0 || !s->memories[i].several || !s->memories[i].written) {
        return false;
    }
    *out_memory = i;
    *out_begin = storage->offset;
    *out_end = storage->offset + sr_view_tensor(&s->layout->view, a.id)->nbytes;
    return *out_begin < *out_end;
}

static bool declare(search *s, const sr__task *task, access a, void *user) {
    int32_t m;
    size_t begin, end;
    (void)task;
    (void)user;
    return !locate(s, a, &m, &begin, &end) || sr__accesses_declare(s->accesses, m, begin, end);
}

/* ---- telling --------------------------------------------------------------------------------------------------- */

/* The two sides of a race. */
typedef struct race { sr__task earlier, later; access before, after; } race;

static const char *backend_of(const sr_layout *layout, const sr__task *task) {
    return layout->backends[task->queue >= 0 ? task->queue : layout->splits[task->split].backend]->name;
}

static void put_task(sr__str *s, const sr_layout *layout, const sr__task *task) {
    if (task->kind == SR__TASK_NODES) {
        sr__str_printf(s, "split %d on %s", (int)task->split, backend_of(layout, task));
    } else {
        sr__str_printf(s, "the copy of '%s' for split %d on %s", sr__label(layout->graph, layout->inputs[task->input]),
                       (int)task->split, backend_of(layout, task));
    }
}

static bool add_finding(search *s, const race *r, tally *t) {
    const sr_layout *layout = s->layout;
    const bool waits_for_nobody = r->later.kind == SR__TASK_NODES && layout->splits[r->later.split].n_inputs == 0;
    char before[SR_MAX_NAME + 1], after[SR_MAX_NAME + 1];
    sr__str earlier = {0}, later = {0};
    t->place = s->findings->n;
    sr_finding *finding = sr__finding_add(
        s->findings, "race", r->earlier.fetches || r->later.fetches ? SR_SEVERITY_WARNING : SR_SEVERITY_ERROR);
    if (!finding) {
        return false;
    }
    sr_layout_name(layout, r->before.id, before);
    sr_layout_name(layout, r->after.id, after);
    put_task(&earlier, layout, &r->earlier);
    put_task(&later, layout, &r->later);
    const sr_buffer_type *type = layout->view.storage[r->after.id].buffer->type;
    const bool ok =
        !earlier.failed && !later.failed && sr__finding_tensor(finding, after) && sr__finding_tensor(finding, before) &&
        sr__finding_say(finding, "%s %s '%s' in %s memory where %s may still be %s '%s': %s", sr__str_text(&later),
                        r->after.write ? "writes" : "reads", after, type->name, sr__str_text(&earlier),
                        r->before.write ? "writing" : "reading", before,
                        waits_for_nobody ? "a split without inputs waits for nobody"
                                         : "no event, wait or copy stands between them") &&
        sr__finding_text(finding, "backend", backend_of(layout, &r->later)) &&
        sr__finding_text(finding, "other", backend_of(layout, &r->earlier)) &&
        sr__finding_text(finding, "buffer_type", type->name) && sr__finding_number(finding, "split", r->later.split) &&
        sr__finding_number(finding, "other_split", r->earlier.split) &&
        (waits_for_nobody ? sr__finding_hint(finding,
                                             "flag '%s' as an output, so that its memory is not given away, or use a "
                                             "scheduler that waits before such splits (since 2026-08-21; --rules "
                                             "empty-wait)",
                                             before)
                          : sr__finding_hint(finding,
                                             "have %s synchronize before split %d, or flag '%s' as an output, so that "
                                             "its memory is not given away",
                                             backend_of(layout, &r->earlier), (int)r->later.split, before));
    sr__str_free(&earlier);
    sr__str_free(&later);
    return ok;
}

static bool tell(search *s, const race *r) {
    const sr_layout *layout = s->layout;
    const int own = r->later.queue >= 0 ? r->later.queue : layout->splits[r->later.split].backend;
    tally *t = &s->tallies[r->earlier.queue * layout->n_backends + own];
    return ++t->n > 1 || add_finding(s, r, t);
}

static bool add_counts(search *s) {
    const int n = s->layout->n_backends;
    bool ok = true;
    for (int i = 0; i < n * n && ok; i++) {
        ok = s->tallies[i].n == 0 ||
             sr__finding_number(&s->findings->items[s->tallies[i].place], "count", s->tallies[i].n);
    }
    return ok;
}

/* ---- checking -------------------------------------------------------------------------------------------------- */

/* Who of an earlier task shares bytes with an access. */
typedef struct match { access of, found; bool any; } match;

static bool compare(search *s, const sr__task *task, access a, void *user) {
    match *m = user;
    const sr_graph_view *view = &s->layout->view;
    const sr_storage *x = &view->storage[a.id], *y = &view->storage[m->of.id];
    (void)task;
    if ((a.write || m->of.write) && x->buffer == y->buffer &&
        sr__spans_overlap(sr_view_tensor(view, a.id), x->offset, sr_view_tensor(view, m->of.id), y->offset)) {
        m->found = a;
        m->any = true;
        return false;
    }
    return true;
}

/* The task with this number in a queue, if it really shares bytes with the access. */
static bool confirm(search *s, const sr__task *later, access a, int queue, int32_t number) {
    size_t i = s->n_log;
    while (i > 0 && (s->log[i - 1].queue != queue || s->log[i - 1].number != number)) {
        i--;
    }
    if (i == 0) {
        return true;
    }
    match m = {.of = a};
    const sr__task earlier = s->log[i - 1];
    (void)visit_task(s, &earlier, compare, &m);
    s->scans++;
    if (!m.any) {
        return true;
    }
    const race r = {earlier, *later, m.found, a};
    s->told[queue] = true;
    return tell(s, &r);
}

static bool check(search *s, const sr__task *task, access a, void *user) {
    int32_t m;
    size_t begin, end;
    (void)user;
    if (!locate(s, a, &m, &begin, &end)) {
        return true;
    }
    for (int q = 0; q < s->layout->n_backends && s->scans < MOST_SCANS; q++) {
        if (q == task->queue || s->told[q]) {
            continue;
        }
        int32_t latest = sr__accesses_latest(s->accesses, q, true, m, begin, end);
        if (a.write) {
            const int32_t read = sr__accesses_latest(s->accesses, q, false, m, begin, end);
            latest = read > latest ? read : latest;
        }
        if (latest > s->known[q] && !confirm(s, task, a, q, latest)) {
            return false;
        }
    }
    return true;
}

static bool record(search *s, const sr__task *task, access a, void *user) {
    int32_t m;
    size_t begin, end;
    (void)user;
    if (locate(s, a, &m, &begin, &end)) {
        sr__accesses_record(s->accesses, task->queue, a.write, m, begin, end, task->number);
    }
    return true;
}

/* ---- tasks ----------------------------------------------------------------------------------------------------- */

/* What the host does knows of everything that was not queued; is there anything that it does not know done? */
static bool is_pending(const search *s, const sr__task *task, const int32_t *known, const int32_t *issued) {
    for (int q = 0; q < s->layout->n_backends; q++) {
        if (q != task->queue && issued[q] > known[q]) {
            return true;
        }
    }
    return false;
}

static bool check_task(search *s, const sr__task *task, const int32_t *known, bool pending) {
    memset(s->told, 0, (size_t)s->layout->n_backends * sizeof(*s->told));
    s->known = known;
    bool ok = !pending || visit_task(s, task, check, NULL);
    if (ok && task->queue >= 0) {
        ok = visit_task(s, task, record, NULL) && sr__grow(&s->log, &s->log_cap, s->n_log + 1, sizeof(*s->log));
        if (ok) {
            s->log[s->n_log++] = *task;
        }
    }
    return ok;
}

static bool on_task(void *user, const sr__task *task, const int32_t *known, const int32_t *issued) {
    search *s = user;
    const bool pending = is_pending(s, task, known, issued);
    if (s->phase == FIND_MEMORIES) {
        /* the host's own copies come after waits for both sides */
        return (task->queue < 0 && task->kind != SR__TASK_NODES) || visit_task(s, task, touch, NULL);
    }
    if (task->queue < 0 && !pending) {
        return true; /* whatever comes later comes after it */
    }
    return s->phase == DECLARE ? visit_task(s, task, declare, NULL) : check_task(s, task, known, pending);
}

static bool walk(search *s, const sr_sched_params *params, phase p) {
    static const sr__timeline_plan once = {0};
    s->phase = p;
    return sr__timeline_walk(s->layout, params, &once, on_task, s);
}

sr_status sr__lint_race(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    const sr_layout *layout = input->layout;
    const sr_sched_params *params = input->params ? input->params : layout->params;
    const size_t n = (size_t)layout->n_backends;
    search s = {.layout = layout, .findings = findings};
    if (!layout->view.storage || n < 2 || layout->n_splits < 2) {
        return SR_OK;
    }
    bool ok = walk(&s, params, FIND_MEMORIES);
    if (ok && s.watches) {
        s.accesses = sr__accesses_new(layout->n_backends);
        s.tallies = sr__calloc(n * n, sizeof(*s.tallies));
        s.told = sr__calloc(n, sizeof(*s.told));
        ok = s.accesses && s.tallies && s.told && walk(&s, params, DECLARE) && sr__accesses_sort(s.accesses) &&
             walk(&s, params, CHECK) && add_counts(&s);
    }
    sr__accesses_free(s.accesses);
    sr__free(s.memories);
    sr__free(s.log);
    sr__free(s.tallies);
    sr__free(s.told);
    return ok ? SR_OK : sr__fail_memory(err);
}
