/*
 * render_svg.c - drawings by the `dot` program, run without a shell.
 *
 * Layer: cli.  Text goes in and comes out by pipes that are served together, so that neither side waits for the other.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

extern char **environ;

typedef struct child {
    pid_t pid;
    int in, out, complaints; /* our ends of its standard streams, -1 once closed */
} child;

static void close_end(int *fd) {
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* ---- start ------------------------------------------------------------------------------------------------------ */

static int spawn_dot(const int in[2], const int out[2], const int complaints[2], pid_t *pid) {
    char *arguments[] = {"dot", "-Tsvg", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, complaints[1], STDERR_FILENO);
    const int error = posix_spawnp(pid, "dot", &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static sr_status start(child *c, sr_error *err) {
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    int error = 0;
    for (int i = 0; i < 3 && error == 0; i++) {
        error = pipe2(pipes[i], O_CLOEXEC) != 0 ? errno : 0;
    }
    if (error == 0) {
        error = spawn_dot(pipes[0], pipes[1], pipes[2], &c->pid);
    }
    close_end(&pipes[0][0]);
    close_end(&pipes[1][1]);
    close_end(&pipes[2][1]);
    if (error != 0) {
        close_end(&pipes[0][1]);
        close_end(&pipes[1][0]);
        close_end(&pipes[2][0]);
        if (error == ENOENT) {
            return sr__fail(err, SR_UNAVAILABLE,
                            "format svg needs the program 'dot' of Graphviz, which is not installed; "
                            "'--format dot' needs no program");
        }
        return sr__fail(err, SR_IO, "'dot' cannot be started: %s", strerror(error));
    }
    c->in = pipes[0][1];
    c->out = pipes[1][0];
    c->complaints = pipes[2][0];
    fcntl(c->in, F_SETFL, O_NONBLOCK);
    return SR_OK;
}

/* ---- talk ------------------------------------------------------------------------------------------------------- */

static void feed(child *c, const char **text, size_t *left) {
    const ssize_t n = write(c->in, *text, *left);
    if (n > 0) {
        *text += n;
        *left -= (size_t)n;
    }
    if (*left == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        close_end(&c->in);
    }
}

static void drain(int *fd, sr__str *text) {
    char part[16 * 1024];
    const ssize_t n = read(*fd, part, sizeof(part));
    if (n > 0) {
        sr__str_append(text, part, (size_t)n);
    } else if (n == 0 || errno != EINTR) {
        close_end(fd);
    }
}

static void talk(child *c, const char *text, size_t left, sr__str *svg, sr__str *complaints) {
    if (left == 0) {
        close_end(&c->in);
    }
    while (c->out >= 0 || c->complaints >= 0) {
        struct pollfd fds[3] = {{.fd = c->in, .events = POLLOUT}, {.fd = c->out, .events = POLLIN},
                                {.fd = c->complaints, .events = POLLIN}};
        if (poll(fds, 3, -1) < 0 && errno != EINTR) {
            break;
        }
        if (c->in >= 0 && fds[0].revents != 0) {
            feed(c, &text, &left);
        }
        if (c->out >= 0 && fds[1].revents != 0) {
            drain(&c->out, svg);
        }
        if (c->complaints >= 0 && fds[2].revents != 0) {
            drain(&c->complaints, complaints);
        }
    }
    close_end(&c->in);
    close_end(&c->out);
    close_end(&c->complaints);
}

sr_status cli_render_svg(const char *dot, size_t length, sr__str *svg, sr_error *err) {
    child c = {.in = -1, .out = -1, .complaints = -1};
    sr__str complaints = {0};
    sr_status status = start(&c, err);
    if (status != SR_OK) {
        return status;
    }
    talk(&c, dot, length, svg, &complaints);
    int state = 0;
    while (waitpid(c.pid, &state, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) {
        const size_t line = strcspn(sr__str_text(&complaints), "\n");
        status = sr__fail(err, SR_UNAVAILABLE, "'dot' failed: %.*s", (int)(line < 400 ? line : 400),
                          line > 0 ? sr__str_text(&complaints) : "it was ended");
    } else if (svg->failed) {
        status = sr__fail_memory(err);
    }
    sr__str_free(&complaints);
    return status;
}
