/*
 * log_write.c - the description of what was read from a log.
 *
 * Layer: describe.  The reference has no counterpart.
 *
 * Every tensor is as many bytes as the log says at least.  Nodes, and leafs that nothing else would bring there, are
 * user assignments.  What a whole schedule showed is its `expect`, so that --check compares the two.
 */
#include "describe/log.h"

#include "sched_run/graph.h"

typedef struct writer {
    sr__import *im;
    sr__json json;
    bool failed;
} writer;

static const char *text_of(writer *w, sr__span span) {
    const char *text = sr__arena_strndup(&w->im->arena, span.text, (size_t)span.length);
    w->failed = w->failed || text == NULL;
    return text != NULL ? text : "";
}

static void put_text(writer *w, const char *key, const char *value) {
    sr__json_key(&w->json, key);
    sr__json_string(&w->json, value);
}

static void put_number(writer *w, const char *key, int64_t value) {
    sr__json_key(&w->json, key);
    sr__json_int(&w->json, value);
}

static void open_line(writer *w) {
    sr__json_inline(&w->json);
    sr__json_object(&w->json);
}

/* ---- the machine ------------------------------------------------------------------------------------------------ */

static const char *backend_name(writer *w, int b) { return text_of(w, w->im->machine.backends[b].name); }

static const char *type_name(writer *w, const sr__log_buffer *buffer) {
    if (buffer->readers == 0) {
        return backend_name(w, buffer->backend);
    }
    sr__str s = {0};
    sr__str_printf(&s, "%s:shared%d", backend_name(w, buffer->backend), buffer->type);
    const char *name = s.failed ? NULL : sr__arena_strdup(&w->im->arena, s.data);
    sr__str_free(&s);
    w->failed = w->failed || name == NULL;
    return name != NULL ? name : "";
}

static const char *buffer_name(writer *w, int i) {
    const sr__log_buffer *buffer = &w->im->machine.buffers[i];
    sr__str s = {0};
    sr__str_printf(&s, "%s.%s", type_name(w, buffer), buffer->weights ? "weights" : "state");
    const char *name = s.failed ? NULL : sr__arena_strdup(&w->im->arena, s.data);
    sr__str_free(&s);
    w->failed = w->failed || name == NULL;
    return name != NULL ? name : "";
}

/* The first buffer of a type of its own; they share it. */
static bool is_first_of_type(const sr__log_machine *machine, int i) {
    for (int k = 0; k < i; k++) {
        if (machine->buffers[k].type == machine->buffers[i].type) {
            return false;
        }
    }
    return machine->buffers[i].readers != 0;
}

static void put_accepts(writer *w, int b) {
    const sr__log_machine *machine = &w->im->machine;
    bool any = false;
    for (int s = 0; s < (int)machine->n_backends; s++) {
        any = any || (s != b && machine->accepts[s] >> b & 1);
    }
    for (int i = 0; i < (int)machine->n_buffers; i++) {
        any = any || (is_first_of_type(machine, i) && machine->buffers[i].readers >> b & 1);
    }
    if (!any) {
        return;
    }
    sr__json_key(&w->json, "accepts");
    sr__json_array(&w->json);
    for (int s = 0; s < (int)machine->n_backends; s++) {
        if (s != b && machine->accepts[s] >> b & 1) {
            sr__json_string(&w->json, backend_name(w, s));
        }
    }
    for (int i = 0; i < (int)machine->n_buffers; i++) {
        if (is_first_of_type(machine, i) && machine->buffers[i].readers >> b & 1) {
            sr__json_string(&w->json, type_name(w, &machine->buffers[i]));
        }
    }
    sr__json_end_array(&w->json);
}

static void put_backend(writer *w, int b) {
    const sr__log_machine *machine = &w->im->machine;
    open_line(w);
    put_text(w, "name", backend_name(w, b));
    if (b == machine->last && sr__span_is(machine->backends[b].name, "CPU")) {
        put_text(w, "device", "cpu");
    } else {
        put_text(w, "device", "sim");
        if (b == machine->last) {
            put_text(w, "type", "cpu");
        } else if (sr__span_starts(machine->backends[b].name, "BLAS")) {
            put_text(w, "type", "accel");
        }
    }
    put_accepts(w, b);
    sr__json_end_object(&w->json);
}

static void put_machine(writer *w) {
    const sr__log_machine *machine = &w->im->machine;
    sr__json_key(&w->json, "backends");
    sr__json_array(&w->json);
    for (int rank = 0; rank < (int)machine->n_backends; rank++) {
        for (int b = 0; b < (int)machine->n_backends; b++) {
            if (machine->backends[b].rank == rank) {
                put_backend(w, b);
            }
        }
    }
    sr__json_end_array(&w->json);
    if (machine->n_types > 0) {
        sr__json_key(&w->json, "buffer_types");
        sr__json_object(&w->json);
        for (int i = 0; i < (int)machine->n_buffers; i++) {
            if (is_first_of_type(machine, i)) {
                sr__json_key(&w->json, type_name(w, &machine->buffers[i]));
                open_line(w);
                sr__json_end_object(&w->json);
            }
        }
        sr__json_end_object(&w->json);
    }
    if (machine->n_buffers > 0) {
        sr__json_key(&w->json, "buffers");
        sr__json_object(&w->json);
        for (int i = 0; i < (int)machine->n_buffers; i++) {
            sr__json_key(&w->json, buffer_name(w, i));
            open_line(w);
            put_text(w, "type", type_name(w, &machine->buffers[i]));
            put_text(w, "usage", machine->buffers[i].weights ? "weights" : "any");
            sr__json_end_object(&w->json);
        }
        sr__json_end_object(&w->json);
    }
}

static void put_scheduler(writer *w) {
    const sr__log_machine *machine = &w->im->machine;
    if (machine->n_copies == 1 && machine->max_split_inputs == 0) {
        return;
    }
    sr__json_key(&w->json, "scheduler");
    open_line(w);
    if (machine->n_copies > 1) {
        put_number(w, "copies", machine->n_copies);
    }
    if (machine->max_split_inputs > 0) {
        put_number(w, "max_split_inputs", machine->max_split_inputs);
    }
    sr__json_end_object(&w->json);
}

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

/* The name, if no other tensor of the graph has it already, else with a number that tells it apart. */
static const char *make_id(writer *w, sr__map *ids, const sr__log_item *item, int32_t index) {
    static const char *const kinds[] = {"leaf", "node", "view"};
    const char *name = text_of(w, item->name);
    if (name[0] != '\0' && sr__map_get(ids, name, -1) < 0) {
        return name;
    }
    const char *id = NULL;
    sr__str s = {0};
    for (int tries = 0; id == NULL && !s.failed; tries++) {
        const int32_t number = item->position >= 0 ? item->position : index;
        sr__str_clear(&s);
        sr__str_printf(&s, "%s@%d", name[0] != '\0' && item->kind != SR__ITEM_LEAF ? name : kinds[item->kind], number);
        if (tries > 0) {
            sr__str_printf(&s, ".%d", tries);
        }
        if (!s.failed && sr__map_get(ids, s.data, -1) < 0) {
            id = sr__arena_strdup(&w->im->arena, s.data);
            w->failed = w->failed || id == NULL;
            id = id != NULL ? id : "";
        }
    }
    sr__str_free(&s);
    w->failed = w->failed || id == NULL;
    return id != NULL ? id : "";
}

static void make_ids(writer *w, sr__log_graph *graph) {
    sr__map ids = {0};
    for (int32_t i = 0; i < (int32_t)graph->n_items && !w->failed; i++) {
        graph->items[i].id = make_id(w, &ids, &graph->items[i], i);
        w->failed = w->failed || !sr__map_put(&ids, graph->items[i].id, i);
    }
    sr__map_free(&ids);
}

/* Whether a leaf comes to its backend without being assigned to it. */
static bool comes_by_itself(const sr__log_machine *machine, const sr__log_item *item) {
    if (item->kind != SR__ITEM_LEAF || item->buffer < 0) {
        return item->kind == SR__ITEM_LEAF && item->is_input && item->backend == machine->last;
    }
    const sr__log_buffer *buffer = &machine->buffers[item->buffer];
    const uint64_t readers = buffer->readers != 0 ? buffer->readers : machine->accepts[item->backend];
    for (int b = 0; b < (int)machine->n_backends; b++) {
        if (readers >> b & 1 && machine->backends[b].rank < machine->backends[item->backend].rank) {
            return false;
        }
    }
    return true;
}

static void put_identity(writer *w, const sr__log_item *item) {
    const char *name = text_of(w, item->name);
    if (strcmp(item->id, name) != 0) {
        put_text(w, "id", item->id);
    }
    put_text(w, "name", name);
}

static void put_place(writer *w, const sr__log_item *item) {
    const bool is_unnamed_view = item->kind == SR__ITEM_VIEW && !item->named;
    const bool is_pin = item->kind != SR__ITEM_LEAF;
    put_text(w, "type", "i8");
    sr__json_key(&w->json, "ne");
    sr__json_array(&w->json);
    sr__json_int(&w->json, is_unnamed_view ? 1 : item->bytes);
    sr__json_end_array(&w->json);
    if (item->kind == SR__ITEM_LEAF && item->is_input && item->buffer < 0 && item->backend == w->im->machine.last) {
        sr__json_key(&w->json, "flags");
        sr__json_array(&w->json);
        sr__json_string(&w->json, "input");
        sr__json_end_array(&w->json);
    }
    if (item->buffer >= 0) {
        put_text(w, "buffer", buffer_name(w, item->buffer));
    }
    if (!is_unnamed_view && !comes_by_itself(&w->im->machine, item) && !(is_pin && w->im->options->no_pins)) {
        put_text(w, "backend", backend_name(w, item->backend));
    }
}

/* A name that a column of 10 cut: the op that begins so, if there is one. */
static const char *op_name(writer *w, sr__span op) {
    static const char *const usual[] = {"FLASH_ATTN_EXT", "MUL_MAT_ID"};
    const char *name = text_of(w, op);
    const char *found = NULL;
    int kind;
    if (op.length < 10 || sr_op_find(name, &kind) >= 0) {
        return name;
    }
    for (int i = 0; i < SR_COUNT(usual); i++) {
        if (strncmp(usual[i], name, (size_t)op.length) == 0) {
            return usual[i];
        }
    }
    for (int i = 0; i < SR_OP_COUNT; i++) {
        const sr_op_info *info = sr_op_get(i);
        if (info != NULL && strncmp(info->name, name, (size_t)op.length) == 0) {
            if (found != NULL) {
                return name;
            }
            found = info->name;
        }
    }
    return found != NULL ? found : name;
}

static void put_leaf(writer *w, const sr__log_item *item) {
    open_line(w);
    put_identity(w, item);
    put_place(w, item);
    sr__json_end_object(&w->json);
}

/* Weights that were copied to the node were offloaded, or else the node would be where they are. */
static bool is_offloaded(const sr__log_graph *graph, const sr__log_item *item, const sr__log_node *node) {
    for (int j = 0; j < node->n_srcs; j++) {
        const int32_t source = sr__log_src(graph, node, j);
        if (source >= 0 && graph->items[source].weight && graph->items[source].copied >> item->backend & 1) {
            return true;
        }
    }
    return false;
}

static void put_node(writer *w, const sr__log_graph *graph, const sr__log_item *item) {
    const sr__log_node *node = item->log_node >= 0 ? &w->im->log.nodes[item->log_node] : NULL;
    open_line(w);
    put_identity(w, item);
    put_text(w, "op", node != NULL ? op_name(w, node->op) : "VIEW");
    sr__json_key(&w->json, "src");
    sr__json_array(&w->json);
    for (int j = 0; node != NULL && j < node->n_srcs; j++) {
        const int32_t source = sr__log_src(graph, node, j);
        sr__json_string(&w->json, source == SR_SELF ? item->id : graph->items[source].id);
    }
    if (node == NULL) {
        sr__json_string(&w->json, graph->items[item->parent].id);
    }
    sr__json_end_array(&w->json);
    put_place(w, item);
    if (node != NULL && node->compute == 0) {
        sr__json_key(&w->json, "compute");
        sr__json_bool(&w->json, false);
    }
    if (node != NULL && w->im->options->no_pins && is_offloaded(graph, item, node)) {
        sr__json_key(&w->json, "offloaded_by");
        sr__json_array(&w->json);
        sr__json_string(&w->json, backend_name(w, item->backend));
        sr__json_end_array(&w->json);
    }
    sr__json_end_object(&w->json);
}

static void put_graph(writer *w, sr__log_graph *graph) {
    make_ids(w, graph);
    sr__json_object(&w->json);
    sr__json_key(&w->json, "tensors");
    sr__json_array(&w->json);
    for (size_t i = 0; i < graph->n_items && !w->failed; i++) {
        if (graph->items[i].kind == SR__ITEM_LEAF) {
            put_leaf(w, &graph->items[i]);
        }
    }
    sr__json_end_array(&w->json);
    sr__json_key(&w->json, "nodes");
    sr__json_array(&w->json);
    for (size_t k = 0; k < graph->n_order && !w->failed; k++) {
        put_node(w, graph, &graph->items[graph->order[k]]);
    }
    sr__json_end_array(&w->json);
    sr__json_end_object(&w->json);
}

/* ---- runs ------------------------------------------------------------------------------------------------------- */

/* Whether the log has all of a schedule, so that the splits must come out as it says. */
static bool is_whole(const sr__import *im, const sr__log_graph *graph) {
    const sr__log_schedule *s = &im->log.schedules[graph->schedule];
    bool whole = !s->headless && s->lost_splits == 0 && s->n_nodes > 0 && graph->n_unread == 0 &&
                 graph->n_gone == 0 && graph->n_lost == 0 && graph->n_uncut == 0;
    for (int32_t i = s->splits_begin; i < s->splits_begin + s->n_splits; i++) {
        const sr__log_split *split = &im->log.splits[i];
        whole = whole && split->announced == split->n_inputs && split->n_nodes > 0;
    }
    return whole;
}

static void put_splits(writer *w, const sr__log_graph *graph) {
    const sr__log *log = &w->im->log;
    const sr__log_schedule *s = &log->schedules[graph->schedule];
    size_t k = 0;
    put_number(w, "n_splits", s->n_splits);
    sr__json_key(&w->json, "splits");
    sr__json_array(&w->json);
    for (int32_t i = s->splits_begin; i < s->splits_begin + s->n_splits; i++) {
        const sr__log_split *split = &log->splits[i];
        while (k < graph->n_order && i > s->splits_begin &&
               graph->items[graph->order[k]].log_node != split->nodes_begin) {
            k++;
        }
        open_line(w);
        put_text(w, "backend", text_of(w, split->backend));
        put_number(w, "start", i > s->splits_begin ? (int64_t)k : 0);
        sr__json_key(&w->json, "inputs");
        sr__json_array(&w->json);
        for (int32_t j = split->inputs_begin; j < split->inputs_begin + split->n_inputs; j++) {
            sr__json_string(&w->json, text_of(w, log->inputs[j].name));
        }
        sr__json_end_array(&w->json);
        sr__json_end_object(&w->json);
    }
    sr__json_end_array(&w->json);
}

static const char *graph_name(writer *w, int32_t graph) {
    sr__str s = {0};
    sr__str_printf(&s, "g%d", (int)w->im->graphs[graph].schedule);
    const char *name = s.failed ? NULL : sr__arena_strdup(&w->im->arena, s.data);
    sr__str_free(&s);
    w->failed = w->failed || name == NULL;
    return name != NULL ? name : "";
}

static void put_runs(writer *w) {
    const sr__log *log = &w->im->log;
    sr__json_key(&w->json, "runs");
    sr__json_array(&w->json);
    for (size_t i = 0; i < log->n_schedules; i++) {
        const int32_t g = log->schedules[log->schedules[i].same_as].graph;
        if (g < 0 || (w->im->options->only >= 0 && w->im->options->only != (int)i)) {
            continue;
        }
        sr__json_inline(&w->json);
        sr__json_object(&w->json);
        put_text(w, "graph", graph_name(w, g));
        if (log->schedules[i].reserve) {
            sr__json_key(&w->json, "reserve");
            sr__json_bool(&w->json, true);
        }
        const bool is_first = w->im->graphs[g].schedule == (int32_t)i || w->im->options->only >= 0;
        if (is_first && !w->im->options->no_pins && is_whole(w->im, &w->im->graphs[g])) {
            sr__json_key(&w->json, "expect");
            sr__json_object(&w->json);
            put_splits(w, &w->im->graphs[g]);
            sr__json_end_object(&w->json);
        }
        sr__json_end_object(&w->json);
    }
    sr__json_end_array(&w->json);
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static void put_notes(writer *w) {
    const char *p = sr__str_text(&w->im->notes);
    sr__json_key(&w->json, "_import");
    sr__json_array(&w->json);
    while (*p != '\0') {
        const char *newline = strchr(p, '\n');
        sr__json_string(&w->json, text_of(w, (sr__span){p, (int32_t)(newline - p)}));
        p = newline + 1;
    }
    sr__json_end_array(&w->json);
}

sr_status sr__log_write(sr__import *im, char **out_text) {
    sr__str text = {0};
    writer w = {.im = im};
    sr__json_init(&w.json, &text, true);
    sr__json_object(&w.json);
    put_number(&w, "sched_run", 1);
    put_text(&w, "name", im->name);
    put_text(&w, "description",
             "imported from a debug log: splits, backends, names and sizes are the log's, the rest is inferred");
    put_notes(&w);
    put_text(&w, "unknown_ops", "all");
    put_scheduler(&w);
    put_machine(&w);
    sr__json_key(&w.json, "graphs");
    sr__json_object(&w.json);
    for (size_t g = 0; g < im->n_graphs && !w.failed; g++) {
        sr__json_key(&w.json, graph_name(&w, (int32_t)g));
        put_graph(&w, &im->graphs[g]);
    }
    sr__json_end_object(&w.json);
    put_runs(&w);
    sr__json_end_object(&w.json);
    sr__str_puts(&text, "\n");
    sr__json_free(&w.json);
    if (w.failed || text.failed) {
        sr__str_free(&text);
        return sr__fail_memory(im->err);
    }
    *out_text = text.data;
    return SR_OK;
}
