/*
 * log_tell.c - what is said about an import: what the log is, what was inferred, what is missing.
 *
 * Layer: describe.  The reference has no counterpart.
 */
#include "describe/log.h"

#include "sched_run/graph.h"

/* ---- generations ------------------------------------------------------------------------------------------------ */

/* The forms that print_assignments has had, oldest first. */
static const char *const generations[] = {"2023-10", "2024-01", "2024-03", "2024-06",
                                          "2024-12", "2025-07", "2026-01", "2026-05"};
enum { G2023_10, G2024_01, G2024_03, G2024_06, G2024_12, G2025_07, G2026_01, G2026_05 };

/* The oldest and the newest form that a log may be of. */
static void find_range(const sr__log *log, int *oldest, int *newest) {
    static const struct { unsigned bit; int from, to; } facts[] = {
        {SR__SEEN_DESC, G2026_05, G2026_05},          {SR__SEEN_UNARY, G2023_10, G2026_01},
        {SR__SEEN_COMPUTE, G2026_01, G2026_05},       {SR__SEEN_USE, G2025_07, G2026_05},
        {SR__SEEN_NO_USE, G2023_10, G2024_12},        {SR__SEEN_NO_COLON, G2024_12, G2026_05},
        {SR__SEEN_COLON, G2023_10, G2024_06},         {SR__SEEN_COPY_NUMBER, G2024_03, G2026_05},
        {SR__SEEN_COPY_PLAIN, G2023_10, G2024_01},    {SR__SEEN_SUP_CAUSE, G2024_06, G2026_05},
        {SR__SEEN_PASS_CAUSE, G2024_01, G2024_03},    {SR__SEEN_SRC_CAUSE, G2023_10, G2023_10},
    };
    *oldest = G2023_10;
    *newest = G2026_05;
    for (int i = 0; i < SR_COUNT(facts); i++) {
        if (log->seen & facts[i].bit) {
            *oldest = facts[i].from > *oldest ? facts[i].from : *oldest;
            *newest = facts[i].to < *newest ? facts[i].to : *newest;
        }
    }
    if ((log->seen & SR__SEEN_USE) && !(log->seen & SR__SEEN_COMPUTE)) {
        *newest = *newest > G2025_07 ? G2025_07 : *newest;
    }
}

/* What of the ops, the copies and their names tells generations apart. */
static void look_at_names(sr__log *log) {
    for (size_t i = 0; i < log->n_nodes; i++) {
        const sr__span op = log->nodes[i].op;
        char name[16] = {0};
        int kind = -1;
        memcpy(name, op.text, op.length < 15 ? (size_t)op.length : 15);
        if (sr__span_is(op, "UNARY") || sr__span_is(op, "GLU")) {
            log->seen |= SR__SEEN_UNARY;
        } else if (sr_op_find(name, &kind) >= 0 && kind >= 0) {
            log->seen |= SR__SEEN_DESC;
        }
    }
    for (size_t i = 0; i < log->n_srcs; i++) {
        const sr__log_entry *e = &log->srcs[i];
        const char *hash = e->name.length > 0 ? memchr(e->name.text, '#', (size_t)e->name.length) : NULL;
        const char *end = e->name.text + e->name.length, *p = end;
        if (hash == NULL || e->name.length >= log->width || !(e->is_null || sr__span_is(e->cause, "4.cpy"))) {
            continue;
        }
        while (p > hash && p[-1] >= '0' && p[-1] <= '9') {
            p--;
        }
        log->seen |= p < end && p > hash + 1 && p[-1] == '#' ? SR__SEEN_COPY_NUMBER : SR__SEEN_COPY_PLAIN;
    }
}

/* Lines about what is missing: more of them help nobody. */
enum { MAX_MISSING = 20 };

/* ---- lines ------------------------------------------------------------------------------------------------------ */

static const char *some(int64_t n) { return n == 1 ? "" : "s"; }

static void say(sr__import *im, sr_import_note kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void say(sr__import *im, sr_import_note kind, const char *fmt, ...) {
    sr__str line = {0};
    if (kind == SR_IMPORT_MISSING && ++im->n_missing > MAX_MISSING) {
        return;
    }
    va_list args;
    va_start(args, fmt);
    sr__str_vprintf(&line, fmt, args);
    va_end(args);
    if (im->options->tell != NULL && !line.failed) {
        im->options->tell(im->options->tell_user, kind, sr__str_text(&line));
    }
    for (size_t i = 0; i < line.length; i++) {
        line.data[i] = line.data[i] == '\n' ? ' ' : line.data[i];
    }
    sr__str_puts(&im->notes, sr__str_text(&line));
    sr__str_puts(&im->notes, "\n");
    im->notes.failed = im->notes.failed || line.failed;
    sr__str_free(&line);
}

static void tell_summary(sr__import *im) {
    const sr__log *log = &im->log;
    const sr_import_result *r = im->result;
    int oldest, newest;
    look_at_names(&im->log);
    find_range(log, &oldest, &newest);
    sr__str form = {0};
    if (oldest > newest) {
        sr__str_puts(&form, "of no single known form");
    } else if (newest == G2026_05) {
        sr__str_printf(&form, "as printed since %s", generations[oldest]);
    } else {
        sr__str_printf(&form, "as printed between %s and %s", generations[oldest], generations[newest + 1]);
    }
    say(im, SR_IMPORT_SUMMARY, "%lld schedule%s, %lld imported, %lld different graph%s: %lld split%s, %lld node%s",
        (long long)r->n_schedules, some(r->n_schedules), (long long)r->n_imported, (long long)r->n_graphs,
        some(r->n_graphs), (long long)r->n_splits, some(r->n_splits), (long long)r->n_nodes, some(r->n_nodes));
    say(im, SR_IMPORT_SUMMARY, "the log is %s, %s causes%s%s", sr__str_text(&form),
        log->n_causes > 0 ? "with" : "without", log->lines.joined ? ", with wrapped lines" : "",
        log->lines.utf16 ? ", in UTF-16" : "");
    im->notes.failed = im->notes.failed || form.failed;
    sr__str_free(&form);
}

static void add_backend(sr__str *s, const sr__log_machine *machine, int b) {
    sr__str_append(s, machine->backends[b].name.text, (size_t)machine->backends[b].name.length);
}

static void tell_machine(sr__import *im) {
    const sr__log_machine *machine = &im->machine;
    const int n = (int)machine->n_backends;
    sr__str s = {0};
    for (int rank = 0; rank < n; rank++) {
        for (int b = 0; b < n; b++) {
            if (machine->backends[b].rank == rank) {
                sr__str_puts(&s, rank > 0 ? ", " : "");
                add_backend(&s, machine, b);
            }
        }
    }
    for (int m = 0; m < n; m++) {
        for (int b = 0; b < n; b++) {
            if (m != b && machine->accepts[m] >> b & 1) {
                sr__str_puts(&s, "; ");
                add_backend(&s, machine, b);
                sr__str_puts(&s, " reads the memory of ");
                add_backend(&s, machine, m);
            }
        }
    }
    say(im, SR_IMPORT_INFERRED, "backends in this order: %s", sr__str_text(&s));
    im->notes.failed = im->notes.failed || s.failed;
    sr__str_free(&s);
    if (n > 16) {
        say(im, SR_IMPORT_INFERRED, "%d backends, more than the reference allows: schedule with --max-backends %d", n,
            n);
    }
    if (machine->n_types > 0) {
        say(im, SR_IMPORT_INFERRED,
            "%d more buffer type%s, for tensors that others read than the rest of their backend's", machine->n_types,
            some(machine->n_types));
    }
    if (machine->n_copies > 1) {
        say(im, SR_IMPORT_INFERRED, "%d pipeline copies, since copies are numbered up to %d", machine->n_copies,
            im->log.max_copy);
    }
    if (machine->max_split_inputs > 0) {
        say(im, SR_IMPORT_INFERRED, "at most %d inputs a split", machine->max_split_inputs);
    }
}

static void tell_graphs(sr__import *im) {
    int64_t views = 0, weights = 0, reserves = 0;
    for (size_t g = 0; g < im->n_graphs; g++) {
        views += im->graphs[g].n_views;
        for (size_t i = 0; i < im->graphs[g].n_items; i++) {
            weights += im->graphs[g].items[i].weight;
        }
    }
    for (size_t i = 0; i < im->log.n_schedules; i++) {
        reserves += im->log.schedules[i].reserve;
    }
    if (im->options->no_pins) {
        say(im, SR_IMPORT_INFERRED,
            "no node is assigned: the scheduler decides; nodes that weights were copied to are offloaded");
    } else {
        say(im, SR_IMPORT_INFERRED, "every node is a user assignment to the backend of the log");
    }
    say(im, SR_IMPORT_INFERRED, "sizes are those printed, in bytes without type and shape; ops are names");
    if (views > 0) {
        say(im, SR_IMPORT_INFERRED, "%lld view node%s, which the log leaves out", (long long)views, some(views));
    }
    if (weights > 0) {
        say(im, SR_IMPORT_INFERRED, "%lld tensor%s taken for weights, by name, cause or because a split starts there",
            (long long)weights, some(weights));
    }
    if (im->log.n_repeated > 0) {
        say(im, SR_IMPORT_INFERRED, "%lld line%s twice in the log, and count%s once", (long long)im->log.n_repeated,
            im->log.n_repeated == 1 ? " stands" : "s stand", im->log.n_repeated == 1 ? "s" : "");
    }
    if (reserves > 0) {
        say(im, SR_IMPORT_INFERRED, "%lld schedule%s taken for reserves, since the next one uses the same copies",
            (long long)reserves, some(reserves));
    }
}

/* A split without nodes; the only one of a schedule may be of views. */
static void tell_bare(sr__import *im, const sr__log_schedule *s, size_t number) {
    int64_t bare = 0;
    for (int32_t i = s->splits_begin; i < s->splits_begin + s->n_splits; i++) {
        bare += im->log.splits[i].n_nodes == 0;
    }
    if (bare > 0 && s->n_nodes > 0) {
        say(im, SR_IMPORT_MISSING, "schedule %zu: the nodes of %lld split%s are missing", number, (long long)bare,
            some(bare));
    }
}

/* What nodes speak of that does not follow: numbers, and readers. */
static void tell_gaps(sr__import *im, const sr__log_schedule *s, const sr__log_graph *g, size_t number) {
    const sr__log_node *last = s->n_nodes > 0 ? &im->log.nodes[s->nodes_begin + s->n_nodes - 1] : NULL;
    if (g->n_gone > 0) {
        say(im, SR_IMPORT_MISSING, "schedule %zu: %lld nodes are missing, by their numbers", number,
            (long long)g->n_gone);
    }
    if (g->n_doubtful > 0) {
        say(im, SR_IMPORT_MISSING,
            "schedule %zu: numbers of %lld nodes are skipped in long rows, the first before node %lld: taken for "
            "views, but if lines were left out, they are those",
            number, (long long)g->n_doubtful, (long long)g->doubtful_before);
    }
    if (last != NULL && last->use > 0) {
        say(im, SR_IMPORT_MISSING,
            "schedule %zu ends at line %lld with node %lld, although that is read (use=%d): what follows is missing",
            number, (long long)last->line, (long long)last->number, last->use);
    }
}

/* A header and then nothing: such a schedule is not imported. */
static void tell_headers_alone(sr__import *im) {
    for (size_t i = 0; i < im->log.n_schedules && im->options->only < 0; i++) {
        const sr__log_schedule *s = &im->log.schedules[i];
        if (s->n_nodes == 0 && im->log.schedules[s->same_as].graph < 0) {
            say(im, SR_IMPORT_MISSING, "schedule %zu, at line %lld, has no nodes: it is left out", i,
                (long long)s->line);
        }
    }
}

static void tell_missing(sr__import *im) {
    const sr__log *log = &im->log;
    if (log->n_torn > 0) {
        say(im, SR_IMPORT_MISSING, "line %lld ends too early%s: what it had more is missing", (long long)log->torn_line,
            log->n_torn > 1 ? ", as others do" : "");
    }
    for (size_t i = 0; i < log->n_schedules; i++) {
        const sr__log_schedule *s = &log->schedules[i];
        const sr__log_graph *g = s->graph >= 0 ? &im->graphs[s->graph] : NULL;
        if (g == NULL) {
            continue;
        }
        if (s->headless && s->n_splits == 0) {
            say(im, SR_IMPORT_MISSING,
                "schedule %zu has no split headers: splits follow from the backends of its nodes", i);
        } else if (s->headless) {
            say(im, SR_IMPORT_MISSING,
                "schedule %zu begins at line %lld without \"## SPLIT #0\": what was before is missing", i,
                (long long)s->line);
        }
        tell_bare(im, s, i);
        const int64_t lost = s->lost_splits > g->n_lost ? s->lost_splits : g->n_lost;
        if (lost > 0) {
            say(im, SR_IMPORT_MISSING, "schedule %zu: %lld split header%s missing", i, (long long)lost,
                lost == 1 ? " is" : "s are");
        }
        if (g->n_unread > 0) {
            say(im, SR_IMPORT_MISSING, "schedule %zu: nodes are missing, which read %lld input%s of its splits", i,
                (long long)g->n_unread, some(g->n_unread));
        }
        tell_gaps(im, s, g, i);
        if (g->n_uncut > 0) {
            say(im, SR_IMPORT_MISSING, "schedule %zu: nothing in the log explains why %lld of its splits start%s", i,
                (long long)g->n_uncut, g->n_uncut == 1 ? "s" : "");
        }
        if (g->n_above > 0) {
            say(im, SR_IMPORT_MISSING,
                "schedule %zu: what made the copies of %lld tensor%s is missing: they are leafs here", i,
                (long long)g->n_above, some(g->n_above));
        }
        if (g->n_twice > 0) {
            say(im, SR_IMPORT_MISSING,
                "schedule %zu is of a graph that was split before: %lld of its sources are copies that an earlier "
                "schedule made, as '%.*s'. They are leafs here; the program should build its graph anew",
                i, (long long)g->n_twice, (int)g->twice.length, g->twice.text);
        }
    }
    tell_headers_alone(im);
}

void sr__log_tell(sr__import *im) {
    tell_summary(im);
    tell_machine(im);
    tell_graphs(im);
    tell_missing(im);
    if (im->n_missing > MAX_MISSING) {
        const int64_t more = im->n_missing - MAX_MISSING;
        im->n_missing = 0;
        say(im, SR_IMPORT_MISSING, "and %lld more of that kind", (long long)more);
    }
}
