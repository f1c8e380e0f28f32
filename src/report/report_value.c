/*
 * report_value.c - a tensor's value for people: an array in brackets, long extents cut in the middle.
 *
 * Layer: report.  Answers to what the reference's eval-callback example prints.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analyze/tensor_values.h"
#include "report/report_out.h"

enum { LONGEST = 8, EDGE = 3, INDENT = 4 }; /* an extent that is not cut, and what is shown of one that is */

typedef struct printer {
    sr__str *s;
    const sr__values *values;
    int dims;
    int width;      /* of a number */
    int columns;    /* of a line */
    bool whole;
    int64_t at[SR_MAX_DIMS];
    double *row;
    int64_t row_of; /* which row is in there, -1: none */
} printer;

typedef struct number { char text[32]; } number;

static void format_number(printer *p, number *out) {
    const sr_tensor *t = p->values->tensor;
    if (t->type == SR_TYPE_I64) {
        int64_t exact;
        memcpy(&exact, sr__values_at(p->values, p->at[0], p->at[1], p->at[2], p->at[3]), sizeof(exact));
        snprintf(out->text, sizeof(out->text), "%" PRId64, exact);
        return;
    }
    const int64_t row = (p->at[3] * t->ne[2] + p->at[2]) * t->ne[1] + p->at[1];
    if (row != p->row_of) {
        sr__values_row(p->values, p->at[1], p->at[2], p->at[3], p->row);
        p->row_of = row;
    }
    const double x = p->row[p->at[0]];
    if (isnan(x)) {
        snprintf(out->text, sizeof(out->text), "nan"); /* its sign says nothing */
    } else if (t->type == SR_TYPE_I8 || t->type == SR_TYPE_I16 || t->type == SR_TYPE_I32) {
        snprintf(out->text, sizeof(out->text), "%.0f", x);
    } else {
        snprintf(out->text, sizeof(out->text), "%.6g", x);
    }
}

static bool is_cut(const printer *p, int d) { return !p->whole && p->values->tensor->ne[d] > LONGEST; }

/* The element to show after i, -1 for the first. */
static int64_t next_shown(const printer *p, int d, int64_t i) {
    return is_cut(p, d) && i == EDGE - 1 ? p->values->tensor->ne[d] - EDGE : i + 1;
}

static void measure(printer *p, int d) {
    for (int64_t i = next_shown(p, d, -1); i < p->values->tensor->ne[d]; i = next_shown(p, d, i)) {
        p->at[d] = i;
        if (d > 0) {
            measure(p, d - 1);
            continue;
        }
        number n;
        format_number(p, &n);
        const int width = (int)strlen(n.text);
        p->width = width > p->width ? width : p->width;
    }
}

static void put_break(printer *p, int depth) {
    sr__str_puts(p->s, "\n");
    sr__put_spaces(p->s, INDENT + depth);
}

/* One row; lines that would get too long go on below. */
static void put_numbers(printer *p) {
    const int64_t ne = p->values->tensor->ne[0];
    const int depth = p->dims;
    int column = INDENT + depth;
    for (int64_t i = next_shown(p, 0, -1); i < ne; i = next_shown(p, 0, i)) {
        number n;
        p->at[0] = i;
        format_number(p, &n);
        if (i > 0) {
            sr__str_puts(p->s, ",");
            if (column + p->width + 3 > p->columns) {
                put_break(p, depth);
                column = INDENT + depth;
            } else {
                sr__str_puts(p->s, " ");
            }
        }
        if (is_cut(p, 0) && i == ne - EDGE) {
            sr__str_puts(p->s, "..., ");
            column += 5;
        }
        sr__put_right(p->s, n.text, p->width);
        column += p->width + 2;
    }
}

/* Dimension d and all below it; at most SR_MAX_DIMS deep. */
static void put_level(printer *p, int d) {
    const int depth = p->dims - 1 - d;
    const int64_t ne = p->values->tensor->ne[d];
    sr__str_puts(p->s, "[");
    if (d == 0) {
        put_numbers(p);
    }
    for (int64_t i = next_shown(p, d, -1); i < ne && d > 0; i = next_shown(p, d, i)) {
        p->at[d] = i;
        if (i > 0) {
            sr__str_puts(p->s, ",");
            put_break(p, depth + 1);
        }
        if (is_cut(p, d) && i == ne - EDGE) {
            sr__str_puts(p->s, "...,");
            put_break(p, depth + 1);
        }
        put_level(p, d - 1);
    }
    sr__str_puts(p->s, "]");
}

static void put_title(sr__str *s, const sr_graph *graph, int32_t tensor) {
    const sr_tensor *t = &graph->tensors[tensor];
    const char *type = sr_type_get(t->type)->name;
    sr__str_puts(s, "    ");
    sr__put_name(s, sr__shown_name(t));
    if (t->node >= 0 && t->op != SR_OP_NONE) {
        sr__str_printf(s, "   node %d", (int)t->node);
        sr__str_puts(s, "  ");
        sr__put_name(s, sr_tensor_op_desc(t));
    } else {
        sr__str_puts(s, "   leaf");
    }
    sr__str_printf(s, "  %s [", type != NULL ? type : "?");
    const int n = sr__shown_dims(t);
    for (int d = 0; d < n; d++) {
        sr__str_printf(s, "%s%" PRId64, d > 0 ? ", " : "", t->ne[d]);
    }
    sr__str_puts(s, "]\n");
}

sr_status sr_report_value(const sr_graph *graph, const sr_value *value, const sr_report_options *options,
                          sr_sink *sink, sr_error *err) {
    const sr_tensor *t = value->values.tensor;
    sr__out out;
    sr__out_init(&out, sink);
    printer p = {.s = &out.text, .values = &value->values, .dims = sr__shown_dims(t), .whole = options->verbose,
                 .columns = options->width > 0 ? options->width : 120, .row_of = -1};
    p.row = sr__malloc(((size_t)t->ne[0] + 1) * sizeof(*p.row));
    if (p.row == NULL) {
        return sr__fail_memory(err);
    }
    put_title(&out.text, graph, value->tensor);
    sr__put_spaces(&out.text, INDENT);
    if (sr_tensor_is_empty(t)) {
        sr__str_puts(&out.text, "[]");
    } else {
        measure(&p, p.dims - 1);
        put_level(&p, p.dims - 1);
    }
    sr__str_puts(&out.text, "\n");
    sr__free(p.row);
    return sr__out_end(&out, err);
}
