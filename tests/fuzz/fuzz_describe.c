/*
 * fuzz_describe.c - fuzzer of the description reader and of the plain form (src/describe).
 *
 * Layer: tests.  The input is the text of a description.  What loads has a plain form, the plain form loads, and its
 * own plain form is the same text.
 */
#include "base/base.h"
#include "fuzz.h"
#include "sched_run/describe.h"

/* Relative paths lead nowhere, so that an input depends on no file. */
static sr_status load(const char *text, size_t length, sr_description **out_description, sr_error *err) {
    sr_load_options options = {.no_memory = true, .simulate_missing = true};
    sr_status status =
        sr_description_load_text(text, length, "input.json", "/nonexistent", &options, out_description, err);
    FUZZ_CHECK(status != SR_INTERNAL && status != SR_USAGE);
    FUZZ_CHECK((status == SR_OK) == (*out_description != NULL));
    if (status != SR_OK) {
        FUZZ_CHECK(err->status == status);
        FUZZ_CHECK(status == SR_MEMORY || (err->message != NULL && err->message[0] != '\0'));
    }
    return status;
}

static void check_expansion(const sr_description *description) {
    sr_error err = {0};
    char *plain = NULL;
    char *again = NULL;
    sr_description *second = NULL;
    sr_status status = sr_description_expand(description, &plain, &err);
    FUZZ_CHECK(status == SR_OK || status == SR_MEMORY);
    if (status == SR_OK) {
        FUZZ_CHECK(plain != NULL);
        if (load(plain, strlen(plain), &second, &err) != SR_OK) {
            fprintf(stderr, "%s:%d:%d: %s: %s\n", "the plain form", err.line, err.column,
                    err.pointer != NULL ? err.pointer : "", sr_error_message(&err));
            abort();
        }
        FUZZ_CHECK(sr_description_expand(second, &again, &err) == SR_OK);
        FUZZ_CHECK(strcmp(plain, again) == 0);
    }
    sr_description_free(second);
    free(again);
    free(plain);
    sr_error_clear(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sr_error err = {0};
    sr_description *description = NULL;
    if (load((const char *)data, size, &description, &err) == SR_OK) {
        FUZZ_CHECK(sr_description_machine(description) != NULL);
        for (int i = 0; i < sr_description_n_runs(description); i++) {
            FUZZ_CHECK(sr_description_run(description, i) != NULL);
        }
        check_expansion(description);
    }
    sr_description_free(description);
    sr_error_clear(&err);
    return 0;
}
