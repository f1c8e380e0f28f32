/*
 * dot_fold.c - finds runs of equal layers: repeated sequences of nodes, within a split or of whole splits.
 *
 * Layer: report.
 *
 * Nodes are alike when op, type, extents, backend, cause, start of a split and sources agree; sources agree when they
 * are the same tensor, stand equally far back, or are leafs that are alike.  A period is tried where the hash of a few
 * consecutive nodes comes again; the most nodes saved wins.  Both the number of periods tried at a position and their
 * length are bounded, so that the search is linear in the number of nodes.
 */
#include "report/dot_fold.h"

enum { GRAM = 4, MOST_TRIES = 64, LONGEST_PERIOD = 2048, LEAST_SAVED = 4 };

typedef struct finder {
    const sr_layout *layout;
    const int32_t *srcs;
    const uint8_t *marks;
    uint32_t *hashes;  /* by position: of the node alone */
    uint32_t *grams;   /* by position: of the GRAM nodes from there on */
    int32_t *next;     /* by position: the next one with the same gram, -1 */
    int32_t *split_at; /* by position: split that starts there, -1 */
    int32_t *live;     /* by position: results from before it that are read at it or after */
    int32_t n;
} finder;

static const sr_tensor *node_at(const finder *f, int32_t position) {
    return &f->layout->graph->tensors[f->layout->graph->nodes[position]];
}

/* ---- likeness --------------------------------------------------------------------------------------------------- */

static bool leafs_alike(const finder *f, int32_t a, int32_t b) {
    const sr_tensor *ta = &f->layout->graph->tensors[a];
    const sr_tensor *tb = &f->layout->graph->tensors[b];
    return ta->type == tb->type && memcmp(ta->ne, tb->ne, sizeof(ta->ne)) == 0 && ta->flags == tb->flags &&
           ta->buffer == tb->buffer && f->layout->backend_of[a] == f->layout->backend_of[b];
}

/* a is a source of the node at position `at`, b of the one a period later. */
static bool sources_alike(const finder *f, int32_t a, int32_t b, int32_t period) {
    const sr_graph *graph = f->layout->graph;
    if (a == b) {
        return true;
    }
    if (a < 0 || b < 0) {
        return false;
    }
    if (a >= graph->n_tensors || b >= graph->n_tensors) {
        if (a < graph->n_tensors || b < graph->n_tensors) {
            return false;
        }
        const sr_extra *ea = &f->layout->view.extra[a - graph->n_tensors];
        const sr_extra *eb = &f->layout->view.extra[b - graph->n_tensors];
        return ea->backend == eb->backend && sources_alike(f, ea->of, eb->of, period);
    }
    const int32_t pa = graph->tensors[a].node;
    const int32_t pb = graph->tensors[b].node;
    return pa >= 0 && pb >= 0 ? pb - pa == period : pa < 0 && pb < 0 && leafs_alike(f, a, b);
}

static bool nodes_alike(const finder *f, int32_t at, int32_t period) {
    const sr_tensor *a = node_at(f, at);
    const sr_tensor *b = node_at(f, at + period);
    if (f->hashes[at] != f->hashes[at + period] || a->n_src != b->n_src) {
        return false;
    }
    for (int j = 0; j < a->n_src; j++) {
        if (!sources_alike(f, f->srcs[a->src_begin + j], f->srcs[b->src_begin + j], period)) {
            return false;
        }
    }
    return true;
}

/* ---- hashes ----------------------------------------------------------------------------------------------------- */

static uint32_t hash_node(const finder *f, int32_t position) {
    const int32_t tensor = f->layout->graph->nodes[position];
    const sr_tensor *t = node_at(f, position);
    const char *op = sr_tensor_op_desc(t);
    const int32_t split = f->split_at[position];
    struct { int32_t type, flags, n_src, backend, cause, split_inputs, mark, unused; int64_t ne[SR_MAX_DIMS]; } key;
    memset(&key, 0, sizeof(key));
    key.type = t->type;
    key.flags = t->flags;
    key.n_src = t->n_src;
    key.mark = f->marks != NULL ? f->marks[tensor] : 0;
    key.backend = f->layout->backend_of[tensor];
    key.cause = f->layout->cause_of[tensor];
    key.split_inputs = split >= 0 ? f->layout->splits[split].n_inputs : -1;
    memcpy(key.ne, t->ne, sizeof(key.ne));
    return (uint32_t)sr__hash_bytes(sr__hash_bytes(1, op, strlen(op)), &key, sizeof(key));
}

/* Chains positions with equal grams, nearest first: a table of the last position by gram, filled from the end. */
static bool chain(finder *f) {
    size_t size = 64;
    while (size < (size_t)f->n * 2) {
        size *= 2;
    }
    int32_t *table = sr__malloc(size * sizeof(*table));
    if (table == NULL) {
        return false;
    }
    memset(table, 0xff, size * sizeof(*table));
    for (int32_t i = f->n - 1; i >= 0; i--) {
        size_t slot = f->grams[i] & (size - 1);
        while (table[slot] >= 0 && f->grams[table[slot]] != f->grams[i]) {
            slot = (slot + 1) & (size - 1);
        }
        f->next[i] = table[slot];
        table[slot] = i;
    }
    sr__free(table);
    return true;
}

/* Each result is alive from the position after it to its last reader (kept in f->next for the while). */
static void count_live(finder *f) {
    const sr_graph *graph = f->layout->graph;
    int32_t *last = f->next;
    memset(f->live, 0, ((size_t)f->n + 1) * sizeof(*f->live));
    for (int32_t i = 0; i < f->n; i++) {
        const sr_tensor *t = node_at(f, i);
        last[i] = i;
        for (int j = 0; j < t->n_src; j++) {
            const int32_t source = graph->srcs[t->src_begin + j];
            const int32_t position = source >= 0 ? graph->tensors[source].node : -1;
            if (position >= 0 && position < i) {
                last[position] = i;
            }
        }
    }
    for (int32_t i = 0; i < f->n; i++) {
        f->live[i + 1] += last[i] > i ? 1 : 0;
        f->live[last[i] + 1] -= last[i] > i && last[i] < f->n ? 1 : 0;
    }
    for (int32_t i = 1; i <= f->n; i++) {
        f->live[i] += f->live[i - 1];
    }
}

static bool prepare(finder *f) {
    for (int32_t i = 0; i < f->n; i++) {
        f->split_at[i] = -1;
    }
    for (int32_t s = 0; s < f->layout->n_splits; s++) {
        if (f->layout->splits[s].start < f->n) {
            f->split_at[f->layout->splits[s].start] = s;
        }
    }
    for (int32_t i = 0; i < f->n; i++) {
        f->hashes[i] = hash_node(f, i);
    }
    count_live(f);
    for (int32_t i = 0; i < f->n; i++) {
        uint32_t gram = 0;
        for (int32_t j = i; j < i + GRAM && j < f->n; j++) {
            gram = gram * 0x9E3779B1u + f->hashes[j];
        }
        f->grams[i] = gram ^ (gram >> 15);
    }
    return chain(f);
}

/* ---- search ----------------------------------------------------------------------------------------------------- */

static bool has_split(const finder *f, int32_t begin, int32_t end) {
    for (int32_t i = begin; i < end; i++) {
        if (f->split_at[i] >= 0) {
            return true;
        }
    }
    return false;
}

/* What a period at a position folds; repeats 0: nothing. */
static sr__fold try_period(const finder *f, int32_t begin, int32_t period) {
    sr__fold fold = {.begin = begin, .period = period};
    int32_t alike = 0;
    while (begin + period + alike < f->n && nodes_alike(f, begin + alike, period)) {
        alike++;
    }
    fold.repeats = alike / period + 1;
    fold.slack = alike % period;
    fold.splits = fold.repeats > 1 && has_split(f, begin + period, begin + 2 * period);
    if (fold.splits) {
        /* whole splits only: it starts with one, and so does what comes after it */
        const int32_t end = begin + period * fold.repeats;
        fold.repeats -= end < f->n && f->split_at[end] < 0;
        if (f->split_at[begin] < 0) {
            fold.repeats = 0;
        }
    }
    return fold;
}

static int32_t saved(const sr__fold *fold) {
    return fold->repeats > 1 ? (fold->repeats - 1) * fold->period : 0;
}

static sr__fold best_fold(const finder *f, int32_t begin) {
    sr__fold best = {0};
    int tries = 0;
    for (int32_t i = f->next[begin]; i >= 0 && tries < MOST_TRIES && i - begin <= LONGEST_PERIOD; i = f->next[i]) {
        const sr__fold fold = try_period(f, begin, i - begin);
        tries++;
        if (saved(&fold) > saved(&best)) {
            best = fold;
        }
    }
    return best;
}

/* Of the places where a fold could as well begin, the first with the fewest results in use: there a layer begins. */
static void turn(const finder *f, sr__fold *fold) {
    int32_t best = fold->begin;
    for (int32_t i = fold->begin + 1; i <= fold->begin + fold->slack && !fold->splits; i++) {
        best = f->live[i] < f->live[best] ? i : best;
    }
    fold->begin = best;
}

static sr_status search(const finder *f, sr__folds *folds, sr_error *err) {
    for (int32_t i = 0; i < f->n;) {
        sr__fold fold = best_fold(f, i);
        if (saved(&fold) < LEAST_SAVED) {
            i++;
            continue;
        }
        if (!sr__grow(&folds->folds, &folds->cap, (size_t)folds->n + 1, sizeof(*folds->folds))) {
            return sr__fail_memory(err);
        }
        turn(f, &fold);
        folds->folds[folds->n] = fold;
        for (int32_t j = 0; j < fold.period * fold.repeats; j++) {
            folds->fold_of[fold.begin + j] = folds->n;
        }
        folds->n++;
        i = fold.begin + fold.period * fold.repeats;
    }
    return SR_OK;
}

sr_status sr__folds_init(sr__folds *folds, const sr_layout *layout, const uint8_t *marks, bool fold, sr_error *err) {
    const size_t n = (size_t)layout->graph->n_nodes;
    finder f = {.layout = layout, .marks = marks, .n = layout->graph->n_nodes};
    sr_status status = SR_OK;
    *folds = (sr__folds){0};
    f.srcs = layout->view.srcs != NULL ? layout->view.srcs : layout->graph->srcs;
    folds->fold_of = sr__malloc((n + 1) * sizeof(*folds->fold_of));
    f.hashes = sr__malloc((n + 1) * sizeof(*f.hashes));
    f.grams = sr__malloc((n + 1) * sizeof(*f.grams));
    f.next = sr__malloc((n + 1) * sizeof(*f.next));
    f.split_at = sr__malloc((n + 1) * sizeof(*f.split_at));
    f.live = sr__malloc((n + 2) * sizeof(*f.live));
    if (folds->fold_of == NULL || f.hashes == NULL || f.grams == NULL || f.next == NULL || f.split_at == NULL ||
        f.live == NULL || !prepare(&f)) {
        status = sr__fail_memory(err);
        goto done;
    }
    for (size_t i = 0; i < n; i++) {
        folds->fold_of[i] = -1;
    }
    if (fold) {
        SR_TRY(search(&f, folds, err));
    }
done:
    sr__free(f.hashes);
    sr__free(f.grams);
    sr__free(f.next);
    sr__free(f.split_at);
    sr__free(f.live);
    if (status != SR_OK) {
        sr__folds_free(folds);
    }
    return status;
}

void sr__folds_free(sr__folds *folds) {
    sr__free(folds->folds);
    sr__free(folds->fold_of);
    *folds = (sr__folds){0};
}

int32_t sr__fold_drawn(const sr__folds *folds, int32_t position) {
    if (folds->fold_of[position] < 0) {
        return position;
    }
    const sr__fold *fold = &folds->folds[folds->fold_of[position]];
    return fold->begin + (position - fold->begin) % fold->period;
}

int32_t sr__fold_period(const sr__folds *folds, int32_t position) {
    if (folds->fold_of[position] < 0) {
        return 0;
    }
    const sr__fold *fold = &folds->folds[folds->fold_of[position]];
    return (position - fold->begin) / fold->period;
}
