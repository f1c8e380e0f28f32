/*
 * import_log.c - a description from a debug log: the steps from first to last.
 *
 * Layer: describe.  Answers to ggml_backend_sched_print_assignments, read backwards.
 */
#include "describe/log.h"

void sr_import_options_init(sr_import_options *options) { *options = (sr_import_options){.only = -1}; }

/* A schedule without nodes is one of views alone, or the log ends there; the first has one split that reads nothing,
 * and something after it. */
static bool is_empty(const sr__import *im, const sr__log_schedule *s) {
    return s->n_nodes == 0 && (s->n_splits != 1 || s->headless || im->log.splits[s->splits_begin].announced != 0 ||
                               im->log.n_nodes == 0 || s == &im->log.schedules[im->log.n_schedules - 1]);
}

static sr_status check_content(const sr__import *im) {
    const sr__log *log = &im->log;
    if (log->n_nodes > 0) {
        return SR_OK;
    }
    if (log->n_splits > 0) {
        sr__fail(im->err, SR_DESCRIPTION,
                 "the log has %lld lines \"## SPLIT #N\" but no line \"node #N\": it was made with GGML_SCHED_DEBUG=1; "
                 "set it to 2, and let the program log at debug level (-v, or -lv 5)",
                 (long long)log->n_splits);
        return SR_DESCRIPTION;
    }
    return sr__fail(im->err, SR_DESCRIPTION,
                    "there is no schedule in the log: %lld line%s without \"## SPLIT #N: BACKEND # N inputs\" or "
                    "\"node #N (OP):\". Set GGML_SCHED_DEBUG=2, and let the program log at debug level (-v, or -lv 5)",
                    (long long)log->lines.n_lines, log->lines.n_lines == 1 ? "" : "s");
}

static sr_status check_only(const sr__import *im) {
    const int only = im->options->only;
    if (only >= 0 && (size_t)only >= im->log.n_schedules) {
        return sr__fail(im->err, SR_USAGE, "there is no schedule %d: the log has %zu, counted from 0", only,
                        im->log.n_schedules);
    }
    return only >= 0 && is_empty(im, &im->log.schedules[only])
               ? sr__fail(im->err, SR_DESCRIPTION, "schedule %d has no nodes in the log", only)
               : SR_OK;
}

static sr_status make_graphs(sr__import *im) {
    const int only = im->options->only;
    for (size_t i = 0; i < im->log.n_schedules; i++) {
        sr__log_schedule *s = &im->log.schedules[i];
        if (is_empty(im, s)) {
            s->same_as = (int32_t)i;
            continue;
        }
        if (only >= 0 && (size_t)only != i) {
            continue;
        }
        s->same_as = only >= 0 ? (int32_t)i : s->same_as;
        im->result->n_imported++;
        if (im->log.schedules[s->same_as].graph >= 0) {
            continue;
        }
        const sr_status status = sr__log_make_graph(im, (int32_t)i);
        if (status != SR_OK) {
            return status;
        }
        const sr__log_graph *graph = &im->graphs[im->n_graphs - 1];
        im->result->n_splits += s->n_splits;
        im->result->n_nodes += (int64_t)graph->n_order;
    }
    im->result->n_graphs = (int64_t)im->n_graphs;
    return SR_OK;
}

static sr_status import(sr__import *im, const char *text, size_t length, char **out_text) {
    sr_status status;
    if (length >= INT32_MAX) {
        return sr__fail(im->err, SR_LIMIT, "the log is larger than 2 GiB");
    }
    SR_TRY(sr__log_read_lines(text, length, &im->log.lines, im->err));
    SR_TRY(sr__log_read(&im->log, im->err));
    im->result->n_schedules = (int64_t)im->log.n_schedules;
    SR_TRY(check_content(im));
    SR_TRY(check_only(im));
    SR_TRY(sr__log_find_backends(im));
    SR_TRY(make_graphs(im));
    SR_TRY(sr__log_place(im));
    sr__log_tell(im);
    if (im->notes.failed) {
        SR_TRY(sr__fail_memory(im->err));
    }
    SR_TRY(sr__log_write(im, out_text));
done:
    return status;
}

static void free_import(sr__import *im) {
    for (size_t g = 0; g < im->n_graphs; g++) {
        sr__free(im->graphs[g].items);
        sr__free(im->graphs[g].order);
        sr__free(im->graphs[g].srcs);
    }
    sr__free(im->graphs);
    sr__free(im->machine.backends);
    sr__free(im->machine.buffers);
    sr__str_free(&im->notes);
    sr__arena_free(&im->arena);
    sr__log_free(&im->log);
}

sr_status sr_import_log(const char *text, size_t length, const char *name, const sr_import_options *options,
                        char **out_text, sr_import_result *out_result, sr_error *err) {
    sr_import_options defaults;
    sr_import_result result = {0};
    sr_import_options_init(&defaults);
    sr__import im = {.options = options != NULL ? options : &defaults, .name = name, .result = &result, .err = err};
    *out_text = NULL;
    sr__arena_init(&im.arena, 0);
    const sr_status status = import(&im, text, length, out_text);
    free_import(&im);
    if (out_result != NULL) {
        *out_result = result;
    }
    return status;
}
