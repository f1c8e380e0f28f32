/*
 * report_html_graph.c - what the page shows of a run beside its JSON report.
 *
 * Layer: report.  Explanations of all tensors say the same things over and over: every text stands once in "texts",
 * and what refers to it has its number.  Tensors are numbered as in the graph; -1 is none, as it is for backends.
 */
#include "report/report_html.h"

/* Texts by number.  The arena holds them, since the map borrows its keys. */
typedef struct texts {
    sr__map map;
    sr__arena arena;
    const char **items;
    size_t cap;
    int32_t n;
    bool failed;
} texts;

typedef struct page {
    sr__json json;
    sr__out *out;
    const sr_run_result *result;
    const sr_layout *layout;  /* NULL: the run was not scheduled */
    const sr_graph *graph;
    sr__facts facts;
    bool has_facts;
    texts texts;
    int32_t *split_of;        /* by tensor */
} page;

static void put_flag(page *p, const char *key, bool value) {
    if (value) {
        sr__json_put_bool(&p->json, key, true);
    }
}

/* ---- texts ----------------------------------------------------------------------------------------------------- */

static int32_t number_of(texts *t, const char *text) {
    int32_t number = sr__map_get(&t->map, text, -1);
    if (number >= 0) {
        return number;
    }
    const char *kept = sr__arena_strdup(&t->arena, text);
    if (kept == NULL || !sr__grow(&t->items, &t->cap, (size_t)t->n + 1, sizeof(*t->items)) ||
        !sr__map_put(&t->map, kept, t->n)) {
        t->failed = true;
        return 0;
    }
    t->items[t->n] = kept;
    return t->n++;
}

static void put_text(page *p, const char *key, const char *text) {
    if (text != NULL && text[0] != '\0') {
        sr__json_put_int(&p->json, key, number_of(&p->texts, text));
    }
}

static void put_texts(page *p) {
    sr__json_key(&p->json, "texts");
    sr__json_array(&p->json);
    for (int32_t i = 0; i < p->texts.n; i++) {
        sr__json_string(&p->json, p->texts.items[i]);
        sr__out_more(p->out);
    }
    sr__json_end_array(&p->json);
}

static void texts_free(texts *t) {
    sr__map_free(&t->map);
    sr__arena_free(&t->arena);
    sr__free(t->items);
}

/* ---- a tensor -------------------------------------------------------------------------------------------------- */

static void put_shape(page *p, const sr_tensor *t) {
    sr__str shape = {0};
    sr__put_shape(&shape, t);
    put_text(p, "shape", sr__str_text(&shape));
    p->out->text.failed |= shape.failed;
    sr__str_free(&shape);
}

static void put_sources(page *p, const sr_tensor *t) {
    if (t->n_src == 0) {
        return;
    }
    sr__json_key(&p->json, "src");
    sr__json_array(&p->json);
    for (int j = 0; j < t->n_src; j++) {
        sr__json_int(&p->json, p->graph->srcs[t->src_begin + j]);
    }
    sr__json_end_array(&p->json);
    if (p->layout == NULL || p->layout->view.srcs == NULL) {
        return;
    }
    /* those of which the split that runs the node got a copy */
    bool any = false;
    for (int j = 0; j < t->n_src; j++) {
        if (p->layout->view.srcs[t->src_begin + j] >= p->graph->n_tensors) {
            if (!any) {
                sr__json_key(&p->json, "copied");
                sr__json_array(&p->json);
                any = true;
            }
            sr__json_int(&p->json, j);
        }
    }
    if (any) {
        sr__json_end_array(&p->json);
    }
}

static void put_place(page *p, int32_t tensor) {
    const sr_layout *layout = p->layout;
    if (layout == NULL) {
        return;
    }
    if (layout->backend_of[tensor] >= 0) {
        sr__json_put_int(&p->json, "on", layout->backend_of[tensor]);
    }
    if (layout->cause_of[tensor] != SR_CAUSE_NONE) {
        put_text(p, "cause", sr_cause_name(layout->cause_of[tensor]));
    }
    if (p->split_of[tensor] >= 0) {
        sr__json_put_int(&p->json, "split", p->split_of[tensor]);
    }
    if (p->has_facts) {
        sr__str words = {0};
        sr__put_cause_words(&words, layout, &p->facts, tensor);
        put_text(p, "words", sr__str_text(&words));
        p->out->text.failed |= words.failed;
        sr__str_free(&words);
    }
}

/* ---- its history ----------------------------------------------------------------------------------------------- */

/* [pass, outcome, to, cause, because, text] */
static void put_step(page *p, const sr_explain_step *step) {
    sr__json *json = &p->json;
    sr__json_array(json);
    sr__json_int(json, step->pass);
    sr__json_string(json, sr_step_kind_name(step->kind));
    sr__json_int(json, step->to);
    sr__json_int(json, number_of(&p->texts, sr_cause_name(step->cause)));
    sr__json_int(json, step->because);
    sr__json_int(json, number_of(&p->texts, step->text));
    sr__json_end_array(json);
}

static sr_status put_history(page *p, int32_t tensor, sr_error *err) {
    sr__json *json = &p->json;
    sr_explanation x = {0};
    const sr_status status = sr_explain(p->result->steps, tensor, &x, err);
    if (status != SR_OK) {
        sr_explanation_clear(&x);
        return status;
    }
    sr__json_key(json, "steps");
    sr__json_array(json);
    for (int i = 0; i < x.n_steps; i++) {
        put_step(p, &x.steps[i]);
    }
    sr__json_end_array(json);
    sr__json_key(json, "why_not"); /* [backend, tensor, text] */
    sr__json_array(json);
    for (int i = 0; i < x.n_why_not; i++) {
        sr__json_array(json);
        sr__json_int(json, x.why_not[i].backend);
        sr__json_int(json, x.why_not[i].tensor);
        sr__json_int(json, number_of(&p->texts, x.why_not[i].text));
        sr__json_end_array(json);
    }
    sr__json_end_array(json);
    if (x.n_hints > 0) {
        sr__json_key(json, "hints");
        sr__json_array(json);
        for (int i = 0; i < x.n_hints; i++) {
            sr__json_int(json, number_of(&p->texts, x.hints[i]));
        }
        sr__json_end_array(json);
    }
    sr_explanation_clear(&x);
    return SR_OK;
}

static sr_status put_tensor(page *p, int32_t tensor, sr_error *err) {
    const sr_tensor *t = &p->graph->tensors[tensor];
    const sr_buffer *buffer = sr__buffer_of(p->graph, t);
    sr_status status = SR_OK;
    sr__json_object(&p->json);
    sr__json_put_string(&p->json, "id", t->id);
    if (strcmp(t->id, t->name) != 0) {
        sr__json_put_string(&p->json, "name", t->name);
    }
    if (t->op != SR_OP_NONE) {
        put_text(p, "op", sr_tensor_op_desc(t));
    }
    put_shape(p, t);
    sr__json_put_int(&p->json, "bytes", (int64_t)t->nbytes);
    if (t->view_src >= 0) {
        sr__json_put_int(&p->json, "view", t->view_src);
    }
    if (buffer != NULL) {
        put_text(p, "buffer", buffer->name != NULL ? buffer->name : buffer->type->name);
        put_flag(p, "weights", buffer->usage == SR_USAGE_WEIGHTS);
    }
    put_flag(p, "output", sr__is_output(p->graph, tensor));
    put_sources(p, t);
    put_place(p, tensor);
    if (p->result->steps != NULL) {
        status = put_history(p, tensor, err);
    }
    sr__json_end_object(&p->json);
    sr__out_more(p->out);
    return status;
}

/* ---- lists ----------------------------------------------------------------------------------------------------- */

static void put_ids(page *p, const char *key, const int32_t *ids, int32_t n) {
    sr__json_key(&p->json, key);
    sr__json_array(&p->json);
    for (int32_t i = 0; i < n; i++) {
        sr__json_int(&p->json, ids[i]);
    }
    sr__json_end_array(&p->json);
}

static sr_status put_tensors(page *p, sr_error *err) {
    sr_status status = SR_OK;
    put_ids(p, "nodes", p->graph->nodes, p->graph->n_nodes);
    put_ids(p, "leafs", p->graph->leafs, p->graph->n_leafs);
    sr__json_key(&p->json, "tensors");
    sr__json_array(&p->json);
    for (int32_t i = 0; i < p->graph->n_tensors && status == SR_OK; i++) {
        status = put_tensor(p, i, err);
    }
    sr__json_end_array(&p->json);
    return status;
}

/* By split: why it starts although its backend is that of the split before. */
static void put_split_words(page *p) {
    sr__json_key(&p->json, "split_words");
    sr__json_array(&p->json);
    for (int32_t i = 0; i < p->layout->n_splits; i++) {
        sr__str words = {0};
        sr__put_split_words(&words, p->layout, &p->layout->splits[i]);
        const char *text = sr__str_text(&words);
        sr__json_string(&p->json, text + strspn(text, " "));
        p->out->text.failed |= words.failed;
        sr__str_free(&words);
    }
    sr__json_end_array(&p->json);
}

static void put_totals(page *p) {
    sr__json_put_int(&p->json, "copied", (int64_t)p->facts.copied);
    sr__json_put_int(&p->json, "views", p->facts.n_views);
    sr__json_key(&p->json, "totals");
    sr__json_array(&p->json);
    for (int b = 0; b < p->layout->n_backends; b++) {
        const sr__backend_total *total = &p->facts.backends[b];
        sr__json_object(&p->json);
        sr__json_put_string(&p->json, "backend", p->layout->backends[b]->name);
        sr__json_put_int(&p->json, "nodes", total->nodes);
        sr__json_put_int(&p->json, "splits", total->splits);
        sr__json_put_int(&p->json, "weights", (int64_t)total->weights);
        sr__json_put_int(&p->json, "compute", (int64_t)total->compute);
        sr__json_put_int(&p->json, "copied_in", (int64_t)total->copied_in);
        sr__json_end_object(&p->json);
    }
    sr__json_end_array(&p->json);
    put_split_words(p);
}

/* ---- what an execution left ------------------------------------------------------------------------------------ */

static bool append(void *user, const char *text, size_t length) {
    sr__str_append(user, text, length);
    return !((sr__str *)user)->failed;
}

static sr_status put_printed(page *p, sr_error *err) {
    sr_status status = SR_OK;
    if (p->result->n_values == 0) {
        return SR_OK;
    }
    sr__json_key(&p->json, "printed");
    sr__json_array(&p->json);
    for (int i = 0; i < p->result->n_values && status == SR_OK; i++) {
        const sr_report_options options = {.width = 100};
        sr__str text = {0};
        sr_sink sink = {.write = append, .user = &text};
        status = sr_report_value(p->graph, p->result->values[i], &options, &sink, err);
        sr__json_object(&p->json);
        sr__json_put_string(&p->json, "id", p->graph->tensors[sr_value_tensor(p->result->values[i])].id);
        sr__json_put_string(&p->json, "text", sr__str_text(&text));
        sr__json_end_object(&p->json);
        sr__str_free(&text);
    }
    sr__json_end_array(&p->json);
    return status;
}

/* Times in nanoseconds from the beginning of the execution. */
static void put_event(page *p, const sr_trace_event *e, uint64_t origin) {
    sr__json_object(&p->json);
    sr__json_put_string(&p->json, "kind", sr_trace_kind_name(e->kind));
    sr__json_put_string(&p->json, "track", e->track != NULL ? e->track : "");
    sr__json_put_string(&p->json, "name", e->name != NULL ? e->name : "");
    if (e->kind == SR_TRACE_COPY) {
        sr__json_put_string(&p->json, "from", e->from != NULL ? e->from : "");
        sr__json_put_string(&p->json, "to", e->to != NULL ? e->to : "");
        sr__json_put_int(&p->json, "bytes", (int64_t)e->bytes);
    }
    if (e->kind == SR_TRACE_COMPUTE || e->kind == SR_TRACE_SUBMIT) {
        sr__json_put_int(&p->json, "nodes", e->n_nodes);
    }
    sr__json_put_int(&p->json, "split", e->split);
    sr__json_put_int(&p->json, "begin", (int64_t)(e->begin - origin));
    sr__json_put_int(&p->json, "end", (int64_t)(e->end - origin));
    if (e->critical) {
        sr__json_put_bool(&p->json, "critical", true);
    }
    sr__json_end_object(&p->json);
    sr__out_more(p->out);
}

/* Events end before the execution that they belong to does, and it stands last. */
static void put_timeline(page *p) {
    size_t n = 0;
    const bool told = p->result->trace != NULL && (p->result->estimate != NULL ||
                                                (p->layout != NULL && sr__was_executed(p->layout)));
    const sr_trace_event *events = told ? sr_trace_events(p->result->trace, &n) : NULL;
    size_t run = n;
    while (run > 0 && events[run - 1].kind != SR_TRACE_RUN) {
        run--;
    }
    if (run == 0) {
        return;
    }
    const uint64_t origin = events[run - 1].begin;
    sr__json_key(&p->json, "timeline");
    sr__json_array(&p->json);
    for (size_t i = 0; i < run; i++) {
        if (events[i].begin >= origin) {
            put_event(p, &events[i], origin);
        }
    }
    sr__json_end_array(&p->json);
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

static sr_status prepare(page *p, sr_error *err) {
    const sr_layout *layout = p->layout;
    sr_status status = SR_OK;
    p->split_of = sr__malloc(((size_t)p->graph->n_tensors + 1) * sizeof(*p->split_of));
    if (p->split_of == NULL) {
        return sr__fail_memory(err);
    }
    for (int32_t i = 0; i < p->graph->n_tensors; i++) {
        p->split_of[i] = -1;
    }
    if (layout != NULL && sr_layout_has_splits(layout)) {
        status = sr__facts_init(&p->facts, layout, err);
        p->has_facts = status == SR_OK;
        for (int32_t i = 0; i < layout->n_splits; i++) {
            for (int32_t n = layout->splits[i].start; n < layout->splits[i].end; n++) {
                p->split_of[p->graph->nodes[n]] = i;
            }
        }
    }
    return status;
}

static void put_opened(page *p) {
    if (p->result->n_explanations > 0) {
        sr__json_put_int(&p->json, "open", p->result->explanations[0].tensor);
    }
}

/* A run that failed before its schedule began leaves the layout of another one. */
static bool is_scheduled(const sr_run_result *result) {
    return result->layout != NULL && result->run->graph != NULL && result->layout->graph == result->run->graph &&
           result->layout->backend_of != NULL;
}

sr_status sr__html_graph(sr__out *out, const sr_run_result *result, sr_error *err) {
    page p = {.out = out, .result = result, .graph = result->run->graph,
              .layout = is_scheduled(result) ? result->layout : NULL};
    sr_status status = SR_OK;
    sr__arena_init(&p.texts.arena, 0);
    sr__json_init(&p.json, &out->text, false);
    sr__json_object(&p.json);
    sr__json_put_string(&p.json, "type", "graph");
    if (p.graph != NULL) {
        SR_TRY(prepare(&p, err));
        if (p.has_facts) {
            put_totals(&p);
        }
        put_opened(&p);
        SR_TRY(put_tensors(&p, err));
        SR_TRY(put_printed(&p, err));
        put_timeline(&p);
    }
    put_texts(&p);
    sr__json_end_object(&p.json);
    if (p.texts.failed) {
        status = sr__fail_memory(err);
    }
done:
    sr__facts_free(&p.facts);
    sr__free(p.split_of);
    texts_free(&p.texts);
    sr__json_free(&p.json);
    return status;
}

sr_status sr__html_head(sr__out *out, const sr_run_result *result, sr_error *err) {
    const sr_run *run = result->run;
    page p = {.out = out, .result = result, .graph = run->graph,
              .layout = is_scheduled(result) ? result->layout : NULL};
    sr_status status = SR_OK;
    sr__json_init(&p.json, &out->text, false);
    sr__json_object(&p.json);
    sr__json_put_int(&p.json, "index", run->index);
    sr__json_put_string(&p.json, "graph", run->graph_name);
    sr__json_put_string(&p.json, "params", run->params_text);
    put_flag(&p, "reserve", run->reserve);
    sr__json_put_string(&p.json, "status", sr_status_name(result->error->status));
    sr__json_put_int(&p.json, "findings", result->findings != NULL ? result->findings->n : 0);
    sr__json_put_int(&p.json, "nodes", p.graph != NULL ? p.graph->n_nodes : 0);
    if (p.layout != NULL && sr_layout_has_splits(p.layout)) {
        SR_TRY(sr__facts_init(&p.facts, p.layout, err));
        sr__json_put_int(&p.json, "splits", p.layout->n_splits);
        sr__json_put_int(&p.json, "copied", (int64_t)p.facts.copied);
    }
    if (result->reallocation != NULL) {
        put_flag(&p, "replanned", result->reallocation->replanned);
        put_flag(&p, "unexpected", p.layout != NULL && p.layout->unexpected);
        sr__json_put_string(&p.json, "reason", result->reallocation->reason);
    }
    sr__json_end_object(&p.json);
done:
    sr__facts_free(&p.facts);
    sr__json_free(&p.json);
    return status;
}
