/*
 * log_weights.c - which tensors of an imported graph must be weights, and which must not be.
 *
 * Layer: describe.  Answers to need_new_split of ggml_backend_sched_split_graph.
 *
 * Two splits of one backend in a row, the first of which has inputs, are there because a node reads weights that lie
 * elsewhere, or because the first one is full.  A node in the middle of a split that has inputs reads no such weights.
 */
#include "describe/log.h"

#include "sched_run/graph.h"

/* The walk over the nodes of a graph, split by split. */
typedef struct walk {
    sr__import *im;
    sr__log_graph *graph;
    uint64_t *copied;  /* by item: backends that it has been copied to so far */
    bool mark;         /* the second time: choose weights; the first time: rule them out */
} walk;

static bool is_first(const sr__log *log, const sr__log_node *node) {
    return node->split >= 0 && &log->nodes[log->splits[node->split].nodes_begin] == node;
}

static sr__log_item *elsewhere(const walk *w, const sr__log_node *node, int j, int backend) {
    const int32_t i = sr__log_src(w->graph, node, j);
    return i >= 0 && (w->graph->items[i].copied >> backend & 1) ? &w->graph->items[i] : NULL;
}

/* Of what a node reads from elsewhere, the one that is most likely a weight. */
static sr__log_item *choose(const walk *w, const sr__log_node *node, int backend) {
    sr__log_item *best = NULL;
    int best_rank = 0;
    for (int j = 0; j < node->n_srcs; j++) {
        sr__log_item *item = elsewhere(w, node, j, backend);
        if (item == NULL || item->not_weight || item->kind == SR__ITEM_VIEW) {
            continue;
        }
        const int rank = item->likely_weight ? 3 : item->kind == SR__ITEM_LEAF && !item->is_input ? 2 : 1;
        if (rank > best_rank) {
            best = item;
            best_rank = rank;
        }
    }
    return best;
}

/* Whether the split before is full and the node brings it another input. */
static bool is_full(const walk *w, int64_t n_inputs) {
    const int64_t limit = w->im->machine.max_split_inputs > 0 ? w->im->machine.max_split_inputs : 30;
    return n_inputs == limit;
}

static void begin_split(walk *w, const sr__log_node *node, int backend, int64_t n_before) {
    if (!w->mark) {
        return;
    }
    for (int j = 0; j < node->n_srcs; j++) {
        const sr__log_item *item = elsewhere(w, node, j, backend);
        if (item != NULL && item->weight) {
            return;
        }
    }
    sr__log_item *item = choose(w, node, backend);
    if (is_full(w, n_before) && (item == NULL || item->kind != SR__ITEM_LEAF)) {
        return;
    }
    if (item != NULL) {
        item->weight = true;
        item->likely_weight = true;
    } else {
        w->graph->n_uncut++;
    }
}

static void walk_nodes(walk *w) {
    const sr__log *log = &w->im->log;
    const sr__log_schedule *s = &log->schedules[w->graph->schedule];
    int64_t n_inputs = 0;
    int last = -1;
    for (int32_t n = s->nodes_begin; n < s->nodes_begin + s->n_nodes; n++) {
        const sr__log_node *node = &log->nodes[n];
        const int backend = sr__log_split_backend(w->im, node);
        if (backend != last || is_first(log, node)) {
            if (backend == last) {
                begin_split(w, node, backend, n_inputs);
            }
            n_inputs = 0;
            last = backend;
        } else if (n_inputs > 0 && !w->mark) {
            for (int j = 0; j < node->n_srcs; j++) {
                sr__log_item *item = elsewhere(w, node, j, backend);
                if (item != NULL) {
                    item->not_weight = true;
                }
            }
        }
        for (int j = 0; j < node->n_srcs; j++) {
            const int32_t i = sr__log_src(w->graph, node, j);
            const uint64_t bit = UINT64_C(1) << backend;
            if (i >= 0 && (w->graph->items[i].copied & bit) && !(w->copied[i] & bit)) {
                w->copied[i] |= bit;
                n_inputs++;
            }
        }
    }
}

/* Names that models give their weights; what cuts off the end leaves the beginning. */
bool sr__log_is_weight_name(sr__span name) {
    static const char *const starts[] = {"blk.", "enc.blk.", "dec.blk.", "v.blk.", "a.blk.", "mm."};
    for (int i = 0; i < SR_COUNT(starts); i++) {
        if (sr__span_starts(name, starts[i])) {
            return true;
        }
    }
    return memmem(name.text, (size_t)name.length, ".weight", 7) != NULL ||
           memmem(name.text, (size_t)name.length, ".bias", 5) != NULL;
}

sr_status sr__log_find_weights(sr__import *im, sr__log_graph *graph) {
    walk w = {.im = im, .graph = graph};
    w.copied = sr__calloc(graph->n_items + 1, sizeof(*w.copied));
    if (w.copied == NULL) {
        return sr__fail_memory(im->err);
    }
    for (size_t i = 0; i < graph->n_items; i++) {
        sr__log_item *item = &graph->items[i];
        item->likely_weight =
            item->likely_weight || (item->kind == SR__ITEM_LEAF && sr__log_is_weight_name(item->name));
    }
    walk_nodes(&w);
    memset(w.copied, 0, (graph->n_items + 1) * sizeof(*w.copied));
    for (size_t i = 0; i < graph->n_items; i++) {
        sr__log_item *item = &graph->items[i];
        item->weight = item->kind == SR__ITEM_LEAF && item->likely_weight && !item->not_weight;
    }
    w.mark = true;
    walk_nodes(&w);
    sr__free(w.copied);
    return SR_OK;
}
