/*
 * record_file.c - a recording as a file: whole or not at all.
 *
 * Layer: record.  Answers to nothing of the reference.
 *
 * A file is written beside its place and renamed, so that whoever looks, whenever the process dies, finds the last
 * whole one or none.  What is no regular file (a device, a pipe) is written to directly.
 *
 * Writing may be the last thing that a process does, in a handler of a signal that came anywhere.  Memory is therefore
 * taken for the first file and kept, so that there is hardly ever any to take at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "record/recorder.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

typedef struct path {
    char text[PATH_MAX + 32];
} path;

/* OUTPUT for number 1, then OUTPUT-2, before the suffix; `suffix` NULL keeps the output's own. */
static path path_of(int number, const char *suffix) {
    const char *output = recorder_settings.output;
    const char *name = strrchr(output, '/') ? strrchr(output, '/') : output;
    const char *dot = strrchr(name, '.');
    const size_t stem = dot && dot > name + 1 ? (size_t)(dot - output) : strlen(output);
    const char *end = suffix ? suffix : output + stem;
    path p;
    if (number == 1) {
        snprintf(p.text, sizeof(p.text), "%.*s%s", (int)stem, output, end);
    } else {
        snprintf(p.text, sizeof(p.text), "%.*s-%d%s", (int)stem, output, number, end);
    }
    return p;
}

static void move_file(int from, int to, const char *suffix) {
    const path old = path_of(from, suffix), new = path_of(to, suffix);
    if (rename(old.text, new.text)) {
        say("cannot rename '%s': %s", old.text, strerror(errno));
    }
}

static void share(recording *r) {
    record_file *file = &recorder_state->files[r->number - 1];
    file->graphs = r->n_graphs;
    file->runs = r->n_runs;
    file->reserves = r->n_reserves;
    file->stopped = r->stopped;
}

static bool computes(const recording *r) {
    return r->n_runs > r->n_reserves;
}

bool recording_number(recording *r) {
    if (!r->number) {
        r->number = atomic_fetch_add(&recorder_state->numbers, 1) + 1;
        if (r->number > RECORD_FILES) {
            return false;
        }
    }
    recording *plain = recorder_recordings;
    while (plain && plain->number != 1) {
        plain = plain->next;
    }
    if (computes(r) && plain && plain != r && !computes(plain)) {
        record_file *first = &recorder_state->files[0], *second = &recorder_state->files[r->number - 1];
        if (first->written) { /* else what lies there is older than this process */
            move_file(1, r->number, NULL);
            if (recorder_settings.log) {
                move_file(1, r->number, ".log");
            }
        }
        second->written = first->written;
        first->written = 0;
        plain->number = r->number;
        r->number = 1;
        share(plain);
    }
    return true;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

typedef struct sink {
    int fd;
    int error; /* errno of the first failure */
} sink;

static void put(sink *out, const void *bytes, size_t n) {
    const char *at = bytes;
    while (n > 0 && !out->error) {
        const ssize_t done = write(out->fd, at, n);
        if (done > 0) {
            at += done;
            n -= (size_t)done;
        } else if (done < 0 && errno != EINTR) {
            out->error = errno;
        } else if (done == 0) {
            out->error = ENOSPC;
        }
    }
}

static void put_text(sink *out, const json_text *t) {
    if (t->failed) {
        out->error = out->error ? out->error : ENOMEM;
    }
    put(out, t->data, t->length);
}

static const char *program_name(void) {
    return program_invocation_short_name ? program_invocation_short_name : "program";
}

static void write_head(const recording *r, json_text *t) {
    const library *lib = r->lib;
    text_puts(t, "{\"sched_run\":1");
    text_member(t, "name", recorder_settings.anonymise ? "recording" : program_name());
    text_key(t, "_recorded");
    text_puts(t, "{");
    if (lib->f.ggml_version) {
        text_member(t, "ggml_version", lib->f.ggml_version());
    }
    if (lib->f.ggml_commit) {
        text_member(t, "ggml_commit", lib->f.ggml_commit());
    }
    text_puts(t, r->stopped ? ",\"stopped\":\"the largest number of runs was reached\"}" : "}");
    text_puts(t, ",\n\"unknown_ops\":\"opaque\",\n\"scheduler\":{");
    text_key(t, "graph_size");
    text_size(t, r->graph_size);
    if (r->n_copies > 1 && r->n_copies != 4) {
        text_key(t, "copies");
        text_int(t, r->n_copies);
    } else {
        text_puts(t, r->n_copies > 1 ? ",\"parallel\":true" : ",\"parallel\":false");
    }
    text_puts(t, r->op_offload ? ",\"op_offload\":true}" : ",\"op_offload\":false}");
    machine_write(r, t);
    text_puts(t, ",\n\"graphs\":{");
}

static void write_run(const kept_run *run, json_text *t) {
    static const char *const calls[] = {"alloc_graph", "reserve", "reserve_size", "split_graph"};
    text_printf(t, "{\"graph\":\"g%d\"%s", run->graph, run->kind == CALL_ALLOC ? "" : ",\"reserve\":true");
    if (run->kind != CALL_ALLOC && run->kind != CALL_RESERVE) {
        text_member(t, "_call", calls[run->kind]);
    }
    text_puts(t, run->failed ? ",\"_result\":\"failed\"}" : "}");
}

static void put_recording(const recording *r, sink *out) {
    static json_text kept;
    json_text t = kept;
    text_empty(&t);
    write_head(r, &t);
    put_text(out, &t);
    for (int i = 0; i < r->n_graphs; i++) {
        text_empty(&t);
        text_printf(&t, "%s\"g%d\":", i ? ",\n" : "\n", i);
        put_text(out, &t);
        put_text(out, &r->graphs[i].json);
    }
    text_empty(&t);
    text_puts(&t, "},\n\"runs\":[");
    for (int i = 0; i < r->n_runs; i++) {
        if (r->runs[i].graph >= 0) {
            text_puts(&t, t.data && t.data[t.length - 1] == '[' ? "\n  " : ",\n  ");
            write_run(&r->runs[i], &t);
        }
    }
    text_puts(&t, "]}\n");
    put_text(out, &t);
    kept = t;
}

static void put_log(const recording *r, sink *out) {
    for (int i = 0; i < r->n_runs; i++) {
        if (r->runs[i].graph >= 0) {
            put_text(out, &r->runs[i].printed);
        }
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* A full quota may raise a signal that ends the program; it is held back and taken away again. */
typedef struct calm {
    sigset_t before;
} calm;

static void calm_begin(calm *c) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, &c->before);
}

static void calm_end(const calm *c) {
    sigset_t set, pending;
    const struct timespec now = {0, 0};
    sigemptyset(&set);
    sigpending(&pending);
    if (!sigismember(&c->before, SIGXFSZ) && sigismember(&pending, SIGXFSZ)) {
        sigaddset(&set, SIGXFSZ);
    }
    if (!sigismember(&c->before, SIGPIPE) && sigismember(&pending, SIGPIPE)) {
        sigaddset(&set, SIGPIPE);
    }
    while (sigtimedwait(&set, NULL, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &c->before, NULL);
}

static int write_direct(const recording *r, const char *name, void (*put_all)(const recording *, sink *)) {
    sink out = {.fd = open(name, O_WRONLY | O_CLOEXEC)};
    if (out.fd < 0) {
        return errno;
    }
    put_all(r, &out);
    if (close(out.fd) && !out.error) {
        out.error = errno;
    }
    return out.error;
}

static int write_whole(const recording *r, const char *name, void (*put_all)(const recording *, sink *)) {
    char part[sizeof(path) + 8];
    snprintf(part, sizeof(part), "%s.part", name);
    sink out = {.fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
    if (out.fd < 0) {
        out.error = errno;
    } else {
        put_all(r, &out);
        if (close(out.fd) && !out.error) {
            out.error = errno;
        }
        if (!out.error && rename(part, name)) {
            out.error = errno;
        }
        if (out.error) {
            unlink(part);
        }
    }
    return out.error;
}

static bool is_special(const char *name) {
    struct stat st;
    return stat(name, &st) == 0 && !S_ISREG(st.st_mode);
}

static int write_file(const recording *r, const char *suffix, void (*put_all)(const recording *, sink *)) {
    const path p = path_of(r->number, suffix);
    const bool special = is_special(p.text);
    int error = 0;
    if (!special) {
        error = write_whole(r, p.text, put_all);
    } else if (!r->sched) { /* once, at the end: what was written cannot be taken back */
        error = write_direct(r, p.text, put_all);
    }
    if (error && !r->write_failed) {
        say("cannot write '%s': %s", p.text, strerror(error));
    }
    return error;
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void recording_write(recording *r) {
    calm c;
    calm_begin(&c);
    const int64_t start = now_ns();
    int error = write_file(r, NULL, put_recording);
    if (!error && recorder_settings.log) {
        error = write_file(r, ".log", put_log);
    }
    r->written_at = now_ns();
    r->write_took = r->written_at - start;
    calm_end(&c);
    if (!error) {
        r->dirty = false;
        share(r);
        recorder_state->files[r->number - 1].written++;
    } else if (!r->write_failed) {
        r->write_failed = true;
        recorder_state->failed++;
    }
}
