/*
 * arena.c - many small objects that are freed together.
 *
 * Layer: base.  Answers to: the ggml_context pools of the reference, which have one fixed size each.
 *
 * A chain of blocks.  Up to `current` they hold objects; behind it lie empty ones that a reset left for reuse.  A
 * request that fits neither `current` nor any empty block gets a block of its own size, so nothing is too large.
 */
#include <stdalign.h>

#include "base/base.h"

enum { ARENA_ALIGNMENT = 16, ARENA_DEFAULT_BLOCK = 64 * 1024 };

struct sr__arena_block {
    sr__arena_block *next;
    size_t size; /* of data */
    size_t used;
    alignas(ARENA_ALIGNMENT) unsigned char data[];
};

void sr__arena_init(sr__arena *arena, size_t block_size) {
    *arena = (sr__arena){.block_size = block_size};
}

static sr__arena_block *new_block(const sr__arena *arena, size_t size) {
    size_t wanted = arena->block_size > 0 ? arena->block_size : ARENA_DEFAULT_BLOCK;
    size_t bytes;
    if (wanted < size) {
        wanted = size;
    }
    if (!sr__add_size(sizeof(sr__arena_block), wanted, &bytes)) {
        return NULL;
    }
    sr__arena_block *block = sr__malloc(bytes);
    if (block != NULL) {
        *block = (sr__arena_block){.size = wanted};
    }
    return block;
}

/* Unlinks the first block behind `from` that holds `size` bytes; NULL if none does. */
static sr__arena_block *take_empty(sr__arena_block *from, size_t size) {
    for (sr__arena_block *before = from; before != NULL && before->next != NULL; before = before->next) {
        sr__arena_block *block = before->next;
        if (block->size >= size) {
            before->next = block->next;
            return block;
        }
    }
    return NULL;
}

void *sr__arena_alloc(sr__arena *arena, size_t size) {
    size_t rounded;
    if (!sr__align_up(size > 0 ? size : 1, ARENA_ALIGNMENT, &rounded)) {
        return NULL;
    }
    sr__arena_block *block = arena->current;
    if (block == NULL || block->size - block->used < rounded) {
        block = take_empty(arena->current, rounded);
        if (block == NULL) {
            block = new_block(arena, rounded);
            if (block == NULL) {
                return NULL;
            }
        }
        if (arena->current == NULL) {
            arena->first = block;
        } else {
            block->next = arena->current->next;
            arena->current->next = block;
        }
        arena->current = block;
        block->used = 0;
    }
    void *p = block->data + block->used;
    block->used += rounded;
    return p;
}

void *sr__arena_zalloc(sr__arena *arena, size_t size) {
    void *p = sr__arena_alloc(arena, size);
    if (p != NULL) {
        memset(p, 0, size);
    }
    return p;
}

char *sr__arena_strdup(sr__arena *arena, const char *s) { return sr__arena_strndup(arena, s, strlen(s)); }

char *sr__arena_strndup(sr__arena *arena, const char *s, size_t n) {
    size_t length = strnlen(s, n);
    char *copy = sr__arena_alloc(arena, length + 1);
    if (copy != NULL) {
        memcpy(copy, s, length);
        copy[length] = '\0';
    }
    return copy;
}

void sr__arena_reset(sr__arena *arena) {
    arena->current = arena->first;
    if (arena->first != NULL) {
        arena->first->used = 0;
    }
}

void sr__arena_free(sr__arena *arena) {
    sr__arena_block *block = arena->first;
    while (block != NULL) {
        sr__arena_block *next = block->next;
        sr__free(block);
        block = next;
    }
    arena->first = NULL;
    arena->current = NULL;
}
