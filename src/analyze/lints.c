/*
 * lints.c - the table of findings, and running all of them on one run.
 *
 * Layer: analyze.  Each kind is a file of its own, lint_NAME.c.
 */
#include <stdlib.h>

#include "analyze/lint_history.h"
#include "sched_run/analyze.h"

/* In the order of docs/lints.md. */
static const sr_lint lints[] = {
    {"fallback", "a GPU refused an op, and a backend below it got the node", sr__lint_fallback},
    {"weight-copy", "weights, or a view of weights, are copied in every evaluation", sr__lint_weight_copy},
    {"alias", "a node writes into a tensor that is stored where its backend cannot reach", sr__lint_alias},
    {"order", "another order of the nodes needs fewer splits", sr__lint_order},
    {"offload", "an op with host weights: whether it was offloaded, and what decided", sr__lint_offload},
    {"realloc", "memory was planned again, or a plan was kept that does not hold", sr__lint_realloc},
    {"limits", "inputs, splits, sizes near a limit of the scheduler, or over it", sr__lint_limits},
    {"copies", "memory that pipeline copies take", sr__lint_copies},
    {"preallocated", "no backend takes both a buffer type and the op that uses it", sr__lint_preallocated},
    {"late-input", "inputs keep a split waiting although its first node could have started", sr__lint_late_input},
    {"assignment", "a user assignment to a backend that refuses the op or needs a weight copy", sr__lint_assignment},
    {"split-twice", "a node's source is already a copy that a scheduler made", sr__lint_split_twice},
    {"stale-input", "a copy of an input is read after the original was written again", sr__lint_stale_input},
    {"overlap", "inputs of a split copy the same memory twice, or gaps along with the data", sr__lint_overlap},
    {"race", "two backends use the same memory, and nothing makes the later one wait", sr__lint_race},
    {"host-bounce", "a copy between two devices goes through the host", sr__lint_host_bounce},
    {"imbalance", "a device does next to nothing, or most splits hold a single node", sr__lint_imbalance},
    {NULL, NULL, NULL},
};

const sr_lint *sr_lints(void) { return lints; }

/* ---- which lints a run can be asked ------------------------------------------------------------------------------ */

/* After a failure only what was decided until then is there to be looked at. */
static bool applies(const sr_lint *lint, const sr_lint_input *input) {
    const sr_layout *layout = input->layout;
    const bool has_graph = layout != NULL && layout->graph != NULL && layout->backend_of != NULL;
    if (input->error != NULL && input->error->status == SR_MEMORY) {
        return false;
    }
    if (lint->find == sr__lint_limits) {
        return true;
    }
    if (lint->find == sr__lint_fallback || lint->find == sr__lint_preallocated) {
        return has_graph && layout->status != SR_GRAPH_SIZE;
    }
    if (lint->find == sr__lint_realloc) {
        return sr_layout_has_splits(layout) && layout->status != SR_ALLOCATION;
    }
    return sr_layout_has_splits(layout);
}

/* ---- order: by severity, then by cost, else as they were found --------------------------------------------------- */

typedef struct ranked { sr_finding finding; int place; } ranked;

static int compare(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->finding.severity != y->finding.severity) {
        return x->finding.severity > y->finding.severity ? -1 : 1;
    }
    if (x->finding.bytes != y->finding.bytes) {
        return x->finding.bytes > y->finding.bytes ? -1 : 1;
    }
    if (x->finding.splits != y->finding.splits) {
        return x->finding.splits > y->finding.splits ? -1 : 1;
    }
    return x->place - y->place;
}

static sr_status sort_findings(sr_findings *findings, int first, sr_error *err) {
    const int n = findings->n - first;
    if (n < 2) {
        return SR_OK;
    }
    ranked *list = sr__malloc((size_t)n * sizeof(*list));
    if (list == NULL) {
        return sr__fail_memory(err);
    }
    for (int i = 0; i < n; i++) {
        list[i] = (ranked){findings->items[first + i], i};
    }
    qsort(list, (size_t)n, sizeof(*list), compare);
    for (int i = 0; i < n; i++) {
        findings->items[first + i] = list[i].finding;
    }
    sr__free(list);
    return SR_OK;
}

/* ---- a run ------------------------------------------------------------------------------------------------------ */

sr_status sr_lint_run(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    sr_status status = SR_OK;
    const int first = findings->n;
    const sr_layout *layout = input->layout;
    for (const sr_lint *lint = lints; lint->kind != NULL; lint++) {
        if (applies(lint, input)) {
            SR_TRY(lint->find(input, findings, err));
        }
    }
    SR_TRY(sort_findings(findings, first, err));
    if (input->history != NULL && sr_layout_has_splits(layout) && (layout->addresses != NULL || layout->reserve)) {
        sr__lint_history_advance(input->history, layout);
    }
done:
    return status;
}
