/*
 * places.c - errors with a place: file, line, column and JSON pointer, and "did you mean".
 *
 * Layer: describe.  The reference has no counterpart.
 */
#include "describe/loader.h"

sr_status sr__no_memory(sr__loader *ld) { return sr__fail_memory(ld->err); }

static void append_escaped(sr__str *s, const char *key) {
    for (const char *p = key; *p; p++) {
        if (*p == '~' || *p == '/') {
            sr__str_puts(s, *p == '~' ? "~0" : "~1");
        } else {
            sr__str_append(s, p, 1);
        }
    }
}

/* The way down is linked upwards: collected first, then written from the root. */
static char *pointer_of(const sr__at *at) {
    const sr__at *way[SR__JSON_MAX_DEPTH + 2];
    int n = 0;
    for (; at->up && n <= SR__JSON_MAX_DEPTH; at = at->up) {
        way[n++] = at;
    }
    sr__str s = {0};
    while (n > 0) {
        n--;
        sr__str_puts(&s, "/");
        if (way[n]->key) {
            append_escaped(&s, way[n]->key);
        } else {
            sr__str_printf(&s, "%lld", (long long)way[n]->index);
        }
    }
    char *copy = s.failed ? NULL : sr__strdup(sr__str_text(&s));
    sr__str_free(&s);
    return copy;
}

static void set_place(sr_error *err, const sr__at *at, bool of_key) {
    const sr__source *source = at->source;
    if (!err || !source) {
        return;
    }
    sr__free(err->file);
    sr__free(err->pointer);
    err->file = sr__strdup(source->name);
    err->pointer = pointer_of(at);
    err->line = err->column = 0;
    if (source->text) {
        size_t offset = sr__json_find(source->text, source->length, at, of_key);
        sr__json_line(source->text, offset, &err->line, &err->column);
    }
}

static sr_status wrong(sr__loader *ld, const sr__at *at, bool of_key, const char *fmt, va_list args) {
    sr__str text = {0};
    sr__str_vprintf(&text, fmt, args);
    sr_status status = sr__fail(ld->err, SR_DESCRIPTION, "%s", sr__str_text(&text));
    sr__str_free(&text);
    set_place(ld->err, at, of_key);
    return status;
}

sr_status sr__wrong(sr__loader *ld, const sr__at *at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    sr_status status = wrong(ld, at, false, fmt, args);
    va_end(args);
    return status;
}

sr_status sr__wrong_key(sr__loader *ld, const sr__at *at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    sr_status status = wrong(ld, at, true, fmt, args);
    va_end(args);
    return status;
}

sr_status sr__wrong_there(sr__loader *ld, const sr__at *at, sr_status status) {
    if (status == SR_MEMORY || status == SR_OK) {
        return status;
    }
    if (status == SR_INVALID) {
        status = SR_DESCRIPTION;
        if (ld->err) {
            ld->err->status = status;
        }
    }
    set_place(ld->err, at, false);
    return status;
}

sr_status sr__unknown(sr__loader *ld, const sr__at *at, const char *what, const char *name, const char *const *names,
                      int n) {
    const char *near = sr__nearest(name, names, n);
    if (near) {
        return sr__wrong(ld, at, "unknown %s '%s', did you mean %s?", what, name, near);
    }
    sr__str list = {0};
    for (int i = 0; i < n && n <= 12; i++) {
        if (names[i]) {
            sr__str_printf(&list, "%s%s", list.length ? ", " : "; there are ", names[i]);
        }
    }
    sr_status status = sr__wrong(ld, at, "unknown %s '%s'%s", what, name, sr__str_text(&list));
    sr__str_free(&list);
    return status;
}
