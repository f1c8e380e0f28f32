/*
 * log_entry.c - the fields of a log's lines: a name, a size, a backend, a cause.
 *
 * Layer: describe.  Answers to the formats " %20.20s (%5.5s) [%5.5s %8.8s]" and "[%s (%5.5s)] " of the reference.
 *
 * Fields are found by "( 12K) [", which no name contains, so that names may hold anything, and widths that a copy has
 * squeezed do no harm.
 */
#include "describe/log.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool sr__span_starts(sr__span a, const char *start) {
    const size_t n = strlen(start);
    return (size_t)a.length >= n && memcmp(a.text, start, n) == 0;
}

static bool is_space(char c) { return c == ' ' || c == '\t'; }

sr__span sr__span_trim(const char *begin, const char *end) {
    while (begin < end && is_space(*begin)) {
        begin++;
    }
    while (end > begin && is_space(end[-1])) {
        end--;
    }
    return (sr__span){begin, (int32_t)(end - begin)};
}

static const char *skip_spaces(const char *p, const char *end) {
    while (p < end && is_space(*p)) {
        p++;
    }
    return p;
}

const char *sr__log_read_number(const char *p, const char *end, int64_t *out) {
    int64_t value = 0;
    p = skip_spaces(p, end);
    const char *begin = p;
    for (; p < end && is_digit(*p); p++) {
        value = value < INT64_C(1) << 50 ? value * 10 + (*p - '0') : value;
    }
    *out = value;
    return p > begin ? p : NULL;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

/* "12K", "3M"; a figure that fills its field has lost the letter: below 1024 that can only have been K. */
static const char *read_size(const char *p, const char *end, sr__log_entry *entry) {
    int64_t value, unit = 0;
    const char *begin = skip_spaces(p, end);
    p = sr__log_read_number(begin, end, &value);
    if (p == NULL) {
        return NULL;
    }
    const int64_t n_digits = p - begin;
    static const char letters[] = "KMGT";
    const char *letter = p < end ? memchr(letters, *p, 4) : NULL;
    if (letter != NULL) {
        unit = INT64_C(1) << (10 * (letter - letters + 1));
        p++;
        p += p < end && *p == 'i';
        p += p < end && *p == 'B';
    } else if (n_digits < 4) {
        return NULL;
    } else {
        unit = n_digits == 4 && value < 1024 ? 1024 : 1024 * 1024;
    }
    const int64_t limit = INT64_C(1) << 44; /* no machine has as much */
    entry->step = unit;
    entry->size = value < limit / unit ? value * unit : limit;
    return skip_spaces(p, end);
}

const char *sr__log_find_size(const char *p, const char *end, char closing, sr__log_entry *entry, const char **after) {
    for (; p < end && (p = memchr(p, '(', (size_t)(end - p))) != NULL; p++) {
        const char *q = read_size(p + 1, end, entry);
        if (q == NULL || q == end || *q != ')') {
            continue;
        }
        q++;
        if (closing == '[') {
            q = skip_spaces(q, end);
        }
        if (q < end && *q == closing) {
            *after = q + 1;
            return p;
        }
    }
    return NULL;
}

/* ---- backend and cause ------------------------------------------------------------------------------------------ */

/* usr, or a pass, a point and what it did: 1.wgt0, 2.sup, 2.1. */
bool sr__log_is_cause(sr__span text) {
    if (sr__span_is(text, "usr")) {
        return true;
    }
    if (text.length < 3 || text.text[0] < '1' || text.text[0] > '5' || text.text[1] != '.') {
        return false;
    }
    for (int i = 2; i < text.length; i++) {
        const char c = text.text[i];
        if (!(c >= 'a' && c <= 'z') && !is_digit(c)) {
            return false;
        }
    }
    return true;
}

/* Without the widths: the last word, if it is a cause, even if it is glued to the backend. */
static void split_words(sr__span all, sr__log_entry *out) {
    out->backend = all;
    out->cause = (sr__span){all.text + all.length, 0};
    for (int i = 0; i < all.length; i++) {
        const sr__span rest = {all.text + i, all.length - i};
        const bool starts = i == 0 || is_space(all.text[i - 1]) || !is_digit(all.text[i - 1]);
        if (starts && rest.length <= 8 && sr__log_is_cause(rest)) {
            out->cause = rest;
            out->backend = sr__span_trim(all.text, rest.text);
            return;
        }
    }
}

/* What stands in brackets: the backend in 5 columns (in old logs 4), the cause in 8. */
static const char *read_brackets(const char *p, const char *end, sr__log_entry *out) {
    for (int width = 5; width >= 4; width--) {
        if (end - p > width + 9 && p[width + 9] == ']' && p[width] == ' ' &&
            memchr(p, ']', (size_t)width + 9) == NULL) {
            out->backend = sr__span_trim(p, p + width);
            out->cause = sr__span_trim(p + width + 1, p + width + 9);
            if (out->cause.length == 0 || sr__log_is_cause(out->cause)) {
                return p + width + 10;
            }
        }
    }
    const char *close = memchr(p, ']', (size_t)(end - p));
    if (close == NULL) {
        return NULL;
    }
    if (end - p > 14 && p[14] == ']' && close < p + 5) { /* a backend's name may hold one */
        close = p + 14;
    }
    split_words(sr__span_trim(p, close), out);
    return close + 1;
}

/* ---- an entry --------------------------------------------------------------------------------------------------- */

/*
 * A name fills its column from the right.  What stands before the column is a front-end's: cut off where the column is
 * known, and so is a level's letter that was put right behind the field before.
 */
static sr__span read_name(const char *p, const char *end, int width) {
    if (end > p && end[-1] == ' ') {
        end--;
    }
    if (end - p >= 2 && strchr("DIWE", *p) != NULL && p[1] == ' ') {
        p += 2;
    }
    if (width > 0 && end - p > width + 1) {
        p = end - width;
    }
    p = skip_spaces(p, end); /* a space at the end belongs to the name: the column may cut it there */
    return (sr__span){p, (int32_t)(end - p)};
}

const char *sr__log_read_entry(const char *p, const char *end, int width, sr__log_entry *out, int *out_width) {
    const char *after;
    *out = (sr__log_entry){0};
    const char *paren = sr__log_find_size(p, end, '[', out, &after);
    if (paren == NULL) {
        return NULL;
    }
    const int64_t raw = paren - p - 1;
    *out_width = raw > 0 && raw < 1000 ? (int)raw : 0;
    out->name = read_name(p, paren, width);
    p = read_brackets(after, end, out);
    if (p == NULL) {
        return NULL;
    }
    out->is_null = sr__span_is(out->backend, "NULL");
    if (out->is_null) {
        out->backend.length = 0;
    }
    return p;
}
