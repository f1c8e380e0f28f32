/*
 * op_shapes.c - what the shape rules share: results, checked extents, refusals in words.
 *
 * Layer: graph.  Answers to ggml_can_repeat, ggml_is_vector and the other conditions that the builders of ggml.c
 * assert.
 */
#include "graph/op_shapes.h"

#include <inttypes.h>
#include <stdio.h>

sr_status sr__shape_set(sr__shape *shape, int type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    shape->type = type;
    shape->ne[0] = ne0;
    shape->ne[1] = ne1;
    shape->ne[2] = ne2;
    shape->ne[3] = ne3;
    return SR_OK;
}

sr_status sr__shape_like(sr__shape *shape, const sr_tensor *tensor) {
    return sr__shape_set(shape, tensor->type, tensor->ne[0], tensor->ne[1], tensor->ne[2], tensor->ne[3]);
}

sr_status sr__shape_take_given(sr__shape *shape, int type) {
    if (!shape->given) {
        return sr__fail(shape->err, SR_INVALID, "%s needs its extents (ne): they do not follow from its sources",
                        shape->op);
    }
    return sr__shape_set(shape, type, shape->want[0], shape->want[1], shape->want[2], shape->want[3]);
}

int64_t sr__shape_add(sr__shape *shape, int64_t a, int64_t b) {
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) {
        shape->overflow = true;
        return 0;
    }
    return sum;
}

int64_t sr__shape_mul(sr__shape *shape, int64_t a, int64_t b) {
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product)) {
        shape->overflow = true;
        return 0;
    }
    return product;
}

bool sr__divides(int64_t d, int64_t n) { return d == 0 ? n == 0 : n % d == 0; }

bool sr__repeats(const sr_tensor *b, const int64_t ne[SR_MAX_DIMS]) {
    if (sr_tensor_is_empty(b)) {
        return sr__count(ne) == 0;
    }
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        if (ne[d] % b->ne[d] != 0) {
            return false;
        }
    }
    return true;
}

int64_t sr__count(const int64_t ne[SR_MAX_DIMS]) {
    int64_t count = 1;
    if (ne[0] == 0 || ne[1] == 0 || ne[2] == 0 || ne[3] == 0) {
        return 0;
    }
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        /* Extents that a caller gave may not have been checked yet; no product that overflows equals a real count. */
        if (__builtin_mul_overflow(count, ne[d], &count)) {
            return -1;
        }
    }
    return count;
}

bool sr__is_vector(const sr_tensor *tensor) { return tensor->ne[1] == 1 && sr__is_matrix(tensor); }

bool sr__is_matrix(const sr_tensor *tensor) { return tensor->ne[2] == 1 && tensor->ne[3] == 1; }

bool sr__is_transposed(const sr_tensor *tensor) { return tensor->nb[0] > tensor->nb[1]; }

float sr__shape_float(const sr__shape *shape, int i) {
    float value;
    memcpy(&value, &shape->spec->op_params[i], sizeof value);
    return value;
}

sr__extents sr__extents_text(const int64_t ne[SR_MAX_DIMS]) {
    sr__extents out;
    int n = SR_MAX_DIMS;
    while (n > 1 && ne[n - 1] == 1) {
        n--;
    }
    size_t at = 0;
    for (int d = 0; d < n; d++) {
        at += (size_t)snprintf(out.text + at, sizeof out.text - at, "%c%" PRId64, d == 0 ? '[' : ',', ne[d]);
    }
    snprintf(out.text + at, sizeof out.text - at, "]");
    return out;
}

sr_status sr__shape_wrong(sr__shape *shape, int j, const char *what) {
    const sr_tensor *a = shape->src[j];
    return sr__fail(shape->err, SR_INVALID, "source %d '%s' %s of %s %s", j, a->id, sr__extents_text(a->ne).text,
                    shape->op, what);
}

sr_status sr__shape_clash(sr__shape *shape, int j, int k, const char *why) {
    const sr_tensor *a = shape->src[j], *b = shape->src[k];
    return sr__fail(shape->err, SR_INVALID, "sources %d '%s' %s and %d '%s' %s of %s do not fit: %s", j, a->id,
                    sr__extents_text(a->ne).text, k, b->id, sr__extents_text(b->ne).text, shape->op, why);
}

sr_status sr__shape_param(sr__shape *shape, const char *name, int64_t value, const char *what) {
    return sr__fail(shape->err, SR_INVALID, "parameter '%s' of %s is %" PRId64 ", must be %s", name, shape->op, value,
                    what);
}
