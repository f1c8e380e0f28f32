/*
 * ggml_library.h - the ggml library behind a call, and whether it can be read.
 *
 * Layer: record.  Answers to nothing of the reference.
 */
#ifndef RECORD_GGML_LIBRARY_H
#define RECORD_GGML_LIBRARY_H

#include "record/ggml_abi.h"

typedef struct library {
    struct library *next;
    abi_functions f;
    bool readable;           /* every function is there and the structs fit: it may be recorded */
    bool has_compute_flag;   /* nodes that were asked for are flagged */
    bool has_offload_switch; /* ggml_backend_sched_new takes op_offload */
    char why[200];           /* what does not fit, in words, where it is not readable */
} library;

/*
 * The library that a call from `caller` was meant for, found as the program itself would have found it, however that
 * was loaded: by its dependencies, with local scope, as part of a larger library.  NULL where there is none.  The
 * result lives as long as the process.  Calls are made one at a time (the recorder's lock).
 */
const library *library_of(const void *caller);

/* The function of a name behind `caller`, for calls that need no library; NULL where there is none. */
void *library_symbol(const void *caller, const char *name);

/* Fills readable, has_compute_flag and why by reading tensors that the library makes for the purpose. */
void library_prove(library *lib);

/* Whether what is read of one tensor agrees with what the library says about it; *out_why is then in words. */
bool library_agrees(const library *lib, const abi_tensor *tensor, const char **out_why);

#endif
