/*
 * report_words.c - the reasons of a schedule in words: causes, split starts, reallocations.
 *
 * Layer: report.  The words come from the record alone (decisions, splits, misfit); docs/causes.md tells the rules
 * behind them.
 */
#include "analyze/realloc_impl.h"
#include "report/report_facts.h"

static const char *type_name(const sr_layout *layout, int32_t tensor) {
    const sr_buffer *buffer = sr__buffer_of(layout->graph, &layout->graph->tensors[tensor]);
    return buffer != NULL ? buffer->type->name : sr__backend_name(layout, layout->backend_of[tensor]);
}

static void put_tensor_name(sr__str *s, const sr_layout *layout, int32_t tensor) {
    sr__put_name(s, sr__shown_name(&layout->graph->tensors[tensor]));
}

/* "node 12 attn_norm-0" or, for a leaf, its name. */
static void put_neighbour(sr__str *s, const sr_layout *layout, int32_t tensor) {
    const sr_tensor *t = &layout->graph->tensors[tensor];
    if (t->node >= 0) {
        sr__str_printf(s, "node %d ", (int)t->node);
    }
    sr__put_name(s, sr__shown_name(t));
}

/* The weights that a 1.wgtN or 1.off speaks of: the recorded one, else source N. */
static int32_t weight_of(const sr_layout *layout, int32_t tensor, int cause, int32_t because) {
    const sr_tensor *t = &layout->graph->tensors[tensor];
    const int place = cause - SR_CAUSE_WGT0;
    if (because >= 0 || cause < SR_CAUSE_WGT0 || place >= t->n_src) {
        return because;
    }
    return layout->graph->srcs[t->src_begin + place];
}

static void put_weight_words(sr__str *s, const sr_layout *layout, int32_t tensor, int cause, int32_t because) {
    const int32_t weight = weight_of(layout, tensor, cause, because);
    if (cause == SR_CAUSE_OFFLOAD) {
        sr__str_puts(s, "offloaded: ");
    }
    sr__str_puts(s, "weights ");
    if (weight >= 0) {
        put_tensor_name(s, layout, weight);
        sr__str_puts(s, " are in ");
        sr__put_name(s, type_name(layout, weight));
    } else {
        sr__str_puts(s, "decided");
    }
}

/* "in buffer kv (CPU)", "views cache_k_l0 in buffer kv (CPU)". */
static void put_own_buffer_words(sr__str *s, const sr_layout *layout, int32_t tensor) {
    const sr_tensor *t = &layout->graph->tensors[tensor];
    const sr_buffer *buffer = sr__buffer_of(layout->graph, t);
    if (t->view_src >= 0) {
        sr__str_puts(s, "views ");
        put_tensor_name(s, layout, t->view_src);
        sr__str_puts(s, " ");
    }
    if (buffer == NULL) {
        sr__str_puts(s, "in memory of its own");
        return;
    }
    const char *name = buffer->name != NULL ? buffer->name : buffer->type->name;
    sr__str_puts(s, "in buffer ");
    sr__put_name(s, name);
    if (strcmp(name, buffer->type->name) != 0) {
        sr__str_puts(s, " (");
        sr__put_name(s, buffer->type->name);
        sr__str_puts(s, ")");
    }
}

/* The higher backends that would not take a node, with their reasons: why it is where it is. */
static void put_refusals(sr__str *s, const sr_layout *layout, int32_t tensor) {
    const sr_graph_view view = sr_graph_whole(layout->graph);
    for (int b = 0; b < layout->backend_of[tensor]; b++) {
        sr_refusal why = {0};
        if (sr_backend_supports_op(layout->backends[b], &view, tensor, &why)) {
            continue;
        }
        static const char *const by[] = {"its device", "rule", "not among", "the recording"};
        sr__str_puts(s, "; ");
        sr__put_name(s, layout->backends[b]->name);
        sr__str_puts(s, " refuses ");
        sr__put_name(s, sr_tensor_op_desc(&layout->graph->tensors[tensor]));
        if (why.by == SR_REFUSED_BY_ALLOW) {
            sr__str_puts(s, " (not in its allow list)");
        } else if (why.text != NULL && why.text[0] != '\0' && (int)why.by < SR_COUNT(by)) {
            sr__str_printf(s, " (%s", why.by == SR_REFUSED_BY_DEVICE ? "" : by[why.by]);
            sr__str_puts(s, why.by == SR_REFUSED_BY_DEVICE ? "" : ": ");
            sr__put_name(s, why.text);
            sr__str_puts(s, ")");
        }
    }
}

static void put_follow_words(sr__str *s, const sr_layout *layout, int32_t tensor, const sr_decision *d) {
    if (d != NULL && d->because >= 0) {
        sr__str_puts(s, "follows ");
        put_neighbour(s, layout, d->because);
    } else if (d != NULL && d->pass == SR_PASS_4) {
        sr__str_puts(s, "first backend that takes it");
    } else {
        sr__str_puts(s, "follows a neighbour on ");
        sr__put_name(s, sr__backend_name(layout, layout->backend_of[tensor]));
    }
}

static void put_upgrade_words(sr__str *s, const sr_layout *layout, int32_t tensor, const sr_decision *d) {
    sr__str_puts(s, "moved up");
    if (d != NULL && d->from >= 0) {
        sr__str_puts(s, " from ");
        sr__put_name(s, sr__backend_name(layout, d->from));
    }
    const int backend = layout->backend_of[tensor];
    if (backend >= 0) {
        sr__str_puts(s, ": same buffer type ");
        sr__put_name(s, layout->buffer_types[backend]->name);
    }
}

void sr__put_cause_words(sr__str *s, const sr_layout *layout, const sr__facts *facts, int32_t tensor) {
    const sr_tensor *t = &layout->graph->tensors[tensor];
    const int cause = layout->cause_of[tensor];
    const sr_decision *d = facts->decision_of[tensor] >= 0 ? &layout->decisions[facts->decision_of[tensor]] : NULL;
    const int32_t because = d != NULL ? d->because : -1;
    switch (cause) {
    case SR_CAUSE_NONE:
        break;
    case SR_CAUSE_USER:
        sr__str_puts(s, "user assignment");
        break;
    case SR_CAUSE_DST:
    case SR_CAUSE_VSRC:
        put_own_buffer_words(s, layout, tensor);
        break;
    case SR_CAUSE_INPUT:
        sr__str_puts(s, "user inputs go to the last backend");
        break;
    case SR_CAUSE_SUP:
        put_follow_words(s, layout, tensor, d);
        break;
    case SR_CAUSE_BEST:
        sr__str_puts(s, "reads most of its sources");
        put_refusals(s, layout, tensor);
        break;
    case SR_CAUSE_UPG:
        put_upgrade_words(s, layout, tensor, d);
        break;
    case SR_CAUSE_VSRC4:
        sr__str_puts(s, "views ");
        if (t->view_src >= 0) {
            put_tensor_name(s, layout, t->view_src);
        }
        break;
    case SR_CAUSE_CUR:
        sr__str_puts(s, because >= 0 ? "used by " : "follows its first user");
        if (because >= 0) {
            put_neighbour(s, layout, because);
        }
        break;
    case SR_CAUSE_COPY:
        sr__str_puts(s, "user input with pipeline copies");
        break;
    default:
        put_weight_words(s, layout, tensor, cause, because);
        break;
    }
}

/* ---- splits ---------------------------------------------------------------------------------------------------- */

void sr__put_split_words(sr__str *s, const sr_layout *layout, const sr_split *split) {
    switch (split->because) {
    case SR_STARTS_WEIGHT:
        sr__str_puts(s, "   (new split for ");
        if (split->because_tensor >= 0) {
            put_tensor_name(s, layout, split->because_tensor);
        } else {
            sr__str_puts(s, "weights");
        }
        sr__str_puts(s, ")");
        break;
    case SR_STARTS_FULL:
        sr__str_puts(s, "   (new split: the one before is full)");
        break;
    default:
        break;
    }
}

/* ---- reallocation ---------------------------------------------------------------------------------------------- */

void sr__put_misfit_words(sr__str *s, const sr_layout *layout) {
    sr__str words = {0};
    sr__put_misfit(&words, layout);
    sr__put_name(s, sr__str_text(&words));
    s->failed |= words.failed;
    sr__str_free(&words);
}
