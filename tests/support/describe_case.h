/*
 * describe_case.h - short ways to load descriptions in tests.  Everything asserts; include after cmocka.h.
 */
#ifndef TESTS_DESCRIBE_CASE_H
#define TESTS_DESCRIBE_CASE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "sched_run/describe.h"

/* A GPU and a CPU, with a buffer for weights and one for anything in each. */
#define MACHINE                                                                                  \
    "\"sched_run\":1,\"backends\":[{\"name\":\"GPU0\",\"device\":\"sim\"},"                         \
    "{\"name\":\"CPU\",\"device\":\"cpu\"}],"                                                       \
    "\"buffers\":{\"gpu_w\":{\"type\":\"GPU0\",\"usage\":\"weights\"},"                             \
    "\"cpu_w\":{\"type\":\"CPU\",\"usage\":\"weights\"},\"kv\":{\"type\":\"GPU0\"}}"

static inline sr_description *load_with(const char *text, const char *directory, const sr_load_options *options) {
    sr_error err = {0};
    sr_description *d;
    sr_status status = sr_description_load_text(text, strlen(text), "case.json", directory, options, &d, &err);
    if (status != SR_OK) {
        fail_msg("%s:%d:%d: %s: %s", err.file ? err.file : "", err.line, err.column, err.pointer ? err.pointer : "",
                 sr_error_message(&err));
    }
    sr_error_clear(&err);
    return d;
}

static inline sr_description *load_text(const char *text) { return load_with(text, NULL, NULL); }

/* Loads what must fail with a status; the message has to hold `part`. */
static inline void load_fails(const char *text, const char *directory, const sr_load_options *options,
                              sr_status expected, const char *part) {
    sr_error err = {0};
    sr_description *d;
    sr_status status = sr_description_load_text(text, strlen(text), "case.json", directory, options, &d, &err);
    if (status != expected || err.status != expected || d || !strstr(sr_error_message(&err), part)) {
        fail_msg("expected %s with '%s', got %s: %s", sr_status_name(expected), part, sr_status_name(status),
                 sr_error_message(&err));
    }
    sr_error_clear(&err);
}

static inline const sr_tensor *tensor_of(const sr_description *d, int run, const char *id) {
    const sr_graph *graph = sr_description_run(d, run)->graph;
    int32_t i = sr_graph_find(graph, id);
    if (i < 0) {
        fail_msg("no tensor '%s'", id);
    }
    return &graph->tensors[i];
}

static inline char *expand_text(const sr_description *d) {
    sr_error err = {0};
    char *text;
    if (sr_description_expand(d, &text, &err) != SR_OK) {
        fail_msg("expand: %s", sr_error_message(&err));
    }
    return text;
}

/* The plain form, which must load and have itself as its plain form; freed by the caller. */
static inline char *check_expansion(const sr_description *d) {
    char *first = expand_text(d);
    sr_description *again = load_text(first);
    char *second = expand_text(again);
    assert_string_equal(first, second);
    free(second);
    sr_description_free(again);
    return first;
}

/* A folder for files of one test; removed with what it holds. */
typedef struct test_folder { char path[64]; char names[8][32]; int n; } test_folder;

static inline void folder_open(test_folder *folder) {
    *folder = (test_folder){.path = "/tmp/describe-XXXXXX"};
    assert_non_null(mkdtemp(folder->path));
}

/* Writes a file; its whole path lives until the next call. */
static inline const char *folder_put(test_folder *folder, const char *name, const void *bytes, size_t n) {
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder->path, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
    snprintf(folder->names[folder->n++], sizeof(folder->names[0]), "%s", name);
    return path;
}

static inline const char *folder_text(test_folder *folder, const char *name, const char *text) {
    return folder_put(folder, name, text, strlen(text));
}

static inline void folder_close(test_folder *folder) {
    char path[128];
    while (folder->n > 0) {
        snprintf(path, sizeof(path), "%s/%s", folder->path, folder->names[--folder->n]);
        unlink(path);
    }
    rmdir(folder->path);
}

#endif
