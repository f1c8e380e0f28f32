/*
 * finding.h - how lints write their findings, and what several of them ask about a layout.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_FINDING_H
#define SR_FINDING_H

#include "base/base.h"
#include "sched_run/lint.h"

/* A new finding at the end of the list, or NULL when memory ran out. */
sr_finding *sr__finding_add(sr_findings *findings, const char *kind, sr_severity severity);
/* These return false when memory ran out; a lint then returns SR_MEMORY. */
bool sr__finding_tensor(sr_finding *finding, const char *name); /* a name that is there already stays where it is */
bool sr__finding_say(sr_finding *finding, const char *fmt, ...) __attribute__((format(printf, 2, 3)));  /* message */
bool sr__finding_hint(sr_finding *finding, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool sr__finding_text(sr_finding *finding, const char *key, const char *text);
bool sr__finding_number(sr_finding *finding, const char *key, int64_t number);

/* ---- what lints ask --------------------------------------------------------------------------------------------- */

/* A tensor's name, its id where it has none: how findings name it. */
const char *sr__label(const sr_graph *graph, int32_t tensor);

/* The tensor whose storage it uses: what it views, or itself. */
static inline int32_t sr__root_of(const sr_graph *graph, int32_t tensor) {
    const int32_t root = graph->tensors[tensor].view_src;
    return root >= 0 ? root : tensor;
}

/* The buffer that its storage is pre-allocated in, or NULL. */
static inline const sr_buffer *sr__home_buffer(const sr_graph *graph, int32_t tensor) {
    return graph->tensors[sr__root_of(graph, tensor)].buffer;
}

/* Source j of a tensor as the graph has it (copies not put in its place), or -1. */
static inline int32_t sr__source_of(const sr_graph *graph, int32_t tensor, int j) {
    const sr_tensor *t = &graph->tensors[tensor];
    return j < t->n_src ? graph->srcs[t->src_begin + j] : -1;
}

/* Whether a tensor has something to compute: no leaf, no view. */
static inline bool sr__works(const sr_tensor *t) { return t->op != SR_OP_NONE && !sr_op_is_view(t->op); }

/* "f32, q8_0, -": the types of all sources. */
void sr__put_source_types(sr__str *s, const sr_graph *graph, int32_t tensor);

/* What backends answer about ops, asked once a class of tensors.  Free it also where init returned false. */
typedef struct sr__answers { const sr_layout *layout; uint8_t *supports, *offloads; } sr__answers;

bool sr__answers_init(sr__answers *answers, const sr_layout *layout);
void sr__answers_free(sr__answers *answers);
bool sr__answers_supports(sr__answers *answers, int32_t tensor, int backend);
bool sr__answers_offload(sr__answers *answers, int32_t tensor, int backend); /* supports it, too */
/* Why a backend refuses a tensor's op: "it denies SOFT_MAX". */
void sr__put_refusal(sr__str *s, const sr_layout *layout, int32_t tensor, int backend);

/* By place in layout->inputs: the first node of its split that reads the copy (-1: none); freed with sr__free, NULL: no
 * memory. */
int32_t *sr__input_readers(const sr_layout *layout);
/* Bytes that an evaluation copies for an input: what was copied if it was executed, else all of it. */
uint64_t sr__input_bytes(const sr_layout *layout, int32_t input);

/* ---- the kinds -------------------------------------------------------------------------------------------------- */

/*
 * One file each (lint_NAME.c).  sr_lint_run calls fallback and preallocated with any layout that has a graph and
 * backend_of, limits with any layout or none, realloc where the allocation went well, and all others where the layout
 * has splits (sr_layout_has_splits).
 */
#define SR__LINT_LIST(X)                                                                                             \
    X(fallback) X(weight_copy) X(alias) X(order) X(offload) X(realloc) X(limits) X(copies) X(preallocated)           \
    X(late_input) X(assignment) X(split_twice) X(stale_input) X(overlap) X(race) X(host_bounce) X(imbalance)
#define SR__LINT_DECLARE(name) \
    sr_status sr__lint_##name(const sr_lint_input *input, sr_findings *findings, sr_error *err);
SR__LINT_LIST(SR__LINT_DECLARE)
#undef SR__LINT_DECLARE

#endif
