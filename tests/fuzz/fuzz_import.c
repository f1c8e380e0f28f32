/*
 * fuzz_import.c - fuzzer of the reader of debug logs (src/describe/log_*.c, import_log.c).
 *
 * Layer: tests.  The input is a log.  Whatever can be imported can be loaded.
 */
#include <string.h>

#include "base/base.h"
#include "fuzz.h"
#include "sched_run/describe.h"
#include "sched_run/import.h"

static void check_description(const char *text) {
    sr_error err = {0};
    sr_description *description = NULL;
    sr_load_options options = {.no_memory = true};
    const sr_status status =
        sr_description_load_text(text, strlen(text), "imported", "/nonexistent", &options, &description, &err);
    if (status != SR_OK && status != SR_MEMORY) {
        fprintf(stderr, "imported:%d:%d: %s: %s\n", err.line, err.column, err.pointer != NULL ? err.pointer : "",
                sr_error_message(&err));
        abort();
    }
    sr_description_free(description);
    sr_error_clear(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (int pins = 0; pins < 2; pins++) {
        sr_import_options options;
        sr_import_result result;
        sr_error err = {0};
        char *text = NULL;
        sr_import_options_init(&options);
        options.no_pins = pins == 0;
        const sr_status status = sr_import_log((const char *)data, size, "log", &options, &text, &result, &err);
        FUZZ_CHECK((status == SR_OK) == (text != NULL));
        FUZZ_CHECK(status == SR_OK || status == SR_DESCRIPTION || status == SR_LIMIT || status == SR_MEMORY);
        FUZZ_CHECK(status == SR_OK || err.status == status);
        if (status == SR_OK) {
            FUZZ_CHECK(result.n_graphs > 0 && result.n_graphs <= result.n_imported);
            FUZZ_CHECK(result.n_imported <= result.n_schedules);
            check_description(text);
        }
        free(text);
        sr_error_clear(&err);
    }
    return 0;
}
