/*
 * cache.h - files in which devices keep what they built, from process to process.
 *
 * Layer: backend.  Internal.  Only a convenience: whatever goes wrong here, the device builds again.
 */
#ifndef SR_CACHE_H
#define SR_CACHE_H

#include "base/base.h"

/*
 * What was kept under the name and the key: memory to be freed with sr__free.  false: nothing, or what is there is of
 * another key, damaged or from another version.  key: all that the data depends on, in words.
 */
bool sr__cache_read(const char *name, const char *key, void **out_data, size_t *out_size);
/* Replaces the file as a whole, so that a reader sees the old one or the new one. */
void sr__cache_write(const char *name, const char *key, const void *data, size_t size);
/* Whether there is a folder at all. */
bool sr__cache_on(void);

#endif
