/*
 * lint_imbalance.c - finding `imbalance`: a device that takes part for next to nothing, and splits of a single node.
 *
 * Layer: analyze.  The number of splits is blind to what is in them.  A GPU with less than a twentieth of the
 * operations costs its copies and waits without helping; where most splits hold one node, the graph goes to and fro.
 * What the CPU has to do is not judged: it always has some.
 */
#include <stdio.h>

#include "analyze/finding.h"
#include "graph/work.h"

static const double SMALLEST_SHARE = 0.05;
enum { FEWEST_SPLITS = 4, MOST_NAMES = 16 };

/* What one backend has to do. */
typedef struct share {
    int32_t nodes, splits;
    int32_t largest; /* its node of the most operations, -1 */
    double flops, most, bytes;
    uint64_t copied;
} share;

static void measure(const sr_layout *layout, share *shares, share *total, int32_t *out_single) {
    const sr_graph *graph = layout->graph;
    *out_single = 0;
    for (int32_t s = 0; s < layout->n_splits; s++) {
        const sr_split *split = &layout->splits[s];
        share *own = &shares[split->backend];
        int32_t n = 0;
        for (int32_t i = split->start; i < split->end; i++) {
            const int32_t node = graph->nodes[i];
            if (!sr__works(&graph->tensors[node])) {
                continue;
            }
            const double flops = sr__node_flops(graph, node);
            if (own->largest < 0 || flops > own->most) {
                own->largest = node;
                own->most = flops;
            }
            own->flops += flops;
            own->bytes += sr__node_bytes(graph, node);
            n++;
        }
        for (int32_t k = 0; k < split->n_inputs; k++) {
            own->copied += sr__input_bytes(layout, split->inputs_begin + k);
        }
        own->nodes += n;
        own->splits += n > 0;
        *out_single += n == 1;
    }
    for (int b = 0; b < layout->n_backends; b++) {
        total->nodes += shares[b].nodes;
        total->splits += shares[b].splits;
        total->flops += shares[b].flops;
        total->bytes += shares[b].bytes;
        total->copied += shares[b].copied;
    }
}

static double percent(double part, double whole) { return whole > 0 ? 100.0 * part / whole : 0; }

/* "GPU0 96% of the nodes, 99% of the operations, 97% of the bytes; CPU ..." of those that take part. */
static void put_shares(sr__str *s, const sr_layout *layout, const share *shares, const share *total) {
    const char *separator = "";
    for (int b = 0; b < layout->n_backends; b++) {
        const share *own = &shares[b];
        if (own->nodes > 0) {
            sr__str_printf(s, "%s%s %.0f%% of the nodes, %.1f%% of the operations, %.0f%% of the bytes", separator,
                           layout->backends[b]->name, percent(own->nodes, total->nodes),
                           percent(own->flops, total->flops), percent(own->bytes, total->bytes));
            separator = "; ";
        }
    }
}

/* ---- a device that takes part for next to nothing -------------------------------------------------------------- */

static bool is_idle(const sr_layout *layout, const share *own, const share *total, int backend) {
    const sr_device_type type = layout->backends[backend]->device->type;
    return (type == SR_DEVICE_GPU || type == SR_DEVICE_IGPU) && own->nodes > 0 &&
           own->flops < SMALLEST_SHARE * total->flops;
}

static bool report_idle(const sr_layout *layout, const share *shares, const share *total, int backend,
                        const char *text, sr_findings *findings) {
    const share *own = &shares[backend];
    const char *name = layout->backends[backend]->name;
    char copied[16];
    sr_finding *finding = sr__finding_add(findings, "imbalance", SR_SEVERITY_INFO);
    if (!finding) {
        return false;
    }
    sr__format_bytes(own->copied, copied);
    finding->bytes = own->copied;
    return sr__finding_tensor(finding, sr__label(layout->graph, own->largest)) &&
           sr__finding_say(finding, "%s takes part with %.1f%% of the floating-point operations: %d of %d nodes in %d "
                           "split%s, for which %s are copied to it; %s", name, percent(own->flops, total->flops),
                           (int)own->nodes, (int)total->nodes, (int)own->splits, own->splits == 1 ? "" : "s", copied,
                           text) &&
           sr__finding_text(finding, "backend", name) && sr__finding_number(finding, "nodes", own->nodes) &&
           sr__finding_number(finding, "backend_splits", own->splits) &&
           sr__finding_number(finding, "percent", (int64_t)percent(own->flops, total->flops)) &&
           sr__finding_hint(finding, "give %s more of the weights, or none, and leave it out of the machine", name);
}

/* ---- splits of a single node ----------------------------------------------------------------------------------- */

static bool name_single(const sr_layout *layout, sr_finding *finding) {
    const sr_graph *graph = layout->graph;
    bool ok = true;
    for (int32_t s = 0; s < layout->n_splits && ok && finding->n_tensors < MOST_NAMES; s++) {
        int32_t n = 0, last = -1;
        for (int32_t i = layout->splits[s].start; i < layout->splits[s].end; i++) {
            if (sr__works(&graph->tensors[graph->nodes[i]])) {
                last = graph->nodes[i];
                n++;
            }
        }
        ok = n != 1 || sr__finding_tensor(finding, sr__label(graph, last));
    }
    return ok;
}

static bool report_single(const sr_layout *layout, const share *total, int32_t single, const char *text,
                          sr_findings *findings) {
    sr_finding *finding = sr__finding_add(findings, "imbalance", SR_SEVERITY_INFO);
    if (!finding || !name_single(layout, finding)) {
        return false;
    }
    char copied[16];
    sr__format_bytes(total->copied, copied);
    finding->bytes = total->copied;
    return sr__finding_say(finding,
                           "%d of %d splits hold a single node, the first of them '%s'; all splits together copy "
                           "%s; %s",
                           (int)single, (int)layout->n_splits, finding->n_tensors > 0 ? finding->tensors[0] : "",
                           copied, text) &&
           sr__finding_number(finding, "single", single) && sr__finding_number(finding, "n_splits", layout->n_splits) &&
           sr__finding_hint(finding, "see why these nodes leave their neighbours' backend (-e NODE): an op that it "
                                     "refuses, a weight elsewhere, or an order of nodes that alternates");
}

sr_status sr__lint_imbalance(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    const sr_layout *layout = input->layout;
    share *shares = sr__calloc((size_t)layout->n_backends, sizeof(*shares));
    share total = {.largest = -1};
    sr__str text = {0};
    int32_t single;
    if (!shares) {
        return sr__fail_memory(err);
    }
    for (int b = 0; b < layout->n_backends; b++) {
        shares[b].largest = -1;
    }
    measure(layout, shares, &total, &single);
    put_shares(&text, layout, shares, &total);
    bool ok = !text.failed;
    for (int b = 0; b < layout->n_backends && ok; b++) {
        ok = !is_idle(layout, &shares[b], &total, b) ||
             report_idle(layout, shares, &total, b, sr__str_text(&text), findings);
    }
    if (ok && layout->n_splits >= FEWEST_SPLITS && 2 * single > layout->n_splits) {
        ok = report_single(layout, &total, single, sr__str_text(&text), findings);
    }
    sr__free(shares);
    sr__str_free(&text);
    return ok ? SR_OK : sr__fail_memory(err);
}
