/*
 * runs_in.c - the graphs and runs of a description: one graph is built for every set of params that runs give it.
 *
 * Layer: describe.  Answers to the loop of an application that decodes batch after batch.  There the graph is built
 * afresh for each; graphs here never change once they are finished, so that runs which would build equal ones
 * share one.
 */
#include "describe/loader.h"

/* A graph of the file. */
typedef struct graph_entry {
    const char *name;
    sr__graph_json json;
    bool used;
} graph_entry;

/* An assignment of the command line. */
typedef struct given_assign {
    const char *node;
    int backend;
    bool used;
} given_assign;

typedef struct runs_state {
    graph_entry *graphs; int n_graphs;
    given_assign *assigns; int n_assigns;
} runs_state;

/* ---- the graphs of the file -------------------------------------------------------------------------------------- */

static sr_status load_graph_entry(sr__loader *ld, const cJSON *json, const sr__at *at, graph_entry *out) {
    static const char *const keys[] = {"tensors", "nodes"};
    const cJSON *fields[2];
    sr_status status;
    sr__at *own_at = sr__arena_alloc(&ld->json, sizeof(*own_at));
    if (!own_at) {
        SR_TRY(sr__no_memory(ld));
    }
    *own_at = *at;
    SR_TRY(sr__fields(ld, json, own_at, keys, 2, fields));
    SR_TRY(sr__keep(ld, json->string, &out->name));
    out->json = (sr__graph_json){fields[0], fields[1], sr__at_key(own_at, keys[0]), sr__at_key(own_at, keys[1])};
    if (fields[0]) {
        SR_TRY(sr__want_array(ld, fields[0], &out->json.tensors_at));
    }
    if (fields[1]) {
        SR_TRY(sr__want_array(ld, fields[1], &out->json.nodes_at));
    }
done:
    return status;
}

static sr_status load_named_graphs(sr__loader *ld, runs_state *rs) {
    const cJSON *json = ld->top.json[SR__TOP_GRAPHS];
    const sr__at *at = &ld->top.at[SR__TOP_GRAPHS];
    sr_status status;
    SR_TRY(sr__no_repeats(ld, json, at));
    ld->d->named_graphs = true;
    rs->graphs = sr__arena_zalloc(&ld->json, ((size_t)cJSON_GetArraySize(json) + 1) * sizeof(*rs->graphs));
    if (!rs->graphs) {
        SR_TRY(sr__no_memory(ld));
    }
    for (const cJSON *child = json->child; child; child = child->next) {
        if (!sr__is_comment(child->string)) {
            sr__at member = sr__at_key(at, child->string);
            SR_TRY(load_graph_entry(ld, child, &member, &rs->graphs[rs->n_graphs]));
            rs->n_graphs++;
        }
    }
    if (rs->n_graphs == 0) {
        SR_TRY(sr__wrong(ld, at, "there is no graph"));
    }
done:
    return status;
}

static sr_status load_graphs(sr__loader *ld, runs_state *rs) {
    const sr__top *top = &ld->top;
    const cJSON *tensors = top->json[SR__TOP_TENSORS], *nodes = top->json[SR__TOP_NODES];
    sr_status status;
    if (top->json[SR__TOP_GRAPHS] && (tensors || nodes)) {
        SR_TRY(sr__wrong_key(ld, &top->at[SR__TOP_GRAPHS], "\"graphs\" stands beside \"%s\": give one or the other",
                             tensors ? "tensors" : "nodes"));
    }
    if (top->json[SR__TOP_GRAPHS]) {
        return load_named_graphs(ld, rs);
    }
    if (!tensors && !nodes) {
        SR_TRY(sr__wrong(ld, &top->roots[0], "there is no graph: neither \"graphs\" nor \"nodes\" is given"));
    }
    rs->graphs = sr__arena_zalloc(&ld->json, sizeof(*rs->graphs));
    if (!rs->graphs) {
        SR_TRY(sr__no_memory(ld));
    }
    rs->n_graphs = 1;
    rs->graphs[0].name = "";
    rs->graphs[0].json = (sr__graph_json){tensors, nodes, top->at[SR__TOP_TENSORS], top->at[SR__TOP_NODES]};
    if (tensors) {
        SR_TRY(sr__want_array(ld, tensors, &top->at[SR__TOP_TENSORS]));
    }
    if (nodes) {
        SR_TRY(sr__want_array(ld, nodes, &top->at[SR__TOP_NODES]));
    }
    status = SR_OK;
done:
    return status;
}

/* ---- assignments of the command line ----------------------------------------------------------------------------- */

static sr_status unknown_given_backend(sr__loader *ld, const char *text, const char *name) {
    const sr_machine *machine = ld->d->machine;
    const char **names = sr__arena_alloc(&ld->json, ((size_t)machine->n_backends + 1) * sizeof(*names));
    if (!names) {
        return sr__no_memory(ld);
    }
    for (int i = 0; i < machine->n_backends; i++) {
        names[i] = machine->backends[i]->name;
    }
    const char *near = sr__nearest(name, names, machine->n_backends);
    return sr__fail(ld->err, SR_USAGE, "the assignment '%s': unknown backend '%s'%s%s%s", text, name,
                    near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
}

static sr_status load_given_assigns(sr__loader *ld, runs_state *rs) {
    rs->assigns = sr__arena_zalloc(&ld->json, ((size_t)ld->options->n_assigns + 1) * sizeof(*rs->assigns));
    if (!rs->assigns) {
        return sr__no_memory(ld);
    }
    for (int i = 0; i < ld->options->n_assigns; i++) {
        const char *text = ld->options->assigns[i], *equals = strrchr(text, '=');
        given_assign *given = &rs->assigns[rs->n_assigns++];
        if (!equals || equals == text) {
            return sr__fail(ld->err, SR_USAGE, "expected NODE=BACKEND for an assignment, not '%s'", text);
        }
        given->node = sr__arena_strndup(&ld->json, text, (size_t)(equals - text));
        if (!given->node) {
            return sr__no_memory(ld);
        }
        given->backend = sr_machine_backend(ld->d->machine, equals + 1);
        if (given->backend < 0) {
            return unknown_given_backend(ld, text, equals + 1);
        }
    }
    return SR_OK;
}

/* Replaces what the file says of the tensor. */
static sr_status assign_tensor(sr__loader *ld, sr__variant *v, int32_t tensor, int backend) {
    for (size_t i = 0; i < v->n_assigned; i++) {
        if (v->assigned[i].tensor == tensor) {
            v->assigned[i].backend = backend;
            return SR_OK;
        }
    }
    if (!sr__grow(&v->assigned, &v->assigned_cap, v->n_assigned + 1, sizeof(*v->assigned))) {
        return sr__no_memory(ld);
    }
    v->assigned[v->n_assigned++] = (sr_assignment){tensor, backend};
    return SR_OK;
}

/* An id means one tensor, a name all that bear it. */
static sr_status apply_given_assigns(sr__loader *ld, runs_state *rs, sr__variant *v) {
    for (int i = 0; i < rs->n_assigns; i++) {
        given_assign *given = &rs->assigns[i];
        int32_t tensor = sr_graph_find(v->graph, given->node);
        int32_t first = tensor >= 0 ? tensor : 0, last = tensor >= 0 ? tensor : v->graph->n_tensors - 1;
        for (int32_t t = first; t <= last; t++) {
            if (t != tensor && strcmp(v->graph->tensors[t].name, given->node) != 0) {
                continue;
            }
            given->used = true;
            sr_status status = assign_tensor(ld, v, t, given->backend);
            if (status != SR_OK) {
                return status;
            }
        }
    }
    return SR_OK;
}

static sr_status check_given_assigns(sr__loader *ld, const runs_state *rs) {
    for (int i = 0; i < rs->n_assigns; i++) {
        if (!rs->assigns[i].used) {
            const sr_graph *graph = ld->d->variants[0]->graph;
            const char **names = sr__malloc(((size_t)graph->n_tensors + 1) * sizeof(*names));
            if (!names) {
                return sr__no_memory(ld);
            }
            for (int32_t t = 0; t < graph->n_tensors; t++) {
                names[t] = graph->tensors[t].name;
            }
            const char *near = sr__nearest(rs->assigns[i].node, names, graph->n_tensors);
            sr_status status = sr__fail(ld->err, SR_USAGE, "the assignment '%s': no tensor is called '%s'%s%s%s",
                                        ld->options->assigns[i], rs->assigns[i].node, near ? ", did you mean " : "",
                                        near ? near : "", near ? "?" : "");
            sr__free(names);
            return status;
        }
    }
    return SR_OK;
}

/* ---- variants ---------------------------------------------------------------------------------------------------- */

static sr_status build_variant(sr__loader *ld, runs_state *rs, int order, const double *values, const char *suffix,
                               sr__variant **out) {
    sr_description *d = ld->d;
    sr_status status;
    sr__variant *v = sr__arena_zalloc(&d->arena, sizeof(*v));
    if (!v || !sr__grow(&d->variants, &d->variants_cap, d->n_variants + 1, sizeof(*d->variants))) {
        SR_TRY(sr__no_memory(ld));
    }
    d->variants[d->n_variants++] = v;
    *v = (sr__variant){.name = rs->graphs[order].name, .params = values, .suffix = suffix, .order = order};
    rs->graphs[order].used = true;
    ld->scope = (sr__scope){.params = values};
    SR_TRY(sr__build_graph(ld, &rs->graphs[order].json, v));
    SR_TRY(apply_given_assigns(ld, rs, v));
    *out = v;
done:
    ld->scope = (sr__scope){.params = ld->base};
    return status;
}

/* The graph with these values of the params: the one there is, or a new one. */
static sr_status get_variant(sr__loader *ld, runs_state *rs, int order, const double *values, sr__variant **out) {
    sr_description *d = ld->d;
    const char *suffix;
    sr_status status;
    sr__str key = {0};
    SR_TRY(sr__params_suffix(ld, values, &suffix));
    sr__str_printf(&key, "%d", order);
    sr__str_puts(&key, suffix);
    int32_t index = key.failed ? -1 : sr__map_get(&ld->variant_index, key.data, -1);
    if (index >= 0) {
        *out = d->variants[index];
        goto done;
    }
    char *kept = key.failed ? NULL : sr__arena_strdup(&ld->json, key.data);
    if (!kept || !sr__map_put(&ld->variant_index, kept, (int32_t)d->n_variants)) {
        SR_TRY(sr__no_memory(ld));
    }
    SR_TRY(build_variant(ld, rs, order, values, suffix, out));
done:
    sr__str_free(&key);
    return status;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

enum { RUN_GRAPH, RUN_PARAMS, RUN_RESERVE, RUN_EXPECT, RUN_COUNT };
static const char *const run_keys[RUN_COUNT] = {"graph", "params", "reserve", "expect"};

static sr_status unknown_graph(sr__loader *ld, const runs_state *rs, const char *name, const sr__at *at) {
    const char **names = sr__arena_alloc(&ld->json, ((size_t)rs->n_graphs + 1) * sizeof(*names));
    if (!names) {
        return sr__no_memory(ld);
    }
    for (int i = 0; i < rs->n_graphs; i++) {
        names[i] = rs->graphs[i].name;
    }
    return sr__unknown(ld, at, "graph", name, names, ld->d->named_graphs ? rs->n_graphs : 0);
}

static sr_status choose_graph(sr__loader *ld, const runs_state *rs, const cJSON *json, const sr__at *at, int *out) {
    sr_status status = SR_OK;
    const char *name;
    sr__at graph_at = sr__at_key(at, "graph");
    *out = 0;
    if (!json && rs->n_graphs > 1) {
        SR_TRY(sr__wrong(ld, at, "\"graph\" is missing: there are %d graphs", rs->n_graphs));
    } else if (json) {
        SR_TRY(sr__string(ld, json, &graph_at, &name));
        while (*out < rs->n_graphs && (!ld->d->named_graphs || strcmp(rs->graphs[*out].name, name) != 0)) {
            (*out)++;
        }
        if (*out == rs->n_graphs) {
            SR_TRY(unknown_graph(ld, rs, name, &graph_at));
        }
    }
done:
    return status;
}

static sr_status set_run(sr__loader *ld, int index, sr__variant *v, const char *params_text, bool reserve,
                         const sr_expect *expect) {
    sr_run *run = &ld->d->runs[index];
    *run = (sr_run){
        .index = index, .graph_name = v->name, .params_text = params_text, .reserve = reserve, .graph = v->graph,
        .assignments = v->assigned, .n_assignments = (int)v->n_assigned, .expect = expect,
    };
    ld->d->run_variants[index] = v;
    ld->d->n_runs = index + 1;
    return SR_OK;
}

static sr_status load_run(sr__loader *ld, runs_state *rs, const cJSON *json, const sr__at *at, int index) {
    const cJSON *fields[RUN_COUNT];
    const sr_expect *expect = NULL;
    const double *values;
    const char *text;
    sr__variant *v;
    bool reserve = false;
    int order;
    sr_status status;
    SR_TRY(sr__fields(ld, json, at, run_keys, RUN_COUNT, fields));
    sr__at params_at = sr__at_key(at, "params"), reserve_at = sr__at_key(at, "reserve");
    sr__at expect_at = sr__at_key(at, "expect");
    SR_TRY(choose_graph(ld, rs, fields[RUN_GRAPH], at, &order));
    if (fields[RUN_RESERVE]) {
        SR_TRY(sr__bool(ld, fields[RUN_RESERVE], &reserve_at, &reserve));
    }
    if (fields[RUN_PARAMS]) {
        SR_TRY(sr__want_object(ld, fields[RUN_PARAMS], &params_at));
    }
    SR_TRY(sr__run_params(ld, fields[RUN_PARAMS], &params_at, &values, &text));
    SR_TRY(get_variant(ld, rs, order, values, &v));
    if (fields[RUN_EXPECT]) {
        ld->scope.params = values;
        status = sr__load_expect(ld, fields[RUN_EXPECT], &expect_at, &expect);
        ld->scope.params = ld->base;
        SR_TRY(status);
    }
    SR_TRY(set_run(ld, index, v, text, reserve, expect));
done:
    return status;
}

/* Without `runs`: each graph once. */
static sr_status make_runs(sr__loader *ld, runs_state *rs) {
    const cJSON *json = ld->top.json[SR__TOP_EXPECT];
    const sr_expect *expect = NULL;
    const double *values;
    const char *text;
    sr__variant *v;
    sr_status status;
    if (json && rs->n_graphs > 1) {
        SR_TRY(sr__wrong_key(ld, &ld->top.at[SR__TOP_EXPECT],
                             "there are %d runs: \"expect\" belongs into one of \"runs\"", rs->n_graphs));
    }
    if (json) {
        SR_TRY(sr__load_expect(ld, json, &ld->top.at[SR__TOP_EXPECT], &expect));
    }
    for (int i = 0; i < rs->n_graphs; i++) {
        SR_TRY(sr__run_params(ld, NULL, NULL, &values, &text));
        SR_TRY(get_variant(ld, rs, i, values, &v));
        SR_TRY(set_run(ld, i, v, text, false, expect));
    }
    status = SR_OK;
done:
    return status;
}

static sr_status load_run_list(sr__loader *ld, runs_state *rs, const cJSON *json, const sr__at *at) {
    sr_status status = SR_OK;
    int i = 0;
    if (ld->top.json[SR__TOP_EXPECT]) {
        SR_TRY(sr__wrong_key(ld, &ld->top.at[SR__TOP_EXPECT], "\"expect\" beside \"runs\": each run has its own"));
    }
    for (const cJSON *child = json->child; child; child = child->next, i++) {
        sr__at element = sr__at_index(at, i);
        SR_TRY(load_run(ld, rs, child, &element, i));
    }
    for (int g = 0; g < rs->n_graphs; g++) { /* a graph that no run uses is checked, and has its place in buffers */
        sr__variant *v;
        if (!rs->graphs[g].used) {
            SR_TRY(get_variant(ld, rs, g, ld->base, &v));
        }
    }
done:
    return status;
}

sr_status sr__load_runs(sr__loader *ld) {
    runs_state rs = {0};
    const cJSON *json = ld->top.json[SR__TOP_RUNS];
    sr_status status;
    SR_TRY(load_graphs(ld, &rs));
    SR_TRY(load_given_assigns(ld, &rs));
    if (json) {
        SR_TRY(sr__want_array(ld, json, &ld->top.at[SR__TOP_RUNS]));
    }
    size_t n = json ? (size_t)cJSON_GetArraySize(json) : (size_t)rs.n_graphs;
    ld->d->runs = sr__arena_zalloc(&ld->d->arena, (n + 1) * sizeof(*ld->d->runs));
    ld->d->run_variants = sr__arena_zalloc(&ld->d->arena, (n + 1) * sizeof(*ld->d->run_variants));
    if (!ld->d->runs || !ld->d->run_variants) {
        SR_TRY(sr__no_memory(ld));
    }
    SR_TRY(json ? load_run_list(ld, &rs, json, &ld->top.at[SR__TOP_RUNS]) : make_runs(ld, &rs));
    SR_TRY(check_given_assigns(ld, &rs));
done:
    return status;
}
