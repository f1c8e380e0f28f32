/*
 * test_sim_queue.c - tests of src/backends/sim/sim_queue.c: order, points, failures.
 *
 * Layer: tests.
 */
#include "backends/sim/sim_queue.h"
#include "support/backend_fixture.h"

/* Writes its number behind the others, or fails. */
typedef struct step {
    sr__sim_command command;
    int number;
    sr_status result;
    int *log, *n;
    int *skips;
} step;

static sr_status run_step(sr__sim_command *command, sr_error *err) {
    const step *s = (step *)command;
    s->log[(*s->n)++] = s->number;
    if (s->result == SR_OK) {
        return SR_OK;
    }
    (void)sr__fail(err, s->result, "step %d failed", s->number);
    sr__error_number(err, "step", s->number);
    return s->result;
}

static void skip_step(sr__sim_command *command, const sr_error *why) {
    assert_non_null(strstr(sr_error_message(why), "failed"));
    ++*((step *)command)->skips;
}

static void free_step(sr__sim_command *command) {
    sr__free(command);
}

static int step_log[1000], n_steps, n_skipped;

static void push_step(sr__sim_queue *queue, int number, sr_status result) {
    step *s = sr__calloc(1, sizeof(*s));
    assert_non_null(s);
    *s = (step){.command = {.run = run_step, .skipped = skip_step, .free = free_step}, .number = number,
                .result = result, .log = step_log, .n = &n_steps, .skips = &n_skipped};
    sr__sim_queue_push(queue, &s->command);
}

static void test_order(void **state) {
    (void)state;
    sr_error err = {0};
    sr__sim_queue queue;
    n_steps = n_skipped = 0;
    bf_ok(sr__sim_queue_init(&queue, "Q", &err), &err);
    bf_ok(sr__sim_queue_drain(&queue, &err), &err); /* nothing was ever queued */
    bf_ok(sr__sim_queue_ready(&queue, &err), &err);
    for (int i = 0; i < 1000; i++) {
        push_step(&queue, i, SR_OK);
    }
    bf_ok(sr__sim_queue_drain(&queue, &err), &err);
    assert_int_equal(n_steps, 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(step_log[i], i);
    }
    sr__sim_queue_destroy(&queue);
}

static void test_failures(void **state) {
    (void)state;
    sr_error err = {0};
    sr__sim_queue queue;
    n_steps = n_skipped = 0;
    bf_ok(sr__sim_queue_init(&queue, "Q", &err), &err);
    bf_ok(sr__sim_queue_ready(&queue, &err), &err);
    push_step(&queue, 0, SR_OK);
    push_step(&queue, 1, SR_COMPUTE);
    push_step(&queue, 2, SR_UNREACHABLE);
    push_step(&queue, 3, SR_OK);
    /* what others wait for goes on */
    sr__sim_point *point = sr__sim_point_new(0);
    sr__sim_queue_push(&queue, sr__sim_signal_new(point));
    sr__sim_point_wait(point);
    assert_int_equal(point->failure.status, SR_OK);
    sr__sim_point_unref(point);
    assert_int_equal(sr__sim_queue_drain(&queue, &err), SR_COMPUTE);
    assert_string_equal(sr_error_message(&err), "backend 'Q': step 1 failed");
    assert_int_equal(sr_error_find(&err, "step")->number, 1);
    assert_string_equal(sr_error_find(&err, "backend")->text, "Q");
    sr_error_clear(&err);
    assert_int_equal(n_steps, 2);
    assert_int_equal(n_skipped, 2);
    /* told once; then it works again */
    bf_ok(sr__sim_queue_drain(&queue, &err), &err);
    push_step(&queue, 4, SR_COMPUTE);
    point = sr__sim_point_new(0);
    sr__sim_queue_push(&queue, sr__sim_signal_new(point));
    sr__sim_point_wait(point);
    sr__sim_point_unref(point);
    bf_fails(sr__sim_queue_ready(&queue, &err), SR_COMPUTE, &err, "step 4");
    bf_ok(sr__sim_queue_ready(&queue, &err), &err);
    /* nobody asks: neither the failure nor what waits behind it may leak */
    push_step(&queue, 5, SR_COMPUTE);
    push_step(&queue, 6, SR_OK);
    sr__sim_queue_destroy(&queue);
    assert_int_equal(n_skipped, 3);
}

/* Two queues pass a number to and fro. */
static void test_points(void **state) {
    (void)state;
    enum { ROUNDS = 200 };
    sr_error err = {0};
    sr__sim_queue a, b;
    n_steps = n_skipped = 0;
    bf_ok(sr__sim_queue_init(&a, "A", &err), &err);
    bf_ok(sr__sim_queue_init(&b, "B", &err), &err);
    bf_ok(sr__sim_queue_ready(&a, &err), &err);
    bf_ok(sr__sim_queue_ready(&b, &err), &err);
    for (int i = 0; i < ROUNDS; i++) {
        sr__sim_queue *from = i % 2 ? &b : &a, *to = i % 2 ? &a : &b;
        sr__sim_point *point = sr__sim_point_new(0);
        assert_non_null(point);
        push_step(from, i, SR_OK); /* unordered writes to the log would be a race */
        sr__sim_queue_push(from, sr__sim_signal_new(point));
        sr__sim_queue_push(to, sr__sim_wait_new(point));
        sr__sim_point_unref(point);
    }
    bf_ok(sr__sim_queue_drain(&a, &err), &err);
    bf_ok(sr__sim_queue_drain(&b, &err), &err);
    assert_int_equal(n_steps, ROUNDS);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(step_log[i], i);
    }
    sr__sim_queue_destroy(&a);
    sr__sim_queue_destroy(&b);
}

static void test_point_failure(void **state) {
    (void)state;
    sr_error err = {0};
    sr__sim_point *point = sr__sim_point_new(16);
    assert_int_equal(point->payload_size, 16);
    memset(point->payload, 1, 16);
    (void)sr__fail(&err, SR_COMPUTE, "lost");
    sr__error_text(&err, "node", "y");
    sr__error_number(&err, "count", 7);
    sr__sim_point_reach(point, &err);
    sr_error_clear(&err);
    sr__sim_point_reach(point, NULL); /* the first to reach it decides */
    sr__sim_point_wait(point);
    assert_int_equal(point->failure.status, SR_COMPUTE);
    assert_string_equal(point->failure.message, "lost");
    assert_string_equal(sr_error_find(&point->failure, "node")->text, "y");
    assert_int_equal(sr_error_find(&point->failure, "count")->number, 7);
    sr__sim_point_unref(point);
    sr__sim_point_unref(NULL);
    assert_null(sr__sim_point_new(SIZE_MAX));
    sr__fail_allocations(1, true);
    assert_null(sr__sim_point_new(1));
    sr__fail_allocations(0, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_points),
        cmocka_unit_test(test_point_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
