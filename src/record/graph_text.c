/*
 * graph_text.c - a graph as the description has it: leafs, nodes, what backends say of them.
 *
 * Layer: record.  Answers to struct ggml_cgraph, and to ggml_backend_{supports,offload}_op.
 */
#include <stdlib.h>
#include <string.h>

#include "record/recorder.h"

typedef struct writer {
    recording *r;
    const abi_functions *f;
    const graph_items *g;
    const int *assigned;
    json_text *out;
    data_places *places;
    json_text scratch;
} writer;

static bool is_node(const writer *w, int i) {
    return i >= w->g->n_leafs && i < w->g->n_leafs + w->g->n_nodes && w->g->items[i]->op != 0;
}

static void write_id(const writer *w, int i) {
    const int nodes = w->g->n_leafs, outside = nodes + w->g->n_nodes;
    char kind[2] = {i < nodes ? 'l' : i < outside ? 'n' : 'x', '\0'};
    text_puts(w->out, "\"");
    text_puts(w->out, kind);
    text_int(w->out, i - (i < nodes ? 0 : i < outside ? nodes : outside));
    text_puts(w->out, "\"");
}

/* ---- what leafs and nodes have in common ------------------------------------------------------------------------- */

static void write_extents(const writer *w, const abi_tensor *t) {
    int n = ABI_DIMS;
    while (n > 1 && t->ne[n - 1] == 1) {
        n--;
    }
    text_key(w->out, "ne");
    text_puts(w->out, "[");
    for (int i = 0; i < n; i++) {
        text_comma(w->out);
        text_int(w->out, t->ne[i]);
    }
    text_puts(w->out, "]");
}

static void write_strides(const writer *w, const abi_tensor *t) {
    size_t dense[ABI_DIMS] = {w->f->ggml_type_size(t->type)};
    dense[1] = dense[0] * (size_t)(t->ne[0] / w->f->ggml_blck_size(t->type));
    dense[2] = dense[1] * (size_t)t->ne[1];
    dense[3] = dense[2] * (size_t)t->ne[2];
    if (memcmp(dense, t->nb, sizeof(dense)) == 0) {
        return;
    }
    text_key(w->out, "nb");
    text_puts(w->out, "[");
    for (int i = 0; i < ABI_DIMS; i++) {
        text_comma(w->out);
        text_size(w->out, t->nb[i]);
    }
    text_puts(w->out, "]");
}

static void write_flags(const writer *w, const abi_tensor *t) {
    static const struct { int bit; const char *word; } flags[] = {
        {ABI_FLAG_INPUT, "\"input\""}, {ABI_FLAG_OUTPUT, "\"output\""}, {ABI_FLAG_PARAM, "\"param\""},
        {ABI_FLAG_LOSS, "\"loss\""}};
    bool any = false;
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (t->flags & flags[i].bit) {
            if (!any) {
                text_key(w->out, "flags");
                text_puts(w->out, "[");
            }
            any = true;
            text_comma(w->out);
            text_puts(w->out, flags[i].word);
        }
    }
    text_puts(w->out, any ? "]" : "");
}

static bool write_buffer(writer *w, const abi_tensor *t) {
    if (!t->buffer || t->view_src) {
        return true;
    }
    const int buffer = machine_buffer(w->r, t->buffer);
    if (buffer < 0) {
        return false;
    }
    text_empty(&w->scratch);
    machine_buffer_name(&w->r->machine, buffer, &w->scratch);
    text_put(&w->scratch, "", 1);
    if (w->scratch.failed) {
        return false;
    }
    text_member(w->out, "buffer", w->scratch.data);
    return true;
}

/* A leaf stands before all nodes, so that it cannot be said to view one. */
static void write_view(const writer *w, int i) {
    const abi_tensor *t = w->g->items[i];
    const int root = items_root(w->g, i);
    if (root < 0 || (is_node(w, root) && !is_node(w, i))) {
        return;
    }
    text_key(w->out, "view");
    text_puts(w->out, "{\"of\":");
    write_id(w, root);
    text_puts(w->out, ",\"offset\":");
    text_size(w->out, t->view_offs);
    text_puts(w->out, "}");
}

static bool write_common(writer *w, int i) {
    const abi_tensor *t = w->g->items[i];
    const char *type = w->f->ggml_type_name(t->type);
    text_member(w->out, "name", shown_name(w->r, w->f->ggml_get_name(t)));
    if (strcmp(type, "f32") != 0) {
        text_member(w->out, "type", type);
    }
    write_extents(w, t);
    write_strides(w, t);
    write_flags(w, t);
    if (!write_buffer(w, t)) {
        return false;
    }
    write_view(w, i);
    if (w->assigned && w->assigned[i] >= 0) {
        text_member(w->out, "backend", w->r->machine.backends[w->assigned[i]].name);
    }
    return true;
}

/* ---- leafs ------------------------------------------------------------------------------------------------------- */

/* Tokens, positions, row indices: what is written by the user and has whole numbers. */
static bool has_data(const writer *w, const abi_tensor *t) {
    const char *type = w->f->ggml_type_name(t->type);
    return w->places && (t->flags & ABI_FLAG_INPUT) && !t->view_src && type[0] == 'i' && type[1] >= '0' &&
           type[1] <= '9' && w->f->ggml_blck_size(t->type) == 1;
}

static bool write_leaf(writer *w, int i) {
    abi_tensor *t = w->g->items[i];
    text_puts(w->out, w->out->data[w->out->length - 1] == '[' ? "\n  {\"id\":" : ",\n  {\"id\":");
    write_id(w, i);
    if (!write_common(w, i)) {
        return false;
    }
    if (has_data(w, t)) {
        data_places *p = w->places;
        if (!grow(&p->places, &p->capacity, p->n + 1, sizeof(*p->places))) {
            return false;
        }
        p->places[p->n++] = (data_place){t, w->out->length};
    }
    text_puts(w->out, "}");
    return !w->out->failed;
}

/* Roots before their views. */
static bool is_late(const writer *w, int i) {
    const int root = items_root(w->g, i);
    return root >= 0 && (root > i || root >= w->g->n_leafs);
}

static bool write_leafs(writer *w) {
    bool ok = true;
    for (int late = 0; late < 2; late++) {
        for (int i = 0; ok && i < w->g->n; i++) {
            if (!is_node(w, i) && is_late(w, i) == (late == 1)) {
                ok = write_leaf(w, i);
            }
        }
    }
    return ok;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void write_op(const writer *w, const abi_tensor *t) {
    text_member(w->out, "op", w->f->ggml_op_desc(t));
}

static void write_sources(const writer *w, int i) {
    const int *links = w->g->links + (size_t)i * ABI_LINKS;
    int n = ABI_SRCS;
    while (n > 0 && links[n - 1] < 0) {
        n--;
    }
    text_key(w->out, "src");
    text_puts(w->out, "[");
    for (int s = 0; s < n; s++) {
        text_comma(w->out);
        if (links[s] >= 0) {
            write_id(w, links[s]);
        } else {
            text_puts(w->out, "null");
        }
    }
    text_puts(w->out, "]");
}

/* The number of a kind of UNARY or GLU differs from version to version: its name, which is the op's, says it. */
static void write_params(const writer *w, const abi_tensor *t) {
    const bool has_kind = strcmp(w->f->ggml_op_name(t->op), w->f->ggml_op_desc(t)) != 0;
    int n = ABI_PARAM_WORDS;
    while (n > 0 && (t->op_params[n - 1] == 0 || (n == 1 && has_kind))) {
        n--;
    }
    if (n == 0) {
        return;
    }
    text_key(w->out, "op_params");
    text_puts(w->out, "[");
    for (int i = 0; i < n; i++) {
        text_comma(w->out);
        text_int(w->out, i == 0 && has_kind ? 0 : t->op_params[i]);
    }
    text_puts(w->out, "]");
}

static void write_answers(const writer *w, const abi_tensor *t) {
    const machine *m = &w->r->machine;
    int yes = 0, offloaded = 0;
    uint8_t answers[64] = {0};
    const int n = m->n_backends < 64 ? m->n_backends : 64;
    for (int b = 0; b < n; b++) {
        const bool supported = w->f->ggml_backend_supports_op(m->backends[b].backend, t);
        const bool wanted = w->f->ggml_backend_offload_op(m->backends[b].backend, t);
        yes += supported;
        offloaded += wanted;
        answers[b] = (uint8_t)(supported | wanted << 1);
    }
    static const char *const keys[] = {"supported_by", "offloaded_by"};
    for (int k = 0; k < 2; k++) {
        if (k == 0 ? yes == n : offloaded == 0) {
            continue;
        }
        text_key(w->out, keys[k]);
        text_puts(w->out, "[");
        for (int b = 0; b < n; b++) {
            if (answers[b] >> k & 1) {
                text_comma(w->out);
                text_json(w->out, m->backends[b].name);
            }
        }
        text_puts(w->out, "]");
    }
}

static bool write_node(writer *w, int i) {
    const abi_tensor *t = w->g->items[i];
    text_puts(w->out, w->out->data[w->out->length - 1] == '[' ? "\n  {\"id\":" : ",\n  {\"id\":");
    write_id(w, i);
    write_op(w, t);
    if (!write_common(w, i)) {
        return false;
    }
    write_sources(w, i);
    write_params(w, t);
    if (w->r->lib->has_compute_flag && !(t->flags & ABI_FLAG_COMPUTE)) {
        text_puts(w->out, ",\"compute\":false");
    }
    write_answers(w, t);
    text_puts(w->out, "}");
    return !w->out->failed;
}

bool graph_write(recording *r, const graph_items *g, const int *assigned, json_text *out, data_places *places,
                 const char **out_why) {
    writer w = {.r = r, .f = &r->lib->f, .g = g, .assigned = assigned, .out = out, .places = places};
    *out_why = NULL;
    bool ok = true;
    for (int i = 0; ok && i < g->n; i++) {
        ok = library_agrees(r->lib, g->items[i], out_why);
    }
    if (!ok) {
        return false;
    }
    *out_why = NULL;
    text_puts(out, "{\"tensors\":[");
    ok = !out->failed && write_leafs(&w);
    if (ok) {
        text_puts(out, "],\n \"nodes\":[");
    }
    for (int i = g->n_leafs; ok && i < g->n_leafs + g->n_nodes; i++) {
        ok = !is_node(&w, i) || write_node(&w, i);
    }
    text_puts(out, "]}");
    text_clear(&w.scratch);
    return ok && !out->failed;
}

/* ---- contents ---------------------------------------------------------------------------------------------------- */

bool graph_write_data(const recording *r, const json_text *graph, const data_places *places, json_text *out) {
    const abi_functions *f = &r->lib->f;
    size_t from = 0;
    for (int i = 0; i < places->n; i++) {
        const data_place *place = &places->places[i];
        text_put(out, graph->data + from, place->at - from);
        from = place->at;
        const size_t n = f->ggml_nbytes(place->tensor);
        if (n == 0 || !place->tensor->data || !place->tensor->buffer) {
            continue;
        }
        void *bytes = malloc(n);
        if (!bytes) {
            return false;
        }
        f->ggml_backend_tensor_get(place->tensor, bytes, 0, n);
        text_puts(out, ",\"data\":{\"base64\":\"");
        text_base64(out, bytes, n);
        text_puts(out, "\"}");
        free(bytes);
    }
    text_put(out, graph->data + from, graph->length - from);
    return !out->failed;
}
