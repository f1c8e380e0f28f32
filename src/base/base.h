/*
 * base.h - what every room uses: memory, errors, arenas, strings, checked sizes, tables of names, JSON out.
 *
 * Layer: base.  Knows nothing of tensors.  Internal: not installed.
 */
#ifndef SR_BASE_H
#define SR_BASE_H

#include <stdarg.h>
#include <string.h>

#include "sched_run/status.h"

/* ---- memory: every allocation of the library goes through these, so that a test build can make the n-th fail ---- */

void *sr__malloc(size_t size);
void *sr__calloc(size_t n, size_t size);
void *sr__realloc(void *p, size_t size);
void sr__free(void *p);
char *sr__strdup(const char *s);
char *sr__strndup(const char *s, size_t n);
/* Grows *p (elements of `size` bytes, capacity *cap) to hold at least `need`; doubles.  false: out of memory. */
bool sr__grow(void *p, size_t *cap, size_t need, size_t size);
/* Zeroed pages for buffers: address space is taken, memory only when touched.  NULL when there is none. */
void *sr__pages_alloc(size_t size);
void sr__pages_free(void *p, size_t size);
/* Fails the n-th allocation from now on (and all later ones if `all_after`); 0 turns it off. */
void sr__fail_allocations(long n, bool all_after);
long sr__allocation_count(void);

/* ---- errors ------------------------------------------------------------------------------------------------------ */

#define SR_TRY(expr)             \
    do {                         \
        status = (expr);         \
        if (status != SR_OK) {   \
            goto done;           \
        }                        \
    } while (0)

/* Sets *err (may be NULL) and returns status.  An error that was there is replaced. */
sr_status sr__fail(sr_error *err, sr_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
sr_status sr__fail_memory(sr_error *err); /* SR_MEMORY */
/* Puts text before the message that is there: context added on the way up. */
void sr__error_prefix(sr_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sr__error_text(sr_error *err, const char *key, const char *text);
void sr__error_number(sr_error *err, const char *key, int64_t number);

/* ---- checked sizes ----------------------------------------------------------------------------------------------- */

static inline bool sr__add_size(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool sr__mul_size(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
/* x rounded up to a power of two; false on overflow. */
static inline bool sr__align_up(size_t x, size_t alignment, size_t *out) {
    size_t sum;
    if (!sr__add_size(x, alignment - 1, &sum)) {
        return false;
    }
    *out = sum & ~(alignment - 1);
    return true;
}
#define SR_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* ---- arena: many small objects freed together -------------------------------------------------------------------- */

typedef struct sr__arena_block sr__arena_block;
typedef struct sr__arena { sr__arena_block *first, *current; size_t block_size; } sr__arena;

void sr__arena_init(sr__arena *arena, size_t block_size); /* 0: 64 KiB */
void *sr__arena_alloc(sr__arena *arena, size_t size);      /* 16-byte aligned, not zeroed; NULL */
void *sr__arena_zalloc(sr__arena *arena, size_t size);
char *sr__arena_strdup(sr__arena *arena, const char *s);
char *sr__arena_strndup(sr__arena *arena, const char *s, size_t n);
void sr__arena_reset(sr__arena *arena); /* keeps its blocks for the next round */
void sr__arena_free(sr__arena *arena);

/* ---- string buffer ----------------------------------------------------------------------------------------------- */

/* Grows as needed; after an allocation failure it stays `failed`, until it is freed, and ignores appends. */
typedef struct sr__str { char *data; size_t length, cap; bool failed; } sr__str;

void sr__str_append(sr__str *s, const char *text, size_t n);
void sr__str_puts(sr__str *s, const char *text);
void sr__str_printf(sr__str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sr__str_vprintf(sr__str *s, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));
void sr__str_clear(sr__str *s); /* keeps memory */
void sr__str_free(sr__str *s);
const char *sr__str_text(const sr__str *s); /* "" when empty */

/* ---- tables of names --------------------------------------------------------------------------------------------- */

/* Open-addressing map from strings (borrowed) to int32. */
typedef struct sr__map { const char **keys; int32_t *values; uint32_t *hashes; size_t cap, n; } sr__map;

bool sr__map_put(sr__map *map, const char *key, int32_t value); /* replaces; false: out of memory */
int32_t sr__map_get(const sr__map *map, const char *key, int32_t missing);
int32_t sr__map_get_n(const sr__map *map, const char *key, size_t n, int32_t missing);
void sr__map_free(sr__map *map);

uint64_t sr__hash_bytes(uint64_t seed, const void *data, size_t n); /* fast, not for files */
uint64_t sr__fnv1a64(const char *text);                             /* the format's own, for random data */

/* The name of `names` (n, NULLs skipped) nearest to `text`, or NULL if none is near: for "did you mean". */
const char *sr__nearest(const char *text, const char *const *names, int n);

/* Sizes for people: "0 B", "512 B", "2.0 KiB", "212 MiB", "3.1 GiB". */
void sr__format_bytes(uint64_t bytes, char out[16]);

/* ---- JSON out ---------------------------------------------------------------------------------------------------- */

/* Bytes of the UTF-8 sequence at p, 0 if there is none: no overlong forms, no surrogates, nothing above U+10FFFF.  What p
 * points to ends with a 0 byte. */
size_t sr__utf8_sequence(const unsigned char *p);

/* A streaming writer: commas and quotes are its business.  pretty: two-space indents. */
typedef struct sr__json {
    sr__str *out;
    bool pretty, need_comma, after_key, inline_next;
    int depth;
    uint8_t *inline_at; /* a flag for each open level */
    size_t inline_cap;
} sr__json;

void sr__json_init(sr__json *json, sr__str *out, bool pretty);
void sr__json_free(sr__json *json);
void sr__json_object(sr__json *json);
void sr__json_array(sr__json *json);
void sr__json_inline(sr__json *json); /* the next object or array stands on one line, whatever is in it */
void sr__json_end_object(sr__json *json);
void sr__json_end_array(sr__json *json);
void sr__json_key(sr__json *json, const char *key);
void sr__json_string(sr__json *json, const char *text); /* bytes that are no UTF-8 become U+FFFD */
void sr__json_int(sr__json *json, int64_t value);
void sr__json_double(sr__json *json, double value);      /* shortest that reads back; no NaN or infinity: null */
void sr__json_bool(sr__json *json, bool value);
void sr__json_null(sr__json *json);
/* A key and its value. */
void sr__json_put_string(sr__json *json, const char *key, const char *value);
void sr__json_put_int(sr__json *json, const char *key, int64_t value);
void sr__json_put_double(sr__json *json, const char *key, double value);
void sr__json_put_bool(sr__json *json, const char *key, bool value);
/* Opens an object on one line, as the value of a key or, where that is NULL, as an element. */
void sr__json_put_inline(sr__json *json, const char *key);

/* ---- expressions over named integers: + - * / % ( ) min max comparisons c ? a : b -------------------------------- */

/* Value of a name; false: unknown. */
typedef bool (*sr__expr_lookup)(void *user, const char *name, size_t length, int64_t *out_value);
/*
 * SR_INVALID: what is wrong and where ("position 5: ..."); division is exact, overflow is an error.  Details of the
 * error: "position" (a number, from 1), and "name" where a name is unknown, for a suggestion.
 */
sr_status sr__expr_eval(const char *text, size_t length, sr__expr_lookup lookup, void *user, int64_t *out_value,
                        sr_error *err);

#endif
