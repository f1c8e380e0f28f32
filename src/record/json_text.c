/*
 * json_text.c - a growing text and the little JSON that the recorder writes.
 *
 * Layer: record.  Answers to nothing of the reference.
 */
#include "record/json_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_clear(json_text *t) {
    free(t->data);
    *t = (json_text){0};
}

void text_empty(json_text *t) {
    t->length = 0;
    t->failed = false;
}

static bool reserve(json_text *t, size_t n) {
    if (t->failed) {
        return false;
    }
    if (t->capacity - t->length >= n) {
        return true;
    }
    const size_t wanted = t->length + n, capacity = wanted < 256 ? 512 : wanted * 2;
    char *data = realloc(t->data, capacity);
    if (!data) {
        t->failed = true;
        return false;
    }
    t->data = data;
    t->capacity = capacity;
    return true;
}

void text_put(json_text *t, const void *bytes, size_t n) {
    if (n > 0 && reserve(t, n)) {
        memcpy(t->data + t->length, bytes, n);
        t->length += n;
    }
}

void text_puts(json_text *t, const char *s) {
    text_put(t, s, strlen(s));
}

void text_printf(json_text *t, const char *format, ...) {
    char small[256];
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(small, sizeof(small), format, arguments);
    va_end(arguments);
    if (n < 0) {
        t->failed = true;
    } else if ((size_t)n < sizeof(small)) {
        text_put(t, small, (size_t)n);
    } else if (reserve(t, (size_t)n + 1)) {
        va_start(arguments, format);
        vsnprintf(t->data + t->length, (size_t)n + 1, format, arguments);
        va_end(arguments);
        t->length += (size_t)n;
    }
}

/* Numbers are most of a recording, so that they do not go through printf. */
static void put_number(json_text *t, bool negative, uint64_t magnitude) {
    char digits[24];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude);
    if (negative) {
        digits[--at] = '-';
    }
    text_put(t, digits + at, sizeof(digits) - at);
}

void text_int(json_text *t, int64_t value) {
    put_number(t, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void text_size(json_text *t, size_t value) {
    put_number(t, false, value);
}

size_t text_sequence(const char *at) {
    const unsigned char *s = (const unsigned char *)at;
    const size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xC2 && s[0] < 0xE0 ? 2 : (s[0] & 0xF0) == 0xE0 ? 3
                   : s[0] >= 0xF0 && s[0] < 0xF5 ? 4 : 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    const bool overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
    const bool beyond = (s[0] == 0xED && s[1] >= 0xA0) || (s[0] == 0xF4 && s[1] >= 0x90);
    return overlong || beyond ? 0 : n;
}

void text_json(json_text *t, const char *s) {
    text_puts(t, "\"");
    for (const char *at = s; *at;) {
        const size_t n = text_sequence(at);
        if (n == 0) {
            text_puts(t, "\xEF\xBF\xBD");
            at++;
        } else if (*at == '"' || *at == '\\') {
            const char escaped[2] = {'\\', *at++};
            text_put(t, escaped, 2);
        } else if ((unsigned char)*at < 0x20 || *at == 0x7F) {
            text_printf(t, "\\u%04x", (unsigned)*at++);
        } else {
            text_put(t, at, n);
            at += n;
        }
    }
    text_puts(t, "\"");
}

void text_comma(json_text *t) {
    const char last = t->length ? t->data[t->length - 1] : '{';
    if (last != '{' && last != '[') {
        text_put(t, ",", 1);
    }
}

void text_key(json_text *t, const char *key) {
    text_comma(t);
    text_put(t, "\"", 1);
    text_puts(t, key);
    text_put(t, "\":", 2);
}

void text_member(json_text *t, const char *key, const char *value) {
    text_key(t, key);
    text_json(t, value);
}

void text_base64(json_text *t, const void *bytes, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = bytes;
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const unsigned second = left > 1 ? in[i + 1] : 0, third = left > 2 ? in[i + 2] : 0;
        const unsigned v = (unsigned)in[i] << 16 | second << 8 | third;
        const char four[4] = {digits[v >> 18 & 63], digits[v >> 12 & 63], left > 1 ? digits[v >> 6 & 63] : '=',
                              left > 2 ? digits[v & 63] : '='};
        text_put(t, four, 4);
    }
}
