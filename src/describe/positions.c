/*
 * positions.c - the strict syntax check of a JSON text, and line and column of a place in it.
 *
 * Layer: describe.  The parser behind it is lenient and knows no positions, so the text is checked first, in one pass
 * over a table of byte classes, and places are looked up again in the text once an error is to be reported.
 */
#include "describe/positions.h"

#include <string.h>

/* What a byte may be: inside a string without further thought, white space, part of a number's digits. */
enum { C_PLAIN = 1, C_SPACE = 2, C_DIGIT = 4 };

static const uint8_t CLASS[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0, 2, 0, 0, /* tab, new line, return */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    3, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, /* the quote is not plain */
    5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, /* nor is the backslash */
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
};

static bool is_space(char c) { return (CLASS[(uint8_t)c] & C_SPACE) != 0; }
static bool is_digit(char c) { return (CLASS[(uint8_t)c] & C_DIGIT) != 0; }

static const char *skip_space(const char *p) {
    while (is_space(*p)) {
        p++;
    }
    return p;
}

static int hex4(const char *p) {
    int value = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int lower = c | 0x20;
        int digit = is_digit(c) ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

/* p is at a backslash; the end of the escape, or NULL with *what. */
static const char *check_escape(const char *p, const char **what) {
    if (p[1] != 'u') {
        *what = "an escape is one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uHHHH";
        return p[1] != '\0' && strchr("\"\\/bfnrt", p[1]) ? p + 2 : NULL;
    }
    int unit = hex4(p + 2);
    *what = "\\u is followed by four hexadecimal digits";
    if (unit < 0) {
        return NULL;
    }
    *what = "\\u0000 may not stand in a string";
    if (unit == 0) {
        return NULL;
    }
    *what = "half of a surrogate pair";
    if (unit >= 0xDC00 && unit <= 0xDFFF) {
        return NULL;
    }
    if (unit < 0xD800 || unit > 0xDBFF) {
        return p + 6;
    }
    int low = p[6] == '\\' && p[7] == 'u' ? hex4(p + 8) : -1;
    return low >= 0xDC00 && low <= 0xDFFF ? p + 12 : NULL;
}

/* p is at a byte of 128 or more; the end of that UTF-8 sequence, or NULL. */
static const char *check_utf8(const char *p) {
    uint8_t a = (uint8_t)p[0];
    int more = a >= 0xC2 && a <= 0xDF ? 1 : a >= 0xE0 && a <= 0xEF ? 2 : a >= 0xF0 && a <= 0xF4 ? 3 : 0;
    if (more == 0) {
        return NULL;
    }
    uint8_t b = (uint8_t)p[1];
    if ((a == 0xE0 && b < 0xA0) || (a == 0xED && b > 0x9F) || (a == 0xF0 && b < 0x90) || (a == 0xF4 && b > 0x8F)) {
        return NULL;
    }
    for (int i = 1; i <= more; i++) {
        if (((uint8_t)p[i] & 0xC0) != 0x80) {
            return NULL;
        }
    }
    return p + more + 1;
}

/* p is behind the opening quote; behind the closing one, or NULL with the fault. */
static const char *check_string(const char *p, const char *end, const char **at, const char **what) {
    for (;;) {
        while (CLASS[(uint8_t)*p] & C_PLAIN) {
            p++;
        }
        const char *next = NULL;
        if (*p == '"') {
            return p + 1;
        } else if (*p == '\\') {
            next = check_escape(p, what);
        } else if ((uint8_t)*p >= 0x80) {
            *what = "bytes that are not UTF-8";
            next = check_utf8(p);
        } else {
            *what = p == end ? "the text ends inside a string" : "a control character inside a string";
        }
        if (!next) {
            *at = p;
            return NULL;
        }
        p = next;
    }
}

/* p is at the first character of a number; its end, or NULL with the fault. */
static const char *check_number(const char *p, const char **at, const char **what) {
    const char *start = p;
    *at = start;
    *what = "not a number";
    if (*p == '-') {
        p++;
    }
    if (!is_digit(*p)) {
        return NULL;
    }
    if (*p == '0' && is_digit(p[1])) {
        *what = "a number may not begin with a zero";
        return NULL;
    }
    while (is_digit(*p)) {
        p++;
    }
    if (*p == '.') {
        *what = "a digit must follow the decimal point";
        if (!is_digit(*++p)) {
            return NULL;
        }
        while (is_digit(*p)) {
            p++;
        }
    }
    if (*p == 'e' || *p == 'E') {
        p += p[1] == '+' || p[1] == '-' ? 2 : 1;
        *what = "an exponent needs a digit";
        if (!is_digit(*p)) {
            return NULL;
        }
        while (is_digit(*p)) {
            p++;
        }
    }
    *what = "a number longer than 63 characters";
    return p - start > SR__JSON_MAX_NUMBER ? NULL : p;
}

/* A scalar at p; its end, or NULL with the fault. */
static const char *check_scalar(const char *p, const char *end, const char **at, const char **what) {
    *at = p;
    switch (*p) {
        case '"': return check_string(p + 1, end, at, what);
        case 't': if (strncmp(p, "true", 4) == 0) { return p + 4; } break;
        case 'f': if (strncmp(p, "false", 5) == 0) { return p + 5; } break;
        case 'n': if (strncmp(p, "null", 4) == 0) { return p + 4; } break;
        default:
            if (*p == '-' || is_digit(*p)) {
                return check_number(p, at, what);
            }
            break;
    }
    *what = p == end ? "the text ends where a value should stand" : "a value should stand here";
    return NULL;
}

/* A member's key and colon at p; where its value begins, or NULL with the fault. */
static const char *check_key(const char *p, const char *end, const char **at, const char **what) {
    *at = p;
    *what = p == end ? "the text ends inside an object" : "a key in quotes should stand here";
    if (*p != '"' || !(p = check_string(p + 1, end, at, what))) {
        return NULL;
    }
    p = skip_space(p);
    *at = p;
    *what = "a colon should follow the key";
    return *p == ':' ? skip_space(p + 1) : NULL;
}

/* Behind a value, inside at least one bracket: closes brackets and steps over the comma, to where the next value
 * begins or behind the whole; NULL with the fault. */
static const char *check_after(const char *p, const char *end, uint8_t *is_object, int *depth, const char **at,
                               const char **what) {
    while (*depth > 0) {
        bool object = (is_object[(*depth - 1) / 8] >> ((*depth - 1) % 8)) & 1;
        p = skip_space(p);
        if (*p == ',') {
            p = skip_space(p + 1);
            return object ? check_key(p, end, at, what) : p;
        }
        if (*p != (object ? '}' : ']')) {
            *at = p;
            *what = p == end ? (object ? "the text ends inside an object" : "the text ends inside an array")
                             : (object ? "a comma or '}' should stand here" : "a comma or ']' should stand here");
            return NULL;
        }
        p++;
        (*depth)--;
    }
    return p;
}

static bool check_value(const char *p, const char *end, const char **at, const char **what) {
    uint8_t is_object[SR__JSON_MAX_DEPTH / 8 + 1] = {0};
    int depth = 0;
    for (;;) {
        if (*p == '{' || *p == '[') {
            if (depth == SR__JSON_MAX_DEPTH) {
                *at = p;
                *what = "nested more than 1000 deep";
                return false;
            }
            bool object = *p == '{';
            uint8_t bit = (uint8_t)(1u << (depth % 8));
            is_object[depth / 8] = (uint8_t)(object ? is_object[depth / 8] | bit : is_object[depth / 8] & ~bit);
            depth++;
            p = skip_space(p + 1);
            if (*p != (object ? '}' : ']')) {
                p = object ? check_key(p, end, at, what) : p;
                if (!p) {
                    return false;
                }
                continue;
            }
        } else {
            p = check_scalar(p, end, at, what);
        }
        p = p ? check_after(p, end, is_object, &depth, at, what) : NULL;
        if (!p || depth == 0) {
            break;
        }
    }
    if (!p) {
        return false;
    }
    p = skip_space(p);
    *at = p;
    *what = "text after the end of the value";
    return p == end;
}

bool sr__json_check(const char *text, size_t length, size_t *out_offset, const char **out_what) {
    const char *p = text;
    if (length >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) {
        p += 3;
    }
    const char *at = p;
    bool fine = check_value(skip_space(p), text + length, &at, out_what);
    *out_offset = fine ? 0 : (size_t)(at - text);
    return fine;
}

/* ---- places in a text that passed the check ---------------------------------------------------------------------- */

static const char *string_end(const char *p) {
    for (p++; *p != '"'; p++) {
        p += *p == '\\';
    }
    return p + 1;
}

/* Behind the value at p. */
static const char *value_end(const char *p) {
    int depth = 0;
    do {
        if (*p == '"') {
            p = string_end(p);
            continue;
        }
        if (*p == '{' || *p == '[') {
            depth++;
        } else if (*p == '}' || *p == ']') {
            depth--;
        } else if (depth == 0) {
            while (*p != '\0' && !is_space(*p) && !strchr(",]}", *p)) {
                p++;
            }
            return p;
        }
        p++;
    } while (depth > 0);
    return p;
}

static size_t put_utf8(uint32_t c, char *out) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n; i-- > 1; c >>= 6) {
        out[i] = (char)(0x80 | (c & 0x3F));
    }
    out[0] = (char)(lead[n] | c);
    return n;
}

/* Whether the quoted text at p reads as key once its escapes are resolved. */
static bool key_is(const char *p, const char *key) {
    for (p++; *p != '"';) {
        char decoded[4];
        size_t n = 1;
        decoded[0] = *p;
        if (*p == '\\' && p[1] == 'u') {
            uint32_t c = (uint32_t)hex4(p + 2);
            p += 6;
            if (c >= 0xD800 && c <= 0xDBFF) {
                c = 0x10000 + ((c - 0xD800) << 10) + ((uint32_t)hex4(p + 2) - 0xDC00);
                p += 6;
            }
            n = put_utf8(c, decoded);
        } else if (*p == '\\') {
            static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
            const char *escape = strchr(from, p[1]);
            decoded[0] = escape ? to[escape - from] : p[1];
            p += 2;
        } else {
            p++;
        }
        if (strncmp(key, decoded, n) != 0) {
            return false;
        }
        key += n;
    }
    return *key == '\0';
}

/* The member or element of the value at p that `at` names: its start (of its key, if of_key), or NULL. */
static const char *step(const char *p, const sr__at *at, bool of_key) {
    char close = *p == '{' ? '}' : ']';
    if ((at->key != NULL) != (*p == '{') || (*p != '{' && *p != '[')) {
        return NULL;
    }
    int64_t index = 0;
    bool second = at->second;
    for (p = skip_space(p + 1); *p != close && *p != '\0'; index++) {
        const char *key = p;
        if (at->key) {
            p = skip_space(skip_space(string_end(p)) + 1);
        }
        if (at->key ? key_is(key, at->key) : index == at->index) {
            if (!second) {
                return of_key ? key : p;
            }
            second = false;
        }
        p = skip_space(value_end(p));
        p = *p == ',' ? skip_space(p + 1) : p;
    }
    return NULL;
}

/* Walks down from the root; the list of places is linked upwards, so the way is first turned round (depth is bounded by
 * the nesting limit of the text). */
size_t sr__json_find(const char *text, size_t length, const sr__at *at, bool of_key) {
    const sr__at *way[SR__JSON_MAX_DEPTH + 2];
    int n = 0;
    for (; at->up && n <= SR__JSON_MAX_DEPTH; at = at->up) {
        way[n++] = at;
    }
    const char *p = skip_space(text + (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0));
    while (n > 0) {
        n--;
        const char *next = step(p, way[n], of_key && n == 0 && way[n]->key);
        if (!next) {
            break;
        }
        p = next;
    }
    return (size_t)(p - text);
}

void sr__json_line(const char *text, size_t offset, int *out_line, int *out_column) {
    int line = 1;
    size_t start = 0;
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    *out_line = line;
    *out_column = (int)(offset - start) + 1;
}

size_t sr__json_span(const char *text, size_t offset) {
    return (size_t)(value_end(text + offset) - (text + offset));
}
