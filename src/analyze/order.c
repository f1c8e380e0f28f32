/*
 * order.c - another order of a graph's nodes that needs fewer splits.
 *
 * Layer: analyze.  Answers to what authors of graphs do by hand when they expand one branch before another.  First all
 * nodes are held on the backends they have; then those that only follow their neighbours may be wherever they are
 * supported, because the scheduler would let them follow others.  A guess counts only after it has been scheduled.
 */
#include "analyze/arrange.h"
#include "analyze/finding.h"
#include "analyze/order.h"
#include "analyze/storage.h"

enum { MOST_STARTS = 2 }; /* backends that are tried as the first one */

typedef struct search {
    const sr_layout *layout;
    const sr_sched_params *params;
    sr__dependences dependences;
    sr__answers answers;
    sr__backends *fixed, *loose; /* by position */
    int32_t *order, *best;       /* positions */
    int32_t n_fixed;             /* leafs that stand among the nodes, before them */
    sr__order *out;
    sr_error *err;
} search;

/* Groups of neighbours on one backend: splits that start because of weights or full lists are not the order's fault. */
static int32_t count_runs(const sr_layout *layout) {
    int32_t n = 0;
    for (int32_t s = 0; s < layout->n_splits; s++) {
        n += layout->splits[s].because == SR_STARTS_GRAPH || layout->splits[s].because == SR_STARTS_BACKEND;
    }
    return n;
}

static bool is_tied(const sr_tensor *t, int cause) {
    return t->view_src >= 0 || t->op == SR_OP_NONE || cause == SR_CAUSE_USER || cause == SR_CAUSE_DST ||
           cause == SR_CAUSE_VSRC || cause == SR_CAUSE_INPUT || cause == SR_CAUSE_OFFLOAD || cause >= SR_CAUSE_WGT0;
}

static void fill_allowed(search *s) {
    const sr_layout *layout = s->layout;
    const sr_graph *graph = layout->graph;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const int32_t node = graph->nodes[i];
        const sr_tensor *t = &graph->tensors[node];
        s->fixed[i] = sr_op_is_view(t->op) ? 0 : (sr__backends)1 << layout->backend_of[node];
        s->loose[i] = s->fixed[i];
        for (int b = 0; b < layout->n_backends && s->fixed[i] != 0 && !is_tied(t, layout->cause_of[node]); b++) {
            s->loose[i] |= sr__answers_supports(&s->answers, node, b) ? (sr__backends)1 << b : 0;
        }
    }
    while (s->n_fixed < graph->n_nodes && graph->tensors[graph->nodes[s->n_fixed]].op == SR_OP_NONE) {
        s->n_fixed++;
    }
}

/* ---- scheduling a guess ---------------------------------------------------------------------------------------- */

/* User assignments as they were made; without the record, as they came out. */
static sr_status assign_users(const sr_layout *layout, sr_sched *sched, const sr_graph *graph, sr_error *err) {
    sr_status status = SR_OK;
    if (layout->decisions) {
        for (int32_t i = 0; i < layout->n_decisions && layout->decisions[i].pass == SR_PASS_USER; i++) {
            const sr_decision *d = &layout->decisions[i];
            SR_TRY(sr_sched_set_tensor_backend(sched, graph, d->tensor, d->to, err));
        }
        return SR_OK;
    }
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        if (layout->cause_of[i] == SR_CAUSE_USER) {
            SR_TRY(sr_sched_set_tensor_backend(sched, graph, i, layout->backend_of[i], err));
        }
    }
done:
    return status;
}

static uint64_t count_bytes(const sr_layout *layout) {
    uint64_t bytes = 0;
    for (int32_t k = 0; k < layout->n_inputs; k++) {
        bytes += layout->graph->tensors[layout->inputs[k]].nbytes;
    }
    return bytes;
}

/* Nodes that went to another backend; -1 where one of them could then not reach what it writes into. */
static int32_t count_reassigned(const sr_layout *was, const sr_layout *is) {
    const sr_graph *graph = was->graph;
    int32_t n = 0;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const int32_t node = graph->nodes[i];
        const sr_tensor *t = &graph->tensors[node];
        if (sr_op_is_view(t->op)) {
            continue;
        }
        n += was->backend_of[node] != is->backend_of[node];
        if (t->view_src >= 0 && sr__storage_backend(is, node) >= 0) {
            const sr_buffer_type *type = sr__storage_type(is, node);
            if (!sr_backend_supports_buffer_type(is->backends[is->backend_of[node]], type) &&
                sr_backend_supports_buffer_type(was->backends[was->backend_of[node]], sr__storage_type(was, node))) {
                return -1;
            }
        }
    }
    return n;
}

/* What the scheduler makes of the order; taken over if it is better than what was found before. */
static sr_status judge(search *s, const sr_layout *is, const int32_t *nodes, sr_error *err) {
    const sr_layout *was = s->layout;
    const int32_t reassigned = count_reassigned(was, is);
    const uint64_t bytes = count_bytes(is);
    const size_t size = ((size_t)was->graph->n_nodes + 1) * sizeof(*nodes);
    if (is->n_splits >= (s->out->nodes ? s->out->n_splits : was->n_splits) || reassigned < 0 ||
        (reassigned > 0 && bytes > count_bytes(was))) {
        return SR_OK;
    }
    if (!s->out->nodes) {
        s->out->nodes = sr__malloc(size);
    }
    if (!s->out->nodes) {
        return sr__fail_memory(err);
    }
    memcpy(s->out->nodes, nodes, size - sizeof(*nodes));
    s->out->n_splits = is->n_splits;
    s->out->n_reassigned = reassigned;
    s->out->bytes = bytes;
    return SR_OK;
}

/* Schedules the graph's nodes in this order.  A schedule that fails is no better one. */
static sr_status verify(search *s, const int32_t *order) {
    const sr_layout *layout = s->layout;
    sr_graph graph = *layout->graph; /* as it is, but for the order: positions in its tensors are not looked at */
    sr_sched_params params = *s->params;
    sr_error own = {0};
    sr_sched *sched = NULL;
    sr_status status;
    int32_t *nodes = sr__malloc(((size_t)graph.n_nodes + 1) * sizeof(*nodes));
    if (!nodes) {
        status = sr__fail_memory(&own);
        goto done;
    }
    for (int32_t i = 0; i < graph.n_nodes; i++) {
        nodes[i] = layout->graph->nodes[order[i]];
    }
    graph.nodes = nodes;
    params.graph_size = 0;
    params.n_copies = 1;
    params.record_decisions = params.record_lives = false;
    SR_TRY(sr_sched_new(layout->backends, layout->buffer_types, layout->n_backends, &params, &sched, &own));
    SR_TRY(assign_users(layout, sched, &graph, &own));
    SR_TRY(sr_sched_measure(sched, &graph, NULL, &own));
    SR_TRY(judge(s, sr_sched_layout(sched), nodes, &own));
done:
    sr_sched_free(sched);
    sr__free(nodes);
    sr_error_clear(&own);
    return status == SR_MEMORY ? sr__fail_memory(s->err) : SR_OK;
}

/* ---- guessing -------------------------------------------------------------------------------------------------- */

/* Arranges with several first backends and verifies the best, if it has fewer groups than `runs`. */
static sr_status try_allowed(search *s, const sr__backends *allowed, int32_t bound, int32_t runs) {
    const int32_t n = s->layout->graph->n_nodes;
    sr__arrangement a = {.dependences = &s->dependences, .allowed = allowed, .n_backends = s->layout->n_backends,
                         .n_fixed = s->n_fixed, .order = s->order};
    int32_t best = runs;
    int tried = 0, began = -1;
    for (int first = -1; first < a.n_backends && best > bound && tried < MOST_STARTS; first++) {
        if (first >= 0 && first == began) {
            continue; /* that is how it began by itself */
        }
        if (!sr__arrange(&a, first)) {
            return sr__fail_memory(s->err);
        }
        began = first < 0 ? a.began : began;
        tried += first < 0 || a.began == first; /* with another there was nothing to begin with */
        if (a.n_runs < best) {
            best = a.n_runs;
            memcpy(s->best, s->order, (size_t)n * sizeof(*s->best));
        }
    }
    return best < runs ? verify(s, s->best) : SR_OK;
}

static sr_status look(search *s) {
    const sr_graph *graph = s->layout->graph;
    const int32_t runs = count_runs(s->layout);
    int32_t loose_bound, bound;
    sr_status status;
    fill_allowed(s);
    if (!sr__arrange_bound(graph, s->loose, &loose_bound)) {
        return sr__fail_memory(s->err);
    }
    if (runs <= loose_bound) {
        return SR_OK;
    }
    if (!sr__arrange_bound(graph, s->fixed, &bound) || !sr__dependences_init(&s->dependences, graph)) {
        return sr__fail_memory(s->err);
    }
    SR_TRY(try_allowed(s, s->fixed, bound, runs));
    if (!s->out->nodes || s->out->n_splits > loose_bound) {
        SR_TRY(try_allowed(s, s->loose, loose_bound, s->out->nodes ? s->out->n_splits : runs));
    }
done:
    return status;
}

/* ---- what has to be moved -------------------------------------------------------------------------------------- */

/*
 * The longest rising sequence of old positions can stay, the rest moves.  tails[k]: the place in the new order where
 * the least ending sequence of k + 1 nodes ends; before[p]: the place before p in its sequence.
 */
static bool find_moved(sr__order *o, const sr_graph *graph) {
    const size_t n = (size_t)graph->n_nodes + 1;
    int32_t *tails = sr__malloc(n * sizeof(*tails)), *before = sr__malloc(n * sizeof(*before));
    int32_t length = 0;
    o->moved = sr__calloc(n, sizeof(*o->moved));
    if (!tails || !before || !o->moved) {
        sr__free(tails);
        sr__free(before);
        return false;
    }
    for (int32_t p = 0; p < graph->n_nodes; p++) {
        const sr_tensor *t = &graph->tensors[o->nodes[p]];
        if (sr_op_is_view(t->op)) {
            continue; /* views cost nothing wherever they stand */
        }
        int32_t low = 0, high = length;
        while (low < high) {
            const int32_t middle = low + (high - low) / 2;
            if (graph->tensors[o->nodes[tails[middle]]].node < t->node) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        tails[low] = p;
        before[p] = low > 0 ? tails[low - 1] : -1;
        length = low == length ? length + 1 : length;
        o->moved[p] = true;
        o->n_moved++;
    }
    for (int32_t p = length > 0 ? tails[length - 1] : -1; p >= 0; p = before[p]) {
        o->moved[p] = false;
        o->n_moved--;
    }
    sr__free(tails);
    sr__free(before);
    return true;
}

/* ---- the search ------------------------------------------------------------------------------------------------ */

void sr__order_free(sr__order *order) {
    sr__free(order->nodes);
    sr__free(order->moved);
    *order = (sr__order){0};
}

sr_status sr__order_find(const sr_layout *layout, const sr_sched_params *params, sr__order *out, sr_error *err) {
    const size_t n = (size_t)layout->graph->n_nodes + 1;
    search s = {.layout = layout, .params = params, .out = out, .err = err};
    sr_status status = SR_OK;
    *out = (sr__order){0};
    if (layout->n_splits < 3 || layout->n_backends > SR__MOST_BACKENDS) {
        return SR_OK; /* two splits that are needed by two backends cannot be fewer */
    }
    s.fixed = sr__malloc(n * sizeof(*s.fixed));
    s.loose = sr__malloc(n * sizeof(*s.loose));
    s.order = sr__malloc(n * sizeof(*s.order));
    s.best = sr__malloc(n * sizeof(*s.best));
    if (!s.fixed || !s.loose || !s.order || !s.best || !sr__answers_init(&s.answers, layout)) {
        SR_TRY(sr__fail_memory(err));
    }
    SR_TRY(look(&s));
    if (out->nodes && !find_moved(out, layout->graph)) {
        SR_TRY(sr__fail_memory(err));
    }
done:
    sr__dependences_free(&s.dependences);
    sr__answers_free(&s.answers);
    sr__free(s.fixed);
    sr__free(s.loose);
    sr__free(s.order);
    sr__free(s.best);
    if (status != SR_OK) {
        sr__order_free(out);
    }
    return status;
}
