/*
 * diff_why.c - why nodes moved: the move that others followed, and what stood in its way.
 *
 * Layer: analyze.  A node that follows a neighbour moved because the neighbour did: the chain of such nodes is walked
 * to its root, which has a reason of its own (weights, an assignment, an op that is refused).
 */
#include <stdlib.h>

#include "analyze/diff_impl.h"
#include "sched_run/explain.h"

typedef struct why {
    sr_diff *diff;
    sr_explainer *a, *b;  /* NULL: decisions were not recorded */
    int32_t *move_of;     /* by tensor of A: position in moves, -1 */
    int32_t *seen;        /* by move: the walk that was there */
    int32_t n_walks;
} why;

static sr_status make_explainer(const sr_layout *layout, sr_explainer **out, sr_error *err) {
    sr_error own = {0};
    const sr_status status = sr_explainer_new(layout, out, &own);
    sr_error_clear(&own);
    return status == SR_MEMORY ? sr__fail_memory(err) : SR_OK;
}

/* ---- roots ------------------------------------------------------------------------------------------------------ */

static bool follows(int cause) { return cause == SR_CAUSE_SUP || cause == SR_CAUSE_CUR || cause == SR_CAUSE_VSRC4; }

/* The tensor that one follows, -1: none. */
static int32_t leader(const sr_explainer *e, const sr_layout *layout, int32_t tensor) {
    const int cause = layout->cause_of[tensor];
    if (!follows(cause) || e == NULL) {
        return -1;
    }
    if (cause == SR_CAUSE_VSRC4) {
        return layout->graph->tensors[tensor].view_src;
    }
    for (int pass = SR_PASS_COUNT - 1; pass >= 0; pass--) {
        const sr_decision *d = sr_explainer_decision(e, pass, tensor);
        if (d != NULL && d->cause == cause) {
            return d->because;
        }
    }
    return -1;
}

/* The move that a move follows: that of its leader in B, or else, if it follows there, of its leader in A; -1. */
static int32_t next_move(const why *w, int32_t move) {
    const sr_diff_pair *m = &w->diff->moves[move];
    const int32_t in_b = leader(w->b, w->diff->b, m->b);
    const int32_t as_a = in_b >= 0 && in_b < w->diff->b->graph->n_tensors ? w->diff->a_of_b[in_b] : -1;
    if (as_a >= 0 && w->move_of[as_a] >= 0) {
        return w->move_of[as_a];
    }
    if (!follows(w->diff->b->cause_of[m->b])) {
        return -1;
    }
    const int32_t in_a = leader(w->a, w->diff->a, m->a);
    return in_a >= 0 && in_a < w->diff->a->graph->n_tensors ? w->move_of[in_a] : -1;
}

static int32_t find_root(why *w, int32_t move) {
    w->n_walks++;
    w->seen[move] = w->n_walks;
    for (int32_t next = next_move(w, move); next >= 0 && w->seen[next] != w->n_walks; next = next_move(w, move)) {
        move = next;
        w->seen[move] = w->n_walks;
    }
    return move;
}

/* ---- what stood in the way --------------------------------------------------------------------------------------- */

static sr_status explain_absence(sr_explainer *e, int32_t tensor, int backend, char **out_text, sr_error *err) {
    sr_explanation x = {0};
    sr_status status = SR_OK;
    if (e == NULL || backend < 0) {
        return SR_OK;
    }
    SR_TRY(sr_explain(e, tensor, &x, err));
    for (int i = 0; i < x.n_why_not && *out_text == NULL; i++) {
        if (x.why_not[i].backend == backend) {
            *out_text = sr__strdup(x.why_not[i].text);
            status = *out_text != NULL ? SR_OK : sr__fail_memory(err);
        }
    }
done:
    sr_explanation_clear(&x);
    return status;
}

static sr_status explain_reason(why *w, sr_diff_reason *reason, sr_error *err) {
    const sr_diff *diff = w->diff;
    sr_status status;
    reason->root = find_root(w, reason->first);
    const sr_diff_pair *root = &diff->moves[reason->root];
    SR_TRY(explain_absence(w->b, root->b, root->from >= 0 ? diff->backend_b_of_a[root->from] : -1, &reason->not_from,
                           err));
    SR_TRY(explain_absence(w->a, root->a, root->to >= 0 ? diff->backend_a_of_b[root->to] : -1, &reason->not_to, err));
done:
    return status;
}

/* ---- by pair of backends ----------------------------------------------------------------------------------------- */

static sr_status count_move(sr_diff *diff, int32_t move, int *table, size_t *cap, sr_error *err) {
    const sr_diff_pair *m = &diff->moves[move];
    int *place = &table[(m->from + 1) * (diff->b->n_backends + 1) + m->to + 1];
    if (*place == 0) {
        if (!sr__grow(&diff->reasons, cap, (size_t)diff->n_reasons + 1, sizeof(*diff->reasons))) {
            return sr__fail_memory(err);
        }
        diff->reasons[diff->n_reasons] = (sr_diff_reason){.from = m->from, .to = m->to, .first = move};
        *place = ++diff->n_reasons;
    }
    sr_diff_reason *reason = &diff->reasons[*place - 1];
    reason->n_nodes++;
    reason->n_views += sr_op_is_view(diff->a->graph->tensors[m->a].op);
    return SR_OK;
}

static int compare_reasons(const void *px, const void *py) {
    const sr_diff_reason *x = px, *y = py;
    if (x->n_nodes != y->n_nodes) {
        return x->n_nodes > y->n_nodes ? -1 : 1;
    }
    return x->first < y->first ? -1 : x->first > y->first;
}

static sr_status group_moves(sr_diff *diff, sr_error *err) {
    sr_status status = SR_OK;
    size_t cap = 0;
    int *table = sr__calloc((size_t)(diff->a->n_backends + 1) * (size_t)(diff->b->n_backends + 1), sizeof(*table));
    if (table == NULL) {
        return sr__fail_memory(err);
    }
    for (int32_t i = 0; i < diff->n_moves && status == SR_OK; i++) {
        status = count_move(diff, i, table, &cap, err);
    }
    sr__free(table);
    if (diff->n_reasons > 1) {
        qsort(diff->reasons, (size_t)diff->n_reasons, sizeof(*diff->reasons), compare_reasons);
    }
    return status;
}

static sr_status make_walks(why *w, sr_error *err) {
    const sr_diff *diff = w->diff;
    const size_t n = (size_t)diff->a->graph->n_tensors + 1;
    w->move_of = sr__malloc(n * sizeof(*w->move_of));
    w->seen = sr__calloc((size_t)diff->n_moves, sizeof(*w->seen));
    if (w->move_of == NULL || w->seen == NULL) {
        return sr__fail_memory(err);
    }
    memset(w->move_of, 0xff, n * sizeof(*w->move_of));
    for (int32_t i = 0; i < diff->n_moves; i++) {
        w->move_of[diff->moves[i].a] = i;
    }
    return SR_OK;
}

sr_status sr__diff_reasons(sr_diff *diff, sr_error *err) {
    why w = {.diff = diff};
    sr_status status = SR_OK;
    if (diff->n_moves == 0) {
        return SR_OK;
    }
    SR_TRY(group_moves(diff, err));
    SR_TRY(make_walks(&w, err));
    SR_TRY(make_explainer(diff->a, &w.a, err));
    SR_TRY(make_explainer(diff->b, &w.b, err));
    for (int i = 0; i < diff->n_reasons; i++) {
        SR_TRY(explain_reason(&w, &diff->reasons[i], err));
    }
done:
    sr_explainer_free(w.a);
    sr_explainer_free(w.b);
    sr__free(w.move_of);
    sr__free(w.seen);
    return status;
}
