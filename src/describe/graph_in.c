/*
 * graph_in.c - the `tensors` and `nodes` of a description, made into a graph.
 *
 * Layer: describe.  Answers to the code of an application that calls the builders of ggml.c.
 */
#include "describe/gguf.h"
#include "describe/loader.h"

/* The first are common to leafs and nodes. */
enum {
    K_ID, K_NAME, K_TYPE, K_NE, K_NB, K_FLAGS, K_BUFFER, K_BACKEND, K_VIEW, K_COMMON,
    K_DATA = K_COMMON, K_LEAF_COUNT,
    K_OP = K_COMMON, K_SRC, K_PARAMS, K_OP_PARAMS, K_INPLACE, K_COMPUTE, K_SUPPORTED_BY, K_OFFLOADED_BY, K_NODE_COUNT
};

#define COMMON_KEYS "id", "name", "type", "ne", "nb", "flags", "buffer", "backend", "view"
static const char *const leaf_keys[K_LEAF_COUNT] = {COMMON_KEYS, "data"};
static const char *const node_keys[K_NODE_COUNT] = {
    COMMON_KEYS, "op", "src", "params", "op_params", "inplace", "compute", "supported_by", "offloaded_by",
};

typedef struct build {
    sr__variant *v;
    sr_graph *graph;
    const sr__graph_json *json;
    int64_t made;
} build;

/* ---- names of tensors -------------------------------------------------------------------------------------------- */

/* Whether some item of a list, or of the repeats in it, is called so.  Depth is bounded by the text's nesting. */
static bool comes_in(const cJSON *list, const char *id) {
    for (const cJSON *item = list ? list->child : NULL; item; item = item->next) {
        const cJSON *own = cJSON_GetObjectItemCaseSensitive(item, "id");
        own = own ? own : cJSON_GetObjectItemCaseSensitive(item, "name");
        if (own && sr__is_string(own) && strcmp(own->valuestring, id) == 0) {
            return true;
        }
        if (comes_in(cJSON_GetObjectItemCaseSensitive(item, "items"), id)) {
            return true;
        }
    }
    return false;
}

static sr_status unknown_tensor(sr__loader *ld, const build *b, const char *id, const sr__at *at) {
    if (comes_in(b->json->nodes, id) || comes_in(b->json->tensors, id)) {
        return sr__wrong(ld, at, "'%s' comes later: a source must come before its user", id);
    }
    const char **names = sr__malloc(((size_t)b->graph->n_tensors + 1) * sizeof(*names));
    if (!names) {
        return sr__no_memory(ld);
    }
    for (int32_t i = 0; i < b->graph->n_tensors; i++) {
        names[i] = b->graph->tensors[i].id;
    }
    sr_status status = sr__unknown(ld, at, "tensor", id, names, b->graph->n_tensors);
    sr__free(names);
    return status;
}

/* Most sources are the tensor before: no table is needed to find that one. */
static int32_t find_id(const sr_graph *graph, const char *id) {
    int32_t last = graph->n_tensors - 1;
    return last >= 0 && strcmp(graph->tensors[last].id, id) == 0 ? last : sr_graph_find(graph, id);
}

static sr_status find_tensor(sr__loader *ld, const build *b, const cJSON *json, const sr__at *at, int32_t *out) {
    const char *id;
    sr_status status;
    SR_TRY(sr__string(ld, json, at, &id));
    *out = find_id(b->graph, id);
    if (*out < 0) {
        SR_TRY(unknown_tensor(ld, b, id, at));
    }
done:
    return status;
}

/* ---- what leafs and nodes have in common ------------------------------------------------------------------------- */

static sr_status load_names(sr__loader *ld, const cJSON *const *f, const sr__at *at, sr_tensor_spec *spec) {
    sr_status status = SR_OK;
    if (f[K_ID]) {
        sr__at id_at = sr__at_key(at, "id");
        SR_TRY(sr__string(ld, f[K_ID], &id_at, &spec->id));
        spec->name = spec->id;
    }
    if (f[K_NAME]) {
        sr__at name_at = sr__at_key(at, "name");
        SR_TRY(sr__string(ld, f[K_NAME], &name_at, &spec->name));
        spec->id = f[K_ID] ? spec->id : spec->name;
    }
    if (!spec->id || !*spec->id) {
        SR_TRY(sr__wrong(ld, at, spec->id ? "the id is empty" : "neither \"name\" nor \"id\" is given"));
    }
done:
    return status;
}

static sr_status load_ne(sr__loader *ld, const cJSON *json, const sr__at *at, sr_tensor_spec *spec) {
    sr_status status;
    SR_TRY(sr__want_array(ld, json, at));
    for (const cJSON *child = json->child; child; child = child->next) {
        sr__at element = sr__at_index(at, spec->n_dims);
        if (spec->n_dims == SR_MAX_DIMS) {
            SR_TRY(sr__wrong(ld, at, "a tensor has at most %d extents", SR_MAX_DIMS));
        }
        SR_TRY(sr__int_in(ld, child, &element, 0, INT64_MAX, &spec->ne[spec->n_dims]));
        spec->n_dims++;
    }
    if (spec->n_dims == 0) {
        SR_TRY(sr__wrong(ld, at, "a tensor has at least one extent"));
    }
    for (int d = spec->n_dims; d < SR_MAX_DIMS; d++) {
        spec->ne[d] = 1;
    }
done:
    return status;
}

/* Strides that are left out follow from the last one given. */
static sr_status load_nb(sr__loader *ld, const cJSON *json, const sr__at *at, sr_tensor_spec *spec) {
    sr_status status;
    int n = 0;
    int64_t value;
    SR_TRY(sr__want_array(ld, json, at));
    for (const cJSON *child = json->child; child; child = child->next) {
        sr__at element = sr__at_index(at, n);
        if (n == SR_MAX_DIMS) {
            SR_TRY(sr__wrong(ld, at, "a tensor has at most %d strides", SR_MAX_DIMS));
        }
        SR_TRY(sr__int_in(ld, child, &element, 0, INT64_MAX, &value));
        spec->nb[n++] = (size_t)value;
    }
    if (n == 0 || n < spec->n_dims || (spec->n_dims == 0 && n < SR_MAX_DIMS)) {
        SR_TRY(sr__wrong(ld, at, "%d strides for %d extents", n, spec->n_dims ? spec->n_dims : SR_MAX_DIMS));
    }
    for (int d = n; d < SR_MAX_DIMS; d++) {
        if (!sr__mul_size(spec->nb[d - 1], (size_t)spec->ne[d - 1], &spec->nb[d])) {
            SR_TRY(sr__wrong(ld, at, "the strides overflow"));
        }
    }
    spec->has_nb = true;
done:
    return status;
}

static sr_status load_flags(sr__loader *ld, const cJSON *json, const sr__at *at, unsigned *out) {
    static const char *const names[] = {"input", "output", "param", "loss"};
    sr_status status;
    SR_TRY(sr__want_array(ld, json, at));
    int64_t i = 0;
    for (const cJSON *child = json->child; child; child = child->next, i++) {
        sr__at element = sr__at_index(at, i);
        const char *text;
        int flag = 0;
        SR_TRY(sr__string(ld, child, &element, &text));
        while (flag < SR_COUNT(names) && strcmp(names[flag], text) != 0) {
            flag++;
        }
        if (flag == SR_COUNT(names)) {
            SR_TRY(sr__unknown(ld, &element, "flag", text, names, SR_COUNT(names)));
        }
        *out |= 1u << flag;
    }
done:
    return status;
}

static sr_status load_view(sr__loader *ld, const build *b, const cJSON *json, const sr__at *at, sr_tensor_spec *spec) {
    static const char *const keys[] = {"of", "offset"};
    const cJSON *fields[2];
    sr_status status;
    int64_t offset = 0;
    SR_TRY(sr__fields(ld, json, at, keys, 2, fields));
    if (!fields[0]) {
        SR_TRY(sr__wrong(ld, at, "\"of\" is missing"));
    }
    sr__at of_at = sr__at_key(at, keys[0]), offset_at = sr__at_key(at, keys[1]);
    SR_TRY(find_tensor(ld, b, fields[0], &of_at, &spec->view_of));
    if (fields[1]) {
        SR_TRY(sr__int_in(ld, fields[1], &offset_at, 0, INT64_MAX, &offset));
    }
    spec->view_offset = (size_t)offset;
done:
    return status;
}

static sr_status load_common(sr__loader *ld, const build *b, const cJSON *const *f, const sr__at *at,
                             sr_tensor_spec *spec) {
    sr_status status;
    SR_TRY(load_names(ld, f, at, spec));
    if (f[K_TYPE]) {
        sr__at type_at = sr__at_key(at, "type");
        const char *type;
        SR_TRY(sr__string(ld, f[K_TYPE], &type_at, &type));
        SR_TRY(sr__find_type(ld, type, &type_at, &spec->type));
    }
    if (f[K_NE]) {
        sr__at ne_at = sr__at_key(at, "ne");
        SR_TRY(load_ne(ld, f[K_NE], &ne_at, spec));
    }
    if (f[K_NB]) {
        sr__at nb_at = sr__at_key(at, "nb");
        SR_TRY(load_nb(ld, f[K_NB], &nb_at, spec));
    }
    if (f[K_FLAGS]) {
        sr__at flags_at = sr__at_key(at, "flags");
        SR_TRY(load_flags(ld, f[K_FLAGS], &flags_at, &spec->flags));
    }
    if (f[K_VIEW]) {
        sr__at view_at = sr__at_key(at, "view");
        SR_TRY(load_view(ld, b, f[K_VIEW], &view_at, spec));
    }
done:
    return status;
}

/* ---- what is kept beside the graph ------------------------------------------------------------------------------- */

static sr_status assign(sr__loader *ld, sr__variant *v, const cJSON *json, const sr__at *at, int32_t tensor) {
    const sr_machine *machine = ld->d->machine;
    const char *name;
    sr_status status;
    sr__at backend_at = sr__at_key(at, "backend");
    SR_TRY(sr__string(ld, json, &backend_at, &name));
    int backend = sr_machine_backend(machine, name);
    if (backend < 0 && !ld->has_machine_top) {
        const char **names = sr__arena_alloc(&ld->json, ((size_t)machine->n_backends + 1) * sizeof(*names));
        for (int i = 0; names && i < machine->n_backends; i++) {
            names[i] = machine->backends[i]->name;
        }
        SR_TRY(names ? sr__unknown(ld, &backend_at, "backend", name, names, machine->n_backends) : sr__no_memory(ld));
    }
    if (backend >= 0) { /* on another machine an assignment to what is not there says nothing */
        if (!sr__grow(&v->assigned, &v->assigned_cap, v->n_assigned + 1, sizeof(*v->assigned))) {
            SR_TRY(sr__no_memory(ld));
        }
        v->assigned[v->n_assigned++] = (sr_assignment){tensor, backend};
    }
done:
    return status;
}

/* The command line's placement goes before the file's own words, those before its rules. */
static sr_status choose_buffer(sr__loader *ld, const cJSON *const *f, const sr__at *at, const sr_tensor *t,
                               bool is_leaf, int32_t *out) {
    sr_status status = SR_OK;
    const char *name;
    bool by_rule = is_leaf && !(t->flags & SR_FLAG_INPUT) && t->view_src < 0 && ld->n_places > 0;
    *out = -1;
    if (by_rule) {
        SR_TRY(sr__place_leaf(ld, t->name, true, out));
    }
    if (*out < 0 && f[K_BUFFER]) {
        sr__at buffer_at = sr__at_key(at, "buffer");
        SR_TRY(sr__string(ld, f[K_BUFFER], &buffer_at, &name));
        if (t->view_src >= 0) {
            SR_TRY(sr__wrong(ld, &buffer_at, "a view lies where what it views lies, in no buffer of its own"));
        }
        SR_TRY(sr__named_buffer(ld, name, &buffer_at, out));
    } else if (*out < 0 && by_rule) {
        SR_TRY(sr__place_leaf(ld, t->name, false, out));
    }
done:
    return status;
}

/* What follows from extents may exceed what a description can say; such a tensor would have no plain form. */
static bool is_exact(const sr_tensor *t) {
    const uint64_t limit = UINT64_C(1) << 53;
    bool exact = t->view_offs <= limit;
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        exact = exact && (uint64_t)t->ne[d] <= limit && t->nb[d] <= limit;
    }
    return exact;
}

static sr_status add_tensor(sr__loader *ld, build *b, const cJSON *const *f, const sr__at *at,
                            const sr_tensor_spec *spec, int32_t *out) {
    sr_status status = sr_graph_add(b->graph, spec, out, ld->err);
    if (status != SR_OK) {
        return sr__wrong_there(ld, at, status);
    }
    b->made++;
    if (!is_exact(&b->graph->tensors[*out])) {
        return sr__wrong(ld, at, "'%s' has an extent, a stride or an offset beyond 2^53", spec->id);
    }
    if (f[K_BACKEND]) {
        SR_TRY(assign(ld, b->v, f[K_BACKEND], at, *out));
    }
    bool is_leaf = spec->op == SR_OP_NONE;
    if (f[K_BUFFER] || (is_leaf && ld->n_places > 0)) {
        const sr_tensor *t = &b->graph->tensors[*out];
        int32_t buffer;
        SR_TRY(choose_buffer(ld, f, at, t, is_leaf, &buffer));
        if (buffer >= 0) {
            SR_TRY(sr__put_in_buffer(ld, b->v, *out, t->name, buffer));
        }
    }
done:
    return status;
}

/* ---- leafs ------------------------------------------------------------------------------------------------------- */

/* Type and extents that a leaf does not give come from the tensor of its name in the weights file. */
static sr_status take_from_weights(sr__loader *ld, const cJSON *const *f, const sr__at *at, sr_tensor_spec *spec) {
    sr_status status = SR_OK;
    if (f[K_TYPE] && f[K_NE]) {
        return SR_OK;
    }
    if (!f[K_NE] && ld->d->weights) {
        SR_TRY(sr__wrong_there(ld, &ld->top.at[SR__TOP_WEIGHTS], sr__open_weights(ld->d, ld->err)));
    }
    const sr__gguf_tensor *t = ld->d->gguf ? sr__gguf_find(ld->d->gguf, spec->name) : NULL;
    if (t && !f[K_NE]) {
        spec->n_dims = t->n_dims > 0 ? t->n_dims : 1;
        memcpy(spec->ne, t->ne, sizeof(spec->ne));
        spec->type = f[K_TYPE] ? spec->type : t->type;
    } else if (!f[K_NE] && ld->d->weights) {
        SR_TRY(sr__wrong(ld, at, "\"ne\" is missing, and the weights file has no tensor '%s'", spec->name));
    } else if (!f[K_NE]) {
        SR_TRY(sr__wrong(ld, at, "\"ne\" is missing"));
    }
done:
    return status;
}

static sr_status load_leaf(sr__loader *ld, const cJSON *item, const sr__at *at, void *user) {
    build *b = user;
    const cJSON *f[K_LEAF_COUNT];
    sr_status status;
    sr_tensor_spec spec;
    int32_t tensor;
    sr_tensor_spec_init(&spec);
    SR_TRY(sr__fields(ld, item, at, leaf_keys, K_LEAF_COUNT, f));
    SR_TRY(load_common(ld, b, f, at, &spec));
    SR_TRY(take_from_weights(ld, f, at, &spec));
    SR_TRY(add_tensor(ld, b, f, at, &spec, &tensor));
    if (f[K_DATA]) {
        sr__variant *v = b->v;
        sr__at data_at = sr__at_key(at, "data");
        if (!sr__grow(&v->data, &v->data_cap, v->n_data + 1, sizeof(*v->data))) {
            SR_TRY(sr__no_memory(ld));
        }
        v->data[v->n_data].tensor = tensor;
        SR_TRY(sr__load_data(ld, f[K_DATA], &data_at, &b->graph->tensors[tensor], &v->data[v->n_data].data));
        v->n_data++;
    }
done:
    return status;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static sr_status load_sources(sr__loader *ld, const build *b, const cJSON *json, const sr__at *at, sr_tensor_spec *spec,
                              int32_t srcs[SR_MAX_SRC]) {
    sr_status status;
    SR_TRY(sr__want_array(ld, json, at));
    for (const cJSON *child = json->child; child; child = child->next) {
        sr__at element = sr__at_index(at, spec->n_src);
        if (spec->n_src == SR_MAX_SRC) {
            SR_TRY(sr__wrong(ld, at, "a node has at most %d sources", SR_MAX_SRC));
        }
        int32_t *src = &srcs[spec->n_src++];
        *src = -1;
        if (sr__json_type(child) == cJSON_NULL) {
            continue;
        }
        const char *id;
        SR_TRY(sr__string(ld, child, &element, &id));
        *src = find_id(b->graph, id);
        if (*src < 0) {
            *src = strcmp(id, spec->id) == 0 ? SR_SELF : -1;
            SR_TRY(*src == SR_SELF ? SR_OK : unknown_tensor(ld, b, id, &element));
        }
    }
    spec->srcs = srcs;
done:
    return status;
}

static sr_status load_answer(sr__loader *ld, const cJSON *json, const sr__at *at, const char ***out, int32_t *out_n) {
    sr_status status;
    SR_TRY(sr__want_array(ld, json, at));
    *out_n = 0;
    *out = sr__arena_alloc(&ld->scratch, ((size_t)cJSON_GetArraySize(json) + 1) * sizeof(**out));
    if (!*out) {
        SR_TRY(sr__no_memory(ld));
    }
    for (const cJSON *child = json->child; child; child = child->next) {
        sr__at element = sr__at_index(at, *out_n);
        SR_TRY(sr__string(ld, child, &element, &(*out)[*out_n]));
        (*out_n)++;
    }
done:
    return status;
}

static sr_status load_answers(sr__loader *ld, const cJSON *const *f, const sr__at *at, sr_answers *answers) {
    sr_status status = SR_OK;
    const sr_answers none = {.n_supported_by = -1, .n_offloaded_by = -1};
    if (f[K_SUPPORTED_BY]) {
        sr__at supported_at = sr__at_key(at, "supported_by");
        SR_TRY(load_answer(ld, f[K_SUPPORTED_BY], &supported_at, &answers->supported_by, &answers->n_supported_by));
    }
    if (f[K_OFFLOADED_BY]) {
        sr__at offloaded_at = sr__at_key(at, "offloaded_by");
        SR_TRY(load_answer(ld, f[K_OFFLOADED_BY], &offloaded_at, &answers->offloaded_by, &answers->n_offloaded_by));
    }
    if (ld->other_machine) {
        *answers = none;
    }
done:
    return status;
}

static sr_status load_op(sr__loader *ld, const cJSON *json, const sr__at *at, sr_tensor_spec *spec, int *out_kind) {
    const char *name;
    sr_status status;
    sr__at op_at = sr__at_key(at, "op");
    if (!json) {
        SR_TRY(sr__wrong(ld, at, "\"op\" is missing"));
    }
    SR_TRY(sr__string(ld, json, &op_at, &name));
    SR_TRY(sr__find_op(ld, name, &op_at, &spec->op, out_kind));
    if (spec->op == SR_OP_NONE) {
        SR_TRY(sr__wrong(ld, &op_at, "a node computes something: a tensor of op NONE belongs to \"tensors\""));
    }
    spec->op_name = spec->op == SR_OP_OPAQUE ? name : NULL;
done:
    return status;
}

static sr_status load_switches(sr__loader *ld, const cJSON *const *f, const sr__at *at, sr_tensor_spec *spec) {
    sr_status status = SR_OK;
    if (f[K_INPLACE]) {
        sr__at inplace_at = sr__at_key(at, "inplace");
        SR_TRY(sr__bool(ld, f[K_INPLACE], &inplace_at, &spec->inplace));
    }
    if (f[K_COMPUTE]) {
        sr__at compute_at = sr__at_key(at, "compute");
        bool compute;
        SR_TRY(sr__bool(ld, f[K_COMPUTE], &compute_at, &compute));
        spec->no_compute = !compute;
    }
done:
    return status;
}

static sr_status load_node(sr__loader *ld, const cJSON *item, const sr__at *at, void *user) {
    build *b = user;
    const cJSON *f[K_NODE_COUNT];
    int32_t srcs[SR_MAX_SRC], tensor;
    sr_answers answers = {NULL, NULL, -1, -1};
    sr_status status;
    sr_tensor_spec spec;
    int kind;
    sr_tensor_spec_init(&spec);
    SR_TRY(sr__fields(ld, item, at, node_keys, K_NODE_COUNT, f));
    SR_TRY(load_op(ld, f[K_OP], at, &spec, &kind));
    SR_TRY(load_common(ld, b, f, at, &spec));
    if (f[K_SRC]) {
        sr__at src_at = sr__at_key(at, "src");
        SR_TRY(load_sources(ld, b, f[K_SRC], &src_at, &spec, srcs));
    }
    SR_TRY(load_switches(ld, f, at, &spec));
    SR_TRY(sr__node_words(ld, b->graph, &spec, kind, f[K_PARAMS], f[K_OP_PARAMS], at));
    if (f[K_SUPPORTED_BY] || f[K_OFFLOADED_BY]) {
        SR_TRY(load_answers(ld, f, at, &answers));
        spec.answers = &answers;
    }
    SR_TRY(add_tensor(ld, b, f, at, &spec, &tensor));
done:
    return status;
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

sr_status sr__build_graph(sr__loader *ld, const sr__graph_json *json, sr__variant *v) {
    sr_status status;
    SR_TRY(sr_graph_new(v->name, &v->graph, ld->err));
    build b = {v, v->graph, json, 0};
    ld->barren = 0;
    if (json->tensors) {
        SR_TRY(sr__each_item(ld, json->tensors, &json->tensors_at, load_leaf, &b, &b.made));
    }
    if (json->nodes) {
        SR_TRY(sr__each_item(ld, json->nodes, &json->nodes_at, load_node, &b, &b.made));
    }
done:
    return status;
}
