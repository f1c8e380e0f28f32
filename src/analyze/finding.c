/*
 * finding.c - how lints write their findings, and what several of them ask about a layout.
 *
 * Layer: analyze.
 */
#include "analyze/finding.h"

const char *sr_severity_name(sr_severity severity) {
    static const char *const names[] = {"info", "warning", "error"};
    return severity <= SR_SEVERITY_ERROR ? names[severity] : "";
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static void clear_finding(sr_finding *finding) {
    for (int i = 0; i < finding->n_tensors; i++) {
        sr__free(finding->tensors[i]);
    }
    for (int i = 0; i < finding->n_details; i++) {
        sr__free(finding->details[i].text);
    }
    sr__free(finding->tensors);
    sr__free(finding->details);
    sr__free(finding->message);
    sr__free(finding->hint);
}

void sr_findings_clear(sr_findings *findings) {
    for (int i = 0; i < findings->n; i++) {
        clear_finding(&findings->items[i]);
    }
    sr__free(findings->items);
    *findings = (sr_findings){0};
}

sr_finding *sr__finding_add(sr_findings *findings, const char *kind, sr_severity severity) {
    if (!sr__grow(&findings->items, &findings->cap, (size_t)findings->n + 1, sizeof(*findings->items))) {
        return NULL;
    }
    sr_finding *finding = &findings->items[findings->n++];
    *finding = (sr_finding){.kind = kind, .severity = severity};
    return finding;
}

/* Whether a list of n grows with its next element: its room is the power of two that holds it. */
static bool is_full(int n) { return (n & (n - 1)) == 0; }

bool sr__finding_tensor(sr_finding *finding, const char *name) {
    const int n = finding->n_tensors;
    for (int i = 0; i < n && i < 64; i++) { /* of long lists only the beginning is searched */
        if (strcmp(finding->tensors[i], name) == 0) {
            return true;
        }
    }
    if (is_full(n)) {
        char **tensors = sr__realloc(finding->tensors, (size_t)(n > 0 ? 2 * n : 1) * sizeof(*tensors));
        if (tensors == NULL) {
            return false;
        }
        finding->tensors = tensors;
    }
    finding->tensors[n] = sr__strdup(name);
    finding->n_tensors += finding->tensors[n] != NULL;
    return finding->tensors[n] != NULL;
}

static bool put_text(char **text, const char *fmt, va_list args) {
    sr__str s = {0};
    sr__str_vprintf(&s, fmt, args);
    char *copy = s.failed ? NULL : sr__strdup(sr__str_text(&s));
    sr__str_free(&s);
    if (copy != NULL) {
        sr__free(*text);
        *text = copy;
    }
    return copy != NULL;
}

bool sr__finding_say(sr_finding *finding, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const bool done = put_text(&finding->message, fmt, args);
    va_end(args);
    return done;
}

bool sr__finding_hint(sr_finding *finding, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const bool done = put_text(&finding->hint, fmt, args);
    va_end(args);
    return done;
}

static sr_finding_detail *add_detail(sr_finding *finding, const char *key) {
    const int n = finding->n_details;
    if (is_full(n)) {
        sr_finding_detail *details = sr__realloc(finding->details, (size_t)(n > 0 ? 2 * n : 1) * sizeof(*details));
        if (details == NULL) {
            return NULL;
        }
        finding->details = details;
    }
    finding->details[n] = (sr_finding_detail){.key = key};
    return &finding->details[n];
}

bool sr__finding_text(sr_finding *finding, const char *key, const char *text) {
    sr_finding_detail *detail = add_detail(finding, key);
    if (detail == NULL || (detail->text = sr__strdup(text)) == NULL) {
        return false;
    }
    finding->n_details++;
    return true;
}

bool sr__finding_number(sr_finding *finding, const char *key, int64_t number) {
    sr_finding_detail *detail = add_detail(finding, key);
    if (detail == NULL) {
        return false;
    }
    detail->number = number;
    finding->n_details++;
    return true;
}

/* ---- asking ----------------------------------------------------------------------------------------------------- */

const char *sr__label(const sr_graph *graph, int32_t tensor) {
    const sr_tensor *t = &graph->tensors[tensor];
    return t->name[0] != '\0' ? t->name : t->id;
}

void sr__put_source_types(sr__str *s, const sr_graph *graph, int32_t tensor) {
    for (int j = 0; j < graph->tensors[tensor].n_src; j++) {
        const int32_t source = sr__source_of(graph, tensor, j);
        sr__str_printf(s, "%s%s", j > 0 ? ", " : "", source >= 0 ? sr_type_get(graph->tensors[source].type)->name : "-");
    }
}

bool sr__answers_init(sr__answers *answers, const sr_layout *layout) {
    const size_t n = (size_t)layout->graph->n_classes * (size_t)layout->n_backends;
    *answers = (sr__answers){.layout = layout};
    answers->supports = sr__calloc(n > 0 ? n : 1, 1);
    answers->offloads = sr__calloc(n > 0 ? n : 1, 1);
    return answers->supports != NULL && answers->offloads != NULL;
}

void sr__answers_free(sr__answers *answers) {
    sr__free(answers->supports);
    sr__free(answers->offloads);
    answers->supports = answers->offloads = NULL;
}

/* Where an answer is kept: 0 not asked, 1 no, 2 yes. */
static uint8_t *place_of(const sr__answers *answers, uint8_t *table, int32_t tensor, int backend) {
    const sr_layout *layout = answers->layout;
    return &table[(size_t)layout->graph->tensors[tensor].class_id * (size_t)layout->n_backends + (size_t)backend];
}

bool sr__answers_supports(sr__answers *answers, int32_t tensor, int backend) {
    const sr_layout *layout = answers->layout;
    uint8_t *answer = place_of(answers, answers->supports, tensor, backend);
    if (*answer == 0) {
        const sr_graph_view view = sr_graph_whole(layout->graph);
        *answer = sr_backend_supports_op(layout->backends[backend], &view, tensor, NULL) ? 2 : 1;
    }
    return *answer == 2;
}

bool sr__answers_offload(sr__answers *answers, int32_t tensor, int backend) {
    const sr_layout *layout = answers->layout;
    uint8_t *answer = place_of(answers, answers->offloads, tensor, backend);
    if (*answer == 0) {
        const sr_graph_view view = sr_graph_whole(layout->graph);
        *answer = sr__answers_supports(answers, tensor, backend) &&
                          sr_backend_offload_op(layout->backends[backend], &view, tensor)
                      ? 2
                      : 1;
    }
    return *answer == 2;
}

void sr__put_refusal(sr__str *s, const sr_layout *layout, int32_t tensor, int backend) {
    const sr_graph_view view = sr_graph_whole(layout->graph);
    sr_refusal refusal = {0};
    sr_backend_supports_op(layout->backends[backend], &view, tensor, &refusal);
    const bool has_text = refusal.text != NULL && refusal.text[0] != '\0';
    sr__str_puts(s, refusal.by == SR_REFUSED_BY_DENY ? "it denies " : "");
    sr__str_puts(s, has_text ? refusal.text : "the device does not support it");
}

int32_t *sr__input_readers(const sr_layout *layout) {
    const sr_graph *graph = layout->graph;
    int32_t *readers = sr__malloc((size_t)(layout->n_inputs > 0 ? layout->n_inputs : 1) * sizeof(*readers));
    int32_t *input_of = sr__malloc((size_t)(graph->n_tensors > 0 ? graph->n_tensors : 1) * sizeof(*input_of));
    if (readers == NULL || input_of == NULL) {
        sr__free(readers);
        sr__free(input_of);
        return NULL;
    }
    memset(input_of, 0xff, (size_t)graph->n_tensors * sizeof(*input_of));
    for (int32_t s = 0; s < layout->n_splits; s++) {
        const sr_split *split = &layout->splits[s];
        for (int32_t k = 0; k < split->n_inputs; k++) {
            readers[split->inputs_begin + k] = -1;
            input_of[layout->inputs[split->inputs_begin + k]] = split->inputs_begin + k;
        }
        for (int32_t i = split->start; i < split->end && split->n_inputs > 0; i++) {
            const int32_t node = graph->nodes[i];
            for (int j = 0; j < graph->tensors[node].n_src && !sr_op_is_view(graph->tensors[node].op); j++) {
                const int32_t source = sr__source_of(graph, node, j);
                const int32_t input = source >= 0 ? input_of[source] : -1;
                if (input >= split->inputs_begin && input < split->inputs_begin + split->n_inputs && readers[input] < 0) {
                    readers[input] = node;
                }
            }
        }
    }
    sr__free(input_of);
    return readers;
}

uint64_t sr__input_bytes(const sr_layout *layout, int32_t input) {
    return layout->executed && layout->copied != NULL ? layout->copied[input]
                                                      : layout->graph->tensors[layout->inputs[input]].nbytes;
}
