/*
 * fuzz.h - what the fuzzers share: the entry point and a check that stops at once.
 *
 * Layer: tests.  With clang, build an entry point with -fsanitize=fuzzer; with any compiler, link driver.c instead and
 * give it the corpus.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                                  \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);     \
            abort();                                                                           \
        }                                                                                      \
    } while (0)

#endif
