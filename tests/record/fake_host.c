/*
 * fake_host.c - loads a binding with local scope, as Python and Node do, and calls it: fake_host BINDING [ACTION...]
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    int (*start)(int, char **);
    void *binding = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *found = binding ? dlsym(binding, "fake_main") : NULL;
    if (!found) {
        fprintf(stderr, "fake_host: %s\n", dlerror());
        return 2;
    }
    memcpy(&start, &found, sizeof(start));
    return start(argc - 1, argv + 1);
}
