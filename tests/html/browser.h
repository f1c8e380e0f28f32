/*
 * browser.h - a headless Chromium, driven over a pipe by its DevTools protocol: pages, keys, what they say and show.
 *
 * Every function that can fail returns false and leaves a message in browser->error.
 */
#ifndef SR_TEST_BROWSER_H
#define SR_TEST_BROWSER_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct browser {
    pid_t pid;
    int to, from;         /* our ends of its pipes */
    char *buffer;         /* read, but not yet a whole message */
    size_t length, cap;
    int last_id;
    char session[128];
    char profile[64];     /* a folder that is removed at the end */
    bool loaded;          /* the page's load event has come */
    int n_complaints;     /* console errors, exceptions, requests for anything but the page */
    char complaints[4096];
    char error[512];
} browser;

/* The path of Chromium, or NULL where there is none. */
const char *browser_find(void);
bool browser_start(browser *b);
void browser_stop(browser *b);
/* Opens a file and waits until it has been loaded; complaints are counted from here on. */
bool browser_open(browser *b, const char *path, const char *fragment);
/* The value of an expression, to be deleted by the caller; NULL: it threw, or nothing came back. */
cJSON *browser_evaluate(browser *b, const char *expression);
/* Processor time that the page's thread has used so far, in seconds; negative: not known. */
double browser_busy(browser *b);
/* A key as a person would press it: "Tab", "ArrowDown", "Enter", or one character. */
bool browser_press(browser *b, const char *key, bool shift);
bool browser_resize(browser *b, int width, int height);
bool browser_dark(browser *b, bool dark);
/* A PNG of what the window shows, or of the whole page. */
bool browser_shoot(browser *b, const char *path, bool whole);
/* A command of the protocol; params (consumed) may be NULL.  The result, to be deleted by the caller, or NULL. */
cJSON *browser_command(browser *b, const char *method, cJSON *params);

#endif
