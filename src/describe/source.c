/*
 * source.c - reading a description and what it includes: files, the parser's memory, the keys at the top.
 *
 * Layer: describe.  The reference has no counterpart.
 *
 * The parser takes its memory from hooks that are global to the process.  They are set once, to functions that behave
 * as malloc and free for everybody else; while this room parses, on its own thread, they serve from an arena instead,
 * which makes parsing cheaper and freeing a tree one call.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>

#include "describe/loader.h"

enum { MAX_INCLUDE_DEPTH = 16 };

const char *const sr__top_keys[SR__TOP_COUNT] = {
    "sched_run", "name", "description", "params", "backends", "buffer_types", "buffers", "placement", "scheduler",
    "tensors", "nodes", "graphs", "runs", "expect", "weights", "unknown_ops", "include",
};

/* ---- the parser's memory ----------------------------------------------------------------------------------------- */

static _Thread_local sr__arena *parse_arena;

static void *hook_malloc(size_t size) {
    return parse_arena ? sr__arena_alloc(parse_arena, size) : sr__malloc(size);
}

static void hook_free(void *p) {
    if (!parse_arena) {
        sr__free(p);
    }
}

static void set_hooks(void) {
    cJSON_Hooks hooks = {hook_malloc, hook_free};
    cJSON_InitHooks(&hooks);
}

static void hooks_once(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_hooks);
}

sr_status sr__copy_tree(sr__loader *ld, const cJSON *json, const cJSON **out) {
    parse_arena = &ld->d->arena;
    *out = cJSON_Duplicate(json, true);
    parse_arena = NULL;
    return *out ? SR_OK : sr__no_memory(ld);
}

/* The text has passed the check, so that only memory can be missing. */
static sr_status parse(sr__loader *ld, sr__source *source) {
    size_t offset;
    const char *what;
    if (!sr__json_check(source->text, source->length, &offset, &what)) {
        sr_status status = sr__fail(ld->err, SR_DESCRIPTION, "%s", what);
        if (ld->err) {
            ld->err->file = sr__strdup(source->name);
            sr__json_line(source->text, offset, &ld->err->line, &ld->err->column);
        }
        return status;
    }
    hooks_once();
    parse_arena = &ld->json;
    source->root = cJSON_ParseWithLength(source->text, source->length + 1);
    parse_arena = NULL;
    return source->root ? SR_OK : sr__no_memory(ld);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static sr_status read_all(FILE *file, size_t expected, char **out_data, size_t *out_size, sr_error *err) {
    size_t cap = 0, size = 0;
    char *data = NULL;
    for (;;) {
        size_t room = size == 0 ? expected + 1 : size;
        if (!sr__grow(&data, &cap, size + room + 1, 1)) {
            sr__free(data);
            return sr__fail_memory(err);
        }
        size_t n = fread(data + size, 1, cap - size - 1, file);
        size += n;
        if (n == 0) {
            break;
        }
    }
    data[size] = '\0';
    *out_data = data;
    *out_size = size;
    return SR_OK;
}

static sr_status io_failed(const char *path, int number, sr_error *err) {
    char text[128];
    const char *words = strerror_r(number, text, sizeof(text));
    return sr__fail(err, SR_IO, "cannot read '%s': %s", path, words);
}

static sr_status read_file(const char *path, char **out_data, size_t *out_size, struct stat *info, sr_error *err) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        return errno == ENOMEM ? sr__fail_memory(err) : io_failed(path, errno, err);
    }
    sr_status status = SR_OK;
    if (fstat(fileno(file), info) != 0) {
        status = io_failed(path, errno, err);
    } else if (S_ISDIR(info->st_mode)) {
        status = io_failed(path, EISDIR, err);
    } else {
        size_t expected = S_ISREG(info->st_mode) && info->st_size > 0 ? (size_t)info->st_size : 4096;
        status = read_all(file, expected, out_data, out_size, err);
        if (status == SR_OK && ferror(file)) {
            sr__free(*out_data);
            *out_data = NULL;
            status = io_failed(path, errno ? errno : EIO, err);
        }
    }
    fclose(file);
    return status;
}

sr_status sr__read_part(const char *path, size_t offset, size_t size, sr__part_fn take, void *user, sr_error *err) {
    enum { PIECE = 1 << 20 };
    FILE *file = fopen(path, "rb");
    if (!file) {
        return io_failed(path, errno, err);
    }
    sr_status status = SR_OK;
    size_t done = 0;
    struct stat info;
    char *bytes = sr__malloc(size < PIECE ? size + 1 : PIECE);
    if (!bytes) {
        status = sr__fail_memory(err);
    } else if (fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size < offset) {
        status = sr__fail(err, SR_DESCRIPTION, "'%s' ends after %lld bytes", path, (long long)info.st_size);
    } else if (fseeko(file, (off_t)offset, SEEK_SET) != 0) {
        status = io_failed(path, errno, err);
    }
    while (status == SR_OK && done < size) {
        size_t wanted = size - done < PIECE ? size - done : PIECE, n = fread(bytes, 1, wanted, file);
        if (n < wanted) {
            status = ferror(file) ? io_failed(path, errno, err)
                                  : sr__fail(err, SR_DESCRIPTION, "'%s' ends after %zu bytes", path, offset + done + n);
            break;
        }
        status = take(user, bytes, done, n, err);
        done += n;
    }
    sr__free(bytes);
    fclose(file);
    return status;
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

static sr_status new_source(sr__loader *ld, const char *name, const char *directory, const char *prefix,
                            sr__source **out) {
    sr__source *source = sr__arena_zalloc(&ld->json, sizeof(*source));
    if (!source || !sr__grow(&ld->sources, &ld->sources_cap, ld->n_sources + 1, sizeof(*ld->sources))) {
        return sr__no_memory(ld);
    }
    source->name = sr__arena_strdup(&ld->json, name);
    source->directory = sr__arena_strdup(&ld->json, directory);
    source->prefix = sr__arena_strdup(&ld->json, prefix);
    if (!source->name || !source->directory || !source->prefix) {
        return sr__no_memory(ld);
    }
    ld->sources[ld->n_sources++] = source;
    *out = source;
    return SR_OK;
}

void sr__free_sources(sr__loader *ld) {
    for (size_t i = 0; i < ld->n_sources; i++) {
        sr__free(ld->sources[i]->text);
    }
    sr__free(ld->sources);
    ld->sources = NULL;
    ld->n_sources = 0;
}

/* a and b one after the other; in the loader's own arena. */
static sr_status join(sr__loader *ld, sr__arena *arena, const char *a, size_t n, const char *b, const char **out) {
    char *text = sr__arena_alloc(arena, n + strlen(b) + 1);
    if (!text) {
        return sr__no_memory(ld);
    }
    memcpy(text, a, n);
    memcpy(text + n, b, strlen(b) + 1);
    *out = text;
    return SR_OK;
}

/* Length of a path up to and with its last '/'. */
static size_t directory_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

static sr_status directory_of(sr__loader *ld, const char *path, const char **out) {
    return join(ld, &ld->json, path, directory_length(path), "", out);
}

sr_status sr__resolve_path(sr__loader *ld, const sr__source *source, const char *path, const char **out_path,
                           const char **out_shown) {
    sr_status status;
    bool absolute = path[0] == '/';
    const char *directory = absolute ? "" : source->directory, *prefix = absolute ? "" : source->prefix;
    SR_TRY(join(ld, &ld->d->arena, directory, strlen(directory), path, out_path));
    SR_TRY(join(ld, &ld->d->arena, prefix, strlen(prefix), path, out_shown));
done:
    return status;
}

/* ---- the top, with includes -------------------------------------------------------------------------------------- */

static sr_status merge_source(sr__loader *ld, sr__source *source, sr__top *top);

static sr_status check_version(sr__loader *ld, const cJSON *json, const sr__at *root) {
    sr__at at = sr__at_key(root, "sched_run");
    if (!sr__is_number(json) || json->valuedouble != 1) {
        return sr__wrong(ld, &at, "expected 1: the version of the format that this program reads");
    }
    return SR_OK;
}

/* A file whose tree of includers holds it already would never end. */
static sr_status check_cycle(sr__loader *ld, const sr__source *source, const sr__at *at) {
    int depth = 0;
    for (const sr__source *s = source->includer; s; s = s->includer) {
        if (s->inode == source->inode && s->device == source->device && s->inode != 0) {
            return sr__wrong(ld, at, "'%s' includes itself", source->name);
        }
        depth++;
    }
    return depth > MAX_INCLUDE_DEPTH ? sr__wrong(ld, at, "includes are nested more than %d deep", MAX_INCLUDE_DEPTH)
                                     : SR_OK;
}

static sr_status include(sr__loader *ld, const cJSON *json, const sr__at *at, sr__top *top) {
    sr_status status;
    const char *path, *file, *shown, *directory, *prefix;
    sr__source *source;
    struct stat info;
    SR_TRY(sr__string(ld, json, at, &path));
    SR_TRY(sr__resolve_path(ld, at->source, path, &file, &shown));
    SR_TRY(directory_of(ld, file, &directory));
    SR_TRY(directory_of(ld, shown, &prefix));
    SR_TRY(new_source(ld, file, directory, prefix, &source));
    status = read_file(file, &source->text, &source->length, &info, ld->err);
    if (status != SR_OK) {
        return sr__wrong_there(ld, at, status);
    }
    source->device = (uint64_t)info.st_dev;
    source->inode = (uint64_t)info.st_ino;
    source->includer = at->source;
    SR_TRY(check_cycle(ld, source, at));
    SR_TRY(merge_source(ld, source, top));
done:
    return status;
}

/* The keys that the includer lacks come from the included file, as whole values. */
static sr_status merge_source(sr__loader *ld, sr__source *source, sr__top *top) {
    sr_status status;
    const cJSON *fields[SR__TOP_COUNT];
    SR_TRY(parse(ld, source));
    sr__at *root = &top->roots[top->n_roots++];
    *root = (sr__at){NULL, source, NULL, 0, false};
    SR_TRY(sr__fields(ld, source->root, root, sr__top_keys, SR__TOP_COUNT, fields));
    if (fields[SR__TOP_SCHED_RUN]) {
        SR_TRY(check_version(ld, fields[SR__TOP_SCHED_RUN], root));
    } else if (!source->includer) {
        SR_TRY(sr__wrong(ld, root, "no \"sched_run\": 1, so this is no graph description"));
    }
    for (int i = 0; i < SR__TOP_COUNT; i++) {
        if (fields[i] && !top->json[i] && i != SR__TOP_INCLUDE) {
            top->json[i] = fields[i];
            top->at[i] = sr__at_key(root, sr__top_keys[i]);
        }
    }
    if (fields[SR__TOP_INCLUDE]) {
        sr__at at = sr__at_key(root, sr__top_keys[SR__TOP_INCLUDE]);
        SR_TRY(include(ld, fields[SR__TOP_INCLUDE], &at, top));
    }
done:
    return status;
}

sr_status sr__load_file(sr__loader *ld, const char *path, sr__top *top) {
    sr_status status;
    const char *directory;
    sr__source *source;
    struct stat info;
    SR_TRY(directory_of(ld, path, &directory));
    SR_TRY(new_source(ld, path, directory, "", &source));
    SR_TRY(read_file(path, &source->text, &source->length, &info, ld->err));
    source->device = (uint64_t)info.st_dev;
    source->inode = (uint64_t)info.st_ino;
    SR_TRY(merge_source(ld, source, top));
done:
    return status;
}

sr_status sr__load_text(sr__loader *ld, const char *text, size_t length, const char *name, const char *directory,
                        sr__top *top) {
    sr_status status;
    sr__source *source;
    const char *slashed = directory ? directory : "";
    if (*slashed && slashed[strlen(slashed) - 1] != '/') {
        SR_TRY(join(ld, &ld->json, slashed, strlen(slashed), "/", &slashed));
    }
    SR_TRY(new_source(ld, name ? name : "(text)", slashed, "", &source));
    source->text = sr__malloc(length + 1);
    if (!source->text) {
        return sr__no_memory(ld);
    }
    memcpy(source->text, text, length);
    source->text[length] = '\0';
    source->length = length;
    SR_TRY(merge_source(ld, source, top));
done:
    return status;
}
