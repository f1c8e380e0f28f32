/*
 * graph_tables.c - what a graph keeps once: ids, recorded answers, names of opaque ops.
 *
 * Layer: graph.  The reference looks tensors up by comparing names one after the other; a description refers to every
 * source by id, so here that is a hash table.
 */
#include "graph/graph_impl.h"

static uint32_t hash_text(const char *text, size_t length) {
    uint64_t hash = sr__hash_bytes(0, text, length);
    return (uint32_t)(hash ^ (hash >> 32));
}

/* Doubles a table of slots once it is half full; the slots say themselves where they belong. */
static bool reserve_slots(sr__id_slot **slots, size_t *cap, size_t used) {
    if (*cap != 0 && (used + 1) * 2 <= *cap) {
        return true;
    }
    size_t bigger = *cap == 0 ? 64 : *cap * 2;
    sr__id_slot *fresh = sr__malloc(bigger * sizeof *fresh);
    if (fresh == NULL) {
        return false;
    }
    memset(fresh, 0xff, bigger * sizeof *fresh);
    for (size_t i = 0; i < *cap; i++) {
        if ((*slots)[i].index >= 0) {
            size_t at = (*slots)[i].hash & (bigger - 1);
            while (fresh[at].index >= 0) {
                at = (at + 1) & (bigger - 1);
            }
            fresh[at] = (*slots)[i];
        }
    }
    sr__free(*slots);
    *slots = fresh;
    *cap = bigger;
    return true;
}

static void insert_slot(sr__id_slot *slots, size_t cap, uint32_t hash, int32_t index) {
    size_t at = hash & (cap - 1);
    while (slots[at].index >= 0) {
        at = (at + 1) & (cap - 1);
    }
    slots[at] = (sr__id_slot){hash, index};
}

/* ---- ids ---- */

bool sr__graph_ids_reserve(sr_graph *graph) {
    return reserve_slots(&graph->impl->ids, &graph->impl->ids_cap, (size_t)graph->n_tensors);
}

uint32_t sr__graph_ids_hash(const sr_graph *graph, const char *id) {
    const struct sr_graph_impl *impl = graph->impl;
    uint32_t hash = hash_text(id, strlen(id));
    if (impl->ids_cap != 0) {
        __builtin_prefetch(&impl->ids[hash & (impl->ids_cap - 1)]);
    }
    return hash;
}

int32_t sr__graph_ids_find(const sr_graph *graph, const char *id, uint32_t hash) {
    const struct sr_graph_impl *impl = graph->impl;
    if (impl->ids_cap == 0) {
        return -1;
    }
    for (size_t at = hash & (impl->ids_cap - 1); impl->ids[at].index >= 0; at = (at + 1) & (impl->ids_cap - 1)) {
        if (impl->ids[at].hash == hash && strcmp(impl->tensors[impl->ids[at].index].id, id) == 0) {
            return impl->ids[at].index;
        }
    }
    return -1;
}

void sr__graph_ids_insert(sr_graph *graph, uint32_t hash, int32_t tensor) {
    insert_slot(graph->impl->ids, graph->impl->ids_cap, hash, tensor);
}

int32_t sr_graph_find(const sr_graph *graph, const char *id) {
    return id == NULL ? -1 : sr__graph_ids_find(graph, id, sr__graph_ids_hash(graph, id));
}

/* ---- answers: whole recordings repeat a handful of lists, so each is kept once ---- */

static uint64_t hash_list(uint64_t seed, const char *const *names, int32_t n) {
    uint64_t hash = sr__hash_bytes(seed, &n, sizeof n);
    for (int32_t i = 0; i < n; i++) {
        hash = sr__hash_bytes(hash, names[i], strlen(names[i]) + 1);
    }
    return hash;
}

static bool same_list(const char *const *a, int32_t n_a, const char *const *b, int32_t n_b) {
    if (n_a != n_b) {
        return false;
    }
    for (int32_t i = 0; i < n_a; i++) {
        if (strcmp(a[i], b[i]) != 0) {
            return false;
        }
    }
    return true;
}

static bool same_answers(const sr_answers *a, const sr_answers *b) {
    return same_list(a->supported_by, a->n_supported_by, b->supported_by, b->n_supported_by) &&
           same_list(a->offloaded_by, a->n_offloaded_by, b->offloaded_by, b->n_offloaded_by);
}

static bool copy_list(sr__arena *arena, const char *const *names, int32_t n, const char ***out_names) {
    *out_names = NULL;
    if (n <= 0) {
        return true;
    }
    const char **copy = sr__arena_alloc(arena, (size_t)n * sizeof *copy);
    if (copy == NULL) {
        return false;
    }
    for (int32_t i = 0; i < n; i++) {
        copy[i] = sr__arena_strdup(arena, names[i]);
        if (copy[i] == NULL) {
            return false;
        }
    }
    *out_names = copy;
    return true;
}

sr_status sr__graph_intern_answers(sr_graph *graph, const sr_answers *answers, int32_t *out_index, sr_error *err) {
    struct sr_graph_impl *impl = graph->impl;
    *out_index = -1;
    if (answers == NULL || (answers->n_supported_by < 0 && answers->n_offloaded_by < 0)) {
        return SR_OK;
    }
    sr_answers key = *answers;
    key.n_supported_by = key.n_supported_by < 0 ? -1 : key.n_supported_by;
    key.n_offloaded_by = key.n_offloaded_by < 0 ? -1 : key.n_offloaded_by;
    uint64_t wide = hash_list(hash_list(0, key.supported_by, key.n_supported_by), key.offloaded_by, key.n_offloaded_by);
    uint32_t hash = (uint32_t)(wide ^ (wide >> 32));
    size_t mask = impl->answer_slots_cap - 1;
    for (size_t at = hash & mask; impl->answer_slots_cap != 0 && impl->answer_slots[at].index >= 0;
         at = (at + 1) & mask) {
        if (impl->answer_slots[at].hash == hash && same_answers(&impl->answers[impl->answer_slots[at].index], &key)) {
            *out_index = impl->answer_slots[at].index;
            return SR_OK;
        }
    }
    size_t n = (size_t)graph->n_answers;
    if (!sr__grow(&impl->answers, &impl->answers_cap, n + 1, sizeof *impl->answers) ||
        !reserve_slots(&impl->answer_slots, &impl->answer_slots_cap, n) ||
        !copy_list(&impl->strings, answers->supported_by, key.n_supported_by, &key.supported_by) ||
        !copy_list(&impl->strings, answers->offloaded_by, key.n_offloaded_by, &key.offloaded_by)) {
        graph->answers = impl->answers;
        return sr__fail_memory(err);
    }
    impl->answers[n] = key;
    graph->answers = impl->answers;
    *out_index = graph->n_answers++;
    insert_slot(impl->answer_slots, impl->answer_slots_cap, hash, *out_index);
    return SR_OK;
}

/* ---- names of opaque ops ---- */

sr_status sr__graph_intern_op_name(sr_graph *graph, const char *name, const char **out_name, sr_error *err) {
    struct sr_graph_impl *impl = graph->impl;
    int32_t at = sr__map_get(&impl->op_names, name, -1);
    if (at >= 0) {
        *out_name = impl->tensors[at].op_name;
        return SR_OK;
    }
    const char *copy = sr__arena_strdup(&impl->strings, name);
    /* The tensor about to be added is the first to bear the name; sr_graph_add adds it right after this succeeds. */
    if (copy == NULL || !sr__map_put(&impl->op_names, copy, graph->n_tensors)) {
        return sr__fail_memory(err);
    }
    *out_name = copy;
    return SR_OK;
}
