/*
 * lint_order.c - finding `order`: another order of the nodes needs fewer splits.
 *
 * Layer: analyze.  What it says has been scheduled (order.h).  Not linear: n log n where the dependences of data would
 * allow fewer changes of backend than there are.
 */
#include "analyze/finding.h"
#include "analyze/order.h"

enum { MOST_NAMES = 16 };

/* The first group of neighbours that moves: places [begin, end) of the new order. */
static void first_group(const sr_graph *graph, const sr__order *order, int32_t *out_begin, int32_t *out_end) {
    int32_t i = 0;
    while (i < graph->n_nodes && !order->moved[i]) {
        i++;
    }
    *out_begin = i;
    while (i < graph->n_nodes && (order->moved[i] || sr_op_is_view(graph->tensors[order->nodes[i]].op))) {
        i++;
    }
    *out_end = i;
}

/* "'a', 'b' and 3 more before 'c'" of the first group; what stays behind it is what it goes before. */
static void put_group(sr__str *s, const sr_graph *graph, const sr__order *order, int32_t begin, int32_t end) {
    int32_t n = 0;
    for (int32_t i = begin; i < end; i++) {
        if (!order->moved[i]) {
            continue;
        }
        if (n < 3) {
            sr__str_printf(s, "%s'%s'", n > 0 ? ", " : "", sr__label(graph, order->nodes[i]));
        }
        n++;
    }
    if (n > 3) {
        sr__str_printf(s, " and %d more", (int)n - 3);
    }
    if (end < graph->n_nodes) {
        sr__str_printf(s, " before '%s'", sr__label(graph, order->nodes[end]));
    } else {
        sr__str_printf(s, " to the end");
    }
    if (order->n_moved > n) {
        sr__str_printf(s, ", and %d other nodes", (int)(order->n_moved - n));
    }
}

static bool name_moved(const sr_graph *graph, const sr__order *order, sr_finding *finding) {
    bool ok = true;
    for (int32_t i = 0; i < graph->n_nodes && ok && finding->n_tensors < MOST_NAMES; i++) {
        ok = !order->moved[i] || sr__finding_tensor(finding, sr__label(graph, order->nodes[i]));
    }
    return ok;
}

static bool report(const sr_layout *layout, const sr__order *order, sr_findings *findings) {
    const sr_graph *graph = layout->graph;
    uint64_t bytes = 0;
    int32_t begin, end;
    sr__str group = {0}, placed = {0};
    sr_finding *finding = sr__finding_add(findings, "order", SR_SEVERITY_WARNING);
    if (!finding) {
        return false;
    }
    for (int32_t k = 0; k < layout->n_inputs; k++) {
        bytes += graph->tensors[layout->inputs[k]].nbytes;
    }
    finding->splits = layout->n_splits - order->n_splits;
    finding->bytes = bytes > order->bytes ? bytes - order->bytes : 0;
    first_group(graph, order, &begin, &end);
    put_group(&group, graph, order, begin, end);
    if (order->n_reassigned == 0) {
        sr__str_puts(&placed, "every node stays on its backend");
    } else {
        sr__str_printf(&placed, "%d node%s then follow%s other neighbours to another backend", (int)order->n_reassigned,
                       order->n_reassigned == 1 ? "" : "s", order->n_reassigned == 1 ? "s" : "");
    }
    const bool ok = !group.failed && !placed.failed && name_moved(graph, order, finding) &&
                    sr__finding_say(finding, "another order of the nodes needs %d splits instead of %d: move %s; %s",
                                    (int)order->n_splits, (int)layout->n_splits, sr__str_text(&group),
                                    sr__str_text(&placed)) &&
                    sr__finding_number(finding, "n_splits", order->n_splits) &&
                    sr__finding_number(finding, "moves", order->n_moved) &&
                    sr__finding_number(finding, "reassigned", order->n_reassigned) &&
                    (end >= graph->n_nodes ||
                     sr__finding_text(finding, "before", sr__label(graph, order->nodes[end]))) &&
                    sr__finding_hint(finding, "build the graph so that %s %s there; in ggml the "
                                     "order of calls of ggml_build_forward_expand decides",
                                     sr__label(graph, order->nodes[begin]),
                                     order->n_moved == 1 ? "stands" : "and the others stand");
    sr__str_free(&group);
    sr__str_free(&placed);
    return ok;
}

sr_status sr__lint_order(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    sr__order order;
    sr_status status =
        sr__order_find(input->layout, input->params ? input->params : input->layout->params, &order, err);
    if (status == SR_OK && order.nodes && !report(input->layout, &order, findings)) {
        status = sr__fail_memory(err);
    }
    sr__order_free(&order);
    return status;
}
