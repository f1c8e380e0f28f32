/*
 * fuzz_expr.c - fuzzer of the expressions (src/base/expr.c).
 *
 * Layer: tests.  The input is the text of an expression.
 */
#include "base/base.h"
#include "fuzz.h"

/* Names that begin with a vowel are unknown; the others have values from everywhere in the range. */
static bool lookup(void *user, const char *name, size_t length, int64_t *out_value) {
    size_t *n_lookups = user;
    ++*n_lookups;
    FUZZ_CHECK(length > 0);
    if (memchr("aeiou", name[0], 5) != NULL) {
        return false;
    }
    uint64_t hash = sr__hash_bytes(0, name, length);
    *out_value = (int64_t)(hash >> (hash % 64));
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sr_error err = {0};
    int64_t value = 0;
    int64_t again = 0;
    size_t n_lookups = 0;
    sr_status status = sr__expr_eval((const char *)data, size, lookup, &n_lookups, &value, &err);
    FUZZ_CHECK(status == SR_OK || status == SR_INVALID);
    FUZZ_CHECK(n_lookups <= size);
    if (status == SR_OK) {
        FUZZ_CHECK(err.message == NULL);
    } else {
        const sr_error_detail *position = sr_error_find(&err, "position");
        FUZZ_CHECK(err.status == status && err.message != NULL && value == 0);
        FUZZ_CHECK(position != NULL && position->number >= 1 && (uint64_t)position->number <= size + 1);
    }
    sr_error_clear(&err);
    /* Without an error object the answer is the same. */
    FUZZ_CHECK(sr__expr_eval((const char *)data, size, lookup, &n_lookups, &again, NULL) == status && again == value);
    return 0;
}
