/*
 * report_json.c - the report for programs: one JSON object, or JSON lines.
 *
 * Layer: report.  The keys are those of docs/schema/report.schema.json; lines carry the same objects with a "type".
 */
#include "report/report_json.h"

/* Where a run stands in the whole: inside the array "runs" of the outer object, or alone on a line. */
typedef struct writer {
    sr__out out;
    sr__json json;
} writer;

static void writer_init(writer *w, sr_sink *sink, bool lines) {
    sr__out_init(&w->out, sink);
    sr__json_init(&w->json, &w->out.text, !lines);
}

static sr_status writer_end(writer *w, sr_error *err) {
    sr__json_free(&w->json);
    return sr__out_end(&w->out, err);
}

void sr__json_enter_runs(sr__json *json, bool has_runs) {
    sr__json_object(json);
    sr__json_key(json, "runs");
    sr__json_array(json);
    sr__str_clear(json->out);
    json->need_comma = has_runs;
}

/* ---- begin and end --------------------------------------------------------------------------------------------- */

sr_status sr_report_json_begin(const sr_description *description, bool lines, sr_sink *sink, sr_error *err) {
    writer w;
    writer_init(&w, sink, lines);
    sr__json *json = &w.json;
    const sr_machine *machine = sr_description_machine(description);
    sr__json_object(json);
    if (lines) {
        sr__json_put_string(json, "type", "report");
    }
    sr__json_put_int(json, "sched_run_report", 1);
    sr__json_put_string(json, "name", sr_description_name(description));
    sr__json_key(json, "backends");
    sr__json_inline(json);
    sr__json_array(json);
    for (int b = 0; b < machine->n_backends; b++) {
        sr__json_string(json, machine->backends[b]->name);
    }
    sr__json_end_array(json);
    if (lines) {
        sr__json_end_object(json);
        sr__str_puts(&w.out.text, "\n");
    } else {
        sr__json_key(json, "runs");
        sr__json_array(json);
    }
    return writer_end(&w, err);
}

/* All runs together, where there were several on one scheduler. */
static sr_status put_reallocations(writer *w, const sr_realloc_history *history, bool lines, sr_error *err) {
    int n = 0;
    if (history == NULL || sr_realloc_rows(history, &n) == NULL || n < 2) {
        return SR_OK;
    }
    if (!lines) {
        sr__json_key(&w->json, "reallocation");
    }
    sr__json_object(&w->json);
    if (lines) {
        sr__json_put_string(&w->json, "type", "reallocation");
    }
    const sr_status status = sr__json_reallocations(&w->json, history, err);
    sr__json_end_object(&w->json);
    sr__str_puts(&w->out.text, lines ? "\n" : "");
    return status;
}

sr_status sr_report_json_end(const sr_realloc_history *history, bool lines, sr_sink *sink, sr_error *err) {
    writer w;
    writer_init(&w, sink, lines);
    if (!lines) {
        sr__json_enter_runs(&w.json, true);
        sr__json_end_array(&w.json);
    }
    const sr_status status = put_reallocations(&w, history, lines, err);
    if (!lines) {
        sr__json_end_object(&w.json);
        sr__str_puts(&w.out.text, "\n");
    }
    const sr_status written = writer_end(&w, status == SR_OK ? err : NULL);
    return status != SR_OK ? status : written;
}

/* ---- splits and copies ----------------------------------------------------------------------------------------- */

static void put_split(writer *w, const sr_layout *layout, const sr_split *split) {
    sr__json *json = &w->json;
    const sr_graph *graph = layout->graph;
    const int32_t *inputs = layout->inputs + split->inputs_begin;
    uint64_t bytes = 0;
    sr__json_put_inline(json, NULL);
    sr__json_put_string(json, "backend", layout->backends[split->backend]->name);
    sr__json_put_int(json, "start", split->start);
    sr__json_put_int(json, "end", split->end);
    sr__json_key(json, "inputs");
    sr__json_array(json);
    for (int32_t j = 0; j < split->n_inputs; j++) {
        sr__json_string(json, graph->tensors[inputs[j]].name);
        bytes += graph->tensors[inputs[j]].nbytes;
    }
    sr__json_end_array(json);
    sr__json_key(json, "input_ids");
    sr__json_array(json);
    for (int32_t j = 0; j < split->n_inputs; j++) {
        sr__json_string(json, graph->tensors[inputs[j]].id);
    }
    sr__json_end_array(json);
    sr__json_put_int(json, "input_bytes", (int64_t)bytes);
    sr__json_end_object(json);
    sr__out_more(&w->out);
}

static void put_copies(writer *w, const sr_layout *layout) {
    sr__json *json = &w->json;
    sr__json_key(json, "copies");
    sr__json_array(json);
    for (int32_t i = 0; i < layout->n_splits; i++) {
        const sr_split *split = &layout->splits[i];
        for (int32_t j = 0; j < split->n_inputs; j++) {
            const int32_t input = layout->inputs[split->inputs_begin + j];
            const sr_tensor *t = &layout->graph->tensors[input];
            sr__json_put_inline(json, NULL);
            sr__json_put_string(json, "tensor", t->name);
            sr__json_put_string(json, "id", t->id);
            sr__json_put_string(json, "from", sr__backend_name(layout, layout->backend_of[input]));
            sr__json_put_string(json, "to", layout->backends[split->backend]->name);
            sr__json_put_int(json, "bytes", (int64_t)t->nbytes);
            sr__json_put_int(json, "split", i);
            sr__json_end_object(json);
            sr__out_more(&w->out);
        }
    }
    sr__json_end_array(json);
}

static void put_copy_totals(writer *w, const sr_layout *layout, const sr__facts *facts) {
    sr__json *json = &w->json;
    sr__json_key(json, "copy_totals");
    sr__json_array(json);
    for (int i = 0; i < facts->n_pairs; i++) {
        const sr__pair_total *pair = &facts->pairs[i];
        sr__json_put_inline(json, NULL);
        sr__json_put_string(json, "from", layout->backends[pair->from]->name);
        sr__json_put_string(json, "to", layout->backends[pair->to]->name);
        sr__json_put_int(json, "copies", pair->copies);
        sr__json_put_int(json, "bytes", (int64_t)pair->bytes);
        sr__json_end_object(json);
    }
    sr__json_end_array(json);
}

/* ---- by tensor ------------------------------------------------------------------------------------------------- */

typedef enum tensor_key { BACKEND_OF, CAUSE_OF, ADDRESS, CHUNK_OF } tensor_key;

/* Whether the tensor has an entry under the key; chunks only where its type has several. */
static bool has_entry(const sr_layout *layout, const bool *chunked, int32_t tensor, tensor_key key) {
    if (key == BACKEND_OF) {
        return layout->backend_of[tensor] >= 0;
    }
    if (key == CAUSE_OF) {
        return layout->cause_of[tensor] != SR_CAUSE_NONE;
    }
    const int id = layout->addresses[tensor].buffer_id;
    return id >= 0 && (key == ADDRESS || chunked[id]);
}

static void put_entry(writer *w, const sr_layout *layout, int32_t tensor, tensor_key key) {
    sr__json *json = &w->json;
    sr__json_key(json, layout->graph->tensors[tensor].id);
    switch (key) {
    case BACKEND_OF:
        sr__json_string(json, layout->backends[layout->backend_of[tensor]]->name);
        break;
    case CAUSE_OF:
        sr__json_string(json, sr_cause_name(layout->cause_of[tensor]));
        break;
    case ADDRESS:
        sr__json_array(json);
        sr__json_string(json, layout->buffer_types[layout->addresses[tensor].buffer_id]->name);
        sr__json_int(json, (int64_t)layout->addresses[tensor].offset);
        sr__json_end_array(json);
        break;
    case CHUNK_OF:
        sr__json_int(json, layout->addresses[tensor].chunk);
        break;
    }
    sr__out_more(&w->out);
}

/* Leafs, then nodes. */
static void put_by_tensor(writer *w, const sr_layout *layout, const bool *chunked, const char *name, tensor_key key) {
    const sr_graph *graph = layout->graph;
    sr__json_put_inline(&w->json, name);
    for (int32_t i = 0; i < graph->n_leafs; i++) {
        if (has_entry(layout, chunked, graph->leafs[i], key)) {
            put_entry(w, layout, graph->leafs[i], key);
        }
    }
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        if (has_entry(layout, chunked, graph->nodes[i], key)) {
            put_entry(w, layout, graph->nodes[i], key);
        }
    }
    sr__json_end_object(&w->json);
}

/* By buffer id: does any tensor of the graph lie beyond its first chunk?  Freed by the caller; NULL: no memory. */
static bool *find_chunked(const sr_layout *layout, bool *out_any) {
    bool *chunked = sr__calloc((size_t)layout->n_backends, sizeof(*chunked));
    *out_any = false;
    for (int32_t i = 0; chunked != NULL && i < layout->graph->n_tensors; i++) {
        const sr_address *a = &layout->addresses[i];
        if (a->buffer_id >= 0 && a->chunk > 0) {
            chunked[a->buffer_id] = true;
            *out_any = true;
        }
    }
    return chunked;
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static void put_misfit_name(sr__json *json, const char *key, const sr_layout *layout, int32_t id) {
    char name[SR_MAX_NAME + 1];
    if (id >= 0) {
        sr_layout_name(layout, id, name);
        sr__json_put_string(json, key, name);
    }
}

static void put_reason(sr__json *json, const sr_layout *layout) {
    static const char *const kinds[] = {"", "nodes", "leafs", "node", "source", "backend_ids"};
    const sr_misfit *m = &layout->misfit;
    sr__json_put_inline(json, "reallocation_reason");
    sr__json_put_string(json, "kind", kinds[m->kind]);
    if (m->kind == SR_MISFIT_BACKEND_IDS) {
        put_misfit_name(json, "node", layout, m->node);
        sr__json_put_int(json, "index", m->position);
        sr__json_put_string(json, "old", sr__backend_name(layout, (int)m->old_size));
        sr__json_put_string(json, "new", sr__backend_name(layout, (int)m->new_size));
    } else {
        put_misfit_name(json, "node", layout, m->node);
        if (m->kind == SR_MISFIT_SOURCE) {
            put_misfit_name(json, "source", layout, m->source_id);
            sr__json_put_int(json, "index", m->source);
        } else if (m->kind == SR_MISFIT_NODE) {
            sr__json_put_int(json, "index", m->position);
        }
        sr__json_put_int(json, "old", m->old_size);
        sr__json_put_int(json, "new", m->new_size);
    }
    sr__json_end_object(json);
}

static void put_memory(sr__json *json, const sr_layout *layout) {
    if (layout->compute_buffer_size != NULL) {
        sr__json_put_inline(json, "compute_buffer_size");
        for (int b = 0; b < layout->n_backends; b++) {
            sr__json_put_int(json, layout->backends[b]->name, (int64_t)layout->compute_buffer_size[b]);
        }
        sr__json_end_object(json);
    }
    sr__json_put_bool(json, "reallocated", layout->reallocated);
    sr__json_put_bool(json, "backend_ids_changed", layout->backend_ids_changed);
    sr__json_put_bool(json, "unexpected", layout->unexpected);
    if (layout->misfit.kind != SR_MISFIT_NONE) {
        put_reason(json, layout);
    }
    sr__json_key(json, "buffers_grown");
    sr__json_inline(json);
    sr__json_array(json);
    for (int b = 0; b < layout->n_backends && layout->grew != NULL; b++) {
        if (layout->grew[b]) {
            sr__json_string(json, layout->buffer_types[b]->name);
        }
    }
    sr__json_end_array(json);
}

/* ---- a run ----------------------------------------------------------------------------------------------------- */

static void put_error(sr__json *json, const sr_error *error) {
    sr__json_put_inline(json, "error");
    sr__json_put_string(json, "kind", sr_status_name(error->status));
    sr__json_put_string(json, "message", sr_error_message(error));
    for (int i = 0; i < error->n_details; i++) {
        const sr_error_detail *detail = &error->details[i];
        if (detail->text != NULL) {
            sr__json_put_string(json, detail->key, detail->text);
        } else {
            sr__json_put_int(json, detail->key, detail->number);
        }
    }
    sr__json_end_object(json);
}

static sr_status put_schedule(writer *w, const sr_layout *layout, sr_error *err) {
    sr__json *json = &w->json;
    sr__facts facts;
    const sr_status status = sr__facts_init(&facts, layout, err);
    if (status != SR_OK) {
        return status;
    }
    sr__json_put_int(json, "n_splits", layout->n_splits);
    sr__json_put_int(json, "n_copies", layout->n_copies);
    sr__json_put_int(json, "copy", layout->cur_copy);
    sr__json_key(json, "splits");
    sr__json_array(json);
    for (int32_t i = 0; i < layout->n_splits; i++) {
        put_split(w, layout, &layout->splits[i]);
    }
    sr__json_end_array(json);
    put_by_tensor(w, layout, NULL, "backend_of", BACKEND_OF);
    put_by_tensor(w, layout, NULL, "cause_of", CAUSE_OF);
    put_memory(json, layout);
    put_copies(w, layout);
    put_copy_totals(w, layout, &facts);
    sr__facts_free(&facts);
    return SR_OK;
}

static sr_status put_addresses(writer *w, const sr_layout *layout, sr_error *err) {
    bool any = false;
    bool *chunked = find_chunked(layout, &any);
    if (chunked == NULL) {
        return sr__fail_memory(err);
    }
    put_by_tensor(w, layout, chunked, "address", ADDRESS);
    if (any) {
        put_by_tensor(w, layout, chunked, "chunk_of", CHUNK_OF);
    }
    sr__free(chunked);
    return SR_OK;
}

static void put_seconds(sr__json *json, const sr_layout *layout) {
    sr__json_put_inline(json, "seconds");
    sr__json_put_double(json, "split", layout->seconds_split);
    sr__json_put_double(json, "allocate", layout->seconds_allocate);
    sr__json_put_double(json, "compute", layout->seconds_compute);
    sr__json_end_object(json);
}

/* Opens the object of a run; what every kind of run has. */
static void put_head(sr__json *json, const sr_run *run, sr_status status, const sr_error *error, bool lines) {
    sr__json_object(json);
    if (lines) {
        sr__json_put_string(json, "type", "run");
    }
    sr__json_put_int(json, "index", run->index);
    sr__json_put_string(json, "graph", run->graph_name);
    sr__json_put_bool(json, "reserve", run->reserve);
    sr__json_put_string(json, "status", sr_status_name(status));
    if (error->status != SR_OK) {
        put_error(json, error);
    }
    if (run->graph != NULL) {
        sr__json_put_int(json, "n_nodes", run->graph->n_nodes);
        sr__json_put_int(json, "n_leafs", run->graph->n_leafs);
    }
}

static sr_status put_run(writer *w, const sr_run_result *result, bool lines, sr_error *err) {
    sr__json *json = &w->json;
    const sr_layout *layout = result->layout;
    sr_status status = SR_OK;
    put_head(json, result->run, result->error->status, result->error, lines);
    if (sr_layout_has_splits(layout)) {
        status = put_schedule(w, layout, err);
        if (status == SR_OK && layout->addresses != NULL) {
            status = put_addresses(w, layout, err);
        }
    }
    sr__json_findings(json, &w->out, result->findings);
    sr__json_explanations(json, &w->out, result);
    sr__json_steps(json, &w->out, result);
    sr__json_memory(json, &w->out, result);
    sr__json_reallocation(json, result);
    sr__json_estimate(json, &w->out, result);
    if (sr_layout_has_splits(layout)) {
        if (status == SR_OK) {
            status = sr__json_executed(json, &w->out, result, err);
        }
        if (result->estimate == NULL) { /* whose reports are the same every time */
            put_seconds(json, layout);
        }
    }
    sr__json_end_object(json);
    return status;
}

sr_status sr_report_json_run(const sr_run_result *result, bool lines, bool first, sr_sink *sink, sr_error *err) {
    writer w;
    writer_init(&w, sink, lines);
    if (!lines) {
        sr__json_enter_runs(&w.json, !first);
    }
    const sr_status status = put_run(&w, result, lines, err);
    if (lines) {
        sr__str_puts(&w.out.text, "\n");
    }
    const sr_status written = writer_end(&w, status == SR_OK ? err : NULL);
    return status != SR_OK ? status : written;
}

sr_status sr_report_json_compare(const sr_compare_result *result, bool lines, bool first, sr_sink *sink,
                                 sr_error *err) {
    const sr_error *error = result->error;
    const bool differs = error->status == SR_OK && result->comparison->n_over > 0;
    writer w;
    writer_init(&w, sink, lines);
    if (!lines) {
        sr__json_enter_runs(&w.json, !first);
    }
    put_head(&w.json, result->run, differs ? SR_DIFFERS : error->status, error, lines);
    sr__json_compare(&w.json, &w.out, result);
    sr__json_end_object(&w.json);
    if (lines) {
        sr__str_puts(&w.out.text, "\n");
    }
    return writer_end(&w, err);
}
