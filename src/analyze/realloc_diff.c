/*
 * realloc_diff.c - the difference between the graph that was planned and this one, around the first misfit.
 *
 * Layer: analyze.  Lists are compared by op and name.  From the first difference on the shortest way back to two equal
 * lines is sought within a window, so that what was put in or left out shows as such.
 */
#include "analyze/realloc_impl.h"

enum { CONTEXT = 2, WINDOW = 64, MOST_LINES = 6 };

/* One side: nodes or leafs of a schedule. */
typedef struct side {
    const sr_layout *layout;
    const int32_t *ids;
    const int16_t *backends;
    int32_t n;
} side;

static side nodes_of(const sr_layout *layout) {
    return (side){layout, layout->view.nodes, layout->node_ids, layout->view.n_nodes};
}

static side leafs_of(const sr_layout *layout) {
    return (side){layout, layout->view.leafs, layout->leaf_ids, layout->view.n_leafs};
}

static const char *op_of(const sr_layout *layout, int32_t id) {
    if (!sr_view_is_extra(&layout->view, id)) {
        const sr_tensor *t = &layout->graph->tensors[id];
        return t->op == SR_OP_NONE ? "leaf" : sr_tensor_op_desc(t);
    }
    return layout->view.extra[id - layout->graph->n_tensors].kind == SR_EXTRA_COPY ? "copy" : "input";
}

/* ---- lines ----------------------------------------------------------------------------------------------------- */

static void put_shape(sr__str *s, const sr_tensor *t) {
    int n = SR_MAX_DIMS;
    while (n > 1 && t->ne[n - 1] == 1) {
        n--;
    }
    sr__str_printf(s, "%s[", sr_type_get(t->type)->name);
    for (int d = 0; d < n; d++) {
        sr__str_printf(s, "%s%lld", d > 0 ? "," : "", (long long)t->ne[d]);
    }
    sr__str_puts(s, "]");
}

typedef struct writer { sr_reallocation *r; size_t cap; sr_error *err; } writer;

static sr_status put_line(writer *w, int which, const side *s, int32_t position, int source, int32_t id, int backend) {
    sr_reallocation *r = w->r;
    sr__str name = {0}, shape = {0};
    char text[SR_MAX_NAME + 1];
    sr_realloc_line line = {.side = which, .position = position, .source = source, .op = op_of(s->layout, id),
                            .backend = backend, .bytes = sr__needed_bytes(s->layout, id, backend)};
    sr_layout_name(s->layout, id, text);
    sr__str_puts(&name, text[0] != '\0' || id >= s->layout->graph->n_tensors ? text : s->layout->graph->tensors[id].id);
    put_shape(&shape, sr_view_tensor(&s->layout->view, id));
    const bool ok = sr__set_text(&line.name, &name) && sr__set_text(&line.shape, &shape) &&
                    sr__grow(&r->lines, &w->cap, (size_t)r->n_lines + 1, sizeof(*r->lines));
    sr__str_free(&name);
    sr__str_free(&shape);
    if (!ok) {
        sr__free(line.name);
        sr__free(line.shape);
        return sr__fail_memory(w->err);
    }
    r->lines[r->n_lines++] = line;
    return SR_OK;
}

static sr_status put_range(writer *w, int which, const side *s, int32_t begin, int32_t end) {
    sr_status status = SR_OK;
    for (int32_t i = begin < 0 ? 0 : begin; i < end && i < s->n && status == SR_OK; i++) {
        status = put_line(w, which, s, i, -1, s->ids[i], s->backends[i]);
    }
    return status;
}

/* ---- comparing ------------------------------------------------------------------------------------------------- */

static bool equal(const side *a, int32_t i, const side *b, int32_t j) {
    char left[SR_MAX_NAME + 1], right[SR_MAX_NAME + 1];
    if (strcmp(op_of(a->layout, a->ids[i]), op_of(b->layout, b->ids[j])) != 0) {
        return false;
    }
    sr_layout_name(a->layout, a->ids[i], left);
    sr_layout_name(b->layout, b->ids[j], right);
    return strcmp(left, right) == 0;
}

/* Both sides go on alike from here for two lines, or to both ends. */
static bool meets(const side *a, int32_t i, const side *b, int32_t j) {
    if (i >= a->n || j >= b->n) {
        return i >= a->n && j >= b->n;
    }
    return equal(a, i, b, j) && ((i + 1 >= a->n || j + 1 >= b->n) || equal(a, i + 1, b, j + 1));
}

static void find_way_back(const side *a, const side *b, int32_t at, int32_t *out_removed, int32_t *out_added) {
    for (int32_t distance = 1; distance <= WINDOW; distance++) {
        for (int32_t removed = 0; removed <= distance; removed++) {
            const int32_t added = distance - removed;
            if (at + removed <= a->n && at + added <= b->n && meets(a, at + removed, b, at + added)) {
                *out_removed = removed;
                *out_added = added;
                return;
            }
        }
    }
    *out_removed = MOST_LINES / 2;
    *out_added = MOST_LINES / 2;
}

static int32_t at_most(int32_t n) { return n < MOST_LINES ? n : MOST_LINES; }

/* Another number of lines: where the lists part, and what came or went. */
static sr_status diff_lists(writer *w, const side *old, const side *new) {
    sr_status status;
    int32_t at = 0, removed = 0, added = 0;
    while (at < old->n && at < new->n && equal(old, at, new, at)) {
        at++;
    }
    if (at < old->n || at < new->n) {
        find_way_back(old, new, at, &removed, &added);
    }
    SR_TRY(put_range(w, 0, new, at - CONTEXT, at));
    SR_TRY(put_range(w, -1, old, at, at + at_most(removed)));
    SR_TRY(put_range(w, 1, new, at, at + at_most(added)));
    SR_TRY(put_range(w, 0, new, at + added, at + added + CONTEXT));
done:
    return status;
}

/* A line that does not fit, as it was and as it is, and the source that is too large where it is one. */
static sr_status diff_line(writer *w, const side *old, const side *new, const sr_misfit *m) {
    sr_status status;
    const int32_t at = m->position;
    SR_TRY(put_range(w, 0, new, at - CONTEXT, at));
    if (m->kind == SR_MISFIT_SOURCE && at < old->n && equal(old, at, new, at)) {
        SR_TRY(put_range(w, 0, new, at, at + 1));
        const sr_tensor *t = &old->layout->graph->tensors[old->ids[at]];
        const int32_t before = sr_view_is_extra(&old->layout->view, old->ids[at])
                                   ? old->layout->view.extra[old->ids[at] - old->layout->graph->n_tensors].of
                                   : sr_view_src(&old->layout->view, t, m->source);
        if (before >= 0) {
            SR_TRY(put_line(w, -1, old, -1, m->source, before, old->backends[at]));
        }
        SR_TRY(put_line(w, 1, new, -1, m->source, m->source_id, new->backends[at]));
    } else {
        SR_TRY(put_range(w, -1, old, at, at + 1));
        SR_TRY(put_range(w, 1, new, at, at + 1));
    }
    SR_TRY(put_range(w, 0, new, at + 1, at + 1 + CONTEXT));
done:
    return status;
}

sr_status sr__realloc_diff(sr_reallocation *r, const sr_layout *layout, const sr__snapshot *planned,
                           const sr__snapshot *last, sr_error *err) {
    const sr_misfit *m = &layout->misfit;
    const bool moved = m->kind == SR_MISFIT_BACKEND_IDS;
    const bool leafs = m->kind == SR_MISFIT_LEAFS || (moved && m->is_leaf);
    const sr__snapshot *with = moved ? last : planned;
    writer w = {.r = r, .err = err};
    if (with == NULL || m->kind == SR_MISFIT_NONE) {
        return SR_OK;
    }
    const side old = leafs ? leafs_of(&with->layout) : nodes_of(&with->layout);
    const side new = leafs ? leafs_of(layout) : nodes_of(layout);
    r->compared = leafs ? "leafs" : "nodes";
    r->compared_with = with->run;
    /* something else stands where a backend changed: the lists part there or before */
    const bool parted = moved && (m->position >= old.n || !equal(&old, m->position, &new, m->position));
    return parted || m->kind == SR_MISFIT_NODES || m->kind == SR_MISFIT_LEAFS ? diff_lists(&w, &old, &new)
                                                                              : diff_line(&w, &old, &new, m);
}
