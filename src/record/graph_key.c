/*
 * graph_key.c - the tensors of a graph by index, and a key by which equal graphs are found.
 *
 * Layer: record.  Answers to nothing of the reference.
 *
 * A program may build the same graph for every token.  The key is all that is worked out then: 128 bits of everything
 * that a description says of the graph.
 */
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

static bool add_outside(graph_items *g, abi_tensor *tensor) {
    return !tensor || items_find(g, tensor) >= 0 || add(g, tensor);
}

bool items_take(graph_items *g, const abi_graph *graph) {
    g->n = 0;
    size_t n_slots = g->n_slots ? g->n_slots : 256;
    while (n_slots < 2 * (size_t)(graph->n_nodes + graph->n_leafs)) {
        n_slots *= 2;
    }
    bool ok = resize(g, n_slots);
    for (int i = 0; ok && i < graph->n_leafs; i++) {
        ok = add(g, graph->leafs[i]);
    }
    g->n_leafs = g->n;
    for (int i = 0; ok && i < graph->n_nodes; i++) {
        ok = add(g, graph->nodes[i]);
    }
    g->n_nodes = g->n - g->n_leafs;
    for (int i = 0; ok && i < g->n; i++) {
        abi_tensor *tensor = g->items[i];
        const bool inside = i < g->n_leafs + g->n_nodes;
        for (int s = 0; ok && inside && s < ABI_SRCS; s++) {
            ok = add_outside(g, tensor->src[s]);
        }
        ok = ok && add_outside(g, tensor->view_src);
    }
    return ok;
}

void items_free(graph_items *g) {
    free(g->items);
    free(g->slots);
    *g = (graph_items){0};
}

/* ---- the key ----------------------------------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 wide;

static uint64_t fold(uint64_t a, uint64_t b) {
    const wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static void mix(graph_key *key, uint64_t value) {
    key->low = fold(key->low ^ value, UINT64_C(0x9E3779B97F4A7C15)) + value;
    key->high = fold(key->high + value, UINT64_C(0xD6E8FEB86659FD93)) ^ key->low;
}

static void mix_bytes(graph_key *key, const void *bytes, size_t n) {
    const char *at = bytes;
    uint64_t word;
    for (; n >= sizeof(word); n -= sizeof(word), at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        mix(key, word);
    }
    word = n;
    memcpy(&word, at, n);
    mix(key, word ^ (uint64_t)n << 56);
}

static void mix_sources(graph_key *key, const graph_items *g, const abi_tensor *t) {
    uint64_t word = 0;
    for (int s = 0; s < ABI_SRCS; s++) {
        word = word << 32 | (uint32_t)items_find(g, t->src[s]);
        if (s % 2) {
            mix(key, word);
        }
    }
}

bool graph_key_of(recording *r, const graph_items *g, const int *assigned, graph_key *out) {
    graph_key key = {UINT64_C(0x243F6A8885A308D3), UINT64_C(0x13198A2E03707344)};
    mix(&key, (uint64_t)(uint32_t)g->n_leafs << 32 | (uint32_t)g->n_nodes);
    for (int i = 0; i < g->n; i++) {
        const abi_tensor *t = g->items[i];
        int buffer = t->view_src ? -2 : -1;
        if (t->buffer && !t->view_src && (buffer = machine_buffer(r, t->buffer)) < 0) {
            return false;
        }
        mix(&key, (uint64_t)(uint32_t)t->type << 32 | (uint32_t)t->op);
        mix(&key, (uint64_t)(uint32_t)t->flags << 32 | (uint32_t)buffer);
        mix_bytes(&key, t->ne, sizeof(t->ne));
        mix_bytes(&key, t->nb, sizeof(t->nb));
        if (t->op) {
            mix_bytes(&key, t->op_params, sizeof(t->op_params));
            mix_sources(&key, g, t);
        }
        if (t->view_src) {
            mix(&key, (uint64_t)items_find(g, t->view_src));
            mix(&key, t->view_offs);
        }
        if (assigned) {
            mix(&key, (uint64_t)(uint32_t)assigned[i]);
        }
        const char *name = r->lib->f.ggml_get_name(t);
        mix_bytes(&key, name, strlen(name));
    }
    *out = key;
    return true;
}

graph_key graph_key_of_text(const json_text *t) {
    graph_key key = {UINT64_C(0xA4093822299F31D0), t->length};
    mix_bytes(&key, t->data, t->length);
    return key;
}
