/*
 * realloc_words.c - why memory was planned again, whether that was to be expected, and what to try, in words.
 *
 * Layer: analyze.
 */
#include <inttypes.h>

#include "analyze/realloc_impl.h"

static void put_bytes(sr__str *s, int64_t bytes) {
    char text[16];
    sr__format_bytes(bytes > 0 ? (uint64_t)bytes : 0, text);
    sr__str_puts(s, text);
}

static void put_name(sr__str *s, const sr_layout *layout, int32_t id) {
    char name[SR_MAX_NAME + 1] = "?";
    if (id >= 0) {
        sr_layout_name(layout, id, name);
    }
    sr__str_puts(s, name);
}

static const char *backend_name(const sr_layout *layout, int64_t backend) {
    return backend >= 0 && backend < layout->n_backends ? layout->backends[backend]->name : "none";
}

/* ---- the reason ------------------------------------------------------------------------------------------------ */

static void put_sizes(sr__str *s, const sr_misfit *m) {
    if (m->new_size > m->old_size && m->old_size >= 0) {
        sr__str_puts(s, " needs ");
        put_bytes(s, m->new_size);
        sr__str_puts(s, ", ");
        put_bytes(s, m->old_size);
        sr__str_puts(s, " were planned");
    } else {
        sr__str_puts(s, " does not fit its plan");
    }
}

/* Plans are compared position by position: what stands there now may be another tensor than before. */
static void put_moved(sr__str *s, const sr_layout *layout, const sr_misfit *m) {
    sr__str_printf(s, "%s %d", m->is_leaf ? "leaf" : "position", (int)m->position);
    if (m->node >= 0) {
        sr__str_puts(s, ", ");
        put_name(s, layout, m->node);
        sr__str_puts(s, ",");
    }
    sr__str_printf(s, " is on %s, was on %s", backend_name(layout, m->new_size), backend_name(layout, m->old_size));
}

void sr__put_misfit(sr__str *s, const sr_layout *layout) {
    const sr_misfit *m = &layout->misfit;
    if (layout->first_allocation) {
        sr__str_puts(s, "first allocation");
        return;
    }
    switch (m->kind) {
    case SR_MISFIT_NONE:
        break;
    case SR_MISFIT_NODES:
    case SR_MISFIT_LEAFS:
        sr__str_printf(s, "%" PRId64 " %s instead of %" PRId64, m->new_size,
                       m->kind == SR_MISFIT_NODES ? "nodes with copies" : "leafs", m->old_size);
        break;
    case SR_MISFIT_NODE:
        sr__str_puts(s, "node ");
        put_name(s, layout, m->node);
        put_sizes(s, m);
        break;
    case SR_MISFIT_SOURCE:
        sr__str_puts(s, "source ");
        put_name(s, layout, m->source_id);
        sr__str_puts(s, " of ");
        put_name(s, layout, m->node);
        put_sizes(s, m);
        break;
    case SR_MISFIT_BACKEND_IDS:
        put_moved(s, layout, m);
        break;
    }
}

/* ---- whether it was to be expected ----------------------------------------------------------------------------- */

static void put_expectation(sr__str *s, const sr_layout *layout) {
    if (layout->reserve) {
        sr__str_puts(s, "a reserve plans on purpose");
    } else if (!layout->replanned) {
        return;
    } else if (layout->first_allocation) {
        sr__str_puts(s, "expected: nothing had been planned before");
    } else if (!layout->reallocated) {
        sr__str_puts(s, "with a single backend the allocator plans again by itself; the scheduler does not count it");
    } else if (layout->backend_ids_changed) {
        sr__str_puts(s, "expected: a tensor moved to a backend with another buffer type");
    } else if (layout->unexpected) {
        sr__str_printf(s, "unexpected: no backend changed, and the size of the graph is what it was (%" PRId64 ")",
                       layout->graph_copy_size);
    } else {
        sr__str_printf(s, "expected: the size of the graph went from %" PRId64 " to %" PRId64
                          " (nodes or leafs, and room for the inputs of its splits)",
                       layout->prev_graph_copy_size, layout->graph_copy_size);
    }
}

/* ---- what to try ----------------------------------------------------------------------------------------------- */

/* A tensor of the same extents that needs more all the same: what its buffer type adds depends on other extents. */
static bool needs_extra(const sr_layout *layout, int32_t id) {
    return id >= 0 && (int64_t)sr_view_tensor(&layout->view, id)->nbytes < layout->misfit.new_size &&
           (int64_t)sr_view_tensor(&layout->view, id)->nbytes <= layout->misfit.old_size;
}

static void put_size_hint(sr__str *s, const sr_layout *layout, const sr__snapshot *planned) {
    const sr_misfit *m = &layout->misfit;
    const int32_t id = m->kind == SR_MISFIT_SOURCE ? m->source_id : m->node;
    if (needs_extra(layout, id)) {
        sr__str_puts(s, "what its backend needs beyond the tensor's own bytes grows where the tensor does not: reserve "
                        "with the graph for which ");
        put_name(s, layout, id);
        sr__str_puts(s, " needs most, which need not be the largest batch");
    } else if (m->old_size == 0) {
        sr__str_puts(s, "reserve with a graph in which ");
        put_name(s, layout, id);
        sr__str_puts(s, " has no memory of its own, as here");
    } else {
        sr__str_puts(s, "reserve first with the graph that needs most (a run with \"reserve\": true, the largest batch "
                        "and context): smaller ones of the same kind then fit");
    }
    if (planned != NULL && planned->layout.reserve) {
        sr__str_printf(s, "; the reserve of run %d was not large enough", planned->run);
    }
}

/* Positions move where other tensors are copied into the splits: then the tensor named is not what changed. */
static void put_moved_hint(sr__str *s, const sr_layout *layout) {
    const int32_t node = layout->misfit.node;
    if (node >= layout->graph->n_tensors) {
        sr__str_puts(s, "other tensors are copied into the splits than before; find out why ");
        put_name(s, layout, layout->view.extra[node - layout->graph->n_tensors].of);
    } else {
        sr__str_puts(s, "find out why ");
        put_name(s, layout, node);
    }
    sr__str_puts(s, " is where it is (-e); a batch beyond which ops are offloaded, or shapes that a backend refuses, "
                    "are the usual reasons");
}

static void put_hint(sr__str *s, const sr_layout *layout, const sr_reallocation *r, const sr__snapshot *planned) {
    if (!r->replanned || r->first || layout->reserve) {
        return;
    }
    switch (layout->misfit.kind) {
    case SR_MISFIT_NODES:
    case SR_MISFIT_LEAFS:
        if (planned == NULL) {
            sr__str_puts(s, "no plan was in force, because the one before failed: see the run before");
        } else if (r->topology_was_seen) {
            sr__str_puts(s, "graphs of different kinds take turns on this scheduler, and each displaces the plan of "
                            "the other: give each a scheduler of its own, or make them alike");
        } else {
            sr__str_puts(s, "a plan fits only graphs with as many nodes and leafs: reserve with a graph of this kind");
        }
        break;
    case SR_MISFIT_NODE:
    case SR_MISFIT_SOURCE:
        put_size_hint(s, layout, planned);
        break;
    case SR_MISFIT_BACKEND_IDS:
        put_moved_hint(s, layout);
        break;
    case SR_MISFIT_NONE:
        break;
    }
}

sr_status sr__realloc_words(sr_reallocation *r, const sr_layout *layout, const sr__snapshot *planned, sr_error *err) {
    sr__str reason = {0}, expectation = {0}, hint = {0};
    if (layout->replanned || r->first) {
        sr__put_misfit(&reason, layout);
    }
    put_expectation(&expectation, layout);
    put_hint(&hint, layout, r, planned);
    const bool ok = sr__set_text(&r->reason, &reason) && sr__set_text(&r->expectation, &expectation) &&
                    sr__set_text(&r->hint, &hint);
    sr__str_free(&reason);
    sr__str_free(&expectation);
    sr__str_free(&hint);
    return ok ? SR_OK : sr__fail_memory(err);
}

/* ---- all runs together ----------------------------------------------------------------------------------------- */

static bool came_back(const sr_realloc_row *rows, int i) {
    for (int k = 0; k < i - 1; k++) {
        if (rows[k].topology == rows[i].topology && rows[i - 1].topology != rows[i].topology) {
            return true;
        }
    }
    return false;
}

/* "A B A B" of the runs, cut in the middle where they are many. */
static void put_topologies(sr__str *s, const sr_realloc_row *rows, int n) {
    for (int i = 0; i < n; i++) {
        char name[16];
        if (n > 16 && i == 12) {
            sr__str_puts(s, " ...");
            i = n - 3;
            continue;
        }
        sr_topology_name(rows[i].topology >= 0 ? rows[i].topology : 0, name);
        sr__str_printf(s, "%s%s", i > 0 ? " " : "", rows[i].topology >= 0 ? name : "-");
    }
}

static void count_rows(const sr_realloc_row *rows, int n, sr_realloc_summary *out) {
    for (int i = 0; i < n; i++) {
        const bool counts = rows[i].reallocated && !rows[i].first;
        out->n_reallocated += counts;
        out->n_unexpected += counts && rows[i].unexpected;
        out->n_topologies = rows[i].topology >= out->n_topologies ? rows[i].topology + 1 : out->n_topologies;
        out->alternating |= rows[i].replanned && !rows[i].reserve && rows[i].topology >= 0 && came_back(rows, i);
    }
    out->n_runs = n;
}

sr_status sr_realloc_summarize(const sr_realloc_history *history, sr_realloc_summary *out_summary, sr_error *err) {
    sr__str message = {0}, hint = {0};
    int n = 0;
    const sr_realloc_row *rows = sr_realloc_rows(history, &n);
    *out_summary = (sr_realloc_summary){0};
    count_rows(rows, n, out_summary);
    if (out_summary->n_reallocated > 0) {
        sr__str_printf(&message, "%d reallocation%s after the first allocation", out_summary->n_reallocated,
                       out_summary->n_reallocated == 1 ? "" : "s");
    }
    if (out_summary->n_unexpected > 0) {
        sr__str_printf(&message, ", %d of them unexpected", out_summary->n_unexpected);
        sr__str_puts(&hint, "reserve first with the graph that needs most (a run with \"reserve\": true)");
    }
    if (out_summary->alternating) {
        sr__str_printf(&message, "%sgraphs of %d kinds take turns: ", message.length > 0 ? "; " : "",
                       out_summary->n_topologies);
        put_topologies(&message, rows, n);
        sr__str_printf(&hint, "%seach graph displaces the plan of the other: give each kind a scheduler of its own, or "
                              "make them alike", hint.length > 0 ? "; " : "");
    }
    const bool ok = sr__set_text(&out_summary->message, &message) && sr__set_text(&out_summary->hint, &hint);
    sr__str_free(&message);
    sr__str_free(&hint);
    if (!ok) {
        sr_realloc_summary_clear(out_summary);
        return sr__fail_memory(err);
    }
    return SR_OK;
}

void sr_realloc_summary_clear(sr_realloc_summary *summary) {
    sr__free(summary->message);
    sr__free(summary->hint);
    *summary = (sr_realloc_summary){0};
}
