/*
 * sim_snapshot.c - what a queued compute needs of a graph, so that the caller may forget it at once.
 *
 * Layer: backends.  Answers to the launch of kernels in the reference's device backends: what is queued there holds
 * addresses and parameters, no tensors, so an application may free its graph or schedule the next one meanwhile.
 */
#include "backends/sim/sim_snapshot.h"

#include "backend/reach.h"

/* ---- which tensors -------------------------------------------------------------------------------------------- */

/* The tensors taken so far, in order of their places. */
typedef struct gathering {
    const sr_graph_view *view;
    sr__sim_places *places;
    int32_t *ids;
    int32_t n_ids, n_srcs, n_nodes;
} gathering;

static void gather(gathering *g, int32_t id) {
    if (id >= 0 && g->places->place[id] < 0) {
        g->places->place[id] = g->n_ids;
        g->ids[g->n_ids++] = id;
    }
}

static void gather_nodes(gathering *g, int32_t n_nodes) {
    for (int32_t i = 0; i < n_nodes; i++) {
        const int32_t id = g->view->nodes[i];
        if (!sr__node_works(g->view, id)) {
            continue;
        }
        const sr_tensor *node = sr_view_tensor(g->view, id);
        gather(g, id);
        for (int j = 0; j < node->n_src; j++) {
            gather(g, sr_view_src(g->view, node, j));
        }
        g->n_srcs += node->n_src;
        g->n_nodes++;
    }
}

static bool places_ready(sr__sim_places *places, const sr_graph_view *view) {
    const size_t need = (size_t)view->graph->n_tensors + (size_t)view->n_extra;
    if (!sr__grow(&places->place, &places->cap, need, sizeof(int32_t))) {
        return false;
    }
    for (; places->n < places->cap; places->n++) {
        places->place[places->n] = -1;
    }
    return true;
}

/* No more tensors than this can be taken. */
static size_t most_ids(const sr_graph_view *view, int32_t n_nodes) {
    size_t n = 0;
    for (int32_t i = 0; i < n_nodes; i++) {
        n += 1 + (size_t)sr_view_tensor(view, view->nodes[i])->n_src;
    }
    return n;
}

/* ---- their copies --------------------------------------------------------------------------------------------- */

typedef struct copies {
    sr_tensor *tensors;
    int32_t *srcs, *nodes;
    sr_storage *storage;
    int32_t n_srcs;
} copies;

static bool copies_new(copies *c, sr__arena *arena, const gathering *g) {
    *c = (copies){
        .tensors = sr__arena_alloc(arena, (size_t)g->n_ids * sizeof(sr_tensor)),
        .srcs = sr__arena_alloc(arena, (size_t)g->n_srcs * sizeof(int32_t)),
        .nodes = sr__arena_alloc(arena, (size_t)g->n_nodes * sizeof(int32_t)),
        .storage = sr__arena_zalloc(arena, (size_t)g->n_ids * sizeof(sr_storage)),
    };
    return c->tensors && c->srcs && c->nodes && c->storage;
}

/* The tensor as one without sources; messages need its names. */
static bool copy_tensor(const copies *c, sr__arena *arena, const gathering *g, int32_t place) {
    const int32_t id = g->ids[place];
    sr_tensor *t = &c->tensors[place];
    *t = *sr_view_tensor(g->view, id);
    t->op = (uint8_t)sr_view_op(g->view, id);
    t->n_src = 0;
    t->view_src = t->answers = t->node = -1;
    t->id = t->name = sr__arena_strdup(arena, t->name);
    if (t->op_name) {
        t->op_name = sr__arena_strdup(arena, t->op_name);
    }
    if (g->view->storage) {
        c->storage[place] = g->view->storage[id];
    }
    return t->name && (t->op != SR_OP_OPAQUE || t->op_name);
}

static void copy_sources(copies *c, const gathering *g, int32_t id) {
    const sr_tensor *node = sr_view_tensor(g->view, id);
    sr_tensor *t = &c->tensors[g->places->place[id]];
    t->src_begin = c->n_srcs;
    t->n_src = node->n_src;
    for (int j = 0; j < node->n_src; j++) {
        const int32_t src = sr_view_src(g->view, node, j);
        c->srcs[c->n_srcs++] = src >= 0 ? g->places->place[src] : src;
    }
}

static bool copy_all(sr__sim_snapshot *snapshot, const gathering *g, int32_t n_nodes) {
    copies c;
    if (!copies_new(&c, &snapshot->arena, g)) {
        return false;
    }
    for (int32_t place = 0; place < g->n_ids; place++) {
        if (!copy_tensor(&c, &snapshot->arena, g, place)) {
            return false;
        }
    }
    int32_t n = 0;
    for (int32_t i = 0; i < n_nodes; i++) {
        const int32_t id = g->view->nodes[i];
        if (sr__node_works(g->view, id)) {
            copy_sources(&c, g, id);
            c.nodes[n++] = g->places->place[id];
        }
    }
    snapshot->ids = g->ids;
    snapshot->graph = (sr_graph){.name = "", .tensors = c.tensors, .n_tensors = g->n_ids, .nodes = c.nodes,
                                 .n_nodes = n, .srcs = c.srcs, .n_srcs = c.n_srcs};
    snapshot->view = (sr_graph_view){.graph = &snapshot->graph, .srcs = c.srcs, .nodes = c.nodes, .n_nodes = n,
                                     .storage = c.storage};
    return true;
}

sr_status sr__sim_snapshot_take(sr__sim_snapshot *snapshot, const sr_graph_view *view, int32_t n_nodes,
                                sr__sim_places *places, sr_error *err) {
    sr__arena_init(&snapshot->arena, 0);
    gathering g = {.view = view, .places = places};
    g.ids = sr__arena_alloc(&snapshot->arena, most_ids(view, n_nodes) * sizeof(int32_t) + 1);
    bool ok = g.ids && places_ready(places, view);
    if (ok) {
        gather_nodes(&g, n_nodes);
        ok = copy_all(snapshot, &g, n_nodes);
        for (int32_t i = 0; i < g.n_ids; i++) {
            places->place[g.ids[i]] = -1;
        }
    }
    if (!ok) {
        sr__arena_free(&snapshot->arena);
        return sr__fail_memory(err);
    }
    return SR_OK;
}

void sr__sim_snapshot_free(sr__sim_snapshot *snapshot) {
    sr__arena_free(&snapshot->arena);
}
