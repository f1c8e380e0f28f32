/*
 * import.h - a description from the debug log of another program.
 *
 * Layer: describe.  Reads what ggml_backend_sched_print_assignments of the reference writes with GGML_SCHED_DEBUG=2, in
 * every form it has had since 2023, as people paste it: with prefixes, wrapped, cut.  docs/importing.md says what is
 * taken from a log and what has to be inferred.
 */
#ifndef SCHED_RUN_IMPORT_H
#define SCHED_RUN_IMPORT_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What sr_import_options.tell is called with: a summary, something inferred, something missing. */
typedef enum sr_import_note { SR_IMPORT_SUMMARY, SR_IMPORT_INFERRED, SR_IMPORT_MISSING } sr_import_note;

typedef struct sr_import_options {
    int only;              /* the schedule to import, counted from 0; -1: all */
    bool no_pins;          /* do not assign nodes to the backends that the log shows */
    void (*tell)(void *user, sr_import_note kind, const char *message); /* or NULL; a line each */
    void *tell_user;
} sr_import_options;

/* What was found. */
typedef struct sr_import_result {
    int64_t n_schedules;   /* in the log */
    int64_t n_imported;    /* runs of the description */
    int64_t n_graphs;      /* different ones among these */
    int64_t n_splits, n_nodes; /* of the different graphs; nodes with the views that the log leaves out */
} sr_import_result;

/* All schedules, pinned. */
SR_API void sr_import_options_init(sr_import_options *options);

/*
 * The description, as JSON text, of the schedules in a log.  text: `length` bytes, UTF-8 or UTF-16 with a byte order
 * mark; name: what the description is called.  options NULL: the defaults.  out_text: freed with free(); NULL on
 * failure.  out_result: NULL or filled, as far as things went, on failure, too.
 * SR_DESCRIPTION: there is no schedule in the log, or no nodes (level 1); SR_USAGE: no schedule `only`; SR_LIMIT: more
 * than 64 backends, or a log of 2 GiB; SR_MEMORY.
 * Any thread may import.
 */
SR_API sr_status sr_import_log(const char *text, size_t length, const char *name, const sr_import_options *options,
                               char **out_text, sr_import_result *out_result, sr_error *err);

#ifdef __cplusplus
}
#endif
#endif
