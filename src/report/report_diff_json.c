/*
 * report_diff_json.c - two layouts side by side for programs.
 *
 * Layer: report.  The keys are those of docs/schema/diff.schema.json.  Lists are whole: nothing is folded.
 */
#include "report/report_diff.h"
#include "report/report_json.h"

typedef struct writer {
    sr__out out;
    sr__json json;
    const sr_diff *diff;
    const sr__diff_facts *facts;
} writer;

static void writer_init(writer *w, sr_sink *sink) {
    *w = (writer){.diff = NULL};
    sr__out_init(&w->out, sink);
    sr__json_init(&w->json, &w->out.text, true);
}

static sr_status writer_end(writer *w, sr_error *err) {
    sr__json_free(&w->json);
    return sr__out_end(&w->out, err);
}

/* {"a": 3, "b": 5} */
static void put_both(sr__json *json, const char *key, uint64_t a, uint64_t b) {
    sr__json_put_inline(json, key);
    sr__json_put_int(json, "a", (int64_t)a);
    sr__json_put_int(json, "b", (int64_t)b);
    sr__json_end_object(json);
}

static const char *id_of(const sr_layout *layout, int32_t tensor) { return layout->graph->tensors[tensor].id; }

/* Name of a backend position, null for -1. */
static const char *backend_of(const sr_layout *layout, int backend) {
    return backend >= 0 ? sr__backend_name(layout, backend) : NULL;
}

/* ---- head ------------------------------------------------------------------------------------------------------- */

sr_status sr_report_diff_json_begin(const sr_diff_head *head, sr_sink *sink, sr_error *err) {
    writer w;
    writer_init(&w, sink);
    sr__json_object(&w.json);
    sr__json_put_int(&w.json, "sched_run_diff", 1);
    sr__json_put_bool(&w.json, "differs", head->n_differ > 0 || head->n_runs_a != head->n_runs_b);
    sr__json_put_string(&w.json, "a", head->a);
    sr__json_put_string(&w.json, "b", head->b);
    put_both(&w.json, "n_runs", (uint64_t)head->n_runs_a, (uint64_t)head->n_runs_b);
    sr__json_put_int(&w.json, "n_runs_differ", head->n_differ);
    sr__json_key(&w.json, "runs");
    sr__json_array(&w.json);
    return writer_end(&w, err);
}

sr_status sr_report_diff_json_end(sr_sink *sink, sr_error *err) {
    writer w;
    writer_init(&w, sink);
    sr__json_enter_runs(&w.json, true);
    sr__json_end_array(&w.json);
    sr__json_end_object(&w.json);
    sr__str_puts(&w.out.text, "\n");
    return writer_end(&w, err);
}

/* ---- totals ----------------------------------------------------------------------------------------------------- */

static void put_totals(writer *w) {
    sr__json *json = &w->json;
    const sr_diff *d = w->diff;
    const sr__diff_facts *f = w->facts;
    sr__json_key(json, "totals");
    sr__json_object(json);
    put_both(json, "nodes", (uint64_t)d->a->graph->n_nodes, (uint64_t)d->b->graph->n_nodes);
    put_both(json, "splits", (uint64_t)d->a->n_splits, (uint64_t)d->b->n_splits);
    put_both(json, "copies", (uint64_t)d->a->n_inputs, (uint64_t)d->b->n_inputs);
    put_both(json, "copied", f->a.copied, f->b.copied);
    put_both(json, "compute_memory", f->compute_a, f->compute_b);
    put_both(json, "peak_memory", f->live_a, f->live_b);
    put_both(json, "pipeline_copies", (uint64_t)d->a->n_copies, (uint64_t)d->b->n_copies);
    sr__json_end_object(json);
}

static void put_counts(writer *w) {
    const sr_diff *d = w->diff;
    const struct { const char *key; int32_t n; } counts[] = {
        {"moved", d->n_moves},          {"moved_views", d->n_moved_views}, {"added_nodes", d->n_added_nodes},
        {"removed_nodes", d->n_removed_nodes}, {"renamed", d->n_renamed}, {"resized_nodes", d->n_resized},
        {"causes", d->n_causes},        {"places", d->n_places},           {"cut", d->n_cuts},
        {"merged", d->n_merges},        {"copies_gained", d->n_gained},    {"copies_lost", d->n_lost},
        {"copies_resized", d->n_resized_copies}};
    sr__json_key(&w->json, "counts");
    sr__json_object(&w->json);
    for (int i = 0; i < SR_COUNT(counts); i++) {
        sr__json_put_int(&w->json, counts[i].key, counts[i].n);
    }
    sr__json_end_object(&w->json);
}

static void put_peak_at(writer *w, const sr_diff_memory *m) {
    sr__json_put_inline(&w->json, "peak_at");
    sr__json_put_string(&w->json, "a", m->peak_a >= 0 ? id_of(w->diff->a, m->peak_a) : NULL);
    sr__json_put_string(&w->json, "b", m->peak_b >= 0 ? id_of(w->diff->b, m->peak_b) : NULL);
    sr__json_end_object(&w->json);
}

static void put_backends(writer *w) {
    sr__json *json = &w->json;
    sr__json_key(json, "backends");
    sr__json_array(json);
    for (int i = 0; i < w->facts->n_backends; i++) {
        const sr__diff_backend *b = &w->facts->backends[i];
        const sr_diff_memory *m = &w->diff->memory[i];
        sr__json_object(json);
        sr__json_put_string(json, "name", b->name);
        sr__json_put_bool(json, "in_a", m->a >= 0);
        sr__json_put_bool(json, "in_b", m->b >= 0);
        put_both(json, "nodes", (uint64_t)b->a.nodes, (uint64_t)b->b.nodes);
        put_both(json, "splits", (uint64_t)b->a.splits, (uint64_t)b->b.splits);
        put_both(json, "weights", b->a.weights, b->b.weights);
        put_both(json, "compute", b->a.compute, b->b.compute);
        put_both(json, "peak", b->live_a, b->live_b);
        put_peak_at(w, m);
        put_both(json, "copied_in", b->a.copied_in, b->b.copied_in);
        sr__json_end_object(json);
    }
    sr__json_end_array(json);
}

static void put_flows(writer *w) {
    sr__json *json = &w->json;
    sr__json_key(json, "pairs");
    sr__json_array(json);
    for (int i = 0; i < w->facts->n_flows; i++) {
        const sr__diff_flow *f = &w->facts->flows[i];
        sr__json_put_inline(json, NULL);
        sr__json_put_string(json, "from", f->from);
        sr__json_put_string(json, "to", f->to);
        put_both(json, "copies", (uint64_t)f->copies_a, (uint64_t)f->copies_b);
        put_both(json, "bytes", f->bytes_a, f->bytes_b);
        sr__json_end_object(json);
    }
    sr__json_end_array(json);
}

/* ---- lists ------------------------------------------------------------------------------------------------------ */

static void put_causes(writer *w, int32_t a, int32_t b) {
    sr__json_put_inline(&w->json, "cause");
    sr__json_put_string(&w->json, "a", sr_cause_name(w->diff->a->cause_of[a]));
    sr__json_put_string(&w->json, "b", sr_cause_name(w->diff->b->cause_of[b]));
    sr__json_end_object(&w->json);
}

static void put_pairs(writer *w, const char *key, const sr_diff_pair *pairs, int32_t n) {
    sr__json *json = &w->json;
    sr__json_key(json, key);
    sr__json_array(json);
    for (int32_t i = 0; i < n; i++) {
        sr__json_put_inline(json, NULL);
        sr__json_put_string(json, "a", id_of(w->diff->a, pairs[i].a));
        sr__json_put_string(json, "b", id_of(w->diff->b, pairs[i].b));
        sr__json_put_string(json, "name", w->diff->b->graph->tensors[pairs[i].b].name);
        sr__json_put_string(json, "op", sr_tensor_op_desc(&w->diff->b->graph->tensors[pairs[i].b]));
        sr__json_put_string(json, "from", backend_of(w->diff->a, pairs[i].from));
        sr__json_put_string(json, "to", backend_of(w->diff->b, pairs[i].to));
        put_causes(w, pairs[i].a, pairs[i].b);
        sr__json_end_object(json);
        sr__out_more(&w->out);
    }
    sr__json_end_array(json);
}

static void put_tensors(writer *w, const char *key, const sr_layout *layout, const int32_t *tensors, int32_t n) {
    sr__json *json = &w->json;
    sr__json_key(json, key);
    sr__json_array(json);
    for (int32_t i = 0; i < n; i++) {
        const sr_tensor *t = &layout->graph->tensors[tensors[i]];
        sr__json_put_inline(json, NULL);
        sr__json_put_string(json, "id", t->id);
        sr__json_put_string(json, "name", t->name);
        sr__json_put_string(json, "op", sr_tensor_op_desc(t));
        sr__json_put_string(json, "backend", backend_of(layout, layout->backend_of[tensors[i]]));
        sr__json_put_string(json, "cause", sr_cause_name(layout->cause_of[tensors[i]]));
        sr__json_end_object(json);
        sr__out_more(&w->out);
    }
    sr__json_end_array(json);
}

static void put_borders(writer *w, const char *key, const sr_diff_border *borders, int32_t n) {
    sr__json *json = &w->json;
    sr__json_key(json, key);
    sr__json_array(json);
    for (int32_t i = 0; i < n; i++) {
        sr__json_put_inline(json, NULL);
        put_both(json, "split", (uint64_t)borders[i].a, (uint64_t)borders[i].b);
        sr__json_put_inline(json, "node");
        sr__json_put_string(json, "a", id_of(w->diff->a, borders[i].node_a));
        sr__json_put_string(json, "b", id_of(w->diff->b, borders[i].node_b));
        sr__json_end_object(json);
        sr__json_end_object(json);
        sr__out_more(&w->out);
    }
    sr__json_end_array(json);
}

/* Inputs stand in the order of the splits. */
static int32_t next_split(const sr_layout *layout, int32_t split, int32_t input) {
    while (split + 1 < layout->n_splits && layout->splits[split + 1].inputs_begin <= input) {
        split++;
    }
    return split;
}

static void put_copies(writer *w, const char *key, bool of_b, const sr_diff_copy *copies, int32_t n) {
    sr__json *json = &w->json;
    const sr_layout *layout = of_b ? w->diff->b : w->diff->a;
    int32_t split = 0;
    sr__json_key(json, key);
    sr__json_array(json);
    for (int32_t i = 0; i < n; i++) {
        const int32_t input = of_b ? copies[i].b : copies[i].a;
        const int32_t tensor = layout->inputs[input];
        const uint64_t bytes = layout->graph->tensors[tensor].nbytes;
        split = next_split(layout, split, input);
        sr__json_put_inline(json, NULL);
        sr__json_put_string(json, "tensor", id_of(layout, tensor));
        sr__json_put_string(json, "from", backend_of(layout, layout->backend_of[tensor]));
        sr__json_put_string(json, "to", backend_of(layout, layout->splits[split].backend));
        sr__json_put_int(json, "split", split);
        if (copies[i].a >= 0 && copies[i].b >= 0) {
            put_both(json, "bytes", bytes, w->diff->b->graph->tensors[w->diff->b->inputs[copies[i].b]].nbytes);
        } else {
            put_both(json, "bytes", of_b ? 0 : bytes, of_b ? bytes : 0);
        }
        sr__json_end_object(json);
        sr__out_more(&w->out);
    }
    sr__json_end_array(json);
}

static void put_reason_side(writer *w, bool is_a, const sr_diff_reason *reason) {
    sr__json *json = &w->json;
    const sr_diff_pair *root = &w->diff->moves[reason->root];
    const sr_layout *layout = is_a ? w->diff->a : w->diff->b;
    const int32_t tensor = is_a ? root->a : root->b;
    sr__str words = {0};
    sr__put_cause_words(&words, layout, is_a ? &w->facts->a : &w->facts->b, tensor);
    sr__json_put_inline(json, is_a ? "a" : "b");
    sr__json_put_string(json, "id", id_of(layout, tensor));
    sr__json_put_string(json, "backend", backend_of(layout, layout->backend_of[tensor]));
    sr__json_put_string(json, "cause", sr_cause_name(layout->cause_of[tensor]));
    sr__json_put_string(json, "words", sr__str_text(&words));
    sr__json_put_string(json, "not_elsewhere", is_a ? reason->not_to : reason->not_from);
    sr__json_end_object(json);
    w->out.text.failed |= words.failed;
    sr__str_free(&words);
}

static void put_reasons(writer *w) {
    sr__json *json = &w->json;
    sr__json_key(json, "reasons");
    sr__json_array(json);
    for (int i = 0; i < w->diff->n_reasons; i++) {
        const sr_diff_reason *r = &w->diff->reasons[i];
        sr__json_object(json);
        sr__json_put_string(json, "from", backend_of(w->diff->a, r->from));
        sr__json_put_string(json, "to", backend_of(w->diff->b, r->to));
        sr__json_put_int(json, "nodes", r->n_nodes);
        sr__json_put_int(json, "views", r->n_views);
        sr__json_put_string(json, "first", id_of(w->diff->a, w->diff->moves[r->first].a));
        put_reason_side(w, true, r);
        put_reason_side(w, false, r);
        sr__json_end_object(json);
    }
    sr__json_end_array(json);
}

/* ---- a run ------------------------------------------------------------------------------------------------------ */

static void put_side(sr__json *json, const char *key, const sr_run *run, const sr_error *error) {
    sr__json_key(json, key);
    if (run == NULL) {
        sr__json_null(json);
        return;
    }
    sr__json_put_inline(json, NULL);
    sr__json_put_string(json, "graph", run->graph_name);
    sr__json_put_string(json, "params", run->params_text);
    sr__json_put_bool(json, "reserve", run->reserve);
    if (error != NULL) {
        sr__json_put_string(json, "status", sr_status_name(error->status));
        if (error->status != SR_OK) {
            sr__json_put_string(json, "message", sr_error_message(error));
        }
    }
    sr__json_end_object(json);
}

static void put_comparison(writer *w) {
    const sr_diff *d = w->diff;
    put_totals(w);
    put_counts(w);
    put_backends(w);
    put_flows(w);
    put_reasons(w);
    put_pairs(w, "moved", d->moves, d->n_moves);
    put_pairs(w, "places", d->places, d->n_places);
    put_tensors(w, "removed", d->a, d->removed, d->n_removed);
    put_tensors(w, "added", d->b, d->added, d->n_added);
    put_pairs(w, "renamed", d->renamed, d->n_renamed);
    put_borders(w, "cut", d->cuts, d->n_cuts);
    put_borders(w, "merged", d->merges, d->n_merges);
    put_copies(w, "copies_gained", true, d->gained, d->n_gained);
    put_copies(w, "copies_lost", false, d->lost, d->n_lost);
    put_copies(w, "copies_resized", false, d->resized, d->n_resized_copies);
    put_pairs(w, "causes", d->causes, d->n_causes);
}

static sr_status put_diff(writer *w, const sr_diff *diff, sr_error *err) {
    sr__str words = {0};
    sr__diff_facts facts;
    sr_status status = SR_OK;
    sr__put_diff_summary(&words, diff);
    sr__json_put_string(&w->json, "summary", sr__str_text(&words));
    w->out.text.failed |= words.failed;
    sr__str_free(&words);
    if (diff->compared) {
        status = sr__diff_facts_init(&facts, diff, err);
        if (status == SR_OK) {
            w->diff = diff;
            w->facts = &facts;
            put_comparison(w);
            sr__diff_facts_free(&facts);
        }
    }
    return status;
}

sr_status sr_report_diff_json_run(const sr_diff_result *result, bool first, sr_sink *sink, sr_error *err) {
    writer w;
    sr_status status = SR_OK;
    writer_init(&w, sink);
    sr__json_enter_runs(&w.json, !first);
    sr__json_object(&w.json);
    sr__json_put_int(&w.json, "index", (result->run_a != NULL ? result->run_a : result->run_b)->index);
    sr__json_put_bool(&w.json, "differs", result->diff == NULL || result->diff->differs);
    put_side(&w.json, "a", result->run_a, result->error_a);
    put_side(&w.json, "b", result->run_b, result->error_b);
    if (result->diff != NULL) {
        status = put_diff(&w, result->diff, err);
    }
    sr__json_end_object(&w.json);
    const sr_status written = writer_end(&w, status == SR_OK ? err : NULL);
    return status != SR_OK ? status : written;
}
