/*
 * accesses.c - who last read and wrote each byte of a memory.
 *
 * Layer: analyze.  A segment tree over the bounds of all ranges, one for reads and one for writes of each user.  Times
 * only rise, so a range is recorded by writing its time on the pieces that make it up, and nothing below has to know.
 */
#include <stdlib.h>

#include "analyze/accesses.h"

typedef struct bound { int32_t memory; size_t offset; } bound;

/* all: every byte below was accessed at this time or later; any: some byte below was, at this time at the latest. */
typedef struct piece { int32_t all, any; } piece;

struct sr__accesses {
    bound *bounds;
    size_t n, cap;
    size_t n_leaves;   /* a power of two; leaf i is the bytes from bound i to the next */
    int n_users;
    piece *trees;      /* [2 * user + write], 2 * n_leaves pieces each */
};

sr__accesses *sr__accesses_new(int n_users) {
    sr__accesses *a = sr__calloc(1, sizeof(*a));
    if (a) {
        a->n_users = n_users;
    }
    return a;
}

void sr__accesses_free(sr__accesses *a) {
    if (a) {
        sr__free(a->bounds);
        sr__free(a->trees);
        sr__free(a);
    }
}

bool sr__accesses_declare(sr__accesses *a, int32_t memory, size_t begin, size_t end) {
    if (!sr__grow(&a->bounds, &a->cap, a->n + 2, sizeof(*a->bounds))) {
        return false;
    }
    a->bounds[a->n++] = (bound){memory, begin};
    a->bounds[a->n++] = (bound){memory, end};
    return true;
}

static int compare_bounds(const void *x, const void *y) {
    const bound *a = x, *b = y;
    if (a->memory != b->memory) {
        return a->memory < b->memory ? -1 : 1;
    }
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

bool sr__accesses_sort(sr__accesses *a) {
    size_t n = 0, size;
    if (a->n > 0) {
        qsort(a->bounds, a->n, sizeof(*a->bounds), compare_bounds);
    }
    for (size_t i = 0; i < a->n; i++) {
        if (n == 0 || compare_bounds(&a->bounds[n - 1], &a->bounds[i]) != 0) {
            a->bounds[n++] = a->bounds[i];
        }
    }
    a->n = n;
    a->n_leaves = 1;
    while (a->n_leaves < n) {
        a->n_leaves *= 2;
    }
    if (!sr__mul_size(4 * a->n_leaves, (size_t)a->n_users, &size)) {
        return false;
    }
    a->trees = sr__calloc(size, sizeof(*a->trees));
    return a->trees != NULL;
}

static size_t find_bound(const sr__accesses *a, int32_t memory, size_t offset) {
    const bound key = {memory, offset};
    size_t low = 0, high = a->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare_bounds(&a->bounds[middle], &key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static piece *tree_of(const sr__accesses *a, int user, bool write) {
    return &a->trees[(size_t)(2 * user + write) * 2 * a->n_leaves];
}

static void lift(int32_t *value, int32_t to) { *value = to > *value ? to : *value; }

void sr__accesses_record(sr__accesses *a, int user, bool write, int32_t memory, size_t begin, size_t end,
                         int32_t time) {
    piece *tree = tree_of(a, user, write);
    size_t left = find_bound(a, memory, begin) + a->n_leaves, right = find_bound(a, memory, end) + a->n_leaves;
    const size_t first = left, last = right - 1;
    if (begin >= end) {
        return;
    }
    for (; left < right; left /= 2, right /= 2) {
        if (left & 1) {
            lift(&tree[left].all, time);
            lift(&tree[left++].any, time);
        }
        if (right & 1) {
            lift(&tree[--right].all, time);
            lift(&tree[right].any, time);
        }
    }
    for (size_t i = first / 2; i > 0; i /= 2) {
        lift(&tree[i].any, time);
    }
    for (size_t i = last / 2; i > 0; i /= 2) {
        lift(&tree[i].any, time);
    }
}

int32_t sr__accesses_latest(const sr__accesses *a, int user, bool write, int32_t memory, size_t begin, size_t end) {
    const piece *tree = tree_of(a, user, write);
    size_t left = find_bound(a, memory, begin) + a->n_leaves, right = find_bound(a, memory, end) + a->n_leaves;
    const size_t first = left, last = right - 1;
    int32_t latest = 0;
    if (begin >= end) {
        return 0;
    }
    for (; left < right; left /= 2, right /= 2) {
        if (left & 1) {
            lift(&latest, tree[left++].any);
        }
        if (right & 1) {
            lift(&latest, tree[--right].any);
        }
    }
    for (size_t i = first / 2; i > 0; i /= 2) {
        lift(&latest, tree[i].all);
    }
    for (size_t i = last / 2; i > 0; i /= 2) {
        lift(&latest, tree[i].all);
    }
    return latest;
}
