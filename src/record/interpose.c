/*
 * interpose.c - the functions that stand in for a ggml library's: each tells the recorder and calls through.
 *
 * Layer: record.  Answers to the ggml_backend_sched_* functions of ggml-backend.h.
 *
 * What the program sees is what it would see without the recorder: the same calls with the same arguments in the same
 * order.  Functions of the library that call each other come through here as well; within a call on a scheduler they
 * are passed on at once.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "record/recorder.h"

#define STANDS_IN __attribute__((visibility("default")))

settings recorder_settings;
static record_state own_state;
record_state *recorder_state = &own_state;
recording *recorder_recordings;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t own_pid;

/* ---- the process ------------------------------------------------------------------------------------------------- */

void say(const char *format, ...) {
    char line[512] = "sched-record: ";
    const size_t prefix = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + prefix, sizeof(line) - prefix - 1, format, arguments);
    va_end(arguments);
    strcat(line, "\n");
    const int before = errno;
    if (write(STDERR_FILENO, line, strlen(line)) < 0) {
        errno = before; /* whoever closed it does not want to know */
    }
}

static bool is_set(const char *variable) {
    const char *value = getenv(variable);
    return value && strcmp(value, "1") == 0;
}

static void map_state(const char *path) {
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    void *page = mmap(NULL, sizeof(record_state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (page != MAP_FAILED) {
        recorder_state = page;
    }
}

/* A child has the program's schedulers but not its file. */
static void after_fork(void) {
    pthread_mutex_init(&lock, NULL);
    own_pid = getpid();
    recorder_recordings = NULL;
}

static void read_settings(void) {
    settings *s = &recorder_settings;
    const char *output = getenv(RECORD_ENV_OUTPUT), *max = getenv(RECORD_ENV_MAX), *only = getenv(RECORD_ENV_ONLY);
    char *here = output && output[0] != '/' ? getcwd(NULL, 0) : NULL;
    if (here && asprintf(&s->output, "%s/%s", here, output) < 0) {
        s->output = NULL;
    } else if (!here && output && output[0]) {
        s->output = strdup(output);
    }
    free(here);
    s->data = is_set(RECORD_ENV_DATA);
    s->anonymise = is_set(RECORD_ENV_ANONYMISE);
    s->log = is_set(RECORD_ENV_LOG);
    s->quiet = is_set(RECORD_ENV_QUIET);
    s->max_runs = max && atoi(max) > 0 ? atoi(max) : RECORD_MAX_DEFAULT;
    s->reserves = !only || strcmp(only, "alloc") != 0;
    s->allocs = !only || strcmp(only, "reserve") != 0;
}

static __attribute__((constructor)) void begin(void) {
    own_pid = getpid();
    read_settings();
    if (recorder_settings.output && getenv(RECORD_ENV_STATE)) {
        map_state(getenv(RECORD_ENV_STATE));
    }
    recorder_state->loaded++;
    pthread_atfork(NULL, NULL, after_fork);
}

/*
 * Not in a child of vfork, which shares this memory; not where the lock is held by who may never give it back.  From
 * abort and _exit, that is at once: they are called in signal handlers.
 */
static void flush(bool waits) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += waits ? 2 : 0;
    if (own_pid == getpid() &&
        (waits ? pthread_mutex_timedlock(&lock, &until) : pthread_mutex_trylock(&lock)) == 0) {
        recordings_flush();
        pthread_mutex_unlock(&lock);
    }
}

static __attribute__((destructor)) void finish(void) {
    flush(true);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

typedef struct call {
    struct call *outer;
    const library *lib;
    abi_sched *sched;
    recording *r; /* NULL where nothing is to be noted */
    int run;
    bool nested, captures, gone, ended;
    json_text printed;
} call;

static _Thread_local call *current;

/* As the dynamic linker ends a program that calls what nobody has. */
static const library *library_for(const void *caller, const char *name) {
    const library *lib = library_of(caller);
    if (!lib) {
        say("symbol lookup error: undefined symbol: %s", name);
        _exit(127);
    }
    return lib;
}

static recording *recording_of(abi_sched *sched) {
    recording *r = recorder_recordings;
    while (r && r->sched != sched) {
        r = r->next;
    }
    return r;
}

/* Starts a call and, unless it is one of the library's own, holds the lock. */
static void enter(call *c, abi_sched *sched, const void *caller, const char *name) {
    *c = (call){.outer = current, .sched = sched, .run = -1};
    if (sched && current && current->sched == sched) {
        c->nested = true;
        c->lib = current->lib;
        return;
    }
    pthread_mutex_lock(&lock);
    c->r = sched ? recording_of(sched) : NULL;
    c->lib = c->r ? c->r->lib : library_for(caller, name);
}

/* Ready to call through: other threads may go on. */
static void go(call *c) {
    if (!c->nested) {
        c->captures = recorder_settings.log && c->run >= 0;
        c->gone = true;
        current = c;
        pthread_mutex_unlock(&lock);
    }
}

/* Back from the call, with the lock again; false where it was one of the library's own. */
static bool back(call *c) {
    if (c->nested || c->ended) {
        return false;
    }
    c->ended = true;
    if (c->gone) {
        current = c->outer;
        pthread_mutex_lock(&lock);
    }
    if (c->r && c->run >= 0) {
        c->r->runs[c->run].printed = c->printed;
        c->r->dirty = true;
    } else {
        text_clear(&c->printed);
    }
    return true;
}

/* Whatever way the call is left by, an exception of the library too. */
static void leave(call *c) {
    if (back(c)) {
        pthread_mutex_unlock(&lock);
    }
}

#define CALL(name, sched)                                                                                              \
    call c __attribute__((cleanup(leave)));                                                                            \
    enter(&c, sched, __builtin_return_address(0), #name)

static void note_run(call *c, abi_graph *graph, call_kind kind) {
    if (c->r) {
        c->run = recording_run(c->r, graph, kind);
    }
}

/* ---- the functions ----------------------------------------------------------------------------------------------- */

STANDS_IN abi_sched *ggml_backend_sched_new(abi_backend **backends, abi_buffer_type **types, int n, size_t graph_size,
                                            bool parallel, bool op_offload) {
    static const library *told;
    CALL(ggml_backend_sched_new, NULL);
    go(&c);
    abi_sched *sched = c.lib->f.ggml_backend_sched_new(backends, types, n, graph_size, parallel, op_offload);
    if (!back(&c)) {
        return sched;
    }
    if (sched) {
        if (!c.lib->readable && told != c.lib) {
            say("this program's ggml cannot be read, nothing is recorded: %s", c.lib->why);
            told = c.lib;
            recorder_state->unreadable++;
        }
        recording *r = recording_new(sched, c.lib);
        if (r) {
            r->graph_size = graph_size;
            r->op_offload = !c.lib->has_offload_switch || op_offload;
        }
    }
    pthread_mutex_unlock(&lock);
    return sched;
}

STANDS_IN void ggml_backend_sched_free(abi_sched *sched) {
    CALL(ggml_backend_sched_free, sched);
    if (c.r) {
        recording_end(c.r);
        c.r = NULL;
    }
    go(&c);
    c.lib->f.ggml_backend_sched_free(sched);
}

STANDS_IN void ggml_backend_sched_reset(abi_sched *sched) {
    CALL(ggml_backend_sched_reset, sched);
    if (c.r) {
        recording_reset(c.r);
    }
    go(&c);
    c.lib->f.ggml_backend_sched_reset(sched);
}

STANDS_IN void ggml_backend_sched_set_tensor_backend(abi_sched *sched, abi_tensor *node, abi_backend *backend) {
    CALL(ggml_backend_sched_set_tensor_backend, sched);
    if (c.r) {
        recording_give(c.r, node, backend);
    }
    go(&c);
    c.lib->f.ggml_backend_sched_set_tensor_backend(sched, node, backend);
}

/* After a call that split a graph: failed, and what state it left. */
static void note_result(call *c, bool failed, bool is_reset, bool is_alloc) {
    if (!back(c)) {
        return;
    }
    if (c->r) {
        if (c->run >= 0) {
            c->r->runs[c->run].failed = failed;
        }
        if (is_reset) {
            recording_reset(c->r);
        } else {
            c->r->is_reset = false;
            c->r->is_alloc = is_alloc;
            c->r->is_split = true;
        }
    }
    pthread_mutex_unlock(&lock);
}

STANDS_IN bool ggml_backend_sched_reserve(abi_sched *sched, abi_graph *graph) {
    CALL(ggml_backend_sched_reserve, sched);
    note_run(&c, graph, CALL_RESERVE);
    go(&c);
    const bool ok = c.lib->f.ggml_backend_sched_reserve(sched, graph);
    note_result(&c, !ok, ok, false);
    return ok;
}

STANDS_IN void ggml_backend_sched_reserve_size(abi_sched *sched, abi_graph *graph, size_t *sizes) {
    CALL(ggml_backend_sched_reserve_size, sched);
    note_run(&c, graph, CALL_RESERVE_SIZE);
    go(&c);
    c.lib->f.ggml_backend_sched_reserve_size(sched, graph, sizes);
    note_result(&c, false, false, false);
}

STANDS_IN void ggml_backend_sched_split_graph(abi_sched *sched, abi_graph *graph) {
    CALL(ggml_backend_sched_split_graph, sched);
    note_run(&c, graph, CALL_SPLIT);
    go(&c);
    c.lib->f.ggml_backend_sched_split_graph(sched, graph);
    note_result(&c, false, false, false);
}

STANDS_IN bool ggml_backend_sched_alloc_graph(abi_sched *sched, abi_graph *graph) {
    CALL(ggml_backend_sched_alloc_graph, sched);
    note_run(&c, graph, CALL_ALLOC);
    go(&c);
    const bool ok = c.lib->f.ggml_backend_sched_alloc_graph(sched, graph);
    note_result(&c, !ok, false, ok);
    return ok;
}

/* Allocates first where the program did not. */
static void note_compute(call *c, abi_graph *graph) {
    recording *r = c->r;
    if (!r) {
        return;
    }
    if (!r->is_alloc) {
        if (!r->is_reset) {
            recording_reset(r); /* as the library does with a scheduler that is neither */
        }
        c->run = recording_run(r, graph, CALL_ALLOC);
    }
    recording_computed(r, true);
}

static bool was_allocated(const call *c) {
    return c->r && c->r->is_alloc;
}

STANDS_IN int ggml_backend_sched_graph_compute(abi_sched *sched, abi_graph *graph) {
    CALL(ggml_backend_sched_graph_compute, sched);
    const bool allocated = was_allocated(&c);
    note_compute(&c, graph);
    go(&c);
    const int status = c.lib->f.ggml_backend_sched_graph_compute(sched, graph);
    note_result(&c, status != 0 && !allocated, false, status == 0 || allocated);
    return status;
}

STANDS_IN int ggml_backend_sched_graph_compute_async(abi_sched *sched, abi_graph *graph) {
    CALL(ggml_backend_sched_graph_compute_async, sched);
    const bool allocated = was_allocated(&c);
    note_compute(&c, graph);
    go(&c);
    const int status = c.lib->f.ggml_backend_sched_graph_compute_async(sched, graph);
    note_result(&c, status != 0 && !allocated, false, status == 0 || allocated);
    return status;
}

/* ---- what the library prints ------------------------------------------------------------------------------------- */

typedef void log_function(int level, const char *format, ...);

static log_function *log_of(const void *caller) {
    if (current) {
        return current->lib->f.ggml_log_internal;
    }
    log_function *function = NULL;
    void *found = library_symbol(caller, "ggml_log_internal");
    memcpy(&function, &found, sizeof(function));
    return function;
}

STANDS_IN __attribute__((format(printf, 2, 3))) void ggml_log_internal(int level, const char *format, ...) {
    char small[512];
    char *line = small;
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(small, sizeof(small), format, arguments);
    va_end(arguments);
    if (n >= (int)sizeof(small) && (line = malloc((size_t)n + 1)) != NULL) {
        va_start(arguments, format);
        vsnprintf(line, (size_t)n + 1, format, arguments);
        va_end(arguments);
    }
    line = line ? line : small;
    const bool captured = current && current->captures;
    if (captured) {
        text_puts(&current->printed, line);
    }
    log_function *through = captured && recorder_settings.quiet ? NULL : log_of(__builtin_return_address(0));
    if (through) {
        through(level, "%s", line);
    }
    if (line != small) {
        free(line);
    }
}

/* ---- ends that run no destructors -------------------------------------------------------------------------------- */

/* A function of libc that is stood in for; a pointer to one cannot be converted from one to an object, but copied. */
#define THROUGH(type, name)                                                                                            \
    type *through;                                                                                                     \
    void *found = dlsym(RTLD_NEXT, name);                                                                              \
    memcpy(&through, &found, sizeof(through))

STANDS_IN __attribute__((noreturn)) void abort(void) {
    typedef void abort_function(void);
    flush(false);
    THROUGH(abort_function, "abort");
    through();
    __builtin_unreachable();
}

STANDS_IN __attribute__((noreturn)) void _exit(int status) {
    typedef void exit_function(int);
    flush(false);
    THROUGH(exit_function, "_exit");
    through(status);
    __builtin_unreachable();
}
