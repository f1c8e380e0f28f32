/*
 * map.c - a table from strings to small integers, and the hashes.
 *
 * Layer: base.  Answers to: nothing in the reference, which finds tensors by pointer; descriptions find them by name.
 *
 * Open addressing with linear probing, a power of two of places, at most three quarters of them taken.  Nothing is ever
 * removed.  The keys are the caller's and have to outlive the table.
 */
#include "base/base.h"

uint64_t sr__hash_bytes(uint64_t seed, const void *data, size_t n) {
    const unsigned char *p = data;
    uint64_t hash = (seed ^ (uint64_t)n) * UINT64_C(0x9E3779B97F4A7C15) + UINT64_C(0xD1B54A32D192ED03);
    while (n > 0) {
        uint64_t word = 0;
        size_t step = n < sizeof(word) ? n : sizeof(word);
        memcpy(&word, p, step);
        hash = (hash ^ word) * UINT64_C(0xBF58476D1CE4E5B9);
        hash ^= hash >> 29;
        p += step;
        n -= step;
    }
    hash *= UINT64_C(0x94D049BB133111EB);
    return hash ^ (hash >> 32);
}

uint64_t sr__fnv1a64(const char *text) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++) {
        hash ^= (unsigned char)*text;
        hash *= UINT64_C(1099511628211);
    }
    return hash;
}

/* The place of the key, or the free one where it belongs.  There always is a free one. */
static size_t find_place(const sr__map *map, const char *key, size_t n, uint32_t hash) {
    size_t place = hash & (map->cap - 1);
    while (map->keys[place] != NULL) {
        const char *other = map->keys[place];
        if (map->hashes[place] == hash && strlen(other) == n && memcmp(other, key, n) == 0) {
            break;
        }
        place = (place + 1) & (map->cap - 1);
    }
    return place;
}

static bool enlarge(sr__map *map) {
    sr__map grown = {.n = map->n};
    if (!sr__mul_size(map->cap > 0 ? map->cap : 8, 2, &grown.cap)) {
        return false;
    }
    grown.keys = sr__calloc(grown.cap, sizeof(*grown.keys));
    grown.values = sr__calloc(grown.cap, sizeof(*grown.values));
    grown.hashes = sr__calloc(grown.cap, sizeof(*grown.hashes));
    if (grown.keys == NULL || grown.values == NULL || grown.hashes == NULL) {
        sr__map_free(&grown);
        return false;
    }
    for (size_t i = 0; i < map->cap; i++) {
        if (map->keys[i] == NULL) {
            continue;
        }
        size_t place = map->hashes[i] & (grown.cap - 1);
        while (grown.keys[place] != NULL) {
            place = (place + 1) & (grown.cap - 1);
        }
        grown.keys[place] = map->keys[i];
        grown.values[place] = map->values[i];
        grown.hashes[place] = map->hashes[i];
    }
    sr__map_free(map);
    *map = grown;
    return true;
}

bool sr__map_put(sr__map *map, const char *key, int32_t value) {
    if (map->n >= map->cap - map->cap / 4 && !enlarge(map)) {
        return false;
    }
    size_t n = strlen(key);
    uint32_t hash = (uint32_t)sr__hash_bytes(0, key, n);
    size_t place = find_place(map, key, n, hash);
    if (map->keys[place] == NULL) {
        map->n++;
    }
    map->keys[place] = key;
    map->values[place] = value;
    map->hashes[place] = hash;
    return true;
}

int32_t sr__map_get(const sr__map *map, const char *key, int32_t missing) {
    return sr__map_get_n(map, key, strlen(key), missing);
}

int32_t sr__map_get_n(const sr__map *map, const char *key, size_t n, int32_t missing) {
    if (map->n == 0) {
        return missing;
    }
    size_t place = find_place(map, key, n, (uint32_t)sr__hash_bytes(0, key, n));
    return map->keys[place] != NULL ? map->values[place] : missing;
}

void sr__map_free(sr__map *map) {
    sr__free(map->keys);
    sr__free(map->values);
    sr__free(map->hashes);
    *map = (sr__map){0};
}
