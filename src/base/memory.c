/*
 * memory.c - the only door to the allocator, with a counter that can make the n-th call fail; pages for buffers.
 *
 * Layer: base.  Answers to: malloc/new and ggml_aligned_malloc of the reference, which aborts where these return NULL.
 *
 * Memory from here is plain malloc memory, so that a text handed to the caller can be freed with free().
 */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/base.h"

/* Calls so far, the call (1-based) that fails, 0 for none, and whether all later ones fail too. */
static atomic_long n_calls;
static atomic_long fail_at;
static atomic_bool fail_after;

/* Counts one allocation; true if this one has to fail.  Relaxed order: tests arm it before threads start. */
static bool call_fails(void) {
    long call = atomic_fetch_add_explicit(&n_calls, 1, memory_order_relaxed) + 1;
    long at = atomic_load_explicit(&fail_at, memory_order_relaxed);
    if (at == 0) {
        return false;
    }
    return call == at || (call > at && atomic_load_explicit(&fail_after, memory_order_relaxed));
}

void sr__fail_allocations(long n, bool all_after) {
    long now = atomic_load(&n_calls);
    atomic_store(&fail_after, all_after);
    atomic_store(&fail_at, n > 0 && n <= LONG_MAX - now ? now + n : 0);
}

long sr__allocation_count(void) { return atomic_load(&n_calls); }

void *sr__malloc(size_t size) {
    if (call_fails()) {
        return NULL;
    }
    return malloc(size > 0 ? size : 1); /* so that NULL always means failure */
}

void *sr__calloc(size_t n, size_t size) {
    if (call_fails()) {
        return NULL;
    }
    size_t bytes;
    if (!sr__mul_size(n, size, &bytes)) {
        return NULL;
    }
    return calloc(bytes > 0 ? bytes : 1, 1);
}

void *sr__realloc(void *p, size_t size) {
    if (call_fails()) {
        return NULL;
    }
    return realloc(p, size > 0 ? size : 1);
}

void sr__free(void *p) { free(p); }

char *sr__strdup(const char *s) { return sr__strndup(s, strlen(s)); }

char *sr__strndup(const char *s, size_t n) {
    size_t length = strnlen(s, n);
    char *copy = sr__malloc(length + 1);
    if (copy != NULL) {
        memcpy(copy, s, length);
        copy[length] = '\0';
    }
    return copy;
}

/*
 * Asks for the pages of a large block in one call.  What is grown is about to be filled, and a fault a page costs many
 * times the filling, above all on virtual machines.  Advice only: a kernel that does not know it changes nothing.
 */
static void populate(void *p, size_t from, size_t to) {
#ifdef MADV_POPULATE_WRITE
    enum { worth_it = 16 * 1024, page = 4096 };
    if (to - from < worth_it) {
        return;
    }
    const uintptr_t first = ((uintptr_t)p + from + page - 1) & ~(uintptr_t)(page - 1);
    const uintptr_t last = ((uintptr_t)p + to) & ~(uintptr_t)(page - 1);
    const int saved = errno;
    madvise((void *)first, (size_t)(last - first), MADV_POPULATE_WRITE);
    errno = saved;
#else
    (void)p;
    (void)from;
    (void)to;
#endif
}

bool sr__grow(void *p, size_t *cap, size_t need, size_t size) {
    if (need <= *cap) {
        return true;
    }
    /* The first size is what is asked for: often that is all there will be. */
    size_t wanted = need > 8 ? need : 8, bytes;
    if (*cap <= SIZE_MAX / 2 && wanted < *cap * 2) {
        wanted = *cap * 2;
    }
    if (!sr__mul_size(wanted, size, &bytes)) {
        return false;
    }
    /* p points to a pointer of any type; copying its bytes keeps clear of the aliasing rules. */
    void *old;
    memcpy(&old, p, sizeof(old));
    void *grown = sr__realloc(old, bytes);
    if (grown == NULL) {
        return false;
    }
    populate(grown, *cap * size, bytes);
    memcpy(p, &grown, sizeof(grown));
    *cap = wanted;
    return true;
}

void *sr__pages_alloc(size_t size) {
    if (call_fails()) {
        return NULL;
    }
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *p = mmap(NULL, size > 0 ? size : 1, PROT_READ | PROT_WRITE, flags, -1, 0);
    return p != MAP_FAILED ? p : NULL;
}

void sr__pages_free(void *p, size_t size) {
    if (p != NULL) {
        munmap(p, size > 0 ? size : 1);
    }
}
