/*
 * storage.c - which tensors of a graph share memory.
 *
 * Layer: analyze.  Answers to what ggml_gallocr and the backends of the reference see: a tensor's data pointer, not the
 * edges of the graph.
 */
#include <stdlib.h>

#include "analyze/storage.h"

/* ---- pre-allocated places that overlap ------------------------------------------------------------------------- */

/* A pre-allocated root. */
typedef struct place {
    uintptr_t buffer;
    size_t begin, end;
    int32_t tensor;
} place;

static bool is_place(const sr_tensor *t) { return t->buffer != NULL && t->view_src < 0 && t->nbytes > 0; }

/* Most graphs fill each buffer in the order of their tensors; then nothing overlaps and nothing needs sorting. */
static bool stand_in_order(const sr_graph *graph, bool *out_ok) {
    struct { const sr_buffer *buffer; size_t end; } *ends = NULL;
    size_t cap = 0, n = 0, last = 0;
    bool in_order = true;
    *out_ok = true;
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        const sr_tensor *t = &graph->tensors[i];
        if (!is_place(t)) {
            continue;
        }
        if (n == 0 || ends[last].buffer != t->buffer) {
            for (last = 0; last < n && ends[last].buffer != t->buffer; last++) {}
        }
        if (last == n) {
            if (n == 64 || !sr__grow(&ends, &cap, n + 1, sizeof(*ends))) {
                *out_ok = n == 64; /* so many buffers are sorted */
                in_order = false;
                break;
            }
            ends[n].buffer = t->buffer;
            ends[n++].end = 0;
        }
        in_order = in_order && t->buffer_offset >= ends[last].end;
        ends[last].end = t->buffer_offset + t->nbytes;
    }
    sr__free(ends);
    return in_order;
}

static int compare_places(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->buffer != y->buffer) {
        return x->buffer < y->buffer ? -1 : 1;
    }
    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

/* Runs of places that reach into each other become one storage, called by its first tensor. */
static void merge_places(int32_t *merged, const place *places, size_t n) {
    for (size_t i = 0; i < n;) {
        size_t end = places[i].end, j = i + 1;
        int32_t first = places[i].tensor;
        for (; j < n && places[j].buffer == places[i].buffer && places[j].begin < end; j++) {
            end = places[j].end > end ? places[j].end : end;
            first = places[j].tensor < first ? places[j].tensor : first;
        }
        for (; i < j; i++) {
            merged[places[i].tensor] = first;
        }
    }
}

bool sr__storage_init(sr__storage_map *map, const sr_graph *graph) {
    size_t n = 0;
    bool ok;
    *map = (sr__storage_map){.graph = graph};
    if (stand_in_order(graph, &ok)) {
        return true;
    }
    place *places = ok ? sr__malloc(((size_t)graph->n_tensors + 1) * sizeof(*places)) : NULL;
    map->merged = places ? sr__malloc(((size_t)graph->n_tensors + 1) * sizeof(*map->merged)) : NULL;
    if (!map->merged) {
        sr__free(places);
        return false;
    }
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        const sr_tensor *t = &graph->tensors[i];
        map->merged[i] = i;
        if (is_place(t)) {
            places[n++] = (place){(uintptr_t)t->buffer, t->buffer_offset, t->buffer_offset + t->nbytes, i};
        }
    }
    qsort(places, n, sizeof(*places), compare_places);
    merge_places(map->merged, places, n);
    sr__free(places);
    return true;
}

void sr__storage_free(sr__storage_map *map) {
    sr__free(map->merged);
    map->merged = NULL;
}

/* ---- bytes that two tensors share ------------------------------------------------------------------------------ */

/* Rows of dense elements whose outer strides are whole rows: the tensor is a band of columns of a matrix. */
static bool is_band(const sr_tensor *t, size_t *out_width) {
    *out_width = sr_row_size(t->type, t->ne[0]);
    return t->nb[0] == (size_t)sr_type_get(t->type)->bytes && t->nb[1] > 0 && t->nb[2] % t->nb[1] == 0 &&
           t->nb[3] % t->nb[1] == 0;
}

bool sr__spans_overlap(const sr_tensor *a, size_t a_begin, const sr_tensor *b, size_t b_begin) {
    size_t a_width, b_width;
    if (a->nbytes == 0 || b->nbytes == 0 || a_begin >= b_begin + b->nbytes || b_begin >= a_begin + a->nbytes) {
        return false;
    }
    const size_t pitch = a->nb[1];
    if (pitch != b->nb[1] || !is_band(a, &a_width) || !is_band(b, &b_width)) {
        return true;
    }
    const size_t a_column = a_begin % pitch, b_column = b_begin % pitch;
    if (a_column + a_width > pitch || b_column + b_width > pitch) {
        return true;
    }
    return a_column < b_column + b_width && b_column < a_column + a_width;
}

/* Where a tensor begins in its storage. */
static size_t begin_of(const sr_graph *graph, int32_t tensor) {
    const sr_tensor *t = &graph->tensors[tensor];
    const sr_tensor *root = t->view_src >= 0 ? &graph->tensors[t->view_src] : t;
    const size_t offset = t->view_src >= 0 ? t->view_offs : 0;
    return root->buffer ? root->buffer_offset + offset : offset;
}

bool sr__storage_overlaps(const sr__storage_map *map, int32_t a, int32_t b) {
    const sr_graph *graph = map->graph;
    return sr__storage_of(map, a) == sr__storage_of(map, b) &&
           sr__spans_overlap(&graph->tensors[a], begin_of(graph, a), &graph->tensors[b], begin_of(graph, b));
}

/* ---- reading and writing --------------------------------------------------------------------------------------- */

bool sr__writes(const sr_tensor *node) {
    return node->op != SR_OP_NONE && !sr_op_is_view(node->op) && (node->flags & SR_FLAG_COMPUTE) && node->nbytes > 0;
}

bool sr__names_destination(const sr_graph *graph, int32_t node, int j) {
    const sr_tensor *t = &graph->tensors[node];
    return (t->op == SR_OP_CPY && j == 1) || (t->op == SR_OP_SET_ROWS && j == 2);
}

int sr__storage_backend(const sr_layout *layout, int32_t tensor) {
    const int32_t view_src = layout->graph->tensors[tensor].view_src;
    return layout->backend_of[view_src >= 0 ? view_src : tensor];
}

const sr_buffer_type *sr__storage_type(const sr_layout *layout, int32_t tensor) {
    const sr_tensor *t = &layout->graph->tensors[tensor];
    const sr_buffer *buffer = t->view_src >= 0 ? layout->graph->tensors[t->view_src].buffer : t->buffer;
    if (!buffer && layout->view.storage) {
        buffer = layout->view.storage[tensor].buffer;
    }
    const int backend = sr__storage_backend(layout, tensor);
    return buffer ? buffer->type : backend >= 0 ? layout->buffer_types[backend] : NULL;
}

sr__reads *sr__copy_reads(const sr_layout *layout) {
    const sr_graph_view *view = &layout->view;
    const sr_graph *graph = layout->graph;
    sr__reads *reads = sr__malloc(((size_t)layout->n_inputs + 1) * sizeof(*reads));
    int32_t *input_of = sr__malloc(((size_t)view->n_extra + 1) * sizeof(*input_of)); /* by copy */
    if (!reads || !input_of) {
        sr__free(reads);
        sr__free(input_of);
        return NULL;
    }
    memset(input_of, 0xff, (size_t)view->n_extra * sizeof(*input_of));
    for (int32_t k = 0; k < layout->n_inputs; k++) {
        reads[k] = (sr__reads){-1, -1};
        if (layout->input_copies[k] >= graph->n_tensors) {
            input_of[layout->input_copies[k] - graph->n_tensors] = k;
        }
    }
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const sr_tensor *node = &graph->tensors[graph->nodes[i]];
        for (int j = 0; j < node->n_src && !sr_op_is_view(node->op); j++) {
            const int32_t source = view->srcs[node->src_begin + j];
            const int32_t k = source >= graph->n_tensors ? input_of[source - graph->n_tensors] : -1;
            if (k >= 0 && !sr__names_destination(graph, graph->nodes[i], j)) {
                reads[k].first = reads[k].first < 0 ? i : reads[k].first;
                reads[k].last = i;
            }
        }
    }
    sr__free(input_of);
    return reads;
}
