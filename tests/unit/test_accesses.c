/* Tests of the table of accesses: against one that looks at every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/accesses.h"

enum { USERS = 3, MEMORIES = 2, BYTES = 64, STEPS = 400 };

typedef struct step { int user, memory; bool write, record; size_t begin, end; } step;

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static step draw(uint64_t *state) {
    step s = {.user = (int)(next(state) % USERS),
              .memory = (int)(next(state) % MEMORIES),
              .write = next(state) % 2 != 0,
              .record = next(state) % 2 != 0,
              .begin = next(state) % BYTES};
    s.end = s.begin + next(state) % (BYTES - s.begin + 1);
    return s;
}

static void as_byte_by_byte(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        static int32_t bytes[USERS][2][MEMORIES][BYTES];
        step steps[STEPS];
        uint64_t random = seed;
        sr__accesses *a = sr__accesses_new(USERS);
        assert_non_null(a);
        memset(bytes, 0, sizeof(bytes));
        for (int i = 0; i < STEPS; i++) {
            steps[i] = draw(&random);
            assert_true(sr__accesses_declare(a, steps[i].memory, steps[i].begin, steps[i].end));
        }
        assert_true(sr__accesses_sort(a));
        for (int i = 0; i < STEPS; i++) {
            const step *s = &steps[i];
            int32_t *own = bytes[s->user][s->write][s->memory], latest = 0;
            for (size_t b = s->begin; b < s->end; b++) {
                latest = own[b] > latest ? own[b] : latest;
                own[b] = s->record ? i + 1 : own[b];
            }
            assert_int_equal(sr__accesses_latest(a, s->user, s->write, s->memory, s->begin, s->end), latest);
            if (s->record) {
                sr__accesses_record(a, s->user, s->write, s->memory, s->begin, s->end, i + 1);
            }
        }
        sr__accesses_free(a);
    }
}

static void nothing_declared(void **state) {
    (void)state;
    sr__accesses *a = sr__accesses_new(1);
    assert_true(sr__accesses_sort(a));
    sr__accesses_free(a);
    sr__accesses_free(NULL);
}

static void out_of_memory(void **state) {
    (void)state;
    bool ok = false;
    for (long n = 1; !ok; n++) {
        sr__fail_allocations(n, false);
        sr__accesses *a = sr__accesses_new(2);
        ok = a && sr__accesses_declare(a, 0, 0, 8) && sr__accesses_declare(a, 1, 4, 8) && sr__accesses_sort(a);
        sr__fail_allocations(0, false);
        sr__accesses_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_byte_by_byte),
        cmocka_unit_test(nothing_declared),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("accesses", tests, NULL, NULL);
}
