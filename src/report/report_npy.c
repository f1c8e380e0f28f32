/*
 * report_npy.c - a tensor's value as a .npy file.
 *
 * Layer: report.  Answers to nothing in the reference.  The format is numpy's own, version 1.0: a magic, the length of
 * a header, the header as a Python dictionary padded to a multiple of 64 bytes, then the elements.
 */
#include <inttypes.h>

#include "analyze/tensor_values.h"
#include "report/report_out.h"

enum { PREAMBLE = 10, ALIGNMENT = 64 }; /* magic, version, length of the header; what the data is aligned to */

/* What elements of a type are in the file; NULL: f32 made of them. */
static const char *own_dtype(int type) {
    switch (type) {
    case SR_TYPE_F32: return "<f4";
    case SR_TYPE_F16: return "<f2";
    case SR_TYPE_F64: return "<f8";
    case SR_TYPE_I8: return "|i1";
    case SR_TYPE_I16: return "<i2";
    case SR_TYPE_I32: return "<i4";
    case SR_TYPE_I64: return "<i8";
    default: return NULL;
    }
}

static void put_header(sr__str *s, const sr_tensor *t, const char *dtype) {
    sr__str header = {0};
    sr__str_printf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", dtype);
    const int n = sr__shown_dims(t);
    for (int d = n - 1; d >= 0; d--) {
        sr__str_printf(&header, "%" PRId64 "%s", t->ne[d], d > 0 ? ", " : n == 1 ? "," : "");
    }
    sr__str_puts(&header, "), }");
    while ((PREAMBLE + header.length + 1) % ALIGNMENT != 0 && !header.failed) {
        sr__str_puts(&header, " ");
    }
    sr__str_puts(&header, "\n");
    const char preamble[PREAMBLE] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(header.length & 0xFF),
                                     (char)(header.length >> 8)};
    sr__str_append(s, preamble, PREAMBLE);
    sr__str_append(s, sr__str_text(&header), header.length);
    s->failed |= header.failed;
    sr__str_free(&header);
}

static void put_row(sr__str *s, const sr__values *v, int64_t row, bool as_it_is, double *numbers) {
    const sr_tensor *t = v->tensor;
    const int64_t i1 = row % t->ne[1], i2 = row / t->ne[1] % t->ne[2], i3 = row / t->ne[1] / t->ne[2];
    if (as_it_is) {
        const size_t size = (size_t)sr_type_get(t->type)->bytes;
        for (int64_t i = 0; i < t->ne[0]; i++) {
            sr__str_append(s, (const char *)sr__values_at(v, i, i1, i2, i3), size);
        }
        return;
    }
    sr__values_row(v, i1, i2, i3, numbers);
    for (int64_t i = 0; i < t->ne[0]; i++) {
        const float number = (float)numbers[i];
        sr__str_append(s, (const char *)&number, sizeof(number));
    }
}

sr_status sr_report_npy(const sr_value *value, sr_sink *sink, sr_error *err) {
    const sr__values *v = &value->values;
    const sr_tensor *t = v->tensor;
    const char *dtype = own_dtype(t->type);
    double *numbers = sr__malloc(((size_t)t->ne[0] + 1) * sizeof(*numbers));
    if (numbers == NULL) {
        return sr__fail_memory(err);
    }
    sr__out out;
    sr__out_init(&out, sink);
    put_header(&out.text, t, dtype != NULL ? dtype : "<f4");
    for (int64_t row = 0; row < sr_tensor_nrows(t) && t->ne[0] > 0; row++) {
        put_row(&out.text, v, row, dtype != NULL, numbers);
        sr__out_more(&out);
    }
    sr__free(numbers);
    return sr__out_end(&out, err);
}
