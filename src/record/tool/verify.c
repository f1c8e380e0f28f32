/*
 * verify.c - compares what a program's scheduler printed with what sched-run makes of its recording.
 *
 * Layer: record.  Answers to ggml_backend_sched_print_assignments.
 *
 * Both are the same text but for causes, which are only in builds that have them compiled in, for use counts, which
 * older versions do not print, and for bytes that are no UTF-8, which a description cannot hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/tool/record_tool.h"

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static bool read_all(int fd, json_text *out) {
    char piece[65536];
    ssize_t n;
    while ((n = read(fd, piece, sizeof(piece))) > 0) {
        text_put(out, piece, (size_t)n);
    }
    return n == 0 && !out->failed;
}

static bool read_file(const char *path, json_text *out) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool ok = fd >= 0 && read_all(fd, out);
    text_put(out, "", 1); /* ended, so that a cut character at the end is not read past */
    out->length -= !out->failed;
    if (!ok) {
        tool_say("cannot read '%s': %s", path, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return ok;
}

/* The standard output of `sched-run ARGUMENTS`, whatever its status; 127 is that of one that cannot be run. */
static bool run_tool(char **arguments, bool silent, json_text *out) {
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC)) {
        return false;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        const int nowhere = silent ? open("/dev/null", O_WRONLY) : -1;
        if (nowhere >= 0) {
            dup2(nowhere, STDERR_FILENO);
        }
        dup2(ends[1], STDOUT_FILENO);
        execv(arguments[0], arguments);
        _exit(127);
    }
    close(ends[1]);
    bool ok = pid > 0 && read_all(ends[0], out);
    text_put(out, "", 1);
    out->length -= !out->failed;
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return ok && WIFEXITED(status) && WEXITSTATUS(status) != 127;
}

static char *find_tool(void) {
    char *path = tool_find_beside("sched-run", NULL);
    path = path ? path : program_find("sched-run");
    if (!path) {
        tool_say("--verify needs sched-run, which is neither beside this command nor in PATH");
    }
    return path;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

typedef struct lines {
    const char *at, *end;
} lines;

/* One character, or what goes past it; returns where the next one is. */
static const char *take(const char *c, const char *stop, json_text *out) {
    const char *colon = stop - c > 5 && memcmp(c, " use=", 5) == 0 ? memchr(c, ':', (size_t)(stop - c)) : NULL;
    if (colon) {
        return colon;
    }
    if (*c == '[' && stop - c > 15 && c[6] == ' ' && c[15] == ']') { /* [BACKE    CAUSE] */
        text_put(out, c, 6);
        return c + 15;
    }
    const size_t n = text_sequence(c);
    if (n == 0) {
        text_puts(out, "\xEF\xBF\xBD");
    } else if (*c != ' ' || (out->length && out->data[out->length - 1] != ' ')) { /* names are padded by bytes */
        text_put(out, c, n);
    }
    return c + (n ? n : 1);
}

/* The next line that says something, without what builds differ in. */
static bool next_line(lines *l, json_text *out) {
    text_empty(out);
    while (l->at < l->end && out->length == 0) {
        const char *stop = memchr(l->at, '\n', (size_t)(l->end - l->at));
        stop = stop ? stop : l->end;
        for (const char *c = l->at; c < stop;) {
            c = take(c, stop, out);
        }
        l->at = stop < l->end ? stop + 1 : l->end;
    }
    text_put(out, "", 1);
    return out->length > 1 && !out->failed;
}

typedef struct difference {
    bool any;
    int run, split, splits; /* where it is; how many splits were compared */
    char theirs[512], ours[512];
} difference;

static void keep(char *to, size_t size, bool there, const json_text *line) {
    snprintf(to, size, "%s", there ? line->data : "nothing");
}

static difference compare(const json_text *printed, const json_text *replayed) {
    difference d = {.run = -1, .split = -1};
    lines a = {printed->data, printed->data + printed->length};
    lines b = {replayed->data, replayed->data + replayed->length};
    json_text theirs = {0}, ours = {0};
    while (!d.any) {
        const bool more = next_line(&a, &theirs), more_ours = next_line(&b, &ours);
        if (!more && !more_ours) {
            break;
        }
        const char *line = more ? theirs.data : ours.data;
        int number;
        if (sscanf(line, "## SPLIT #%d:", &number) == 1) {
            d.run += number == 0;
            d.split = number;
            d.splits++;
        }
        if (more != more_ours || strcmp(theirs.data, ours.data) != 0) {
            d.any = true;
            keep(d.theirs, sizeof(d.theirs), more, &theirs);
            keep(d.ours, sizeof(d.ours), more_ours, &ours);
        }
    }
    text_clear(&theirs);
    text_clear(&ours);
    return d;
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static bool replay(char *tool, const char *recording, const char *rules, bool silent, json_text *out) {
    char *arguments[] = {tool, (char *)"-n", (char *)"--format", (char *)"ggml", (char *)"--rules", (char *)rules,
                         (char *)"--", (char *)recording, NULL};
    text_empty(out);
    return run_tool(arguments, silent, out);
}

/* What `sched-run --rules help` lists, a line each: a date, a name, what changed then. */
static bool list_rules(char *tool, json_text *out) {
    char *arguments[] = {tool, (char *)"--rules", (char *)"help", NULL};
    return run_tool(arguments, true, out) && !out->failed;
}

typedef struct rules_row {
    char date[16], name[64];
} rules_row;

static bool read_row(const char *line, rules_row *out) {
    return sscanf(line, "%15[0-9-] %63s", out->date, out->name) == 2;
}

static bool row_agrees(char *tool, const char *recording, const rules_row *row, const json_text *printed,
                       json_text *scratch) {
    return replay(tool, recording, row->date, true, scratch) && !compare(printed, scratch).any;
}

/*
 * The change that makes the difference: the first after the reference with whose rules the recording gives what was
 * printed, or else the last before it.  False where there is none.
 */
static bool find_rules(char *tool, const char *recording, const json_text *printed, rules_row *out) {
    json_text list = {0}, scratch = {0};
    bool found = false, after = false;
    if (list_rules(tool, &list)) {
        for (const char *line = list.data; line && !(found && after); line = strchr(line, '\n')) {
            rules_row row;
            line += *line == '\n';
            if (!read_row(line, &row)) {
                continue;
            }
            if (strcmp(row.name, "reference") == 0) {
                after = true;
                found = false; /* what was found before it comes second */
            } else if (row_agrees(tool, recording, &row, printed, &scratch)) {
                *out = row;
                found = true;
            }
        }
        found = found || out->date[0];
    }
    text_clear(&list);
    text_clear(&scratch);
    return found;
}

static void say_difference(const char *recording, const char *rules, const difference *d) {
    tool_say("%s: by the rules '%s' run %d differs in split %d:\n  the program: %s\n  sched-run:   %s", recording,
             rules, d->run, d->split, d->theirs, d->ours);
}

static int verify_with(const tool_options *o, char *tool, const char *recording, const char *shown,
                       const json_text *printed) {
    const char *rules = o->rules ? o->rules : "reference";
    json_text replayed = {0};
    rules_row other = {"", ""};
    int status = 0;
    if (!replay(tool, recording, rules, false, &replayed)) {
        tool_say("cannot run '%s'", tool);
        return EXIT_USAGE;
    }
    const difference d = compare(printed, &replayed);
    if (!d.any) {
        if (!o->quiet) {
            tool_say("%s: verified, %d run%s with %d split%s as the program printed them", shown, d.run + 1,
                     plural(d.run + 1), d.splits, plural(d.splits));
        }
    } else if (!o->rules && find_rules(tool, recording, printed, &other)) {
        say_difference(shown, rules, &d);
        tool_say("%s: verified by the rules of %s (%s): give --rules %s to sched-run", shown, other.date,
                 other.name, other.date);
    } else {
        say_difference(shown, rules, &d);
        status = EXIT_DIFFERS;
    }
    text_clear(&replayed);
    return status;
}

int verify_recording(const tool_options *o, const char *recording, const char *shown, const char *log) {
    json_text printed = {0};
    int status = EXIT_USAGE;
    char *tool = find_tool();
    if (tool && read_file(log, &printed)) {
        if (printed.length == 0) {
            tool_say("%s: the program's ggml printed no splits, there is nothing to compare", shown);
            status = EXIT_DIFFERS;
        } else {
            status = verify_with(o, tool, recording, shown, &printed);
        }
    }
    free(tool);
    text_clear(&printed);
    return status;
}
