/*
 * expand_out.c - the plain form of a description: its sections, graphs, tensors and nodes written out.
 *
 * Layer: describe.  The reference has no counterpart.
 *
 * What the loader resolved is written from what it made; the sections that it only read (backends, buffer types, the
 * scheduler) are repeated as they were, less comments, with numbers where expressions stood.  Paths stay relative to
 * the file that was loaded, so that the plain form belongs beside it.
 */
#include <math.h>

#include "describe/expand.h"

/* ---- sections that are repeated ---------------------------------------------------------------------------------- */

static void write_number(sr__json *out, double value) {
    if (value == floor(value) && fabs(value) <= 9007199254740992.0) {
        sr__json_int(out, (int64_t)value);
    } else {
        sr__json_double(out, value);
    }
}

/* Depth is bounded by the parser's. */
static void write_tree(sr__json *out, const cJSON *json) {
    switch (sr__json_type(json)) {
        case cJSON_Object:
            sr__json_object(out);
            for (const cJSON *child = json->child; child; child = child->next) {
                if (!sr__is_comment(child->string)) {
                    sr__json_key(out, child->string);
                    write_tree(out, child);
                }
            }
            sr__json_end_object(out);
            break;
        case cJSON_Array:
            sr__json_array(out);
            for (const cJSON *child = json->child; child; child = child->next) {
                write_tree(out, child);
            }
            sr__json_end_array(out);
            break;
        case cJSON_String: sr__json_string(out, json->valuestring); break;
        case cJSON_Number: write_number(out, json->valuedouble); break;
        case cJSON_NULL: sr__json_null(out); break;
        default: sr__json_bool(out, sr__json_type(json) == cJSON_True); break;
    }
}

/* A section whose members stand on a line each. */
static void write_section(sr__json *out, const char *key, const cJSON *json) {
    if (!json) {
        return;
    }
    sr__json_key(out, key);
    bool is_object = sr__is_object(json);
    is_object ? sr__json_object(out) : sr__json_array(out);
    for (const cJSON *child = json->child; child; child = child->next) {
        if (is_object && sr__is_comment(child->string)) {
            continue;
        }
        if (is_object) {
            sr__json_key(out, child->string);
        }
        sr__json_inline(out);
        write_tree(out, child);
    }
    is_object ? sr__json_end_object(out) : sr__json_end_array(out);
}

static void write_buffers(sr__json *out, const sr_description *d) {
    if (d->n_buffers == 0) {
        return;
    }
    sr__json_key(out, "buffers");
    sr__json_object(out);
    for (size_t i = 0; i < d->n_buffers; i++) {
        sr__json_key(out, d->buffers[i].name);
        sr__json_inline(out);
        sr__json_object(out);
        sr__json_put_string(out, "type", d->buffers[i].type_name);
        sr__json_put_string(out, "usage", sr_usage_name(d->buffers[i].usage));
        sr__json_end_object(out);
    }
    sr__json_end_object(out);
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

void sr__write_value(sr__json *out, double value) {
    if (isnan(value)) {
        sr__json_string(out, "nan");
    } else if (isinf(value)) {
        sr__json_string(out, value > 0 ? "inf" : "-inf");
    } else {
        write_number(out, value);
    }
}

static void write_values(sr__json *out, const double *values, int64_t n) {
    sr__json_array(out);
    for (int64_t i = 0; i < n; i++) {
        sr__write_value(out, values[i]);
    }
    sr__json_end_array(out);
}

void sr__write_base64(sr__json *out, const uint8_t *bytes, size_t n) {
    sr__str text = {0};
    sr__base64_encode(&text, bytes, n);
    if (text.failed) {
        out->out->failed = true;
    }
    sr__json_string(out, sr__str_text(&text));
    sr__str_free(&text);
}

static void write_random(sr__json *out, const sr__data *data) {
    sr__json_object(out);
    if (data->has_seed) {
        sr__json_put_int(out, "seed", (int64_t)data->seed);
    }
    sr__json_key(out, "min");
    write_number(out, data->min);
    sr__json_key(out, "max");
    write_number(out, data->max);
    sr__json_end_object(out);
}

static void write_data(sr__json *out, const sr__data *data, const sr_tensor *t) {
    sr__json_key(out, "data");
    sr__json_object(out);
    switch (data->kind) {
        case SR__DATA_VALUES:
            sr__json_key(out, "values");
            write_values(out, data->values, sr_tensor_nelements(t));
            break;
        case SR__DATA_FILL:
            sr__json_key(out, "fill");
            sr__write_value(out, data->fill);
            break;
        case SR__DATA_BYTES:
            sr__json_key(out, "base64");
            sr__write_base64(out, data->bytes, t->nbytes);
            break;
        case SR__DATA_FILE:
            sr__json_put_string(out, "file", data->shown_path);
            sr__json_put_int(out, "offset", data->offset);
            break;
        case SR__DATA_GGUF:
            sr__json_put_string(out, "gguf", data->shown_path);
            sr__json_put_string(out, "tensor", data->tensor);
            break;
        case SR__DATA_RANDOM:
            sr__json_key(out, "random");
            write_random(out, data);
            break;
    }
    sr__json_end_object(out);
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* A graph that is written, with what is kept beside it by tensor. */
typedef struct written {
    const sr_description *d;
    const sr__variant *v;
    int32_t *buffer;  /* or -1 */
    int32_t *backend; /* or -1 */
} written;

static void write_strings(sr__json *out, const char *key, const char *const *texts, int32_t n) {
    if (n < 0) {
        return;
    }
    sr__json_key(out, key);
    sr__json_array(out);
    for (int32_t i = 0; i < n; i++) {
        sr__json_string(out, texts[i]);
    }
    sr__json_end_array(out);
}

static void write_identity(sr__json *out, const sr_tensor *t) {
    if (strcmp(t->id, t->name) != 0) {
        sr__json_put_string(out, "id", t->id);
    }
    sr__json_put_string(out, "name", t->name);
}

static void write_shape(sr__json *out, const sr_tensor *t) {
    int n = SR_MAX_DIMS;
    while (n > 1 && t->ne[n - 1] == 1) {
        n--;
    }
    sr__json_put_string(out, "type", sr_type_get(t->type)->name);
    sr__json_key(out, "ne");
    sr__json_array(out);
    for (int i = 0; i < n; i++) {
        sr__json_int(out, t->ne[i]);
    }
    sr__json_end_array(out);
    sr__json_key(out, "nb");
    sr__json_array(out);
    for (int i = 0; i < SR_MAX_DIMS; i++) {
        sr__json_int(out, (int64_t)t->nb[i]);
    }
    sr__json_end_array(out);
}

static void write_flags(sr__json *out, unsigned flags) {
    static const char *const names[] = {"input", "output", "param", "loss"};
    if ((flags & (SR_FLAG_INPUT | SR_FLAG_OUTPUT | SR_FLAG_PARAM | SR_FLAG_LOSS)) == 0) {
        return;
    }
    sr__json_key(out, "flags");
    sr__json_array(out);
    for (int i = 0; i < SR_COUNT(names); i++) {
        if (flags & (1u << i)) {
            sr__json_string(out, names[i]);
        }
    }
    sr__json_end_array(out);
}

static void write_view(sr__json *out, const written *w, const sr_tensor *t) {
    if (t->view_src < 0) {
        return;
    }
    sr__json_key(out, "view");
    sr__json_object(out);
    sr__json_put_string(out, "of", w->v->graph->tensors[t->view_src].id);
    sr__json_put_int(out, "offset", (int64_t)t->view_offs);
    sr__json_end_object(out);
}

/* What leafs and nodes both have, behind their identity. */
static void write_place(sr__json *out, const written *w, int32_t i) {
    const sr_tensor *t = &w->v->graph->tensors[i];
    write_view(out, w, t);
    write_flags(out, t->flags);
    if (w->buffer[i] >= 0) {
        sr__json_put_string(out, "buffer", w->d->buffers[w->buffer[i]].name);
    }
    if (w->backend[i] >= 0) {
        sr__json_put_string(out, "backend", w->d->machine->backends[w->backend[i]]->name);
    }
}

static void write_leaf(sr__json *out, const written *w, int32_t i) {
    const sr_tensor *t = &w->v->graph->tensors[i];
    const sr__data *data = sr__data_of(w->v, i);
    sr__json_inline(out);
    sr__json_object(out);
    write_identity(out, t);
    write_shape(out, t);
    write_place(out, w, i);
    if (data) {
        write_data(out, data, t);
    }
    sr__json_end_object(out);
}

/* Words are written, if only an empty list, wherever named parameters would have defaults. */
static void write_words(sr__json *out, const sr_tensor *t) {
    const sr_op_info *info = sr_op_get(t->op);
    int n = SR_MAX_OP_PARAMS;
    while (n > 0 && t->op_params[n - 1] == 0) {
        n--;
    }
    if (n == 0 && (!info || info->n_params == 0)) {
        return;
    }
    sr__json_key(out, "op_params");
    sr__json_array(out);
    for (int i = 0; i < n; i++) {
        sr__json_int(out, t->op_params[i]);
    }
    sr__json_end_array(out);
}

static void write_sources(sr__json *out, const sr_graph *graph, const sr_tensor *t) {
    sr__json_key(out, "src");
    sr__json_array(out);
    for (int i = 0; i < t->n_src; i++) {
        int32_t src = graph->srcs[t->src_begin + i];
        sr__json_string(out, src >= 0 ? graph->tensors[src].id : NULL);
    }
    sr__json_end_array(out);
}

static void write_node(sr__json *out, const written *w, int32_t i) {
    const sr_graph *graph = w->v->graph;
    const sr_tensor *t = &graph->tensors[i];
    sr__json_inline(out);
    sr__json_object(out);
    write_identity(out, t);
    sr__json_put_string(out, "op", sr_tensor_op_desc(t));
    write_shape(out, t);
    write_sources(out, graph, t);
    write_words(out, t);
    write_place(out, w, i);
    if (!(t->flags & SR_FLAG_COMPUTE)) {
        sr__json_put_bool(out, "compute", false);
    }
    if (t->answers >= 0) {
        const sr_answers *answers = &graph->answers[t->answers];
        write_strings(out, "supported_by", answers->supported_by, answers->n_supported_by);
        write_strings(out, "offloaded_by", answers->offloaded_by, answers->n_offloaded_by);
    }
    sr__json_end_object(out);
}

static bool written_new(written *w, const sr_description *d, const sr__variant *v) {
    size_t n = (size_t)v->graph->n_tensors + 1;
    *w = (written){d, v, sr__malloc(n * sizeof(int32_t)), sr__malloc(n * sizeof(int32_t))};
    if (!w->buffer || !w->backend) {
        return false;
    }
    memset(w->buffer, 0xFF, n * sizeof(int32_t));
    memset(w->backend, 0xFF, n * sizeof(int32_t));
    for (size_t i = 0; i < v->n_placed; i++) {
        w->buffer[v->placed[i].tensor] = d->slots[v->placed[i].slot].buffer;
    }
    for (size_t i = 0; i < v->n_assigned; i++) {
        w->backend[v->assigned[i].tensor] = v->assigned[i].backend;
    }
    return true;
}

/* "tensors" and "nodes", into the object that is open. */
static void write_graph(sr__json *out, const sr_description *d, const sr__variant *v) {
    written w;
    if (!written_new(&w, d, v)) {
        out->out->failed = true;
    }
    for (int nodes = 0; nodes < 2 && !out->out->failed; nodes++) {
        sr__json_key(out, nodes ? "nodes" : "tensors");
        sr__json_array(out);
        for (int32_t i = 0; i < v->graph->n_tensors; i++) {
            if ((v->graph->tensors[i].op != SR_OP_NONE) == (nodes == 1)) {
                nodes ? write_node(out, &w, i) : write_leaf(out, &w, i);
            }
        }
        sr__json_end_array(out);
    }
    sr__free(w.buffer);
    sr__free(w.backend);
}

/* ---- names of graphs --------------------------------------------------------------------------------------------- */

/* A graph's name with the params that set it apart; a number where that is another graph's name. */
static bool name_variants(const sr_description *d, sr__arena *arena, const char **names) {
    sr__map taken = {0};
    bool fine = true;
    for (size_t i = 0; i < d->n_variants && fine; i++) {
        const sr__variant *v = d->variants[i];
        sr__str s = {0};
        sr__str_printf(&s, "%s%s", d->named_graphs ? v->name : "graph", v->suffix);
        size_t length = s.length;
        for (int k = 2; !s.failed && sr__map_get(&taken, sr__str_text(&s), 0); k++) {
            s.length = length;
            sr__str_printf(&s, "#%d", k);
        }
        names[i] = s.failed ? NULL : sr__arena_strdup(arena, sr__str_text(&s));
        fine = names[i] && sr__map_put(&taken, names[i], 1);
        sr__str_free(&s);
    }
    sr__map_free(&taken);
    return fine;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void write_runs(sr__json *out, const sr_description *d, const char *const *names, bool named) {
    sr__json_key(out, "runs");
    sr__json_array(out);
    for (int i = 0; i < d->n_runs; i++) {
        const sr_run *run = &d->runs[i];
        sr__json_inline(out);
        sr__json_object(out);
        for (size_t k = 0; k < d->n_variants && named; k++) {
            if (d->variants[k] == d->run_variants[i]) {
                sr__json_put_string(out, "graph", names[k]);
            }
        }
        if (run->reserve) {
            sr__json_put_bool(out, "reserve", true);
        }
        if (run->expect) {
            sr__json_key(out, "expect");
            sr__write_expect(out, run->expect);
        }
        sr__json_end_object(out);
    }
    sr__json_end_array(out);
}

static void write_graphs(sr__json *out, const sr_description *d, const char *const *names, bool named) {
    if (!named) {
        write_graph(out, d, d->variants[0]);
        return;
    }
    sr__json_key(out, "graphs");
    sr__json_object(out);
    for (size_t i = 0; i < d->n_variants; i++) {
        sr__json_key(out, names[i]);
        sr__json_object(out);
        write_graph(out, d, d->variants[i]);
        sr__json_end_object(out);
    }
    sr__json_end_object(out);
}

static void write_description(sr__json *out, const sr_description *d, const char *const *names) {
    bool named = d->named_graphs || d->n_variants > 1;
    sr__json_object(out);
    sr__json_put_int(out, "sched_run", 1);
    if (d->has_name) {
        sr__json_put_string(out, "name", d->name);
    }
    if (*d->text) {
        sr__json_put_string(out, "description", d->text);
    }
    if (d->weights) {
        sr__json_put_string(out, "weights", d->shown_weights);
    }
    if (d->opaque) {
        sr__json_put_string(out, "unknown_ops", d->all_opaque ? "all" : "opaque");
    }
    if (d->plain[SR__TOP_SCHEDULER]) {
        sr__json_key(out, "scheduler");
        sr__json_inline(out);
        write_tree(out, d->plain[SR__TOP_SCHEDULER]);
    }
    write_section(out, "backends", d->plain[SR__TOP_BACKENDS]);
    write_section(out, "buffer_types", d->plain[SR__TOP_BUFFER_TYPES]);
    write_buffers(out, d);
    write_graphs(out, d, names, named);
    write_runs(out, d, names, named);
    sr__json_end_object(out);
}

sr_status sr_description_expand(const sr_description *d, char **out_text, sr_error *err) {
    sr__str text = {0};
    sr__arena arena;
    sr__json out;
    *out_text = NULL;
    sr__arena_init(&arena, 4096);
    const char **names = sr__arena_alloc(&arena, (d->n_variants + 1) * sizeof(*names));
    bool fine = names && name_variants(d, &arena, names);
    if (fine) {
        sr__json_init(&out, &text, true);
        write_description(&out, d, names);
        sr__str_puts(&text, "\n");
        sr__json_free(&out);
        fine = !text.failed;
    }
    sr__arena_free(&arena);
    if (!fine) {
        sr__str_free(&text);
        return sr__fail_memory(err);
    }
    *out_text = text.data;
    return SR_OK;
}
