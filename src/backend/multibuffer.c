/*
 * multibuffer.c - one buffer made of several of one type.
 *
 * Layer: backend.  Answers to ggml_backend_multi_buffer_* of the reference, which can only clear and free one.  Here
 * offsets run through the parts in order, so that a multi-buffer can be read and written like any other.
 */
#include "base/base.h"
#include "sched_run/backend.h"

typedef struct multi_buffer {
    sr_buffer buffer;
    sr_buffer **parts;
    int n;
} multi_buffer;

static void free_all(sr_buffer **buffers, int n) {
    for (int i = 0; i < n; i++) {
        sr_buffer_free(buffers[i]);
    }
}

static void multi_free(sr_buffer *buffer) {
    multi_buffer *m = buffer->context;
    free_all(m->parts, m->n);
    sr__free(m->parts);
    sr__free(m);
}

/* The next run of bytes that lies in one part: moves *offset, *size past it. */
static sr_buffer *next_run(const multi_buffer *m, int *part, size_t *offset, size_t *size, size_t *out_offset,
                           size_t *out_size) {
    while (*size > 0 && *part < m->n) {
        sr_buffer *buffer = m->parts[*part];
        if (*offset < buffer->size) {
            const size_t left = buffer->size - *offset;
            *out_offset = *offset;
            *out_size = *size < left ? *size : left;
            *offset = 0;
            *size -= *out_size;
            (*part)++;
            return buffer;
        }
        *offset -= buffer->size;
        (*part)++;
    }
    return NULL;
}

static sr_status multi_memset(sr_buffer *buffer, uint8_t value, size_t offset, size_t size, sr_error *err) {
    const multi_buffer *m = buffer->context;
    sr_status status = SR_OK;
    size_t at, n;
    int part = 0;
    for (sr_buffer *b; status == SR_OK && (b = next_run(m, &part, &offset, &size, &at, &n)) != NULL;) {
        status = sr_buffer_memset(b, value, at, n, err);
    }
    return status;
}

static sr_status multi_set(sr_buffer *buffer, const void *data, size_t offset, size_t size, sr_error *err) {
    const multi_buffer *m = buffer->context;
    const char *from = data;
    sr_status status = SR_OK;
    size_t at, n;
    int part = 0;
    for (sr_buffer *b; status == SR_OK && (b = next_run(m, &part, &offset, &size, &at, &n)) != NULL; from += n) {
        status = sr_buffer_set(b, from, at, n, err);
    }
    return status;
}

static sr_status multi_get(const sr_buffer *buffer, void *data, size_t offset, size_t size, sr_error *err) {
    const multi_buffer *m = buffer->context;
    char *to = data;
    sr_status status = SR_OK;
    size_t at, n;
    int part = 0;
    for (sr_buffer *b; status == SR_OK && (b = next_run(m, &part, &offset, &size, &at, &n)) != NULL; to += n) {
        status = sr_buffer_get(b, to, at, n, err);
    }
    return status;
}

static void multi_reset(sr_buffer *buffer) {
    const multi_buffer *m = buffer->context;
    for (int i = 0; i < m->n; i++) {
        sr_buffer_reset(m->parts[i]);
    }
}

static const sr_buffer_i multi_buffer_i = {
    .free = multi_free,
    .memset = multi_memset,
    .set = multi_set,
    .get = multi_get,
    .reset = multi_reset,
};

static sr_status check_parts(sr_buffer **buffers, int n, size_t *out_size, sr_error *err) {
    *out_size = 0;
    if (n < 1) {
        return sr__fail(err, SR_INVALID, "a multi-buffer needs at least one part");
    }
    for (int i = 0; i < n; i++) {
        if (buffers[i]->type != buffers[0]->type) {
            return sr__fail(err, SR_INVALID, "a multi-buffer of '%s' cannot have a part of '%s'",
                            buffers[0]->type->name, buffers[i]->type->name);
        }
        if (!sr__add_size(*out_size, buffers[i]->size, out_size)) {
            return sr__fail(err, SR_INVALID, "a multi-buffer of '%s' is too large", buffers[0]->type->name);
        }
    }
    return SR_OK;
}

sr_status sr_multi_buffer_new(sr_buffer **buffers, int n, sr_buffer **out_buffer, sr_error *err) {
    multi_buffer *m = NULL;
    sr_status status;
    size_t size;
    *out_buffer = NULL;
    SR_TRY(check_parts(buffers, n, &size, err));
    m = sr__calloc(1, sizeof(*m));
    if (m) {
        m->parts = sr__malloc((size_t)n * sizeof(*m->parts));
    }
    if (!m || !m->parts) {
        SR_TRY(sr__fail_memory(err));
    }
    memcpy(m->parts, buffers, (size_t)n * sizeof(*m->parts));
    m->n = n;
    m->buffer = (sr_buffer){.iface = &multi_buffer_i, .type = buffers[0]->type, .size = size, .context = m};
    *out_buffer = &m->buffer;
    return SR_OK;
done:
    free_all(buffers, n);
    sr__free(m);
    return status;
}

bool sr_buffer_is_multi(const sr_buffer *buffer) {
    return buffer->iface == &multi_buffer_i;
}

void sr_buffer_set_usage(sr_buffer *buffer, sr_usage usage) {
    buffer->usage = usage;
    if (sr_buffer_is_multi(buffer)) {
        const multi_buffer *m = buffer->context;
        for (int i = 0; i < m->n; i++) {
            sr_buffer_set_usage(m->parts[i], usage);
        }
    }
}
