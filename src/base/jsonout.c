/*
 * jsonout.c - a streaming JSON writer.
 *
 * Layer: base.  Answers to: nothing in the reference.
 *
 * The writer knows where it stands: whether a comma is due, whether a key was just written, and for each open level
 * whether it is written on one line.  Out of memory shows in the `failed` of its string.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"

void sr__json_init(sr__json *json, sr__str *out, bool pretty) {
    *json = (sr__json){.out = out, .pretty = pretty};
}

void sr__json_free(sr__json *json) {
    sr__free(json->inline_at);
    json->inline_at = NULL;
    json->inline_cap = 0;
}

static bool level_is_inline(const sr__json *json) {
    return !json->pretty || ((size_t)json->depth < json->inline_cap && json->inline_at[json->depth] != 0);
}

static void new_line(sr__json *json) {
    sr__str_append(json->out, "\n", 1);
    for (int i = 0; i < json->depth; i++) {
        sr__str_append(json->out, "  ", 2);
    }
}

/* What stands before a key or an element: comma, line break, blank. */
static void before_item(sr__json *json) {
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth == 0) {
        return;
    }
    if (json->need_comma) {
        sr__str_append(json->out, ",", 1);
    }
    if (!level_is_inline(json)) {
        new_line(json);
    } else if (json->need_comma && json->pretty) {
        sr__str_append(json->out, " ", 1);
    }
}

static void open_level(sr__json *json, const char *bracket) {
    bool on_one_line = json->inline_next || (json->pretty && level_is_inline(json));
    before_item(json);
    json->inline_next = false;
    sr__str_append(json->out, bracket, 1);
    json->depth++;
    json->need_comma = false;
    size_t known = json->inline_cap;
    if (!sr__grow(&json->inline_at, &json->inline_cap, (size_t)json->depth + 1, sizeof(*json->inline_at))) {
        json->out->failed = true;
        return;
    }
    memset(json->inline_at + known, 0, json->inline_cap - known);
    json->inline_at[json->depth] = on_one_line;
}

static void close_level(sr__json *json, const char *bracket) {
    if (json->depth == 0) {
        return;
    }
    bool on_one_line = level_is_inline(json);
    bool is_empty = !json->need_comma;
    json->depth--;
    json->after_key = false;
    json->need_comma = true;
    if (!is_empty && !on_one_line) {
        new_line(json);
    }
    sr__str_append(json->out, bracket, 1);
}

void sr__json_object(sr__json *json) { open_level(json, "{"); }

void sr__json_array(sr__json *json) { open_level(json, "["); }

void sr__json_inline(sr__json *json) { json->inline_next = true; }

void sr__json_end_object(sr__json *json) { close_level(json, "}"); }

void sr__json_end_array(sr__json *json) { close_level(json, "]"); }

size_t sr__utf8_sequence(const unsigned char *p) {
    if (p[0] < 0x80) {
        return 1;
    }
    size_t n = p[0] >= 0xC2 && p[0] <= 0xDF ? 2 : (p[0] & 0xF0) == 0xE0 ? 3 : p[0] >= 0xF0 && p[0] <= 0xF4 ? 4 : 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) { /* the closing zero is none either */
            return 0;
        }
    }
    bool bad = (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF0 && p[1] < 0x90) ||
               (p[0] == 0xF4 && p[1] > 0x8F);
    return bad ? 0 : n;
}

/* Bytes at p that stand for themselves in a string. */
static size_t plain_length(const unsigned char *p) {
    size_t n = 0;
    while (p[n] >= 0x20 && p[n] < 0x7F && p[n] != '"' && p[n] != '\\') {
        n++;
    }
    return n;
}

/* One character that needs care; returns how many bytes it took. */
static size_t put_special(sr__str *out, const unsigned char *p) {
    static const char escaped[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    static const char replacement[] = "\xEF\xBF\xBD";
    const char *at = strchr(escaped, *p);
    if (at != NULL) {
        char pair[2] = {'\\', letters[at - escaped]};
        sr__str_append(out, pair, 2);
        return 1;
    }
    if (*p < 0x20 || *p == 0x7F) {
        sr__str_printf(out, "\\u%04x", (unsigned)*p);
        return 1;
    }
    size_t n = sr__utf8_sequence(p);
    if (n == 0) {
        sr__str_append(out, replacement, sizeof(replacement) - 1);
        return 1;
    }
    sr__str_append(out, (const char *)p, n);
    return n;
}

static void quoted(sr__str *out, const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    sr__str_append(out, "\"", 1);
    for (;;) {
        size_t n = plain_length(p);
        sr__str_append(out, (const char *)p, n);
        p += n;
        if (*p == '\0') {
            break;
        }
        p += put_special(out, p);
    }
    sr__str_append(out, "\"", 1);
}

void sr__json_key(sr__json *json, const char *key) {
    before_item(json);
    quoted(json->out, key);
    sr__str_puts(json->out, json->pretty ? ": " : ":");
    json->need_comma = true;
    json->after_key = true;
}

void sr__json_string(sr__json *json, const char *text) {
    if (text == NULL) {
        sr__json_null(json);
        return;
    }
    before_item(json);
    quoted(json->out, text);
    json->need_comma = true;
}

void sr__json_int(sr__json *json, int64_t value) {
    before_item(json);
    sr__str_printf(json->out, "%lld", (long long)value);
    json->need_comma = true;
}

/* The program that holds the library may have a locale whose decimal point is no point, or no single byte. */
static void append_number(sr__str *out, const char *text) {
    bool was_foreign = false;
    for (const char *p = text; *p != '\0'; p++) {
        bool is_foreign = strchr("0123456789+-e.", *p) == NULL;
        if (!is_foreign) {
            sr__str_append(out, p, 1);
        } else if (!was_foreign) {
            sr__str_append(out, ".", 1);
        }
        was_foreign = is_foreign;
    }
}

void sr__json_double(sr__json *json, double value) {
    if (!isfinite(value)) {
        sr__json_null(json);
        return;
    }
    char text[64];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (memcmp(&back, &value, sizeof(back)) == 0) {
            break;
        }
    }
    before_item(json);
    append_number(json->out, text);
    json->need_comma = true;
}

void sr__json_bool(sr__json *json, bool value) {
    before_item(json);
    sr__str_puts(json->out, value ? "true" : "false");
    json->need_comma = true;
}

void sr__json_null(sr__json *json) {
    before_item(json);
    sr__str_puts(json->out, "null");
    json->need_comma = true;
}

/* ---- keys with their values -------------------------------------------------------------------------------------- */

void sr__json_put_string(sr__json *json, const char *key, const char *value) {
    sr__json_key(json, key);
    sr__json_string(json, value);
}

void sr__json_put_int(sr__json *json, const char *key, int64_t value) {
    sr__json_key(json, key);
    sr__json_int(json, value);
}

void sr__json_put_double(sr__json *json, const char *key, double value) {
    sr__json_key(json, key);
    sr__json_double(json, value);
}

void sr__json_put_bool(sr__json *json, const char *key, bool value) {
    sr__json_key(json, key);
    sr__json_bool(json, value);
}

void sr__json_put_inline(sr__json *json, const char *key) {
    if (key != NULL) {
        sr__json_key(json, key);
    }
    sr__json_inline(json);
    sr__json_object(json);
}
