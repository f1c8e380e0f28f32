/*
 * names.c - texts for people: the name that was probably meant, and sizes.
 *
 * Layer: base.  Answers to: nothing in the reference.
 */
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "base/base.h"

/* Longer texts get no suggestion: nobody mistypes one letter of a text that long, and the cost is quadratic. */
enum { NAME_MAX_LENGTH = 128 };

static int lower(char c) { return tolower((unsigned char)c); }

/* How many edits still count as a slip of the fingers. */
static int tolerance_of(int length) {
    if (length <= 3) {
        return 1;
    }
    return length <= 7 ? 2 : length / 3 < 4 ? length / 3 : 4;
}

static int min_int(int a, int b) { return a < b ? a : b; }

/*
 * Insertions, deletions, substitutions and swaps of neighbours that make b of a, upper and lower case being one; any
 * number above `most` once it is clear that it takes more.  The textbook's table, of which three rows are alive.
 */
static int edit_distance(const char *a, int n_a, const char *b, int n_b, int most) {
    int rows[3][NAME_MAX_LENGTH + 1];
    int *before = rows[0];
    int *above = rows[1];
    int *row = rows[2];
    for (int j = 0; j <= n_b; j++) {
        above[j] = j;
    }
    for (int i = 1; i <= n_a; i++) {
        int best = row[0] = i;
        for (int j = 1; j <= n_b; j++) {
            int substituted = above[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            row[j] = min_int(substituted, min_int(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
                row[j] = min_int(row[j], before[j - 2] + 1);
            }
            best = min_int(best, row[j]);
        }
        /* A swap reaches back two rows, so a row has to exceed the bound by one more to be hopeless. */
        if (best > most + 1) {
            return most + 1;
        }
        int *free_row = before;
        before = above;
        above = row;
        row = free_row;
    }
    return above[n_b];
}

/* Whether the text is the beginning of the name, and not too short a one: FLASH_ATTN for FLASH_ATTN_EXT. */
static bool begins(const char *text, size_t length, const char *name) {
    return length >= 4 && strncasecmp(text, name, length) == 0;
}

const char *sr__nearest(const char *text, const char *const *names, int n) {
    size_t length = text != NULL ? strnlen(text, NAME_MAX_LENGTH + 1) : 0;
    if (length == 0 || length > NAME_MAX_LENGTH) {
        return NULL;
    }
    const char *nearest = NULL;
    const char *begun = NULL;
    int most = tolerance_of((int)length);
    for (int i = 0; i < n && most >= 0; i++) {
        size_t other = names[i] != NULL ? strnlen(names[i], NAME_MAX_LENGTH + 1) : 0;
        if (other > 0 && other <= NAME_MAX_LENGTH && begun == NULL && begins(text, length, names[i])) {
            begun = names[i];
        }
        size_t difference = other > length ? other - length : length - other;
        if (other == 0 || other > NAME_MAX_LENGTH || difference > (size_t)most) {
            continue;
        }
        int distance = edit_distance(text, (int)length, names[i], (int)other, most);
        /* Two short names that share no letter are no slip: "ne" is not "op". */
        if (distance <= most && distance < (int)length && distance < (int)other) {
            nearest = names[i];
            most = distance - 1; /* of equally near ones the first */
        }
    }
    return nearest != NULL ? nearest : begun;
}

void sr__format_bytes(uint64_t bytes, char out[16]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    int unit = 0;
    /* From 1023.5 on the integer would read 1024: that is 1.0 of the next unit. */
    while (unit + 1 < SR_COUNT(units) && (unit == 0 ? bytes >= 1024 : value >= 1023.5)) {
        value /= 1024;
        unit++;
    }
    snprintf(out, 16, unit > 0 && value < 9.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}
