/*
 * shoot.c - pictures of a page, to look at: shoot PAGE OUT.png WIDTH HEIGHT [light|dark] [window|whole] [SCRIPT]
 *
 * SCRIPT is evaluated before the picture is taken; what it gives is printed, as are the page's complaints.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "html/browser.h"

static bool shoot(browser *b, int argc, char **argv) {
    const bool dark = argc > 5 && strcmp(argv[5], "dark") == 0, whole = argc > 6 && strcmp(argv[6], "whole") == 0;
    if (!browser_resize(b, atoi(argv[3]), atoi(argv[4])) || !browser_dark(b, dark) || !browser_open(b, argv[1], NULL)) {
        return false;
    }
    if (argc > 7) {
        cJSON *value = browser_evaluate(b, argv[7]);
        char *text = cJSON_Print(value);
        printf("%s\n", text != NULL ? text : b->error);
        free(text);
        cJSON_Delete(value);
    }
    fputs(b->complaints, stdout);
    return browser_shoot(b, argv[2], whole);
}

int main(int argc, char **argv) {
    browser b;
    if (argc < 5) {
        fputs("usage: shoot PAGE OUT.png WIDTH HEIGHT [light|dark] [window|whole] [SCRIPT]\n", stderr);
        return 2;
    }
    const bool done = browser_start(&b) && shoot(&b, argc, argv);
    if (!done) {
        fprintf(stderr, "shoot: %s\n", b.error);
    }
    browser_stop(&b);
    return done ? 0 : 1;
}
