/*
 * finding.c - how lints write their findings, and what several of them ask about a layout.
 *
 * Layer: analyze.
 */
#include <stdio.h>

#include "analyze/finding.h"

const char *sr_severity_name(sr_severity severity) {
    static const char *const names[] = {"info", "warning", "error"};
    return severity <= SR_SEVERITY_ERROR ? names[severity] : "";
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

void sr_findings_clear(sr_findings *findings) {
    if (findings->texts != NULL) {
        sr__arena_free(findings->texts);
        sr__free(findings->texts);
    }
    sr__free(findings->items);
    *findings = (sr_findings){0};
}

/* All texts of a list are in one arena: there may be thousands of small ones. */
static sr__arena *texts_of(sr_findings *findings) {
    if (findings->texts == NULL) {
        sr__arena *arena = sr__calloc(1, sizeof(*arena));
        if (arena != NULL) {
            sr__arena_init(arena, 8192);
        }
        findings->texts = arena;
    }
    return findings->texts;
}

sr_finding *sr__finding_add(sr_findings *findings, const char *kind, sr_severity severity) {
    sr__arena *texts = texts_of(findings);
    if (texts == NULL ||
        !sr__grow(&findings->items, &findings->cap, (size_t)findings->n + 1, sizeof(*findings->items))) {
        return NULL;
    }
    sr_finding *finding = &findings->items[findings->n++];
    *finding = (sr_finding){.kind = kind, .severity = severity, .texts = texts};
    return finding;
}

/* Room for one more behind n elements of an array whose room is `first`, then twice that, and so on. */
static void *grow(sr_finding *finding, void *array, int n, int first, size_t size) {
    const bool is_full = n == 0 || (n >= first && n % first == 0 && (n / first & (n / first - 1)) == 0);
    if (!is_full) {
        return array;
    }
    void *larger = sr__arena_alloc(finding->texts, (size_t)(n > 0 ? 2 * n : first) * size);
    if (larger != NULL && n > 0) {
        memcpy(larger, array, (size_t)n * size);
    }
    return larger;
}

bool sr__finding_tensor(sr_finding *finding, const char *name) {
    const int n = finding->n_tensors;
    for (int i = 0; i < n && i < 64; i++) { /* of long lists only the beginning is searched */
        if (strcmp(finding->tensors[i], name) == 0) {
            return true;
        }
    }
    char **tensors = grow(finding, finding->tensors, n, 2, sizeof(*tensors));
    char *copy = tensors != NULL ? sr__arena_strdup(finding->texts, name) : NULL;
    if (copy == NULL) {
        return false;
    }
    tensors[n] = copy;
    finding->tensors = tensors;
    finding->n_tensors++;
    return true;
}

/* Most texts fit on the stack; the longer ones are written twice. */
static char *format(sr_finding *finding, const char *fmt, va_list args) {
    char text[1024];
    va_list again;
    va_copy(again, args);
    const int n = vsnprintf(text, sizeof(text), fmt, args);
    char *copy = n >= 0 ? sr__arena_alloc(finding->texts, (size_t)n + 1) : NULL;
    if (copy != NULL && (size_t)n < sizeof(text)) {
        memcpy(copy, text, (size_t)n + 1);
    } else if (copy != NULL) {
        vsnprintf(copy, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    return copy;
}

bool sr__finding_say(sr_finding *finding, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    finding->message = format(finding, fmt, args);
    va_end(args);
    return finding->message != NULL;
}

bool sr__finding_hint(sr_finding *finding, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    finding->hint = format(finding, fmt, args);
    va_end(args);
    return finding->hint != NULL;
}

static bool add_detail(sr_finding *finding, sr_finding_detail detail) {
    sr_finding_detail *details = grow(finding, finding->details, finding->n_details, 8, sizeof(*details));
    if (details == NULL) {
        return false;
    }
    details[finding->n_details++] = detail;
    finding->details = details;
    return true;
}

bool sr__finding_text(sr_finding *finding, const char *key, const char *text) {
    char *copy = sr__arena_strdup(finding->texts, text);
    return copy != NULL && add_detail(finding, (sr_finding_detail){.key = key, .text = copy});
}

bool sr__finding_number(sr_finding *finding, const char *key, int64_t number) {
    return add_detail(finding, (sr_finding_detail){.key = key, .number = number});
}

/* ---- asking ----------------------------------------------------------------------------------------------------- */

const char *sr__label(const sr_graph *graph, int32_t tensor) {
    const sr_tensor *t = &graph->tensors[tensor];
    return t->name[0] != '\0' ? t->name : t->id;
}

void sr__put_source_types(sr__str *s, const sr_graph *graph, int32_t tensor) {
    for (int j = 0; j < graph->tensors[tensor].n_src; j++) {
        const int32_t source = sr__source_of(graph, tensor, j);
        sr__str_printf(s, "%s%s", j > 0 ? ", " : "",
                       source >= 0 ? sr_type_get(graph->tensors[source].type)->name : "-");
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
                if (input >= split->inputs_begin && input < split->inputs_begin + split->n_inputs &&
                    readers[input] < 0) {
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
