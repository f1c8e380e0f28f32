/*
 * dependences.c - which nodes of a graph must stay behind which, by data and by memory.
 *
 * Layer: analyze.  Answers to nothing in the reference, which runs nodes in the order it is given.  Memory is looked at
 * by whole storages, not by bytes: that keeps more in order than needed, never less.
 */
#include "analyze/dependences.h"
#include "analyze/storage.h"

/* A reader of a storage since its last write. */
typedef struct reader { int32_t position, next; } reader;

typedef struct builder {
    sr__dependences *d;
    sr__storage_map map;
    bool *shared;      /* by storage: more than one node writes it */
    int32_t *writer;   /* by storage: position of its last writer, -1 */
    int32_t *readers;  /* by storage: its last reader since then, -1 */
    reader *pool;
    size_t pool_cap, on_cap;
    int32_t n_pool, n_on;
} builder;

static bool add(builder *b, int32_t on) {
    if (!sr__grow(&b->d->on, &b->on_cap, (size_t)b->n_on + 1, sizeof(*b->d->on))) {
        return false;
    }
    b->d->on[b->n_on++] = on;
    return true;
}

/* Data: on the node that computes a tensor, if one does. */
static bool add_tensor(builder *b, int32_t position, int32_t tensor) {
    const sr_tensor *t = tensor >= 0 ? &b->d->graph->tensors[tensor] : NULL;
    return !t || t->node < 0 || t->node >= position || add(b, t->node);
}

static bool add_read(builder *b, int32_t position, int32_t storage) {
    if (b->writer[storage] >= 0 && b->writer[storage] != position && !add(b, b->writer[storage])) {
        return false;
    }
    if (!sr__grow(&b->pool, &b->pool_cap, (size_t)b->n_pool + 1, sizeof(*b->pool))) {
        return false;
    }
    b->pool[b->n_pool] = (reader){position, b->readers[storage]};
    b->readers[storage] = b->n_pool++;
    return true;
}

static bool add_write(builder *b, int32_t position, int32_t storage) {
    for (int32_t r = b->readers[storage]; r >= 0; r = b->pool[r].next) {
        if (b->pool[r].position != position && !add(b, b->pool[r].position)) {
            return false;
        }
    }
    if (b->writer[storage] >= 0 && !add(b, b->writer[storage])) {
        return false;
    }
    b->readers[storage] = -1;
    b->writer[storage] = position;
    return true;
}

static bool is_work(const sr_tensor *t) { return t->op != SR_OP_NONE && !sr_op_is_view(t->op); }

/* Storages that several nodes write, or one node and whoever filled it before. */
static void find_shared(builder *b) {
    const sr_graph *graph = b->d->graph;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const sr_tensor *t = &graph->tensors[graph->nodes[i]];
        if (is_work(t) && (t->view_src >= 0 || t->buffer)) {
            b->shared[sr__storage_of(&b->map, graph->nodes[i])] = true;
        }
    }
}

static bool add_node(builder *b, int32_t position) {
    const sr_graph *graph = b->d->graph;
    const int32_t node = graph->nodes[position];
    const sr_tensor *t = &graph->tensors[node];
    bool ok = add_tensor(b, position, t->view_src);
    for (int j = 0; j < t->n_src && ok; j++) {
        ok = add_tensor(b, position, graph->srcs[t->src_begin + j]);
    }
    if (!is_work(t)) {
        return ok;
    }
    for (int j = 0; j < t->n_src && ok; j++) {
        const int32_t source = graph->srcs[t->src_begin + j];
        const int32_t storage = source >= 0 ? sr__storage_of(&b->map, source) : -1;
        ok = storage < 0 || !b->shared[storage] || add_read(b, position, storage);
    }
    const int32_t own = sr__storage_of(&b->map, node);
    return ok && (!b->shared[own] || add_write(b, position, own));
}

static bool builder_init(builder *b, sr__dependences *d) {
    const size_t n = (size_t)d->graph->n_tensors + 1;
    *b = (builder){.d = d};
    if (!sr__storage_init(&b->map, d->graph)) {
        return false;
    }
    b->shared = sr__calloc(n, sizeof(*b->shared));
    b->writer = sr__malloc(n * sizeof(*b->writer));
    b->readers = sr__malloc(n * sizeof(*b->readers));
    if (!b->shared || !b->writer || !b->readers) {
        return false;
    }
    memset(b->writer, 0xff, n * sizeof(*b->writer));
    memset(b->readers, 0xff, n * sizeof(*b->readers));
    find_shared(b);
    return true;
}

bool sr__dependences_init(sr__dependences *d, const sr_graph *graph) {
    builder b;
    *d = (sr__dependences){.graph = graph, .n_nodes = graph->n_nodes};
    d->begin = sr__malloc(((size_t)graph->n_nodes + 1) * sizeof(*d->begin));
    bool ok = builder_init(&b, d) && d->begin;
    for (int32_t i = 0; i < graph->n_nodes && ok; i++) {
        d->begin[i] = b.n_on;
        ok = add_node(&b, i);
    }
    if (ok) {
        d->begin[graph->n_nodes] = b.n_on;
    }
    sr__storage_free(&b.map);
    sr__free(b.shared);
    sr__free(b.writer);
    sr__free(b.readers);
    sr__free(b.pool);
    return ok;
}

void sr__dependences_free(sr__dependences *d) {
    sr__free(d->begin);
    sr__free(d->on);
    d->begin = d->on = NULL;
}
