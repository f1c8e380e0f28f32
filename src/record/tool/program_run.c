/*
 * program_run.c - runs a program with the recorder loaded into it and waits for its end.
 *
 * Layer: record.  Answers to nothing of the reference.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/tool/record_tool.h"

static volatile sig_atomic_t child;

/* What ends this command should end the program; the terminal's own signals reach it anyway. */
static void pass_on(int number) {
    if (child > 0) {
        kill((pid_t)child, number);
    }
}

static void set(const char *name, const char *value) {
    if (value) {
        setenv(name, value, 1);
    } else {
        unsetenv(name);
    }
}

static void set_environment(const tool_options *o, const char *recorder, const char *state_path) {
    const char *before = getenv("LD_PRELOAD");
    char *preload = NULL;
    if (asprintf(&preload, "%s%s%s", recorder, before && *before ? ":" : "", before ? before : "") >= 0) {
        setenv("LD_PRELOAD", preload, 1);
    }
    free(preload);
    set(RECORD_ENV_OUTPUT, o->output);
    set(RECORD_ENV_STATE, state_path);
    set(RECORD_ENV_DATA, o->data ? "1" : NULL);
    set(RECORD_ENV_MAX, o->max);
    set(RECORD_ENV_ONLY, o->only);
    set(RECORD_ENV_ANONYMISE, o->anonymise ? "1" : NULL);
    set(RECORD_ENV_LOG, o->log || o->verify ? "1" : NULL);
    set(RECORD_ENV_QUIET, NULL);
    if (o->log || o->verify) {
        const char *level = getenv("GGML_SCHED_DEBUG");
        const bool asked = level && atoi(level) > 0;
        set(RECORD_ENV_QUIET, asked ? NULL : "1");
        setenv("GGML_SCHED_DEBUG", "2", 1);
    }
}

/* In the child: tells why the program cannot be run through the pipe, which an exec closes. */
static _Noreturn void become(const tool_options *o, const char *path, const char *recorder, const char *state_path,
                             int told) {
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    set_environment(o, recorder, state_path);
    execvp(path, o->program);
    const int error = errno;
    if (write(told, &error, sizeof(error)) < 0) {
        _exit(126);
    }
    _exit(127);
}

static void handle(int number, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, NULL);
}

int program_run(const tool_options *o, const char *path, const char *recorder, const char *state_path,
                int *out_signal) {
    int told[2], error = 0, status = 0;
    if (pipe2(told, O_CLOEXEC)) {
        tool_say("cannot run '%s': %s", o->program[0], strerror(errno));
        return -1;
    }
    handle(SIGINT, SIG_IGN);
    handle(SIGQUIT, SIG_IGN);
    handle(SIGTERM, pass_on);
    handle(SIGHUP, pass_on);
    const pid_t pid = fork();
    if (pid == 0) {
        become(o, path, recorder, state_path, told[1]);
    }
    close(told[1]);
    child = pid;
    if (pid < 0) {
        error = errno;
    } else if (read(told[0], &error, sizeof(error)) != (ssize_t)sizeof(error)) {
        error = 0;
    }
    close(told[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    if (error) {
        tool_say("cannot run '%s': %s", o->program[0], strerror(error));
        return -1;
    }
    *out_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
