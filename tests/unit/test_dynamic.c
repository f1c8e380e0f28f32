/* Tests of the dynamic allocator: which block it takes, and how it merges what comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "alloc/dynamic.h"

static size_t take(sr__dynamic *d, size_t size, int *chunk) {
    size_t offset = SIZE_MAX;
    assert_int_equal(sr__dynamic_take(d, size, chunk, &offset), SR_OK);
    return offset;
}

static void rounds_to_the_alignment(void **state) {
    (void)state;
    sr__dynamic d;
    int c;
    sr__dynamic_init(&d, 128, SIZE_MAX, 16);
    assert_int_equal(take(&d, 1, &c), 0);
    assert_int_equal(take(&d, 129, &c), 128);
    assert_int_equal(take(&d, 0, &c), 384);
    assert_int_equal(sr__dynamic_total(&d), 384);
    sr__dynamic_free(&d);
}

static void takes_the_best_fit_and_the_later_on_a_tie(void **state) {
    (void)state;
    sr__dynamic d;
    int c;
    sr__dynamic_init(&d, 16, SIZE_MAX, 16);
    size_t at[7];
    const size_t sizes[7] = {64, 16, 32, 16, 32, 16, 16};
    for (int i = 0; i < 7; i++) {
        at[i] = take(&d, sizes[i], &c);
    }
    assert_int_equal(sr__dynamic_give(&d, 0, at[0], 64), SR_OK);
    assert_int_equal(sr__dynamic_give(&d, 0, at[2], 32), SR_OK);
    assert_int_equal(sr__dynamic_give(&d, 0, at[4], 32), SR_OK);
    assert_int_equal(take(&d, 32, &c), at[4]);
    assert_int_equal(take(&d, 32, &c), at[2]);
    assert_int_equal(take(&d, 32, &c), at[0]);
    sr__dynamic_free(&d);
}

static void merges_with_both_neighbours(void **state) {
    (void)state;
    sr__dynamic d;
    int c;
    sr__dynamic_init(&d, 16, SIZE_MAX, 16);
    const size_t a = take(&d, 16, &c), b = take(&d, 16, &c), e = take(&d, 16, &c), keep = take(&d, 16, &c);
    assert_int_equal(sr__dynamic_give(&d, 0, a, 16), SR_OK);
    assert_int_equal(sr__dynamic_give(&d, 0, e, 16), SR_OK);
    assert_int_equal(d.chunks[0].n_blocks, 3);
    assert_int_equal(sr__dynamic_give(&d, 0, b, 16), SR_OK);
    assert_int_equal(d.chunks[0].n_blocks, 2);
    assert_int_equal(d.chunks[0].blocks[0].size, 48);
    assert_int_equal(sr__dynamic_give(&d, 0, keep, 16), SR_OK);
    assert_int_equal(d.chunks[0].n_blocks, 1);
    assert_int_equal(d.chunks[0].blocks[0].offset, 0);
    sr__dynamic_free(&d);
}

static void opens_chunks_of_the_maximum_size(void **state) {
    (void)state;
    sr__dynamic d;
    int c;
    sr__dynamic_init(&d, 16, 64, 3);
    assert_int_equal(take(&d, 48, &c), 0);
    assert_int_equal(c, 0);
    take(&d, 32, &c);
    assert_int_equal(c, 1);
    assert_int_equal(take(&d, 16, &c), 48); /* fits the end of chunk 0 exactly: no growth there beats growth here */
    assert_int_equal(c, 0);
    take(&d, 1000, &c); /* larger than the maximum: the last chunk takes it */
    assert_int_equal(c, 2);
    take(&d, 1 << 20, &c);
    assert_int_equal(c, 2);
    assert_int_equal(d.n_chunks, 3);
    sr__dynamic_free(&d);
}

static void a_later_chunk_replaces_an_earlier_fit(void **state) {
    (void)state;
    sr__dynamic d;
    int c;
    sr__dynamic_init(&d, 16, 128, 16);
    const size_t a = take(&d, 32, &c);
    take(&d, 96, &c);
    const size_t b = take(&d, 64, &c);
    take(&d, 64, &c);
    assert_int_equal(c, 1);
    assert_int_equal(sr__dynamic_give(&d, 0, a, 32), SR_OK);
    /* chunk 0's only free block is its last: found by the second rule only */
    assert_int_equal(sr__dynamic_give(&d, 1, b, 64), SR_OK);
    take(&d, 32, &c);
    assert_int_equal(c, 0);
    sr__dynamic_free(&d);
}

static void refuses_what_cannot_be(void **state) {
    (void)state;
    sr__dynamic d;
    int c;
    size_t offset;
    sr__dynamic_init(&d, 16, 64, 1);
    assert_int_equal(sr__dynamic_take(&d, SIZE_MAX, &c, &offset), SR_ALLOCATION);
    assert_int_equal(sr__dynamic_take(&d, SIZE_MAX / 2 + 16, &c, &offset), SR_ALLOCATION);
    assert_int_equal(sr__dynamic_take(&d, 16, &c, &offset), SR_OK);
    assert_int_equal(sr__dynamic_take(&d, SIZE_MAX / 2, &c, &offset), SR_ALLOCATION);
    sr__dynamic_free(&d);
}

static void empty_tensors_do_not_disturb(void **state) {
    (void)state;
    sr__dynamic d;
    int c;
    sr__dynamic_init(&d, 16, SIZE_MAX, 16);
    const size_t a = take(&d, 16, &c), z = take(&d, 0, &c), b = take(&d, 16, &c);
    assert_int_equal(z, b);
    assert_int_equal(sr__dynamic_give(&d, 0, z, 0), SR_OK);
    assert_int_equal(sr__dynamic_give(&d, 0, b, 16), SR_OK);
    assert_int_equal(sr__dynamic_give(&d, 0, a, 16), SR_OK);
    assert_int_equal(take(&d, 32, &c), 0);
    assert_int_equal(sr__dynamic_total(&d), 32);
    sr__dynamic_free(&d);
}

/* Random takes and gives against a map of bytes: what is handed out never overlaps. */
static void never_hands_out_a_byte_twice(void **state) {
    (void)state;
    enum { n = 400, room = 1 << 16 };
    static uint8_t busy[3][room];
    memset(busy, 0, sizeof(busy));
    struct { int chunk; size_t offset, size; } held[n];
    int n_held = 0;
    uint64_t seed = 7;
    sr__dynamic d;
    sr__dynamic_init(&d, 16, 4096, 3);
    for (int step = 0; step < 5000; step++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const uint32_t r = (uint32_t)(seed >> 33);
        if (n_held < n && (n_held == 0 || r % 5 < 3) && n_held < 60) {
            const size_t size = (size_t)(r / 8 % 40) * 16;
            int c;
            const size_t offset = take(&d, size, &c);
            assert_true(offset + size <= room);
            for (size_t i = offset; i < offset + size; i++) {
                assert_int_equal(busy[c][i], 0);
                busy[c][i] = 1;
            }
            held[n_held].chunk = c;
            held[n_held].offset = offset;
            held[n_held++].size = size;
        } else {
            const int k = (int)(r / 8 % (uint32_t)n_held);
            memset(&busy[held[k].chunk][held[k].offset], 0, held[k].size);
            assert_int_equal(sr__dynamic_give(&d, held[k].chunk, held[k].offset, held[k].size), SR_OK);
            held[k] = held[--n_held];
        }
    }
    sr__dynamic_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_to_the_alignment),
        cmocka_unit_test(takes_the_best_fit_and_the_later_on_a_tie),
        cmocka_unit_test(merges_with_both_neighbours),
        cmocka_unit_test(opens_chunks_of_the_maximum_size),
        cmocka_unit_test(a_later_chunk_replaces_an_earlier_fit),
        cmocka_unit_test(refuses_what_cannot_be),
        cmocka_unit_test(empty_tensors_do_not_disturb),
        cmocka_unit_test(never_hands_out_a_byte_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
