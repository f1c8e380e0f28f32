/*
 * lint_limits.c - how near a run is to the limits of the scheduler, or by how much it is over.
 *
 * Layer: analyze.  Answers to the constants of the reference and to its assertions about them.  From 90% of a limit on;
 * backends, copies and chunks only when over.  A run that failed at a limit tells of it through its error.
 */
#include <inttypes.h>

#include "alloc/graph_allocator.h"
#include "analyze/finding.h"

enum { REFERENCE_COPIES = 4 };

typedef struct use {
    const char *what;      /* "graph size" */
    const char *things;    /* "nodes and leafs"; NULL: the same */
    int64_t used, limit;
    int32_t tensor;        /* the last, or the first over; -1: none */
    const char *name;      /* instead of a tensor of the graph, or NULL */
    int32_t split;         /* or -1 */
    bool fails;            /* the run failed because of it */
    const char *hint;
} use;

static bool is_near(int64_t used, int64_t limit) { return limit > 0 && 10 * used >= 9 * limit; }

static sr_severity severity_of(const use *u) {
    return u->fails ? SR_SEVERITY_ERROR : u->used >= u->limit ? SR_SEVERITY_WARNING : SR_SEVERITY_INFO;
}

static bool report(const sr_layout *layout, const use *u, sr_findings *findings) {
    sr_finding *f = sr__finding_add(findings, "limits", severity_of(u));
    const char *name = u->name != NULL ? u->name : u->tensor >= 0 ? sr__label(layout->graph, u->tensor) : NULL;
    const char *relation = u->used > u->limit ? "over" : u->used == u->limit ? "at" : "near";
    sr__str say = {0};
    if (f == NULL) {
        return false;
    }
    sr__str_printf(&say, "%" PRId64 " %s, %s the limit of %" PRId64, u->used, u->things != NULL ? u->things : u->what,
                   relation, u->limit);
    if (u->split >= 0) {
        sr__str_printf(&say, ", in split %d", (int)u->split);
    }
    if (name != NULL) {
        sr__str_printf(&say, ": '%s' is the %s", name, u->used > u->limit ? "first over" : "last");
    }
    const bool ok = !say.failed && (name == NULL || sr__finding_tensor(f, name)) &&
                    sr__finding_say(f, "%s", sr__str_text(&say)) && sr__finding_hint(f, "%s", u->hint) &&
                    sr__finding_text(f, "what", u->what) && sr__finding_number(f, "used", u->used) &&
                    sr__finding_number(f, "limit", u->limit) &&
                    (u->split < 0 || sr__finding_number(f, "split", u->split));
    sr__str_free(&say);
    return ok;
}

/* ---- split inputs ------------------------------------------------------------------------------------------------ */

static const char inputs_hint[] =
    "order the graph so that a split needs fewer tensors of other backends, keep them together in one buffer, or raise "
    "the limit with --max-split-inputs; rules from 2026-08-04 on have none";

static bool check_inputs(const sr_lint_input *input, sr_findings *findings) {
    const sr_layout *layout = input->layout;
    const int limit = input->params->max_split_inputs;
    bool ok = true;
    for (int32_t s = 0; s < layout->n_splits && ok; s++) {
        const sr_split *split = &layout->splits[s];
        if (is_near(split->n_inputs, limit)) {
            const int32_t place = split->n_inputs > limit ? limit : split->n_inputs - 1;
            const use u = {.what = "split inputs", .used = split->n_inputs, .limit = limit,
                           .tensor = layout->inputs[split->inputs_begin + place], .split = s, .hint = inputs_hint};
            ok = report(layout, &u, findings);
        }
    }
    const int32_t n = layout->n_graph_inputs;
    if (ok && layout->n_copies > 1 && is_near(n, limit)) {
        const use u = {.what = "user inputs with copies", .used = n, .limit = limit,
                       .tensor = layout->graph_inputs[n > limit ? limit : n - 1], .split = -1, .hint = inputs_hint};
        ok = report(layout, &u, findings);
    }
    return ok;
}

/* ---- splits and sizes -------------------------------------------------------------------------------------------- */

static bool check_splits(const sr_lint_input *input, sr_findings *findings) {
    const sr_layout *layout = input->layout;
    const int64_t limit =
        input->params->rules.max_splits > 0 ? input->params->rules.max_splits : input->params->graph_size;
    if (!is_near(layout->n_splits, limit)) {
        return true;
    }
    const int64_t place = layout->n_splits > limit ? limit : layout->n_splits - 1;
    const use u = {.what = "splits",
                   .used = layout->n_splits,
                   .limit = limit,
                   .tensor = layout->graph->nodes[layout->splits[place].start],
                   .split = -1,
                   .hint = "see the findings of kind fallback, order and weight-copy: they say which splits can be "
                           "saved"};
    return report(layout, &u, findings);
}

/* Leafs and nodes as they are counted: leafs first. */
static int32_t counted_tensor(const sr_graph *graph, int64_t place) {
    return place < graph->n_leafs ? graph->leafs[place] : graph->nodes[place - graph->n_leafs];
}

static const char size_hint[] =
    "make the scheduler for the largest graph: count the nodes of adapters (LoRA), too; graph_size sets it";

static bool check_graph_size(const sr_lint_input *input, sr_findings *findings) {
    const sr_graph *graph = input->layout->graph;
    const int64_t used = (int64_t)graph->n_nodes + graph->n_leafs;
    const int64_t limit = sr_sched_graph_limit(input->params->graph_size);
    if (!is_near(used, limit)) {
        return true;
    }
    const use u = {.what = "graph size", .things = "nodes and leafs", .used = used, .limit = limit, .split = -1,
                   .tensor = counted_tensor(graph, used > limit ? limit : used - 1), .hint = size_hint};
    return report(input->layout, &u, findings);
}

/* ---- runs that failed -------------------------------------------------------------------------------------------- */

static int64_t number_of(const sr_error *error, const char *key, int64_t missing) {
    const sr_error_detail *detail = sr_error_find(error, key);
    return detail != NULL && detail->text == NULL ? detail->number : missing;
}

static const char *text_of(const sr_error *error, const char *key) {
    const sr_error_detail *detail = sr_error_find(error, key);
    return detail != NULL ? detail->text : NULL;
}

static bool in_list(const int32_t *list, int32_t n, int32_t tensor) {
    for (int32_t i = 0; i < n; i++) {
        if (list[i] == tensor) {
            return true;
        }
    }
    return false;
}

static bool is_copied_to(const sr_layout *layout, int32_t tensor, int backend) {
    for (int32_t s = 0; s < layout->n_splits; s++) {
        const sr_split *split = &layout->splits[s];
        if (split->backend == backend && in_list(&layout->inputs[split->inputs_begin], split->n_inputs, tensor)) {
            return true;
        }
    }
    return false;
}

/* Whether a source would have been one input more of the last split. */
static bool overflows(const sr_layout *layout, int32_t source, int backend) {
    const sr_buffer *buffer = sr__home_buffer(layout->graph, source);
    const int home = layout->backend_of[source];
    const sr_buffer_type *type = buffer != NULL ? buffer->type : home >= 0 ? layout->buffer_types[home] : NULL;
    return home != backend && type != NULL && !sr_backend_supports_buffer_type(layout->backends[backend], type) &&
           !is_copied_to(layout, source, backend);
}

/* The source that did not fit, from the node that the error names; -1: not found. */
static int32_t find_overflow(const sr_layout *layout, const char *name, bool of_graph_inputs) {
    const sr_graph *graph = layout->graph;
    const sr_split *last = &layout->splits[layout->n_splits - 1];
    for (int32_t i = last->start; i < graph->n_nodes; i++) {
        const int32_t node = graph->nodes[i];
        if (sr_op_is_view(graph->tensors[node].op) || strcmp(sr__label(graph, node), name) != 0) {
            continue;
        }
        for (int j = 0; j < graph->tensors[node].n_src; j++) {
            const int32_t source = sr__source_of(graph, node, j);
            const bool found = source >= 0 && (of_graph_inputs
                                                   ? (graph->tensors[source].flags & SR_FLAG_INPUT) &&
                                                         !in_list(layout->graph_inputs, layout->n_graph_inputs, source)
                                                   : overflows(layout, source, last->backend));
            if (found) {
                return source;
            }
        }
    }
    return -1;
}

static bool report_inputs_error(const sr_lint_input *input, sr_findings *findings) {
    const sr_layout *layout = input->layout;
    const char *node = text_of(input->error, "node");
    use u = {.used = number_of(input->error, "count", 0), .limit = number_of(input->error, "limit", 0), .tensor = -1,
             .split = (int32_t)number_of(input->error, "split", -1), .fails = true, .hint = inputs_hint};
    const bool of_graph_inputs = layout->n_graph_inputs >= u.limit;
    u.what = of_graph_inputs ? "user inputs with copies" : "split inputs";
    if (node != NULL && layout->n_splits > 0) {
        u.tensor = find_overflow(layout, node, of_graph_inputs);
    }
    if (u.tensor < 0) {
        u.name = node;
    }
    if (!report(layout, &u, findings)) {
        return false;
    }
    sr_finding *f = &findings->items[findings->n - 1];
    return node == NULL || (sr__finding_tensor(f, node) && sr__finding_text(f, "node", node));
}

static bool report_error(const sr_lint_input *input, sr_findings *findings) {
    const sr_layout *layout = input->layout;
    const sr_error *error = input->error;
    const int64_t used = number_of(error, "count", number_of(error, "needed", 0)), limit = number_of(error, "limit", 0);
    use u = {.used = used, .limit = limit, .tensor = -1, .split = -1, .fails = true};
    const bool has_graph = layout != NULL && layout->graph != NULL;
    switch (error->status) {
    case SR_SPLIT_INPUTS:
        return !has_graph || report_inputs_error(input, findings);
    case SR_GRAPH_SIZE:
        u.what = "graph size";
        u.things = "nodes and leafs";
        u.tensor = has_graph && limit < (int64_t)layout->graph->n_leafs + layout->graph->n_nodes
                       ? counted_tensor(layout->graph, limit)
                       : -1;
        u.hint = size_hint;
        return report(layout, &u, findings);
    case SR_BACKENDS:
        u.what = "backends";
        u.hint = "leave devices out, or raise the limit with --max-backends";
        return report(layout, &u, findings);
    case SR_LIMIT:
        u.what = "splits";
        u.used = limit + 1;
        u.name = text_of(error, "node");
        u.hint = "later rules have no such limit: --rules dynamic-splits";
        return limit <= 0 || report(layout, &u, findings);
    default:
        return true;
    }
}

static bool check_copies(const sr_lint_input *input, sr_findings *findings) {
    if (input->params->n_copies <= REFERENCE_COPIES) {
        return true;
    }
    const use u = {.what = "copies",
                   .used = input->params->n_copies,
                   .limit = REFERENCE_COPIES,
                   .tensor = -1,
                   .split = -1,
                   .hint = "the reference has at most 4; more are possible here, and cost memory"};
    return report(input->layout, &u, findings);
}

/* The last chunk takes what the others could not, and may then be larger than any buffer of its type. */
static bool check_chunks(const sr_lint_input *input, sr_findings *findings) {
    const sr_graph_allocator *allocator = input->layout->allocator;
    bool ok = true;
    for (int i = 0; allocator != NULL && i < allocator->n_memories && ok; i++) {
        const sr__dynamic *d = &allocator->memories[i].dynamic;
        const size_t last = d->n_chunks > 0 ? d->chunks[d->n_chunks - 1].high_water : 0;
        if (d->n_chunks < d->max_chunks || last <= d->max_size) {
            continue;
        }
        const use u = {.what = "chunks",
                       .limit = d->max_chunks,
                       .tensor = -1,
                       .split = -1,
                       .used = d->max_chunks - 1 + (int64_t)((last - 1) / d->max_size + 1),
                       .fails = input->error != NULL && input->error->status == SR_ALLOCATION,
                       .hint = "the largest buffer of this type is too small for the graph: use smaller batches, or "
                               "fewer "
                               "pipeline copies"};
        ok = report(input->layout, &u, findings) &&
             sr__finding_text(&findings->items[findings->n - 1], "buffer_type", allocator->memories[i].type->name);
    }
    return ok;
}

sr_status sr__lint_limits(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    const sr_layout *layout = input->layout;
    const bool has_graph = layout != NULL && layout->graph != NULL;
    bool ok = true;
    if (input->error != NULL && input->error->status != SR_OK) {
        ok = report_error(input, findings);
    } else if (has_graph) {
        ok = check_inputs(input, findings) && check_splits(input, findings) && check_graph_size(input, findings) &&
             check_copies(input, findings);
    }
    ok = ok && (!has_graph || check_chunks(input, findings));
    return ok ? SR_OK : sr__fail_memory(err);
}
