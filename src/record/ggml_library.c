/*
 * ggml_library.c - finds the ggml library that a call was meant for.
 *
 * Layer: record.  Answers to nothing of the reference.
 *
 * A preloaded function is found first in every scope, also from libraries that a program loads with local scope
 * (bindings of Python and Node do).  The function that it stands in for is then not in the global scope, where
 * RTLD_NEXT looks, but among the dependencies of the library that made the call.
 */
#include "record/ggml_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static library *libraries;
static library first; /* there is hardly ever another one */

/* The object that this code is in, so that it is not taken for the library. */
static bool is_own(const void *address) {
    Dl_info info, own;
    return dladdr(address, &info) && dladdr((void *)&libraries, &own) && info.dli_fbase == own.dli_fbase;
}

/* A handle whose search order is the caller's own, or NULL where that is the global scope. */
static void *scope_of(const void *caller) {
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !map || !map->l_name || !map->l_name[0]) {
        return NULL;
    }
    return dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
}

static void *symbol_in(void *scope, const char *name) {
    void *found = dlsym(scope, name);
    return found && !is_own(found) ? found : NULL;
}

struct search {
    const char *name;
    void *handle;
};

static int look_in(struct dl_phdr_info *info, size_t size, void *user) {
    struct search *search = user;
    (void)size;
    if (!info->dlpi_name || !info->dlpi_name[0]) {
        return 0;
    }
    void *handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) {
        return 0;
    }
    if (symbol_in(handle, search->name)) {
        search->handle = handle;
        return 1;
    }
    dlclose(handle);
    return 0;
}

/*
 * Where `name` is found for a caller: its own scope, what comes after this library, any object that has it.  The handle
 * is to be closed unless it is RTLD_NEXT.
 */
static void *scope_with(const void *caller, const char *name) {
    void *scope = scope_of(caller);
    if (scope && symbol_in(scope, name)) {
        return scope;
    }
    if (scope) {
        dlclose(scope);
    }
    if (symbol_in(RTLD_NEXT, name)) {
        return RTLD_NEXT;
    }
    struct search search = {name, NULL};
    dl_iterate_phdr(look_in, &search);
    return search.handle;
}

void *library_symbol(const void *caller, const char *name) {
    void *scope = scope_with(caller, name);
    if (!scope) {
        return NULL;
    }
    void *found = symbol_in(scope, name);
    if (scope != RTLD_NEXT) {
        dlclose(scope);
    }
    return found;
}

static void missing(library *lib, const char *name) {
    if (!lib->why[0]) {
        snprintf(lib->why, sizeof(lib->why), "it has no function %s", name);
    }
}

/* A pointer to a function cannot be converted from one to an object, but it can be copied. */
static void take(void *scope, const char *name, void *out_function) {
    void *found = symbol_in(scope, name);
    memcpy(out_function, &found, sizeof(found));
}

static void take_all(library *lib, void *scope) {
#define TAKE(result, name, arguments) take(scope, #name, &lib->f.name);
#define TAKE_NEEDED(result, name, arguments)                                                                           \
    take(scope, #name, &lib->f.name);                                                                                  \
    if (!lib->f.name) {                                                                                                \
        missing(lib, #name);                                                                                           \
    }
    ABI_CALLED(TAKE)
    ABI_NEEDED(TAKE_NEEDED)
    ABI_WANTED(TAKE)
#undef TAKE
#undef TAKE_NEEDED
    take(scope, "ggml_log_internal", &lib->f.ggml_log_internal);
    /* the switch came a few weeks before GLU ops did; before it, offloading was always on */
    lib->has_offload_switch = lib->f.ggml_glu_op_name != NULL;
}

const library *library_of(const void *caller) {
    library found = {0};
    void *scope = scope_with(caller, "ggml_backend_sched_new");
    if (!scope) {
        return NULL;
    }
    take_all(&found, scope);
    if (scope != RTLD_NEXT) {
        dlclose(scope);
    }
    for (library *lib = libraries; lib; lib = lib->next) {
        if (memcmp(&lib->f, &found.f, sizeof(found.f)) == 0) {
            return lib;
        }
    }
    library *lib = libraries ? malloc(sizeof(*lib)) : &first;
    if (!lib) { /* called through, but not recorded */
        static _Thread_local library spare;
        spare = found;
        snprintf(spare.why, sizeof(spare.why), "there is no memory to try it");
        return &spare;
    }
    *lib = found;
    lib->next = libraries;
    libraries = lib;
    if (!lib->why[0]) {
        library_prove(lib);
    }
    return lib;
}
