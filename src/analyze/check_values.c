/*
 * check_values.c - compares what an executed run computed and copied with `expect`.
 *
 * Layer: analyze.  Other kernels round otherwise, so values are compared within tolerances: docs/graph-format.md.
 */
#include <inttypes.h>
#include <math.h>

#include "analyze/check_note.h"
#include "analyze/tensor_values.h"

/* Bytes written into all copies of that name (graphs repeat names); false: there is none. */
static bool copied_into(const sr_layout *layout, const char *name, uint64_t *out_bytes) {
    bool found = false;
    *out_bytes = 0;
    for (int32_t i = 0; i < layout->n_inputs; i++) {
        char copy[SR_MAX_NAME + 1];
        sr_layout_name(layout, layout->input_copies[i], copy);
        if (strcmp(copy, name) == 0) {
            *out_bytes += layout->copied[i];
            found = true;
        }
    }
    return found;
}

void sr__check_copied(sr__check_run *c) {
    const sr_expect *expect = c->run->expect;
    for (int i = 0; i < expect->n_copied; i++) {
        const sr_expect_number *expected = &expect->copied[i];
        uint64_t got = 0;
        c->check->n_checks++;
        if (!copied_into(c->layout, expected->key, &got)) {
            sr__check_note(c, "copied of %s: expected %" PRId64 ", but there is no such copy", expected->key,
                           expected->value);
        } else if (got != (uint64_t)expected->value) {
            sr__check_note(c, "copied of %s: expected %" PRId64 ", got %" PRIu64, expected->key, expected->value, got);
        }
    }
}

/* ---- contents as doubles ---------------------------------------------------------------------------------------- */

/* All values, which are freed then; *out is freed with sr__free. */
static sr_status take_all(sr__check_run *c, sr__values *values, double **out) {
    const size_t n = (size_t)sr_tensor_nelements(values->tensor);
    *out = sr__malloc((n > 0 ? n : 1) * sizeof(**out));
    if (*out != NULL) {
        sr__values_all(values, *out);
    }
    sr__values_free(values);
    return *out != NULL ? SR_OK : sr__fail_memory(c->err);
}

/* What the run left in a tensor. */
static sr_status read_tensor(sr__check_run *c, int32_t tensor, double **out) {
    sr__values values;
    const sr_status status = sr__values_read(&values, &c->layout->view, tensor, c->err);
    return status == SR_OK ? take_all(c, &values, out) : status;
}

/* Raw expected content in the tensor's type: its memory as it lies there, strides and all, or packed; NULL where it is
 * of another size. */
static sr_status read_expected(sr__check_run *c, const sr_tensor *t, const sr_expect_output *expected, double **out) {
    sr__values values;
    *out = NULL;
    const bool as_it_lies = expected->n_bytes == t->nbytes;
    if (sr_tensor_is_empty(t) ||
        (!as_it_lies && expected->n_bytes != sr_row_size(t->type, t->ne[0]) * (size_t)sr_tensor_nrows(t))) {
        return SR_OK;
    }
    const sr_status status = sr__values_of(&values, t, as_it_lies ? t->nb : NULL, expected->bytes, c->err);
    return status == SR_OK ? take_all(c, &values, out) : status;
}

/* ---- comparison ------------------------------------------------------------------------------------------------- */

/* NaN differs from everything but NaN; an infinity only equals itself. */
static bool within(double expected, double got, double limit) {
    return expected == got || (isnan(expected) && isnan(got)) || fabs(expected - got) <= limit;
}

static void compare_sums(sr__check_run *c, const sr_expect_output *expected, const double *got, int64_t n) {
    double sum = 0.0;
    double sumsq = 0.0;
    for (int64_t i = 0; i < n; i++) {
        sum += got[i];
        sumsq += got[i] * got[i];
    }
    const double t = expected->tolerance;
    const double count = n > 0 ? (double)n : 1.0;
    const double r = sqrt(expected->sumsq / count);
    c->check->n_checks += 2;
    if (!within(expected->sum, sum, t * r * (double)n / 4.0 + t * fabs(expected->sum))) {
        sr__check_note(c, "outputs of %s: sum: expected %.9g, got %.9g", expected->id, expected->sum, sum);
    }
    if (!within(expected->sumsq, sumsq, 2.0 * t * expected->sumsq)) {
        sr__check_note(c, "outputs of %s: sumsq: expected %.9g, got %.9g", expected->id, expected->sumsq, sumsq);
    }
    for (int i = 0; i < expected->n_head; i++) {
        c->check->n_checks++;
        if (i >= n) {
            sr__check_note(c, "outputs of %s: head: expected %d values, the tensor has %" PRId64, expected->id,
                           expected->n_head, n);
            return;
        }
        if (!within(expected->head[i], got[i], t * (fabs(expected->head[i]) + r))) {
            sr__check_note(c, "outputs of %s: head[%d]: expected %.9g, got %.9g", expected->id, i, expected->head[i],
                           got[i]);
            return;
        }
    }
}

/* Squared error over squared expectation; values that are not finite must be the same. */
static void compare_all(sr__check_run *c, const sr_expect_output *expected, const double *values, const double *got,
                        int64_t n) {
    double error = 0.0;
    double square = 0.0;
    c->check->n_checks++;
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(values[i]) && isfinite(got[i])) {
            error += (values[i] - got[i]) * (values[i] - got[i]);
            square += values[i] * values[i];
        } else if (!within(values[i], got[i], 0.0)) {
            sr__check_note(c, "outputs of %s: element %" PRId64 ": expected %g, got %g", expected->id, i, values[i],
                           got[i]);
            return;
        }
    }
    const double nmse = error == 0.0 ? 0.0 : error / square;
    if (!(nmse <= expected->nmse)) {
        sr__check_note(c, "outputs of %s: nmse: expected at most %g, got %g", expected->id, expected->nmse, nmse);
    }
}

static sr_status compare_values(sr__check_run *c, const sr_expect_output *expected, const sr_tensor *t,
                                const double *got) {
    const int64_t n = sr_tensor_nelements(t);
    if (expected->bytes == NULL) {
        if (expected->n_values != n) {
            c->check->n_checks++;
            sr__check_note(c, "outputs of %s: expected %" PRId64 " values, the tensor has %" PRId64, expected->id,
                           expected->n_values, n);
            return SR_OK;
        }
        compare_all(c, expected, expected->values, got, n);
        return SR_OK;
    }
    double *values = NULL;
    const sr_status status = read_expected(c, t, expected, &values);
    if (status != SR_OK) {
        return status;
    }
    if (values == NULL && n > 0) {
        c->check->n_checks++;
        sr__check_note(c, "outputs of %s: expected %zu bytes, the tensor has %zu", expected->id, expected->n_bytes,
                       sr_row_size(t->type, t->ne[0]) * (size_t)sr_tensor_nrows(t));
        return SR_OK;
    }
    compare_all(c, expected, values, got, n);
    sr__free(values);
    return SR_OK;
}

/* By id or, as recordings of real graphs have it, by the name of an output; of several the last. */
static int32_t find_output(const sr_graph *graph, const char *key) {
    int32_t found = sr_graph_find(graph, key);
    for (int32_t i = graph->n_nodes - 1; i >= 0 && found < 0; i--) {
        const sr_tensor *t = &graph->tensors[graph->nodes[i]];
        if ((t->flags & SR_FLAG_OUTPUT) != 0 && strcmp(t->name, key) == 0) {
            found = graph->nodes[i];
        }
    }
    for (int32_t i = graph->n_nodes - 1; i >= 0 && found < 0; i--) {
        if (strcmp(graph->tensors[graph->nodes[i]].name, key) == 0) {
            found = graph->nodes[i];
        }
    }
    return found;
}

void sr__check_outputs(sr__check_run *c) {
    const sr_expect *expect = c->run->expect;
    for (int i = 0; i < expect->n_outputs && c->status == SR_OK; i++) {
        const sr_expect_output *expected = &expect->outputs[i];
        const int32_t tensor = find_output(c->layout->graph, expected->id);
        if (tensor < 0) {
            c->check->n_checks++;
            sr__check_note(c, "outputs of %s: the graph has no such tensor", expected->id);
            continue;
        }
        const sr_tensor *t = &c->layout->graph->tensors[tensor];
        double *got = NULL;
        c->status = read_tensor(c, tensor, &got);
        if (c->status == SR_OK && expected->has_sums) {
            compare_sums(c, expected, got, sr_tensor_nelements(t));
        }
        if (c->status == SR_OK && expected->has_values) {
            c->status = compare_values(c, expected, t, got);
        }
        sr__free(got);
    }
}
