/*
 * live_spans.c - what must hold of the memory of a layout's tensors.
 *
 * Layer: tests.  When a tensor's bytes are needed follows from who reads and writes it, through views too; how the
 * allocator counts readers plays no part.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "layout_rules.h"

/* Bytes of a planned tensor and when they are needed: positions among the view's nodes, both included. */
typedef struct span {
    bool planned;
    int32_t first, last; /* -1: before the first node; n_nodes: after the last */
    const sr_buffer *buffer;
    size_t begin, end;
} span;

static int32_t root_of(const sr_graph_view *view, int32_t id) {
    if (sr_view_is_extra(view, id)) {
        const sr_extra *extra = &view->extra[id - view->graph->n_tensors];
        return extra->kind == SR_EXTRA_DEPENDENCY ? root_of(view, extra->of) : id;
    }
    const int32_t root = view->graph->tensors[id].view_src;
    return root >= 0 ? root : id;
}

static int32_t source_of(const sr_graph_view *view, int32_t id, int j) {
    if (!sr_view_is_extra(view, id)) {
        return sr_view_src(view, &view->graph->tensors[id], j);
    }
    const sr_extra *extra = &view->extra[id - view->graph->n_tensors];
    return extra->kind == SR_EXTRA_DEPENDENCY && j == 0 ? extra->of : -1;
}

static void touch(span *spans, const sr_graph_view *view, int32_t id, int32_t position) {
    span *s = &spans[root_of(view, id)];
    s->first = position < s->first ? position : s->first;
    s->last = position > s->last ? position : s->last;
}

/*
 * What is read before it has begun is not needed then: a view that was assigned to another backend than its root is
 * copied at the start of the split that computes the root, as in the reference.
 */
static span *find_spans(const sr_layout *l) {
    const sr_graph_view *view = &l->view;
    const int32_t n = view->graph->n_tensors + view->n_extra;
    span *spans = calloc((size_t)n + 1, sizeof(*spans));
    assert_non_null(spans);
    for (int32_t id = 0; id < n; id++) {
        const sr_storage *at = &view->storage[id];
        spans[id] = (span){.first = view->n_nodes, .last = -2, .buffer = at->buffer, .begin = at->offset};
        spans[id].end = at->offset + sr_view_tensor(view, id)->nbytes;
        spans[id].planned = root_of(view, id) == id && l->addresses[id].buffer_id >= 0;
        if (spans[id].planned && sr_view_flags(view, id) & SR_FLAG_INPUT) {
            touch(spans, view, id, -1);
        }
    }
    for (int32_t i = 0; i < view->n_leafs; i++) {
        if (root_of(view, view->leafs[i]) == view->leafs[i]) { /* else a view that somebody called an input */
            touch(spans, view, view->leafs[i], -1);
        }
    }
    for (int32_t i = 0; i < view->n_nodes; i++) {
        const int32_t id = view->nodes[i];
        if (root_of(view, id) == id || spans[root_of(view, id)].first <= i) {
            touch(spans, view, id, i);
        }
        for (int j = 0; j < SR_MAX_SRC; j++) {
            const int32_t source = source_of(view, id, j);
            if (source >= 0 && spans[root_of(view, source)].first <= i) {
                touch(spans, view, source, i);
            }
        }
    }
    for (int32_t id = 0; id < n; id++) {
        if (spans[id].planned && sr_view_flags(view, id) & SR_FLAG_OUTPUT) {
            spans[id].last = view->n_nodes;
        }
    }
    return spans;
}

/* A node may begin in the bytes of a source that it is the last to read, if it works element by element. */
static bool is_in_place(const sr_graph_view *view, const span *spans, int32_t node, int32_t source) {
    bool is_source = false;
    for (int j = 0; j < SR_MAX_SRC; j++) {
        is_source = is_source || source_of(view, node, j) == source;
    }
    return is_source && sr_op_can_reuse(sr_view_op(view, node)) && spans[node].first == spans[source].last &&
           spans[node].begin == spans[source].begin &&
           sr_tensor_same_layout(sr_view_tensor(view, node), sr_view_tensor(view, source));
}

static void check_place(const gen_case *c, const sr_layout *l, const span *s, int32_t id) {
    char name[SR_MAX_NAME + 1];
    const sr_address *address = &l->addresses[id];
    sr_layout_name(l, id, name);
    if (s->buffer == NULL || s->end > s->buffer->size || s->begin % s->buffer->type->alignment != 0 ||
        s->begin != address->offset || s->buffer->type != l->buffer_types[address->buffer_id]) {
        fail_msg("seed %llu: '%s' lies wrong", (unsigned long long)c->params.seed, name);
    }
}

static void fail_overlap(const gen_case *c, const sr_layout *l, int32_t a, int32_t b, const char *by) {
    char name_a[SR_MAX_NAME + 1], name_b[SR_MAX_NAME + 1];
    sr_layout_name(l, a, name_a);
    sr_layout_name(l, b, name_b);
    fail_msg("seed %llu: '%s' and '%s' overlap %s", (unsigned long long)c->params.seed, name_a, name_b, by);
}

static bool overlap(const span *a, const span *b) {
    return a->buffer == b->buffer && b->begin < b->end && a->begin < b->end && b->begin < a->end &&
           a->first <= b->last && b->first <= a->last;
}

void rules_check_memory(const gen_case *c, const sr_layout *l) {
    const int32_t n = c->graph->n_tensors + l->view.n_extra;
    span *spans = find_spans(l);
    for (int32_t a = 0; a < n; a++) {
        if (!spans[a].planned) {
            continue;
        }
        check_place(c, l, &spans[a], a);
        if (spans[a].begin == spans[a].end) {
            continue;
        }
        for (int32_t b = 0; b < a; b++) {
            if (spans[b].planned && overlap(&spans[a], &spans[b]) && !is_in_place(&l->view, spans, a, b) &&
                !is_in_place(&l->view, spans, b, a)) {
                fail_overlap(c, l, a, b, "while both are needed");
            }
        }
    }
    free(spans);
}

static bool lives_overlap(const sr_life *a, const sr_life *b) {
    return a->address.chunk == b->address.chunk && a->size > 0 && b->size > 0 &&
           a->address.offset < b->address.offset + b->size &&
           b->address.offset < a->address.offset + a->size && a->first <= b->last && b->first <= a->last;
}

void rules_check_lives(const gen_case *c, const sr_layout *l, const sr_graph_allocator *allocator) {
    int32_t n_lives;
    const sr_life *lives = sr_graph_allocator_lives(allocator, &n_lives);
    span *spans = find_spans(l);
    for (int32_t i = 0; i < n_lives; i++) {
        const sr_life *a = &lives[i];
        span *s = &spans[a->id];
        const sr_address *address = &l->addresses[a->id];
        if (!s->planned || a->address.buffer_id != address->buffer_id || a->address.chunk != address->chunk ||
            a->address.offset != address->offset || a->size < s->end - s->begin || a->first > s->first ||
            a->last < s->last) {
            fail_msg("seed %llu: the recorded life of id %d, [%d, %d], is not [%d, %d] or more",
                     (unsigned long long)c->params.seed, (int)a->id, (int)a->first, (int)a->last, (int)s->first,
                     (int)s->last);
        }
        s->planned = false; /* seen */
        for (int32_t k = 0; k < i; k++) {
            const sr_life *b = &lives[k];
            if (l->buffer_types[a->address.buffer_id] == l->buffer_types[b->address.buffer_id] &&
                lives_overlap(a, b) && a->in_place_of != b->id) {
                fail_overlap(c, l, a->id, b->id, "by their recorded lives");
            }
        }
    }
    for (int32_t id = 0; id < c->graph->n_tensors + l->view.n_extra; id++) {
        if (spans[id].planned) {
            fail_msg("seed %llu: no life of id %d is recorded", (unsigned long long)c->params.seed, (int)id);
        }
    }
    free(spans);
}
