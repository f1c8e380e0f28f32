/*
 * diff.c - two layouts side by side: which nodes moved, came, went, were renamed or have another cause.
 *
 * Layer: analyze.  Everything is read from the two records; diff_splits.c has splits and copies, diff_memory.c the
 * memory, diff_why.c the reasons.
 */
#include "analyze/diff_impl.h"
#include "sched_run/analyze.h"

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static int find_backend(const sr_layout *layout, const char *name) {
    for (int b = 0; b < layout->n_backends; b++) {
        if (strcmp(layout->backends[b]->name, name) == 0) {
            return b;
        }
    }
    return -1;
}

static sr_status make_tables(sr_diff *diff, sr_error *err) {
    const sr_layout *a = diff->a, *b = diff->b;
    const size_t n_a = (size_t)a->graph->n_tensors + 1, n_b = (size_t)b->graph->n_tensors + 1;
    diff->b_of_a = sr__malloc(n_a * sizeof(*diff->b_of_a));
    diff->a_of_b = sr__malloc(n_b * sizeof(*diff->a_of_b));
    diff->backend_b_of_a = sr__malloc((size_t)a->n_backends * sizeof(*diff->backend_b_of_a));
    diff->backend_a_of_b = sr__malloc((size_t)b->n_backends * sizeof(*diff->backend_a_of_b));
    diff->moves = sr__malloc(n_a * sizeof(*diff->moves));
    diff->causes = sr__malloc(n_a * sizeof(*diff->causes));
    diff->places = sr__malloc(n_a * sizeof(*diff->places));
    diff->renamed = sr__malloc(n_a * sizeof(*diff->renamed));
    diff->removed = sr__malloc(n_a * sizeof(*diff->removed));
    diff->added = sr__malloc(n_b * sizeof(*diff->added));
    if (diff->b_of_a == NULL || diff->a_of_b == NULL || diff->backend_b_of_a == NULL || diff->backend_a_of_b == NULL ||
        diff->moves == NULL || diff->causes == NULL || diff->places == NULL || diff->renamed == NULL ||
        diff->removed == NULL || diff->added == NULL) {
        return sr__fail_memory(err);
    }
    for (int i = 0; i < a->n_backends; i++) {
        diff->backend_b_of_a[i] = find_backend(b, a->backends[i]->name);
    }
    for (int i = 0; i < b->n_backends; i++) {
        diff->backend_a_of_b[i] = find_backend(a, b->backends[i]->name);
    }
    return SR_OK;
}

/* ---- tensors --------------------------------------------------------------------------------------------------- */

static bool same_backend(const sr_diff *diff, int from, int to) {
    return from < 0 || to < 0 ? from < 0 && to < 0 : diff->backend_b_of_a[from] == to;
}

/* The buffer type a leaf lies in, "" for one that the scheduler allocates. */
static const char *type_of(const sr_graph *graph, int32_t tensor) {
    const sr_tensor *t = &graph->tensors[tensor];
    const sr_buffer *buffer = t->view_src >= 0 ? graph->tensors[t->view_src].buffer : t->buffer;
    return buffer != NULL ? buffer->type->name : "";
}

static void look_at_name(sr_diff *diff, const sr_diff_pair *pair) {
    const char *a = diff->a->graph->tensors[pair->a].name, *b = diff->b->graph->tensors[pair->b].name;
    if (!sr__diff_name_is_cut(a, b) && !(sr__diff_name_is_automatic(a) && sr__diff_name_is_automatic(b))) {
        diff->renamed[diff->n_renamed++] = *pair;
    }
}

static void look_at_leaf(sr_diff *diff, int32_t tensor) {
    const int32_t b = diff->b_of_a[tensor];
    if (b < 0) {
        diff->removed[diff->n_removed++] = tensor;
        return;
    }
    const sr_diff_pair pair = {tensor, b, diff->a->backend_of[tensor], diff->b->backend_of[b]};
    look_at_name(diff, &pair);
    if (!same_backend(diff, pair.from, pair.to) ||
        strcmp(type_of(diff->a->graph, tensor), type_of(diff->b->graph, b)) != 0) {
        diff->places[diff->n_places++] = pair;
    }
}

static void look_at_node(sr_diff *diff, int32_t tensor) {
    const int32_t b = diff->b_of_a[tensor];
    if (b < 0) {
        diff->removed[diff->n_removed++] = tensor;
        diff->n_removed_nodes++;
        return;
    }
    const sr_diff_pair pair = {tensor, b, diff->a->backend_of[tensor], diff->b->backend_of[b]};
    look_at_name(diff, &pair);
    diff->n_resized += diff->a->graph->tensors[tensor].nbytes != diff->b->graph->tensors[b].nbytes;
    if (!same_backend(diff, pair.from, pair.to)) {
        diff->moves[diff->n_moves++] = pair;
        diff->n_moved_views += sr_op_is_view(diff->a->graph->tensors[tensor].op);
    } else if (diff->a->cause_of[tensor] != diff->b->cause_of[b]) {
        diff->causes[diff->n_causes++] = pair;
    }
}

static void look_at_tensors(sr_diff *diff) {
    const sr_graph *a = diff->a->graph, *b = diff->b->graph;
    for (int32_t i = 0; i < a->n_leafs; i++) {
        look_at_leaf(diff, a->leafs[i]);
    }
    for (int32_t i = 0; i < a->n_nodes; i++) {
        look_at_node(diff, a->nodes[i]);
    }
    for (int32_t i = 0; i < b->n_leafs; i++) {
        if (diff->a_of_b[b->leafs[i]] < 0) {
            diff->added[diff->n_added++] = b->leafs[i];
        }
    }
    for (int32_t i = 0; i < b->n_nodes; i++) {
        if (diff->a_of_b[b->nodes[i]] < 0) {
            diff->added[diff->n_added++] = b->nodes[i];
            diff->n_added_nodes++;
        }
    }
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

static bool memory_differs(const sr_diff *diff) {
    for (int i = 0; i < diff->n_memory; i++) {
        const sr_diff_memory *m = &diff->memory[i];
        if (m->a < 0 || m->b < 0 || m->held_a != m->held_b || m->live_a != m->live_b) {
            return true;
        }
    }
    return false;
}

static bool anything_differs(const sr_diff *diff) {
    return diff->n_moves + diff->n_causes + diff->n_places + diff->n_renamed > 0 ||
           diff->n_removed + diff->n_added + diff->n_resized > 0 || diff->n_cuts + diff->n_merges > 0 ||
           diff->n_gained + diff->n_lost + diff->n_resized_copies > 0 || diff->a->n_splits != diff->b->n_splits ||
           diff->a->n_copies != diff->b->n_copies || memory_differs(diff);
}

sr_status sr_diff_make(const sr_layout *a, const sr_layout *b, sr_diff *out_diff, sr_error *err) {
    sr_status status = SR_OK;
    *out_diff = (sr_diff){.a = a, .b = b};
    out_diff->compared = sr_layout_has_splits(a) && sr_layout_has_splits(b);
    out_diff->differs = (a != NULL) != (b != NULL) || (a != NULL && a->status != b->status) ||
                        sr_layout_has_splits(a) != sr_layout_has_splits(b);
    if (!out_diff->compared) {
        return SR_OK;
    }
    SR_TRY(make_tables(out_diff, err));
    SR_TRY(sr__diff_match(a->graph, b->graph, out_diff->b_of_a, out_diff->a_of_b, err));
    look_at_tensors(out_diff);
    SR_TRY(sr__diff_splits(out_diff, err));
    SR_TRY(sr__diff_copies(out_diff, err));
    SR_TRY(sr__diff_memory(out_diff, err));
    SR_TRY(sr__diff_reasons(out_diff, err));
    out_diff->differs = out_diff->differs || anything_differs(out_diff);
done:
    if (status != SR_OK) {
        sr_diff_clear(out_diff);
    }
    return status;
}

void sr_diff_clear(sr_diff *diff) {
    for (int i = 0; i < diff->n_reasons; i++) {
        sr__free(diff->reasons[i].not_from);
        sr__free(diff->reasons[i].not_to);
    }
    void *const all[] = {diff->b_of_a, diff->a_of_b, diff->backend_b_of_a, diff->backend_a_of_b, diff->moves,
                         diff->causes, diff->places, diff->renamed, diff->removed, diff->added, diff->reasons,
                         diff->cuts, diff->merges, diff->gained, diff->lost, diff->resized, diff->memory};
    for (int i = 0; i < SR_COUNT(all); i++) {
        sr__free(all[i]);
    }
    *diff = (sr_diff){0};
}
