/*
 * status.c - the table of status codes and the error object.
 *
 * Layer: base.  Answers to: GGML_ASSERT, GGML_ABORT and the log lines of the reference, which become codes and facts.
 */
#include <stdarg.h>

#include "base/base.h"

typedef struct status_row {
    const char *name;
    const char *text;
    int exit_status;
} status_row;

static const status_row status_rows[SR_STATUS_COUNT] = {
#define STATUS_ROW(code, name, text, exit_status) {name, text, exit_status},
    SR_STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};

static const status_row *row_of(sr_status status) {
    int i = (int)status;
    return &status_rows[i >= 0 && i < SR_STATUS_COUNT ? i : SR_INTERNAL];
}

const char *sr_status_name(sr_status status) { return row_of(status)->name; }

const char *sr_status_text(sr_status status) { return row_of(status)->text; }

int sr_status_exit(sr_status status) { return row_of(status)->exit_status; }

void sr_error_clear(sr_error *err) {
    if (err == NULL) {
        return;
    }
    for (int i = 0; i < err->n_details; i++) {
        sr__free(err->details[i].text);
    }
    sr__free(err->details);
    sr__free(err->message);
    sr__free(err->file);
    sr__free(err->pointer);
    *err = (sr_error){0};
}

const char *sr_error_message(const sr_error *err) {
    if (err == NULL) {
        return "";
    }
    return err->message != NULL ? err->message : sr_status_text(err->status);
}

const sr_error_detail *sr_error_find(const sr_error *err, const char *key) {
    if (err == NULL) {
        return NULL;
    }
    for (int i = 0; i < err->n_details; i++) {
        if (strcmp(err->details[i].key, key) == 0) {
            return &err->details[i];
        }
    }
    return NULL;
}

sr_status sr__fail(sr_error *err, sr_status status, const char *fmt, ...) {
    if (err == NULL) {
        return status;
    }
    /* The arguments may be strings of the error that is replaced: format before clearing. */
    sr__str text = {0};
    va_list args;
    va_start(args, fmt);
    sr__str_vprintf(&text, fmt, args);
    va_end(args);
    sr_error_clear(err);
    err->status = status;
    if (text.failed) {
        sr__str_free(&text);
    } else {
        err->message = text.data; /* NULL for an empty text: reads as the status text */
    }
    return status;
}

sr_status sr__fail_memory(sr_error *err) {
    if (err != NULL) {
        sr_error_clear(err);
        err->status = SR_MEMORY; /* no message: that would need memory */
    }
    return SR_MEMORY;
}

void sr__error_prefix(sr_error *err, const char *fmt, ...) {
    if (err == NULL) {
        return;
    }
    sr__str text = {0};
    va_list args;
    va_start(args, fmt);
    sr__str_vprintf(&text, fmt, args);
    va_end(args);
    sr__str_puts(&text, sr_error_message(err));
    if (text.failed || text.data == NULL) {
        sr__str_free(&text);
        return;
    }
    sr__free(err->message);
    err->message = text.data;
}

/* The detail named key, made if it is not there; NULL without memory: the error is then one fact poorer. */
static sr_error_detail *detail_at(sr_error *err, const char *key) {
    for (int i = 0; i < err->n_details; i++) {
        if (strcmp(err->details[i].key, key) == 0) {
            return &err->details[i];
        }
    }
    sr_error_detail *grown = sr__realloc(err->details, ((size_t)err->n_details + 1) * sizeof(*grown));
    if (grown == NULL) {
        return NULL;
    }
    err->details = grown;
    sr_error_detail *detail = &grown[err->n_details++];
    *detail = (sr_error_detail){.key = key};
    return detail;
}

void sr__error_text(sr_error *err, const char *key, const char *text) {
    if (err == NULL) {
        return;
    }
    /* Copied first: a detail without its text would read as the number 0. */
    char *copy = sr__strdup(text != NULL ? text : "");
    sr_error_detail *detail = copy != NULL ? detail_at(err, key) : NULL;
    if (detail == NULL) {
        sr__free(copy);
        return;
    }
    sr__free(detail->text);
    detail->text = copy;
    detail->number = 0;
}

void sr__error_number(sr_error *err, const char *key, int64_t number) {
    sr_error_detail *detail = err != NULL ? detail_at(err, key) : NULL;
    if (detail == NULL) {
        return;
    }
    sr__free(detail->text);
    detail->text = NULL;
    detail->number = number;
}
