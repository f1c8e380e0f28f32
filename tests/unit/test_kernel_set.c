/*
 * test_kernel_set.c - ACC and SET: parts of a tensor added to or replaced.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

/* The element of b that falls on element i of the result, if any. */
static double want_part(const kh_case *c, const int64_t i[SR_MAX_DIMS]) {
    double y = kh_get(c->src[0], i[0], i[1], i[2], i[3]);
    const int64_t offset = kh_at(c->dst, i[0], i[1], i[2], i[3]) - c->dst->memory;
    KH_EACH(c->src[1], k) {
        const int64_t at = c->params[3] + 4 * k.at[0] + c->params[0] * k.at[1] + c->params[1] * k.at[2] +
                           c->params[2] * k.at[3];
        if (at == offset) {
            y = (c->op == SR_OP_ACC ? y : 0) + kh_get(c->src[1], KH_I(k));
        }
    }
    return y;
}

/* b covers the inner part of a: a [8, 6, 4, 2], b [3, 4, 2, 2] from [2, 1, 1, 0]. */
static kh_case part_case(int op, int type, kh_layout b, bool in_place) {
    kh_case c = {.op = op, .n_src = 2, .params = {32, 192, 768, 8 + 32 + 192, in_place}};
    c.src[0] = kh_fill(kh_new(type, KH_CONTIGUOUS, 8, 6, 4, 2), 1, -50, 50);
    c.src[1] = kh_fill(kh_new(type, b, 3, 4, 2, 2), 2, -50, 50);
    c.dst = in_place ? kh_alias(c.src[0]) : kh_new(type, KH_CONTIGUOUS, 8, 6, 4, 2);
    return c;
}

static void test_parts(void **state) {
    static const kh_layout dense[] = {KH_CONTIGUOUS, KH_ROW_GAPS, KH_OUTER_GAPS, KH_PERMUTED};
    (void)state;
    for (int layout = 0; layout < SR_COUNT(dense); layout++) {
        for (int in_place = 0; in_place < 2; in_place++) {
            kh_case c = part_case(SR_OP_ACC, SR_TYPE_F32, dense[layout], in_place != 0);
            kh_check_free(&c, want_part);
            c = part_case(SR_OP_SET, SR_TYPE_F32, dense[layout], in_place != 0);
            kh_check_free(&c, want_part);
            c = part_case(SR_OP_SET, SR_TYPE_I32, dense[layout], in_place != 0);
            kh_check_free(&c, want_part);
        }
    }
}

/* Rows of the part that overlap: every one counts, in order. */
static void test_overlapping_rows(void **state) {
    (void)state;
    kh_case c = part_case(SR_OP_ACC, SR_TYPE_F32, KH_CONTIGUOUS, false);
    c.params[0] = 4, c.params[1] = 8, c.params[2] = 0;
    kh_check_free(&c, want_part);
    c = part_case(SR_OP_SET, SR_TYPE_I32, KH_CONTIGUOUS, false);
    c.params[0] = 4, c.params[1] = 8, c.params[2] = 0;
    kh_check_free(&c, want_part);
}

static void test_an_empty_part(void **state) {
    (void)state;
    kh_case c = part_case(SR_OP_ACC, SR_TYPE_F32, KH_CONTIGUOUS, false);
    kh_free(c.src[1]);
    c.src[1] = kh_new(SR_TYPE_F32, KH_CONTIGUOUS, 0, 4, 2, 2);
    kh_check_free(&c, want_part);
}

static void test_refusals(void **state) {
    (void)state;
    kh_case c = part_case(SR_OP_SET, SR_TYPE_F32, KH_CONTIGUOUS, false);
    const int32_t last = 4 * 8 * 6 * 4 * 2 - (3 * 4 + 3 * 32 + 192 + 768);
    c.params[3] = last;
    assert_null(kh_refuse(&c));
    c.params[3] = last + 4;
    kh_check_refused(&c, "does not fit");
    c.params[3] = 2;
    kh_check_refused(&c, "multiples of 4");
    c.params[3] = 0;
    c.params[1] = -192;
    kh_check_refused(&c, "not negative");
    c.params[1] = INT32_MAX - 3;
    kh_check_refused(&c, "does not fit");
    kh_case_free(&c);
    c = part_case(SR_OP_ACC, SR_TYPE_I32, KH_CONTIGUOUS, false);
    kh_check_refused(&c, "f32");
    kh_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_overlapping_rows),
        cmocka_unit_test(test_an_empty_part),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
