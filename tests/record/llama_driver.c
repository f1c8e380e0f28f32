/*
 * llama_driver.c - a program that runs a model with a llama.cpp that it loads, as a binding does: with local scope.
 *
 *   llama_driver FOLDER MODEL [-ngl N] [-fa 0|1] [-n TOKENS] [-p TOKENS] [-ub N] [-t N] [-cpu PATTERN]
 *                [-global] [-dry]
 *
 * FOLDER holds the shared libraries of one pinned build.  The parameter structs of llama.h are not declared but held in
 * blocks that are larger than they are: they are returned through a hidden pointer and passed on the stack, so that a
 * block of any sufficient size will do, and the few fields that are set are at offsets of that build.  Before anything
 * is set, the defaults that the build is known for are looked for there.
 *
 * -dry computes nothing: a software Vulkan device takes minutes to compile its shaders, and what the scheduler is given
 * does not depend on values.  The program's own ggml_backend_graph_compute_async then comes before the library's.
 */
#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct block { _Alignas(16) char bytes[1024]; } block;
typedef struct batch { _Alignas(16) char bytes[56]; } batch; /* exact: it is returned and passed as it is */
typedef struct override { const char *pattern; void *buffer_type; } override;

enum { MODEL_OVERRIDES = 8, MODEL_GPU_LAYERS = 16 };
enum { CTX_N_CTX = 0, CTX_N_BATCH = 4, CTX_N_UBATCH = 8, CTX_THREADS = 28, CTX_THREADS_BATCH = 32, CTX_FLASH = 52 };

static void *llama, *ggml;
static bool is_dry;

static void *find(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "llama_driver: no function '%s'\n", name);
        exit(3);
    }
    return found;
}

#define USE(library, result, name, ...)                                                                                \
    result (*name)(__VA_ARGS__);                                                                                       \
    {                                                                                                                  \
        void *found_##name = find(library, #name);                                                                     \
        memcpy(&name, &found_##name, sizeof(name));                                                                    \
    }

__attribute__((visibility("default"))) int ggml_backend_graph_compute_async(void *backend, void *graph) {
    int (*compute)(void *, void *);
    void *found = find(ggml, "ggml_backend_graph_compute_async"); /* the library's: its scope is not this program's */
    memcpy(&compute, &found, sizeof(compute));
    return is_dry ? 0 : compute(backend, graph);
}

static void *load(const char *folder, const char *pattern, int flags) {
    char path[4096];
    glob_t found;
    snprintf(path, sizeof(path), "%s/%s", folder, pattern);
    void *library = NULL;
    if (glob(path, 0, NULL, &found) == 0) {
        library = dlopen(found.gl_pathv[0], RTLD_LAZY | flags);
        globfree(&found);
    }
    if (!library) {
        fprintf(stderr, "llama_driver: cannot load '%s': %s\n", path, dlerror());
        exit(3);
    }
    return library;
}

static int32_t *field(block *b, size_t at) {
    return (int32_t *)(void *)(b->bytes + at);
}

static void expect(block *b, size_t at, int32_t value) {
    if (*field(b, at) != value) {
        fprintf(stderr, "llama_driver: not the build that this is for: %d at %zu, not %d\n", *field(b, at), at, value);
        exit(3);
    }
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct options {
    int gpu_layers, flash, tokens, prompt, ubatch, threads;
    const char *on_cpu; /* weights, as a regular expression */
} options;

static void *load_model(const char *path, const options *o) {
    USE(llama, block, llama_model_default_params, void)
    USE(llama, void *, llama_model_load_from_file, const char *, block)
    USE(ggml, void *, ggml_backend_dev_by_type, int)
    USE(ggml, void *, ggml_backend_dev_buffer_type, void *)
    block params = llama_model_default_params();
    expect(&params, MODEL_GPU_LAYERS, -1);
    *field(&params, MODEL_GPU_LAYERS) = o->gpu_layers;
    static override overrides[2];
    if (o->on_cpu) {
        overrides[0] = (override){o->on_cpu, ggml_backend_dev_buffer_type(ggml_backend_dev_by_type(0))};
        const override *first = overrides;
        memcpy(params.bytes + MODEL_OVERRIDES, &first, sizeof(first));
    }
    return llama_model_load_from_file(path, params);
}

static void *new_context(void *model, const options *o) {
    USE(llama, block, llama_context_default_params, void)
    USE(llama, void *, llama_init_from_model, void *, block)
    block params = llama_context_default_params();
    expect(&params, CTX_N_CTX, 512);
    expect(&params, CTX_N_UBATCH, 512);
    expect(&params, CTX_THREADS, 4);
    expect(&params, CTX_FLASH, -1);
    *field(&params, CTX_N_CTX) = 256;
    *field(&params, CTX_N_BATCH) = 256;
    *field(&params, CTX_N_UBATCH) = o->ubatch;
    *field(&params, CTX_THREADS) = o->threads;
    *field(&params, CTX_THREADS_BATCH) = o->threads;
    *field(&params, CTX_FLASH) = o->flash;
    return llama_init_from_model(model, params);
}

/* Token by token, the likeliest next. */
static int generate(void *model, void *context, const options *o) {
    USE(llama, const void *, llama_model_get_vocab, const void *)
    USE(llama, int32_t, llama_vocab_n_tokens, const void *)
    USE(llama, batch, llama_batch_get_one, int32_t *, int32_t)
    USE(llama, int32_t, llama_decode, void *, batch)
    USE(llama, float *, llama_get_logits_ith, void *, int32_t)
    const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    int32_t tokens[512];
    int n = o->prompt;
    for (int i = 0; i < n; i++) {
        tokens[i] = 3 + i * 7 % (n_vocab - 3);
    }
    double first = 0;
    for (int step = 0; step < o->tokens; step++) {
        if (llama_decode(context, llama_batch_get_one(tokens, n)) != 0) {
            fprintf(stderr, "llama_driver: llama_decode failed\n");
            return 1;
        }
        const float *logits = llama_get_logits_ith(context, -1);
        int best = 0;
        for (int i = 1; i < n_vocab; i++) {
            best = logits[i] > logits[best] ? i : best;
        }
        printf("%s%d", step ? " " : "", best);
        tokens[0] = best;
        n = 1;
        first = step == 0 ? seconds() : first;
    }
    printf("\n");
    if (getenv("DRIVER_TIMES") && o->tokens > 1) {
        fprintf(stderr, "%.6f s a token\n", (seconds() - first) / (o->tokens - 1));
    }
    return 0;
}

static void quiet(int level, const char *text, void *user) {
    (void)user;
    if (level >= 4 || getenv("DRIVER_LOG")) { /* errors */
        fputs(text, stderr);
    }
}

int main(int argc, char **argv) {
    options o = {.gpu_layers = 0, .flash = 0, .tokens = 3, .prompt = 5, .ubatch = 64, .threads = 2};
    int flags = RTLD_LOCAL;
    if (argc < 3) {
        fprintf(stderr, "usage: llama_driver FOLDER MODEL [OPTIONS]\n");
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        struct { const char *name; int *value; } numbers[] = {{"-ngl", &o.gpu_layers}, {"-fa", &o.flash},
            {"-n", &o.tokens}, {"-p", &o.prompt}, {"-ub", &o.ubatch}, {"-t", &o.threads}};
        for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
            if (strcmp(argv[i], numbers[k].name) == 0 && i + 1 < argc) {
                *numbers[k].value = atoi(argv[++i]);
                break;
            }
        }
        if (strcmp(argv[i], "-cpu") == 0 && i + 1 < argc) {
            o.on_cpu = argv[++i];
        }
        is_dry = is_dry || strcmp(argv[i], "-dry") == 0;
        flags = strcmp(argv[i], "-global") == 0 ? RTLD_GLOBAL : flags;
    }
    ggml = load(argv[1], "libggml.*so", flags);
    llama = load(argv[1], "libllama.*so", flags);
    USE(ggml, void, ggml_backend_load_all_from_path, const char *)
    USE(llama, void, llama_log_set, void (*)(int, const char *, void *), void *)
    USE(llama, void, llama_backend_init, void)
    USE(llama, void, llama_free, void *)
    USE(llama, void, llama_model_free, void *)
    USE(llama, void, llama_backend_free, void)
    llama_log_set(quiet, NULL);
    ggml_backend_load_all_from_path(argv[1]);
    llama_backend_init();
    void *model = load_model(argv[2], &o);
    void *context = model ? new_context(model, &o) : NULL;
    if (!context) {
        fprintf(stderr, "llama_driver: cannot run '%s'\n", argv[2]);
        return 1;
    }
    const int status = generate(model, context, &o);
    llama_free(context);
    llama_model_free(model);
    llama_backend_free();
    return status;
}
