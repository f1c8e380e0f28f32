/*
 * report_json_estimate.c - the key "estimate" of a JSON report.
 *
 * Layer: report.  Times are whole nanoseconds.
 */
#include "report/report_json.h"

static void put_text(sr__json *json, const char *key, const char *text) {
    sr__json_put_string(json, key, text);
}

static void put_time(sr__json *json, const char *key, uint64_t time) { sr__json_put_int(json, key, (int64_t)time); }

static void open_array(sr__json *json, const char *key) {
    sr__json_key(json, key);
    sr__json_array(json);
}

static const char *lane_name(const sr_layout *layout, int lane) {
    return lane >= 0 && lane < layout->n_backends ? layout->backends[lane]->name : "host";
}

static void put_lane(sr__json *json, const sr_layout *layout, const sr_estimate *e, int i) {
    const sr_estimate_lane *lane = &e->lanes[i];
    sr__json_put_inline(json, NULL);
    put_text(json, "lane", lane_name(layout, i));
    sr__json_put_bool(json, "host", i == e->n_backends);
    put_time(json, "computing", lane->computing);
    put_time(json, "copying", lane->copying);
    put_time(json, "waiting", lane->waiting);
    sr__json_put_int(json, "computes", lane->n_computes);
    sr__json_put_int(json, "copies", lane->n_copies);
    sr__json_put_int(json, "bytes", (int64_t)lane->bytes);
    put_time(json, "critical_computing", e->critical[i].computing);
    put_time(json, "critical_copying", e->critical[i].copying);
    sr__json_end_object(json);
}

static void put_split(sr__json *json, const sr_layout *layout, const sr_estimate *e, int32_t i) {
    const sr_estimate_split *split = &e->splits[i];
    sr__json_put_inline(json, NULL);
    put_text(json, "backend", lane_name(layout, layout->splits[i].backend));
    sr__json_put_int(json, "nodes", split->n_nodes);
    sr__json_put_int(json, "copied", (int64_t)split->copied);
    put_time(json, "copying", split->copying);
    put_time(json, "computing", split->computing);
    put_time(json, "by_flops", split->by_flops);
    put_time(json, "by_memory", split->by_memory);
    put_time(json, "by_latency", split->by_latency);
    sr__json_put_double(json, "flops", split->flops);
    sr__json_put_double(json, "bytes", split->bytes);
    sr__json_end_object(json);
}

static void put_figures(sr__json *json, const sr_layout *layout, const sr_estimate *e, int b) {
    const sr_speed *speed = &e->speeds[b];
    sr__json_put_inline(json, NULL);
    put_text(json, "backend", lane_name(layout, b));
    sr__json_put_double(json, "flops", speed->flops);
    sr__json_put_double(json, "memory_bandwidth", speed->memory_bandwidth);
    sr__json_put_double(json, "link_bandwidth", speed->link_bandwidth);
    sr__json_put_double(json, "peer_bandwidth", speed->peer_bandwidth);
    sr__json_put_double(json, "latency", speed->latency);
    sr__json_put_bool(json, "assumed", e->assumed[b]);
    sr__json_end_object(json);
}

static void put_span(sr__json *json, const sr_layout *layout, const sr_estimate_span *span) {
    sr__json_put_inline(json, NULL);
    put_text(json, "lane", lane_name(layout, span->lane));
    put_text(json, "kind", sr_estimate_kind_name((int)span->kind));
    put_time(json, "begin", span->begin);
    put_time(json, "end", span->end);
    sr__json_put_int(json, "split", span->split);
    sr__json_put_int(json, "batch", span->batch);
    if (span->tensor >= 0) {
        put_text(json, "tensor", sr__shown_name(&layout->graph->tensors[span->tensor]));
    }
    if (span->from >= 0) {
        put_text(json, "from", lane_name(layout, span->from));
    }
    if (span->kind == SR_ESTIMATE_COPY) {
        put_text(json, "to", lane_name(layout, span->to));
        sr__json_put_int(json, "bytes", (int64_t)span->bytes);
    } else if (span->kind == SR_ESTIMATE_COMPUTE) {
        sr__json_put_int(json, "nodes", span->n_nodes);
    }
    sr__json_put_int(json, "after", span->after);
    sr__json_put_bool(json, "critical", span->critical);
    sr__json_end_object(json);
}

static void put_gain(sr__json *json, const sr_layout *layout, const sr_offload_gain *gain) {
    sr__json_put_inline(json, NULL);
    put_text(json, "backend", lane_name(layout, gain->backend));
    sr__json_put_int(json, "nodes", gain->n_nodes);
    sr__json_put_int(json, "bytes", (int64_t)gain->bytes);
    sr__json_put_int(json, "pays_from", gain->pays_from);
    sr__json_put_int(json, "first", gain->first);
    put_text(json, "first_node", sr__shown_name(&layout->graph->tensors[gain->first_node]));
    sr__json_put_int(json, "last", gain->last);
    put_text(json, "last_node", sr__shown_name(&layout->graph->tensors[gain->last_node]));
    sr__json_put_int(json, "asks_from", gain->asks_from);
    sr__json_put_int(json, "asked", gain->n_asked);
    sr__json_end_object(json);
}

void sr__json_estimate(sr__json *json, sr__out *out, const sr_run_result *result) {
    const sr_estimate *e = result->estimate;
    const sr_layout *layout = result->layout;
    if (e == NULL) {
        return;
    }
    sr__json_key(json, "estimate");
    sr__json_object(json);
    put_time(json, "total", e->total);
    sr__json_key(json, "batch_end");
    sr__json_inline(json);
    sr__json_array(json);
    for (int i = 0; i < e->n_batches; i++) {
        sr__json_int(json, (int64_t)e->batch_end[i]);
    }
    sr__json_end_array(json);
    open_array(json, "figures");
    for (int b = 0; b < e->n_backends; b++) {
        put_figures(json, layout, e, b);
    }
    sr__json_end_array(json);
    open_array(json, "lanes");
    for (int i = 0; i <= e->n_backends; i++) {
        put_lane(json, layout, e, i);
    }
    sr__json_end_array(json);
    open_array(json, "splits");
    for (int32_t i = 0; i < e->n_splits; i++) {
        put_split(json, layout, e, i);
        sr__out_more(out);
    }
    sr__json_end_array(json);
    open_array(json, "spans");
    for (int32_t i = 0; i < e->n_spans; i++) {
        put_span(json, layout, &e->spans[i]);
        sr__out_more(out);
    }
    sr__json_end_array(json);
    sr__json_put_int(json, "expected_copies", e->n_expert_copies);
    open_array(json, "offload");
    for (int i = 0; i < result->n_gains; i++) {
        put_gain(json, layout, &result->gains[i]);
    }
    sr__json_end_array(json);
    sr__json_end_object(json);
}
