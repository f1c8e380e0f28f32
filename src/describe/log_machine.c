/*
 * log_machine.c - backends that read each other's memory as an imported log shows it, and the buffers that takes.
 *
 * Layer: describe.  Answers to ggml_backend_sched_buffer_supported.
 *
 * A source that is printed under its own name was read where it lies, one that is printed as a copy was not.  What most
 * tensors of a backend show becomes what other backends accept of its memory; a tensor that shows something else is put
 * in a buffer of a type of its own.
 */
#include "describe/log.h"

#include "sched_run/graph.h"

enum { MAX_LOOK_BACK = 64 };

/* ---- what is accepted ------------------------------------------------------------------------------------------- */

typedef struct count { int64_t computed_direct, computed_copied, direct, copied; } count;

static void count_item(const sr__log_item *item, int n, count *row) {
    const bool computed = item->kind != SR__ITEM_LEAF;
    for (int b = 0; b < n; b++) {
        const bool direct = item->direct >> b & 1, copied = item->copied >> b & 1;
        row[b].direct += direct;
        row[b].copied += copied;
        row[b].computed_direct += computed && direct;
        row[b].computed_copied += computed && copied;
    }
}

/* What is computed lies in the backend's own type; leafs may lie anywhere, and count only where nothing else tells. */
static bool is_accepted(const count *c) {
    if (c->computed_direct + c->computed_copied > 0) {
        return c->computed_direct >= c->computed_copied;
    }
    return c->direct > c->copied;
}

static sr_status find_accepted(sr__import *im) {
    sr__log_machine *machine = &im->machine;
    const int n = (int)machine->n_backends;
    count *counts = sr__calloc((size_t)n * (size_t)n, sizeof(*counts));
    if (counts == NULL) {
        return sr__fail_memory(im->err);
    }
    for (size_t g = 0; g < im->n_graphs; g++) {
        const sr__log_graph *graph = &im->graphs[g];
        for (size_t i = 0; i < graph->n_items; i++) {
            if (graph->items[i].backend >= 0) {
                count_item(&graph->items[i], n, &counts[graph->items[i].backend * n]);
            }
        }
    }
    for (int s = 0; s < n; s++) {
        machine->accepts[s] = UINT64_C(1) << s;
        for (int b = 0; b < n; b++) {
            machine->accepts[s] |= (uint64_t)(b != s && is_accepted(&counts[s * n + b])) << b;
        }
    }
    sr__free(counts);
    return SR_OK;
}

/* Whether the backend's own memory does for a tensor: all that read it may, all that copy it may not. */
static bool fits(const sr__log_machine *machine, const sr__log_item *item, int backend) {
    return (item->direct & ~machine->accepts[backend]) == 0 && (item->copied & machine->accepts[backend]) == 0;
}

/* A tensor of which only copies are printed: it is on the CPU, if nothing speaks against that. */
static int choose_backend(const sr__log_machine *machine, const sr__log_item *item) {
    const int n = (int)machine->n_backends;
    if (fits(machine, item, machine->last)) {
        return machine->last;
    }
    for (int b = 0; b < n; b++) {
        if (fits(machine, item, b)) {
            return b;
        }
    }
    for (int b = 0; b < n; b++) {
        if ((item->copied >> b & 1) == 0) {
            return b;
        }
    }
    return machine->last;
}

/* A tensor that is copied to every backend of the log lies on one that computes nothing. */
static sr_status add_missing_backend(sr__import *im) {
    sr__log_machine *machine = &im->machine;
    const uint64_t all = machine->n_backends < 64 ? (UINT64_C(1) << machine->n_backends) - 1 : UINT64_MAX;
    for (size_t g = 0; g < im->n_graphs; g++) {
        const sr__log_graph *graph = &im->graphs[g];
        for (size_t i = 0; i < graph->n_items; i++) {
            /* the CPU that is always there may be none of the log's */
            if (graph->items[i].backend < 0 && (graph->items[i].copied & all) == all) {
                const sr_status status = sr__log_add_backend(im, (sr__span){"OTHER", 5}, true);
                machine->accepts[machine->n_backends - 1] = UINT64_C(1) << (machine->n_backends - 1);
                return status == SR_OK ? sr__log_rank_backends(im) : status;
            }
        }
    }
    return SR_OK;
}

/* A view lies where what it views lies. */
static void settle_backends(const sr__log_machine *machine, sr__log_graph *graph) {
    for (size_t i = 0; i < graph->n_items; i++) {
        sr__log_item *item = &graph->items[i];
        if (item->backend >= 0) {
            continue;
        }
        const int of_parent = item->parent >= 0 ? graph->items[item->parent].backend : -1;
        const bool fine = of_parent >= 0 && fits(machine, item, of_parent);
        item->backend = fine ? of_parent : choose_backend(machine, item);
    }
}

/* ---- buffers ---------------------------------------------------------------------------------------------------- */

static sr_status find_buffer(sr__import *im, int backend, uint64_t readers, bool weights, int *out) {
    sr__log_machine *machine = &im->machine;
    int type = -1;
    for (int i = 0; i < (int)machine->n_buffers; i++) {
        const sr__log_buffer *b = &machine->buffers[i];
        if (b->backend == backend && b->readers == readers) {
            type = b->type;
            if (b->weights == weights) {
                *out = i;
                return SR_OK;
            }
        }
    }
    if (!sr__grow(&machine->buffers, &machine->buffers_cap, machine->n_buffers + 1, sizeof(*machine->buffers))) {
        return sr__fail_memory(im->err);
    }
    if (readers != 0 && type < 0) {
        type = machine->n_types++;
    }
    *out = (int)machine->n_buffers;
    machine->buffers[machine->n_buffers++] = (sr__log_buffer){backend, readers, type, weights};
    return SR_OK;
}

/* Who reads a tensor that its backend's own memory does not do for; 0: that does. */
static uint64_t own_readers(const sr__log_machine *machine, const sr__log_item *item) {
    return fits(machine, item, item->backend) ? 0 : (item->direct & ~item->copied) | UINT64_C(1) << item->backend;
}

static sr_status place_item(sr__import *im, sr__log_item *item) {
    const uint64_t readers = own_readers(&im->machine, item);
    const bool is_leaf = item->kind == SR__ITEM_LEAF;
    if (item->kind == SR__ITEM_VIEW || (readers == 0 && !item->weight && !(is_leaf && item->is_state))) {
        return SR_OK;
    }
    return find_buffer(im, item->backend, readers, item->weight, &item->buffer);
}

/* ---- views ------------------------------------------------------------------------------------------------------ */

/* Makes room for a view in what it views, as far as the size printed allows. */
static bool has_room(sr__log_graph *graph, int32_t root, int64_t bytes) {
    sr__log_item *item = &graph->items[root];
    if (bytes > item->bytes && bytes < item->size + item->step) {
        item->bytes = bytes;
    }
    return bytes <= item->bytes;
}

static int32_t root_of(const sr__log_graph *graph, int32_t item) {
    while (item >= 0 && graph->items[item].parent >= 0) {
        item = graph->items[item].parent;
    }
    return item;
}

/* A view that nothing fits becomes one of a leaf that the log does not have. */
static sr_status add_root(sr__import *im, sr__log_graph *graph, int32_t view) {
    const sr__log_item *v = &graph->items[view];
    sr__log_item like = {.name = v->name, .size = v->size, .step = v->step, .backend = v->backend, .parent = -1,
                         .direct = v->direct, .copied = v->copied, .log_node = -1};
    int32_t leaf;
    sr__span base;
    if (sr__log_is_view_name(like.name, like.name.length >= im->log.width, &base)) {
        like.name = base;
    }
    if (like.backend < 0) {
        like.backend = im->machine.last;
    }
    const sr_status status = sr__log_add_item(im, graph, &like, &leaf);
    if (status != SR_OK) {
        return status;
    }
    graph->items[view].parent = leaf;
    const uint64_t readers = own_readers(&im->machine, &graph->items[leaf]);
    return readers == 0 ? SR_OK : find_buffer(im, like.backend, readers, false, &graph->items[leaf].buffer);
}

static void count_uses(sr__log_graph *graph) {
    for (size_t i = 0; i < graph->n_srcs; i++) {
        if (graph->srcs[i] >= 0) {
            graph->items[graph->srcs[i]].n_uses++;
        }
    }
    for (size_t i = 0; i < graph->n_items; i++) {
        if (graph->items[i].parent >= 0) {
            graph->items[graph->items[i].parent].n_uses++;
        }
    }
}

/* The newest node that is used more often than is seen (logs since 2025-07 tell), not far back; -1. */
static int32_t find_unused(const sr__import *im, const sr__log_graph *graph, int32_t position) {
    for (int32_t k = position - 1; k >= 0 && k >= position - MAX_LOOK_BACK; k--) {
        const sr__log_item *item = &graph->items[graph->order[k]];
        if (item->kind == SR__ITEM_NODE && item->n_uses < im->log.nodes[item->log_node].use) {
            return graph->order[k];
        }
    }
    return -1;
}

/* A view that stands for none in the log: of a node with uses that are not seen, of what is before it, or of a leaf. */
static void guess_parent(const sr__import *im, sr__log_graph *graph, int32_t view) {
    sr__log_item *v = &graph->items[view];
    v->parent = find_unused(im, graph, v->position);
    if (v->parent < 0 && v->position > 0) {
        v->parent = graph->order[v->position - 1];
    }
    if (v->parent >= 0) {
        graph->items[v->parent].n_uses++;
    }
    for (int32_t i = 0; i < (int32_t)graph->n_items && v->parent < 0; i++) {
        v->parent = graph->items[i].kind == SR__ITEM_LEAF ? i : -1;
    }
}

/* Whether a view on a backend may be of this tensor: one in a buffer is read as that buffer is. */
static bool suits(const sr__log_machine *machine, const sr__log_item *root, int backend) {
    return root->buffer < 0 || (root->backend == backend && machine->buffers[root->buffer].readers == 0);
}

sr_status sr__log_settle_views(sr__import *im, sr__log_graph *graph) {
    sr_status status = SR_OK;
    count_uses(graph);
    for (size_t k = 0; k < graph->n_order && status == SR_OK; k++) {
        const int32_t view = graph->order[k];
        if (graph->items[view].kind != SR__ITEM_VIEW) {
            continue;
        }
        if (!graph->items[view].named) {
            guess_parent(im, graph, view);
        }
        const sr__log_item *v = &graph->items[view];
        const int32_t root = root_of(graph, v->parent);
        bool fine = root >= 0;
        if (fine && v->named) {
            fine = own_readers(&im->machine, v) == 0 && suits(&im->machine, &graph->items[root], v->backend) &&
                   has_room(graph, root, v->bytes);
        }
        if (fine) {
            graph->items[view].parent = root;
        }
        status = fine ? SR_OK : add_root(im, graph, view);
    }
    return status;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

/* 30 is the default; logs of other times show more, or are cut where fewer are full. */
static void find_limit(sr__import *im) {
    int64_t most = 0;
    bool repeats = false;
    const sr__log *log = &im->log;
    for (size_t i = 0; i < log->n_splits; i++) {
        const sr__log_split *split = &log->splits[i];
        most = split->announced > most ? split->announced : most;
    }
    for (size_t i = 0; i + 1 < log->n_splits && !repeats; i++) {
        repeats = log->splits[i].announced == most && log->splits[i + 1].number == log->splits[i].number + 1 &&
                  sr__span_equal(log->splits[i].backend, log->splits[i + 1].backend);
    }
    if (most > 30) {
        im->machine.max_split_inputs = (int)(most < INT32_MAX ? most + 1 : INT32_MAX);
    } else if (repeats && (most == 4 || most == 10 || most == 16)) {
        im->machine.max_split_inputs = (int)most;
    }
}

sr_status sr__log_place(sr__import *im) {
    sr_status status = SR_OK;
    find_limit(im);
    im->machine.n_copies = im->log.max_copy < 1 ? 1 : im->log.max_copy < 4 ? 4 : im->log.max_copy + 1;
    SR_TRY(find_accepted(im));
    SR_TRY(add_missing_backend(im));
    for (size_t g = 0; g < im->n_graphs; g++) {
        sr__log_graph *graph = &im->graphs[g];
        settle_backends(&im->machine, graph);
        SR_TRY(sr__log_find_weights(im, graph));
        for (size_t i = 0; i < graph->n_items; i++) {
            SR_TRY(place_item(im, &graph->items[i]));
        }
        SR_TRY(sr__log_settle_views(im, graph));
    }
done:
    return status;
}
