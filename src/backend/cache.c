/*
 * cache.c - files in which devices keep what they built, from process to process.
 *
 * Layer: backend.  Answers to nothing in the reference, whose OpenCL backend builds its kernels in every process.  A file
 * is "sched-run cache 1", the key, the size of the data and a hash of it, a line each, and then the data.
 */
#include "backend/cache.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sched_run/backend.h"

enum { LARGEST = 1 << 28 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *folder; /* NULL: nothing is kept */

sr_status sr_cache_folder_set(const char *path, sr_error *err) {
    char *own = path && *path ? sr__strdup(path) : NULL;
    if (path && *path && !own) {
        return sr__fail_memory(err);
    }
    pthread_mutex_lock(&lock);
    sr__free(folder);
    folder = own;
    pthread_mutex_unlock(&lock);
    return SR_OK;
}

bool sr__cache_on(void) {
    pthread_mutex_lock(&lock);
    const bool on = folder != NULL;
    pthread_mutex_unlock(&lock);
    return on;
}

/* Makes the folders above it too; those that are there already are no failure. */
static void make_folders(char *path) {
    for (char *at = path + 1; *at; at++) {
        if (*at == '/') {
            *at = '\0';
            mkdir(path, 0777);
            *at = '/';
        }
    }
}

/* FOLDER/NAME; false: there is no folder, or no memory. */
static bool path_of(sr__str *out, const char *name) {
    pthread_mutex_lock(&lock);
    if (folder) {
        sr__str_printf(out, "%s/%s", folder, name);
    }
    pthread_mutex_unlock(&lock);
    return out->data && !out->failed;
}

static void put_header(sr__str *out, const char *key, const void *data, size_t size) {
    sr__str_printf(out, "sched-run cache 1\n%s\n%zu %016" PRIx64 "\n", key, size, sr__hash_bytes(0, data, size));
}

static bool read_all(FILE *file, sr__str *out) {
    char piece[1 << 14];
    size_t n;
    while ((n = fread(piece, 1, sizeof(piece), file)) > 0 && out->length < LARGEST) {
        sr__str_append(out, piece, n);
    }
    return !ferror(file) && !out->failed && out->length > 0 && out->length < LARGEST;
}

/* Where the data begins, if the header is what one for this key and this data would be. */
static bool check(const sr__str *text, const char *key, size_t *out_begin) {
    size_t begin = 0;
    sr__str header = {0};
    for (int line = 0; line < 3 && begin < text->length; line++) {
        const char *end = memchr(text->data + begin, '\n', text->length - begin);
        begin = end ? (size_t)(end - text->data) + 1 : text->length;
    }
    put_header(&header, key, text->data + begin, text->length - begin);
    const bool same = !header.failed && header.length == begin && memcmp(header.data, text->data, begin) == 0;
    sr__str_free(&header);
    *out_begin = begin;
    return same;
}

bool sr__cache_read(const char *name, const char *key, void **out_data, size_t *out_size) {
    sr__str path = {0}, text = {0};
    size_t begin = 0;
    FILE *file = path_of(&path, name) ? fopen(path.data, "rb") : NULL;
    bool ok = file && read_all(file, &text) && check(&text, key, &begin);
    if (ok) {
        *out_size = text.length - begin;
        *out_data = sr__malloc(*out_size);
        ok = *out_data != NULL;
    }
    if (ok) {
        memcpy(*out_data, text.data + begin, *out_size);
    }
    if (file) {
        fclose(file);
    }
    sr__str_free(&text);
    sr__str_free(&path);
    return ok;
}

void sr__cache_write(const char *name, const char *key, const void *data, size_t size) {
    sr__str path = {0}, own = {0}, header = {0};
    put_header(&header, key, data, size);
    if (path_of(&path, name)) {
        sr__str_printf(&own, "%s.%ld", path.data, (long)getpid());
    }
    if (own.data && !own.failed && !header.failed) {
        make_folders(own.data);
        FILE *file = fopen(own.data, "wb");
        if (file) {
            bool ok = fwrite(header.data, 1, header.length, file) == header.length &&
                      fwrite(data, 1, size, file) == size;
            ok = fclose(file) == 0 && ok;
            if (!ok || rename(own.data, path.data) != 0) {
                unlink(own.data);
            }
        }
    }
    sr__str_free(&header);
    sr__str_free(&own);
    sr__str_free(&path);
}
