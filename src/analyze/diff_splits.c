/*
 * diff_splits.c - which splits were cut or merged, and which copies came or went.
 *
 * Layer: analyze.
 *
 * Splits are compared by their borders: a split begins at the first node in it that computes something and that both
 * sides have.  A border that only B has cuts a split of A, one that only A has was merged; a border that went from one
 * node to the next is both.  Views are passed over, since a split takes them in wherever they stand.
 */
#include <stdlib.h>

#include "analyze/diff_impl.h"

/* ---- borders --------------------------------------------------------------------------------------------------- */

/* A side as borders are compared: split by position, and the node each split begins with, -1: none in common. */
typedef struct borders {
    const sr_layout *layout;
    const int32_t *other;  /* by tensor */
    int32_t *split_of;     /* by position of nodes */
    int32_t *first;        /* by split: tensor */
} borders;

static sr_status borders_init(borders *s, const sr_layout *layout, const int32_t *other, sr_error *err) {
    const sr_graph *graph = layout->graph;
    *s = (borders){.layout = layout, .other = other};
    s->split_of = sr__malloc(((size_t)graph->n_nodes + 1) * sizeof(*s->split_of));
    s->first = sr__malloc(((size_t)layout->n_splits + 1) * sizeof(*s->first));
    if (s->split_of == NULL || s->first == NULL) {
        return sr__fail_memory(err);
    }
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        s->split_of[i] = -1;
    }
    for (int32_t i = 0; i < layout->n_splits; i++) {
        s->first[i] = -1;
        for (int32_t j = layout->splits[i].start; j < layout->splits[i].end && j < graph->n_nodes; j++) {
            const int32_t node = graph->nodes[j];
            s->split_of[j] = i;
            if (s->first[i] < 0 && other[node] >= 0 && !sr_op_is_view(graph->tensors[node].op)) {
                s->first[i] = node;
            }
        }
    }
    return SR_OK;
}

static void borders_free(borders *s) {
    sr__free(s->split_of);
    sr__free(s->first);
}

/* Borders of `s` that `t` does not have.  The first node of all begins a split on both sides. */
static sr_status find_borders(const borders *s, const borders *t, bool s_is_a, sr_diff_border **out, int32_t *n,
                              sr_error *err) {
    size_t cap = 0;
    for (int32_t i = 0; i < s->layout->n_splits; i++) {
        const int32_t node = s->first[i];
        const int32_t partner = node >= 0 ? s->other[node] : -1;
        const int32_t position = partner >= 0 ? t->layout->graph->tensors[partner].node : -1;
        const int32_t split = position >= 0 ? t->split_of[position] : -1;
        if (split < 0 || t->first[split] == partner) {
            continue;
        }
        if (!sr__grow(out, &cap, (size_t)*n + 1, sizeof(**out))) {
            return sr__fail_memory(err);
        }
        (*out)[(*n)++] = s_is_a ? (sr_diff_border){i, split, node, partner} : (sr_diff_border){split, i, partner, node};
    }
    return SR_OK;
}

sr_status sr__diff_splits(sr_diff *diff, sr_error *err) {
    borders a = {0}, b = {0};
    sr_status status;
    SR_TRY(borders_init(&a, diff->a, diff->b_of_a, err));
    SR_TRY(borders_init(&b, diff->b, diff->a_of_b, err));
    SR_TRY(find_borders(&b, &a, false, &diff->cuts, &diff->n_cuts, err));
    SR_TRY(find_borders(&a, &b, true, &diff->merges, &diff->n_merges, err));
done:
    borders_free(&a);
    borders_free(&b);
    return status;
}

/* ---- copies ---------------------------------------------------------------------------------------------------- */

/* A copy by what it is of: the tensor as side A knows it, or behind those as B does; backends likewise. */
typedef struct copy {
    int64_t tensor;
    int from, to;
    int32_t input; /* position in layout->inputs */
} copy;

static int compare_keys(const copy *x, const copy *y) {
    if (x->tensor != y->tensor) {
        return x->tensor < y->tensor ? -1 : 1;
    }
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return x->to < y->to ? -1 : x->to > y->to;
}

static int compare_copies(const void *px, const void *py) {
    const copy *x = px, *y = py;
    const int order = compare_keys(x, y);
    return order != 0 ? order : x->input < y->input ? -1 : x->input > y->input;
}

static int common_backend(const sr_diff *diff, bool is_a, int backend) {
    if (is_a || backend < 0) {
        return backend;
    }
    return diff->backend_a_of_b[backend] >= 0 ? diff->backend_a_of_b[backend] : diff->a->n_backends + backend;
}

static copy *list_copies(const sr_diff *diff, bool is_a) {
    const sr_layout *layout = is_a ? diff->a : diff->b;
    copy *copies = sr__malloc(((size_t)layout->n_inputs + 1) * sizeof(*copies));
    for (int32_t i = 0; copies != NULL && i < layout->n_splits; i++) {
        const sr_split *split = &layout->splits[i];
        for (int32_t j = split->inputs_begin; j < split->inputs_begin + split->n_inputs; j++) {
            const int32_t input = layout->inputs[j];
            const int64_t only_b = (int64_t)diff->a->graph->n_tensors + input;
            copies[j] = (copy){.tensor = is_a ? input : diff->a_of_b[input] >= 0 ? diff->a_of_b[input] : only_b,
                               .from = common_backend(diff, is_a, layout->backend_of[input]),
                               .to = common_backend(diff, is_a, split->backend), .input = j};
        }
    }
    if (copies != NULL) {
        qsort(copies, (size_t)layout->n_inputs, sizeof(*copies), compare_copies);
    }
    return copies;
}

static int compare_inputs(const void *px, const void *py) {
    const sr_diff_copy *x = px, *y = py;
    return x->a != y->a ? (x->a < y->a ? -1 : 1) : x->b < y->b ? -1 : x->b > y->b;
}

static uint64_t bytes_of(const sr_layout *layout, int32_t input) {
    return layout->graph->tensors[layout->inputs[input]].nbytes;
}

static void compare_lists(sr_diff *diff, const copy *a, const copy *b) {
    int32_t i = 0, j = 0;
    while (i < diff->a->n_inputs || j < diff->b->n_inputs) {
        const int order = i >= diff->a->n_inputs   ? 1
                          : j >= diff->b->n_inputs ? -1
                                                   : compare_keys(&a[i], &b[j]);
        if (order < 0) {
            diff->lost[diff->n_lost++] = (sr_diff_copy){a[i++].input, -1};
        } else if (order > 0) {
            diff->gained[diff->n_gained++] = (sr_diff_copy){-1, b[j++].input};
        } else {
            if (bytes_of(diff->a, a[i].input) != bytes_of(diff->b, b[j].input)) {
                diff->resized[diff->n_resized_copies++] = (sr_diff_copy){a[i].input, b[j].input};
            }
            i++;
            j++;
        }
    }
    qsort(diff->lost, (size_t)diff->n_lost, sizeof(*diff->lost), compare_inputs);
    qsort(diff->gained, (size_t)diff->n_gained, sizeof(*diff->gained), compare_inputs);
    qsort(diff->resized, (size_t)diff->n_resized_copies, sizeof(*diff->resized), compare_inputs);
}

sr_status sr__diff_copies(sr_diff *diff, sr_error *err) {
    copy *a = list_copies(diff, true), *b = list_copies(diff, false);
    const size_t n_a = (size_t)diff->a->n_inputs + 1, n_b = (size_t)diff->b->n_inputs + 1;
    diff->lost = sr__malloc(n_a * sizeof(*diff->lost));
    diff->resized = sr__malloc(n_a * sizeof(*diff->resized));
    diff->gained = sr__malloc(n_b * sizeof(*diff->gained));
    const bool made = a != NULL && b != NULL && diff->lost != NULL && diff->resized != NULL && diff->gained != NULL;
    if (made) {
        compare_lists(diff, a, b);
    }
    sr__free(a);
    sr__free(b);
    return made ? SR_OK : sr__fail_memory(err);
}
