/*
 * lint_host_bounce.c - finding `host-bounce`: copies between two devices that go through the host.
 *
 * Layer: analyze.  Where neither device reads the other's buffer type and the two have no copy of their own (link.h), a
 * copy is read into host memory and written from there: twice the traffic, and both devices stand still meanwhile.
 */
#include "analyze/finding.h"
#include "analyze/link.h"
#include "analyze/storage.h"

/* Copies from one backend to another. */
typedef struct pair { uint64_t bytes; int32_t n; int32_t largest, split; int place; } pair;

/* Whether an input of a split goes through the host. */
static bool bounces(const sr_layout *layout, int32_t input, int to) {
    const int from = layout->backend_of[input];
    const sr_buffer_type *source = sr__storage_type(layout, input), *target = layout->buffer_types[to];
    if (from < 0 || from == to || !source || source->is_host || target->is_host) {
        return false;
    }
    const sr_backend *a = layout->backends[from], *b = layout->backends[to];
    return a->device != b->device && a->device->type != SR_DEVICE_CPU && !sr_backend_supports_buffer_type(a, target) &&
           !sr_backend_supports_buffer_type(b, source) && !sr__copies_directly(a, b);
}

static bool note(const sr_layout *layout, pair *p, sr_findings *findings, int32_t place, int32_t split) {
    const sr_tensor *tensors = layout->graph->tensors;
    const int32_t input = layout->inputs[place];
    if (p->n++ == 0) {
        p->place = findings->n;
        p->largest = input;
        p->split = split;
        if (!sr__finding_add(findings, "host-bounce", SR_SEVERITY_WARNING)) {
            return false;
        }
    }
    p->bytes += sr__input_bytes(layout, place);
    if (tensors[input].nbytes > tensors[p->largest].nbytes) {
        p->largest = input;
        p->split = split;
    }
    return sr__finding_tensor(&findings->items[p->place], sr__label(layout->graph, input));
}

static bool say(const sr_layout *layout, const pair *p, int from, int to, sr_finding *finding) {
    const sr_graph *graph = layout->graph;
    const char *a = layout->backends[from]->name, *b = layout->backends[to]->name;
    char total[16], largest[16];
    sr__format_bytes(p->bytes, total);
    sr__format_bytes(graph->tensors[p->largest].nbytes, largest);
    finding->bytes = p->bytes;
    return sr__finding_say(finding,
                           "%s in %d cop%s from %s to %s go through the host in every evaluation, as neither "
                           "reads the other's memory and they have no copy of their own; the largest is '%s' (%s, "
                           "split %d)",
                           total, (int)p->n, p->n == 1 ? "y" : "ies", a, b, sr__label(graph, p->largest), largest,
                           (int)p->split) &&
           sr__finding_text(finding, "from", a) && sr__finding_text(finding, "to", b) &&
           sr__finding_number(finding, "count", p->n) &&
           sr__finding_hint(finding,
                            "cut the graph elsewhere, so that less crosses from %s to %s, keep what alternates "
                            "between them on one, or drive both with one driver",
                            a, b);
}

sr_status sr__lint_host_bounce(const sr_lint_input *input, sr_findings *findings, sr_error *err) {
    const sr_layout *layout = input->layout;
    const size_t n = (size_t)layout->n_backends;
    pair *pairs = layout->n_inputs > 0 ? sr__calloc(n * n, sizeof(*pairs)) : NULL;
    bool ok = layout->n_inputs == 0 || pairs;
    for (int32_t s = 0; s < layout->n_splits && ok; s++) {
        const sr_split *split = &layout->splits[s];
        for (int32_t k = split->inputs_begin; k < split->inputs_begin + split->n_inputs && ok; k++) {
            if (bounces(layout, layout->inputs[k], split->backend)) {
                const size_t from = (size_t)layout->backend_of[layout->inputs[k]];
                ok = note(layout, &pairs[from * n + (size_t)split->backend], findings, k, s);
            }
        }
    }
    for (size_t i = 0; i < n * n && pairs && ok; i++) {
        ok = pairs[i].n == 0 || say(layout, &pairs[i], (int)(i / n), (int)(i % n), &findings->items[pairs[i].place]);
    }
    sr__free(pairs);
    return ok ? SR_OK : sr__fail_memory(err);
}
