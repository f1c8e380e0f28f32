/*
 * check_findings.c - compares the findings of a run with the `findings` and `no_findings` that it is expected to have.
 *
 * Layer: analyze.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/check_note.h"

const char *sr__expected_value(const sr_expect_object *object, const char *key) {
    for (int i = 0; i < object->n_pairs; i++) {
        if (strcmp(object->pairs[i].key, key) == 0) {
            return object->pairs[i].value;
        }
    }
    return NULL;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

/* true and false stand for 1 and 0. */
static bool same_number(const char *expected, int64_t got) {
    char text[32];
    snprintf(text, sizeof(text), "%" PRId64, got);
    return strcmp(expected, text) == 0 || (strcmp(expected, "true") == 0 && got == 1) ||
           (strcmp(expected, "false") == 0 && got == 0);
}

/* Length of the longest tensor name that a list begins with, up to a comma or its end; 0: none. */
static size_t named_tensor(const sr_finding *f, const char *list) {
    size_t longest = 0;
    for (int i = 0; i < f->n_tensors; i++) {
        const size_t n = strlen(f->tensors[i]);
        if (n > longest && strncmp(list, f->tensors[i], n) == 0 && (list[n] == ',' || list[n] == '\0')) {
            longest = n;
        }
    }
    return longest;
}

/* A list comes as one text with commas. */
static bool names_all(const sr_finding *f, const char *list) {
    while (*list != '\0') {
        const size_t n = named_tensor(f, list);
        if (n == 0) {
            return false;
        }
        list += n;
        list += *list == ',';
    }
    return true;
}

static bool has_tensor(const sr_finding *f, const char *name) {
    for (int i = 0; i < f->n_tensors; i++) {
        if (strcmp(f->tensors[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_detail(const sr_finding *f, const char *key, const char *value) {
    for (int i = 0; i < f->n_details; i++) {
        const sr_finding_detail *d = &f->details[i];
        if (strcmp(d->key, key) == 0 &&
            (d->text != NULL ? strcmp(d->text, value) == 0 : same_number(value, d->number))) {
            return true;
        }
    }
    return false;
}

static bool contains(const char *text, const char *part) { return text != NULL && strstr(text, part) != NULL; }

static bool pair_matches(const sr_expect_pair *pair, const sr_finding *f) {
    const char *key = pair->key, *value = pair->value;
    return strcmp(key, "kind") == 0       ? strcmp(value, f->kind) == 0
           : strcmp(key, "severity") == 0 ? strcmp(value, sr_severity_name(f->severity)) == 0
           : strcmp(key, "tensor") == 0   ? has_tensor(f, value)
           : strcmp(key, "tensors") == 0  ? names_all(f, value)
           : strcmp(key, "bytes") == 0    ? same_number(value, (int64_t)f->bytes)
           : strcmp(key, "splits") == 0   ? same_number(value, f->splits)
           : strcmp(key, "message") == 0  ? contains(f->message, value)
           : strcmp(key, "hint") == 0     ? contains(f->hint, value)
                                          : has_detail(f, key, value);
}

/* How many keys of what is expected a finding has; -1: it is of another kind. */
static int count_matches(const sr_expect_object *expected, const sr_finding *f) {
    int n = 0;
    for (int i = 0; i < expected->n_pairs; i++) {
        const bool matches = pair_matches(&expected->pairs[i], f);
        if (!matches && strcmp(expected->pairs[i].key, "kind") == 0) {
            return -1;
        }
        n += matches;
    }
    return n;
}

/* ---- what is missing --------------------------------------------------------------------------------------------- */

/* Names the keys in which the nearest finding of that kind differs. */
static void put_nearest(sr__str *text, const sr_expect_object *expected, const sr_finding *f) {
    const char *lead = "; the nearest differs in ";
    for (int i = 0; i < expected->n_pairs; i++) {
        if (!pair_matches(&expected->pairs[i], f)) {
            sr__str_printf(text, "%s%s", lead, expected->pairs[i].key);
            lead = ", ";
        }
    }
    sr__str_printf(text, ": \"%s\"", f->message != NULL ? f->message : "");
}

static void note_missing(sr__check_run *c, const sr_expect_object *expected, const sr_finding *nearest) {
    sr__str text = {0};
    for (int i = 0; i < expected->n_pairs; i++) {
        sr__str_printf(&text, "%s%s %s", i > 0 ? ", " : "", expected->pairs[i].key, expected->pairs[i].value);
    }
    if (nearest != NULL) {
        put_nearest(&text, expected, nearest);
    }
    sr__check_note(c, "findings: none has %s", sr__str_text(&text));
    sr__str_free(&text);
}

static void check_expected(sr__check_run *c, const sr_expect_object *expected) {
    const sr_finding *nearest = NULL;
    int best = 0;
    for (int i = 0; i < c->findings->n; i++) {
        const int n = count_matches(expected, &c->findings->items[i]);
        if (n == expected->n_pairs) {
            return;
        }
        if (n > best) {
            best = n;
            nearest = &c->findings->items[i];
        }
    }
    note_missing(c, expected, nearest);
}

static void check_unexpected(sr__check_run *c, const char *kind) {
    for (int i = 0; i < c->findings->n; i++) {
        const sr_finding *f = &c->findings->items[i];
        if (strcmp(f->kind, kind) == 0) {
            sr__check_note(c, "no_findings: there is a finding of kind %s: \"%s\"", kind,
                           f->message != NULL ? f->message : "");
            return;
        }
    }
}

void sr__check_findings(sr__check_run *c) {
    const sr_expect *expect = c->run->expect;
    if (c->findings == NULL) {
        return;
    }
    for (int i = 0; i < expect->n_findings; i++) {
        c->check->n_checks++;
        check_expected(c, &expect->findings[i]);
    }
    for (int i = 0; i < expect->n_no_findings; i++) {
        c->check->n_checks++;
        check_unexpected(c, expect->no_findings[i]);
    }
}
