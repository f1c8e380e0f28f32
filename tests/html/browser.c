/* browser.c - see browser.h.  Messages are JSON objects with a zero byte behind each. */
#include "html/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 30 }; /* seconds for an answer, on a machine that does other things as well */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool fail(browser *b, const char *what, const char *more) {
    snprintf(b->error, sizeof(b->error), "%.200s%s%.300s", what, more != NULL ? ": " : "", more != NULL ? more : "");
    return false;
}

const char *browser_find(void) {
    static const char *const places[] = {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"};
    const char *chosen = getenv("CHROMIUM");
    if (chosen != NULL) {
        return access(chosen, X_OK) == 0 ? chosen : NULL;
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (access(places[i], X_OK) == 0) {
            return places[i];
        }
    }
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------------------------- */

/* The child's side: commands come by descriptor 3, answers go to 4. */
static void become_chromium(const browser *b, int commands, int answers) {
    char profile[96];
    const int nowhere = open("/dev/null", O_RDWR);
    const int in = fcntl(commands, F_DUPFD, 10), out = fcntl(answers, F_DUPFD, 10); /* out of the way of 3 and 4 */
    snprintf(profile, sizeof(profile), "--user-data-dir=%s", b->profile);
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    dup2(in, 3);
    dup2(out, 4);
    execl(browser_find(), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
          "--disable-background-networking", "--disable-component-update", "--no-first-run", "--hide-scrollbars",
          "--disable-dev-shm-usage", "--disable-background-timer-throttling",
          "--disable-renderer-backgrounding", profile, "about:blank", (char *)NULL);
    _exit(127);
}

static bool attach(browser *b) {
    cJSON *params = cJSON_CreateObject();
    cJSON_AddStringToObject(params, "url", "about:blank");
    cJSON *target = browser_command(b, "Target.createTarget", params);
    const cJSON *id = cJSON_GetObjectItem(target, "targetId");
    params = cJSON_CreateObject();
    cJSON_AddStringToObject(params, "targetId", cJSON_IsString(id) ? id->valuestring : "");
    cJSON_AddTrueToObject(params, "flatten");
    cJSON *session = browser_command(b, "Target.attachToTarget", params);
    const cJSON *name = cJSON_GetObjectItem(session, "sessionId");
    if (cJSON_IsString(name)) {
        snprintf(b->session, sizeof(b->session), "%s", name->valuestring);
    }
    cJSON_Delete(target);
    cJSON_Delete(session);
    return b->session[0] != '\0';
}

bool browser_start(browser *b) {
    static const char *const domains[] = {"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"};
    int commands[2], answers[2];
    *b = (browser){.pid = -1, .to = -1, .from = -1};
    snprintf(b->profile, sizeof(b->profile), "/tmp/sched-run-browser-XXXXXX");
    if (browser_find() == NULL || mkdtemp(b->profile) == NULL) {
        return fail(b, "there is no Chromium, or no place for its profile", NULL);
    }
    if (pipe2(commands, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) {
        return fail(b, "no pipes", strerror(errno));
    }
    signal(SIGPIPE, SIG_IGN);
    b->pid = fork();
    if (b->pid == 0) {
        setpgid(0, 0);
        become_chromium(b, commands[0], answers[1]);
    }
    close(commands[0]);
    close(answers[1]);
    b->to = commands[1];
    b->from = answers[0];
    if (b->pid < 0 || !attach(b)) {
        return b->error[0] != '\0' ? false : fail(b, "Chromium gives no page", NULL);
    }
    for (size_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++) {
        cJSON_Delete(browser_command(b, domains[i], NULL));
    }
    return b->error[0] == '\0';
}

static void remove_profile(const browser *b) {
    const pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", "--", b->profile, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
}

void browser_stop(browser *b) {
    if (b->pid > 0) {
        kill(-b->pid, SIGKILL); /* its own group: with its children */
        waitpid(b->pid, NULL, 0);
    }
    if (b->to >= 0) {
        close(b->to);
        close(b->from);
    }
    remove_profile(b);
    free(b->buffer);
    *b = (browser){.pid = -1, .to = -1, .from = -1};
}

/* ---- messages -------------------------------------------------------------------------------------------------- */

static void complain(browser *b, const char *kind, const char *text) {
    const size_t n = strlen(b->complaints);
    b->n_complaints++;
    snprintf(b->complaints + n, sizeof(b->complaints) - n, "%s: %s\n", kind, text != NULL ? text : "?");
}

static const char *text_at(const cJSON *object, const char *a, const char *b, const char *c) {
    const cJSON *at = cJSON_GetObjectItem(object, a);
    at = b != NULL ? cJSON_GetObjectItem(at, b) : at;
    at = c != NULL ? cJSON_GetObjectItem(at, c) : at;
    return cJSON_IsString(at) ? at->valuestring : NULL;
}

/* What the page does that it should not, and that it has been loaded. */
static void note_event(browser *b, const char *method, const cJSON *params) {
    if (strcmp(method, "Page.loadEventFired") == 0) {
        b->loaded = true;
    } else if (strcmp(method, "Runtime.exceptionThrown") == 0) {
        complain(b, "exception", text_at(params, "exceptionDetails", "exception", "description"));
    } else if (strcmp(method, "Runtime.consoleAPICalled") == 0) {
        const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(params, "args"), 0);
        complain(b, "console", text_at(first, "value", NULL, NULL));
    } else if (strcmp(method, "Log.entryAdded") == 0) {
        complain(b, "log", text_at(params, "entry", "text", NULL));
    } else if (strcmp(method, "Network.requestWillBeSent") == 0) {
        const char *url = text_at(params, "request", "url", NULL);
        if (url != NULL && strncmp(url, "file:", 5) != 0 && strncmp(url, "data:", 5) != 0) {
            complain(b, "request", url);
        }
    }
}

/* The next whole message, or NULL when the time is up. */
static cJSON *receive(browser *b, double until) {
    for (;;) {
        char *end = b->length > 0 ? memchr(b->buffer, '\0', b->length) : NULL;
        if (end != NULL) {
            cJSON *message = cJSON_Parse(b->buffer);
            const size_t used = (size_t)(end - b->buffer) + 1;
            memmove(b->buffer, b->buffer + used, b->length - used);
            b->length -= used;
            return message;
        }
        struct pollfd fd = {.fd = b->from, .events = POLLIN};
        const double left = until - now();
        if (left <= 0 || poll(&fd, 1, (int)(left * 1000) + 1) <= 0) {
            fail(b, "Chromium does not answer", NULL);
            return NULL;
        }
        if (b->cap - b->length < 65536) {
            b->cap = 2 * b->cap + 65536;
            char *grown = realloc(b->buffer, b->cap);
            if (grown == NULL) {
                fail(b, "no memory", NULL);
                return NULL;
            }
            b->buffer = grown;
        }
        const ssize_t n = read(b->from, b->buffer + b->length, b->cap - b->length);
        if (n <= 0) {
            fail(b, "Chromium has ended", NULL);
            return NULL;
        }
        b->length += (size_t)n;
    }
}

static bool send_text(browser *b, const char *text) {
    size_t left = strlen(text) + 1;
    while (left > 0) {
        const ssize_t n = write(b->to, text, left);
        if (n < 0 && errno != EINTR) {
            return fail(b, "Chromium does not listen", strerror(errno));
        }
        text += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

cJSON *browser_command(browser *b, const char *method, cJSON *params) {
    const int id = ++b->last_id;
    cJSON *message = cJSON_CreateObject();
    cJSON_AddNumberToObject(message, "id", id);
    cJSON_AddStringToObject(message, "method", method);
    cJSON_AddItemToObject(message, "params", params != NULL ? params : cJSON_CreateObject());
    if (b->session[0] != '\0') {
        cJSON_AddStringToObject(message, "sessionId", b->session);
    }
    char *text = cJSON_PrintUnformatted(message);
    const bool sent = text != NULL && send_text(b, text);
    free(text);
    cJSON_Delete(message);
    const double until = now() + PATIENCE;
    while (sent) {
        cJSON *answer = receive(b, until);
        if (answer == NULL) {
            return NULL;
        }
        const cJSON *of = cJSON_GetObjectItem(answer, "id");
        if (cJSON_IsNumber(of) && of->valueint == id) {
            cJSON *result = cJSON_DetachItemFromObject(answer, "result");
            if (result == NULL) {
                fail(b, method, text_at(answer, "error", "message", NULL));
            }
            cJSON_Delete(answer);
            return result;
        }
        const char *event = text_at(answer, "method", NULL, NULL);
        if (event != NULL) {
            note_event(b, event, cJSON_GetObjectItem(answer, "params"));
        }
        cJSON_Delete(answer);
    }
    return NULL;
}

/* ---- pages ----------------------------------------------------------------------------------------------------- */

bool browser_open(browser *b, const char *path, const char *fragment) {
    char url[4200];
    char *whole = realpath(path, NULL);
    snprintf(url, sizeof(url), "file://%s%s", whole != NULL ? whole : path, fragment != NULL ? fragment : "");
    free(whole);
    /* the same address with another fragment would be the same page */
    for (int i = 0; i < 2; i++) {
        cJSON *params = cJSON_CreateObject();
        cJSON_AddStringToObject(params, "url", i == 0 ? "about:blank" : url);
        b->loaded = false;
        b->n_complaints = 0;
        b->complaints[0] = '\0';
        cJSON *result = browser_command(b, "Page.navigate", params);
        const char *trouble = text_at(result, "errorText", NULL, NULL);
        const bool started = result != NULL && trouble == NULL;
        if (!started && result != NULL) {
            fail(b, url, trouble);
        }
        cJSON_Delete(result);
        const double until = now() + PATIENCE;
        while (started && !b->loaded) {
            cJSON *message = receive(b, until);
            if (message == NULL) {
                return false;
            }
            const char *event = text_at(message, "method", NULL, NULL);
            if (event != NULL) {
                note_event(b, event, cJSON_GetObjectItem(message, "params"));
            }
            cJSON_Delete(message);
        }
        if (!started) {
            return false;
        }
    }
    return true;
}

cJSON *browser_evaluate(browser *b, const char *expression) {
    cJSON *params = cJSON_CreateObject();
    cJSON_AddStringToObject(params, "expression", expression);
    cJSON_AddTrueToObject(params, "returnByValue");
    cJSON_AddTrueToObject(params, "awaitPromise");
    cJSON *result = browser_command(b, "Runtime.evaluate", params);
    const char *thrown = text_at(result, "exceptionDetails", "exception", "description");
    cJSON *value = thrown == NULL ? cJSON_DetachItemFromObject(cJSON_GetObjectItem(result, "result"), "value") : NULL;
    if (thrown != NULL) {
        fail(b, "the page's script threw", thrown);
    }
    cJSON_Delete(result);
    return value;
}

double browser_busy(browser *b) {
    cJSON *params = cJSON_CreateObject();
    cJSON_AddStringToObject(params, "timeDomain", "threadTicks");
    cJSON_Delete(browser_command(b, "Performance.enable", params));
    cJSON *result = browser_command(b, "Performance.getMetrics", NULL);
    const cJSON *metrics = cJSON_GetObjectItem(result, "metrics");
    double seconds = -1.0;
    for (const cJSON *m = metrics != NULL ? metrics->child : NULL; m != NULL; m = m->next) {
        const char *name = text_at(m, "name", NULL, NULL);
        if (name != NULL && strcmp(name, "TaskDuration") == 0) {
            seconds = cJSON_GetObjectItem(m, "value")->valuedouble;
        }
    }
    cJSON_Delete(result);
    return seconds;
}

/* ---- keys ------------------------------------------------------------------------------------------------------ */

typedef struct key { const char *name; int code; const char *text; } key;

static const key keys[] = {{"Tab", 9, NULL},        {"Enter", 13, "\r"},     {"Escape", 27, NULL},   {"End", 35, NULL},
                           {"Home", 36, NULL},      {"ArrowLeft", 37, NULL}, {"ArrowUp", 38, NULL},
                           {"ArrowRight", 39, NULL}, {"ArrowDown", 40, NULL}};

bool browser_press(browser *b, const char *name, bool shift) {
    key pressed = {name, (unsigned char)name[0], name};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strcmp(keys[i].name, name) == 0) {
            pressed = keys[i];
        }
    }
    for (int up = 0; up < 2; up++) {
        cJSON *params = cJSON_CreateObject();
        cJSON_AddStringToObject(params, "type", up ? "keyUp" : pressed.text != NULL ? "keyDown" : "rawKeyDown");
        cJSON_AddStringToObject(params, "key", pressed.name);
        cJSON_AddNumberToObject(params, "windowsVirtualKeyCode", pressed.code);
        cJSON_AddNumberToObject(params, "modifiers", shift ? 8 : 0);
        if (!up && pressed.text != NULL) {
            cJSON_AddStringToObject(params, "text", pressed.text);
        }
        cJSON *result = browser_command(b, "Input.dispatchKeyEvent", params);
        if (result == NULL) {
            return false;
        }
        cJSON_Delete(result);
    }
    return true;
}

/* ---- the window ------------------------------------------------------------------------------------------------ */

bool browser_resize(browser *b, int width, int height) {
    cJSON *params = cJSON_CreateObject();
    cJSON_AddNumberToObject(params, "width", width);
    cJSON_AddNumberToObject(params, "height", height);
    cJSON_AddNumberToObject(params, "deviceScaleFactor", 1);
    cJSON_AddFalseToObject(params, "mobile");
    cJSON *result = browser_command(b, "Emulation.setDeviceMetricsOverride", params);
    cJSON_Delete(result);
    return result != NULL;
}

bool browser_dark(browser *b, bool dark) {
    cJSON *params = cJSON_CreateObject();
    cJSON *feature = cJSON_CreateObject();
    cJSON_AddStringToObject(feature, "name", "prefers-color-scheme");
    cJSON_AddStringToObject(feature, "value", dark ? "dark" : "light");
    cJSON_AddItemToArray(cJSON_AddArrayToObject(params, "features"), feature);
    cJSON *result = browser_command(b, "Emulation.setEmulatedMedia", params);
    cJSON_Delete(result);
    return result != NULL;
}

static int sextet(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

static bool write_base64(const char *text, const char *path) {
    FILE *file = fopen(path, "wb");
    unsigned bits = 0;
    int n = 0;
    for (; file != NULL && *text != '\0' && sextet(*text) >= 0; text++) {
        bits = bits << 6 | (unsigned)sextet(*text);
        n += 6;
        if (n >= 8) {
            n -= 8;
            fputc((int)(bits >> n & 255u), file);
        }
    }
    return file != NULL && fclose(file) == 0;
}

bool browser_shoot(browser *b, const char *path, bool whole) {
    cJSON *params = cJSON_CreateObject();
    cJSON_AddStringToObject(params, "format", "png");
    cJSON_AddBoolToObject(params, "captureBeyondViewport", whole);
    cJSON *result = browser_command(b, "Page.captureScreenshot", params);
    const char *data = text_at(result, "data", NULL, NULL);
    const bool written = data != NULL && write_base64(data, path);
    cJSON_Delete(result);
    return written || fail(b, "no picture was written", path);
}
