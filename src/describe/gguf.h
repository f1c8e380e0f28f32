/*
 * gguf.h - reading GGUF files: numbers of the metadata, tensors by name.
 *
 * Layer: describe.  Internal.  The format is that of docs/graph-format.md's weights files; hostile files are errors.
 */
#ifndef SR_GGUF_H
#define SR_GGUF_H

#include "sched_run/describe.h"

typedef struct sr__gguf sr__gguf;

typedef struct sr__gguf_tensor {
    const char *name;
    int type;                 /* sr_type */
    int n_dims;
    int64_t ne[SR_MAX_DIMS];
    const uint8_t *data;      /* in the mapped file */
    size_t size;
} sr__gguf_tensor;

/* Maps a file and checks all of it.  SR_IO, SR_DESCRIPTION (names the key or tensor and the position), SR_MEMORY. */
sr_status sr__gguf_open(const char *path, sr__gguf **out_gguf, sr_error *err);
void sr__gguf_close(sr__gguf *gguf);
const char *sr__gguf_path(const sr__gguf *gguf);
/* The tensor called name, or NULL. */
const sr__gguf_tensor *sr__gguf_find(const sr__gguf *gguf, const char *name);
/* A number or boolean of the metadata; of an array of strings its length (the size of a vocabulary), of an array of
 * numbers the one that all its elements are.  SR_INVALID: none of these, negative, or not exact. */
sr_status sr__gguf_number(const sr__gguf *gguf, const char *key, bool *out_found, double *out_value, sr_error *err);

/* Opens the description's weights file, once. */
sr_status sr__open_weights(sr_description *d, sr_error *err);
/* Opens a file that `data` names, once. */
sr_status sr__open_data_file(sr_description *d, const char *path, sr__gguf **out_gguf, sr_error *err);

#endif
