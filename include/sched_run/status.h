/*
 * status.h - status codes and the error object.
 *
 * Layer: base.  Every function that can fail returns an sr_status and takes a nullable sr_error as its last
 * parameter.  Nothing in the library aborts, exits or prints.  Where the reference asserts or aborts, this library
 * returns one of the codes below together with the names that the message needs.
 *
 * Thread rule: an sr_error belongs to one thread at a time.
 */
#ifndef SCHED_RUN_STATUS_H
#define SCHED_RUN_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SR_API __attribute__((visibility("default")))

/* code, name as reports print it, text, exit status of the command */
#define SR_STATUS_LIST(X)                                                                        \
    X(OK,                "ok",                "done",                                         0)  \
    X(DIFFERS,           "differs",           "a check found a difference",                   1)  \
    X(USAGE,             "usage",             "the command line is wrong",                    2)  \
    X(IO,                "io",                "a file cannot be read or written",             2)  \
    X(DESCRIPTION,       "description",       "the description is wrong",                     3)  \
    X(INVALID,           "invalid",           "an argument is outside its range",             3)  \
    X(UNAVAILABLE,       "unavailable",       "a device or op is not available",              4)  \
    X(PREALLOCATED,      "preallocated",      "no backend takes both the buffer and the op",  4)  \
    X(UNASSIGNED,        "unassigned",        "no backend supports the op",                   4)  \
    X(SOURCE_UNASSIGNED, "source_unassigned", "a source has no backend",                      4)  \
    X(MEMORY,            "memory",            "the host is out of memory",                    5)  \
    X(SPLIT_INPUTS,      "split_inputs",      "a split has too many inputs",                  5)  \
    X(GRAPH_SIZE,        "graph_size",        "the graph is larger than the scheduler allows", 5) \
    X(BACKENDS,          "backends",          "the scheduler has too many backends",          5)  \
    X(LIMIT,             "limit",             "a limit is exceeded",                          5)  \
    X(ALLOCATION,        "allocation",        "a buffer cannot be allocated",                 5)  \
    X(COMPUTE,           "compute",           "a backend failed to execute a node",           6)  \
    X(UNREACHABLE,       "unreachable",       "a destination is in memory its backend cannot reach", 6) \
    X(ABORTED,           "aborted",           "the caller stopped the execution",             6)  \
    X(INTERNAL,          "internal",          "a fault of this program",                     70)

typedef enum sr_status {
#define SR_STATUS_ENUM(code, name, text, exit_status) SR_##code,
    SR_STATUS_LIST(SR_STATUS_ENUM)
#undef SR_STATUS_ENUM
    SR_STATUS_COUNT
} sr_status;

/* The name, text and exit status of a code.  Never NULL; an unknown code reads as SR_INTERNAL. */
SR_API const char *sr_status_name(sr_status status);
SR_API const char *sr_status_text(sr_status status);
SR_API int sr_status_exit(sr_status status);

/* One named fact about an error: the tensor, the buffer type, a count, a limit. */
typedef struct sr_error_detail {
    const char *key;  /* a string literal */
    char *text;       /* owned; NULL for a number */
    int64_t number;
} sr_error_detail;

/*
 * What went wrong and where.  Zero-initialise it (`sr_error err = {0};`); all strings are owned by it and freed by
 * sr_error_clear.  `message` may be NULL when memory ran out; sr_error_message then falls back to the status text.
 */
typedef struct sr_error {
    sr_status status;
    char *message;
    char *file;      /* the file that a reader was reading, or NULL */
    int line;        /* 1-based, 0 if unknown */
    int column;      /* 1-based byte column, 0 if unknown */
    char *pointer;   /* JSON pointer of the place, or NULL */
    sr_error_detail *details;
    int n_details;
} sr_error;

SR_API void sr_error_clear(sr_error *err);
SR_API const char *sr_error_message(const sr_error *err);
/* The detail named key, or NULL. */
SR_API const sr_error_detail *sr_error_find(const sr_error *err, const char *key);

#ifdef __cplusplus
}
#endif
#endif
