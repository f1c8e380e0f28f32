/*
 * lint_fallback.c - ops that a GPU refused and that a backend below it got.
 *
 * Layer: analyze.  Not every refusal matters: a node between two nodes of the CPU is never offered to a GPU.  So the
 * passes are gone through again, and a refusal counts where a GPU would have got the node.
 */
#include "analyze/finding.h"

/* Nodes of one op with the same types of sources. */
typedef struct group {
    int32_t first;       /* node */
    int32_t count;
    int16_t refused_by, backend; /* of the first */
    int64_t splits;
    uint64_t bytes;
    char *types;
} group;

typedef struct search {
    const sr_layout *layout;
    const sr_graph *graph;
    sr__answers answers;
    int16_t *at;         /* by tensor: its backend so far */
    int16_t *refused_by; /* by tensor: the highest GPU whose refusal mattered, -1 */
    int32_t *group_of;   /* by class: group, -1 */
    group *groups;
    size_t cap;
    int32_t n_groups;
} search;

static bool is_gpu(const search *s, int backend) {
    const sr_device_type type = s->layout->backends[backend]->device->type;
    return type == SR_DEVICE_GPU || type == SR_DEVICE_IGPU;
}

static void note_refusal(search *s, int32_t node, int backend) {
    int16_t *by = &s->refused_by[node];
    if (is_gpu(s, backend) && (*by < 0 || backend < *by)) {
        *by = (int16_t)backend;
    }
}

/* ---- pass 1 ------------------------------------------------------------------------------------------------------ */

static bool ignores_weights(const search *s, const sr_tensor *t) {
    const sr_sched_params *params = s->layout->params;
    return t->op == SR_OP_ROPE ||
           (t->op == SR_OP_FLASH_ATTN_EXT && params != NULL && params->rules.attention_ignores_weights);
}

/* The buffer whose type decides in pass 1: its own, or that of its first weights. */
static const sr_buffer *deciding_buffer(const search *s, int32_t node) {
    const sr_tensor *t = &s->graph->tensors[node];
    const sr_buffer *own = sr__home_buffer(s->graph, node);
    if (own != NULL || (t->flags & SR_FLAG_INPUT) || ignores_weights(s, t)) {
        return own;
    }
    for (int j = 0; j < t->n_src; j++) {
        const int32_t source = sr__source_of(s->graph, node, j);
        const sr_buffer *buffer = source >= 0 ? s->graph->tensors[source].buffer : NULL;
        if (buffer != NULL && buffer->usage == SR_USAGE_WEIGHTS) {
            return buffer;
        }
    }
    return NULL;
}

/* The highest backend that takes both the buffer type and the op; GPUs passed over on the way have refused the op. */
static int look_up(search *s, int32_t node, const sr_buffer_type *type) {
    for (int b = 0; b < s->layout->n_backends; b++) {
        if (!sr_backend_supports_buffer_type(s->layout->backends[b], type)) {
            continue;
        }
        if (sr__answers_supports(&s->answers, node, b)) {
            return b;
        }
        note_refusal(s, node, b);
    }
    return -1;
}

/* Where pass 1 left a node: its cause tells, unless a later pass has set another one. */
static int after_pass_1(search *s, int32_t node) {
    const int cause = s->layout->cause_of[node];
    const int backend = s->layout->backend_of[node];
    switch (cause) {
    case SR_CAUSE_USER:
    case SR_CAUSE_INPUT:
    case SR_CAUSE_OFFLOAD:
    case SR_CAUSE_COPY:
        return backend;
    default:
        break;
    }
    const sr_buffer *buffer = deciding_buffer(s, node);
    return buffer != NULL ? look_up(s, node, buffer->type) : -1;
}

/* ---- passes 2 and 3 ---------------------------------------------------------------------------------------------- */

static void spread(search *s, bool up, bool skip_last) {
    const sr_graph *graph = s->graph;
    const int last = s->layout->n_backends - 1;
    int current = -1;
    for (int32_t k = 0; k < graph->n_nodes; k++) {
        const int32_t node = graph->nodes[up ? graph->n_nodes - 1 - k : k];
        if (sr_op_is_view(graph->tensors[node].op)) {
            continue;
        }
        if (s->at[node] >= 0) {
            current = skip_last && s->at[node] == last ? -1 : s->at[node];
        } else if (current >= 0 && sr__answers_supports(&s->answers, node, current)) {
            s->at[node] = (int16_t)current;
        } else if (current >= 0) {
            note_refusal(s, node, current);
        }
    }
}

/* Whether a backend reads a source where it was when pass 3 came to the node. */
static bool could_read(const search *s, int32_t node, int32_t source, int backend) {
    const sr_layout *layout = s->layout;
    const sr_buffer *buffer = sr__home_buffer(s->graph, source);
    const sr_tensor *t = &s->graph->tensors[sr__root_of(s->graph, source)];
    if (buffer != NULL) {
        return sr_backend_supports_buffer_type(layout->backends[backend], buffer->type);
    }
    const bool known = t->node >= 0 ? t->node < s->graph->tensors[node].node : (t->flags & SR_FLAG_INPUT) != 0;
    const int home = layout->backend_of[sr__root_of(s->graph, source)];
    return known && home >= 0 && sr_backend_supports_buffer_type(layout->backends[backend], layout->buffer_types[home]);
}

static int count_readable(const search *s, int32_t node, int backend) {
    int n = 0;
    for (int j = 0; j < s->graph->tensors[node].n_src; j++) {
        const int32_t source = sr__source_of(s->graph, node, j);
        n += source >= 0 && could_read(s, node, source, backend);
    }
    return n;
}

/* A node that nobody took by its neighbours goes to who can read most of its sources: would that be a GPU above? */
static void go_through_pass_3(search *s, int32_t node) {
    const int chosen = s->layout->backend_of[node];
    const int n = chosen > 0 ? count_readable(s, node, chosen) : 0;
    for (int b = 0; b < chosen; b++) {
        if (is_gpu(s, b) && !sr__answers_supports(&s->answers, node, b) && count_readable(s, node, b) >= n) {
            note_refusal(s, node, b);
            return;
        }
    }
}

/* ---- what a refusal explains ------------------------------------------------------------------------------------- */

/* Whether the node is where its state is: pre-allocated memory that the GPU cannot use, but its backend can. */
static bool follows_memory(const search *s, int32_t node) {
    const sr_layout *layout = s->layout;
    const sr_backend *gpu = layout->backends[s->refused_by[node]], *own = layout->backends[layout->backend_of[node]];
    for (int j = -1; j < s->graph->tensors[node].n_src; j++) {
        const int32_t tensor = j < 0 ? node : sr__source_of(s->graph, node, j);
        const sr_buffer *buffer = tensor >= 0 ? sr__home_buffer(s->graph, tensor) : NULL;
        if (buffer != NULL && !sr_backend_supports_buffer_type(gpu, buffer->type) &&
            sr_backend_supports_buffer_type(own, buffer->type)) {
            return true;
        }
    }
    return false;
}

static void find_refusals(search *s) {
    const sr_graph *graph = s->graph;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        s->at[graph->nodes[i]] = (int16_t)after_pass_1(s, graph->nodes[i]);
    }
    spread(s, false, true);
    spread(s, true, true);
    spread(s, false, false);
    spread(s, true, false);
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const int32_t node = graph->nodes[i];
        const int backend = s->layout->backend_of[node];
        if (s->at[node] < 0 && sr__works(&graph->tensors[node])) {
            go_through_pass_3(s, node);
        }
        int16_t *by = &s->refused_by[node];
        if (*by >= 0 && (!sr__works(&graph->tensors[node]) || *by >= backend || follows_memory(s, node) ||
                         s->layout->cause_of[node] == SR_CAUSE_USER)) {
            *by = -1; /* nobody below got it */
        }
    }
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static bool same_op(const sr_graph *graph, int32_t a, int32_t b) {
    return strcmp(sr_tensor_op_desc(&graph->tensors[a]), sr_tensor_op_desc(&graph->tensors[b])) == 0;
}

static int32_t find_group(search *s, int32_t node, const char *types) {
    for (int32_t g = 0; g < s->n_groups; g++) {
        if (strcmp(s->groups[g].types, types) == 0 && same_op(s->graph, s->groups[g].first, node)) {
            return g;
        }
    }
    return -1;
}

/* The group of a node, made if it is the first of its kind; -1: out of memory. */
static int32_t group_of(search *s, int32_t node) {
    int32_t *of_class = &s->group_of[s->graph->tensors[node].class_id];
    sr__str types = {0};
    if (*of_class >= 0) {
        return *of_class;
    }
    sr__put_source_types(&types, s->graph, node);
    int32_t g = types.failed ? -1 : find_group(s, node, sr__str_text(&types));
    if (g < 0 && !types.failed && sr__grow(&s->groups, &s->cap, (size_t)s->n_groups + 1, sizeof(*s->groups))) {
        char *copy = sr__strdup(sr__str_text(&types));
        if (copy != NULL) {
            g = s->n_groups++;
            s->groups[g] = (group){.first = node, .refused_by = s->refused_by[node],
                                   .backend = s->layout->backend_of[node], .types = copy};
        }
    }
    sr__str_free(&types);
    *of_class = g;
    return g;
}

static int32_t known_group(const search *s, int32_t node) {
    return s->refused_by[node] >= 0 ? s->group_of[s->graph->tensors[node].class_id] : -1;
}

static bool make_groups(search *s) {
    for (int32_t i = 0; i < s->graph->n_nodes; i++) {
        const int32_t node = s->graph->nodes[i];
        if (s->refused_by[node] >= 0) {
            const int32_t g = group_of(s, node);
            if (g < 0) {
                return false;
            }
            s->groups[g].count++;
        }
    }
    return true;
}

/* ---- costs ------------------------------------------------------------------------------------------------------- */

/* Adds what the border between two neighbours costs a group: a split less if its nodes were on the GPU. */
static void count_border(search *s, int32_t g, int32_t a, int32_t b) {
    if (g < 0) {
        return;
    }
    const int16_t *own = s->layout->backend_of;
    const int16_t first = known_group(s, a) == g ? s->refused_by[a] : own[a];
    const int16_t second = known_group(s, b) == g ? s->refused_by[b] : own[b];
    s->groups[g].splits += (own[a] != own[b]) - (first != second);
}

static void count_splits(search *s) {
    int32_t before = -1;
    for (int32_t i = 0; i < s->graph->n_nodes; i++) {
        const int32_t node = s->graph->nodes[i];
        if (sr_op_is_view(s->graph->tensors[node].op)) {
            continue;
        }
        if (before >= 0) {
            const int32_t g = known_group(s, before);
            count_border(s, g, before, node);
            count_border(s, known_group(s, node) == g ? -1 : known_group(s, node), before, node);
        }
        before = node;
    }
}

/* Every input counts once: for the group that made it, else for the first that reads it. */
static bool count_bytes(search *s) {
    const sr_layout *layout = s->layout;
    int32_t *readers = sr__input_readers(layout);
    if (readers == NULL) {
        return false;
    }
    for (int32_t i = 0; i < layout->n_inputs; i++) {
        int32_t g = known_group(s, sr__root_of(s->graph, layout->inputs[i]));
        if (g < 0 && readers[i] >= 0) {
            g = known_group(s, readers[i]);
        }
        if (g >= 0) {
            s->groups[g].bytes += sr__input_bytes(layout, i);
        }
    }
    sr__free(readers);
    return true;
}

/* ---- findings ---------------------------------------------------------------------------------------------------- */

static bool put_hint(sr_finding *f, const search *s, const group *g) {
    const sr_tensor *t = &s->graph->tensors[g->first];
    const char *gpu = s->layout->backends[g->refused_by]->name;
    const int32_t k = sr__source_of(s->graph, g->first, 1);
    if (t->op == SR_OP_FLASH_ATTN_EXT && k >= 0 && sr_type_get(s->graph->tensors[k].type)->quantized) {
        return sr__finding_hint(f, "use an f16 cache, or attention without FLASH_ATTN_EXT, on %s; or let the attention "
                                   "run where the cache is", gpu);
    }
    return sr__finding_hint(f, "give %s types and extents that it takes for %s, or build this part of the graph from "
                               "ops that it supports", gpu, sr_tensor_op_desc(t));
}

static bool put_tensors(sr_finding *f, const search *s, int32_t g) {
    bool ok = true;
    for (int32_t i = 0; i < s->graph->n_nodes && ok; i++) {
        const int32_t node = s->graph->nodes[i];
        if (known_group(s, node) == g) {
            ok = sr__finding_tensor(f, sr__label(s->graph, node));
        }
    }
    return ok;
}

/* "2 nodes run on CPU instead, for 4 more splits and 1.0 KiB copied per evaluation" */
static void put_cost(sr__str *s, const group *g, const sr_finding *f, const char *own) {
    char bytes[16];
    sr__format_bytes(f->bytes, bytes);
    sr__str_printf(s, "%d node%s on %s instead", (int)g->count, g->count == 1 ? " runs" : "s run", own);
    const char *lead = ", for ";
    if (f->splits > 0) {
        sr__str_printf(s, "%s%d more split%s", lead, (int)f->splits, f->splits == 1 ? "" : "s");
        lead = " and ";
    }
    if (f->bytes > 0) {
        sr__str_printf(s, "%s%s copied per evaluation", lead, bytes);
    }
}

static bool report_group(const search *s, int32_t number, sr_findings *findings) {
    const group *g = &s->groups[number];
    const sr_layout *layout = s->layout;
    const char *op = sr_tensor_op_desc(&s->graph->tensors[g->first]);
    const char *gpu = layout->backends[g->refused_by]->name;
    const char *own = layout->backends[g->backend]->name;
    sr_finding *f = sr__finding_add(findings, "fallback", SR_SEVERITY_WARNING);
    sr__str why = {0}, cost = {0};
    bool ok = f != NULL;
    if (ok) {
        f->bytes = g->bytes;
        f->splits = g->splits > 0 ? (int32_t)g->splits : 0;
        sr__put_refusal(&why, layout, g->first, g->refused_by);
        put_cost(&cost, g, f, own);
        ok = !why.failed && !cost.failed && put_tensors(f, s, number) &&
             sr__finding_say(f, "%s refuses %s of %s (%s): %s", gpu, op, g->types, sr__str_text(&why),
                             sr__str_text(&cost)) &&
             put_hint(f, s, g) && sr__finding_text(f, "op", op) && sr__finding_text(f, "types", g->types) &&
             sr__finding_number(f, "count", g->count) && sr__finding_text(f, "refused_by", gpu) &&
             sr__finding_text(f, "backend", own) && sr__finding_text(f, "reason", sr__str_text(&why));
    }
    sr__str_free(&why);
    sr__str_free(&cost);
    return ok;
}

static bool search_init(search *s, const sr_layout *layout) {
    const size_t n = (size_t)layout->graph->n_tensors + 1;
    const size_t n_classes = (size_t)layout->graph->n_classes + 1;
    *s = (search){.layout = layout, .graph = layout->graph};
    s->at = sr__malloc(n * sizeof(*s->at));
    s->refused_by = sr__malloc(n * sizeof(*s->refused_by));
    s->group_of = sr__malloc(n_classes * sizeof(*s->group_of));
    if (!sr__answers_init(&s->answers, layout) || s->at == NULL || s->refused_by == NULL || s->group_of == NULL) {
        return false;
    }
    memset(s->at, 0xff, n * sizeof(*s->at));
    memset(s->refused_by, 0xff, n * sizeof(*s->refused_by));
    memset(s->group_of, 0xff, n_classes * sizeof(*s->group_of));
    return true;
}

static void search_free(search *s) {
    for (int32_t g = 0; g < s->n_groups; g++) {
        sr__free(s->groups[g].types);
    }
    sr__free(s->groups);
    sr__free(s->at);
    sr__free(s->refused_by);
    sr__free(s->group_of);
    sr__answers_free(&s->answers);
}

sr_status sr__lint_fallback(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    search s;
    bool ok = search_init(&s, input->layout);
    if (ok) {
        find_refusals(&s);
        ok = make_groups(&s);
    }
    if (ok && s.n_groups > 0) {
        count_splits(&s);
        ok = input->layout->n_splits == 0 || count_bytes(&s);
    }
    for (int32_t g = 0; g < s.n_groups && ok; g++) {
        ok = report_group(&s, g, findings);
    }
    search_free(&s);
    return ok ? SR_OK : sr__fail_memory(err);
}
