/*
 * plan_holds.c - whether the addresses of a layout hold for its graph: nothing is written over what is still in use.
 *
 * Layer: analyze.  A plan that fits is kept although it was made for another graph: sizes of nodes and their sources
 * are compared, but not who reads them when, nor flags, nor leafs that nobody reads.  So the life spans of this graph
 * are laid over the addresses: a sweep over the nodes.  What is alive never overlaps, so it is enough to look at the
 * nearest below and above.  Regions are ranked by address once; a bit for each says whether it is alive, and a bit for
 * each word of bits whether any of it is, and so on: the nearest is found in a few steps.
 */
#include <stdlib.h>

#include "alloc/graph_allocator.h"
#include "analyze/lint_history.h"

enum { MAX_LEVELS = 6 }; /* 64^6 regions are more than there are ids */

typedef struct region {
    uint64_t place; /* memory and chunk */
    size_t offset, end;
    int32_t id;
} region;

typedef struct sweep {
    const sr_layout *layout;
    const sr_graph_view *view;
    int32_t n_ids;
    int32_t *first;        /* by id: position where it is written; -1: before the first node, -2: not at all */
    int32_t *last;         /* by id: position where it is last read */
    int32_t *next_dying;   /* by id: the next that dies at the same position */
    int32_t *dying;        /* by position + 1 */
    int32_t *rank;         /* by id: its place in regions, -1 */
    region *regions;       /* by memory, chunk, offset */
    int32_t n_regions;
    uint64_t *bits;        /* of all levels, the lowest first: is it alive */
    uint64_t *level[MAX_LEVELS];
    int n_levels;
    int *memory_of;        /* by backend */
} sweep;

/* What holds an id's bytes: the root of a view, the original of a dependency. */
static int32_t storage_of(const sr_graph_view *view, int32_t id) {
    if (sr_view_is_extra(view, id)) {
        const sr_extra *extra = &view->extra[id - view->graph->n_tensors];
        if (extra->kind != SR_EXTRA_DEPENDENCY) {
            return id;
        }
        id = extra->of;
    }
    return sr__root_of(view->graph, id);
}

static bool is_planned(const sweep *s, int32_t id) {
    return s->layout->addresses[id].buffer_id >= 0 && storage_of(s->view, id) == id;
}

/* ---- life spans -------------------------------------------------------------------------------------------------- */

static void note_use(sweep *s, int32_t id, int32_t position) {
    const int32_t root = storage_of(s->view, id);
    if (s->last[root] < position) {
        s->last[root] = position;
    }
}

static void write_first(sweep *s, int32_t id, int32_t position) {
    if (s->first[id] == -2 || position < s->first[id]) {
        s->first[id] = position;
    }
    note_use(s, id, position);
}

/* User inputs are written before the first node, also those that stand among the nodes. */
static void note_starts(sweep *s) {
    const sr_graph_view *view = s->view;
    for (int32_t i = 0; i < view->n_leafs; i++) {
        write_first(s, view->leafs[i], -1);
    }
    for (int32_t id = 0; id < s->n_ids; id++) {
        if (sr_view_flags(view, id) & SR_FLAG_INPUT) {
            write_first(s, id, -1);
        }
    }
}

static void find_lives(sweep *s) {
    const sr_graph_view *view = s->view;
    note_starts(s);
    for (int32_t i = 0; i < view->n_nodes; i++) {
        const int32_t id = view->nodes[i];
        const int n = sr__id_n_src(view, id);
        for (int j = 0; j < n; j++) {
            const int32_t source = sr__id_src(view, id, j);
            if (source >= 0) {
                const bool is_leaf = sr_view_op(view, storage_of(view, source)) == SR_OP_NONE;
                if (is_leaf && s->first[storage_of(view, source)] == -2) {
                    s->first[storage_of(view, source)] = -1; /* a leaf that is in no list */
                }
                note_use(s, source, i);
            }
        }
        if (storage_of(view, id) == id) {
            write_first(s, id, i);
        } else {
            note_use(s, id, i);
        }
    }
    for (int32_t id = 0; id < s->n_ids; id++) {
        if (s->first[id] > -2 && (sr_view_flags(view, id) & SR_FLAG_OUTPUT)) {
            s->last[id] = view->n_nodes;
        }
    }
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b) {
    const region *x = a, *y = b;
    return x->place != y->place     ? (x->place < y->place ? -1 : 1)
           : x->offset != y->offset ? (x->offset < y->offset ? -1 : 1)
                                    : x->id - y->id;
}

static void rank_regions(sweep *s) {
    for (int32_t id = 0; id < s->n_ids; id++) {
        s->rank[id] = -1;
        if (s->first[id] == -2 || !is_planned(s, id)) {
            continue;
        }
        const sr_address *a = &s->layout->addresses[id];
        const sr_buffer_type *type = s->layout->buffer_types[a->buffer_id];
        const size_t size = type->iface->alloc_size ? sr_buffer_type_alloc_size(type, s->view, id)
                                                    : sr_view_tensor(s->view, id)->nbytes;
        if (size > 0) {
            s->regions[s->n_regions++] = (region){(uint64_t)s->memory_of[a->buffer_id] << 32 | (uint32_t)a->chunk,
                                                  a->offset, a->offset + size, id};
        }
    }
    qsort(s->regions, (size_t)s->n_regions, sizeof(*s->regions), by_address);
    for (int32_t i = 0; i < s->n_regions; i++) {
        s->rank[s->regions[i].id] = i;
    }
}

/* ---- what is alive ----------------------------------------------------------------------------------------------- */

static void set_alive(sweep *s, int32_t rank, bool alive) {
    uint32_t at = (uint32_t)rank;
    for (int l = 0; l < s->n_levels; l++) {
        uint64_t *word = &s->level[l][at / 64];
        const uint64_t bit = (uint64_t)1 << (at % 64);
        *word = alive ? *word | bit : *word & ~bit;
        if (!alive && *word != 0) {
            break; /* others below it are alive */
        }
        at /= 64;
    }
}

/* The nearest one alive above a rank, or below it; -1: none. */
static int32_t nearest(const sweep *s, int32_t rank, bool above) {
    uint32_t at = (uint32_t)rank;
    for (int l = 0; l < s->n_levels; l++, at /= 64) {
        const unsigned shift = at % 64;
        const uint64_t word = s->level[l][at / 64];
        const uint64_t rest =
            above ? (shift == 63 ? 0 : word >> (shift + 1) << (shift + 1)) : word & (((uint64_t)1 << shift) - 1);
        if (rest == 0) {
            continue;
        }
        at = at / 64 * 64 + (uint32_t)(above ? __builtin_ctzll(rest) : 63 - __builtin_clzll(rest));
        while (l-- > 0) {
            const uint64_t below = s->level[l][at];
            at = at * 64 + (uint32_t)(above ? __builtin_ctzll(below) : 63 - __builtin_clzll(below));
        }
        return (int32_t)at;
    }
    return -1;
}

static bool overlap(const region *a, const region *b) {
    return a->place == b->place && a->offset < b->end && b->offset < a->end;
}

static void take_out(sweep *s, int32_t id) {
    if (s->rank[id] >= 0) {
        set_alive(s, s->rank[id], false);
    }
}

/* Puts it in; the id that it overlaps with, or -1. */
static int32_t put_in(sweep *s, int32_t id) {
    const int32_t rank = s->rank[id];
    if (rank < 0) {
        return -1;
    }
    for (int above = 0; above < 2; above++) {
        const int32_t other = nearest(s, rank, above != 0);
        if (other >= 0 && overlap(&s->regions[rank], &s->regions[other])) {
            return s->regions[other].id;
        }
    }
    set_alive(s, rank, true);
    return -1;
}

/* ---- the sweep --------------------------------------------------------------------------------------------------- */

/* A result may stand where a source lies that dies with it, if its op works in place. */
static void make_room_in_place(sweep *s, int32_t id, int32_t position) {
    const sr_graph_view *view = s->view;
    const int n = sr__id_n_src(view, id);
    if (!sr_op_can_reuse(sr_view_op(view, id))) {
        return;
    }
    for (int j = 0; j < n; j++) {
        const int32_t source = sr__id_src(view, id, j);
        const int32_t root = source >= 0 ? storage_of(view, source) : -1;
        if (root >= 0 && root != id && s->last[root] == position && is_planned(s, root) &&
            s->layout->addresses[root].offset == s->layout->addresses[id].offset &&
            sr_tensor_same_layout(sr_view_tensor(view, id), sr_view_tensor(view, root))) {
            take_out(s, root);
        }
    }
}

static bool begin(sweep *s, int32_t id, int32_t position, sr__clobber *out) {
    if (!is_planned(s, id) || s->first[id] != position) {
        return true;
    }
    if (position >= 0) {
        make_room_in_place(s, id, position);
    }
    const int32_t lost = put_in(s, id);
    if (lost >= 0) {
        *out = (sr__clobber){lost, id};
        return false;
    }
    s->next_dying[id] = s->dying[s->last[id] + 1];
    s->dying[s->last[id] + 1] = id;
    return true;
}

static void end(sweep *s, int32_t position) {
    for (int32_t id = s->dying[position + 1]; id >= 0; id = s->next_dying[id]) {
        take_out(s, id);
    }
}

static void run_sweep(sweep *s, sr__clobber *out) {
    for (int32_t id = 0; id < s->n_ids; id++) {
        if (s->first[id] == -1 && !begin(s, id, -1, out)) {
            return;
        }
    }
    end(s, -1);
    for (int32_t i = 0; i < s->view->n_nodes; i++) {
        if (!begin(s, s->view->nodes[i], i, out)) {
            return;
        }
        end(s, i);
    }
}

/* Words of all levels of bits for n regions; sets where each level begins once there is memory for them. */
static size_t lay_levels(sweep *s, size_t n) {
    size_t total = 0;
    s->n_levels = 0;
    do {
        n = (n + 63) / 64;
        if (s->bits != NULL) {
            s->level[s->n_levels] = s->bits + total;
        }
        s->n_levels++;
        total += n;
    } while (n > 1 && s->n_levels < MAX_LEVELS);
    return total;
}

static bool sweep_init(sweep *s, const sr_layout *layout) {
    *s = (sweep){.layout = layout, .view = &layout->view};
    s->n_ids = layout->graph->n_tensors + layout->view.n_extra;
    const size_t n = (size_t)s->n_ids + 1, n_positions = (size_t)layout->view.n_nodes + 2;
    s->first = sr__malloc(n * sizeof(*s->first));
    s->last = sr__malloc(n * sizeof(*s->last));
    s->next_dying = sr__malloc(n * sizeof(*s->next_dying));
    s->dying = sr__malloc(n_positions * sizeof(*s->dying));
    s->rank = sr__malloc(n * sizeof(*s->rank));
    s->regions = sr__malloc(n * sizeof(*s->regions));
    s->bits = sr__calloc(lay_levels(s, n), sizeof(*s->bits));
    s->memory_of = sr__calloc((size_t)layout->n_backends, sizeof(*s->memory_of));
    if (!s->first || !s->last || !s->next_dying || !s->dying || !s->rank || !s->regions || !s->bits || !s->memory_of) {
        return false;
    }
    (void)lay_levels(s, n);
    for (int32_t id = 0; id < s->n_ids; id++) {
        s->first[id] = s->last[id] = -2;
    }
    memset(s->dying, 0xff, n_positions * sizeof(*s->dying));
    for (int b = 0; b < layout->n_backends; b++) {
        while (layout->buffer_types[s->memory_of[b]] != layout->buffer_types[b]) {
            s->memory_of[b]++;
        }
    }
    return true;
}

static void sweep_free(sweep *s) {
    sr__free(s->first);
    sr__free(s->last);
    sr__free(s->next_dying);
    sr__free(s->dying);
    sr__free(s->rank);
    sr__free(s->regions);
    sr__free(s->bits);
    sr__free(s->memory_of);
}

sr_status sr__find_clobber(const sr_layout *layout, sr__clobber *out, sr_error *err) {
    sweep s;
    *out = (sr__clobber){-1, -1};
    const bool ok = sweep_init(&s, layout);
    if (ok) {
        find_lives(&s);
        rank_regions(&s);
        run_sweep(&s, out);
    }
    sweep_free(&s);
    return ok ? SR_OK : sr__fail_memory(err);
}
