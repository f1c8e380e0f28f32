/*
 * gguf.c - a reader of GGUF files that trusts nothing in them.
 *
 * Layer: describe.  Answers to gguf.cpp of the reference; stricter where that would crash (an empty key, an alignment
 * of another type, extents of 0 in the overflow check).  The file is mapped; every length is compared with what is left
 * of it before it is used, so that a few bytes cannot ask for much memory.
 */
#include "describe/gguf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "describe/loader.h"

enum { T_U8, T_I8, T_U16, T_I16, T_U32, T_I32, T_F32, T_BOOL, T_STRING, T_ARRAY, T_U64, T_I64, T_F64, T_COUNT };
enum { HEADER = 24, MAX_KEY = 65535, MAX_NAME = 63, MAX_ALIGNMENT = 1 << 20, MAX_COUNT = 1 << 30 };

static const uint8_t value_bytes[T_COUNT] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

typedef struct key_value {
    const char *key;
    uint32_t type, element; /* element: of an array */
    uint64_t count;         /* of an array, or 1 */
    const uint8_t *value;
} key_value;

struct sr__gguf {
    char *path;
    const uint8_t *bytes;
    size_t size;
    sr__arena arena;
    key_value *keys;
    sr__gguf_tensor *tensors;
    sr__map key_index, tensor_index;
    size_t n_keys, n_tensors;
    uint64_t alignment;
};

/* Where reading stands; `subject` is what a message names. */
typedef struct cursor {
    sr__gguf *gguf;
    size_t at;
    const char *kind, *subject;
    sr_error *err;
} cursor;

static sr_status refuse(const cursor *c, const char *what) {
    if (c->subject) {
        return sr__fail(c->err, SR_DESCRIPTION, "'%s' at byte %zu: %s '%s': %s", c->gguf->path, c->at, c->kind,
                        c->subject, what);
    }
    return sr__fail(c->err, SR_DESCRIPTION, "'%s' at byte %zu: %s", c->gguf->path, c->at, what);
}

static size_t left(const cursor *c) { return c->gguf->size - c->at; }

static sr_status truncated(const cursor *c) { return refuse(c, "the file ends here, in the middle of its header"); }

static uint64_t get(const uint8_t *p, int n) {
    uint64_t value = 0;
    for (int i = n; i-- > 0;) {
        value = value << 8 | p[i];
    }
    return value;
}

static sr_status read_int(cursor *c, int n, uint64_t *out) {
    if (left(c) < (size_t)n) {
        return truncated(c);
    }
    *out = get(c->gguf->bytes + c->at, n);
    c->at += (size_t)n;
    return SR_OK;
}

static sr_status read_u32(cursor *c, uint32_t *out) {
    uint64_t value = 0;
    sr_status status = read_int(c, 4, &value);
    *out = (uint32_t)value;
    return status;
}

static sr_status read_name(cursor *c, size_t min, size_t max, const char *what, const char **out) {
    uint64_t n = 0;
    sr_status status;
    SR_TRY(read_int(c, 8, &n));
    if (n > left(c)) {
        SR_TRY(truncated(c));
    }
    if (n < min || n > max) {
        SR_TRY(refuse(c, what));
    }
    const char *text = (const char *)c->gguf->bytes + c->at;
    if (memchr(text, 0, n)) {
        SR_TRY(refuse(c, "a zero byte in a name"));
    }
    char *copy = sr__arena_alloc(&c->gguf->arena, n + 1);
    if (!copy) {
        SR_TRY(sr__fail_memory(c->err));
    }
    memcpy(copy, text, n);
    copy[n] = '\0';
    c->at += n;
    *out = copy;
done:
    return status;
}

static sr_status skip_strings(cursor *c, uint64_t count) {
    if (count > left(c) / 8) {
        return truncated(c);
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t n = 0;
        sr_status status = read_int(c, 8, &n);
        if (status != SR_OK) {
            return status;
        }
        if (n > left(c)) {
            return truncated(c);
        }
        c->at += n;
    }
    return SR_OK;
}

static sr_status read_value(cursor *c, key_value *kv) {
    sr_status status;
    SR_TRY(read_u32(c, &kv->type));
    kv->count = 1;
    kv->element = kv->type;
    if (kv->type == T_ARRAY) {
        SR_TRY(read_u32(c, &kv->element));
        SR_TRY(read_int(c, 8, &kv->count));
    }
    if (kv->type >= T_COUNT || kv->element >= T_COUNT || kv->element == T_ARRAY) {
        SR_TRY(refuse(c, kv->type == T_ARRAY ? "an array of an unknown type" : "a value of an unknown type"));
    }
    if (kv->count > MAX_COUNT) {
        SR_TRY(refuse(c, "an array of more than 2^30 elements"));
    }
    kv->value = c->gguf->bytes + c->at;
    if (kv->element == T_STRING) {
        SR_TRY(skip_strings(c, kv->count));
    } else {
        if (kv->count > left(c) / value_bytes[kv->element]) {
            SR_TRY(truncated(c));
        }
        c->at += kv->count * value_bytes[kv->element];
    }
    for (uint64_t i = 0; kv->element == T_BOOL && i < kv->count; i++) {
        if (kv->value[i] > 1) {
            SR_TRY(refuse(c, "a boolean that is neither 0 nor 1"));
        }
    }
done:
    return status;
}

static sr_status take_alignment(const cursor *c, const key_value *kv) {
    if (kv->type != T_U32) {
        return refuse(c, "the alignment is not of type u32");
    }
    uint64_t alignment = get(kv->value, 4);
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > MAX_ALIGNMENT) {
        return refuse(c, "the alignment is not a power of two of at most 2^20");
    }
    c->gguf->alignment = alignment;
    return SR_OK;
}

static sr_status read_keys(cursor *c, uint64_t n) {
    sr__gguf *g = c->gguf;
    sr_status status = SR_OK;
    if (n > left(c) / 13) {
        return refuse(c, "more key-value pairs than the file can hold");
    }
    g->keys = sr__calloc(n + 1, sizeof(*g->keys));
    if (!g->keys) {
        return sr__fail_memory(c->err);
    }
    c->kind = "key";
    for (uint64_t i = 0; i < n; i++) {
        key_value *kv = &g->keys[i];
        c->subject = NULL;
        SR_TRY(read_name(c, 1, MAX_KEY, "a key must have 1 to 65535 bytes", &kv->key));
        c->subject = kv->key;
        if (sr__map_get(&g->key_index, kv->key, -1) >= 0) {
            SR_TRY(refuse(c, "the key stands there twice"));
        }
        SR_TRY(read_value(c, kv));
        if (!sr__map_put(&g->key_index, kv->key, (int32_t)i)) {
            SR_TRY(sr__fail_memory(c->err));
        }
        g->n_keys++;
        if (strcmp(kv->key, "general.alignment") == 0) {
            SR_TRY(take_alignment(c, kv));
        }
    }
    c->subject = NULL;
done:
    return status;
}

/* Extents, type and size of one tensor. */
static sr_status read_shape(cursor *c, sr__gguf_tensor *t) {
    sr_status status;
    uint32_t n_dims = 0, type = 0;
    uint64_t n = 0;
    size_t count = 1;
    SR_TRY(read_u32(c, &n_dims));
    if (n_dims > SR_MAX_DIMS) {
        SR_TRY(refuse(c, "more than 4 dimensions"));
    }
    t->n_dims = (int)n_dims;
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        n = 1;
        if (d < t->n_dims) {
            SR_TRY(read_int(c, 8, &n));
        }
        if (n == 0 || n > INT64_MAX || !sr__mul_size(count, (size_t)n, &count) || count > INT64_MAX) {
            SR_TRY(refuse(c, n == 0 ? "an extent of 0" : "its extents are too large"));
        }
        t->ne[d] = (int64_t)n;
    }
    SR_TRY(read_u32(c, &type));
    const sr_type_info *info = sr_type_get(type > INT32_MAX ? -1 : (int)type);
    if (info->block == 0) {
        SR_TRY(refuse(c, "a type that does not exist"));
    }
    if (t->ne[0] % info->block != 0) {
        SR_TRY(refuse(c, "its rows are no whole number of the type's blocks"));
    }
    t->type = (int)type;
    if (!sr__mul_size(count / (size_t)info->block, (size_t)info->bytes, &t->size) || t->size > INT64_MAX) {
        SR_TRY(refuse(c, "it is too large"));
    }
done:
    return status;
}

/* Offsets are kept in `data` as numbers until the start of the data is known. */
static sr_status read_tensors(cursor *c, uint64_t n, uint64_t **out_offsets) {
    sr__gguf *g = c->gguf;
    sr_status status = SR_OK;
    if (n > left(c) / 24) {
        return refuse(c, "more tensors than the file can hold");
    }
    g->tensors = sr__calloc(n + 1, sizeof(*g->tensors));
    *out_offsets = sr__calloc(n + 1, sizeof(**out_offsets));
    if (!g->tensors || !*out_offsets) {
        return sr__fail_memory(c->err);
    }
    size_t expected = 0;
    c->kind = "tensor";
    for (uint64_t i = 0; i < n; i++) {
        sr__gguf_tensor *t = &g->tensors[i];
        c->subject = NULL;
        SR_TRY(read_name(c, 0, MAX_NAME, "a tensor's name has at most 63 bytes", &t->name));
        c->subject = t->name;
        if (sr__map_get(&g->tensor_index, t->name, -1) >= 0) {
            SR_TRY(refuse(c, "the name stands there twice"));
        }
        SR_TRY(read_shape(c, t));
        SR_TRY(read_int(c, 8, &(*out_offsets)[i]));
        if ((*out_offsets)[i] != expected) {
            SR_TRY(refuse(c, "its data does not follow the tensor's before it"));
        }
        size_t padded;
        if (!sr__align_up(t->size, g->alignment, &padded) || !sr__add_size(expected, padded, &expected)) {
            SR_TRY(refuse(c, "the data is too large"));
        }
        if (!sr__map_put(&g->tensor_index, t->name, (int32_t)i)) {
            SR_TRY(sr__fail_memory(c->err));
        }
        g->n_tensors++;
    }
    c->subject = NULL;
done:
    return status;
}

static sr_status place_data(cursor *c, const uint64_t *offsets) {
    sr__gguf *g = c->gguf;
    size_t start;
    if (!sr__align_up(c->at, g->alignment, &start)) {
        return refuse(c, "the data is too large");
    }
    for (size_t i = 0; i < g->n_tensors; i++) {
        sr__gguf_tensor *t = &g->tensors[i];
        size_t begin, end;
        c->kind = "tensor";
        c->subject = t->name;
        if (!sr__add_size(start, offsets[i], &begin) || !sr__add_size(begin, t->size, &end) || end > g->size) {
            return refuse(c, "its data lies beyond the end of the file: is the file cut off?");
        }
        t->data = g->bytes + begin;
    }
    return SR_OK;
}

static sr_status read_header(cursor *c, uint64_t *out_tensors, uint64_t *out_keys) {
    const sr__gguf *g = c->gguf;
    uint32_t version = 0;
    sr_status status;
    if (g->size < HEADER || memcmp(g->bytes, "GGUF", 4) != 0) {
        return refuse(c, "this is no GGUF file");
    }
    c->at = 4;
    SR_TRY(read_u32(c, &version));
    if ((version & 0xFFFF) == 0 && version != 0) {
        SR_TRY(refuse(c, "the file is of the other byte order"));
    }
    if (version < 2 || version > 3) {
        SR_TRY(refuse(c, "its version is not 2 or 3"));
    }
    SR_TRY(read_int(c, 8, out_tensors));
    SR_TRY(read_int(c, 8, out_keys));
done:
    return status;
}

static sr_status map_file(sr__gguf *g, sr_error *err) {
    struct stat info;
    int file = open(g->path, O_RDONLY | O_CLOEXEC);
    int number = file < 0 ? errno : 0;
    if (file >= 0 && fstat(file, &info) != 0) {
        number = errno;
    } else if (file >= 0 && !S_ISREG(info.st_mode)) {
        number = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    } else if (file >= 0 && info.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes == MAP_FAILED) {
            number = errno;
        } else {
            g->bytes = bytes;
            g->size = (size_t)info.st_size;
        }
    }
    if (file >= 0) {
        close(file);
    }
    char text[128];
    return number ? sr__fail(err, SR_IO, "cannot read '%s': %s", g->path, strerror_r(number, text, sizeof(text)))
                  : SR_OK;
}

sr_status sr__gguf_open(const char *path, sr__gguf **out_gguf, sr_error *err) {
    sr_status status;
    uint64_t n_tensors = 0, n_keys = 0, *offsets = NULL;
    sr__gguf *g = sr__calloc(1, sizeof(*g));
    *out_gguf = NULL;
    if (!g) {
        return sr__fail_memory(err);
    }
    sr__arena_init(&g->arena, 0);
    g->alignment = 32;
    g->path = sr__strdup(path);
    if (!g->path) {
        SR_TRY(sr__fail_memory(err));
    }
    SR_TRY(map_file(g, err));
    cursor c = {g, 0, "file", NULL, err};
    SR_TRY(read_header(&c, &n_tensors, &n_keys));
    SR_TRY(read_keys(&c, n_keys));
    SR_TRY(read_tensors(&c, n_tensors, &offsets));
    SR_TRY(place_data(&c, offsets));
    *out_gguf = g;
    g = NULL;
done:
    sr__free(offsets);
    sr__gguf_close(g);
    return status;
}

void sr__gguf_close(sr__gguf *g) {
    if (!g) {
        return;
    }
    if (g->bytes) {
        munmap((void *)(uintptr_t)g->bytes, g->size);
    }
    sr__map_free(&g->key_index);
    sr__map_free(&g->tensor_index);
    sr__arena_free(&g->arena);
    sr__free(g->keys);
    sr__free(g->tensors);
    sr__free(g->path);
    sr__free(g);
}

const char *sr__gguf_path(const sr__gguf *g) { return g->path; }

const sr__gguf_tensor *sr__gguf_find(const sr__gguf *g, const char *name) {
    int32_t i = sr__map_get(&g->tensor_index, name, -1);
    return i < 0 ? NULL : &g->tensors[i];
}

/* Element i of a value; false: an integer that no double holds. */
static bool number_at(const key_value *kv, uint64_t i, double *out) {
    int n = value_bytes[kv->element];
    uint64_t raw = get(kv->value + i * (uint64_t)n, n);
    union { uint32_t u; float f; } single = {(uint32_t)raw};
    union { uint64_t u; double f; } wide = {raw};
    bool negative = (kv->element == T_I8 || kv->element == T_I16 || kv->element == T_I32 || kv->element == T_I64) &&
                    (raw >> (8 * n - 1)) != 0;
    if (kv->element == T_F32 || kv->element == T_F64) {
        *out = kv->element == T_F32 ? (double)single.f : wide.f;
        return *out - *out == 0; /* neither NaN nor infinite */
    }
    *out = (double)raw;
    return !negative && raw <= UINT64_C(1) << 53;
}

sr_status sr__gguf_number(const sr__gguf *g, const char *key, bool *out_found, double *out_value, sr_error *err) {
    int32_t at = sr__map_get(&g->key_index, key, -1);
    *out_found = at >= 0;
    if (at < 0) {
        return SR_OK;
    }
    const key_value *kv = &g->keys[at];
    if (kv->element == T_STRING) {
        *out_value = (double)kv->count;
        return kv->type == T_ARRAY ? SR_OK : sr__fail(err, SR_INVALID, "'%s': key '%s' is a string", g->path, key);
    }
    if (kv->count == 0) {
        return sr__fail(err, SR_INVALID, "'%s': key '%s' is an empty array", g->path, key);
    }
    for (uint64_t i = 0; i < kv->count; i++) {
        double value = 0;
        if (!number_at(kv, i, &value)) {
            return sr__fail(err, SR_INVALID, "'%s': key '%s' is negative, or too large to be exact", g->path, key);
        }
        if (i > 0 && value != *out_value) {
            return sr__fail(err, SR_INVALID, "'%s': key '%s' is an array of different numbers", g->path, key);
        }
        *out_value = value;
    }
    return SR_OK;
}

/* ---- the files of a description ---------------------------------------------------------------------------------- */


sr_status sr__open_weights(sr_description *d, sr_error *err) {
    return d->gguf || !d->weights ? SR_OK : sr__gguf_open(d->weights, &d->gguf, err);
}

sr_status sr__open_data_file(sr_description *d, const char *path, sr__gguf **out_gguf, sr_error *err) {
    for (size_t i = 0; i < d->n_data_files; i++) {
        if (strcmp(d->data_files[i]->path, path) == 0) {
            *out_gguf = d->data_files[i];
            return SR_OK;
        }
    }
    if (!sr__grow(&d->data_files, &d->data_files_cap, d->n_data_files + 1, sizeof(*d->data_files))) {
        return sr__fail_memory(err);
    }
    sr_status status = sr__gguf_open(path, out_gguf, err);
    if (status == SR_OK) {
        d->data_files[d->n_data_files++] = *out_gguf;
    }
    return status;
}
