/*
 * graph.c - building graphs.
 *
 * Layer: graph.  Answers to ggml_new_tensor, ggml_build_forward_expand and struct ggml_cgraph of the reference.  There
 * a graph is pointers into a context; here it is arrays that grow while it is built and are never changed after
 * sr_graph_finish, so that any number of threads may read it.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "graph/graph_impl.h"
#include "graph/op_shapes.h"

enum { KNOWN_FLAGS = SR_FLAG_INPUT | SR_FLAG_OUTPUT | SR_FLAG_PARAM | SR_FLAG_LOSS | SR_FLAG_COMPUTE };

static _Atomic uint64_t last_uid;

typedef struct whole_graph { sr_graph graph; struct sr_graph_impl impl; } whole_graph;

void sr_tensor_spec_init(sr_tensor_spec *spec) {
    *spec = (sr_tensor_spec){.type = -1, .view_of = -1};
}

sr_status sr_graph_new(const char *name, sr_graph **out_graph, sr_error *err) {
    *out_graph = NULL;
    whole_graph *whole = sr__calloc(1, sizeof *whole);
    if (whole == NULL) {
        return sr__fail_memory(err);
    }
    sr_graph *graph = &whole->graph;
    graph->impl = &whole->impl;
    sr__arena_init(&whole->impl.strings, 0);
    graph->name = sr__arena_strdup(&whole->impl.strings, name != NULL ? name : "");
    if (graph->name == NULL) {
        sr_graph_free(graph);
        return sr__fail_memory(err);
    }
    graph->uid = atomic_fetch_add(&last_uid, 1) + 1;
    *out_graph = graph;
    return SR_OK;
}

void sr_graph_free(sr_graph *graph) {
    if (graph == NULL) {
        return;
    }
    struct sr_graph_impl *impl = graph->impl;
    sr__free(impl->tensors);
    sr__free(impl->srcs);
    sr__free(impl->answers);
    sr__free(impl->ids);
    sr__free(impl->answer_slots);
    sr__map_free(&impl->op_names);
    sr__arena_free(&impl->strings);
    sr__free(impl->order);
    sr__free(impl->use_counts);
    sr__free(graph); /* first member of its whole_graph */
}

/* ---- adding a tensor ---- */

static sr_status check_spec(const sr__draft *draft) {
    const sr_tensor_spec *spec = draft->spec;
    sr_error *err = draft->err;
    if (draft->graph->impl->finished) {
        return sr__fail(err, SR_INVALID, "the graph is finished, '%s' cannot be added", draft->id);
    }
    if (draft->graph->n_tensors == INT32_MAX) {
        return sr__fail(err, SR_LIMIT, "a graph cannot have more than %d tensors", INT32_MAX);
    }
    if (spec->op < 0 || spec->op > SR_OP_OPAQUE) {
        return sr__fail(err, SR_INVALID, "%d is not an op ('%s')", spec->op, draft->id);
    }
    if (spec->op == SR_OP_OPAQUE && (spec->op_name == NULL || spec->op_name[0] == '\0')) {
        return sr__fail(err, SR_INVALID, "the op of '%s' has no name", draft->id);
    }
    if (spec->type != -1 && sr_type_get(spec->type)->block == 0) {
        return sr__fail(err, SR_INVALID, "%d is not a type ('%s')", spec->type, draft->id);
    }
    if (spec->n_dims < 0 || spec->n_dims > SR_MAX_DIMS) {
        return sr__fail(err, SR_INVALID, "'%s' has %d extents, at most %d are possible", draft->id, spec->n_dims,
                        SR_MAX_DIMS);
    }
    if ((spec->flags & ~(unsigned)KNOWN_FLAGS) != 0) {
        return sr__fail(err, SR_INVALID, "'%s' has unknown flags 0x%x", draft->id, spec->flags);
    }
    return SR_OK;
}

static sr_status check_n_src(const sr__draft *draft, const char *op, int min, int max) {
    int n = draft->t.n_src;
    if (n > max) {
        return sr__fail(draft->err, SR_INVALID, "%s takes at most %d source%s, '%s' has %d", op, max,
                        max == 1 ? "" : "s", draft->id, n);
    }
    for (int j = 0; j < min; j++) {
        if (j >= n || draft->srcs[j] < 0) {
            return sr__fail(draft->err, SR_INVALID, "%s needs source %d, '%s' has none there", op, j, draft->id);
        }
    }
    return SR_OK;
}

static sr_status collect_sources(sr__draft *draft) {
    const sr_tensor_spec *spec = draft->spec;
    const sr__op *op = sr__op_get(spec->op);
    const char *name = op != NULL ? op->info.name : spec->op_name;
    int32_t self = draft->graph->n_tensors;
    int n = spec->n_src;
    if (n < 0 || n > SR_MAX_SRC) {
        return sr__fail(draft->err, SR_INVALID, "'%s' has %d sources, at most %d are possible", draft->id, n,
                        SR_MAX_SRC);
    }
    /* Empty places at the end say nothing. */
    while (n > 0 && spec->srcs[n - 1] == -1) {
        n--;
    }
    for (int j = 0; j < n; j++) {
        int32_t s = spec->srcs[j] == SR_SELF ? self : spec->srcs[j];
        if (s == self && !(strcmp(name, "CPY") == 0 && j == 1)) { /* an opaque CPY may, too */
            return sr__fail(draft->err, SR_INVALID, "'%s' is its own source: only a CPY may be, as its destination",
                            draft->id);
        }
        if (s < -1 || s > self) {
            return sr__fail(draft->err, SR_INVALID, "source %d of '%s' is tensor %d, which is not there yet", j,
                            draft->id, s);
        }
        draft->srcs[j] = s;
    }
    draft->t.n_src = (uint8_t)n;
    if (spec->op == SR_OP_NONE && n > 0) {
        return sr__fail(draft->err, SR_INVALID, "'%s' is a leaf and cannot have sources", draft->id);
    }
    return check_n_src(draft, name, op != NULL ? op->info.min_src : 0, op != NULL ? op->info.max_src : SR_MAX_SRC);
}

/* Ops that keep "in place" in a word as well: the kernel reads the word, so it has to agree with the view. */
static int inplace_word(int op) {
    switch (op) {
        case SR_OP_ACC:
        case SR_OP_SET: return 4;
        case SR_OP_ADD_REL_POS: return 0;
        default: return -1;
    }
}

/* Whose storage the result shares by what it is, apart from an explicit view. */
static sr_status find_followed(sr__draft *draft) {
    const sr_tensor_spec *spec = draft->spec;
    const sr_op_info *info = sr_op_get(spec->op);
    int word = inplace_word(spec->op);
    bool inplace = spec->inplace || (word >= 0 && spec->op_params[word] != 0 && spec->view_of < 0);
    draft->follows = -1;
    memcpy(draft->t.op_params, spec->op_params, sizeof draft->t.op_params);
    if (info != NULL && info->view_src >= 0) {
        int32_t s = draft->srcs[info->view_src];
        draft->follows = s == draft->graph->n_tensors ? -1 : s;
        inplace = inplace && info->view_src != 0;
    }
    if (!inplace) {
        return SR_OK;
    }
    bool can = info == NULL || info->can_inplace;
    if (!can || (spec->op == SR_OP_UNARY && spec->op_params[0] == SR_UNARY_XIELU)) {
        return sr__fail(draft->err, SR_INVALID, "%s has no in-place form ('%s')", sr_tensor_op_desc(&draft->t),
                        draft->id);
    }
    if (draft->t.n_src == 0 || draft->srcs[0] < 0) {
        return sr__fail(draft->err, SR_INVALID, "'%s' is in place but has no first source", draft->id);
    }
    draft->follows = draft->srcs[0];
    if (word >= 0) {
        draft->t.op_params[word] = 1;
    }
    return SR_OK;
}

/* In place means: as the first source is. */
static sr_status check_inplace(const sr__draft *draft) {
    const sr_tensor *t = &draft->t;
    if (!draft->spec->inplace || draft->follows < 0) {
        return SR_OK;
    }
    const sr_tensor *of = &draft->graph->tensors[draft->follows];
    if (t->type != of->type || !sr_tensor_same_shape(t, of)) {
        return sr__fail(draft->err, SR_INVALID, "'%s' is in place but is %s %s, not %s %s as its first source '%s'",
                        draft->id, sr_type_get(t->type)->name, sr__extents_text(t->ne).text,
                        sr_type_get(of->type)->name, sr__extents_text(of->ne).text, of->id);
    }
    return SR_OK;
}

/* Bytes of a name that are shown: the reference's 63, less what would cut a UTF-8 sequence. */
static size_t shown_length(const char *name) {
    size_t n = strnlen(name, SR_MAX_NAME + 1);
    if (n > SR_MAX_NAME) {
        n = SR_MAX_NAME;
        while (n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80) {
            n--;
        }
    }
    return n;
}

/* Copies id and name; one string where they are the same. */
static sr_status copy_names(sr__draft *draft) {
    const sr_tensor_spec *spec = draft->spec;
    sr__arena *strings = &draft->graph->impl->strings;
    const char *name = spec->name != NULL ? spec->name : spec->id != NULL ? spec->id : "";
    size_t n = shown_length(name);
    char *id = sr__arena_strdup(strings, draft->id);
    if (id == NULL) {
        return sr__fail_memory(draft->err);
    }
    draft->t.id = id;
    draft->t.name = id;
    if (strncmp(id, name, n) != 0 || id[n] != '\0') {
        draft->t.name = sr__arena_strndup(strings, name, n);
        if (draft->t.name == NULL) {
            return sr__fail_memory(draft->err);
        }
    }
    return SR_OK;
}

/* Makes room first and changes the graph last, so that a failure leaves the graph as it was. */
static sr_status commit(sr__draft *draft) {
    sr_graph *graph = draft->graph;
    struct sr_graph_impl *impl = graph->impl;
    sr_tensor *t = &draft->t;
    sr_status status = SR_OK;
    size_t n_tensors = (size_t)graph->n_tensors, n_srcs = (size_t)graph->n_srcs;
    if (n_srcs + t->n_src > INT32_MAX) {
        return sr__fail(draft->err, SR_LIMIT, "a graph cannot have more than %d sources", INT32_MAX);
    }
    if (sr__graph_ids_find(graph, draft->id, draft->hash) >= 0) {
        return sr__fail(draft->err, SR_INVALID, "id '%s' is used twice", draft->id);
    }
    bool room = sr__grow(&impl->tensors, &impl->tensors_cap, n_tensors + 1, sizeof *impl->tensors);
    graph->tensors = impl->tensors;
    room = room && sr__grow(&impl->srcs, &impl->srcs_cap, n_srcs + t->n_src, sizeof *impl->srcs);
    graph->srcs = impl->srcs;
    if (!room || !sr__graph_ids_reserve(graph)) {
        return sr__fail_memory(draft->err);
    }
    SR_TRY(copy_names(draft));
    SR_TRY(sr__graph_intern_answers(graph, draft->spec->answers, &t->answers, draft->err));
    if (t->op == SR_OP_OPAQUE) {
        SR_TRY(sr__graph_intern_op_name(graph, draft->spec->op_name, &t->op_name, draft->err));
    }
    t->src_begin = graph->n_srcs;
    for (int j = 0; j < t->n_src; j++) {
        impl->srcs[graph->n_srcs++] = draft->srcs[j];
    }
    memcpy(&impl->tensors[n_tensors], t, sizeof *t);
    sr__graph_ids_insert(graph, draft->hash, graph->n_tensors);
    graph->n_tensors++;
    if (t->op != SR_OP_NONE) {
        impl->n_ops++;
    } else if ((t->flags & SR_FLAG_PARAM) != 0) {
        impl->n_params++;
    } else {
        impl->n_leafs++;
    }
done:
    return status;
}

static void draft_init(sr__draft *draft, sr_graph *graph, const sr_tensor_spec *spec, sr_error *err) {
    draft->graph = graph;
    draft->spec = spec;
    draft->err = err;
    draft->id = spec->id != NULL ? spec->id : spec->name;
    if (draft->id == NULL || draft->id[0] == '\0') {
        snprintf(draft->own_id, sizeof draft->own_id, "#%d", graph->n_tensors);
        draft->id = draft->own_id;
    }
    draft->hash = sr__graph_ids_hash(graph, draft->id);
    draft->follows = -1;
    draft->t = (sr_tensor){
        .op = (uint8_t)spec->op,
        .flags = (uint8_t)spec->flags,
        .view_src = -1,
        .class_id = -1,
        .buffer = spec->buffer,
        .buffer_offset = spec->buffer_offset,
        .answers = -1,
        .node = -1,
        .op_name = spec->op == SR_OP_OPAQUE ? spec->op_name : NULL,
    };
    draft->t.op_params[0] = spec->op_params[0];
    if (spec->op != SR_OP_NONE) {
        draft->t.flags = (uint8_t)(spec->no_compute ? spec->flags & ~(unsigned)SR_FLAG_COMPUTE
                                                    : spec->flags | SR_FLAG_COMPUTE);
    }
}

sr_status sr_graph_add(sr_graph *graph, const sr_tensor_spec *spec, int32_t *out_tensor, sr_error *err) {
    sr__draft draft;
    sr_status status;
    draft_init(&draft, graph, spec, err);
    SR_TRY(check_spec(&draft));
    SR_TRY(collect_sources(&draft));
    SR_TRY(find_followed(&draft));
    SR_TRY(sr__draft_shape(&draft));
    SR_TRY(check_inplace(&draft));
    SR_TRY(sr__draft_view(&draft));
    SR_TRY(sr__draft_layout(&draft));
    SR_TRY(commit(&draft));
    if (out_tensor != NULL) {
        *out_tensor = graph->n_tensors - 1;
    }
done:
    if (status == SR_INVALID) {
        sr__error_text(err, "tensor", draft.id);
    }
    return status;
}

void sr_graph_place(sr_graph *graph, int32_t tensor, struct sr_buffer *buffer, size_t offset) {
    struct sr_graph_impl *impl = graph->impl;
    if (!impl->finished && tensor >= 0 && tensor < graph->n_tensors && impl->tensors[tensor].view_src < 0) {
        impl->tensors[tensor].buffer = buffer;
        impl->tensors[tensor].buffer_offset = offset;
    }
}

/* ---- finishing ---- */

static sr_status order_tensors(sr_graph *graph, sr_error *err) {
    struct sr_graph_impl *impl = graph->impl;
    int32_t leaf = 0, param = 0, node = impl->n_params;
    impl->order = sr__malloc((size_t)graph->n_tensors * sizeof *impl->order + 1);
    if (impl->order == NULL) {
        return sr__fail_memory(err);
    }
    int32_t *nodes = impl->order + impl->n_leafs;
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        sr_tensor *t = &impl->tensors[i];
        if (t->op != SR_OP_NONE) {
            t->node = node++;
            nodes[t->node] = i;
        } else if ((t->flags & SR_FLAG_PARAM) != 0) {
            t->node = param++;
            nodes[t->node] = i;
        } else {
            impl->order[leaf++] = i;
        }
    }
    graph->leafs = impl->order;
    graph->n_leafs = leaf;
    graph->nodes = nodes;
    graph->n_nodes = node;
    return SR_OK;
}

static sr_status count_uses(sr_graph *graph, sr_error *err) {
    struct sr_graph_impl *impl = graph->impl;
    impl->use_counts = sr__calloc((size_t)graph->n_tensors + 1, sizeof *impl->use_counts);
    if (impl->use_counts == NULL) {
        return sr__fail_memory(err);
    }
    /* Every source place belongs to a node. */
    for (int32_t i = 0; i < graph->n_srcs; i++) {
        if (impl->srcs[i] >= 0) {
            impl->use_counts[impl->srcs[i]]++;
        }
    }
    graph->use_counts = impl->use_counts;
    return SR_OK;
}

sr_status sr_graph_finish(sr_graph *graph, sr_error *err) {
    struct sr_graph_impl *impl = graph->impl;
    sr_status status = SR_OK;
    if (impl->finished) {
        return SR_OK;
    }
    SR_TRY(order_tensors(graph, err));
    SR_TRY(count_uses(graph, err));
    SR_TRY(sr__graph_classify(graph, err));
    impl->finished = true;
done:
    if (status != SR_OK) {
        sr__free(impl->order);
        sr__free(impl->use_counts);
        impl->order = impl->use_counts = NULL;
        graph->leafs = graph->nodes = graph->use_counts = NULL;
        graph->n_leafs = graph->n_nodes = 0;
    }
    return status;
}

sr_graph_view sr_graph_whole(const sr_graph *graph) {
    return (sr_graph_view){
        .graph = graph,
        .srcs = graph->srcs,
        .nodes = graph->nodes,
        .n_nodes = graph->n_nodes,
        .leafs = graph->leafs,
        .n_leafs = graph->n_leafs,
    };
}
