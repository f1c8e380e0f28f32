/*
 * sched_record.c - the command sched-record: runs a program and writes what it gives to its ggml scheduler.
 *
 * Layer: record.  Answers to nothing of the reference.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/tool/record_tool.h"

#ifndef RECORD_LIBDIR
#define RECORD_LIBDIR "/usr/local/lib"
#endif
#ifndef RECORD_VERSION
#define RECORD_VERSION "unknown"
#endif

void tool_say(const char *format, ...) {
    va_list arguments;
    fflush(stdout);
    fputs("sched-record: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("\n", stderr);
}

static const char help[] =
    "usage: sched-record [OPTIONS] [--] PROGRAM [ARGUMENT...]\n"
    "\n"
    "Runs a program that uses a shared ggml library and writes every graph that it gives to its scheduler\n"
    "as a description, which `sched-run FILE` then schedules without the hardware, the model or the program.\n"
    "\n"
    "  -o, --output FILE     where to (default: recording.json); further schedulers: FILE-2, FILE-3, ...\n"
    "      --max N           at most N runs of a scheduler (default: 256)\n"
    "      --only WHICH      only `reserve` or only `alloc`\n"
    "      --data            the contents of integer inputs as well: tokens, positions, row indices\n"
    "      --anonymise       replace the names of tensors that are not of a known kind, and the program's\n"
    "      --log             the program's GGML_SCHED_DEBUG=2 text beside each FILE, as NAME.log\n"
    "      --verify          compare that text with what sched-run makes of the recording; 1 if they differ\n"
    "      --rules REV       for --verify: the scheduler rules to use (default: the reference's, then all others)\n"
    "  -q, --quiet           say only what went wrong\n"
    "  -h, --help\n"
    "  -V, --version\n"
    "\n"
    "Exit status: the program's; if that is 0: 1 where --verify finds a difference, 2 where something cannot be\n"
    "read or written, 4 where nothing could be recorded.\n";

/* ---- options ----------------------------------------------------------------------------------------------------- */

enum { O_MAX = 256, O_ONLY, O_DATA, O_ANONYMISE, O_LOG, O_VERIFY, O_RULES };

static int usage(const char *what, const char *value) {
    tool_say("%s '%s'; see sched-record --help", what, value);
    return EXIT_USAGE;
}

static bool is_count(const char *word) {
    char *end;
    errno = 0;
    const long value = strtol(word, &end, 10);
    return end != word && !*end && !errno && value > 0 && value <= 1000000;
}

/* -1 to go on, else the exit status. */
static int read_options(int argc, char **argv, tool_options *o) {
    static const struct option longs[] = {
        {"output", required_argument, NULL, 'o'}, {"max", required_argument, NULL, O_MAX},
        {"only", required_argument, NULL, O_ONLY}, {"data", no_argument, NULL, O_DATA},
        {"anonymise", no_argument, NULL, O_ANONYMISE}, {"anonymize", no_argument, NULL, O_ANONYMISE},
        {"log", no_argument, NULL, O_LOG}, {"verify", no_argument, NULL, O_VERIFY},
        {"rules", required_argument, NULL, O_RULES}, {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'V'}, {NULL, 0, NULL, 0},
    };
    static char name[] = "sched-record"; /* in the messages of getopt_long, whatever the path is */
    int option;
    argv[0] = name;
    while ((option = getopt_long(argc, argv, "+o:qhV", longs, NULL)) != -1) {
        switch (option) {
        case 'o': o->output = optarg; break;
        case 'q': o->quiet = true; break;
        case O_MAX: o->max = optarg; break;
        case O_ONLY: o->only = optarg; break;
        case O_DATA: o->data = true; break;
        case O_ANONYMISE: o->anonymise = true; break;
        case O_LOG: o->log = true; break;
        case O_VERIFY: o->verify = true; break;
        case O_RULES: o->rules = optarg; break;
        case 'h': fputs(help, stdout); return 0;
        case 'V': puts("sched-record " RECORD_VERSION); return 0;
        default: return EXIT_USAGE;
        }
    }
    if (o->max && !is_count(o->max)) {
        return usage("--max takes a number of 1 or more, not", o->max);
    }
    if (o->only && strcmp(o->only, "reserve") != 0 && strcmp(o->only, "alloc") != 0) {
        return usage("--only takes 'reserve' or 'alloc', not", o->only);
    }
    if (o->rules && !o->verify) {
        return usage("--rules without --verify:", o->rules);
    }
    if (o->anonymise && (o->log || o->verify)) {
        return usage("--anonymise goes neither with --log nor with --verify, which have the names:", argv[optind - 1]);
    }
    if (optind == argc) {
        tool_say("a program to run is missing; see sched-record --help");
        return EXIT_USAGE;
    }
    o->program = argv + optind;
    return -1;
}

/* ---- before ------------------------------------------------------------------------------------------------------ */

/* The output as an absolute path without links, so that the program may go elsewhere and a link stays one. */
static char *resolve_output(const char *output) {
    char whole[PATH_MAX];
    struct stat st;
    if (realpath(output, whole)) {
        if (stat(whole, &st) == 0 && S_ISDIR(st.st_mode)) {
            tool_say("cannot write '%s': %s", output, strerror(EISDIR));
            return NULL;
        }
        if (access(whole, W_OK)) {
            tool_say("cannot write '%s': %s", output, strerror(errno));
            return NULL;
        }
        return strdup(whole);
    }
    const char *slash = strrchr(output, '/');
    char *folder = slash ? strndup(output, (size_t)(slash - output) + 1) : strdup("."), *path = NULL;
    if (!folder || !realpath(folder, whole) || access(whole, W_OK)) {
        tool_say("cannot write '%s': %s", output, strerror(errno));
    } else if (asprintf(&path, "%s/%s", whole, slash ? slash + 1 : output) < 0) {
        path = NULL;
    }
    free(folder);
    return path;
}

static int refuse(const tool_options *o, program_kind kind) {
    const char *program = o->program[0];
    switch (kind) {
    case PROGRAM_HOLDS_GGML:
        tool_say("'%s': this program contains ggml itself; build with BUILD_SHARED_LIBS=ON", program);
        return EXIT_NOTHING;
    case PROGRAM_STATIC:
        tool_say("'%s' is linked statically: nothing can be loaded into it; build it with shared libraries", program);
        return EXIT_NOTHING;
    case PROGRAM_OTHER_MACHINE:
        tool_say("'%s' is for another kind of machine than this sched-record", program);
        return EXIT_NOTHING;
    case PROGRAM_UNREADABLE: /* it may be run but not read */
    case PROGRAM_DYNAMIC:
    case PROGRAM_SCRIPT: break;
    }
    return -1;
}

/* ---- after ------------------------------------------------------------------------------------------------------- */

char *recording_path(const char *output, int number, const char *suffix) {
    const char *name = strrchr(output, '/') ? strrchr(output, '/') : output;
    const char *dot = strrchr(name, '.');
    const size_t stem = dot && dot > name + 1 ? (size_t)(dot - output) : strlen(output);
    const char *end = suffix ? suffix : output + stem;
    char *path = NULL;
    const int n = number == 1 ? asprintf(&path, "%.*s%s", (int)stem, output, end)
                              : asprintf(&path, "%.*s-%d%s", (int)stem, output, number, end);
    return n < 0 ? NULL : path;
}

/* What was being written when the program was ended. */
static void sweep(const char *path) {
    char *part = NULL;
    if (path && asprintf(&part, "%s.part", path) >= 0) {
        unlink(part);
    }
    free(part);
}

const char *plural(int n) {
    return n == 1 ? "" : "s";
}

static int report_file(const tool_options *o, const record_state *state, int number, bool *out_any) {
    const record_file *file = &state->files[number - 1];
    char *path = recording_path(o->output, number, NULL), *log = recording_path(o->output, number, ".log");
    char *shown = recording_path(o->shown, number, NULL);
    int status = 0;
    sweep(path);
    sweep(log);
    if (path && log && shown && file->written) {
        *out_any = true;
        if (!o->quiet) {
            tool_say("%s: %d graph%s, %d run%s (%d reserve%s)%s", shown, file->graphs, plural(file->graphs), file->runs,
                     plural(file->runs), file->reserves, plural(file->reserves),
                     file->stopped ? "; there were more runs, see --max" : "");
        }
        if (o->verify) {
            status = verify_recording(o, path, shown, log);
        }
        if (o->verify && !o->log && status == 0) {
            unlink(log);
        }
    }
    free(path);
    free(log);
    free(shown);
    return status;
}

static void explain_nothing(const tool_options *o, const record_state *state) {
    if (state->unreadable || state->failed) {
        return; /* that was said */
    }
    if (!state->loaded) {
        tool_say("nothing was recorded: the recorder was not loaded; is '%s' linked statically or privileged?",
                 o->program[0]);
    } else if (!state->schedulers) {
        tool_say("nothing was recorded: no ggml scheduler was made; either the program uses none, or it contains ggml "
                 "itself (build with BUILD_SHARED_LIBS=ON)");
    } else {
        tool_say("nothing was recorded: a ggml scheduler was made, but given no graph%s",
                 o->only ? " of the kind asked for" : "");
    }
}

static int report(const tool_options *o, const record_state *state, int status, int signal_number) {
    int own = 0;
    bool any = false;
    const int numbers = state->numbers < RECORD_FILES ? state->numbers : RECORD_FILES;
    for (int i = 1; i <= numbers; i++) {
        const int file = report_file(o, state, i, &any);
        own = own ? own : file;
    }
    if (signal_number) {
        tool_say("'%s' was ended by signal %d (%s); %s", o->program[0], signal_number, strsignal(signal_number),
                 any ? "the recording holds what it did until then" : "nothing had been recorded");
    } else if (!any) {
        explain_nothing(o, state);
    }
    if (state->failed) {
        own = EXIT_USAGE;
    } else if (!any) {
        own = EXIT_NOTHING;
    }
    return status ? status : own;
}

/* A page that the recorder, in whatever process it is loaded, shares with this command. */
static record_state *new_state(char *path, size_t size) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, size, "%s/sched-record-XXXXXX", folder && *folder ? folder : "/tmp");
    const int fd = mkstemp(path);
    if (fd < 0) {
        tool_say("cannot make '%s': %s", path, strerror(errno));
        return NULL;
    }
    void *page = ftruncate(fd, sizeof(record_state)) ? MAP_FAILED
               : mmap(NULL, sizeof(record_state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        tool_say("cannot use '%s': %s", path, strerror(errno));
        unlink(path);
    }
    close(fd);
    return page == MAP_FAILED ? NULL : page;
}

static int record(const tool_options *o, const char *path) {
    char state_path[PATH_MAX];
    char *recorder = tool_find_beside("libsched_record.so", RECORD_LIBDIR);
    if (!recorder) {
        tool_say("there is no libsched_record.so beside this command, in ../lib or in " RECORD_LIBDIR);
        return EXIT_USAGE;
    }
    if (strpbrk(recorder, " :")) { /* the loader takes them as the end of a name */
        tool_say("'%s' cannot be loaded from a folder with a space or a colon in its name", recorder);
        free(recorder);
        return EXIT_USAGE;
    }
    record_state *state = new_state(state_path, sizeof(state_path));
    if (!state) {
        free(recorder);
        return EXIT_USAGE;
    }
    int signal_number = 0;
    int status = program_run(o, path, recorder, state_path, &signal_number);
    status = status < 0 ? EXIT_USAGE : report(o, state, status, signal_number);
    unlink(state_path);
    munmap(state, sizeof(*state));
    free(recorder);
    return status;
}

int main(int argc, char **argv) {
    tool_options o = {.output = "recording.json"};
    int status = read_options(argc, argv, &o);
    if (status >= 0) {
        return status;
    }
    char *path = program_find(o.program[0]);
    if (!path) {
        tool_say("cannot find the program '%s'", o.program[0]);
        return EXIT_USAGE;
    }
    char *output = resolve_output(o.output);
    o.shown = o.output;
    o.output = output;
    status = output ? refuse(&o, program_look(path)) : EXIT_USAGE;
    if (status < 0 && program_is_privileged(path)) {
        tool_say("'%s' runs with another user's rights: nothing can be loaded into it", o.program[0]);
        status = EXIT_NOTHING;
    }
    if (status < 0) {
        status = record(&o, path);
    }
    free(output);
    free(path);
    return status;
}
