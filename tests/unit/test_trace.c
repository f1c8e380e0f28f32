/*
 * test_trace.c - traces: what is kept, what executions tell, how a timeline and its summary come out.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <pthread.h>

#include "sched_run/report.h"
#include "support/execute_case.h"

/* ---- the sink --------------------------------------------------------------------------------------------------- */

static void test_keeps_texts(void **state) {
    (void)state;
    sr_error err = {0};
    sr_trace *trace;
    ASSERT_OK(sr_trace_new(&trace, &err), &err);
    char name[] = "x", track[] = "GPU0";
    sr_trace_add(trace, &(sr_trace_event){.kind = SR_TRACE_COPY, .track = track, .name = name, .bytes = 7, .end = 1});
    sr_trace_add(NULL, &(sr_trace_event){.kind = SR_TRACE_COPY});
    name[0] = track[0] = '?';
    size_t n;
    const sr_trace_event *events = sr_trace_events(trace, &n);
    assert_int_equal(n, 1);
    assert_string_equal(events[0].name, "x");
    assert_string_equal(events[0].track, "GPU0");
    assert_null(events[0].from);
    assert_int_equal(events[0].bytes, 7);
    /* the same text is kept once */
    assert_ptr_equal(sr_trace_keep(trace, "x"), events[0].name);
    assert_null(sr_trace_keep(trace, NULL));
    sr_trace_clear(trace);
    sr_trace_events(trace, &n);
    assert_int_equal(n, 0);
    sr_trace_free(trace);
    sr_trace_free(NULL);
}

static void test_waits_for_nothing(void **state) {
    (void)state;
    sr_error err = {0};
    sr_trace *trace;
    size_t n;
    ASSERT_OK(sr_trace_new(&trace, &err), &err);
    sr_trace_add(trace, &(sr_trace_event){.kind = SR_TRACE_WAIT, .begin = 5, .end = 1004});
    sr_trace_add(trace, &(sr_trace_event){.kind = SR_TRACE_SYNCHRONIZE, .begin = 5, .end = 1004});
    sr_trace_events(trace, &n);
    assert_int_equal(n, 0);
    sr_trace_add(trace, &(sr_trace_event){.kind = SR_TRACE_WAIT, .begin = 5, .end = 1005});
    sr_trace_add(trace, &(sr_trace_event){.kind = SR_TRACE_COPY, .begin = 5, .end = 5});
    sr_trace_events(trace, &n);
    assert_int_equal(n, 2);
    assert_int_equal(sr_trace_lost(trace), 0);
    sr_trace_free(trace);
}

static void test_without_memory(void **state) {
    (void)state;
    sr_error err = {0};
    sr_trace *trace;
    size_t n;
    sr__fail_allocations(1, false);
    assert_int_equal(sr_trace_new(&trace, &err), SR_MEMORY);
    sr__fail_allocations(0, false);
    sr_error_clear(&err);
    ASSERT_OK(sr_trace_new(&trace, &err), &err);
    sr__fail_allocations(1, true);
    sr_trace_add(trace, &(sr_trace_event){.kind = SR_TRACE_COPY, .name = "x"});
    assert_null(sr_trace_keep(trace, "y"));
    sr__fail_allocations(0, false);
    assert_int_equal(sr_trace_lost(trace), 1);
    sr_trace_add(trace, &(sr_trace_event){.kind = SR_TRACE_COPY, .name = "x"});
    sr_trace_events(trace, &n);
    assert_int_equal(n, 1);
    sr_trace_free(trace);
}

enum { WRITERS = 4, EACH = 500 };

static void *write_many(void *user) {
    for (int i = 0; i < EACH; i++) {
        char name[16];
        snprintf(name, sizeof(name), "t%d", i % 10);
        sr_trace_add(user, &(sr_trace_event){.kind = SR_TRACE_COPY, .name = name, .bytes = 1});
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    sr_error err = {0};
    sr_trace *trace;
    pthread_t threads[WRITERS];
    size_t n;
    ASSERT_OK(sr_trace_new(&trace, &err), &err);
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, trace), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    const sr_trace_event *events = sr_trace_events(trace, &n);
    assert_int_equal(n, WRITERS * EACH);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(events[i].name[0], 't');
    }
    sr_trace_free(trace);
}

/* ---- executions ------------------------------------------------------------------------------------------------- */

static bool on_same_track(const sr_trace_event *a, const sr_trace_event *b) {
    return (!a->track && !b->track) || (a->track && b->track && strcmp(a->track, b->track) == 0);
}

/* Two events of a track lie apart or one in the other; of a backend's they lie apart. */
static void check_track_times(const sr_trace_event *events, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const sr_trace_event *a = &events[i];
        assert_true(a->begin <= a->end);
        for (size_t k = 0; k < i; k++) {
            const sr_trace_event *b = &events[k];
            if (!on_same_track(a, b) || a->end <= b->begin || b->end <= a->begin) {
                continue;
            }
            assert_null(a->track);
            assert_true((a->begin <= b->begin && b->end <= a->end) || (b->begin <= a->begin && a->end <= b->end));
        }
    }
}

static int count(const sr_trace_event *events, size_t n, sr_trace_kind kind, const char *track, uint64_t *out_bytes) {
    int found = 0;
    const sr_trace_event like = {.track = track};
    *out_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (events[i].kind == kind && on_same_track(&events[i], &like)) {
            found++;
            *out_bytes += events[i].bytes;
        }
    }
    return found;
}

static void check_execution(int n_copies) {
    sr_error err = {0};
    execute_case c;
    sr_trace *trace;
    size_t n;
    uint64_t bytes;
    execute_case_init(&c, PIPELINE, n_copies);
    ASSERT_OK(sr_trace_new(&trace, &err), &err);
    sr_sched_set_trace(c.sched, trace);
    ASSERT_OK(execute_case_run(&c, &err), &err);
    assert_true(sr_sched_layout(c.sched)->seconds_compute > 0);
    const sr_trace_event *events = sr_trace_events(trace, &n);
    check_track_times(events, n);
    assert_int_equal(count(events, n, SR_TRACE_COMPUTE, "GPU0", &bytes), 1);
    assert_int_equal(count(events, n, SR_TRACE_COMPUTE, "GPU1", &bytes), 1);
    assert_int_equal(count(events, n, SR_TRACE_COMPUTE, "CPU", &bytes), 1);
    assert_int_equal(count(events, n, SR_TRACE_SPLIT, NULL, &bytes), 3);
    assert_int_equal(count(events, n, SR_TRACE_SUBMIT, NULL, &bytes), 3);
    assert_int_equal(count(events, n, SR_TRACE_RUN, NULL, &bytes), 1);
    /* the user's input and what the CPU gets are copied by the host, c by both queues */
    assert_int_equal(count(events, n, SR_TRACE_COPY, NULL, &bytes), 2);
    assert_int_equal(bytes, 64);
    assert_int_equal(count(events, n, SR_TRACE_COPY, "GPU0", &bytes), 1);
    assert_int_equal(bytes, 32);
    assert_int_equal(count(events, n, SR_TRACE_COPY, "GPU1", &bytes), 1);
    for (size_t i = 0; i < n; i++) {
        if (events[i].kind == SR_TRACE_COPY && events[i].track) {
            assert_string_equal(events[i].name, "c");
            assert_string_equal(events[i].from, "GPU0");
            assert_string_equal(events[i].to, "GPU1");
            assert_int_equal(events[i].split, 1);
        }
        if (events[i].kind == SR_TRACE_COMPUTE && events[i].track && strcmp(events[i].track, "GPU0") == 0) {
            assert_string_equal(events[i].name, "a");
            assert_int_equal(events[i].n_nodes, 3);
            assert_int_equal(events[i].split, 0);
            assert_false(events[i].by_host);
        }
    }
    /* without a trace nothing is told any more */
    sr_sched_set_trace(c.sched, NULL);
    ASSERT_OK(execute_case_run(&c, &err), &err);
    size_t later;
    sr_trace_events(trace, &later);
    assert_int_equal(later, n);
    execute_case_free(&c);
    sr_trace_free(trace);
}

static void test_execution(void **state) {
    (void)state;
    check_execution(1);
    check_execution(3);
}

/* ---- the summary ------------------------------------------------------------------------------------------------ */

static void test_summary(void **state) {
    (void)state;
    sr_error err = {0};
    sr_trace *trace;
    sr_trace_summary s;
    sr_machine *machine = build_machine("GPU0 CPU");
    ASSERT_OK(sr_trace_new(&trace, &err), &err);
    ASSERT_OK(sr_trace_summarize(trace, machine->backends, 2, &s, &err), &err);
    assert_int_equal(s.n_rows, 0);
    const sr_trace_event events[] = {
        {.kind = SR_TRACE_COMPUTE, .track = "GPU0", .begin = 0, .end = 9000},
        {.kind = SR_TRACE_RUN, .begin = 0, .end = 10000},
        {.kind = SR_TRACE_COPY, .bytes = 8, .begin = 21000, .end = 22000},
        {.kind = SR_TRACE_COPY, .track = "GPU0", .bytes = 4, .begin = 23000, .end = 23500},
        {.kind = SR_TRACE_WAIT, .begin = 24000, .end = 26000},
        {.kind = SR_TRACE_SYNCHRONIZE, .begin = 26000, .end = 27000},
        {.kind = SR_TRACE_COMPUTE, .track = "GPU0", .begin = 23500, .end = 26500},
        {.kind = SR_TRACE_COMPUTE, .track = "CPU", .by_host = true, .begin = 27000, .end = 28000},
        {.kind = SR_TRACE_SPLIT, .begin = 20000, .end = 28000},
        {.kind = SR_TRACE_RUN, .begin = 20000, .end = 30000},
    };
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        sr_trace_add(trace, &events[i]);
    }
    ASSERT_OK(sr_trace_summarize(trace, machine->backends, 2, &s, &err), &err);
    assert_int_equal(s.n_rows, 3);
    assert_int_equal(s.wall, 10000);
    assert_string_equal(s.rows[0].track, "GPU0");
    assert_int_equal(s.rows[0].computing, 3000); /* the last execution alone */
    assert_int_equal(s.rows[0].copying, 500);
    assert_int_equal(s.rows[0].n_copies, 1);
    assert_int_equal(s.rows[1].computing, 1000);
    assert_null(s.rows[2].track);
    assert_int_equal(s.rows[2].computing, 1000); /* what the CPU has the host's thread do */
    assert_int_equal(s.rows[2].copying, 1000);
    assert_int_equal(s.rows[2].waiting, 3000);
    assert_int_equal(s.rows[2].bytes, 8);
    sr_trace_summary_clear(&s);
    sr__fail_allocations(1, false);
    assert_int_equal(sr_trace_summarize(trace, machine->backends, 2, &s, &err), SR_MEMORY);
    sr__fail_allocations(0, false);
    sr_error_clear(&err);
    sr_trace_free(trace);
    sr_machine_free(machine);
}

/* ---- the timeline ----------------------------------------------------------------------------------------------- */

static bool append(void *user, const char *text, size_t length) {
    sr__str_append(user, text, length);
    return true;
}

static const char *text_of(const cJSON *object, const char *key) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static double number_of(const cJSON *object, const char *key) {
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static void check_timeline(const char *json) {
    cJSON *root = cJSON_ParseWithOpts(json, NULL, 1);
    assert_non_null(root);
    const cJSON *event, *events = cJSON_GetObjectItemCaseSensitive(root, "traceEvents");
    int n_names = 0, n_complete = 0;
    double last = 0;
    cJSON_ArrayForEach(event, events) {
        const cJSON *args = cJSON_GetObjectItemCaseSensitive(event, "args");
        if (strcmp(text_of(event, "ph"), "M") == 0) {
            n_names += strcmp(text_of(event, "name"), "thread_name") == 0;
            continue;
        }
        assert_string_equal(text_of(event, "ph"), "X");
        n_complete++;
        if ((int)number_of(event, "pid") == 1) {
            assert_true(number_of(event, "ts") >= last);
            last = number_of(event, "ts");
        }
        assert_true(number_of(event, "dur") >= 0);
        if (strcmp(text_of(event, "cat"), "copy") == 0) {
            assert_true(number_of(args, "bytes") > 0);
            assert_non_null(text_of(args, "from"));
            assert_non_null(text_of(args, "to"));
        }
    }
    assert_int_equal(n_names, 2 * 4); /* two processes of a host and three backends */
    assert_true(n_complete > 2 * 10);
    cJSON_Delete(root);
}

static void test_timeline(void **state) {
    (void)state;
    sr_error err = {0};
    execute_case c;
    sr_trace *trace;
    sr__str text = {0};
    sr_sink sink = {.write = append, .user = &text};
    sr_trace_report report = {.sink = &sink};
    execute_case_init(&c, PIPELINE, 1);
    ASSERT_OK(sr_trace_new(&trace, &err), &err);
    sr_sched_set_trace(c.sched, trace);
    ASSERT_OK(execute_case_run(&c, &err), &err);
    ASSERT_OK(sr_report_trace_begin(&report, &err), &err);
    ASSERT_OK(sr_report_trace(&report, trace, c.description, &err), &err);
    ASSERT_OK(sr_report_trace(&report, trace, c.description, &err), &err);
    ASSERT_OK(sr_report_trace_end(&report, &err), &err);
    check_timeline(sr__str_text(&text));
    /* every allocation that fails is told */
    for (long n = 1;; n++) {
        sr_trace_report other = {.sink = &sink};
        sr__str_clear(&text);
        sr__fail_allocations(n, false);
        const sr_status status = sr_report_trace(&other, trace, c.description, &err);
        sr__fail_allocations(0, false);
        sr_error_clear(&err);
        if (status == SR_OK) {
            break;
        }
        assert_int_equal(status, SR_MEMORY);
    }
    sr__str_free(&text);
    execute_case_free(&c);
    sr_trace_free(trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps_texts), cmocka_unit_test(test_waits_for_nothing),
        cmocka_unit_test(test_without_memory), cmocka_unit_test(test_threads), cmocka_unit_test(test_execution),
        cmocka_unit_test(test_summary), cmocka_unit_test(test_timeline),
    };
    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
