/*
 * tensor_values.c - the elements of a tensor as numbers, and their statistics.
 *
 * Layer: analyze.  Answers to what the reference's test programs do with ggml_backend_tensor_get.
 */
#include "analyze/tensor_values.h"

#include <math.h>

#include "graph/quant.h"

/* ---- reading ---------------------------------------------------------------------------------------------------- */

bool sr__values_known(int type) {
    switch (type) {
    case SR_TYPE_F64:
    case SR_TYPE_I8:
    case SR_TYPE_I16:
    case SR_TYPE_I32:
    case SR_TYPE_I64: return true;
    default: return sr__type_can_read(type);
    }
}

static double element(int type, const uint8_t *p) {
    union { float f32; double f64; int8_t i8; int16_t i16; int32_t i32; int64_t i64; uint16_t u16; } v = {0};
    memcpy(&v, p, (size_t)sr_type_get(type)->bytes);
    switch (type) {
    case SR_TYPE_F32: return (double)v.f32;
    case SR_TYPE_F64: return v.f64;
    case SR_TYPE_F16: return (double)sr__f16_to_f32(v.u16);
    case SR_TYPE_BF16: return (double)sr__bf16_to_f32(v.u16);
    case SR_TYPE_I8: return v.i8;
    case SR_TYPE_I16: return v.i16;
    case SR_TYPE_I32: return v.i32;
    case SR_TYPE_I64: return (double)v.i64;
    default: return 0.0;
    }
}

static sr_status prepare(sr__values *v, const sr_tensor *t, sr_error *err) {
    *v = (sr__values){.tensor = t};
    if (!sr__values_known(t->type)) {
        return sr__fail(err, SR_UNAVAILABLE, "values of type '%s' cannot be read", sr_type_get(t->type)->name);
    }
    if (sr_type_get(t->type)->block > 1 && t->ne[0] > 0) {
        v->floats = sr__malloc((size_t)t->ne[0] * sizeof(*v->floats));
        return v->floats ? SR_OK : sr__fail_memory(err);
    }
    return SR_OK;
}

sr_status sr__values_read(sr__values *v, const sr_graph_view *view, int32_t tensor, sr_error *err) {
    const sr_tensor *t = sr_view_tensor(view, tensor);
    const sr_storage *storage = view->storage ? &view->storage[tensor] : NULL;
    sr_status status;
    SR_TRY(prepare(v, t, err));
    memcpy(v->nb, t->nb, sizeof(v->nb));
    if (t->nbytes == 0) {
        return SR_OK;
    }
    if (!storage || !storage->buffer) {
        SR_TRY(sr__fail(err, SR_INVALID, "tensor '%s' has no memory", t->id));
    }
    v->owned = sr__malloc(t->nbytes);
    if (!v->owned) {
        SR_TRY(sr__fail_memory(err));
    }
    SR_TRY(sr_buffer_get(storage->buffer, v->owned, storage->offset, t->nbytes, err));
    v->bytes = v->owned;
done:
    if (status != SR_OK) {
        sr__values_free(v);
    }
    return status;
}

sr_status sr__values_of(sr__values *v, const sr_tensor *t, const size_t *nb, const uint8_t *bytes, sr_error *err) {
    const sr_status status = prepare(v, t, err);
    v->bytes = bytes;
    if (nb) {
        memcpy(v->nb, nb, sizeof(v->nb));
        return status;
    }
    v->nb[0] = (size_t)sr_type_get(t->type)->bytes;
    v->nb[1] = sr_row_size(t->type, t->ne[0]);
    v->nb[2] = v->nb[1] * (size_t)t->ne[1];
    v->nb[3] = v->nb[2] * (size_t)t->ne[2];
    return status;
}

void sr__values_free(sr__values *v) {
    sr__free(v->owned);
    sr__free(v->floats);
    *v = (sr__values){0};
}

void sr__values_row(const sr__values *v, int64_t i1, int64_t i2, int64_t i3, double *out) {
    const sr_tensor *t = v->tensor;
    if (v->floats) {
        sr__row_to_f32(t->type, sr__values_at(v, 0, i1, i2, i3), v->floats, t->ne[0]);
    }
    for (int64_t i = 0; i < t->ne[0]; i++) {
        out[i] = v->floats ? (double)v->floats[i] : element(t->type, sr__values_at(v, i, i1, i2, i3));
    }
}

void sr__values_all(const sr__values *v, double *out) {
    const sr_tensor *t = v->tensor;
    for (int64_t row = 0; row < sr_tensor_nrows(t) && t->ne[0] > 0; row++) {
        const int64_t i1 = row % t->ne[1], i2 = row / t->ne[1] % t->ne[2], i3 = row / t->ne[1] / t->ne[2];
        sr__values_row(v, i1, i2, i3, out + row * t->ne[0]);
    }
}

/* ---- statistics ------------------------------------------------------------------------------------------------- */

static void add_row(sr_value_stats *stats, const double *row, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const double x = row[i];
        if (stats->n_head < SR_COUNT(stats->head)) {
            stats->head[stats->n_head++] = x;
        }
        stats->sum += x;
        stats->sumsq += x * x;
        /* the first comparison with a NaN keeps it: it must not hide */
        stats->min = stats->n == 0 || x < stats->min || isnan(x) ? x : stats->min;
        stats->max = stats->n == 0 || x > stats->max || isnan(x) ? x : stats->max;
        stats->n++;
    }
}

sr_status sr_tensor_stats(const sr_graph_view *view, int32_t tensor, sr_value_stats *out_stats, sr_error *err) {
    sr__values values = {0};
    double *row = NULL;
    sr_status status;
    *out_stats = (sr_value_stats){0};
    SR_TRY(sr__values_read(&values, view, tensor, err));
    const sr_tensor *t = values.tensor;
    row = sr__malloc(((size_t)t->ne[0] + 1) * sizeof(*row));
    if (!row) {
        SR_TRY(sr__fail_memory(err));
    }
    for (int64_t i = 0; i < sr_tensor_nrows(t) && t->ne[0] > 0; i++) {
        sr__values_row(&values, i % t->ne[1], i / t->ne[1] % t->ne[2], i / t->ne[1] / t->ne[2], row);
        add_row(out_stats, row, t->ne[0]);
    }
done:
    sr__values_free(&values);
    sr__free(row);
    return status;
}

sr_status sr_tensor_values(const sr_graph_view *view, int32_t tensor, double *out_values, sr_error *err) {
    sr__values values;
    const sr_status status = sr__values_read(&values, view, tensor, err);
    if (status == SR_OK) {
        sr__values_all(&values, out_values);
        sr__values_free(&values);
    }
    return status;
}

/* ---- values kept ------------------------------------------------------------------------------------------------ */

sr_status sr_value_take(const sr_graph_view *view, int32_t tensor, sr_value **out_value, sr_error *err) {
    *out_value = NULL;
    sr_value *value = sr__calloc(1, sizeof(*value));
    if (!value) {
        return sr__fail_memory(err);
    }
    const sr_status status = sr__values_read(&value->values, view, tensor, err);
    if (status != SR_OK) {
        sr__free(value);
        return status;
    }
    value->tensor = tensor;
    *out_value = value;
    return SR_OK;
}

void sr_value_free(sr_value *value) {
    if (value) {
        sr__values_free(&value->values);
        sr__free(value);
    }
}

int32_t sr_value_tensor(const sr_value *value) { return value->tensor; }
