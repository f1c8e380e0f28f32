/*
 * k_taps.h - where the taps of a convolution fall: extents of its result and ranges of outputs.
 *
 * Layer: kernels.  Internal.  Axis 0 is the width, 1 the height, 2 the depth.  Extents are below 2^31 and words have 32
 * bits, so that every product here fits.
 */
#ifndef SR_K_TAPS_H
#define SR_K_TAPS_H

#include <stdbool.h>
#include <stdint.h>

/* One axis: output o, tap k reads input o * stride + k * dilation - pad. */
typedef struct sr__axis { int64_t kernel, in, out, stride, pad, dilation; } sr__axis;

static inline void sr__axis_set(sr__axis *axis, int64_t kernel, int64_t in, int64_t out, int32_t stride, int32_t pad,
                                int32_t dilation) {
    axis->kernel = kernel, axis->in = in, axis->out = out;
    axis->stride = stride, axis->pad = pad, axis->dilation = dilation;
}

/* An axis that is not there: one position, one tap. */
static inline void sr__axis_unit(sr__axis *axis) { sr__axis_set(axis, 1, 1, 1, 1, 0, 1); }

/* The axis has a positive step, and its output the extent that follows from the rest. */
static inline bool sr__axis_fits(const sr__axis *axis) {
    return axis->stride > 0 && axis->kernel > 0 &&
           axis->out == (axis->in + 2 * axis->pad - axis->dilation * (axis->kernel - 1) - 1) / axis->stride + 1;
}

/* Input position of a tap, which may be outside the input. */
static inline int64_t sr__axis_at(const sr__axis *axis, int64_t out, int64_t tap) {
    return out * axis->stride + tap * axis->dilation - axis->pad;
}

static inline bool sr__axis_inside(const sr__axis *axis, int64_t in) { return in >= 0 && in < axis->in; }

/* Outputs [*begin, *end) are those for which the tap is inside the input. */
static inline void sr__axis_range(const sr__axis *axis, int64_t tap, int64_t *begin, int64_t *end) {
    const int64_t offset = tap * axis->dilation - axis->pad;
    const int64_t first = offset >= 0 ? 0 : (-offset + axis->stride - 1) / axis->stride;
    const int64_t last = offset >= axis->in ? 0 : (axis->in - 1 - offset) / axis->stride + 1;
    *begin = first < axis->out ? first : axis->out;
    *end = last < axis->out ? last : axis->out;
    *end = *end > *begin ? *end : *begin;
}

#endif
