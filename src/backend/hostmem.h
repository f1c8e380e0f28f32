/*
 * hostmem.h - buffers in the memory of this process: the host's own, and those that only simulate a device's.
 *
 * Layer: backend.  Internal.  A device that keeps its buffers here can be executed by the host kernels, which reach the
 * bytes through sr__buffer_memory even where the buffer shows no base.
 */
#ifndef SR_HOSTMEM_H
#define SR_HOSTMEM_H

#include "base/base.h"
#include "sched_run/backend.h"

/* What the owner of a buffer wants to know of it; each may be NULL.  Buffers with the same hooks copy directly. */
typedef struct sr__memory_hooks {
    /* Before size bytes go in or out; an error refuses them. */
    sr_status (*transfer)(const sr_buffer *buffer, size_t size, sr_error *err);
    /* The buffer is about to be freed. */
    void (*released)(const sr_buffer *buffer);
    /* Waits for what is queued on the buffer's memory. */
    sr_status (*settle)(const sr_buffer *buffer, sr_error *err);
} sr__memory_hooks;

/*
 * A zeroed buffer of size > 0 bytes, aligned as its type asks; memory is taken only when touched.  A host type's buffer
 * has a base, another's hides it.  SR_ALLOCATION with details buffer_type, size, largest_free; SR_MEMORY.
 */
sr_status sr__memory_buffer_new(sr_buffer_type *type, size_t size, const sr__memory_hooks *hooks,
                                sr_buffer **out_buffer, sr_error *err);
/* The bytes of a buffer that lies in this process, shown or hidden; NULL for another. */
char *sr__buffer_memory(const sr_buffer *buffer);
/* Waits until nothing queued changes the buffer any more, if its owner queues anything. */
sr_status sr__buffer_settle(const sr_buffer *buffer, sr_error *err);
/* SR_ALLOCATION: "failed to allocate TYPE buffer of size N", with its details. */
sr_status sr__fail_allocation(sr_error *err, const sr_buffer_type *type, size_t size, size_t largest_free);
/* Memory of this machine, as it is now. */
void sr__host_memory(size_t *out_free, size_t *out_total);
/* Fills a buffer type that keeps its buffers here without hooks; a host type shows their base. */
void sr__memory_type_init(sr_buffer_type *type, const char *name, size_t alignment, size_t max_size, bool host);

#endif
