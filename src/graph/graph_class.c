/*
 * graph_class.c - sorts the tensors of a graph into classes that every backend must answer alike for.
 *
 * Layer: graph.  Nothing in the reference answers to it: it asks each backend about each node.  Here a backend is asked
 * once for each class, so two tensors may share one only if everything that an answer can depend on is equal: op,
 * parameters, type, extents, strides, memory, the same of each source, and recorded answers.
 *
 * Two steps: first every tensor gets the number of its facet, which is what a user of it can see; then its class
 * follows from its own facet, its parameters and the facets of its sources.  Both are hash tables of numbers whose
 * keys are read from the tensors again, so that nothing is copied.
 */
#include "graph/graph_impl.h"

typedef struct slot { uint32_t hash; int32_t tensor; int32_t number; } slot;

typedef struct table { slot *slots; size_t cap; int32_t n; } table;

typedef struct sorter {
    sr_graph *graph;
    int32_t *facet;   /* by tensor */
    table facets, classes;
} sorter;

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

static uint32_t fold(uint64_t hash) {
    hash *= UINT64_C(0xBF58476D1CE4E5B9);
    return (uint32_t)(hash >> 32);
}

static struct sr_buffer *root_buffer(const sr_graph *graph, const sr_tensor *t) {
    return t->view_src >= 0 ? graph->tensors[t->view_src].buffer : t->buffer;
}

/* ---- what a user of a tensor can see of it ---- */

static uint32_t hash_facet(const sr_graph *graph, const sr_tensor *t) {
    uint64_t hash = (uint64_t)t->type | (uint64_t)t->op << 8 | (uint64_t)(t->view_src >= 0) << 16;
    hash = mix(hash, (uint64_t)(uintptr_t)root_buffer(graph, t));
    hash = mix(hash, (uint64_t)(uintptr_t)t->op_name);
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        hash = mix(hash, (uint64_t)t->ne[d]);
        hash = mix(hash, (uint64_t)t->nb[d]);
    }
    return fold(hash);
}

static bool same_facet(const sorter *s, int32_t i, int32_t j) {
    const sr_tensor *a = &s->graph->tensors[i], *b = &s->graph->tensors[j];
    return a->op == b->op && (a->view_src >= 0) == (b->view_src >= 0) && a->op_name == b->op_name &&
           sr_tensor_same_layout(a, b) && root_buffer(s->graph, a) == root_buffer(s->graph, b);
}

/* ---- what an answer about a tensor can depend on ---- */

static uint32_t hash_class(const sorter *s, int32_t i) {
    const sr_tensor *t = &s->graph->tensors[i];
    uint64_t hash = mix((uint64_t)(uint32_t)s->facet[i] | (uint64_t)(uint32_t)t->answers << 32, t->n_src);
    for (int w = 0; w < SR_MAX_OP_PARAMS; w += 2) {
        hash = mix(hash, (uint32_t)t->op_params[w] | (uint64_t)(uint32_t)t->op_params[w + 1] << 32);
    }
    for (int j = 0; j < t->n_src; j++) {
        int32_t src = s->graph->srcs[t->src_begin + j];
        hash = mix(hash, src < 0 ? UINT64_MAX : (uint64_t)(uint32_t)s->facet[src]);
    }
    return fold(hash);
}

static bool same_class(const sorter *s, int32_t i, int32_t j) {
    const sr_tensor *a = &s->graph->tensors[i], *b = &s->graph->tensors[j];
    if (s->facet[i] != s->facet[j] || a->answers != b->answers || a->n_src != b->n_src ||
        memcmp(a->op_params, b->op_params, sizeof a->op_params) != 0) {
        return false;
    }
    for (int k = 0; k < a->n_src; k++) {
        int32_t p = s->graph->srcs[a->src_begin + k], q = s->graph->srcs[b->src_begin + k];
        if ((p < 0) != (q < 0) || (p >= 0 && s->facet[p] != s->facet[q])) {
            return false;
        }
    }
    return true;
}

/* ---- numbering ---- */

static bool table_reserve(table *t) {
    if (t->cap != 0 && ((size_t)t->n + 1) * 2 <= t->cap) {
        return true;
    }
    size_t cap = t->cap == 0 ? 256 : t->cap * 2;
    slot *slots = sr__malloc(cap * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    memset(slots, 0xff, cap * sizeof *slots);
    for (size_t i = 0; i < t->cap; i++) {
        if (t->slots[i].tensor >= 0) {
            size_t at = t->slots[i].hash & (cap - 1);
            while (slots[at].tensor >= 0) {
                at = (at + 1) & (cap - 1);
            }
            slots[at] = t->slots[i];
        }
    }
    sr__free(t->slots);
    t->slots = slots;
    t->cap = cap;
    return true;
}

/* The number of the tensors equal to tensor i, a new one if it is the first; -1: out of memory. */
static int32_t number_of(sorter *s, table *t, int32_t i, uint32_t hash,
                         bool (*same)(const sorter *s, int32_t i, int32_t j)) {
    if (!table_reserve(t)) {
        return -1;
    }
    size_t at = hash & (t->cap - 1);
    while (t->slots[at].tensor >= 0) {
        if (t->slots[at].hash == hash && same(s, i, t->slots[at].tensor)) {
            return t->slots[at].number;
        }
        at = (at + 1) & (t->cap - 1);
    }
    t->slots[at] = (slot){hash, i, t->n};
    return t->n++;
}

sr_status sr__graph_classify(sr_graph *graph, sr_error *err) {
    sorter s = {.graph = graph};
    sr_status status = SR_OK;
    int32_t n = graph->n_tensors;
    s.facet = sr__malloc((size_t)n * sizeof *s.facet + 1);
    if (s.facet == NULL) {
        status = sr__fail_memory(err);
        goto done;
    }
    for (int32_t i = 0; i < n; i++) {
        s.facet[i] = number_of(&s, &s.facets, i, hash_facet(graph, &graph->tensors[i]), same_facet);
        if (s.facet[i] < 0) {
            status = sr__fail_memory(err);
            goto done;
        }
    }
    for (int32_t i = 0; i < n; i++) {
        int32_t class_id = number_of(&s, &s.classes, i, hash_class(&s, i), same_class);
        if (class_id < 0) {
            status = sr__fail_memory(err);
            goto done;
        }
        graph->impl->tensors[i].class_id = class_id;
    }
    graph->n_classes = s.classes.n;
done:
    sr__free(s.facet);
    sr__free(s.facets.slots);
    sr__free(s.classes.slots);
    return status;
}
