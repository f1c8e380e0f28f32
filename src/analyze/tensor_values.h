/*
 * tensor_values.h - the elements of a tensor as numbers, whatever its type, strides and memory are.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_TENSOR_VALUES_H
#define SR_TENSOR_VALUES_H

#include "base/base.h"
#include "sched_run/analyze.h"

/* The bytes of a tensor on the host, read once. */
typedef struct sr__values {
    const sr_tensor *tensor;
    size_t nb[SR_MAX_DIMS]; /* strides of bytes */
    const uint8_t *bytes;
    uint8_t *owned;
    float *floats;          /* room for a row, for types in blocks */
} sr__values;

struct sr_value {
    int32_t tensor;
    sr__values values;
};

/* Whether elements of the type can be read as numbers. */
bool sr__values_known(int type);
/*
 * From the memory that the view gives the tensor; SR_UNAVAILABLE for a type whose values cannot be read, SR_INVALID where
 * the tensor has no memory.  Nothing that is queued may still change it.
 */
sr_status sr__values_read(sr__values *values, const sr_graph_view *view, int32_t tensor, sr_error *err);
/* From borrowed bytes in the tensor's type with strides nb; NULL: contiguous, whatever its own strides are. */
sr_status sr__values_of(sr__values *values, const sr_tensor *tensor, const size_t *nb, const uint8_t *bytes,
                        sr_error *err);
void sr__values_free(sr__values *values);

/* One row: tensor->ne[0] doubles; an i64 beyond 2^53 is rounded. */
void sr__values_row(const sr__values *values, int64_t i1, int64_t i2, int64_t i3, double *out);
/* The bytes of an element of a type without blocks. */
static inline const uint8_t *sr__values_at(const sr__values *v, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return v->bytes + (size_t)i0 * v->nb[0] + (size_t)i1 * v->nb[1] + (size_t)i2 * v->nb[2] + (size_t)i3 * v->nb[3];
}
/* All elements in order: room for as many as there are. */
void sr__values_all(const sr__values *values, double *out);

#endif
