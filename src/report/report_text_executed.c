/*
 * report_text_executed.c - the text report of what an execution left: outputs, times, values asked for.
 *
 * Layer: report.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/tensor_values.h"
#include "report/report_text.h"

bool sr__was_executed(const sr_layout *layout) { return layout->executed || layout->split_done != NULL; }

bool sr__is_output(const sr_graph *graph, int32_t tensor) {
    return (graph->tensors[tensor].flags & SR_FLAG_OUTPUT) != 0;
}

/* ---- outputs ---------------------------------------------------------------------------------------------------- */

enum { NUMBER_WIDTH = 13, SHOWN_HEAD = 4 };

static void put_number(sr__str *s, double x) {
    char text[32];
    snprintf(text, sizeof(text), "%.6g", x);
    sr__put_right(s, text, NUMBER_WIDTH);
}

static void put_stats(sr__str *s, const sr_value_stats *stats) {
    sr__str_printf(s, "%12" PRId64, stats->n);
    if (stats->n == 0) {
        return;
    }
    put_number(s, stats->sum);
    put_number(s, stats->sumsq);
    put_number(s, stats->min);
    put_number(s, stats->max);
    sr__str_puts(s, "  ");
    for (int i = 0; i < stats->n_head && i < SHOWN_HEAD; i++) {
        sr__str_printf(s, " %.5g", stats->head[i]);
    }
    if (stats->n > SHOWN_HEAD) {
        sr__str_puts(s, " ...");
    }
}

static sr_status put_output(sr__text *text, int32_t tensor, int width, sr_error *err) {
    sr__str *s = &text->out->text;
    const sr_tensor *t = &text->layout->graph->tensors[tensor];
    sr_value_stats stats;
    sr__str_puts(s, "      ");
    sr__put_left(s, sr__shown_name(t), width);
    if (!sr_layout_computed(text->layout, tensor)) {
        sr__str_puts(s, "  not computed\n");
        return SR_OK;
    }
    if (!sr__values_known(t->type)) {
        sr__str_printf(s, "%12" PRId64 "  of type %s\n", sr_tensor_nelements(t), sr_type_get(t->type)->name);
        return SR_OK;
    }
    const sr_status status = sr_tensor_stats(&text->layout->view, tensor, &stats, err);
    if (status == SR_OK) {
        put_stats(s, &stats);
        sr__str_puts(s, "\n");
    }
    return status;
}

static sr_status put_outputs(sr__text *text, sr_error *err) {
    const sr_graph *graph = text->layout->graph;
    sr__str *s = &text->out->text;
    sr_status status = SR_OK;
    int width = 0;
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        const int n = sr__is_output(graph, i) ? sr__name_width(sr__shown_name(&graph->tensors[i])) : 0;
        width = n > width ? n : width;
    }
    if (width == 0) {
        return SR_OK;
    }
    sr__str_puts(s, "    outputs");
    sr__put_spaces(s, width - 5);
    sr__style_on(s, text->options, SR__DIM);
    sr__str_puts(s, "           n          sum        sumsq          min          max   first values");
    sr__style_off(s, text->options);
    sr__str_puts(s, "\n");
    for (int32_t i = 0; i < graph->n_tensors && status == SR_OK; i++) {
        if (sr__is_output(graph, i)) {
            status = put_output(text, i, width, err);
            sr__out_more(text->out);
        }
    }
    return status;
}

/* ---- where the time went ---------------------------------------------------------------------------------------- */

static void put_share(sr__str *s, uint64_t time, uint64_t wall) {
    sr__str words = {0};
    if (time > 0) {
        sr__put_time(&words, time);
        sr__str_printf(&words, " %3.0f%%", wall > 0 ? 100.0 * (double)time / (double)wall : 0.0);
    } else {
        sr__str_puts(&words, "-     ");
    }
    sr__put_right(s, sr__str_text(&words), 15);
    s->failed |= words.failed;
    sr__str_free(&words);
}

static void put_time_row(sr__text *text, const sr_trace_row *row, int backend, uint64_t wall) {
    sr__str *s = &text->out->text;
    const uint64_t used = row->computing + row->copying + row->waiting;
    sr__str_puts(s, "      ");
    sr__backend_on(s, text->options, text->layout, backend);
    sr__put_left(s, row->track != NULL ? row->track : "host", text->backend_width);
    sr__style_off(s, text->options);
    put_share(s, row->computing, wall);
    put_share(s, row->copying, wall);
    put_share(s, row->waiting, wall);
    put_share(s, used < wall ? wall - used : 0, wall);
    sr__str_printf(s, "%9" PRId64 "%9" PRId64 "\n", row->n_computes, row->n_copies);
}

void sr__text_times(sr__text *text, const sr_trace_summary *times) {
    sr__str *s = &text->out->text;
    sr__put_spaces(s, 6 + text->backend_width);
    sr__style_on(s, text->options, SR__DIM);
    sr__str_puts(s, "      computing        copying        waiting           idle computes   copies");
    sr__style_off(s, text->options);
    sr__str_puts(s, "\n");
    for (int i = 0; i < times->n_rows; i++) {
        put_time_row(text, &times->rows[i], times->rows[i].track != NULL ? i : -1, times->wall);
    }
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

sr_status sr__text_executed(sr__text *text, const sr_run_result *result, sr_error *err) {
    sr_status status = SR_OK;
    if (!sr__was_executed(text->layout)) {
        return SR_OK;
    }
    SR_TRY(put_outputs(text, err));
    if (result->times != NULL && result->times->n_rows > 0) {
        sr__str_puts(&text->out->text, "    where the time went: ");
        sr__put_time(&text->out->text, result->times->wall);
        sr__str_puts(&text->out->text, " from the first split to the last wait\n");
        sr__text_times(text, result->times);
    }
done:
    return status;
}

sr_status sr__text_values(const sr_run_result *result, const sr_report_options *options, sr__out *out, sr_error *err) {
    sr_status status = SR_OK;
    if (result->n_values > 0) {
        sr__str_puts(&out->text, "\nvalues\n");
    }
    for (int i = 0; i < result->n_values; i++) {
        sr__out_flush(out);
        SR_TRY(sr_report_value(result->run->graph, result->values[i], options, out->sink, err));
    }
done:
    return status;
}
