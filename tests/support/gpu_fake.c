/*
 * gpu_fake.c - a language for backends/gpu without a device: its queues run only when somebody waits for them.
 *
 * Layer: tests.
 */
#include "support/gpu_fake.h"

fake_state fake;

void fake_reset(void) { fake = (fake_state){.capacity = (size_t)1 << 24}; }

struct sr__gpu_memory {
    size_t size;
    char *data;
};

/* A command of a queue; all of it is copied but the memory that it works on. */
typedef struct command {
    struct command *next;
    enum { MOVE, FILL, ADD, MARK, WAIT } kind;
    char *to;
    const char *from;
    char *staged;
    size_t size;
    uint8_t value;
    gpu_tensor place[3];
    char *memory[3];
    sr__gpu_event *event;
    long ticket;
    struct fake_stream *other;
} command;

typedef struct fake_stream {
    sr__gpu_stream base;
    command *first, **last;
    bool timed;
} fake_stream;

struct sr__gpu_event {
    fake_stream *stream; /* where it was recorded last, or NULL */
    long ticket, reached; /* of the last record; the highest one reached */
    uint64_t time;
    bool timed;
    int refs;             /* the owner, and commands that name it */
};

static void event_unref(sr__gpu_event *event) {
    if (event && --event->refs == 0) {
        sr__free(event);
    }
}

static sr_status step(const char *what, sr_error *err) {
    if (++fake.calls != fake.fail_at) {
        return SR_OK;
    }
    return sr__fail(err, fake.fail_with == SR_OK ? SR_COMPUTE : fake.fail_with, "%s failed", what);
}

/* ---- running queues ---------------------------------------------------------------------------------------------- */

static void run_until(fake_stream *s, const sr__gpu_event *event, long ticket);

static void add_rows(const command *c) {
    const gpu_tensor *y = &c->place[0], *a = &c->place[1], *b = &c->place[2];
    for (int64_t i = 0; i < y->ne[0] * y->ne[1]; i++) {
        float left, right;
        memcpy(&left, c->memory[1] + a->offset + i * 4, 4);
        memcpy(&right, c->memory[2] + b->offset + i * 4, 4);
        left += right;
        memcpy(c->memory[0] + y->offset + i * 4, &left, 4);
    }
}

static void run_one(fake_stream *s) {
    command *c = s->first;
    s->first = c->next;
    if (!s->first) {
        s->last = &s->first;
    }
    fake.clock += 1000;
    switch (c->kind) {
    case MOVE: memmove(c->to, c->staged ? c->staged : c->from, c->size); break;
    case FILL: memset(c->to, c->value, c->size); break;
    case ADD: add_rows(c); break;
    case MARK:
        c->event->reached = c->ticket;
        c->event->time = fake.clock;
        c->event->timed = s->timed;
        break;
    case WAIT: run_until(c->other, c->event, c->ticket); break;
    }
    event_unref(c->event);
    sr__free(c->staged);
    sr__free(c);
}

static void run_until(fake_stream *s, const sr__gpu_event *event, long ticket) {
    while (event->reached < ticket && s->first) { /* a stream that is gone has reached everything */
        run_one(s);
    }
}

static void run_all(fake_stream *s) {
    while (s->first) {
        run_one(s);
    }
}

static sr_status push(sr__gpu_stream *stream, command c, sr_error *err) {
    fake_stream *s = (fake_stream *)stream;
    command *own = sr__malloc(sizeof(*own));
    if (!own) {
        sr__free(c.staged);
        return sr__fail_memory(err);
    }
    *own = c;
    own->next = NULL;
    if (own->event) {
        own->event->refs++;
    }
    *s->last = own;
    s->last = &own->next;
    return SR_OK;
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

static int device_count(const char **out_why_none) {
    (void)out_why_none;
    return 2;
}

static sr_status device_describe(int index, const char **out_description, size_t *out_free, size_t *out_total) {
    (void)index;
    *out_description = "a fake";
    *out_free = *out_total = fake.capacity;
    return SR_OK;
}

static sr_status open_device(const sr__gpu_runtime *runtime, int index, sr__gpu_device **out_device, sr_error *err) {
    const sr_status status = step("device_open", err);
    sr__gpu_device *d = status == SR_OK ? sr__calloc(1, sizeof(*d)) : NULL;
    if (!d) {
        return status == SR_OK ? sr__fail_memory(err) : status;
    }
    *d = (sr__gpu_device){.runtime = runtime, .index = index, .description = "a fake", .alignment = 64,
                          .max_buffer = (size_t)1 << 22, .total_memory = fake.capacity, .local_memory = 1 << 15,
                          .max_group = 256};
    fake.live++;
    *out_device = d;
    return SR_OK;
}

static sr_status device_open(int index, sr__gpu_device **out_device, sr_error *err) {
    return open_device(&fake_runtime, index, out_device, err);
}

static sr_status device_open_plain(int index, sr__gpu_device **out_device, sr_error *err) {
    return open_device(&fake_plain_runtime, index, out_device, err);
}

static void device_close(sr__gpu_device *device) {
    fake.live--;
    sr__free(device);
}

static void device_memory(sr__gpu_device *device, size_t *out_free, size_t *out_total) {
    (void)device;
    *out_free = fake.capacity;
    *out_total = (size_t)1 << 24;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static sr_status memory_new(sr__gpu_device *device, size_t size, sr__gpu_memory **out_memory, sr_error *err) {
    (void)device;
    *out_memory = NULL;
    if (size > fake.capacity) {
        return SR_ALLOCATION;
    }
    const sr_status status = step("memory_new", err);
    sr__gpu_memory *m = status == SR_OK ? sr__calloc(1, sizeof(*m)) : NULL;
    if (m) {
        m->data = sr__malloc(size);
    }
    if (!m || !m->data) {
        sr__free(m);
        return status == SR_OK ? sr__fail_memory(err) : status;
    }
    memset(m->data, 0xA5, size);
    m->size = size;
    fake.capacity -= size;
    fake.live++;
    *out_memory = m;
    return SR_OK;
}

static void memory_free(sr__gpu_memory *memory) {
    fake.capacity += memory->size;
    fake.live--;
    sr__free(memory->data);
    sr__free(memory);
}

static sr_status host_memory_new(sr__gpu_device *device, size_t size, void **out_memory, sr_error *err) {
    (void)device;
    const sr_status status = step("host_memory_new", err);
    *out_memory = status == SR_OK ? sr__malloc(size) : NULL;
    fake.live += *out_memory != NULL;
    return *out_memory ? SR_OK : status == SR_OK ? sr__fail_memory(err) : status;
}

static void host_memory_free(sr__gpu_device *device, void *memory) {
    (void)device;
    fake.live--;
    sr__free(memory);
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static sr_status stream_new(sr__gpu_device *device, sr__gpu_stream **out_stream, sr_error *err) {
    const sr_status status = step("stream_new", err);
    fake_stream *s = status == SR_OK ? sr__calloc(1, sizeof(*s)) : NULL;
    if (!s) {
        return status == SR_OK ? sr__fail_memory(err) : status;
    }
    s->base.device = device;
    s->last = &s->first;
    fake.live++;
    *out_stream = &s->base;
    return SR_OK;
}

static void stream_free(sr__gpu_stream *stream) {
    run_all((fake_stream *)stream);
    fake.live--;
    sr__free(stream);
}

static sr_status stream_synchronize(sr__gpu_stream *stream, sr_error *err) {
    const sr_status status = step("stream_synchronize", err);
    run_all((fake_stream *)stream);
    return status;
}

static sr_status stream_flush(sr__gpu_stream *stream, sr_error *err) {
    (void)stream;
    return step("stream_flush", err);
}

static sr_status stream_keep_times(sr__gpu_stream *stream, sr_error *err) {
    ((fake_stream *)stream)->timed = true;
    return step("stream_keep_times", err);
}

static sr_status fake_write(sr__gpu_stream *stream, sr__gpu_memory *memory, size_t offset, const void *data,
                            size_t size, sr_error *err) {
    const sr_status status = step("write", err);
    if (status != SR_OK) {
        return status;
    }
    assert_true(offset + size <= memory->size);
    char *staged = sr__malloc(size);
    if (!staged) {
        return sr__fail_memory(err);
    }
    memcpy(staged, data, size);
    return push(stream, (command){.kind = MOVE, .to = memory->data + offset, .staged = staged, .size = size}, err);
}

static sr_status fake_read(sr__gpu_stream *stream, sr__gpu_memory *memory, size_t offset, void *data, size_t size,
                           sr_error *err) {
    const sr_status status = step("read", err);
    assert_true(offset + size <= memory->size);
    return status != SR_OK ? status : push(stream, (command){.kind = MOVE, .to = data, .from = memory->data + offset,
                                                             .size = size}, err);
}

static sr_status fill(sr__gpu_stream *stream, sr__gpu_memory *memory, uint8_t value, size_t offset, size_t size,
                      sr_error *err) {
    const sr_status status = step("fill", err);
    assert_true(offset + size <= memory->size);
    return status != SR_OK ? status : push(stream, (command){.kind = FILL, .to = memory->data + offset, .value = value,
                                                             .size = size}, err);
}

static sr_status copy(sr__gpu_stream *stream, sr__gpu_memory *dst, size_t dst_offset, sr__gpu_memory *src,
                      size_t src_offset, size_t size, bool *done, sr_error *err) {
    const sr_status status = step("copy", err);
    *done = !fake.cannot_copy && status == SR_OK;
    if (!*done) {
        return status;
    }
    assert_true(dst != src || dst_offset + size <= src_offset || src_offset + size <= dst_offset);
    assert_true(dst_offset + size <= dst->size && src_offset + size <= src->size);
    fake.scratch_copies += dst == stream->scratch;
    return push(stream, (command){.kind = MOVE, .to = dst->data + dst_offset, .from = src->data + src_offset,
                                  .size = size}, err);
}

/* It knows gpu_binary, as an addition of rows of f32. */
static sr_status launch(sr__gpu_stream *stream, const sr__gpu_launch *l, sr_error *err) {
    const sr_status status = step("launch", err);
    command c = {.kind = ADD};
    if (status != SR_OK) {
        return status;
    }
    fake.launches++;
    assert_int_equal(l->kernel, SR_GPU_KERNEL_gpu_binary);
    for (int i = 0; i < 3; i++) {
        c.memory[i] = l->args[2 * i].memory->data;
        memcpy(&c.place[i], l->args[2 * i + 1].value, sizeof(gpu_tensor));
    }
    return push(stream, c, err);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static sr_status event_new(sr__gpu_device *device, sr__gpu_event **out_event, sr_error *err) {
    (void)device;
    const sr_status status = step("event_new", err);
    *out_event = status == SR_OK ? sr__calloc(1, sizeof(**out_event)) : NULL;
    if (*out_event) {
        (*out_event)->refs = 1;
        fake.live++;
    }
    return *out_event ? SR_OK : status == SR_OK ? sr__fail_memory(err) : status;
}

/* What records it or waits for it may still stand in a queue. */
static void event_free(sr__gpu_event *event) {
    fake.live--;
    event_unref(event);
}

static sr_status event_record(sr__gpu_event *event, sr__gpu_stream *stream, sr_error *err) {
    const sr_status status = step("event_record", err);
    if (status != SR_OK) {
        return status;
    }
    const sr_status pushed = push(stream, (command){.kind = MARK, .event = event, .ticket = event->ticket + 1}, err);
    if (pushed == SR_OK) {
        event->ticket++;
        event->stream = (fake_stream *)stream;
    }
    return pushed;
}

static sr_status event_synchronize(sr__gpu_event *event, sr_error *err) {
    const sr_status status = step("event_synchronize", err);
    if (event->stream) {
        run_until(event->stream, event, event->ticket);
    }
    return status;
}

static sr_status event_wait(sr__gpu_stream *stream, sr__gpu_event *event, sr_error *err) {
    const sr_status status = step("event_wait", err);
    if (status != SR_OK || !event->stream) {
        return status;
    }
    return push(stream, (command){.kind = WAIT, .event = event, .ticket = event->ticket, .other = event->stream}, err);
}

static sr_status event_time(sr__gpu_event *event, uint64_t *out_time, sr_error *err) {
    *out_time = event->time;
    return event->timed ? step("event_time", err) : sr__fail(err, SR_COMPUTE, "no times were kept");
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

#define FAKE_COMMON                                                                                                  \
    .device_count = device_count, .device_describe = device_describe, .device_close = device_close,                  \
    .device_memory = device_memory, .memory_new = memory_new, .memory_free = memory_free, .stream_new = stream_new,   \
    .stream_free = stream_free, .stream_synchronize = stream_synchronize, .write = fake_write, .read = fake_read,     \
    .fill = fill, .copy = copy, .launch = launch, .event_new = event_new, .event_free = event_free,                   \
    .event_record = event_record, .event_synchronize = event_synchronize, .event_wait = event_wait

const sr__gpu_runtime fake_runtime = {
    .name = "fake", .device_open = device_open, FAKE_COMMON,
    .host_memory_new = host_memory_new, .host_memory_free = host_memory_free, .stream_flush = stream_flush,
    .stream_keep_times = stream_keep_times, .event_time = event_time,
};

const sr__gpu_runtime fake_plain_runtime = {.name = "plain", .device_open = device_open_plain, FAKE_COMMON};

/* ---- backends ---------------------------------------------------------------------------------------------------- */

sr_status fake_pair_open(fake_pair *pair, const sr__gpu_runtime *runtime, sr_error *err) {
    sr_status status = SR_OK;
    *pair = (fake_pair){0};
    for (int i = 0; i < 2; i++) {
        pair->config[i] = bf_config(i == 0 ? "A" : "B", "fake");
        SR_TRY(sr__gpu_device_new(runtime, i, &pair->config[i], NULL, -1, &pair->device[i], err));
        pair->backend[i] = (sr_backend){.name = pair->config[i].name, .device = pair->device[i],
                                        .buffer_type = pair->device[i]->buffer_type};
        SR_TRY(pair->device[i]->iface->init_backend(pair->device[i], &pair->backend[i], err));
    }
done:
    return status;
}

void fake_pair_close(fake_pair *pair) {
    for (int i = 0; i < 2; i++) {
        if (pair->backend[i].iface) {
            pair->backend[i].iface->free(&pair->backend[i]);
        }
    }
    for (int i = 0; i < 2; i++) {
        if (pair->device[i]) {
            pair->device[i]->iface->free(pair->device[i]);
        }
    }
}
