/*
 * report_diff_fold.c - lists of changes folded: neighbours that went the same way, and equal layers.
 *
 * Layer: report.
 */
#include <ctype.h>
#include <stdlib.h>

#include "report/report_diff.h"

/* ---- ranges ---------------------------------------------------------------------------------------------------- */

static int32_t find_ranges(const sr__diff_item *items, int32_t n, sr__diff_range *ranges) {
    int32_t n_ranges = 0;
    for (int32_t i = 0; i < n; i++) {
        sr__diff_range *last = n_ranges > 0 ? &ranges[n_ranges - 1] : NULL;
        const bool goes_on = last != NULL && items[i].position >= 0 && items[i].way == items[i - 1].way &&
                             items[i].position == items[i - 1].position + 1;
        if (!goes_on) {
            last = &ranges[n_ranges++];
            *last = (sr__diff_range){.begin = i, .next = -1, .n_alike = 1, .last = n_ranges - 1};
        }
        last->n++;
        last->like = sr__hash_bytes(last->like, &items[i].like, sizeof(items[i].like));
    }
    return n_ranges;
}

typedef struct like { uint64_t key; int32_t range; } like;

static int compare_likes(const void *px, const void *py) {
    const like *x = px, *y = py;
    return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->range < y->range ? -1 : x->range > y->range;
}

/* Ranges that are alike become the list of the first of them. */
static void link_ranges(sr__diff_ranges *all, like *likes) {
    for (int32_t i = 0; i < all->n; i++) {
        likes[i] = (like){all->ranges[i].like, i};
    }
    qsort(likes, (size_t)all->n, sizeof(*likes), compare_likes);
    int32_t head = 0;
    for (int32_t i = 1; i < all->n; i++) {
        if (likes[i].key != likes[head].key) {
            head = i;
            continue;
        }
        sr__diff_range *first = &all->ranges[likes[head].range];
        all->ranges[likes[i - 1].range].next = likes[i].range;
        all->ranges[likes[i].range].n_alike = 0;
        first->n_alike++;
        first->last = likes[i].range;
    }
}

sr_status sr__diff_fold(const sr__diff_item *items, int32_t n, sr__diff_ranges *out_ranges, sr_error *err) {
    like *likes = sr__malloc(((size_t)n + 1) * sizeof(*likes));
    *out_ranges = (sr__diff_ranges){.ranges = sr__malloc(((size_t)n + 1) * sizeof(*out_ranges->ranges))};
    if (likes == NULL || out_ranges->ranges == NULL) {
        sr__free(likes);
        sr__diff_ranges_free(out_ranges);
        return sr__fail_memory(err);
    }
    out_ranges->n = find_ranges(items, n, out_ranges->ranges);
    link_ranges(out_ranges, likes);
    sr__free(likes);
    return SR_OK;
}

void sr__diff_ranges_free(sr__diff_ranges *ranges) {
    sr__free(ranges->ranges);
    *ranges = (sr__diff_ranges){0};
}

/* ---- patterns of names ----------------------------------------------------------------------------------------- */

static bool is_digit(char c) { return isdigit((unsigned char)c) != 0; }

uint64_t sr__name_pattern(uint64_t seed, const char *name) {
    while (*name != '\0') {
        const char *end = name;
        while (*end != '\0' && is_digit(*end) == is_digit(*name)) {
            end++;
        }
        seed = is_digit(*name) ? sr__hash_bytes(seed, "#", 1) : sr__hash_bytes(seed, name, (size_t)(end - name));
        name = end;
    }
    return seed;
}

static size_t digits_at(const char *p) { return strspn(p, "0123456789"); }

/* Marks the numbers of `first` that are others in `name`, which has the same pattern. */
static void mark_numbers(const char *first, const char *name, uint64_t *varies) {
    for (int number = 0; *first != '\0' && *name != '\0';) {
        if (!is_digit(*first)) {
            first++;
            name++;
            continue;
        }
        const size_t n = digits_at(first), m = digits_at(name);
        if ((n != m || memcmp(first, name, n) != 0) && number < 64) {
            *varies |= UINT64_C(1) << number;
        }
        number++;
        first += n;
        name += m;
    }
}

/* A star for each number whose bit is set; those behind the 64th are never. */
static void put_stars(sr__str *s, const char *name, uint64_t varies) {
    sr__str pattern = {0};
    for (int number = 0; *name != '\0';) {
        const size_t digits = digits_at(name);
        if (digits > 0 && number < 64 && (varies >> number & 1) != 0) {
            sr__str_puts(&pattern, "*");
        } else {
            sr__str_append(&pattern, name, digits > 0 ? digits : 1);
        }
        number += digits > 0;
        name += digits > 0 ? digits : 1;
    }
    sr__put_name(s, sr__str_text(&pattern));
    s->failed |= pattern.failed;
    sr__str_free(&pattern);
}

void sr__put_pattern(sr__str *s, sr__name_at name, void *user, int32_t n) {
    const char *first = name(user, 0);
    uint64_t varies = 0;
    for (int32_t i = 1; i < n; i++) {
        mark_numbers(first, name(user, i), &varies);
    }
    put_stars(s, first, varies);
}

void sr__put_starred(sr__str *s, const char *name) { put_stars(s, name, UINT64_MAX); }
