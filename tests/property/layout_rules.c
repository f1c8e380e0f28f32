/*
 * layout_rules.c - what must hold of every layout's splits and copies, and whether two layouts are the same.
 *
 * Layer: tests.  The rules about memory are in live_spans.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "layout_rules.h"
#include "naive.h"

#define CHECK(c, condition, ...)                                                                     \
    do {                                                                                             \
        if (!(condition)) {                                                                          \
            print_error("seed %llu: %s: ", (unsigned long long)(c)->params.seed, #condition);        \
            print_error(__VA_ARGS__);                                                                \
            fail_msg("a rule does not hold");                                                        \
        }                                                                                            \
    } while (0)

/* ---- splits ------------------------------------------------------------------------------------------------------ */

void rules_check_splits(const gen_case *c, const sr_layout *l) {
    const sr_graph *graph = c->graph;
    int32_t next = 0, next_input = 0, position = 0;
    for (int s = 0; s < l->n_splits; s++) {
        const sr_split *split = &l->splits[s];
        CHECK(c, split->start == next, "split %d", s);
        CHECK(c, split->inputs_begin == next_input, "split %d", s);
        CHECK(c, split->end > split->start || (l->n_splits == 1 && graph->n_nodes == 0), "split %d", s);
        position += 2 * split->n_inputs;
        CHECK(c, l->split_nodes[s] == position, "split %d", s);
        for (int32_t i = split->start; i < split->end; i++) {
            const int32_t node = graph->nodes[i];
            CHECK(c, l->view.nodes[position] == node, "split %d, node %d", s, (int)i);
            CHECK(c, l->node_ids[position] == l->backend_of[node], "split %d, node %d", s, (int)i);
            position++;
            if (!sr_op_is_view(graph->tensors[node].op)) {
                CHECK(c, l->backend_of[node] == split->backend, "split %d, node %d", s, (int)i);
            }
        }
        next = split->end;
        next_input += split->n_inputs;
    }
    CHECK(c, next == graph->n_nodes, "the last split ends at %d", (int)next);
    CHECK(c, next_input == l->n_inputs, "%d inputs in splits", (int)next_input);
    CHECK(c, position == l->view.n_nodes && l->split_nodes[l->n_splits] == position, "%d", (int)position);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static bool can_read(const gen_case *c, const sr_layout *l, int backend, int32_t t) {
    const sr_tensor *tensor = &c->graph->tensors[t];
    const sr_buffer *buffer = tensor->view_src >= 0 ? c->graph->tensors[tensor->view_src].buffer : tensor->buffer;
    const sr_buffer_type *type = buffer != NULL ? buffer->type : l->buffer_types[l->backend_of[t]];
    return naive_takes(l->backends[backend], type);
}

/* Whether split s, or an earlier one of its backend, copies the tensor. */
static bool is_copied(const sr_layout *l, int s, int32_t tensor) {
    for (int i = 0; i <= s; i++) {
        const sr_split *split = &l->splits[i];
        for (int32_t k = 0; split->backend == l->splits[s].backend && k < split->n_inputs; k++) {
            if (l->inputs[split->inputs_begin + k] == tensor) {
                return true;
            }
        }
    }
    return false;
}

/* Source j of a node of split s. */
static void check_source(const gen_case *c, const sr_layout *l, int s, int32_t node, int j) {
    const sr_graph *graph = c->graph;
    const int32_t place = graph->tensors[node].src_begin + j, source = graph->srcs[place], has = l->view.srcs[place];
    const int backend = l->splits[s].backend;
    if (has == source) {
        if (source >= 0) {
            CHECK(c, l->backend_of[source] == backend || can_read(c, l, backend, source), "source %d of '%s'", j,
                  graph->tensors[node].name);
        }
        return;
    }
    CHECK(c, sr_view_is_extra(&l->view, has), "source %d of '%s' is %d", j, graph->tensors[node].name, (int)has);
    const sr_extra *extra = &l->view.extra[has - graph->n_tensors];
    CHECK(c, extra->kind == SR_EXTRA_COPY && extra->of == source, "source %d of '%s'", j, graph->tensors[node].name);
    CHECK(c, extra->backend == backend && extra->slot == l->cur_copy, "source %d of '%s'", j,
          graph->tensors[node].name);
    CHECK(c, l->backend_of[source] != backend, "'%s' is copied to where it is", graph->tensors[source].name);
    CHECK(c, !can_read(c, l, backend, source), "'%s' is copied although it can be read", graph->tensors[source].name);
    CHECK(c, is_copied(l, s, source), "no split copies '%s'", graph->tensors[source].name);
}

static void check_input(const gen_case *c, const sr_layout *l, int s, int32_t k) {
    const sr_split *split = &l->splits[s];
    const int32_t place = split->inputs_begin + k, input = l->inputs[place], copy = l->input_copies[place];
    int reads = 0;
    CHECK(c, sr_view_is_extra(&l->view, copy), "input %d of split %d", (int)k, s);
    const sr_extra *extra = &l->view.extra[copy - c->graph->n_tensors];
    CHECK(c, extra->of == input && extra->backend == split->backend && extra->slot == l->cur_copy,
          "input %d of split %d", (int)k, s);
    for (int32_t other = 0; other < place; other++) {
        CHECK(c, l->input_copies[other] != copy, "'%s' is copied twice", c->graph->tensors[input].name);
    }
    for (int32_t i = split->start; i < split->end; i++) {
        const sr_tensor *node = &c->graph->tensors[c->graph->nodes[i]];
        for (int j = 0; j < node->n_src; j++) {
            reads += l->view.srcs[node->src_begin + j] == copy;
        }
    }
    CHECK(c, reads > 0, "nothing in split %d reads the copy of '%s'", s, c->graph->tensors[input].name);
    /* in the graph as allocated: what keeps the input alive, then the copy */
    const int32_t at = l->split_nodes[s] - 2 * (split->n_inputs - k), dependency = l->view.nodes[at];
    CHECK(c, sr_view_is_extra(&l->view, dependency) && l->view.nodes[at + 1] == copy, "input %d of split %d", (int)k,
          s);
    const sr_extra *keeps = &l->view.extra[dependency - c->graph->n_tensors];
    CHECK(c, keeps->kind == SR_EXTRA_DEPENDENCY && keeps->of == input, "input %d of split %d", (int)k, s);
    CHECK(c, l->node_ids[at] == l->backend_of[input] && l->node_ids[at + 1] == split->backend, "input %d of split %d",
          (int)k, s);
}

/* Slots of a tensor on a backend: each once. */
static void check_slots(const gen_case *c, const sr_layout *l) {
    for (int32_t i = 0; i < l->view.n_extra; i++) {
        const sr_extra *a = &l->view.extra[i];
        int same = 0, of_group = 0;
        for (int32_t k = 0; a->kind == SR_EXTRA_COPY && k < l->view.n_extra; k++) {
            const sr_extra *b = &l->view.extra[k];
            const bool group = b->kind == SR_EXTRA_COPY && b->of == a->of && b->backend == a->backend;
            of_group += group;
            same += group && b->slot == a->slot;
        }
        CHECK(c, a->kind != SR_EXTRA_COPY || (same == 1 && of_group == l->n_copies), "copies of '%s' on backend %d",
              c->graph->tensors[a->of].name, a->backend);
    }
}

void rules_check_copies(const gen_case *c, const sr_layout *l) {
    for (int s = 0; s < l->n_splits; s++) {
        for (int32_t i = l->splits[s].start; i < l->splits[s].end; i++) {
            const int32_t node = c->graph->nodes[i];
            for (int j = 0; j < c->graph->tensors[node].n_src; j++) {
                if (!sr_op_is_view(c->graph->tensors[node].op)) {
                    check_source(c, l, s, node, j);
                }
            }
        }
        for (int32_t k = 0; k < l->splits[s].n_inputs; k++) {
            check_input(c, l, s, k);
        }
    }
    check_slots(c, l);
    for (int32_t i = 0; i < l->n_graph_inputs; i++) {
        CHECK(c, c->graph->tensors[l->graph_inputs[i]].flags & SR_FLAG_INPUT, "graph input %d", (int)i);
        CHECK(c, l->n_copies > 1, "%d graph inputs", (int)l->n_graph_inputs);
    }
}

/* ---- two layouts ------------------------------------------------------------------------------------------------- */

static bool same(const void *a, const void *b, size_t n, size_t size) { return n == 0 || memcmp(a, b, n * size) == 0; }

static bool same_splits(const sr_layout *a, const sr_layout *b) {
    for (int s = 0; s < a->n_splits; s++) {
        const sr_split *x = &a->splits[s], *y = &b->splits[s];
        if (x->backend != y->backend || x->start != y->start || x->end != y->end || x->n_inputs != y->n_inputs ||
            x->inputs_begin != y->inputs_begin || x->because != y->because || x->because_tensor != y->because_tensor) {
            return false;
        }
    }
    return same(a->inputs, b->inputs, (size_t)a->n_inputs, sizeof(*a->inputs)) &&
           same(a->input_copies, b->input_copies, (size_t)a->n_inputs, sizeof(*a->input_copies));
}

static bool same_view(const sr_layout *a, const sr_layout *b) {
    const sr_graph_view *x = &a->view, *y = &b->view;
    return x->n_nodes == y->n_nodes && x->n_leafs == y->n_leafs && x->n_extra == y->n_extra &&
           same(x->srcs, y->srcs, (size_t)a->graph->n_srcs, sizeof(*x->srcs)) &&
           same(x->nodes, y->nodes, (size_t)x->n_nodes, sizeof(*x->nodes)) &&
           same(x->leafs, y->leafs, (size_t)x->n_leafs, sizeof(*x->leafs)) &&
           same(a->node_ids, b->node_ids, (size_t)x->n_nodes, sizeof(*a->node_ids)) &&
           same(a->leaf_ids, b->leaf_ids, (size_t)x->n_leafs, sizeof(*a->leaf_ids));
}

static bool same_addresses(const sr_layout *a, const sr_layout *b) {
    const int32_t n = a->graph->n_tensors + a->view.n_extra;
    for (int32_t i = 0; i < n && a->addresses != NULL; i++) {
        const sr_address *x = &a->addresses[i], *y = &b->addresses[i];
        if (x->buffer_id != y->buffer_id ||
            (x->buffer_id >= 0 && (x->chunk != y->chunk || x->offset != y->offset))) {
            return false;
        }
    }
    return (a->addresses != NULL) == (b->addresses != NULL);
}

const char *rules_difference(const sr_layout *a, const sr_layout *b) {
    const size_t n = (size_t)a->graph->n_tensors;
    if (a->status != b->status) {
        return "how it ended";
    }
    if (!same(a->backend_of, b->backend_of, n, sizeof(*a->backend_of))) {
        return "backends";
    }
    if (!same(a->cause_of, b->cause_of, n, 1)) {
        return "causes";
    }
    if (a->n_splits != b->n_splits || a->n_inputs != b->n_inputs || !same_splits(a, b)) {
        return "splits";
    }
    if (a->status != SR_OK) {
        return NULL;
    }
    if (!same_view(a, b)) {
        return "the graph as allocated";
    }
    return same_addresses(a, b) ? NULL : "addresses";
}

static void *keep(const void *array, size_t n, size_t size) {
    void *p = malloc(n * size + 1);
    assert_non_null(p);
    if (array != NULL && n > 0) {
        memcpy(p, array, n * size);
    }
    return p;
}

#define KEEP(member, n) kept->member = keep(l->member, (size_t)(n), sizeof(*l->member))

sr_layout *rules_keep(const sr_layout *l) {
    sr_layout *kept = keep(l, 1, sizeof(*l));
    const size_t n_ids = (size_t)l->graph->n_tensors + (size_t)l->view.n_extra;
    KEEP(backend_of, l->graph->n_tensors);
    KEEP(cause_of, l->graph->n_tensors);
    KEEP(splits, l->n_splits);
    KEEP(inputs, l->n_inputs);
    KEEP(input_copies, l->n_inputs);
    KEEP(view.srcs, l->graph->n_srcs);
    KEEP(view.nodes, l->view.n_nodes);
    KEEP(view.leafs, l->view.n_leafs);
    KEEP(node_ids, l->view.n_nodes);
    KEEP(leaf_ids, l->view.n_leafs);
    kept->addresses = l->addresses != NULL ? keep(l->addresses, n_ids, sizeof(*l->addresses)) : NULL;
    return kept;
}

void rules_free_kept(sr_layout *kept) {
    const void *const arrays[] = {kept->backend_of, kept->cause_of,   kept->splits,     kept->inputs,
                                  kept->input_copies, kept->view.srcs, kept->view.nodes, kept->view.leafs,
                                  kept->node_ids,   kept->leaf_ids,   kept->addresses};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        free((void *)(uintptr_t)arrays[i]);
    }
    free(kept);
}
