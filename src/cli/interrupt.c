/*
 * interrupt.c - SIGINT and SIGTERM: a long run ends cleanly, with the report so far.
 *
 * Layer: cli.
 */
#include <signal.h>
#include <stdatomic.h>

#include "cli/cli.h"

static atomic_bool interrupted;

/* The next one does what it does by default. */
static void note_signal(int number) {
    (void)number;
    atomic_store(&interrupted, true);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

void cli_catch_interrupts(void) {
    static const int numbers[] = {SIGINT, SIGTERM};
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < SR_COUNT(numbers); i++) {
        struct sigaction before;
        /* a shell has background jobs ignore SIGINT: that stays so */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN &&
            !atomic_load(&interrupted)) {
            sigaction(numbers[i], &action, NULL);
        }
    }
}

bool cli_interrupted(void *unused) {
    (void)unused;
    return atomic_load_explicit(&interrupted, memory_order_relaxed);
}
