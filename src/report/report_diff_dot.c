/*
 * report_diff_dot.c - two layouts side by side as a drawing: B's graph, with what is not as in A marked.
 *
 * Layer: report.  Orange: moved; yellow: for another cause; green: B alone has it (nodes, copies, cuts); red: A alone
 * has it, listed beside the graph.
 */
#include <inttypes.h>

#include "report/dot_draw.h"
#include "report/report_diff.h"

static const char *const MOVED = "#e07000", *const CAUSE = "#b59b00", *const CAME = "#1a8f2e", *const WENT = "#c0151b";

enum { MARK_NONE, MARK_MOVED, MARK_CAUSE, MARK_ADDED, MARK_PLACE, MOST_LISTED = 24 };

typedef struct drawing {
    const sr_diff *diff;
    const sr__diff_facts *facts;
    uint8_t *mark_of;     /* by tensor of B */
    uint8_t *cut;         /* by split of B */
    uint8_t *gained;      /* by input of B */
} drawing;

/* ---- marks ------------------------------------------------------------------------------------------------------ */

static sr_status drawing_init(drawing *d, const sr_diff *diff, sr_error *err) {
    d->diff = diff;
    d->mark_of = sr__calloc((size_t)diff->b->graph->n_tensors + 1, 1);
    d->cut = sr__calloc((size_t)diff->b->n_splits + 1, 1);
    d->gained = sr__calloc((size_t)diff->b->n_inputs + 1, 1);
    if (d->mark_of == NULL || d->cut == NULL || d->gained == NULL) {
        return sr__fail_memory(err);
    }
    for (int32_t i = 0; i < diff->n_moves; i++) {
        d->mark_of[diff->moves[i].b] = MARK_MOVED;
    }
    for (int32_t i = 0; i < diff->n_causes; i++) {
        d->mark_of[diff->causes[i].b] = MARK_CAUSE;
    }
    for (int32_t i = 0; i < diff->n_places; i++) {
        d->mark_of[diff->places[i].b] = MARK_PLACE;
    }
    for (int32_t i = 0; i < diff->n_added; i++) {
        d->mark_of[diff->added[i]] = MARK_ADDED;
    }
    for (int32_t i = 0; i < diff->n_cuts; i++) {
        d->cut[diff->cuts[i].b] = 1;
    }
    for (int32_t i = 0; i < diff->n_gained; i++) {
        d->gained[diff->gained[i].b] = 1;
    }
    return SR_OK;
}

static void drawing_free(drawing *d) {
    sr__free(d->mark_of);
    sr__free(d->cut);
    sr__free(d->gained);
}

static const char *mark_node(void *user, sr__str *label, int32_t tensor) {
    const drawing *d = user;
    const sr_layout *a = d->diff->a;
    const int32_t was = d->diff->a_of_b[tensor];
    switch (d->mark_of[tensor]) {
    case MARK_ADDED:
        sr__str_puts(label, "\\nadded");
        return CAME;
    case MARK_MOVED:
    case MARK_PLACE:
        sr__str_puts(label, "\\nwas on ");
        sr__dot_text(label, sr__backend_name(a, a->backend_of[was]));
        sr__str_printf(label, "  %s", sr_cause_name(a->cause_of[was]));
        return MOVED;
    case MARK_CAUSE:
        sr__str_printf(label, "\\nwas %s", sr_cause_name(a->cause_of[was]));
        return CAUSE;
    default:
        return NULL;
    }
}

static const char *mark_split(void *user, sr__str *label, int32_t split) {
    const drawing *d = user;
    if (d->cut[split] == 0) {
        return NULL;
    }
    sr__str_puts(label, "  cut here");
    return CAME;
}

static const char *mark_input(void *user, sr__str *label, int32_t input) {
    const drawing *d = user;
    if (d->gained[input] == 0) {
        return NULL;
    }
    sr__str_puts(label, "\\nnew copy");
    return CAME;
}

/* ---- words ------------------------------------------------------------------------------------------------------ */

static void put_change(sr__str *s, const char *what, uint64_t a, uint64_t b) {
    sr__str_printf(s, "\\l%s: ", what);
    sr__put_bytes(s, a);
    sr__str_puts(s, " in A, ");
    sr__put_bytes(s, b);
    sr__str_puts(s, " in B");
}

static void put_title(void *user, sr__str *label) {
    const drawing *d = user;
    sr__str words = {0};
    sr__put_diff_summary(&words, d->diff);
    sr__str_puts(label, "\\lagainst A: ");
    sr__dot_text(label, sr__str_text(&words));
    sr__str_printf(label, "\\lsplits: %d in A, %d in B", (int)d->diff->a->n_splits, (int)d->diff->b->n_splits);
    put_change(label, "copied per evaluation", d->facts->a.copied, d->facts->b.copied);
    put_change(label, "compute memory", d->facts->compute_a, d->facts->compute_b);
    label->failed |= words.failed;
    sr__str_free(&words);
}

static void put_legend(void *user, sr__str *label) {
    (void)user;
    sr__str_puts(label, "orange frame: moved\\lyellow frame: another cause\\lgreen frame: in B alone\\l"
                        "red box: in A alone\\l");
}

/* ---- what only A has -------------------------------------------------------------------------------------------- */

typedef const char *(*name_at)(const drawing *d, int32_t i);

static const char *removed_name(const drawing *d, int32_t i) {
    return sr__shown_name(&d->diff->a->graph->tensors[d->diff->removed[i]]);
}

static const char *lost_name(const drawing *d, int32_t i) {
    return sr__shown_name(&d->diff->a->graph->tensors[d->diff->a->inputs[d->diff->lost[i].a]]);
}

static const char *merged_name(const drawing *d, int32_t i) {
    return sr__shown_name(&d->diff->a->graph->tensors[d->diff->merges[i].node_a]);
}

static void put_list(const drawing *d, sr__str *s, const char *id, const char *one, const char *several, int32_t n,
                     name_at name) {
    if (n == 0) {
        return;
    }
    sr__str_printf(s, "    %s [shape=box, style=\"dashed\", color=\"%s\", fontcolor=\"%s\", label=\"%d %s\\l", id, WENT,
                   WENT, (int)n, n == 1 ? one : several);
    for (int32_t i = 0; i < n && i < MOST_LISTED; i++) {
        sr__str_puts(s, "  ");
        sr__dot_text(s, name(d, i));
        sr__str_puts(s, "\\l");
    }
    if (n > MOST_LISTED) {
        sr__str_printf(s, "  and %d more\\l", (int)n - MOST_LISTED);
    }
    sr__str_puts(s, "\"];\n");
}

static void put_rest(void *user, sr__str *s) {
    const drawing *d = user;
    put_list(d, s, "removed", "tensor in A alone", "tensors in A alone", d->diff->n_removed, removed_name);
    put_list(d, s, "merged", "split merged, which began with", "splits merged, which began with", d->diff->n_merges,
             merged_name);
    put_list(d, s, "lost", "copy lost", "copies lost", d->diff->n_lost, lost_name);
}

/* ---- a run ------------------------------------------------------------------------------------------------------ */

/* Nothing to draw: one side has no such run, or one failed. */
static void put_note(const sr_diff_result *result, sr__str *s) {
    const sr_run *run = result->run_a != NULL ? result->run_a : result->run_b;
    sr__str_printf(s, "digraph \"run %d\" {\n    note [shape=note, style=filled, fillcolor=\"#fbe0dd\", "
                      "color=\"#b03a2e\", label=\"run %d\\n",
                   run->index, run->index);
    if (result->diff == NULL) {
        sr__str_printf(s, "%s has no such run", result->run_a == NULL ? "A" : "B");
    } else {
        sr__put_diff_summary(s, result->diff);
        const sr_error *const errors[] = {result->error_a, result->error_b};
        for (int i = 0; i < 2; i++) {
            sr__str_printf(s, "\\n%c: %s  ", "AB"[i], sr_status_name(errors[i]->status));
            sr__dot_text(s, errors[i]->status != SR_OK ? sr_error_message(errors[i]) : "");
        }
    }
    sr__str_puts(s, "\"];\n}\n");
}

static sr_status draw(const sr_diff_result *result, const sr_report_options *options, sr__out *out, sr_error *err) {
    sr__diff_facts facts = {0};
    drawing d = {.facts = &facts};
    const sr_run_result drawn = {.run = result->run_b, .layout = result->diff->b, .error = result->error_b};
    sr_status status;
    SR_TRY(sr__diff_facts_init(&facts, result->diff, err));
    SR_TRY(drawing_init(&d, result->diff, err));
    const sr__dot_marks marks = {&d, d.mark_of, mark_node, mark_split, mark_input, put_title, put_legend, put_rest};
    SR_TRY(sr__dot_write(&drawn, options, &marks, out, err));
done:
    drawing_free(&d);
    sr__diff_facts_free(&facts);
    return status;
}

sr_status sr_report_diff_dot(const sr_diff_result *result, const sr_report_options *options, sr_sink *sink,
                             sr_error *err) {
    sr__out out;
    sr__out_init(&out, sink);
    sr_status status = SR_OK;
    if (result->diff != NULL && result->diff->compared) {
        status = draw(result, options, &out, err);
    } else {
        put_note(result, &out.text);
    }
    const sr_status written = sr__out_end(&out, status == SR_OK ? err : NULL);
    return status != SR_OK ? status : written;
}
