/*
 * fake_program.c - a program that uses the small library of fake_ggml.c as others use ggml.
 *
 *   fake_program [ACTION...]
 *
 * Actions: `build N` builds a graph of N nodes, `chain N` runs it too, `same` runs the last graph again, `reserve`,
 * `size` and `split` give it to the scheduler without running it, `new` makes another scheduler, `free` frees it,
 * `threads` runs four schedulers at once, `kill`, `abort`, `_exit` and `exit N` end the program, `cd FOLDER` does
 * that.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/fake_ggml.h"

typedef struct work {
    struct ggml_backend_sched *sched;
    struct ggml_context *context;
    struct ggml_cgraph *graph;
    char *memory;
} work;

static int32_t tokens[8] = {3, 1, 4, 1, 5, 9, 2, 6};

static void new_scheduler(work *w) {
    struct ggml_backend *list[] = {fake_backend(0), fake_backend(1)};
    w->sched = ggml_backend_sched_new(list, NULL, 2, 2048, false, true);
}

static void forget(work *w) {
    if (w->context) {
        ggml_free(w->context);
    }
    free(w->memory);
    w->context = NULL;
    w->memory = NULL;
}

/* A look-up, n - 2 sums, and a scaling; leafs in the memory of both devices. */
static void build(work *w, int n) {
    forget(w);
    const size_t most = (size_t)n + 16;
    const size_t size = most * ggml_tensor_overhead() + ggml_graph_overhead_custom(most, false) + 4096;
    w->memory = calloc(1, size);
    w->context = ggml_init((struct ggml_init_params){size, w->memory, true});
    struct ggml_tensor *table = ggml_set_name(ggml_new_tensor_3d(w->context, 0, 16, 10, 1), "token_embd.weight");
    struct ggml_tensor *ids = ggml_set_name(ggml_new_tensor_3d(w->context, 26, 8, 1, 1), "inp_tokens");
    struct ggml_tensor *secret = ggml_set_name(ggml_new_tensor_3d(w->context, 0, 16, 8, 1), "/home/me/secret.wav");
    fake_put(table, 1, NULL);
    fake_put(secret, 1, NULL);
    fake_put(ids, 3, tokens);
    ggml_set_input(ids);
    struct ggml_tensor *x = ggml_get_rows(w->context, table, ids);
    for (int i = 0; i < n - 2; i++) {
        x = ggml_add(w->context, x, secret);
    }
    x = ggml_set_name(ggml_scale(w->context, x, 0.5F), "result \xC3");
    ggml_set_output(x);
    w->graph = ggml_new_graph_custom(w->context, (size_t)n + 8, false);
    ggml_build_forward_expand(w->graph, x);
}

static void run(work *w) {
    ggml_backend_sched_reset(w->sched);
    ggml_backend_sched_alloc_graph(w->sched, w->graph);
    ggml_backend_sched_graph_compute_async(w->sched, w->graph);
}

static void *run_many(void *user) {
    work w = {0};
    const int n = *(const int *)user;
    for (int times = 0; times < 3; times++) {
        new_scheduler(&w);
        for (int i = 0; i < 20; i++) {
            build(&w, n + i % 3);
            run(&w);
        }
        ggml_backend_sched_free(w.sched);
    }
    forget(&w);
    return NULL;
}

static void run_threads(void) {
    pthread_t threads[4];
    static int sizes[4] = {10, 20, 30, 40};
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, run_many, &sizes[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void act(work *w, const char *action, const char *next) {
    size_t sizes[2];
    if (strcmp(action, "chain") == 0) {
        build(w, atoi(next));
        run(w);
    } else if (strcmp(action, "same") == 0) {
        run(w);
    } else if (strcmp(action, "reserve") == 0) {
        ggml_backend_sched_reserve(w->sched, w->graph);
    } else if (strcmp(action, "size") == 0) {
        ggml_backend_sched_reserve_size(w->sched, w->graph, sizes);
    } else if (strcmp(action, "split") == 0) {
        ggml_backend_sched_split_graph(w->sched, w->graph);
    } else if (strcmp(action, "build") == 0) {
        build(w, atoi(next));
    } else if (strcmp(action, "new") == 0) {
        new_scheduler(w);
    } else if (strcmp(action, "free") == 0) {
        ggml_backend_sched_free(w->sched);
    } else if (strcmp(action, "threads") == 0) {
        run_threads();
    } else if (strcmp(action, "kill") == 0) {
        raise(SIGKILL);
    } else if (strcmp(action, "abort") == 0) {
        abort();
    } else if (strcmp(action, "_exit") == 0) {
        _exit(3);
    } else if (strcmp(action, "exit") == 0) {
        exit(atoi(next));
    } else if (strcmp(action, "cd") == 0 && chdir(next)) {
        perror(next);
    }
}

int fake_main(int argc, char **argv);

__attribute__((visibility("default"))) int fake_main(int argc, char **argv) {
    work w = {0};
    new_scheduler(&w);
    for (int i = 1; i < argc; i++) {
        act(&w, argv[i], i + 1 < argc ? argv[i + 1] : "0");
    }
    printf("done\n");
    ggml_backend_sched_free(w.sched);
    forget(&w);
    return 0;
}

#ifndef FAKE_BINDING
int main(int argc, char **argv) {
    return fake_main(argc, argv);
}
#endif
