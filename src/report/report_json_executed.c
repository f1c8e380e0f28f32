/*
 * report_json_executed.c - the keys of a JSON report that only an execution gives: outputs, values, trace_summary.
 *
 * Layer: report.
 */
#include "analyze/tensor_values.h"
#include "report/report_json.h"

/* ---- outputs ---------------------------------------------------------------------------------------------------- */

static void put_stats(sr__json *json, const sr_value_stats *stats) {
    sr__json_put_double(json, "sum", stats->sum);
    sr__json_put_double(json, "sumsq", stats->sumsq);
    if (stats->n > 0) {
        sr__json_put_double(json, "min", stats->min);
        sr__json_put_double(json, "max", stats->max);
    }
    sr__json_key(json, "head");
    sr__json_array(json);
    for (int i = 0; i < stats->n_head; i++) {
        sr__json_double(json, stats->head[i]);
    }
    sr__json_end_array(json);
}

static sr_status put_output(sr__json *json, const sr_layout *layout, int32_t tensor, sr_error *err) {
    const sr_tensor *t = &layout->graph->tensors[tensor];
    sr_value_stats stats;
    sr_status status = SR_OK;
    sr__json_key(json, t->id);
    sr__json_object(json);
    sr__json_put_int(json, "n", sr_tensor_nelements(t));
    if (!sr_layout_computed(layout, tensor)) {
        sr__json_put_bool(json, "computed", false);
    } else if (sr__values_known(t->type)) {
        SR_TRY(sr_tensor_stats(&layout->view, tensor, &stats, err));
        put_stats(json, &stats);
    }
done:
    sr__json_end_object(json);
    return status;
}

static sr_status put_outputs(sr__json *json, sr__out *out, const sr_layout *layout, sr_error *err) {
    sr_status status = SR_OK;
    sr__json_put_inline(json, "outputs");
    for (int32_t i = 0; i < layout->graph->n_tensors && status == SR_OK; i++) {
        if (sr__is_output(layout->graph, i)) {
            status = put_output(json, layout, i, err);
            sr__out_more(out);
        }
    }
    sr__json_end_object(json);
    return status;
}

/* ---- times ------------------------------------------------------------------------------------------------------ */

static void put_row(sr__json *json, const sr_trace_row *row) {
    sr__json_object(json);
    sr__json_put_string(json, "track", row->track != NULL ? row->track : "host");
    sr__json_put_bool(json, "host", row->track == NULL);
    sr__json_put_double(json, "computing", (double)row->computing * 1e-9);
    sr__json_put_double(json, "copying", (double)row->copying * 1e-9);
    sr__json_put_double(json, "waiting", (double)row->waiting * 1e-9);
    sr__json_put_int(json, "computes", row->n_computes);
    sr__json_put_int(json, "copies", row->n_copies);
    sr__json_put_int(json, "bytes", (int64_t)row->bytes);
    sr__json_end_object(json);
}

static void put_times(sr__json *json, const sr_trace_summary *times) {
    sr__json_put_inline(json, "trace_summary");
    sr__json_put_double(json, "seconds", (double)times->wall * 1e-9);
    sr__json_key(json, "tracks");
    sr__json_array(json);
    for (int i = 0; i < times->n_rows; i++) {
        put_row(json, &times->rows[i]);
    }
    sr__json_end_array(json);
    sr__json_end_object(json);
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

static void put_elements(sr__json *json, sr__out *out, const sr__values *values, double *row) {
    const sr_tensor *t = values->tensor;
    for (int64_t r = 0; r < sr_tensor_nrows(t) && t->ne[0] > 0; r++) {
        sr__values_row(values, r % t->ne[1], r / t->ne[1] % t->ne[2], r / t->ne[1] / t->ne[2], row);
        for (int64_t i = 0; i < t->ne[0]; i++) {
            sr__json_double(json, row[i]);
        }
        sr__out_more(out);
    }
}

static sr_status put_value(sr__json *json, sr__out *out, const sr_value *value, sr_error *err) {
    const sr_tensor *t = value->values.tensor;
    double *row = sr__malloc(((size_t)t->ne[0] + 1) * sizeof(*row));
    if (row == NULL) {
        return sr__fail_memory(err);
    }
    sr__json_key(json, t->id);
    sr__json_put_inline(json, NULL);
    sr__json_put_string(json, "type", sr_type_get(t->type)->name);
    sr__json_key(json, "ne");
    sr__json_array(json);
    for (int d = 0; d < sr__shown_dims(t); d++) {
        sr__json_int(json, t->ne[d]);
    }
    sr__json_end_array(json);
    sr__json_key(json, "values");
    sr__json_array(json);
    put_elements(json, out, &value->values, row);
    sr__json_end_array(json);
    sr__json_end_object(json);
    sr__free(row);
    return SR_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

sr_status sr__json_executed(sr__json *json, sr__out *out, const sr_run_result *result, sr_error *err) {
    sr_status status = SR_OK;
    if (sr__was_executed(result->layout)) {
        SR_TRY(put_outputs(json, out, result->layout, err));
    }
    if (result->times != NULL && result->times->n_rows > 0) {
        put_times(json, result->times);
    }
    if (result->n_values > 0) {
        sr__json_key(json, "values");
        sr__json_object(json);
        for (int i = 0; i < result->n_values; i++) {
            SR_TRY(put_value(json, out, result->values[i], err));
        }
        sr__json_end_object(json);
    }
done:
    return status;
}
