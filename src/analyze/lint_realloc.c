/*
 * lint_realloc.c - memory that was planned again, and plans that were kept although they do not hold.
 *
 * Layer: analyze.  The first allocation of a scheduler is none, nor is a run that fits.
 */
#include <inttypes.h>

#include "analyze/lint_history.h"
#include "sched_run/analyze.h"

/* The tensor of the graph behind an id of the view. */
static const char *name_behind(const sr_layout *layout, int32_t id) {
    const int32_t n = layout->graph->n_tensors;
    return sr__label(layout->graph, id < n ? id : layout->view.extra[id - n].of);
}

/* ---- planned again ----------------------------------------------------------------------------------------------- */

/* Whether the topology is that of the run before the last, and memory was planned again both times. */
static bool alternates(const sr_lint_input *input) {
    const sr_lint_history *h = input->history;
    if (h == NULL || h->n_marks < 2 || !h->marks[0].replanned) {
        return false;
    }
    const uint64_t topology = sr__topology_of(input->layout);
    return topology == h->marks[1].topology && topology != h->marks[0].topology;
}

static const char *backend_name(const sr_layout *layout, int64_t backend) {
    return backend >= 0 && backend < layout->n_backends ? layout->backends[backend]->name : "none";
}

static void put_reason(sr__str *s, const sr_layout *layout) {
    const sr_misfit *m = &layout->misfit;
    char text[SR_MISFIT_TEXT], name[SR_MAX_NAME + 1], old_bytes[16], new_bytes[16];
    sr_misfit_text(layout, text);
    switch (m->kind) {
    case SR_MISFIT_NODES:
    case SR_MISFIT_LEAFS:
        sr__str_printf(s, "%s (%" PRId64 ", now %" PRId64 ")", text, m->old_size, m->new_size);
        break;
    case SR_MISFIT_BACKEND_IDS:
        sr_layout_name(layout, m->node, name);
        sr__str_printf(s, "%s '%s' at position %d is on %s, where the schedule before had %s",
                       m->is_leaf ? "leaf" : "node", name, (int)m->position, backend_name(layout, m->new_size),
                       backend_name(layout, m->old_size));
        break;
    default:
        sr__format_bytes((uint64_t)m->old_size, old_bytes);
        sr__format_bytes((uint64_t)m->new_size, new_bytes);
        sr__str_printf(s, "%s: it needs %s, %s were planned", text, new_bytes, old_bytes);
        break;
    }
}

/* Bytes that buffers got more; names their types. */
static uint64_t count_growth(const sr_layout *layout, sr__str *types) {
    uint64_t bytes = 0;
    for (int b = 0; b < layout->n_backends; b++) {
        const size_t now = layout->compute_buffer_size[b];
        const size_t before = layout->prev_buffer_size != NULL ? layout->prev_buffer_size[b] : now;
        if (layout->grew[b]) {
            sr__str_printf(types, "%s%s", types->length > 0 ? ", " : "", layout->buffer_types[b]->name);
            bytes += now > before ? now - before : 0;
        }
    }
    return bytes;
}

static void put_hint(sr__str *s, const sr_layout *layout, bool alternating, bool grew) {
    const sr_misfit_kind kind = layout->misfit.kind;
    if (alternating) {
        sr__str_puts(s, "use one scheduler for each of the two graphs: each drives out the other's plan");
    } else if (kind == SR_MISFIT_NODE || kind == SR_MISFIT_SOURCE) {
        sr__str_puts(s, "reserve with the graph that needs most: the largest batch, and every tensor as large as it "
                        "gets");
    } else if (kind == SR_MISFIT_BACKEND_IDS) {
        sr__str_puts(s, "keep assignments and supported ops alike from run to run, or reserve with this graph");
    } else {
        sr__str_puts(s, "build graphs of one shape, or reserve with the topology that runs most");
    }
    sr__str_puts(s, grew ? "; buffers grew, so that addresses changed and every backend had to be waited for"
                         : "; no buffer grew: it cost the planning alone, and waiting for every backend");
}

static bool put_details(sr_finding *f, const sr_lint_input *input, const char *grown, bool alternating) {
    const sr_layout *layout = input->layout;
    const sr_misfit *m = &layout->misfit;
    char reason[SR_MISFIT_TEXT];
    sr_misfit_text(layout, reason);
    bool ok = sr__finding_text(f, "reason", reason) && sr__finding_number(f, "unexpected", layout->unexpected) &&
              sr__finding_number(f, "alternates", alternating);
    if (m->kind == SR_MISFIT_BACKEND_IDS) {
        ok = ok && sr__finding_text(f, "old", backend_name(layout, m->old_size)) &&
             sr__finding_text(f, "new", backend_name(layout, m->new_size));
    } else {
        ok = ok && sr__finding_number(f, "old", m->old_size) && sr__finding_number(f, "new", m->new_size);
    }
    ok = ok && (m->position < 0 || sr__finding_number(f, "position", m->position));
    return ok && (grown[0] == '\0' || sr__finding_text(f, "grew", grown));
}

static bool put_tensors(sr_finding *f, const sr_layout *layout) {
    const sr_misfit *m = &layout->misfit;
    return (m->source_id < 0 || sr__finding_tensor(f, name_behind(layout, m->source_id))) &&
           (m->node < 0 || sr__finding_tensor(f, name_behind(layout, m->node)));
}

static bool report_replan(const sr_lint_input *input, sr_findings *findings) {
    const sr_layout *layout = input->layout;
    const bool alternating = alternates(input);
    const sr_severity severity = layout->unexpected || alternating ? SR_SEVERITY_WARNING : SR_SEVERITY_INFO;
    sr_finding *f = sr__finding_add(findings, "realloc", severity);
    sr__str say = {0}, hint = {0}, grown = {0};
    bool ok = f != NULL;
    if (ok) {
        f->bytes = count_growth(layout, &grown);
        sr__str_printf(&say, "memory was planned again, %s: ", layout->unexpected ? "unexpectedly" : "as is expected");
        put_reason(&say, layout);
        if (alternating) {
            sr__str_puts(&say, "; two topologies alternate on this scheduler");
        }
        put_hint(&hint, layout, alternating, grown.length > 0);
        ok = !say.failed && !hint.failed && !grown.failed && put_tensors(f, layout) &&
             sr__finding_say(f, "%s", sr__str_text(&say)) && sr__finding_hint(f, "%s", sr__str_text(&hint)) &&
             put_details(f, input, sr__str_text(&grown), alternating);
    }
    sr__str_free(&say);
    sr__str_free(&hint);
    sr__str_free(&grown);
    return ok;
}

/* ---- kept, but not holding --------------------------------------------------------------------------------------- */

/* What is otherwise than in the graph that the plan was made of, in words. */
static void put_changes(sr__str *s, const sr__plan_print *plan, const sr__plan_print *now) {
    const struct { bool changed; const char *words; } changes[] = {
        {plan->leafs != now->leafs, "sizes of leafs"},
        {plan->lifetimes != now->lifetimes, "lifetimes"},
        {plan->flags != now->flags, "flags"},
        {plan->shapes != now->shapes, "ops or shapes"},
    };
    for (int i = 0; i < SR_COUNT(changes); i++) {
        if (changes[i].changed) {
            sr__str_printf(s, "%s%s", s->length > 0 ? ", " : "", changes[i].words);
        }
    }
}

static bool report_clobber(const sr_layout *layout, const sr__clobber *c, const char *changed, sr_findings *findings) {
    sr_finding *f = sr__finding_add(findings, "realloc", SR_SEVERITY_ERROR);
    const char *lost = name_behind(layout, c->lost), *writer = name_behind(layout, c->writer);
    if (f == NULL) {
        return false;
    }
    f->bytes = sr_view_tensor(&layout->view, c->lost)->nbytes;
    return sr__finding_tensor(f, lost) && sr__finding_tensor(f, writer) &&
           sr__finding_say(f,
                           "the plan was kept, for it fits by sizes, but %s changed since it was made: '%s' is written "
                           "over '%s', which is still in use",
                           changed, writer, lost) &&
           sr__finding_hint(f, "reserve with this graph, or change the number of its nodes, so that memory is planned "
                               "again: results are wrong") &&
           sr__finding_text(f, "changed", changed) && sr__finding_text(f, "lost", lost) &&
           sr__finding_text(f, "written", writer);
}

static sr_status check_kept_plan(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    const sr_layout *layout = input->layout;
    sr_status status = SR_OK;
    sr__str changed = {0};
    sr__clobber c = {-1, -1};
    if (input->history == NULL || !input->history->has_plan || layout->addresses == NULL) {
        return SR_OK;
    }
    const sr__plan_print now = sr__plan_print_of(layout);
    put_changes(&changed, &input->history->plan, &now);
    if (changed.length > 0) {
        SR_TRY(sr__find_clobber(layout, &c, err));
    }
    if (changed.failed || (c.lost >= 0 && !report_clobber(layout, &c, sr__str_text(&changed), findings))) {
        SR_TRY(sr__fail_memory(err));
    }
done:
    sr__str_free(&changed);
    return status;
}

sr_status sr__lint_realloc(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    const sr_layout *layout = input->layout;
    if (layout->reserve || layout->first_allocation) {
        return SR_OK;
    }
    if (!layout->replanned) {
        return check_kept_plan(input, findings, err);
    }
    return report_replan(input, findings) ? SR_OK : sr__fail_memory(err);
}
