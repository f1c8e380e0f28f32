/*
 * diff_match.c - which tensor of one graph is which of another.
 *
 * Layer: analyze.
 *
 * Tensors get a key on both sides, keys are sorted, and equal ones are paired in order; each stage looks at what the
 * stages before left over:
 *   1. name and op, where both sides have equally many of them;
 *   2. name, op and what it is computed from: a tensor that is paired already stands for itself, any other for its own
 *      op and sources, so that chains of unnamed nodes between paired ones agree;
 *   3. name and op, in order, as many as both have;
 *   4. the first letters of a name, where one side's name is the other's, cut: a log shows no more of it, nor which
 *      kind of view a view is;
 *   5. as 2 without names: what was only renamed;
 *   6. unnamed neighbours of paired nodes with the same op: one was put in or taken out among them.
 * Each stage is one sweep and a sort.
 */
#include <stdlib.h>

#include "analyze/diff_impl.h"

/* Letters of a name that a log shows. */
enum { SHOWN = 20 };

typedef struct entry {
    uint64_t key;
    int32_t place;  /* in the order of the side */
    int32_t tensor;
} entry;

typedef struct side {
    const sr_graph *graph;
    int32_t *other;  /* by tensor: its partner, -1 */
    int32_t *order;  /* leafs, then nodes */
    uint64_t *keys;  /* by tensor */
    entry *entries;
    int32_t n_entries;
} side;

typedef struct matcher {
    side a, b;
    bool cut; /* names are equal as far as the shorter one goes */
} matcher;

bool sr__diff_name_is_automatic(const char *name) {
    if (strncmp(name, "node_", 5) != 0 && strncmp(name, "leaf_", 5) != 0) {
        return name[0] == '\0';
    }
    const size_t digits = strspn(name + 5, "0123456789");
    return digits > 0 && (name[5 + digits] == '\0' || name[5 + digits] == ' ');
}

bool sr__diff_name_is_cut(const char *a, const char *b) {
    const size_t na = strlen(a), nb = strlen(b), n = na < nb ? na : nb;
    return memcmp(a, b, n) == 0 && (na == nb || n + 1 >= SHOWN);
}

static const sr_tensor *tensor_at(const side *s, int32_t tensor) { return &s->graph->tensors[tensor]; }

/* ---- keys ------------------------------------------------------------------------------------------------------ */

static uint64_t hash_text(uint64_t seed, const char *text) { return sr__hash_bytes(seed, text, strlen(text)); }

static uint64_t hash_number(uint64_t seed, uint64_t number) { return sr__hash_bytes(seed, &number, sizeof(number)); }

/* 0: the name says nothing. */
static uint64_t name_key(const sr_tensor *t) {
    if (sr__diff_name_is_automatic(t->name)) {
        return 0;
    }
    return hash_text(hash_text(t->node >= 0 ? 1 : 2, sr_tensor_op_desc(t)), t->name) | 1;
}

/* The same on both sides for a pair: the partner's index on side B. */
static uint64_t structure_key(const side *s, const side *b, int32_t tensor, bool names) {
    const sr_tensor *t = tensor_at(s, tensor);
    uint64_t key = t->node >= 0 ? 3 : 4;
    if (s->other[tensor] >= 0) {
        return hash_number(5, (uint64_t)(s == b ? tensor : s->other[tensor]));
    }
    if (names) {
        key = hash_number(key, name_key(t));
    }
    key = hash_text(key, sr_tensor_op_desc(t));
    if (t->node < 0) {
        key = hash_number(hash_number(key, (uint64_t)t->type), t->flags);
        return sr__hash_bytes(key, t->ne, sizeof(t->ne));
    }
    for (int j = 0; j < t->n_src; j++) {
        const int32_t source = s->graph->srcs[t->src_begin + j];
        key = hash_number(key, source < 0 || source == tensor ? 6 : s->keys[source]);
    }
    return key;
}

static const char *op_of(const sr_tensor *t) {
    return t->node >= 0 && sr_op_is_view(t->op) ? "VIEW" : sr_tensor_op_desc(t);
}

/* As much of a name as a log's column shows of it. */
static size_t shown_length(const char *name) {
    size_t n = strnlen(name, SHOWN);
    while (n > 0 && name[n - 1] == ' ') {
        n--;
    }
    return n;
}

/* 0: the name says nothing, or too little for a cut one to be told. */
static uint64_t short_name_key(const sr_tensor *t) {
    const size_t n = shown_length(t->name);
    if (sr__diff_name_is_automatic(t->name) || n == 0) {
        return 0;
    }
    return sr__hash_bytes(hash_text(t->node >= 0 ? 7 : 8, op_of(t)), t->name, n) | 1;
}

/* ---- pairs ----------------------------------------------------------------------------------------------------- */

static int compare_entries(const void *pa, const void *pb) {
    const entry *a = pa, *b = pb;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->place < b->place ? -1 : a->place > b->place;
}

static void add_entry(side *s, int32_t place, uint64_t key) {
    s->entries[s->n_entries++] = (entry){.key = key, .place = place, .tensor = s->order[place]};
}

static void pair(matcher *m, int32_t a, int32_t b) {
    m->a.other[a] = b;
    m->b.other[b] = a;
}

/* Hashes that meet by chance must not pair what cannot be the same. */
static bool can_pair(const matcher *m, int32_t a, int32_t b) {
    const sr_tensor *ta = tensor_at(&m->a, a), *tb = tensor_at(&m->b, b);
    return (ta->node >= 0) == (tb->node >= 0) && strcmp(op_of(ta), op_of(tb)) == 0 &&
           (!m->cut || sr__diff_name_is_cut(ta->name, tb->name));
}

static int32_t group_end(const side *s, int32_t begin) {
    int32_t end = begin + 1;
    while (end < s->n_entries && s->entries[end].key == s->entries[begin].key) {
        end++;
    }
    return end;
}

static void pair_equal_keys(matcher *m, bool equally_many) {
    qsort(m->a.entries, (size_t)m->a.n_entries, sizeof(entry), compare_entries);
    qsort(m->b.entries, (size_t)m->b.n_entries, sizeof(entry), compare_entries);
    int32_t i = 0, j = 0;
    while (i < m->a.n_entries && j < m->b.n_entries) {
        const uint64_t ka = m->a.entries[i].key, kb = m->b.entries[j].key;
        const int32_t end_a = group_end(&m->a, i), end_b = group_end(&m->b, j);
        if (ka != kb) {
            i = ka < kb ? end_a : i;
            j = kb < ka ? end_b : j;
            continue;
        }
        for (int32_t k = 0; (!equally_many || end_a - i == end_b - j) && i + k < end_a && j + k < end_b; k++) {
            if (can_pair(m, m->a.entries[i + k].tensor, m->b.entries[j + k].tensor)) {
                pair(m, m->a.entries[i + k].tensor, m->b.entries[j + k].tensor);
            }
        }
        i = end_a;
        j = end_b;
    }
}

/* ---- stages ---------------------------------------------------------------------------------------------------- */

static void enter_names(side *s, uint64_t (*key_of)(const sr_tensor *)) {
    s->n_entries = 0;
    for (int32_t i = 0; i < s->graph->n_tensors; i++) {
        const uint64_t key = s->other[s->order[i]] < 0 ? key_of(tensor_at(s, s->order[i])) : 0;
        if (key != 0) {
            add_entry(s, i, key);
        }
    }
}

/* Sources stand before their users, so that their keys are known. */
static void enter_structures(side *s, const side *b, bool names) {
    s->n_entries = 0;
    for (int32_t i = 0; i < s->graph->n_tensors; i++) {
        const int32_t tensor = s->order[i];
        s->keys[tensor] = structure_key(s, b, tensor, names);
        if (s->other[tensor] < 0) {
            add_entry(s, i, s->keys[tensor]);
        }
    }
}

static void match_names(matcher *m, bool equally_many) {
    enter_names(&m->a, name_key);
    enter_names(&m->b, name_key);
    pair_equal_keys(m, equally_many);
}

static void match_cut_names(matcher *m) {
    m->cut = true;
    enter_names(&m->a, short_name_key);
    enter_names(&m->b, short_name_key);
    pair_equal_keys(m, false);
    m->cut = false;
}

static void match_structures(matcher *m, bool names) {
    enter_structures(&m->a, &m->b, names);
    enter_structures(&m->b, &m->b, names);
    pair_equal_keys(m, false);
}

/* Whether the nodes at two positions are free, and nothing but order could tell them from others. */
static bool can_extend(const matcher *m, int32_t i, int32_t j) {
    if (i < 0 || j < 0 || i >= m->a.graph->n_nodes || j >= m->b.graph->n_nodes) {
        return false;
    }
    const int32_t a = m->a.graph->nodes[i], b = m->b.graph->nodes[j];
    return m->a.other[a] < 0 && m->b.other[b] < 0 && can_pair(m, a, b) &&
           (sr__diff_name_is_automatic(tensor_at(&m->a, a)->name) ||
            sr__diff_name_is_automatic(tensor_at(&m->b, b)->name));
}

static void extend(matcher *m, int32_t i, int32_t j, int step) {
    for (i += step, j += step; can_extend(m, i, j); i += step, j += step) {
        pair(m, m->a.graph->nodes[i], m->b.graph->nodes[j]);
    }
}

static void match_neighbours(matcher *m) {
    const int32_t n = m->a.graph->n_nodes;
    extend(m, -1, -1, 1);
    for (int32_t i = 0; i < n; i++) {
        const int32_t b = m->a.other[m->a.graph->nodes[i]];
        if (b >= 0) {
            extend(m, i, tensor_at(&m->b, b)->node, 1);
        }
    }
    extend(m, n, m->b.graph->n_nodes, -1);
    for (int32_t i = n - 1; i >= 0; i--) {
        const int32_t b = m->a.other[m->a.graph->nodes[i]];
        if (b >= 0) {
            extend(m, i, tensor_at(&m->b, b)->node, -1);
        }
    }
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static bool side_init(side *s, const sr_graph *graph, int32_t *other) {
    const size_t n = (size_t)graph->n_tensors;
    int32_t place = 0;
    *s = (side){.graph = graph, .other = other};
    s->order = sr__malloc((n + 1) * sizeof(*s->order));
    s->keys = sr__malloc((n + 1) * sizeof(*s->keys));
    s->entries = sr__malloc((n + 1) * sizeof(*s->entries));
    if (s->order == NULL || s->keys == NULL || s->entries == NULL) {
        return false;
    }
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        other[i] = -1;
        if (graph->tensors[i].node < 0) {
            s->order[place++] = i;
        }
    }
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        s->order[place++] = graph->nodes[i];
    }
    return true;
}

static void side_free(side *s) {
    sr__free(s->order);
    sr__free(s->keys);
    sr__free(s->entries);
}

sr_status sr__diff_match(const sr_graph *a, const sr_graph *b, int32_t *b_of_a, int32_t *a_of_b, sr_error *err) {
    matcher m = {0};
    sr_status status = SR_OK;
    if (!side_init(&m.a, a, b_of_a) || !side_init(&m.b, b, a_of_b)) {
        status = sr__fail_memory(err);
        goto done;
    }
    match_names(&m, true);
    match_structures(&m, true);
    match_names(&m, false);
    match_cut_names(&m);
    match_structures(&m, false);
    match_neighbours(&m);
done:
    side_free(&m.a);
    side_free(&m.b);
    return status;
}
