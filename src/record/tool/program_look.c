/*
 * program_look.c - what can be told of a program from its file: whether a recorder can be loaded into it.
 *
 * Layer: record.  Answers to nothing of the reference.
 */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/tool/record_tool.h"

#define OWN_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

typedef struct image {
    const unsigned char *bytes;
    size_t size;
} image;

static bool has_range(const image *file, uint64_t at, uint64_t n) {
    return at <= file->size && n <= file->size - at;
}

/* The machine that this command was built for, read from its own file. */
static int own_machine(void) {
    ElfW(Ehdr) header;
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const bool ok = fd >= 0 && read(fd, &header, sizeof(header)) == (ssize_t)sizeof(header);
    if (fd >= 0) {
        close(fd);
    }
    return ok ? header.e_machine : EM_NONE;
}

/* What the loader runs and what has dependencies can be preloaded into. */
static bool is_dynamic(const image *file, const ElfW(Ehdr) *header) {
    for (unsigned i = 0; i < header->e_phnum; i++) {
        ElfW(Phdr) segment;
        const uint64_t at = header->e_phoff + (uint64_t)i * header->e_phentsize;
        if (!has_range(file, at, sizeof(segment))) {
            return false;
        }
        memcpy(&segment, file->bytes + at, sizeof(segment));
        if (segment.p_type == PT_INTERP) {
            return true;
        }
    }
    return false;
}

static bool holds(const image *file, const char *word) {
    return memmem(file->bytes, file->size, word, strlen(word)) != NULL;
}

/*
 * A scheduler that is part of the program: the variable that it reads and the file that its assertions name are there
 * even after the symbols were stripped.
 */
static bool holds_scheduler(const image *file) {
    return holds(file, "GGML_SCHED_DEBUG") && (holds(file, "ggml-backend.c") || holds(file, "ggml-backend-impl"));
}

static program_kind look(const image *file) {
    ElfW(Ehdr) header;
    if (file->size >= 2 && memcmp(file->bytes, "#!", 2) == 0) {
        return PROGRAM_SCRIPT;
    }
    if (file->size < sizeof(header) || memcmp(file->bytes, ELFMAG, SELFMAG) != 0) {
        return PROGRAM_SCRIPT; /* a shell takes it for one */
    }
    memcpy(&header, file->bytes, sizeof(header));
    if (file->bytes[EI_CLASS] != OWN_CLASS || header.e_machine != own_machine()) {
        return PROGRAM_OTHER_MACHINE;
    }
    if (holds_scheduler(file)) {
        return PROGRAM_HOLDS_GGML;
    }
    return is_dynamic(file, &header) ? PROGRAM_DYNAMIC : PROGRAM_STATIC;
}

program_kind program_look(const char *path) {
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return PROGRAM_UNREADABLE;
    }
    program_kind kind = PROGRAM_UNREADABLE;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            const image file = {bytes, (size_t)st.st_size};
            kind = look(&file);
            munmap(bytes, (size_t)st.st_size);
        }
    }
    close(fd);
    return kind;
}

bool program_is_privileged(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && (((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
                                    ((st.st_mode & S_ISGID) && st.st_gid != getgid()));
}

static bool is_runnable(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *program_find(const char *name) {
    if (strchr(name, '/')) {
        return is_runnable(name) ? strdup(name) : NULL;
    }
    const char *folders = getenv("PATH");
    for (const char *at = folders ? folders : "/usr/bin:/bin"; at; at = strchr(at, ':')) {
        at += *at == ':';
        const int n = (int)strcspn(at, ":");
        char *path;
        if (asprintf(&path, "%.*s%s%s", n, at, n ? "/" : "", name) < 0) {
            return NULL;
        }
        if (is_runnable(path)) {
            return path;
        }
        free(path);
    }
    return NULL;
}

char *tool_find_beside(const char *name, const char *installed) {
    char self[PATH_MAX], *path = NULL;
    const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) {
        *slash = '\0';
        const char *const places[] = {"", "/../lib"};
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
            if (asprintf(&path, "%s%s/%s", self, places[i], name) >= 0 && access(path, R_OK) == 0) {
                return path;
            }
            free(path);
        }
    }
    if (installed && asprintf(&path, "%s/%s", installed, name) >= 0) {
        if (access(path, R_OK) == 0) {
            return path;
        }
        free(path);
    }
    return NULL;
}
