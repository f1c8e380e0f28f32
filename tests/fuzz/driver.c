/*
 * driver.c - runs a fuzzer's entry point over files and folders: a corpus as a plain test.
 *
 * Layer: tests.
 */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

static bool run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return false;
    }
    uint8_t *data = NULL;
    size_t size = 0;
    size_t cap = 0;
    bool ok = true;
    while (ok && !feof(file)) {
        if (size == cap) {
            cap = cap > 0 ? cap * 2 : 4096;
            uint8_t *grown = realloc(data, cap);
            ok = grown != NULL;
            data = ok ? grown : data;
        }
        if (ok) {
            size += fread(data + size, 1, cap - size, file);
            ok = !ferror(file);
        }
    }
    fclose(file);
    if (ok) {
        /* A block of just that size: reading one byte more is then seen. */
        uint8_t *exact = malloc(size > 0 ? size : 1);
        ok = exact != NULL;
        if (ok) {
            memcpy(exact, data, size);
            LLVMFuzzerTestOneInput(exact, size);
        }
        free(exact);
    }
    free(data);
    if (!ok) {
        fprintf(stderr, "%s: cannot be read\n", path);
    }
    return ok;
}

static bool run_path(const char *path, long *n_files);

static bool run_folder(const char *path, long *n_files) {
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, NULL, alphasort);
    if (n < 0) {
        perror(path);
        return false;
    }
    bool ok = true;
    for (int i = 0; i < n; i++) {
        size_t length = strlen(path) + strlen(entries[i]->d_name) + 2;
        char *child = malloc(length);
        if (child == NULL) {
            ok = false;
        } else if (entries[i]->d_name[0] != '.') {
            snprintf(child, length, "%s/%s", path, entries[i]->d_name);
            ok = run_path(child, n_files) && ok;
        }
        free(child);
        free(entries[i]);
    }
    free(entries);
    return ok;
}

static bool run_path(const char *path, long *n_files) {
    struct stat info;
    if (stat(path, &info) != 0) {
        perror(path);
        return false;
    }
    if (S_ISDIR(info.st_mode)) {
        return run_folder(path, n_files);
    }
    ++*n_files;
    return run_file(path);
}

int main(int argc, char **argv) {
    bool ok = true;
    long n_files = 0;
    for (int i = 1; i < argc; i++) {
        ok = run_path(argv[i], &n_files) && ok;
    }
    if (n_files == 0) {
        fprintf(stderr, "usage: %s FILE-OR-FOLDER...\n", argv[0]);
        return 2;
    }
    printf("%ld inputs\n", n_files);
    return ok ? 0 : 1;
}
