/*
 * realloc_snapshot.c - a schedule as it was, kept beyond the next one.
 *
 * Layer: analyze.
 */
#include "analyze/realloc_impl.h"

static bool copy_array(void *out, const void *from, size_t n, size_t size) {
    void *copy = sr__malloc((n + 1) * size);
    if (copy != NULL && n > 0) {
        memcpy(copy, from, n * size);
    }
    *(void **)out = copy;
    return copy != NULL;
}

sr_status sr__snapshot_new(int run, const sr_layout *layout, sr__snapshot **out_snapshot, sr_error *err) {
    const sr_graph_view *view = &layout->view;
    const size_t n_ids = (size_t)layout->graph->n_tensors + (size_t)view->n_extra;
    sr__snapshot *s = sr__calloc(1, sizeof(*s));
    *out_snapshot = NULL;
    if (s == NULL) {
        return sr__fail_memory(err);
    }
    s->refs = 1;
    if (!copy_array(&s->nodes, view->nodes, (size_t)view->n_nodes, sizeof(*s->nodes)) ||
        !copy_array(&s->leafs, view->leafs, (size_t)view->n_leafs, sizeof(*s->leafs)) ||
        !copy_array(&s->srcs, view->srcs, (size_t)layout->graph->n_srcs, sizeof(*s->srcs)) ||
        !copy_array(&s->node_ids, layout->node_ids, (size_t)view->n_nodes, sizeof(*s->node_ids)) ||
        !copy_array(&s->leaf_ids, layout->leaf_ids, (size_t)view->n_leafs, sizeof(*s->leaf_ids)) ||
        !copy_array(&s->extra, view->extra, (size_t)view->n_extra, sizeof(*s->extra)) ||
        (view->flags != NULL && !copy_array(&s->flags, view->flags, n_ids, sizeof(*s->flags)))) {
        sr__snapshot_free(s);
        return sr__fail_memory(err);
    }
    s->run = run;
    s->layout = (sr_layout){.graph = layout->graph,
                            .backends = layout->backends,
                            .buffer_types = layout->buffer_types,
                            .n_backends = layout->n_backends,
                            .reserve = layout->reserve,
                            .status = SR_OK,
                            .n_splits = layout->n_splits,
                            .n_copies = 1, /* nobody asks a snapshot about copies */
                            .node_ids = s->node_ids,
                            .leaf_ids = s->leaf_ids,
                            .allocator = layout->allocator,
                            .params = layout->params};
    s->layout.view = *view;
    s->layout.view.nodes = s->nodes;
    s->layout.view.leafs = s->leafs;
    s->layout.view.srcs = s->srcs;
    s->layout.view.extra = s->extra;
    s->layout.view.flags = s->flags;
    s->layout.view.storage = NULL;
    *out_snapshot = s;
    return SR_OK;
}

void sr__snapshot_free(sr__snapshot *s) {
    if (s == NULL || --s->refs > 0) {
        return;
    }
    sr__free(s->nodes);
    sr__free(s->leafs);
    sr__free(s->srcs);
    sr__free(s->node_ids);
    sr__free(s->leaf_ids);
    sr__free(s->extra);
    sr__free(s->flags);
    sr__free(s);
}

static bool same(const void *a, const void *b, size_t n, size_t size) { return n == 0 || memcmp(a, b, n * size) == 0; }

bool sr__same_schedule(const sr_layout *a, const sr_layout *b) {
    const sr_graph_view *v = &a->view, *w = &b->view;
    const size_t n_ids = (size_t)a->graph->n_tensors + (size_t)v->n_extra;
    return a->graph == b->graph && v->n_nodes == w->n_nodes && v->n_leafs == w->n_leafs && v->n_extra == w->n_extra &&
           (v->flags == NULL) == (w->flags == NULL) &&
           same(v->nodes, w->nodes, (size_t)v->n_nodes, sizeof(*v->nodes)) &&
           same(v->leafs, w->leafs, (size_t)v->n_leafs, sizeof(*v->leafs)) &&
           same(v->srcs, w->srcs, (size_t)a->graph->n_srcs, sizeof(*v->srcs)) &&
           same(a->node_ids, b->node_ids, (size_t)v->n_nodes, sizeof(*a->node_ids)) &&
           same(a->leaf_ids, b->leaf_ids, (size_t)v->n_leafs, sizeof(*a->leaf_ids)) &&
           (v->flags == NULL || same(v->flags, w->flags, n_ids, sizeof(*v->flags)));
}

/* ---- asking ---------------------------------------------------------------------------------------------------- */

size_t sr__needed_bytes(const sr_layout *layout, int32_t id, int backend) {
    const sr_graph_view *view = &layout->view;
    const sr_tensor *t = sr_view_tensor(view, id);
    if (backend < 0) {
        return 0;
    }
    if (sr_view_is_extra(view, id)) {
        if (view->extra[id - view->graph->n_tensors].kind == SR_EXTRA_DEPENDENCY) {
            return 0;
        }
    } else if (t->view_src >= 0 || t->buffer != NULL) {
        return 0;
    }
    return sr_buffer_type_alloc_size(layout->buffer_types[backend], view, id);
}

bool sr__set_text(char **out, const sr__str *text) {
    *out = text->failed ? NULL : sr__strdup(sr__str_text(text));
    return *out != NULL;
}

void sr__put_id(sr__str *s, const sr_layout *layout, int32_t id) {
    char name[SR_MAX_NAME + 1];
    sr_layout_name(layout, id, name);
    if (id < layout->graph->n_tensors && layout->graph->tensors[id].node >= 0) {
        sr__str_printf(s, "node %d ", (int)layout->graph->tensors[id].node);
    }
    sr__str_puts(s, name[0] != '\0' || id >= layout->graph->n_tensors ? name : layout->graph->tensors[id].id);
}

void sr__put_position(sr__str *s, const sr_layout *layout, int32_t position) {
    if (position < 0 || position >= layout->view.n_nodes) {
        sr__str_puts(s, position < 0 ? "the start" : "the end");
    } else {
        sr__put_id(s, layout, layout->view.nodes[position]);
    }
}
