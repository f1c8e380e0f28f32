/*
 * gpu_items.c - a language for backends/gpu that runs the kernels on the host, each work-item on a stack of its own.
 *
 * Layer: tests.  Streams do at once what they are told.
 */
#include "items/gpu_items.h"

#include <pthread.h>
#include <stdlib.h>
#include <ucontext.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#include "backends/gpu/gpu.h"
#include "support/backend_fixture.h"

struct sr__gpu_memory {
    size_t size;
    char *data;
};

struct sr__gpu_event {
    char unused;
};

/* ---- items of a group -------------------------------------------------------------------------------------------- */

/* What the items and who gives them turns have in common is not theirs to race for. */
#define OUTSIDE __attribute__((no_sanitize("thread"), noinline))

enum { ITEM_STACK = 16 << 10, BATCH = 4, SMALL_GROUP = 8 };
enum { DONE = -1, NOT_BEGUN = 0 }; /* or the line of the barrier where an item waits */

typedef struct item {
    ucontext_t context;
    void *fiber;
    int64_t id;
    int line;
    unsigned barriers;
    bool called; /* with the arguments that it takes */
} item;

typedef struct group {
    const sr__gpu_launch *launch;
    items_argument arguments[SR_GPU_MAX_ARGS];
    int64_t id[3];
    item *items, *current;
    char *stacks;
    int64_t n_items;
    ucontext_t context; /* of who gives turns */
    void *fiber;
    int64_t barriers[2]; /* where items meet */
    char *launch_end;   /* where items meet that are through */
    const char *failure;
} group;

static __thread group *running;

#ifdef __SANITIZE_THREAD__
static void fibers_new(group *g) {
    g->fiber = __tsan_get_current_fiber();
    for (int64_t i = 0; i < g->n_items; i++) {
        g->items[i].fiber = __tsan_create_fiber(0);
    }
}

static void fibers_free(group *g) {
    for (int64_t i = 0; i < g->n_items && g->fiber; i++) {
        __tsan_destroy_fiber(g->items[i].fiber);
    }
}
#define SWITCH_FIBER(to) __tsan_switch_to_fiber((to), __tsan_switch_to_fiber_no_sync)
#define REACH(place) __tsan_release(place)
#define SEE(place) __tsan_acquire(place)
#else
static void fibers_new(group *g) { (void)g; }
static void fibers_free(group *g) { (void)g; }
#define SWITCH_FIBER(to) ((void)(to))
#define REACH(place) ((void)(place))
#define SEE(place) ((void)(place))
#endif

OUTSIDE static void leave_item(group *g) {
    SWITCH_FIBER(g->fiber);
    swapcontext(&g->current->context, &g->context);
}

OUTSIDE static void give_turn(group *g, item *i) {
    g->current = i;
    SWITCH_FIBER(i->fiber);
    swapcontext(&g->context, &i->context);
}

OUTSIDE void items_barrier(int line) {
    group *g = running;
    item *i = g->current;
    void *place = &g->barriers[i->barriers++ % 2]; /* who goes on first comes to the next one before others go on */
    i->line = line;
    REACH(place);
    leave_item(g);
    SEE(place);
}

/* Of one dimension: all launches are; groups may have two. */
OUTSIDE int64_t items_local_id(int d) { return d == 0 ? running->current->id : 0; }
OUTSIDE int64_t items_local_size(int d) { return (int64_t)running->launch->group[d]; }
OUTSIDE int64_t items_group_id(int d) { return running->id[d]; }
OUTSIDE int64_t items_group_count(int d) { return (int64_t)running->launch->groups[d]; }

OUTSIDE static void run_item(void) {
    group *g = running;
    g->current->called = items_kernels[g->launch->kernel](g->arguments, g->launch->n_args);
    g->current->line = DONE;
    REACH(g->launch_end);
    leave_item(g);
}

/* Every item from one barrier to the next, in either order; false: all are through, or they have gone apart. */
OUTSIDE static bool run_to_barrier(group *g, bool backwards) {
    for (int64_t k = 0; k < g->n_items; k++) {
        give_turn(g, &g->items[backwards ? g->n_items - 1 - k : k]);
    }
    for (int64_t k = 0; k < g->n_items; k++) {
        if (!g->items[k].called && g->items[k].line == DONE) {
            g->failure = "its arguments are not those of the kernel";
        } else if (g->items[k].line != g->items[0].line) {
            g->failure = "work-items of a group wait at different barriers";
        }
    }
    return !g->failure && g->items[0].line != DONE;
}

OUTSIDE static void *run_group(void *context) {
    group *g = context;
    running = g;
    fibers_new(g);
    for (int64_t k = 0; k < g->n_items; k++) {
        item *i = &g->items[k];
        i->id = k;
        getcontext(&i->context);
        i->context.uc_stack.ss_sp = g->stacks + k * ITEM_STACK;
        i->context.uc_stack.ss_size = ITEM_STACK;
        makecontext(&i->context, run_item, 0);
    }
    bool backwards = (g->id[0] + g->id[1]) % 2 != 0;
    while (run_to_barrier(g, backwards)) {
        backwards = !backwards;
    }
    running = NULL;
    return NULL;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static char *const no_memory = NULL;

static void group_begin(group *g, const sr__gpu_launch *l, char *launch_end, size_t at) {
    *g = (group){.launch = l, .launch_end = launch_end};
    for (int i = 0; i < l->n_args; i++) {
        const sr__gpu_arg *a = &l->args[i];
        g->arguments[i] = (items_argument){a->size > 0 ? a->value : a->memory ? &a->memory->data : &no_memory,
                                           a->size > 0 ? a->size : sizeof(no_memory)};
    }
    g->id[0] = (int64_t)(at % l->groups[0]);
    g->id[1] = (int64_t)(at / l->groups[0]);
    g->n_items = (int64_t)l->group[0];
    g->items = calloc(l->group[0], sizeof(item));
    g->stacks = malloc(l->group[0] * ITEM_STACK);
    assert_true(g->items && g->stacks);
}

static void group_end(group *g) {
    fibers_free(g);
    free(g->items);
    free(g->stacks);
}

/* Under ThreadSanitizer on a thread of its own, which brings local memory; else on this one. */
static void group_run(group *g) {
#ifdef __SANITIZE_THREAD__
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_group, g), 0);
    pthread_join(thread, NULL);
#else
    items_spoil_local_memory();
    run_group(g);
#endif
}

/* Most kernels take groups of any size and any number of them: fewer are quicker. */
static sr__gpu_launch shrunk(const sr__gpu_launch *l) {
    sr__gpu_launch small = *l;
    bool any_number = true;
    switch ((int)l->kernel) {
    case SR_GPU_KERNEL_gpu_round_columns:
    case SR_GPU_KERNEL_gpu_mul_mat_vec:
    case SR_GPU_KERNEL_gpu_mul_mat_tiles:
    case SR_GPU_KERNEL_gpu_sort_experts:
    case SR_GPU_KERNEL_gpu_hadamard:
    case SR_GPU_KERNEL_gpu_out_prod:
    case SR_GPU_KERNEL_gpu_flash_attn: return small;
    case SR_GPU_KERNEL_gpu_flash_combine:
    case SR_GPU_KERNEL_gpu_sum:
    case SR_GPU_KERNEL_gpu_count_equal: any_number = false;
    }
    small.group[0] = l->group[0] < SMALL_GROUP ? l->group[0] : SMALL_GROUP;
    small.groups[0] = any_number && l->groups[0] > BATCH ? BATCH : l->groups[0];
    return small;
}

/* Groups one after the other, but for ThreadSanitizer nothing of a group comes before anything of another of a batch. */
static sr_status launch(sr__gpu_stream *stream, const sr__gpu_launch *whole, sr_error *err) {
    (void)stream;
    const sr__gpu_launch small = shrunk(whole), *l = &small;
    static char launch_end;
    group groups[BATCH];
    const size_t n = l->groups[0] * l->groups[1];
    assert_true(l->groups[2] == 1 && l->group[1] == 1 && l->group[2] == 1);
    const char *failure = NULL;
    for (size_t first = 0; first < n && !failure; first += BATCH) {
        const size_t here = n - first < BATCH ? n - first : BATCH;
        for (size_t k = 0; k < here; k++) {
            group_begin(&groups[k], l, &launch_end, first + k);
            group_run(&groups[k]);
            failure = groups[k].failure ? groups[k].failure : failure;
        }
        SEE(&launch_end);
        for (size_t k = 0; k < here; k++) {
            group_end(&groups[k]);
        }
    }
    return failure ? sr__fail(err, SR_COMPUTE, "kernel %d: %s", (int)l->kernel, failure) : SR_OK;
}

/* ---- devices, memory --------------------------------------------------------------------------------------------- */

static int device_count(const char **out_why_none) {
    (void)out_why_none;
    return 1;
}

static sr_status device_open(int index, sr__gpu_device **out_device, sr_error *err) {
    sr__gpu_device *d = sr__calloc(1, sizeof(*d));
    if (!d) {
        return sr__fail_memory(err);
    }
    *d = (sr__gpu_device){.runtime = &items_runtime, .index = index, .description = "items", .alignment = 256,
                          .max_buffer = (size_t)1 << 30, .total_memory = (size_t)1 << 30,
                          .local_memory = (size_t)1 << 16, .max_group = GPU_GROUP};
    *out_device = d;
    return SR_OK;
}

static void device_close(sr__gpu_device *device) { sr__free(device); }

static void device_memory(sr__gpu_device *device, size_t *out_free, size_t *out_total) {
    *out_free = *out_total = device->total_memory;
}

static sr_status memory_new(sr__gpu_device *device, size_t size, sr__gpu_memory **out_memory, sr_error *err) {
    (void)device;
    sr__gpu_memory *m = sr__calloc(1, sizeof(*m));
    *out_memory = m;
    if (m && (m->data = aligned_alloc(256, (size + 255) / 256 * 256)) != NULL) {
        m->size = size;
        return SR_OK;
    }
    sr__free(m);
    return sr__fail_memory(err);
}

static void memory_free(sr__gpu_memory *memory) {
    free(memory->data);
    sr__free(memory);
}

/* ---- streams, events --------------------------------------------------------------------------------------------- */

static sr_status stream_new(sr__gpu_device *device, sr__gpu_stream **out_stream, sr_error *err) {
    sr__gpu_stream *s = sr__calloc(1, sizeof(*s));
    if (!s) {
        return sr__fail_memory(err);
    }
    s->device = device;
    *out_stream = s;
    return SR_OK;
}

static void stream_free(sr__gpu_stream *stream) { sr__free(stream); }

static sr_status nothing_left(sr__gpu_stream *stream, sr_error *err) {
    (void)stream, (void)err;
    return SR_OK;
}

static sr_status write_now(sr__gpu_stream *stream, sr__gpu_memory *memory, size_t offset, const void *data,
                           size_t size, sr_error *err) {
    (void)stream, (void)err;
    assert_true(offset + size <= memory->size);
    memcpy(memory->data + offset, data, size);
    return SR_OK;
}

static sr_status read_now(sr__gpu_stream *stream, sr__gpu_memory *memory, size_t offset, void *data, size_t size,
                          sr_error *err) {
    (void)stream, (void)err;
    assert_true(offset + size <= memory->size);
    memcpy(data, memory->data + offset, size);
    return SR_OK;
}

static sr_status fill_now(sr__gpu_stream *stream, sr__gpu_memory *memory, uint8_t value, size_t offset, size_t size,
                          sr_error *err) {
    (void)stream, (void)err;
    assert_true(offset + size <= memory->size);
    memset(memory->data + offset, value, size);
    return SR_OK;
}

static sr_status copy_now(sr__gpu_stream *stream, sr__gpu_memory *dst, size_t dst_offset, sr__gpu_memory *src,
                          size_t src_offset, size_t size, bool *done, sr_error *err) {
    *done = true;
    return write_now(stream, dst, dst_offset, src->data + src_offset, size, err);
}

static sr_status event_new(sr__gpu_device *device, sr__gpu_event **out_event, sr_error *err) {
    (void)device;
    *out_event = sr__calloc(1, sizeof(**out_event));
    return *out_event ? SR_OK : sr__fail_memory(err);
}

static void event_free(sr__gpu_event *event) { sr__free(event); }

static sr_status event_record(sr__gpu_event *event, sr__gpu_stream *stream, sr_error *err) {
    (void)event;
    return nothing_left(stream, err);
}

static sr_status event_synchronize(sr__gpu_event *event, sr_error *err) {
    (void)event;
    return nothing_left(NULL, err);
}

static sr_status event_wait(sr__gpu_stream *stream, sr__gpu_event *event, sr_error *err) {
    (void)event;
    return nothing_left(stream, err);
}

const sr__gpu_runtime items_runtime = {
    .name = "items", .device_count = device_count, .device_open = device_open, .device_close = device_close,
    .device_memory = device_memory, .memory_new = memory_new, .memory_free = memory_free, .stream_new = stream_new,
    .stream_free = stream_free, .stream_synchronize = nothing_left, .write = write_now, .read = read_now,
    .fill = fill_now, .copy = copy_now, .launch = launch, .event_new = event_new, .event_free = event_free,
    .event_record = event_record, .event_synchronize = event_synchronize, .event_wait = event_wait,
};
