/*
 * plan_holds.c - whether the addresses of a layout hold for its graph: nothing is written over what is still in use.
 *
 * Layer: analyze.  A plan that fits is kept although it was made for another graph: sizes of nodes and their sources are
 * compared, but not who reads them when, nor flags, nor leafs that nobody reads.  So the life spans of this graph are
 * laid over the addresses: a sweep over the nodes with a sorted list of what is alive.
 */
#include "alloc/graph_allocator.h"
#include "analyze/lint_history.h"

typedef struct region {
    int memory;   /* the first backend with this buffer type */
    int32_t chunk;
    size_t offset, end;
    int32_t id;
} region;

typedef struct sweep {
    const sr_layout *layout;
    const sr_graph_view *view;
    int32_t n_ids;
    int32_t *first, *last; /* by id: position where it is written (-1: before the first) and last read; -2: not at all */
    int32_t *next_dying;   /* by id: the next that dies at the same position */
    int32_t *dying;        /* by position + 1 */
    region *alive;         /* by memory, chunk, offset; no two overlap */
    int32_t n_alive;
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

/* ---- life spans --------------------------------------------------------------------------------------------------- */

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

/* ---- what is alive ------------------------------------------------------------------------------------------------- */

static region region_of(const sweep *s, int32_t id) {
    const sr_address *a = &s->layout->addresses[id];
    const sr_buffer_type *type = s->layout->buffer_types[a->buffer_id];
    const size_t size = type->iface->alloc_size ? sr_buffer_type_alloc_size(type, s->view, id)
                                                : sr_view_tensor(s->view, id)->nbytes;
    return (region){s->memory_of[a->buffer_id], a->chunk, a->offset, a->offset + size, id};
}

static bool is_before(const region *a, const region *b) {
    return a->memory != b->memory  ? a->memory < b->memory
           : a->chunk != b->chunk ? a->chunk < b->chunk
                                  : a->offset < b->offset;
}

static int32_t place_for(const sweep *s, const region *r) {
    int32_t lo = 0, hi = s->n_alive;
    while (lo < hi) {
        const int32_t mid = lo + (hi - lo) / 2;
        if (is_before(&s->alive[mid], r)) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static bool overlap(const region *a, const region *b) {
    return a->memory == b->memory && a->chunk == b->chunk && a->offset < b->end && b->offset < a->end;
}

static void take_out(sweep *s, int32_t id) {
    const region r = region_of(s, id);
    if (r.offset == r.end) {
        return;
    }
    const int32_t at = place_for(s, &r);
    if (at < s->n_alive && s->alive[at].id == id) {
        memmove(&s->alive[at], &s->alive[at + 1], (size_t)(s->n_alive - at - 1) * sizeof(*s->alive));
        s->n_alive--;
    }
}

/* Puts it in; the id that it overlaps with, or -1. */
static int32_t put_in(sweep *s, int32_t id) {
    const region r = region_of(s, id);
    if (r.offset == r.end) {
        return -1;
    }
    const int32_t at = place_for(s, &r);
    if (at > 0 && overlap(&s->alive[at - 1], &r)) {
        return s->alive[at - 1].id;
    }
    if (at < s->n_alive && overlap(&s->alive[at], &r)) {
        return s->alive[at].id;
    }
    memmove(&s->alive[at + 1], &s->alive[at], (size_t)(s->n_alive - at) * sizeof(*s->alive));
    s->alive[at] = r;
    s->n_alive++;
    return -1;
}

/* ---- the sweep ----------------------------------------------------------------------------------------------------- */

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

static bool sweep_init(sweep *s, const sr_layout *layout) {
    *s = (sweep){.layout = layout, .view = &layout->view};
    s->n_ids = layout->graph->n_tensors + layout->view.n_extra;
    const size_t n = (size_t)s->n_ids + 1, n_positions = (size_t)layout->view.n_nodes + 2;
    s->first = sr__malloc(n * sizeof(*s->first));
    s->last = sr__malloc(n * sizeof(*s->last));
    s->next_dying = sr__malloc(n * sizeof(*s->next_dying));
    s->dying = sr__malloc(n_positions * sizeof(*s->dying));
    s->alive = sr__malloc(n * sizeof(*s->alive));
    s->memory_of = sr__calloc((size_t)layout->n_backends, sizeof(*s->memory_of));
    if (!s->first || !s->last || !s->next_dying || !s->dying || !s->alive || !s->memory_of) {
        return false;
    }
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

sr_status sr__find_clobber(const sr_layout *layout, sr__clobber *out, sr_error *err) {
    sweep s;
    *out = (sr__clobber){-1, -1};
    const bool ok = sweep_init(&s, layout);
    if (ok) {
        find_lives(&s);
        run_sweep(&s, out);
    }
    sr__free(s.first);
    sr__free(s.last);
    sr__free(s.next_dying);
    sr__free(s.dying);
    sr__free(s.alive);
    sr__free(s.memory_of);
    return ok ? SR_OK : sr__fail_memory(err);
}
