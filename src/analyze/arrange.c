/*
 * arrange.c - nodes in an order that changes backends as seldom as a greedy walk finds.
 *
 * Layer: analyze.  For two backends and a given first one, taking everything that is ready before changing is the best
 * that can be done; for more it is a good guess, which whoever asks has to verify.
 */
#include "analyze/arrange.h"

/* ---- a lower bound --------------------------------------------------------------------------------------------- */

/* The changes on the way to a node, at least, and the backends on which it can be with so many. */
typedef struct reach { int32_t changes; sr__backends with; } reach;

/* Of sources with fewer changes there is one left to spend: they may be anywhere. */
static reach reach_of(const sr_graph *graph, const reach *all, int32_t position) {
    const sr_tensor *t = &graph->tensors[graph->nodes[position]];
    reach most = {0, ~(sr__backends)0};
    for (int j = -1; j < t->n_src; j++) {
        const int32_t source = j < 0 ? t->view_src : graph->srcs[t->src_begin + j];
        const int32_t at = source >= 0 ? graph->tensors[source].node : -1;
        if (at < 0 || at >= position) {
            continue;
        }
        if (all[at].changes > most.changes) {
            most = all[at];
        } else if (all[at].changes == most.changes) {
            most.with &= all[at].with;
        }
    }
    return most;
}

/* Backends that some node must be on. */
static int32_t count_needed(const sr_graph *graph, const sr__backends *allowed) {
    sr__backends needed = 0;
    int32_t n = 0;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        needed |= (allowed[i] & (allowed[i] - 1)) == 0 ? allowed[i] : 0;
    }
    for (; needed; needed &= needed - 1) {
        n++;
    }
    return n;
}

bool sr__arrange_bound(const sr_graph *graph, const sr__backends *allowed, int32_t *out_bound) {
    reach *all = sr__malloc(((size_t)graph->n_nodes + 1) * sizeof(*all));
    *out_bound = count_needed(graph, allowed);
    if (!all) {
        return false;
    }
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        reach r = reach_of(graph, all, i);
        if (allowed[i] == 0) { /* a view is nowhere: what reads it comes after what it shows, on any backend */
            r.with = r.with ? r.with : ~(sr__backends)0;
        } else if ((r.with & allowed[i]) == 0) {
            r = (reach){r.changes + 1, allowed[i]};
        } else {
            r.with &= allowed[i];
        }
        all[i] = r;
        if (allowed[i] != 0 && r.changes + 1 > *out_bound) {
            *out_bound = r.changes + 1;
        }
    }
    sr__free(all);
    return true;
}

/* ---- heaps ----------------------------------------------------------------------------------------------------- */

/* Positions by a key, the least first.  What was taken elsewhere stays until it comes to the top. */
typedef struct entry { int64_t key; int32_t position; } entry;
typedef struct heap { entry *items; size_t n, cap; } heap;

static bool heap_push(heap *h, int64_t key, int32_t position) {
    if (!sr__grow(&h->items, &h->cap, h->n + 1, sizeof(*h->items))) {
        return false;
    }
    size_t i = h->n++;
    for (; i > 0 && h->items[(i - 1) / 2].key > key; i = (i - 1) / 2) {
        h->items[i] = h->items[(i - 1) / 2];
    }
    h->items[i] = (entry){key, position};
    return true;
}

static void heap_pop(heap *h) {
    const entry last = h->items[--h->n];
    size_t i = 0;
    for (size_t child = 1; child < h->n; child = 2 * i + 1) {
        if (child + 1 < h->n && h->items[child + 1].key < h->items[child].key) {
            child++;
        }
        if (h->items[child].key >= last.key) {
            break;
        }
        h->items[i] = h->items[child];
        i = child;
    }
    if (h->n > 0) {
        h->items[i] = last;
    }
}

/* The first that has not been taken, or NULL. */
static const entry *heap_top(heap *h, const bool *taken) {
    while (h->n > 0 && taken[h->items[0].position]) {
        heap_pop(h);
    }
    return h->n > 0 ? &h->items[0] : NULL;
}

/* ---- the walk -------------------------------------------------------------------------------------------------- */

/* The state of sr__arrange. */
typedef struct walk {
    sr__arrangement *a;
    int32_t *begin, *next;  /* who waits for a position: next[begin[i] .. begin[i + 1]) */
    int32_t *waits_for;     /* by position: how many are still to come */
    int32_t *ahead;         /* by position: changes of backend on the longest way from it to the end */
    bool *taken;
    heap *ready, *urgent;   /* by backend: by position, and by the changes ahead; the last of `ready` holds views */
    int32_t n;
    int current;            /* backend, -1 before the first */
} walk;

static bool find_waiting(walk *w) {
    const sr__dependences *d = w->a->dependences;
    const int32_t n = d->n_nodes, n_on = d->begin[n];
    w->begin = sr__calloc((size_t)n + 2, sizeof(*w->begin));
    w->next = sr__malloc(((size_t)n_on + 1) * sizeof(*w->next));
    if (!w->begin || !w->next) {
        return false;
    }
    for (int32_t k = 0; k < n_on; k++) {
        w->begin[d->on[k] + 2]++;
    }
    for (int32_t i = 0; i < n; i++) {
        w->begin[i + 2] += w->begin[i + 1];
    }
    for (int32_t i = 0; i < n; i++) {
        for (int32_t k = d->begin[i]; k < d->begin[i + 1]; k++) {
            w->next[w->begin[d->on[k] + 1]++] = i;
        }
    }
    return true;
}

/* Backends of a position for counting changes: a view counts as what it shows. */
static bool find_ahead(walk *w) {
    const sr__dependences *d = w->a->dependences;
    sr__backends *at = sr__malloc(((size_t)d->n_nodes + 1) * sizeof(*at));
    if (!at) {
        return false;
    }
    for (int32_t i = 0; i < d->n_nodes; i++) {
        at[i] = w->a->allowed[i];
        if (at[i] == 0) {
            at[i] = d->begin[i] < d->begin[i + 1] ? at[d->on[d->begin[i]]] : ~(sr__backends)0;
        }
    }
    for (int32_t i = d->n_nodes - 1; i >= 0; i--) {
        for (int32_t k = d->begin[i]; k < d->begin[i + 1]; k++) {
            const int32_t on = d->on[k];
            const int32_t changes = w->ahead[i] + ((at[i] & at[on]) == 0);
            w->ahead[on] = changes > w->ahead[on] ? changes : w->ahead[on];
        }
    }
    sr__free(at);
    return true;
}

static bool make_ready(walk *w, int32_t position) {
    const sr__backends allowed = w->a->allowed[position];
    if (allowed == 0) {
        return heap_push(&w->ready[w->a->n_backends], position, position);
    }
    for (int b = 0; b < w->a->n_backends; b++) {
        if ((allowed >> b & 1) &&
            (!heap_push(&w->ready[b], position, position) ||
             !heap_push(&w->urgent[b], position - (int64_t)w->ahead[position] * INT32_MAX, position))) {
            return false;
        }
    }
    return true;
}

static bool take(walk *w, int32_t position) {
    w->a->order[w->n++] = position;
    w->taken[position] = true;
    for (int32_t k = w->begin[position]; k < w->begin[position + 1]; k++) {
        if (--w->waits_for[w->next[k]] == 0 && w->next[k] >= w->a->n_fixed && !make_ready(w, w->next[k])) {
            return false;
        }
    }
    return true;
}

static void change_to(walk *w, int backend) {
    w->a->n_runs += backend != w->current;
    w->a->began = w->a->began < 0 ? backend : w->a->began;
    w->current = backend;
}

/* The backend whose next nodes have the most changes ahead. */
static int choose(walk *w, int first) {
    int best = -1;
    int64_t best_key = INT64_MAX;
    if (first >= 0 && w->current < 0 && heap_top(&w->ready[first], w->taken)) {
        return first;
    }
    for (int b = 0; b < w->a->n_backends; b++) {
        const entry *top = heap_top(&w->urgent[b], w->taken);
        if (top && top->key < best_key) {
            best = b;
            best_key = top->key;
        }
    }
    return best;
}

static bool take_fixed(walk *w) {
    const sr__arrangement *a = w->a;
    bool ok = true;
    for (int32_t i = 0; i < a->n_fixed && ok; i++) {
        for (int b = 0; b < a->n_backends; b++) {
            if (a->allowed[i] >> b & 1) {
                change_to(w, b);
                break;
            }
        }
        ok = take(w, i);
    }
    return ok;
}

static bool run(walk *w, int first) {
    const sr__dependences *d = w->a->dependences;
    heap *views = &w->ready[w->a->n_backends];
    bool ok = true;
    for (int32_t i = 0; i < d->n_nodes; i++) {
        w->waits_for[i] = d->begin[i + 1] - d->begin[i];
    }
    for (int32_t i = w->a->n_fixed; i < d->n_nodes && ok; i++) {
        ok = w->waits_for[i] > 0 || make_ready(w, i);
    }
    ok = ok && take_fixed(w);
    while (ok && w->n < d->n_nodes) {
        const entry *top = heap_top(views, w->taken);
        if (!top && w->current >= 0) {
            top = heap_top(&w->ready[w->current], w->taken);
        }
        if (top) {
            ok = take(w, top->position);
        } else {
            const int backend = choose(w, first);
            ok = backend >= 0; /* always: what stands first of the rest waits for nothing */
            change_to(w, backend);
        }
    }
    return ok;
}

/*
 * Views are ready as soon as what they show is, or from the start: they go to just before the first node that needs
 * them, unneeded ones to the end.  order and stack have n_nodes places; placed is all false.
 */
static void place_views(const sr__arrangement *a, int32_t *order, int32_t *stack, bool *placed) {
    const sr__dependences *d = a->dependences;
    int32_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < d->n_nodes; i++) {
            int32_t depth = 0;
            if (placed[a->order[i]] || (pass == 0 && a->allowed[a->order[i]] == 0)) {
                continue;
            }
            stack[depth++] = a->order[i];
            while (depth > 0) {
                const int32_t top = stack[depth - 1];
                int32_t next = -1;
                for (int32_t k = d->begin[top]; k < d->begin[top + 1] && next < 0; k++) {
                    next = placed[d->on[k]] ? -1 : d->on[k];
                }
                if (next >= 0) {
                    stack[depth++] = next;
                } else {
                    placed[top] = true;
                    order[n++] = top;
                    depth--;
                }
            }
        }
    }
}

static bool settle_views(walk *w) {
    const size_t n = (size_t)w->a->dependences->n_nodes;
    int32_t *order = sr__malloc((n + 1) * sizeof(*order)), *stack = sr__malloc((n + 1) * sizeof(*stack));
    const bool ok = order && stack;
    memset(w->taken, 0, n * sizeof(*w->taken));
    if (ok) {
        place_views(w->a, order, stack, w->taken);
        memcpy(w->a->order, order, n * sizeof(*order));
    }
    sr__free(order);
    sr__free(stack);
    return ok;
}

static void walk_free(walk *w) {
    for (int b = 0; b <= w->a->n_backends; b++) {
        sr__free(w->ready ? w->ready[b].items : NULL);
        sr__free(w->urgent ? w->urgent[b].items : NULL);
    }
    sr__free(w->ready);
    sr__free(w->urgent);
    sr__free(w->begin);
    sr__free(w->next);
    sr__free(w->waits_for);
    sr__free(w->ahead);
    sr__free(w->taken);
}

bool sr__arrange(sr__arrangement *a, int first) {
    const size_t n = (size_t)a->dependences->n_nodes + 1;
    walk w = {.a = a, .current = -1};
    a->n_runs = 0;
    a->began = -1;
    w.waits_for = sr__malloc(n * sizeof(*w.waits_for));
    w.ahead = sr__calloc(n, sizeof(*w.ahead));
    w.taken = sr__calloc(n, sizeof(*w.taken));
    w.ready = sr__calloc((size_t)a->n_backends + 1, sizeof(*w.ready));
    w.urgent = sr__calloc((size_t)a->n_backends + 1, sizeof(*w.urgent));
    const bool ok = w.waits_for && w.ahead && w.taken && w.ready && w.urgent && find_waiting(&w) && find_ahead(&w) &&
                    run(&w, first) && settle_views(&w);
    walk_free(&w);
    return ok;
}
