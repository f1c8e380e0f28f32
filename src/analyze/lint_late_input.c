/*
 * lint_late_input.c - finding `late-input`: inputs that keep a split waiting although its first node could have
 * started.
 *
 * Layer: analyze.  All inputs of a split are copied before its first node runs.  Where later nodes of the split read
 * what was computed after everything that the first node needs, the first node waits for them.  Two cases are told of:
 * readers that only came to this backend because they stand behind its first node (nothing ties them to it, all they
 * read was computed before the split) and that would save inputs if they stood before it, where they would stay with
 * what they read; and late inputs from two or more nodes, whoever reads them.  One late input is the usual border
 * between devices.
 * Inputs of one name are told of too: they are what a loop over chunks leaves at a border.
 */
#include <stdio.h>

#include "analyze/finding.h"
#include "analyze/storage.h"

/* What all splits of one backend have in common is one finding. */
typedef struct tally {
    int place;         /* of its finding, -1 */
    int32_t split;     /* the first that has some */
    int32_t n_splits, last_split;
    int32_t late, movable, repeated;
    int32_t n_late, n_inputs; /* of that split */
    int32_t input, reader, first; /* the first late input, who reads it, the split's first node */
    int32_t named;     /* the first input whose name another has too */
    uint64_t bytes;
} tally;

typedef struct search {
    const sr_layout *layout;
    sr_findings *findings;
    sr__answers answers;
    sr__reads *reads;
    tally *tallies;    /* by backend */
    int32_t *input_of; /* by copy: its place in layout->inputs, -1 */
    bool *moves;       /* by position: a reader that could stand before its split */
    bool *saved;       /* by input: all who read it in its split move */
} search;

/* ---- when things are there ------------------------------------------------------------------------------------- */

/* Position of the node that computes a tensor, seen through views; -1 for what is there from the start. */
static int32_t computed_at(const sr_graph *graph, int32_t tensor) {
    for (int32_t i = 0; i < graph->n_tensors && sr_op_is_view(graph->tensors[tensor].op); i++) {
        const int32_t source = sr__source_of(graph, tensor, 0);
        if (source < 0) {
            break;
        }
        tensor = source;
    }
    return graph->tensors[tensor].op == SR_OP_NONE ? -1 : graph->tensors[tensor].node;
}

static int32_t first_node(const sr_graph *graph, const sr_split *split) {
    for (int32_t i = split->start; i < split->end; i++) {
        if (sr__works(&graph->tensors[graph->nodes[i]])) {
            return graph->nodes[i];
        }
    }
    return -1;
}

/* When everything that a node reads is there. */
static int32_t ready_at(const sr_graph *graph, int32_t node) {
    int32_t ready = -1;
    for (int j = 0; j < graph->tensors[node].n_src; j++) {
        const int32_t source = sr__source_of(graph, node, j);
        const int32_t at = source >= 0 && source != node ? computed_at(graph, source) : -1;
        ready = at > ready ? at : ready;
    }
    return ready;
}

/* ---- who reads them -------------------------------------------------------------------------------------------- */

static bool is_tied(int cause) {
    return cause == SR_CAUSE_USER || cause == SR_CAUSE_DST || cause == SR_CAUSE_VSRC || cause == SR_CAUSE_INPUT ||
           cause == SR_CAUSE_OFFLOAD || cause >= SR_CAUSE_WGT0;
}

/* The input of this split that source j of a node reads, or -1. */
static int32_t read_input(const search *s, const sr_split *split, const sr_tensor *node, int j) {
    const int32_t source = s->layout->view.srcs[node->src_begin + j] - s->layout->graph->n_tensors;
    const int32_t k = source >= 0 ? s->input_of[source] : -1;
    return k >= split->inputs_begin && k < split->inputs_begin + split->n_inputs ? k : -1;
}

static bool is_late(const search *s, int32_t k, int32_t ready) {
    const int32_t input = s->layout->inputs[k];
    return !(s->layout->graph->tensors[input].flags & SR_FLAG_INPUT) && computed_at(s->layout->graph, input) > ready;
}

/* Whether a node reads a late input and would stay with that input's backend if it stood before the split. */
static bool could_move(search *s, const sr_split *split, int32_t node, int32_t ready) {
    const sr_layout *layout = s->layout;
    const sr_tensor *t = &layout->graph->tensors[node];
    if (t->view_src >= 0 || is_tied(layout->cause_of[node]) || ready_at(layout->graph, node) >= split->start) {
        return false;
    }
    for (int j = 0; j < t->n_src; j++) {
        const int32_t k = read_input(s, split, t, j);
        const int home = k >= 0 ? layout->backend_of[layout->inputs[k]] : -1;
        if (home >= 0 && is_late(s, k, ready) && sr__answers_supports(&s->answers, node, home)) {
            return true;
        }
    }
    return false;
}

/*
 * Which readers could stand before the split, and which late inputs that would save.  What they compute becomes an
 * input where others of the split read it; false unless more is saved than that.
 */
static bool find_movable(search *s, const sr_split *split, int32_t first, int32_t ready) {
    const sr_graph *graph = s->layout->graph;
    int32_t gain = 0;
    for (int32_t k = split->inputs_begin; k < split->inputs_begin + split->n_inputs; k++) {
        s->saved[k] = is_late(s, k, ready) && s->reads[k].last < split->end;
    }
    for (int32_t i = split->start; i < split->end; i++) {
        const int32_t node = graph->nodes[i];
        const sr_tensor *t = &graph->tensors[node];
        if (!sr__works(t)) {
            continue;
        }
        s->moves[i] = node != first && could_move(s, split, node, ready);
        for (int j = 0; j < t->n_src && !s->moves[i]; j++) {
            const int32_t k = read_input(s, split, t, j), source = sr__source_of(graph, node, j);
            const int32_t at = source >= 0 ? graph->tensors[sr__root_of(graph, source)].node : -1;
            if (k >= 0) {
                s->saved[k] = false;
            } else if (at >= split->start && at < i && s->moves[at]) {
                s->moves[at] = false; /* counted once */
                gain--;
            }
        }
    }
    for (int32_t k = split->inputs_begin; k < split->inputs_begin + split->n_inputs; k++) {
        gain += s->saved[k];
    }
    return gain > 0;
}

/* ---- names that repeat ----------------------------------------------------------------------------------------- */

/*
 * How many computed inputs have the name of an earlier one that another node computed.  User inputs of one name are
 * usual (one for each kind of cache), and a name that begins with a blank is what a nameless tensor passed on.
 */
static bool count_repeated(const sr_layout *layout, const sr_split *split, int32_t *out_n, int32_t *out_first) {
    sr__map names = {0};
    bool ok = true;
    *out_n = 0;
    *out_first = -1;
    for (int32_t k = split->inputs_begin; k < split->inputs_begin + split->n_inputs && ok; k++) {
        const char *name = layout->graph->tensors[layout->inputs[k]].name;
        const int32_t at = computed_at(layout->graph, layout->inputs[k]);
        if (name[0] == '\0' || name[0] == ' ' || at < 0) {
            continue;
        }
        const int32_t other = sr__map_get(&names, name, -1);
        if (other >= 0 && other != at) {
            *out_first = *out_n == 0 ? layout->inputs[k] : *out_first;
            ++*out_n;
        } else {
            ok = sr__map_put(&names, name, at);
        }
    }
    sr__map_free(&names);
    return ok;
}

/* ---- gathering ------------------------------------------------------------------------------------------------- */

static tally *tally_of(search *s, const sr_split *split, int32_t index) {
    tally *t = &s->tallies[split->backend];
    if (t->place < 0) {
        t->place = s->findings->n;
        t->split = index;
        t->last_split = -1;
        if (!sr__finding_add(s->findings, "late-input", SR_SEVERITY_INFO)) {
            return NULL;
        }
    }
    t->n_splits += t->last_split != index;
    t->last_split = index;
    return t;
}

static bool note_input(search *s, int32_t index, int32_t k, int32_t n_late, bool movable) {
    const sr_split *split = &s->layout->splits[index];
    const sr_graph *graph = s->layout->graph;
    const int32_t input = s->layout->inputs[k];
    tally *t = tally_of(s, split, index);
    if (!t) {
        return false;
    }
    if (t->late == 0 || (movable && t->movable == 0)) {
        t->input = input;
        t->reader = graph->nodes[s->reads[k].first];
        t->first = first_node(graph, split);
        t->split = index;
        t->n_late = n_late;
        t->n_inputs = split->n_inputs;
    }
    t->late++;
    t->movable += movable;
    t->bytes += sr__input_bytes(s->layout, k);
    return sr__finding_tensor(&s->findings->items[t->place], sr__label(graph, input));
}

/* The first reader of an input that comes late for its split, or -1. */
static int32_t late_reader(const search *s, const sr_split *split, int32_t k, int32_t first, int32_t ready) {
    const sr_graph *graph = s->layout->graph;
    const int32_t at = s->reads[k].first;
    return at < 0 || at >= split->end || graph->nodes[at] == first || !is_late(s, k, ready) ? -1 : graph->nodes[at];
}

static bool note_late(search *s, int32_t index, int32_t first, int32_t ready) {
    const sr_layout *layout = s->layout;
    const sr_split *split = &layout->splits[index];
    const int32_t end = split->inputs_begin + split->n_inputs;
    int32_t late = 0, producer = -1;
    bool several = false; /* nodes compute them: two views of one result are one border */
    for (int32_t k = split->inputs_begin; k < end; k++) {
        if (late_reader(s, split, k, first, ready) >= 0) {
            const int32_t at = computed_at(layout->graph, layout->inputs[k]);
            several |= late > 0 && at != producer;
            producer = at;
            late++;
        }
    }
    const bool movable = late > 0 && find_movable(s, split, first, ready);
    bool ok = true;
    for (int32_t k = split->inputs_begin; k < end && (several || movable) && ok; k++) {
        const bool moves = movable && s->saved[k];
        ok = late_reader(s, split, k, first, ready) < 0 || (!several && !moves) || note_input(s, index, k, late, moves);
    }
    return ok;
}

static bool note_repeated(search *s, int32_t index) {
    const sr_split *split = &s->layout->splits[index];
    int32_t repeated, named;
    if (!count_repeated(s->layout, split, &repeated, &named)) {
        return false;
    }
    if (repeated == 0) {
        return true;
    }
    tally *t = tally_of(s, split, index);
    if (!t) {
        return false;
    }
    t->named = t->repeated == 0 ? named : t->named;
    t->repeated += repeated;
    return sr__finding_tensor(&s->findings->items[t->place], sr__label(s->layout->graph, named));
}

static bool look_at_split(search *s, int32_t index) {
    const sr_split *split = &s->layout->splits[index];
    const int32_t first = first_node(s->layout->graph, split);
    return split->n_inputs < 2 || first < 0 ||
           (note_late(s, index, first, ready_at(s->layout->graph, first)) && note_repeated(s, index));
}

/* ---- telling --------------------------------------------------------------------------------------------------- */

static void put_late(sr__str *s, const sr_layout *layout, const tally *t) {
    const sr_graph *graph = layout->graph;
    sr__str_printf(s,
                   "split %d on %s begins with '%s', which waits for %d of %d inputs that come after all it needs: '%s'"
                   " is read by %s '%s' (%s)",
                   (int)t->split, layout->backends[layout->splits[t->split].backend]->name, sr__label(graph, t->first),
                   (int)t->n_late, (int)t->n_inputs, sr__label(graph, t->input),
                   sr_tensor_op_desc(&graph->tensors[t->reader]), sr__label(graph, t->reader),
                   sr_cause_name(layout->cause_of[t->reader]));
    if (t->movable > 0) {
        sr__str_printf(s, "; nothing ties the readers of %d to %s", (int)t->movable,
                       layout->backends[layout->splits[t->split].backend]->name);
    }
}

static bool say(const sr_layout *layout, const tally *t, int backend, sr_finding *finding) {
    const sr_graph *graph = layout->graph;
    const char *name = layout->backends[backend]->name;
    sr__str s = {0};
    if (t->late > 0) {
        put_late(&s, layout, t);
    }
    if (t->repeated > 0) {
        sr__str_printf(&s, "%s%d input%s on %s ha%s the name of another of the same split, as '%s'",
                       t->late > 0 ? "; " : "", (int)t->repeated, t->repeated == 1 ? "" : "s", name,
                       t->repeated == 1 ? "s" : "ve", sr__label(graph, t->named));
    }
    if (t->n_splits > 1) {
        sr__str_printf(&s, " (in %d splits of %s)", (int)t->n_splits, name);
    }
    finding->bytes = t->bytes;
    finding->severity = t->movable > 0 ? SR_SEVERITY_WARNING : SR_SEVERITY_INFO;
    bool ok = !s.failed && sr__finding_say(finding, "%s", sr__str_text(&s)) &&
              sr__finding_text(finding, "backend", name) && sr__finding_number(finding, "split", t->split) &&
              sr__finding_number(finding, "late", t->late) && sr__finding_number(finding, "repeated", t->repeated);
    sr__str_free(&s);
    if (ok && t->movable > 0) {
        ok = sr__finding_text(finding, "node", sr__label(graph, t->first)) &&
             sr__finding_hint(finding,
                              "put '%s' and its like before '%s' in the order of the graph: they then stay on %s",
                              sr__label(graph, t->reader), sr__label(graph, t->first),
                              layout->backends[layout->backend_of[t->input]]->name);
    } else if (ok && t->late > 0) {
        ok = sr__finding_text(finding, "node", sr__label(graph, t->first)) &&
             sr__finding_hint(finding,
                              "put '%s' behind the nodes that compute what the split's later nodes read, or let '%s'"
                              " begin a split of its own earlier",
                              sr__label(graph, t->first), sr__label(graph, t->first));
    } else if (ok) {
        ok = sr__finding_hint(finding, "give the tensors of each chunk names of their own, and see whether the loop "
                                       "that makes them should end before the border");
    }
    return ok;
}

static bool search_init(search *s) {
    const sr_layout *layout = s->layout;
    const size_t n_extra = (size_t)layout->view.n_extra;
    s->tallies = sr__calloc((size_t)layout->n_backends, sizeof(*s->tallies));
    s->input_of = sr__malloc((n_extra + 1) * sizeof(*s->input_of));
    s->moves = sr__calloc((size_t)layout->graph->n_nodes + 1, sizeof(*s->moves));
    s->saved = sr__calloc((size_t)layout->n_inputs, sizeof(*s->saved));
    s->reads = sr__copy_reads(layout);
    if (!s->tallies || !s->input_of || !s->moves || !s->saved || !s->reads || !sr__answers_init(&s->answers, layout)) {
        return false;
    }
    for (int b = 0; b < layout->n_backends; b++) {
        s->tallies[b].place = -1;
    }
    memset(s->input_of, 0xff, n_extra * sizeof(*s->input_of));
    for (int32_t k = 0; k < layout->n_inputs; k++) {
        if (layout->input_copies[k] >= layout->graph->n_tensors) {
            s->input_of[layout->input_copies[k] - layout->graph->n_tensors] = k;
        }
    }
    return true;
}

sr_status sr__lint_late_input(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    const sr_layout *layout = input->layout;
    search s = {.layout = layout, .findings = findings};
    if (layout->n_inputs < 2) {
        return SR_OK;
    }
    bool ok = search_init(&s);
    for (int32_t i = 0; i < layout->n_splits && ok; i++) {
        ok = look_at_split(&s, i);
    }
    for (int b = 0; b < layout->n_backends && ok; b++) {
        ok = s.tallies[b].place < 0 || say(layout, &s.tallies[b], b, &findings->items[s.tallies[b].place]);
    }
    sr__answers_free(&s.answers);
    sr__free(s.reads);
    sr__free(s.tallies);
    sr__free(s.input_of);
    sr__free(s.moves);
    sr__free(s.saved);
    return ok ? SR_OK : sr__fail_memory(err);
}
