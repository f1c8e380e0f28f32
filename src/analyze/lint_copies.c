/*
 * lint_copies.c - memory that pipeline copies take: slots of user inputs and of split inputs, by backend.
 *
 * Layer: analyze.
 */
#include <stdlib.h>

#include "analyze/finding.h"

typedef struct held {
    int32_t n_user, n_split;          /* tensors */
    uint64_t user_bytes, split_bytes; /* of one slot each */
} held;

/* A tensor with slots on a backend, for the list of the largest. */
typedef struct slotted { int32_t tensor; size_t bytes; } slotted;

static int larger_first(const void *a, const void *b) {
    const slotted *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : x->tensor - y->tensor;
}

/* The tensors with slots on a backend, the largest first; NULL: out of memory. */
static slotted *list_tensors(const sr_layout *layout, int backend, held *h, int32_t *out_n) {
    const sr_graph *graph = layout->graph;
    slotted *list = sr__malloc(((size_t)layout->n_graph_inputs + (size_t)layout->n_inputs + 1) * sizeof(*list));
    int32_t n = 0;
    *h = (held){0};
    for (int32_t i = 0; list != NULL && i < layout->n_graph_inputs; i++) {
        const int32_t tensor = layout->graph_inputs[i];
        if (layout->backend_of[tensor] == backend) {
            list[n++] = (slotted){tensor, graph->tensors[tensor].nbytes};
            h->n_user++;
            h->user_bytes += graph->tensors[tensor].nbytes;
        }
    }
    for (int32_t s = 0; list != NULL && s < layout->n_splits; s++) {
        const sr_split *split = &layout->splits[s];
        for (int32_t k = 0; split->backend == backend && k < split->n_inputs; k++) {
            const int32_t tensor = layout->inputs[split->inputs_begin + k];
            list[n++] = (slotted){tensor, graph->tensors[tensor].nbytes};
            h->n_split++;
            h->split_bytes += graph->tensors[tensor].nbytes;
        }
    }
    if (list != NULL) {
        qsort(list, (size_t)n, sizeof(*list), larger_first);
    }
    *out_n = n;
    return list;
}

/* "2 user inputs 1.0 KiB" */
static void put_part(sr__str *s, const char *lead, int32_t n, const char *what, uint64_t bytes) {
    char text[16];
    sr__format_bytes(bytes, text);
    sr__str_printf(s, "%s%d %s%s %s", lead, (int)n, what, n == 1 ? "" : "s", text);
}

static bool say(const sr_layout *layout, const char *backend, const held *h, const char *largest, sr_finding *f) {
    const uint64_t slots = (uint64_t)layout->n_copies;
    sr__str s = {0};
    char total[16], saved[16];
    sr__format_bytes(f->bytes, total);
    sr__format_bytes(f->bytes - f->bytes / slots, saved);
    sr__str_printf(&s, "%d copies take %s on %s, %s more than one: ", layout->n_copies, total, backend, saved);
    if (h->n_user > 0) {
        put_part(&s, "", h->n_user, "user input", slots * h->user_bytes);
    }
    if (h->n_split > 0) {
        put_part(&s, h->n_user > 0 ? ", " : "", h->n_split, "split input", slots * h->split_bytes);
    }
    const bool ok = !s.failed && sr__finding_say(f, "%s; the largest is '%s'", sr__str_text(&s), largest);
    sr__str_free(&s);
    return ok;
}

static bool report(const sr_layout *layout, int backend, const held *h, const slotted *list, int32_t n,
                   sr_findings *findings) {
    const char *name = layout->backends[backend]->name;
    const uint64_t slots = (uint64_t)layout->n_copies, one = h->user_bytes + h->split_bytes;
    sr_finding *f = sr__finding_add(findings, "copies", SR_SEVERITY_INFO);
    if (f == NULL) {
        return false;
    }
    f->bytes = slots * one;
    bool ok = say(layout, name, h, sr__label(layout->graph, list[0].tensor), f) &&
              sr__finding_hint(f, "copies pay off where several batches are under way at once; --copies 1 does for one "
                                  "user at a time");
    for (int32_t i = 0; i < n && ok; i++) {
        ok = sr__finding_tensor(f, sr__label(layout->graph, list[i].tensor));
    }
    return ok && sr__finding_text(f, "backend", name) && sr__finding_number(f, "n_copies", layout->n_copies) &&
           sr__finding_number(f, "user_inputs", h->n_user) && sr__finding_number(f, "split_inputs", h->n_split) &&
           sr__finding_number(f, "user_input_bytes", (int64_t)(slots * h->user_bytes)) &&
           sr__finding_number(f, "split_input_bytes", (int64_t)(slots * h->split_bytes)) &&
           sr__finding_number(f, "saved", (int64_t)((slots - 1) * one));
}

sr_status sr__lint_copies(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    const sr_layout *layout = input->layout;
    bool ok = true;
    for (int b = 0; layout->n_copies > 1 && b < layout->n_backends && ok; b++) {
        held h;
        int32_t n;
        slotted *list = list_tensors(layout, b, &h, &n);
        ok = list != NULL && (h.user_bytes + h.split_bytes == 0 || report(layout, b, &h, list, n, findings));
        sr__free(list);
    }
    return ok ? SR_OK : sr__fail_memory(err);
}
