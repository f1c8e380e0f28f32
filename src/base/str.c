/*
 * str.c - a string that grows.
 *
 * Layer: base.  Answers to: the fixed char arrays and snprintf of the reference, which cut long names.
 *
 * A failed allocation makes the string `failed`, for good: whoever builds a text checks once, at its end.
 */
#include <stdio.h>

#include "base/base.h"

/* Room for n more bytes and the closing zero. */
static bool reserve(sr__str *s, size_t n) {
    size_t need;
    if (s->failed || !sr__add_size(s->length, n, &need) || !sr__add_size(need, 1, &need) ||
        !sr__grow(&s->data, &s->cap, need, 1)) {
        s->failed = true;
    }
    return !s->failed;
}

void sr__str_append(sr__str *s, const char *text, size_t n) {
    if (n == 0 || !reserve(s, n)) {
        return;
    }
    memcpy(s->data + s->length, text, n);
    s->length += n;
    s->data[s->length] = '\0';
}

void sr__str_puts(sr__str *s, const char *text) { sr__str_append(s, text, strlen(text)); }

void sr__str_printf(sr__str *s, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    sr__str_vprintf(s, fmt, args);
    va_end(args);
}

void sr__str_vprintf(sr__str *s, const char *fmt, va_list args) {
    if (s->failed) {
        return;
    }
    va_list again;
    va_copy(again, args);
    size_t room = s->cap - s->length;
    int n = vsnprintf(room > 0 ? s->data + s->length : NULL, room, fmt, args);
    if (n < 0) {
        s->failed = true;
    } else if ((size_t)n < room) {
        s->length += (size_t)n;
    } else if (n > 0 && reserve(s, (size_t)n)) {
        vsnprintf(s->data + s->length, s->cap - s->length, fmt, again);
        s->length += (size_t)n;
    }
    /* What did not fit was cut in the middle; a failed string still ends where it ended before. */
    if (s->data != NULL) {
        s->data[s->length] = '\0';
    }
    va_end(again);
}

void sr__str_clear(sr__str *s) {
    s->length = 0;
    if (s->data != NULL) {
        s->data[0] = '\0';
    }
}

void sr__str_free(sr__str *s) {
    sr__free(s->data);
    *s = (sr__str){0};
}

const char *sr__str_text(const sr__str *s) { return s->data != NULL ? s->data : ""; }
