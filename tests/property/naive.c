/*
 * naive.c - the five passes once more, slow and plain.
 *
 * Layer: tests.  Answers to ggml_backend_sched_split_graph of the reference.
 */
#include "naive.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
    const naive_problem *p;
    const sr_graph *graph;
    sr_backend *const *backends;
    int n_backends;
    naive_answer *a;
    bool *copied;    /* [tensor * n_backends + backend]: has copies there */
} work;

static void *get(size_t n, size_t size) {
    void *p = calloc(n + 1, size);
    assert(p != NULL);
    return p;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

bool naive_takes(const sr_backend *backend, const sr_buffer_type *type) {
    for (int i = 0; i < backend->n_accepts; i++) {
        if (backend->accepts[i] == type) {
            return true;
        }
    }
    return type == backend->buffer_type || backend->device->iface->supports_buffer_type(backend->device, type);
}

static bool supports(const work *w, int backend, int32_t node) {
    const sr_graph_view view = sr_graph_whole(w->graph);
    return sr_backend_supports_op(w->backends[backend], &view, node, NULL);
}

static bool wants_offload(const work *w, int backend, int32_t node) {
    const sr_graph_view view = sr_graph_whole(w->graph);
    return sr_backend_offload_op(w->backends[backend], &view, node);
}

static const sr_tensor *tensor(const work *w, int32_t t) { return &w->graph->tensors[t]; }

static int32_t source(const work *w, int32_t node, int j) {
    const sr_tensor *t = tensor(w, node);
    return j < t->n_src ? w->graph->srcs[t->src_begin + j] : -1;
}

/* The memory a tensor lies in before anything is scheduled, or NULL. */
static const sr_buffer *memory_of(const work *w, int32_t t) {
    const int32_t root = tensor(w, t)->view_src;
    return root >= 0 ? tensor(w, root)->buffer : tensor(w, t)->buffer;
}

static bool is_weight(const work *w, int32_t t) {
    return tensor(w, t)->buffer != NULL && tensor(w, t)->buffer->usage == SR_USAGE_WEIGHTS;
}

static int from_memory(const work *w, int32_t t, int32_t op) {
    const sr_buffer *buffer = memory_of(w, t);
    for (int b = 0; buffer != NULL && b < w->n_backends; b++) {
        if (naive_takes(w->backends[b], buffer->type) && supports(w, b, op)) {
            return b;
        }
    }
    return -1;
}

static bool can_read(const work *w, int backend, int32_t t) {
    const sr_buffer *buffer = memory_of(w, t);
    if (buffer != NULL) {
        return naive_takes(w->backends[backend], buffer->type);
    }
    int home = w->a->backend_of[t];
    if (home < 0 && tensor(w, t)->view_src >= 0) {
        home = w->a->backend_of[tensor(w, t)->view_src];
    }
    return home >= 0 && naive_takes(w->backends[backend], w->backends[home]->buffer_type);
}

static void set(work *w, int32_t t, int backend, int cause) {
    w->a->backend_of[t] = backend;
    w->a->cause_of[t] = cause;
}

static bool fail(work *w, sr_status status, int32_t subject) {
    w->a->status = status;
    w->a->subject = subject;
    return false;
}

/* ---- pass 1 ------------------------------------------------------------------------------------------------------ */

static void by_weights(work *w, int32_t t) {
    for (int j = 0; j < SR_MAX_SRC; j++) {
        const int32_t s = source(w, t, j);
        if (s < 0 || tensor(w, t)->op == SR_OP_ROPE || !is_weight(w, s)) {
            continue;
        }
        const int home = from_memory(w, s, t);
        if (w->p->op_offload && home == w->n_backends - 1 && tensor(w, s)->buffer->type->is_host) {
            for (int b = 0; b < home; b++) {
                if (supports(w, b, t) && wants_offload(w, b, t)) {
                    set(w, t, b, SR_CAUSE_OFFLOAD);
                    return;
                }
            }
        }
        set(w, t, home, SR_CAUSE_WGT0 + j);
        return;
    }
}

static bool from_current(work *w, int32_t t) {
    const int home = from_memory(w, t, t);
    if (home >= 0) {
        set(w, t, home, SR_CAUSE_DST);
    } else if (memory_of(w, t) != NULL) {
        return fail(w, SR_PREALLOCATED, t);
    } else if (tensor(w, t)->flags & SR_FLAG_INPUT) {
        set(w, t, w->n_backends - 1, SR_CAUSE_INPUT);
    } else {
        by_weights(w, t);
    }
    return true;
}

static bool pass_1(work *w) {
    for (int i = 0; i < w->graph->n_leafs + w->graph->n_nodes; i++) {
        const int n_leafs = w->graph->n_leafs;
        const int32_t t = i < n_leafs ? w->graph->leafs[i] : w->graph->nodes[i - n_leafs];
        if (w->a->backend_of[t] < 0 && !from_current(w, t)) {
            return false;
        }
    }
    return true;
}

/* ---- passes 2 to 4 ----------------------------------------------------------------------------------------------- */

static void pass_2(work *w, bool up, bool gpu_only) {
    int last = -1;
    for (int k = 0; k < w->graph->n_nodes; k++) {
        const int32_t node = w->graph->nodes[up ? w->graph->n_nodes - 1 - k : k];
        if (sr_op_is_view(tensor(w, node)->op)) {
            continue;
        }
        if (w->a->backend_of[node] >= 0) {
            last = w->a->backend_of[node];
            if (gpu_only && last == w->n_backends - 1) {
                last = -1;
            }
        } else if (last >= 0 && supports(w, last, node)) {
            set(w, node, last, SR_CAUSE_SUP);
        }
    }
}

static int count_sources(const work *w, int32_t node, int backend, bool *all) {
    int n = 0;
    *all = true;
    for (int j = 0; j < SR_MAX_SRC; j++) {
        const int32_t s = source(w, node, j);
        if (s < 0) {
            continue;
        }
        const int32_t root = tensor(w, s)->view_src;
        const bool placed = w->a->backend_of[s] >= 0 || (root >= 0 && w->a->backend_of[root] >= 0);
        const bool readable = can_read(w, backend, s);
        n += placed && readable;
        *all = *all && readable;
    }
    return n;
}

static void pass_3(work *w) {
    bool all;
    for (int i = 0; i < w->graph->n_nodes; i++) {
        const int32_t node = w->graph->nodes[i];
        const int have = w->a->backend_of[node];
        if (sr_op_is_view(tensor(w, node)->op)) {
            continue;
        }
        int best = -1;
        for (int b = 0; have < 0 && b < w->n_backends; b++) {
            if (!supports(w, b, node)) {
                continue;
            }
            const int n = count_sources(w, node, b, &all);
            if (n > best) {
                best = n;
                set(w, node, b, SR_CAUSE_BEST);
            }
        }
        for (int b = 0; b < have; b++) {
            count_sources(w, node, b, &all);
            if (w->backends[b]->buffer_type == w->backends[have]->buffer_type && supports(w, b, node) && all) {
                set(w, node, b, SR_CAUSE_UPG);
                break;
            }
        }
    }
}

static bool pass_4(work *w) {
    int *backend_of = w->a->backend_of;
    for (int i = 0; i < w->graph->n_nodes; i++) {
        const int32_t node = w->graph->nodes[i];
        if (backend_of[node] < 0 && tensor(w, node)->view_src >= 0) {
            set(w, node, backend_of[tensor(w, node)->view_src], SR_CAUSE_VSRC4);
        }
        for (int j = 0; j < SR_MAX_SRC; j++) {
            const int32_t s = source(w, node, j);
            if (s < 0 || backend_of[s] >= 0) {
                continue;
            }
            if (tensor(w, s)->view_src >= 0) {
                set(w, s, backend_of[tensor(w, s)->view_src], SR_CAUSE_VSRC4);
            } else {
                set(w, s, backend_of[node], SR_CAUSE_CUR);
            }
        }
        for (int b = 0; b < w->n_backends && backend_of[node] < 0; b++) {
            if (supports(w, b, node)) {
                set(w, node, b, SR_CAUSE_SUP);
            }
        }
        if (backend_of[node] < 0) {
            return fail(w, SR_UNASSIGNED, node);
        }
    }
    return true;
}

/* ---- pass 5 ------------------------------------------------------------------------------------------------------ */

static bool *copied(const work *w, int32_t t, int backend) {
    return &w->copied[(size_t)t * (size_t)w->n_backends + (size_t)backend];
}

static bool needs_new_split(const work *w, const naive_split *split, int32_t node) {
    for (int j = 0; j < SR_MAX_SRC && split->n_inputs > 0; j++) {
        const int32_t s = source(w, node, j);
        if (s < 0 || w->a->backend_of[s] == split->backend || can_read(w, split->backend, s)) {
            continue;
        }
        if (is_weight(w, s) || (split->n_inputs == w->p->max_split_inputs && !*copied(w, s, split->backend))) {
            return true;
        }
    }
    return false;
}

static naive_split *new_split(work *w, int backend, int start) {
    naive_split *split = &w->a->splits[w->a->n_splits++];
    *split = (naive_split){.backend = backend, .start = start};
    split->inputs = get((size_t)w->graph->n_tensors, sizeof(*split->inputs));
    return split;
}

static bool visit(work *w, naive_split *split, int32_t node, int j) {
    naive_answer *a = w->a;
    const int32_t s = source(w, node, j);
    if (s < 0) {
        return true;
    }
    const int home = a->backend_of[s];
    if (home < 0) {
        return fail(w, SR_SOURCE_UNASSIGNED, s);
    }
    if ((tensor(w, s)->flags & SR_FLAG_INPUT) && w->p->n_copies > 1 && !*copied(w, s, home)) {
        *copied(w, s, home) = true;
        a->cause_of[s] = SR_CAUSE_COPY;
        if (a->n_graph_inputs >= w->p->max_split_inputs) {
            return fail(w, SR_SPLIT_INPUTS, node);
        }
        a->graph_inputs[a->n_graph_inputs++] = s;
    }
    if (home == split->backend || can_read(w, split->backend, s)) {
        return true;
    }
    if (!*copied(w, s, split->backend)) {
        *copied(w, s, split->backend) = true;
        if (split->n_inputs >= w->p->max_split_inputs) {
            return fail(w, SR_SPLIT_INPUTS, node);
        }
        split->inputs[split->n_inputs++] = s;
    }
    a->sources[tensor(w, node)->src_begin + j].copied_to = split->backend;
    return true;
}

static bool pass_5(work *w) {
    const sr_graph *graph = w->graph;
    int first = 0;
    while (first < graph->n_nodes && sr_op_is_view(tensor(w, graph->nodes[first])->op)) {
        first++;
    }
    naive_split *split = new_split(w, first < graph->n_nodes ? w->a->backend_of[graph->nodes[first]] : 0, 0);
    for (int i = first; i < graph->n_nodes; i++) {
        const int32_t node = graph->nodes[i];
        if (sr_op_is_view(tensor(w, node)->op)) {
            continue;
        }
        if (w->a->backend_of[node] != split->backend || needs_new_split(w, split, node)) {
            split->end = i;
            split = new_split(w, w->a->backend_of[node], i);
        }
        for (int j = 0; j < SR_MAX_SRC; j++) {
            if (!visit(w, split, node, j)) {
                return false;
            }
        }
    }
    split->end = graph->n_nodes;
    return true;
}

/* Something uses the leaf, but never in a place that would have given it a backend. */
static bool check_leafs(work *w) {
    for (int i = 0; i < w->graph->n_leafs; i++) {
        const int32_t leaf = w->graph->leafs[i];
        bool used = false;
        for (int32_t k = 0; k < w->graph->n_srcs; k++) {
            used = used || w->graph->srcs[k] == leaf;
        }
        if (used && w->a->backend_of[leaf] < 0) {
            return fail(w, SR_SOURCE_UNASSIGNED, leaf);
        }
    }
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

naive_answer *naive_schedule(const naive_problem *p) {
    const size_t n = (size_t)p->graph->n_tensors;
    naive_answer *a = get(1, sizeof(*a));
    work w = {p, p->graph, p->machine->backends, p->machine->n_backends, a, NULL};
    a->subject = -1;
    a->backend_of = get(n, sizeof(*a->backend_of));
    a->cause_of = get(n, sizeof(*a->cause_of));
    a->splits = get((size_t)p->graph->n_nodes + 1, sizeof(*a->splits));
    a->sources = get((size_t)p->graph->n_srcs, sizeof(*a->sources));
    a->graph_inputs = get(n, sizeof(*a->graph_inputs));
    w.copied = get(n * (size_t)w.n_backends, sizeof(*w.copied));
    for (size_t t = 0; t < n; t++) {
        set(&w, (int32_t)t, -1, SR_CAUSE_NONE);
    }
    for (int32_t k = 0; k < p->graph->n_srcs; k++) {
        a->sources[k] = (naive_source){p->graph->srcs[k], -1};
    }
    for (size_t i = 0; i < p->n_assignments; i++) {
        set(&w, p->assignments[i].tensor, p->assignments[i].backend, SR_CAUSE_USER);
    }
    bool ok = pass_1(&w);
    if (ok) {
        pass_2(&w, false, true);
        pass_2(&w, true, true);
        pass_2(&w, false, false);
        pass_2(&w, true, false);
        pass_3(&w);
    }
    ok = ok && pass_4(&w) && pass_5(&w) && check_leafs(&w);
    free(w.copied);
    return a;
}

void naive_free(naive_answer *a) {
    for (int s = 0; s < a->n_splits; s++) {
        free(a->splits[s].inputs);
    }
    free(a->backend_of);
    free(a->cause_of);
    free(a->splits);
    free(a->sources);
    free(a->graph_inputs);
    free(a);
}
