/*
 * test_sim_pace.c - simulated devices that take the time their figures say, and estimates that say the same.
 *
 * Layer: tests.  A device sleeps until its time is over, so that an execution is never faster than its estimate.  How
 * much slower it is depends on the machine: so layouts are compared that differ by half and tens of milliseconds, and
 * the faster one has many tries to be faster than the estimate of the slower.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sched_run/estimate.h"
#include "support/execute_case.h"

enum { MS = 1000000, MOST_TRIES = 50 };

/* A float is read or written in 5 us and copied in 10 us, at 5 us an operation. */
#define SPEED "\"paced\":true,\"speed\":{\"flops\":2e5,\"memory_bandwidth\":8e5,\"link_bandwidth\":4e5,\"latency\":0}"
#define GPU(name) "{\"name\":\"" name "\",\"device\":\"sim\",\"offload\":{\"min_batch\":8}," SPEED "}"
/* A fast one, to be the CPU only. */
#define CPU "{\"name\":\"CPU\",\"device\":\"sim\",\"type\":\"cpu\",\"buffer_type\":\"CPU\"}"
#define SLOW_CPU "{\"name\":\"CPU\",\"device\":\"sim\",\"type\":\"cpu\",\"buffer_type\":\"CPU\"," \
    "\"paced\":true,\"speed\":{\"flops\":2e5,\"memory_bandwidth\":8e6,\"latency\":0}}"
#define DESCRIBED(backends, more) "{\"sched_run\":1,\"backends\":[" backends "]," more "}"
#define ON(name, src, backend) \
    "{\"name\":\"" name "\",\"op\":\"SQR\",\"src\":[\"" src "\"],\"backend\":\"" backend "\"}"

/* An input of n floats: a node of it takes n * 10 us, and a copy, too. */
#define WIDE(n) "\"tensors\":[{\"name\":\"x\",\"ne\":[" #n "],\"flags\":[\"input\"]}],"

typedef struct layout_case {
    const char *name;
    const char *text;
    int n_copies, n_batches;
    bool op_offload;
} layout_case;

typedef struct result { uint64_t estimated, measured; } result;

static void run_batches(const layout_case *lc, execute_case *c) {
    sr_error err = {0};
    for (int i = 0; i < lc->n_batches; i++) {
        sr_sched_reset(c->sched);
        execute_case_assign(c);
        ASSERT_OK(sr_sched_alloc_graph(c->sched, c->graph, &err), &err);
        ASSERT_OK(sr_description_set_inputs(c->description, c->run, &sr_sched_layout(c->sched)->view, &err), &err);
        ASSERT_OK(sr_sched_compute_async(c->sched, c->graph, &err), &err);
    }
    ASSERT_OK(sr_sched_synchronize(c->sched, &err), &err);
}

static uint64_t estimate(const layout_case *lc, const execute_case *c) {
    sr_error err = {0};
    sr_estimate e;
    ASSERT_OK(sr_estimate_make(sr_sched_layout(c->sched), lc->n_batches, &e, &err), &err);
    const uint64_t total = e.total;
    sr_estimate_clear(&e);
    return total;
}

/* Executed until it takes less than `enough`. */
static result judge(const layout_case *lc, uint64_t enough) {
    sr_error err = {0};
    execute_case c;
    sr_sched_params params;
    execute_case_init(&c, lc->text, 1);
    sr_sched_free(c.sched);
    sr_sched_params_init(&params);
    params.n_copies = lc->n_copies;
    params.op_offload = lc->op_offload;
    ASSERT_OK(sr_sched_new(c.machine->backends, NULL, c.machine->n_backends, &params, &c.sched, &err), &err);
    result r = {.measured = UINT64_MAX};
    for (int i = 0; i < MOST_TRIES && (i == 0 || r.measured >= enough); i++) {
        const uint64_t begin = sr_trace_now();
        run_batches(lc, &c);
        const uint64_t time = sr_trace_now() - begin;
        r.measured = time < r.measured ? time : r.measured;
    }
    r.estimated = estimate(lc, &c);
    execute_case_free(&c);
    if (r.measured + MS < r.estimated) {
        fail_msg("%s: measured %.1f ms, estimated %.1f ms", lc->name, (double)r.measured / MS,
                 (double)r.estimated / MS);
    }
    return r;
}

/* The slower layout comes first. */
static void compare(const layout_case *slow, const layout_case *fast) {
    const result a = judge(slow, UINT64_MAX), b = judge(fast, a.estimated);
    if (2 * a.estimated < 3 * b.estimated || a.estimated < b.estimated + 20 * MS) {
        fail_msg("the estimates of '%s' and '%s' are too near: %.1f and %.1f ms", slow->name, fast->name,
                 (double)a.estimated / MS, (double)b.estimated / MS);
    }
    if (a.measured <= b.measured) {
        fail_msg("'%s' took %.1f ms, '%s' %.1f ms; estimated %.1f and %.1f", slow->name, (double)a.measured / MS,
                 fast->name, (double)b.measured / MS, (double)a.estimated / MS, (double)b.estimated / MS);
    }
}

/* ---- layouts ---------------------------------------------------------------------------------------------------- */

/* Two stages of five nodes, each 2 ms, and 2 ms for the copy before each. */
static const char pipeline_text[] = DESCRIBED(
    GPU("GPU0") "," GPU("GPU1") "," CPU,
    WIDE(200) "\"nodes\":[" ON("a", "x", "GPU0") "," ON("b", "a", "GPU0") "," ON("c", "b", "GPU0") ","
    ON("d", "c", "GPU0") "," ON("e", "d", "GPU0") "," ON("f", "e", "GPU1") "," ON("g", "f", "GPU1") ","
    ON("h", "g", "GPU1") "," ON("i", "h", "GPU1") "," ON("j", "i", "GPU1") "]");

/* The host copies the input in 10 ms, GPU0 reads it twice in 5 ms each: one after the other, or at once. */
static const char fed_text[] = DESCRIBED(
    GPU("GPU0") "," GPU("GPU1") "," CPU,
    WIDE(1000) "\"nodes\":[{\"name\":\"a\",\"op\":\"SUM\",\"src\":[\"x\"],\"backend\":\"GPU0\"},"
    "{\"name\":\"b\",\"op\":\"MEAN\",\"src\":[\"x\"],\"backend\":\"GPU0\"}," ON("c", "a", "GPU1") "]");

static void pipeline_copies(void **state) {
    (void)state;
    const layout_case one = {"one copy", fed_text, 1, 6, true}, four = {"four copies", fed_text, 4, 6, true};
    compare(&one, &four);
}

/* Two products of 40 x 40 weights with a batch of 16: each 256 ms on the host, or 16 ms to copy its weights. */
#define PRODUCT(backends, where) DESCRIBED(backends,                                                       \
    "\"buffers\":{\"w\":{\"type\":\"" where "\",\"usage\":\"weights\"}},\"tensors\":["                        \
    "{\"name\":\"w\",\"ne\":[40,40],\"buffer\":\"w\"},{\"name\":\"x\",\"ne\":[40,16],\"flags\":[\"input\"]}],"  \
    "\"nodes\":[{\"name\":\"y\",\"op\":\"MUL_MAT\",\"src\":[\"w\",\"x\"]},"                                  \
    "{\"name\":\"z\",\"op\":\"MUL_MAT\",\"src\":[\"w\",\"y\"]}]")
#define FAST_GPU "{\"name\":\"GPU0\",\"device\":\"sim\",\"offload\":{\"min_batch\":8},\"paced\":true," \
    "\"speed\":{\"flops\":1e8,\"memory_bandwidth\":1e8,\"link_bandwidth\":2e5,\"latency\":0}}"

static const char host_weights[] = PRODUCT(FAST_GPU "," SLOW_CPU, "CPU");
static const char device_weights[] = PRODUCT(FAST_GPU "," SLOW_CPU, "GPU0");

static void offloading(void **state) {
    (void)state;
    const layout_case none = {"no offload", host_weights, 1, 1, false}, some = {"offload", host_weights, 1, 1, true};
    compare(&none, &some);
}

static void weights_on_the_device(void **state) {
    (void)state;
    const layout_case host = {"host weights", host_weights, 1, 1, true},
                      device = {"device weights", device_weights, 1, 1, true};
    compare(&host, &device);
}

/* To and fro with 500 floats, or everything of one backend together. */
#define MIXED(nodes) DESCRIBED(GPU("GPU0") "," CPU, WIDE(500) "\"nodes\":[" nodes "]")

static const char alternating[] = MIXED(
    ON("a", "x", "GPU0") "," ON("p", "x", "CPU") "," ON("b", "p", "GPU0") "," ON("q", "b", "CPU") ","
    ON("c", "q", "GPU0") "," ON("r", "c", "CPU"));
static const char together[] = MIXED(
    ON("p", "x", "CPU") "," ON("q", "p", "CPU") "," ON("r", "q", "CPU") "," ON("a", "r", "GPU0") ","
    ON("b", "a", "GPU0") "," ON("c", "b", "GPU0"));

static void order_of_splits(void **state) {
    (void)state;
    const layout_case to_and_fro = {"to and fro", alternating, 1, 1, true}, blocks = {"blocks", together, 1, 1, true};
    compare(&to_and_fro, &blocks);
}

/* Devices that queue nothing wait for each other, and copy through the host. */
#define AT_ONCE(name) "{\"name\":\"" name "\",\"device\":\"sim\",\"async\":false," SPEED "}"

static const char at_once[] = DESCRIBED(
    AT_ONCE("GPU0") "," AT_ONCE("GPU1") "," CPU,
    WIDE(200) "\"nodes\":[" ON("a", "x", "GPU0") "," ON("b", "a", "GPU0") "," ON("c", "b", "GPU0") ","
    ON("d", "c", "GPU0") "," ON("e", "d", "GPU0") "," ON("f", "e", "GPU1") "," ON("g", "f", "GPU1") ","
    ON("h", "g", "GPU1") "," ON("i", "h", "GPU1") "," ON("j", "i", "GPU1") "]");

static void queues(void **state) {
    (void)state;
    const layout_case none = {"no queues", at_once, 4, 6, true}, four = {"queues", pipeline_text, 4, 6, true};
    compare(&none, &four);
}

/* ---- one device ------------------------------------------------------------------------------------------------- */

/* Values are what they are without pacing. */
static void results(void **state) {
    (void)state;
    sr_error err = {0};
    execute_case c;
    float y[4];
    execute_case_init(&c, DESCRIBED(GPU("GPU0") "," CPU,
                                    "\"tensors\":[{\"name\":\"x\",\"ne\":[4],\"flags\":[\"input\"],"
                                    "\"data\":[1,2,3,4]}],\"nodes\":[" ON("y", "x", "GPU0") "]"), 1);
    ASSERT_OK(execute_case_run(&c, &err), &err);
    const sr_storage *at = &sr_sched_layout(c.sched)->view.storage[execute_case_tensor(&c, "y")];
    ASSERT_OK(sr_buffer_get(at->buffer, y, at->offset, sizeof(y), &err), &err);
    for (int i = 0; i < 4; i++) {
        assert_true(y[i] > (float)((i + 1) * (i + 1)) - 0.5f && y[i] < (float)((i + 1) * (i + 1)) + 0.5f);
    }
    execute_case_free(&c);
}

static bool always(void *user) {
    (void)user;
    return true;
}

/* A device that would sleep for a minute is woken. */
static void woken(void **state) {
    (void)state;
    sr_error err = {0};
    execute_case c;
    execute_case_init(&c, DESCRIBED("{\"name\":\"GPU0\",\"device\":\"sim\",\"paced\":true,\"speed\":{\"flops\":1,"
                                    "\"memory_bandwidth\":1,\"link_bandwidth\":1e9}}," CPU,
                                    "\"tensors\":[{\"name\":\"x\",\"ne\":[400],\"flags\":[\"input\"]}],"
                                    "\"nodes\":[" ON("y", "x", "GPU0") "]"), 1);
    ASSERT_OK(sr_sched_alloc_graph(c.sched, c.graph, &err), &err);
    const uint64_t begin = sr_trace_now();
    sr_sched_set_abort_callback(c.sched, always, NULL);
    assert_int_equal(sr_sched_compute(c.sched, c.graph, &err), SR_ABORTED);
    assert_true(sr_trace_now() - begin < UINT64_C(30000000000));
    sr_error_clear(&err);
    execute_case_free(&c);
}

static void for_sims_only(void **state) {
    (void)state;
    sr_error err = {0};
    sr_description *d = NULL;
    const char *text = "{\"sched_run\":1,\"backends\":[{\"name\":\"CPU\",\"device\":\"cpu\",\"paced\":true}]}";
    assert_int_equal(sr_description_load_text(text, strlen(text), "case.json", NULL, NULL, &d, &err), SR_DESCRIPTION);
    assert_non_null(strstr(sr_error_message(&err), "takes no \"paced\""));
    sr_error_clear(&err);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipeline_copies), cmocka_unit_test(offloading), cmocka_unit_test(weights_on_the_device),
        cmocka_unit_test(order_of_splits), cmocka_unit_test(queues),     cmocka_unit_test(results),
        cmocka_unit_test(woken),           cmocka_unit_test(for_sims_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
