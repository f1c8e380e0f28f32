/*
 * gpu_items.h - a language for backends/gpu that runs the kernels on the host, each work-item on a stack of its own.
 *
 * Layer: tests.  Drivers for CPUs run the items of a group in loops on one thread, where a missing barrier is not seen.
 * Here an item runs from barrier to barrier, and the items take turns in changing order; ThreadSanitizer takes each for
 * a thread, and reports what two of them do to a place in memory without a barrier between, in a group or across.
 */
#ifndef TESTS_GPU_ITEMS_H
#define TESTS_GPU_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- for kernels ------------------------------------------------------------------------------------------------- */

/* All items of a group must come to the same one: line tells them apart. */
void items_barrier(int line);
int64_t items_local_id(int d);
int64_t items_local_size(int d);
int64_t items_group_id(int d);
int64_t items_group_count(int d);

/* ---- between kernels and launches -------------------------------------------------------------------------------- */

typedef struct items_argument {
    const void *value;
    size_t size;
} items_argument;

/* Runs a kernel for the current item; false: these are not its arguments. */
typedef bool (*items_kernel)(const items_argument *arguments, int n);

extern const items_kernel items_kernels[]; /* by sr__gpu_kernel */
/* Local memory holds anything when a group begins. */
void items_spoil_local_memory(void);

/* ---- for tests --------------------------------------------------------------------------------------------------- */

extern const struct sr__gpu_runtime items_runtime;

#ifdef __cplusplus
}
#endif

#endif
