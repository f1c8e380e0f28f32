/*
 * test_whole_failures.c - from a description to all reports and back, with every allocation failing in turn: an error
 * each time, nothing leaked, nothing broken for the next time.
 *
 * Layer: tests.  SR_STEP in the environment tries every SR_STEP-th allocation only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "sched_run/report.h"

static long step;

/* Runs of two sizes, a reserve, a repeat, a param of a param, a placement, contents of several forms, an assignment. */
static const char *const text =
    "{\"sched_run\":1,\"name\":\"small\",\"description\":\"a bit of all\","
    "\"params\":{\"n\":4,\"n_layer\":2,\"k\":\"8*n\"},"
    "\"backends\":[{\"name\":\"GPU0\",\"device\":\"sim\",\"offload\":{\"min_batch\":8},\"memory\":\"1GiB\"},"
    "{\"name\":\"GPU1\",\"device\":\"sim\",\"ops\":{\"deny\":[\"SQR\",{\"op\":\"ADD\",\"ne0\":{\"gt\":64}}]}},"
    "{\"name\":\"CPU\",\"device\":\"cpu\"}],"
    "\"buffer_types\":{\"pinned\":{\"host\":true}},"
    "\"buffers\":{\"g0\":{\"type\":\"GPU0\",\"usage\":\"weights\"},\"c\":{\"type\":\"CPU\",\"usage\":\"weights\"}},"
    "\"placement\":[{\"match\":\"^w([0-9]+)$\",\"where\":\"m1 == 0\",\"buffer\":\"g0\"},"
    "{\"match\":\"^w\",\"buffer\":\"c\"}],"
    "\"scheduler\":{\"copies\":2},"
    "\"tensors\":[{\"name\":\"x\",\"ne\":[32,\"n\"],\"flags\":[\"input\"],\"data\":{\"random\":{\"seed\":1}}},"
    "{\"name\":\"b\",\"ne\":[4],\"data\":[1,2,3,4]},"
    "{\"repeat\":\"n_layer\",\"as\":\"i\",\"items\":[{\"name\":\"w{i}\",\"ne\":[32,32]}]}],"
    "\"nodes\":[{\"repeat\":\"n_layer\",\"as\":\"i\",\"items\":["
    "{\"name\":\"m{i}\",\"op\":\"MUL_MAT\",\"src\":[\"w{i}\",\"x\"]}]},"
    "{\"name\":\"v\",\"op\":\"RESHAPE\",\"src\":[\"m1\"],\"ne\":[4,\"k\"]},"
    "{\"name\":\"s\",\"op\":\"ADD\",\"src\":[\"v\",\"b\"],\"backend\":\"GPU1\"},"
    "{\"name\":\"q\",\"op\":\"SQR\",\"src\":[\"s\"]},"
    "{\"name\":\"h\",\"op\":\"CPY\",\"src\":[\"q\",\"h\"],\"type\":\"f16\",\"flags\":[\"output\"]}],"
    "\"runs\":[{\"reserve\":true},{\"expect\":{\"cause_of\":{\"s\":\"usr\"}}},{\"params\":{\"n\":8}}]}";

/* What a passage through everything wrote; times are in some of it. */
typedef struct written {
    sr__str text, json, lines, ggml, dot;
    char *plain;
} written;

static bool append(void *user, const char *bytes, size_t length) {
    sr__str_append(user, bytes, length);
    return true;
}

static void free_written(written *w) {
    sr__str *const all[] = {&w->text, &w->json, &w->lines, &w->ggml, &w->dot};
    for (int i = 0; i < SR_COUNT(all); i++) {
        sr__str_free(all[i]);
    }
    free(w->plain);
}

/* ---- one passage ----------------------------------------------------------------------------------------------- */

static sr_status make_sched(const sr_description *d, sr_sched **sched, sr_error *err) {
    const sr_machine *machine = sr_description_machine(d);
    sr_sched_params params;
    sr_sched_params_init(&params);
    params.n_copies = sr_description_settings(d).n_copies;
    params.record_lives = true;
    return *sched != NULL ? SR_OK : sr_sched_new(machine->backends, NULL, machine->n_backends, &params, sched, err);
}

static sr_status execute(sr_description *d, sr_sched **sched, const sr_run *run, sr_error *err) {
    sr_status status;
    SR_TRY(make_sched(d, sched, err));
    sr_sched_reset(*sched);
    for (int i = 0; i < run->n_assignments; i++) {
        const sr_assignment *a = &run->assignments[i];
        SR_TRY(sr_sched_set_tensor_backend(*sched, run->graph, a->tensor, a->backend, err));
    }
    if (run->reserve) {
        return sr_sched_reserve(*sched, run->graph, err);
    }
    SR_TRY(sr_sched_alloc_graph(*sched, run->graph, err));
    SR_TRY(sr_description_set_buffers(d, err));
    SR_TRY(sr_description_set_inputs(d, run, &sr_sched_layout(*sched)->view, err));
    SR_TRY(sr_sched_compute(*sched, run->graph, err));
done:
    return status;
}

static sr_status report(const sr_run_result *result, written *w, sr_error *err) {
    const sr_report_options options = {.debug_level = 2, .verbose = true};
    sr_sink to_text = {append, &w->text}, to_json = {append, &w->json}, to_lines = {append, &w->lines},
            to_ggml = {append, &w->ggml}, to_dot = {append, &w->dot};
    sr_status status;
    SR_TRY(sr_report_text_run(result, &options, &to_text, err));
    SR_TRY(sr_report_json_run(result, false, result->run->index == 0, &to_json, err));
    SR_TRY(sr_report_json_run(result, true, result->run->index == 0, &to_lines, err));
    SR_TRY(sr_report_ggml(result->layout, 2, &to_ggml, err));
    SR_TRY(sr_report_dot(result, &options, &to_dot, err));
done:
    return status;
}

/* As the command does it: a run that fails is reported like any other.  The first failure counts. */
static sr_status all_runs(sr_description *d, written *w, sr_error *err) {
    const sr_report_options options = {.debug_level = 2};
    sr_sink to_text = {append, &w->text}, to_json = {append, &w->json}, to_lines = {append, &w->lines};
    sr_sched *sched = NULL;
    sr_status status, first = SR_OK;
    SR_TRY(sr_report_text_begin(d, &options, &to_text, err));
    SR_TRY(sr_report_json_begin(d, false, &to_json, err));
    SR_TRY(sr_report_json_begin(d, true, &to_lines, err));
    for (int i = 0; i < sr_description_n_runs(d); i++) {
        const sr_run *run = sr_description_run(d, i);
        sr_error own = {0};
        own.status = execute(d, &sched, run, &own);
        first = first == SR_OK ? own.status : first;
        const sr_layout *layout = sched != NULL ? sr_sched_layout(sched) : NULL;
        const sr_run_result result = {.run = run, .layout = layout, .error = &own};
        status = report(&result, w, err);
        sr_error_clear(&own);
        if (status != SR_OK) {
            goto done;
        }
    }
    SR_TRY(sr_report_json_end(NULL, false, &to_json, err));
    SR_TRY(sr_report_json_end(NULL, true, &to_lines, err));
    status = first;
done:
    sr_sched_free(sched);
    return status;
}

static sr_status pass_through(written *w, sr_error *err) {
    sr_description *d = NULL;
    sr_status status;
    SR_TRY(sr_description_load_text(text, strlen(text), "small.json", NULL, NULL, &d, err));
    SR_TRY(all_runs(d, w, err));
    SR_TRY(sr_description_expand(d, &w->plain, err));
done:
    sr_description_free(d);
    return status;
}

/* ---- all of them ----------------------------------------------------------------------------------------------- */

static bool same_text(const sr__str *a, const sr__str *b) { return strcmp(sr__str_text(a), sr__str_text(b)) == 0; }

/* What succeeds although an allocation failed (there was another way) must be whole. */
static void check_whole(const written *want, const written *got, long n) {
    if (got->text.failed || got->json.failed || got->lines.failed || got->ggml.failed || got->dot.failed) {
        return; /* the test's own buffers were struck */
    }
    if (!same_text(&want->ggml, &got->ggml) || !same_text(&want->dot, &got->dot) ||
        strcmp(want->plain, got->plain) != 0) {
        fail_msg("allocation %ld failed unnoticed, but something is missing", n);
    }
}

static void fail_each(bool all_after) {
    written want = {0};
    sr_error err = {0};
    const long before = sr__allocation_count();
    if (pass_through(&want, &err) != SR_OK) {
        fail_msg("%s: %s", sr_status_name(err.status), sr_error_message(&err));
    }
    const long total = sr__allocation_count() - before;
    int n_failed = 0;
    assert_true(total > 100);
    for (long n = 1; n <= total; n += step) {
        written got = {0};
        sr__fail_allocations(n, all_after);
        const sr_status status = pass_through(&got, &err);
        sr__fail_allocations(0, false);
        if (status == SR_OK) {
            check_whole(&want, &got, n);
        } else if (status != SR_MEMORY && status != SR_ALLOCATION) {
            fail_msg("allocation %ld: %s: %s", n, sr_status_name(status), sr_error_message(&err));
        }
        n_failed += status != SR_OK;
        sr_error_clear(&err);
        free_written(&got);
    }
    assert_true(n_failed > total / step / 2);
    written again = {0};
    assert_int_equal(pass_through(&again, &err), SR_OK);
    check_whole(&want, &again, 0);
    free_written(&again);
    free_written(&want);
}

static void one_allocation_fails(void **state) {
    (void)state;
    fail_each(false);
}

static void all_allocations_fail_from_one_on(void **state) {
    (void)state;
    fail_each(true);
}

int main(void) {
    const char *s = getenv("SR_STEP");
    step = s != NULL && atol(s) > 0 ? atol(s) : 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_allocation_fails),
                                       cmocka_unit_test(all_allocations_fail_from_one_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
