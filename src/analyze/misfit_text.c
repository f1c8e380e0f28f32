/*
 * misfit_text.c - the reason of a reallocation in the words that descriptions and the reference's allocator use.
 *
 * Layer: analyze.  Answers to the debug messages of ggml_gallocr_needs_realloc.
 */
#include <stdio.h>

#include "sched_run/analyze.h"

void sr_misfit_text(const sr_layout *layout, char out_text[SR_MISFIT_TEXT]) {
    const sr_misfit *m = &layout->misfit;
    char node[SR_MAX_NAME + 1] = "";
    char source[SR_MAX_NAME + 1] = "";
    if (m->node >= 0 && (m->kind == SR_MISFIT_NODE || m->kind == SR_MISFIT_SOURCE)) {
        sr_layout_name(layout, m->node, node);
    }
    if (m->source_id >= 0 && m->kind == SR_MISFIT_SOURCE) {
        sr_layout_name(layout, m->source_id, source);
    }
    switch (m->kind) {
    case SR_MISFIT_NONE:
        out_text[0] = '\0';
        break;
    case SR_MISFIT_NODES:
        snprintf(out_text, SR_MISFIT_TEXT, "graph has different number of nodes");
        break;
    case SR_MISFIT_LEAFS:
        snprintf(out_text, SR_MISFIT_TEXT, "graph has different number of leafs");
        break;
    case SR_MISFIT_NODE:
        snprintf(out_text, SR_MISFIT_TEXT, "node %s is not valid", node);
        break;
    case SR_MISFIT_SOURCE:
        snprintf(out_text, SR_MISFIT_TEXT, "src %d (%s) of node %s is not valid", (int)m->source, source, node);
        break;
    case SR_MISFIT_BACKEND_IDS:
        snprintf(out_text, SR_MISFIT_TEXT, "backend ids changed");
        break;
    }
}
