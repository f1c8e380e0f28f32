/*
 * describe.h - graph descriptions: JSON in, a machine, graphs and runs out; and the plain form back.
 *
 * Layer: describe (above graph and backend; beside alloc and sched).  The format is docs/graph-format.md.  Errors carry
 * file, line, column and JSON pointer, and a suggestion where a name is unknown.
 * Ownership: a description owns its machine, buffers, graphs and everything its runs point to.
 */
#ifndef SCHED_RUN_DESCRIBE_H
#define SCHED_RUN_DESCRIBE_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sr_description sr_description;

/* What the command line says on top of the file.  Strings are borrowed during the call. */
typedef struct sr_load_options {
    const char *backends_file;          /* -b: `backends`, `buffer_types` and `placement` from there */
    const char *const *params;          /* -p: "NAME=VALUE" */
    int n_params;
    const char *const *places;          /* -P: "REGEX=BUFFER" */
    int n_places;
    const char *const *assigns;         /* -A: "NODE=BACKEND" */
    int n_assigns;
    const char *weights;                /* -W, or NULL */
    bool simulate_missing;
    bool no_memory;                     /* lay buffers out but allocate none: for expand */
    bool has_offload_min_batch;         /* GGML_OP_OFFLOAD_MIN_BATCH: for every backend that asks for offload */
    int64_t offload_min_batch;
    void (*warn)(void *user, const char *message); /* or NULL */
    void *warn_user;
} sr_load_options;

/* ---- what a run expects ---------------------------------------------------------------------------------------- */

typedef struct sr_expect_pair { const char *key; const char *value; } sr_expect_pair;
typedef struct sr_expect_number { const char *key; int64_t value; } sr_expect_number;
typedef struct sr_expect_address { const char *id; const char *buffer_type; int64_t offset; } sr_expect_address;

typedef struct sr_expect_split {
    const char *backend;    /* NULL: not given */
    int64_t start;          /* -1: not given */
    const char **inputs;    /* names; n_inputs -1: not given */
    int n_inputs;
} sr_expect_split;

typedef struct sr_expect_output {
    const char *id;
    bool has_sums;
    double sum, sumsq;
    double *head;           /* up to 8 */
    int n_head;
    double tolerance;       /* of sums and head; 0.02 */
    bool has_values;        /* base64 or values, below */
    uint8_t *bytes;         /* raw little-endian content in the tensor's type (base64), or NULL */
    size_t n_bytes;
    double *values;
    int64_t n_values;
    double nmse;            /* tolerance of bytes / values */
} sr_expect_output;

/* Any of the keys that a finding or an error object may have, as text; numbers are formatted. */
typedef struct sr_expect_object { sr_expect_pair *pairs; int n_pairs; } sr_expect_object;

typedef struct sr_expect {
    bool has_n_splits, has_splits, has_reallocated, has_backend_ids_changed, has_buffers_grown, has_error;
    int64_t n_splits;
    sr_expect_split *splits;          int n_expect_splits;
    sr_expect_pair *backend_of;       int n_backend_of;
    sr_expect_pair *cause_of;         int n_cause_of;
    sr_expect_number *compute_buffer_size; int n_compute_buffer_size;
    sr_expect_address *address;       int n_address;
    bool reallocated, backend_ids_changed;
    const char *reallocation_reason;  /* NULL: not given */
    const char **buffers_grown;       int n_buffers_grown;
    sr_expect_number *copied;         int n_copied;
    sr_expect_output *outputs;        int n_outputs;
    sr_expect_object error;           /* "kind" among its pairs */
    sr_expect_object *findings;       int n_findings;
    const char **no_findings;         int n_no_findings;
} sr_expect;

/* ---- runs ------------------------------------------------------------------------------------------------------ */

typedef struct sr_assignment { int32_t tensor; int backend; } sr_assignment;

typedef struct sr_run {
    int index;
    const char *graph_name;      /* "" where the file has one graph without a name */
    const char *params_text;     /* "n_tokens=512" of the run's own params and -p, or "" */
    bool reserve;
    const sr_graph *graph;       /* runs of the same graph and params share it */
    const sr_assignment *assignments;
    int n_assignments;
    const sr_expect *expect;     /* or NULL */
} sr_run;

typedef struct sr_sched_settings {
    int64_t graph_size;          /* 0: not given */
    int n_copies;                /* 1 unless `parallel` (4) or `copies` */
    bool op_offload;
    int max_split_inputs;        /* 0: not given */
} sr_sched_settings;

/*
 * SR_IO (cannot be read), SR_DESCRIPTION (wrong), SR_USAGE (an option is wrong), SR_UNAVAILABLE (a device), SR_LIMIT (a
 * repeat makes too much), SR_MEMORY, SR_ALLOCATION (a buffer).  -P goes before the buffer that a leaf names itself.
 * Any thread may load.  The first load sets cJSON's memory hooks, which are the process's: to malloc and free for
 * everybody else.
 */
SR_API sr_status sr_description_load(const char *path, const sr_load_options *options, sr_description **out_description,
                                     sr_error *err);
/* The same from memory; name is used in messages, directory resolves relative paths. */
SR_API sr_status sr_description_load_text(const char *text, size_t length, const char *name, const char *directory,
                                          const sr_load_options *options, sr_description **out_description,
                                          sr_error *err);
SR_API void sr_description_free(sr_description *description);

SR_API const char *sr_description_name(const sr_description *description);  /* `name`, or the file's base name */
SR_API const char *sr_description_text(const sr_description *description);  /* `description`, or "" */
SR_API sr_machine *sr_description_machine(const sr_description *description);
SR_API sr_sched_settings sr_description_settings(const sr_description *description);
SR_API int sr_description_n_runs(const sr_description *description);
SR_API const sr_run *sr_description_run(const sr_description *description, int i);

/* Whether any leaf's data must be there before a run can be executed, and filling it in (first call does the work;
 * contents of pre-allocated tensors are set once, inputs before every run). */
SR_API sr_status sr_description_set_buffers(sr_description *description, sr_error *err);
SR_API sr_status sr_description_set_inputs(sr_description *description, const sr_run *run, const sr_graph_view *view,
                                           sr_error *err);

/* The plain form: no params, expressions, repeats, conditions, placement or includes; every shape, stride and view
 * written out.  out_text is freed with free(). Expanding the result again gives the same text.  Paths stay relative
 * to the file that was loaded. */
SR_API sr_status sr_description_expand(const sr_description *description, char **out_text, sr_error *err);

#ifdef __cplusplus
}
#endif
#endif
