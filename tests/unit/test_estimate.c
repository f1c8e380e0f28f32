/* Tests of estimates: times by hand, pipelines, waits, experts, the critical path, when offloading pays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/work.h"
#include "sched_run/estimate.h"
#include "support/insight_case.h"

/*
 * Figures with which times are whole: a float is read or written in 4 ns, copied in 40 ns; no op has as many
 * operations as bytes, so memory decides.
 */
#define SPEED "\"speed\":{\"flops\":1e9,\"memory_bandwidth\":1e9,\"link_bandwidth\":1e8,\"latency\":LATENCY}"
#define GPU(name, more) "{\"name\":\"" name "\",\"device\":\"sim\"," SPEED more "}"
#define CPU "{\"name\":\"CPU\",\"device\":\"cpu\",\"speed\":{\"flops\":1e9,\"memory_bandwidth\":1e9}}"
#define X "{\"name\":\"x\",\"ne\":[250],\"flags\":[\"input\"]}"
#define SQR(name, src, backend) \
    "{\"name\":\"" name "\",\"op\":\"SQR\",\"src\":[\"" src "\"],\"backend\":\"" backend "\"}"
/* SQR reads 1000 bytes and writes 1000: 2 us each; copies take 10 us. */
#define TWO(more)                                                                                            \
    "{\"sched_run\":1,\"backends\":[" GPU("GPU0", more) "," GPU("GPU1", more) "," CPU "],\"tensors\":[" X "],"  \
    "\"nodes\":[" SQR("a", "x", "GPU0") "," SQR("b", "a", "GPU0") "," SQR("c", "b", "GPU1") "]}"

enum { US = 1000 };

static insight_case c;
static sr_estimate e;

/* LATENCY in the text becomes the given one. */
static void open_case(const char *text, const char *latency, int n_copies) {
    char *own = calloc(strlen(text) + 256, 1);
    const char *at;
    while ((at = strstr(text, "LATENCY")) != NULL) {
        strncat(own, text, (size_t)(at - text));
        strcat(own, latency);
        text = at + strlen("LATENCY");
    }
    strcat(own, text);
    insight_open(&c, own);
    free(own);
    c.params.n_copies = n_copies;
    if (insight_run(&c, 0) != SR_OK) {
        fail_msg("%s", sr_error_message(&c.error));
    }
}

static void estimate(int n_batches) {
    sr_estimate_clear(&e);
    if (sr_estimate_make(c.layout, n_batches, &e, &c.err) != SR_OK) {
        fail_msg("%s", sr_error_message(&c.err));
    }
}

static void close_case(void) {
    sr_estimate_clear(&e);
    insight_close(&c);
}

static void expect_span(int i, const char *kind, int lane, uint64_t begin, uint64_t end, int32_t after) {
    assert_in_range(i, 0, e.n_spans - 1);
    const sr_estimate_span *s = &e.spans[i];
    if (strcmp(sr_estimate_kind_name((int)s->kind), kind) != 0 || s->lane != lane || s->begin != begin ||
        s->end != end || s->after != after) {
        fail_msg("span %d: %s in %d from %d to %d after %d", i, sr_estimate_kind_name((int)s->kind), s->lane,
                 (int)s->begin, (int)s->end, (int)s->after);
    }
}

/* ---- one batch -------------------------------------------------------------------------------------------------- */

/* The host copies x, GPU0 computes, sends; GPU1 waits for what is sent, computes. */
static void one_batch(void **state) {
    (void)state;
    open_case(TWO(""), "0", 1);
    estimate(1);
    assert_int_equal(e.n_spans, 5);
    expect_span(0, "copy", 3, 0, 10 * US, -1);
    expect_span(1, "compute", 0, 10 * US, 14 * US, 0);
    expect_span(2, "copy", 0, 14 * US, 24 * US, 1);
    expect_span(3, "wait", 1, 10 * US, 24 * US, 2);
    expect_span(4, "compute", 1, 24 * US, 26 * US, 2);
    assert_int_equal(e.total, 26 * US);
    assert_int_equal(e.batch_end[0], 26 * US);
    assert_int_equal(e.last, 4);
    assert_true(e.spans[0].critical && e.spans[1].critical && e.spans[2].critical && e.spans[4].critical);
    assert_false(e.spans[3].critical);
    assert_int_equal(e.critical[0].computing + e.critical[0].copying, 14 * US);
    assert_int_equal(e.critical[1].computing, 2 * US);
    assert_int_equal(e.critical[3].copying, 10 * US);
    assert_int_equal(e.spans[2].bytes, 1000);
    assert_int_equal(e.spans[2].from, 0);
    assert_int_equal(e.spans[2].to, 1);
    assert_int_equal(e.spans[1].n_nodes, 2);
    assert_int_equal(e.splits[0].by_memory, 4 * US);
    assert_int_equal(e.splits[0].by_flops, 0);
    assert_false(e.assumed[0] || e.assumed[1] || e.assumed[2]);
    close_case();
}

/* Every op and every copy takes the latency besides. */
static void latencies(void **state) {
    (void)state;
    open_case(TWO(""), "1e-6", 1);
    estimate(1);
    assert_int_equal(e.spans[0].end, 11 * US);
    assert_int_equal(e.spans[1].end, (11 + 6) * US);
    assert_int_equal(e.spans[2].end, (17 + 11) * US);
    assert_int_equal(e.total, (28 + 3) * US);
    assert_int_equal(e.splits[0].by_latency, 2 * US);
    close_case();
}

/* Devices that queue nothing are driven by the host, and copy through its memory: both links are paid. */
static void nothing_queued(void **state) {
    (void)state;
    open_case(TWO(",\"async\":false"), "0", 1);
    estimate(1);
    assert_int_equal(e.n_spans, 4);
    expect_span(0, "copy", 3, 0, 10 * US, -1);
    expect_span(1, "compute", 0, 10 * US, 14 * US, 0);
    expect_span(2, "copy", 3, 14 * US, 34 * US, 1);
    expect_span(3, "compute", 1, 34 * US, 36 * US, 2);
    close_case();
}

/* A direct copy has a bandwidth of its own where the figures say so; devices of two makers have none. */
static void links(void **state) {
    (void)state;
    static const char nvlink[] =
        "{\"sched_run\":1,\"backends\":["
        "{\"name\":\"GPU0\",\"device\":\"sim\",\"speed\":{\"flops\":1e9,\"memory_bandwidth\":1e9,"
        "\"link_bandwidth\":1e8,"
        "\"peer_bandwidth\":1e9}},"
        "{\"name\":\"GPU1\",\"device\":\"sim\",\"speed\":{\"flops\":1e9,\"memory_bandwidth\":1e9,"
        "\"link_bandwidth\":1e8,"
        "\"peer_bandwidth\":5e8}}," CPU "],\"tensors\":[" X "],"
        "\"nodes\":[" SQR("a", "x", "GPU0") "," SQR("b", "a", "GPU1") "," SQR("c", "b", "CPU") "]}";
    open_case(nvlink, "0", 1);
    estimate(1);
    assert_int_equal(e.spans[2].end - e.spans[2].begin, 2 * US); /* the slower of both */
    assert_int_equal(e.splits[2].copying, 10 * US);
    close_case();
    static const char makers[] = "{\"sched_run\":1,\"backends\":[" GPU("CUDA0", "") "," GPU("Vulkan0", "") "," CPU "],"
                                 "\"tensors\":[" X "],\"nodes\":[" SQR("a", "x", "CUDA0") ","
                                 SQR("b", "a", "Vulkan0") "]}";
    open_case(makers, "0", 1);
    estimate(1);
    assert_int_equal(e.splits[1].copying, 20 * US);
    assert_int_equal(e.total, (10 + 2 + 20 + 2) * US);
    close_case();
}

/* ---- several batches -------------------------------------------------------------------------------------------- */

/*
 * With one copy the host waits for GPU0 before it copies the next x: 14 computed, 24 sent; the first batch ends at 26,
 * the second begins with its copy at 24.
 */
static void batches_without_copies(void **state) {
    (void)state;
    open_case(TWO(""), "0", 1);
    estimate(2);
    assert_int_equal(e.n_spans, 11);
    expect_span(5, "wait", 3, 10 * US, 24 * US, 2);
    expect_span(6, "copy", 3, 24 * US, 34 * US, 2);
    expect_span(7, "compute", 0, 34 * US, 38 * US, 6);
    assert_int_equal(e.batch_end[0], 26 * US);
    assert_int_equal(e.total, 50 * US);
    close_case();
}

/* With two copies the next x is copied while GPU0 computes. */
static void batches_with_copies(void **state) {
    (void)state;
    open_case(TWO(""), "0", 2);
    estimate(2);
    assert_int_equal(e.n_spans, 10);
    expect_span(5, "copy", 3, 10 * US, 20 * US, 0);
    expect_span(6, "compute", 0, 24 * US, 28 * US, 2);
    expect_span(7, "copy", 0, 28 * US, 38 * US, 6);
    expect_span(8, "wait", 1, 26 * US, 38 * US, 7);
    assert_int_equal(e.total, 40 * US);
    /* the third batch uses the first slot again: its copy waits until GPU0 has used the x of the first batch */
    estimate(3);
    assert_int_equal(e.spans[10].begin, 20 * US);
    assert_int_equal(e.total, 54 * US);
    close_case();
}

/* Without events there is nothing to wait for but everything. */
static void batches_without_events(void **state) {
    (void)state;
    open_case(TWO(",\"events\":false"), "0", 2);
    estimate(2);
    assert_int_equal(e.total, 50 * US);
    close_case();
}

/* ---- experts ---------------------------------------------------------------------------------------------------- */

static void experts(void **state) {
    (void)state;
    assert_true(sr__experts_used(8, 2, 1) == 2.0);
    assert_true(sr__experts_used(8, 8, 1) == 8.0);
    assert_true(sr__experts_used(4, 2, 2) == 3.0);
    assert_true(sr__experts_used(8, 2, 1000) > 7.999);
    assert_true(sr__experts_used(0, 2, 1) == 0.0);
    static const char text[] =
        "{\"sched_run\":1,\"backends\":[" GPU("GPU0", ",\"offload\":{\"min_batch\":1}") "," CPU "],"
        "\"buffers\":{\"h\":{\"type\":\"CPU\",\"usage\":\"weights\"}},\"tensors\":["
        "{\"name\":\"w\",\"ne\":[10,10,4],\"buffer\":\"h\"},{\"name\":\"x\",\"ne\":[10,1,2],\"flags\":[\"input\"]},"
        "{\"name\":\"ids\",\"type\":\"i32\",\"ne\":[2,2],\"flags\":[\"input\"]}],"
        "\"nodes\":[{\"name\":\"y\",\"op\":\"MUL_MAT_ID\",\"src\":[\"w\",\"x\",\"ids\"]}]}";
    open_case(text, "0", 1);
    estimate(1);
    assert_int_equal(e.n_expert_copies, 1);
    /* of the weights three experts of four, and all of x and ids */
    assert_int_equal(e.splits[0].copied, 3 * 400 + 80 + 16);
    close_case();
}

/* ---- figures ---------------------------------------------------------------------------------------------------- */

static void assumed_figures(void **state) {
    (void)state;
    open_case("{\"sched_run\":1,\"backends\":[{\"name\":\"GPU0\",\"device\":\"sim\"},"
              "{\"name\":\"IGPU0\",\"device\":\"sim\",\"type\":\"igpu\",\"speed\":{\"flops\":1e12}},"
              "{\"name\":\"CPU\",\"device\":\"cpu\"}],\"tensors\":[" X "],\"nodes\":[" SQR("a", "x", "GPU0") "]}",
              "0", 1);
    estimate(1);
    assert_true(e.assumed[0] && e.assumed[1] && e.assumed[2]);
    assert_true(e.speeds[0].flops > e.speeds[2].flops && e.speeds[0].latency > 0);
    assert_true(e.speeds[1].flops == 1e12 && e.speeds[1].memory_bandwidth > 0 && e.speeds[1].latency <= 0);
    assert_true(e.speeds[2].link_bandwidth == e.speeds[2].memory_bandwidth);
    close_case();
}

/* Figures that would take longer than anyone waits end at the longest time, whatever is added. */
static void longest(void **state) {
    (void)state;
    open_case("{\"sched_run\":1,\"backends\":[{\"name\":\"GPU0\",\"device\":\"sim\",\"speed\":{\"flops\":1e-300,"
              "\"memory_bandwidth\":1e-300,\"link_bandwidth\":1e-300,\"latency\":1e300}}," CPU "],\"tensors\":[" X "],"
              "\"nodes\":[" SQR("a", "x", "GPU0") "," SQR("b", "a", "CPU") "]}", "0", 1);
    estimate(3);
    assert_int_equal(e.total, UINT64_C(1) << 61);
    close_case();
}

/* What is picked from or put into a table counts by rows; views cost nothing. */
static void bytes_of_nodes(void **state) {
    (void)state;
    open_case("{\"sched_run\":1,\"backends\":[" CPU "],\"tensors\":[{\"name\":\"t\",\"ne\":[10,100]},"
              "{\"name\":\"i\",\"type\":\"i32\",\"ne\":[3]},{\"name\":\"j\",\"type\":\"i64\",\"ne\":[3]},"
              "{\"name\":\"x\",\"ne\":[10,3]}],"
              "\"nodes\":[{\"name\":\"get\",\"op\":\"GET_ROWS\",\"src\":[\"t\",\"i\"]},"
              "{\"name\":\"set\",\"op\":\"SET_ROWS\",\"src\":[\"x\",\"j\",\"t\"]},"
              "{\"name\":\"v\",\"op\":\"VIEW\",\"src\":[\"t\"],\"ne\":[5,3]},"
              "{\"name\":\"add\",\"op\":\"ADD\",\"src\":[\"x\",\"x\"]},"
              "{\"name\":\"cpy\",\"op\":\"CPY\",\"src\":[\"x\",\"get\"]}]}", "0", 1);
    const sr_graph *g = c.layout->graph;
    static const struct { const char *id; double bytes; } expected[] = {
        {"get", 120 + 12 + 120}, {"set", 120 + 24 + 120}, {"v", 0}, {"add", 240}, {"cpy", 240}, {"x", 0},
    };
    for (int i = 0; i < SR_COUNT(expected); i++) {
        const double bytes = sr__node_bytes(g, insight_tensor(&c, expected[i].id));
        if (bytes < expected[i].bytes || bytes > expected[i].bytes) {
            fail_msg("%s: %g", expected[i].id, bytes);
        }
    }
    close_case();
}

/* ---- offloading ------------------------------------------------------------------------------------------------- */

/*
 * 1000 x 1000 weights: 4 MB, copied in 40 ms.  The host, bound by arithmetic, takes 20 ms a row of the batch and 2 us a
 * row for memory; the device nearly nothing, and 80 us a row for the copies of a row there and one back.
 */
#define OFFLOAD(more)                                                                                   \
    "{\"sched_run\":1,\"backends\":["                                                                  \
    "{\"name\":\"GPU0\",\"device\":\"sim\"" more ",\"speed\":{\"flops\":1e15,"                          \
    "\"memory_bandwidth\":1e15,\"link_bandwidth\":1e8}},"                                              \
    "{\"name\":\"CPU\",\"device\":\"cpu\",\"speed\":{\"flops\":1e8,\"memory_bandwidth\":1e9}}],"         \
    "\"buffers\":{\"h\":{\"type\":\"CPU\",\"usage\":\"weights\"}},"                                     \
    "\"tensors\":[{\"name\":\"w\",\"ne\":[1000,1000],\"buffer\":\"h\"},{\"name\":\"x\",\"ne\":[1000,4]}],"  \
    "\"nodes\":[{\"name\":\"y\",\"op\":\"MUL_MAT\",\"src\":[\"w\",\"x\"]}]}"

static void offload_pays(void **state) {
    (void)state;
    sr_offload_gain *gains;
    int n;
    open_case(OFFLOAD(",\"offload\":{\"min_batch\":5}"), "0", 1);
    assert_int_equal(sr_offload_gains(c.layout, &gains, &n, &c.err), SR_OK);
    assert_int_equal(n, 1);
    assert_int_equal(gains[0].backend, 0);
    assert_int_equal(gains[0].n_nodes, 1);
    assert_int_equal(gains[0].bytes, 4000000);
    assert_int_equal(gains[0].pays_from, 3);
    assert_int_equal(gains[0].first, 3);
    assert_int_equal(gains[0].last, 3);
    assert_int_equal(gains[0].asks_from, 5);
    assert_int_equal(gains[0].n_asked, 0);
    sr_offload_gains_free(gains);
    close_case();
    open_case(OFFLOAD(""), "0", 1);
    assert_int_equal(sr_offload_gains(c.layout, &gains, &n, &c.err), SR_OK);
    assert_int_equal(gains[0].asks_from, -1);
    assert_int_equal(gains[0].n_asked, 0);
    sr_offload_gains_free(gains);
    close_case();
    open_case(OFFLOAD(",\"offload\":{\"min_batch\":4}"), "0", 1);
    assert_int_equal(sr_offload_gains(c.layout, &gains, &n, &c.err), SR_OK);
    assert_int_equal(gains[0].n_asked, 1);
    sr_offload_gains_free(gains);
    close_case();
    open_case(TWO(""), "0", 1);
    assert_int_equal(sr_offload_gains(c.layout, &gains, &n, &c.err), SR_OK);
    assert_null(gains);
    assert_int_equal(n, 0);
    close_case();
}

/* ---- the rest --------------------------------------------------------------------------------------------------- */

static void told_to_a_trace(void **state) {
    (void)state;
    sr_trace *trace;
    size_t n;
    open_case(TWO(""), "0", 1);
    estimate(1);
    assert_int_equal(sr_trace_new(&trace, &c.err), SR_OK);
    sr_estimate_tell(&e, c.layout, "run 0", 5, trace);
    const sr_trace_event *events = sr_trace_events(trace, &n);
    assert_int_equal(n, 6);
    assert_null(events[0].track);
    assert_string_equal(events[0].to, "GPU0");
    assert_int_equal(events[0].begin, 5);
    assert_string_equal(events[1].track, "GPU0");
    assert_string_equal(events[1].name, "a");
    assert_int_equal(events[2].kind, SR_TRACE_COPY);
    assert_int_equal(events[5].kind, SR_TRACE_RUN);
    assert_int_equal(events[5].end, 26 * US + 5);
    sr_trace_free(trace);
    close_case();
}

static void refusals(void **state) {
    (void)state;
    open_case(TWO(""), "0", 1);
    assert_int_equal(sr_estimate_make(c.layout, 0, &e, &c.err), SR_INVALID);
    assert_int_equal(sr_estimate_make(NULL, 1, &e, &c.err), SR_INVALID);
    sr_layout empty = {.graph = c.layout->graph};
    assert_int_equal(sr_estimate_make(&empty, 1, &e, &c.err), SR_INVALID);
    close_case();
    assert_string_equal(sr_estimate_kind_name(-1), "");
    assert_string_equal(sr_estimate_kind_name(3), "");
}

static void memory_runs_out(void **state) {
    (void)state;
    open_case(OFFLOAD(""), "0", 1);
    for (long n = 1; n < 100; n++) {
        sr_offload_gain *gains = NULL;
        int n_gains = 0;
        sr__fail_allocations(n, false);
        sr_status status = sr_estimate_make(c.layout, 2, &e, &c.err);
        if (status == SR_OK) {
            status = sr_offload_gains(c.layout, &gains, &n_gains, &c.err);
        }
        sr__fail_allocations(0, false);
        sr_offload_gains_free(gains);
        sr_estimate_clear(&e);
        if (status == SR_OK) {
            assert_true(n > 10);
            close_case();
            return;
        }
        assert_int_equal(status, SR_MEMORY);
    }
    fail();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_batch),
        cmocka_unit_test(latencies),
        cmocka_unit_test(nothing_queued),
        cmocka_unit_test(links),
        cmocka_unit_test(batches_without_copies),
        cmocka_unit_test(batches_with_copies),
        cmocka_unit_test(batches_without_events),
        cmocka_unit_test(experts),
        cmocka_unit_test(assumed_figures),
        cmocka_unit_test(longest),
        cmocka_unit_test(bytes_of_nodes),
        cmocka_unit_test(offload_pays),
        cmocka_unit_test(told_to_a_trace),
        cmocka_unit_test(refusals),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
