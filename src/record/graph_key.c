/*
 * graph_key.c - the tensors of a graph by index, and a key by which equal graphs are found.
 *
 * Layer: record.  Answers to nothing of the reference.
 *
 * A program may build the same graph for every token.  The key is all that is worked out then: 128 bits of everything
 * that a description says of the graph.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "record/recorder.h"

bool grow(void *array, int *capacity, int n, size_t element) {
    if (n <= *capacity) {
        return true;
    }
    void *old;
    memcpy(&old, array, sizeof(old));
    const int wanted = n < 16 ? 32 : n * 2;
    void *data = realloc(old, (size_t)wanted * element);
    if (!data) {
        return false;
    }
    memcpy(array, &data, sizeof(data));
    *capacity = wanted;
    return true;
}

/* ---- tensors by index -------------------------------------------------------------------------------------------- */

static size_t slot_of(const graph_items *g, const abi_tensor *tensor) {
    const uint64_t h = (uint64_t)(uintptr_t)tensor * UINT64_C(0x9E3779B97F4A7C15);
    size_t slot = (size_t)(h >> 20) & (g->n_slots - 1);
    while (g->slots[slot] && g->items[g->slots[slot] - 1] != tensor) {
        slot = (slot + 1) & (g->n_slots - 1);
    }
    return slot;
}

int items_find(const graph_items *g, const abi_tensor *tensor) {
    return tensor ? g->slots[slot_of(g, tensor)] - 1 : -1;
}

static bool resize(graph_items *g, size_t n_slots) {
    int *slots = realloc(g->slots, n_slots * sizeof(*slots));
    if (!slots) {
        return false;
    }
    g->slots = slots;
    g->n_slots = n_slots;
    memset(slots, 0, n_slots * sizeof(*slots));
    for (int i = 0; i < g->n; i++) {
        const size_t slot = slot_of(g, g->items[i]);
        slots[slot] = slots[slot] ? slots[slot] : i + 1;
    }
    return true;
}

static bool add(graph_items *g, abi_tensor *tensor) {
    if (!grow(&g->items, &g->capacity, g->n + 1, sizeof(abi_tensor *)) ||
        ((size_t)g->n * 2 >= g->n_slots && !resize(g, g->n_slots * 2))) {
        return false;
    }
    const size_t slot = slot_of(g, tensor);
    g->items[g->n++] = tensor;
    g->slots[slot] = g->slots[slot] ? g->slots[slot] : g->n; /* the first of two equal ones counts */
    return true;
}

/* The index of a source, which may be outside of the graph; -2 where memory ran out. */
static int link_to(graph_items *g, abi_tensor *tensor) {
    const int found = items_find(g, tensor);
    return found >= 0 ? found : add(g, tensor) ? g->n - 1 : -2;
}

static bool add_links(graph_items *g, int item) {
    const abi_tensor *tensor = g->items[item];
    const bool inside = item < g->n_leafs + g->n_nodes;
    if (!grow(&g->links, &g->links_capacity, (item + 1) * ABI_LINKS, sizeof(*g->links))) {
        return false;
    }
    int *links = g->links + (size_t)item * ABI_LINKS;
    bool ok = true;
    memset(links, -1, ABI_LINKS * sizeof(*links));
    for (int s = 0; inside && s < ABI_SRCS; s++) {
        if (tensor->src[s]) {
            links[s] = link_to(g, tensor->src[s]);
            ok = ok && links[s] != -2;
        }
    }
    if (tensor->view_src) {
        links[ABI_SRCS] = link_to(g, tensor->view_src);
        ok = ok && links[ABI_SRCS] != -2;
    }
    return ok;
}

int items_root(const graph_items *g, int item) {
    return g->links[(size_t)item * ABI_LINKS + ABI_SRCS];
}

bool items_take(graph_items *g, const abi_graph *graph) {
    g->n = 0;
    size_t n_slots = g->n_slots ? g->n_slots : 256;
    while (n_slots < 4 * (size_t)(graph->n_nodes + graph->n_leafs)) {
        n_slots *= 2;
    }
    bool ok = resize(g, n_slots);
    for (int i = 0; ok && i < graph->n_leafs; i++) {
        ok = add(g, graph->leafs[i]);
    }
    g->n_leafs = graph->n_leafs;
    for (int i = 0; ok && i < graph->n_nodes; i++) {
        ok = add(g, graph->nodes[i]);
    }
    g->n_nodes = graph->n_nodes;
    for (int i = 0; ok && i < g->n; i++) {
        ok = add_links(g, i);
    }
    return ok;
}

void items_free(graph_items *g) {
    free(g->items);
    free(g->slots);
    free(g->links);
    *g = (graph_items){0};
}

/* ---- the key --------------------------------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 wide;

static uint64_t fold(uint64_t a, uint64_t b) {
    const wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Two lanes that do not wait for each other, each of 64 bits, which takes two words at a time. */
typedef struct hash {
    uint64_t lanes[2];
} hash;

/* Four words at a time: n is rounded up, and the words behind n are zero. */
static inline void mix_words(hash *h, const uint64_t *words, int n) {
    uint64_t a = h->lanes[0], b = h->lanes[1];
    for (int i = 0; i < n; i += 4) {
        a = fold(words[i] ^ UINT64_C(0x9E3779B97F4A7C15), words[i + 1] ^ a);
        b = fold(words[i + 2] ^ UINT64_C(0xD6E8FEB86659FD93), words[i + 3] ^ b);
    }
    h->lanes[0] = a;
    h->lanes[1] = b;
}

static void mix_bytes(hash *h, const char *bytes, size_t n) {
    uint64_t words[4] = {n};
    mix_words(h, words, 4);
    for (; n >= sizeof(words); n -= sizeof(words), bytes += sizeof(words)) {
        memcpy(words, bytes, sizeof(words));
        mix_words(h, words, 4);
    }
    memset(words, 0, sizeof(words));
    memcpy(words, bytes, n);
    mix_words(h, words, 4);
}

static graph_key key_of(const hash *h) {
    return (graph_key){fold(h->lanes[0] ^ UINT64_C(0x8EBC6AF09C88C6E3), UINT64_C(0xA0761D6478BD642F)),
                       fold(h->lanes[1] ^ UINT64_C(0x1D8E4E27C47D124F), UINT64_C(0xE7037ED1A0B428DB))};
}

/* A tensor is all numbers from its extents to its flags; what it points to is mixed as indices. */
static void mix_tensor(hash *h, const abi_tensor *t, const int *links, int buffer, int assigned) {
    enum { FROM = offsetof(abi_tensor, ne), TO = offsetof(abi_tensor, src), PLAIN = (TO - FROM) / 8 };
    _Static_assert((TO - FROM) % 8 == 0, "whole words");
    uint64_t words[(PLAIN + 3 + ABI_SRCS / 2 + 7) / 4 * 4];
    int n = PLAIN, n_links = ABI_SRCS;
    memcpy(words, t->ne, TO - FROM);
    while (n_links > 0 && links[n_links - 1] < 0) {
        n_links--;
    }
    words[n++] = (uint64_t)(uint32_t)t->type << 32 | (uint32_t)buffer;
    words[n++] = (uint64_t)(uint32_t)assigned << 32 | (uint32_t)links[ABI_SRCS];
    words[n++] = (uint64_t)t->view_offs << 8 ^ (uint64_t)n_links;
    for (int s = 0; s < n_links; s += 2) {
        words[n++] = (uint64_t)(uint32_t)links[s] << 32 | (s + 1 < n_links ? (uint32_t)links[s + 1] : 0);
    }
    memset(words + n, 0, 3 * sizeof(words[0]));
    mix_words(h, words, n);
}

bool graph_key_of(recording *r, const graph_items *g, const int *assigned, graph_key *out) {
    hash h = {{UINT64_C(0x243F6A8885A308D3) + (uint64_t)g->n_leafs,
               UINT64_C(0x13198A2E03707344) + (uint64_t)g->n_nodes}};
    for (int i = 0; i < g->n; i++) {
        const abi_tensor *t = g->items[i];
        int buffer = -1;
        if (t->buffer && !t->view_src && (buffer = machine_buffer(r, t->buffer)) < 0) {
            return false;
        }
        mix_tensor(&h, t, g->links + (size_t)i * ABI_LINKS, buffer, assigned ? assigned[i] : -1);
        const char *name = r->lib->f.ggml_get_name(t);
        mix_bytes(&h, name, strlen(name));
    }
    *out = key_of(&h);
    return true;
}

graph_key graph_key_of_text(const json_text *t) {
    hash h = {{UINT64_C(0xA4093822299F31D0), UINT64_C(0x082EFA98EC4E6C89)}};
    mix_bytes(&h, t->data, t->length);
    return key_of(&h);
}
