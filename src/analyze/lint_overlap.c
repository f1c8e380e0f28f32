/*
 * lint_overlap.c - finding `overlap`: inputs of a split that copy the same memory twice, or gaps along with the data.
 *
 * Layer: analyze.  An input is copied as it lies, from its first to its last byte.  Two inputs of one storage (views of
 * one tensor) are two copies, which hold the same bytes where they overlap; a strided view takes what lies between its
 * rows with it.  Findings are gathered by the backend that the copies go to.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/finding.h"
#include "analyze/storage.h"

/* An input of a split, to be sorted by storage and place. */
typedef struct part { int32_t storage, tensor; size_t begin, end; } part;

/* What was found for one backend. */
typedef struct tally {
    int place;          /* of its finding, -1: none yet */
    int32_t n, split;   /* inputs; the first split */
    int32_t first, second, root;
    int32_t last_split, n_splits;
    uint64_t bytes;     /* of these inputs */
    uint64_t wasted;    /* copied twice, or no data */
} tally;

static int compare_parts(const void *a, const void *b) {
    const part *x = a, *y = b;
    if (x->storage != y->storage) {
        return x->storage < y->storage ? -1 : 1;
    }
    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

static bool note(const sr_layout *layout, tally *t, sr_findings *findings, int32_t split, int32_t tensor) {
    if (t->place < 0) {
        t->place = findings->n;
        t->split = split;
        t->first = tensor;
        t->last_split = -1;
        if (!sr__finding_add(findings, "overlap", SR_SEVERITY_INFO)) {
            return false;
        }
    }
    t->n++;
    t->bytes += layout->graph->tensors[tensor].nbytes;
    t->n_splits += t->last_split != split;
    t->last_split = split;
    return sr__finding_tensor(&findings->items[t->place], sr__label(layout->graph, tensor));
}

/* ---- two inputs of one storage --------------------------------------------------------------------------------- */

static void fill_parts(const sr__storage_map *map, const sr_layout *layout, const sr_split *split, part *parts) {
    for (int32_t k = 0; k < split->n_inputs; k++) {
        const int32_t tensor = layout->inputs[split->inputs_begin + k];
        const sr_tensor *t = &map->graph->tensors[tensor];
        const sr_tensor *root = t->view_src >= 0 ? &map->graph->tensors[t->view_src] : t;
        const size_t begin = (t->view_src >= 0 ? t->view_offs : 0) + (root->buffer ? root->buffer_offset : 0);
        parts[k] = (part){sr__storage_of(map, tensor), tensor, begin, begin + t->nbytes};
    }
}

/* parts[i .. j) lie in one storage, by where they begin. */
static bool note_shared(const sr_layout *layout, tally *t, sr_findings *findings, int32_t split, const part *parts,
                        int32_t n) {
    size_t end = 0;
    if (t->place < 0) {
        t->second = parts[1].tensor;
        t->root = parts[0].storage;
    }
    for (int32_t i = 0; i < n; i++) {
        if (!note(layout, t, findings, split, parts[i].tensor)) {
            return false;
        }
        if (i > 0 && parts[i].begin < end) {
            t->wasted += (parts[i].end < end ? parts[i].end : end) - parts[i].begin;
        }
        end = parts[i].end > end ? parts[i].end : end;
    }
    return true;
}

static bool find_shared(const sr_layout *layout, const sr__storage_map *map, part *parts, tally *tallies,
                        sr_findings *findings, int32_t s) {
    const sr_split *split = &layout->splits[s];
    bool ok = true;
    fill_parts(map, layout, split, parts);
    qsort(parts, (size_t)split->n_inputs, sizeof(*parts), compare_parts);
    for (int32_t i = 0; i < split->n_inputs && ok;) {
        int32_t j = i + 1;
        while (j < split->n_inputs && parts[j].storage == parts[i].storage) {
            j++;
        }
        ok = j - i < 2 || note_shared(layout, &tallies[split->backend], findings, s, &parts[i], j - i);
        i = j;
    }
    return ok;
}

static bool say_shared(const sr_layout *layout, const tally *t, int backend, sr_finding *finding) {
    const sr_graph *graph = layout->graph;
    char total[16], wasted[16], more[64] = "";
    sr__format_bytes(t->bytes, total);
    sr__format_bytes(t->wasted, wasted);
    if (t->n_splits > 1) {
        snprintf(more, sizeof(more), " (and so in %d splits)", (int)t->n_splits);
    }
    finding->bytes = t->wasted;
    finding->severity = t->wasted > 0 ? SR_SEVERITY_WARNING : SR_SEVERITY_INFO;
    return sr__finding_say(finding,
                           "inputs '%s' and '%s' of split %d on %s%s both lie in the memory of '%s': %s in %d "
                           "copies, of which %s are copied more than once",
                           sr__label(graph, t->first), sr__label(graph, t->second), (int)t->split,
                           layout->backends[backend]->name, more, sr__label(graph, t->root), total, (int)t->n,
                           t->wasted > 0 ? wasted : "none") &&
           sr__finding_hint(finding,
                            "make the views on %s of one copied tensor ('%s'), or make each contiguous where it "
                            "is computed",
                            layout->backends[backend]->name, sr__label(graph, t->root)) &&
           sr__finding_text(finding, "what", "shared") &&
           sr__finding_text(finding, "backend", layout->backends[backend]->name) &&
           sr__finding_text(finding, "root", sr__label(graph, t->root)) &&
           sr__finding_number(finding, "split", t->split) && sr__finding_number(finding, "count", t->n);
}

/* ---- inputs with gaps ------------------------------------------------------------------------------------------ */

/* Bytes of the elements alone. */
static uint64_t dense_bytes(const sr_tensor *t) {
    return (uint64_t)sr_row_size(t->type, t->ne[0]) * (uint64_t)sr_tensor_nrows(t);
}

static bool find_strided(const sr_layout *layout, tally *tallies, sr_findings *findings, int32_t s) {
    const sr_split *split = &layout->splits[s];
    bool ok = true;
    for (int32_t k = 0; k < split->n_inputs && ok; k++) {
        const int32_t tensor = layout->inputs[split->inputs_begin + k];
        const sr_tensor *t = &layout->graph->tensors[tensor];
        if (t->nbytes == 0 || sr_tensor_is_contiguous(t)) {
            continue;
        }
        ok = note(layout, &tallies[split->backend], findings, s, tensor);
        tallies[split->backend].wasted += t->nbytes > dense_bytes(t) ? t->nbytes - dense_bytes(t) : 0;
    }
    return ok;
}

static bool say_strided(const sr_layout *layout, const tally *t, int backend, sr_finding *finding) {
    const char *first = sr__label(layout->graph, t->first), *name = layout->backends[backend]->name;
    char total[16], wasted[16], own[64], more[64] = "";
    sr__format_bytes(t->bytes, total);
    sr__format_bytes(t->wasted, wasted);
    if (t->wasted > 0) {
        snprintf(own, sizeof(own), "of which %s are no data of its own", wasted);
    } else {
        snprintf(own, sizeof(own), "all of it data of its own");
    }
    if (t->n > 1) {
        snprintf(more, sizeof(more), " (the first of %d)", (int)t->n);
    }
    finding->bytes = t->wasted;
    finding->severity = t->wasted > 0 ? SR_SEVERITY_WARNING : SR_SEVERITY_INFO;
    return sr__finding_say(finding,
                           "input '%s' of split %d on %s%s is not contiguous: it is copied from its first to its "
                           "last byte, %s, %s",
                           first, (int)t->split, name, more, total, own) &&
           (t->wasted > 0 ? sr__finding_hint(finding, "make '%s' contiguous (CONT) where it is computed, before it is "
                                                      "copied to %s", first, name)
                          : sr__finding_hint(finding, "nothing need be done: no byte is copied in vain")) &&
           sr__finding_text(finding, "what", "not contiguous") && sr__finding_text(finding, "backend", name) &&
           sr__finding_number(finding, "split", t->split) && sr__finding_number(finding, "count", t->n);
}

/* ---- the finding ----------------------------------------------------------------------------------------------- */

/* Looks through all splits, both ways; the tallies are by backend, shared before strided. */
static bool find_all(const sr_layout *layout, const sr__storage_map *map, part *parts, tally *tallies,
                     sr_findings *findings) {
    const int n = layout->n_backends;
    bool ok = true;
    for (int i = 0; i < 2 * n; i++) {
        tallies[i] = (tally){.place = -1};
    }
    for (int32_t s = 0; s < layout->n_splits && ok; s++) {
        ok = find_shared(layout, map, parts, tallies, findings, s) &&
             find_strided(layout, tallies + n, findings, s);
    }
    for (int i = 0; i < 2 * n && ok; i++) {
        if (tallies[i].place >= 0) {
            sr_finding *finding = &findings->items[tallies[i].place];
            ok = i < n ? say_shared(layout, &tallies[i], i, finding) : say_strided(layout, &tallies[i], i - n, finding);
        }
    }
    return ok;
}

sr_status sr__lint_overlap(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    const sr_layout *layout = input->layout;
    sr__storage_map map = {0};
    if (layout->n_inputs == 0) {
        return SR_OK;
    }
    bool ok = sr__storage_init(&map, layout->graph);
    part *parts = ok ? sr__malloc((size_t)layout->n_inputs * sizeof(*parts)) : NULL;
    tally *tallies = parts ? sr__calloc(2 * (size_t)layout->n_backends, sizeof(*tallies)) : NULL;
    ok = tallies && find_all(layout, &map, parts, tallies, findings);
    sr__free(tallies);
    sr__free(parts);
    sr__storage_free(&map);
    return ok ? SR_OK : sr__fail_memory(err);
}
