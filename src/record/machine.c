/*
 * machine.c - the backends, buffer types and buffers that a scheduler's graphs name.
 *
 * Layer: record.  Answers to ggml_backend_sched_new and the getters of backends, devices and buffer types.
 *
 * Everything is asked once and kept as plain data: when the file is written the program may have freed its backends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/recorder.h"

/* Two is accel, or igpu in newer libraries, which put that before it. */
enum { DEVICE_CPU, DEVICE_GPU, DEVICE_TWO, DEVICE_THREE };

static const char *const usages[] = {"any", "weights", "compute"};

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool is_taken(const machine *m, const char *name, bool of_type) {
    bool taken = false;
    for (int i = 0; i < (of_type ? m->n_types : m->n_backends); i++) {
        const char *other = of_type ? m->types[i].name : m->backends[i].name;
        taken = taken || (other && strcmp(other, name) == 0);
    }
    return taken;
}

/* Names of remote devices hold an address: `RPC0[host:port]`. */
static int visible_length(const char *name) {
    const char *bracket = strchr(name, '[');
    return (int)(recorder_settings.anonymise && bracket ? (size_t)(bracket - name) : strlen(name));
}

/* A copy of the name; where it is taken, with a number. */
static char *unique_name(const machine *m, const char *name, bool of_type) {
    const int n = visible_length(name);
    const size_t size = (size_t)n + 16;
    char *own = malloc(size);
    for (int i = 1; own && i < 1000; i++) {
        snprintf(own, size, i == 1 ? "%.*s" : "%.*s-%d", n, name, i);
        if (own[0] && !is_taken(m, own, of_type)) {
            break;
        }
    }
    return own;
}

/* ---- what is seen ------------------------------------------------------------------------------------------------ */

static int add_type(recording *r, abi_buffer_type *type) {
    machine *m = &r->machine;
    const abi_functions *f = &r->lib->f;
    for (int i = 0; i < m->n_types; i++) {
        if (m->types[i].type == type) {
            return i;
        }
    }
    seen_type *types = realloc(m->types, ((size_t)m->n_types + 1) * sizeof(*types));
    if (!types) {
        return -1;
    }
    m->types = types;
    seen_type seen = {.type = type, .accepted = calloc((size_t)m->n_backends + 1, sizeof(bool)),
                      .name = unique_name(m, f->ggml_backend_buft_name(type), true)};
    if (!seen.accepted || !seen.name) {
        free(seen.accepted);
        free(seen.name);
        return -1;
    }
    seen.alignment = f->ggml_backend_buft_get_alignment(type);
    seen.max_size = f->ggml_backend_buft_get_max_size(type);
    seen.host = f->ggml_backend_buft_is_host(type);
    for (int i = 0; i < m->n_backends; i++) {
        seen.accepted[i] = f->ggml_backend_supports_buft(m->backends[i].backend, type);
    }
    types[m->n_types] = seen;
    return m->n_types++;
}

int machine_buffer(recording *r, abi_buffer *buffer) {
    machine *m = &r->machine;
    abi_buffer_type *type = r->lib->f.ggml_backend_buffer_get_type(buffer);
    int usage = r->lib->f.ggml_backend_buffer_get_usage(buffer);
    usage = usage < ABI_USAGE_ANY || usage > ABI_USAGE_COMPUTE ? ABI_USAGE_ANY : usage;
    for (int i = 0; i < m->n_buffers; i++) {
        if (m->types[m->buffers[i].type].type == type && m->buffers[i].usage == usage) {
            return i;
        }
    }
    const int of = add_type(r, type);
    seen_buffer *buffers = of < 0 ? NULL : realloc(m->buffers, ((size_t)m->n_buffers + 1) * sizeof(*buffers));
    if (!buffers) {
        return -1;
    }
    m->buffers = buffers;
    buffers[m->n_buffers] = (seen_buffer){of, usage};
    return m->n_buffers++;
}

bool machine_take(recording *r, abi_backend **backends, abi_buffer_type **types, int n) {
    machine *m = &r->machine;
    const abi_functions *f = &r->lib->f;
    m->backends = calloc((size_t)n + 1, sizeof(*m->backends));
    bool ok = m->backends != NULL;
    for (int i = 0; ok && i < n; i++) {
        seen_backend *b = &m->backends[i];
        abi_device *device = f->ggml_backend_get_device(backends[i]);
        b->backend = backends[i];
        b->name = unique_name(m, f->ggml_backend_name(backends[i]), false);
        m->n_backends++;
        /* the last one must be a CPU, with a device or, in older libraries, without */
        b->device_type = device ? f->ggml_backend_dev_type(device) : i == n - 1 ? DEVICE_CPU : DEVICE_GPU;
        const char *description = device ? f->ggml_backend_dev_description(device) : NULL;
        b->description = description ? strdup(description) : NULL;
        ok = b->name != NULL;
    }
    for (int i = 0; ok && i < n; i++) {
        abi_buffer_type *type = types[i] ? types[i] : f->ggml_backend_get_default_buffer_type(backends[i]);
        m->backends[i].type = add_type(r, type);
        ok = m->backends[i].type >= 0;
    }
    return ok;
}

void machine_free(machine *m) {
    for (int i = 0; i < m->n_backends; i++) {
        free(m->backends[i].name);
        free(m->backends[i].description);
    }
    for (int i = 0; i < m->n_types; i++) {
        free(m->types[i].name);
        free(m->types[i].accepted);
    }
    free(m->backends);
    free(m->types);
    free(m->buffers);
    *m = (machine){0};
}

/* ---- in writing -------------------------------------------------------------------------------------------------- */

/* A description's own CPU stands for one that works in host memory; everything else is simulated. */
static bool is_cpu(const machine *m, int i) {
    return m->backends[i].device_type == DEVICE_CPU && m->types[m->backends[i].type].host;
}

/* The backend that brings a buffer type with it; -1 where it is listed by itself. */
static int bringer(const machine *m, int type) {
    for (int i = 0; i < m->n_backends; i++) {
        if (m->backends[i].type == type) {
            return is_cpu(m, i) ? -1 : i;
        }
    }
    return -1;
}

static bool is_builtin(const seen_type *type) {
    return strcmp(type->name, "CPU") == 0;
}

static const char *type_word(const machine *m, int i) {
    const seen_type *type = &m->types[m->backends[i].type];
    switch (m->backends[i].device_type) {
    case DEVICE_CPU: return "cpu";
    case DEVICE_TWO: return type->host ? "accel" : "igpu";
    case DEVICE_THREE: return "accel";
    default: return "gpu";
    }
}

static void write_size(json_text *out, const char *key, size_t value) {
    if (value > 0 && value <= (size_t)1 << 53) {
        text_key(out, key);
        text_size(out, value);
    }
}

/* A buffer type's alignment is a power of two in a description; a library may say anything. */
static size_t alignment_of(const seen_type *type) {
    const size_t a = type->alignment;
    return a && (a & (a - 1)) == 0 ? a : 32;
}

static void write_accepts(const machine *m, int backend, json_text *out) {
    bool any = false;
    for (int t = 0; t < m->n_types; t++) {
        const seen_type *type = &m->types[t];
        if (t == m->backends[backend].type || !type->accepted[backend] || (is_cpu(m, backend) && type->host)) {
            continue;
        }
        if (!any) {
            text_key(out, "accepts");
            text_puts(out, "[");
        }
        any = true;
        text_comma(out);
        text_json(out, type->name);
    }
    text_puts(out, any ? "]" : "");
}

static void write_backend(const machine *m, int i, json_text *out) {
    const seen_backend *b = &m->backends[i];
    const seen_type *type = &m->types[b->type];
    text_puts(out, "{");
    text_member(out, "name", b->name);
    text_member(out, "device", is_cpu(m, i) ? "cpu" : "sim");
    if (!is_cpu(m, i)) {
        text_member(out, "type", type_word(m, i));
    }
    if (is_cpu(m, i) ? !is_builtin(type) : strcmp(type->name, b->name) != 0) {
        text_member(out, "buffer_type", type->name);
    }
    if (bringer(m, b->type) == i && !is_builtin(type)) {
        write_size(out, "alignment", alignment_of(type));
        write_size(out, "max_buffer_size", type->max_size);
        text_puts(out, type->host ? ",\"host\":true" : "");
    }
    write_accepts(m, i, out);
    if (is_cpu(m, i)) {
        text_key(out, "ops"); /* the recorded answers stand for those of this CPU */
        text_puts(out, "{}");
    }
    if (b->description) {
        text_member(out, "_description", b->description);
    }
    text_puts(out, "}");
}

static void write_type(const seen_type *type, json_text *out) {
    text_json(out, type->name);
    text_puts(out, ":{");
    write_size(out, "alignment", alignment_of(type));
    write_size(out, "max_size", type->max_size);
    text_key(out, "host");
    text_puts(out, type->host ? "true}" : "false}");
}

void machine_buffer_name(const machine *m, int buffer, json_text *out) {
    const seen_buffer *b = &m->buffers[buffer];
    text_puts(out, m->types[b->type].name);
    text_puts(out, ".");
    text_puts(out, usages[b->usage]);
}

void machine_write(const recording *r, json_text *out) {
    static json_text kept;
    const machine *m = &r->machine;
    json_text name = kept;
    text_puts(out, ",\n\"backends\":[");
    for (int i = 0; i < m->n_backends; i++) {
        text_puts(out, i ? ",\n  " : "\n  ");
        write_backend(m, i, out);
    }
    text_puts(out, "],\n\"buffer_types\":{");
    for (int i = 0; i < m->n_types; i++) {
        if (!is_builtin(&m->types[i]) && bringer(m, i) < 0) {
            text_comma(out);
            write_type(&m->types[i], out);
        }
    }
    text_puts(out, "},\n\"buffers\":{");
    for (int i = 0; i < m->n_buffers; i++) {
        text_comma(out);
        text_empty(&name);
        machine_buffer_name(m, i, &name);
        text_put(&name, "", 1);
        text_json(out, name.failed ? "" : name.data);
        text_puts(out, ":{");
        text_member(out, "type", m->types[m->buffers[i].type].name);
        text_member(out, "usage", usages[m->buffers[i].usage]);
        text_puts(out, "}");
    }
    text_puts(out, "}");
    out->failed = out->failed || name.failed;
    kept = name;
}
