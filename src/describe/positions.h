/*
 * positions.h - where things stand in a JSON text: the strict syntax check, and line and column of a place.
 *
 * Layer: describe.  Internal.  The reference has no counterpart.
 */
#ifndef SR_POSITIONS_H
#define SR_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sr__source;

/* Arrays and objects may be nested this deep: the limit of the parser that reads the text after the check. */
enum { SR__JSON_MAX_DEPTH = 1000 };
/* The parser reads numbers up to this many characters. */
enum { SR__JSON_MAX_NUMBER = 63 };

/*
 * A place in a source, linked upwards to the root: cheap to make on the way down, turned into a pointer and a position
 * only when something is wrong there.  The root has up NULL.
 */
typedef struct sr__at {
    const struct sr__at *up;
    const struct sr__source *source;
    const char *key;  /* of an object's member, or NULL */
    int64_t index;    /* of an array's element */
    bool second;      /* the second member of that key: where keys repeat */
} sr__at;

static inline sr__at sr__at_key(const sr__at *up, const char *key) {
    return (sr__at){up, up->source, key, 0, false};
}
static inline sr__at sr__at_index(const sr__at *up, int64_t index) {
    return (sr__at){up, up->source, NULL, index, false};
}

/*
 * Whether text, which must have a 0 byte at text[length], is one value of strict JSON: no leading zeros, control
 * characters, NaN, trailing commas or text, comments, lone surrogates, \u0000 or bytes that are no UTF-8.  If not,
 * the offset of the fault and what is wrong with it (a literal).  Linear, without memory.
 */
bool sr__json_check(const char *text, size_t length, size_t *out_offset, const char **out_what);

/* Offset of the value (or of the member's key) at a place in a text that passed the check; the nearest place above it
 * that exists where it does not. */
size_t sr__json_find(const char *text, size_t length, const sr__at *at, bool of_key);

/* 1-based line and byte column of an offset. */
void sr__json_line(const char *text, size_t offset, int *out_line, int *out_column);

/* Length of the value that starts at text[offset], in a text that passed the check. */
size_t sr__json_span(const char *text, size_t offset);

#endif
